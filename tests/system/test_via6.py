"""IPv4 across links that have only IPv6 (RFC 8950). Linux's hosts route IPv4 by an IPv6 next hop, the
router by the routes of an engine, for which this test sends the frames. tests/packet/test_via6.py has
the details."""
import pytest
from conftest import eventually, netlab, options, reaches
from fpm_frames import frame, route

LEFT, RIGHT = "10.8.0.1", "10.9.0.1"  # behind the two links
LEFT_ROUTER, RIGHT_ROUTER, NEIGHBOUR = "fe80::1", "fe80::2", "fe80::9"
LENDER = "10.255.0.1"
ENGINE_ROUTER, ENGINE_HOST = "203.0.113.1", "203.0.113.2"
CONFIG = """\
hostname r1
interface lo0
 ip address %s/32
interface eth0
 ip unnumbered lo0
 ipv6 address %s link-local
 routing engine index 11
interface eth1
 ip unnumbered lo0
 ipv6 address %s link-local
 routing engine index 12
interface eth2
 ip address %s/24
routing engine %s
""" % (LENDER, LEFT_ROUTER, RIGHT_ROUTER, ENGINE_ROUTER, ENGINE_HOST)


class Host(netlab.Host):
    """A host whose link has no IPv4 address."""

    def __init__(self, name, address, router):
        super().__init__(name)
        self.configure6()
        self.ip("address", "add", address + "/32", "dev", "lo")
        self.ip("link", "set", "eth0", "up")
        self.ip("-6", "address", "replace", NEIGHBOUR + "/64", "dev", "eth0", "nodad")
        self.ip("route", "add", "default", "src", address, "via", "inet6", router, "dev", "eth0")


@pytest.mark.parametrize("nic", [options.DEFAULT_NIC, "ixgbe"])
def test_pings_both_ways(make_router):
    with Host("left", LEFT, LEFT_ROUTER) as left, Host("right", RIGHT, RIGHT_ROUTER) as right, \
            netlab.Host("engine") as engine:
        engine.configure(ENGINE_HOST + "/24", ENGINE_ROUTER)
        router = make_router(CONFIG, cpus=2, ports=(left.port, right.port, engine.port))
        for host in (left, right, engine):
            host.wait_for_link()
        assert reaches(engine, ENGINE_ROUTER) and not reaches(left, RIGHT)
        with engine.socket(kind=1) as zebra:  # SOCK_STREAM
            zebra.settimeout(20)
            zebra.connect((ENGINE_ROUTER, 2620))
            zebra.sendall(frame(route("10.8.0.0/16", NEIGHBOUR, 11), route("10.9.0.0/16", NEIGHBOUR, 12)))
            eventually(lambda: reaches(left, RIGHT), 20)
            assert reaches(right, LEFT)
            assert reaches(left, LENDER) and reaches(right, LENDER)
            shown = router.command("show ip route")
            assert "via %s eth0 [20] engine\n" % NEIGHBOUR in shown
            assert "via %s eth1 [20] engine\n" % NEIGHBOUR in shown
            # traceroute: the error comes from the address that the link borrows
            late = left.run(["ping", "-n", "-c", "1", "-W", "5", "-t", "1", RIGHT])
            assert "From %s" % LENDER in late.stdout and "Time to live exceeded" in late.stdout
            # 3 fragments of 1480 octets and less arrive, are sent on and are answered
            assert right.run(["ping", "-n", "-c", "1", "-W", "5", "-s", "4000", LEFT]).returncode == 0
            # without the route, the sender is told, by the same address
            zebra.sendall(frame(route("10.9.0.0/16", NEIGHBOUR, 12, command=25, kind=0)))
            eventually(lambda: "10.9.0.0/16" not in router.command("show ip route"), 10)
            gone = left.run(["ping", "-n", "-c", "1", "-W", "5", RIGHT])
            assert "From %s" % LENDER in gone.stdout and "Net Unreachable" in gone.stdout
            for host in (left, right, engine):
                host.end_children()
