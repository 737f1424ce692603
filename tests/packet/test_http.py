"""The HTTP server of the control core, over the real stack, segment by segment.
tests/unit/net/test_http.c tests the syntax of requests with net/http alone."""
import json
import re

import pytest
from ip6 import *
from prometheus_client.parser import text_string_to_metric_families
from test_tcp import Peer
from scapy.layers.inet import TCP

# neighbours stay known for as long as a test lasts
HTTP = CONFIG.replace("arp timeout 60\n", "") + WEB
HASH = "$pbkdf2-sha256$100000$YKcaEYGpeNtJaQYnX4fP4A$NWlCbR7xZBC5g.9.EOsODXgz8yiii0bWpuOXgTt0.Bw"
ANSWER_HEAD = re.compile(rb"HTTP/1\.1 (\d{3}) ([^\r\n]*)\r\n((?:[^\r\n:]+: [^\r\n]*\r\n)*)\r\n")


class Client(Peer):
    """A peer that reads all data and parses it."""

    def __init__(self, m, dport=80, **options):
        super().__init__(m, dport=dport, **options)
        self.open()
        self.got = b""
        self.ended = False

    def read(self, turns=2000):
        """Receives and acknowledges until the machine has sent everything."""
        for _ in range(turns):
            if not self.m.outs[self.src.port]:
                return self
            while self.m.outs[self.src.port]:
                segment = self.take()
                flags = str(segment.flags)
                if "R" in flags:
                    self.ended = "reset"
                    return self
                payload = bytes(segment.payload)
                if segment.seq == self.ack:
                    self.got += payload
                    self.ack += len(payload) + ("F" in flags)
                    self.ended = self.ended or "F" in flags
            self.send("A")
        raise AssertionError("no end")

    def ask(self, data):
        for at in range(0, len(data), 1400):
            self.send("PA", data[at:at + 1400])
        return self.read()

    def answer(self, head_only=False):
        """(status, fields, content) of the next answer in the received data."""
        match = ANSWER_HEAD.match(self.got)
        assert match, self.got[:200]
        fields = dict(line.split(": ", 1) for line in match[3].decode().split("\r\n") if line)
        rest = self.got[match.end():]
        if head_only:
            content = b""
        elif fields.get("Transfer-Encoding") == "chunked":
            content = b""
            while True:
                size, rest = rest.split(b"\r\n", 1)
                size = int(size, 16)
                content, rest = content + rest[:size], rest[size:]
                assert rest[:2] == b"\r\n"
                rest = rest[2:]
                if size == 0:
                    break
        elif "Content-Length" in fields:
            size = int(fields["Content-Length"])
            assert len(rest) >= size
            content, rest = rest[:size], rest[size:]
        else:
            assert self.ended
            content, rest = rest, b""
        self.got = rest
        return int(match[1]), fields, content

    def get(self, path, method="GET", host="192.0.2.1"):
        self.ask(("%s %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (method, path, host)).encode())
        return self.answer(method == "HEAD")

    def close(self):
        self.send("FA")
        self.read()
        assert self.ended


@pytest.fixture
def h(make):
    machine = make(HTTP)
    machine.learn(A, B)
    return machine


def test_healthz(h):
    c = Client(h)
    status, fields, content = c.get("/healthz")
    assert (status, content) == (200, b"ok\n")
    assert fields == {"Server": "Hayate", "Content-Type": "text/plain; charset=utf-8",
                      "Transfer-Encoding": "chunked", "Cache-Control": "no-store",
                      "X-Content-Type-Options": "nosniff"}
    c.close()
    h.expect_nothing()
    counted = h.counted()
    assert counted.pop("tcp_tx") > 2
    assert counted.pop("delivered_tcp") > 2
    assert counted == {"tcp_accepts": 1, "tcp_closes": 1}


def test_healthz_says_what_is_wrong(h):
    h.link(1, False)
    status, _, content = Client(h).get("/healthz")
    assert (status, content) == (503, b"eth1 is down\n")


def test_off_unless_stated(m):
    p = Peer(m, dport=80)
    p.send("S")
    p.take("RA")


def test_other_ports_are_refused(h):
    p = Peer(h, dport=81)
    p.send("S")
    p.take("RA")
    h.counted()


@pytest.mark.parametrize("path", ["status", "ports", "counters", "cores", "routes", "neighbours", "tcp"])
def test_json(h, path):
    status, fields, content = Client(h).get("/api/v1/%s.json" % path)
    assert (status, fields["Content-Type"]) == (200, "application/json")
    said = json.loads(content)
    if path == "status":
        assert (said["hostname"], said["routes"], said["healthy"]) == ("r1", 12, True)
    elif path == "ports":
        assert [p["name"] for p in said["ports"]] == ["eth0", "eth1"]
        assert said["ports"][0]["addresses"] == ["192.0.2.1/24"] and said["ports"][0]["rx_packets"] > 0
    elif path == "counters":
        names = {c["name"]: c["value"] for c in said["counters"]}
        assert names.keys() == h.counters().keys() and names["delivered_arp"] == 2
    elif path == "cores":
        assert said["cores"][0]["role"] == "control+data"
    elif path == "routes":
        assert said["total"] == len(said["routes"]) == 12
        assert {"prefix": A.ip + "/32", "kind": "neighbour", "port": "eth0", "via": A.ip,
                "resolved": True} in said["routes"]
    elif path == "neighbours":
        assert sorted((n["address"], n["mac"], n["state"]) for n in said["neighbours"]) == \
            [(A.ip, A.mac, "reachable"), (B.ip, B.mac, "reachable")]
    else:
        assert said["cores"][0]["estab"] == 1


def test_json_of_both_families(make):
    """Addresses, routes and neighbours of IPv6 stand beside those of IPv4."""
    m = make(CONFIG6.replace("arp timeout 60\n", "") + WEB + "ipv6 route 2001:db8:9::/48 null0\n"
             "ipv6 route 2001:db8:8::/48 %s\n" % B.ip6)
    m.learn(A)
    learn6(m, A, B)
    ports, routes, neighbours = (json.loads(Client(m, sport=40000 + i).get("/api/v1/%s.json" % name)[2])
                                 for i, name in enumerate(("ports", "routes", "neighbours")))
    assert ports["ports"][0]["addresses"] == ["192.0.2.1/24", ROUTER[0].link_local + "/64",
                                              "2001:db8:1::1/64"]
    assert [p["name"] for p in ports["ports"]] == ["eth0", "eth1"]
    assert routes["total6"] == 4 and routes["routes6"] == [
        {"prefix": "2001:db8:1::/64", "advertised": False, "kind": "connected", "port": "eth0"},
        {"prefix": "2001:db8:2::/64", "advertised": False, "kind": "connected", "port": "eth1"},
        {"prefix": "2001:db8:8::/48", "advertised": False, "kind": "static", "port": "eth1", "via": B.ip6,
         "resolved": True},
        {"prefix": "2001:db8:9::/48", "advertised": False, "kind": "null0"}]
    assert sorted((n["address"], n["mac"], n["port"], n["state"], n["router"])
                  for n in neighbours["neighbours6"]) == \
        [(A.ip6, A.mac, "eth0", "reachable", False), (B.ip6, B.mac, "eth1", "reachable", False)]
    limited = json.loads(Client(m, sport=40009).get("/api/v1/routes.json?limit=3")[2])
    assert len(limited["routes"]) == len(limited["routes6"]) == 3 and limited["total6"] == 4
    text = Client(m, sport=40010).get("/metrics")[2].decode()
    assert 'hayate_neighbours{family="ipv6",state="reachable"} 2\n' in text
    assert 'hayate_neighbours{family="ipv4",state="reachable"} 1\n' in text
    assert 'hayate_routes{family="ipv6"} 4\n' in text


def test_port_of_ipv6_alone(make):
    """It is in use, and missed when its link goes."""
    m = make("interface eth0\n ip address 192.0.2.1/24\ninterface eth1\n ipv6 enable\n" + WEB)
    m.learn(A)
    text = Client(m).get("/metrics")[2].decode()
    assert 'hayate_port_enabled{port="eth1"} 1\n' in text
    assert "eth1 link up, in use\n" in m.console("show interfaces")
    m.link(1, False)
    assert Client(m, sport=40001).get("/healthz")[::2] == (503, b"eth1 is down\n")


def test_routes_are_streamed(make):
    """More routes than any buffer holds; and only as many as requested."""
    routes = "".join("ip route 10.%d.%d.0/24 192.0.2.2\n" % (i >> 8, i & 255) for i in range(5000))
    m = make(HTTP + routes)
    m.learn(A)
    said = json.loads(Client(m).get("/api/v1/routes.json")[2])
    prefixes = [r["prefix"] for r in said["routes"]]
    assert len(prefixes) == said["total"] == 5000 + 11 and len(set(prefixes)) == len(prefixes)
    said = json.loads(Client(m, sport=40001).get("/api/v1/routes.json?limit=7&x")[2])
    assert len(said["routes"]) == 7 and said["total"] == 5011


def test_metrics(h):
    h.route(udp(A, B))
    status, fields, content = Client(h).get("/metrics")
    assert status == 200 and fields["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    text = content.decode()
    found = {f.name: f for f in text_string_to_metric_families(text)}
    heads = re.findall(r"^# TYPE (\S+)", text, re.M)
    assert len(heads) == len(set(heads)), "a family stands twice"
    samples = [s for f in found.values() for s in f.samples]
    value = {(s.name, tuple(sorted(s.labels.items()))): s.value for s in samples}
    assert len(value) == len(samples), "a sample stands twice"
    assert value["hayate_packets_total", (("fate", "forwarded"),)] == 1
    assert value["hayate_port_receive_packets_total", (("port", "eth0"),)] >= 3
    assert value["hayate_port_up", (("port", "eth1"),)] == 1
    for way in ("receive", "transmit"):
        assert value["hayate_port_%s_queue_errors_total" % way, (("port", "eth1"),)] == 0
    assert value["hayate_tcp_connections", (("core", "0"), ("state", "estab"))] == 1
    # every counter of the registry appears once
    drops = {"drop_" + dict(k[1])["reason"] for k in value if k[0] == "hayate_drops_total"}
    fates = {dict(k[1])["fate"] for k in value if k[0] == "hayate_packets_total"}
    infos = {name for name in h.counters() if "hayate_%s_total" % name in {k[0] for k in value}}
    assert drops | fates | infos == set(h.counters())


def test_page(h):
    status, fields, content = Client(h).get("/")
    assert status == 200 and fields["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in fields["Content-Security-Policy"] and fields["Cache-Control"] == "no-cache"
    with open(ROOT + "/control/management/index.html", "rb") as f:
        assert content == f.read()
    assert len(content) < 20480
    assert not re.search(rb"(src|href)\s*=\s*[\"']?(https?:)?//", content), "an outside resource"


def test_head_404_405_501(h):
    c = Client(h)
    status, fields, _ = c.get("/", "HEAD")
    assert status == 200 and int(fields["Content-Length"]) > 0 and c.got == b""
    assert c.get("/nothing")[::2] == (404, b"Not Found\n")
    assert c.get("/%2e%2e/etc/passwd")[0] == 404
    status, fields, _ = c.get("/", "POST")
    assert (status, fields["Allow"]) == (405, "GET, HEAD")
    assert c.get("/", "BREW")[0] == 501
    assert c.get("/healthz")[0] == 200, "the connection goes on after all of these"


def test_pipelined(h):
    """Four requests at once are answered in order."""
    c = Client(h)
    c.ask(b"".join(b"%s HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n" % what for what in
                   (b"GET /healthz", b"GET /nothing", b"HEAD /metrics", b"GET /api/v1/status.json")))
    assert c.answer()[0] == 200
    assert c.answer()[0] == 404
    assert c.answer(head_only=True)[0] == 200
    assert json.loads(c.answer()[2])["hostname"] == "r1"
    assert c.got == b"" and not c.ended


def test_http_1_0_and_close(h):
    c = Client(h)
    c.ask(b"GET /api/v1/status.json HTTP/1.0\r\n\r\n")
    assert c.ended is True
    assert json.loads(c.answer()[2])["hostname"] == "r1"
    c = Client(h, sport=40001)
    c.ask(b"GET /healthz HTTP/1.1\r\nHost: 192.0.2.1\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n")
    assert c.ended is True
    status, fields, content = c.answer()
    assert (status, fields["Connection"], content, c.got) == (200, "close", b"ok\n", b"")


def test_http_1_0_keeps_alive_where_it_can(h):
    """A page of unknown length ends with the connection: HTTP/1.0 has no chunks."""
    ask = b"GET %s HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
    c = Client(h)
    c.ask(ask % b"/nothing")
    status, fields, _ = c.answer()
    assert (status, fields["Connection"], c.ended) == (404, "keep-alive", False)
    c.got = b""
    c.ask(ask % b"/api/v1/status.json")
    assert c.ended is True
    status, fields, content = c.answer()
    assert "Content-Length" not in fields and "Transfer-Encoding" not in fields
    assert json.loads(content)["hostname"] == "r1" and fields["Connection"] == "close"


def test_nonsense_is_refused_and_closed(h):
    c = Client(h)
    c.ask(b"GET / HTTP/1.1\r\nHost: 192.0.2.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert c.ended is True and c.answer()[0] == 400


def test_byte_by_byte(h):
    """Slow, but within the time limit of a head."""
    c = Client(h)
    for byte in b"GET /healthz HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n":
        c.ask(bytes([byte]))
    assert c.answer()[0] == 200


def test_slow_head_gets_408(h):
    """Regardless of further bytes: ten seconds from the first byte on (slowloris)."""
    c = Client(h)
    c.ask(b"GET / HTTP/1.1\r\nHost: 192.0.2.1\r\n")
    for _ in range(4):
        h.time(2 * SECOND)
        c.read().ask(b"X: y\r\n")
        assert not c.got
    h.time(2 * SECOND)
    c.read()
    assert c.answer()[0] == 408 and c.ended is True
    c.send("FA")
    c.take("A")


def test_silence_ends(h):
    c = Client(h)
    c.get("/healthz")
    h.time(70 * SECOND)
    assert not c.read().ended
    h.time(6 * SECOND)
    assert c.read().ended is True and c.got == b""


def test_who_never_asks(h):
    c = Client(h)
    h.time(9 * SECOND)
    assert not c.read().ended
    h.time(2 * SECOND)
    assert c.read().ended is True and c.got == b""


def test_config(make):
    """The console's configuration, of any length, without the password's hash."""
    lists = "ip access-list F\n" + "".join(" permit tcp any any eq %d\n" % n for n in range(1, 900))
    routes = "".join("ip route 10.%d.%d.0/24 192.0.2.2\n" % (i >> 8, i & 255) for i in range(3000))
    m = make(HTTP + "console server\nconsole access 192.0.2.0/24\nconsole password %s\n" % HASH +
             lists + routes + "ipv6 route ::/0 null0\n")
    m.learn(A)
    status, fields, content = Client(m).get("/config")
    assert status == 200 and fields["Content-Type"].startswith("text/plain")
    text = content.decode()
    assert text.count("\n") > 3900 and HASH not in text
    assert text.replace("! console password: not shown\n", "console password %s\n" % HASH) == \
        m.console("show running-config")


def test_config_that_changes_meanwhile(make):
    """A mixture of two configurations is useless, so the reader must notice the change."""
    routes = "".join("ip route 10.%d.%d.0/24 192.0.2.2\n" % (i >> 8, i & 255) for i in range(3000))
    m = make(HTTP + routes)
    m.learn(A)
    c = Client(m)
    c.send("PA", b"GET /config HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n")
    for line in ("configure", "no ip route 10.0.0.0/24", "commit", "end"):
        m.console(line)
    assert c.read().ended == "reset"
    assert b"10.0.1.0/24" in c.got and b"\nend\n" not in c.got
    status, _, content = Client(m, sport=40001).get("/config")
    assert status == 200 and b"10.0.1.0/24" in content and b"10.0.0.0/24" not in content


def test_reader_that_stands_still_is_reset(make):
    """An answer must progress: a window closed for 20 s ends it."""
    routes = "".join("ip route 10.%d.%d.0/24 192.0.2.2\n" % (i >> 8, i & 255) for i in range(2000))
    m = make(HTTP + routes)
    m.learn(A)
    c = Peer(m, dport=80).open()
    c.send("PA", b"GET /api/v1/routes.json HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n", window=1000)
    c.receive()
    c.send("A", window=0)
    for _ in range(40):
        m.time(SECOND)
        while m.outs[0]:
            segment = c.take()
            if "R" in str(segment.flags):
                assert m.console("show counters").count("tcp_aborts") == 1
                return
            c.send("A", window=0)
    raise AssertionError("it is still there")


def test_access_list(make):
    m = make(HTTP.replace(WEB, "http server\n") +
             "http access 192.0.2.3/32\nhttp access 198.51.100.0 255.255.255.0\n")
    m.learn(A, A2, B)
    p = Peer(m, dport=80)
    p.send("S")
    answer = p.take("SA")
    p.ack = answer.seq + 1
    p.send("A")
    assert "R" in str(p.take().flags)
    assert Client(m, src=A2).get("/healthz")[0] == 200
    assert Client(m, src=B).get("/healthz")[0] == 200
    text = m.console("show running-config")
    assert "http server port 80\nhttp access 192.0.2.3/32\nhttp access 198.51.100.0/24\n" in text


def test_needs_access_list(make):
    """At the boot and at a commit: a server without a list would be everybody's (a line that was
    forgotten, or taken away)."""
    why = 'the server needs an access list; say who may connect by lines "http access PREFIX"'
    m = make(HTTP.replace(WEB, "http server\n"), boot=False)
    m.time(3 * SECOND)
    assert ":%d: %s" % (HTTP.count("\n", 0, HTTP.index("http")) + 1, why) in m.text
    assert "nothing of the configuration is applied" in m.text
    m = make(HTTP)
    m.learn(A)
    m.console("configure"), m.console("no http access")
    assert why in m.console("commit check") and why in m.console("commit")
    assert Client(m).get("/healthz")[0] == 200
    assert m.console("http access 198.51.100.0/24").strip() == ""
    assert m.console("commit").endswith("by the console\ncommitted\n")
    p = Peer(m, dport=80, sport=40001)
    p.send("S")
    p.ack = p.take("SA").seq + 1
    p.send("A")
    assert "R" in str(p.take().flags)


# Requests for an address of ours, on whatever interface, or a name of ours; a port is not looked at.
OURS = ["192.0.2.1", "192.0.2.1:80", "192.0.2.1:18080", "198.51.100.1", "[2001:db8:1::1]",
        "[2001:DB8:2:0::1]:80", "[%s]" % ROUTER[1].link_local, "[%s%%25eth1]" % ROUTER[1].link_local,
        "r1", "R1", "r1.:8080", "lab.example.net", "LAB.Example.net.:1", "203.0.113.9",
        "[2001:db8:ff::9]:443"]
NOT_OURS = ["evil.example", "localhost", "127.0.0.1", "127.0.0.1:80", "0.0.0.0", "192.0.2.2", "192.0.2.0",
            "192.0.2.255", "192.0.2.1.", "192.0.2.1.example", "3221225985", "0xc0.0.2.1", "192.0.2.01",
            "r", "r11", "xr1", "r1..", "r1.example", "%72%31", "example.net", "xlab.example.net",
            "lab.example.net.evil.example", "lab.example.net..", "[::]", "[::1]", "[2001:db8:1::2]",
            "[::ffff:192.0.2.1]", "[192.0.2.1]", "[r1]", "[%25eth0]"]
NAMED = CONFIG6.replace("arp timeout 60\n", "") + WEB + \
    "http host Lab.Example.NET.\nhttp host 203.0.113.9\nhttp host 2001:DB8:FF::9\n"


@pytest.fixture
def named(make):
    m = make(NAMED)
    m.learn(A)
    learn6(m, A, B)  # DAD is over
    m.counted()
    return m


def test_host(named):
    """RFC 9110 7.4 and 15.5.20: a browser that was led here by somebody's name, which they let lead to
    us (DNS rebinding), is told that it is wrong. The connection goes on."""
    c = Client(named)
    for path in "/", "/metrics", "/config", "/api/v1/status.json", "/nothing":
        status, fields, content = c.get(path, host="evil.example")
        assert status == 421 and b"http host" in content and "Connection" not in fields
    assert c.get("/healthz", "HEAD", host="evil.example")[0] == 421
    assert c.get("/healthz", "POST", host="evil.example")[0] == 421
    assert named.counted()["http_misdirected"] == 7
    for host in OURS:
        assert c.get("/healthz", host=host)[0] == 200, host
    assert "http_misdirected" not in named.counted()
    for host in NOT_OURS:
        assert c.get("/healthz", host=host)[0] == 421, host
    assert named.counted()["http_misdirected"] == len(NOT_OURS)
    assert not c.ended
    text = c.get("/metrics")[2].decode()
    assert "hayate_http_misdirected_total %d\n" % (7 + len(NOT_OURS)) in text
    assert "http host lab.example.net\nhttp host 203.0.113.9\nhttp host 2001:db8:ff::9\n" in \
        named.console("show running-config")


def test_host_of_the_target(named):
    """RFC 9112 3.2.2: what the target says counts, and Host must be there all the same."""
    c = Client(named)
    ask = b"GET http://%s/healthz HTTP/1.1\r\nHost: %s\r\n\r\n"
    for target, host, status in ((b"r1:8080", b"evil.example", 200), (b"evil.example", b"r1", 421),
                                 (b"[2001:db8:1::1]", b"x", 200)):
        c.ask(ask % (target, host))
        assert c.answer()[0] == status
    c.ask(b"GET http://r1/healthz HTTP/1.1\r\n\r\n")
    assert c.answer()[0] == 400 and c.ended is True


def test_host_of_http_1_0(named):
    """It need not say whom it is for; where it does, that counts. (Every browser says it.)"""
    for n, (field, status) in enumerate(((b"", 200), (b"Host: r1\r\n", 200), (b"Host: evil\r\n", 421))):
        c = Client(named, sport=40000 + n)
        c.ask(b"GET /healthz HTTP/1.0\r\n%s\r\n" % field)
        assert c.answer()[0] == status and c.ended is True


def test_host_changes_live(named):
    """Names come and go by commits, for connections that there are as well."""
    c = Client(named)
    commit_live(named, "hostname Lab7", "no http host lab.example.net", "http host www.example.net")
    for host, status in ("lab7", 200), ("www.example.net", 200), ("r1", 421), ("lab.example.net", 421):
        assert c.get("/healthz", host=host)[0] == status
    commit_live(named, "no http host")
    assert c.get("/healthz", host="www.example.net")[0] == 421
    assert c.get("/healthz", host="192.0.2.1")[0] == 200


def test_too_many(h):
    """Busy sessions stay; an idle one is closed for a new one; without an idle one, the new one
    gets 503."""
    first = Client(h, sport=30000)
    first.get("/healthz")
    busy = [Client(h, sport=30001 + i).ask(b"G") for i in range(40)]
    busy += [Client(h, src=B, sport=30001 + i).ask(b"G") for i in range(23)]
    late = Client(h, sport=31000)
    assert first.read().ended is True
    late.ask(b"G")
    refused = Client(h, sport=31001)
    status, fields, _ = refused.read().answer(head_only=True)
    assert (status, fields["Retry-After"], refused.ended) == (503, "1", True)
    refused.send("FA")
    refused.take("A")
    for peer in busy[:3] + [late]:
        peer.ask(b"ET /healthz HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n")
        assert peer.answer()[0] == 200
    h.time(30 * SECOND)
    for outs in h.outs:
        outs.clear()


def test_too_many_of_one(h):
    """48 sessions of one address: further ones of that address replace only its own idle sessions,
    while another address finds room."""
    first = Client(h, sport=30000)
    first.get("/healthz")
    for i in range(47):
        Client(h, sport=30001 + i).ask(b"G")
    late = Client(h, sport=31000)
    assert first.read().ended is True
    late.ask(b"G")
    assert Client(h, sport=31001).read().answer(head_only=True)[0] == 503
    others = [Client(h, src=B, sport=30000 + i) for i in range(16)]
    for other in others:
        assert other.get("/healthz")[0] == 200
    late = Client(h, src=B, sport=31000)  # replaces the session that has been idle longest
    assert others[0].read().ended is True and not others[1].read().ended
    assert late.get("/healthz")[0] == 200
    h.time(30 * SECOND)
    for outs in h.outs:
        outs.clear()


def accepted(p):
    """The peer has opened; what the machine says then, with which it is left alone."""
    p.send("S")
    p.ack = p.take("SA").seq + 1
    p.send("A")
    flags, data = "", b""
    while p.m.outs[p.src.port]:
        segment = p.take()
        flags, data = flags + str(segment.flags), data + bytes(segment.payload)
    return flags, data


def test_turned_away_take_no_place(h):
    """One address opens five hundred connections beyond its share, and closes none. Few of them are
    told 503 and waited for, the others are reset. Who comes from elsewhere is served at once, and no
    SYN waits for what is left of the others."""
    for i in range(48):
        Client(h, sport=30000 + i).ask(b"G")
    told = 0
    for i in range(500):
        flags, data = accepted(Peer(h, dport=80, sport=31000 + i))
        assert data.startswith(b"HTTP/1.1 503 ") != ("R" in flags), (flags, data)
        told += "R" not in flags
    assert 8 <= told <= 32
    counted = h.counted()
    assert not {"tcp_full", "drop_tcp_full", "tcp_cookies_tx"} & counted.keys()
    others = [Client(h, src=B, sport=32000 + i) for i in range(16)]
    for other in others:
        assert other.get("/healthz")[0] == 200
    text = others[0].get("/metrics")[2].decode()
    assert "hayate_http_full_total 500\n" in text
    # those that were told go when they are done, or after 20 s: then others are told again
    for _ in range(25):
        h.time(SECOND)
        for outs in h.outs:
            outs.clear()
    for i in range(48):
        Client(h, sport=33000 + i).ask(b"G")
    assert accepted(Peer(h, dport=80, sport=34000))[1].startswith(b"HTTP/1.1 503 ")
    h.time(30 * SECOND)
    for outs in h.outs:
        outs.clear()


def test_idle_ones_that_do_not_go(h):
    """Idle connections that make room for others, and whose peers never close, are few as well."""
    idle = [Client(h, sport=30000 + i) for i in range(48)]
    for peer in idle:
        peer.get("/healthz")
    for i in range(300):
        p = Peer(h, dport=80, sport=31000 + i).open()
        p.send("PA", b"GET /healthz HTTP/1.1\r\nHost: r1\r\n\r\n")
        assert b" 200 OK" in b"".join(bytes(frame) for frame in h.take_all(0))
    counted = h.counted()
    assert not {"tcp_full", "drop_tcp_full", "tcp_cookies_tx"} & counted.keys()
    assert Client(h, src=B, sport=32000).get("/healthz")[0] == 200
    h.time(100 * SECOND)
    for outs in h.outs:
        outs.clear()


def reset(peer):
    """Has the machine forgotten this connection?"""
    peer.m.outs[peer.src.port].clear()
    peer.send("PA", b"E")
    outs, peer.m.outs[peer.src.port] = list(peer.m.outs[peer.src.port]), type(
        peer.m.outs[peer.src.port])()
    return any("R" in str(IP(out.frame[14:])[TCP].flags) for out in outs)


def test_two_leave_a_third_room(h):
    """All places are at work for two addresses. A third takes one of who has most, that which gets on
    least, until all have as many."""
    m = h
    m.learn(A2)
    many = [Client(m, sport=30000 + i).ask(b"G") for i in range(48)]
    few = [Client(m, src=A2, sport=30100 + i).ask(b"G") for i in range(16)]
    for i in range(21):
        late = Client(m, src=B, sport=30200 + i)
        late.ask(b"G")
        assert not late.ended, i
    gone = [i for i, peer in enumerate(many) if reset(peer)]
    assert gone == list(range(21)) and not any(reset(peer) for peer in few)
    many, few = many[21:], few  # 27, 16 and 21
    for i in range(3):
        assert not Client(m, src=B, sport=30300 + i).ask(b"G").ended
    assert sum(map(reset, many)) == 3  # 24, 16 and 24
    refused = Client(m, src=B, sport=30400)
    assert refused.read().answer(head_only=True)[0] == 503
    assert not Client(m, src=A2, sport=30401).ask(b"G").ended
    m.time(30 * SECOND)
    for outs in m.outs:
        outs.clear()


def test_readers_that_stand_still_leave_buffers(make):
    """One address asks for long pages on all its connections, and reads none of them: another one's
    page, and the console, find buffers."""
    routes = "".join("ip route 10.%d.%d.0/24 192.0.2.2\n" % (i >> 8, i & 255) for i in range(3000))
    m = make(HTTP + routes + "console server\nconsole access 198.51.100.0/24\nconsole password %s\n" % HASH)
    m.learn(A, B)
    for i in range(48):
        p = Peer(m, dport=80, sport=30000 + i).open()
        p.send("PA", b"GET /config HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n")
        m.take_all(0)
    m.time(10 * MS)
    m.take_all(0)
    for i in range(16):
        c = Client(m, src=B, sport=32000 + i)
        assert len(c.get("/config")[2]) > 60000
    console = Client(m, src=B, dport=23, sport=33000)
    m.time(1 * MS)
    assert b"Password: " in console.read().got
    m.time(30 * SECOND)
    for outs in m.outs:
        outs.clear()


def test_time_wait_of_one_that_was_turned_away(h):
    """TIME-WAIT lasts 60 s (RFC 9293 3.6.1), although a client that does not close within 20 s is
    reset: a second FIN is answered."""
    for i in range(48):
        Client(h, sport=30000 + i).ask(b"G")
    turned = Client(h, sport=31000).read()
    assert turned.ended is True
    turned.send("FA")
    turned.take("A")
    for _ in range(5):
        h.time(10 * SECOND)
    for outs in h.outs:
        outs.clear()
    turned.seq -= 1
    turned.send("FA")
    turned.take("A")


def test_beside_the_echo_service(make):
    """The application's TCP has all ports but the management's."""
    m = make(HTTP.replace("server\n", "server port 8080\n") + "application echo\nservice echo tcp\n")
    m.learn(A)
    p = Peer(m).open()
    p.send("PA", b"hello")
    assert p.receive() == b"hello"
    p.send("A")
    assert Client(m, dport=8080, sport=40002).get("/healthz")[0] == 200
    other = Peer(m, dport=80, sport=40003)
    other.send("S")
    other.take("RA")


def commit_live(m, *lines):
    for line in ("configure", *lines):
        assert "%" not in m.console(line), line
    assert m.console("commit").endswith("by the console\ncommitted\n")
    m.console("end")
    assert "ports restart" not in m.text


def refused(m, dport, sport):
    other = Peer(m, dport=dport, sport=sport)
    other.send("S")
    other.take("RA")


def test_server_opens_moves_and_closes_live(make):
    """By commits, while the ports run. Who is connected stays so."""
    m = make(HTTP.replace(WEB, ""))
    m.learn(A, B)
    refused(m, 80, 40100)
    commit_live(m, "http server", "http access 192.0.2.0/24")
    first = Client(m, sport=40101)
    assert first.get("/healthz")[0] == 200
    commit_live(m, "http server port 8080")
    refused(m, 80, 40102)
    second = Client(m, dport=8080, sport=40103)
    assert second.get("/healthz")[0] == first.get("/healthz")[0] == 200
    commit_live(m, "http server port 80", "capture server port 8080", "capture access 192.0.2.0/24")
    assert Client(m, sport=40104).get("/healthz")[0] == 200
    commit_live(m, "http server port 8080", "capture server port 80")  # the ports are swapped
    assert Client(m, dport=8080, sport=40105).get("/healthz")[0] == 200
    commit_live(m, "no http server", "no http access", "no capture server", "no capture access")
    refused(m, 8080, 40106), refused(m, 80, 40107)
    assert second.get("/healthz")[0] == first.get("/healthz")[0] == 200
    first.close(), second.close()


def test_server_rolled_back(h):
    """An unconfirmed removal of the server: it is open again."""
    first = Client(h)
    assert first.get("/healthz")[0] == 200
    h.console("configure"), h.console("no http server"), h.console("no http access")
    assert "\ncommitted\n" in h.console("commit confirmed 10s")
    refused(h, 80, 40100)
    h.time(11 * SECOND)
    assert "it is rolled back" in h.text and "ports restart" not in h.text
    assert Client(h, sport=40101).get("/healthz")[0] == 200


def test_server_moves_beside_the_echo_service(make):
    """The old port is the application's now, which does not know the server's connections."""
    m = make(HTTP + "application echo\nservice echo tcp\n")
    m.learn(A)
    first = Client(m, sport=40100)
    assert first.get("/healthz")[0] == 200
    commit_live(m, "http server port 8080")
    assert first.ask(b"GET /healthz HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n").ended == "reset"
    assert Client(m, dport=8080, sport=40101).get("/healthz")[0] == 200


def test_restart_forgets_connections(h):
    c = Client(h)
    c.get("/healthz")
    h.command("restart")
    for outs in h.outs:
        outs.clear()
    h.learn(A)
    c.send("PA", b"GET")
    assert "R" in str(c.take().flags)
    assert Client(h, sport=40001).get("/healthz")[0] == 200
    h.time(3 * SECOND)
    for outs in h.outs:
        outs.clear()
