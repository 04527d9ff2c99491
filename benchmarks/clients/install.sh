#!/bin/bash
# The clients of benchmarks/clients on Debian 12 with the lab installed and up: packages, builds, and the tables in both servers.
# Needs root, a Rust and a Go toolchain, Node and Maven. Everything that is built goes to the lab's folder.
set -e
clients=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$clients/../lab/env.sh"
built=$LAB/clients
export DEBIAN_FRONTEND=noninteractive
apt-get install -y -qq --no-install-recommends php-cli php-mysql php-pgsql php-odbc libdbi-perl libdbd-pg-perl libdbd-mysql-perl \
  libdbd-mariadb-perl ruby ruby-pg ruby-mysql2 ruby-activerecord fp-compiler fp-units-db fp-units-fcl g++ libpqxx-dev unixodbc \
  unixodbc-dev odbc-postgresql odbc-mariadb libmariadb-dev pkg-config python3-dev python3-venv

mkdir -p "$built"/{cpp,go,node,pascal}
python3 -m venv "$built/venv"
"$built/venv/bin/pip" -q install sqlalchemy django pymysql mysqlclient 'psycopg[binary]' pyodbc asyncmy mariadb
cp "$clients/node/package.json" "$built/node"
npm install --silent --prefix "$built/node"
(cd "$clients/go" && go mod tidy && go build -o "$built/go/jobs" .)
CARGO_TARGET_DIR="$built/rust" cargo build -q --manifest-path "$clients/rust/Cargo.toml"
mvn -q -f "$clients/java/pom.xml" -DbuildDirectory="$built/java" package
fpc -v0 -FE"$built/pascal" "$clients/pascal/jobs.pas"
g++ -o "$built/cpp/jobs" "$clients/cpp/jobs.cpp" -lpqxx -lpq

mariadb --no-defaults -uroot -S "$LAB/data/mariadb/s.sock" lab <"$clients/schema.sql"
if [ -S "$LAB/data/mysql/s.sock" ]; then # Oracle's, where it is up
  "$clients/../lab/unstable.sh" run mysql --no-defaults -uroot -S "$LAB/data/mysql/s.sock" lab <"$clients/schema.sql"
fi
psql() { command psql -X -q -h "$LAB/run" -p 5432 -U lab -d lab "$@"; }
psql -c "alter system set shared_preload_libraries = 'auto_explain'"
"$clients/../lab/postgresql.sh" stop start
psql -f "$clients/schema.sql"
