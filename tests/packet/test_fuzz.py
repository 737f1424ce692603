"""Hostile frames: random and mutated, on all ports, in vectors, while time passes. There must be no
sanitizer report, every frame has one fate, and the machine forwards afterwards. The seed is
printed; SEED=n repeats a run."""
import os
import random
import time

import pytest
from ip6 import *
from machine import *
from scapy.layers.inet import TCP, IPOption_NOP, IPOption_RR
from test_engine_vxlan import DOWN, REFUSED, UP, VNI, bgp, bgp6
from test_engine_vxlan import config as engine_config

FRAMES = int(os.environ.get("FUZZ_FRAMES", "20000"))
CONFIGS = {
    "router": (CONFIG + " mtu 700\nip route 10.0.0.0/8 198.51.100.2\nip route 11.0.0.0/8 null0\n",
               0.5),
    "router6": (CONFIG6.replace(" ipv6 nd ra suppress\n", "", 1) + " mtu 1280\n"
                "ipv6 route 2001:db8:ff00::/40 2001:db8:2::2\nipv6 route 2001:db8:fe00::/40 null0\n"
                "ip route 10.0.0.0/8 198.51.100.2\n", 0.6),
    "router-engine6": (engine_config(engine="routing engine 198.51.100.2\n", ports=2), 0.4),
    "echo6": ("application echo\n" + CONFIG6, 0.2),
    "echo": (CONFIG + "application echo\n", 0.2),
    "discard": (CONFIG + "application discard\n", 0.2),
}
INTERESTING = [0, 1, 0x7f, 0x80, 0xff, 0x40, 0x45, 0x46, 0x4f, 7, 17, 6, 0x60, 58, 60, 43, 44, 135,
               136, 0xfe]


def seeds(rng):
    """The valid frames that are mutated."""
    addresses = [A.ip, B.ip, A2.ip, B2.ip, ROUTER[0].ip, ROUTER[1].ip, "10.1.2.3", "11.1.1.1",
                 "8.8.8.8", "192.0.2.255", "255.255.255.255", "224.0.0.1", "0.0.0.0"]
    frames = []
    for src in (A, B, A2, B2):
        router = ROUTER[src.port]
        for dst in addresses:
            size = rng.choice([0, 10, 100, 680, 1400])
            frames += [ether(src, router) / udp(src, dst, size, dport=rng.choice([7, 9])),
                       ether(src, router) / IP(src=src.ip, dst=dst) / ICMP() / Raw(b"x" * size),
                       ether(src, router) / IP(src=src.ip, dst=dst, options=[
                           IPOption_RR(pointer=4, routers=["0.0.0.0"] * 2), IPOption_NOP()]) /
                       TCP() / Raw(b"y" * size),
                       ether(src, router) / IP(src=src.ip, dst=dst, ttl=1, flags="MF") /
                       UDP() / Raw(b"z" * 24),
                       ether(src, router) / IP(src=src.ip, dst=dst) / ICMP(type=3, code=1) /
                       bytes(udp(dst, src, 20))]
        frames += [arp_request(src, router.ip), arp_reply(src, router),
                   arp_request(src, src.ip), arp_request(src, router.ip, psrc=router.ip)]
    return [bytearray(padded(f)) for f in frames]


def seeds6(rng):
    """The same for IPv6: traffic, errors, extension headers, fragments, discovery, MLD."""
    addresses = [A.ip6, B.ip6, ROUTER[0].ip6, ROUTER[1].ip6, A.link_local, ROUTER[0].link_local,
                 "2001:db8:ff00::9", "2001:db8:fe00::9", "2001:db8:2::77", "2a00::1", "ff02::1",
                 "ff02::2", "2001:db8:1::", "::1"]
    frames = []
    for src in (A, B, A2, B2):
        router = ROUTER[src.port]
        for dst in addresses:
            size = rng.choice([0, 10, 100, 1250, 1400])
            to = Ether(src=src.mac, dst=group_mac(dst) if dst.startswith("ff") else router.mac)
            ip = IPv6(src=rng.choice([src.ip6, src.ip6, src.link_local]), dst=dst)
            frames += [to / udp6(src, dst, size, dport=rng.choice([7, 9])),
                       to / echo6(src, dst, size),
                       to / ip / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() / TCP(),
                       to / ip / IPv6ExtHdrRouting(addresses=[B.ip6]) / UDP(),
                       to / ip / IPv6ExtHdrFragment(nh=17, m=1, id=rng.randrange(4)) / UDP() /
                       Raw(b"f" * 32),
                       to / ip / IPv6ExtHdrFragment(nh=17, offset=5, id=rng.randrange(4)) /
                       Raw(b"g" * 20),
                       to / ip / ICMPv6DestUnreach() / bytes(udp6(dst, src, 20))]
        frames += [solicit(src, router.ip6), solicit(src, router.link_local, source=src.link_local),
                   advert(src, router), advert(src, None, S=0), probe6(src, router.ip6),
                   Ether(src=src.mac, dst=group_mac(ALL_ROUTERS)) / IPv6(
                       src=src.link_local, dst=ALL_ROUTERS, hlim=255) / ICMPv6ND_RS(),
                   Ether(src=src.mac, dst=group_mac(ALL_NODES)) / IPv6(
                       src=src.link_local, dst=ALL_NODES, hlim=255) / ICMPv6ND_RA(),
                   Ether(src=src.mac, dst=router.mac) / IPv6(
                       src=src.link_local, dst=router.ip6, hlim=255) / ICMPv6ND_Redirect(),
                   Ether(src=src.mac, dst=group_mac(ALL_NODES)) / IPv6(
                       src=src.link_local, dst=ALL_NODES, hlim=1, nh=0) / Raw(bytes.fromhex(
                           "3a00050200000100" + "8200000003e80000" + "00" * 16 + "027d0000"))]
    return [bytearray(padded(f)) for f in frames]


def seeds_engine():
    """Frames of routing protocols, and those of the engine, B, in VXLAN without checksum."""
    def vxlan(inner):
        return ether(B, ROUTER[1]) / IP(src=B.ip, dst=ROUTER[1].ip) / UDP(
            sport=50000, dport=4789, chksum=0) / Raw(b"\x08\0\0\0\0\0" + bytes([VNI[0], 0]) + bytes(inner))

    inner = [make() for make in DOWN.values()]
    inner += [ether(ROUTER[0], ROUTER[0]) / p for p in (bgp(ROUTER[0], A), bgp(ROUTER[0], A2), bgp(ROUTER[0], B),
                                                        bgp6(ROUTER[0].ip6, A.ip6), bgp6(ROUTER[0].ip6, B.ip6))]
    # without the ether header of the engine's own port
    inner += [Ether(bytes(make()[Raw].load)[8:]) for make, why in REFUSED.values() if why in ("type", "route")]
    return [bytearray(padded(make())) for make in UP.values()] + \
        [bytearray(padded(frame)) for frame in map(vxlan, inner)] * 3


def mend6(frame):
    """Corrects the payload length, and ICMPv6's checksum if it is the next header."""
    if len(frame) < 62 or len(frame) > 1500:
        return
    frame[18:20] = (len(frame) - 54).to_bytes(2, "big")
    if frame[20] == 58:
        frame[56:58] = b"\0\0"
        sums = in6_chksum(58, IPv6(bytes(frame[14:54])), bytes(frame[54:]))
        frame[56:58] = sums.to_bytes(2, "big")


def mend(frame):
    """Corrects the header checksum, so that the frame passes that check."""
    if frame[12:14] == b"\x86\xdd":
        mend6(frame)
    if len(frame) >= 34 and frame[12:14] == b"\x08\0":
        head = max(20, (frame[14] & 15) * 4)
        frame[24:26] = b"\0\0"
        frame[24:26] = checksum(bytes(frame[14:14 + head])).to_bytes(2, "big")


def mutated(rng, frame):
    for _ in range(rng.choice([0, 1, 1, 2, 4, 8])):
        how = rng.random()
        if how < 0.7 and frame:
            # decisions depend on the headers
            at = rng.randrange(min(len(frame), rng.choice([14, 34, 50, 2000])))
            frame[at] = rng.choice(INTERESTING) if rng.random() < 0.5 else rng.randrange(256)
        elif how < 0.85:
            del frame[rng.randrange(len(frame) + 1):]
        else:
            frame += rng.randbytes(rng.randrange(40))
    if rng.random() < 0.8:
        mend(frame)
    return frame


def one(rng, corpus):
    if rng.random() < 0.1:
        return bytearray(rng.randbytes(rng.randrange(0, 200)))
    return mutated(rng, bytearray(rng.choice(corpus)))


def flags_for(rng, frame):
    """Sometimes adds offload flags that the driver could pass."""
    how = rng.random()
    if how < 0.1:
        return "ok"
    if how < 0.2 and len(frame) >= 44:
        start = rng.randrange(len(frame) - 2)
        return "partial %d %d" % (start, rng.randrange(len(frame) - start - 1))
    return ""


@pytest.mark.parametrize("app", CONFIGS)
def test_fuzz(make, app):
    config, share = CONFIGS[app]
    seed = int(os.environ.get("SEED", time.time_ns() & 0xffffffff))
    notes.append("fuzz %s: SEED=%d" % (app, seed))
    rng = random.Random(seed)
    m = make(config)
    six = app.endswith("6")
    corpus = seeds(rng) + (seeds6(rng) * 3 if six else [])
    if app == "router-engine6":
        corpus += seeds_engine() * 8
    left = total = int(FRAMES * share)
    while left > 0:
        for _ in range(min(left, rng.choice([1, 32, 256, 300, 512]))):
            frame = bytes(one(rng, corpus)[:2000])
            # most go to the port they are for, some to the other one
            port = 0 if frame[:6] == bytes.fromhex("024859000000") else 1
            m.queue(port if rng.random() < 0.9 else 1 - port, frame, flags_for(rng, frame))
            left -= 1
        m.command("run")
        if rng.random() < 0.5:
            m.time(rng.choice([MS, SECOND, 7 * SECOND, 100 * SECOND]))
        if rng.random() < 0.02:
            m.link(rng.randrange(2), False)
        if rng.random() < 0.1:
            m.link(0, True)
            m.link(1, True)
        for port in range(2):
            for out in m.outs[port]:
                assert 14 <= len(out.frame) <= 1500 + 14
            m.take_all(port)
    m.link(0, True)
    m.link(1, True)
    m.time(100 * SECOND)
    m.take_all(0)
    m.take_all(1)
    _, received, waiting = m.all_counters()
    assert received == total and waiting == 0
    m.send(0, arp_request(A, ROUTER[0].ip))
    m.send(1, arp_request(B, ROUTER[1].ip))
    m.take_all(0)
    m.take_all(1)
    if six:
        # stations may have claimed our addresses: repeat DAD
        for up in (False, True):
            m.link(0, up)
            m.link(1, up)
        m.time(30 * SECOND)
        m.take_all(0), m.take_all(1)
        m.send(0, arp_request(A, ROUTER[0].ip))
        m.send(1, arp_request(B, ROUTER[1].ip))
        for station in (A, B):
            m.send(station.port, solicit(station, ROUTER[station.port].ip6))
            m.take_all(0), m.take_all(1)
    if app.startswith("router"):
        m.send(0, ether(A, ROUTER[0]) / udp(A, B))
        assert padded(ether(ROUTER[1], B) / hop(udp(A, B))) in m.take_all(1)
        if six:
            m.send(0, ether(A, ROUTER[0]) / udp6(A, B))
            assert padded(ether(ROUTER[1], B) / hop6(udp6(A, B))) in m.take_all(1)
        m.take_all(0)
        return
    before = m.all_counters()[0]
    request = udp(A, ROUTER[0], dport=7)
    m.send(0, ether(A, ROUTER[0]) / request)
    if app == "discard":
        assert m.all_counters()[0]["discarded"] == before["discarded"] + 1
    else:
        m.expect(0, ether(ROUTER[0], A) / IP(src=ROUTER[0].ip, dst=A.ip, ttl=64) /
                 UDP(sport=7, dport=1024) / fixed(request)[UDP].payload)
