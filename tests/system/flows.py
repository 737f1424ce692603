"""Many UDP flows between two hosts. Each packet is numbered, and a few of each flow are in flight
at a time, so that no queue on the path overflows: a lost packet was lost by a failure."""
import re
import select
import socket
import statistics
import struct
import time

WINDOW = 4
PATIENCE_S = 0.01  # then the next one is sent, whether or not the last ones arrived
MISSING_MAX = 30   # per flow, in any time: tap and ring hold some thousand
FIRST_PORT = 20000


class Flow:
    """One pair of ports, from left to right."""

    def __init__(self, left, right, address, number):
        self.out = left.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.out.bind(("", FIRST_PORT + number))
        self.into = right.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.into.bind((address, FIRST_PORT + number))
        self.out.setblocking(False)
        self.into.setblocking(False)
        self.to = (address, FIRST_PORT + number)
        self.sent = 0
        self.missing = {}  # number -> when it was sent
        self.lost = set()  # given up
        self.last = time.monotonic()  # time of the last arrival
        self.outage_s = 0.0           # the longest time without an arrival

    def close(self):
        self.out.close()
        self.into.close()

    def send(self):
        """Sends as many packets as may be in flight."""
        now = time.monotonic()
        fresh = sum(1 for at in self.missing.values() if now - at < PATIENCE_S)
        for _ in range(min(WINDOW - fresh, MISSING_MAX - len(self.missing))):
            try:
                self.out.sendto(struct.pack("!I", self.sent), self.to)
            except BlockingIOError:
                return
            self.missing[self.sent] = now
            self.sent += 1

    def receive(self):
        """Takes the packets that have arrived."""
        now = time.monotonic()
        while True:
            try:
                number, = struct.unpack("!I", self.into.recv(100))
            except BlockingIOError:
                return
            if number in self.lost:
                self.lost.remove(number)
            else:
                assert self.missing.pop(number, None) is not None, "%d came twice" % number
            self.outage_s = max(self.outage_s, now - self.last)
            self.last = now


class Flows:
    """`count` flows, from `left` to `address` of `right`; a context manager."""

    def __init__(self, left, right, address, count):
        self.list = []
        try:
            for number in range(count):
                self.list.append(Flow(left, right, address, number))
        except BaseException:
            self.__exit__()
            raise
        self.reader = {flow.into: flow for flow in self.list}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for flow in self.list:
            flow.close()

    def run(self, seconds, flows=None, sending=True):
        """Runs these flows, or all; packets in flight at the end may arrive later."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for flow in (flows or self.list) if sending else ():
                flow.send()
            for sock in select.select(list(self.reader), [], [], 0.005)[0]:
                self.reader[sock].receive()

    def fault(self, router, core, done):
        """Makes a core's program fail. Runs all flows until the console prints `done`, whose first
        group is microseconds, and a little longer. Returns the microseconds."""
        router.skip()
        router.send("test fault ud core %d" % core)
        end = time.monotonic() + 30
        while not (match := re.search(done, router.text[router.mark:])):
            assert time.monotonic() < end, router.tail()
            assert "ports restart" not in router.text[router.mark:], router.tail()
            self.run(0.02)
            router.poll()
        self.run(0.1)
        return int(match.group(1))

    def settle(self, patience_s=10.0, whose=None):
        """Stops sending, and waits for the outstanding packets of these flows, or of all. Returns
        the numbers of all flows that still miss some."""
        end = time.monotonic() + patience_s
        while time.monotonic() < end and any(flow.missing for flow in whose or self.list):
            self.run(0.01, sending=False)
        return [i for i, flow in enumerate(self.list) if flow.missing]

    def begin(self):
        """Starts measuring outages."""
        for flow in self.list:
            flow.outage_s, flow.last = 0.0, time.monotonic()

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
