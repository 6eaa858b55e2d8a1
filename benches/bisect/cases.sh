#!/usr/bin/env bash
# Searches the real cases of docs/cases.md for their commits and versions, one after the other, and keeps what each said:
# target/bisect/cases/NAME.md, with NAME.err, and the journals below. A case that has ended is not searched again; one that was
# cut short goes on. Each has eight minutes. Needs what the matrices name: python3, node with npm, go, cargo. Let nothing else run
# meanwhile.
#
#   benches/bisect/cases.sh [NAME …]     for example: benches/bisect/cases.sh fasthttp axum
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build --locked --release --quiet
folder=target/bisect/cases
mkdir -p "$folder"
echo 'schema = 1' > "$folder/harness.toml"

# Searches one case unless others are wanted: name, range, matrix, further options.
search() {
  local name=$1 range=$2 matrix=$3 code=0 begun=$SECONDS
  shift 3
  [[ " $wanted " == *" $name "* ]] || return 0
  [ ! -e "$folder/$name.done" ] || return 0
  target/release/harness bisect "$range" --matrix "matrices/$matrix.toml" --project "$folder/harness.toml" --budget 8m --format md "$@" \
    > "$folder/$name.md" 2> "$folder/$name.err" || code=$?
  echo "$name: code $code after $((SECONDS - begun)) s: $(grep -m 1 . "$folder/$name.md" || tail -1 "$folder/$name.err")"
  case $code in 0 | 1 | 125) touch "$folder/$name.done" ;; esac
}

wanted=${*:-node-falls node-rises node-both express gunicorn fasthttp axum}
search node-falls 0.10.31..0.10.36 node-0.10
search node-rises 0.10.36..0.10.38 node-0.10 --invert
search node-both 0.10.31..0.10.38 node-0.10
search express 4.21.2..5.2.1 express
search gunicorn 25.1.0..25.2.0 gunicorn --invert
search fasthttp v1.59.0..v1.60.0 fasthttp-git --invert
search axum axum-v0.6.12..axum-v0.6.13 axum --invert
