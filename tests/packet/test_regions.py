"""Memory of XDP programs (runtime/regions.c) in a whole control program: with memory refused at every
request, through restarts, and beside a configuration that needs more memory later. The page tables are
tests/system/test_regions.py's."""
import re

import pytest
from machine import *
from test_memory import WHOLE

KINDS = ["code", "shared", "own", "control"]


def made(m):
    """The kinds of regions that there are, with their addresses and sizes."""
    return re.findall(r"^region \d+ (\w+) at ([0-9a-f]+), (\d+) KiB", m.console("test regions show"), re.MULTILINE)


def test_made_and_given_back(make):
    m = make(WHOLE, options="test=1", tables=64)
    assert made(m) == []
    assert "no memory" not in m.console("test regions make")
    regions = made(m)
    assert [kind for kind, _, _ in regions] == KINDS
    assert "code e5894855" in m.console("test regions show")
    m.console("test regions free")
    said = m.console("test regions show")
    assert "code cccccccc" in said
    assert all("%s: 2048 KiB, free 2097152 bytes" % kind in said for kind in KINDS)
    m.console("test regions make")
    assert made(m) == regions
    m.learn(A, B)
    m.route(udp(A, B))


@pytest.mark.parametrize("on", [False, True], ids=["one", "all"])
def test_refused(make, on):
    """Each request of the allocator is refused: that kind is missing, and comes when there is memory."""
    for n in range(1, 9):
        m = make(WHOLE, options="test=1", tables=64)
        m.refuse("memory", n, on)
        said = m.console("test regions make")
        assert m.asked()["memory"][1] > 0
        missing = 4 - (n - 1) // 2 if on else 1  # a kind asks twice: for its list, for a region
        assert len(re.findall("no memory for", said)) == missing, (n, said)
        m.refuse("memory", 0)
        assert "no memory" not in m.console("test regions make")
        assert sorted(kind for kind, _, _ in made(m)) == sorted(KINDS)


def test_beside_a_growing_table(make):
    """Published memory and tables grow around the regions: routes that come later, and restarts of the
    ports, leave maps as they are."""
    m = make(WHOLE, options="test=1", tables=64)
    m.console("test regions make")
    regions = made(m)
    for line in ("configure", *("ip route 10.%d.%d.0/24 198.51.100.2" % (i // 200, i % 200)
                                for i in range(600)), "commit", "end"):
        m.key(line + "\r")
    m.command("restart")
    m.settle()
    assert made(m) == regions
    assert re.search(r"^words control 0: 6d616465", m.console("test regions show"), re.MULTILINE)


def test_restarts_of_the_control_program(make):
    """Regions are found again after each restart, warm or not, with their contents."""
    m = make(WHOLE, lives=True, options="test=1")
    m.time(20 * SECOND)
    m.console("test regions make")
    regions = made(m)
    for driver in (False, True, False):
        m.anew(amid_driver=driver)
        m.time(20 * SECOND)
        said = m.console("test regions show")
        assert made(m) == regions
        assert "code e5894855" in said
        assert re.search(r"^words control 0: 6d616465", said, re.MULTILINE)
        assert "cannot" not in m.console("test regions claim")
    m.console("test regions free")
    assert "code cccccccc" in m.console("test regions show")
