"""Many UDP flows between two hosts. Each packet is numbered, and a few of each flow are in flight
at a time, so that no queue on the path overflows: a lost packet was lost by a failure."""
import concurrent.futures
import contextlib
import re
import select
import socket
import statistics
import struct
import threading
import time

WINDOW = 4
PATIENCE_S = 0.01  # then the next one is sent, whether or not the last ones arrived
MISSING_MAX = 30   # per flow, in any time,
MISSING_ALL = 960  # and of all flows: QEMU's vmxnet3 drops what its ring of 1,024 does not hold, instead
                   # of leaving it in the tap
PAUSE_S = 0.01     # beside other work
PACE_S = 0.001     # between packets of a flow whose silence is measured
PROBE_S = 0.1
FIRST_PORT = 20000
IP_PKTINFO, IPV6_RECVPKTINFO, IPV6_PKTINFO = 8, 49, 50  # of Linux


class Flow:
    """One pair of ports, from left to right."""

    def __init__(self, left, right, address, number, most):
        """most: packets that may be missing."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.out = left.socket(family, socket.SOCK_DGRAM)
        self.out.bind(("", FIRST_PORT + number))
        self.into = right.socket(family, socket.SOCK_DGRAM)
        self.into.bind((address, FIRST_PORT + number))
        if family == socket.AF_INET:
            self.into.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
        else:
            self.into.setsockopt(socket.IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
        self.out.setblocking(False)
        self.into.setblocking(False)
        self.to = (address, FIRST_PORT + number)
        self.device = None  # index of the right host's interface by which the last packet came
        self.sent = 0
        self.most = most
        self.window = WINDOW
        self.missing = {}  # number -> when it was sent
        self.lost = set()  # given up
        self.newest, self.overtaken = -1, 0  # the highest number that has come; packets that came after a higher one
        self.last = time.monotonic()  # time of the last arrival
        self.outage_s = 0.0           # the longest time without an arrival
        self.sent_at = None           # number -> when it was sent, of those sent at a steady pace
        self.arrived = lambda: None   # called when packets have arrived

    def close(self):
        self.out.close()
        self.into.close()

    def send(self):
        """Sends as many packets as may be in flight."""
        now = time.monotonic()
        fresh = sum(1 for at in self.missing.values() if now - at < PATIENCE_S)
        for _ in range(min(self.window - fresh, self.most - len(self.missing))):
            try:
                self.out.sendto(struct.pack("!I", self.sent), self.to)
            except BlockingIOError:
                return
            self.missing[self.sent] = now
            self.sent += 1

    def send_paced(self):
        """Sends one packet, unless the last one was sent less than PACE_S ago, whatever has arrived."""
        now = time.monotonic()
        if self.sent_at and now - self.sent_at.get(self.sent - 1, 0) < PACE_S:
            return
        try:
            self.out.sendto(struct.pack("!I", self.sent), self.to)
        except BlockingIOError:
            return
        self.missing[self.sent] = self.sent_at[self.sent] = now
        self.sent += 1

    def silence_s(self):
        """The longest time during which all packets sent at a steady pace were lost, from the first of them to the
        next one that arrived. Delays of packets that arrive do not count."""
        longest, since = 0.0, None
        for number, at in self.sent_at.items():
            if number in self.missing or number in self.lost:
                since = at if since is None else since
            elif since is not None:
                longest, since = max(longest, at - since), None
        return longest

    def give_up_first(self):
        """Stops waiting for the oldest missing packet, which may still arrive."""
        number = next(iter(self.missing))
        del self.missing[number]
        self.lost.add(number)

    def receive(self):
        """Takes the packets that have arrived."""
        now = time.monotonic()
        while True:
            try:
                data, about = self.into.recvmsg(100, 64)[:2]
            except BlockingIOError:
                break
            number, = struct.unpack("!I", data)
            self.device = device_of(about)
            self.overtaken += number < self.newest
            self.newest = max(self.newest, number)
            if number in self.lost:
                self.lost.remove(number)
            else:
                assert self.missing.pop(number, None) is not None, "%d came twice" % number
            self.outage_s = max(self.outage_s, now - self.last)
            self.last = now
        if self.last == now:
            self.arrived()


def device_of(about):
    """The interface's index in the ancillary data of a packet (in_pktinfo, in6_pktinfo)."""
    for level, kind, data in about:
        if (level, kind) == (socket.IPPROTO_IP, IP_PKTINFO):
            return struct.unpack("=I", data[:4])[0]
        if (level, kind) == (socket.IPPROTO_IPV6, IPV6_PKTINFO):
            return struct.unpack("=I", data[16:20])[0]
    return None


class Flows:
    """`count` flows, from `left` to each of these addresses of `right`; a context manager."""

    def __init__(self, left, right, addresses, count):
        self.list = []
        addresses = [addresses] if isinstance(addresses, str) else addresses
        most = min(MISSING_MAX, MISSING_ALL // (len(addresses) * count))
        assert most >= WINDOW
        try:
            for address in addresses:
                for _ in range(count):
                    self.list.append(Flow(left, right, address, len(self.list), most))
        except BaseException:
            self.__exit__()
            raise
        self.reader = {flow.into: flow for flow in self.list}
        self.said = []  # what the console has said of the last fault

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for flow in self.list:
            flow.close()

    def to(self, address):
        """The flows to that address."""
        return [flow for flow in self.list if flow.to[0] == address]

    def run(self, seconds, flows=None, sending=True):
        """Runs these flows, or all; packets in flight at the end may arrive later."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for flow in (flows or self.list) if sending else ():
                if flow.sent_at is None:
                    flow.send()
                else:
                    flow.send_paced()
            paced = any(flow.sent_at is not None for flow in self.list)
            for sock in select.select(list(self.reader), [], [], PACE_S / 2 if paced else 0.005)[0]:
                self.reader[sock].receive()

    @contextlib.contextmanager
    def sending(self):
        """All flows run while the block runs, in a thread. A flow that misses as many packets as it may sends
        another one every PROBE_S: no more, because the machine may merely be slow."""
        done = threading.Event()

        def work():
            probe = 0.0
            while not done.is_set():
                self.run(0.001)
                if time.monotonic() >= probe:
                    probe = time.monotonic() + PROBE_S
                    for flow in self.list:
                        if len(flow.missing) >= flow.most:
                            flow.give_up_first()
                time.sleep(PAUSE_S)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            thread = pool.submit(work)
            try:
                yield
            finally:
                done.set()
            thread.result()

    def fault(self, router, core, done):
        """Makes a core's program fail. Runs all flows until the console prints `done`, whose groups
        are microseconds, and a little longer. Returns the first group; all are in `said`."""
        self.run(0.02)
        router.skip()
        router.send("test fault ud core %d" % core)
        end = time.monotonic() + 30
        while not (match := re.search(done, router.text[router.mark:])):
            assert time.monotonic() < end, router.tail()
            assert "ports restart" not in router.text[router.mark:], router.tail()
            self.run(0.02)
            router.poll()
        self.run(0.1)
        self.said = [int(us) for us in match.groups()]
        return self.said[0]

    @contextlib.contextmanager
    def flood(self, host, address, count):
        """While the block runs, `host` sends `count` datagrams to `address` each time that a packet of the first flow
        has arrived: none while the router or the cards' model waits for a CPU, whose rings they would overflow."""
        with host.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)

            def send():
                with contextlib.suppress(BlockingIOError):
                    for _ in range(count):
                        sock.sendto(bytes(100), (address, 9))
            self.list[0].arrived = send
            try:
                yield
            finally:
                self.list[0].arrived = lambda: None

    def settle(self, patience_s=10.0, whose=None):
        """Stops sending, and waits for the outstanding packets of these flows, or of all. Returns
        the numbers of all flows that still miss some."""
        end = time.monotonic() + patience_s
        while time.monotonic() < end and any(flow.missing for flow in whose or self.list):
            self.run(0.01, sending=False)
        return [i for i, flow in enumerate(self.list) if flow.missing]

    def overtaken(self):
        """The flows, by number, of which packets came after later ones, and how many."""
        return {i: flow.overtaken for i, flow in enumerate(self.list) if flow.overtaken}

    def begin(self, paced=()):
        """Starts measuring outages. These flows send at a steady pace until end_pace."""
        for flow in self.list:
            flow.outage_s, flow.last = 0.0, time.monotonic()
        for flow in paced:
            flow.sent_at = {}

    def end_pace(self):
        """All flows wait for arrivals again."""
        for flow in self.list:
            flow.sent_at = None

    def give_up(self):
        """Stops waiting for missing packets, which may still arrive."""
        for flow in self.list:
            flow.lost.update(flow.missing)
            flow.missing.clear()


def figures(taken_us, outages_s):
    """Summarises many failures of one core, for the output of a long run."""
    return ("%d us (median; worst %d); the longest silence of a flow, as hosts see it, %.1f ms (median; "
            "worst %.1f)" % (statistics.median(taken_us), max(taken_us),
                             1000 * statistics.median(outages_s), 1000 * max(outages_s)))
