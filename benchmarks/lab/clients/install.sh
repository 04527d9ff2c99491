#!/bin/bash
# Drivers and builds of the workloads in other languages, on Debian 12 with the lab installed. Needs root, a Rust and a Go toolchain, and Node.
# Everything that is built goes to the lab's folder.
set -e
programs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$programs/../env.sh"
built=$LAB/clients
export DEBIAN_FRONTEND=noninteractive
apt-get install -y -qq --no-install-recommends php-cli php-mysql php-pgsql ruby ruby-pg ruby-mysql2 ruby-activerecord python3-venv

mkdir -p "$built"/{go,node}
python3 -m venv "$built/venv"
"$built/venv/bin/pip" -q install sqlalchemy django pymysql 'psycopg[binary]' firebirdsql
cp "$programs/node/package.json" "$built/node"
npm install --silent --prefix "$built/node"
(cd "$programs/go" && go mod tidy && go build -o "$built/go/work" .)
CARGO_TARGET_DIR="$built/rust" cargo build -q --manifest-path "$programs/rust/Cargo.toml"
