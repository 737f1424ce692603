"""Common to the peer tests: a Linux host in a network namespace with a tap, and our programs
(examples/) at the other end of the tap.

    HAYATE_PEER_FULL=1            the long version: 1 GiB, 100,000 connections
    HAYATE_PEER_BUILD=examples    the programs without sanitizers

Every test runs over IPv4 and over IPv6 (`FAMILIES`), with two exceptions:

    @pytest.mark.family(4)        tests of the addresses or the tools of one family
    @pytest.mark.by_turns         tests of TCP, independent of the family, that are long or have
                                  many cases: the cases of a file are divided between the
                                  families, half each; running all of them twice would take
                                  some minutes more

The namespace has no name and ends with us (tools/launcher/netlab.py), so copies of the tests run in
parallel and nothing is left behind. Our program impairs the link (examples/impair.h), not netem,
which some kernels lack; each test checks counters that show that the impairment took place.

After every test each of our programs must have ended normally (without a sanitizer's report or a
failed assert), every frame must have had exactly one fate, and without connections all buffers must
be in the pool. The traffic is captured, and test_captures.py checks all of it with tshark.
"""
import contextlib
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tools"), os.path.join(ROOT, "tests")]

from launcher import netlab, process  # noqa: E402
from layer import eventually, runs  # noqa: E402,F401

pytest_plugins = ["layer"]

FULL = bool(os.environ.get("HAYATE_PEER_FULL"))
BUILD = os.path.join(ROOT, "build", os.environ.get("HAYATE_PEER_BUILD", "examples-asan"))
ALL_LOGS = os.path.join(ROOT, "build", "test-peer")
LOGS = os.path.join(ALL_LOGS, str(os.getpid()))  # logs and captures of this run


class Family:
    """Addresses of one version of IP: ours and Linux's on the same link, and a second subnet,
    `far`, whose first address is Linux's as a router. `url`: the form of our address in a URL."""

    def __init__(self, number, inet, near, far, plen):
        self.number, self.inet, self.plen = number, inet, plen
        self.ours, self.linux = near + "1", near + "2"
        self.far_router, self.far = far + "1", far + "2"
        self.far_net = "%s%s/%d" % (far, "0" if number == 4 else "", plen)
        self.url = self.ours if number == 4 else "[%s]" % self.ours
        self.headers = 40 if number == 4 else 60  # of IP and TCP, without options

    def with_plen(self, address):
        return "%s/%d" % (address, self.plen)


FAMILIES = {
    4: Family(4, socket.AF_INET, "192.0.2.", "198.51.100.", 24),
    6: Family(6, socket.AF_INET6, "2001:db8:1::", "2001:db8:2::", 64),
}
ECHO, DISCARD, CHARGEN = 7, 9, 19

ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0",
               "UBSAN_OPTIONS": "print_stacktrace=1"}


class Ours:
    """One of our programs on the tap of a Linux host."""

    def __init__(self, host, name, arguments, log, pcap=None, fds=()):
        self.log_path = log
        family = host.family
        arguments = [str(argument) for argument in arguments]
        dev = "eth0"
        if "--dev" in arguments:
            dev = arguments[arguments.index("--dev") + 1]
        argv = [os.path.join(BUILD, name), "--dev", "eth0", "--address",
                family.with_plen(family.ours), "--gateway", family.linux, *arguments]
        if "--dad" not in arguments:
            argv += ["--dad-transmits", "0"]  # DAD takes a second or two
        argv = [word for word in argv if word != "--dad"]
        if pcap:
            argv += ["--pcap", pcap]
        self.log = open(log, "w", encoding="utf-8", errors="replace")
        self.log.write(" ".join(argv) + "\n")
        self.log.flush()
        self.child = host.popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=self.log, env=ENVIRONMENT, pass_fds=fds)
        self.buffer = b""
        self.last = {}
        self.judge = True
        assert self.line(10) == {"ready": True}
        host.wait_for_link(dev, self.child)  # a client may have ended already

    def line(self, timeout_s):
        """The program's next line on stdout; None at the end."""
        deadline = time.monotonic() + timeout_s
        fd = self.child.stdout.fileno()
        while b"\n" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                pytest.fail("%s says nothing for %g s" % (self.child.args[0], timeout_s))
            piece = os.read(fd, 65536)
            if not piece:
                pytest.fail("our program ended (%s):\n%s" % (self.child.wait(), self.tail()))
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(text)

    def tail(self):
        self.log.flush()
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()[-6000:]

    def status(self):
        """The program's current figures."""
        self.child.send_signal(signal.SIGUSR1)
        self.last = self.line(10)
        return self.last

    def counter(self, name):
        return self.status()["counters"].get(name, 0)

    def wait(self, timeout_s=60):
        """Waits until the program ends by itself (client); returns its last figures."""
        self.last = self.line(timeout_s)
        self.child.wait(10)
        return self.last

    def stop(self):
        if self.child.poll() is None:
            self.child.terminate()
            self.wait(10)
        return self.last

    def verdict(self):
        """'' if the program ended well, else an error text."""
        if self.child.poll() is None:
            try:
                self.stop()
            except (pytest.fail.Exception, subprocess.TimeoutExpired) as error:
                return str(error)
        if self.child.returncode < 0 or "Sanitizer" in self.tail() or "assert" in self.tail():
            return "our program ended by %d:\n%s" % (self.child.returncode, self.tail())
        last = self.last
        if last and last["received"] != last["fates"]:
            return "received %d, fates %d: %s" % (last["received"], last["fates"],
                                                  last["counters"])
        if last and not last["connections"] and last["buffers"] != last["buffers_free"]:
            return "no connection, but %d of %d buffers in the pool" % (last["buffers_free"],
                                                                        last["buffers"])
        return ""

    def close(self):
        process.stop(self.child)
        self.child.stdout.close()
        self.log.close()


class Peer(netlab.Host):
    """Linux at one end of a tap, our programs at the other."""

    def __init__(self, name, family, mtu=1500):
        super().__init__("linux")
        self.test = name
        self.family = FAMILIES[family]
        self.linux, self.us = self.family.linux, self.family.ours
        self.programs = []
        self.ip("link", "set", "eth0", "mtu", str(mtu))
        self.add_address("eth0", self.linux)
        self.ip("route", "replace", "default", "via", self.us)
        self.mtu = mtu
        # errors should appear at once, and slow transfers should not be limited
        self.sysctl("net.ipv4.tcp_rmem", "4096 131072 6291456")

    def add_address(self, dev, address):
        """Adds an address of our family to a device of the host, and sets the device up. Duplicate
        address detection is off, because it is slow even if it sends nothing: until a worker of the
        kernel has run it, nothing can be bound to the address."""
        self.ip("link", "set", dev, "up")
        if self.family.number == 6:
            for dev_name in ("lo", dev):
                self.sysctl("net.ipv6.conf.%s.accept_dad" % dev_name, 0)
                self.sysctl("net.ipv6.conf.%s.accept_ra" % dev_name, 0)
                self.sysctl("net.ipv6.conf.%s.disable_ipv6" % dev_name, 0)
        nodad = ["nodad"] if self.family.number == 6 else []
        self.ip("address", "replace", self.family.with_plen(address), "dev", dev, *nodad)

    def forward(self):
        """Makes the host a router, without a rate limit of its ICMP messages."""
        if self.family.number == 4:
            self.sysctl("net.ipv4.ip_forward", 1)
            self.sysctl("net.ipv4.icmp_ratelimit", 0)
        else:
            self.sysctl("net.ipv6.conf.all.forwarding", 1)
            self.sysctl("net.ipv6.icmp.ratelimit", 0)

    def ours(self, name, *arguments, capture=True, fds=()):
        """Starts one of our programs. capture: keeps the traffic for tshark; not with offloads,
        because Linux then completes the checksums."""
        path = os.path.join(LOGS, "%s-%d" % (self.test, len(self.programs)))
        more = ["--mtu", self.mtu] if self.mtu != 1500 else []
        program = Ours(self, name, [*more, *arguments], path + ".log",
                       path + ".pcap" if capture and "--offload" not in arguments else None,
                       fds)
        self.programs.append(program)
        return program

    def tcp(self, *options, timeout_s=20.0):
        """A TCP socket of the Linux host."""
        sock = self.socket(self.family.inet, socket.SOCK_STREAM)
        sock.settimeout(timeout_s)
        for level, name, value in options:
            sock.setsockopt(level, name, value)
        return sock

    def connect(self, port, *options, timeout_s=20.0, source=None):
        sock = self.tcp(*options, timeout_s=timeout_s)
        if source:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((self.linux, source))
        sock.connect((self.us, port))
        return sock

    @contextlib.contextmanager
    def server(self, serve, port=0, options=(), backlog=1024):
        """A Linux server: runs serve(socket) for each connection in a thread. Yields the port; in
        the end every connection must have ended without an exception."""
        listener = self.tcp(*options, timeout_s=0.2)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((self.linux, port))
        listener.listen(backlog)
        threads, errors, ended = [], [], threading.Event()

        def run(sock):
            try:
                with sock:
                    serve(sock)
            except Exception as error:  # pylint: disable=broad-except
                errors.append(error)

        def accept():
            while not ended.is_set():
                try:
                    sock, _ = listener.accept()
                except socket.timeout:
                    continue
                sock.settimeout(30)
                threads.append(threading.Thread(target=run, args=(sock,), daemon=True))
                threads[-1].start()

        acceptor = threading.Thread(target=accept, daemon=True)
        acceptor.start()
        try:
            yield listener.getsockname()[1]
        finally:
            ended.set()
            acceptor.join()
            listener.close()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive(), "a connection of the Linux server does not end"
        assert not errors, errors

    def nstat(self, name):
        """One of Linux's own counters, such as TcpRetransSegs or TcpExtTW."""
        with process.inside_netns(self.netns):
            text = open("/proc/thread-self/net/snmp", encoding="ascii").read() + \
                open("/proc/thread-self/net/netstat", encoding="ascii").read()
            for line in open("/proc/thread-self/net/snmp6", encoding="ascii"):
                if line.split()[0] == name:
                    return int(line.split()[1])
        lines = text.splitlines()
        for names, values in zip(lines[::2], lines[1::2]):
            prefix = names.split(":")[0]
            if name.startswith(prefix) and name[len(prefix):] in names.split():
                return int(values.split()[names.split().index(name[len(prefix):])])
        raise KeyError(name)

    def verdict(self):
        return "\n".join(text for text in (program.verdict() for program in self.programs) if text)

    def close(self):
        for program in self.programs:
            program.close()
        super().close()


@pytest.fixture
def make_peer(request, family):
    """make_peer(mtu=…) is a Linux host on a link with our address, on which no program of ours runs
    yet."""
    os.makedirs(LOGS, exist_ok=True)
    peers = []
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", request.node.name)

    def make(**options):
        peers.append(Peer(name + "-%d" % len(peers) if peers else name, family, **options))
        return peers[-1]

    yield make
    wrong = [peer.verdict() for peer in peers]
    for peer in peers:
        peer.close()
    wrong = [text for text in wrong if text]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


@pytest.fixture
def peer(make_peer):
    return make_peer()


@pytest.fixture(autouse=True)
def can_run():
    """Fails the tests on a machine that cannot run them."""
    reason = netlab.usable()
    if reason:
        pytest.fail("peer tests cannot run here: " + reason, pytrace=False)
    if not os.path.exists(os.path.join(BUILD, "echo")):
        pytest.fail("%s is not built: make test-peer" % BUILD, pytrace=False)


def pytest_generate_tests(metafunc):
    if "family" in metafunc.fixturenames:
        metafunc.parametrize("family", FAMILIES, ids=lambda family: "ip%d" % family)


def is_for_its_family(item):
    marker = item.get_closest_marker("family")
    return not marker or item.callspec.params["family"] in marker.args


def at_turn(items):
    """Of the tests with by_turns, every second case for each family, alternating between the tests
    of a file; all of the others."""
    tests = {}  # file: {function: [its cases without the family]}
    for item in items:
        if not item.get_closest_marker("by_turns"):
            yield item
            continue
        family = item.callspec.params["family"]
        case = item.callspec.id.replace("ip%d" % family, "", 1)
        of_file = tests.setdefault(item.fspath, {})
        cases = of_file.setdefault(item.function, [])
        if case not in cases:
            cases.append(case)
        turn = cases.index(case) + list(of_file).index(item.function)
        if list(FAMILIES)[turn % len(FAMILIES)] == family:
            yield item


def pytest_collection_modifyitems(items):
    items[:] = at_turn(list(filter(is_for_its_family, items)))
    # the test of all captures comes last
    items.sort(key=lambda item: item.fspath.basename == "test_captures.py")


def pytest_configure(config):
    config.addinivalue_line("markers", "family(4): for this version of IP only")
    config.addinivalue_line("markers", "by_turns: each case for one of the versions of IP")
    # ten thousand connections need as many descriptors
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    want = 32768 if hard == resource.RLIM_INFINITY else min(hard, 32768)
    resource.setrlimit(resource.RLIMIT_NOFILE, (want, hard))
    if not config.option.collectonly:
        for run in os.listdir(ALL_LOGS) if os.path.isdir(ALL_LOGS) else ():
            if not runs(int(run)):
                shutil.rmtree(os.path.join(ALL_LOGS, run), ignore_errors=True)
