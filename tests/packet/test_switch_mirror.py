"""Port mirroring (apps/switch/mirror.c): what a session's destination sends, and that nothing else changes."""
import pytest
from machine import *
from test_switch import (H0, H1, H2, H3, SWITCH, VLANS, commit, flooded, frame, learn, partial_udp, switch,  # noqa
                         table, tag)

# eth3 is the destination; the others switch
SESSION = "monitor session 1 destination interface eth3\n"


def source(port, way="", session=1):
    return "monitor session %d source interface eth%d %s\n" % (session, port, way)


def sent(m, **ports):
    """Exactly these frames leave, in this order at each port."""
    for port in range(len(m.outs)):
        assert m.take_all(port) == ports.get("eth%d" % port, []), port


@pytest.mark.parametrize("way, rx, tx", [("rx", 1, 0), ("tx", 0, 1), ("both", 1, 1), ("", 1, 1)])
def test_directions(switch, way, rx, tx):
    m = switch(SESSION + source(0, way), learnt=(H0, H1, H2))
    there, back = frame(H0, H1), frame(H1, H0)
    m.send(0, there)
    sent(m, eth1=[there], eth3=[there] * rx)
    m.send(1, back)
    sent(m, eth0=[back], eth3=[back] * tx)
    m.send(1, frame(H1, H2))
    sent(m, eth2=[frame(H1, H2)])
    m.expect_counters(forwarded=3, switch_mirrored=rx + tx)


def test_sent_and_received_of_one_frame(switch):
    """Both ports are sources: the frame is mirrored twice, as it came and as it left."""
    m = switch(SESSION + source(0, "rx") + source(1, "tx"), learnt=(H0, H1))
    m.send(0, *[frame(H0, H1, fill=n) for n in range(100)])
    frames = [frame(H0, H1, fill=n) for n in range(100)]
    assert m.take_all(1) == frames
    assert sorted(m.take_all(3)) == sorted(frames * 2)
    m.expect_nothing()
    m.expect_counters(forwarded=100, switch_mirrored=200)


def test_tags_as_on_the_wire(switch):
    """Of the source port: what it receives with the tag that came, what it sends with the tag that it sends."""
    config = VLANS.replace("interface eth3\n switchport access vlan 10\n", "")
    m = switch(config + SESSION + source(2), learnt=(H0,))
    raw = tag(frame(H2, H0), 10, priority=5)
    m.send(2, raw)
    sent(m, eth0=[frame(H2, H0)], eth3=[raw])
    m.time(20 * MS)
    m.send(0, frame(H0, H2))
    sent(m, eth2=[tag(frame(H0, H2), 10)], eth3=[tag(frame(H0, H2), 10)])
    m.send(2, tag(frame(H2, H0), 0, priority=3))  # native: VLAN 21, where nobody else is
    sent(m, eth3=[tag(frame(H2, H0), 0, priority=3)])
    m.counted()
    m = switch(config + SESSION + source(0), learnt=(H0,))
    learn(m, H2, vid=10)
    for outs in m.outs:
        outs.clear()
    m.send(2, tag(frame(H2, H0), 10))
    sent(m, eth0=[frame(H2, H0)], eth3=[frame(H2, H0)])
    m.counted()


def test_what_the_switch_drops_was_received(switch):
    m = switch(SESSION + source(0), learnt=(H0, H1))
    for raw, why in ((tag(frame(H0, H1), 9), "drop_switch_vlan"), (frame(H0, H0), "drop_switch_same_port"),
                     (frame(BROADCAST, H1), "drop_eth_src"), (frame(H0, "01:80:c2:00:00:0d"), "drop_switch_reserved")):
        m.send(0, raw)
        sent(m, eth3=[raw])
        m.expect_counters(switch_mirrored=1, **{why: 1})


def test_denied_by_a_list(switch):
    """Received is received; what a list of the output port denies is not sent."""
    deny = "mac access-list M\n deny any any\nip access-list F\n deny ip any any\n"
    m = switch("interface eth0\n mac access-group M in\n" + deny + SESSION + source(0), learnt=(H1,))
    m.send(0, frame(H0, H1))
    sent(m, eth3=[frame(H0, H1)])
    m.expect_counters(drop_acl_in=1, switch_mirrored=1)
    m = switch("interface eth1\n ip access-group F out\n" + deny + SESSION + source(1), learnt=(H0, H1))
    packet = bytes(Ether(src=H0.mac, dst=H1.mac) / IP(src="192.0.2.1", dst="192.0.2.2") / UDP() / Raw(bytes(20)))
    m.send(0, packet)
    m.expect_nothing()
    m.expect_counters(drop_acl_out=1)


@pytest.mark.parametrize("trunk", [False, True])
def test_floods(switch, trunk):
    """A flooded frame is mirrored once for each source that sends it, and shares its buffer."""
    line = "switchport mode trunk\n switchport trunk native vlan none\n"
    m = switch(("interface eth1\n " + line if trunk else "") + SESSION + source(1, "tx") + source(2, "tx"), learnt=(H0,))
    raw = frame(H0, BROADCAST)
    one = tag(raw, 1) if trunk else raw
    m.send(0, raw)
    assert m.take_all(1) == [one] and m.take_all(2) == [raw]
    assert sorted(m.take_all(3)) == sorted([one, raw])
    m.expect_counters(forwarded=1, switch_flooded=1, switch_copies=1, switch_mirrored=2)


def test_the_destination_does_not_switch(switch):
    """It neither takes frames in nor is flooded to, and learns nothing."""
    m = switch(SESSION + source(0, "rx"), learnt=(H0, H1))
    m.send(3, frame(H3, H0))
    m.expect_nothing()
    m.expect_counters(drop_switch_blocked=1)
    m.send(1, frame(H1, BROADCAST))
    sent(m, eth0=[frame(H1, BROADCAST)], eth2=[frame(H1, BROADCAST)])
    m.counted()
    assert all(port != "eth3" for _, port in table(m).values())


def test_a_session_without_destination_or_sources(switch):
    m = switch(source(0), learnt=(H0, H1))
    m.send(0, frame(H0, BROADCAST))
    flooded(m, frame(H0, BROADCAST), (1, 2, 3))
    m.counted()
    m = switch(SESSION, learnt=(H0, H1))
    m.send(0, frame(H0, BROADCAST))
    flooded(m, frame(H0, BROADCAST), (1, 2))
    m.counted()


def test_checksum_left_to_the_port(switch):
    """The mirrored frame has the checksum that the wire would have had."""
    for way in ("rx", "tx"):
        m = switch(SESSION + source(0 if way == "rx" else 1, way), learnt=(H0, H1))
        raw, whole = partial_udp(H1)
        m.send(0, raw, flags="partial 34 6")
        if way == "rx":
            m.expect(1, raw, partial=(34, 6))
        else:
            m.expect(1, whole)
        m.expect(3, whole)
        m.expect_nothing()
        m.counted()


def test_lost(switch):
    """Too long for the destination, or without a buffer; the traffic itself is as without a session."""
    m = switch("interface eth3\n mtu 1000\n" + SESSION + source(0), learnt=(H0, H1))
    m.send(0, frame(H0, H1, 1015))
    sent(m, eth1=[frame(H0, H1, 1015)])
    m.send(0, frame(H0, H1, 1014))
    sent(m, eth1=[frame(H0, H1, 1014)], eth3=[frame(H0, H1, 1014)])
    m.expect_counters(forwarded=2, switch_mirror_lost=1, switch_mirrored=1)
    m.refuse("buffers", 1, on=True)
    m.send(0, frame(H0, H1))
    m.refuse("buffers", 0)
    sent(m, eth1=[frame(H0, H1)])
    m.expect_counters(forwarded=1, switch_mirror_lost=1, originated_drop_no_buffer=1)


def test_two_sessions(switch):
    m = switch("monitor session 1 destination interface eth2\n" + source(0, "rx") +
               "monitor session 4 destination interface eth3\n" + source(1, "rx", session=4), learnt=(H0, H1))
    m.send(0, frame(H0, H1))
    sent(m, eth1=[frame(H0, H1)], eth2=[frame(H0, H1)])
    m.send(1, frame(H1, H0))
    sent(m, eth0=[frame(H1, H0)], eth3=[frame(H1, H0)])
    m.counted()
    assert m.console("show monitor session") == """\
session 1
  source eth0 rx
  destination eth2 up
session 4
  source eth1 rx
  destination eth3 up
"""


def test_commit(switch):
    m = switch(learnt=(H0, H1))
    assert m.console("show monitor session") == "there are no sessions\n"
    said = commit(m, "monitor session 1 source interface eth0", "monitor session 1 destination interface eth3")
    assert "restart" not in said and len(table(m)) == 2
    m.send(0, frame(H0, H1))
    sent(m, eth1=[frame(H0, H1)], eth3=[frame(H0, H1)])
    commit(m, "no monitor session 1 source interface eth0", "monitor session 1 source interface eth0 tx")
    m.send(0, frame(H0, H1))
    sent(m, eth1=[frame(H0, H1)])
    m.send(1, frame(H1, H0))
    sent(m, eth0=[frame(H1, H0)], eth3=[frame(H1, H0)])
    assert "monitor session 1 source interface eth0 tx\nmonitor session 1 destination interface eth3\n" in \
        m.console("show running-config")
    commit(m, "no monitor session 1 destination interface eth3")
    m.send(1, frame(H1, H0))
    sent(m, eth0=[frame(H1, H0)])
    m.counted()


@pytest.mark.parametrize("config, why", [
    (SWITCH + SESSION + source(3), "the destination of a session can be no source"),
    (SWITCH + SESSION + "monitor session 2 destination interface eth3\n", "the destination of two sessions"),
    (SWITCH + SESSION + "monitor session 1 destination interface eth2\n", "has a destination already"),
    (SWITCH + source(0, "rx") + source(0, "tx"), "a source of session 1 already"),
    (SWITCH + source(0, "in"), "expected rx, tx or both"),
    (SWITCH + source(0, session=5), "must be a decimal number from 1 to 4"),
    (SWITCH + source(9), "this machine has 4 ports"),
    (SWITCH + "monitor session 1 destination interface vlan1\n", "only a port can be mirrored"),
    (SWITCH + "monitor session 1 mirror interface eth1\n", "expected source or destination"),
    (SESSION, "the application router does not switch"),
])
def test_refused(make, config, why):
    m = make(config, ports=4)
    assert why in m.text
    m.send(0, frame(H0, BROADCAST))
    m.expect_nothing()
    m.counted()
