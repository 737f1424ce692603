"""Routes by several next hops (control/forwarding/groups.h): the next hop of each flow, on every path through
the machine, and what happens when a next hop goes away. The harness makes the routes."""
import pytest
from ip6 import *
from machine import *
from scapy.layers.inet import TCP, IPOption_NOP

TO4, TO6 = "10.0.0.0 8", "2001:db8:a:: 48"
C = Station(2, "203.0.113.2", "02:00:00:00:02:02", "2001:db8:3::2")
CONFIG3 = CONFIG6 + "interface eth2\n ip address 203.0.113.1/24\n ipv6 address 2001:db8:3::1/64\n" \
    " ipv6 nd ra suppress\n"


class Routed:
    """A machine whose routes TO4 and TO6 lead to B and C; packets come from A."""

    def __init__(self, m, six):
        self.m, self.six = m, six
        m.learn(A, B)
        learn6(m, A, B)
        if six:
            learn6(m, C)
        else:
            m.send(2, arp_request(C, "203.0.113.1"))
            m.take(2)
        m.counted()

    def group(self, *stations):
        self.m.command("group %s %s" % (TO6 if self.six else TO4, " ".join(
            s if isinstance(s, str) else s.ip6 if self.six else s.ip for s in stations)))

    def flow(self, n, size=18, **fields):
        if self.six:
            return udp6(A, "2001:db8:a::%x" % (n + 1), size, sport=n, **fields)
        return udp(A, "10.0.%d.%d" % (n >> 8, n & 255), size, sport=n, **fields)

    def send(self, *packets):
        """Sends packets together; returns the port by which each left."""
        m = self.m
        m.send(0, *[ether(A, ROUTER[0]) / p for p in packets])
        out = {}
        for port in (1, 2):
            for frame in m.take_all(port):
                ip = Ether(frame)[IPv6 if self.six else IP]
                out.setdefault(bytes(ip)[40 if self.six else ip.ihl * 4:][:8], []).append(port)
        m.expect_nothing()
        at = [bytes(fixed6(p) if self.six else fixed(p)) for p in packets]
        keys = [p[40 if self.six else (p[0] & 15) * 4:][:8] for p in at]
        return [out[k].pop(0) for k in keys]


@pytest.fixture(params=[False, True], ids=["v4", "v6"])
def routed(request, make):
    return Routed(make(CONFIG3, ports=3), request.param)


def test_flows_spread_and_stay(routed):
    """About half of the flows use each next hop; every packet of a flow uses the same one, alone,
    in a vector, and on the slow path."""
    routed.group(B, C)
    flows = [routed.flow(n) for n in range(200)]
    ways = routed.send(*flows)
    assert 60 < ways.count(1) < 140
    assert routed.send(*flows) == ways
    routed.m.expect_counters(forwarded=400)
    for n in range(0, 200, 10):
        slow = flows[n].copy()
        if routed.six:
            slow = IPv6(src=slow.src, dst=slow.dst) / IPv6ExtHdrHopByHop() / slow.payload
            assert routed.send(flows[n]) == [ways[n]]
            continue
        slow.options = [IPOption_NOP()] * 4
        assert routed.send(slow) == routed.send(flows[n]) == [ways[n]]


def test_a_member_goes_and_returns(routed):
    """Only the member's flows move, and they move back when it returns."""
    routed.group(B, C)
    flows = [routed.flow(n) for n in range(200)]
    before = routed.send(*flows)
    routed.group(B)
    assert set(routed.send(*flows)) == {1}
    routed.group(C, B)
    after = routed.send(*flows)
    assert 60 < after.count(1) < 140
    routed.group()
    routed.m.counted()
    routed.m.send(0, ether(A, ROUTER[0]) / flows[0])
    assert routed.m.take(0)
    drop = "drop_ip6_no_route" if routed.six else "drop_ip4_no_route"
    assert routed.m.counted()[drop] == 1
    assert set(before) == {1, 2}


def test_numbers_serve_again(routed):
    """The number of a freed group is reused only after the data cores' quiescent points."""
    m = routed.m
    numbers = set()
    for _ in range(20):
        numbers.add(m.command("group %s %s" % (TO6 if routed.six else TO4,
                                               B.ip6 if routed.six else B.ip))[0])
        routed.group()
        m.time(SECOND)
    assert len(numbers) == 1


def test_an_unknown_member_is_asked_for(make):
    """The member's flows wait for ARP; those of the other member do not."""
    m = make(CONFIG3, ports=3)
    m.learn(A, B)
    m.command("group %s %s %s" % (TO4, B.ip, C.ip))
    flows = [udp(A, "10.0.0.%d" % n, sport=n) for n in range(40)]
    waiting, gone = [], []
    for packet in flows:
        m.send(0, ether(A, ROUTER[0]) / packet)
        if not m.outs[1]:
            waiting.append(packet)
        else:
            m.expect(1, ether(ROUTER[1], B) / hop(packet))
            gone.append(packet)
        if len(waiting) == 3:
            break
    assert len(waiting) == 3 and m.waiting() == 3
    asked = Ether(m.take(2).frame)
    assert asked[ARP].pdst == C.ip
    router = Station(2, "203.0.113.1", asked.src)
    m.send(2, arp_reply(C, router))
    for packet in waiting:
        m.expect(2, ether(router, C) / hop(packet))
    m.expect_nothing()
    for packet in waiting:  # while these waited, only their own next hop was asked for
        m.send(0, ether(A, ROUTER[0]) / packet)
        m.expect(2, ether(router, C) / hop(packet))
    for packet in gone:
        m.send(0, ether(A, ROUTER[0]) / packet)
        m.expect(1, ether(ROUTER[1], B) / hop(packet))


def test_a_member_that_is_a_link(make):
    """Stations are found as on any connected subnet: by ARP for the packet's own destination."""
    m = make(CONFIG3, ports=3)
    m.learn(A)
    m.command("group %s eth2" % TO4)
    m.send(0, ether(A, ROUTER[0]) / udp(A, "10.1.2.3"))
    assert Ether(m.take(2).frame)[ARP].pdst == "10.1.2.3"


@pytest.mark.parametrize("six", [False, True], ids=["v4", "v6"])
def test_fragments_go_together(make, six):
    r = Routed(make(CONFIG3, ports=3), six)
    r.group(B, C)
    for n in range(20):
        if six:
            ip = IPv6(src=A.ip6, dst="2001:db8:a::%x" % n)
            pieces = [ip / IPv6ExtHdrFragment(id=n, offset=at, m=at < 6, nh=17) /
                      Raw(bytes([n, at]) * 12) for at in (0, 3, 6)]
        else:
            pieces = [IP(src=A.ip, dst="10.0.0.%d" % n, proto=17, id=n, frag=at,
                         flags="MF" if at < 6 else 0) / Raw(bytes([n, at]) * 12)
                      for at in (0, 3, 6)]
        assert len(set(r.send(*pieces))) == 1


def test_a_flow_label_is_the_flow(make):
    """RFC 6438: the flow label identifies the flow, regardless of the ports."""
    r = Routed(make(CONFIG3, ports=3), True)
    r.group(B, C)
    ways = set()
    for label in range(1, 40):
        got = r.send(*[udp6(A, "2001:db8:a::1", 18, sport=port, fl=label) for port in range(5)])
        assert len(set(got)) == 1
        ways |= set(got)
    assert ways == {1, 2}


def test_own_packets_by_destination(make):
    """ICMP errors of the machine to hosts behind a group, and their source address."""
    m = make(CONFIG3 + "ip route 10.9.0.0/16 null0\n", ports=3)
    m.learn(A, B)
    m.send(2, arp_request(C, "203.0.113.1"))
    m.take(2)
    m.command("group 172.16.0.0 16 %s %s" % (B.ip, C.ip))
    ways = []
    for n in range(30):
        m.time(SECOND)
        m.send(0, ether(A, ROUTER[0]) / udp("172.16.0.%d" % n, "10.9.0.1"))
        frames = {port: m.take_all(port) for port in (1, 2)}
        port = 1 if frames[1] else 2
        error = Ether(frames[port].pop())
        assert error[ICMP].type == 3 and not any(frames.values())
        assert error[IP].src == {1: ROUTER[1].ip, 2: "203.0.113.1"}[port]
        ways.append(port)
    assert set(ways) == {1, 2}


def test_ping_of_the_console(make):
    """The source is an address of the outgoing interface."""
    m = make(CONFIG3, ports=3)
    m.learn(A, B)
    m.send(2, arp_request(C, "203.0.113.1"))
    m.take(2)
    m.command("group %s %s %s" % (TO4, B.ip, C.ip))
    used = set()
    for n in range(20):
        m.key("ping 10.0.0.%d count 1\r" % n)
        frames = {port: m.take_all(port) for port in (1, 2)}
        m.key("\x03")
        m.time(SECOND)
        port = 1 if frames[1] else 2
        echo = Ether(frames[port][0])
        assert echo[ICMP].type == 8 and echo[IP].src == {1: ROUTER[1].ip, 2: "203.0.113.1"}[port]
        used.add(port)
    assert used == {1, 2}


@pytest.mark.parametrize("six", [False, True], ids=["v4", "v6"])
def test_tcp_of_a_data_core(make, six):
    """All segments of a connection use the next hop of the peer's address."""
    r = Routed(make("application echo\nservice echo tcp\n" + CONFIG3, ports=3), six)
    r.group(B, C)
    used, injected = set(), r.m.counters()["injected"]
    for n in range(20):
        syn = (IPv6(src="2001:db8:a::%x" % n, dst=ROUTER[0].ip6) if six else
               IP(src="10.0.0.%d" % n, dst=ROUTER[0].ip)) / TCP(sport=n + 1, dport=7, flags="S")
        r.m.send(0, ether(A, ROUTER[0]) / syn)
        frames = {port: r.m.take_all(port) for port in (1, 2)}
        port = 1 if frames[1] else 2
        assert Ether(frames[port][0])[TCP].flags == "SA", frames
        used.add(port)
    assert used == {1, 2}
    assert r.m.counters()["injected"] == injected  # none was sent by the control core


def test_strict_verification_takes_any_member(make):
    line = " ip verify unicast source reachable-via rx allow-default\n"
    m = make(CONFIG3.replace("interface eth1\n", "interface eth1\n" + line)
             .replace("interface eth0\n", "interface eth0\n" + line), ports=3)
    m.learn(A, B)
    m.send(2, arp_request(C, "203.0.113.1"))
    m.take(2)
    m.command("group %s %s %s" % (TO4, C.ip, B.ip))
    m.counted()
    for n in range(10):
        m.send(1, ether(B, ROUTER[1]) / udp("10.0.0.%d" % n, A))
        m.expect(0, ether(ROUTER[0], A) / hop(udp("10.0.0.%d" % n, A)))
    m.send(0, ether(A, ROUTER[0]) / udp("10.0.0.1", B))
    m.expect_nothing()
    m.expect_counters(forwarded=10, drop_ip4_urpf=1)
