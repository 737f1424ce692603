"""Every byte that the generator sends, on all its ports and cores at once: a frame of each kind of
stream is as the documentation derives it from script and number (tests/stamped.py)."""
import collections
import contextlib
import socket
import struct

import pytest
from conftest import netlab, options
from generator import generator, report, start
from stamped import IMIX, IP4, IP6, frame, random_of

CONFIG = "application pktgen\n"
FRAMES = 60  # of a stream
MAC = "02:00:00:00:00:01"
UDP = " udp 192.0.2.1 port 1024 198.51.100.1 port 9\n"

# The script's lines for a stream, and the resulting properties of its frame m.
JUMBO = (64, 65, 128, 1518, 9216, 9220)
STREAMS = [
    (UDP + " size " + "/".join(map(str, JUMBO)), lambda m: {"size": JUMBO[m % 6]}),
    (UDP + " size imix\n vary source address random 192.0.2.0 192.0.2.255 seed 11",
     lambda m: {"size": IMIX[m % 12],
                "addresses": ("192.0.2.%d" % random_of(0, 255, m, 11), IP4[1])}),
    (UDP + " size random 64 9220 seed 3\n vary source port random 1024 65535 seed 5",
     lambda m: {"size": random_of(64, 9220, m, 3), "ports": (random_of(1024, 65535, m, 5), 9)}),
    (" tcp 192.0.2.1 port 80 198.51.100.1 port 7\n size 128/9000",
     lambda m: {"kind": "tcp", "size": (128, 9000)[m % 2], "ports": (80, 7)}),
    (" icmp 192.0.2.1 198.51.100.1 identifier 7\n size 64\n vary sequence increment 0 6",
     lambda m: {"kind": "icmp", "size": 64, "ports": (7, m % 7)}),
    (" udp 2001:db8:1::1 2001:db8:2::1\n size 84/1280/9220",
     lambda m: {"addresses": IP6, "size": (84, 1280, 9220)[m % 3]}),
    (UDP + " vlan 100\n vlan 7\n size 73/1522\n vary vlan list 100/101/4094",
     lambda m: {"size": (73, 1522)[m % 2],
                "tags": "88a80%03x81000007" % (100, 101, 4094)[m % 3]}),
    (" ip 192.0.2.1 198.51.100.1\n vary destination address increment 198.51.100.1 198.51.100.9 step 2",
     lambda m: {"kind": "ip", "addresses": (IP4[0], "198.51.100.%d" % (1 + m % 5 * 2))}),
]

# streams without varying headers
STEADY = [
    (UDP + " size 64/65/1518", lambda m: {"size": (64, 65, 1518)[m % 3]}),
    (STREAMS[3][0].replace("9000", "594"), lambda m: dict(STREAMS[3][1](m), size=(128, 594)[m % 2])),
    (STREAMS[5][0].replace("/9220", ""), lambda m: {"addresses": IP6, "size": (84, 1280)[m % 2]}),
]


def script(streams, rate, frames):
    return "".join("stream s%d\n port eth%d\n mac destination %s\n%s\n rate %s\n limit %d frames\n"
                   % (index, index, MAC, text, rate, frames)
                   for index, (text, _) in enumerate(streams))


def mac_of(port):
    return bytes.fromhex("5254 0048 5a%02x" % port)


class Taps:
    """Taps of a host, and the frames from them."""

    def __init__(self, count, queues):
        self.host = netlab.Host("taps")
        self.ports, self.sockets = [], []
        for index in range(count):
            name = "t%d" % index
            self.host.ip("tuntap", "add", "dev", name, "mode", "tap",
                         *(["multi_queue"] if queues > 1 else []))
            self.host.ip("link", "set", name, "up")
            self.ports.append("tap:%d/%s,queues=%d" % (self.host.holder.pid, name, queues))
            self.sockets.append(self.host.socket(socket.AF_PACKET, socket.SOCK_RAW))
            self.sockets[-1].setsockopt(socket.SOL_SOCKET, 33, 16 << 20)  # SO_RCVBUFFORCE
            self.sockets[-1].setsockopt(263, 8, 1)  # SOL_PACKET, PACKET_AUXDATA
            self.sockets[-1].bind((name, 3))
            self.sockets[-1].settimeout(5)

    def take(self, port, is_wanted):
        """The next wanted frame. The kernel strips the outer tag, and passes it separately."""
        while True:
            data, more, _, _ = self.sockets[port].recvmsg(10000, 64)
            status, tci, tpid = struct.unpack_from("=I12xHH", more[0][2])  # struct tpacket_auxdata
            if status & 0x10:  # TP_STATUS_VLAN_VALID
                data = data[:12] + struct.pack("!HH", tpid, tci) + data[12:]
            if is_wanted(data):
                return data

    def close(self):
        for each in self.sockets:
            each.close()
        self.host.close()


def stamp_at(data):
    """The offset of the stamp's magic, if this is a frame of the generator; else -1."""
    return data.find(b"\x53\x4e", 34, 100) if data[:6] == bytes.fromhex(MAC.replace(":", "")) else -1


def check_stream(taps, port, expected, senders):
    """Checks all frames of all senders, each sender's in order."""
    numbers = [0] * senders
    while min(numbers) < FRAMES // senders:
        data = taps.take(port, lambda data: stamp_at(data) > 0)
        flow, _, ns = struct.unpack_from("<HQI", data, stamp_at(data) + 2)
        sender = flow >> 5
        like = frame(numbers[sender], flow=sender << 5 | port, ns=ns,
                     macs=bytes.fromhex(MAC.replace(":", "")) + mac_of(port),
                     **expected(sender + senders * numbers[sender]))
        assert data == like, (port, sender, numbers[sender])
        numbers[sender] += 1
    assert numbers == [FRAMES // senders] * senders


@pytest.mark.parametrize("nic", options.NICS)
def test_every_byte(make_router, tmp_path, nic):
    """Eight ports on two cores, one kind of stream each; the host checks each frame. A ConnectX
    must be configured for long frames."""
    mtu = "interface eth0\n mtu 9198\n" if nic == "mlx5" else ""
    with contextlib.closing(Taps(len(STREAMS), 2)) as taps:
        machine = generator(make_router, tmp_path, script(STREAMS, "300pps", FRAMES), CONFIG + mtu,
                            ports=taps.ports, cpus=3, memory="512M")
        start(machine)
        for port, (_, expected) in enumerate(STREAMS):
            check_stream(taps, port, expected, 2)
        for stream in report(machine)["run"]["streams"]:
            assert stream["sent"] == FRAMES


@pytest.mark.parametrize("nic", ["mlx5"])
def test_card_that_sends_no_long_frames(make_router, tmp_path):
    streams = [(UDP + " size 2098", None), (UDP + " size 64/2099", None)]
    machine = generator(make_router, tmp_path, script(streams, "300pps", FRAMES), CONFIG,
                        ports=("wire:sink", "wire:sink"))
    said = start(machine)
    assert "stream s1: its card sends no frames of this length: give its interface a larger mtu" in said


@pytest.mark.parametrize("nic", options.NIC_MODELS)
def test_sixteen_ports(make_router, tmp_path):
    """Three cores; nicsim checks each frame of sixteen streams: none lost, duplicated, reordered or
    damaged, with the script's sizes."""
    frames, cores = 600, 3
    streams = [STEADY[i % len(STEADY)] for i in range(16)]
    machine = generator(make_router, tmp_path, script(streams, "1kpps", frames), CONFIG,
                        ports=["wire:sink;outside=on"] * 16, cpus=cores + 1)
    start(machine, 60)
    ports = machine.model("stats")["ports"]
    for port, (_, expected) in enumerate(streams):
        wire = ports[port]["wire"]
        assert (wire["corrupted"], wire["corrupted_unknown"]) == (0, 0)
        assert sorted(flow["flow"] for flow in wire["flows"]) == [s << 5 | port for s in range(cores)]
        sizes = collections.Counter()
        for flow in wire["flows"]:
            sender = flow["flow"] >> 5
            like = frame(0, flow=flow["flow"], macs=bytes.fromhex(MAC.replace(":", "")) + mac_of(port),
                         **expected(sender))
            assert like.startswith(bytes.fromhex(flow["headers"]))
            assert (flow["first"], flow["received"], flow["altered"]) == (0, frames // cores, 0)
            assert (flow["lost"], flow["reordered"], flow["duplicates"], flow["corrupted"],
                    flow["stale"]) == (0,) * 5
            sizes.update({int(size): count for size, count in flow["sizes"].items()})
        assert sizes == collections.Counter(expected(m)["size"] for m in range(frames))
