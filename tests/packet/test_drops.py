"""Every reason to drop a packet, reached by one frame each between two good ones: RFC 1812 5.2.2,
5.3; the names are those of net/counters.h."""
import pytest
from machine import *
from scapy.layers.inet import TCP

THIRD = CONFIG + "ip route 10.9.0.0/16 null0\n"


def frame(packet, dst=ROUTER[0], src=A):
    return bytes(ether(src, dst) / packet) if not isinstance(packet, bytes) else \
        bytes(ether(src, dst))[:12] + b"\x08\0" + packet


def patched(packet, offset, value):
    """The packet with one byte changed and the checksum corrected."""
    p = bytearray(bytes(packet))
    p[offset] = value
    head = max(20, (p[0] & 15) * 4)
    p[10:12] = b"\0\0"
    p[10:12] = checksum(bytes(p[:head])).to_bytes(2, "big")
    return bytes(p)


def with_options(options, dst=B.ip, src=A.ip):
    """A UDP packet with these raw option bytes (a multiple of 4), with a right checksum."""
    body = bytes(UDP(sport=1, dport=2) / Raw(b"data"))
    head = 20 + len(options)
    p = bytearray(bytes(IP(src=src, dst=dst, proto=17)))[:20]
    p[0] = 0x40 | head // 4
    p[2:4] = (head + len(body)).to_bytes(2, "big")
    p += options
    p[10:12] = b"\0\0"
    p[10:12] = checksum(bytes(p)).to_bytes(2, "big")
    return bytes(p) + body


GOOD = bytes(fixed(udp(A, B)))
SOURCES = ["0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.255", "224.0.0.1", "239.1.1.1",
           "240.0.0.1", "255.255.255.255"]
DESTINATIONS = ["0.0.0.0", "0.1.2.3", "127.0.0.1", "240.0.0.1", "255.255.255.254"]

# name -> (frame on the wire, counter)
SILENT = {
    "no frame at all": (b"", "drop_eth_short"),
    "13 bytes of a frame": (frame(GOOD)[:13], "drop_eth_short"),
    "to another station": (padded(frame(GOOD, dst=A2)), "drop_eth_dst"),
    "IPv6 where there is none": (padded(bytes(ether(A, ROUTER[0]))[:12] + b"\x86\xdd" + GOOD), "drop_port_down"),
    "VLAN tag": (padded(bytes(ether(A, ROUTER[0]))[:12] + b"\x81\0\0\x05\x08\0" + GOOD),
                 "drop_vlan_unknown"),
    "802.3 length (RFC 1812 3.3.3)": (padded(bytes(ether(A, ROUTER[0]))[:12] + b"\0\x2e" + GOOD),
                                      "drop_eth_type"),
    "nothing after the Ethernet header": (frame(b""), "drop_ip4_short"),
    "19 bytes of IP": (frame(GOOD[:19]), "drop_ip4_short"),
    "version 6": (padded(frame(b"\x65" + GOOD[1:])), "drop_ip4_version"),
    "version 0": (padded(frame(b"\x05" + GOOD[1:])), "drop_ip4_version"),
    "header of 16 bytes": (padded(frame(patched(GOOD, 0, 0x44))), "drop_ip4_header_len"),
    "header of 0 bytes": (padded(frame(patched(GOOD, 0, 0x40))), "drop_ip4_header_len"),
    "header beyond the frame": (frame(patched(GOOD[:40], 0, 0x4f)), "drop_ip4_header_len"),
    "total length below 20": (padded(frame(patched(patched(GOOD, 3, 19), 2, 0))),
                              "drop_ip4_total_len"),
    "total length below the header": (padded(frame(patched(patched(GOOD, 0, 0x46), 3, 23))),
                                      "drop_ip4_total_len"),
    "total length beyond the frame": (frame(patched(GOOD, 3, len(GOOD) + 1)),
                                      "drop_ip4_total_len"),
    "checksum": (padded(frame(GOOD[:10] + bytes([GOOD[10] ^ 1]) + GOOD[11:])),
                 "drop_ip4_checksum"),
    "checksum of a packet with options": (padded(frame(with_options(b"\1\1\1\0")[:10] + b"\0\0" +
                                                       with_options(b"\1\1\1\0")[12:])),
                                          "drop_ip4_checksum"),
    "limited broadcast (5.3.5.1)": (frame(udp(A, "255.255.255.255")), "drop_ip4_link_bcast"),
    "limited broadcast, sent as one": (frame(udp(A, "255.255.255.255"), dst=BROADCAST),
                                       "drop_ip4_link_bcast"),
    "directed broadcast of the far link (RFC 2644)": (frame(udp(A, "198.51.100.255")),
                                                      "drop_ip4_link_bcast"),
    "directed broadcast of its own link": (frame(udp(A, "192.0.2.255"), dst=BROADCAST),
                                           "drop_ip4_link_bcast"),
    "old broadcast of the far link (5.3.5.2)": (frame(udp(A, "198.51.100.0")),
                                                "drop_ip4_link_bcast"),
    "unicast in a link broadcast (5.3.4)": (frame(udp(A, B), dst=BROADCAST),
                                            "drop_ip4_link_bcast"),
    "unicast in a link multicast (5.3.4)": (frame(udp(A, B), dst="01:00:5e:01:02:03"),
                                            "drop_ip4_link_bcast"),
    "ping to us in a link broadcast (RFC 1122 3.3.6)": (
        frame(IP(src=A.ip, dst=ROUTER[0].ip) / ICMP(), dst=BROADCAST), "drop_ip4_link_bcast"),
    "multicast": (frame(udp(A, "224.0.0.5"), dst="01:00:5e:00:00:05"), "drop_ip4_multicast"),
    "multicast, sent to us": (frame(udp(A, "239.1.2.3")), "drop_ip4_multicast"),
    "from our own address (5.3.8)": (frame(IP(src=ROUTER[0].ip, dst=ROUTER[0].ip) / ICMP()),
                                     "drop_ip4_src_local"),
    "from our own address on another port": (frame(IP(src=ROUTER[1].ip, dst=ROUTER[0].ip) /
                                                   ICMP()), "drop_ip4_src_local"),
    "ICMP of 7 bytes": (frame(IP(src=A.ip, dst=ROUTER[0].ip, proto=1) / Raw(b"\x08\0\0\0\0\0\0")),
                        "drop_icmp_malformed"),
    "ICMP checksum (RFC 1122 3.2.2)": (frame(IP(src=A.ip, dst=ROUTER[0].ip) / ICMP(chksum=1)),
                                       "drop_icmp_malformed"),
    "ICMP error about nothing": (frame(IP(src=A.ip, dst=ROUTER[0].ip) / ICMP(type=3, code=1)),
                                 "drop_icmp_malformed"),
    "ICMP timestamp": (frame(IP(src=A.ip, dst=ROUTER[0].ip) / ICMP(type=13)), "drop_icmp_type"),
    "ICMP of an unknown type (RFC 1122 3.2.2)": (frame(IP(src=A.ip, dst=ROUTER[0].ip) /
                                                       ICMP(type=77)), "drop_icmp_type"),
    "redirect for us about nothing (4.3.3.2)": (frame(IP(src=A.ip, dst=ROUTER[0].ip) /
                                                      ICMP(type=5)), "drop_icmp_malformed"),
    "UDP of 7 bytes": (frame(IP(src=A.ip, dst=ROUTER[0].ip, proto=17) / Raw(b"\0\7\0\7\0\7\0")),
                       "drop_udp_malformed"),
    "UDP length beyond the packet": (frame(IP(src=A.ip, dst=ROUTER[0].ip) /
                                           UDP(len=100, chksum=0) / Raw(b"abc")),
                                     "drop_udp_malformed"),
    "UDP length below 8": (frame(IP(src=A.ip, dst=ROUTER[0].ip) / UDP(len=7, chksum=0)),
                           "drop_udp_malformed"),
    "UDP checksum": (frame(IP(src=A.ip, dst=ROUTER[0].ip) / UDP(chksum=0xdead) / Raw(b"abc")),
                     "drop_udp_malformed"),
}
SILENT.update({"bad options, to a martian (5.3.7)": (frame(with_options(b"\x07\0\0\0", dst="240.0.0.1")),
                                                     "drop_ip4_dst_martian"),
               "bad options, from a martian": (frame(with_options(b"\x07\0\0\0", src="127.0.0.1")),
                                               "drop_ip4_src_martian")})
SILENT.update({"source %s (5.3.7)" % s: (frame(udp(s, B)), "drop_ip4_src_martian")
               for s in SOURCES})
SILENT.update({"destination %s (5.3.7)" % d: (frame(udp(A, d)), "drop_ip4_dst_martian")
               for d in DESTINATIONS})


@pytest.mark.parametrize("raw,counter", SILENT.values(), ids=SILENT.keys())
def test_dropped_silently(m, raw, counter):
    """One frame, one reason, nothing sent; the packets around it are unaffected."""
    m.queue(0, frame(udp(A, B, size=40, id=1)))
    m.queue(0, raw)
    m.queue(0, frame(udp(A, B, size=40, id=2)))
    m.command("run")
    m.expect(1, ether(ROUTER[1], B) / hop(udp(A, B, size=40, id=1)))
    m.expect(1, ether(ROUTER[1], B) / hop(udp(A, B, size=40, id=2)))
    m.expect_nothing()
    m.expect_counters(forwarded=2, **{counter: 1})


# name -> (options, offset of the wrong octet in the header)
BAD_OPTIONS = {
    "length of 0 (RFC 791 3.1)": (b"\x07\0\0\0", 21),
    "length of 1": (b"\x07\1\0\0", 21),
    "length beyond the header": (b"\x07\x09\4\0", 21),
    "type without length": (b"\1\1\1\x07", 23),
    "bad length behind others": (b"\x94\4\0\0\1\x07\xff\4", 26),
    "loose source route (RFC 7126 4.3)": (b"\x83\x07\4" + bytes([198, 51, 100, 2]) + b"\0", 20),
    "strict source route (RFC 7126 4.4)": (b"\x89\x07\4" + bytes([198, 51, 100, 2]) + b"\0", 20),
    "source route behind others": (b"\1\x83\x07\4" + bytes([198, 51, 100, 2]), 21),
}


@pytest.mark.parametrize("options,octet", BAD_OPTIONS.values(), ids=BAD_OPTIONS.keys())
def test_options(m, options, octet):
    """RFC 1812 4.3.3.5: parameter problem; RFC 792: the pointer gives the wrong octet."""
    packet = with_options(options)
    m.send(0, frame(packet))
    m.expect(0, error_about(ROUTER[0], A, packet, 12, 0, octet << 24))
    m.expect_counters(drop_ip4_options=1, icmp_tx_param_problem=1)


def test_options_to_us(m):
    packet = with_options(b"\x07\0\0\0", dst=ROUTER[0].ip)
    m.send(0, frame(packet))
    m.expect(0, error_about(ROUTER[0], A, packet, 12, 0, 21 << 24))


@pytest.mark.parametrize("dst", ["198.51.100.255", "192.0.2.255", "255.255.255.255", "224.0.0.9"])
def test_options_to_a_broadcast(m, dst):
    """RFC 1122 3.2.2: no error about a packet to a broadcast address, even in a unicast frame."""
    m.send(0, frame(with_options(b"\x07\0\0\0", dst=dst)))
    m.expect_nothing()
    m.expect_counters(drop_ip4_options=1, icmp_err_suppressed=1)


def test_options_in_a_broadcast_frame(m):
    """RFC 1122 3.2.2: no error about a link-layer broadcast either."""
    m.send(0, frame(with_options(b"\x07\0\0\0"), dst=BROADCAST))
    m.expect_nothing()
    m.expect_counters(drop_ip4_options=1, icmp_err_suppressed=1)


# name -> (packet, counter of the drop, counter of the error, type, code)
ANSWERED = {
    "TTL 1": (udp(A, B, ttl=1), "drop_ip4_ttl", "icmp_tx_time_exceeded", 11, 0),
    "TTL 0": (udp(A, B, ttl=0), "drop_ip4_ttl", "icmp_tx_time_exceeded", 11, 0),
    "TTL 1, TCP": (IP(src=A.ip, dst=B.ip, ttl=1) / TCP(), "drop_ip4_ttl", "icmp_tx_time_exceeded",
                   11, 0),
    "TTL 1, neighbour unknown": (udp(A, B2, ttl=1), "drop_ip4_ttl", "icmp_tx_time_exceeded", 11,
                                 0),
    "no route": (udp(A, "8.8.8.8"), "drop_ip4_no_route", "icmp_tx_unreach_net", 3, 0),
    "no route, TTL 1 (5.2.3 before 5.3.1)": (udp(A, "8.8.8.8", ttl=1), "drop_ip4_no_route",
                                             "icmp_tx_unreach_net", 3, 0),
    "null0": (udp(A, "10.9.1.1"), "drop_ip4_null0", "icmp_tx_unreach_host", 3, 1),
    "protocol for us": (IP(src=A.ip, dst=ROUTER[0].ip, proto=132) / Raw(b"12345678"),
                        "drop_ip4_proto", "icmp_tx_unreach_proto", 3, 2),
    "UDP port": (udp(A, ROUTER[0].ip), "drop_udp_port", "icmp_tx_unreach_port", 3, 3),
    "UDP port, far address": (udp(A, ROUTER[1].ip), "drop_udp_port", "icmp_tx_unreach_port", 3, 3),
    "UDP port, TTL 1 is enough (RFC 1122 3.2.1.7)": (udp(A, ROUTER[0].ip, ttl=1), "drop_udp_port",
                                                     "icmp_tx_unreach_port", 3, 3),
    "UDP without checksum": (udp(A, ROUTER[0].ip, chksum=0), "drop_udp_port",
                             "icmp_tx_unreach_port", 3, 3),
}


@pytest.mark.parametrize("packet,drop,error,type_,code", ANSWERED.values(), ids=ANSWERED.keys())
def test_dropped_with_an_error(make, packet, drop, error, type_, code):
    m = make(THIRD)
    m.learn(A, B)
    m.send(0, frame(packet))
    m.expect(0, error_about(ROUTER[0], A, packet, type_, code))
    m.expect_nothing()
    m.expect_counters(**{drop: 1, error: 1})


@pytest.mark.parametrize("flags,data,answer", [
    ("S", b"", dict(flags="RA", seq=0, ack=1001)),
    ("", b"data", dict(flags="RA", seq=0, ack=1004)),
    ("A", b"data", dict(flags="R", seq=77, ack=0)),
    ("FA", b"", dict(flags="R", seq=77, ack=0)),
    ("R", b"", None), ("RA", b"", None)], ids=str)
def test_tcp_to_a_machine_without_tcp(m, flags, data, answer):
    """RFC 9293 3.10.7.1: without a connection, a segment is answered by a reset, a reset by
    nothing."""
    m.send(0, frame(IP(src=A.ip, dst=ROUTER[1].ip) /
                    TCP(sport=4000, dport=22, flags=flags, seq=1000, ack=77) / Raw(data)))
    if answer:
        m.expect(0, ether(ROUTER[0], A) / IP(src=ROUTER[1].ip, dst=A.ip, id=0, flags="DF") /
                 TCP(sport=22, dport=4000, window=0, **answer))
        m.expect_counters(drop_tcp_port=1, tcp_tx=1, tcp_tx_rst=1)
    m.expect_nothing()


@pytest.mark.parametrize("packet", [
    IP(src=A.ip, dst=ROUTER[0].ip) / TCP(dport=22, chksum=1),
    IP(src=A.ip, dst=ROUTER[0].ip) / TCP(dport=22, dataofs=4),
    IP(src=A.ip, dst=ROUTER[0].ip) / TCP(dport=22, dataofs=7),
    IP(src=A.ip, dst=ROUTER[0].ip) / TCP(dport=22, flags="SF") / Raw(b"four"),
    IP(src=A.ip, dst=ROUTER[0].ip, proto=6) / Raw(b"1234567890123456789")],
    ids=["checksum", "offset below 5", "offset beyond the packet",
         "SYN and FIN", "19 bytes"])
def test_tcp_malformed(m, packet):
    m.send(0, frame(packet))
    m.expect_nothing()
    m.expect_counters(drop_tcp_malformed=1)


def test_too_large_and_do_not_fragment(make):
    """RFC 1191 4: the error has the MTU of the next link."""
    m = make(CONFIG + " mtu 1000\n")
    m.learn(A, B)
    packet = udp(A, B, size=973, flags="DF")
    m.send(0, frame(packet))
    m.expect(0, error_about(ROUTER[0], A, packet, 3, 4, 1000))
    m.expect_counters(drop_ip4_need_frag=1, icmp_tx_unreach_frag=1)
    m.route(udp(A, B, size=972, flags="DF"))


def test_echo_application_forwards_nothing(make):
    m = make(app="echo")
    m.learn(A, B)
    m.send(0, frame(udp(A, B)))
    m.expect_nothing()
    m.expect_counters(drop_ip4_not_ours=1)


def test_ring_to_the_control_core_full(make):
    """Three ports bring 256 ARP messages each in one turn; the ring holds 512, of which 27 times 6
    and 56 are reserved for other kinds, and 6 for ARP by each port (test_punt.py)."""
    m = make(ports=3, config=CONFIG + "interface eth2\n ip address 203.0.113.1/24\n")
    for port in range(3):
        station = Station(port, ROUTER[port].ip[:-1] + "9", "02:ee:00:00:00:09")
        for _ in range(256):
            m.queue(port, padded(arp_request(station, ROUTER[port].ip)))
    m.command("run")
    counted = m.counted()
    assert counted == {"delivered_arp": 294, "arp_tx_reply": 294, "drop_punt_full": 474}
    assert [len(m.take_all(port)) for port in range(3)] == [256, 32, 6]


HOLD = 768  # CORE_OUT_HOLD
KEPT = 64    # CORE_OUT_KEPT


def test_transmit_ring_full(m):
    """704 packets are held for a port that does not send; later ones are lost, the newest first,
    and are not counted as forwarded. Other ports are unaffected."""
    packets = [frame(udp(A, B, id=i)) for i in range(1000)]
    m.command("room 1 0")
    m.send(0, *packets)
    m.expect_nothing()
    m.expect_counters(forwarded=HOLD - KEPT, drop_tx_full=1000 - (HOLD - KEPT))
    m.send(1, frame(udp(B, A), ROUTER[1], B))
    m.expect(0, ether(ROUTER[0], A) / hop(udp(B, A)))
    m.command("room 1 100")
    assert len(m.outs[1]) == 100
    m.command("room 1 -1")
    for i in range(HOLD - KEPT):
        m.expect(1, ether(ROUTER[1], B) / hop(udp(A, B, id=i)))
    m.expect_counters(forwarded=1)


def ping(n):
    """A ping to the machine itself, which answers on the control core."""
    return IP(src=B.ip, dst=ROUTER[1].ip, id=n) / ICMP(id=1, seq=n)


def sequence_numbers(m):
    return [Ether(f)[ICMP].seq for f in m.take_all(1) if ICMP in Ether(f)]


def test_own_packets_in_a_flood(m):
    """A port that is sent more than it takes has places reserved for the machine's own packets:
    while at most 64 of these wait, none is lost, in any order of the flood and for its whole
    duration. As many places are reserved for forwarded packets."""
    m.command("room 1 0")
    flood = [frame(udp(A, B, id=i)) for i in range(1000)]
    m.send(0, *flood)
    m.send(1, *(frame(ping(n), ROUTER[1], B) for n in range(KEPT)))
    m.send(0, *flood)
    m.send(1, *(frame(ping(n), ROUTER[1], B) for n in range(KEPT, KEPT + 10)))
    m.expect_counters(forwarded=HOLD - KEPT, drop_tx_full=2000 - (HOLD - KEPT),
                      delivered_icmp=KEPT + 10, icmp_tx_echo_reply=KEPT + 10,
                      originated_drop_tx=10)
    m.command("room 1 -1")
    assert sequence_numbers(m) == list(range(KEPT))
    m.command("room 1 0")
    done = []
    for n in range(200):
        m.command("room 1 12")  # a twentieth of the flood
        m.send(0, *flood[:240])
        m.send(1, frame(ping(n), ROUTER[1], B))
        done += sequence_numbers(m)
    m.command("room 1 -1")
    assert done + sequence_numbers(m) == list(range(200)) and len(done) > 100
    assert "originated_drop_tx" not in m.counted()


def test_a_flood_of_own_packets(m):
    """Forwarded packets have places that the machine's own packets cannot take."""
    m.command("room 1 0")
    for first in range(0, 1000, 250):
        m.send(1, *(frame(ping(n), ROUTER[1], B) for n in range(first, first + 250)))
    m.send(0, *(frame(udp(A, B, id=i)) for i in range(100)))
    m.expect_counters(delivered_icmp=1000, icmp_tx_echo_reply=1000,
                      originated_drop_tx=1000 - (HOLD - KEPT), forwarded=KEPT,
                      drop_tx_full=100 - KEPT)
    m.command("room 1 -1")
    assert sequence_numbers(m) == list(range(HOLD - KEPT))


def test_a_port_that_stands_still_stops_no_other(make):
    """It does not even stop the packets received by it, although our errors are among the held
    packets: a router drops, and goes on receiving."""
    m = make(ports=3, config=CONFIG + "interface eth2\n ip address 203.0.113.1/24\n")
    c = Station(2, "203.0.113.9", "02:cc:00:00:00:09")
    m.learn(A, B, c)
    m.command("room 1 0")
    m.send(1, *(frame(udp(B, "8.8.8.8", id=i), ROUTER[1], B) for i in range(10)))
    m.send(0, *(frame(udp(A, B, id=i)) for i in range(800)))
    held = m.counted()
    assert held["forwarded"] + held["drop_tx_full"] == 800 and held["drop_tx_full"] > 0
    for station in A, B:
        m.send(station.port, *(frame(udp(station, c, id=i), ROUTER[station.port], station)
                               for i in range(600)))
        assert len(m.take_all(2)) == 600
    m.send(2, *(frame(udp(c, A, id=i), ROUTER[2], c) for i in range(600)))
    assert len(m.take_all(0)) == 600
    m.expect_counters(forwarded=1800)
    m.command("room 1 -1")
    assert len(m.take_all(1)) == HOLD - KEPT + 10  # the errors use the places reserved for us


def test_no_buffer_for_a_fragment(make):
    m = make(CONFIG + " mtu 576\n")
    m.learn(A, B)
    m.command("reserve 1")
    m.send(0, frame(udp(A, B, size=1400)))
    m.expect_nothing()
    m.expect_counters(drop_no_buffer=1)
    m.command("reserve -1")
    m.send(0, frame(udp(A, B, size=1400)))
    assert len(m.take_all(1)) == 3


@pytest.mark.parametrize("buffers,pieces", [(2, 1), (3, 2), (4, 3), (5, 3)])
def test_buffers_for_some_fragments(make, buffers, pieces):
    """Three fragments are needed; the packet itself holds one of the remaining buffers."""
    m = make(CONFIG + " mtu 576\n")
    m.learn(A, B)
    m.command("reserve %d" % buffers)
    m.send(0, frame(udp(A, B, size=1400)))
    assert len(m.take_all(1)) == pieces
    if pieces == 3:
        m.expect_counters(forwarded=1, fragmented=1, fragments_created=3)
    else:
        m.expect_counters(drop_no_buffer=1, fragments_created=pieces)
    m.command("reserve -1")


def test_no_buffer_for_an_error(m):
    m.command("reserve 1")
    m.send(0, frame(udp(A, "8.8.8.8")))
    m.expect_nothing()
    m.expect_counters(drop_ip4_no_route=1, originated_drop_no_buffer=1)
    m.command("reserve -1")
