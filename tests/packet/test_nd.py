"""Neighbour discovery through the whole application: the states of a neighbour (RFC 4861 7.3.2),
our own addresses (RFC 4862 5.4), advertisements to hosts (RFC 4861 6.2), groups (RFC 3810).
tests/unit/net/test_nd.c tests the rules of the module; this file tests the fate of packets."""
import pytest
from ip6 import *
from machine import *


@pytest.fixture
def m(make):
    machine = make(CONFIG6)
    learn6(machine, A, B)
    return machine


@pytest.fixture
def half(make):
    """A machine that knows A, but not B."""
    machine = make(CONFIG6)
    learn6(machine, A)
    return machine


def frame_to(packet, src=A):
    return ether(src, ROUTER[src.port]) / packet


def out_to(station, packet):
    return ether(ROUTER[station.port], station) / hop6(packet)


def route6(m, packet, src=A, dst=B):
    m.send(src.port, frame_to(packet, src))
    m.expect(dst.port, out_to(dst, packet))
    m.expect_nothing()


def state_of(m, station):
    """(state, MAC) in `show ipv6 neighbors`, or None."""
    for line in m.console("show ipv6 neighbors").splitlines()[1:]:
        words = line.split()
        if words[0] == station.ip6:
            return words[3], words[1]
    return None


def poll(station, router=None):
    """A probe of a known neighbour is unicast (RFC 4861 7.3.3)."""
    router = router or ROUTER[station.port]
    return solicit(router, station.ip6, to=(station.ip6, station.mac))


# --- states of a neighbour ---

def test_incomplete_then_reachable(half):
    """7.2.2: solicited by its group; a solicited answer proves that it is reachable."""
    half.send(0, frame_to(udp6(A, B)))
    half.expect(1, solicit(ROUTER[1], B.ip6))
    assert state_of(half, B)[0] == "incomplete"
    half.send(1, advert(B, ROUTER[1]))
    half.expect(1, out_to(B, udp6(A, B)))
    assert state_of(half, B) == ("reachable", B.mac)


def test_stale_by_a_solicitation(half):
    """7.2.3: a station that solicits us is known, but not proved reachable: the first packet to it
    begins DELAY, and 5 s later (DELAY_FIRST_PROBE_TIME) it is probed."""
    half.send(1, solicit(B, ROUTER[1].ip6))
    half.expect(1, advert(ROUTER[1], B, R=1))
    assert state_of(half, B) == ("stale", B.mac)
    half.counted()
    route6(half, udp6(A, B))
    half.expect_counters(forwarded=1)
    assert state_of(half, B)[0] == "delay"
    route6(half, udp6(A, B))
    half.time(5 * SECOND)
    half.expect(1, poll(B))
    assert state_of(half, B)[0] == "probe"
    route6(half, udp6(A, B))  # still good
    half.send(1, advert(B, ROUTER[1]))
    assert state_of(half, B)[0] == "reachable"
    half.time(12 * SECOND)
    half.expect_nothing()


def test_stale_by_time(m):
    """7.3.2: unused, it is STALE after ReachableTime (15 to 45 s), without a probe; the next packet
    still goes to it, and begins DELAY."""
    m.time(50 * SECOND)
    m.expect_nothing()
    assert state_of(m, B)[0] == "stale"
    m.counted()
    route6(m, udp6(A, B))
    m.expect_counters(forwarded=1)
    assert state_of(m, B)[0] == "delay"


def test_used_one_is_polled_without_a_gap(m):
    """Data cores forward to a REACHABLE neighbour. Because it is in use, it is probed instead of
    becoming STALE, and traffic never waits."""
    polls = 0
    for _ in range(140):
        m.time(900 * MS)
        m.send(0, frame_to(udp6(A, B)))
        frames = m.take_all(1)
        assert frames.count(padded(out_to(B, udp6(A, B)))) == 1
        polls += frames.count(padded(poll(B)))
        if len(frames) > 1:
            assert len(frames) == 2 and padded(poll(B)) in frames
            m.send(1, advert(B, ROUTER[1]))
        m.take_all(0)  # A only sends
    assert 2 <= polls <= 8


def test_silent_one_is_polled_asked_for_and_given_up(m):
    """7.3.3: three unicast probes; then, as its MAC may have changed (appendix C), three to its
    group; then address unreachable."""
    m.time(50 * SECOND)
    route6(m, udp6(A, B))
    m.time(5 * SECOND)
    for _ in range(3):
        m.expect(1, poll(B))
        m.expect_nothing()
        route6(m, udp6(A, B))
        m.time(SECOND)
    m.expect(1, solicit(ROUTER[1], B.ip6))
    waiting = udp6(A, B, 64)
    m.send(0, frame_to(waiting))
    m.expect_nothing()
    for _ in range(2):
        m.time(SECOND)
        m.expect(1, solicit(ROUTER[1], B.ip6))
    m.counted()
    m.time(SECOND)
    # A is STALE by now: DELAY begins with the error to it
    m.expect(0, error6_about(ROUTER[0], A, hop6(waiting), 1, 3))
    m.expect_counters(drop_neigh_unreachable=1, icmp6_tx_unreach_address=1)
    assert state_of(m, B)[0] == "failed"


def test_forgotten_when_not_wanted(m):
    """An unused entry is removed after 10 minutes in STALE."""
    m.time(700 * SECOND)
    m.expect_nothing()
    assert state_of(m, B) is None
    m.send(0, frame_to(udp6(A, B)))
    m.expect(1, solicit(ROUTER[1], B.ip6))
    m.send(1, advert(B, ROUTER[1]))
    m.expect(1, out_to(B, udp6(A, B)))


NEW = Station(1, B.ip, "02:bb:00:00:00:77")


def test_override(m):
    """7.2.5: with O the new MAC is accepted; if unsolicited, the entry is STALE."""
    m.send(1, advert(NEW, ROUTER[1], S=0, O=1))
    assert state_of(m, B) == ("stale", NEW.mac)
    m.send(0, frame_to(udp6(A, B)))
    m.expect(1, out_to(NEW, udp6(A, B)))


def test_no_override(m):
    """7.2.5: without O the new MAC is ignored, but REACHABLE ends."""
    m.send(1, advert(NEW, ROUTER[1], S=0, O=0))
    assert state_of(m, B) == ("stale", B.mac)
    route6(m, udp6(A, B))


def test_unsolicited_for_an_unknown_one(half):
    """RFC 9131 4.1: a router records a host that advertises itself, before its packets arrive."""
    half.send(1, advert(B, None, S=0))
    half.expect_counters(delivered_nd=1)
    assert state_of(half, B) == ("stale", B.mac)
    route6(half, udp6(A, B))


def test_link_local_neighbour(make):
    """A next hop is usually link-local (RFC 4861 8), solicited from our link-local address."""
    m = make(CONFIG6 + "ipv6 route 2001:db8:ff00::/40 %s eth1\n" % B.link_local)
    learn6(m, A)
    packet = udp6(A, "2001:db8:ff00::5")
    m.send(0, frame_to(packet))
    m.expect(1, solicit(ROUTER[1], B.link_local, source=ROUTER[1].link_local))
    m.send(1, advert(B, ROUTER[1], target=B.link_local, dst_ip=ROUTER[1].link_local, R=1))
    m.expect(1, out_to(B, packet))
    assert "via %s eth1" % B.link_local in m.console("show ipv6 route 2001:db8:ff00::/40")


def test_same_link_local_address_on_two_links(make):
    """RFC 4007 5: fe80::9 of eth0 is not fe80::9 of eth1."""
    m = make(CONFIG6 + "ipv6 neighbor fe80::9 eth0 02:aa:00:00:00:09\n"
             "ipv6 neighbor fe80::9 eth1 02:bb:00:00:00:09\n"
             "ipv6 route 2a00::/16 fe80::9 eth0\nipv6 route 2a01::/16 fe80::9 eth1\n")
    for dst, port, mac in (("2a00::1", 0, "02:aa:00:00:00:09"),
                           ("2a01::1", 1, "02:bb:00:00:00:09")):
        m.send(0, frame_to(udp6(A, dst)))
        m.expect(port, out_to(Station(port, B.ip, mac), udp6(A, dst)))


def test_confirmed_by_an_answer_to_our_ping(m):
    """7.3.1 leaves confirmation to upper layers; ours are the data cores, which report nothing: ND
    probes."""
    m.time(50 * SECOND)
    m.key("ping %s count 1\r" % B.ip6)
    frame = Ether(m.take(1).frame)
    assert frame.dst == B.mac and frame[IPv6].src == ROUTER[1].ip6
    assert frame[IPv6].hlim == 64
    request = frame[ICMPv6EchoRequest]
    m.send(1, frame_to(IPv6(src=B.ip6, dst=ROUTER[1].ip6, hlim=61) / ICMPv6EchoReply(
        id=request.id, seq=request.seq, data=request.data), B))
    m.time(10 * MS)
    assert "64 bytes from %s: seq=1 ttl=61" % B.ip6 in m.text
    assert "1 sent, 1 received" in m.text


def test_ping_of_a_link_local_address(m):
    assert "add `interface ethN`" in m.console("ping %s count 1" % B.link_local)
    m.key("ping %s interface eth1 count 1\r" % B.link_local)
    m.expect(1, solicit(ROUTER[1], B.link_local, source=ROUTER[1].link_local))
    m.send(1, advert(B, ROUTER[1], target=B.link_local, dst_ip=ROUTER[1].link_local))
    assert Ether(m.take(1).frame)[IPv6].src == ROUTER[1].link_local
    m.time(3 * SECOND)
    assert "1 sent, 0 received" in m.text
    assert "no eth9" in m.console("ping fe80::1 interface eth9")
    assert "own address" in m.console("ping %s" % ROUTER[0].ip6)
    assert "no route" in m.console("ping 2a00::1")


# --- our answers ---

def test_solicitation_for_our_addresses(fresh6):
    """7.2.4: R, S and O set, with our MAC; sent to the soliciting station, by the MAC in its
    message."""
    m = fresh6
    for target in (ROUTER[0].ip6, ROUTER[0].link_local):
        m.send(0, solicit(A, target))
        m.expect(0, advert(ROUTER[0], A, target=target, R=1, dst_ip=A.ip6))
    m.send(0, solicit(A, ROUTER[0].ip6, source=A.link_local))
    m.expect(0, advert(ROUTER[0], A, R=1, dst_ip=A.link_local))
    m.send(0, solicit(A, ROUTER[0].ip6, to=(ROUTER[0].ip6, ROUTER[0].mac)))
    m.expect(0, advert(ROUTER[0], A, R=1))
    m.send(0, solicit(A, ROUTER[1].ip6))  # an address of the other port, which is not on this link
    m.send(0, solicit(A, A2.ip6))
    m.expect_nothing()
    counted = m.counted()
    assert counted.pop("drop_ip6_multicast", 0) + counted.pop("drop_nd_not_ours", 0) == 2
    assert counted == {"delivered_nd": 4, "nd_tx_advert": 4}


@pytest.fixture
def fresh6(make):
    return make(CONFIG6)


def test_subnet_router_anycast(fresh6):
    """RFC 4291 2.6.1, RFC 4861 7.2.7: answered without O; a ping is answered from a unicast address
    (RFC 4443 4.2)."""
    m = fresh6
    m.send(0, solicit(A, "2001:db8:1::"))
    m.expect(0, advert(ROUTER[0], A, target="2001:db8:1::", R=1, O=0))
    m.send(0, frame_to(echo6(A, "2001:db8:1::")))
    reply = Ether(m.take(0).frame)
    assert reply.dst == A.mac and reply[IPv6].src == ROUTER[0].ip6
    assert ICMPv6EchoReply in reply


def test_two_addresses_of_one_subnet(make):
    """Both share the anycast address of the subnet."""
    m = make(CONFIG6 + " ipv6 address 2001:db8:2::11/64\n")
    learn6(m, A, B)
    for target in ("2001:db8:2::1", "2001:db8:2::11"):
        m.send(1, solicit(B, target))
        m.expect(1, advert(ROUTER[1], B, target=target, R=1, dst_ip=B.ip6))
    route6(m, udp6(A, B))


def test_as_many_addresses_as_there_may_be(make):
    """The maximum: four on each of 16 ports, in as many subnets."""
    config = "".join("interface eth%d\n ipv6 nd ra suppress\n" % p + "".join(
        " ipv6 address 2001:db8:%x%x::1/64\n" % (p, k + 1) for k in range(4)) for p in range(16))
    m = make(config, ports=16)
    assert "not enough" not in m.text
    for port in (0, 15):
        for k in (1, 4):
            target = "2001:db8:%x%x::1" % (port, k)
            host = Station(port, A.ip, A.mac, "2001:db8:%x%x::2" % (port, k))
            ours = Station(port, A.ip, "02:48:59:00:00:%02x" % port)
            m.send(port, solicit(host, target))
            m.expect(port, advert(ours, host, target=target, R=1))


BAD = {
    "hop limit": (lambda f: f[IPv6].__setattr__("hlim", 254), "drop_nd_hop_limit"),
    "code": (lambda f: f[ICMPv6ND_NS].__setattr__("code", 1), "drop_nd_malformed"),
    "target is a group": (lambda f: f[ICMPv6ND_NS].__setattr__("tgt", "ff02::1"),
                          "drop_nd_malformed"),
    "option of length 0": (lambda f: f[ICMPv6NDOptSrcLLAddr].__setattr__("len", 0),
                           "drop_nd_malformed"),
    "option too long": (lambda f: f[ICMPv6NDOptSrcLLAddr].__setattr__("len", 2),
                        "drop_nd_malformed"),
    "checksum": (lambda f: f[ICMPv6ND_NS].__setattr__("cksum", 1), "drop_icmp6_malformed"),
    "group MAC": (lambda f: f[ICMPv6NDOptSrcLLAddr].__setattr__("lladdr", "33:33:00:00:00:01"),
                  "drop_nd_bad_sender"),
    "our address as source": (lambda f: f[IPv6].__setattr__("src", ROUTER[0].ip6),
                              "drop_nd_bad_sender"),
}


@pytest.mark.parametrize("spoil,counter", BAD.values(), ids=BAD.keys())
def test_malformed_solicitation(fresh6, spoil, counter):
    """RFC 4861 7.1.1."""
    frame = solicit(A, ROUTER[0].ip6)
    spoil(frame)
    fresh6.send(0, frame)
    fresh6.expect_nothing()
    counted = fresh6.counted()
    counted.pop("nd_conflict", None)
    assert counted == {counter: 1}


def test_fragmented_solicitation(fresh6):
    """RFC 6980 5: silently ignored, even if complete in one fragment."""
    whole = solicit(A, ROUTER[0].ip6)
    message = bytes(whole[IPv6].payload)
    packet = IPv6(src=A.ip6, dst=group_of(ROUTER[0].ip6), hlim=255) / IPv6ExtHdrFragment(
        nh=58, id=7) / Raw(message)
    fresh6.send(0, Ether(src=A.mac, dst=whole.dst) / packet)
    fresh6.expect_nothing()
    counted = fresh6.counted()
    counted.pop("reassembled_packets", None)
    assert counted == {"drop_nd_fragment": 1}


def test_unasked_for_advertisement_for_nobody(fresh6):
    """An unsolicited advertisement from outside our subnets is not recorded (RFC 6583 6.5)."""
    far = Station(0, A.ip, A.mac, "2a00::5")
    fresh6.send(0, advert(far, None, S=0))
    fresh6.expect_counters(drop_nd_unknown=1)
    fresh6.send(0, advert(A, None, S=1))  # 7.1.2: solicited, but to all nodes
    fresh6.expect_counters(drop_nd_malformed=1)


def test_redirect_is_not_followed(m):
    """8.2: a router MUST NOT follow a redirect."""
    body = bytes([137, 0, 0, 0]) + bytes(4) + socket.inet_pton(socket.AF_INET6, A2.ip6) + \
        socket.inet_pton(socket.AF_INET6, B.ip6)
    m.send(0, frame_to(icmp6_raw(A.link_local, ROUTER[0].link_local, body, hlim=255)))
    m.expect_nothing()
    m.expect_counters(drop_nd_redirect=1)


# --- our own addresses ---

def first(m, kind, port):
    """The frames with that layer among those that the port sent."""
    return [f for f in map(Ether, m.take_all(port)) if kind in f]


def test_duplicate_address_detection(make):
    """RFC 4862 5.4.2: one probe of each address, from ::, with a nonce (RFC 7527); a second later
    we own it, and announce it three times to all (RFC 4861 7.2.6)."""
    m = make(CONFIG6, boot=False)
    m.time(2500 * MS)
    frames = [Ether(f) for f in m.take_all(0)]
    probes = [f for f in frames if ICMPv6ND_NS in f]
    assert sorted(p[ICMPv6ND_NS].tgt for p in probes) == sorted([ROUTER[0].ip6,
                                                                ROUTER[0].link_local])
    for p in probes:
        want = bytes(probe6(ROUTER[0], p[ICMPv6ND_NS].tgt))
        raw = bytes(p)
        assert raw[:14] == want[:14] and raw[14 + 6:14 + 40] == want[14 + 6:14 + 40]
        assert raw[14 + 44:14 + 64] == want[14 + 44:14 + 64]
        assert raw[14 + 64:14 + 66] == b"\x0e\x01" and len(raw) == 14 + 72
    m.time(3 * SECOND)
    frames += [Ether(f) for f in m.take_all(0)]
    told = [padded(f) for f in frames if ICMPv6ND_NA in f]
    for target in (ROUTER[0].ip6, ROUTER[0].link_local):
        assert told.count(padded(advert(ROUTER[0], None, target=target, R=1, S=0))) == 3
    m.settle()


def test_tentative_address_is_not_used(make):
    """RFC 4862 5.4: nothing is answered for a tentative address, nothing is delivered to it."""
    m = make(CONFIG6, boot=False)
    m.time(100 * MS)
    m.send(0, solicit(A, ROUTER[0].ip6))
    m.send(0, frame_to(echo6(A, ROUTER[0])))
    assert not first(m, ICMPv6ND_NA, 0)
    counted = m.counted()
    assert counted["drop_nd_not_ours"] == 1 and counted["drop_ip6_tentative"] == 1
    assert "icmp6_tx_echo_reply" not in counted and "drop_neigh_queue" not in counted
    m.settle()
    assert len(m.console("show ipv6 neighbors").splitlines()) == 1


@pytest.mark.parametrize("how", ["it defends it", "it probes it too"])
def test_duplicate_address(make, how):
    """RFC 4862 5.4.3, 5.4.4: the address is not used, and the console names its owner."""
    m = make(CONFIG6, boot=False)
    other = Station(0, A.ip, "02:99:00:00:00:01", ROUTER[0].ip6)
    m.time(100 * MS)
    for _ in range(12):
        m.time(100 * MS)
        if [f for f in first(m, ICMPv6ND_NS, 0) if f[ICMPv6ND_NS].tgt == ROUTER[0].ip6]:
            break
    m.send(0, advert(other, None, S=0) if how == "it defends it" else
           probe6(other, ROUTER[0].ip6))
    m.time(10 * SECOND)
    assert "eth0: %s is in use by %s and is not used here" % (ROUTER[0].ip6, other.mac) in m.text
    counted = m.counted()
    assert counted["nd_duplicate"] == 1
    assert not [f for f in first(m, ICMPv6ND_NA, 0) if f[ICMPv6ND_NA].tgt == ROUTER[0].ip6]
    m.take_all(1)
    m.send(0, solicit(A, ROUTER[0].ip6))
    m.expect_nothing()
    m.send(0, solicit(A, ROUTER[0].link_local))  # the other address works
    m.expect(0, advert(ROUTER[0], A, target=ROUTER[0].link_local, R=1, dst_ip=A.ip6))


def test_loop_is_no_duplicate(make):
    """RFC 7527: the nonce shows that our own probe came back."""
    m = make(CONFIG6, boot=False)
    came = 0
    for _ in range(100):
        m.time(100 * MS)
        for f in m.take_all(0):
            if ICMPv6ND_NS in Ether(f):
                came += 1
                m.send_raw(0, f)
    m.take_all(1)
    counted = m.counted()
    assert came > 2 and counted["nd_looped"] == came and "nd_duplicate" not in counted
    m.send(0, solicit(A, ROUTER[0].ip6))
    m.expect(0, advert(ROUTER[0], A, R=1))


def test_conflict_later_is_counted(m):
    """RFC 4862 5.4.4 leaves the reaction to the operator; the router continues."""
    other = Station(0, A.ip, "02:99:00:00:00:01", ROUTER[0].ip6)
    m.send(0, advert(other, None, S=0))
    m.expect_counters(drop_nd_bad_sender=1, nd_conflict=1)
    route6(m, udp6(A, B))


def test_configured_link_local_address(make):
    m = make(CONFIG6 + " ipv6 address fe80::1 link-local\n")
    m.send(1, solicit(B, "fe80::1"))
    m.expect(1, advert(ROUTER[1], B, target="fe80::1", R=1, dst_ip=B.ip6))
    m.send(1, solicit(B, ROUTER[1].link_local))
    m.expect_nothing()


def test_interface_with_a_link_local_address_alone(make):
    """`ipv6 enable`: it forwards, and its errors have an address of another port (RFC 6724 5 rule
    2: no link-local source for a destination of wider scope)."""
    m = make("""\
interface eth0
 ipv6 enable
interface eth1
 ipv6 address 2001:db8:2::1/64
 ipv6 nd ra suppress
ipv6 route 2001:db8:1::/64 %s eth0
ipv6 neighbor %s eth0 %s
""" % (A.link_local, A.link_local, A.mac))
    learn6(m, B)
    route6(m, udp6(A, B))
    packet = udp6(A, "2a00::1")
    m.send(0, frame_to(packet))
    m.expect(0, error6_about(ROUTER[1], A, packet, 1, 0).__class__(bytes(
        ether(ROUTER[0], A) / icmp6_error(ROUTER[1], packet, 1, 0))))


# --- groups ---

def test_groups_are_reported(make):
    """RFC 3810: solicited-node groups and all-routers, twice; from :: until there is a link-local
    address (RFC 3590 4), with hop limit 1 and router alert (5)."""
    m = make(CONFIG6, boot=False)
    m.time(10 * SECOND)
    reports = first(m, ICMPv6MLReport2, 0)
    m.take_all(1)
    groups = {}
    for r in reports:
        assert r.dst == group_mac(MLD_ROUTERS) and r[IPv6].dst == MLD_ROUTERS
        assert r[IPv6].hlim == 1 and r[IPv6].src in ("::", ROUTER[0].link_local)
        assert bytes(r)[14 + 40:14 + 48] == bytes.fromhex("3a00050200000100")
        for record in r[ICMPv6MLReport2].records:
            assert record.rtype == 4  # changed to EXCLUDE {}: 5.2.12
            groups[record.dst] = groups.get(record.dst, 0) + 1
    assert set(groups) == {group_of(ROUTER[0].ip6), group_of(ROUTER[0].link_local), ALL_ROUTERS,
                           group_of("2001:db8:1::")}
    assert set(groups.values()) == {2}


def query(src, group="::", dst=ALL_NODES, delay=1000):
    body = bytes([130, 0, 0, 0]) + delay.to_bytes(2, "big") + bytes(2) + \
        socket.inet_pton(socket.AF_INET6, group) + bytes([2, 125, 0, 0])
    inner = icmp6_raw(src.link_local, dst, body)
    return Ether(src=src.mac, dst=group_mac(dst)) / IPv6(
        src=src.link_local, dst=dst, hlim=1, nh=0) / Raw(
        bytes.fromhex("3a00050200000100") + bytes(inner)[40:])


def test_query_is_answered(fresh6):
    """RFC 3810 5.1, 6.2: each group is reported within the delay."""
    m = fresh6
    m.send(0, query(A))
    m.time(1100 * MS)
    groups = [r[ICMPv6MLReport2].records[0].dst for r in first(m, ICMPv6MLReport2, 0)]
    assert len(groups) == len(set(groups))
    assert set(groups) == {group_of(ROUTER[0].ip6), group_of(ROUTER[0].link_local), ALL_ROUTERS,
                           group_of("2001:db8:1::")}
    m.expect_counters(delivered_mld=1, mld_tx_report=len(groups))
    bad = query(A)
    bad[IPv6].hlim = 2
    m.send(0, bad)
    m.time(2 * SECOND)
    m.expect_nothing()
    m.expect_counters(drop_mld_malformed=1)


def test_report_of_another(fresh6):
    """Reports are for multicast routers."""
    body = bytes([143, 0, 0, 0, 0, 0, 0, 0])
    inner = icmp6_raw(A.link_local, ALL_NODES, body)
    fresh6.send(0, Ether(src=A.mac, dst=group_mac(ALL_NODES)) / IPv6(
        src=A.link_local, dst=ALL_NODES, hlim=1, nh=0) / Raw(
        bytes.fromhex("3a00050200000100") + bytes(inner)[40:]))
    fresh6.expect_nothing()
    fresh6.expect_counters(drop_mld_type=1)


# --- router advertisements ---

ADVERTISING = """\
interface eth0
 ipv6 address 2001:db8:1::1/64
 ipv6 address 2001:db8:1:8000::1/112
 ipv6 nd ra interval 30
 ipv6 nd ra dns 2001:db8:2::53
 ipv6 nd managed-config-flag
 ipv6 nd other-config-flag
 mtu 1400
interface eth1
 ipv6 enable
"""


def test_contents_of_an_advertisement(make):
    """RFC 4861 4.2 and 6.2.3, RFC 8106 5.1; an interface without subnet advertises nothing."""
    m = make(ADVERTISING, boot=False)
    m.time(10 * SECOND)
    adverts = first(m, ICMPv6ND_RA, 0)
    assert not first(m, ICMPv6ND_RA, 1)
    assert adverts
    raw = bytes(adverts[0])
    assert raw[:14] == bytes.fromhex("333300000001" + "024859000000" + "86dd")
    ip = adverts[0][IPv6]
    assert (ip.src, ip.dst, ip.hlim) == (ROUTER[0].link_local, ALL_NODES, 255)
    body = raw[14 + 40:]
    assert body[0:2] == b"\x86\0" and body[4] == 64
    assert body[5] & 0xc0 == 0xc0                     # managed, other
    assert int.from_bytes(body[6:8], "big") == 90     # three intervals (6.2.1)
    options, at = {}, 16
    while at < len(body):
        options.setdefault(body[at], []).append(body[at:at + 8 * body[at + 1]])
        at += 8 * body[at + 1]
    assert options[1] == [bytes.fromhex("0101024859000000")]
    assert options[5] == [bytes.fromhex("0501000000000578")]
    want = {bytes.fromhex("20010db8000100000000000000000000"): (64, 0xc0),
            bytes.fromhex("20010db8000180000000000000000000"): (112, 0x80)}  # SLAAC requires 64 bits
    for o in options[3]:
        assert (o[2], o[3]) == want.pop(o[16:32])
        assert int.from_bytes(o[4:8], "big") == 2592000
        assert int.from_bytes(o[8:12], "big") == 604800
    assert not want
    server = options[25][0]
    assert int.from_bytes(server[4:8], "big") == 90
    assert server[8:24] == socket.inet_pton(socket.AF_INET6, "2001:db8:2::53")


def committed(m, *lines):
    """Changes eth0's block on the console, live; returns the advertisements of the next 3.6 seconds
    (6.2.4: within half a second, but 3 s after the previous one)."""
    m.take_all(0)
    for line in ("configure", "interface eth0", *lines):
        assert "%" not in m.console(line), line
    assert m.console("end").startswith("the candidate")
    m.console("configure")
    assert m.console("commit").endswith("by the console\ncommitted\n")
    m.console("end")
    m.time(3600 * MS)
    assert "ports restart" not in m.text
    return [bytes(f)[14 + 40:] for f in first(m, ICMPv6ND_RA, 0)]


def test_advertisements_change_live(make):
    """A commit changes the advertisements; the ports and their neighbours remain."""
    m = make(ADVERTISING)
    m.time(60 * SECOND)
    said = committed(m, "no ipv6 nd managed-config-flag", "ipv6 nd ra lifetime 50",
                     "ipv6 nd ra dns 2001:db8:2::54")
    assert len(said) == 1 and said[0][5] & 0xc0 == 0x40 and said[0][6:8] == b"\0\x32"
    for server in "2001:db8:2::53", "2001:db8:2::54":
        assert socket.inet_pton(socket.AF_INET6, server) in said[0]
    said = committed(m, "no ipv6 nd other-config-flag", "no ipv6 nd ra dns 2001:db8:2::53")
    assert len(said) == 1 and said[0][5] & 0xc0 == 0
    assert socket.inet_pton(socket.AF_INET6, "2001:db8:2::53") not in said[0]
    said = committed(m, "ipv6 nd ra suppress")
    assert [s[6:8] for s in said] == [b"\0\0"]  # 6.2.5
    m.time(100 * SECOND)
    assert not first(m, ICMPv6ND_RA, 0)
    said = committed(m, "no ipv6 nd ra suppress", "ipv6 nd ra interval 20")
    assert len(said) == 1 and said[0][6:8] == b"\0\x32"
    m.time(60 * SECOND)
    assert len(first(m, ICMPv6ND_RA, 0)) >= 4
    m.take_all(1)


def test_advertisements_rolled_back(make):
    """commit confirmed without a confirmation: rolled back live, as it was applied."""
    m = make(ADVERTISING)
    m.time(60 * SECOND)
    m.take_all(0)
    for line in "configure", "interface eth0", "ipv6 nd ra suppress":
        assert m.console(line) == ""
    assert "\ncommitted\n" in m.console("commit confirmed 10s")
    m.console("end")
    m.time(9 * SECOND)
    assert [bytes(f)[60:62] for f in first(m, ICMPv6ND_RA, 0)] == [b"\0\0"]
    m.time(2 * SECOND)
    assert [bytes(f)[60:62] for f in first(m, ICMPv6ND_RA, 0)] == [b"\0\x5a"]
    assert "it is rolled back" in m.text and "ports restart" not in m.text
    m.take_all(1)


def test_interval_of_advertisements(make):
    """6.2.4: between 0.33 and 1 of the interval; the first three at most 16 s apart."""
    m = make(ADVERTISING)
    times, now = [], 0
    while now < 400:
        m.time(SECOND)
        now += 1
        times += [now] * len(first(m, ICMPv6ND_RA, 0))
    assert len(times) >= 13
    assert all(a <= 31 for a in (t - s for s, t in zip(times, times[1:])))
    assert all(a >= 9 for a in (t - s for s, t in zip(times[3:], times[4:])))


def test_solicitation_of_a_router(make):
    """6.2.6: answered to all within half a second, but never twice in 3 s; an invalid one is not
    answered."""
    m = make(ADVERTISING)
    m.time(20 * SECOND)
    m.take_all(0)
    m.counted()
    ask = Ether(src=A.mac, dst=group_mac(ALL_ROUTERS)) / IPv6(
        src=A.link_local, dst=ALL_ROUTERS, hlim=255) / ICMPv6ND_RS() / ICMPv6NDOptSrcLLAddr(
        lladdr=A.mac)
    m.send(0, *[ask] * 10)
    m.time(3500 * MS)
    assert 1 <= len(first(m, ICMPv6ND_RA, 0)) <= 2
    ask[IPv6].hlim = 254
    m.send(0, ask)
    counted = m.counted()
    assert counted["delivered_nd"] == 10 and counted["drop_nd_hop_limit"] == 1


def test_another_router_that_contradicts(make):
    """6.2.7: counted; nothing in it is adopted."""
    m = make(ADVERTISING)
    m.time(20 * SECOND)
    m.take_all(0)
    m.counted()
    other = Ether(src=A.mac, dst=group_mac(ALL_NODES)) / IPv6(
        src=A.link_local, dst=ALL_NODES, hlim=255) / ICMPv6ND_RA(chlim=10, M=0, O=0,
                                                                 routerlifetime=1800)
    m.send(0, other)
    counted = m.counted()
    assert counted["nd_router_inconsistent"] >= 1 and counted["delivered_nd"] == 1
    m.time(SECOND)
    m.take_all(0)


def test_suppressed(make):
    m = make(CONFIG6, boot=False)
    m.time(100 * SECOND)
    assert not first(m, ICMPv6ND_RA, 0)
    m.take_all(1)


# --- exhaustion ---

def test_full_table(make):
    """RFC 6583: a scan of a subnet fills the table with neighbours that do not answer. The table
    keeps its limit of 4096, neighbours that have answered remain, and few are solicited per
    second."""
    m = make(CONFIG6)
    learn6(m, A, B)
    for first_ in range(0, 5120, 256):
        m.send(0, *alike(lambda h: frame_to(udp6(A, h, 0)), hosts(first_, first_ + 256)))
        m.time(10 * MS)
        m.take_all(0)
        asked = m.take_all(1)
        assert len(asked) <= 80
    counted = m.counted()
    assert counted["nd_limited"] == counted["drop_neigh_table"] > 3000
    assert counted["drop_neigh_table"] + counted.get("drop_neigh_unreachable", 0) + \
        m.waiting() == 5120
    assert len(m.console("show ipv6 neighbors").splitlines()) <= 4097
    m.take_all(0), m.take_all(1)
    m.counted()
    route6(m, udp6(A, B))
    m.expect_counters(forwarded=1)
    m.time(12 * SECOND)  # B is REACHABLE for at least 15 s (RFC 4861 6.3.2), and answers no probe
    m.take_all(0), m.take_all(1)
    assert m.waiting() == 0
    learn6_again = udp6(A, B)
    m.send(0, frame_to(learn6_again))
    assert padded(out_to(B, learn6_again)) in m.take_all(1)
    m.take_all(0)


def test_neighbours_that_talk_fill_the_table(make):
    """4096 neighbours have announced themselves: another one replaces a STALE one, unless too many
    have done so recently."""
    m = make(CONFIG6)
    for first_ in range(0, 4352, 256):
        m.send(1, *alike(lambda h: solicit(h, ROUTER[1].ip6), hosts(first_, first_ + 256)))
        assert len(m.take_all(1)) == 256
    m.expect_counters(delivered_nd=4352, nd_tx_advert=4352, nd_limited=4352 - 4096 - 64)
    last = Station(1, B.ip, "02:cc:00:00:10:ff", "2001:db8:2::110:ff")
    m.time(5 * MS)
    m.send(1, solicit(last, ROUTER[1].ip6))
    assert len(m.take_all(1)) == 1
    m.send(0, frame_to(udp6(A, last)))
    m.expect(1, out_to(last, udp6(A, last)))
    m.time(10 * SECOND)
    m.take_all(1)


def hosts(first_, last, base=0x100):
    """Stations behind eth1, by number, each with a MAC of its own."""
    return [Station(1, B.ip, "02:cc:00:%02x:%02x:%02x" % (n >> 16, n >> 8 & 255, n & 255),
                    "2001:db8:2::%x:%x" % (n >> 8 | base, n & 255)) for n in range(first_, last)]


def neighbours(m):
    """Addresses in the table."""
    return {line.split()[0] for line in m.console("show ipv6 neighbors").splitlines()[1:]}


def known_by_solicitation(m, stations):
    for k in range(0, len(stations), 256):
        m.send(1, *alike(lambda h: solicit(h, ROUTER[1].ip6), stations[k:k + 256]))
        m.take_all(1)
    m.counted()


def test_scan(make):
    """RFC 6583: who sends to all of a subnet has us ask for some of it a second. What is refused
    takes no place: the table holds those that are asked for, and all is as before afterwards."""
    m = make(CONFIG6)
    learn6(m, A, B)
    idle = hosts(0, 10)
    known_by_solicitation(m, idle)
    packets = 0
    for first_ in range(0, 25 * 256, 256):
        m.send(0, *alike(lambda h: frame_to(udp6(A, h, 0)), hosts(first_, first_ + 256, 0x8000)))
        m.time(200 * MS)
        m.take_all(0), m.take_all(1)
        packets += 256
    assert len(neighbours(m)) <= 64 + 5 * 200 + 2 + 10
    counted = m.counted()
    assert counted["nd_tx_solicit"] <= 3 * (64 + 5 * 200)
    assert counted["nd_limited"] == counted["drop_neigh_table"] > 5000
    assert sum(counted["drop_neigh_" + why] for why in ("table", "queue", "unreachable")) + \
        m.waiting() == packets
    assert {h.ip6 for h in idle} <= neighbours(m)
    late = hosts(20, 21)[0]
    known_by_solicitation(m, [late])  # at once
    for host in (late, idle[0]):
        m.send(0, frame_to(udp6(A, host)))
        assert Ether(m.take(1).frame).dst == host.mac
    m.time(10 * SECOND)
    m.take_all(0), m.take_all(1)
    assert m.waiting() == 0
    # as before the scan; the two that were sent to say nothing, so they may have gone
    left = neighbours(m)
    assert {h.ip6 for h in idle[1:]} <= left <= {h.ip6 for h in idle + [A, B, late]}
    m.take_all(1)  # they are asked for


@pytest.mark.parametrize("tell", [
    lambda h: solicit(h, ROUTER[1].ip6), lambda h: advert(h, None, S=0)],
    ids=["solicitations", "advertisements"])
def test_many_names(make, tell):
    """A station that makes itself known under ever new addresses (RFC 4861 7.2.3, RFC 9131 4.1): in
    a full table some a second take the place of another, and none that of one in use."""
    m = make(CONFIG6)
    learn6(m, A, B)
    idle = hosts(0, 4096 - 2)
    known_by_solicitation(m, idle)
    assert len(neighbours(m)) == 4096
    for k in range(0, 2048, 256):
        m.send(1, *alike(tell, hosts(k, k + 256, 0x8000)))
        m.take_all(1)
    counted = m.counted()
    left = neighbours(m)
    assert len({h.ip6 for h in idle} - left) == 64 == 2048 - counted["nd_limited"]
    assert {A.ip6, B.ip6} <= left and len(left) == 4096
    assert counted.get("nd_tx_advert", 0) in (0, 2048)  # none is asked, or all are answered
    m.time(90 * MS)  # and 10 of the console
    m.send(1, *alike(tell, hosts(4096, 4096 + 256, 0x8000)))
    m.take_all(1)
    assert m.counted()["nd_limited"] == 256 - 20
    route6(m, udp6(A, B))


def test_scan_of_a_full_table(make):
    """All places are taken by hosts that have made themselves known. A scan costs no more of them
    their place than it may ask for; a packet for one that is not known yet finds it."""
    m = make(CONFIG6)
    learn6(m, A, B)
    idle = hosts(0, 4096 - 2)
    known_by_solicitation(m, idle)
    m.time(SECOND)  # A and B have been asked for
    for first_ in range(0, 2048, 256):
        m.send(0, *alike(lambda h: frame_to(udp6(A, h, 0)), hosts(first_, first_ + 256, 0x8000)))
        m.take_all(0), m.take_all(1)
    counted = m.counted()
    assert counted["nd_limited"] == counted["drop_neigh_table"] == 2048 - 64
    assert len({h.ip6 for h in idle} - neighbours(m)) == 64
    m.time(100 * MS)
    m.take_all(0), m.take_all(1)
    new = hosts(5000, 5001)[0]
    m.send(0, frame_to(udp6(A, new)))
    m.expect(1, solicit(ROUTER[1], new.ip6))
    m.send(1, advert(new, ROUTER[1]))
    m.expect(1, out_to(new, udp6(A, new)))
    m.time(10 * SECOND)
    m.take_all(0), m.take_all(1)
