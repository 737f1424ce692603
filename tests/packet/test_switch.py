"""The switch (apps/switch): forwarding, flooding, VLANs, learning and its limits, by IEEE 802.1Q. The
machine's own addresses in VLANs are in test_switch_host.py."""
import collections

import pytest
from machine import *

PORTS = 4
SWITCH = "application switch\nspanning-tree mode none\n"  # test_switch_stp.py has that protocol

Host = collections.namedtuple("Host", "port mac")
H0, H1, H2, H3 = (Host(n, "02:00:00:00:00:0%d" % n) for n in range(4))


@pytest.fixture
def switch(make):
    """switch(config) starts a switch of four ports and has it learn the hosts given."""
    def start(config="", learnt=(), ports=PORTS, **options):
        machine = make(SWITCH + config, ports=ports, **options)
        for host in learnt:
            learn(machine, host)
        return machine
    return start


def frame(src, dst, size=60, fill=0x5a):
    """A frame of another protocol than any that the machine speaks."""
    return bytes(Ether(src=getattr(src, "mac", src), dst=getattr(dst, "mac", dst), type=0x88b5) /
                 Raw(bytes([fill]) * (size - 14)))


def tag(raw, vid, priority=0):
    return raw[:12] + b"\x81\x00" + (priority << 13 | vid).to_bytes(2, "big") + raw[12:]


def learn(m, host, vid=None):
    """The host sends a frame to a station that is not there; the machine learns it."""
    raw = frame(host, "02:00:00:00:ff:ff")
    m.send(host.port, tag(raw, vid) if vid else raw)
    m.time(20 * MS)
    for outs in m.outs:
        outs.clear()
    m.counted()


def table(m):
    """{(VLAN, MAC): (type, port)} of `show mac address-table`."""
    rows = [line.split() for line in m.console("show mac address-table").splitlines()[1:]]
    return {(int(vlan), mac): (kind, port) for vlan, mac, kind, port, age in rows}


def flooded(m, raw, ports):
    """The frame, and nothing else, leaves by these ports."""
    for port in ports:
        m.expect(port, raw)
    m.expect_nothing()


def story(m, port, raw):
    """The lines of `trace` about one frame, without those about when and how it arrived and the frame itself."""
    start = len(m.text)
    m.key("trace 1 timeout 8\r")
    m.send(port, raw)
    m.time(10 * MS)
    for outs in m.outs:
        outs.clear()
    said = m.text[start:].replace("\r", "")
    lines = said[said.index("packet 1\n"):said.index("\ndone: 1 of 1 packets followed\n")].splitlines()
    return [" ".join(line.split(":")[0].split()) for line in lines[3:]]


# --- forwarding and learning ---

def test_trace(switch):
    m = switch("interface eth1\n switchport mode trunk\n", learnt=(H0,))
    assert story(m, 1, tag(frame(H1, H0), 1)) == [
        "vlan 1", "source not known at eth1", "station known at eth0", "sent eth0", "fate forwarded"]
    assert story(m, 0, frame(H0, H3)) == [
        "vlan 1", "source known at eth0", "station not known", "sent eth1", "sent eth2", "sent eth3",
        "fate forwarded", "counted switch_flooded", "counted 2 x switch_copies"]
    assert story(m, 1, tag(frame(H1, BROADCAST), 9))[:3] == ["vlan 9", "source not known at eth1", "station a group"]
    assert story(m, 0, bytes(Ether(src=H0.mac, dst=H1.mac) / IP(src="192.0.2.1", dst="192.0.2.2") / Raw(b"x" * 40))) == [
        "vlan 1", "source known at eth0", "station known at eth1", "sent eth1", "fate forwarded"]  # and no TTL
    assert story(m, 0, tag(frame(H0, H1), 5)) == ["dropped drop_switch_vlan"]


def test_unknown_station_is_flooded_then_known(switch):
    m = switch()
    m.send(0, frame(H0, H1))
    flooded(m, frame(H0, H1), (1, 2, 3))
    m.expect_counters(forwarded=1, switch_flooded=1, switch_copies=2)
    m.time(20 * MS)
    m.expect_counters(switch_learned=1)
    m.send(1, frame(H1, H0))
    flooded(m, frame(H1, H0), (0,))
    m.expect_counters(forwarded=1)
    m.time(20 * MS)
    m.expect_counters(switch_learned=1)
    m.send(0, frame(H0, H1))
    flooded(m, frame(H0, H1), (1,))
    m.expect_counters(forwarded=1)
    assert table(m) == {(1, H0.mac): ("dynamic", "eth0"), (1, H1.mac): ("dynamic", "eth1")}


@pytest.mark.parametrize("group", [BROADCAST, "01:00:5e:00:00:05", "33:33:00:00:00:01",
                                   "01:80:c2:00:00:10"])
def test_group_is_flooded(switch, group):
    m = switch(learnt=(H0, H1))
    m.send(0, frame(H0, group))
    flooded(m, frame(H0, group), (1, 2, 3))
    m.expect_counters(forwarded=1, switch_flooded=1, switch_copies=2)


@pytest.mark.parametrize("last", range(16))
def test_reserved_addresses_are_not_forwarded(switch, last):
    """802.1Q table 8-1."""
    m = switch(learnt=(H0, H1))
    m.send(0, frame(H0, "01:80:c2:00:00:%02x" % last))
    m.expect_counters(drop_switch_reserved=1)


def test_a_burst_of_a_new_station_is_reported_once(switch):
    m = switch()
    m.send(0, *[frame(H0, H1, fill=n) for n in range(100)])
    for port in (1, 2, 3):
        for n in range(100):
            m.expect(port, frame(H0, H1, fill=n))
    m.expect_counters(forwarded=100, switch_flooded=100, switch_copies=200)
    m.time(20 * MS)
    m.expect_counters(switch_learned=1)


def test_order_in_a_vector(switch):
    """Known and unknown destinations, three output ports: each port's frames keep their order."""
    m = switch(learnt=(H1, H2))
    to = [(H1, H2, H3)[n % 3] for n in range(90)]
    m.send(0, *[frame(H0, host, fill=n) for n, host in enumerate(to)])
    for port, hosts in ((1, (H1, H3)), (2, (H2, H3)), (3, (H3,))):
        assert m.take_all(port) == [frame(H0, host, fill=n) for n, host in enumerate(to) if host in hosts]
    m.counted()


def test_frames_that_end_a_row(switch):
    """Frames in a row to one port are sent at once; one that differs amid them gets what it would get alone."""
    m = switch("interface eth0\n switchport mode trunk\n switchport trunk native vlan 10\n"
               "interface eth1\n switchport mode trunk\n switchport trunk native vlan 20\n mtu 1000\n"
               "interface eth2\n switchport mode trunk\n"
               "interface vlan10\n ip address 192.0.2.1/24\n mtu 1000\n"
               "mac address-table static %s vlan 10 interface eth1\n"
               "mac address-table static %s vlan 20 interface eth1\n"
               "mac address-table static %s vlan 10 interface eth2\n"
               "mac address-table static %s vlan 10 interface eth1\n" % (H1.mac, H1.mac, H2.mac, ROUTER[0].mac),
               learnt=(H0,))

    def ordinary(n, size=60):
        return tag(frame(H0, H1, fill=n, size=size), 10)

    def amid(other, leaves=None):
        """Sends the other frame amid ordinary ones, and first in a vector; takes what leaves by eth1."""
        m.send(0, *[ordinary(n) for n in (1, 2)], other, *[ordinary(n) for n in (3, 4)])
        m.send(0, other, ordinary(5))
        out = [leaves] if leaves else []
        assert m.take_all(1) == [ordinary(1), ordinary(2), *out, ordinary(3), ordinary(4), *out, ordinary(5)]
        if leaves:
            m.expect_counters(forwarded=7)

    plain = frame(H0, H1, fill=9)
    amid(tag(plain, 20), plain)  # another VLAN, whose frames have no tag there
    amid(plain, tag(plain, 10))  # the same VLAN, and came without its tag
    amid(ordinary(9, size=1014), ordinary(9, size=1014))
    amid(ordinary(9, size=1015))
    m.expect_counters(forwarded=5, drop_switch_too_big=2)
    amid(tag(frame(H0, ROUTER[0]), 10))  # to the machine, not to a port
    m.expect_counters(forwarded=5, drop_eth_type=2)
    m.link(2, False)
    m.time(20 * MS)
    m.expect_counters(switch_learned=1)  # H0, in VLAN 20
    amid(tag(frame(H0, H2), 10))
    m.expect_counters(forwarded=5, drop_switch_no_port=2)


def test_unknown_station_amid_a_row_to_the_last_port(switch):
    last = Host(15, "02:00:00:00:00:0f")
    m = switch(ports=16, learnt=(last,))
    sent = [frame(H0, last, fill=n) for n in range(3)] + [frame(H0, H3)] + [frame(H0, last, fill=n) for n in range(3)]
    m.send(0, *sent)
    assert m.take_all(15) == sent
    flooded(m, frame(H0, H3), range(1, 15))
    m.expect_counters(forwarded=7, switch_flooded=1, switch_copies=14)


def test_a_station_moves(switch):
    m = switch(learnt=(H0, H1))
    m.send(2, frame(H1, H0))
    m.expect(0, frame(H1, H0))
    m.time(20 * MS)
    m.expect_counters(forwarded=1, switch_moved=1)
    m.send(0, frame(H0, H1))
    flooded(m, frame(H0, H1), (2,))
    m.expect_counters(forwarded=1)


def test_destination_at_the_same_port(switch):
    m = switch(learnt=(H0, Host(0, "02:00:00:00:00:10")))
    m.send(0, frame(H0, "02:00:00:00:00:10"))
    m.expect_counters(drop_switch_same_port=1)


@pytest.mark.parametrize("source", [ZERO, BROADCAST, "01:00:5e:00:00:01"])
def test_source_that_is_no_station(switch, source):
    m = switch(learnt=(H1,))
    m.send(0, frame(source, H1))
    m.expect_counters(drop_eth_src=1)
    m.time(20 * MS)
    assert len(table(m)) == 1


def test_short_frames(switch):
    m = switch(learnt=(H0, H1))
    for size in range(14):
        m.send_raw(0, frame(H0, H1)[:size])
    m.expect_counters(drop_eth_short=14)
    for size in range(14, 60):
        m.send_raw(0, frame(H0, H1)[:size])
        assert m.take(1).frame == frame(H0, H1)[:size]
    m.counted()


def test_only_one_port(switch):
    m = switch(ports=1)
    m.send(0, frame(H0, BROADCAST))
    m.expect_counters(drop_switch_no_port=1)


# --- ages ---

def test_age(switch):
    """A station that sends stays; one that is silent for the ageing time is forgotten."""
    m = switch("mac address-table aging-time 10\n", learnt=(H0, H1))
    for _ in range(6):
        m.time(4 * SECOND)
        m.send(0, frame(H0, BROADCAST))
        m.counted()
        for outs in m.outs:
            outs.clear()
    assert table(m) == {(1, H0.mac): ("dynamic", "eth0")}
    m.time(20 * SECOND)
    assert table(m) == {}
    m.expect_counters(switch_aged=1)


def test_age_of_nobody(switch):
    m = switch("mac address-table aging-time 0\n", learnt=(H0,))
    m.time(2000 * SECOND)
    assert len(table(m)) == 1


def test_age_shown(switch):
    m = switch(learnt=(H0,))
    m.time(100 * SECOND)
    age = int(m.console("show mac address-table address " + H0.mac).split()[-1])
    assert 98 <= age <= 101
    m.send(0, frame(H0, BROADCAST))
    for outs in m.outs:
        outs.clear()
    assert int(m.console("show mac address-table address " + H0.mac).split()[-1]) <= 2
    m.counted()


def test_long_ageing_time(switch):
    m = switch("mac address-table aging-time 1000000\n", learnt=(H0,))
    m.time(900000 * SECOND)
    assert len(table(m)) == 1
    m.time(300000 * SECOND)
    assert table(m) == {}
    m.expect_counters(switch_aged=1)


# --- links ---

def test_link_down(switch):
    """The stations of a port without a link are forgotten, and nothing is sent there."""
    m = switch(learnt=(H0, H1))
    m.link(1, False)
    m.time(20 * MS)
    assert table(m) == {(1, H0.mac): ("dynamic", "eth0")}
    m.send(0, frame(H0, H1))
    flooded(m, frame(H0, H1), (2, 3))
    assert [line.split()[1] for line in m.console("show switchport").splitlines()[1:]] == [
        "forwarding", "down", "forwarding", "forwarding"]
    m.expect_counters(forwarded=1, switch_flooded=1, switch_copies=1)
    m.link(1, True)
    m.time(20 * MS)
    m.send(0, frame(H0, H1))
    flooded(m, frame(H0, H1), (1, 2, 3))
    m.counted()


def test_shutdown(switch):
    m = switch("interface eth1\n shutdown\n", learnt=(H0,))
    m.send(0, frame(H0, BROADCAST))
    flooded(m, frame(H0, BROADCAST), (2, 3))
    m.send(1, frame(H1, H0))
    m.expect_counters(forwarded=1, switch_flooded=1, switch_copies=1, drop_switch_blocked=1)
    assert (1, H1.mac) not in table(m)


# --- VLANs ---

VLANS = """\
interface eth0
 switchport access vlan 10
interface eth1
 switchport access vlan 20
interface eth2
 switchport mode trunk
 switchport trunk allowed vlan 10,20-21
 switchport trunk native vlan 21
interface eth3
 switchport access vlan 10
"""


def test_access_to_access(switch):
    m = switch(VLANS, learnt=(H0, H3))
    m.send(0, frame(H0, H3))
    flooded(m, frame(H0, H3), (3,))
    m.expect_counters(forwarded=1)


def test_vlans_are_separate(switch):
    """Neither a broadcast nor a known address of another VLAN gets across."""
    m = switch(VLANS, learnt=(H0, H1, H3))
    m.send(1, frame(H1, H0))
    flooded(m, tag(frame(H1, H0), 20), (2,))
    m.send(1, frame(H1, BROADCAST))
    flooded(m, tag(frame(H1, BROADCAST), 20), (2,))
    m.expect_counters(forwarded=2, switch_flooded=2)
    assert table(m)[20, H1.mac] == ("dynamic", "eth1") and (10, H1.mac) not in table(m)


def test_the_same_address_in_two_vlans(switch):
    twin = Host(1, H0.mac)
    m = switch(VLANS, learnt=(H0, twin))
    assert table(m) == {(10, H0.mac): ("dynamic", "eth0"), (20, H0.mac): ("dynamic", "eth1")}
    m.send(2, tag(frame(H2, H0), 20))
    flooded(m, frame(H2, H0), (1,))
    m.send(2, tag(frame(H2, H0), 10))
    flooded(m, frame(H2, H0), (0,))
    m.counted()


def test_access_to_trunk_and_back(switch):
    m = switch(VLANS, learnt=(H0, H1, H3))
    m.send(2, tag(frame(H2, H0), 10, priority=5))
    flooded(m, frame(H2, H0), (0,))
    m.time(20 * MS)
    m.send(0, frame(H0, H2))
    flooded(m, tag(frame(H0, H2), 10), (2,))
    m.expect_counters(forwarded=2, switch_learned=1)


def test_flood_in_both_forms(switch):
    """A flood that needs tags on one port and none on another: one copy, both right."""
    m = switch(VLANS, learnt=(H0,))
    m.send(0, frame(H0, BROADCAST))
    m.expect(2, tag(frame(H0, BROADCAST), 10))
    m.expect(3, frame(H0, BROADCAST))
    m.expect_counters(forwarded=1, switch_flooded=1, switch_copies=1)
    m.send(2, tag(frame(H2, BROADCAST), 10, priority=3))
    m.expect(0, frame(H2, BROADCAST))
    m.expect(3, frame(H2, BROADCAST))
    m.time(20 * MS)
    m.expect_counters(forwarded=1, switch_flooded=1, switch_copies=1, switch_learned=1)


def test_native_vlan(switch):
    m = switch(VLANS)
    m.send(2, frame(H2, BROADCAST))
    m.expect_counters(drop_switch_no_port=1)
    m = switch(VLANS.replace("access vlan 20", "access vlan 21"), learnt=(H1,))
    m.send(2, frame(H2, H1))
    flooded(m, frame(H2, H1), (1,))
    m.send(2, tag(frame(H2, H1), 21))  # tagged though native: it is a member
    flooded(m, frame(H2, H1), (1,))
    m.send(1, frame(H1, BROADCAST))
    flooded(m, frame(H1, BROADCAST), (2,))
    m.counted()


def test_trunk_without_native_vlan(switch):
    m = switch("interface eth0\n switchport mode trunk\n switchport trunk native vlan none\n"
               "interface eth1\n switchport mode trunk\n")
    m.send(0, frame(H0, BROADCAST))
    m.send(0, tag(frame(H0, BROADCAST), 0))
    m.expect_counters(drop_switch_vlan=2)
    m.send(1, frame(H1, BROADCAST))  # VLAN 1 is native there only
    m.expect(0, tag(frame(H1, BROADCAST), 1))
    m.expect(2, frame(H1, BROADCAST))
    m.expect(3, frame(H1, BROADCAST))
    m.expect_counters(forwarded=1, switch_flooded=1, switch_copies=2)


@pytest.mark.parametrize("vid", [1, 11, 22, 4094, 4095])
def test_ingress_filter(switch, vid):
    m = switch(VLANS, learnt=(H0, H1))
    m.send(2, tag(frame(H2, H0), vid))
    m.send(0, tag(frame(H0, H3), vid))
    m.expect_counters(drop_switch_vlan=2)
    m.time(20 * MS)
    assert all(mac != H2.mac for _, mac in table(m))


def test_tagged_frame_of_an_access_port(switch):
    """802.1Q 6.9: the port is a member of the VLAN, so its tagged frames are taken."""
    m = switch(VLANS, learnt=(H0, H3))
    m.send(0, tag(frame(H0, H3), 10))
    flooded(m, frame(H0, H3), (3,))
    m.expect_counters(forwarded=1)


def test_priority_tag(switch):
    """VID 0 is no VLAN (802.1Q 6.9.1)."""
    m = switch(VLANS, learnt=(H0, H3, H1))
    m.send(0, tag(frame(H0, H3), 0, priority=7))
    flooded(m, frame(H0, H3), (3,))
    m.send(0, tag(frame(H0, BROADCAST), 0, priority=7))
    m.expect(2, tag(frame(H0, BROADCAST), 10))
    m.expect(3, frame(H0, BROADCAST))
    m.expect_counters(forwarded=2, switch_flooded=1, switch_copies=1)


def test_two_tags(switch):
    """The inner tag is payload."""
    m = switch(VLANS, learnt=(H0,))
    inner = tag(frame(H2, H0), 20)
    m.send(2, inner[:12] + b"\x81\x00\x00\x0a" + inner[12:])
    flooded(m, inner, (0,))
    m.time(20 * MS)
    m.expect_counters(forwarded=1, switch_learned=1)


def test_tag_of_a_short_frame(switch):
    m = switch(VLANS, learnt=(H0,))
    for size in range(14, 18):
        m.send_raw(2, tag(frame(H2, H0), 10)[:size])  # no whole tag: an untagged frame of VLAN 21
    m.expect_counters(drop_switch_no_port=4)


def test_show_vlan(switch):
    m = switch(VLANS)
    rows = [line.split() for line in m.console("show vlan").splitlines()[1:]]
    assert rows == [["10", "-", "eth0,eth3", "eth2"], ["20", "-", "eth1", "eth2"], ["21", "-", "eth2", "-"]]
    rows = [line.split() for line in m.console("show switchport").splitlines()[1:]]
    assert [row[2:4] + row[5:] for row in rows] == [
        ["access", "10", "10"], ["access", "20", "20"], ["trunk", "21", "10,20-21"], ["access", "10", "10"]]


def test_a_trunk_of_all_vlans_is_shown_in_ranges(switch):
    m = switch("interface eth0\n switchport mode trunk\n")
    rows = [line.split() for line in m.console("show vlan").splitlines()[1:]]
    assert rows == [["1", "-", "eth0,eth1,eth2,eth3", "-"], ["2-4094", "-", "-", "eth0"]]


# --- sizes, checksums ---

def test_mtu(switch):
    """Each port has its own; a tag does not count."""
    m = switch("interface eth1\n mtu 1000\ninterface eth2\n switchport mode trunk\n"
               " switchport trunk native vlan none\n", learnt=(H0, H1, H3))
    for size, fits in ((1014, True), (1015, False)):
        m.send(0, frame(H0, H1, size))
        if fits:
            m.expect(1, frame(H0, H1, size))
    m.expect_counters(forwarded=1, drop_switch_too_big=1)
    m.send(0, frame(H0, BROADCAST, 1500))
    m.expect(2, tag(frame(H0, BROADCAST, 1500), 1))
    m.expect(3, frame(H0, BROADCAST, 1500))
    m.send(0, frame(H0, BROADCAST, 1514))
    m.expect(2, tag(frame(H0, BROADCAST, 1514), 1))
    m.expect(3, frame(H0, BROADCAST, 1514))
    m.counted()


def test_flood_that_fits_no_port(switch):
    m = switch("interface eth1\n mtu 1000\ninterface eth2\n shutdown\n", ports=3, learnt=(H0,))
    m.send(0, frame(H0, BROADCAST, 1500))
    m.expect_counters(switch_flooded=1, drop_switch_too_big=1)


def partial_udp(dst):
    packet = fixed(udp(A, B, 100))
    raw = bytearray(bytes(Ether(src=H0.mac, dst=getattr(dst, "mac", dst)) / packet))
    whole = bytes(raw)
    raw[40:42] = b"\0\0"
    rest = sum(int.from_bytes((raw[34:] + b"\0")[n:n + 2], "big") for n in range(0, len(raw) - 34, 2))
    want = int.from_bytes(whole[40:42], "big") ^ 0xffff
    # the value from which the device makes the right one: RFC 1071
    seed = (want - rest) % 0xffff
    raw[40:42] = seed.to_bytes(2, "big")
    return bytes(raw), whole


def test_checksum_that_the_port_shall_complete(switch):
    m = switch("interface eth1\n switchport mode trunk\n switchport trunk native vlan none\n",
               learnt=(H0, H2))
    learn(m, H1, vid=1)
    raw, whole = partial_udp(H2)
    m.send(0, raw, flags="partial 34 6")
    m.expect(2, raw, partial=(34, 6))
    raw, whole = partial_udp(H1)
    m.send(0, raw, flags="partial 34 6")
    m.expect(1, tag(raw, 1), partial=(38, 6))
    raw, whole = partial_udp(BROADCAST)  # in several places at once: it is complete
    m.send(0, raw, flags="partial 34 6")
    m.expect(1, tag(whole, 1))
    m.expect(2, whole)
    m.expect(3, whole)
    m.counted()


@pytest.mark.parametrize("start", [0, 2, 8, 12, 13])
def test_a_lie_about_the_checksum(switch, start):
    """The device would write over the addresses or the tag that we have checked."""
    m = switch(VLANS, learnt=(H0, H3))
    for dst in (H3, BROADCAST):
        m.send(0, frame(H0, dst), flags="partial %d 0" % start)
        if dst == BROADCAST:
            m.expect(2, tag(frame(H0, dst), 10))
        m.expect(3, frame(H0, dst))
    m.counted()


# --- static stations, limits ---

def test_static_station(switch):
    m = switch("mac address-table static 02:00:00:00:00:01 vlan 1 interface eth1\n", learnt=(H0,))
    m.send(0, frame(H0, H1))
    flooded(m, frame(H0, H1), (1,))
    m.send(2, frame(H1, H0))  # it does not move
    m.expect(0, frame(H1, H0))
    m.time(20 * MS)
    m.time(1000 * SECOND)
    assert table(m) == {(1, H1.mac): ("static", "eth1")}
    m.expect_counters(forwarded=2, switch_aged=1)
    assert m.console("clear mac address-table") == "0 stations forgotten\n"
    assert len(table(m)) == 1


def test_limit_of_a_port(switch):
    m = switch("interface eth0\n mac address-table limit 2\n", learnt=(H1,))
    for n in range(4):
        m.send(0, frame("02:00:00:00:01:%02x" % n, H1))
        m.take_all(1)
        m.time(20 * MS)
    assert sum(port == "eth0" for _, port in table(m).values()) == 2
    assert "learned_eth0 2 of 2\n" in m.console("show mac address-table count")
    m.expect_counters(forwarded=4, switch_learned=2, switch_refused=2)


def test_flood_of_sources(switch):
    """More new stations in one turn than places for reports: those without a place are counted, and
    are learned when they send again."""
    m = switch(learnt=(H1,))
    many = ["02:00:00:01:%02x:%02x" % (n >> 8, n & 255) for n in range(1500)]
    for n in range(0, 1500, 250):
        for mac in many[n:n + 250]:
            m.queue(0, padded(frame(mac, H1)))
    m.command("run")
    m.time(20 * MS)
    m.take_all(1)
    counted = m.counted()
    assert counted["forwarded"] == 1500
    assert counted.get("switch_learned", 0) + counted.get("switch_reports_lost", 0) == 1500
    assert counted["switch_reports_lost"] > 0
    m.time(SECOND)
    for mac in many:
        m.send(0, frame(mac, H1))
        m.time(11 * MS)
    m.take_all(1)
    assert m.console("show mac address-table count").split()[5] == "1501"
    m.counted()


# --- commands, commits ---

def test_clear(switch):
    m = switch(VLANS, learnt=(H0, H1, H3))
    assert m.console("clear mac address-table vlan 20") == "1 stations forgotten\n"
    assert m.console("clear mac address-table interface eth3 vlan 10") == "1 stations forgotten\n"
    assert list(table(m)) == [(10, H0.mac)]
    for wrong in ("vlan", "vlan 0", "interface eth9", "interface vlan10", "port 1"):
        assert "forgotten" not in m.console("clear mac address-table " + wrong)
    assert m.console("clear mac address-table") == "1 stations forgotten\n"


def commit(m, *lines):
    m.console("configure")
    for line in lines:
        m.key(line + "\r")  # it may scroll sideways
    said = m.console("commit")
    m.console("end")
    return said


def test_commit_moves_a_port_to_another_vlan(switch):
    """Without a restart of the ports: other stations stay learned."""
    m = switch(VLANS, learnt=(H0, H1, H3))
    said = commit(m, "interface eth3", "switchport access vlan 20")
    assert "restart" not in said
    assert set(table(m)) == {(10, H0.mac), (20, H1.mac)}
    m.send(3, frame(H3, H1))
    flooded(m, frame(H3, H1), (1,))
    m.send(0, frame(H0, H3))
    flooded(m, tag(frame(H0, H3), 10), (2,))
    m.counted()


def test_commit_of_trunk_static_and_ageing_time(switch):
    m = switch("interface eth1\n", learnt=(H0,))
    commit(m, "mac address-table static 02:00:00:00:00:09 vlan 1 interface eth3",
           "mac address-table aging-time 20", "interface eth1", "switchport mode trunk",
           "switchport trunk native vlan none")
    m.send(0, frame(H0, "02:00:00:00:00:09"))
    flooded(m, frame(H0, "02:00:00:00:00:09"), (3,))
    m.send(0, frame(H0, H1))
    m.expect(1, tag(frame(H0, H1), 1))
    m.expect(2, frame(H0, H1))
    m.expect(3, frame(H0, H1))
    m.time(30 * SECOND)
    assert table(m) == {(1, "02:00:00:00:00:09"): ("static", "eth3")}
    commit(m, "no mac address-table static 02:00:00:00:00:09 vlan 1 interface eth3")
    assert table(m) == {}
    m.counted()


def test_commit_of_a_longer_ageing_time(switch):
    """Marks of another unit would mean other times: the stations are learned anew."""
    m = switch(learnt=(H0,))
    commit(m, "mac address-table aging-time 1000000")
    assert table(m) == {}
    m.time(200 * MS)  # until a data core reports the same station again
    learn(m, H0)
    m.time(5000 * SECOND)
    assert len(table(m)) == 1


@pytest.mark.parametrize("config, why", [
    (SWITCH + "interface eth0\n ip address 192.0.2.1/24\n", "a port of the switch has no address"),
    (SWITCH + "interface eth0\n ipv6 enable\n", "takes no part in IPv6"),
    (SWITCH + "interface eth0.5\n", "the application switch has no interfaces but"),
    (SWITCH + "interface lo0\n", "the application switch has no interfaces but"),
    (SWITCH + "interface vlan1\n mtu 9000\n", "the least MTU of a port is 1500"),
    (SWITCH + "mac address-table static 02:00:00:00:00:01 vlan 1 interface eth9\n", "this machine has 4 ports"),
    ("interface eth0\n switchport mode trunk\n", "the application router does not switch"),
    ("interface vlan1\n", "the application router has no VLANs of its own"),
    ("mac address-table aging-time 20\n", "the application router does not switch"),
    ("application echo\ninterface vlan1\n", "the application echo has no VLANs of its own"),
])
def test_refused_configuration(make, config, why):
    """With a refused configuration no port switches: frames might cross VLANs."""
    m = make(config, ports=PORTS)
    assert why in m.text
    m.send(0, frame(H0, BROADCAST))
    m.expect_nothing()
    m.counted()


def test_without_a_configuration(make):
    """app=switch alone: all ports in VLAN 1."""
    m = make(None, ports=2, app="switch")
    assert "all interfaces are down" not in m.text
    m.settle(1)  # nobody speaks for three seconds: the ports are edges of the spanning tree
    m.counted()
    m.send(0, frame(H0, BROADCAST))
    m.expect(1, frame(H0, BROADCAST))
    m.expect_counters(forwarded=1, switch_flooded=1)


# --- memory, restarts ---

def test_no_memory_for_the_table(switch):
    """Whatever request for memory is refused (those for devices come before), the switch has a table, floods
    all frames without one, or forwards nothing."""
    seen = set()
    for n in range(5, 20):
        m = switch(refuse=str(n))
        said = m.console("show mac address-table count")
        for _ in range(2):
            m.send(0, frame(H0, H1))
            m.time(20 * MS)
            m.send(1, frame(H1, H0))
            m.time(20 * MS)
        sent = [len(outs) for outs in m.outs]
        for outs in m.outs:
            outs.clear()
        if "not enough memory for a table" in said:
            assert table(m) == {} and sent in ([2, 2, 4, 4], [0] * 4)
        else:
            assert sent in ([2, 2, 1, 1], [0] * 4)
        seen.add(("not enough" in said, tuple(sent)))
        m.counted()
        m.close()
    assert (True, (2, 2, 4, 4)) in seen and (False, (2, 2, 1, 1)) in seen


def test_no_buffer_for_a_copy(switch):
    """The frame itself still reaches the ports that need its form."""
    m = switch(VLANS, learnt=(H0,))
    m.refuse("buffers", 1, on=True)
    m.send(0, frame(H0, BROADCAST))
    m.expect(3, frame(H0, BROADCAST))
    m.refuse("buffers", 0)
    m.expect_counters(forwarded=1, switch_flooded=1, originated_drop_no_buffer=1)


def test_control_program_restarts(switch):
    """The new program builds the same VLANs beside the tables in force."""
    m = switch(VLANS, lives=True)
    before = m.console("show vlan") + m.console("show switchport")
    m.anew()
    m.key("\r")
    assert "control program: goes on" in m.text
    assert m.console("show vlan") + m.console("show switchport") == before


# --- docs/switch.md ---

def document():
    """The configuration of docs/switch.md, and its examples of output by command."""
    with open(ROOT + "/docs/switch.md", encoding="utf-8") as f:
        text = f.read()
    config = text.split("## Configuration\n\n```\n")[1].split("```")[0]
    sections = [part.partition("\n") for part in text.split("\n### ")[1:]]
    return config, {head: body.split("```\n")[1] for head, _, body in sections if "```\n" in body}


def test_the_document_is_true(make):
    """Its configuration boots, and each command prints what the document shows, but for the MAC addresses
    that were learned, ages and the room."""
    config, examples = document()
    m = make(config, ports=3)
    m.settle(1)
    m.send(2, tag(frame("52:54:00:12:34:56", BROADCAST), 10))
    m.time(20 * MS)
    for outs in m.outs:
        outs.clear()
    m.counted()
    assert set(examples) == {"show mac address-table", "show mac address-table count", "show vlan",
                             "show switchport", "show storm-control", "show errdisable", "show spanning-tree",
                             "show monitor session"}
    for command, example in examples.items():
        said = m.console(command).splitlines()
        wanted = example.replace("52:54:00:68:79:00", ROUTER[0].mac).splitlines()
        assert len(said) == len(wanted)
        if command == "show mac address-table":  # its order is that of a hash
            said, wanted = said[:1] + sorted(said[1:]), wanted[:1] + sorted(wanted[1:])
        for line, want in zip(said, wanted):
            if want.startswith("room ") or "52:54:00:12:34:56" in want:
                line, want = line.split()[:-1], want.split()[:-1]
            if isinstance(want, str) and want.startswith("learned_eth2 "):
                want = "learned_eth2 1"
            assert line == want
