"""Floods: SYNs from many sources, resets and malformed segments; existing connections survive."""
import json
import subprocess
import time

import pytest
from conftest import CHARGEN, ECHO, eventually
from streams import Sending, crc, echo_check, pattern, receive

# Sends frames by a packet socket. Arguments: kind, seconds, our MAC, port of a live connection
# (RST, data), our address and Linux's.
FLOOD = """\
import ipaddress, random, socket, struct, sys, time
what, seconds, mac, port = sys.argv[1], float(sys.argv[2]), sys.argv[3], int(sys.argv[4])
ours, linux = [ipaddress.ip_address(text).packed for text in sys.argv[5:7]]
four = len(ours) == 4
random.seed(1)
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
raw.bind(("eth0", 0))
def csum(b):
    s = sum(struct.unpack("!%dH" % (len(b) // 2), b))
    s = (s & 0xffff) + (s >> 16)
    return ~(s + (s >> 16)) & 0xffff
eth = bytes.fromhex(mac.replace(":", "")) + bytes.fromhex("02000000aaaa")
eth += bytes.fromhex("0800" if four else "86dd")
def segment(src, sport, dport, seq, ack, flags, options=b"", data=b""):
    off = (20 + len(options)) // 4
    tcp = struct.pack("!HHIIBBHHH", sport, dport, seq, ack, off << 4, flags, 65535, 0, 0)
    tcp += options + data
    pseudo = src + ours + struct.pack("!BBH", 0, 6, len(tcp))  # IPv6's is no other sum
    odd = b"\\0" if len(tcp) & 1 else b""
    tcp = tcp[:16] + struct.pack("!H", csum(pseudo + tcp + odd)) + tcp[18:]
    if not four:
        return eth + struct.pack("!IHBB", 6 << 28, len(tcp), 6, 64) + src + ours + tcp
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0) + src + ours
    ip = ip[:10] + struct.pack("!H", csum(ip)) + ip[12:]
    return eth + ip + tcp
r = random.getrandbits
sent, end = 0, time.monotonic() + seconds
while time.monotonic() < end:
    for _ in range(50):
        anyone = (bytes([198, 51]) if four else linux[:4] + bytes(10)) + bytes([r(8), r(8)])
        if what == "syn":
            frame = segment(anyone, 1024 + r(15), 7, r(32), 0, 2, bytes([2, 4, 5, 180]))
        elif what == "rst":
            frame = segment(linux, port, 7, r(32), 0, 4)
        elif what == "rst-ack":
            frame = segment(linux, port, 7, r(32), r(32), 20)
        elif what == "syn-live":
            frame = segment(linux, port, 7, r(32), 0, 2)
        elif what == "ack":
            frame = segment(anyone, 1024 + r(15), 7, r(32), r(32), 16, data=b"x" * r(4))
        else:
            frame = segment(anyone if r(1) else linux, r(16), r(5), r(32), r(32), r(8),
                            bytes(r(8) for _ in range(4 * r(3))), bytes(r(5)))
        try:
            raw.send(frame)
            sent += 1
        except OSError:
            pass
    time.sleep(0.0005)
print(sent)
"""

MAC = "02:48:79:00:00:01"


class Flood:
    def __init__(self, peer, what, seconds, port=0):
        self.child = peer.popen(["/usr/bin/python3", "-c", FLOOD, what, str(seconds), MAC,
                                 str(port), peer.us, peer.linux],
                                stdout=subprocess.PIPE, text=True)

    def sent(self):
        out = self.child.communicate(timeout=60)[0]
        return int(out)


def dropped_by_tap(peer):
    """Frames for us that a busy machine did not take from Linux's queue in time."""
    said = json.loads(peer.ip("-json", "-statistics", "link", "show", "eth0"))
    return said[0]["stats64"]["tx"]["dropped"]


def test_syn_flood(peer):
    """Live connections continue at full link speed, and new ones are established by cookies."""
    ours = peer.ours("echo", "--syn-max", 256, "--chargen-bytes", 20 << 20, capture=False)
    live = peer.connect(CHARGEN, timeout_s=60)
    live.recv(1000)
    flood = Flood(peer, "syn", 3)
    eventually(lambda: ours.counter("tcp_cookies_tx") > 100, 10, "cookies")
    for _ in range(20):
        with peer.connect(ECHO) as sock:
            echo_check(sock, 20000)
    assert ours.counter("tcp_cookies_good") > 0
    assert receive(live)[0] == (20 << 20) - 1000
    sent = flood.sent()
    counters = ours.status()["counters"]
    assert sent > 1000 and counters["delivered_tcp"] + dropped_by_tap(peer) > sent
    assert ours.last["syn_received"] <= 256
    live.close()


def test_a_cookie_keeps_the_options(peer):
    """Window scale, SACK and MSS survive in the cookie and its timestamp: bulk data is fast."""
    ours = peer.ours("echo", "--syn-max", 0, "--chargen-bytes", 4 << 20)
    with peer.connect(CHARGEN) as sock:
        assert receive(sock) == (4 << 20, crc(4 << 20))
    counters = ours.status()["counters"]
    assert counters["tcp_cookies_tx"] == 1 and counters["tcp_cookies_good"] == 1
    with peer.connect(ECHO) as sock:
        echo_check(sock, 1 << 20)


@pytest.mark.by_turns
@pytest.mark.parametrize("name", ["tcp_timestamps", "tcp_window_scaling", "tcp_sack"])
def test_cookies_of_those_without(peer, name):
    peer.sysctl("net.ipv4." + name, 0)
    ours = peer.ours("echo", "--syn-max", 0)
    with peer.connect(ECHO) as sock:
        echo_check(sock, 1 << 20)
    assert ours.counter("tcp_cookies_good") == 1


@pytest.mark.family(4)
def test_syn_flood_by_hping(peer):
    """With another tool: hping3 with random sources. It has no IPv6."""
    ours = peer.ours("echo", "--syn-max", 128)
    child = peer.popen(["hping3", "-q", "-S", "-p", "7", "--rand-source", "-i", "u200", "-c",
                        "3000", peer.us], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: ours.counter("tcp_cookies_tx") > 500, 20, "cookies")
    with peer.connect(ECHO) as sock:
        echo_check(sock, 10000)
    child.kill()
    child.wait()


@pytest.mark.by_turns
@pytest.mark.parametrize("what", ["rst", "rst-ack", "syn-live"])
def test_storm_at_a_live_connection(peer, what):
    """Blind resets and SYNs (RFC 5961): the connection survives."""
    if what == "syn-live":
        # otherwise a SYN without a timestamp is dropped before it is challenged (RFC 7323 3.2)
        peer.sysctl("net.ipv4.tcp_timestamps", 0)
    # a small window is hard to hit by chance
    ours = peer.ours("echo", "--rcv-buf", 8192, "--rcv-buf-max", 0)
    live = peer.connect(ECHO, timeout_s=60)
    flood = Flood(peer, what, 1.5, live.getsockname()[1])
    before = ours.status()["received"]
    eventually(lambda: ours.status()["received"] > before + 500, 10, "the storm")
    sending = Sending(live, 1 << 20)
    assert receive(live) == (1 << 20, crc(1 << 20))
    sending.done()
    counters = ours.status()["counters"]
    assert counters.get("tcp_resets", 0) == 0 and counters["tcp_accepts"] == 1
    # a SYN gets an ACK, up to the rate limit; resets outside the window get none
    assert counters.get("tcp_tx_rst", 0) == 0 and counters["drop_tcp_seq"] > 100
    if what == "syn-live":
        assert counters["tcp_ack_limited"] > 100
    live.close()
    flood.sent()


@pytest.mark.by_turns
@pytest.mark.parametrize("what", ["ack", "nonsense"])
def test_nonsense(peer, what):
    """Segments without a connection, random flags and options: counted; the service continues."""
    ours = peer.ours("echo", capture=False)
    live = peer.connect(ECHO)
    sending = Sending(live, 2 << 20)
    flood = Flood(peer, what, 2)
    assert receive(live) == (2 << 20, crc(2 << 20))
    sending.done()
    assert flood.sent() > 1000
    with peer.connect(ECHO) as sock:
        sock.sendall(pattern(100))
        assert sock.recv(100) == pattern(100)
    live.close()
    assert ours.status()["counters"]["tcp_accepts"] >= 2


@pytest.mark.family(4)
def test_resets_by_hping(peer):
    ours = peer.ours("echo")
    peer.run(["hping3", "-q", "-R", "-p", "7", "--rand-source", "-i", "u100", "-c", "2000",
              peer.us])
    eventually(lambda: ours.counter("drop_tcp_port") + ours.counter("drop_tcp_listen") >= 1500, 10,
               "resets come in")
    assert ours.counter("tcp_tx_rst") == 0  # no reset is answered by one (RFC 9293 3.10.7.1)
