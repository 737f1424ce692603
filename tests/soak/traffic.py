"""The traffic of a soak: flows of numbered packets in both directions, and TCP with known bytes.

One thread sends and receives all packets, and two others have a TCP connection each. Rates are low
on purpose: the test looks for packets lost without a reason, and a host that is too slow would be
a reason.
"""
import random
import select
import socket
import struct
import threading
import time

from judge import Flow, packet, read

TICK_S = 0.02
PACKET_BYTES = 65536
TCP_PIECE, TCP_PAUSE_S = 16384, 0.1
SO_RCVBUFFORCE = 33
IP_MTU_DISCOVER, IP_PMTUDISC_DONT = 10, 0
ECHO = {socket.AF_INET: 8, socket.AF_INET6: 128}


def room(sock):
    """A large buffer: a late receiver loses nothing."""
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
    sock.setblocking(False)
    return sock


class Udp:
    """Datagrams from one host to another; those longer than the link's MTU go in fragments."""

    def __init__(self, name, source, target, family, address, port, size):
        self.flow, self.size = Flow(name), size
        self.to = (address, port)
        self.out = source.socket(family)
        if family == socket.AF_INET:
            self.out.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT)
        self.inside = room(target.socket(family))
        self.inside.bind((address, port))

    def send(self, data):
        self.out.sendto(data, self.to)

    def received(self):
        return self.inside.recv(PACKET_BYTES)

    def close(self):
        self.out.close()
        self.inside.close()


class Ping:
    """Echo requests, and the answers of the other host's kernel. Their order is not checked: a tap
    with several queues assigns a flow to the queue of its last answer, so a request may overtake
    another before the router receives either (tun_flow_update of Linux)."""

    def __init__(self, name, source, family, address, size):
        self.flow, self.size, self.family = Flow(name, ordered=False), size, family
        protocol = socket.IPPROTO_ICMP if family == socket.AF_INET else socket.IPPROTO_ICMPV6
        self.out = self.inside = room(source.socket(family, socket.SOCK_RAW, protocol))
        self.to = (address, 0)

    def send(self, data):
        number = self.flow.next & 0xffff
        head = bytes([ECHO[self.family], 0, 0, 0, 0x50, 0x50]) + number.to_bytes(2, "big")
        if self.family == socket.AF_INET:  # the kernel makes ICMPv6's checksum
            head = head[:2] + internet_sum(head + data).to_bytes(2, "big") + head[4:]
        self.out.sendto(head + data, self.to)

    def received(self):
        """The payload of an answer; None for another message."""
        data = self.inside.recv(PACKET_BYTES)
        if self.family == socket.AF_INET:
            data = data[4 * (data[0] & 15):]
        wanted = 0 if self.family == socket.AF_INET else 129
        return data[8:] if data[:1] == bytes([wanted]) and data[4:6] == b"PP" else None

    def close(self):
        self.out.close()


class Tagged(Udp):
    """Datagrams that arrive with a tag: frames as bytes, because the host's kernel may lack VLANs.
    source: an address that is the router's neighbour on that VLAN."""

    def __init__(self, name, source, target, gateway_mac, vid, address, to, port, size):
        super().__init__(name, source, target, socket.AF_INET, to, port, size)
        self.out.close()
        self.out = source.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.out.bind(("eth0", 0))
        self.ends = socket.inet_aton(address) + socket.inet_aton(to)
        self.ports = struct.pack(">HH", port, port)
        self.frame = (bytes.fromhex(gateway_mac.replace(":", "")) + bytes([2, 0xaa, 0, 0, 1, 0])
                      + struct.pack(">HHH", 0x8100, vid, 0x0800))

    def send(self, data):
        length = struct.pack(">H", 8 + len(data))
        udp_sum = internet_sum(self.ends + b"\0\x11" + length + self.ports + length + data) or 0xffff
        head = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(data), 0, 0, 64, 17, 0)
        head = head[:10] + struct.pack(">H", internet_sum(head + self.ends))
        self.out.send(self.frame + head + self.ends + self.ports + length
                      + struct.pack(">H", udp_sum) + data)


def internet_sum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(int.from_bytes(data[i:i + 2], "big") for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


class Stream(threading.Thread):
    """A TCP connection whose bytes follow from a seed; `wrong` describes a received error."""

    def __init__(self, name, source, target, family, address, port, seed):
        super().__init__(daemon=True)
        self.name_ = name
        self.wrong = ""
        self.sent = self.came = 0
        self.stopping = False
        listener = target.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(1)
        self.out = source.socket(family, socket.SOCK_STREAM)
        self.out.settimeout(30)
        self.out.connect((address, port))
        self.inside = listener.accept()[0]
        self.inside.settimeout(120)
        listener.close()
        self.seed = seed
        self.reader = threading.Thread(target=self._read, daemon=True)

    def run(self):
        rng = random.Random(self.seed)
        self.reader.start()
        self.out.settimeout(120)
        try:
            while not self.stopping:
                self.out.sendall(rng.randbytes(TCP_PIECE))
                self.sent += TCP_PIECE
                time.sleep(TCP_PAUSE_S)
            self.out.shutdown(socket.SHUT_WR)
        except OSError as error:
            self.wrong = self.wrong or "sending: %s" % error

    def _read(self):
        rng = random.Random(self.seed)
        expected = b""
        try:
            while True:
                data = self.inside.recv(65536)
                if not data:
                    break
                while len(expected) < len(data):
                    expected += rng.randbytes(TCP_PIECE)
                if expected[:len(data)] != data:
                    self.wrong = "other bytes than were sent, at about %d" % self.came
                    return
                expected = expected[len(data):]
                self.came += len(data)
        except OSError as error:
            self.wrong = self.wrong or "receiving: %s" % error

    def finish(self):
        """Ends the connection; returns an error text, or ''."""
        self.stopping = True
        self.join(150)
        self.reader.join(150)
        self.out.close()
        self.inside.close()
        if not self.wrong and self.came != self.sent:
            self.wrong = "%d bytes sent, %d came" % (self.sent, self.came)
        return self.wrong and "%s: %s" % (self.name_, self.wrong)


class Traffic(threading.Thread):
    """All flows of packets. `now` is its clock: seconds since its creation."""

    def __init__(self, flows):
        super().__init__(daemon=True)
        self.flows = flows
        self.start_s = time.monotonic()
        self.lock = threading.Lock()
        self.damaged, self.unsent = [], 0
        self.sending = self.alive = True
        self.failure = None

    def now(self):
        return time.monotonic() - self.start_s

    def run(self):
        try:
            while self.alive:
                if self.sending:
                    self._send()
                self._receive(time.monotonic() + TICK_S)
        except Exception as error:  # the main thread asks for it
            self.failure = error

    def _send(self):
        for number, one in enumerate(self.flows):
            with self.lock:
                data = packet(number, one.flow.next, one.size)
                try:
                    one.send(data)
                    one.flow.sends(self.now())
                except OSError:
                    self.unsent += 1  # the cable is out, or no answer to ARP: it was not sent

    def _receive(self, until):
        by_socket = {one.inside: one for one in self.flows}
        while True:
            ready = select.select(list(by_socket), [], [], max(0.0, until - time.monotonic()))[0]
            for sock in ready:
                self._take(by_socket[sock])
            if time.monotonic() >= until:
                return

    def _take(self, one):
        for _ in range(256):
            try:
                data = one.received()
            except OSError:
                return
            if data is None:
                continue
            found = read(data)
            with self.lock:
                if found is None or self.flows[found[0]] is not one:
                    self.damaged.append(self.now())
                else:
                    one.flow.takes(found[1], self.now())

    def back_since(self, when):
        """Names of the flows from which no packet sent after `when` has arrived yet."""
        with self.lock:
            return [one.flow.name for one in self.flows if one.flow.last_sent <= when]

    def under_way(self):
        with self.lock:
            return sum(len(one.flow.under_way) for one in self.flows)

    def counts(self):
        with self.lock:
            return (sum(one.flow.next for one in self.flows),
                    sum(one.flow.came for one in self.flows))

    def finish(self, quiet_s):
        """Stops sending, and ends when nothing has arrived for `quiet_s`."""
        self.sending = False
        before, since = -1, time.monotonic()
        while time.monotonic() - since < quiet_s:
            came = self.counts()[1]
            if came != before:
                before, since = came, time.monotonic()
            time.sleep(0.1)
        self.alive = False
        self.join(10)
        for one in self.flows:
            one.close()
