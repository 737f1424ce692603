"""Lack of memory. Each scenario is run with the 1st, 2nd, 3rd ... request for memory refused, alone
or with all later ones, until it needs no more. Each refusal is reported by name, the router
continues, nothing leaks (the harness counts every buffer after every command), and the same
scenario with memory ends as if nothing had been refused."""
import re

import pytest
from ip6 import *
from machine import *
from machine import known as kinds
from scapy.layers.inet import TCP
from test_remote import HASH
from test_tcp import Peer

FRAGMENTS_HALF = 8 * 68 << 10  # fragments.c: 8 packets here, or 16, of 67 KiB and their tables

BASE = CONFIG.replace("arp timeout 60\n", "")  # neighbours stay known during a test


def typed(m, *lines):
    """Types lines on the console; returns all output, with the echo of the lines."""
    start = len(m.text)
    for line in lines:
        m.key(line + "\r")
    return m.text[start:].replace("\r", "")


def settled(m):
    """Waits for a possible restart of the ports, and for their announcements."""
    m.time(200 * MS)
    m.settle()


def serves(m, known=(A, B)):
    """The router works: it answers a ping, forwards, its counters balance (the harness checks)."""
    m.learn(*known)
    ping = IP(src=A.ip, dst=ROUTER[0].ip) / ICMP(id=7, seq=1) / bytes(32)
    m.send(0, ether(A, ROUTER[0]) / ping)
    answer = Ether(m.take(0).frame)
    assert answer[ICMP].type == 0 and answer[IP].dst == A.ip
    m.route(udp(A, B))
    m.counted()


# --- memory for a commit ---

def long_way(m, src, dst, packet, hopped, question, answer, router):
    """A long packet waits for its neighbour, and is delivered."""
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
    """Afterwards longer frames can wait for a neighbour."""
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
    """Afterwards there is room for as many neighbours, and frames as long, as if configured at
    boot."""
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

# The machine's messages without memory: for a device, a line of the configuration, tables, servers.
NAMED = re.compile(r"^pci [0-9a-f:.]+: host: not enough memory \(error 1\), left out$|"
                   r"^configuration:\d+: (its \d+ KiB are too much for this machine of \d+ MiB|"
                   r"no memory to work on lists of \d+ rules, at \"in4\")$|"
                   r"^not enough memory for the tables \([a-z ]+\): nothing is forwarded$|"
                   r"^not enough memory for the ([A-Za-z]+ server|event log): there is none$", re.MULTILINE)
NOTHING = re.compile(r"configuration:\d+: .*\nnothing of the configuration is applied\n|"
                     r"nothing is forwarded\n")


@pytest.mark.parametrize("on", [False, True], ids=["one", "all"])
def test_start(make, on):
    """Each refusal is named. A part that runs, runs completely: everything is forwarded, or
    nothing; the console works. Once there is memory, a restart of the ports adds what was
    missing."""
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
            m.close()  # devices and the text are read only once
            continue
        m.text = ""
        m.command("restart")
        m.settle()
        assert not NAMED.search(m.text), (n, m.text)
        serves(m)
        later += 1
        # reassembly takes half as much where less is left, so more where the rest came later
        assert m.asked()["private"] <= used + FRAGMENTS_HALF, n
        m.close()
    assert later > 8


# --- commits ---

def tried(m, lines):
    """Runs a scenario from the running configuration; returns the output."""
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
# About the copy that outlives the control program: repeated at every later commit, because the base
# of the copy is lost.
NOT_KEPT = "no memory to keep this commit"


@pytest.mark.parametrize("on", [False, True], ids=["one", "all"])
@pytest.mark.parametrize("name", COMMITS)
def test_commit(make, name, on):
    """The refusal is reported, and the router continues unchanged; with memory the same commit ends
    as if nothing had been refused, with the same memory in use."""
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
        kept = NOT_KEPT not in said
        said = play(m) if kept else play(m).replace(NOT_KEPT, "")
        assert ("committed" in said or "nothing has changed" in said) and \
            not REFUSED.search(said), (n, said)
        assert m.console("show running-config") == end, n
        used = m.asked()["private"]
        assert used == asked["private"] if kept else used < asked["private"], n
        m.close()


# --- buffers ---

# Neighbours and links do not change, MTUs are small, and redirects are sent to hosts.
TRAFFIC = """\
ip access-list deny9
 deny udp any any eq 9
 permit ip any any
ip icmp rate-limit 100000 burst 1000
interface eth0
 ip address 192.0.2.1/24
 ip access-group deny9 in
 ip redirects
 ipv6 address 2001:db8:1::1/64
 ipv6 nd ra suppress
 ipv6 redirects
interface eth1
 mtu 1280
 ip address 198.51.100.1/24
 ipv6 address 2001:db8:2::1/64
 ipv6 nd ra suppress
ip route 10.0.0.0/8 192.0.2.3
ipv6 route 2001:db8:a::/48 2001:db8:1::3
"""


def from_a(m, *packets):
    m.send(0, *(ether(A, ROUTER[0]) / p for p in packets))


def new_neighbour4(m):
    from_a(m, udp(A, B2))
    m.send(1, arp_reply(B2, ROUTER[1]))


def new_neighbour6(m):
    from_a(m, udp6(A, B2))
    m.send(1, advert(B2, ROUTER[1]))


def pieces4(packet, size=96):
    """The packet in fragments (RFC 791)."""
    raw = bytes(packet)
    body, at = raw[20:], range(0, len(raw) - 20, size)
    return [IP(src=packet.src, dst=packet.dst, id=9, proto=packet.proto, frag=n // 8,
               flags="MF" if n + size < len(body) else 0) / body[n:n + size] for n in at]


PING = IP(src=A.ip, dst=ROUTER[0].ip) / ICMP(id=7, seq=1) / bytes(400)
SENT = {
    "forwarded": lambda m: from_a(m, udp(A, B), udp6(A, B)),
    "expired": lambda m: from_a(m, udp(A, B, ttl=1), udp6(A, B, hlim=1)),
    "no-route": lambda m: from_a(m, udp(A, "172.16.0.1"), udp6(A, "2001:db8:f::1")),
    "denied": lambda m: from_a(m, udp(A, B, dport=9)),
    "too-large": lambda m: from_a(m, udp(A, B, 1400, flags="DF"), udp6(A, B, 1400)),
    "in-pieces": lambda m: from_a(m, udp(A, B, 1400), udp(A, B, 1400)),
    "better-way": lambda m: from_a(m, udp(A, "10.0.0.1"), udp6(A, "2001:db8:a::1")),
    "new-neighbour": new_neighbour4,
    "new-neighbour6": new_neighbour6,
    "scan": lambda m: from_a(m, *(udp(A, "198.51.100.%d" % n) for n in range(20, 28))),
    "scan6": lambda m: from_a(m, *(udp6(A, "2001:db8:2::%x" % n) for n in range(20, 28))),
    "asked-for": lambda m: m.send(0, arp_request(A, ROUTER[0].ip), solicit(A, ROUTER[0].ip6)),
    "ping": lambda m: from_a(m, PING, echo6(A, ROUTER[0])),
    "ping-in-pieces": lambda m: from_a(m, *pieces4(PING)),
    "closed": lambda m: from_a(m, udp(A, ROUTER[0]), udp6(A, ROUTER[0]),
                               IP(src=A.ip, dst=ROUTER[0].ip) / TCP(sport=9, dport=9)),
}
# The counters of packets without a buffer.
NO_BUFFER = ("drop_no_buffer", "originated_drop_no_buffer", "tcp_no_buffer", "drop_tcp_buffers")


def introduced(m, *stations):
    """The stations ask for the router and answer its requests; its frames are discarded."""
    for s in stations:
        router = ROUTER[s.port]
        m.send(s.port, arp_request(s, router.ip), ether(s, router) / echo6(s, router, 8))
        m.send(s.port, advert(s, router))
    m.take_all(0), m.take_all(1), m.counted()


def played(m, scenario):
    """(packets per fate, all counters), including the seconds after the scenario."""
    scenario(m)
    m.time(5 * SECOND)
    m.take_all(0), m.take_all(1)
    counted = m.counted()
    return {name: n for name, n in counted.items() if kinds[name] != "info"}, counted


@pytest.mark.parametrize("on", [False, True], ids=["one", "all"])
@pytest.mark.parametrize("name", SENT)
def test_traffic(make, name, on):
    """Each missing buffer is counted by name, none leaks (the harness checks), and then the router
    works as before."""
    whole = make(TRAFFIC)
    introduced(whole, A, B, A2)
    whole.refuse("buffers", 0)
    fates, _ = played(whole, SENT[name])
    requests = whole.asked()["buffers"][0]
    for n in range(1, requests + 1):
        m = make(TRAFFIC)
        introduced(m, A, B, A2)
        m.refuse("buffers", n, on)
        _, missing = played(m, SENT[name])
        refused = m.asked()["buffers"][1]
        assert refused and sum(missing.get(c, 0) for c in NO_BUFFER) == refused, (n, missing)
        m.refuse("buffers", 0)
        m.time(60 * SECOND)  # failed neighbour entries are forgotten
        introduced(m, A, B, A2)
        assert played(m, SENT[name])[0] == fates, n
        m.close()


def introduced4(m, *stations):
    for s in stations:
        m.send(s.port, arp_request(s, ROUTER[s.port].ip))
    m.take_all(0), m.take_all(1), m.counted()


class Stubborn(Peer):
    """A simple TCP of a host: retransmits unacknowledged data after a pause."""

    def exchange(self, request, is_whole, pause_ns):
        """Sends a request; returns the data received until is_whole is satisfied, and aborts."""
        first, got, acked, opened = self.seq + 1, b"", None, False
        for _ in range(20):
            self.seq = first - 1 if not opened else acked
            if opened:
                self.send("PA", request[acked - first:]) if acked < first + len(request) else \
                    self.send("A")
            else:
                self.send("S")
            for _ in range(200):  # mutual acknowledgements would never end
                if not self.m.outs[self.src.port] or is_whole(got):
                    break
                segment = self.take()
                if "R" in str(segment.flags):
                    break
                if str(segment.flags) == "SA":
                    opened, self.ack = True, segment.seq + 1
                elif opened and segment.seq == self.ack:
                    got += bytes(segment.payload)
                    self.ack += len(bytes(segment.payload))
                acked = segment.ack
                if not self.m.outs[self.src.port] and opened:
                    self.seq = acked
                    self.send("A")
            if is_whole(got):
                break
            self.m.time(pause_ns)
        self.seq = acked if opened else first
        self.send("R")
        self.m.time(pause_ns)
        self.m.take_all(self.src.port)
        return got


def fetched(m, sport, pause_ns=1 * SECOND):
    def is_whole(got):
        head, _, content = got.partition(b"\r\n\r\n")
        length = re.search(rb"^Content-Length: (\d+)\r$", head, re.M)
        return length is not None and len(content) == int(length[1])

    got = Stubborn(m, dport=80, sport=sport).exchange(
        b"GET /metrics HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n", is_whole, pause_ns)
    return got.startswith(b"HTTP/1.1 200") and is_whole(got)


def echoed(m, sport, pause_ns=1 * SECOND):
    data = bytes(range(256)) * 5
    return Stubborn(m, dport=7, sport=sport).exchange(
        data, lambda got: len(got) >= len(data), pause_ns) == data


SESSIONS = {"http": (BASE + "http server\nhttp access 192.0.2.0/24\n", fetched),
            "echo": (BASE + "application echo\nservice echo tcp\n", echoed)}


@pytest.mark.parametrize("name", SESSIONS)
def test_session(make, name):
    """TCP survives each missing buffer. Without any buffers a session fails, but the next one, with
    buffers, succeeds."""
    config, session = SESSIONS[name]
    m = make(config)
    m.learn(A, B)
    m.refuse("buffers", 0)
    assert session(m, 40000)
    requests = m.asked()["buffers"][0]
    assert requests > 2
    for n in range(1, requests + 1):
        m.refuse("buffers", n)
        assert session(m, 40000 + n), n
        assert m.asked()["buffers"][1] == 1, n
        lost = m.counted()
        # at most: an answer that waits for a buffer is not lost
        assert sum(lost.get(c, 0) for c in NO_BUFFER) <= 1, (n, lost)
    for n in (1, 3):
        m.refuse("buffers", n, on=True)
        assert not session(m, 50000 + n, 5 * MS), n
        m.refuse("buffers", 0)
        m.time(60 * SECOND)
        introduced4(m, A)
        assert session(m, 55000 + n), n
