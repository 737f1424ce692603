"""ICMP errors of the router, as real Linux understands them."""
import errno
import re
import socket
import time

import pytest
from conftest import LEFT_ROUTER, RIGHT_HOST, RIGHT_ROUTER, eventually, pings, router_config


def test_fragmentation_needed(make_lab):
    """`ping -M do -s` beyond the next link's MTU names the MTU; Linux remembers it."""
    lab = make_lab(router_config(eth1_mtu=1000), right_mtu=1000)
    answered, said = lab.left.ping(RIGHT_HOST, "-M", "do", "-s", "1200")
    assert not answered, said
    assert "From %s" % LEFT_ROUTER in said and "mtu = 1000" in said.lower(), said
    assert "mtu 1000" in lab.left.ip("route", "get", RIGHT_HOST)
    assert "local error" in lab.left.ping(RIGHT_HOST, "-M", "do", "-s", "1200", wait_s=0.1)[1]
    pings(lab.left, RIGHT_HOST, "-M", "do", "-s", "972")
    assert lab.router.balanced()["icmp_tx_unreach_frag"] == 1  # the second was never sent


def test_unreachable_host(lab):
    """Nobody answers ARP for the address: host unreachable, after the router gave up."""
    answered, said = lab.left.ping("198.51.100.77", wait_s=25)  # it ends with the answer
    assert not answered and "From %s" % LEFT_ROUTER in said, said
    assert "Destination Host Unreachable" in said, said
    counters = lab.router.balanced()
    assert counters["drop_neigh_unreachable"] >= 1 and counters["icmp_tx_unreach_host"] >= 1


def test_unreachable_network(lab):
    answered, said = lab.left.ping("203.0.113.200")
    assert not answered and "Destination Net Unreachable" in said, said
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
    answered, said = lab.left.ping(RIGHT_HOST, "-t", "1")
    assert not answered and "From %s" % LEFT_ROUTER in said, said
    assert "Time to live exceeded" in said, said
    assert lab.router.balanced()["icmp_tx_time_exceeded"] == 1


def test_errors_are_rate_limited(make_lab):
    """Ten errors a second, five at once: a thousand bad packets do not get a thousand answers."""
    lab = make_lab(router_config(extra="ip icmp rate-limit 10 burst 5\n"))
    pings(lab.left, LEFT_ROUTER)
    begin = time.monotonic()
    with lab.left.socket() as client:
        for sent in range(100, 1001, 100):  # never more than a tap holds
            for _ in range(100):
                client.sendto(b"x", ("203.0.113.200", 9))
            eventually(lambda: lab.router.counters()["drop_ip4_no_route"] == sent, 10,
                       "the packets' drop")
    counters = lab.router.balanced()
    allowed = 5 + 10 * (time.monotonic() - begin)
    assert 5 <= counters["icmp_tx_unreach_net"] <= allowed
    assert counters["icmp_tx_unreach_net"] + counters["icmp_err_ratelimited"] == 1000


def test_ping_from_the_console(lab):
    output = lab.router.command("ping %s count 3" % RIGHT_HOST, timeout_s=30)
    assert output.count("64 bytes from %s: " % RIGHT_HOST) == 3, output
    assert re.search(r"^3 sent, 3 received", output, re.MULTILINE), output
    counters = lab.router.balanced()
    assert counters["icmp_tx_echo_request"] == counters["delivered_icmp"] == 3, output


@pytest.mark.parametrize("size", [3000, 30000])
def test_large_ping_to_the_router(lab, size):
    """RFC 1122 3.3.2: the router puts fragments to itself together, and its answer into some."""
    pings(lab.left, LEFT_ROUTER, "-s", str(size), count=2)
