#!/usr/bin/python3
"""Writes compile_commands.json, for editors and clang tools, from what make would run.

    tools/compile_commands.py [-o FILE] [TARGET]...    targets: all, unit

`make -n -B` prints every command without running it, so the file always matches the build. lib/ is
compiled twice (kernel and core programs). Both commands are listed, the core program's first,
because tools take the first they find.

A compiler call with several sources (the unit tests) gives one entry for each source.
Exit code: 0, or 1 when make fails or prints no compiler call.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys

COMPILERS = ("gcc", "clang", "cc")
TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir))
# Options whose value is the word that follows.
WITH_VALUE = {"-o", "-I", "-D", "-U", "-include", "-isystem", "-MF", "-MT", "-MQ", "-x", "-T"}
SHELL_WORDS = {";", "&&", "||", "|", "do", "done", "if", "then", "else", "fi", "for"}


def make_output(targets):
    """The commands that make would run for the targets. Flags of a calling make are removed."""
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS")}
    command = ["make", "-C", TREE, "--no-print-directory", "-n", "-B", "V=1", *targets]
    result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True,
                            check=False)
    if result.returncode:
        sys.exit(f"compile_commands: {shlex.join(command)} failed ({result.returncode})")
    return result.stdout.replace("\\\n", " ")


def words_of(line):
    """The words of a command line; None if it is not one simple call of a compiler."""
    try:
        words = shlex.split(line.lstrip("@-+ \t"))
    except ValueError:
        return None
    if not words or os.path.basename(words[0]) not in COMPILERS or SHELL_WORDS & set(words):
        return None
    return words


def split_sources(words):
    """(words without C sources, C sources, output or None)."""
    rest, sources, output, value_of = [], [], None, None
    for word in words:
        if value_of is None and word.endswith(".c") and not word.startswith("-"):
            sources.append(word)
            continue
        if value_of == "-o":
            output = word
        value_of = word if value_of is None and word in WITH_VALUE else None
        rest.append(word)
    return rest, sources, output


def entries(text):
    """One entry for each distinct way to compile a source."""
    seen = set()
    for line in text.splitlines():
        words = words_of(line)
        if not words:
            continue
        rest, sources, output = split_sources(words)
        for source in sources:
            way = (source, *(word for word in rest if word != output))
            if way in seen:
                continue
            seen.add(way)
            entry = {"directory": TREE, "file": source, "arguments": rest + [source]}
            if output:
                entry["output"] = output
            yield entry


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", metavar="FILE",
                        default=os.path.join(TREE, "compile_commands.json"))
    parser.add_argument("targets", nargs="*", metavar="TARGET", default=["all", "unit"])
    options = parser.parse_args()
    found = list(entries(make_output(options.targets)))
    if not found:
        sys.exit("compile_commands: make would call no compiler")
    found.sort(key=lambda e: (e["file"], not e.get("output", "").startswith("build/program/")))
    temporary = options.output + ".new"
    with open(temporary, "w", encoding="utf-8") as f:
        json.dump(found, f, indent=1)
        f.write("\n")
    os.replace(temporary, options.output)
    print(f"compile_commands: {len(found)} commands for {len({e['file'] for e in found})} files")


if __name__ == "__main__":
    main()
