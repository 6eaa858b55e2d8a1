"""What a search of a generated repository gave, held against the truth, as a line of results.tsv.

python3 judge.py FORM FOLDER SECONDS, with what benches/bisect/run.sh leaves in the folder. Right is an answer that names the culprit
and nobody who could be told from it by measuring; where nothing changed, one that names nobody.
"""
import json
import re
import sys
from pathlib import Path


def named_by_git(text):
    """Returns the ending and whom `git bisect run` names: one commit, those that are left because others were skipped, or nobody."""
    one = re.search(r"^([0-9a-f]{40}) is the first slow commit$", text, re.M)
    if one:
        return "found", [one[1]]
    left = re.findall(r"^[0-9a-f]{40}$", text.partition("The first slow commit could be any of:")[2], re.M)
    return ("found within a gap" if left else "stopped"), left


def named_by_search(told):
    """Returns the ending and whom `harness bisect` names; one that is unresolved names nobody."""
    ending = told["outcome"].replace("-", " ")
    named = [suspect["commit"] for suspect in told["suspects"]] if ending.startswith("found") else []
    return ending, named


def effect(told):
    """Returns the change that was found, percent, and how sure the answer is, percent."""
    change = told["effect_percent"]
    return "-" if change is None else f"{change:.1f}", f"{100 * told['odds']:.1f}"


def spent(folder):
    """Returns how many commits between the ends were built or tried to be, the sessions, and the servers launched in them."""
    built, sessions, launches = set(), 0, 0
    for journal in folder.glob("reports/data/*/*.jsonl"):
        records = [json.loads(line) for line in journal.read_text().splitlines()]
        cells = [cell["version"].get("commit") for cell in records[0]["cells"]]
        for record in records:
            if record["record"] == "build":
                built.add(cells[record["cell"]])
            if record["record"] == "session":
                sessions += 1
                launches += len(record["launches"])
    return len(built) - 2, sessions, launches


def main():
    form, folder, seconds = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    truth = json.loads((folder / "truth.json").read_text())
    text = (folder / "out").read_text()
    if form == "step":
        (ending, named), sure = named_by_git(text), ("-", "-")
    else:
        told = json.loads(text)
        (ending, named), sure = named_by_search(told), effect(told)
    alike, named = set(truth["alike"]), set(named)
    right = truth["culprit"] in named and named <= alike if alike else not named
    line = [form, truth["seed"], "yes" if right else "no", ending, len(named), *sure, seconds, *spent(folder)]
    print(*line, sep="\t")


main()
