"""The echo application over TCP: reception, transmission, time, memory, console. tests/unit and
tests/drill test TCP itself with net/tcp alone; this file tests a machine with cards and a clock."""
import struct

import pytest
from machine import *
from scapy.layers.inet import TCP, ICMP

ECHO = CONFIG + "application echo\n"
ALL = ECHO + "service echo tcp\nservice discard tcp\nservice chargen tcp\n"
WINDOW = 65535
HOST_VECTOR = 8  # packets that a host takes at a time (dataplane/host.h)


def ones_sum(data):
    """The sum of the checksum before it is inverted."""
    return checksum(data) ^ 0xffff


class Peer:
    """The other end of a connection: what a test sends and expects."""

    def __init__(self, m, dport=7, src=A, sport=40000, router=None):
        self.m, self.src, self.sport, self.dport = m, src, sport, dport
        self.router = router or ROUTER[src.port]
        self.seq, self.ack = 1000, 0

    def segment(self, flags, data=b"", **fields):
        values = dict(sport=self.sport, dport=self.dport, seq=self.seq, ack=self.ack, flags=flags,
                      window=WINDOW)
        values.update(fields)
        return ether(self.src, self.router) / IP(src=self.src.ip, dst=self.router.ip, id=1) / \
            TCP(**values) / Raw(data)

    def send(self, flags, data=b"", **fields):
        self.m.send(self.src.port, self.segment(flags, data, **fields))
        self.seq += len(data) + ("S" in flags) + ("F" in flags)

    def take(self, flags=None):
        """The next segment, with all its checksums verified."""
        out = self.m.take(self.src.port)
        frame = bytearray(out.frame)
        ip = IP(bytes(frame[14:]))
        end = 14 + ip.len
        pseudo = bytes(frame[26:34]) + struct.pack("!BBH", 0, 6, ip.len - 20)
        if out.partial:
            start, offset = out.partial
            assert (start, offset) == (34, 16), out.partial
            assert struct.unpack_from("!H", frame, start + offset)[0] == ones_sum(pseudo)
            frame[50:52] = checksum(bytes(frame[start:end])).to_bytes(2, "big")
        assert checksum(bytes(frame[14:34])) == 0, "IP checksum"
        assert checksum(pseudo + bytes(frame[34:end])) == 0, "TCP checksum"
        assert bytes(frame[:12]) == bytes(ether(self.router, self.src))[:12]
        assert (ip.src, ip.dst, ip.ttl) == (self.router.ip, self.src.ip, 64)
        segment = IP(bytes(frame[14:end]))[TCP]
        assert (segment.sport, segment.dport) == (self.dport, self.sport)
        if flags is not None:
            assert str(segment.flags) == flags, segment.summary()
        return segment

    def open(self):
        self.send("S")
        answer = self.take("SA")
        assert answer.ack == self.seq
        self.ack = answer.seq + 1
        self.send("A")
        return self

    def receive(self):
        """Receives all available data, in order, and acknowledges it."""
        data = b""
        while self.m.outs[self.src.port]:
            segment = self.take()
            assert segment.seq == self.ack
            self.ack += len(bytes(segment.payload)) + ("F" in str(segment.flags))
            data += bytes(segment.payload)
        return data


@pytest.fixture
def e(make):
    machine = make(ALL)
    machine.learn(A, B)
    return machine


def test_a_whole_life(e):
    """RFC 9293 figures 6 and 12, with an echo in between."""
    p = Peer(e).open()
    p.send("PA", b"hello")
    assert p.receive() == b"hello"
    p.send("A")
    p.send("FA")
    last = p.take("FA")
    assert last.ack == p.seq and last.seq == p.ack
    p.ack += 1
    p.send("A")
    e.expect_nothing()
    counted = e.counted()
    assert counted.pop("tcp_tx") == 3
    assert counted == {"delivered_tcp": 6, "tcp_accepts": 1, "tcp_closes": 1}


def test_default_is_echo_on_port_7(make):
    """docs/configuration.md, even if only the command line selects echo."""
    for m in make(ECHO), make(CONFIG, app="echo"):
        m.learn(A)
        p = Peer(m).open()
        p.send("PA", b"?")
        assert p.receive() == b"?"
        other = Peer(m, dport=9, sport=40001)
        other.send("S")
        assert other.take("RA").ack == other.seq


def test_no_listener(e):
    """RFC 9293 3.10.7.1, on the data core."""
    e.counted()
    p = Peer(e, dport=8)
    p.send("S")
    answer = p.take("RA")
    assert (answer.seq, answer.ack) == (0, p.seq)
    e.expect_counters(drop_tcp_port=1, tcp_tx=1, tcp_tx_rst=1)


def test_without_tcp_service(make):
    """Without TCP on the data cores, the control core refuses."""
    m = make(ECHO + "service echo udp\n")
    m.learn(A)
    p = Peer(m)
    p.send("S")
    p.take("RA")
    m.expect_counters(drop_tcp_port=1, tcp_tx=1, tcp_tx_rst=1)
    assert m.console("show tcp").splitlines()[-1].split()[:3] == ["all", "0", "0"]


def test_checksum(e):
    e.counted()
    p = Peer(e)
    p.send("S", chksum=0x1111)
    e.expect_counters(drop_tcp_malformed=1)
    e.expect_nothing()


def test_unknown_neighbour(make):
    """The SYN/ACK waits for ARP on the control core, its checksum completed."""
    m = make(ALL)
    p = Peer(m)
    p.send("S")
    m.expect(0, arp_request(ROUTER[0], A.ip))
    m.expect_nothing()
    m.send(0, arp_reply(A, ROUTER[0]))
    answer = p.take("SA")
    p.ack = answer.seq + 1
    p.send("A")
    p.send("PA", b"found")
    assert p.receive() == b"found"


def test_no_route(e):
    """An answer without a route is counted."""
    e.counted()
    far = Station(0, "8.8.8.8", A.mac)
    Peer(e, src=far, router=ROUTER[0]).send("S")
    e.expect_nothing()
    assert e.counted()["originated_drop_tx"] == 1


def test_by_a_gateway(make):
    """The answer is routed, not sent back to the MAC that sent the request."""
    m = make(ALL + "ip route 8.8.8.0/24 192.0.2.3\n")
    m.learn(A, A2)
    far = Station(0, "8.8.8.8", A.mac)
    p = Peer(m, src=far, router=ROUTER[0])
    p.send("S")
    assert m.take(0).frame[:6] == bytes.fromhex(A2.mac.replace(":", ""))


def test_delayed_ack(e):
    """RFC 9293 3.8.6.3: within 500 ms; the machine sleeps until then."""
    p = Peer(e, dport=9).open()
    p.send("PA", b"one")
    e.expect_nothing()
    e.time(500 * MS)
    assert p.take("A").ack == p.seq


def test_retransmission(e):
    """RFC 6298: unacknowledged data is retransmitted, with growing intervals; the neighbour stays
    known."""
    p = Peer(e).open()
    p.send("PA", b"again")
    first = p.take("PA")
    e.time(3 * SECOND)
    times = 0
    while e.outs[0]:
        again = p.take("PA")
        assert (again.seq, bytes(again.payload)) == (first.seq, b"again")
        times += 1
    assert 2 <= times <= 5
    p.ack = first.seq + 5
    p.send("A")
    e.time(10 * SECOND)
    e.expect_nothing()
    assert e.counted()["tcp_retransmits"] == times


def test_discard(e):
    """RFC 863: all data is taken, nothing comes back, the window stays open."""
    p = Peer(e, dport=9).open()
    for _ in range(1000):
        p.send("A", b"x" * 1460)
    while e.outs[0]:
        last = p.take("A")
    e.time(500 * MS)
    while e.outs[0]:
        last = p.take("A")
    assert last.ack == p.seq and last.window > 1000
    p.send("FA")
    p.take("FA")


def test_chargen(e):
    """RFC 864: the endless pattern, as fast as it is acknowledged."""
    p = Peer(e, dport=19).open()
    text = b"".join(bytes(32 + (line + i) % 95 for i in range(72)) + b"\r\n" for line in range(95))
    got = b""
    while len(got) < 3 * len(text):
        data = p.receive()
        assert data
        got += data
        p.send("A", b"nobody reads this" if len(got) < 5000 else b"")
    assert got == (text * 5)[:len(got)]
    e.take_all(0)
    p.send("RA")
    e.time(5 * SECOND)
    e.expect_nothing()


def test_chargen_without_buffers(e):
    """When the connection comes there is no buffer, and no acknowledgement that would start it: TCP
    calls again."""
    e.command("reserve 3")
    p = Peer(e, dport=19)
    p.send("S")
    p.ack = p.take("SA").seq + 1
    e.command("reserve 0")
    e.command("reserve 1")
    p.send("A")
    e.time(50 * MS)
    if e.outs[0]:
        pytest.fail("it had a buffer: %r" % p.take())
    e.command("reserve -1")
    e.time(SECOND)
    assert bytes(p.take().payload).startswith(b" !\"#$%")
    e.take_all(0)
    p.send("R")


def test_little_window_when_buffers_are_few(e):
    """Other connections hold most buffers: a new one is still served, in small portions."""
    reserve = 1024  # dataplane/tcp_data.c
    e.command("reserve %d" % (reserve * 3 // 4))
    p = Peer(e)
    p.send("S", options=[("MSS", 1460)])
    answer = p.take("SA")
    assert 1460 <= answer.window <= 4 * 1460
    p.ack = answer.seq + 1
    p.send("A")
    p.send("PA", b"a little")
    assert p.receive() == b"a little"
    e.command("reserve -1")
    p.send("R")


def test_more_than_the_window(e):
    """RFC 9293 3.10.7.4: of a segment in order that passes the window's edge, the part within is taken and acknowledged
    at once. The peer acknowledges nothing, so that the echo keeps the window from opening."""
    e.command("reserve 768")
    p = Peer(e)
    p.send("S", options=[("MSS", 1460)])
    answer = p.take("SA")
    p.ack, edge = answer.seq + 1, answer.ack + answer.window
    p.send("A")
    while edge - p.seq >= 1400:
        p.send("A", b"x" * 700)
        while e.outs[0]:
            said = p.take()
            edge = max(edge, said.ack + said.window)
    e.counted()
    p.send("A", b"y" * (edge - p.seq + 300))
    said = p.take()
    assert (said.ack, said.window) == (edge, 0)
    assert e.counted() == {"delivered_tcp": 1, "tcp_tx": 1}
    e.command("reserve -1")
    p.seq = edge
    p.send("R")


def frag_needed(router, quoted, mtu):
    """The ICMP error of a router on the path, RFC 1191 4."""
    return IP(src=router, dst=quoted.src) / ICMP(type=3, code=4, nexthopmtu=mtu) / \
        Raw(bytes(quoted)[:28])


def test_path_mtu(e):
    """The control core receives the ICMP error, and the data core of the connection acts on it."""
    p = Peer(e, dport=19)
    p.send("S", options=[("MSS", 1460)])
    p.ack = p.take("SA").seq + 1
    p.send("A")
    quoted = IP(e.take(0).frame[14:])
    assert quoted.len > 1200
    e.take_all(0)
    e.counted()
    e.send(0, ether(A, ROUTER[0]) / frag_needed(A2.ip, quoted, 1200))
    e.time(2 * SECOND)
    sizes = {IP(frame[14:]).len for frame in e.take_all(0)}
    assert sizes and max(sizes) <= 1200
    assert e.counted()["tcp_pmtu"] == 1
    p.send("R")


def test_forged_path_mtu(e):
    """RFC 5927 4.1: an error about a segment that is not in flight is ignored."""
    p = Peer(e, dport=19)
    p.send("S", options=[("MSS", 1460)])
    p.ack = p.take("SA").seq + 1
    p.send("A")
    quoted = IP(e.take(0).frame[14:])
    quoted[TCP].seq -= 100000
    e.take_all(0)
    e.counted()
    e.send(0, ether(A, ROUTER[0]) / frag_needed(A2.ip, quoted, 1200))
    assert "tcp_pmtu" not in e.counted()
    p.send("R")
    e.take_all(0)


def test_link_down(e):
    """Segments sent while the link is down are lost and counted; later, the rest follows."""
    p = Peer(e).open()
    e.link(0, False)
    p.send("PA", b"lost?")
    e.time(SECOND)
    e.expect_nothing()
    assert e.counted()["originated_drop_tx"] >= 2
    e.link(0, True)
    e.time(5 * SECOND)
    seen = b""
    while e.outs[0]:
        if e.outs[0][0].frame[12:14] == b"\x08\x06":
            frame = e.take(0).frame
            if frame[20:22] == b"\0\1" and frame[38:42] == bytes([192, 0, 2, 2]):
                e.send(0, arp_reply(A, ROUTER[0]))
        else:
            seen = bytes(p.take().payload)
    e.time(10 * SECOND)
    while e.outs[0]:
        seen = bytes(p.take().payload)
    assert seen == b"lost?"
    p.send("R")


def test_restart(e):
    """The ports are restarted: connections are lost, and peers learn this when they send."""
    p = Peer(e).open()
    p.send("PA", b"before")
    assert p.receive() == b"before"
    p.send("A")
    e.command("restart")
    e.time(3 * SECOND)
    e.take_all(0), e.take_all(1)
    e.learn(A)
    p.send("PA", b"after")
    answer = p.take("R")
    assert answer.seq == p.ack
    e.expect_counters(drop_tcp_listen=1, tcp_tx=1, tcp_tx_rst=1)
    again = Peer(e, sport=40001).open()
    again.send("PA", b"new")
    assert again.receive() == b"new"


def test_number_of_connections(make):
    """`tcp connections` is a limit; existing connections stay. A further SYN is answered by a cookie.
    Its answer is dropped while no connection is free, and makes one afterwards (net/tcp/open.c)."""
    m = make(ALL + "tcp connections 20\n")
    m.learn(A)
    peers = [Peer(m, sport=41000 + i).open() for i in range(20)]
    assert m.counted()["tcp_accepts"] == 20
    one_more = Peer(m, sport=42000)
    one_more.send("S")
    one_more.ack = one_more.take("SA").seq + 1
    m.counted()
    one_more.send("PA", b"new")
    m.expect_counters(drop_tcp_full=1, tcp_full=1)
    peers[7].send("PA", b"still here")
    assert peers[7].receive() == b"still here"
    for peer in peers:
        peer.send("R")
    one_more.seq -= 3
    one_more.send("PA", b"new")
    assert one_more.receive() == b"new"
    Peer(m, sport=43000).open()


def test_more_connections_than_memory(make):
    m = make(ALL + "tcp connections 4000000\n")
    assert "core 0: memory for " in m.text and " TCP connections only" in m.text
    m.learn(A)
    Peer(m).open()


def test_neighbour_is_kept_alive(e):
    """TCP's transmissions count as use: ARP asks again before the neighbour expires (60 s)."""
    p = Peer(e).open()
    asked = 0
    for second in range(150):
        p.send("PA", b"tick")
        e.time(SECOND)
        while e.outs[0]:
            if e.outs[0][0].frame[12:14] == b"\x08\x06":
                frame = e.take(0).frame
                assert frame[:6] == bytes.fromhex(A.mac.replace(":", "")), "asked by unicast"
                e.send(0, arp_reply(A, ROUTER[0]))
                asked += 1
            else:
                segment = p.take()
                if segment.seq == p.ack:
                    p.ack += len(bytes(segment.payload))
        p.send("A")
    assert asked >= 2
    assert "originated_drop_tx" not in e.counted()
    p.send("R")


def test_full_transmit_ring(e):
    """The port takes nothing for a while: some segments are held, some lost, and all data arrives
    in the end."""
    p = Peer(e).open()
    e.command("room 0 0")
    want = bytes(i & 255 for i in range(30000))
    for at in range(0, len(want), 1000):
        p.send("A", want[at:at + 1000])
    e.expect_nothing()
    e.command("room 0 -1")
    got = {}
    for _ in range(100):
        while e.outs[0]:
            segment = p.take()
            for i, byte in enumerate(bytes(segment.payload)):
                got[segment.seq + i] = byte
            while p.ack in got:
                p.ack += 1
        p.send("A")
        e.time(100 * MS)
    assert bytes(got[seq] for seq in sorted(got)) == want
    p.send("R")


def open_many(m, number, src=A):
    """That many connections of a station, opened one vector at a time."""
    peers = {40000 + i: Peer(m, src=src, sport=40000 + i) for i in range(number)}
    for p in peers.values():
        m.queue(src.port, padded(p.segment("S")))
        p.seq += 1
    m.command("run")
    for out in m.outs[src.port]:
        segment = IP(out.frame[14:])[TCP]
        assert str(segment.flags) == "SA"
        peers[segment.dport].ack = segment.seq + 1
    assert len(m.outs[src.port]) == number
    m.outs[src.port].clear()
    for p in peers.values():
        m.queue(src.port, padded(p.segment("A")))
    m.command("run")
    m.expect_nothing()
    m.counted()
    return peers


def ask_all(m, peers):
    for p in peers.values():
        m.queue(p.src.port, padded(p.segment("PA", b"question %d" % p.sport)))
    m.command("run")


def answered(m, port, peers):
    """Takes the answers; returns their connections."""
    ports = []
    for out in m.outs[port]:
        if Ether(out.frame).type != 0x800:
            continue  # ARP
        segment = IP(out.frame[14:])[TCP]
        p = peers[segment.dport]
        assert segment.seq == p.ack and bytes(segment.payload) == b"question %d" % p.sport
        ports.append(segment.dport)
    m.outs[port].clear()
    return ports


def test_many_answers_and_a_slow_port(e):
    """Answers that fit neither ring nor hold wait in their queues. As the device takes them, a few
    at a time, all are sent, in order, and before any timer: no time passes."""
    number = 1500
    peers = open_many(e, number)
    e.command("room 0 0")
    ask_all(e, peers)
    e.expect_nothing()
    got = []
    for _ in range(number):
        e.command("room 0 7")
        got += answered(e, 0, peers)
    assert got == list(peers)
    counted = e.counted()
    assert counted == {"delivered_tcp": number, "tcp_tx": number}
    e.command("room 0 -1")


def test_a_port_that_stands_still_is_waited_for(e):
    """Packets for other ports leave meanwhile. After 2 s packets for this port are lost, so that
    the wait is bounded; TCP retransmits them by its timers."""
    peers = open_many(e, 500)
    other = Peer(e, src=B, sport=50000).open()
    e.command("room 0 0")
    ask_all(e, peers)
    other.send("PA", b"another way")
    assert other.receive() == b"another way"
    other.send("A")
    assert not e.counted().get("originated_drop_tx")
    e.time(1900 * MS)
    counted = e.counted()
    assert not counted.get("originated_drop_tx") and not counted.get("tcp_retransmits")
    e.time(20 * SECOND)
    assert e.counted()["originated_drop_tx"] > 0
    e.command("room 0 -1")
    got = set()
    for _ in range(30):
        e.time(SECOND)
        got.update(answered(e, 0, peers))
    assert got == set(peers)


def columns(text):
    head, *rows = [line.split() for line in text.splitlines()]
    return [dict(zip(head, row)) for row in rows]


def test_show_tcp(e):
    peers = [Peer(e, sport=40000 + i).open() for i in range(3)]
    peers[0].send("PA", b"x" * 10)
    peers[0].receive()
    e.time(SECOND)
    e.take_all(0)
    core, total = columns(e.console("show tcp"))
    assert core["core"] == "0" and total["core"] == "all"
    assert core["open"] == total["open"] == core["estab"] == "3"
    assert int(core["capacity"]) >= 100
    rows = columns(e.console("show tcp connections"))
    assert {row["remote"] for row in rows} == {"192.0.2.2:%d" % (40000 + i) for i in range(3)}
    assert all(row["local"] == "192.0.2.1:7" and row["state"] == "estab" for row in rows)
    assert all(int(row["cwnd"]) >= int(row["mss"]) == 536 for row in rows)
    assert "unknown word" in e.console("show tcp listeners")
    for peer in peers:
        peer.send("RA")
    e.time(SECOND)
    e.take_all(0)
    assert columns(e.console("show tcp"))[0]["open"] == "0"
    assert len(columns(e.console("show tcp connections"))) == 0


def test_show_tcp_is_bounded(e):
    for i in range(140):
        Peer(e, sport=40000 + i).open()
    e.time(SECOND)
    text = e.console("show tcp connections").splitlines()
    assert len(text) == 1 + 128 + 1 and text[-1] == "... 12 more"


def test_segments_of_a_vector_are_acknowledged_together(e):
    p = Peer(e, dport=9).open()
    e.counted()
    segments = []
    for i in range(64):
        segments.append(p.segment("A", b"y" * 1000))
        p.seq += 1000
    e.send(0, *segments)
    answers = 0
    while e.outs[0]:
        last = p.take("A")
        answers += 1
    assert last.ack == p.seq and answers <= 64 // HOST_VECTOR
    assert e.counted() == {"delivered_tcp": 64, "tcp_tx": answers}


@pytest.mark.parametrize("config", [CONFIG, ALL, CONFIG + "application web\n"], ids=["router", "echo", "web"])
def test_connection_of_ours(make, config):
    """A connection that the control core opens, also beside an application with TCP of its own on data cores: from its
    first segment on, the local port is the control core's."""
    m = make(config, options="test=1")
    m.learn(A)
    m.counted()
    assert m.console("test connect %s 6514" % A.ip) == ""
    out = IP(m.take(0).frame[14:])
    p = Peer(m, dport=out[TCP].sport, sport=6514)
    assert (out.src, out.dst, out[TCP].dport, str(out[TCP].flags)) == (ROUTER[0].ip, A.ip, 6514, "SEC")
    assert out[TCP].sport >= 61000
    p.ack = out[TCP].seq + 1
    p.send("SA")
    assert p.receive() == b"hello\n"
    m.text = ""
    p.send("PA", b"welcome\n")
    p.send("FA")
    m.time(SECOND)
    flags = [str(IP(bytes(Ether(frame)[IP]))[TCP].flags) for frame in m.take_all(0)]
    assert "FA" in flags
    for line in ("received: welcome", "the peer has finished"):
        assert "test connect: " + line in m.text
    p.ack += 1
    p.send("A")
    m.time(SECOND)
    assert "test connect: ended: the peer closed the connection" in m.text
    counted = m.counted()
    assert counted["tcp_connects"] == 1 and "drop_tcp_port" not in counted and "tcp_tx_rst" not in counted


def test_connection_of_ours_is_refused(make):
    """By a reset; and by silence, after 20 seconds. A connection that is aborted is reset."""
    m = make(CONFIG, options="test=1")
    m.learn(A)
    m.console("test connect %s 99" % A.ip)
    out = IP(m.take(0).frame[14:])[TCP]
    p = Peer(m, dport=out.sport, sport=99)
    p.ack = out.seq + 1
    p.send("RA")
    assert "test connect: ended: the connection was refused" in m.text
    m.console("test connect %s 99" % A.ip)
    m.time(25 * SECOND)
    assert len(m.take_all(0)) > 1  # the SYN is repeated
    assert "test connect: ended: no answer in time" in m.text
    assert "there is no route" in m.console("test connect 203.0.113.1 99")
