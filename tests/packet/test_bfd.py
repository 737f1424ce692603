"""BFD for the routing engine (control/engine/bfd.c): a client speaks bfdd's data plane protocol over the
real stack, a station is the peer. tests/unit/net/bfd tests the state machine alone."""
import itertools
import re

import pytest
from bfdd import *
from ip6 import *
from scapy.layers.inet import TCP
from test_http import Client
from test_tcp import Peer

BASE = CONFIG6.replace("arp timeout 60\n", "")
BFD = BASE.replace("interface eth1\n", "interface eth1\n routing engine index 102\n").replace(
    "interface eth0\n", "interface eth0\n routing engine index 101\n") + \
    "routing engine %s\nrouting engine settle-time 100\nrouting engine hold-time 1000\n" \
    "routing engine bfd\n" % A.ip
sports = itertools.count(40000)
LID, PEER = 5, 77  # discriminators


class Bfdd(Client):
    def __init__(self, m, src=A, dport=50700, **options):
        super().__init__(m, dport=dport, sport=next(sports), src=src, **options)

    def tell(self, *data, piece=1000):
        """Sends messages; returns what comes back: [(type, id, body)]."""
        data = b"".join(data)
        for at in range(0, len(data), piece):
            self.send("PA", data[at:at + piece])
            self.read()
            if self.ended:
                break
        return self.heard()

    def heard(self, ns=0):
        if ns:
            self.m.time(ns)
        self.read()
        got, self.got = self.got, b""
        return messages(got)

    def cut(self):
        self.read()
        self.send("R")

    def states(self, ns=0):
        return [state(body) for kind, _, body in self.heard(ns) if kind == STATE]


class Peer4:
    """A station that speaks BFD on eth1."""
    station, router, address, dport, hops, sport = B, ROUTER[1].ip, B.ip, 3784, 255, 49200

    def __init__(self, m):
        self.m, self.ports = m, set()

    def packet(self, data, hops=None, **fields):
        return IP(src=self.address, dst=self.router, ttl=hops or self.hops) / \
            UDP(sport=self.sport, dport=self.dport) / Raw(data)

    def say(self, st, yours=LID, hops=None, **fields):
        self.m.send(1, ether(self.station, ROUTER[1]) / self.packet(control(st, PEER, yours, **fields),
                                                                    hops))

    def got(self):
        """The BFD packets that the machine has sent since."""
        out = []
        for frame in self.m.take_all(1):
            p = Ether(frame)
            if UDP not in p:
                continue
            ip = p.getlayer(1)
            assert (ip.hlim if IPv6 in p else ip.ttl) == 255 and ip.dst == self.address
            self.ports.add(p[UDP].sport)
            assert len(self.ports) == 1  # one for all packets of a session
            assert p[UDP].sport >= 49152 and p[UDP].dport == self.dport and p.dst == self.station.mac
            assert p[UDP].chksum == type(p)(bytes(Ether(frame)))[UDP].chksum
            out.append(read_control(bytes(p[UDP].payload)[:24]))
        return out

    def up(self):
        self.say(DOWN, 0)
        self.say(UP)
        assert "up 1," in show(self.m)
        self.say(UP, flags=FINAL)
        self.got()


class Peer6(Peer4):
    address, router = B.link_local, None

    def packet(self, data, hops=None):
        return IPv6(src=self.address, dst=self.router, hlim=hops or self.hops) / \
            UDP(sport=self.sport, dport=self.dport) / Raw(data)


class Far(Peer4):
    """Behind B, by 4784."""
    address, dport, hops = "203.0.113.9", 4784, 250


def show(m):
    return m.console("show bfd")


@pytest.fixture
def start(make):
    """start(config) makes a machine. What its sessions and bfdd's connection send at the end of a test
    does not matter."""
    machines = []

    def one(config=BFD):
        m = make(config)
        m.learn(A, A2, B, B2)
        m.text = ""
        machines.append(m)
        return m

    yield one
    for m in machines:
        for outs in m.outs:
            outs.clear()


@pytest.fixture
def e(start):
    return start()


@pytest.fixture
def z(e):
    return Bfdd(e)


def add(z, **more):
    return z.tell(session(LID, ROUTER[1].ip, B.ip, **more))


def counted(m, name):
    return m.counters().get(name, 0)


def refused(m, name):
    match = re.search(r"^refused +%s +(\d+)$" % name, show(m), re.M)
    return int(match[1]) if match else 0


def test_session_comes_up_and_falls(e, z):
    told = [state(body) for _, _, body in add(z)]
    assert [(s["lid"], s["state"]) for s in told] == [(LID, DOWN)]
    peer = Peer4(e)
    first = peer.got()
    assert [(p["state"], p["mine"], p["yours"], p["tx"], p["rx"], p["mult"]) for p in first] == \
        [(DOWN, LID, 0, 1000000, 50000, 3)]
    peer.say(DOWN, 0, tx=1000000)
    assert [(p["state"], p["yours"]) for p in peer.got()] == [(INIT, PEER)]
    assert [s["state"] for s in z.states()] == [INIT]
    peer.say(UP)
    got = peer.got()
    assert [(p["state"], p["tx"], p["flags"]) for p in got] == [(UP, 50000, POLL)]
    told = z.states()
    assert [(s["state"], s["rid"], s["tx"], s["mult"]) for s in told] == [(UP, PEER, 50000, 3)]
    peer.say(UP, flags=FINAL)
    for _ in range(40):  # 2 s: the peer is heard every 50 ms
        e.time(50 * MS)
        peer.say(UP)
    got = peer.got()
    assert 40 <= len(got) <= 54 and all(p["state"] == UP and p["flags"] == 0 for p in got)
    assert z.states() == []
    e.time(149 * MS)
    assert z.states() == []
    assert [(s["state"], s["rid"]) for s in z.states(2 * MS)] == [(DOWN, 0)]
    down = peer.got()[-1]
    assert (down["state"], down["diag"], down["yours"], down["tx"]) == (DOWN, 1, 0, 1000000)
    said = show(e)
    assert "last down 0 s ago: control detection time expired\n" in said
    assert "up 1, down 1\n" in said
    assert counted(e, "drop_bfd_session") == 0
    assert re.findall(r"%BFD-(.*)", e.console("show logging")) == [
        "5-UPDOWN: bfd: session with %s is up" % B.ip,
        "4-UPDOWN: bfd: session with %s is down: control detection time expired" % B.ip]


def test_peer_says_down(e, z):
    add(z)
    peer = Peer4(e)
    peer.up()
    z.heard()
    peer.say(DOWN, diag=1)
    assert [(s["state"], s["diag"]) for s in z.states()] == [(DOWN, 1)]
    assert [(p["state"], p["diag"]) for p in peer.got()] == [(DOWN, 3)]
    peer.up()
    assert [s["state"] for s in z.states()] == [INIT, UP]


def test_down_and_up_again_while_bfdd_does_not_hear(e, z):
    add(z)
    peer = Peer4(e)
    peer.up()
    z.cut()
    peer.say(DOWN)
    peer.up()
    again = Bfdd(e)
    told = [s["state"] for s in (state(b) for _, _, b in add(again))]
    assert told == [DOWN, UP]


def test_poll_is_answered(e, z):
    add(z)
    peer = Peer4(e)
    peer.up()
    peer.say(UP, flags=POLL, tx=100000)
    assert FINAL in [p["flags"] for p in peer.got()]
    z.heard()
    assert [(s["state"], s["tx"]) for s in z.states(1100 * MS)][:1] in ([(UP, 100000)], [(DOWN, 100000)])


def test_changed_timers(e, z):
    add(z)
    peer = Peer4(e)
    peer.up()
    add(z, tx=20000, rx=30000, mult=5)
    got = peer.got()
    assert got and all(p["flags"] & POLL for p in got)
    assert (got[-1]["tx"], got[-1]["rx"], got[-1]["mult"]) == (20000, 30000, 5)
    peer.say(UP, flags=FINAL, rx=20000)
    peer.got()
    e.time(40 * MS)
    assert [p["flags"] for p in peer.got()].count(0) >= 2
    assert "  transmit every 20000 us, receive 30000 us, multiplier 5;" in show(e)


def test_shutdown_and_delete(e, z):
    add(z)
    peer = Peer4(e)
    peer.up()
    add(z, flags=SHUTDOWN)
    assert [(p["state"], p["diag"]) for p in peer.got()] == [(ADMIN_DOWN, 7)]
    peer.say(DOWN)
    assert counted(e, "drop_bfd_admin") == 1
    e.time(2 * SECOND)
    assert {p["state"] for p in peer.got()} == {ADMIN_DOWN}  # it goes on saying so
    add(z)
    peer.up()
    z.tell(session(LID, ROUTER[1].ip, B.ip, kind=DELETE))
    assert [(p["state"], p["diag"]) for p in peer.got()] == [(ADMIN_DOWN, 7)]
    assert "sessions 0, up 0" in show(e)
    peer.say(UP)
    assert counted(e, "drop_bfd_session") == 1
    e.expect_nothing()


def test_passive(e, z):
    add(z, flags=PASSIVE)
    peer = Peer4(e)
    e.time(5 * SECOND)
    assert peer.got() == []
    peer.up()


def test_link_local(e, z):
    e.send(1, ether(B, ROUTER[1]) / IPv6(src=B.link_local, dst=ROUTER[1].link_local) /
           ICMPv6EchoRequest(id=1, seq=1))
    e.outs[1].clear()
    e.send(1, Ether(src=B.mac, dst=ROUTER[1].mac) / IPv6(src=B.link_local, dst=ROUTER[1].link_local, hlim=255) /
           ICMPv6ND_NA(R=0, S=1, O=1, tgt=B.link_local) / ICMPv6NDOptDstLLAddr(lladdr=B.mac))
    e.outs[1].clear()
    z.tell(session(LID, "", B.link_local, ifindex=102))
    peer = Peer6(e)
    peer.router = ROUTER[1].link_local
    assert [p["state"] for p in peer.got()] == [DOWN]
    peer.up()
    assert "peer %s local any eth1 up" % B.link_local in show(e)
    # another link's packet is not this session's
    e.send(0, ether(A, ROUTER[0]) / IPv6(src=B.link_local, dst=ROUTER[0].link_local, hlim=255) /
           UDP(sport=49152, dport=3784) / Raw(control(DOWN, PEER, LID)))
    assert counted(e, "drop_bfd_session") == 1 and "up 1," in show(e)


def test_no_interface_is_stated(e, z):
    """By bfdd of FRR 10.3, of a session that it ran itself until it found its data plane."""
    z.tell(session(LID, ROUTER[1].link_local, B.link_local))
    assert "peer %s local %s eth1 down" % (B.link_local, ROUTER[1].link_local) in show(e)
    z.tell(session(LID + 1, ROUTER[1].ip, B.ip))
    assert "peer %s local %s down" % (B.ip, ROUTER[1].ip) in show(e)


def test_interface_is_no_longer_stated(e, z):
    z.tell(session(LID, ROUTER[1].ip, B.ip, ifindex=102))
    Peer4(e).up()
    z.cut()
    again = Bfdd(e)
    assert [state(body)["state"] for _, _, body in again.tell(session(LID, ROUTER[1].ip, B.ip))] == [UP]
    assert "peer %s local %s eth1 up" % (B.ip, ROUTER[1].ip) in show(e)
    again.tell(session(LID, ROUTER[1].ip, B2.ip))  # another session
    assert "peer %s local %s down" % (B2.ip, ROUTER[1].ip) in show(e)


def test_multihop(start):
    e = start(BFD + "ip route 203.0.113.0/24 %s\n" % B.ip)
    z = Bfdd(e)
    z.tell(session(LID, ROUTER[0].ip, Far.address, flags=MULTIHOP, ttl=250))
    peer = Far(e)
    peer.router = ROUTER[0].ip
    assert [p["state"] for p in peer.got()] == [DOWN]
    peer.say(DOWN, 0, hops=249)
    assert counted(e, "drop_bfd_ttl") == 1
    peer.up()
    peer.dport = 3784  # a single-hop packet is not this session's
    peer.say(DOWN, hops=255)
    assert counted(e, "drop_bfd_session") == 1


def test_dropped_by_name(e, z):
    add(z)
    peer = Peer4(e)
    peer.up()
    for name, send in (("drop_bfd_ttl", lambda: peer.say(DOWN, hops=254)),
                       ("drop_bfd_session", lambda: peer.say(DOWN, LID + 1)),
                       ("drop_bfd_auth", lambda: peer.say(DOWN, flags=AUTH)),
                       ("drop_bfd_malformed", lambda: peer.say(DOWN, flags=MULTIPOINT)),
                       ("drop_bfd_malformed", lambda: peer.say(DOWN, mult=0)),
                       ("drop_bfd_malformed", lambda: peer.say(DOWN, version=0)),
                       ("drop_bfd_malformed", lambda: peer.say(DOWN, length=40)),
                       ("drop_bfd_malformed", lambda: peer.say(UP, 0))):
        before = counted(e, name)
        send()
        assert counted(e, name) == before + 1, name
    peer.address = B2.ip  # another station, with the right discriminator
    e.send(1, ether(B2, ROUTER[1]) / peer.packet(control(DOWN, PEER, LID)))
    assert counted(e, "drop_bfd_session") == 2
    assert "up 1," in show(e)


def test_what_is_dropped_was_not_heard(e, z):
    add(z)
    peer = Peer4(e)
    peer.up()
    for _ in range(4):
        e.time(40 * MS)
        peer.say(UP, hops=254)
    assert "up 0" in show(e)


@pytest.mark.parametrize("local, ifindex", ((B2.ip, 0), (ROUTER[1].ip, 101)), ids=("address", "interface"))
def test_leaves_by_its_interface_with_an_address_of_ours(e, z, local, ifindex):
    z.tell(session(LID, local, B.ip, ifindex=ifindex))
    e.time(5 * SECOND)
    assert Peer4(e).got() == []
    assert re.search(r" unsent [5-9]\n", show(e))


def test_without_bfd_the_port_is_closed(start):
    m = start(BFD.replace("routing engine bfd\n", ""))
    peer = Peer4(m)
    peer.say(DOWN, 0)
    assert m.take(1).frame[34:36] == bytes((3, 3))
    assert show(m) == "bfd is not configured\n"


def test_counters_and_echo(e, z):
    add(z)
    peer = Peer4(e)
    peer.up()
    (kind, number, body), = z.tell(ask_counters(LID, 9))[-1:]
    assert (kind, number) == (COUNTERS, 9)
    lid, rx_bytes, rx, tx_bytes, tx = struct.unpack("!IxxxxQQQQ", body[:40])
    assert (lid, rx, rx_bytes) == (LID, 3, 72) and tx >= 3 and tx_bytes == 24 * tx
    (kind, number, body), = z.tell(ask_counters(1234, 10))  # bfdd would wait for ever
    assert (kind, number, body[:40]) == (COUNTERS, 10, struct.pack("!I", 1234) + bytes(36))
    times = struct.pack("!QQ", 1 << 40, 5)
    assert z.tell(message(ECHO_REQUEST, times, 3)) == [(ECHO_REPLY, 3, times)]


def test_messages_in_pieces_of_an_octet(e, z):
    z.tell(session(LID, ROUTER[1].ip, B.ip), session(LID + 1, ROUTER[1].ip, B2.ip), piece=1)
    assert "sessions 2," in show(e)


@pytest.mark.parametrize("bad, why", (
    (message(ADD, bytes(131)), "the message length is wrong for its type"),
    (message(STATE, bytes(28)), "the message type is unknown, or one that only a data plane sends"),
    (message(9, bytes(28)), "the message type is unknown, or one that only a data plane sends"),
    (message(ADD, bytes(132), version=2), "the version of the data plane protocol is not 1"),
    (bytes(8), "the version of the data plane protocol is not 1")),
    ids=("length", "direction", "type", "version", "zero"))
def test_malformed(e, z, bad, why):
    add(z)
    z.tell(bad)
    assert z.ended == "reset"
    said = show(e)
    assert "malformed 1," in said and "last disconnected: %s\n" % why in said
    assert "sessions 1," in said and " stale\n" in said


def test_refused_by_name(e, z):
    for name, one in (("discriminator", session(0, ROUTER[1].ip, B.ip)),
                      ("flags", session(LID, ROUTER[1].ip, B.ip, flags=128)),
                      ("address", session(LID, ROUTER[1].ip, "224.0.0.5")),
                      ("address", session(LID, ROUTER[1].ip, "0.0.0.0")),
                      ("address", session(LID, "127.0.0.1", B.ip)),
                      ("address", session(LID, "", "::ffff:198.51.100.2")),
                      ("interface", session(LID, "", B.link_local)),
                      ("interface", session(LID, "", B.link_local, ifindex=999)),
                      ("interval", session(LID, ROUTER[1].ip, B.ip, tx=9999)),
                      ("interval", session(LID, ROUTER[1].ip, B.ip, rx=0)),
                      ("multiplier", session(LID, ROUTER[1].ip, B.ip, mult=0))):
        before = refused(e, name)
        z.tell(one)
        assert refused(e, name) == before + 1, name
    assert "sessions 0," in show(e)
    z.tell(session(LID, ROUTER[1].ip, B.ip), session(LID + 1, ROUTER[1].ip, B.ip))
    assert refused(e, "duplicate") == 1
    for i in range(256):  # 128 peers, by one hop and by several
        z.tell(session(1000 + i, "", "198.51.100.%d" % (i // 2 + 4), flags=MULTIHOP * (i % 2)))
        e.outs[1].clear()
    assert refused(e, "full") == 1 and "sessions 256," in show(e)


def test_hayate_connects(start):
    e = start(BFD.replace("routing engine bfd\n", ""))
    for line in ("configure", "routing engine bfd connect port 4000", "commit", "end"):
        e.console(line)

    def asked():
        """bfdd that the machine is connecting to."""
        z = Bfdd.__new__(Bfdd)
        Peer.__init__(z, e, dport=4000, src=A, sport=4000)
        z.got, z.ended, z.seq = b"", False, next(sports) * 100000
        z.ack = z.take("SEC").seq + 1
        return z

    z = asked()
    z.send("SA")
    z.take("A")
    assert [state(body)["state"] for _, _, body in add(z)] == [DOWN]
    Peer4(e).up()
    z.cut()
    assert not e.outs[0] or [Ether(f.frame)[TCP].flags for f in e.outs[0]] == ["SEC"]
    e.time(3 * SECOND)
    asked().send("RA")  # refused
    assert not e.outs[0]
    e.time(2900 * MS)
    assert not e.outs[0]
    e.time(200 * MS)
    asked()
    z = Bfdd(e, dport=4000)  # it connects itself: the attempt ends
    add(z)
    assert "connections 2, foreign 0" in show(e)


def test_foreign_address(e):
    assert Bfdd(e, src=A2).read().ended == "reset"
    assert "foreign 1," in show(e)


def test_sessions_outlive_the_connection(e, z):
    add(z)
    peer = Peer4(e)
    peer.up()
    z.cut()
    said = show(e)
    assert "disconnected" in said and " stale\n" in said
    for _ in range(40):
        e.time(25 * MS)
        peer.say(UP)
    assert "up 1," in show(e)
    again = Bfdd(e)
    assert [state(body)["state"] for _, _, body in add(again)] == [UP]
    assert " stale\n" not in show(e)


def test_stale_sessions_end(e, z):
    z.tell(session(LID, ROUTER[1].ip, B.ip), session(LID + 1, ROUTER[1].ip, B2.ip))
    z.cut()
    again = Bfdd(e)
    add(again)
    e.time(101 * SECOND)
    said = show(e)
    assert "sessions 1," in said and "peer 198.51.100.2 " in said
    again.cut()
    e.time(1001 * SECOND)
    assert "sessions 0," in show(e)


def test_bfdd_with_new_discriminators(e, z):
    """It has restarted: its former session of the same peer ends at once."""
    add(z)
    Peer4(e).up()
    z.cut()
    again = Bfdd(e)
    again.tell(session(900, ROUTER[1].ip, B.ip))
    said = show(e)
    assert "sessions 1, up 0" in said and "local 900 remote 0" in said


def test_commit_removes_it(e, z):
    add(z)
    peer = Peer4(e)
    peer.up()
    for line in ("configure", "no routing engine bfd", "commit", "end"):
        e.console(line)
    e.outs[0].clear()
    assert [(p["state"], p["diag"]) for p in peer.got()] == [(ADMIN_DOWN, 7)]
    assert show(e) == "bfd is not configured\n"
    peer.say(UP)
    assert e.take(1).frame[34:36] == bytes((3, 3))


def test_a_changed_vni_is_a_changed_index(start):
    """Without `routing engine index` an interface's index is its VNI: bfdd has to state its sessions
    anew."""
    e = start(BASE.replace("interface eth1\n", "interface eth1\n routing engine vni 102\n") +
              "routing engine %s\nrouting engine bfd\n" % A.ip)
    add(Bfdd(e))
    for line in ("configure", "interface eth1", "routing engine vni 103", "exit", "commit", "end"):
        e.console(line)
    assert "last disconnected: the configuration changed\n" in show(e)


def test_restart_of_the_ports(e, z):
    """A commit that needs it tells the peers and bfdd, which states its sessions again."""
    add(z)
    peer = Peer4(e)
    peer.up()
    for line in ("configure", "interface eth0", "mtu 1400", "exit", "commit", "end"):
        e.console(line)
    assert [(p["state"], p["diag"]) for p in peer.got()][-1] == (ADMIN_DOWN, 7)
    assert "R" in [str(Ether(f.frame)[TCP].flags) for f in e.outs[0] if TCP in Ether(f.frame)][-1]
    e.time(5 * SECOND)
    for outs in e.outs:
        outs.clear()
    assert "sessions 0, up 0" in show(e) and "last disconnected: the ports restart\n" in show(e)
    e.learn(A, B)
    add(Bfdd(e))
    Peer4(e).up()


def test_metrics(start):
    e = start(BFD + "http server\nhttp access 0.0.0.0/0\n")
    z = Bfdd(e)
    add(z)
    Peer4(e).up()
    z.tell(session(0, ROUTER[1].ip, B.ip))
    web = Client(e, src=A2, sport=next(sports))
    _, _, text = web.get("/metrics")
    for line in ("hayate_bfd_connected 1", 'hayate_bfd_sessions{state="up"} 1',
                 'hayate_bfd_refused_total{reason="discriminator"} 1'):
        assert line + "\n" in text.decode()


def test_flood_of_other_packets(e, z):
    """The punt ring is full of pings; the session's packet has its reserved place (runtime/ring.c)."""
    add(z)
    peer = Peer4(e)
    peer.up()
    ping = padded(ether(B2, ROUTER[1]) / IP(src=B2.ip, dst=ROUTER[1].ip) / ICMP(id=1, seq=1))
    for _ in range(1000):
        e.queue(1, ping)
    e.queue(1, padded(ether(B, ROUTER[1]) / peer.packet(control(UP, PEER, LID))))
    e.send(1, ping)
    assert counted(e, "drop_punt_full") > 0
    assert counted(e, "delivered_bfd") == 4


def test_sleeps_until_the_next_packet(e, z):
    """The session's deadlines end the sleep of the control core: transmission, then expiry."""
    add(z)
    peer = Peer4(e)
    peer.up()
    e.time(10 * MS)
    peer.got()
    states, passed = [], 0
    while passed < 160 * MS:
        (_, until), = e.command("sleep")
        assert 0 < int(until) <= 50 * MS
        e.time(int(until) + 2)  # a deadline is rounded up
        passed += int(until)
        states += [p["state"] for p in peer.got()]
    assert states.count(UP) >= 2 and states[-1] == DOWN


def test_late_control_core_finds_no_failure(e, z):
    """The detection time ends while the peer's packet waits behind others in the punt ring."""
    add(z)
    peer = Peer4(e)
    peer.up()
    ping = padded(ether(B2, ROUTER[1]) / IP(src=B2.ip, dst=ROUTER[1].ip) / ICMP(id=1, seq=1))
    e.time(140 * MS)
    for _ in range(200):  # more than a turn of the control core serves
        e.queue(1, ping)
    e.queue(1, padded(ether(B, ROUTER[1]) / peer.packet(control(UP, PEER, LID))))
    e.command("away %d" % (60 * MS))
    e.command("run")
    assert "up 1," in show(e)
