"""`upgrade URL` on the real image: the other image by HTTP and HTTPS, from Python's server and nginx. Servers that answer wrongly
are refused by name, and the disk is as before. tests/unit/net/http/test_http_response.c has the parser."""
import hashlib
import socket
import ssl
import subprocess
import threading

import pytest
from certificate_authority import Authority
from conftest import IMAGE, LEFT_HOST, LEFT_ROUTER, RIGHT_HOST, eventually, router_config
from launcher import disk
from test_disk import environment, part, states

pytestmark = pytest.mark.one_card
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Server:
    """A server in a host that reads a request and has `answer` write to the connection."""

    def __init__(self, host, port, answer, context=None):
        self.answer, self.context, self.requests = answer, context, []
        self.listener = host.socket(kind=socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((LEFT_HOST, port))
        self.listener.listen()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            client.settimeout(20)
            try:
                if self.context:
                    client = self.context.wrap_socket(client, server_side=True)
                request = b""
                while b"\r\n\r\n" not in request:
                    request += client.recv(4096)
                self.requests.append(request)
                self.answer(client)
            except OSError:  # the machine has ended it
                pass
            client.close()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(20)


def length(n):
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % n


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """(path, bytes) of a file of `hayate image --upgrade`."""
    path = str(tmp_path_factory.mktemp("upgrade") / "new.upgrade")
    disk.image_file(path, kernel=IMAGE)
    with open(path, "rb") as file:
        return path, file.read()


@pytest.fixture
def booted(make_lab, tmp_path):
    """booted(config, ...): a machine that has been started from image A of a disk."""
    def boot(extra="", *arguments):
        path = str(tmp_path / "disk.img")
        disk.build(path, kernel=IMAGE, timeout_s=0)
        lab = make_lab(router_config(extra=extra), "--disk", path + ",virtio", "--append",
                       "boot-disk=%s boot-image=A" % environment(path)["id"], *arguments)
        lab.disk = path
        eventually(lambda: "started from disk0, image A\n" in lab.router.command("show boot"), 30, "the disk is found")
        return lab

    return boot


def fetch(lab, url, digest=None, timeout_s=60):
    """What the command says. Its line is longer than the row, so the echo is not the line."""
    lab.router.skip()
    lab.router.send("upgrade " + url + (" sha256 " + digest if digest else ""))
    lab.router.expect(r"\n", timeout_s)
    start = lab.router.mark
    lab.router.wait_prompt(timeout_s)
    said = lab.router.text[start:lab.router.mark].replace("\r", "")
    return said[:said.rindex("\n") + 1]


def expect_image(lab, image, tmp_path):
    """Image B is that of the file."""
    with open(part(lab.disk, 5, tmp_path / "part"), "rb") as file:
        written = file.read()
    assert written[:len(image) - disk.HEADER_BYTES] == image[disk.HEADER_BYTES:]
    assert written[-disk.HEADER_BYTES:] == image[:disk.HEADER_BYTES]


def wrong_answers(image):
    """(what a server sends, reason)"""
    def sends(*pieces):
        return lambda c: [c.sendall(p) for p in pieces]

    def endless(first):
        def answer(c):
            c.sendall(CHUNKED + chunk(first))
            while True:
                c.sendall(chunk(b"x" * 1000) * 50)
        return answer

    half = image[:len(image) // 2]
    return [
        (sends(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"), "the server answered 404 Not Found"),
        (sends(b"HTTP/1.1 302 Found\r\nLocation: http://x.example/y\r\nContent-Length: 0\r\n\r\n"),
         "the server answered 302; redirects are not followed, this one leads to http://x.example/y"),
        (sends(), "the connection ended without an answer"),
        (sends(b"SSH-2.0-OpenSSH\r\n"), "the answer is not HTTP/1.1"),
        (sends(length(len(image)) + half), "the connection ended in the middle of the answer"),
        (sends(CHUNKED, chunk(half)), "the connection ended in the middle of the answer"),
        (sends(b"HTTP/1.1 200 OK\r\n\r\n" + half), "the file is shorter than its header says"),
        (sends(length(len(image) + 1) + image + b"x"), "the file has another length than its header says"),
        (sends(length(len(image) - 1) + image[:-1]), "the file has another length than its header says"),
        (sends(CHUNKED, chunk(image), chunk(b"x"), b"0\r\n\r\n"), "the file is longer than its header says"),
        (endless(b"x" * 5000), "not an image of Hayate"),
        (endless(image[:8192]), "the file is longer than its header says"),
        (sends(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"), "the answer is too long"),
        (sends(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 20000), "the head of the answer is too long"),
        (sends(length(5) + b"hello"), "not an image of Hayate"),
        (sends(length(len(image)) + image[:200] + b"x" + image[201:]), "the image's header is damaged"),
    ]


def test_plain(booted, image, tmp_path):
    path, data = image
    good = hashlib.sha256(data).hexdigest()
    lab = booted()
    url = "http://%s:8080/new.upgrade" % LEFT_HOST
    assert "% a URL begins with" in fetch(lab, "new.upgrade")
    assert "% over http:// anybody" in fetch(lab, url)
    assert "% a SHA-256 has 64" in fetch(lab, url, "abcd")
    assert "% the connection was refused" in fetch(lab, url, good)
    assert "% none.example: " in fetch(lab, "http://none.example/x", good)
    for answer, reason in wrong_answers(data):
        server = Server(lab.left, 8080, answer)
        said = fetch(lab, url, good)
        server.close()
        assert said.endswith("%% %s\n" % reason), (reason, said)
        assert "download: %s: not written: " % url in lab.router.command("show boot")
    assert states(lab.router) == ["runs, active", "-"]
    # the request; chunks; a file that is damaged, whose SHA-256 was stated
    damaged = data[:-1] + bytes([data[-1] ^ 1])
    server = Server(lab.left, 8080, lambda c: c.sendall(CHUNKED + b"".join(
        chunk(damaged[at:at + 50000]) for at in range(0, len(damaged), 50000)) + b"0\r\n\r\n"))
    assert "% the file has another SHA-256 than the one that was stated" in fetch(lab, url, good)
    said = fetch(lab, url, hashlib.sha256(damaged).hexdigest().upper())
    assert "% the image is damaged" in said
    server.close()
    assert server.requests[0].startswith(b"GET /new.upgrade HTTP/1.1\r\nHost: %s:8080\r\n" % LEFT_HOST.encode())
    # a server that is slow: Ctrl-C ends it, and no second download begins meanwhile
    stopped = threading.Event()
    server = Server(lab.left, 8080, lambda c: (c.sendall(length(len(data)) + data[:100000]), stopped.wait(20)))
    lab.router.skip()
    lab.router.send("upgrade %s sha256 %s" % (url, good))
    eventually(lambda: server.requests, 20, "the request")
    lab.router.child.stdin.write(b"\x03")
    lab.router.expect("% the download was cancelled")
    lab.router.wait_prompt()
    stopped.set()
    server.close()
    # Python's server, while others are forwarded
    ping = lab.left.popen(["ping", "-n", "-c", "200", "-i", "0.01", "-W", "5", RIGHT_HOST], stdout=subprocess.PIPE, text=True)
    lab.left.popen(["/usr/bin/python3", "-m", "http.server", "--directory", str(path).rsplit("/", 1)[0], "8080"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: not lab.left.run(["curl", "-sSI", url]).returncode, 20, "Python's server")
    assert "it is the other image: `upgrade activate`" in fetch(lab, url, good)
    assert " 0% packet loss" in ping.communicate(timeout=30)[0]
    said = lab.router.command("show boot")
    assert "download: %s: written, %d bytes\n" % (url, len(data)) in said
    expect_image(lab, data, tmp_path)
    assert states(lab.router) == ["runs, active", "-"]
    lab.router.command("upgrade activate")
    assert environment(lab.disk)["trying"] == "B"


def context(ca, name, names):
    """A TLS server's, with a certificate for these names."""
    ca.new_key(name)
    ca.file(name + ".crt", ca.sign(ca.request(name, "/CN=server", "-addext", "subjectAltName=" + names)) + ca.issuer)
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(ca.path(name + ".crt"), ca.path(name + ".key"))
    return made


def test_https(booted, image, tmp_path):
    """The server is verified; then no SHA-256 is needed."""
    path, data = image
    ca = Authority(tmp_path)
    lab = booted("trust certificate roots.pem\nhttps server\nhttp access %s/32\n" % LEFT_HOST, "--file", "roots.pem=" + ca.path("root.crt"))
    url = "https://%s/new.upgrade" % LEFT_HOST
    other = tmp_path / "other"
    other.mkdir()
    ok = lambda c: c.sendall(length(len(data)) + data)
    for made, reason in ((context(ca, "wrong", "IP:192.0.2.77,DNS:x.example"), "% the certificate is for another name or address"),
                         (context(Authority(other), "unknown", "IP:" + LEFT_HOST),
                          "% the certificate is not one of a trusted authority")):
        server = Server(lab.left, 443, ok, made)
        assert reason in fetch(lab, url)
        server.close()
        assert not server.requests
    # the end in the middle of the answer, without close_notify
    server = Server(lab.left, 443, lambda c: c.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + data[:100000]), context(ca, "cut", "IP:" + LEFT_HOST))
    assert "% the file is shorter than its header says" in fetch(lab, url)
    server.close()
    assert states(lab.router) == ["runs, active", "-"]
    context(ca, "good", "IP:" + LEFT_HOST)
    (tmp_path / "nginx.conf").write_text(
        "daemon off;\npid %s/pid;\nerror_log %s/error.log;\nworker_processes 1;\nevents {}\nhttp {\n access_log off;\n server {\n"
        "  listen %s:443 ssl;\n  ssl_certificate good.crt;\n  ssl_certificate_key good.key;\n  root %s;\n }\n}\n"
        % (tmp_path, tmp_path, LEFT_HOST, str(path).rsplit("/", 1)[0]))
    # its worker is of another user, who must reach the file
    subprocess.run(["chmod", "-R", "a+rX", str(path).rsplit("/", 1)[0]], check=True)
    lab.left.popen(["nginx", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"), "-g", "user root;"])
    eventually(lambda: not lab.left.run(["curl", "-ksSI", url]).returncode, 20, "nginx")
    assert "it is the other image" in fetch(lab, url)
    expect_image(lab, data, tmp_path)
    # the other way round, a PUT
    said = lab.left.run(["curl", "-sSk", "--max-time", "60", "-T", path, "https://%s/api/v1/image" % LEFT_ROUTER], timeout_s=70)
    assert said.stdout == "{}\n", said
    assert fetch(lab, url + "x").endswith("% the server answered 404 Not Found\n")
    assert "% the file has another SHA-256 than the one that was stated" in fetch(lab, url, "0" * 64)


def test_without_trust(booted):
    lab = booted()
    said = fetch(lab, "https://%s/new.upgrade" % LEFT_HOST)
    assert "% " in said and "trust" in said
    assert "trust" in lab.router.command("show boot")
