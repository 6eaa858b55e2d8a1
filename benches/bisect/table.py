"""The tables of docs/bisect.md from the results of benches/bisect/run.sh: python3 table.py [RESULTS]

The first says of each form how often it was right, and what it took: the median and, in brackets, the least and the most. The second
says the same of each repository.
"""
import statistics
import sys

FORMS = {
    "search": "`harness bisect`",
    "step": "`git bisect run harness step`",
    "none": "`harness bisect`, no change",
}


def read(path):
    with open(path) as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    names = ("form", "seed", "right", "ending", "named", "effect", "odds", "seconds", "asked", "sessions", "launches")
    return [dict(zip(names, row)) for row in rows]


def spread(rows, name):
    numbers = [int(row[name]) for row in rows if row[name] != "-"]
    if not numbers:
        return "–"
    return f"{statistics.median(numbers):g} ({min(numbers)}–{max(numbers)})"


def summary(rows):
    print("| form | right | time, s | commits asked | sessions | servers launched |")
    print("| --- | --- | --- | --- | --- | --- |")
    for form, name in FORMS.items():
        own = [row for row in rows if row["form"] == form]
        right = sum(row["right"] == "yes" for row in own)
        took = " | ".join(spread(own, name) for name in ("seconds", "asked", "sessions", "launches"))
        if own:
            print(f"| {name} | {right} of {len(own)} | {took} |")


def each(rows):
    print("| seed | " + " | ".join(FORMS.values()) + " |")
    print("| --- " * (len(FORMS) + 1) + "|")
    cells = {(row["seed"], row["form"]): row for row in rows}
    for seed in sorted({row["seed"] for row in rows}, key=int):
        told = [cell(cells.get((seed, form))) for form in FORMS]
        print(f"| {seed} | " + " | ".join(told) + " |")


def cell(row):
    if row is None:
        return ""
    wrong = "" if row["right"] == "yes" else "**wrong:** "
    sure = "" if row["odds"] == "-" else f", {row['effect']} %, odds {row['odds']} %"
    named = "" if row["named"] in ("0", "1") else f", {row['named']} commits"
    return f"{wrong}{row['ending']}{named}{sure}; {row['seconds']} s, {row['launches']} launches"


def main():
    rows = read(sys.argv[1] if len(sys.argv) > 1 else "target/bisect/results.tsv")
    summary(rows)
    print()
    each(rows)


main()
