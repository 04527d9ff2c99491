#!/bin/bash
# mysql.sh init | start | load | stop | status | version; Oracle's MySQL, from unstable.sh
NAME=mysql
. "$(dirname "$0")/unstable.sh"
data=$LAB/data/mysql socket=$data/s.sock
client=("${inside[@]}" mysql --no-defaults -uroot -S "$socket")

init() {
  needs_it
  rm -rf "$data"; mkdir -p "$data" "$LAB/logs" "$LAB/run"
  "${inside[@]}" mysqld --no-defaults --user=root --initialize-insecure --datadir="$data" >"$LAB/logs/mysql-init.log" 2>&1
}

# It makes a certificate and the key pair of caching_sha2_password by itself, and logs every command: a second witness of the counts.
start() {
  launch mysqld --no-defaults --user=root --datadir="$data" --socket="$socket" --pid-file="$data/pid" --secure-file-priv= \
    --bind-address="$NEWEST_IP" --port=3306 --mysqlx=OFF --skip-name-resolve --skip-log-bin --innodb-buffer-pool-size=128M \
    --innodb-flush-log-at-trx-commit=2 --local-infile=1 --max-allowed-packet=64M \
    --general-log --general-log-file="$data/general.log"
}

answers() { "${client[@]}" -e 'do 1' >/dev/null 2>&1; }
version() { echo "MySQL $("${client[@]}" -Nse 'select version()')"; }
load() { "${client[@]}" <"$here/load_mysql.sql"; }

for step in "$@"; do "$step" || exit 1; done
