"""The image replays captures: a Linux host receives one, byte for byte and in order."""
import random
import socket

import pytest
from conftest import LEFT_ROUTER
from generator import generator, report, start
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import PcapNgWriter, wrpcap

CONFIG = "application pktgen\ninterface eth0\n ip address %s/24\n" % LEFT_ROUTER
SOURCE = "02:00:00:00:aa:aa"


def frames(count):
    """Frames of all lengths that a tap accepts, over a fifth of a second."""
    rng = random.Random(count)
    made = []
    for n in range(count):
        frame = Ether(src=SOURCE, dst="02:00:00:00:bb:bb") / IP(src="10.1.1.1", dst="10.2.2.2", id=n) / UDP(
            sport=n, dport=9) / Raw(rng.randbytes(rng.choice((1, 18, 200, 1472))))
        frame = Ether(bytes(frame))
        frame.time = 1700000000 + n * .2 / count
        made.append(frame)
    return made


@pytest.fixture
def receive(make_hosts):
    """(port, function that returns the next n frames of SOURCE)."""
    host, _ = make_hosts()
    with host.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as sock:
        sock.bind(("eth0", 3))
        sock.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        sock.settimeout(10)

        def take(count):
            got = []
            while len(got) < count:
                frame = sock.recv(10000)
                if frame[6:12] == bytes.fromhex(SOURCE.replace(":", "")):
                    got.append(frame)
            return got

        yield host.port, take


def write_pcap(path, sent):
    wrpcap(str(path), sent)


def write_pcapng(path, sent):
    with PcapNgWriter(str(path)) as writer:
        for frame in sent:
            writer.write(frame)


@pytest.mark.parametrize("nic, write, rate, seconds", [
    ("virtio", write_pcap, "", .2 / 400), ("ixgbe", write_pcapng, " rate 5kpps\n", 1 / 5000),
    ("mlx5", write_pcap, "", .2 / 400)])
def test_what_was_captured_arrives(make_router, receive, tmp_path, write, rate, seconds):
    """Three loops, at the file's times and at a rate. No frame is early; the report says how late
    they are."""
    port, take = receive
    sent = frames(400)
    whole = [bytes(f).ljust(60, b"\0") for f in sent] * 3
    write(tmp_path / "web.cap", sent)
    text = "stream a\n port eth0\n replay web.cap\n loop 3\n" + rate
    machine = generator(make_router, tmp_path, text, CONFIG, ports=(port,))
    said = start(machine)
    assert "sent 1200 frames" in said, said
    assert take(1200) == whole
    run = report(machine)["run"]
    stream, = run["streams"]
    assert stream["sent_bytes"] == sum(map(len, whole))
    assert stream["pacing_error"]["count"] == 1200
    first_late = stream["pacing_error"]["max_ns"]
    assert run["elapsed_ns"] + first_late >= 1e9 * seconds * 1199 - 1e6
