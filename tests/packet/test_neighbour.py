"""The states of an IPv4 neighbour, observed from outside: RFC 1122 2.3.2 (queue, retries,
time-outs), RFC 1812 5.2.7.1 (host unreachable), 3.3.2."""
import pytest
from machine import *

ROUTED = CONFIG + "ip route 10.0.0.0/8 198.51.100.2\n"


def ask(station):
    return arp_request(ROUTER[station.port], station.ip)


def poll(station):
    """RFC 1122 2.3.2.1 (2): a unicast request to a known neighbour."""
    frame = ask(station)
    frame.dst = station.mac
    return frame


def frame_to(packet, src=A):
    return ether(src, ROUTER[src.port]) / packet


def out_to(station, packet):
    return ether(ROUTER[station.port], station) / hop(packet)


@pytest.fixture
def half(make):
    """A machine that knows A, but not B."""
    m = make()
    m.learn(A)
    return m


def test_packet_waits_for_its_neighbour(half):
    """RFC 1122 2.3.2.2: the packet that caused the request is saved, and sent."""
    packet = udp(A, B)
    half.send(0, frame_to(packet))
    half.expect(1, ask(B))
    half.expect_nothing()
    half.expect_counters(arp_tx_request=1)
    assert half.waiting() == 1
    half.send(1, arp_reply(B, ROUTER[1]))
    half.expect(1, out_to(B, packet))
    half.expect_counters(delivered_arp=1, forwarded=1)
    assert half.waiting() == 0


def test_queue_keeps_order(half):
    packets = [udp(A, B, size=20 + i, id=i) for i in range(20)]
    half.send(0, *(frame_to(p) for p in packets[:10]))
    half.send(0, *(frame_to(p) for p in packets[10:]))
    half.expect(1, ask(B))
    half.send(1, arp_request(B, ROUTER[1].ip))  # its own request is an answer too
    for p in packets:
        half.expect(1, out_to(B, p))
    half.expect(1, arp_reply(ROUTER[1], B))
    half.expect_counters(arp_tx_request=1, arp_tx_reply=1, delivered_arp=1, forwarded=20)


def test_queue_overflow_drops_the_oldest(half):
    """RFC 1122 2.3.2.2: at least the latest packet is kept. Ours holds 64."""
    packets = [udp(A, B, id=i) for i in range(70)]
    half.send(0, *(frame_to(p) for p in packets))
    half.expect(1, ask(B))
    half.expect_counters(arp_tx_request=1, drop_neigh_queue=6)
    assert half.waiting() == 64
    half.send(1, arp_reply(B, ROUTER[1]))
    for p in packets[6:]:
        half.expect(1, out_to(B, p))
    half.expect_counters(delivered_arp=1, forwarded=64)


def test_host_unreachable_after_three_requests(half):
    """RFC 1122 2.3.2.1: at most one request a second; RFC 1812 5.2.7.1: host unreachable, from the
    interface towards the sender, about the forwarded packet (4.3.2.3: the TTL need not be
    restored)."""
    packets = [udp(A, B, size=100), udp(A, B, size=1000)]
    half.send(0, frame_to(packets[0]))
    half.expect(1, ask(B))
    half.time(500 * MS)
    half.send(0, frame_to(packets[1]))
    half.expect_nothing()
    half.time(501 * MS)
    half.expect(1, ask(B))
    half.time(SECOND)
    half.expect(1, ask(B))
    half.expect_nothing()
    half.time(SECOND)
    for p in packets:
        half.expect(0, error_about(ROUTER[0], A, hop(p), 3, 1))
    half.expect_nothing()
    half.expect_counters(arp_tx_request=3, drop_neigh_unreachable=2, icmp_tx_unreach_host=2)


def test_hold_down(half):
    """While a neighbour is known not to answer, its packets are refused at once, without a request;
    then resolution restarts."""
    half.send(0, frame_to(udp(A, B)))
    half.time(3001 * MS)
    half.take_all(0)
    half.take_all(1)
    half.counted()
    half.time(4 * SECOND)
    packet = udp(A, B, size=8)
    half.send(0, frame_to(packet))
    half.expect(0, error_about(ROUTER[0], A, hop(packet), 3, 1))
    half.expect_nothing()
    half.expect_counters(drop_neigh_unreachable=1, icmp_tx_unreach_host=1)
    half.time(SECOND + MS)
    half.send(0, frame_to(packet))
    half.expect(1, ask(B))
    half.send(1, arp_reply(B, ROUTER[1]))
    half.expect(1, out_to(B, packet))
    half.expect_counters(arp_tx_request=1, delivered_arp=1, forwarded=1)


def test_late_answer_ends_the_hold_down(half):
    half.send(0, frame_to(udp(A, B)))
    half.time(3001 * MS)
    half.take_all(0)
    half.take_all(1)
    half.send(1, arp_reply(B, ROUTER[1]))
    half.counted()
    half.route(udp(A, B))
    half.expect_counters(forwarded=1)


def test_polled_before_it_expires_when_used(m):
    """RFC 1122 2.3.2.1 (2): a unicast poll, three seconds before the end of `arp timeout 60`;
    traffic never waits."""
    for _ in range(3):
        for _ in range(20):
            m.time(2880 * MS)
            m.send(0, frame_to(udp(A, B)))
        frames = m.take_all(1)
        assert frames.count(padded(out_to(B, udp(A, B)))) == 20
        assert [f for f in frames if f != padded(out_to(B, udp(A, B)))] == [padded(poll(B))]
        m.send(1, arp_reply(B, ROUTER[1]))
        m.take_all(0)  # A only sends, so its entry expires


def test_forgotten_when_not_used(m):
    m.time(61 * SECOND)
    m.expect_nothing()
    m.expect_counters()
    assert m.console("show arp").count("\n") == 1
    m.send(0, frame_to(udp(A, B)))
    m.expect(1, ask(B))
    m.send(1, arp_reply(B, ROUTER[1]))
    m.expect(1, out_to(B, udp(A, B)))


def test_silent_neighbour_is_polled_then_asked_for_then_given_up(m):
    """RFC 1122 2.3.2.1 (2), then RFC 826: the IP address may have moved to another station."""
    m.route(udp(A, B))
    m.time(57 * SECOND + MS)
    for _ in range(3):
        m.expect(1, poll(B))
        m.expect_nothing()
        m.route(udp(A, B))  # still used
        m.time(SECOND)
    m.expect(1, ask(B))
    waiting = udp(A, B, size=64)
    m.send(0, frame_to(waiting))
    m.expect_nothing()
    m.time(SECOND)
    m.expect(1, ask(B))
    m.time(SECOND)
    m.expect(1, ask(B))
    m.time(SECOND)
    # A is unknown by now too: it is resolved before the error is sent
    m.expect(0, ask(A))
    m.send(0, arp_reply(A, ROUTER[0]))
    m.expect(0, error_about(ROUTER[0], A, hop(waiting), 3, 1))
    counted = m.counted()
    assert counted == {"forwarded": 4, "arp_tx_request": 7, "drop_neigh_unreachable": 1,
                       "icmp_tx_unreach_host": 1, "delivered_arp": 1}


def test_next_hop_of_a_route_is_kept_resolved(make):
    """The next hop of a route is polled without traffic."""
    m = make(ROUTED)
    m.learn(A, B)
    m.time(57 * SECOND + MS)
    m.expect(1, poll(B))
    m.send(1, arp_reply(B, ROUTER[1]))
    m.time(57 * SECOND + MS)
    m.expect(1, poll(B))
    m.send(1, arp_reply(B, ROUTER[1]))
    m.learn(A)
    m.route(udp(A, "10.1.2.3"))


def test_silent_next_hop_of_a_route(make):
    """Its route stays; its packets are refused in the hold-down, and cause requests later."""
    m = make(ROUTED)
    m.learn(A)
    packet = udp(A, "10.1.2.3")
    m.send(0, frame_to(packet))
    m.time(3001 * MS)
    assert m.take_all(1) == [padded(ask(B))] * 3
    m.expect(0, error_about(ROUTER[0], A, hop(packet), 3, 1))
    m.time(5 * SECOND)
    m.send(0, frame_to(packet))
    m.expect(1, ask(B))
    m.send(1, arp_reply(B, ROUTER[1]))
    m.expect(1, ether(ROUTER[1], B) / hop(packet))


@pytest.mark.parametrize("when", ["before", "after"])
def test_route_of_a_host_outlives_the_neighbour(make, when):
    """`ip route HOST/32 NEXT-HOP` for a host of a connected subnet: neither learning the host by
    ARP nor forgetting it affects the route. `before`: the next hop is known first."""
    m = make(CONFIG + "ip route %s/32 %s\n" % (B2.ip, B.ip))
    m.learn(A, *((B, B2) if when == "before" else (B2, B)))
    m.route(udp(A, B2), dst=B)
    m.console("clear arp")
    m.learn(A, B)
    m.route(udp(A, B2), dst=B)
    assert "%s/32" % B2.ip in m.console("show ip route")


def test_discarded_host_does_not_undo_that(make):
    m = make(CONFIG + "ip route %s/32 null0\n" % B2.ip)
    m.learn(A, B2)
    packet = udp(A, B2)
    m.send(0, frame_to(packet))
    m.expect(0, error_about(ROUTER[0], A, packet, 3, 1))
    m.expect_counters(drop_ip4_null0=1, icmp_tx_unreach_host=1)


def test_route_of_a_host_by_itself_stays(make):
    """`ip route HOST/32 HOST`: its next hop is kept like that of any other route."""
    m = make(CONFIG + "ip route %s/32 %s\n" % (B.ip, B.ip))
    m.learn(A, B)
    m.console("clear arp")
    assert "%s/32" % B.ip in m.console("show ip route")
    m.send(0, arp_request(A, ROUTER[0].ip), frame_to(udp(A, B)))
    m.take_all(0)
    m.expect(1, ask(B))
    m.send(1, arp_reply(B, ROUTER[1]))
    m.expect(1, out_to(B, udp(A, B)))


def test_static_neighbour(make):
    """`arp A.B.C.D MAC`: never solicited, changed by messages, or forgotten."""
    m = make(CONFIG + "arp 198.51.100.2 %s\n" % B.mac)
    m.learn(A)
    m.route(udp(A, B))
    m.send(1, arp_reply(Station(1, B.ip, "02:bb:00:00:00:66"), ROUTER[1]))
    m.route(udp(A, B))
    m.time(50 * SECOND)
    m.learn(A)
    m.time(50 * SECOND)
    m.learn(A)
    m.route(udp(A, B))
    assert "static" in m.console("show arp")


WIDE = """\
interface eth0
 ip address 192.0.2.1/24
interface eth1
 ip address 172.16.0.1/16
"""


def test_full_table(make):
    """4096 neighbours have announced themselves. Another one, the destination of a packet, replaces
    an entry that was never used, not one that was."""
    m = make(WIDE)
    m.learn(A)
    router = Station(1, "172.16.0.1", ROUTER[1].mac)
    whole = 4096 - 1
    for first in range(0, whole, 256):
        hosts = [Station(1, "172.16.%d.%d" % (1 + n // 256, n % 256), "02:cc:00:00:%02x:%02x" % (
            n >> 8, n & 255)) for n in range(first, min(first + 256, whole))]
        m.send(1, *alike(lambda h: arp_request(h, router.ip), hosts))
        m.take_all(1)
    m.expect_counters(delivered_arp=whole, arp_tx_reply=whole)
    for host in (A.ip, "172.16.1.0"):  # the two that were known first
        m.send(0, frame_to(IP(src="172.16.7.7", dst=host) / ICMP()), ether(A, ROUTER[0]) /
               IP(src=A.ip, dst=ROUTER[0].ip) / ICMP())
    m.take_all(0), m.take_all(1)
    m.counted()
    late = Station(1, "172.16.200.200", "02:cc:00:00:77:77")
    m.send(0, frame_to(udp(A, late)))
    m.expect(1, arp_request(router, late.ip))
    m.send(1, arp_reply(late, router))
    assert Ether(m.take(1).frame).dst == late.mac
    m.expect_counters(arp_tx_request=1, delivered_arp=1, forwarded=1)
    assert len(m.console("show arp").splitlines()) == 4096 + 1
    m.send(0, frame_to(udp(A, "172.16.7.7")))
    assert Ether(m.take(1).frame).dst == "02:cc:00:00:06:07"


def test_scan(make):
    """A scan of a subnet makes us send a limited number of requests a second. The table keeps its
    limit of 4096, used neighbours stay, new ones are known at once, and afterwards everything is as
    before."""
    m = make(WIDE)
    m.learn(A)
    router = Station(1, "172.16.0.1", ROUTER[1].mac)
    good = Station(1, "172.16.0.9", "02:cc:00:00:00:09")
    m.send(1, arp_request(good, router.ip))
    m.send(0, frame_to(udp(A, good)))
    assert len(m.take_all(1)) == 2
    m.counted()
    for first in range(0, 25 * 256, 256):
        hosts = [Station(1, "172.16.%d.%d" % (16 + n // 256, n % 256), B.mac)
                 for n in range(first, first + 256)]
        m.send(0, *alike(lambda h: frame_to(udp(A, h, 0)), hosts))
        m.time(200 * MS)
        m.take_all(0), m.take_all(1)
    counted = m.counted()
    assert counted["arp_tx_request"] <= 3 * (256 + 5 * 1000)  # each new one three times, in 5 s
    assert counted["arp_limited"] == counted["drop_neigh_table"] > 1000
    assert len(m.console("show arp").splitlines()) <= 4097
    assert m.waiting() <= 512
    late = Station(1, "172.16.0.10", "02:cc:00:00:00:0a")
    m.send(1, arp_request(late, router.ip))
    m.expect(1, arp_reply(router, late))
    for host in (good, late):
        m.send(0, frame_to(udp(A, host)))
        assert Ether(m.take(1).frame).dst == host.mac
    m.time(10 * SECOND)
    m.take_all(0), m.take_all(1)
    assert m.waiting() == 0
    assert len(m.console("show arp").splitlines()) == 3 + 1


def test_many_names(make):
    """A host sends requests with ever new sender addresses. Each is answered, but only a few per
    second replace another entry, and none replaces one in use."""
    m = make(WIDE)
    m.learn(A)
    router = Station(1, "172.16.0.1", ROUTER[1].mac)
    good = Station(1, "172.16.0.9", "02:cc:00:00:00:09")
    m.send(1, arp_request(good, router.ip))
    m.send(0, frame_to(udp(A, good)))
    assert len(m.take_all(1)) == 2
    m.counted()
    for first in range(0, 8192, 256):
        hosts = [Station(1, "172.16.%d.%d" % (16 + n // 256, n % 256), B.mac)
                 for n in range(first, first + 256)]
        m.send(1, *alike(lambda h: arp_request(h, router.ip), hosts))
        assert len(m.take_all(1)) == 256
    counted = m.counted()
    assert counted["arp_tx_reply"] == 8192 and counted["arp_limited"] > 3000
    m.send(0, frame_to(udp(A, good)))
    assert Ether(m.take(1).frame).dst == good.mac
    m.expect_counters(forwarded=1)


def test_neighbours_that_come_and_go_use_up_nothing(make):
    """The table has about 550 blocks. Each of 200 neighbours takes one of its own; freed ones are
    reused."""
    m = make(WIDE, memory=2912)
    router = Station(1, "172.16.0.1", ROUTER[1].mac)
    for round_ in range(6):
        m.send(1, *(arp_request(Station(1, "172.16.%d.%d" % (n, 9 + round_), B.mac), router.ip)
                    for n in range(1, 201)))
        m.take_all(1)
        assert m.console("show ip route").endswith("210 prefixes\n")
        m.console("clear arp")
        assert m.console("show ip route").endswith("10 prefixes\n")
        m.time(SECOND)


def test_neighbour_replaced_under_a_packet(make):
    """Two packets of one vector: the first one makes a full table drop the silent neighbour that
    the look-up for the second one found. The second packet must not go to the new owner of the
    entry."""
    m = make(WIDE)
    m.learn(A)
    router = Station(1, "172.16.0.1", ROUTER[1].mac)
    for first in range(0, 4094, 89):
        m.send(1, *(arp_request(Station(1, "172.16.%d.%d" % (1 + n // 256, n % 256),
                                        "02:cc:00:00:%02x:%02x" % (n >> 8, n & 255)), router.ip)
                    for n in range(first, first + 89)))
        m.take_all(1)
    m.send(0, frame_to(udp(A, "172.16.200.1")))
    m.time(3500 * MS)
    m.take_all(0), m.take_all(1)
    m.expect_counters(delivered_arp=4094, arp_tx_reply=4094, arp_tx_request=3,
                      drop_neigh_unreachable=1, icmp_tx_unreach_host=1)
    new = Station(1, "172.16.200.2", "02:cc:00:00:ff:02")
    m.send(0, frame_to(udp(A, new)), frame_to(udp(A, "172.16.200.1")))
    m.expect(1, arp_request(router, new.ip))
    m.expect(1, arp_request(router, "172.16.200.1"))  # replaces another unused entry
    m.expect_nothing()
    m.expect_counters(arp_tx_request=2)
    m.send(1, arp_reply(new, router))
    assert Ether(m.take(1).frame)[IP].dst == new.ip
    m.expect_nothing()
    m.expect_counters(delivered_arp=1, forwarded=1)


def test_own_error_waits_for_its_neighbour(fresh):
    """The sender's neighbour is unknown: the error waits, and has no fate."""
    packet = udp("192.0.2.9", "8.8.8.8")
    stranger = Station(0, "192.0.2.9", "02:aa:00:00:00:09")
    fresh.send(0, frame_to(packet, stranger))
    fresh.expect(0, ask(stranger))
    fresh.expect_nothing()
    assert fresh.waiting() == 0
    fresh.send(0, arp_reply(stranger, ROUTER[0]))
    fresh.expect(0, error_about(ROUTER[0], stranger, packet, 3, 0))
    fresh.expect_counters(drop_ip4_no_route=1, icmp_tx_unreach_net=1, arp_tx_request=1,
                          delivered_arp=1)


def test_own_error_to_a_silent_neighbour_vanishes(fresh):
    """RFC 1122 3.2.2: no error about an error."""
    stranger = Station(0, "192.0.2.9", "02:aa:00:00:00:09")
    fresh.send(0, frame_to(udp(stranger, "8.8.8.8"), stranger))
    fresh.time(10 * SECOND)
    assert fresh.take_all(0) == [padded(ask(stranger))] * 3
    fresh.expect_counters(drop_ip4_no_route=1, icmp_tx_unreach_net=1, arp_tx_request=3)


def test_clear_arp_gives_up_what_waits(half):
    packet = udp(A, B)
    half.send(0, frame_to(packet))
    half.expect(1, ask(B))
    half.console("clear arp")
    assert half.console("show arp").count("\n") <= 2
    counted = half.counted()
    assert counted["drop_neigh_unreachable"] == 1
    half.take_all(0)


def test_restart_of_the_ports_accounts_for_what_waits(half):
    half.send(0, *(frame_to(udp(A, B, id=i)) for i in range(5)))
    half.expect(1, ask(B))
    half.counted()
    half.command("restart")
    half.time(3 * SECOND)
    half.take_all(0)
    half.take_all(1)
    assert half.counted()["drop_restart"] == 5
    half.learn(A, B)
    half.route(udp(A, B))
