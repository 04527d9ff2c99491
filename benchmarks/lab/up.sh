#!/bin/bash
# Make the two namespaces and join them. Needs root, and latpcap in the repository's .venv. No setting of the machine is changed: what
# there is lies in the namespaces, and goes with them (down.sh).
set -e
. "$(dirname "$0")/env.sh"
mkdir -p "$LAB"/{run,logs,data}
if runs "$LAB/run/dl.pid"; then echo "link already up"; exit 0; fi
trap '[ $? = 0 ] || "$here/down.sh"' EXIT
trap 'exit 130' INT TERM HUP
for n in $CLIENT_NS $SERVER_NS; do ip netns list | grep -qw $n || ip netns add $n; ip -n $n link set lo up; done

rm -f "$LAB/logs/link.log" # or the last link's "ready" is taken for this one's
# HOT=-H keeps the CPUs awake for a steadier link.
setsid sh -c 'echo $$ >"$0"; exec "$@"' "$LAB/run/dl.pid" "$PYTHON" "$here/link.py" $CLIENT_NS $CLIENT_DEV $SERVER_NS $SERVER_DEV -d "${RTT_US:-0}" -s "${SPIN_US:-250}" \
  -u "$LAB/run/dl.sock" ${HOT-} >"$LAB/logs/link.log" 2>&1 </dev/null &
for _ in $(seq 100); do grep -qs ready "$LAB/logs/link.log" && break; sleep .05; done
grep -qs ready "$LAB/logs/link.log" || { cat "$LAB/logs/link.log" >&2; echo "no link: is latpcap installed for $PYTHON?" >&2; exit 1; }

ip -n $CLIENT_NS addr add $CLIENT_IP peer $SERVER_IP dev $CLIENT_DEV
ip -n $SERVER_NS addr add $SERVER_IP peer $CLIENT_IP dev $SERVER_DEV
ip -n $SERVER_NS addr add "$NEWEST_IP" dev $SERVER_DEV
ip -n $CLIENT_NS link set $CLIENT_DEV mtu 1500 txqueuelen 20000 up
ip -n $SERVER_NS link set $SERVER_DEV mtu 1500 txqueuelen 20000 up
# Cubic, whatever the host's default is: a route may ask for what the host does not let a namespace choose.
ip -n $CLIENT_NS route replace $SERVER_IP dev $CLIENT_DEV src $CLIENT_IP congctl cubic
ip -n $CLIENT_NS route replace "$NEWEST_IP" dev $CLIENT_DEV src $CLIENT_IP congctl cubic
ip -n $SERVER_NS route replace $CLIENT_IP dev $SERVER_DEV src $SERVER_IP congctl cubic

for n in $CLIENT_NS $SERVER_NS; do ip netns exec $n sh -c '
  echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save   # one run must not teach the next its RTT
  echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6 2>/dev/null; true'; done
cat "$LAB/logs/link.log"
