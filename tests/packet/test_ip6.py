"""IPv6 in the router, where IPv4 has no equivalent or a different one: header checks (RFC 8200 3,
RFC 4291), scopes, extension headers, packet too big, fragments to us, and which ICMPv6 errors are
sent to whom (RFC 4443)."""
import pytest
from ip6 import *
from machine import *

ROUTED = CONFIG6 + """\
ipv6 route 2001:db8:ff00::/40 2001:db8:2::2
ipv6 route 2001:db8:ff80::/41 null0
ipv6 route 2001:db8:ff80:1::/64 2001:db8:2::3
ipv6 route 2001:db8:ff80:1::7/128 2001:db8:1::3
"""


@pytest.fixture
def m(make):
    machine = make(CONFIG6)
    learn6(machine, A, B)
    return machine


def frame_to(packet, src=A, dst=None):
    return ether(src, dst or ROUTER[src.port]) / packet


def out_to(station, packet):
    return ether(ROUTER[station.port], station) / hop6(packet)


def dropped(m, packet, counter, src=A, dst=None, **more):
    m.send(src.port, frame_to(packet, src, dst))
    m.expect_nothing()
    m.expect_counters(**{counter: 1}, **more)


def refused(m, packet, counter, type_, code, rest=0, src=A, **more):
    """The packet is dropped, and the sender gets an error."""
    router = ROUTER[src.port]
    m.send(src.port, frame_to(packet, src))
    m.expect(src.port, error6_about(router, src, packet, type_, code, rest))
    m.expect_nothing()
    m.expect_counters(**{counter: 1}, **more)


# --- forwarding ---

PACKETS = {
    "no next header (RFC 8200 4.7)": IPv6(src=A.ip6, dst=B.ip6, nh=59),
    "no payload": IPv6(src=A.ip6, dst=B.ip6, nh=17),
    "traffic class and flow label are kept": udp6(A, B, tc=0xb8, fl=0xabcde),
    "unknown protocol": IPv6(src=A.ip6, dst=B.ip6, nh=201) / Raw(b"?"),
    "hop-by-hop options (4.3)": IPv6(src=A.ip6, dst=B.ip6) / IPv6ExtHdrHopByHop() / UDP(),
    "destination options": IPv6(src=A.ip6, dst=B.ip6) / IPv6ExtHdrDestOpt() / UDP(),
    "routing header (4.4: only its destination looks)": IPv6(src=A.ip6, dst=B.ip6) /
        IPv6ExtHdrRouting(type=0, addresses=["2001:db8:1::9"]) / UDP(),
    "fragment": IPv6(src=A.ip6, dst=B.ip6) / IPv6ExtHdrFragment(nh=17, offset=100, m=1, id=7) /
        Raw(b"x" * 64),
    "nine destination options, which we would refuse": IPv6(src=A.ip6, dst=B.ip6, nh=60) / Raw(
        (bytes([60, 0, 1, 4]) + bytes(4)) * 8 + bytes([59, 0, 1, 4]) + bytes(4)),
    "from a unique local address (RFC 4193)": udp6("fd00::1", B),
    "from a site-local one, unicast since RFC 3879": udp6("fec0::1", B),
    "ICMPv6 error": IPv6(src=A.ip6, dst=B.ip6) / ICMPv6DestUnreach() / bytes(udp6(B, A)),
}


@pytest.mark.parametrize("packet", PACKETS.values(), ids=PACKETS.keys())
def test_forwarded_as_it_is(m, packet):
    """RFC 8200 3: only the hop limit is decremented; 4: routers do not process what follows."""
    m.send(0, frame_to(packet))
    m.expect(1, out_to(B, packet))
    m.expect_counters(forwarded=1)


@pytest.mark.parametrize("to,port,station", [
    ("2001:db8:ff00::1", 1, B), ("2001:db8:ff7f:ffff::", 1, B), ("2001:db8:ff80:1::", 1, B2),
    ("2001:db8:ff80:1:ffff:ffff:ffff:ffff", 1, B2), ("2001:db8:ff80:1::7", 0, A2),
    ("2001:db8:ff80:2::", None, None), ("2001:db8:feff::", "none", None)])
def test_longest_match(make, to, port, station):
    m = make(ROUTED)
    learn6(m, A, A2, B, B2)
    packet = udp6(A, to)
    m.send(0, frame_to(packet))
    if station:
        m.expect(port, out_to(station, packet))
    else:
        m.expect(0, error6_about(ROUTER[0], A, packet, 1, 0 if port else 6))


def test_route_of_a_part_of_a_subnet(make):
    """A longer prefix in a connected subnet takes precedence; our own address in it stays ours."""
    m = make(CONFIG6 + "ipv6 route 2001:db8:2::/65 2001:db8:1::3\n"
             "ipv6 route 2001:db8:2::42/128 null0\n")
    learn6(m, A, A2)
    packet = udp6(A, "2001:db8:2::99")
    m.send(0, frame_to(packet))
    m.expect(0, out_to(A2, packet))
    m.counted()
    refused(m, udp6(A, "2001:db8:2::42"), "drop_ip6_null0", 1, 6, icmp6_tx_unreach_reject=1)
    m.send(0, frame_to(echo6(A, ROUTER[1])))
    m.expect(0, ether(ROUTER[0], A) / echo6(ROUTER[1], A, reply=True))


@pytest.mark.parametrize("size,fits", [(1280, True), (1281, False), (1500, False)])
def test_packet_too_big(make, size, fits):
    """RFC 8200 5, RFC 4443 3.2: routers do not fragment; the error has the MTU of the next link."""
    m = make(CONFIG6 + " mtu 1280\n")
    learn6(m, A, B)
    packet = udp6(A, B, size - 48)
    if not fits:
        refused(m, packet, "drop_ip6_too_big", 2, 0, 1280, icmp6_tx_too_big=1)
        return
    m.send(0, frame_to(packet))
    m.expect(1, out_to(B, packet))


def test_too_big_for_a_link_whose_neighbour_is_unknown(make):
    m = make(CONFIG6 + " mtu 1280\n")
    learn6(m, A)
    refused(m, udp6(A, B, 1400), "drop_ip6_too_big", 2, 0, 1280, icmp6_tx_too_big=1)


# --- the header ---

def raw(packet, **at):
    """The packet with some octets replaced: o6=60."""
    b = bytearray(bytes(packet))
    for name, value in at.items():
        b[int(name[1:])] = value
    return Raw(bytes(b))


HEADERS = {
    "version": (lambda: raw(udp6(A, B), o0=0x40), "drop_ip6_version"),
    "payload beyond the frame": (lambda: raw(udp6(A, B), o4=5), "drop_ip6_payload_len"),
    "jumbogram (RFC 2675)": (lambda: raw(IPv6(src=A.ip6, dst=B.ip6, nh=0) / Raw(
        bytes.fromhex("3b00c20400010000")), o4=0, o5=0), "drop_ip6_payload_len"),
    "from a group (RFC 4291 2.7)": (lambda: udp6("ff0e::1", B), "drop_ip6_src_martian"),
    "from the loopback (2.5.3)": (lambda: udp6("::1", B), "drop_ip6_src_martian"),
    "from nobody (2.5.2)": (lambda: udp6("::", B), "drop_ip6_src_martian"),
    "from an IPv4-mapped one (RFC 4942 2.2)": (lambda: udp6("::ffff:192.0.2.2", B),
                                               "drop_ip6_src_martian"),
    "to nobody (2.5.2)": (lambda: udp6(A, "::"), "drop_ip6_dst_martian"),
    "to the loopback (2.5.3)": (lambda: udp6(A, "::1"), "drop_ip6_dst_martian"),
    "to an IPv4-mapped one": (lambda: udp6(A, "::ffff:198.51.100.2"), "drop_ip6_dst_martian"),
}


@pytest.mark.parametrize("packet,counter", HEADERS.values(), ids=HEADERS.keys())
def test_header(m, packet, counter):
    """The packet is dropped silently."""
    m.send(0, Ether(src=A.mac, dst=ROUTER[0].mac, type=0x86dd) / packet())
    m.expect_nothing()
    m.expect_counters(**{counter: 1})


@pytest.mark.parametrize("group", ["ff02::5", "ff05::5", "ff0e::1", "ff02::1:ffee:1"])
def test_groups_are_not_routed(m, group):
    """No error is sent about them either (RFC 4443 2.4 (e.3))."""
    dropped(m, udp6(A, group), "drop_ip6_multicast",
            dst=Station(0, A.ip, group_mac(group)))
    dropped(m, udp6(A, group, hlim=1), "drop_ip6_multicast",
            dst=Station(0, A.ip, group_mac(group)))


@pytest.mark.parametrize("group", ["ff00::1", "ff01::1"])
def test_groups_of_no_link(m, group):
    """RFC 4291 2.7: reserved scope, and interface-local scope."""
    dropped(m, udp6(A, group), "drop_ip6_dst_martian", dst=Station(0, A.ip, group_mac(group)))


def test_unicast_in_a_link_layer_group(m):
    """RFC 4443 2.4 (e.4): no error about it either; but packet too big is allowed (e.3)."""
    every = Station(0, A.ip, "33:33:00:00:00:01")
    dropped(m, udp6(A, B), "drop_ip6_link_mcast", dst=every)
    dropped(m, udp6(A, B), "drop_ip6_link_mcast", dst=Station(0, A.ip, BROADCAST))


# --- scopes (RFC 4291 2.5.6, RFC 4443 3.1 code 2) ---

def test_link_local_source_is_told(m):
    """A link-local source is unreachable beyond its link: code 2, on the link of the packet."""
    packet = udp6(A.link_local, B)
    m.send(0, frame_to(packet))
    m.expect(0, solicit(ROUTER[0], A.link_local, source=ROUTER[0].link_local))
    m.send(0, advert(A, ROUTER[0], target=A.link_local, dst_ip=ROUTER[0].link_local))
    m.expect(0, error6_about(ROUTER[0], A, packet, 1, 2, src=ROUTER[0].link_local))
    m.expect_counters(drop_ip6_scope=1, icmp6_tx_unreach_scope=1, nd_tx_solicit=1, delivered_nd=1)


def test_link_local_destination_is_dropped(m):
    dropped(m, udp6(A, B.link_local), "drop_ip6_scope")
    dropped(m, udp6(A, "fe80::1234"), "drop_ip6_scope")


def test_link_local_address_of_the_other_port(m):
    """Ours, but not on this link."""
    dropped(m, echo6(A, ROUTER[1].link_local), "drop_ip6_scope")


# --- to us ---

@pytest.mark.parametrize("hlim", [0, 1, 255])
def test_any_hop_limit_reaches_us(m, hlim):
    """RFC 8200 3: the hop limit matters only for forwarding."""
    m.send(0, frame_to(echo6(A, ROUTER[0], hlim=hlim)))
    m.expect(0, ether(ROUTER[0], A) / echo6(ROUTER[0], A, reply=True))


def test_echo_to_a_link_local_address(m):
    m.send(0, frame_to(echo6(A.link_local, ROUTER[0].link_local)))
    m.expect(0, solicit(ROUTER[0], A.link_local, source=ROUTER[0].link_local))
    m.send(0, advert(A, ROUTER[0], target=A.link_local, dst_ip=ROUTER[0].link_local))
    m.expect(0, ether(ROUTER[0], A) / echo6(ROUTER[0].link_local, A.link_local, reply=True))


@pytest.mark.parametrize("group", [ALL_NODES, ALL_ROUTERS])
def test_echo_to_a_group(m, group):
    """RFC 4443 4.2: answered from a unicast address of the interface."""
    m.send(0, frame_to(echo6(A, group), dst=Station(0, A.ip, group_mac(group))))
    m.expect(0, ether(ROUTER[0], A) / echo6(ROUTER[0], A, reply=True))
    m.expect_counters(delivered_icmp6=1, icmp6_tx_echo_reply=1)


def test_echo_behind_extension_headers(m):
    """Extension headers are not returned."""
    message = bytes(echo6(A, ROUTER[0]))[40:]
    packet = IPv6(src=A.ip6, dst=ROUTER[0].ip6) / IPv6ExtHdrHopByHop() / \
        IPv6ExtHdrDestOpt(nh=58) / Raw(message)
    m.send(0, frame_to(packet))
    m.expect(0, ether(ROUTER[0], A) / echo6(ROUTER[0], A, reply=True))


def test_from_our_own_address(m):
    dropped(m, udp6(ROUTER[0], ROUTER[1]), "drop_ip6_src_local")
    dropped(m, echo6(ROUTER[1], ROUTER[0]), "drop_ip6_src_local")


def test_checksum_of_icmp(m):
    packet = bytearray(bytes(echo6(A, ROUTER[0])))
    packet[42] ^= 1
    m.send(0, Ether(src=A.mac, dst=ROUTER[0].mac, type=0x86dd) / Raw(bytes(packet)))
    m.expect_nothing()
    m.expect_counters(drop_icmp6_malformed=1)


@pytest.mark.parametrize("type_,fate", [(1, "delivered_icmp6"), (4, "delivered_icmp6"),
                                        (100, "delivered_icmp6"), (129, "delivered_icmp6"),
                                        (200, "drop_icmp6_type"), (255, "drop_icmp6_type")])
def test_types_without_an_answer(m, type_, fate):
    """RFC 4443 2.4 (a), (b): unknown errors are accepted, other unknown types silently dropped."""
    body = bytes([type_, 0, 0, 0]) + bytes(4) + bytes(udp6(ROUTER[0], A))
    dropped(m, icmp6_raw(A.ip6, ROUTER[0].ip6, body), fate)


# --- extension headers to us (RFC 8200 4; RFC 8504 5.3) ---

def to_us(next_, payload, dst=None):
    return IPv6(src=A.ip6, dst=dst or ROUTER[0].ip6, nh=next_) / Raw(payload)


PROBLEMS = {
    # packet, counter, code, pointer
    "unrecognised next header (4)": (to_us(201, b"x" * 8), "drop_ip6_proto", 1, 6),
    "behind destination options": (to_us(60, bytes([201, 0, 1, 4]) + bytes(4) + b"x" * 8),
                                   "drop_ip6_proto", 1, 40),
    "hop-by-hop not first (4.1)": (to_us(60, bytes([0, 0, 1, 4]) + bytes(4) +
                                         bytes([59, 0, 1, 4]) + bytes(4)),
                                   "drop_ip6_proto", 1, 40),
    "option to refuse (4.2)": (to_us(60, bytes([58, 0, 0x80, 4]) + bytes(4)),
                               "drop_ip6_option", 2, 42),
    "option to refuse unless to a group": (to_us(60, bytes([58, 0, 0xc5, 4]) + bytes(4)),
                                           "drop_ip6_option", 2, 42),
    "second option": (to_us(60, bytes([58, 0, 1, 0, 0x80, 2, 0, 0])), "drop_ip6_option", 2, 44),
    "option longer than its header": (to_us(60, bytes([58, 0, 5, 5]) + bytes(4)),
                                      "drop_ip6_ext_malformed", 0, 43),
    "header longer than the packet": (to_us(60, bytes([58, 9]) + bytes(6)),
                                      "drop_ip6_ext_malformed", 0, 41),
    "routing header with a route left (4.4, RFC 5095)": (
        to_us(43, bytes([58, 2, 0, 1]) + bytes(20)), "drop_ip6_routing", 0, 42),
    "first fragment without the upper header (RFC 7112 5)": (
        to_us(44, bytes([6, 0, 0, 1, 0, 0, 0, 7]) + b"12345678"), "drop_ip6_first_fragment", 3, 0),
}


@pytest.mark.parametrize("packet,counter,code,pointer", PROBLEMS.values(), ids=PROBLEMS.keys())
def test_parameter_problem(m, packet, counter, code, pointer):
    """RFC 4443 3.4."""
    refused(m, packet, counter, 4, code, pointer, icmp6_tx_param_problem=1)


SILENT = {
    "option to drop silently (4.2)": (to_us(60, bytes([58, 0, 0x45, 4]) + bytes(4)),
                                      "drop_ip6_option"),
    "no next header (4.7)": (to_us(59, b""), "drop_ip6_proto"),
    "nine headers": (to_us(60, (bytes([60, 0, 1, 4]) + bytes(4)) * 8 + bytes([58, 0, 1, 4]) +
                           bytes(4) + b"x" * 8), "drop_ip6_ext_limit"),
    "nine options": (to_us(60, bytes([58, 2]) + bytes([5, 0] * 11)), "drop_ip6_ext_limit"),
    "padding without end": (to_us(60, bytes([58, 1]) + bytes(14)), "drop_ip6_ext_limit"),
    "two fragment headers": (to_us(44, bytes([44, 0, 0, 0, 0, 0, 0, 7]) * 2), "drop_ip6_ext_limit"),
}


@pytest.mark.parametrize("packet,counter", SILENT.values(), ids=SILENT.keys())
def test_dropped_silently(m, packet, counter):
    dropped(m, packet, counter)


def test_option_in_a_packet_to_a_group(m):
    """RFC 8200 4.2: type 10 causes an error even for a multicast packet, type 11 does not (RFC 4443
    2.4 (e.3))."""
    group = Station(0, A.ip, group_mac(ALL_NODES))
    packet = to_us(60, bytes([58, 0, 0x80, 4]) + bytes(4), ALL_NODES)
    m.send(0, frame_to(packet, dst=group))
    counted = m.counted()
    assert counted.pop("drop_ip6_option") == 1
    m.take_all(0)
    packet = to_us(60, bytes([58, 0, 0xc5, 4]) + bytes(4), ALL_NODES)
    dropped(m, packet, "drop_ip6_option", dst=group)


# --- fragments to us (RFC 8200 4.5; the rules are tests/unit/net/test_reassembly.c's) ---

def piece6(data, offset, more, next_=58, **fields):
    return IPv6(src=A.ip6, dst=ROUTER[0].ip6, nh=44, **fields) / Raw(
        bytes([next_, 0]) + (offset | more).to_bytes(2, "big") + bytes([0, 0, 0, 9]) + data)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_whole_out_of_fragments(m, order):
    message = bytes(echo6(A, ROUTER[0], 1000))[40:]
    parts = [piece6(message[:400], 0, 1), piece6(message[400:800], 400, 1),
             piece6(message[800:], 800, 0)]
    for n, i in enumerate(order):
        assert m.waiting() == n
        m.send(0, frame_to(parts[i]))
    m.expect(0, ether(ROUTER[0], A) / echo6(ROUTER[0], A, 1000, reply=True))
    m.expect_counters(delivered_icmp6=1, reassembled=2, reassembled_packets=1,
                      icmp6_tx_echo_reply=1)


def test_overlapping_fragments(m):
    """RFC 5722 4: the packet is discarded silently."""
    m.send(0, frame_to(piece6(bytes(echo6(A, ROUTER[0], 64))[40:], 0, 1)),
           frame_to(piece6(b"x" * 64, 64, 0)))
    m.expect_nothing()
    m.expect_counters(drop_frag_overlap=2)


def test_fragments_beyond_65535(m):
    """RFC 8200 4.5: parameter problem, at the offset."""
    packet = piece6(b"x" * 16, 65528, 0)
    refused(m, packet, "drop_frag_too_long", 4, 0, 42, icmp6_tx_param_problem=1)


def test_too_many_fragments(m):
    message = bytes(echo6(A, ROUTER[0], 1600))[40:]
    for first in range(0, 130, 65):
        m.send(0, *(frame_to(piece6(message[8 * i:8 * i + 8], 8 * i, 1))
                    for i in range(first, first + 65)))
    m.expect_nothing()
    assert m.counted()["drop_frag_many"] == 130


def test_fragments_whose_ecn_contradicts(m):
    """RFC 3168 5.3: congestion experienced on a fragment that is not ECN-capable."""
    message = bytes(echo6(A, ROUTER[0], 64))[40:]
    m.send(0, frame_to(piece6(message[:32], 0, 1, tc=0)),
           frame_to(piece6(message[32:], 32, 0, tc=3)))
    m.expect_nothing()
    assert m.counted()["drop_frag_ecn"] == 2


def test_first_fragment_of_a_later_time(m):
    """RFC 4443 3.3: time exceeded, code 1, after 60 s, if the first fragment was there."""
    packet = piece6(bytes(echo6(A, ROUTER[0], 64))[40:], 0, 1)
    m.send(0, frame_to(packet))
    m.time(61 * SECOND)
    m.expect(0, error6_about(ROUTER[0], A, packet, 3, 1))
    counted = m.counted()
    assert counted["drop_frag_timeout"] == 1 and counted["icmp6_tx_time_exceeded"] == 1
    m.time(20 * SECOND)
    m.take_all(0)


def test_fragment_that_cuts_a_tcp_header(make):
    """RFC 1858, RFC 3128: for IPv4; RFC 7112 covers IPv6."""
    m = make()
    m.learn(A)
    m.send(0, frame_to(IP(src=A.ip, dst=ROUTER[0].ip, proto=6, id=3, flags="MF") / Raw(b"t" * 8)))
    m.expect_nothing()
    m.expect_counters(drop_frag_tiny=1)


# --- ICMP errors (RFC 4443 2.4) ---

@pytest.mark.parametrize("size", [0, 1, 1184, 1185, 1400])
def test_quote(m, size):
    """(c): as much of the packet as 1280 bytes permit, and no more than it has."""
    refused(m, udp6(A, "2a00::1", size), "drop_ip6_no_route", 1, 0, icmp6_tx_unreach_no_route=1)


def test_quote_leaves_the_links_bytes_out(m):
    packet = udp6(A, "2a00::1", 40)
    m.send_raw(0, bytes(frame_to(packet)) + b"\xee" * 200)
    m.expect(0, error6_about(ROUTER[0], A, packet, 1, 0))


@pytest.mark.parametrize("type_", [1, 2, 3, 4, 100, 127, 137])
def test_never_about_an_error(m, type_):
    """(e.1), (e.2): and not about a redirect."""
    packet = icmp6_raw(A.ip6, B.ip6, bytes([type_, 0, 0, 0]) + bytes(4) + bytes(udp6(B, A)), hlim=1)
    dropped(m, packet, "drop_ip6_hop_limit", icmp_err_suppressed=1)


@pytest.mark.parametrize("type_", [128, 129, 135, 200])
def test_about_other_messages(m, type_):
    packet = icmp6_raw(A.ip6, B.ip6, bytes([type_, 0, 0, 0]) + bytes(24), hlim=1)
    refused(m, packet, "drop_ip6_hop_limit", 3, 0, icmp6_tx_time_exceeded=1)


def test_an_error_behind_extension_headers_is_one(m):
    inner = bytes(icmp6_raw(A.ip6, B.ip6, bytes([1, 0, 0, 0]) + bytes(4) + bytes(udp6(B, A))))[40:]
    packet = IPv6(src=A.ip6, dst=B.ip6, hlim=1) / IPv6ExtHdrDestOpt(nh=58) / Raw(inner)
    dropped(m, packet, "drop_ip6_hop_limit", icmp_err_suppressed=1)


def test_address_unreachable_is_told_to_the_sender_alone(m):
    """3.1 code 3 from the control core, about a packet whose source is no neighbour."""
    packet = udp6("2a00::1", "2001:db8:2::99")
    m.send(0, frame_to(packet))
    m.time(4 * SECOND)
    m.take_all(1)
    m.expect_nothing()
    counted = m.counted()
    assert counted["drop_neigh_unreachable"] == 1 and counted["icmp_err_suppressed"] == 1


def test_source_of_an_error(make):
    """RFC 6724 5 rule 8: of several addresses, the one in the subnet that the error is sent to."""
    m = make(CONFIG6.replace(" ipv6 nd", " ipv6 address fd00:1::1/64\n ipv6 nd", 1))
    host = Station(0, A.ip, A.mac, "fd00:1::2")
    ours = Station(0, ROUTER[0].ip, ROUTER[0].mac, "fd00:1::1")
    packet = udp6(host, "2a00::1")
    m.send(0, frame_to(packet))
    m.expect(0, solicit(ours, host.ip6))
    m.send(0, advert(host, ours))
    m.expect(0, error6_about(ours, host, packet, 1, 0))


# --- without IPv6 ---

def test_port_without_ipv6(make):
    m = make(CONFIG)
    m.send(0, frame_to(udp6(A, B)))
    m.expect_nothing()
    counted = m.counted()
    assert sum(counted.values()) == 1 and not counted.get("forwarded"), counted


def test_port_without_ipv4(make):
    m = make("interface eth0\n ipv6 address 2001:db8:1::1/64\n ipv6 nd ra suppress\n"
             "interface eth1\n ipv6 address 2001:db8:2::1/64\n ipv6 nd ra suppress\n")
    learn6(m, A, B)
    m.send(0, frame_to(udp6(A, B)), ether(A, ROUTER[0]) / udp(A, B),
           arp_request(A, ROUTER[0].ip))
    m.expect(1, out_to(B, udp6(A, B)))
    m.expect_nothing()
    m.expect_counters(forwarded=1, drop_port_down=2)


# --- what the console shows ---

def test_show_ipv6_route(make):
    m = make(ROUTED)
    learn6(m, A, B)
    text = m.console("show ipv6 route")
    lines = {line.split()[1]: line.split()[2:] for line in text.splitlines()[:-1]}
    assert lines["2001:db8:1::/64"] == ["connected", "eth0"]
    assert lines["2001:db8:ff80::/41"] == ["null0", "[1]"]
    assert lines["2001:db8:ff00::/40"] == ["via", "2001:db8:2::2", "eth1", "[1]"]
    assert lines["2001:db8:ff80:1::/64"] == ["via", "2001:db8:2::3", "eth1", "[1]", "(unresolved)"]
    assert text.splitlines()[-1] == "6 prefixes"
    assert m.console("show ipv6 route 2001:db8:ff81::1").split()[1] == "2001:db8:ff80::/41"
    assert m.console("show ipv6 route 2a00::1") == "no route\n"
    assert "neither" in m.console("show ipv6 route x")


def test_show_running_config(make):
    m = make(ROUTED)
    text = m.console("show running-config")
    assert " ipv6 address 2001:db8:1::1/64\n" in text
    assert "ipv6 route 2001:db8:ff00::/40 2001:db8:2::2\n" in text
