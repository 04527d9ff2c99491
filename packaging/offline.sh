#!/usr/bin/env bash
# offline.sh WHEEL FOLDER PLATFORM…: the wheel, and the wheels of all that it needs on these platforms (pip's names) with each Python: a folder
# from which `pip install --no-index --find-links FOLDER latpcap` installs without a network.
set -euo pipefail
wheel=$1 folder=$2
shift 2
for python in 3.11 3.12 3.13 3.14; do
  "${PYTHON:-python3}" -m pip download -q --disable-pip-version-check -d "$folder" --only-binary=:all: \
    --python-version "$python" "${@/#/--platform=}" "$wheel"
done
