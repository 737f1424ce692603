#!/usr/bin/python3
"""`make bench`: how fast the real image forwards, and what else step A measures.

  router.virtio.64B.<ROUTES>.*   64-byte forwarding over vhost-user, one data core, at saturation
  peer.<PROGRAM>.*               DPDK in the guest's place over virtio-user, on the same generator,
                                 alternating with it in the same run: l3fwd (LPM, the same routes)
                                 and testpmd (mode `mac`: no look-up)
  boot.*, image.*, memory.*      start-up and size

Prints a table and writes build/bench.json: a list of {name, value, unit, better, accel, runs,
peer, peer_value}. Names are stable; entries of other benchmarks in the file are kept.

Two CPUs are needed: the generator and sink (vhost_gen.c) polls on the first, the data core on the
second; everything else shares the first. While a run lasts both have real-time priority, if that
is allowed. The generator offers more than is taken, so Mpps is what the peer forwards and
cycles_per_packet = TSC Hz / packets per second, from outside and so the same for every
peer. Where the generator was the limit after all, the table says so. l3fwd is built from the
sources in Debian's dpdk-doc, where that is installed (peer_l3fwd says what is changed). KVM is used
where it opens, software KVM included (the data core runs at ring 3, which that executes natively);
else TCG. The table says which.
"""
import argparse
import collections
import contextlib
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
HERE = os.path.join(ROOT, "tests", "bench")
sys.path.insert(0, os.path.join(ROOT, "tools"))

from launcher import demo, image, netlab, options, ports, process  # noqa: E402
from launcher.errors import LauncherError  # noqa: E402
from launcher.guest import Guest, GuestError  # noqa: E402

RESULTS = os.path.join(ROOT, "build", "bench.json")
TOOLS = os.path.join(ROOT, "build", "bench")
CPU_GENERATOR, CPU_DATA = 0, 1
HUGEPAGES = "/proc/sys/vm/nr_hugepages"
HUGEPAGES_WANTED = 512
L3FWD_SOURCE = "/usr/share/dpdk/examples/l3fwd"
# A run is made of slices, so that ours and the peers take turns within a second: the host changes
# faster than one boots. And real-time threads that leave others no time are throttled.
SLICE_S, REST_S = 0.4, 0.1
PRIORITY = 40
VIRTIO_USER_MODE = ",mrg_rxbuf=0,in_order=0,vectorized=1"  # the fastest of testpmd and l3fwd
WARM_UP_S = 0.3
IMPOSSIBLE = 1.05  # busy share that no core can have
NEAR_NS = 100  # a round trip between CPUs that are near each other: seen are 55 and 330
NEAR_ENOUGH = 5  # turns that a median wants
SATURATED = 0.98  # busy share of the data core from which on it is the limit
NEXT_HOP_MAC = "52:54:00:00:00:0b"
ROUTES = (1, 16384)
FIRST_PREFIX = "10.0.0.0"


class BenchError(Exception):
    """The benchmark cannot be carried out; one line."""


def progress(text):
    print("  %s" % text, file=sys.stderr, flush=True)


# --- machinery ---

def build_tools():
    os.makedirs(TOOLS, exist_ok=True)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libdpdk"], capture_output=True,
                           text=True, check=False)
    if flags.returncode != 0:
        raise BenchError("libdpdk is not installed (tools/deps.sh install bench)")
    for name, extra in (("vhost_gen", ["-march=native"] + flags.stdout.split() + ["-lrte_vhost"]),
                        ("core_ping", ["-pthread"])):
        source, binary = os.path.join(HERE, name + ".c"), os.path.join(TOOLS, name)
        if os.path.exists(binary) and os.path.getmtime(binary) > os.path.getmtime(source):
            continue
        subprocess.run(["gcc", "-O3", "-Wall", "-o", binary, source, *extra], check=True)


@contextlib.contextmanager
def hugepages():
    """Memory for DPDK in 2 MiB pages where we may have them; given back afterwards."""
    before = None
    try:
        with open(HUGEPAGES, encoding="ascii") as file:
            before = int(file.read())
        if before < HUGEPAGES_WANTED:
            with open(HUGEPAGES, "w", encoding="ascii") as file:
                file.write(str(HUGEPAGES_WANTED))
        with open("/proc/meminfo", encoding="ascii") as file:
            free = int(re.search(r"HugePages_Free:\s+(\d+)", file.read()).group(1))
        usable = free >= HUGEPAGES_WANTED * 3 // 4
    except OSError:
        usable = False
    try:
        yield usable
    finally:
        if before is not None and before < HUGEPAGES_WANTED:
            with contextlib.suppress(OSError), open(HUGEPAGES, "w", encoding="ascii") as file:
                file.write(str(before))


def eal(prefix, cpus, huge, mib):
    words = ["-l", ",".join(map(str, cpus)), "--no-pci", "--no-telemetry",
             "--file-prefix=" + prefix]
    if huge:
        # virtio-user shares its memory with the vhost side, which wants few files.
        return words + ["--in-memory", "--single-file-segments", "-m", str(mib)]
    return words + ["--no-huge", "-m", str(mib)]


def own_group(child):
    """A polling process in an autogroup of its own, ahead: else neighbours take milliseconds."""
    with contextlib.suppress(OSError), open("/proc/%d/autogroup" % child.pid, "w",
                                            encoding="ascii") as file:
        file.write("-15")


@contextlib.contextmanager
def realtime(threads):
    """These threads before all others meanwhile, so that neighbours do not disturb; if we may."""
    for thread in threads:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(PRIORITY))
    try:
        yield
    finally:
        for thread in threads:
            with contextlib.suppress(OSError):
                os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))


class Load(collections.namedtuple("Load", "offered taken received late bad nanoseconds rounds "
                                          "full")):
    """What a run of the generator came to (vhost_gen.c). full/rounds: how often it had to wait."""

    def mpps(self):
        return self.received * 1e3 / self.nanoseconds

    def full_share(self):
        return self.full / max(1, self.rounds)


class Generator:
    """vhost_gen, its two sockets in `work`. partners: the threads that forward for it."""

    def __init__(self, work, huge, prefixes):
        self.sockets = [os.path.join(work, name) for name in ("vhost0", "vhost1")]
        self.partners = []
        words = [os.path.join(TOOLS, "vhost_gen")]
        words += eal("hayate-gen-%d" % os.getpid(), [CPU_GENERATOR], huge, 64)
        for path in self.sockets:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)  # of a generator before us
        words += ["--", *self.sockets, ports.mac_of(ports.MAC_BASE, 0), FIRST_PREFIX, str(prefixes)]
        self.log = open(os.path.join(work, "generator.log"), "w+", encoding="utf-8")
        self.child = process.popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=self.log, text=True, bufsize=1, start_new_session=True)
        own_group(self.child)
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
        with contextlib.suppress(OSError):  # has it ended, answer() says why
            self.child.stdin.write(command + "\n")
        return self.answer(command.split()[0], timeout_s)

    def wait_link(self, timeout_s=60):
        deadline = time.monotonic() + timeout_s
        while self.ask("link") != ["1", "1"]:
            if time.monotonic() > deadline:
                raise BenchError("the other side did not bring its rings up")
            time.sleep(0.05)

    def run(self, seconds, mpps=0):
        """A Load of less than a second; as fast as the peer takes it unless mpps says less."""
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


def qmp(path, command):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(10)
        sock.connect(path)
        with sock.makefile("rw", encoding="utf-8") as stream:
            stream.readline()
            for name in ("qmp_capabilities", command):
                stream.write(json.dumps({"execute": name}) + "\n")
                stream.flush()
                answer = json.loads(stream.readline())
            return answer["return"]


def pin_guest(pidfile, qmp_path):
    """The data core's thread alone on its CPU, all others beside the generator. Returns it."""
    with open(pidfile, encoding="ascii") as file:
        pid = int(file.read())
    for thread in os.listdir("/proc/%d/task" % pid):
        os.sched_setaffinity(int(thread), {CPU_GENERATOR})
    data = [cpu["thread-id"] for cpu in qmp(qmp_path, "query-cpus-fast") if cpu["cpu-index"] == 1]
    for thread in data:
        os.sched_setaffinity(thread, {CPU_DATA})
    return data


def routes(prefixes):
    for number in range(prefixes):
        yield "ip route 10.%d.%d.0/24 198.51.100.2\n" % (number >> 8, number & 255)


def configuration(prefixes):
    return ("hostname bench\ninterface eth0\n ip address 192.0.2.1/24\n"
            "interface eth1\n ip address 198.51.100.1/24\n"
            "arp 198.51.100.2 %s\n" % NEXT_HOP_MAC + "".join(routes(prefixes)))


def data_core(router):
    """The line of `show cores` of the data core: rx_pkts, busy_cycles, pkts_turn, ..."""
    for row in router.cores():
        if row.get("core") == 1 and "busy_cycles" in row and "rx_pkts" in row:
            return row
    raise BenchError("`show cores` has no line for core 1, or no busy cycles or packets in it")


@contextlib.contextmanager
def router_under_load(work, accel, generator, prefixes):
    config = os.path.join(work, "bench.conf")
    with open(config, "w", encoding="ascii") as file:
        file.write(configuration(prefixes))
    pidfile, qmp_path = os.path.join(work, "pid"), os.path.join(work, "qmp")
    words = ["router", "--config", config, "--accel", accel, "--idle", "auto", "--pidfile",
             pidfile, "--qmp", qmp_path, "--memory", "512M"]
    for path in generator.sockets:
        words += ["--port", "vhost-user:" + path]
    with Guest(words, log=os.path.join(work, "console.log")) as router:
        router.wait_ready(120)
        router.wait_prompt()
        generator.partners = pin_guest(pidfile, qmp_path)
        generator.wait_link()
        yield router


def virtio_user(generator):
    words = []
    for index, path in enumerate(generator.sockets):
        words += ["--vdev", "net_virtio_user%d,path=%s,queues=1,queue_size=1024,mac=%s%s"
                  % (index, path, ports.mac_of(ports.MAC_BASE, index), VIRTIO_USER_MODE)]
    return words


@contextlib.contextmanager
def dpdk_under_load(words, ready, generator):
    """A DPDK program in the guest's place; it says `ready` (bytes) when it forwards."""
    # On a terminal, else it would not say why it ended; testpmd, without -i, ends when its does.
    terminal, theirs = pty.openpty()
    child = process.popen(words, stdin=theirs, stdout=theirs, stderr=theirs,
                          start_new_session=True)
    os.close(theirs)
    own_group(child)
    said = b""

    try:
        deadline = time.monotonic() + 60
        while ready not in said:
            left = deadline - time.monotonic()
            try:
                if left > 0 and select.select([terminal], [], [], left)[0]:
                    said += os.read(terminal, 65536)
                    continue
            except OSError:
                pass  # it has ended
            raise BenchError("%s does not forward: %s"
                             % (words[0], said.decode(errors="replace").strip()[-300:]))
        generator.wait_link()
        generator.partners = [
            int(thread) for thread in os.listdir("/proc/%d/task" % child.pid)
            if os.sched_getaffinity(int(thread)) == {CPU_DATA}]
        yield
    finally:
        process.stop(child, 5)
        os.close(terminal)


def peer_testpmd(work, huge, generator, prefixes):
    words = ["dpdk-testpmd"] + eal("hayate-peer-%d" % os.getpid(), [CPU_GENERATOR, CPU_DATA], huge,
                                   256)
    words += virtio_user(generator)
    words += ["--", "--nb-cores=1", "--forward-mode=mac", "--eth-peer=1," + NEXT_HOP_MAC,
              "--txd=1024", "--rxd=1024"]
    return dpdk_under_load(words, b"Press enter to exit", generator)


def peer_l3fwd(work, huge, generator, prefixes):
    tables = []
    for name, lines in (("4", ["R10.%d.%d.0/24 1\n" % (n >> 8, n & 255) for n in range(prefixes)]),
                        ("6", ["R2001:0200:0000:0001:0000:0000:0000:0000/64 1\n"])):
        tables.append(os.path.join(work, "l3fwd" + name))
        with open(tables[-1], "w", encoding="ascii") as file:
            file.writelines(lines)
    words = [os.path.join(TOOLS, "l3fwd")]
    # One lcore: for each it wants a transmit queue.
    words += eal("hayate-peer-%d" % os.getpid(), [CPU_DATA], huge, 256)
    words += virtio_user(generator)
    words += ["--", "-p", "0x3", "--config=(0,0,%d),(1,0,%d)" % (CPU_DATA, CPU_DATA),
              "--lookup=lpm", "--parse-ptype", "--no-numa", "--eth-dest=1," + NEXT_HOP_MAC,
              "--rule_ipv4=" + tables[0], "--rule_ipv6=" + tables[1]]
    return dpdk_under_load(words, b"entering main loop on lcore %d" % CPU_DATA, generator)


PEERS = {
    "l3fwd": (peer_l3fwd, "l3fwd, LPM, the same routes, virtio-user, same generator"),
    "testpmd": (peer_testpmd, "testpmd, mode mac (no look-up), virtio-user, same generator"),
}


def build_l3fwd():
    """From Debian's sources, copied to build/, with two changes: room for the routes (it holds
    1024), and no checksum check wanted from the device (virtio-user has none to offer, and it would
    not start). Returns why not, or None."""
    binary, copy = os.path.join(TOOLS, "l3fwd"), os.path.join(TOOLS, "l3fwd-source")
    if os.path.exists(binary):
        return None
    if not os.path.exists(L3FWD_SOURCE):
        return "l3fwd: no %s (Debian package dpdk-doc)" % L3FWD_SOURCE
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(L3FWD_SOURCE, copy)
    for name, old, new in (
            ("l3fwd_lpm.c", r"(IPV4_L3FWD_LPM_MAX_RULES\s+)1024", r"\g<1>65536"),
            ("main.c", r"\.offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM", ".offloads = 0")):
        path = os.path.join(copy, name)
        with open(path, encoding="utf-8") as file:
            text, changed = re.subn(old, new, file.read())
        if changed != 1:
            return "l3fwd: %s is not as expected (another version of dpdk-doc?)" % name
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    common = os.path.join(os.path.dirname(L3FWD_SOURCE), "common")
    built = subprocess.run(["make", "-C", copy], capture_output=True, text=True, check=False,
                           env=dict(os.environ, CFLAGS="-march=native -w -I" + common,
                                    MAKEFLAGS=""))
    if built.returncode != 0:
        return "l3fwd does not compile: " + built.stderr.strip()[-300:]
    shutil.copy(os.path.join(copy, "build", "l3fwd"), binary)
    return None


def dpdk_version():
    result = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "dpdk"], capture_output=True,
                            text=True, check=False)
    return "DPDK " + (result.stdout or "of unknown version")


# --- what is measured ---

class Results:
    def __init__(self):
        self.entries = []
        self.notes = []

    def note(self, text):
        """A line below the table."""
        self.notes.append(text)

    def add(self, name, values, unit, better, accel, peer=None, peer_values=None):
        values = [value for value in values if value is not None]
        if not values:
            return
        self.entries.append({
            "name": name, "value": round(statistics.median(values), 4), "unit": unit,
            "better": better, "accel": accel, "runs": len(values), "peer": peer,
            "peer_value": round(statistics.median(peer_values), 4) if peer_values else None})

    def write(self):
        """Joins the file: entries of ours replace those of the same name."""
        old = []
        with contextlib.suppress(OSError, ValueError):
            with open(RESULTS, encoding="utf-8") as file:
                old = json.load(file)
        ours = {entry["name"] for entry in self.entries}
        everything = [entry for entry in old if entry.get("name") not in ours] + self.entries
        os.makedirs(os.path.dirname(RESULTS), exist_ok=True)
        with open(RESULTS + ".part", "w", encoding="utf-8") as file:
            json.dump(everything, file, indent=1)
            file.write("\n")
        os.replace(RESULTS + ".part", RESULTS)

    def table(self):
        print("\n  %-48s %14s %-16s %14s  %-5s %s"
              % ("median of runs", "hayate", "", "peer", "accel", "runs"))
        for entry in self.entries:
            peer = "" if entry["peer_value"] is None else "%14.2f" % entry["peer_value"]
            print("  %-48s %14.2f %-16s %14s  %-5s %d" % (
                entry["name"], entry["value"], entry["unit"], peer, entry["accel"],
                entry["runs"]))
        peers = {entry["peer"] for entry in self.entries if entry["peer"]}
        for text in ["peer: " + peer for peer in sorted(peers)] + self.notes:
            print("  " + text)


def first_of_all():
    """In a child about to be: real-time priority, if we may."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))


def round_trip_ns():
    result = subprocess.run([os.path.join(TOOLS, "core_ping"), str(CPU_GENERATOR), str(CPU_DATA)],
                            capture_output=True, text=True, timeout=60, check=False,
                            preexec_fn=first_of_all)
    if result.returncode != 0:
        raise BenchError("core_ping: " + result.stderr.strip())
    return float(result.stdout)


def mmio(router):
    blocks = router.interfaces().values()
    return tuple(sum(block.get(name, 0) for block in blocks)
                 for name in ("mmio_reads", "mmio_writes"))


class Contender:
    """Ours or a peer, with a generator of its own; runs until `stack` ends, waits for its turns."""

    def __init__(self, stack, work, huge, accel, what, prefixes):
        self.what = what
        work = os.path.join(work, what)
        os.makedirs(work, exist_ok=True)
        self.generator = stack.enter_context(Generator(work, huge, prefixes))
        self.router = None
        if what == "router":
            self.router = stack.enter_context(
                router_under_load(work, accel, self.generator, prefixes))
        else:
            stack.enter_context(PEERS[what][0](work, huge, self.generator, prefixes))
        self.generator.run(WARM_UP_S)
        self.before = self.inside()

    def inside(self):
        return (data_core(self.router), mmio(self.router)) if self.router else None

    def turn(self):
        """{figure: value} of one slice. The first are seen from outside: the same for everybody."""
        trip = round_trip_ns()
        load = self.generator.run(SLICE_S)
        hz = self.generator.tsc_hz
        got = {"trip": max(trip, round_trip_ns()), "mpps": load.mpps(),
               "cycles_per_packet": hz / (load.mpps() * 1e6),
               "offered_per_taken": load.offered / load.taken, "full_share": load.full_share()}
        if self.router:
            (core_before, mmio_before), self.before = self.before, self.inside()
            core, registers = self.before
            packets = max(1, core["rx_pkts"] - core_before["rx_pkts"])
            cycles = core["busy_cycles"] - core_before["busy_cycles"]
            got.update(busy_cycles_per_packet=cycles / packets,
                       busy_share=cycles * 1e9 / (load.nanoseconds * hz),
                       packets_per_turn=core.get("pkts_turn", 0),
                       mmio_reads_per_packet=(registers[0] - mmio_before[0]) / packets,
                       mmio_writes_per_packet=(registers[1] - mmio_before[1]) / packets)
        return got


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
    """
    The turns in which the host kept the two CPUs near each other, where there are enough: it moves
    them within a second, to one of two distances, and a median across both states nothing. The
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


UNITS = {"mpps": ("Mpps", "higher"), "cycles_per_packet": ("TSC cycles", "lower"),
         "busy_cycles_per_packet": ("TSC cycles", "lower"), "busy_share": ("of time", "higher"),
         "packets_per_turn": ("packets", "higher"),
         "mmio_reads_per_packet": ("per packet", "lower"),
         "mmio_writes_per_packet": ("per packet", "lower")}


def forwarding(results, work, accel, huge, prefixes, runs, seconds, peers):
    """Adds the figures of one table of routes; returns the round trips measured meanwhile."""
    routes_name = "1route" if prefixes == 1 else "%dkroutes" % (prefixes >> 10)
    name = "router.virtio.64B." + routes_name
    measured = {what: [] for what in ["router", *peers]}
    for number in range(runs):
        turns = max(1, round(seconds / SLICE_S))
        with contextlib.ExitStack() as stack:
            contenders = [Contender(stack, work, huge, accel, what, prefixes) for what in measured]
            for _ in range(turns):
                for contender in contenders:
                    measured[contender.what].append(contender.turn())
        progress("%s run %d of %d:" % (routes_name, number + 1, runs))
        for what in measured:
            progress("    " + say(what, measured[what][-turns:]))
    trips = [got["trip"] for turns in measured.values() for got in turns]
    measured = near_only(results, name, measured)
    add_forwarding(results, name, routes_name, accel, measured, list(peers))
    return trips


def add_forwarding(results, name, routes_name, accel, measured, peers):
    def column(what, figure):
        return [got[figure] for got in measured[what]] if what else None

    best = peers[0] if peers else None  # beside ours in the table; others in lines of their own
    busy = median_of(measured["router"], "busy_share")
    figures = dict(UNITS)
    if busy > IMPOSSIBLE:
        results.note("%s: the router counts time asleep as busy (%.0f %%): not stated"
                     % (name, 100 * busy))
        figures = {key: UNITS[key] for key in UNITS if not key.startswith("busy_")}
    for figure, (unit, better) in figures.items():
        both = figure in ("mpps", "cycles_per_packet")
        results.add(name + "." + figure, column("router", figure), unit, better, accel,
                    "%s %s" % (dpdk_version(), PEERS[best][1]) if best and both else None,
                    column(best, figure) if both else None)
        for peer in peers if both else []:
            results.add("peer.%s.virtio.64B.%s.%s" % (peer, routes_name, figure),
                        column(peer, figure), unit, better, "host")
    if busy < SATURATED:
        results.note("%s: the GENERATOR was the limit, not the router: its core was busy %.1f %% "
                     "of the time" % (name, 100 * busy))
    for peer in peers:
        share = median_of(measured[peer], "full_share")
        if share < 1 - SATURATED:
            results.note("%s, %s: the GENERATOR was the limit, not the peer: it found room at "
                         "%.1f %% of its looks" % (routes_name, peer, 100 * (1 - share)))


def boot(results, work, accel, runs):
    """From the kernel's first instruction, and from QEMU's start, to the first packet forwarded."""
    kernel_ms, start_ms, rss = [], [], []
    config = os.path.join(work, "boot.conf")
    with open(config, "w", encoding="ascii") as file:
        file.write(demo.CONFIG)
    pidfile = os.path.join(work, "pid")
    for _ in range(runs):
        with netlab.Host("left") as left, netlab.Host("right") as right:
            left.configure(demo.LEFT[1] + "/24", demo.LEFT[0])
            right.configure(demo.RIGHT[1] + "/24", demo.RIGHT[0])
            left.ip("neighbour", "replace", demo.LEFT[0], "lladdr",
                    ports.mac_of(ports.MAC_BASE, 0), "dev", "eth0", "nud", "permanent")
            words = ["router", "--config", config, "--accel", accel, "--memory", "128M",
                     "--pidfile", pidfile, "--port", left.port, "--port", right.port]
            with Guest(words) as router:
                ready_ms, first_s, ready_s = demo.first_packet(router, left, right)
                kernel_ms.append(max(0.0, ready_ms + (first_s - ready_s) * 1000))
                start_ms.append((first_s - router.started) * 1000)
                with open(pidfile, encoding="ascii") as file:
                    pid = int(file.read())
                with open("/proc/%d/status" % pid, encoding="ascii") as file:
                    rss.append(int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024)
                router.wait_prompt()
                version = router.command("show version")
    results.add("boot.kernel_to_first_packet", kernel_ms, "ms", "lower", accel)
    results.add("boot.qemu_to_first_packet", start_ms, "ms", "lower", accel)
    results.add("memory.qemu_rss_128MiB_guest", rss, "MiB", "lower", accel)
    used = re.search(r"([\d.]+) MiB (?:of memory )?(?:used|in use)|used:? ([\d.]+) MiB", version)
    if used:
        results.add("memory.guest_used_128MiB", [float(used.group(1) or used.group(2))], "MiB",
                    "lower", accel)


def sizes(results, work):
    results.add("image.kernel", [os.path.getsize(options.KERNEL)], "bytes", "lower", "host")
    iso = os.path.join(work, "hayate.iso")
    image.build(iso)
    results.add("image.iso", [os.path.getsize(iso)], "bytes", "lower", "host")


def choose(wanted):
    if wanted != "auto":
        return options.choose_accel(wanted)
    try:
        return options.choose_accel("kvm")
    except LauncherError:
        return "tcg"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accel", choices=["auto", "kvm", "tcg"],
                        default=os.environ.get("HAYATE_ACCEL", "auto"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a run (default 2)")
    parser.add_argument("--only", choices=["forwarding", "boot", "sizes"], action="append")
    arguments = parser.parse_args()
    parts = arguments.only or ["forwarding", "boot", "sizes"]
    if not os.path.exists(options.KERNEL):
        raise BenchError("%s is not built (make)" % options.KERNEL)
    accel = choose(arguments.accel)
    software = accel == "kvm" and options.choose_accel("auto") != "kvm"
    progress("accelerator: %s%s" % (accel.upper(), ", in software: the CPU does not virtualise"
                                    if software else ""))
    results = Results()
    work = tempfile.mkdtemp(prefix="hayate-bench-")
    try:
        if "forwarding" in parts:
            if len(os.sched_getaffinity(0)) < 2:
                raise BenchError("forwarding needs two CPUs")
            if not shutil.which("dpdk-testpmd"):
                raise BenchError("dpdk is not installed (tools/deps.sh install bench)")
            build_tools()
            peers = {name: start for name, (start, _) in PEERS.items()}
            missing = build_l3fwd()
            if missing:
                results.note(missing)
                del peers["l3fwd"]
            with hugepages() as huge:
                if not huge:
                    progress("no huge pages: DPDK runs on 4 KiB pages")
                trips = []
                for prefixes in ROUTES:
                    trips += forwarding(results, work, accel, huge, prefixes, arguments.runs,
                                        arguments.seconds, peers)
                results.add("host.core_round_trip", trips, "ns", "lower", "host")
        if "boot" in parts:
            boot(results, work, accel, arguments.runs)
        if "sizes" in parts:
            sizes(results, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    results.write()
    results.table()
    print("  written to %s" % os.path.relpath(RESULTS, os.getcwd()))
    return 0


if __name__ == "__main__":
    # As an exception, so that peers, guests and huge pages do not stay behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        sys.exit(main())
    except (BenchError, GuestError, LauncherError, demo.Failure) as error:
        print("bench: %s" % error, file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
