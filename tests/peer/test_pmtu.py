"""A router with a narrow link between us and the peer: path MTU discovery (RFC 1191, 8201), and the
fallback if a filter drops the ICMP messages (RFC 2923; compare RFC 8899)."""
import contextlib
import ipaddress
import socket
import struct

import pytest
from conftest import CHARGEN, DISCARD, eventually
from launcher import netlab
from streams import Sink, crc, receive, send

SOME = 2 << 20
NARROW = {4: 1000, 6: 1300}
ONLY_IP4 = pytest.mark.family(4)
TIMESTAMPS = 12


class Path:
    """Ours — 1500 — router (the Peer) — narrow — far host."""

    def __init__(self, peer, far, mtu):
        self.peer, self.far, self.family = peer, far, peer.family
        peer.ip("link", "add", "narrow", "mtu", str(mtu), "type", "veth", "peer", "name", "eth0",
                "netns", str(far.holder.pid), "mtu", str(mtu))
        peer.add_address("narrow", self.family.far_router)
        peer.forward()
        far.ip("link", "set", "eth0", "up")
        if self.family.number == 4:
            far.configure(self.family.with_plen(self.family.far), self.family.far_router, mtu)
        else:
            far.configure6(self.family.with_plen(self.family.far), self.family.far_router)
        peer.wait_for_link("narrow")
        far.wait_for_link()

    def eat_icmp(self):
        """Drops the router's own messages: a black hole."""
        which = "icmp type destination-unreachable" if self.family.number == 4 else \
            "icmpv6 type packet-too-big"
        rules = "table inet t { chain c { type filter hook output priority 0; %s drop; }; }" % which
        self.peer.run(["nft", "-f", "-"], check=True, input=rules)

    def lie(self):
        """Makes the far host announce a full MSS although its link is narrow; otherwise TCP would
        never send larger segments."""
        self.far.ip("route", "replace", "default", "via", self.family.far_router, "advmss",
                    str(1500 - self.family.headers))


class Far(netlab.Host):
    """A host without a tap."""

    def __init__(self):
        super().__init__("far")
        self.ip("link", "delete", "eth0")


@pytest.fixture
def make_path(make_peer, family):
    with contextlib.ExitStack() as stack:
        def make(mtu=NARROW[family]):
            far = stack.enter_context(Far())
            path = Path(make_peer(), far, mtu)
            path.lie()
            return path
        yield make


def far_socket(path):
    sock = path.far.socket(path.family.inet, socket.SOCK_STREAM)
    sock.settimeout(30)
    return sock


def delivered_icmp(family, counters):
    return counters.get("delivered_icmp" if family == 4 else "delivered_icmp6", 0)


@pytest.mark.parametrize("mtu", [pytest.param(600, marks=ONLY_IP4),
                                 pytest.param(1000, marks=ONLY_IP4), 1280, 1400])
def test_the_router_says_so(make_path, family, mtu):
    path = make_path(mtu)
    ours = path.peer.ours("echo", "--chargen-bytes", SOME)
    with far_socket(path) as sock:
        sock.connect((path.family.ours, CHARGEN))
        assert receive(sock) == (SOME, crc(SOME))
    counters = ours.status()["counters"]
    assert counters["tcp_pmtu"] >= 1 and delivered_icmp(family, counters) >= 1
    assert counters.get("tcp_black_hole", 0) == 0
    # segments use the whole narrow MTU
    assert counters["tcp_tx"] < SOME / (mtu - path.family.headers - TIMESTAMPS) * 1.3 + 100


def test_as_client(make_path):
    path = make_path()
    sink = Sink()
    with far_socket(path) as server:
        server.bind((path.family.far, 0))
        server.listen()
        client = path.peer.ours("client", path.family.far, server.getsockname()[1],
                                "--send", SOME)
        sock, _ = server.accept()
        with sock:
            sock.settimeout(30)
            sink(sock)
        last = client.wait()
    assert sink.got == [(SOME, crc(SOME))]
    assert last["counters"]["tcp_pmtu"] >= 1 and last["closed"] == 1


def test_a_black_hole(make_path, family):
    """No message arrives, and large segments vanish: smaller ones are tried."""
    path = make_path()
    path.eat_icmp()
    ours = path.peer.ours("echo", "--chargen-bytes", 200000)
    with far_socket(path) as sock:
        sock.settimeout(60)
        sock.connect((path.family.ours, CHARGEN))
        assert receive(sock) == (200000, crc(200000))
    counters = ours.status()["counters"]
    assert counters["tcp_black_hole"] >= 1 and delivered_icmp(family, counters) == 0


def test_the_other_direction(make_path):
    """The far host's segments are as large as our link allows, and arrive."""
    path = make_path()
    ours = path.peer.ours("echo")
    with far_socket(path) as sock:
        sock.connect((path.family.ours, DISCARD))
        send(sock, SOME)
    eventually(lambda: ours.status()["discard_bytes"] == SOME, what="all bytes")
    assert ours.last["discard_crc"] == crc(SOME)


def checksum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def too_big(path, segment, mtu):
    """Packet Too Big by the router about an IPv6 segment of ours (RFC 4443 3.2)."""
    source = ipaddress.ip_address(path.family.linux).packed
    quoted = segment[:1232]
    length = 8 + len(quoted)
    pseudo = source + segment[8:24] + struct.pack("!II", length, 58)
    message = struct.pack("!BBHI", 2, 0, 0, mtu) + quoted
    message = message[:2] + struct.pack("!H", checksum(pseudo + message)) + message[4:]
    return struct.pack("!IHBB", 6 << 28, length, 58, 64) + source + segment[8:24] + message


@pytest.mark.family(6)
def test_nobody_makes_it_less_than_1280(make_path):
    """A message with MTU 600, about a segment in flight, counts as 1280 (RFC 8201 4)."""
    path = make_path(1400)
    raw = path.peer.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x0300)  # htons(ETH_P_ALL)
    raw.bind(("eth0", 0x86dd))
    raw.settimeout(10)
    ours = path.peer.ours("echo", "--chargen-bytes", SOME, "--out", "rate=20")
    with far_socket(path) as sock:
        sock.connect((path.family.ours, CHARGEN))
        for lies in range(3):
            frame = b""
            while len(frame) < 1280:  # only our segments are that large
                frame = raw.recv(65536)
            raw.send(frame[6:12] + frame[:6] + b"\x86\xdd" + too_big(path, frame[14:], 600))
        assert receive(sock) == (SOME, crc(SOME))
    counters = ours.status()["counters"]
    assert delivered_icmp(6, counters) > lies and counters["tcp_pmtu"] >= 1
    assert counters["tcp_tx"] < SOME / (1280 - path.family.headers - TIMESTAMPS) * 1.1 + 100
