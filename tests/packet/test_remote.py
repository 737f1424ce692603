"""The console over TCP (control/management/remote.c), over the real stack, segment by segment.
tests/unit/net/test_telnet.c tests the Telnet protocol byte by byte with net/telnet alone."""
import itertools
import os
import re
import sys

import pytest
from machine import *
from test_http import Client
from test_tcp import Peer

sys.path.insert(0, os.path.join(ROOT, "tools"))
from launcher import password  # noqa: E402

SECRET = b"open sesame"
HASH = password.line(SECRET, 1000, bytes(range(16)))
# neighbours stay known during a test
BASE = CONFIG.replace("arp timeout 60\n", "")
REMOTE = BASE + "console server\nconsole access 192.0.2.0/24\n" + HASH + "\n"

IAC, DONT, DO, WONT, WILL, SB, SE = 255, 254, 253, 252, 251, 250, 240
ECHO, SGA, TTYPE, NAWS = 1, 3, 24, 31
NOTICE = "This connection is not encrypted. An SSH server is (\"ssh server\").\r\n"
HELLO = bytes([IAC, WILL, ECHO, IAC, WILL, SGA])
AGREE = bytes([IAC, DO, ECHO, IAC, DO, SGA])


class Session(Client):
    """A client that acts as a terminal: `said` is all text so far, without Telnet commands."""

    def __init__(self, m, sport=40000, src=A, dport=23, telnet=True):
        super().__init__(m, dport=dport, sport=sport, src=src)
        self.options = []
        self.said = ""
        self.read()
        assert self.got.startswith(HELLO)
        if telnet:
            self.send("PA", AGREE)
        self.hear()

    def read(self, turns=2000):
        """As Client.read, but frames for other peers stay on the wire."""
        outs = self.m.outs[self.src.port]
        for _ in range(turns):
            others = [out for out in outs if out.frame[36:38] != self.sport.to_bytes(2, "big")]
            mine = [out for out in outs if out not in others]
            if not mine or self.ended == "reset":
                return self
            outs.clear()
            outs.extend(mine)
            while outs:
                segment = self.take()
                if "R" in str(segment.flags):
                    self.ended = "reset"
                    outs.clear()
                elif segment.seq == self.ack:
                    payload = bytes(segment.payload)
                    self.got += payload
                    self.ack += len(payload) + ("F" in str(segment.flags))
                    self.ended = self.ended or "F" in str(segment.flags)
            outs.extend(others)
            if not self.ended == "reset":
                self.send("A")
        raise AssertionError("no end")

    def hear(self):
        """Reads until the machine has no more output."""
        before = None
        while before != len(self.got):
            before = len(self.got)
            self.m.time(1 * MS)
            self.read()
        data, self.got = self.got, b""
        self.options += re.findall(rb"\xff([\xfb-\xfe])(.)", data, re.S)
        self.said += re.sub(rb"\xff[\xfb-\xfe].", b"", data, flags=re.S).decode("ascii")
        return self

    def type(self, data):
        """Sends keys; returns the resulting output."""
        self.said = ""
        for at in range(0, len(data), 1400):
            self.send("PA", data[at:at + 1400])
        return self.hear().said

    def login(self, secret=SECRET):
        assert self.said.endswith("Password: "), self.said
        self.type(secret + b"\r\n")
        assert self.said == "\r\nr1# ", self.said
        return self

    def run(self, line):
        """The output of a command."""
        said = self.type(line + b"\r\n")
        assert said.startswith(line.decode() + "\r\n") and said.endswith("\r\nr1# "), said
        return said[len(line) + 2:-len("r1# ")].replace("\r", "")


def make_known(make, config=REMOTE, **more):
    machine = make(config, **more)
    machine.learn(A, A2, B)
    machine.text = ""
    return machine


@pytest.fixture
def r(make):
    return make_known(make)


sports = itertools.count(50000)


def metric(m, name):
    """A value of /metrics, whose server the test must configure."""
    text = Client(m, sport=next(sports)).get("/metrics")[2].decode()
    return int(re.search(r"^hayate_console_%s (\d+)$" % name, text, re.M)[1])


def test_login_and_commands(r):
    s = Session(r)
    assert s.said == "r1\r\n" + NOTICE + "Password: "
    s.login()
    assert s.run(b"show version").startswith("Hayate ")
    assert s.run(b"show ip route").splitlines()[-1].endswith("prefixes")
    assert 'unknown word "nonsense"' in s.run(b"nonsense")
    assert s.type(b"sh ver\t") == "sh version "  # completion
    s.type(b"\x15")
    assert "counters" in s.type(b"show ?")
    assert "console: 192.0.2.2 logged in" in r.text
    assert s.type(b"\x15exit\r\n").endswith("exit\r\n") and s.ended is True
    s.send("FA")
    s.take("A")
    assert "console: 192.0.2.2 logged out" in r.text
    assert SECRET.decode() not in r.text


def test_password_is_not_shown(r):
    s = Session(r)
    assert s.type(SECRET[:4]) == "" and s.type(b"x\x7f") == "" and s.type(b"y\x08") == ""
    assert s.type(SECRET[4:] + b"\r\0") == "\r\nr1# "


def test_password_line_editing(r):
    s = Session(r)
    assert s.type(b"wrong\x15" + SECRET + b"\r\n") == "\r\nr1# "
    s = Session(r, sport=40001)
    assert s.type(b"wrong\x03" + SECRET + b"\n") == "\r\nr1# "
    s = Session(r, sport=40002)
    s.type(b"\x04")
    assert s.ended is True


def test_wrong_password(r):
    """The answer comes after two seconds; the third failure closes; the log reports it without the
    password."""
    s = Session(r)
    for n in range(3):
        assert s.type(b"guess%d\r\n" % n) == "\r\n"
        r.time(SECOND)
        assert s.type(b"") == ""
        r.time(SECOND)
        s.hear()
        assert s.said == "wrong password\r\n" + ("Password: " if n < 2 else "")
    assert s.ended is True
    assert r.text.count("console: 192.0.2.2 sent a wrong password") == 3 and "guess" not in r.text


@pytest.mark.parametrize("secret", [b"", SECRET + b" ", SECRET[:-1], SECRET.upper(), b"x" * 128, b"x" * 129,
                                    b"x" * 3000, SECRET + b"\0x", b"\x80\xfe" * 9])
def test_wrong_passwords(r, secret):
    s = Session(r)
    s.type(secret + b"\r\n")
    r.time(3 * SECOND)
    assert s.hear().said.endswith("wrong password\r\nPassword: ")
    s.type(SECRET + b"\r\n")
    assert s.said.endswith("r1# ")


def test_longest_password(make):
    secret = bytes(33 + i % 90 for i in range(128))
    m = make_known(make, REMOTE.replace(HASH, password.line(secret, 2000)))
    Session(m).login(secret)


def test_guesses_are_limited(make):
    """Five at once, then one in ten seconds, however many connections there are; the right one waits in
    line and does not count."""
    m = make_known(make, REMOTE + WEB)
    for n in range(3):  # logins take nothing
        s = Session(m, sport=41000 + n).login()
        s.type(b"exit\r\n")
        s.send("FA")
        s.read()
    guessers = [Session(m, sport=40000 + n) for n in range(3)]
    for s in guessers:
        s.type(b"a\r\n")
    m.time(3 * SECOND)
    for s in guessers:
        assert s.hear().said.endswith("wrong password\r\nPassword: ")
        s.type(b"b\r\n")
    m.time(4 * SECOND)
    said = [s.hear().said.count("wrong") for s in guessers]
    assert sorted(said) == [0, 1, 1]  # the sixth waits
    late = Session(m, sport=42000)
    assert late.type(SECRET + b"\r\n") == "\r\n"
    m.time(14 * SECOND)
    late.hear()
    for s in guessers:
        s.hear()
    assert sum(s.said.count("wrong") for s in guessers) == 3
    if not late.said.endswith("r1# "):
        m.time(10 * SECOND)
        assert late.hear().said.endswith("r1# ")
    assert metric(m, "wrong_passwords_total") == 6
    assert metric(m, "logins_total") == 4
    assert metric(m, "connections") == 4


def test_access_list(make):
    m = make_known(make, REMOTE.replace("192.0.2.0/24", "192.0.2.2/32") + WEB)
    Session(m).login()
    p = Peer(m, dport=23, src=A2)
    p.send("S")
    p.ack = p.take("SA").seq + 1
    p.send("A")
    assert "R" in str(p.take().flags)
    p = Peer(m, dport=23, src=B)
    p.send("S")
    p.ack = p.take("SA").seq + 1
    p.send("A")
    assert "R" in str(p.take().flags)
    assert metric(m, "refused_total") == 2


def test_off_unless_stated(m):
    p = Peer(m, dport=23)
    p.send("S")
    p.take("RA")


@pytest.mark.parametrize("drop,reason", [
    (HASH, "the server needs a password; add the line that \"tools/hayate password\" prints, or users"),
    ("console access 192.0.2.0/24\n", "the server needs an access list")])
def test_needs_password_and_access_list(make, drop, reason):
    m = make(REMOTE.replace(drop, ""), boot=False)
    m.time(3 * SECOND)
    line = REMOTE.splitlines().index("console server") + 1
    assert ":%d: %s" % (line, reason) in m.text
    assert "nothing of the configuration is applied" in m.text


def test_four_sessions(make):
    """Four are logged in; a fifth is let in when one has gone."""
    m = make_known(make, REMOTE + WEB)
    sessions = [Session(m, sport=40000 + n).login() for n in range(4)]
    fifth = Session(m, sport=40010)
    assert fifth.type(SECRET + b"\r\n") == "\r\nall sessions are in use\r\n" and fifth.ended is True
    assert "console: 192.0.2.2 found all sessions in use" in m.text
    assert metric(m, "full_total") == 1
    sessions[2].type(b"exit\r\n")
    sessions[2].send("FA")
    sessions[2].read()
    Session(m, sport=40011).login()
    for n in 0, 1, 3:  # each session has its own line and history
        sessions[n].type(b"comment%d" % n)
    for n in 0, 1, 3:
        assert sessions[n].type(b"\x0c").endswith("r1# comment%d" % n)


BOTH = REMOTE + "console access 198.51.100.0/24\n"


def is_reset(m, sport, src=A):
    """A connection that finds no place to log in."""
    p = Peer(m, dport=23, sport=sport, src=src)
    p.send("S")
    p.ack = p.take("SA").seq + 1
    p.send("A")
    return "R" in str(p.take().flags)


def test_who_does_not_log_in_leaves_room(make):
    """One address has all places where passwords are asked for, and says nothing. It gets no more of
    them; another one takes the oldest, and none is taken from who has no more than others."""
    m = make_known(make, BOTH + WEB)
    silent = [Session(m, sport=40000 + n) for n in range(4)]
    assert all(is_reset(m, 40100 + n) for n in range(20))
    one = Session(m, src=B, sport=41000)
    assert one.said == "r1\r\n" + NOTICE + "Password: "
    assert [s.read().ended for s in silent] == ["reset", False, False, False]
    assert all(is_reset(m, 40200 + n) for n in range(20))
    two = Session(m, src=B, sport=41001)
    assert [s.read().ended for s in silent] == ["reset", "reset", False, False]
    assert is_reset(m, 41002, src=B)
    assert not one.read().ended
    one.login()  # its place for the password is free
    two.login()
    assert metric(m, "full_total") == 20 + 1 + 20 + 1 + 1


def test_ssh_clients_without_keys_leave_room(make):
    """Eight addresses have a place of SSH each, and exchange no keys. In the first five seconds another one is turned
    away; then it takes the place of the oldest, but an address that has one gets no second one."""
    m = make(BASE + HASH + "\nssh server\nssh access 192.0.2.0/24\nssh access 198.51.100.0/24\n")
    stations = [Station(0, "192.0.2.%d" % n, "02:aa:00:00:01:%02x" % n) for n in range(10, 18)]
    m.learn(*stations, B)
    silent = []
    for n, station in enumerate(stations):
        silent.append(Client(m, dport=22, sport=40000 + n, src=station).read())
        m.time(100 * MS)
    assert all(s.got.startswith(b"SSH-2.0-") and not s.ended for s in silent)

    def reset():
        """The clients of port 0 that have been reset since the last call."""
        frames = [out.frame for out in m.outs[0]]
        m.outs[0].clear()
        return [int.from_bytes(f[36:38], "big") - 40000 for f in frames if f[47] & 4]

    assert Client(m, dport=22, sport=41000, src=B).read().ended == "reset"
    silent[1].ask(b"SSH-2.0-x\r\n")
    m.time(4300 * MS)  # 5.1 s after the first, 5.0 after the second, 4.4 after the last
    assert not Client(m, dport=22, sport=41001, src=B).read().ended
    assert reset() == [0]
    assert Client(m, dport=22, sport=41002, src=B).read().ended == "reset"
    m.time(SECOND)
    late = Station(0, "192.0.2.9", "02:aa:00:00:01:09")
    m.learn(late)
    m.outs[0].clear()
    p = Peer(m, dport=22, sport=41003, src=late)
    p.send("S")
    p.ack = p.take("SA").seq + 1
    p.send("A")
    assert reset() == [1]


def test_ssh_log_in_has_half_a_minute(make):
    """RFC 4252 4."""
    m = make(BASE + HASH + "\nssh server\nssh access 192.0.2.0/24\n")
    m.learn(A)
    c = Client(m, dport=22).ask(b"SSH-2.0-x\r\n")
    m.time(29 * SECOND)
    assert not c.read().ended
    m.time(2 * SECOND)
    assert c.read().ended is True


def test_logged_in_sessions_leave_room(make):
    """One address has all four. Who logs in from another one takes the place of those that it has more
    of, that which has been idle for longest first; beyond that, one that has been idle for a minute."""
    m = make_known(make, BOTH)
    many = []
    for n in range(4):
        many.append(Session(m, sport=40000 + n).login())
        m.time(SECOND)
    many[0].run(b"show version")
    one = Session(m, src=B, sport=41000).login()
    assert many[1].hear().said.endswith("\r\nclosed: another login needs the session\r\n")
    assert many[1].ended is True
    assert "console: 192.0.2.2 made room for another login" in m.text
    assert "console: 192.0.2.2 logged out" in m.text
    two = Session(m, src=B, sport=41001).login()
    assert many[2].hear().ended is True and not many[3].hear().ended and not many[0].hear().ended
    late = Session(m, src=B, sport=41002)
    late.type(SECRET + b"\r\n")
    assert late.said == "\r\nall sessions are in use\r\n" and late.ended is True
    late.send("FA")
    m.take_all(1)
    for s in many[0], many[3], one, two:
        s.run(b"show version")
    m.time(50 * SECOND)
    one.run(b"show version"), two.run(b"show version"), many[0].run(b"show version")
    m.time(11 * SECOND)
    again = Session(m, src=B, sport=41003).login()
    assert many[3].hear().ended is True
    for s in one, two, again, many[0]:
        s.run(b"show version")
    m.take_all(0)


def test_sessions_whose_peer_has_vanished(make):
    """Four of them lock nobody out: who logs in again from the same address takes the place of one that
    has been idle for a minute."""
    m = make_known(make)
    for n in range(4):
        Session(m, sport=40000 + n).login()
    m.time(58 * SECOND)
    late = Session(m, sport=40010)
    assert late.type(SECRET + b"\r\n").endswith("all sessions are in use\r\n")
    late.send("FA")
    m.time(3 * SECOND)
    m.take_all(0)
    for n in range(4):
        s = Session(m, sport=40020 + n).login()
        assert s.run(b"show version").startswith("Hayate ")
        m.take_all(0)
    late = Session(m, sport=40030)
    assert late.type(SECRET + b"\r\n").endswith("all sessions are in use\r\n")
    m.take_all(0)


@pytest.mark.parametrize("first", [True, False])
def test_guesses_take_turns(make, first):
    """Who guesses on and on, on all the connections that it has, has every other guess at most: another
    address has the next one, whoever connected first."""
    m = make_known(make, BOTH)
    late = Session(m, src=B, sport=41000) if first else None
    guessers = [Session(m, sport=40000 + n) for n in range(3)]
    late = late or Session(m, src=B, sport=41000)
    for second in range(60):
        for k, s in enumerate(guessers):
            if s.ended:
                s.send("FA")
                m.take_all(0)
                s = guessers[k] = Session(m, sport=42000 + 100 * k + second)
            if s.said.endswith("Password: "):
                s.said = ""
                s.type(b"guess\r\n")
        if second == 15:  # all guesses are used up
            assert late.type(SECRET + b"\r\n") == "\r\n"
        m.time(SECOND)
        for s in guessers:
            s.hear()
        late.hear()
        assert not late.ended
        if late.said.endswith("r1# "):
            break
    assert 15 < second <= 15 + 11
    m.take_all(0)


def test_waiting_for_a_guess_is_no_delay(make):
    """Four connections ask at once when all guesses are used up: each has its turn, the last one after
    more than its half a minute to log in."""
    m = make_known(make, BOTH)
    for n in range(2):
        spender = Session(m, sport=40000 + n)
        for _ in range(3):
            spender.type(b"guess\r\n")
            m.time(3 * SECOND)
            spender.hear()
        spender.send("FA")
        m.take_all(0)
    sessions = [Session(m, src=src, sport=41000 + n) for n, src in enumerate((A, A2, B, B))]
    for s in sessions:
        s.type(b"guess\r\n")
    answered, seconds = set(), 0
    while len(answered) < 4 and seconds < 60:
        m.time(SECOND)
        seconds += 1
        for n, s in enumerate(sessions):
            if "wrong password" in s.hear().said:
                answered.add(n)
            assert n in answered or not s.ended
    assert len(answered) == 4 and seconds > 30
    m.time(40 * SECOND)
    m.take_all(0), m.take_all(1)


def test_exit_on_the_serial_console(m):
    assert "nothing to leave" in m.console("exit")


def test_log_lines_stay_on_the_serial_console(r):
    s = Session(r).login()
    r.link(1, False)
    assert "eth1: link down" in r.text and s.type(b"") == ""


def test_telnet_options(r):
    """As inetutils and Windows negotiate; other options than ours are refused, once."""
    s = Session(r, telnet=False)
    s.send("PA", bytes([IAC, DO, SGA, IAC, WILL, TTYPE, IAC, WILL, NAWS, IAC, DO, 5, IAC, DO, ECHO]))
    s.hear()
    assert s.options == [(b"\xfb", b"\1"), (b"\xfb", b"\3"), (b"\xfe", b"\x18"), (b"\xfe", b"\x1f"),
                         (b"\xfc", b"\5")]
    s.options = []
    s.send("PA", bytes([IAC, WILL, TTYPE, IAC, DO, ECHO, IAC, SB, NAWS, 0, 80, 0, 24, IAC, SE]))
    s.hear().login()
    assert s.options == []
    s.said = ""
    s.send("PA", b"wrong" + bytes([IAC, 248]) + b"show versionX" + bytes([IAC, 247]) + b"\r\0")
    assert "Hayate " in s.hear().said
    s.said = ""
    s.send("PA", bytes([IAC, 246]))  # are you there?
    assert s.hear().said == "\r\nr1# "


def test_plain_lines(r):
    """nc: no Telnet, LF at the end of lines, all input at once, then its end. No echo."""
    s = Session(r, telnet=False)
    s.send("PA", SECRET + b"\nshow version\nshow arp\n")
    s.send("FA")
    said = s.hear().said
    for _ in range(10):
        s.hear()
    said = s.said
    assert re.match(r"r1\r\n" + re.escape(NOTICE) + r"Password: \r\nr1# \r\nHayate [^#]*\r\nr1# \r\naddress [^#]*\r\nr1# $", said), said
    assert s.ended is True


def test_exit_in_a_script(r):
    s = Session(r, telnet=False)
    s.type(SECRET + b"\nshow version\nquit\nshow arp\n")
    assert "Hayate" in s.said and "address" not in s.said and s.ended is True


def long_config(n):
    return REMOTE + "".join("ip route 10.%d.%d.0/24 192.0.2.9\n" % (i >> 8, i & 255) for i in range(n))


def test_long_output(make):
    """More than 2000 routes, complete, through TCP's window."""
    m = make_known(make, long_config(3000))
    s = Session(m).login()
    said = s.run(b"show ip route")
    assert len(said.splitlines()) == 2002 and len(said) > 100000
    assert said == m.console("show ip route")


def test_output_is_cut_and_says_so(make):
    """More than a session's buffer; the session continues."""
    rule = " permit tcp 10.20.30.0/24 range 1024 65535 host 198.51.100.77 eq %d established\n"
    lists = "".join("ip access-list L%d\n" % n + "".join(rule % k for k in range(2000))
                    for n in range(2))
    m = make_known(make, REMOTE + lists, memory=60000)
    s = Session(m).login()
    said = s.run(b"show access-lists")
    whole = m.console("show access-lists")
    cut = re.search(r"\n\.\.\. output cut: (\d+) bytes more\n$", said)
    assert cut and len(whole) > 260000
    kept = said[:cut.start()]
    assert whole.startswith(kept) and len(kept) > 250000
    assert len(whole.replace("\n", "\r\n")) == len(kept.replace("\n", "\r\n")) + int(cut[1])
    assert s.run(b"show version").startswith("Hayate ")


def test_a_configuration_of_any_length(make):
    """The configuration is printed as fast as the peer receives it, and input typed meanwhile is
    processed after it."""
    m = make_known(make, long_config(12000))
    s = Session(m).login()
    whole = m.console("show running-config")
    assert len(whole) > 300000
    assert s.run(b"show running-config") == whole
    said = s.type(b"show running-config\r\nshow version\r\n")
    assert said.index("\r\nend\r\n") < said.index("Hayate ")


def test_a_configuration_that_changes_while_it_is_printed(make):
    m = make_known(make, long_config(1500))
    s = Session(m).login()
    s.send("PA", b"show running-config\r\n", window=3000)
    for line in ("configure", "hostname r2", "commit", "end"):
        assert "%" not in m.console(line)
    s.said = ""
    said = s.hear().said.replace("\r\n", "\n")
    assert said.rstrip().endswith("r2#") and "\nend\n" not in said
    assert "\n% a commit has changed the configuration meanwhile\n" in said
    assert "\r\nhostname r2\r\n" in s.type(b"show running-config\r\n")


def test_a_candidate_of_any_length(make):
    """The same for a candidate, and for its differences: of a list, and of routes."""
    rule = " permit tcp 10.20.30.0/24 range 1024 65535 host 198.51.100.77 eq %d established\n"
    rules = "ip access-list L\n" + "".join(rule % k for k in range(4000))
    m = make_known(make, long_config(6000) + rules, memory=60000)
    s = Session(m).login()
    for line in "configure", "no ip access-list L", "no ip route 10.1.0.0/24", "hostname r2":
        assert "%" not in m.console(line)
    compared = m.console("show | compare")
    assert len(compared) > 300000 and compared.count("\n-") == 4002 and "\n+hostname r2\n" in compared
    assert s.run(b"show configuration | compare") == compared
    m.console("discard"), m.console("no ip route 10.1.0.0/24")
    whole = m.console("show configuration")
    assert len(whole) > 500000 and whole.count("ip route") == 5999
    assert s.run(b"show configuration") == whole
    said = s.type(b"show configuration\r\nshow version\r\n")
    assert said.index("\r\nend\r\n") < said.index("Hayate ")


def test_a_candidate_that_changes_while_it_is_printed(make):
    m = make_known(make, long_config(1500))
    s = Session(m).login()
    s.send("PA", b"show configuration\r\n", window=3000)
    for line in "configure", "hostname r2", "end":
        assert "%" not in m.console(line)
    s.said = ""
    said = s.hear().said.replace("\r\n", "\n")
    assert "\nend\n" not in said
    assert "\n% the candidate has changed meanwhile\n" in said
    assert "+hostname r2\r\n" in s.type(b"show configuration | compare\r\n")


def test_interrupt_ends_a_long_configuration(make):
    m = make_known(make, long_config(12000))
    s = Session(m).login()
    s.send("PA", b"show running-config\r\n", window=3000)
    s.send("PA", b"\x03", window=3000)
    s.said = ""
    said = s.hear().said
    assert "^C" in said and len(said) < 100000
    assert s.run(b"show version").startswith("Hayate ")


def test_interrupt_ends_output(make):
    """Ctrl-C while a peer reads slowly: output that TCP has not taken and input typed ahead are
    discarded."""
    m = make_known(make, long_config(2000))
    s = Session(m).login()
    s.send("PA", b"show ip route\r\n", window=3000)
    s.send("PA", b"show version\r\n\x03", window=3000)
    said = s.hear().said
    assert said.endswith("^C\r\nr1# ") and "Hayate" not in said
    assert 10000 < len(said) < 40000
    assert s.run(b"show version").startswith("Hayate ")


def take_icmp(m):
    """The only ICMP packet among the sent frames; the others stay."""
    found = [out for out in m.outs[0] if IP(out.frame[14:]).proto == 1]
    assert len(found) == 1
    m.outs[0].remove(found[0])
    return IP(found[0].frame[14:])


def test_typed_ahead(r):
    """Commands wait for the output of earlier ones, and for a ping."""
    s = Session(r).login()
    s.type(b"show arp\r\n" * 30)
    assert s.said.count("192.0.2.2 ") == 30
    s.said = ""
    s.send("PA", b"ping 192.0.2.2 count 1\r\nshow version\r\n")
    request = take_icmp(r)
    r.send(0, ether(A, ROUTER[0]) / IP(src=A.ip, dst=ROUTER[0].ip, id=9) /
           ICMP(type=0, id=request[ICMP].id, seq=request[ICMP].seq) / bytes(request[ICMP].payload))
    assert re.search(r"bytes from 192.0.2.2.*1 sent, 1 received.*# show version\r\nHayate ",
                     s.hear().said, re.S), s.said


@pytest.mark.parametrize("interrupt", [b"\x03", b"\xff\xf4", b"\xff\xf4\xff\xf2", b"\xff\xf3"])
def test_interrupt_ends_ping(r, interrupt):
    s = Session(r).login()
    assert s.type(b"ping 192.0.2.77 count 100\r\n") == "ping 192.0.2.77 count 100\r\n"
    s.type(b"ignored\r\n")
    assert s.type(interrupt).startswith("^C\r\n1 sent, 0 received\r\nr1# ")
    assert s.run(b"show version").startswith("Hayate ")
    r.take_all(0)


def test_one_ping(r):
    """A second console is refused; when the first one disconnects, ping is free."""
    first, second = Session(r).login(), Session(r, sport=40001).login()
    first.type(b"ping 192.0.2.77 count 100\r\n")
    assert "ping is busy" in second.run(b"ping 192.0.2.78")
    assert "ping is busy" in r.console("ping 192.0.2.78")
    first.send("RA")
    second.type(b"ping 192.0.2.78 count 1\r\n")
    r.time(5 * SECOND)
    r.take_all(0)
    second.m.outs[0].clear()
    assert "console: 192.0.2.2 logged out" in r.text


def test_ends(r):
    """Who does not log in has half a minute, who does not type ten."""
    silent, session = Session(r), Session(r, sport=40001).login()
    r.time(28 * SECOND)
    assert not silent.hear().ended
    r.time(3 * SECOND)
    assert "the login took too long" in silent.hear().said and silent.ended is True
    silent.send("FA")
    r.time(500 * SECOND)
    session.hear()
    assert not session.ended
    session.run(b"show version")
    r.time(590 * SECOND)
    assert not session.hear().ended
    r.time(12 * SECOND)
    assert "nothing was typed for 10 minutes" in session.hear().said and session.ended is True
    r.take_all(0)


def test_peer_that_does_not_read(make):
    """A window that stays closed: after ten minutes the session ends."""
    m = make_known(make, long_config(2000))
    for n in range(4):
        s = Session(m, sport=40000 + n).login()
        s.send("PA", b"show ip route\r\n", window=0)
    for _ in range(660):
        m.time(SECOND)
        for frame in m.take_all(0):
            segment = IP(frame[14:]).payload
            if segment.name != "TCP":
                continue
            p = Peer(m, dport=23, sport=segment.dport)
            p.seq, p.ack = segment.ack, segment.seq
            if "R" not in str(segment.flags):
                p.send("A", window=0)
    m.take_all(0)
    Session(m, sport=40100).login()


def test_restart_of_the_ports_ends_sessions(r):
    """One session has a running ping, which ends too."""
    s = Session(r).login()
    s.type(b"ping 192.0.2.77 count 100\r\n")
    r.command("restart")
    r.take_all(0)
    assert "console: 192.0.2.2 logged out" in r.text
    r.learn(A)
    s.send("PA", b"x")
    assert "R" in str(s.take().flags)
    again = Session(r, sport=40001).login()
    assert "busy" not in again.type(b"ping 192.0.2.78\r\n")
    assert "1 sent" in again.type(b"\x03")
    r.time(2 * SECOND)
    r.take_all(0)
    r.take_all(1)


def test_beside_an_echo_server(make):
    """TCP on the data cores passes the console's segments on."""
    m = make_known(make, BASE + "application echo\nconsole server port 2323\nconsole access 192.0.2.0/24\n" +
                   HASH + "\n")
    s = Session(m, dport=2323).login()
    assert s.run(b"show version").startswith("Hayate ")
    p = Peer(m, sport=40001).open()
    p.send("PA", b"echo")
    assert p.receive() == b"echo"


def test_running_config(r, make):
    """The session prints the hash, and the output can be loaded."""
    text = Session(r).login().run(b"show running-config")
    assert HASH + "\n" in text and "console server port 23\n" in text
    assert "console access 192.0.2.0/24\n" in text
    m = make_known(make, text)
    Session(m).login()
    assert m.console("show running-config") == text


def test_nonsense(r):
    """Random bytes before and after the password do no harm."""
    import random
    rng = random.Random(int(os.environ.get("SEED", "1")))
    for n in range(10):
        s = Session(r, sport=40000 + n)
        if n % 2:
            s.login()
        for _ in range(20):
            s.send("PA", bytes(rng.randrange(256) for _ in range(rng.randrange(1, 300))))
            s.read()
            if s.ended:
                break
        s.send("RA")
        r.take_all(0)
        r.time(30 * SECOND)
        r.take_all(0)
    Session(r, sport=45000).login()
