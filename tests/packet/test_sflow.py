"""sFlow v5: samples of received packets, counter samples, the statements. The parser below is written from the specification
(sflow.org, sflow_version_5.txt). tests/unit/net/test_sflow.c has the bytes; test_telling.py has sfcapd judge them."""
import struct

import pytest
from machine import *

BASE = CONFIG.replace("arp timeout 60\n", "")
COLLECTOR = "sflow collector 192.0.2.3\nsflow polling-interval 3600\n"
MISSING = 0xffffffff


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def u32(self):
        self.at += 4
        assert self.at <= len(self.data)
        return struct.unpack_from(">I", self.data, self.at - 4)[0]

    def u64(self):
        return self.u32() << 32 | self.u32()

    def opaque(self, n):
        self.at += (n + 3) & ~3
        assert self.at <= len(self.data)
        return self.data[self.at - ((n + 3) & ~3):][:n]

    def part(self):
        """(format, its data)"""
        kind = self.u32()
        return kind, Reader(self.opaque(self.u32()))


def flow_sample(r):
    names = ("sequence", "source", "rate", "pool", "drops", "input", "output")
    sample = {name: r.u32() for name in names}
    assert r.u32() == 1
    kind, record = r.part()
    assert kind == 1 and r.at == len(r.data)
    assert record.u32() == 1  # Ethernet
    sample["length"] = record.u32()
    assert record.u32() == 4  # the FCS is not in the head
    sample["head"] = record.opaque(record.u32())
    assert record.at == len(record.data)
    return sample


def counter_sample(r):
    sample = {"sequence": r.u32(), "source": r.u32()}
    assert r.u32() == 2
    kind, c = r.part()
    assert kind == 1 and len(c.data) == 88
    sample.update(index=c.u32(), type=c.u32(), speed=c.u64(), direction=c.u32(), status=c.u32(), in_octets=c.u64())
    sample["in"] = [c.u32() for _ in range(6)]
    sample["out_octets"] = c.u64()
    sample["out"] = [c.u32() for _ in range(5)]
    sample["promiscuous"] = c.u32()
    kind, e = r.part()
    assert kind == 2 and len(e.data) == 52 and r.at == len(r.data)
    sample["ethernet"] = [e.u32() for _ in range(13)]
    return sample


def told(m, port=0, agent="192.0.2.1"):
    """(flow samples, counter samples) of the datagrams that left by the port. Takes all frames of that port."""
    flows, counters = [], []
    for frame in m.take_all(port):
        packet = Ether(frame)
        if UDP not in packet or packet[UDP].dport != 6343:
            continue
        data = bytes(packet[UDP].payload)
        assert len(data) <= 1400 and packet[IP].dst == "192.0.2.3"
        r = Reader(data)
        assert (r.u32(), r.u32(), socket.inet_ntoa(r.opaque(4)), r.u32()) == (5, 1, agent, 0)
        sequence, _ = r.u32(), r.u32()
        told.sequences.append(sequence)
        for _ in range(r.u32()):
            kind, sample = r.part()
            (flows if kind == 1 else counters).append(flow_sample(sample) if kind == 1 else counter_sample(sample))
        assert r.at == len(data)
    return flows, counters


@pytest.fixture(autouse=True)
def fresh():
    told.sequences = []


def start(make, more, **options):
    """A machine whose collector, A2, and whose hosts A and B are known."""
    m = make(BASE + COLLECTOR + more, **options)
    m.learn(A, A2, B)
    m.take_all(0)
    return m


def test_every_packet(make):
    """At a rate of 1 each packet is a sample, with its head, length, interfaces and pool."""
    m = start(make, "sflow sampling-rate 1\n")
    for line in ("configure", "interface eth1", "sflow enable", "commit", "end"):
        m.console(line)
    sent = []
    for n in range(20):
        frame = padded(ether(B, ROUTER[1]) / udp(B, A, size=8 + 20 * n))
        sent.append(frame)
        m.queue(1, frame)
    m.command("run")
    m.time(SECOND)
    flows, counters = told(m)
    assert not counters
    assert [f["head"] for f in flows] == [frame[:128] for frame in sent]
    assert [f["length"] for f in flows] == [len(frame) + 4 for frame in sent]
    assert [f["sequence"] for f in flows] == list(range(1, 21))
    assert {(f["source"], f["rate"], f["pool"], f["drops"], f["input"], f["output"]) for f in flows} == {(2, 1, 20, 0, 2, 1)}
    assert told.sequences == list(range(1, len(told.sequences) + 1)) and len(told.sequences) > 1
    assert "samples 20, lost 0, counters 0, datagrams %d, unsent 0\n" % len(told.sequences) in m.console("show sflow")
    m.take_all(1)


def test_outputs(make):
    """To the machine itself; without a route; not for the machine; of the other port no sample; to an IPv6 group or on the
    link, which no router forwards."""
    m = start(make, "sflow sampling-rate 1\n")
    for line in ("configure", "interface eth1", "sflow enable", "commit", "end"):
        m.console(line)
    m.send(1, ether(B, ROUTER[1]) / udp(B, "198.51.100.1"))
    m.send(1, ether(B, ROUTER[1]) / udp(B, "203.0.113.7"))
    m.send(1, Ether(src=B.mac, dst=BROADCAST) / udp(B, "198.51.100.255"))
    m.send(0, ether(A, ROUTER[0]) / udp(A, B))
    for dst in "ff02::1", "fe80::9":
        m.send(1, ether(B, ROUTER[1]) / IPv6(src="fe80::2", dst=dst) / UDP(dport=9))
    m.time(SECOND)
    flows, _ = told(m)
    assert [f["output"] for f in flows] == [0x3fffffff, 1 << 30, 0, 0, 0]
    m.take_all(1)


def test_rate(make):
    """One of 8 packets on average, in vectors of any size; the pool counts all."""
    m = start(make, "sflow sampling-rate 8\n")
    for line in ("configure", "interface eth0", "sflow enable", "commit", "end"):
        m.console(line)
    packet, count = bytes(ether(A, ROUTER[0]) / udp(A, B)), 0
    flows = []
    for n in range(200):
        for _ in range(1 + n % 29):
            m.queue(0, packet)
            count += 1
        m.command("run")
        m.time(SECOND)
        flows += told(m)[0]
        m.take_all(1)
    assert flows[-1]["pool"] <= count and flows[-1]["pool"] > count - 100
    gap = count / 8
    assert abs(len(flows) - gap) < 5 * gap ** .5, (len(flows), count)
    assert all(f["rate"] == 8 and f["drops"] == 0 for f in flows)


def test_too_many(make):
    """Samples that the control core cannot read in time are lost, and counted as drops."""
    m = start(make, "sflow sampling-rate 1\n")
    for line in ("configure", "interface eth0", "sflow enable", "commit", "end"):
        m.console(line)
    for _ in range(200):
        m.queue(0, bytes(ether(A, ROUTER[0]) / udp(A, B)))
    m.command("run")
    m.time(SECOND)
    flows, _ = told(m)
    assert 0 < len(flows) < 200 and len(flows) + flows[-1]["drops"] == 200
    assert flows[-1]["pool"] == 200
    m.take_all(1)


def test_counters(make):
    m = start(make, "")
    for line in ("configure", "sflow polling-interval 10", "interface eth1", "sflow enable", "commit", "end"):
        m.console(line)
    m.send(1, *[ether(B, ROUTER[1]) / udp(B, A) for _ in range(5)])
    before = m.console("show interfaces")
    m.time(25 * SECOND)
    flows, counters = told(m)
    assert not flows and [c["sequence"] for c in counters] == [1, 2]
    c = counters[-1]
    assert (c["source"], c["index"], c["type"], c["direction"], c["status"], c["promiscuous"]) == (2, 2, 6, 1, 3, 0)
    eth1 = before[before.index("eth1 "):]
    assert "rx_pkts %d\n" % c["in"][0] in eth1 and "rx_bytes %d\n" % c["in_octets"] in eth1
    assert c["in"][1:3] == [MISSING, MISSING] and c["in"][3:] == [0, 0, MISSING]
    assert c["ethernet"][:2] == [MISSING, 0] and c["ethernet"][2:8] == [MISSING] * 6
    m.take_all(1)


def test_off(make):
    """Nothing is sampled without a collector, or without a port."""
    for text in ("sflow sampling-rate 1\n", COLLECTOR):
        m = make(BASE + text)
        m.learn(A, A2, B)
        m.route(udp(A, B))
        m.time(10 * SECOND)
        assert told(m) == ([], [])
        assert m.console("show sflow").startswith("sflow is off: ")


def test_what_waited_when_it_ended(make):
    """A sample waits for others for half a second. One that still waits when sampling ends is not sent later."""
    m = start(make, "sflow sampling-rate 1\n")
    for line in ("configure", "interface eth1", "sflow enable", "commit"):
        m.console(line)
    m.send(1, padded(ether(B, ROUTER[1]) / udp(B, A, size=20)))
    m.take_all(0)
    for line in ("exit", "no sflow collector 192.0.2.3", "commit"):
        m.console(line)
    m.time(10 * SECOND)
    for line in ("sflow collector 192.0.2.3", "commit", "end"):
        m.console(line)
    m.time(SECOND)
    assert "samples 1," in m.console("show sflow")
    assert told(m) == ([], [])
