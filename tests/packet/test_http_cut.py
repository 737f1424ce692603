"""Answers of the control core where the ports' devices segment (NIC_TSO): in packets that a device cuts, and in
segments that the control core cuts itself where no device can."""
import json

import pytest
from ip6 import *
from prometheus_client.parser import text_string_to_metric_families
from scapy.layers.inet import TCP
from test_http import Client
from test_vlan import C, CONFIG_VLAN, learn6_tagged, learn_tagged

MSS = {False: 536, True: 1220}  # without the option (RFC 9293 3.7.1)


class Reader(Client):
    """A client at a station, behind a tag or not, over either family. mss: that it announces; None: none. seen:
    (payload bytes, what the device is to cut, flags) of each segment with data."""

    def __init__(self, m, station, six=False, mss=None, **options):
        self.six, self.vid, self.seen = six, getattr(station, "vid", None), []
        self.announced, self.mss = mss, mss or MSS[six]
        super().__init__(m, src=station, router=getattr(station, "router", None), **options)

    def segment(self, flags, data=b"", **fields):
        values = dict(sport=self.sport, dport=self.dport, seq=self.seq, ack=self.ack, flags=flags, window=65535)
        if "S" in flags and self.announced:
            values["options"] = [("MSS", self.announced)]
        values.update(fields)
        ip = IPv6(src=self.src.ip6, dst=self.router.ip6) if self.six else IP(src=self.src.ip, dst=self.router.ip)
        frame = ether(self.src, self.router) / ip / TCP(**values) / Raw(data)
        return self.src.tagged(padded(frame)) if self.vid else frame

    def take(self, flags=None):
        out = self.m.take(self.src.port)
        raw = bytes(out.frame)
        assert raw[:12] == bytes(ether(self.router, self.src))[:12]
        if self.vid:
            assert raw[12:16] == b"\x81\x00" + self.vid.to_bytes(2, "big") and not out.partial
            raw = raw[:12] + raw[16:]
        packet = (IPv6 if self.six else IP)(raw[14:])
        if not self.six:
            packet = IP(raw[14:14 + packet.len])
        sum_ = packet[TCP].chksum
        head = len(packet) - len(packet[TCP])
        again = packet.copy()
        del again[TCP].chksum
        if not self.six:
            del again.chksum
        again = type(again)(bytes(again))
        assert self.six or again.chksum == packet.chksum
        if out.partial:
            assert out.partial == (14 + head, 16)
            assert out.cut is None or out.cut == ("tso", self.mss, 14 + head + 4 * packet[TCP].dataofs)
        else:
            assert out.cut is None and again[TCP].chksum == sum_
        payload = bytes(packet[TCP].payload)
        if payload:
            self.seen.append((len(payload), out.cut, str(packet[TCP].flags)))
        assert flags is None or str(packet[TCP].flags) == flags
        return packet[TCP]


def boot(make, config):
    machine = make(config + "http server\nhttp access 0.0.0.0/0\nhttp access ::/0\n", cuts=True)
    machine.learn(A, B)
    learn6(machine, A, B)
    learn_tagged(machine, C)
    learn6_tagged(machine, C)
    machine.counted()
    return machine


@pytest.fixture
def m(make):
    return boot(make, CONFIG_VLAN)


def metrics(text):
    return {(s.name, tuple(sorted(s.labels.items()))): s.value
            for f in text_string_to_metric_families(text) for s in f.samples}


@pytest.mark.parametrize("six", (False, True), ids=("IPv4", "IPv6"))
def test_a_device_cuts(m, six):
    c, before = Reader(m, A, six), m.counters()["injected"]
    status, fields, content = c.get("/metrics", host="[%s]" % ROUTER[0].ip6 if six else ROUTER[0].ip)
    assert status == 200 and int(fields["Content-Length"]) == len(content)
    assert metrics(content.decode())["hayate_http_connections", ()] == 1
    cut = [size for size, how, _ in c.seen if how]
    assert len(cut) >= 2 and sum(cut) > 0.9 * len(content) and len(c.seen) < len(content) / MSS[six] / 4
    assert m.counters()["injected"] - before <= len(c.seen) + 5  # and some without data
    assert c.get("/healthz", host="[%s]" % ROUTER[0].ip6 if six else ROUTER[0].ip)[0] == 200


@pytest.mark.parametrize("six", (False, True), ids=("IPv4", "IPv6"))
def test_a_device_cuts_what_just_fits(make, six):
    """Segments as long as the link's MTU."""
    m = boot(make, CONFIG_VLAN.replace("interface eth0\n", "interface eth0\n mtu 1300\n"))
    c = Reader(m, A, six, 1240 if six else 1260)
    status, _, content = c.get("/metrics", host="[%s]" % ROUTER[0].ip6 if six else ROUTER[0].ip)
    assert status == 200
    assert sum(size for size, how, _ in c.seen if how) > 0.9 * len(content)


@pytest.mark.parametrize("six", (False, True), ids=("IPv4", "IPv6"))
def test_no_device_cuts_a_tag(m, six):
    """Segments on a VLAN are the control core's, with all their fields."""
    c = Reader(m, C, six)
    status, fields, content = c.get("/metrics", host="[%s]" % C.router.ip6 if six else C.router.ip)
    assert status == 200 and int(fields["Content-Length"]) == len(content)
    assert len(metrics(content.decode())) > 500
    assert not any(how for _, how, _ in c.seen)
    sizes = [size for size, _, _ in c.seen]
    assert max(sizes) == MSS[six] and len(sizes) <= len(content) / MSS[six] + 5
    # the first window was sent in runs: PSH is on the last segment of each at most
    assert sum("P" in flags for _, _, flags in c.seen) < len(sizes) / 3


def test_the_same_bytes_either_way(m):
    """A text that does not change, cut by the device and by us."""
    def ports(c, host):
        return c.get("/api/v1/hardware.json", host=host)[2], c.get("/", host=host)[2]

    first, second = ports(Reader(m, A), ROUTER[0].ip), ports(Reader(m, C), C.router.ip)
    assert first[1] == second[1] and len(first[1]) > 10000
    assert json.loads(first[0])["pci"] == json.loads(second[0])["pci"]


def test_unknown_neighbour(m):
    """A neighbour that is forgotten in the middle: smaller frames wait until ARP has found it again."""
    c = Reader(m, A)
    c.send("PA", b"GET /metrics HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n")
    m.take_all(0)
    m.console("clear arp")
    c.send("A", ack=c.ack)  # nothing new
    m.time(SECOND)
    asked = [frame for frame in m.take_all(0) if frame[12:14] == b"\x08\x06"]
    assert asked, "it asks for the neighbour"
    m.send(0, padded(arp_reply(A, ROUTER[0])))
    c.read()
    m.time(2 * SECOND)
    c.read()
    assert c.answer()[0] == 200
