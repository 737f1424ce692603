"""Port channels (IEEE 802.1AX) in the switch and the router: LACP with a partner of scapy's LACPDUs, the
spreading of flows, ports that come and go. The protocol's machines are in tests/unit/net/lacp; Linux' bonding is
the partner in tests/system/test_lacp.py."""
import re

import pytest
from machine import *
from scapy.contrib.igmp import IGMP
from scapy.contrib.lacp import LACP, MarkerProtocol, SlowProtocol
from scapy.layers.l2 import Dot1Q

ACTIVE, FAST, AGGREGATES, IN_STEP, COLLECTS, SENDS, DEFAULTED = 1, 2, 4, 8, 16, 32, 64
PARTNER = "02:00:00:00:0b:00"
OWN_MAC = ["02:48:59:00:00:%02x" % n for n in range(16)]


class Bundle:
    """A partner with ports `ports` in one aggregator, which does what the machine's LACPDUs ask for."""

    def __init__(self, machine, ports, system=PARTNER, key=7, answers=True):
        self.m, self.ports, self.system, self.key, self.answers = machine, list(ports), system, key, answers
        self.heard, self.others, self.up = {}, {p: [] for p in range(len(machine.outs))}, set(ports)

    def state(self, port):
        theirs = self.heard.get(port)
        state = ACTIVE | FAST | AGGREGATES
        if theirs is None:
            return state | DEFAULTED
        state |= IN_STEP | COLLECTS
        return state | (SENDS if theirs.actor_state & COLLECTS else 0)

    def say(self, port):
        theirs = self.heard.get(port)
        fields = dict(partner_system=theirs.actor_system, partner_system_priority=theirs.actor_system_priority,
                      partner_key=theirs.actor_key, partner_port_priority=theirs.actor_port_priority,
                      partner_port_number=theirs.actor_port_number, partner_state=theirs.actor_state) if theirs else {}
        self.m.send(port, Ether(src="02:00:00:00:0c:%02x" % port, dst="01:80:c2:00:00:02") / SlowProtocol() /
                    LACP(actor_system_priority=100, actor_system=self.system, actor_key=self.key,
                         actor_port_priority=200, actor_port_number=port + 1, actor_state=self.state(port), **fields))

    def take(self):
        """Sorts what the machine has sent."""
        for port, outs in enumerate(self.m.outs):
            while outs:
                raw = outs.popleft().frame
                frame = Ether(raw)
                if LACP in frame:
                    self.heard[port] = frame[LACP]
                    assert len(raw) == 124 and frame.src == OWN_MAC[port]
                else:
                    self.others[port].append(raw)

    def run(self, tenths, step=5):
        """Time passes; the partner answers each second."""
        for now in range(0, tenths, step):
            self.m.time(step * 100 * MS)
            self.take()
            if now % 10 == 0 and self.answers:
                for port in sorted(self.up):
                    self.say(port)
                self.take()

    def pull(self, port):
        self.up.discard(port)
        self.heard.pop(port, None)
        self.m.link(port, False)
        self.m.time(20 * MS)
        self.take()

    def plug(self, port):
        self.up.add(port)
        self.m.link(port, True)

    def sent(self):
        """{port: frames} since the last call, without LACPDUs."""
        self.take()
        found = {port: frames for port, frames in self.others.items() if frames}
        self.others = {p: [] for p in self.others}
        return found


def summary(m):
    """{port channel: (link, {port: letter})} of `show etherchannel summary`."""
    rows = {}
    for line in m.console("show etherchannel summary").splitlines()[2:]:
        words = line.split()
        rows[words[1]] = (words[2], {w[:-3]: w[-2] for w in words[4:]})
    return rows


SWITCH = "application switch\nspanning-tree mode none\n"
TWO = "interface port-channel1\ninterface eth1\n channel-group 1 mode active\n lacp rate fast\n" \
      "interface eth2\n channel-group 1 mode active\n lacp rate fast\n"


def ip_frame(src, dst, port, size=20):
    return bytes(Ether(src=src, dst=dst) / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=port, dport=9) /
                 Raw(bytes(size)))


def l2(src, dst, fill=0x5a):
    return bytes(Ether(src=src, dst=dst, type=0x88b5) / Raw(bytes([fill]) * 46))


A_MAC, B_MAC, C_MAC = "02:00:00:00:00:0a", "02:00:00:00:00:0b", "02:00:00:00:00:0d"


@pytest.fixture
def switch(make):
    def start(config=TWO, ports=4, members=(1, 2), wait=35, **options):
        m = make(SWITCH + config, ports=ports, boot=False, **options)
        b = Bundle(m, members)
        b.run(wait)
        b.sent()
        m.counted()
        return m, b
    return start


def test_bundle_comes_up(switch):
    m, b = switch()
    assert summary(m) == {"port-channel1": ("up", {"eth1": "P", "eth2": "P"})}
    ours = b.heard[1]
    assert ours.actor_state == ACTIVE | FAST | AGGREGATES | IN_STEP | COLLECTS | SENDS
    assert (ours.actor_system, ours.actor_system_priority, ours.actor_key) == (OWN_MAC[0], 32768, 1)
    assert (ours.actor_port_number, ours.partner_system, ours.partner_key) == (2, PARTNER, 7)
    neighbours = m.console("show lacp neighbor").splitlines()[2:]
    assert [line.split()[:5] for line in neighbours] == [["eth%d" % p, "1", "asASCD--", "100", PARTNER] for p in (1, 2)]
    assert m.console("show lacp internal").count("current distributing actor-churn none") == 2
    rows = [line.split() for line in m.console("show lacp counters").splitlines()[1:]]
    assert all(int(row[2]) >= 2 and int(row[3]) >= 2 for row in rows)


def test_not_before_the_partner_is_ready(switch):
    """A port that waits for its partner takes and sends nothing."""
    m, b = switch(wait=10)
    assert summary(m) == {"port-channel1": ("down", {"eth1": "w", "eth2": "w"})}
    m.send(1, l2(B_MAC, A_MAC))
    m.expect_counters(drop_switch_blocked=1)
    m.send(0, l2(A_MAC, BROADCAST))
    assert list(b.sent()) == [3]
    m.counted()


def test_flood_goes_to_one_port_of_a_bundle(switch):
    m, b = switch()
    for fill in range(20):
        m.send(0, l2(A_MAC, BROADCAST, fill))
        sent = b.sent()
        assert len(sent) == 2 and 3 in sent and len(set(sent) & {1, 2}) == 1
        assert all(frames == [l2(A_MAC, BROADCAST, fill)] for frames in sent.values())
    m.counted()


def test_no_frame_returns_to_its_bundle(switch):
    """What one port receives does not leave by another of the bundle."""
    m, b = switch()
    m.send(1, l2(B_MAC, BROADCAST))
    assert sorted(b.sent()) == [0, 3]
    m.send(2, l2(C_MAC, BROADCAST))
    assert sorted(b.sent()) == [0, 3]
    m.time(20 * MS)
    m.send(1, l2(B_MAC, C_MAC))
    assert b.sent() == {}
    assert m.counted()["drop_switch_same_port"] == 1


def test_stations_are_behind_the_bundle(switch):
    m, b = switch()
    m.send(1, l2(B_MAC, A_MAC))
    m.time(20 * MS)
    b.sent()
    table = m.console("show mac address-table").splitlines()[1].split()
    assert table[:4] == ["1", B_MAC, "dynamic", "port-channel1"]
    # the same station by the other port does not move
    m.counted()
    m.send(2, l2(B_MAC, A_MAC))
    m.time(20 * MS)
    assert "switch_moved" not in m.counted()
    b.sent()
    m.send(0, l2(A_MAC, B_MAC))
    (port, frames), = b.sent().items()
    assert port in (1, 2) and frames == [l2(A_MAC, B_MAC)]
    rows = [line.split() for line in m.console("show switchport").splitlines()[1:]]
    assert [row[0] for row in rows] == ["eth0", "port-channel1", "eth3"]
    assert m.console("clear mac address-table interface port-channel1").startswith("1 stations")
    m.counted()


def test_flows_are_spread_and_keep_their_port(switch):
    m, b = switch()
    m.send(1, l2(B_MAC, A_MAC))
    m.time(20 * MS)
    b.sent()
    at = {}
    for sport in range(1000, 1064):
        m.send(0, *[ip_frame(A_MAC, B_MAC, sport, size) for size in (20, 200, 1000)])
        (port, frames), = b.sent().items()
        assert frames == [padded(ip_frame(A_MAC, B_MAC, sport, size)) for size in (20, 200, 1000)]
        at[sport] = port
    assert 10 <= list(at.values()).count(1) <= 54
    # a vector of many flows
    m.send(0, *[ip_frame(A_MAC, B_MAC, sport) for sport in at])
    sent = b.sent()
    for port in (1, 2):
        assert sent[port] == [padded(ip_frame(A_MAC, B_MAC, s)) for s in at if at[s] == port]
    # a port that is lost moves its flows alone, at once; one that returns takes flows back
    b.pull(1)
    m.send(0, *[ip_frame(A_MAC, B_MAC, sport) for sport in at])
    sent = b.sent()
    assert list(sent) == [2] and len(sent[2]) == len(at)
    assert summary(m) == {"port-channel1": ("up", {"eth1": "D", "eth2": "P"})}
    table = m.console("show mac address-table").splitlines()
    assert len([line for line in table if "port-channel1" in line]) == 1  # nothing was forgotten
    b.plug(1)
    b.run(40)
    assert summary(m)["port-channel1"][1] == {"eth1": "P", "eth2": "P"}
    b.sent()
    m.send(0, *[ip_frame(A_MAC, B_MAC, sport) for sport in at])
    assert sorted(b.sent()) == [1, 2]
    m.counted()


def test_bundle_lost(switch):
    """The first port carries the bundle's number; the bundle lives without it, and not without all."""
    m, b = switch()
    b.pull(1)
    m.send(2, l2(B_MAC, A_MAC))
    m.time(20 * MS)
    b.sent()
    m.send(0, l2(A_MAC, B_MAC))
    assert list(b.sent()) == [2]
    b.pull(2)
    assert summary(m) == {"port-channel1": ("down", {"eth1": "D", "eth2": "D"})}
    assert "port-channel1: link down" in m.text
    assert "port-channel1" not in m.console("show mac address-table")
    m.send(0, l2(A_MAC, B_MAC))
    assert list(b.sent()) == [3]
    m.counted()


def test_silence(switch):
    """A partner that says nothing any more: the port expires in three seconds, fast rate."""
    m, b = switch()
    b.up.discard(2)
    b.run(45)
    assert summary(m)["port-channel1"][1]["eth1"] == "P"
    assert summary(m)["port-channel1"][1]["eth2"] != "P"
    m.send(2, l2(B_MAC, A_MAC))
    assert m.counted()["drop_switch_blocked"] == 1
    b.run(40)
    assert summary(m)["port-channel1"][1]["eth2"] == "s"  # beside a LAG no individual link


def test_individual(switch):
    """A partner without LACP: one link is used, as an individual one."""
    m = switch(members=(), wait=60)[0]
    assert summary(m) == {"port-channel1": ("up", {"eth1": "I", "eth2": "s"})}
    b = Bundle(m, (), answers=False)
    m.send(0, l2(A_MAC, BROADCAST))
    assert sorted(b.sent()) == [1, 3]
    m.send(2, l2(B_MAC, A_MAC))
    m.time(20 * MS)
    assert m.counted()["drop_switch_blocked"] == 1
    assert "eth1" in m.console("show lacp neighbor") and "no partner" in m.console("show lacp neighbor")


def test_mode_on(switch):
    config = "interface port-channel3\n switchport access vlan 9\ninterface eth1\n channel-group 3 mode on\n" \
             "interface eth2\n channel-group 3 mode on\ninterface eth0\n switchport access vlan 9\n"
    m, b = switch(config, members=(), wait=5)
    assert summary(m) == {"port-channel3": ("up", {"eth1": "P", "eth2": "P"})}
    m.send(2, l2(B_MAC, A_MAC))
    assert list(b.sent()) == [0]  # VLAN 9
    m.time(20 * MS)
    m.send(0, *[ip_frame(A_MAC, B_MAC, sport) for sport in range(40)])
    assert sorted(b.sent()) == [1, 2]
    m.send(1, Ether(src="02:00:00:00:0c:01", dst="01:80:c2:00:00:02") / SlowProtocol() / LACP())
    assert m.counted()["drop_switch_reserved"] == 1


def test_trunk_and_static_station(switch):
    config = TWO.replace("port-channel1\n", "port-channel1\n switchport mode trunk\n"
                         " switchport trunk allowed vlan 5,6\n switchport trunk native vlan none\n") + \
        "interface eth0\n switchport access vlan 5\n" \
        "mac address-table static %s vlan 5 interface port-channel1\n" % B_MAC
    m, b = switch(config)
    m.send(0, l2(A_MAC, B_MAC))
    (port, frames), = b.sent().items()
    assert port in (1, 2) and Ether(frames[0])[Dot1Q].vlan == 5
    raw = l2(C_MAC, A_MAC)
    m.time(20 * MS)
    m.send(2, raw[:12] + b"\x81\x00\x00\x05" + raw[12:])
    assert b.sent() == {0: [raw]}
    m.send(1, raw)  # untagged
    assert m.counted()["drop_switch_vlan"] == 1
    assert "port-channel1" in m.console("show vlan")


def test_access_list_of_a_port_channel(switch):
    config = TWO.replace("port-channel1\n", "port-channel1\n ip access-group no-9 in\n ip access-group no-9 out\n") + \
        "ip access-list extended no-9\n 10 deny udp any any eq 9\n 20 permit ip any any\n"
    m, b = switch(config)
    for port in (1, 2):
        m.send(port, ip_frame(B_MAC, A_MAC, 5))
        m.expect_counters(drop_acl_in=1)
        m.send(port, l2(B_MAC, A_MAC))
        assert b.sent()[0] == [l2(B_MAC, A_MAC)]
        m.time(20 * MS)
        m.counted()
    m.send(0, ip_frame(A_MAC, B_MAC, 5))
    assert b.sent() == {} and m.counted()["drop_acl_out"] == 1


def test_min_links(switch):
    m, b = switch(TWO.replace("port-channel1\n", "port-channel1\n port-channel min-links 2\n"))
    assert summary(m)["port-channel1"][0] == "up"
    b.pull(2)
    assert summary(m) == {"port-channel1": ("down", {"eth1": "H", "eth2": "D"})}
    assert not b.heard[1].actor_state & (IN_STEP | COLLECTS | SENDS)
    b.plug(2)
    b.run(40)
    assert summary(m)["port-channel1"][0] == "up"
    m.counted()


def test_live_parameters(switch):
    m, b = switch()
    for line in ("configure", "lacp system-priority 5", "interface eth1", "lacp port-priority 6", "lacp rate normal",
                 "interface port-channel1", "port-channel min-links 2", "commit", "exit"):
        said = m.console(line)
        assert "%" not in said, said
    b.run(20)
    assert (b.heard[1].actor_system_priority, b.heard[1].actor_port_priority) == (5, 6)
    assert not b.heard[1].actor_state & FAST
    assert summary(m)["port-channel1"] == ("up", {"eth1": "P", "eth2": "P"})
    assert "lacp system-priority 5" in m.console("show running-config")
    m.counted()


def test_marker_and_malformed(switch):
    m, b = switch()
    marker = bytes(Ether(src="02:00:00:00:0c:01", dst="01:80:c2:00:00:02") / SlowProtocol(subtype=2) /
                   MarkerProtocol(requester_port=9, requester_system=PARTNER, requester_transaction_id=0x01020304))
    m.counted()
    m.send(1, marker)
    (port, (raw,)), = b.sent().items()
    # a response (type 2) is the marker in all else
    assert port == 1 and raw == raw[:12] + marker[12:16] + b"\x02" + marker[17:]
    assert m.counted() == {"delivered_lacp": 1, "lacp_marker_tx": 1}
    m.send(1, *[marker] * 12)
    assert m.counted()["drop_lacp_marker_rate"] == 3
    b.sent()
    good = bytes(Ether(src="02:00:00:00:0c:01", dst="01:80:c2:00:00:02") / SlowProtocol() /
                 LACP(actor_system=PARTNER))
    m.send(2, good[:80])
    m.send(2, good[:14] + b"\x0a" + good[15:])
    m.send(2, good[:17] + b"\x13" + good[18:])
    assert m.counted() == {"drop_lacp_malformed": 2, "drop_slow_subtype": 1}
    m.send(2, *[good[:14] + b"\x0a" + good[15:]] * 60)  # a flood reaches the control core at a limited rate
    assert m.counted()["drop_link_limit"] > 20


WRONG = {
    " channel-group 1 mode on\n": "mode on does not go with LACP",
    " ip address 192.0.2.1/24\n": "addresses belong into the block of port-channel1",
    " mtu 1400\n": "the MTU belong",
    " switchport access vlan 3\n": "switchport statements belong",
    " channel-group 2 mode active\n": "port-channel2 has no block",
    " channel-group 17 mode active\n": "the port channel",
    " channel-group 1 mode lazy\n": "unknown mode",
    " lacp rate slow\n": "unknown rate",
    " port-channel min-links 2\n": "block of a port channel",
    "interface port-channel2\n": "no port has the statement channel-group 2",
    "interface eth3\n lacp rate fast\n": "the port is in no channel-group",
    "mac address-table static 02:00:00:00:00:09 vlan 1 interface eth2\n": "in port-channel1",
}


@pytest.mark.parametrize("lines", WRONG)
def test_wrong_lines(make, lines):
    config = SWITCH + "interface port-channel1\ninterface eth1\n channel-group 1 mode active\ninterface eth2\n" + \
        ("" if "channel-group" in lines else " channel-group 1 mode active\n") + lines
    m = make(config, ports=4, boot=False)
    m.time(SECOND)
    said = m.text
    assert WRONG[lines] in said and "nothing of the configuration is applied" in said, said


# --- the router ---

ROUTED = "interface port-channel1\n ip address 10.1.0.1/24\n ipv6 address 2001:db8:1::1/64\n" \
         "interface port-channel1.20\n ip address 10.20.0.1/24\n" \
         "interface eth1\n channel-group 1 mode active\n lacp rate fast\n" \
         "interface eth2\n channel-group 1 mode active\n lacp rate fast\n" \
         "interface eth0\n ip address 10.0.0.1/24\n"


class Routed:
    """A router with a port channel, a host behind it, which answers ARP by either port, and one at eth0."""

    def __init__(self, m):
        self.m, self.b = m, Bundle(m, (1, 2))
        self.b.run(60)
        self.b.sent()
        self.mac = OWN_MAC[1]  # of the first port
        self.send(0, Ether(src=A_MAC, dst=BROADCAST) / ARP(op=1, hwsrc=A_MAC, psrc="10.0.0.2", pdst="10.0.0.1"))
        self.send(2, Ether(src=B_MAC, dst=BROADCAST) / ARP(op=1, hwsrc=B_MAC, psrc="10.1.0.2", pdst="10.1.0.1"))
        sent = self.b.sent()
        replies = [Ether(raw) for port in (1, 2) for raw in sent.get(port, ())]
        assert [(r.src, r.dst, r[ARP].psrc) for r in replies] == [(self.mac, B_MAC, "10.1.0.1")]
        m.counted()

    def send(self, port, *frames):
        self.m.send(port, *frames)


@pytest.fixture
def routed(make):
    return Routed(make(ROUTED, ports=3, boot=False))


def packet(src, router, sport, net, tag=None):
    head = Ether(src=src, dst=router)
    if tag:
        head = head / Dot1Q(vlan=tag)
    return head / IP(src=net[0], dst=net[1], ttl=9) / UDP(sport=sport, dport=7) / Raw(bytes(30))


def test_router_spreads_flows(routed):
    r, m = routed, routed.m
    r.send(0, *[packet(A_MAC, OWN_MAC[0], s, ("10.0.0.2", "10.1.0.2")) for s in range(64)])
    sent = r.b.sent()
    assert sorted(sent) == [1, 2] and len(sent[1]) + len(sent[2]) == 64
    for raw in sent[1] + sent[2]:
        f = Ether(raw)
        assert (f.src, f.dst, f[IP].ttl) == (r.mac, B_MAC, 8)
    assert m.counted() == {"forwarded": 64}
    r.b.pull(1)
    r.send(0, *[packet(A_MAC, OWN_MAC[0], s, ("10.0.0.2", "10.1.0.2")) for s in range(64)])
    sent = r.b.sent()
    assert list(sent) == [2] and len(sent[2]) == 64
    m.counted()
    brief = m.console("show ip interface brief")
    assert "port-channel1 " in brief


def test_router_takes_from_each_port(routed):
    r, m = routed, routed.m
    for port in (1, 2):
        r.send(port, packet(B_MAC, r.mac, 5, ("10.1.0.2", "10.0.0.2")))
        (out, (raw,)), = r.b.sent().items()
        assert out == 0 and Ether(raw).dst == A_MAC and Ether(raw)[IP].ttl == 8
    assert m.counted() == {"forwarded": 2}
    r.send(1, packet(B_MAC, OWN_MAC[2], 5, ("10.1.0.2", "10.0.0.2")))  # the other port's own address
    assert m.counted() == {"drop_eth_dst": 1}
    drops = m.console("show interfaces drops")
    assert "port-channel1" in drops
    said = m.console("show interfaces")
    assert "port-channel1 link up, in use" in said and "port channel, mac " + r.mac in said


def test_router_vlan_of_a_bundle(routed):
    r, m = routed, routed.m
    for port in (2, 1):
        r.send(port, Ether(src=C_MAC, dst=BROADCAST) / Dot1Q(vlan=20) /
               ARP(op=1, hwsrc=C_MAC, psrc="10.20.0.2", pdst="10.20.0.1"))
        (out, (raw,)), = r.b.sent().items()
        f = Ether(raw)
        assert out in (1, 2) and f[Dot1Q].vlan == 20 and f[ARP].psrc == "10.20.0.1"
    m.counted()
    r.send(2, packet(C_MAC, r.mac, 5, ("10.20.0.2", "10.0.0.2"), tag=20))
    assert list(r.b.sent()) == [0]
    r.send(0, *[packet(A_MAC, OWN_MAC[0], s, ("10.0.0.2", "10.20.0.2")) for s in range(32)])
    sent = r.b.sent()
    assert sorted(sent) == [1, 2]
    assert all(Ether(raw)[Dot1Q].vlan == 20 for frames in sent.values() for raw in frames)
    assert m.counted() == {"forwarded": 33}
    r.send(1, packet(C_MAC, r.mac, 5, ("10.20.0.2", "10.0.0.2"), tag=21))
    assert m.counted() == {"drop_vlan_unknown": 1}


def test_router_port_that_does_not_collect(routed):
    r, m = routed, routed.m
    r.b.up.discard(2)
    r.b.run(45)
    m.counted()
    r.send(2, packet(B_MAC, r.mac, 5, ("10.1.0.2", "10.0.0.2")))
    assert m.counted() == {"drop_bundle": 1}
    r.send(1, packet(B_MAC, r.mac, 5, ("10.1.0.2", "10.0.0.2")))
    assert list(r.b.sent()) == [0]
    r.b.up.add(2)
    r.b.run(40)
    assert summary(m)["port-channel1"][1] == {"eth1": "P", "eth2": "P"}
    m.counted()


def test_router_bundle_lost(routed):
    r, m = routed, routed.m
    r.b.pull(1)
    r.b.pull(2)
    assert "port-channel1: link down" in m.text
    m.counted()
    r.send(0, packet(A_MAC, OWN_MAC[0], 1, ("10.0.0.2", "10.1.0.2")))
    sent = r.b.sent()
    assert set(sent) <= {0} and "forwarded" not in m.counted()
    r.b.plug(1)
    r.b.run(40)
    assert summary(m) == {"port-channel1": ("up", {"eth1": "P", "eth2": "D"})}
    m.counted()


def test_router_pings_by_a_bundle(routed):
    r, m = routed, routed.m
    m.key("ping 10.1.0.2 count 1\r")
    m.time(20 * MS)
    sent = r.b.sent()
    frames = [(port, Ether(raw)) for port, raws in sent.items() for raw in raws]
    assert [(f.dst, f[IP].dst) for _, f in frames] == [(B_MAC, "10.1.0.2")]
    f = frames[0][1]
    r.send(2, Ether(src=B_MAC, dst=r.mac) / IP(src="10.1.0.2", dst="10.1.0.1") /
           ICMP(type=0, id=f[ICMP].id, seq=f[ICMP].seq) / f[Raw])
    m.time(2 * SECOND)
    r.b.sent()
    assert "1 received" in m.text
    m.counted()


# --- names in tables ---

LONGEST = "port-channel16"


def check_table(said, name):
    """The name is a field of a row, at the place of the header's `port`; the field behind it begins or ends where
    its heading does."""
    def fields(line):
        return [match.span() for match in re.finditer(r"\S+", line)]
    lines = said.splitlines()
    head = next(line for line in lines if "port" in line.split())
    rows = [line for line in lines if name in line.split()]
    assert rows, said
    for row in rows:
        here, title = row.split().index(name), head.split().index("port")
        assert fields(row)[here][0] == fields(head)[title][0], said
        assert set(fields(row)[here + 1]) & set(fields(head)[title + 1]), said


def test_long_names_in_tables_of_the_switch(switch):
    config = TWO.replace("port-channel1", LONGEST + "\n storm-control broadcast level 1\n storm-control action shutdown") \
        .replace("group 1", "group 16")
    m, b = switch(config)
    m.send(1, l2(B_MAC, A_MAC))
    m.send(2, bytes(Ether(src=B_MAC, dst="01:00:5e:00:00:01") / IP(src="10.0.0.9", dst="224.0.0.1", ttl=1) /
                    IGMP(type=0x11, mrcode=100)))
    m.send(2, bytes(Ether(src=B_MAC, dst="01:00:5e:01:01:01") / IP(src="10.0.0.9", dst="239.1.1.1", ttl=1) /
                    IGMP(type=0x16, gaddr="239.1.1.1")))
    m.time(20 * MS)
    for command in ("show switchport", "show mac address-table", "show storm-control", "show ip igmp snooping",
                    "show ip igmp snooping groups", "show ip igmp snooping mrouter"):
        check_table(m.console(command), LONGEST)
    m.send(1, *[l2(B_MAC, BROADCAST)] * 9)
    m.time(SECOND)
    check_table(m.console("show errdisable"), LONGEST)
    b.sent()
    m.counted()


def test_long_names_in_the_spanning_tree(make):
    m = make("application switch\ninterface %s\n" % LONGEST +
             "".join("interface eth%d\n channel-group 16 mode on\n" % n for n in (1, 2)), ports=4)
    m.time(5 * SECOND)
    check_table(m.console("show spanning-tree"), LONGEST)
    for port in range(4):
        m.take_all(port)
    m.counted()


def test_long_names_in_tables_of_the_router(make):
    config = ROUTED.replace("port-channel1.20\n", "port-channel1.4094\n ipv6 address 2001:db8:20::1/64\n")
    m = make(config.replace("port-channel1", LONGEST).replace("group 1", "group 16"), ports=3, boot=False)
    b = Bundle(m, (1, 2))
    b.run(60)
    names = (LONGEST, LONGEST + ".4094")
    for net, tag in (("10.1.0", b""), ("10.20.0", b"\x81\x00\x0f\xfe")):
        asks = Ether(src=B_MAC, dst=BROADCAST) / ARP(op=1, hwsrc=B_MAC, psrc=net + ".2", pdst=net + ".1")
        nowhere = Ether(src=B_MAC, dst=OWN_MAC[1]) / IP(src=net + ".2", dst="203.0.113.9")
        m.send(1, *[bytes(raw)[:12] + tag + bytes(raw)[12:] for raw in (asks, nowhere)])
    m.time(SECOND)
    for command in ("show interfaces counters", "show interfaces drops", "show ip interface brief",
                    "show ipv6 interface brief", "show arp"):
        said = m.console(command)
        for name in names:
            check_table(said, name)
    start = len(m.text)
    m.key("show interfaces rates\r")
    m.time(2 * SECOND)
    for name in names:
        check_table(m.text[start:].replace("\r", "").partition("hayate#")[0], name)
    b.sent()
    m.counted()


def test_trace_of_a_port_channel(switch):
    """Stations are known behind the port channel, whichever of its ports the frame came by."""
    m, b = switch()
    m.send(1, l2(B_MAC, A_MAC))
    m.send(0, l2(A_MAC, B_MAC))
    m.time(20 * MS)
    for port, raw, lines in ((2, l2(B_MAC, A_MAC), ["source known at port-channel1", "station known at eth0"]),
                             (0, l2(A_MAC, B_MAC), ["source known at eth0", "station known at port-channel1"]),
                             (2, l2(C_MAC, A_MAC), ["source not known at port-channel1: to be learned",
                                                    "station known at eth0"])):
        start = len(m.text)
        m.key("trace 1 timeout 8\r")
        m.send(port, raw)
        m.time(10 * MS)
        said = [" ".join(line.split()) for line in m.text[start:].splitlines()]
        assert set(lines) <= set(said), said
    b.sent()
    m.counted()
