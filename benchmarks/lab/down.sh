#!/bin/bash
# Stop what was started here, by its pid, and remove the namespaces.
. "$(dirname "$0")/env.sh"
for server in mariadb postgresql firebird mysql postgresql18 firebird4; do "$here/$server.sh" stop; done
[ -s "$LAB/run/dl.pid" ] && kill "$(cat "$LAB/run/dl.pid")" 2>/dev/null
rm -f "$LAB/run/dl.pid"
sleep .3
for n in $CLIENT_NS $SERVER_NS; do ip netns del $n 2>/dev/null; done
true
