#!/bin/sh
# install.sh WHEELS: latpcap from a folder of wheels, in a Debian with python3-venv, libstdc++6 (for numpy), tcpdump and libcap2-bin.
# tcpdump gets the right to capture, which it has for any user where the container has it (NET_RAW). What was needed for this only is removed.
set -eu
python3 -m venv /opt/latpcap
/opt/latpcap/bin/pip install -q --no-index --find-links "$1" latpcap
/opt/latpcap/bin/pip uninstall -q -y pip
setcap cap_net_raw=ep "$(command -v tcpdump)"
dpkg-query -f '${Package}\n' -W 'python3*-venv' 'python3-*-whl' libcap2-bin | xargs dpkg --purge >/dev/null
rm -rf /var/lib/apt/lists/* /var/cache/apt /var/cache/debconf /var/log/* /usr/share/doc /usr/share/locale /usr/share/man /root/.cache
