#!/usr/bin/env bash
# What does it save to stop where the answer is sure? Runs benches/saving/ten.toml with 4, 6, 8 and 12 sessions of every pair
# and then sequentially, 4 to 12, all with one seed (1 by default), and prints how many of the nine pairs each decided in
# how many seconds. Let nothing else run meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."
seed=${1:-1}
cargo build --locked --release --quiet
mkdir -p target/saving
echo 'schema = 1' > target/saving/harness.toml
one() { # least, count
  local matrix=target/saving/$1-$2.toml code=0 begun=$SECONDS said decided
  sed -e "s/^least = .*/least = $1/" -e "s/^count = .*/count = $2/" benches/saving/ten.toml > "$matrix"
  said=$(target/release/harness run "$matrix" --project target/saving/harness.toml --fresh --seed "$seed" 2>&1 >/dev/null) || code=$?
  case $code in 0 | 1 | 125) ;; *) echo "$said" >&2; exit 1 ;; esac
  decided=$(grep '"record":"verdict"' "target/saving/$(sed -n 's/^journal //p' <<<"$said")" |
    grep -cE '"verdict":"(regression|improvement|same)"') || true
  echo "least $1, count $2: $decided of 9 pairs decided in $((SECONDS - begun)) s"
}
for sessions in 4 6 8 12; do one "$sessions" "$sessions"; done
one 4 12
