"""Runs last: some test of this layer has reached every reason to drop a packet."""
import pytest
from machine import known, reached

# Counters that no test here can reach, with the reasons.
UNREACHABLE = {
    "snoop_refused": "there is room for 2048 groups: tests/unit/net/test_snoop.c",
    "icmp6_tx_unreach_policy": "no source address fails a policy",
    # tests/unit/runtime/test_steer.c and tests/system/test_steering.py have them
    **dict.fromkeys(("steered", "steer_taken", "steer_refused", "drop_steer_full"), "one core handles all packets"),
    # tests/unit/runtime/test_move_data.c and tests/system/test_balance.py
    **dict.fromkeys(("cores_gathered", "cores_spread", "buckets_moved", "move_held", "moves_undone", "moved_early"), "there is no other core to move a bucket to"),
}

# The counters of TCP that the machine around it can increase. The others belong to net/tcp, whose
# own tests reach them.
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
