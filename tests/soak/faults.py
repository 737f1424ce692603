"""The faults of a router under load: a schedule derived from a seed, and each kind.

A kind that may lose packets has a window (judge.py), which ends when the ports run, their links are
up, and every flow gets through again. No other kind may lose a single packet.
"""
import contextlib
import random
import re
import socket
import threading
import time

from conftest import (LEFT_HOST, LEFT_MAC, LEFT_ROUTER, RIGHT_HOST, RIGHT_MAC, RIGHT_ROUTER,
                      eventually)
from family import LEFT6, RIGHT6
from judge import Window
from launcher.guest import READY
from managers import AUTHORIZATION
from test_fuzz import corpus, mutate, packet_socket

BACK = re.compile(r"core \d+: polls again after \d+ us|" + READY.pattern)
BACK_S = 60       # time limit for every flow to get through again
MANAGERS_S = 120  # and for every user of the management
CALM_S = (1, 3)   # between two faults
FAULTS = ("null", "exec", "write", "divide", "assert", "stack", "ud")
BAD_FRAMES = 300
FLOOD_FRAMES = 20000
SPARED = [socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host)
          for host in (LEFT_HOST, RIGHT_HOST, LEFT6, RIGHT6)]
CARD_FAULTS = {
    "virtio": (),
    "igb": (),
    "vmxnet3": (),
    "ixgbe": ("bad-length:50", "error-bits:50", "dd-garbage:50", "writeback-lost:50",
              "writeback-delay:500"),
    "igc": ("bad-length:50", "error-bits:50", "dd-garbage:50", "writeback-lost:50", "writeback-delay:500"),
    "mlx5": ("bad-length:50", "completion-lost:50", "receive-error:50"),
}

# QEMU 11.1.3 itself ends on some malformed frames (tests/system/test_fuzz.py)
SPARED_KINDS = {"igb": ("bad-frames",)}

# kind: (relative frequency, whether packets may be lost)
KINDS = {
    "link": (4, True),
    "core": (4, True),
    "control": (2, True),
    "stuck": (1, True),
    "mtu": (1, True),
    "flood": (2, True),
    "card": (3, True),
    "churn": (2, False),
    "commit": (3, False),
    "bad-frames": (3, False),
    "http": (3, False),
}


def schedule(seed, count, nic, data_cores, only=()):
    """[(kind, details, calm seconds before it)], the same for the same arguments. Each kind, or
    each in `only`, comes once before kinds repeat at random."""
    rng = random.Random(seed)
    kinds = [kind for kind in KINDS if (kind != "card" or CARD_FAULTS[nic])
             and kind not in SPARED_KINDS.get(nic, ()) and (not only or kind in only)]
    first, often = rng.sample(kinds, len(kinds)), [KINDS[kind][0] for kind in kinds]
    made = []
    for n in range(count):  # one by one: a longer schedule begins with a shorter one
        kind = first[n] if n < len(first) else rng.choices(kinds, often)[0]
        made.append((kind, word_of(rng, kind, nic, data_cores), rng.uniform(*CALM_S)))
    return made


def word_of(rng, kind, nic, data_cores):
    """The details of a fault of this kind."""
    port, core = rng.randrange(2), 1 + rng.randrange(data_cores)
    return {
        "link": lambda: "eth%d %d ms" % (port, rng.choice((0, 200, 1000))),
        "core": lambda: "%s core %d" % (rng.choice(FAULTS), core),
        "control": lambda: "%s core 0" % rng.choice(FAULTS),
        "stuck": lambda: "spin core %d" % core,
        "mtu": lambda: "%d" % rng.choice((1400, 1450, 1480)),
        "flood": lambda: rng.choice(("nobody", "router", "far")),
        "card": lambda: "eth%d %s" % (port, rng.choice(CARD_FAULTS[nic])),
        "churn": lambda: "%d 1" % rng.choice((100, 1000, 5000)),
        "commit": lambda: "%d" % rng.randrange(256),
        "bad-frames": lambda: "eth%d seed %d" % (port, rng.randrange(1 << 30)),
        "http": lambda: "%d" % rng.randrange(1, 20),
    }[kind]()


class Faults:
    """Makes the faults. router, left, right: as in the system tests; traffic: runs meanwhile."""

    def __init__(self, router, left, right):
        self.router, self.hosts, self.traffic = router, (left, right), None
        self.managers, self.commits = None, threading.Lock()
        self.windows = []
        self.made, self.free_kib = set(), 0  # since the control program began
        self.sockets = [packet_socket(host) for host in self.hosts]

    def start(self):
        """Waits until every flow gets through for the first time; neighbours are unknown before. The first
        use of each server may take memory, so every manager succeeds once, too."""
        window = Window("start", 0)
        self.windows.append(window)
        self._wait_back()
        window.end = self.traffic.now()
        if self.managers:
            self._wait_managers()

    def make(self, kind, word):
        """Makes one fault, and waits for its end."""
        window = Window("%s %s" % (kind, word), self.traffic.now())
        loses = KINDS[kind][1]
        if loses:
            self.windows.append(window)
        getattr(self, "_" + kind.replace("-", "_"))(*word.split())
        self._wait_back()
        window.end = self.traffic.now()
        if not self.managers:
            self._look_at_memory(kind)
            return
        if loses:
            self._wait_managers()
        with self.managers.rest():
            self._look_at_memory(kind)

    def _look_at_memory(self, kind):
        """The first fault of a kind may allocate memory; a repetition must not."""
        free = int(re.search(r"^control core +(\d+)  free", self.router.command("show memory"),
                             re.MULTILINE)[1])
        if kind == "control":
            self.made.clear()
        elif kind in self.made:
            assert free >= self.free_kib, (
                "of the control core's memory %d KiB were free, and %d after `%s` once more"
                % (self.free_kib, free, kind))
        self.made.add(kind)
        self.free_kib = free

    def _wait_back(self):
        self.router.wait_links(self.router.cabled, BACK_S)
        since = self.traffic.now()
        eventually(lambda: self.traffic.failure or not self.traffic.back_since(since), BACK_S,
                   "all flows get through again")

    def _wait_managers(self):
        since = time.monotonic()
        eventually(lambda: self.traffic.failure or not self.managers.waiting(since), MANAGERS_S,
                   lambda: "these succeed again: " + ", ".join(self.managers.waiting(since)))

    # --- kinds that may lose packets ---

    def _link(self, port, ms, _):
        number = int(port[3:])
        self.router.set_link(number, False)
        time.sleep(int(ms) / 1000)
        self.router.set_link(number, True)

    def restart(self, fault, core):
        """A core's program fails and runs again, with all ports if they had to stop."""
        self.router.skip()
        self.router.send("test fault %s core %s" % (fault, core))
        self.router.expect(r"core %s: program restarted" % core, 20)
        self.router.expect(BACK, 60, "the core polls again, or the ready line")
        self.router.command("show version", 60)

    def _core(self, fault, _, core):
        self.restart(fault, core)

    _control = _stuck = _core

    def _mtu(self, mtu):
        """A commit that restarts the ports, and one that reverts it."""
        with self.commits:
            for lines in (["interface eth1", "mtu %s" % mtu], ["rollback 1"]):
                before = len(READY.findall(self.router.text))
                self.commit_lines(lines)
                eventually(lambda: self.router.poll() or len(READY.findall(self.router.text)) > before,
                           BACK_S, "the ports run again")

    def _flood(self, to):
        address = {"nobody": "198.51.100.77", "router": LEFT_ROUTER, "far": RIGHT_HOST}[to]
        with self.hosts[0].socket() as sock:
            for _ in range(FLOOD_FRAMES):
                try:
                    sock.sendto(b"x" * 100, (address, 9))
                except OSError:
                    pass  # the answer to a closed port

    def _card(self, port, fault):
        number = int(port[3:])
        self.router.model("port %d fault %s" % (number, fault))
        time.sleep(1)
        self.router.model("port %d clear %s" % (number, fault.partition(":")[0]))

    # --- kinds that must not ---

    def _churn(self, rate, seconds):
        # it ends when the configuration changes, and compares the tables at its start and end
        with self.commits, self.managers.rest() if self.managers else contextlib.nullcontext():
            if self.managers:
                self.managers.settle(self.router)
            said = self.router.command("test churn %s %s" % (rate, seconds), 120)
        assert "is as before" in said, said

    def commit_lines(self, lines):
        for line in ["configure", *lines]:
            self.router.command(line)
        said = self.router.command("commit", 60)
        assert re.search(r"committed|in force", said), said
        self.router.command("end")

    def _commit(self, number):
        """Adds a route and removes it: the previous configuration is restored."""
        with self.commits:
            before = self.router.command("show running-config")
            self.commit_lines(["ip route 10.%s.0.0/16 %s" % (number, RIGHT_HOST)])
            self.commit_lines(["rollback 1"])
            after = self.router.command("show running-config")
        assert after == before, after

    def _bad_frames(self, port, _, seed):
        """Frames as test_fuzz.py makes them, rarely valid ones. None contains an address of the
        hosts: a forged ARP packet can replace a neighbour, which is no fault of the router."""
        number, rng = int(port[3:]), random.Random(int(seed))
        good = corpus(*((LEFT_MAC, "192.0.2.99", LEFT_ROUTER, "198.51.100.99"),
                        (RIGHT_MAC, "198.51.100.99", RIGHT_ROUTER, "192.0.2.99"))[number])
        for _ in range(BAD_FRAMES):
            frame = mutate(rng, rng.choice(good))
            if any(address in frame for address in SPARED):
                continue
            try:
                self.sockets[number].send(frame)
            except OSError:
                pass  # too long or too short for Linux

    def _http(self, count):
        """HTTP sessions: one reads the answer, one disconnects in the middle, one sends nothing,
        and the rest are reset."""
        for n in range(int(count)):
            with self.hosts[0].socket(kind=socket.SOCK_STREAM) as client:
                client.settimeout(20)
                client.connect((LEFT_ROUTER, 23 if n % 5 == 4 else 80))
                if n % 5 in (0, 1):
                    client.sendall(b"GET /metrics HTTP/1.0\r\n%s\r\n" % (AUTHORIZATION if self.managers else b""))
                if n % 5 == 0:
                    while client.recv(65536):
                        pass
                if n % 5 == 3:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    def close(self):
        for sock in self.sockets:
            sock.close()
