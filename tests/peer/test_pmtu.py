"""A router with a narrow link between us and the peer: path MTU discovery (RFC 1191), and the
fallback where a filter eats the ICMP messages (RFC 2923, RFC 8899's lesson)."""
import contextlib
import socket

import pytest
from conftest import CHARGEN, DISCARD, OURS, eventually
from launcher import netlab
from streams import Sink, crc, receive, send

FAR = "198.51.100.2"
ROUTER = "198.51.100.1"
SOME = 2 << 20


class Path:
    """Ours — 1500 — router (the Peer) — narrow — far host."""

    def __init__(self, peer, far, mtu):
        self.peer, self.far = peer, far
        peer.ip("link", "add", "narrow", "mtu", str(mtu), "type", "veth", "peer", "name", "eth0",
                "netns", str(far.holder.pid), "mtu", str(mtu))
        peer.ip("address", "add", ROUTER + "/24", "dev", "narrow")
        peer.ip("link", "set", "narrow", "up")
        peer.sysctl("net.ipv4.ip_forward", 1)
        # more than any rate limit leaves through
        peer.sysctl("net.ipv4.icmp_ratelimit", 0)
        far.ip("link", "set", "eth0", "up")
        far.ip("address", "add", FAR + "/24", "dev", "eth0")
        far.ip("route", "add", "default", "via", ROUTER)

    def eat_icmp(self):
        """The router's own messages do not come through: a black hole."""
        rules = "table inet t { chain c { type filter hook output priority 0; " \
                "icmp type destination-unreachable drop; }; }"
        self.peer.run(["nft", "-f", "-"], check=True, input=rules)

    def lie(self):
        """The far host says a full MSS although its link is narrow, or TCP would never send
        more."""
        self.far.ip("route", "replace", "default", "via", ROUTER, "advmss", "1460")


class Far(netlab.Host):
    """A host without a tap of its own."""

    def __init__(self):
        super().__init__("far")
        self.ip("link", "delete", "eth0")


@pytest.fixture
def make_path(make_peer):
    with contextlib.ExitStack() as stack:
        def make(mtu=1000):
            far = stack.enter_context(Far())
            path = Path(make_peer(), far, mtu)
            path.lie()
            return path
        yield make


def far_socket(path):
    sock = path.far.socket(kind=socket.SOCK_STREAM)
    sock.settimeout(30)
    return sock


@pytest.mark.parametrize("mtu", [600, 1000, 1400])
def test_the_router_says_so(make_path, mtu):
    path = make_path(mtu)
    ours = path.peer.ours("echo", "--chargen-bytes", SOME)
    with far_socket(path) as sock:
        sock.connect((OURS, CHARGEN))
        assert receive(sock) == (SOME, crc(SOME))
    counters = ours.status()["counters"]
    assert counters["tcp_pmtu"] >= 1 and counters["delivered_icmp"] >= 1
    assert counters.get("tcp_black_hole", 0) == 0
    # the narrow link is used in full
    assert counters["tcp_tx"] < SOME / (mtu - 52) * 1.3 + 100


def test_as_client(make_path):
    path = make_path()
    sink = Sink()
    with far_socket(path) as server:
        server.bind((FAR, 0))
        server.listen()
        client = path.peer.ours("client", FAR, server.getsockname()[1], "--send", SOME)
        sock, _ = server.accept()
        with sock:
            sock.settimeout(30)
            sink(sock)
        last = client.wait()
    assert sink.got == [(SOME, crc(SOME))]
    assert last["counters"]["tcp_pmtu"] >= 1 and last["closed"] == 1


def test_a_black_hole(make_path):
    """Nothing is said, and large segments vanish: smaller ones are tried."""
    path = make_path()
    path.eat_icmp()
    ours = path.peer.ours("echo", "--chargen-bytes", 200000)
    with far_socket(path) as sock:
        sock.settimeout(60)
        sock.connect((OURS, CHARGEN))
        assert receive(sock) == (200000, crc(200000))
    counters = ours.status()["counters"]
    assert counters["tcp_black_hole"] >= 1 and counters.get("delivered_icmp", 0) == 0


def test_the_other_direction(make_path):
    """What the far host sends is large for our link's sake, and comes."""
    path = make_path()
    ours = path.peer.ours("echo")
    with far_socket(path) as sock:
        sock.connect((OURS, DISCARD))
        send(sock, SOME)
    eventually(lambda: ours.status()["discard_bytes"] == SOME, what="all bytes")
    assert ours.last["discard_crc"] == crc(SOME)
