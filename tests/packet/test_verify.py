"""Source address verification (RFC 3704): which sources an interface accepts, on both paths through
the router, for both families; and changes by a commit while packets are forwarded."""
import pytest
from ip6 import *
from machine import *
from scapy.layers.inet import IPOption_NOP
from test_configure import run
from test_drops import with_options
from test_filter import PROVOKED, answered_by_icmp, manual, provoking, raw_frame

ROUTES = """\
ip route 203.0.113.0/24 192.0.2.2
ip route 203.0.113.128/25 198.51.100.2
ip route 203.0.114.0/24 null0
ipv6 route 2001:db8:a::/48 2001:db8:1::2
ipv6 route 2001:db8:a:8000::/49 2001:db8:2::2
ipv6 route 2001:db8:b::/48 null0
"""
DEFAULT = "ip route 0.0.0.0/0 198.51.100.2\nipv6 route ::/0 2001:db8:2::2\n"
LINE = " %s verify unicast source reachable-via %s allow-default\n"

# source: whether `rx` and `any` of eth0 accept it, without a default route and with one by eth1
SOURCES = {
    "192.0.2.2": "rx any rx any",       # a host of the link, known
    "192.0.2.77": "rx any rx any",      # not known
    "203.0.113.5": "rx any rx any",     # routed to the link
    "203.0.113.200": "- any - any",     # routed elsewhere, by a longer prefix
    "198.51.100.2": "- any - any",      # of another link
    "8.8.8.8": "- - - any",             # of nowhere
    "203.0.114.1": "- - - -",           # a black hole
    "192.0.2.1": "- - - -",             # ourselves
    "198.51.100.1": "- - - -",          # the same, by another port
    "192.0.2.255": "- - - -",           # broadcasts
    "198.51.100.255": "- - - -",
}
SOURCES6 = {
    "2001:db8:1::2": "rx any rx any",
    "2001:db8:1::77": "rx any rx any",
    "2001:db8:a::5": "rx any rx any",
    "2001:db8:a:8000::5": "- any - any",
    "2001:db8:2::2": "- any - any",
    "2001:db8:ffff::1": "- - - any",
    "2001:db8:b::1": "- - - -",
    "2001:db8:1::1": "- - - -",
    "2001:db8:2::1": "- - - -",
}


def configured(lines, routes=ROUTES):
    return CONFIG6.replace("interface eth1\n", lines + "interface eth1\n") + routes


def known(make, lines, routes=ROUTES):
    m = make(configured(lines, routes))
    m.learn(A, B)
    learn6(m, A, B)
    return m


def judge(m, packet, passes):
    """A packet for B from eth0 is forwarded, or silently dropped."""
    six = IPv6 in packet
    m.send(0, ether(A, ROUTER[0]) / packet)
    if passes:
        m.expect(1, ether(ROUTER[1], B) / (hop6(packet) if six else hop(packet)))
    m.expect_nothing()
    m.expect_counters(**{"forwarded" if passes else "drop_ip6_urpf" if six else "drop_ip4_urpf": 1})


@pytest.mark.parametrize("way", ["rx", "any"])
@pytest.mark.parametrize("default", [False, True], ids=["", "default"])
def test_sources(make, way, default):
    m = known(make, LINE % ("ip", way), ROUTES + DEFAULT * default)
    for source, verdict in SOURCES.items():
        passes = verdict.split()[default * 2 + (way == "any")] != "-"
        judge(m, udp(source, B), passes)
        slow = IP(src=source, dst=B.ip, options=[IPOption_NOP()] * 4) / UDP() / Raw(b"slow")
        judge(m, slow, passes)


@pytest.mark.parametrize("way", ["rx", "any"])
@pytest.mark.parametrize("default", [False, True], ids=["", "default"])
def test_sources6(make, way, default):
    m = known(make, LINE % ("ipv6", way), ROUTES + DEFAULT * default)
    for source, verdict in SOURCES6.items():
        passes = verdict.split()[default * 2 + (way == "any")] != "-"
        judge(m, udp6(source, B), passes)
        judge(m, IPv6(src=source, dst=B.ip6) / IPv6ExtHdrHopByHop() / UDP() / Raw(b"slow"), passes)


def test_default_on_this_interface(make):
    """The interface then accepts all sources except those routed elsewhere."""
    m = known(make, LINE % ("ip", "rx") + LINE % ("ipv6", "rx"),
              ROUTES + "ip route 0.0.0.0/0 192.0.2.2\nipv6 route ::/0 2001:db8:1::2\n")
    judge(m, udp("8.8.8.8", B), True)
    judge(m, udp6("2001:db8:ffff::1", B), True)
    judge(m, udp("203.0.113.200", B), False)
    judge(m, udp6("2001:db8:a:8000::5", B), False)


def test_a_vector_closes_up(make):
    m = known(make, LINE % ("ip", "rx") + LINE % ("ipv6", "rx"))
    packets = []
    for i in range(100):
        packets += [udp("192.0.2.%d" % (2 + i), B, sport=i), udp("10.0.0.%d" % i, A),
                    udp6("2001:db8:1::%x" % (2 + i), B, sport=i), udp6("2001:db8:c::%x" % i, A)]
    for k in range(0, len(packets), 200):
        m.send(0, *[ether(A, ROUTER[0]) / p for p in packets[k:k + 200]])
    got = [Ether(f) for f in m.take_all(1)]
    assert sorted(f.src for f in got) == [ROUTER[1].mac] * 200
    assert [f[UDP].sport for f in got if IP in f] == list(range(100))
    assert [f[UDP].sport for f in got if IPv6 in f] == list(range(100))
    m.expect_counters(forwarded=200, drop_ip4_urpf=100, drop_ip6_urpf=100)


def test_other_interfaces_are_not_asked(make):
    m = known(make, LINE % ("ip", "rx") + LINE % ("ipv6", "rx"))
    m.send(1, ether(B, ROUTER[1]) / udp("10.1.2.3", A))
    m.expect(0, ether(ROUTER[0], A) / hop(udp("10.1.2.3", A)))
    m.send(1, ether(B, ROUTER[1]) / udp6("2001:db8:ffff::1", A))
    m.expect(0, ether(ROUTER[0], A) / hop6(udp6("2001:db8:ffff::1", A)))
    m.expect_counters(forwarded=2)


def test_to_the_machine_itself(make):
    """Forged packets to the machine itself are dropped too; link-scope messages are not."""
    m = known(make, LINE % ("ip", "rx") + LINE % ("ipv6", "rx"))
    for source, counter in (("8.8.8.8", "drop_ip4_urpf"), ("198.51.100.2", "drop_ip4_urpf")):
        m.send(0, ether(A, ROUTER[0]) / IP(src=source, dst=ROUTER[0].ip) / ICMP())
        m.expect_nothing()
        m.expect_counters(**{counter: 1})
    m.send(0, ether(A, ROUTER[0]) / IP(src=A.ip, dst=ROUTER[0].ip) / ICMP())
    assert ICMP in Ether(m.take(0).frame)
    m.counted()
    m.send(0, ether(A, ROUTER[0]) / echo6("2001:db8:ffff::1", ROUTER[0].ip6))
    m.expect_nothing()
    m.expect_counters(drop_ip6_urpf=1)
    for source in (A.ip6, A.link_local):
        m.send(0, ether(A, ROUTER[0]) / echo6(source, ROUTER[0].link_local))
        m.take_all(0)
        assert "drop_ip6_urpf" not in m.counted()
    probe = IPv6(src="::", dst=in6_group(ROUTER[0].ip6), hlim=255) / ICMPv6ND_NS(tgt=ROUTER[0].ip6)
    m.send(0, Ether(src=A.mac, dst="33:33:ff:00:00:01") / probe)
    assert ICMPv6ND_NA in Ether(m.take(0).frame)  # DAD of another station: our address is in use
    assert "drop_ip6_urpf" not in m.counted()


def in6_group(addr):
    return inet_ntop(socket.AF_INET6, in6_getnsma(inet_pton(socket.AF_INET6, addr)))


@pytest.mark.parametrize("way", ["rx", "any"])
@pytest.mark.parametrize("name", provoking(B, redirects=False))
def test_a_forged_source_is_told_nothing(make, name, way):
    """RFC 1812 5.3.8: silently. The owner of a forged source gets no error, whatever is wrong with the
    packet. `any` takes this source, whose way back is by another interface, so it provokes one."""
    packet = provoking(B, redirects=False)[name]
    six = bytes(packet)[0] >> 4 == 6
    lines = LINE % ("ip", way) + LINE % ("ipv6", way)
    m = make(PROVOKED.replace("interface eth1\n", lines + "interface eth1\n"))
    m.send_raw(0, raw_frame(packet, A))
    assert answered_by_icmp(m, 1) == (way == "any")
    if way == "rx":
        m.expect_counters(**{"drop_ip6_urpf" if six else "drop_ip4_urpf": 1})


@pytest.mark.parametrize("verified", [True, False], ids=["verified", "not verified"])
@pytest.mark.parametrize("packet", [
    udp(B, B2), udp(B, B2, options=[IPOption_NOP()] * 4), with_options(b"\x07\0\0\0", src=B.ip),
    udp6(B, B2), IPv6(src=B.ip6, dst=B2.ip6) / IPv6ExtHdrHopByHop() / UDP() / Raw(b"slow")],
    ids=["plain", "options", "bad options", "IPv6", "hop by hop"])
def test_a_forged_source_is_not_told_that_it_is_denied(make, packet, verified):
    """RFC 1812 5.3.8 (MUST silently) before 5.3.9 (SHOULD tell): the filter is asked first and counts
    the packet. Where sources are verified, its error does not go to the owner of a forged one."""
    six = bytes(packet)[0] >> 4 == 6
    lines = " ip access-group F in\n ipv6 traffic-filter G in\n"
    if verified:
        lines += LINE % ("ip", "rx") + LINE % ("ipv6", "rx")
    m = make(PROVOKED.replace("interface eth1\n", lines + "interface eth1\n") +
             "ip access-list F\n deny ip any any\nipv6 access-list G\n deny ipv6 any any\n")
    for src, port, told in ((B, 1, not verified), (A, 0, True)):
        raw = bytes(packet)
        raw = raw.replace(inet(B, six), inet(src, six))
        m.send_raw(0, raw_frame(raw if six else checked(raw), A))
        assert answered_by_icmp(m, port) == told
        m.expect_nothing()
        prohibited = {"icmp%s_tx_unreach_prohibited" % ("6" if six else ""): 1} if told else {}
        m.expect_counters(drop_acl_in=1, **prohibited)


def inet(station, six):
    return inet_pton(socket.AF_INET6, station.ip6) if six else socket.inet_aton(station.ip)


def checked(raw):
    """The IPv4 packet with its header checksum made anew."""
    head = (raw[0] & 15) * 4
    blank = raw[:10] + b"\0\0" + raw[12:head]
    return raw[:10] + checksum(blank).to_bytes(2, "big") + raw[12:]


def test_commit_while_packets_run(make):
    m = known(make, "")
    judge(m, udp("8.8.8.8", B), True)
    judge(m, udp6("2001:db8:ffff::1", B), True)
    for lines, verdict4, verdict6 in (
            (["ip verify unicast source reachable-via rx allow-default"], False, True),
            (["ipv6 verify unicast source reachable-via any allow-default"], False, False),
            (["no ip verify unicast source reachable-via"], True, False),
            (["no ipv6 verify unicast source reachable-via any allow-default"], True, True)):
        run(m, "configure", "interface eth0", *lines)
        assert m.console("commit").endswith("committed\n")  # nothing restarts
        m.console("end")
        judge(m, udp("8.8.8.8", B), verdict4)
        judge(m, udp6("2001:db8:ffff::1", B), verdict6)


def test_routes_change_the_verdict(make):
    m = known(make, LINE % ("ip", "rx"), "")
    judge(m, udp("10.0.0.1", B), False)
    run(m, "configure", "ip route 10.0.0.0/8 192.0.2.2", "commit", "end")
    judge(m, udp("10.0.0.1", B), True)


@pytest.mark.parametrize("app", ["echo", "discard"])
def test_routers_alone(make, app):
    m = make("application %s\n" % app + configured(LINE % ("ip", "rx"), ""), boot=False)
    m.time(SECOND)
    assert "the application %s does not verify sources" % app in m.text


def test_manual(make):
    """The example of docs/configuration.md does what the text beside it says."""
    m = make(manual("configuration", "### Source addresses"))
    m.learn(A, B)
    judge(m, udp(A, B), True)
    judge(m, udp("8.8.8.8", B), False)
    m.send(1, ether(B, ROUTER[1]) / udp("8.8.8.8", A))
    m.expect(0, ether(ROUTER[0], A) / hop(udp("8.8.8.8", A)))
    m.counted()
    m.send(1, ether(B, ROUTER[1]) / udp("203.0.113.1", A))
    m.expect_nothing()
    m.expect_counters(drop_ip4_urpf=1)
