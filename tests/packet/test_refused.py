"""Functions used while the router runs, without memory or buffers: commands that allocate at their
first use, captures, sessions over TCP, pages. Like test_memory.py, whose scenarios are starts,
commits and packets: the 1st, 2nd, 3rd ... request is refused, alone or with all later ones."""
import itertools
import re

import pytest
from ip6 import *
from machine import *
from scapy.layers.inet import TCP
from test_capture import CAPTURE, Stream
from test_memory import BASE, NO_BUFFER, PING, Stubborn, pieces4, serves
from test_remote import AGREE, REMOTE, SECRET
from test_tcp import Peer

sports = itertools.count(20000)

# --- commands that allocate memory at their first use ---

ROUTES = BASE + "arp 198.51.100.2 02:bb:00:00:00:02\nip route 10.0.0.0/8 198.51.100.2\n"


def churned(m):
    m.key("test churn 1000 1\r")
    m.time(3 * SECOND)


def traced(m):
    m.key("trace 1 timeout 8\r")
    m.send(0, ether(A, ROUTER[0]) / udp(A, "10.0.0.1"))
    m.time(10 * MS)
    m.take_all(1), m.counted()


def compared(m):
    m.key("configure\rhostname r9\rshow | compare\rrollback 0\rend\r")


COMMANDS = {"churn": (churned, "prefixes restored: the table of 5 is as before"), "trace": (traced, "1 of 1 packets followed"),
            "compare": (compared, "+hostname r9")}
MISSING = re.compile("(not enough|no) memory")


@pytest.mark.parametrize("name", COMMANDS)
def test_command(make, name):
    """The command reports the lack of memory, and works when there is memory."""
    command, want = COMMANDS[name]

    def played(m):
        m.text = ""
        command(m)
        return m.text.replace("\r", "")

    def machine():
        m = make(ROUTES, options="test=1")
        m.learn(A)
        return m

    whole = machine()
    whole.refuse("memory", 0)
    assert want in played(whole), whole.text
    asked = whole.asked()
    assert asked["memory"][0] >= 1
    for n, on in itertools.product(range(1, asked["memory"][0] + 1), (False, True)):
        m = machine()
        m.refuse("memory", n, on)
        said = played(m)
        assert m.asked()["memory"][1] and MISSING.search(said) and want not in said, (n, said)
        m.refuse("memory", 0)
        serves(m)
        assert want in played(m), (n, m.text)
        assert m.asked()["private"] == asked["private"], n
        m.close()


# --- sessions that lack a buffer ---

class Ended(Exception):
    """The session failed."""


def captured(m, pause_ns):
    """A capture of three frames; the reader receives them all, and the console reports that."""
    frames = []

    def is_whole(got):
        if got and len(frames) < 3:
            m.send(0, ether(A, ROUTER[0]) / udp(A, B, size=700 + len(frames)))
            frames.append(m.take(1).frame)
        return "3 given to the reader" in m.text

    m.text = ""
    m.key("capture eth1 out count 3\r")
    got = Stubborn(m, dport=5555, sport=next(sports)).exchange(b"", is_whole, pause_ns)
    if not m.text.endswith("r1# "):
        m.key("\x03")
    assert m.text.endswith("r1# ")
    return len(frames) == 3 and is_whole(got) and [p.data for p in Stream(got).packets] == frames


def typed_by_telnet(m, pause_ns):
    """A log-in, and the output of two commands."""
    lines = b"show running-config\r\nconfigure\r\nhostname r9\r\nshow | compare\r\nrollback 0\r\nexit\r\n"
    got = Stubborn(m, dport=23, sport=next(sports)).exchange(
        AGREE + SECRET + b"\r\n" + lines, lambda got: got.count(b"r1(config)# ") >= 4 and
        got.endswith(b"r1# "), pause_ns)
    return got.count(b"ip address 192.0.2.1/24\r\n") == 1 and b"+hostname r9\r\n" in got


def page(path, end):
    def fetched(m, pause_ns):
        got = Stubborn(m, dport=80, sport=next(sports)).exchange(
            b"GET " + path + b" HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n", lambda got: got.endswith(end), pause_ns)
        return got.startswith(b"HTTP/1.1 200") and got.endswith(end)
    return fetched


HTTP = BASE + "http server\nhttp access 192.0.2.0/24\n"
SESSIONS = {"capture": (CAPTURE, captured), "telnet": (REMOTE, typed_by_telnet),
            "crash": (HTTP, page(b"/crash", b"0\r\n\r\n")),
            "config": (HTTP, page(b"/config", b"0\r\n\r\n")), "/": (HTTP, page(b"/", b"</html>\n"))}


@pytest.mark.parametrize("name", SESSIONS)
def test_session(make, name):
    """No single missing buffer loses a byte; without any buffers the session fails, and the next
    one, with buffers, is complete."""
    config, session = SESSIONS[name]
    m = make(config)
    m.learn(A, B)
    m.refuse("buffers", 0)
    assert session(m, SECOND)
    requests = m.asked()["buffers"][0]
    assert requests > 2
    for n in range(1, requests + 1):
        m.refuse("buffers", n)
        assert session(m, SECOND), n
        assert m.asked()["buffers"][1] == 1, n
        lost = m.counted()
        assert sum(lost.get(c, 0) for c in NO_BUFFER) <= 1, (n, lost)
    for n in (1, 3):
        m.refuse("buffers", n, on=True)
        assert not session(m, 5 * MS), n
        m.refuse("buffers", 0)
        m.time(60 * SECOND)
        m.take_all(0), m.take_all(1)
        m.send(0, arp_request(A, ROUTER[0].ip))
        m.send(1, arp_request(B, ROUTER[1].ip))
        m.take_all(0), m.take_all(1)
        assert session(m, SECOND), n


# --- packets while the router traces or works ---

@pytest.mark.parametrize("work", ["trace 3 timeout 8", "test churn 1000 1000"])
def test_busy_router(make, work):
    """A buffer is missing for a traced answer, or while routes change: the loss is counted, and the
    work continues and ends normally."""
    def machine():
        m = make(ROUTES, options="test=1")
        m.learn(A)
        m.text = ""
        m.key(work + "\r")
        return m

    def sent(m):
        m.send(0, *(ether(A, ROUTER[0]) / p for p in pieces4(PING)), ether(A, ROUTER[0]) / udp(A, ROUTER[0]),
               ether(A, ROUTER[0]) / udp(A, "10.0.0.1", ttl=1))
        m.time(SECOND)
        m.take_all(0), m.take_all(1)
        return m.counted()

    whole = machine()
    whole.refuse("buffers", 0)
    sent(whole)
    requests = whole.asked()["buffers"][0]
    assert requests >= 3
    for n, on in itertools.product(range(1, requests + 1), (False, True)):
        m = machine()
        m.refuse("buffers", n, on)
        counted = sent(m)
        refused = m.asked()["buffers"][1]
        assert refused and sum(counted.get(c, 0) for c in NO_BUFFER) == refused, (n, counted)
        m.refuse("buffers", 0)
        m.key("\x03")
        m.time(3 * SECOND)
        assert m.text.endswith("r1# "), m.text
        assert "trace" not in work or "3 of 3 packets followed" in m.text
        serves(m, known=(A,)) if "trace" not in work else serves(m)
        m.close()


def test_core_sleeps_without_buffers(make):
    """An answer without a buffer is retried after a while: the core may sleep until then."""
    m = make(HTTP)
    m.learn(A, B)
    p = Peer(m, dport=80, sport=next(sports)).open()
    m.refuse("buffers", 2, on=True)  # the request has one
    p.send("PA", b"GET /config HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n")
    passed, looks = 0, 0
    while passed < SECOND:
        (_, until), = m.command("sleep")
        assert until != "-", "it does not sleep"
        m.time(int(until))
        passed, looks = passed + int(until), looks + 1
    assert looks < 300
    m.refuse("buffers", 0)
    m.time(SECOND)
    assert any(b"HTTP/1.1 200" in frame for frame in m.take_all(0))
