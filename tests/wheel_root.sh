#!/usr/bin/env bash
# wheel_root.sh WHEELS SUITE: what a user has who installs the wheel: a new Debian of that suite with Python and no compiler, installed
# from the folder WHEELS alone, as on a laptop without a network. Analyses a fixture, then runs the tests of those who read captures
# (tests/readers.txt) on what was installed; only pytest and what else the tests need come from the registry.
set -euo pipefail
wheels=$(realpath "$1") suite=$2
. "$(dirname "${BASH_SOURCE[0]}")/new_root.sh"
root=$(mktemp -d "${LATPCAP_FRESH:-/var/tmp}/latpcap-fresh-XXXXXX")
at_end bash -c 'remove_root "$1"' - "$root"
new_root "$suite" python3-venv,zstd
rm -r "$root/latpcap/latpcap" # the tests shall find the wheel
mkdir "$root/wheels"
# shellcheck disable=SC2016
in_root "mount --bind '$wheels' \"\$1/wheels\"" bash -ec '
  ! command -v cc rustc || { echo "this root has a compiler" >&2; exit 1; }
  echo "$(dpkg-query -f . -W | wc -c) packages, $(python3 --version)"
  began=$(date +%s%N)
  python3 -m venv /venv; PATH=/venv/bin:$PATH
  pip install -q --disable-pip-version-check --no-index --find-links /wheels latpcap
  latpcap analyze fixtures/mysql/nplus1-10k.pcapng.zst --rtt 15ms | sed -n 1,4p
  echo "$((($(date +%s%N) - began) / 1000000)) ms from nothing to the first verdict"
  latpcap --version
  pip install -q --disable-pip-version-check -r tests/readers-need.txt
  pytest -p no:cacheprovider $(grep -v "^#" tests/readers.txt)'
