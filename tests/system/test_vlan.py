"""Linux hosts on VLANs of one port (switch.py tags their frames), beside untagged hosts on both
ports. Permitted hosts reach each other, at full size; traffic within a VLAN stays in it."""
import contextlib
import os
import re
import subprocess

import pytest
from conftest import LEFT_HOST, RIGHT_HOST, ROOT, WEB, eventually, pings, reaches
from family import LEFT6, LEFT_ROUTER6, RIGHT6, RIGHT_ROUTER6, addresses_up, config6
from launcher import demo, netlab

SWITCH = os.path.join(ROOT, "tests", "system", "switch.py")
VIDS = (100, 200)
BULK = (("receive", 100), ("transmit", 100), ("transmit", 200))  # TCP bytes of a whole test
UNKNOWN = 250  # a VLAN that the router does not know
LOOPBACK, LOOPBACK6 = "10.255.0.1", "2001:db8:255::1"

VLANS = "".join("""\
interface eth1.%(vid)d
 ip address 10.%(vid)d.0.1/24
 ipv6 address 2001:db8:%(vid)d::1/64
 {%(vid)d}
""" % {"vid": vid} for vid in VIDS) + """\
interface lo0
 ip address %s/32
 ipv6 address %s/128
%s""" % (LOOPBACK, LOOPBACK6, WEB)


def host4(vid):
    return "10.%d.0.2" % vid


def host6(vid):
    return "2001:db8:%d::2" % vid


def router4(vid):
    return "10.%d.0.1" % vid


def router6(vid):
    return "2001:db8:%d::1" % vid


def vlans(v100="", v200=""):
    """The configuration of all VLANs, with an additional line for one or the other."""
    return VLANS.replace("{100}", v100).replace("{200}", v200)


class Trunk:
    """A lab whose right host's cable also carries VLANs. access[vid] is the host on that VLAN."""

    def __init__(self, lab, access):
        self.router, self.left, self.right, self.access = lab.router, lab.left, lab.right, access
        self.a, self.b = (access[vid] for vid in VIDS)


def plug(switched, vid, stack, mtu):
    """A host at the access port of a VLAN, whose tap the switch has made."""
    host = stack.enter_context(netlab.Host("vlan%d" % vid))
    host.ip("link", "delete", "eth0")
    switched.ip("link", "set", "vlan%d" % vid, "netns", str(host.holder.pid), "name", "eth0")
    host.sysctl("net.ipv6.conf.eth0.disable_ipv6", 1)
    host.configure(host4(vid) + "/24", router4(vid), mtu)
    return host


@pytest.fixture
def make_trunk(make_lab):
    """make_trunk(config=…, mtu=…, auto=…, access=…, cpus=…): a router with hosts on both ports and
    on VLANs of eth1.
    auto: the hosts on VLANs configure their IPv6 addresses themselves. access: VLANs with a
    host."""
    with contextlib.ExitStack() as stack:
        def make(config=None, mtu=1500, auto=False, access=VIDS, cpus=None):
            lab = make_lab(config or config6(extra=vlans()), left_mtu=mtu, right_mtu=mtu,
                           cpus=cpus)
            switch = lab.right.popen(["/usr/bin/python3", SWITCH, "eth0",
                                      *("%d:vlan%d" % (vid, vid) for vid in access)],
                                     stdout=subprocess.PIPE, text=True)
            assert switch.stdout.readline() == "ready\n"
            hosts = {vid: plug(lab.right, vid, stack, mtu) for vid in access}
            lab.left.configure6(LEFT6 + "/64", LEFT_ROUTER6)
            lab.right.configure6(RIGHT6 + "/64", RIGHT_ROUTER6)
            for vid in VIDS:
                own = [] if auto else [host6(vid) + "/64", router6(vid)]
                hosts[vid].configure6(*own)
            addresses_up(lab.router)
            return Trunk(lab, hosts)
        yield make


@pytest.mark.in_turn
@pytest.mark.parametrize("cpus", [1, 4])
def test_everyone_reaches_everyone(make_trunk, cpus):
    """At full size too, which is four bytes more on the wire; by TCP, with more data than the
    buffers on the path hold; and to the loopback."""
    lab = make_trunk(cpus=cpus)
    for host in (lab.left, lab.right, lab.a, lab.b):
        for target in (LEFT_HOST, RIGHT_HOST, host4(100), host4(200), LOOPBACK):
            pings(host, target, "-M", "do", "-s", "1472", count=1)
        for target in (LEFT6, RIGHT6, host6(100), host6(200), LOOPBACK6):
            pings(host, target, "-M", "do", "-s", "1452", count=1)
    for source, sink, address in ((lab.left, lab.a, host4(100)), (lab.a, lab.left, LEFT_HOST),
                                  (lab.a, lab.b, host6(200)), (lab.b, lab.right, RIGHT6)):
        report = demo.iperf(source, sink, address, None,
                            ["-n", "8M", "-6" if ":" in address else "-4"], timeout_s=90)
        assert report["end"]["sum_received"]["bytes"] > 1 << 18, report["end"]
    for host in (lab.left, lab.a):  # the machine's own TCP
        said = host.run(["curl", "-sS", "--max-time", "20", "http://%s/metrics" % LOOPBACK]).stdout
        assert said.count("\n") > 40 and "forwarded" in said, said
    for way in ("receive", "transmit"):
        for name, least in (("bytes", 1 << 18), ("packets", 1 << 5)):
            for vid in VIDS:
                found = re.search('^hayate_interface_%s_%s_total{interface="eth1.%d",port="eth1"} (.*)$'
                                  % (way, name, vid), said, re.MULTILINE)
                assert found and int(found[1]) > (least if (way, vid) in BULK else 4), (way, vid, found)
    said = lab.router.command("show arp")
    for vid in VIDS:
        mac = lab.access[vid].ip("-br", "link", "show", "eth0").split()[2].lower()
        assert re.search("^%s +%s .*eth1.%d" % (host4(vid), mac, vid), said, re.MULTILINE), said
    assert "5 sent, 5 received" in lab.router.command("ping %s" % host4(200), timeout_s=30)


@pytest.mark.every_card
def test_jumbo_and_path_mtu(make_trunk, nic):
    """The largest frame, without and with a tag; a VLAN with a smaller MTU reports it, over both
    families."""
    mtu = 9000 if nic == "vmxnet3" else 9198  # the most that the card has
    big = config6(" mtu %d" % mtu, " mtu %d" % mtu, vlans(v200="mtu 1400"))
    lab = make_trunk(big, mtu=mtu)
    lab.b.ip("link", "set", "eth0", "mtu", "1400")
    for host, target in ((lab.left, host4(100)), (lab.a, LEFT_HOST), (lab.a, RIGHT_HOST)):
        pings(host, target, "-M", "do", "-s", str(mtu - 28), count=1)
    pings(lab.a, LEFT6, "-M", "do", "-s", str(mtu - 48), count=1)
    for host in (lab.left, lab.a):
        for target, header in ((host4(200), 28), (host6(200), 48)):
            answered, said = host.ping(target, "-M", "do", "-s", str(1401 - header))
            assert not answered and "1400" in said.split("mtu", 1)[1].split("\n")[0], said
            pings(host, target, "-M", "do", "-s", str(1400 - header), count=1)


def test_hosts_of_a_vlan_number_themselves(make_trunk):
    """RFC 4862, by advertisements on each VLAN that do not reach another."""
    lab = make_trunk(auto=True)
    for vid in VIDS:
        host, prefix = lab.access[vid], "2001:db8:%d:" % vid
        eventually(lambda: prefix in host.ip("-6", "address", "show", "dev", "eth0"), 40)
        eventually(lambda: "default via fe80::" in host.ip("-6", "route", "show"), 10)
        pings(host, LEFT6)
        assert host.ip("-6", "address", "show", "dev", "eth0").count("2001:db8:") == 1


def test_one_vlan_ends(make_trunk):
    """A VLAN that is shut down affects no other. An unconfigured VLAN reaches nothing, and is
    counted. A pulled cable stops all of them."""
    lab = make_trunk(access=(*VIDS, UNKNOWN))
    for host in (lab.a, lab.b):
        pings(host, LEFT_HOST)
    assert not reaches(lab.access[UNKNOWN], router4(UNKNOWN))
    assert lab.router.balanced()["drop_vlan_unknown"] >= 1
    for line in ("configure", "interface eth1.100", "shutdown", "commit", "end"):
        lab.router.command(line)
    eventually(lambda: not reaches(lab.a, LEFT_HOST), 20, "VLAN 100 is shut down")
    eventually(lambda: reaches(lab.b, LEFT_HOST), 20, "VLAN 200 goes on")
    for line in ("configure", "interface eth1.100", "no shutdown", "commit", "end"):
        lab.router.command(line)
    eventually(lambda: reaches(lab.a, LEFT_HOST), 20, "VLAN 100 is back")
    lab.router.set_link(1, False)
    eventually(lambda: not any(lab.router.interfaces()[name]["up"]
                               for name in ("eth1", "eth1.100", "eth1.200")), 15, "all are down")
    assert not reaches(lab.a, LEFT_HOST)
    assert reaches(lab.left, LOOPBACK)
    lab.router.set_link(1, True)
    eventually(lambda: reaches(lab.a, LEFT_HOST) and reaches(lab.b, LEFT_HOST), 30, "traffic again")
