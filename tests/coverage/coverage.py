#!/usr/bin/python3
"""Lines that the counters under DIRECTORY say were reached: coverage.py DIRECTORY ROOM...

A source is compiled several times, in several ways: a line is one when any of them has code for it,
and reached when it was in any. Prints a table by file and room, writes the other lines into
DIRECTORY/missing, each with its text.
"""
import concurrent.futures
import json
import os
import subprocess
import sys


def read_counters(path):
    """{(source, line): reached} of one object."""
    out = subprocess.run(["gcov", "--json-format", "--stdout", path], capture_output=True,
                         check=True).stdout
    found = {}
    for report in out.splitlines():
        for source in json.loads(report)["files"]:
            name = os.path.relpath(source["file"])
            for line in source["lines"]:
                key = name, line["line_number"]
                found[key] = found.get(key, False) or line["count"] > 0
    return found


def objects(directory):
    """Those that were linked and never run have notes, but no data: their lines are lines too."""
    for path, _, names in os.walk(directory):
        for name in names:
            if name.endswith(".gcno"):
                yield os.path.join(path, name)


def merged(directory, rooms):
    lines = {}
    rooms = tuple(room + "/" for room in rooms)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(read_counters, objects(directory)):
            for key, reached in found.items():
                if key[0].startswith(rooms):
                    lines[key] = lines.get(key, False) or reached
    return lines


def print_table(lines, rooms):
    def row(name, prefix):
        mine = [reached for (source, _), reached in lines.items() if source.startswith(prefix)]
        if mine:
            print("%-36s %6d %6d  %5.1f %%" % (name, len(mine), sum(mine),
                                               100 * sum(mine) / len(mine)))

    print("%-36s %6s %6s" % ("file", "lines", "reached"))
    for source in sorted({source for source, _ in lines}):
        row(source, source)
    for room in rooms:
        row("all of %s/" % room, room + "/")


def main():
    directory, *rooms = sys.argv[1:]
    lines = merged(directory, rooms)
    if not lines:
        sys.exit("coverage: no counters in " + directory)
    print_table(lines, rooms)
    text = {}
    with open(os.path.join(directory, "missing"), "w", encoding="utf-8") as out:
        for source, line in sorted(key for key, reached in lines.items() if not reached):
            if source not in text:
                with open(source, encoding="utf-8") as f:
                    text[source] = f.read().splitlines()
            out.write("%s:%d: %s\n" % (source, line, text[source][line - 1]))


if __name__ == "__main__":
    main()
