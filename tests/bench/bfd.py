"""BFD sessions of the router while it forwards at full load: false failures, and how late packets are.

The data core has a CPU of its own and forwards all that two null ports give it. On the other CPU, at
real-time priority, are the control core, QEMU's own threads and the peer, an ordinary bfdd. Nothing ever fails
here, so each time that a session leaves the state up, somebody was too late. stall_probe tells how long the host
itself kept a CPU from its most urgent thread, and how long the thread of a core of the router that could run had to
wait for its CPU: in all, and before each of these failures.
"""
import contextlib
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from load import CPU_DATA, CPU_GENERATOR, PRIORITY, TOOLS, BenchError, make, progress
from router import data_core, drops_of
from launcher import machine, netlab
from launcher.guest import Guest

SECONDS = {50: 300, 10: 120}  # by the interval in milliseconds
QUICK_S = 20
MULTIPLIER = 3
CPU_CONTROL = CPU_GENERATOR
URGENT = PRIORITY + 20  # before other benchmarks on this machine
ENGINE_ROUTER, ENGINE = "203.0.113.1", "203.0.113.2"
PEER_ROUTER, PEER = "198.51.100.1", "198.51.100.2"
DAEMONS = "/usr/lib/frr/"
SINK = "192.0.2.2"  # behind a null port
WAIT_S = 60

# the null ports follow the two with a cable
CONFIGURATION = """\
hostname bench
interface eth0
 ip address %s/24
interface eth1
 ip address %s/24
interface eth2
 ip address 192.0.2.1/24
interface eth3
 ip address 192.0.3.1/24
arp %s 02:00:00:00:00:01
ip route 198.19.0.0/16 %s
routing engine %s
routing engine bfd connect
""" % (ENGINE_ROUTER, PEER_ROUTER, SINK, SINK, ENGINE)


def session(peer, local, interval_ms):
    return """\
bfd
 peer %s local-address %s
  transmit-interval %d
  receive-interval %d
  detect-multiplier %d
""" % (peer, local, interval_ms, interval_ms, MULTIPLIER)


class Bfdd:
    """zebra and bfdd in a host."""

    def __init__(self, host, config, *arguments):
        self.host, self.work = host, pathlib.Path(tempfile.mkdtemp(prefix="hayate-bfd-"))
        shutil.chown(self.work, "frr", "frr")
        self.start("zebra", "", "-A", "127.0.0.1")
        wait((self.work / "zserv").exists, "zebra runs")
        self.bfdd = self.start("bfdd", config, "--bfdctl", str(self.work / "bfdd.sock"), *arguments)

    def start(self, name, config, *arguments):
        (self.work / (name + ".conf")).write_text(config, encoding="ascii")
        with open(self.work / (name + ".log"), "ab") as log:
            return self.host.popen(
                [DAEMONS + name, "-f", str(self.work / (name + ".conf")), "-i", str(self.work / (name + ".pid")),
                 "-z", str(self.work / "zserv"), "--vty_socket", str(self.work), "-u", "frr", "-g", "frr",
                 *arguments], stdout=log, stderr=-2)

    def peer(self, what=""):
        said = self.host.run(["vtysh", "--vty_socket", str(self.work), "-d", "bfdd", "-c",
                              "show bfd peers %sjson" % what]).stdout
        with contextlib.suppress(ValueError, IndexError):
            return json.loads(said)[0]
        return {}

    def downs(self):
        """When the session has left the state up, in seconds of time.monotonic."""
        past = time.time() - time.monotonic()
        return [datetime.datetime.strptime(when, "%Y/%m/%d %H:%M:%S.%f").timestamp() - past for when in re.findall(
            r"^(\S+ \S+) BFD: .*state-change: .* up -> down", (self.work / "bfdd.log").read_text(), re.M)]

    def close(self):
        self.host.end_children()
        shutil.rmtree(self.work, ignore_errors=True)


def wait(condition, what):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise BenchError("BFD: not within %d s: %s" % (WAIT_S, what))
        time.sleep(0.2)


def real_time(thread, cpu):
    os.sched_setaffinity(thread, {cpu})
    os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(URGENT))


def threads_of(pid):
    return [int(name) for name in os.listdir("/proc/%d/task" % pid)]


@contextlib.contextmanager
def preferred(pid):
    """The process' session precedes others meanwhile: without it the priorities of threads count inside of the
    session alone (sched(7), autogroup)."""
    path = "/proc/%d/autogroup" % pid

    def nice(value):
        with contextlib.suppress(OSError), open(path, "w", encoding="ascii") as file:
            file.write(str(value))
    nice(-20)
    try:
        yield
    finally:
        nice(0)


def place(stack, pidfile, qmp_path, peer):
    """Gives each thread its CPU; returns the cores' threads, by CPU. The data core never sleeps, so real-time
    priority would not do for it: the kernel takes the CPU from such a thread for 50 ms of each second."""
    with open(pidfile, encoding="ascii") as file:
        pid = int(file.read())
    control, data = (cpu["thread-id"] for cpu in sorted(machine.qmp(qmp_path, "query-cpus-fast"),
                                                        key=lambda cpu: cpu["cpu-index"]))
    for thread in threads_of(pid):
        if thread != data:
            real_time(thread, CPU_CONTROL)
    os.sched_setaffinity(data, {CPU_DATA})
    os.setpriority(os.PRIO_PROCESS, data, -20)
    for thread in threads_of(peer.bfdd.pid):
        real_time(thread, CPU_CONTROL)
    stack.enter_context(preferred(pid))
    return {CPU_CONTROL: control, CPU_DATA: data}


class Stalls:
    """A context manager; afterwards `late` has what the probe of each CPU has found, [(end, microseconds)]: by
    ("cpu", CPU) for the CPU itself, by ("thread", CPU) for the core's thread there."""

    def __init__(self, cores):
        self.cores = cores
        self.late = {(kind, cpu): [] for kind in ("cpu", "thread") for cpu in cores}

    def __enter__(self):
        self.children = {cpu: subprocess.Popen(
            [os.path.join(TOOLS, "stall_probe"), str(thread), str(cpu)], stdout=subprocess.PIPE, text=True)
            for cpu, thread in self.cores.items()}
        return self

    def __exit__(self, *_):
        for cpu, child in self.children.items():
            child.kill()
            for line in child.communicate()[0].splitlines():
                kind, when, late = line.split()
                self.late[kind, cpu].append((float(when), int(late)))
        return False

    def before(self, kind, when, seconds):
        """The longest of a kind that was under way in these seconds before, in ms."""
        return max((us for cpu in self.cores for end, us in self.late[kind, cpu]
                    if end >= when - seconds and end - us / 1e6 <= when), default=0) / 1000

    def say(self, kind, cpu):
        late = [us for _, us in self.late[kind, cpu]]
        return "%d times over 2 ms, %d over 10 ms, most %.1f ms" % (
            len(late), sum(us > 10000 for us in late), max(late, default=0) / 1000)


def steal_s():
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


def show(router):
    """(up, down, microseconds of the latest packet, why it was last down)"""
    said = router.command("show bfd")
    found = re.search(r"latest packet (\d+) us late.* up (\d+), down (\d+)", said, re.S)
    last = re.search(r"last down .*", said)
    return int(found[2]), int(found[3]), int(found[1]), last[0].strip() if last else ""


def measure(work, accel, interval_ms, seconds):
    config, pidfile, qmp_path = (os.path.join(work, "bfd." + end) for end in ("conf", "pid", "qmp"))
    with open(config, "w", encoding="ascii") as file:
        file.write(CONFIGURATION)
    with contextlib.ExitStack() as stack:
        engine, right = (stack.enter_context(netlab.Host(name)) for name in ("engine", "peer"))
        engine.configure(ENGINE + "/24", ENGINE_ROUTER)
        right.configure(PEER + "/24", PEER_ROUTER)
        router = stack.enter_context(Guest(
            ["router", "--config", config, "--accel", accel, "--memory", "512M", "--pidfile", pidfile, "--qmp",
             qmp_path, "--append", "null=2", "--port", engine.port, "--port", right.port],
            log=os.path.join(work, "bfd.log")))
        router.wait_ready(120)
        router.wait_prompt()
        peer = Bfdd(right, "log timestamp precision 6\ndebug bfd peer\n" +
                    session(PEER_ROUTER, PEER, interval_ms), "--log", "stdout")
        stack.callback(peer.close)
        cores = place(stack, pidfile, qmp_path, peer)
        ours = Bfdd(engine, session(PEER, PEER_ROUTER, interval_ms), "--dplaneaddr",
                    "ipv4:%s:50700" % ENGINE)
        stack.callback(ours.close)
        wait(lambda: peer.peer().get("status") == "up", "the session is up")
        time.sleep(5)  # the timers are negotiated
        before, packets, drops, stolen = show(router), data_core(router)["rx_pkts"], drops_of(router), steal_s()
        there = peer.peer("counters ")
        with Stalls(cores) as stalls:
            began = time.monotonic()
            time.sleep(seconds)
            took = time.monotonic() - began
            after, rate = show(router), (data_core(router)["rx_pkts"] - packets) / took / 1e6
        then, downs = peer.peer("counters "), [when for when in peer.downs() if when >= began]
        progress("BFD %d x %d ms, %.0f s: forwarded %.1f Mpps, dropped %s" % (
            MULTIPLIER, interval_ms, took, rate,
            {name: n - drops.get(name, 0) for name, n in drops_of(router).items() if n != drops.get(name, 0)} or 0))
        progress("  left the state up: router %d, peer %d times; %s" % (
            after[1] - before[1], then["session-down"] - there["session-down"], after[3]))
        progress("  the router's latest packet (since its start): %d us" % after[2])
        progress("  packets to the peer %d, from it %d" % (
            then["control-packet-input"] - there["control-packet-input"],
            then["control-packet-output"] - there["control-packet-output"]))
        for cpu, what in (CPU_CONTROL, "control"), (CPU_DATA, "data"):
            progress("  the host was late for the %s core's CPU: %s" % (what, stalls.say("cpu", cpu)))
            progress("  the %s core waited for it: %s" % (what, stalls.say("thread", cpu)))
        progress("  stolen from all: %.1f s" % (steal_s() - stolen))
        for when in downs:
            detection_s = MULTIPLIER * interval_ms / 1000
            progress("  down after %.1f s: in the detection time before, the host was late by %.1f ms, and a core waited "
                     "for %.1f ms" % (when - began, stalls.before("cpu", when, detection_s),
                                      stalls.before("thread", when, detection_s)))
        return {"down": after[1] - before[1], "latest_us": after[2], "mpps": rate,
                "host_late_us": max([us for cpu in cores for _, us in stalls.late["cpu", cpu]], default=0)}


def bfd(results, work, accel, quick):
    if make("build/bench/stall_probe").returncode != 0:
        raise BenchError("stall_probe does not build")
    for interval_ms, seconds in SECONDS.items():
        got = measure(work, accel, interval_ms, QUICK_S if quick else seconds)
        name = "bfd.%dx%dms." % (MULTIPLIER, interval_ms)
        results.add(name + "false_failures", [got["down"]], "times", "lower", accel)
        results.add(name + "latest_packet", [got["latest_us"]], "us", "lower", accel)
        results.add(name + "forwarded", [got["mpps"]], "Mpps", "higher", accel)
        results.add(name + "host_late", [got["host_late_us"]], "us", "lower", accel)
