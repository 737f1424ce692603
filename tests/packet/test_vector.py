"""Vectors: up to 256 packets go through each stage together (ARCHITECTURE.md, invariant 5). Packets
in a vector must not affect each other, and leave each port in the order of arrival."""
import random

import pytest
from machine import *

MIX = CONFIG + """\
interface eth2
 ip address 203.0.113.1/24
arp 203.0.113.2 02:cc:00:00:00:02
ip route 10.9.0.0/16 null0
ip icmp rate-limit 1000000 burst 100000
"""
C = Station(2, "203.0.113.2", "02:cc:00:00:00:02")


@pytest.mark.parametrize("count", [1, 2, 255, 256, 257, 600])
def test_all_good(m, count):
    packets = [udp(A, B, size=i % 50, id=i) for i in range(count)]
    m.send(0, *(ether(A, ROUTER[0]) / p for p in packets))
    for p in packets:
        m.expect(1, ether(ROUTER[1], B) / hop(p))
    m.expect_counters(forwarded=count)


@pytest.mark.parametrize("seed", range(6))
def test_good_and_bad(make, seed):
    """All kinds at random places; each port's packets are in order, each drop counted by name."""
    rng = random.Random(seed)
    m = make(MIX, ports=3)
    m.learn(A, B)
    wanted = {port: [] for port in range(3)}
    counted = {}

    def add(name):
        counted[name] = counted.get(name, 0) + 1

    frames = []
    for i in range(256):
        kind = rng.choice(["b", "b", "c", "c", "ttl", "null0", "checksum", "dst", "type", "short",
                           "multicast", "noroute"])
        to = {"b": B.ip, "c": C.ip, "ttl": B.ip, "null0": "10.9.0.1", "multicast": "224.0.0.9",
              "noroute": "8.8.8.8"}.get(kind, B.ip)
        packet = udp(A, to, size=rng.randrange(64), id=i, ttl=1 if kind == "ttl" else 64)
        frame = bytearray(bytes(ether(A, ROUTER[0]) / packet))
        if kind in ("b", "c"):
            station = B if kind == "b" else C
            wanted[station.port].append(padded(ether(ROUTER[station.port], station) / hop(packet)))
            add("forwarded")
        elif kind in ("ttl", "null0", "noroute"):
            drop, sent, type_, code = {
                "ttl": ("drop_ip4_ttl", "icmp_tx_time_exceeded", 11, 0),
                "null0": ("drop_ip4_null0", "icmp_tx_unreach_host", 3, 1),
                "noroute": ("drop_ip4_no_route", "icmp_tx_unreach_net", 3, 0)}[kind]
            wanted[0].append(padded(error_about(ROUTER[0], A, packet, type_, code)))
            add(drop)
            add(sent)
        elif kind == "checksum":
            frame[24] ^= 0x10
            add("drop_ip4_checksum")
        elif kind == "dst":
            frame[5] ^= 1
            add("drop_eth_dst")
        elif kind == "type":
            frame[12] = 0x86
            add("drop_eth_type")
        elif kind == "short":
            del frame[33:]
            add("drop_ip4_short")
        else:
            add("drop_ip4_multicast")
        frames.append(bytes(frame))
    for frame in frames:
        m.queue(0, frame if len(frame) < 34 else padded(frame))
    m.command("run")
    # "ttl" leaves the fast path later than "noroute" does: each kind keeps its own order
    for port in (1, 2):
        assert m.take_all(port) == wanted[port]
    got = m.take_all(0)
    assert sorted(got) == sorted(wanted[0])
    for code in ((11, 0), (3, 1), (3, 0)):
        pick = [f for f in got if (f[34], f[35]) == code]
        assert pick == [f for f in wanted[0] if (f[34], f[35]) == code]
    m.expect_counters(**counted)


@pytest.mark.parametrize("asked,drop", [
    (" ip access-group F in\n no ip unreachables\n", "drop_acl_in"),
    (" ip verify unicast source reachable-via any allow-default\n",
     "drop_ip4_urpf")], ids=["filter", "source"])
def test_who_is_behind_a_dropped_one(make, asked, drop):
    """A packet after a dropped one still goes to its own destination, on the fast path and in
    order."""
    rng = random.Random(1)
    m = make(MIX.replace("interface eth0\n", "interface eth0\n" + asked) +
             "ip access-list F\n deny udp 10.9.0.0/16 any\n permit ip any any\n", ports=3)
    m.learn(A, B)
    frames, wanted, counted = [], {1: [], 2: []}, {"forwarded": 0, drop: 0}
    for i in range(200):
        to, good = rng.choice([B, C]), rng.random() < 0.7
        packet = udp(A if good else "10.9.0.1", to, id=i)
        frames.append(ether(A, ROUTER[0]) / packet)
        counted["forwarded" if good else drop] += 1
        if good:
            wanted[to.port].append(ether(ROUTER[to.port], to) / hop(packet))
    m.send(0, *frames)
    for port, those in wanted.items():
        for one in those:
            m.expect(port, one)
    m.expect_nothing()
    m.expect_counters(**counted)


def test_vectors_of_two_ports_in_one_turn(m):
    there = [udp(A, B, id=i) for i in range(256)]
    back = [udp(B, A, id=i) for i in range(256)]
    for t, b in zip(there, back):
        m.queue(0, padded(ether(A, ROUTER[0]) / t))
        m.queue(1, padded(ether(B, ROUTER[1]) / b))
    m.command("run")
    for t, b in zip(there, back):
        m.expect(1, ether(ROUTER[1], B) / hop(t))
        m.expect(0, ether(ROUTER[0], A) / hop(b))
    m.expect_counters(forwarded=512)
