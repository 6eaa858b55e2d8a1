#!/usr/bin/env bash
# Real A/A pairs and real slowdowns of known size: runs benches/real/{node,compiled}.toml, on an idle machine and under a
# random background load, N times each (10 by default) with the seeds 1 to N. Journals go to target/real; a run that is there
# is not made again. But for the compiled server on an idle machine a pair may have three times the matrix's sessions: a change
# of 2 % takes so many there.
# `cargo bench --bench real` condenses and counts them. One to six minutes a run; let nothing else run meanwhile.
#
#   benches/real.sh [N [SERVER/CONDITION …]]     for example: benches/real.sh 10 node/idle compiled/loaded
set -euo pipefail
cd "$(dirname "$0")/.."
tries=${1:-10}
shift || true
[ $# -gt 0 ] || set -- node/idle node/loaded compiled/idle compiled/loaded
cargo build --locked --release --quiet
busy=
trap '[ -z "$busy" ] || kill "$busy" 2> /dev/null || true' EXIT
for seed in $(seq "$tries"); do
  for what in "$@"; do
    server=${what%/*} condition=${what#*/} folder=target/real/$what/$seed
    [ ! -e "$folder/done" ] || continue
    rm -rf "$folder"
    mkdir -p "$folder"
    echo 'schema = 1' > "$folder/harness.toml"
    busy= sessions=36
    [ "$what" != compiled/idle ] || sessions=12
    if [ "$condition" = loaded ]; then
      python3 benches/real/busy.py "$seed" 900 &
      busy=$!
    fi
    code=0
    target/release/harness run "benches/real/$server.toml" --project "$folder/harness.toml" --fresh --seed "$seed" \
      --sessions "$sessions" \
      > "$folder/out" 2> "$folder/err" || code=$?
    [ -z "$busy" ] || { kill "$busy" && wait "$busy" || true; }
    busy=
    case $code in 0 | 1 | 125) ;; *) cat "$folder/err" >&2; exit 1 ;; esac
    touch "$folder/done"
    echo "$what seed $seed: $(tail -1 "$folder/err")"
  done
done
