"""Access lists on ports of the switch (apps/switch/access.c): where they judge, what becomes of denied
frames, and counts. What a rule of an IP list matches is tested in test_filter.py."""
import re

import pytest
from ip6 import *
from machine import *
from scapy.layers.inet import TCP
from scapy.layers.inet6 import ICMPv6ND_NS
from test_switch import H0, H1, H2, H3, SWITCH, commit, flooded, frame, learn, partial_udp, switch, table, tag
from test_switch_host import A3, CONFIG_HOST, MAC, OWN, known, ping, reply
from test_trace import story

NO_TELNET = "ip access-list F\n deny tcp any any eq 23\n permit ip any any\n"
NO_TELNET6 = "ipv6 access-list F6\n deny tcp any any eq 23\n permit ipv6 any any\n"


def on(port, *lines):
    return "interface eth%d\n" % port + "".join(" %s\n" % line for line in lines)


def l2(src, dst, packet, vid=None):
    raw = bytes(Ether(src=getattr(src, "mac", src), dst=getattr(dst, "mac", dst)) / packet)
    raw = raw + bytes(max(0, 60 - len(raw)))
    return tag(raw, vid) if vid else raw


def tcp4(dport=23, **fields):
    return IP(src="192.0.2.1", dst="192.0.2.2", **fields) / TCP(sport=1024, dport=dport)


def tcp6(dport=23):
    return IPv6(src="2001:db8::1", dst="2001:db8::2") / TCP(sport=1024, dport=dport)


IP_LISTS = [("ip access-group F", NO_TELNET, tcp4), ("ipv6 traffic-filter F6", NO_TELNET6, tcp6)]


def host(block, line, lists):
    """test_switch_host's configuration with a line more in a block, and lists."""
    assert block + "\n" in CONFIG_HOST
    return CONFIG_HOST.replace(block + "\n", block + "\n " + line + "\n") + lists


def nothing_from(m, raw, port, **fate):
    m.send(port, raw)
    m.expect_nothing()
    m.expect_counters(**fate)


# --- where a list judges ---

@pytest.mark.parametrize("apply, rules, packet", IP_LISTS, ids=["ip", "ipv6"])
def test_in(switch, apply, rules, packet):
    """Of the port that has the list, and of no other; whatever becomes of the frame then."""
    m = switch(on(0, apply + " in") + rules, learnt=(H0, H1, H2))
    nothing_from(m, l2(H0, H1, packet()), 0, drop_acl_in=1)
    nothing_from(m, l2(H0, H3, packet()), 0, drop_acl_in=1)
    nothing_from(m, l2(H0, BROADCAST, packet()), 0, drop_acl_in=1)
    for raw in (l2(H0, H1, packet(80)), frame(H0, H1)):
        m.send(0, raw)
        flooded(m, raw, (1,))
    m.send(2, l2(H2, H1, packet()))
    flooded(m, l2(H2, H1, packet()), (1,))
    m.send(2, l2(H2, H0, packet()))
    flooded(m, l2(H2, H0, packet()), (0,))
    m.expect_counters(forwarded=4)


@pytest.mark.parametrize("apply, rules, packet", IP_LISTS, ids=["ip", "ipv6"])
def test_out(switch, apply, rules, packet):
    m = switch(on(1, apply + " out") + rules, learnt=(H0, H1, H2))
    nothing_from(m, l2(H0, H1, packet()), 0, drop_acl_out=1)
    m.send(0, l2(H0, H2, packet()))
    flooded(m, l2(H0, H2, packet()), (2,))
    m.send(0, l2(H0, H1, packet(80)))
    flooded(m, l2(H0, H1, packet(80)), (1,))
    m.send(1, l2(H1, H0, packet()))
    flooded(m, l2(H1, H0, packet()), (0,))
    m.expect_counters(forwarded=3)


def test_out_of_a_flood(switch):
    """A flooded frame leaves by the ports whose lists permit it."""
    m = switch(on(1, "ip access-group F out") + NO_TELNET, learnt=(H0,))
    m.send(0, l2(H0, H3, tcp4()))
    flooded(m, l2(H0, H3, tcp4()), (2, 3))
    m.expect_counters(forwarded=1, switch_flooded=1, switch_copies=1)
    m = switch("".join(on(n, "ip access-group F out") for n in (1, 2, 3)) + NO_TELNET, learnt=(H0,))
    nothing_from(m, l2(H0, H3, tcp4()), 0, drop_acl_out=1)
    m.send(0, l2(H0, H3, tcp4(22)))
    flooded(m, l2(H0, H3, tcp4(22)), (1, 2, 3))
    assert re.findall(r"\((.*)\)", m.console("show access-lists")) == ["3 matches", "3 matches"]
    m.counted()


TRUNK = ("switchport mode trunk", "switchport trunk native vlan none")


@pytest.mark.parametrize("apply, rules, packet", IP_LISTS, ids=["ip", "ipv6"])
@pytest.mark.parametrize("way", ["in", "out"])
def test_tagged_frames(switch, apply, rules, packet, way):
    """Behind a tag as without one, at the port with the tag and at the one without."""
    for port in (0, 1):
        lines = ("%s %s" % (apply, way),)
        m = switch(on(0, *TRUNK, *lines[port:]) + on(1, *lines[1 - port:]) + rules)
        learn(m, H0, vid=1)
        learn(m, H1)
        down, up = (0, l2(H0, H1, packet(), 1)), (1, l2(H1, H0, packet()))
        denied, passes = (down, up) if (port == 0) == (way == "in") else (up, down)
        nothing_from(m, denied[1], denied[0], **{"drop_acl_" + way: 1})
        m.send(*passes)
        assert len(m.take_all(1 - passes[0])) == 1
        m.expect_nothing()
        m.expect_counters(forwarded=1)


def test_a_priority_tag(switch):
    m = switch(on(0, "ip access-group F in") + NO_TELNET, learnt=(H0, H1))
    nothing_from(m, tag(l2(H0, H1, tcp4()), 0, priority=7), 0, drop_acl_in=1)


def test_a_second_tag_is_payload(switch):
    """docs/switch.md, Limits: no list judges behind it."""
    m = switch(on(0, "ip access-group F in") + NO_TELNET, learnt=(H0, H1))
    raw = tag(tag(l2(H0, H1, tcp4()), 9), 1)
    m.send(0, raw)
    flooded(m, raw[:12] + raw[16:], (1,))
    m.expect_counters(forwarded=1)


def test_arp_and_others_pass(switch):
    """A list that denies all of IP denies nothing else: ARP, and other protocols."""
    m = switch(on(0, "ip access-group F in", "ipv6 traffic-filter F6 in") +
               "ip access-list F\n deny ip any any\nipv6 access-list F6\n deny ipv6 any any\n", learnt=(H0, H1))
    for raw in (padded(arp_request(Station(0, "192.0.2.1", H0.mac), "192.0.2.2")), frame(H0, BROADCAST)):
        m.send(0, raw)
        flooded(m, raw, (1, 2, 3))
    m.counted()
    nothing_from(m, l2(H0, H1, tcp4(80)), 0, drop_acl_in=1)
    nothing_from(m, l2(H0, H1, tcp6(80)), 0, drop_acl_in=1)


def test_dhcp_is_judged_as_any_packet(switch):
    """0.0.0.0 and 255.255.255.255 are wrong for a router to forward, not for a switch."""
    discover = IP(src="0.0.0.0", dst="255.255.255.255") / UDP(sport=68, dport=67) / Raw(bytes(240))
    m = switch(on(0, "ip access-group F in") + "ip access-list F\n permit udp any eq 68 any eq 67\n", learnt=(H0,))
    m.send(0, l2(H0, BROADCAST, discover))
    flooded(m, l2(H0, BROADCAST, discover), (1, 2, 3))
    m.counted()
    m = switch(on(0, "ip access-group F in") + "ip access-list F\n permit tcp any any\n", learnt=(H0,))
    nothing_from(m, l2(H0, BROADCAST, discover), 0, drop_acl_in=1)


def test_neighbour_discovery(switch):
    """An IPv6 list permits solicitations and advertisements before it denies the rest; :: asks for its own."""
    m = switch(on(0, "ipv6 traffic-filter F6 in") + "ipv6 access-list F6\n permit tcp any any\n", learnt=(H0,))
    ns = IPv6(src="::", dst="ff02::1:ff00:1", hlim=255) / ICMPv6ND_NS(tgt="fe80::1")
    m.send(0, l2(H0, "33:33:ff:00:00:01", ns))
    flooded(m, l2(H0, "33:33:ff:00:00:01", ns), (1, 2, 3))
    m.counted()
    nothing_from(m, l2(H0, BROADCAST, IPv6(src="fe80::1", dst="ff02::1") / UDP()), 0, drop_acl_in=1)


# --- what becomes of denied frames ---

def test_a_denied_station_is_not_learned(switch):
    m = switch(on(0, "ip access-group F in") + NO_TELNET, learnt=(H1,))
    nothing_from(m, l2(H0, H1, tcp4()), 0, drop_acl_in=1)
    m.time(20 * MS)
    assert set(table(m)) == {(1, H1.mac)}
    m.send(0, l2(H0, H1, tcp4(80)))
    m.take_all(1)
    m.time(20 * MS)
    assert set(table(m)) == {(1, H0.mac), (1, H1.mac)}


def test_a_station_denied_by_an_out_list_is_learned(switch):
    m = switch(on(1, "ip access-group F out") + NO_TELNET, learnt=(H1,))
    nothing_from(m, l2(H0, H1, tcp4()), 0, drop_acl_out=1)
    m.time(20 * MS)
    assert set(table(m)) == {(1, H0.mac), (1, H1.mac)}


@pytest.mark.parametrize("way", ["in", "out"])
def test_a_mixed_vector(switch, way):
    """Frames of both versions and others, to known and unknown stations: those that pass keep their order,
    and each rule counts."""
    port = 0 if way == "in" else 1
    m = switch(on(port, "ip access-group F " + way, "ipv6 traffic-filter F6 " + way) + NO_TELNET + NO_TELNET6,
               learnt=(H0, H1, H2))
    kinds = [lambda n: l2(H0, H1, tcp4(23)), lambda n: l2(H0, H1, tcp4(24, id=n)), lambda n: l2(H0, H2, tcp4(25, id=n)),
             lambda n: l2(H0, H1, tcp6(23)), lambda n: frame(H0, H1, fill=n), lambda n: l2(H0, H1, tcp6(22)),
             lambda n: l2(H0, H1, tcp4(21, id=n))]
    frames = [kinds[n % 7](n) for n in range(250)]
    m.send(0, *frames)
    assert m.take_all(1) == [raw for n, raw in enumerate(frames) if n % 7 not in (0, 2, 3)]
    assert m.take_all(2) == [raw for n, raw in enumerate(frames) if n % 7 == 2]
    m.expect_nothing()
    m.expect_counters(forwarded=178, **{"drop_acl_" + way: 72})
    said = re.findall(r"\((.*)\)", m.console("show access-lists"))
    assert said == (["36 matches", "107 matches", "36 matches", "35 matches"] if way == "in" else
                    ["36 matches", "71 matches", "36 matches", "35 matches"])


@pytest.mark.parametrize("way", ["in", "out"])
def test_malformed_packets_pass_no_list(switch, way):
    """Nothing passes because a list could not read it: it is dropped under its own reason."""
    m = switch(on(0 if way == "in" else 1, "ip access-group F " + way, "ipv6 traffic-filter F6 " + way) +
               "ip access-list F\n permit ip any any\nipv6 access-list F6\n permit ipv6 any any\n", learnt=(H0, H1))
    short = l2(H0, H1, tcp4())[:14 + 19]
    m.send_raw(0, short)
    m.expect_counters(drop_ip4_short=1)
    m.send_raw(0, l2(H0, H1, tcp6())[:14 + 39])
    m.expect_counters(drop_ip6_short=1)
    nothing_from(m, l2(H0, H1, tcp4(chksum=1)), 0, drop_ip4_checksum=1)
    nothing_from(m, l2(H0, H1, tcp4(version=5)), 0, drop_ip4_version=1)
    nothing_from(m, l2(H0, H1, tcp4(ihl=4)), 0, drop_ip4_header_len=1)
    nothing_from(m, l2(H0, H1, tcp4(len=19)), 0, drop_ip4_total_len=1)
    nothing_from(m, l2(H0, BROADCAST if way == "in" else H1, tcp4(len=1000)), 0, drop_ip4_total_len=1)
    nothing_from(m, l2(H0, H1, IPv6(plen=1000) / TCP()), 0, drop_ip6_payload_len=1)
    nothing_from(m, l2(H0, H1, IP(src="192.0.2.1", dst="192.0.2.2", proto=6) / Raw(b"x" * 19)), 0,
                 drop_acl_undetermined=1)
    for raw in (l2(H0, H1, IP(src="127.0.0.1", dst="192.0.2.2") / TCP()),
                l2(H0, H1, IPv6(src="::1", dst="2001:db8::2") / TCP())):
        m.send(0, raw)
        flooded(m, raw, (1,))
    m.expect_counters(forwarded=2)


def test_malformed_floods_pass_no_list(switch):
    m = switch(on(1, "ip access-group F out") + "ip access-list F\n permit ip any any\n", learnt=(H0,))
    m.send(0, l2(H0, BROADCAST, tcp4(chksum=1)))
    flooded(m, l2(H0, BROADCAST, tcp4(chksum=1)), (2, 3))
    m.expect_counters(forwarded=1, switch_flooded=1, switch_copies=1)


def test_too_long_for_the_port(switch):
    """A frame that cannot be sent is not judged by the list of the port: the reason is its length."""
    m = switch(on(1, "mtu 1000", "ip access-group F out") + NO_TELNET, learnt=(H0, H1))
    nothing_from(m, l2(H0, H1, tcp4() / Raw(bytes(1200))), 0, drop_switch_too_big=1)
    assert "match" not in m.console("show access-lists")


# --- lists of MAC addresses ---

def macs(*rules):
    return on(0, "mac access-group M in") + "mac access-list M\n" + "".join(" %s\n" % rule for rule in rules)


ETHER = frame(H0, H1)
ARP_ = padded(arp_request(Station(0, "192.0.2.1", H0.mac), "192.0.2.2"))
# rule: frames that it permits, frames that it does not
MAC_MATCHES = {
    "permit any any": ([ETHER, ARP_, l2(H0, H1, tcp4())], []),
    "permit host 02:00:00:00:00:00 any": ([ETHER], [frame("02:00:00:00:00:07", H1)]),
    "permit any host 0200.0000.0001": ([ETHER], [frame(H0, H2), frame(H0, BROADCAST)]),
    "permit 02:00:00:00:00:00 00:00:00:00:00:0f any": ([ETHER, frame("02:00:00:00:00:0f", H1)],
                                                        [frame("02:00:00:00:00:10", H1)]),
    "permit any 01:00:00:00:00:00 fe:ff:ff:ff:ff:ff": ([frame(H0, BROADCAST), frame(H0, "33:33:00:00:00:01")], [ETHER]),
    "permit any any 0x88b5": ([ETHER], [ARP_, l2(H0, H1, tcp4())]),
    "permit any any ip": ([l2(H0, H1, tcp4())], [ETHER, l2(H0, H1, tcp6())]),
    "permit any any ipv6": ([l2(H0, H1, tcp6())], [ETHER, l2(H0, H1, tcp4())]),
    "permit any any arp": ([ARP_], [ETHER]),
    "permit any any vlan 1": ([ETHER, tag(ETHER, 1)], []),
    "permit any any vlan 2": ([], [ETHER, tag(ETHER, 1)]),
    "permit host 02:00:00:00:00:00 host 02:00:00:00:00:01 0x88b5 vlan 1": (
        [ETHER, tag(ETHER, 1), tag(ETHER, 0, 3)], [frame(H0, H2), l2(H0, H1, tcp4())]),
}


@pytest.mark.parametrize("rule", MAC_MATCHES)
def test_mac_matches(switch, rule):
    m = switch(macs(rule), learnt=(H1, H2))
    for raw in MAC_MATCHES[rule][0]:
        m.send(0, raw)
        assert m.take_all(1)
        m.take_all(2), m.take_all(3)
        assert m.counted()["forwarded"] == 1
    for raw in MAC_MATCHES[rule][1]:
        nothing_from(m, raw, 0, drop_acl_in=1)
    m.send(1, frame(H1, H2))  # the list is of another port
    flooded(m, frame(H1, H2), (2,))
    m.counted()


def test_mac_of_a_trunk(switch):
    """The VLAN is the frame's, whatever port has a tag for it; the EtherType is that behind the tag."""
    trunk = on(0, "switchport mode trunk", "mac access-group M in")
    m = switch(trunk + on(1, "switchport access vlan 7") + "mac access-list M\n permit any any 0x88b5 vlan 7\n")
    m.send(0, tag(frame(H0, H1), 7))
    flooded(m, frame(H0, H1), (1,))
    m.counted()
    nothing_from(m, frame(H0, H1), 0, drop_acl_in=1)
    nothing_from(m, tag(l2(H0, H1, tcp4()), 7), 0, drop_acl_in=1)


def test_mac_first_match_counts(switch):
    m = switch(macs("10 deny host %s any" % H0.mac, "20 permit any any 0x88b5", "30 deny any host %s" % H2.mac),
               learnt=(H1, H2))
    m.send(0, *[frame(H0, H1)] * 3, *[frame("02:00:00:00:00:0a", H1)] * 4, l2("02:00:00:00:00:0a", H2, tcp4()),
           *[l2("02:00:00:00:00:0a", H1, tcp4())] * 2)
    assert m.take_all(1) == [frame("02:00:00:00:00:0a", H1)] * 4
    m.expect_nothing()
    m.expect_counters(forwarded=4, drop_acl_in=6)
    assert m.console("show access-lists") == """\
MAC access list M
    10 deny host 02:00:00:00:00:00 any (3 matches)
    20 permit any any 0x88b5 (4 matches)
    30 deny any host 02:00:00:00:00:02 (1 match)
    deny any any (2 matches)
"""
    m.time(20 * MS)
    assert set(table(m)) == {(1, "02:00:00:00:00:0a"), (1, H1.mac), (1, H2.mac)}
    m.counted()


def test_mac_and_ip_lists(switch):
    """A packet passes if both permit it; what the MAC list denies, the other does not count."""
    m = switch(on(0, "mac access-group M in", "ip access-group F in") +
               "mac access-list M\n deny host %s any\n permit any any\n" % H0.mac + NO_TELNET, learnt=(H1,))
    nothing_from(m, l2(H0, H1, tcp4()), 0, drop_acl_in=1)
    assert m.console("show access-lists F").count("match") == 0
    nothing_from(m, l2(H2, H1, tcp4()), 0, drop_acl_in=1)
    m.send(0, l2(H2, H1, tcp4(80)))
    flooded(m, l2(H2, H1, tcp4(80)), (1,))
    m.counted()


def test_mac_commit(switch):
    """The console's configuration mode: a rule replaced, resequenced, removed; the rest keeps its counts."""
    m = switch(macs("deny host %s any" % H0.mac, "permit any any"), learnt=(H1,))
    nothing_from(m, frame(H0, H1), 0, drop_acl_in=1)
    said = commit(m, "mac access-list extended M", "5 deny any host 0200.0000.0003", "15 permit any any vlan 9")
    assert "restart" not in said and "%" not in said
    assert m.console("show access-lists M") == """\
MAC access list M
    5 deny any host 02:00:00:00:00:03
    10 deny host 02:00:00:00:00:00 any (1 match)
    15 permit any any vlan 9
    20 permit any any
    deny any any
"""
    nothing_from(m, frame(H0, H3), 0, drop_acl_in=1)
    commit(m, "mac access-list M", "no 10")
    m.send(0, frame(H0, H1))
    flooded(m, frame(H0, H1), (1,))
    m.counted()
    commit(m, "interface eth0", "no mac access-group M in", "no mac access-list M")
    assert m.console("show access-lists") == ""


def test_mac_trace(switch):
    m = switch("hostname r1\n" + macs("10 deny host %s any" % H0.mac, "permit any any"), learnt=(H1,))
    said = story(m, l2(H0, H1, tcp4()), "trace 1 timeout 8")
    assert ("filter", "eth0 in, M: 10 deny host 02:00:00:00:00:00 any") in said


def test_mac_list_after_the_control_program_restarts(switch):
    """The new program compiles the list beside the one in force."""
    m = switch(macs("deny host %s any" % H0.mac, "permit any any"), lives=True)
    before = m.console("show access-lists")
    assert "deny host" in before
    m.anew()
    m.key("\r")
    assert "control program: goes on" in m.text
    assert m.console("show access-lists") == before


# --- checksums left to a device ---

def test_checksum_that_the_port_shall_complete(switch):
    """It is still left to the port if it is that of the header that the list has read."""
    m = switch(on(0, "ip access-group F in") + NO_TELNET, learnt=(H0, H1))
    raw, _ = partial_udp(H1)
    m.send(0, raw, flags="partial 34 6")
    m.expect(1, raw, partial=(34, 6))
    m.expect_counters(forwarded=1)


@pytest.mark.parametrize("start, offset", [(34, 2), (34, 0), (16, 20), (14, 16)])
def test_a_lie_about_the_checksum_opens_no_port(switch, start, offset):
    """A device would write over what the list has read, here the destination's port: the list judges what is
    written, not what was there before."""
    m = switch(on(0, "ip access-group F in") + "ip access-list F\n permit tcp any any eq 80\n", learnt=(H0, H1))
    raw = l2(H0, H1, tcp4(80) / Raw(bytes(20)))
    m.send(0, raw, flags="partial %d %d" % (start, offset))
    for out in m.outs[1]:
        assert out.partial is None
        assert Ether(out.frame)[TCP].dport == 80 and raw[:14] == out.frame[:14]
    m.outs[1].clear()
    counted = m.counted()
    assert set(counted) <= {"forwarded", "drop_acl_in", "drop_ip4_checksum", "drop_ip4_src_martian"} and \
        sum(counted.values()) == 1


# --- the machine itself ---

def test_in_at_a_port_for_the_machine(make):
    m = make(host("interface eth0", "ip access-group F in",
                  "ip access-list F\n deny icmp any any\n permit ip any any\n"), ports=4)
    known(m, A, A3)
    nothing_from(m, ping(A, OWN), 0, drop_acl_in=1)
    m.send(3, ping(A3, OWN))
    reply(m.take(3).frame)


def test_in_at_the_interface_of_a_vlan(make):
    """What the VLAN's interface denies concerns the machine only: stations reach each other."""
    m = make(host("interface vlan10", "ip access-group F in\n ipv6 traffic-filter F6 in",
                  "ip access-list F\n permit icmp host %s any\nipv6 access-list F6\n permit tcp any any\n" % A3.ip),
             ports=4)
    known(m, A, A3)
    nothing_from(m, ping(A, OWN), 0, drop_acl_in=1)
    m.send(3, ping(A3, OWN))
    reply(m.take(3).frame)
    m.counted()
    m.send(0, ping(A, A3))
    m.expect(3, ping(A, A3))
    m.expect_counters(forwarded=1)
    echo = bytes(Ether(src=A.mac, dst=MAC) / IPv6(src=A.ip6, dst=OWN.ip6) / ICMPv6EchoRequest(data=b"x" * 40))
    nothing_from(m, echo, 0, drop_acl_in=1)
    short = bytes(Ether(src=A.mac, dst=MAC) / IP(src=A3.ip, dst=OWN.ip, proto=1) / Raw(b"x"))
    nothing_from(m, short, 0, drop_acl_undetermined=1)


def test_own_packets_are_not_judged(make):
    m = make(host("interface eth0", "ip access-group F out", "ip access-list F\n deny ip any any\n"), ports=4)
    known(m, A)
    m.send(0, ping(A, OWN))
    reply(m.take(0).frame)


# --- changes ---

def test_commit(switch):
    """Without a restart of the ports: stations stay learned. A rule that stays keeps its count."""
    m = switch(on(0, "ip access-group F in") + NO_TELNET, learnt=(H0, H1))
    nothing_from(m, l2(H0, H1, tcp4()), 0, drop_acl_in=1)
    said = commit(m, "ip access-list F", "5 deny tcp any any eq 22")
    assert "restart" not in said
    nothing_from(m, l2(H0, H1, tcp4(22)), 0, drop_acl_in=1)
    nothing_from(m, l2(H0, H1, tcp4()), 0, drop_acl_in=1)
    assert re.findall(r"\((.*)\)", m.console("show access-lists")) == ["1 match", "2 matches"]
    commit(m, "interface eth0", "no ip access-group F in")
    assert len(table(m)) == 2
    m.send(0, l2(H0, H1, tcp4()))
    flooded(m, l2(H0, H1, tcp4()), (1,))
    m.expect_counters(forwarded=1)


@pytest.mark.parametrize("way, port", [("in", 0), ("out", 1)])
def test_trace(switch, way, port):
    """`trace` names the port, the list and the rule."""
    m = switch("hostname r1\n" + on(port, "ip access-group F " + way) + NO_TELNET, learnt=(H0, H1))
    said = story(m, l2(H0, H1, tcp4()), "trace 1 timeout 8")
    assert ("filter", "eth%d %s, F: 10 deny tcp any any eq 23" % (port, way)) in said
    m.expect_nothing()


@pytest.mark.parametrize("config, why", [
    (SWITCH + on(0, "ip access-group G in"), "there is no access list of this name"),
    (SWITCH + on(0, "ip access-group F6 in") + NO_TELNET6, "is of IPv6"),
    (SWITCH + "interface vlan1\n ip access-group F out\n" + NO_TELNET, "no list filters them"),
    (SWITCH + "interface vlan1\n ipv6 traffic-filter F6 out\n" + NO_TELNET6, "no list filters them"),
    (SWITCH + on(0, "mac access-group F in") + NO_TELNET, '"mac access-group" takes one of MAC addresses'),
    (SWITCH + on(0, "ip access-group M in") + "mac access-list M\n permit any any\n", "is of MAC addresses"),
    (SWITCH + on(0, "mac access-group M out") + "mac access-list M\n permit any any\n", "expected in"),
    (SWITCH + "interface vlan1\n mac access-group M in\nmac access-list M\n permit any any\n", "only a port of the switch"),
    (on(0, "mac access-group M in") + "mac access-list M\n permit any any\n", "only a port of the switch"),
    (SWITCH + "mac access-list M\n", "the list has no rule"),
    ("application echo\n" + on(0, "ip access-group F in") + NO_TELNET, "the application echo does not filter"),
])
def test_refused(make, config, why):
    m = make(config, ports=4)
    assert why in m.text
    m.send(0, frame(H0, BROADCAST))
    m.expect_nothing()
    m.counted()
