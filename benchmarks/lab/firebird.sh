#!/bin/bash
# firebird.sh init | start | load | stop | status; three servers: clear (port 3050), wire encryption (3051), wire compression (3052)
. "$(dirname "$0")/env.sh"
servers="clear:3050:Disabled:false encrypted:3051:Required:false compressed:3052:Disabled:true"
up() { runs "$LAB/run/firebird-$1.pid"; }
folder() { echo "$LAB/data/firebird-$1"; }
# Debian's server reads its configuration from one place only: give each its own view of it.
with_configuration() { FIREBIRD_LOCK=$(folder "$1")/lock unshare -m bash -c "mount --bind '$(folder "$1")/conf' /etc/firebird/3.0; $2"; }

init() {
  data=$(folder "$1"); rm -rf "$data"; mkdir -p "$data"/{conf,lock} "$LAB/logs" "$LAB/run"
  cp /etc/firebird/3.0/*.conf "$data/conf/"; cp /var/lib/firebird/3.0/system/security3.fdb "$data/security.fdb"
  cat >"$data/conf/firebird.conf" <<CONF
RemoteServicePort = $2
ServerMode = Super
WireCrypt = $3
WireCompression = $4
SecurityDatabase = $data/security.fdb
DatabaseAccess = Full
AuthServer = Srp
UserManager = Srp
CONF
  echo "lab = $data/lab.fdb" >>"$data/conf/databases.conf"
  printf "create or alter user SYSDBA password 'masterkey' using plugin Srp;\ncommit;\n" >"$LAB/run/firebird.sql"
  with_configuration "$1" "isql-fb -q -user SYSDBA '$data/security.fdb' -i '$LAB/run/firebird.sql'" >"$LAB/logs/firebird-$1-init.log" 2>&1
  chown -R firebird "$data"; chmod 755 "$LAB" "$LAB/data" "$data"
}

start() {
  up "$1" && return 0
  setsid unshare -m bash -c "mount --bind '$(folder "$1")/conf' /etc/firebird/3.0
    export FIREBIRD_LOCK='$(folder "$1")/lock'; exec ip netns exec $SERVER_NS $REALTIME /usr/sbin/firebird" \
    >"$LAB/logs/firebird-$1.log" 2>&1 </dev/null &
  echo $! >"$LAB/run/firebird-$1.pid"
  for _ in $(seq 100); do ip netns exec $SERVER_NS bash -c "exec 3<>/dev/tcp/$SERVER_IP/$2" 2>/dev/null && { stay "$1" "$2"; return 0; }; sleep .1; done
  echo "firebird ($1) did not start: see $LAB/logs/firebird-$1.log" >&2; return 1
}

# Who attaches to a database that nobody uses may wait for a second: a guest stays attached.
stay() {
  [ -s "$(folder "$1")/lab.fdb" ] || return 0
  guest=$LAB/run/firebird-$1.guest; rm -f "$guest"; mkfifo "$guest"
  setsid ip netns exec $SERVER_NS isql-fb -q -user SYSDBA -password masterkey "inet://$SERVER_IP:$2/$(folder "$1")/lab.fdb" \
    <>"$guest" >/dev/null 2>&1 &
  echo $! >"$guest.pid"
}

load() {
  data=$(folder "$1"); rm -f "$data/lab.fdb"
  if [ "$1" != clear ]; then # the same rows: a copy of what is at rest
    stop clear; stop "$1"; cp "$(folder clear)/lab.fdb" "$data/lab.fdb"; chown firebird "$data/lab.fdb"; start clear 3050; start "$1" "$2"
    return
  fi
  { echo "create database 'inet://$SERVER_IP:$2/$data/lab.fdb' user 'SYSDBA' password 'masterkey' page_size 8192 default character set none;"
    cat "$here/load_firebird.sql"; } | ip netns exec $CLIENT_NS isql-fb -q -bail
}

stop() {
  if runs "$LAB/run/firebird-$1.guest.pid"; then kill -KILL "$(cat "$LAB/run/firebird-$1.guest.pid")"; fi
  rm -f "$LAB/run/firebird-$1.guest" "$LAB/run/firebird-$1.guest.pid"
  up "$1" || { rm -f "$LAB/run/firebird-$1.pid"; return 0; }
  kill "$(cat "$LAB/run/firebird-$1.pid")"
  for _ in $(seq 200); do up "$1" || break; sleep .1; done
  rm -f "$LAB/run/firebird-$1.pid"
}

status() { up "$1" && echo "firebird ($1) up, pid $(cat "$LAB/run/firebird-$1.pid")" || echo "firebird ($1) down"; }
for step in "$@"; do for server in $servers; do IFS=: read -r name port crypt zip <<<"$server"; "$step" "$name" "$port" "$crypt" "$zip" || exit 1; done; done
