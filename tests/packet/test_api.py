"""The configuration over HTTP (control/commit/api.c, control/management/http_auth.c): users and tokens, forms,
conditions, errors, dry runs, confirmation, roll-back, and consoles meanwhile."""
import base64
import itertools
import json

import pytest
from ip6 import *
from test_http import WEB, Client
from test_remote import BASE, SECRET, password
from test_storage import cut_off, disk, machines  # noqa: F401

TOKENS = {role: password.token(role, role.encode() * 4) for role in ("read", "operate", "configure")}
USERS = "".join(password.line(SECRET, 1000, bytes(range(16)), user=role, role=role) + "\n" + TOKENS[role][1] + "\n"
                for role in TOKENS)
CONFIG_ = BASE + WEB + USERS
sports = itertools.count(41000)
URL = "/api/v1/config"


class Api:
    """A client that sends each request on a connection of its own."""

    def __init__(self, m, role="configure"):
        self.m = m
        self.fields = {"Authorization": "Bearer " + TOKENS[role][0]} if role else {}

    def __call__(self, method, path=URL, body=None, turns=400, **fields):
        """(status, fields, content) of the answer; JSON is parsed."""
        fields = {**self.fields, **{k.replace("_", "-"): v for k, v in fields.items() if v is not None}}
        if body is not None:
            if not isinstance(body, (bytes, str)):
                body = json.dumps(body)
                fields.setdefault("Content-Type", "application/json")
            body = body if isinstance(body, bytes) else body.encode()
            fields["Content-Length"] = len(body)
        c = Client(self.m, sport=next(sports))
        c.ask(("%s %s HTTP/1.1\r\nHost: 192.0.2.1\r\n%s\r\n" % (
            method, path, "".join("%s: %s\r\n" % f for f in fields.items()))).encode() + (body or b""))
        for turn in range(turns):
            if c.got:
                break
            self.m.time((1 if turn < 100 else 50) * MS)
            c.read()
        status, heads, content = c.answer(method == "HEAD")
        c.send("RA")
        if heads.get("Content-Type") == "application/json" and content:
            content = json.loads(content)
        elif method != "HEAD":
            content = content.decode()
        return status, heads, content


@pytest.fixture
def m(make):
    machine = make(CONFIG_)
    machine.learn(A, B)
    machine.text = ""
    return machine


@pytest.fixture
def api(m):
    return Api(m)


def basic(user, secret=SECRET):
    return "Basic " + base64.b64encode(user.encode() + b":" + secret).decode()


# --- who ---

def test_roles(m):
    for path in "/", "/metrics", "/config", "/api/v1/status.json", URL, "/nowhere":
        status, fields, _ = Api(m, None)("GET", path)
        assert status == 401 and fields["WWW-Authenticate"].startswith(("Basic", "Bearer"))
    assert Api(m, None)("GET", "/healthz")[0] == 200
    for role in "read", "operate":
        assert Api(m, role)("GET", "/api/v1/status.json")[0] == 200
        for method, path in ("PUT", URL), ("PATCH", URL), ("POST", URL + "/rollback"), ("POST", URL + "/confirm"), \
                ("DELETE", URL + "/candidate"), ("PUT", "/api/v1/programs/x"):
            status, fields, _ = Api(m, role)(method, path, body="hostname x\n")
            # RFC 6750 3.1
            assert (status, fields["WWW-Authenticate"]) == (403, 'Bearer realm="hayate", error="insufficient_scope"')
    assert Api(m)("PUT", "/api/v1/programs/x", body="x")[0] == 422
    assert Api(m, "read")("GET", "/nowhere")[0] == 404


def test_tokens_and_passwords(m):
    none = Api(m, None)
    for wrong in "Bearer x", "Bearer", "Bearer " + TOKENS["read"][1].split()[-1], "Digest x", "Basic", "Basic x", \
            "Basic " + base64.b64encode(b"nocolon").decode():
        status, fields, _ = none("GET", Authorization=wrong)
        error = ', error="invalid_token"' if wrong.startswith("Bearer") else ""  # RFC 6750 3
        assert (status, fields["WWW-Authenticate"]) == (401, 'Bearer realm="hayate"' + error), wrong
    assert none("GET")[1]["WWW-Authenticate"] == 'Bearer realm="hayate"'
    for user in "read", "operate", "configure":
        assert none("GET", Authorization=basic(user))[0] == 200
    assert m.text.count("http: read from 192.0.2.2 logged in") == 1
    for _ in range(3):  # remembered: it costs nothing more, and no further line
        assert none("GET", Authorization=basic("read"), turns=1)[0] == 200
    assert m.text.count("http: read from 192.0.2.2 logged in") == 1
    assert none("GET", Authorization=basic("read", b"wrong"), turns=4000)[0] == 401
    assert none("GET", Authorization=basic("nobody"), turns=4000)[0] == 401
    assert "http: read from 192.0.2.2 sent a wrong password" in m.text and "nobody" not in m.text
    assert SECRET.decode() not in m.text
    # another password: what is remembered counts no more
    api = Api(m)
    assert api("PATCH", body=password.line(b"new", 1000, bytes(16), user="read", role="read") + "\n")[2]["changed"]
    assert none("GET", Authorization=basic("read"), turns=6000)[0] == 401
    assert none("GET", Authorization=basic("read", b"new"), turns=12000)[0] == 200


def test_when_a_login_is_logged(m):
    """When a user comes from a source that he has not come from for ten minutes (http_auth.h)."""
    api = Api(m, None)
    for pause, lines in (0, 1), (599, 1), (599, 1), (601, 2):
        m.time(pause * SECOND)
        m.outs[0].clear()  # what it asks of neighbours
        m.learn(A)
        assert api("GET", Authorization=basic("read"))[0] == 200
        assert m.text.count("http: read from 192.0.2.2 logged in") == lines, pause


def test_a_password_that_waits_behind_an_answer(m):
    """An acknowledgement of an earlier answer does not shorten the time for which a password may wait (http.h)."""
    def request(path, *fields):
        return ("GET %s HTTP/1.1\r\nHost: 192.0.2.1\r\n%s\r\n" % (path, "".join(f + "\r\n" for f in fields))).encode()

    def wrong():
        Client(m, sport=next(sports)).ask(request(URL, "Authorization: " + basic("read", b"wrong")))

    for _ in range(5 + 3):  # all guesses, and three that wait for the next ones, 10 s each
        wrong()
    c = Client(m, sport=next(sports))
    c.ask(request("/healthz") + request(URL, "Authorization: " + basic("read")))
    assert c.answer()[0] == 200 and c.got == b""
    for _ in range(900):
        m.time(50 * MS)
        ours = [o for o in m.outs[0] if o.frame[36:38] == c.sport.to_bytes(2, "big")]  # the others' answers are lost
        m.outs[0].clear()
        m.outs[0].extend(ours)
        c.read()
    assert not c.ended and c.answer()[0] == 200


def test_without_users(make):
    """As before, and the configuration can be read, without hashes, but not changed."""
    m = make(BASE + WEB + "console server\nconsole access 192.0.2.0/24\n" + password.line(b"x", 1000, bytes(16)) + "\n")
    m.learn(A, B)
    none = Api(m, None)
    status, fields, text = none("GET")
    assert status == 200 and "! console password: not shown\n" in text and "$" not in text
    assert {"hidden": "console password"} in none("GET", URL + "?format=json")[2]["statements"]
    for method, path in ("PUT", URL), ("PATCH", URL), ("POST", URL + "/rollback"), ("POST", URL + "/confirm"), \
            ("DELETE", URL + "/candidate"):
        status, _, said = none(method, path, body="hostname x\n", If_Match="*")
        assert status == 403 and "no users" in said["error"]
    assert none("GET", "/api/v1/status.json", Authorization="Bearer x")[0] == 200


def test_pages_of_other_hosts(api):
    """A browser adds the password by itself to what a foreign page sends."""
    for origin in "http://evil.example", "null", "http://192.0.2.9", "https://evil.example:80", "http://[2001:db8::9]":
        status, fields, _ = api("POST", URL + "/confirm", Origin=origin)
        assert status == 403 and "WWW-Authenticate" not in fields  # no other token would do
    for origin in "http://192.0.2.1", "https://192.0.2.1:8443", "http://r1":
        assert api("POST", URL + "/confirm", Origin=origin)[0] == 200


# --- forms ---

def test_text(m, api):
    status, fields, text = api("GET")
    assert status == 200 and fields["Content-Type"].startswith("text/plain")
    assert text == m.console("show running-config") and "$pbkdf2" in text
    assert (fields["Cache-Control"], fields["Vary"]) == ("no-store", "Accept, Authorization")
    assert fields["ETag"] == '"%s"' % api("GET", "/api/v1/status.json")[2]["configuration"]
    hidden = Api(m, "read")("GET")[2]
    assert "$pbkdf2" not in hidden and TOKENS["read"][1] not in hidden
    assert "! username read role read password: not shown\n" in hidden
    assert api("HEAD")[1]["ETag"] == fields["ETag"]


@pytest.mark.parametrize("accept,form", [
    ("application/json", "application/json"), ("text/plain", "text/plain"), ("*/*", "text/plain"), (None, "text/plain"),
    ("text/html, application/json;q=0.5", "application/json"), ("application/*", "application/json"),
    ("application/json, text/plain", "text/plain"), ("text/*;q=0, application/json", "application/json"),
    ("text/html", None), ("application/json;q=0", None), ("application/json; q=0.000", None),
    ("text/plain;q=0, */*", "application/json"), ("*/*, text/plain; q=0", "application/json"),
    ("text/*;q=0, */*;q=0.1", "application/json"), ("application/*;q=0, */*", "text/plain"),
    ("text/plain;Q=0, */*", "application/json"),
    ("*/*;q=0, application/json", "application/json"), ("text/plain;q=0, text/*", None),
    ("text/plain;seq=0", "text/plain")])
def test_negotiation(api, accept, form):
    status, fields, _ = api("GET", Accept=accept)
    assert (status == 200 and fields["Content-Type"].startswith(form)) if form else status == 406


def test_json_says_the_same(m, api):
    text = api("GET")[2]
    said = api("GET", URL + "?format=json")[2]
    lines = []
    for s in said["statements"]:
        lines += [s] if isinstance(s, str) else [s["block"]] + [" " + inner for inner in s["statements"]]
    assert lines == [line for line in text.splitlines() if line not in ("!", "end")]
    assert '"%s"' % said["hash"] == api("GET")[1]["ETag"] and said["script"] is None
    assert any(isinstance(s, dict) and s["block"] == "interface eth0" for s in said["statements"])
    assert api("GET", URL + "?format=xml")[0] == 406


@pytest.mark.parametrize("form", ["text", "json"])
def test_round_trip(m, api, form):
    """What GET says changes nothing; after a change it is accepted again and brings everything back."""
    status, fields, before = api("GET", URL + "?format=" + form)
    for match in fields["ETag"], "*", '"x", ' + fields["ETag"]:
        status, _, said = api("PUT", body=before, If_Match=match)
        assert (status, said["changed"]) == (200, False) and '"%s"' % said["hash"] == fields["ETag"]
    said = api("PATCH", body="hostname other\nip route 10.0.0.0/8 198.51.100.2\ninterface eth0\n no description\n"
                             " description x\nipv6 route 2001:db8:9::/48 null0\n")[2]
    assert said["changed"] and said["effect"] == "live"
    assert '"%s"' % said["hash"] == api("GET")[1]["ETag"] != fields["ETag"]
    assert "ip route 10.0.0.0/8 198.51.100.2\n" in m.console("show running-config")
    status, _, said = api("PUT", body=before, If_Match="*")
    assert status == 200 and said["changed"] and '"%s"' % said["hash"] == fields["ETag"]
    assert api("GET", URL + "?format=" + form)[2] == before


def test_many_routes(m, api):
    """A whole configuration with more routes than a console may add, and an ACL; twice; then without."""
    text = api("GET")[2].replace("end\n", "")
    acl = "ip access-list x\n" + "".join(" permit ip host 10.0.%d.%d any\n" % (n >> 8, n & 255) for n in range(300))
    many = text + acl + "".join("ip route 10.%d.%d.0/24 198.51.100.2\n" % (n >> 8, n & 255) for n in range(9000))
    status, _, said = api("PUT", body=many, If_Match="*", turns=20000)
    assert status == 200 and said["effect"] == "live", said
    assert api("PUT", body=many, If_Match="*", turns=20000)[2]["changed"] is False
    m.send(0, ether(A, ROUTER[0]) / udp(A, "10.35.31.3"))
    m.expect(1, ether(ROUTER[1], B) / hop(udp(A, "10.35.31.3")))
    as_json = api("GET", URL + "?format=json")[2]
    assert len(as_json["statements"]) > 9000
    assert api("PUT", body=as_json, If_Match="*", turns=20000)[2]["changed"] is False
    assert api("PUT", body=text, If_Match="*", turns=20000)[2]["changed"] is True
    assert api("GET")[2] == text + "end\n"
    m.send(0, ether(A, ROUTER[0]) / udp(A, "10.35.31.3"))
    assert m.take(0).frame[34:36] == b"\3\0"


# --- errors ---

def test_conditions_and_types(api):
    text = api("GET")[2]
    assert api("PUT", body=text)[0] == 428
    status, fields, said = api("PUT", body=text, If_Match='"0000000000000000"')
    assert status == 412 and fields["ETag"] == '"%s"' % said["hash"] == api("GET")[1]["ETag"]
    assert api("PATCH", body="hostname x\n", If_Match='W/"x"')[0] == 412
    for kind in "application/x-www-form-urlencoded", "text/html", "application/jsonx":
        status, fields, _ = api("PATCH", body="hostname x\n", Content_Type=kind)
        assert status == 415 and "application/json" in fields["Accept-Patch"]
        # RFC 9110 13.2.1: a condition does not count where the answer would be another error without it
        assert api("PATCH", body="hostname x\n", Content_Type=kind, If_Match='"x"')[0] == 415
    assert api("PATCH", body="!\n", Content_Type="text/plain; charset=utf-8")[2]["changed"] is False
    for method, path, allow in (("POST", URL, "GET, HEAD, PUT, PATCH"), ("DELETE", URL, "GET, HEAD, PUT, PATCH"),
                                ("GET", URL + "/rollback", "POST"), ("PUT", URL + "/confirm", "POST"),
                                ("GET", URL + "/candidate", "DELETE"), ("PUT", URL + "/history", "GET, HEAD")):
        status, fields, _ = api(method, path)
        assert (status, set(fields["Allow"].split(", "))) == (405, set(allow.split(", "))), (method, path)
    for query in "dryrun=1", "dry-run=2", "dry-run", "confirm=0", "confirm=86401", "n=1", "comment=%0a", "comment=%", \
            "comment=" + "x" * 80:
        status, _, said = api("PATCH", URL + "?" + query, body="hostname x\n")
        assert status == 400 and said["error"], query
    assert api("PUT", If_Match="*")[0] == 400 and api("PATCH", body="")[0] == 400
    assert api("POST", URL + "/rollback?n=100")[0] == 400


def test_wrong_lines(m, api):
    text = "hostname a\ninterface eth0\n ip address 192.0.2.1/24\n mtu 1\nip route 10.0.0.1/8 192.0.2.2\nnonsense\n"
    status, _, said = api("PUT", body=text, If_Match="*")
    assert status == 422 and said["error"] == "3 lines are wrong" and said["more"] == 0
    assert [(e["line"], e["word"], e["text"]) for e in said["errors"]] == [
        (4, "1", "mtu 1"), (5, "10.0.0.1/8", "ip route 10.0.0.1/8 192.0.2.2"), (6, "nonsense", "nonsense")]
    assert "68 to 9198" in said["errors"][0]["reason"]
    status, _, said = api("PUT", body="hostname a\nusername a role read\nhttp server\n", If_Match="*")
    assert status == 422 and said["errors"][0]["line"] == 3 and said["errors"][0]["text"] == "http server"
    status, _, said = api("PATCH", body=["hostname b", {"block": "interface eth0", "statements": ["mtu 1"]}])
    assert status == 422 and said["errors"] == [{"line": 3, "reason": said["error"], "word": "1", "text": "mtu 1"}]
    assert api("PATCH", body="no nonsense\n")[0] == 422
    assert api("PATCH", body="no arp 192.0.2.9\nno ip route 10.9.0.0/16\n")[2]["changed"] is False
    # wrong only as a whole
    status, _, said = api("PATCH", body="ip route 10.0.0.0/8 192.0.2.1\n")
    assert status == 422 and said["errors"][0]["text"] == "ip route 10.0.0.0/8 192.0.2.1"
    status, _, said = api("PATCH", body='["hostname x",]', Content_Type="application/json")
    assert status == 400 and said["offset"] == 14
    assert api("PUT", body="script x\nabc\n", If_Match="*")[0] == 422
    assert api("GET")[2] == m.console("show running-config") and "hostname r1\n" in api("GET")[2]
    assert m.console("show configuration | compare") == ""


# --- effects ---

def test_dry_run(m, api):
    body = ["hostname x", {"block": "interface eth0", "statements": ["description y", "mtu 9000"]},
            "ip route 10.0.0.0/8 198.51.100.2"]
    before = api("GET")[1]["ETag"]
    status, _, said = api("PATCH", URL + "?dry-run=1", body=body)
    assert status == 200 and said["changed"] and said["effect"] == "restart"
    assert said["diff"] == ["-hostname r1", " interface eth0", "+ description y", "+ mtu 9000", "+hostname x",
                            "+ip route 10.0.0.0/8 198.51.100.2"]
    assert said["restarts"] == ["+ mtu 9000"]
    assert api("GET")[1]["ETag"] == before and m.console("show configuration | compare") == ""
    assert api("PATCH", URL + "?dry-run=1", body="hostname r1\n")[2]["changed"] is False


def test_restart(m, api):
    status, _, said = api("PATCH", body="interface eth0\n mtu 1400\n")
    assert status == 200 and said["effect"] == "restart"
    status, fields, busy = api("PATCH", body="hostname x\n")
    assert status == 409 and "restarting the ports" in busy["error"] and fields["Retry-After"]
    m.text = ""
    m.time(200 * MS)
    assert "ports restart: the configuration has changed" in m.text
    m.settle()
    m.learn(A, B)
    assert api("GET")[1]["ETag"] == '"%s"' % said["hash"]
    m.counted()


def test_confirm_and_rollback(m, api):
    first = api("GET")[1]["ETag"]
    said = api("PATCH", URL + "?confirm=60&comment=try+it%2C%20please", body="hostname b\n")[2]
    assert said["confirm_within_s"] == 60
    assert 'configuration: committed by configure from 192.0.2.2, not yet confirmed' in m.text
    assert 'its comment is "try it, please"' in m.text
    status, _, busy = api("PATCH", body="hostname c\n")
    assert status == 409 and "waits to be confirmed" in busy["error"]
    assert 0 < api("GET", URL + "/history")[2]["unconfirmed_s"] <= 60
    m.time(61 * SECOND)
    m.learn(A, B)
    assert api("GET")[1]["ETag"] == first
    assert api("PATCH", URL + "?confirm=60", body="hostname b\n")[2]["changed"]
    assert api("POST", URL + "/confirm")[2] == {"changed": True}
    assert api("POST", URL + "/confirm")[2] == {"changed": False}
    assert "configuration: confirmed by configure from 192.0.2.2" in m.text
    m.time(61 * SECOND)
    m.learn(A, B)
    assert "hostname b\n" in api("GET")[2]
    assert api("POST", URL + "/rollback?dry-run=1")[2]["diff"] == ["-hostname b", "+hostname r1"]
    assert api("POST", URL + "/rollback?n=1&comment=back")[2]["changed"]
    assert api("GET")[1]["ETag"] == first
    history = api("GET", URL + "/history")[2]["history"]
    assert history[0]["replaced_by"] == "configure from 192.0.2.2" and history[0]["comment"] == "back"
    assert [h["n"] for h in history] == list(range(1, len(history) + 1))
    status, _, said = api("POST", URL + "/rollback?n=10")
    assert status == 422 and "no configuration so many commits ago" in said["error"]
    assert "configure from 192.0.2.2: back" in m.console("show configuration history")


def test_a_console_meanwhile(m, api):
    """What a console has entered is neither committed nor lost, until somebody discards it."""
    for line in "configure", "hostname typed":
        m.console(line)
    status, _, said = api("PATCH", body="hostname x\n")
    assert status == 409 and "changes of a console" in said["error"]
    assert m.console("show | compare") == "-hostname r1\n+hostname typed\n"
    assert api("DELETE", URL + "/candidate")[2] == {"changed": True}
    assert api("PATCH", body="hostname x\n")[2]["changed"]
    assert m.console("show | compare") == ""


def test_client_that_goes(m, api):
    """Its half of a request is forgotten, and the next one is served."""
    c = Client(m, sport=next(sports))
    c.ask(b"PATCH /api/v1/config HTTP/1.1\r\nHost: 192.0.2.1\r\nAuthorization: Bearer " +
          TOKENS["configure"][0].encode() + b"\r\nContent-Length: 100\r\n\r\nhostname gone\n")
    assert api("PATCH", body="hostname x\n")[0] == 503
    c.send("RA")
    assert api("PATCH", body="hostname x\n")[2]["changed"]
    assert "hostname x\n" in api("GET")[2]


def test_too_long(m, api):
    """Refused from its head on: no memory is taken for it."""
    c = Client(m, sport=next(sports))
    c.ask(b"PUT /api/v1/config HTTP/1.1\r\nHost: 192.0.2.1\r\nIf-Match: *\r\nAuthorization: Bearer " +
          TOKENS["configure"][0].encode() + b"\r\nContent-Length: %d\r\n\r\n" % ((64 << 20) + 1))
    m.time(1 * MS)
    assert c.read().answer()[0] == 413


def test_startup_configuration(m, api, disk, machines):
    """Saved by a script, it is there after a power cut; a roll-back reaches behind the boot. Without a disk: 503."""
    assert api("POST", URL + "/save")[0] == 503
    first = machines(CONFIG_, disk=disk)
    first.learn(A, B)
    there = Api(first)
    assert there("PATCH", URL + "?comment=first", body="hostname saved\n")[2]["changed"]
    status, _, said = there("POST", URL + "/save")
    assert status == 200 and said["written"] and said["generation"] > 0
    assert "the startup configuration is written by configure from 192.0.2.2" in first.text
    assert there("PATCH", URL + "?comment=second&confirm=60", body="hostname lost\n")[2]["changed"]
    assert there("POST", URL + "/save")[0] == 409
    first.time(1 * SECOND)
    cut_off(first)
    second = machines("hostname module\n", disk=disk)
    second.learn(A, B)
    there = Api(second)
    assert "hostname saved\n" in there("GET")[2]
    assert there("POST", URL + "/rollback?n=1&dry-run=1")[2]["diff"] == ["-hostname saved", "+hostname lost"]
    assert Api(second, "read")("POST", URL + "/save")[0] == 403
