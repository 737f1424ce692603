"""TCP connections move between data cores with their buckets (runtime/move.h, dataplane/tcp_move.h): Linux peers notice
nothing, whatever the connections do meanwhile."""
import collections
import contextlib
import os
import random
import select
import socket
import subprocess
import sys
import threading
import time

import pytest
from conftest import LEFT_HOST, LEFT_ROUTER, RIGHT_HOST, RIGHT_ROUTER, eventually
from test_balance import BUCKETS, RSS, bucket
from test_tcp import CHARGEN, CONFIG, DISCARD, ECHO, LINES, MIB, bulk, receive, unexplained_resets

CORES = (1, 2, 3)
STILL = CONFIG + "load-balance off\n"  # only what a test moves moves
FIRST_PORT = 21000


@pytest.fixture
def make_echo(make_router, make_hosts, nic):
    """make_echo(config) boots an echo server with three data cores, and with one port or two."""
    with contextlib.ExitStack() as stack:
        def make(config=STILL, append="", ports=1, memory=256):
            hosts = make_hosts(len(CORES))[:ports]
            router = make_router(config, "--append", "test=1 " + append, *(RSS if nic == "virtio" else ()), "--memory", "%dM" % memory,
                                 app="echo", ports=tuple(host.port for host in hosts), cpus=len(CORES) + 1)
            return Echo(router, hosts, stack)
        yield make


class Echo:
    """The server, and connections to it, by their own ports."""

    def __init__(self, router, hosts, stack):
        self.router, self.hosts, self.stack = router, hosts, stack

    def open(self, number, port=ECHO, side=0):
        """A connection from port FIRST_PORT + number."""
        client = self.stack.enter_context(self.hosts[side].socket(socket.AF_INET, socket.SOCK_STREAM))
        client.settimeout(30)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        client.bind((LEFT_HOST if side == 0 else RIGHT_HOST, FIRST_PORT + number))
        client.connect((LEFT_ROUTER if side == 0 else RIGHT_ROUTER, port))
        return client

    def move(self, number, core):
        """Moves a bucket of all ports, and waits. False: it is there already."""
        before = self.router.counters()
        said = self.router.command("test move eth0 bucket %d core %d" % (number, core))
        if "that core has it" in said:
            return False
        assert "begun" in said, said
        eventually(lambda: self.router.counters()["buckets_moved"] == before["buckets_moved"] + len(self.hosts), 20,
                   "the bucket has moved")
        return True

    def by_core(self):
        """Open connections of each core, as `show tcp` has them. A core publishes a quarter of a second later."""
        rows = [line.split() for line in self.router.command("show tcp").splitlines()[1:]]
        return {int(row[0]): int(row[2]) for row in rows if row[0] != "all"}


def bucket_of(number, port=ECHO, side=0):
    remote, local = ((LEFT_HOST, LEFT_ROUTER), (RIGHT_HOST, RIGHT_ROUTER))[side]
    return bucket(remote, local, FIRST_PORT + number, port)


class Talk:
    """Numbered lines on many echo connections, `ahead` of each on their way, from a thread of its own."""
    LINE = 64

    def __init__(self, clients, ahead=3):
        self.clients = clients
        self.sent, self.got = [0] * len(clients), [0] * len(clients)
        self.rest = [b""] * len(clients)
        self.ahead, self.stop, self.error = ahead, False, None

    def line(self, index, number):
        return (b"%d %d" % (index, number)).ljust(self.LINE, b".")

    def send(self, index):
        while not self.stop and self.sent[index] - self.got[index] < self.ahead:
            self.clients[index].sendall(self.line(index, self.sent[index]))
            self.sent[index] += 1

    def hear(self, index):
        piece = self.clients[index].recv(65536)
        assert piece, "connection %d has ended" % index
        data = self.rest[index] + piece
        while len(data) >= self.LINE:
            assert data[:self.LINE] == self.line(index, self.got[index]), (index, self.got[index], data[:self.LINE])
            self.got[index] += 1
            data = data[self.LINE:]
        self.rest[index] = data

    def run(self):
        try:
            poll = select.poll()
            index_of = {client.fileno(): index for index, client in enumerate(self.clients)}
            for index, client in enumerate(self.clients):
                poll.register(client, select.POLLIN)
                self.send(index)
            while self.sent != self.got:
                ready = poll.poll(30000)
                assert ready, "silence"
                for file, _ in ready:
                    self.hear(index_of[file])
                    self.send(index_of[file])
        except BaseException as error:
            self.error = error

    def __enter__(self):
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *failure):
        self.stop = True
        self.thread.join(60)
        if not any(failure):
            assert not self.thread.is_alive()
            if self.error:
                raise self.error


def is_right(counters, moved=None):
    """No connection was reset or refused, and each that left has arrived."""
    assert unexplained_resets(counters) == 0, dict(counters)
    assert counters["tcp_moved_in"] == counters["tcp_moved_out"]
    assert counters["tcp_move_refused"] == counters["moves_undone"] == counters["moved_early"] == 0
    if moved is not None:
        assert counters["tcp_moved_in"] == moved


@pytest.mark.parametrize("nic", ["virtio", "ixgbe", "igb", "mlx5"])
def test_talking_connections(make_echo, nic):
    """Each connection talks while its bucket moves to every core; each is then where its bucket is."""
    echo = make_echo()
    count = 200
    clients = [echo.open(number) for number in range(count)]
    at = [bucket_of(number) for number in range(count)]
    buckets = sorted(set(at) - {0})[:16]
    home = {number: CORES[number % len(CORES)] for number in range(BUCKETS)}
    moved = moves = 0
    with Talk(clients) as talk:
        for core in (3, 1, 2):
            for number in buckets:
                if echo.move(number, core):
                    moves += 1
                    moved += at.count(number)
                    home[number] = core
        before = list(talk.got)
        eventually(lambda: talk.error or all(b > a for a, b in zip(before, talk.got)), 60, "all go on")
    expected = {core: sum(home[number] == core for number in at) for core in CORES}
    eventually(lambda: echo.by_core() == expected, 20, "each connection is where its bucket is: %s" % expected)
    counters = echo.router.balanced()
    print("%d moves, %d connections, %d lines, %d packets held" % (moves, moved, sum(talk.got), counters["move_held"]))
    is_right(counters, moved)
    assert moves > 2 * len(buckets) and moved > moves


def shuffled_moves(echo, buckets, until, seed=0):
    """Moves random ones of these buckets to random cores until `until` says so; returns how many."""
    choose, moves = random.Random(seed), 0
    while not until():
        moves += echo.move(choose.choice(buckets), choose.choice(CORES))
    return moves


@pytest.mark.each_ring
@pytest.mark.parametrize("nic", ["virtio", "ixgbe", "igb", "mlx5"])
def test_bulk_transfers(make_echo, nic):
    """Windows full of data in both directions, on the wire and in queues, move along."""
    echo = make_echo()
    count, size = 6, 96 * MIB
    clients = [echo.open(number) for number in range(count)]
    buckets = sorted({bucket_of(number) for number in range(count)} - {0})
    threads, failed = [], []

    def run(client, seed):
        try:
            bulk(client, size, seed)
        except BaseException as error:
            failed.append(error)
    for number, client in enumerate(clients):
        threads.append(threading.Thread(target=run, args=(client, number), daemon=True))
        threads[-1].start()
    moves = shuffled_moves(echo, buckets, lambda: not any(thread.is_alive() for thread in threads))
    assert not failed, failed
    counters = echo.router.balanced()
    print("%d moves, %d connections, %d retransmitted, %d elsewhere" % (
        moves, counters["tcp_moved_in"], counters["tcp_retransmits"], counters["drop_tcp_elsewhere"]))
    assert unexplained_resets(counters) == 0
    assert counters["tcp_moved_in"] == counters["tcp_moved_out"] > 10
    assert counters["tcp_move_refused"] == counters["moves_undone"] == 0


EACH = 15000  # connections of a program: fewer than the files it may have
PEER = """\
import socket, sys
address, server, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
clients = []
def answers(some):
    for index, client in some:
        client.sendall(b"%06d" % index)
    for index, client in some:
        data = b""
        while len(data) < 6:
            piece = client.recv(6 - len(data))
            assert piece, "connection %d has ended" % index
            data += piece
        assert data == b"%06d" % index, (index, data)
for first in range(0, count, 100):  # as many at a time
    batch = []
    for index in range(first, min(first + 100, count)):
        client = socket.socket()
        client.bind((address, 10000 + index))
        client.setblocking(False)
        client.connect_ex((server, 7))
        batch.append((index, client))
    for _, client in batch:
        client.settimeout(60)
        client.send(b"")  # it is connected
    answers(batch[::2])
    clients += batch
print("open", flush=True)
sys.stdin.readline()
for first in range(0, count, 100):
    answers(clients[first:first + 100])
print("right", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("nic", ["ixgbe"])
def test_idle_connections(make_echo, nic):
    """2,000 connections that say nothing, and half of them never have, move twice; then each answers. More of them, and
    more rounds: CONNECTIONS=100000 ROUNDS=3."""
    count, rounds = int(os.environ.get("CONNECTIONS", 2000)), int(os.environ.get("ROUNDS", 2))
    echo = make_echo(STILL + "tcp connections %d\n" % (count + 64), memory=max(256, count // 100))
    host = echo.hosts[0]
    at, peers = collections.Counter(), []
    for number, first in enumerate(range(0, count, EACH)):
        address, its = "192.0.2.%d" % (100 + number), min(EACH, count - first)
        host.ip("address", "add", address + "/24", "dev", "eth0")
        at.update(bucket(address, LEFT_ROUTER, 10000 + index, ECHO) for index in range(its))
        peers.append(host.popen([sys.executable, "-c", PEER, address, LEFT_ROUTER, str(its)], text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    for peer in peers:
        assert peer.stdout.readline() == "open\n"
    eventually(lambda: sum(echo.by_core().values()) == count, 60, "all are open")
    moved = slowest = 0
    for i in range(rounds):
        core = (2, 3)[i % 2]
        for number in range(1, BUCKETS):
            begun = time.monotonic()
            if echo.move(number, core):
                moved += at[number]
                slowest = max(slowest, time.monotonic() - begun)
        eventually(lambda: sum(echo.by_core().values()) == count, 20, "all are open")
    assert moved > count
    expected = dict.fromkeys(CORES, 0)
    expected[core] = count - at[0]
    expected[1] += at[0]
    eventually(lambda: echo.by_core() == expected, 20, "all but bucket 0 are on core %d" % core)
    for peer in peers:
        peer.stdin.write("\n")
        peer.stdin.flush()
    for peer in peers:
        assert peer.stdout.readline() == "right\n"
    print("%d connections, %d moves of one, slowest bucket %.0f ms with its commands" % (count, moved, 1000 * slowest))
    is_right(echo.router.balanced(), moved)


@pytest.mark.parametrize("nic,cookies", [("ixgbe", False), ("mlx5", True)])
def test_opening_and_closing(make_echo, nic, cookies):
    """Connections open, talk and close, on either side first, while all buckets move. With few records for connections
    SYN cookies are made on one core and answered on another.

    Not on virtio: there Linux spreads a flow over the tap's queues, by the queue that its answers left on (tun.c,
    tun_flow_update), and QEMU reads 3 % of the packets out of order. An acknowledgement that arrives after the last one
    of its connection is answered with a reset."""
    echo = make_echo(STILL + ("tcp connections 128\n" if cookies else ""))
    stop, failed, served = threading.Event(), [], [0] * 4

    def come_and_go(which):
        number = which * 2000
        try:
            while not stop.is_set():
                with contextlib.ExitStack() as stack:
                    clients = []
                    for _ in range(20):
                        client = stack.enter_context(echo.hosts[0].socket(socket.AF_INET, socket.SOCK_STREAM))
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                        client.bind((LEFT_HOST, FIRST_PORT + number))
                        number = which * 2000 + (number + 1) % 2000
                        client.setblocking(False)
                        client.connect_ex((LEFT_ROUTER, ECHO))
                        clients.append(client)
                    for index, client in enumerate(clients):
                        client.settimeout(60)
                        client.sendall(b"%06d" % index)
                    for index, client in enumerate(clients):
                        client.shutdown(socket.SHUT_WR)
                        assert receive(client, 10) == b"%06d" % index
                        served[which] += 1
        except BaseException as error:
            failed.append(error)
    threads = [threading.Thread(target=come_and_go, args=(which,), daemon=True) for which in range(len(served))]
    for thread in threads:
        thread.start()
    left = iter(range(80))
    moves = shuffled_moves(echo, range(1, BUCKETS), lambda: bool(failed) or next(left, None) is None)
    stop.set()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert not failed, failed
    counters = echo.router.balanced()
    print("%d moves, %d connections moved, %d served, %d cookies, %d answered, %d elsewhere" % (
        moves, counters["tcp_moved_in"], sum(served), counters["tcp_cookies_tx"], counters["tcp_cookies_good"],
        counters["drop_tcp_elsewhere"]))
    assert unexplained_resets(counters) == 0
    assert counters["tcp_moved_in"] == counters["tcp_moved_out"] > 0
    if cookies:
        assert counters["tcp_cookies_good"] > 0


@pytest.mark.parametrize("nic", ["ixgbe"])
def test_services_with_state(make_echo, nic):
    """chargen knows its place in the pattern; discard knows nothing. Both go on where they were."""
    echo = make_echo()
    count, size = 12, 16 * MIB
    sources = [echo.open(number, CHARGEN) for number in range(count)]
    sinks = [echo.open(count + number, DISCARD) for number in range(count)]
    buckets = sorted({bucket_of(number, CHARGEN) for number in range(count)} |
                     {bucket_of(count + number, DISCARD) for number in range(count)} - {0})
    buckets = [number for number in buckets if number]
    done, failed = threading.Event(), []

    def run():
        try:
            for _ in range(size // MIB):
                for client in sinks:
                    client.sendall(bytes(MIB))
                for client in sources:
                    text[client] += receive(client, MIB)
        except BaseException as error:
            failed.append(error)
        done.set()
    text = {client: b"" for client in sources}
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    moves = shuffled_moves(echo, buckets, done.is_set)
    assert not failed, failed
    pattern = LINES * (size // len(LINES) + 1)
    for client in sources:
        assert text[client] == pattern[:size]
        client.shutdown(socket.SHUT_WR)
    for client in sinks:
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""
    counters = echo.router.balanced()
    print("%d moves, %d connections" % (moves, counters["tcp_moved_in"]))
    assert counters["tcp_moved_in"] == counters["tcp_moved_out"] > 10
    assert unexplained_resets(counters) == 0 and counters["tcp_move_refused"] == 0


@pytest.mark.parametrize("nic", ["igb"])
def test_no_room(make_echo, nic):
    """The new core has room for some connections of a bucket only: the bucket stays, and no connection notices."""
    echo = make_echo(STILL + "tcp connections 64\n")
    at = {}
    for number in range(20000):
        at.setdefault(bucket_of(number), []).append(number)
    target = next(number for number in sorted(at) if number and CORES[number % 3] == 1)
    full = [number for number in range(20000) if CORES[bucket_of(number) % 3] == 3][:60]
    mine = at[target][:40]
    clients = [echo.open(number) for number in full + mine]
    with Talk(clients, ahead=1) as talk:
        for _ in range(3):
            before = echo.router.counters()["moves_undone"]
            eventually(lambda: "begun" in echo.router.command("test move eth0 bucket %d core 3" % target), 20)
            eventually(lambda: echo.router.counters()["moves_undone"] == before + 1, 20, "it goes back")
        before = list(talk.got)
        eventually(lambda: talk.error or all(b > a for a, b in zip(before, talk.got)), 60, "all go on")
        assert "bucket %d stays with core 1" % target in echo.router.text
        assert "no free connection" in echo.router.text
    eventually(lambda: echo.by_core() == {1: len(mine), 2: 0, 3: len(full)}, 20, "all are where they were")
    counters = echo.router.balanced()
    print("%d refused, %d moved, %d elsewhere" % (
        counters["tcp_move_refused"], counters["tcp_moved_in"], counters["drop_tcp_elsewhere"]))
    assert unexplained_resets(counters) == 0
    assert counters["tcp_moved_in"] == counters["tcp_moved_out"] >= 3
    assert counters["tcp_move_refused"] >= 6  # counted on both sides
    assert counters["buckets_moved"] == 0


@pytest.mark.parametrize("nic", ["mlx5", "virtio"])
def test_load_of_a_server(make_echo, nic):
    """All load begins on core 1: buckets move by themselves, and the connections with them. Two ports move together."""
    config = CONFIG + "interface eth1\n ip address %s/24\n" % RIGHT_ROUTER
    echo = make_echo(config, "balance-above=2", ports=2)
    assert "the application" not in echo.router.command("show load-balance")
    clients = []
    for side in (0, 1):
        mine = [number for number in range(2000) if bucket_of(number, side=side) % 3 == 0 and
                bucket_of(number, side=side)]
        clients += [echo.open(number, side=side) for number in mine[:60]]
    with Talk(clients, ahead=1) as talk:
        eventually(lambda: talk.error or echo.router.counters()["buckets_moved"] >= 8, 60, "buckets have moved")
        before = list(talk.got)
        eventually(lambda: talk.error or all(b > a for a, b in zip(before, talk.got)), 60, "all go on")
    eventually(lambda: sum(echo.by_core().values()) == len(clients) and echo.by_core()[1] < len(clients), 20)
    rows = echo.router.command("show load-balance").splitlines()[1:]
    assert rows[0].split(":")[1] == rows[1].split(":")[1]

    def at_rest():
        counters = echo.router.balanced()
        return counters if counters["tcp_moved_in"] == counters["tcp_moved_out"] else None
    counters = eventually(at_rest, 20, "the last move has ended")
    print("%d buckets, %d connections" % (counters["buckets_moved"], counters["tcp_moved_in"]))
    assert counters["tcp_moved_in"] > 0
    is_right(counters)


def crowded(echo, core, count):
    """A bucket that is at home on that core, and `count` connections of it."""
    at = {}
    for number in range(40000):
        at.setdefault(bucket_of(number), []).append(number)
    target = next(number for number in at if number and CORES[number % 3] == core and len(at[number]) >= count)
    return target, [echo.open(number) for number in at[target][:count]]


@pytest.mark.parametrize("nic", ["ixgbe"])
@pytest.mark.parametrize("fails,times", [(0, 2), (2, 4)])
def test_others_fail_meanwhile(make_echo, nic, fails, times):
    """Core 0, which leads the moves, or core 2, which has no part in them, fails while 200 connections move from core 1
    to core 3 or back. None is lost, and all arrive in the end."""
    echo = make_echo()
    echo.router.faults_expected = True
    target, clients = crowded(echo, 1, 200)
    with Talk(clients, ahead=1) as talk:
        for i in range(times):
            core = (3, 1)[i % 2]
            echo.router.skip()
            echo.router.send("test move eth0 bucket %d core %d" % (target, core))
            echo.router.send("test fault ud core %d" % fails)
            # a report may come within the echo of a command
            echo.router.expect("control program: goes on after" if fails == 0 else "core %d: polls again after" % fails, 30)
            eventually(lambda: echo.router.cores()[fails]["faults"] == i + 1, 30, "it has failed")
            eventually(lambda: echo.by_core()[core] == len(clients), 30, "all have moved")
            before = list(talk.got)
            eventually(lambda: talk.error or all(b > a for a, b in zip(before, talk.got)), 60, "all go on")
    counters = echo.router.balanced()
    print("%d connections moved, %d elsewhere" % (counters["tcp_moved_in"], counters["drop_tcp_elsewhere"]))
    assert counters["tcp_moved_in"] == counters["tcp_moved_out"] == times * len(clients)
    assert unexplained_resets(counters) == 0


@pytest.mark.parametrize("nic", ["ixgbe"])
@pytest.mark.parametrize("fails", [1, 3])
def test_its_own_core_fails(make_echo, nic, fails):
    """The core that gives, or the one that takes, fails: connections that it had are reset, as at any failure. Those of
    other cores go on, and the bucket serves new ones."""
    echo = make_echo()
    echo.router.faults_expected = True
    target, clients = crowded(echo, 1, 200)
    others = [echo.open(number) for number in range(300) if CORES[bucket_of(number) % 3] == 2]
    with Talk(others) as talk:
        for i in range(3):
            echo.router.skip()
            echo.router.send("test move eth0 bucket %d core %d" % (target, (3, 1)[i % 2]))
            echo.router.send("test fault ud core %d" % fails)
            echo.router.expect("core %d: polls again after" % fails, 30)  # then its report is complete
            eventually(lambda: echo.router.cores()[fails]["faults"] == i + 1, 30, "it has failed")
            before = list(talk.got)
            eventually(lambda: talk.error or all(b > a for a, b in zip(before, talk.got)), 60, "all go on")
            living = 0
            for client in clients:
                with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                    client.sendall(b"x")
                    living += receive(client, 1) == b"x"
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                client.close()
            print("%d connections have lived on" % living)
            _, clients = crowded(echo, 1, 200)
    assert echo.by_core()[2] == len(others)
    counters = echo.router.balanced()
    assert counters["tcp_accepts"] >= 800 + len(others)
