#!/bin/bash
# mariadb.sh init | start | load | stop | status
. "$(dirname "$0")/env.sh"
data=$LAB/data/mariadb socket=$data/s.sock pidfile=$LAB/run/mariadb.pid
up() { runs "$pidfile"; }

certificate() {
  [ -s "$LAB/run/server.crt" ] || openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=lab \
    -keyout "$LAB/run/server.key" -out "$LAB/run/server.crt" 2>/dev/null
  chmod 644 "$LAB/run/server.key" "$LAB/run/server.crt"
}

init() {
  rm -rf "$data"; mkdir -p "$data" "$LAB/logs" "$LAB/run"; chown mysql "$data"
  mariadb-install-db --no-defaults --user=mysql --datadir="$data" --auth-root-authentication-method=normal --skip-test-db \
    >"$LAB/logs/mariadb-init.log" 2>&1
  certificate
}

start() {
  up && return 0
  setsid ip netns exec $SERVER_NS $REALTIME mariadbd --no-defaults --user=mysql --datadir="$data" --socket="$socket" \
    --pid-file="$data/pid" --bind-address=$SERVER_IP --port=3306 --skip-name-resolve --innodb-buffer-pool-size=256M \
    --innodb-flush-log-at-trx-commit=2 --local-infile=1 --max-allowed-packet=64M --log-bin="$data/binlog" --server-id=1 \
    --plugin-load-add=auth_ed25519 --ssl-cert="$LAB/run/server.crt" --ssl-key="$LAB/run/server.key" --ssl-ca="$LAB/run/server.crt" \
    >"$LAB/logs/mariadb.log" 2>&1 </dev/null &
  echo $! >"$pidfile"
  for _ in $(seq 100); do mariadb-admin --no-defaults -uroot -S "$socket" ping >/dev/null 2>&1 && return 0; sleep .1; done
  echo "mariadbd did not start: see $LAB/logs/mariadb.log" >&2; return 1
}

load() { mariadb --no-defaults -uroot -S "$socket" <"$here/load.sql"; }

stop() {
  up || { rm -f "$pidfile"; return 0; }
  kill "$(cat "$pidfile")"
  for _ in $(seq 200); do up || break; sleep .1; done
  rm -f "$pidfile"
}

status() { up && echo "mariadb up, pid $(cat "$pidfile")" || echo "mariadb down"; }
for step in "$@"; do "$step" || exit 1; done
