"""Ambiguous and malformed requests for the web application, and the answer that RFC 9110 and 9112 have for each.

An intermediary and a server that find the end of a request at different places can be made to see different requests: request
smuggling (RFC 9112 11.2). Each case has a request that hides in what follows the ambiguous one. The server must answer once
and end the connection, or, where nothing is ambiguous, answer once and go on.
"""
HIDDEN = "GET /hidden HTTP/1.1\r\nHost: w1\r\n\r\n"
LENGTH = "Content-Length: %d\r\n" % len(HIDDEN)
CHUNKED = "Transfer-Encoding: chunked\r\n"
LAST = "0\r\n\r\n"


class Case:
    """status: of the only answer. The connection ends with it."""

    def __init__(self, name, status, text):
        self.name, self.status = name, status
        self.data = text if isinstance(text, bytes) else text.encode("latin-1")


def _request(fields="", line="GET /page.css HTTP/1.1", host="Host: w1\r\n"):
    return "%s\r\n%s%s\r\n" % (line, host, fields)


def _post(fields, content):
    return _request(fields, "POST /page.css HTTP/1.1") + content


def _framing():
    """Two ways to tell the length, or one that is no number (RFC 9112 6.1 to 6.3)."""
    for name, fields in (("length then chunked", LENGTH + CHUNKED), ("chunked then length", CHUNKED + LENGTH),
                         ("length 0 and chunked", "Content-Length: 0\r\n" + CHUNKED)):
        yield name, 400, _post(fields, LAST + HIDDEN)
        yield name + " of a GET", 400, _request(fields) + LAST + HIDDEN
    for name, field in (
            ("an unknown coding", "Transfer-Encoding: xchunked"), ("identity", "Transfer-Encoding: identity"),
            ("chunked is not the last", "Transfer-Encoding: chunked, identity"),
            ("chunked twice", "Transfer-Encoding: chunked, chunked"),
            ("chunked in two fields", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
            ("a second field with another coding", "Transfer-Encoding: chunked\r\nTransfer-Encoding: x"),
            ("a first field with another coding", "Transfer-Encoding: x\r\nTransfer-Encoding: chunked"),
            ("chunked with a parameter", "Transfer-Encoding: chunked;q=1"),
            ("chunked in quotes", 'Transfer-Encoding: "chunked"'), ("no coding", "Transfer-Encoding:"),
            ("a vertical tab before the coding", "Transfer-Encoding: \x0bchunked"),
            ("a form feed behind the coding", "Transfer-Encoding: chunked\x0c"),
            ("a NUL behind the coding", "Transfer-Encoding: chunked\0"),
            ("a byte of 0xff before the coding", "Transfer-Encoding: \xffchunked"),
            ("a blank before the colon", "Transfer-Encoding : chunked"),
            ("a tab before the colon", "Transfer-Encoding\t: chunked"),
            ("a NUL in the name", "Transfer-Enc\0oding: chunked"),
            ("a blank before the name", " Transfer-Encoding: chunked"),
            ("a folded coding", "Transfer-Encoding:\r\n chunked"),
            ("a folded field before it", "X: y\r\n\tz\r\nTransfer-Encoding: chunked"),
            ("a bare LF before it", "X: y\nTransfer-Encoding: chunked"),
            ("a bare CR before it", "X: y\rTransfer-Encoding: chunked"),
            ("a bare LF behind it", "Transfer-Encoding: chunked\nX: y")):
        yield name, 400, _post(field + "\r\n" + LENGTH, LAST + HIDDEN)
        yield name + ", no length", 400, _post(field + "\r\n", LAST + HIDDEN)
    yield "chunked in HTTP/1.0", 400, _request(CHUNKED, "POST / HTTP/1.0") + LAST + HIDDEN
    n = len(HIDDEN)
    for name, value, status in (
            ("two equal lengths", "%d\r\nContent-Length: %d" % (n, n), 400),
            ("two lengths", "0\r\nContent-Length: %d" % n, 400), ("a list of lengths", "%d, %d" % (n, n), 400),
            ("a length with a sign", "+%d" % n, 400), ("a negative length", "-%d" % n, 400), ("no number", "", 400),
            ("a length in hexadecimal", "0x%x" % n, 400), ("a length with a fraction", "%d.0" % n, 400),
            ("a length with an exponent", "1e2", 400), ("a length with a blank", "0 %d" % n, 400),
            ("a length with a NUL", "%d\0" % n, 400), ("a length in quotes", '"%d"' % n, 400),
            ("a length of 2^32 and some", str((1 << 32) + n), 413), ("a length of 2^64 and some", str((1 << 64) + n), 413),
            ("a folded length", "\r\n %d" % n, 400)):
        yield name, status, _post("Content-Length: %s\r\n" % value, HIDDEN)
        yield name + " of a GET", status, _request("Content-Length: %s\r\n" % value) + HIDDEN


def _content():
    """Well-formed content, which is no request. This server reads no chunks, as RFC 9112 6.3 allows: 411."""
    yield "content of a GET", 200, _request(LENGTH) + HIDDEN
    yield "content of a POST", 405, _post(LENGTH, HIDDEN)
    yield "a length with zeros in front", 405, _post("Content-Length: 00%d\r\n" % len(HIDDEN), HIDDEN)
    yield "a length that Connection names", 200, _request("Connection: close, Content-Length\r\n" + LENGTH) + HIDDEN
    yield "an expectation and content", 405, _post("Expect: 100-continue\r\n" + LENGTH, HIDDEN)
    yield "an unknown expectation", 417, _post("Expect: 200-ok\r\n" + LENGTH, HIDDEN)
    for name, chunks in (
            ("chunks", LAST), ("a tab before the coding", LAST), ("a chunk that is a request", "%x\r\n%s\r\n%s" % (
                len(HIDDEN), HIDDEN, LAST)),
            ("a chunk size of 64 bits and some", "1000000000000000%x\r\n" % len(HIDDEN)), ("a negative chunk size", "-1\r\n"),
            ("a chunk size with 0x", "0x%x\r\n" % len(HIDDEN)), ("no chunk size", "\r\n\r\n"),
            ("an extension of a chunk with LF", "5;x\n%s" % LAST), ("a chunk that ends late", "1\r\nxx\r\n" + LAST),
            ("a trailer with a length", "0\r\n%s\r\n" % LENGTH)):
        field = CHUNKED if "tab" not in name else "Transfer-Encoding:\tchunked\r\n"
        yield name, 411, _post(field, chunks + HIDDEN)


def _lines():
    """Request lines and fields (RFC 9112 2.2, 3, 5)."""
    for name, line, status in (
            ("two blanks", "GET  /page.css HTTP/1.1", 400), ("a tab", "GET\t/page.css HTTP/1.1", 400),
            ("a blank in the target", "GET /page .css HTTP/1.1", 400), ("a blank behind the version", "GET / HTTP/1.1 ", 400),
            ("a blank in front", " GET / HTTP/1.1", 400), ("no version", "GET /page.css", 400), ("no target", "GET HTTP/1.1", 400),
            ("a version in lower case", "GET / http/1.1", 400), ("a version of two digits", "GET / HTTP/1.10", 400),
            ("HTTP/2 by the preface", "PRI * HTTP/2.0", 505), ("HTTP/0.9 by number", "GET / HTTP/0.9", 505),
            ("HTTP/3", "GET / HTTP/3.0", 505), ("a control character in the target", "GET /\x01 HTTP/1.1", 400),
            ("a NUL in the target", "GET /\0 HTTP/1.1", 400), ("an encoded CR LF", "GET /%0d%0aX:%20y HTTP/1.1", 400),
            ("an encoded NUL", "GET /page.css%00.txt HTTP/1.1", 400), ("half an encoding", "GET /%4 HTTP/1.1", 400),
            ("a fragment", "GET /page.css#x HTTP/1.1", 400), ("a relative target", "GET page.css HTTP/1.1", 400),
            ("a colon in the method", "GET: / HTTP/1.1", 400), ("a user in the target", "GET http://a@w1/ HTTP/1.1", 400),
            ("a long target", "GET /%s HTTP/1.1" % ("x" * 2000), 414)):
        yield name, status, _request(line=line) + HIDDEN
    yield "a bare LF behind the line", 400, "GET / HTTP/1.1\nHost: w1\r\n\r\n" + HIDDEN
    yield "bare LFs", 400, "GET / HTTP/1.1\nHost: w1\n\n" + HIDDEN
    yield "two CRs", 400, "GET / HTTP/1.1\r\r\nHost: w1\r\n\r\n" + HIDDEN
    yield "a CR in the empty line", 400, "GET / HTTP/1.1\r\nHost: w1\r\n\r\r\n" + HIDDEN
    for name, host in (("no host", ""), ("two hosts", "Host: w1\r\nHost: w2\r\n"), ("two equal hosts", "Host: w1\r\nHost: w1\r\n"),
                       ("a list of hosts", "Host: w1, w2\r\n"), ("a user and a host", "Host: a@w1\r\n"),
                       ("a host with a path", "Host: w1/x\r\n"), ("a port that is none", "Host: w1:80x\r\n"),
                       ("a folded host", "Host:\r\n w1\r\n"), ("a host in half brackets", "Host: [::1\r\n")):
        yield name, 400, _request(host=host) + HIDDEN
    for name, field, status in (
            ("no colon", "X", 400), ("an empty name", ": y", 400), ("a name with brackets", "X[]: y", 400),
            ("a name in UTF-8", "\xc3\xa9: y", 400), ("a DEL in a value", "X: \x7f", 400),
            ("a head too long", "X: " + "y" * 5000, 431), ("too many fields", "\r\n".join(["X: y"] * 100), 431)):
        yield name, status, _request(field + "\r\n") + HIDDEN


CASES = [Case(*row) for rows in (_framing(), _content(), _lines()) for row in rows]
assert len({case.name for case in CASES}) == len(CASES)

# Nothing is ambiguous here: the hidden request is a request, and is answered as well.
OPEN = [Case(*row) for row in (
    ("empty lines in front", 200, "\r\n\r\n" + _request()),
    ("another host in the target", 200, _request(line="GET http://w2/page.css HTTP/1.1")),
    ("no content", 200, _request("Content-Length: 0\r\n")),
    ("a name that is like a length", 200, _request("Content_Length: 5\r\n")),
    ("an upgrade to HTTP/2", 200, _request("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n")),
    ("an upgrade to WebSocket", 200, _request("Connection: Upgrade\r\nUpgrade: websocket\r\n")),
    ("bytes of UTF-8 in a value", 200, _request("X: \xc3\xa9\r\n")))]
