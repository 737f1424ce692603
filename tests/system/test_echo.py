"""The echo application: UDP datagrams come back as they were."""
import socket

import pytest
from conftest import LEFT_ROUTER, pings

CONFIG = """\
hostname e1
application echo
service echo udp port 7
interface eth0
 ip address %s/24
""" % LEFT_ROUTER


@pytest.fixture
def echo(make_router, make_hosts):
    left, _ = make_hosts()
    router = make_router(CONFIG, app="echo", ports=(left.port,))
    return router, left


def test_udp_echo(echo):
    router, host = echo
    with host.socket() as client:
        client.settimeout(5)
        client.connect((LEFT_ROUTER, 7))
        for size in (0, 1, 17, 18, 512, 1472):
            payload = bytes(index & 0xFF for index in range(size))
            client.send(payload)
            assert client.recv(2048) == payload
    counters = router.balanced()
    assert counters["delivered_udp"] == 6 and counters["udp_tx"] == 6


def test_udp_echo_without_checksum(echo):
    """RFC 768: a checksum of zero means none was made; such a datagram is answered too."""
    router, host = echo
    with host.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, 11, 1)  # SO_NO_CHECK
        client.settimeout(5)
        client.connect((LEFT_ROUTER, 7))
        client.send(b"plain")
        assert client.recv(64) == b"plain"


def test_echo_many(echo):
    """A thousand datagrams, 32 in flight."""
    _, host = echo
    with host.socket() as client:
        client.settimeout(5)
        client.connect((LEFT_ROUTER, 7))
        seen = set()
        for start in range(0, 1024, 32):
            for number in range(start, start + 32):
                client.send(b"%06d" % number)
            while len(seen) < start + 32:
                seen.add(client.recv(64))
        assert len(seen) == 1024


def test_echo_host_is_pinged(echo):
    _, host = echo
    pings(host, LEFT_ROUTER)


def test_other_port_is_refused(echo):
    _, host = echo
    with host.socket() as client:
        client.settimeout(5)
        client.connect((LEFT_ROUTER, 8))
        client.send(b"?")
        with pytest.raises(ConnectionRefusedError):
            client.recv(64)


@pytest.mark.nics(["virtio"])
def test_echo_by_user_network(make_router):
    """Without privileges: QEMU's own network and a forwarded port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = CONFIG.replace(LEFT_ROUTER, "10.0.2.15")
    router = make_router(config, app="echo",
                         ports=("user,hostfwd=udp:127.0.0.1:%d-10.0.2.15:7" % port,))
    # QEMU's network drops what comes before it has learnt the guest's address.
    assert "1 sent, 1 received" in router.command("ping 10.0.2.2 count 1", timeout_s=30)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.1", port))
        client.settimeout(5)
        client.send(b"over")
        assert client.recv(64) == b"over"
