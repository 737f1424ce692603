"""The ring between a data core and the control core is shared out (control/plane.c, punt_eighths):
a flood of one kind of packet leaves room for others, on which more depends. The harness takes a turn
of the control core only when nothing is received, so what arrives together finds a ring that nobody
empties."""
from machine import *
from scapy.layers.inet6 import (ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr,
                                IPv6)

SLOTS = 512  # RING_SLOTS_MAX
FLOOD = 1000


def frame_to(packet, src=A):
    return ether(src, ROUTER[src.port]) / packet


def ping_flood(m):
    request = frame_to(IP(src=A.ip, dst=ROUTER[0].ip) / ICMP(id=1, seq=1))
    for _ in range(FLOOD):
        m.queue(0, padded(request))


def test_flood_to_ourselves(make):
    """Half of the ring is for it; a packet whose neighbour is not known, and ARP, come through."""
    m = make()
    m.learn(A)
    packet = udp(A, B)
    ping_flood(m)
    m.send(0, frame_to(packet), arp_request(A2, ROUTER[0].ip))
    m.expect(1, arp_request(ROUTER[1], B.ip))
    assert m.take_all(0)[-1] == padded(arp_reply(ROUTER[0], A2))
    assert m.waiting() == 1
    m.expect_counters(delivered_icmp=SLOTS // 2, icmp_tx_echo_reply=SLOTS // 2,
                      drop_punt_full=FLOOD - SLOTS // 2, arp_tx_request=1, delivered_arp=1,
                      arp_tx_reply=1)
    m.send(1, arp_reply(B, ROUTER[1]))
    m.expect(1, ether(ROUTER[1], B) / hop(packet))
    m.expect_counters(delivered_arp=1, forwarded=1)


def test_flood_of_the_unknown(make):
    """Three quarters are for packets whose neighbour is not known; ARP finds them nevertheless."""
    m = make()
    m.learn(A)
    for n in range(FLOOD):
        m.queue(0, padded(frame_to(udp(A, "198.51.100.%d" % (10 + n % 200)))))
    m.send(0, arp_request(A2, ROUTER[0].ip))
    counted = m.counted()
    assert counted["drop_punt_full"] == FLOOD - SLOTS * 3 // 4
    assert (counted["delivered_arp"], counted["arp_tx_reply"]) == (1, 1)
    m.expect(0, arp_reply(ROUTER[0], A2))
    m.take_all(1)
    m.time(30 * SECOND)
    m.take_all(0), m.take_all(1)
    assert m.waiting() == 0


CONFIG6 = """\
interface eth0
 ipv6 address 2001:db8:1::1/64
 ipv6 nd ra suppress
"""


def test_flood_to_ourselves_in_ip6(make):
    """Neighbour discovery is ICMPv6 as the flood is. Its hop limit says that it is from the link;
    what looks like it and comes from beyond has no more room than other packets."""
    m = make(CONFIG6, ports=1, boot=False)
    m.time(10 * SECOND)
    m.take_all(0)
    m.counted()
    src, router = "2001:db8:1::2", "2001:db8:1::1"
    ping = ether(A, ROUTER[0]) / IPv6(src=src, dst=router) / ICMPv6EchoRequest(id=1, seq=1)
    ask = ICMPv6ND_NS(tgt=router) / ICMPv6NDOptSrcLLAddr(lladdr=A.mac)
    near, far = (ether(A, ROUTER[0]) / IPv6(src=src, dst=router, hlim=hops) / ask
                 for hops in (255, 254))
    for _ in range(FLOOD):
        m.queue(0, padded(ping))
    m.send(0, far, near)
    sent = [Ether(frame) for frame in m.take_all(0)]
    adverts = [p for p in sent if ICMPv6ND_NA in p]
    assert [(p.dst, p[IPv6].dst, p[ICMPv6ND_NA].tgt) for p in adverts] == [(A.mac, src, router)]
    counted = m.counted()
    assert counted["drop_punt_full"] == FLOOD - SLOTS // 2 + 1
    assert counted["delivered_nd"] == 1 and counted["delivered_icmp6"] == SLOTS // 2
