"""IPv4, IPv6 and TCP as bytes, for the runner of packetdrill scripts: written from RFC 791, 8200,
9293, 7323, 2018, 7413, independently of the product, so that one misreading cannot hide in both.

A TCP option is a tuple, its name first: ("mss", 1460), ("wscale", 7), ("sackOK",), ("nop",),
("eol",), ("sack", ((1001, 2001), ...)), ("TS", val, ecr), ("FO", cookie), and ("hex", its bytes) for
an unknown or malformed one.
"""
import collections
import struct

FLAGS = (("F", 1), ("S", 2), ("R", 4), ("P", 8), (".", 16), ("U", 32), ("E", 64), ("W", 128))
ECN = {"noecn": 0, "ect1": 1, "ect0": 2, "ce": 3}
MASK = 0xffffffff

Tcp = collections.namedtuple("Tcp", "sport dport seq ack flags win urg options payload ecn df ttl")


class Malformed(Exception):
    """A packet that violates its format."""


def checksum(data):
    """RFC 1071."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def flag_text(flags):
    """As tcpdump and packetdrill print them: SYN first, the others in the order of `SFRPEWU.`."""
    order = "SFRPEWU."
    named = dict(FLAGS)
    return "".join(letter for letter in order if flags & named[letter]) or "-"


def encode_option(option):
    name = option[0]
    if name == "mss":
        return struct.pack("!BBH", 2, 4, option[1])
    if name == "wscale":
        return struct.pack("!BBB", 3, 3, option[1])
    if name == "sackOK":
        return bytes((4, 2))
    if name == "sack":
        edges = b"".join(struct.pack("!II", left & MASK, right & MASK) for left, right in option[1])
        return bytes((5, 2 + len(edges))) + edges
    if name == "TS":
        return struct.pack("!BBII", 8, 10, option[1] & MASK, option[2] & MASK)
    if name == "FO":
        return bytes((34, 2 + len(option[1]))) + option[1]
    if name == "nop":
        return b"\1"
    if name == "eol":
        return b"\0"
    return option[1]


def decode_option(kind, body):
    fixed = {2: ("mss", "!H"), 3: ("wscale", "!B"), 4: ("sackOK", ""), 8: ("TS", "!II")}
    if kind in fixed:
        name, layout = fixed[kind]
        if struct.calcsize(layout) != len(body):
            raise Malformed("TCP option %s of %d bytes" % (name, len(body) + 2))
        return (name,) + struct.unpack(layout, body)
    if kind == 5:
        if len(body) % 8 or not body:
            raise Malformed("TCP option sack of %d bytes" % (len(body) + 2))
        return "sack", tuple(struct.iter_unpack("!II", body))
    if kind == 34:
        return "FO", body
    return "hex", bytes((kind, len(body) + 2)) + body


def decode_options(data):
    """All options, including padding (RFC 9293 3.1)."""
    options = []
    while data:
        if data[0] < 2:
            options.append((("eol",), ("nop",))[data[0]])
            data = data[1:] if data[0] else b""
            continue
        if len(data) < 2 or not 2 <= data[1] <= len(data):
            raise Malformed("TCP option %d has no length, or too much of it" % data[0])
        options.append(decode_option(data[0], data[2:data[1]]))
        data = data[data[1]:]
    return options


def pseudo_header(src, dst, n):
    """RFC 9293 3.1, RFC 8200 8.1."""
    if len(src) == 16:
        return src + dst + struct.pack("!II", n, 6)
    return src + dst + struct.pack("!BBH", 0, 6, n)


def encode_ip(src, dst, proto, payload, ecn=0, df=True, ttl=64):
    if len(src) == 16:
        return struct.pack("!IHBB", 6 << 28 | ecn << 20, len(payload), proto, ttl) + src + dst + \
            payload
    head = struct.pack("!BBHHHBBH4s4s", 0x45, ecn, 20 + len(payload), 0, 0x4000 if df else 0, ttl,
                       proto, 0, src, dst)
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def encode_tcp(src, dst, p, bad_checksum=False):
    """The IP packet of a Tcp; options are padded with zeros (end of list) to a whole word."""
    options = b"".join(encode_option(o) for o in p.options)
    options += b"\0" * (-len(options) % 4)
    if len(options) > 40:
        raise Malformed("%d bytes of TCP options" % len(options))
    segment = struct.pack("!HHIIBBHHH", p.sport, p.dport, p.seq & MASK, p.ack & MASK,
                          (20 + len(options)) // 4 << 4, p.flags, p.win, 0, p.urg)
    segment += options + p.payload
    total = checksum(pseudo_header(src, dst, len(segment)) + segment) ^ (0x5555 if bad_checksum else 0)
    segment = segment[:16] + struct.pack("!H", total) + segment[18:]
    return encode_ip(src, dst, 6, segment, p.ecn, p.df, p.ttl)


def segments(packet, mss, header_bytes):
    """What a card makes of a TSO frame: the headers before each piece of the payload; CWR in the
    first segment only (RFC 3168 6.1.2), FIN and PSH in the last only."""
    ip6 = packet[0] >> 4 == 6
    at = 40 if ip6 else 20
    ip, tcp, payload = packet[:at], packet[at:header_bytes], packet[header_bytes:]
    src, dst = (ip[8:24], ip[24:40]) if ip6 else (ip[12:16], ip[16:20])
    ecn, df, ttl = (ip[1] >> 4 & 3, True, ip[7]) if ip6 else (ip[1] & 3, bool(ip[6] & 0x40), ip[8])
    seq = struct.unpack("!I", tcp[4:8])[0]
    partial = checksum(pseudo_header(src, dst, len(packet) - at)) ^ 0xffff
    if struct.unpack("!H", tcp[16:18])[0] != partial or len(payload) <= mss:
        raise Malformed("a TSO frame without the sum of its pseudo header, or of one segment")
    for at in range(0, len(payload), mss):
        piece = payload[at:at + mss]
        flags = tcp[13] & ~(128 if at else 0) & ~(0 if at + mss >= len(payload) else 9)
        head = tcp[:4] + struct.pack("!I", (seq + at) & MASK) + tcp[8:13] + bytes([flags]) + \
            tcp[14:16] + b"\0\0" + tcp[18:]
        total = checksum(pseudo_header(src, dst, len(head + piece)) + head + piece)
        yield encode_ip(src, dst, 6, head[:16] + struct.pack("!H", total) + head[18:] + piece,
                        ecn, df, ttl)


def decode_ip4(packet, src, dst):
    """Payload, ECN, DF and TTL of a packet."""
    if len(packet) < 20 or packet[0] != 0x45:
        raise Malformed("IP version or header length")
    if struct.unpack("!H", packet[2:4])[0] != len(packet):
        raise Malformed("IP total length")
    if checksum(packet[:20]):
        raise Malformed("IP checksum")
    if packet[9] != 6 or packet[12:16] != src or packet[16:20] != dst:
        raise Malformed("IP protocol or addresses")
    fragment = struct.unpack("!H", packet[6:8])[0]
    if fragment & ~0x4000:
        raise Malformed("a fragment")
    return packet[20:], packet[1] & 3, bool(fragment), packet[8]


def decode_ip6(packet, src, dst):
    """The same for IPv6; a packet that is not fragmented counts as having DF."""
    if len(packet) < 40 or packet[0] >> 4 != 6:
        raise Malformed("IP version")
    if struct.unpack("!H", packet[4:6])[0] != len(packet) - 40:
        raise Malformed("IPv6 payload length")
    word = struct.unpack("!I", packet[:4])[0]
    if word & ~(6 << 28 | 3 << 20):
        raise Malformed("IPv6 traffic class or flow label")
    if packet[6] != 6 or packet[8:24] != src or packet[24:40] != dst:
        raise Malformed("IPv6 next header or addresses")
    return packet[40:], word >> 20 & 3, True, packet[7]


def decode_ip_tcp(packet, src, dst):
    """The Tcp of an IP packet; checks everything that can be wrong."""
    segment, ecn, df, ttl = (decode_ip6 if len(src) == 16 else decode_ip4)(packet, src, dst)
    offset = segment[12] >> 4 << 2 if len(segment) >= 20 else 0
    if not 20 <= offset <= len(segment):
        raise Malformed("TCP data offset")
    if segment[12] & 15:
        raise Malformed("TCP reserved bits")
    if checksum(pseudo_header(src, dst, len(segment)) + segment):
        raise Malformed("TCP checksum")
    sport, dport, seq, ack, _, flags, win, _, urg = struct.unpack("!HHIIBBHHH", segment[:20])
    if not flags & 16 and ack:
        raise Malformed("TCP acknowledgment number without ACK")
    if not flags & 32 and urg:
        raise Malformed("TCP urgent pointer without URG")
    return Tcp(sport, dport, seq, ack, flags, win, urg, decode_options(segment[20:offset]),
               segment[offset:], ecn, df, ttl)
