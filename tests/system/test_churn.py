"""`test churn` on the image: a hundred thousand routes, many of which change while 64-byte frames
are forwarded. Frames come from a capture file and leave into one, and each one is checked."""
import collections
import random
import re
import socket
import struct

import pytest
from conftest import LEFT_MAC, LEFT_ROUTER, RIGHT_ROUTER, eventually, options

ROUTES4, ROUTES6 = 60000, 40000
HOPS = 4
FRAMES = 20000  # to different destinations, half of them IPv6
PER_SECOND = 200000  # frames that the machine cannot take are missed, and counted, by its card
RATE, SECONDS = 100000, 5
RECORD = struct.Struct("<IIII")
CHANGES = re.compile(r"(\d+) changes in [\d.]+ s, \d+ a second: (\d+) announced, (\d+) withdrawn, "
                     r"(\d+) replaced\s+(\d+) refused, longest slice \d+ us\s+(\d+) prefixes restored: "
                     r"the table of (\d+) is as before")


def hop_mac(family, n):
    return bytes([2, 0xbb, 0, 0, family, n])


def configuration():
    """Prefix number n has next hop n modulo HOPS, in both families."""
    lines = ["interface eth0", " ip address %s/24" % LEFT_ROUTER, " ipv6 address 2001:db8:1::1/64",
             "interface eth1", " ip address %s/24" % RIGHT_ROUTER, " ipv6 address 2001:db8:2::1/64"]
    for n in range(HOPS):
        lines += ["arp 198.51.100.%d %s" % (2 + n, hop_mac(4, n).hex(":")),
                  "ipv6 neighbor 2001:db8:2::%x eth1 %s" % (2 + n, hop_mac(6, n).hex(":"))]
    lines += ["ip route %d.%d.%d.0/24 198.51.100.%d" % (20 + (n >> 16), n >> 8 & 255, n & 255,
                                                       2 + n % HOPS) for n in range(ROUTES4)]
    lines += ["ipv6 route 2a10:0:%x::/48 2001:db8:2::%x" % (n, 2 + n % HOPS)
              for n in range(ROUTES6)]
    return "\n".join(lines) + "\n"


def checksum(header):
    total = sum(struct.unpack(">10H", header))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def packet4(prefix, host):
    head = struct.pack(">BBHHHBBH4sI", 0x45, 0, 46, 0, 0, 64, 17, 0, socket.inet_aton("192.0.2.2"),
                       (20 << 24) + (prefix << 8) + host)
    head = head[:10] + checksum(head).to_bytes(2, "big") + head[12:]
    return b"\x08\x00" + head + struct.pack(">HHHH", 1024, 9, 26, 0) + bytes(18)


def packet6(prefix, host):
    dst = struct.pack(">HHHHQ", 0x2a10, 0, prefix, host << 8, 1)
    source = socket.inet_pton(socket.AF_INET6, "2001:db8:1::2")
    return b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, 6, 59, 64) + source + dst + bytes(6)


def write_frames(path):
    """The frames follow each other at PER_SECOND."""
    rng = random.Random(1)
    mac = bytes.fromhex(LEFT_MAC.replace(":", "")) + bytes([2, 0xaa, 0, 0, 0, 2])
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHIIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 1))
        for n in range(FRAMES):
            packet = (packet6(rng.randrange(ROUTES6), rng.randrange(256)) if n % 2
                      else packet4(rng.randrange(ROUTES4), rng.randrange(256)))
            f.write(RECORD.pack(0, n * 1000000000 // PER_SECOND, 60, 60) + mac + packet)


class Seen:
    """The frames that left: by which next hops, for each original hop (family, number)."""

    def __init__(self):
        self.frames = 0
        self.ways = collections.defaultdict(collections.Counter)

    def read(self, path):
        with open(path, "rb") as f:
            data = f.read()
        at, keys = 24, collections.Counter()
        while at + RECORD.size <= len(data):
            size = RECORD.unpack_from(data, at)[2]
            frame = data[at + RECORD.size:at + RECORD.size + size]
            at += RECORD.size + size
            if frame[12:14] == b"\x08\x00" and frame[14:15] == b"\x45":
                keys[(4, frame[:6], frame[30:34], frame[22])] += 1
            elif frame[12:14] == b"\x86\xdd" and frame[20] == 59:
                keys[(6, frame[:6], frame[38:54], frame[21])] += 1
        for (family, mac, dst, ttl), n in keys.items():
            prefix = (int.from_bytes(dst, "big") >> 8 & 0xffff if family == 4
                      else int.from_bytes(dst[4:6], "big"))
            assert ttl == 63
            self.frames += n
            self.ways[family, prefix % HOPS][mac] += n
        return self


def show_summaries(router):
    return [router.command("show %s route summary" % family, 60) for family in ("ip", "ipv6")]


def sizes(router):
    return [int(re.search(r"^(\d+) prefixes", text, re.M).group(1)) for text in show_summaries(router)]


@pytest.mark.parametrize("nic,cpus", [*((nic, 2) for nic in options.NIC_MODELS), ("ixgbe", 1)])
def test_routes_change_under_load(make_router, tmp_path, cpus):
    """Each frame leaves by a next hop that its prefix has or had: its own or, for all prefixes with
    that one, the same partner. Every received frame is counted. In the end the table is as
    before."""
    frames, out = tmp_path / "frames", tmp_path / "out"
    write_frames(frames)
    router = make_router(configuration(), "--memory", "1G", "--append", "test=1", cpus=cpus,
                         timeout_s=240,
                         ports=("wire:pcap:%s;loop=forever" % frames, "wire:pcap:;out=%s" % out))
    eventually(lambda: sizes(router)[0] > ROUTES4 and sizes(router)[1] > ROUTES6, 60, "links are up, and all routes in")
    summaries = show_summaries(router)
    said = router.command("test churn %d %d" % (RATE, SECONDS), 240)
    found = CHANGES.search(said)
    assert found, said
    made, announced, withdrawn, replaced, refused, restored, table = map(int, found.groups())
    assert made == announced + withdrawn + replaced and refused == 0
    assert min(announced, withdrawn, replaced, restored) > 0 and made <= RATE * SECONDS
    assert table > ROUTES4 + ROUTES6
    assert summaries == show_summaries(router)
    router.model("port 0 carrier down")
    eventually(lambda: not router.interfaces()["eth0"]["up"], 20, "no more frames come")
    forwarded = router.balanced()["forwarded"]

    def gone():
        """Frames that have left, and the router's own ones that it sent before the link was up."""
        port, unsent = router.model("stats")["ports"][1], router.interfaces()["eth1"].get("tx_unsent", 0)
        return port["wire"]["from_model_frames"] + port["tx_lost"] + unsent

    # The card may still be sending what the router has given to it. Its statistics complete the file.
    eventually(lambda: gone() == router.interfaces()["eth1"]["tx_pkts"], 20, "all frames have left")
    router.judge = False
    router.close()
    seen = Seen().read(out)
    out.unlink()
    print("%s%d frames" % (said, seen.frames))
    assert seen.frames == forwarded
    partner = {}
    for (family, n), ways in seen.ways.items():
        own = hop_mac(family, n)
        assert len(ways) == 2 and own in ways, (family, n, ways)
        partner[own], = set(ways) - {own}
    assert len(partner) == 2 * HOPS
    assert all(partner[partner[own]] == own for own in partner), partner
