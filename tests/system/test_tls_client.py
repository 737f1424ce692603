"""Connections that the machine opens, by `test connect`: plain ones, and TLS against servers with right and wrong
certificates. Python's ssl module is OpenSSL."""
import re
import ssl

import pytest
from certificate_authority import Authority
from conftest import LEFT_HOST, router_config
from tls_server import TlsServer, leaf

PORT = 6514
ADDRESS = "IP:" + LEFT_HOST

pytestmark = pytest.mark.nics("virtio")


def talk(connection):
    """Answers the first line, and reads to the end."""
    said = connection.recv(100)
    connection.sendall(b"you said " + said)
    while connection.recv(100):
        pass


def counted(router, what):
    found = re.search(r"^tls client: .* (\d+) failed", router.command(what), re.M)
    return int(found[1])


class Machine:
    def __init__(self, lab):
        self.router, self.host = lab.router, lab.left

    def connect(self, words, expect, timeout_s=30):
        self.router.send("test connect %s %d %s" % (LEFT_HOST, PORT, words))
        self.router.expect(expect, timeout_s)

    def refuses(self, certificate, reason, words="tls syslog.example", **more):
        """The machine ends the connection for that reason, and counts it once."""
        server = TlsServer(self.host, PORT, certificate, serve=talk, **more)
        before = counted(self.router, "show crypto")
        self.connect(words, "test connect: ended: " + re.escape(reason), 40)
        assert counted(self.router, "show crypto") == before + 1
        server.close()
        return server

    def takes(self, certificate, words="tls syslog.example", version="TLSv1.3", **more):
        server = TlsServer(self.host, PORT, certificate, serve=talk, **more)
        self.connect(words, "test connect: established " + re.escape(version))
        self.router.expect("test connect: received: you said hello", 20)
        self.router.send("test connect")  # aborts it
        server.close()
        return server


def fingerprint(certificate):
    with open(certificate[0], encoding="ascii") as file:
        return Authority.fingerprint(file.read()).replace(":", "").lower()


def test_tls_client(make_lab, tmp_path):
    authority, stranger = (Authority(tmp_path / name) for name in ("authority", "stranger") if not (tmp_path / name).mkdir())
    good = leaf(authority, "DNS:syslog.example," + ADDRESS)
    lab = make_lab(router_config(extra="trust certificate roots.pem\n"), "--file", "roots.pem=" + authority.path("root.crt"), "--append", "test=1")
    m, command = Machine(lab), lab.router.command

    # plain connections
    m.connect("", "test connect: ended: the connection was refused")
    assert "there is no route" in command("test connect 203.0.113.1 99")

    # certificates that are right
    server = m.takes(good)
    assert server.names == ["syslog.example"]
    server = m.takes(good, words="tls")  # by the address, which no server is told
    assert server.names == [None]
    m.takes(good, version="TLSv1.2", server_version=ssl.TLSVersion.TLSv1_2)
    m.takes(leaf(authority, "DNS:*.example", key="RSA-2048"))
    m.takes(leaf(authority, "DNS:syslog.example", key="P-384"))
    pinned = leaf(stranger, "DNS:else.example", end="20260201000000Z")
    m.takes(pinned, words="tls " + fingerprint(pinned))

    # and those that are not
    m.refuses(leaf(authority, "DNS:other.example"), "the certificate is for another name or address")
    m.refuses(leaf(authority, "IP:192.0.2.99"), "the certificate is for another name or address", words="tls")
    m.refuses(leaf(authority, "DNS:syslog.example", end="20260201000000Z"), "the certificate, or its issuer's, has expired")
    m.refuses(leaf(authority, "DNS:syslog.example", begin="20350101000000Z"), "the certificate, or its issuer's, is not valid yet")
    m.refuses(leaf(stranger, "DNS:syslog.example"), "the certificate is not one of a trusted authority")
    m.refuses(leaf(authority, "DNS:syslog.example", usage="clientAuth"), "the certificate is unfit: its key, signature or use")
    m.refuses(leaf(authority, "DNS:syslog.example", key="RSA-1024"), "the certificate is unfit: its key, signature or use")
    m.refuses(good, "the certificate has another fingerprint", words="tls " + fingerprint(pinned))
    server = m.refuses(good, "no version, suite or group in common", server_version=ssl.TLSVersion.TLSv1_1)
    assert "UNSUPPORTED_PROTOCOL" in server.errors[0].upper() or "VERSION" in server.errors[0].upper(), server.errors

    # peers that are not TLS servers, end it, or are silent
    m.refuses(None, "the peer ended the connection in the TLS handshake", raw=lambda c: (c.recv(100), c.close()))
    m.refuses(None, "a wrong or unexpected message", raw=lambda c: c.sendall(b"220 mail.example ESMTP\r\n" * 9))
    m.refuses(None, "the TLS handshake took too long", raw=lambda c: None)

    # without certificates there is no connection
    command("configure")
    command("no trust certificate")
    command("commit")
    assert "no trusted certificate is configured" in command("test connect %s %d tls" % (LEFT_HOST, PORT))
    command("trust certificate none.pem")
    assert "the boot module has no file of this name" in command("commit")
