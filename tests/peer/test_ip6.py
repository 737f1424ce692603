"""Features of IPv6 alone: duplicate address detection, link-local addresses, groups, extension
headers; and a program with both families."""
import os
import socket
import time

import pytest
from conftest import BUILD, ECHO, ENVIRONMENT, FAMILIES, eventually
from streams import echo_check, pattern

pytestmark = pytest.mark.family(6)

LINK_LOCAL = "fe80::48:79ff:fe00:1"  # of 02:48:79:00:00:01
DSTOPTS, HOPOPTS = 59, 54  # IPV6_DSTOPTS, IPV6_HOPOPTS (linux/in6.h)


def index_of(peer, dev="eth0"):
    return int(peer.ip("-o", "link", "show", dev).split(":")[0])


def exchange(peer, port, data, *options):
    """Echoes a datagram, sent by a socket with these options."""
    with peer.socket(socket.AF_INET6) as sock:
        sock.settimeout(5)
        for option in options:
            sock.setsockopt(*option)
        sock.connect((peer.us, port))
        sock.send(data)
        return sock.recv(65536)


def options_header(kind):
    """An extension header with one option, 4 bytes of this kind (RFC 8200 4.2)."""
    return bytes([0, 0, kind, 4]) + bytes(4)


def test_an_address_is_asked_for(peer):
    """DAD: we use an address only after a second without an objection (RFC 4862 5.4)."""
    raw = peer.socket(socket.AF_PACKET, socket.SOCK_RAW, 0xdd86)  # htons(ETH_P_IPV6)
    raw.bind(("eth0", 0x86dd))
    raw.settimeout(5)
    begun = time.monotonic()
    ours = peer.ours("echo", "--dad")
    assert time.monotonic() - begun > 1
    probes = 0
    while probes < 2:  # one per address, from the unspecified one
        packet = raw.recv(2000)[14:]
        if packet[6] == 58 and packet[40] == 135:
            assert packet[8:24] == bytes(16) and packet[7] == 255
            probes += 1
    with peer.connect(ECHO) as sock:
        echo_check(sock, 1000)
    assert "nd_duplicate" not in ours.status()["counters"]


@pytest.mark.parametrize("which", ["given", "link-local"])
def test_somebody_has_it(peer, which):
    """The address is already Linux's: the program ends, and says who has it.

    The tap has a carrier once the program opens it. Linux sends by it after a worker has run
    (linkwatch_event in net/core/link_watch.c), which waits for the lock of all network devices: up to
    4 s beside other tests. Hence more than one probe.
    """
    address = peer.us if which == "given" else LINK_LOCAL
    peer.ip("address", "add", address + "/64", "dev", "eth0", "nodad")
    peer.wait_for_groups()
    said = peer.run(["env", *("%s=%s" % item for item in ENVIRONMENT.items()
                              if item[0].endswith("SAN_OPTIONS")),
                     os.path.join(BUILD, "echo"), "--dev", "eth0", "--address", peer.us + "/64",
                     "--dad-transmits", "20"])
    assert said.returncode == 1 and said.stdout == ""
    assert said.stderr.startswith("host: %s is in use by " % address)


def test_both_families_at_once(peer):
    four = FAMILIES[4]
    peer.ip("address", "add", four.with_plen(four.linux), "dev", "eth0")
    ours = peer.ours("echo", "--address", four.with_plen(four.ours))
    with peer.connect(ECHO) as six, peer.socket(kind=socket.SOCK_STREAM) as other:
        other.settimeout(20)
        other.connect((four.ours, ECHO))
        echo_check(six, 100000)
        echo_check(other, 100000)
    assert peer.ping(peer.us)[0] and peer.ping(four.ours)[0]
    counters = ours.status()["counters"]
    assert counters["tcp_accepts"] == 2
    assert counters["delivered_icmp"] == 1 and counters["delivered_icmp6"] == 1


def test_link_local(peer):
    """The address derived from the MAC has the same services."""
    ours = peer.ours("echo")
    with peer.tcp() as sock:
        sock.connect((LINK_LOCAL, ECHO, 0, index_of(peer)))
        assert sock.getsockname()[0].startswith("fe80:")
        echo_check(sock, 100000)
    assert peer.ping(LINK_LOCAL + "%eth0")[0]
    assert ours.counter("tcp_accepts") == 1


def test_ping(peer):
    """Echo requests to our address, to the all-nodes group, and of the largest size."""
    ours = peer.ours("echo")
    assert peer.ping(peer.us, "-s", "1452")[0]
    answered, said = peer.ping("ff02::1%eth0", "-L")
    assert answered and LINK_LOCAL in said
    counters = ours.status()["counters"]
    assert counters["icmp6_tx_echo_reply"] == counters["delivered_icmp6"] == 2


def test_linux_asks_again(peer):
    """Linux forgets us, and finds us by our group; a unicast solicitation is answered too."""
    ours = peer.ours("echo")
    assert peer.ping(peer.us)[0]
    before = ours.counter("nd_tx_advert")
    peer.ip("neighbour", "flush", "dev", "eth0")
    assert peer.ping(peer.us)[0]
    assert ours.counter("nd_tx_advert") > before


def test_groups_are_told(peer):
    """MLD: reports, for snooping switches, of the groups that discovery uses."""
    ours = peer.ours("echo")
    eventually(lambda: ours.counter("mld_tx_report") >= 2, 5, "reports, each sent twice")


@pytest.mark.parametrize("kind", [1, 0x1e])
def test_extension_headers(peer, kind):
    """Options that are to be skipped, before TCP and UDP: PadN, and an unknown one."""
    header = options_header(kind)
    options = [(socket.IPPROTO_IPV6, DSTOPTS, header), (socket.IPPROTO_IPV6, HOPOPTS, header)]
    ours = peer.ours("echo")
    assert exchange(peer, ECHO, pattern(1000), *options) == pattern(1000)
    assert exchange(peer, 19, pattern(100), *options) == pattern(100)
    with peer.connect(ECHO, *options) as sock:
        echo_check(sock, 300000)
    counters = ours.status()["counters"]
    assert counters["delivered_udp"] == 2 and counters["tcp_closes"] == 1
    assert "icmp6_tx_param_problem" not in counters


def test_an_option_that_is_not_skipped(peer):
    """An option whose high bits require it is answered by a parameter problem (RFC 8200 4.2)."""
    ours = peer.ours("echo")
    with peer.socket(socket.AF_INET6) as sock:
        sock.setsockopt(socket.IPPROTO_IPV6, DSTOPTS, options_header(0x9e))
        sock.setsockopt(socket.IPPROTO_IPV6, 25, 1)  # IPV6_RECVERR
        sock.settimeout(5)
        sock.connect((peer.us, ECHO))
        sock.send(b"x")
        with pytest.raises(OSError) as said:
            sock.recv(100)
    assert said.value.errno == 71  # EPROTO
    counters = ours.status()["counters"]
    assert counters["drop_ip6_option"] == counters["icmp6_tx_param_problem"] == 1


def test_nobody_is_at_that_port(peer):
    ours = peer.ours("echo")
    with pytest.raises(ConnectionRefusedError):
        exchange(peer, 5, b"x")
    assert ours.counter("icmp6_tx_unreach_port") == 1


def test_fragments_are_refused(peer):
    """These programs do not reassemble fragments; they count them."""
    ours = peer.ours("echo")
    assert not peer.ping(peer.us, "-s", "4000", wait_s=1)[0]
    assert ours.counter("drop_fragment_local") == 3


@pytest.mark.parametrize("offload", [[], ["--offload"]], ids=["plain", "offload"])
def test_udp_sizes(peer, offload):
    ours = peer.ours("echo", *offload)
    for size in (0, 1, 7, 8, 9, 1000, 1452):
        assert exchange(peer, ECHO, pattern(size)) == pattern(size)
    assert ours.counter("delivered_udp") == 7
