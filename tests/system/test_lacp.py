"""Port channels between the machine and Open vSwitch, whose LACP nobody here wrote: the bond comes up, flows use
all links, a link is pulled and put back while traffic goes on, a partner without LACP gets one link."""
import contextlib
import re
import subprocess

import pytest
from conftest import eventually, pings, reaches
from launcher import netlab
from openvswitch import OpenVSwitch

CHANNEL = "interface eth%d\n channel-group 1 mode active\n lacp rate fast\n"
SWITCH = "application switch\ninterface port-channel1\n"
ROUTER = "interface port-channel1\n ip address 192.0.2.1/24\ninterface eth0\n ip address 198.51.100.1/24\n"
LEFT, PEER = {"switch": "192.0.2.3", "router": "198.51.100.2"}, "192.0.2.2"

UDP_SENDER = """
import socket, sys
for port in range(20000, 20064):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", port))
    for _ in range(4):
        s.sendto(bytes(100), (sys.argv[1], 9))
    s.close()
"""


def in_use(router):
    """{port: letter} of `show etherchannel summary`."""
    return dict(re.findall(r"(eth\d+)\((\w)\)", router.command("show etherchannel summary")))


class Lab:
    def __init__(self, stack, make_router, app, links, tmp_path):
        self.left = stack.enter_context(netlab.Host("left"))
        self.peer = stack.enter_context(netlab.Host("peer"))
        self.devices = ["eth%d" % n for n in range(links)]
        for device in self.devices[1:]:
            self.peer.ip("tuntap", "add", "dev", device, "mode", "tap")
        texts = [self.left.port] + [self.peer.port.replace("/eth0", "/" + device) for device in self.devices]
        self.left.configure(LEFT[app] + "/24", "198.51.100.1" if app == "router" else "192.0.2.1")
        for device in self.devices:
            self.peer.ip("link", "set", device, "up")
        config = {"switch": SWITCH, "router": ROUTER}[app] + "".join(CHANNEL % (n + 1) for n in range(links))
        self.router = make_router(config, app=app, ports=texts)
        self.left.wait_for_link()
        for device in self.devices:
            self.peer.wait_for_link(device)
        self.stack, self.work = stack, tmp_path / "ovs"
        self.all = {"eth%d" % (n + 1): "P" for n in range(links)}

    def openvswitch(self, **how):
        ovs = OpenVSwitch(self.stack, self.peer, self.work)
        ovs.bond(self.devices, **how)
        ovs.address(PEER + "/24")
        self.peer.ip("route", "replace", "default", "via", "192.0.2.1")
        return ovs

    def counts(self, which="tx_pkts"):
        """Frames that the machine has sent (tx_pkts) or received (rx_pkts), by port of the bundle."""
        counts = self.router.interfaces()
        return {name: counts[name][which] for name in self.all}

    def uses_all(self, frames, *which):
        """Waits until each link has carried so many more frames, in these directions."""
        before = {way: self.counts(way) for way in which}
        eventually(lambda: all(self.counts(way)[name] > before[way][name] + frames for way in which for name in self.all),
                   60, "flows use all links")


@pytest.fixture
def lacp_hosts(make_hosts):
    """Ends them after the machine, whose accounts are compared with their taps' counters."""
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def make_lacp(lacp_hosts, make_router, tmp_path):
    return lambda app, links=2: Lab(lacp_hosts, make_router, app, links, tmp_path)


def bundled(lab, ovs):
    eventually(lambda: in_use(lab.router) == lab.all, 60, "all ports are in use")
    eventually(lambda: set(ovs.lacp().values()) == {"current attached"}, 60, "Open vSwitch agrees")
    # the spanning tree takes a silent port for an edge after three seconds
    eventually(lambda: reaches(lab.left, PEER), 60, "traffic")


@pytest.mark.parametrize("app,links", [("switch", 2), ("switch", 3), ("router", 2)])
def test_bond(make_lacp, app, links):
    lab = make_lacp(app, links)
    ovs = lab.openvswitch()
    bundled(lab, ovs)
    pings(lab.left, PEER)
    pings(lab.peer, LEFT[app])
    before = lab.counts()
    lab.left.run(["/usr/bin/python3", "-c", UDP_SENDER, PEER], check=True)
    eventually(lambda: all(lab.counts()[name] > before[name] + 10 for name in lab.all), 30, "flows use all links")
    assert "no partner" not in lab.router.command("show lacp neighbor")

    # a link is pulled: traffic goes on; it is put back
    lab.router.set_link(1, False)
    eventually(lambda: in_use(lab.router)["eth1"] == "D", 30, "eth1 is down")
    eventually(lambda: reaches(lab.left, PEER), 30, "traffic by the other links")
    eventually(lambda: reaches(lab.peer, LEFT[app]), 30, "and back")
    lab.router.set_link(1, True)
    bundled(lab, ovs)
    pings(lab.left, PEER)


STREAMS = 16
RATE = "2M"  # of a stream: greedy streams would lose so many segments that some of them starve for a minute


def streams_received(host):
    """{port of the sender: bytes} of the connections of the host's iperf3; the connection of its own messages has
    few bytes."""
    said = host.run(["ss", "-HtinO", "state", "established", "sport = :5201"], check=True).stdout
    found = re.findall(r":5201\s+\S+:(\d+)\s.*bytes_received:(\d+)", said)
    return {port: int(received) for port, received in found if int(received) > 10000}


def test_tcp_streams(make_lacp):
    """The streams of iperf3, through the router, use both links both ways. Each goes on when a link is pulled, and
    they use the link again that is put back."""
    lab = make_lacp("router")
    bundled(lab, lab.openvswitch())
    # Open vSwitch takes frames from the taps as they are; a card of QEMU would leave their checksums to it
    lab.left.run(["ethtool", "-K", "eth0", "tx", "off"], check=True)
    server = lab.peer.popen(["iperf3", "-s"], stdout=subprocess.DEVNULL)
    eventually(lambda: lab.peer.run(["ss", "-Hltn", "sport = :5201"]).stdout, 30, "iperf3 listens")
    client = lab.left.popen(["iperf3", "-c", PEER, "-P", str(STREAMS), "-b", RATE, "-t", "600"], stdout=subprocess.DEVNULL)
    eventually(lambda: len(streams_received(lab.peer)) == STREAMS, 60, "all streams run")
    lab.uses_all(200, "tx_pkts", "rx_pkts")

    lab.router.set_link(1, False)
    eventually(lambda: in_use(lab.router)["eth1"] == "D", 30, "eth1 is down")
    before = streams_received(lab.peer)
    assert len(before) == STREAMS
    eventually(lambda: all(streams_received(lab.peer).get(port, 0) > received + 100000 for port, received in before.items()),
               120, "every stream goes on by the other link")

    lab.router.set_link(1, True)
    eventually(lambda: in_use(lab.router) == lab.all, 60, "both ports are in use")
    lab.uses_all(200, "tx_pkts")  # Open vSwitch moves flows back only if that evens out more than they weigh
    assert set(streams_received(lab.peer)) == set(before)  # the same connections
    for child in (client, server):
        assert child.poll() is None
        child.terminate()
        child.wait()


def test_partner_without_lacp(make_lacp):
    """One link is used; a bond that begins to speak LACP later gets both."""
    lab = make_lacp("switch")
    eventually(lambda: sorted(in_use(lab.router).values()) == ["I", "s"], 60, "one individual link")
    ovs = lab.openvswitch()
    bundled(lab, ovs)
    pings(lab.left, PEER)


def test_passive_partner_and_slow_rate(make_lacp):
    lab = make_lacp("switch")
    ovs = lab.openvswitch(lacp="passive", fast=False)
    bundled(lab, ovs)
    pings(lab.left, PEER)
