"""Receive packet steering (runtime/steer.h): a card with one queue pair, and several data cores. All of them
receive, and the packets of each flow stay in order."""
import random
import re
import select
import socket
import struct
import subprocess
import threading
import time

import pytest
from conftest import LEFT_HOST, LEFT_ROUTER, RIGHT_HOST, eventually, pings, router_config
from scapy.layers.inet import IP, UDP
from scapy.utils import PcapNgReader
from test_capture import CAPTURE
from test_faults import break_for_good

FLOWS, PORT = 32, 21000
WINDOW = 2  # packets of a flow in flight: no queue on the way overflows
CARDS = pytest.mark.parametrize("nic", ["virtio", "vmxnet3"])


@pytest.fixture
def make_steered(make_router, make_hosts, nic):
    """make_steered(config, …) boots a router whose ports have one pair, and returns it and its hosts."""
    def make(config=None, *arguments, cpus=4, app="router"):
        left, right = make_hosts(1)
        words = ["--queues", "1"] if nic == "virtio" else []
        router = make_router(config or router_config(), *words, "--append", "test=1 pairs=1", *arguments,
                             ports=(left.port, right.port), cpus=cpus, app=app)
        return router, left, right
    return make


def roles(router):
    return re.findall(r"^\d+ +(\S+)", router.command("show cores"), re.MULTILINE)


def received(router):
    """Packets received by each data core."""
    rows = re.findall(r"^(\d+) +(?:data|worker) +\S+ +(\d+)", router.command("show cores"), re.MULTILINE)
    return {int(core): int(pkts) for core, pkts in rows}


def all_taken(router):
    """The counters, once workers have taken all packets that were steered to them."""
    def settled():
        counters = router.balanced()
        return counters if counters["steered"] == counters["steer_taken"] else None
    return eventually(settled, 10, "workers have taken all")


class Numbered:
    """UDP flows whose packets are numbered."""

    def __init__(self, left, right):
        self.out = [left.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(FLOWS)]
        self.into = [right.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(FLOWS)]
        for n, (out, into) in enumerate(zip(self.out, self.into)):
            out.bind(("", PORT + n))
            into.bind((RIGHT_HOST, PORT + n))
            into.setblocking(False)
        self.sent, self.got = [0] * FLOWS, [[] for _ in range(FLOWS)]
        self.last = [time.monotonic()] * FLOWS

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for s in self.out + self.into:
            s.close()

    def missing(self):
        return sum(self.sent) - sum(len(g) for g in self.got)

    def receive(self, timeout_s):
        ready, _, _ = select.select(self.into, [], [], timeout_s)
        for s in ready:
            n = self.into.index(s)
            self.got[n].append(struct.unpack("!I", s.recv(100))[0])
            self.last[n] = time.monotonic()
        return bool(ready)

    def run(self, seconds):
        """Sends for so long, with a window in each flow, and waits for the rest."""
        lost = [self.sent[n] - len(self.got[n]) for n in range(FLOWS)]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for n in range(FLOWS):
                if time.monotonic() - self.last[n] > 0.5:  # lost: go on
                    lost[n] = self.sent[n] - len(self.got[n])
                    self.last[n] = time.monotonic()
                while self.sent[n] - len(self.got[n]) - lost[n] < WINDOW:
                    self.out[n].sendto(struct.pack("!I", self.sent[n]), (RIGHT_HOST, PORT + n))
                    self.sent[n] += 1
            self.receive(0.005)
        while self.missing() and self.receive(1):  # until nothing has come for a second
            pass

    def in_order(self):
        return all(g == sorted(set(g)) for g in self.got)


@CARDS
def test_all_cores_receive_in_order(make_steered):
    router, left, right = make_steered()
    assert "ready: 2 ports, 1 data core," in router.text
    assert roles(router) == ["control", "data", "worker", "worker"]
    pings(left, RIGHT_HOST, count=5)
    pings(right, LEFT_HOST, count=5)
    pings(left, LEFT_ROUTER)
    before = received(router)
    with Numbered(left, right) as flows:
        flows.run(4)
        assert flows.in_order(), flows.got
        assert flows.missing() == 0
        assert sum(flows.sent) > 10 * FLOWS
    counters = all_taken(router)
    assert "drop_steer_full" not in counters.drops()
    assert counters["steered"] == counters["steer_taken"] > 0
    assert counters["steer_refused"] == 0
    after = received(router)
    assert all(after[core] > before[core] for core in (1, 2, 3)), (before, after)


@CARDS
def test_worker_restarts(make_steered):
    """Its flows go on by way of the owner, then again by the worker: in order, and lost packets are counted."""
    router, left, right = make_steered()
    router.faults_expected = True
    pings(left, RIGHT_HOST)
    with Numbered(left, right) as flows:
        flows.run(1)
        for core in (2, 3):
            router.send("test fault ud core %d" % core)
            flows.run(2)
            router.expect(r"core %d: program restarted" % core, 20)
            eventually(lambda: "core %d: polls again" % core in router.text, 20, "it polls again")
            before = received(router)
            flows.run(2)
            after = received(router)
            assert after[core] > before[core]
        assert flows.in_order()
        counters = all_taken(router)
        lost = sum(counters.drops().values())
        assert flows.missing() <= lost, (flows.missing(), counters.drops())
    assert "ports restart" not in router.text
    assert counters["steered"] == counters["steer_taken"]
    pings(left, RIGHT_HOST, count=5)


@CARDS
def test_owner_restarts(make_steered):
    """All ports restart, because workers have its buffers; afterwards all is as before."""
    router, left, right = make_steered()
    router.faults_expected = True
    pings(left, RIGHT_HOST)
    router.send("test fault ud core 1")
    router.expect(r"core 1: program restarted", 20)
    router.wait_back()
    assert roles(router) == ["control", "data", "worker", "worker"]
    pings(left, RIGHT_HOST, count=5)
    with Numbered(left, right) as flows:
        flows.run(2)
        assert flows.in_order() and flows.missing() == 0
    counters = all_taken(router)
    assert counters["steered"] == counters["steer_taken"] > 0


@CARDS
def test_steering_off(make_steered):
    router, left, _ = make_steered(router_config(extra="receive-steering off\n"))
    assert roles(router) == ["control", "data", "stand-by", "stand-by"]
    pings(left, RIGHT_HOST, count=5)
    assert router.balanced()["steered"] == 0


@CARDS
def test_tcp_on_workers(make_steered):
    """A connection lives on the core that its flow is steered to. A worker's frames with several holders are
    copied, and come back whole."""
    router, left, _ = make_steered("interface eth0\n ip address %s/24\n" % LEFT_ROUTER, app="echo")
    assert roles(router) == ["control", "data", "worker", "worker"]
    data = bytes(random.Random(1).randbytes(200000))
    for n in range(12):
        with left.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
            s.settimeout(20)
            s.connect((LEFT_ROUTER, 7))
            sender = threading.Thread(target=s.sendall, args=(data,))
            sender.start()
            got = b""
            while len(got) < len(data):
                part = s.recv(65536)
                assert part, (n, len(got))
                got += part
            sender.join()
            assert got == data
    counters = all_taken(router)
    assert counters["tcp_accepts"] == 12
    assert counters["steered"] == counters["steer_taken"] > 100
    assert counters["steer_refused"] == 0


def test_worker_dies(make_steered):
    """The kernel gives a worker up. Its flows go by the owner from then on, and its buffers are the owner's."""
    router, left, right = make_steered()
    router.faults_expected = True
    pings(left, RIGHT_HOST)
    with Numbered(left, right) as flows:
        flows.run(0.5)
        break_for_good(router, 2)
        flows.run(1)
        at = [len(g) for g in flows.got]
        sent = list(flows.sent)
        flows.run(2)
        assert flows.in_order()
        assert [len(g) - n for g, n in zip(flows.got, at)] == [s - n for s, n in zip(flows.sent, sent)]
    assert roles(router) == ["control", "data", "data", "worker"]
    assert router.cores()[2]["state"] == "dead"
    counters = router.balanced()
    assert "ports restart" not in router.text
    assert counters["steer_refused"] == 0


def test_control_program_restarts(make_steered):
    """Packets are steered on while the control program is replaced, without losing one."""
    router, left, right = make_steered()
    router.faults_expected = True
    pings(left, RIGHT_HOST)
    with Numbered(left, right) as flows:
        flows.run(0.5)
        router.send("test fault ud core 0")
        flows.run(3)
        assert flows.in_order() and flows.missing() == 0
    router.expect(r"core 0: program restarted", 10)
    router.wait_prompt(20)
    assert roles(router) == ["control", "data", "worker", "worker"]
    counters = all_taken(router)
    assert counters["steered"] == counters["steer_taken"] > 0


def test_capture_has_each_frame_once(make_steered, tmp_path):
    """A worker's frames pass through two cores on their way out, and are captured on one."""
    router, left, right = make_steered(router_config(extra=CAPTURE))
    pings(left, RIGHT_HOST)
    router.skip()
    router.send("capture all udp count %d" % (20 * FLOWS))
    router.expect("waiting for a reader at TCP port 5555", 20)
    path = tmp_path / "all.pcapng"
    with open(path, "wb") as out:
        nc = left.popen(["nc", LEFT_ROUTER, "5555"], stdin=subprocess.DEVNULL, stdout=out)
        eventually(lambda: path.stat().st_size > 0, 20, "the head of the stream")
        with Numbered(left, right) as flows:
            for number in range(10):
                for n in range(FLOWS):
                    flows.out[n].sendto(struct.pack("!I", number), (RIGHT_HOST, PORT + n))
                    flows.sent[n] += 1
                while flows.missing() and flows.receive(1):
                    pass
            assert flows.missing() == 0
        nc.wait(30)
    packets = [p for p in PcapNgReader(str(path)) if UDP in p and p[UDP].dport >= PORT]
    assert router.balanced()["steered"] > 0
    for ttl in 64, 63:
        seen = [(p[UDP].dport - PORT, bytes(p[UDP].payload)[:4]) for p in packets if p[IP].ttl == ttl]
        assert len(seen) == len(set(seen)) == 10 * FLOWS


def test_off_and_on_by_commits(make_steered):
    """Each commit restarts the ports; the kernel takes the lent buffers back, and lends them again. With test=1
    it checks the page tables each time."""
    router, left, right = make_steered()
    for word, role in (("off", "stand-by"), ("on", "worker")):
        router.command("configure")
        router.command("receive-steering " + word)
        router.skip()
        router.send("commit")
        router.expect("committed", 10)
        router.wait_up()
        router.command("end")
        assert roles(router) == ["control", "data", role, role]
        pings(left, RIGHT_HOST)  # so that no first packet waits for a neighbour
        before = router.counters()["steered"]
        with Numbered(left, right) as flows:
            flows.run(1)
            assert flows.in_order() and flows.missing() == 0
        assert (router.balanced()["steered"] > before) == (word == "on")
