"""Frames that anybody may send: random and mutated, on all ports, in vectors, while time passes.
No sanitizer report, every frame has one fate, and the machine forwards when it is over. The seed is
printed; SEED=n repeats a run."""
import os
import random
import time

import pytest
from machine import *
from scapy.layers.inet import TCP, IPOption_NOP, IPOption_RR

FRAMES = int(os.environ.get("FUZZ_FRAMES", "20000"))
CONFIGS = {
    "router": (CONFIG + " mtu 700\nip route 10.0.0.0/8 198.51.100.2\nip route 11.0.0.0/8 null0\n",
               0.8),
    "echo": (CONFIG + "application echo\n", 0.2),
    "discard": (CONFIG + "application discard\n", 0.2),
}
INTERESTING = [0, 1, 0x7f, 0x80, 0xff, 0x40, 0x45, 0x46, 0x4f, 7, 17, 6]


def seeds(rng):
    """Valid frames to start from."""
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


def mend(frame):
    """Makes the header checksum right, so that the fuzz gets past it."""
    if len(frame) >= 34 and frame[12:14] == b"\x08\0":
        head = max(20, (frame[14] & 15) * 4)
        frame[24:26] = b"\0\0"
        frame[24:26] = checksum(bytes(frame[14:14 + head])).to_bytes(2, "big")


def mutated(rng, frame):
    for _ in range(rng.choice([0, 1, 1, 2, 4, 8])):
        how = rng.random()
        if how < 0.7 and frame:
            # the headers are where the decisions are made
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
    """Now and then a frame with offload flags, as the driver would let pass."""
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
    corpus = seeds(rng)
    left = total = int(FRAMES * share)
    while left > 0:
        for _ in range(min(left, rng.choice([1, 32, 256, 300, 512]))):
            frame = bytes(one(rng, corpus)[:2000])
            # most go where they are meant to; some to the other port
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
    if app == "router":
        m.route(udp(A, B))
        return
    before = m.all_counters()[0]
    request = udp(A, ROUTER[0], dport=7)
    m.send(0, ether(A, ROUTER[0]) / request)
    if app == "discard":
        assert m.all_counters()[0]["discarded"] == before["discarded"] + 1
    else:
        m.expect(0, ether(ROUTER[0], A) / IP(src=ROUTER[0].ip, dst=A.ip, ttl=64) /
                 UDP(sport=7, dport=1024) / fixed(request)[UDP].payload)
