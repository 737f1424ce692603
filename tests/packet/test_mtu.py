"""Path MTU discovery through interfaces of different MTUs (RFC 1191 4, RFC 8201, RFC 4443 3.2): the
error always has the MTU of the interface by which the packet would have left."""
import pytest
from ip6 import *
from machine import *

MTUS = [9000, 1500, 1400, 1300, 9198]
NET4, NET6 = "192.0.%d.%d", "2001:db8:%x::%x"
CONFIG_MTUS = "ip icmp rate-limit 10000 burst 1000\n" + "".join(
    "interface eth%d\n ip address %s/24\n ipv6 address %s/64\n ipv6 nd ra suppress\n mtu %d\n" %
    (p, NET4 % (p + 2, 1), NET6 % (p + 1, 1), mtu) for p, mtu in enumerate(MTUS)) + \
    "".join("ip route 10.%d.0.0/16 %s\nipv6 route 2001:db8:a%d::/48 %s\n" % (
        p, NET4 % (p + 2, 2), p, NET6 % (p + 1, 2)) for p in range(len(MTUS)))
# the machine announces their MAC addresses
ROUTERS = [Station(p, NET4 % (p + 2, 1), ZERO, NET6 % (p + 1, 1)) for p in range(len(MTUS))]


@pytest.fixture
def mtus(make):
    """(machine, the stations on its ports, known to it in both families)."""
    m = make(CONFIG_MTUS, ports=len(MTUS), mtu_max=9198)
    stations = []
    for p in range(len(MTUS)):
        s = Station(p, NET4 % (p + 2, 2), "02:00:00:00:02:%02x" % p, NET6 % (p + 1, 2))
        m.send(p, arp_request(s, NET4 % (p + 2, 1)))
        ROUTERS[p].mac = Ether(m.take(p).frame).src
        ask = IPv6(src=s.ip6, dst=ROUTERS[p].ip6, hlim=255) / \
            ICMPv6ND_NS(tgt=ROUTERS[p].ip6) / ICMPv6NDOptSrcLLAddr(lladdr=s.mac)
        m.send(p, Ether(src=s.mac, dst=ROUTERS[p].mac) / ask)
        m.take(p)
        stations.append(s)
    m.counted()
    return m, stations


def told(m, port):
    """The MTU in the single error that the port sent."""
    frame = Ether(m.take(port).frame)
    m.expect_nothing()
    if ICMP in frame:
        assert (frame[ICMP].type, frame[ICMP].code) == (3, 4)
        return frame[ICMP].nexthopmtu
    raw = bytes(frame[IPv6])
    assert raw[40:42] == b"\x02\0"
    return int.from_bytes(raw[44:48], "big")


@pytest.mark.parametrize("to", ["neighbour", "route", "unknown"])
def test_every_pair_of_interfaces(mtus, to):
    """One byte larger than the outgoing MTU, and just fitting; IPv4 without DF is fragmented."""
    m, stations = mtus
    far, known = to == "route", to != "unknown"
    for src in stations:
        for out, mtu in enumerate(MTUS):
            host = 2 if known else 77
            if out == src.port or mtu + 1 > MTUS[src.port]:
                continue
            to4 = "10.%d.0.1" % out if far else NET4 % (out + 2, host)
            to6 = "2001:db8:a%d::1" % out if far else NET6 % (out + 1, host)
            for packet in (udp(src, to4, mtu + 1 - 28, flags="DF"), udp6(src, to6, mtu + 1 - 48)):
                m.send(src.port, ether(src, ROUTERS[src.port]) / packet)
                assert told(m, src.port) == mtu
            if not known:
                continue
            for packet in (udp(src, to4, mtu - 28, flags="DF"), udp6(src, to6, mtu - 48)):
                m.send(src.port, ether(src, ROUTERS[src.port]) / packet)
                assert len(m.take(out).frame) == mtu + 14
                m.expect_nothing()
            m.send(src.port, ether(src, ROUTERS[src.port]) / udp(src, to4, mtu + 1 - 28))
            pieces = [Ether(f)[IP] for f in m.take_all(out)]
            assert len(pieces) == 2 and all(p.len <= mtu for p in pieces)
    counted = m.counted()
    assert counted["icmp_tx_unreach_frag"] == counted["drop_ip4_need_frag"] > 0
    assert counted["icmp6_tx_too_big"] == counted["drop_ip6_too_big"] > 0


LIMIT = "ip icmp rate-limit 10 burst 3\n"
OTHER = {"v4": "v6", "v6": "v4"}


def small(make, extra=LIMIT):
    """A router between two hosts; the link of B has the least MTU that IPv6 permits."""
    m = make(extra + CONFIG6 + " mtu 1280\n")
    m.learn(A, B)
    learn6(m, A, B)
    return m


def too_big(f):
    """A packet from A that the link of B does not carry, and the error about it."""
    if f is V4:
        packet = udp(A, B, 1281 - 28, flags="DF")
        return packet, error_about(ROUTER[0], A, packet, 3, 4, 1280)
    packet = udp6(A, B, 1281 - 48)
    return packet, error6_about(ROUTER[0], A, packet, 2, 0, 1280)


def frames_to(*packets):
    return [ether(A, ROUTER[0]) / p for p in packets]


# packets that provoke other errors of a data core, by whoever likes to send them
FLOODS = {
    "hops": lambda f: f.packet(A, B, hops=1),
    "no route": lambda f: f.packet(A, f.nowhere),
}


@pytest.mark.parametrize("flood", FLOODS)
@pytest.mark.parametrize("by", FAMILIES)
@pytest.mark.parametrize("name", FAMILIES)
def test_no_flood_of_other_errors_keeps_the_mtu_back(make, name, by, flood):
    """RFC 1191 3, RFC 8201 4: a sender that is not told of the MTU sends into a black hole. Packets
    that provoke other errors, of either family, take nothing from the limit of these."""
    m = small(make)
    m.send(0, *frames_to(*[FLOODS[flood](FAMILIES[by])] * 50))
    assert len(m.take_all(0)) == 3
    assert m.counted()["icmp_err_ratelimited"] == 47
    packet, error = too_big(FAMILIES[name])
    for _ in range(2):
        m.send(0, *frames_to(packet))
        m.expect(0, error)
    m.expect_nothing()
    told = "icmp_tx_unreach_frag" if name == "v4" else "icmp6_tx_too_big"
    drop = "drop_ip4_need_frag" if name == "v4" else "drop_ip6_too_big"
    m.expect_counters(**{drop: 2, told: 2})


@pytest.mark.parametrize("name", FAMILIES)
def test_a_filter_that_tells_does_not_either(make, name):
    """The flood is denied by a list of the link it came in by, and the sender told."""
    lists = "ip access-list F\n deny udp any any eq 7\n permit ip any any\n" \
        "ipv6 access-list G\n deny udp any any eq 7\n permit ipv6 any any\n"
    use = " ip access-group F in\n ipv6 traffic-filter G in\n"
    m = make(LIMIT + CONFIG6.replace("interface eth0\n", "interface eth0\n" + use) + " mtu 1280\n" +
             lists)
    m.learn(A, B)
    learn6(m, A, B)
    f = FAMILIES[name]
    m.send(0, *frames_to(*[f.packet(A, B, dport=7)] * 50))
    assert len(m.take_all(0)) == 3
    packet, error = too_big(f)
    m.send(0, *frames_to(packet))
    m.expect(0, error)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_mtu_has_a_limit_of_its_own(make, name):
    """The rate and the burst that are configured (RFC 1812 4.3.2.8, RFC 4443 2.4 (f)), for both
    families together; other errors go on."""
    m = small(make)
    packet, error = too_big(FAMILIES[name])
    other, its_error = too_big(FAMILIES[OTHER[name]])
    m.send(0, *frames_to(*[packet] * 5))
    for _ in range(3):
        m.expect(0, error)
    m.send(0, *frames_to(other))
    m.expect_nothing()
    assert m.counted()["icmp_err_ratelimited"] == 3
    for f in FAMILIES.values():
        late = f.packet(A, B, hops=1)
        m.send(0, *frames_to(late))
        m.expect(0, f.error(ROUTER[0], A, late, "time"))
    m.counted()
    m.time(100 * MS)
    m.send(0, *frames_to(other))
    m.expect(0, its_error)
    m.send(0, *frames_to(packet))
    m.expect_nothing()
    assert m.counted()["icmp_err_ratelimited"] == 1


@pytest.mark.parametrize("name", FAMILIES)
def test_no_errors_at_all_means_the_mtu_too(make, name):
    m = small(make, "ip icmp rate-limit 0\n")
    m.send(0, *frames_to(too_big(FAMILIES[name])[0]))
    m.expect_nothing()
    assert m.counted()["icmp_err_ratelimited"] == 1
