"""FPM frames as zebra sends them, built from Linux's rtnetlink.h and nexthop.h: for tests."""
import socket
import struct

NEWROUTE, DELROUTE, NEWNEXTHOP, DELNEXTHOP = 24, 25, 104, 105
KERNEL, BGP, ISIS, OSPF, RIP, STATIC = 2, 186, 187, 188, 189, 196
UNICAST, BLACKHOLE, UNREACHABLE, PROHIBIT = 1, 6, 7, 8
OFFLOAD, OFFLOAD_FAILED = 0x4000, 0x20000000


def attr(kind, value):
    return struct.pack("<HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def u32(kind, value):
    return attr(kind, struct.pack("<I", value))


def packed(address):
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)


def message(kind, body, flags=0x501):
    return struct.pack("<IHHII", 16 + len(body), kind, flags, 0, 0) + body + bytes(-len(body) % 4)


def frame(*messages):
    body = b"".join(messages)
    return struct.pack("!BBH", 1, 1, 4 + len(body)) + body


def gateway(prefix, via):
    """RTA_GATEWAY, or RTA_VIA for an IPv6 next hop of an IPv4 route (FRR 10.6)."""
    if not via:
        return b""
    if ":" in via and ":" not in prefix:
        return attr(18, struct.pack("<H", 10) + packed(via))
    return attr(5, packed(via))


def one_hop(prefix, via, ifindex):
    return gateway(prefix, via) + (u32(4, ifindex) if ifindex else b"")


def route(prefix, via=None, ifindex=0, hops=(), nh_id=0, proto=BGP, kind=UNICAST, table=254,
          command=NEWROUTE):
    """hops: (gateway or None, ifindex, weight) of several next hops."""
    address, length = prefix.split("/")
    body = struct.pack("<BBBBBBBBI", 10 if ":" in address else 2, int(length), 0, 0,
                       min(table, 255), proto, 0, kind, 0)
    body += attr(1, packed(address)) + u32(6, 20)
    if hops:
        parts = b""
        for to, index, weight in hops:
            rest = gateway(prefix, to)
            parts += struct.pack("<HBBI", 8 + len(rest), 0, weight - 1, index) + rest
        body += attr(9, parts)
    body += one_hop(prefix, via, ifindex)
    if nh_id:
        body += u32(30, nh_id)
    return message(command, body)


def delete(prefix, **fields):
    return route(prefix, command=DELROUTE, kind=0, **fields)


def nexthop(number, via=None, ifindex=0, group=(), blackhole=False):
    """group: (id, weight) of each member."""
    body = struct.pack("<BBBBI", 10 if via and ":" in via else 2, 0, 186, 0, 0) + u32(1, number)
    if group:
        body += attr(2, b"".join(struct.pack("<IBBH", i, w - 1, 0, 0) for i, w in group))
    if via:
        body += attr(6, packed(via))
    if ifindex:
        body += u32(5, ifindex)
    if blackhole:
        body += attr(4, b"")
    return message(NEWNEXTHOP, body)


def delete_nexthop(number):
    return message(DELNEXTHOP, struct.pack("<BBBBI", 0, 0, 0, 0, 0) + u32(1, number))
