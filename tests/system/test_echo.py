"""The echo application: UDP datagrams come back unchanged, in both families."""
import socket

import pytest
from conftest import LEFT_ROUTER, pings
from family import LEFT6, LEFT_ROUTER6, V6, addresses_up, both

CONFIG = """\
hostname e1
application echo
service echo udp port 7
interface eth0
 ip address %s/24
""" % LEFT_ROUTER


@pytest.fixture
def echo(make_router, make_hosts, family):
    left, _ = make_hosts()
    more = " ipv6 address %s/64\n" % LEFT_ROUTER6 if family is V6 else ""
    router = make_router(CONFIG + more, app="echo", ports=(left.port,))
    if family is V6:
        left.configure6(LEFT6 + "/64", LEFT_ROUTER6)
        addresses_up(router)
    return router, left


def connected(host, family, port=7):
    client = host.socket(family.af)
    client.settimeout(5)
    client.connect((family.left_router, port))
    return client


@both
@pytest.mark.in_turn
def test_udp_echo(echo, family):
    router, host = echo
    with connected(host, family) as client:
        for size in (0, 1, 17, 18, 512, 1492 - family.header):
            payload = bytes(index & 0xFF for index in range(size))
            client.send(payload)
            assert client.recv(2048) == payload
    counters = router.balanced()
    assert counters["delivered_udp"] == 6 and counters["udp_tx"] == 6
    pings(host, family.left_router)
    with connected(host, family, 8) as client:  # a closed port
        client.send(b"?")
        with pytest.raises(ConnectionRefusedError):
            client.recv(64)


@both
@pytest.mark.in_turn
def test_udp_without_checksum(echo, family):
    """A checksum of zero: in IPv4 it means none (RFC 768), and the datagram is answered. In IPv6 it
    is refused (RFC 8200 8.1), and Linux does not send it."""
    router, host = echo
    with connected(host, family) as client:
        if family is V6:
            # a hand-made UDP header: from port 9, to port 7, 9 bytes, no checksum
            with host.socket(family.af, socket.SOCK_RAW, socket.IPPROTO_UDP) as raw:
                raw.sendto(bytes.fromhex("0009 0007 0009 0000 78"), (family.left_router, 0))
            client.send(b"plain")
            assert client.recv(64) == b"plain"
            assert router.balanced()["drop_udp_malformed"] == 1
        else:
            client.setsockopt(socket.SOL_SOCKET, 11, 1)  # SO_NO_CHECK
            client.send(b"plain")
            assert client.recv(64) == b"plain"


@both
def test_echo_many(echo, family):
    """A thousand datagrams, 32 in flight."""
    _, host = echo
    with connected(host, family) as client:
        seen = set()
        for start in range(0, 1024, 32):
            for number in range(start, start + 32):
                client.send(b"%06d" % number)
            while len(seen) < start + 32:
                seen.add(client.recv(64))
        assert len(seen) == 1024


@pytest.mark.nics(["virtio"])
def test_echo_by_user_network(make_router):
    """Without privileges: QEMU's own network and a forwarded port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = CONFIG.replace(LEFT_ROUTER, "10.0.2.15")
    router = make_router(config, app="echo",
                         ports=("user,hostfwd=udp:127.0.0.1:%d-10.0.2.15:7" % port,))
    # QEMU's network drops packets until it has learnt the guest's address.
    assert "1 sent, 1 received" in router.command("ping 10.0.2.2 count 1", timeout_s=30)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.1", port))
        client.settimeout(5)
        client.send(b"over")
        assert client.recv(64) == b"over"
