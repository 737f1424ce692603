"""Many connections, in parallel and in sequence."""
import selectors
import socket
import threading

import pytest
from conftest import ECHO, FULL, eventually
from streams import ONCE, pattern

MANY = 10000
SEQUENCE = 100000 if FULL else 20000


class EchoServer(threading.Thread):
    """Linux's end of any number of connections: one thread, echo of small pieces. `first`: greets
    with these bytes and closes, instead."""

    def __init__(self, peer, greeting=None):
        super().__init__(daemon=True)
        self.listener = peer.tcp()
        self.listener.bind((peer.linux, 0))
        peer.sysctl("net.core.somaxconn", 16384)
        peer.sysctl("net.ipv4.tcp_max_syn_backlog", 16384)
        self.listener.listen(16384)
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.greeting = greeting
        self.selector = selectors.EpollSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.open = self.most = self.served = 0
        self.ended = False
        self.start()

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except BlockingIOError:
                return
            self.served += 1
            if self.greeting:
                sock.sendall(self.greeting)
                sock.close()
                continue
            sock.setblocking(False)
            self.selector.register(sock, selectors.EVENT_READ)
            self.open += 1
            self.most = max(self.most, self.open)

    def serve(self, sock):
        try:
            piece = sock.recv(65536)
        except ConnectionResetError:
            piece = b""
        if piece:
            sock.sendall(piece)  # small: the buffer takes it
            return
        self.selector.unregister(sock)
        sock.close()
        self.open -= 1

    def run(self):
        while not self.ended:
            for key, _ in self.selector.select(0.2):
                if key.fileobj is self.listener:
                    self.accept()
                else:
                    self.serve(key.fileobj)

    def close(self):
        self.ended = True
        self.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()


@pytest.mark.by_turns
def test_ten_thousand_of_theirs(peer):
    ours = peer.ours("echo", "--syn-max", 20000, "--snd-buf", 16384, "--rcv-buf", 16384,
                     capture=False)
    peer.sysctl("net.ipv4.ip_local_port_range", "1024 65000")
    socks = [peer.connect(ECHO) for _ in range(MANY)]
    try:
        assert ours.status()["established"] == MANY
        for i, sock in enumerate(socks):
            sock.sendall(b"%06d" % i)
        for i, sock in enumerate(socks):
            assert sock.recv(6) == b"%06d" % i
    finally:
        for sock in socks:
            sock.close()
    eventually(lambda: ours.status()["connections"] == 0, 20, "the end of all connections")
    assert ours.last["counters"]["tcp_closes"] == MANY


@pytest.mark.by_turns
def test_ten_thousand_of_ours(peer):
    server = EchoServer(peer)
    try:
        last = peer.ours("client", peer.linux, server.port, "--count", MANY, "--parallel", MANY,
                         "--hold", "--send", 100, "--echo", "--rcv-buf", 16384, "--snd-buf", 16384,
                         capture=False).wait(90)
        assert (last["connected"], last["closed"], last["mismatches"]) == (MANY, MANY, 0)
        assert last["bytes_received"] == MANY * 100
        # --hold ensures that no connection closes before all are open
        assert server.served == MANY and server.most > MANY // 2
    finally:
        server.close()


@pytest.mark.by_turns
def test_one_after_another_theirs(peer):
    """Linux connects, exchanges data and closes first, so its TIME-WAITs are reused; ours too."""
    ours = peer.ours("echo", capture=False)
    peer.sysctl("net.ipv4.tcp_tw_reuse", 1)
    peer.sysctl("net.ipv4.ip_local_port_range", "1024 65000")
    peer.sysctl("net.ipv4.tcp_max_tw_buckets", 1000)  # older ones are dropped at once
    for i in range(SEQUENCE):
        with peer.connect(ECHO) as sock:
            if i % 16 == 0:
                sock.sendall(b"x")
                assert sock.recv(1) == b"x"
    eventually(lambda: ours.status()["connections"] == 0, 20, "the end of all connections")
    assert ours.last["counters"]["tcp_accepts"] == SEQUENCE
    assert ours.last["counters"]["tcp_closes"] == SEQUENCE


@pytest.mark.by_turns
def test_one_after_another_we_close_first(peer):
    """Our TIME-WAITs fill the table, and the oldest are recycled."""
    count = 6000
    ours = peer.ours("echo", "--close-first", "--connections", 4096, capture=False)
    for _ in range(count):
        with peer.connect(ECHO) as sock:
            sock.sendall(b"x")
            assert sock.recv(1) == b"x"
            assert sock.recv(1) == b""
    counters = ours.status()["counters"]
    assert counters["tcp_accepts"] == count
    # by chance Linux reuses some ports
    again = counters.get("tcp_time_wait_reused", 0)
    assert counters["tcp_time_wait_recycled"] >= count - 4096 - again > 0
    assert counters.get("tcp_full", 0) == 0


@pytest.mark.by_turns
def test_one_after_another_ours(peer):
    """We connect; Linux greets and closes first. Ports repeat: a SYN from us in Linux's TIME-WAIT
    opens a new connection (RFC 6191)."""
    server = EchoServer(peer, greeting=ONCE[:10])
    try:
        last = peer.ours("client", peer.linux, server.port, "--count", SEQUENCE, "--parallel", 32,
                         capture=False).wait(300)
        assert (last["closed"], last["mismatches"]) == (SEQUENCE, 0)
        assert last["bytes_received"] == 10 * SEQUENCE and server.served == SEQUENCE
    finally:
        server.close()


def test_requests(peer):
    """64 bytes in each direction on 64 connections."""
    server = EchoServer(peer)
    try:
        last = peer.ours("client", peer.linux, server.port, "--count", 64, "--parallel", 64,
                         "--requests", 20000, "--send", 64, "--nodelay", capture=False).wait(60)
        assert last["requests"] >= 20000 and last["mismatches"] == 0 and last["closed"] == 64
    finally:
        server.close()


def test_more_than_there_is_room_for(peer):
    """A full table: those that are there live on; others are answered by cookies, which take nothing,
    and come in with what they say once there is room."""
    ours = peer.ours("echo", "--connections", 64)
    socks = [peer.connect(ECHO) for _ in range(64)]
    late = [peer.connect(ECHO) for _ in range(3)]  # it believes so
    for sock in late:
        sock.sendall(b"x")
    eventually(lambda: ours.counter("drop_tcp_full") > 3, 10, "cookies that come back without room")
    assert ours.counter("tcp_cookies_tx") == 3
    for sock in socks:
        sock.sendall(pattern(1000))
    for sock in socks:
        assert sock.recv(1000, socket.MSG_WAITALL) == pattern(1000)
        sock.close()
    for sock in late:
        sock.settimeout(20)
        assert sock.recv(1) == b"x"
        sock.close()
    assert ours.counter("tcp_cookies_good") == 3
