"""What a search of a generated repository gave, held against the truth, as a line of results.tsv.

python3 judge.py FORM FOLDER SECONDS, with what benches/bisect/run.sh leaves in the folder. Right is an answer that names the culprit
and nobody who could have been told from it; where nothing changed, one that names nobody.
"""
import json
import re
import sys
from pathlib import Path


def named_by_git(text):
    """Returns the ending and whom `git bisect run` names: one commit, or those that are left because others were skipped."""
    one = re.search(r"^([0-9a-f]{40}) is the first slow commit$", text, re.M)
    if one:
        return "found", [one[1]]
    left = text.partition("The first slow commit could be any of:")[2]
    return "found within a gap", re.findall(r"^[0-9a-f]{40}$", left, re.M)


def named_by_search(found):
    """Returns the ending, whom `harness bisect` names, and the change that it says they made, percent."""
    named = [one["commit"] for one in found["suspects"]] if found["outcome"].startswith("found") else []
    effect = found["effect_percent"]
    return found["outcome"].replace("-", " "), named, "-" if effect is None else f"{effect:.1f}"


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
    ending, named, effect = (*named_by_git(text), "-") if form == "step" else named_by_search(json.loads(text))
    alike, named = set(truth["alike"]), set(named)
    right = truth["culprit"] in named and named <= alike if alike else not named
    line = [form, truth["seed"], "yes" if right else "no", ending, len(named), effect, seconds, *spent(folder)]
    print(*line, sep="\t")


main()
