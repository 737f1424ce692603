"""ARP: RFC 826, RFC 1122 2.3.2, RFC 5227; no proxy ARP (RFC 1027)."""
import pytest
from machine import *

STRANGER = Station(0, "192.0.2.77", "02:aa:00:00:00:77")


def announcement(router):
    """RFC 5227 2.3: a broadcast request whose sender and target address are the same."""
    return arp_request(router, router.ip)


def test_announcements_at_start(make):
    """RFC 5227 2.3: ANNOUNCE_NUM 2, ANNOUNCE_INTERVAL 2 s."""
    m = make(boot=False)
    for port in (0, 1):
        m.expect(port, announcement(ROUTER[port]))
    m.time(1900 * MS)
    m.expect_nothing()
    m.time(200 * MS)
    for port in (0, 1):
        m.expect(port, announcement(ROUTER[port]))
    m.time(600 * SECOND)
    m.expect_nothing()
    m.expect_counters(arp_tx_request=2)  # and two before the first call


def test_announcements_when_the_link_comes_up(fresh):
    """RFC 5227 2.3 again: stations may have missed announcements while the cable was out."""
    fresh.link(1, False)
    fresh.link(1, True)
    fresh.expect(1, announcement(ROUTER[1]))
    fresh.time(2001 * MS)
    fresh.expect(1, announcement(ROUTER[1]))
    fresh.time(60 * SECOND)
    fresh.expect_counters(arp_tx_request=2)


@pytest.mark.parametrize("src", [A, B], ids=["eth0", "eth1"])
@pytest.mark.parametrize("to", ["broadcast", "unicast"])
def test_request_is_answered(fresh, src, to):
    """RFC 826 "Packet Reception"; unicast polls: RFC 1122 2.3.2.1 (2)."""
    router = ROUTER[src.port]
    request = arp_request(src, router.ip)
    if to == "unicast":
        request.dst = router.mac
    fresh.send(src.port, request)
    fresh.expect(src.port, arp_reply(router, src))
    fresh.expect_counters(delivered_arp=1, arp_tx_reply=1)


def test_sender_of_a_request_becomes_known(fresh):
    """RFC 826: the sender's addresses are merged before the answer, so none is requested."""
    fresh.learn(A, B)
    fresh.route(udp(A, B))
    fresh.expect_counters(forwarded=1)


def test_probe_is_answered_but_not_learnt(fresh):
    """RFC 5227 2.1.1: sender address 0.0.0.0."""
    probe = arp_request(A, ROUTER[0].ip, psrc="0.0.0.0")
    fresh.send(0, probe)
    fresh.expect(0, arp_reply(ROUTER[0], A, pdst="0.0.0.0"))
    fresh.expect_counters(delivered_arp=1, arp_tx_reply=1)
    assert A.mac not in fresh.console("show arp")


def test_trailing_bytes_do_not_matter(fresh):
    """RFC 826 defines 28 bytes; Ethernet pads, and some stations pad more."""
    fresh.send(0, bytes(arp_request(A, ROUTER[0].ip)) + b"\xee" * 100)
    fresh.expect(0, arp_reply(ROUTER[0], A))
    fresh.expect_counters(delivered_arp=1, arp_tx_reply=1)


REFUSED = {
    "no proxy, host beyond (RFC 1027)": (arp_request(A, B.ip), "drop_arp_not_ours"),
    "address of another port (RFC 1122 3.3.4.2 strong)": (arp_request(A, ROUTER[1].ip),
                                                          "drop_arp_not_ours"),
    "somebody else on the link": (arp_request(A, A2.ip), "drop_arp_not_ours"),
    "gratuitous request of a stranger (RFC 826: no creation)": (
        arp_request(STRANGER, STRANGER.ip), "drop_arp_not_ours"),
    "gratuitous reply of a stranger": (arp_reply(STRANGER, STRANGER, hwdst=BROADCAST,
                                                 pdst=STRANGER.ip), "drop_eth_dst"),
    "hardware type": (arp_request(A, ROUTER[0].ip, hwtype=6), "drop_arp_malformed"),
    "protocol type": (arp_request(A, ROUTER[0].ip, ptype=0x86dd), "drop_arp_malformed"),
    "operation": (arp_request(A, ROUTER[0].ip, op=3), "drop_arp_malformed"),
    "sender off the link": (arp_request(A, ROUTER[0].ip, psrc="10.0.0.9"), "drop_arp_bad_sender"),
    "sender is the subnet's broadcast": (arp_request(A, ROUTER[0].ip, psrc="192.0.2.255"),
                                         "drop_arp_bad_sender"),
    "sender is the subnet's number": (arp_request(A, ROUTER[0].ip, psrc="192.0.2.0"),
                                      "drop_arp_bad_sender"),
    "sender is multicast": (arp_request(A, ROUTER[0].ip, psrc="224.0.0.1"),
                            "drop_arp_bad_sender"),
    "sender is our address of another port": (arp_request(A, ROUTER[0].ip, psrc=ROUTER[1].ip),
                                              "drop_arp_bad_sender"),
    "reply without sender": (arp_reply(A, ROUTER[0], psrc="0.0.0.0"), "drop_arp_bad_sender"),
    "sender hardware multicast (RFC 1812 3.3.2)": (
        arp_request(A, ROUTER[0].ip, hwsrc="01:00:5e:00:00:01"), "drop_arp_bad_sender"),
    "sender hardware zero": (arp_request(A, ROUTER[0].ip, hwsrc=ZERO), "drop_arp_bad_sender"),
    "to another station": (ether(A, A2) / ARP(op=1, hwsrc=A.mac, psrc=A.ip, pdst=ROUTER[0].ip),
                           "drop_eth_dst"),
}


@pytest.mark.parametrize("frame,counter", REFUSED.values(), ids=REFUSED.keys())
def test_refused(fresh, frame, counter):
    fresh.send(0, frame)
    fresh.expect_nothing()
    fresh.expect_counters(**{counter: 1})
    assert fresh.console("show arp").count("\n") == 1  # only the header line


@pytest.mark.parametrize("offset,value", [(18, 8), (19, 16)], ids=["hlen", "plen"])
def test_address_lengths(fresh, offset, value):
    """RFC 826: only Ethernet and IPv4 are supported here."""
    frame = bytearray(padded(arp_request(A, ROUTER[0].ip)))
    frame[offset] = value
    fresh.send(0, frame)
    fresh.expect_counters(drop_arp_malformed=1)


@pytest.mark.parametrize("length", [14, 15, 41])
def test_cut_short(fresh, length):
    fresh.send_raw(0, bytes(arp_request(A, ROUTER[0].ip))[:length])
    fresh.expect_counters(drop_arp_malformed=1)


def test_reply_nobody_asked_for(fresh):
    """RFC 826: an unsolicited reply to us creates no entry; it is not refused either."""
    fresh.send(0, arp_reply(STRANGER, ROUTER[0]))
    fresh.expect_nothing()
    fresh.expect_counters(delivered_arp=1)
    assert STRANGER.mac not in fresh.console("show arp")


def test_conflict_is_defended_once_in_ten_seconds(fresh):
    """RFC 5227 2.4 (c), DEFEND_INTERVAL 10 s."""
    thief = arp_request(STRANGER, A.ip, psrc=ROUTER[0].ip)
    fresh.send(0, thief)
    fresh.expect(0, announcement(ROUTER[0]))
    fresh.expect_counters(drop_arp_bad_sender=1, arp_conflict=1, arp_tx_request=1)
    fresh.time(9 * SECOND)
    fresh.send(0, thief)
    fresh.expect_nothing()
    fresh.expect_counters(drop_arp_bad_sender=1, arp_conflict=1)
    fresh.time(2 * SECOND)
    fresh.send(0, thief)
    fresh.expect(0, announcement(ROUTER[0]))
    fresh.expect_counters(drop_arp_bad_sender=1, arp_conflict=1, arp_tx_request=1)
    said = fresh.console("show logging")
    assert "%%ARP-4-CONFLICT: eth0: %s is in use by %s too" % (ROUTER[0].ip, STRANGER.mac) in said, said


def test_own_announcement_heard_again_is_no_conflict(fresh):
    """RFC 5227 1.1: a bridge loop brings our own frame back."""
    fresh.send(0, announcement(ROUTER[0]))
    fresh.expect_nothing()
    fresh.expect_counters(drop_arp_bad_sender=1)


@pytest.mark.parametrize("how", ["gratuitous request", "gratuitous reply", "request", "reply"])
def test_neighbour_moves_to_another_mac(m, how):
    """RFC 826 merge, RFC 5227 3: a known neighbour's own message replaces its entry."""
    moved = Station(1, B.ip, "02:bb:00:00:00:99")
    if how == "gratuitous request":
        m.send(1, arp_request(moved, moved.ip))
    elif how == "gratuitous reply":
        frame = arp_reply(moved, moved)
        frame.dst = BROADCAST
        m.send(1, frame)
    elif how == "request":
        m.send(1, arp_request(moved, ROUTER[1].ip))
        m.expect(1, arp_reply(ROUTER[1], moved))
    else:
        m.send(1, arp_reply(moved, ROUTER[1]))
    counted = m.counted()
    assert counted.pop("arp_tx_reply", 0) == (how == "request")
    assert counted == {"delivered_arp": 1}
    m.route(udp(A, B), dst=moved)
    m.expect_counters(forwarded=1)


def test_request_for_somebody_else_refreshes_the_sender(m):
    """RFC 826: the merge comes before "am I the target?"."""
    moved = Station(1, B.ip, "02:bb:00:00:00:98")
    m.send(1, arp_request(moved, B2.ip))
    m.expect_counters(drop_arp_not_ours=1)
    m.route(udp(A, B), dst=moved)
