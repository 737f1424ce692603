"""FRRouting as the routing engine: its zebra and staticd, in a host of their own, state routes by FPM,
and packets go by them. The frames themselves are tests/packet/test_engine.py's.

The engine's host has an interface for each of the router's, with an index that the router knows."""
import time

import pytest
from conftest import RIGHT_HOST, eventually, options, reaches, router_config
from flows import Flows
from frr import Engine, installed

ENGINE_ROUTER, ENGINE_HOST = "203.0.113.1", "203.0.113.2"
INDEX = 77
RIGHT_OTHER = "198.51.100.3"  # another address of it
FAR = "10.9.0.1"  # behind the right host
SETTLE_S = 30  # staticd connects again after some 10 s
CONFIG = router_config().replace("interface eth1\n", "interface eth1\n routing engine index %d\n" % INDEX) + \
    """\
interface eth2
 ip address %s/24
routing engine %s
routing engine settle-time %d
""" % (ENGINE_ROUTER, ENGINE_HOST, SETTLE_S)
STATIC = "ip route 10.9.0.0/16 %s"


def make_engine():
    """A host with FRR's daemons, and an interface in the subnet of eth1."""
    engine = Engine(installed(), ENGINE_ROUTER, ENGINE_HOST)
    engine.ip("link", "add", "eth1", "index", str(INDEX), "type", "veth", "peer", "name", "end")
    engine.ip("link", "set", "end", "up")
    engine.ip("address", "add", "198.51.100.9/24", "dev", "eth1")
    engine.ip("link", "set", "eth1", "up")
    return engine


def wait_until(router, what, flows):
    """Runs the flows until the engine's state says that."""
    deadline = time.monotonic() + 40 + SETTLE_S
    while what not in router.command("show routing engine"):
        assert time.monotonic() < deadline, router.command("show routing engine")
        flows.run(0.5)


@pytest.mark.parametrize("nic", [options.DEFAULT_NIC, "ixgbe"])
def test_frr(make_router, make_hosts):
    left, right = make_hosts()
    right.ip("address", "add", FAR + "/32", "dev", "lo")
    right.ip("address", "add", RIGHT_OTHER + "/24", "dev", "eth0")
    with make_engine() as engine:
        router = make_router(CONFIG, cpus=2, ports=(left.port, right.port, engine.port))
        for host in (left, right, engine):
            host.wait_for_link()
        assert reaches(left, RIGHT_HOST) and reaches(left, RIGHT_OTHER) and not reaches(left, FAR)
        engine.start_zebra()
        engine.start_statics(STATIC % RIGHT_HOST)
        eventually(lambda: " connected since " in router.command("show routing engine"), 30)
        eventually(lambda: "S 10.9.0.0/16        via 198.51.100.2 eth1 [1] engine\n" in
                   router.command("show ip route 10.9.0.0/16"), 30)
        eventually(lambda: reaches(left, FAR), 10)
        with Flows(left, right, FAR, 8) as flows:
            flows.run(1)
            engine.end("zebra")
            flows.run(1)
            assert "engine stale" in router.command("show ip route 10.9.0.0/16")
            engine.start_zebra()
            wait_until(router, " stale 0,", flows)
            assert flows.settle() == [], "packets were lost while zebra restarted"
            # zebra changes the route: for FRR 8.4 a deletion and a new route, in one frame
            engine.say_static(STATIC % RIGHT_OTHER, "no " + STATIC % RIGHT_HOST)
            flows.run(1)
            assert flows.settle() == [], "packets were lost while the route changed"
        assert "via %s eth1 [1] engine\n" % RIGHT_OTHER in router.command("show ip route 10.9.0.0/16")
        engine.say_static("no " + STATIC % RIGHT_OTHER)
        eventually(lambda: "10.9.0.0/16" not in router.command("show ip route"), 10)
        assert not reaches(left, FAR)
        make_hosts.quiet()


@pytest.mark.nics(["virtio"])  # independent of the card
def test_control_program_fails(make_router, make_hosts):
    """No packet to the engine's routes is lost. zebra, which has nothing to say meanwhile, connects
    again and states them."""
    left, right = make_hosts()
    right.ip("address", "add", FAR + "/32", "dev", "lo")
    with make_engine() as engine:
        router = make_router(CONFIG, "--append", "test=1", cpus=2, ports=(left.port, right.port, engine.port))
        router.faults_expected = True
        for host in (left, right, engine):
            host.wait_for_link()
        assert reaches(left, RIGHT_HOST)
        engine.start_zebra()
        engine.start_statics(STATIC % RIGHT_HOST)
        eventually(lambda: "10.9.0.0/16" in router.command("show ip route"), 30)
        eventually(lambda: reaches(left, FAR), 10)
        with Flows(left, right, FAR, 8) as flows:
            flows.run(0.5)
            flows.fault(router, 0, r"control program: goes on after (\d+) us")
            assert "routing engine: prefixes kept as stale ones: 1" in router.text
            wait_until(router, " connected since ", flows)
            wait_until(router, "prefixes 1, stale 0,", flows)
            assert flows.settle() == [], "packets were lost while the control program restarted"
        make_hosts.quiet()
