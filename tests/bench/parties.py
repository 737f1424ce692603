"""The parties of a benchmark with a real routing engine: Hayate, FRRouting's host, a host on either side;
the CPU time and the waits of each; and packets that show that a route forwards.

Waits are counted by both ends. Linux' TCP, of the engine, counts how long data waited because Hayate's
window was closed or full (`ss -i`: rwnd_limited). zebra counts how often its buffer towards Hayate was
full. The CPU times of zebra's threads, and of Hayate's control core, show who worked meanwhile.
"""
import collections
import contextlib
import importlib
import os
import re
import socket
import sys
import time

from load import ROOT, BenchError
from launcher import machine, netlab
from launcher.guest import Guest

ROUTER, ENGINE = "192.0.2.1", "192.0.2.2"
HOP = {4: "198.51.100.254", 6: "2001:db8:1::fe"}  # the right host
LEFT, LEFT_ROUTER = {4: "203.0.113.2", 6: "2001:db8:2::2"}, {4: "203.0.113.1", 6: "2001:db8:2::1"}
INDEX = 102  # of eth1 on the engine
FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}
PROBE_PORT = 20000
WAIT_S = 600

CONFIGURATION = """\
hostname bench
interface eth0
 ip address %s/24
interface eth1
 ip address 198.51.100.1/24
 ipv6 address 2001:db8:1::1/64
 routing engine index %d
interface eth2
 ip address %s/24
 ipv6 address %s/64
routing engine %s
""" % (ROUTER, INDEX, LEFT_ROUTER[4], LEFT_ROUTER[6], ENGINE)


def of_system_tests(name):
    """A module of the system tests, which need pytest."""
    sys.path.append(os.path.join(ROOT, "tests", "system"))
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BenchError("%s (tools/deps.sh install bench)" % error) from None
    finally:
        sys.path.pop()


def daemons():
    """The module with hosts for FRRouting and BIRD."""
    frr = of_system_tests("frr")
    if not frr.installed().has("zebra"):
        raise BenchError("FRRouting is not installed (tools/deps.sh install bench)")
    return frr


# --- CPU time ---

def _ticks(path):
    """(name, seconds) of a stat file of /proc."""
    with open(path, encoding="ascii", errors="replace") as file:
        text = file.read()
    name, rest = text[text.index("(") + 1:].rsplit(")", 1)
    words = rest.split()
    return name, (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def threads(pid):
    """Seconds of CPU time of each thread, by name."""
    found = collections.Counter()
    for thread in os.listdir("/proc/%d/task" % pid):
        with contextlib.suppress(FileNotFoundError):
            name, seconds = _ticks("/proc/%d/task/%s/stat" % (pid, thread))
            found[name] += seconds
    return found


class Cpu:
    """CPU seconds since the start: of processes, of the control core, which is a thread of QEMU, and of
    the whole machine."""

    def __init__(self, pids, control=None):
        self.pids, self.control = pids, control
        self.before, self.began = self._now(), time.monotonic()

    def _now(self):
        now = {name: threads(pid) for name, pid in self.pids.items()}
        if self.control:
            now["control core"] = collections.Counter(all=_ticks("/proc/%d/stat" % self.control)[1])
        with open("/proc/stat", encoding="ascii") as file:
            words = list(map(int, file.readline().split()[1:9]))
        idle = words[3] + words[4]  # proc_stat(5): idle, iowait
        now["machine"] = collections.Counter(all=(sum(words) - idle) / os.sysconf("SC_CLK_TCK"))
        return now

    def since(self):
        """{process: {thread: seconds}}"""
        return {name: {thread: seconds - self.before[name][thread] for thread, seconds in now.items()}
                for name, now in self._now().items()}


# --- hosts and router ---

class Lab:
    """Hayate with an engine, and a host on either side. The engine's eth1 leads nowhere: its kernel
    only holds the routes."""

    def __init__(self, stack, work, accel, memory="4G", configuration=CONFIGURATION, append=()):
        frr = daemons()
        self.engine = stack.enter_context(frr.Engine(frr.installed(), ROUTER, ENGINE))
        self.left, self.right = (stack.enter_context(netlab.Host(name)) for name in ("left", "right"))
        nowhere(self.engine)
        for host, own, router in ((self.left, LEFT, LEFT_ROUTER),
                                  (self.right, HOP, {4: "198.51.100.1", 6: "2001:db8:1::1"})):
            host.configure(own[4] + "/24", router[4])
            host.configure6(own[6] + "/64", router[6])
        config = os.path.join(work, "zebra.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(configuration)
        self.pidfile, self.qmp = os.path.join(work, "zebra.pid"), os.path.join(work, "zebra.qmp")
        words = ["router", "--config", config, "--accel", accel, "--memory", memory, "--cpus", "2",
                 "--pidfile", self.pidfile, "--qmp", self.qmp]
        for host in (self.engine, self.right, self.left):
            words += ["--port", host.port]
        for word in append:
            words += ["--append", word]
        self.router = stack.enter_context(Guest(words, log=os.path.join(work, "zebra.log")))
        self.router.wait_ready(120)
        self.router.wait_prompt()
        for host in (self.engine, self.right, self.left):
            host.wait_for_link()
        with open(self.pidfile, encoding="ascii") as file:
            self.pid = int(file.read())
        self.control = [cpu["thread-id"] for cpu in machine.qmp(self.qmp, "query-cpus-fast")
                        if cpu["cpu-index"] == 0][0]

    def stated(self):
        return int(re.search(r"prefixes (\d+)", self.router.command("show routing engine"))[1])

    def connected(self):
        said = self.router.command("show routing engine")
        return " connected since " in said

    def check_refused(self):
        said = self.router.command("show routing engine")
        if "refused" in said or "malformed 0" not in said:
            raise BenchError("routes were refused:\n" + said)

    def waited(self):
        """What Linux' TCP says of the connection: milliseconds in which it had data to send, and in which
        it waited for Hayate's window and for zebra (tcp_info: tcpi_busy_time and so on)."""
        said = self.engine.run(["ss", "-tinH", "dst", ROUTER, "dport", "=", "2620"], check=True).stdout
        return {name: int((re.search(name + r":(\d+)ms", said) or [0, 0])[1])
                for name in ("busy", "rwnd_limited", "sndbuf_limited")}


def nowhere(host):
    """eth1, whose other end drops all; the next hops are behind it."""
    host.ip("link", "add", "eth1", "index", str(INDEX), "type", "veth", "peer", "name", "nowhere")
    host.ip("address", "add", "198.51.100.2/24", "dev", "eth1")
    for device in ("eth1", "nowhere"):
        host.ip("link", "set", device, "up")
    host.six("eth1", "2001:db8:1::2/64")


class Probe:
    """Packets from left to an address of the right host."""

    def __init__(self, lab, family, address):
        self.out = lab.left.socket(FAMILY[family])
        self.into = lab.right.socket(FAMILY[family])
        lab.right.ip("-%d" % family, "address", "replace", "%s/%d" % (address, 32 if family == 4 else 128),
                     "dev", "lo", *(["nodad"] if family == 6 else []))
        self.into.bind((address, PROBE_PORT))
        self.into.setblocking(False)
        self.out.setblocking(False)
        self.to = (address, PROBE_PORT)

    def arrives(self):
        """Sends one; whether one of the earlier ones has come."""
        with contextlib.suppress(OSError):
            self.out.sendto(b"probe", self.to)
        with contextlib.suppress(BlockingIOError):
            return bool(self.into.recv(100))
        return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.out.close()
        self.into.close()
        return False


def until(condition, every_s, what):
    """Seconds until it holds."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() > began + WAIT_S:
            raise BenchError("%s: not within %d s" % (what, WAIT_S))
        time.sleep(every_s)
    return time.monotonic() - began


def waits(host):
    """zebra's own counters: {name: number} of its FPM module, and the longest queue of each module."""
    fpm, modules = (host.ask("zebra", line) for line in ("show fpm counters", "show zebra dplane providers"))
    found = {name: int(number) for name, number in re.findall(r"^ *([^:\n]+): (\d+)$", fpm, re.M)}
    for name, longest in re.findall(r"^(\S+) \(\d+\): .*q_max: (\d+), out", modules, re.M):
        found["longest queue of " + name] = int(longest)
    return found
