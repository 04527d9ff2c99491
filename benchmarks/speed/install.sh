#!/bin/sh
# Installs what latpcap is compared with, and builds what times its core. Asks for root where Debian's packages are absent.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
peers=${LATPCAP_PEERS:-$HOME/.cache/latpcap/peers}
mkdir -p "$peers"

missing=
for tool in tshark:tshark tcpdump:tcpdump pt-query-digest:percona-toolkit go:golang-go; do
    command -v "${tool%%:*}" >/dev/null || missing="$missing ${tool##*:}"
done
if [ -n "$missing" ]; then
    # shellcheck disable=SC2086 (several packages)
    $([ "$(id -u)" = 0 ] || echo sudo) apt-get install -y --no-install-recommends $missing
fi

[ -d "$peers/venv" ] || python3 -m venv "$peers/venv"
"$peers/venv/bin/pip" install --quiet pyshark==0.6 dpkt==1.9.8 scapy==2.8.0
(cd "$here/gopacket" && go build -o "$peers/gopacket" .)
(cd "$here/../../core" && cargo build --quiet --release --example read --example segments)
echo "installed: python -m benchmarks.speed"
