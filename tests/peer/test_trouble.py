"""A bad link: lost, late, duplicated, reordered or damaged data arrives in the end."""
import pytest
from conftest import DISCARD, ECHO, eventually
from streams import Sink, crc, echo, echo_check, send, source

MIB = 1 << 20

# name: (impairment, bytes, counters of the link and of ours that must have increased)
TROUBLE = {
    "loss-0.1": ("loss=0.1", 4 * MIB, ["lost"], ["tcp_retransmits"]),
    "loss-1": ("loss=1", 4 * MIB, ["lost"], ["tcp_retransmits", "tcp_recoveries"]),
    "loss-5": ("loss=5,delay=1", 1 * MIB, ["lost"], ["tcp_retransmits", "tcp_recoveries"]),
    "reorder": ("reorder=2,late=3", 2 * MIB, ["reordered"], []),
    "duplicate": ("duplicate=10", 2 * MIB, ["duplicated"], []),
    "corrupt": ("corrupt=0.5", 2 * MIB, ["corrupted"], ["tcp_retransmits"]),
    "jitter": ("delay=2,jitter=4", 2 * MIB, [], []),
    "far": ("delay=100", 1 * MIB, [], []),
    "slow": ("rate=20,limit=50,delay=5", 2 * MIB, ["overflowed"], ["tcp_retransmits"]),
    "all": ("loss=0.7,reorder=1,duplicate=1,corrupt=0.7,delay=2,jitter=1", 1 * MIB,
            ["lost", "reordered", "duplicated", "corrupted"], ["tcp_retransmits"]),
}


@pytest.fixture(params=TROUBLE)
def trouble(request):
    return TROUBLE[request.param]


def happened(last, link, names):
    for name in names:
        assert last[link][name] > 0, "no frame was %s" % name


def capture(rules):
    """Damaged frames have bad checksums, which tshark would report."""
    return "corrupt" not in rules


@pytest.mark.by_turns
def test_we_send_to_linux(peer, trouble):
    """Our sender is impaired: Linux receives the right data, and our counters show how."""
    rules, n, link, counters = trouble
    sink = Sink()
    with peer.server(sink) as port:
        last = peer.ours("client", peer.linux, port, "--send", n, "--out", rules,
                         capture=capture(rules)).wait(90)
    assert sink.got == [(n, crc(n))] and last["closed"] == 1
    happened(last, "link_out", link)
    for name in counters:
        assert last["counters"].get(name, 0) > 0, "%s did not move: %s" % (name, last["counters"])


@pytest.mark.by_turns
def test_linux_sends_to_us(peer, trouble):
    """Our receiver is impaired."""
    rules, n, link, _ = trouble
    ours = peer.ours("echo", "--in", rules, capture=capture(rules))
    with peer.connect(DISCARD, timeout_s=90) as sock:
        send(sock, n)
    eventually(lambda: ours.status()["discard_bytes"] == n, 90, "all bytes at our end")
    assert ours.last["discard_crc"] == crc(n)
    # a queue need not overflow: Linux's congestion control may pace
    happened(ours.last, "link_in", [name for name in link if name != "overflowed"])
    counters = ours.last["counters"]
    if "corrupt" in rules:
        assert counters.get("drop_tcp_malformed", 0) + counters.get("drop_ip4_checksum", 0) > 0
    if "loss" in rules or "reorder" in rules:
        assert counters["tcp_out_of_order"] > 0
    if "duplicate=10" in rules:
        assert counters["tcp_duplicates"] > 0


@pytest.mark.by_turns
@pytest.mark.parametrize("rules", ["loss=2", "loss=1,delay=10,jitter=5", "duplicate=5,reorder=5"])
def test_both_ways_at_once(peer, rules):
    """An echo over a link that is bad in both directions: acknowledgements are lost, too."""
    ours = peer.ours("echo", "--in", rules, "--out", rules, "--seed", 7)
    with peer.connect(ECHO, timeout_s=90) as sock:
        echo_check(sock, MIB)
    ours.stop()
    with peer.server(echo) as port:
        last = peer.ours("client", peer.linux, port, "--send", MIB, "--echo", "--in", rules,
                         "--out", rules).wait(90)
    assert (last["bytes_received"], last["mismatches"], last["closed"]) == (MIB, 0, 1)


@pytest.mark.by_turns
@pytest.mark.parametrize("feature", ["tcp_sack", "tcp_timestamps"])
def test_loss_without(peer, feature):
    """NewReno's recovery, and recovery without timestamps."""
    peer.sysctl("net.ipv4." + feature, 0)
    sink = Sink()
    with peer.server(sink) as port:
        last = peer.ours("client", peer.linux, port, "--send", 2 * MIB, "--out", "loss=1",
                         "--in", "loss=1").wait(90)
    assert sink.got == [(2 * MIB, crc(2 * MIB))]
    assert last["counters"]["tcp_retransmits"] > 0


def test_loss_with_offload(peer):
    """Frames of 64 KiB are lost as a whole, and retransmitted."""
    sink = Sink()
    with peer.server(sink) as port:
        last = peer.ours("client", peer.linux, port, "--send", 16 * MIB, "--offload", "--out",
                         "loss=2", capture=False).wait(90)
    assert sink.got == [(16 * MIB, crc(16 * MIB))]
    assert last["link_out"]["lost"] and last["counters"]["tcp_retransmits"]


@pytest.mark.by_turns
def test_far_away(peer):
    """A round trip of 200 ms: the window grows to what the path holds."""
    with peer.server(source(4 * MIB)) as port:
        last = peer.ours("client", peer.linux, port, "--in", "delay=100", "--out", "delay=100",
                         "--rcv-buf", 4 * MIB).wait(60)
    assert (last["bytes_received"], last["crc"]) == (4 * MIB, crc(4 * MIB))
    assert last["seconds"] < 15


@pytest.mark.by_turns
def test_loss_costs_no_timeout(peer):
    """RACK repairs losses in the middle of a stream within about a round trip, without the
    retransmission timer."""
    sink = Sink()
    with peer.server(sink) as port:
        last = peer.ours("client", peer.linux, port, "--send", 8 * MIB, "--out",
                         "loss=0.1,delay=5", capture=False).wait(90)
    counters = last["counters"]
    assert sink.got == [(8 * MIB, crc(8 * MIB))]
    assert counters["tcp_recoveries"] > 0
    assert counters.get("tcp_rto", 0) <= counters["tcp_recoveries"]
