"""Cache lines shared between cores (tests/sharing/sharing.py), counted in the real image under TCG."""
import collections
import os
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "sharing"))
import sharing  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def plugin():
    subprocess.run(["make", "-s", "-C", ROOT, "sharing-plugin"], check=True)


@pytest.mark.parametrize("app", list(sharing.APPS))
def test_nothing_shared(app):
    """Four data cores take no line from each other, asleep or awake, and the control core takes few."""
    packets, accesses, rows = sharing.run(sharing.APPS[app], 4)
    assert accesses > packets, "the plugin does not see the data cores"
    sums = sharing.by_function(rows, sharing.Symbols())
    assert sharing.broken(packets, sums, sharing.read_expected(), sharing.APPS[app].kinds) == []


def test_steering_is_seen():
    """Can the count fail? With one queue pair, cores hand packets to each other: each handing core's ring
    is named, and not expected. Readers of packets take thousands of lines, but few rows of the table."""
    app = sharing.App("router", "null=2 pairs=1", sharing.APPS["router"].done,
                      config=sharing.TWO_PORTS + sharing.ROUTES)
    packets, _, rows = sharing.run(app, 2)
    assert max(collections.Counter((kind, pc) for kind, pc, _, _ in rows).values()) <= 65
    sums = sharing.by_function(rows, sharing.Symbols())
    # functions of runtime/steer.c: the compiler decides which of them are inlined in others
    assert [key for key in sums if key[0] == "data" and key[1].startswith(("steer_", "lane_"))], sums
    assert any("(data)" in text for text in sharing.broken(packets, sums, sharing.read_expected()))
