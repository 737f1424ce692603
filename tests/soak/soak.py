#!/usr/bin/python3
"""`make soak`: a router under mixed traffic, to which one fault after the other is done. Reports which
packets were lost, by which fault, and whether any was lost without a fault.

    make soak MINUTES=60 NIC=ixgbe CPUS=4 SEED=7

Meanwhile a routing engine, scrapes, HTTPS, commits, captures and an XDP program use its management
(managers.py; --no-managers leaves them out).

The router is the real image in QEMU, between two hosts. The seed determines the schedule of faults,
which is printed at the start. A fault begins when the previous one is over, so the number of faults
in a given time depends on the machine. In the end

  - a packet that was lost, overtaken or duplicated without a fault, or damaged at any time, is a
    discrepancy (judge.py); so is a flow that a fault stops for good, and a wrong byte of TCP;
  - the accounts of all ports balance (tests/system/books.py), and the cards' models report nothing;
  - memory, packet buffers, routes and connections are as at the start, and a repeated fault takes
    no more memory (faults.py).

Exit status: 0, or 1 with a line for each discrepancy.
"""
import argparse
import contextlib
import os
import pathlib
import random
import re
import socket
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "system"), os.path.join(ROOT, "tests"),
                os.path.join(ROOT, "tools")]

import pytest  # noqa: E402
from conftest import (ACCEL, IMAGE, LEFT_HOST, LEFT_MAC, LEFT_ROUTER, RIGHT_HOST,  # noqa: E402
                      RIGHT_ROUTER, WEB, Router, eventually)
from family import LEFT6, LEFT_ROUTER6, RIGHT6, RIGHT_ROUTER6, addresses_up, config6  # noqa: E402
from faults import KINDS, Faults, schedule  # noqa: E402
from judge import Verdict  # noqa: E402
from launcher import netlab, options  # noqa: E402
from launcher.guest import GuestError  # noqa: E402
from launcher.errors import LauncherError  # noqa: E402
from managers import PROGRAM, Managers, engine_host, make_key, request, statements  # noqa: E402
from test_remote import REMOTE  # noqa: E402
from traffic import Ping, Stream, Tagged, Traffic, Udp  # noqa: E402

PROGRESS_S = 10
SECONDS_PER_FAULT = 2  # more faults are drawn than can be made in the time
LAYOUTS = 5
MANAGED_MEMORY = "512M"  # with all servers on, 256 MiB leave too little to change the configuration
FAULTS_PACE_S = 5  # two faults each time: a core may have five in ten seconds
LAST_SENT = 64         # buffers: the last sent ones are freed at the next transmission
VID, VLAN_HOST = 100, "10.100.0.2"
V4, V6 = socket.AF_INET, socket.AF_INET6
FAILURES = (AssertionError, GuestError, LauncherError, OSError, pytest.fail.Exception)


def configuration(managed):
    """Two families, a VLAN, the servers, and routes to change. managed: statements for the managers, or []."""
    extra = ["interface eth0.%d" % VID, " ip address 10.100.0.1/24", WEB + REMOTE]
    for n in (3, 4):
        extra.append("arp 198.51.100.%d 02:bb:00:00:04:%02x" % (n, n))
    extra += ["ip route 20.%d.%d.0/24 198.51.100.%d" % (n >> 8, n & 255, 3 + n % 2)
              for n in range(1000)]
    text = config6(extra="\n".join(extra + managed))
    return text.replace("interface eth0\n", "interface eth0\n xdp count\n") if managed else text


def flows(left, right):
    """Every kind of flow, in both directions."""
    return [
        Udp("ip4 small", left, right, V4, RIGHT_HOST, 9001, 40),
        Udp("ip4 full", left, right, V4, RIGHT_HOST, 9002, 1472),
        Udp("ip4 fragments", left, right, V4, RIGHT_HOST, 9003, 3900),
        Udp("ip4 back", right, left, V4, LEFT_HOST, 9004, 200),
        Udp("ip6 small", left, right, V6, RIGHT6, 9005, 40),
        Udp("ip6 full", left, right, V6, RIGHT6, 9006, 1452),
        Udp("ip6 fragments", left, right, V6, RIGHT6, 9007, 3900),
        Udp("ip6 back", right, left, V6, LEFT6, 9008, 200),
        Tagged("vlan", left, right, LEFT_MAC, VID, VLAN_HOST, RIGHT_HOST, 9009, 300),
        Ping("ip4 ping", left, V4, RIGHT_HOST, 56),
        Ping("ip6 ping", right, V6, LEFT6, 1200),
    ]


class State:
    """The state that must be equal at the start and at the end. It is recorded without learnt
    neighbours, after a restart of the control program, which lays out its memory again."""

    def __init__(self, router, host, managed):
        for what in ("arp", "ipv6 neighbors"):
            router.command("clear " + what)
        self.memory = router.command("show memory")
        self.numbers = {name: float(value) for name, value in re.findall(
            r"^(hayate_(?:core_buffers_free|core_buffers|routes|tcp_connections"
            r"|console_connections)(?:\{.*\})?) (\S+)$", metrics(host, managed), re.MULTILINE)
            if "time_wait" not in name}

    def differences(self, before):
        found = []
        for name, value in self.numbers.items():
            first = before.numbers.get(name, 0)
            if abs(value - first) > (LAST_SENT if "buffers_free" in name else 0):
                found.append("%s: %g at the start, %g at the end" % (name, first, value))
        if self.memory != before.memory:
            found.append("show memory: at the start\n%s\nat the end\n%s"
                         % (before.memory, self.memory))
        return found


def metrics(host, managed):
    if managed:
        return request(host, "GET", "/metrics", tls=False)
    with host.socket(kind=socket.SOCK_STREAM) as client:
        client.settimeout(20)
        client.connect((LEFT_ROUTER, 80))
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        data = b""
        while True:
            piece = client.recv(65536)
            if not piece:
                return data.decode()
            data += piece


class Soak:
    def __init__(self, args, stack, work):
        self.args, self.complaints, self.done = args, [], []
        self.drops = {}  # name -> packets, at the end
        self.traffic = None
        cores = options.data_cores(args.cpus)
        self.managers = None
        self.left = stack.enter_context(engine_host(cores) if args.managers else netlab.Host("left", cores))
        self.right = stack.enter_context(netlab.Host("right", cores))
        for host, address, gateway in ((self.left, LEFT_HOST, LEFT_ROUTER),
                                       (self.right, RIGHT_HOST, RIGHT_ROUTER)):
            host.lengthen_queue()
            host.configure(address + "/24", gateway)
        self.left.configure6(LEFT6 + "/64", LEFT_ROUTER6)
        self.right.configure6(RIGHT6 + "/64", RIGHT_ROUTER6)
        self.plan = schedule(args.seed, int(60 * args.minutes / SECONDS_PER_FAULT) + len(KINDS),
                             args.nic, cores, args.only)
        key = make_key(work) if args.managers else None
        (work / "conf").write_text(configuration(statements(key) if args.managers else []), encoding="ascii")
        ports = [self.left.port, self.right.port]
        words = ["router", "--accel", ACCEL, "--cpus", str(args.cpus), "--image", IMAGE, "--config",
                 str(work / "conf"), "--append", "test=1"]
        for port in ports:
            words += ["--port", port]
        if args.managers:
            words += ["--program", "count=" + PROGRAM, "--memory", MANAGED_MEMORY]
        os.makedirs(os.path.dirname(args.log), exist_ok=True)
        self.router = Router(words, args.log, work, args.nic, ports)
        stack.callback(self.router.close)
        self.router.cabled = ["eth0", "eth1"]
        self.router.faults_expected = True
        self.router.wait_up(120)
        self.faults = Faults(self.router, self.left, self.right)
        stack.callback(self.faults.close)
        if args.managers:
            self.managers = self.faults.managers = Managers(self.left, key, self.faults.commits)
            stack.callback(self.managers.end)
            self.managers.start_engine()
        self._lay_out()

    def _lay_out(self):
        """The layout of the control program's memory depends on how much of it became published memory in
        the previous layout. After a few restarts it is stable. It includes the memory of a
        commit."""
        layouts = [None]
        self.faults.commit_lines(["hostname soaked"])
        for _ in range(LAYOUTS):
            self.anew()
            layouts.append(self.router.command("show memory"))
            if layouts[-1] == layouts[-2]:
                return
        self.complain("memory is divided otherwise each time:\n%s" % layouts[-1])

    def anew(self):
        """The control program restarts twice: once as a take-over, with tables beside the old ones,
        and once with all memory to itself."""
        self.faults.restart("null", 0)
        self.faults.restart("driver", 0)
        addresses_up(self.router)
        time.sleep(FAULTS_PACE_S)

    def settled(self):
        """The state while there is no traffic: no packet waits for a neighbour any more, and the routing engine
        is connected."""
        if self.managers:
            self.managers.reconnect(self.router)
        eventually(lambda: self.router.balanced().balance[2] == 0, 30, "nothing waits")
        return State(self.router, self.left, self.args.managers)

    def run(self):
        self.traffic = Traffic(flows(self.left, self.right))
        self.faults.traffic = self.traffic
        self.traffic.start()
        if self.managers:
            self.managers.start()
        self.faults.start()
        streams = [Stream("tcp ip4", self.left, self.right, V4, RIGHT_HOST, 9100, self.args.seed),
                   Stream("tcp ip6", self.right, self.left, V6, LEFT6, 9101, self.args.seed + 1)]
        for stream in streams:
            stream.start()
        try:
            self._make_faults()
        except FAILURES as error:
            self.complain(str(error))
        if self.managers:
            self.managers.end()
            self.complaints += ["%s: never succeeded (%s)" % (one.name, one.said)
                                for one in self.managers.all if not one.done]
            self.managers.tidy()
        self.traffic.finish(2)
        self.complaints += [said for said in (stream.finish() for stream in streams) if said]

    def _make_faults(self):
        end = time.monotonic() + 60 * self.args.minutes
        self.next_line = time.monotonic() + PROGRESS_S
        for kind, word, calm in self.plan:
            self._wait(time.monotonic() + calm)
            if time.monotonic() > end:
                return
            self.done.append((kind, word))
            self.faults.make(kind, word)
        self._wait(end)

    def _wait(self, until):
        while True:
            self.router.poll()
            if self.traffic.failure:
                raise AssertionError("the traffic ended: %r" % self.traffic.failure)
            now = time.monotonic()
            if now >= self.next_line:
                sent, came = self.traffic.counts()
                print("%5.0f s: %d sent, %d came, %d faults, the last: %s"
                      % (self.traffic.now(), sent, came, len(self.done),
                         " ".join(self.done[-1]) if self.done else "-"), flush=True)
                self.next_line = now + PROGRESS_S
            if now >= until:
                return
            time.sleep(min(0.1, until - now))

    def complain(self, text):
        """Records a complaint, with the name of the last fault."""
        now = self.traffic.now() if self.traffic else 0
        self.complaints.append("%s (%.1f s after the start; the last fault: %s)" % (
            text, now, " ".join(self.done[-1]) if self.done else "none"))

    def judge(self, before):
        """All checks after the end of the traffic."""
        traffic = self.traffic
        verdict = Verdict([one.flow for one in traffic.flows], self.faults.windows, traffic.damaged)
        self.complaints += verdict.complaints
        try:
            self.anew()
            found = self._differences(before)
            deadline = time.monotonic() + 60
            while found and time.monotonic() < deadline:
                time.sleep(1)
                found = self._differences(before)
            self.complaints += found
            self.drops = self.router.balanced().drops()
        except FAILURES as error:
            self.complain(str(error))
        said = self.router.verdict()
        self.router.close()
        self.complaints += [text for text in (said, self.router.model_verdict()) if text]
        return verdict

    def _differences(self, before):
        return self.settled().differences(before)

    def report(self, verdict):
        traffic = self.traffic
        sent, came = traffic.counts()
        print("\nlost by fault:          packets   longest gap")
        for window in self.faults.windows:
            print("  %-30s %6d  %8.0f ms" % (window.name, window.lost, 1000 * window.outage))
        print("%d faults, %d sent, %d came, %d lost, %d overtaken, %d could not be sent"
              % (len(self.done), sent, came, verdict.lost, verdict.late, traffic.unsent))
        if self.managers:
            print("management: " + self.managers.report())
        print("dropped by the router: %s"
              % (", ".join("%s %d" % drop for drop in sorted(self.drops.items())) or "none"))
        for text in self.complaints:
            print("DISCREPANCY: " + text)
        print("soak: %s" % ("%d discrepancies, SEED=%d" % (len(self.complaints), self.args.seed)
                            if self.complaints else "no discrepancy"))


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0, help="0: a new one, printed")
    parser.add_argument("--nic", choices=options.NICS, default="virtio")
    parser.add_argument("--cpus", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=(), choices=sorted(KINDS), metavar="KIND",
                        help="these kinds of faults alone: " + " ".join(KINDS))
    parser.add_argument("--no-managers", dest="managers", action="store_false",
                        help="no routing engine, captures, scrapes, commits and XDP program")
    parser.add_argument("--log", default=os.path.join(ROOT, "build", "soak", "console.log"))
    args = parser.parse_args(argv)
    args.seed = args.seed or random.SystemRandom().randrange(1, 1 << 31)
    return args


def main(argv):
    args = parse(argv)
    print("soak: SEED=%d NIC=%s CPUS=%d, %g minutes, %s; the console is in %s"
          % (args.seed, args.nic, args.cpus, args.minutes, ACCEL, args.log))
    with contextlib.ExitStack() as stack:
        work = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hayate-soak-")))
        soak = Soak(args, stack, work)
        print("faults: " + ", ".join("%s %s" % (kind, word) for kind, word, _ in soak.plan),
              flush=True)
        before = soak.settled()
        soak.run()
        soak.report(soak.judge(before))
        return 1 if soak.complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
