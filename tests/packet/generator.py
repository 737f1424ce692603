"""The generator's scripts, and helpers for its tests."""
import re
import struct

from machine import *
from scapy.layers.inet6 import ICMPv6EchoRequest
from scapy.layers.inet import TCP

GENERATOR = CONFIG + "application pktgen\n"
TARGET = "02:00:00:00:00:99"
STREAM = """\
stream a
 port eth0 to eth1
 mac destination %s
 udp 192.0.2.10 port 5000 198.51.100.10 port 6000
""" % TARGET


def script(text, config=GENERATOR):
    return config + "script lab.gen\n" + text


def pattern(frame):
    """The bytes after a stamp (tools/pktgen/frames/frames.h)."""
    return bytes((167 * i + 13) & 255 for i in range(len(frame)))


class Stamp:
    """docs/pktgen.md: magic, flow, number, time, and a word that makes their sum zero."""

    def __init__(self, frame, at=42):
        self.magic, self.flow, self.number, self.ns, self.check = struct.unpack_from(
            "<HHQIH", frame, at)
        words = sum(struct.unpack_from("<9H", frame, at))
        self.good = self.magic == 0x4e53 and words and words % 0xffff == 0


def checksums_right(frame):
    """Whether the frame's checksums equal those that scapy computes."""
    got = Ether(frame)
    again = got.copy()
    for layer in (IP, UDP, TCP, ICMP, ICMPv6EchoRequest):
        if layer in again:
            for name in ("chksum", "cksum"):
                if name in again[layer].fields:
                    delattr(again[layer], name)
    return bytes(again) == frame


def replay(text, files, config=GENERATOR):
    """Configuration and script, followed by the files."""
    return script(text, config).encode() + b"".join(
        b"file %s %d\n" % (name.encode(), len(data)) + data for name, data in files.items())


def pcap(frames, order="<", ns=False):
    """A capture of [(time in ns, frame)]."""
    scale = 1 if ns else 1000
    head = struct.pack(order + "I2H4I", 0xa1b23c4d if ns else 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
    return head + b"".join(
        struct.pack(order + "4I", at // SECOND, at % SECOND // scale, len(frame), len(frame)) + frame
        for at, frame in frames)


def start(machine, seconds=None):
    """Types `start`; the frames are sent as time passes."""
    machine.key("start%s\r" % (" %d" % seconds if seconds else ""))


TESTS = STREAM + """\
rfc2544 %s
 sizes %s
 trial 8ms
 settle 10ms
 learn 0s
 rest 0s
 resolution %s
 search 1%% to 10%%
 repeat 2
"""
# with the harness's 1 Gbit/s: 1 % of 64-byte frames in 8 ms
FRAMES_A_PERCENT = 0.008 * 1e9 / (84 * 8) / 100


def play(g, forward, seconds=5, until="the test is over"):
    """Passes the generator's frames to `forward`, and returns the result to the generator, for
    short intervals of time: so each of a trial's intervals has about the same number of frames."""
    for _ in range(seconds * 500):
        g.time(2 * MS)
        frames = [f for f in g.take_all(0) if Ether(f).type == 0x800]
        back = forward(frames) if frames else []
        for i in range(0, len(back), 200):
            g.send(1, *back[i:i + 200])
        if until in g.text:
            return
    raise AssertionError(g.text)


def trials(g):
    return re.findall(r"trial \d+: (\w+) (\d+) bytes (\S+) %.*?sent (\d+) lost (\d+)  (.*)", g.text)


def report(g, form=""):
    """The console's report, printed in pieces."""
    start = len(g.text)
    g.key("show report %s\r" % form)
    g.time(100 * MS)
    said = g.text[start:].replace("\r", "")
    if form:
        return re.search(r"^--- report\.%s\n(.*)\n--- end$" % form, said, re.M | re.S)[1]
    return said
