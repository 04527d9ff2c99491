#!/bin/bash
# postgresql18.sh init | start | load | stop | status | version; PostgreSQL 18 with TLS, from unstable.sh
NAME=postgresql18 ENDS=INT
. "$(dirname "$0")/unstable.sh"
data=$LAB/data/postgresql18 sockets=$LAB/run/postgresql18
inside+=(setpriv --reuid=postgres --regid=postgres --init-groups)
bin=/usr/lib/postgresql/18/bin

init() {
  needs_it
  rm -rf "$data" "$sockets"; mkdir -p "$data" "$sockets" "$LAB/logs"
  chown --reference="$UNSTABLE/var/lib/postgresql" "$data" "$sockets"
  echo labpw >"$LAB/run/pgpw18"; chmod 644 "$LAB/run/pgpw18"
  "${inside[@]}" $bin/initdb -D "$data" -U lab --auth-host=scram-sha-256 --auth-local=trust --pwfile="$LAB/run/pgpw18" -E UTF8 --locale=C \
    >"$LAB/logs/postgresql18-init.log" 2>&1 || return 1
  "${inside[@]}" openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=lab -keyout "$data/server.key" -out "$data/server.crt" 2>/dev/null
  cat >>"$data/postgresql.conf" <<CONF
listen_addresses='$NEWEST_IP'
unix_socket_directories='$sockets'
ssl=on
shared_buffers=64MB
synchronous_commit=off
fsync=off
autovacuum=off
jit=off
wal_level=logical
log_statement=all
CONF
  echo "host all all all scram-sha-256" >>"$data/pg_hba.conf"
}

start() { launch $bin/postgres -D "$data"; }
answers() { "${inside[@]}" $bin/pg_isready -q -h "$sockets"; }
version() { echo "PostgreSQL $("${inside[@]}" $bin/psql -h "$sockets" -U lab -d lab -Atc 'show server_version')"; }
load() { (cd /; "${inside[@]}" $bin/psql -q -h "$sockets" -U lab -d postgres) <"$here/load_postgresql.sql"; }

for step in "$@"; do "$step" || exit 1; done
