#!/usr/bin/env bash
# How often is Harness right where the answer is known? Runs matrices/known.toml N times (20 by default) with the seeds
# 1 to N and counts the verdicts of each pair. Takes about a minute a run; let nothing else run meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."
tries=${1:-20}
cargo build --locked --release --quiet
journals=()
for seed in $(seq "$tries"); do
  code=0
  said=$(target/release/harness run matrices/known.toml --fresh --seed "$seed" 2>&1 >/dev/null) || code=$?
  case $code in 0 | 1 | 125) ;; *) echo "$said" >&2; exit 1 ;; esac
  journals+=("$(sed -n 's/^journal //p' <<<"$said")")
done
count() { # candidate's index, what it is
  cat "${journals[@]}" | grep '"record":"verdict"' | grep "\"candidate\":$1," |
    sed -E "s/.*\"verdict\":\"([a-z]+)\".*/$2: \1/" | sort | uniq -c
}
count 1 "the same server under another name"
count 2 "about 5 % more work"
