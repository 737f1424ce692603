"""The control program fails and restarts (runtime/warm_restart.c, control/restore.c, control/config/journal.c) with
memory refused: the 1st, 2nd, 3rd ... request of the new program, alone or with all later ones. Its
data core is simulated (tests/host/lives.h); tests/system/test_warm_restart.py tests with the image that
forwarding continues."""
import re

import fpm_frames as fpm
from machine import *
from test_memory import NAMED, WHOLE

COMMITTED = ("configure", "hostname r7", "ip route 10.7.0.0/16 198.51.100.2",
             "ipv6 route 2001:db8:700::/48 2001:db8:2::2", "commit", "end")
WENT_ON = "control program: goes on after"
# The program does not take over, or gives up during it: it, or the next one, restarts the ports.
RESTARTS = re.compile(r"^control program: the ports are restarted: (there is no memory for a second set of "
                      r"tables|it has failed while it took over)$", re.MULTILINE)
# Earlier commits, in a machine that can no longer begin with the boot's configuration.
LOST = re.compile(r"^configuration: the commits since the boot are lost: (there is not enough memory to "
                  r"change the configuration|they are based on another configuration than this start's)$",
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
    """The output of the new program, and of its successors if it gives up."""
    m.text = ""
    m.anew(refuse, **options)
    m.time(20 * SECOND)  # otherwise the third restart would come too soon
    return m.text.replace("\r", "")


def state(m):
    """All output that does not depend on time."""
    said = "".join(m.console(line) for line in (
        "show running-config", "show ip route", "show ipv6 route", "show access-lists"))
    port = {"http": 80, "console": 23, "capture": 5555}
    assert all("%s server port %d" % item in said for item in port.items())
    return said


def orders(m):
    """Each request of the program that has just started, alone and with all later ones."""
    return [(n, "%d%s" % (n, on)) for n in range(1, m.asked()["memory"][0] + 1) for on in ("", "+")]


def test_warm_restart(make):
    """The program continues with the whole state, or says why not and restarts the ports, with the
    whole state. The next one takes over, using the same memory each time."""
    m = machine(make)
    before = state(m)
    assert WENT_ON in anew(m)
    wanted, restarted, used = orders(m), 0, set()
    assert state(m) == before and len(wanted) > 40
    for n, refuse in wanted[:1] + wanted[2:]:  # the excluded one: as test_restart_of_the_ports
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
    """A new program that does not take over names what it lacks, as at a start (test_memory.py). If
    earlier commits cannot be read, they are lost for good, and this is reported."""
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
    """An unconfirmed commit is lost with its program, whatever the next one lacks: this is
    reported, and the configuration before it is in force."""
    m = machine(make)
    before = state(m)
    assert WENT_ON in anew(m)
    for n in range(1, m.asked()["memory"][0] + 1):
        for line in ("configure", "hostname r9", "no ip route 10.7.0.0/16", "commit confirmed 10", "end"):
            m.key(line + "\r")
        assert "hostname r9" in m.console("show running-config")
        said = anew(m, str(n))
        m.refuse("memory", 0)  # a program may have needed less
        assert "the last commit, which nobody had confirmed, is gone" in said, (n, said)
        assert state(m) == before, n


def test_commits_on_nothing(make):
    """The boot's configuration is bad, so none of it is in force. A later commit is what the next
    program has, whatever it lacks during the take-over."""
    m = make("nonsense\n", lives=True)
    assert "nothing of the configuration is applied" in m.text
    for line in ("configure", *WHOLE.splitlines(), "commit", "end"):
        m.key(line + "\r")
    m.time(20 * SECOND)
    before = state(m)
    for _ in range(2):
        assert "configuration: the last commit is in force again" in anew(m)
        assert state(m) == before
    restarted = 0
    for n in range(1, m.asked()["memory"][0] + 1):
        said = anew(m, str(n))
        assert state(m) == before and not LOST.search(said), (n, said)
        restarted += WENT_ON not in said
    assert restarted > 10


ENGINE = WHOLE.replace("interface eth0\n", "interface eth0\n routing engine index 101\n").replace(
    "interface eth1\n", "interface eth1\n routing engine index 102\n") + \
    "routing engine 192.0.2.2\nrouting engine hold-time 300\n"


def engine_says(m, *messages):
    m.command("fpm " + fpm.frame(*messages).hex())


def engine_machine(make):
    """A thousand routes of both families, by every kind of next hop."""
    m = make(ENGINE, lives=True)
    engine_says(m, fpm.nexthop(5, "198.51.100.2", 102), fpm.nexthop(6, "198.51.100.3", 102))
    engine_says(m, fpm.nexthop(9, group=((5, 3), (6, 1))))
    for high in range(4):
        engine_says(m, *(fpm.route("10.%d.%d.0/24" % (high, low), "198.51.100.%d" % (2 + low % 5), 102)
                         for low in range(256)))
    engine_says(m, *(fpm.route("2001:db8:f0%02x::/48" % n, "2001:db8:2::%x" % (2 + n % 5), 102)
                     for n in range(64)))
    engine_says(m, fpm.route("11.0.0.0/8", nh_id=9), fpm.route("12.0.0.0/8", nh_id=5, proto=fpm.OSPF),
                fpm.route("13.0.0.0/8", kind=fpm.PROHIBIT), fpm.route("14.0.0.0/8", None, 102),
                fpm.route("15.0.0.0/8", "10.1.2.3"), fpm.route("2001:db8:e::/48", "fe80::9", 102),
                fpm.route("16.0.0.0/8", hops=(("198.51.100.2", 102, 1), ("192.0.2.7", 101, 7))))
    m.time(20 * SECOND)
    return m


def engine_state(m):
    return [line.replace(" stale", "") for command in ("show ip route", "show ipv6 route")
            for line in m.console(command).splitlines() if " engine" in line]


def test_routes_of_the_engine(make):
    """They stay, as stale ones, whatever the new program lacks, or the program and the ports have to
    start anew. The memory that they take does not grow: the later half of the programs takes no more than
    the earlier one. A program may take less, because sizes depend on what is left in one piece."""
    m = engine_machine(make)
    before = engine_state(m)
    assert len(before) == 1024 + 64 + 9, len(before)
    assert WENT_ON in anew(m)
    assert engine_state(m) == before
    assert "prefixes 1095, stale 1095" in m.console("show routing engine")
    wanted, used = orders(m), []
    for n, refuse in wanted[:1] + wanted[2::7]:
        said = anew(m, refuse)
        went_on = WENT_ON in said
        assert went_on != bool(RESTARTS.search(said)) and "ready: 2 ports" in said, (refuse, said)
        assert engine_state(m) == before, (refuse, said)
        said = anew(m)
        assert WENT_ON in said and engine_state(m) == before, (refuse, said)
        used.append(m.asked()["private"])
    half = len(used) // 2
    assert max(used[half:]) - max(used[:half]) < 1 << 20, used
    assert WENT_ON not in anew(m, amid_driver=True)
    assert engine_state(m) == before


def test_hold_time_of_the_engine(make):
    """It begins with the new program. What has gone does not come back."""
    m = engine_machine(make)
    anew(m)
    engine_says(m, fpm.route("10.0.1.0/24", "198.51.100.9", 102), fpm.delete("10.0.0.0/24"))
    m.time(150 * SECOND)
    anew(m)
    assert "prefixes 1094, stale 1094" in m.console("show routing engine")
    assert "10.0.1.0/24        via 198.51.100.9 eth1" in m.console("show ip route")
    m.time(250 * SECOND)
    assert "prefixes 1094," in m.console("show routing engine")
    m.time(60 * SECOND)
    assert "prefixes 0," in m.console("show routing engine")
    anew(m)
    assert "prefixes 0," in m.console("show routing engine") and engine_state(m) == []


def test_engine_that_comes_and_goes(make):
    """Configured by a commit, its routes stay as well; without it, none come back."""
    m = machine(make)
    for line in ("configure", "routing engine 192.0.2.2", "interface eth1", "routing engine index 102",
                 "exit", "commit", "end"):
        m.key(line + "\r")
    engine_says(m, fpm.route("11.0.0.0/8", "198.51.100.2", 102))
    m.time(20 * SECOND)
    before = engine_state(m)
    assert len(before) == 1 and WENT_ON in anew(m) and engine_state(m) == before
    for line in ("configure", "no routing engine", "commit", "end"):
        m.key(line + "\r")
    m.time(20 * SECOND)
    assert engine_state(m) == []
    assert WENT_ON in anew(m) and engine_state(m) == []
    for line in ("configure", "routing engine 192.0.2.2", "commit", "end"):
        m.key(line + "\r")
    m.time(20 * SECOND)
    assert WENT_ON in anew(m) and engine_state(m) == []
