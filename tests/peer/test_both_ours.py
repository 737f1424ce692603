"""Both ends are ours, with Linux as the router between them: our implementation must also
understand itself."""
import pytest
from conftest import ECHO
from streams import crc

SOME = 1 << 20


@pytest.fixture
def both(peer):
    """A second tap, eth1, on the other side of the router."""
    peer.ip("tuntap", "add", "dev", "eth1", "mode", "tap")
    family = peer.family
    peer.add_address("eth1", family.far_router)
    peer.forward()

    def client(*arguments, **options):
        return peer.ours("client", family.ours, ECHO, "--dev", "eth1", "--address",
                         family.with_plen(family.far), "--gateway", family.far_router, "--mac",
                         "02:48:79:00:00:02", *arguments, **options)

    peer.client = client
    return peer


WAYS = {
    "plain": [],
    "pieces": ["--sg"],
    "offload": ["--offload"],
    "nothing": ["--no-sack", "--no-timestamps", "--no-window-scale", "--no-ecn"],
    "newreno": ["--newreno"],
    "cookies": ["--syn-max", 0],
}


@pytest.mark.by_turns
@pytest.mark.parametrize("way", WAYS)
def test_echo(both, way):
    ours = both.ours("echo", *WAYS[way])
    last = both.client("--send", SOME, "--echo", *WAYS[way]).wait()
    assert (last["bytes_received"], last["mismatches"], last["closed"]) == (SOME, 0, 1)
    assert last["crc"] == crc(SOME)
    if way == "cookies":
        assert ours.counter("tcp_cookies_good") == 1
    else:
        assert "tcp_rto" not in last["counters"] and "tcp_rto" not in ours.status()["counters"]


@pytest.mark.by_turns
@pytest.mark.parametrize("rules", ["loss=3", "reorder=10,duplicate=5", "corrupt=1", "mark=5"])
def test_bad_links_at_both_ends(both, rules):
    trouble = ["--in", rules, "--out", rules]
    ours = both.ours("echo", *trouble, capture=False)
    last = both.client("--send", SOME, "--echo", *trouble, capture=False).wait(120)
    assert (last["bytes_received"], last["mismatches"], last["closed"]) == (SOME, 0, 1)
    if rules.startswith("mark"):
        assert last["counters"]["tcp_ecn"] > 0 and ours.counter("tcp_ecn") > 0
    if rules.startswith("reorder"):
        # Reordering is noticed. (The absence of timeouts cannot be required: PAWS drops segments
        # that were overtaken by more than a tick of the timestamps, and the tail of a recovery has
        # no probe, RFC 8985 7.2.)
        assert last["counters"].get("tcp_reordered", 0) + ours.counter("tcp_reordered") > 0


def test_fast_open(both):
    ours = both.ours("echo", "--fastopen")
    last = both.client("--fastopen", "--count", 4, "--send", 700, "--echo").wait()
    assert (last["closed"], last["mismatches"]) == (4, 0)
    assert ours.counter("tcp_fastopen") == 3


@pytest.mark.by_turns
def test_many(both):
    ours = both.ours("echo", "--connections", 20000, "--snd-buf", 16384, "--rcv-buf", 16384,
                     "--syn-max", 20000, capture=False)
    last = both.client("--count", 5000, "--parallel", 5000, "--hold", "--send", 1000, "--echo",
                       "--rcv-buf", 16384, "--snd-buf", 16384, capture=False).wait(60)
    assert (last["closed"], last["mismatches"]) == (5000, 0)
    # the last ACKs may be lost in a full queue, and their sender has ended
    assert ours.counter("tcp_accepts") == 5000


def test_urgent(both):
    """The other end is notified of the mark once; the urgent bytes arrive in line."""
    ours = both.ours("echo")
    last = both.client("--send", 1000, "--urgent", 10, "--echo").wait()
    assert (last["closed"], last["mismatches"]) == (1, 0)
    assert ours.status()["urgent"] == 1
