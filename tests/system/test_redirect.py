"""Redirects that a Linux host obeys (RFC 1812 5.2.7.2, RFC 4861 8.2): afterwards its packets to a
network behind another gateway of its link go directly to that gateway."""
from conftest import eventually, pings
from family import RIGHT6, RIGHT_HOST, make_lab6  # noqa: F401

GATEWAY, GATEWAY6, MAC = "192.0.2.3", "fe80::3", "02:aa:00:00:00:03"
BEHIND, BEHIND6 = "10.9.0.1", "2001:db8:a::1"
ROUTES = """\
ip route 10.9.0.0/16 %s
ipv6 route 2001:db8:a::/48 %s eth0
arp %s %s
ipv6 neighbor %s eth0 %s
""" % (GATEWAY, GATEWAY6, GATEWAY, MAC, GATEWAY6, MAC)


def way(host, target):
    return host.ip("route", "get", target)


def ask(host, target):
    """Sends a packet to the target, which does not answer."""
    host.ping(target, wait_s=1)


def goes_by(host, target, gateway):
    ask(host, target)
    return " via %s " % gateway in way(host, target)


def test_linux_takes_the_shorter_way(make_lab6):
    lab = make_lab6(" ipv6 address fe80::1 link-local\n ip redirects\n ipv6 redirects\n",
                    extra=ROUTES)
    left = lab.left
    # IPv4's redirect has no MAC, and Linux accepts it only if it knows the gateway's MAC
    left.ip("neighbor", "replace", GATEWAY, "lladdr", MAC, "dev", "eth0", "nud", "permanent")
    # Linux accepts IPv6's only from a router that it knows by its link-local address (RFC 4861 8.1)
    left.ip("-6", "route", "replace", "default", "via", "fe80::1", "dev", "eth0")
    for target, router in ((BEHIND, "192.0.2.1"), (BEHIND6, "fe80::1")):
        assert " via %s " % router in way(left, target)
    eventually(lambda: goes_by(left, BEHIND, GATEWAY), 30)
    eventually(lambda: goes_by(left, BEHIND6, GATEWAY6), 30)
    counters = lab.router.balanced()
    assert counters["icmp_tx_redirect"] and counters["nd_tx_redirect"]
    for target in (RIGHT_HOST, RIGHT6):  # the other routes are unchanged
        pings(left, target)
    before = lab.router.balanced()["redirect_needed"]
    ask(left, BEHIND)
    ask(left, BEHIND6)
    assert lab.router.balanced()["redirect_needed"] == before


def test_nobody_is_told_unless_configured(make_lab6):
    lab = make_lab6(extra=ROUTES)
    for target in (BEHIND, BEHIND6):
        ask(lab.left, target)
    counters = lab.router.balanced()
    assert counters["redirect_needed"] == 2
    assert not counters["icmp_tx_redirect"] and not counters["nd_tx_redirect"]
