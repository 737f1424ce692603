"""Captures of the image: the frames that a Linux host sent it, byte for byte and in order, read by
others' tools."""
import random
import re
import socket
import subprocess

import pytest
from conftest import ACCEL, IMAGE, LEFT_ROUTER, QEMU, WEB
from generator import begin, end, generator
from launcher.guest import LAUNCHER, PYTHON
from launcher.report import capture
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import PcapNgReader

CONFIG = "application pktgen\n%sinterface eth0\n ip address %s/24\n" % (WEB, LEFT_ROUTER)
SOURCE = "02:00:00:00:aa:aa"
STREAM = "stream a\n port eth0\n mac destination 02:00:00:00:00:99\n udp 10.0.0.1 10.0.0.2\n"


def frames(count):
    """Frames of all lengths that a tap accepts."""
    rng = random.Random(count)
    head = Ether(src=SOURCE, dst="52:54:00:48:5a:00") / IP(src="10.1.1.1", dst="10.2.2.2")
    return [bytes(head / UDP(sport=n, dport=9) / Raw(rng.randbytes(rng.choice((18, 19, 200, 1472)))))
            for n in range(count)]


def of_source(path):
    """The host's packets of the test; the host may send others."""
    return [p for p in PcapNgReader(str(path)) if p.src == SOURCE]


@pytest.mark.parametrize("nic", ["virtio", "ixgbe"])
def test_capture(make_router, make_hosts, tmp_path):
    host, _ = make_hosts()
    machine = generator(make_router, tmp_path, "capture eth0\n" + STREAM + " rate 100pps\n", CONFIG,
                        ports=(host.port,))
    sent = frames(500)
    with host.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:
        sock.bind(("eth0", 0))
        sock.send(sent[0])  # no run is active
        begin(machine)
        for frame in sent:
            sock.send(frame)
        machine.expect(r"\d\.\d s .*missing", 30, "a line of the run")
        machine.child.stdin.write(b"\x03")
        end(machine)
    counts = re.search(r"received (\d+) frames, kept (\d+), no room for 0",
                       machine.command("show capture"))
    path = tmp_path / "capture.pcapng"
    path.write_bytes(capture(machine))
    packets = of_source(path)
    assert [bytes(p) for p in packets] == sent
    host.run(["curl", "-sS", "-o", str(tmp_path / "again.pcapng"), "--max-time", "60",
              "http://%s/capture.pcapng" % LEFT_ROUTER])
    assert (tmp_path / "again.pcapng").read_bytes() == path.read_bytes()
    said = subprocess.run(["tshark", "-n", "-r", str(path), "-Y", "eth.src == %s" % SOURCE, "-T",
                           "fields", "-e", "udp.srcport"], capture_output=True, text=True, check=True)
    assert [int(n) for n in said.stdout.split()] == list(range(500)), said.stderr
    times = [p.time for p in packets]
    assert times == sorted(times) and 0 < times[0] and times[-1] - times[0] < 30
    assert {int(n) for n in counts.groups()} == {len(list(PcapNgReader(str(path))))}


def test_launcher_writes_it(tmp_path):
    """`hayate run pktgen --capture`: the first frames of a stream, at the other end of the cable;
    capinfos agrees."""
    conf, script, path = tmp_path / "lab.conf", tmp_path / "lab.gen", tmp_path / "out.pcapng"
    conf.write_text("application pktgen\n")
    script.write_text("capture eth1 size 60 frames 20\n"
                      "stream a\n port eth0 to eth1\n mac destination 52:54:00:48:5a:01\n"
                      " udp 10.0.0.1 10.0.0.2\n size 128\n rate 500pps\nrun 100 frames\n")
    words = [PYTHON, LAUNCHER, "run", "pktgen", "--accel", ACCEL, "--image", IMAGE, "--config",
             str(conf), "--script", str(script), "--capture", str(path), "--nic", "ixgbe",
             "--mac", "52:54:00:48:5a:00", "--port", "wire:link:1", "--port", "wire:link:0"]
    words += ["--qemu", QEMU] if QEMU else []
    result = subprocess.run(words, capture_output=True, text=True, timeout=300,
                            stdin=subprocess.DEVNULL, check=False)
    # a slow machine may have fallen behind (exit code 120) and reports that, but the file exists
    assert result.returncode in (0, 120) and "capture: %s" % path in result.stdout, result.stdout
    packets = list(PcapNgReader(str(path)))
    assert [int.from_bytes(bytes(p)[46:54], "little") for p in packets] == list(range(20))
    assert {(len(bytes(p)), p.wirelen) for p in packets} == {(60, 124)}
    info = subprocess.run(["capinfos", "-M", str(path)], capture_output=True, text=True,
                          check=True).stdout
    for word in ("Number of packets: 20", "Name = eth1", "Speed = 10000000000",
                 "Time precision = nanoseconds (9)"):
        assert word in re.sub(r"  +", " ", info), info
