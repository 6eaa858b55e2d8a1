#!/usr/bin/env bash
# How often is Harness right where the answer is known? Runs matrices/known.toml N times (20 by default) with the seeds
# 1 to N and counts the verdicts of each pair. Takes about a minute and a half a run; let nothing else run meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."
tries=${1:-20}
cargo build --locked --release --quiet
for seed in $(seq "$tries"); do
  target/release/harness run matrices/known.toml --fresh --seed "$seed" --format json 2>/dev/null >/dev/null || true
done
# The verdict lines of the newest N journals: candidate 1 is the same server again, candidate 2 the slower one.
ls -t reports/data/known/*.jsonl | head -n "$tries" | xargs cat |
  grep '"record":"verdict"' |
  sed -E 's/.*"candidate":([0-9]+).*"verdict":"([a-z]+)".*/\1 \2/' |
  sort | uniq -c |
  sed -e 's/ 1 / the same server under another name: /' -e 's/ 2 / about 5 % more work: /'
