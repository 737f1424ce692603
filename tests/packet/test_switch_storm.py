"""Storm control of the switch (apps/switch/storm.c): levels by port and class. How several data cores share
a level is in tests/unit/apps/test_storm.c."""
import pytest
from machine import *
from test_switch import H0, H1, H2, H3, Host, frame, learn, switch, table, tag

GROUP = "01:00:5e:01:02:03"
CLASSES = {"broadcast": (BROADCAST, "drop_switch_storm_broadcast"),
           "multicast": (GROUP, "drop_switch_storm_multicast"),
           "unknown-unicast": ("02:00:00:00:ee:ee", "drop_switch_storm_unicast")}
LEVELS = "interface eth0\n storm-control %s level 3\n"


def next_second(m):
    """Lets the second in which frames are counted end."""
    m.time(SECOND)


def burst(m, port, dst, n, src=H0):
    m.send(port, *[frame(src, dst, fill=k) for k in range(n)])


def passed(m, n, ports=(1, 2, 3), dst=BROADCAST, src=H0):
    """The first n frames of a burst leave by these ports, and nothing else does."""
    for port in ports:
        assert m.take_all(port) == [frame(src, dst, fill=k) for k in range(n)]
    m.expect_nothing()


@pytest.mark.parametrize("word", CLASSES)
def test_level(switch, word):
    """Of ten frames in a second three are flooded; the next second begins anew."""
    dst, counter = CLASSES[word]
    m = switch(LEVELS % word, learnt=(H0, H1))
    for _ in range(2):
        next_second(m)
        burst(m, 0, dst, 10)
        passed(m, 3, dst=dst)
        m.expect_counters(forwarded=3, switch_flooded=3, switch_copies=6, **{counter: 7})
        burst(m, 0, dst, 2)  # of the same second
        m.expect_counters(**{counter: 2})


@pytest.mark.parametrize("word", CLASSES)
def test_other_classes_ports_and_known_stations_are_free(switch, word):
    m = switch(LEVELS % word, learnt=(H0, H1))
    next_second(m)
    for other, (dst, _) in CLASSES.items():
        if other != word:
            burst(m, 0, dst, 10)
            passed(m, 10, dst=dst)
    burst(m, 0, H1, 10)
    passed(m, 10, (1,), dst=H1)
    dst = CLASSES[word][0]
    burst(m, 1, dst, 10, src=H1)
    passed(m, 10, (0, 2, 3), dst=dst, src=H1)
    m.counted()


def test_each_class_has_its_own_level(switch):
    m = switch("interface eth0\n storm-control broadcast level 2\n storm-control multicast level 4\n",
               learnt=(H0,))
    next_second(m)
    burst(m, 0, BROADCAST, 5)
    passed(m, 2)
    burst(m, 0, GROUP, 5)
    passed(m, 4, dst=GROUP)
    m.expect_counters(forwarded=6, switch_flooded=6, switch_copies=12, drop_switch_storm_broadcast=3,
                      drop_switch_storm_multicast=1)


def test_all_vlans_of_a_trunk_share_the_level(switch):
    m = switch("interface eth0\n switchport mode trunk\n storm-control broadcast level 3\n"
               "interface eth1\n switchport access vlan 7\n", learnt=(H0,))
    next_second(m)
    for _ in range(2):
        m.send(0, frame(H0, BROADCAST), tag(frame(H0, BROADCAST), 7))
    assert len(m.take_all(1)) == 1 and len(m.take_all(2)) == len(m.take_all(3)) == 2
    m.time(20 * MS)
    m.expect_counters(forwarded=3, switch_flooded=3, switch_copies=2, drop_switch_storm_broadcast=1,
                      switch_learned=1)


def test_the_control_core_is_protected_too(switch):
    """ARP for the machine's own address is a broadcast: beyond the level the machine does not see it."""
    m = switch("interface vlan1\n ip address 192.0.2.1/24\ninterface eth0\n storm-control broadcast level 2\n")
    next_second(m)
    m.send(0, *[padded(arp_request(A, "192.0.2.1"))] * 5)
    assert sum(Ether(raw).type == 0x0806 and Ether(raw)[ARP].op == 2 for raw in m.take_all(0)) == 2
    for port in (1, 2, 3):
        m.take_all(port)
    assert m.counted()["drop_switch_storm_broadcast"] == 3


def test_a_change_needs_no_restart(switch):
    m = switch(LEVELS % "broadcast", learnt=(H0, H1))
    before = table(m)
    for line in ("configure", "interface eth0", "storm-control broadcast level 5", "commit"):
        m.key(line + "\r")
        m.time(20 * MS)
    assert table(m) == before
    next_second(m)
    burst(m, 0, BROADCAST, 10)
    passed(m, 5)
    for line in ("interface eth0", "no storm-control broadcast level", "commit", "end"):
        m.key(line + "\r")
        m.time(20 * MS)
    burst(m, 0, BROADCAST, 10)
    passed(m, 10)
    assert table(m) == before
    m.expect_counters(forwarded=15, switch_flooded=15, switch_copies=30, drop_switch_storm_broadcast=5)


def test_show(switch):
    m = switch("interface eth2\n storm-control multicast level 1\n storm-control unknown-unicast level 200\n")
    next_second(m)
    burst(m, 2, GROUP, 3, src=H2)
    passed(m, 1, (0, 1, 3), dst=GROUP, src=H2)
    rows = [line.split() for line in m.console("show storm-control").splitlines()]
    assert rows == [["port", "class", "level_pps", "dropped"], ["eth2", "multicast", "1", "2"],
                    ["eth2", "unknown-unicast", "200", "0"]]
    m.counted()


def test_needs_the_application(make):
    m = make("interface eth0\n storm-control broadcast level 5\n")
    assert "the application router does not switch" in m.text
