#!/bin/bash
# unstable.sh make | remove | status, or: run COMMAND…
# The newest servers and their command line clients: MySQL 9.7, PostgreSQL 18 and Firebird 4.0 of Debian's unstable suite, in a folder
# of their own (LATPCAP_UNSTABLE; 0.7 GB, some minutes). Nothing is installed on the machine. mysql.sh and its like source this file.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
UNSTABLE=${LATPCAP_UNSTABLE:-${XDG_CACHE_HOME:-$HOME/.cache}/latpcap/unstable}
PACKAGES=mysql-server-core,mysql-client-core,postgresql-18,firebird4.0-server,firebird4.0-utils

# A command after these words runs in the folder; the lab's own folder lies there under the same path. The mounts end with the command.
inside=(unshare -m bash -ec 'mkdir -p "$1$2"; mount --bind "$2" "$1$2"; mount --rbind /dev "$1/dev"; mount -t proc proc "$1/proc"
  exec chroot "$1" "${@:3}"' - "$UNSTABLE" "$LAB")
near=(${SERVER_NS:+ip netns exec "$SERVER_NS"})

there() { [ -e "$UNSTABLE/made" ]; }

# The mirror is the one that the machine's own packages come from.
mirror() {
  local codename; codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  apt-get indextargets --format '$(REPO_URI) $(RELEASE)' | awk -v wanted="$codename" '$2 == wanted { print $1; exit }'
}

make() {
  there && return 0
  [ "$(id -u)" = 0 ] || { echo "no newest servers: making and running them needs root" >&2; return 1; }
  command -v mmdebstrap >/dev/null || { echo "no newest servers: mmdebstrap is not installed" >&2; return 1; }
  mkdir -p "$LAB/logs" "$(dirname "$UNSTABLE")"; rm -rf "$UNSTABLE.new"
  mmdebstrap --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' --include=$PACKAGES \
    sid "$UNSTABLE.new" "deb [trusted=yes] $(mirror) sid main" >"$LAB/logs/unstable.log" 2>&1 ||
    { echo "no newest servers: the unstable suite cannot be had, see $LAB/logs/unstable.log" >&2; return 1; }
  touch "$UNSTABLE.new/made"; mv "$UNSTABLE.new" "$UNSTABLE"
}

remove() { rm -rf "$UNSTABLE" "$UNSTABLE.new"; }

# What the servers' scripts share; NAME is theirs.
up() { runs "$LAB/run/$NAME.pid"; }

launch() { # COMMAND…: start it at the server and wait until `answers`
  up && return 0
  (cd /; exec setsid "${near[@]}" ${SERVER_NS:+$REALTIME} "${inside[@]}" "$@" >"$LAB/logs/$NAME.log" 2>&1 </dev/null) &
  echo $! >"$LAB/run/$NAME.pid"
  for _ in $(seq 300); do answers && return 0; up || break; sleep .1; done
  echo "$NAME did not start: see $LAB/logs/$NAME.log" >&2; return 1
}

stop() {
  up && kill -"${ENDS:-TERM}" "$(cat "$LAB/run/$NAME.pid")"
  for _ in $(seq 300); do up || break; sleep .1; done
  rm -f "$LAB/run/$NAME.pid"
}

status() {
  if [ -n "${NAME-}" ]; then up && echo "$NAME up, pid $(cat "$LAB/run/$NAME.pid")" || echo "$NAME down"
  else there && echo "made: $UNSTABLE" || echo "not made: $UNSTABLE"; fi
}

needs_it() { there || { echo "no newest servers: run $here/unstable.sh make" >&2; exit 1; }; }

[ "${BASH_SOURCE[0]}" = "$0" ] || return 0
if [ "$1" = run ]; then exec "${inside[@]}" "${@:2}"; fi
for step in "$@"; do "$step" || exit 1; done
