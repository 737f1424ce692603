"""The echo application over IPv6 (RFC 8200): UDP and TCP on the data cores, refusals and ICMPv6
errors by the control core. test_echo.py and test_tcp.py test what both versions have in common."""
import struct

import pytest
from machine import *
from scapy.layers.inet import TCP
from scapy.layers.inet6 import (ICMPv6DestUnreach, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr,
                                ICMPv6NDOptSrcLLAddr, ICMPv6PacketTooBig, IPv6, IPv6ExtHdrDestOpt,
                                IPv6ExtHdrFragment, PadN)

ALL = """\
hostname r1
interface eth0
 ipv6 address 2001:db8:1::1/64
interface eth1
 ip address 198.51.100.1/24
application echo
service echo udp
service echo tcp
service discard tcp
service chargen udp
"""
LINK, US, LOCAL = "fe80::aa:ff:fe00:2", "2001:db8:1::1", "fe80::48:59ff:fe00:0"
HOST = "2001:db8:1::2"
US_MAC = ROUTER[0].mac
GROUP = "33:33:ff:00:00:01"


def frame(packet, src=A.mac, dst=US_MAC):
    return bytes(Ether(src=src, dst=dst) / packet)


def boot(make, config, **options):
    """A machine after its first messages: ARP, DAD, MLD, router solicitations."""
    m = make(config, boot=False, **options)
    m.time(3 * SECOND)
    for port in (0, 1):
        m.take_all(port)
    m.counted()
    return m


@pytest.fixture
def e(make):
    """A machine that knows HOST and LINK."""
    return acquainted(boot(make, ALL))


def acquainted(m):
    for who in (HOST, LINK):
        target = US if who == HOST else LOCAL
        m.send(0, frame(IPv6(src=who, dst=target, hlim=255) / ICMPv6ND_NS(tgt=target) /
                        ICMPv6NDOptSrcLLAddr(lladdr=A.mac)))
        answer = IPv6(m.take(0).frame[14:])
        assert answer[ICMPv6ND_NA].tgt == target
    m.counted()
    return m


def taken(m):
    """The next packet: complete, with a correct checksum and the right Ethernet addresses."""
    out = m.take(0)
    data = bytearray(out.frame)
    assert bytes(data[:14]) == bytes(Ether(src=US_MAC, dst=A.mac, type=0x86dd))
    length, following = struct.unpack_from("!HB", data, 18)
    end = 54 + length
    pseudo = bytes(data[22:54]) + struct.pack("!II", length, following)
    if out.partial:
        start, offset = out.partial
        at = start + offset
        assert struct.unpack_from("!H", data, at)[0] == checksum(pseudo) ^ 0xffff
        data[at:at + 2] = checksum(bytes(data[start:end])).to_bytes(2, "big")
    assert checksum(pseudo + bytes(data[54:end])) == 0
    assert data[21] == 64
    return IPv6(bytes(data[14:end]))


@pytest.mark.parametrize("size", [0, 1, 2, 100, 1451, 1452])
@pytest.mark.parametrize("pair", [(HOST, US), (LINK, LOCAL)], ids=["global", "link-local"])
def test_udp(e, size, pair):
    src, dst = pair
    data = bytes(i & 255 for i in range(size))
    e.send(0, frame(IPv6(src=src, dst=dst, tc=0x2c, hlim=1) / UDP(sport=1000, dport=7) / Raw(data)))
    answer = taken(e)
    assert (answer.src, answer.dst, answer.tc) == (dst, src, 0x2c)
    assert (answer[UDP].sport, answer[UDP].dport) == (7, 1000)
    assert bytes(answer[UDP].payload) == data
    e.expect_counters(delivered_udp=1, udp_tx=1)


def test_extension_headers_are_not_returned(e):
    options = IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(4))])
    e.send(0, frame(IPv6(src=HOST, dst=US) / options / options / UDP(sport=1000, dport=7) / Raw(b"x")))
    answer = taken(e)
    assert answer.nh == 17 and bytes(answer[UDP].payload) == b"x"


def test_partial_behind_extension_headers(e):
    """The port was to complete the checksum at an offset that the answer no longer has."""
    options = IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(4))])
    raw = bytearray(bytes(frame(IPv6(src=HOST, dst=US) / options / UDP(sport=1000, dport=7) / Raw(b"xyz"))))
    raw[68:70] = struct.pack("!H", checksum(bytes(raw[22:54]) + struct.pack("!II", 11, 17)) ^ 0xffff)
    e.send(0, bytes(raw), flags="partial 62 6")
    answer = taken(e)
    assert answer.nh == 17 and bytes(answer[UDP].payload) == b"xyz"


def test_chargen(e):
    e.send(0, frame(IPv6(src=HOST, dst=US) / UDP(sport=1000, dport=19) / Raw(bytes(100))))
    answer = taken(e)
    assert len(answer[UDP].payload) == 100 and bytes(answer[UDP].payload).startswith(b" !\"#$")


@pytest.mark.parametrize("packet,counter", [
    (IPv6(src=HOST, dst=US) / UDP(sport=1000, dport=7, chksum=0) / Raw(b"x"), "drop_udp_malformed"),
    (IPv6(src=HOST, dst=US) / UDP(sport=1000, dport=7, chksum=1) / Raw(b"x"), "drop_udp_malformed"),
    (IPv6(src=HOST, dst=US) / UDP(sport=7, dport=7) / Raw(b"x"), "drop_udp_loop"),
    (IPv6(src="::", dst=US) / UDP(sport=1000, dport=7) / Raw(b"x"), "drop_ip6_src_martian"),
    (IPv6(src=US, dst=US) / UDP(sport=1000, dport=7) / Raw(b"x"), "drop_ip6_src_local"),
    (IPv6(src=HOST, dst="ff02::1") / UDP(sport=1000, dport=7) / Raw(b"x"), "drop_ip6_multicast"),
    (IPv6(src=HOST, dst="ff02::1") / TCP(sport=1000, dport=7), "drop_ip6_multicast"),
    (IPv6(src="::", dst=US) / TCP(sport=1000, dport=7), "drop_ip6_src_martian"),
    (IPv6(src=HOST, dst="2001:db8:1::9") / UDP(sport=1000, dport=7), "drop_ip6_not_ours"),
], ids=lambda p: p if isinstance(p, str) else "")
def test_no_answer(e, packet, counter):
    dst = "33:33:00:00:00:01" if packet.dst.startswith("ff") else US_MAC
    e.send(0, frame(packet, dst=dst))
    e.expect_nothing()
    e.expect_counters(**{counter: 1})


def test_link_multicast(e):
    """A packet to our own address in a multicast frame: it must not make many hosts answer."""
    e.send(0, frame(IPv6(src=HOST, dst=US) / UDP(sport=1000, dport=7), dst=BROADCAST))
    e.expect_nothing()
    e.expect_counters(drop_ip6_link_mcast=1)


def test_port_unreachable(e):
    """RFC 4443 3.1, code 4; only about a correct datagram."""
    request = IPv6(src=HOST, dst=US) / UDP(sport=1000, dport=9999) / Raw(b"abc")
    e.send(0, frame(request))
    answer = taken(e)
    assert (answer[ICMPv6DestUnreach].code, answer.src) == (4, US)
    assert bytes(answer[ICMPv6DestUnreach].payload) == bytes(request)
    assert e.counted()["drop_udp_port"] == 1
    request[UDP].chksum = 0x1234
    e.send(0, frame(request))
    e.expect_nothing()
    assert e.counted()["drop_udp_malformed"] == 1


def test_fragments_of_a_request(e):
    """The control core reassembles them and answers in fragments."""
    data = bytes(i & 255 for i in range(2000))
    whole = bytes(IPv6(src=HOST, dst=US) / UDP(sport=1000, dport=7) / Raw(data))[40:]
    for at, more in ((0, 1), (1400, 0)):
        piece = whole[at:at + 1400] if more else whole[at:]
        e.send(0, frame(IPv6(src=HOST, dst=US) / IPv6ExtHdrFragment(nh=17, offset=at // 8, m=more,
                                                                    id=77) / Raw(piece)))
    pieces = {}
    for out in e.take_all(0):
        packet = IPv6(out[14:])
        length = packet.plen - 8
        pieces[packet[IPv6ExtHdrFragment].offset * 8] = bytes(out[62:62 + length])
    answer = b"".join(pieces[at] for at in sorted(pieces))
    assert answer[8:] == data and answer[:4] == struct.pack("!HH", 7, 1000)
    assert e.counted()["delivered_udp"] == 1


class Peer:
    """The other end of a connection."""

    def __init__(self, m, src=HOST, dst=US, dport=7, sport=40000):
        self.m, self.src, self.dst, self.dport, self.sport = m, src, dst, dport, sport
        self.seq, self.ack = 1000, 0

    def send(self, flags, data=b"", ext=None, **fields):
        ip = IPv6(src=self.src, dst=self.dst)
        values = dict(sport=self.sport, dport=self.dport, seq=self.seq, ack=self.ack, flags=flags,
                      window=65535)
        values.update(fields)
        self.m.send(0, frame((ip / ext if ext else ip) / TCP(**values) / Raw(data)))
        self.seq += len(data) + ("S" in flags) + ("F" in flags)

    def take(self, flags):
        packet = taken(self.m)
        assert (packet.src, packet.dst, packet.fl) == (self.dst, self.src, 0)
        assert str(packet[TCP].flags) == flags
        return packet[TCP]

    def open(self, **fields):
        self.send("S", **fields)
        answer = self.take("SA")
        assert answer.ack == self.seq
        self.ack = answer.seq + 1
        self.send("A")
        return answer


@pytest.mark.parametrize("pair", [(HOST, US), (LINK, LOCAL)], ids=["global", "link-local"])
def test_tcp(e, pair):
    p = Peer(e, *pair)
    assert dict(p.open().options)["MSS"] == 1440
    p.send("PA", b"hello")
    answer = p.take("PA")
    assert bytes(answer.payload) == b"hello"
    p.ack += 5
    p.send("A")
    p.send("PA", b"again", ext=IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(4))]))
    assert bytes(p.take("PA").payload) == b"again"
    p.ack += 5
    p.send("FA")
    assert p.take("FA").ack == p.seq
    p.ack += 1
    p.send("A")
    e.expect_nothing()
    counted = e.counted()
    assert counted["tcp_accepts"] == counted["tcp_closes"] == 1


def test_show_tcp(e):
    """An IPv6 address and its port are told apart by brackets."""
    p = Peer(e)
    p.open()
    e.time(SECOND // 2)
    _, row = (line.split() for line in e.console("show tcp connections").splitlines())
    assert row[1:4] == ["[%s]:7" % US, "[%s]:%d" % (HOST, p.sport), "estab"]
    p.send("RA")
    e.take_all(0)


def test_connection_of_ours(make):
    """The control core opens a connection beside the application's TCP: from the address of the link, by neighbour discovery."""
    m = acquainted(boot(make, ALL, options="test=1"))
    assert m.console("test connect %s 6514" % HOST) == ""
    first = taken(m)
    assert (first.src, first.dst, first[TCP].dport, str(first[TCP].flags)) == (US, HOST, 6514, "SEC")
    assert first[TCP].sport >= 61000 and dict(first[TCP].options)["MSS"] == 1440
    p = Peer(m, dport=first[TCP].sport, sport=6514)
    p.ack = first[TCP].seq + 1
    p.send("SA")
    m.time(SECOND // 100)
    assert b"".join(bytes(IPv6(frame[14:])[TCP].payload) for frame in m.take_all(0)) == b"hello\n"
    assert "test connect: established plain" in m.text
    p.send("RA", seq=p.seq)
    assert "test connect: ended: the connection was reset" in m.text
    assert "there is no route" in m.console("test connect %s 6514" % LINK)  # on which link?
    assert m.counted()["tcp_connects"] == 1


def test_tcp_without_a_neighbour(e):
    """The first answer waits for the neighbour, and is not lost."""
    p = Peer(e, src="2001:db8:1::77")
    p.send("S")
    out = e.take(0)
    asked = IPv6(out.frame[14:])
    assert asked[ICMPv6ND_NS].tgt == p.src
    e.send(0, frame(IPv6(src=p.src, dst=asked.src, hlim=255) / ICMPv6ND_NA(
        tgt=p.src, R=0, S=1, O=1) / ICMPv6NDOptDstLLAddr(lladdr=A.mac)))
    assert p.take("SA").ack == p.seq


def test_reset(e):
    p = Peer(e, dport=8)
    p.send("S")
    answer = p.take("RA")
    assert (answer.seq, answer.ack) == (0, p.seq)
    e.expect_counters(drop_tcp_port=1, tcp_tx=1, tcp_tx_rst=1)


def test_reset_of_the_control_core(make):
    """An application without TCP still follows RFC 9293 3.10.7.1."""
    m = boot(make, ALL.replace("service echo tcp\nservice discard tcp\n", ""))
    m.send(0, frame(IPv6(src=HOST, dst=US, hlim=255) / ICMPv6ND_NS(tgt=US) /
                    ICMPv6NDOptSrcLLAddr(lladdr=A.mac)))
    m.take(0)
    p = Peer(m)
    p.send("S")
    assert p.take("RA").ack == p.seq
    p.send("S", chksum=1)
    m.expect_nothing()


def test_packet_too_big(e):
    """RFC 8201: the control core passes the message on, and the data core's connection continues
    with smaller segments; an MTU below 1280 is ignored."""
    p = Peer(e)
    p.open(options=[("MSS", 1440)])
    p.send("PA", bytes(1440))
    first = taken(e)
    assert len(first[TCP].payload) == 1440
    for mtu, told in ((1279, 0), (1300, 1)):
        e.send(0, frame(IPv6(src="2001:db8:1::99", dst=US) / ICMPv6PacketTooBig(mtu=mtu) /
                        Raw(bytes(first)[:1232])))
        assert e.counted().get("tcp_pmtu", 0) == told
    sizes = [len(taken(e)[TCP].payload) for _ in range(2)]
    assert sizes == [1240, 200]
