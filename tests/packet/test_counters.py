"""Runs last: every way to lose a packet has been gone by some test of this layer."""
import pytest
from machine import known, reached

# Counters that no test here can reach, each with the reason.
UNREACHABLE = {
    "icmp6_tx_unreach_policy": "no source address fails a policy",
}

# Of what TCP counts, that which the machine around it can make happen. The rest is net/tcp's own, and
# reached by the tests of that.
OF_TCP = {"delivered_tcp", "drop_tcp_malformed", "drop_tcp_port", "drop_tcp_listen", "drop_tcp_full",
          "tcp_tx", "tcp_tx_rst", "tcp_accepts", "tcp_closes", "tcp_resets", "tcp_full",
          "tcp_retransmits", "tcp_rto", "tcp_pmtu"}


def is_tcp(name):
    return "tcp_" in name or name == "delivered_tcp"


def test_every_counter_was_reached(request):
    if not request.config.all_selected:
        pytest.skip("only when all packet tests run")
    wanted = {name for name in known if name in OF_TCP or not is_tcp(name)}
    missing = {name for name in wanted if not reached[name]} - set(UNREACHABLE)
    assert not missing, "no test reaches %s" % ", ".join(sorted(missing))
    assert not {name for name in UNREACHABLE if reached[name]}, "reachable after all"
