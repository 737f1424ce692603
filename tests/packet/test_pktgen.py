"""The generator: every frame compared with scapy's, times in virtual time, and the report about
frames that come back late, twice, out of order, damaged, or not at all."""
import re

import pytest
from generator import GENERATOR, STREAM, Stamp, TARGET, checksums_right, pattern, script, start
from machine import *
from scapy.layers.inet6 import ICMPv6EchoRequest, ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr
from scapy.layers.inet import TCP
from scapy.layers.l2 import Dot1Q
from stamped import IMIX


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
    """In virtual time a frame is sent exactly when it is due: frame n at n times the gap, rounded
    up, after the first; errors do not accumulate."""
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
    """Nanoseconds from the first frame to each frame."""
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
    """A frame is due when the previous ones have been sent on a line of 1 Gbit/s."""
    due = 0
    for n, at in enumerate(sent_at(make, " size imix\n rate %s\n" % rate, 1200)):
        assert -1 <= at - due < 1.5, (n, at, due)
        due += (IMIX[n % 12] + overhead) * 8 / bits * 1e9


def test_pacing_of_bursts(make):
    """Ten frames at once, every ten microseconds."""
    for n, at in enumerate(sent_at(make, " rate 1Mpps\n burst 10\n", 1000)):
        assert -1 <= at - n // 10 * 10000 < 1.5, (n, at)


def test_pacing_of_a_ramp(make):
    """At any time the number of sent frames equals the integral of the rate, within one frame.
    Afterwards the last rate continues."""
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
    """The backlog is reported, and the trial is invalid; no frame is changed."""
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
    """Sends 1000 numbered frames, returns the result of frames_of to the generator, and returns the
    report."""
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
    """After the stamp, only the checksum shows damage, and only if it is verified."""
    found = came_back(make, lambda frames: [f[:65] + bytes([f[65] ^ 255]) + f[66:] for f in frames[:3]] +
                      frames[3:], " size 128\n" + statement)
    assert found == expected(received=1000 - corrupted, lost=corrupted, corrupted=corrupted)


def test_wrong_port(make):
    """The frame should have come back by eth1."""
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
    """Without a MAC address in the stream, its frames take the path of our own packets: the gateway
    is resolved, and the frames go there."""
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
    """ARP and ND are answered for all addresses behind a port, not for others; our own are answered
    as usual."""
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
    """The machine answers pings while it sends, without losing a frame."""
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
    """The run starts by itself; it sends that many frames of each stream, or fewer if the stream
    has a limit."""
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
    """The run is lost, and this is reported; the next one works."""
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
