"""What is lost when parts of the routing engine, or the way to it, or Hayate fail and come back: counted
by flows of numbered packets (engine_lab.py, docs/routing-engine.md)."""
import contextlib
import json
import signal
import time

import pytest
from conftest import eventually, options, pings
from engine_lab import (BGP, BGP6_FAR, BGP_FAR, BGP_ONE, ECMP, ECMP_FAR, ONE, PREFIXES, PREFIXES6, STATIC,
                        TARGETS, TWO, Cutter, Event, Lab, bgpd, bird)
from family import addresses_up
from frr import FRR

RESTARTABLE = "bgp graceful-restart", "bgp graceful-restart preserve-fw-state"
COUNT = PREFIXES + PREFIXES6 + 2  # those of ECMP and STATIC
OTHER = "198.51.100.3"  # another address of the right host

# card, version of FRRouting, with next-hop objects
VERSIONS = [(options.DEFAULT_NIC, "installed", False), (options.DEFAULT_NIC, "newer", True)]
CARDS = VERSIONS + [("mlx5", "installed", True)]


def kinds(these):
    return pytest.mark.parametrize("nic,frr,groups", these)


@contextlib.contextmanager
def running(make_router, frr, groups=False, bgp=None, more="", arguments=()):
    """A lab whose daemons run, and whose routes Hayate has."""
    with contextlib.ExitStack() as stack:
        lab = Lab(stack, make_router, FRR[frr](), groups, more, arguments)
        lab.target(*TARGETS)
        lab.right.ip("address", "add", OTHER + "/24", "dev", "eth0")
        start(lab, bgp or bgpd())
        lab.peers.start_bird(bird())
        lab.wait_up()
        addresses_up(lab.router)
        with lab.explained():
            lab.wait_stated(COUNT, 60)
            lab.wait_route(ECMP, "via %s eth1" % ONE, "via %s eth2" % TWO)
            for address in (ONE, TWO, OTHER, *TARGETS):
                pings(lab.left, address, count=1)
            yield lab


def start(lab, bgp):
    lab.engine.start_zebra()
    lab.engine.start("bgpd", bgp)
    lab.engine.start_statics("ip route %s %s" % (STATIC, ONE))


def daemons(lab):
    return [name for name in ("staticd", "bgpd", "zebra", "mgmtd") if name in lab.engine.running]


def learnt(engine):
    """The number of IPv4 prefixes that bgpd has learnt from its first neighbour."""
    if not engine.has_vty("bgpd"):
        return 0
    peers = json.loads(engine.ask("bgpd", "show bgp ipv4 unicast summary json"))["peers"]
    return peers.get(BGP_ONE, {}).get("pfxRcd", 0)


def by_device(lab, flows):
    """The devices of the flows by several next hops."""
    return [lab.device(flow) for flow in flows.to(ECMP_FAR)]


@kinds(CARDS + [("ixgbe", "installed", False)])
def test_next_hops(make_router, frr, groups):
    """One of two next hops is lost, and comes back: only its flows move."""
    more = [ECMP_FAR] * 9  # so many that all by the same next hop happens once in 500,000 runs
    with running(make_router, frr, groups) as lab, lab.flows(*TARGETS, *more, count=2) as flows:
        flows.run(0.5)
        assert flows.settle() == []
        before = by_device(lab, flows)
        assert set(before) == {"eth0", "eth1"}, before

        with Event("a port loses its link", flows, may_lose=[ECMP_FAR]) as event:
            lab.router.set_link(2, False)
            eventually(lambda: not lab.router.interfaces()["eth2"]["up"], 20, "the link is down")
        assert set(by_device(lab, flows)) == {"eth0"}
        assert all(not flow.lost for flow, device in zip(flows.to(ECMP_FAR), before) if device == "eth0")
        with Event("the link is back", flows):  # its flows move when the neighbour has been resolved
            lab.router.set_link(2, True)
            eventually(lambda: set(by_device(lab, flows)) == {"eth0", "eth1"}, 30, "its flows are back")

        with Event("the engine's interface goes down", flows):
            lab.engine.ip("link", "set", "eth2", "down")
            eventually(lambda: set(by_device(lab, flows)) == {"eth0"}, 30, "its flows move")
        with Event("the engine's interface is up", flows):
            lab.engine.ip("link", "set", "eth2", "up")
            eventually(lambda: set(by_device(lab, flows)) == {"eth0", "eth1"}, 30, "its flows are back")


@kinds(CARDS)
def test_daemons(make_router, frr, groups):
    """Daemons are killed, and start again."""
    with running(make_router, frr, groups) as lab, lab.flows(*TARGETS) as flows:
        engine = lab.engine
        with Event("zebra is killed", flows):
            engine.end("zebra")
            eventually(lambda: not lab.connected(), 20)
            assert lab.stated() == (COUNT, COUNT)
            # as watchfrr does: bgpd would not state its routes again
            engine.end(*daemons(lab), by=signal.SIGTERM)
            start(lab, bgpd())
            lab.wait_stated(COUNT)
        with Event("bgpd is killed", flows, may_lose=[BGP_FAR, BGP6_FAR, ECMP_FAR]):
            engine.end("bgpd")
            lab.wait_stated(1)  # zebra withdraws its routes
            engine.start("bgpd", bgpd(*RESTARTABLE))
            lab.wait_stated(COUNT)
        with Event("bgpd is killed that has graceful restart", flows):
            engine.end("bgpd")
            time.sleep(2)
            assert lab.stated() == (COUNT, 0)
        # zebra may take it for complete too early, and withdraw what it has not stated yet
        with Event("that bgpd is back", flows, may_lose=[BGP_FAR, BGP6_FAR, ECMP_FAR]):
            engine.start("bgpd", bgpd(*RESTARTABLE))
            eventually(lambda: learnt(engine) == PREFIXES + 1, 30, every_s=0.3)
            lab.wait_stated(COUNT)


@kinds(VERSIONS)
def test_restart(make_router, frr, groups):
    """All daemons restart."""
    with running(make_router, frr, groups, bgpd(*RESTARTABLE)) as lab, lab.flows(*TARGETS) as flows:
        def restart():
            """As FRRouting's service does."""
            others = [name for name in daemons(lab) if name not in ("zebra", "mgmtd")]
            lab.engine.end(*others, by=signal.SIGTERM)
            lab.engine.end(*daemons(lab), by=signal.SIGTERM)
            eventually(lambda: not lab.connected(), 20)
            print(lab.router.command("show routing engine"))
            start(lab, bgpd(*RESTARTABLE))
            lab.wait_stated(COUNT)
        with Event("the connection is closed, and the daemons restart", flows):
            lab.engine.say("zebra", "no fpm address")
            eventually(lambda: not lab.connected(), 20)
            restart()
        with Event("the daemons restart", flows, may_lose=TARGETS):
            restart()


@kinds(VERSIONS)
def test_all_killed(make_router, frr, groups):
    """The whole engine is killed at once, without a word to anybody, and started again."""
    with running(make_router, frr, groups) as lab, lab.flows(*TARGETS) as flows:
        with Event("all daemons are killed", flows):
            lab.engine.end(*list(lab.engine.running))
            eventually(lambda: not lab.connected(), 20)
            time.sleep(2)
            assert lab.stated() == (COUNT, COUNT)
        with Event("they are back", flows):
            start(lab, bgpd())
            lab.wait_stated(COUNT)


def frames(router):
    """Frames that Hayate has applied, and connections that it has closed for a malformed one."""
    line = router.command("show routing engine").splitlines()[2].replace(",", "").split()
    return int(line[line.index("frames") + 1]), int(line[line.index("malformed") + 1])


@kinds(VERSIONS)
def test_cut(make_router, frr, groups):
    """The connection ends inside of a frame, whose routes are not applied."""
    with running(make_router, frr, groups) as lab, lab.flows(*TARGETS) as flows:
        engine, router = lab.engine, lab.router
        applied = frames(router)[0]
        cuts = ((1000, 2), (2000, 30), (3000, 1 << 16))  # in FPM's header, in netlink's, before the last octet
        with Cutter(engine, cuts) as cutter:
            with Event("the connection is cut inside of frames", flows):
                engine.say("zebra", "fpm address 127.0.0.1 port %d" % cutter.PORT)
                eventually(lambda: len(cutter.whole) == len(cuts) + 1, 40, "it connects again", every_s=0.3)
                lab.wait_stated(COUNT)
            assert cutter.whole[:3] == [whole for whole, _ in cuts]
            assert frames(router) == (applied + sum(cutter.whole), 0)
            with Event("it is cut while a route changes", flows):
                cutter.cut_next()
                # before FRR 9.1 a deletion and a new route, in one frame
                engine.say_static("ip route %s %s" % (STATIC, OTHER))
                engine.say_static("no ip route %s %s" % (STATIC, ONE))
                eventually(lambda: len(cutter.whole) == len(cuts) + 2, 20, "it connects again", every_s=0.3)
                lab.wait_stated(COUNT)
            assert frames(router) == (applied + sum(cutter.whole), 0)
            assert lab.route(STATIC).split() == (
                "S %s via %s eth1 [1] engine" % (STATIC, OTHER)).split()


def test_reload(make_router):
    """Hayate restarts."""
    with running(make_router, "installed") as lab, lab.flows(*TARGETS) as flows:
        with Event("Hayate is restarted", flows, may_lose=TARGETS):
            began = time.monotonic()
            lab.router.skip()
            lab.router.send("reload")
            lab.router.wait_up()
            up = time.monotonic()
            lab.wait_stated(COUNT)  # zebra was told, and connects again
            print("ready after %.1f s, all routes %.1f s later" % (up - began, time.monotonic() - up))


def test_power_is_lost(make_router):
    """Hayate is gone without a word, and comes back. zebra only writes, so it notices when it next does:
    Hayate resets the connection that it does not know."""
    with running(make_router, "installed") as lab, lab.flows(*TARGETS) as flows:
        with Event("Hayate loses its power", flows, may_lose=TARGETS):
            began = time.monotonic()
            lab.router.skip()
            lab.router.qmp("system_reset")
            lab.router.wait_up()
            print("ready after %.1f s" % (time.monotonic() - began))
            time.sleep(5)
            print("connected before zebra writes: %s" % lab.connected())
            written = time.monotonic()
            lab.engine.say_static("ip route 10.75.0.0/16 " + ONE)
            lab.wait_stated(COUNT + 1)
            print("all routes %.1f s after a route has changed" % (time.monotonic() - written))


def commit(router, *lines):
    for line in ("configure", *lines, "commit"):
        said = router.command(line)
    assert "committed" in said, said
    router.command("end")


def test_connected_route(make_router):
    """A subnet of Hayate's takes over from a route of BGP, and gives it back, by commits."""
    address = BGP_FAR.rsplit(".", 1)[0] + ".254/24 secondary"
    with running(make_router, "installed") as lab, lab.flows(*TARGETS) as flows:
        with Event("a connected route takes over", flows, may_lose=TARGETS):
            commit(lab.router, "interface eth1", "ip address " + address)
            lab.wait_route(BGP, "C ", "connected eth1")
            lab.wait_stated(COUNT)
        assert "B " in lab.route(BGP) and "(not used)" in lab.route(BGP), lab.route(BGP)
        with Event("the connected route is there", flows):
            time.sleep(1)
        with Event("it gives the prefix back", flows, may_lose=TARGETS):
            commit(lab.router, "interface eth1", "no ip address " + address)
            lab.wait_route(BGP, "B ", "via %s eth1" % ONE)
            lab.wait_stated(COUNT)
        assert "connected" not in lab.route(BGP)


def test_control_program(make_router):
    """Hayate's control program fails."""
    with running(make_router, "installed", arguments=("--append", "test=1")) as lab, \
            lab.flows(*TARGETS) as flows:
        lab.router.faults_expected = True
        with Event("the control program fails", flows):
            lab.router.skip()
            lab.router.send("test fault ud core 0")
            lab.router.expect(r"control program: goes on after (\d+) us", 30)
            lab.wait_stated(COUNT)
