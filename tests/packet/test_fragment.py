"""Fragmentation on forward: RFC 791 2.3 and 3.2, RFC 1812 4.2.2.7."""
import random

import pytest
from machine import *
from socket import inet_aton
from scapy.layers.inet import IPOption, IPOption_NOP, IPOption_Router_Alert


def config(mtu0=None, mtu1=None):
    return "hostname r1\ninterface eth0\n ip address 192.0.2.1/24\n%sinterface eth1\n" \
        " ip address 198.51.100.1/24\n%s" % (" mtu %d\n" % mtu0 if mtu0 else "",
                                             " mtu %d\n" % mtu1 if mtu1 else "")


def data(size, seed=1):
    return Raw(random.Random(seed).randbytes(size))


def packet(size, **fields):
    """An IP packet of `size` bytes of payload."""
    values = dict(src=A.ip, dst=B.ip, id=0x4321, proto=253)
    values.update(fields)
    return fixed(IP(**values) / data(size))


def pieces_of(m, port, mtu):
    """The IP packets that the port sent, each one checked."""
    pieces = []
    for frame in m.take_all(port):
        assert frame[:14] == bytes(ether(ROUTER[port], B))[:12] + b"\x08\0"
        ip = IP(frame[14:])
        assert ip.len <= mtu
        head = ip.ihl * 4
        assert checksum(frame[14:14 + head]) == 0
        assert len(frame) == max(60, 14 + ip.len)
        assert not any(frame[14 + ip.len:])  # RFC 894: padding is zeros
        pieces.append(IP(frame[14:14 + ip.len]))
    return pieces


def payload(ip):
    return bytes(ip)[ip.ihl * 4:]


def check(pieces, original, mtu):
    """RFC 791 3.2: the fragments form the packet, wherever it is in a larger one."""
    whole, offset = b"", original.frag
    for i, piece in enumerate(pieces):
        last = i == len(pieces) - 1
        assert piece.frag == offset
        assert bool(piece.flags.MF) == (not last or bool(original.flags.MF))
        assert not piece.flags.DF
        assert (piece.src, piece.dst, piece.id, piece.proto, piece.tos) == (
            original.src, original.dst, original.id, original.proto, original.tos)
        assert piece.ttl == original.ttl - 1
        part = payload(piece)
        if not last:
            assert len(part) == (mtu - piece.ihl * 4) // 8 * 8  # as large as possible
        whole += part
        offset += len(part) // 8
    assert whole == payload(original)


def fragmented(m, original, mtu, count=None):
    m.counted()
    m.send(0, ether(A, ROUTER[0]) / original)
    pieces = pieces_of(m, 1, mtu)
    check(pieces, original, mtu)
    assert count in (None, len(pieces))
    m.expect_counters(forwarded=1, fragmented=1, fragments_created=len(pieces))
    return pieces


@pytest.mark.parametrize("mtu,size,count", [
    (1480, 1480, 2), (576, 1480, 3), (576, 557, 2), (576, 1108, 2), (576, 1109, 3),
    (1006, 987, 2), (1006, 1480, 2), (1499, 1480, 2), (100, 1480, 19), (68, 1480, 31),
    (69, 100, 3), (75, 56, 2), (76, 57, 2)])
def test_sizes(make, mtu, size, count):
    m = make(config(mtu1=mtu))
    m.learn(A, B)
    fragmented(m, packet(size), mtu, count)


def test_what_fits_is_not_cut(make):
    m = make(config(mtu1=576))
    m.learn(A, B)
    m.route(packet(556))
    m.route(packet(556, flags="DF"))
    m.expect_counters(forwarded=2)


@pytest.mark.parametrize("flags,frag", [("MF", 0), ("MF", 100), (0, 100)],
                         ids=["first", "middle", "last"])
def test_fragments_are_cut_again(make, flags, frag):
    """RFC 791 3.2: MF of the last fragment is that of the packet."""
    m = make(config(mtu1=500))
    m.learn(A, B)
    fragmented(m, packet(1400, flags=flags, frag=frag), 500, 3)


def test_fragment_that_would_end_beyond_65535(make):
    m = make(config(mtu1=500))
    m.learn(A, B)
    m.send(0, ether(A, ROUTER[0]) / packet(1480, frag=8191 - 100))
    m.expect_nothing()
    m.expect_counters(drop_ip4_total_len=1)


def test_options(make):
    """RFC 791 3.1: only options with the copied bit are in all fragments."""
    m = make(config(mtu1=576))
    m.learn(A, B)
    original = packet(1400, options=[IPOption_NOP(), IPOption(b"\x07\x07\x04\0\0\0\0"),
                                     IPOption_Router_Alert()])
    pieces = fragmented(m, original, 576)
    assert [p.ihl for p in pieces] == [8] + [6] * (len(pieces) - 1)
    # record route has one address more (RFC 1812 5.3.13.5)
    assert bytes(pieces[0])[20:32] == b"\x01\x07\x07\x08" + inet_aton(ROUTER[1].ip) + b"\x94\x04\0\0"
    for piece in pieces[1:]:
        assert bytes(piece)[20:24] == b"\x94\x04\0\0"


def test_neighbour_unknown(make):
    """The whole packet waits and is fragmented when it leaves."""
    m = make(config(mtu1=576))
    m.learn(A)
    original = packet(1400)
    m.send(0, ether(A, ROUTER[0]) / original)
    m.expect(1, arp_request(ROUTER[1], B.ip))
    assert m.waiting() == 1
    m.send(1, arp_reply(B, ROUTER[1]))
    check(pieces_of(m, 1, 576), original, 576)
    m.expect_counters(arp_tx_request=1, delivered_arp=1, forwarded=1, fragmented=1,
                      fragments_created=3)


def test_do_not_fragment_comes_before_the_neighbour(make):
    """RFC 1191 4: the error is sent without resolving the neighbour."""
    m = make(config(mtu1=576))
    m.learn(A)
    original = packet(1400, flags="DF")
    m.send(0, ether(A, ROUTER[0]) / original)
    m.expect(0, error_about(ROUTER[0], A, original, 3, 4, 576))
    m.expect_counters(drop_ip4_need_frag=1, icmp_tx_unreach_frag=1)


def test_large_to_standard_link(make):
    """9000 bytes are received, 1500 sent; nothing is fragmented in the other direction."""
    m = make(config(mtu0=9000))
    m.learn(A, B)
    fragmented(m, packet(8980), 1500, 7)
    m.route(packet(8000 - 20, src=B.ip, dst=A.ip), B, A)


def test_large_packet_waits_for_its_neighbour(make):
    m = make(config(mtu0=9198))
    m.learn(A)
    original = packet(9178)
    m.send(0, ether(A, ROUTER[0]) / original)
    m.expect(1, arp_request(ROUTER[1], B.ip))
    m.send(1, arp_reply(B, ROUTER[1]))
    check(pieces_of(m, 1, 1500), original, 1500)


def test_order_with_neighbours_in_one_vector(make):
    """Fragmented and unfragmented packets leave in the order of arrival."""
    m = make(config(mtu1=576))
    m.learn(A, B)
    packets = [packet((100, 1400)[i % 2], id=i) for i in range(60)]
    m.send(0, *(ether(A, ROUTER[0]) / p for p in packets))
    ids = [p.id for p in pieces_of(m, 1, 576)]
    assert ids == sorted(ids)
    assert len(ids) == 30 * (1 + 3)
    m.expect_counters(forwarded=60, fragmented=30, fragments_created=90)


def test_random_sizes(make):
    rng = random.Random(99)
    for mtu in (rng.randrange(68, 1500) for _ in range(5)):
        m = make(config(mtu1=mtu))
        m.learn(A, B)
        for _ in range(20):
            size = rng.randrange(mtu - 19, 1481)
            fragmented(m, packet(size, id=rng.randrange(65536), tos=rng.randrange(256)), mtu)
