#!/usr/bin/python3
"""Whether every fuzz entry is in all lists. `make test-fuzz`, `make fuzz` and `make coverage` run the entries of F
in tests/fuzz/fuzz.mk; an entry that is missing there would be built and run by nobody.

    tests/check_fuzz.py [TREE]        prints what is missing, then `fuzz entries: N passed, N failed`
    tests/check_fuzz.py --self-test   proves on a made-up tree that every rule can fail

1. Each tests/fuzz/fuzz_NAME.c is in F.
2. Each entry of F has a source (fuzz_NAME.c, or FUZZ_MAIN_NAME), FUZZ_SRC_NAME, a number of executions
   (FUZZ_RUNS_NAME), seeds (tests/fuzz/seeds.py), and its name in docs/RELIABILITY.md.
3. No line of fuzz.mk is of an entry that F does not have.

Exit code: 0 when all is well, 1 otherwise.
"""
import glob
import os
import re
import tempfile

from check_run import run

RULES = "tests/fuzz/fuzz.mk"
SEEDS = "tests/fuzz/seeds.py"
DOCUMENT = "docs/RELIABILITY.md"


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def check(root):
    """(number of correct facts, [what is missing])."""
    rules = read(root, RULES).replace("\\\n", " ")
    entries = set(re.search(r"^F \?= (.*)$", rules, re.M)[1].split())
    lists = {kind: set(re.findall(r"^FUZZ_%s_(\w+) :=" % kind, rules, re.M))
             for kind in ("MAIN", "SRC", "RUNS", "LEN", "WAY")}
    makers = re.search(r"makers = \{(.*?)\}", read(root, SEEDS), re.S)[1]
    seeds = set(re.findall(r'"(\w+)":', makers))
    named = set(re.findall(r"`(\w+)`", read(root, DOCUMENT)))
    sources = {os.path.basename(path)[5:-2] for path in glob.glob(os.path.join(root, "tests/fuzz/fuzz_*.c"))}

    facts = [("%s: %s in F" % (RULES, name), name in entries) for name in sorted(sources)]
    for name in sorted(entries):
        facts += [
            ("tests/fuzz/fuzz_%s.c, or FUZZ_MAIN_%s" % (name, name), name in sources | lists["MAIN"]),
            ("%s: FUZZ_SRC_%s" % (RULES, name), name in lists["SRC"]),
            ("%s: FUZZ_RUNS_%s" % (RULES, name), name in lists["RUNS"]),
            ("%s: seeds for %s" % (SEEDS, name), name in seeds),
            ("%s: a row for `%s`" % (DOCUMENT, name), name in named)]
    facts += [("%s: %s in F, for FUZZ_%s_%s" % (RULES, name, kind, name), name in entries)
              for kind, names in lists.items() for name in sorted(names)]
    return sum(good for _, good in facts), ["missing: " + what for what, good in facts if not good]


# --- self-test ---

FILES = {
    RULES: "F ?= ip4 \\\n\tx550\nFUZZ_RUNS_ip4 := 1\nFUZZ_RUNS_x550 := 1\nFUZZ_SRC_ip4 := a.c\nFUZZ_SRC_x550 :=\n"
           "FUZZ_MAIN_x550 := tests/fuzz/fuzz_ip4.c\n",
    SEEDS: 'makers = {"ip4": packets,\n  "x550": cards}\n',
    DOCUMENT: "| the wire | `ip4` | `x550` |\n",
    "tests/fuzz/fuzz_ip4.c": "",
}
WRONG = [  # (file, words, what is there instead); one thing is missing
    ("tests/fuzz/fuzz_arp.c", "", ""),
    (RULES, "FUZZ_MAIN_x550 := tests/fuzz/fuzz_ip4.c\n", ""),
    (RULES, "FUZZ_RUNS_x550 := 1\n", ""),
    (RULES, "FUZZ_SRC_ip4 := a.c\n", ""),
    (RULES, "F ?= ip4 \\", "FUZZ_LEN_arp := 9\nF ?= ip4 \\"),
    (SEEDS, '"x550": cards', ""),
    (DOCUMENT, "`ip4`", "ip4")]


def missing(changes):
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**FILES, **changes}.items():
            path = os.path.join(root, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return check(root)[1]


def self_test():
    failures = ["right, but refused: %s" % missing({})] if missing({}) else []
    for path, words, instead in WRONG:
        found = missing({path: FILES.get(path, "").replace(words, instead) if words else ""})
        if len(found) != 1:
            failures.append("%s without %r: found %s" % (path, words, found))
    return 1 + len(WRONG), failures


if __name__ == "__main__":
    run("fuzz entries", __doc__, check, self_test)
