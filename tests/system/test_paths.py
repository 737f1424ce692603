"""Several next hops for one prefix, all running Linux: flows are spread over the next hops, keep
theirs, and move when its link fails."""
import contextlib
import re
import socket

import pytest
from conftest import LEFT_HOST, LEFT_ROUTER, eventually, pings, reaches
from family import LEFT6, LEFT_ROUTER6, V4, V6, addresses_up, both

from launcher import netlab

pytestmark = both

HOPS = 3
FLOWS = 300
PORT = 9000
TARGET = {V4: "203.0.113.1", V6: "2001:db8:99::1"}
PREFIX = {V4: "203.0.113.0/24", V6: "2001:db8:99::/48"}


def hop(family, n, router=False):
    """The address of next hop n, or the router's on the same link."""
    end = 1 if router else 2
    return ("198.51.%d.%d" % (100 + n, end) if family is V4
            else "2001:db8:a%d::%d" % (n, end))


def route(family, gateway, prefix=None, more=""):
    return "%s route %s %s%s\n" % ("ip" if family is V4 else "ipv6", prefix or PREFIX[family],
                                   gateway, more)


class Paths:
    """A router between a host and HOPS others that all have TARGET."""

    def __init__(self, family, router, left, hops):
        self.family, self.router, self.left, self.hops = family, router, left, hops
        self.socks = [h.socket(family.af) for h in hops]
        for sock in self.socks:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            sock.bind((TARGET[family], PORT))
            sock.setblocking(False)
        self.flows = [left.socket(family.af) for _ in range(FLOWS)]
        for sock in self.flows:
            sock.bind((family.left, 0))
        self.number = {sock.getsockname()[1]: n for n, sock in enumerate(self.flows)}
        self.round = 0

    def spread(self):
        """Sends one datagram of each flow; returns the next hop of each. All arrive, once."""
        self.round += 1
        word = b"%d" % self.round
        for sock in self.flows:
            sock.sendto(word, (TARGET[self.family], PORT))
        by = {}

        def collect():
            for n, sock in enumerate(self.socks):
                with contextlib.suppress(BlockingIOError):
                    while True:
                        data, sender = sock.recvfrom(100)
                        assert data == word, "one that came late, or twice"
                        assert self.number[sender[1]] not in by, "twice"
                        by[self.number[sender[1]]] = n
            return len(by) == FLOWS
        eventually(collect, 20, "all datagrams: %d of %d came" % (len(by), FLOWS))
        return by

    def close(self):
        for sock in self.socks + self.flows:
            sock.close()


@pytest.fixture
def make_paths(make_router, family):
    """make_paths(lines): adds these lines to the configuration."""
    with contextlib.ExitStack() as stack:
        def make(lines):
            hosts = [stack.enter_context(netlab.Host(name))
                     for name in ("left", *("hop%d" % n for n in range(HOPS)))]
            left, hops = hosts[0], hosts[1:]
            config = "interface eth0\n ip address %s/24\n ipv6 address %s/64\n" % (LEFT_ROUTER,
                                                                                 LEFT_ROUTER6)
            for n in range(HOPS):
                config += "interface eth%d\n ip address %s/24\n ipv6 address %s/64\n" % (
                    n + 1, hop(V4, n, True), hop(V6, n, True))
            left.configure(LEFT_HOST + "/24", LEFT_ROUTER)
            left.configure6(LEFT6 + "/64", LEFT_ROUTER6)
            for n, host in enumerate(hops):
                host.configure(hop(V4, n) + "/24", hop(V4, n, True))
                host.configure6(hop(V6, n) + "/64", hop(V6, n, True))
                host.add_loopback(TARGET[V4])
                host.add_loopback(TARGET[V6])
            router = make_router(config + lines, ports=[host.port for host in hosts])
            addresses_up(router)
            for host in hosts:
                host.wait_for_link()
            for n in range(HOPS):
                pings(left, hop(family, n), count=1)
            paths = Paths(family, router, left, hops)
            stack.callback(paths.close)
            return paths
        yield make


def link(paths, n, up):
    """Plugs in or pulls the cable to next hop n. Waits until the router has noticed, and has
    resolved its neighbour: more flows wait for that than its queue holds."""
    port = n + 1
    paths.router.set_link(port, up)
    eventually(lambda: paths.router.interfaces()["eth%d" % port]["up"] == up, 30, "the link changes")
    if up:
        eventually(lambda: reaches(paths.left, hop(paths.family, n)), 30, "it answers")


def every_hop(family):
    return "".join(route(family, hop(family, n)) for n in range(HOPS))


def test_flows_are_spread_and_stay(make_paths, family):
    paths = make_paths(every_hop(family))
    by = paths.spread()
    shares = [list(by.values()).count(n) for n in range(HOPS)]
    # the hash key changes at each boot; a fair hash fails this once in 10^6
    assert min(shares) > FLOWS / HOPS * 0.6, shares
    for _ in range(3):
        assert paths.spread() == by


def test_next_hop_fails_and_comes_back(make_paths, family):
    """Only the flows of the failed link move; when the link is back, only they move back."""
    paths = make_paths(every_hop(family))
    before = paths.spread()
    link(paths, 1, False)
    without = paths.spread()
    assert 1 not in without.values()
    assert {f: n for f, n in without.items() if before[f] != 1} == \
        {f: n for f, n in before.items() if n != 1}
    orphans = [without[f] for f, n in before.items() if n == 1]
    assert set(orphans) == {0, 2}, "they are shared out"
    link(paths, 1, True)
    after = paths.spread()
    moved = {f for f in after if after[f] != without[f]}
    assert {after[f] for f in moved} == {1}
    assert list(after.values()).count(1) > FLOWS / HOPS * 0.6
    assert paths.spread() == after


def test_floating_static(make_paths, family):
    """A route with a greater distance is used while the link of the better one is down."""
    paths = make_paths(route(family, hop(family, 0)) + route(family, hop(family, 1), more=" 200"))
    assert set(paths.spread().values()) == {0}
    link(paths, 0, False)
    assert set(paths.spread().values()) == {1}
    link(paths, 0, True)
    assert set(paths.spread().values()) == {0}


def test_refusals_are_told(make_paths, family):
    """Linux's ping reports the kind of the route."""
    inside = {V4: "10.%d.0.1", V6: "2001:db8:f%d::1"}[family]
    prefix = {V4: "10.%d.0.0/16", V6: "2001:db8:f%d::/48"}[family]
    kinds = ("blackhole", "unreachable", "prohibit")
    paths = make_paths("".join(route(family, kind, prefix % n) for n, kind in enumerate(kinds)))
    before = paths.router.counters()
    said = [paths.left.ping(inside % n, wait_s=2)[1] for n in range(3)]
    assert not re.search("From", said[0])
    words = (("Destination Host Unreachable", "Packet filtered") if family is V4
             else ("Address unreachable", "Administratively prohibited"))
    assert words[0] in said[1] and words[1] in said[2], said
    after = paths.router.balanced()
    assert after["drop_route_blackhole"] == before["drop_route_blackhole"] + 1
