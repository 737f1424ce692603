"""Users and their roles on the console over TCP (control/management/remote.c, control/cli/roles.c)."""
import re

import pytest
from machine import *
from test_remote import BASE, NOTICE, SECRET, Session, make_known, password

DOC = open(ROOT + "/docs/console.md", encoding="utf-8").read()
TOKEN, TOKEN_LINE = password.token("noc", bytes(32))
USERS = BASE + "console server\nconsole access 192.0.2.0/24\n" + "".join(
    password.line(SECRET, 1000, bytes(range(16)), user=name, role=name) + "\n"
    for name in ("read", "operate", "configure")) + "username noc role read\n" + TOKEN_LINE + "\n"


def login(m, user, sport=40000, secret=SECRET, telnet=True):
    s = Session(m, sport=sport, telnet=telnet)
    assert s.said == "r1\r\n" + NOTICE + "Username: "
    assert s.type(user + b"\r\n") == user.decode() * telnet + "\r\nPassword: "
    s.type(secret + b"\r\n")
    if secret == SECRET:
        assert s.said == "\r\nr1# ", s.said
    return s


@pytest.mark.parametrize("app,config", [("router", BASE), ("switch", "application switch\n"), ("web", BASE),
                                        ("echo", BASE)])
def test_every_command_has_a_role(make, app, config):
    """And docs/console.md says which."""
    m = make(config.replace("application router\n", ""), app=app, options="test=1")
    stated = dict(reversed(line.split(None, 1)) for line in m.console("test roles").splitlines())
    rules = {words: role for role, cell in re.findall(r"^\| (read|operate|configure) \| (`.*) \|$", DOC, re.M)
             for words in re.findall("`([^`]+)`", cell)}
    assert len(stated) > 50 and len(rules) > 15
    for command, role in stated.items():
        best = max((r for r in rules if (command + " ").startswith(r + " ")), key=len, default=None)
        assert best and rules[best] == role, (command, role, best)


def test_roles(make):
    m = make_known(make, USERS)
    s = login(m, b"read")
    assert "console: read from 192.0.2.2 logged in" in m.text
    assert s.run(b"show version").startswith("Hayate ")
    for line, needs in (b"ping 192.0.2.2", "operate"), (b"clear counters", "operate"), (b"configure", "configure"), \
            (b"reload", "operate"):
        assert s.run(line) == "% this needs the role " + needs + "; read has the role read\n"
    said = s.run(b"show running-config")
    assert "\n! username read role read password: not shown\n" in said and "$pbkdf2" not in said
    assert "\n! username noc token: not shown\n" in said
    o = login(m, b"operate", 40001)
    assert "r1# " in o.type(b"clear counters\r\n") and "role" not in o.said
    assert "this needs the role configure" in o.run(b"configure")
    c = login(m, b"configure", 40002)
    assert "$pbkdf2" in c.run(b"show running-config") and TOKEN_LINE in c.said
    assert "r1(config)# " in c.type(b"configure\r\n")
    assert c.type(b"no username operate\r\n").endswith("r1(config)# ")
    assert c.type(b"username read role operate\r\n").endswith("r1(config)# ")
    s.run(b"show configuration | compare")
    assert s.said.count("$") == 0 and "-! username operate role operate password: not shown" in s.said
    assert c.type(b"commit\r\n").endswith("committed\r\nr1(config)# ")
    assert "configuration: committed by configure from 192.0.2.2" in m.text
    assert "role" not in s.type(b"clear counters\r\n")  # the new role, in the open session
    assert "the user operate is not configured any more" in o.type(b"show version\r\n") and o.ended is True
    assert "configure from 192.0.2.2" in c.type(b"show configuration history\r\n")


def test_a_lowered_role_in_the_configuration_mode(make):
    m = make_known(make, USERS)
    c = login(m, b"configure")
    c.type(b"configure\r\ninterface eth0\r\n")
    for line in "configure", "username configure role read", "commit", "end":
        m.console(line)
    assert "this needs the role configure; configure has the role read" in c.type(b"description x\r\n")
    assert "this needs" in c.type(b"capture server port 99\r\n") and "this needs" in c.type(b"commit\r\n")
    assert c.type(b"end\r\n").endswith("\r\nr1# ") and "description x" not in m.console("show configuration")


@pytest.mark.parametrize("user,secret", [(b"read", b"wrong"), (b"nobody", SECRET), (b"noc", SECRET), (b"", SECRET),
                                         (b"r" * 300, SECRET), (b"READ", SECRET)])
def test_refused(make, user, secret):
    """All the same to the peer; a name that is no user's is not logged, because it may be a password."""
    m = make_known(make, USERS)
    s = Session(m, telnet=False)
    s.type(user + b"\n" + secret + b"\n")
    m.time(3 * SECOND)
    assert s.hear().said.endswith("wrong password\r\nUsername: ")
    known = user in (b"read", b"noc")
    assert "console: %s192.0.2.2 sent a wrong password" % (user.decode() + " from " if known else "") in m.text
    assert user == b"" or known or user.decode() not in m.text


def test_editing_the_name(make):
    m = make_known(make, USERS)
    s = Session(m)
    assert s.type(b"rex\x7fad\r\n") == "rex\b \bad\r\nPassword: "
    assert s.type(SECRET + b"\r\n") == "\r\nr1# "
    s = Session(m, sport=40001)
    assert s.type(b"\x7f\b") == ""  # there is nothing to erase
    assert s.type(b"x" * 30 + b"\x15") == "x" * 21 + "\r\nUsername: "
    s.type(b"\x04")
    assert s.ended is True
