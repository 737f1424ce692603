"""Access lists on ports of the switch beside a Linux bridge with nftables: the same rules at the same ports,
and between the same hosts the same packets pass."""
import contextlib
import socket

import pytest
from conftest import eventually
from test_switch import SWITCH, linux_bridge, make_stations  # noqa: F401

pytestmark = pytest.mark.one_card

ALLOWED, DENIED = 8001, 8002  # of TCP; nobody listens: a packet that passes is answered by a reset


def address6(number):
    return "2001:db8:1::%d" % (number + 1)


@pytest.fixture(params=["hayate", "linux"])
def filtered(request, make_stations, make_router):  # noqa: F811
    """filtered(config, rules): three hosts at the ports of a switch that filters: Hayate's, configured by
    `config`, or Linux's, whose nftables have `rules` by hook."""
    with contextlib.ExitStack() as stack:
        def make(config, rules):
            hosts = make_stations(3)
            for number, host in enumerate(hosts):
                host.address6 = address6(number)
            if request.param == "linux":
                bridge = linux_bridge(stack, hosts)
                bridge.run(["nft", "-f", "-"], input=nft(rules), check=True)
            else:
                make_router(SWITCH + config, app="switch", ports=[host.port for host in hosts])
                for host in hosts:
                    host.wait_for_link()
            for host in hosts:
                host.configure6(host.address6 + "/64", "2001:db8:1::ff")
            return hosts
        yield make


def nft(rules):
    """The text of a table of bridge filters: {hook: rules}."""
    chains = "".join("chain %s { type filter hook %s priority 0; policy accept; %s }\n" % (
        hook, hook, "; ".join(lines) + ";") for hook, lines in rules.items())
    return "table bridge f {\n%s}\n" % chains


def tcp(one, other, port):
    """Does a SYN get through, over IPv4 and over IPv6? It is answered by a reset, or not at all."""
    for target, family in ((other.address, socket.AF_INET), (other.address6, socket.AF_INET6)):
        with one.socket(family, socket.SOCK_STREAM) as client:
            client.settimeout(1.5)
            try:
                client.connect((target, port))
            except ConnectionRefusedError:
                yield True
            except (TimeoutError, OSError):
                yield False


def outcome(hosts):
    """What each host reaches at each other: ping and two ports of TCP, over IPv4 and IPv6."""
    seen = {}
    for n, one in enumerate(hosts):
        for k, other in enumerate(hosts):
            if one is not other:
                seen[n, k] = (*(one.ping(target, wait_s=1)[0] for target in (other.address, other.address6)),
                              *tcp(one, other, ALLOWED), *tcp(one, other, DENIED))
    return seen


ALL = (True,) * 6


def settled(hosts, want):
    """The outcome, once neighbours are known and stations are learned."""
    assert eventually(lambda: outcome(hosts) == want, 60), outcome(hosts)


def test_no_list(filtered):
    hosts = filtered("", {})
    settled(hosts, {(n, k): ALL for n in range(3) for k in range(3) if n != k})


def test_in(filtered):
    """Of host 0's port: a port of TCP over IPv4, another over IPv6. Answers to others pass."""
    hosts = filtered(
        "interface eth0\n ip access-group F in\n ipv6 traffic-filter F6 in\n"
        "ip access-list F\n deny tcp any any eq %d\n permit ip any any\n"
        "ipv6 access-list F6\n deny tcp any any eq %d\n permit ipv6 any any\n" % (DENIED, ALLOWED),
        {"prerouting": ["iifname p0 ether type ip tcp dport %d drop" % DENIED,
                        "iifname p0 ether type ip6 tcp dport %d drop" % ALLOWED]})
    want = {(n, k): ALL for n in range(3) for k in range(3) if n != k}
    want[0, 1] = want[0, 2] = (True, True, True, False, False, True)
    settled(hosts, want)


def test_out(filtered):
    """To host 2: no pings over IPv4, nor TCP over IPv6 from host 1; its own requests are answered unless the
    list takes the answers."""
    hosts = filtered(
        "interface eth2\n ip access-group G out\n ipv6 traffic-filter G6 out\n"
        "ip access-list G\n deny icmp any any echo\n permit ip any any\n"
        "ipv6 access-list G6\n deny tcp host %s any\n permit ipv6 any any\n" % address6(1),
        {"postrouting": ["oifname p2 icmp type echo-request drop",
                         "oifname p2 ip6 saddr %s meta l4proto tcp drop" % address6(1)]})
    want = {(n, k): ALL for n in range(3) for k in range(3) if n != k}
    want[0, 2] = (False, True, True, True, True, True)
    want[1, 2] = (False, True, True, False, True, False)
    want[2, 1] = (True, True, True, False, True, False)  # the resets are denied
    settled(hosts, want)


def test_mac(filtered):
    """Host 0 sends no IPv6, whatever it carries."""
    hosts = filtered("interface eth0\n mac access-group M in\nmac access-list M\n deny any any ipv6\n permit any any\n",
                     {"prerouting": ["iifname p0 ether type ip6 drop"]})
    want = {(n, k): ALL for n in range(3) for k in range(3) if n != k}
    for pair in want:
        if 0 in pair:
            want[pair] = (True, False, True, False, True, False)
    settled(hosts, want)
