"""Storm control of the switch (apps/switch/storm.c): levels by port and class. How several data cores share
a level is in tests/unit/apps/test_storm.c."""
import json

import pytest
from machine import *
from prometheus_client.parser import text_string_to_metric_families
from test_http import Client
from test_switch import H0, H1, H2, frame, switch, table, tag

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
    assert rows == [["port", "class", "action", "level_pps", "dropped"], ["eth2", "multicast", "drop", "1", "2"],
                    ["eth2", "unknown-unicast", "drop", "200", "0"]]
    m.counted()


# --- storm-control action shutdown ---

ACTION = "interface eth0\n storm-control %s level 3\n storm-control action shutdown\n"
RECOVERY = "errdisable recovery cause storm-control\nerrdisable recovery interval 60\n"


def state(m, port="eth0"):
    return {line.split()[0]: line.split()[1] for line in m.console("show switchport").splitlines()[1:]}[port]


def disabled(m):
    """[(port, cause, seconds until it is enabled again)]"""
    rows = [line.split() for line in m.console("show errdisable").splitlines()]
    return [tuple(row) for row in rows[rows.index(["port", "cause", "recovery_s"]) + 1:]]


def commit(m, *lines):
    for line in ("configure", *lines, "commit", "end"):
        m.key(line + "\r")
        m.time(20 * MS)


def storm(m, word="broadcast", told=1):
    """A burst of ten in a second; then the second ends, and the port is disabled."""
    dst, counter = CLASSES[word]
    next_second(m)
    assert state(m) == "forwarding"
    burst(m, 0, dst, 10)
    passed(m, 3, dst=dst)
    next_second(m)
    assert state(m) == "err-disabled"
    assert m.text.count("eth0: disabled by storm control: more than 3 %s frames in a second" %
                        word.replace("-", " ")) == told
    m.expect_counters(forwarded=3, switch_flooded=3, switch_copies=6, **{counter: 7},
                      **({"switch_learned": 1} if told > 1 else {}))  # it was forgotten


@pytest.mark.parametrize("word", CLASSES)
def test_shutdown(switch, word):
    """Its stations are forgotten; neither its frames pass nor those to it."""
    m = switch(ACTION % word, learnt=(H0, H1))
    storm(m, word)
    assert set(table(m)) == {(1, H1.mac)}
    burst(m, 0, H1, 4)
    m.expect_nothing()
    m.expect_counters(drop_switch_blocked=4)
    burst(m, 1, BROADCAST, 2, src=H1)
    passed(m, 2, (2, 3), src=H1)
    m.expect_counters(forwarded=2, switch_flooded=2, switch_copies=2)
    m.time(1000 * SECOND)  # without `errdisable recovery` it lasts
    assert disabled(m) == [("eth0", "storm-control", "-")]
    assert m.text.count("disabled by storm control") == 1
    assert state(m, "eth1") == "forwarding"
    m.counted()


def test_the_level_itself_is_no_storm(switch):
    m = switch(ACTION % "broadcast", learnt=(H0,))
    for _ in range(4):
        next_second(m)
        burst(m, 0, BROADCAST, 3)
        passed(m, 3)
    next_second(m)
    assert state(m) == "forwarding" and disabled(m) == []
    m.expect_counters(forwarded=12, switch_flooded=12, switch_copies=24)


def test_shutdown_recovers(switch):
    m = switch(ACTION % "broadcast" + RECOVERY, learnt=(H0,))
    for times in (1, 2):
        storm(m, told=times)
        (port, cause, left), = disabled(m)
        assert (port, cause) == ("eth0", "storm-control") and 57 <= int(left) <= 60
        m.time(57 * SECOND)
        assert state(m) == "err-disabled"
        m.time(4 * SECOND)
        assert state(m) == "forwarding" and disabled(m) == []
        assert m.text.count("eth0: enabled again after storm control") == times
    m.counted()


@pytest.mark.parametrize("lines", [["interface eth0", "storm-control action drop"],
                                   ["interface eth0", "no storm-control action"],
                                   ["interface eth0", "shutdown"]])
def test_shutdown_taken_away(switch, lines):
    m = switch(ACTION % "broadcast", learnt=(H0,))
    storm(m)
    commit(m, *lines)
    m.time(SECOND)
    if "shutdown" in lines:
        assert state(m) == "down" and disabled(m) == []
        commit(m, "interface eth0", "no shutdown")
        m.time(SECOND)
    assert state(m) == "forwarding" and disabled(m) == []
    burst(m, 0, BROADCAST, 3)
    passed(m, 3)
    m.time(3 * SECOND)
    assert state(m) == "forwarding"
    m.counted()


def test_drops_of_before_do_not_count(switch):
    m = switch(LEVELS % "broadcast", learnt=(H0,))
    next_second(m)
    burst(m, 0, BROADCAST, 10)
    passed(m, 3)
    commit(m, "interface eth0", "storm-control action shutdown")
    m.time(3 * SECOND)
    assert state(m) == "forwarding"
    m.counted()
    storm(m)


def test_link_does_not_enable_a_port(switch):
    m = switch(ACTION % "broadcast", learnt=(H0,))
    storm(m)
    m.link(0, False)
    m.time(SECOND)
    m.link(0, True)
    m.time(SECOND)
    assert state(m) == "err-disabled"
    burst(m, 0, BROADCAST, 3)
    m.expect_nothing()
    m.expect_counters(drop_switch_blocked=3)


def test_disabled_across_a_restart_of_the_ports(switch):
    """The interval goes on. (A restart of the control program is in tests/system/test_switch.py.)"""
    m = switch(ACTION % "broadcast" + RECOVERY, learnt=(H0,))
    storm(m)
    m.time(20 * SECOND)
    commit(m, "interface eth1", "shutdown")
    m.time(SECOND)
    assert state(m) == "err-disabled"
    (_, _, left), = disabled(m)
    assert 30 < int(left) <= 40
    m.time(int(left) * SECOND + SECOND)
    assert state(m) == "forwarding"
    m.counted()


def test_shutdown_and_the_spanning_tree(make):
    """The protocol sees a port without a link; when the port is enabled, it waits as for any other."""
    m = make("application switch\n" + ACTION % "broadcast" + RECOVERY, ports=4)

    def tree():
        rows = [line.split() for line in m.console("show spanning-tree").splitlines() if line.startswith("eth")]
        return {row[0]: tuple(row[1:3]) for row in rows}["eth0"]

    def quiet():
        for port in range(4):
            m.take_all(port)  # BPDUs
    m.time(5 * SECOND)
    assert tree() == ("designated", "forwarding")
    next_second(m)
    burst(m, 0, BROADCAST, 10)
    next_second(m)
    assert tree() == ("disabled", "discarding") and state(m) == "err-disabled"
    quiet()
    m.time(10 * SECOND)
    assert m.take_all(0) == []
    m.time(50 * SECOND)
    assert state(m) in ("blocking", "forwarding")
    m.time(5 * SECOND)
    assert tree() == ("designated", "forwarding") and state(m) == "forwarding"
    quiet()
    m.counted()


def test_shutdown_of_a_port_channel(make):
    """Its ports are disabled together, whichever of them the frames come by."""
    m = make("application switch\nspanning-tree mode none\ninterface port-channel1\n storm-control broadcast level 3\n"
             " storm-control action shutdown\ninterface eth1\n channel-group 1 mode on\n"
             "interface eth2\n channel-group 1 mode on\n", ports=4)
    m.time(2 * SECOND)
    assert state(m, "port-channel1") == "forwarding"
    m.send(1, *[frame(H1, BROADCAST, fill=k) for k in range(3)])
    m.send(2, *[frame(H1, BROADCAST, fill=k) for k in range(3)])
    next_second(m)
    assert state(m, "port-channel1") == "err-disabled"
    assert disabled(m) == [("port-channel1", "storm-control", "-")]
    assert "port-channel1: disabled by storm control" in m.text
    for port in (0, 3):
        m.take_all(port)
    m.counted()
    for port in (1, 2):
        m.send(port, frame(H1, BROADCAST))
    m.expect_nothing()
    m.expect_counters(drop_switch_blocked=2)


def test_shutdown_in_metrics(switch):
    m = switch("http server\nhttp access 0.0.0.0/0\ninterface vlan1\n ip address 192.0.2.1/24\n" + ACTION % "broadcast")
    next_second(m)
    burst(m, 0, BROADCAST, 10)
    next_second(m)
    for port in range(1, 4):
        m.take_all(port)
    host = Station(3, "192.0.2.9", "02:aa:00:00:00:09")
    m.send(3, arp_request(host, "192.0.2.1"))
    m.take_all(3)
    client = Client(m, src=host, router=Station(3, "192.0.2.1", ROUTER[0].mac))
    status, _, content = client.get("/metrics")
    assert status == 200
    said = {(sample.labels["port"], sample.labels["cause"]): sample.value
            for family in text_string_to_metric_families(content.decode())
            for sample in family.samples if sample.name == "hayate_switch_errdisabled"}
    assert said == {("eth%d" % port, cause): port == 0 and cause == "storm-control"
                    for port in range(4) for cause in ("bpduguard", "storm-control")}
    ports = json.loads(client.get("/api/v1/switch.json")[2])["ports"]
    assert [row["state"] for row in ports] == ["err-disabled"] + ["forwarding"] * 3
    client.close()
    for port in range(4):
        m.take_all(port)
    m.counted()


def test_needs_the_application(make):
    m = make("interface eth0\n storm-control broadcast level 5\n")
    assert "the application router does not switch" in m.text
