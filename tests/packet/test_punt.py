"""The ring between a data core and the control core is divided (runtime/ring.c, punt_has_room).
Three eighths of it are reserved, in equal parts, for each kind of message by each port, an eighth
for the protocols of the routing engine and of links and the application's own messages, so a flood of one kind by one port blocks neither other kinds nor
the same kind by another port. The harness runs a turn of the control core only when nothing is
received, so frames that arrive together find a ring that is not emptied."""
import pytest
from machine import *
from scapy.layers.inet import TCP, UDPerror
from scapy.layers.inet6 import (ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS,
                                ICMPv6NDOptSrcLLAddr, IPv6, IPv6ExtHdrFragment)

SLOTS = 512  # RING_SLOTS_MAX
PORTS = 2
SHARES = 10 * PORTS  # PUNT_KINDS, for each port
KEPT = SLOTS * 3 // 8 // SHARES
WHOLES = 10 + 3 + 1  # PUNT_WHOLE: protocols of the routing engine, of links, the application's messages
WHOLE = SLOTS // 8 // WHOLES * WHOLES  # their places; their rate is limited before
ROOM = SLOTS - (SHARES - 1) * KEPT - WHOLE  # for a flood of one kind by one port
FLOOD = 1000
NOBODY = "198.51.100.77"
OWN = "192.0.2.77"  # on A's link, not known: an ICMP error to it waits for its neighbour

CONFIG46 = """\
ip icmp rate-limit 1000000 burst 100000
interface eth0
 ip address 192.0.2.1/24
 ipv6 address 2001:db8:1::1/64
 ipv6 nd ra suppress
interface eth1
 ip address 198.51.100.1/24
"""


def frame_to(packet, src=A):
    return ether(src, ROUTER[src.port]) / packet


def ask(hops=255):
    """A neighbour's solicitation for the router's address; the hop limit says whether it is from
    the link."""
    return ether(A, ROUTER[0]) / IPv6(src=A.ip6, dst=ROUTER[0].ip6, hlim=hops) / \
        ICMPv6ND_NS(tgt=ROUTER[0].ip6) / ICMPv6NDOptSrcLLAddr(lladdr=A.mac)


FRAMES = {
    "arp": arp_request(A2, ROUTER[0].ip),
    "nd": ask(),
    "local": frame_to(IP(src=A.ip, dst=ROUTER[0].ip) / ICMP(id=1, seq=1)),
    "tcp": frame_to(IP(src=A.ip, dst=ROUTER[0].ip) / TCP(flags="A", dport=80)),
    "bfd": frame_to(udp(A, ROUTER[0], ttl=255, sport=49152, dport=3784)),  # nobody takes them here:
    "multihop": frame_to(udp(A, ROUTER[0], sport=49152, dport=4784)),  # port unreachable
    # complete, although it has a fragment header (RFC 6946), and so answered at once
    "fragment": frame_to(IPv6(src=A.ip6, dst=ROUTER[0].ip6) / IPv6ExtHdrFragment(id=1) /
                         ICMPv6EchoRequest(id=1, seq=1)),
    "resolve": frame_to(udp(A, NOBODY)),
    "own": frame_to(udp(OWN, B, ttl=1)),
}
AT_ONCE = ("arp", "nd", "local", "tcp", "bfd", "multihop", "fragment")  # each of these is answered at once


def answers(m):
    """Counts the answers by the kind of frame that caused them."""
    got = collections.Counter()
    for frame in m.take_all(0) + m.take_all(1):
        p = Ether(frame)
        if ARP in p:
            got["arp" if p[ARP].op == 2 else {NOBODY: "resolve", OWN: "own"}[p[ARP].pdst]] += 1
        else:
            got["nd" if ICMPv6ND_NA in p else "fragment" if ICMPv6EchoReply in p else
                "tcp" if TCP in p else
                {3784: "bfd", 4784: "multihop"}[p[UDPerror].dport] if UDPerror in p else "local"] += 1
    return got


def start(make, config=CONFIG46):
    m = make(config)
    m.learn(A)
    m.send(0, FRAMES["nd"])  # A's IPv6 is known, too
    answers(m)
    m.counted()
    return m


@pytest.mark.parametrize("flood", FRAMES)
def test_flood(make, flood):
    """The flood gets half of the ring and its own part; everything else passes."""
    m = start(make)
    for _ in range(FLOOD):
        m.queue(0, padded(FRAMES[flood]))
    m.send(0, *(frame for kind, frame in FRAMES.items() if kind != flood))
    got, counted = answers(m), m.counted()
    assert set(got) == set(FRAMES)
    assert all(got[kind] == 1 for kind in AT_ONCE if kind != flood)
    lost = "originated_drop_tx" if flood == "own" else "drop_punt_full"
    assert counted[lost] == FLOOD - ROOM
    if flood in AT_ONCE:
        assert got[flood] == ROOM


def test_everybody_floods(make):
    """Each kind gets its own part, and the rest goes to the first ones."""
    m = start(make)
    rounds = 800  # the harness holds 8192 frames
    for _ in range(rounds):
        for frame in FRAMES.values():
            m.queue(0, padded(frame))
    m.command("run")
    got, counted = answers(m), m.counted()
    assert all(got[kind] >= KEPT for kind in AT_ONCE)
    kinds = len(FRAMES)
    room = SLOTS - (SHARES - kinds) * KEPT - WHOLE  # without the parts of other ports and kinds
    assert sum(got[kind] for kind in AT_ONCE) <= room - 2 * KEPT
    assert counted["drop_punt_full"] + counted["originated_drop_tx"] == rounds * kinds - room


NOT_OURS = Ether(src=B.mac, dst="02:ff:00:00:00:01") / udp(B, A)


@pytest.mark.parametrize("kind", ("local", "arp"))
def test_the_same_by_another_port(make, kind):
    """A flood by one port leaves the other its part of the same kind, for either port, and also if
    the ring was full before the other's messages arrived."""
    m = start(make)
    m.learn(B)
    answers(m)
    m.counted()
    other = {"local": ether(B, ROUTER[1]) / IP(src=B.ip, dst=ROUTER[1].ip) / ICMP(id=1, seq=1),
             "arp": arp_request(B, ROUTER[1].ip)}[kind]
    for flood, few in ((0, 1), (1, 0), (0, 1)):
        by = {0: FRAMES[kind], 1: other}
        for _ in range(FLOOD):
            m.queue(flood, padded(by[flood]))
            m.queue(few, padded(NOT_OURS))  # a vector of these for each of the flood's
        for _ in range(KEPT + 3):
            m.queue(few, padded(by[few]))
        m.command("run")
        assert len(m.take_all(flood)) == ROOM
        assert len(m.take_all(few)) == KEPT
        assert m.counted()["drop_punt_full"] == FLOOD - ROOM + 3


def test_room_comes_back(make):
    """Places are freed per kind, as messages are served, and all at once when the ports restart."""
    m = start(make)
    for turn in range(4):
        if turn == 2:
            m.command("restart")
            m.settle(3)
            m.learn(A)
            m.send(0, FRAMES["nd"])
            answers(m), m.counted()
        for kind in ("local", "arp"):
            for _ in range(FLOOD):
                m.queue(0, padded(FRAMES[kind]))
            m.command("run")
            assert answers(m) == {kind: ROOM}
            assert m.counted()["drop_punt_full"] == FLOOD - ROOM


def test_discovery_from_beyond(make):
    """Neighbour discovery is ICMPv6, like a flood of pings. Its hop limit proves that it is from
    the link; a similar message from beyond the link has no part of its own."""
    m = start(make)
    ping = ether(A, ROUTER[0]) / IPv6(src=A.ip6, dst=ROUTER[0].ip6) / ICMPv6EchoRequest(id=1, seq=1)
    for _ in range(FLOOD):
        m.queue(0, padded(ping))
    m.send(0, ask(254), ask())
    sent = [Ether(frame) for frame in m.take_all(0)]
    adverts = [p for p in sent if ICMPv6ND_NA in p]
    assert [(p.dst, p[IPv6].dst, p[ICMPv6ND_NA].tgt) for p in adverts] == \
        [(A.mac, A.ip6, ROUTER[0].ip6)]
    counted = m.counted()
    assert counted["drop_punt_full"] == FLOOD - ROOM + 1
    assert counted["delivered_nd"] == 1 and counted["delivered_icmp6"] == ROOM


TO_PORT_80 = {
    4: IP(src=A.ip, dst=ROUTER[0].ip), 6: IPv6(src=A.ip6, dst=ROUTER[0].ip6),
}


@pytest.mark.parametrize("version", TO_PORT_80)
def test_connections_in_a_flood_of_syn(make, version):
    """A SYN competes with pings. Segments of existing connections do not."""
    m = start(make)
    for n in range(FLOOD):
        m.queue(0, padded(frame_to(TO_PORT_80[version] / TCP(sport=n + 1, flags="S", dport=80))))
    m.send(0, frame_to(TO_PORT_80[version] / TCP(sport=7777, flags="A", ack=5, dport=80)),
           FRAMES["local"])
    resets = [Ether(frame)[TCP] for frame in m.take_all(0)]
    assert len(resets) == ROOM + 1 and [r.seq for r in resets if r.dport == 7777] == [5]
    assert m.counted()["drop_punt_full"] == FLOOD - ROOM + 1


def test_pings_in_a_flood_of_fragments(make):
    """IPv4 fragments, none of which completes a packet: reassembly has its own bounds
    (reassembly.h)."""
    m = start(make)
    for n in range(FLOOD):
        m.queue(0, padded(frame_to(IP(src=A.ip, dst=ROUTER[0].ip, id=n, flags="MF", proto=17) /
                                   Raw(bytes(8)))))
    m.send(0, FRAMES["local"], FRAMES["arp"], FRAMES["nd"], FRAMES["tcp"])
    got, counted = answers(m), m.counted()
    assert got == {"local": 1, "arp": 1, "nd": 1, "tcp": 1}
    assert counted["drop_punt_full"] == FLOOD - ROOM
    assert counted["drop_frag_full"] + m.waiting() == ROOM and m.waiting() <= 64
    m.time(61 * SECOND)
    m.take_all(0)
    assert m.waiting() == 0
