"""The control program fails and comes up anew (core/takeover.c, control/adopt.c, control/journal.c),
with memory refused: the 1st, 2nd, 3rd ... request of the new program, alone or with all after it.
Its data core is played (tests/host/lives.h); that packets go on being forwarded is tested with the
image (tests/system/test_takeover.py)."""
import re

import pytest
from machine import *
from test_memory import NAMED, WHOLE

COMMITTED = ("configure", "hostname r7", "ip route 10.7.0.0/16 198.51.100.2",
             "ipv6 route 2001:db8:700::/48 2001:db8:2::2", "commit", "end")
WENT_ON = "control program: goes on after"
# It does not take over, or gives up while it does: the ports are restarted by it, or by the next one.
RESTARTS = re.compile(r"^control program: the ports are restarted: (there is no memory for a second set of "
                      r"tables|it has failed while it took over)$", re.MULTILINE)
# What was committed before, in a machine that cannot begin with the boot's configuration now.
LOST = re.compile(r"^configuration: what was committed since the boot is lost: (there is not enough memory to "
                  r"change the configuration|it has come from another configuration than this start's)$",
                  re.MULTILINE)
LACKS = re.compile("not enough memory|nothing is forwarded|nothing of the configuration")


def commit(m):
    for line in COMMITTED:
        m.key(line + "\r")
    assert "committed\r\n" in m.text


def machine(make):
    m = make(WHOLE, lives=True)
    commit(m)
    m.time(20 * SECOND)
    return m


def anew(m, refuse="0", **options):
    """What is said by the program that comes up, and by those after it if it gives up."""
    m.text = ""
    m.anew(refuse, **options)
    m.time(20 * SECOND)  # else the third has come up too often
    return m.text.replace("\r", "")


def state(m):
    """All that does not tell of time."""
    said = "".join(m.console(line) for line in (
        "show running-config", "show ip route", "show ipv6 route", "show access-lists"))
    port = {"http": 80, "console": 23, "capture": 5555}
    assert all("%s server port %d" % item in said for item in port.items())
    return said


def orders(m):
    """Each request of the life that has just begun, alone and with all after it."""
    return [(n, "%d%s" % (n, on)) for n in range(1, m.asked()["memory"][0] + 1) for on in ("", "+")]


def test_takeover(make):
    """It goes on with all there was, or says why not and restarts the ports, with all there was. The
    next one takes over, with as much memory each time."""
    m = machine(make)
    before = state(m)
    assert WENT_ON in anew(m)
    wanted, restarted, used = orders(m), 0, set()
    assert state(m) == before and len(wanted) > 40
    for n, refuse in wanted[:1] + wanted[2:]:  # none at all: as test_restart_of_the_ports
        said = anew(m, refuse)
        went_on = WENT_ON in said
        assert went_on != bool(RESTARTS.search(said)) and "ready: 2 ports" in said, (refuse, said)
        assert not (went_on and LACKS.search(said)) and not LOST.search(said), (refuse, said)
        assert state(m) == before, refuse
        restarted += not went_on
        said = anew(m)
        assert WENT_ON in said and state(m) == before, (refuse, said)
        used.add(m.asked()["private"])
    assert restarted > 30 and len(used) == 1, used


def test_restart_of_the_ports(make):
    """A new program that does not take over: what it does not get is named, as at a start
    (test_memory.py). What was committed is gone for good if it cannot be read, and is said to be."""
    m = machine(make)
    before = state(m)
    assert WENT_ON not in anew(m, amid_driver=True)
    assert state(m) == before
    used, lost = m.asked()["private"], 0
    for n, refuse in orders(m):
        said = anew(m, refuse, amid_driver=True)
        assert NAMED.search(said) or LOST.search(said) or state(m) == before, (refuse, said)
        assert "free" in m.console("show memory")
        said = anew(m, amid_driver=True)
        assert "ready: 2 ports" in said and not LACKS.search(said), (refuse, said)
        assert m.asked()["private"] <= used, refuse
        if "hostname r7" not in m.console("show running-config"):
            lost += 1
            m.text = ""
            commit(m)
        assert state(m) == before, refuse
    assert lost > 0


def test_unconfirmed_commit(make):
    """A commit that waits to be confirmed is gone with its program, whatever the next one does not get:
    it is said to be, and what stood before it stands."""
    m = machine(make)
    before = state(m)
    assert WENT_ON in anew(m)
    for n in range(1, m.asked()["memory"][0] + 1):
        for line in ("configure", "hostname r9", "no ip route 10.7.0.0/16", "commit confirmed 10", "end"):
            m.key(line + "\r")
        assert "hostname r9" in m.console("show running-config")
        said = anew(m, str(n))
        m.refuse("memory", 0)  # a life may have wanted less
        assert "the last commit, which nobody had confirmed, is gone" in said, (n, said)
        assert state(m) == before, n


def test_commits_on_nothing(make):
    """The configuration of the boot is bad, so none of it is in force: what is committed then is what
    the next program has, whatever it does not get while it takes over."""
    m = make("nonsense\n", lives=True)
    assert "nothing of the configuration is applied" in m.text
    for line in ("configure", *WHOLE.splitlines(), "commit", "end"):
        m.key(line + "\r")
    m.time(20 * SECOND)
    before = state(m)
    for _ in range(2):
        assert "configuration: as it was committed last" in anew(m)
        assert state(m) == before
    restarted = 0
    for n in range(1, m.asked()["memory"][0] + 1):
        said = anew(m, str(n))
        assert state(m) == before and not LOST.search(said), (n, said)
        restarted += WENT_ON not in said
    assert restarted > 10
