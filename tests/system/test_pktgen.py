"""The generator as an image: a Linux host checks its frames, one by one, on every card; and a
router of ours runs between its two ports."""
import re
import socket
import struct

import pytest
from conftest import LEFT_HOST, LEFT_ROUTER, RIGHT_HOST, netlab, options, router_config
from generator import generator, report, start
from stamped import frame

STREAM = """\
stream a
 port eth0
 udp %s port 5000 %s port 6000
""" % (LEFT_ROUTER, LEFT_HOST)
CONFIG = "application pktgen\ninterface eth0\n ip address %s/24\n" % LEFT_ROUTER


def counted(text):
    return {name: int(value) for name, value in re.findall(
        r"(sent|received|lost|reordered|duplicates|corrupted) (\d+)", text)}


class Receiver:
    """A packet socket of the host that keeps the frames of one stream."""

    def __init__(self, host):
        self.socket = host.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind(("eth0", 3))
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        self.socket.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
        self.socket.settimeout(5)

    def next_timed(self):
        """A frame and the time in seconds when the kernel received it."""
        while True:
            got, extra, *_ = self.socket.recvmsg(10000, 64)
            if got[12:14] == b"\x08\x00" and got[23] == 17 and got[36:38] == b"\x17\x70":
                seconds, ns = struct.unpack("qq", extra[0][2])
                return got, seconds + ns / 1e9

    def next(self):
        return self.next_timed()[0]

    def close(self):
        self.socket.close()


def stamp(got):
    """For the script's first stream: the core that sent the frame, and the number of the frame on
    that core."""
    flow, number = struct.unpack_from("<HQ", got, 44)
    return flow >> 5, number


def check(got, bytes_, number, flow=0):
    """Checks every byte except the MAC addresses and the time."""
    ns, = struct.unpack_from("<I", got, 54)
    assert got == frame(number, bytes_ + 4, addresses=(LEFT_ROUTER, LEFT_HOST), ports=(5000, 6000),
                        flow=flow, ns=ns, macs=got[:12])


@pytest.mark.parametrize("nic", options.NICS)
def test_frames_reach_linux(make_router, make_hosts, tmp_path):
    """All frames arrive intact, those of each core in order; the average rate is right."""
    left, _ = make_hosts()
    text = STREAM + " size 64/128/1518\n rate 2000pps\n limit 1200 frames\n"
    machine = generator(make_router, tmp_path, text, CONFIG, ports=(left.port,))
    receiver = Receiver(left)
    try:
        said = start(machine)
        assert counted(said)["sent"] == 1200, said
        frames = [receiver.next() for _ in range(1200)]
        stamps = [stamp(got) for got in frames]
        senders = 1 + max(sender for sender, _ in stamps)
        assert senders <= max(1, len(machine.cores()) - 1)
        assert sorted(stamps) == sorted((m % senders, m // senders) for m in range(1200))
        assert sorted(stamps) == sorted(stamps, key=lambda of: of[0])
        for got, (sender, n) in zip(frames, stamps):
            check(got, (60, 124, 1514)[(sender + n * senders) % 3], n, sender << 5)
    finally:
        receiver.close()


@pytest.mark.parametrize("nic", options.NICS)
def test_the_card_keeps_the_rate(make_router, make_hosts, tmp_path, nic):
    """The generator sends flat out, but the card's limiter keeps the rate; a card without a limiter
    is reported."""
    left, _ = make_hosts()
    text = STREAM + " size 1518\n rate 20Mbps l2 hardware\n limit 1000 frames\n"
    machine = generator(make_router, tmp_path, text, CONFIG, ports=(left.port,))
    if nic != "ixgbe":
        assert "eth0 does not keep this rate: its card has no rate limiter" in start(machine)
        return
    receiver = Receiver(left)
    try:
        said = start(machine)
        assert counted(said)["sent"] == 1000, said
        assert "paced by the card, 19.999 Mbit/s" in said or "20.000 Mbit/s" in said, said
        frames, times = zip(*(receiver.next_timed() for _ in range(1000)))
        for n, got in enumerate(frames):
            check(got, 1514, n)
        # in all; single gaps are the host's, because nicsim catches up its delay
        assert -0.05 < times[-1] - times[0] - 999 * 1518 * 8 / 20e6 < 0.3, times
    finally:
        receiver.close()


DELAY_NS = 1000000
CABLE = tuple("wire:link:%d;delay=%dns" % (1 - port, DELAY_NS) for port in range(2))


@pytest.mark.parametrize("nic", ["ixgbe"])
@pytest.mark.parametrize("way", ["", "192.0.2.10 192.0.2.99 ", "2001:db8::10 2001:db8::99 "])
def test_cards_time_probes(make_router, tmp_path, way):
    """With a stream in parallel, over a cable of a known delay; the cards' clocks have different
    origins."""
    text = """\
answer eth1 192.0.2.0/24
answer eth1 2001:db8::/64
probe eth0 to eth1 %severy 5ms
stream a
 port eth0 to eth1
 mac destination 02:00:00:00:00:99
 udp 192.0.2.10 192.0.2.99
 rate 1kpps
""" % way
    config = "application pktgen\ninterface eth0\n ip address 192.0.2.1/24\n" \
        " ipv6 address 2001:db8::1/64\n"
    machine = generator(make_router, tmp_path, text, config, ports=CABLE)
    said = machine.command("start 4", timeout_s=60)
    sent, timed, error = map(int, re.search(
        r"eth0 to eth1 sent (\d+), timed by the cards (\d+), clock error at most (\d+) ns",
        said).groups())
    assert sent > 5 and timed >= sent * 0.9, said
    probe = report(machine)["run"]["probe"]
    got = probe["latency"]
    assert (probe["sent"], got["count"], probe["clock_error_ns"]) == (sent, timed, error)
    assert abs(got["min_ns"] - DELAY_NS) <= error and abs(got["max_ns"] - DELAY_NS) <= error, said
    assert abs(got["p50_ns"] - DELAY_NS) < DELAY_NS / 10, said


@pytest.mark.parametrize("cpus", [3, 4])
def test_cores_share_a_stream(make_router, make_hosts, tmp_path, cpus):
    """Each of N data cores sends every Nth frame, with its own numbers."""
    senders = options.data_cores(cpus)
    left, _ = make_hosts(senders)
    text = STREAM + " size 64/128/1518\n rate 2000pps\n limit 1200 frames\n"
    machine = generator(make_router, tmp_path, text, CONFIG, ports=(left.port,), cpus=cpus)
    receiver = Receiver(left)
    numbers = [0] * senders
    try:
        assert counted(start(machine))["sent"] == 1200
        while numbers != [1200 // senders] * senders:
            got = receiver.next()
            sender, _ = stamp(got)
            n = numbers[sender]
            check(got, (60, 124, 1514)[(sender + n * senders) % 3], n, sender << 5)
            numbers[sender] += 1
    finally:
        receiver.close()


@pytest.fixture
def patch_panel():
    """Two cables: (ports of one end, ports of the other)."""
    with netlab.PatchPanel(2) as panel:
        yield panel.ends


THROUGH = """\
answer eth1 198.51.100.0/24
stream there
 port eth0 to eth1
 udp %s port 5000 198.51.100.77 port 6000
 vary destination address increment 198.51.100.77 198.51.100.80
 rate 1000pps
 limit 2000 frames
""" % LEFT_HOST


def test_through_our_router(make_router, patch_panel, tmp_path):
    """pktgen, router, pktgen: nothing is lost or duplicated, and the router forwarded all. A single data
    core keeps the stream in order. Several keep the order within each destination only."""
    ours, theirs = patch_panel
    router = make_router(router_config(), ports=theirs)
    config = "application pktgen\ninterface eth0\n ip address %s/24\nip route 198.51.100.0/24 %s\n" % (
        LEFT_HOST, LEFT_ROUTER)
    machine = generator(make_router, tmp_path, THROUGH, config, ports=ours)
    # the first run resolves the router's neighbours
    start(machine)
    before = router.balanced()["forwarded"]
    said = start(machine)
    counts = counted(said)
    assert len(router.cores()) > 2 or counts["reordered"] == 0, said
    assert counts == {"sent": 2000, "received": 2000, "lost": 0, "reordered": counts["reordered"],
                      "duplicates": 0, "corrupted": 0}, said
    assert re.search(r"latency ns: min [1-9]\d+ ", said)
    assert router.balanced()["forwarded"] == before + 2000
    assert RIGHT_HOST not in router.command("show arp")
