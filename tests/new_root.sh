# Sourced: a new Debian root that ends with the script which made it, however that ends. Needs root and mmdebstrap; up to 5 GB in
# LATPCAP_FRESH (/var/tmp unless set). `new_root SUITE PACKAGES`, then `in_root MOUNTS COMMAND…`.
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$repository/benchmarks/lab/unstable.sh" # `mirror`
[ "$(id -u)" = 0 ] || { echo "a new root needs root" >&2; exit 1; }
command -v mmdebstrap >/dev/null || { echo "mmdebstrap is not installed" >&2; exit 1; }
# What runs in the root ends with the script, its daemons too, and so do its mounts.
contained=(setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc)

# COMMAND…: run it when this script has ended. A process that outlives the script waits for its end to close the pipe: a kill -9 is an
# end, too.
at_end() {
  exec 9> >(exec setsid bash -c 'trap "" HUP INT TERM; cat >/dev/null; "$@"' - "$@")
  watcher=$!
  trap 'exec 9>&-; wait $watcher' EXIT
}

# The folder goes when what still runs in it has ended.
remove_root() { for _ in $(seq 50); do rm -rf --one-file-system "$1" && return; sleep .2; done 2>/dev/null; }
export -f remove_root

# SUITE PACKAGES: Debian of that suite in $root, with how this machine's package clients are configured.
new_root() {
  echo "a new Debian ($1) in $root" >&2
  apt-config dump Acquire >"$root.acquire"; mv "$root.acquire" "$root/acquire"
  "${contained[@]}" mmdebstrap --quiet --variant=minbase --include="ca-certificates,$2" --aptopt="$root/acquire" --skip=check/empty \
    "$1" "$root" "deb $(mirror) $1 main" 9>&-
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  for file in /etc/pip.conf ~/.config/pip/pip.conf ~/.pip/pip.conf ~/.cargo/config.toml; do
    [ ! -e "$file" ] || cp --parents "$file" "$root/"
  done
  mkdir -p "$root/usr/local/share"; cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
  chroot "$root" update-ca-certificates >/dev/null 2>&1
  # Settings of package clients in the environment, and the files that these name.
  mapfile -t settings < <(env | grep -E '^(PIP_|CARGO_(HTTP|NET|REGISTR|SOURCE)|(https?|all|no)_proxy=|(HTTPS?|ALL|NO)_PROXY=|SSL_CERT_)' || true)
  local setting path
  for setting in "${settings[@]}"; do
    path=${setting#*=}
    [[ $path = /* && -e $path && ! -e $root/$path ]] && cp -r --parents "$path" "$root/"
  done
  git clone -q --no-hardlinks "$repository" "$root/latpcap"
}

# MOUNTS COMMAND…: in the root, in the clone. MOUNTS is a shell command, which knows the root as $1.
in_root() {
  # shellcheck disable=SC2016
  "${contained[@]}" bash -ec '
    mount --bind "$1" "$1" # a root is a mount: within it namespaces of their own can be made
    mount --rbind /dev "$1/dev"; mount -t proc proc "$1/proc"; mount -t sysfs sys "$1/sys"; mount -t tmpfs run "$1/run"
    eval "$2"
    chroot "$1" env -i -C /latpcap HOME=/root PATH=/usr/local/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${@:3}"
  ' - "$root" "$1" "${settings[@]}" "${@:2}" 9>&-
}
