"""Every byte of the packet generator's frames as docs/pktgen.md specifies them, written from that
document alone. nicsim's tests send such frames; the generator's tests compare."""
import ipaddress
import struct

PATTERN = bytes((167 * i + 13) & 255 for i in range(10000))
PROTOCOLS = {"udp": 17, "tcp": 6, "icmp": 1, "icmp6": 58, "ip": 253}
MACS = bytes.fromhex("020000000001 020000000002")  # destination, source
IP4 = ("192.0.2.1", "198.51.100.1")
IP6 = ("2001:db8:1::1", "2001:db8:2::1")
IMIX = (64, 594, 64, 64, 594, 64, 1518, 64, 594, 64, 64, 594)

# One of each kind that can have a stamp.
KINDS = {
    "udp": {}, "tcp": {"kind": "tcp", "size": 128}, "icmp": {"kind": "icmp"}, "ip": {"kind": "ip"},
    "udp6": {"addresses": IP6, "size": 84}, "icmp6": {"kind": "icmp6", "addresses": IP6, "size": 85},
    "tagged": {"tags": "81000064", "size": 68}, "twice": {"tags": "88a8006481000007", "size": 73},
}


def ones_sum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total >> 16) + (total & 0xFFFF)
    return total


def random_of(first, last, number, seed):
    """Value `number` of `random FIRST LAST seed SEED`."""
    mask = (1 << 64) - 1
    z = (seed + (number + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & mask
    return first + ((z ^ z >> 31) * (last - first + 1) >> 64)


def _stamp(flow, number, ns):
    body = struct.pack("<HHQI", 0x4E53, flow, number, ns)
    return body + struct.pack(">H", ~ones_sum(body) & 0xFFFF)


def _l4_header(kind, length, ports):
    """(bytes, offset of the checksum or None)."""
    if kind == "udp":
        return struct.pack(">HHHH", *ports, length, 0), 6
    if kind == "tcp":
        return struct.pack(">HHIIBBHHH", *ports, 0, 0, 0x50, 0x10, 65535, 0, 0), 16
    if kind in ("icmp", "icmp6"):
        return struct.pack(">BBHHH", 8 if kind == "icmp" else 128, 0, 0, *ports), 2
    return b"", None


def frame(number, size=64, kind="udp", addresses=IP4, ports=(1024, 9), tags="", flow=0, ns=0,
          macs=MACS):
    """`size` counts the FCS, which is not included. Ports are identifier and sequence of ICMP."""
    source, target = (ipaddress.ip_address(text) for text in addresses)
    tags = bytes.fromhex(tags)
    l3 = 20 if source.version == 4 else 40
    length = size - 4 - 14 - len(tags) - l3
    header, check = _l4_header(kind, length, ports)
    l4 = header + _stamp(flow, number, ns)
    l4 += PATTERN[14 + l3 + len(l4):14 + l3 + length]
    ends = source.packed + target.packed
    if check is not None:
        pseudo = b"" if kind == "icmp" else ends + struct.pack(">II", length, PROTOCOLS[kind])
        found = ~ones_sum(pseudo + l4) & 0xFFFF or 0xFFFF
        l4 = l4[:check] + struct.pack(">H", found) + l4[check + 2:]
    if source.version == 6:
        ip = struct.pack(">IHBB", 6 << 28, length, PROTOCOLS[kind], 64) + ends
    else:
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + length, 0, 0x4000, 64, PROTOCOLS[kind], 0) + ends
        ip = ip[:10] + struct.pack(">H", ~ones_sum(ip) & 0xFFFF) + ip[12:]
    return macs + tags + (b"\x08\x00" if source.version == 4 else b"\x86\xdd") + ip + l4
