"""The basis of all benchmarks: assignment of CPUs, the vhost generator, slices and medians.

Two CPUs: the load generator polls on the first, the program measured on the second; everything else
shares the first. During a slice both have real-time priority, if that is allowed.
"""
import collections
import contextlib
import os
import re
import select
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tools"))

from launcher import machine, ports, process  # noqa: E402

TOOLS = os.path.join(ROOT, "build", "bench")
CPU_GENERATOR, CPU_DATA = 0, 1
HUGEPAGES = "/proc/sys/vm/nr_hugepages"
HUGEPAGES_WANTED = 512
# A run consists of slices, so that ours and the peers take turns within a second: the host's state
# changes faster than a peer boots. And the kernel throttles real-time threads that never sleep.
SLICE_S, REST_S = 0.4, 0.1
PRIORITY = 40
WARM_UP_S = 0.3
NEAR_NS = 100  # a round trip between CPUs near each other: 55 and 330 have been measured
NEAR_ENOUGH = 5  # turns needed for a median
FIRST_PREFIX = "10.0.0.0"


class BenchError(Exception):
    """The benchmark cannot run; the text is one line."""


def progress(text):
    print("  %s" % text, file=sys.stderr, flush=True)


def make(target):
    """Builds by the Makefile; returns a CompletedProcess."""
    return subprocess.run(["make", "-s", "-C", ROOT, target], capture_output=True, text=True,
                          check=False, env=dict(os.environ, MAKEFLAGS=""))


def build_tools():
    """The generators and core_ping."""
    if subprocess.run(["pkg-config", "--exists", "libdpdk"], check=False).returncode != 0:
        raise BenchError("libdpdk is not installed (tools/deps.sh install bench)")
    made = make("bench-wire")
    if made.returncode != 0:
        raise BenchError("bench-wire: " + made.stderr.strip()[-200:])


@contextlib.contextmanager
def hugepages(wanted=HUGEPAGES_WANTED):
    """Reserves 2 MiB pages for DPDK, where we may; releases them afterwards."""
    before = None
    try:
        with open(HUGEPAGES, encoding="ascii") as file:
            before = int(file.read())
        if before < wanted:
            with open(HUGEPAGES, "w", encoding="ascii") as file:
                file.write(str(wanted))
        with open("/proc/meminfo", encoding="ascii") as file:
            free = int(re.search(r"HugePages_Free:\s+(\d+)", file.read()).group(1))
        usable = free >= wanted * 3 // 4
    except OSError:
        usable = False
    try:
        yield usable
    finally:
        if before is not None and before < wanted:
            with contextlib.suppress(OSError), open(HUGEPAGES, "w", encoding="ascii") as file:
                file.write(str(before))


def eal(prefix, cpus, huge, mib):
    words = ["-l", ",".join(map(str, cpus)), "--no-pci", "--no-telemetry",
             "--file-prefix=" + prefix]
    if huge:
        # virtio-user passes its memory to the vhost side as files, of which that side allows few.
        return words + ["--in-memory", "--single-file-segments", "-m", str(mib)]
    return words + ["--no-huge", "-m", str(mib)]


def own_group(pid, nice="-15"):
    """Raises a polling process that has its own session above its neighbours, which otherwise delay
    it by milliseconds."""
    with contextlib.suppress(OSError), open("/proc/%d/autogroup" % pid, "w",
                                            encoding="ascii") as file:
        file.write(nice)


@contextlib.contextmanager
def realtime(threads, ahead=()):
    """Gives these threads real-time priority meanwhile, if we may, so that neighbours do not
    disturb them. Threads in `ahead`, which hardly ever run, get an even higher one."""
    for thread in [*threads, *ahead]:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(thread, os.SCHED_FIFO,
                                  os.sched_param(PRIORITY + (thread in ahead)))
    try:
        yield
    finally:
        for thread in [*threads, *ahead]:
            with contextlib.suppress(OSError):
                os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))


class Load(collections.namedtuple("Load", "offered taken received late bad nanoseconds rounds "
                                          "full")):
    """The result of a generator's run (vhost_gen.c). full/rounds: how often it had to wait."""

    def mpps(self):
        return self.received * 1e3 / self.nanoseconds

    def full_share(self):
        return self.full / max(1, self.rounds)


class Generator:
    """vhost_gen, its two sockets in `work`. destinations: its command-line arguments. to_mac: of its frames; our eth0 if not given. partners: the
    threads that forward its packets."""

    def __init__(self, work, huge, destinations, program="vhost_gen", to_mac=None):
        self.sockets = [os.path.join(work, name) for name in ("vhost0", "vhost1")]
        self.partners = []
        words = [os.path.join(TOOLS, program)]
        words += eal("hayate-gen-%d" % os.getpid(), [CPU_GENERATOR], huge, 64)
        for path in self.sockets:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)  # left by an earlier generator
        words += ["--", *self.sockets, to_mac or ports.mac_of(ports.MAC_BASE, 0), *destinations]
        self.log = open(os.path.join(work, "generator.log"), "w+", encoding="utf-8")
        self.child = process.popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=self.log, text=True, bufsize=1, start_new_session=True)
        own_group(self.child.pid)
        self.tsc_hz = int(self.answer("up", 30)[0])

    def answer(self, word, timeout_s):
        deadline = time.monotonic() + timeout_s
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.child.stdout], [], [], left)[0]:
                raise BenchError("the generator does not answer")
            line = self.child.stdout.readline()
            if not line:
                self.log.seek(0)
                raise BenchError("the generator ended: " + self.log.read().strip()[-300:])
            if line.split()[:1] == [word]:
                return line.split()[1:]

    def ask(self, command, timeout_s=30):
        with contextlib.suppress(OSError):  # if it has ended, answer() reports why
            self.child.stdin.write(command + "\n")
        return self.answer(command.split()[0], timeout_s)

    def wait_link(self, timeout_s=60):
        deadline = time.monotonic() + timeout_s
        while self.ask("link") != ["1", "1"]:
            if time.monotonic() > deadline:
                raise BenchError("the other side did not bring its rings up")
            time.sleep(0.05)

    def run(self, seconds, mpps=0):
        """Runs for less than a second and returns a Load; as fast as the peer takes packets unless
        mpps is given."""
        with realtime([self.child.pid] + self.partners):
            load = Load(*map(int, self.ask("run %g %g" % (seconds, mpps), seconds + 30)))
        time.sleep(REST_S)
        if load.bad:
            raise BenchError("%d sampled packets came back damaged" % load.bad)
        if load.received == 0:
            raise BenchError("nothing was forwarded (%d packets sent)" % load.taken)
        return load

    def close(self):
        with contextlib.suppress(OSError):
            self.child.stdin.write("quit\n")
        process.stop(self.child)
        with contextlib.suppress(OSError):
            self.child.stdin.close()
        self.child.stdout.close()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
        return False


def pin_guest(pidfile, qmp_path):
    """Pins the data core's thread to its own CPU, all others to the generator's. Returns the former, in a list. A guest
    with one CPU has one core, which is the data core too."""
    with open(pidfile, encoding="ascii") as file:
        pid = int(file.read())
    for thread in os.listdir("/proc/%d/task" % pid):
        os.sched_setaffinity(int(thread), {CPU_GENERATOR})
    cpus = machine.qmp(qmp_path, "query-cpus-fast")
    data = [cpu["thread-id"] for cpu in cpus if cpu["cpu-index"] == min(1, len(cpus) - 1)]
    for thread in data:
        os.sched_setaffinity(thread, {CPU_DATA})
    return data


def ran_ns(thread):
    """For how long the thread has run (proc(5), schedstat: its first number)."""
    with open("/proc/%d/schedstat" % thread, encoding="ascii") as file:
        return int(file.read().split()[0])


def first_of_all():
    """In a child before its exec: real-time priority, if we may."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))


def round_trip_ns():
    result = subprocess.run([os.path.join(TOOLS, "core_ping"), str(CPU_GENERATOR), str(CPU_DATA)],
                            capture_output=True, text=True, timeout=60, check=False,
                            preexec_fn=first_of_all)
    if result.returncode != 0:
        raise BenchError("core_ping: " + result.stderr.strip())
    return float(result.stdout)


def median_of(turns, figure):
    return statistics.median(got[figure] for got in turns)


def say(what, turns):
    text = "%-8s %6.2f Mpps %6.1f cycles  (offered/taken %.1f, ring full %.0f %%" % (
        what, median_of(turns, "mpps"), median_of(turns, "cycles_per_packet"),
        median_of(turns, "offered_per_taken"), 100 * median_of(turns, "full_share"))
    if "busy_share" in turns[0]:
        text += ", busy %.0f %%, %.1f packets a turn" % (
            100 * median_of(turns, "busy_share"), median_of(turns, "packets_per_turn"))
    return text + ", core to core and back %s ns)" % " ".join("%.0f" % got["trip"] for got in turns)


def near_only(results, name, measured):
    """The turns in which the host kept the two CPUs near each other, if there are enough of them.
    It moves them within a second, to one of two distances, and a median over both says nothing. The
    other turns go into a note.
    """
    near = {what: [got for got in turns if got["trip"] <= NEAR_NS]
            for what, turns in measured.items()}
    far = {what: [got for got in turns if got["trip"] > NEAR_NS]
           for what, turns in measured.items()}
    if min(map(len, near.values())) < NEAR_ENOUGH:
        results.note("%s: the CPUs were near each other (%d ns and back) in few turns: the "
                     "median is across all" % (name, NEAR_NS))
        return measured
    results.note("%s: turns with the CPUs near each other (%d ns and back): %s" % (
        name, NEAR_NS, ", ".join("%s %d of %d" % (what, len(near[what]), len(measured[what]))
                                 for what in measured)))
    if all(far.values()):
        results.note("  in the others: " + ", ".join(
            "%s %.2f Mpps" % (what, median_of(turns, "mpps")) for what, turns in far.items()))
    return near
