"""ICMP errors of the router, as real Linux understands them."""
import errno
import socket

import pytest
from conftest import (LEFT_ROUTER, RIGHT_HOST, RIGHT_ROUTER, eventually, ping, pings,
                      router_config)


def test_fragmentation_needed(make_lab):
    """`ping -M do -s` beyond the next link's MTU names the MTU; Linux remembers it."""
    lab = make_lab(router_config(eth1_mtu=1000), right_mtu=1000)
    answers, output = ping(lab.left, RIGHT_HOST, "-M", "do", "-s", "1200", count=2)
    assert answers == 0, output
    assert "From %s" % LEFT_ROUTER in output and "mtu = 1000" in output.lower(), output
    assert "mtu 1000" in lab.left.ip("route", "get", RIGHT_HOST)
    pings(lab.left, RIGHT_HOST, "-M", "do", "-s", "972")
    assert lab.router.balanced()["icmp_tx_unreach_frag"] == 1  # the second was never sent


def test_unreachable_host(lab):
    """Nobody answers ARP for the address: host unreachable, after the router gave up."""
    answers, output = ping(lab.left, "198.51.100.77", "-W", "8", count=1)
    assert answers == 0 and "From %s" % LEFT_ROUTER in output, output
    assert "Destination Host Unreachable" in output, output
    counters = lab.router.balanced()
    assert counters["drop_neigh_unreachable"] >= 1 and counters["icmp_tx_unreach_host"] >= 1


def test_unreachable_network(lab):
    answers, output = ping(lab.left, "203.0.113.200", count=1)
    assert answers == 0 and "Destination Net Unreachable" in output, output
    counters = lab.router.balanced()
    assert counters["drop_ip4_no_route"] == 1 and counters["icmp_tx_unreach_net"] == 1


def refused(host, address, port):
    """Sends a datagram on a connected socket; the error that comes back, or None."""
    with host.socket() as client:
        client.settimeout(3)
        client.connect((address, port))
        client.send(b"?")
        try:
            client.recv(64)
        except socket.timeout:
            return None
        except OSError as error:
            return error.errno
    return None


@pytest.mark.parametrize("address", [LEFT_ROUTER, RIGHT_ROUTER])
def test_unreachable_port(lab, address):
    """A port of the router that nobody listens on."""
    assert refused(lab.left, address, 9999) == errno.ECONNREFUSED
    counters = lab.router.balanced()
    assert counters["drop_udp_port"] == 1 and counters["icmp_tx_unreach_port"] == 1


def test_unreachable_protocol(lab):
    """A protocol that the router itself does not speak (SCTP's number, sent raw)."""
    with lab.left.socket(kind=socket.SOCK_RAW, protocol=132) as raw:
        raw.sendto(b"\0" * 20, (LEFT_ROUTER, 0))
        eventually(lambda: lab.router.counters()["icmp_tx_unreach_proto"] == 1, 5,
                   "protocol unreachable")


def test_time_exceeded(lab):
    answers, output = ping(lab.left, RIGHT_HOST, "-t", "1", count=1)
    assert answers == 0 and "From %s" % LEFT_ROUTER in output, output
    assert "Time to live exceeded" in output, output
    assert lab.router.balanced()["icmp_tx_time_exceeded"] == 1


def test_errors_are_rate_limited(make_lab):
    """Ten errors a second, five at once: a thousand bad packets do not get a thousand answers."""
    lab = make_lab(router_config(extra="ip icmp rate-limit 10 burst 5\n"))
    with lab.left.socket() as client:
        for _ in range(1000):
            client.sendto(b"x", ("203.0.113.200", 9))
    eventually(lambda: lab.router.counters()["drop_ip4_no_route"] >= 900, 10, "the packets' drop")
    counters = lab.router.balanced()
    assert 1 <= counters["icmp_tx_unreach_net"] <= 100
    assert counters["icmp_err_ratelimited"] >= 800


def test_ping_from_the_console(lab):
    output = lab.router.command("ping " + RIGHT_HOST, timeout_s=30)
    assert RIGHT_HOST in output, output
    counters = lab.router.balanced()
    assert counters["icmp_tx_echo_request"] >= 1 and counters["delivered_icmp"] >= 1, output
