"""How connections end: half-closed, abruptly, by reset, by silence; what follows. Urgent data."""
import fcntl
import socket
import struct
import threading
import time

import pytest
from conftest import CHARGEN, DISCARD, ECHO, eventually
from streams import crc, echo_check, pattern, receive, send

LINGER_RESET = struct.pack("ii", 1, 0)  # close() resets


def test_linux_closes_its_half_first(peer):
    """All data comes back after the FIN."""
    ours = peer.ours("echo")
    with peer.connect(ECHO) as sock:
        echo_check(sock, 300000)
    eventually(lambda: ours.status()["connections"] == 0, what="the connection is gone")
    assert ours.last["counters"]["tcp_closes"] == 1


def test_we_close_our_half_first(peer):
    """Linux continues to send long after it has received our FIN."""
    def late(sock):
        assert receive(sock) == (1000, crc(1000))
        time.sleep(0.3)
        send(sock, 300000)

    with peer.server(late) as port:
        last = peer.ours("client", peer.linux, port, "--send", 1000).wait()
    assert (last["bytes_received"], last["crc"], last["closed"]) == (300000, crc(300000), 1)


@pytest.mark.by_turns
def test_close_at_the_same_time(peer):
    """FINs cross on a link that is slow enough."""
    ours = peer.ours("echo", "--close-first", "--in", "delay=50", "--out", "delay=50",
                     "--time-wait", 500)
    with peer.connect(ECHO) as sock:
        sock.sendall(b"x")
        time.sleep(0.07)  # our FIN is in flight with the echo
        sock.shutdown(socket.SHUT_WR)
        assert receive(sock)[0] == 1
    # both have closed first, so both wait
    eventually(lambda: ours.status()["time_wait"] == 1, what="our TIME-WAIT")
    eventually(lambda: "TIME-WAIT" in peer.run(["ss", "-tan"]).stdout, what="Linux' TIME-WAIT")
    eventually(lambda: ours.status()["connections"] == 0, 10, "TIME-WAIT is over")
    assert ours.last["counters"]["tcp_closes"] == 1


def test_linux_resets(peer):
    ours = peer.ours("echo")
    for _ in range(5):
        sock = peer.connect(CHARGEN, (socket.SOL_SOCKET, socket.SO_LINGER, LINGER_RESET))
        sock.recv(1000)
        sock.close()
    eventually(lambda: ours.status()["connections"] == 0, what="the connections are gone")
    # data in flight causes further resets
    assert ours.last["counters"]["tcp_resets"] == 5


def test_we_reset(peer):
    """tcp_abort: Linux reads ECONNRESET."""
    errors = []

    def serve(sock):
        try:
            while True:
                sock.sendall(pattern(100000))
        except (ConnectionResetError, BrokenPipeError) as error:
            errors.append(error)

    with peer.server(serve) as port:
        last = peer.ours("client", peer.linux, port, "--abort-after", 500000).wait()
    assert last["aborted"] == 1 and last["counters"]["tcp_aborts"] == 1
    assert len(errors) == 1


def test_we_reset_what_is_held(peer):
    """A connection that --hold keeps open is reset: it is not closed later, when all are established."""
    def serve(sock):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a segment each
        try:
            sock.sendall(b"x")
            sock.sendall(b"y")
            sock.recv(1)
        except (ConnectionResetError, BrokenPipeError):
            pass

    with peer.server(serve) as port:
        last = peer.ours("client", peer.linux, port, "--hold", "--count", 2, "--parallel", 1, "--receive", 1,
                         "--abort-after", 2).wait()
    assert (last["connected"], last["aborted"]) == (2, 2)


def test_linux_dies_without_a_word(peer):
    """A half-open connection: Linux has forgotten it and resets what we send."""
    ours = peer.ours("echo", "--chargen-bytes", 1 << 30)
    sock = peer.connect(CHARGEN, (socket.SOL_SOCKET, socket.SO_RCVBUF, 4096))
    sock.setsockopt(socket.IPPROTO_TCP, 19, 1)  # TCP_REPAIR: close() sends nothing
    sock.close()
    eventually(lambda: ours.status()["connections"] == 0, 15, "we notice")
    assert ours.last["counters"]["tcp_resets"] == 1


@pytest.mark.by_turns
def test_keepalive_finds_the_dead(peer):
    ours = peer.ours("client", peer.linux, 5000, "--hold", "--count", 2, "--parallel", 1,
                     "--keep-alive", "--keepalive", 300, "--keepalive-interval", 200,
                     "--keepalive-probes", 3)
    ours.wait()  # a closed port: refused, and the loop has run once
    assert ours.last["refused"] == 2
    silent = threading.Event()

    def serve(sock):
        silent.wait(20)
        del sock

    with peer.server(serve) as port:
        client = peer.ours("client", peer.linux, port, "--hold", "--count", 1, "--receive", 1,
                           "--keep-alive", "--keepalive", 300, "--keepalive-interval", 200,
                           "--keepalive-probes", 3)
        eventually(lambda: client.counter("tcp_keepalives") >= 3, 10, "probes are answered")
        assert client.last["connections"] == 1  # Linux answers: it stays
        peer.ip("neighbour", "replace", peer.us, "lladdr", "02:00:00:00:00:99", "dev", "eth0")
        last = client.wait(10)  # now there is no answer
        silent.set()
    assert last["timed_out"] == 1 and last["counters"]["tcp_timeouts"] == 1


@pytest.mark.by_turns
def test_linux_keepalive_is_answered(peer):
    ours = peer.ours("echo")
    with peer.connect(ECHO, (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
                      (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1),
                      (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1),
                      (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 1)) as sock:
        before = ours.counter("tcp_tx")
        eventually(lambda: ours.counter("tcp_tx") >= before + 2, 10, "two answers")
        sock.sendall(b"still here")
        assert sock.recv(100) == b"still here"


@pytest.mark.by_turns
def test_user_timeout(peer):
    """Linux vanishes while we send: we give up after the configured time."""
    ours = peer.ours("echo", "--user-timeout", 2000)
    sock = peer.connect(CHARGEN)
    sock.recv(1000)
    begun = time.monotonic()
    peer.ip("link", "set", "eth0", "down")
    eventually(lambda: ours.status()["connections"] == 0, 15, "we give up")
    assert time.monotonic() - begun > 1.5
    assert ours.last["counters"]["tcp_timeouts"] == 1
    sock.close()


def test_linux_uses_our_time_wait_again(peer):
    """We closed first and are in TIME-WAIT; a SYN from the same port opens a new connection (RFC
    6191)."""
    ours = peer.ours("echo", "--close-first")
    for _ in range(5):
        with peer.connect(ECHO, source=40000) as sock:
            sock.sendall(b"x")
            assert receive(sock)[0] == 1
        time.sleep(0.01)  # the timestamps must advance
    counters = ours.status()["counters"]
    assert counters["tcp_accepts"] == 5 and counters["tcp_time_wait_reused"] == 4


@pytest.mark.by_turns
def test_we_use_a_time_wait_of_linux_again(peer):
    """The other way round: Linux closed first, and we reuse the same port."""
    for _ in range(3):
        with peer.server(lambda sock: sock.sendall(b"bye"), port=5001) as port:
            last = peer.ours("client", peer.linux, port, "--local-port", 40000).wait()
        assert last["closed"] == 1 and last["bytes_received"] == 3
        time.sleep(1.1)  # for timestamps of unrelated programs


def test_linux_sends_urgent(peer):
    """MSG_OOB: our side is told, and the bytes arrive in line (RFC 6093)."""
    ours = peer.ours("echo")
    with peer.connect(ECHO) as sock:
        sock.sendall(b"before")
        sock.send(b"!", socket.MSG_OOB)
        sock.sendall(b"after")
        sock.shutdown(socket.SHUT_WR)
        got = b""
        while piece := sock.recv(100):
            got += piece
    assert got == b"before!after"
    assert ours.status()["urgent"] == 1


def test_we_send_urgent(peer):
    """Linux sees the mark where we set it: after the first ten bytes."""
    seen = []

    def serve(sock):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
        got = b""
        while len(got) < 1000:
            # SIOCATMARK: the next byte to read is the last urgent one
            if not seen and sock.recv(1, socket.MSG_PEEK):
                mark = struct.unpack("i", fcntl.ioctl(sock, 0x8905, b"\0\0\0\0"))[0]
                if mark:
                    seen.append(len(got))
            piece = sock.recv(1)
            if not piece:
                break
            got += piece
        assert got == pattern(1000)

    with peer.server(serve) as port:
        last = peer.ours("client", peer.linux, port, "--send", 1000, "--urgent", 10).wait()
    assert last["closed"] == 1
    assert seen == [9]


def test_data_for_who_has_closed(peer):
    """--close-first: later data from Linux is acknowledged and discarded, or reset, never kept."""
    ours = peer.ours("echo", "--close-first", "--time-wait", 300)
    sock = peer.connect(ECHO)
    sock.sendall(b"x")
    assert receive(sock)[0] == 1
    sock.sendall(pattern(50000))
    sock.close()
    eventually(lambda: ours.status()["connections"] == 0, 10, "all is gone")


@pytest.mark.by_turns
@pytest.mark.parametrize("port", [ECHO, DISCARD, CHARGEN])
def test_closed_at_once(peer, port):
    """Connections without any data."""
    ours = peer.ours("echo", "--chargen-bytes", 100)
    for _ in range(20):
        with peer.connect(port) as sock:
            sock.shutdown(socket.SHUT_WR)
            receive(sock)
    eventually(lambda: ours.status()["connections"] == ours.last["time_wait"], what="all ended")
    assert ours.last["counters"]["tcp_accepts"] == 20


def test_a_sink_that_ends(peer):
    """Linux closes while we send: later data is reset, and we stop."""
    def serve(sock):
        sock.recv(1000)

    with peer.server(serve) as port:
        last = peer.ours("client", peer.linux, port, "--send", 5000000).wait()
    assert last["reset"] == 1
