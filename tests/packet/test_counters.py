"""Runs last: every way to lose a packet has been gone by some test of this layer."""
import pytest
from machine import known, reached

# Counters that no test here can reach, each with the reason.
UNREACHABLE = {}


def test_every_counter_was_reached(request):
    if not request.config.all_selected:
        pytest.skip("only when all packet tests run")
    missing = {name for name in known if not reached[name]} - set(UNREACHABLE)
    assert not missing, "no test reaches %s" % ", ".join(sorted(missing))
    assert not {name for name in UNREACHABLE if reached[name]}, "reachable after all"
