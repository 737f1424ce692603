"""The FPM connection from zebra to the router, which have no network in common: zebra's namespace
contains the router's interfaces and nothing else. The relay listens on zebra's loopback and connects
from the machine's own namespace, so that the management network is no interface of the routing engine.

One connection at a time, as the router accepts one. Each direction has a bounded buffer: if one side
does not read, the other is not read either. When one side ends, both end, and zebra connects again
after three seconds. The relay watches the router's side by TCP keep-alives, because zebra would notice
a router that was switched off only when it has a route to tell.
"""
import selectors
import socket

ADDRESS = "127.0.0.1"
PORT = 2620  # where zebra connects
BUFFER = 256 * 1024
CONNECT_S = 5
DEAD_MS = 30000  # unacknowledged data for that long: the router is dead
KEEPALIVE = ((socket.TCP_KEEPIDLE, 5), (socket.TCP_KEEPINTVL, 2), (socket.TCP_KEEPCNT, 3))


def listen():
    """The listening socket; to be called inside zebra's namespace."""
    return socket.create_server((ADDRESS, PORT), backlog=1)


def connect(router, port, local):
    outer = socket.create_connection((router, port), CONNECT_S, (local, 0))
    outer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEPALIVE + ((socket.TCP_USER_TIMEOUT, DEAD_MS), (socket.TCP_NODELAY, 1)):
        outer.setsockopt(socket.IPPROTO_TCP, option, value)
    return outer


class _End:
    """One socket of a connection, and what it has to send."""

    def __init__(self, sock):
        self.sock = sock
        self.out = bytearray()
        sock.setblocking(False)

    def wants(self, other):
        """What to wait for; other's buffer takes what this end receives."""
        return (selectors.EVENT_READ if len(other.out) < BUFFER else 0) | \
            (selectors.EVENT_WRITE if self.out else 0)

    def send(self):
        del self.out[:self.sock.send(self.out)]


def pump(one, two):
    """Carries octets both ways until a side ends."""
    ends = (_End(one), _End(two))
    with selectors.DefaultSelector() as wait:
        while True:
            for end, other in (ends, ends[::-1]):
                wanted = end.wants(other)
                if end.sock.fileno() in wait.get_map():
                    wait.unregister(end.sock)
                if wanted:
                    wait.register(end.sock, wanted, (end, other))
            for key, events in wait.select():
                end, other = key.data
                if events & selectors.EVENT_READ:
                    data = end.sock.recv(BUFFER)
                    if not data:
                        return
                    other.out += data
                if events & selectors.EVENT_WRITE:
                    end.send()


def serve(listener, router, port, local, say):
    """Relays one connection after the other, for ever. say(text): once for each change of state."""
    said = None
    while True:
        inner, _ = listener.accept()
        with inner:
            try:
                with connect(router, port, local) as outer:
                    say("FPM: zebra is connected to the router")
                    said = None
                    pump(inner, outer)
                    say("FPM: the connection has ended")
            except OSError as error:
                text = "FPM: no connection to %s port %d: %s" % (router, port, error.strerror or error)
                if text != said:
                    say(text)
                said = text
