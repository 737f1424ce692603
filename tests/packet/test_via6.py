"""IPv4 routes with IPv6 next hops (RFC 8950), from a routing engine."""
import json

import pytest
from fpm_frames import *
from ip6 import *
from scapy.layers.inet import ICMP
from test_engine import ENGINE, Engine, counted, line
from test_http import Client
from test_trace import story

# eth1 has no IPv4 address: it borrows that of eth0 for its ICMP errors
UNNUMBERED = ENGINE.replace(" ip address 198.51.100.1/24\n", " ip unnumbered eth0\n")
BEHIND = "10.1.2.3"


def start(make, config=UNNUMBERED, **more):
    m = make(config, **more)
    m.learn(A, A2)
    m.text = ""
    return m


@pytest.fixture
def e(make):
    return start(make)


def from_a(dst=BEHIND, **fields):
    return udp(A, dst, **fields)


def send(m, packet):
    m.send(0, ether(A, ROUTER[0]) / packet)


def ask(station, address=None):
    """The solicitation for a station's link-local or other address, from our address of that scope."""
    address = address or station.link_local
    router = ROUTER[station.port]
    return solicit(router, address,
                   source=router.link_local if address.startswith("fe80") else router.ip6)


def answer(station, address=None):
    address = address or station.link_local
    router = ROUTER[station.port]
    return advert(station, router, target=address,
                  dst_ip=router.link_local if address.startswith("fe80") else router.ip6)


def resolve(m, packet, station=B, address=None):
    """The first packet to the next hop waits for its MAC, and then leaves as IPv4."""
    send(m, packet)
    m.expect(station.port, ask(station, address))
    m.expect_nothing()
    m.send(station.port, answer(station, address))
    m.expect(station.port, ether(ROUTER[station.port], station) / hop(packet))
    m.expect_nothing()


def leaves(m, packet, station=B):
    send(m, packet)
    m.expect(station.port, ether(ROUTER[station.port], station) / hop(packet))
    m.expect_nothing()


@pytest.mark.parametrize("address", [B.link_local, B.ip6])
def test_next_hop(e, address):
    Engine(e).tell(route("10.0.0.0/8", address, 102))
    resolve(e, from_a(), address=address)
    e.counted()
    leaves(e, from_a())
    e.expect_counters(forwarded=1)  # by the data core alone
    assert line(e, "10.0.0.0/8") == ["B 10.0.0.0/8         via %s eth1 [20] engine" % address]


def test_global_next_hop_without_index(e):
    Engine(e).tell(route("10.0.0.0/8", B.ip6))
    resolve(e, from_a(), address=B.ip6)


def test_a_next_hop_of_both_versions(e):
    """One neighbour, two Ethernet types."""
    z = Engine(e).tell(route("10.0.0.0/8", B.link_local, 102),
                       route("2001:db8:77::/48", B.link_local, 102))
    resolve(e, from_a())
    six = udp6(A, "2001:db8:77::1")
    for _ in range(2):
        e.send(0, ether(A, ROUTER[0]) / six, ether(A, ROUTER[0]) / from_a())
        e.expect(1, ether(ROUTER[1], B) / hop(from_a()))
        e.expect(1, ether(ROUTER[1], B) / hop6(six))
    z.tell(delete("10.0.0.0/8"))
    e.send(0, ether(A, ROUTER[0]) / six)
    e.expect(1, ether(ROUTER[1], B) / hop6(six))


def test_both_versions_wait(e):
    Engine(e).tell(route("10.0.0.0/8", B.link_local, 102),
                   route("2001:db8:77::/48", B.link_local, 102))
    six = udp6(A, "2001:db8:77::1")
    e.send(0, ether(A, ROUTER[0]) / six)
    e.expect(1, ask(B))
    send(e, from_a())
    e.send(1, answer(B))
    e.expect(1, ether(ROUTER[1], B) / hop6(six))
    e.expect(1, ether(ROUTER[1], B) / hop(from_a()))


def test_a_resolved_neighbour(e):
    """The route comes when the neighbour is known already: no packet waits."""
    z = Engine(e).tell(route("2001:db8:77::/48", B.link_local, 102))
    e.send(0, ether(A, ROUTER[0]) / udp6(A, "2001:db8:77::1"))
    e.expect(1, ask(B))
    e.send(1, answer(B))
    e.take(1)
    z.tell(route("10.0.0.0/8", B.link_local, 102))
    e.counted()
    leaves(e, from_a())
    assert e.counted() == {"forwarded": 1}


def test_neighbour_moves(e):
    """Its other MAC is used for both versions."""
    Engine(e).tell(route("10.0.0.0/8", B.link_local, 102))
    resolve(e, from_a())
    moved = Station(1, B.ip, "02:bb:00:00:00:99")
    e.send(1, advert(moved, ROUTER[1], target=B.link_local, dst_ip=ROUTER[1].link_local))
    leaves(e, from_a(), moved)


def test_unreachable_neighbour(e):
    """RFC 1812 5.2.7.1: host unreachable to the sender, of the packet that arrived."""
    Engine(e).tell(route("10.0.0.0/8", B.link_local, 102))
    packet = from_a()
    send(e, packet)
    for _ in range(3):
        e.expect(1, ask(B))
        e.time(SECOND)
    e.expect(0, error_about(ROUTER[0], A, hop(packet), 3, 1))
    assert e.counted()["drop_neigh_unreachable"] == 1


def test_use_keeps_the_neighbour(e):
    """Traffic of IPv4 alone counts as use: ND asks again (RFC 4861 7.3.3), and no packet waits."""
    Engine(e).tell(route("10.0.0.0/8", B.link_local, 102))
    resolve(e, from_a())
    probes = 0
    for _ in range(60):
        e.time(SECOND)
        for frame in e.take_all(1):
            assert Ether(frame)[ICMPv6ND_NS].tgt == B.link_local
            e.send(1, answer(B))
            probes += 1
        leaves(e, from_a())
    assert probes


def test_several_next_hops_of_both_versions(make):
    """The flows are shared as soon as both are known; a link that goes down leaves the group at once."""
    config = ENGINE + "interface eth2\n ipv6 enable\n ip unnumbered eth0\n" \
                      " ipv6 nd ra suppress\n routing engine index 103\n"
    c = Station(2, "203.0.113.2", "02:cc:00:00:00:02")
    m = make(config, ports=3)
    m.learn(A, B)
    Engine(m).tell(route("10.0.0.0/8", hops=((B.ip, 102, 1), (c.link_local, 103, 1))))
    assert len(line(m, "10.0.0.0/8")) == 1
    flows = [from_a(sport=1000 + i) for i in range(40)]
    m.send(0, *[ether(A, ROUTER[0]) / p for p in flows])
    m.expect(2, solicit(ROUTER[2], c.link_local, source=ROUTER[2].link_local))
    assert len(m.take_all(1)) == 40
    m.send(2, advert(c, ROUTER[2], target=c.link_local, dst_ip=ROUTER[2].link_local))
    assert len(line(m, "10.0.0.0/8")) == 2
    m.send(0, *[ether(A, ROUTER[0]) / p for p in flows])
    first, second = m.take_all(1), m.take_all(2)
    assert len(first) + len(second) == 40 and min(len(first), len(second)) >= 8
    assert {x[12:14] for x in first + second} == {b"\x08\0"}
    m.link(2, False)
    m.time(20 * MS)
    m.send(0, *[ether(A, ROUTER[0]) / p for p in flows])
    assert len(m.take_all(1)) == 40 and not m.take_all(2)
    m.link(1, False)
    m.time(20 * MS)
    send(m, from_a())
    assert m.take(0).frame[34:36] == b"\x03\0"  # net unreachable


def test_flows_that_waited_go_to_their_own_hop(make):
    """What has waited leaves by the member that its flow has."""
    m = start(make)
    Engine(m).tell(route("10.0.0.0/8", hops=((B.link_local, 102, 1), (B2.link_local, 102, 1))))
    packets = [from_a(sport=1000 + i) for i in range(20)]
    m.send(0, *[ether(A, ROUTER[0]) / p for p in packets])
    asked = {Ether(f)[ICMPv6ND_NS].tgt for f in m.take_all(1)}
    assert asked == {B.link_local, B2.link_local}
    m.send(1, answer(B), answer(B2))
    sent = [Ether(f).dst for f in m.take_all(1)]
    assert len(sent) == 20 and set(sent) == {B.mac, B2.mac}


def test_objects(e):
    z = Engine(e).tell(nexthop(5, B.link_local, 102), route("10.0.0.0/8", nh_id=5),
                       route("2001:db8:77::/48", nh_id=5))
    resolve(e, from_a())
    z.tell(nexthop(5, B2.link_local, 102))
    resolve(e, from_a(), B2)
    z.tell(delete_nexthop(5))
    assert not line(e, "10.0.0.0/8")


def test_route_goes(e):
    z = Engine(e).tell(route("10.0.0.0/8", B.link_local, 102))
    resolve(e, from_a())
    z.tell(delete("10.0.0.0/8"))
    send(e, from_a())
    e.expect(0, error_about(ROUTER[0], A, from_a(), 3, 0))


def test_fragments(make):
    m = start(make, UNNUMBERED.replace("interface eth1\n", "interface eth1\n mtu 1300\n"))
    Engine(m).tell(route("10.0.0.0/8", B.link_local, 102))
    for known in range(2):  # by the control core, then by the data core
        send(m, from_a(size=1400))
        if not known:
            m.expect(1, ask(B))
            m.send(1, answer(B))
        sizes = [Ether(f)[IP].len for f in m.take_all(1)]
        assert len(sizes) == 2 and max(sizes) <= 1300
    big = from_a(size=1400, flags="DF")
    send(m, big)
    m.expect(0, error_about(ROUTER[0], A, big, 3, 4, 1300))


def test_arrives_and_errors(e):
    """An unnumbered interface receives IPv4. Its errors have the borrowed address."""
    Engine(e).tell(route("10.0.0.0/8", B.link_local, 102))
    packet = udp("10.1.2.3", A)
    e.send(1, ether(B, ROUTER[1]) / packet)
    e.expect(0, ether(ROUTER[0], A) / hop(packet))
    late = udp("10.1.2.3", A, ttl=1)
    e.send(1, ether(B, ROUTER[1]) / late)
    e.expect(1, ask(B))
    e.send(1, answer(B))
    e.expect(1, ether(ROUTER[1], B) / icmp_error(ROUTER[0], late, 11, 0))
    nowhere = udp("10.1.2.3", "172.16.0.1")
    e.send(1, ether(B, ROUTER[1]) / nowhere)
    e.expect(1, ether(ROUTER[1], B) / icmp_error(ROUTER[0], nowhere, 3, 0))


def test_ping_the_router(e):
    """From beyond the IPv6 link to the address of another interface."""
    Engine(e).tell(route("10.0.0.0/8", B.link_local, 102))
    resolve(e, from_a())
    request = IP(src="10.1.2.3", dst=ROUTER[0].ip) / ICMP(id=7, seq=1) / Raw(b"x" * 40)
    reply = IP(src=ROUTER[0].ip, dst="10.1.2.3") / ICMP(type=0, id=7, seq=1) / Raw(b"x" * 40)
    e.send(1, ether(B, ROUTER[1]) / request)
    e.expect(1, ether(ROUTER[1], B) / reply)


def test_the_machine_pings(e):
    """The machine's own packets have the borrowed address."""
    Engine(e).tell(route("10.0.0.0/8", B.link_local, 102))
    e.console("ping 10.1.2.3 count 1")
    e.expect(1, ask(B))
    e.send(1, answer(B))
    request = Ether(e.take(1).frame)
    assert request.type == 0x800 and request.dst == B.mac
    assert request[IP].src == ROUTER[0].ip and request[IP].dst == "10.1.2.3"


def test_no_arp_on_an_unnumbered_interface(e):
    e.send(1, arp_request(B, ROUTER[0].ip))
    e.expect_nothing()
    assert e.counted() == {"drop_port_down": 1}


def test_a_link_needs_an_address(e):
    """An unnumbered interface cannot ask for IPv4 hosts."""
    z = Engine(e)
    z.tell(route("10.0.0.0/8", None, 102))
    assert counted(e, "refused", "interface") == 1 and not line(e, "10.0.0.0/8")


def test_interface_without_ipv4(make):
    """It takes no part in IPv4, so no IPv4 packet leaves or enters by it."""
    m = start(make, ENGINE.replace(" ip address 198.51.100.1/24\n", ""))
    Engine(m).tell(route("10.0.0.0/8", B.link_local, 102))
    send(m, from_a())
    m.expect(0, error_about(ROUTER[0], A, from_a(), 3, 0))
    assert "via %s [20] engine (interface takes no part)" % B.link_local in \
        m.console("show ip route inactive")
    m.counted()
    m.send(1, ether(B, ROUTER[1]) / udp("10.1.2.3", A))
    m.expect_nothing()
    m.expect_counters(drop_port_down=1)


def test_lender_shut_down(make):
    m = make(UNNUMBERED.replace("unnumbered eth0", "unnumbered lo0") +
             "interface lo0\n ip address 10.9.9.9/32\n shutdown\n")
    m.counted()
    m.send(1, ether(B, ROUTER[1]) / udp("10.1.2.3", A))
    m.expect_counters(drop_port_down=1)


def test_far_next_hop(e):
    """The hops of an IPv6 route have IPv6's Ethernet type, so an IPv6 next hop must be near."""
    Engine(e).tell(route("2001:db8:77::/48", B.link_local, 102),
                   route("10.0.0.0/8", "2001:db8:77::1"))
    send(e, from_a())
    e.expect(0, error_about(ROUTER[0], A, from_a(), 3, 0))
    assert "(IPv6 next hop on no subnet of ours)" in e.console("show ip route inactive")


def test_hidden_next_hop(e):
    """FRR before 10.6 does not state the address without next-hop objects."""
    Engine(e).tell(route("10.0.0.0/8", "169.254.0.1", 102))
    assert counted(e, "refused", "gateway_hidden") == 1


def test_no_redirect(make):
    """RFC 1812 5.2.7.2: a redirect names an IPv4 address, which such a next hop lacks."""
    m = start(make, ENGINE.replace("interface eth0\n", "interface eth0\n ip redirects\n"))
    Engine(m).tell(route("10.0.0.0/8", A2.link_local, 101))
    resolve(m, from_a(), A2)
    m.counted()
    leaves(m, from_a(), A2)
    m.expect_counters(forwarded=1, redirect_needed=1)


def test_trace_and_pages_name_the_next_hop(make):
    m = start(make, UNNUMBERED + WEB)
    Engine(m).tell(route("10.0.0.0/8", B.link_local, 102))
    resolve(m, from_a())
    said = dict(story(m, ether(A, ROUTER[0]) / from_a()))
    m.expect(1, ether(ROUTER[1], B) / hop(from_a()))
    assert said["route"] == "10.0.0.0/8 via %s eth1" % B.link_local
    assert said["neighbour"] == "%s eth1" % B.mac
    rows = json.loads(Client(m, sport=50001).get("/api/v1/routes.json")[2])["routes"]
    row, = [r for r in rows if r["prefix"] == "10.0.0.0/8"]
    assert (row["via"], row["port"], row["resolved"]) == (B.link_local, "eth1", True)
    assert "  unnumbered, address of eth0\n" in m.console("show interfaces")


def test_verify_source(make):
    """Strict: the way back to the source is by the IPv6 next hop of that interface."""
    m = start(make, UNNUMBERED.replace(
        "interface eth1\n",
        "interface eth1\n ip verify unicast source reachable-via rx allow-default\n"))
    Engine(m).tell(route("10.0.0.0/8", B.link_local, 102))
    good, forged = udp("10.1.2.3", A), udp("192.0.2.77", A)
    m.counted()
    m.send(1, ether(B, ROUTER[1]) / good, ether(B, ROUTER[1]) / forged)
    m.expect(0, ether(ROUTER[0], A) / hop(good))
    m.expect_nothing()
    m.expect_counters(forwarded=1, drop_ip4_urpf=1)


def test_churn_keeps_the_versions_apart(make):
    """`test churn` moves routes among next hops of their own version."""
    m = start(make, options="test=1")
    Engine(m).tell(*[route("10.%d.0.0/16" % n, B.link_local, 102) for n in range(8)],
                   *[route("2001:db8:7%d::/48" % n, B2.link_local, 102) for n in range(8)])
    four, six = from_a(), udp6(A, "2001:db8:71::1")
    resolve(m, four)
    m.send(0, ether(A, ROUTER[0]) / six)
    m.expect(1, ask(B2))
    m.send(1, answer(B2))
    m.take_all(1)
    m.key("test churn 20000 2\r")
    for _ in range(40):
        m.time(50 * MS)
        m.send(0, ether(A, ROUTER[0]) / four, ether(A, ROUTER[0]) / six)
        for sent in m.take_all(1):
            frame = Ether(sent)
            if ICMPv6ND_NS in frame:
                m.send(1, answer(B if frame[ICMPv6ND_NS].tgt == B.link_local else B2))
            else:
                assert (frame.type, frame.dst) == ((0x800, B.mac) if sent[14] >> 4 == 4 else
                                                   (0x86dd, B2.mac))
        m.take_all(0)  # errors, while a prefix is withdrawn
    m.time(2 * SECOND)
    m.take_all(0), m.take_all(1)
    assert " 0 replaced" in m.text and "prefixes restored" in m.text
