"""DHCP with servers and clients of others: the machine itself is a client of dnsmasq, and dnsmasq serves both families through
the relay agents to dhclient."""
import ipaddress
import os
import re
import shutil
import signal
import subprocess

import pytest
from conftest import eventually, pings
from store_disk import disk_make
from test_time import serve_time

pytestmark = [pytest.mark.one_card, pytest.mark.nics(["virtio"])]
WAIT_S = 60
ACK = r"DHCPACK\(eth0\) 198\.51\.100\.1 "
CONFIG = """\
hostname r1
interface eth0
 ip address 192.0.2.1/24
 ip helper-address 198.51.100.2
 ipv6 address 2001:db8:1::1/64
 ipv6 nd ra suppress
 ipv6 dhcp relay destination 2001:db8:2::2
interface eth1
 ip address dhcp hostname r1
 ipv6 address 2001:db8:2::1/64
 ipv6 nd ra suppress
ip dhcp relay information option
ip route 203.0.113.0/24 198.51.100.2
"""


class Server:
    """dnsmasq on eth0 of the right host: for the link itself, and for the clients behind the relay agent."""

    def __init__(self, host, work):
        self.host, self.work, self.child = host, work, None
        self.log = work / "dnsmasq.log"

    def start(self, *more):
        """Returns when it takes messages."""
        serves = "sockets bound exclusively"
        before = len(self.said(serves))
        self.child = self.host.popen(
            ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--interface=eth0", "--bind-interfaces",
             "--user=root", "--dhcp-authoritative", "--no-ping", "--pid-file=%s" % (self.work / "pid"),
             "--dhcp-leasefile=%s" % (self.work / "leases"), "--log-dhcp", "--log-facility=%s" % self.log,
             "--dhcp-range=192.0.2.50,192.0.2.60,255.255.255.0,1h", "--dhcp-range=198.51.100.1,198.51.100.1,255.255.255.0,1h",
             "--dhcp-option=121,203.0.113.128/25,198.51.100.2,0.0.0.0/0,198.51.100.2", "--dhcp-option=option:ntp-server,198.51.100.2",
             "--no-resolv", "--no-hosts", "--domain=lab.example", "--host-record=right.lab.example,198.51.100.2",
             "--dhcp-range=2001:db8:1::50,2001:db8:1::60,64,1h", *more],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        eventually(lambda: len(self.said(serves)) > before, WAIT_S, "dnsmasq serves")

    def stop(self):
        self.child.terminate()
        self.child.wait(WAIT_S)
        self.host.children.remove(self.child)

    def said(self, pattern):
        return re.findall(pattern, self.log.read_text() if self.log.exists() else "")


@pytest.fixture
def dhcp(make_lab, tmp_path):
    """dhcp(arguments of the launcher) boots the router beside a host with dnsmasq, and returns (lab, dnsmasq) when the router has
    a lease."""
    def make(*arguments):
        lab = make_lab(CONFIG, *arguments)
        tmp_path.chmod(0o755)
        server = Server(lab.right, tmp_path)
        lab.right.configure6("2001:db8:2::2/64", "2001:db8:2::1")
        lab.right.wait_for_groups()
        server.start()
        has_lease(lab.router)
        return lab, server
    return make


def has_lease(router, address="198.51.100.1/24", interface="eth1"):
    def has():
        said = router.command("show dhcp lease")
        return "%s: bound" % interface in said and "address %s\n" % address in said
    eventually(has, WAIT_S, "the machine has the address %s" % address)


def test_client(dhcp):
    """A lease and what its servers are for, a renewal, a server that dies and returns, a restart of the control program, and a refusal."""
    lab, server = dhcp("--append", "test=1")
    router, right = lab.router, lab.right
    router.faults_expected = True
    lease = router.command("show dhcp lease")
    for line in ("server 198.51.100.2", "route 0.0.0.0/0 via 198.51.100.2", "route 203.0.113.128/25 via 198.51.100.2",
                 "name-server 198.51.100.2", "ntp-server 198.51.100.2", "domain lab.example"):
        assert "  %s\n" % line in lease, lease
    assert re.search(r"^S 203\.0\.113\.0/24 +via 198\.51\.100\.2", router.command("show ip route"), re.M)
    pings(right, "198.51.100.1")
    # names and time by the servers of the lease
    serve_time(right, "198.51.100.2", server.work)
    assert "2 sent, 2 received" in router.command("ping right count 2")
    eventually(lambda: "synchronized to 198.51.100.2" in router.command("show ntp status"), WAIT_S, "it has the time")
    # a renewal, and a server that is away for a while
    acks = len(server.said(ACK))
    router.command("renew dhcp")
    eventually(lambda: len(server.said(ACK)) > acks, WAIT_S, "the server has renewed it")
    server.stop()
    router.command("renew dhcp")
    eventually(lambda: "eth1: renewing" in router.command("show dhcp lease"), WAIT_S, "it asks a server that is not there")
    pings(right, "198.51.100.1")
    server.start()
    router.command("renew dhcp")
    has_lease(router)
    # the control program fails: the next one has the lease, and asks whether the address still holds
    discovers, acks = len(server.said("DHCPDISCOVER")), len(server.said(ACK))
    router.send("test fault null core 0")
    router.expect(r"control program: goes on", 30)
    router.wait_prompt()
    assert "address 198.51.100.1/24" in router.command("show dhcp lease")
    eventually(lambda: len(server.said(ACK)) > acks, WAIT_S, "the next program has asked")
    pings(right, "198.51.100.1")
    has_lease(router)
    assert "sent 1 received 1" in router.command("show dhcp lease")
    assert len(server.said("DHCPDISCOVER")) == discovers
    # the server has reserved the address for another station, and refuses it
    server.stop()
    (server.work / "leases").unlink()
    server.start("--dhcp-range=198.51.100.9,198.51.100.9,255.255.255.0,1h", "--dhcp-host=02:00:00:00:00:01,198.51.100.1")
    router.command("renew dhcp")
    eventually(lambda: server.said(r"DHCPNAK\(eth0\) 198\.51\.100\.1 "), WAIT_S, "the server refuses the address")
    has_lease(router, "198.51.100.9/24")
    assert "naks 1 " in router.command("show dhcp lease")
    router.balanced()


def test_reboot(dhcp, make_router, tmp_path):
    """QEMU is killed. The next machine asks for the address that the disk remembers, without a DISCOVER (RFC 2131 4.4.2), gets it,
    and gets another one when the server refuses it."""
    disk, pidfile = tmp_path / "disk.img", tmp_path / "qemu.pid"
    disk_make(str(disk), bytes_=64 << 20, room=32 << 20)
    arguments = ["--disk", "%s,virtio" % disk, "--pidfile", str(pidfile)]

    def boot_again():
        lab.router.judge = False
        os.kill(int(pidfile.read_text()), signal.SIGKILL)
        lab.router.wait_exit()
        lab.router = make_router(CONFIG, *arguments, ports=(lab.left.port, lab.right.port))
    lab, server = dhcp(*arguments)
    assert "dhcp/eth1" in lab.router.command("show storage")
    assert "written" in lab.router.command("write memory")  # this, and all values before it
    server.stop()
    server.start()
    discovers = len(server.said("DHCPDISCOVER"))
    boot_again()
    has_lease(lab.router)
    pings(lab.right, "198.51.100.1")
    assert len(server.said("DHCPDISCOVER")) == discovers
    assert "sent 1 received 1" in lab.router.command("show dhcp lease")
    server.stop()
    (server.work / "leases").unlink()
    server.start("--dhcp-range=198.51.100.9,198.51.100.9,255.255.255.0,1h", "--dhcp-host=02:00:00:00:00:01,198.51.100.1")
    boot_again()
    has_lease(lab.router, "198.51.100.9/24")
    assert "naks 1 " in lab.router.command("show dhcp lease")


APPLICATIONS = {
    "echo": ("eth1", "interface eth1\n ip address dhcp\n"),
    "web": ("eth1", "application web\ninterface eth1\n ip address dhcp\n"),
    "switch": ("vlan1", "application switch\nspanning-tree mode none\ninterface vlan1\n ip address dhcp\n"),
}


@pytest.mark.parametrize("app", APPLICATIONS)
def test_applications(app, make_router, make_hosts, tmp_path):
    """Applications that are hosts, and the machine itself in a VLAN of the switch: a lease, its classless routes, its return."""
    interface, config = APPLICATIONS[app]
    left, right = make_hosts()
    tmp_path.chmod(0o755)
    router = make_router(config, app=app, ports=(left.port, right.port), wait_for=["eth1"])
    server = Server(right, tmp_path)
    server.start()
    has_lease(router, interface=interface)
    pings(right, "198.51.100.1")
    right.add_loopback("203.0.113.200")
    pings(right, "198.51.100.1", "-I", "203.0.113.200")
    router.command("clear dhcp")
    eventually(lambda: server.said(r"DHCPRELEASE\(eth0\) 198\.51\.100\.1 "), WAIT_S, "the address is given back")
    has_lease(router, interface=interface)
    pings(right, "198.51.100.1")


@pytest.mark.skipif(not shutil.which("dhclient"), reason="isc-dhcp-client is not installed")
def test_relay(dhcp, tmp_path):
    """dhclient gets addresses of both families from dnsmasq, through the relay agents."""
    lab, _ = dhcp()
    lab.left.configure6()
    lab.left.wait_for_groups()
    lab.left.ip("addr", "flush", "dev", "eth0", "scope", "global")
    got = dhclient(lab.left, tmp_path, "-4")
    assert ipaddress.ip_address(got["new_ip_address"]) in ipaddress.ip_network("192.0.2.0/24")
    assert got["new_dhcp_server_identifier"] == "198.51.100.2"
    got = dhclient(lab.left, tmp_path, "-6")
    assert ipaddress.ip_address(got["new_ip6_address"]) in ipaddress.ip_network("2001:db8:1::/64")
    table = [line.split() for line in lab.router.command("show ip dhcp relay").splitlines()]
    counts = {tuple(row[:2]): [int(n) for n in row[2:]] for row in table if row[0] == "eth0"}
    assert all(row[0] >= 2 and row[2] >= 2 and sum(row[3:]) == 0 for row in counts.values()), table
    assert len(counts) == 2
    lab.router.balanced()


def dhclient(host, work, family):
    """What dhclient is told, as its script sees it."""
    script, result = work / "script", work / ("result%s" % family)
    script.write_text("#!/bin/sh\ncase $reason in BOUND|BOUND6) env >%s.new; mv %s.new %s;; esac\n"
                      "case $reason in PREINIT6) exit 0;; esac\nexit 0\n" % (result, result, result))
    script.chmod(0o755)
    child = host.popen(["dhclient", family, "-d", "-1", "-sf", str(script), "-cf", "/dev/null", "-lf", str(work / ("client%s" % family)),
                        "-pf", str(work / ("pid%s" % family)), "eth0"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=open(work / ("log%s" % family), "w"))
    try:
        eventually(result.exists, WAIT_S, "dhclient %s has a lease: %s" % (family, work))
    finally:
        child.kill()
        child.wait(WAIT_S)
        host.children.remove(child)
    return dict(line.split("=", 1) for line in result.read_text().splitlines() if "=" in line)
