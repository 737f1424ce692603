"""Fragmented packets to the machine itself: RFC 791 3.2, RFC 1122 3.3.2, RFC 815.
tests/unit/net/test_reassembly.c tests the rules of reassembly; this file tests the fate of the whole
packet."""
import pytest
from machine import *
from scapy.layers.inet import TCP

ECHO = """\
application echo
interface eth0
 ip address 192.0.2.1/24
"""


def pieces(packet, *cuts):
    """The packet's payload cut at these offsets, multiples of 8, as fragments."""
    whole = fixed(packet)
    data = bytes(whole.payload)
    ends = list(cuts) + [len(data)]
    out, at = [], 0
    for end in ends:
        out.append(IP(src=whole.src, dst=whole.dst, proto=whole.proto, id=7, ttl=whole.ttl,
                      frag=at // 8, flags="MF" if end < len(data) else 0) / Raw(data[at:end]))
        at = end
    return out


def to_us(packet):
    return ether(A, ROUTER[0]) / packet


def ping(size):
    return IP(src=A.ip, dst=ROUTER[0].ip, id=7) / ICMP(id=5, seq=1) / Raw(bytes(range(256)) * (size // 256))


@pytest.fixture
def half(make):
    m = make(CONFIG.replace("arp timeout 60", "arp timeout 6000"))
    m.learn(A)
    return m


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_ping(half, order):
    """In any order; all but the last wait, then each has its fate."""
    parts = pieces(ping(768), 256, 512)
    for n, i in enumerate(order):
        assert half.waiting() == n
        half.send(0, to_us(parts[i]))
    reply = half.take(0)
    assert half.waiting() == 0
    answer = Ether(reply.frame)[IP]
    assert answer.src == ROUTER[0].ip and answer[ICMP].type == 0
    assert bytes(answer[ICMP].payload) == bytes(ping(768)[ICMP].payload)
    half.expect_counters(delivered_icmp=1, reassembled=2, reassembled_packets=1, icmp_tx_echo_reply=1)


def test_restart_accounts_for_what_waits(half):
    for part in pieces(ping(768), 256, 512)[:2]:
        half.send(0, to_us(part))
    assert half.waiting() == 2
    half.command("restart")
    half.settle()
    assert half.waiting() == 0 and half.counted()["drop_restart"] == 2


def test_answer_that_is_too_large_is_cut(half):
    request = ping(4096)
    for part in pieces(request, 1400, 2800):
        half.send(0, to_us(part))
    data, more = b"", True
    while more:
        part = Ether(half.take(0).frame)[IP]
        assert part.len <= 1500 and part.frag * 8 == len(data)
        data += bytes(part.payload)[:part.len - 20]
        more = part.flags.MF
    want = fixed(IP(src=ROUTER[0].ip, dst=A.ip) / ICMP(type=0, id=5, seq=1) / request[Raw])
    assert data == bytes(want.payload)
    half.expect_nothing()
    half.expect_counters(delivered_icmp=1, reassembled=2, reassembled_packets=1, icmp_tx_echo_reply=1,
                         fragments_created=3)


def test_time_is_over(half):
    """RFC 1122 3.3.2: 60 s; ICMP time exceeded, code 1, if the first fragment arrived (RFC 792)."""
    first, last = pieces(ping(512), 256)
    half.send(0, to_us(first))
    half.time(59 * SECOND)
    half.expect_nothing()
    assert half.waiting() == 1
    half.time(2 * SECOND)
    error = Ether(half.take(0).frame)[IP]
    assert (error[ICMP].type, error[ICMP].code) == (11, 1)
    assert half.waiting() == 0
    half.send(0, to_us(last))
    half.time(61 * SECOND)
    half.expect_nothing()  # no error about the last fragment alone
    half.expect_counters(drop_frag_timeout=2, icmp_tx_time_exceeded=1)


def test_overlap(half):
    """RFC 5722 4 in IPv4 too: because of what an overlap could hide (RFC 1858)."""
    parts = pieces(ping(512), 256)
    other = IP(src=A.ip, dst=ROUTER[0].ip, proto=1, id=7, frag=16, flags="MF") / Raw(bytes(256))
    half.send(0, to_us(parts[0]))
    half.send(0, to_us(other))
    half.send(0, to_us(parts[1]))
    half.expect_nothing()
    half.expect_counters(drop_frag_overlap=3)


def test_udp_port_without_receiver(half):
    for part in pieces(udp(A, ROUTER[0], size=600), 304):
        half.send(0, to_us(part))
    error = Ether(half.take(0).frame)[IP]
    assert (error[ICMP].type, error[ICMP].code) == (3, 3)
    half.expect_counters(drop_udp_port=1, reassembled=1, reassembled_packets=1,
                         icmp_tx_unreach_port=1)


@pytest.fixture
def e(make):
    m = make(ECHO, ports=1)
    m.learn(A)
    return m


def test_udp_echo(e):
    """RFC 862 has no largest datagram."""
    request = udp(A, ROUTER[0], size=3000, dport=7)
    for part in pieces(request, 1480, 2960):
        e.send(0, to_us(part))
    parts = [Ether(e.take(0).frame)[IP] for _ in range(3)]
    data = b"".join(bytes(p.payload)[:p.len - 20] for p in parts)
    assert data[:4] == b"\0\x07\x04\0" and data[8:] == bytes(request[Raw])
    e.expect_counters(delivered_udp=1, udp_tx=1, reassembled=2, reassembled_packets=1,
                      fragments_created=3)


def test_udp_echo_of_an_echo(e):
    for part in pieces(udp(A, ROUTER[0], size=600, sport=7, dport=7), 304):
        e.send(0, to_us(part))
    e.expect_nothing()
    e.expect_counters(drop_udp_loop=1, reassembled=1, reassembled_packets=1)


def test_tcp_takes_no_fragments(e):
    segment = IP(src=A.ip, dst=ROUTER[0].ip) / TCP(sport=1024, dport=7, flags="S") / Raw(bytes(100))
    for part in pieces(segment, 64):
        e.send(0, to_us(part))
    e.expect_nothing()
    e.expect_counters(drop_fragment_local=1, reassembled=1, reassembled_packets=1)
