"""Redirects (RFC 1812 5.2.7.2; RFC 4861 8.2), for both families: which senders get one, about which
packets and next hops; their rate; a commit enables and disables them."""
import pytest
from ip6 import *
from machine import *
from scapy.layers.inet import IPOption_LSRR, IPOption_NOP, fragment
from scapy.layers.inet6 import ICMPv6NDOptRedirectedHdr
from test_configure import run

LINE4, LINE6 = " ip redirects\n", " ipv6 redirects\n"
ROUTES = """\
ip route 10.0.0.0/8 192.0.2.3
ip route 10.9.0.0/16 203.0.113.130
ip route 10.8.0.0/16 192.0.2.2
ipv6 route 2001:db8:a::/48 %s eth0
ipv6 route 2001:db8:b::/48 2001:db8:1::3
ipv6 route 2001:db8:c::/48 %s eth0
""" % (A2.link_local, A.link_local)
SECONDARY = " ip address 203.0.113.129/25 secondary\n"
OTHER = Station(0, "203.0.113.130", "02:aa:00:00:00:30")


def configured(lines=LINE4 + LINE6):
    return CONFIG6.replace("interface eth1\n", SECONDARY + lines + "interface eth1\n") + ROUTES


def learn_link_local(m, *stations):
    for s in stations:
        m.send(s.port, solicit(s, ROUTER[s.port].link_local, source=s.link_local))
        m.take_all(s.port)
        m.time(6 * SECOND)  # it is probed in turn (RFC 4861 7.3.3)
        m.take_all(s.port)
        m.send(s.port, advert(s, ROUTER[s.port], s.link_local, dst_ip=ROUTER[s.port].link_local))
    m.counted()


def known(make, lines=LINE4 + LINE6, extra=""):
    m = make(configured(lines) + extra)
    m.learn(A, A2, B)
    m.send(0, arp_request(OTHER, "203.0.113.129"))
    m.take(0)
    learn6(m, A, A2, B)
    learn_link_local(m, A, A2)
    return m


def redirect4(packet, gateway, router="192.0.2.1"):
    """RFC 792: type 5, code 1 (host), the gateway's address."""
    rest = int.from_bytes(socket.inet_aton(gateway), "big")
    return icmp_error(Station(0, router, ROUTER[0].mac), packet, 5, 1, rest)


def redirect6(packet, target, mac):
    """RFC 4861 4.5, 4.6.3: the quote is a multiple of 8 bytes, the packet at most 1280 bytes."""
    dst = fixed6(packet).dst
    quote = bytes(packet)[:1280 - 40 - 40 - 8 - 8]
    quote = quote[:len(quote) & ~7]
    body = bytes([137, 0, 0, 0]) + bytes(4) + inet_pton(socket.AF_INET6, target) + \
        inet_pton(socket.AF_INET6, dst) + \
        b"\x02\x01" + bytes.fromhex(mac.replace(":", "")) + \
        bytes([4, 1 + len(quote) // 8]) + bytes(6) + quote
    return icmp6_raw(ROUTER[0].link_local, fixed6(packet).src, body, hlim=255)


def told(m, packet, to, redirect, sender=A):
    """The packet is forwarded and its sender gets a redirect."""
    six = IPv6 in packet
    m.send(0, ether(sender, ROUTER[0]) / packet)
    frames = m.take_all(0)
    assert sorted(frames) == sorted([
        padded(ether(ROUTER[0], to) / (hop6(packet) if six else hop(packet))),
        padded(ether(ROUTER[0], sender) / redirect)]), [Ether(f).summary() for f in frames]
    m.expect_nothing()
    m.expect_counters(forwarded=1, redirect_needed=1,
                      **{"nd_tx_redirect" if six else "icmp_tx_redirect": 1})


def not_told(m, packet, to, sender=A, **counters):
    """The packet is only forwarded."""
    m.send(0, ether(sender, ROUTER[0]) / packet)
    m.expect(to.port, ether(ROUTER[to.port], to) / (hop6(packet) if IPv6 in packet else hop(packet)))
    m.expect_nothing()
    m.expect_counters(forwarded=1, **counters)


slow4 = dict(options=[IPOption_NOP()] * 4)


def slow6(src, dst):
    return IPv6(src=src, dst=dst) / IPv6ExtHdrHopByHop() / UDP() / Raw(b"slow")


@pytest.mark.parametrize("size", [0, 5, 500, 1400])
def test_to_a_gateway_and_to_a_host_of_the_link(make, size):
    m = known(make)
    packet = udp(A, "10.1.2.3", size)
    told(m, packet, A2, redirect4(packet, A2.ip))
    packet = udp(A, A2, size)
    told(m, packet, A2, redirect4(packet, A2.ip))
    packet = udp6(A, "2001:db8:a::5", size)
    told(m, packet, A2, redirect6(packet, A2.link_local, A2.mac))
    packet = udp6(A, A2, size)
    told(m, packet, A2, redirect6(packet, A2.ip6, A2.mac))


def test_scapy_reads_it(make):
    """An independent implementation agrees on the format."""
    m = known(make)
    m.send(0, ether(A, ROUTER[0]) / udp6(A, "2001:db8:a::5"))
    frames = [Ether(f) for f in m.take_all(0)]
    r = next(f for f in frames if ICMPv6ND_Redirect in f)
    assert (r.tgt, r[ICMPv6ND_Redirect].dst) == (A2.link_local, "2001:db8:a::5")
    assert r[ICMPv6NDOptDstLLAddr].lladdr == A2.mac
    assert r[ICMPv6NDOptRedirectedHdr].pkt.dst == "2001:db8:a::5"
    assert r[IPv6].hlim == 255


def test_the_slow_way(make):
    m = known(make)
    packet = udp(A, "10.1.2.3", **slow4)
    told(m, packet, A2, redirect4(packet, A2.ip))
    packet = slow6(A.ip6, "2001:db8:a::5")
    told(m, packet, A2, redirect6(packet, A2.link_local, A2.mac))


def test_subnets_of_one_link(make):
    """RFC 1812 5.2.7.2: the sender is on the gateway's subnet, and the redirect is from our address
    there."""
    m = known(make)
    not_told(m, udp(A, "10.9.0.1"), OTHER, redirect_needed=1)
    not_told(m, udp(OTHER, "10.1.0.1"), A2, sender=OTHER, redirect_needed=1)
    packet = udp("203.0.113.131", OTHER)
    m.send(0, arp_request(Station(0, "203.0.113.131", A.mac), "203.0.113.129"))
    m.take_all(0)
    m.counted()
    told(m, packet, OTHER, redirect4(packet, OTHER.ip, "203.0.113.129"))


def test_who_is_not_told(make):
    m = known(make)
    for packet in (udp("10.77.0.1", A2),                        # behind another router
                   udp("198.51.100.9", A2),                     # from another subnet
                   udp(A, "10.8.0.1"),                          # the next hop is the sender
                   IP(src=A.ip, dst=A2.ip) / ICMP(type=3, code=1) / udp(A2, A),  # an error
                   fragment(udp(A, A2, 100), fragsize=64)[1]):  # a later fragment
        not_told(m, packet, A if packet.dst == "10.8.0.1" else A2, redirect_needed=1)
    not_told(m, udp(A, "10.8.0.1"), A, sender=A2, redirect_needed=1)  # the next hop
    not_told(m, udp6(A, A), A, sender=A2, redirect_needed=1)
    for packet in (udp6("2001:db8:ffff::1", A2), udp6("2001:db8:2::9", A2),
                   udp6(A, "2001:db8:b::5")):                   # a gateway not link-local
        not_told(m, packet, A2, redirect_needed=1)
    for packet in (udp(A, B), udp6(A, B)):
        not_told(m, packet, B)


def test_in_one_vector(make):
    """In one vector, each packet is handled in its place: those in between go elsewhere, by known
    and unknown neighbours, and bytes after a packet are neither quoted nor sent."""
    m = known(make)
    one, two, other = udp(A, A2, 100), udp(A2, "10.8.1.1", 90), udp(A, B)
    silent = udp(A, "192.0.2.77")
    behind = b"behind it all"
    m.send(0, *[bytes(ether(s, ROUTER[0]) / p) + x for s, p, x in (
        (A, other, b""), (A, one, behind), (A, silent, b""), (A2, two, behind), (A, other, b""))])
    for _ in range(2):
        m.expect(B.port, ether(ROUTER[1], B) / hop(other))
    frames = m.take_all(0)
    assert sorted(f for f in frames if Ether(f).type == 0x800) == sorted([
        padded(ether(ROUTER[0], A2) / hop(one)),
        padded(ether(ROUTER[0], A) / redirect4(one, A2.ip)),
        padded(ether(ROUTER[0], A) / hop(two)),
        padded(ether(ROUTER[0], A2) / redirect4(two, A.ip))])
    counted = m.counted()
    assert (counted["icmp_tx_redirect"], counted["redirect_needed"], counted["forwarded"]) == (2, 3, 4)


def test_itself_by_its_link_local_address(make):
    """The route leads back to the sender, recognised by its MAC."""
    m = known(make)
    not_told(m, udp6(A, "2001:db8:c::5"), A, redirect_needed=1)
    packet = udp6(A2, "2001:db8:c::5")
    told(m, packet, A, redirect6(packet, A.link_local, A.mac), sender=A2)


def test_a_source_route_is_not_even_forwarded(make):
    m = known(make)
    packet = udp(A, A2, options=[IPOption_LSRR(routers=["10.1.1.1"])])
    m.send(0, ether(A, ROUTER[0]) / packet)
    m.take_all(0)
    m.expect_counters(drop_ip4_options=1, icmp_tx_param_problem=1)


@pytest.mark.parametrize("lines", ["", LINE4, LINE6], ids=["none", "4", "6"])
def test_only_where_configured(make, lines):
    m = known(make, lines)
    if lines != LINE4:
        not_told(m, udp(A, A2), A2, redirect_needed=1)
        not_told(m, udp(A, A2, **slow4), A2, redirect_needed=1)
    if lines != LINE6:
        not_told(m, udp6(A, A2), A2, redirect_needed=1)
        not_told(m, slow6(A.ip6, A2.ip6), A2, redirect_needed=1)


def test_of_which_nobody_knows_the_mac(make):
    """The packet waits for its neighbour; the next one causes a redirect."""
    m = known(make)
    silent = Station(0, "192.0.2.9", "02:aa:00:00:00:09")
    packet = udp(A, silent)
    m.send(0, ether(A, ROUTER[0]) / packet)
    m.expect(0, arp_request(ROUTER[0], silent.ip))
    m.send(0, arp_reply(silent, ROUTER[0]))
    m.expect(0, ether(ROUTER[0], silent) / hop(packet))
    m.expect_nothing()
    assert "icmp_tx_redirect" not in m.counted()
    told(m, packet, silent, redirect4(packet, silent.ip))


def test_large_ones_are_told_and_cut(make):
    """A packet that is fragmented towards its next hop; the quote is of the whole packet."""
    m = known(make)
    packet = udp(A, A2, 1472 - 8)
    told(m, packet, A2, redirect4(packet, A2.ip))


def test_rate(make):
    """RFC 4861 8.2, RFC 1812 4.3.2.8: the rate is limited, separately from errors."""
    m = known(make, extra="ip icmp rate-limit 10 burst 3\n")
    for i in range(5):
        m.send(0, ether(A, ROUTER[0]) / udp(A, A2), ether(A, ROUTER[0]) / udp6(A, A2))
    m.take_all(0)
    counted = m.counted()
    assert counted["icmp_tx_redirect"] + counted["nd_tx_redirect"] == 3
    assert counted["redirect_limited"] == 7 and counted["forwarded"] == 10
    m.send(0, ether(A, ROUTER[0]) / udp(A, B, ttl=1))
    m.take_all(0)
    m.expect_counters(drop_ip4_ttl=1, icmp_tx_time_exceeded=1)
    m.time(SECOND)
    packet = udp(A, A2)
    told(m, packet, A2, redirect4(packet, A2.ip))


def test_commit_while_packets_run(make):
    m = known(make, "")
    for line, four, six in (("ip redirects", True, False), ("ipv6 redirects", True, True),
                            ("no ip redirects", False, True), ("no ipv6 redirects", False, False)):
        run(m, "configure", "interface eth0", line)
        assert m.console("commit").endswith("committed\n")  # nothing restarts
        m.console("end")
        for wanted, packet in ((four, udp(A, A2)), (six, udp6(A, A2))):
            if not wanted:
                not_told(m, packet, A2, redirect_needed=1)
            elif IPv6 in packet:
                told(m, packet, A2, redirect6(packet, A2.ip6, A2.mac))
            else:
                told(m, packet, A2, redirect4(packet, A2.ip))


@pytest.mark.parametrize("app", ["echo", "discard"])
def test_routers_alone(make, app):
    config = CONFIG.replace("interface eth1\n", LINE4 + "interface eth1\n")
    m = make("application %s\n" % app + config, boot=False)
    m.time(SECOND)
    assert "the application %s sends no redirects" % app in m.text
