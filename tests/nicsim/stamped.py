"""Frames of a generator outside of nicsim, as docs/nicsim.md says that they look: any of the protocols
behind which there may be a stamp."""
import struct

PATTERN = bytes((167 * i + 13) & 255 for i in range(10000))
MACS = bytes.fromhex("020000000001 020000000002")
SOURCE4, TARGET4 = bytes([192, 0, 2, 1]), bytes([198, 51, 100, 1])
SOURCE6, TARGET6 = (bytes.fromhex("20010db8000%d000000000000000000%02x" % pair) for pair in ((1, 1), (2, 2)))
PROTOCOLS = {"udp": 17, "tcp": 6, "icmp": 1, "icmp6": 58, "ip": 253}


def ones_sum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total >> 16) + (total & 0xFFFF)
    return total


def stamp(number, flow=0, ns=0):
    body = struct.pack("<HHQI", 0x4E53, flow, number, ns)
    return body + struct.pack(">H", ~ones_sum(body) & 0xFFFF)


def l4_header(kind, length, source_port):
    """(bytes, offset of the checksum or None)."""
    if kind == "udp":
        return struct.pack(">HHHH", source_port, 9, length, 0), 6
    if kind == "tcp":
        return struct.pack(">HHIIBBHHH", source_port, 80, 0, 0, 0x50, 0x10, 65535, 0, 0), 16
    if kind in ("icmp", "icmp6"):
        return struct.pack(">BBHHH", 8 if kind == "icmp" else 128, 0, 0, 7, 9), 2
    return b"", None


def frame(number, size=64, kind="udp", version=4, tags=b"", flow=0, source_port=1024):
    """`size` counts the FCS, which is not there."""
    l3 = 20 if version == 4 else 40
    length = size - 4 - 14 - len(tags) - l3
    header, check = l4_header(kind, length, source_port)
    l4 = header + stamp(number, flow)
    l4 += PATTERN[14 + l3 + len(l4):14 + l3 + length]
    ends = SOURCE4 + TARGET4 if version == 4 else SOURCE6 + TARGET6
    if check is not None:
        pseudo = b"" if kind == "icmp" else ends + struct.pack(">II", length, PROTOCOLS[kind])
        found = ~ones_sum(pseudo + l4) & 0xFFFF or 0xFFFF
        l4 = l4[:check] + struct.pack(">H", found) + l4[check + 2:]
    if version == 6:
        ip = struct.pack(">IHBB", 6 << 28, length, PROTOCOLS[kind], 64) + ends
    else:
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + length, 0, 0x4000, 64, PROTOCOLS[kind], 0) + ends
        ip = ip[:10] + struct.pack(">H", ~ones_sum(ip) & 0xFFFF) + ip[12:]
    return MACS + tags + (b"\x08\x00" if version == 4 else b"\x86\xdd") + ip + l4


KINDS = {
    "udp": {}, "tcp": {"kind": "tcp", "size": 128}, "icmp": {"kind": "icmp"}, "ip": {"kind": "ip"},
    "udp6": {"version": 6, "size": 84}, "icmp6": {"kind": "icmp6", "version": 6, "size": 85},
    "tagged": {"tags": bytes.fromhex("81000064"), "size": 68},
    "twice": {"tags": bytes.fromhex("88a8006481000007"), "size": 73},
}
