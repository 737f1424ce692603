"""Behaviour common to IPv4 and IPv6, tested once: forwarding, errors to the sender, the queue of an
unknown neighbour, the rate limit, the balance of counters. The other files test the behaviour of
one family. Rules: RFC 1812 and RFC 1122; RFC 8200, RFC 4443 and RFC 4861."""
import random

import pytest
from ip6 import *
from machine import *


@pytest.fixture(params=FAMILIES.values(), ids=FAMILIES.keys())
def f(request):
    return request.param


@pytest.fixture
def fm(f, make):
    """A machine that knows one host on each side."""
    m = make(f.config)
    f.learn(m, A, B)
    return m


@pytest.fixture
def half(f, make):
    """A machine that knows A, but not B."""
    m = make(f.config)
    f.learn(m, A)
    return m


def frame_to(packet, src=A):
    return ether(src, ROUTER[src.port]) / packet


def out_to(f, station, packet):
    return ether(ROUTER[station.port], station) / f.hop(packet)


def refused(f, m, packet, kind, drop, hops=False, src=A):
    """The packet is dropped under that name, and its sender gets an error."""
    router = ROUTER[src.port]
    m.send(src.port, frame_to(packet, src))
    m.expect(src.port, f.error(router, src, f.hop(packet) if hops else packet, kind))
    m.expect_nothing()
    m.expect_counters(**{drop: 1, f.errors[kind][2]: 1})


# --- forwarding ---

@pytest.mark.parametrize("size", [0, 1, 18, 100, 1000])
def test_exact_rewrite(f, fm, size):
    """Link addresses and the hop limit change (and IPv4's checksum), nothing else."""
    packet = f.packet(A, B, size)
    fm.send(0, frame_to(packet))
    fm.expect(1, out_to(f, B, packet))
    fm.expect_counters(forwarded=1)


@pytest.mark.parametrize("hops", [2, 255])
def test_hops_that_last(f, fm, hops):
    packet = f.packet(A, B, hops=hops)
    fm.send(0, frame_to(packet))
    fm.expect(1, out_to(f, B, packet))


@pytest.mark.parametrize("hops", [0, 1])
def test_hops_that_do_not(f, fm, hops):
    """RFC 1812 5.3.1; RFC 8200 3 and RFC 4443 3.3."""
    refused(f, fm, f.packet(A, B, hops=hops), "time", f.hop_limit)


def test_largest_for_the_link(f, fm):
    packet = f.packet(A, B, 1500 - f.udp_header)
    fm.send(0, frame_to(packet))
    fm.expect(1, out_to(f, B, packet))


def test_trailing_bytes_are_cut(f, fm):
    """Bytes after the packet belong to the link."""
    packet = f.packet(A, B, 40)
    fm.send_raw(0, bytes(frame_to(packet)) + b"\xee" * 200)
    assert fm.take(1).frame == padded(out_to(f, B, packet))


def test_same_port_counts_a_redirect_not_sent(f, fm):
    """The packet is forwarded; a redirect is sent only if the interface allows it
    (test_redirect.py)."""
    f.learn(fm, A2)
    packet = f.packet(A, A2)
    fm.send(0, frame_to(packet))
    fm.expect(0, out_to(f, A2, packet))
    fm.expect_counters(forwarded=1, redirect_needed=1)


def test_next_hop_of_a_route(f, make):
    m = make(f.config + f.route_line(f.prefix, f.address(B)))
    f.learn(m, A, B)
    packet = f.packet(A, f.inside)
    m.send(0, frame_to(packet))
    m.expect(1, out_to(f, B, packet))
    m.expect_counters(forwarded=1)


def test_nobody_else_is_touched_in_a_vector(f, make):
    """Good and bad packets of both families in one vector; those of each family leave in order."""
    rng = random.Random(7)
    m = make(V6.config)
    for family in FAMILIES.values():
        family.learn(m, A, B)
    frames, wanted, counted = [], {"v4": [], "v6": []}, {}
    for i in range(256):
        family = rng.choice(list(FAMILIES.values()))
        packet = family.packet(A, B, rng.randrange(60), mark=i)
        kind = rng.choice(["good", "good", "cut", "other"])
        frame = bytes(padded(frame_to(packet)))
        if kind == "good":
            wanted[family.name].append(padded(out_to(family, B, packet)))
            counted["forwarded"] = counted.get("forwarded", 0) + 1
        elif kind == "cut":
            frame = frame[:14 + 19]
            name = family.drop + "short"
            counted[name] = counted.get(name, 0) + 1
        else:
            frame = b"\x02\x77" + frame[2:]
            counted["drop_eth_dst"] = counted.get("drop_eth_dst", 0) + 1
        frames.append(frame)
    for frame in frames:
        m.queue(0, frame)
    m.command("run")
    out = m.take_all(1)
    for family, type_ in (("v4", b"\x08\0"), ("v6", b"\x86\xdd")):
        assert [o for o in out if o[12:14] == type_] == wanted[family]
    m.expect_counters(**counted)


# --- errors ---

def test_no_route(f, fm):
    """RFC 1812 5.2.7.1: net unreachable; RFC 4443 3.1: code 0."""
    refused(f, fm, f.packet(A, f.nowhere), "no route", f.drop + "no_route")


def test_null0(f, make):
    """RFC 4443 3.1: code 6, reject route."""
    m = make(f.config + f.route_line(f.prefix, "null0"))
    f.learn(m, A)
    refused(f, m, f.packet(A, f.inside), "null0", f.drop + "null0")


def test_port_unreachable(f, fm):
    """RFC 1122 4.1.3.1, RFC 4443 3.1 code 4, from the control core."""
    refused(f, fm, f.packet(A, f.address(ROUTER[0]), dport=9), "port", "drop_udp_port")


def test_error_leaves_by_the_route(f, make):
    """The error has the address of the interface that it leaves by (RFC 1812 4.3.2.4; RFC 4443 2.2
    (d))."""
    m = make(f.config + f.route_line(f.prefix, f.address(B)))
    f.learn(m, A, B)
    packet = f.packet(f.inside, B, hops=1)
    m.send(0, frame_to(packet))
    m.expect(1, f.error(ROUTER[1], B, packet, "time"))


def test_error_without_way_back(f, fm):
    fm.send(0, frame_to(f.packet(f.nowhere, B, hops=1)))
    fm.expect_nothing()
    fm.expect_counters(**{f.hop_limit: 1, "icmp_err_suppressed": 1})


def test_error_waits_for_its_neighbour(f, make):
    """The error has no fate of its own; the packet that caused it has."""
    m = make(f.config)
    packet = f.packet(A, f.nowhere)
    m.send(0, frame_to(packet))
    m.expect(0, f.ask(A))
    m.expect_nothing()
    assert m.waiting() == 0
    m.send(0, f.answer(A))
    m.expect(0, f.error(ROUTER[0], A, packet, "no route"))
    m.expect_counters(**{f.drop + "no_route": 1, f.errors["no route"][2]: 1, f.ask_counter: 1,
                         f.told: 1})


LIMITS = {"data core": ("nowhere", "no_route", "no route"), "control core": (None, None, "port")}


@pytest.mark.parametrize("where", LIMITS)
def test_rate_limit(f, make, where):
    """RFC 1812 4.3.2.8, RFC 4443 2.4 (f): a burst of 3, then 10 a second."""
    m = make("ip icmp rate-limit 10 burst 3\n" + f.config)
    f.learn(m, A)
    _, drop, kind = LIMITS[where]
    drop = f.drop + drop if drop else "drop_udp_port"
    packet = f.packet(A, f.nowhere if where == "data core" else f.address(ROUTER[0]))
    error = f.error(ROUTER[0], A, packet, kind)
    m.send(0, *[frame_to(packet)] * 5)
    for _ in range(3):
        m.expect(0, error)
    m.expect_nothing()
    m.expect_counters(**{drop: 5, f.errors[kind][2]: 3, "icmp_err_ratelimited": 2})
    m.time(100 * MS)
    m.send(0, frame_to(packet), frame_to(packet))
    m.expect(0, error)
    m.expect_nothing()


@pytest.mark.parametrize("size", [0, 1, 56, 1400])
def test_echo(f, fm, size):
    """RFC 792; RFC 4443 4.2. Far addresses of ours answer too."""
    for router in ROUTER[:2]:
        request = f.echo(A, router, size)
        fm.send(0, frame_to(request))
        reply = Ether(fm.take(0).frame)
        want = f.echo(router, A, size, reply=True)
        for layer in (IP, IPv6):
            if layer in reply:
                assert (reply[layer].src, reply[layer].dst) == (router.ip if layer is IP else
                                                                router.ip6, f.address(A))
        assert bytes(reply)[14 + f.hlen:14 + f.hlen + 8 + size] == bytes(want)[f.hlen:]
    fm.expect_counters(**{f.delivered_echo: 2, f.tx_echo: 2})


# --- links ---

def test_cable_out(f, fm):
    """RFC 1812 5.2.7.1: host unreachable; RFC 4443 3.1: address unreachable."""
    fm.link(1, False)
    fm.counted()
    refused(f, fm, f.packet(A, B), "no answer", "drop_tx_down")


def test_cable_out_while_packets_wait(f, half):
    packet = f.packet(A, B)
    half.send(0, frame_to(packet))
    half.expect(1, f.ask(B))
    half.link(1, False)
    half.expect(0, f.error(ROUTER[0], A, f.hop(packet), "no answer"))
    half.expect_counters(**{f.ask_counter: 1, "drop_neigh_unreachable": 1,
                            f.errors["no answer"][2]: 1})


def test_cable_out_and_in_again(f, fm):
    fm.link(1, False)
    fm.link(1, True)
    fm.settle()
    f.learn(fm, A, B) if f is V4 else learn_again(fm, B)
    packet = f.packet(A, B)
    fm.send(0, frame_to(packet))
    fm.expect(1, out_to(f, B, packet))


def learn_again(m, station):
    """As learn6, whether or not the router already knows the station."""
    router = ROUTER[station.port]
    m.send(station.port, ether(station, router) / echo6(station, router))
    for frame in m.take_all(station.port):
        if ICMPv6ND_NS in Ether(frame):
            m.send(station.port, advert(station, router))
    m.take_all(station.port)
    m.counted()


def test_port_that_is_shut_down(f, make):
    m = make(f.config + " shutdown\n" + f.route_line(f.prefix, f.address(B)) + f.static_line(B))
    f.learn(m, A)
    m.send(1, frame_to(f.packet(B, A), B))
    m.expect_counters(drop_port_down=1)
    for dst in (f.address(B), f.inside):
        refused(f, m, f.packet(A, dst), "no route", f.drop + "no_route")


# --- neighbours ---

def test_packet_waits_for_its_neighbour(f, half):
    """RFC 1122 2.3.2.2; RFC 4861 7.2.2."""
    packet = f.packet(A, B)
    half.send(0, frame_to(packet))
    half.expect(1, f.ask(B))
    half.expect_nothing()
    half.expect_counters(**{f.ask_counter: 1})
    assert half.waiting() == 1
    half.send(1, f.answer(B))
    half.expect(1, out_to(f, B, packet))
    half.expect_counters(**{f.told: 1, "forwarded": 1})
    assert half.waiting() == 0


def test_queue_keeps_order_and_drops_the_oldest(f, half):
    """At least the latest packet is kept (RFC 1122 2.3.2.2, RFC 4861 7.2.2). Our queue holds 64."""
    packets = [f.packet(A, B, mark=i) for i in range(70)]
    half.send(0, *(frame_to(p) for p in packets[:10]))
    half.send(0, *(frame_to(p) for p in packets[10:]))
    half.expect(1, f.ask(B))
    half.expect_counters(**{f.ask_counter: 1, "drop_neigh_queue": 6})
    assert half.waiting() == 64
    half.send(1, f.answer(B))
    for p in packets[6:]:
        half.expect(1, out_to(f, B, p))
    half.expect_counters(**{f.told: 1, "forwarded": 64})


def test_unreachable_after_three_requests(f, half):
    """One a second (RFC 1122 2.3.2.1; RFC 4861 10: RETRANS_TIMER, MAX_MULTICAST_SOLICIT)."""
    packets = [f.packet(A, B, 100), f.packet(A, B, 1000)]
    half.send(0, frame_to(packets[0]))
    half.expect(1, f.ask(B))
    half.time(500 * MS)
    half.send(0, frame_to(packets[1]))
    half.expect_nothing()
    for wait in (501, 1000):
        half.time(wait * MS)
        half.expect(1, f.ask(B))
        half.expect_nothing()
    half.time(SECOND)
    for p in packets:
        half.expect(0, f.error(ROUTER[0], A, f.hop(p), "no answer"))
    half.expect_nothing()
    half.expect_counters(**{f.ask_counter: 3, "drop_neigh_unreachable": 2,
                            f.errors["no answer"][2]: 2})


def test_hold_down(f, half):
    """A neighbour that does not answer is not solicited for each packet; later, resolution
    restarts."""
    packet = f.packet(A, B)
    half.send(0, frame_to(packet))
    half.time(3001 * MS)
    half.take_all(0), half.take_all(1), half.counted()
    half.time(SECOND)
    half.send(0, frame_to(packet))
    half.expect(0, f.error(ROUTER[0], A, f.hop(packet), "no answer"))
    half.expect_nothing()
    half.expect_counters(**{"drop_neigh_unreachable": 1, f.errors["no answer"][2]: 1})
    half.time(4 * SECOND + MS)
    half.send(0, frame_to(packet))
    half.expect(1, f.ask(B))
    half.send(1, f.answer(B))
    half.expect(1, out_to(f, B, packet))


def test_static_neighbour(f, make):
    """A static neighbour is never solicited, changed by messages, or forgotten."""
    m = make(f.config + f.static_line(B))
    f.learn(m, A)
    packet = f.packet(A, B)
    other = Station(1, B.ip, "02:bb:00:00:00:66")
    for _ in range(2):
        m.send(0, frame_to(packet))
        m.expect(1, out_to(f, B, packet))
        m.send(1, f.answer(other))
    m.counted()
    assert "static" in m.console("show arp" if f is V4 else "show ipv6 neighbors")


def test_clear_gives_up_what_waits(f, half):
    packet = f.packet(A, B)
    half.send(0, frame_to(packet))
    half.expect(1, f.ask(B))
    half.console("clear arp" if f is V4 else "clear ipv6 neighbors")
    counted = half.counted()
    assert counted["drop_neigh_unreachable"] == 1
    half.take_all(0)
    assert half.waiting() == 0


def test_restart_accounts_for_what_waits(f, half):
    half.send(0, *(frame_to(f.packet(A, B, mark=i)) for i in range(5)))
    half.expect(1, f.ask(B))
    half.counted()
    half.command("restart")
    half.settle()
    assert half.counted()["drop_restart"] == 5
    f.learn(half, A, B)
    half.send(0, frame_to(f.packet(A, B)))
    half.expect(1, out_to(f, B, f.packet(A, B)))


@pytest.mark.parametrize("app", ["echo", "discard"])
def test_who_does_not_forward(f, make, app):
    """RFC 1122 3.3.1 with forwarding off; for IPv6, RFC 8200 does not specify it, but RFC 4861
    6.2.7 defines a host."""
    m = make("application %s\n" % app + f.config)
    m.send(0, frame_to(f.packet(A, B)))
    m.expect_nothing()
    m.expect_counters(**({f.drop + "not_ours": 1} if app == "echo" else {"discarded": 1}))
