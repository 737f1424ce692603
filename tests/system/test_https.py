"""HTTPS of the real image: OpenSSL, GnuTLS, curl and two scanners; what is offered and what is not; silent
and broken clients; the key over a restart. One machine is booted for all of it."""
import hashlib
import re
import shlex
import socket
import ssl
import subprocess

import pytest
from certificate_authority import Authority
from conftest import LEFT_HOST, LEFT_ROUTER, RIGHT_HOST, pings, router_config
from store_disk import disk_make
from test_storage import kill

BASE = "https://%s" % LEFT_ROUTER
HTTPS = "https server\nhttp access %s/32\n" % LEFT_HOST
SUITES_12 = {"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305"}
SUITES_13 = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}

pytestmark = pytest.mark.nics("virtio")


def curl(host, *arguments, code=0):
    """(status, content)"""
    said = host.run(["curl", "-sS", "-k", "-w", "\n%{http_code}", "--max-time", "30", *arguments], timeout_s=40)
    assert said.returncode == code, said.stderr
    content, status = said.stdout.rsplit("\n", 1)
    return int(status), content


def silent_input(host, *argv):
    """What a program says whose input is at its end."""
    said = host.run(["sh", "-c", "%s </dev/null 2>&1" % " ".join(map(shlex.quote, argv))], timeout_s=30)
    return said.stdout


def s_client(host, *arguments):
    """What openssl says of a connection."""
    return silent_input(host, "openssl", "s_client", "-connect", LEFT_ROUTER + ":443", *arguments)


def wrapped(host):
    """A client of Python's, connected."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    client = host.socket(kind=socket.SOCK_STREAM)
    client.settimeout(20)
    client.connect((LEFT_ROUTER, 443))
    return context.wrap_socket(client)


def offers(left):
    """Each version, suite and group that is offered is used; nothing else is taken."""
    for version, name, option, suites in (("-tls1_2", "TLSv1.2", "-cipher", SUITES_12),
                                           ("-tls1_3", "TLSv1.3", "-ciphersuites", SUITES_13)):
        for suite in sorted(suites):
            said = s_client(left, version, option, suite)
            assert re.search(r"New, %s, Cipher is %s$" % (name, suite), said, re.M), said
    # With TLS 1.2, a client that names groups names the certificate's too (RFC 8422, 5.3). scanners() has P-384 there.
    for version, groups, curve in (("-tls1_2", "X25519:P-256", "X25519"), ("-tls1_2", "P-256", "prime256v1"),
                                   ("-tls1_3", "X25519", "X25519"), ("-tls1_3", "P-256", "prime256v1"),
                                   ("-tls1_3", "P-384", "secp384r1")):
        said = s_client(left, version, "-groups", groups)
        assert re.search(r"(Server|Peer) Temp Key: (ECDH, )?%s" % curve, said), said
    # one group only that the client does not guess: HelloRetryRequest
    assert "Temp Key: ECDH, secp384r1" in s_client(left, "-tls1_3", "-groups", "P-521:P-384")
    for refused in (["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256"],
                    ["-tls1_2", "-cipher", "AES128-GCM-SHA256"], ["-tls1_2", "-cipher", "DHE-RSA-AES128-GCM-SHA256"],
                    ["-tls1_3", "-groups", "P-521"], ["-alpn", "h2"]):
        assert "Cipher is (NONE)" in s_client(left, *refused), refused
    said = s_client(left, "-alpn", "h2,http/1.1")
    assert "ALPN protocol: http/1.1" in said


def scanners(left):
    """Two programs that try everything find what is documented, and nothing else."""
    said = left.run(["sslscan", "--no-colour", "--no-heartbleed", LEFT_ROUTER + ":443"], timeout_s=120).stdout
    for version in ("SSLv2", "SSLv3", "TLSv1.0", "TLSv1.1"):
        assert re.search(r"^%s +disabled" % version, said, re.M), said
    found = set(re.findall(r"^(?:Preferred|Accepted) +TLSv1\.\d +\d+ bits +(\S+)", said, re.M))
    assert found == SUITES_12 | SUITES_13, said
    groups = set(re.findall(r"^(TLSv1\.\d) +\d+ bits +(\S+)", said, re.M))
    assert groups == {(version, group) for version in ("TLSv1.2", "TLSv1.3")
                      for group in ("secp256r1", "secp384r1", "x25519")}, said
    said = left.run(["nmap", "-Pn", "-n", "-p", "443", "--script", "ssl-enum-ciphers", LEFT_ROUTER],
                    timeout_s=120).stdout
    assert "least strength: A" in said and "TLSv1.2" in said, said
    assert not re.search(r"CBC|_DHE_|TLS_RSA|TLSv1\.[01]\b|SSLv|warnings", said), said


def peers(left):
    for version in "TLS1.3", "TLS1.2":
        said = silent_input(left, "gnutls-cli", "--insecure", "--priority", "NORMAL:-VERS-ALL:+VERS-" + version,
                            "--port", "443", LEFT_ROUTER)
        assert "Handshake was completed" in said and version in said, said
    for version in ([], ["--tls-max", "1.2"]):
        status, page = curl(left, *version, BASE + "/")
        assert status == 200 and "</html>" in page
        status, metrics = curl(left, *version, BASE + "/metrics")
        assert status == 200 and "hayate_tls_handshakes_total" in metrics
    # several requests on a connection, in pieces of a byte, and pipelined
    with wrapped(left) as client:
        request = b"GET /api/v1/status.json HTTP/1.1\r\nHost: %s\r\n\r\n" % LEFT_ROUTER.encode()
        for byte in request:
            client.send(bytes([byte]))
        client.sendall(request * 3 + request.replace(b"1.1\r\n", b"1.1\r\nConnection: close\r\n", 1))
        data = b"".join(iter(lambda: client.recv(65536), b""))
        assert data.count(b'"hostname":"r1"') == 5


def metric(left, name):
    found = re.search(r"^%s (\d+)$" % re.escape(name), curl(left, BASE + "/metrics")[1], re.M)
    return int(found.group(1))


def hostile(left):
    """Silent connections beyond all places, ends in every state, garbage: others are served meanwhile."""
    silent = []
    for _ in range(60):
        client = left.socket(kind=socket.SOCK_STREAM)
        client.settimeout(20)
        client.connect((LEFT_ROUTER, 443))
        silent.append(client)
    assert curl(left, BASE + "/")[0] == 200
    assert metric(left, "hayate_tls_refused_full_total") > 0
    for client in silent:
        client.close()
    hello = bytes.fromhex("16030100c8010000c40303") + bytes(189)
    for data in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + bytes(5000), hello, hello[:7], b"\x15\x03\x03\x00\x02\x02\x28",
                 b"\x17\x03\x03\x00\x20" + bytes(32), b"\x80\x2e\x01\x00\x02" + bytes(44)):
        client = left.socket(kind=socket.SOCK_STREAM)
        client.settimeout(20)
        client.connect((LEFT_ROUTER, 443))
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        try:
            while client.recv(4096):
                pass
        except ConnectionResetError:
            pass
        client.close()
    # a reset in the middle of a handshake, and of an answer
    for reset_after in (b"", b"GET /metrics HTTP/1.1\r\nHost: %s\r\n\r\n" % LEFT_ROUTER.encode()):
        client = wrapped(left) if reset_after else left.socket(kind=socket.SOCK_STREAM)
        if reset_after:
            client.sendall(reset_after)
        else:
            client.connect((LEFT_ROUTER, 443))
            client.sendall(hello)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
    assert curl(left, BASE + "/")[0] == 200
    assert metric(left, 'hayate_tls_failures_total{reason="protocol"}') >= 4
    assert metric(left, "hayate_tls_handshaking") == 0


def fingerprint(left):
    der = ssl.PEM_cert_to_DER_cert(re.search(r"-----BEGIN.*?-----END CERTIFICATE-----",
                                             s_client(left, "-showcerts"), re.S).group(0))
    return ":".join("%02X" % byte for byte in hashlib.sha256(der).digest())


def test_certificate(make_lab, tmp_path):
    """An authority's certificate: clients verify it. The private key appears nowhere."""
    run = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384", "-nodes", "-days", "2", "-subj",
           "/CN=r1.example", "-addext", "subjectAltName=IP:%s" % LEFT_ROUTER, "-keyout", str(tmp_path / "key.pem"),
           "-out", str(tmp_path / "cert.pem")]
    subprocess.run(run, check=True, capture_output=True, timeout=60)
    both = (tmp_path / "cert.pem").read_bytes() + (tmp_path / "key.pem").read_bytes()
    (tmp_path / "both.pem").write_bytes(both)
    (tmp_path / "half.pem").write_bytes((tmp_path / "cert.pem").read_bytes())
    lab = make_lab(router_config(extra=HTTPS + "https certificate r1.pem\n"), "--file", "r1.pem=%s" % (tmp_path / "both.pem"),
                   "--file", "half.pem=%s" % (tmp_path / "half.pem"))
    said = lab.left.run(["curl", "-sS", "--cacert", str(tmp_path / "cert.pem"), "--max-time", "20", BASE + "/metrics"],
                        timeout_s=30)
    assert said.returncode == 0 and "hayate_" in said.stdout, said.stderr
    console = lab.router.command
    assert "certificate of the configuration" in console("show crypto")
    # a file without a key, and none, are refused; without the statement the machine has its own key
    for name, reason in (("half.pem", "no private key"), ("none.pem", "no file of this name")):
        console("configure")
        console("https certificate %s" % name)
        assert reason in console("commit")
        console("abort")
    console("configure")
    console("no https certificate")
    console("commit")
    console("end")
    assert "signed by itself" in console("show crypto")
    assert curl(lab.left, BASE + "/")[0] == 200
    secret = subprocess.run(["openssl", "ec", "-in", str(tmp_path / "key.pem"), "-text", "-noout"], check=True, text=True,
                            capture_output=True, timeout=60).stdout
    digits = re.sub(r"[^0-9a-f]", "", re.search(r"priv:(.*?)pub:", secret, re.S).group(1))[-64:]
    base64 = (tmp_path / "key.pem").read_text().splitlines()[1]
    for what in ("show crypto", "show running-config", "show events", "show logging", "show crash", "show memory"):
        text = console(what)
        assert base64 not in text and digits not in text.lower()
    for page in ("/metrics", "/api/v1/status.json", "/api/v1/config"):
        text = curl(lab.left, BASE + page)[1]
        assert base64 not in text and digits not in text.lower()


def verified(host, ca):
    """curl takes the server's certificate, by the root alone."""
    return host.run(["curl", "-sS", "--cacert", ca.path("root.crt"), "--max-time", "20", BASE + "/metrics"], timeout_s=30)


def imports(lab, pem):
    """Pastes a text on the console; what it says."""
    lab.router.skip()
    lab.router.send("crypto certificate import")
    lab.router.expect("End with a line: quit")
    start = lab.router.mark
    for line in (pem + "quit").splitlines():
        lab.router.send(line)
    lab.router.wait_prompt()
    return lab.router.text[start:lab.router.mark]


def test_import(make_lab, tmp_path):
    """An authority's certificate for a request of the machine, on the console: clients verify the new chain, after a power cut
    too; then one with a key of its own."""
    ca = Authority(tmp_path)
    path, pidfile = str(tmp_path / "disk.img"), tmp_path / "pid"
    disk_make(path)
    arguments = [router_config(extra=HTTPS), "--disk", path + ",virtio", "--pidfile", str(pidfile)]
    lab = make_lab(*arguments)
    assert verified(lab.left, ca).returncode == 60 # CURLE_PEER_FAILED_VERIFICATION
    request = lab.router.command("crypto certificate request")
    chain = ca.sign(request) + ca.issuer
    said = imports(lab, chain)
    assert "the certificate is in use" in said and "next boot" not in said
    said = verified(lab.left, ca)
    assert said.returncode == 0 and "hayate_" in said.stdout, said.stderr
    kill(lab.router, pidfile)
    lab = make_lab(*arguments)
    assert verified(lab.left, ca).returncode == 0
    ca.new_key("its", "RSA-2048")
    names = "subjectAltName=IP:%s" % LEFT_ROUTER
    said = imports(lab, ca.sign(ca.request("its", "/CN=r1", "-addext", names)) + ca.issuer + ca.key("its"))
    assert "the certificate is in use" in said
    assert not any(line in lab.router.text for line in ca.key("its").splitlines()[1:-1])
    assert verified(lab.left, ca).returncode == 0
    assert "signed by itself" in lab.router.command("crypto certificate reset")
    assert verified(lab.left, ca).returncode == 60


def test_https(make_lab):
    lab = make_lab(router_config(extra=HTTPS))
    left = lab.left
    # plain HTTP is off, and the access list holds before a byte of TLS
    assert curl(left, "http://%s/" % LEFT_ROUTER, code=7)[0] == 0
    offers(left)
    scanners(left)
    peers(left)
    hostile(left)
    pings(left, RIGHT_HOST)
    mine = fingerprint(left)
    assert mine in lab.router.command("show crypto")
    # another control program has the same key; a new key is for connections from now on
    said = lab.router.command("crypto key generate https")
    other = fingerprint(left)
    assert other != mine and other in said + lab.router.command("show crypto")
