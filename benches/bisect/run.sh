#!/usr/bin/env bash
# How often is the culprit named where it is known? For each of the seeds 1 to N (20 by default) makes a repository with
# benches/bisect/repository.py and searches it in the forms that are named, all by default:
#
#   search   harness bisect, with both of its ends
#   step     git bisect run harness step, held against both ends
#   none     harness bisect where no commit changed anything
#
# Each answer is a line of target/bisect/results.tsv, which stays; what is in it is not searched again. Repositories, reports and
# journals lie beside it. `python3 benches/bisect/table.py` makes the tables of docs/bisect.md of it. Half a minute to three
# minutes a search; let nothing else run meanwhile.
#
#   benches/bisect/run.sh [N [FORM …]]     for example: benches/bisect/run.sh 20 search
set -euo pipefail
cd "$(dirname "$0")/../.."
tries=${1:-20}
shift || true
[ $# -gt 0 ] || set -- search step none
cargo build --locked --release --quiet
harness=$PWD/target/release/harness
results=$PWD/target/bisect/results.tsv

# Makes a repository, the matrix and a project around them: folder, seed, form.
prepare() {
  local more=()
  [ "$3" != none ] || more=(--no-change)
  rm -rf "$1"
  python3 benches/bisect/repository.py "$2" "$1" "${more[@]}"
  cp benches/bisect/matrix.toml "$1/"
  echo 'schema = 1' > "$1/harness.toml"
}

# Searches by Harness itself: folder, seed. Its code is 1 for a culprit, 0 for none, 125 for neither.
search() {
  "$harness" bisect good..bad --matrix "$1/matrix.toml" --project "$1/harness.toml" --seed "$2" --budget 6m --format json \
    > "$1/out" 2> "$1/err"
}

# Lets git search: folder. Its code is 0 for a culprit, 2 where only commits are left that were skipped, another where a step stopped it.
step() {
  git clone --quiet "$1/repository" "$1/work" &&
    cd "$1/work" &&
    git bisect start --term-old=fast --term-new=slow bad good &&
    git bisect run "$harness" step --matrix ../matrix.toml
}

mkdir -p target/bisect
for seed in $(seq "$tries"); do
  for form in "$@"; do
    folder=$PWD/target/bisect/$form/$seed code=0 begun=$SECONDS
    ! grep -qs "^$form"$'\t'"$seed"$'\t' "$results" || continue
    case $form in
      search | none)
        prepare "$folder" "$seed" "$form"
        search "$folder" "$seed" || code=$?
        ;;
      step)
        prepare "$folder" "$seed" "$form"
        (step "$folder") > "$folder/out" 2> "$folder/err" || code=$?
        ;;
      *)
        echo "there is no form $form: search, step or none" >&2
        exit 2
        ;;
    esac
    case $form/$code in
      search/[01] | search/125 | none/[01] | none/125 | step/*) ;;
      *)
        tail -20 "$folder/err" >&2
        exit 1
        ;;
    esac
    line=$(python3 benches/bisect/judge.py "$form" "$folder" $((SECONDS - begun)))
    echo "$line" >> "$results"
    echo "$line"
  done
done
