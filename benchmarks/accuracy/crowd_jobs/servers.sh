#!/bin/bash
# servers.sh init | start | load | stop: PostgreSQL servers of the crowds' own, on port 5442 with all processors and on 5443 held to one
. "$(dirname "$0")/../../lab/env.sh"
PORTS="5442 5443" BIN=/usr/lib/postgresql/15/bin
as_postgres=(setpriv --reuid=postgres --regid=postgres --init-groups)
data() { echo "$LAB/data/crowd$1"; }

init() {
  for port in $PORTS; do
    mkdir -p "$(data $port)"; chown postgres "$(data $port)"; chmod 711 "$(data $port)"
    (cd /; "${as_postgres[@]}" $BIN/initdb -D "$(data $port)" -U lab --auth=trust -E UTF8 --locale=C >/dev/null)
    cat >>"$(data $port)/postgresql.conf" <<CONF
listen_addresses='$SERVER_IP'
port=$port
unix_socket_directories='/tmp'
shared_buffers=256MB
synchronous_commit=off
fsync=off
autovacuum=off
jit=off
max_connections=250
max_parallel_workers_per_gather=0
CONF
    echo "host all all 10.77.0.0/24 trust" >>"$(data $port)/pg_hba.conf"
  done
}

start() {
  for port in $PORTS; do
    held=(); [ $port = 5443 ] && held=(taskset -c 1)
    (cd /; setsid ip netns exec "$SERVER_NS" "${held[@]}" $REALTIME "${as_postgres[@]}" $BIN/postgres -D "$(data $port)" \
      >"$LAB/logs/crowd$port.log" 2>&1 </dev/null &)
  done
  for port in $PORTS; do until pg_isready -q -h /tmp -p $port; do sleep 0.2; done; done
}

load() {
  for port in $PORTS; do for scale in 1 10 50; do
    psql -q -h /tmp -p $port -U lab -d postgres -c "CREATE DATABASE s$scale"
    pgbench -q -i -s $scale -h /tmp -p $port -U lab s$scale >/dev/null 2>&1
  done; done
  for scale in 2 20; do # of the lab's PostgreSQL 18
    from_client psql -q -h "$SERVER_IP" -p 5433 -U lab -d postgres -c "CREATE DATABASE s$scale"
    from_client pgbench -q -i -s $scale -h "$SERVER_IP" -p 5433 -U lab s$scale >/dev/null 2>&1
  done
  from_client "$LAB/venv/bin/python" "$(dirname "$0")/workers.py" load
  from_client sysbench oltp_read_write --db-driver=mysql --mysql-host="$SERVER_IP" --mysql-user=lab --mysql-password=labpw --mysql-db=lab \
    --tables=4 --table-size=100000 prepare >/dev/null
}

from_client() { ip netns exec "$CLIENT_NS" env PGPASSWORD=labpw "$@"; }

stop() { for port in $PORTS; do "${as_postgres[@]}" $BIN/pg_ctl -s -m fast -D "$(data $port)" stop; done; }

for step in "$@"; do "$step" || exit 1; done
