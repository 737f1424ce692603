"""TCP Fast Open (RFC 7413), with Linux at either end."""
import socket

from conftest import ECHO, eventually
from streams import crc, echo, pattern, receive

TCP_FASTOPEN = 23
BOTH = 3  # values of net.ipv4.tcp_fastopen: client and server


def fast(peer, n):
    """Linux sends n bytes with the SYN, if it has a cookie; the bytes must come back."""
    sock = peer.tcp(timeout_s=None)
    sock.sendto(pattern(n), socket.MSG_FASTOPEN, (peer.us, ECHO))
    sock.shutdown(socket.SHUT_WR)
    assert receive(sock) == (n, crc(n))
    sock.close()


def test_linux_asks_and_uses(peer):
    peer.sysctl("net.ipv4.tcp_fastopen", BOTH)
    ours = peer.ours("echo", "--fastopen")
    fast(peer, 500)
    assert ours.counter("tcp_fastopen") == 0  # it requested the cookie
    for _ in range(3):
        fast(peer, 500)
    assert ours.counter("tcp_fastopen") == 3
    fast(peer, 100000)  # more than fits into a SYN: the rest follows
    assert ours.counter("tcp_fastopen") == 4
    assert peer.nstat("TcpExtTCPFastOpenActive") == 4
    assert peer.nstat("TcpExtTCPFastOpenActiveFail") == 0


def test_a_cookie_of_somebody_else(peer):
    """Our secret changes with each start: the old cookie is refused, the data arrives anyway."""
    peer.sysctl("net.ipv4.tcp_fastopen", BOTH)
    ours = peer.ours("echo", "--fastopen")
    fast(peer, 500)
    ours.stop()
    ours = peer.ours("echo", "--fastopen")
    fast(peer, 500)
    counters = ours.status()["counters"]
    assert counters["tcp_fastopen_refused"] == 1 and "tcp_fastopen" not in counters
    fast(peer, 500)  # with the new cookie
    assert ours.counter("tcp_fastopen") == 1


def test_we_do_not_offer(peer):
    peer.sysctl("net.ipv4.tcp_fastopen", BOTH)
    ours = peer.ours("echo")
    for _ in range(3):
        fast(peer, 500)
    assert ours.counter("tcp_fastopen") == 0


def test_we_ask_and_use(peer):
    """The first of our connections obtains the cookie, the others send their data with the SYN."""
    peer.sysctl("net.ipv4.tcp_fastopen", BOTH)
    with peer.server(echo, options=[(socket.IPPROTO_TCP, TCP_FASTOPEN, 16)]) as port:
        last = peer.ours("client", peer.linux, port, "--fastopen", "--count", 5, "--send", 700,
                         "--echo").wait()
    assert (last["closed"], last["mismatches"], last["bytes_received"]) == (5, 0, 3500)
    assert peer.nstat("TcpExtTCPFastOpenPassive") == 4


def test_linux_does_not_offer(peer):
    peer.sysctl("net.ipv4.tcp_fastopen", 0)
    with peer.server(echo) as port:
        last = peer.ours("client", peer.linux, port, "--fastopen", "--count", 3, "--send", 700,
                         "--echo").wait()
    assert (last["closed"], last["mismatches"]) == (3, 0)


def test_the_queue_of_linux_is_full(peer):
    """The cookie is good, but Linux takes no data with the SYN: it is retransmitted."""
    peer.sysctl("net.ipv4.tcp_fastopen", BOTH)
    with peer.server(echo, options=[(socket.IPPROTO_TCP, TCP_FASTOPEN, 1)]) as port:
        last = peer.ours("client", peer.linux, port, "--fastopen", "--count", 40, "--parallel", 20,
                         "--send", 700, "--echo").wait()
    assert (last["closed"], last["mismatches"]) == (40, 0)
    eventually(lambda: peer.nstat("TcpExtTCPFastOpenCookieReqd") >= 1, what="a cookie")
