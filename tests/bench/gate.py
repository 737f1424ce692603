#!/usr/bin/python3
"""Instructions of the loops that packets go through, against the numbers in tests/bench/gate.txt:

    tests/bench/gate.py            compares; more than 2 % in either direction fails
    tests/bench/gate.py --update   writes the numbers anew; the commit says why they changed

callgrind counts what a benchmark's function measured() executes, callees included: the image's own
objects, a fixed amount of work, fixed seeds, and for TCP a time that counts calls. So a number depends
on the sources and the compiler alone, neither on the machine's load nor on its caches. callgrind has no
AVX-512: loops that have several kinds run their AVX2 kind. Without that compiler, or without AVX2, nothing
is compared.

The last line is `gate: N passed, N failed`.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NUMBERS = os.path.join(ROOT, "tests", "bench", "gate.txt")
TOLERANCE = 0.02
FRAMES = ("stamp", "stamp-random", "random", "counted", "three-fields", "imix", "random-sizes", "ip6-random")


def cases():
    """name: the function that is counted, the program's words."""
    found = {}
    for device, kinds in (("virtio_net", "fixed lengths tx_burst rx_burst forward route full ip6 vlan filter verify"),
                          ("ixgbe", "fixed lengths tx_burst rx_burst forward route full ip6"),
                          ("mlx5 one", "fixed lengths tx_burst rx_burst forward route"),
                          ("mlx5 many", "fixed lengths tx_burst rx_burst forward route full"),
                          ("mlx5 mini", "rx_burst forward route")):
        for kind in kinds.split():
            found["%s %s, packet" % (device, kind)] = "measured", ["slots_bench", "-c", device, kind]
    for number, name in enumerate(FRAMES, 1):
        found["generator %s, frame" % name] = "measured", ["frames_bench", "-c", str(number)]
    for words in ("rr.64B.1.csum", "rr.64B.64.csum", "rr.64B.64.soft", "crr.64", "-6 rr.64B.64.csum"):
        found["tcp %s, request" % words] = "measured", ["stack_bench", "-c", *words.split()]
    for words in ("bulk.tx.1.csum", "bulk.tx.1.tso", "bulk.rx.1.csum"):
        found["tcp %s, KB" % words] = "measured", ["stack_bench", "-c", *words.split()]
    for family in ("fib4", "fib6"):
        for kind in ("scalar", "avx2"):
            found["%s %s, look-up" % (family, kind)] = "measured", ["fib_count", family, kind]
    for family in ("acl4", "acl6"):
        for kind in ("scalar", "avx2"):
            found["%s %s, packet" % (family, kind)] = "measured", ["acl_count", family, kind]
    for card in ("82599", "mlx5"):
        found["nicsim %s, frame" % card] = "measured", ["../nicsim-obj/throughput-" + card, "-c"]
    for step in ("find", "read", "check", "apply"):
        found["boot %s, line" % step] = "measured", ["boot_bench", "-c", step]
    return found


def counted(case):
    """(name, instructions for each unit)."""
    name, (function, words) = case
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind")
        done = subprocess.run(["valgrind", "-q", "--tool=callgrind", "--collect-atstart=no",
                               "--toggle-collect=" + function, "--callgrind-out-file=" + out,
                               os.path.join(ROOT, "build", "bench", words[0]), *words[1:]], text=True,
                              env={**os.environ, "SEED": "1"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)
        units = re.findall(r"^counted (\d+)$", done.stdout, re.M)
        if done.returncode != 0 or len(units) != 1:
            sys.exit("gate: %s: %s%s" % (" ".join(words), done.stdout, done.stderr))
        with open(out, encoding="ascii") as file:
            instructions = int(re.search(r"^(?:summary|totals): (\d+)", file.read(), re.M).group(1))
    if instructions == 0:
        sys.exit("gate: %s: nothing was counted" % name)
    return name, instructions / int(units[0]) * (1000 if name.endswith("KB") else 1)


def compiler():
    return subprocess.run(["gcc", "-dumpfullversion"], check=True, text=True, capture_output=True).stdout.strip()


def has_avx2():
    with open("/proc/cpuinfo", encoding="ascii") as file:
        return re.search(r"^flags\s*:.* avx2\b", file.read(), re.M) is not None


def numbers():
    """The compiler's version, and {name: instructions}."""
    with open(NUMBERS, encoding="ascii") as file:
        lines = [line.rstrip("\n").split("  ") for line in file if not line.startswith("#")]
    return lines[0][1], {name: float(value) for value, name in lines[1:]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    update = parser.parse_args().update
    if not update and numbers()[0] != compiler():
        print("gate: the numbers are GCC %s's, this is GCC %s: nothing is compared" % (numbers()[0], compiler()))
        print("gate: 0 passed, 0 failed")
        return 0
    if not has_avx2():
        print("gate: this CPU has no AVX2, with which the numbers were made: nothing is compared")
        print("gate: 0 passed, 0 failed")
        return 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(pool.map(counted, cases().items()))
    if update:
        with open(NUMBERS, "w", encoding="ascii") as file:
            file.write("# Instructions (tests/bench/gate.py).\ngcc  %s\n" % compiler())
            file.writelines("%.2f  %s\n" % (value, name) for name, value in found.items())
        return 0
    expected = numbers()[1]
    bad = 0
    for name in dict.fromkeys([*expected, *found]):
        was, is_now = expected.get(name), found.get(name)
        good = None not in (was, is_now) and abs(is_now - was) <= TOLERANCE * was
        bad += not good
        print("  %-40s %10s  was %10s%s" % (name, *("-" if n is None else "%.2f" % n for n in (is_now, was)),
                                           "" if good else "  FAILED"))
    if bad:
        print("gate: tests/bench/gate.py --update writes the new numbers; say in the commit why they changed")
    print("gate: %d passed, %d failed" % (len(expected.keys() | found.keys()) - bad, bad))
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
