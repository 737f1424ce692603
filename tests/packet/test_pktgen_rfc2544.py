"""RFC 2544 by the generator: trials with a lossy device, reports, and what ends a test."""
import json
import re

from generator import (FRAMES_A_PERCENT, GENERATOR, STREAM, Stamp, TARGET, TESTS, play, report,
                       script, start, trials)
from machine import *
from test_http import Client


def test_throughput_of_a_wire(make):
    """Without loss, the throughput is the highest rate, after one trial of each size."""
    g = make(script(TESTS % ("throughput", "64/1518", "1%")))
    g.key("rfc2544 start\r")
    play(g, list)
    found = trials(g)
    assert [(t[0], t[1], t[2], t[4], t[5].strip()) for t in found] == [
        ("throughput", "64", "10.000", "0", "valid"), ("throughput", "1518", "10.000", "0", "valid")]
    assert abs(int(found[0][3]) - 10 * FRAMES_A_PERCENT) <= 1
    assert "2 trials, 0 invalid" in g.text


def test_throughput_is_searched(make):
    """A device with 6.4 % of the line rate, which drops the excess: the search ends at 6 %."""
    can = 6.4 * FRAMES_A_PERCENT / 4  # in an interval of 2 ms

    g = make(script(TESTS % ("throughput", "64", "1%")))
    g.key("rfc2544 start\r")
    play(g, lambda frames: frames[:int(can)])
    assert [(t[2], int(t[4]) > 0) for t in trials(g)] == [
        ("10.000", True), ("5.000", False), ("7.000", True), ("6.000", False)]
    said = report(g)
    assert re.search(r"^ +64 +6\.000 +\d+", said, re.M), said


def test_learning_frames(make):
    """Before each trial the generator sends the first frames of each stream, for every destination,
    at a low rate: a device that drops them, because it does not know its neighbour, has lost
    nothing of the trial. Between two trials the device rests."""
    text = TESTS.replace("learn 0s", "learn 200ms").replace("rest 0s", "rest 500ms")
    text = text.replace("rfc2544", " vary destination address increment 198.51.100.10 198.51.100.19\nrfc2544", 1)
    g = make(script(text % ("latency", "64", "1%")))
    g.key("rfc2544 start\r")
    seen = []  # intervals with frames: from, to, how many

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
    """Text, JSON between its marks, and a page that contains the JSON; as output of the console."""
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
    """The generator's own ring hardly advances: each trial is repeated three times, at decreasing
    rates, and if it is invalid at the lowest one too, there is no result."""
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
    """A trial during which a link went down is invalid; the next one waits for the link."""
    g = make(script(TESTS % ("throughput", "64", "1%")))
    g.key("rfc2544 start\r")
    g.time(30 * MS)
    g.take_all(0)
    g.link(1, False)
    g.time(200 * MS)
    g.take_all(0)
    g.link(1, True)
    play(g, list)
    g.take_all(1)  # it announces itself again
    flaws = [t[5].strip() for t in trials(g)]
    assert flaws[0] == "invalid: a link was down" and flaws[-1] == "valid"


def test_link_is_lost_in_a_run(make):
    """The run continues, but its result is invalid."""
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
    """Two streams by weight, a burst divided by their rates: both parts of it arrive."""
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
    """A problem that would affect the next trial too ends the test."""
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
    """Reports and rows of /metrics by HTTP; the pages equal those of the console."""
    from test_http import Client
    g = make(script(STREAM + " rate 1Mpps\n limit 1000 frames\n", GENERATOR + WEB))
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
