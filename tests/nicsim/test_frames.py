"""Frames through model=test: generator, sink, link, and the faults common to all models."""
import struct

from guest import TestDevice, fired, wait_for
from stamped import ones_sum

FRAME = bytes.fromhex("ffffffffffff525400123456 88b5") + bytes(range(50))
ARP = bytes.fromhex("ffffffffffff 520000000001 0806 0001 0800 0604 0001 520000000001 c6336401 000000000000 c6336402")


def forward(source, sink, count):
    """Forwards frames between two devices, like a router."""
    for _ in range(count):
        frame = source.receive()
        assert frame is not None
        source.refill(1)
        sink.send(frame)


def test_generator_to_sink(nicsim):
    n = nicsim("gen;count=200;size=imix;flows=8;prefixes=16;start=manual", "sink")
    source, sink = n.device(0), n.device(1)
    source.refill()
    assert n.command("port 0 gen start") == {"ok": True}
    forward(source, sink, 200)
    stream = wait_for(lambda: n.stream()["received"] == 200 and n.stream())
    assert stream["sent"] == 200 and stream["lost"] == 0
    assert stream["reordered"] == stream["duplicates"] == stream["corrupted"] == 0
    assert 0 < stream["latency_min_ns"] <= stream["latency_avg_ns"] <= stream["latency_max_ns"]
    half, most = stream["latency_p50_ns"], stream["latency_p99_ns"]
    assert stream["latency_min_ns"] <= half * 1.008 and half <= most <= stream["latency_p999_ns"]
    assert stream["latency_p999_ns"] <= stream["latency_max_ns"]
    ports = n.stats()["ports"]
    assert ports[1]["wire"]["judged"] == 200 and ports[1]["wire"]["foreign"] == 0
    assert ports[0]["rx_frames"] == ports[1]["tx_frames"] == 200
    assert ports[0]["rx_missed"] == 0  # flat out, the generator waits for room
    assert n.command("port 0 reset-stats") == {"ok": True}
    assert n.stream()["latency_max_ns"] == n.stream()["latency_p999_ns"] == 0


def received(n, count):
    """The generator's frames as bytes, from the port of a device that only receives."""
    device = n.device(0, size=256)
    device.refill()
    n.command("port 0 gen start")
    return [device.receive() for _ in range(count)]


def test_destinations_of_a_file(nicsim, tmp_path):
    """More than 16,384 destinations are sent in the file's order, then the first ones again."""
    path = tmp_path / "destinations"
    wanted = [struct.pack(">I", 0x0a000000 + 77 * n) for n in range(20000)]
    path.write_bytes(b"".join(wanted))
    n = nicsim("gen;start=manual;count=32770;destinations=%s" % path, "sink")
    source, sink = n.device(0), n.device(1)
    source.refill()
    n.command("port 0 gen start")
    for i in range(32770):
        frame = source.receive()
        source.refill(1)
        assert frame[30:34] == wanted[i % 32768 % 20000], i
        sink.send(frame)
    stream = wait_for(lambda: n.stream()["received"] == 32770 and n.stream())
    assert stream["lost"] == stream["corrupted"] == 0


def test_generated_frames_are_valid(nicsim):
    n = nicsim("gen;start=manual;count=60;size=64/65/1518/9018;flows=4;dst=203.0.113.9;prefixes=3;"
               "dmac=02:00:00:00:00:07;smac=02:00:00:00:00:08;src=192.0.2.77;sport=5000;dport=7")
    destinations, ports = set(), set()
    for i, f in enumerate(received(n, 60)):
        assert len(f) + 4 == (64, 65, 1518, 9018)[i % 4]
        assert f[:14] == bytes.fromhex("020000000007 020000000008 0800")
        length, = struct.unpack_from(">H", f, 16)
        assert length + 14 == len(f) and f[14] == 0x45 and f[23] == 17
        assert ones_sum(f[14:34]) == 0xFFFF
        pseudo = f[26:34] + struct.pack(">HH", 17, length - 20)
        assert ones_sum(pseudo + f[34:]) == 0xFFFF  # RFC 768
        assert f[26:30] == bytes([192, 0, 2, 77])
        destinations.add(f[30:33])
        ports.add(struct.unpack_from(">HH", f, 34))
        assert struct.unpack_from("<Q", f, 46)[0] == i
    assert destinations == {bytes([203, 0, 113 + k]) for k in range(3)}
    assert ports == {(5000 + k, 7) for k in range(4)}


def test_numbers_are_decimal(nicsim):
    n = nicsim("gen;start=manual;size=0100/0x5ea;sport=010")
    frames = received(n, 2)
    assert [len(f) + 4 for f in frames] == [100, 1514]
    assert struct.unpack_from(">H", frames[0], 34) == (10,)


def test_judge_tells_what_is_wrong(nicsim):
    n = nicsim("gen;start=manual;count=20;size=100")
    frames = received(n, 20)
    device = n.guests[0]
    sender = TestDevice.__new__(TestDevice)
    sender.__dict__.update(guest=device, size=256, tail={TestDevice.TX: 0}, head=0)
    routed = bytearray(frames[1])  # the changes of a router: addresses, TTL, header checksum
    routed[:12] = bytes(12)
    routed[22] -= 1
    routed[24:26] = struct.pack(">H", struct.unpack_from(">H", routed, 24)[0] + 0x100)
    stamp, body, checksum = bytearray(frames[4]), bytearray(frames[5]), bytearray(frames[6])
    stamp[48] ^= 1
    body[80] ^= 1
    checksum[24] ^= 1
    tagged = frames[7][:12] + bytes.fromhex("81000005") + frames[7][12:]
    sender.send(frames[0], bytes(routed), frames[3], frames[2], frames[3], bytes(stamp), bytes(body),
                bytes(checksum), tagged, FRAME)
    wire = wait_for(lambda: n.port()["tx_frames"] == 10 and n.port()["wire"])
    stream = n.stream()
    assert (wire["judged"], wire["foreign"], wire["corrupted"]) == (9, 1, 3)
    assert stream["received"] == 5 and stream["corrupted"] == 3
    assert stream["reordered"] == 1 and stream["duplicates"] == 1
    assert stream["lost"] == 15
    n.command("port 0 reset-stats")
    sender.send(frames[9])
    assert wait_for(lambda: n.stream()["stale"] == 1)
    assert n.stream()["received"] == n.stream()["sent"] == 0


def test_generator_keeps_its_rate(nicsim):
    n = nicsim("gen;start=manual")
    n.device(0)

    def sent_in_time():
        """(frames, seconds), or None if nicsim had too little CPU time to keep its rate."""
        n.command("port 0 gen start")
        first = n.stats()
        wait_for(lambda: n.stats()["time_ns"] > first["time_ns"] + 400_000_000)
        last, after = n.stats(), n.stats()
        n.command("port 0 gen stop")
        late = [stats["ports"][0]["wire"]["backlog_forgotten"] for stats in (first, after)]
        if late[0] != late[1]:
            return None
        return (last["streams"][0]["sent"] - first["streams"][0]["sent"],
                (last["time_ns"] - first["time_ns"]) / 1e9)

    for text, expected in (("rate=2000", 2000), ("rate=5kpps", 5000), ("rate=672kbps", 1000)):
        n.command("port 0 gen " + text)
        sent, seconds = wait_for(sent_in_time, 30, "a time in which nicsim has its CPU")
        assert abs(sent - expected * seconds) < 0.1 * expected * seconds + 10
    assert n.command("port 0 gen rate=nonsense")["ok"] is False


def test_sink_answers_arp(nicsim):
    n = nicsim("sink;smac=02:00:00:00:00:55", "sink;arp=off")
    device, silent = n.device(0), n.device(1)
    device.refill()
    silent.refill()
    probe = ARP[:28] + bytes(4) + ARP[32:]
    announcement = ARP[:38] + ARP[28:32]
    device.send(probe, announcement, ARP)
    silent.send(ARP)
    reply = device.receive()
    mac = bytes.fromhex("020000000055")
    assert reply[:42] == (ARP[6:12] + mac + ARP[12:20] + b"\0\2" + mac + ARP[38:42] + ARP[22:32])
    assert len(reply) == 60
    assert device.receive(0.1) is None and silent.receive(0.1) is None


def test_link_carries_both_ways(nicsim):
    n = nicsim("link:1", "link:0")
    a, b = n.device(0), n.device(1)
    a.refill()
    b.refill()
    for i in range(300):
        a.send(FRAME + bytes([i & 255]))
        b.send(bytes([i & 255]) + FRAME)
        assert b.receive() == FRAME + bytes([i & 255])
        assert a.receive() == bytes([i & 255]) + FRAME
        a.refill(1)
        b.refill(1)


def test_link_delay_loss_reorder(nicsim):
    n = nicsim("link:1;delay=50ms", "link:0;loss=50%", "link:3;reorder=100%", "link:2")
    a, b, c, d = (n.device(i) for i in range(4))
    for device in (a, b, c, d):
        device.refill()
    start = n.stats()["time_ns"]
    a.send(FRAME)
    assert b.receive() == FRAME
    assert n.stats()["time_ns"] - start >= 50_000_000
    for i in range(1, 11):
        b.send(*[FRAME] * 32)
        wait_for(lambda: n.port(1)["wire"]["from_model_frames"] == 32 * i)
    lost = n.port(1)["wire"]["lost"]
    assert 80 < lost < 240
    c.send(FRAME + b"1", FRAME + b"2")
    assert d.receive() == FRAME + b"2" and d.receive() == FRAME + b"1"
    assert n.port(2)["wire"]["reordered"] == 1


def test_link_rate(nicsim):
    n = nicsim("link:1;rate=1M", "link:0")
    a, b = n.device(0), n.device(1)

    def in_time():
        b.refill(11)
        before, start = n.port(1)["rx_frames"], n.stats()["time_ns"]
        a.send(*[bytes(1226)] * 11)  # 10 ms each, with preamble, FCS and gap
        wait_for(lambda: n.port(1)["rx_frames"] == before + 11)
        seconds = (n.stats()["time_ns"] - start) / 1e9
        assert seconds >= 0.11
        return seconds < 0.3  # a busy machine may take longer, but never less

    wait_for(in_time, what="11 frames of 10 ms each in less than 0.3 s")


def test_more_than_a_turn(nicsim):
    """One doorbell for more frames than nicsim sends per turn: it continues without another one."""
    n = nicsim("sink")
    device = n.device(0, size=4096)
    at, count = device.buffer(device.TX, 0), 4000
    device.guest.memory[at:at + len(FRAME)] = FRAME
    for index in range(count):
        struct.pack_into("<QII", device.guest.memory, device.descriptor(device.TX, index), at,
                         len(FRAME), 0)
    device.tail[device.TX] = count
    device.ring(device.TX)
    assert wait_for(lambda: device.is_done(device.TX, count - 1), what="all frames") == 1
    assert n.port()["tx_frames"] == count


def test_cable(nicsim):
    n = nicsim("link:1", "link:0")
    a, b = n.device(0), n.device(1)
    events = a.guest.vector(2)
    b.refill()
    assert a.guest.read(0, a.STATUS) == 1
    n.command("port 1 carrier down")
    assert fired(events) == 1
    assert a.guest.read(0, a.STATUS) == 0 and b.guest.read(0, b.STATUS) == 0
    a.send(FRAME)
    assert b.receive(0.1) is None
    n.command("port 1 carrier up")
    assert fired(events) == 1 and a.guest.read(0, a.STATUS) == 1
    a.send(FRAME)
    assert b.receive() == FRAME
    assert n.port(0)["wire"]["dropped"] == 1


def test_link_flap(nicsim):
    n = nicsim("sink")
    device = n.device(0)
    events = device.guest.vector(2)
    n.command("port 0 fault link-flap:40")
    assert n.port()["faults"] == ["link-flap"]
    assert sum(fired(events) for _ in range(6)) >= 6
    n.command("port 0 clear link-flap")
    assert wait_for(lambda: n.port()["carrier"])


def test_master_abort(nicsim):
    n = nicsim("sink")
    device = n.device(0)
    device.guest.write(0, device.SCRATCH, 5)
    n.command("port 0 fault master-abort")
    assert device.guest.read(0, device.SCRATCH) == 0xFFFFFFFF
    device.guest.write(0, device.SCRATCH, 6)
    n.command("port 0 clear all")
    assert device.guest.read(0, device.SCRATCH) == 5


def test_removal(nicsim):
    n = nicsim("link:1", "link:0")
    a, b = n.device(0), n.device(1)
    b.refill()
    events = b.guest.vector(2)
    assert b.guest.read(0, b.ID) == 0x4E53494D
    start = n.stats()["time_ns"]
    n.command("port 1 fault removed:30")
    wait_for(lambda: n.port(1)["removed"])
    assert n.stats()["time_ns"] - start >= 30_000_000
    assert fired(events, 0.1) == 0  # a removed card does not even report its link down
    assert b.guest.read(0, b.ID) == 0xFFFFFFFF
    assert b.guest.read(0, b.RECEIVED) == 0xFFFFFFFF
    assert a.guest.read(0, a.STATUS) == 0  # the peer sees that
    a.send(FRAME)
    assert b.receive(0.1) is None
    n.command("port 1 clear removed")
    assert b.guest.read(0, b.CTRL) == 0  # as after power-on


def test_fault_of_the_model(nicsim):
    n = nicsim("sink,fault=stuck")
    device = n.device(0)
    device.send(FRAME)
    assert n.port()["tx_frames"] == 0 and n.port()["faults"] == ["stuck"]
    n.command("port 0 clear stuck")
    wait_for(lambda: n.port()["tx_frames"] == 1)
