"""Path MTU discovery through interfaces of different MTUs (RFC 1191 4, RFC 8201, RFC 4443 3.2): the
one that is told is always that of the interface by which the packet would have left."""
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
# their MAC addresses are the machine's to tell
ROUTERS = [Station(p, NET4 % (p + 2, 1), ZERO, NET6 % (p + 1, 1)) for p in range(len(MTUS))]


@pytest.fixture
def mtus(make):
    """The machine; the stations on its ports, known to it by both families."""
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
    """The MTU in the one error that the port sent."""
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
    """Larger by one than the way out carries, and just fitting; IPv4 without DF is cut."""
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
