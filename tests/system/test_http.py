"""The HTTP server of the real image: curl, promtool, slow clients, a thousand connections, and the
page in a browser."""
import json
import os
import re
import select
import shutil
import socket
import subprocess
import time

import promtool
import pytest
from browser import Browser
from conftest import (LEFT_HOST, LEFT_ROUTER, RIGHT_HOST, RIGHT_ROUTER, ROOT, WEB, eventually, options,
                      pings, router_config)
from family import LEFT_ROUTER6, RIGHT6, make_lab6  # noqa: F401
from launcher.errors import LauncherError

BASE = "http://%s" % LEFT_ROUTER
CONFIG = router_config(extra=WEB)
# What curl says of a reset: when it comes before curl has seen the connection open, while it sends its
# request (curl 8), after that, while it waits for the answer.
RESET = (7, 55, 56, 52)
PICTURES = os.path.join(ROOT, "build", "pictures")


@pytest.fixture
def web(make_lab):
    return make_lab(CONFIG)


def curl(host, *arguments, timeout_s=30):
    """(status, content) of the last answer."""
    result = host.run(["curl", "-sS", "-w", "\n%{http_code}", "--max-time", str(timeout_s),
                       *arguments], timeout_s=timeout_s + 5)
    assert result.returncode == 0, result.stderr
    content, status = result.stdout.rsplit("\n", 1)
    return int(status), content


def get_json(host, name):
    status, content = curl(host, "%s/api/v1/%s" % (BASE, name))
    assert status == 200
    return json.loads(content)


def connect(host, address=LEFT_ROUTER, timeout_s=20):
    client = host.socket(kind=socket.SOCK_STREAM)
    client.settimeout(timeout_s)
    client.connect((address, 80))
    return client


def read_all(client):
    data = b""
    while True:
        piece = client.recv(65536)
        if not piece:
            return data
        data += piece


@pytest.mark.one_card
@pytest.mark.parametrize("nic", options.NICS)
def test_curl(web):
    """Every page, from both sides; HEAD, 404, 405, and keep-alive."""
    assert curl(web.left, BASE + "/healthz") == (200, "ok\n")
    assert curl(web.right, "http://%s/healthz" % RIGHT_ROUTER) == (200, "ok\n")
    assert curl(web.right, BASE + "/healthz") == (200, "ok\n")  # the router's far address
    assert curl(web.left, BASE + "/nothing")[0] == 404
    assert curl(web.left, "-X", "DELETE", BASE + "/")[0] == 405
    assert curl(web.left, "-d", "body", BASE + "/")[0] == 405
    assert curl(web.left, "--http1.0", BASE + "/api/v1/status.json")[0] == 200
    head = curl(web.left, "-I", BASE + "/")[1]
    with open(ROOT + "/control/management/index.html", encoding="utf-8") as f:
        page = f.read()
    assert "Content-Length: %d" % len(page.encode()) in head
    assert curl(web.left, BASE + "/")[1] == page
    said = web.left.run(["curl", "-sS", "-v", "-o", "/dev/null", BASE + "/", "-o", "/dev/null",
                         BASE + "/metrics"]).stderr
    assert said.count("Connected to") == 1, said
    for name in "status ports interfaces counters cores routes neighbours tcp".split():
        assert get_json(web.left, name + ".json")


def lint(text):
    """The checks of `promtool check metrics`, and the rules for our own names."""
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    helps = re.findall(r"^# HELP (\S+) \S", text, re.M)
    assert sorted(helps) == sorted(kinds) and len(helps) == len(set(helps))
    for name, kind in kinds.items():
        assert re.fullmatch(r"hayate(_[a-z0-9]+)+", name), name
        assert name.endswith("_total") == (kind == "counter"), name
        assert not re.search(r"_(ms|us|ns|kb|mb|bits|minutes|count|sum|bucket|info_total)$", name), name
    samples = re.findall(r"^(\w+)(\{\S+\})? \d+(?:\.\d+)?$", text, re.M)
    assert {name for name, _ in samples} == set(kinds) and len(samples) == len(set(samples))
    assert len(samples) + 2 * len(kinds) == len(text.splitlines())


def test_promtool(make_lab):
    """promtool, Prometheus' own checker of names, units, types and help texts, has no complaint,
    with interfaces of all kinds."""
    try:
        argv = promtool.find()
    except LauncherError as error:
        pytest.skip("no promtool: %s" % error)
    web = make_lab(CONFIG + "interface eth1.7\n ip address 10.7.0.1/24\n"
                   "interface eth1.8\n ip address dhcp\ninterface lo0\n ip address 10.255.0.1/32\n")
    pings(web.left, RIGHT_HOST)
    text = curl(web.left, BASE + "/metrics")[1]
    rules = subprocess.run([*argv, "check", "rules", os.path.join(ROOT, "docs", "prometheus-alerts.yml")], text=True,
                           capture_output=True, check=False)
    assert rules.returncode == 0 and "rules found" in rules.stdout, rules.stdout + rules.stderr
    result = subprocess.run([*argv, "check", "metrics"], input=text, text=True, capture_output=True,
                            check=False)
    assert (result.returncode, result.stdout + result.stderr) == (0, "")
    lint(text)
    for line in ('up{interface="lo0"} 1', 'receive_packets_total{interface="eth1.7",port="eth1"} 0'):
        assert "\nhayate_interface_%s\n" % line in text
    wrong = text.replace("hayate_drops_total", "hayate_drops")
    result = subprocess.run([*argv, "check", "metrics"], input=wrong, text=True, capture_output=True,
                            check=False)
    assert result.returncode != 0 and "hayate_drops" in result.stdout + result.stderr


def test_metrics(web):
    """The format is correct, and the figures are those of the console."""
    pings(web.left, RIGHT_HOST)
    status, text = curl(web.left, BASE + "/metrics")
    assert status == 200
    lint(text)
    counters = web.router.balanced()
    found = dict(re.findall(r'^hayate_packets_total\{fate="(\w+)"\} (\d+)$', text, re.M))
    assert int(found["forwarded"]) == counters["forwarded"] == 6


def test_dashboard(web):
    """Every metric that the Grafana dashboard uses exists."""
    names = set(re.findall(r"^# TYPE (\S+)", curl(web.left, BASE + "/metrics")[1], re.M))
    with open(ROOT + "/docs/grafana-dashboard.json", encoding="utf-8") as f:
        board = json.load(f)
    asked = {name for panel in board["panels"] for target in panel.get("targets", ())
             for name in re.findall(r"hayate_\w+", target["expr"])}
    assert len(asked) > 10 and asked <= names, asked - names


def test_pipelined(web):
    with connect(web.left) as client:
        client.sendall(b"".join(b"GET %s HTTP/1.1\r\nHost: 192.0.2.1\r\n%s\r\n" % what for what in (
            (b"/healthz", b""), (b"/metrics", b""), (b"/nothing", b""),
            (b"/healthz", b"Connection: close\r\n"))))
        data = read_all(client)
    assert re.findall(rb"^HTTP/1\.1 (\d+) ", data, re.M) == [b"200", b"200", b"404", b"200"]


def test_hundred_thousand_routes(make_lab):
    """The answer is generated while it is sent; forwarding continues meanwhile."""
    routes = "".join("ip route 10.%d.%d.%d/32 %s\n" % (n >> 16, n >> 8 & 255, n & 255, RIGHT_HOST)
                     for n in range(100000))
    lab = make_lab(router_config(extra=WEB + routes), "--memory", "1024")
    pings(lab.left, RIGHT_HOST)
    status, content = curl(lab.left, BASE + "/api/v1/routes.json", timeout_s=120)
    said = json.loads(content)
    assert status == 200 and said["total"] == len(said["routes"]) > 100000
    pings(lab.left, RIGHT_HOST)


def test_configuration(make_lab):
    """Another machine boots with the configuration that the server returns."""
    routes = "".join("ip route 10.%d.%d.0/24 %s\n" % (i >> 8, i & 255, RIGHT_HOST)
                     for i in range(20000))
    lab = make_lab(CONFIG + routes)
    status, text = curl(lab.left, BASE + "/config")
    assert status == 200 and text.count("\nip route ") == 20000
    again = make_lab(text)
    assert curl(again.left, BASE + "/config") == (200, text)


def test_slow_clients(web):
    """Slowloris: heads that drip in have ten seconds, and others are served meanwhile."""
    slow = [connect(web.left) for _ in range(40)]
    began = time.monotonic()
    ended = set()
    while len(ended) < len(slow) and time.monotonic() - began < 30:
        for client in slow:
            if client not in ended:
                try:
                    client.send(b"X")
                except OSError:
                    ended.add(client)
        for client in select.select([c for c in slow if c not in ended], [], [], 0)[0]:
            try:
                said = client.recv(4096)
                assert said == b"" or said.startswith(b"HTTP/1.1 408 ")
            except OSError:
                pass
            ended.add(client)
        assert curl(web.left, BASE + "/healthz") == (200, "ok\n")
        time.sleep(0.5)
    for client in slow:
        client.close()
    assert len(ended) == 40 and time.monotonic() - began > 8


def test_thousand_connections(web):
    """Refused or kept, but forwarding goes on, another host is served at once, and after them the
    server is as before. (Neighbours are known before: what waits for one goes by the same ring as the connections, and may be lost.)"""
    pings(web.left, RIGHT_HOST)
    clients = []
    for _ in range(1000):
        client = web.left.socket(kind=socket.SOCK_STREAM)
        client.setblocking(False)
        client.connect_ex((LEFT_ROUTER, 80))
        clients.append(client)
    for client in clients:
        try:
            client.send(b"GET / HT")
        except OSError:
            pass
    pings(web.left, RIGHT_HOST, count=10)
    for _ in range(5):
        began = time.monotonic()
        assert curl(web.right, "http://%s/healthz" % RIGHT_ROUTER) == (200, "ok\n")
        assert time.monotonic() - began < 5
    eventually(lambda: select.select(clients[:1000], [], [], 0)[0], 30, "an answer to one of them")
    for client in clients:
        client.close()
    eventually(lambda: curl_works(web.left), 60, "service after a thousand connections")
    pings(web.left, RIGHT_HOST, count=5)


def curl_works(host):
    result = host.run(["curl", "-s", "--max-time", "3", BASE + "/healthz"])
    return result.stdout == "ok\n"


def test_access_list(make_lab):
    lab = make_lab(router_config(extra="http server port 8080\nhttp access %s/32\n" % LEFT_HOST))
    assert curl(lab.left, BASE + ":8080/healthz") == (200, "ok\n")
    assert lab.right.run(["curl", "-s", "--max-time", "5", BASE + ":8080/healthz"]).returncode in RESET
    assert lab.left.run(["curl", "-s", "--max-time", "5", BASE + "/healthz"]).returncode == 7


@pytest.mark.nics(["virtio"])
def test_forwarded_port(make_router):
    """Without privileges: by a forwarded port of QEMU's own network, where the browser knows another
    address and another port. It is answered once the configuration names them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    router = make_router("interface eth0\n ip address 10.0.2.15/24\nhttp server\n"
                         "http access 10.0.2.0/24\nhttp host localhost\n",
                         ports=("user,hostfwd=tcp:127.0.0.1:%d-10.0.2.15:80" % port,))
    assert "1 sent, 1 received" in router.command("ping 10.0.2.2 count 1", timeout_s=30)

    def ask(name):
        result = subprocess.run(["curl", "-sS", "-w", "\n%{http_code}", "--max-time", "20",
                                 "http://%s:%d/healthz" % (name, port)], capture_output=True, text=True,
                                check=False)
        assert result.returncode == 0, result.stderr
        content, status = result.stdout.rsplit("\n", 1)
        return int(status), content

    assert ask("localhost") == (200, "ok\n")
    status, content = ask("127.0.0.1")
    assert status == 421 and "http host" in content
    for line in "configure", "http host 127.0.0.1":
        router.command(line)
    assert "committed" in router.command("commit")
    assert ask("127.0.0.1") == (200, "ok\n")


@pytest.mark.parametrize("cpus", (1, 2))
def test_in_a_flood(make_lab, cpus):
    """Requests to a port that is sent more than it takes, and to a machine that is given more than
    it forwards. The machine reserves ring entries for its own packets, and with one CPU turns for
    its control role. (The flooding host cannot send the requests: its device drops most of its
    packets.)"""
    lab = make_lab(CONFIG, cpus=cpus)
    pings(lab.left, RIGHT_HOST)  # neighbours are known before the flood
    base = "http://" + RIGHT_ROUTER
    with lab.flood(RIGHT_HOST):
        for _ in range(3):
            assert curl(lab.right, base + "/healthz") == (200, "ok\n")
            assert curl(lab.right, base + "/metrics")[0] == 200
    assert lab.router.balanced()["originated_drop_tx"] == 0


def need_browser():
    if not shutil.which("chromium") and "chromium" not in subprocess.run(
            [ROOT + "/tools/deps.sh", "list", "test"], capture_output=True, text=True,
            check=True).stdout:
        pytest.skip("this distribution has no package chromium")
    os.makedirs(PICTURES, exist_ok=True)


def test_page_in_a_browser(make_lab6):
    """With traffic through the router, the page shows ports, rates, drops, cores, routes and
    neighbours, makes no requests to other servers, and reports when the machine goes away and comes
    back."""
    need_browser()
    web = make_lab6(extra=WEB + "routing engine %s\n" % RIGHT_HOST)
    pings(web.left, RIGHT_HOST)
    pings(web.left, RIGHT6)
    web.right.popen(["iperf3", "-s"], stdout=subprocess.DEVNULL)
    eventually(lambda: web.left.run(["iperf3", "-c", RIGHT_HOST, "-n", "1"]).returncode == 0, 10,
               "iperf3 listens")
    web.left.popen(["iperf3", "-c", RIGHT_HOST, "-t", "40", "-b", "200M"], stdout=subprocess.DEVNULL)
    with Browser(web.left) as browser:
        browser.size(1280, 1100)
        browser.open(BASE + "/")
        eventually(lambda: "bit/s" in (browser.run("document.body?.innerText") or ""), 20, "figures")
        eventually(lambda: browser.run("document.querySelectorAll('#ports path').length") >= 8, 20,
                   "curves")
        with web.flood("203.0.113.7"):  # no route: drops
            time.sleep(4)
            text = browser.run("document.body.innerText")
            browser.screenshot(os.path.join(PICTURES, "page-light.png"))
            browser.size(1280, 1100, dark=True)
            time.sleep(1.2)
            browser.screenshot(os.path.join(PICTURES, "page-dark.png"))
        browser.size(420, 900)
        time.sleep(1.2)
        browser.screenshot(os.path.join(PICTURES, "page-narrow.png"))
        for word in ("r1", "healthy", "eth0", "eth1", "Mbit/s" if "Mbit/s" in text else "Gbit/s",
                     "ip4_no_route", "control", "data", LEFT_HOST, "198.51.100.0/24",
                     RIGHT6, "2001:db8:2::/64", LEFT_ROUTER6 + "/64", "routing engine not connected"):
            assert word in text, (word, text)
        assert browser.errors() == []
        assert all(url.startswith((BASE + "/", "data:")) for url in browser.requests())
        web.router.set_link(0, False)
        eventually(lambda: browser.run("document.body.classList.contains('away')"), 20, "it says so")
        assert "has not answered" in browser.run("document.body.innerText")
        browser.size(1280, 1100)
        browser.screenshot(os.path.join(PICTURES, "page-away.png"))
        web.router.set_link(0, True)
        eventually(lambda: not browser.run("document.body.classList.contains('away')"), 40, "it is back")


def test_programs_in_a_browser(make_lab):
    """The results of a port's XDP programs appear on the page with the first one, and go with the last."""
    need_browser()
    web = make_lab(CONFIG)
    shown = "document.getElementById('xdp')?.checkVisibility()"
    row = r"eth0\s+count\s+count\s+([\d\u202f]+)( [\d.]+ k?pps)?\s+0\s+0\s+0\s+0"
    with Browser(web.left) as browser:
        browser.size(1280, 1100)
        browser.open(BASE + "/")
        eventually(lambda: "bit/s" in (browser.run("document.body?.innerText") or ""), 20, "figures")
        assert browser.run(shown) is False
        status, said = curl(web.left, "-T", ROOT + "/build/bpf/count.o", BASE + "/api/v1/programs/count")
        assert status == 201, said
        for line in ("configure", "interface eth0", "xdp count", "commit"):
            web.router.command(line)
        eventually(lambda: browser.run(shown), 20, "the programs")

        def counts():
            return re.search(row, browser.run("document.getElementById('xdp').innerText"))
        eventually(lambda: counts() and counts()[2], 20, "packets and their rate, of the page's own requests")
        first = int(counts()[1].replace("\u202f", ""))
        eventually(lambda: int(counts()[1].replace("\u202f", "")) > first, 20, "it counts")
        browser.screenshot(os.path.join(PICTURES, "page-xdp.png"))
        for line in ("no xdp count", "commit", "end"):
            web.router.command(line)
        eventually(lambda: not browser.run(shown), 20, "no programs")
        assert browser.errors() == []
