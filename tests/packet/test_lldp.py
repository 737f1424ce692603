"""LLDP (IEEE 802.1AB) of all applications: what is sent and when, which neighbours are kept, and the
statements. scapy builds the frames of neighbours and reads ours. net/lldp's rules are in
tests/unit/net/lldp/."""
import json
import re

import generator
import pytest
from machine import *
from scapy.config import conf
from scapy.contrib.lldp import (LLDPDUChassisID, LLDPDUGenericOrganisationSpecific,
                                LLDPDUManagementAddress, LLDPDUPortDescription, LLDPDUPortID,
                                LLDPDUSystemCapabilities, LLDPDUSystemDescription, LLDPDUSystemName,
                                LLDPDUTimeToLive)
from test_engine_vxlan import config as engine_config
from test_http import Client
from test_switch import SWITCH

conf.contribs["LLDP"].strict_mode_disable()  # frames are built without an end TLV, and wrong ones

GROUP = "01:80:c2:00:00:0e"
RUN = "lldp run\n"
MAC = ["02:48:59:00:00:0%d" % n for n in range(4)]
APPLICATIONS = {word: "application %s\n" % word for word in ("router", "echo", "web", "discard", "pktgen")}
APPLICATIONS["switch"] = SWITCH  # test_switch_stp.py has the spanning tree


def neighbour(who=1, ttl=120, dst=GROUP, name="peer", more=b"", src=None):
    """The frame of a neighbour, with the TLVs that switches send."""
    src = src or "02:00:00:00:01:%02x" % who
    pdu = LLDPDUChassisID(subtype=4, id=src) / LLDPDUPortID(subtype=5, id=b"swp%d" % who) / \
        LLDPDUTimeToLive(ttl=ttl) / LLDPDUPortDescription(description=b"to hayate") / \
        LLDPDUSystemName(system_name=name.encode("latin-1")) / \
        LLDPDUSystemDescription(description=b"a switch") / \
        LLDPDUSystemCapabilities(mac_bridge_available=1, router_available=1, mac_bridge_enabled=1) / \
        LLDPDUManagementAddress(management_address_subtype=1, management_address=b"\xc0\x00\x02\x09",
                                interface_numbering_subtype=2, interface_number=7) / \
        LLDPDUGenericOrganisationSpecific(org_code=0x0080c2, subtype=1, data=b"\0\x0a") / \
        LLDPDUGenericOrganisationSpecific(org_code=0x00120f, subtype=1, data=b"\3\0\0\0\x1e")
    return padded(bytes(Ether(src=src, dst=dst, type=0x88cc) / pdu) + more + b"\0\0")


def is_lldp(frame):
    return frame[12:14] == b"\x88\xcc"


def tlvs(frame):
    """[(type, information string)] up to the end TLV."""
    at, found = 14, []
    while True:
        head = int.from_bytes(frame[at:at + 2], "big")
        found.append((head >> 9, frame[at + 2:at + 2 + (head & 511)]))
        at += 2 + (head & 511)
        if head == 0:
            return found


def announced(m, port):
    """The frames of LLDP that left by the port, in order. Others are discarded."""
    return [frame for frame in m.take_all(port) if is_lldp(frame)]


def ttl_of(frame):
    return int.from_bytes(dict(tlvs(frame))[3], "big")


def sent(m, ports=2):
    """What has been sent since the last call: [(time to live, ...) of each port]."""
    m.counted()
    return [tuple(ttl_of(frame) for frame in announced(m, port)) for port in range(ports)]


@pytest.fixture
def start(make):
    """start(config, ...) starts a machine and discards what it sends in 10 s, a link's announcements."""
    def started(config=CONFIG + RUN, ports=2, **options):
        m = make(config, ports=ports, boot=False, **options)
        m.time(10 * SECOND)
        sent(m, ports)
        return m
    return started


def neighbours(m):
    """[(port, chassis ID, port ID, system name)] of `show lldp neighbors`."""
    lines = m.console("show lldp neighbors").splitlines()[1:]
    return [(w[0], w[1], w[2], w[5]) for w in (line.split(None, 5) for line in lines)]


def configure(m, *lines):
    return [m.console(line) for line in ("configure", *lines, "commit", "exit")]


# --- off ---

@pytest.mark.parametrize("application", APPLICATIONS)
def test_off_by_default(make, application):
    switch = application == "switch"
    m = make(APPLICATIONS[application] + ("" if switch else CONFIG))
    m.send(0, neighbour())
    m.expect_counters(**{"drop_switch_reserved" if switch else "drop_eth_type": 1})
    m.time(100 * SECOND)
    m.counted()
    assert "lldp does not run" in m.console("show lldp")
    assert "lldp does not run" in m.console("show lldp neighbors")
    assert "lldp does not run" in m.console("show lldp neighbors detail")


# --- what is sent ---

def test_contents_of_a_router(make):
    m = make("hostname r1\n" + RUN + """\
interface eth0
 description to the core
 ip address 192.0.2.1/24
 ipv6 address 2001:db8:1::1/64
 ipv6 nd ra suppress
 mtu 1400
interface eth1
 ip address 198.51.100.1/24
interface lo0
 ip address 203.0.113.1/32
""", boot=False)
    m.time(31 * SECOND)
    m.counted()
    frame = announced(m, 0)[-1]
    p = Ether(frame)
    assert (p.dst, p.src, p.type) == (GROUP, MAC[0], 0x88cc)
    assert (p[LLDPDUChassisID].subtype, p[LLDPDUChassisID].id) == (4, MAC[0])
    assert (p[LLDPDUPortID].subtype, p[LLDPDUPortID].id) == (5, b"eth0")
    assert p[LLDPDUTimeToLive].ttl == 121
    assert p[LLDPDUPortDescription].description == b"to the core"
    assert p[LLDPDUSystemName].system_name == b"r1"
    assert re.fullmatch(rb"Hayate [\d.]+, router, x86-64", p[LLDPDUSystemDescription].description)
    found = tlvs(frame)
    assert (7, b"\0\x10\0\x10") in found  # a router
    addresses = [value for kind, value in found if kind == 8]
    assert addresses == [bytes([1 + len(raw), family]) + raw + bytes([2]) + index.to_bytes(4, "big") + b"\0"
                         for family, raw, index in
                         ((1, socket.inet_aton("192.0.2.1"), 1),
                          (2, socket.inet_pton(socket.AF_INET6, "2001:db8:1::1"), 1),
                          (1, socket.inet_aton("198.51.100.1"), 2),
                          (1, socket.inet_aton("203.0.113.1"), 17))]
    assert [value for kind, value in found if kind == 127] == [b"\0\x12\x0f\4" + (1418).to_bytes(2, "big")]
    other = Ether(announced(m, 1)[-1])
    assert (other.src, other[LLDPDUChassisID].id, other[LLDPDUPortID].id) == (MAC[1], MAC[0], b"eth1")
    assert other[LLDPDUPortDescription].description == b"eth1"
    assert other[LLDPDUManagementAddress].management_address == socket.inet_aton("198.51.100.1")


def test_contents_of_a_switch(start):
    m = start(SWITCH + RUN + """\
interface eth1
 switchport access vlan 20
interface eth2
 switchport mode trunk
 switchport trunk native vlan none
interface vlan20
 ip address 192.0.2.1/24
""", ports=3)
    m.time(30 * SECOND)
    frames = [announced(m, port)[-1] for port in range(3)]
    m.counted()
    for frame, vlan in zip(frames, (1, 20, 0)):
        found = tlvs(frame)
        assert (7, b"\0\4\0\4") in found  # a bridge
        assert (127, b"\0\x80\xc2\1" + vlan.to_bytes(2, "big")) in found
        assert Ether(frame)[LLDPDUManagementAddress].management_address == socket.inet_aton("192.0.2.1")


@pytest.mark.parametrize("application", APPLICATIONS)
def test_every_application_speaks(start, application):
    m = start(APPLICATIONS[application] + RUN)
    m.send(0, neighbour())
    m.expect_counters(delivered_lldp=1, lldp_tx=1)
    assert neighbours(m) == [("eth0", "02:00:00:00:01:01", "swp1", "peer")]
    m.time(30 * SECOND)
    frame = announced(m, 0)[-1]
    want = {"router": 0x10, "switch": 0x04}.get(application, 0x80)
    assert (7, bytes([0, want, 0, want])) in tlvs(frame)
    assert b", %s, " % application.encode() in Ether(frame)[LLDPDUSystemDescription].description
    sent(m)


# --- when ---

def test_interval(make):
    m = make(CONFIG + RUN + "lldp timer 20\n", boot=False)
    m.time(5 * SECOND)
    assert sent(m) == [(81,), (81,)]
    m.time(60 * SECOND)
    assert sent(m) == [(81,) * 3] * 2


def test_a_new_neighbour_is_told_quickly(start):
    m = start()
    m.send(0, neighbour(1))
    assert sent(m) == [(121,), ()]
    m.time(3 * SECOND + 100 * MS)
    assert sent(m) == [(121,) * 3, ()]
    m.send(0, neighbour(1))  # it is known
    m.time(2 * SECOND)
    assert sent(m) == [(), ()]


def test_link(start):
    m = start()
    m.send(0, neighbour())
    m.time(5 * SECOND)
    sent(m)
    m.link(0, False)
    m.time(60 * SECOND)
    assert sent(m)[0] == ()
    assert len(neighbours(m)) == 1  # until its time is over
    m.link(0, True)
    m.time(SECOND)
    assert sent(m)[0] == (121,)
    assert neighbours(m) == []


# --- neighbours ---

def test_neighbour_in_detail(start):
    m = start()
    m.send(0, neighbour(ttl=100))
    sent(m)
    m.time(10 * SECOND)
    sent(m)
    assert m.console("show lldp neighbors").splitlines()[1].split() == [
        "eth0", "02:00:00:00:01:01", "swp1", "90", "bridge", "peer"]
    assert m.console("show lldp neighbors detail").splitlines() == [
        "eth0",
        "  chassis-id 02:00:00:00:01:01",
        "  port-id swp1",
        "  port-description to hayate",
        "  system-name peer",
        "  system-description a switch",
        "  capabilities bridge,router",
        "  enabled bridge",
        "  management-address 192.0.2.9 interface 7",
        "  port-vlan 10",
        "  source 02:00:00:00:01:01",
        "  ttl_s 100, left 90",
        "  known_s 10, heard_s 10",
        "  tlvs unknown 1, invalid 0"]


def test_what_a_neighbour_says_cannot_control_the_terminal(start):
    m = start()
    m.send(0, neighbour(name="\x1b[2Jevil\xff\n"))
    sent(m)
    assert neighbours(m)[0][3] == ".[2Jevil.."
    assert "\x1b" not in m.console("show lldp neighbors detail")


@pytest.mark.parametrize("chassis, port, shown", [
    ((5, b"\1\xc0\0\2\7"), (4, b"\2" + bytes(15) + b"\1"), ("192.0.2.7", "::1")),
    ((7, b"rack 1"), (3, bytes([2, 0, 0, 0, 0, 9])), ("rack 1", "02:00:00:00:00:09")),
    ((7, b"\0\xff"), (7, b"42"), ("00:ff", "42")),
    ((4, b"\2\3"), (4, b"\1\2"), ("02:03", "02")),
])
def test_identifiers_of_each_kind(start, chassis, port, shown):
    m = start()
    head = Ether(src="02:00:00:00:01:01", dst=GROUP, type=0x88cc)
    pdu = b"".join((kind << 9 | 1 + len(value)).to_bytes(2, "big") + bytes([subtype]) + value
                   for kind, (subtype, value) in ((1, chassis), (2, port)))
    m.send(1, padded(bytes(head) + pdu + b"\6\2\0\x78\0\0"))
    m.expect_counters(delivered_lldp=1, lldp_tx=1)
    sent(m)
    text = m.console("show lldp neighbors detail")
    assert "chassis-id %s\n" % shown[0] in text and "port-id %s\n" % shown[1] in text


def test_time_to_live(start):
    m = start()
    m.send(0, neighbour(1, ttl=20), neighbour(2, ttl=40))
    sent(m)
    m.time(19 * SECOND)
    assert len(neighbours(m)) == 2
    m.time(2 * SECOND)
    m.expect_counters(lldp_aged=1, lldp_tx=m.counters()["lldp_tx"] - m.seen["lldp_tx"])
    assert [row[2] for row in neighbours(m)] == ["swp2"]
    m.send(0, neighbour(2, ttl=0))  # it shuts down
    sent(m)
    assert neighbours(m) == []


def test_more_neighbours_than_a_port_keeps(start):
    m = start()
    for who in range(8):
        m.send(0, neighbour(who))
        m.time(SECOND)
    sent(m)
    m.send(0, neighbour(8))
    m.expect_counters(drop_lldp_room=1)
    m.send(1, neighbour(8))
    m.expect_counters(delivered_lldp=1, lldp_tx=1)
    sent(m)
    assert [row[0] for row in neighbours(m)] == ["eth0"] * 8 + ["eth1"]
    row = m.console("show lldp").splitlines()[3].split()
    assert row[0:4] == ["eth0", "on", "on", "8"] and row[5:] == ["9", "1", "1", "0"]


def test_a_tlv_that_the_frame_cuts_off_is_ignored(start):
    m = start()
    m.send(0, neighbour(more=b"\x0b\xff"))
    m.expect_counters(delivered_lldp=1, lldp_tx=1)
    sent(m)
    assert [row[0] for row in neighbours(m)] == ["eth0"]
    assert "  tlvs unknown 1, invalid 1" in m.console("show lldp neighbors detail").splitlines()


@pytest.mark.parametrize("counter, frame", [
    ("drop_lldp_order", Ether(src=A.mac, dst=GROUP, type=0x88cc) / Raw(bytes(46))),
    ("drop_lldp_order", Ether(src=A.mac, dst=GROUP, type=0x88cc) / LLDPDUPortID(subtype=7, id=b"x") /
     LLDPDUChassisID(subtype=7, id=b"y") / LLDPDUTimeToLive(ttl=9)),
    ("drop_lldp_order", neighbour(more=b"\6\2\0\1")),
    ("drop_lldp_length", Ether(src=A.mac, dst=GROUP, type=0x88cc) / Raw(b"\2\1\4" + bytes(43))),
    ("drop_lldp_scope", neighbour(dst="01:80:c2:00:00:03")),
    ("drop_lldp_scope", neighbour(dst="01:80:c2:00:00:00")),
])
def test_bad_frames(start, counter, frame):
    m = start()
    m.send(0, padded(frame))
    m.expect_counters(**{counter: 1})
    assert neighbours(m) == []


def test_a_flood_is_limited(start):
    m = start()
    for n in range(40):
        m.queue(0, neighbour(1))
    m.time(0)
    m.expect_counters(delivered_lldp=16, drop_link_limit=24, lldp_tx=1)
    sent(m)
    m.send(1, neighbour(1))  # the other port has its own rate
    m.expect_counters(delivered_lldp=1, lldp_tx=1)
    sent(m)


def test_tagged_frames_are_no_lldp(start):
    m = start()
    raw = neighbour()
    m.send(0, raw[:12] + b"\x81\x00\x00\x05" + raw[12:])
    m.expect_counters(drop_vlan_unknown=1)


def test_a_trunk_without_native_vlan(start):
    """LLDP belongs to the port, whatever its VLANs are."""
    m = start(SWITCH + RUN + "interface eth0\n switchport mode trunk\n"
              " switchport trunk native vlan none\n")
    m.send(0, neighbour())
    m.expect_counters(delivered_lldp=1, lldp_tx=1)
    sent(m)
    assert len(neighbours(m)) == 1


def test_a_port_with_vlans_of_a_router(start):
    m = start(CONFIG + RUN + "interface eth1.100\n ip address 10.1.1.1/24\n")
    m.send(1, neighbour())
    m.expect_counters(delivered_lldp=1, lldp_tx=1)
    sent(m)
    assert [row[0] for row in neighbours(m)] == ["eth1"]


def test_a_port_without_addresses(start):
    m = start("hostname r1\n" + RUN)
    m.send(1, neighbour())
    m.expect_counters(delivered_lldp=1, lldp_tx=1)
    sent(m)
    assert [row[0] for row in neighbours(m)] == ["eth1"]


# --- statements ---

def test_directions_of_a_port(start):
    m = start(CONFIG.replace("interface eth1", " no lldp transmit\ninterface eth1") + " no lldp receive\n" + RUN)
    m.time(30 * SECOND)
    assert sent(m) == [(), (121,)]
    m.send(0, neighbour())
    m.expect_counters(delivered_lldp=1)
    m.send(1, neighbour())
    m.expect_counters(drop_eth_type=1)
    assert [row[0] for row in neighbours(m)] == ["eth0"]
    assert [line.split()[1:3] for line in m.console("show lldp").splitlines()[3:]] == [["off", "on"], ["on", "off"]]


def test_a_port_that_is_shut_down(start):
    m = start(CONFIG + " shutdown\n" + RUN)
    m.time(60 * SECOND)
    assert sent(m) == [(121,) * 2, ()]
    m.send(1, neighbour())
    m.expect_counters(drop_lldp_off=1)


def test_commits(start):
    """Each takes effect while the ports run."""
    m = start(CONFIG)
    m.send(0, neighbour())
    m.expect_counters(drop_eth_type=1)
    assert "committed" in configure(m, "lldp run")[2]
    m.time(SECOND)
    assert sent(m) == [(121,), (121,)]
    m.send(0, neighbour())
    assert sent(m) == [(121,), ()]
    configure(m, "lldp timer 10", "lldp holdtime 35")
    assert sent(m) == [(35,), (35,)]
    configure(m, "hostname other")
    names = [Ether(frame)[LLDPDUSystemName].system_name for frame in announced(m, 1)]
    assert names == [b"other"]
    sent(m)
    configure(m, "interface eth1", "no lldp transmit")
    assert sent(m)[1] == (0,)  # the neighbours are told
    configure(m, "interface eth1", "lldp transmit")
    m.time(3 * SECOND)
    assert sent(m)[1] == (35,)
    assert len(neighbours(m)) == 1
    configure(m, "no lldp run")
    assert sent(m) == [(0,), (0,)]
    m.time(60 * SECOND)
    assert sent(m) == [(), ()]
    m.send(0, neighbour())
    m.expect_counters(drop_eth_type=1)
    assert "does not run" in m.console("show lldp")
    configure(m, "lldp run")
    m.time(3 * SECOND)
    assert sent(m) == [(35,), (35,)]
    assert neighbours(m) == []


def test_running_configuration(start):
    text = RUN + "lldp timer 5\nlldp holdtime 20\n"
    m = start(CONFIG.replace("interface eth1", " no lldp transmit\n no lldp receive\ninterface eth1") + text)
    shown = m.console("show running-config")
    sent(m)
    assert text in shown and " no lldp transmit\n no lldp receive\n" in shown


# --- beside other parts ---

def test_the_routing_engine_has_its_frames(make):
    """A port that hands LLDP to the engine has no agent of ours; another port has one."""
    m = make(engine_config(more=RUN), ports=3, boot=False)
    m.time(40 * SECOND)
    counts = [len(announced(m, port)) for port in range(3)]
    m.counted()
    engine = [line.split()[1:3] == ["engine", "engine"] for line in m.console("show lldp").splitlines()[3:]]
    assert any(engine) and not all(engine)
    for port in range(3):
        assert (counts[port] == 0) == engine[port]


def test_a_warm_restart(start):
    """The new program runs LLDP too. The harness has no data core here, so its counts tell."""
    m = start(lives=True)
    m.anew()
    m.time(20 * SECOND)
    rows = [line.split() for line in m.console("show lldp").splitlines()[3:]]
    assert [row[:5] for row in rows] == [["eth%d" % port, "on", "on", "0", "1"] for port in range(2)]


def test_a_run_of_the_generator_counts_no_lldp(start):
    """Frames go both ways during the run, and its result has the test frames alone."""
    g = start(generator.script(generator.STREAM + " size 64\n rate 1000pps\n limit 2000 frames\n",
                               generator.GENERATOR + RUN + "lldp timer 1\n"))
    generator.start(g)
    lldp = 0
    for n in range(250):
        g.time(10 * MS)
        frames = g.take_all(0)
        lldp += sum(map(is_lldp, frames))
        back = [frame for frame in frames if not is_lldp(frame)]
        g.send(1, *back, *([neighbour()] if n % 50 == 0 else []))
    g.time(SECOND)
    assert lldp >= 2
    assert "sent 2000 frames" in g.text and "received 2000, lost 0" in g.text, g.text[-1000:]
    g.counted()
    assert [row[0] for row in neighbours(g)] == ["eth1"]
    for port in range(2):
        assert all(map(is_lldp, g.take_all(port)))


def test_a_commit_without_memory_is_refused(start):
    m = start(CONFIG)
    configure(m, "hostname other")  # takes the memory of the configuration mode
    m.refuse("memory", 1, on=True)
    assert "there is not enough memory for LLDP neighbours" in configure(m, "lldp run")[2]
    assert "does not run" in m.console("show lldp")
    m.refuse("memory", 0)
    assert "committed" in configure(m, "lldp run")[2]
    assert sent(m) == [(121,), (121,)]


def test_metrics(start):
    m = start(CONFIG + RUN + "http server\nhttp access 0.0.0.0/0\n")
    m.send(0, neighbour())
    sent(m)
    m.learn(A)
    text = Client(m).get("/metrics")[2].decode()
    assert 'hayate_lldp_neighbors{port="eth0"} 1\n' in text and 'hayate_lldp_neighbors{port="eth1"} 0\n' in text


# --- JSON ---

WEB = "http server\nhttp access 0.0.0.0/0\n"


def page(m):
    m.learn(A)
    status, _, content = Client(m).get("/api/v1/lldp.json")
    assert status == 200
    return json.loads(content)


def test_page(start):
    m = start(CONFIG + RUN + WEB)
    m.send(1, neighbour(ttl=100, name='a "name" \\ \x1b\xff'))
    bare = b"\2\7\7rack 1\4\3\00742\6\2\0\x78\0\0"
    m.send(0, padded(bytes(Ether(src="02:00:00:00:01:02", dst=GROUP, type=0x88cc)) + bare))
    sent(m)
    m.time(10 * SECOND)
    sent(m)
    said = page(m)
    assert (said["running"], said["timer_s"], said["holdtime_s"]) == (True, 30, 121)
    assert [(row["name"], row["transmit"], row["receive"], row["neighbours"], row["received"]) for row in said["ports"]] == [
        ("eth0", "on", "on", 1, 1), ("eth1", "on", "on", 1, 1)]
    first, second = said["neighbours"]
    times = {"left_s": 90, "known_s": 10, "heard_s": 10}
    assert second == {
        "port": "eth1", "source": "02:00:00:00:01:01", "ttl_s": 100, **times, "port_vlan": 10, "frame_size_max": None,
        "chassis_id": "02:00:00:00:01:01", "port_id": "swp1", "port_description": "to hayate",
        "system_name": 'a "name" \\ ..', "system_description": "a switch", "capabilities": ["bridge", "router"],
        "enabled": ["bridge"], "management_addresses": [{"address": "192.0.2.9", "interface": 7}]}
    assert first == {
        "port": "eth0", "source": "02:00:00:00:01:02", "ttl_s": 120, **{**times, "left_s": 110}, "port_vlan": None,
        "frame_size_max": None, "chassis_id": "rack 1", "port_id": "42", "port_description": None,
        "system_name": None, "system_description": None, "capabilities": None, "enabled": None,
        "management_addresses": []}


def test_page_of_the_longest_neighbours(start):
    """Each place of each port has one, with texts that JSON escapes; no field is lost."""
    m = start(CONFIG + RUN + WEB)

    def tlv(kind, content):
        return (kind << 9 | len(content)).to_bytes(2, "big") + content
    quotes = b'"' * 255
    addresses = [tlv(8, bytes([32, 99]) + bytes([who] * 31) + b"\2" + (1 << 31).to_bytes(4, "big") + b"\0") for who in range(8)]
    frames = [bytes(Ether(src="02:00:00:00:02:%02x" % who, dst=GROUP, type=0x88cc)) +
              tlv(1, b"\7" + b"\xff" * 254 + bytes([who])) + tlv(2, b"\7" + quotes) + tlv(3, b"\0\x78") +
              tlv(4, quotes) + tlv(5, quotes) + tlv(6, quotes) + b"".join(addresses[:1]) + tlv(7, b"\xff\xff\xff\xff") +
              b"\0\0" for who in range(8)]
    short = [bytes(Ether(src="02:00:00:00:03:01", dst=GROUP, type=0x88cc)) + tlv(1, b"\7x") + tlv(2, b"\7y") +
             tlv(3, b"\0\x78") + b"".join(addresses) + b"\0\0"]
    for frame in frames + short:
        assert len(frame) <= 1514
        m.send(0 if frame in frames else 1, frame)
        m.time(SECOND)
    sent(m)
    rows = page(m)["neighbours"]
    assert [row["port"] for row in rows] == ["eth0"] * 8 + ["eth1"]
    for who, row in enumerate(rows[:8]):
        assert row["chassis_id"] == "ff:" * 254 + "%02x" % who
        assert {row[name] for name in ("port_id", "port_description", "system_name", "system_description")} == {quotes.decode()}
        assert len(row["capabilities"]) == len(row["enabled"]) == 11 and len(row["management_addresses"]) == 1
    assert [a["address"] for a in rows[8]["management_addresses"]] == [":".join(["%02x" % who] * 31) for who in range(8)]


def test_page_without_lldp(start):
    m = start(CONFIG + WEB)
    assert page(m) == {"running": False, "timer_s": None, "holdtime_s": None, "ports": [], "neighbours": []}


# --- clear ---

def test_clear_neighbours(start):
    """They are forgotten at once; the next frame is that of a new neighbour, which is told at once (9.2.10)."""
    m = start()
    m.send(0, neighbour(1), neighbour(2))
    m.send(1, neighbour(3))
    m.time(10 * SECOND)
    sent(m)
    assert len(neighbours(m)) == 3
    assert m.console("clear lldp neighbors") == ""
    assert neighbours(m) == [] and "lldp_aged" not in m.counted()
    m.time(200 * SECOND)  # no time of theirs ends
    assert "lldp_aged" not in m.counted()
    sent(m)
    m.send(1, neighbour(3))
    assert [row[2] for row in neighbours(m)] == ["swp3"]
    assert len(sent(m)[1]) == 1


def test_clear_counters(start):
    m = start()
    m.send(0, neighbour(1))
    m.send(0, padded(Ether(src=A.mac, dst=GROUP, type=0x88cc) / Raw(bytes(46))))
    sent(m)
    row = m.console("show lldp").splitlines()[3].split()
    assert row[3] == "1" and int(row[4]) > 0 and row[5:7] == ["2", "1"]
    assert m.console("clear lldp counters") == ""
    assert m.console("show lldp").splitlines()[3].split()[3:] == ["1", "0", "0", "0", "0", "0"]
    assert len(neighbours(m)) == 1


def test_clear_without_lldp(start):
    m = start(CONFIG)
    assert "lldp does not run" in m.console("clear lldp neighbors")
    assert "lldp does not run" in m.console("clear lldp counters")
