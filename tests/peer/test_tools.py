"""Programs written by others: curl, socat, nc, nmap."""
import re
import subprocess
import tempfile
import zlib

import pytest
from conftest import CHARGEN, ECHO, eventually
from streams import crc, pattern


@pytest.fixture
def http(peer):
    return peer, peer.ours("httpd")


def curl(peer, *arguments):
    result = peer.popen(["curl", "-sS", "--max-time", "60", *arguments], stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE)
    out, err = result.communicate()
    assert result.returncode == 0, err
    return out


def test_curl(http):
    peer, ours = http
    for n in (0, 1, 1000, 5000000):
        body = curl(peer, "http://%s/%d" % (peer.family.url, n))
        assert (len(body), zlib.crc32(body)) == (n, crc(n))
    assert ours.status()["requests"] == 4


def test_curl_keeps_the_connection(http):
    peer, ours = http
    out = curl(peer, *["http://%s/100" % peer.family.url] * 50)
    assert out == pattern(100) * 50
    assert ours.status()["requests"] == 50
    assert ours.last["counters"]["tcp_accepts"] == 1


def test_curl_in_parallel(http):
    peer, ours = http
    url = "http://%s/[10000-10099]" % peer.family.url
    out = curl(peer, "--parallel", "--parallel-max", "20", "-o", "/dev/null", "-w",
               "%{http_code} %{size_download}\\n", url).decode()
    assert sorted(out.split("\n")) == [""] + ["200 %d" % n for n in range(10000, 10100)]
    assert ours.status()["requests"] == 100


@pytest.mark.parametrize("request_text, status", [
    (b"GET /10 HTTP/1.0\r\n\r\n", b"200"),
    (b"HEAD /10 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"200"),
    (b"GET /nothing HTTP/1.1\r\nConnection: close\r\n\r\n", b"404"),
    (b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", b"413"),
    (b"DELETE / HTTP/1.1\r\nConnection: close\r\n\r\n", b"405"),
    (b"nonsense\r\n\r\n", b"400"),
    (b"GET /1 HTTP/1.1\r\nX: " + b"y" * 5000 + b"\r\n\r\n", b"431"),
], ids=lambda value: value[:12].decode("latin-1").strip() if len(value) > 3 else value.decode())
@pytest.mark.by_turns
def test_http(http, request_text, status):
    peer, _ = http
    with peer.connect(80) as sock:
        sock.sendall(request_text)
        got = b""
        while piece := sock.recv(10000):
            got += piece
    assert got.split(b" ")[1] == status
    head, body = got.split(b"\r\n\r\n", 1)
    assert head.startswith(b"HTTP/1.1 ") and body == (pattern(10) if b"GET /10" in request_text
                                                      else b"")


def test_http_pipelined(http):
    """Requests in one piece, in pieces, and more than fit into the window."""
    peer, ours = http
    with peer.connect(80) as sock:
        requests = b"GET /1000 HTTP/1.1\r\nHost: x\r\n\r\n" * 400
        requests += b"GET /0 HTTP/1.1\r\nConnection: close\r\n\r\n"
        sock.settimeout(20)
        for at in range(0, len(requests), 777):
            sock.sendall(requests[at:at + 777])
        got = b""
        while piece := sock.recv(1 << 16):
            got += piece
    assert got.count(b"HTTP/1.1 200 OK") == 401 and got.count(pattern(1000)) == 400
    assert ours.status()["requests"] == 401


def test_socat_and_nc(peer):
    ours = peer.ours("echo", "--chargen-bytes", 300000)
    data = pattern(200000)
    child = peer.popen(["socat", "-t", "10", "-", "TCP:%s:%d" % (peer.family.url, ECHO)],
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.communicate(data, timeout=30)[0] == data
    child = peer.popen(["nc", "-N", peer.us, str(CHARGEN)], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE)
    assert child.communicate(timeout=30)[0] == pattern(300000)
    assert ours.counter("tcp_accepts") == 2


def test_nc_listens(peer):
    with tempfile.TemporaryFile() as got:
        child = peer.popen(["nc", "-%d" % peer.family.number, "-l", "-N", "-s", peer.linux, "-p",
                            "5555"], stdin=subprocess.DEVNULL, stdout=got)
        eventually(lambda: "5555" in peer.run(["ss", "-ltn"]).stdout, what="nc listens")
        last = peer.ours("client", peer.linux, 5555, "--send", 200000).wait()
        assert child.wait(30) == 0 and last["closed"] == 1
        got.seek(0)
        assert got.read() == pattern(200000)


# --- nmap: sends invalid segments, and classifies the answers ---

def nmap(peer, *arguments):
    version = ["-6"] if peer.family.number == 6 else []
    result = peer.run(["nmap", "-n", "-T4", "--max-retries", "2", *version, *arguments,
                       peer.us], timeout_s=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


def still_there(peer):
    with peer.connect(ECHO) as sock:
        sock.sendall(b"there?")
        assert sock.recv(6) == b"there?"


def test_nmap_ports(peer):
    peer.ours("echo")
    out = nmap(peer, "-sS", "-p", "1-200")
    assert set(re.findall(r"^(\d+)/tcp +open", out, re.MULTILINE)) == {"7", "9", "19"}
    assert "closed" in out and "filtered" not in out
    still_there(peer)


@pytest.mark.by_turns
@pytest.mark.parametrize("kind", ["-sN", "-sF", "-sX", "-sM", "-sA", "-sW"])
def test_nmap_odd_segments(peer, kind):
    """NULL, FIN, Xmas, Maimon: an open port is silent, a closed one resets (RFC 9293 3.10.7). Both
    reset a bare ACK."""
    peer.ours("echo")
    out = nmap(peer, kind, "-p", "7,8")
    if kind == "-sA":
        assert out.count("unfiltered") >= 1 and not re.search(r"\d/tcp +filtered", out)
    elif kind != "-sW":
        assert re.search(r"^7/tcp +open\|filtered", out, re.MULTILINE) or kind == "-sM"
        assert re.search(r"^8/tcp +closed", out, re.MULTILINE) or "closed" in out
    still_there(peer)


def test_nmap_udp_and_protocols(peer):
    peer.ours("echo")
    out = nmap(peer, "-sU", "-p", "5-9")
    assert re.search(r"^7/udp +open", out, re.MULTILINE)
    assert re.search(r"^8/udp +closed", out, re.MULTILINE)
    icmp = {4: "1", 6: "58"}[peer.family.number]
    out = nmap(peer, "-sO", "-p", "6,17,47,132," + icmp)
    for number, state in ((icmp, "open"), ("6", "open"), ("17", "open"), ("47", "closed")):
        assert re.search(r"^%s +%s" % (number, state), out, re.MULTILINE), out
    still_there(peer)


def test_nmap_fingerprint(peer):
    """-O: unpredictable numbers. nmap grades initial sequence numbers by the difficulty for a blind
    spoofer; IP identification must not be a global counter (or is 0, with DF: RFC 6864)."""
    ours = peer.ours("echo", capture=False)
    out = nmap(peer, "-O", "-v", "-p", "7,8", "--max-os-tries", "2")
    if peer.family.number == 4:  # over IPv6 nmap compares answers with known ones, and grades none
        match = re.search(r"TCP Sequence Prediction: Difficulty=(\d+) \((.*)\)", out)
        assert match and int(match.group(1)) >= 200, out
        match = re.search(r"IP ID Sequence Generation: (.*)", out)
        assert match and "Incremental" not in match.group(1), out
    still_there(peer)
    assert ours.status()["received"] == ours.last["fates"]
