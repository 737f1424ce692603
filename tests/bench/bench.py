#!/usr/bin/python3
"""`make bench`: how fast the real image forwards, and what else step A measures.

  router.virtio.64B.<N>route.*   64-byte forwarding over vhost-user, one data core, against a DPDK
                                 generator and sink (vhost_gen.c); the peer is DPDK's testpmd
                                 (mode `mac`, no look-up) over virtio-user in the guest's place,
                                 alternating with it in the same run
  boot.*, image.*, memory.*      start-up and size

Prints a table and writes build/bench.json: a list of {name, value, unit, better, accel, runs,
peer, peer_value}. Names are stable; entries of other benchmarks in the file are kept.

Two CPUs are needed: the generator polls on the first, the data core on the second; everything
else shares the first. Busy TSC cycles per packet are the figure to compare: the packet rate is
bounded by the generator. KVM is used where it opens, software KVM included (the data core runs
at ring 3, which that executes natively); else TCG. The table says which.
"""
import argparse
import contextlib
import json
import os
import pty
import re
import select
import shutil
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
NEXT_HOP_MAC = "52:54:00:00:00:0b"
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
    for name, extra in (("vhost_gen", ["-march=native"] + flags.stdout.split()),
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


def eal(prefix, cpus, huge):
    words = ["-l", ",".join(map(str, cpus)), "--no-pci", "--no-telemetry",
             "--file-prefix=" + prefix]
    if huge:
        # virtio-user shares its memory with the vhost side, which wants few files.
        return words + ["--in-memory", "--single-file-segments", "-m", "256"]
    return words + ["--no-huge", "-m", "256"]


def own_group(child):
    """A polling process in an autogroup of its own, ahead: else neighbours take milliseconds."""
    with contextlib.suppress(OSError), open("/proc/%d/autogroup" % child.pid, "w",
                                            encoding="ascii") as file:
        file.write("-15")


class Generator:
    """vhost_gen, its two sockets in `work`."""

    def __init__(self, work, huge, prefixes):
        self.sockets = [os.path.join(work, name) for name in ("vhost0", "vhost1")]
        words = [os.path.join(TOOLS, "vhost_gen")]
        words += eal("hayate-gen-%d" % os.getpid(), [CPU_GENERATOR], huge)
        for index, path in enumerate(self.sockets):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)  # of a generator before us
            words += ["--vdev", "net_vhost%d,iface=%s,queues=1" % (index, path)]
        words += ["--", ports.mac_of(ports.MAC_BASE, 0), FIRST_PREFIX, str(prefixes)]
        self.log = open(os.path.join(work, "generator.log"), "w+", encoding="utf-8")
        self.child = process.popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=self.log, text=True, bufsize=1, start_new_session=True)
        own_group(self.child)
        self.answer("up", 30)

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
        self.child.stdin.write(command + "\n")
        return self.answer(command.split()[0], timeout_s)

    def wait_link(self, timeout_s=60):
        deadline = time.monotonic() + timeout_s
        while self.ask("link") != ["1", "1"]:
            if time.monotonic() > deadline:
                raise BenchError("the other side did not bring its rings up")
            time.sleep(0.05)

    def run(self, seconds):
        """(sent, received, packets per second received). One core: sends as fast as it can."""
        sent, received, bad, nanoseconds = map(int, self.ask("run %g" % seconds, seconds + 30))
        if bad:
            raise BenchError("%d sampled packets came back damaged" % bad)
        if received == 0:
            raise BenchError("nothing was forwarded (%d packets sent)" % sent)
        return sent, received, received * 1e9 / nanoseconds

    def close(self):
        with contextlib.suppress(OSError):
            self.child.stdin.write("quit\n")
        process.stop(self.child)
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
    """The data core's thread alone on its CPU, all others beside the generator."""
    with open(pidfile, encoding="ascii") as file:
        pid = int(file.read())
    for thread in os.listdir("/proc/%d/task" % pid):
        os.sched_setaffinity(int(thread), {CPU_GENERATOR})
    for cpu in qmp(qmp_path, "query-cpus-fast"):
        if cpu["cpu-index"] == 1:
            os.sched_setaffinity(cpu["thread-id"], {CPU_DATA})
    return pid


def routes(prefixes):
    for number in range(prefixes):
        yield "ip route 10.%d.%d.0/24 198.51.100.2\n" % (number >> 8, number & 255)


def configuration(prefixes):
    return ("hostname bench\ninterface eth0\n ip address 192.0.2.1/24\n"
            "interface eth1\n ip address 198.51.100.1/24\n"
            "arp 198.51.100.2 %s\n" % NEXT_HOP_MAC + "".join(routes(prefixes)))


def busy(router):
    """(busy TSC cycles, packets received) of the data core, from `show cores`."""
    rows = [row for row in router.cores() if 1 in (row.get("core"), row.get("id"), row.get("cpu"))]
    if not rows:
        raise BenchError("`show cores` has no line for core 1")
    row = rows[0]
    cycles = [value for name, value in row.items() if "busy" in name and "cycle" in name]
    packets = [value for name, value in row.items() if name in ("packets", "pkts", "rx_pkts")]
    if not cycles or not packets:
        raise BenchError("`show cores` states no busy cycles or no packets")
    return int(cycles[0]), int(packets[0])


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
        pin_guest(pidfile, qmp_path)
        generator.wait_link()
        yield router


@contextlib.contextmanager
def peer_under_load(work, huge, generator):
    """testpmd in the guest's place; yields a function that returns its busy cycles and packets."""
    words = ["dpdk-testpmd"] + eal("hayate-peer-%d" % os.getpid(), [CPU_GENERATOR, CPU_DATA], huge)
    for index, path in enumerate(generator.sockets):
        words += ["--vdev", "net_virtio_user%d,path=%s,queues=1,queue_size=1024,mac=%s"
                  % (index, path, ports.mac_of(ports.MAC_BASE, index))]
    words += ["--", "-i", "--nb-cores=1", "--forward-mode=mac", "--record-core-cycles",
              "--eth-peer=1," + NEXT_HOP_MAC, "--txd=1024", "--rxd=1024"]
    # On a terminal: testpmd would otherwise keep back what it prints until a buffer is full.
    terminal, theirs = pty.openpty()
    child = process.popen(words, stdin=theirs, stdout=theirs, stderr=theirs,
                          start_new_session=True)
    os.close(theirs)
    own_group(child)
    said = ""

    def ask(command, pattern, timeout_s=30):
        nonlocal said
        if command:
            said = ""
            os.write(terminal, command.encode() + b"\n")
        deadline = time.monotonic() + timeout_s
        while True:
            match = re.search(pattern, said, re.DOTALL)
            if match:
                return match
            left = deadline - time.monotonic()
            if left <= 0:
                raise BenchError("testpmd: no answer to `%s`: %s" % (command, said.strip()[-200:]))
            if select.select([terminal], [], [], left)[0]:
                try:
                    said += os.read(terminal, 65536).decode(errors="replace")
                except OSError:
                    raise BenchError("testpmd ended: " + said.strip()[-300:]) from None

    def measure(run):
        """Runs run() while testpmd forwards; returns (its result, busy cycles per packet)."""
        ask("start", r"packet forwarding.*testpmd> ")
        result = run()
        match = ask("stop", r"CPU cycles/packet=([\d.]+).*testpmd> ")
        return result, float(match.group(1))

    try:
        ask("", r"testpmd> ", 60)
        generator.wait_link()
        yield measure
    finally:
        process.stop(child, 5)
        os.close(terminal)


# --- what is measured ---

class Results:
    def __init__(self):
        self.entries = []

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
        for peer in sorted(peers):
            print("  peer: " + peer)


def round_trip_ns():
    result = subprocess.run([os.path.join(TOOLS, "core_ping"), str(CPU_GENERATOR), str(CPU_DATA)],
                            capture_output=True, text=True, timeout=60, check=False)
    return float(result.stdout) if result.returncode == 0 else None


def mmio(router):
    blocks = router.interfaces().values()
    return tuple(sum(block.get(name, 0) for block in blocks)
                 for name in ("mmio_reads", "mmio_writes"))


def forwarding(results, work, accel, huge, prefixes, runs, seconds):
    name = "router.virtio.64B.%s" % ("1route" if prefixes == 1 else "%dk-routes" % (prefixes >> 10))
    ours = {"mpps": [], "cycles": [], "reads": [], "writes": []}
    theirs = {"mpps": [], "cycles": []}
    trips = []
    for number in range(runs):
        trips.append(round_trip_ns())
        with Generator(work, huge, prefixes) as generator:
            with router_under_load(work, accel, generator, prefixes) as router:
                generator.run(0.3)  # warms up
                before, before_mmio = busy(router), mmio(router)
                sent, received, rate = generator.run(seconds)
                after, after_mmio = busy(router), mmio(router)
                packets = after[1] - before[1]
                ours["mpps"].append(rate / 1e6)
                ours["cycles"].append((after[0] - before[0]) / max(1, packets))
                ours["reads"].append((after_mmio[0] - before_mmio[0]) / max(1, packets))
                ours["writes"].append((after_mmio[1] - before_mmio[1]) / max(1, packets))
                router.send("poweroff")
                with contextlib.suppress(GuestError):
                    router.wait_exit(10)
        with Generator(work, huge, prefixes) as generator:
            with peer_under_load(work, huge, generator) as measure:
                measure(lambda: generator.run(0.3))
                (_, _, rate), cycles = measure(lambda: generator.run(seconds))
                theirs["mpps"].append(rate / 1e6)
                theirs["cycles"].append(cycles)
        progress("%s run %d of %d: %.2f Mpps, %.1f cycles; testpmd %.2f Mpps, %.1f cycles; core to "
                 "core and back %s ns" % (name, number + 1, runs, ours["mpps"][-1],
                                          ours["cycles"][-1], theirs["mpps"][-1],
                                          theirs["cycles"][-1], trips[-1]))
    peer = "dpdk-testpmd, mode mac (no look-up), virtio-user, same generator"
    results.add(name + ".cycles_per_packet", ours["cycles"], "TSC cycles", "lower", accel, peer,
                theirs["cycles"])
    results.add(name + ".mpps", ours["mpps"], "Mpps", "higher", accel, peer, theirs["mpps"])
    results.add(name + ".mmio_reads_per_packet", ours["reads"], "per packet", "lower", accel)
    results.add(name + ".mmio_writes_per_packet", ours["writes"], "per packet", "lower", accel)
    results.add("host.core_round_trip", trips, "ns", "lower", "host")


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
            with hugepages() as huge:
                if not huge:
                    progress("no huge pages: DPDK runs on 4 KiB pages")
                for prefixes in (1, 16384):
                    forwarding(results, work, accel, huge, prefixes, arguments.runs,
                               arguments.seconds)
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
    try:
        sys.exit(main())
    except (BenchError, GuestError, LauncherError, demo.Failure) as error:
        print("bench: %s" % error, file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
