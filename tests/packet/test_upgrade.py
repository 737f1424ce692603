"""`upgrade URL` (control/management/image_fetch.c) with a clock: servers that are silent, slow or gone, and what ends a download;
and images on trial (control/storage/boot_disk.c).
tests/system/test_upgrade_url.py has real servers."""
import hashlib
import os
import re
import sys

import pytest
from machine import A, B, CONFIG, ROOT, ROUTER, SECOND
from scapy.all import IP, TCP
from test_remote import REMOTE, Session
from test_tcp import Peer

sys.path.insert(0, os.path.join(ROOT, "tools"))
from launcher import disk  # noqa: E402

IMAGE = disk.header(os.urandom(2 * disk.PIECE), "0" * 40)
CONTENT = os.urandom(2 * disk.PIECE)
FILE = disk.header(CONTENT, "0123456789" * 4) + CONTENT
HASH = hashlib.sha256(FILE).hexdigest()
URL = "http://%s:8080/new" % A.ip
OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(FILE)


@pytest.fixture
def path(tmp_path):
    """A disk with two images, of which A runs. Nobody boots it: it has neither boot loader nor kernel."""
    sectors, guid, entries = (disk.LEAST_MIB << 20) // 512, bytes(range(16)), disk._entries()
    with open(tmp_path / "disk.img", "wb") as file:
        file.truncate(sectors * 512)
        for at, data in ((0, bytes(446) + disk.protective(sectors)), (512, disk._table(entries, sectors, 1, sectors - 1, 2, guid)),
                         (1024, entries), ((sectors - 33) * 512, entries),
                         ((sectors - 1) * 512, disk._table(entries, sectors, sectors - 1, 1, sectors - 33, guid)),
                         (disk.place(3)[0], disk.boot_environment(disk.environment({"id": "0123456789abcdef", "active": "A"}))),
                         (disk.place(4)[0] + disk.SLOT_BYTES - disk.HEADER_BYTES, IMAGE)):
            file.seek(at)
            file.write(data)
    return str(tmp_path / "disk.img")


@pytest.fixture
def m(make, path):
    m = make(REMOTE, disk=path, options="boot-disk=0123456789abcdef boot-image=A")
    m.learn(A, B)
    m.time(SECOND)
    assert "started from disk0, image A\n" in m.console("show boot")
    m.counted()
    m.text = ""
    return m


def begin(m, url=URL, digest=HASH):
    """Types the command; returns the server of its connection, which has been asked."""
    m.key("upgrade %s sha256 %s\r" % (url, digest))
    out = IP(m.take(0).frame[14:])
    assert (out.src, out.dst, out[TCP].dport, str(out[TCP].flags)) == (ROUTER[0].ip, A.ip, 8080, "SEC")
    p = Peer(m, dport=out[TCP].sport, sport=8080)
    p.ack = out[TCP].seq + 1
    p.send("SA")
    assert p.receive() == (b"GET /new HTTP/1.1\r\nHost: %s:8080\r\nUser-Agent: Hayate\r\nAccept: */*\r\nConnection: close\r\n\r\n"
                           % A.ip.encode())
    p.send("A")
    return p


def send(p, data):
    for at in range(0, len(data), 1400):
        p.send("PA", data[at:at + 1400])
        p.receive()


def said(m):
    text = m.text.replace("\r", "")
    m.text = ""
    return text


def run(m, line):
    """The last line that a command says. Its own line is longer than the row, so the echo is not the line."""
    m.key(line + "\r")
    return said(m).splitlines()[-2]


def image_b(path):
    with open(path, "rb") as file:
        file.seek(disk.place(5)[0])
        return file.read(disk.SLOT_BYTES)


def test_whole(m, path):
    p = begin(m)
    assert "waiting for the answer" in Session(m).login().run(b"show boot")
    send(p, OK + FILE[:10000])
    assert "download: %s: 10000 of %d bytes\n" % (URL, len(FILE)) in Session(m, sport=40001).login().run(b"show boot")
    send(p, FILE[10000:])
    m.time(SECOND)
    assert "% " not in said(m).split("upgrade", 2)[2]
    assert "download: %s: written, %d bytes\n" % (URL, len(FILE)) in m.console("show boot")
    part = image_b(path)
    assert part[:len(CONTENT)] == CONTENT and part[-disk.HEADER_BYTES:] == FILE[:disk.HEADER_BYTES]
    m.take_all(0)
    m.counted()


@pytest.mark.parametrize("data", [b"", b"HTTP/1.1 200", OK, OK + FILE[:5000]], ids=["nothing", "half a line", "head", "some content"])
def test_silence(m, path, data):
    """After 30 seconds without a byte. Before, it goes on."""
    before = m.asked()["private"]
    p = begin(m)
    send(p, data)
    m.time(29 * SECOND)
    assert "% " not in said(m)
    m.time(2 * SECOND)
    assert "% the server has sent nothing for 30 s\n" in said(m)
    assert "not written: the server has sent nothing for 30 s\n" in m.console("show boot")
    assert not image_b(path).strip(b"\0")
    m.take_all(0)
    m.counted()
    assert m.asked()["private"] - before < 1 << 20 # the connection's TCP, once
    begin(m)
    m.key("\x03")
    m.take_all(0)
    m.counted()


def test_a_byte_now_and_then(m):
    """An hour at most."""
    p = begin(m)
    send(p, OK)
    for n in range(124):
        p.send("PA", FILE[n:n + 1])
        m.take_all(0)
        m.time(29 * SECOND)
    assert "% " not in said(m)
    p.send("PA", FILE[124:125])
    m.time(5 * SECOND)
    assert "% the download took longer than an hour\n" in said(m)
    m.take_all(0)
    m.counted()


def test_cancelled(m, path):
    """By Ctrl-C, by another console, by a session that ends; the connection is reset."""
    p = begin(m)
    send(p, OK + FILE[:5000])
    m.key("\x03")
    assert "% the download was cancelled\n" in said(m)
    assert "R" in str(IP(m.take(0).frame[14:])[TCP].flags)
    send(begin(m), OK)
    other = Session(m).login()
    assert other.run(b"upgrade https://x.example/y") == "% another image is being downloaded\n"
    assert other.run(b"upgrade cancel") == "the download has been cancelled\n"
    assert "% the download was cancelled\n" in said(m)
    m.take_all(0)
    # without a download the command is about the trial
    start = len(m.text)
    m.console("upgrade cancel")
    m.time(SECOND)
    assert "the next boot starts the active image\r\n" in m.text[start:]
    assert not image_b(path).strip(b"\0")
    m.take_all(0)
    m.counted()


def test_nobody_there(m):
    """Refused, silent, unknown."""
    m.key("upgrade %s sha256 %s\r" % (URL, HASH))
    out = IP(m.take(0).frame[14:])[TCP]
    p = Peer(m, dport=out.sport, sport=8080)
    p.ack = out.seq + 1
    p.send("RA")
    assert "% the connection was refused\n" in said(m)
    m.key("upgrade %s sha256 %s\r" % (URL, HASH))
    m.time(25 * SECOND)
    assert len(m.take_all(0)) > 1
    assert "% no answer in time\n" in said(m)
    assert run(m, "upgrade http://203.0.113.1/x sha256 " + HASH) == "% there is no route, or no source address"
    assert run(m, "upgrade http://new.example/x sha256 " + HASH).startswith("% new.example: ")
    m.counted()


def test_refused_before_it_begins(make, m):
    for words, reason in (("ftp://x/y", "a URL begins with"), (URL, "over http://"), (URL + " sha256 " + HASH[1:], "a SHA-256 has"),
                          (URL + " sha256", "behind the URL"), (URL + " md5 " + HASH, "behind the URL"),
                          ("http://a_b!/x sha256 " + HASH, "the host of the URL"), ("https://x@y/z", "a URL with a user name")):
        assert run(m, "upgrade " + words).startswith("% " + reason), words
    plain = make(CONFIG)
    assert run(plain, "upgrade %s sha256 %s" % (URL, HASH)) == "% the machine was not started from a disk with images"


def test_ports_that_restart(m):
    """The connection is lost with them."""
    send(begin(m), OK + FILE[:5000])
    s = Session(m).login()
    for line in (b"configure\r", b"interface eth0\r", b"mtu 1400\r", b"commit\r"):
        s.type(line)
    m.time(3 * SECOND)
    assert "% the connection was reset\n" in said(m)
    for port in 0, 1:
        m.take_all(port)
    m.counted()


def test_a_trial_that_is_confirmed(make, path):
    """The image that runs is on trial. Once it is confirmed, the machine does not restart."""
    with open(path, "r+b") as file:
        file.seek(disk.place(3)[0])
        file.write(disk.boot_environment(disk.environment(
            {"id": "0123456789abcdef", "active": "B", "trying": "A", "tried": "1"})))
    m = make(CONFIG, disk=path, options="boot-disk=0123456789abcdef boot-image=A trial-seconds=100")
    m.time(50 * SECOND)
    left = re.search(r"without `upgrade confirm` the machine restarts in (\d+) s\n", m.console("show boot"))
    assert left and 45 <= int(left[1]) <= 50
    m.console("upgrade confirm")
    m.time(SECOND)
    assert "restarts in" not in m.console("show boot")
    m.time(200 * SECOND)
    assert "the image has not been confirmed" not in m.text and "A      0000000000" in m.console("show boot")
    with open(path, "rb") as file:
        assert b"\nactive=A\n" in file.read()
