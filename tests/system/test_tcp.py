"""The TCP services in the real image, with Linux as the peer."""
import contextlib
import hashlib
import os
import random
import select
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest
from conftest import LEFT_HOST, LEFT_MAC, LEFT_ROUTER, eventually, pings
from launcher import options

MIB = 1 << 20
CONFIG = """\
hostname t1
application echo
service echo tcp
service discard tcp
service chargen tcp
interface eth0
 ip address %s/24
""" % LEFT_ROUTER
LEFT_ROUTER6, LEFT_HOST6 = "2001:db8:1::1", "2001:db8:1::2"
CONFIG6 = CONFIG + " ipv6 address %s/64\n" % LEFT_ROUTER6
ECHO, DISCARD, CHARGEN = 7, 9, 19
# RFC 864's ring of lines
LINES = b"".join(bytes(32 + (line + i) % 95 for i in range(72)) + b"\r\n" for line in range(95))


class Server:
    """The machine and the host next to it."""

    def __init__(self, router, host, family=socket.AF_INET):
        self.router, self.host, self.family = router, host, family
        self.address = LEFT_ROUTER6 if family == socket.AF_INET6 else LEFT_ROUTER
        self.sockets = contextlib.ExitStack()

    def open(self, port=ECHO, timeout_s=20, **options):
        client = self.sockets.enter_context(self.host.socket(self.family, socket.SOCK_STREAM))
        client.settimeout(timeout_s)
        for name, value in options.items():
            client.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
        client.connect((self.address, port))
        return client

    def tcp(self):
        """The last line of `show tcp`: the sums."""
        head, *rows = [line.split() for line in self.router.command("show tcp").splitlines()]
        return {name: int(value) for name, value in zip(head[1:], rows[-1][1:])}


@pytest.fixture
def make_server(make_router, make_hosts, cpus_of):
    with contextlib.ExitStack() as stack:
        def make(config=None, *arguments, cpus=None, mtu=1500, family=socket.AF_INET):
            cpus = cpus_of(cpus)
            config = config or (CONFIG6 if family == socket.AF_INET6 else CONFIG)
            left, _ = make_hosts(max(1, cpus - 1), left_mtu=mtu)
            router = make_router(config, *arguments, app="echo", ports=(left.port,), cpus=cpus)
            server = Server(router, left, family)
            if family == socket.AF_INET6:
                left.configure6(LEFT_HOST6 + "/64")
                eventually(lambda: "tentative" not in router.command("show interfaces"), 30)
            stack.enter_context(server.sockets)
            return server
        yield make


FAMILIES = {"ip4": socket.AF_INET, "ip6": socket.AF_INET6}


@pytest.fixture
def server(make_server):
    return make_server()


@pytest.fixture(params=FAMILIES)
def server46(make_server, request):
    return make_server(family=FAMILIES[request.param])


def receive(client, n):
    """Exactly n bytes, or those before the end."""
    data = bytearray()
    while len(data) < n:
        piece = client.recv(min(n - len(data), MIB))
        if not piece:
            break
        data += piece
    return bytes(data)


def unexplained_resets(counters):
    """Resets that do not follow from a repeated segment. A machine that its host suspends
    retransmits a FIN before it finds the acknowledgement in its ring. The second of the two
    acknowledgements then finds no connection and is answered with a reset (RFC 9293 3.10.7.1)."""
    return max(0, counters["tcp_tx_rst"] - counters["tcp_retransmits"])


def exchange(client, data):
    client.sendall(data)
    assert receive(client, len(data)) == data


def bulk(client, n, seed):
    """n random bytes in both directions at once, then both halves are closed."""
    sent, got = hashlib.sha256(), hashlib.sha256()

    def send():
        source = random.Random(seed)
        for _ in range(n // MIB):
            piece = source.randbytes(MIB)
            sent.update(piece)
            client.sendall(piece)
        client.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    count = 0
    while True:
        piece = client.recv(MIB)
        if not piece:
            break
        got.update(piece)
        count += len(piece)
    sender.join(60)
    assert not sender.is_alive()
    assert (count, got.hexdigest()) == (n, sent.hexdigest())


@pytest.mark.every_card
@pytest.mark.parametrize("cpus,family", [(1, "ip4"), (2, "ip4"), (2, "ip6")])
def test_echo(make_server, cpus, family):
    """All sizes, then 64 MiB and the end: the echo equals the input."""
    server = make_server(cpus=cpus, family=FAMILIES[family])
    client = server.open()
    for size in (1, 2, 536, 1447, 1448, 1449, 1460, 65536, 300000):
        exchange(client, os.urandom(size))
    client.close()
    bulk(server.open(), 64 * MIB, 1)
    counters = server.router.balanced()
    assert counters["tcp_accepts"] == 2
    assert counters["delivered_tcp"] > 100
    for name in ("drop_tcp_malformed", "drop_tcp_port", "tcp_aborts", "tcp_no_buffer"):
        assert counters[name] == 0, dict(counters)


@pytest.mark.parametrize("mtu", [576, 1500])
def test_echo_small_mtu_of_the_host(make_server, mtu):
    server = make_server(mtu=mtu)
    bulk(server.open(), 4 * MIB, mtu)


@pytest.mark.in_turn
@pytest.mark.parametrize("ours,theirs", [(9000, 9000), (9000, 1500), (1500, 9000)])
def test_jumbo_frames(make_server, ours, theirs):
    server = make_server(CONFIG + " mtu %d\n" % ours, mtu=theirs)
    bulk(server.open(), 16 * MIB, 1)
    client = server.open()
    exchange(client, bytes(100000))
    mss = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
    assert mss in (min(ours, theirs) - 40, min(ours, theirs) - 52)


@pytest.mark.every_card
def test_smallest_machine(make_server):
    """64 MiB: few buffers, and more connections than they can serve at once. None is lost."""
    server = make_server(CONFIG, "--memory", "64M", cpus=2)
    clients = [server.open(timeout_s=60) for _ in range(60)]
    data = random.Random(1).randbytes(256 * 1024)
    for client in clients:  # all want an answer, and none reads
        client.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            client.send(data)
        client.settimeout(60)
    for client in clients:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
    eventually(lambda: server.tcp()["open"] == 0, 30, "all are gone")
    bulk(server.open(timeout_s=60), 8 * MIB, 2)


def test_peers_who_do_not_read(server):
    """Hundreds of clients want data and do not read. Other clients are served normally; when the
    first ones read, their data is correct."""
    data = random.Random(1).randbytes(400000)
    # like a cable that holds what all of them send at once, and the ping after it
    server.host.lengthen_queue()
    talkers = [server.open(CHARGEN, SO_RCVBUF=4096) for _ in range(300)]
    echoers = [server.open(SO_RCVBUF=4096, timeout_s=60) for _ in range(100)]
    sent = []
    for client in echoers:
        client.setblocking(False)
        n = 0
        with contextlib.suppress(BlockingIOError):
            while n < len(data):
                n += client.send(data[n:])
        sent.append(n)
    if server.router.nic == "vmxnet3":  # QEMU's card drops frames for which its ring has no room
        eventually(lambda: server.host.ping(LEFT_ROUTER)[0], 10, "a ping is answered")
    else:
        assert server.host.ping(LEFT_ROUTER)[0]
    start = time.monotonic()
    exchange(server.open(), data)
    assert time.monotonic() - start < 10
    for client, n in zip(echoers, sent):
        client.settimeout(60)
        assert receive(client, n) == data[:n]
    for client in talkers:
        assert receive(client, 50000) == (LINES * 8)[:50000]


def test_eight_at_once(make_server):
    """On two data cores; every stream has its own bytes."""
    server = make_server(cpus=3)
    clients = [server.open() for _ in range(8)]
    threads = [threading.Thread(target=bulk, args=(client, 4 * MIB, seed))
               for seed, client in enumerate(clients)]
    failures = []
    hook, threading.excepthook = threading.excepthook, lambda args: failures.append(args.exc_value)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    finally:
        threading.excepthook = hook
    assert not failures and not any(thread.is_alive() for thread in threads), failures
    eventually(lambda: server.tcp()["estab"] == 0, 10, "all have ended")


@pytest.mark.parametrize("cpus,family", [(1, "ip4"), (2, "ip4"), (4, "ip4"), (4, "ip6")])
def test_many_connections(make_server, cpus, family):
    """A thousand at once on one and on three data cores. They pause for longer than Linux's tap
    remembers the queue of a flow, and each remains on its core."""
    server = make_server(cpus=cpus, family=FAMILIES[family])
    clients = [server.open() for _ in range(1000)]
    for pause in (0, 4):
        time.sleep(pause)  # the pause is under test
        for number, client in enumerate(clients):
            client.sendall(b"connection %d" % number)
        for number, client in enumerate(clients):
            assert client.recv(64) == b"connection %d" % number
    assert eventually(lambda: server.tcp()["estab"] == 1000, 5, "they are shown")
    assert server.router.balanced()["tcp_tx_rst"] == 0
    if cpus == 4 and server.router.nic != "vmxnet3":  # QEMU's card receives in one queue
        shares = [core["rx_pkts"] for core in server.router.cores()[1:]]
        assert min(shares) > 100, shares
    for client in clients:
        client.shutdown(socket.SHUT_WR)
    for client in clients:
        assert client.recv(1) == b""
    eventually(lambda: server.tcp()["open"] == 0, 20, "they are gone")
    counters = server.router.balanced()
    assert (counters["tcp_accepts"], counters["tcp_closes"]) == (1000, 1000)
    assert unexplained_resets(counters) == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_neighbour_not_known(make_server, family):
    """The host knows our MAC address, but we do not know the host's. The answers wait for ARP on
    the control core, and leave by the core of the connection. Otherwise a tap without RSS would
    send the rest to another core."""
    server = make_server(cpus=4, family=FAMILIES[family])
    server.host.ip("neighbour", "replace", server.address, "lladdr", LEFT_MAC, "dev", "eth0", "nud",
                   "permanent")
    for _ in range(5):
        server.router.command("clear arp" if family == "ip4" else "clear ipv6 neighbors")
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(server.host.socket(server.family, socket.SOCK_STREAM))
                       for _ in range(20)]
            for client in clients:
                client.setblocking(False)
                client.connect_ex((server.address, ECHO))
            for number, client in enumerate(clients):
                assert select.select([], [client], [], 20)[1], "connected"
                client.settimeout(20)
                exchange(client, b"here %d" % number)
    assert unexplained_resets(server.router.balanced()) == 0


def test_refused(server46):
    start = time.monotonic()
    with pytest.raises(ConnectionRefusedError):
        server46.open(port=8)
    assert time.monotonic() - start < 2
    assert server46.router.balanced()["drop_tcp_port"] == 1


def test_refused_by_the_router(make_lab):
    """The router has no TCP services; it refuses at once (RFC 9293 3.10.7.1)."""
    lab = make_lab()
    with lab.left.socket(kind=socket.SOCK_STREAM) as client:
        client.settimeout(10)
        with pytest.raises(ConnectionRefusedError):
            client.connect((LEFT_ROUTER, 22))
    counters = lab.router.balanced()
    assert (counters["drop_tcp_port"], counters["tcp_tx_rst"]) == (1, 1)


def test_discard(server):
    client = server.open(DISCARD)
    for _ in range(16):
        client.sendall(bytes(MIB))
    client.shutdown(socket.SHUT_WR)
    assert client.recv(1) == b""


def test_chargen(server46):
    client = server46.open(CHARGEN)
    got = receive(client, 16 * MIB)
    assert got == (LINES * (16 * MIB // len(LINES) + 1))[:16 * MIB]
    client.close()  # during the transfer: answered by a reset
    eventually(lambda: server46.tcp()["open"] == 0, 20, "it is gone")


def test_half_closed(server):
    """The peer closes first, and still receives all remaining data (RFC 9293 3.6, case 1)."""
    client = server.open()
    data = random.Random(5).randbytes(MIB)
    sender = threading.Thread(target=lambda: (client.sendall(data),
                                              client.shutdown(socket.SHUT_WR)), daemon=True)
    sender.start()
    time.sleep(0.5)  # nothing is read meanwhile: the windows are full
    assert receive(client, 2 * MIB) == data
    sender.join(10)
    assert client.recv(1) == b""


def test_reset_by_the_peer(server):
    clients = [server.open() for _ in range(20)]
    for client in clients:
        exchange(client, b"x" * 100)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
    eventually(lambda: server.tcp()["open"] == 0, 10, "all are gone")
    assert server.router.balanced()["tcp_resets"] == 20


def retransmits(client):
    """tcpi_total_retrans and tcpi_unacked of the host's side."""
    info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return (int.from_bytes(info[100:104], "little"), int.from_bytes(info[24:28], "little"))


def sleeps(router):
    return sum(core["sleeps"] for core in router.cores())


@pytest.mark.parametrize("cpus", [1, 2])
def test_timers_of_a_core_that_sleeps(make_server, cpus):
    """A delayed ACK, and the probes of a closed window, wake a sleeping core; nothing else in the
    test would wake it."""
    server = make_server(CONFIG, "--idle", "sleep", cpus=cpus)
    client = server.open(DISCARD)
    good = 0
    for _ in range(40):  # a busy machine makes some late; a timer that does not wake, all
        before, _ = retransmits(client)
        client.sendall(b"one")
        time.sleep(0.15)  # more than a delayed ACK, less than a retransmission
        good += retransmits(client) == (before, 0)
        if good == 5:
            break
        eventually(lambda: retransmits(client)[1] == 0, 10, "acknowledged")
    assert good == 5
    slow = server.open(CHARGEN, SO_RCVBUF=4096)
    eventually(lambda: server.router.counters()["tcp_window_probes"] >= 3, 30, "probes", 0.5)
    before = sleeps(server.router)
    data = receive(slow, 500000)
    assert data == (LINES * 80)[:500000]
    eventually(lambda: sleeps(server.router) > before, 5, "it slept", 0.2)


@pytest.mark.every_card
def test_link_flap(server):
    """A cable is pulled during a transfer and plugged in again: the transfer continues."""
    client = server.open(timeout_s=60)
    worker = threading.Thread(target=bulk, args=(client, 32 * MIB, 3), daemon=True)
    worker.start()
    for _ in range(2):
        time.sleep(0.3)
        server.router.set_link(0, False)
        eventually(lambda: not server.router.interfaces()["eth0"]["up"], 15, "down")
        time.sleep(0.5)
        server.router.set_link(0, True)
        eventually(lambda: server.router.interfaces()["eth0"]["up"], 15, "up")
    worker.join(90)
    assert not worker.is_alive()
    eventually(lambda: server.tcp()["estab"] == 0, 20, "it has ended")


@pytest.mark.in_turn
@pytest.mark.parametrize("cpus,core", [(1, 0), (2, 1)], ids=["one-cpu", "data"])
def test_core_restarts(make_server, cpus, core):
    """A program fails while connections are open. They are lost, and each peer gets a reset when it
    sends; new connections work."""
    server = make_server(CONFIG, "--append", "test=1", cpus=cpus)
    server.router.faults_expected = True
    clients = [server.open() for _ in range(10)]
    for client in clients:
        exchange(client, b"before")
    server.router.send("test fault ud core %d" % core)
    server.router.expect(r"core %d: program restarted" % core, 20)
    server.router.wait_back()
    server.router.wait_links()
    for client in clients:
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            client.sendall(b"after")
            client.recv(10)
    exchange(server.open(), b"new" * 10000)
    counters = server.router.balanced()
    assert counters["tcp_tx_rst"] >= 10
    pings(server.host, LEFT_ROUTER)


@pytest.mark.usefixtures("several_cpus")
def test_control_core_restarts(make_server):
    """The control program fails while connections are open. They belong to the data core and
    continue, and so do the listening services."""
    server = make_server(CONFIG, "--append", "test=1")
    server.router.faults_expected = True
    clients = [server.open() for _ in range(10)]
    for client in clients:
        exchange(client, b"before")
    server.router.send("test fault ud core 0")
    for client in clients:
        exchange(client, b"meanwhile" * 1000)
    server.router.expect(r"control program: goes on after", 20)
    for client in clients:
        exchange(client, b"after" * 1000)
    exchange(server.open(), b"new" * 10000)
    eventually(lambda: server.tcp()["estab"] >= 10, 10, "all are shown")
    assert server.router.balanced()["tcp_tx_rst"] == 0
    pings(server.host, LEFT_ROUTER)


def test_million_connections_in_1GiB(make_server):
    """The memory suffices, is not touched before connections come, and causes no slowdown."""
    server = make_server(CONFIG + "tcp connections 1000000\n", "--memory", "1G", cpus=2)
    eventually(lambda: server.tcp()["capacity"] == 1000000, 10, "the data core says so")
    assert "TCP connections only" not in server.router.text
    clients = [server.open() for _ in range(200)]
    for client in clients:
        exchange(client, bytes(1000))
    eventually(lambda: server.tcp()["estab"] == 200, 10, "all are shown")
    bulk(server.open(), 16 * MIB, 1)


def test_number_of_connections(make_server):
    """`tcp connections`: existing connections remain, a later one waits for a free place."""
    server = make_server(CONFIG + "tcp connections 50\n", cpus=2)
    clients = [server.open() for _ in range(50)]
    late = server.sockets.enter_context(server.host.socket(kind=socket.SOCK_STREAM))
    late.settimeout(30)
    waiting = threading.Thread(target=lambda: late.connect((LEFT_ROUTER, ECHO)), daemon=True)
    waiting.start()
    for client in clients:
        exchange(client, b"still here")
    assert server.tcp()["capacity"] == 50
    for client in clients[:5]:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
    waiting.join(30)
    assert not waiting.is_alive()
    exchange(late, b"at last")


# SYN segments from a host that does not exist, as fast as a raw socket takes them.
FLOOD = """\
import random, socket, struct, sys
def total(data):
    data += bytes(len(data) % 2)
    s = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while s >> 16:
        s = (s & 0xffff) + (s >> 16)
    return s ^ 0xffff
source = random.Random(1)
sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
dst = socket.inet_aton(sys.argv[1])
for _ in range(int(sys.argv[2])):
    src = bytes([192, 0, 2, 99])
    tcp = struct.pack("!HHIIBBHHH", source.randrange(1024, 30000), 7, source.getrandbits(32), 0, 0x50,
                      2, 65535, 0, 0)
    sum_ = total(src + dst + struct.pack("!BBH", 0, 6, 20) + tcp)
    tcp = tcp[:16] + struct.pack("!H", sum_) + tcp[18:]
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, 0, 0, 64, 6, 0, src, dst)
    sock.sendto(ip + tcp, (sys.argv[1], 0))
"""


def test_syn_flood(make_server):
    """Far more SYNs than there is room for; existing and new connections are served (RFC 4987)."""
    # this address never answers, not even by a reset
    server = make_server(CONFIG + "arp 192.0.2.99 02:00:00:00:00:99\n")
    client = server.open()
    flood = server.host.popen(["/usr/bin/python3", "-c", FLOOD, LEFT_ROUTER, "30000"])
    for number in range(20):
        exchange(client, b"still here %d" % number)
        exchange(server.open(), b"new %d" % number)
    assert flood.wait(60) == 0
    exchange(client, b"after")
    exchange(server.open(), b"new")
    counters = server.router.balanced()
    assert counters["tcp_cookies_tx"] > 1000, dict(counters)


def internet_sum(data):
    """RFC 1071."""
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def mss_shown(server, client):
    """The MSS of a connection in `show tcp connections`; None while it is not listed."""
    name = "%s:%d" % (LEFT_HOST, client.getsockname()[1])
    for line in server.router.command("show tcp connections").splitlines():
        if name in line:
            return int(line.split()[4])
    return None


@pytest.mark.parametrize("cpus", [2, 4])
def test_path_mtu(make_server, cpus):
    """A router on the path reports a segment as too large (RFC 1191). Whichever data core receives
    the ICMP message, only the connection's core acts on it."""
    server = make_server(cpus=cpus)
    clients = [server.open() for _ in range(8)]
    for client in clients:
        exchange(client, bytes(10000))
        assert eventually(lambda client=client: mss_shown(server, client), 5, "shown") > 1400
    wire = server.sockets.enter_context(
        server.host.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800)))
    wire.bind(("eth0", 0x0800))
    wire.settimeout(20)
    # from now on segments without data are dropped: echoes are not acknowledged
    server.host.run(["/usr/sbin/nft", "add table ip t; add chain ip t o { type filter hook output "
                     "priority 0; }; add rule ip t o ip protocol tcp ip length <= 80 drop"],
                    check=True)
    told = clients[::2]
    for client in told:
        client.sendall(bytes(1400))  # one segment: no other one acknowledges its echo
        quoted = b""
        while len(quoted) < 1000 or quoted[9] != 6 or \
                quoted[20:24] != struct.pack("!HH", ECHO, client.getsockname()[1]):
            frame = wire.recv(70000)
            quoted = frame[14:]
        icmp = struct.pack("!BBHHH", 3, 4, 0, 0, 1000) + quoted[:28]
        icmp = icmp[:2] + struct.pack("!H", internet_sum(icmp)) + icmp[4:]
        head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(icmp), 0, 0, 64, 1, 0,
                           socket.inet_aton(LEFT_HOST), socket.inet_aton(LEFT_ROUTER))
        head = head[:10] + struct.pack("!H", internet_sum(head)) + head[12:]
        wire.send(frame[6:12] + frame[:6] + b"\x08\0" + head + icmp)
    eventually(lambda: all(mss_shown(server, client) <= 960 for client in told), 10, "smaller")
    assert all(mss_shown(server, client) > 1400 for client in clients[1::2])
    server.host.run(["/usr/sbin/nft", "delete table ip t"], check=True)
    for client in told:
        assert len(receive(client, 1400)) == 1400
        exchange(client, bytes(50000))
    assert server.router.balanced()["tcp_pmtu"] == len(told)


@pytest.fixture
def capture(server, tmp_path):
    """capture(filter): the frames that tshark finds among all that the host has seen."""
    path = str(tmp_path / "all.pcap")
    dump = server.host.popen(["tcpdump", "--immediate-mode", "-U", "-B", "65536", "-s", "0", "-w",
                              path, "-i", "eth0"],
                             stderr=subprocess.PIPE)
    dump.stderr.readline()  # tcpdump captures now

    def find(display):
        if dump.poll() is None:
            sizes = [-1]
            eventually(lambda: sizes.append(os.path.getsize(path)) or sizes[-1] == sizes[-2], 20,
                       "all is written", 0.3)
            dump.send_signal(signal.SIGINT)
            dump.wait(20)
        result = subprocess.run(
            ["tshark", "-r", path, "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE",
             "-Y", display], capture_output=True, text=True, check=True)
        return result.stdout
    return find


@pytest.mark.every_card
def test_what_a_stranger_thinks_of_it(server, capture, nic):
    """Wireshark finds nothing malformed and no wrong checksum in our segments: data, options, SACK,
    probes, resets, ICMP. (QEMU's own cards leave checksums to the receiver: they are not checked there.)"""
    for port in (ECHO, CHARGEN, DISCARD):
        client = server.open(port, SO_RCVBUF=8192)
        client.sendall(random.Random(port).randbytes(100000 if port != ECHO else 4000))
        if port != DISCARD:
            receive(client, 4000)
        client.close()
    bulk(server.open(), 4 * MIB, 3)
    with pytest.raises(ConnectionRefusedError):
        server.open(port=8)
    pings(server.host, LEFT_ROUTER)
    bad = "_ws.malformed"
    if nic in options.NIC_MODELS:
        bad += " || tcp.checksum.status == 0 || ip.checksum.status == 0 || icmp.checksum.status == 0"
    assert capture("ip.src == %s && (%s)" % (LEFT_ROUTER, bad)) == ""
    for kind in ("tcp.flags == 0x014", "tcp.flags.fin == 1 && tcp.srcport == 7", "tcp.len > 0",
                 "tcp.flags.syn == 1 && tcp.flags.ack == 1 && tcp.options.sack_perm", "icmp"):
        assert capture("ip.src == %s && %s" % (LEFT_ROUTER, kind)), kind


def test_show_tcp_connections(server):
    client = server.open()
    exchange(client, bytes(100000))
    name = "%s:%d" % (LEFT_HOST, client.getsockname()[1])

    def shown():
        text = server.router.command("show tcp connections")
        return [line.split() for line in text.splitlines() if name in line]

    row = eventually(shown, 5, "it is shown")[0]
    assert row[1] == "%s:%d" % (LEFT_ROUTER, ECHO) and row[3] == "estab"
    assert 500 < int(row[4]) <= 1460 and int(row[5]) >= int(row[4])  # mss, cwnd


def test_sequential(server):
    """Two thousand connections, one after the other; ports and TIME-WAIT states do not run out."""
    for number in range(2000):
        with server.host.socket(kind=socket.SOCK_STREAM) as client:
            client.settimeout(20)
            client.connect((LEFT_ROUTER, ECHO))
            exchange(client, b"%d" % number)
    counters = server.router.balanced()
    assert counters["tcp_accepts"] == 2000 and unexplained_resets(counters) == 0
