"""Messages between FRRouting's bfdd and a BFD data plane (bfdd/bfddp_packet.h), and BFD control packets
(RFC 5880 4.1), built from those specifications and not by our own code."""
import socket
import struct

ECHO_REQUEST, ECHO_REPLY, ADD, DELETE, STATE, ASK, COUNTERS = range(7)
MULTIHOP, DEMAND, CBIT, ECHO, IPV6, PASSIVE, SHUTDOWN = (1 << n for n in range(7))
ADMIN_DOWN, DOWN, INIT, UP = range(4)
POLL, FINAL, CPI, AUTH, DBIT, MULTIPOINT = 0x20, 0x10, 0x08, 0x04, 0x02, 0x01


def message(kind, body, number=0, version=1, length=None):
    return struct.pack("!BBHHH", version, 0, kind, number, length or 8 + len(body)) + body


def session(lid, src, dst, kind=ADD, flags=0, tx=50000, rx=50000, mult=3, ttl=255, ifindex=0, ifname=""):
    six = ":" in dst
    family = socket.AF_INET6 if six else socket.AF_INET
    pack = lambda a: (socket.inet_pton(family, a) if a else b"").ljust(16, b"\0")
    return message(kind, struct.pack("!I16s16sIIIIIIBBHI64s", flags | (IPV6 if six else 0), pack(src),
                                     pack(dst), lid, tx, rx, 50000, 50000, 0, ttl, mult, 0, ifindex,
                                     ifname.encode()))


def ask_counters(lid, number):
    return message(ASK, struct.pack("!I", lid), number)


def messages(data):
    """[(type, id, body)] of complete messages."""
    out = []
    while data:
        version, _, kind, number, length = struct.unpack_from("!BBHHH", data)
        assert version == 1 and len(data) >= length
        out.append((kind, number, data[8:length]))
        data = data[length:]
    return out


def state(body):
    """A dictionary of a STATE message."""
    names = ("lid", "rid", "flags", "tx", "rx", "echo", "state", "diag", "mult")
    return dict(zip(names, struct.unpack("!IIIIIIBBBx", body)))


def control(st, mine, yours, tx=50000, rx=50000, mult=3, flags=0, diag=0, echo=0, version=1, length=24):
    return struct.pack("!BBBBIIIII", version << 5 | diag, st << 6 | flags, mult, length, mine, yours, tx,
                       rx, echo)


def read_control(data):
    names = ("vers_diag", "state_flags", "mult", "length", "mine", "yours", "tx", "rx", "echo")
    p = dict(zip(names, struct.unpack("!BBBBIIIII", data)))
    assert p["vers_diag"] >> 5 == 1 and p["length"] == 24 == len(data)
    p["state"], p["flags"], p["diag"] = p["state_flags"] >> 6, p["state_flags"] & 63, p["vers_diag"] & 31
    return p
