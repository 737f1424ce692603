"""The fate of numbered packets: which were lost, duplicated, late or damaged, and by which fault.

A packet is a RECORD and a filling derived from it, so that its receiver can verify it without other
data. Each flow numbers its packets from 0.

A fault has a window, from before it is made until every flow has been seen to get through again. A
packet is lost by a fault if it may have been in flight in the fault's window: it was sent no longer
before the window than the slowest packet of this run took. Any other loss is a discrepancy.
"""
import struct
import zlib

RECORD = struct.Struct(">4sHHQII")  # magic, flow, length, number, sum of the filling, of these
MAGIC = b"soak"
HEAD = struct.Struct(">4sHHQI")
NOISE = bytes(range(256)) * 257


def packet(flow, number, size):
    """Number `number` of a flow, `size` bytes."""
    start = (number * 7 + flow) % 256
    filling = NOISE[start:start + size - RECORD.size]
    head = HEAD.pack(MAGIC, flow, size, number, zlib.crc32(filling))
    return head + struct.pack(">I", zlib.crc32(head)) + filling


def read(data):
    """(flow, number) of a packet; None if it is damaged."""
    if len(data) < RECORD.size:
        return None
    magic, flow, size, number, filling, whole = RECORD.unpack_from(data)
    good = (magic == MAGIC and size == len(data) and whole == zlib.crc32(data[:HEAD.size])
            and filling == zlib.crc32(data[RECORD.size:]))
    return (flow, number) if good else None


class Flow:
    """The packets that one flow has sent and received. Times are seconds of one clock."""

    def __init__(self, name, ordered=True):
        self.name, self.ordered = name, ordered
        self.next = 0
        self.under_way = {}  # number -> time sent
        self.came = 0
        self.highest = -1
        self.last_sent = -1.0  # when the newest received packet was sent
        self.slowest = 0.0
        self.twice, self.late = [], []  # times

    def sends(self, now):
        number = self.next
        self.next += 1
        self.under_way[number] = now
        return number

    def takes(self, number, now):
        sent = self.under_way.pop(number, None)
        if sent is None:
            self.twice.append(now)
            return
        self.came += 1
        self.slowest = max(self.slowest, now - sent)
        self.last_sent = max(self.last_sent, sent)
        if number < self.highest:
            self.late.append(sent)
        self.highest = max(self.highest, number)


class Window:
    def __init__(self, name, begin):
        self.name, self.begin, self.end = name, begin, None
        self.lost = 0
        self.outage = 0.0

    def covers(self, when, life):
        return self.begin - life <= when and (self.end is None or when <= self.end)


class Verdict:
    """The verdict on all flows, at the end. windows: of faults that may lose packets, in order."""

    def __init__(self, flows, windows, damaged=()):
        self.complaints = []
        self.lost = self.late = 0
        life = max([flow.slowest for flow in flows] + [0.1])
        for flow in flows:
            self._judge_lost(flow, windows, life)
            self._judge_late(flow, windows, life)
            if flow.twice:
                self.complaints.append("%s: %d came twice" % (flow.name, len(flow.twice)))
        if damaged:
            self.complaints.append("%d packets came damaged" % len(damaged))

    def _judge_lost(self, flow, windows, life):
        alone = []
        in_window = {}
        for number, sent in sorted(flow.under_way.items()):
            cause = next((w for w in windows if w.covers(sent, life)), None)
            if cause is None:
                alone.append((number, sent))
                continue
            cause.lost += 1
            first, _ = in_window.get(cause, (sent, sent))
            in_window[cause] = first, sent
        for cause, (first, last) in in_window.items():
            cause.outage = max(cause.outage, last - first)
        self.lost += len(flow.under_way)
        if alone:
            self.complaints.append("%s: %d lost and no fault was on: number %d, %.2f s after the start%s"
                                   % (flow.name, len(alone), *alone[0],
                                      ", and others" if len(alone) > 1 else ""))

    def _judge_late(self, flow, windows, life):
        self.late += len(flow.late)
        alone = [sent for sent in flow.late if not any(w.covers(sent, life) for w in windows)]
        if alone and flow.ordered:
            self.complaints.append("%s: %d overtaken and no fault was on, the first %.2f s after the "
                                   "start" % (flow.name, len(alone), alone[0]))
