"""XDP programs on ports of the switch (docs/xdp.md, docs/switch.md): each result, and what the switch sees of a
frame. What programs can do is tested on a router, in test_xdp.py."""
import pytest
from machine import *
from test_switch import H0, H1, H2, SWITCH, learn, table, tag
from test_xdp import counts, module, program

BLOCKS = {0: " switchport access vlan 10\n", 1: " switchport access vlan 10\n", 2: " switchport access vlan 20\n",
          3: " switchport mode trunk\n switchport trunk native vlan none\n"}


@pytest.fixture
def boot():
    """boot(objects by port, …) starts a switch with a program on each of these ports."""
    machines = []

    def start(programs, learnt=(H0, H1), more=""):
        config = SWITCH + "".join("interface eth%d\n%s" % (port, block) + (
            " xdp %s\n" % programs[port] if port in programs else "") for port, block in BLOCKS.items()) + more
        machines.append(Machine(module(config, **{name: program(name) for name in programs.values()}), ports=4))
        m = machines[-1]
        for host in learnt:
            learn(m, host)
        m.counted()
        return m
    yield start
    for m in machines:
        m.expect_nothing()
        m.close()


def packet(src, dst):
    return padded(Ether(src=getattr(src, "mac", src), dst=getattr(dst, "mac", dst)) / udp(A, B))


def test_drop(boot):
    """The switch does not see the frame: nothing is forwarded or learned."""
    m = boot({0: "drop"}, learnt=(H1,))
    m.send(0, packet(H0, H1), packet(H0, BROADCAST))
    m.expect_nothing()
    m.expect_counters(drop_xdp=2)
    m.time(20 * MS)
    assert set(table(m)) == {(10, H1.mac)}
    m.send(1, packet(H1, H0))  # the program is of the other port, and of received frames
    assert m.take_all(0) == [packet(H1, H0)] and m.take_all(3) == [tag(packet(H1, H0), 10)]
    m.counted()


def test_pass(boot):
    m = boot({0: "pass"})
    m.send(0, packet(H0, H1))
    m.expect(1, packet(H0, H1))
    m.send(0, packet(H0, BROADCAST))
    m.expect(1, packet(H0, BROADCAST))
    m.expect(3, tag(packet(H0, BROADCAST), 10))
    m.expect_counters(forwarded=2, switch_flooded=1, switch_copies=1)
    assert counts(m)[0][2]["pass"] >= 2


def test_tx(boot):
    """Back by the port that received it, whatever its VLAN; the source is not learned."""
    m = boot({3: "tx"})
    raw = tag(packet(H2, H1), 77)
    m.send(3, raw)
    m.expect(3, raw[6:12] + raw[:6] + raw[12:])
    m.expect_counters(forwarded=1, xdp_sent=1)
    m.time(20 * MS)
    assert H2.mac not in {mac for _, mac in table(m)}


def test_redirect(boot):
    """By the named port as it is, past VLANs and lists; to an interface of a VLAN of the switch not at all."""
    m = boot({0: "redirect"}, more="interface vlan10\n ip address 192.0.2.1/24\n")
    m.send(0, packet(H0, H1))  # an empty map: XDP_PASS
    m.expect(1, packet(H0, H1))
    assert m.console("xdp map ports set key 0 value 3") == ""  # eth2, of VLAN 20
    m.send(0, packet(H0, H1))
    m.expect(2, packet(H0, H1))
    m.expect_counters(forwarded=2, xdp_sent=1)
    m.link(2, False)
    m.time(20 * MS)
    m.send(0, packet(H0, H1))
    m.expect_counters(drop_xdp_redirect=1)


def test_a_mirrored_port(boot):
    """Sessions mirror what the switch sees: behind programs."""
    m = boot({0: "drop"}, more="monitor session 1 source interface eth0\n"
                               "monitor session 1 destination interface eth3\n")
    m.send(0, packet(H0, H1))
    m.expect_nothing()
    m.expect_counters(drop_xdp=1)
