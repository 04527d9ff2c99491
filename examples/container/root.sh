#!/bin/sh
# root.sh WHEELS ARCHIVE: the same without an image to begin with, made of Debian's packages by mmdebstrap. Needs root. Then:
#   docker import --change 'ENV PATH=/opt/latpcap/bin:/usr/local/bin:/usr/bin:/bin' --change 'WORKDIR /tmp' \
#     --change 'USER 65532:65532' --change 'ENTRYPOINT ["latpcap"]' ARCHIVE latpcap
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mmdebstrap --quiet --variant=essential --include=python3-venv,libstdc++6,tcpdump,libcap2-bin \
  --customize-hook="mkdir \"\$1/build\" && cp -r '$(realpath "$1")' \"\$1/build/wheels\" && cp '$here/install.sh' \"\$1/build\"" \
  --customize-hook='chroot "$1" /build/install.sh /build/wheels && rm -r "$1/build"' \
  trixie "$2"
