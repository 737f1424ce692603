"""Memory that there is not. Each scenario is played with the 1st, 2nd, 3rd ... request for memory
refused, alone or with all after it, until it needs no more: what is refused is refused by name, the
router goes on, nothing is leaked (the harness counts every buffer after every command), and the same
again, with memory, ends as if nothing had been refused."""
import re

import pytest
from ip6 import *
from machine import *
from test_remote import HASH

BASE = CONFIG.replace("arp timeout 60\n", "")  # neighbours stay known for as long as a test lasts


def typed(m, *lines):
    """Types lines on the console; all that was said, the lines too."""
    start = len(m.text)
    for line in lines:
        m.key(line + "\r")
    return m.text[start:].replace("\r", "")


def settled(m):
    """Time for a restart of the ports, if there is one to come, and for what they tell their links."""
    m.time(200 * MS)
    m.settle()


def serves(m, known=(A, B)):
    """The router is up: it answers a ping, forwards, and its books balance (the harness looks)."""
    m.learn(*known)
    ping = IP(src=A.ip, dst=ROUTER[0].ip) / ICMP(id=7, seq=1) / bytes(32)
    m.send(0, ether(A, ROUTER[0]) / ping)
    answer = Ether(m.take(0).frame)
    assert answer[ICMP].type == 0 and answer[IP].dst == A.ip
    m.route(udp(A, B))
    m.counted()


# --- what a commit takes ---

def long_way(m, src, dst, packet, hopped, question, answer, router):
    """A long packet waits for its neighbour, and gets there."""
    m.send(src.port, ether(src, ROUTER[src.port]) / packet)
    m.expect(dst.port, question)
    m.send(dst.port, answer)
    m.expect(dst.port, ether(router, dst) / hopped)


LONG = 8000


def long_ip4(m):
    long_way(m, A, B2, udp(A, B2, LONG), hop(udp(A, B2, LONG)),
             arp_request(ROUTER[1], B2.ip), arp_reply(B2, ROUTER[1]), ROUTER[1])


def long_ip6(m):
    packet = udp6(A, B2, LONG)
    long_way(m, A, B2, packet, hop6(packet), solicit(ROUTER[1], B2.ip6), advert(B2, ROUTER[1]),
             ROUTER[1])


JUMBO = ("interface eth0", "mtu 9000", "interface eth1", "mtu 9000")
SIX = ("interface eth0", "ipv6 address 2001:db8:1::1/64",
       "interface eth1", "ipv6 address 2001:db8:2::1/64")


def test_commit_of_a_longer_mtu(make):
    """Frames that wait for a neighbour may be longer then."""
    m = make(BASE, mtu_max=9198)
    typed(m, "configure", *JUMBO, "commit")
    settled(m)
    m.learn(A, B)
    long_ip4(m)
    m.route(udp(A, B, LONG))
    typed(m, "interface eth1", "mtu 1500", "commit")
    settled(m)
    m.learn(A, B)
    m.route(udp(A, B))
    m.counted()


def test_commit_of_the_first_ipv6_and_a_longer_mtu(make):
    """There are as many neighbours, and frames as long, as if it had been so from the start."""
    m = make(BASE, mtu_max=9198)
    typed(m, "configure", *SIX, "commit")
    settled(m)
    learn6(m, A, B, A2)
    m.send(0, ether(A, ROUTER[0]) / udp6(A, B))
    m.expect(1, ether(ROUTER[1], B) / hop6(udp6(A, B)))
    typed(m, *JUMBO, "commit")
    settled(m)
    learn6(m, A, B, A2)
    long_ip6(m)
    m.learn(A, B)
    long_ip4(m)
    m.counted()


# --- the start ---

SERVERS = "http server\nhttp access 192.0.2.0/24\ncapture server\ncapture access 192.0.2.0/24\n" + \
    "console server\nconsole access 192.0.2.0/24\n" + HASH + "\n"
FILTERS = """\
ip access-list in4
 permit udp any any eq 53
 permit ip any any
ipv6 access-list out6
 permit ipv6 any any
"""
WHOLE = FILTERS + """\
hostname r1
interface eth0
 ip address 192.0.2.1/24
 ipv6 address 2001:db8:1::1/64
 ip access-group in4 in
interface eth1
 ip address 198.51.100.1/24
 ipv6 address 2001:db8:2::1/64
 ipv6 traffic-filter out6 out
ip route 10.0.0.0/8 198.51.100.2
ipv6 route 2001:db8:100::/48 2001:db8:2::2
""" + SERVERS

# What the machine says when there is no memory: of a device, a line of the configuration, tables,
# servers.
NAMED = re.compile(r"^pci [0-9a-f:.]+: host: not enough memory \(error 1\), left out$|"
                   r"^configuration:\d+: (its \d+ KiB are too much for this machine of \d+ MiB|"
                   r"no memory to work on lists of \d+ rules, at \"in4\")$|"
                   r"^not enough memory for the tables \([a-z ]+\): nothing is forwarded$|"
                   r"^not enough memory for the [A-Za-z]+ server: there is none$", re.MULTILINE)
NOTHING = re.compile(r"configuration:\d+: .*\nnothing of the configuration is applied\n|"
                     r"nothing is forwarded\n")


@pytest.mark.parametrize("on", [False, True], ids=["one", "all"])
def test_start(make, on):
    """Each refusal is named. What runs then runs whole: all is forwarded, or nothing; the console is
    there; and once there is memory, a restart of the ports brings what was missing."""
    whole = make(WHOLE)
    serves(whole)
    requests, used = whole.asked()["memory"][0], whole.asked()["private"]
    assert requests > 15
    later = 0
    for n in range(1, requests + 1):
        m = make(WHOLE, boot=False, refuse="%d%s" % (n, "+" if on else ""))
        said = m.text.replace("\r", "")
        assert m.asked()["memory"][1] > 0 and NAMED.search(said), (n, said)
        assert "private" in m.asked() and "free" in m.console("show memory")
        m.refuse("memory", 0)
        if not NOTHING.search(said):
            m.settle()
            serves(m)
        if "pci " in said or "configuration:" in said or "(the configuration)" in said:
            m.close()  # devices and the text are read once
            continue
        m.text = ""
        m.command("restart")
        m.settle()
        assert not NAMED.search(m.text), (n, m.text)
        serves(m)
        later += 1
        assert m.asked()["private"] <= used, n
        m.close()
    assert later > 8


# --- commits ---

def tried(m, lines):
    """Plays a scenario, from the running configuration; what was said."""
    said = typed(m, "configure", "rollback 0", *lines, "end")
    settled(m)
    return said


ROUTES = tuple("ip route 10.%d.0.0/16 198.51.100.2" % n for n in range(30)) + \
    tuple("ipv6 route 2001:db8:%x::/48 2001:db8:2::2" % (n + 256) for n in range(30))

COMMITS = {
    "restart": (BASE, SIX + JUMBO + ("commit",)),
    "all": (BASE, tuple(WHOLE.splitlines()) + ("commit",)),
    "routes": (BASE, ROUTES[:30] + ("commit",)),
    "filter": (BASE, tuple(FILTERS.splitlines()) + ("interface eth0", "ip access-group in4 in", "commit")),
    "servers": (BASE, tuple(SERVERS.splitlines()) + ("commit",)),
    "rollback": (WHOLE, ("no ip route", "hostname r2", "commit", "rollback 1", "commit")),
    "confirmed": (WHOLE, ROUTES + ("commit confirmed 1",)),
}
REFUSED = re.compile("not enough memory|no memory|no room")


@pytest.mark.parametrize("on", [False, True], ids=["one", "all"])
@pytest.mark.parametrize("name", COMMITS)
def test_commit(make, name, on):
    """What is refused is said, and the router goes on as it was; with memory the same commit ends as
    if nothing had been refused, with as much memory in use."""
    base, lines = COMMITS[name]
    confirm = 70 if name == "confirmed" else 0

    def play(m):
        said = tried(m, lines)
        if confirm:
            m.settle(confirm)
        return said

    whole = make(base, mtu_max=9198)
    whole.refuse("memory", 0)
    assert "committed" in play(whole)
    play(whole)
    end, asked = whole.console("show running-config"), whole.asked()
    assert asked["memory"][0] >= 4
    for n in range(1, asked["memory"][0] + 1):
        m = make(base, mtu_max=9198)
        m.text = ""
        m.refuse("memory", n, on)
        said = play(m) + m.text
        refused = m.asked()["memory"][1]
        m.refuse("memory", 0)
        assert refused and (REFUSED.search(said) or m.console("show running-config") == end), (n, said)
        assert not NOTHING.search(said), (n, said)
        serves(m)
        said = play(m)
        assert ("committed" in said or "nothing has changed" in said) and \
            not REFUSED.search(said), (n, said)
        assert m.console("show running-config") == end, n
        assert m.asked()["private"] == asked["private"], n
        m.close()
