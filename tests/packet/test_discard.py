"""The discard application: every IPv4 packet is counted and dropped; ARP is answered."""
import pytest
from machine import *
from scapy.layers.inet import TCP

DISCARD = CONFIG + "application discard\n"


@pytest.fixture
def d(make):
    return make(DISCARD)


@pytest.mark.parametrize("packet", [
    udp(A, ROUTER[0], dport=9),
    udp(A, B),
    IP(src=A.ip, dst=ROUTER[0].ip) / TCP(dport=9),
    IP(src=A.ip, dst=ROUTER[0].ip) / ICMP(type=8),
    IP(src="127.0.0.1", dst="0.0.0.0", ttl=0, version=7),
    IP(src=A.ip, dst="255.255.255.255", frag=100) / Raw(b"x" * 8),
], ids=["udp", "for another host", "tcp", "ping", "nonsense", "fragment"])
def test_nothing_comes_back(d, packet):
    d.send(0, ether(A, ROUTER[0]) / packet)
    d.expect_counters(discarded=1)


def test_vector(d):
    d.send(0, *[ether(A, ROUTER[0]) / udp(A, B, id=n) for n in range(256)])
    d.expect_counters(discarded=256)


def test_both_ports_broadcast(d):
    d.send(0, ether(A, BROADCAST) / udp(A, "255.255.255.255"))
    d.send(1, ether(B, BROADCAST) / udp(B, "255.255.255.255"))
    d.expect_counters(discarded=2)


def test_arp_is_answered(d):
    d.send(0, arp_request(A, ROUTER[0].ip))
    d.expect(0, arp_reply(ROUTER[0], A))
    d.expect_counters(delivered_arp=1, arp_tx_reply=1)


def test_what_is_not_for_us(d):
    """The checks on entry remain: frames to other stations and other protocols have their own
    counters."""
    d.send(0, ether(A, "02:00:00:00:00:99") / udp(A, B))
    d.send(0, Ether(src=A.mac, dst=ROUTER[0].mac, type=0x88cc) / Raw(bytes(46)))
    d.send_raw(0, bytes(13))
    d.expect_counters(drop_eth_dst=1, drop_eth_type=1, drop_eth_short=1)
