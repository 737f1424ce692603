"""`trace` of the console: its output for each decision of the machine, in both families; a traced
packet is treated as any other and keeps its place; how a trace ends."""
import os
import random
import re
import struct

import pytest
from ip6 import *
from machine import *
from scapy.layers.inet import ICMP, TCP
from test_group import CONFIG3, C, Routed
from test_remote import HASH, Session, make_known

HEAD = "following 1 packet, for 8 s at most; Ctrl-C ends\n"
MIXED = CONFIG6.replace(" ip address 192.0.2.1/24\n", " ip address 192.0.2.1/24\n"
                        " ip access-group IN in\n ipv6 traffic-filter IN6 in\n").replace(
    " ip address 198.51.100.1/24\n", " ip address 198.51.100.1/24\n ip access-group OUT out\n"
    " ipv6 traffic-filter OUT6 out\n") + """\
ip route 203.0.113.0/24 198.51.100.2
ip route 203.0.113.128/25 null0
ipv6 route 2001:db8:9::/48 2001:db8:2::2
ipv6 route 2001:db8:9:f::/64 null0
ip access-list IN
 5 deny udp any any eq 7
 10 permit ip any any
ip access-list OUT
 10 deny udp any any eq 9
 20 permit ip any any
ipv6 access-list IN6
 5 deny udp any any eq 7
 10 permit ipv6 any any
ipv6 access-list OUT6
 10 deny udp any any eq 9
 20 permit ipv6 any any
"""


def to(packet, **fields):
    return Ether(src=A.mac, dst=ROUTER[0].mac, **fields) / packet


def story(m, frame, line="trace 1 timeout 8", wait=10, port=0, before=()):
    """The printed lines of one packet, as (word, text). before: other frames, which precede it in the
    same vector."""
    start = len(m.text)
    m.key(line + "\r")
    m.send_raw(port, frame) if isinstance(frame, bytes) else m.send(port, *before, frame)
    m.time(wait * MS)
    said = m.text[start:].replace("\r", "")
    begin, end = said.index("packet 1\n"), said.index("\ndone: 1 of 1 packets followed\nr1# ")
    assert said[:begin] == line + "\n" + HEAD
    return [(part[2:12].strip(), part[12:]) for part in said[begin:end].splitlines()[1:]]


def hello(m, *stations):
    """Makes the stations known, in both families."""
    m.learn(*stations)
    for s in stations:
        learn6(m, s)
    m.counted()


@pytest.fixture
def r(make):
    machine = make(MIXED)
    hello(machine, A, B)
    return machine


def told(m, frame, *want, **more):
    """Checks the output after the head, in this order."""
    lines = story(m, frame, **more)
    assert lines[0][0] == "received" and lines[1][0] == "frame"
    # only the name of a counter, without its common text
    assert [(word, text.split(": ")[0] if word in ("fate", "dropped", "counted") else text)
            for word, text in lines[2:]] == [tuple(w.split(None, 1)) for w in want]
    m.take_all(0), m.take_all(1)


IN4, IN6 = "filter eth0 in, IN: 10 permit ip any any", "filter eth0 in, IN6: 10 permit ipv6 any any"
OUT4 = "filter eth1 out, OUT: 20 permit ip any any"
OUT6 = "filter eth1 out, OUT6: 20 permit ipv6 any any"
WAY4 = ("route 198.51.100.2/32 via 198.51.100.2 eth1", "neighbour 02:bb:00:00:00:02 eth1")
WAY6 = ("route 2001:db8:2::/64 via 2001:db8:2::2 eth1", "neighbour 02:bb:00:00:00:02 eth1")
FITS = "mtu 1500, the packet has %d: fits"
LARGE = "mtu 1500, the packet has %d: too large"
FORWARDED = "fate forwarded"
CORRECT = "header correct"
PROHIBITED = "counted icmp_tx_unreach_prohibited"
PROHIBITED6 = "counted icmp6_tx_unreach_prohibited"

# frame, its expected output
DECISIONS = {
    "forwarded": (to(udp(A, B)), CORRECT, IN4, *WAY4, FITS % 60, OUT4, "ttl 64 to 63", "sent eth1",
                  FORWARDED),
    "route": (to(udp(A, "203.0.113.5")), CORRECT, IN4, "route 203.0.113.0/24 via 198.51.100.2 eth1",
              WAY4[1], FITS % 60, OUT4, "ttl 64 to 63", "sent eth1", FORWARDED),
    "null0": (to(udp(A, "203.0.113.200")), CORRECT, IN4, "route 203.0.113.128/25 null0", "sent eth0",
              "dropped drop_ip4_null0",
              "counted icmp_tx_unreach_host"),
    "no route": (to(udp(A, "8.8.8.8")), CORRECT, IN4, "route no route", "sent eth0",
                 "dropped drop_ip4_no_route",
                 "counted icmp_tx_unreach_net"),
    "ttl": (to(udp(A, B, ttl=1)), CORRECT, IN4, *WAY4, FITS % 60, "sent eth0",
            "dropped drop_ip4_ttl",
            "counted icmp_tx_time_exceeded"),
    "denied in": (to(udp(A, B, dport=7)), CORRECT, "filter eth0 in, IN: 5 deny udp any any eq 7",
                  "sent eth0", "dropped drop_acl_in", PROHIBITED),
    "denied out": (to(udp(A, B, dport=9)), CORRECT, IN4, *WAY4, FITS % 60,
                   "filter eth1 out, OUT: 10 deny udp any any eq 9", "sent eth0",
                   "dropped drop_acl_out", PROHIBITED),
    "denied out, slowly": (to(udp(A, B, dport=9, size=1480)), CORRECT, IN4, *WAY4, LARGE % 1508,
                           "filter eth1 out, OUT: 10 deny udp any any eq 9", "sent eth0",
                           "dropped drop_acl_out", PROHIBITED),
    "fragmented": (to(udp(A, B, size=1480)), CORRECT, IN4, *WAY4, LARGE % 1508, OUT4, "ttl 64 to 63",
                   "sent eth1, 2 frames", FORWARDED,
                   "counted 2 x fragments_created",
                   "counted fragmented"),
    "too big": (to(udp(A, B, size=1480, flags="DF")), CORRECT, IN4, *WAY4, LARGE % 1508, OUT4,
                "sent eth0", "dropped drop_ip4_need_frag", "counted icmp_tx_unreach_frag"),
    "checksum": (to(IP(src=A.ip, dst=B.ip, chksum=1) / UDP()),
                 "dropped drop_ip4_checksum"),
    "other station": (Ether(src=A.mac, dst=B.mac) / udp(A, B),
                      "dropped drop_eth_dst"),
    "echo": (to(IP(src=A.ip, dst=ROUTER[0].ip) / ICMP()), CORRECT, IN4, "route 192.0.2.1/32 local",
             "control takes a packet to the machine itself",
             "counted icmp_tx_echo_reply", "control sends an answer of ours",
             "fate delivered_icmp"),
    "closed port": (to(udp(A, ROUTER[0])), CORRECT, IN4, "route 192.0.2.1/32 local",
                    "control takes a packet to the machine itself",
                    "counted icmp_tx_unreach_port",
                    "control sends an answer of ours",
                    "dropped drop_udp_port"),
    "closed tcp": (to(IP(src=A.ip, dst=ROUTER[0].ip) / TCP(dport=5)), CORRECT, IN4,
                   "route 192.0.2.1/32 local", "control takes a packet to the machine itself",
                   "counted tcp_tx",
                   "counted tcp_tx_rst", "control sends an answer of ours",
                   "dropped drop_tcp_port"),
    "arp": (arp_request(A, ROUTER[0].ip), "control takes an ARP message",
            "fate delivered_arp", "counted arp_tx_reply"),
    "forwarded 6": (to(udp6(A, B)), CORRECT, IN6, *WAY6, FITS % 80, OUT6, "ttl 64 to 63", "sent eth1",
                    FORWARDED),
    "route 6": (to(udp6(A, "2001:db8:9::1")), CORRECT, IN6,
                "route 2001:db8:9::/48 via 2001:db8:2::2 eth1", WAY6[1], FITS % 80, OUT6,
                "ttl 64 to 63", "sent eth1", FORWARDED),
    "null0 6": (to(udp6(A, "2001:db8:9:f::1")), CORRECT, IN6, "route 2001:db8:9:f::/64 null0",
                "sent eth0", "dropped drop_ip6_null0",
                "counted icmp6_tx_unreach_reject"),
    "no route 6": (to(udp6(A, "2001:db8:77::1")), CORRECT, IN6, "route no route", "sent eth0",
                   "dropped drop_ip6_no_route",
                   "counted icmp6_tx_unreach_no_route"),
    "hop limit": (to(udp6(A, B, hlim=1)), CORRECT, IN6, *WAY6, FITS % 80, "sent eth0",
                  "dropped drop_ip6_hop_limit",
                  "counted icmp6_tx_time_exceeded"),
    "denied in 6": (to(udp6(A, B, dport=7)), CORRECT, "filter eth0 in, IN6: 5 deny udp any any eq 7",
                    "sent eth0", "dropped drop_acl_in", PROHIBITED6),
    "denied out 6": (to(udp6(A, B, dport=9)), CORRECT, IN6, *WAY6, FITS % 80,
                     "filter eth1 out, OUT6: 10 deny udp any any eq 9", "sent eth0",
                     "dropped drop_acl_out", PROHIBITED6),
    "too big 6": (to(udp6(A, B, size=1480)), CORRECT, IN6, *WAY6, LARGE % 1528, OUT6, "sent eth0",
                  "dropped drop_ip6_too_big",
                  "counted icmp6_tx_too_big"),
    "echo 6": (to(echo6(A, ROUTER[0])), CORRECT, IN6, "route 2001:db8:1::/64 local",
               "control takes a packet to the machine itself",
               "counted icmp6_tx_echo_reply",
               "control sends an answer of ours",
               "fate delivered_icmp6"),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_decision(r, name):
    frame, *want = DECISIONS[name]
    told(r, frame, *want)


VERIFY = CONFIG6.replace(
    "interface eth1", " ip verify unicast source reachable-via rx allow-default\n"
    " ipv6 verify unicast source reachable-via rx allow-default\ninterface eth1")


@pytest.mark.parametrize("packet,back,end", [
    (udp(A, B), "192.0.2.2/32 via 192.0.2.2 eth0", "forwarded"),
    (udp(A, B, size=1480), "192.0.2.2/32 via 192.0.2.2 eth0", "forwarded"),
    (udp("198.51.100.9", B), "198.51.100.0/24 connected eth1, neighbour not asked for yet",
     "drop_ip4_urpf"),
    (udp("8.8.8.8", B), "no route", "drop_ip4_urpf"),
    (udp6(A, B), "2001:db8:1::/64 via 2001:db8:1::2 eth0", "forwarded"),
    (udp6("2001:db8:2::9", B), "2001:db8:2::/64 connected eth1, neighbour not asked for yet",
     "drop_ip6_urpf"),
    (udp6("2001:db8:77::9", ROUTER[1]), "no route", "drop_ip6_urpf")])
def test_source_that_is_verified(make, packet, back, end):
    m = make(VERIFY)
    hello(m, A, B)
    lines = story(m, to(packet))
    assert ("source", "the route back is " + back) in lines
    assert any(text.startswith(end + ":") for _, text in lines)
    m.take_all(0), m.take_all(1)


@pytest.mark.parametrize("six", [False, True])
def test_one_of_several(make, six):
    """The output names the next hop of a flow, and the flow goes there; on the slow path too."""
    routed = Routed(make(CONFIG3, ports=3), six)
    routed.group(B, C)
    prefix = "2001:db8:a::/48" if six else "10.0.0.0/8"
    via = {1: B.ip6 if six else B.ip, 2: C.ip6 if six else C.ip}
    ports = set()
    for n in range(12):
        size = 1480 if n % 3 == 0 and not six else 18
        lines = dict(story(routed.m, to(routed.flow(n, size))))
        port = int(lines["sent"][3])
        assert lines["route"] == "%s one of 2, via %s eth%d" % (prefix, via[port], port)
        assert len(routed.m.take_all(port)) == (2 if size > 1400 else 1)
        ports.add(port)
    assert ports == {1, 2}


@pytest.mark.parametrize("frame,want", [
    (to(udp(A, B, ttl=9)), "192.0.2.2 > 198.51.100.2, udp 1024 > 2048, ttl 9"),
    (to(IP(src=A.ip, dst=B.ip) / ICMP(type=8)), "192.0.2.2 > 198.51.100.2, icmp type 8 code 0, ttl 64"),
    (to(IP(src=A.ip, dst=B.ip, frag=100, proto=17) / Raw(b"x" * 40)),
     "192.0.2.2 > 198.51.100.2, udp, fragment at 800, ttl 64"),
    (to(IP(src=A.ip, dst=B.ip, proto=253)), "192.0.2.2 > 198.51.100.2, protocol 253, ttl 64"),
    (to(echo6(A, B)), "2001:db8:1::2 > 2001:db8:2::2, icmp6 type 128 code 0, ttl 64"),
    (arp_request(A, ROUTER[0].ip), "arp 192.0.2.2 > 192.0.2.1"),
    (to(Raw(b"\0\x07\x08\0" + bytes(udp(A, B))), type=0x8100), "vlan 7, 192.0.2.2 > 198.51.100.2, udp 1024 > 2048, ttl 64"),
    (to(Raw(b"x" * 50), type=0x88cc), "type 88cc"),
])
def test_frame_in_one_line(r, frame, want):
    line = dict(story(r, frame))["frame"]
    assert re.fullmatch(r"([0-9a-f:]{17}) > ([0-9a-f:]{17}), " + re.escape(want), line), line
    r.take_all(0), r.take_all(1)


def test_short_frame(r):
    assert story(r, b"\x02\x48") == [
        ("received", "eth0, core 0, queue 0, 2 bytes"),
        ("dropped", "drop_eth_short: frame shorter than its Ethernet header")]


def test_neighbour_that_answers(r):
    """The packet waits, and is reported when it leaves."""
    start = len(r.text)
    r.key("trace 1 udp\r")
    r.send(0, to(udp(A, B2)))
    request = Ether(r.take(1).frame)
    r.time(20 * MS)
    assert "packet 1" not in r.text[start:]
    r.send(1, Ether(src=B2.mac, dst=ROUTER[1].mac) / ARP(
        op=2, hwsrc=B2.mac, psrc=B2.ip, hwdst=request.src, pdst=request[ARP].psrc))
    r.expect(1, Ether(src=ROUTER[1].mac, dst=B2.mac) / hop(udp(A, B2)))
    r.time(10 * MS)
    said = r.text[start:].replace("\r", "")
    assert said.endswith("""\
  route     198.51.100.0/24 connected eth1, neighbour not asked for yet
  filter    eth1 out, OUT: 20 permit ip any any
  ttl       64 to 63
  control   takes a packet whose neighbour is not known
  counted   arp_tx_request: ARP requests sent
  control   it waits for its neighbour to answer
  control   the neighbour is known: sends it
  fate      forwarded: packets sent on, by their route or by a program
done: 1 of 1 packets followed
r1# """), said


@pytest.mark.parametrize("packet,drop,error", [
    (udp(A, B2), "drop_neigh_unreachable", "icmp_tx_unreach_host"),
    (udp6(A, "2001:db8:2::77"), "drop_neigh_unreachable", "icmp6_tx_unreach_address")])
def test_neighbour_that_does_not(r, packet, drop, error):
    lines = story(r, to(packet), wait=5000)
    words = [text.split(":")[0] for _, text in lines]
    assert words.index("it waits for its neighbour to answer") < words.index(drop) < \
        words.index(error) < words.index("sends an answer of ours")
    r.take_all(0), r.take_all(1)


def test_link_that_is_down(r):
    r.link(1, False)
    lines = story(r, to(udp(A, B)))
    assert ("neighbour", "not known, or its link is down") in lines
    assert ("dropped", "drop_tx_down: outgoing port is down") in lines
    r.take_all(0), r.take_all(1)


def test_ring_that_is_full(r):
    """A packet that waits for room is reported so; one without room is dropped."""
    r.command("room 1 0")
    assert ("sent", "eth1, where 1 wait for room in the ring") in story(r, to(udp(A, B)))
    for _ in range(3):
        r.send(0, *[to(udp(A, B))] * 256)
    lines = story(r, to(udp(A, B)))
    assert ("dropped", "drop_tx_full: transmit ring full") in lines
    assert not any(word == "sent" for word, _ in lines)
    r.command("room 1 -1")
    r.time(10 * MS)
    r.take_all(1)


def test_packets_before_it_are_not_in_its_story(r):
    """Neither counters nor drops of packets that came in the same vector, ahead of a followed one."""
    denied, line = to(udp(A, B, dport=9)), "trace 1 dst port 9 timeout 8"
    alone = story(r, denied, line)
    assert story(r, denied, line, before=[to(udp(A, B))] * 3)[1:] == alone[1:]
    r.command("room 1 0")
    for _ in range(4):
        r.send(0, *[to(udp(A, B))] * 256)
    assert story(r, denied, line, before=[to(udp(A, B))] * 3)[1:] == alone[1:]
    r.command("room 1 -1")
    r.time(10 * MS)
    r.take_all(0), r.take_all(1)


def everything():
    """Frames of every kind, many of one flow among them, numbered to show their order."""
    frames = []
    for n in range(16):
        for packet in (udp(A, B, id=n), udp6(A, B, fl=n), udp(A, B, id=n, size=1480),
                       udp(A, B, id=n, ttl=1), udp(A, B, id=n, dport=9), udp6(A, B, dport=7, fl=n)):
            frames.append(to(packet))
    return frames


def pushed(make, *lines):
    m = make(MIXED)
    hello(m, A, B)
    for line in lines:
        m.key(line + "\r")
    m.send(0, *everything())
    m.time(SECOND)
    out = m.take_all(0), m.take_all(1)
    return out, m.counted(), m.text


@pytest.mark.parametrize("words,followed", [("", 32), ("dst port 9", 16), ("ip6 dst port 2048", 16)])
def test_same_as_untraced(make, words, followed):
    """Traced packets, and those between them, are sent unchanged, in the same order per flow, and
    are counted as without a trace."""
    out, counted, _ = pushed(make)
    traced_out, traced_counted, text = pushed(make, "trace 100 " + words)
    assert traced_counted == counted and text.count("\npacket ") == followed
    assert len(out[0]) == 48 and len(out[1]) == 64
    assert sorted(traced_out[0]) == sorted(out[0])
    for kind in b"\x08\0", b"\x86\xdd":
        assert [f for f in traced_out[1] if f[12:14] == kind] == \
            [f for f in out[1] if f[12:14] == kind]


def test_filter_and_port(r):
    """Only packets that match the filter, on that port, in order."""
    r.key("trace 3 on eth1 udp dst port 53\r")
    r.send(0, to(udp(A, B, dport=53)))
    back = Ether(src=B.mac, dst=ROUTER[1].mac)
    for n in range(6):
        r.send(1, back / udp(B, A, dport=53 + n % 2, sport=n))
    r.time(10 * MS)
    assert re.findall(r"udp (\d+) > (\d+)", r.text) == [("0", "53"), ("2", "53"), ("4", "53")]
    assert r.text.endswith("done: 3 of 3 packets followed\r\nr1# ")
    r.take_all(0), r.take_all(1)


def test_flood(r):
    """Tracing loses no packet; packets without room for a record are counted."""
    r.counted()
    r.key("trace 100\r")
    for n in range(20):
        r.send(0, *[to(udp(A, B, id=n * 256 + i)) for i in range(256)])
        r.time(20 * MS)
    assert [IP(f[14:]).id for f in r.take_all(1)] == list(range(20 * 256))
    assert r.counted() == {"forwarded": 20 * 256}
    r.time(SECOND)
    assert re.search(r"done: 100 of 100 packets followed, no room for \d+ between them\r\nr1# $", r.text)


def test_ends(r):
    """A trace ends by Ctrl-C, by its time limit, and with the ports; then another may start."""
    r.key("trace 2\r")
    r.send(0, to(udp(A, B)))
    r.time(5 * MS)
    r.key("\x03")
    assert r.text.endswith("ended: 1 of 2 packets followed\r\nr1# ")
    r.key("trace 2 timeout 3\r")
    r.time(2900 * MS)
    assert r.text.endswith("following 2 packets, for 3 s at most; Ctrl-C ends\r\n")
    r.time(200 * MS)
    assert r.text.endswith("time is up: 0 of 2 packets followed\r\nr1# ")
    r.key("trace 2\r")
    r.command("restart")
    assert "the ports restart: 0 of 2 packets followed\r\nr1# " in r.text
    r.time(10 * SECOND)
    r.take_all(0), r.take_all(1)
    hello(r, A, B)
    assert ("sent", "eth1") in story(r, to(udp(A, B)))
    r.take_all(1)


def test_ended_while_a_packet_waits(r):
    """The packet is reported as far as it got, and its later records do no harm."""
    r.key("trace 1\r")
    r.send(0, to(udp(A, B2)))
    r.time(5 * MS)
    r.key("\x03")
    assert r.text.endswith("  control   it waits for its neighbour to answer\r\n"
                           "  control   has not finished with it\r\n"
                           "ended: 1 of 1 packets followed\r\nr1# ")
    r.time(5 * SECOND)
    r.take_all(0), r.take_all(1)
    r.counted()


def test_two_consoles(make):
    """One trace at a time; over the network too, where a session's own segments are not traced."""
    m = make_known(make, "console server\nconsole access 192.0.2.0/24\n" + HASH + "\n" + CONFIG)
    session = Session(m, src=A2).login()
    m.key("trace 1 udp\r")
    assert "a trace is on: there is one at a time" in session.run(b"trace 1")
    m.key("\x03")
    session.type(b"trace 3 on eth0 tcp\r\n")
    m.text = ""
    m.key("trace 1\r")
    assert "a trace is on: there is one at a time" in m.text
    for _ in range(3):
        m.send(0, to(IP(src=A.ip, dst=B.ip) / TCP(dport=80)))
    m.take_all(1)
    m.time(20 * MS)
    session.hear()
    assert session.said.count("192.0.2.2 > 198.51.100.2, tcp 20 > 80,") == 3
    assert session.said.endswith("done: 3 of 3 packets followed\r\nr1# ")


def test_session_that_ends(make):
    m = make_known(make, "console server\nconsole access 192.0.2.0/24\n" + HASH + "\n" + CONFIG)
    session = Session(m, src=A2).login()
    session.type(b"trace 3 udp\r\n")
    session.send("RA")
    m.time(10 * MS)
    assert ("sent", "eth1") in story(m, to(udp(A, B)))
    m.take_all(0), m.take_all(1)


@pytest.mark.parametrize("app,word", [("discard", "discarded"), ("echo", "delivered_udp")])
def test_other_applications(make, app, word):
    """Other applications record no decisions; counters and frames are still reported."""
    m = make(CONFIG, app=app)
    m.learn(A)
    lines = story(m, to(udp(A, ROUTER[0], dport=7)))
    assert any(text.startswith(word + ":") for _, text in lines)
    assert (("sent", "eth0") in lines) == (app == "echo")
    m.take_all(0)


def test_record_that_lies(r):
    """Records of a data core are not trusted: no number in them is used before it is checked."""
    rng = random.Random(int(os.environ.get("SEED", "1")))
    for n in range(20):
        r.key("trace 30\r")
        for i in range(30):
            notes = b"".join(struct.pack("<BBHII", rng.randrange(8), rng.randrange(256),
                                         rng.getrandbits(16), rng.choice([rng.randrange(5000),
                                                                          rng.getrandbits(32)]),
                                         rng.getrandbits(32)) for _ in range(28))
            head = bytearray(rng.randbytes(128))
            head[12:15] = rng.choice([b"\x08\0\x45", b"\x08\0\x4f", b"\x86\xdd\x60", b"\x81\0\0",
                                      bytes(head[12:15])])
            record = struct.pack("<QHHHBBB7x", rng.getrandbits(64), i + 1, 0, rng.getrandbits(16),
                                 rng.randrange(256), rng.randrange(256), rng.randrange(256))
            r.command("lie %s 1" % (record + head + notes).hex())
            r.time(3 * MS)
        r.time(10 * MS)
        assert r.text.endswith("done: 30 of 30 packets followed\r\nr1# ")
    r.key("trace 1 timeout 2\r")
    r.command("lie %s 33" % bytes(488).hex())
    r.time(3 * SECOND)
    assert r.text.endswith("time is up: 0 of 1 packets followed\r\nr1# ")


@pytest.mark.parametrize("line,said", [
    ("0", "how many packets: a number from 1 to 100"), ("101", "how many packets"),
    ("x", "how many packets"), ("1 on eth9", "there is no port eth9"), ("1 on", "there is no port"),
    ("1 timeout", "timeout takes a number from 1 to 3600"),
    ("1 udp timeout 0", "timeout takes a number"),
    ("1 hots 1.2.3.4", 'expected a filter term, at "hots"')])
def test_errors(r, line, said):
    assert said in r.console("trace " + line)


def test_vlan(make):
    """In by a VLAN, out by the port itself: the frame's line has the tag, the others the name."""
    m = make("hostname r1\ninterface eth0.100\n ip address 192.0.2.1/24\n ip access-group IN in\n"
             "interface eth1\n ip address 198.51.100.1/24\nip access-list IN\n permit ip any any\n")
    tagged = to(Raw(b"\0\x64\x08\0" + bytes(udp(A, "198.51.100.9"))), type=0x8100)
    lines = dict(story(m, tagged, wait=9000))  # its error waits for the sender's neighbour too
    assert lines["frame"].endswith(", vlan 100, 192.0.2.2 > 198.51.100.9, udp 1024 > 2048, ttl 64")
    assert lines["filter"] == "eth0.100 in, IN: 10 permit ip any any"
    assert lines["route"] == "198.51.100.0/24 connected eth1, neighbour not asked for yet"
    assert lines["ttl"] == "64 to 63"
    m.take_all(0), m.take_all(1)
