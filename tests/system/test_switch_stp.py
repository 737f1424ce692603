"""The spanning tree between bridges that others wrote: a triangle of Hayate and two bridges of Linux (STP), and
of Hayate and two of Open vSwitch (RSTP); two Hayates with two cables between them. A broadcast arrives once, also
after links have been pulled and put back. The times to converge are printed, not judged."""
import contextlib
import os
import sys
import time

import pytest
from conftest import eventually
from launcher import netlab
from openvswitch import OpenVSwitch

HERE = os.path.dirname(os.path.realpath(__file__))
SWITCH = ("application switch\nspanning-tree forward-time 4\nspanning-tree max-age 6\n"
          "interface eth2\n spanning-tree portfast\n")
ROOT = "spanning-tree priority 4096\n"
CONVERGES_S = 150
FRAMES = 20

# Broadcasts of an EtherType for experiments, with a number each (RFC 9542 calls it local, 802 9.2.3).
SENDER = """import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(("eth0", 0))
for n in range(%d):
    s.send(b"\\xff" * 6 + s.getsockname()[4] + b"\\x88\\xb5" + bytes([int(sys.argv[1]), n]) + bytes(46))
""" % FRAMES
# Counts them until all have come and one second has passed without any; prints how many came how often.
LISTENER = """import collections, socket, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88b5)); s.bind(("eth0", 0x88b5))
print("ready", flush=True)
found, end = collections.Counter(), time.monotonic() + 60
while time.monotonic() < end and sum(found.values()) < 5000:
    s.settimeout(1 if len(found) == %d else max(end - time.monotonic(), 0.01))
    try:
        raw = s.recv(2048)
    except TimeoutError:
        break
    if raw[14] == int(sys.argv[1]):
        found[raw[15]] += 1
print(len(found), max(found.values(), default=0), flush=True)
""" % FRAMES


def arrives_once(one, other, serial=[0]):
    """Each broadcast of one host reaches the other exactly once."""
    serial[0] = (serial[0] + 1) % 256
    listener = other.popen(["/usr/bin/python3", "-c", LISTENER, str(serial[0])], stdout=-1, text=True)
    assert listener.stdout.readline() == "ready\n"
    one.run(["/usr/bin/python3", "-c", SENDER, str(serial[0])], check=True)
    assert listener.stdout.readline() == "%d 1\n" % FRAMES
    listener.wait(10)


def converges(what, one, other):
    """Waits until the hosts reach each other; prints how long that took, to half a second or so."""
    begun = time.monotonic()
    while not one.ping(other.address, wait_s=1)[0]:
        assert time.monotonic() - begun < CONVERGES_S, what
    print("%s: %.1f s" % (what, time.monotonic() - begun))


def tree(router):
    """{port: (role, state)}"""
    rows = [line.split() for line in router.command("show spanning-tree").splitlines() if line.startswith("eth")]
    return {row[0]: (row[1], row[2]) for row in rows}


def settled(router):
    """No port is on its way to another state."""
    return all(state == ("discarding" if role in ("alternate", "backup", "disabled") else "forwarding")
               for role, state in tree(router).values())


def attach(stack, bridge, name, address, enslave):
    """A host at a bridge in another namespace, by veth."""
    host = stack.enter_context(netlab.Host(name))
    host.ip("link", "delete", "eth0")
    bridge.ip("link", "add", "to" + name, "type", "veth", "peer", "name", "peer" + name)
    bridge.ip("link", "set", "peer" + name, "netns", str(host.holder.pid), "name", "eth0")
    host.address = address
    host.configure(address + "/24", "192.0.2.254")
    bridge.ip("link", "set", "to" + name, "up")
    enslave("to" + name)
    return host


class LinuxBridge:
    """STP of the kernel."""

    def __init__(self, stack, name, work):
        self.host = stack.enter_context(netlab.Host(name))
        self.host.ip("address", "flush", "dev", "eth0")
        self.host.ip("link", "add", "br0", "type", "bridge", "stp_state", "1", "forward_delay", "400", "max_age", "600")

    def add(self, port):
        self.host.ip("link", "set", port, "master", "br0")
        self.host.ip("link", "set", port, "up")

    def start(self):
        self.host.ip("link", "set", "br0", "up")


class OvsBridge:
    """RSTP of Open vSwitch."""

    def __init__(self, stack, name, work):
        self.host = stack.enter_context(netlab.Host(name))
        self.host.ip("address", "flush", "dev", "eth0")
        self.ovs = OpenVSwitch(stack, self.host, work / name)
        self.ovs.set("set", "bridge", "br0", "rstp_enable=true", "other_config:rstp-forward-delay=4",
                     "other_config:rstp-max-age=6")

    def add(self, port):
        self.host.ip("link", "set", port, "up")
        self.ovs.set("add-port", "br0", port)

    def start(self):
        pass


@pytest.mark.parametrize("kind", [LinuxBridge, OvsBridge])
def test_triangle(kind, make_router, tmp_path):
    """Hayate is the root; then the link to one bridge fails, so that its frames take the long way round, and
    comes back; then the link between the two bridges fails."""
    with contextlib.ExitStack() as stack:
        one, other = (kind(stack, name, tmp_path) for name in ("bridge1", "bridge2"))
        here = stack.enter_context(netlab.Host("here"))
        here.address = "192.0.2.1"
        here.configure("192.0.2.1/24", "192.0.2.254")
        one.host.ip("link", "add", "between", "type", "veth", "peer", "name", "across")
        one.host.ip("link", "set", "across", "netns", str(other.host.holder.pid), "name", "between")
        far = attach(stack, other.host, "far", "192.0.2.2", other.add)
        for bridge in (one, other):
            bridge.add("eth0")
            bridge.add("between")
            bridge.start()
        router = make_router(SWITCH + ROOT, app="switch", ports=[bridge.port for bridge in (one.host, other.host, here)],
                             wait=False)
        router.wait_ready()
        name = kind.__name__
        converges("%s: from the start" % name, here, far)
        assert eventually(lambda: settled(router), CONVERGES_S)
        assert "this switch" in router.command("show spanning-tree")
        arrives_once(here, far)
        other.host.ip("link", "set", "eth0", "down")
        converges("%s: the link to the far bridge is down" % name, here, far)
        arrives_once(here, far)
        arrives_once(far, here)
        other.host.ip("link", "set", "eth0", "up")
        assert eventually(lambda: tree(router)["eth1"] == ("designated", "forwarding"), CONVERGES_S)
        converges("%s: it is up again" % name, here, far)
        arrives_once(here, far)
        one.host.ip("link", "set", "between", "down")
        converges("%s: the link between the bridges is down" % name, here, far)
        arrives_once(far, here)


def test_two_hayates_and_two_cables(make_router):
    """One cable blocks. The root's control program fails, and nothing changes. When the other cable is pulled, or
    passes no frames, the first one takes over."""
    with contextlib.ExitStack() as stack:
        a, b = (stack.enter_context(netlab.Host(name)) for name in ("a", "b"))
        a.address, b.address = "192.0.2.1", "192.0.2.2"
        wires = stack.enter_context(netlab.Host("wires"))
        for host in (a, b):
            host.configure(host.address + "/24", "192.0.2.254")
        for tap in ("l0", "l1", "r0", "r1"):
            wires.ip("tuntap", "add", tap, "mode", "tap")
            wires.ip("link", "set", tap, "up")
        place = wires.port[:wires.port.rindex("/") + 1]
        left = make_router(SWITCH + ROOT, "--append", "test=1", app="switch", cpus=2,
                           ports=[place + "l0", place + "l1", a.port], wait=False)
        right = make_router(SWITCH, "--mac", "52:54:00:68:7a:00", app="switch",
                            ports=[place + "r0", place + "r1", b.port], wait=False)
        left.faults_expected = True
        for router in (left, right):
            router.wait_ready()
        cables = []
        for ends in (("l0", "r0"), ("l1", "r1")):
            cable = wires.popen([sys.executable, HERE + "/cable.py", *ends], stdout=-1, text=True)
            assert cable.stdout.readline() == "ready\n"
            cables.append(cable)
        converges("two Hayates: from the start", a, b)
        blocked = {"eth0": ("root", "forwarding"), "eth1": ("alternate", "discarding"),
                   "eth2": ("designated", "forwarding")}
        assert eventually(lambda: tree(right) == blocked, CONVERGES_S)
        arrives_once(a, b)
        arrives_once(b, a)
        left.send("test fault ud core 0")
        left.expect("control program: goes on after", 120)
        left.wait_prompt()
        assert set(tree(left).values()) == {("designated", "forwarding")} and tree(right) == blocked
        arrives_once(a, b)
        right.set_link(0, False)
        converges("two Hayates: the link of the root port is down", a, b)
        assert tree(right)["eth1"] == ("root", "forwarding")
        arrives_once(b, a)
        right.set_link(0, True)
        assert eventually(lambda: tree(right) == blocked, CONVERGES_S)
        arrives_once(a, b)
        wires.ip("link", "set", "r0", "down")  # no frame passes, but both links stay up
        converges("two Hayates: a cable is silent", a, b)
        assert eventually(lambda: tree(right)["eth1"] == ("root", "forwarding"), CONVERGES_S)
        arrives_once(b, a)
