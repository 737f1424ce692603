"""The process: command line, control socket, statistics, signals, exit status, wires to the host."""
import ctypes
import json
import mmap
import os
import signal
import socket
import struct
import subprocess
import sys
import time

import pytest

from conftest import NICSIM
from guest import TIMEOUT_S, wait_for
from layer import runs
from test_frames import FRAME

root = pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/net/tun"),
                          reason="needs root and /dev/net/tun")


def run(*arguments):
    r = subprocess.run([NICSIM, *arguments], capture_output=True, text=True, timeout=20)
    assert "Sanitizer" not in r.stderr, r.stderr
    return r


# --- command line ---

def test_help_lists_faults_by_model():
    r = run("--help")
    assert r.returncode == 0 and r.stderr == ""
    for word in ("master-abort", "removed:AFTER_MS", "link-flap:PERIOD_MS", "model=82599:",
                 "model=test:", "reset-stuck", "gen", "--control"):
        assert word in r.stdout
    assert run("--version").stdout.startswith("nicsim ")


PORT = "model=test,socket=/nonexistent/s,wire="


@pytest.mark.parametrize("arguments, words", [
    ([], "--port"),
    (["--port"], "--port"),
    (["--nonsense", "1"], "--nonsense"),
    (["--port", "model=connectx5,socket=/tmp/x,wire=none"], "connectx5"),
    (["--port", "model=test,wire=none"], "socket="),
    (["--port", PORT + "sink,mode=fast"], "mode=fast"),
    (["--port", PORT + "sink,mac=01:00:00:00:00:00"], "mac="),
    (["--port", PORT + "sink,mac=02:00:00:00:00"], "mac="),
    (["--port", PORT + "sink,fault=nonsense"], "nonsense"),
    (["--port", PORT + "sink,fault=link-flap:0"], "link-flap:0"),
    (["--port", PORT + "sink,fault=stuck:1"], "stuck:1"),
    (["--port", PORT + "sink,colour=red"], "colour=red"),
    (["--port", PORT + "sink,trace="], "trace="),
    (["--port", PORT + "sink"], "/nonexistent/s"),
    (["--port", PORT + "rope"], "rope"),
    (["--port", PORT + "none;x=1"], "none"),
    (["--port", PORT + "gen;rate=0"], "rate=0"),
    (["--port", PORT + "gen;rate=1Mbit"], "rate=1Mbit"),
    (["--port", PORT + "gen;size=63"], "size=63"),
    (["--port", PORT + "gen;size=64/"], "size=64/"),
    (["--port", PORT + "gen;size=9733"], "size=9733"),
    (["--port", PORT + "gen;prefixes=0"], "prefixes=0"),
    (["--port", PORT + "gen;dst=1.2.3"], "dst=1.2.3"),
    (["--port", PORT + "gen;destinations=/dev/null"], "destinations=/dev/null"),
    (["--port", PORT + "gen;destinations=/nonexistent/d"], "/nonexistent/d"),
    (["--port", PORT + "gen;start=later"], "start=later"),
    (["--port", PORT + "gen:argument"], "gen"),
    (["--port", PORT + "sink;rate=1"], "rate=1"),
    (["--port", PORT + "sink;vary=1"], "vary=1"),
    (["--port", PORT + "sink;outside=on;vary=5-4"], "vary=5-4"),
    (["--port", PORT + "sink;outside=on;vary=16384"], "vary=16384"),
    (["--port", PORT + "link:0"], "link:PORT"),
    (["--port", PORT + "link:1;loss=2"], "loss=2"),
    (["--port", PORT + "link:1;reorder=at:3/3"], "reorder=at:3/3"),
    (["--port", PORT + "link:1;duplicate=every:0"], "duplicate=every:0"),
    (["--port", PORT + "link:1;delay=5"], "delay=5"),
    (["--port", PORT + "pcap:/nonexistent/p"], "/nonexistent/p"),
    (["--port", PORT + "pcap:/dev/null"], "/dev/null"),
    (["--port", PORT + "pcap:;speed=0"], "speed=0"),
    (["--port", PORT + "stream:nowhere"], "nowhere"),
    (["--port", PORT + "tap:"], "tap:"),
    (["--port", PORT + "tap:nonexistent-netns/t"], "nonexistent-netns"),
    (["--port", PORT + "tap-fd:0"], "0"),
    (["--port", PORT + "sink" + ";arp=on" * 30], "too many"),
    (["--port", PORT + "sink;" + "x" * 600], "too long"),
    (["--duration", "never", "--port", PORT + "sink"], "never"),
    (["--control", "/nonexistent/c", "--port", PORT + "none"], "/nonexistent/c"),
])
def test_refused(arguments, words):
    r = run(*arguments)
    assert r.returncode == 1 and r.stdout == ""
    assert r.stderr.startswith("nicsim: ") and words in r.stderr


def test_links_need_two_ends(tmp_path):
    r = run("--port", "model=test,wire=link:1,socket=%s/a" % tmp_path,
            "--port", "model=test,wire=sink,socket=%s/b" % tmp_path)
    assert r.returncode == 1 and "wire=link:0" in r.stderr
    assert os.listdir(tmp_path) == []


def test_socket_in_use(nicsim, tmp_path):
    n = nicsim("sink")
    r = run("--port", "model=test,wire=sink,socket=" + n.socket(0))
    assert r.returncode == 1 and "in use" in r.stderr
    n.guest().read(0, 0)


def test_dead_socket_is_replaced(nicsim):
    n = nicsim("sink")
    n.process.kill()
    n.process.wait()
    assert os.path.exists(n.socket(0))
    other = subprocess.run([NICSIM, "--duration", "0.05", "--port",
                            "model=test,wire=sink,socket=" + n.socket(0)], capture_output=True, timeout=10)
    assert other.returncode == 0 and not os.path.exists(n.socket(0))


# --- start, end, CPU use ---

def test_ready_fd(tmp_path):
    r, w = os.pipe()
    p = subprocess.Popen([NICSIM, "--ready-fd", str(w), "--port",
                          "model=test,wire=none,socket=%s/s" % tmp_path], pass_fds=[w],
                         stdout=subprocess.PIPE)
    os.close(w)
    assert os.read(r, 100) == b"nicsim: ready\n" and os.path.exists(tmp_path / "s")
    assert os.read(r, 100) == b""  # closed
    os.close(r)
    p.terminate()
    out, _ = p.communicate(timeout=TIMEOUT_S)
    assert json.loads(out)["ports"][0]["wire"]["name"] == "none" and p.returncode == 0
    assert not os.path.exists(tmp_path / "s")


def test_duration(tmp_path):
    start = time.monotonic()
    assert run("--duration", "0.3", "--port",
               "model=test,wire=none,socket=%s/s" % tmp_path).returncode == 0
    assert time.monotonic() - start > 0.3
    assert not os.path.exists(tmp_path / "s")


def test_die_with_parent(tmp_path):
    code = ("import subprocess,sys,time\n"
            "p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)\n"
            "p.stdout.readline(); print(p.pid, flush=True); time.sleep(60)\n")
    parent = subprocess.Popen([sys.executable, "-c", code, NICSIM, "--die-with-parent", "--port",
                               "model=test,wire=none,socket=%s/s" % tmp_path],
                              stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    os.kill(pid, 0)
    parent.kill()
    parent.communicate()
    wait_for(lambda: not runs(pid))
    assert not os.path.exists(tmp_path / "s")


def test_once(nicsim):
    n = nicsim("sink", "sink", "--once")
    first = n.guest(0)
    first.close()
    n.guest(0).read(0, 0)
    n.guest(1).close()
    assert n.process.poll() is None
    n.guests[1].close()
    assert n.process.wait(10) == 0


def test_signals(nicsim):
    n = nicsim("sink")
    n.process.send_signal(signal.SIGUSR1)
    wait_for(lambda: os.path.exists(n.stats_path))
    assert json.load(open(n.stats_path))["ports"][0]["model"] == "test"
    n.process.send_signal(signal.SIGINT)
    assert n.process.wait(10) == 0


def test_idle_costs_nothing(nicsim):
    n = nicsim("sink", "gen;start=manual", "sink,mode=line-rate", "none")
    n.device(0)
    n.device(1)
    n.guest(2)  # connected, but not bus master: nothing to poll

    def ticks():
        fields = open("/proc/%d/stat" % n.process.pid).read().split()
        return int(fields[13]) + int(fields[14])

    n.stats()  # the answer shows that earlier requests are done
    before = ticks()
    time.sleep(1)
    assert ticks() - before <= 2


# --- control, statistics, violations, trace ---

def test_control(nicsim):
    n = nicsim("sink")
    for line in ("", "nonsense", "port", "port 1 carrier up", "port x carrier up", "port 0",
                 "port 0 nonsense", "port 0 fault nonsense", "port 0 clear nonsense", "port 0 carrier",
                 "port 0 gen start", "port 0 reset-stats now", 'port 0 "\\'):
        answer = n.command(line)
        assert answer["ok"] is False and answer["error"]
    assert n.command("stats\r")["ok"] is True
    n.commands.sendall(b"sta")
    time.sleep(0.02)
    n.commands.sendall(b"ts\nstats\n")
    assert json.loads(n.answers.readline())["ok"] and json.loads(n.answers.readline())["ok"]
    n.commands.sendall(b"x" * 2000)
    try:
        assert n.answers.readline() == ""
    except ConnectionResetError:
        pass
    n.commands.close()
    n.commands = None
    assert n.command("quit") == {"ok": True}
    assert n.process.wait(10) == 0


def test_statistics(nicsim):
    n = nicsim("sink,mac=02:00:00:00:00:09")
    port = n.port()
    assert (port["connected"], port["live"], port["carrier"]) == (False, False, True)
    device = n.device(0)
    port = n.port()
    assert (port["connected"], port["live"], port["mac"]) == (True, True, "02:00:00:00:00:09")
    assert port["writes"] == 7 and port["reads"] == 0
    assert port["registers"]["SIZE"] == {"reads": 0, "writes": 2}
    device.send(FRAME, FRAME)
    port = wait_for(lambda: n.port()["tx_frames"] == 2 and n.port())
    assert port["tx_bytes"] == port["wire"]["from_model_bytes"] == 2 * len(FRAME)
    assert port["wire"]["foreign"] == 2 and port["irqs"] > 0
    assert port["last_violation"] is None and port["device"]["tx_head"] == 2
    n.command("port 0 reset-stats")
    port = n.port()
    assert port["tx_frames"] == port["writes"] == port["wire"]["foreign"] == 0
    assert port["registers"] == {}


def test_violations_and_trace(nicsim, tmp_path):
    n = nicsim("sink,trace=%s/trace" % tmp_path)
    device = n.device(0)
    guest = device.guest
    guest.write(0, device.ID, 1)
    guest.write(0, device.CTRL, 0x101)
    guest.write(0, 0x44, 5)
    for _ in range(3):
        guest.write(0, 0x14, 0, 2)
    guest.read(0, device.ID)
    guest.read(0, 0x48)
    wait_for(lambda: n.port()["violations"] == 6)
    status, stats = n.stop()
    assert status == 3
    assert stats["ports"][0]["last_violation"] == "BAR0: 2 bytes written at 0x14: registers take 32 bits"
    text = n.stderr()
    for words in ("ID: written 0x00000001, but it is read-only", "CTRL: written 0x00000101: bits 0x00000100",
                  "0x00044: written 0x00000005, but there is no register"):
        assert text.count("port 0: violation: " + words) == 1
    assert text.count("2 bytes written") == 1  # the same message appears once
    trace = [line.split(" ", 1) for line in open(tmp_path / "trace").read().splitlines()]
    assert all(float(when) > 0 for when, _ in trace)
    said = [what for _, what in trace]
    assert "W BASE_LO[1] 0x00200000" in said and "R ID 0x4e53494d" in said and "R 0x00048 0x00000000" in said
    assert any(what.startswith("! CTRL: ") for what in said)


# --- line-rate mode ---

def test_mapped_doorbells(nicsim):
    n = nicsim("gen;start=manual;count=500,mode=line-rate", "sink,mode=line-rate")
    devices = [n.device(0), n.device(1)]
    for device in devices:
        _, _, fds = device.guest.region_info(0, argsz=64)
        # one store each, as a CPU does: struct.pack_into would first write zeroes
        page = (ctypes.c_uint32 * 1024).from_buffer(mmap.mmap(fds[0], 0x1000, offset=0x1000))
        os.close(fds[0])
        device.ring = lambda ring, page=page, device=device: page.__setitem__(
            (device.TAIL[ring] - 0x1000) // 4, device.tail[ring])
    source, sink = devices
    writes = n.port(0)["writes"]
    source.refill()
    n.command("port 0 gen start")
    for _ in range(500):
        frame = source.receive()
        source.refill(1)
        sink.send(frame)
    stream = wait_for(lambda: n.stream()["received"] == 500 and n.stream())
    assert stream["lost"] == stream["reordered"] == stream["corrupted"] == 0
    assert n.port(0)["writes"] == writes  # nothing trapped


# --- wires to the host ---

def records(path):
    data = open(path, "rb").read()
    assert struct.unpack_from("<IHH", data) == (0xA1B23C4D, 2, 4)
    at, found = 24, []
    while at < len(data):
        _, _, count, original = struct.unpack_from("<IIII", data, at)
        assert count == original
        found.append(data[at + 16:at + 16 + count])
        at += 16 + count
    return found


def capture(path, frames, order="<", magic=0xA1B2C3D4, cut=0):
    with open(path, "wb") as f:
        f.write(struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, 65535, 1))
        for us, frame in frames:
            f.write(struct.pack(order + "IIII", 1000, us, len(frame), len(frame)) + frame)
        f.truncate(f.tell() - cut)


@pytest.mark.parametrize("order, magic", [("<", 0xA1B2C3D4), (">", 0xA1B2C3D4), ("<", 0xA1B23C4D)])
def test_pcap(nicsim, tmp_path, order, magic):
    frames = [FRAME + bytes([i]) for i in range(5)]
    capture(tmp_path / "in", [(i, f) for i, f in enumerate(frames)] + [(9, b"short"), (9, FRAME)], order,
            magic, cut=3)
    n = nicsim("pcap:%s/in;speed=flat;loop=3;out=%s/out" % (tmp_path, tmp_path))
    device = n.device(0, master=False)
    device.refill()
    device.guest.bus_master()
    wait_for(lambda: n.port()["wire"]["finished"])
    assert [device.receive() for _ in range(n.port()["rx_frames"])] == frames * 3
    device.send(FRAME, FRAME + b"x")
    wait_for(lambda: n.port()["tx_frames"] == 2)
    n.stats()
    assert records(tmp_path / "out") == [FRAME, FRAME + b"x"]


@pytest.mark.parametrize("order", "<>")
def test_pcap_keeps_time(nicsim, tmp_path, order):
    capture(tmp_path / "in", [(i * 100000, FRAME) for i in range(4)], order)

    def in_time():
        n = nicsim("pcap:%s/in;speed=2" % tmp_path)
        start = n.stats()["time_ns"]
        n.device(0)
        wait_for(lambda: n.port()["wire"]["finished"])
        seconds = (n.stats()["time_ns"] - start) / 1e9
        assert seconds > 0.13
        return seconds < 0.4  # a busy machine may take longer, but never less

    wait_for(in_time, what="150 ms of frames in less than 0.4 s")


def exchange(peer, device):
    """Frames both ways between a stream socket and a device."""
    peer.settimeout(5)
    peer.sendall(struct.pack(">I", len(FRAME)) + FRAME[:7])
    time.sleep(0.02)
    peer.sendall(FRAME[7:] + struct.pack(">I", 16384) + bytes(16384))
    assert device.receive() == FRAME
    assert device.receive() == bytes(16384)
    device.send(FRAME + b"back")
    expected = struct.pack(">I", len(FRAME) + 4) + FRAME + b"back"
    got = b""
    while len(got) < len(expected):
        got += peer.recv(1000)
    assert got == expected


def test_stream_listens(nicsim, tmp_path):
    n = nicsim("stream:unix:%s/s;listen=on" % tmp_path)
    device = n.device(0, size=64)
    device.refill()
    for _ in range(2):
        assert n.port()["carrier"] is False
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(str(tmp_path / "s"))
        wait_for(lambda: n.port()["carrier"])
        exchange(peer, device)
        peer.close()
        wait_for(lambda: not n.port()["carrier"])
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(str(tmp_path / "s"))
    peer.sendall(struct.pack(">I", 16385))
    peer.settimeout(5)
    assert peer.recv(1) == b""
    peer.close()


def test_stream_drops_whole_frames(nicsim):
    """A peer that does not read loses frames, but no part of one."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    n = nicsim("stream:127.0.0.1:%d" % listener.getsockname()[1])
    listener.settimeout(5)
    device = n.device(0)
    peer, _ = listener.accept()
    wait_for(lambda: n.port()["carrier"])
    frames, stream = [], b""

    def send():
        frames.append(struct.pack(">I", len(frames)) * 2000)
        device.send(frames[-1])

    while n.port()["wire"]["dropped"] < 3:
        send()
    peer.settimeout(0.2)
    for _ in range(20):  # a frame that was sent in part goes on with the next
        try:
            while True:
                stream += peer.recv(1 << 20)
        except socket.timeout:
            send()
    listener.close()
    got = []
    while len(stream) >= 4 + len(frames[0]):
        assert struct.unpack_from(">I", stream) == (len(frames[0]),)
        got.append(stream[4:4 + len(frames[0])])
        stream = stream[4 + len(frames[0]):]
    numbers = [struct.unpack_from(">I", frame)[0] for frame in got]
    assert got == [frames[number] for number in numbers]
    assert numbers == sorted(set(numbers)) and 10 < len(numbers) < len(frames)
    peer.close()


def test_stream_connects(nicsim):
    listener = socket.create_server(("127.0.0.1", 0))
    n = nicsim("stream:127.0.0.1:%d" % listener.getsockname()[1])
    listener.settimeout(5)
    device = n.device(0)
    device.refill()
    for _ in range(2):  # again after a second
        peer, _ = listener.accept()
        wait_for(lambda: n.port()["carrier"])
        exchange(peer, device)
        peer.close()
    listener.close()


@root
@pytest.mark.parametrize("netns", [None, "nicsim-test-%d" % os.getpid()], ids=["here", "netns"])
def test_tap(nicsim, netns):
    name, prefix = "nst%d" % os.getpid(), ["ip", "-n", netns] if netns else ["ip"]
    if netns:
        subprocess.run(["ip", "netns", "add", netns], check=True)
    try:
        n = nicsim("tap:%s" % (netns + "/" + name if netns else name))
        subprocess.run(prefix + ["link", "set", name, "addrgenmode", "none"], check=True)
        subprocess.run(prefix + ["addr", "add", "192.0.2.129/30", "dev", name], check=True)
        subprocess.run(prefix + ["link", "set", name, "up"], check=True)
        device = n.device(0)
        device.refill()
        ask = bytes.fromhex("ffffffffffff 020000000002 0806 0001 0800 0604 0001 020000000002"
                            "c0000282 000000000000 c0000281")
        device.send(ask)
        reply = wait_for(lambda: next((f for f in iter(lambda: device.receive(0.5), None)
                                       if f[:6] == ask[6:12]), None))
        assert reply[12:22] == bytes.fromhex("0806 0001 0800 0604 0002")
        assert len(reply) == 60  # padded as a MAC would
        n.command("port 0 carrier down")
        wait_for(lambda: "NO-CARRIER" in subprocess.run(prefix + ["link", "show", name],
                                                        capture_output=True, text=True).stdout)
        n.command("port 0 carrier up")
        wait_for(lambda: "NO-CARRIER" not in subprocess.run(prefix + ["link", "show", name],
                                                            capture_output=True, text=True).stdout)
        n.stop()
    finally:
        if netns:
            subprocess.run(["ip", "netns", "del", netns], check=True)
