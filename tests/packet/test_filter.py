"""Packet filters: what a list matches, where it is applied, the fate of denied packets (RFC 1812
5.3.9, RFC 4443 3.1), and counts. The unit tests cover the dialect, and that a list of a thousand
rules finds the same rule as a linear search."""
import os
import re

import pytest
from ip6 import *
from machine import *
from scapy.layers.inet import ICMP, TCP, IPOption_NOP
from scapy.layers.inet6 import HBHOptUnknown, ICMPv6EchoRequest, IPv6ExtHdrFragment
from scapy.layers.sctp import SCTP
from test_drops import with_options


def filtered(rules, way="in", port=0, silent=True, six=False):
    """A router with that list on an interface."""
    ip = "ipv6" if six else "ip"
    block = "interface eth%d\n" % port
    apply = " %s F %s\n" % ("ipv6 traffic-filter" if six else "ip access-group", way)
    if silent:
        apply += " no %s unreachables\n" % ip
    return CONFIG6.replace(block, block + apply) + "%s access-list F\n" % ip + \
        "".join(" %s\n" % rule for rule in rules)


def ip4(*layers, **fields):
    packet = IP(src=A.ip, dst=B.ip, **fields)
    for layer in layers:
        packet /= layer
    return packet


def ip6(*layers, **fields):
    packet = IPv6(src=A.ip6, dst=B.ip6, **fields)
    for layer in layers:
        packet /= layer
    return packet


def tcp(flags="S", **fields):
    return TCP(**{"sport": 1024, "dport": 80, "flags": flags, **fields})


UDP_TO = UDP(sport=1024, dport=53)
LATER = dict(flags=0, frag=185, proto=17)

# rule: packets that it permits, packets that it does not
MATCHES = {
    "permit ip any any": ([ip4(UDP_TO), ip4(tcp()), ip4(proto=253)], []),
    "permit ip host 192.0.2.2 host 198.51.100.2": ([ip4(UDP_TO)], []),
    "permit ip 192.0.2.0/31 any": ([], [ip4(UDP_TO)]),
    "permit ip 192.0.2.2/31 any": ([ip4(UDP_TO)], []),
    "permit ip any 198.51.100.0 255.255.255.0": ([ip4(UDP_TO)], []),
    "permit ip any 198.51.100.128/25": ([], [ip4(UDP_TO)]),
    "permit udp any any": ([ip4(UDP_TO)], [ip4(tcp()), ip4(ICMP())]),
    "permit udp any any eq 53": ([ip4(UDP_TO), ip4(Raw(b"x" * 8), **LATER)],
                                 [ip4(UDP(sport=53, dport=54)), ip4(tcp(dport=53))]),
    "permit udp any eq 1024 any": ([ip4(UDP_TO)], [ip4(UDP(sport=1025, dport=53))]),
    "permit tcp any any range 80 90": ([ip4(tcp()), ip4(tcp(dport=90))],
                                       [ip4(tcp(dport=79)), ip4(tcp(dport=91))]),
    "permit tcp any lt 1025 any gt 79": ([ip4(tcp())], [ip4(tcp(sport=1025)), ip4(tcp(dport=79))]),
    "permit tcp any any established": ([ip4(tcp("A")), ip4(tcp("R")), ip4(tcp("SA"))],
                                       [ip4(tcp("S")), ip4(tcp("F")), ip4(UDP_TO)]),
    "permit tcp any any match-all +syn -ack": ([ip4(tcp("S")), ip4(tcp("SU"))],
                                               [ip4(tcp("SA")), ip4(tcp("A"))]),
    "permit icmp any any echo": ([ip4(ICMP(type=8))], [ip4(ICMP(type=0)), ip4(UDP_TO)]),
    "permit icmp any any 3 4": ([ip4(ICMP(type=3, code=4))], [ip4(ICMP(type=3, code=3))]),
    "permit icmp any any packet-too-big": ([ip4(ICMP(type=3, code=4))], [ip4(ICMP(type=8))]),
    "permit sctp any any eq 80": ([ip4(SCTP(sport=1, dport=80))], [ip4(SCTP(sport=1, dport=81))]),
    "permit 253 any any": ([ip4(Raw(b"?"), proto=253)], [ip4(Raw(b"?"), proto=252)]),
    "permit gre any any": ([ip4(Raw(b"?" * 4), proto=47)], [ip4(UDP_TO)]),
    "permit ip any any fragments": ([ip4(Raw(b"x" * 8), **LATER)],
                                    [ip4(Raw(b"x" * 8), flags="MF", proto=17), ip4(UDP_TO)]),
}

MATCHES6 = {
    "permit ipv6 any any": ([ip6(UDP_TO), ip6(tcp()), ip6(nh=59)], []),
    "permit ipv6 host 2001:db8:1::2 2001:db8:2::/64": ([ip6(UDP_TO)], []),
    "permit ipv6 2001:db8:1::3/128 any": ([], [ip6(UDP_TO)]),
    "permit udp any any eq 53": ([ip6(UDP_TO), ip6(IPv6ExtHdrDestOpt(), UDP_TO),
                                  ip6(IPv6ExtHdrFragment(offset=0, m=1), UDP_TO),
                                  ip6(IPv6ExtHdrFragment(offset=9, m=0, nh=17), Raw(b"x" * 8))],
                                 [ip6(IPv6ExtHdrDestOpt(), UDP(dport=54)), ip6(tcp())]),
    "permit tcp any any established": ([ip6(tcp("A"))], [ip6(tcp("S"))]),
    "permit icmp any any echo-request": ([ip6(ICMPv6EchoRequest())], [ip6(ICMPv6EchoReply())]),
    "permit ipv6 any any fragments": ([ip6(IPv6ExtHdrFragment(offset=9, m=0, nh=17), Raw(b"x"))],
                                      [ip6(IPv6ExtHdrFragment(offset=0, m=1, nh=17), UDP_TO)]),
}


def judge(m, packet, six, dst, fate):
    m.send(0, ether(A, ROUTER[0]) / packet)
    if fate == "forwarded":
        m.expect(1, ether(ROUTER[1], dst) / (hop6(packet) if six else hop(packet)))
    m.expect_nothing()
    m.expect_counters(**{fate: 1})


def known_hosts(m):
    m.learn(A, B)
    learn6(m, A, B)


@pytest.mark.parametrize("rule", MATCHES)
def test_matches(make, rule):
    m = make(filtered([rule]))
    m.learn(A, B)
    for packets, fate in zip(MATCHES[rule], ("forwarded", "drop_acl_in")):
        for packet in packets:
            judge(m, packet, False, B, fate)


@pytest.mark.parametrize("rule", MATCHES6)
def test_matches6(make, rule):
    m = make(filtered(["permit icmp any host 2001:db8:1::1", "permit icmp host 2001:db8:1::1 any",
                       rule], six=True))
    learn6(m, A, B)
    for packets, fate in zip(MATCHES6[rule], ("forwarded", "drop_acl_in")):
        for packet in packets:
            judge(m, packet, True, B, fate)


def test_first_match_counts(make):
    """One mixed vector: permitted packets keep their order, and each rule counts."""
    m = make(filtered(["10 deny udp any any eq 53", "permit udp any any", "40 deny icmp any any"]))
    m.learn(A, B)
    packets = [udp(A, B, dport=50 + i % 5, id=i) for i in range(250)] + [ip4(ICMP())] * 3 + \
        [ip4(tcp())] * 2
    m.send(0, *(ether(A, ROUTER[0]) / p for p in packets))
    for i in range(250):
        if i % 5 != 3:
            m.expect(1, ether(ROUTER[1], B) / hop(packets[i]))
    m.expect_counters(forwarded=200, drop_acl_in=55)
    assert m.console("show access-lists") == """\
IP access list F
    10 deny udp any any eq 53 (50 matches)
    20 permit udp any any (200 matches)
    40 deny icmp any any (3 matches)
    deny ip any any (2 matches)
    deny undetermined transport
"""
    m.console("clear access-list counters")
    m.route(udp(A, B))
    assert re.findall(r"\((.*)\)", m.console("show access-lists F")) == ["1 match"]
    assert m.console("show access-lists G") == "there is no access list G\n"


@pytest.mark.parametrize("way,port", [("in", 0), ("out", 1)])
def test_the_sender_is_told(make, way, port):
    """RFC 1812 5.3.9, 5.2.7.1: code 13; RFC 4443 3.1: code 1."""
    m = make(filtered(["permit icmp any any"], way, port, silent=False))
    m.learn(A, B)
    packet = udp(A, B)
    m.send(0, ether(A, ROUTER[0]) / packet)
    m.expect(0, error_about(ROUTER[0], A, packet, 3, 13))
    m.expect_counters(icmp_tx_unreach_prohibited=1, **{"drop_acl_" + way: 1})
    m = make(filtered(["permit icmp any any"], way, port, silent=False, six=True))
    learn6(m, A, B)
    packet = udp6(A, B)
    m.send(0, ether(A, ROUTER[0]) / packet)
    m.expect(0, error6_about(ROUTER[0], A, packet, 1, 1))
    m.expect_counters(icmp6_tx_unreach_prohibited=1, **{"drop_acl_" + way: 1})


def test_silence_is_the_affair_of_where_it_came_in(make):
    m = make(filtered(["deny udp any any"], "out", 1, silent=False).replace(
        "interface eth0\n", "interface eth0\n no ip unreachables\n"))
    m.learn(A, B)
    m.send(0, ether(A, ROUTER[0]) / udp(A, B))
    m.expect_counters(drop_acl_out=1)


def test_out_does_not_ask_about_the_other_way(make):
    m = make(filtered(["deny ip any any"], "out", 1))
    m.learn(A, B)
    m.route(udp(B, A), B, A)
    m.expect_counters(forwarded=1)


def test_packets_for_us_are_asked_about(make):
    """`in` applies to packets for us, `out` does not apply to ours."""
    m = make(filtered(["permit icmp any host 192.0.2.1 echo", "deny ip any any"]) +
             "ip access-list OUT\n deny ip any any\ninterface eth2\n ip address 203.0.113.1/24\n"
             " ip access-group OUT out\n", ports=3)
    m.learn(A, Station(2, "203.0.113.2", "02:cc:00:00:00:02"))
    ping = IP(src=A.ip, dst=ROUTER[0].ip) / ICMP(type=8, id=1) / b"ping"
    m.send(0, ether(A, ROUTER[0]) / ping)
    reply = IP(m.take(0).frame[14:])
    assert reply[ICMP].type == 0 and reply.dst == A.ip
    m.expect_counters(delivered_icmp=1, icmp_tx_echo_reply=1)
    m.send(0, ether(A, ROUTER[0]) / IP(src=A.ip, dst=ROUTER[0].ip) / UDP(dport=9))
    m.expect_counters(drop_acl_in=1)
    m.send(2, ether("02:cc:00:00:00:02", ROUTER[2]) / IP(src="203.0.113.2", dst=ROUTER[2].ip) /
           ICMP(type=8))
    assert IP(m.take(2).frame[14:])[ICMP].type == 0
    m.expect_counters(delivered_icmp=1, icmp_tx_echo_reply=1)


def test_discovery_passes_unless_denied(make):
    """Like IOS, a list of IPv6 permits neighbour discovery before it denies the rest."""
    m = make(filtered(["permit tcp any any"], six=True))
    m.send(0, solicit(A, ROUTER[0].ip6))
    m.expect(0, advert(ROUTER[0], A, target=ROUTER[0].ip6, R=1))
    m.counted()
    said = m.console("show access-lists F")
    assert "    permit icmp any any nd-ns (1 match)\n" in said
    assert said.endswith("    deny ipv6 any any\n    deny undetermined transport\n")
    m = make(filtered(["deny icmp any any nd-ns", "permit ipv6 any any"], six=True))
    m.send(0, solicit(A, ROUTER[0].ip6))
    m.expect_counters(drop_acl_in=1)


SHORT = {
    "first fragment without TCP's flags (RFC 1858)":
        ip4(Raw(b"\4\0\0\x50" + bytes(4)), flags="MF", proto=6),
    "later fragment over TCP's flags (RFC 3128)": ip4(Raw(bytes(16)), frag=1, proto=6),
    "UDP without its length": ip4(Raw(bytes(4)), proto=17),
    "IPv6: TCP cut off": ip6(Raw(bytes(19)), nh=6),
    "IPv6: nine headers": IPv6(src=A.ip6, dst=B.ip6, nh=60) / Raw(
        (bytes([60, 0, 1, 4]) + bytes(4)) * 8 + bytes([17, 0, 1, 4]) + bytes(4) + bytes(UDP())),
    "IPv6: header beyond the packet": ip6(Raw(bytes([17, 9, 1, 4]) + bytes(4)), nh=60),
}


@pytest.mark.parametrize("packet", SHORT.values(), ids=SHORT)
def test_what_cannot_be_told_is_denied(make, packet):
    """net/acl/acl.h, 4. Without a filter the packet is forwarded, because a router does not parse
    that far."""
    six = IPv6 in packet
    m = make(filtered(["permit ipv6 any any" if six else "permit ip any any"], six=six))
    known_hosts(m)
    m.send(0, ether(A, ROUTER[0]) / packet)
    m.expect_counters(drop_acl_undetermined=1)
    assert "deny undetermined transport (1 match)" in m.console("show access-lists F")
    m = make(CONFIG6)
    known_hosts(m)
    judge(m, packet, six, B, "forwarded")


def test_slow_packets_are_asked_about_once(make):
    """Options, too large, an unknown neighbour: on the slow path too, each packet counts once."""
    m = make(filtered(["deny udp any any eq 7", "permit ip any any"]) +
             "ip access-list G\n deny udp any any eq 9\n permit ip any any\n"
             "interface eth2\n ip address 203.0.113.1/24\n mtu 1000\n ip access-group G out\n",
             ports=3)
    m.learn(A, B)
    options = [IPOption_NOP()] * 4
    for dport, fates in ((7, dict(drop_acl_in=1)), (9, dict(drop_acl_out=1))):
        for packet in (udp(A, "203.0.113.9", dport=dport, options=options),
                       udp(A, "203.0.113.9", dport=dport, size=1200),
                       udp(A, "203.0.113.9", dport=dport)):
            m.send(0, ether(A, ROUTER[0]) / packet)
            m.expect_counters(**fates)
    m.send(0, ether(A, ROUTER[0]) / udp(A, "203.0.113.9", dport=8))
    assert ARP in Ether(m.take(2).frame)
    m.send(2, arp_reply(Station(2, "203.0.113.9", "02:cc:00:00:00:09"), ROUTER[2]))
    assert Ether(m.take(2).frame)[UDP].dport == 8
    m.send(0, ether(A, ROUTER[0]) / udp(A, "203.0.113.9", dport=8, size=1200))
    assert len(m.take_all(2)) == 2
    said = m.console("show access-lists")
    assert said.count("(3 matches)") == 2 and said.count("permit ip any any (5 matches)") == 1
    assert said.count("permit ip any any (2 matches)") == 1
    m.counted()


def test_both_ways_at_once(make):
    """One list on several interfaces has one count."""
    m = make(filtered(["permit udp any any"]).replace(
        "interface eth1\n", "interface eth1\n ip access-group F out\n"))
    m.learn(A, B)
    m.route(udp(A, B))
    assert "20 " not in m.console("show access-lists") and \
        "permit udp any any (2 matches)" in m.console("show access-lists")
    m.expect_counters(forwarded=1)


BAD_OPTIONS = b"\x07\0\0\0"  # record route of length 0



def provoking(src, redirects=True):
    """Packets from src by eth0 that a data core or the control core answers by an ICMP error, or by a
    redirect."""
    packets = {
        "options": with_options(BAD_OPTIONS, src=src.ip),
        "options, to us": with_options(BAD_OPTIONS, ROUTER[0].ip, src.ip),
        "source route": with_options(b"\x83\x07\4" + bytes([198, 51, 100, 2]) + b"\0", src=src.ip),
        "TTL": udp(src, B2, ttl=1),
        "TTL, with options": udp(src, B2, ttl=1, options=[IPOption_NOP()] * 4),
        "no route": udp(src, "8.8.8.8"),
        "null0": udp(src, "10.9.1.1"),
        "MTU": udp(src, B2, 1300, flags="DF"),
        "port": udp(src, ROUTER[0].ip),
        "protocol": IP(src=src.ip, dst=ROUTER[0].ip, proto=253) / Raw(b"12345678"),
        "hop limit": udp6(src, B2, hlim=1),
        "no route, IPv6": udp6(src, "2a00::8"),
        "MTU, IPv6": udp6(src, B2, 1300),
        "port, IPv6": udp6(src, ROUTER[0].ip6),
        "unknown option to us": IPv6(src=src.ip6, dst=ROUTER[0].ip6) / IPv6ExtHdrHopByHop(
            options=HBHOptUnknown(otype=0x80, optdata=b"1234")) / UDP() / Raw(b"data"),
        "routing header to us": IPv6(src=src.ip6, dst=ROUTER[0].ip6) / IPv6ExtHdrRouting(
            type=0, addresses=[B.ip6]) / UDP() / Raw(b"data"),
    }
    if redirects:
        packets.update({"redirect": udp(src, A2), "redirect, IPv6": udp6(src, A2)})
    return packets


PROVOKED = CONFIG6.replace("interface eth0\n", "interface eth0\n ip redirects\n ipv6 redirects\n") + \
    " mtu 1280\nip route 10.9.0.0/16 null0\n" + \
    "".join(f.static_line(s) for f in FAMILIES.values() for s in (A, A2, B, B2))


def raw_frame(packet, src=A):
    """The Ethernet frame of a packet, which may be bytes that scapy would mend."""
    raw = bytes(packet)
    return bytes(ether(src, ROUTER[src.port]))[:12] + (b"\x08\0" if raw[0] >> 4 == 4 else b"\x86\xdd") + raw


def answered_by_icmp(m, port):
    """Takes what the port has sent; has one been an ICMP error or a redirect?"""
    errors = [f for f in map(Ether, m.take_all(port))
              if (ICMP in f and f[ICMP].type in (3, 5, 11, 12)) or
              (IPv6 in f and f[IPv6].nh == 58 and bytes(f[IPv6])[40] in (1, 2, 3, 4, 137))]
    return len(errors) == 1


@pytest.mark.parametrize("name", provoking(A))
def test_what_is_denied_provokes_no_other_error(make, name):
    """RFC 1812 5.3.9: the sender of a packet that the list of its interface denies is told that, or
    nothing at all where the interface is silent. No other error gives away what is behind the list."""
    packet = provoking(A)[name]
    six = bytes(packet)[0] >> 4 == 6
    lists = "ip access-list F\n deny ip any any\n" \
        "ipv6 access-list G\n deny ipv6 host %s any\n permit ipv6 any any\n" % A.ip6
    use = " ip access-group F in\n ipv6 traffic-filter G in\n"
    silent = " no ip unreachables\n no ipv6 unreachables\n"

    def machine(lines):
        m = make(PROVOKED.replace("interface eth0\n", "interface eth0\n" + lines) + lists)
        m.send_raw(0, raw_frame(packet))
        return m

    m = machine("")
    assert answered_by_icmp(m, 0), "it provokes nothing anyhow"
    m.take_all(1)
    m = machine(use + silent)
    m.expect_nothing()
    m.expect_counters(drop_acl_in=1)
    m = machine(use)
    told = error6_about(ROUTER[0], A, packet, 1, 1) if six else error_about(ROUTER[0], A, packet, 3, 13)
    m.expect(0, told)
    m.expect_nothing()
    m.expect_counters(drop_acl_in=1, **{"icmp%s_tx_unreach_prohibited" % ("6" if six else ""): 1})


def test_options_are_looked_at_behind_the_filter(make):
    """What the list permits is told of its options; one rule has counted it, once."""
    m = make(filtered(["deny udp any any eq 3", "permit udp any any eq 2"]))
    m.learn(A, B)
    packet = with_options(BAD_OPTIONS)
    m.send(0, raw_frame(packet))
    m.expect(0, error_about(ROUTER[0], A, packet, 12, 0, 21 << 24))
    m.expect_counters(drop_ip4_options=1, icmp_tx_param_problem=1)
    assert shown(m) == {10: 0, 20: 1}


@pytest.mark.parametrize("text,said", [
    ("interface eth0\n ip address 192.0.2.1/24\n ip access-group F in\n",
     'configuration:3: there is no access list of this name, at "F"'),
    ("application echo\ninterface eth0\n ip address 192.0.2.1/24\n ip access-group F in\n"
     "ip access-list F\n permit ip any any\n",
     'configuration:4: the application echo does not filter packets, at "F"'),
])
def test_no_filter_no_configuration(make, text, said):
    """A configuration with an invalid filter is not applied at all."""
    m = make(text)
    assert said in m.text, m.text


def long_list(rules):
    """No two rules share a value, so their table has maximum size."""
    return ["permit tcp host 10.%d.%d.%d host 11.%d.%d.%d eq %d" %
            (i % 7, i >> 8, i & 255, i % 5, i >> 8, i & 255, 2 * i + 1) for i in range(rules)]


def test_lists_that_do_not_fit(make):
    rules = "".join(" %s\n" % rule for rule in long_list(6000))
    m = make(CONFIG6 + "ip access-list LONG\n" + rules, memory=5000)
    assert "configuration:11: no memory for the list and its 6000 rules" in m.text
    assert "nothing of the configuration is applied" in m.text


def commit(m, *lines):
    """Types lines in configuration mode; returns the output of commit."""
    m.console("configure")
    for line in lines:
        assert m.console(line) == "", line
    said = m.console("commit").replace("configuration: committed by the console\n", "")
    assert m.console("end") == ""
    return said


def shown(m):
    """The rules of all lists: number -> count."""
    return {int(n): int(count or 0) for n, count in
            re.findall(r"^    (\d+) [^(\n]*(?:\((\d+) match)?", m.console("show access-lists"), re.M)}


def test_lists_change_live(make):
    """Rules are added, removed and replaced while the ports continue. Each packet is judged by the
    list before or after, and the remaining rules keep their counts."""
    m = make(filtered(["deny udp any any eq 53", "permit udp any any"]))
    m.learn(A, B)
    judge(m, ip4(UDP_TO), False, B, "drop_acl_in")
    judge(m, ip4(UDP(sport=1, dport=54)), False, B, "forwarded")
    assert shown(m) == {10: 1, 20: 1}
    said = commit(m, "ip access-list extended F", "5 permit udp host 192.0.2.2 any eq 53",
                  "permit tcp any any eq 80", "no 20", "15 permit udp any any")
    assert said == "committed\n" and "ports restart" not in m.text
    assert "\nip access-list F\n 5 permit udp host 192.0.2.2 any eq 53\n 10 deny udp any any eq 53\n" \
        " 15 permit udp any any\n 30 permit tcp any any eq 80\n" in m.console("show running-config")
    assert shown(m) == {5: 0, 10: 1, 15: 0, 30: 0}
    judge(m, ip4(UDP_TO), False, B, "forwarded")
    judge(m, ip4(tcp()), False, B, "forwarded")
    judge(m, ip4(UDP(sport=1, dport=54)), False, B, "forwarded")
    assert shown(m) == {5: 1, 10: 1, 15: 1, 30: 1}
    # a new rule of that number starts at 0; the list's final deny keeps its count
    judge(m, ip4(ICMP()), False, B, "drop_acl_in")
    assert commit(m, "ip access-list F", "5 deny udp host 192.0.2.2 any eq 53") == "committed\n"
    judge(m, ip4(UDP_TO), False, B, "drop_acl_in")
    judge(m, ip4(ICMP()), False, B, "drop_acl_in")
    assert shown(m) == {5: 1, 10: 1, 15: 1, 30: 1}
    assert "    deny ip any any (2 matches)\n" in m.console("show access-lists")
    m.console("clear access-list counters")
    assert commit(m, "no ip access-list F", "ip access-list F", "5 deny udp host 192.0.2.2 any eq 53",
                  "7 permit ip any any") == "committed\n"
    assert shown(m) == {5: 0, 7: 0}
    judge(m, ip4(UDP_TO), False, B, "drop_acl_in")
    assert shown(m) == {5: 1, 7: 0}
    assert "ports restart" not in m.text


def test_lists_that_stay_are_the_same(make):
    """While another list changes repeatedly, these judge as before and keep counting."""
    m = make(filtered(["permit ip any any"]))
    m.learn(A, B)
    assert commit(m, "ip access-list G", "deny udp any any eq 53", "permit ip any any",
                  "interface eth1", "no ip unreachables", "ip access-group G out") == "committed\n"
    for n in range(4):
        m.send(0, ether(A, ROUTER[0]) / ip4(UDP_TO))
        m.take_all(0)
        m.expect_counters(drop_acl_out=1)
        judge(m, ip4(UDP(sport=1, dport=54)), False, B, "forwarded")
        assert commit(m, "ip access-list F", "%d permit tcp any any eq %d" % (1 + n, n)) == \
            "committed\n"
    assert m.console("show access-lists G") == """IP access list G
    10 deny udp any any eq 53 (4 matches)
    20 permit ip any any (4 matches)
    deny ip any any
    deny undetermined transport
"""


def test_filters_come_and_go_live(make):
    """Applied to and removed from interfaces, for both versions, with and without errors to
    senders."""
    m = make(CONFIG6)
    known_hosts(m)
    judge(m, ip4(UDP_TO), False, B, "forwarded")
    assert commit(m, "ip access-list F", "deny udp any any", "permit ip any any",
                  "ipv6 access-list G", "deny udp any any", "permit ipv6 any any",
                  "interface eth0", "ip access-group F in", "no ip unreachables",
                  "interface eth1", "ipv6 traffic-filter G out") == "committed\n"
    judge(m, ip4(UDP_TO), False, B, "drop_acl_in")
    judge(m, ip4(tcp()), False, B, "forwarded")
    packet = ip6(UDP_TO)
    m.send(0, ether(A, ROUTER[0]) / packet)
    m.expect(0, error6_about(ROUTER[0], A, packet, 1, 1))
    m.expect_counters(drop_acl_out=1, icmp6_tx_unreach_prohibited=1)
    assert commit(m, "interface eth0", "ip unreachables", "ip access-group F out",
                  "no ip access-group F in", "interface eth1", "ip access-group F out",
                  "no ipv6 traffic-filter") == "committed\n"
    judge(m, ip6(UDP_TO), True, B, "forwarded")
    packet = ip4(UDP_TO)
    m.send(0, ether(A, ROUTER[0]) / packet)
    m.expect(0, error_about(ROUTER[0], A, packet, 3, 13))
    m.expect_counters(drop_acl_out=1, icmp_tx_unreach_prohibited=1)
    assert commit(m, "interface eth0", "no ip access-group", "interface eth1",
                  "no ip access-group", "no ip access-list F", "no ipv6 access-list G") == "committed\n"
    judge(m, ip4(UDP_TO), False, B, "forwarded")
    assert m.console("show access-lists") == "" and "access" not in m.console("show running-config")
    assert "ports restart" not in m.text


def test_errors_in_lists_name_line_word_and_reason(make):
    m = make(filtered(["permit ip any any"]))
    m.console("configure")
    m.console("ip access-list F")
    assert m.text.endswith("r1(config-acl)# ")
    for line, reason in (
            ("permit tcp any any eq 70000", '% a port must be a decimal number from 0 to 65535, at "70000"\n'),
            ("5 deny udp any", "% the line ends too early; expected \"deny PROTO SOURCE"),
            ("no 30", '% there is no such statement in this block, at "30"\n')):
        assert m.console(line).startswith(reason), line
    assert "incomplete command" in m.console("30")
    m.console("exit")
    assert m.console("permit ip any any").startswith("% a rule belongs into an access list")
    m.console("ip access-list EMPTY")
    said = m.console("commit")
    assert said.startswith("% the list has no rule") and "ip access-list EMPTY\n" in said
    assert said.endswith("nothing is committed\n")
    m.console("no ip access-list EMPTY")
    m.console("no ip access-list F")
    said = m.console("commit")
    assert said.startswith('% there is no access list of this name, at "F"') and \
        "ip access-group F in\n" in said
    m.console("rollback 0")
    assert m.console("resequence G") == '% there is no access list of this name, at "G"\n'
    assert m.console("resequence F 100 5") == ""
    assert m.console("show | compare") == \
        " ip access-list F\n- 10 permit ip any any\n+ 100 permit ip any any\n"
    assert m.console("commit").endswith("committed\n")


def test_commit_confirmed_of_a_filter_rolls_back(make):
    m = make(filtered(["permit udp any any"]))
    m.learn(A, B)
    m.console("configure")
    for line in ("ip access-list F", "5 deny udp any any", "commit confirmed 30s"):
        m.console(line)
    judge(m, ip4(UDP_TO), False, B, "drop_acl_in")
    m.time(31 * 1000 * MS)
    assert "nobody confirmed the last commit in time" in m.text
    m.learn(A, B)
    m.counted()
    judge(m, ip4(UDP_TO), False, B, "forwarded")
    assert shown(m) == {10: 1}
    assert "5 deny" not in m.console("show running-config") and "ports restart" not in m.text


def test_a_list_that_does_not_fit_is_refused(make):
    """Refused at commit, with the reason, and nothing changes; a smaller list is accepted."""
    m = make(filtered(["permit udp any any"]), memory=8080)
    m.learn(A, B)
    m.console("configure")
    m.console("ip access-list LONG")
    for rule in long_list(1900):
        assert m.console(rule) == ""
    said = m.console("commit")
    assert said.startswith("% no memory for the list and its 1900 rules: ") and \
        "  line " in said and "ip access-list LONG\nnothing is committed\n" in said, said
    judge(m, ip4(UDP_TO), False, B, "forwarded")
    for n in range(500, 19001, 10):
        m.console("no %d" % n)
    assert m.console("commit").endswith("console\ncommitted\n")
    assert "49 " not in m.console("show access-lists F") and len(shown(m)) == 49
    judge(m, ip4(UDP_TO), False, B, "forwarded")


def test_a_thousand_commits(make):
    """Two generations of memory: afterwards as much fits as before."""
    m = make(filtered(["permit udp any any eq 1", "permit udp any any"]), memory=8064)
    m.learn(A, B)
    m.console("configure")
    m.console("ip access-list F")
    for i in range(1000):
        m.console("no 10" if i % 2 else "%d permit udp any any eq %d" % (30 + i, i))
        m.console("10 permit udp any any eq %d" % (i & 0xffff))
        assert m.console("commit").endswith("committed\n"), i  # the log keeps to its rate
        if i % 100 == 0:
            judge(m, ip4(UDP(sport=1, dport=i)), False, B, "forwarded")
    m.console("end")
    counts = shown(m)
    assert len(counts) == 502 and counts[20] == 0, counts
    assert "ports restart" not in m.text


def manual(name, heading):
    """The first example below a heading of docs/NAME.md."""
    with open(os.path.join(ROOT, "docs", name + ".md"), encoding="utf-8") as f:
        return f.read().split("\n%s\n" % heading)[1].split("```\n")[1]


def test_manual(make):
    """The examples of docs/configuration.md and docs/console.md do what their text says."""
    m = make(manual("configuration", "### Packet filters"))
    m.learn(A, B)
    from_66 = udp("192.0.2.66", B, dport=53)
    later = IP(src=A.ip, dst=B.ip, frag=185, proto=17) / Raw(b"x" * 8)
    m.send(0, ether(A, ROUTER[0]) / from_66, ether(A, ROUTER[0]) / from_66)
    m.take_all(0)
    m.route(udp(A, B, dport=53))
    counted = m.counted()
    assert (counted["drop_acl_out"], counted["forwarded"]) == (2, 1)
    command, _, want = manual("console", "## show access-lists [NAME]").partition("\n")
    assert m.console(command.partition("# ")[2]) == want
    m.send(0, ether(A, ROUTER[0]) / later)
    m.send(0, ether(A, ROUTER[0]) / ip4(tcp("S")))
    assert m.counted()["drop_acl_in"] == 1
    m.take_all(0)
