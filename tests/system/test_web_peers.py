"""The web application and others' programs: HTTP clients, slowhttptest, a scanner, and reverse proxies in front of it while
ambiguous requests arrive (smuggling.py). docs/web.md has the limits that the slow clients meet."""
import re
import shutil
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import LEFT_HOST, LEFT_ROUTER, eventually
from smuggling import CASES, HIDDEN, OPEN
from test_web import CONFIG, make_web  # noqa: F401

BASE = "http://" + LEFT_ROUTER


def need(tool):
    if not shutil.which(tool):
        pytest.skip("%s is not installed (this distribution has no such package)" % tool)


def run(web, *words):
    """The output of a client that must succeed."""
    result = web.host.run(list(words), timeout_s=120)
    assert result.returncode == 0, (words, result.stdout, result.stderr)
    return result.stdout + result.stderr


def requests(web):
    return web.router.counters()["web_requests"]


# --- clients ---

def test_wget(make_web, tmp_path):
    """Every file, then files that have not changed, then a download that was interrupted."""
    need("wget")
    web = make_web()
    out, wanted = tmp_path / "out", tmp_path / "list"
    wanted.write_text("".join(BASE + name + "\n" for name in web.files))
    run(web, "wget", "-nv", "-x", "-nH", "-P", str(out), "-i", str(wanted))
    for name, data in web.files.items():
        assert (out / name[1:]).read_bytes() == data, name
    before = requests(web)
    again = run(web, "wget", "-N", "-P", str(out), BASE + "/page.css", BASE + "/big.bin")
    assert again.count("304 Not Modified") == 2, again
    assert requests(web) == before + 2
    with open(out / "big.bin", "r+b") as file:
        file.truncate(1000001)
    said = run(web, "wget", "-c", "-P", str(out), BASE + "/big.bin")
    assert "206 Partial Content" in said and (out / "big.bin").read_bytes() == web.files["/big.bin"]


def test_aria2(make_web, tmp_path):
    """A file in pieces over several connections."""
    need("aria2c")
    web = make_web()
    run(web, "aria2c", "--no-conf", "-q", "-x", "8", "-s", "8", "-k", "1M", "-d", str(tmp_path), "-o", "big", BASE + "/big.bin")
    assert (tmp_path / "big").read_bytes() == web.files["/big.bin"]
    assert web.router.balanced()["tcp_accepts"] > 1


def test_load_generators(make_web, tmp_path):
    """ab (HTTP/1.0 with and without keep-alive), siege and h2load (pipelined): no answer is missing or wrong."""
    web = make_web()
    length = len(web.files["/page.css"])
    asked = 0
    need("ab")
    for words in ([], ["-k"]):
        said = run(web, "ab", "-q", "-n", "500", "-c", "10", *words, BASE + "/page.css")
        assert re.search(r"Complete requests: +500\nFailed requests: +0\n", said) and "Non-2xx" not in said, said
        assert re.search(r"HTML transferred: +%d bytes" % (500 * length), said), said
        assert ("Keep-Alive requests:    500\n" in said) == bool(words), said
        asked += 500
    need("siege")
    settings = tmp_path / "siege"
    settings.write_text("protocol = HTTP/1.1\nconnection = keep-alive\nparser = false\nlogging = false\n")
    said = run(web, "env", "HOME=%s" % tmp_path, "siege", "-R", str(settings), "-b", "-c", "8", "-r", "25", BASE + "/page.css")
    assert re.search(r"(?i)successful.transactions\W+200\b", said) and re.search(r"(?i)failed.transactions\W+0\b", said), said
    asked += 200
    need("h2load")
    said = run(web, "h2load", "--h1", "-n", "2000", "-c", "20", "-m", "10", BASE + "/page.css")
    assert "2000 succeeded, 0 failed, 0 errored, 0 timeout" in said and "2000 2xx" in said, said
    assert web.router.balanced()["web_requests"] == asked + 2000


# Debian's requests, and urllib3 and http.client below it. Prints nothing if all is well.
PYTHON = """\
import http.client, sys
import requests, urllib3
base, big, css = sys.argv[1], open(sys.argv[2], "rb").read(), open(sys.argv[3], "rb").read()
with requests.Session() as session:
    for _ in range(20):
        assert session.get(base + "/big.bin").content == big
        answer = session.get(base + "/page.css")
        assert answer.content == css and answer.headers["Content-Encoding"] == "gzip", answer.headers
        assert session.get(base + "/page.css", headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
    assert session.head(base + "/big.bin").headers["Content-Length"] == str(len(big))
    assert session.options(base + "/").headers["Allow"] == "GET, HEAD, OPTIONS"
    assert session.post(base + "/", data=b"x" * 1000).status_code == 405
    assert session.post(base + "/", data=iter([b"x", b"y"])).status_code == 411  # in chunks
    assert session.get(base + "/page.css").content == css
pool = urllib3.PoolManager(maxsize=4, retries=False)
for first in range(0, len(big), len(big) // 7):
    answer = pool.request("GET", base + "/big.bin", headers={"Range": "bytes=%d-%d" % (first, first + 999)})
    assert answer.status == 206 and answer.data == big[first:first + 1000]
with pool.request("GET", base + "/big.bin", preload_content=False) as answer:
    answer.read(100)  # and no more: the connection is closed in the middle
client = http.client.HTTPConnection(base[len("http://"):])
client.request("GET", "/page.css", headers={"Accept-Encoding": "identity"})
assert client.getresponse().read() == css
"""


def test_python_clients(make_web, tmp_path):
    web = make_web()
    script = tmp_path / "client.py"
    script.write_text(PYTHON)
    if subprocess.run(["/usr/bin/python3", "-c", "import requests"], capture_output=True, check=False).returncode:
        pytest.skip("python3-requests is not installed")
    run(web, "/usr/bin/python3", str(script), BASE, str(tmp_path / "site/big.bin"), str(tmp_path / "site/page.css"))
    web.router.balanced()


def test_scanner(make_web):
    """nmap's scripts for web servers, and its probes for services, which are random bytes to an HTTP server."""
    web = make_web()
    said = run(web, "nmap", "-n", "-Pn", "-p", "80", "-sV", "--version-light", "--script",
               "http-server-header,http-methods,http-headers,http-trace,http-title", LEFT_ROUTER)
    assert re.search(r"80/tcp open +http +Hayate", said) or "http-server-header: Hayate" in said, said
    assert re.search(r"Supported Methods: (?=.*GET)(?=.*HEAD)(?=.*OPTIONS)(?!.*TRACE)", said), said
    assert web.get("/page.css") == web.files["/page.css"]
    web.router.balanced()


# --- access log ---

def test_access_log(make_web):
    """Requests that several data cores have answered are all there, once each, in the form that log analysers read."""
    web = make_web("--append", "", cpus=3, config=CONFIG + "web access-log\nhttp server port 8081\nhttp access 0.0.0.0/0\n")
    words = ["--parallel", "--parallel-max", "10", "--fail", "-A", "agent", "-e", "http://w1/"]
    for name in web.files:
        words += ["-o", "/dev/null", web.base + name]
    web.curl(*words)
    line = re.compile(r'%s - - \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000\] "GET (\S+) HTTP/1.1" 200 (\d+|-) '
                      r'"http://w1/" "agent"' % re.escape(LEFT_HOST))
    wanted = sorted((name, str(len(data) or "-")) for name, data in web.files.items())

    def whole():
        lines = web.curl(web.base + ":8081/access.log").splitlines()
        return sorted(line.fullmatch(text).groups() for text in lines) == wanted
    eventually(whole, 20, "every request is in the log")
    assert web.router.balanced()["web_log_lost"] == 0


# --- slow clients ---

# slowhttptest's arguments, the counter that shows that they have been served or refused, and how many connections are open at
# least at some time. Content and ranges are answered at once, so such connections do not last.
SLOW = {
    "heads": (["-H", "-i", "1"], "web_evicted", 50),
    "content": (["-B", "-i", "1", "-s", "60000"], "web_client_errors", 0),
    "reads": (["-X", "-w", "8", "-y", "16", "-n", "1", "-z", "1", "-k", "3"], "web_requests", 50),
    "ranges": (["-R"], "web_requests", 0),
}


def alive(web):
    """Connections of all cores that are not in TIME-WAIT."""
    lines = [line.split() for line in web.router.command("show tcp").splitlines() if line.strip()]
    total = dict(zip(lines[0], lines[-1]))
    return int(total["open"]) - int(total["time_wait"])


@pytest.mark.parametrize("how", SLOW)
def test_slow_clients_of_slowhttptest(make_web, how):
    """A thousand slow clients: another one of the same host is served meanwhile. All connections of the slow ones end, and their
    buffers are free again."""
    need("slowhttptest")
    web = make_web("--append", "", config=CONFIG + "tcp connections 4000\n")
    words, counter, least = SLOW[how]
    before = web.router.counters()
    child = web.host.popen(["slowhttptest", *words, "-c", "1000", "-r", "200", "-l", "12", "-p", "3", "-u", BASE + "/big.bin"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    served = most = 0
    while child.poll() is None:
        assert web.get("/page.css") == web.files["/page.css"]
        served += 1
        most = max(most, alive(web))
        assert served < 100000, "slowhttptest does not end"
    assert most >= least
    after = web.router.counters()
    assert served > 0 and after["tcp_accepts"] - before["tcp_accepts"] > 100 + served
    assert after[counter] > before.get(counter, 0) + (served if counter == "web_requests" else 0)
    eventually(lambda: alive(web) == 0, 90, "no connection of slowhttptest is left", 0.5)
    web.router.balanced()


# --- ambiguous requests ---

def exchange(web, address, data, half_close=False):
    """All that the server at `address` answers until it ends the connection."""
    got = b""
    with web.host.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
        client.settimeout(30)
        client.connect((address, 80))
        try:
            client.sendall(data)
            if half_close:
                client.shutdown(socket.SHUT_WR)
            while True:
                more = client.recv(65536)
                if not more:
                    break
                got += more
        except ConnectionResetError:
            pass  # it did not read all that was sent
    return got


def answers(data):
    """[(status, ends the connection)]: responses, one behind the other. None of these requests is a HEAD."""
    found = []
    while data:
        head, end, data = data.partition(b"\r\n\r\n")
        assert end, head
        lines = head.decode("latin-1").split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        status = int(re.fullmatch(r"HTTP/1\.1 (\d{3}) .*", lines[0]).group(1))
        data = data[int(fields.get("content-length", 0)):]
        found.append((status, fields.get("connection") == "close"))
    return found


def test_ambiguous_requests(make_web):
    """Each gets the RFC's answer, and nothing behind it is read as a request."""
    web = make_web()
    wrong = []
    for case in CASES:
        got = answers(exchange(web, LEFT_ROUTER, case.data))
        if got != [(case.status, True)]:
            wrong.append((case.name, case.status, got))
    assert not wrong, "\n".join(map(str, wrong))
    assert requests(web) == len(CASES)
    for case in OPEN:
        got = answers(exchange(web, LEFT_ROUTER, case.data + HIDDEN.encode(), half_close=True))
        assert got == [(case.status, False), (404, False)], case.name
    web.router.balanced()


HONEST = b"GET %s HTTP/1.1\r\nHost: w1\r\nConnection: close\r\n\r\n"
NGINX = """\
daemon off;
master_process off;
pid {work}/pid;
error_log {work}/error.log;
events {{ worker_connections 64; }}
http {{
	log_format upstream '$upstream_status $request';
	access_log {work}/access.log upstream;
	client_body_temp_path {work}/body;
	proxy_temp_path {work}/proxy;
	fastcgi_temp_path {work}/fastcgi;
	uwsgi_temp_path {work}/uwsgi;
	scgi_temp_path {work}/scgi;
	keepalive_timeout 1s;
	client_header_timeout 2s;
	client_body_timeout 2s;
	lingering_close off;
	ignore_invalid_headers off;
	underscores_in_headers on;
	upstream ours {{ server {server}; keepalive 4; }}
	server {{
		listen 80;
		location / {{
			proxy_pass http://ours;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_request_buffering {buffering};
			proxy_next_upstream off;
		}}
	}}
}}
"""
HAPROXY = """\
global
	log stdout format raw local0
defaults
	mode http
	timeout client 2s
	timeout server 30s
	timeout connect 10s
	timeout http-request 2s
	timeout http-keep-alive 1s
	retries 0
	option accept-invalid-http-request
	log global
	log-format "%[srv_name] %ST %r"
frontend front
	bind :80
	default_backend back
backend back
	http-reuse always
	server ours {server}:80
"""


class Proxy:
    """A reverse proxy in the host's namespace, which keeps connections to the web application open for all of its clients."""

    def __init__(self, web, kind, work):
        need(kind.partition("-")[0])
        self.web, self.kind, self.log = web, kind, work / "access.log"
        work.chmod(0o755)
        config = work / "config"
        if kind == "haproxy":
            config.write_text(HAPROXY.format(server=LEFT_ROUTER))
            with open(self.log, "wb") as log:
                web.host.popen(["haproxy", "-db", "-f", str(config)], stdout=log, stderr=subprocess.STDOUT)
        else:
            config.write_text(NGINX.format(work=work, server=LEFT_ROUTER, buffering="off" if "streaming" in kind else "on"))
            web.host.popen(["nginx", "-p", str(work), "-c", str(config)], stdin=subprocess.DEVNULL)
        eventually(self.listens, 30, kind)

    def listens(self):
        with self.web.host.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            return probe.connect_ex((LEFT_HOST, 80)) == 0

    def forwarded(self):
        """The number of requests that it has passed on, as it says itself."""
        text = self.log.read_text(encoding="latin-1")
        if self.kind == "haproxy":
            return len(re.findall(r"^ours ", text, re.M))
        return len(re.findall(r"^\d{3} ", text, re.M))


@pytest.mark.parametrize("kind", ["nginx", "nginx-streaming", "haproxy"])
def test_ambiguous_requests_by_a_proxy(make_web, kind, tmp_path):
    """The web application sees as many requests as the proxy has passed on, and an honest client of the proxy, whose requests
    use the same connections, gets what it asks for."""
    web = make_web()
    work = tmp_path / "proxy"
    work.mkdir()
    proxy = Proxy(web, kind, work)
    names = "/page.css", "/d1/f1.bin", "/d6/f6.bin"

    def attack(case):
        data = exchange(web, LEFT_HOST, case.data)
        wrong = [case.name] if b"HTTP/1.1 101" in data else []
        for name in names:
            head, _, content = exchange(web, LEFT_HOST, HONEST % name.encode()).partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200 ") or content != web.files[name]:
                wrong.append((case.name, name, head))
        return wrong
    with ThreadPoolExecutor(8) as clients:
        wrong = [what for found in clients.map(attack, CASES + OPEN) for what in found]
    assert not wrong, "\n".join(map(str, wrong))
    honest = len(names) * len(CASES + OPEN)
    assert honest < proxy.forwarded()
    eventually(lambda: proxy.forwarded() == requests(web), 10, "as many requests as %s has passed on" % kind)
    assert web.router.balanced()["tcp_accepts"] < honest
