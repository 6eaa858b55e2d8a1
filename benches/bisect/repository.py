"""A git repository whose culprit is known: 128 commits of a small HTTP server in C, all from a seed.

python3 repository.py SEED FOLDER [--no-change] writes FOLDER/repository, a bare repository with the tags `good` and `bad`, and
FOLDER/truth.json. The same seed gives the same hashes. In it are

- a line of first parents with two branches that leave it and are merged again;
- the culprit, from which on answers take 1/0.96 of the time, so that there are 4 % fewer; with --no-change there is none;
- three stretches of 28 commits together that do not build, each for a reason of its own: a header that is not there, a
  function that is not there, an error of types; the culprit may lie in one of them;
- a decoy: one commit that gives 6 % more answers than the one before it, so that it is faster than the good end even behind
  the culprit; the next commit takes that back;
- a commit that builds, starts and answers, and ends itself under load; the next one repairs it.

Every commit adds to a table that the server does not ask, so no two programs are the same. Decoy and culprit are at least four
commits apart, and the culprit is neither a merge nor one of the two that crash or repair it.
"""
import json
import random
import subprocess
import sys
from pathlib import Path

COMMITS = 128
UNBUILDABLE = 28
SLOWER = 0.04  # so many answers fewer, from the culprit on
DECOY = 0.06  # so many answers more, in one commit
TURNS = 40_000
LOOP = 0.765  # of an answer's CPU time, by twice the turns: see docs/bisect.md
ANSWERS_TO_CRASH = 400
APART = 4  # commits between culprit and decoy
SOURCE = Path(__file__).parent / "server"
BEGAN = 1_577_836_800  # 2020-01-01, s; commits are an hour apart
IDENTITY = "repository.py <repository.py@localhost>"

# What breaks a build: where it stands in the source, what stands there, and the subjects of the commits that begin and end it.
BREAKS = [
    ("server.c", "includes", '#include "pool.h"', "Take connections from a pool", "Leave the pool for later"),
    ("server.c", "the start", "types_ready();", "Read the types at the start", "Read no types at the start"),
    ("types.c", "types", '(struct type){ "text/html", 1 },', "Give types a number", "Give types no number"),
]
CRASH = ("server.c", "each answer", f"static unsigned answers; if (++answers > {ANSWERS_TO_CRASH}) abort();")


def history(chance):
    """Returns the parents of each commit, which come before it: a line of first parents and two branches."""
    branches = [chance.randint(8, 16) for _ in range(2)]
    line = COMMITS - sum(branches)
    merges = dict(zip(chance.sample(range(20, line - 4), 2), branches))
    parents, places = [[]], [0]
    for place in range(1, line):
        own = [places[-1]]
        if place in merges:
            tip = places[place - chance.randint(4, 16)]
            for _ in range(merges[place]):
                parents.append([tip])
                tip = len(parents) - 1
            own.append(tip)
        parents.append(own)
        places.append(len(parents) - 1)
    return parents


def ancestors(parents):
    """Returns the set of each commit and all that it grew out of."""
    held = []
    for commit, own in enumerate(parents):
        held.append({commit}.union(*(held[parent] for parent in own)))
    return held


def path(parents, first, length):
    """Returns so many commits from the first on of which each is the only child of an only parent; none if it forks or merges."""
    commits = [first]
    while len(commits) < length:
        children = [child for child, own in enumerate(parents) if commits[-1] in own]
        if len(children) != 1:
            return None
        commits.append(children[0])
    return commits if all(len(parents[commit]) == 1 for commit in commits) else None


def place(chance, parents, lengths):
    """Returns a path of each length, none of which touches another."""
    while True:
        paths = [path(parents, chance.randrange(1, COMMITS), length) for length in lengths]
        if None not in paths and len(set(sum(paths, []))) == sum(lengths):
            return paths


def plan(chance, with_change):
    """Returns parents and what is special: the stretches and their repairs, the decoy and the crash with theirs, the culprit."""
    parents = history(chance)
    sizes = [0, 0, 0]
    while min(sizes) < 4:
        cuts = sorted(chance.sample(range(1, UNBUILDABLE), 2))
        sizes = [cuts[0], cuts[1] - cuts[0], UNBUILDABLE - cuts[1]]
    *stretches, decoy, crash = place(chance, parents, [size + 1 for size in sizes] + [2, 2])
    usual = [
        commit
        for commit in range(1, COMMITS)
        if len(parents[commit]) == 1 and abs(commit - decoy[0]) > APART and commit not in crash
    ]
    culprit = chance.choice(usual)
    return parents, stretches, decoy, crash, culprit if with_change else None


def class_of(culprit, held, silent):
    """Returns the commits that cannot be told from the culprit: those that are held by the same commits with a number."""
    def holders(suspect):
        return {commit for commit in range(COMMITS) if commit not in silent and suspect in held[commit]}
    wanted = holders(culprit)
    return [suspect for suspect in range(1, COMMITS) if holders(suspect) == wanted]


def is_on(commits, own):
    """Returns whether what the first commit of a path brings is there, and not yet taken back by the last."""
    return commits[0] in own and commits[-1] not in own


def files(own, special):
    """Returns the files of a commit that grew out of these."""
    stretches, decoy, crash, culprit = special
    cost = 1.0
    if culprit in own:
        cost /= 1 - SLOWER
    if is_on(decoy, own):
        cost /= 1 + DECOY
    turns = round(TURNS * (1 + (cost - 1) / LOOP))
    text = {file.name: file.read_text() for file in sorted(SOURCE.iterdir())}
    text["work.h"] = text["work.h"].replace(f"{TURNS}UL", f"{turns}UL")
    known = "\n    ".join(f'"application/x-{commit}",' for commit in sorted(own))
    here = {("types.c", "types"): known}
    for stretch, (file, at, what, _, _) in zip(stretches, BREAKS):
        if is_on(stretch, own):
            here[file, at] = f"{here.get((file, at), '')}\n    {what}"
    if is_on(crash, own):
        here[CRASH[0], CRASH[1]] = CRASH[2]
    for (file, at), what in here.items():
        text[file] = text[file].replace(f"/* here: {at} */", what.strip())
    return text


def subjects(parents, special):
    """Returns the subject of each commit."""
    stretches, decoy, crash, culprit = special
    told = {
        decoy[0]: "Keep a part of the answer for the next one",
        decoy[1]: "Make the whole answer each time",
        crash[0]: "Count answers",
        crash[1]: "Count no answers",
    }
    for stretch, (_, _, _, begun, ended) in zip(stretches, BREAKS):
        told[stretch[0]], told[stretch[-1]] = begun, ended
    merges = {commit: "Merge a branch" for commit, own in enumerate(parents) if len(own) > 1}
    usual = {commit: f"Know the type application/x-{commit}" for commit in range(COMMITS)}
    of_culprit = {} if culprit is None else {culprit: "Look at each request more closely"}
    return {**usual, **merges, **told, **of_culprit}


def stream(parents, held, special):
    """Returns what `git fast-import` makes the repository of."""
    told = subjects(parents, special)
    lines = []
    for commit, own in enumerate(parents):
        lines += ["commit refs/heads/main", f"mark :{commit + 1}"]
        lines += [f"{who} {IDENTITY} {BEGAN + 3600 * commit} +0000" for who in ("author", "committer")]
        lines.append(data(told[commit]))
        lines += [f"{word} :{parent + 1}" for word, parent in zip(("from", "merge"), own)]
        for name, text in files(held[commit], special).items():
            lines += [f"M 100644 inline {name}", data(text)]
    for tag, commit in (("good", 0), ("bad", COMMITS - 1)):
        lines += [f"reset refs/tags/{tag}", f"from :{commit + 1}", ""]
    return "\n".join(lines)


def data(text):
    return f"data {len(text.encode())}\n{text}"


def git(*words, given=""):
    return subprocess.run(["git", *words], input=given.encode(), stdout=subprocess.PIPE, check=True).stdout.decode()


def main():
    words = [word for word in sys.argv[1:] if word != "--no-change"]
    seed, folder = int(words[0]), Path(words[1])
    parents, *special = plan(random.Random(seed), "--no-change" not in sys.argv)
    stretches, decoy, crash, culprit = special
    held = ancestors(parents)
    folder.mkdir(parents=True, exist_ok=True)
    repository, marks = folder / "repository", folder / "marks"
    git("init", "--quiet", "--bare", "--initial-branch=main", "--object-format=sha1", str(repository))
    git("-C", str(repository), "fast-import", "--quiet", f"--export-marks={marks.resolve()}", given=stream(parents, held, special))
    hashes = dict(line.split() for line in marks.read_text().splitlines())
    marks.unlink()

    def named(commits):
        return [hashes[f":{commit + 1}"] for commit in commits]
    gaps = sorted(sum((stretch[:-1] for stretch in stretches), []))
    silent = {*gaps, crash[0]}
    truth = {
        "seed": seed,
        "culprit": named([culprit])[0] if culprit is not None else None,
        "alike": named(class_of(culprit, held, silent)) if culprit is not None else [],
        "unbuildable": named(gaps),
        "decoy": named(decoy)[0],
        "crash": named(crash)[0],
    }
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")


main()
