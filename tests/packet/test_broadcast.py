"""Directed broadcasts (RFC 1812 5.3.5.2, RFC 2644): forwarded to the subnet of an interface that
allows it, from another one; and those that are not forwarded. Interfaces that do not allow it:
test_drops.py."""
import pytest
from machine import *
from scapy.layers.inet import IPOption_NOP, fragment
from scapy.layers.l2 import Dot1Q
from test_configure import run

LINE = " ip directed-broadcast\n"
ALL1, ALL2 = "198.51.100.255", "10.7.1.255"
CONFIG1 = CONFIG + LINE + " ip address 10.7.1.1/24 secondary\n ip address 10.7.2.0/31 secondary\n"


@pytest.fixture
def m(make):
    m = make(CONFIG1)
    m.learn(A, B)
    return m


def leaves(m, packet):
    m.send(0, ether(A, ROUTER[0]) / packet)
    m.expect(1, ether(ROUTER[1], BROADCAST) / hop(packet))
    m.expect_nothing()
    m.expect_counters(forwarded=1)


def dropped(m, packet, counter="drop_ip4_link_bcast", port=0, src=A, dst=ROUTER[0], **counters):
    m.send(port, ether(src, dst) / packet)
    m.expect_nothing()
    m.expect_counters(**{counter: 1, **counters})


@pytest.mark.parametrize("to", [ALL1, ALL2])
def test_leaves_to_all_stations(m, to):
    leaves(m, udp(A, to))
    leaves(m, udp("10.99.1.1", to, 1400))  # also from sources that are not neighbours
    leaves(m, udp(A, to, options=[IPOption_NOP()] * 4))
    leaves(m, IP(src=A.ip, dst=to) / ICMP())


def test_what_stays(m):
    """Not forwarded: a broadcast from its own link, whose hosts have received it; one sent to the
    broadcast address of Ethernet (5.3.4); the limited one; the historic form; one for a link that
    forbids it; one for a /31, which has none."""
    dropped(m, udp(B, ALL1), port=1, src=B, dst=ROUTER[1])
    dropped(m, udp(B, ALL2), port=1, src=B, dst=ROUTER[1])
    dropped(m, udp(A, ALL1), dst=BROADCAST)
    dropped(m, udp(A, "255.255.255.255"))
    dropped(m, udp(A, "198.51.100.0"))
    dropped(m, udp(B, "192.0.2.255"), port=1, src=B, dst=ROUTER[1])
    m.send(0, ether(A, ROUTER[0]) / udp(A, "10.7.2.1"))
    m.expect(1, Ether(src=ROUTER[1].mac, dst=BROADCAST) / ARP(
        op=1, hwsrc=ROUTER[1].mac, psrc="10.7.2.0", hwdst=ZERO, pdst="10.7.2.1"))


def test_nobody_is_told(m):
    """4.3.2.7: no error is sent about a broadcast."""
    dropped(m, udp(A, ALL1, ttl=1), "drop_ip4_ttl", icmp_err_suppressed=1)
    m.link(1, False)
    m.time(SECOND)
    m.counted()
    m.send(0, ether(A, ROUTER[0]) / udp(A, ALL1))
    counted = m.counted()
    assert "forwarded" not in counted and not [c for c in counted if c.startswith("icmp_tx")]


def test_too_large_for_the_link(make):
    m = make(CONFIG1.replace(LINE, LINE + " mtu 1000\n"))
    m.learn(A)
    dropped(m, udp(A, ALL1, 1400, flags="DF"), "drop_ip4_need_frag", icmp_err_suppressed=1)
    m.send(0, ether(A, ROUTER[0]) / udp(A, ALL1, 1400, id=7))
    pieces = [Ether(f) for f in m.take_all(1)]
    assert [(p.dst, p[IP].dst, p[IP].frag) for p in pieces] == \
        [(BROADCAST, ALL1, 0), (BROADCAST, ALL1, 976 // 8)]
    m.expect_counters(forwarded=1, fragmented=1, fragments_created=2)


def test_fragments(m):
    for piece in fragment(udp(A, ALL1, 600, id=9), fragsize=320):
        leaves(m, fixed(piece))


def test_filters_and_sources(make):
    m = make(CONFIG1.replace(LINE, LINE + " ip access-group F out\n").replace(
        "interface eth1", " ip verify unicast source reachable-via rx allow-default\n"
        "interface eth1") +
        "ip access-list F\n deny udp any any eq 9\n permit ip any any\n")
    m.learn(A)
    leaves(m, udp(A, ALL1))
    m.send(0, ether(A, ROUTER[0]) / udp(A, ALL1, dport=9))
    assert not m.take_all(1)
    assert m.counted()["drop_acl_out"] == 1
    dropped(m, udp("10.99.1.1", ALL1), "drop_ip4_urpf")


def test_of_a_vlan(make):
    m = make("interface eth0\n ip address 192.0.2.1/24\ninterface eth1.5\n"
             " ip address 198.51.100.1/24\n ip directed-broadcast\n")
    m.learn(A)
    packet = udp(A, ALL1)
    m.send(0, ether(A, ROUTER[0]) / packet)
    m.expect(1, ether(ROUTER[1], BROADCAST) / Dot1Q(vlan=5) / hop(packet))
    m.expect_counters(forwarded=1)


def test_commit_while_packets_run(make):
    m = make(CONFIG)
    m.learn(A, B)
    dropped(m, udp(A, ALL1))
    for line, out in (("ip directed-broadcast", True), ("no ip directed-broadcast", False)):
        run(m, "configure", "interface eth1", line)
        assert m.console("commit").endswith("committed\n")  # no port restarts
        m.console("end")
        (leaves if out else dropped)(m, udp(A, ALL1))


@pytest.mark.parametrize("app", ["echo", "discard"])
def test_routers_alone(make, app):
    m = make("application %s\n" % app + CONFIG + LINE, boot=False)
    m.time(SECOND)
    assert "the application %s forwards no broadcasts" % app in m.text
