"""What the console's `capture` can record, and what it costs forwarding.

wire    a host sends datagrams of 60 bytes at a rate for WIRE_S, through a tap into the image; nc
        reads the image's capture of that port as fast as it can. Rates rise until frames are lost.
        Beside it, in turns: the same sender over a veth pair, with tcpdump at the other end. Both
        readers discard the data. Nothing is pinned: sender, QEMU, nc and the image share two CPUs,
        as do sender, softirq and tcpdump. `lossless` is the highest rate without loss, `written`
        the most frames written in a second at any rate.
null    a router between two null ports, which always have packets: cycles a packet without a
        capture, with a capture that matches nothing, and with one that matches everything and has
        no buffer space for most frames; and the rate that the last one writes.
"""
import contextlib
import os
import re
import statistics
import subprocess
import time

from load import SLICE_S, BenchError, pin_guest, progress, realtime
from peers import NEXT_HOP_MAC
from services import mkdir
from web import TURNS, others
from launcher import netlab, ports
from launcher.guest import Guest

READER, ROUTER, PORT = "192.0.2.2", "192.0.2.1", 5555
WIRE_S = 1.0
RATES = (5000, 10000, 20000, 40000, 60000, 80000, 100000, 150000, 200000, 300000, 400000)
SETTLE_S = 0.5  # for frames in flight
CAPTURE = "capture server\ncapture access %s/32\n" % READER
WANTED = {"none": "host 203.0.113.77", "all": "snaplen 64"}

# argv: interface, destination MAC, packets a second, seconds. Prints the number sent and the time it took. A call
# of sendmmsg(2) sends all frames that are due, up to LOT; the sender sleeps until about a quarter of LOT are.
SENDER = """
import ctypes, errno, socket, sys, time
LOT = 64
name, mac = sys.argv[1], bytes.fromhex(sys.argv[2])
rate, seconds = int(sys.argv[3]), float(sys.argv[4])
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.setsockopt(263, 20, 1)  # SOL_PACKET, PACKET_QDISC_BYPASS
s.bind((name, 0))
ip = bytes.fromhex("4500002e0000000040117c59c0000202cb007163")  # to 203.0.113.99
frame = mac + s.getsockname()[4] + b"\\x08\\0" + ip + bytes.fromhex("04000800001a0000") + bytes(18)

class Piece(ctypes.Structure):  # struct iovec
    _fields_ = [("base", ctypes.c_char_p), ("len", ctypes.c_size_t)]

class Header(ctypes.Structure):  # struct msghdr
    _fields_ = [("name", ctypes.c_void_p), ("name_len", ctypes.c_uint32), ("pieces", ctypes.POINTER(Piece)),
                ("pieces_n", ctypes.c_size_t), ("control", ctypes.c_void_p), ("control_len", ctypes.c_size_t),
                ("flags", ctypes.c_int)]

class Message(ctypes.Structure):  # struct mmsghdr
    _fields_ = [("header", Header), ("sent", ctypes.c_uint32)]

piece = Piece(frame, len(frame))
lot = (Message * LOT)(*[Message(Header(pieces=ctypes.pointer(piece), pieces_n=1)) for _ in range(LOT)])
send = ctypes.CDLL(None, use_errno=True).sendmmsg
begin = time.monotonic()
sent = 0
while time.monotonic() - begin < seconds:
    due = int((time.monotonic() - begin) * rate) - sent
    if due < LOT // 4:
        time.sleep(LOT / 4 / rate)
        continue
    n = send(s.fileno(), lot, min(due, LOT), 0)
    if n < 0:
        assert ctypes.get_errno() in (errno.ENOBUFS, errno.EAGAIN)
        time.sleep(0.00005)  # the queue is full
    else:
        sent += n
print(sent, time.monotonic() - begin)
"""


def send(host, interface, mac, rate):
    """Sends for WIRE_S; returns (packets sent, seconds it took)."""
    said = host.run(["/usr/bin/python3", "-c", SENDER, interface, mac.replace(":", ""), str(rate),
                     str(WIRE_S)], timeout_s=30, check=True).stdout
    sent, seconds = said.split()
    return int(sent), float(seconds)


# --- captures ---

@contextlib.contextmanager
def capturing(guest, host, words):
    """Runs a capture that nc reads; when it ends, the yielded list holds: frames matched, written,
    lost for lack of buffer space, and the seconds it ran."""
    said = []
    guest.skip()
    guest.send("capture " + words)
    guest.expect("waiting for a reader", 30)
    child = host.popen(["nc", ROUTER, str(PORT)], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL)
    began = time.monotonic()
    time.sleep(0.2)
    try:
        yield said
    finally:
        seconds = time.monotonic() - began
        guest.child.stdin.write(b"\x03")
        match = guest.expect(r"ended: (\d+) frames, (\d+) given to the reader, "
                             r"no room for (\d+)\s", 60)
        said += [*map(int, match.groups()), seconds]
        guest.wait_prompt()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(20)
        child.kill()
        child.wait()


class Ours:
    name = "hayate"
    no_room = before = 0  # frames lost in the capture, and before it, for instance in the tap

    def __init__(self, stack, work, accel):
        self.host = stack.enter_context(netlab.Host("sender"))
        self.host.configure(READER + "/24", ROUTER)
        self.host.lengthen_queue()  # acknowledgements of the reader wait behind the frames
        config = os.path.join(work, "wire.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write("hostname bench\n%sinterface eth0\n ip address %s/24\n"
                       "ip route 203.0.113.0/24 null0\n" % (CAPTURE, ROUTER))
        self.guest = stack.enter_context(Guest(
            ["router", "--config", config, "--accel", accel, "--port", self.host.port],
            log=os.path.join(work, "console.log")))
        self.guest.wait_ready(120)
        self.guest.wait_prompt()
        self.guest.wait_links(["eth0"])
        self.mac = ports.mac_of(ports.MAC_BASE, 0)

    def turn(self, rate):
        """Sends once at that rate; returns (sent, seconds, written)."""
        with capturing(self.guest, self.host, "eth0 in udp") as got:
            sent, seconds = send(self.host, "eth0", self.mac, rate)
            time.sleep(SETTLE_S)
        self.no_room += got[2]
        self.before += sent - got[0]
        return sent, seconds, got[1]


class Tcpdump:
    name = "tcpdump"

    def __init__(self, stack):
        self.host = stack.enter_context(netlab.Host("sender"))
        self.other = stack.enter_context(netlab.Host("listener"))
        self.host.ip("link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns",
                     str(self.other.holder.pid))
        for host in (self.host, self.other):
            host.ip("link", "set", "wire", "up")

    def turn(self, rate):
        child = self.other.popen(["tcpdump", "-n", "-i", "wire", "-w", "/dev/null", "udp"],
                                 stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        time.sleep(SETTLE_S)
        sent, seconds = send(self.host, "wire", "02:00:00:00:00:99", rate)
        time.sleep(SETTLE_S)
        child.terminate()
        said = child.communicate(timeout=20)[1]
        return sent, seconds, int(re.search(r"(\d+) packets? captured", said).group(1))


def tcpdump_version():
    return subprocess.run(["tcpdump", "--version"], capture_output=True, text=True,
                          check=True).stdout.split("\n")[0].replace(" version", "")


def wire(results, work, accel, runs):
    with contextlib.ExitStack() as stack:
        contenders = [Ours(stack, work, accel), Tcpdump(stack)]
        best = {one: [] for one in contenders}
        most = {one: [] for one in contenders}
        for run in range(runs):
            for one in contenders:
                best[one].append(0.0)
                most[one].append(0.0)
            for rate in RATES:
                for one in contenders:
                    sent, seconds, written = one.turn(rate)
                    if written == sent:
                        best[one][run] = max(best[one][run], sent / seconds)
                    most[one][run] = max(most[one][run], written / seconds)
                    progress("%s: %.0f a second sent, %d of %d lost" % (
                        one.name, sent / seconds, sent - written, sent))
    text = "capture.tap: %d frames found no room in the ring, %d did not come in at all" % (
        contenders[0].no_room, contenders[0].before)
    progress(text)
    results.note(text)
    peer = "%s on a veth, -w /dev/null; up to %d a second were tried" % (tcpdump_version(),
                                                                         RATES[-1])
    for figure, table in (("lossless", best), ("written", most)):
        results.add("capture.tap.60B.%s" % figure, table[contenders[0]], "packets/s", "higher",
                    accel, peer, table[contenders[1]])


# --- cost ---

def busy(host):
    """Cycles and packets of the data core, from /metrics: the capture occupies the console."""
    said = host.run(["curl", "-sSf", "--max-time", "10", "http://%s/metrics" % ROUTER],
                    check=True).stdout
    return [int(re.search(r"^hayate_core_%s_total\{core=\"1\"\} (\d+)" % name, said, re.M).group(1))
            for name in ("busy_cycles", "receive_packets")]


def cost_turn(router, host, core, pidfile, wanted):
    """Measures one slice; returns {figure: value}. wanted: None, or a key of WANTED."""
    def load_it():
        before = busy(host)
        with realtime(core, others(pidfile, core)):
            time.sleep(SLICE_S)
        after = busy(host)
        return (after[0] - before[0]) / (after[1] - before[1])
    if not wanted:
        return {"cycles": load_it()}
    with capturing(router, host, "eth1 in " + WANTED[wanted]) as got:
        cycles = load_it()
    return {"cycles": cycles, "wanted": got[0], "written": got[1] / got[3]}


def null(results, work, accel, runs):
    config, pidfile, qmp_path = (os.path.join(work, "null." + end)
                                 for end in ("conf", "pid", "qmp"))
    with contextlib.ExitStack() as stack:
        host = stack.enter_context(netlab.Host("reader"))
        host.configure(READER + "/24", ROUTER)
        with open(config, "w", encoding="ascii") as file:
            file.write("http server\nhttp access %s/32\n%sinterface eth0\n ip address %s/24\n"
                       "interface eth1\n ip address 203.0.113.1/24\ninterface eth2\n ip address 198.51.100.1/24\n"
                       "arp 198.51.100.2 %s\nip route 198.19.0.0/16 198.51.100.2\n" % (
                           READER, CAPTURE, ROUTER, NEXT_HOP_MAC))
        router = stack.enter_context(Guest(
            ["router", "--config", config, "--accel", accel, "--memory", "512M", "--pidfile",
             pidfile, "--qmp", qmp_path, "--append", "null=2", "--port", host.port],
            log=os.path.join(work, "null.log")))
        router.wait_ready(120)
        router.wait_prompt()
        core = pin_guest(pidfile, qmp_path)
        router.wait_links(["eth0"])
        turns = {wanted: [] for wanted in (None, *WANTED)}
        for _ in range(runs * TURNS):
            for wanted, some in turns.items():
                some.append(cost_turn(router, host, core, pidfile, wanted))
    without = [got["cycles"] for got in turns[None]]
    for wanted in WANTED:
        name = "capture.null.64B.%s" % wanted
        some = [got["cycles"] for got in turns[wanted]]
        results.add(name + ".busy_cycles_per_packet", some, "TSC cycles", "lower", accel,
                    "the same without a capture", without)
        results.add(name + ".cycles_ratio", [b / a for a, b in zip(without, some)],
                    "of those without", "lower", accel)
        progress("%s: cycles a packet %.1f, without %.1f; %d frames wanted" % (
            name, statistics.median(some), statistics.median(without),
            sum(got["wanted"] for got in turns[wanted])))
    results.add("capture.null.64B.all.written", [got["written"] for got in turns["all"]],
                "packets/s", "higher", accel)


def capture(results, work, accel, runs):
    for program in ("tcpdump", "nc"):
        if subprocess.run(["which", program], capture_output=True, check=False).returncode:
            raise BenchError("%s is not installed" % program)
    work = mkdir(work, "capture")
    wire(results, work, accel, runs)
    null(results, work, accel, runs)
