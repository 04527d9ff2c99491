#!/bin/bash
# Stop what was started here, by its pid, then what still runs in the namespaces (a script that was killed knew no pid), and remove these.
. "$(dirname "$0")/env.sh"
for server in mariadb postgresql firebird mysql postgresql18 firebird4; do "$here/$server.sh" stop; done
for _ in $(seq 50); do runs "$LAB/run/dl.pid" || break; kill "$(cat "$LAB/run/dl.pid")"; sleep .1; done
if runs "$LAB/run/dl.pid"; then kill -KILL "$(cat "$LAB/run/dl.pid")"; fi
rm -f "$LAB/run/dl.pid"
for n in $CLIENT_NS $SERVER_NS; do
  for _ in $(seq 100); do left=$(ip netns pids $n 2>/dev/null); [ -n "$left" ] || break; kill $left 2>/dev/null; sleep .1; done
  [ -z "$left" ] || kill -KILL $left 2>/dev/null
  ip netns del $n 2>/dev/null
done
true
