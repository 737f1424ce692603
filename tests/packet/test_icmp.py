"""ICMP: RFC 792, RFC 1122 3.2.2, RFC 1812 4.3. `icmp_error` in machine.py builds the expected
errors; test_drops.py tests which packets cause which."""
import pytest
from machine import *
from scapy.layers.inet import TCP, IPOption_NOP, IPOption_RR, IPOption_Router_Alert


def to_router(packet, src=A):
    return ether(src, ROUTER[src.port]) / packet


def echo(src, dst, size=56, type_=8, **fields):
    return IP(src=getattr(src, "ip", src), dst=getattr(dst, "ip", dst), **fields) / \
        ICMP(type=type_, id=0x1234, seq=7) / Raw(bytes(i * 7 & 255 for i in range(size)))


def echo_reply(request, **fields):
    """RFC 792: addresses swapped, data returned; our own TTL (RFC 1122 3.2.1.7)."""
    r = fixed(request)
    values = dict(src=r.dst, dst=r.src, id=r.id, tos=r.tos, ttl=64)
    values.update(fields)
    return IP(**values) / ICMP(type=0, id=r[ICMP].id, seq=r[ICMP].seq) / Raw(bytes(
        r[ICMP].payload))


@pytest.mark.parametrize("size", [0, 1, 2, 17, 18, 19, 56, 1399, 1471, 1472])
def test_echo(m, size):
    request = echo(A, ROUTER[0], size, id=size)
    m.send(0, to_router(request))
    m.expect(0, ether(ROUTER[0], A) / echo_reply(request))
    m.expect_counters(delivered_icmp=1, icmp_tx_echo_reply=1)


@pytest.mark.parametrize("fields", [
    dict(tos=0xb8), dict(ttl=1), dict(ttl=0), dict(flags="DF"), dict(id=0xffff)],
    ids=["TOS is kept (RFC 1122 3.2.2.6)", "TTL 1", "TTL 0", "DF", "identification"])
def test_echo_header(m, fields):
    request = echo(A, ROUTER[0], **fields)
    m.send(0, to_router(request))
    m.expect(0, ether(ROUTER[0], A) / echo_reply(request))


def test_echo_to_the_far_address(m):
    request = echo(A, ROUTER[1])
    m.send(0, to_router(request))
    m.expect(0, ether(ROUTER[0], A) / echo_reply(request))


@pytest.mark.parametrize("options", [
    [IPOption_NOP()] * 4, [IPOption_Router_Alert()],
    [IPOption_RR(pointer=4, routers=["0.0.0.0"] * 3)]], ids=["nop", "router alert", "record route"])
def test_echo_with_options(m, options):
    """Options are returned as End of Option List: net/icmp4.h says why."""
    request = fixed(IP(src=A.ip, dst=ROUTER[0].ip, options=options) /
                    ICMP(id=1, seq=2) / Raw(b"data"))
    want = bytearray(bytes(request))
    head = (want[0] & 15) * 4
    want[12:16], want[16:20] = want[16:20], want[12:16]
    want[8] = 64
    want[20:head] = bytes(head - 20)
    want[10:12] = b"\0\0"
    want[10:12] = checksum(bytes(want[:head])).to_bytes(2, "big")
    body = bytes(ICMP(type=0, id=1, seq=2) / Raw(b"data"))
    m.send(0, to_router(request))
    m.expect(0, bytes(ether(ROUTER[0], A))[:12] + b"\x08\0" + bytes(want[:head]) + body)


def test_echo_in_a_padded_frame(m):
    """Trailing bytes belong to the link: they are not returned."""
    request = echo(A, ROUTER[0], 5)
    m.send_raw(0, bytes(to_router(request)) + b"\xee" * 300)
    m.expect(0, ether(ROUTER[0], A) / echo_reply(request))


def test_echo_as_nmap_asks(m):
    """nmap -O sends code 9 with DF, then TOS 4, and needs both answers (its test IE). RFC 1122
    3.2.2.6: every request is answered."""
    for code, fields, size in ((9, {"flags": "DF"}, 120), (0, {"tos": 4}, 150)):
        request = echo(A, ROUTER[0], size, id=99, **fields)
        request[ICMP].code = code
        m.send(0, to_router(request))
        m.expect(0, ether(ROUTER[0], A) / echo_reply(request))


def test_echo_by_way_of_a_router(make):
    """The answer follows the route, not the path of the request."""
    m = make(CONFIG + "ip route 10.0.0.0/8 198.51.100.2\n")
    m.learn(A, B)
    request = echo("10.1.1.1", ROUTER[0])
    m.send(0, to_router(request))
    m.expect(1, ether(ROUTER[1], B) / echo_reply(request))


@pytest.mark.parametrize("src,error", [("8.8.8.8", "no route"), ("192.0.2.255", "broadcast"),
                                       ("192.0.2.0", "old broadcast")])
def test_echo_without_way_back(m, src, error):
    """RFC 1122 3.2.1.3: a broadcast address is never a source."""
    m.send(0, to_router(echo(src, ROUTER[0])))
    m.expect_nothing()
    m.expect_counters(delivered_icmp=1, icmp_tx_echo_reply=1, originated_drop_tx=1)


def test_reply_and_error_to_us_are_taken(m):
    m.send(0, to_router(echo(A, ROUTER[0], type_=0)))
    m.send(0, to_router(icmp_error(A, udp(ROUTER[0], B), 3, 3).copy()))
    m.expect_nothing()
    assert m.counted() == {"delivered_icmp": 2}


# --- errors ---

@pytest.mark.parametrize("size", [0, 1, 8, 9, 519, 520, 521, 548, 1472])
def test_quote(m, size):
    """RFC 1812 4.3.2.3: as much of the packet as 576 bytes permit, and no more than it has."""
    packet = udp(A, "8.8.8.8", size)
    m.send(0, to_router(packet))
    m.expect(0, error_about(ROUTER[0], A, packet, 3, 0))


def test_quote_leaves_the_links_bytes_out(m):
    packet = udp(A, "8.8.8.8", 10)
    m.send_raw(0, bytes(to_router(packet)) + b"\xee" * 200)
    m.expect(0, error_about(ROUTER[0], A, packet, 3, 0))


def test_quote_with_options(m):
    packet = IP(src=A.ip, dst="8.8.8.8", options=[IPOption_NOP()] * 40) / TCP()
    m.send(0, to_router(packet))
    m.expect(0, error_about(ROUTER[0], A, packet, 3, 0))


def test_source_is_the_interface_it_leaves_by(make):
    """RFC 1812 4.3.2.4: the packet came by eth0, the error leaves by eth1."""
    m = make(CONFIG + "ip route 10.0.0.0/8 198.51.100.2\n")
    m.learn(A, B)
    packet = udp("10.1.1.1", B, ttl=1)
    m.send(0, to_router(packet))
    m.expect(1, error_about(ROUTER[1], B, packet, 11, 0))


def dropped_without_error(m, packet, counter, port=0, src=A, dst=None):
    m.send(port, ether(src, dst or ROUTER[port]) / packet)
    m.expect_nothing()
    m.expect_counters(icmp_err_suppressed=1, **{counter: 1})


@pytest.mark.parametrize("type_", [3, 4, 5, 11, 12, 1, 2, 40, 255])
def test_never_about_an_error(m, type_):
    """RFC 1122 3.2.2; an unknown type may be an error."""
    packet = IP(src=A.ip, dst=B.ip, ttl=1) / ICMP(type=type_) / bytes(udp(B, A))
    dropped_without_error(m, packet, "drop_ip4_ttl")


def test_never_about_icmp_without_a_type(m):
    dropped_without_error(m, IP(src=A.ip, dst=B.ip, ttl=1, proto=1), "drop_ip4_ttl")


@pytest.mark.parametrize("type_", [0, 8, 9, 10, 13, 14, 15, 16, 17, 18])
def test_about_queries(m, type_):
    packet = IP(src=A.ip, dst=B.ip, ttl=1) / ICMP(type=type_)
    m.send(0, to_router(packet))
    m.expect(0, error_about(ROUTER[0], A, packet, 11, 0))


def test_never_about_later_fragments(m):
    """RFC 1122 3.2.2: only about fragment zero."""
    first = IP(src=A.ip, dst=B.ip, ttl=1, flags="MF", proto=17) / Raw(b"12345678")
    m.send(0, to_router(first))
    m.expect(0, error_about(ROUTER[0], A, first, 11, 0))
    m.counted()
    dropped_without_error(m, IP(src=A.ip, dst=B.ip, ttl=1, frag=1, proto=17) / Raw(b"12345678"),
                          "drop_ip4_ttl")


@pytest.mark.parametrize("packet,counter", [
    (udp("192.0.2.255", "8.8.8.8"), "drop_ip4_no_route"),
    (udp("198.51.100.255", B, ttl=1), "drop_ip4_ttl"),
    (udp("192.0.2.1", "8.8.8.8"), "drop_ip4_no_route"),
    (udp("9.9.9.9", "8.8.8.8"), "drop_ip4_no_route")],
    ids=["its broadcast", "a far broadcast", "ourselves", "nowhere"])
def test_never_to_who_is_no_single_host(m, packet, counter):
    """RFC 1122 3.2.2: no error to an unspecified or multicast source; without a route, none can be
    sent."""
    dropped_without_error(m, packet, counter)


def test_local_errors_obey_the_same_rules(m):
    """The errors of the control core (RFC 1122 3.2.2)."""
    dropped_without_error(m, udp("8.8.8.8", ROUTER[0]), "drop_udp_port")
    dropped_without_error(m, udp("192.0.2.255", ROUTER[0]), "drop_udp_port")


LIMIT = CONFIG + "ip icmp rate-limit 10 burst 3\n"


@pytest.mark.parametrize("dst,drop,kind,type_,code", [
    ("8.8.8.8", "drop_ip4_no_route", "icmp_tx_unreach_net", 3, 0),
    (ROUTER[0].ip, "drop_udp_port", "icmp_tx_unreach_port", 3, 3)], ids=["data core", "control core"])
def test_rate_limit(make, dst, drop, kind, type_, code):
    """RFC 1812 4.3.2.8: a burst of 3, then 10 a second."""
    m = make(LIMIT)
    m.learn(A)
    packet = udp(A, dst)
    error = error_about(ROUTER[0], A, packet, type_, code)
    m.send(0, *[to_router(packet)] * 5)
    for _ in range(3):
        m.expect(0, error)
    m.expect_nothing()
    m.expect_counters(**{drop: 5, kind: 3, "icmp_err_ratelimited": 2})
    m.time(99 * MS)
    m.send(0, to_router(packet))
    m.expect_nothing()
    m.time(MS)
    m.send(0, to_router(packet), to_router(packet))
    m.expect(0, error)
    m.expect_nothing()
    m.expect_counters(**{drop: 3, kind: 1, "icmp_err_ratelimited": 2})
    m.time(10 * SECOND)
    m.send(0, *[to_router(packet)] * 5)
    assert m.take_all(0) == [padded(error)] * 3


def test_rate_limit_does_not_hold_echo_back(make):
    """The limit is for errors only (RFC 1812 4.3.2.8)."""
    m = make(LIMIT)
    m.learn(A)
    requests = [echo(A, ROUTER[0], id=i) for i in range(50)]
    m.send(0, *(to_router(r) for r in requests))
    for r in requests:
        m.expect(0, ether(ROUTER[0], A) / echo_reply(r))


def test_no_errors_at_all(make):
    m = make(CONFIG + "ip icmp rate-limit 0\n")
    m.learn(A)
    m.send(0, to_router(udp(A, "8.8.8.8")))
    m.expect_nothing()
    m.expect_counters(drop_ip4_no_route=1, icmp_err_ratelimited=1)
