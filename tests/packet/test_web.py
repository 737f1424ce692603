"""The web application: requests and answers, byte by byte, in virtual time. tests/unit has the site, the parser and the fields;
this file has connections, time and memory."""
import email.parser
import io
import random
import re
import tarfile

import pytest
from machine import *
from scapy.layers.inet import TCP
from test_tcp import Peer

WEB = CONFIG + "application web\narp %s %s\n" % (A.ip, A.mac)
MTIME = 784111777  # Sun, 06 Nov 1994 08:49:37 GMT, the date of RFC 9110's examples
DATE = "Sun, 06 Nov 1994 08:49:37 GMT"
BIG = random.Random(1).randbytes(1 << 20)
FILES = {
    "index.html": b"<p>hello</p>\n",
    "a.txt": b"abcdefghijklmnopqrstuvwxyz",
    "empty": b"",
    "folder/index.html": b"<p>folder</p>\n",
    "folder/data.json": b"{}",
    "page.css": b"body { color: black }\n" * 10,
    "page.css.gz": b"not really gzip",
    "page.css.br": b"not really br",
    "big.bin": BIG,
    "with space.txt": b"space",
}


def archive(files, links=(), symlinks=()):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in files.items():
            info = tarfile.TarInfo("./" + name)
            info.size, info.mtime = len(data), MTIME
            tar.addfile(info, io.BytesIO(data))
        for name, target in links:
            info = tarfile.TarInfo("./" + name)
            info.type, info.linkname = tarfile.LNKTYPE, "./" + target
            tar.addfile(info)
        for name, target in symlinks:
            info = tarfile.TarInfo("./" + name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
    return out.getvalue()


def module(config=WEB, files=FILES, links=(), data=None, symlinks=()):
    data = archive(files, links, symlinks) if data is None else data
    return config.encode() + b"file site %d\n" % len(data) + data


class Answer:
    def __init__(self, status, fields, body, rest):
        self.status, self.fields, self.body, self.rest = status, fields, body, rest


def parse(data, head_only=False):
    """The first response in data."""
    head, found, rest = data.partition(b"\r\n\r\n")
    assert found, data
    line, _, fields = head.decode("ascii").partition("\r\n")
    status = int(re.fullmatch(r"HTTP/1\.1 (\d{3}) [A-Za-z ]+", line).group(1))
    fields = email.parser.Parser().parsestr(fields)
    assert fields["Server"] == "Hayate"
    length = int(fields["Content-Length"] or 0)
    if head_only or status in (204, 304):
        length = 0
    assert len(rest) >= length, (status, length, len(rest))
    return Answer(status, fields, rest[:length], rest[length:])


class Client(Peer):
    def __init__(self, m, port=80, **fields):
        super().__init__(m, dport=port, **fields)

    def ask(self, text):
        self.send("PA", text.encode() if isinstance(text, str) else text)

    def receive(self):
        """All new data, in order; what has been sent again is left out."""
        data = b""
        while self.m.outs[self.src.port]:
            segment = self.take()
            if segment.seq == self.ack:
                self.ack += len(bytes(segment.payload)) + ("F" in str(segment.flags))
                data += bytes(segment.payload)
        return data

    def everything(self):
        """Receives and acknowledges until nothing more comes."""
        data = b""
        while self.m.outs[self.src.port]:
            data += self.receive()
            self.send("A")
        return data

    def get(self, target, *fields, method="GET", version="1.1"):
        self.ask("%s %s HTTP/%s\r\nHost: x\r\n%s\r\n" % (method, target, version, "".join(f + "\r\n" for f in fields)))
        answer = parse(self.everything(), method == "HEAD")
        assert answer.rest == b""
        return answer

    def is_open(self):
        return self.get("/empty").status == 200


@pytest.fixture
def web(make):
    m = make(module())
    return m


def test_a_file(web):
    c = Client(web).open()
    for name, type_ in (("a.txt", "text/plain; charset=utf-8"), ("empty", "application/octet-stream"),
                        ("folder/data.json", "application/json"), ("with%20space.txt", "text/plain; charset=utf-8")):
        answer = c.get("/" + name)
        assert answer.status == 200
        assert answer.body == FILES[name.replace("%20", " ")]
        assert answer.fields["Content-Type"] == type_
        assert answer.fields["Last-Modified"] == DATE
        assert answer.fields["Accept-Ranges"] == "bytes"
        assert re.fullmatch(r'"[0-9a-f]{16}"', answer.fields["ETag"])
        assert answer.fields["Connection"] is answer.fields["Date"] is answer.fields["Vary"] is None
        assert answer.fields["Expires"] is answer.fields["Cache-Control"] is None
    counted = web.counted()
    assert counted["web_requests"] == 4 and counted["tcp_accepts"] == 1
    assert "web_client_errors" not in counted


def test_show_web_is_as_documented(web):
    with open(ROOT + "/docs/web.md", encoding="utf-8") as file:
        example = re.search(r"^`show web`:\n\n```\n(.*?)^```$", file.read(), re.M | re.S).group(1)
    Client(web).open().get("/a.txt")
    said = web.console("show web").replace("\r", "")
    assert [line[:12] for line in said.splitlines()] == [line[:12] for line in example.splitlines()]
    assert "files       %d\n" % len(FILES) in said and "requests    1\n" in said


def test_etags_differ_and_last(make, web):
    c = Client(web).open()
    tags = {name: c.get("/" + name).fields["ETag"] for name in ("a.txt", "empty", "index.html")}
    assert len(set(tags.values())) == 3
    other = make(module(files={**FILES, "a.txt": FILES["a.txt"][::-1]}))
    c = Client(other).open()
    assert c.get("/a.txt").fields["ETag"] != tags["a.txt"]
    assert c.get("/index.html").fields["ETag"] == tags["index.html"]


@pytest.mark.parametrize("target, status, body", [
    ("/", 200, FILES["index.html"]), ("/?x=1", 200, FILES["index.html"]), ("/folder/", 200, FILES["folder/index.html"]),
    ("/folder/none", 404, b"404 Not Found\n"), ("/none/", 404, b"404 Not Found\n"),
    ("/a.txt/", 404, b"404 Not Found\n"), ("/%2e%2e/a.txt", None, None), ("/folder/../a.txt", None, None),
    ("http://x/a.txt", 200, FILES["a.txt"])])
def test_paths(web, target, status, body):
    answer = Client(web).open().get(target)
    if status is None:
        assert answer.status in (400, 404)
    else:
        assert (answer.status, answer.body) == (status, body)


def test_redirect(web):
    c = Client(web).open()
    answer = c.get("/folder?a=b%20c")
    assert (answer.status, answer.fields["Location"]) == (301, "/folder/?a=b%20c")
    answer = c.get("/%66older")
    assert (answer.status, answer.fields["Location"]) == (301, "/folder/")


def test_redirect_is_encoded(make):
    m = make(module(files={"a b\u00e9%/index.html": b"x"}))
    answer = Client(m).open().get("/a%20b%C3%A9%25")
    assert (answer.status, answer.fields["Location"]) == (301, "/a%20b%C3%A9%25/")


def test_page_for_404(make):
    m = make(module(files={**FILES, "404.html": b"<p>not here</p>"}))
    c = Client(m).open()
    answer = c.get("/none", "If-None-Match: *", "Range: bytes=0-1")
    assert (answer.status, answer.body) == (404, b"<p>not here</p>")
    assert answer.fields["Content-Type"] == "text/html; charset=utf-8"
    assert c.get("/none", method="HEAD").fields["Content-Length"] == "15"


def test_methods(web):
    c = Client(web).open()
    get, head = c.get("/a.txt"), c.get("/a.txt", method="HEAD")
    assert dict(head.fields) == dict(get.fields) and head.body == b""
    answer = c.get("/a.txt", method="OPTIONS")
    assert (answer.status, answer.fields["Allow"]) == (204, "GET, HEAD, OPTIONS")
    for number, method in enumerate(("POST", "PUT", "DELETE", "PATCH", "TRACE")):
        answer = Client(web, sport=41000 + number).open().get("/a.txt", method=method)
        assert (answer.status, answer.fields["Allow"]) == (405, "GET, HEAD, OPTIONS"), method


def test_codings(web):
    c = Client(web).open()
    for accept, coding in (("", None), ("identity", None), ("gzip", "gzip"), ("gzip, br", "br"), ("br;q=0.5, gzip", "gzip"),
                           ("*", "br"), ("zstd", None)):
        answer = c.get("/page.css", *["Accept-Encoding: " + accept] if accept else [])
        assert answer.status == 200 and answer.fields["Vary"] == "Accept-Encoding"
        assert answer.fields["Content-Encoding"] == coding
        assert answer.fields["Content-Type"] == "text/css; charset=utf-8"
        assert answer.body == FILES["page.css" + {None: "", "gzip": ".gz", "br": ".br"}[coding]]
    assert c.get("/page.css.gz", "Accept-Encoding: gzip").fields["Content-Encoding"] is None
    whole, coded = c.get("/page.css"), c.get("/page.css", "Accept-Encoding: gzip")
    assert whole.fields["ETag"] != coded.fields["ETag"]
    assert c.get("/page.css", "If-None-Match: " + coded.fields["ETag"]).status == 200
    again = c.get("/page.css", "Accept-Encoding: gzip", "If-None-Match: " + coded.fields["ETag"])
    assert again.status == 304 and again.fields["ETag"] == coded.fields["ETag"]
    assert again.fields["Vary"] == "Accept-Encoding" and again.fields["Content-Length"] is None


def test_conditions(web):
    c = Client(web).open()
    tag = c.get("/a.txt").fields["ETag"]
    for field, status in (("If-None-Match: " + tag, 304), ('If-None-Match: "x", W/' + tag, 304), ("If-None-Match: *", 304),
                          ('If-None-Match: "x"', 200), ("If-Modified-Since: " + DATE, 304),
                          ("If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT", 200), ("If-Match: " + tag, 200),
                          ('If-Match: "x"', 412), ("If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT", 412)):
        for method in "GET", "HEAD":
            answer = c.get("/a.txt", field, method=method)
            assert answer.status == status, field
            if status == 304:
                assert (answer.fields["ETag"], answer.fields["Last-Modified"]) == (tag, DATE)
    assert c.get("/none", "If-None-Match: *").status == 404


def test_ranges(web):
    c = Client(web).open()
    text = FILES["a.txt"]
    for ask, content, part in (("0-0", "0-0", text[:1]), ("5-9", "5-9", text[5:10]), ("20-", "20-25", text[20:]),
                               ("-3", "23-25", text[-3:]), ("-99", "0-25", text), ("10-99", "10-25", text[10:])):
        answer = c.get("/a.txt", "Range: bytes=" + ask)
        assert (answer.status, answer.body) == (206, part), ask
        assert answer.fields["Content-Range"] == "bytes %s/26" % content
        assert answer.fields["Content-Type"] == "text/plain; charset=utf-8"
    answer = c.get("/a.txt", "Range: bytes=26-")
    assert (answer.status, answer.fields["Content-Range"]) == (416, "bytes */26")
    for ask in "bytes=5-4", "lines=1-2", "bytes=", "bytes=1-2, 2-3":
        answer = c.get("/a.txt", "Range: " + ask)
        assert (answer.status, answer.body) == (200, text), ask
    assert c.get("/a.txt", "Range: bytes=0-1", method="HEAD").status == 200
    tag = c.get("/a.txt").fields["ETag"]
    assert c.get("/a.txt", "Range: bytes=0-1", "If-Range: " + tag).status == 206
    assert c.get("/a.txt", "Range: bytes=0-1", 'If-Range: "x"').status == 200


def test_several_ranges(web):
    c = Client(web).open()
    ranges = [(100, 299), (1000, 1000), (500000, 700000), (len(BIG) - 10, len(BIG) - 1)]
    answer = c.get("/big.bin", "Range: bytes=100-299, 1000-1000,500000-700000, -10")
    assert answer.status == 206 and answer.fields["Content-Range"] is None
    boundary = re.fullmatch(r"multipart/byteranges; boundary=(\S+)", answer.fields["Content-Type"]).group(1).strip('"')
    assert answer.body.endswith(b"\r\n--%s--\r\n" % boundary.encode())
    parts = re.split(rb"(?:\r\n)?--%s(?:\r\n|--\r\n)" % boundary.encode(), answer.body)[1:-1]
    assert len(parts) == 4
    for part, (first, last) in zip(parts, ranges):
        head, _, data = part.partition(b"\r\n\r\n")
        fields = email.parser.Parser().parsestr(head.decode())
        assert fields["Content-Range"] == "bytes %d-%d/%d" % (first, last, len(BIG))
        assert data == BIG[first:last + 1]
    assert c.is_open()


def test_pipelined(web):
    """Several requests in one segment, and one in many: answered in order."""
    c = Client(web).open()
    one = "GET /%s HTTP/1.1\r\nHost: x\r\n\r\n"
    c.ask("".join(one % name for name in ("a.txt", "none", "big.bin", "index.html")))
    data = c.everything()
    for status, body in ((200, FILES["a.txt"]), (404, b"404 Not Found\n"), (200, BIG), (200, FILES["index.html"])):
        answer = parse(data)
        assert (answer.status, answer.body) == (status, body)
        data = answer.rest
    assert data == b""
    for char in one % "a.txt":
        c.ask(char)
        web.time(SECOND // 50)
        if c.m.outs[c.src.port]:
            data += c.receive()
    assert parse(data).body == FILES["a.txt"]


def test_many_pipelined_behind_a_big_one(web):
    """Requests wait in their buffers while the answer before them is sent."""
    c = Client(web).open()
    request = "GET /%s HTTP/1.1\r\nHost: x\r\n\r\n"
    c.ask(request % "big.bin")
    for _ in range(50):
        c.ask(request % "a.txt")
    data = c.everything()
    answer = parse(data)
    assert answer.body == BIG
    for _ in range(50):
        answer = parse(answer.rest)
        assert answer.body == FILES["a.txt"]
    assert answer.rest == b""


def test_close(web):
    """HTTP/1.0, `Connection: close`, an error in the request: the connection ends after the answer, and a client that goes on
    sending does not lose the answer to a reset."""
    for number, (version, fields, status, connection) in enumerate((
            ("1.0", [], 200, "close"), ("1.1", ["Connection: close"], 200, "close"), ("1.1", ["Bad field"], 400, "close"))):
        c = Client(web, sport=42000 + number).open()
        c.ask("GET /a.txt HTTP/%s\r\nHost: x\r\n%s\r\n" % (version, "".join(f + "\r\n" for f in fields)))
        answer = parse(c.everything())
        assert (answer.status, answer.fields["Connection"]) == (status, connection)
        c.ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert c.everything() == b""
        c.send("FA")
        c.everything()
    c = Client(web, sport=42100).open()
    answer = c.get("/a.txt", "Connection: keep-alive", version="1.0")
    assert answer.fields["Connection"] == "keep-alive"
    assert c.is_open()


def test_peer_closes_first(web):
    """The answer to the last request comes although the client has closed its half."""
    c = Client(web).open()
    c.send("FPA", b"GET /big.bin HTTP/1.1\r\nHost: x\r\n\r\n")
    assert parse(c.everything()).body == BIG
    web.time(SECOND)
    counted = web.counted()
    assert counted["tcp_closes"] == 1 and "tcp_aborts" not in counted


def test_content_of_a_get_is_not_waited_for(web):
    c = Client(web).open()
    c.ask("GET /a.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc")
    answer = parse(c.everything())
    assert (answer.body, answer.fields["Connection"]) == (FILES["a.txt"], "close")


def test_slow_head(web):
    """A head that does not come to its end within 10 s, however regularly bytes come: 408."""
    c = Client(web).open()
    c.ask("GET / HTTP/1.1\r\n")
    for _ in range(9):
        web.time(SECOND)
        c.ask("X: y\r\n")
        assert c.everything() == b""
    web.time(2 * SECOND)
    answer = parse(c.everything())
    assert (answer.status, answer.fields["Connection"]) == (408, "close")
    assert web.counted()["web_timeouts"] == 1


def test_idle_connection_is_closed(web):
    c = Client(web).open()
    assert c.is_open()
    web.time(59 * SECOND)
    assert c.is_open()
    web.time(59 * SECOND)
    web.expect_nothing()
    before = c.ack
    while not web.outs[0]:
        web.time(SECOND // 20)
    assert c.everything() == b"" and c.ack == before + 1  # its FIN
    c.send("FA")
    c.everything()
    counted = web.counted()
    assert counted["tcp_closes"] == 1 and "web_timeouts" not in counted


def test_peer_that_does_not_read(web):
    """Its connection ends after 30 s, and its buffers are free again."""
    c = Client(web).open()
    c.send("PA", b"GET /big.bin HTTP/1.1\r\nHost: x\r\n\r\n", window=2000)
    web.time(SECOND)
    while web.outs[0]:
        web.outs[0].popleft()
    for _ in range(40):
        web.time(SECOND)
        while web.outs[0]:
            last = Ether(web.outs[0].popleft().frame)[TCP]
    assert "R" in str(last.flags)
    assert web.counted()["web_timeouts"] == 1
    assert Client(web, sport=43000).open().is_open()


@pytest.mark.parametrize("seconds, ends", ((2, False), (10, True)))
def test_rate_of_a_reader(web, seconds, ends):
    """After 30 s at least 512 bytes a second, on average: a window of 1,460 bytes each 2 s, each 10 s."""
    c = Client(web).open()
    c.send("PA", b"GET /big.bin HTTP/1.1\r\nHost: x\r\n\r\n", window=1460)
    for _ in range(100 // seconds):
        web.time(seconds * SECOND)
        flags = ""
        while web.outs[0]:
            segment = c.take()
            flags += str(segment.flags)
            if segment.seq == c.ack:
                c.ack += len(bytes(segment.payload))
        if "R" in flags:
            break
        c.send("A", window=1460)
    assert ("R" in flags) == ends
    assert web.counted().get("web_timeouts", 0) == ends
    c.send("R")
    web.outs[0].clear()


def test_no_memory_for_what_is_published(make):
    """The data cores serve nothing, and go on. The data-plane state alone fits into so much memory."""
    m = make(module(), memory=1252, boot=False)
    m.time(10 * SECOND)
    assert "not enough memory for the tables" in m.text
    m.send(0, arp_request(A, ROUTER[0].ip))
    m.expect_counters(drop_port_down=1)
    assert m.console("show web") == "not enough memory\n"


def test_no_site(make):
    m = make(WEB)
    assert "no site was given: all requests are answered by 503" in m.text
    answer = Client(m).open().get("/")
    assert (answer.status, answer.body) == (503, b"503 Service Unavailable\n")
    assert m.counted()["web_server_errors"] == 1
    assert "site        none" in m.console("show web")


def test_damaged_archive(make):
    whole = archive({"a": b"x"})
    for bad, why in ((b"no archive" * 100, "site: byte 0 of the archive: "), (whole[:700], "site: byte "), (b"", "site: byte 0")):
        m = make(module(data=bad))
        assert why in m.text
        assert Client(m).open().get("/").status == 503


def test_archive_with_odd_entries(make):
    m = make(module(files={"../evil": b"1", "ok": b"2", "a//b": b"3", "dup": b"old", "x/../y": b"4"},
                    links=[("link", "ok"), ("dangling", "none")]))
    assert "some are left out" in m.text
    assert re.search(r"left out +4\n", m.console("show web").replace("\r", "")), m.console("show web")
    c = Client(m).open()
    assert c.get("/ok").body == c.get("/link").body == b"2"
    assert c.get("/evil").status == c.get("/dangling").status == c.get("/y").status == 404


def test_port(make):
    m = make(module(WEB + "web port 8080\n"))
    assert Client(m, port=8080).open().is_open()
    other = Client(m, port=80, sport=40001)
    other.send("S")
    other.take("RA")
    m = make(WEB + "http server port 80\nhttp access 0.0.0.0/0\n")
    assert "the web application listens on this port" in m.text


def test_management_beside_it(make):
    m = make(module(WEB + "http server port 8081\nhttp access 192.0.2.0/24\n"))
    assert Client(m).open().is_open()
    c = Client(m, port=8081, sport=40001).open()
    c.ask("GET /metrics HTTP/1.1\r\nHost: %s\r\n\r\n" % ROUTER[0].ip)
    m.time(SECOND)
    assert b"hayate_web_requests_total 1\n" in c.everything()


def test_many_slow_clients(make):
    """Clients that are in the middle of a head crowd out each other, not those that ask."""
    m = make(module(WEB + "tcp connections 2000\n"))
    slow = [Client(m, sport=10000 + number).open() for number in range(600)]
    for c in slow:
        c.ask("GET / HTTP/1.1\r\nHost: x\r\n")
        while m.outs[0]:
            m.outs[0].popleft()
    assert m.counted()["web_evicted"] > 0
    assert Client(m, sport=20000).open().is_open()


# --- access log ---

LOG = re.compile(r'192\.0\.2\.2 - - \[01/Jan/1970:00:0\d:\d\d \+0000\] (.*)')


def logged(m):
    """What stands behind the time in each line of `show web log`."""
    m.time(SECOND // 10)
    lines = m.console("show web log").replace("\r", "").splitlines()
    return [LOG.fullmatch(line).group(1) for line in lines if not line.startswith(("r1", "the log is off"))]


def test_access_log(make):
    """The Combined Log Format, in the order of the answers; what a client could use to forge a line is escaped."""
    m = make(module(WEB + "web access-log\nhttp server port 8081\nhttp access 192.0.2.0/24\n"))
    c = Client(m).open()
    c.get("/a.txt?x=%20", "Referer: http://x/?\"\\", "User-Agent: curl/7 (\t\u00e9)")
    c.get("/a.txt", "Range: bytes=1-3", "User-Agent:")
    c.get("/big.bin", method="HEAD")
    c.get("/none", "Referer: " + "r" * 200)
    c.get("/" + "x" * 300)
    ends = Client(m, sport=40001).open()
    ends.ask(b"GET /\"\x1b[2J\\ HTTP/1.1\nHost: x\r\n\r\n")
    assert parse(ends.everything()).status == 400
    ends.send("R")
    slow = Client(m, sport=40002).open()
    slow.ask("GET / HT")
    m.time(11 * SECOND)
    assert parse(slow.everything()).status == 408
    wanted = ['"GET /a.txt?x=%20 HTTP/1.1" 200 26 "http://x/?\\"\\\\" "curl/7 (\\t\\xc3\\xa9)"',
              '"GET /a.txt HTTP/1.1" 206 3 "-" "-"', '"HEAD /big.bin HTTP/1.1" 200 - "-" "-"',
              '"GET /none HTTP/1.1" 404 14 "%s" "-"' % ("r" * 128), '"GET /%s" 404 14 "-" "-"' % ("x" * 251),
              '"GET /\\"\\x1b[2J\\\\ HTTP/1.1" 400 16 "-" "-"', '"-" 408 20 "-" "-"']
    assert logged(m) == wanted
    page = Client(m, port=8081, sport=40003).open()
    page.ask("GET /access.log HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % ROUTER[0].ip)
    text = b""
    for _ in range(10):
        m.time(SECOND // 10)
        text += page.everything()
    for line in wanted:
        assert text.count(line.encode()) == 1, line
    assert text.count(b"192.0.2.2 - - [") == len(wanted)


SYMLINKS = [("current.css", "page.css"), ("current.css.gz", "page.css.gz"), ("latest", "folder"), ("folder/up", ".."),
            ("folder/long", "./" * 200 + "data.json"), ("nothing", "none"), ("absolute", "/a.txt"), ("out", "../a.txt"),
            ("circle", "circle")]


def test_symbolic_links(make):
    """A link has its target's content and tag, and the codings and the type of its own name. Links to folders lead into them.
    What cannot be followed is named."""
    m = make(module(symlinks=SYMLINKS))
    c = Client(m).open()
    target, link = c.get("/page.css"), c.get("/current.css")
    assert link.body == target.body == FILES["page.css"] and link.fields["ETag"] == target.fields["ETag"]
    assert link.fields["Last-Modified"] == DATE and link.fields["Content-Type"] == target.fields["Content-Type"]
    zipped = c.get("/current.css", "Accept-Encoding: br, gzip")
    assert zipped.body == FILES["page.css.gz"] and zipped.fields["Content-Encoding"] == "gzip"  # current.css.br does not exist
    assert c.get("/current.css", "If-None-Match: " + target.fields["ETag"]).status == 304
    assert c.get("/current.css", "Range: bytes=5-9").body == FILES["page.css"][5:10]
    assert c.get("/folder/long").body == c.get("/latest/long").body == FILES["folder/data.json"]
    assert c.get("/latest/").body == FILES["folder/index.html"]
    moved = c.get("/latest?x")
    assert (moved.status, moved.fields["Location"]) == (301, "/latest/?x")
    assert c.get("/folder/up/latest/up/page.css", "Accept-Encoding: br").body == FILES["page.css.br"]
    for name in ("/nothing", "/absolute", "/out", "/circle", "/latest/none", "/latest/up/up/a.txt"):
        assert c.get(name).status == 404, name
    said = m.console("show web").replace("\r", "")
    assert "files       %d\n" % (len(FILES) + 3) in said
    assert said.partition("left out    4\n")[2].startswith("""\
  /absolute: symbolic link to an absolute path
  /out: symbolic link that leads out of the archive
  /circle: symbolic links in a circle, or too many of them
  /nothing: symbolic link to nothing in the archive
memory """), said


def test_access_log_of_samples(make):
    m = make(module(WEB + "web access-log sample 3\n"))
    c = Client(m).open()
    for number in range(10):
        c.get("/a.txt?%d" % number)
    assert [re.search(r"\?(\d+)", line).group(1) for line in logged(m)] == ["2", "5", "8"]
    assert "web access-log sample 3\n" in m.console("show running-config").replace("\r", "")


def test_access_log_is_switched_while_ports_run(web):
    """From the next request on that begins; the connection stays."""
    c = Client(web).open()
    c.get("/a.txt", "User-Agent: x")
    assert "the log is off" in web.console("show web log") and logged(web) == []
    for line, more in (("web access-log", ['"GET /empty HTTP/1.1" 200 - "-" "y"'] * 4), ("no web access-log", [])):
        before = logged(web)
        for words in ("configure", line, "commit", "exit"):
            said = web.console(words)
        for _ in range(4):
            c.get("/empty", "User-Agent: y")
        assert logged(web)[len(before):] == more, said


def test_more_requests_than_the_log_takes(make):
    """Those that find no place are counted, and the last ones are kept."""
    m = make(module(WEB + "web access-log\n"))
    c = Client(m).open()
    request = b"GET /empty HTTP/1.1\r\nHost: x\r\n\r\n"
    segments = []
    for _ in range(8):
        segments.append(c.segment("PA", request * 40))
        c.seq += len(request) * 40
    m.send(0, *segments)
    c.everything()
    m.time(SECOND)
    counted = m.counted()
    lost = counted["web_log_lost"]
    assert counted["web_requests"] == 320 and 0 < lost < 320
    lines = logged(m)
    assert len(lines) == min(256, 320 - lost) and set(lines) == {'"GET /empty HTTP/1.1" 200 - "-" "-"'}
