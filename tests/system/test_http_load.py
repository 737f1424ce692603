"""Load and slow requests by others' tools against the web server, over both families: wrk, h2load
(pipelined), slowhttptest. docs/http.md has the bounds that they meet.

64 connections are served at once, 48 of one host; a head must arrive within ten seconds. So the
right host is served at once whatever the left host does, and when the left one stops, no connection
of it remains.
"""
import itertools
import re
import shutil
import subprocess
import time

import pytest
from conftest import LEFT_ROUTER, RIGHT_ROUTER, WEB, eventually
from family import LEFT_ROUTER6, RIGHT_ROUTER6, make_lab6  # noqa: F401

BASES = {"v4": "http://" + LEFT_ROUTER, "v6": "http://[%s]" % LEFT_ROUTER6}
BASES_RIGHT = ("http://" + RIGHT_ROUTER, "http://[%s]" % RIGHT_ROUTER6)


def need(tool):
    if not shutil.which(tool):
        pytest.skip("%s is not installed (this distribution has no such package)" % tool)


class Web:
    """A lab with the server on, and the server's state without clients."""

    def __init__(self, lab):
        self.lab, self.left, self.right, self.router = lab, lab.left, lab.right, lab.router
        self.asked = 0
        for base in BASES_RIGHT:
            eventually(lambda b=base: self.honest(b)[0] == "200", 10, "the server")
        self.free = self.figures()["hayate_core_buffers_free"]

    def honest(self, base=BASES_RIGHT[0]):
        """(status, seconds) of a request by the right host."""
        self.asked += 1
        said = self.right.run(["curl", "-sg", "-o", "/dev/null", "-w", "%{http_code} %{time_total}",
                               "--max-time", "9", base + "/healthz"]).stdout.split()
        return said[0], float(said[1])

    def figures(self):
        self.asked += 1
        text = self.right.run(["curl", "-sg", "--max-time", "30", BASES_RIGHT[0] + "/metrics"]).stdout
        found = {}
        for name, state, value in re.findall(r'^(\w+)(?:\{(?:\S*state="(\w+)")?\S*\})? (\d+)', text,
                                             re.M):
            name += "_" + state if state else ""
            found[name] = found.get(name, 0) + int(value)
        return found

    def others(self):
        """The number of connections that the left host has ever made."""
        return self.router.counters()["tcp_accepts"] - self.asked

    def over(self):
        """Waits until all connections but the current one are closed (or in TIME-WAIT), and buffers
        are free."""
        def quiet():
            f = self.figures()
            alive = sum(n for name, n in f.items() if name.startswith("hayate_tcp_connections_")
                        and not name.endswith("time_wait"))
            return f and f["hayate_http_connections"] == 1 and alive == 1 and \
                f["hayate_core_buffers_free"] >= self.free - 2  # those in use by this very request
        eventually(quiet, 20, "the server is as before", 0.2)
        self.router.balanced()


@pytest.fixture
def web(make_lab6):
    return Web(make_lab6(extra=WEB))


def test_wrk(web):
    """Within the bound every answer is good and every connection is kept."""
    need("wrk")
    for base, (connections, path) in itertools.product(
            BASES.values(), ((1, "/healthz"), (16, "/metrics"), (48, "/healthz"))):
        result = web.left.run(["wrk", "-t", "1", "-c", str(connections), "-d", "1s", "--timeout", "10s",
                               base + path])
        assert result.returncode == 0, result.stderr
        count = int(re.search(r"(\d+) requests in", result.stdout).group(1))
        assert count > 0 and "Non-2xx" not in result.stdout, result.stdout
        assert "Socket errors" not in result.stdout, result.stdout
        web.over()  # else the next ones are more than a source may have


def test_pipelined_by_h2load(web):
    """Sixteen requests at a time on each connection, of pages short and long. (By itself h2load leaves
    out the brackets of IPv6 in Host, which gets 400.)"""
    need("h2load")
    for base, (connections, depth, path) in itertools.product(
            BASES.values(), ((1, 16, "/healthz"), (48, 16, "/healthz"), (16, 4, "/metrics"))):
        total = connections * depth * 4
        said = web.left.run(["h2load", "--h1", "-n", str(total), "-c", str(connections), "-m", str(depth),
                             "-H", ":authority: " + base[len("http://"):], base + path]).stdout
        assert "%d succeeded, 0 failed, 0 errored, 0 timeout" % total in said, said
        assert "status codes: %d 2xx, 0 3xx, 0 4xx, 0 5xx" % total in said, said
    web.over()


def test_more_than_it_serves(web):
    """Beyond the bound a connection gets 503 or, if it is idle, is closed for another; another host
    is served."""
    need("wrk")
    refused = web.figures().get("hayate_http_full_total", 0)
    child = web.left.popen(["wrk", "-t", "1", "-c", "150", "-d", "3s", BASES["v6"] + "/metrics"],
                           stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while child.poll() is None and time.monotonic() < deadline:
        for base in BASES_RIGHT:
            status, seconds = web.honest(base)
            assert status == "200" and seconds < 8, (status, seconds)
    said = child.communicate(timeout=10)[0]
    total = int(re.search(r"(\d+) requests in", said).group(1))
    bad = int(re.search(r"Non-2xx or 3xx responses: (\d+)", said).group(1))
    assert total > bad > 0, said
    assert web.figures()["hayate_http_full_total"] > refused
    web.over()


# The slow part of the request, and slowhttptest's arguments. All exceed one host's connections.
SLOW = {
    "heads": ["-H", "-i", "1"],
    "bodies": ["-B", "-i", "1", "-s", "60000"],
    "reads": ["-X", "-w", "1", "-y", "8", "-n", "1", "-z", "1", "-k", "3"],
    "ranges": ["-R"],
}


def test_slow_clients_of_slowhttptest(web, tmp_path):
    """The right host is served meanwhile, each time and soon; the left one again when it has stopped,
    at the latest when the time of a head is over. (It leaves out the brackets of IPv6 as well, so it
    asks by the router's name.)"""
    need("slowhttptest")
    named = tmp_path / "hosts"
    named.write_text("%s r1\n" % LEFT_ROUTER6)
    with_name = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(named)]
    for number, (how, arguments) in enumerate(SLOW.items()):
        base = BASES["v6" if number % 2 else "v4"]
        before = web.others()
        child = web.left.popen([*with_name, "slowhttptest", *arguments, "-c", "120", "-r", "200", "-l",
                                "4", "-p", "3", "-u", (base if number % 2 == 0 else "http://r1") +
                                "/api/v1/counters.json"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        most, deadline = 0, time.monotonic() + 30
        while child.poll() is None and time.monotonic() < deadline:
            for right in BASES_RIGHT:
                status, seconds = web.honest(right)
                assert status == "200" and seconds < 8, (how, status, seconds)
            most = max(most, web.figures()["hayate_http_connections"])
        assert child.poll() is not None, "%s: it does not end" % how
        assert most <= 64 and web.others() - before > 10, how
        eventually(lambda b=base: web.left.run(["curl", "-sg", "--max-time", "5", b + "/healthz"]).stdout
                   == "ok\n", 15, "%s: service for the slow host" % how)
        web.over()
