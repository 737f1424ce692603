"""The routing engine (control/engine/): a client sends FPM frames over the real stack, segment by
segment. tests/unit/net/fpm tests the decoder alone."""
import itertools
import json
import re
import struct

import pytest
from fpm_frames import *
from ip6 import *
from scapy.layers.inet import TCP
from test_http import Client

BASE = CONFIG6.replace("arp timeout 60\n", "")
ENGINE = BASE.replace("interface eth1\n", "interface eth1\n routing engine index 102\n").replace(
    "interface eth0\n", "interface eth0\n routing engine index 101\n") + \
    "routing engine %s\nrouting engine settle-time 100\nrouting engine hold-time 1000\n" % A.ip
sports = itertools.count(40000)
B3 = Station(1, "198.51.100.4", "02:bb:00:00:00:04")


class Engine(Client):
    """zebra."""

    def __init__(self, m, src=A, **options):
        super().__init__(m, dport=2620, sport=next(sports), src=src, **options)

    def push(self, data, piece=1000):
        for at in range(0, len(data), piece):
            self.send("PA", data[at:at + piece])
            self.read()
            if self.ended:
                break
        self.m.time(100 * MS)  # delayed acknowledgements
        return self.read()

    def tell(self, *messages):
        """One frame."""
        return self.push(frame(*messages))

    def cut(self):
        self.send("R")
        return self


def run(m, *lines):
    said = ""
    for line in lines:
        said = m.console(line)
    return said


def configure(m, *lines):
    run(m, "configure")
    said = run(m, *lines, "commit")
    run(m, "end")
    return said


def start(make, config=ENGINE, **more):
    m = make(config, **more)
    m.learn(A, A2, B, B2)
    m.text = ""
    return m


@pytest.fixture
def e(make):
    return start(make)


def goes(m, dst, to):
    """A packet from A leaves to that station; to is None: nobody has it (net unreachable)."""
    packet = udp(A, dst)
    m.send(0, ether(A, ROUTER[0]) / packet)
    if to:
        m.expect(to.port, ether(ROUTER[to.port], to) / hop(packet))
    else:
        assert m.take(0).frame[34] == 3
    m.expect_nothing()


def show(m):
    return m.console("show routing engine")


def counted(m, what, name):
    match = re.search(r"^%s +%s +(\d+)$" % (what, name), show(m), re.M)
    return int(match[1]) if match else 0


def line(m, prefix, command="show ip route"):
    return [x for x in m.console(command).splitlines() if " %s " % prefix in x]


def test_route_comes_and_goes(e):
    z = Engine(e)
    assert "routing engine: 192.0.2.2 connected" in e.text
    goes(e, "10.1.2.3", None)
    z.tell(route("10.0.0.0/8", B.ip, 102))
    goes(e, "10.1.2.3", B)
    assert line(e, "10.0.0.0/8") == ["B 10.0.0.0/8         via 198.51.100.2 eth1 [20] engine"]
    z.tell(delete("10.0.0.0/8"))
    goes(e, "10.1.2.3", None)
    assert counted(e, "message", "route") == 1 and counted(e, "message", "route_delete") == 1
    assert counted(e, "protocol", "bgp") == 1


def test_protocols_and_distances(e):
    z = Engine(e)
    for i, (proto, letter, distance) in enumerate(
            ((BGP, "B", 20), (OSPF, "O", 110), (ISIS, "I", 115), (RIP, "R", 120), (STATIC, "S", 1))):
        prefix = "10.%d.0.0/16" % i
        z.tell(route(prefix, B.ip, 102, proto=proto))
        assert line(e, prefix) == ["%s %-18s via 198.51.100.2 eth1 [%d] engine" %
                                   (letter, prefix, distance)]


def test_several_messages_of_a_frame(e):
    z = Engine(e)
    z.tell(*[route("10.%d.0.0/16" % i, B.ip, 102) for i in range(200)])
    goes(e, "10.0.0.1", B)
    goes(e, "10.199.0.1", B)
    assert "prefixes 200, stale 0" in show(e)


def test_frames_in_pieces_of_an_octet(e):
    z = Engine(e)
    z.push(frame(route("10.0.0.0/8", B.ip, 102)) + frame(route("11.0.0.0/8", B2.ip, 102)), piece=1)
    goes(e, "10.1.2.3", B)
    goes(e, "11.1.2.3", B2)


def test_largest_frame(e):
    """A frame of nearly 64 KiB is longer than TCP's window."""
    z = Engine(e)
    routes = [route("10.%d.%d.0/24" % (i // 256, i % 256), B.ip, 102) for i in range(1080)]
    assert 64000 < len(frame(*routes)) < 65536
    z.tell(*routes)
    assert "prefixes 1080, stale 0" in show(e)
    goes(e, "10.4.55.1", B)


def test_window(e):
    """Without a window scale 64 KiB, the most: not what a connection of the console has."""
    z = Engine(e)
    z.send("PA", frame(route("10.0.0.0/8", B.ip, 102)))
    e.time(100 * MS)
    assert z.take().window == 65535
    goes(e, "10.1.2.3", B)


def test_replacement_in_one_frame_loses_nothing(e):
    """FRR before 9.1: a deletion and a new route in one frame. Packets arrive with every segment."""
    z = Engine(e)
    z.tell(route("10.0.0.0/8", B.ip, 102))
    packet = udp(A, "10.1.2.3")
    for i in range(20):
        data = frame(delete("10.0.0.0/8"), route("10.0.0.0/8", (B2, B)[i % 2].ip, 102))
        for at in range(0, len(data), 7):
            e.queue(0, padded(ether(A, ROUTER[0]) / packet))
            e.queue(0, padded(z.segment("PA", data[at:at + 7])))
            e.queue(0, padded(ether(A, ROUTER[0]) / packet))
            z.seq += len(data[at:at + 7])
            e.command("run")
            z.read()
        got = e.take_all(1)
        assert len(got) == 2 * ((len(data) + 6) // 7)
        for out in got:
            assert out[12:] == bytes(ether(ROUTER[1], B) / hop(packet))[12:]
        goes(e, "10.1.2.3", (B2, B)[i % 2])


def test_the_last_message_of_a_prefix_counts(e):
    z = Engine(e)
    z.tell(route("10.0.0.0/8", B.ip, 102), delete("10.0.0.0/8"))
    goes(e, "10.1.2.3", None)
    z.tell(delete("10.0.0.0/8"), route("10.0.0.0/8", B.ip, 102), delete("10.0.0.0/8"),
           route("10.0.0.0/8", B2.ip, 102))
    goes(e, "10.1.2.3", B2)
    z.tell(delete("10.0.0.0/8"), delete("11.0.0.0/8"), delete("10.0.0.0/8"), route("10.0.0.0/8", B.ip, 102))
    goes(e, "10.1.2.3", B)


def test_discarding_routes(e):
    z = Engine(e)
    z.tell(route("10.1.0.0/16", kind=BLACKHOLE), route("10.2.0.0/16", kind=UNREACHABLE),
           route("10.3.0.0/16", kind=PROHIBIT))
    e.send(0, ether(A, ROUTER[0]) / udp(A, "10.1.0.1"))
    e.expect_nothing()
    for net, code in ((2, 1), (3, 13)):
        e.send(0, ether(A, ROUTER[0]) / udp(A, "10.%d.0.1" % net))
        assert e.take(0).frame[34:36] == bytes((3, code))


def test_a_link_is_a_next_hop(e):
    z = Engine(e)
    z.tell(route("198.51.101.0/24", None, 102))
    e.send(0, ether(A, ROUTER[0]) / udp(A, "198.51.101.9"))
    assert ARP in Ether(e.take(1).frame)
    z.tell(delete("198.51.101.0/24"))
    assert "198.51.101.0/24" not in e.console("show ip route")


def test_refused_by_name(e):
    z = Engine(e)
    z.tell(route("10.0.0.0/8", B.ip, 102))
    for name, m in (("interface", route("10.0.0.0/8", None, 999)),
                    ("table", route("10.0.0.0/8", B2.ip, 102, table=100)),
                    ("destination", route("224.0.0.0/8", B.ip, 102)),
                    ("destination", route("ff00::/8", B.ip6, 102)),
                    ("link_local", route("2001:db8:9::/48", "fe80::9", 999)),
                    ("own_address", route("10.0.0.0/8", "198.51.100.1", 102)),
                    ("nexthop_missing", route("10.0.0.0/8", nh_id=77)),
                    ("no_hops", route("10.0.0.0/8"))):
        before = counted(e, "refused", name)
        z.tell(m)
        assert counted(e, "refused", name) == before + 1, name
        if name != "table":
            z.tell(route("10.0.0.0/8", B.ip, 102))
        goes(e, "10.1.2.3", B)
    # a refused route replaces the one before: that is obsolete
    z.tell(route("10.0.0.0/8", None, 999))
    goes(e, "10.1.2.3", None)


def test_unknown_index_with_a_global_gateway(e):
    Engine(e).tell(route("10.0.0.0/8", B.ip, 999))
    goes(e, "10.1.2.3", B)


def test_kernel_route_ends_the_engines(e):
    z = Engine(e)
    z.tell(route("10.0.0.0/8", B.ip, 102))
    z.tell(route("10.0.0.0/8", None, 102, proto=KERNEL))
    goes(e, "10.1.2.3", None)


def test_ipv6_by_link_local(e):
    e.send(1, ether(B, ROUTER[1]) / echo6(B, ROUTER[1]))
    e.outs[1].clear()
    z = Engine(e)
    z.tell(route("2001:db8:9::/48", B.link_local, 102))
    said = line(e, "2001:db8:9::/48", "show ipv6 route")
    assert len(said) == 1 and said[0].startswith("B ") and \
        "via %s eth1 [20] engine" % B.link_local in said[0], said
    e.outs[1].clear()


def test_several_hops_with_weights(e):
    z = Engine(e)
    z.tell(route("10.0.0.0/8", hops=((B.ip, 102, 3), (B2.ip, 102, 1))))
    assert len(line(e, "10.0.0.0/8")) == 2
    to = {B.mac: 0, B2.mac: 0}
    for i in range(256):
        e.send(0, ether(A, ROUTER[0]) / udp(A, "10.1.%d.%d" % (i, i), sport=1024 + i))
        to[Ether(e.take(1).frame).dst] += 1
    assert to[B.mac] > 2 * to[B2.mac] > 0


def shares(e, prefix):
    """Of 256 flows to 256 addresses of a /8, those that leave to B and to B2."""
    to = {B.mac: 0, B2.mac: 0}
    for i in range(256):
        e.send(0, ether(A, ROUTER[0]) / udp(A, "%d.1.%d.%d" % (prefix, i, i), sport=1024 + i))
        to[Ether(e.take(1).frame).dst] += 1
    return to[B.mac], to[B2.mac]


def test_weights_beyond_an_octet(e):
    """Of a next hop that is stated several times the weights add up; all are scaled to what a route can have."""
    z = Engine(e)
    z.tell(route("10.0.0.0/8", hops=((B.ip, 102, 256),) * 7 + ((B2.ip, 102, 256),)))
    most, least = shares(e, 10)
    assert most > 4 * least > 0


def test_weights_of_a_group_change(e):
    z = Engine(e)
    z.tell(nexthop(5, B.ip, 102), nexthop(6, B2.ip, 102), nexthop(9, group=((5, 7), (6, 1))), route("10.0.0.0/8", nh_id=9))
    most, least = shares(e, 10)
    assert most > 4 * least > 0
    z.tell(nexthop(9, group=((5, 1), (6, 7))))
    least, most = shares(e, 10)
    assert most > 4 * least > 0


def test_malformed_frame(e):
    """Nothing of the frame is applied, the connection is reset, earlier routes stay."""
    z = Engine(e)
    z.tell(route("10.0.0.0/8", B.ip, 102))
    bad = bytearray(frame(route("11.0.0.0/8", B.ip, 102), route("12.0.0.0/8", B.ip, 102)))
    struct.pack_into("<H", bad, len(bad) - 8, 3)  # an attribute shorter than its header
    z.push(bytes(bad))
    assert z.ended == "reset"
    assert "routing engine: malformed frame" in e.text and "malformed 1" in show(e)
    goes(e, "11.1.2.3", None)
    goes(e, "10.1.2.3", B)
    for head in (b"\2\1\0\x20", b"\1\2\0\x20", b"\1\1\0\0", b"\1\1\0\5"):
        assert Engine(e).push(head + bytes(28)).ended == "reset"
    assert "malformed 5" in show(e)


def test_cut_frame(e):
    z = Engine(e)
    data = frame(route("10.0.0.0/8", B.ip, 102))
    z.push(data[:-1])
    goes(e, "10.1.2.3", None)
    z.send("FA")
    z.read()
    assert "last disconnected: the engine closed it" in show(e)
    goes(e, "10.1.2.3", None)


def test_frames_before_the_fin_count(e):
    z = Engine(e)
    z.send("FPA", frame(route("10.0.0.0/8", B.ip, 102)))
    z.read()
    goes(e, "10.1.2.3", B)
    assert "disconnected since" in show(e)


def test_foreign_address(e):
    other = Engine(e, src=A2)
    other.read()
    assert other.ended == "reset"
    assert "foreign 1" in show(e)


def test_a_new_connection_replaces_the_old(e):
    old = Engine(e).tell(route("10.0.0.0/8", B.ip, 102))
    # the old one is reset beside the handshake of the new one
    old.seq += 0
    new = object.__new__(Engine)
    Client.__base__.__init__(new, e, dport=2620, sport=next(sports), src=A)
    new.got, new.ended = b"", False
    new.send("S")
    answer = new.take("SA")
    new.ack = answer.seq + 1
    new.send("A")
    reset = e.take(0).frame
    assert reset[36:38] == old.sport.to_bytes(2, "big") and reset[47] & 4
    assert "last disconnected: a new connection replaced it" in show(e)
    assert "prefixes 1, stale 1" in show(e)
    new.tell(route("10.0.0.0/8", B2.ip, 102))
    assert "prefixes 1, stale 0" in show(e)
    goes(e, "10.1.2.3", B2)


def test_stale_and_settle(e):
    z = Engine(e).tell(route("10.0.0.0/8", B.ip, 102), route("11.0.0.0/8", B.ip, 102))
    z.cut()
    assert "prefixes 2, stale 2" in show(e)
    assert "engine stale" in line(e, "10.0.0.0/8")[0]
    goes(e, "10.1.2.3", B)
    e.time(10 * SECOND)
    z = Engine(e).tell(route("10.0.0.0/8", B.ip, 102))
    assert "prefixes 2, stale 1" in show(e)
    e.time(98 * SECOND)
    goes(e, "11.1.2.3", B)
    e.time(3 * SECOND)
    goes(e, "11.1.2.3", None)
    goes(e, "10.1.2.3", B)
    assert "prefixes 1, stale 0, removed as stale 1" in show(e)


def test_hold(e):
    Engine(e).tell(route("10.0.0.0/8", B.ip, 102)).cut()
    e.time(999 * SECOND)
    goes(e, "10.1.2.3", B)
    e.time(2 * SECOND)
    goes(e, "10.1.2.3", None)
    assert "prefixes 0, stale 0, removed as stale 1" in show(e)


def test_many_short_sessions(e):
    """More sessions than the base has epochs: nothing goes before its time."""
    for i in range(70):
        Engine(e).tell(route("10.%d.0.0/16" % i, B.ip, 102)).cut()
    assert "prefixes 70, stale 70" in show(e)
    goes(e, "10.1.0.1", B)
    goes(e, "10.69.0.1", B)
    z = Engine(e).tell(route("10.0.0.0/16", B.ip, 102))
    e.time(101 * SECOND)
    assert "prefixes 1, stale 0" in show(e)
    z.cut()


def test_maximum(make):
    e = start(make, ENGINE + "routing engine maximum routes 2\nrouting engine acknowledge\n")
    z = Engine(e).tell(route("10.0.0.0/8", B.ip, 102), route("11.0.0.0/8", B.ip, 102),
                       route("12.0.0.0/8", B.ip, 102))
    goes(e, "12.1.2.3", None)
    assert counted(e, "refused", "maximum") == 1
    flags = [struct.unpack_from("<I", x, 20 + 8)[0] for x in frames_of(z.got)]
    assert flags == [OFFLOAD, OFFLOAD, OFFLOAD_FAILED]
    z.tell(route("11.0.0.0/8", B2.ip, 102))  # another route to a prefix it has
    goes(e, "11.1.2.3", B2)
    z.tell(delete("10.0.0.0/8"))
    z.tell(route("12.0.0.0/8", B.ip, 102))
    goes(e, "12.1.2.3", B)


def frames_of(data):
    out = []
    while data:
        n = int.from_bytes(data[2:4], "big")
        out.append(data[:n])
        data = data[n:]
    return out


def test_acknowledge(make):
    e = start(make, ENGINE + "routing engine acknowledge\n")
    z = Engine(e)
    told = route("10.0.0.0/8", B.ip, 102)
    z.tell(told)
    want = bytearray(told)
    struct.pack_into("<I", want, 16 + 8, OFFLOAD)
    assert frames_of(z.got) == [frame(bytes(want))]
    z.got = b""
    z.tell(route("11.0.0.0/8", None, 999))
    assert struct.unpack_from("<I", z.got, 4 + 16 + 8)[0] == OFFLOAD_FAILED
    assert counted(e, "acknowledged", "installed") == 1
    assert counted(e, "acknowledged", "failed") == 1


def test_nexthop_objects(e):
    z = Engine(e)
    z.tell(nexthop(5, B.ip, 102))
    z.tell(nexthop(6, B2.ip, 102))
    z.tell(nexthop(9, group=((5, 1), (6, 1))))
    z.tell(route("10.0.0.0/8", nh_id=5), route("11.0.0.0/8", nh_id=9),
           route("12.0.0.0/8", nh_id=5, proto=OSPF))
    goes(e, "10.1.2.3", B)
    assert len(line(e, "11.0.0.0/8")) == 2
    z.tell(nexthop(7, blackhole=True), route("13.0.0.0/8", nh_id=7))
    e.send(0, ether(A, ROUTER[0]) / udp(A, "13.0.0.1"))
    e.expect_nothing()


def test_nexthop_object_changes(e):
    """All its routes and groups follow, without being stated again."""
    z = Engine(e)
    z.tell(nexthop(5, B.ip, 102), nexthop(6, B2.ip, 102), nexthop(9, group=((5, 1), (6, 1))))
    z.tell(route("10.0.0.0/8", nh_id=5), route("11.0.0.0/8", nh_id=9),
           route("12.0.0.0/8", nh_id=5, proto=OSPF))
    z.tell(nexthop(5, B2.ip, 102))
    goes(e, "10.1.2.3", B2)
    goes(e, "12.1.2.3", B2)
    assert len(line(e, "11.0.0.0/8")) == 1
    z.tell(nexthop(9, group=((6, 1),)))
    goes(e, "11.1.2.3", B2)
    z.tell(delete_nexthop(5))
    goes(e, "10.1.2.3", None)
    goes(e, "11.1.2.3", B2)


def test_commits(make):
    """The engine comes, changes and goes without a restart of the ports."""
    m = start(make, BASE)
    assert configure(m, "interface eth1", "routing engine index 102", "exit",
                     "routing engine 192.0.2.2").endswith("committed\n")
    z = Engine(m).tell(route("10.0.0.0/8", B.ip, 102))
    goes(m, "10.1.2.3", B)
    configure(m, "routing engine distance 30")
    assert m.take(0).frame[47] & 4  # a reset: it is to state everything again
    assert "last disconnected: the configuration changed" in show(m)
    goes(m, "10.1.2.3", B)
    z = Engine(m).tell(route("10.0.0.0/8", B.ip, 102))
    assert "[30]" in line(m, "10.0.0.0/8")[0]
    configure(m, "no routing engine", "no interface eth9")
    assert m.take(0).frame[47] & 4
    goes(m, "10.1.2.3", None)
    assert show(m) == "no routing engine is configured\n"
    run(m, "configure", "rollback 1", "commit", "end")
    Engine(m).tell(route("10.0.0.0/8", B.ip, 102))
    goes(m, "10.1.2.3", B)
    assert "ports restart" not in m.text
    assert z


def test_restart_of_the_ports(e):
    """The connection is reset before. The routes stay, as stale ones."""
    Engine(e).tell(route("10.0.0.0/8", B.ip, 102), route("11.0.0.0/8", B.ip, 102),
                   route("12.0.0.0/8", kind=BLACKHOLE), route("2001:db8:9::/48", B.ip6, 102))
    run(e, "configure", "interface eth1", "mtu 1400", "commit", "end")
    assert Ether(e.take_all(0)[-1])[TCP].flags == "RA"
    e.time(1 * SECOND)
    e.settle()
    e.learn(A, B)
    assert "prefixes 4, stale 4" in show(e)
    goes(e, "10.1.2.3", B)
    assert line(e, "12.0.0.0/8") == ["B 12.0.0.0/8         blackhole [20] engine stale"]
    z = Engine(e).tell(route("10.0.0.0/8", B2.ip, 102))
    e.learn(B2)
    goes(e, "10.1.2.3", B2)
    assert "prefixes 4, stale 3" in show(e)
    e.time(101 * SECOND)
    goes(e, "11.1.2.3", None)
    assert "prefixes 1, stale 0" in show(e)
    assert z


def test_restart_of_the_ports_without_notice(e):
    """The connection is lost. The engine's TCP learns of it, so that zebra connects again."""
    z = Engine(e).tell(route("10.0.0.0/8", B.ip, 102))
    e.command("restart")
    e.take_all(0)
    e.send(0, arp_reply(A, ROUTER[0]))
    probe = Ether(e.take(0).frame)[TCP]
    assert "S" in probe.flags and "A" not in probe.flags
    assert (probe.sport, probe.dport) == (2620, z.sport)
    z.send("A")  # a challenge ACK (RFC 5961 4.2): the engine still has the connection
    reset = Ether(e.take(0).frame)[TCP]
    assert reset.flags == "R" and reset.seq == z.ack
    e.send(0, z.segment("RA", seq=0, ack=probe.seq + 1))  # the next SYN finds none
    e.time(10 * SECOND)
    for port in (0, 1):
        assert all(TCP not in Ether(f) for f in e.take_all(port))
    e.learn(A, B)
    assert "prefixes 1, stale 1" in show(e)
    goes(e, "10.1.2.3", B)
    e.time(1000 * SECOND)
    goes(e, "10.1.2.3", None)


def test_restart_with_other_interfaces(e):
    """A commit that restarts the ports takes the address away by which a route went, or makes it ours."""
    Engine(e).tell(route("10.0.0.0/8", B.ip, 102), route("11.0.0.0/8", A2.ip, 101),
                   route("12.0.0.0/8", None, 102))
    run(e, "configure", "no interface eth1", "interface eth0", "ip address %s/24" % A2.ip, "commit", "end")
    e.take_all(0)
    e.time(1 * SECOND)
    e.settle()
    said = show(e)
    assert "prefixes 1, stale 1" in said, said
    assert not line(e, "11.0.0.0/8") and not line(e, "12.0.0.0/8")


def test_configured_routes_come_first(make):
    """Of equal distance; a smaller distance comes before."""
    e = start(make, ENGINE + "ip route 10.0.0.0/8 %s\nip route 11.0.0.0/8 %s 200\n" % (B2.ip, B2.ip))
    z = Engine(e).tell(route("10.0.0.0/8", B.ip, 102, proto=STATIC),
                       route("11.0.0.0/8", B.ip, 102))
    goes(e, "10.1.2.3", B2)
    goes(e, "11.1.2.3", B)
    z.tell(delete("11.0.0.0/8"))
    goes(e, "11.1.2.3", B2)


def test_metrics(make):
    e = start(make, ENGINE + WEB)
    Engine(e).tell(route("10.0.0.0/8", B.ip, 102), route("11.0.0.0/8", None, 999))
    text = Client(e, sport=next(sports)).get("/metrics")[2].decode()
    assert "hayate_routing_engine_up 1\n" in text
    assert "hayate_routing_engine_prefixes 1\n" in text
    assert 'hayate_routing_engine_messages_total{kind="route"} 2\n' in text
    assert 'hayate_routing_engine_refused_total{reason="interface"} 1\n' in text
    page = json.loads(Client(e, sport=next(sports)).get("/api/v1/status.json")[2])
    assert page["routing_engine"] == {"connected": True, "prefixes": 1, "stale": 0}
