"""The spanning tree of the switch (apps/switch/spanning.c): root election, blocking, handshakes, edges, BPDU
guard, topology changes, configuration, failures. BPDUs are built and read by scapy (IEEE 802.1D-2004 clause 9);
the protocol itself has unit tests and simulated networks in tests/unit/net/stp/."""
import json
import os
import random
import time

import pytest
from machine import *
from prometheus_client.parser import text_string_to_metric_families
from scapy.layers.l2 import LLC, STP, Dot3
from test_http import Client
from test_switch import H0, H1, H2, frame, table
from test_switch import commit as commit_lines

PORTS = 4
SWITCH = "hostname s1\napplication switch\n"
OWN = "02:48:59:00:00:00"  # the least address of the machine's ports
COST = 20000               # of a port whose speed is not known
ROOT_MAC, OTHER_MAC = "02:00:00:00:0a:01", "02:00:00:00:0b:01"

TC, PROPOSAL, LEARNING, FORWARDING, AGREEMENT, TC_ACK = 1, 2, 16, 32, 64, 128
ALTERNATE_ROLE, ROOT_ROLE, DESIGNATED_ROLE = 4, 8, 12
DESIGNATED = DESIGNATED_ROLE | LEARNING | FORWARDING  # of a port that forwards


def bpdu(root=(4096, ROOT_MAC), cost=0, bridge=None, port=0x8001, flags=DESIGNATED, rst=True, **fields):
    """An RST BPDU, or a Configuration BPDU, of a neighbour; by default of the root itself."""
    bridge = bridge or root
    values = dict(version=2, bpdutype=2) if rst else dict(version=0, bpdutype=0)
    values.update(bpduflags=flags, rootid=root[0], rootmac=root[1], pathcost=cost, bridgeid=bridge[0],
                  bridgemac=bridge[1], portid=port, age=0, maxage=20, hellotime=2, fwddelay=15)
    values.update(fields)
    message = bytes(LLC(dsap=0x42, ssap=0x42, ctrl=3) / STP(**values)) + (b"\0" if rst else b"")
    return padded(bytes(Dot3(src=bridge[1], dst=BRIDGES, len=len(message))) + message)


def tcn(bridge):
    message = b"\x42\x42\x03\0\0\0\x80"
    return padded(bytes(Dot3(src=bridge, dst=BRIDGES, len=len(message))) + message)


def sent(m, port):
    """The BPDUs that the port has sent since the last call. Nothing else left it."""
    said = []
    for raw in m.take_all(port):
        assert len(raw) == 60 and raw[:6] == bytes.fromhex("0180c2000000") and raw[14:17] == b"\x42\x42\x03"
        assert raw[6:12] == bytes.fromhex(OWN.replace(":", ""))[:5] + bytes([port])
        assert int.from_bytes(raw[12:14], "big") == (39 if raw[20] == 2 else 38)
        said.append(Dot3(raw)[STP])
    return said


def silence(m):
    for outs in m.outs:
        outs.clear()
    m.counted()


def tree(m):
    """{port: (role, state, type)} of `show spanning-tree`."""
    rows = m.console("show spanning-tree").split("\n\n")[1].splitlines()[1:]
    columns = [row.split(None, 5) for row in rows]
    return {port: (role, state, kind) for port, role, state, _, _, kind in columns}


def shown(m, port):
    """`show spanning-tree interface`."""
    return dict(line.split(" ", 1) for line in m.console("show spanning-tree interface eth%d" % port).splitlines())


def states(m):
    return [tree(m)["eth%d" % port][1] for port in range(len(m.outs))]


def reaches(m, one, port):
    """Does a broadcast of a host reach that port? Only broadcasts are counted, not BPDUs."""
    raw = frame(one, BROADCAST)
    m.send(one.port, raw)
    found = [raw in m.take_all(n) for n in range(len(m.outs))]
    return found[port]


def commit(m, *lines):
    assert "committed" in commit_lines(m, *lines)


def said_changes(m):
    said = m.console("show spanning-tree").split("topology changes ")[1]
    return int(said.split("\n")[0].split(",")[0])


def hold(m, seconds, *frames):
    """Lets time pass while neighbours send these BPDUs, (port, frame), every hello time."""
    for _ in range(seconds // 2):
        for port, raw in frames:
            m.send(port, raw)
        m.time(2 * SECOND)


@pytest.fixture
def switch(make):
    def start(config="", ports=PORTS, **options):
        m = make(SWITCH + config, ports=ports, boot=False, **options)
        m.time(20 * MS)
        return m
    return start


@pytest.fixture
def running(switch):
    """A switch whose ports are edges, and forward."""
    def start(config="", **options):
        m = switch(config, **options)
        m.time(5 * SECOND)
        silence(m)
        return m
    return start


# --- alone ---

def test_a_port_proposes_and_becomes_an_edge(switch):
    """After a link has come up a port discards, and proposes; if nobody answers for three seconds, it is an
    edge and forwards (AutoEdge, 17.25)."""
    m = switch()
    for port in range(PORTS):
        first = sent(m, port)[0]
        assert (first.version, first.bpdutype, first.bpduflags) == (2, 2, DESIGNATED_ROLE | PROPOSAL)
        assert (first.rootid, first.rootmac, first.pathcost) == (32768, OWN, 0)
        assert (first.bridgeid, first.bridgemac, first.portid) == (32768, OWN, 0x8001 + port)
        assert (first.age, first.maxage, first.hellotime, first.fwddelay) == (0, 20, 2, 15)
    assert states(m) == ["discarding"] * PORTS
    silence(m)
    m.send(0, frame(H0, BROADCAST))
    m.expect_counters(drop_switch_blocked=1)
    m.time(2 * SECOND)
    assert states(m) == ["discarding"] * PORTS
    assert table(m) == {}
    m.time(2 * SECOND)
    assert tree(m) == {"eth%d" % port: ("designated", "forwarding", "edge") for port in range(PORTS)}
    silence(m)
    assert reaches(m, H0, 3)
    silence(m)
    m.time(10 * SECOND)
    hellos = [sent(m, port) for port in range(PORTS)]
    assert all(4 <= len(of_port) <= 6 for of_port in hellos)
    assert {b.bpduflags for of_port in hellos for b in of_port} == {DESIGNATED | PROPOSAL}
    m.counted()


def test_portfast(switch):
    m = switch("interface eth1\n spanning-tree portfast\n"
               "interface eth2\n spanning-tree portfast disable\n")
    assert tree(m)["eth1"] == ("designated", "forwarding", "edge")
    m.time(15 * SECOND)
    assert states(m)[2] == "discarding"
    m.time(6 * SECOND)  # max age (17.29.1), then a hello time: the forward delay if the port speaks RSTP (17.20.5)
    assert states(m) == ["forwarding", "forwarding", "learning", "forwarding"]
    m.time(2 * SECOND)
    assert tree(m)["eth2"] == ("designated", "forwarding", "point-to-point")
    m.link(1, False)
    m.time(SECOND)
    m.link(1, True)
    m.time(20 * MS)
    assert tree(m)["eth1"] == ("designated", "forwarding", "edge")
    silence(m)


def test_learning_state(switch):
    """A port that learns does not forward."""
    m = switch("interface eth0\n spanning-tree portfast disable\n")
    m.time(21 * SECOND)
    assert states(m)[0] == "learning"
    silence(m)
    m.send(0, frame(H0, BROADCAST))
    m.expect_nothing()
    m.expect_counters(drop_switch_blocked=1)
    m.time(20 * MS)
    m.expect_counters(switch_learned=1)
    assert table(m) == {(1, H0.mac): ("dynamic", "eth0")}


# --- with a better bridge ---

def test_root_and_agreement(switch):
    """A proposal of the root is agreed to at once, the port forwards, and all others discard before that: the
    new information has to reach those behind them (17.29, sync)."""
    m = switch()
    silence(m)
    m.send(0, bpdu(flags=DESIGNATED_ROLE | PROPOSAL))
    assert tree(m)["eth0"] == ("root", "forwarding", "point-to-point")
    answer = sent(m, 0)[-1]
    assert answer.bpduflags & ~TC == ROOT_ROLE | LEARNING | FORWARDING | AGREEMENT
    assert (answer.rootid, answer.rootmac, answer.pathcost) == (4096, ROOT_MAC, COST)
    m.expect_counters(delivered_stp=1, stp_tx=m.seen["stp_tx"] and 4)
    assert "this switch" not in m.console("show spanning-tree")
    assert "root    4096 %s, cost %d, by eth0" % (ROOT_MAC, COST) in m.console("show spanning-tree")
    onward = sent(m, 1)[-1]
    assert (onward.rootid, onward.rootmac, onward.pathcost, onward.age) == (4096, ROOT_MAC, COST, 1)
    m.time(2 * SECOND)
    assert "the root is 4096 %s, by eth0" % ROOT_MAC in m.text
    silence(m)


def test_second_path_blocks_and_takes_over(running):
    """Two ports lead to the root: the worse one is alternate and discards. When the better one loses its link
    the other forwards at once, without timers."""
    m = running()
    for port in (0, 1):
        m.send(port, bpdu(port=0x8001 + port, flags=DESIGNATED_ROLE | PROPOSAL))
    assert tree(m)["eth0"][:2] == ("root", "forwarding")
    assert tree(m)["eth1"][:2] == ("alternate", "discarding")
    hold(m, 6, (0, bpdu()), (1, bpdu(port=0x8002)))
    assert "eth1 blocks: another path leads to the root" in m.text
    silence(m)
    assert reaches(m, H2, 0)
    silence(m)
    assert not reaches(m, H2, 1)
    m.send(1, frame(H1, BROADCAST))
    m.expect_nothing()
    assert m.counted().get("drop_switch_blocked") == 1
    m.link(0, False)
    m.time(20 * MS)
    assert tree(m)["eth1"][:2] == ("root", "forwarding")
    silence(m)
    assert reaches(m, H2, 1)
    silence(m)


def test_silence_of_the_root(running):
    """Three hello times without a BPDU: the information ages, and the switch is the root again (17.21.23)."""
    m = running()
    m.send(0, bpdu())
    assert tree(m)["eth0"][0] == "root"
    m.time(5 * SECOND)
    assert tree(m)["eth0"][0] == "root"
    m.time(3 * SECOND)
    assert tree(m)["eth0"][0] == "designated"
    assert "spanning tree: this switch is the root" in m.text
    silence(m)


def test_inferior_bridge(running):
    """A bridge that takes itself for the root is told of the better one. The port has forwarded as an edge; it
    goes on, because that bridge will discard its own until it has heard of the root."""
    m = running()
    m.send(2, bpdu(root=(61440, OTHER_MAC), flags=DESIGNATED_ROLE | PROPOSAL))
    answer = sent(m, 2)[-1]
    assert (answer.rootid, answer.rootmac) == (32768, OWN)
    assert tree(m)["eth2"] == ("designated", "forwarding", "point-to-point")
    m.send(2, bpdu(root=(32768, OWN), cost=COST, bridge=(61440, OTHER_MAC),
                   flags=ROOT_ROLE | LEARNING | FORWARDING | AGREEMENT))
    assert tree(m)["eth2"] == ("designated", "forwarding", "point-to-point")
    silence(m)


def test_stp_neighbour(switch):
    """A Configuration BPDU: the port speaks STP. It forwards after twice the forward delay; a root port does
    at once, if no other was root port lately."""
    m = switch("interface eth1\n spanning-tree portfast disable\n")
    root, other = bpdu(rst=False, flags=0), bpdu(rst=False, flags=0, root=(61440, OTHER_MAC))
    hold(m, 6, (0, root), (1, other))  # three seconds after the link came up the protocol may change (17.24)
    assert tree(m)["eth1"] == ("designated", "discarding", "STP neighbour")
    sent(m, 1)
    hold(m, 4, (0, root))
    assert {(b.version, b.bpdutype, b.rootmac) for b in sent(m, 1)} == {(0, 0, ROOT_MAC)}
    hold(m, 30, (0, root))
    assert tree(m)["eth1"] == ("designated", "forwarding", "STP neighbour")
    assert tree(m)["eth0"] == ("root", "forwarding", "STP neighbour")
    silence(m)
    assert m.console("clear spanning-tree detected-protocols eth1") == ""
    hold(m, 2, (0, root))
    assert {(b.version, b.bpdutype) for b in sent(m, 1)} == {(2, 2)}
    silence(m)


def test_protocol_stp(switch):
    """`spanning-tree mode stp`: Configuration BPDUs, no edges but by portfast, and timers."""
    m = switch("spanning-tree mode stp\nspanning-tree forward-time 4\nspanning-tree max-age 6\n")
    m.time(7 * SECOND)
    assert states(m) == ["learning"] * PORTS
    m.time(3 * SECOND)
    assert states(m) == ["forwarding"] * PORTS
    assert {(b.version, b.bpdutype, b.maxage, b.fwddelay) for b in sent(m, 0)} == {(0, 0, 6, 4)}
    assert "protocol stp" in m.console("show spanning-tree")
    silence(m)


# --- topology changes ---

@pytest.mark.parametrize("by", ["rst", "tcn"])
def test_topology_change_forgets_stations(running, by):
    """Stations of all other ports that are no edges are forgotten, and the other bridges are told."""
    m = running()
    m.send(0, bpdu())
    neighbour = (61440, OTHER_MAC)
    m.send(1, bpdu(root=(4096, ROOT_MAC), cost=COST, bridge=neighbour,
                   flags=ROOT_ROLE | LEARNING | FORWARDING | AGREEMENT))
    hold(m, 4, (0, bpdu()))
    for host in (H0, H1, H2):
        m.send(host.port, frame(host, BROADCAST))
    m.time(20 * MS)
    assert {port for kind, port in table(m).values()} == {"eth0", "eth1", "eth2"}
    silence(m)
    if by == "rst":
        m.send(0, bpdu(flags=DESIGNATED | TC))
        assert {port for kind, port in table(m).values()} == {"eth0", "eth2"}  # eth2 is an edge
        assert sent(m, 1)[-1].bpduflags & TC
    else:
        m.send(1, tcn(OTHER_MAC))
        assert {port for kind, port in table(m).values()} == {"eth1", "eth2"}
        m.time(2 * SECOND)
        assert any(b.bpduflags & TC for b in sent(m, 0))
    said = m.console("show spanning-tree")
    assert "topology changes" in said and "by eth%d" % (0 if by == "rst" else 1) in said
    silence(m)


def test_an_edge_is_no_topology_change(running):
    """A host that comes and goes makes nobody forget anything."""
    m = running()
    m.send(0, bpdu())
    hold(m, 4, (0, bpdu()))
    m.send(1, frame(H1, BROADCAST))
    m.time(20 * MS)
    m.link(2, False)
    hold(m, 2, (0, bpdu()))
    m.link(2, True)
    silence(m)
    hold(m, 6, (0, bpdu()))
    assert tree(m)["eth2"][:2] == ("designated", "forwarding")
    assert (1, H1.mac) in table(m)
    assert not any(b.bpduflags & TC for b in sent(m, 0))
    silence(m)


# --- loops of cables ---

def cable(m, one, other, seconds):
    """A cable between two ports, or a loop at one: each gets what the other sends, for so long."""
    copies = 0
    for _ in range(seconds * 10):
        for _ in range(20):
            a, b = m.take_all(one), m.take_all(other) if other != one else []
            copies += sum(raw[:6] == b"\xff" * 6 for raw in a + b)
            if not a and not b:
                break
            for raw in a:
                m.queue(other, raw)
            for raw in b:
                m.queue(one, raw)
            m.command("run")
        else:
            pytest.fail("frames go round without end")
        m.time(100 * MS)
    return copies


def test_a_cable_between_two_ports(switch):
    m = switch()
    cable(m, 0, 1, 6)
    assert tree(m)["eth0"][:2] == ("designated", "forwarding")
    assert tree(m)["eth1"][:2] == ("backup", "discarding")
    assert states(m)[2:] == ["forwarding"] * 2
    assert "eth1 blocks" in m.text
    silence(m)
    m.send(2, frame(H2, BROADCAST))
    assert cable(m, 0, 1, 1) == 1
    assert frame(H2, BROADCAST) in m.take_all(3)
    silence(m)


def test_a_cable_plugged_into_two_edges(running):
    """Both ports forward as edges when the cable comes: the loop ends with the first BPDU."""
    m = running()
    m.send(2, frame(H2, BROADCAST))
    silence(m)
    m.time(2 * SECOND)  # a hello of each
    assert cable(m, 0, 1, 3) == 0
    m.send(2, frame(H2, BROADCAST))
    assert cable(m, 0, 1, 1) <= 1
    assert sorted(states(m)[:2]) == ["discarding", "forwarding"]
    silence(m)


def test_a_port_that_hears_itself(running):
    m = running()
    m.time(2 * SECOND)
    m.counted()
    cable(m, 0, 0, 3)
    assert m.counted()["drop_stp_own"] > 0
    assert tree(m)["eth0"] == ("designated", "discarding", "loop")
    assert "eth0 blocks: it receives what it sends" in m.text
    silence(m)
    m.time(12 * SECOND)
    assert "eth0 does not receive any more what it sends" in m.text
    m.time(31 * SECOND)
    assert states(m)[0] == "forwarding"
    silence(m)


def test_cost_follows_the_speed(running):
    """A card reports its speed some time after its link, without another event (a ConnectX does)."""
    m = running()

    def cost():
        return int(shown(m, 0)["cost"])
    assert cost() == 20000
    for mbps, wanted in ((10000, 2000), (0, 20000), (100, 200000), (1000, 20000)):  # table 17-3; 0: not known
        m.speed(0, mbps)
        m.time(2 * SECOND)
        assert cost() == wanted
        assert tree(m)["eth0"] == ("designated", "forwarding", "edge")
    silence(m)


# --- BPDU guard ---

GUARD = "interface eth0\n spanning-tree portfast\n spanning-tree bpduguard enable\n"


def disabled(m):
    m.send(0, bpdu())
    m.expect_counters(drop_stp_guard=1)
    assert tree(m)["eth0"] == ("disabled", "discarding", "BPDU guard")
    assert "eth0: disabled by BPDU guard" in m.text
    assert shown(m, 0)["bpdu_guard"] == "has disabled the port"
    silence(m)
    m.send(0, frame(H0, BROADCAST))
    m.expect_nothing()
    m.expect_counters(drop_switch_blocked=1)
    m.send(0, bpdu())
    m.expect_counters(drop_port_down=1)


def test_guard(running):
    m = running(GUARD)
    disabled(m)
    m.time(400 * SECOND)
    assert tree(m)["eth0"][2] == "BPDU guard"  # without `errdisable recovery` it lasts
    m.link(0, False)
    m.time(SECOND)
    m.link(0, True)
    m.time(SECOND)
    assert tree(m)["eth0"][2] == "BPDU guard"
    silence(m)
    commit(m, "interface eth0", "shutdown")  # restarts the ports
    m.time(SECOND)
    assert tree(m)["eth0"] == ("disabled", "discarding", "down")
    commit(m, "interface eth0", "no shutdown")
    m.time(SECOND)
    assert tree(m)["eth0"] == ("designated", "forwarding", "edge")
    silence(m)


def test_guard_recovers(running):
    m = running(GUARD + "errdisable recovery cause bpduguard\nerrdisable recovery interval 60\n")
    disabled(m)
    m.time(59 * SECOND)
    assert tree(m)["eth0"][2] == "BPDU guard"
    m.time(2 * SECOND)
    assert tree(m)["eth0"] == ("designated", "forwarding", "edge")
    assert "eth0: enabled again after BPDU guard" in m.text
    silence(m)
    disabled(m)


def test_guard_taken_away(running):
    m = running(GUARD)
    disabled(m)
    commit(m, "interface eth0", "spanning-tree bpduguard disable")
    assert tree(m)["eth0"][0] == "designated"
    silence(m)


def test_guard_of_a_port_channel(switch):
    """`shutdown` of the port channel ends it, and not that of a member."""
    m = switch("interface port-channel1\n spanning-tree portfast\n spanning-tree bpduguard enable\n"
               "interface eth0\n channel-group 1 mode on\ninterface eth1\n channel-group 1 mode on\n", ports=2)
    m.time(4 * SECOND)
    silence(m)
    m.send(0, bpdu())
    m.expect_counters(drop_stp_guard=1)
    assert tree(m)["port-channel1"] == ("disabled", "discarding", "BPDU guard")
    for block, last in (("interface eth0", ("disabled", "discarding", "BPDU guard")),
                        ("interface port-channel1", ("designated", "forwarding", "edge"))):
        commit(m, block, "shutdown")
        m.time(SECOND)
        commit(m, block, "no shutdown")
        m.time(2 * SECOND)
        assert tree(m)["port-channel1"] == last
        silence(m)


def test_guard_alone_on_the_machine_recovers(switch):
    """No port is enabled, so the protocol has no ticks; the recovery has its own deadline."""
    m = switch(GUARD + "errdisable recovery cause bpduguard\nerrdisable recovery interval 30\n", ports=1)
    m.time(4 * SECOND)
    silence(m)
    disabled(m)
    m.time(31 * SECOND)
    assert tree(m)["eth0"][:2] == ("designated", "forwarding")
    silence(m)


# --- frames that are no good ---

GOOD = bpdu()


@pytest.mark.parametrize("raw, counter", [
    (GOOD[:14], "drop_stp_malformed"),
    (GOOD[:17], "drop_stp_malformed"),
    (GOOD[:40], "drop_stp_malformed"),
    (GOOD[:17] + b"\0\1" + GOOD[19:], "drop_stp_malformed"),          # protocol identifier
    (GOOD[:20] + b"\x03" + GOOD[21:], "drop_stp_malformed"),          # type
    (GOOD[:14] + b"\x42\x42\x13" + GOOD[17:], "drop_stp_malformed"),  # LLC control
    (GOOD[:14] + b"\xaa\xaa\x03" + GOOD[17:], "drop_stp_malformed"),
    (GOOD[:12] + b"\x88\xb5" + GOOD[14:], "drop_switch_reserved"),
    (bpdu(rst=False, flags=0, age=20), "drop_stp_age"),
    (bpdu(root=(32768, OWN), port=0x8001, bridge=(32768, OWN)), "drop_stp_own"),
])
def test_bad_frames(running, raw, counter):
    m = running()
    m.send_raw(0, raw)
    m.expect_counters(**{counter: 1})
    assert tree(m)["eth0"][0] == "designated"
    silence(m)


def test_tagged_bpdu(running):
    """A BPDU has no tag (802.1D-2004 clause 9)."""
    m = running("interface eth0\n switchport mode trunk\n")
    m.send(0, GOOD[:12] + b"\x81\0\0\5" + GOOD[12:])
    m.expect_counters(drop_switch_reserved=1)


def test_bpdus_are_not_forwarded(running):
    """Nor those of a switch whose protocol is off."""
    m = running()
    m.send(0, bpdu(root=(61440, OTHER_MAC)))
    assert all(b.bridgemac == OWN for port in range(PORTS) for b in sent(m, port))
    m.counted()
    commit(m, "spanning-tree mode none")
    silence(m)
    m.send(0, bpdu())
    m.expect_nothing()
    m.expect_counters(drop_switch_reserved=1)
    m.time(10 * SECOND)
    m.expect_nothing()


def test_flood_of_bpdus(running):
    """Thousands of contradicting BPDUs on one port: those beyond the rate are dropped, frames between other
    ports pass, and the ports send no more than the hold count allows (17.19.44)."""
    m = running()
    rng = random.Random(1)
    m.send(1, frame(H1, H2))
    m.send(2, frame(H2, H1))
    m.time(20 * MS)
    silence(m)
    total = sent_to_1 = 0
    for second in range(5):
        for _ in range(10):
            for _ in range(100):
                m.queue(0, bpdu(root=(rng.randrange(16) * 4096, "02:00:00:00:%02x:%02x" % (
                    rng.randrange(256), rng.randrange(256))), flags=rng.randrange(256)))
            m.queue(1, padded(frame(H1, H2)))
            m.command("run")
            m.time(100 * MS)
            total += 100
        assert m.outs[2]
        sent_to_1 += sum(out.frame[:6] == bytes.fromhex("0180c2000000") for out in m.outs[1])
        for outs in m.outs:
            outs.clear()
    counted = m.counted()
    assert counted["drop_link_limit"] + counted["delivered_stp"] + counted.get("drop_stp_own", 0) == total
    assert counted["drop_link_limit"] > total * 9 // 10
    assert sent_to_1 <= 6 + 6
    assert m.text.count("spanning tree:") <= 20
    silence(m)


def test_fuzz(running):
    """Random and mutated BPDUs on all ports, time, links, commits: no sanitizer report, every frame has a fate,
    and afterwards the switch switches."""
    seed = int(os.environ.get("SEED", time.time_ns() & 0xffffffff))
    notes.append("fuzz switch stp: SEED=%d" % seed)
    rng = random.Random(seed)
    m = running()
    for _ in range(600):
        for _ in range(rng.choice([1, 1, 3, 40])):
            raw = bytearray(bpdu(root=(rng.randrange(16) * 4096, rng.choice([ROOT_MAC, OTHER_MAC, OWN])),
                                 cost=rng.choice([0, COST, rng.randrange(1 << 32)]), rst=rng.random() < 0.6,
                                 bridge=(rng.randrange(16) * 4096, rng.choice([ROOT_MAC, OTHER_MAC, OWN])),
                                 port=rng.randrange(0x8000, 0x8008), flags=rng.randrange(256)))
            for _ in range(rng.choice([0, 0, 1, 4])):
                raw[rng.randrange(6, len(raw))] = rng.randrange(256)
            m.queue(rng.randrange(PORTS), raw[:rng.choice([60, 60, 60, rng.randrange(14, 61)])])
        m.command("run")
        if rng.random() < 0.4:
            m.time(rng.choice([MS, SECOND, 4 * SECOND, 40 * SECOND]))
        if rng.random() < 0.05:
            m.link(rng.randrange(PORTS), rng.random() < 0.5)
        if rng.random() < 0.02:
            m.console("clear spanning-tree detected-protocols")
    for port in range(PORTS):
        m.link(port, True)
    m.time(100 * SECOND)
    assert m.waiting() == 0
    assert states(m) == ["forwarding"] * PORTS
    silence(m)
    assert reaches(m, H0, 3)
    silence(m)


# --- configuration ---

def test_configured_values_are_sent(switch):
    m = switch("spanning-tree priority 4096\nspanning-tree hello-time 1\nspanning-tree max-age 18\n"
               "spanning-tree forward-time 12\n"
               "interface eth1\n spanning-tree port-priority 16\n spanning-tree cost 7\n"
               " spanning-tree link-type shared\n")
    first = sent(m, 1)[0]
    assert (first.bridgeid, first.hellotime, first.maxage, first.fwddelay) == (4096, 1, 18, 12)
    assert first.portid == 0x1002
    m.send(1, bpdu(root=(0, ROOT_MAC)))
    said = m.console("show spanning-tree")
    assert "root    0 %s, cost 7, by eth1" % ROOT_MAC in said
    assert "bridge  4096 %s\n        hello 1 s, max age 18 s, forward delay 12 s\n" % OWN in said
    row = next(line.split() for line in said.splitlines() if line.startswith("eth1"))
    assert row == ["eth1", "root", row[2], "7", "16.2", "shared"]
    silence(m)


def test_changes_take_effect_at_once(running):
    m = running("interface eth1\n description x\n")
    m.send(0, bpdu(root=(4096, ROOT_MAC)))
    m.send(1, bpdu(root=(4096, ROOT_MAC), port=0x8002))
    assert tree(m)["eth0"][0] == "root" and tree(m)["eth1"][0] == "alternate"
    commit(m, "interface eth1", "spanning-tree cost 5")
    assert tree(m)["eth0"][0] == "alternate" and tree(m)["eth1"][0] == "root"
    commit(m, "spanning-tree priority 0")
    assert tree(m)["eth0"][0] == tree(m)["eth1"][0] == "designated"
    assert "0 %s, this switch" % OWN in m.console("show spanning-tree")
    silence(m)


def test_off_and_on(running):
    """Off: all ports forward, and no BPDU is sent. On again, beside links that stay up: silence makes no edge,
    because a bridge that listens to us may be silent; the ports forward after twice the forward delay."""
    m = running()
    m.send(0, bpdu(port=0x8001))
    m.send(1, bpdu(port=0x8002))
    assert tree(m)["eth1"][1] == "discarding"
    commit(m, "spanning-tree mode none")
    assert "the spanning tree protocol is off" in m.console("show spanning-tree")
    assert "the spanning tree protocol is off" in m.console("show spanning-tree interface eth0")
    assert m.console("show switchport").count("forwarding") == PORTS
    silence(m)
    m.time(5 * SECOND)
    m.expect_nothing()
    assert reaches(m, H2, 1)
    silence(m)
    commit(m, "spanning-tree mode rstp")
    assert states(m) == ["discarding"] * PORTS
    m.time(20 * SECOND)
    assert states(m) == ["learning"] * PORTS
    m.link(3, False)
    m.time(20 * MS)
    m.link(3, True)
    m.time(5 * SECOND)  # this one was seen to come up
    assert tree(m)["eth3"] == ("designated", "forwarding", "edge")
    m.time(10 * SECOND)
    assert states(m) == ["forwarding"] * PORTS
    assert tree(m)["eth0"][2] == "point-to-point"
    m.time(15 * SECOND)
    assert tree(m)["eth0"][2] == "edge"
    silence(m)


def test_off_with_a_restart_of_the_ports(running):
    """The state that is kept over the restart is not used. Switched on by another restart, the protocol begins
    anew."""
    m = running()
    m.send(0, bpdu(port=0x8001))
    m.send(1, bpdu(port=0x8002))
    assert tree(m)["eth1"][1] == "discarding"
    commit(m, "spanning-tree mode none", "interface eth3", "description x")
    m.time(SECOND)
    assert m.console("show switchport").count("forwarding") == PORTS
    silence(m)
    m.time(5 * SECOND)
    m.expect_nothing()
    commit(m, "spanning-tree mode rstp", "interface eth2", "description x")
    m.time(5 * SECOND)
    assert tree(m) == {"eth%d" % port: ("designated", "discarding", "point-to-point") for port in range(PORTS)}
    m.time(20 * SECOND)
    assert states(m) == ["forwarding"] * PORTS
    silence(m)


def test_shutdown_leaves_the_tree(running):
    """It restarts the ports: the other ports go on with their roles."""
    m = running()
    m.send(0, bpdu(port=0x8001))
    m.send(1, bpdu(port=0x8002))
    assert tree(m)["eth1"][0] == "alternate"
    commit(m, "interface eth0", "shutdown")
    m.time(SECOND)
    assert tree(m)["eth0"] == ("disabled", "discarding", "down")
    assert tree(m)["eth3"] == ("designated", "forwarding", "edge")
    assert tree(m)["eth1"][:2] == ("root", "forwarding")
    silence(m)


@pytest.mark.parametrize("config, why", [
    ("spanning-tree mode rstp\n", "the application router does not switch"),
    ("interface eth0\n spanning-tree cost 5\n", "the application router does not switch"),
    ("errdisable recovery cause bpduguard\n", "the application router does not switch"),
    (SWITCH + "spanning-tree max-age 40\n", ":3: the max age is more than 2 * (forward delay - 1 second)"),
])
def test_refused(make, config, why):
    m = make(config, ports=2)
    assert why in m.text


# --- the machine's own interfaces ---

def test_own_interface_is_up_while_a_port_forwards(switch):
    m = switch("interface vlan1\n ip address 192.0.2.1/24\n"
               "interface eth0\n spanning-tree portfast disable\n", ports=1)
    assert m.console("show interfaces").count("down") == 1
    m.send(0, arp_request(A, "192.0.2.1"))
    assert not any(raw[12:14] == b"\x08\x06" for raw in m.take_all(0))
    m.time(31 * SECOND)
    m.take_all(0)
    m.send(0, arp_request(A, "192.0.2.1"))
    assert any(raw[12:14] == b"\x08\x06" and raw[20:22] == b"\0\2" for raw in m.take_all(0))
    silence(m)


def test_shown_port(running):
    m = running()
    m.send(1, bpdu(port=0x8001))
    m.send(2, bpdu(port=0x8002))
    said = shown(m, 2)
    assert said["role"] == "alternate" and said["state"] == "discarding" and said["edge"] == "no"
    assert said["designated_root"] == "4096 " + ROOT_MAC and said["designated_port"] == "128.2"
    assert said["received_rst"] == "1" and int(said["sent_rst"]) > 1 and said["times_forwarding"] == "1"
    assert m.console("show spanning-tree interface eth9") == "expected the name of a port, such as eth0\n"
    silence(m)


def test_metrics_and_json(running):
    m = running("http server\nhttp access 0.0.0.0/0\ninterface vlan1\n ip address 192.0.2.1/24\n")
    m.send(1, bpdu(port=0x8001))
    m.send(2, bpdu(port=0x8002))
    silence(m)
    host = Station(3, "192.0.2.9", "02:aa:00:00:00:09")
    m.send(3, arp_request(host, "192.0.2.1"))
    silence(m)
    client = Client(m, src=host, router=Station(3, "192.0.2.1", OWN))
    status, _, content = client.get("/metrics")
    assert status == 200
    tree_json = json.loads(client.get("/api/v1/switch.json")[2])
    assert [(row["role"], row["type"]) for row in tree_json["ports"]] == [
        ("designated", "edge"), ("root", "point-to-point"), ("alternate", "point-to-point"), ("designated", "edge")]
    assert tree_json["spanning_tree"] == {"root": "4096 " + ROOT_MAC, "bridge": "32768 " + OWN, "cost": COST,
                                          "port": "eth1", "topology_changes": said_changes(m)}
    client.close()
    said = {(sample.name, *sorted(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(content.decode())
            for sample in family.samples if sample.name.startswith("hayate_spanning_tree_")}
    name = "hayate_spanning_tree_"
    assert said[name + "root",] == 0 and said[name + "root_path_cost",] == COST
    assert said[name + "topology_changes_total",] >= 1
    assert [said[name + "port_state", ("port", "eth%d" % n)] for n in range(PORTS)] == [2, 2, 0, 2]
    assert said[name + "port_role", ("port", "eth2"), ("role", "alternate")] == 1
    assert said[name + "bpdus_received_total", ("port", "eth1")] == 1
    assert said[name + "port_guarded", ("port", "eth1")] == 0
    assert said[name + "bpdus_sent_total", ("port", "eth3")] >= 2
    silence(m)


# --- failures ---

def test_control_program_restarts(running):
    """The states stay; no port discards for a moment. (The data core of this machine is simulated, so there
    are no BPDUs.)"""
    m = running("interface eth1\n spanning-tree portfast disable\n", lives=True)
    m.time(16 * SECOND)
    before = tree(m)
    assert before["eth0"] == ("designated", "forwarding", "edge")
    assert before["eth1"] == ("designated", "learning", "point-to-point")
    m.anew()
    m.key("\r")
    assert "control program: goes on" in m.text
    assert tree(m) == before
    m.time(3 * SECOND)
    assert states(m) == ["forwarding"] * PORTS
    assert "the root is" not in m.text
    silence(m)


def test_ports_restart(running):
    """The same if the ports are restarted too."""
    m = running(lives=True)
    m.anew(amid_driver=True)
    m.time(2 * SECOND)
    assert tree(m) == {"eth%d" % port: ("designated", "forwarding", "edge") for port in range(PORTS)}
    silence(m)
