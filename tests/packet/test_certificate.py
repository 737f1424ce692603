"""The certificate of HTTPS on the console and by the API (control/management/https_identity.c): requests that openssl verifies, what an
authority makes of them, refusals with their reasons, and the store. tests/system/test_https.py has clients."""
import calendar
import re

import pytest
from certificate_authority import CA, NOW, Authority, openssl
from machine import A, B, SECOND
from test_api import Api
from test_api import CONFIG_ as CONFIG
from test_remote import REMOTE, Session
from test_storage import cut_off, disk, machines, told  # noqa: F401
from test_tcp import Peer

CONFIG_ = CONFIG + "https server\nip domain example.net\nhttp host router.example\n"
URL = "/api/v1/certificate"


@pytest.fixture(scope="module")
def ca(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def m(make):
    m = begun(make(CONFIG_))
    m.learn(A, B)
    return m


def begun(m):
    m.console("clock set " + NOW)
    m.text = ""
    return m


def take(m, pem, end="quit"):
    """What an import says. Nothing that is pasted appears."""
    assert "not shown" in m.console("crypto certificate import")
    start = len(m.text)
    for line in (pem + end).splitlines():
        m.key(line + "\r")
    m.time(SECOND // 5)
    said = m.text[start:].replace("\r", "")
    for line in pem.splitlines():
        assert not line or line not in said
    assert said.endswith("# "), said
    return said


def in_use(m):
    return re.search(r"certificate (.*)\n  SHA-256 (\S+)\n", m.console("show crypto")).groups()


def request(m):
    said = m.console("crypto certificate request")
    assert said.startswith("-----BEGIN CERTIFICATE REQUEST-----\n") and said.endswith("-----END CERTIFICATE REQUEST-----\n")
    return said


def test_request(m):
    text = openssl("req", "-verify", "-noout", "-text", "-nameopt", "RFC2253", data=request(m))
    assert "Subject: CN=r1.example.net\n" in text and "ecdsa-with-SHA256" in text
    names = re.search(r"X509v3 Subject Alternative Name: \n *(.*)\n", text).group(1).split(", ")
    assert names[:2] == ["DNS:r1.example.net", "DNS:router.example"]
    assert sorted(names[2:]) == ["IP Address:192.0.2.1", "IP Address:198.51.100.1"]
    key = openssl("req", "-pubkey", "-noout", data=request(m))
    m.console("crypto key generate https")
    assert openssl("req", "-pubkey", "-noout", data=request(m)) != key


def test_signed_by_an_authority(make, ca):
    m = begun(make(CONFIG_, lives=True))
    own = in_use(m)
    assert own[0] == "signed by itself"
    certificate = ca.sign(request(m))
    said = take(m, certificate + "\n" + ca.issuer)
    assert "the certificate is in use, for connections from now on\n  SHA-256 " + ca.fingerprint(certificate) in said
    assert "there is no store: the next boot does not know of it" in said
    assert in_use(m) == ("imported", ca.fingerprint(certificate))
    said = m.console("show crypto")
    assert "subject CN=r1.example.net, issuer CN=Test Issuer\n" in said
    assert "valid from 2026-01-01T00:00:00Z to 2036-01-01T00:00:00Z\n" in said
    # the key is the machine's, which is not replaced meanwhile
    assert "% no key is made: an imported certificate is in use" in m.console("crypto key generate https")
    m.anew()
    m.time(SECOND)
    assert in_use(m) == ("imported", ca.fingerprint(certificate))
    said = m.console("crypto certificate reset")
    assert "the certificate that is signed by itself is in use" in said
    assert in_use(m) == own
    assert "% no certificate was imported" in m.console("crypto certificate reset")
    m.anew()
    m.time(SECOND)
    assert in_use(m) == own


@pytest.mark.parametrize("kind", ["P-256", "P-384", "RSA-2048"])
def test_with_a_key(m, ca, kind):
    ca.new_key("its", kind)
    certificate = ca.sign(ca.request("its"))
    assert "in use, for connections" in take(m, certificate + ca.issuer + ca.root + ca.key("its"))
    assert in_use(m) == ("imported", ca.fingerprint(certificate))
    for what in ("show crypto", "show running-config", "show logging", "show events", "show crash", "show memory", "show storage"):
        said = m.console(what)
        assert not any(line in said for line in ca.key("its").splitlines()[1:-1])
    # the machine's own key is another one, and is still there
    said = take(m, ca.sign(request(m)))
    assert "in use, for connections" in said


def test_long_chain(m, ca):
    """Six certificates: the root, four issuers, and the machine's."""
    chain, by = ca.root, "root"
    for n in range(4):
        name = "issuer%d" % n
        ca.new_key(name)
        certificate = ca.sign(ca.request(name, "/CN=" + name), CA, by=by)
        ca.file(name + ".crt", certificate)
        chain, by = certificate + chain, name
    assert "the certificate is in use" in take(m, ca.sign(request(m), by=by) + chain)


def refusals(ca, own):
    """(text, reason); own: a request of the machine's key"""
    other = ca.sign(ca.request("other"))
    good = ca.sign(own)
    cut = good.splitlines()
    flipped = cut[5][:10] + ("A" if cut[5][10] != "A" else "B") + cut[5][11:]
    ca.new_key("large", "P-521")
    ca.new_key("weak", "RSA-1024")
    locked = openssl("pkcs8", "-topk8", "-passout", "pass:secret", "-in", ca.path("other.key"))
    return [
        (other, "the private key is not that of the first certificate"),
        (good + ca.key("other"), "the private key is not that of the first certificate"),
        ("", "no certificate, or a damaged one, in PEM"),
        ("some words\n", "no certificate, or a damaged one, in PEM"),
        (ca.key("other"), "no certificate, or a damaged one, in PEM"),
        ("\n".join(cut[:5] + [flipped[:10]] + cut[6:]) + "\n", "no certificate, or a damaged one, in PEM"),
        ("\n".join(cut[:-1]) + "\n", "no certificate, or a damaged one, in PEM"),
        (other + ca.key("other").replace("\nM", "\nN", 1), "no private key, or a damaged one, in PEM"),
        (other + locked, "the private key is encrypted"),
        (ca.sign(ca.request("large")) + ca.key("large"), "the key is neither of P-256, P-384 nor RSA with 2048 to 4096 bits"),
        (ca.sign(ca.request("weak")) + ca.key("weak"), "the key is neither of P-256, P-384 nor RSA with 2048 to 4096 bits"),
        (ca.sign(own, end="20261130115959Z"), "the certificate has expired"),
        (ca.sign(own, begin="20261130120059Z"), "the certificate is not valid yet"),
        (good + ca.sign(ca.request("issuer", "/CN=Test Issuer"), by="root", end="20261129000000Z"),
         "a certificate of an issuer has expired"),
        (good + ca.root, "the certificates are no chain: each is to be signed by the next one"),
        (good + ca.sign(ca.request("other", "/CN=Test Issuer"), by="root"),
         "the certificates are no chain: each is to be signed by the next one"),
        (ca.sign(own, "extendedKeyUsage=clientAuth"), "the certificate is not for a TLS server (key usage)"),
        (ca.sign(own, "keyUsage=keyCertSign"), "the certificate is not for a TLS server (key usage)"),
        (good + ca.issuer * 6, "there are more than 6 certificates"),
        (good * 40, "the text is too long"),
    ]


def test_refusals(m, ca):
    """Each by its reason, on the console and by the API, and nothing changes."""
    ca.new_key("other")
    before = in_use(m)
    api = Api(m)
    for text, reason in refusals(ca, request(m)):
        assert "% " + reason in take(m, text), reason
        status, _, said = api("PUT", URL, text)
        assert said == {"error": "the text is empty" if not text else reason}
        assert status == (413 if "too long" in reason else 422)
        assert in_use(m) == before
    # a line that is too long, an end without `quit`, a session that ends
    assert "% the text is too long" in take(m, "x" * 201 + "\n")
    m.console("crypto certificate import")
    m.key("-----BEGIN CERTIFICATE-----\r\x03")
    assert in_use(m) == before
    m.console("crypto certificate import")
    assert api("PUT", URL, ca.issuer)[0] == 503 == api("POST", URL + "/request")[0]
    m.key("\x03")
    assert api("PUT", URL, ca.issuer)[0] == 422


def test_api(m, ca):
    api = Api(m)
    status, _, own = api("GET", URL)
    assert status == 200 and own["source"] == "own" and own["subject"] == "CN=Hayate" == own["issuer"]
    assert own["not_after"] == "9999-12-31T23:59:59Z" and own["key"] == "ECDSA P-256"
    for role in "read", "operate":
        assert Api(m, role)("PUT", URL, "x")[0] == 403 == Api(m, role)("DELETE", URL)[0]
    assert Api(m, None)("PUT", URL, "x")[0] == 401
    assert Api(m, "operate")("POST", URL + "/request")[0] == 403 and api("GET", URL + "/request")[0] == 405
    status, _, said = api("POST", URL + "/request")
    assert status == 200 and said == {"request": request(m), "left_out": 0}
    certificate = ca.sign(said["request"])
    status, _, said = api("PUT", URL, certificate + ca.issuer)
    assert (status, said) == (200, {"fingerprint": ca.fingerprint(certificate), "stored": False, "problem": "there is no store"})
    said = api("GET", URL)[2]
    assert said["source"] == "imported" and said["issuer"] == "CN=Test Issuer" and said["fingerprint"] == in_use(m)[1]
    metrics = api("GET", "/metrics")[2]
    assert "\nhayate_https_certificate_expiry_timestamp_seconds %d\n" % calendar.timegm((2036, 1, 1, 0, 0, 0)) in metrics
    assert "the certificate was imported by configure from " in m.console("show logging last 4")
    assert api("DELETE", URL)[0] == 200 and api("GET", URL)[2] == own
    assert api("DELETE", URL)[2] == {"error": "no certificate was imported"}
    # users are stated, or nobody may
    m.console("configure")
    for role in "read", "operate", "configure":
        m.console("no username " + role)
    m.console("commit")
    m.console("end")
    assert Api(m, None)("PUT", URL, certificate)[0] == 403


def test_a_session_over_the_network(make, ca):
    """Its client shows what is typed, the machine nothing; a session that ends takes its import with it."""
    m = make(REMOTE)
    m.learn(A, B)
    s = Session(m).login()
    certificate = ca.sign(request(m))
    assert s.type(b"crypto certificate import\r\n").endswith("End with a line: quit\r\n")
    assert s.type(certificate.encode()[:300]) == ""
    assert "% a certificate is being imported already" in m.console("crypto certificate import")
    s.send("RA")
    m.time(SECOND)
    s = Session(m, sport=40001).login()
    s.type(b"crypto certificate import\r\n")
    said = s.type((certificate + ca.issuer + "quit\n").encode())
    assert "the certificate is in use" in said and said.endswith("r1# ")
    assert in_use(m) == ("imported", ca.fingerprint(certificate))


def test_without_a_clock(make, ca):
    """The dates cannot be checked, which is said."""
    m = make(CONFIG_)
    m.learn(A, B)
    m.text = ""
    if "not known" not in m.console("show clock"):
        pytest.fail("the machine of the tests has a clock")
    assert "the clock is not set: the dates" in take(m, ca.sign(request(m), end="20260201000000Z"))
    assert in_use(m)[0] == "imported"


def test_power_cut(disk, machines, ca):
    """Chain and key are on the disk when it is said so."""
    ca.new_key("its")
    m = begun(machines(CONFIG_, disk=disk, lives=True))
    own = in_use(m)
    certificate = ca.sign(ca.request("its"))
    said = take(m, certificate + ca.issuer + ca.key("its"))
    assert "in use" in said and "next boot" not in said
    cut_off(m)
    m = begun(machines(CONFIG_, disk=disk, lives=True))
    assert in_use(m) == ("imported", ca.fingerprint(certificate))
    assert "keys/https-certificate" in m.console("show storage")
    # a program that restarts, and then the machine's own key with a certificate for it
    m.anew()
    m.time(SECOND)
    assert in_use(m) == ("imported", ca.fingerprint(certificate))
    mine = ca.sign(request(m))
    take(m, mine)
    cut_off(m)
    m = begun(machines(CONFIG_, disk=disk, lives=True))
    assert in_use(m) == ("imported", ca.fingerprint(mine))
    assert "signed by itself" in told(m, "crypto certificate reset")
    cut_off(m)
    m = begun(machines(CONFIG_, disk=disk, lives=True))
    assert in_use(m) == own and "https-certificate" not in m.console("show storage")


def test_two_consoles(disk, machines, ca):
    """While one waits for the disk, another is refused, and the first still learns the end."""
    m = begun(machines(REMOTE, disk=disk))
    m.learn(A, B)
    assert "in use" in take(m, ca.sign(request(m)))
    first, second = (Session(m, sport=40000 + n).login() for n in range(2))
    m.command("disk mute 0")
    for s in first, second:
        s.said = ""
        s.send("PA", b"crypto certificate reset\r\n")
    assert "% the certificate is being changed already" in second.hear().said
    said = first.hear().said
    assert "the next boot does not know of it" in said and said.endswith("\r\nr1# ")
    for s in first, second:
        s.send("RA")


def test_certificate_of_the_configuration(make, ca):
    """It comes first, and commands do not replace it."""
    ca.new_key("its")
    certificate = ca.sign(ca.request("its"))
    pem = (certificate + ca.key("its")).encode()
    m = begun(make((CONFIG_ + "https certificate its.pem\n").encode() + b"file its.pem %d\n" % len(pem) + pem))
    assert in_use(m) == ("of the configuration", ca.fingerprint(certificate))
    assert "% the configuration names the certificate" in take(m, certificate + ca.key("its"))
    assert "% the configuration names the certificate" in m.console("crypto certificate reset")
    assert "the configuration names the certificate" in m.console("crypto key generate https")


def test_a_file_that_is_not_there(make, ca):
    """At the boot there is no HTTPS server; a commit that names a file of the boot module opens it."""
    ca.new_key("its")
    certificate = ca.sign(ca.request("its"))
    pem = (certificate + ca.key("its")).encode()
    m = begun(make((CONFIG_ + "https certificate other.pem\n").encode() + b"file its.pem %d\n" % len(pem) + pem))
    m.learn(A, B)
    closed = Peer(m, dport=443, sport=41000)
    closed.send("S")
    assert "R" in str(closed.take().flags)
    m.console("configure")
    m.console("https certificate its.pem")
    assert "committed" in m.console("commit")
    m.console("end")
    Peer(m, dport=443, sport=41001).open().send("RA")
    m.time(SECOND)
    assert in_use(m) == ("of the configuration", ca.fingerprint(certificate))
