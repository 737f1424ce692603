"""The console over TCP of the real image: telnet on a terminal, nc in a script, and clients that do
not read."""
import os
import pty
import re
import select
import socket
import subprocess
import termios
import time

import pytest
from conftest import LEFT_HOST, LEFT_ROUTER, RIGHT_HOST, RIGHT_ROUTER, eventually, pings, router_config
from launcher import password
from family import LEFT6, LEFT_ROUTER6, RIGHT_ROUTER6, make_lab6  # noqa: F401

SECRET = "open sesame"
REMOTE = "console server\nconsole access 192.0.2.0/24\n%s\n" % password.line(SECRET.encode())


@pytest.fixture
def remote(make_lab):
    return make_lab(router_config(extra=REMOTE))


class Terminal:
    """A program of a host on a terminal of its own."""

    def __init__(self, host, argv):
        self.master, slave = pty.openpty()
        self.child = host.popen(argv, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        self.text = ""
        self.seen = 0

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.child.kill()
        self.child.wait()
        os.close(self.master)

    def read(self):
        while select.select([self.master], [], [], 0)[0]:
            try:
                self.text += os.read(self.master, 65536).decode("latin-1")
            except OSError:  # the program has ended
                return

    def expect(self, pattern, timeout_s=30):
        """Waits for the pattern after the last match; returns the text up to its end."""
        def found():
            self.read()
            return re.compile(pattern).search(self.text, self.seen)
        match = eventually(found, timeout_s, "%s in %r" % (pattern, self.text[self.seen:]))
        text = self.text[self.seen:match.end()]
        self.seen = match.end()
        return text

    def type(self, keys):
        os.write(self.master, keys.encode())


def test_telnet(remote):
    """Interactive use: the machine echoes keys; nothing echoes the password."""
    with Terminal(remote.left, ["telnet", LEFT_ROUTER]) as t:
        t.expect("Password: ")
        # after the negotiation of options, the machine does the echo
        eventually(lambda: not termios.tcgetattr(t.master)[3] & termios.ECHO, 10, "no echo")
        t.type("wrong\r")
        t.expect("wrong password\r+\nPassword: ")
        t.type(SECRET + "\r")
        t.expect("r1# ")
        assert "sesame" not in t.text and t.text.count("wrong") == 1, t.text
        t.type("sh ver\t")
        t.expect("version ")
        t.type("\r")
        assert "Hayate " in t.expect("\nr1# ")
        t.type("show ip route\r")
        assert "192.0.2.0/24 " in t.expect("\nr1# ")
        t.type("ping 192.0.2.99 count 100\r")
        t.expect("no answer to seq=1")
        t.type("\x03")
        t.expect(r"\^C\r\n\d+ sent, 0 received\r\nr1# ")
        t.type("exit\r")
        t.expect("closed by foreign host")
        assert t.child.wait(10) is not None
    remote.router.expect("console: %s logged out" % LEFT_HOST, 10)


def test_telnet_on_another_port(make_lab):
    """On another port the client does not start the negotiation."""
    lab = make_lab(router_config(extra=REMOTE.replace("server\n", "server port 2323\n")))
    with Terminal(lab.left, ["telnet", LEFT_ROUTER, "2323"]) as t:
        t.expect("Password: ")
        eventually(lambda: not termios.tcgetattr(t.master)[3] & termios.ECHO, 10, "no echo")
        t.type(SECRET + "\r")
        t.expect("r1# ")
        t.type("show arp\r")
        assert LEFT_HOST in t.expect("\nr1# ")
        t.type("\x1d")  # to the client's prompt, for Telnet's interrupt command
        t.expect("telnet> ")
        t.type("send ip\r")
        t.expect(r"\^C")
        t.type("quit\r")
        t.expect("closed by foreign host")


def nc(host, lines, address=LEFT_ROUTER):
    """The output of nc: it does not know Telnet, so the offer of our options is part of it."""
    child = host.popen(["nc", "-N", address, "23"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    said = child.communicate(lines.encode(), timeout=60)[0]
    assert said.startswith(b"\xff\xfb\x01\xff\xfb\x03")
    return said[6:].decode()


def test_nc(remote):
    """A script: all lines at once, then the end of input."""
    said = nc(remote.left, SECRET + "\nshow version\nping %s count 2\nshow arp\n" % LEFT_HOST)
    assert re.fullmatch(r"r1\s+This connection is not encrypted\.[^\r]*\s+Password: \s+r1# \s+Hayate [^#]*r1# \s+\d+ bytes from [^#]*"
                        r"2 sent, 2 received[^#]*r1# \s+address [^#]*r1# ", said), said
    assert nc(remote.left, "%s\nquit\nshow version\n" % SECRET).endswith("r1# \r\n")


def test_a_long_configuration(make_lab):
    """The configuration is generated while it is sent: it is complete, and forwarding continues."""
    routes = "".join("ip route 10.%d.%d.0/24 %s\n" % (n >> 8, n & 255, RIGHT_HOST)
                     for n in range(30000))
    lab = make_lab(router_config(extra=REMOTE + routes))
    said = nc(lab.left, SECRET + "\nshow running-config\nshow version\n").replace("\r", "")
    assert said.count("\nip route ") == 30000 and "output cut" not in said
    assert "\n" + "".join(sorted(routes.splitlines(True))) in \
        "\n" + "".join(sorted(line for line in said.splitlines(True) if line.startswith("ip route")))
    assert said.index("\nend\n") < said.index("Hayate ")
    pings(lab.left, RIGHT_HOST)


def test_access_list_and_other_side(remote):
    """A client that is not on the access list is reset, on each of our addresses."""
    for address in LEFT_ROUTER, RIGHT_ROUTER:
        client = remote.right.socket(kind=socket.SOCK_STREAM)
        client.settimeout(20)
        with client, pytest.raises(ConnectionResetError):
            client.connect((address, 23))
            client.recv(100)
            client.recv(100)
            client.send(b"x")
            client.recv(100)
    assert "Password" in nc(remote.left, "x\n")


def test_ip6(make_lab6):
    """The same over IPv6, with an access list of its own; a permitted IPv6 network permits nothing
    of IPv4."""
    lab = make_lab6(extra=REMOTE.replace("192.0.2.0/24", "2001:db8:1::/64"))
    for address in LEFT_ROUTER6, RIGHT_ROUTER6:
        said = nc(lab.left, SECRET + "\nshow ipv6 neighbors\n", address)
        assert re.search(r"%s +[0-9a-f:]{17} +eth0 " % LEFT6, said), said
    lab.router.expect("console: %s logged out" % LEFT6, 10)
    with Terminal(lab.left, ["telnet", LEFT_ROUTER6]) as t:
        t.expect("Password: ")
        t.type(SECRET + "\r")
        t.expect("r1# ")
        t.type("ping %s\r" % LEFT6)
        t.expect("5 sent, 5 received")
        t.type("quit\r")
        t.expect("closed by foreign host")
    for host, address in (lab.right, LEFT_ROUTER6), (lab.left, LEFT_ROUTER):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with host.socket(family, socket.SOCK_STREAM) as client, pytest.raises(ConnectionResetError):
            client.settimeout(20)
            client.connect((address, 23))
            client.recv(1)
            client.recv(1)


def login(host):
    client = host.socket(kind=socket.SOCK_STREAM)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    client.settimeout(30)
    client.connect((LEFT_ROUTER, 23))
    client.sendall(SECRET.encode() + b"\n")
    text = b""
    while not text.endswith(b"r1# "):
        text += client.recv(4096)
    return client


def test_slow_readers(make_lab):
    """Four clients request 2000 routes and do not read: forwarding and the serial console continue;
    the output that they read in the end is complete."""
    routes = "".join("ip route 10.%d.%d.0/24 %s\n" % (n >> 8, n & 255, RIGHT_HOST) for n in range(2500))
    lab = make_lab(router_config(extra=REMOTE + routes))
    clients = [login(lab.left) for _ in range(4)]
    for client in clients:
        client.sendall(b"show ip route\n")
    pings(lab.left, RIGHT_HOST, count=5)
    time.sleep(2)
    assert "10.9.195.0/24" in lab.router.command("show ip route 10.9.195.1")
    assert nc(lab.left, SECRET + "\n").endswith("all sessions are in use\r\n")
    for client in clients:
        text = b""
        while not text.endswith(b"r1# "):
            text += client.recv(65536)
        assert len(re.findall(rb"^S 10\.\d+\.\d+\.0/24 +via ", text, re.M)) > 1980
        assert re.search(rb"\.\.\. \d+ more\r\n\d+ prefixes", text)
        client.close()
    pings(lab.left, RIGHT_HOST)


def hold(host, source, address):
    """A connection to the console that says nothing; None: it was reset."""
    client = host.socket(socket.AF_INET6 if ":" in source else socket.AF_INET, socket.SOCK_STREAM)
    client.settimeout(20)
    try:
        client.bind((source, 0))
        client.connect((address, 23))
        assert client.recv(6)
    except ConnectionResetError:
        client.close()
        return None
    return client


def test_silent_connections_lock_nobody_out(make_lab6):
    """A host holds all places to log in, as one IPv4 address, or as many of one /64, and comes back as
    often as it is reset: another host logs in at once, over either family."""
    access = "".join("console access %s\n" % prefix for prefix in
                     ("198.51.100.0/24", "2001:db8:1::/64", "2001:db8:2::/64"))
    lab = make_lab6(extra=REMOTE + access)
    pings(lab.right, LEFT_ROUTER)
    sources = ["2001:db8:1::a%d" % n for n in range(8)]
    for source in sources:
        lab.left.ip("-6", "address", "add", source + "/64", "dev", "eth0", "nodad")
    for many, address in ([LEFT_HOST] * 8, LEFT_ROUTER), (sources, LEFT_ROUTER6):
        held = []
        for source in many:
            held.append(hold(lab.left, source, address))
        assert sum(client is not None for client in held) == 4
        for number in range(6):
            right = (RIGHT_ROUTER, RIGHT_ROUTER6)[number % 2]
            began = time.monotonic()
            said = nc(lab.right, SECRET + "\nshow version\n", right)
            assert "Hayate" in said and time.monotonic() - began < 10, said
            held += [hold(lab.left, source, address) for source in many]
        for client in filter(None, held):
            client.close()
        eventually(lambda: "Hayate" in nc(lab.left, SECRET + "\nshow version\n"), 20,
                   "the left host itself, when it has closed them")


def test_password_command(make_lab):
    """The configuration accepts the output of `hayate password`."""
    made = subprocess.run(["tools/hayate", "password", "--iterations", "5000"], input="geheim\n", text=True,
                          capture_output=True, check=True).stdout
    lab = make_lab(router_config(extra="console server\nconsole access 192.0.2.0/24\n" + made))
    assert "Hayate" in nc(lab.left, "geheim\nshow version\nexit\n")
    assert "wrong password" in nc(lab.left, "Geheim\n")
    assert made in lab.router.command("show running-config").replace("\r", "")


@pytest.mark.parametrize("cpus", [1, 2])
def test_hash_does_not_stop_the_machine(make_lab, cpus):
    """While a hash of ten million iterations is computed, packets are forwarded and the console
    answers."""
    costly = REMOTE.replace("$%d$" % password.ITERATIONS, "$10000000$")
    lab = make_lab(router_config(extra=costly), cpus=cpus)
    with lab.left.socket(kind=socket.SOCK_STREAM) as client:
        client.settimeout(20)
        client.connect((LEFT_ROUTER, 23))
        client.sendall(b"y\n")
        pings(lab.left, RIGHT_HOST, count=10)
        began = time.monotonic()
        lab.router.command("show version")
        assert time.monotonic() - began < 2
