#!/bin/bash
# The clients of benchmarks/keys on Debian 12 with the lab installed. Needs root, a Rust and a Go toolchain, Node and Maven.
# Everything that is built goes to the lab's folder.
set -e
keys=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$keys/../lab/env.sh"
built=$LAB/keys-clients
apt-get install -y -qq --no-install-recommends gcc pkg-config libssl-dev libmariadb-dev python3-dev python3-venv postgresql-client mariadb-client
mkdir -p "$built"/{go,node}
python3 -m venv "$built/venv"
"$built/venv/bin/pip" -q install msgspec pymysql mysql-connector-python mysqlclient asyncpg 'psycopg[binary]' psycopg2-binary pg8000 oracledb
npm install --silent --prefix "$built/node" mysql2 mariadb pg
(cd "$keys/go" && go mod tidy && go build -o "$built/go/job" .)
CARGO_TARGET_DIR="$built/rust" cargo build -q --manifest-path "$keys/rust/Cargo.toml"
mvn -q -f "$keys/java/pom.xml" -DbuildDirectory="$built/java" package
gcc -O2 -Wall -shared -fPIC -o "$built/keylog.so" "$keys/keylog.c" -ldl
