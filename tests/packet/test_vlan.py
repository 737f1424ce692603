"""VLANs (IEEE 802.1Q) and loopbacks: interfaces that are not ports. Other tests cover the behaviour
common to all interfaces, on ports; this file covers errors that confuse an interface with a
port."""
import itertools
import json
import subprocess

import pytest
from ip6 import *
from machine import *
from prometheus_client.parser import text_string_to_metric_families
from scapy.layers.l2 import Dot1Q
from test_capture import IN, OUT, Reader, begin
from test_http import Client

CONFIG_VLAN = """\
hostname r1
interface eth0
 ip address 192.0.2.1/24
 ipv6 address 2001:db8:1::1/64
 ipv6 nd ra suppress
interface eth1.100
 ip address 10.100.0.1/24
 ipv6 address 2001:db8:100::1/64
 ipv6 nd ra suppress
interface eth1.200
 ip address 10.200.0.1/24
 ipv6 address 2001:db8:200::1/64
 ipv6 nd ra suppress
 mtu 1300
interface eth1
 ip address 198.51.100.1/24
 ipv6 address 2001:db8:2::1/64
 ipv6 nd ra suppress
"""


class Tagged(Station):
    """A host on a VLAN of port 1."""

    def __init__(self, vid, number):
        super().__init__(1, "10.%d.0.%d" % (vid, number), "02:cc:00:00:%02x:%02x" % (vid, number),
                         "2001:db8:%d::%x" % (vid, number))
        self.vid = vid
        self.router = Station(1, "10.%d.0.1" % vid, ROUTER[1].mac, "2001:db8:%d::1" % vid)

    def tagged(self, frame):
        """The frame on the trunk."""
        raw = bytes(frame)
        return raw[:12] + b"\x81\x00" + self.vid.to_bytes(2, "big") + raw[12:]


C, D = Tagged(100, 2), Tagged(200, 2)


def learn_tagged(m, *stations):
    for s in stations:
        m.send(1, s.tagged(padded(arp_request(s, s.router.ip))))
        m.expect(1, s.tagged(padded(arp_reply(s.router, s))))


def learn6_tagged(m, *stations):
    """As learn6: each station solicits the router's link-local address, which is the same on all
    links."""
    for s in stations:
        ns = IPv6(src=s.ip6, dst=in6_ns_group(s.router.ip6), hlim=255) / ICMPv6ND_NS(
            tgt=s.router.ip6) / ICMPv6NDOptSrcLLAddr(lladdr=s.mac)
        m.send(1, s.tagged(Ether(src=s.mac, dst=in6_group_mac(s.router.ip6)) / ns))
        out = Ether(m.take(1).frame)
        assert out[Dot1Q].vlan == s.vid and out[ICMPv6ND_NA].tgt == s.router.ip6
        assert out.dst == s.mac


def in6_ns_group(addr):
    return inet_ntop(socket.AF_INET6, in6_getnsma(inet_pton(socket.AF_INET6, addr)))


def in6_group_mac(addr):
    return in6_getnsmac(in6_getnsma(inet_pton(socket.AF_INET6, addr)))


@pytest.fixture
def m(make):
    machine = make(CONFIG_VLAN)
    machine.learn(A, B)
    learn6(machine, A, B)
    learn_tagged(machine, C, D)
    learn6_tagged(machine, C, D)
    machine.counted()
    return machine


def test_untagged_to_vlan_and_back(m):
    m.send(0, ether(A, ROUTER[0]) / udp(A, C))
    m.expect(1, C.tagged(padded(ether(ROUTER[1], C) / hop(udp(A, C)))))
    m.send(1, C.tagged(ether(C, ROUTER[1]) / udp(C, A)))
    m.expect(0, ether(ROUTER[0], A) / hop(udp(C, A)))
    m.expect_counters(forwarded=2)


def test_untagged_to_vlan_and_back6(m):
    m.send(0, ether(A, ROUTER[0]) / udp6(A, C))
    m.expect(1, C.tagged(ether(ROUTER[1], C) / hop6(udp6(A, C))))
    m.send(1, C.tagged(ether(C, ROUTER[1]) / udp6(C, A)))
    m.expect(0, ether(ROUTER[0], A) / hop6(udp6(C, A)))
    m.expect_counters(forwarded=2)


def test_vlan_to_vlan_of_one_port(m):
    """The packet leaves by its incoming port, but by another interface: no redirect is needed."""
    m.send(1, C.tagged(ether(C, ROUTER[1]) / udp(C, D)))
    m.expect(1, D.tagged(padded(ether(ROUTER[1], D) / hop(udp(C, D)))))
    m.expect_counters(forwarded=1)


def test_a_vector_of_all(m):
    """Frames of three interfaces in one vector: each goes to its destination, those of one
    interface in order."""
    sent = []
    for n in range(60):
        src = (B, C, D)[n % 3]
        frame = ether(src, ROUTER[1]) / udp(src, A, id=n)
        m.queue(1, padded(frame) if src is B else src.tagged(padded(frame)))
        sent.append((src, n))
    m.command("run")
    came = [Ether(raw)[IP] for raw in m.take_all(0)]
    assert len(came) == 60
    for src in (B, C, D):
        assert [p.id for p in came if p.src == src.ip] == [n for s, n in sent if s is src]
    m.expect_counters(forwarded=60)


@pytest.mark.parametrize("vid", [1, 99, 101, 4094, 4095])
def test_unknown_vlan(m, vid):
    frame = bytes(ether(C, ROUTER[1]) / udp(C, A))
    m.send(1, frame[:12] + b"\x81\x00" + vid.to_bytes(2, "big") + frame[12:])
    m.send(0, frame[:12] + b"\x81\x00" + (100).to_bytes(2, "big") + frame[12:])
    m.expect_counters(drop_vlan_unknown=2)


def test_priority_tag(m):
    """VID 0 is no VLAN (802.1Q 6.9.1); a tag's priority and DEI are not part of the VLAN."""
    for port, src, dst in ((0, A, B), (1, B, A)):
        frame = bytes(ether(src, ROUTER[port]) / udp(src, dst))
        m.send(port, frame[:12] + b"\x81\x00\xa0\x00" + frame[12:])
        m.expect(dst.port, ether(ROUTER[dst.port], dst) / hop(udp(src, dst)))
    frame = bytes(ether(C, ROUTER[1]) / udp(C, A))
    m.send(1, frame[:12] + b"\x81\x00\xf0\x64" + frame[12:])
    m.expect(0, ether(ROUTER[0], A) / hop(udp(C, A)))
    m.expect_counters(forwarded=3)


@pytest.mark.parametrize("inner", [100, 200, 7])
def test_two_tags(m, inner):
    frame = bytes(ether(C, ROUTER[1]) / udp(C, A))
    tag = b"\x81\x00" + inner.to_bytes(2, "big")
    m.send(1, frame[:12] + b"\x81\x00\x00\x64" + tag + frame[12:])
    m.expect_counters(drop_vlan_unknown=1)


@pytest.mark.parametrize("size", range(12, 19))
def test_short_frame_with_tag(m, size):
    m.send_raw(1, C.tagged(ether(C, ROUTER[1]) / udp(C, A))[:size])
    m.expect_nothing()
    counted = m.counted()
    assert set(counted) <= {"drop_eth_short", "drop_eth_type", "drop_ip4_short",
                            "drop_vlan_unknown"} and sum(counted.values()) == 1, counted


def test_neighbour_of_a_vlan_is_asked_there(m):
    E = Tagged(200, 9)
    m.send(0, ether(A, ROUTER[0]) / udp(A, E))
    m.expect(1, E.tagged(padded(arp_request(E.router, E.ip))))
    m.send(1, E.tagged(padded(arp_reply(E, E.router))))
    m.expect(1, E.tagged(padded(ether(ROUTER[1], E) / hop(udp(A, E)))))
    assert "10.200.0.9" in m.console("show arp") and "eth1.200" in m.console("show arp")
    m.expect_counters(arp_tx_request=1, delivered_arp=1, forwarded=1)


def test_arp_stays_in_its_vlan(m):
    """A request in one VLAN for the router's address in another is not answered."""
    m.send(1, C.tagged(padded(arp_request(C, D.router.ip))))
    m.expect_counters(drop_arp_not_ours=1)


def test_smaller_mtu_of_a_vlan(m):
    big = udp(A, D, size=1400)
    m.send(0, ether(A, ROUTER[0]) / IP(bytes(big)))
    first, second = (Ether(raw) for raw in m.take_all(1))
    assert first[Dot1Q].vlan == second[Dot1Q].vlan == 200
    assert first[IP].len <= 1300 and first[IP].flags == "MF" and second[IP].flags == 0
    big = udp(A, D, size=1400, flags="DF")
    m.send(0, ether(A, ROUTER[0]) / big)
    m.expect(0, ether(ROUTER[0], A) / icmp_error(ROUTER[0], big, 3, 4, 1300))
    m.expect_counters(fragmented=1, fragments_created=2, forwarded=1, drop_ip4_need_frag=1,
                      icmp_tx_unreach_frag=1)


def test_full_size_with_tag(m):
    for packet, make_hop in ((udp(A, C, size=1500 - 28), hop), (udp6(A, C, size=1500 - 48), hop6)):
        m.send(0, ether(A, ROUTER[0]) / packet)
        m.expect(1, C.tagged(ether(ROUTER[1], C) / make_hop(packet)))
    m.expect_counters(forwarded=2)


def test_error_goes_back_by_the_vlan(m):
    packet = udp(C, A, ttl=1)
    m.send(1, C.tagged(ether(C, ROUTER[1]) / packet))
    m.expect(1, C.tagged(ether(ROUTER[1], C) / icmp_error(C.router, packet, 11, 0)))
    m.expect_counters(drop_ip4_ttl=1, icmp_tx_time_exceeded=1)


def test_checksum_that_the_port_shall_complete(m):
    """The start offset changes with the tag, in both directions."""
    m.send(1, C.tagged(ether(C, ROUTER[1]) / udp(C, A)), flags="partial 38 6")
    assert m.take(0).partial == (34, 6)
    m.send(0, ether(A, ROUTER[0]) / udp(A, C), flags="partial 34 6")
    assert m.take(1).partial == (38, 6)
    m.send(1, C.tagged(ether(C, ROUTER[1]) / udp(C, D)), flags="partial 38 6")
    assert m.take(1).partial == (38, 6)
    m.expect_counters(forwarded=3)


def test_a_lie_about_the_checksum_in_a_tagged_frame(m):
    """An offset in the headers, or before them, is not written to."""
    for start in (0, 2, 3, 4, 16, 17):
        m.send(1, C.tagged(ether(C, ROUTER[1]) / udp(C, A)), flags="partial %d 6" % start)
        m.take(0)
    m.expect_counters(forwarded=6)


def test_the_machine_answers_in_a_vlan(m):
    m.send(1, C.tagged(padded(ether(C, ROUTER[1]) / IP(src=C.ip, dst=C.router.ip) / ICMP(id=7))))
    reply = Ether(m.take(1).frame)
    assert reply[Dot1Q].vlan == 100 and reply[IP].src == C.router.ip and reply[ICMP].type == 0
    m.expect_counters(delivered_icmp=1, icmp_tx_echo_reply=1)


def test_links_of_vlans_are_the_port_s(m):
    m.link(1, False)
    m.time(20 * MS)
    m.send(0, ether(A, ROUTER[0]) / udp(A, C))
    m.expect(0, ether(ROUTER[0], A) / icmp_error(ROUTER[0], udp(A, C), 3, 1))
    m.expect_counters(drop_tx_down=1, icmp_tx_unreach_host=1)
    said = m.console("show interfaces")
    assert "eth1.100 link down, in use\n" in said and "VLAN 100 of eth1" in said
    m.link(1, True)
    m.settle()
    m.counted()


def test_shutdown(make):
    """Shutdown of one VLAN, and of the port with all its VLANs."""
    m = make(CONFIG_VLAN.replace("interface eth1.100\n", "interface eth1.100\n shutdown\n"))
    learn_tagged(m, D)
    m.counted()
    m.send(1, C.tagged(ether(C, ROUTER[1]) / udp(C, A)))
    m.expect_counters(drop_port_down=1)
    m = make(CONFIG_VLAN + " shutdown\n")
    m.send(1, C.tagged(ether(C, ROUTER[1]) / udp(C, A)))
    m.expect_counters(drop_port_down=1)
    assert "eth1.200 link up, in use" not in m.console("show interfaces")


def test_filter_of_a_vlan(make):
    m = make(CONFIG_VLAN.replace("interface eth1.100\n", "interface eth1.100\n"
                                 " ip access-group IN in\n") +
             "ip access-list IN\n 10 deny udp any any eq 2048\n 20 permit ip any any\n")
    m.learn(A)
    learn_tagged(m, C, D)
    m.counted()
    m.send(1, C.tagged(ether(C, ROUTER[1]) / udp(C, A)))
    m.expect(1, C.tagged(ether(ROUTER[1], C) / icmp_error(C.router, udp(C, A), 3, 13)))
    m.send(1, D.tagged(ether(D, ROUTER[1]) / udp(D, A)))
    m.expect(0, ether(ROUTER[0], A) / hop(udp(D, A)))
    m.expect_counters(drop_acl_in=1, icmp_tx_unreach_prohibited=1, forwarded=1)


@pytest.mark.parametrize("interface", ["eth1", "eth1.100"])
def test_filter_alone_by_commit(m, interface):
    """A commit that changes nothing but an interface's access group filters there, and no longer
    once the group is removed."""
    if interface == "eth1":
        packet = ether(B, ROUTER[1]) / udp(B, A)
        error = ether(ROUTER[1], B) / icmp_error(ROUTER[1], udp(B, A), 3, 13)
        forwarded = ether(ROUTER[0], A) / hop(udp(B, A))
    else:
        packet = C.tagged(ether(C, ROUTER[1]) / udp(C, A))
        error = C.tagged(ether(ROUTER[1], C) / icmp_error(C.router, udp(C, A), 3, 13))
        forwarded = ether(ROUTER[0], A) / hop(udp(C, A))
    for line in ("configure", "ip access-list F", "10 deny udp any any", "20 permit ip any any",
                 "commit", "interface " + interface, "ip access-group F in", "commit"):
        m.console(line)
    m.send(1, packet)
    m.expect(1, error)
    m.expect_counters(drop_acl_in=1, icmp_tx_unreach_prohibited=1)
    for line in ("no ip access-group F in", "commit"):
        m.console(line)
    m.send(1, packet)
    m.expect(0, forwarded)
    m.expect_counters(forwarded=1)


# --- loopbacks ---

LOOPBACK = CONFIG_VLAN + """\
interface lo0
 ip address 192.0.2.250/32
 description the router itself
interface lo3
 ip address 172.16.5.1/24
 ipv6 address 2001:db8:ffff::1/128
 ipv6 address 2001:db8:fffe::1/64
"""
LOOPBACK = LOOPBACK.replace("192.0.2.250", "10.255.0.1")


@pytest.mark.parametrize("address", ["10.255.0.1", "172.16.5.1"])
def test_loopback_answers(make, address):
    m = make(LOOPBACK)
    m.learn(A)
    learn_tagged(m, C)
    m.counted()
    m.send(0, ether(A, ROUTER[0]) / IP(src=A.ip, dst=address) / ICMP(id=7))
    reply = Ether(m.take(0).frame)
    assert reply[IP].src == address and reply[ICMP].type == 0
    m.send(1, C.tagged(padded(ether(C, ROUTER[1]) / IP(src=C.ip, dst=address) / ICMP(id=7))))
    assert Ether(m.take(1).frame)[IP].src == address
    m.expect_counters(delivered_icmp=2, icmp_tx_echo_reply=2)


@pytest.mark.parametrize("address", ["2001:db8:ffff::1", "2001:db8:fffe::1"])
def test_loopback_answers6(make, address):
    m = make(LOOPBACK)
    learn6(m, A)
    m.counted()
    m.send(0, ether(A, ROUTER[0]) / IPv6(src=A.ip6, dst=address) / ICMPv6EchoRequest(id=7))
    reply = Ether(m.take(0).frame)
    assert reply[IPv6].src == address and ICMPv6EchoReply in reply
    m.expect_counters(delivered_icmp6=1, icmp6_tx_echo_reply=1)


def test_nobody_else_is_on_a_loopback(make):
    m = make(LOOPBACK)
    m.learn(A)
    learn6(m, A)
    m.counted()
    for packet in (udp(A, "172.16.5.2"), udp6(A, "2001:db8:fffe::2")):
        m.send(0, ether(A, ROUTER[0]) / packet)
        assert Ether(m.take(0).frame).dst == A.mac
    m.expect_counters(drop_ip4_null0=1, drop_ip6_null0=1, icmp_tx_unreach_host=1,
                      icmp6_tx_unreach_reject=1)


def test_loopbacks_are_shown(make):
    m = make(LOOPBACK)
    said = m.console("show interfaces")
    assert "lo0 link up, in use\n  description the router itself\n  address 10.255.0.1/32\n" in said
    assert "lo3 link up, in use\n  address 172.16.5.1/24\n  address 2001:db8:ffff::1/128\n" in said
    assert [line.split()[:2] for line in m.console("show ip interface brief").splitlines()[1:]] == [
        ["eth0", "192.0.2.1/24"], ["eth1", "198.51.100.1/24"], ["eth1.100", "10.100.0.1/24"],
        ["eth1.200", "10.200.0.1/24"], ["lo0", "10.255.0.1/32"], ["lo3", "172.16.5.1/24"]]
    assert "lo3                 2001:db8:ffff::1/128" in m.console("show ipv6 interface brief")
    assert "2001:db8:ffff::1/128               local\n" in m.console("show ipv6 route")
    assert "10.200.0.2/32" not in m.console("show ip route")
    assert "10.200.0.0/24      connected eth1.200\n" in m.console("show ip route")


def test_the_configuration_is_printed(make):
    """Interfaces are printed in the order of their numbers, whatever the text's order; the printed
    configuration can be loaded and prints the same."""
    m = make(LOOPBACK + "ipv6 route 2001:db8:9::/48 fe80::9 eth1.200\n"
             "ipv6 neighbor fe80::9 eth1.200 02:00:00:00:00:09\n")
    said = m.console("show running-config")
    at = [said.index("interface %s\n" % n) for n in ("eth0", "eth1", "eth1.100", "eth1.200", "lo0",
                                                    "lo3")]
    assert at == sorted(at)
    assert "ipv6 route 2001:db8:9::/48 fe80::9 eth1.200\n" in said
    assert "ipv6 neighbor fe80::9 eth1.200 02:00:00:00:00:09\n" in said
    assert make(said).console("show running-config") == said


BAD = {
    "interface eth0.0": "unknown interface",
    "interface eth0.4095": "unknown interface",
    "interface eth0.": "unknown interface",
    "interface eth16.1": "unknown interface",
    "interface lo16": "unknown interface",
    "interface eth0.5\n ip address 10.0.5.1/24\ninterface eth0.5": "already has a block",
    "interface eth7.5\n ip address 10.0.5.1/24": "this machine has 2 ports",
    "interface eth0.5\n mtu 1501": "whose MTU is 1500",
    "interface eth0.5\n ip address 192.0.2.9/24": "overlaps 192.0.2.0/24 of eth0",
    "interface lo0\n mtu 1400": "no such thing as an MTU",
    "interface lo0\n ipv6 nd ra suppress": "no such thing as router advertisements",
    "interface lo0\n ip address 10.0.5.1/24\nip route 10.0.0.0/8 10.0.5.2":
        "a loopback, which has no neighbours",
    "ipv6 route 2001:db8:7::/48 fe80::1 eth0.5": "takes no part in IPv6",
    "application echo\ninterface eth0.5\n ip address 10.0.5.1/24": "no interfaces but its ports",
}


@pytest.mark.parametrize("lines,reason", BAD.items(), ids=BAD.keys())
def test_what_is_refused(make, lines, reason):
    m = make("interface eth0\n ip address 192.0.2.1/24\n" + lines + "\n")
    assert reason in m.text and "nothing of the configuration is applied" in m.text, m.text


def test_as_many_as_there_may_be(make):
    lines = "".join("interface eth0.%d\n ip address 10.0.%d.1/24\n" % (n, n) for n in range(1, 113))
    assert "eth0.112 link up" in make(lines).console("show interfaces")
    m = make(lines + "interface lo0\n")
    assert "too many interfaces; at most 112 VLANs and loopbacks" in m.text


def test_a_vlan_is_added_by_commit(m):
    for line in ("configure", "interface eth0.7", "ip address 10.7.0.1/24", "commit"):
        m.console(line)
    m.settle(12)
    E = Tagged(7, 2)
    frame = bytes(padded(arp_request(E, "10.7.0.1")))
    m.send(0, E.tagged(frame))
    reply = Ether(m.take(0).frame)
    assert reply[Dot1Q].vlan == 7 and reply[ARP].op == 2 and reply[ARP].psrc == "10.7.0.1"
    m.console("end")
    assert "interface eth0.7\n" in m.console("show running-config")


def test_counters_of_a_vlan(m):
    """The counts are of frames without tags, including the control core's, and restart at 0 after
    `clear counters`."""
    def row(name):
        return [int(n) for n in next(line for line in m.console(
            "show interfaces counters").splitlines() if line.split()[0] == name).split()[1:]]
    m.console("clear counters")
    m.send(0, ether(A, ROUTER[0]) / udp(A, C, size=100), ether(A, ROUTER[0]) / udp(A, D, size=200))
    m.send(1, C.tagged(ether(C, ROUTER[1]) / udp(C, D, size=300)))
    m.take_all(1)
    assert row("eth1.100") == [1, 14 + 28 + 300, 0, 0, 1, 14 + 28 + 100, 0, 0]
    assert row("eth1.200") == [0, 0, 0, 0, 2, 2 * 42 + 500, 0, 0]
    assert row("eth1")[0] == 1 and row("eth1")[4] == 3
    m.send(1, C.tagged(padded(ether(C, ROUTER[1]) / IP(src=C.ip, dst=C.router.ip) / ICMP(id=7))))
    m.take_all(1)
    assert row("eth1.100")[0] == 2 and row("eth1.100")[4] == 2
    assert "eth1.100 link up, in use\n  VLAN 100 of eth1" in m.console("show interfaces")
    assert "  rx_pkts 2\n  rx_bytes 402\n" in m.console("show interfaces")
    m.console("clear counters")
    assert row("eth1.100") == [0] * 8
    m.counted()


def test_pages_of_vlans_and_loopbacks(make):
    """What the pages say of an interface that is no port: what passed it, of the frames without tags;
    of a loopback that it is there."""
    m = make(LOOPBACK.replace("arp timeout 60\n", "") + WEB)
    m.learn(A)
    learn_tagged(m, C, D)

    def pages(sport):
        metrics = Client(m, sport=sport).get("/metrics")[2].decode()
        value = {(s.name[len("hayate_"):], *s.labels.values()): s.value
                 for f in text_string_to_metric_families(metrics) for s in f.samples
                 if s.name.startswith("hayate_interface_") and not {"reason", "fate"} & set(s.labels)}
        return value, json.loads(Client(m, sport=sport + 1).get("/api/v1/interfaces.json")[2])

    before, _ = pages(40000)
    m.send(0, ether(A, ROUTER[0]) / udp(A, C, size=100), ether(A, ROUTER[0]) / udp(A, D, size=200))
    m.send(1, C.tagged(ether(C, ROUTER[1]) / udp(C, D, size=300)))
    m.take_all(1)
    value, said = pages(40002)
    grown = {key[:2]: int(value[key] - before[key]) for key in value if key[0].endswith("_total")}
    want = {"eth1.100": (1, 342, 1, 142), "eth1.200": (0, 0, 2, 584)}  # no loopback, no port
    assert grown == {("interface_%s_%s_total" % what, name): row[i] for name, row in want.items()
                     for i, what in enumerate(itertools.product(("receive", "transmit"),
                                                                ("packets", "bytes")))}
    assert {key[2] for key in value if len(key) > 2} == {"eth1"}
    for name in ("eth1.100", "eth1.200", "lo0", "lo3"):
        assert value["interface_up", name] == value["interface_enabled", name] == 1
    found = {i["name"]: i for i in said["interfaces"]}
    assert list(found) == ["eth0", "eth1", "eth1.100", "eth1.200", "lo0", "lo3"]
    assert found["eth1"]["kind"] == "port" and found["eth1"]["rx_packets"] == 3
    assert found["eth1.200"].items() >= {
        "kind": "vlan", "port": "eth1", "vlan": 200, "mtu": 1300, "mac": ROUTER[1].mac, "link": "up",
        "enabled": True,
        **{"%cx_%s" % (way[0], what): value["interface_%s_%s_total" % (way, what), "eth1.200", "eth1"]
           for way, what in itertools.product(("receive", "transmit"), ("packets", "bytes"))}}.items()
    assert "10.200.0.1/24" in found["eth1.200"]["addresses"]
    assert "2001:db8:200::1/64" in found["eth1.200"]["addresses"]
    assert found["lo0"] == {"name": "lo0", "kind": "loopback", "description": "the router itself",
                            "link": "up", "enabled": True, "addresses": ["10.255.0.1/32"]}
    m.link(1, False)
    value, said = pages(40004)
    assert [value["interface_up", name] for name in ("eth1.100", "lo0")] == [0, 1]
    assert [i["link"] for i in said["interfaces"]] == ["up", "down", "down", "down", "up", "up"]


def test_static_neighbours_of_a_vlan(make):
    E = Tagged(200, 9)
    m = make(CONFIG_VLAN + "arp %s %s\nipv6 neighbor %s eth1.200 %s\n" % (E.ip, E.mac, E.ip6, E.mac))
    m.learn(A)
    learn6(m, A)
    for packet, after in ((udp(A, E), hop), (udp6(A, E), hop6)):
        m.send(0, ether(A, ROUTER[0]) / packet)
        m.expect(1, E.tagged(padded(ether(ROUTER[1], E) / after(packet))))
    m.expect_counters(forwarded=2)


def test_verify_by_vlan(make):
    """A source of one VLAN is not accepted from another VLAN of the same port."""
    m = make(CONFIG_VLAN.replace("interface eth1.100\n", "interface eth1.100\n"
                                 " ip verify unicast source reachable-via rx allow-default\n"))
    m.learn(A)
    learn_tagged(m, C, D)
    m.counted()
    m.send(1, C.tagged(ether(C, ROUTER[1]) / udp(D, A)), C.tagged(ether(C, ROUTER[1]) / udp(C, A)))
    m.expect(0, ether(ROUTER[0], A) / hop(udp(C, A)))
    m.expect_counters(drop_ip4_urpf=1, forwarded=1)


def mixed(m):
    """Frames of VLAN 100, of others, of none, and one of a provider's VLAN 100."""
    plain = bytes(padded(ether(C, ROUTER[1]) / udp(C, A, id=5)))
    m.send(1, D.tagged(ether(D, ROUTER[1]) / udp(D, A)), ether(B, ROUTER[1]) / udp(B, A),
           plain[:12] + b"\x88\xa8\x00\x64" + plain[12:], plain[:12] + b"\x81\0\0\0" + plain[12:],
           C.tagged(ether(C, ROUTER[1]) / udp(C, D)), plain[:12] + b"\x81\x00\xa0\x64" + plain[12:])
    for _ in range(4):
        m.take(0)
    m.send(0, ether(A, ROUTER[0]) / udp(A, C), ether(A, ROUTER[0]) / udp(A, D))
    m.take_all(1)
    m.time(20 * MS)
    assert m.counted()["drop_eth_type"] == 1


@pytest.mark.parametrize("words,want", [
    ("eth1.100", [(IN, C.ip), (IN, C.ip), (OUT, A.ip)]), ("eth1.100 out", [(OUT, A.ip)]),
    ("eth1.100 in dst host 10.200.0.2 or arp", [(IN, C.ip)]), ("eth1.200 not udp", [])])
def test_capture_of_a_vlan(make, tmp_path, words, want):
    """A capture of a VLAN has only its frames, with tags, even if the filter matches others."""
    m = make("capture server\ncapture access 192.0.2.0/24\n" +
             CONFIG_VLAN.replace("arp timeout 60\n", ""))
    m.learn(A, B)
    learn_tagged(m, C, D)
    reader = Reader(begin(m, words))
    reader.hear()  # the stream's head, so that it is not among the stations' frames
    mixed(m)
    stream = reader.hear()
    name = words.split()[0]
    assert stream.ports == [name]
    frames = [Ether(frame) for frame in stream.frames()]
    assert [(p.way, f[IP].src) for p, f in zip(stream.packets, frames)] == want
    assert all("%s.%d" % ("eth1", f[Dot1Q].vlan) == name for f in frames)
    m.key("\x03")
    reader.hear()
    m.counted()
    path = tmp_path / "vlan.pcapng"
    path.write_bytes(reader.got)
    said = subprocess.run(["tshark", "-r", path, "-T", "fields", "-e", "frame.interface_name", "-e",
                           "vlan.id", "-e", "ip.src"], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines() == ["%s\t%s\t%s" % (name, name[5:], ip) for _, ip in want]


@pytest.mark.parametrize("name", ["eth1.7", "eth0.100", "lo0", "eth1.", "eth7.100", "eth2"])
def test_no_such_interface_to_look_at(make, name):
    m = make("capture server\ncapture access 192.0.2.0/24\n" + LOOPBACK)
    assert "there is no port %s; say ethN" % name in m.console("capture " + name)
    assert "there is no port %s; say ethN" % name in m.console("trace 1 on " + name)


def test_trace_on_a_vlan(m):
    m.key("trace 2 on eth1.100\r")
    mixed(m)
    said = m.text[m.text.index("trace 2 on"):]
    assert said.count("vlan 100, 10.100.0.2 > ") == 2 and said.count("\n  frame ") == 2, said
    assert "done: 2 of 2 packets followed" in said


def test_trace_of_a_vlan(m):
    m.key("trace 1 on eth1 vlan 100\r")
    m.send(1, D.tagged(ether(D, ROUTER[1]) / udp(D, A)), C.tagged(ether(C, ROUTER[1]) / udp(C, D)))
    m.time(20 * MS)
    m.take_all(0)
    m.expect(1, D.tagged(padded(ether(ROUTER[1], D) / hop(udp(C, D)))))
    said = m.text[m.text.index("trace 1 on"):]
    for line in ("vlan 100, 10.100.0.2 > 10.200.0.2, udp 1024 > 2048, ttl 64",
                 "route     10.200.0.2/32 via 10.200.0.2 eth1.200", "neighbour %s eth1.200" % D.mac,
                 "mtu       1300", "ttl       64 to 63", "sent      eth1"):
        assert line in said, said
    m.expect_counters(forwarded=2)
