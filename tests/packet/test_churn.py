"""`test churn`: routes come, go and change, packets leave by next hops that their prefixes have
had, and afterwards the table is as before."""
import re

import pytest
from ip6 import *
from machine import *

HOPS = [Station(1, "198.51.100.%d" % n, "02:bb:00:00:00:%02x" % n) for n in (2, 3, 4, 5)]
NETS = 64
CHANGES = re.compile(r"(\d+) changes in ([\d.]+) s, \d+ a second: (\d+) announced, (\d+) withdrawn, "
                     r"(\d+) replaced\n(\d+) refused, longest slice \d+ us\n(\d+) prefixes restored: "
                     r"the table of (\d+) is as before\n")


def text(hops=4):
    """Prefix number n has next hop n modulo 4, in both families."""
    four = "".join("arp %s %s\nipv6 neighbor %s eth1 %s\n" % (h.ip, h.mac, h.ip6, h.mac)
                   for h in HOPS[:hops])
    return CONFIG6 + four + "".join(
        "ip route 10.%d.0.0/16 %s\nipv6 route 2001:db8:f0%02x::/48 %s\n" % (
            n, HOPS[n % hops].ip, n, HOPS[n % hops].ip6) for n in range(NETS))


@pytest.fixture
def start(make):
    def boot(hops=4, **options):
        m = make(text(hops), options="test=1", **options)
        m.learn(A)
        learn6(m, A)
        m.counted()
        return m
    return boot


def packets():
    return [p for n in range(NETS) for host in (1, 255)
            for p in (udp(A, "10.%d.%d.9" % (n, host)), udp6(A, "2001:db8:f0%02x:%x::9" % (n, host << 8)))]


def ways(m):
    """The next hop (its MAC) by which each of the packets left."""
    m.send(0, *(ether(A, ROUTER[0]) / p for p in packets()))
    frames = [Ether(f) for f in m.take_all(1)]
    assert len(frames) == len(packets())
    return [f.dst for f in frames]


def finished(m, mark):
    """The figures of the churn whose output begins at `mark`."""
    said = m.text[mark:].replace("\r", "")
    found = CHANGES.search(said)
    assert found, said
    made, announced, withdrawn, replaced, refused, restored, table = (
        int(found[n]) for n in (1, 3, 4, 5, 6, 7, 8))
    assert made == announced + withdrawn + replaced
    assert announced >= withdrawn
    return made, announced, withdrawn, replaced, refused, restored, table


def begin(m, rate=20000, seconds=2):
    mark = len(m.text)
    m.key("test churn %d %d\r" % (rate, seconds))
    return mark


def tables(m):
    return [m.console("show %s route" % family) for family in ("ip", "ipv6")]


def test_packets_go_ways_that_they_had(start):
    m = start()
    before, first = tables(m), ways(m)
    seen = [{mac} for mac in first]
    mark = begin(m)
    for _ in range(40):
        m.time(40 * MS)
        for had, mac in zip(seen, ways(m)):
            had.add(mac)
    m.time(3 * SECOND)
    change, = re.findall(r"^(\d+) prefixes change\r$", m.text[mark:], re.M)
    assert 2 * NETS < int(change) <= 3 * NETS + NETS, "all, and halves of IPv4's and of some of IPv6's"
    made, announced, withdrawn, replaced, refused, restored, _ = finished(m, mark)
    assert min(announced, withdrawn, replaced) > 1000 and refused == 0
    assert 0 < restored <= 4 * NETS
    partners = {}
    for own, had in zip(first, seen):
        assert own in had and len(had) == 2, "each went over, and to its partner only"
        assert partners.setdefault(own, had) == had
    assert {frozenset(p) for p in partners.values()} == {frozenset(p) for p in partners.values()}
    assert all(partners[other] == pair for own, pair in partners.items() for other in pair)
    assert ways(m) == first and tables(m) == before
    delta = m.counted()
    assert not {name for name in delta if name.startswith("drop_")}, delta


def test_one_next_hop(start):
    """There is no other next hop to exchange: half of the routes come and go."""
    m = start(hops=1)
    before = tables(m)
    mark = begin(m, seconds=1)
    m.time(2 * SECOND)
    made, announced, withdrawn, replaced, _, _, _ = finished(m, mark)
    assert replaced == 0 and withdrawn > 1000
    assert tables(m) == before


def test_interrupted(start):
    """The table is restored, and the log reports it."""
    m = start()
    before = tables(m)
    mark = begin(m, seconds=100)
    m.time(500 * MS)
    m.key("\x03")
    m.time(500 * MS)
    assert "test churn: " in m.text[mark:] and "is as before" in m.text[mark:]
    assert tables(m) == before
    mark = begin(m, seconds=1)
    m.time(2 * SECOND)
    finished(m, mark)


@pytest.mark.parametrize("lines,reason", [
    (["no ip route 10.1.0.0/16", "ip route 10.250.0.0/16 198.51.100.2"], "the configuration changes"),
    (["interface eth0", "ip address 192.0.2.9/24"], "the tables are made anew")],
    ids=["live", "restart"])
def test_a_commit_ends_it(start, lines, reason):
    """A commit without a user: the roll-back of an unconfirmed one."""
    m = start()
    before = tables(m)
    m.console("configure")
    for entered in lines:
        m.console(entered)
    m.console("commit confirmed 30s")
    m.console("end")
    m.time(5 * SECOND)
    mark = begin(m, seconds=1000)
    m.time(20 * SECOND)
    assert reason not in m.text[mark:]
    m.time(20 * SECOND)
    m.settle()
    assert "ended: " + reason in m.text[mark:].replace("\r", "")
    if "anew" in reason:
        m.learn(A)
        learn6(m, A)
    assert tables(m) == before
    ways(m)


def test_no_route_leads_to_a_neighbour(make):
    m = make(CONFIG + "ip route 10.0.0.0/8 null0\n", options="test=1")
    mark = begin(m)
    m.time(SECOND)
    assert "no route leads to a neighbour" in m.text[mark:]


@pytest.mark.parametrize("words", ["0 1", "10000001 1", "1 0", "1 3601", "x 1", "1 1.5"])
def test_errors(start, words):
    m = start()
    said = m.console("test churn " + words)
    assert "changes a second, 1 to 10000000, and seconds, 1 to 3600" in said
