"""The generator replays captures: every byte, and its time."""
import json
import random

import pytest
from generator import STREAM, Stamp, TARGET, pcap, replay, report, start
from machine import *

T0 = 1700000000 * SECOND
REPLAY = "stream r\n port eth0\n replay a.pcap\n"


def trace(count=40, seed=1):
    """Typical frames of hosts, of many lengths, with short ones; gaps of 0 to 3 ms."""
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
    """In virtual time: every frame at its exact time, over the loops too, with a mean gap between
    the last frame and the first."""
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
    """The file's times are ignored; its order remains, with the script's MAC addresses."""
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
    """One ring has replayed and made frames in turn, each in order."""
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
    """A bad file, or a missing one: nothing is sent, and an error names the line of the script."""
    cut = pcap(trace())[:-1]
    for files, word in (({}, "lab.gen:3: the boot module has no such file"),
                        ({"a.pcap": cut}, "lab.gen:3: packet 40: the file ends within the packet, at \"a.pcap\""),
                        ({"a.pcap": b"GIF89a"}, "lab.gen:3: it is neither a pcap nor a pcapng file")):
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
