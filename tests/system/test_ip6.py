"""The parts of IPv6 that IPv4 lacks, with real Linux hosts: link-local addresses, discovery, DAD,
advertisements (RFC 4861, 4862). Common parts are in test_forwarding.py, test_icmp.py and
test_links.py."""
import contextlib
import re
import socket
import subprocess

import pytest
from conftest import LEFT_MAC, LEFT_ROUTER, eventually, pings
from family import (LEFT6, LEFT_ROUTER6, RIGHT6, RIGHT_ROUTER6, config6, lab6,  # noqa: F401
                    make_lab6)


def test_both_families_at_once(lab6):
    pings(lab6.left, LEFT_ROUTER)
    pings(lab6.left, "198.51.100.2")
    pings(lab6.left, RIGHT6)


def link_local(router, port):
    block = router.command("show interfaces").split("eth%d link" % port)[1].split("eth%d" % (port + 1))[0]
    return re.search(r"address (fe80::\S+)/64", block).group(1)


def test_link_local(lab6):
    pings(lab6.left, link_local(lab6.router, 0) + "%eth0")


def test_hosts_number_themselves(make_lab):
    """RFC 4862: the hosts have an address in the advertised prefix, and a default route by the
    link-local address."""
    lab = make_lab(config6())
    lab.left.configure6()
    lab.right.configure6(RIGHT6 + "/64", RIGHT_ROUTER6)
    eventually(lambda: "2001:db8:1:" in lab.left.ip("-6", "address", "show", "dev", "eth0"), 40)
    assert "default via fe80::" in lab.left.ip("-6", "route", "show")
    pings(lab.left, RIGHT6)


def test_advertisement_read_by_another(lab6):
    """RFC 4861 6.2: rdisc6 solicits an advertisement and reads it."""
    for host, prefix in ((lab6.left, "2001:db8:1::/64"), (lab6.right, "2001:db8:2::/64")):
        said = host.run(["rdisc6", "-1", "-w", "5000", "eth0"])
        assert said.returncode == 0, said.stdout + said.stderr
        fields = dict(re.findall(r"^ *(\S[^:]*?) *: +(.*?)\s*$", said.stdout, re.MULTILINE))
        assert fields["Prefix"] == prefix, said.stdout
        assert fields["On-link"] == fields["Autonomous address conf."] == "Yes", said.stdout
        assert fields["Hop limit"].startswith("64") and fields["MTU"].startswith("1500")
        assert fields["Router lifetime"].startswith("1800 "), said.stdout
        port = 0 if host is lab6.left else 1
        assert " from %s" % link_local(lab6.router, port) in said.stdout, said.stdout


def test_neighbour_read_by_another(lab6):
    """RFC 4861 7.2.4: ndisc6 solicits the router's address, and gets its MAC."""
    said = lab6.left.run(["ndisc6", "-1", "-w", "5000", LEFT_ROUTER6, "eth0"])
    assert said.returncode == 0, said.stdout + said.stderr
    assert LEFT_MAC.upper() in said.stdout.upper(), said.stdout


RADVD = """\
interface eth0 {
	AdvSendAdvert on;
	MinRtrAdvInterval 3;
	MaxRtrAdvInterval 4;
	AdvDefaultLifetime %(lifetime)d;
	AdvLinkMTU 1400;
	prefix 2001:db8:1::/64 { AdvValidLifetime %(valid)d; AdvPreferredLifetime %(valid)d; };
};
"""

AUTO = """\
application echo
interface eth0
 ipv6 address autoconfig
"""


@contextlib.contextmanager
def advertising(host, work, lifetime=1800, valid=86400):
    """Runs radvd on the host's link during the block; at the end it announces that it stops."""
    config = work / "radvd.conf"
    config.write_text(RADVD % {"lifetime": lifetime, "valid": valid})
    child = host.popen(["radvd", "-n", "-C", str(config), "-p", str(work / "radvd.pid"),
                        "-m", "stderr"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield child
    finally:
        child.terminate()
        child.wait()


@pytest.fixture
def make_auto(make_router, make_hosts):
    """An echo server that configures itself, and the left host as the router of its link."""
    def make(**more):
        left, right = make_hosts()
        left.configure6(LEFT6 + "/64")
        left.sysctl("net.ipv6.conf.all.forwarding", 1)  # radvd requires it
        server = make_router(AUTO, app="echo", ports=(left.port, right.port), wait_for=["eth0"],
                             **more)
        return server, left, right
    return make


def own_address(server):
    """The server's address in the advertised prefix, once it has one."""
    def found():
        return re.search(r"address (2001:db8:1:\S+)/64$", server.command("show interfaces"),
                         re.MULTILINE)
    eventually(found, 30)
    return found().group(1)


@pytest.mark.parametrize("cpus", [1, 2])
def test_server_numbers_itself(make_auto, tmp_path, cpus):
    """RFC 4862, with Debian's radvd: address, connected prefix, default route, MTU. All are gone
    when radvd announces that it is no longer a router."""
    server, left, _ = make_auto(cpus=cpus)
    with advertising(left, tmp_path):
        pings(left, own_address(server))
        routes = server.command("show ipv6 route")
        for line in (r"2001:db8:1::/64 +connected", r"::/0 +via fe80::\S+"):
            assert re.search("^A %s eth0 advertised" % line, routes, re.MULTILINE), routes
        left.add_loopback("2001:db8:77::1")
        pings(left, own_address(server), "-I", "2001:db8:77::1")  # not on the link
        pings(left, own_address(server), "-s", "2000")  # in fragments of 1400, as the replies
        assert "5 sent, 5 received" in server.command("ping 2001:db8:77::1", timeout_s=30)
        with left.socket(socket.AF_INET6, socket.SOCK_STREAM) as sock:
            sock.settimeout(10)
            sock.bind(("2001:db8:77::1", 0))
            sock.connect((own_address(server), 7))
            sock.sendall(b"by the default router")
            assert sock.recv(100) == b"by the default router"
    eventually(lambda: "::/0" not in server.command("show ipv6 route"), 10)


def test_lifetimes_of_radvd_end(make_auto, tmp_path):
    """A router that disappears silently is forgotten when its lifetimes are over."""
    server, left, _ = make_auto()
    with advertising(left, tmp_path, lifetime=6, valid=8) as radvd:
        own_address(server)
        radvd.kill()
        radvd.wait()
        eventually(lambda: "0 prefixes" in server.command("show ipv6 route"), 20)
        assert "2001:db8:1:" not in server.command("show interfaces")


def test_duplicate_address(make_lab):
    """RFC 4862 5.4.5: an address that another station has is not used, and reported."""
    lab = make_lab(config6(), wait=False)
    lab.left.configure6(LEFT_ROUTER6 + "/64")
    lab.router.wait_up()
    eventually(lambda: "%s/64 duplicate" % LEFT_ROUTER6 in lab.router.command("show interfaces"),
               30)
    # it may have been printed while we waited for the cables
    assert "%s is in use by" % LEFT_ROUTER6 in lab.router.text


def test_neighbours_are_shown_and_forgotten(lab6):
    pings(lab6.left, RIGHT6)
    shown = lab6.router.command("show ipv6 neighbors")
    assert re.search(r"^%s +\S+ +eth1 +(reachable|delay|probe)" % RIGHT6, shown, re.MULTILINE), shown
    lab6.router.command("clear ipv6 neighbors")
    assert RIGHT6 not in lab6.router.command("show ipv6 neighbors")
    pings(lab6.left, RIGHT6)
