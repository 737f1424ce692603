"""The machine's own addresses in VLANs of the switch: `interface vlanN`. What the machine answers is
tested elsewhere, on ports; this file tests how frames reach it and how its own find their port."""
import json
import os
import random
import time

import pytest
from ip6 import *
from machine import *
from prometheus_client.parser import text_string_to_metric_families
from scapy.layers.l2 import Dot1Q
from test_fuzz import FRAMES, flags_for, one, seeds, seeds6
from test_http import Client
from test_switch import flooded, frame, learn, table, tag

MAC = ROUTER[0].mac
CONFIG_HOST = WEB + """\
hostname s1
application switch
spanning-tree mode none
interface eth0
 switchport access vlan 10
interface eth1
 switchport access vlan 20
interface eth2
 switchport mode trunk
 switchport trunk native vlan none
interface eth3
 switchport access vlan 10
interface vlan10
 ip address 192.0.2.1/24
 ipv6 address 2001:db8:1::1/64
 ipv6 nd ra suppress
interface vlan20
 ip address 198.51.100.1/24
"""
OWN = Station(0, "192.0.2.1", MAC, "2001:db8:1::1")
OWN20 = Station(1, "198.51.100.1", MAC)
A3 = Station(3, "192.0.2.4", "02:aa:00:00:00:04")
T2 = Station(2, "198.51.100.9", "02:cc:00:00:00:09")  # behind the trunk, VLAN 20


@pytest.fixture
def s(make):
    machine = make(CONFIG_HOST, ports=4)
    return machine


def ping(src, dst, **fields):
    return bytes(ether(src, dst) / IP(src=src.ip, dst=dst.ip, **fields) / ICMP(id=7) / Raw(b"x" * 40))


def known(m, *stations):
    """The stations ask for the machine's address: both know each other."""
    for station in stations:
        own = OWN if station.ip.startswith("192.0.2.") else OWN20
        raw = padded(arp_request(station, own.ip))
        m.send(station.port, tag(raw, 20) if station is T2 else raw)
        m.time(20 * MS)
    for outs in m.outs:
        outs.clear()
    m.counted()


def reply(raw):
    packet = Ether(raw)
    assert packet[ICMP].type == 0 and packet.src == MAC
    return packet


def test_arp_for_us_is_answered_and_flooded(s):
    """The first answer is flooded too: its station is learned a moment later."""
    request, answer = padded(arp_request(A, OWN.ip)), padded(arp_reply(OWN, A))
    s.send(0, request)
    for raw in (request, answer):
        s.expect(2, tag(raw, 10))
        s.expect(3, raw)
    s.expect(0, answer)
    s.expect_counters(delivered_arp=1, arp_tx_reply=1, switch_flooded=1, switch_copies=4,
                      switch_learned=1)
    s.send(0, request)
    s.expect(2, tag(request, 10))
    s.expect(3, request)
    s.expect(0, answer)
    s.expect_counters(delivered_arp=1, arp_tx_reply=1, switch_flooded=1, switch_copies=2)


def test_arp_for_others_is_flooded_alone(s):
    request = padded(arp_request(A, A3.ip))
    s.send(0, request)
    s.expect(2, tag(request, 10))
    s.expect(3, request)
    s.expect_counters(forwarded=1, switch_flooded=1, switch_copies=1)


def test_arp_stays_in_its_vlan(s):
    """A request in VLAN 20 for our address in VLAN 10."""
    request = padded(arp_request(B, OWN.ip))
    s.send(1, request)
    s.expect(2, tag(request, 20))
    s.expect_counters(forwarded=1, switch_flooded=1)


def test_ping(s):
    known(s, A, B, T2)
    for station, own in ((A, OWN), (B, OWN20)):
        s.send(station.port, ping(station, own))
        assert reply(s.take(station.port).frame).dst == station.mac
    s.send(2, tag(ping(T2, OWN20), 20, priority=5))
    answer = reply(s.take(2).frame)
    assert answer[Dot1Q].vlan == 20 and answer.dst == T2.mac
    s.expect_nothing()
    s.expect_counters(delivered_icmp=3, icmp_tx_echo_reply=3)


def test_no_routing_between_vlans(s):
    known(s, A, B)
    s.send(0, bytes(ether(A, OWN) / udp(A, B)))
    s.send(0, ping(A, OWN20, ttl=9))  # another VLAN's address: not of this interface
    s.expect_counters(drop_ip4_not_ours=2)


def test_answer_to_a_station_that_has_moved(s):
    """Our packets leave by the port where the forwarding database has the station, now."""
    known(s, A)
    s.send(3, ping(A, OWN))
    s.time(20 * MS)
    s.take(0)  # the answer left before the move was learned
    s.send(3, ping(A, OWN))
    assert reply(s.take(3).frame).dst == A.mac
    s.expect_nothing()
    s.counted()


def test_answer_to_a_forgotten_station_is_flooded(s):
    known(s, A)
    assert s.console("clear mac address-table") == "1 stations forgotten\n"
    s.time(200 * MS)
    s.send(3, bytes(ether(A3, OWN) / IP(src=A.ip, dst=OWN.ip) / ICMP(id=7)))  # A's address, by A3
    for port in (0, 3):
        assert reply(s.take(port).frame).dst == A.mac
    answer = reply(s.take(2).frame)
    assert answer[Dot1Q].vlan == 10
    s.expect_nothing()
    s.time(20 * MS)
    s.expect_counters(delivered_icmp=1, icmp_tx_echo_reply=1, switch_copies=2, switch_learned=1)


def test_own_request(s):
    """ping at the console: the request for the neighbour is flooded, the packet goes to one port."""
    learn(s, A)
    s.key("ping 192.0.2.2 count 1\r")
    for port in (0, 2, 3):
        raw = s.take(port).frame
        assert Ether(raw)[ARP].pdst == A.ip and (Dot1Q in Ether(raw)) == (port == 2)
    s.send(0, arp_reply(A, OWN))
    s.time(20 * MS)
    request = Ether(s.take(0).frame)
    assert request[ICMP].type == 8 and request.dst == A.mac
    s.send(0, ether(A, OWN) / IP(src=A.ip, dst=OWN.ip) / ICMP(type=0, id=request[ICMP].id,
                                                            seq=request[ICMP].seq) / request[Raw])
    s.time(20 * MS)
    assert "1 received" in s.text
    s.expect_nothing()
    s.counted()


def test_neighbour_discovery(s):
    ns = Ether(src=A.mac, dst=in6_getnsmac(in6_getnsma(inet_pton(socket.AF_INET6, OWN.ip6)))) / IPv6(
        src=A.ip6, dst=inet_ntop(socket.AF_INET6, in6_getnsma(inet_pton(socket.AF_INET6, OWN.ip6))),
        hlim=255) / ICMPv6ND_NS(tgt=OWN.ip6) / ICMPv6NDOptSrcLLAddr(lladdr=A.mac)
    learn(s, A)
    s.send(0, ns)
    s.expect(2, tag(bytes(ns), 10))
    s.expect(3, ns)
    assert Ether(s.take(0).frame)[ICMPv6ND_NA].tgt == OWN.ip6
    s.counted()
    s.time(20 * MS)
    s.send(0, ether(A, OWN) / echo6(A, OWN))
    assert ICMPv6EchoReply in Ether(s.take(0).frame)
    s.expect_nothing()
    s.time(20 * MS)
    s.counted()


def test_groups_that_nobody_joined_are_flooded_alone(s):
    for dst, raw in (("33:33:00:00:12:34", echo6(A, "ff02::1234")),
                     ("01:00:5e:01:01:01", udp(A, "239.1.1.1")), (BROADCAST, udp(A, "255.255.255.255"))):
        out = padded(ether(A, dst) / raw)
        s.send(0, out)
        s.expect(2, tag(out, 10))
        s.expect(3, out)
    s.expect_counters(forwarded=3, switch_flooded=3, switch_copies=3)


def test_http_and_metrics(s):
    known(s, A)
    c = Client(s)
    status, _, content = c.get("/metrics")
    assert status == 200
    found = {(sample.name, sample.labels.get("port"), sample.labels.get("type")): sample.value
             for family in text_string_to_metric_families(content.decode()) for sample in family.samples}
    assert found["hayate_switch_stations", "eth0", "dynamic"] == 1
    assert found["hayate_switch_stations", "eth3", "dynamic"] == 0
    assert found["hayate_switch_stations", None, "static"] == 0
    assert found["hayate_switch_stations_max", None, None] > 1000
    status, _, content = c.get("/api/v1/interfaces.json")
    rows = {row["name"]: row for row in json.loads(content)["interfaces"]}
    assert rows["vlan10"]["vlan"] == 10 and "port" not in rows["vlan10"]
    assert rows["vlan10"]["link"] == "up" and rows["vlan10"]["rx_packets"] > 2
    c.close()
    s.counted()


def test_json(s):
    known(s, A, T2)
    c = Client(s)
    status, _, content = c.get("/api/v1/switch.json")
    got = json.loads(content)
    assert status == 200 and list(got) == ["ports", "spanning_tree", "vlans"]
    assert got["spanning_tree"] is None and {row["role"] for row in got["ports"]} == {None}
    states = {row["name"]: (row["state"], row["mode"], row["untagged"], row["stations"]) for row in got["ports"]}
    assert states == {"eth0": ("forwarding", "access", 10, 1), "eth1": ("forwarding", "access", 20, 0),
                      "eth2": ("forwarding", "trunk", 0, 1), "eth3": ("forwarding", "access", 10, 0)}
    ranges = {(row["first"], row["last"]): (row["untagged"], row["tagged"], row["interface"]) for row in got["vlans"]}
    rest = ([], ["eth2"], None)
    assert ranges == {(1, 9): rest, (10, 10): (["eth0", "eth3"], ["eth2"], "vlan10"), (11, 19): rest,
                      (20, 20): (["eth1"], ["eth2"], "vlan20"), (21, 4094): rest}
    status, _, content = c.get("/api/v1/stations.json")
    got = json.loads(content)
    stations = {(row["vlan"], row["mac"]): (row["port"], row["type"]) for row in got["stations"]}
    assert stations == {(10, A.mac): ("eth0", "dynamic"), (20, T2.mac): ("eth2", "dynamic")}
    assert got["total"] == 2 and got["room"] > 1000
    assert len(json.loads(c.get("/api/v1/stations.json?limit=1")[2])["stations"]) == 1
    c.close()
    for outs in s.outs:
        outs.clear()
    s.counted()


def test_our_address_as_a_source_is_not_learned(s):
    known(s, A)
    s.send(3, frame(MAC, A))
    s.expect(0, frame(MAC, A))
    s.time(20 * MS)
    assert all(mac != MAC for _, mac in table(s))
    s.send(0, ping(A, OWN))
    s.take(0)
    s.counted()


def test_links(s):
    """The interface is up while a port of its VLAN is; its neighbours go with the last one."""
    def links():
        said = s.console("show ip interface brief")
        return {line.split()[0]: line.split()[2] for line in said.splitlines() if line.startswith("vlan")}
    assert links() == {"vlan10": "up", "vlan20": "up"}
    s.link(1, False)
    s.time(20 * MS)
    assert links()["vlan20"] == "up"  # by the trunk
    s.link(2, False)
    s.time(20 * MS)
    assert links() == {"vlan10": "up", "vlan20": "down"}
    s.link(1, True)
    s.settle()
    assert links() == {"vlan10": "up", "vlan20": "up"}
    s.counted()


def test_shown(s):
    known(s, A)
    s.send(0, ping(A, OWN))
    s.take(0)
    said = s.console("show interfaces")
    assert "vlan10 link up, in use\n" in said and "VLAN 10 of the switch, mac %s" % MAC in said
    assert "eth0 link up, switched\n" in said
    rows = [line.split() for line in s.console("show vlan").splitlines()[1:]]
    assert rows == [["1-9", "-", "-", "eth2"], ["10", "vlan10", "eth0,eth3", "eth2"],
                    ["11-19", "-", "-", "eth2"], ["20", "vlan20", "eth1", "eth2"],
                    ["21-4094", "-", "-", "eth2"]]
    count = [line.split() for line in s.console("show interfaces counters").splitlines()]
    assert [row[:3] for row in count if row[0] == "vlan10"][0][1] == "2"  # ARP, and the ping
    s.counted()


def test_capture_of_a_vlan_of_the_switch_is_refused(s):
    """It has no port of its own; `vlan N` in a filter selects it."""
    assert "bytes" not in s.console("capture vlan10 count 1")


def test_commit_of_another_address(s):
    known(s, A)
    s.console("configure")
    for line in ("interface vlan10", "ip address 192.0.2.99/24", "commit"):
        s.key(line + "\r")
    s.time(SECOND)
    s.settle()
    s.console("end")
    request = padded(arp_request(A, "192.0.2.99"))
    learn(s, A)
    s.send(0, request)
    assert Ether(s.take(0).frame)[ARP].psrc == "192.0.2.99"
    s.expect(2, tag(request, 10))
    s.expect(3, request)
    s.counted()


# --- hostile frames ---

FUZZED = CONFIG_HOST.replace(" switchport access vlan 20\n", " switchport access vlan 20\n mtu 700\n") + \
    "mac address-table aging-time 10\nmac address-table static %s vlan 10 interface eth3\n" % A2.mac


def hostile(rng, corpus):
    """A mutated frame; often with a tag, of a VLAN that is there, of none, or of any."""
    raw = bytes(one(rng, corpus))
    if rng.random() < 0.5:
        vid = rng.choice([0, 10, 20, 21, 4095, rng.randrange(4096)])
        raw = raw[:12] + rng.choice([b"\x81\x00", b"\x88\xa8"]) + bytes(
            [rng.randrange(16) << 4 | vid >> 8, vid & 255]) + raw[12:]
    if rng.random() < 0.2:  # to a group, or to an address that nobody forwards
        raw = rng.choice([b"\xff" * 6, b"\x33\x33\0\0\0\1", b"\1\x80\xc2\0\0\0"]) + raw[6:]
    return raw[:2000]


def test_fuzz(make):
    """Random and mutated frames on all ports, while time passes and links fail: no sanitizer report, one
    fate for each frame, nothing beyond an MTU; afterwards the switch switches and answers."""
    seed = int(os.environ.get("SEED", time.time_ns() & 0xffffffff))
    notes.append("fuzz switch: SEED=%d" % seed)
    rng = random.Random(seed)
    m = make(FUZZED, ports=4)
    corpus = seeds(rng) + seeds6(rng)
    left = total = FRAMES // 2
    while left > 0:
        for _ in range(min(left, rng.choice([1, 32, 256, 300, 512]))):
            raw = hostile(rng, corpus)
            m.queue(rng.randrange(4), raw, flags_for(rng, raw))
            left -= 1
        m.command("run")
        if rng.random() < 0.5:
            m.time(rng.choice([MS, SECOND, 7 * SECOND, 100 * SECOND]))
        if rng.random() < 0.05:
            m.link(rng.randrange(4), False)
        if rng.random() < 0.1:
            for port in range(4):
                m.link(port, True)
        for port, most in enumerate((1514, 714, 1518, 1514)):
            assert all(14 <= len(frame) <= most for frame in m.take_all(port))
    for port in range(4):
        m.link(port, True)
    m.time(100 * SECOND)
    _, received, waiting = m.all_counters()
    assert received == total and waiting == 0
    for outs in m.outs:
        outs.clear()
    known(m, A, A3)
    m.send(0, ping(A, OWN))
    assert reply(m.take(0).frame).dst == A.mac
    m.send(0, frame(A, A3))
    m.expect(3, frame(A, A3))
    m.expect_nothing()
    m.counted()
