"""A cable that is pulled while frames are queued for its port: none of them arrives when the cable is back."""
import contextlib
import re
import time

import pytest
from conftest import LEFT_HOST, RIGHT_HOST, eventually, pings, router_config
from flows import Flows
from launcher import netlab

THIRD_HOST = "203.0.113.2"
THIRD = """interface eth2
 ip address 203.0.113.1/24
"""
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


@contextlib.contextmanager
def child(host, *arguments, **more):
    made = host.popen(["/usr/bin/python3", "-c", *arguments], **more)
    try:
        yield made
    finally:
        made.kill()
        made.wait()


def unsent(router):
    """The frames that our port says were not sent, and those that the card's model has not sent."""
    ours, card = router.interfaces()["eth2"], router.model("stats")["ports"][2]
    return ours.get("tx_unsent", 0), ours["tx_pkts"] - card["tx_frames"] - card["tx_lost"] + card["tx_segments"]


def link_changes(router):
    return re.findall(r"link port [01] .*", router.command("show events core 0"))


@pytest.mark.parametrize("nic", ["ixgbe", "igc"])
@pytest.mark.parametrize("arguments", [(), ("--append", "pairs=1")], ids=["pairs", "workers"])
def test_cable_pulled_under_load(arguments, make_router, make_hosts, tmp_path):
    """No datagram arrives that was sent before the cable was back. The frames are counted, as the card has it. The
    other ports lose nothing and keep their links. With one pair, two of the three data cores are workers."""
    left, right = make_hosts(3)
    with netlab.Host("third", 3) as third:
        third.configure(THIRD_HOST + "/24", "203.0.113.1", 1500)
        router = make_router(router_config(extra=THIRD), *arguments, cpus=4,
                             ports=(left.port, right.port, third.port))
        for host in (left, right, third):
            host.wait_for_link()
        pings(left, THIRD_HOST)
        pings(left, RIGHT_HOST)
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
                    router.set_link(2, False)
                    down = time.monotonic()
                    router.expect(DROPPED, 30)
                    time.sleep(0.5)
                    pulled.append((down, time.monotonic()))
                    router.set_link(2, True)
                    eventually(lambda: times()[-1] > pulled[-1][1], 20, "datagrams arrive again")
            assert flows.settle() == []
        stale = [at for at in times() for down, up in pulled if down < at < up]
        assert stale == [], "%d stale datagrams" % len(stale)
        assert sum(flow.sent for flow in flows.list) > 1000
        assert link_changes(router) == changes
        assert not re.search(r"ports restart|eth\d: restarted|eth[01]: link down", router.text), router.tail()
        assert [core["faults"] for core in router.cores()] == [0, 0, 0, 0]
        router.balanced()
        eventually(lambda: len(set(unsent(router))) == 1, 10, "our count is the card's")
        assert unsent(router)[0] >= PULLS
        pings(third, LEFT_HOST)
