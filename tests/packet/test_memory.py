"""Memory that there is not. Each scenario is played with the 1st, 2nd, 3rd ... request for memory
refused, alone or with all after it, until it needs no more: what is refused is refused by name, the
router goes on, nothing is leaked (the harness counts every buffer after every command), and the same
again, with memory, ends as if nothing had been refused."""
import re

import pytest
from ip6 import *
from machine import *

BASE = CONFIG.replace("arp timeout 60\n", "")  # neighbours stay known for as long as a test lasts


def typed(m, *lines):
    """Types lines on the console; all that was said."""
    return "".join(m.console(line) for line in lines)


def settled(m):
    """Time for a restart of the ports, if there is one to come, and for what they tell their links."""
    m.time(200 * MS)
    m.settle()


def serves(m, known=(A, B)):
    """The router is up: it answers a ping, forwards, and its books balance (the harness looks)."""
    m.learn(*known)
    ping = IP(src=A.ip, dst=ROUTER[0].ip) / ICMP(id=7, seq=1) / bytes(32)
    m.send(0, ether(A, ROUTER[0]) / ping)
    answer = Ether(m.take(0).frame)
    assert answer[ICMP].type == 0 and answer[IP].dst == A.ip
    m.route(udp(A, B))
    m.counted()


# --- what a commit takes ---

def long_way(m, src, dst, packet, hopped, question, answer, router):
    """A long packet waits for its neighbour, and gets there."""
    m.send(src.port, ether(src, ROUTER[src.port]) / packet)
    m.expect(dst.port, question)
    m.send(dst.port, answer)
    m.expect(dst.port, ether(router, dst) / hopped)


LONG = 8000


def long_ip4(m):
    long_way(m, A, B2, udp(A, B2, LONG), hop(udp(A, B2, LONG)),
             arp_request(ROUTER[1], B2.ip), arp_reply(B2, ROUTER[1]), ROUTER[1])


def long_ip6(m):
    packet = udp6(A, B2, LONG)
    long_way(m, A, B2, packet, hop6(packet), solicit(ROUTER[1], B2.ip6), advert(B2, ROUTER[1]),
             ROUTER[1])


JUMBO = ("interface eth0", "mtu 9000", "interface eth1", "mtu 9000")
SIX = ("interface eth0", "ipv6 address 2001:db8:1::1/64",
       "interface eth1", "ipv6 address 2001:db8:2::1/64")


def test_commit_of_a_longer_mtu(make):
    """Frames that wait for a neighbour may be longer then."""
    m = make(BASE, mtu_max=9198)
    typed(m, "configure", *JUMBO, "commit")
    settled(m)
    m.learn(A, B)
    long_ip4(m)
    m.route(udp(A, B, LONG))
    typed(m, "interface eth1", "mtu 1500", "commit")
    settled(m)
    m.learn(A, B)
    m.route(udp(A, B))
    m.counted()


def test_commit_of_the_first_ipv6_and_a_longer_mtu(make):
    """There are as many neighbours, and frames as long, as if it had been so from the start."""
    m = make(BASE, mtu_max=9198)
    typed(m, "configure", *SIX, "commit")
    settled(m)
    learn6(m, A, B, A2)
    m.send(0, ether(A, ROUTER[0]) / udp6(A, B))
    m.expect(1, ether(ROUTER[1], B) / hop6(udp6(A, B)))
    typed(m, *JUMBO, "commit")
    settled(m)
    learn6(m, A, B, A2)
    long_ip6(m)
    m.learn(A, B)
    long_ip4(m)
    m.counted()
