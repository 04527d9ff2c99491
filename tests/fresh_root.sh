#!/usr/bin/env bash
# fresh_root.sh [try] [test]: what the README promises of a new machine. Runs its two commands (or one of them) in a fresh clone, in a
# new Debian 12 with nothing but Python and certificates; this machine's Rust toolchain is lent to it, and how its package clients are
# configured. Nothing of it stays, however this script ends.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/new_root.sh"
[ $# -gt 0 ] || set -- try test
root=$(mktemp -d "${LATPCAP_FRESH:-/var/tmp}/latpcap-fresh-XXXXXX")

# The one setting of the whole machine that the lab once changed. At boot a namespace may choose reno and the default.
ALLOWED=net.ipv4.tcp_allowed_congestion_control
found=$(sysctl -n $ALLOWED)
booted=$(printf '%s\n' reno "$(sysctl -n net.ipv4.tcp_congestion_control)" | sort -u | xargs)
if [ "$(tr ' ' '\n' <<<"$found" | sort | xargs)" = "$booted" ]; then found=; fi
put_back() { [ -z "$2" ] || sysctl -qw "$ALLOWED=$2"; remove_root "$1"; }
export ALLOWED; export -f put_back
at_end bash -c 'put_back "$@"' - "$root" "$found"
if [ -n "$found" ]; then sysctl -qw $ALLOWED="$booted"; fi

new_root bookworm python3
mkdir "$root/usr/local/rust"
in_root "mount --bind '$(rustc --print sysroot)' \"\$1/usr/local/rust\"; mount -o remount,bind,ro \"\$1/usr/local/rust\"" \
  bash -ec 'for command in "$@"; do echo "./dev $command"; ./dev "$command"; done' - "$@"
