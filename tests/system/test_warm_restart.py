"""The control program fails and restarts while data cores forward (invariant 8): no packet is lost.
RESTARTS=100 does it that often; a core may fail five times in ten seconds, and take over twice."""
import os
import subprocess
import time

import pytest
from conftest import RIGHT_HOST, pings
from family import (LEFT6, LEFT_ROUTER6, RIGHT6, RIGHT_ROUTER6, addresses_up, config6)
from flows import Flows, figures

RESTARTS = int(os.environ.get("RESTARTS", "3"))
BETWEEN_S = 5.2
COUNT = 12  # flows


def fail(router, flows):
    """Returns the microseconds until the control program had new tables."""
    return flows.fault(router, 0, r"control program: goes on after (\d+) us")


@pytest.mark.each_ring
def test_nobody_loses_anything(make_lab):
    lab = make_lab(None, "--append", "test=1", cpus=4)
    router = lab.router
    router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    with Flows(lab.left, lab.right, RIGHT_HOST, COUNT) as flows:
        flows.run(0.5)
        assert flows.settle() == []
        taken, outages = [], []
        for n in range(RESTARTS):
            flows.run(BETWEEN_S if n else 0.2)
            flows.begin()
            taken.append(fail(router, flows))
            assert flows.settle() == [], router.tail()
            outages.append(max(flow.outage_s for flow in flows.list))
    print("%d restarts of the control program: new tables after %s"
          % (RESTARTS, figures(taken, outages)))
    assert [core["faults"] for core in router.cores()] == [RESTARTS, 0, 0, 0]
    pings(lab.left, RIGHT_HOST)


@pytest.mark.one_card
@pytest.mark.parametrize("app", ["echo", "switch"])
def test_application_of_the_command_line(make_router, make_hosts, app, several_cpus):
    """The configuration does not name the application: the next control program has the same all the same."""
    router = make_router("interface eth0\n", "--append", "test=1", app=app, ports=(make_hosts(1)[0].port,))
    router.faults_expected = True
    router.send("test fault null core 0")
    router.expect(r"core 0: program restarted", 10)
    router.expect(r"control program: goes on", 20)
    router.wait_prompt()
    assert "application %s\n" % app in router.command("show version")


@pytest.mark.nics(["virtio"])  # independent of the card, and takes a minute
def test_control_core_is_stuck(make_lab):
    """Without the watchdog, the control core never finishes its turn, and all others sleep if allowed: a
    data core detects it."""
    lab = make_lab(None, "--append", "test=1 watchdog=off", cpus=3)
    router = lab.router
    router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    with Flows(lab.left, lab.right, RIGHT_HOST, COUNT) as flows:
        flows.run(0.2)
        router.skip()
        router.send("test fault spin core 0")
        time.sleep(20)
        flows.run(0.5)
        assert flows.settle() == []
        assert "***" not in router.text[router.mark:]
        router.expect(r"\*\*\* stuck on core 0", 60)
        router.expect(r"control program: goes on", 30)
        flows.run(0.5)
        assert flows.settle() == []
    assert "core 0 makes no progress" in router.text


FILTER = """ ip access-group TO-RIGHT out
ip access-list TO-RIGHT
 10 deny udp any any eq 20003
 20 permit ip any any
"""  # of eth1; the last of four flows


@pytest.mark.each_ring
def test_what_else_goes_on(make_lab):
    """With one data core: IPv6, and a filter that denies."""
    lab = make_lab(config6(eth1=FILTER), "--append", "test=1")
    router = lab.router
    router.faults_expected = True
    lab.left.configure6(LEFT6 + "/64", LEFT_ROUTER6)
    lab.right.configure6(RIGHT6 + "/64", RIGHT_ROUTER6)
    addresses_up(router)
    pings(lab.left, RIGHT_HOST)
    pings(lab.left, RIGHT6)
    with Flows(lab.left, lab.right, RIGHT_HOST, 4) as flows:
        flows.run(0.2)
        six = lab.left.popen(["ping", "-6", "-i", "0.02", "-c", "200", "-W", "5", "-q", RIGHT6],
                             stdout=subprocess.PIPE, text=True)
        fail(router, flows)
        assert flows.settle(2) == [3]
        assert len(flows.list[3].missing) == flows.list[3].sent
        said = six.communicate(timeout=30)[0]
        assert " 0% packet loss" in said, said + router.command("show counters")
    assert RIGHT_HOST in router.command("show arp")
    assert RIGHT6 in router.command("show ipv6 neighbors")
    assert "tentative" not in router.command("show interfaces")
    assert "ports restart" not in router.text


def configure(router, *lines):
    for line in ("configure",) + lines[:-1]:
        router.command(line)
    said = router.command(lines[-1])
    assert "committed" in said, said
    router.command("exit")
    return said


def running(router):
    return router.command("show running-config")


@pytest.mark.one_card
def test_what_was_committed_stays(make_lab):
    """Live commits and commits with a restart of the ports remain, but not an unconfirmed one."""
    lab = make_lab(None, "--append", "test=1")
    router = lab.router
    router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    configure(router, "ip route 203.0.113.0/24 198.51.100.2", "hostname r2", "commit")
    lab.right.run(["ip", "address", "add", "203.0.113.9/32", "dev", "lo"], check=True)
    pings(lab.left, "203.0.113.9")
    before = running(router)
    with Flows(lab.left, lab.right, RIGHT_HOST, 4) as flows:
        flows.run(0.2)
        fail(router, flows)
        assert flows.settle() == []
    assert "configuration: the last commit is in force again" in router.text
    assert running(router) == before
    pings(lab.left, "203.0.113.9")

    configure(router, "interface eth1", "mtu 1400", "description small", "commit")
    router.wait_back()
    router.wait_links()
    before = running(router)
    assert "mtu 1400" in before
    configure(router, "no ip route 203.0.113.0/24 198.51.100.2", "hostname r3", "commit confirmed 300s")
    assert running(router) != before
    with Flows(lab.left, lab.right, RIGHT_HOST, 4) as flows:
        flows.run(0.2)
        fail(router, flows)
        assert flows.settle() == []
    assert "the last commit, which nobody had confirmed, is gone" in router.text
    assert running(router) == before
    pings(lab.left, "203.0.113.9")
