"""ICMP errors of the router, as a real Linux interprets them: RFC 792, 1812, 4443."""
import errno
import re
import socket
import time

import pytest
from conftest import eventually, pings
from family import both, lab_of, make_lab6, make_lab_of  # noqa: F401
from launcher import options


@both
def test_too_large(make_lab_of, family):
    """`ping -M do -s` above the next link's MTU reports the MTU; Linux remembers it (RFC 1191,
    8201)."""
    lab = make_lab_of(eth1=" mtu %d" % family.mtu, right_mtu=family.mtu)
    dropped, told, word = family.errors["size"]
    answered, said = lab.left.ping(family.right, "-M", "do", "-s", "1400")
    assert not answered, said
    assert "From %s" % family.left_router in said and "%s%d" % (word, family.mtu) in said.lower(), said
    assert "mtu %d" % family.mtu in lab.left.ip(family.flag, "route", "get", family.right)
    answered, said = lab.left.ping(family.right, "-M", "do", "-s", "1400", wait_s=0.1)
    assert not answered and "message too long" in said.lower(), said
    pings(lab.left, family.right, "-M", "do", "-s", str(family.mtu - 8 - family.header))
    counters = lab.router.balanced()
    assert counters[told] == counters[dropped] == 1  # the second packet was never sent


@both
def test_unreachable_host(lab_of, family):
    """No station answers ARP or ND for the address: unreachable, after the router gave up."""
    dropped, told, word = family.errors["host"]
    answered, said = lab_of.left.ping(family.nobody, wait_s=25)  # ping ends with the answer
    assert not answered and "From %s" % family.left_router in said, said
    assert word in said, said
    counters = lab_of.router.balanced()
    assert counters[dropped] >= 1 and counters[told] >= 1


@both
def test_unreachable_network(lab_of, family):
    dropped, told, word = family.errors["network"]
    answered, said = lab_of.left.ping(family.nowhere)
    assert not answered and word in said, said
    counters = lab_of.router.balanced()
    assert counters[dropped] == 1 and counters[told] == 1


def refused(host, address, port, family):
    """Sends a datagram on a connected socket; returns the resulting error, or None."""
    with host.socket(family.af) as client:
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


@both
def test_unreachable_port(lab_of, family):
    """A closed port of the router, on its near and its far address."""
    dropped, told, _ = family.errors["port"]
    for number, address in enumerate((family.left_router, family.right_router), 1):
        assert refused(lab_of.left, address, 9999, family) == errno.ECONNREFUSED
        counters = lab_of.router.balanced()
        assert counters[dropped] == number and counters[told] == number


@both
def test_unreachable_protocol(lab_of, family):
    """A protocol that the router itself does not implement (SCTP's number, sent raw)."""
    _, told, _ = family.errors["protocol"]
    with lab_of.left.socket(family.af, socket.SOCK_RAW, 132) as raw:
        raw.sendto(b"\0" * 20, (family.left_router, 0))
        eventually(lambda: lab_of.router.counters()[told] == 1, 5, "protocol unreachable")


@both
def test_time_exceeded(lab_of, family):
    dropped, told, word = family.errors["time"]
    answered, said = lab_of.left.ping(family.right, "-t", "1")
    assert not answered and "From %s" % family.left_router in said, said
    assert word in said, said
    counters = lab_of.router.balanced()
    assert counters[dropped] == counters[told] == 1


@both
@pytest.mark.parametrize("cpus", [2, 3])
def test_errors_are_rate_limited(make_lab_of, family, cpus):
    """Twenty errors a second, five at once: a thousand bad packets do not get a thousand answers.
    Each data core has its share of the limit, and all these packets go to one core."""
    lab = make_lab_of(extra="ip icmp rate-limit 20 burst 5", cpus=cpus)
    dropped, told, _ = family.errors["network"]
    pings(lab.left, family.left_router)
    begin, sent = time.monotonic(), 0
    with lab.left.socket(family.af) as client:
        while sent < 1000 or time.monotonic() < begin + 1:
            for _ in range(100):  # never more than a tap holds
                client.sendto(b"x", (family.nowhere, 9))
            sent += 100
            eventually(lambda until=sent: lab.router.counters()[dropped] == until, 10, "the packets' drop")
    counters = lab.router.balanced()
    allowed = 5 + 20 / options.data_cores(cpus) * (time.monotonic() - begin)
    assert 5 <= counters[told] <= allowed
    assert counters[told] + counters["icmp_err_ratelimited"] == sent


@both
def test_ping_from_the_console(lab_of, family):
    output = lab_of.router.command("ping %s count 3" % family.right, timeout_s=30)
    assert output.count("64 bytes from %s: " % family.right) == 3, output
    assert re.search(r"^3 sent, 3 received", output, re.MULTILINE), output
    counters = lab_of.router.balanced()
    assert counters[family.request] == counters[family.delivered] == 3, output


@both
def test_large_ping_to_the_router(lab_of, family):
    """RFC 1122 3.3.2, 8200 4.5: the router reassembles fragments for itself, and fragments its
    answer."""
    for size in (1400, 3000, 8000, 30000):
        pings(lab_of.left, family.left_router, "-s", str(size), count=2)
