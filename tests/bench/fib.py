#!/usr/bin/python3
"""Adds the output of `make bench-fib` to build/bench.json, for plots.py:

    make bench-fib | tests/bench/fib.py && tests/bench/plots.py fib

For each table, look-up method and pattern the best turn, in million look-ups a second; named like

fib.ip4.1000.Hayate AVX-512.random.
"""
import re
import sys

sys.dont_write_bytecode = True
from results import Results

TABLE = re.compile(r"IPv([46]), (made up|the global table), (\d+) prefixes")
WAY = re.compile(r"  (\S+ \S+) +[\d.]+ +[\d.-]+ +[\d.-]+" + r" +(\d+) \( *\d+\)" * 3)
PATTERNS = ("random", "inside", "zipf")


def read(lines, results):
    """In the global table's names, `global` replaces the number."""
    table = None
    for line in lines:
        found = TABLE.match(line)
        if found:
            family, what, count = found.groups()
            table = "ip%s.%s" % (family, count if what == "made up" else "global")
        found = WAY.match(line)
        if found and table:
            for pattern, rate in zip(PATTERNS, found.groups()[1:]):
                results.add("fib.%s.%s.%s" % (table, found[1], pattern), [float(rate)], "M/s",
                            "higher", "host")


def main():
    results = Results()
    read(sys.stdin, results)
    if not results.entries:
        print("fib: no figures of bench-fib on standard input", file=sys.stderr)
        return 1
    results.write()
    results.table()
    return 0


if __name__ == "__main__":
    sys.exit(main())
