"""Bulk data, checked end to end: in both directions, with either end connecting."""
import pytest
from conftest import CHARGEN, DISCARD, ECHO, FULL, eventually
from streams import Sink, crc, echo, echo_check, receive, send, source

MIB = 1 << 20
BYTES = 1024 * MIB if FULL else 64 * MIB
LONG = 600 if FULL else 60

# how our end uses the link: in software, in pieces, with Linux's offloads
WAYS = {"plain": [], "pieces": ["--sg"], "offload": ["--offload"]}


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


@pytest.mark.by_turns
def test_linux_sends(peer, way):
    ours = peer.ours("echo", *way, capture=False)
    with peer.connect(DISCARD, timeout_s=LONG) as sock:
        send(sock, BYTES)
    eventually(lambda: ours.status()["connections"] == 0 or ours.last["time_wait"], LONG)
    assert (ours.last["discard_bytes"], ours.last["discard_crc"]) == (BYTES, crc(BYTES))


@pytest.mark.by_turns
def test_linux_receives(peer, way):
    ours = peer.ours("echo", *way, "--chargen-bytes", BYTES, capture=False)
    with peer.connect(CHARGEN, timeout_s=LONG) as sock:
        assert receive(sock) == (BYTES, crc(BYTES))
    assert ours.status()["generated"] == BYTES


@pytest.mark.by_turns
def test_linux_both_ways_at_once(peer, way):
    peer.ours("echo", *way, capture=False)
    with peer.connect(ECHO, timeout_s=LONG) as sock:
        echo_check(sock, BYTES // 2)


@pytest.mark.by_turns
def test_we_send(peer, way):
    sink = Sink()
    with peer.server(sink) as port:
        last = peer.ours("client", peer.linux, port, "--send", BYTES, *way,
                         capture=False).wait(LONG)
    assert sink.got == [(BYTES, crc(BYTES))]
    assert last["bytes_sent"] == BYTES and last["closed"] == 1


@pytest.mark.by_turns
def test_we_receive(peer, way):
    with peer.server(source(BYTES)) as port:
        last = peer.ours("client", peer.linux, port, *way, capture=False).wait(LONG)
    assert (last["bytes_received"], last["crc"], last["mismatches"]) == (BYTES, crc(BYTES), 0)


@pytest.mark.by_turns
def test_we_both_ways_at_once(peer, way):
    with peer.server(echo) as port:
        last = peer.ours("client", peer.linux, port, "--send", BYTES // 2, "--echo", *way,
                         capture=False).wait(LONG)
    assert (last["bytes_received"], last["mismatches"], last["closed"]) == (BYTES // 2, 0, 1)


def test_offload_is_used(peer):
    """With Linux's offloads a frame carries many segments, in both directions; otherwise the tests
    above would prove nothing."""
    ours = peer.ours("echo", "--offload", "--chargen-bytes", 8 * MIB, capture=False)
    with peer.connect(CHARGEN) as sock:
        assert receive(sock) == (8 * MIB, crc(8 * MIB))
    assert ours.counter("tcp_tx") < 8 * MIB / 1448 / 2
    before = ours.counter("delivered_tcp")
    with peer.connect(DISCARD) as sock:
        send(sock, 8 * MIB)
        sock.shutdown(1)
        assert receive(sock) == (0, 0)
    assert ours.counter("delivered_tcp") - before < 8 * MIB / 1448 / 2


@pytest.mark.by_turns
def test_newreno(peer):
    peer.ours("echo", "--newreno", capture=False)
    with peer.connect(ECHO) as sock:
        echo_check(sock, 8 * MIB)


@pytest.mark.by_turns
def test_many_small_writes(peer):
    """Segments of a byte, each written separately, with and without Nagle's algorithm."""
    ours = peer.ours("echo")
    for nodelay in (0, 1):
        with peer.connect(ECHO, (6, 1, nodelay)) as sock:
            for at in range(0, 300):
                sock.sendall(bytes([at & 255]))
            sock.shutdown(1)
            got = b""
            while len(got) < 300:
                got += sock.recv(1000)
            assert got == bytes(at & 255 for at in range(300))
    assert ours.counter("tcp_resets") == 0
