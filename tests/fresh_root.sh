#!/usr/bin/env bash
# fresh_root.sh [try] [test]: what the README promises of a new machine. Runs its two commands (or one of them) in a fresh clone, in a
# new Debian 12 with nothing but Python and certificates; this machine's Rust toolchain is lent to it, and how its package clients are
# configured. Nothing of it stays, however this script ends. Needs root and mmdebstrap; 5 GB in LATPCAP_FRESH (/var/tmp unless set).
set -euo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$repository/benchmarks/lab/unstable.sh" # `mirror`
[ $# -gt 0 ] || set -- try test
[ "$(id -u)" = 0 ] || { echo "a new root needs root" >&2; exit 1; }
command -v mmdebstrap >/dev/null || { echo "mmdebstrap is not installed" >&2; exit 1; }
root=$(mktemp -d "${LATPCAP_FRESH:-/var/tmp}/latpcap-fresh-XXXXXX")
toolchain=$(rustc --print sysroot)

# The one setting of the whole machine that the lab once changed. At boot a namespace may choose reno and the default.
ALLOWED=net.ipv4.tcp_allowed_congestion_control
found=$(sysctl -n $ALLOWED)
booted=$(printf '%s\n' reno "$(sysctl -n net.ipv4.tcp_congestion_control)" | sort -u | xargs)
if [ "$(tr ' ' '\n' <<<"$found" | sort | xargs)" = "$booted" ]; then found=; fi

# It outlives this script, whose end closes the pipe: a kill -9 is an end, too.
exec 9> >(exec setsid bash -c 'trap "" HUP INT TERM; cat >/dev/null; [ -z "$3" ] || sysctl -qw "$2=$3"
  for _ in $(seq 50); do rm -rf --one-file-system "$1" && exit; sleep .2; done 2>/dev/null' - "$root" $ALLOWED "$found")
watcher=$!
end() { exec 9>&-; wait $watcher; }
trap end EXIT
if [ -n "$found" ]; then sysctl -qw $ALLOWED="$booted"; fi

# What runs in here ends with this script, its daemons too, and so do its mounts.
contained=(setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc)

echo "a new Debian 12 in $root" >&2
apt-config dump Acquire >"$root.acquire"; mv "$root.acquire" "$root/acquire"
"${contained[@]}" mmdebstrap --quiet --variant=minbase --include=ca-certificates,python3 --aptopt="$root/acquire" --skip=check/empty \
  bookworm "$root" "deb $(mirror) bookworm main" 9>&-
cp /etc/resolv.conf /etc/hosts "$root/etc/"
for file in /etc/pip.conf ~/.config/pip/pip.conf ~/.pip/pip.conf ~/.cargo/config.toml; do
  [ ! -e "$file" ] || cp --parents "$file" "$root/"
done
cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"; chroot "$root" update-ca-certificates >/dev/null 2>&1
# Settings of package clients in the environment, and the files that these name.
mapfile -t settings < <(env | grep -E '^(PIP_|CARGO_(HTTP|NET|REGISTR|SOURCE)|(https?|all|no)_proxy=|(HTTPS?|ALL|NO)_PROXY=|SSL_CERT_)' || true)
for setting in "${settings[@]}"; do
  path=${setting#*=}
  [[ $path = /* && -e $path && ! -e $root/$path ]] && cp -r --parents "$path" "$root/"
done
git clone -q --no-hardlinks "$repository" "$root/latpcap"
mkdir "$root/usr/local/rust"

# shellcheck disable=SC2016
"${contained[@]}" bash -ec '
  mount --rbind /dev "$1/dev"; mount -t proc proc "$1/proc"; mount -t sysfs sys "$1/sys"; mount -t tmpfs run "$1/run"
  mount --bind "$2" "$1/usr/local/rust"; mount -o remount,bind,ro "$1/usr/local/rust"
  chroot "$1" env -i -C /latpcap HOME=/root PATH=/usr/local/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${@:3}"
' - "$root" "$toolchain" "${settings[@]}" bash -ec 'for command in "$@"; do echo "./dev $command"; ./dev "$command"; done' - "$@" 9>&-
