"""`capture` of the console (control/monitor/capture.c): the stream of the TCP connection is read here by a
pcapng reader written from draft-ietf-opsawg-pcapng, and once by tshark."""
import collections
import itertools
import re
import struct
import subprocess

import pytest
from ip6 import *
from scapy.layers.inet import TCP
from test_http import Client
from test_remote import HASH, Session, make_known
from test_tcp import Peer

# neighbours stay known during a test
CAPTURE = "capture server\ncapture access 192.0.2.0/24\n" + CONFIG.replace("arp timeout 60\n", "")
IN, OUT = 1, 2
RING = 1 << 18

Packet = collections.namedtuple("Packet", "port way data length ns dropped")
Statistics = collections.namedtuple("Statistics", "port received dropped delivered")


def options(data):
    """{code: value} (section 3.5)."""
    found, at = {}, 0
    while at < len(data):
        code, length = struct.unpack_from("<HH", data, at)
        found[code] = data[at + 4:at + 4 + length]
        at += 4 + -(-length // 4) * 4
        if code == 0:
            break
    assert at == len(data)
    return found


class Stream:
    """The blocks of a stream, all of them complete."""

    def __init__(self, data):
        self.ports, self.packets, self.statistics, self.snaplen = [], [], [], []
        at = 0
        while at < len(data):
            kind, length = struct.unpack_from("<II", data, at)
            assert length % 4 == 0 and struct.unpack_from("<I", data, at + length - 4)[0] == length
            self.block(at, kind, data[at + 8:at + length - 4])
            at += length
        assert at == len(data)

    def block(self, at, kind, body):
        assert (kind == 0x0a0d0d0a) == (at == 0)
        if kind == 0x0a0d0d0a:
            assert struct.unpack_from("<IHHq", body) == (0x1a2b3c4d, 1, 0, -1)
        elif kind == 1:
            link, _, snaplen = struct.unpack_from("<HHI", body)
            more = options(body[8:])
            assert link == 1 and more[9] == b"\x09" and not self.packets
            self.ports.append(more[2].decode())
            self.snaplen.append(snaplen)
        elif kind == 6:
            port, high, low, kept, length = struct.unpack_from("<IIIII", body)
            more = options(body[20 + -(-kept // 4) * 4:])
            dropped = struct.unpack("<Q", more[4])[0] if 4 in more else 0
            self.packets.append(Packet(self.ports[port], struct.unpack("<I", more[2])[0] & 3,
                                       body[20:20 + kept], length, high << 32 | low, dropped))
        else:
            assert kind == 5
            more = options(body[12:])
            numbers = [struct.unpack("<Q", more[code])[0] for code in (4, 5, 8)]
            port = struct.unpack_from("<I", body)[0]
            self.statistics.append(Statistics(self.ports[port], *numbers))

    def frames(self):
        return [p.data for p in self.packets]


sports = itertools.count(40000)


class Reader(Client):
    def __init__(self, m, src=A):
        super().__init__(m, dport=5555, src=src, sport=next(sports))

    read = Session.read  # frames for others stay on the wire

    def hear(self):
        """All available data, as a stream."""
        before = None
        while before != len(self.got):
            before = len(self.got)
            self.m.time(3 * MS)
            self.read()
        return Stream(self.got)


def route(m, size=32):
    """A datagram from A to B; the machine's segments to its reader stay on the wire meanwhile."""
    m.send(0, ether(A, ROUTER[0]) / udp(A, B, size=size))
    m.expect(1, ether(ROUTER[1], B) / hop(udp(A, B, size=size)))


def begin(m, line):
    m.text = ""
    m.key("capture " + line + "\r")
    assert "waiting for a reader at TCP port 5555" in m.text and not m.text.endswith("r1# ")
    return m


@pytest.fixture
def c(make):
    machine = make(CAPTURE)
    machine.learn(A, A2, B)
    return machine


def ended(m, why, frames, given, lost=0):
    assert m.text.endswith("%s: %d frames, %d given to the reader, no room for %d\r\nr1# " % (
        why, frames, given, lost)), m.text


def test_what_comes_and_goes(c):
    """Bytes, ports, directions, lengths and order, of forwarded packets and of our own."""
    reader = Reader(begin(c, "eth1"))
    sent = ether(A, ROUTER[0]) / udp(A, B, size=700)
    c.send(0, sent)
    forwarded = c.take(1).frame
    c.time(SECOND)
    c.send(1, ether(B, ROUTER[1]) / IP(src=B.ip, dst=ROUTER[1].ip) / ICMP(id=1, seq=1))
    answer = c.take(1).frame
    stream = reader.hear()
    assert stream.ports == ["eth1"] and stream.snaplen == [9344]
    assert [(p.way, p.length) for p in stream.packets] == [(OUT, 742), (IN, 60), (OUT, len(answer))]
    assert stream.frames()[0] == forwarded and stream.frames()[2] == answer
    assert Ether(stream.frames()[1])[ICMP].type == 8
    assert stream.packets[1].ns - stream.packets[0].ns == SECOND
    assert all(p.dropped == 0 for p in stream.packets) and not stream.statistics
    c.key("\x03")
    ended(c, "ended", 3, 3)
    stream = reader.hear()
    assert reader.ended is True
    assert stream.statistics == [("eth1", 3, 0, 3)]


def test_all_ports(c):
    """A forwarded packet appears twice: in at one port, out at the other."""
    reader = Reader(begin(c, "all udp"))
    route(c)
    stream = reader.hear()
    assert stream.ports == ["eth0", "eth1"]
    assert [(p.port, p.way) for p in stream.packets] == [("eth0", IN), ("eth1", OUT)]
    assert Ether(stream.frames()[0]).ttl == Ether(stream.frames()[1]).ttl + 1
    assert stream.packets[0].ns <= stream.packets[1].ns


@pytest.mark.parametrize("way,want", [("in", IN), ("out", OUT)])
def test_one_way(c, way, want):
    reader = Reader(begin(c, "eth1 %s" % way))
    c.send(1, ether(B, ROUTER[1]) / IP(src=B.ip, dst=ROUTER[1].ip) / ICMP(id=1, seq=1))
    c.take(1)
    assert [p.way for p in reader.hear().packets] == [want]


def test_its_own_segments_are_left_out(c):
    """Otherwise each segment would cause another; others' segments to the port are captured."""
    reader = Reader(begin(c, "eth0"))
    c.send(0, ether(A2, ROUTER[0]) / IP(src=A2.ip, dst=ROUTER[0].ip) / ICMP(id=1, seq=1))
    c.take_all(0)
    for _ in range(5):
        assert len(reader.hear().packets) in (0, 2)


@pytest.mark.parametrize("words,want", [
    ("", 9), ("udp", 3), ("tcp", 1), ("icmp", 2), ("arp", 1), ("ip6", 2), ("ip", 6), ("icmp6", 1),
    ("vlan", 1), ("vlan 7", 1), ("vlan 8", 0), ("proto 6", 1), ("host 192.0.2.2", 5),
    ("src host 192.0.2.2", 3), ("dst host 192.0.2.2", 2), ("net 198.51.100.0/24", 3),
    ("net 2001:db8::/32", 2), ("port 2048", 3), ("src port 2048", 0), ("dst port 2048", 3),
    ("udp and port 53", 1), ("udp port 2048", 3), ("not ip", 3), ("tcp or icmp", 3),
    ("icmp or tcp and dst port 80", 1), ("tcp and port 80 or icmp", 3), ("not udp not tcp", 5),
    ("net 0.0.0.0/0", 7), ("net ::/0", 2)])
def test_filter(make, words, want):
    m = make(CAPTURE + " ipv6 address 2001:db8:2::1/64\n")
    m.learn(A, B)
    reader = Reader(begin(m, "eth1 in " + words))
    to = ether(B, ROUTER[1])
    frames = [to / udp(B, "8.8.8.8"), to / udp(A.ip, "203.0.113.9"),
              to / IP(src=A.ip, dst="8.8.8.8") / ICMP(), to / IP(src=B.ip, dst=A.ip) / ICMP(),
              to / IP(src=B.ip, dst=A.ip) / TCP(dport=80),
              Ether(src=B.mac, dst=ROUTER[1].mac, type=0x8100) / Raw(b"\x00\x07\x08\x00" + bytes(
                  IP(src=A.ip, dst="8.8.8.9"))),
              to / IPv6(src="2001:db8:2::2", dst="2001:db8::9") / ICMPv6EchoRequest(),
              to / IPv6(src="2001:db8:2::2", dst="2001:db8::9") / UDP(dport=2048),
              to / ARP(psrc="10.0.0.1", pdst="10.0.0.2")]
    for frame in frames:
        m.send(1, frame)
    assert len(reader.hear().packets) == want
    m.take_all(0), m.take_all(1)


def test_snaplen_and_count(c):
    """The capture ends by itself; frames are truncated, and their lengths are reported."""
    reader = Reader(begin(c, "eth0 in snaplen 60 udp count 3"))
    for size in (10, 400, 500, 600):
        c.send(0, ether(A, ROUTER[0]) / udp(A, B, size=size))
    c.take_all(1)
    stream = reader.hear()
    assert reader.ended is True
    assert [(len(p.data), p.length) for p in stream.packets] == [(60, 60), (60, 442), (60, 542)]
    assert stream.snaplen == [60] and len(stream.statistics) == 1
    reader.send("FA")
    c.take_all(0)
    assert "r1# " in c.text and "ended: " in c.text


def test_what_finds_no_room_is_counted(c):
    """The capture does not delay traffic: all of it is forwarded, and the stream reports what it
    lacks."""
    reader = Reader(begin(c, "eth0 in udp"))
    full = ether(A, ROUTER[0]) / udp(A, B, size=1400)
    for _ in range(3):
        c.send(0, *[full] * 256)
    assert len(c.take_all(1)) == 768
    stream = reader.hear()
    kept = len(stream.packets)
    assert RING // 1500 < kept < 768
    c.send(0, full)
    c.take(1)
    stream = reader.hear()
    assert len(stream.packets) == kept + 1
    assert sum(p.dropped for p in stream.packets) == 768 - kept
    c.key("\x03")
    assert reader.hear().statistics[0][2:] == (768 - kept, kept + 1)
    ended(c, "ended", 769, kept + 1, 768 - kept)


def test_more_than_the_store_holds(make):
    """10 MB in blocks of many lengths, which cross the end of the store (8 MiB): each frame is there once, in
    order, with its bytes. The card segments, so TCP sends from the store without a copy."""
    c = make(CAPTURE, cuts=True)
    c.learn(A, B)
    reader = Reader(begin(c, "eth0 in udp"))
    reader.hear()
    head, number, total = reader.got, 0, 0
    while total < 10 << 20:
        frames = [bytes(ether(A, ROUTER[0]) / IP(src=A.ip, dst=B.ip) / UDP(sport=1, dport=2) /
                        Raw(struct.pack("<I", n) * 300 + bytes(n % 31))) for n in range(number, number + 100)]
        c.send(0, *frames)
        assert len(c.take_all(1)) == 100
        reader.got = head
        assert reader.hear().frames() == frames
        total += len(reader.got) - len(head)
        number += 100
    c.key("\x03")
    reader.got = head
    assert reader.hear().statistics[0][2:] == (0, number)
    ended(c, "ended", number, number)


def test_a_reader_that_never_reads(c):
    """It occupies only the ring and the store, and is disconnected after a minute."""
    reader = Reader(begin(c, "eth1 out"))
    for _ in range(40):
        c.send(0, *[ether(A, ROUTER[0]) / udp(A, B, size=1400)] * 100)
        assert len(c.take_all(1)) == 100
    for _ in range(65):
        c.outs[0].clear()
        reader.send("A", window=0)
        c.time(SECOND)
    c.outs[0].clear()
    assert re.search(r"the reader takes nothing: 4000 frames, \d+ given to the reader, "
                     r"no room for \d+\r\nr1# $", c.text)
    assert Reader(begin(c, "eth1")).hear().ports == ["eth1"]


def test_nothing_to_read(c):
    """A reader is not considered slow while there is no data for it."""
    reader = Reader(begin(c, "eth1 udp"))
    reader.hear()
    c.time(300 * SECOND)
    c.learn(A, B)
    route(c)
    assert len(reader.hear().packets) == 1


def test_frames_in_pieces(make):
    """TCP's segments: in several buffers, and longer than a frame if the card segments."""
    m = make(CAPTURE, cuts=True)
    m.learn(A, B)
    reader = Reader(begin(m, "eth1 out"))
    head = bytes(ether(ROUTER[1], B) / IP(src=ROUTER[1].ip, dst=B.ip) / TCP(sport=1, dport=2))
    for size, pieces in ((100, 3), (1400, 7), (15000, 12)):
        frame = head + bytes(i * 7 & 255 for i in range(size))
        m.command("own tx 1 %s %d %s" % (frame.hex(), pieces,
                                         "tso 34 16 1460 54" if size > 1460 else ""))
        m.take(1)
        packet = reader.hear().packets[-1]
        assert (packet.data, packet.length) == (frame[:9344], len(frame))


def test_a_reader_that_goes_away(c):
    reader = Reader(begin(c, "eth1"))
    reader.hear()
    reader.send("RA")
    ended(c, "the reader is gone", 0, 0)
    route(c)
    assert Reader(begin(c, "eth1")).hear().packets == []


def test_a_reader_that_closes_its_half_reads_on(c):
    """Like nc when its input ends."""
    reader = Reader(begin(c, "eth1"))
    reader.send("FA")
    reader.hear()
    route(c)
    assert len(reader.hear().packets) == 1


def refused(m, src=A):
    """A connection that is reset once it is established."""
    peer = Peer(m, dport=5555, src=src, sport=next(sports)).open()
    assert "R" in str(peer.take().flags)


def test_who_may_read(make):
    """No client while no capture waits, only one reader, and only clients on the access list."""
    m = make(CAPTURE)
    m.learn(A, A2, B)
    refused(m)
    begin(m, "eth1")
    refused(m, src=B)
    reader = Reader(m)
    reader.hear()
    refused(m, src=A2)
    route(m)
    assert "R" not in str(reader.ended) and len([
        p for p in reader.hear().packets if IP(p.data[14:]).proto == 17]) == 1


def test_interrupted_without_reader(c):
    begin(c, "eth0")
    c.key("\x03")
    ended(c, "no reader came", 0, 0)


def test_ports_restart(c):
    Reader(begin(c, "eth1")).hear()
    c.command("restart")
    assert "the ports restart: 0 frames" in c.text and c.text.endswith("r1# ")
    c.time(3 * SECOND)
    c.take_all(0), c.take_all(1)


@pytest.mark.parametrize("line,said", [
    ("eth7", "there is no port eth7"), ("nonsense", "there is no port nonsense"),
    ("eth0 snaplen 0", "snaplen takes a number"), ("eth0 udp count", "count takes a number"),
    ("eth0 hots 1.2.3.4", 'expected a filter term, at "hots"'),
    ("eth0 udp and", "expected a filter term, at the end"),
    ("eth0 host 1.2.3", "host takes an address"),
    ("eth0 src udp", "host, net or port has to follow"), ("eth0 port http", "a port is a number"),
    ("eth0 net 1.2.3.4", "net takes a prefix"),
    ("eth0 not vlan 4095", "a VLAN is a number from 0 to 4094"),
    ("eth0 ip ip ip ip ip ip ip ip ip", "too many terms; at most 8")])
def test_errors(c, line, said):
    assert said in c.console("capture " + line)


def test_no_server(m):
    assert 'needs the lines "capture server"' in m.console("capture eth0")


def test_one_at_a_time(make):
    m = make_known(make, "console server\nconsole access 192.0.2.0/24\n" + HASH + "\n" + CAPTURE)
    session = Session(m, src=A2).login()
    begin(m, "eth1")
    assert "there is one at a time" in session.run(b"capture eth0")
    m.key("\x03")
    session.type(b"capture eth1\r\n")
    reader = Reader(m)
    route(m)
    assert len(reader.hear().packets) == 1
    session.type(b"\x03")
    assert "ended: 1 frames" in session.said
    reader.hear()


def test_beside_a_trace(make):
    """A trace and a capture of frames at one port; each continues when the other ends."""
    m = make_known(make, "console server\nconsole access 192.0.2.0/24\n" + HASH + "\n" + CAPTURE)
    session = Session(m, src=A2, sport=39999).login()  # not the reader's address
    session.type(b"capture eth1 in\r\n")
    reader = Reader(m)

    def captured():
        """The number of captured frames, after another one was received by eth1 and forwarded."""
        m.send(1, ether(B, ROUTER[1]) / udp(B, A))
        packets = reader.hear().packets
        m.expect(0, ether(ROUTER[0], A) / hop(udp(B, A)))
        return len(packets)

    assert captured() == 1
    m.key("trace 1 on eth1 udp\r")
    assert captured() == 2 and m.text.count("done: 1 of 1 packets followed") == 1
    assert captured() == 3
    m.key("trace 1 on eth1 udp\r")
    session.type(b"\x03")
    assert "ended: 3 frames" in session.said
    assert captured() == 3 and m.text.count("done: 1 of 1 packets followed") == 2


def test_tshark_reads_it(c, tmp_path):
    """Two programs written by others read the stream without error, and find the right frames."""
    reader = Reader(begin(c, "all count 4"))
    for _ in range(2):
        route(c, 333)
    reader.hear()
    path = tmp_path / "capture.pcapng"
    path.write_bytes(reader.got)
    said = subprocess.run(["tshark", "-n", "-r", str(path), "-T", "fields", "-e",
                           "frame.interface_name", "-e", "frame.packet_flags_direction", "-e",
                           "udp.dstport", "-e", "frame.len"], capture_output=True, text=True,
                          check=True)
    assert [line.split() for line in said.stdout.splitlines()] == [
        ["eth0", "0x00000001", "2048", "375"], ["eth1", "0x00000002", "2048", "375"]] * 2
    said = subprocess.run(["capinfos", "-M", str(path)], capture_output=True, text=True, check=True)
    assert "Number of packets:   4" in said.stdout and said.stderr == ""
