"""The generator's captures: every byte, with its time in ns, in a file that other programs read."""
import base64
import io
import random
import re
import struct

from generator import GENERATOR, STREAM, TARGET, script, start
from machine import *
from scapy.utils import PcapNgReader
from test_http import Client

COUNTS = {"received": 4, "dropped": 5, "delivered": 8}  # isb_ifrecv, isb_ifdrop, isb_usrdeliv


def pcapng(data):
    """The packets as scapy reads them, and the statistics block of each interface."""
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
    """The capture shown by `show capture base64`."""
    start = len(g.text)
    g.key("show capture base64\r")
    g.time(SECOND)
    said = g.text[start:].replace("\r", "")
    said = re.search(r"^--- capture\.pcapng\n(.*)\n--- end$", said, re.M | re.S)[1]
    return base64.b64decode(said)


def nanoseconds(packet):
    """scapy's time, exactly: it divides two integers."""
    return round(packet.time * SECOND)


STRANGE = Ether(src=A.mac, dst=TARGET, type=0x88b5)


def strangers(count, seed=1):
    """Frames of an unknown station, of all lengths."""
    rng = random.Random(seed)
    return [bytes(STRANGE / Raw(rng.randbytes(rng.randrange(46, 1500)))) for _ in range(count)]


def test_capture_is_what_came(make):
    """Every byte, with its time in ns."""
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
    """Test frames are judged as without a capture; of two ports, one keeps only the beginning of
    some frames."""
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
    """Frames before and after the run are not in the file; each run has its own file."""
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
    """Frames without room are counted."""
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
    """The same bytes as on the console, for several readers in turn."""
    g = make(script("capture eth0 size 200\n" + STREAM + " limit 1 frames\n",
                    GENERATOR + WEB))
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
    """A reader that has sent its request, and receives nothing yet."""
    client = Client(g, src=src)
    client.send("PA", b"GET /capture.pcapng HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n")
    return client


def captured_much(make):
    g = make(script("capture eth0\n" + STREAM + " limit 1 frames\n", GENERATOR + WEB))
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
    """In turn, while a third one has disconnected: each receives the whole file."""
    g, frames = captured_much(make)
    half_read(g, A).send("RA")
    g.take_all(0)
    readers = [half_read(g, A), half_read(g, B)]
    answers = [reader.read().answer()[2] for reader in readers]
    assert answers[0] == answers[1] == shown_capture(g)
    assert [bytes(p) for p in pcapng(answers[0])[0] if p.type == 0x88b5] == frames


def test_capture_gone_under_its_reader(make):
    """When the next run begins, the connection is reset, so that no reader mistakes the part for
    the whole."""
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
    """Our own earlier frames fill the ring: a run waits for it, reports a wait in vain, and starts
    as usual once the device takes frames again. An operator can stop a waiting run."""
    g = make(script(STREAM + " rate 1000pps\n limit 5 frames\n"))
    start(g)
    g.time(SECOND)
    assert len(g.take_all(0)) == 5
    g.command("room 0 0")
    g.send(0, arp_request(A, ROUTER[0].ip))
    for wait, why in ((4 * SECOND, "earlier frames have been in its port's transmit ring for 3 s, "
                       "because the device sends none: start again when it does"),
                      (SECOND, "stopped")):
        start(g)
        g.time(wait)
        assert "stream a: earlier" not in g.text or wait > SECOND
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
    """A ring of jumbo frames needs 7.5 s at 10 Mbit/s; the generator waits 3 s longer."""
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
