#!/bin/bash
# firebird4.sh init | start | load | stop | status | version; Firebird 4.0, from unstable.sh: wire encryption and compression as the client wishes
NAME=firebird4
. "$(dirname "$0")/unstable.sh"
data=$LAB/data/firebird4
# Debian's server reads its settings from one place only: these lie there while a command runs.
inside+=(env FIREBIRD_LOCK="$data/lock" unshare -m --propagation unchanged bash -ec 'mount --bind "$1" /etc/firebird/4.0; exec "${@:2}"' - "$data/conf")
isql=("${inside[@]}" isql-fb -q -bail)

init() {
  needs_it
  rm -rf "$data"; mkdir -p "$data/lock" "$LAB/logs" "$LAB/run"
  cp -r "$UNSTABLE/etc/firebird/4.0" "$data/conf"
  cp "$UNSTABLE/var/lib/firebird/4.0/system/security4.fdb" "$data/security.fdb"
  cat >"$data/conf/firebird.conf" <<CONF
RemoteBindAddress = $NEWEST_IP
ServerMode = Super
WireCrypt = Enabled
WireCompression = true
SecurityDatabase = $data/security.fdb
DatabaseAccess = Full
AuthServer = Srp256, Srp
UserManager = Srp
CONF
  echo "lab = $data/lab.fdb" >>"$data/conf/databases.conf"
  printf "create or alter user SYSDBA password 'masterkey' using plugin Srp;\ncommit;\n" |
    "${isql[@]}" -user SYSDBA "$data/security.fdb" >"$LAB/logs/firebird4-init.log" 2>&1
}

start() { launch /usr/sbin/firebird; }
answers() { "${near[@]}" bash -c "exec 3<>/dev/tcp/$NEWEST_IP/3050" 2>/dev/null; }

version() { "${inside[@]}" isql-fb -z </dev/null 2>&1 | sed -n 's/.*LI-V\([0-9.]*\)\.[0-9]* .*/Firebird \1/p' | head -1; }

load() {
  rm -f "$data/lab.fdb"
  { echo "create database 'inet://$NEWEST_IP/$data/lab.fdb' user 'SYSDBA' password 'masterkey' page_size 8192 default character set none;"
    cat "$here/load_firebird.sql"; } | "${near[@]}" "${isql[@]}"
}

for step in "$@"; do "$step" || exit 1; done
