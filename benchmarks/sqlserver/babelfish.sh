#!/bin/bash
# Babelfish, a server that is none of ours: TDS on a PostgreSQL of its own. Not needed for anything else here.
#
#   babelfish.sh FOLDER make POSTGRES EXTENSIONS     build it there from sources: tag BABEL_4_2_0__PG_16_3 of
#                                                    postgresql_modified_for_babelfish, BABEL_4_2_0 of babelfish_extensions
#   babelfish.sh FOLDER init CERTIFICATE KEY         a new server on port 14330, whose superuser is babel; then ./load.py 14330
#   babelfish.sh FOLDER start | stop
#
# Debian 12: bison flex cmake g++ maven libantlr4-runtime-dev libicu-dev libssl-dev libxml2-dev uuid-dev. It runs as postgres.
set -e
F=$(realpath "$1") PG=$(realpath "$1")/pg DATA=$(realpath "$1")/data
as() { setpriv --reuid=postgres --regid=postgres --clear-groups env HOME=/tmp "$@"; }
PARTS="src/port src/common src/timezone src/interfaces/libpq src/fe_utils src/backend src/backend/utils/mb/conversion_procs
  src/backend/snowball src/include src/bin/initdb src/bin/pg_ctl src/bin/psql src/bin/pg_config src/pl/plpgsql/src
  src/makefiles config contrib/uuid-ossp"

case $2 in
make)
  export PG_SRC=$(realpath "$3") PG_CONFIG=$PG/bin/pg_config cmake=cmake
  cd "$PG_SRC"
  ./configure -q --prefix="$PG" --without-readline --without-zlib --with-libxml --with-uuid=e2fs --with-icu --with-openssl CFLAGS=-O1
  make -s -C src/backend generated-headers
  for part in $PARTS; do make -s -C "$part" install; done
  make -s -C src install-local
  cd "$(realpath "$4")/contrib"
  # Debian has ANTLR's library 4.9, for which its own generator must write.
  mvn -q dependency:copy -Dartifact=org.antlr:antlr4:4.9:jar:complete -DoutputDirectory="$F"
  cp "$F/antlr4-4.9-complete.jar" babelfishpg_tsql/antlr/thirdparty/antlr/antlr-4.9.3-complete.jar
  sed -i 's/-Werror / /; s#/usr/local/include/antlr4#/usr/include/antlr4#; s#= */usr/local/lib$#=/usr/lib#' */Makefile
  sed -i "s#/usr/local/include#/usr/include#; s/-O2 -ggdb/-O0/" babelfishpg_tsql/antlr/CMakeLists.txt
  (cd babelfishpg_tsql/antlr && cmake -DJava_JAVA_EXECUTABLE="$(command -v java)" . && make)
  for part in money common tds tsql; do
    make -s -C babelfishpg_$part CXXFLAGS=-O0 LDFLAGS_SL=-Wl,--allow-multiple-definition install
  done ;;
init)
  mkdir "$DATA"
  cp "$3" "$F/server.crt"; cp "$4" "$F/server.key"
  chown postgres "$DATA" "$F"/server.*; chmod 600 "$F/server.key"
  as "$PG/bin/initdb" -D "$DATA" -U postgres -A trust --encoding=UTF8 --locale=C.UTF-8 >"$F/initdb.log"
  cat >>"$DATA/postgresql.conf" <<END
port = 5499
unix_socket_directories = '/tmp'
shared_preload_libraries = 'babelfishpg_tds'
ssl = on
ssl_cert_file = '$F/server.crt'
ssl_key_file = '$F/server.key'
babelfishpg_tds.port = 14330
babelfishpg_tds.listen_addresses = '127.0.0.1'
END
  "$0" "$F" start
  as "$PG/bin/psql" -q -h /tmp -p 5499 -d postgres -v ON_ERROR_STOP=1 <<END
CREATE USER babel SUPERUSER PASSWORD 'top secret';
CREATE DATABASE bbf OWNER babel;
\c bbf
SET allow_system_table_mods = ON;
CREATE EXTENSION babelfishpg_tds CASCADE;
GRANT ALL ON SCHEMA sys TO babel;
ALTER SYSTEM SET babelfishpg_tsql.database_name = 'bbf';
ALTER SYSTEM SET babelfishpg_tsql.migration_mode = 'single-db';
SELECT pg_reload_conf();
CALL sys.initialize_babelfish('babel');
END
  "$0" "$F" stop; "$0" "$F" start ;;
start) as "$PG/bin/pg_ctl" -D "$DATA" -l /tmp/babelfish.log -w start ;;
stop) as "$PG/bin/pg_ctl" -D "$DATA" -m fast stop ;;
esac
