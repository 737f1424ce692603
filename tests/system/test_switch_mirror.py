"""Port mirroring: tcpdump at the destination of a session sees what the source port receives and sends, and
nothing else. (The test machine's kernel has no classifier for `tc mirred`, so there is no Linux beside it.)"""
import subprocess

import pytest
from conftest import eventually
from test_switch import SWITCH, make_stations  # noqa: F401

pytestmark = pytest.mark.one_card

SESSION = "monitor session 1 source interface eth0\nmonitor session 1 destination interface eth3\n"


@pytest.fixture
def mirrored(make_stations, make_router):  # noqa: F811
    """Four hosts at the ports of a switch: the last one sees what passes the port of the first."""
    hosts = make_stations(4)
    make_router(SWITCH + SESSION, app="switch", ports=[host.port for host in hosts])
    for host in hosts:
        host.wait_for_link()
    return hosts


def pinged(said):
    """(source, destination, sequence number) of echo requests and replies in tcpdump's words."""
    seen = set()
    for line in said.splitlines():
        words = line.replace(",", " ").replace(":", " ").split()
        if "ICMP" in words and "seq" in words:
            arrow = words.index(">")
            seen.add((words[arrow - 1], words[arrow + 1], int(words[words.index("seq") + 1])))
    return seen


def test_tcpdump_sees_the_port(mirrored):
    a, b, c, probe = mirrored
    assert eventually(lambda: a.ping(b.address)[0] and b.ping(c.address)[0], 60)
    dump = probe.popen(["tcpdump", "-n", "-l", "-i", "eth0", "icmp"], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True)
    while "listening on" not in dump.stderr.readline():
        assert dump.poll() is None
    a.run(["ping", "-c", "5", "-i", "0.2", b.address], check=True)
    b.run(["ping", "-c", "2", "-i", "0.2", c.address], check=True)  # does not pass the port
    a.run(["ping", "-c", "1", c.address], check=True)
    said = []
    while "%s > %s" % (c.address, a.address) not in (said[-1] if said else ""):
        said.append(dump.stdout.readline())
        assert said[-1]
    want = {(x.address, y.address, n) for n in range(1, 6) for x, y in ((a, b), (b, a))}
    assert pinged("".join(said)) == want | {(a.address, c.address, 1), (c.address, a.address, 1)}
