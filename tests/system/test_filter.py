"""Packet filters between Linux hosts, for both versions of IP: nmap scans through the router and
finds what the access list says, and so do scapy's packets."""
import re
import socket

import pytest
from conftest import pings
from family import V4, both, make_lab6, make_lab_of  # noqa: F401

# A listening port, a closed port, and denied ports.
OPEN, CLOSED, DENIED = 8001, 8002, 8003


def words(family):
    """The family's keyword for a list, for applying it, and for any protocol."""
    if family is V4:
        return "ip", "ip access-group", "ip"
    return "ipv6", "ipv6 traffic-filter", "ipv6"


def access_list(family, *rules):
    ip, _, any_proto = words(family)
    return "%s access-list F\n" % ip + "".join(
        " %s\n" % rule.replace("RIGHT", "host " + family.right).replace("PROTO", any_proto)
        for rule in rules)


def apply(family, way, *more):
    return " %s F %s\n" % (words(family)[1], way) + "".join(
        " no %s unreachables\n" % words(family)[0] for word in more)


def nmap(lab, family, *arguments):
    """{port: (state, reason)} of a scan of the right host from the left one."""
    argv = ["nmap", "-n", "-Pn", "-T4", "--max-retries", "1", "--reason", "-p",
            "%d-%d" % (OPEN, DENIED)] + (["-6"] if family is not V4 else []) + list(arguments)
    said = lab.left.run(argv + [family.right], timeout_s=120, check=True).stdout
    return {int(port): (state, reason) for port, state, reason in
            re.findall(r"^(\d+)/\w+ +(\S+) +\S+ +(\S+)", said, re.M)}


def listen(lab, family):
    server = lab.right.socket(family.af, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((family.right, OPEN))
    server.listen()
    return server


@both
@pytest.mark.parametrize("way", ["in", "out"])
def test_nmap_sees_the_list(make_lab_of, family, way):
    """Open, closed and filtered ports, over TCP and UDP; the scanner learns who filters."""
    where = {"eth0" if way == "in" else "eth1": apply(family, way)}
    lab = make_lab_of(extra=access_list(
        family, "permit tcp any RIGHT range %d %d" % (OPEN, CLOSED), "permit icmp any any",
        "permit udp any RIGHT eq %d" % CLOSED), **where)
    pings(lab.left, family.right)
    with listen(lab, family):
        assert nmap(lab, family, "-sS") == {
            OPEN: ("open", "syn-ack"), CLOSED: ("closed", "reset"),
            DENIED: ("filtered", "admin-prohibited")}
    found = nmap(lab, family, "-sU")
    assert found[CLOSED] == ("closed", "port-unreach")
    assert found[OPEN] == found[DENIED] == ("filtered", "admin-prohibited")
    counters = lab.router.balanced()
    assert counters["drop_acl_" + way] >= 3
    told = "icmp_tx_unreach_prohibited" if family is V4 else "icmp6_tx_unreach_prohibited"
    assert counters[told] >= 3
    said = lab.router.command("show access-lists F")
    assert re.search(r"10 permit tcp any host \S+ range 8001 8002 \(\d+ matches\)", said), said
    assert re.search(r"deny \w+ any any \(\d+ matches\)", said), said


@both
def test_a_silent_list(make_lab_of, family):
    lab = make_lab_of(eth0=apply(family, "in", "silent"),
                      extra=access_list(family, "permit icmp any any"))
    pings(lab.left, family.right)
    assert set(nmap(lab, family, "-sS").values()) == {("filtered", "no-response")}
    counters = lab.router.balanced()
    assert counters["drop_acl_in"] >= 3
    assert not counters["icmp_tx_unreach_prohibited"] + counters["icmp6_tx_unreach_prohibited"]


@both
def test_established(make_lab_of, family):
    """The right host may open connections, the left one only answer: an ACK passes, a SYN does not
    (the difference between nmap's -sA and -sS)."""
    lab = make_lab_of(eth0=apply(family, "in"), extra=access_list(
        family, "permit icmp any any", "permit tcp any any established"))
    pings(lab.left, family.right)
    assert set(nmap(lab, family, "-sA").values()) == {("unfiltered", "reset")}
    assert set(nmap(lab, family, "-sS").values()) == {("filtered", "admin-prohibited")}
    with lab.left.socket(family.af, socket.SOCK_STREAM) as server:
        server.bind((family.left, OPEN))
        server.listen()
        with lab.right.socket(family.af, socket.SOCK_STREAM) as client:
            client.settimeout(10)
            client.connect((family.left, OPEN))
            client.sendall(b"x" * 100000)
            taken, _ = server.accept()
            with taken:
                taken.settimeout(10)
                got = 0
                while got < 100000:
                    got += len(taken.recv(65536))


@both
def test_fragments_of_what_is_permitted(make_lab_of, family):
    """Pings in three fragments: the later ones have no ICMP type, and pass with the first."""
    echo = "echo" if family is V4 else "echo-request"
    lab = make_lab_of(eth0=apply(family, "in"), extra=access_list(
        family, "permit icmp any any " + echo))
    pings(lab.left, family.right, "-s", "4000")
    said = lab.router.command("show access-lists")
    assert int(re.search(r"10 permit icmp any any echo\S* \((\d+) matches\)", said)[1]) >= 9, said


@both
def test_the_machine_itself(make_lab_of, family):
    """`in` filters packets for the router, but not those that the router sends."""
    lab = make_lab_of(eth0=apply(family, "in"), eth1=apply(family, "out"),
                      extra=access_list(family, "deny PROTO any any") if family is V4 else
                      access_list(family, "permit icmp any any nd-ns", "permit icmp any any nd-na"))
    answered, said = lab.left.ping(family.left_router, wait_s=2)
    assert not answered and "filtered" in said.lower() or "prohibited" in said.lower(), said
    pings(lab.right, family.right_router)
    assert lab.router.balanced()["drop_acl_in"] >= 1


CRAFTED = """\
import sys
from scapy.all import IP, IPv6, TCP, Raw, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, send
dst = sys.argv[1]
if ":" in dst:
    tiny = IPv6(dst=dst) / IPv6ExtHdrFragment(offset=0, m=1, nh=6, id=7) / Raw(bytes(8))
    over = IPv6(dst=dst) / IPv6ExtHdrFragment(offset=1, m=0, nh=6, id=7) / Raw(bytes(16))
    deep = IPv6(dst=dst, nh=60) / Raw((bytes([60, 0, 1, 4]) + bytes(4)) * 9)
else:
    tiny = IP(dst=dst, flags="MF", proto=6, id=7) / Raw(bytes(8))
    over = IP(dst=dst, frag=1, proto=6, id=7) / Raw(bytes(16))
    deep = IP(dst=dst, proto=17) / Raw(bytes(3))
send([tiny, over, deep], verbose=False)
"""


@both
def test_what_cannot_be_told(make_lab_of, family):
    """Fragments that hide TCP's flags (RFC 1858, RFC 3128), and headers that do not end."""
    lab = make_lab_of(eth0=apply(family, "in"), extra=access_list(family, "permit PROTO any any"))
    pings(lab.left, family.right)
    lab.left.run(["/usr/bin/python3", "-c", CRAFTED, family.right], timeout_s=60, check=True)
    counters = lab.router.balanced()
    assert counters["drop_acl_undetermined"] == 3
    assert "deny undetermined transport (3 matches)" in lab.router.command("show access-lists")
