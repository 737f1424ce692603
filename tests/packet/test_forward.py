"""Forwarding: RFC 1812 5.2 and 5.3; fields of RFC 791; routes by longest match (5.2.4.3)."""
import random

import pytest
from machine import *
from scapy.layers.inet import TCP, IPOption, IPOption_NOP, IPOption_RR, IPOption_Router_Alert

ROUTES = """\
hostname r1
interface eth0
 ip address 192.0.2.1/24
interface eth1
 ip address 198.51.100.1/24
interface eth2
 ip address 203.0.113.1/24
arp 198.51.100.2 %s
arp 198.51.100.3 %s
arp 203.0.113.2 02:cc:00:00:00:02
ip route 0.0.0.0/0 198.51.100.2
ip route 10.0.0.0/8 198.51.100.3
ip route 10.1.0.0/16 203.0.113.2
ip route 10.1.2.0/24 198.51.100.2
ip route 10.1.2.128/25 null0
ip route 10.1.2.255/32 203.0.113.2
""" % (B.mac, B2.mac)
C = Station(2, "203.0.113.2", "02:cc:00:00:00:02")

PACKETS = {
    "smallest (RFC 791 3.1)": IP(src=A.ip, dst=B.ip, proto=253),
    "UDP": udp(A, B),
    "TCP": IP(src=A.ip, dst=B.ip, id=7, flags="DF") / TCP(sport=1, dport=2, flags="S"),
    "largest for the link": udp(A, B, size=1500 - 28),
    "TTL 2, the last that is forwarded (5.3.1)": udp(A, B, ttl=2),
    "TTL 255": udp(A, B, ttl=255),
    "type of service is kept (5.3.2)": udp(A, B, tos=0xb8),
    "fragment in the middle": IP(src=A.ip, dst=B.ip, id=9, flags="MF", frag=100, proto=17) /
        Raw(b"x" * 64),
    "last fragment": IP(src=A.ip, dst=B.ip, id=9, frag=185, proto=17) / Raw(b"y" * 11),
    "reserved flag is not ours to judge": IP(src=A.ip, dst=B.ip, flags="evil", proto=17) /
        Raw(b"z" * 30),
    "ICMP error passes": IP(src=A.ip, dst=B.ip) / ICMP(type=3, code=1) / bytes(udp(B, A)),
    "unknown protocol": IP(src=A.ip, dst=B.ip, proto=201) / Raw(b"?"),
    "record route option that is full": IP(src=A.ip, dst=B.ip, options=[
        IPOption_RR(pointer=16, routers=["10.1.1.1"] * 3)]) / UDP() / Raw(b"abc"),
    "router alert (RFC 2113)": IP(src=A.ip, dst=B.ip, options=[IPOption_Router_Alert()]) / UDP(),
    "no-operation options": IP(src=A.ip, dst=B.ip, options=[IPOption_NOP()] * 4) / UDP(),
    "40 bytes of an unknown option": IP(src=A.ip, dst=B.ip, options=[
        IPOption(b"\x5e\x28" + b"o" * 38)]) / UDP() / Raw(b"abc"),
}


@pytest.mark.parametrize("packet", PACKETS.values(), ids=PACKETS.keys())
def test_exact_rewrite(m, packet):
    """RFC 1812 5.2.1: only link addresses, TTL and header checksum change."""
    m.route(packet)
    m.expect_counters(forwarded=1)


@pytest.mark.parametrize("before,after", [
    ("0707040000000000", "070708c633640100"),                  # its only place
    ("070b080a010101000000000000", "070b0c0a010101c6336401" + "0000"),  # the second
    ("01070704000000000000", "01070708c6336401" + "0000"),     # after another option
    ("07070400000000" + "07070400000000", "070708c6336401" * 2),
    ("07070500000000", "07070500000000"),                      # three bytes left
    ("07070000000000", "07070000000000"),                      # pointer 0
    ("0707ff00000000", "0707ff00000000"),
    ("07030400", "07030400"),
    ("0702", "0702"),
    ("00070704000000000000", "00070704000000000000"),          # after the end of options
])
def test_record_route(m, before, after):
    """RFC 1812 5.3.13.5: the address of the outgoing interface is inserted if there is room."""
    m.send(0, with_options(A, ROUTER[0], before, 64))
    m.expect(1, with_options(ROUTER[1], B, after, 63))
    m.expect_counters(forwarded=1)


def with_options(src, dst, options, ttl):
    options = bytes.fromhex(options)
    options += bytes(-len(options) % 4)
    p = bytearray(bytes(IP(src=A.ip, dst=B.ip, ttl=ttl, proto=253, ihl=5 + len(options) // 4,
                           len=24 + len(options)))[:20]) + options + b"data"
    p[10:12] = b"\0\0"
    p[10:12] = checksum(bytes(p[:-4])).to_bytes(2, "big")
    return bytes(ether(src, dst))[:12] + b"\x08\0" + bytes(p)


T, OURS, OTHER = "a5a5a5a5", "c0000201", "0a010101"


@pytest.mark.parametrize("before,after", [
    ("44080500" + "00000000", "44080900" + T),
    ("440c0900" + "11111111" + "00000000", "440c0d00" + "11111111" + T),
    ("440c0501" + "00000000" * 2, "440c0d01" + "c6336401" + T),  # with our address
    ("440c0503" + OURS + "00000000", "440c0d03" + OURS + T),    # specified: ours, on any interface
    ("440c0503" + OTHER + "00000000", "440c0503" + OTHER + "00000000"),
    ("44080900" + "11111111", "44080910" + "11111111"),         # no room: counted
    ("440809e0" + "11111111", "440809f0" + "11111111"),
    ("440809f0" + "11111111", "440809f0" + "11111111"),         # at most fifteen
    ("440c0d03" + OTHER + "11111111", "440c0d03" + OTHER + "11111111"),
    ("44080501" + "00000000", "44080501" + "00000000"),         # room for half of it
    ("44080600" + "00000000", "44080600" + "00000000"),
    ("44080502" + "00000000", "44080502" + "00000000"),         # undefined flag
    ("44080400" + "00000000", "44080400" + "00000000"),
    ("4408ff00" + "00000000", "4408ff10" + "00000000"),
    ("44030500", "44030500"), ("44020000", "44020000"), ("44040500", "44040510"),
])
def test_timestamp(m, before, after):
    """RFC 1812 5.3.13.6, RFC 791 3.1: milliseconds not since midnight, as the high bit says; an
    invalid option remains unchanged."""
    stamps = []
    for wait in (0, 250):
        m.time(wait * MS)
        m.send(0, with_options(A, ROUTER[0], before, 64))
        frame = m.take(1).frame
        at = 34 + after.find(T) // 2
        stamp = frame[at:at + 4] if T in after else b""
        assert frame == padded(with_options(ROUTER[1], B, after.replace(T, stamp.hex()), 63))
        stamps.append(int.from_bytes(stamp, "big"))
    m.expect_counters(forwarded=2)
    if T in after:
        assert stamps[0] >> 31 == 1 and 250 <= stamps[1] - stamps[0] <= 252


@pytest.mark.parametrize("first,step", [(0, 1), (0xff00, 1), (0x1234, 0x0101)])
def test_checksum_update_is_exact(m, first, step):
    """RFC 1624: incremental update must not turn 0x0000 into 0xffff, whatever the sum was."""
    packets = [udp(A, B, size=0, id=first + i * step & 0xffff, ttl=2 + i % 250)
               for i in range(256)]
    sums = {fixed(p).chksum >> 8 for p in packets}
    assert len(sums) > 1
    m.send(0, *(ether(A, ROUTER[0]) / p for p in packets))
    for p in packets:
        m.expect(1, ether(ROUTER[1], B) / hop(p))
    m.expect_counters(forwarded=256)


def test_checksum_field_wraps(m):
    """Edge cases of the sum: those that become 0x0000, 0x00ff, 0x0100, 0xfeff, 0xffff."""
    base = fixed(udp(A, B, size=0, id=0))
    packets = []
    for want in (0x0000, 0x00ff, 0x0100, 0xfeff, 0xff00, 0xffff - 0x100):
        p = base.copy()
        # one's complement: raising the identification by n lowers the checksum by n
        p.id = (base.chksum - want) % 0xffff
        del p.chksum
        packets.append(fixed(p))
        assert packets[-1].chksum in (want, want ^ 0xffff)
    m.send(0, *(ether(A, ROUTER[0]) / p for p in packets))
    for p in packets:
        m.expect(1, ether(ROUTER[1], B) / hop(p))


def test_padding_of_a_short_frame_stays(m):
    """A 28-byte packet in a 60-byte frame leaves in one of 60."""
    packet = bytes(fixed(udp(A, B, size=0)))
    tail = bytes(range(60 - 14 - len(packet)))
    m.send_raw(0, bytes(ether(A, ROUTER[0])) [:12] + b"\x08\0" + packet + tail)
    m.expect(1, bytes(ether(ROUTER[1], B))[:12] + b"\x08\0" + bytes(hop(packet)) + tail)


@pytest.mark.parametrize("size", [0, 17, 18, 19, 100])
def test_trailing_bytes_are_cut(m, size):
    """Bytes after the IP packet belong to the link (RFC 894), and are not forwarded beyond 60
    bytes."""
    packet = fixed(udp(A, B, size=size))
    frame = bytes(ether(A, ROUTER[0]) / packet) + b"\xee" * 200
    m.send_raw(0, frame)
    out = m.take(1).frame
    want = bytes(ether(ROUTER[1], B) / hop(packet))
    assert out[:len(want)] == want
    assert len(out) == max(60, len(want))


def test_frame_shorter_than_ethernet_has_it(m):
    """From a virtual link without padding: forwarded; the device pads if the wire requires it."""
    packet = fixed(udp(A, B, size=0))
    m.send_raw(0, ether(A, ROUTER[0]) / packet)
    assert m.take(1).frame == bytes(ether(ROUTER[1], B) / hop(packet))


@pytest.mark.parametrize("to,station", [
    ("8.8.8.8", B), ("10.0.0.1", B2), ("10.255.255.255", B2), ("11.0.0.0", B), ("10.1.0.1", C),
    ("10.1.1.255", C), ("10.1.2.1", B), ("10.1.2.127", B), ("10.1.2.255", C), ("10.1.3.0", C),
    ("10.2.0.0", B2), ("9.255.255.255", B), ("198.51.100.3", B2), ("203.0.113.2", C)])
def test_longest_match(make, to, station):
    """RFC 1812 5.2.4.3."""
    m = make(ROUTES, ports=3)
    m.route(udp(A, to), dst=station)
    m.expect_counters(forwarded=1)


def test_null0_inside_a_route(make):
    m = make(ROUTES, ports=3)
    m.learn(A)
    packet = udp(A, "10.1.2.200")
    m.send(0, ether(A, ROUTER[0]) / packet)
    m.expect(0, error_about(ROUTER[0], A, packet, 3, 1))
    m.expect_counters(drop_ip4_null0=1, icmp_tx_unreach_host=1)


def test_random_routes_against_a_slow_look_up(make):
    """Every destination uses the longest matching of 300 random prefixes."""
    rng = random.Random(4711)
    hops = [Station(1, "198.51.100.%d" % (10 + i), "02:dd:00:00:00:%02x" % i) for i in range(16)]
    routes = {}
    while len(routes) < 300:
        plen = rng.choice((8, 12, 16, 20, 22, 24, 24, 24, 26, 29, 32))
        prefix = rng.randrange(20 << 24, 30 << 24) & -(1 << 32 - plen)
        routes[prefix, plen] = rng.choice(hops)

    def text(address):
        return "%d.%d.%d.%d" % tuple(address.to_bytes(4, "big"))

    m = make(CONFIG + "".join("arp %s %s\n" % (h.ip, h.mac) for h in hops) + "".join(
        "ip route %s/%d %s\n" % (text(p), n, h.ip) for (p, n), h in routes.items()))
    for _ in range(4):
        wanted = []
        for prefix, plen in rng.sample(sorted(routes), 200):
            dst = prefix | rng.randrange(1 << 32 - plen)
            covers = [n for p, n in routes if dst & -(1 << 32 - n) == p]
            wanted.append((udp(A, text(dst), size=18),
                           routes[dst & -(1 << 32 - max(covers)), max(covers)]))
        m.send(0, *(ether(A, ROUTER[0]) / packet for packet, _ in wanted))
        for packet, station in wanted:
            m.expect(1, ether(ROUTER[1], station) / hop(packet))


def test_same_port_counts_a_redirect_not_sent(m):
    """RFC 1812 5.2.7.2: forwarded; a redirect is sent only if the interface allows it."""
    m.learn(A2)
    m.route(udp(A, A2), A, A2)
    m.expect_counters(forwarded=1, redirect_needed=1)
    m.route(IP(src=A.ip, dst=A2.ip, options=[IPOption_NOP()] * 4) / UDP(), A, A2)
    m.expect_counters(forwarded=1, redirect_needed=1)


def test_both_directions_at_once(m):
    there, back = udp(A, B, size=50), udp(B, A, size=70)
    m.queue(0, ether(A, ROUTER[0]) / there)
    m.queue(1, ether(B, ROUTER[1]) / back)
    m.command("run")
    m.expect(1, ether(ROUTER[1], B) / hop(there))
    m.expect(0, ether(ROUTER[0], A) / hop(back))


@pytest.mark.parametrize("own, other", ((2, 3), (3, 2)))
def test_subnets_without_broadcast(make, own, other):
    """RFC 3021: both addresses of a /31 are hosts."""
    m = make("""\
interface eth0
 ip address 192.0.2.1/24
interface eth1
 ip address 198.51.100.%d/31
""" % own)
    peer = Station(1, "198.51.100.%d" % other, B.mac)
    ours = Station(1, "198.51.100.%d" % own, ROUTER[1].mac)
    m.learn(A)
    packet = udp(A, peer)
    m.send(0, ether(A, ROUTER[0]) / packet)  # to a broadcast address there would be no request
    m.expect(1, arp_request(ours, peer.ip))
    m.send(1, arp_reply(peer, ours))
    m.expect(1, ether(ours, peer) / hop(packet))
    m.send(1, arp_request(peer, ours.ip))
    m.expect(1, arp_reply(ours, peer))
    m.route(udp(A, peer), dst=peer)


def test_secondary_address(make):
    """RFC 1812 2.2.7: several subnets on one link; each neighbour gets requests from its subnet's
    address."""
    m = make(CONFIG + " ip address 172.16.0.1/16 secondary\n", boot=False)
    m.time(3 * SECOND)
    m.take_all(0)
    m.take_all(1)
    m.learn(A)
    second = Station(1, "172.16.0.1", ROUTER[1].mac)
    host = Station(1, "172.16.5.5", "02:bb:00:00:05:05")
    packet = udp(A, host)
    m.send(0, ether(A, ROUTER[0]) / packet)
    m.expect(1, arp_request(second, host.ip))
    m.send(1, arp_reply(host, second))
    m.expect(1, ether(ROUTER[1], host) / hop(packet))


def test_port_that_is_shut_down(make):
    """`shutdown`: the port receives nothing, and neither its subnet nor a static neighbour on it is
    a route."""
    m = make(CONFIG + " shutdown\nip route 10.0.0.0/8 198.51.100.2\narp 198.51.100.2 %s\n" % B.mac)
    m.learn(A)
    m.send(1, arp_request(B, ROUTER[1].ip), ether(B, ROUTER[1]) / udp(B, A))
    m.expect_counters(drop_port_down=2)
    for dst in (B.ip, "10.1.1.1"):
        packet = udp(A, dst)
        m.send(0, ether(A, ROUTER[0]) / packet)
        m.expect(0, error_about(ROUTER[0], A, packet, 3, 0))
    m.expect_counters(drop_ip4_no_route=2, icmp_tx_unreach_net=2)


def test_port_without_configuration(make):
    m = make(ports=3)
    m.send(2, arp_request(C, ROUTER[2].ip), ether(C, ROUTER[2]) / udp(C, A))
    m.expect_counters(drop_port_down=2)


@pytest.mark.parametrize("known", [True, False])
def test_cable_out(fresh, known):
    """RFC 1812 5.2.7.1: host unreachable when the link of the last hop is down."""
    fresh.learn(A)
    if known:
        fresh.learn(B)
    fresh.link(1, False)
    packet = udp(A, B)
    fresh.send(0, ether(A, ROUTER[0]) / packet)
    fresh.expect(0, error_about(ROUTER[0], A, packet, 3, 1))
    fresh.expect_counters(drop_tx_down=1, icmp_tx_unreach_host=1)
    fresh.link(1, True)
    fresh.expect(1, arp_request(ROUTER[1], ROUTER[1].ip))
    fresh.send(0, ether(A, ROUTER[0]) / packet)
    fresh.expect(1, arp_request(ROUTER[1], B.ip))
    fresh.send(1, arp_reply(B, ROUTER[1]))
    fresh.expect(1, ether(ROUTER[1], B) / hop(packet))
    fresh.expect_counters(arp_tx_request=2, delivered_arp=1, forwarded=1)


def test_cable_out_while_packets_wait(fresh):
    """Packets that wait for a neighbour on that link are given up at once."""
    fresh.learn(A)
    packet = udp(A, B)
    fresh.send(0, ether(A, ROUTER[0]) / packet)
    fresh.expect(1, arp_request(ROUTER[1], B.ip))
    fresh.link(1, False)
    fresh.expect(0, error_about(ROUTER[0], A, hop(packet), 3, 1))
    fresh.expect_counters(arp_tx_request=1, drop_neigh_unreachable=1, icmp_tx_unreach_host=1)


def test_cable_out_while_packets_go_to_the_control_core(fresh):
    """The control core takes 64 messages, notices that the link is down, and refuses the rest
    itself."""
    fresh.learn(A)
    fresh.time(SECOND)
    fresh.counted()
    for i in range(100):
        fresh.queue(0, padded(ether(A, ROUTER[0]) / udp(A, B, id=i)))
    fresh.command("away %d" % (20 * MS))  # the next check of the link is due
    fresh.link(1, False)
    errors = fresh.take_all(0)
    fresh.expect(1, arp_request(ROUTER[1], B.ip))
    fresh.expect_counters(arp_tx_request=1, drop_neigh_unreachable=64, drop_tx_down=36,
                          icmp_tx_unreach_host=len(errors),
                          icmp_err_ratelimited=100 - len(errors))
    assert padded(error_about(ROUTER[0], A, hop(udp(A, B, id=0)), 3, 1)) == errors[0]


@pytest.mark.parametrize("where", ["at start", "later"])
def test_cable_out_and_static_neighbour(make, where):
    """A static neighbour does not cause transmission on a link that is down (RFC 1812 5.2.7.1)."""
    m = make(CONFIG + "arp 198.51.100.2 %s\n" % B.mac)
    m.learn(A)
    packet = udp(A, B)
    m.link(1, False)
    if where == "at start":
        m.command("restart")
        m.time(3 * SECOND)
        m.take_all(0)
        m.take_all(1)
        m.learn(A)
    m.counted()
    m.send(0, ether(A, ROUTER[0]) / packet)
    m.expect(0, error_about(ROUTER[0], A, packet, 3, 1))
    m.expect_counters(drop_tx_down=1, icmp_tx_unreach_host=1)
    m.link(1, True)
    m.expect(1, arp_request(ROUTER[1], ROUTER[1].ip))
    m.route(packet)
    m.expect_counters(forwarded=1, arp_tx_request=1)


def test_cable_of_the_sender_out(m):
    """The error has no return path: this is counted, and nothing else happens."""
    m.link(1, False)
    m.link(0, False)
    m.send(0, ether(A, ROUTER[0]) / udp(A, B))
    m.expect_nothing()
    counted = m.counted()
    assert counted.pop("drop_tx_down") == 1 and counted.pop("originated_drop_tx") == 1
    assert counted == {"icmp_tx_unreach_host": 1}
