"""Bytes to send and to expect: the pattern of examples/pattern.h, and exchanges over a socket."""
import socket
import threading
import zlib

PERIOD = 65521


def _period():
    x, out = 1, bytearray()
    for _ in range(PERIOD):
        out.append(x >> 24)
        x = (x * 1664525 + 1013904223) & 0xffffffff
    return bytes(out)


ONCE = _period()
CHUNK = ONCE * 4  # a whole number of periods, used to send a stream


def pattern(n):
    return (ONCE * (n // PERIOD + 1))[:n]


def pieces(n):
    """The pattern's first n bytes, in large pieces."""
    while n > 0:
        yield CHUNK if n >= len(CHUNK) else CHUNK[:n]
        n -= len(CHUNK)


def crc(n):
    """CRC-32 of the pattern's first n bytes."""
    value = 0
    for piece in pieces(n):
        value = zlib.crc32(piece, value)
    return value


def send(sock, n):
    for piece in pieces(n):
        sock.sendall(piece)


def receive(sock, most=None):
    """Receives all bytes up to the peer's end, or `most`: (number of bytes, their CRC-32)."""
    count, value = 0, 0
    while most is None or count < most:
        piece = sock.recv(1 << 18 if most is None else min(1 << 18, most - count))
        if not piece:
            break
        count += len(piece)
        value = zlib.crc32(piece, value)
    return count, value


class Sending(threading.Thread):
    """Sends the pattern while another thread receives, then closes its half of the connection."""

    def __init__(self, sock, n, close=True):
        super().__init__(daemon=True)
        self.sock, self.n, self.close, self.error = sock, n, close, None
        self.start()

    def run(self):
        try:
            send(self.sock, self.n)
            if self.close:
                self.sock.shutdown(socket.SHUT_WR)
        except OSError as error:
            self.error = error

    def done(self):
        self.join(60)
        assert not self.is_alive(), "still sending"
        assert self.error is None, self.error


def echo_check(sock, n):
    """Sends n bytes, and expects the same bytes and the end."""
    sending = Sending(sock, n)
    got = receive(sock)
    sending.done()
    assert got == (n, crc(n))


# --- services of a Linux server, called for a connection ---

def echo(sock):
    while True:
        piece = sock.recv(1 << 16)
        if not piece:
            break
        sock.sendall(piece)


def source(n):
    """Sends n bytes and closes."""
    def serve(sock):
        send(sock, n)
    return serve


class Sink:
    """Receives up to the end; records (number of bytes, CRC-32) of each connection."""

    def __init__(self):
        self.got = []

    def __call__(self, sock):
        self.got.append(receive(sock))
