"""Changes of the configuration from the console (control/cli/configure.h, commit.h): messages about the
candidate, the effects and output of a commit, and that the result equals a boot with that text. The
unit tests cover the candidate as text."""
import os
import random
import re

import pytest
from ip6 import *
from machine import *
from test_remote import Session, make_known

WORDS = "the ports restart for this, and forward nothing for some milliseconds:\n"


def run(m, *lines):
    """Types lines on the serial console; returns the output of the last one."""
    said = ""
    for line in lines:
        said = m.console(line)
    return said


def prompt(m):
    return re.search(r"(\S+#) $", m.text)[1]


def running(m):
    return m.console("show running-config")


def restarted(m):
    """Waits for a restart of the ports, and for their announcements."""
    m.text = ""
    m.time(200 * MS)
    assert "ports restart: the configuration has changed" in m.text
    assert re.search(r"configuration: in force, \d+ ms after the ports stopped", m.text), m.text
    m.settle()
    m.counted()


def test_modes_and_prompts(m):
    run(m, "configure")
    assert prompt(m) == "r1(config)#"
    run(m, "interface eth0")
    assert prompt(m) == "r1(config-if)#"
    run(m, "description to the lab")
    assert prompt(m) == "r1(config-if)#"
    run(m, "exit")
    assert prompt(m) == "r1(config)#"
    run(m, "interface eth1", "ip route 10.0.0.0/8 198.51.100.2")
    assert prompt(m) == "r1(config)#"
    said = run(m, "exit")
    assert said == "the candidate has changes that are not committed; they stay in it\n"
    assert prompt(m) == "r1#"
    assert "they" not in run(m, "configure terminal") and "show | compare" in m.text
    run(m, "interface eth0", "end")
    assert prompt(m) == "r1#"
    assert m.console("configure somewhere") == "% unknown word \"somewhere\"\n"


def test_comment(m):
    """It belongs to one commit, also if that is refused."""
    run(m, "configure", "hostname r2")
    assert run(m, "commit comment  a new   name,").endswith("committed\n")
    assert 'configuration: its comment is "a new   name,"' in m.text
    run(m, "ip route 10.0.0.0/8 192.0.2.1")
    assert "nothing is committed" in run(m, "commit comment wrong")
    run(m, "discard", "hostname r1", "commit")
    rows = run(m, "show configuration history").splitlines()
    assert rows[1].endswith("the console") and rows[2].endswith("the console: a new   name,")


def test_compare_and_commit_live(m):
    """Only a route changes: it is in force at once, and the ports are not restarted."""
    run(m, "configure", "ip route 10.0.0.0 255.0.0.0 198.51.100.2")
    assert run(m, "show | compare") == "+ip route 10.0.0.0/8 198.51.100.2\n"
    assert run(m, "show configuration | compare") == "+ip route 10.0.0.0/8 198.51.100.2\n"
    assert "10.0.0.0/8" not in running(m) and "10.0.0.0/8" in run(m, "show")
    assert run(m, "commit check") == "it may be committed\n"
    assert "10.0.0.0/8" not in running(m)
    assert run(m, "commit").endswith("committed\n")
    assert "configuration: committed by the console" in m.text
    assert "ip route 10.0.0.0/8 198.51.100.2\n" in running(m)
    assert run(m, "show | compare") == "" and run(m, "commit") == "nothing has changed\n"
    m.send(0, ether(A, ROUTER[0]) / udp(A, "10.1.2.3"))
    m.expect(1, ether(ROUTER[1], B) / hop(udp(A, "10.1.2.3")))
    run(m, "no ip route 10.0.0.0/8", "commit")
    m.send(0, ether(A, ROUTER[0]) / udp(A, "10.1.2.3"))
    assert m.take(0).frame[34:36] == b"\3\0"  # net unreachable
    assert "ports restart" not in m.text
    m.counted()


def test_next_hop_changes(m):
    """The next hop of a prefix changes: the new neighbour replaces the old, which is forgotten
    later."""
    m.learn(B2)
    run(m, "configure", "ip route 10.0.0.0/8 198.51.100.2", "commit")
    run(m, "no ip route 10.0.0.0/8 198.51.100.2", "ip route 10.0.0.0/8 %s" % B2.ip)
    assert run(m, "show | compare") == ("-ip route 10.0.0.0/8 198.51.100.2\n"
                                        "+ip route 10.0.0.0/8 %s\n" % B2.ip)
    run(m, "commit")
    m.send(0, ether(A, ROUTER[0]) / udp(A, "10.1.2.3"))
    m.expect(1, ether(ROUTER[1], B2) / hop(udp(A, "10.1.2.3")))
    assert "10.0.0.0/8         via %s eth1" % B2.ip in m.console("show ip route")
    m.counted()


def test_restart(m):
    """The restart is announced before, with the statements that require it, and reported after."""
    said = run(m, "configure", "hostname r2", "interface eth1", "ip address 203.0.113.1/24",
               "mtu 1400", "commit")
    assert said.startswith(WORDS + """ interface eth1
- ip address 198.51.100.1/24
+ ip address 203.0.113.1/24
+ mtu 1400
"""), said
    assert said.endswith("committed, the ports restart\n")
    assert run(m, "no mtu") == "% a commit is restarting the ports\n"
    restarted(m)
    assert prompt(m) == "r2(config-if)#"
    assert "address 203.0.113.1/24" in m.console("show interfaces")
    m.send(1, arp_request(Station(1, "203.0.113.2", B.mac), "203.0.113.1"))
    assert m.take(1).frame[20:22] == b"\0\2"  # a reply
    m.counted()


def private_memory(m):
    """{purpose: KiB} of the control core's memory."""
    return {what: int(kib) for kib, what in
            re.findall(r"^control core +(\d+)  (.*)$", m.console("show memory"), re.MULTILINE)}


def test_restart_leaves_memory_its_names(m):
    """Memory allocated for editing keeps its purpose after a restart of the ports."""
    first = private_memory(m)
    run(m, "configure", "interface eth1", "mtu 1400")
    before = private_memory(m)
    assert before["since the start"] > first.get("since the start", 0)
    run(m, "commit")
    restarted(m)
    after = private_memory(m)
    assert after["since the start"] >= before["since the start"]
    assert after.get("devices") == before.get("devices")


def test_errors_at_entry(m):
    run(m, "configure")
    for line, reason in (
            ("ip route 10.0.0.0/8 300.1.1.1",
             "expected null0, blackhole, unreachable, prohibit or the next hop"),
            ("ip route 10.1.0.0/8 null0", "did you mean 10.0.0.0/8?"),
            ("mtu 1400", "belongs into an interface block"),
            ("no mtu 1400", "belongs into an interface block"),
            ("no arp timeout 1", "there is no such statement"),
            ("no ip route 10.0.0.0/8", "there is no such route"),
            ("no ip route", "the line ends too early"),
            ("interface eth99", "unknown interface"),
            ("hostname -r", "a hostname has")):
        said = m.console(line)
        assert said.startswith("% ") and reason in said, said
    assert run(m, "show | compare") == ""
    assert "unknown word" in m.console("frobnicate")
    said = run(m, "interface eth0", "ip address 203.0.113.1/24 secondary",
               "no ip address 192.0.2.1/24")
    assert said == "% the primary address of the interface must come before, at \"secondary\"\n" \
        "  line 7: ip address 203.0.113.1/24 secondary\n", said


def test_errors_at_commit(m):
    """The whole candidate is checked like a file, and none of it is applied."""
    before = running(m)
    said = run(m, "configure", "interface eth1", "ip address 192.0.2.77/24", "commit")
    assert re.fullmatch(r"% the subnet overlaps 192\.0\.2\.0/24 of eth0, at line \d+, "
                        r"at \"192\.0\.2\.77/24\"\n  line \d+: ip address 192\.0\.2\.77/24\n"
                        r"nothing is committed\n", said), said
    said = run(m, "discard", "ip route 10.0.0.0/8 224.0.0.1", "commit")
    assert "% the next hop is not the address of a host, at \"224.0.0.1\"\n" in said
    assert ": ip route 10.0.0.0/8 224.0.0.1\n" in said
    said = run(m, "discard", "interface eth7", "commit check")
    assert said.startswith("% this machine has 2 ports, at \"eth7\"\n"), said
    m.time(300 * MS)
    assert running(m) == before and "ports restart" not in m.text


def test_rollback(m):
    for n in range(12):
        run(m, "configure", "ip route 10.%d.0.0/16 null0" % n, "hostname h%d" % n, "commit")
    rows = run(m, "show configuration history").splitlines()
    assert len(rows) == 11 and rows[1].split()[0] == "1" and rows[10].endswith("the console")
    assert run(m, "rollback 100").startswith("% a number from 0")
    run(m, "rollback 3")
    assert run(m, "show | compare") == "-hostname h11\n+hostname h8\n" + "".join(
        "-ip route 10.%d.0.0/16 null0\n" % n for n in (9, 10, 11))
    run(m, "commit")
    assert prompt(m) == "h8(config)#"
    run(m, "rollback", "commit")  # back again
    assert prompt(m) == "h11(config)#" and "10.11.0.0/16" in running(m)
    run(m, "rollback 10")
    assert "-ip route 10.4.0.0/16 null0\n" in run(m, "show | compare")
    run(m, "rollback 0")
    assert run(m, "show | compare") == ""


def test_confirmed_in_time(m):
    said = run(m, "configure", "ip route 10.0.0.0/8 null0", "commit confirmed 30s")
    assert said.endswith("committed\nit is rolled back in 30 s unless commit confirms it\n"), said
    m.time(29 * SECOND)
    assert "configuration: committed by the console, not yet confirmed" in m.text
    assert run(m, "end", "configure") == \
        "the last commit is rolled back in 1 s unless commit confirms it\n"
    assert run(m, "commit").endswith("confirmed\n")
    m.time(60 * SECOND)
    assert "10.0.0.0/8" in running(m) and "rolled back: " not in m.text
    m.take_all(0), m.take_all(1)


def test_not_confirmed(m):
    """The unconfirmed commit is reverted, and so are later changes of the candidate."""
    before = running(m)
    run(m, "configure", "ip route 10.0.0.0/8 null0", "hostname wrong", "commit confirmed 1")
    assert "% the last commit waits" in run(m, "hostname worse", "commit confirmed")
    assert prompt(m) == "wrong(config)#"
    m.time(61 * SECOND)
    assert "nobody confirmed the last commit in time, it is rolled back" in m.text
    assert prompt(m) == "r1(config)#" and running(m) == before
    assert run(m, "show | compare") == ""
    assert run(m, "rollback", "show | compare") == \
        "-hostname r1\n+hostname wrong\n+ip route 10.0.0.0/8 null0\n"
    m.take_all(0), m.take_all(1)
    for line in "commit confirmed 0", "commit confirmed 1441", "commit confirmed x", \
            "commit confirmed 5m":
        assert run(m, line).startswith("% the time is a number of minutes")


def test_session_cut_off(make):
    """`commit confirmed` of a change that cuts the session off: it is rolled back."""
    r = make_known(make)
    s = Session(r).login()
    s.type(b"configure\r\ninterface eth0\r\nip address 192.0.2.200/24\r\n")
    assert "it is rolled back in 20 s" in s.type(b"commit confirmed 20s\r\n")
    r.time(SECOND)
    assert "address 192.0.2.200/24" in r.console("show interfaces")
    assert "logged out" in r.text
    r.time(21 * SECOND)
    assert "it is rolled back" in r.text
    r.settle()
    assert "address 192.0.2.1/24" in r.console("show interfaces")
    r.learn(A)
    s = Session(r, sport=40001).login()
    assert s.run(b"show configuration | compare") == ""
    r.counted()


def test_session_leaves_the_candidate(make):
    r = make_known(make)
    s = Session(r).login()
    s.type(b"configure\r\nip route 10.0.0.0/8 null0\r\n")
    assert r.console("show configuration | compare") == "+ip route 10.0.0.0/8 null0\n"
    s.send("FA")
    r.time(10 * SECOND)
    assert "configuration: %s left changes in the candidate that are not committed" % A.ip in r.text
    run(r, "configure", "commit")
    assert "10.0.0.0/8" in running(r)
    r.take_all(0), r.take_all(1)
    r.counted()


def test_access_lists_are_live(make):
    r = make_known(make)
    s = Session(r).login()
    said = s.type(b"configure\r\nconsole access 203.0.113.0/24\r\nno console access 192.0.2.0/24\r\n"
                  b"commit\r\n")
    assert "committed\r\n" in said and "restart" not in said
    assert r.console("show running-config").count("console access") == 1
    with pytest.raises(AssertionError):
        Session(r, sport=40001)
    r.take_all(0)
    assert "r1(config)# " in s.type(b"\r\n")  # an existing session stays
    r.counted()


def committed_live(m, *lines):
    assert run(m, "configure", *lines, "commit").endswith("committed\n")
    assert "ports restart" not in m.text
    run(m, "end")


def test_static_neighbours_are_live(make):
    """Static neighbours are entered, moved to another station, removed: then they are resolved."""
    m = make(CONFIG6 + "ip route 10.0.0.0/8 198.51.100.2\n")
    m.learn(A)
    far, near, six = udp(A, "10.1.2.3"), udp(A, B), udp6(A, B)
    committed_live(m, "arp 198.51.100.2 %s" % B.mac, "ipv6 neighbor %s eth1 %s" % (B.ip6, B.mac))
    for packet in (far, near, six):
        m.send(0, ether(A, ROUTER[0]) / packet)
        m.expect(1, ether(ROUTER[1], B) / (hop6 if IPv6 in packet else hop)(packet))
    committed_live(m, "arp 198.51.100.2 %s" % B2.mac,
                   "ipv6 neighbor %s eth1 %s" % (B.ip6, B2.mac))
    for packet in (far, near, six):
        m.send(0, ether(A, ROUTER[0]) / packet)
        m.expect(1, ether(ROUTER[1], B2) / (hop6 if IPv6 in packet else hop)(packet))
    committed_live(m, "no arp 198.51.100.2", "no ipv6 neighbor %s" % B.ip6)
    assert "static" not in m.console("show arp") + m.console("show ipv6 neighbors")
    m.send(0, ether(A, ROUTER[0]) / near)
    m.expect(1, arp_request(ROUTER[1], B.ip))
    m.send(1, arp_reply(B, ROUTER[1]))
    m.expect(1, ether(ROUTER[1], B) / hop(near))
    m.send(0, ether(A, ROUTER[0]) / far)
    m.expect(1, ether(ROUTER[1], B) / hop(far))
    m.counted()


def test_static_neighbour_of_a_link_that_is_down(m):
    """It is known, and used when the link comes up."""
    m.learn(A)
    m.link(1, False)
    committed_live(m, "arp 198.51.100.2 %s" % B.mac)
    m.send(0, ether(A, ROUTER[0]) / udp(A, B))
    assert m.take(0).frame[34:36] == b"\3\1"  # host unreachable
    m.link(1, True)
    m.take_all(1)
    m.send(0, ether(A, ROUTER[0]) / udp(A, B))
    m.expect(1, ether(ROUTER[1], B) / hop(udp(A, B)))
    m.counted()


def test_icmp_limit_is_live(make):
    """The limit of data cores and control core: from the commit on, as many errors as the burst
    allows."""
    m = make(CONFIG + "ip icmp rate-limit 0\n")
    m.learn(A, B)
    lost = [ether(A, ROUTER[0]) / udp(A, "172.16.0.%d" % n) for n in range(1, 21)]

    def errors():
        m.send(0, *lost)
        return len(m.take_all(0))
    assert errors() == 0
    committed_live(m, "ip icmp rate-limit 1 burst 7")
    assert errors() == 7
    committed_live(m, "ip icmp rate-limit 1 burst 3")  # only the burst
    assert errors() == 3
    committed_live(m, "ip icmp rate-limit 1000 burst 20")
    assert errors() == 20
    committed_live(m, "ip icmp rate-limit 0")
    assert errors() == 0
    m.counted()


def test_arp_timeout_is_live(m):
    """CONFIG has 60 s."""
    committed_live(m, "arp timeout 600")
    m.learn(B)
    m.time(100 * SECOND)
    assert B.ip in m.console("show arp")
    committed_live(m, "arp timeout 60")
    m.learn(B)
    m.time(100 * SECOND)
    assert B.ip not in m.console("show arp")
    m.take_all(0), m.take_all(1)
    m.counted()


def test_idle_is_live(m):
    for word in ("poll", "sleep", "sleep spin 50", "sleep spin 1000000", "sleep", "poll"):
        committed_live(m, "idle %s" % word)
        assert "\nidle %s\n" % word in m.console("show version")


def test_a_machine_without_a_configuration(make):
    """A machine without a configuration gets one."""
    m = make(None, boot=False)
    said = run(m, "configure", "interface eth0", "ip address 192.0.2.1/24", "interface eth1",
               "ip address 198.51.100.1/24", "hostname r1", "commit")
    assert WORDS in said
    restarted(m)
    m.learn(A, B)
    m.route(udp(A, B))
    m.counted()


def test_a_bad_configuration_is_mended(make):
    m = make(CONFIG + "nonsense\n", boot=False)
    assert "nothing of the configuration is applied" in m.text
    run(m, "configure", "hostname r7", "commit")
    restarted(m)
    assert "nothing of the configuration is applied" not in m.text and prompt(m) == "r7(config)#"


def test_scripts_of_lines(m):
    """A pasted file: the printed configuration can be typed."""
    text = running(m)
    run(m, "configure")
    for line in text.splitlines():
        if line not in ("!", "end"):
            assert m.console(line.strip()) == "", line
    assert run(m, "show | compare") == ""


CHOICES = [
    "ip route 10.%(n)d.0.0/16 198.51.100.2", "ip route 10.%(n)d.0.0/16 192.0.2.2",
    "ip route 10.%(n)d.0.0/16 null0", "no ip route 10.%(n)d.0.0/16",
    "ip route 192.0.2.%(h)d/32 null0", "no ip route 192.0.2.%(h)d/32",
    "ip route 198.51.100.128/25 192.0.2.2", "no ip route 198.51.100.128/25",
    "ipv6 route 2001:db8:%(n)d::/48 2001:db8:1::99", "ipv6 route 2001:db8:%(n)d::/48 null0",
    "no ipv6 route 2001:db8:%(n)d::/48", "ipv6 route 2001:db8:1::%(n)d:0/112 null0",
    "no ipv6 route 2001:db8:1::%(n)d:0/112",
    "hostname r%(n)d", "interface eth0", "interface eth1", "exit", "description d %(n)d",
    "no description", "mtu 1400", "no mtu", "ipv6 address 2001:db8:1::%(n)d/64",
    "no ipv6 address 2001:db8:1::%(n)d/64", "ip address 203.0.113.%(h)d/24 secondary",
    "no ip address 203.0.113.%(h)d/24", "shutdown", "no shutdown",
    "arp 192.0.2.%(h)d 0200.0000.00%(h)02d", "no arp 192.0.2.%(h)d", "arp timeout %(h)d",
    "no arp timeout", "ipv6 nd ra interval 1%(h)d", "ipv6 nd ra suppress", "no ipv6 nd ra suppress",
    "ipv6 nd ra dns 2001:db8::%(n)d", "no ipv6 nd ra dns 2001:db8::%(n)d", "ip icmp rate-limit 10%(h)d", "no ip icmp rate-limit",
]


@pytest.mark.parametrize("seed", range(6))
def test_as_if_booted_with_it(make, seed):
    """Random statements with commits in between, live or not: tables and configuration equal those
    of a machine that boots with the text."""
    rng = random.Random(seed)
    m = make(CONFIG.replace(" ip address 192.0.2.1/24\n",
                            " ip address 192.0.2.1/24\n ipv6 address 2001:db8:1::1/64\n"))
    assert m.console("configure") == ""
    commits = 0
    for _ in range(300):
        line = rng.choice(CHOICES) % {"n": rng.randrange(6), "h": rng.randrange(10, 20)}
        m.console(line)
        if rng.random() < 0.1:
            said = m.console("commit")
            if "nothing is committed" in said:
                m.console("discard")
            elif "committed" in said:
                commits += 1
            m.time(SECOND)
            m.console("configure")
    m.console("discard")
    m.time(3 * SECOND)
    m.take_all(0), m.take_all(1)
    assert commits > 2
    m.console("end")
    text = running(m)
    fresh = make(text, boot=False)
    fresh.time(3 * SECOND)
    fresh.take_all(0), fresh.take_all(1)
    m.console("clear arp"), m.console("clear ipv6 neighbors")
    for command in "show running-config", "show ip route", "show ipv6 route":
        assert m.console(command) == fresh.console(command), command
    # in the order of the table's slots, which is that of their creation
    known = [sorted(line.split()[0] for line in machine.console("show arp").splitlines())
             for machine in (m, fresh)]
    assert known[0] == known[1]
    m.counted(), fresh.counted()


def test_hostile_lines(m):
    """A candidate of random words is bounded, and the machine continues."""
    rng = random.Random(7)
    run(m, "configure")
    words = [w for line in CHOICES for w in line.split()] + ["commit", "check", "no", "rollback",
                                                              "discard", "1", "\x7f", "x" * 60]
    for _ in range(600):
        m.key(" ".join(rng.choice(words) for _ in range(rng.randrange(1, 9))) + "\r")
        if rng.random() < 0.02:
            m.time(SECOND)
    m.key("\x03end\r")
    m.time(2 * SECOND)
    m.take_all(0), m.take_all(1)
    assert m.console("show version")
    m.counted()


def test_documentation(m):
    """The example of docs/configuration.md, line by line: the lines after the prompts produce the
    output below them."""
    with open(os.path.join(ROOT, "docs", "configuration.md")) as manual:
        text = manual.read()
    example = text[text.index("## Changing it"):].split("```\n")[1]
    steps = re.split(r"^(r\d+(?:\([a-z-]+\))?# .*)\n", example, flags=re.M)[1:]
    assert len(steps) > 30
    for typed, said in zip(steps[::2], steps[1::2]):
        shown, line = typed.split("# ", 1)
        assert prompt(m) == shown + "#"
        assert m.console(line) == said, line


def test_a_flood_of_lines(m):
    """Endless wrong lines, and too many right ones, take no more memory than the first of them, and
    leave a candidate that can be committed."""
    def type_all(lines):
        errors = 0
        for at in range(0, len(lines), 20):
            m.text = ""
            m.key("".join(line + "\r" for line in lines[at:at + 20]))
            errors += m.text.count("% ")
        return errors
    run(m, "configure")
    type_all(["ip route 10.0.0.0/24 null0"])
    taken = private_memory(m)
    run(m, "interface eth1")
    assert type_all(["frobnicate", "ip address 1", "mtu x", "no mtu 1"] * 2500) == 10000
    routes = ["ip route 10.%d.%d.0/24 null0" % (n >> 8, n & 255) for n in range(9000)]
    assert type_all(routes) == 9000 - 8192
    assert "a candidate adds at most 8192 routes of a family" in m.text
    assert private_memory(m) == taken
    assert run(m, "commit").endswith("committed\n")
