"""A cable that is pulled while frames are queued for its port: none of them arrives when the cable is back."""
import re
import subprocess
import time

import pytest
from conftest import LEFT_HOST, RIGHT_HOST, THIRD_HOST, child, eventually, pings, three_hosts
from flows import Flows
from generator import begin, end, generator

# Sends datagrams that carry the time of sending, about a thousand a second, until killed.
SENDER = """\
import socket, struct, sys, time
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    for _ in range(5):
        sock.sendto(struct.pack("!d", time.monotonic()) + bytes(92), (sys.argv[1], 9))
    time.sleep(0.005)
"""
# Prints the time that each datagram carries, a line each.
RECEIVER = """\
import socket, struct
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
sock.bind(("", 9))
while True:
    print(struct.unpack("!d", sock.recv(200)[:8])[0], flush=True)
"""
DROPPED = r"eth2: its link is down: frames that waited to be sent are dropped"
PULLS = 3
ON_THE_WAY_S = 0.5  # longer than a datagram takes on a busy machine to the port whose cable is pulled


def unsent(router):
    """The frames that our port says were not sent, and those that the card's model has not sent."""
    ours, card = router.interfaces()["eth2"], router.model("stats")["ports"][2]
    return ours.get("tx_unsent", 0), ours["tx_pkts"] - card["tx_frames"] - card["tx_lost"] + card["tx_segments"]


def pull_while_frames_wait(router):
    """Pulls the cable of eth2, to which datagrams are sent, when some lie in its rings. Returns the time from which on
    none was sent: until the link is down the card reads no transmit ring, for less time than a port may hang (watch.c).
    """
    router.model("port 2 fault head-stuck")
    held = time.monotonic()
    time.sleep(ON_THE_WAY_S)
    router.set_link(2, False)
    router.model("port 2 clear head-stuck")
    router.expect("eth2: link down", 30)
    router.expect(DROPPED, 30)
    return held


def link_changes(router):
    return re.findall(r"link port [01] .*", router.command("show events core 0"))


@pytest.mark.parametrize("nic", ["ixgbe", "igc"])
@pytest.mark.parametrize("cpus,arguments", [(4, ()), (4, ("--append", "pairs=1")), (1, ())],
                         ids=["pairs", "workers", "one-cpu"])
def test_cable_pulled_under_load(cpus, arguments, make_router, make_hosts, tmp_path):
    """No datagram arrives that was sent before the cable was back. The frames are counted, as the card has it. The
    other ports lose nothing and keep their links. With one pair, two of the three data cores are workers."""
    with three_hosts(make_router, make_hosts, cpus, *arguments) as (router, left, right, third):
        changes = link_changes(router)
        arrived, pulled = tmp_path / "arrived", []
        with (open(arrived, "w", encoding="ascii") as out, child(third, RECEIVER, stdout=out),
              Flows(left, right, RIGHT_HOST, 4) as flows, child(left, SENDER, THIRD_HOST)):
            def times():
                return [float(line) for line in arrived.read_text(encoding="ascii").splitlines(True)
                        if line.endswith("\n")]
            eventually(lambda: len(times()) > 100, 20, "datagrams arrive")
            with flows.sending():
                for _ in range(PULLS):
                    held = pull_while_frames_wait(router)
                    time.sleep(2 * ON_THE_WAY_S)
                    pulled.append((held, time.monotonic()))
                    router.set_link(2, True)
                    eventually(lambda: times()[-1] > pulled[-1][1], 20, "datagrams arrive again")
            assert flows.settle() == []
        stale = [at for at in times() for held, up in pulled if held < at < up - ON_THE_WAY_S]
        assert stale == [], "%d stale datagrams" % len(stale)
        assert sum(flow.sent for flow in flows.list) > 1000
        assert link_changes(router) == changes
        assert not re.search(r"ports restart|eth\d: restarted|eth[01]: link down", router.text), router.tail()
        assert [core["faults"] for core in router.cores()] == [0] * cpus
        router.balanced()
        eventually(lambda: len(set(unsent(router))) == 1, 10, "our count is the card's")
        assert unsent(router)[0] > 0
        assert router.text.count(DROPPED) == PULLS
        pings(third, LEFT_HOST)


@pytest.mark.parametrize("nic", ["ixgbe", "igc"])
def test_programs_fail_meanwhile(make_router, make_hosts):
    """While data cores do not use the port, a data core fails, and the control core: both go on, and so does the port
    when its cable is back."""
    with three_hosts(make_router, make_hosts, 4, "--append", "test=1") as (router, left, _, third):
        router.faults_expected = True
        with child(left, SENDER, THIRD_HOST):
            pull_while_frames_wait(router)
            router.send("test fault ud core 2")
            router.expect(r"core 2: polls again after \d+ us", 30)
            router.send("test fault ud core 0")
            router.expect(r"control program: goes on after \d+ us", 60)
            router.wait_prompt()
            assert "eth2 link down" in router.command("show interfaces")
            time.sleep(0.5)
            up = time.monotonic()
            with child(third, RECEIVER, stdout=subprocess.PIPE, text=True) as receiver:
                router.set_link(2, True)
                assert float(receiver.stdout.readline()) > up
        pings(left, THIRD_HOST)
        pings(third, LEFT_HOST)
        assert not re.search(r"ports (are )?restart|eth\d: restarted", router.text), router.tail()


# eth0 and eth1 are the two ends of a cable
STREAM = """\
stream a
 port eth0 to eth1
 mac destination 52:54:00:48:5a:01
 udp 192.0.2.10 port 5000 198.51.100.10 port 6000
 rate 2000pps
 limit 8000 frames
"""


@pytest.mark.parametrize("nic", ["ixgbe", "igc"])
def test_generator_keeps_its_ports(make_router, tmp_path):
    """A port whose ring has the generator's slots does not restart when its cable is pulled, nor do the others. What
    waits leaves afterwards."""
    machine = generator(make_router, tmp_path, STREAM, "application pktgen\n", ports=("wire:link:1", "wire:link:0"))
    begin(machine)
    machine.set_link(0, False)
    machine.expect("eth0: link down", 20)
    time.sleep(0.5)
    machine.set_link(0, True)
    machine.expect("eth0: link up", 20)
    end(machine)
    assert not re.search("ports restart|restarted after|frames that waited", machine.text), machine.tail()
    ours, card = machine.interfaces()["eth0"], machine.model("stats")["ports"][0]
    assert "tx_unsent" not in ours and ours["tx_pkts"] == card["tx_frames"] >= 8000
