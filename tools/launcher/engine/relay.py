"""The FPM connection from zebra to the router, which have no network in common: zebra's namespace
contains the router's interfaces and nothing else. The relay listens on zebra's loopback and connects
from the machine's own namespace, so that the management network is no interface of the routing engine.

One connection at a time, as the router accepts one. Each direction has a bounded buffer: if one side
does not read, the other is not read either. When one side ends, both end, and zebra connects again
after three seconds. The relay watches the router's side by TCP keep-alives, because zebra would notice
a router that was switched off only when it has a route to tell.

With `routing engine bfd` on the router there is a second one, between bfdd and the router: distributed
BFD (docs/routing-engine.md).
"""
import selectors
import socket
import time

from .. import process

ADDRESS = "127.0.0.1"
PORT = 2620  # where zebra connects
BFD_PORT = 50700  # where bfdd listens
COUPLE_S = 1.0  # between two attempts to connect bfdd
BUFFER = 256 * 1024
CONNECT_S = 5
DEAD_MS = 30000  # unacknowledged data for that long: the router is dead
KEEPALIVE = ((socket.TCP_KEEPIDLE, 5), (socket.TCP_KEEPINTVL, 2), (socket.TCP_KEEPCNT, 3))


def listen():
    """The listening socket; to be called inside zebra's namespace."""
    return socket.create_server((ADDRESS, PORT), backlog=1)


class Outer:
    """The router's side. say(text): once for each change of state."""

    def __init__(self, name, router, port, local, say):
        self.name, self.router, self.port, self.local, self.say = name, router, port, local, say
        self.said = None

    def connect(self):
        outer = socket.create_connection((self.router, self.port), CONNECT_S, (self.local, 0))
        outer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in KEEPALIVE + ((socket.TCP_USER_TIMEOUT, DEAD_MS), (socket.TCP_NODELAY, 1)):
            outer.setsockopt(socket.IPPROTO_TCP, option, value)
        return outer

    def tell(self, text):
        if text != self.said:
            self.say("%s: %s" % (self.name, text))
            self.said = text

    def carry(self, inner):
        """One connection, to its end."""
        with inner:
            try:
                with self.connect() as outer:
                    self.tell("connected to the router")
                    inner.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    pump(inner, outer)
                self.tell("the connection has ended")
            except OSError as error:
                self.tell("no connection to %s port %d: %s" % (self.router, self.port, error.strerror or error))


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


def serve(listener, outer):
    """Relays one connection of zebra after the other, for ever."""
    while True:
        outer.carry(listener.accept()[0])


def couple(netns, outer):
    """Connects bfdd and the router, for ever: bfdd before FRR 10.3 can only listen."""
    while True:
        with process.inside_netns(netns):
            inner = socket.socket()
        try:
            inner.connect((ADDRESS, BFD_PORT))
        except OSError:
            inner.close()  # bfdd does not run yet, or is not needed
        else:
            outer.carry(inner)
        time.sleep(COUPLE_S)
