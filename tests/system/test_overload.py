"""Floods of the real image, one kind after the other, from a host on one link. Meanwhile a host on
the other link has a session with the machine, and a third party types at the console.

A flood lasts until the router has received a number of its packets and counted what they cause, not for a time.
The tests assert only what cannot fail during a flood: a session's segments have reserved ring entries
(runtime/ring.c), and the console is the machine's own. docs/RELIABILITY.md has the bounds of each flood;
tests/packet/test_punt.py, test_neighbour.py and test_nd.py test them to the packet.
"""
import contextlib
import socket
import subprocess

import pytest
from conftest import (LEFT_HOST, LEFT_ROUTER, RIGHT_HOST, RIGHT_ROUTER, WEB, eventually, pings,
                      router_config)

PACKETS = 30000
NEIGHBOURS = 4096  # arp_params.neighbours
KNOWN = 2  # the two hosts

# argv: kind, MAC of the router. Sends frames as fast as a packet socket takes them.
FLOOD = """\
import itertools, socket, struct, sys
kind, router = sys.argv[1], bytes.fromhex(sys.argv[2].replace(":", ""))
sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sock.bind(("eth0", 0))
mac = sock.getsockname()[4]
LEFT, ROUTER, RIGHT = (socket.inet_aton(a) for a in sys.argv[3:6])

def total(data):
    s = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while s >> 16:
        s = (s & 0xffff) + (s >> 16)
    return struct.pack("!H", s ^ 0xffff)

def ip(dst, proto, data, n=0, ttl=64, fragment=0):
    h = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(data), n & 0xffff, fragment, ttl, proto, 0)
    h += LEFT + dst
    return router + mac + b"\\x08\\0" + h[:10] + total(h) + h[12:] + data

def echo(dst, n):
    m = struct.pack("!BBHHH", 8, 0, 0, 7, n & 0xffff) + bytes(32)
    return m[:2] + total(m) + m[4:]

def syn(n):
    tcp = struct.pack("!HHIIBBHHH", 1024 + n % 60000, 80, n, 0, 0x50, 2, 65535, 0, 0)
    check = total(LEFT + ROUTER + struct.pack("!BBH", 0, 6, 20) + tcp)
    return tcp[:16] + check + tcp[18:]

def arp(n):
    name = LEFT[:2] + struct.pack("!BB", 16 + n // 250 % 200, 1 + n % 250)
    return b"\\xff" * 6 + mac + b"\\x08\\x06" + struct.pack("!HHBBH", 1, 0x800, 6, 4, 1) + \\
        mac + name + bytes(6) + ROUTER

def host(n):
    return LEFT[:2] + struct.pack("!BB", 16 + n // 250 % 200, 1 + n % 250)

udp = struct.pack("!HHHH", 1024, 9999, 24, 0) + bytes(16)
make = {
    "pings": lambda n: ip(ROUTER, 1, echo(ROUTER, n), n),
    "closed ports": lambda n: ip(ROUTER, 17, udp, n),
    "fragments": lambda n: ip(ROUTER, 17, udp, n, fragment=0x2000),
    "syn": lambda n: ip(ROUTER, 6, syn(n), n),
    "ttl 1": lambda n: ip(RIGHT, 17, udp, n, ttl=1),
    "scan": lambda n: ip(host(n), 17, udp, n),
    "names": arp,
}[kind]
for n in itertools.count():
    try:
        sock.send(make(n))
    except OSError:
        pass  # no room in the queue of the device
"""

# The counter that each flood must have increased in the end.
FLOODS = {
    "pings": "icmp_tx_echo_reply",
    "closed ports": "icmp_err_ratelimited",
    "fragments": "drop_frag_full",
    "syn": "tcp_cookies_tx",
    "ttl 1": "icmp_err_ratelimited",
    "scan": "arp_limited",
    "names": "arp_limited",
}


def config():
    """The usual one; the left link is a /16 here, so that there is something to scan."""
    return router_config(extra=WEB).replace(LEFT_ROUTER + "/24", LEFT_ROUTER + "/16")


class Session:
    """One connection to the machine's server, which requests page after page."""

    def __init__(self, host):
        self.sock = host.socket(kind=socket.SOCK_STREAM)
        self.sock.settimeout(60)
        self.sock.connect((RIGHT_ROUTER, 80))

    def ask(self):
        self.sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n")
        said = b""
        while not said.endswith(b"\r\n0\r\n\r\n"):  # the last chunk (RFC 9112 7.1)
            piece = self.sock.recv(4096)
            assert piece, "the session has ended: %r" % said
            said += piece
        assert b"\nok\n" in said

    def close(self):
        self.sock.close()


@contextlib.contextmanager
def flooded(lab, kind):
    """Floods while the block runs, and until the router has received PACKETS of the flood and its counter in FLOODS
    has grown: a slow control core takes few of them, and a table fills later."""
    counters = lab.router.counters()
    before, counted = counters.balance[0], counters[FLOODS[kind]]
    mac = lab.left.ip("neigh", "show", LEFT_ROUTER).split("lladdr ")[1].split()[0]
    child = lab.left.popen(["/usr/bin/python3", "-c", FLOOD, kind, mac, LEFT_HOST, LEFT_ROUTER,
                            RIGHT_HOST], stdin=subprocess.DEVNULL)
    try:
        eventually(lambda: lab.router.counters().balance[0] - before > PACKETS // 3, 60, kind)
        yield

        def ends():
            now = lab.router.counters()
            return now.balance[0] - before > PACKETS and now[FLOODS[kind]] > counted
        eventually(ends, 60, "%s: %d packets and %s" % (kind, PACKETS, FLOODS[kind]))
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()


def neighbours(router):
    return len([line for line in router.command("show arp").splitlines() if "eth" in line])


@pytest.mark.parametrize("cpus", (1, 2))
def test_floods(make_lab, cpus):
    lab = make_lab(config(), cpus=cpus)
    pings(lab.left, RIGHT_HOST)
    session = Session(lab.right)
    session.ask()
    for kind in FLOODS:
        with flooded(lab, kind):
            for _ in range(5):
                session.ask()
            assert neighbours(lab.router) <= NEIGHBOURS
        lab.router.balanced()
        for core in lab.router.cores():
            assert core["state"] in ("running", "asleep") and core["faults"] == 0, (kind, core)
        session.ask()
        pings(lab.right, RIGHT_ROUTER)
        eventually(lambda: lab.left.ping(RIGHT_HOST, wait_s=1)[0], 15, kind)
    session.close()
    lab.router.command("clear arp")  # forged entries remain until `arp timeout`
    pings(lab.right, LEFT_HOST)
    assert neighbours(lab.router) <= KNOWN
    lab.router.balanced()
