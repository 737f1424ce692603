"""Checksum offload: a frame with PKT_CSUM_PARTIAL has only the pseudo header's sum in its checksum
field, and metadata about the field (virtio 1.2 5.1.6.2). It is forwarded unchanged; code that
parses or fragments it completes the checksum first."""
import struct

import pytest
from machine import *
from scapy.layers.inet import TCP


def pseudo(ip, length):
    """One's complement sum of the pseudo header, not inverted (RFC 768)."""
    data = bytes(ip)[12:20] + struct.pack("!BBH", 0, ip.proto, length)
    return checksum(data) ^ 0xffff


def partial(packet):
    """(IP packet as a guest sends it, the complete packet, frame flags, (start, offset))"""
    whole = fixed(packet)
    at = 16 if whole.proto == 6 else 6
    head = whole.ihl * 4
    raw = bytearray(bytes(whole))
    raw[head + at:head + at + 2] = pseudo(whole, len(raw) - head).to_bytes(2, "big")
    return bytes(raw), whole, "partial %d %d" % (14 + head, at), (14 + head, at)


def frame(src, dst, raw):
    return bytes(ether(src, dst))[:12] + b"\x08\0" + raw


PACKETS = {
    "UDP": udp(A, B, 100),
    "UDP, odd": udp(A, B, 101),
    "TCP": IP(src=A.ip, dst=B.ip, flags="DF") / TCP(sport=80, dport=4096) / Raw(b"x" * 999),
}


@pytest.mark.parametrize("packet", PACKETS.values(), ids=PACKETS.keys())
def test_forwarded_as_it_is(m, packet):
    raw, _, flags, meta = partial(packet)
    m.send(0, frame(A, ROUTER[0], raw), flags=flags)
    m.expect(1, frame(ROUTER[1], B, bytes(hop_raw(raw))), partial=meta)
    m.expect_counters(forwarded=1)


def hop_raw(raw):
    """TTL decremented, the transport's bytes unchanged."""
    p = bytearray(raw)
    p[8] -= 1
    p[10:12] = b"\0\0"
    p[10:12] = checksum(bytes(p[:(p[0] & 15) * 4])).to_bytes(2, "big")
    return bytes(p)


def test_complete_when_cut(make):
    m = make(CONFIG + " mtu 576\n")
    m.learn(A, B)
    raw, whole, flags, _ = partial(udp(A, B, 1400))
    m.send(0, frame(A, ROUTER[0], raw), flags=flags)
    data = b""
    while m.outs[1]:
        out = m.take(1)
        assert out.partial is None
        ip = IP(out.frame[14:])
        data += bytes(ip)[20:ip.len]
    assert data == bytes(whole)[20:]


@pytest.mark.parametrize("packet,type_,code", [
    (udp(A, B, 40, ttl=1), 11, 0), (udp(A, "8.8.8.8", 40), 3, 0), (udp(A, ROUTER[0], 40), 3, 3)],
    ids=["TTL", "no route", "port"])
def test_complete_when_quoted(m, packet, type_, code):
    raw, whole, flags, _ = partial(packet)
    m.send(0, frame(A, ROUTER[0], raw), flags=flags)
    m.expect(0, error_about(ROUTER[0], A, whole, type_, code))


@pytest.mark.parametrize("packet", PACKETS.values(), ids=PACKETS.keys())
def test_complete_when_it_waits(fresh, packet):
    """Another core sends it, from its bytes alone."""
    fresh.learn(A)
    raw, whole, flags, _ = partial(packet)
    fresh.send(0, frame(A, ROUTER[0], raw), flags=flags)
    fresh.expect(1, arp_request(ROUTER[1], B.ip))
    fresh.send(1, arp_reply(B, ROUTER[1]))
    fresh.expect(1, ether(ROUTER[1], B) / hop(whole))


def test_zero_sum_becomes_all_ones(make):
    """RFC 768: a UDP checksum that comes out as zero is sent as 0xffff."""
    m = make(CONFIG + " mtu 68\n")
    m.learn(A, B)
    word = 0
    for _ in range(2):  # the sum without the word is the word that makes it zero
        packet = fixed(IP(src=A.ip, dst=B.ip) / UDP(sport=1, dport=2, chksum=0) /
                       Raw(bytes(60) + struct.pack("!H", word)))
        data = bytes(packet)[20:]
        word = checksum(bytes(packet)[12:20] + struct.pack("!BBH", 0, 17, len(data)) + data)
    assert word == 0
    raw = bytearray(bytes(packet))
    raw[26:28] = pseudo(packet, len(data)).to_bytes(2, "big")
    m.send(0, frame(A, ROUTER[0], bytes(raw)), flags="partial 34 6")
    assert m.take_all(1)[0][14 + 26:14 + 28] == b"\xff\xff"


def test_verified_sum_is_not_looked_at_again(make):
    """PKT_CSUM_OK: the port has verified the checksum (or the packet never left the host)."""
    m = make(app="echo", config=CONFIG + "application echo\n")
    m.learn(A)
    packet = fixed(udp(A, ROUTER[0], 20, dport=7))
    packet[UDP].chksum ^= 0x5555
    m.send(0, ether(A, ROUTER[0]) / packet, flags="ok")
    assert m.take(0).frame[14 + 26:14 + 28] == packet[UDP].chksum.to_bytes(2, "big")
    m.send(0, ether(A, ROUTER[0]) / packet)
    m.expect_counters(delivered_udp=1, udp_tx=1, drop_udp_malformed=1)


def test_echo_stays_partial(make):
    """The sum of the pseudo header does not change when the addresses are swapped."""
    m = make(app="echo", config=CONFIG + "application echo\n")
    m.learn(A)
    raw, whole, flags, meta = partial(udp(A, ROUTER[0], 33, dport=7))
    answer, _, _, _ = partial(IP(src=ROUTER[0].ip, dst=A.ip, id=whole.id, ttl=64) /
                              UDP(sport=7, dport=1024) / Raw(bytes(range(33))))
    m.send(0, frame(A, ROUTER[0], raw), flags=flags)
    m.expect(0, frame(ROUTER[0], A, answer), partial=meta)


def test_characters_are_complete(make):
    """The answer is a different packet, with a complete checksum."""
    m = make(app="echo", config=CONFIG + "application echo\nservice chargen udp\n")
    m.learn(A)
    raw, _, flags, _ = partial(udp(A, ROUTER[0], 33, dport=19))
    m.send(0, frame(A, ROUTER[0], raw), flags=flags)
    out = m.take(0)
    assert out.partial is None
    assert out.frame == bytes(fixed(ether(ROUTER[0], A) / IP(
        src=ROUTER[0].ip, dst=A.ip, flags="DF", id=0) / UDP(sport=19, dport=1024) /
        Raw(bytes(range(32, 65)))))


@pytest.mark.parametrize("dst", [B, B2], ids=["resolved", "waits"])
@pytest.mark.parametrize("start", [100, 198], ids=["covers the cut", "lies in the cut"])
def test_field_beyond_the_packet(m, dst, start):
    """The checksum field is in bytes after the IP packet, which are cut off: no offload metadata
    may remain (found by the fuzzer: an assert in lib/pkt.c)."""
    packet = fixed(udp(A, dst, 40))
    raw = bytes(packet) + bytes(200 - 14 - len(bytes(packet)))
    m.send(0, frame(A, ROUTER[0], raw), flags="partial %d 0" % start)
    if dst is B2:
        m.expect(1, arp_request(ROUTER[1], B2.ip))
        m.send(1, arp_reply(B2, ROUTER[1]))
    m.expect(1, ether(ROUTER[1], dst) / hop(packet))


@pytest.mark.parametrize("offset", [2, 0, 6, 8, 12], ids=["total length", "header length",
                                                         "fragment", "TTL", "source"])
@pytest.mark.parametrize("how", ["waits", "cut", "quoted", "padded"])
def test_field_within_the_ip_header(make, how, offset):
    """The header has been verified: no checksum may be written into it afterwards."""
    m = make(CONFIG + " mtu 576\n")
    m.learn(A, B)
    packet = fixed({"waits": udp(A, B2, 40), "cut": udp(A, B, 1000), "quoted": udp(A, B, ttl=1),
                    "padded": udp(A, B, 40)}[how])
    m.send(0, bytes(frame(A, ROUTER[0], bytes(packet))) + bytes(200 * (how == "padded")),
           flags="partial 14 %d" % offset)
    if how == "waits":
        m.expect(1, arp_request(ROUTER[1], B2.ip))
        m.send(1, arp_reply(B2, ROUTER[1]))
        m.expect(1, ether(ROUTER[1], B2) / hop(packet))
    elif how == "cut":
        first, last = (IP(m.take(1).frame[14:]) for _ in range(2))
        assert bytes(first)[20:] + bytes(last)[20:] == bytes(packet)[20:]
    elif how == "quoted":
        m.expect(0, error_about(ROUTER[0], A, packet, 11, 0))
    else:
        m.expect(1, ether(ROUTER[1], B) / hop(packet))


def test_partial_ping_to_us(m):
    """The request is neither UDP nor TCP, but the machine answers with a complete packet."""
    request = fixed(IP(src=A.ip, dst=ROUTER[0].ip) / ICMP(id=5, seq=6) / Raw(b"twelve bytes"))
    raw = bytearray(bytes(request))
    raw[22:24] = b"\0\0"
    m.send(0, frame(A, ROUTER[0], bytes(raw)), flags="partial 34 2")
    m.expect(0, ether(ROUTER[0], A) / IP(src=ROUTER[0].ip, dst=A.ip, id=request.id, ttl=64) /
             ICMP(type=0, id=5, seq=6) / Raw(b"twelve bytes"))
