"""The SSH server of the real image against clients nobody here wrote: OpenSSH, Dropbear, ssh-audit."""
import re
import socket
import subprocess

import pytest
from certificate_authority import Authority
from conftest import LEFT_ROUTER, RIGHT_HOST, eventually, pings, router_config
from launcher import password
from test_remote import Terminal

SECRET = "open sesame"
ROUTES = 2000  # some 100 KiB of `show ip route`


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """Users' keys of each type that may be stated, and one that nobody has: {type: path}."""
    made = {}
    work = tmp_path_factory.mktemp("keys")
    for name, kind in (("ed25519", "ed25519"), ("ecdsa", "ecdsa"), ("stranger", "ed25519")):
        made[name] = str(work / name)
        subprocess.run(["ssh-keygen", "-q", "-N", "", "-t", kind, "-f", made[name]], check=True)
    return made


def ssh_config(keys):
    lines = ["ssh server", "ssh access 192.0.2.0/24",
             password.line(SECRET.encode(), 1000, user="admin"),
             "username reader role read"]
    for user, name in (("admin", "ed25519"), ("reader", "ecdsa")):
        with open(keys[name] + ".pub", encoding="ascii") as file:
            lines.append("username %s ssh-key %s" % (user, " ".join(file.read().split()[:2])))
    lines += ["ip route 10.%d.%d.0/24 %s" % (i >> 8, i & 255, RIGHT_HOST) for i in range(ROUTES)]
    return "\n".join(lines) + "\n"


class Clients:
    """OpenSSH's client on the left host."""

    def __init__(self, lab, keys, work):
        self.lab, self.keys, self.known = lab, keys, str(work / "known_hosts")

    def argv(self, *words, key="ed25519", user="admin", options=()):
        argv = ["ssh", "-F", "none"]
        for option in options:  # the first of each counts
            argv += ["-o", option]
        argv += ["-o", "LogLevel=ERROR", "-o", "StrictHostKeyChecking=accept-new",
                 "-o", "UserKnownHostsFile=" + self.known, "-o", "IdentityAgent=none",
                 "-o", "IdentitiesOnly=yes", "-o", "ConnectTimeout=30"]
        argv += ["-i", self.keys[key]] if key else ["-o", "PubkeyAuthentication=no"]
        return argv + ["%s@%s" % (user, LEFT_ROUTER), *words]

    def run(self, *words, input=None, **more):
        return self.lab.left.run(self.argv(*words, **more), timeout_s=60, input=input)


@pytest.fixture
def clients(make_lab, keys, tmp_path):
    lab = make_lab(router_config(extra=ssh_config(keys)))
    return Clients(lab, keys, tmp_path)


def test_sessions(clients, tmp_path):
    """Commands and scripts with their status, a terminal, users' keys and roles, rekeying under load, and
    what is refused."""
    lab = clients.lab
    said = clients.run("show version")
    assert said.returncode == 0 and "Hayate " in said.stdout and not said.stderr, said
    # the fingerprint that the console shows is the one that the client has seen
    shown = re.search(r"host key ssh-ed25519 (SHA256:\S+)", lab.router.command("show ssh"))[1]
    seen = subprocess.run(["ssh-keygen", "-l", "-f", clients.known], capture_output=True, text=True, check=True)
    assert shown in seen.stdout, (shown, seen.stdout)
    # errors have a status; a script of commands comes by standard input
    said = clients.run("show nonsense")
    assert said.returncode == 1 and "unknown word" in said.stdout, said
    said = clients.run(input="show version\nshow arp\n")
    assert said.returncode == 0 and "Hayate " in said.stdout and "r1#" not in said.stdout, said
    # every cipher and key exchange; new keys after each 64 KiB of a long output, which arrives whole
    whole = clients.run("show ip route").stdout
    assert whole.count("10.") >= ROUTES, len(whole)
    for cipher, kex in (("aes256-gcm@openssh.com", "curve25519-sha256"),
                        ("aes128-gcm@openssh.com", "ecdh-sha2-nistp256"),
                        ("chacha20-poly1305@openssh.com", "curve25519-sha256@libssh.org")):
        again = clients.run("show ip route", options=("Ciphers=" + cipher, "KexAlgorithms=" + kex,
                                                      "RekeyLimit=64K"))
        assert again.returncode == 0 and again.stdout == whole, (cipher, len(again.stdout), len(whole))
    # a user with another key, who may only read
    said = clients.run("show version", key="ecdsa", user="reader")
    assert said.returncode == 0 and "Hayate " in said.stdout, said
    said = clients.run("configure", key="ecdsa", user="reader")
    assert said.returncode == 1 and said.stdout.startswith("%"), said
    # keys that are not the user's, forwarding, sftp, older algorithms
    assert clients.run("show version", key="stranger", options=("BatchMode=yes",)).returncode == 255
    assert clients.run("show version", key="ecdsa", options=("BatchMode=yes",)).returncode == 255
    said = clients.run("-N", "-R", "8022:127.0.0.1:22", options=("ExitOnForwardFailure=yes",))
    assert said.returncode == 255 and "forwarding failed" in said.stderr, said
    assert clients.run("-s", "sftp").returncode != 0
    said = clients.run("show version", options=("LogLevel=INFO", "Ciphers=aes256-ctr"))
    assert said.returncode == 255 and "no matching cipher" in said.stderr, said
    said = clients.run("show version", options=("LogLevel=INFO", "HostKeyAlgorithms=rsa-sha2-512"))
    assert said.returncode == 255 and "no matching host key" in said.stderr, said
    # the password, by OpenSSH and by Dropbear's client
    said = lab.left.run(["sshpass", "-p", SECRET] + clients.argv("show version", key=None), timeout_s=60)
    assert said.returncode == 0 and "Hayate " in said.stdout, said
    said = lab.left.run(["sshpass", "-p", "wrong"] + clients.argv("show version", key=None), timeout_s=60)
    assert said.returncode == 5, said  # sshpass: the password was refused
    said = lab.left.run(["sshpass", "-p", SECRET, "dbclient", "-y", "-y", "admin@" + LEFT_ROUTER, "show version"],
                        timeout_s=60)
    assert said.returncode == 0 and "Hayate " in said.stdout, said
    # a terminal
    with Terminal(lab.left, clients.argv("-tt")) as t:
        t.expect("r1# ")
        t.type("sh ver\t")
        t.expect("version ")
        t.type("\r")
        assert "Hayate " in t.expect("\nr1# ")
        t.type("show ip route\r\x03")
        t.expect("r1# $")
        t.type("exit\r")
        eventually(lambda: t.child.poll() is not None, 30, "ssh did not end")
        assert t.child.returncode == 0
    log = lab.router.command("show logging")
    assert "admin from 192.0.2.2 logged in by key SHA256:" in log, log
    assert "admin from 192.0.2.2 sent a wrong password" in log, log
    assert SECRET not in log
    # what is offered, by the judgement of a program that knows lists of weaknesses
    audit = lab.left.run(["ssh-audit", "-n", LEFT_ROUTER], timeout_s=60).stdout
    offered = re.findall(r"^\((kex|key|enc|mac)\) (\S+)", audit, re.M)
    assert sorted(offered) == sorted([
        ("kex", "curve25519-sha256"), ("kex", "curve25519-sha256@libssh.org"), ("kex", "ecdh-sha2-nistp256"),
        ("kex", "kex-strict-s-v00@openssh.com"), ("key", "ssh-ed25519"), ("enc", "aes256-gcm@openssh.com"),
        ("enc", "aes128-gcm@openssh.com"), ("enc", "chacha20-poly1305@openssh.com"),
        ("mac", "hmac-sha2-256-etm@openssh.com"), ("mac", "hmac-sha2-256")]), audit


def test_certificate(clients, tmp_path):
    """A script requests a certificate of HTTPS and imports it with a key; a reader may not."""
    ca = Authority(tmp_path / "ca")
    said = clients.run("crypto certificate request")
    assert said.returncode == 0 and not said.stderr
    certificate = ca.sign(said.stdout)
    script = "crypto certificate import\n" + certificate + ca.issuer + "quit\nshow crypto\n"
    said = clients.run(input=script)
    assert said.returncode == 0 and said.stdout.count(ca.fingerprint(certificate)) == 2, said
    assert not any(line in said.stdout for line in certificate.splitlines())
    said = clients.run(input=script.replace("MI", "NI", 1))
    assert said.returncode == 1 and "% no certificate, or a damaged one, in PEM\n" in said.stdout
    assert clients.run("crypto certificate reset", user="reader", key="ecdsa").returncode == 1
    assert clients.run("crypto certificate reset").returncode == 0


def test_silent_and_hostile_connections(clients):
    """Half-open connections from one address leave a place for another; bytes that are not SSH end a
    connection alone."""
    lab = clients.lab
    lab.left.run(["ip", "address", "add", "192.0.2.77/24", "dev", "eth0"])
    code = ("import socket,sys\n"
            "def dial():\n"
            " try: return [socket.create_connection((%r,22),5,source_address=('192.0.2.77',0))]\n"
            " except ConnectionResetError: return []\n"  # turned away before connect() has returned
            "s=[c for _ in range(40) for c in dial()]\n"
            "for i, c in enumerate(s):\n"
            " try: c.sendall([b'', b'SSH-2.0-x\\r\\n', b'GET / HTTP/1.0\\r\\n\\r\\n', b'SSH-2.0-x\\r\\n'+b'\\xff'*4000][i %% 4])\n"
            " except OSError: pass\n"
            "print('there', flush=True)\n"
            "sys.stdin.read()\n") % LEFT_ROUTER
    child = lab.left.popen(["python3", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "there\n"
    said = clients.run("show ssh")
    assert said.returncode == 0 and "admin" in said.stdout, said
    child.stdin.close()
    child.wait()
    pings(lab.left, RIGHT_HOST)
