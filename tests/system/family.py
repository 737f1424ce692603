"""IPv4 and IPv6 side by side: the values in which their tests differ, and a lab that uses both."""
import socket

import pytest
from conftest import (LEFT_HOST, LEFT_ROUTER, RIGHT_HOST, RIGHT_ROUTER, eventually, router_config)

LEFT6, RIGHT6 = "2001:db8:1::2", "2001:db8:2::2"
LEFT_ROUTER6, RIGHT_ROUTER6 = "2001:db8:1::1", "2001:db8:2::1"


def config4(eth0="", eth1="", extra=""):
    """router_config with additional lines for each block and for the end."""
    both = router_config().splitlines()
    at = both.index("interface eth1")
    return "\n".join(both[:at] + [eth0] + both[at:] + [eth1, extra, ""])


def config6(eth0="", eth1="", extra=""):
    """The same with both families on both ports."""
    return config4(" ipv6 address %s/64\n%s" % (LEFT_ROUTER6, eth0),
                   " ipv6 address %s/64\n%s" % (RIGHT_ROUTER6, eth1), extra)


def addresses_up(router):
    """Waits until no address is tentative."""
    eventually(lambda: "tentative" not in router.command("show interfaces"), 30)


@pytest.fixture
def make_lab6(make_lab):
    """As make_lab, with both families everywhere; ready when the router's addresses are (DAD)."""
    def make(eth0="", eth1="", extra="", **more):
        lab = make_lab(config6(eth0, eth1, extra), **more)
        lab.left.configure6(LEFT6 + "/64", LEFT_ROUTER6)
        lab.right.configure6(RIGHT6 + "/64", RIGHT_ROUTER6)
        addresses_up(lab.router)
        return lab
    return make


@pytest.fixture
def lab6(make_lab6):
    return make_lab6()


class V4:
    """The hosts, and the names that differ in the other family."""
    left, right, left_router, right_router = LEFT_HOST, RIGHT_HOST, LEFT_ROUTER, RIGHT_ROUTER
    nobody, nowhere, inside = "198.51.100.77", "203.0.113.200", "203.0.113.9"
    route = "ip route 203.0.113.0/24 %s" % RIGHT_HOST
    af, flag, header = socket.AF_INET, "-4", 20
    mtu = 1000  # a small MTU that both ends support
    may_fragment = (socket.IPPROTO_IP, 10, 0)  # IP_MTU_DISCOVER = IP_PMTUDISC_DONT
    asked, show_neighbours = "arp_tx_request", "show arp"
    delivered, reply, request = "delivered_icmp", "icmp_tx_echo_reply", "icmp_tx_echo_request"
    # a drop's counter, that of the ICMP error which reports it, and Linux ping's text for that
    errors = {
        "host": ("drop_neigh_unreachable", "icmp_tx_unreach_host", "Destination Host Unreachable"),
        "network": ("drop_ip4_no_route", "icmp_tx_unreach_net", "Destination Net Unreachable"),
        "port": ("drop_udp_port", "icmp_tx_unreach_port", ""),
        "protocol": ("drop_ip4_proto", "icmp_tx_unreach_proto", ""),
        "time": ("drop_ip4_ttl", "icmp_tx_time_exceeded", "Time to live exceeded"),
        "size": ("drop_ip4_need_frag", "icmp_tx_unreach_frag", "mtu = "),
    }


class V6(V4):
    left, right, left_router, right_router = LEFT6, RIGHT6, LEFT_ROUTER6, RIGHT_ROUTER6
    nobody, nowhere, inside = "2001:db8:2::77", "2001:db8:ffff::1", "2001:db8:9:7::9"
    route = "ipv6 route 2001:db8:9::/48 %s" % RIGHT6
    af, flag, header = socket.AF_INET6, "-6", 40
    mtu = 1300
    may_fragment = (socket.IPPROTO_IPV6, 23, 0)  # IPV6_MTU_DISCOVER = IPV6_PMTUDISC_DONT
    asked, show_neighbours = "nd_tx_solicit", "show ipv6 neighbors"
    delivered, reply, request = "delivered_icmp6", "icmp6_tx_echo_reply", "icmp6_tx_echo_request"
    errors = {
        "host": ("drop_neigh_unreachable", "icmp6_tx_unreach_address", "Address unreachable"),
        "network": ("drop_ip6_no_route", "icmp6_tx_unreach_no_route", "No route"),
        "port": ("drop_udp_port", "icmp6_tx_unreach_port", ""),
        "protocol": ("drop_ip6_proto", "icmp6_tx_param_problem", ""),
        "time": ("drop_ip6_hop_limit", "icmp6_tx_time_exceeded", "Hop limit"),
        "size": ("drop_ip6_too_big", "icmp6_tx_too_big", "mtu="),
    }


# For `pytestmark` of a module with the same tests for both, with `lab` and `make_lab_of` below.
both = pytest.mark.parametrize("family", [V4, V6], ids=["v4", "v6"])


@pytest.fixture
def make_lab_of(make_lab, make_lab6, family):
    """make_lab_of(eth0=, eth1=, extra=, …): a lab for the test's family (v6: and IPv4)."""
    def make(eth0="", eth1="", extra="", **more):
        if family is V4:
            return make_lab(config4(eth0, eth1, extra), **more)
        return make_lab6(eth0, eth1, extra, **more)
    return make


@pytest.fixture
def lab_of(make_lab_of):
    return make_lab_of()
