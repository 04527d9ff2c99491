#!/usr/bin/env bash
# wheel.sh FOLDER: the wheel for Linux on this processor, with any glibc since 2.17. Two builds of a commit by one Rust and one maturin are
# the same bytes, wherever they are made: no path of the builder's is left in it. Needs maturin and zig.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cargo fetch --locked --quiet
python3 packaging/third_party.py
for sources in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
  RUSTFLAGS="${RUSTFLAGS:-} --remap-path-prefix=$sources=crates"
done
export RUSTFLAGS
maturin build --quiet --release --locked --zig --compatibility manylinux_2_17 --sbom-include build/crates.cdx.json --out "$1"
