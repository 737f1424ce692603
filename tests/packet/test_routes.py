"""Static routes: several for a prefix, distances, links that go down and up, routes that discard,
and changes to all of these under traffic."""
import json

import pytest
from ip6 import *
from machine import *
from test_http import Client

BASE = CONFIG6 + """\
interface eth2
 ip address 203.0.113.1/24
 ipv6 address 2001:db8:3::1/64
 ipv6 nd ra suppress
"""
C = Station(2, "203.0.113.2", "02:cc:00:00:00:02")
NET = {4: "10.0.0.0/8", 6: "2001:db8:f000::/36"}
WIDE = {4: "0.0.0.0/0", 6: "::/0"}
FLOWS = 100


def gateway(family, station):
    return station.ip if family == 4 else station.ip6


def line(family, prefix, to, more=""):
    to = to if isinstance(to, str) else gateway(family, to)
    return "%s route %s %s%s" % ("ip" if family == 4 else "ipv6", prefix, to, more)


def lines(family, *routes):
    return "".join(line(family, *route) + "\n" for route in routes)


def packets(family):
    """One packet of each of FLOWS flows from A into NET."""
    make = (lambda n: udp(A, "10.1.2.3", sport=2000 + n)) if family == 4 else (
        lambda n: udp6(A, "2001:db8:f123::1", sport=2000 + n))
    return [make(n) for n in range(FLOWS)]


def spread(m, family):
    """Sends all flows; returns the port by which each left, or None."""
    m.send(0, *(ether(A, ROUTER[0]) / p for p in packets(family)))
    by = {}
    for port in range(1, len(m.outs)):
        for frame in map(Ether, m.take_all(port)):
            if UDP in frame: # not a request for a neighbour
                by[frame[UDP].sport - 2000] = port
    return [by.get(n) for n in range(FLOWS)]


@pytest.fixture(params=[4, 6], ids=["v4", "v6"])
def family(request):
    return request.param


@pytest.fixture
def start(make):
    def boot(text):
        m = make(BASE + text, ports=3)
        m.learn(A, B, C)
        learn6(m, A, B, C)
        m.counted()
        return m
    return boot


def set_link(m, port, up):
    m.link(port, up)
    m.time(20 * MS)
    if up:
        s = (None, B, C)[port]
        m.settle(12, asked=(s.ip, s.ip6))
        m.send(port, arp_request(s, ROUTER[port].ip))
        m.send(port, ether(s, ROUTER[port]) / echo6(s, ROUTER[port], 8))  # it is asked for, if not already
        m.send(port, advert(s, ROUTER[port]))
        m.time(2 * SECOND)
        m.take_all(port)
    m.counted()


def commit(m, *entered):
    m.console("configure")
    for text in entered:
        assert "%" not in m.console(text)
    said = m.console("commit")
    m.console("end")
    assert "committed" in said and "restart" not in said, said


def test_flows_are_shared(start, family):
    m = start(lines(family, (NET[family], B), (NET[family], C)))
    by = spread(m, family)
    assert min(by.count(1), by.count(2)) > 20 and by.count(1) + by.count(2) == FLOWS
    assert spread(m, family) == by
    m.expect_counters(forwarded=2 * FLOWS)
    said = m.console("show ip%s route" % ("" if family == 4 else "v6"))
    for s, port in ((B, 1), (C, 2)):
        assert re_line(NET[family], "via %s eth%d [1]" % (gateway(family, s), port)) in said


def re_line(prefix, rest):
    return "S %-*s %s\n" % (18 if ":" not in prefix else 34, prefix, rest)


def test_a_link_goes_and_comes_back(start, family):
    m = start(lines(family, (NET[family], B), (NET[family], C)))
    before = spread(m, family)
    set_link(m, 1, False)
    assert spread(m, family) == [2] * FLOWS
    set_link(m, 1, True)
    after = spread(m, family)
    assert min(after.count(1), after.count(2)) > 20
    assert [n for n, (was, now) in enumerate(zip(before, after)) if was == 2 and now == 1] or \
        after == before


def test_floating(start, family):
    m = start(lines(family, (NET[family], B), (NET[family], C, " 200")))
    assert spread(m, family) == [1] * FLOWS
    set_link(m, 1, False)
    assert spread(m, family) == [2] * FLOWS
    set_link(m, 1, True)
    assert spread(m, family) == [1] * FLOWS


def forwarded(m, count):
    """All of so many packets have been."""
    counted = m.counted()
    assert counted.pop("forwarded") == count and not [name for name in counted if "drop" in name], counted


def asked_for(m, station):
    """Discards what the machine has sent by that station's port; how often it has asked for the station."""
    frames = [Ether(frame) for frame in m.take_all(station.port)]
    return sum(ARP in frame and frame[ARP].pdst == station.ip or
               ICMPv6ND_NS in frame and frame[ICMPv6ND_NS].tgt == station.ip6 for frame in frames)


def answers(m, family, station):
    """Waits until the station is asked for; then it answers."""
    kind = {4: V4, 6: V6}[family]
    for _ in range(20):
        if asked_for(m, station):
            break
        m.time(SECOND)
    m.send(station.port, kind.answer(station))
    m.counted()


@pytest.mark.parametrize("more", ["", " 200"], ids=["shared", "floating"])
def test_a_next_hop_returns_when_it_has_answered(start, family, more):
    """The machine asks for it as soon as its link is back. Until it answers, its flows stay where they are."""
    m = start(lines(family, (NET[family], B), (NET[family], C, more)))
    before = spread(m, family)
    set_link(m, 1, False)
    assert spread(m, family) == [2] * FLOWS
    m.link(1, True)
    m.time(20 * MS)
    if family == 4:
        assert asked_for(m, B) == 1  # no packet had to come for it
    m.time(3 * SECOND)  # IPv6: its own addresses first
    assert spread(m, family) == [2] * FLOWS
    m.counted()
    m.take_all(1)
    m.time(10 * SECOND)
    assert asked_for(m, B)  # again, although it has not answered three times
    assert spread(m, family) == [2] * FLOWS
    forwarded(m, FLOWS)
    answers(m, family, B)
    after = spread(m, family)
    assert set(after) == set(before)
    assert more or min(after.count(1), after.count(2)) > 20  # not those of the other member too
    forwarded(m, FLOWS)
    m.time(3 * SECOND)
    assert not asked_for(m, B)


def test_a_recursive_next_hop_returns_when_it_has_answered(start, family):
    """One of two gateways behind neighbours: the recursive route's flows wait for the neighbour."""
    prefix, far, _ = FAR[family]
    m = start(lines(family, (INSIDE[family], far), (INSIDE[family], C), (prefix, B)))
    assert set(spread(m, family)) == {1, 2}
    set_link(m, 1, False)
    assert spread(m, family) == [2] * FLOWS
    m.link(1, True)
    m.time(20 * SECOND)
    assert asked_for(m, B)
    assert spread(m, family) == [2] * FLOWS
    forwarded(m, 2 * FLOWS)
    answers(m, family, B)
    assert set(spread(m, family)) == {1, 2}
    forwarded(m, FLOWS)


def test_a_new_next_hop_begins_when_it_has_answered(start, family):
    """The same for one that is added while another has the flows."""
    new = Station(1, "198.51.100.9", "02:bb:00:00:00:09")
    m = start(lines(family, (NET[family], C)))
    assert spread(m, family) == [2] * FLOWS
    commit(m, line(family, NET[family], new))
    assert asked_for(m, new) == 1
    assert spread(m, family) == [2] * FLOWS
    shown = "show ip%s route %s" % ("" if family == 4 else "v6", NET[family])
    assert "[1] (its neighbour has not answered)" in m.console(shown)
    m.send(1, {4: V4, 6: V6}[family].answer(new))
    assert set(spread(m, family)) == {1, 2}
    assert "(" not in m.console(shown)


def test_the_only_next_hop_is_used_at_once(start, family):
    """It has nobody to wait for, even if another prefix has."""
    wide = "10.0.0.0/7" if family == 4 else "2001:db8:e000::/35"
    m = start(lines(family, (wide, B), (wide, C), (NET[family], B)))
    set_link(m, 1, False)
    m.link(1, True)
    m.time(2 * SECOND)
    m.take_all(1)
    m.counted()
    m.send(0, *(ether(A, ROUTER[0]) / p for p in packets(family)[:3]))
    assert m.waiting() == 3 and not m.take_all(2)
    m.send(1, {4: V4, 6: V6}[family].answer(B))
    assert len(m.take_all(1)) == 3
    forwarded(m, 3)
    assert set(spread(m, family)) == {1}


def test_nobody_is_left(start, family):
    """Without a next hop the prefix leaves the table, and a shorter one gets its packets, until a
    link is back."""
    m = start(lines(family, (NET[family], B), (NET[family], B2), (WIDE[family], C)))
    assert set(spread(m, family)) <= {1, None}
    m.time(5 * SECOND)
    m.take_all(0), m.take_all(1)
    set_link(m, 1, False)
    assert spread(m, family) == [2] * FLOWS
    set_link(m, 1, True)
    assert 1 in spread(m, family)
    m.time(5 * SECOND)
    m.take_all(0), m.take_all(1), m.counted()


def test_one_route_whose_link_goes(start, family):
    """It leaves the table too, and a shorter prefix gets its packets."""
    m = start(lines(family, (NET[family], B), (WIDE[family], C)))
    assert spread(m, family) == [1] * FLOWS
    set_link(m, 1, False)
    assert spread(m, family) == [2] * FLOWS
    assert inactive(m, family) == [["S", NET[family], "via", gateway(family, B), "[1]", "(link",
                                    "down)"], ["1", "prefixes"]]
    set_link(m, 1, True)
    assert spread(m, family) == [1] * FLOWS
    assert inactive(m, family) == [["0", "prefixes"]]


def test_a_link_that_never_comes(make, family):
    """Its device does not start, so its state is unknown: it counts as up for three seconds."""
    m = make(BASE + lines(family, (NET[family], B), (WIDE[family], C)), ports=3, boot=False,
             dead=(1,))
    m.time(SECOND)
    assert inactive(m, family) == [["0", "prefixes"]]
    m.time(3 * SECOND)
    m.settle(12)
    assert [row[1] for row in inactive(m, family)[:-1]] == [NET[family]]
    m.learn(A, C)
    learn6(m, A, C)
    assert spread(m, family) == [2] * FLOWS


def inactive(m, family):
    said = m.console("show ip%s route inactive" % ("" if family == 4 else "v6"))
    return [line.split() for line in said.splitlines()]


def test_more_gateways_than_neighbours(make):
    """Routes whose next hops find no room are inactive, and become active when others have been
    removed."""
    hops = ["203.0.%d.%d" % (128 + n // 200, 1 + n % 200) for n in range(4200)]
    text = "".join("ip route 10.%d.%d.0/24 %s\n" % (n >> 8, n & 255, hop)
                   for n, hop in enumerate(hops))
    m = make(BASE + " ip address 203.0.255.1/17 secondary\n" + text, ports=3)
    out = len(inactive(m, 4)) - 1
    assert 104 <= out <= 120, out # a few neighbours are hosts
    assert inactive(m, 4)[0][-6:] == ["[1]", "(no", "room", "for", "its", "neighbour)"]
    commit(m, *("no ip route 10.%d.%d.0/24" % (n >> 8, n & 255) for n in range(200)))
    m.time(SECOND)
    assert inactive(m, 4) == [["0", "prefixes"]]


FAR = {4: ("10.99.0.0/16", "10.99.0.1", "10.99.1.1"),
       6: ("2001:db8:f999::/48", "2001:db8:f999::1", "2001:db8:f999:1::1")}
INSIDE = {4: "10.1.0.0/16", 6: "2001:db8:f100::/40"}


def test_recursive(start, family):
    """The next hop is on no link: its packets follow the route to the next hop, even when that
    route changes."""
    prefix, far, _ = FAR[family]
    m = start(lines(family, (INSIDE[family], far), (WIDE[family], "blackhole")))
    assert spread(m, family) == [None] * FLOWS # a default route does not resolve a next hop
    assert inactive(m, family)[0][-5:] == ["[1]", "(no", "route", "to", "it)"]
    commit(m, line(family, prefix, B))
    assert spread(m, family) == [1] * FLOWS
    said = m.console("show ip%s route %s" % ("" if family == 4 else "v6", INSIDE[family]))
    assert said.split() == ["S", INSIDE[family], "via", gateway(family, B), "eth1", "[1]", "for", far]
    commit(m, "no " + line(family, prefix, B), line(family, prefix, C))
    assert spread(m, family) == [2] * FLOWS
    commit(m, line(family, prefix, B))
    assert set(spread(m, family)) == {1, 2}
    set_link(m, 2, False)
    assert spread(m, family) == [1] * FLOWS
    set_link(m, 1, False)
    assert spread(m, family) == [None] * FLOWS
    set_link(m, 2, True)
    assert spread(m, family) == [2] * FLOWS
    commit(m, "no %s route %s" % ("ip" if family == 4 else "ipv6", prefix))
    assert spread(m, family) == [None] * FLOWS
    m.counted()


def test_recursive_ones_do_not_hang_on_each_other(start, family):
    """Two routes that each lead to the other's next hop; and one that covers its own."""
    (prefix, one, two), inside = FAR[family], INSIDE[family]
    other = "10.1.2.9" if family == 4 else "2001:db8:f123::9"
    m = start(lines(family, (inside, one), (prefix, other), (NET[family], two, " 7"),
                    (WIDE[family], C)))
    assert spread(m, family) == [2] * FLOWS
    assert len(inactive(m, family)) == 4
    commit(m, line(family, NET[family], B, " 9"))
    assert spread(m, family) == [1] * FLOWS # by NET, like all now
    assert len(inactive(m, family)) == 1


def test_recursive_with_one_in_reserve(start, family):
    prefix, far, _ = FAR[family]
    m = start(lines(family, (INSIDE[family], far), (INSIDE[family], C, " 50"), (prefix, B)))
    assert spread(m, family) == [1] * FLOWS
    set_link(m, 1, False)
    assert spread(m, family) == [2] * FLOWS
    said = m.console("show ip%s route %s" % ("" if family == 4 else "v6", INSIDE[family]))
    assert [row.split()[4:] for row in said.splitlines()] == [
        ["eth2", "[50]"], ["[1]", "(no", "route", "to", "it)"]]


def test_a_floating_blackhole(start, family):
    m = start(lines(family, (NET[family], B), (NET[family], "blackhole", " 254"), (WIDE[family], C)))
    assert spread(m, family) == [1] * FLOWS
    set_link(m, 1, False)
    assert spread(m, family) == [None] * FLOWS
    m.expect_counters(drop_route_blackhole=FLOWS)


ANSWER = {("unreachable", 4): (3, 1), ("prohibit", 4): (3, 13), ("null0", 4): (3, 1),
          ("unreachable", 6): (1, 3), ("prohibit", 6): (1, 1), ("null0", 6): (1, 6)}


@pytest.mark.parametrize("kind", ["blackhole", "unreachable", "prohibit", "null0"])
def test_nowhere(start, family, kind):
    m = start(lines(family, (NET[family], kind)))
    p = packets(family)[0]
    m.send(0, ether(A, ROUTER[0]) / p)
    if kind != "blackhole":
        error = Ether(m.take(0).frame)
        raw = bytes(error.payload)[20 if family == 4 else 40:]
        assert (raw[0], raw[1]) == ANSWER[kind, family]
    m.expect_nothing()
    counted = m.counted()
    name = "drop_ip%d_null0" % family if kind == "null0" else "drop_route_" + kind
    assert counted[name] == 1 and len(counted) == (1 if kind == "blackhole" else 2)
    said = m.console("show ip%s route" % ("" if family == 4 else "v6"))
    assert re_line(NET[family], kind + " [1]") in said


def test_commits(start, family):
    """One route becomes two, one of them is removed, all are removed; each prefix always has the
    committed routes."""
    m = start(lines(family, (NET[family], B), (WIDE[family], "blackhole")))
    assert spread(m, family) == [1] * FLOWS
    commit(m, line(family, NET[family], C))
    both = spread(m, family)
    assert min(both.count(1), both.count(2)) > 20
    commit(m, "no " + line(family, NET[family], B))
    assert spread(m, family) == [2] * FLOWS
    commit(m, line(family, NET[family], B, " 9"), line(family, NET[family], "prohibit", " 10"))
    assert spread(m, family) == [2] * FLOWS
    commit(m, "no " + line(family, NET[family], C))
    assert spread(m, family) == [1] * FLOWS
    commit(m, "no %s route %s" % ("ip" if family == 4 else "ipv6", NET[family]))
    assert spread(m, family) == [None] * FLOWS
    commit(m, line(family, NET[family], C), line(family, NET[family], B))
    again = spread(m, family)
    assert min(again.count(1), again.count(2)) > 20
    m.counted()


def test_many_prefixes_share_a_set(start):
    """More prefixes with several routes than there are groups; all are removed and added again."""
    text = "".join("ip route 10.%d.%d.0/24 %s\n" % (n >> 8, n & 255, s.ip)
                   for n in range(3000) for s in (B, C))
    m = start(text + "ip route 0.0.0.0/0 blackhole\n")
    for _ in range(2):
        assert set(spread(m, 4)) == {1, 2}
        commit(m, *("no ip route 10.%d.%d.0/24" % (n >> 8, n & 255) for n in (0, 258, 515)))
        assert spread(m, 4) == [None] * FLOWS
        commit(m, *("ip route 10.%d.%d.0/24 %s" % (n >> 8, n & 255, s.ip)
                    for n in (0, 258, 515) for s in (C, B)))
    set_link(m, 1, False)
    assert spread(m, 4) == [2] * FLOWS
    set_link(m, 2, False)
    assert spread(m, 4) == [None] * FLOWS
    set_link(m, 2, True)
    assert spread(m, 4) == [2] * FLOWS


def test_a_thousand_changes_leave_nothing(start, family):
    """Sets, groups and pins that leaked would run out."""
    m = start(lines(family, (NET[family], B)))
    m.console("configure")
    for n in range(1100):
        other = "203.0.113.%d" % (3 + n % 200) if family == 4 else "2001:db8:3::%x" % (3 + n % 200)
        m.console(line(family, NET[family], other, " %d" % (2 + n % 250)))
        assert "committed" in m.console("commit"), n
        m.console("no " + line(family, NET[family], other, " %d" % (2 + n % 250)))
    assert "committed" in m.console("commit")
    m.console("end")
    assert spread(m, family) == [1] * FLOWS
    assert "%" not in m.console("show ip route summary")
    m.counted()


def port_to(m, packet):
    """The port that a packet from A leaves by, and the station it is sent to."""
    m.take_all(0), m.take_all(1), m.take_all(2)
    m.send(0, ether(A, ROUTER[0]) / packet)
    by = [(port, frame.dst) for port in (1, 2) for frame in map(Ether, m.take_all(port))
          if UDP in frame]
    m.counted()
    return by


def test_a_route_over_a_neighbour(start):
    """A neighbour has a route of its own while it is known. A static route to the very address goes
    before that one, as long as its link is up; both come and go while the ports run."""
    over = "ip route %s/32 %s" % (B.ip, C.ip)
    by_host, by_route, packet = [(1, B.mac)], [(2, C.mac)], udp(A, B)
    m = start(over + "\n")
    assert port_to(m, packet) == by_route
    said = m.console("show ip route " + B.ip)
    assert said == ("S %s/32    via %s eth2 [1]\nN %s/32    neighbour %s eth1 (not used)\n" %
                    (B.ip, C.ip, B.ip, B.ip))
    set_link(m, 2, False)
    assert port_to(m, packet) == by_host
    assert [row[0] for row in inactive(m, 4)] == ["S", "1"]
    set_link(m, 2, True)
    assert port_to(m, packet) == by_route
    for _ in range(2):
        commit(m, "no " + over)
        assert port_to(m, packet) == by_host
        commit(m, over)
        assert port_to(m, packet) == by_route
    set_link(m, 1, False) # the neighbour is forgotten: nothing is left for it
    assert port_to(m, packet) == by_route
    commit(m, "no " + over)
    assert port_to(m, packet) == []
    assert B.ip + "/32" not in m.console("show ip route")
    commit(m, over)
    m.time(5 * SECOND) # nobody waits for it any more
    m.take_all(0), m.take_all(1)
    set_link(m, 1, True)
    assert port_to(m, packet) == by_route
    commit(m, "no " + over)
    assert port_to(m, packet) == by_host


def test_a_neighbour_that_is_its_own_next_hop(make):
    """`ip route H/32 H`, where H is a neighbour: known, not known yet, on a link that goes."""
    route, packet = "ip route %s/32 %s" % (B.ip, B.ip), udp(A, B)
    m = make(BASE + route + "\n", ports=3)
    m.learn(A)
    m.send(0, ether(A, ROUTER[0]) / packet)
    m.expect(1, arp_request(ROUTER[1], B.ip))
    m.send(1, arp_reply(B, ROUTER[1]))
    m.expect(1, ether(ROUTER[1], B) / hop(packet))
    assert port_to(m, packet) == [(1, B.mac)]
    for _ in range(2):
        commit(m, "no " + route)
        assert port_to(m, packet) == [(1, B.mac)]
        commit(m, route)
        assert port_to(m, packet) == [(1, B.mac)]
    set_link(m, 1, False)
    assert port_to(m, packet) == []
    m.time(5 * SECOND)
    m.take_all(0), m.take_all(1)
    set_link(m, 1, True)
    assert port_to(m, packet) == [(1, B.mac)]
    commit(m, "no " + route)
    assert port_to(m, packet) == [(1, B.mac)]


@pytest.mark.parametrize("plen", (65, 80))
def test_a_route_over_our_own_address(start, plen):
    """IPv6: a route to a part of our subnet that covers an address of ours takes the others there,
    and not us: while it is there, whether it can be used or not."""
    over = "ipv6 route 2001:db8:1::/%d %s" % (plen, C.ip6)
    m = start("")
    ping, own = echo6(A, ROUTER[0]), "C 2001:db8:1::1/128"
    beside = udp6(B, "2001:db8:1::77")

    def answers():
        # A's own address is in that part too, so the answer takes the route
        m.take_all(0), m.take_all(2)
        m.send(0, ether(A, ROUTER[0]) / ping)
        replies = [port for port in (0, 2) for frame in map(Ether, m.take_all(port))
                   if ICMPv6EchoReply in frame]
        m.take_all(1), m.counted()
        return replies

    def leaves_by():
        m.send(1, ether(B, ROUTER[1]) / beside)
        return [port for port in (0, 2) for frame in map(Ether, m.take_all(port)) if UDP in frame]

    assert answers() == [0] and own not in m.console("show ipv6 route")
    for _ in range(2):
        commit(m, over)
        assert answers() == [2] and leaves_by() == [2]
        assert own in m.console("show ipv6 route")
        set_link(m, 2, False)
        assert answers() == [0] and leaves_by() == []
        assert own in m.console("show ipv6 route")
        m.time(5 * SECOND)
        m.take_all(0), m.take_all(1)
        for s in (A, B):  # otherwise they may be asked for while the link comes up, at a random time
            m.send(s.port, advert(s, ROUTER[s.port]))
        set_link(m, 2, True)
        assert answers() == [2] and leaves_by() == [2]
        commit(m, "no " + over)
        assert answers() == [0]
        assert own not in m.console("show ipv6 route")


def test_routes_over_broadcasts(start):
    """A static route goes before what follows from an address, but for the address itself, and all
    of that is back when the route goes; without a restart of the ports."""
    m = start("")
    before = m.console("show ip route")
    assert "L 198.51.100.255/32" in before and "L 224.0.0.0/4" in before
    for prefix in ("198.51.100.255/32", "198.51.100.0/32", "224.0.0.0/4", "255.255.255.255/32"):
        commit(m, "ip route %s blackhole" % prefix)
        now = m.console("show ip route")
        assert "S %-18s blackhole [1]" % prefix in now and "L %-18s " % prefix not in now
        commit(m, "no ip route " + prefix)
        assert m.console("show ip route") == before


def test_json_page(start):
    """Sixteen members of the longest form fit into an item of the page."""
    many = [(NET[6], "2001:db8:2:0:ffff:ffff:ffff:%x" % (0xfff0 + n)) for n in range(16)]
    m = start(WEB + lines(4, (NET[4], B), (NET[4], C), (WIDE[4], "prohibit")) +
              lines(6, *many))
    page = json.loads(Client(m).get("/api/v1/routes.json")[2])
    routes = {r["prefix"]: r for r in page["routes"] + page["routes6"]}
    assert routes[WIDE[4]]["kind"] == "prohibit"
    assert routes[NET[4]] == {"prefix": NET[4], "kind": "static", "members": [
        {"port": "eth1", "via": B.ip}, {"port": "eth2", "via": C.ip}]}
    assert len(routes[NET[6]]["members"]) == 16
