"""Bad configurations: file, line and reason; nothing is applied, the console comes up (docs/
configuration.md). The unit tests cover the dialect itself."""
import re

import pytest
from machine import *

# text -> (line of the error, a word of its reason, machine options)
BAD = {
    "unknown statement": (CONFIG + "frobnicate\n", 7, "unknown statement", {}),
    "bad address": (CONFIG.replace("198.51.100.1/24", "198.51.100.300/24"), 6, "expected", {}),
    "next hop that is no host": (CONFIG + "ip route 10.0.0.0/8 224.0.0.1\n", 7, "of a host", {}),
    "port that the machine has not": (CONFIG + "interface eth5\n ip address 10.0.0.1/8\n", 7,
                                      "this machine has 2 ports", {}),
    "MTU that the device has not": (CONFIG + " mtu 9000\n", 7, "takes at most 1500",
                                    {"mtu_max": 1500}),
    "overlapping subnets": (CONFIG + "interface eth2\n ip address 192.0.2.129/25\n", 8, "overlaps",
                            {"ports": 3}),
    "IPv6 on a device of less than 1280 bytes": (CONFIG + " ipv6 enable\n", 7,
                                                 "needs an MTU of 1280", {"mtu_max": 1000}),
    "IPv6 next hop off its link": (CONFIG + "ipv6 route ::/0 2001:db8::1 eth0\n", 7, "next hop", {}),
    "behind a million lines": (CONFIG + "! comment\n" * 1000000 + "frobnicate", 1000007,
                               "unknown statement", {}),
    "a million bad lines": ("frobnicate\n" * 1000000, 1, "unknown statement", {}),
    "a line of a megabyte": (CONFIG + "a" * (1 << 20), 7, "characters; at most 255", {}),
    "zeroes": (CONFIG.encode() + bytes(1 << 20), 7, "1048576 characters", {}),
    "UTF-8": (CONFIG.encode() + "hostname café\n".encode(), 7, "plain ASCII", {}),
    "bytes": (CONFIG.encode() + b"hostname \xff\xfe\n", 7, "plain ASCII", {}),
}


@pytest.mark.parametrize("text,line,reason,options", BAD.values(), ids=BAD.keys())
def test_nothing_is_applied(make, text, line, reason, options):
    m = make(text, boot=False, **options)
    m.time(10 * SECOND)
    m.expect_nothing()  # no address, so nothing to announce
    assert re.search(r"^\S+:%d: .*%s" % (line, reason), m.text, re.M), m.text
    assert "nothing of the configuration is applied" in m.text
    assert m.text.endswith("hayate# ")
    m.send(0, arp_request(A, ROUTER[0].ip), ether(A, ROUTER[0]) / udp(A, B))
    m.expect_nothing()
    m.expect_counters(drop_port_down=2)
    assert "no address" in m.console("show interfaces")
    assert m.console("show arp").count("\n") == 1


def test_name_of_the_file(make):
    m = make("nonsense\n", boot=False, options="config=site.conf")
    assert "site.conf:1: " in m.text


def test_no_configuration(make):
    m = make(None, boot=False)
    m.time(10 * SECOND)
    m.expect_nothing()
    assert "no configuration was given: all interfaces are down" in m.text
    m.send(0, arp_request(A, ROUTER[0].ip))
    m.expect_counters(drop_port_down=1)


def test_no_memory_for_the_tables(make):
    """The failure is reported, nothing is received or sent, and the console works."""
    m = make(memory=1252, boot=False)
    m.time(10 * SECOND)
    assert "not enough memory for the tables (forwarding): nothing is forwarded" in m.text
    m.send(0, arp_request(A, ROUTER[0].ip), ether(A, ROUTER[0]) / udp(A, B))
    m.expect_nothing()
    m.expect_counters(drop_port_down=2)
    m.link(0, False)
    assert m.console("show ip route") == "no table\n"
    assert m.console("show arp").count("\n") == 1
    assert m.console("clear arp") == ""
    assert "no route" in m.console("ping 192.0.2.2")


def test_restart_applies_the_same_again(m):
    m.command("restart")
    m.time(3 * SECOND)
    m.take_all(0)
    m.take_all(1)
    m.counted()
    m.learn(A, B)
    m.route(udp(A, B))
    m.expect_counters(forwarded=1)
