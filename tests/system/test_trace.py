"""`trace` of the image: its output for hosts' packets, on the serial console and over the network.
A flood through a tracing machine is forwarded as without tracing."""
import contextlib
import re
import socket

import pytest
from conftest import LEFT_HOST, LEFT_ROUTER, RIGHT_HOST, RIGHT_ROUTER, eventually, pings, router_config
from family import V4, both, make_lab6, make_lab_of  # noqa: F401
from test_remote import REMOTE, SECRET, Terminal


def trace(lab, line, traffic):
    """Traces the packets that `traffic` makes a host send; returns the output."""
    lab.router.skip()
    lab.router.send("trace " + line)
    lab.router.expect("Ctrl-C ends", 20)
    traffic()
    return lab.router.expect(r"(?s)\bpacket 1\b.*done: .*? packets followed", 30).group().replace(
        "\r", "")


@both
def test_ping(make_lab_of, family):
    """Through the machine, to the machine, and to an unused address."""
    lab = make_lab_of()
    pings(lab.left, family.right)
    icmp = "icmp" if family is V4 else "icmp6"
    said = trace(lab, "2 dst host %s %s" % (family.right, icmp),
                 lambda: pings(lab.left, family.right, count=2))
    assert said.count(" via %s eth1\n" % family.right) == 2
    assert said.count("\n  sent      eth1\n  fate      forwarded: ") == 2
    assert said.count("\n  ttl       64 to 63\n") == 2
    said = trace(lab, "1 on eth0 dst host %s %s" % (family.left_router, icmp),
                 lambda: pings(lab.left, family.left_router, count=1))
    assert " local\n" in said and "\n  counted   %s: " % family.reply in said
    said = trace(lab, "1 dst host %s" % family.nobody,
                 lambda: lab.left.run(["ping", "-c", "1", "-W", "1", family.nobody]))
    drop, error, _ = family.errors["host"]
    at = [said.index("\n  " + line) for line in (
        "counted   %s: " % family.asked, "control   it waits for its neighbour", "dropped   %s: " % drop,
        "counted   %s: " % error)]
    assert at == sorted(at)


def test_over_the_network(make_lab):
    """A session traces others' segments but not its own; Ctrl-C ends the trace."""
    lab = make_lab(router_config(extra=REMOTE))
    pings(lab.left, RIGHT_HOST)
    with Terminal(lab.left, ["telnet", LEFT_ROUTER]) as t:
        t.expect("Password: ")
        t.type(SECRET + "\r")
        t.expect("r1# ")
        t.type("trace 5 tcp\r")
        t.expect("following 5 packets")
        lab.router.skip()
        lab.router.send("trace 1")
        lab.router.expect("a trace is on: there is one at a time", 20)
        with lab.right.socket(kind=socket.SOCK_STREAM) as client:
            client.settimeout(20)
            try:
                client.connect((RIGHT_ROUTER, 9))
            except ConnectionRefusedError:
                pass
        said = t.expect("drop_tcp_port")
        assert "%s > %s, tcp " % (RIGHT_HOST, RIGHT_ROUTER) in said and LEFT_HOST not in said, said
        t.type("\x03")
        assert re.search("ended: 1 of 5 packets followed", t.expect("\nr1# "))


@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_flood(make_lab, cpus):
    """Tracing during a flood, with one core of both roles and with several; every packet has its
    fate (checked at the end of each test)."""
    lab = make_lab(cpus=cpus)
    pings(lab.left, RIGHT_HOST)
    before = lab.router.counters()["forwarded"]
    with contextlib.ExitStack() as stack:
        for _ in range(cpus):
            stack.enter_context(lab.flood(RIGHT_HOST))
        eventually(lambda: lab.router.counters()["forwarded"] > before + 1000, 60)
        said = trace(lab, "100 on eth0 udp", lambda: None)
    assert len(re.findall("^packet ", said, re.M)) == 100
    assert said.count("\n  fate      forwarded") + said.count("\n  dropped   drop_tx_full") == 100
    assert set(re.findall(r"received  eth0, core (\d+)", said)) <= set(
        "0" if cpus == 1 else "123"[:cpus - 1])
