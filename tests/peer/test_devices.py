"""The other kinds of devices: tun, and a descriptor that another program has opened."""
import fcntl
import os
import struct
from concurrent.futures import ThreadPoolExecutor

from conftest import CHARGEN, DISCARD, ECHO, eventually
from launcher import process
from streams import crc, echo_check, receive, send

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454ca, 2, 0x1000
SOME = 1 << 20


def test_tun(peer):
    """A device without Ethernet, ARP and neighbour discovery."""
    family = peer.family
    for offload in ([], ["--offload"]):
        peer.ip("tuntap", "add", "dev", "tun0", "mode", "tun")
        peer.add_address("tun0", family.far)
        ours = peer.ours("echo", "--dev", "tun0", "--tun", "--address",
                         family.with_plen(family.far_router), *offload, capture=False)
        with peer.tcp() as sock:
            sock.connect((family.far_router, ECHO))
            echo_check(sock, SOME)
        assert peer.ping(family.far_router)[0]
        counters = ours.status()["counters"]
        assert "delivered_arp" not in counters and "delivered_nd" not in counters
        ours.stop()
        peer.ip("link", "delete", "tun0")


def test_an_open_device(peer):
    with process.inside_netns(peer.netns):
        fd = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", b"eth0", IFF_TAP | IFF_NO_PI))
    try:
        peer.ours("echo", "--fd", fd, fds=(fd,))
        with peer.connect(ECHO) as sock:
            echo_check(sock, SOME)
    finally:
        os.close(fd)


def test_the_device_goes(peer):
    """Removing the device ends the program; it must not spin."""
    ours = peer.ours("echo")
    assert peer.ping(peer.us)[0]
    peer.ip("link", "delete", "eth0")
    ours.wait(10)


def test_link_down_and_up(peer):
    """Data lost meanwhile is retransmitted. Linux keeps reading: with a full window when the link
    goes down, there would be nothing to lose."""
    ours = peer.ours("echo", "--chargen-bytes", 8 * SOME, "--out", "rate=20,limit=1000",
                     capture=False)
    with peer.connect(CHARGEN, timeout_s=60) as sock, ThreadPoolExecutor(1) as pool:
        got, _ = receive(sock, 1000)
        rest = pool.submit(receive, sock)
        peer.ip("link", "set", "eth0", "down")
        eventually(lambda: ours.counter("tcp_retransmits") > 0, 10, "a segment sent again")
        assert ours.status()["send_failed"] > 0
        peer.add_address("eth0", peer.linux)  # Linux's IPv6 address disappeared with the link
        peer.ip("route", "replace", "default", "via", peer.us)
        assert got + rest.result()[0] == 8 * SOME


def test_our_program_starts_anew(peer):
    """Connections of the previous instance are reset, new ones work."""
    ours = peer.ours("echo")
    old = peer.connect(DISCARD)
    ours.stop()
    ours = peer.ours("echo")
    old.sendall(b"who?")
    eventually(lambda: ours.counter("tcp_tx_rst") >= 1, what="a reset")
    old.close()
    with peer.connect(DISCARD) as sock:
        send(sock, SOME)
    eventually(lambda: ours.status()["discard_bytes"] == SOME, what="all bytes")
    assert ours.last["discard_crc"] == crc(SOME)
