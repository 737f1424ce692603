"""Routes that the engine's daemons learn from neighbours: of BGP, OSPF and IS-IS, from BIRD, GoBGP and
another FRRouting (engine_lab.py)."""
import contextlib
import re

import pytest
from conftest import eventually, pings, reaches
from engine_lab import (AS, BGP, BGP6, BGP6_FAR, BGP_ENGINE, BGP_FAR, BGP_SAME, ECMP, ECMP_FAR, LINK_LOCAL,
                        ONE, ONE6, PREFIXES, PREFIXES6, STATIC, STATIC_FAR, TWO, Lab, bgpd, bird, statics)
from family import addresses_up
from frr import FRR

OSPF, OSPF_FAR, OSPF6, OSPF6_FAR = "10.71.0.0/16", "10.71.0.1", "2001:db8:71::/48", "2001:db8:71::1"
ISIS_FAR, ISIS6_FAR = "10.72.0.1", "2001:db8:72::1"
IBGP, IBGP_FAR = "10.73.0.0/16", "10.73.0.1"
REFUSED = "10.78.0.0/16"  # its next hop is Hayate itself

BIRD_OSPF = "".join((statics("outside", "ipv4", [OSPF], "master4"),
                     statics("outside6", "ipv6", [OSPF6], "master6"))) + "".join("""\
protocol ospf %s {
  %s { import none; export where proto = "%s"; };
  area 0 { interface "eth1" { type ptp; hello 1; dead 30; }; };
}
""" % words for words in (("v2 o4", "ipv4", "outside"), ("v3 o6", "ipv6", "outside6")))
OSPFD = """\
interface eth1
 ip ospf network point-to-point
 ip ospf hello-interval 1
 ip ospf dead-interval 30
 ip ospf area 0
router ospf
 ospf router-id %s
 timers throttle spf 0 50 200
""" % BGP_ENGINE
OSPF6D = """\
interface eth1
 ipv6 ospf6 area 0
 ipv6 ospf6 network point-to-point
 ipv6 ospf6 hello-interval 1
 ipv6 ospf6 dead-interval 30
router ospf6
 ospf6 router-id %s
 timers throttle spf 0 50 200
""" % BGP_ENGINE
ISISD = """\
interface eth1
 ip router isis A
 ipv6 router isis A
 isis network point-to-point
 isis hello-interval 1
router isis A
 net 49.0001.0000.0000.000%d.00
 is-type level-2-only
 spf-interval 1
 lsp-gen-interval 1
"""
ISIS_LOOPBACK = "interface lo\n ip router isis A\n ipv6 router isis A\n isis passive\n"
GOBGP = """\
[global.config]
  as = %d
  router-id = "%s"
  port = -1
[[neighbors]]
  [neighbors.config]
    neighbor-address = "%s"
    peer-as = %d
  [neighbors.transport.config]
    local-address = "%s"
  [neighbors.timers.config]
    connect-retry = 1
    idle-hold-time-after-reset = 1
""" % (AS, BGP_SAME, BGP_ENGINE, AS, BGP_SAME)


def start_protocols(lab):
    """All daemons of the engine and its neighbours."""
    engine, peers = lab.engine, lab.peers
    peers.ip("address", "add", ISIS_FAR + "/32", "dev", "lo")
    peers.six("lo", ISIS6_FAR + "/128")
    engine.start_zebra()
    peers.start("zebra")
    engine.start("bgpd", bgpd())
    engine.start("ospfd", OSPFD)
    engine.start("ospf6d", OSPF6D)
    engine.start("isisd", ISISD % 1)
    peers.start("isisd", ISIS_LOOPBACK + ISISD % 2)
    peers.start_bird(bird(weighted=True) + BIRD_OSPF)
    peers.start_gobgp(GOBGP)
    peers.gobgp("global", "rib", "add", IBGP, "nexthop", ONE)
    peers.gobgp("global", "rib", "add", REFUSED, "nexthop", "198.51.100.1")
    engine.start_statics("ip route %s %s" % (STATIC, ONE), "ip route 10.75.0.0/16 blackhole",
                         "ip route 10.76.0.0/16 reject")


TO_ONE, TO_ONE6, TO_LOCAL = ("via %s eth1" % address for address in (ONE, ONE6, LINK_LOCAL))
ROUTES = (  # letter, prefix, next hop, distance
    ("S", STATIC, TO_ONE, 1), ("S", "10.75.0.0/16", "blackhole", 1), ("S", "10.76.0.0/16", "unreachable", 1),
    ("B", BGP, TO_ONE, 20), ("B", BGP6, TO_ONE6, 20), ("B", IBGP, TO_ONE, 20),
    ("B", ECMP, TO_ONE, 20), ("B", ECMP, "via %s eth2" % TWO, 20),
    ("O", OSPF, TO_ONE, 110), ("O", OSPF6, TO_LOCAL, 110))
ROUTES_ISIS = (("I", ISIS_FAR + "/32", TO_ONE, 115), ("I", ISIS6_FAR + "/128", TO_LOCAL, 115))


def wait_learnt(lab, routes, targets):
    """Waits until Hayate has these routes, each with its letter and distance, and forwards by them."""
    for letter, prefix, via, distance in routes:
        lab.wait_route(prefix, "%s %-*s %s [%d] engine" % (
            letter, 34 if ":" in prefix else 18, prefix, via, distance))
    for address in targets:
        pings(lab.left, address, count=1)


@pytest.mark.parametrize("frr,groups", [("installed", False), ("newer", True)])
def test_protocols(make_router, frr, groups):
    targets = (BGP_FAR, BGP6_FAR, ECMP_FAR, STATIC_FAR, IBGP_FAR, OSPF_FAR, OSPF6_FAR)
    with contextlib.ExitStack() as stack:
        lab = Lab(stack, make_router, FRR[frr](), groups, "routing engine acknowledge\n")
        lab.target(*targets, ISIS_FAR, ISIS6_FAR)
        start_protocols(lab)
        lab.wait_up()
        addresses_up(lab.router)
        with lab.explained():
            wait_learnt(lab, ROUTES, targets)
            eventually(lambda: lab.stated()[0] >= PREFIXES + PREFIXES6 + 7, 20, every_s=0.3)
            no_way(lab)
            weights(lab)
            connected(lab)
            acknowledged(lab)
            wait_learnt(lab, ROUTES_ISIS, (ISIS_FAR, ISIS6_FAR))  # isisd takes half a minute


def no_way(lab):
    """Routes that discard packets."""
    before = lab.router.counters()
    assert not reaches(lab.left, "10.75.0.1")
    assert "Destination Host Unreachable" in lab.left.ping("10.76.0.1")[1]
    after = lab.router.balanced()
    assert after["drop_route_blackhole"] == before["drop_route_blackhole"] + 1


def weights(lab):
    """A quarter and three quarters of the flows, by the bandwidths that bgpd is told."""
    pings(lab.left, TWO, count=1)  # more flows wait for a neighbour than its queue holds
    with lab.flows(ECMP_FAR, count=200) as flows:
        def shares():
            for at in range(0, 200, 20):
                flows.run(0.05, flows.list[at:at + 20])
            assert flows.settle() == []
            return [lab.device(flow) for flow in flows.list].count("eth0")
        # five standard deviations around 50
        eventually(lambda: 20 < shares() < 80, 20, "a quarter of the flows")


def connected(lab):
    """A neighbour states a prefix of Hayate's interface. Hayate keeps to the interface. When the
    engine has the subnet too, zebra prefers that, and the route ends."""
    lab.peers.gobgp("global", "rib", "add", "192.0.2.0/24", "nexthop", ONE)
    lab.wait_route("192.0.2.0/24", "C 192.0.2.0/24       connected eth0\n",
                   "via %s [20] engine (not used)" % ONE)
    lab.engine.ip("address", "add", "192.0.2.9/24", "dev", "bgp")
    eventually(lambda: "engine" not in lab.route("192.0.2.0/24"), 20)
    pings(lab.left, ONE, count=1)
    lab.engine.ip("address", "delete", "192.0.2.9/24", "dev", "bgp")
    lab.wait_route("192.0.2.0/24", "(not used)")
    pings(lab.left, ONE, count=1)


def acknowledged(lab):
    """Hayate acknowledges each route, and the refused one as failed. Neither of these versions makes use of
    that: FRR 8.4 does not read, 10.3 reads the table as a VRF (net/fpm/fpm.h)."""
    said = lab.router.command("show routing engine")
    count = {name: int(number) for name, number in re.findall(r"^acknowledged +(\w+) +(\d+)", said, re.M)}
    assert count["installed"] > PREFIXES + PREFIXES6 and count["failed"] == 1 and "lost" not in count, said
    assert re.search("^refused +own_address +1$", said, re.M), said
    assert REFUSED not in lab.router.command("show ip route")
