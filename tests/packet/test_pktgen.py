"""The generator: every frame against scapy's, times in virtual time, and what it says of frames that
come back late, twice, out of order, damaged, or not at all."""
import base64
import io
import json
import random
import re
import struct

import pytest
from machine import *
from scapy.layers.inet6 import ICMPv6EchoRequest, ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr
from scapy.layers.inet import TCP
from scapy.layers.l2 import Dot1Q
from scapy.utils import PcapNgReader
from stamped import IMIX
from test_http import Client

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
    """The bytes behind a stamp (tools/pktgen/frames.h)."""
    return bytes((167 * i + 13) & 255 for i in range(len(frame)))


class Stamp:
    """docs/pktgen.md: magic, flow, number, time, a word that makes their sum zero."""

    def __init__(self, frame, at=42):
        self.magic, self.flow, self.number, self.ns, self.check = struct.unpack_from(
            "<HHQIH", frame, at)
        words = sum(struct.unpack_from("<9H", frame, at))
        self.good = self.magic == 0x4e53 and words and words % 0xffff == 0


def checksums_right(frame):
    """All that scapy fills in is what stands there."""
    got = Ether(frame)
    again = got.copy()
    for layer in (IP, UDP, TCP, ICMP, ICMPv6EchoRequest):
        if layer in again:
            for name in ("chksum", "cksum"):
                if name in again[layer].fields:
                    delattr(again[layer], name)
    return bytes(again) == frame


def replay(text, files, config=GENERATOR):
    """Configuration, script and the files behind it."""
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
    """Types `start`; the frames come while time passes."""
    machine.key("start%s\r" % (" %d" % seconds if seconds else ""))


def test_frames_are_those_of_the_script(make):
    g = make(script(STREAM + " size 64\n rate 1000pps\n limit 10 frames\n"))
    start(g)
    g.time(2 * SECOND)
    frames = g.take_all(0)
    assert len(frames) == 10, g.text
    for n, frame in enumerate(frames):
        assert len(frame) == 60 and checksums_right(frame)
        p = Ether(frame)
        assert (p.dst, p.src, p[IP].src, p[IP].dst) == (
            TARGET, ROUTER[0].mac, "192.0.2.10", "198.51.100.10")
        assert (p[UDP].sport, p[UDP].dport) == (5000, 6000)
        stamp = Stamp(frame)
        assert stamp.good and (stamp.flow, stamp.number) == (0, n)
    g.take_all(1)
    assert "sent 10 frames" in g.text and "received 0, lost 10" in g.text


STREAMS = {
    "udp": (" udp 192.0.2.10 port 5000 198.51.100.10 port 6000\n", 42,
            lambda p: (p[IP].src, p[UDP].dport) == ("192.0.2.10", 6000)),
    "tcp": (" tcp 192.0.2.10 port 80 198.51.100.10 port 1024 flags syn/ack\n size 128\n", 54,
            lambda p: (p[TCP].sport, p[TCP].flags) == (80, "SA")),
    "icmp": (" icmp 192.0.2.10 198.51.100.10 identifier 7 sequence 9\n", 42,
             lambda p: (p[ICMP].type, p[ICMP].id, p[ICMP].seq) == (8, 7, 9)),
    "udp6": (" udp 2001:db8:1::10 port 5000 2001:db8:2::10 port 6000\n size 84\n", 62,
             lambda p: (p[IPv6].dst, p[UDP].sport) == ("2001:db8:2::10", 5000)),
    "tcp6": (" tcp 2001:db8:1::10 port 80 2001:db8:2::10 port 1024 flags ack\n size 1518\n", 74,
             lambda p: p[TCP].flags == "A"),
    "icmp6": (" icmp 2001:db8:1::10 2001:db8:2::10 identifier 7 sequence 9\n size 100\n", 62,
              lambda p: p[ICMPv6EchoRequest].id == 7),
    "vlan": (" udp 192.0.2.10 198.51.100.10\n vlan 100 priority 5\n size 68\n", 46,
             lambda p: (p[Dot1Q].vlan, p[Dot1Q].prio) == (100, 5)),
    "qinq": (" udp 192.0.2.10 198.51.100.10\n vlan 100\n vlan 200\n size 72\n", 50,
             lambda p: bytes(p)[14:20] == bytes.fromhex("0064810000c8")),
}


@pytest.mark.parametrize("kind", STREAMS)
def test_protocols(make, kind):
    text, at, check = STREAMS[kind]
    g = make(script("stream a\n port eth0\n mac destination %s\n%s rate 1Mpps\n limit 200 frames\n" %
                    (TARGET, text)))
    start(g)
    g.time(SECOND)
    frames = g.take_all(0)
    assert len(frames) == 200, g.text
    for n, frame in enumerate(frames):
        assert checksums_right(frame), Ether(frame).summary()
        assert check(Ether(frame))
        stamp = Stamp(frame, at)
        assert stamp.good and stamp.number == n
    assert "sent 200 frames" in g.text


@pytest.mark.parametrize("rate, gap", [("1000pps", 1e6), ("3pps", 1e9 / 3), ("1Mpps", 1e3),
                                       ("14.88Mpps", 1e3 / 14.88), ("1Gbps", 672)])
def test_pacing_is_exact(make, rate, gap):
    """In virtual time a frame goes at the very nanosecond at which it is due: number n at
    n times the gap, rounded up, after the first; nothing adds up."""
    count = 8 if gap > 1e8 else 5000
    g = make(script(STREAM + " rate %s\n limit %d frames\n" % (rate, count)))
    start(g)
    g.time(10 * SECOND)
    stamps = [Stamp(frame) for frame in g.take_all(0)]
    assert len(stamps) == count, g.text
    first = stamps[0].ns
    for stamp in stamps:
        late = (stamp.ns - first & 0xffffffff) - stamp.number * gap % (1 << 32)
        assert -1 <= late < 1.5, (stamp.number, late)
    assert "INVALID" not in g.text and "valid" in g.text


def sent_at(make, text, count):
    """Nanoseconds from the first frame to each."""
    g = make(script(STREAM + text + " limit %d frames\n" % count))
    start(g)
    g.time(5 * SECOND)
    stamps = [Stamp(frame) for frame in g.take_all(0)]
    assert [stamp.number for stamp in stamps] == list(range(count)), g.text
    assert "INVALID" not in g.text and "valid" in g.text
    return [stamp.ns - stamps[0].ns & 0xffffffff for stamp in stamps]


@pytest.mark.parametrize("rate, bits, overhead", [
    ("100Mbps", 100e6, 20), ("100Mbps l2", 100e6, 0), ("10%", 100e6, 20), ("0.5%", 5e6, 20)])
def test_pacing_of_sizes(make, rate, bits, overhead):
    """A frame is due when those before it have taken their time on a line of 1 Gbit/s."""
    due = 0
    for n, at in enumerate(sent_at(make, " size imix\n rate %s\n" % rate, 1200)):
        assert -1 <= at - due < 1.5, (n, at, due)
        due += (IMIX[n % 12] + overhead) * 8 / bits * 1e9


def test_pacing_of_bursts(make):
    """Ten at once, each ten microseconds."""
    for n, at in enumerate(sent_at(make, " rate 1Mpps\n burst 10\n", 1000)):
        assert -1 <= at - n // 10 * 10000 < 1.5, (n, at)


def test_pacing_of_a_ramp(make):
    """At every time the frames sent are those of the even slope, to one: the integral of the rate.
    Then it goes on at the last rate."""
    for n, at in enumerate(sent_at(make, " ramp 1000pps to 3000pps over 1s\n", 3500)):
        t = at / 1e9
        due = 1000 * t + 1000 * t * t if t < 1 else 2000 + 3000 * (t - 1)
        assert abs(n - due) < 1.01, (n, at, due)


def test_sizes_in_turn(make):
    g = make(script(STREAM + " size 64/128/1518\n rate 1Mpps\n limit 100 frames\n"))
    start(g)
    g.time(SECOND)
    frames = g.take_all(0)
    assert [len(f) for f in frames] == [(60, 124, 1514)[n % 3] for n in range(100)]
    for n, frame in enumerate(frames):
        assert checksums_right(frame) and Stamp(frame).number == n
        assert frame[60:] == pattern(frame)[60:]


def test_fields(make):
    g = make(script(STREAM + """\
 vary source address increment 192.0.2.10 192.0.2.14
 vary destination port list 7/9/19
 vary source port random 1024 65535 seed 7
 rate 1Mpps
 limit 300 frames
"""))
    start(g)
    g.time(SECOND)
    frames = [Ether(f) for f in g.take_all(0)]
    assert len(frames) == 300, g.text
    assert [p[IP].src for p in frames] == ["192.0.2.%d" % (10 + n % 5) for n in range(300)]
    assert [p[UDP].dport for p in frames] == [(7, 9, 19)[n % 3] for n in range(300)]
    assert len({p[UDP].sport for p in frames}) > 280
    assert all(checksums_right(bytes(p)) for p in frames)


def test_weights(make):
    """Streams without a rate share the port by weight; the ring is short."""
    two = STREAM + " weight 3\n limit 300 frames\n" + STREAM.replace("stream a", "stream b") + \
        " weight 1\n limit 100 frames\n"
    g = make(script(two))
    start(g)
    g.time(SECOND)
    flows = [Stamp(f).flow for f in g.take_all(0)]
    assert len(flows) == 400, g.text
    assert all(flows[i:i + 4].count(0) == 3 for i in range(0, 400, 4))


def test_ring_that_is_full(make):
    """What is behind is said, and the trial is not valid; nothing is changed under way."""
    g = make(script(STREAM + " rate 1Mpps\n limit 10ms\n"))
    g.command("room 0 100")
    start(g)
    g.time(60 * MS)
    g.command("room 0 -1")
    g.time(2 * SECOND)
    frames = g.take_all(0)
    assert [Stamp(f).number for f in frames] == list(range(len(frames)))
    assert "INVALID" in g.text and "fell behind" in g.text


def came_back(make, frames_of, more=""):
    """Sends 1000 numbered frames, gives back what frames_of makes of them, and returns the report."""
    g = make(script(STREAM + " rate 1Mpps\n limit 1000 frames\n" + more))
    start(g)
    g.time(30 * MS)
    frames = g.take_all(0)
    assert len(frames) == 1000, g.text
    back = frames_of(frames)
    g.counted()
    for i in range(0, len(back), 100):
        g.send(1, *back[i:i + 100])
    g.time(5 * SECOND)
    assert g.counted().get("judged", 0) == len(back)
    return {name: int(value) for name, value in re.findall(
        r"(received|lost|reordered|duplicates|corrupted|wrong port|strange) (\d+)", g.text)}


def expected(**different):
    return dict({"received": 1000, "lost": 0, "reordered": 0, "duplicates": 0, "corrupted": 0},
                **different)


def swapped(frames, at):
    frames = list(frames)
    for n in at:
        frames[n], frames[n + 1] = frames[n + 1], frames[n]
    return frames


def damaged(frame):
    return frame[:50] + bytes([frame[50] ^ 1]) + frame[51:]


@pytest.mark.parametrize("name, change, found", [
    ("all", list, {}),
    ("none", lambda f: [], {"received": 0, "lost": 1000}),
    ("lost", lambda f: f[:10] + f[13:500] + f[501:999], {"received": 995, "lost": 5}),
    ("twice", lambda f: f + f[100:107], {"duplicates": 7}),
    ("out of order", lambda f: swapped(f, (5, 50, 998)), {"reordered": 3}),
    ("damaged", lambda f: f[:7] + [damaged(f[7])] + f[8:],
     {"received": 999, "lost": 1, "corrupted": 1}),
    ("backwards", lambda f: f[::-1], {"reordered": 999}),
], ids=lambda x: x if isinstance(x, str) else "")
def test_judgement(make, name, change, found):
    assert came_back(make, change) == expected(**found)


@pytest.mark.parametrize("statement, corrupted", [("", 0), ("verify\n", 3)])
def test_damaged_payload(make, statement, corrupted):
    """Behind the stamp only the checksum tells, when it is looked at."""
    found = came_back(make, lambda frames: [f[:65] + bytes([f[65] ^ 255]) + f[66:] for f in frames[:3]] +
                      frames[3:], " size 128\n" + statement)
    assert found == expected(received=1000 - corrupted, lost=corrupted, corrupted=corrupted)


def test_wrong_port(make):
    """It was to come back by eth1."""
    g = make(script(STREAM + " rate 1Mpps\n limit 50 frames\n"))
    start(g)
    g.time(30 * MS)
    g.send(0, *g.take_all(0))
    g.time(SECOND)
    assert "wrong port 50" in g.text and "received 0, lost 50" in g.text


def test_latency(make):
    """The wire here takes 250 us."""
    g = make(script(STREAM + " rate 1000pps\n limit 3 frames\n"))
    start(g)
    for _ in range(100):
        g.time(MS // 4)
        g.send(1, *g.take_all(0)) if g.outs[0] else None
    g.time(SECOND)
    g.take_all(0)
    values = re.search(r"latency ns: min (\d+) mean (\d+)\.\d+ p50 (\d+).* max (\d+)", g.text)
    assert values, g.text
    assert all(0 <= int(v) <= 260000 for v in values.groups())


def test_neighbour_is_asked(make):
    """Without a MAC address in the stream the way is that of any packet of ours; the gateway is
    asked, and the frames go there."""
    text = STREAM.replace(" mac destination %s\n" % TARGET, "").replace("198.51.100.10", "192.0.2.3")
    g = make(script(text + " rate 1Mpps\n limit 5 frames\n"))
    start(g)
    g.time(100 * MS)
    g.expect(0, arp_request(ROUTER[0], A2.ip))
    g.send(0, arp_reply(A2, ROUTER[0]))
    g.time(2 * SECOND)
    sent = [Ether(f) for f in g.take_all(0)]
    assert [p[UDP].sport for p in sent if UDP in p] == [5000] * 5, g.text
    assert all(p.dst == A2.mac for p in sent)


def test_nobody_answers(make):
    text = STREAM.replace(" mac destination %s\n" % TARGET, "").replace("198.51.100.10", "192.0.2.3")
    g = make(script(text + " rate 1Mpps\n limit 5 frames\n"))
    start(g)
    g.time(6 * SECOND)
    assert "stream a: nobody answers for 192.0.2.3 on eth0" in g.text
    assert all(ARP in Ether(f) for f in g.take_all(0))


def test_no_route(make):
    text = STREAM.replace(" mac destination %s\n" % TARGET, "").replace("198.51.100.10", "8.8.8.8")
    g = make(script(text))
    start(g)
    g.time(SECOND)
    assert "there is no route to 8.8.8.8" in g.text


def test_hosts_are_played(make):
    """ARP and ND for all that lives behind a port, not for what does not; ours as ever."""
    six = GENERATOR.replace(" ip address 192.0.2.1/24\n",
                            " ip address 192.0.2.1/24\n ipv6 address 2001:db8:1::1/64\n")
    g = make(script("answer eth0 203.0.113.0/24\nanswer eth0 2001:db8:9::/64\n" + STREAM +
                    " limit 1 frames\n", six))
    start(g)
    g.time(SECOND)
    g.take_all(0)
    g.counted()
    g.send(0, arp_request(A, "203.0.113.77"))
    g.expect(0, arp_reply(Station(0, "203.0.113.77", ROUTER[0].mac), A))
    g.send(0, arp_request(A, ROUTER[0].ip))
    g.expect(0, arp_reply(ROUTER[0], A))
    g.send(0, arp_request(A, "203.0.114.1"))
    g.expect_nothing()
    g.expect_counters(delivered_arp=2, drop_arp_not_ours=1, arp_tx_reply=1)
    solicit = Ether(src=A.mac, dst="33:33:ff:00:00:05") / IPv6(
        src=A.ip6, dst="ff02::1:ff00:5", hlim=255) / ICMPv6ND_NS(tgt="2001:db8:9::5") / \
        ICMPv6NDOptSrcLLAddr(lladdr=A.mac)
    g.send(0, solicit)
    g.expect(0, Ether(src=ROUTER[0].mac, dst=A.mac) / IPv6(
        src="2001:db8:9::5", dst=A.ip6, hlim=255) / ICMPv6ND_NA(
            tgt="2001:db8:9::5", R=0, S=1, O=1) / ICMPv6NDOptDstLLAddr(lladdr=ROUTER[0].mac))
    g.expect_counters(delivered_nd=1)


def test_own_frames_between(make):
    """The machine answers pings while it sends, and loses no frame by it."""
    g = make(script(STREAM + " rate 1000pps\n limit 1000 frames\n"))
    g.learn(A)
    start(g)
    g.time(100 * MS)
    ping = IP(src=A.ip, dst=ROUTER[0].ip) / ICMP(id=1, seq=1) / Raw(b"x" * 32)
    for _ in range(20):
        g.send(0, ether(A, ROUTER[0]) / ping)
        g.time(10 * MS)
    g.time(3 * SECOND)
    out = [Ether(f) for f in g.take_all(0)]
    assert sum(ICMP in p and p[ICMP].type == 0 for p in out) == 20
    assert [Stamp(bytes(p)).number for p in out if UDP in p] == list(range(1000))


def test_stop(make):
    g = make(script(STREAM + " rate 1000pps\nrun\n"), boot=False)
    g.time(SECOND)
    g.take_all(0)
    g.take_all(1)
    said = g.console("show run")
    assert "sending" in said
    g.console("stop")
    g.time(2 * SECOND)
    g.take_all(0)
    g.time(2 * SECOND)
    g.take_all(1)
    g.expect_nothing()
    assert "done" in g.console("show run")
    g.key("start\r")
    g.time(SECOND)
    g.key("\x03")
    g.time(2 * SECOND)
    assert g.take_all(0) and "valid" in g.text
    g.take_all(1)


def test_run_of_so_many_frames(make):
    """It begins by itself; of each stream so many, or fewer where the stream says so."""
    two = STREAM + " rate 1Mpps\n" + STREAM.replace("stream a", "stream b") + " rate 1Mpps\n limit 7 frames\n"
    g = make(script(two + "run 20 frames\n"), boot=False)
    g.time(2 * SECOND)
    flows = [Stamp(f).flow for f in g.take_all(0) if f[12:14] == b"\x08\x00"]
    assert (flows.count(0), flows.count(1)) == (20, 7), g.text
    g.time(5 * SECOND)
    assert "done" in g.console("show run")
    for port in (0, 1):
        g.take_all(port)


def test_bad_script(make):
    g = make(script(STREAM + " size 63\n"))
    g.time(SECOND)
    assert re.search(r"lab\.gen:5: .*63", g.text), g.text
    assert "lab.gen:5" in g.console("start")
    g.expect_nothing()


def test_script_for_nobody(make):
    g = make(CONFIG + "script lab.gen\n" + STREAM)
    assert "the application router takes no script" in g.text


def test_no_script(make):
    g = make(GENERATOR)
    assert "no script" in g.console("start")


def test_ports_are_restarted(make):
    """The run is lost and said to be; the next one goes."""
    g = make(script(STREAM + " rate 1000pps\n limit 5000 frames\n"))
    start(g)
    g.time(SECOND)
    g.take_all(0)
    g.command("restart")
    g.time(SECOND)
    assert "the ports were restarted" in g.text
    for port in (0, 1):
        g.take_all(port)
    start(g)
    g.time(7 * SECOND)
    assert len([f for f in g.take_all(0) if Ether(f).type == 0x800]) == 5000
    g.take_all(1)


# --- RFC 2544 ---

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
# 1 Gbit/s as the harness has it: 1 % of 64-byte frames in 8 ms
FRAMES_A_PERCENT = 0.008 * 1e9 / (84 * 8) / 100


def play(g, forward, seconds=5, until="the test is over"):
    """Gives back what `forward` makes of the frames of each stretch of time; the stretches are short, so
    that there are about as many frames in each of a trial's."""
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
    """What the console shows of it, a piece a turn."""
    start = len(g.text)
    g.key("show report %s\r" % form)
    g.time(100 * MS)
    said = g.text[start:].replace("\r", "")
    if form:
        return re.search(r"^--- report\.%s\n(.*)\n--- end$" % form, said, re.M | re.S)[1]
    return said


def test_throughput_of_a_wire(make):
    """Who loses nothing has the highest rate as throughput, after one trial of each size."""
    g = make(script(TESTS % ("throughput", "64/1518", "1%")))
    g.key("rfc2544 start\r")
    play(g, list)
    found = trials(g)
    assert [(t[0], t[1], t[2], t[4], t[5].strip()) for t in found] == [
        ("throughput", "64", "10.000", "0", "valid"), ("throughput", "1518", "10.000", "0", "valid")]
    assert abs(int(found[0][3]) - 10 * FRAMES_A_PERCENT) <= 1
    assert "2 trials, 0 invalid" in g.text


def test_throughput_is_searched(make):
    """A device of 6.4 % of the line, which loses what is above: the search ends at 6 %."""
    can = 6.4 * FRAMES_A_PERCENT / 4  # in a stretch of 2 ms

    g = make(script(TESTS % ("throughput", "64", "1%")))
    g.key("rfc2544 start\r")
    play(g, lambda frames: frames[:int(can)])
    assert [(t[2], int(t[4]) > 0) for t in trials(g)] == [
        ("10.000", True), ("5.000", False), ("7.000", True), ("6.000", False)]
    said = report(g)
    assert re.search(r"^ +64 +6\.000 +\d+", said, re.M), said


def test_learning_frames(make):
    """Before each trial the first of each stream, for every destination, at a low rate: who throws
    them away, because it does not know its neighbour, has lost nothing of the trial. Between two
    trials the device rests."""
    text = TESTS.replace("learn 0s", "learn 200ms").replace("rest 0s", "rest 500ms")
    text = text.replace("rfc2544", " vary destination address increment 198.51.100.10 198.51.100.19\nrfc2544", 1)
    g = make(script(text % ("latency", "64", "1%")))
    g.key("rfc2544 start\r")
    seen = []  # stretches in which frames went: from, to, how many

    def device(frames):
        if not seen or g.now - seen[-1][1] > 100 * MS:
            seen.append([g.now, g.now, 0])
        seen[-1][1] = g.now
        seen[-1][2] += len(frames)
        return frames if len(seen) % 2 == 0 else []
    g.now = 0
    for _ in range(3000):
        g.time(2 * MS)
        g.now += 2 * MS
        frames = [f for f in g.take_all(0) if f[12:14] == b"\x08\x00"]
        back = device(frames) if frames else []
        for i in range(0, len(back), 200):
            g.send(1, *back[i:i + 200])
        if "the test is over" in g.text:
            break
    assert "3 trials, 0 invalid" in g.text and all(t[4] == "0" for t in trials(g)), g.text
    assert [s[2] for s in seen[::2]] == [10, 10, 10] and min(s[2] for s in seen[1::2]) > 1000, seen
    pauses = [(b[0] - a[1]) // MS for a, b in zip(seen, seen[1:])]
    assert all(200 <= p < 240 for p in pauses[::2]), pauses
    assert all(510 <= p < 550 for p in pauses[1::2]), pauses


def test_report(make):
    """Text, JSON between its marks and a page that has the JSON in it; by the text of the console."""
    g = make(script(TESTS % ("throughput latency frame-loss", "64", "1%") + "run\n"), boot=False)
    play(g, list, 10)
    assert "the test is over: 4 trials, 0 invalid" in g.text
    data = json.loads(report(g, "json"))
    tests = data["rfc2544"]
    assert [t["test"] for t in tests["trials"]] == ["throughput"] + 2 * ["latency"] + \
        ["frame_loss"]
    assert tests["finished"] and tests["line_bps"] == 10**9
    assert tests["throughput"][0]["rate_percent"] == 10
    assert tests["latency"][0]["p50_ns"] > 0
    assert "rfc2544 throughput latency frame-loss" in data["script"]
    page = report(g, "html")
    assert page.startswith("<!") and "</html>" in page
    assert json.dumps(tests["throughput"][0]["fps"]) in page
    text = report(g)
    assert "Throughput" in text and "eth1" in text
    g.take_all(1)  # announcements


def test_report_of_a_run(make):
    g = make(script(STREAM + " rate 1Mpps\n limit 1000 frames\n"))
    assert "no run" in g.console("show report")
    start(g)
    g.time(30 * MS)
    g.send(1, *g.take_all(0)[1:])
    g.time(3 * SECOND)
    run = json.loads(report(g, "json"))["run"]
    assert run["valid"]
    (stream,) = run["streams"]
    assert (stream["name"], stream["sent"], stream["received"], stream["lost"]) == ("a", 1000, 999, 1)
    assert stream["latency"]["count"] == 999 and stream["pacing_error"]["count"] == 1000


def test_invalid_trial(make):
    """The generator's own ring hardly moves: each trial is made three times, at ever lower rates, and
    when that is so at the lowest there is no result."""
    g = make(script(TESTS % ("throughput", "64", "1%")))
    g.key("rfc2544 start\r")
    for _ in range(300):
        g.command("room 0 10")
        g.time(10 * MS)
        g.take_all(0)
        if "is over" in g.text:
            break
    assert [t[2] for t in trials(g)] == [rate for rate in ("10.000", "5.000", "3.000", "2.000", "1.000")
                                         for _ in range(3)]
    assert "15 trials, 15 invalid" in g.text
    assert all(t[5].strip() == "invalid: the generator fell behind" for t in trials(g))
    assert "not measurable" in report(g)


def test_link_is_lost(make):
    """A trial during which a link went down says nothing; the next one waits for it."""
    g = make(script(TESTS % ("throughput", "64", "1%")))
    g.key("rfc2544 start\r")
    g.time(30 * MS)
    g.take_all(0)
    g.link(1, False)
    g.time(200 * MS)
    g.take_all(0)
    g.link(1, True)
    play(g, list)
    g.take_all(1)  # it says again who it is
    flaws = [t[5].strip() for t in trials(g)]
    assert flaws[0] == "invalid: a link was down" and flaws[-1] == "valid"


def test_link_is_lost_in_a_run(make):
    """It goes on, but what came of it says nothing of the device."""
    g = make(script(STREAM + " rate 1000pps\n limit 500 frames\n", GENERATOR))
    start(g)
    g.time(100 * MS)
    g.take_all(0)
    g.link(1, False)
    g.time(100 * MS)
    g.link(1, True)
    g.time(3 * SECOND)
    assert "INVALID: a link was down" in g.text and "sent 500 frames" in g.text
    run = json.loads(report(g, "json"))["run"]
    assert (run["valid"], run["why"]) == (False, "a link was down")
    assert "INVALID: a link was down" in report(g) and "sent 500 frames" in g.console("show run")
    for port in (0, 1):
        g.take_all(port)


def test_test_is_stopped(make):
    g = make(script(TESTS % ("throughput", "64", "1%")))
    g.key("rfc2544 start\r")
    g.time(30 * MS)
    assert g.take_all(0)
    g.key("\x03")
    play(g, list)
    assert "invalid: stopped" in g.text and "1 trials, 1 invalid" in g.text
    assert "rfc2544 start" in g.console("start")
    g.expect_nothing()


def test_bursts_are_divided(make):
    """Two streams by weight, a burst by their rates: both ends of it arrive."""
    two = STREAM + " weight 3\n" + STREAM.replace("stream a", "stream b")
    g = make(script(two + "rfc2544 back-to-back\n sizes 1518\n settle 20ms\n learn 0s\n repeat 1\n"
                    "line eth0 10Mbps\nline eth1 10Mbps\n"))
    g.key("rfc2544 start\r")
    flows = []

    def keep(frames):
        flows.extend(Stamp(f).flow for f in frames)
        return frames
    play(g, keep)
    frames = 2 * (10000000 // (8 * 1538))
    assert len(flows) == frames and flows.count(0) == frames * 3 // 4
    assert "burst %d" % frames in g.text and "valid" in g.text


def test_nobody_to_test_with(make):
    """What the next trial would suffer from too ends the test."""
    text = TESTS.replace(" mac destination %s\n" % TARGET, "").replace("198.51.100.10", "192.0.2.3")
    g = make(script(text % ("throughput", "64", "1%")))
    g.key("rfc2544 start\r")
    g.time(6 * SECOND)
    assert "the test failed: stream a: nobody answers for 192.0.2.3" in g.text
    said = report(g)
    assert "The test failed: stream a: nobody answers for 192.0.2.3" in said
    assert "64  not measurable: the test could not go on" in said
    g.take_all(0)


def test_no_line_rate(make):
    g = make(script(TESTS % ("throughput", "64", "1%")))
    g.link(0, False)
    g.time(SECOND)
    assert "eth0 has no line rate, or no link" in g.console("rfc2544 start")
    half = make(script(STREAM + " rate 50%\n"))
    half.link(0, False)
    half.time(SECOND)
    start(half)
    half.time(SECOND)
    assert "stream a: eth0 has no line rate" in half.text
    half.take_all(0)
    assert "has no rfc2544" in half.console("rfc2544 start")


def test_no_rate_limiter(make):
    g = make(script(STREAM + " rate 1Gbps l2 hardware\n"))
    start(g)
    g.time(SECOND)
    assert "stream a: eth0 does not keep this rate: its card has no rate limiter" in g.text
    g.take_all(0)


def test_pages(make):
    """Reports and rows of /metrics by HTTP; the pages are those of the console."""
    from test_http import Client
    g = make(script(STREAM + " rate 1Mpps\n limit 1000 frames\n", GENERATOR + "http server\n"))
    g.learn(A)
    c = Client(g)
    assert c.get("/report")[0] == 404
    start(g)
    g.time(30 * MS)
    g.send(1, *[f for f in g.take_all(0) if Ether(f)[IP].src == "192.0.2.10"][1:])
    g.time(3 * SECOND)
    status, fields, content = c.get("/report.json")
    assert (status, fields["Content-Type"]) == (200, "application/json")
    assert json.loads(content) == json.loads(report(g, "json"))
    assert json.loads(content)["run"]["streams"][0]["lost"] == 1
    status, fields, content = c.get("/report")
    assert status == 200 and "default-src 'none'" in fields["Content-Security-Policy"]
    assert content.startswith(b"<!") and len(content) > 20000
    assert b"latency ns" in c.get("/report.txt")[2]
    rows = c.get("/metrics")[2].decode()
    assert 'hayate_pktgen_sent_packets_total{stream="a"} 1000\n' in rows
    assert 'hayate_pktgen_lost_packets{stream="a"} 1\n' in rows


# --- replay ---

T0 = 1700000000 * SECOND
REPLAY = "stream r\n port eth0\n replay a.pcap\n"


def trace(count=40, seed=1):
    """Frames as hosts send them, of many lengths, short ones too; gaps of 0 to 3 ms."""
    rng = random.Random(seed)
    at, out = T0, []
    for n in range(count):
        frame = Ether(src="02:00:00:00:aa:%02x" % n, dst=TARGET) / IP(src="10.1.1.1", dst="10.2.2.2") / UDP(
            sport=n, dport=9) / Raw(rng.randbytes(rng.choice((0, 4, 18, 19, 100, 1400))))
        out.append((at, bytes(frame)))
        at += rng.choice((0, 1000, 123000, 3000000))
    return out


def padded(frames):
    return [frame.ljust(60, b"\0") for _, frame in frames]


@pytest.mark.parametrize("loop, rounds", [("", 1), (" loop 3\n", 3)])
@pytest.mark.parametrize("order, ns", [("<", False), (">", True)])
def test_replay_is_what_was_captured(make, order, ns, loop, rounds):
    frames = trace()
    g = make(replay(REPLAY + loop, {"a.pcap": pcap(frames, order, ns)}))
    assert "stream r: a.pcap has 40 frames in 0." in g.text and "filled up to 60 bytes" in g.text
    start(g)
    g.time(2 * SECOND)
    assert g.take_all(0) == padded(frames) * rounds
    assert "sent %d frames" % (40 * rounds) in g.text
    assert "valid" in g.text and "INVALID" not in g.text


@pytest.mark.parametrize("speed, factor", [("", 1), (" speed 0.5\n", 2), (" speed 4\n", .25)])
def test_replay_keeps_the_times(make, speed, factor):
    """In virtual time: every frame at its nanosecond, over the loops too, where a mean gap is between
    the last and the first."""
    frames = trace()
    mean = (frames[-1][0] - T0) // (len(frames) - 1)
    round_ns = frames[-1][0] - T0 + mean
    g = make(replay(REPLAY + speed + " loop 5\n", {"a.pcap": pcap(frames)}))
    start(g)
    sent, now = [], 0
    for _ in range(400):
        g.time(SECOND // 1000)
        now += SECOND // 1000
        sent += [now] * len(g.take_all(0))
    assert len(sent) == 200, g.text
    due = [(k * round_ns + at - T0) * factor for k in range(5) for at, _ in frames]
    for n, late in enumerate(b - a - sent[0] for a, b in zip(due, sent)):
        assert abs(late) <= SECOND // 1000, (n, late)
    g.time(SECOND)
    stream, = json.loads(report(g, "json"))["run"]["streams"]
    assert stream["pacing_error"]["count"] == 200 and stream["pacing_error"]["max_ns"] <= 1
    assert "INVALID" not in g.text


def test_replay_at_a_rate_and_flat(make):
    """The file's times do not matter then; the order does, and the stations that the script gives."""
    frames = trace()
    g = make(replay(
        "stream r\n port eth0\n replay a.pcap\n rate 10kpps\n loop forever\n limit 100 frames\n"
        " mac source 02:00:00:00:00:77\n"
        "stream f\n port eth1\n replay a.pcap\n rate flat\n loop forever\n limit 100 frames\n",
        {"a.pcap": pcap(frames)}))
    start(g)
    g.time(2 * SECOND)
    whole = (padded(frames) * 3)[:100]
    assert g.take_all(1) == whole
    assert g.take_all(0) == [f[:6] + b"\2\0\0\0\0\x77" + f[12:] for f in whole]
    first, second = json.loads(report(g, "json"))["run"]["streams"]
    assert first["pacing_error"]["max_ns"] < 1000 and "pacing_error" not in second
    assert 9e6 < 1e9 * 100 / first["fps"] < 11e6


def test_replay_beside_other_streams(make):
    """One ring, replayed and made frames in turn, each in its order."""
    frames = trace(count=7)
    g = make(replay(STREAM + " rate flat\n limit 2000 frames\n" + REPLAY +
                    " rate flat\n loop 300\n weight 3\n", {"a.pcap": pcap(frames)}))
    start(g)
    g.time(2 * SECOND)
    sent = g.take_all(0)
    made = [f for f in sent if f[6:12] == bytes.fromhex(ROUTER[0].mac.replace(":", ""))]
    assert [Stamp(f).number for f in made] == list(range(2000))
    assert [f for f in sent if f not in set(made)] == padded(frames) * 300


def test_replay_refused(make):
    """A bad file, or none: nothing is sent, and the line of the script says why."""
    cut = pcap(trace())[:-1]
    for files, word in (({}, "lab.gen:3: there is no such file behind the script"),
                        ({"a.pcap": cut}, "lab.gen:3: packet 40: the file ends within the packet, at \"a.pcap\""),
                        ({"a.pcap": b"GIF89a"}, "lab.gen:3: it is no capture: pcap and pcapng are known")):
        g = make(replay(REPLAY + "run\n", files))
        g.time(2 * SECOND)
        assert word in g.text and "the generator has no streams" in g.text


def test_replay_says_what_is_left_out(make):
    frames = [(T0 + 5, b"x" * 9217), (T0, b"y" * 13), (T0 + 9, b"z" * 64), (T0 + 3, b"u" * 64)]
    g = make(replay(REPLAY, {"a.pcap": pcap(frames, ns=True)}))
    for word in ("a.pcap has 2 frames in 0.000000000 s", "1 packets left out, too short",
                 "1 packets left out, too long", "1 packets older than one before them"):
        assert word in g.text
    start(g)
    g.time(SECOND)
    assert g.take_all(0) == [b"z" * 64, b"u" * 64]


def test_replay_larger_than_the_memory(make):
    frames = [(T0, bytes(1500))] * 9000
    g = make(replay(REPLAY + "run\n", {"a.pcap": pcap(frames)}), memory=16384)
    assert "lab.gen:3: the captures that are replayed take 14 MiB" in g.text


def test_module_with_bad_files(make):
    g = make(replay(REPLAY, {"a.pcap": b"x"}) + b"file b 5\n1234")
    assert "nothing of the configuration is applied" in g.text
    assert "the file has 5 bytes by this line; 4 follow, at \"b\"" in g.text


# --- captures ---

COUNTS = {"received": 4, "dropped": 5, "delivered": 8}  # isb_ifrecv, isb_ifdrop, isb_usrdeliv


def pcapng(data):
    """Packets as scapy reads them, and what the statistics block of each interface says."""
    packets = list(PcapNgReader(io.BytesIO(data)))
    statistics, at = [], 0
    while at < len(data):
        kind, length = struct.unpack_from("<2I", data, at)
        if kind == 5:
            options, place = {}, at + 20
            while place < at + length - 8:
                code, size = struct.unpack_from("<2H", data, place)
                options[code] = int.from_bytes(data[place + 4:place + 4 + size], "little")
                place += 4 + (size + 3 & ~3)
            statistics.append({name: options[code] for name, code in COUNTS.items()})
        at += length
    assert at == len(data)
    return packets, statistics


def shown_capture(g):
    """That which `show capture base64` shows."""
    start = len(g.text)
    g.key("show capture base64\r")
    g.time(SECOND)
    said = g.text[start:].replace("\r", "")
    said = re.search(r"^--- capture\.pcapng\n(.*)\n--- end$", said, re.M | re.S)[1]
    return base64.b64decode(said)


def nanoseconds(packet):
    """Of scapy's time, exactly: it divides two integers."""
    return round(packet.time * SECOND)


STRANGE = Ether(src=A.mac, dst=TARGET, type=0x88b5)


def strangers(count, seed=1):
    """Frames of nobody's, of all lengths."""
    rng = random.Random(seed)
    return [bytes(STRANGE / Raw(rng.randbytes(rng.randrange(46, 1500)))) for _ in range(count)]


def test_capture_is_what_came(make):
    """Every byte, at its nanosecond."""
    frames = strangers(50)
    g = make(script("capture eth0\n" + STREAM + " rate 100pps\n limit 2s\n"))
    start(g)
    g.time(100 * MS)
    for frame in frames:
        g.send(0, frame)
        g.time(MS)
    g.time(5 * SECOND)
    g.take_all(0)
    packets, statistics = pcapng(shown_capture(g))
    assert [bytes(p) for p in packets] == frames
    times = [nanoseconds(p) for p in packets]
    assert {b - a for a, b in zip(times, times[1:])} == {MS}
    assert statistics == [{"received": 50, "dropped": 0, "delivered": 50}]
    g.key("show capture\r")
    assert "eth0: received 50 frames, kept 50, no room for 0" in g.text


def test_capture_of_test_frames(make):
    """Judged as they would be without it; two ports, of which one keeps the beginning of some."""
    g = make(script("capture eth1 size 64 frames 3\ncapture eth0\n" + STREAM +
                    " size 128\n rate 1kpps\n limit 10 frames\n"))
    start(g)
    g.time(50 * MS)
    sent = g.take_all(0)
    assert len(sent) == 10
    g.send(1, *sent)
    g.time(5 * SECOND)
    assert "received 10, lost 0" in g.text
    packets, statistics = pcapng(shown_capture(g))
    assert [(bytes(p), p.wirelen) for p in packets] == [(frame[:64], 124) for frame in sent[:3]]
    assert statistics == [{"received": 0, "dropped": 0, "delivered": 0},
                          {"received": 10, "dropped": 0, "delivered": 3}]


def test_capture_is_of_the_run(make):
    """What comes before it and after it is not in the file; each run has its own."""
    g = make(script("capture eth0\n" + STREAM + " rate 100pps\n limit 100 frames\n"))
    g.key("show capture\r")
    assert "there is no capture: there was no run and no test since the ports started" in g.text
    frames = strangers(4)
    g.send(0, frames[0])
    for frame in frames[1:3]:
        start(g)
        g.time(100 * MS)
        g.send(0, frame)
        g.time(5 * SECOND)
        g.send(0, frames[3])
        g.time(MS)
        assert [bytes(p) for p in pcapng(shown_capture(g))[0]] == [frame]
        g.take_all(0)


def test_capture_larger_than_the_memory(make):
    """What found no room is counted."""
    g = make(script("capture eth0\n" + STREAM + " rate 100pps\n limit 5s\n"))
    start(g)
    g.time(100 * MS)
    frames = [bytes(STRANGE / Raw(struct.pack("!I", n) + bytes(1496))) for n in range(3000)]
    for n in range(0, len(frames), 100):
        g.send(0, *frames[n:n + 100])
        g.time(MS)
    g.time(8 * SECOND)
    g.take_all(0)
    said = g.console("show capture")
    kept, dropped, used, room = map(int, re.findall(r"(?:kept|for|^|of) ?(\d+)\b", said, re.M))
    assert 500 < kept < 2900 and dropped == 3000 - kept, said
    assert used == kept * (16 + 1520) >> 10 and room - used <= 10


def test_capture_by_http(make):
    """The same bytes as on the console, to several readers by turns."""
    g = make(script("capture eth0 size 200\n" + STREAM + " limit 1 frames\n",
                    GENERATOR + "http server\n"))
    g.learn(A)
    client = Client(g)
    assert client.get("/capture.pcapng")[0] == 404
    start(g)
    g.time(100 * MS)
    g.send(0, *strangers(40))
    g.take_all(0)
    assert client.get("/capture.pcapng")[0] == 404  # more may come
    g.time(5 * SECOND)
    g.take_all(0)
    status, fields, content = client.get("/capture.pcapng")
    assert (status, fields["Content-Type"]) == (200, "application/octet-stream")
    packets, _ = pcapng(content)
    assert [f[:200] for f in strangers(40)] == [bytes(p) for p in packets if p.type == 0x88b5]
    assert shown_capture(g) == content
    assert client.get("/capture.pcapng")[2] == content


def half_read(g, src):
    """A reader that has asked, and takes nothing yet."""
    client = Client(g, src=src)
    client.send("PA", b"GET /capture.pcapng HTTP/1.1\r\nHost: h\r\n\r\n")
    return client


def captured_much(make):
    g = make(script("capture eth0\n" + STREAM + " limit 1 frames\n", GENERATOR + "http server\n"))
    g.learn(A, B)
    start(g)
    g.time(100 * MS)
    frames = strangers(400)
    for n in range(0, len(frames), 100):
        g.send(0, *frames[n:n + 100])
        g.time(MS)
    g.time(5 * SECOND)
    g.take_all(0)
    return g, frames


def test_capture_to_two_readers(make):
    """By turns, and another one has gone away: each has all of it."""
    g, frames = captured_much(make)
    half_read(g, A).send("RA")
    g.take_all(0)
    readers = [half_read(g, A), half_read(g, B)]
    answers = [reader.read().answer()[2] for reader in readers]
    assert answers[0] == answers[1] == shown_capture(g)
    assert [bytes(p) for p in pcapng(answers[0])[0] if p.type == 0x88b5] == frames


def test_capture_gone_under_its_reader(make):
    """The next run begins: the connection is reset, so nobody takes the half for all."""
    g, _ = captured_much(make)
    reader = half_read(g, B)
    start(g)
    g.time(100 * MS)
    assert reader.read().ended == "reset"
    g.take_all(0)


def test_no_capture(make):
    g = make(script(STREAM))
    g.key("show capture base64\r")
    assert "there is no capture: the script captures no port" in g.text


def test_a_ring_that_nobody_empties(make):
    """What we said before lies in the ring: a run waits for it, says so when it waits in vain, and
    begins as ever once the device takes frames again. Who does not want to wait stops it."""
    g = make(script(STREAM + " rate 1000pps\n limit 5 frames\n"))
    start(g)
    g.time(SECOND)
    assert len(g.take_all(0)) == 5
    g.command("room 0 0")
    g.send(0, arp_request(A, ROUTER[0].ip))
    for wait, why in ((4 * SECOND, "other frames of ours have been in its port's ring for 3 s, and "
                       "the device takes none: start it again when it does"),
                      (SECOND, "stopped")):
        start(g)
        g.time(wait)
        assert "stream a: other" not in g.text or wait > SECOND
        g.key("\x03")
        g.time(SECOND)
        assert why in g.text and "sent 5 frames" in g.text
        g.text = "sent 5 frames"
        assert not g.take_all(0)
    start(g)
    g.time(2 * SECOND)
    g.command("room 0 -1")
    g.time(SECOND)
    frames = g.take_all(0)
    assert len(frames) == 6 and ARP in Ether(frames[0]), g.text
    assert "sent 5 frames" in g.text[14:] and "INVALID" not in g.text


def test_a_full_ring_comes_to_an_end(make):
    """A ring of jumbo frames takes its time at 10 Mbit/s: 7.5 s, and 3 s more are waited."""
    g = make(script("line eth0 10Mbps\n" + STREAM + " size 9220\n rate 100pps\n"))
    for wait, ends in ((6 * SECOND, True), (12 * SECOND, False)):
        start(g, 1)
        g.time(900 * MS)
        g.command("room 0 0")
        g.time(150 * MS)
        g.command("away %d" % wait)
        g.time(20 * MS)
        assert ("does not come to an end" in g.text) != ends
        g.command("room 0 -1")
        g.time(SECOND)
        assert len(g.take_all(0)) == 100 and "sent 100 frames" in g.text
