"""Steering by rule (runtime/rules.h): flows go to the core that a rule names, others where RSS sends them."""
import re
import socket
import struct
import time

import pytest
from conftest import (LEFT_HOST, LEFT_MAC, LEFT_ROUTER, RIGHT_HOST, RIGHT_ROUTER, eventually, pings,
                      router_config)
from family import LEFT6, RIGHT6, make_lab6  # noqa: F401

NIC = pytest.mark.parametrize("nic", ["ixgbe", "mlx5"])
PORT, FLOWS, EACH = 24000, 24, 20


def config(*rules):
    text = router_config()
    return text.replace("interface eth1", "".join(" steer %s\n" % r for r in rules) + "interface eth1")


def received(router):
    """Packets received by each data core."""
    return {core: row["rx_pkts"] for core, row in enumerate(router.cores()) if row["role"] == "data"}


def settled(router):
    """The same, once no more arrive."""
    def twice():
        first = received(router)
        time.sleep(0.3)
        return first if received(router) == first else None
    return eventually(twice, 15, "all packets have arrived")


def grown(lab, send):
    before = settled(lab.router)
    send()
    after = settled(lab.router)
    return {core: after[core] - before[core] for core in after}


def flows(lab, first_port, count=FLOWS):
    """Sends EACH packets of each of `count` flows from the left to the right host."""
    for n in range(count):
        with lab.left.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            out.bind((LEFT_HOST, PORT + n))
            for _ in range(EACH):
                out.sendto(b"numbered", (RIGHT_HOST, first_port))
        time.sleep(0.01)


@NIC
def test_flows_go_to_their_core(make_lab):
    lab = make_lab(config("udp any host %s eq 7001 core 2" % RIGHT_HOST, "udp any any eq 7002 core 3"), cpus=4)
    total = FLOWS * EACH
    with lab.right.socket(socket.AF_INET, socket.SOCK_DGRAM) as sink:
        sink.bind((RIGHT_HOST, 7001))  # so that nothing is answered
        pings(lab.left, RIGHT_HOST)
        shown = lab.router.command("show steer")
        assert "eth0 udp any host %s eq 7001 core 2: in force" % RIGHT_HOST in shown
        assert "eth0 udp any any eq 7002 core 3: in force" in shown
        more = grown(lab, lambda: flows(lab, 7001))
        assert more[2] >= total and more[1] + more[3] < FLOWS, more
    for port in (7002, 7003):
        sink = lab.right.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sink.bind((RIGHT_HOST, port))
        more = grown(lab, lambda: flows(lab, port))
        sink.close()
        if port == 7002:
            assert more[3] >= total and more[1] + more[2] < FLOWS, more
        else:  # no rule: RSS uses all cores
            assert all(n >= EACH for n in more.values()) and sum(more.values()) >= total, more
    assert not lab.router.counters().drops()


@NIC
def test_commit_without_restart(make_lab):
    lab = make_lab(config("udp any any eq 7001 core 2"), cpus=4)
    router, total = lab.router, FLOWS * EACH
    sink = lab.right.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.bind((RIGHT_HOST, 7001))
    pings(lab.left, RIGHT_HOST)
    router.command("configure")
    router.command("interface eth0")
    router.command("no steer udp any any eq 7001 core 2")
    router.command("steer udp any any eq 7001 core 3")
    assert "restart" not in router.command("commit")
    router.command("end")
    assert " steer udp any any eq 7001 core 3" in router.command("show running-config")
    more = grown(lab, lambda: flows(lab, 7001))
    assert more[3] >= total and more[1] + more[2] < FLOWS, more
    router.command("configure")
    router.command("rollback 1")
    assert "restart" not in router.command("commit")
    more = grown(lab, lambda: flows(lab, 7001))
    assert more[2] >= total and more[1] + more[3] < FLOWS, more
    router.command("interface eth0")
    refused = {"ixgbe": [("steer ip 10.0.0.0/8 any core 2", "whole addresses"), ("steer icmp any any core 2", "protocols"),
                         ("steer ipv6 any any core 2", "IPv4 only"), ("steer vlan 5 core 2", "VLANs"),
                         ("steer tcp any any cores 1-2", "not to a group")],
               "mlx5": [("steer sctp any any eq 5 core 2", "TCP and UDP")]}[router.nic]
    for line, why in (*refused, ("steer tcp any any core 0", "no data core"),
                      ("steer tcp any any core 9", "no data core"),
                      ("steer tcp any any cores 0-2", "no data core")):
        router.command(line)
        said = router.command("commit")
        assert why in said and "nothing is committed" in said, said
        router.command("discard")
        router.command("interface eth0")
    router.command("end")
    assert "ports restart" not in router.text
    sink.close()


@pytest.mark.parametrize("nic", ["mlx5"])
def test_ipv6(make_lab6):  # noqa: F811
    """Rules of one version leave the other alone."""
    lab = make_lab6(" steer udp any host %s eq 7001 core 2\n steer udp any any core 1" % RIGHT6, cpus=4)
    total = FLOWS * EACH
    with lab.right.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sink:
        sink.bind((RIGHT6, 7001))
        pings(lab.left, RIGHT6)
        assert "eth0 udp any host %s eq 7001 core 2: in force" % RIGHT6 in lab.router.command("show steer")

        def send():
            for n in range(FLOWS):
                with lab.left.socket(socket.AF_INET6, socket.SOCK_DGRAM) as out:
                    out.bind((LEFT6, PORT + n))
                    for _ in range(EACH):
                        out.sendto(b"numbered", (RIGHT6, 7001))
                time.sleep(0.01)
        more = grown(lab, send)
    assert more[2] >= total and more[1] + more[3] < FLOWS, more


def tagged(vid, to_mac, sport):
    """A UDP datagram from 10.100.0.2 to the right host, without a checksum, on a VLAN."""
    udp = struct.pack(">HHHH", sport, 7001, 16, 0) + b"numbered"
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0,
                       socket.inet_aton("10.100.0.2"), socket.inet_aton(RIGHT_HOST))
    total = sum(struct.unpack(">10H", head))
    total = (total & 0xffff) + (total >> 16)
    head = head[:10] + struct.pack(">H", ~total & 0xffff) + head[12:]
    return (bytes.fromhex(to_mac.replace(":", "")) + bytes.fromhex("020000000099") + struct.pack(">HH", 0x8100, vid) +
            b"\x08\x00" + head + udp)


@pytest.mark.parametrize("nic", ["mlx5"])
def test_vlan_to_a_group(make_lab):
    """A VLAN's flows go to two cores, all others to the third. The group goes on while one core restarts."""
    text = config("vlan 100 cores 2-3", "ip any any core 1") + "interface eth0.100\n ip address 10.100.0.1/24\n"
    lab = make_lab(text, "--append", "test=1", cpus=4)
    total = FLOWS * EACH
    sink = lab.right.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.bind((RIGHT_HOST, 7001))
    pings(lab.left, RIGHT_HOST)

    def send():
        with lab.left.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
            out.bind(("eth0", 0))
            for n in range(FLOWS):
                for _ in range(EACH):
                    out.send(tagged(100, LEFT_MAC, PORT + n))
                time.sleep(0.01)
    more = grown(lab, send)
    assert more[2] + more[3] >= total and min(more[2], more[3]) >= EACH and more[1] < FLOWS, more
    more = grown(lab, lambda: flows(lab, 7001))
    assert more[1] >= total and more[2] + more[3] < FLOWS, more
    lab.router.faults_expected = True
    lab.router.send("test fault ud core 2")
    lab.router.expect(r"core 2: program restarted", 20)
    assert lab.router.wait_back() is None
    assert "vlan 100 cores 2-3: in force" in lab.router.command("show steer")
    more = grown(lab, send)
    assert more[2] + more[3] >= total and min(more[2], more[3]) >= EACH and more[1] < FLOWS, more
    assert not re.search("ports restart:", lab.router.text)
    sink.close()


@NIC
def test_management(make_lab):
    """Packets to any address of the router go to one core, even to an address that a commit adds; others do not."""
    lab = make_lab(config("management core 3", "ip any any core 1"), cpus=4)
    router, each = lab.router, 30

    def ask(address):
        said = lab.left.run(["ping", "-c", str(each), "-i", "0.02", "-W", "5", address])
        assert said.returncode == 0, said.stdout + said.stderr

    sink = lab.right.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.bind((RIGHT_HOST, 7001))
    pings(lab.left, RIGHT_HOST)
    shown = router.command("show steer")
    assert "eth0 management core 3: in force" in shown, shown
    assert (" for 2 of 3 prefixes: its filters compare whole addresses only" in shown) == (router.nic == "ixgbe"), shown
    for address in (LEFT_ROUTER, RIGHT_ROUTER):
        more = grown(lab, lambda: ask(address))
        assert more[3] >= each and more[1] + more[2] < each // 2, more
    router.command("configure")
    router.command("interface lo0")
    router.command("ip address 10.255.0.1/32")
    assert "ports restart" in router.command("commit")
    router.command("end")
    eventually(lambda: lab.left.run(["ping", "-c", "1", "-W", "1", "10.255.0.1"]).returncode == 0, 20)
    more = grown(lab, lambda: ask("10.255.0.1"))
    assert more[3] >= each and more[1] + more[2] < each // 2, more
    more = grown(lab, lambda: flows(lab, 7001))
    assert more[1] >= FLOWS * EACH and more[2] + more[3] < FLOWS, more
    sink.close()


@NIC
def test_its_core_restarts(make_lab):
    """Meanwhile its packets go to the others, afterwards to it again."""
    lab = make_lab(config("udp any any eq 7001 core 2"), "--append", "test=1", cpus=4)
    lab.router.faults_expected = True
    sink = lab.right.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.bind((RIGHT_HOST, 7001))
    pings(lab.left, RIGHT_HOST)
    lab.router.send("test fault ud core 2")
    lab.router.expect(r"core 2: program restarted", 20)
    assert lab.router.wait_back() is None
    assert "core 2: in force" in lab.router.command("show steer")
    more = grown(lab, lambda: flows(lab, 7001))
    assert more[2] >= FLOWS * EACH and more[1] + more[3] < FLOWS, more
    lab.router.send("test fault ud core 0")  # the control program; the card keeps its rules
    lab.router.expect(r"core 0: program restarted", 20)
    lab.router.wait_prompt(30)
    assert "core 2: in force" in lab.router.command("show steer")
    more = grown(lab, lambda: flows(lab, 7001))
    assert more[2] >= FLOWS * EACH and more[1] + more[3] < FLOWS, more
    assert not re.search("ports restart:", lab.router.text)
    sink.close()


@pytest.mark.parametrize("nic", ["virtio"])
def test_other_cards_refuse(make_router):
    router = make_router(config("udp any any core 1"))
    assert 'virtio_net of eth0: it cannot steer by rule, at "steer"' in router.text
    assert "nothing of the configuration is applied" in router.text
