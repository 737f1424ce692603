"""Negotiation: each feature off at one end, small and large MTUs, small windows."""
import socket

import pytest
from conftest import CHARGEN, DISCARD, ECHO, eventually
from streams import Sink, crc, echo, echo_check, receive, send

SOME = 1 << 20


# Bits of tcpi_options (linux/tcp.h): the options of a Linux connection.
TIMESTAMPS, SACK, WINDOW_SCALE, ECN = 1, 2, 4, 8
ALL = TIMESTAMPS | SACK | WINDOW_SCALE


def options(sock):
    """The negotiated options."""
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)[5] & 15


def both_roles(peer, *ours, agreed=ALL, ecn=(False, True), n=SOME):
    """An echo of n bytes with us as server, and one with us as client; returns our figures of both.
    ecn: whether the first and the second have ECN; Linux by default does not request it, but
    accepts."""
    server = peer.ours("echo", *ours)
    with peer.connect(ECHO) as sock:
        assert options(sock) == agreed | ecn[0] * ECN
        echo_check(sock, n)
    first = server.stop()

    def serve(sock):
        assert options(sock) == agreed | ecn[1] * ECN
        echo(sock)

    with peer.server(serve) as port:
        last = peer.ours("client", peer.linux, port, "--send", n, "--echo", *ours).wait()
    assert (last["bytes_received"], last["mismatches"], last["closed"]) == (n, 0, 1)
    return first, last


@pytest.mark.by_turns
@pytest.mark.parametrize("name, bit", [("tcp_timestamps", TIMESTAMPS), ("tcp_sack", SACK),
                                       ("tcp_window_scaling", WINDOW_SCALE)])
def test_linux_without(peer, name, bit):
    peer.sysctl("net.ipv4." + name, 0)
    both_roles(peer, agreed=ALL & ~bit)


def test_linux_with_nothing(peer):
    for name in ("tcp_timestamps", "tcp_sack", "tcp_window_scaling"):
        peer.sysctl("net.ipv4." + name, 0)
    both_roles(peer, agreed=0)


@pytest.mark.by_turns
@pytest.mark.parametrize("option, bit", [("--no-timestamps", TIMESTAMPS), ("--no-sack", SACK),
                                         ("--no-window-scale", WINDOW_SCALE)])
def test_we_without(peer, option, bit):
    both_roles(peer, option, agreed=ALL & ~bit)


def test_ecn_is_agreed_on(peer):
    """tcp_ecn = 1: Linux requests ECN too. Linux echoes marks on our outgoing packets, and we
    react; we echo marks on incoming ones, and Linux reacts."""
    peer.sysctl("net.ipv4.tcp_ecn", 1)
    # Linux would not request ECN in a SYN retransmitted on a busy machine (RFC 3168 6.1.1.1)
    peer.sysctl("net.ipv4.tcp_ecn_fallback", 0)
    marks = "IpExtInCEPkts" if peer.family.number == 4 else "Ip6InCEPkts"
    for direction, ours_answers in (("--out", True), ("--in", False)):
        before = peer.nstat(marks)
        first, last = both_roles(peer, direction, "mark=2", ecn=(True, True))
        link = "link_" + direction[2:]
        assert first[link]["marked"] and last[link]["marked"]
        if ours_answers:
            assert first["counters"]["tcp_ecn"] and last["counters"]["tcp_ecn"]
            assert peer.nstat(marks) > before


def test_no_ecn_no_marks(peer):
    """Without ECN, an end sends no packet that could be marked."""
    peer.sysctl("net.ipv4.tcp_ecn", 0)
    for last in both_roles(peer, "--out", "mark=100", ecn=(False, False)):
        assert last["link_out"]["marked"] == 0


@pytest.mark.parametrize("mtu", [pytest.param(576, marks=pytest.mark.family(4)), 1280, 9000])
def test_mtu(make_peer, mtu):
    peer = make_peer(mtu=mtu)
    first, _ = both_roles(peer)
    # as many segments as this MTU needs, not fewer, plus acknowledgements
    assert first["counters"]["tcp_tx"] >= SOME // mtu
    if mtu == 9000:
        assert first["counters"]["tcp_tx"] < SOME // 1460


def test_peer_with_a_smaller_mtu(peer):
    """Linux announces a small MSS; ours follows from the MTU of our link."""
    peer.ip("route", "add", peer.us, "dev", "eth0", "advmss", "600")
    ours = peer.ours("echo", "--chargen-bytes", SOME)
    with peer.connect(CHARGEN) as sock:
        assert receive(sock) == (SOME, crc(SOME))
    assert ours.counter("tcp_tx") >= SOME // 600


@pytest.mark.by_turns
def test_linux_receives_through_a_small_window(peer):
    """1 KiB of SO_RCVBUF (of which Linux makes 2,304 bytes): the window closes again and again."""
    ours = peer.ours("echo", "--chargen-bytes", 200000)
    with peer.connect(CHARGEN, (socket.SOL_SOCKET, socket.SO_RCVBUF, 1024),
                      timeout_s=60) as sock:
        assert receive(sock) == (200000, crc(200000))
    assert ours.counter("tcp_resets") == 0


@pytest.mark.by_turns
def test_linux_does_not_read_for_a_while(peer):
    """A closed window is probed, and reopens."""
    ours = peer.ours("echo", "--chargen-bytes", SOME)
    with peer.connect(CHARGEN, (socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)) as sock:
        eventually(lambda: ours.counter("tcp_window_probes") >= 2, 15, "probes of the window")
        assert receive(sock) == (SOME, crc(SOME))


@pytest.mark.by_turns
@pytest.mark.parametrize("size", [1000, 4000, 20000])
def test_we_receive_through_a_small_window(peer, size):
    peer.ours("echo", "--rcv-buf", size, "--rcv-buf-max", 0, "--snd-buf", 65536)
    with peer.connect(ECHO, timeout_s=60) as sock:
        echo_check(sock, 100000)


@pytest.mark.by_turns
def test_few_buffers(peer):
    """Many connections need more buffers than there are: slower, but correct."""
    ours = peer.ours("echo", "--buffers", 2048, "--reassembly", 512, capture=False)
    socks = [peer.connect(DISCARD) for _ in range(8)]
    for sock in socks:
        send(sock, 1 << 20)
        sock.shutdown(socket.SHUT_WR)
    for sock in socks:
        assert receive(sock) == (0, 0)
        sock.close()
    assert ours.status()["discarded"] == 8 << 20


def test_we_are_closed_to(peer):
    """A closed port: refused at once, in both directions."""
    ours = peer.ours("echo")
    with pytest.raises(ConnectionRefusedError):
        peer.connect(4)
    assert ours.counter("tcp_tx_rst") == 1
    ours.stop()
    last = peer.ours("client", peer.linux, 4).wait()
    assert last["refused"] == 1


@pytest.mark.by_turns
def test_nobody_is_there(peer):
    """No answer to a SYN: we give up after the configured time."""
    peer.ip("route", "add", "blackhole", peer.family.far_net)
    client = peer.ours("client", peer.family.far, 7, "--syn-timeout", 3000)
    last = client.wait()
    assert last["timed_out"] == 1 and last["counters"]["tcp_rto"] >= 1
    assert 2.5 < last["seconds"] < 6


def test_eight_flows(peer):
    """Eight flows in each direction at the same time."""
    sink = Sink()
    with peer.server(sink) as port:
        last = peer.ours("client", peer.linux, port, "--count", 8, "--parallel", 8, "--send",
                         SOME, capture=False).wait()
    assert sink.got == [(SOME, crc(SOME))] * 8 and last["closed"] == 8
