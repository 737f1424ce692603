"""Connections of the web application move between data cores with their buckets (runtime/move.h, apps/web/serve.c): clients
notice nothing, whether a connection is idle, in the middle of a request or of an answer."""
import contextlib
import re
import socket

import pytest
from conftest import LEFT_HOST, LEFT_ROUTER, eventually
from test_balance import RSS, bucket
from test_move_tcp import CORES, FIRST_PORT, Echo, is_right, shuffled_moves
from test_tcp import receive, unexplained_resets
from test_web import CONFIG, Browsers, Web, make_site

HTTP = 80


@pytest.fixture
def make_web(make_router, make_hosts, tmp_path, nic):
    """make_web() boots a web server with three data cores, of which a test moves buckets."""
    with contextlib.ExitStack() as stack:
        def make(config=CONFIG + "load-balance off\n"):
            host = make_hosts(len(CORES))[0]
            files = make_site(tmp_path / "site")
            router = make_router(config, "--append", "test=1", *(RSS if nic == "virtio" else ()), "--site", str(tmp_path / "site"),
                                 "--memory", "384M", app="web", ports=(host.port,), cpus=len(CORES) + 1)
            web = Web(router, host, files, LEFT_ROUTER)
            web.moves = Echo(router, [host], stack)
            return web
        yield make


def bucket_in(number):
    """The bucket of a connection from port FIRST_PORT + number."""
    return bucket(LEFT_HOST, LEFT_ROUTER, FIRST_PORT + number, HTTP)


def everywhere(web, number):
    """Moves a connection to each core in turn, and back."""
    moved = sum(web.moves.move(bucket_in(number), core) for core in (2, 3, 1, 2))
    assert moved >= 3


def numbers(count):
    """Connections that are not in bucket 0, which has packets without ports too."""
    return [number for number in range(count + 20) if bucket_in(number)][:count]


@pytest.mark.parametrize("nic", ["virtio", "ixgbe", "mlx5"])
def test_busy_connections(make_web, nic):
    """Random files of all lengths over connections that stay, while random buckets move."""
    web = make_web()
    ports = [FIRST_PORT + number for number in numbers(16)]
    buckets = sorted({bucket(LEFT_HOST, LEFT_ROUTER, port, HTTP) for port in ports})
    left = iter(range(24))
    with Browsers(web, ports) as browsers:
        browsers.go_on(ports)
        moves = shuffled_moves(web.moves, buckets, lambda: next(left, None) is None)
        browsers.go_on(ports)
    assert not browsers.wrong and not browsers.broken
    counters = web.router.balanced()
    print("%d moves, %d connections, %d requests" % (moves, counters["tcp_moved_in"], counters["web_requests"]))
    assert unexplained_resets(counters) == 0
    assert counters["tcp_moved_in"] == counters["tcp_moved_out"] > 10
    assert counters["tcp_move_refused"] == counters["moves_undone"] == 0


def request(name, *fields):
    return ("GET %s HTTP/1.1\r\nHost: w1\r\n%s\r\n" % (name, "".join(field + "\r\n" for field in fields))).encode()


def response(client):
    """(head, content) of the next response."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = client.recv(1)
        assert byte, head
        head += byte
    return head, receive(client, int(re.search(rb"Content-Length: (\d+)", head).group(1)))


@pytest.mark.parametrize("nic", ["virtio", "ixgbe"])
def test_in_the_middle(make_web, nic):
    """Of a head, of a head behind an idle time, of an answer with a request behind it, of one with several ranges."""
    web = make_web()
    big = web.files["/big.bin"]
    head, idle, answer, parts = (web.moves.open(number, HTTP) for number in numbers(4))
    text = request("/page.css", "X: " + "y" * 300)
    for at in range(0, len(text) - 50, 100):
        head.sendall(text[at:at + 100])
        everywhere(web, numbers(4)[0])
    head.sendall(text[at + 100:])
    assert response(head)[1] == web.files["/page.css"]

    for _ in range(2):
        everywhere(web, numbers(4)[1])
        idle.sendall(request("/page.css"))
        assert response(idle)[1] == web.files["/page.css"]

    # clients that do not read yet: a window's worth is on its way, the rest is not even queued
    answer.sendall(request("/big.bin"))
    answer.sendall(request("/page.css") * 3)
    ranges = [(n << 20, (n << 20) + 900000) for n in range(8)]
    parts.sendall(request("/big.bin", "Range: bytes=" + ",".join("%d-%d" % each for each in ranges)))
    for client, number in ((answer, numbers(4)[2]), (parts, numbers(4)[3])):
        assert client.recv(1, socket.MSG_PEEK) == b"H"
        everywhere(web, number)
    assert response(answer)[1] == big
    assert [response(answer)[1] for _ in range(3)] == [web.files["/page.css"]] * 3
    first, content = response(parts)
    boundary = re.search(rb"boundary=(\S+)", first).group(1).strip(b'"')
    pieces = re.split(rb"(?:\r\n)?--%s(?:\r\n|--\r\n)" % boundary, content)[1:-1]
    assert [piece.partition(b"\r\n\r\n")[2] for piece in pieces] == [big[a:b + 1] for a, b in ranges]
    is_right(web.router.balanced())


@pytest.mark.parametrize("nic", ["virtio", "ixgbe"])
def test_a_head_that_is_too_long_to_move(make_web, nic):
    """It stays, with its bucket, and is answered there; then the bucket moves."""
    web = make_web()
    number = numbers(1)[0]
    client = web.moves.open(number, HTTP)
    text = request("/page.css", "X: " + "y" * 1500)
    client.sendall(text[:-10])
    eventually(lambda: web.router.counters()["tcp_accepts"] == 1, 10, "it is there")
    home = CORES[bucket_in(number) % len(CORES)]
    other = next(core for core in CORES if core != home)
    assert "begun" in web.router.command("test move eth0 bucket %d core %d" % (bucket_in(number), other))
    eventually(lambda: web.router.counters()["moves_undone"] == 1, 20, "the bucket stays")
    client.sendall(text[-10:])
    assert response(client)[1] == web.files["/page.css"]
    assert web.moves.move(bucket_in(number), other)
    client.sendall(request("/page.css"))
    assert response(client)[1] == web.files["/page.css"]
    assert web.router.balanced()["tcp_moved_in"] == 1
