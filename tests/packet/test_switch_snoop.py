"""IGMP and MLD snooping of the switch (apps/switch/snoop.c, snooping.c): by which ports packets to groups and
messages about groups leave (RFC 4541), what the machine sends, and what it shows."""
import pytest
from machine import *
from scapy.contrib.igmp import IGMP
from scapy.contrib.igmpv3 import IGMPv3, IGMPv3gr, IGMPv3mr
from scapy.layers.inet import IPOption_Router_Alert
from scapy.layers.inet6 import (ICMPv6MLDMultAddrRec, ICMPv6MLDone, ICMPv6MLQuery, ICMPv6MLReport, ICMPv6MLReport2,
                                IPv6ExtHdrHopByHop, RouterAlert)
from test_switch import H0, H1, H2, H3, frame, learn, switch, tag

GROUP, OTHER, GROUP6 = "239.1.1.1", "239.1.1.2", "ff3e::1234"
HOSTS = (H0, H1, H2, H3)
ROUTER_IP = "192.0.2.9"  # behind port 0


def mac4(group):
    octets = [int(o) for o in group.split(".")]
    return "01:00:5e:%02x:%02x:%02x" % (octets[1] & 127, octets[2], octets[3])


def mac6(group):
    raw = socket.inet_pton(socket.AF_INET6, group)
    return "33:33:" + ":".join("%02x" % o for o in raw[12:])


def igmp(port, message, dst, src="192.0.2.77"):
    return padded(Ether(src=HOSTS[port].mac, dst=mac4(dst)) /
                  IP(src=src, dst=dst, ttl=1, options=[IPOption_Router_Alert()]) / message)


def query(port=0, group="0.0.0.0", src=ROUTER_IP, seconds=10):
    return igmp(port, IGMP(type=0x11, mrcode=seconds * 10, gaddr=group),
                "224.0.0.1" if group == "0.0.0.0" else group, src)


def report(port, group=GROUP):
    return igmp(port, IGMP(type=0x16, gaddr=group), group)


def leave(port, group=GROUP):
    return igmp(port, IGMP(type=0x17, gaddr=group), "224.0.0.2")


def report3(port, *records):
    """Records (type, group, sources)."""
    rows = [IGMPv3gr(rtype=kind, maddr=group, srcaddrs=list(sources)) for kind, group, sources in records]
    return igmp(port, IGMPv3(type=0x22) / IGMPv3mr(records=rows), "224.0.0.22")


def mld(port, message, dst, src="fe80::77"):
    return bytes(Ether(src=HOSTS[port].mac, dst=mac6(dst)) / IPv6(src=src, dst=dst, hlim=1) /
                 IPv6ExtHdrHopByHop(options=[RouterAlert()]) / message)


def data(port, group=GROUP):
    return padded(Ether(src=HOSTS[port].mac, dst=mac4(group)) / IP(src="192.0.2.50", dst=group) /
                  UDP(sport=5000, dport=5001) / Raw(b"x" * 20))


def data6(port, group=GROUP6):
    return bytes(Ether(src=HOSTS[port].mac, dst=mac6(group)) / IPv6(src="2001:db8::50", dst=group) /
                 UDP(sport=5000, dport=5001) / Raw(b"x" * 20))


def reach(m, port, raw, ports):
    """The frame leaves by these ports, and nothing else does."""
    m.send(port, raw)
    for p in ports:
        m.expect(p, raw)
    m.expect_nothing()


def taken(m):
    """Forgets what was sent so far."""
    for outs in m.outs:
        outs.clear()
    m.counted()


@pytest.fixture
def snooping(switch):
    """snooping(config): a switch with a querier behind port 0, whose hosts have had the time to answer."""
    def start(config=""):
        m = switch(config, learnt=HOSTS)
        m.send(0, query())
        m.time(12 * SECOND)
        taken(m)
        return m
    return start


def rows(m, command):
    return [line.split() for line in m.console(command).splitlines()[1:]]


def join(m, *ports, group=GROUP):
    for port in ports:
        m.send(port, report(port, group))
    m.time(20 * MS)
    taken(m)


# --- messages (2.1.1) ---

def test_reports_and_leaves_go_to_routers_only(snooping):
    m = snooping()
    for raw in (report(2), report3(2, (4, GROUP, ())), leave(2)):
        reach(m, 2, raw, (0,))
        m.expect_counters(delivered_snoop=1, switch_flooded=1, switch_copies=1)


def test_queries_and_unknown_messages_go_everywhere(snooping):
    m = snooping()
    reach(m, 0, query(), (1, 2, 3))
    m.expect_counters(delivered_snoop=1, switch_flooded=1, switch_copies=3)
    reach(m, 1, igmp(1, IGMP(type=0x13, gaddr="0.0.0.0"), "224.0.0.4"), (0, 2, 3))  # DVMRP
    m.expect_counters(forwarded=1, switch_flooded=1, switch_copies=2)


def test_without_a_querier_all_is_flooded(switch):
    m = switch(learnt=HOSTS)
    reach(m, 2, report(2), (0, 1, 3))
    reach(m, 1, data(1), (0, 2, 3))
    m.time(20 * SECOND)
    reach(m, 1, data(1, OTHER), (0, 2, 3))
    assert rows(m, "show ip igmp snooping") == [["1", "floods", "-", "-", "-", "1"]]
    m.counted()


def test_a_query_from_no_address_restricts_nothing(switch):
    m = switch(learnt=HOSTS)
    m.send(0, query(src="0.0.0.0"))
    m.time(20 * SECOND)
    taken(m)
    reach(m, 1, data(1), (0, 2, 3))
    m.counted()


@pytest.mark.parametrize("broken", range(3))
def test_malformed_messages_are_dropped(snooping, broken):
    m = snooping()
    raw = bytearray(report(2))
    if broken == 0:
        raw[14 + 24 + 4] ^= 1   # the group: a wrong checksum
    elif broken == 1:
        raw[14 + 10] ^= 1       # the header's checksum
    else:
        raw[14 + 2:14 + 4] = (0, 200)  # longer than the frame
    m.send(2, bytes(raw))
    m.expect_nothing()
    m.expect_counters(drop_snoop_malformed=1)
    assert rows(m, "show ip igmp snooping groups") == []


def test_a_flood_of_reports_is_limited(snooping):
    m = snooping()
    for n in range(8):
        m.send(2, *[report(2, "239.2.%d.%d" % (n, k)) for k in range(100)])
    m.time(20 * MS)
    for outs in m.outs:
        outs.clear()
    counters = m.counted()
    assert counters["delivered_snoop"] + counters["drop_snoop_limit"] + counters.get("drop_punt_full", 0) == 800
    assert counters["drop_snoop_limit"] >= 290
    m.time(2 * SECOND)
    join(m, 3)
    reach(m, 1, data(1), (0, 3))


# --- packets (2.1.2) ---

def test_listeners_get_the_group(snooping):
    m = snooping()
    join(m, 2, 3)
    reach(m, 1, data(1), (0, 2, 3))
    reach(m, 2, data(2), (0, 3))
    m.expect_counters(forwarded=2, switch_flooded=2, switch_copies=3)
    reach(m, 0, data(0), (2, 3))
    m.counted()
    assert [row[:3] for row in rows(m, "show ip igmp snooping groups")] == [["1", GROUP, "eth2"], ["1", GROUP, "eth3"]]
    assert 240 < int(rows(m, "show ip igmp snooping groups")[0][3]) <= 260


def test_a_group_without_listeners(snooping):
    m = snooping()
    reach(m, 1, data(1), (0,))
    m.expect_counters(forwarded=1, switch_flooded=1)
    m.send(0, data(0))
    m.expect_nothing()
    m.expect_counters(drop_snoop_no_listener=1)


def test_a_port_may_take_unknown_groups(snooping):
    m = snooping("interface eth3\n switchport unknown-multicast flood\n")
    reach(m, 1, data(1), (0, 3))
    join(m, 2)
    reach(m, 1, data(1), (0, 2))
    m.counted()


@pytest.mark.parametrize("raw", [
    data(1, "224.0.0.251"), data6(1, "ff02::fb"), data6(1), frame(H1, "01:00:5e:01:01:01"), frame(H1, BROADCAST)])
def test_what_is_not_restricted(snooping, raw):
    """Groups of link scope, the other family, which has no querier, and frames that are no IP."""
    m = snooping()
    reach(m, 1, raw, (0, 2, 3))
    m.counted()


def test_groups_of_one_mac_address_are_apart(snooping):
    """239.1.1.1 and 225.1.1.1 have one MAC address (RFC 1112 6.4)."""
    m = snooping()
    join(m, 2)
    join(m, 3, group="225.1.1.1")
    reach(m, 1, data(1), (0, 2))
    reach(m, 1, data(1, "225.1.1.1"), (0, 3))
    m.counted()


def test_vlans_are_apart(switch):
    m = switch("interface eth0\n switchport mode trunk\ninterface eth1\n switchport mode trunk\n"
               "interface eth2\n switchport mode trunk\n")
    m.send(0, tag(query(), 7))
    m.time(12 * SECOND)
    m.send(2, tag(report(2), 7))
    m.time(20 * MS)
    taken(m)
    reach(m, 1, tag(data(1), 7), (0, 2))
    m.send(1, tag(data(1), 8))
    assert m.take(0) and m.take(2)
    m.expect_nothing()
    reach(m, 1, data(1), (0, 2, 3))  # VLAN 1
    assert rows(m, "show ip igmp snooping")[0] == ["7", "restricts", ROUTER_IP, "eth0", "2", "1"]
    m.counted()


def test_age(snooping):
    m = snooping()
    join(m, 2)
    m.time(200 * SECOND)
    m.send(0, query())
    join(m, 3)
    m.time(62 * SECOND)
    reach(m, 1, data(1), (0, 3))
    m.time(200 * SECOND)  # the querier has gone
    reach(m, 1, data(1), (0, 2, 3))
    m.counted()


# --- leaves ---

def test_fast_leave(snooping):
    m = snooping("ip igmp snooping vlan 1 fast-leave\n")
    join(m, 2, 3)
    m.send(2, leave(2))
    m.time(20 * MS)
    taken(m)
    reach(m, 1, data(1), (0, 3))
    m.counted()


def test_the_querier_asks_after_a_leave(snooping):
    m = snooping()
    join(m, 2, 3)
    m.send(2, leave(2))
    m.send(0, query(group=GROUP, seconds=1))
    m.time(1 * SECOND)
    m.send(3, report(3))
    m.time(1500 * MS)
    taken(m)
    reach(m, 1, data(1), (0, 3))
    m.counted()


# --- our own queries ---

def asked(raw):
    """A query of ours: (group, source)."""
    packet = Ether(raw)
    body = bytes(packet[IP].payload)
    assert packet.dst == mac4(packet[IP].dst) and packet[IP].ttl == 1 and body[0] == 0x11
    assert packet[IP].tos == 0xc0 and bytes(packet[IP])[20:24] == b"\x94\4\0\0"  # Router Alert
    assert checksum(body[:12]) == 0 and checksum(bytes(packet[IP])[:24]) == 0
    return socket.inet_ntoa(body[4:8]), packet[IP].src


QUERIER = "interface vlan1\n ip address 192.0.2.5/24\nip igmp snooping querier\nip igmp snooping query-interval 20\n"


@pytest.fixture
def querier(switch):
    """A switch that is the querier of VLAN 1, and knows the hosts."""
    m = switch(QUERIER, boot=False)
    m.time(10 * SECOND)
    taken(m)
    for host in HOSTS:
        learn(m, host)
    return m


def test_our_queries(querier):
    m = querier
    m.time(20 * SECOND)
    for port in range(4):
        queries = [asked(raw) for raw in m.take_all(port)]
        assert queries and set(queries) == {("0.0.0.0", "192.0.2.5")}
    m.counted()
    join(m, 2)
    reach(m, 1, data(1), (2,))  # no router but us
    m.send(2, report(2))
    m.expect_nothing()
    m.time(20 * MS)
    assert m.counted()["delivered_snoop"] == 1
    assert rows(m, "show ip igmp snooping") == [["1", "restricts", "self", "-", "-", "1"]]


def test_our_last_member_queries(querier):
    m = querier
    join(m, 2, 3)
    m.time(12 * SECOND)
    taken(m)
    m.send(2, leave(2))
    m.time(1900 * MS)
    groups = [asked(raw)[0] for raw in m.take_all(2)]
    assert groups.count(GROUP) == 2
    assert GROUP not in [asked(raw)[0] for raw in m.take_all(3)]
    taken(m)
    m.send(1, data(1))
    assert m.take_all(2) == m.take_all(3) == [data(1)]
    m.time(200 * MS)
    taken(m)
    reach(m, 1, data(1), (3,))
    m.counted()


def test_election(querier):
    """A lower address takes over, a higher one does not."""
    m = querier
    m.send(0, query(src="192.0.2.9"))
    m.time(20 * MS)
    assert rows(m, "show ip igmp snooping")[0][2] == "self"
    assert rows(m, "show ip igmp snooping mrouter")[0][:3] == ["1", "eth0", "dynamic"]
    m.send(1, query(port=1, src="192.0.2.4"))
    m.time(20 * MS)
    assert rows(m, "show ip igmp snooping")[0][2:4] == ["192.0.2.4", "eth1"]
    taken(m)
    m.time(100 * SECOND)
    m.expect_nothing()
    m.counted()


# --- routers, links, configuration ---

def test_static_router_port(snooping):
    m = snooping("ip igmp snooping vlan 1 mrouter interface eth3\n")
    reach(m, 2, report(2), (0, 3))
    assert rows(m, "show ip igmp snooping mrouter")[1] == ["1", "eth3", "static", "-"]
    m.counted()


def test_pim_hello(snooping):
    m = snooping()
    hello = bytearray(bytes.fromhex("20000000") + bytes.fromhex("0001000200 69".replace(" ", "")))
    hello[2:4] = checksum(bytes(hello)).to_bytes(2, "big")
    raw = padded(Ether(src=H3.mac, dst=mac4("224.0.0.13")) /
                 IP(src="192.0.2.8", dst="224.0.0.13", ttl=1, proto=103) / Raw(bytes(hello)))
    reach(m, 3, raw, (0, 1, 2))
    m.time(20 * MS)
    reach(m, 2, report(2), (0, 3))
    m.counted()


def test_link_down(snooping):
    m = snooping()
    join(m, 2, 3)
    m.link(3, False)
    m.time(20 * MS)
    assert [row[2] for row in rows(m, "show ip igmp snooping groups")] == ["eth2"]
    m.link(0, False)
    m.time(20 * MS)
    assert rows(m, "show ip igmp snooping mrouter") == []
    assert rows(m, "show ip igmp snooping")[0][1] == "floods"
    m.counted()


@pytest.mark.parametrize("config", ["ip igmp snooping off\n", "ip igmp snooping vlan 1 off\n"])
def test_off(snooping, config):
    m = snooping(config)
    reach(m, 2, report(2), (0, 1, 3))
    m.expect_counters(forwarded=1, switch_flooded=1, switch_copies=2)
    reach(m, 1, data(1), (0, 2, 3))
    m.counted()


def test_commit(snooping):
    m = snooping()
    join(m, 2)
    for line in ("configure", "ip igmp snooping vlan 1 off", "commit"):
        m.key(line + "\r")
        m.time(20 * MS)
    reach(m, 1, data(1), (0, 2, 3))
    for line in ("no ip igmp snooping vlan 1 off", "ip igmp snooping vlan 1 mrouter interface eth1", "commit", "end"):
        m.key(line + "\r")
        m.time(20 * MS)
    assert rows(m, "show ip igmp snooping mrouter") == [["1", "eth1", "static", "-"]]
    assert rows(m, "show ip igmp snooping groups") == []
    m.counted()


# --- IPv6 ---

def test_mld(switch):
    m = switch(learnt=HOSTS)
    m.send(0, mld(0, ICMPv6MLQuery(mrd=10000), "ff02::1", "fe80::9"))
    m.time(12 * SECOND)
    taken(m)
    reach(m, 2, mld(2, ICMPv6MLReport(mladdr=GROUP6), GROUP6), (0,))
    reach(m, 3, mld(3, ICMPv6MLReport2(records=[ICMPv6MLDMultAddrRec(rtype=4, dst=GROUP6)]), "ff02::16"), (0,))
    m.expect_counters(delivered_snoop=2, switch_flooded=2, switch_copies=2)
    m.time(20 * MS)
    reach(m, 1, data6(1), (0, 2, 3))
    reach(m, 2, mld(2, ICMPv6MLDone(mladdr=GROUP6), "ff02::2"), (0,))
    reach(m, 0, mld(0, ICMPv6MLQuery(mladdr=GROUP6, mrd=1000), GROUP6, "fe80::9"), (1, 2, 3))
    m.send(3, mld(3, ICMPv6MLReport(mladdr=GROUP6), GROUP6))
    m.time(2100 * MS)
    taken(m)
    reach(m, 1, data6(1), (0, 3))
    assert [row[:3] for row in rows(m, "show ipv6 mld snooping groups")] == [["1", GROUP6, "eth3"]]
    assert rows(m, "show ipv6 mld snooping")[0][:4] == ["1", "restricts", "fe80::9", "eth0"]
    assert rows(m, "show ipv6 mld snooping mrouter")[0][:3] == ["1", "eth0", "dynamic"]
    reach(m, 1, data(1), (0, 2, 3))  # IPv4 has no querier
    m.counted()


def test_needs_the_application(make):
    m = make("ip igmp snooping querier\n")
    assert "the application router does not switch" in m.text
