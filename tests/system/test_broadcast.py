"""Directed broadcasts between Linux hosts (RFC 1812 5.3.5.2, RFC 2644): they are forwarded only
where the interface allows it."""
import socket

from conftest import pings
from family import config4

TO, PORT = "198.51.100.255", 4009


def heard(lab, wait_s):
    """Whether a broadcast from the left arrives on the right."""
    ear = lab.right.socket()
    ear.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    ear.bind(("", PORT))
    ear.settimeout(wait_s)
    with ear, lab.left.socket() as mouth:
        mouth.sendto(b"all of you", (TO, PORT))
        try:
            return ear.recv(100) == b"all of you"
        except TimeoutError:
            return False


def test_hosts_hear_it(make_lab):
    lab = make_lab(config4(eth1=" ip directed-broadcast"))
    pings(lab.left, "198.51.100.2")
    before = lab.router.balanced()
    assert heard(lab, 30)
    assert lab.router.balanced()["drop_ip4_link_bcast"] == before["drop_ip4_link_bcast"]
    for line in ("configure", "interface eth1", "no ip directed-broadcast", "commit", "end"):
        assert "restart" not in lab.router.command(line)
    assert not heard(lab, 1)
    assert lab.router.balanced()["drop_ip4_link_bcast"] == before["drop_ip4_link_bcast"] + 1
