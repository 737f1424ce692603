"""`capture` of the image, read by nc on a host under traffic: tshark, capinfos and scapy find in
the stream what the host sent."""
import re
import socket
import subprocess
import time

import pytest
from conftest import (LEFT_HOST, LEFT_ROUTER, RIGHT_HOST, RIGHT_ROUTER, eventually, pings,
                      router_config)
from scapy.layers.inet import IP, UDP
from scapy.utils import PcapNgReader

CAPTURE = "capture server\ncapture access 192.0.2.0/24\n"


@pytest.fixture
def lab(make_lab):
    lab = make_lab(router_config(extra=CAPTURE), "--nic", "virtio")
    pings(lab.left, RIGHT_HOST)
    return lab


def begin(lab, line):
    lab.router.skip()
    lab.router.send("capture " + line)
    lab.router.expect("waiting for a reader at TCP port 5555", 20)


class Reader:
    """nc on a host, by default the left one, writing to a file."""

    def __init__(self, lab, path, host=None, router=LEFT_ROUTER):
        self.path, self.out = path, open(path, "wb")
        self.child = (host or lab.left).popen(["nc", router, "5555"], stdin=subprocess.DEVNULL,
                                              stdout=self.out)
        eventually(lambda: path.stat().st_size > 0, 20, "the head of the stream")

    def wait(self):
        self.child.wait(60)
        self.out.close()
        return list(PcapNgReader(str(self.path)))


def tshark(path, *arguments):
    return subprocess.run(["tshark", "-n", "-r", str(path), *arguments], capture_output=True,
                          text=True, check=True).stdout


def test_stream(lab, tmp_path):
    """Each datagram appears once in at eth0 and once out at eth1, with one hop less, in order."""
    begin(lab, "all udp dst port 9 count 400")
    reader = Reader(lab, tmp_path / "all.pcapng")
    with lab.left.socket() as sock:
        for n in range(200):
            sock.sendto(b"%5d" % n + b"x" * (n * 7 % 1400), (RIGHT_HOST, 9))
            time.sleep(0.002)  # the rate that a ring of 256 KiB sustains on a busy host
    packets = reader.wait()
    lab.router.expect(r"ended: \d+ frames, 400 given to the reader, no room for 0", 20)
    for ttl in 64, 63:  # in a burst, all frames arrive first, then all leave
        way = [p for p in packets if p[IP].ttl == ttl]
        assert [int(bytes(p[UDP].payload)[:5]) for p in way] == list(range(200))
    said = tshark(reader.path, "-T", "fields", "-e", "frame.interface_name", "-e", "ip.ttl")
    assert sorted(set(said.split("\n"))) == ["", "eth0\t64", "eth1\t63"]
    info = re.sub(r"  +", " ", subprocess.run(["capinfos", "-M", str(reader.path)], text=True,
                                              capture_output=True, check=True).stdout)
    for word in ("Number of packets: 400", "Name = eth0", "Name = eth1",
                 "Number of packets = 200", "Number of stat entries = 1",
                 "Time precision = nanoseconds (9)"):
        assert word in info, info
    assert tshark(reader.path, "-Y", "_ws.malformed") == ""


def test_under_load(make_lab, tmp_path):
    """More traffic than a reader takes: the flood continues, missing frames are counted, and the
    stream is intact to its end. The reader is not on the flooded link, which would also lose its
    acknowledgements. The flood is routed to null0, because it would saturate the other link."""
    lab = make_lab(router_config(extra=CAPTURE + "capture access %s/32\n"
                                 "ip route 203.0.113.0/24 null0\n" % RIGHT_HOST),
                   "--nic", "virtio")
    pings(lab.left, RIGHT_HOST)
    begin(lab, "eth0 in snaplen 100")
    reader = Reader(lab, tmp_path / "load.pcapng", lab.right, RIGHT_ROUTER)
    with lab.flood("203.0.113.1"), lab.flood("203.0.113.2"):
        eventually(lambda: reader.path.stat().st_size > 1000000, 120, "a part of the stream")
    lab.router.child.stdin.write(b"\x03")
    said = lab.router.expect(r"ended: (\d+) frames, (\d+) given to the reader, "
                             r"no room for (\d+)", 30)
    packets = reader.wait()
    wanted, given, lost = (int(n) for n in said.groups())
    assert given <= len(packets) and given + lost <= wanted
    assert max(len(bytes(p)) for p in packets) == 100
    assert all(p[IP].src == LEFT_HOST for p in packets if UDP in p)
    lab.router.wait_prompt()


def test_reader_that_is_killed(lab, tmp_path):
    """The killed reader's host resets the connection; the router continues, and accepts another
    reader."""
    begin(lab, "eth0")
    reader = Reader(lab, tmp_path / "killed.pcapng")
    reader.child.kill()
    with lab.flood(RIGHT_HOST):
        lab.router.expect("the reader is gone: ", 60)
    pings(lab.left, RIGHT_HOST)
    begin(lab, "eth1 icmp count 2")
    reader = Reader(lab, tmp_path / "next.pcapng")
    pings(lab.left, RIGHT_HOST, count=1)
    assert len(reader.wait()) == 2


def test_who_is_not_on_the_list(lab):
    begin(lab, "eth0")
    client = lab.right.socket(kind=socket.SOCK_STREAM)
    client.settimeout(20)
    with client, pytest.raises(ConnectionResetError):
        client.connect((LEFT_ROUTER, 5555))
        client.recv(100)
        client.send(b"x")
        client.recv(100)
    lab.router.child.stdin.write(b"\x03")
    lab.router.expect("no reader came: 0 frames", 20)
