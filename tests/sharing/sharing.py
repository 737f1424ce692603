#!/usr/bin/python3
"""Counts the cache lines that cores take from each other, per packet and by function.

    tests/sharing/sharing.py                          all applications; 1, 2, 4, 8 and 16 data cores
    tests/sharing/sharing.py --app router --cores 2   only these; both may be repeated
    tests/sharing/sharing.py --sites                  also each instruction and address

The real image runs in QEMU under TCG with plugin.c, which sees each load and store of each CPU. Ports
without a device (`null=`) give packets without end, so no host program takes part. A port of each data
core has its own queue pair. The control core works by time, so on a slow host its lines count more. (-icount
would end that, but there QEMU runs one CPU at a time, for seconds if no timer is due.)

A window begins when the plugin counts and ends when it stops. Packets are counted by the console inside
the window, so lines a packet are never too few.

Limits (exit code 1 and a line that begins with SHARED if one is broken):
  - between data cores: every function that takes a line must be in expected.txt, at any rate;
  - between the control core and data cores: fewer than 1 line in 1000 packets, and every function that
    takes more than 1 line in 50,000 packets must be in expected.txt. Rarer ones are the work of a second.
    Not for pktgen-sleeps, which starts the generator many times.
"""
import argparse
import bisect
import os
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tools")]

from launcher.guest import PROMPT, Guest  # noqa: E402

BUILD = os.path.join(ROOT, "build")
PLUGIN = os.path.join(BUILD, "sharing", "plugin.so")
EXPECTED = os.path.join(ROOT, "tests", "sharing", "expected.txt")
CORES = [1, 2, 4, 8, 16]
KINDS = ["data", "control"]
CONTROL_LIMIT = 1 / 1000
NAMED_FROM = 1 / 50000
PACKETS_A_CORE, PACKETS = 50000, 200000  # at least, in a window
ACCESSES = 160  # more than a packet takes: the console's own work is in the window, so it is asked last
WARM = 20000  # packets before a window
POLL_S = 0.5
PATIENCE_S = 120
KERNEL = 1 << 63  # the upper half of the address space
HEAD = re.compile(r"accesses (\d+) lost (\d+)")  # the first line of the plugin's table

TWO_PORTS = """\
interface eth0
 ip address 192.0.2.1/24
interface eth1
 ip address 198.51.100.1/24
"""
ECHO = """\
interface eth0
 ip address 198.18.0.1/24
arp 198.18.0.2 02:00:00:00:00:02
ip route 198.19.0.0/16 198.18.0.2
"""
ROUTES = "arp 198.51.100.2 02:00:00:00:00:02\nip route 198.19.0.0/16 198.51.100.2\n"
STREAM = ("stream count\n port eth0\n mac destination 02:00:00:00:00:02\n udp 198.18.0.1 198.19.0.1\n"
          " size 64\n rate flat\n no stamp\n limit %d frames\n")
FRAMES_A_CORE = 3000000  # of the generator, which does less for each and sets up each run
OVER = r"(?s)(?:Run of |the run failed).*?" + PROMPT.pattern


class App:
    """An application on ports that give packets without end."""

    def __init__(self, name, append, done, config=None, script=None, runs=1):
        self.name, self.append, self.done = name, append, done  # done: packets so far
        self.config, self.script, self.runs = config, script, runs
        self.kinds = KINDS if runs == 1 else ["data"]  # judged; each start costs the control core lines

    def arguments(self, work, cores):
        for option, text in (("--config", self.config), ("--script", self.script)):
            if text:
                path = os.path.join(work, "input")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text % (FRAMES_A_CORE * cores // self.runs) if option == "--script" else text)
                yield from (option, path)
        yield from ("--append", self.append)

    def mode(self):
        """The name of the application."""
        return self.name.split("-")[0]

    def work(self, guest, counting, cores):
        """Waits until enough packets for a window are done; returns how many."""
        first, wanted = self.done(guest), max(PACKETS, PACKETS_A_CORE * cores) if cores else WARM
        deadline = time.monotonic() + PATIENCE_S
        done = enough = 0
        while done < wanted:  # idle turns take accesses too
            enough += wanted * ACCESSES
            while counting.accesses() < enough:
                if time.monotonic() > deadline:
                    raise SystemExit("sharing: %s did only %d packets of %d" % (self.name, done, wanted))
                time.sleep(POLL_S)
            done = self.done(guest) - first
        return done


def sleeps(guest):
    """How often each data core has slept."""
    return [row["sleeps"] for row in guest.cores() if row["role"] != "control"]


class Generator(App):
    """The generator: a window is one or more runs, their starts and ends included. All data cores sleep
    before and after each."""

    def work(self, guest, counting, cores):
        first, slept = self.done(guest), sleeps(guest)
        for _ in range(self.runs if cores else 1):
            guest.send("start")
            guest.expect(OVER, PATIENCE_S, "the end of the run")
        if cores and any(after - before < self.runs for before, after in zip(slept, sleeps(guest))):
            raise SystemExit("sharing: %s: a core did not sleep after each run" % self.name)
        return self.done(guest) - first


APPS = {app.name: app for app in (
    App("router", "null=2", lambda guest: guest.counters()["forwarded"], config=TWO_PORTS + ROUTES),
    App("discard", "null=2", lambda guest: guest.interfaces()["eth0"]["rx_pkts"], config=TWO_PORTS),
    App("echo", "null-clients=1", lambda guest: guest.counters()["udp_tx"], config=ECHO),
    Generator("pktgen", "null-sinks=1", lambda guest: guest.interfaces()["eth0"]["tx_pkts"], script=STREAM),
    Generator("pktgen-sleeps", "null-sinks=1", lambda guest: guest.interfaces()["eth0"]["tx_pkts"],
              script=STREAM, runs=10),
)}


class Symbols:
    """Functions of the kernel and of the cores' program by address."""

    def __init__(self):
        found = []
        for image in ("program.elf", "hayate-debug.elf"):
            text = subprocess.run(["nm", "-n", os.path.join(BUILD, image)], check=True, capture_output=True,
                                  text=True).stdout
            found += re.findall(r"^([0-9a-f]{16}) [tT] (\S+)$", text, re.MULTILINE)
        self.found = sorted((int(address, 16), name) for address, name in found)
        self.starts = [address for address, _ in self.found]

    def function(self, pc):
        index = bisect.bisect_right(self.starts, pc) - 1
        name = self.found[index][1] if index >= 0 else "?"
        return "kernel:" + name if pc & KERNEL else name


class Counting:
    """The plugin of one machine."""

    def __init__(self, work):
        self.fifo, self.table = os.path.join(work, "fifo"), os.path.join(work, "table")
        os.mkfifo(self.fifo)
        self.file = os.open(self.fifo, os.O_RDWR)

    def argument(self):
        return "%s,fifo=%s,out=%s" % (PLUGIN, self.fifo, self.table)

    def tell(self, command):
        """Sends a command, waits until it is done, returns the lines of the table."""
        os.write(self.file, command)
        deadline = time.monotonic() + PATIENCE_S
        while not os.path.exists(self.table):
            if time.monotonic() > deadline:
                raise SystemExit("sharing: the plugin did not answer")
            time.sleep(0.02)
        with open(self.table, encoding="ascii") as file:
            lines = file.read().splitlines()
        os.unlink(self.table)
        return lines

    def accesses(self):
        return int(HEAD.fullmatch(self.tell(b"t")[0]).group(1))


def run(app, cores):
    """Runs one machine; returns packets, memory accesses, and [(kind, pc, address, lines)]."""
    with tempfile.TemporaryDirectory(prefix="sharing.") as work:
        counting = Counting(work)
        arguments = [app.mode(), "--accel", "tcg", "--cpus", str(cores + 1), "--memory", "768M",
                     "--qemu-arg=-plugin", "--qemu-arg=" + counting.argument(), *app.arguments(work, cores)]
        try:
            with Guest(arguments) as guest:
                guest.wait_ready(PATIENCE_S)
                counting.tell(b"b")
                app.work(guest, counting, 0)  # warm
                counting.tell(b"b")
                packets = app.work(guest, counting, cores)
                lines = counting.tell(b"e")
        finally:
            os.close(counting.file)
    accesses, lost = HEAD.fullmatch(lines[0]).groups()
    if int(lost):
        raise SystemExit("sharing: the plugin's table is full: %s" % lines[0])
    rows = [line.split() for line in lines[1:]]
    return packets, int(accesses), [(kind, int(pc, 16), int(address, 16), int(count))
                                    for kind, pc, address, count, _ in rows]


def read_expected(path=EXPECTED):
    """{(kind, function)}: lines `KIND FUNCTION REASON`; `#` begins a comment."""
    expected = set()
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split("#")[0].split(None, 2)
            if words:
                if len(words) < 3 or words[0] not in KINDS:
                    raise SystemExit("sharing: %s: not `KIND FUNCTION REASON`: %s" % (path, line.strip()))
                expected.add((words[0], words[1]))
    return expected


def by_function(rows, symbols):
    """{(kind, function): lines}"""
    sums = {}
    for kind, pc, _, count in rows:
        key = kind, symbols.function(pc)
        sums[key] = sums.get(key, 0) + count
    return sums


def broken(packets, sums, expected, kinds=tuple(KINDS)):
    """The limits that are broken, as texts."""
    texts = []
    for (kind, function), count in sorted(sums.items()):
        if kind not in kinds:
            continue
        floor = 0 if kind == "data" else NAMED_FROM * packets
        if count > floor and (kind, function) not in expected:
            texts.append("%s takes %d lines in %d packets (%s) and is not in expected.txt"
                         % (function, count, packets, kind))
    control = sum(count for (kind, _), count in sums.items() if kind == "control")
    if "control" in kinds and control >= CONTROL_LIMIT * packets:
        texts.append("the control core and data cores share %d lines in %d packets: 1 in 1000 or more"
                     % (control, packets))
    return texts


def report(name, cores, packets, accesses, sums):
    totals = {kind: sum(count for (key, _), count in sums.items() if key == kind) for kind in KINDS}
    print("%-13s %5d %10d %10.1f %16.6f %16.6f" % (
        name, cores, packets, accesses / packets, totals["data"] / packets,
        1000 * totals["control"] / packets), flush=True)


def main():
    parser = argparse.ArgumentParser(description="Counts cache lines shared between cores.")
    parser.add_argument("--app", action="append", choices=list(APPS))
    parser.add_argument("--cores", action="append", type=int, metavar="N", help="data cores, 1 to 30")
    parser.add_argument("--sites", action="store_true", help="print instructions and addresses too")
    options = parser.parse_args()
    symbols, expected, wrong, seen = Symbols(), read_expected(), [], {}
    print("%-13s %5s %10s %10s %16s %16s" % ("app", "cores", "packets", "accesses", "lines a packet",
                                            "lines per 1000"))
    print("%-13s %5s %10s %10s %16s %16s" % ("", "data", "", "a packet", "data and data",
                                            "control and data"))
    for name in options.app or APPS:
        for cores in options.cores or CORES:
            packets, accesses, rows = run(APPS[name], cores)
            sums = by_function(rows, symbols)
            report(name, cores, packets, accesses, sums)
            wrong += ["%s, %d data cores: %s" % (name, cores, text)
                      for text in broken(packets, sums, expected, APPS[name].kinds)]
            for key, count in sums.items():
                seen[key] = max(seen.get(key, 0), count / packets)
            if options.sites:
                for kind, pc, address, count in sorted(rows, key=lambda row: -row[3]):
                    print("    %-8s %-28s %16x %16x %8d" % (kind, symbols.function(pc), pc, address, count))
    print("\n%-8s %-34s %s" % ("kind", "function", "lines per 1000 packets, at most"))
    for (kind, function), rate in sorted(seen.items(), key=lambda item: (KINDS.index(item[0][0]), -item[1])):
        print("%-8s %-34s %.6f" % (kind, function, 1000 * rate))
    for text in wrong:
        print("SHARED: " + text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
