"""A host that configures itself (RFC 4862, RFC 4861 6.3), in the applications that are not routers:
the effect of advertisements on addresses, routes and MTU. unit/test_slaac.c tests the rules."""
import pytest
from ip6 import advert
from machine import *
from scapy.layers.inet6 import (ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS,
                                ICMPv6ND_RA, ICMPv6ND_RS, ICMPv6NDOptDstLLAddr, ICMPv6NDOptMTU,
                                ICMPv6NDOptPrefixInfo, ICMPv6NDOptSrcLLAddr, IPv6,
                                IPv6ExtHdrFragment, in6_getnsma, in6_getnsmac)
from scapy.pton_ntop import inet_ntop, inet_pton
import socket

from scapy.layers.inet import TCP

HOST_MAC = ROUTER[0].mac  # eth0 of the machine, which is no router here
IDENTIFIER = "48:59ff:fe00:0"  # derived from that MAC (RFC 4291 appendix A)
LINK_LOCAL = "fe80::" + IDENTIFIER
PREFIX = "2001:db8:1::"
ADDRESS = "2001:db8:1:0:" + IDENTIFIER
AWAY = "2001:db8:9::9"


class Gate:
    """A router on the link."""

    def __init__(self, ip, mac):
        self.ip, self.mac = ip, mac


R1, R2 = Gate("fe80::a1", "02:aa:00:00:00:a1"), Gate("fe80::a2", "02:aa:00:00:00:a2")

AUTO = """\
application echo
interface eth0
 ipv6 address autoconfig
"""


def prefix_option(L=1, A=1, valid=86400):
    return ICMPv6NDOptPrefixInfo(prefix=PREFIX, prefixlen=64, L=L, A=A, validlifetime=valid,
                                 preferredlifetime=min(valid, 14400))


def advertise(m, router, *options, lifetime=1800, hops=0):
    """A router advertisement to all nodes."""
    message = ICMPv6ND_RA(chlim=hops, M=0, O=0, routerlifetime=lifetime) / \
        ICMPv6NDOptSrcLLAddr(lladdr=router.mac)
    for option in options:
        message = message / option
    m.send(0, Ether(src=router.mac, dst="33:33:00:00:00:01") /
           IPv6(src=router.ip, dst="ff02::1", hlim=255) / message)


def sent(m, kind):
    """The messages of that kind that the machine has sent; takes all frames it has sent."""
    return [p for p in (Ether(frame) for frame in m.take_all(0)) if kind in p]


def host(make, config=AUTO, seconds=3):
    """A machine whose link-local address is up and that has solicited routers."""
    m = make(config, ports=1, boot=False)
    m.time(seconds * SECOND)
    return m


def numbered(make, *options, config=AUTO, **fields):
    """The same with an address from an advertisement of R1."""
    m = host(make, config)
    advertise(m, R1, *(options or [prefix_option()]), **fields)
    m.time(5 * SECOND)
    m.take_all(0)
    m.counted()
    return m


def routes(m):
    """`show ipv6 route`: prefix -> the rest of the line, without its source."""
    lines = m.console("show ipv6 route").splitlines()
    return {line.split()[1]: " ".join(line.split()[2:]) for line in lines[:-1]}


def addresses(m):
    return [line.split(None, 1)[1] for line in m.console("show interfaces").splitlines()
            if line.startswith("  address ")]


def ping(m, src, dst=ADDRESS, by=R1, size=56):
    m.send(0, Ether(src=by.mac, dst=HOST_MAC) / IPv6(src=src, dst=dst) /
           ICMPv6EchoRequest(id=1, seq=2, data=bytes(size)))


def expect_reply(m, dst, by=R1, src=ADDRESS):
    """An echo reply goes to the address, by that router's MAC."""
    p = Ether(m.take(0).frame)
    assert ICMPv6EchoReply in p, p.summary()
    assert (p.src, p.dst, p[IPv6].src, p[IPv6].dst) == (HOST_MAC, by.mac, src, dst)


def test_asks_for_routers(make):
    """RFC 4861 6.3.7: the host solicits from its link-local address, once it has one, and again
    (RFC 7559)."""
    m = host(make, seconds=10)
    asked = sent(m, ICMPv6ND_RS)
    assert 2 <= len(asked) <= 3
    assert {p[IPv6].src for p in asked} <= {"::", LINK_LOCAL} and asked[-1][IPv6].src == LINK_LOCAL
    assert all(p[IPv6].dst == "ff02::2" and p[IPv6].hlim == 255 for p in asked)
    assert addresses(m) == [LINK_LOCAL + "/64"]
    assert routes(m) == {}


def test_numbers_itself(make):
    m = host(make)
    m.take_all(0)
    advertise(m, R1, prefix_option())
    m.time(5 * SECOND)
    probes = [p for p in sent(m, ICMPv6ND_NS) if p[IPv6].src == "::"]
    assert [p[ICMPv6ND_NS].tgt for p in probes] == [ADDRESS]
    assert addresses(m) == [LINK_LOCAL + "/64", ADDRESS + "/64"]
    way = routes(m)
    assert set(way) == {"::/0", PREFIX + "/64"}
    assert way["::/0"].startswith("via fe80::a1 eth0 advertised")
    assert way[PREFIX + "/64"] == "connected eth0 advertised"
    m.time(100 * SECOND)
    assert not sent(m, ICMPv6ND_RS)  # a router has answered


@pytest.mark.parametrize("application", ["echo", "discard"])
def test_answers_by_the_default_router(make, application):
    m = numbered(make, config=AUTO.replace("application echo", "application " + application))
    ping(m, AWAY)
    expect_reply(m, AWAY)
    m.expect_counters(delivered_icmp6=1, icmp6_tx_echo_reply=1)


def test_answers_a_neighbour_of_the_prefix(make):
    """A station of the advertised prefix is on the link: the host solicits it directly."""
    m = numbered(make)
    near = Gate(PREFIX + "7", "02:aa:00:00:00:07")
    ping(m, near.ip, by=near)
    asked = Ether(m.take(0).frame)
    assert asked[ICMPv6ND_NS].tgt == near.ip
    m.send(0, Ether(src=near.mac, dst=HOST_MAC) / IPv6(src=near.ip, dst=ADDRESS, hlim=255) /
           ICMPv6ND_NA(tgt=near.ip, R=0, S=1, O=1) / ICMPv6NDOptDstLLAddr(lladdr=near.mac))
    expect_reply(m, near.ip, by=near)


def test_lifetimes_end(make):
    m = numbered(make, prefix_option(valid=60), lifetime=30)
    assert set(routes(m)) == {"::/0", PREFIX + "/64"}
    m.time(30 * SECOND)
    assert set(routes(m)) == {PREFIX + "/64"}
    ping(m, AWAY)
    m.time(30 * SECOND)
    assert addresses(m) == [LINK_LOCAL + "/64"] and routes(m) == {}
    m.take_all(0)
    m.counted()
    ping(m, AWAY)
    m.expect_counters(drop_ip6_not_ours=1)


def test_another_router_takes_over(make):
    """RFC 4861 6.3.4: lifetime 0 removes a default router at once."""
    m = numbered(make)
    advertise(m, R2)
    assert routes(m)["::/0"].startswith("via fe80::a1 ")
    advertise(m, R1, lifetime=0)
    assert routes(m)["::/0"].startswith("via fe80::a2 ")
    m.take_all(0)
    ping(m, AWAY)
    expect_reply(m, AWAY, by=R2)
    advertise(m, R2, lifetime=0)
    assert set(routes(m)) == {PREFIX + "/64"}
    m.take_all(0)


def test_prefix_that_is_not_on_the_link(make):
    """RFC 4862 5.5.3 requires only the autonomous flag: just the address itself is ours."""
    m = numbered(make, prefix_option(L=0))
    assert routes(m)[ADDRESS + "/128"] == "local advertised"
    assert PREFIX + "/64" not in routes(m)
    ping(m, AWAY)
    expect_reply(m, AWAY)
    ping(m, PREFIX + "7")  # not on the link: sent to the router
    expect_reply(m, PREFIX + "7")


def test_prefix_leaves_the_link_and_the_address_stays(make):
    """RFC 4862 5.5.3 (e): the address keeps two hours when the prefix is withdrawn."""
    m = numbered(make)
    advertise(m, R1, prefix_option(valid=0))
    assert PREFIX + "/64" not in routes(m)
    ping(m, AWAY)
    expect_reply(m, AWAY)
    m.time(7201 * SECOND)
    m.take_all(0)
    assert addresses(m) == [LINK_LOCAL + "/64"] and routes(m) == {}


STATIC = AUTO + """\
 ipv6 address 2001:db8:1::5/64
ipv6 route ::/0 fe80::99 eth0
"""


def test_the_configuration_stays(make):
    """An advertisement cannot remove or change the configured subnet and default route."""
    m = numbered(make, config=STATIC)
    assert addresses(m) == [LINK_LOCAL + "/64", PREFIX + "5/64", ADDRESS + "/64"]
    advertise(m, R1, prefix_option(valid=0), lifetime=0)
    left = routes(m)
    assert left["::/0"].startswith("via fe80::99 eth0") and "advertised" not in left["::/0"]
    assert left[PREFIX + "/64"] == "connected eth0"
    m.take_all(0)


TWO_WAYS = AUTO + """\
interface eth1
 ipv6 enable
ipv6 route ::/0 fe80::99 eth1
"""


def test_a_static_default_route_whose_link_goes(make):
    """The advertised one serves as long as the configuration's cannot, and until its router answers."""
    m = make(TWO_WAYS, ports=2, boot=False)
    m.time(3 * SECOND)
    advertise(m, R1, prefix_option())
    m.time(5 * SECOND)
    for _ in range(2):
        assert routes(m)["::/0"].startswith("via fe80::99 eth1 [1]")
        m.link(1, False)
        m.time(SECOND)
        assert routes(m)["::/0"].startswith("via fe80::a1 eth0 advertised")
        m.take_all(0)
        ping(m, AWAY)
        expect_reply(m, AWAY)
        m.link(1, True)
        m.time(SECOND)
        assert routes(m)["::/0"].startswith("via fe80::a1 eth0 advertised")
        m.time(2 * SECOND)
        assert "fe80::99" in [Ether(f)[ICMPv6ND_NS].tgt for f in m.take_all(1) if ICMPv6ND_NS in Ether(f)]
        m.send(1, advert(B, ROUTER[1], target="fe80::99", dst_ip=ROUTER[1].link_local))
        m.time(2 * SECOND)
    advertise(m, R1, prefix_option(), lifetime=0)
    assert routes(m)["::/0"].startswith("via fe80::99 eth1 [1]")
    m.link(1, False)
    m.time(SECOND)
    assert "::/0" not in routes(m)
    m.take_all(0), m.take_all(1), m.counted()


def test_a_route_over_an_advertised_address(make):
    """A route to a part of the prefix, made while the ports run, does not take our own address away."""
    m = numbered(make)
    part = "ipv6 route 2001:db8:1::/65 fe80::a2 eth0"
    for entered, there in ((part, True), ("no " + part, False)) * 2:
        for typed in ("configure", entered, "commit", "end"):
            said = m.console(typed)
            assert "%" not in said and "restart" not in said
        assert routes(m).get(ADDRESS + "/128") == ("local advertised" if there else None)
        m.take_all(0)
        ping(m, AWAY)
        expect_reply(m, AWAY)
    m.counted()


LINK_LOCAL_GIVEN = AUTO + " ipv6 address fe80::1 link-local\n"


def test_link_local_address_of_the_configuration(make):
    m = numbered(make, config=LINK_LOCAL_GIVEN)
    assert addresses(m) == ["fe80::1/64", ADDRESS + "/64"]


@pytest.mark.parametrize("config", [AUTO, LINK_LOCAL_GIVEN], ids=["by MAC", "given"])
def test_probe_of_another_is_seen_while_tentative(make, config):
    """RFC 4862 5.4.3: another station probes for the address that we have just formed."""
    m = host(make, config)
    m.take_all(0)
    advertise(m, R1, prefix_option())
    group = in6_getnsma(inet_pton(socket.AF_INET6, ADDRESS))
    m.send(0, Ether(src=R2.mac, dst=in6_getnsmac(group)) /
           IPv6(src="::", dst=inet_ntop(socket.AF_INET6, group), hlim=255) /
           ICMPv6ND_NS(tgt=ADDRESS))
    m.time(5 * SECOND)
    assert "%s is in use by %s" % (ADDRESS, R2.mac) in m.text
    assert ADDRESS + "/64 duplicate" in addresses(m)
    m.take_all(0)
    m.counted()
    ping(m, AWAY)
    m.expect_counters(drop_ip6_not_ours=1)


def test_mtu(make):
    """RFC 4861 4.6.4, RFC 8200 5: our packets fit the link, in fragments if necessary."""
    m = numbered(make, prefix_option(), ICMPv6NDOptMTU(mtu=1400))
    ping(m, AWAY, size=1400)
    first, last = (Ether(frame) for frame in m.take_all(0))
    assert IPv6ExtHdrFragment in first and IPv6ExtHdrFragment in last
    assert first[IPv6].plen + 40 <= 1400
    advertise(m, R1, prefix_option(), ICMPv6NDOptMTU(mtu=9000))  # more than the port's
    advertise(m, R1, prefix_option(), ICMPv6NDOptMTU(mtu=1279))  # less than any link's
    ping(m, AWAY, size=1400)
    assert len(m.take_all(0)) == 2
    advertise(m, R1, prefix_option(), ICMPv6NDOptMTU(mtu=1500))
    ping(m, AWAY, size=1400)
    assert len(m.take_all(0)) == 1


def hello(m, port=4000, service=7):
    """Sends a SYN of a host that is not on the link; returns the answer."""
    m.send(0, Ether(src=R1.mac, dst=HOST_MAC) / IPv6(src=AWAY, dst=ADDRESS) /
           TCP(sport=port, dport=service, seq=1000, flags="S", window=65000,
               options=[("MSS", 8940)]))
    answer, = (Ether(frame) for frame in m.take_all(0))
    assert answer[TCP].flags == "SA"
    return answer


def test_mtu_of_tcp(make):
    """The data cores' and the management's: neither is offered more nor sends more."""
    m = numbered(make, prefix_option(), ICMPv6NDOptMTU(mtu=1400), config=AUTO + WEB)
    a = hello(m)
    assert dict(a[TCP].options)["MSS"] == 1340
    m.send(0, Ether(src=R1.mac, dst=HOST_MAC) / IPv6(src=AWAY, dst=ADDRESS) /
           TCP(sport=4000, dport=7, seq=1001, ack=a[TCP].seq + 1, flags="PA", window=65000) /
           Raw(bytes(1440)))  # more than our MSS: the sender has no small link
    sizes = [Ether(frame)[IPv6].plen + 40 for frame in m.take_all(0)]
    assert sizes == [1400]  # the rest waits for the acknowledgement (Nagle)
    assert dict(hello(m, 4001, 80)[TCP].options)["MSS"] == 1340
    advertise(m, R1, prefix_option(), ICMPv6NDOptMTU(mtu=1500))
    for service in (7, 80):
        assert dict(hello(m, 4002, service)[TCP].options)["MSS"] == 1440


def test_hop_limit(make):
    """RFC 4861 6.3.4: CurHopLimit applies to all packets of both roles except discovery. 0 means
    unspecified; values below 32 are ignored (slaac.h)."""
    m = numbered(make, prefix_option(), hops=99)

    def limits(port):
        got = [hello(m, port)]
        ping(m, AWAY)
        m.send(0, Ether(src=R1.mac, dst=HOST_MAC) / IPv6(src=AWAY, dst=ADDRESS) /
               UDP(sport=4000, dport=7) / Raw(b"hello"))
        m.send(0, Ether(src=R1.mac, dst=HOST_MAC) / IPv6(src=AWAY, dst=ADDRESS) /
               TCP(sport=4000, dport=9999, seq=1, flags="S"))
        got += [Ether(frame) for frame in m.take_all(0)]
        assert len(got) == 4
        return {p[IPv6].hlim for p in got}

    assert limits(4000) == {99}
    for hops in (0, 5, 31):
        advertise(m, R1, prefix_option(), hops=hops)
    assert limits(4001) == {99}
    m.send(0, Ether(src=R1.mac, dst=in6_getnsmac(in6_getnsma(inet_pton(socket.AF_INET6, ADDRESS)))) /
           IPv6(src=R1.ip, dst=inet_ntop(socket.AF_INET6, in6_getnsma(
               inet_pton(socket.AF_INET6, ADDRESS))), hlim=255) /
           ICMPv6ND_NS(tgt=ADDRESS) / ICMPv6NDOptSrcLLAddr(lladdr=R1.mac))
    assert [p[IPv6].hlim for p in sent(m, ICMPv6ND_NA)] == [255]
    advertise(m, R1, prefix_option(), hops=255)
    assert limits(4002) == {255}
    m.command("restart")
    m.time(5 * SECOND)
    m.take_all(0)
    advertise(m, R1, prefix_option())
    m.time(5 * SECOND)
    m.take_all(0)
    assert limits(4003) == {64}


def test_link_comes_back(make):
    """The other stations may have changed: the host probes for its addresses and solicits routers
    again."""
    m = numbered(make)
    m.link(0, False)
    m.link(0, True)
    m.time(5 * SECOND)
    frames = [Ether(frame) for frame in m.take_all(0)]
    assert {p[ICMPv6ND_NS].tgt for p in frames if ICMPv6ND_NS in p} == {LINK_LOCAL, ADDRESS}
    assert any(ICMPv6ND_RS in p for p in frames)
    advertise(m, R1, prefix_option())
    ping(m, AWAY)
    expect_reply(m, AWAY)


def test_ports_are_restarted(make):
    """Everything is learnt again, in the same memory."""
    m = numbered(make)
    for _ in range(2):
        m.command("restart")
        m.time(5 * SECOND)
        assert addresses(m) == [LINK_LOCAL + "/64"] and routes(m) == {}
        assert sent(m, ICMPv6ND_RS)
        advertise(m, R1, prefix_option())
        m.time(5 * SECOND)
        m.take_all(0)
        ping(m, AWAY)
        expect_reply(m, AWAY)


def test_link_local_alone(make):
    """`ipv6 enable`: an address for the link only; advertisements of routers are ignored."""
    m = host(make, AUTO.replace("ipv6 address autoconfig", "ipv6 enable"))
    assert not sent(m, ICMPv6ND_RS)
    m.counted()
    advertise(m, R1, prefix_option())
    m.expect_counters(drop_nd_router=1)
    assert addresses(m) == [LINK_LOCAL + "/64"] and routes(m) == {}
    ping(m, R1.ip, dst=LINK_LOCAL)
    m.send(0, Ether(src=R1.mac, dst=HOST_MAC) / IPv6(src=R1.ip, dst=LINK_LOCAL, hlim=255) /
           ICMPv6ND_NA(tgt=R1.ip, R=1, S=1, O=1) / ICMPv6NDOptDstLLAddr(lladdr=R1.mac))
    assert Ether(m.take(0).frame)[ICMPv6ND_NS].tgt == R1.ip
    expect_reply(m, R1.ip, src=LINK_LOCAL)


NOT_SAID = AUTO.replace("application echo\n", "")


@pytest.mark.parametrize("config, app", [(NOT_SAID, None), (AUTO, "router")])
def test_a_router_does_not(make, config, app):
    """RFC 4861 6.2.7: app= on the kernel command line decides whether this is a router."""
    m = make(config, ports=1, boot=False, app=app)
    assert "a router does not take its addresses from the advertisements of others" in m.text
    assert "nothing of the configuration is applied" in m.text


def test_the_command_line_says_that_it_is_a_host(make):
    """`hayate run echo` with a file that does not name the application."""
    m = make(NOT_SAID, ports=1, boot=False, app="echo")
    for _ in range(2):
        m.time(3 * SECOND)
        advertise(m, R1, prefix_option())
        m.time(5 * SECOND)
        assert ADDRESS + "/64" in addresses(m)
        m.take_all(0)
        m.command("restart")
    m.take_all(0)
