#!/usr/bin/python3
"""Writes the hand-made inputs of a fuzz entry: seeds.py ENTRY DIRECTORY

The heads of tests/fuzz/fuzz_*.c describe the formats. The names of the instructions of a TCP program
are in the order of enum op in fuzz_tcp.c.
"""
import glob
import io
import os
import random
import re
import struct
import sys
import tarfile
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import bfdd
import fpm_frames

OPS = ("time data segment syn syn_ack ack fin rst connect send send_pkt close abort consume option "
       "icmp steal hold sack").split()
FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = (1 << i for i in range(8))
OPTIONS_ALL = 2 | 4 | 8 | 16


def u16(n):
    return struct.pack("<H", n & 0xffff)


def u32(n):
    return struct.pack("<I", n & 0xffffffff)


def op(name, *rest, peer=0):
    """One instruction; small numbers are bytes."""
    return bytes([OPS.index(name) + len(OPS) * peer]) + b"".join(
        bytes([r]) if isinstance(r, int) else r for r in rest)


def ms(n):
    return op("time", u16(n | 0x4000))


def seconds(n):
    return op("time", u16(n | 0x8000))


def begin(how=0, more=0, **sizes):
    """The parameters, as begin() of fuzz_tcp.c reads them."""
    out = bytes([how, more])
    if how & 128:
        out += u16(sizes["rcv_buf"] - 1)
    if more & 1:
        out += u16(sizes["snd_buf"] - 1)
    if more & 4:
        out += u16(sizes["mtu"] - 576)
    return out + u32(sizes.get("now", 0))


def syn(how=OPTIONS_ALL, isn=1000, mss=1460, scale=7, peer=0, kind="syn", data=0):
    out = op(kind, how, u32(isn), peer=peer)
    if how & 2:
        out += u16(mss)
    if how & 4:
        out += bytes([scale])
    if how & 64:
        out += u16(data)
    return out


def accepted(peer=0, **options):
    return syn(peer=peer, **options) + op("ack", 0, u16(65535), peer=peer)


def connected(fastopen=0, mood=0, peer=0, how=OPTIONS_ALL):
    return (op("connect", fastopen, mood, peer=peer) +
            syn(kind="syn_ack", isn=5000, peer=peer, how=how))


def send(n, name="send", conn=0):
    return op(name, conn, u16(n), *([u16(192)] if name == "send_pkt" else []))


def api(name, conn=0, n=0, *rest):
    return op(name, conn, u16(n), *rest)


def tcp_moves():
    """A connection in each state (enum target of fuzz_tcp_move.c), moved whole, then with damage."""
    for target in range(9):
        for how in (0, 0x33, 0xff, 0x77):
            for damages in (0, 3):
                head = bytes((target + 9 * damages, how)) + struct.pack("<HBBHHH", 6000, 1, 2, 900, 800, 300)
                program = b"\4\0\x10\1\3\0\4\0\x08\0\x10\0\x10\1\7\2\x20\3\0\x08\0\1\x10\0\x84"
                yield "%d-%02x-%d" % (target, how, damages), head + bytes(8 * damages) + program
    

def tcp_programs():
    data = op("data", u16(1000))
    ack = op("ack", 0, u16(65535))
    for how in range(0, 256, 9):
        size = {"rcv_buf": 3000} if how & 128 else {}
        yield "features-%d" % how, begin(how, **size) + accepted() + data * 3 + send(8000) + ack * 4
    yield "close", begin() + accepted() + data + api("close") + ack + op("fin") + seconds(200)
    yield "passive-close", begin() + accepted() + op("fin") + send(500) + api("close") + ms(50) + ack
    yield "both-close", begin() + accepted() + api("close") + op("fin") + ack + seconds(1)
    yield "connect", begin() + connected() + send(20000) + ack * 5 + data + op("rst", ACK, u16(0))
    yield "connect-refused", begin() + op("connect", 0, 0) + op("rst", ACK, u16(0))
    yield "simultaneous", begin() + op("connect", 1, 0) + syn(how=128 | OPTIONS_ALL) + ack + data
    yield "fast-open", (begin() + connected(2, how=OPTIONS_ALL | 32) + api("abort") +
                        op("connect", 6, 0, u16(400)) + syn(kind="syn_ack", isn=9) + ack)
    yield "fast-open-server", (begin() + accepted(how=OPTIONS_ALL | 32) + api("abort") +
                               syn(how=OPTIONS_ALL | 96, isn=77, data=300) + ack + send(100))
    hole = op("segment", ACK | PSH, 1 | 16, u16(0x4000 | 1000), u16(500))
    yield "hole", begin() + accepted() + hole * 2 + data + data + ms(100)
    yield "overlap", begin() + accepted() + data + op(
        "segment", ACK, 1 | 16, u16(0x4000 | (-300 & 0x3fff)), u16(900)) + data
    yield "sack", begin() + accepted() + send(20000, "send_pkt") * 3 + op(
        "sack", 0, u16(0), u16(0x4000 | 1460), u16(2920)) * 4 + ms(300) + ack * 3
    yield "timeout", begin() + accepted() + send(5000) + ms(300) * 4 + ack * 2 + seconds(300)
    yield "zero-window", begin() + accepted() + op("ack", 0, u16(0)) + send(3000) + seconds(5) * 3 + ack
    yield "small-window", begin(128, rcv_buf=100) + accepted() + op("data", u16(90)) + api(
        "consume", 0, 50) + op("data", u16(40))
    yield "urgent", begin() + accepted() + op(
        "segment", ACK | URG, 16, u16(100), u16(50)) + send(100) + api("option", 0, 0, 3)
    yield "cookies", begin() + b"".join(syn(peer=p, isn=p * 99) for p in range(4)) + op(
        "ack", 0, u16(9000), peer=3) + op("data", u16(100), peer=3)
    yield "too-big", begin() + accepted() + send(9000, "send_pkt") * 3 + op(
        "icmp", 2, u16(0), u16(700)) + ack * 4
    yield "keep-alive", begin(0, 2) + accepted() + api("option", 0, 0, 9) + seconds(30) + ack + seconds(1000)
    yield "no-buffers", begin() + accepted() + op("steal", 90) + send(9000) + ms(500) + op("steal", 0) + ack
    yield "vector", begin() + accepted() + op("hold", 9) + data * 6 + hole + op("fin") + ms(1)
    yield "moods", begin() + connected(0, 16 | 8 | 4) + data + ack + connected(0, 32 | 3, 1) + data
    yield "ecn", begin() + accepted(how=OPTIONS_ALL | 1) + send(9000) + op(
        "segment", ACK | ECE, 0) + op("segment", ACK | PSH, 16 | 32, u16(100), 3) + ack
    yield "time-wait-again", begin() + accepted() + api("close") + op("fin") + ack + seconds(1) + accepted(isn=90000)
    yield "challenge", begin() + accepted() + op("rst", 0, u16(0x4000 | 100)) * 3 + syn(how=128 | OPTIONS_ALL)


def ip4(payload, proto, options=b"", **fields):
    header = struct.pack(">BBHHHBBHII", 0x45 + len(options) // 4, 0,
                         fields.get("total", 20 + len(options) + len(payload)), 7,
                         fields.get("offset", 0), fields.get("ttl", 64), proto, 0, 0xc0000201,
                         0xc0000202)
    return header + options + payload


def ip4_packets():
    echo = b"\x08\0\0\0\x12\x34\0\1" + bytes(range(40))
    yield "echo", b"\x07\x10" + ip4(echo, 1)
    yield "options", b"\x07\x10" + ip4(echo, 1, b"\x07\x07\x04\0\0\0\0\0")
    yield "source-route", b"\x03\x10" + ip4(echo, 1, b"\x83\x07\x04\1\2\3\4\0")
    yield "unreachable", b"\x07\x10" + ip4(b"\3\4\0\0\0\0\2\x40" + ip4(echo, 17), 1)
    yield "fragment", b"\x03\0" + ip4(bytes(600), 17, offset=0x2010)
    yield "last-fragment", b"\x03\0" + ip4(bytes(600), 17, offset=0x1fff)
    yield "long", b"\x03\x02" + ip4(bytes(900), 6)
    yield "short", b"\0\0\x45\0"


def ip6(payload, next_header, dst=b"\x20\x01\x0d\xb8" + bytes(11) + b"\2"):
    src = b"\x20\x01\x0d\xb8" + bytes(11) + b"\1"
    return struct.pack(">IHBB", 0x60000000, len(payload), next_header, 64) + src + dst + payload


def extension(next_header, content):
    """An extension header with this content after its first two bytes."""
    return bytes([next_header, (len(content) + 2) // 8 - 1]) + content


def fragment6(next_header, offset, more, payload):
    return struct.pack(">BBHI", next_header, 0, offset | more, 0x1234) + payload


def ip6_packets():
    echo = b"\x80\0\0\0\x12\x34\0\1" + bytes(range(40))
    pad = b"\1\4\0\0\0\0"
    group = b"\xff\2" + bytes(13) + b"\1"
    yield "echo", b"\3\x10" + ip6(echo, 58)
    yield "echo-group", b"\3\x10" + ip6(echo, 58, group)
    yield "unreachable", b"\3\x10" + ip6(b"\1\4\0\0\0\0\0\0" + ip6(echo, 17), 58)
    yield "too-big", b"\3\x10" + ip6(b"\2\0\0\0\0\0\5\0" + ip6(echo, 6), 58)
    yield "neighbour", b"\3\x10" + ip6(b"\x87\0\0\0\0\0\0\0" + bytes(16), 58, group)
    yield "mld", b"\3\x10" + ip6(extension(58, b"\5\2\0\0\1\0") + b"\x8f\0" + bytes(26), 0, group)
    yield "chain", b"\3\x10" + ip6(
        extension(60, pad) + extension(43, pad) + extension(60, pad) + extension(58, pad) + echo, 0)
    yield "options", b"\1\x10" + ip6(extension(17, b"\x1e\2ab\xc2\4\0\0\0\0\x05\0\0\0") + echo, 60)
    yield "options-told", b"\1\x10" + ip6(extension(17, b"\x80\4\0\0\0\0") + echo, 60, group)
    yield "routing", b"\1\x10" + ip6(extension(17, b"\0\1" + bytes(20)) + echo, 43)
    yield "authentication", b"\1\x10" + ip6(bytes([58, 4]) + bytes(22) + echo, 51)
    yield "long", b"\1\2" + ip6(bytes(900), 17)
    yield "first-fragment", b"\5\0" + ip6(fragment6(17, 0, 1, bytes(64)), 44)
    yield "last-fragment", b"\1\0" + ip6(fragment6(17, 1280, 0, bytes(61)), 44)
    yield "atomic", b"\1\0" + ip6(extension(44, pad) + fragment6(58, 0, 0, echo), 0)
    yield "short-chain", b"\1\0" + ip6(fragment6(60, 0, 1, extension(6, pad)), 44)
    yield "jumbogram", b"\0\0" + ip6(b"", 0) + extension(17, b"\xc2\4\0\1\0\0")
    yield "short", b"\0\0\x60\0"
    # programs of fragments: how, offset / 8, length
    for how in (0, 1, 2, 5, 4 | 3 << 4):
        yield "whole-%d" % how, bytes([128, how, 0, 80, how | 8, 20, 33, how, 10, 80])
        yield "overlap-%d" % how, bytes([128, how, 0, 80, how, 5, 80, how | 8, 10, 80])
        yield "copy-%d" % how, bytes([128, how, 0, 80, how, 0, 80, how | 8, 10, 8])
    yield "full", bytes([128]) + b"".join(bytes([k << 4 | f, 0, 80]) for k in range(4) for f in range(8))
    yield "time", bytes([128, 0, 0, 80, 1, 0, 80, 0xff, 30, 0, 0xff, 30, 0, 8, 10, 5])
    yield "many", bytes([128]) + b"".join(bytes([1, k, 8]) for k in range(8))
    yield "marks", bytes([128, 0xc0, 0, 80, 0x88, 10, 8, 0x41, 0, 80, 0xc9, 10, 8, 0xe1, 0, 80, 0x29, 10, 8])


def acl_programs():
    """Lists of both families, with sizes around a table's boundaries (64, 256, 512, 1024)."""
    for six in (0, 1):
        for rules in (1, 2, 16, 61, 66, 251, 261, 506, 521, 1021, 1031, 1276):
            count = bytes([six | 2, rules // 5]) if rules > 16 else bytes([six, rules - 1])
            yield "random-%d-%d" % (six, rules), count + bytes((7 * k + rules) % 256 & 0xfe for k in range(900))
            yield "raw-%d-%d" % (six, rules), count + bytes((37 * k * k + rules) % 251 for k in range(1000))


def udp_packets():
    datagram = b"\x9c\x40\0\7\0\0\0\0hello"
    yield "plain", b"\3" + ip4(datagram, 17)
    yield "options", b"\3" + ip4(datagram, 17, b"\1\1\1\1")
    yield "no-checksum", b"\2" + ip4(b"\0\1\0\2\0\x0c\0\0abcd", 17)
    yield "known", b"\6" + ip4(b"\0\1\0\2\0\x0c\1\1abcd", 17)
    yield "length", b"\2" + ip4(b"\0\1\0\2\0\x09\0\0abcd", 17)
    yield "empty", b"\3" + ip4(b"\0\1\0\2\0\0\0\0", 17)


ND_OPS = "time solicit advert router mld raw output hint pin entry address ra".split()
# the names of addresses, as address() of fuzz_nd.c reads them
GLOBAL, LINK, GROUP, KNOWN, OURS, OTHER = (n << 4 for n in range(6))
ANY, ALL_NODES, ALL_ROUTERS = KNOWN, KNOWN + 1, KNOWN + 2
ROUTER, HOST = 5, 4  # without start delay


def vxlan_packets():
    """Frames with VXLAN's header, and received ones."""
    header, ours = b"\x08\0\0\0\0\0\x65\0", b"\2\x48\x59\0\0\1"
    spf, lldp = b"\1\0\x5e\0\0\5", b"\1\x80\xc2\0\0\x0e"
    tcp = struct.pack(">HH", 1024, 179) + bytes(16)
    isis = b"\1\x80\xc2\0\0\x14" + ours + b"\0\x08\xfe\xfe\3\x83" + bytes(42)
    frames = {
        "bgp": ours + ours + b"\x08\0" + ip4(tcp, 6), "bgp6": ours + ours + b"\x86\xdd" + ip6(tcp, 6),
        "ospf": spf + ours + b"\x08\0" + ip4(bytes(44), 89), "isis": isis,
        "lldp": lldp + ours + b"\x88\xcc" + bytes(46), "arp": spf + ours + b"\x08\6" + bytes(46),
        "solicit": ours + ours + b"\x86\xdd" + ip6(b"\x87" + bytes(23), 58),
        "tagged": spf + ours + b"\x81\0\0\7\x08\0" + ip4(bytes(44), 89)}
    for name, frame in frames.items():
        yield name, b"\6" + header + frame
        yield name + "-received", b"\5" + frame
    yield "short", b"\6" + header[:7]


def nd(name, *rest, port=0):
    """One instruction; small numbers are bytes."""
    return bytes([ND_OPS.index(name) + len(ND_OPS) * port]) + b"".join(
        bytes([r]) if isinstance(r, int) else r for r in rest)


def nd_seconds(n):
    return nd("time", u16(n | 0x8000))


def nd_programs():
    up = nd_seconds(10)
    frame = nd("output", GLOBAL + 5, 60)
    # sender, then the options with their MAC, then hop limit and alert, source, target
    answer = nd("advert", 0xe0, GLOBAL + 5, 2, 10, 0, GLOBAL + 5, GLOBAL + 1)
    ask = nd("solicit", GLOBAL + 1, 1, 10, 0, GLOBAL + 5, GROUP + 1)
    advert = nd("router", bytes([64, 0, 7, 8]) + bytes(8), 1 | 4 | 16, 10, 220, GLOBAL, 0, 0xc0,
                u16(7200), u16(600), 0, LINK + 5, ALL_NODES)
    yield "resolve", bytes([ROUTER]) + up + frame + answer + frame + nd_seconds(100)
    yield "silence", bytes([ROUTER]) + up + frame * 5 + nd_seconds(30)
    yield "stale", bytes([ROUTER]) + up + ask + frame + nd_seconds(5) + answer + nd_seconds(700)
    yield "duplicate", bytes([ROUTER]) + nd("time", u16(10)) + nd(
        "solicit", GLOBAL + 1, 0, 0, ANY, GROUP + 1) + up
    yield "looped", bytes([ROUTER]) + nd("time", u16(10)) + nd(
        "solicit", GLOBAL + 1, 8, 1, 0, ANY, GROUP + 1) + up
    yield "pinned", bytes([ROUTER]) + up + frame + nd("pin", 64) + nd_seconds(20) + nd("pin", 0)
    yield "static", bytes([ROUTER]) + up + nd("entry", 1, GLOBAL + 5) + frame + nd("entry", 0, 0)
    yield "advertise", bytes([ROUTER]) + up + nd("ra", 0x1e) + nd_seconds(60) + nd(
        "router", bytes([1]) + bytes(11), 1, 10, 0, LINK + 5, ALL_ROUTERS) + advert + nd("ra", 1)
    yield "configure", bytes([HOST]) + up + advert + nd_seconds(1000) + advert + nd_seconds(9000)
    yield "default", bytes([HOST]) + up + advert + nd("output", LINK + 5, 60) + nd_seconds(60)
    yield "query", bytes([ROUTER]) + up + nd("mld", 0, u16(0x0105), ANY, 1, LINK + 9, ALL_NODES) + up
    yield "query-old", bytes([HOST]) + up + nd("mld", 0, u16(0), ANY, 1, LINK + 9, ALL_NODES) + up
    yield "addresses", bytes([HOST]) + nd("address", 3, GLOBAL + 9, port=1) + up + nd(
        "address", 0, 0) + up + nd("address", 2, GLOBAL + 9, port=1)


def http_requests():
    host = b"Host: a\r\n"
    get = b"GET /api/v1/routes.json?limit=5&from=10.0.0.0%2F8 HTTP/1.1\r\n" + host
    yield "get", b"\0" + get + b"\r\n"
    yield "pipelined", b"\1" + (get + b"\r\n") * 3 + b"HEAD / HTTP/1.0\r\n\r\n"
    yield "body", b"\5POST /x HTTP/1.1\r\n" + host + b"Content-Length: 5\r\n\r\nhello" + get + b"\r\n"
    yield "absolute", b"\2GET http://h.example:80/%61 HTTP/1.1\r\n" + host + b"Connection: close, x\r\n\r\n"
    yield "smuggle", b"\0" + get + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    yield "chunked", b"\0" + get + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    yield "fold", b"\0" + get + b"X: y\r\n z\r\n\r\n"
    yield "expect", b"\0PUT / HTTP/1.1\r\n" + host + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n"
    yield "bare-lf", b"\3GET / HTTP/1.1\n\n"
    yield "host-port", b"\2GET / HTTP/1.1\r\nX: y\r\nHost: [fe80::1%25eth0]:8080\r\nY: z\r\n\r\n" + get + b"\r\n"
    yield "host-twice", b"\2GET http://b:1/x HTTP/1.1\r\n" + host + host + b"\r\n"
    yield "fields", b"\6" + get + b"Range: bytes=0-1\r\nIf-None-Match: \"a\"\r\nAccept-Encoding: br\r\n" \
        b"If-None-Match: W/\"b\"\r\nX: y\r\nAccept-Encoding: gzip;q=0.5\r\nIf-Range: \"c\"\r\n" \
        b"If-Match: *\r\nIf-Modified-Since: x\r\nIf-Unmodified-Since: y\r\nRange: 2\r\n\r\n" + get + b"\r\n"
    yield "options", b"\2OPTIONS * HTTP/1.1\r\n" + host + b"\r\n"
    yield "host-user", b"\4GET http://a@b/ HTTP/1.1\r\n" + host + b"\r\n"


def http_ranges():
    small, large = struct.pack("<Q", 10), struct.pack("<Q", 10000)
    for name, field in (("first", b"0-499"), ("suffix", b"-500"), ("rest", b"9500-"), ("several", b"0-0,-1"),
                        ("blanks", b" 0-999, 4500-5499,\t-1000,,"), ("overlap", b"500-700,601-999"),
                        ("eight", b"0-0,2-2,4-4,6-6,8-8,10-10,12-12,14-14"), ("backwards", b"9-1"),
                        ("behind", b"10000-"), ("huge", b"99999999999999999999-18446744073709551615")):
        yield name, large + b"bytes=" + field
    yield "small", small + b"BYTES=3-100"
    yield "empty", bytes(8) + b"bytes=-1"
    yield "unit", small + b"items=0-1"


def http_codings():
    yield "browser", b"\x0fgzip, deflate, br, zstd"
    yield "weights", b"\x03gzip;q=1.0, identity; q=0.5, *;q=0"
    yield "star", b"\x07*;q=0.125, x-gzip;Q=0.1,, br;q=0"
    yield "wrong", b"\x0fgzip;q=1.001, br;q=.5, zstd;q=, identity;q=0"
    yield "simple", b"\x05\x07\x01\x81\x03\x84\x00\x04\x82\x0f"
    yield "path", b"\0/a.b/index.HTML"


def http_dates():
    for name, text in (("imf", b"Sun, 06 Nov 1994 08:49:37 GMT"), ("rfc850", b"Sunday, 06-Nov-94 08:49:37 GMT"),
                       ("asctime", b"Sun Nov  6 08:49:37 1994"), ("leap", b"Sat, 31 Dec 2016 23:59:60 GMT"),
                       ("february", b"Thu, 29 Feb 2024 00:00:00 GMT"), ("limit", b"Fri, 31 Dec 9999 23:59:59 GMT")):
        yield name, struct.pack("<q", 1795950000) + text


def http_responses():
    ok = b"HTTP/1.1 200 OK\r\nServer: x/1.0\r\n"
    yield "length", b"\0" + ok + b"Content-Length: 5\r\nContent-Type: a/b\r\n\r\nhello"
    yield "chunked", b"\1" + ok + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0A;n=v\r\n0123456789\r\n0\r\nT: x\r\n\r\nmore"
    yield "close", b"\2HTTP/1.0 200\r\n\r\nto the end"
    yield "interim", b"\3HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    yield "redirect", b"\4HTTP/1.1 302 Found\r\nLocation: https://a.example/b?c#d\r\nContent-Length: 0\r\n\r\n"
    yield "none", b"\5HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"
    yield "both", b"\6" + ok + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    yield "coded", b"\7" + ok + b"Content-Encoding: gzip\r\nContent-Encoding: identity\r\n\r\n\x1f\x8b"
    yield "long", b"\x08" + ok + b"X: " + b"y" * 600 + b"\r\nContent-Length: 700\r\n\r\n"
    yield "overflow", b"\x09" + ok + b"Transfer-Encoding: chunked\r\n\r\n10000000000000001\r\n"


def http_conditions():
    date = b"Sun, 06 Nov 1994 08:49:37 GMT\r\n"
    yield "match", b"\x0eIf-Match: \"x\", \"a,b\"\r\nRange: bytes=0-1\r\nIf-Range: \"a,b\"\r\n"
    yield "none-match", b"\x0fIf-None-Match: \"x\",, W/\"a,b\"\r\nIf-Modified-Since: " + date
    yield "since", b"\x0cIf-Modified-Since: " + date
    yield "unmodified", b"\x06If-Unmodified-Since: " + date + b"If-None-Match: *\r\n"
    yield "if-range", b"\x0eRange: bytes=0-1\r\nIf-Range: " + date
    yield "twice", b"\x0eIf-None-Match: \"a\"\r\nIf-Range: \"b\"\r\nIf-None-Match: \"a,b\"\r\nIf-Range: \"a,b\"\r\n"


FOLDER, FILE, HARD, SYMBOLIC, FIFO = tarfile.DIRTYPE, tarfile.REGTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.FIFOTYPE


def tar_archive(form, entries):
    """entries: (name, type, link, content)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as t:
        for name, kind, link, data in entries:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size, info.mtime = kind, link, len(data), 1000000000
            t.addfile(info, io.BytesIO(data))
        if form != tarfile.USTAR_FORMAT:
            info = tarfile.TarInfo("x" * 200)
            info.mtime = -5
            t.addfile(info)
    # without most of the zeros at the end
    content = out.getvalue().rstrip(b"\0")
    return b"\1" + content + bytes(-len(content) % 512 + 512)


TAR_FORMATS = ("ustar", tarfile.USTAR_FORMAT), ("gnu", tarfile.GNU_FORMAT), ("pax", tarfile.PAX_FORMAT)
TAR_LINKS = (("a", FILE, "", b"1"), ("b", HARD, "a", b""), ("d/c", SYMBOLIC, "../b", b""), ("e", SYMBOLIC, "d", b""),
             ("d/f", SYMBOLIC, "../e/./c", b""), ("g", SYMBOLIC, "g", b""), ("/h", SYMBOLIC, "/a", b""), ("i", HARD, "d/c", b""),
             ("a.gz", SYMBOLIC, "none", b""), ("a.gz", SYMBOLIC, "a", b""), ("d/up", SYMBOLIC, "../..", b""))


def tar_archives():
    for name, form in TAR_FORMATS:
        yield name, tar_archive(form, (("./", FOLDER, "", b""), ("./a/b.html", FILE, "", b"<p>"),
                                       ("p" * 90 + "/" + "n" * 90, FILE, "", bytes(513)), ("l", HARD, "a/b.html", b""),
                                       ("s", SYMBOLIC, "../x", b""), ("f", FIFO, "", b"")))
        yield "links-" + name, tar_archive(form, TAR_LINKS)
    long = tuple(("l%d" % n, SYMBOLIC, "./" * (100 + n) + "a", b"") for n in range(3))
    yield "long-links-gnu", tar_archive(tarfile.GNU_FORMAT, TAR_LINKS[:1] + long)
    yield "long-links-pax", tar_archive(tarfile.PAX_FORMAT, TAR_LINKS[:1] + long)
    yield "name", b"\0./a/b.html"


def sites():
    yield from tar_archives()
    rng = random.Random(1)
    for number in range(8):
        yield "entries-%d" % number, b"\2" + rng.randbytes(40 << number % 4)


def dhcp_messages():
    """Messages of DHCP, after an octet that says who takes them (tests/fuzz/fuzz_dhcp.c)."""
    def four(op, options, yiaddr=bytes(4), sname=b"", file=b""):
        head = struct.pack("!4BI2H", op, 1, 6, 0, 7, 0, 0) + bytes(4) + yiaddr + bytes(4)
        head += bytes(4) if op == 1 else b"\xc0\0\2\1"
        head += b"\2\0\0\0\0\1".ljust(16, b"\0") + sname.ljust(64, b"\0") + file.ljust(128, b"\0")
        return (head + b"\x63\x82\x53\x63" + options + b"\xff").ljust(300, b"\0")
    discover = four(1, b"\x35\1\1\x37\4\1\3\6\x79\x3d\7\1\2\0\0\0\0\1")
    offer = four(2, b"\x35\1\2\x36\4\xc0\0\2\1\x33\4\0\0\2\x58\1\4\xff\xff\xff\0\3\4\xc0\0\2\1"
                 b"\x79\x0d\x18\xc0\0\2\0\0\0\0\0\xc0\0\2\1", b"\xc0\0\2\x09")
    agent = four(1, b"\x35\1\1\x52\6\1\4eth0")
    overload = four(2, b"\x34\1\3", file=b"\x35\1\5\xff", sname=b"\x33\4\0\0\1\0\xff")
    solicit = b"\1\0\0\7\0\1\0\2ab"
    forward = b"\x0c\1" + bytes(32) + b"\0\x09" + len(solicit).to_bytes(2, "big") + solicit
    reply = b"\x0d\0" + bytes(15) + b"\1" + bytes(15) + b"\2\0\x12\0\4eth0\0\x09\0\4\2\0\0\7"
    for n, message in enumerate((discover, offer, agent, overload, discover[:240])):
        for who in (0, 16, 32, 48, 1):
            yield "four%d-%d" % (n, who), bytes([who]) + message
    def record(options):
        message = four(2, b"\x36\4\xc0\0\2\1\x33\4\0\0\2\x58\1\4\xff\xff\xff\0" + options, b"\xc0\0\2\x09")
        message += bytes(len(message) % 2)
        return bytes([len(message) // 2]) + message
    yield "lease", b"\4" + record(b"\x35\1\2") + record(b"\x35\1\5") + record(b"\x35\1\6")
    more = b"\x03\4\xc0\0\2\1\x06\x08\xc0\0\2\1\xc0\0\2\2\x2a\4\xc0\0\2\1\x0f\x0clab.example\0" + \
        b"\x79\x0d\x18\xcb\0\x71\xc0\0\2\1\0\xc0\0\2\1\x3a\4\0\0\1\0\x3b\4\0\0\2\0"
    yield "lease-all", b"\4" + record(b"\x35\1\2" + more) + record(b"\x35\1\5" + more) + record(b"\x35\1\5")
    for n, message in enumerate((solicit, forward, reply)):
        for who in (2, 3):
            yield "six%d-%d" % (n, who), bytes([who]) + message


def bfd_inputs():
    """Packets for a session, and streams of bfdd (tests/fuzz/fuzz_bfd.c)."""
    def record(packet, time=1, change=b"\0\0\0\0\0"):
        return (bytes([time]) + change).ljust(8, b"\0") + packet

    def at(state, **more):
        return record(bfdd.control(state, 77, 5 if state > bfdd.DOWN else 0, **more))

    inputs = []
    up = at(bfdd.DOWN) + at(bfdd.INIT) + at(bfdd.UP, flags=bfdd.FINAL)
    slower = record(bfdd.control(bfdd.UP, 77, 5), change=b"\1\x14\x14\5\0")
    for more in (b"", at(bfdd.UP, flags=bfdd.POLL), at(bfdd.DOWN, diag=1), at(bfdd.ADMIN_DOWN), slower * 2,
                 slower + at(bfdd.UP, flags=bfdd.FINAL), record(bfdd.control(bfdd.UP, 77, 5), time=255),
                 at(bfdd.UP, rx=0) + at(bfdd.UP, rx=10000), at(bfdd.UP, flags=bfdd.AUTH),
                 record(bfdd.control(bfdd.UP, 77, 5), change=b"\1\4\4\3\2"), at(bfdd.UP, length=23)):
        inputs.append(b"\0" + up + more)
    one = bfdd.session(5, "192.0.2.1", "192.0.2.2")
    six = bfdd.session(6, "", "fe80::2", kind=bfdd.DELETE, ifindex=3, ifname="eth1")
    for stream in (one, one + six, bfdd.ask_counters(5, 9) + bfdd.message(bfdd.ECHO_REQUEST, bytes(16)),
                   one[:-1], bfdd.message(bfdd.STATE, bytes(28)), bfdd.message(bfdd.ADD, bytes(132), version=2)):
        inputs.append(b"\1" + stream)
    return {"seed-%02d" % n: i for n, i in enumerate(inputs)}


def snoop_programs():
    """Instructions of tests/fuzz/fuzz_snoop.c, which sets lengths and checksums."""
    def frame(op, port, raw):
        return bytes([op | port << 4, len(raw)]) + raw

    def ip4(port, proto, message, dst):
        """With a Router Alert option."""
        header = struct.pack("!BBHHHBBH4B4B", 0x46, 0xc0, 0, 0, 0, 1, proto, 0, 192, 0, 2, 9, *dst)
        return frame(0, port, header + b"\x94\4\0\0" + message)

    def igmp(port, message, dst=(224, 0, 0, 1)):
        return ip4(port, 2, message, dst)

    def mld(port, message, dst):
        header = struct.pack("!IHBB", 6 << 28, 0, 0, 1) + b"\xfe\x80" + bytes(13) + b"\x09" + dst
        return frame(1, port, header + bytes((58, 0, 5, 2, 0, 0, 1, 0)) + message)

    def wait(seconds):
        return bytes([2, seconds])

    hexa = bytes.fromhex
    group, group6, all_routers, v3_routers = (239, 1, 1, 1), hexa("ff3e" + "00" * 13 + "34"), (224, 0, 0, 2), (224, 0, 0, 22)
    all_nodes6, v2_routers6 = hexa("ff02" + "00" * 13 + "01"), hexa("ff02" + "00" * 13 + "16")
    query, report, leave = hexa("1164000000000000"), hexa("16000000ef010101"), hexa("17000000ef010101")
    query3 = hexa("1164000000000000027d0000")
    report3 = hexa("2200000000000003" "04000000ef010101" "01000001ef01010201020304" "03000000ef010103")
    query6, one6 = hexa("8200000027100000") + bytes(16), hexa("8200000003e80000") + group6
    report6, done6 = hexa("8300000000000000") + group6, hexa("8400000000000000") + group6
    report62 = hexa("8f00000000000001" "04000000") + group6
    listener = igmp(0, query) + wait(11) + igmp(3, report, group)
    six = mld(0, query6 + hexa("027d0000"), all_nodes6) + wait(11) + mld(3, report6, group6)
    return [
        ("listener", b"\0" + listener + wait(255)),
        ("left", b"\0" + listener + igmp(3, leave, all_routers) + igmp(0, hexa("110a0000ef010101"), group) + wait(5)),
        ("version3", b"\0" + igmp(1, query3) + wait(11) + igmp(2, report3, v3_routers) + wait(255) + wait(9)),
        ("querier", b"\3" + wait(60) + igmp(3, report, group) + igmp(3, leave, all_routers) + wait(5) + listener),
        ("fast", b"\7" + wait(20) + igmp(3, report3, v3_routers) + igmp(3, leave, all_routers) + bytes([3, 0xf0, 3])),
        ("settings", b"\0" + listener + bytes([4, 2]) + wait(50) + bytes([4, 8]) + listener + bytes([4, 0])),
        ("mld", b"\0" + six + mld(4, report62, v2_routers6) + mld(3, done6, all_nodes6) + mld(0, one6, group6) + wait(3)),
        ("pim", b"\0" + ip4(5, 103, hexa("2000dfff"), (224, 0, 0, 13)) + wait(255) + wait(60)),
        ("data", b"\0" + ip4(5, 17, bytes(8), group)),
    ]


def stp_programs():
    """Instructions of tests/fuzz/fuzz_stp.c."""
    def up(port, how=7):
        return bytes([5 | port << 3, how])

    def bpdu(port, ids, flags, more=0, ages=0x80):
        return bytes([port << 3, ids, flags, more, ages])

    def wait(tenths, each=True):
        return bytes([4 if each else 3, tenths])

    ports = up(0) + up(1) + up(2)
    designated, root = 3, 2
    better, ours = 0x00, 0xbb
    proposal, learning, agreement, tc = 8, 16, 64, 4
    programs = {
        "root": ports + bpdu(0, better, designated | proposal) + wait(30) + bpdu(0, better, designated | tc) + wait(90),
        "agreed": ports + bpdu(1, 0x1b, root | agreement, 4) + bpdu(0, better, designated | proposal) + wait(20),
        "alternate": ports + bpdu(0, better, designated) + bpdu(1, better | 0x10, designated) + wait(5) + up(0, 0) + wait(255),
        "backup": ports + bpdu(1, ours, designated, 0x20) + wait(70),
        "stp": ports + wait(40) + bpdu(0, better, designated, 2) + bpdu(1, 0x77, 0, 3) + wait(255) + wait(255) + wait(50),
        "dispute": ports + wait(255) + bpdu(0, 0x77, designated | learning) + wait(100),
        "loop": ports + wait(40) + bytes([7, 7 | 1 << 5]) + wait(100),
        "guard": bytes([6, 1, 0x8d, 0, 0]) + ports + bpdu(0, better, designated) + bytes([6, 0]) + wait(20),
        "versions": ports + bytes([6, 2, 16]) + wait(255) + bytes([6, 2, 3]) + wait(50, False) + bytes([6, 4]) + wait(99),
    }
    return [(name, b"\12" + program) for name, program in programs.items()] + \
        [("old-" + name, b"\3" + program) for name, program in programs.items()]


def ntp_programs():
    """Instructions of tests/fuzz/fuzz_ntp.c."""
    def wait(tenths):
        return b"\3" + struct.pack("<H", tenths)

    def good(server, wrong_ms, delay_ms=1):
        return bytes([2 | server << 3]) + struct.pack("<hB", wrong_ms, delay_ms)

    head = b"\x24\2\6\xec" + bytes(8) + b"GPS\0" + bytes(8)
    times = struct.pack(">QQ", 4004977445 << 32, 4004977445 << 32)
    burst = b"".join(good(0, 0) + good(1, 3) + wait(21) for _ in range(8))
    yield "burst", burst
    yield "raw", b"\1" + head + times + b"\1\xe4\0" + bytes(10) + b"RATE" + bytes(24) + b"\1\xe4\0" + bytes(10) + b"DENY" + bytes(24)
    yield "short", b"\0\x2f" + head + bytes(8) + times
    yield "liars", burst + b"".join(good(0, 30000) + good(1, -30000) + wait(700) for _ in range(20))
    yield "goes away", burst + b"".join(wait(1100) + good(1, 1) for _ in range(20)) + wait(65535) * 30
    yield "changes", burst + b"\4\7\x0c\x2b" + burst + b"\x85" + wait(100) + b"\5" + burst


def dns_answers():
    """Inputs of tests/fuzz/fuzz_dns.c: the first octet is question | 4 for AAAA | 8 to repeat the question | records << 4."""
    def record(name, kind, data, ttl=60):
        return name + struct.pack(">HHIH", kind, 1, ttl, len(data)) + data

    own = b"\xc0\x0c"
    yield "a", b"\x19" + record(own, 1, b"\xc0\0\2\1")
    yield "aaaa", b"\x1d" + record(own, 28, bytes(15) + b"\1")
    yield "alias", b"\x39" + record(own, 5, b"\1b\xc0\x11") + record(b"\1b\7example\0", 1, b"\xc0\0\2\1")
    yield "circle", b"\x29" + record(own, 5, b"\1b\xc0\x11") + record(b"\1b\7example\0", 5, own)
    yield "many", b"\xf9" + record(own, 1, b"\xc0\0\2\1") * 15
    yield "whole", b"\0\x12\x34\x81\x80\0\1\0\1\0\0\0\0\1a\0\0\1\0\1" + record(own, 1, b"\xc0\0\2\1")
    yield "no name", b"\0\x12\x34\x81\x83\0\1\0\0\0\0\0\0\1a\0\0\1\0\1"


def lldp_programs():
    """Instructions of tests/fuzz/fuzz_lldp.c."""
    def tlv(kind, value):
        return struct.pack(">H", kind << 9 | len(value)) + value

    def frame(pdu, port=0):
        return bytes([port << 3]) + struct.pack("<H", len(pdu)) + pdu

    def hear(who, tens, port=0):
        return bytes([2 | port << 3, who, tens])

    def wait(tenths, each=True):
        return bytes([4 if each else 3, tenths])

    def admin(how, port=0):
        return bytes([6 | port << 3, how])

    up = bytes([5, 1, 5 | 8, 1]) + admin(3) + admin(3, 1)
    begin = tlv(1, b"\4\2\0\0\0\0\1") + tlv(2, b"\5eth0") + tlv(3, b"\0\x79")
    address = tlv(8, b"\5\1\xc0\0\2\1\2\0\0\0\1\0") + tlv(8, b"\x11\2" + bytes(16) + b"\2\0\0\0\1\3\1\3\6")
    texts = tlv(4, b"port") + tlv(5, b"name") + tlv(6, b"description") + tlv(7, b"\0\x14\0\x10")
    own = tlv(127, b"\0\x80\xc2\1\0\x0a") + tlv(127, b"\0\x12\x0f\4\5\xee") + tlv(127, b"\0\x12\x0f\1\3\0\0\0\x1e")
    end = tlv(0, b"")
    pdus = {
        "full": begin + texts + address + own + end,
        "no-end": begin + texts,
        "padded": begin + end + bytes(30),
        "shutdown": begin[:-2] + bytes(2) + end,
        "swapped": tlv(2, b"\5eth0") + begin + end,
        "twice": begin + begin + end,
        "beyond": begin + b"\x0a\xff" + b"name",
        "unknown": begin + tlv(9, b"x") + tlv(126, b"") + tlv(127, b"\1\2\3\4") + tlv(127, b"\1") + end,
        "longest": tlv(1, b"\7" + b"c" * 255) + tlv(2, b"\7" + b"p" * 255) + begin[-4:] + tlv(4, b"d" * 255) + end,
    }
    programs = [("frame-" + name, up + frame(pdu) + wait(20) + frame(pdu, 1) + wait(255)) for name, pdu in pdus.items()]
    programs += [
        ("flood", up + b"".join(hear(n, 12) for n in range(12)) + wait(255) + wait(255, False)),
        ("leave", up + hear(1, 12) + hear(2, 1) + hear(1, 0) + wait(150)),
        ("off", up + hear(1, 1) + admin(0) + admin(3) + wait(50) + admin(1) + admin(2) + wait(99)),
        ("links", up + hear(1, 50) + bytes([5, 0]) + wait(30) + bytes([5, 1]) + hear(1, 50) + wait(30)),
        ("changes", up + bytes([7, 1] * 9) + wait(60) + bytes([7, 4]) + wait(255)),
    ]
    return programs


def lacp_programs():
    """Instructions of tests/fuzz/fuzz_lacp.c."""
    def port(n, how=0x15):
        return bytes([5 | n << 3, how, 4 | n << 3, 1])

    def pdu(n, state, knows_us=True, system=0):
        return bytes([n << 3, system << 2, state, 16 if knows_us else 0, 0])

    def wait(tenths):
        return bytes([3, tenths])

    active, fast, aggregates, in_step, collects = 1, 2, 4, 8, 16
    begins, ready = active | fast | aggregates, active | fast | aggregates | in_step | collects
    ports = port(0) + port(1) + port(2)
    pair = ports + pdu(0, begins, False) + pdu(1, begins, False) + wait(21) + pdu(0, ready) + pdu(1, ready)
    marker = bytes.fromhex("0180c2000002020000000099880902010110000902000000007701020304000000") + bytes(91)
    programs = {
        "pair": pair + wait(10) + pdu(0, ready) + pdu(1, begins) + wait(50),
        "individual": ports + wait(60) + pdu(1, begins, False) + wait(30) + pdu(1, ready) + wait(70),
        "two-partners": pair + pdu(2, begins, True, 3) + wait(25) + bytes([4, 0, 4 | 1 << 3, 0]) + wait(25),
        "min-links": bytes([6, 1 | 2 << 2]) + pair + wait(5) + bytes([4, 0]) + wait(9) + bytes([6, 1]) + wait(40),
        "on": port(0, 0x19) + port(1, 0x19) + wait(1) + bytes([5, 0x15]) + wait(60),
        "own": ports + bytes([7 | 1 << 5]) + wait(40) + bytes([7]) + wait(9),
        "marker": ports + bytes([2, len(marker)]) + marker + bytes([2, 123]) + marker[:123],
        "half-duplex": pair + bytes([4, 3]) + wait(40) + bytes([6, 8]) + wait(20),
    }
    return list(programs.items())


def fpm_streams():
    """Frames of FPM (net/fpm/fpm.h) with netlink messages in them."""
    frame = fpm_frames.frame

    def attr(kind, value):
        return fpm_frames.attr(kind, u32(value) if isinstance(value, int) else value)

    def message(kind, fixed, *attrs):
        return fpm_frames.message(kind, fixed + b"".join(attrs))

    def route(kind, *attrs, family=2, plen=16, table=254, proto=186, rtm_type=1, flags=0):
        dst = attr(1, bytes([10, 1, 0, 0]) + bytes(12 if family == 10 else 0))
        return message(kind, bytes([family, plen, 0, 0, table, proto, 0, rtm_type]) + u32(flags), dst,
                       attr(6, 20), *attrs)

    def nexthop(kind, number, *attrs, flags=0):
        return message(kind, bytes([2, 0, 11, 0]) + u32(flags), attr(1, number), *attrs)

    def hop(attrs, ifindex=2, weight=0, flags=0):
        return u16(8 + len(attrs)) + bytes([flags, weight]) + u32(ifindex) + attrs

    four, six = bytes([192, 0, 2, 1]), bytes([0xfe, 0x80]) + bytes(13) + b"\1"
    multipath = attr(0x8009, hop(attr(5, four)) + hop(attr(18, u16(10) + six), 3, 9, 4) + hop(b""))
    encap = attr(21, u16(1)) + attr(22, attr(1, 0x10000))
    group = attr(2, b"".join(u32(n) + bytes([n, 0, 0, 0]) for n in (1, 2, 3)))
    yield "replace", frame(route(25, rtm_type=0), route(24, attr(5, four), attr(4, 2)))
    yield "multipath", frame(route(24, attr(8, attr(2, 1400)), multipath))
    yield "many", frame(route(24, attr(9, hop(attr(5, four)) * 40)))
    yield "six", frame(route(24, attr(5, six), attr(15, 1000), family=10, table=0, flags=4))
    for kind in 0, 2, 6, 7, 8, 9:
        yield f"type{kind}", frame(route(24, rtm_type=kind))
    yield "encap", frame(route(24, attr(4, 2), encap), route(24, attr(9, hop(encap))))
    yield "objects", frame(nexthop(104, 1, attr(6, four), attr(5, 2)), nexthop(104, 2, attr(4, b"")),
                           nexthop(104, 3, attr(6, six), attr(5, 3), flags=4)) + frame(
        nexthop(104, 9, group), route(24, attr(30, 9))) + frame(nexthop(105, 2), nexthop(105, 9))
    yield "cycle", frame(nexthop(104, 1, group), nexthop(104, 2, group, attr(3, u16(1)), attr(12, b"")))
    yield "object-encap", frame(nexthop(104, 1, attr(5, 2), attr(7, u16(7)), attr(0x8008, encap)))
    yield "mpls", frame(route(24, attr(19, 3), family=28, plen=20))
    yield "others", frame(*(message(kind, bytes(12)) for kind in (3, 16, 20, 28, 32, 36, 44, 999)))
    yield "big-endian", frame(struct.pack(">IHHII", 28, 24, 0x501, 0, 1) + bytes(12))
    yield "protobuf", b"\1\2" + frame(route(25))[2:]


def telnet_sessions():
    will, wont, do, dont = (b"\xff" + bytes([verb]) for verb in (251, 252, 253, 254))
    yield "linux", do + b"\3" + will + b"\x18" + will + b"\x1f" + will + b"\x20" + do + b"\5" + do + b"\1"
    yield "line", b"show version\r\nping 192.0.2.1\r\0\xff\xf4\xff\xf2exit\r\n"
    yield "windows", b"\xff\xfa\x1f\0\x50\0\x18\xff\xf0" + b"\xff\xfa\x18\0xterm\xff\xff\xff\xf0x"
    yield "forgotten", b"\xff\xfa\x1f\0\xff\xf4" + dont + b"\1" + do + b"\1" + wont + b"\1"
    yield "commands", b"".join(b"\xff" + bytes([c]) for c in range(236, 250)) + b"\xff\xff\r\n\n\r"


def ssh_messages():
    """The input of fuzz_ssh: where it begins, then messages with flags and length."""
    def text(word):
        return struct.pack(">I", len(word)) + word

    def messages(how, *payloads):
        return bytes([how]) + b"".join(struct.pack(">BH", flags, len(p)) + p for flags, p in payloads)

    name = b"SSH-2.0-OpenSSH_9.2\r\n"
    yield "id", b"\0" + name
    init = b"\x14" + bytes(16) + b"".join(text(word) for word in (
        b"curve25519-sha256,kex-strict-c-v00@openssh.com", b"ssh-ed25519", b"aes256-gcm@openssh.com",
        b"aes256-gcm@openssh.com", b"", b"", b"none", b"none", b"", b"")) + bytes(5)
    padding = 8 - (len(init) + 5) % 8 + 4
    yield "kexinit", b"\4" + name + struct.pack(">IB", len(init) + 1 + padding, padding) + init + bytes(padding)
    auth = b"\x32" + text(b"admin") + text(b"ssh-connection")
    blob = text(b"ssh-ed25519") + text(b"abcdefghijklmnopqrstuvwxyz012345")
    yield "auth", messages(5, (0, b"\5" + text(b"ssh-userauth")), (0, auth + text(b"none")),
                           (0, auth + text(b"publickey") + b"\0" + text(b"ssh-ed25519") + text(blob)),
                           (0, auth + text(b"publickey") + b"\1" + text(b"ssh-ed25519") + text(blob) +
                            text(text(b"ssh-ed25519") + text(bytes(64)))),
                           (16, auth + text(b"password") + b"\0" + text(b"secret")))
    channel = b"\x5a" + text(b"session") + struct.pack(">III", 1, 9000, 900)
    ask = b"\x62" + bytes(4)
    yield "session", messages(10, (0, channel), (0, ask + text(b"pty-req") + b"\1" + text(b"vt100") + bytes(20)),
                              (1, ask + text(b"exec") + b"\1" + text(b"show version")), (9, b"\x60" + bytes(4)),
                              (0, b"\x61" + bytes(4)))
    yield "shell", messages(23, (2, b"\x5e" + bytes(4) + text(b"exit\r")), (5, b"\x50" + text(b"keepalive") + b"\1"),
                            (0, b"\x5d" + bytes(4) + b"\0\1\0\0"), (65, b"\2" + text(b"")), (8, b"\x61" + bytes(4)))


def store_disks():
    """An archive of values, and a disk with a partition table and two generations."""
    def entry(name, content):
        head = bytearray(512)
        head[:len(name)] = name
        head[100:108] = head[108:116] = head[116:124] = b"0000600\0"
        head[124:136] = b"%011o\0" % len(content)
        head[136:148] = b"%011o\0" % 0
        head[148:156] = b" " * 8
        head[156] = ord("0")
        head[257:265] = b"ustar\x0000"
        head[148:155] = b"%06o\0" % sum(head)
        return bytes(head) + content.ljust(-len(content) % 512 + len(content), b"\0")

    archive = entry(b"startup-config", b"hostname r1\n") + entry(b"history/1", b"! commit 1\n" * 60) + bytes(1024)
    yield "archive", b"\1" + archive
    yield "empty", b"\1" + bytes(1024)
    yield "cut", b"\1" + archive[:1500]
    sectors = 192
    kind = bytes.fromhex("045abb8295dd7e4e890e6e0d966dae53")
    entries = (kind + bytes(16) + struct.pack("<QQQ", 40, 150, 0) + bytes(72)).ljust(128 * 128, b"\0")

    def header(crc):
        return struct.pack("<8sIIIIQQQQ16sQIII", b"EFI PART", 0x10000, 92, crc, 0, 1, sectors - 1, 34, sectors - 34, bytes(16), 2,
                           128, 128, zlib.crc32(entries))
    disk = bytes(512) + header(zlib.crc32(header(0))).ljust(512, b"\0") + entries
    yield "table", b"\0" + disk
    yield "old", b"\0" + b"Hayate: generation\n".ljust(4096, b"\0")


def json_texts():
    one = b'{"key":"0a00","value":"01","cpu":2}'
    yield "one", one
    yield "list", b"[" + one + b",\n " + one + b"]"
    yield "answer", b'{"name":"m","kept":true,"entries":[\n{"entry":0,' + one[1:] + b"]}\n"
    yield "empty", b'{"entries" : [ ] , "k" : null}'
    yield "escapes", b'{"x":"\\"\\\\\\u0031","key":-1.5e+3}'
    yield "statements", (b'{"hash":"0123456789abcdef","script":null,"statements":["hostname r1",'
                         b'{"block":"interface eth0","statements":["mtu 9000","no shutdown"]},"end"]}')
    yield "lines", b'[ "interface eth0" , "\\u0041 \\"x\\" \\\\" , {"block":"x","statements":[]} ] '


def matches():
    lines = ("", "udp", "tcp or icmp and not port 53", "src host 192.0.2.2 dst net 198.51.100.0/24",
             "vlan 7 ip6", "vlan udp dst port 2048", "not arp", "net 2001:db8::/32 or host ::1",
             "proto 132 and src port 1 or dst port 2", "ip ip6 arp tcp udp icmp icmp6 sctp",
             "not not", "net 1.2.3.4/33", "port 65536", "src udp")
    ports = struct.pack(">HH", 1024, 2048) + bytes(16)
    addresses = bytes([192, 0, 2, 2, 198, 51, 100, 2])
    net6 = b"\x20\x01\x0d\xb8"
    four = [bytes([0x40 + words, 0, 0, 60]) + bytes(3) + bytes([offset, 64, proto]) + bytes(2) +
            addresses + bytes(words * 4 - 20) + ports
            for words, offset, proto in ((5, 0, 17), (5, 0, 6), (15, 0, 17), (5, 1, 17), (5, 0, 132))]
    six = [b"\x60" + bytes(5) + bytes([proto, 64]) + net6 + bytes(12) + net6 + bytes(12) + rest
           for proto, rest in ((17, ports), (0, b"\6\0" + bytes(6) + ports), (58, b"\x80" + bytes(7)),
                               (44, b"\x11\0\0\x08" + bytes(4) + ports),
                               (44, b"\x11\0\0\1" + bytes(4) + ports))]
    arp = struct.pack(">HHBBH", 1, 0x0800, 6, 4, 1) + bytes(6) + addresses[:4] + bytes(6) + addresses[4:]
    packets = [(0x0800, p) for p in four] + [(0x86dd, p) for p in six] + [(0x0806, arp)]
    for n, line in enumerate(lines):
        for tags in (b"", b"\x81\0\0\7", b"\x88\xa8\0\1\x81\0\0\7"):
            kind, packet = packets[(n + len(tags)) % len(packets)]
            yield "%d-%d" % (n, len(tags) // 4), (line.encode() + b"\0" + bytes(12) + tags +
                                                 struct.pack(">H", kind) + packet)
    for n, (kind, packet) in enumerate(packets):
        yield "packet-%d" % n, b"udp or tcp port 2048\0" + bytes(12) + struct.pack(">H", kind) + packet


def scripts():
    head = "stream s\n port eth0 to eth1\n"
    udp = head + " udp 192.0.2.10 port 5000 198.51.100.10 port 6000\n"
    udp6 = head + " udp 2001:db8:1::10 2001:db8:2::10\n"
    texts = {
        "udp": udp + " size 64/594/1518\n rate 1.5Mpps\n burst 16\n stamp\nrun 10s or 1M frames\n",
        "udp6": "answer eth0 2001:db8::/32\n" + udp6 + " rate 10Gbps l2\n ttl 1\n tos 255\n",
        "tcp": head + " tcp 192.0.2.1 198.51.100.1 flags syn/ack\n ramp 1% to 99.9% over 1min\n",
        "icmp": head + " icmp ::1 ::2 identifier 7\n vary sequence increment 0 65535 step 3\n",
        "tags": head + " vlan 1 priority 5 dei\n vlan 2\n ip 10.0.0.1 10.0.0.2\n no stamp\n"
                " vary vlan list 1/2/4094\n size imix\n weight 3\n limit 9 frames\n",
        "vary": udp + " size random 80 9220 seed 5\n cores 4\n"
                " vary source address random 10.0.0.0 10.255.255.255 seed 3\n"
                " vary destination mac increment 02:00:00:00:00:00 02:00:00:00:ff:ff\n"
                " vary payload offset 1 bytes 2 list 1/2/3\n"
                " vary payload offset 9 bytes 8 random 0 18446744073709551614\n",
        "vary6": udp6 + " vary destination address random 2001:db8:2:: 2001:db8:2::ffff\n"
                 " mac source 0200.0000.0001\n mac destination ff:ff:ff:ff:ff:ff\n",
        "replay": head + " replay a.pcap\n speed 0.5\n loop forever\n limit 5s\n" +
                  "stream t\n port eth1\n replay b.pcapng\n rate 1Mpps\n loop 3\n mac source 0200.0000.0001\n",
        "capture": "capture eth1 size 64 frames 1000000\ncapture eth0\ncapture eth15 frames 1\n" + udp,
        "rfc2544": udp + "rfc2544 throughput latency frame-loss back-to-back\n sizes 64/9220\n"
                   " trial 10s\n settle 0s\n loss 0.01%\n resolution 0.1%\n search 1% to 99%\n"
                   " repeat 2\nrun # at once\n",
    }
    for name, text in texts.items():
        yield name, text.encode()


def captures():
    packet = bytes(range(70))
    for order in "<>":
        def record(at, data, wire=None):
            return struct.pack(order + "4I", 5, at, len(data), wire or len(data)) + data

        def block(kind, body):
            body += b"\0" * (-len(body) % 4)
            return struct.pack(order + "2I", kind, len(body) + 12) + body + struct.pack(
                order + "I", len(body) + 12)

        name = "little" if order == "<" else "big"
        head = struct.pack(order + "I2HiI2I", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
        yield name, head + record(0, packet) + record(9, packet[:20]) + record(5, packet, 1514)
        interface = struct.pack(order + "2HI", 1, 0, 0) + b"".join(
            struct.pack(order + "2H", code, len(value)) + value + b"\0" * (-len(value) % 4)
            for code, value in ((9, b"\x09"), (13, b"\x20"), (14, b"\0" * 7 + b"\1"), (0, b"")))
        yield name + "-ng", (
            block(0x0a0d0d0a, struct.pack(order + "I2Hq", 0x1a2b3c4d, 1, 0, -1)) +
            block(1, interface) + block(5, bytes(12)) +
            block(6, struct.pack(order + "5I", 0, 1, 2, 70, 70) + packet) +
            block(3, struct.pack(order + "I", 61) + packet[:61]))


def blocks(document):
    """The examples of a page of docs/."""
    with open(document, encoding="utf-8") as text:
        for n, block in enumerate(text.read().split("\n```")[1::2]):
            yield f"block{n}", block.partition("\n")[2].encode() + b"\n"


def configurations():
    yield from blocks("docs/configuration.md")
    with open("docs/configuration.md", encoding="utf-8") as text:
        statements = re.findall("^[|] `([^`]*)`", text.read(), re.M)
    for n, statement in enumerate(statements):
        yield f"statement{n}", f"interface eth0\n {statement}\n{statement}\n".encode()


def bytes_at_random():
    """For machines whose instructions are bytes: programs that contain every kind of
    instruction."""
    for seed in range(8):
        yield f"random{seed}", random.Random(seed).randbytes(40 << seed % 4)


def xdp_requests():
    """Requests about each map, by query and by JSON, and pages."""
    writes = ["key=00000000&value=" + "00" * 400, "key=1&value=7", "key=01000000&program=p", "key=1&value=1&cpu=1",
              "key=20000000c0000200&value=01020304", "key=0&value=program q", "key=0", ""]
    for n in range(14):
        yield f"map{n}", b"\0" + b"".join(bytes((3, n)) + w.encode() + b"\0" for w in writes[:5])
        yield f"more{n}", b"\0" + b"".join(bytes((19 if i == 1 else 3, n)) + w.encode() + b"\0"
                                          for i, w in enumerate(writes[5:]))
        one = b'{"key": "01000000", "value": "07000000", "cpu": 1}'
        content = (one, b"[" + one + b", " + one.replace(b"1", b"2") + b"]")[n % 2]
        yield f"json{n}", b"\0" + bytes((11, n, 0)) + len(content).to_bytes(2, "little") + content + bytes((1, n)) + b"\0"
    for n, (what, which) in enumerate(((2, 0), (2, 1), (0, 1), (16, 1), (0, 0), (1, 0x80), (8, 1))):
        yield f"page{n}", b"\0" + bytes((what, which)) + b"limit=2\0"
        yield f"names{n}", b"\1" + random.Random(n).randbytes(200) + bytes((what, which)) + b"\0"


def firmware():
    """Correct answers; lies late in the exchange, and events."""
    yield "good", bytes(40)
    yield "looks", bytes(400)
    for n, commands in enumerate((5, 20, 26, 40, 70, 100)):
        yield f"late{n}", bytes(commands) + random.Random(n).randbytes(300)


def acpi_tables():
    """Each a kind, a length and its bytes behind the header, as in fuzz_acpi.c."""
    def table(kind, body):
        return bytes([kind]) + u16(len(body)) + body

    cores = b"".join(bytes([0, 8, n, n]) + u32(1) for n in range(4))
    madt = u32(0xfee00000) + u32(0) + cores + bytes([1, 12, 0, 0]) + u32(0xfec00000) + u32(0) + (
        bytes([2, 10, 0, 4]) + u32(4) + u16(0) + bytes([5, 12]) + bytes(10) +
        bytes([9, 16, 0, 0]) + u32(300) + u32(1) + u32(0))
    mcfg = bytes(8) + struct.pack("<QHBBI", 0xb0000000, 0, 0, 255, 0)
    scope = bytes([1, 8, 0, 0, 0, 0, 3, 0]) + bytes([2, 10, 0, 0, 0, 1, 4, 0, 1, 0])
    dmar = bytes(12) + struct.pack("<HHBBHQ", 0, 16 + len(scope), 1, 0, 0, 0xfed90000) + scope + (
        struct.pack("<HHHHQQ", 1, 24 + 8, 0, 0, 0, 4095) + scope[:8])
    entries = bytes([1, 0, 0, 0, 2, 8, 0, 0, 3, 0, 1, 0, 4, 255, 1, 0, 0x43, 0, 2, 0, 0, 0x10, 1, 0, 4, 7, 2, 0,
                     0x48, 0, 0, 0, 4, 0xa0, 0, 1])
    ivhd = b"".join(struct.pack("<BBHHHQHHI", kind, 0, 24 + more + len(entries), 2, 64, 0xfed80000, 0, 0, 0) +
                    bytes(more) + entries for kind, more in ((0x10, 0), (0x11, 16), (0x40, 16)))
    ivrs = bytes(12) + ivhd + struct.pack("<BBHHH8xQQ", 0x22, 0, 32, 8, 15, 0, 4096)
    tables = [table(0, madt), table(1, mcfg), table(2, dmar), table(5, ivrs)]
    yield "narrow", b"\0" + b"".join(tables)
    yield "wide", b"\1" + b"".join(tables)
    for n, one in enumerate(tables):
        yield f"one{n}", b"\1" + one
        yield f"cut-off{n}", bytes([n & 1, 0x80 | one[0], 100, 0x80 | one[0], 20])
    yield "root-cut-off", b"\2" + bytes(40)
    yield "pointer-cut-off", b"\4" + bytes(40)
    yield "twice", b"\0" + table(0, madt[:16] + madt[8:])
    yield "buses", b"\0" + table(1, bytes(8) + struct.pack("<QHBBI", 0xb0000000, 0, 9, 3, 0))


def loaders():
    """Multiboot2 information of GRUB's kind, and PVH's with the map of a small machine."""
    def tag(kind, body):
        return u32(kind) + u32(8 + len(body)) + body + bytes(-len(body) % 8)

    def entry(addr, size, kind):
        return struct.pack("<QQII", addr, size, kind, 0)

    memory = entry(0, 0x9fc00, 1) + entry(0x9fc00, 0x400, 2) + entry(0x100000, 0x7f00000, 1) + (
        entry(0x7fe0000, 0x20000, 2) + entry(1 << 32, 1 << 30, 1))
    framebuffer = struct.pack("<QIIIBBHBBBBBB", 0xfd000000, 4096, 1024, 768, 32, 1, 0,
                              16, 8, 8, 8, 0, 8)
    tags = [tag(1, b"cores=2 test=1\0"), tag(2, b"GRUB 2.12\0"), tag(3, u32(0x800000) + u32(0x801000)),
            tag(6, u32(24) + u32(0) + memory), tag(8, framebuffer), tag(14, b"RSD PTR " + bytes(12)),
            tag(15, b"RSD PTR " + bytes(28)), tag(0, b"")]
    for last in range(2):
        text = b"".join(tags)
        yield f"grub{last}", bytes([0, last]) + u16(len(text)) + u32(0) + text
        for n, one in enumerate(tags):
            yield f"tag{n}-{last}", bytes([0, last]) + u16(len(one)) + u32(0) + one
        yield f"no-end{last}", bytes([0, last]) + u16(20) + u32(0) + u32(1) + u32(20) + b"x" * 12
    # how each address is made: see some()
    usable, used = bytes([5, 8, 1]), bytes([7, 6, 2])
    for right in (0xff, 0xf7, 0xdf, 0xbf, 0xef):
        yield f"pvh{right:x}", bytes([1, right]) + bytes(8) + bytes([4]) + bytes([7, 1]) + (
            usable + used + bytes([1, 4, 1]) + bytes([11, 8, 1]))


def pci_devices():
    """Functions in the format of add_liar() in fuzz_pci.c."""
    def bar(log2=4, address=0, wide=False):
        return bytes([log2 - 4 | (0x40 if wide else 0)]) + u16(address >> log2)

    def function(kind, bdf, bars=(bar(),) * 6, secondary=b"", caps=0, entries=()):
        out = bytes([kind]) + u16(bdf) + b"".join(bars) + secondary + bytes([caps, len(entries)])
        return out + b"".join(bytes([at]) + u32(a) + u32(b) for at, a, b in entries)

    def machine(*all_of_them):
        return bytes([len(all_of_them)]) + b"".join(all_of_them)

    def msix(where):
        return ((0x40, 0x10 | 0x60 << 8, 0), (0x60, 0x000f0011, where))

    wide = (bar(17, 0xfe000000, True), bar(), bar(), bar(14, 0xfe100000, True))
    bridge = function(0, 0x0010, secondary=b"\1")
    calls = bytes(range(40))
    for name, where in ("card", 0x2003), ("table-behind", 0x1ff03), ("no-bar", 0x2002):
        yield name, machine(function(1, 0x0008, wide, caps=0x40, entries=msix(where))) + calls
    yield "behind", machine(bridge, function(1, 0x0100, wide)) + calls
    yield "circle", machine(function(1, 0x0008, wide, caps=0x40, entries=((0x40, 0x4009, 0),)))
    yield "in-memory", machine(function(1, 0x0008, (bar(16, 0x1000000),) * 6))
    yield "over-iommu", machine(function(1, 0x0008, (bar(16, 0xfed90000),) * 6))
    yield "twice", machine(function(1, 0x0008, wide), function(1, 0x0018, wide))
    yield "large", machine(function(1, 0x0008, (bar(32, 9 << 32, True), bar(30, 0xc0000000)) * 2))
    yield "holes", machine(bytes([1]) + u16(8) + (b"\x80" + u32(0xff0fff00) + u32(0) +
                                                u32(0xfe000000) + u16(0)) * 6 + b"\0\0")
    bare = (bar(17, 0, True), bar(), bar(), bar(14, 0, True))
    window = bytes([0x80]) + u16(0) + u32(0xfff0fff0) + u32(0) + u32(0) + u32(0)  # a BAR's place, and its writable bits
    switch = (bar(12),) * 4 + (window,) * 2
    yield "unassigned", machine(function(1, 0x0008, bare, caps=0x40, entries=msix(0x2003)), function(1, 0x0010, wide))
    yield "unassigned-behind", machine(function(0x10, 0x0008, switch, b"\1"), function(0x10, 0x0100, switch, b"\2"),
                                       function(1, 0x0200, bare), function(1, 0x0208, bare)) + calls
    yield "labyrinth", machine(*(function(0, bus << 8 | slot << 3, secondary=bytes([bus + 1]))
                                 for bus in range(3) for slot in range(3)), function(1, 0x0300))
    yield "fickle", machine(function(15, 0x0008)) + bytes(range(256))


def virtio_cards():
    """Lies in configuration space; vectors; lies of registers, in the order in which they are
    read."""
    yield "well", b"\0\x0f" + bytes(300)
    yield "few-vectors", b"\0\1" + bytes(300)
    for at in 0x34, 0x41, 0x44, 0x48, 0x4c, 0x74, 0x79, 0x8c, 0x90, 0x94, 0x98:
        yield f"cfg{at:x}", bytes([1, at, 0xfd, 15]) + bytes(300)
    yield "at-the-end", bytes([2, 0x48, 0xe0, 0x49, 0x3f, 15]) + bytes(300)
    for n in range(20, 32): # among them the sizes of queues
        yield f"zero{n}", b"\0\x0f" + bytes(n) + b"\x40" + bytes(200)
    for n in 4, 8, 9, 12, 16, 20, 30, 40, 50, 70:
        yield f"late{n}", b"\0\x0f" + bytes(n) + b"\x40\xff\xff\xff\xff" + bytes(200)
    for n in range(3):
        yield f"wild{n}", b"\0\x0f" + bytes(20) + random.Random(n).randbytes(400)


def clients():
    """Messages in the format of likely_message() in fuzz_vfio.c."""
    def likely(which, version=0, map_flags=3, offset=0, address=0, size=3, unmap_flags=0, start=0,
               length=3, argsz=8, region=0, how=0, first=0, count=0, at=0, bar=0, n=4, data=bytes(8),
               tail=b"\0"):
        return bytes([which, version, map_flags, offset, address, size, unmap_flags, start, length,
                      argsz, region, how, first, count]) + u16(at) + bytes([bar, n]) + data + tail

    hello = likely(0, version=1)
    with_memory = likely(1, tail=bytes([32, 1, 0]))
    yield "hello", b"\0" + hello + likely(3, argsz=32) + likely(3, argsz=32, region=7)
    yield "memory", b"\0" + hello + with_memory + likely(6, at=8, n=8) + likely(2) + likely(6, n=8)
    yield "twice", b"\0" + hello + with_memory + with_memory
    yield "beyond", b"\0" + hello + likely(1, offset=2, tail=bytes([32, 1, 0])) + likely(
        6, at=8, n=8, data=struct.pack("<Q", 0xf000))
    yield "vectors", b"\0" + hello + likely(4, how=4, count=2, tail=bytes([32, 2, 1, 2])) + likely(
        6, n=8) + likely(4, how=1, count=2)
    yield "pieces", b"\0" + hello[:-1] + bytes([16, 5]) + likely(5, bar=7, tail=bytes([16, 20]))
    yield "long", b"\0" + hello + likely(5, tail=bytes([1]) + u16(9000)) + b"\x7f\xff"
    yield "descriptors", b"\0" + hello + likely(1, tail=bytes([32, 10]) + bytes(10))
    yield "any", b"\1" + b"".join(bytes([0x80, n]) + u16(40) + bytes(41) for n in range(14))


def ixgbe_cards():
    """How the port is started; then lies of registers, in the order in which they are read."""
    yield "well", b"\0" + bytes(40)
    for n in (3, 10, 20, 40, 60, 80, 120, 200, 300, 400):
        yield f"ones{n}", b"\1" + bytes(n) + b"\xff"
        yield f"late{n}", b"\2" + bytes(n) + random.Random(n).randbytes(60)
    for bit in range(0, 32, 3):
        yield f"set{bit}", b"\0" + bytes(bit) + bytes([0xc0 + bit])
        yield f"clear{bit}", b"\0" + bytes(2 * bit) + bytes([0xa0 + bit])
    yield "wild", b"\3" + random.Random(1).randbytes(500)


def programs():
    """Small ELF images of three segments with symbols, and some with one wrong number."""
    names = b"\0main\0data\0"

    def image(entry=0x400010, at=(0x400000, 0x402000, 0x404000), flags=(5, 4, 6),
              sizes=((64, 64), (64, 64), (64, 9000)), offset=(0, 0, 0), link=1, symbol=1, tables=64,
              strings=len(names)):
        sections = 64 + 3 * 56
        text = sections + 2 * 64
        symbols = (text + len(names) + 7) & ~7
        out = b"\x7fELF\2\1\1" + bytes(9) + struct.pack(
            "<HHIQQQIHHHHHH", 2, 62, 1, entry, tables, sections, 0, 64, 56, 3, 64, 2, 0)
        for k in range(3):
            out += struct.pack("<IIQQQQQQ", 1, flags[k], offset[k], at[k], 0, *sizes[k], 4096)
        out += struct.pack("<IIQQQQIIQQ", 0, 2, 0, 0, symbols, 48, link, 0, 8, 24)
        out += struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, text, strings, 0, 0, 1, 0)
        out += names + bytes(symbols - text - len(names))
        out += struct.pack("<IBBHQQ", symbol, 2, 0, 0, 0x400000, 32)
        return out + struct.pack("<IBBHQQ", 6, 1, 0, 0, 0x404000, 8)

    yield "good", image()
    for name, changed in (
            ("entry", {"entry": 0x404000}), ("low", {"at": (0x3ff000, 0x402000, 0x404000)}),
            ("over", {"at": (0x400000, 0x402000, 0x402000)}), ("both", {"flags": (7, 4, 6)}),
            ("large", {"sizes": ((64, 64), (64, 64), (64, 1 << 40))}),
            ("more", {"sizes": ((64, 64), (64, 64), (9000, 9000))}),
            ("longer", {"sizes": ((64, 64), (64, 9000), (64, 64))}),
            ("behind", {"offset": (0, 4096, 0)}), ("link", {"link": 5}), ("name", {"symbol": 99}),
            ("table", {"tables": 1 << 40}), ("text", {"strings": len(names) - 1})):
        yield name, image(**changed)
    yield "cut", image()[:-10]
    yield "pages", image(sizes=((64, 64), (64, 64), (4200, 100))) + bytes(4200)


def bpf_objects():
    """The objects of tests/bpf/ without the contents of their debugging sections; tests/fuzz/fuzz.mk has them
    built."""
    for path in sorted(glob.glob("build/bpf/*.o") + glob.glob("build/bpf/refused/*.o")):
        with open(path, "rb") as f:
            old = f.read()
        headers, count = struct.unpack_from("<Q", old, 40)[0], struct.unpack_from("<H", old, 60)[0]
        sections = [list(struct.unpack_from("<IIQQQQIIQQ", old, headers + 64 * i)) for i in range(count)]
        names = sections[struct.unpack_from("<H", old, 62)[0]][4]
        new = bytearray(old[:64])
        for s in sections:
            name = old[names + s[0]:].split(b"\0", 1)[0]
            data = old[s[4]:s[4] + s[5]]
            if s[1] == 8: # no bytes in the file
                continue
            if name.startswith((b".debug", b".rel.debug", b".rel.BTF", b".llvm")):
                data, s[5] = b"", 0
            new += bytes(-len(new) % 8)
            s[4] = len(new)
            new += data
        new += bytes(-len(new) % 8)
        struct.pack_into("<Q", new, 40, len(new))
        yield os.path.basename(path), bytes(new) + b"".join(
            struct.pack("<IIQQQQIIQQ", *s) for s in sections)


def route_files():
    """MRT's records of TABLE_DUMP_V2 (RFC 6396, 4.3), and lines."""
    def record(subtype, prefix, plen, attributes, path_id=b"", count=1):
        entry = struct.pack(">HI", 1, 0) + path_id + struct.pack(">H", len(attributes)) + attributes
        body = struct.pack(">IB", 7, plen) + prefix + struct.pack(">H", count) + entry * count
        return struct.pack(">IHHI", 0, 13, subtype, len(body)) + body

    hop = bytes([0x40, 3, 4, 192, 0, 2, 1])
    long_hop = bytes([0x50, 3, 0, 4, 192, 0, 2, 1])
    reach = bytes([0x80, 14, 17, 16]) + bytes(16)
    families = bytes([0x80, 14, 20, 0, 2, 1, 16]) + bytes(16)
    dump = record(2, b"\x0a\1", 16, hop) + record(2, b"", 0, long_hop, count=2) + record(
        4, b"\x20\1\r\xb8", 32, reach) + record(4, b"\x20", 8, families)
    yield "dump", b"\1" + dump
    yield "path-ids", b"\1" + record(8, b"\x0a\1", 16, hop, bytes(4)) + record(10, b"\x20", 8, reach, bytes(4))
    yield "cut", b"\1" + dump[:-3]
    yield "attribute", b"\1" + record(2, b"\x0a", 8, hop[:2] + b"\xff" + hop[3:])
    yield "lines", b"\0" + b"10.0.0.0/8 192.0.2.1 # a\n\n2001:db8::/32\n10.0.0.1/8\n"


def tls_records():
    """Single records (RFC 8446 5.1); whole connections are in corpus/tls."""
    def record(kind, body, version=b"\3\3", length=None):
        return bytes([kind]) + version + struct.pack(">H", len(body) if length is None else length) + body

    def hello(body):
        return record(22, b"\1" + struct.pack(">I", len(body))[1:] + body, b"\3\1")

    start = b"\3\3" + bytes(32) + b"\0" + b"\0\2\x13\1" + b"\1\0"
    yield "alert", b"\0" + record(21, b"\2\x28")
    yield "too-long", b"\0" + record(22, b"", length=0xffff)
    yield "cipher-spec", b"\0" + record(20, b"\1") * 3
    yield "no-extensions", b"\0" + hello(start)
    yield "versions", b"\1" + hello(start + b"\0\7" + b"\0\x2b\0\3\2\3\4")
    yield "fragments", b"\2" + b"".join(record(22, bytes([b])) for b in b"\1\0\0\x2b" + start)


def keys():
    yield "words", b"show ip route 10.0.0.0/8\rsh ipv6\nping 192.0.2.1 count 3\r\n10 permit\rno 10\r"
    yield "editing", b"redo a b c\x01\x05\x02\x06\x0b\x17\x7f\x08\x04\x15\x19\x0c\x14\r"
    yield "arrows", b"wait\r\x03" + b"".join(
        b"\x1b[" + k for k in (b"A", b"B", b"C", b"D", b"3~", b"H", b"F", b"1;5C")) + b"\x1bOA\r"
    yield "help", b"sh\t?ro?\t\rhelp\r\x1b]0;x\x07 " + b"x" * 210 + b"\r"
    yield "lines", b"paste\rab\x7f?c\r\n" + b"x" * 200 + b"\rq\r\x03paste\r\x1b[Ax\x03paste\r" + b"y" * 210 + b"\r"


def dictionary(entry, inputs, directory):
    """The words of the inputs, for libFuzzer to combine."""
    words = sorted({w for text in inputs for w in re.findall(rb"[\w.:/-]+", text)})
    with open(os.path.join(directory, "..", entry + ".dict"), "wb") as out:
        for w in words:
            out.write(b'"' + w + b' "\n')


def main():
    entry, directory = sys.argv[1:]
    makers = {"tcp": tcp_programs, "tcp_move": tcp_moves, "ip4": ip4_packets, "ip6": ip6_packets,
              "acl": acl_programs, "udp": udp_packets, "vxlan": vxlan_packets, "nd": nd_programs, "http": http_requests,
              "http_range": http_ranges, "http_coding": http_codings, "http_date": http_dates,
              "http_condition": http_conditions, "http_response": http_responses, "tar": tar_archives, "site": sites,
              "fpm": fpm_streams, "bfd": bfd_inputs, "stp": stp_programs, "snoop": snoop_programs, "dhcp": dhcp_messages, "lldp": lldp_programs, "ntp": ntp_programs, "dns": dns_answers, "lacp": lacp_programs,
              "telnet": telnet_sessions, "ssh": ssh_messages, "tls": tls_records,
              "match": matches, "script": scripts, "pcap": captures,
              "config": configurations, "virtio": bytes_at_random,
              "intel": bytes_at_random, "vmxnet3": bytes_at_random, "mlx5": bytes_at_random,
              "firmware": firmware, "arp": bytes_at_random, "acpi": acpi_tables,
              "candidate": configurations, "shell": keys, "boot": loaders,
              "pci": pci_devices, "virtio_regs": virtio_cards,
              "vfio": clients, "ixgbe_regs": ixgbe_cards, "x550_regs": ixgbe_cards,
              "program": programs, "bpf_verify": bytes_at_random,
              "routes": route_files, "json": json_texts, "store": store_disks, "bpf_object": bpf_objects, "xdp": xdp_requests}
    inputs = dict(makers[entry]())
    if entry in ("config", "candidate", "script", "match"):
        dictionary(entry, inputs.values(), directory)
    for name, content in inputs.items():
        with open(os.path.join(directory, name), "wb") as out:
            out.write(content)


if __name__ == "__main__":
    main()
