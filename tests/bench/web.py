"""HTTP beside nginx: of the control core, and of the web application; and the cost of a scrape for forwarding.

http    wrk on the first CPU, the server on the second: the image with one CPU, whose loop is both
        control and data core, on a tap; nginx with one worker, and the kernel's work for it on the
        same CPU by RPS, on a veth pair. That favours nginx: its /metrics is a file with a copy of
        ours, and passes the veth as one frame, while QEMU writes each 1400 bytes of ours into the
        tap as a frame, on wrk's CPU. So there is also nginx_frames, an nginx on a veth without
        offloads, where a frame still needs neither a system call nor another process.
content the same with the web application in the image with one CPU, and files of 1 KiB and 1 MiB; `close`: each
        request on a connection of its own.
scrape  /metrics ten times a second while a router is loaded: over HTTP and over HTTPS on a persistent connection,
        and over HTTPS with a connection, and so a handshake, for each.
        virtio: vhost_gen, as fast as the router takes packets and at 90 % of that. Scraper, control
        core and QEMU share the first CPU with the generator, at a higher priority, so while they
        work the data core soon runs out of packets. The generator has no more packets in flight
        than the router's rings hold, so losses are the router's (-1: the sink counted one of the
        router's own frames as one of them). null: a router between two null ports, which always
        have packets: data core and scrape run in the same microsecond.
"""
import contextlib
import os
import random
import re
import shutil
import socket
import ssl
import statistics
import subprocess
import threading
import time

from load import (CPU_DATA, CPU_GENERATOR, PRIORITY, REST_S, SLICE_S, WARM_UP_S, BenchError,
                  Generator, Load, build_tools, own_group, pin_guest, progress, realtime)
from peers import NEXT_HOP_MAC
from router import data_core, drops_of, router_under_load
from table import SMALL
from services import mkdir, softirq_threads
from launcher import machine, netlab
from launcher.errors import LauncherError
from launcher.guest import Guest

SERVER, CLIENT = "192.0.2.1", "192.0.2.2"
SERVER6, CLIENT6 = "2001:db8:1::1", "2001:db8:1::2"
CONNECTIONS = (1, 16, 48)  # as many as the control core serves of one source (docs/http.md)
FAMILIES = {"ip4": SERVER, "ip6": "[%s]" % SERVER6}
MORE_ROUTES = 6  # they bring routes.json to about 1 KiB
OBJECTS = {"metrics": "/metrics", "1KiB": "/api/v1/routes.json"}
WRK_S = 1
FILES = {"/kib": 1 << 10, "/mib": 1 << 20}
CONTENT = {"1KiB.1conns": ("/kib", ()), "1KiB.64conns": ("/kib", ()), "1KiB.256conns": ("/kib", ()),
           "1MiB.1conns": ("/mib", ()), "1MiB.16conns": ("/mib", ()),
           "close.64conns": ("/kib", ("-H", "Connection: close"))}
LETTERS = b"abcdefghijklmnopqrstuvwxyz\n"
TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
NGINX = """
user root;
daemon off;
worker_processes 1;
pid {0}/pid;
error_log {0}/error.log;
events {{ worker_connections 1024; }}
http {{
	access_log off;
	sendfile on;
	tcp_nopush on;
	keepalive_requests 1000000000;
	open_file_cache max=16;
	default_type text/plain;
	client_body_temp_path {0}/body;
	proxy_temp_path {0}/proxy;
	fastcgi_temp_path {0}/fastcgi;
	uwsgi_temp_path {0}/uwsgi;
	scgi_temp_path {0}/scgi;
	server {{
		listen 80;
		listen [::]:80;
		root {0}/files;
	}}
}}
"""
SCRAPES_PER_S = 10
TURNS = 5  # with and without, in a run
IN_FLIGHT = 768  # of the 1024 descriptors of a ring
MANAGEMENT, SCRAPER = "203.0.113.1", "203.0.113.2"


# --- requests a second ---

def configuration():
    return ("hostname bench\nhttp server\nhttp access 192.0.2.0/24\nhttp access 2001:db8:1::/64\n"
            "interface eth0\n ip address %s/24\n"
            " ipv6 address %s/64\n" % (SERVER, SERVER6) +
            "".join("ip route 10.0.%d.0/24 192.0.2.9\n" % number for number in range(MORE_ROUTES)))


class Contender:
    """pid: the server's."""

    def __init__(self, name, client, pid):
        self.name, self.client, self.pid = name, client, pid
        self.turns = []

    def threads(self):
        """The threads of the server and of its children."""
        pids = [str(self.pid)]
        with contextlib.suppress(OSError):
            with open("/proc/%d/task/%d/children" % (self.pid, self.pid), encoding="ascii") as file:
                pids += file.read().split()
        return [int(thread) for pid in pids for thread in os.listdir("/proc/%s/task" % pid)]

    def fetch(self, url):
        got = self.client.run(["curl", "-sSf", "-g", "--max-time", "10", url], check=True)
        return got.stdout

    def turn(self, url, connections, more=()):
        words = ["chrt", "-f", str(PRIORITY), "taskset", "-c", str(CPU_GENERATOR)]
        words += ["wrk", "-t1", "-c%d" % connections, "-d%ds" % WRK_S, "--latency", *more, url]
        before = busy()
        with realtime(self.threads(), softirq_threads()):
            said = self.client.run(words, timeout_s=30, check=True).stdout
        after = busy()
        time.sleep(REST_S)
        errors = re.search(r"connect (\d+), read (\d+), write (\d+), timeout", said)
        if errors and errors.groups() != ("0", "0", "0") or "Non-2xx" in said:
            raise BenchError("%s: wrk says\n%s" % (self.name, said))
        p50, unit = re.search(r"50%\s+([\d.]+)(us|ms|s)", said).groups()
        self.turns.append({
            "requests_per_second": float(re.search(r"Requests/sec:\s+([\d.]+)", said).group(1)),
            "p50": float(p50) * TIMES[unit] * 1e6,
            "client_percent": 100 * (after[CPU_GENERATOR] - before[CPU_GENERATOR]) / WRK_S})


def busy():
    """Seconds for which each CPU was not idle."""
    with open("/proc/stat", encoding="ascii") as file:
        rows = [list(map(int, line.split()[1:9])) for line in file if re.match(r"cpu\d", line)]
    return [(sum(row) - row[3] - row[4]) / os.sysconf("SC_CLK_TCK") for row in rows]


def ours(stack, work, accel, app="router", text=None, more=()):
    client = stack.enter_context(netlab.Host("client"))
    client.configure(CLIENT + "/24", SERVER)
    client.configure6(CLIENT6 + "/64", SERVER6)
    config, pidfile, qmp_path = (os.path.join(work, name) for name in ("conf", "pid", "qmp"))
    with open(config, "w", encoding="ascii") as file:
        file.write(text or configuration())
    guest = stack.enter_context(Guest(
        [app, "--config", config, "--accel", accel, "--idle", "auto", "--cpus", "1",
         "--pidfile", pidfile, "--qmp", qmp_path, "--port", client.port, *more],
        log=os.path.join(work, "console.log")))
    guest.wait_ready(120)
    guest.wait_prompt()
    with open(pidfile, encoding="ascii") as file:
        pid = int(file.read())
    for thread in os.listdir("/proc/%d/task" % pid):
        os.sched_setaffinity(int(thread), {CPU_GENERATOR})
    os.sched_setaffinity(machine.qmp(qmp_path, "query-cpus-fast")[0]["thread-id"], {CPU_DATA})
    return Contender("hayate", client, pid)


def veth(client, server, offloads):
    """Connects two hosts; each host's own CPU handles what it receives."""
    client.ip("link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns",
              str(server.holder.pid))
    for host, address, address6, cpu in ((client, CLIENT, CLIENT6, CPU_GENERATOR),
                                         (server, SERVER, SERVER6, CPU_DATA)):
        host.sysctl("net.ipv6.conf.wire.accept_dad", 0)
        host.sysctl("net.ipv6.conf.wire.disable_ipv6", 0)
        host.ip("address", "replace", address + "/24", "dev", "wire")
        host.ip("-6", "address", "replace", address6 + "/64", "dev", "wire", "nodad")
        host.ip("link", "set", "wire", "up")
        if not offloads:
            host.run("ethtool -K wire tso off gso off gro off".split(), check=True)
        host.run(["unshare", "-m", "sh", "-c", "mount -t sysfs sysfs /sys && echo %x > "
                  "/sys/class/net/wire/queues/rx-0/rps_cpus" % (1 << cpu)], check=True)


def start_nginx(server, work, files):
    """nginx in the host `server`; files: {path: content}. Returns its process."""
    os.makedirs(work)
    for path, content in files.items():
        full = work + "/files" + path
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
    config = os.path.join(work, "nginx.conf")
    with open(config, "w", encoding="ascii") as file:
        file.write(NGINX.format(work))
    child = server.popen(["nginx", "-p", work, "-c", config], cpus={CPU_DATA},
                         stdin=subprocess.DEVNULL, start_new_session=True)
    own_group(child.pid)
    return child


def nginx(stack, work, name, files):
    client = stack.enter_context(netlab.Host("client"))
    server = stack.enter_context(netlab.Host("nginx"))
    veth(client, server, name == "nginx")
    one = Contender(name, client, start_nginx(server, work, files).pid)
    deadline = time.monotonic() + 10
    while True:
        with contextlib.suppress(LauncherError):
            one.fetch("http://%s%s" % (SERVER, min(files, key=lambda path: len(files[path]))))
            return one
        if time.monotonic() > deadline:
            raise BenchError("nginx does not answer")
        time.sleep(0.1)


def nginxes(results, stack, work, part, files):
    if not shutil.which("nginx"):
        results.note("%s: no nginx (tools/deps.sh install test)" % part)
        return []
    return [nginx(stack, os.path.join(work, name), name, files) for name in ("nginx", "nginx_frames")]


def nginx_version():
    said = subprocess.run(["nginx", "-v"], capture_output=True, text=True, check=True).stderr
    return said.strip().rpartition("/")[2]


def measure(results, accel, contenders, runs, name, url, more=()):
    """All have the same address, each in its own network."""
    connections = int(name.rpartition(".")[2].removesuffix("conns"))
    for one in contenders:
        one.turns = []
    for _ in range(runs):
        for one in contenders:
            one.turn(url, connections, more)
    peer = None
    if len(contenders) > 1:
        peer = "nginx %s, one worker, files of the same bytes, veth" % nginx_version()
    for figure, unit, better in (("requests_per_second", "/s", "higher"), ("p50", "us", "lower")):
        columns = [[got[figure] for got in one.turns] for one in contenders]
        results.add("%s.%s" % (name, figure), columns[0], unit, better, accel, peer,
                    columns[1] if peer else None)
        if peer:
            results.add("peer.%s.%s.%s" % (contenders[2].name, name, figure), columns[2], unit,
                        better, "host")
    progress("%-24s %s" % (name, ", ".join("%s %.0f/s, p50 %.0f us (client's CPU %.0f %%)" % (
        one.name, *(statistics.median(got[figure] for got in one.turns)
                    for figure in ("requests_per_second", "p50", "client_percent")))
                                           for one in contenders)))


def http(results, work, accel, runs):
    if not shutil.which("wrk"):
        results.note("http: not measured, without wrk (tools/deps.sh install bench)")
        return
    path = mkdir(work, "http")
    os.chmod(work, 0o755)  # for nginx's worker
    with contextlib.ExitStack() as stack:
        contenders = [ours(stack, path, accel)]
        files = {path: contenders[0].fetch("http://%s%s" % (SERVER, path))
                 for path in OBJECTS.values()}
        contenders += nginxes(results, stack, path, "http", files)
        for what, path in OBJECTS.items():
            results.note("http, %s: %s, %d bytes" % (what, path, len(files[path])))
            for family, address in FAMILIES.items():
                for connections in CONNECTIONS:
                    measure(results, accel, contenders, runs,
                            "http.%s.%s.%dconns" % (family, what, connections),
                            "http://%s%s" % (address, path))


def make_site(work, lengths):
    """lengths: {path: bytes}. Returns {path: content} and the folder with these files."""
    rng = random.Random(1)
    letters = bytes(rng.choices(LETTERS, k=1 << 20))
    files = {name: (letters * (length // len(letters) + 1))[:length] for name, length in lengths.items()}
    site = mkdir(work, "site")
    for name, data in files.items():
        with open(site + name, "wb") as file:
            file.write(data)
    return files, site


def content(results, work, accel, runs):
    if not shutil.which("wrk"):
        results.note("content: not measured, without wrk (tools/deps.sh install bench)")
        return
    path = mkdir(work, "content")
    os.chmod(work, 0o755)  # for nginx's worker
    files, site = make_site(path, FILES)
    text = "hostname bench\ninterface eth0\n ip address %s/24\n ipv6 address %s/64\n" % (SERVER, SERVER6)
    with contextlib.ExitStack() as stack:
        contenders = [ours(stack, path, accel, "web", text, ("--site", site))]
        if contenders[0].fetch("http://%s/kib" % SERVER).encode() != files["/kib"]:
            raise BenchError("the web application sends something else")
        contenders += nginxes(results, stack, path, "content", files)
        for name, (file, more) in CONTENT.items():
            measure(results, accel, contenders, runs, "content." + name, "http://%s%s" % (SERVER, file), more)


# --- scrapes under load ---

HTTP, HTTPS, HANDSHAKES = SCRAPES = ("http", "https", "handshakes")


class Scraper(threading.Thread):
    """Requests a page `rate` times a second, or, with 0, as soon as the last one has come. how: one of SCRAPES; with
    HANDSHAKES each request has a connection of its own, over TLS."""

    def __init__(self, host, how=HTTP, page="/metrics", rate=SCRAPES_PER_S):
        super().__init__(daemon=True)
        self.host, self.how, self.page, self.rate = host, how, page, rate
        self.times, self.error = [], None
        self.ready, self.over = threading.Event(), threading.Event()
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.tls.check_hostname, self.tls.verify_mode = False, ssl.CERT_NONE

    @contextlib.contextmanager
    def connected(self):
        with self.host.socket(kind=socket.SOCK_STREAM) as plain:
            plain.settimeout(20)
            plain.connect((MANAGEMENT, 80 if self.how == HTTP else 443))
            if self.how == HTTP:
                yield plain
            else:
                with self.tls.wrap_socket(plain) as connection:
                    yield connection

    def scrape(self, connection, began):
        connection.sendall(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (self.page.encode(), MANAGEMENT.encode()))
        data = b""
        while not data.endswith(b"\r\n0\r\n\r\n"):
            piece = connection.recv(65536)
            if not piece:
                raise BenchError("the server closed the connection")
            data += piece
        self.times.append(time.monotonic() - began)

    def run(self):
        os.sched_setaffinity(0, {CPU_GENERATOR})
        try:
            with contextlib.ExitStack() as stack:
                kept = None if self.how == HANDSHAKES else stack.enter_context(self.connected())
                self.ready.set()
                due = time.monotonic()
                while not self.over.wait(max(0.0, due - time.monotonic())):
                    due = max(due + 1 / self.rate, time.monotonic()) if self.rate else 0.0
                    began = time.monotonic()
                    if kept:
                        self.scrape(kept, began)
                        continue
                    with self.connected() as connection:
                        self.scrape(connection, began)
        except Exception as error:  # pylint: disable=broad-except
            self.error = error
            self.ready.set()

    def end(self):
        self.over.set()
        self.join(30)
        if self.error or self.is_alive():
            raise BenchError("a scrape did not end: %s" % self.error)
        return self.times


@contextlib.contextmanager
def scraping(host, how, **more):
    """Yields (the scrapes' times, complete afterwards; the threads that scrape). how: None, or as for Scraper."""
    if not how:
        yield [], []
        return
    scraper = Scraper(host, how, **more)
    scraper.start()
    scraper.ready.wait(30)
    try:
        yield scraper.times, [scraper.native_id]
    finally:
        scraper.end()


def others(pidfile, data):
    """QEMU's threads except the data core's, and those that do the kernel's work for them."""
    with open(pidfile, encoding="ascii") as file:
        threads = os.listdir("/proc/%d/task" % int(file.read()))
    return [int(thread) for thread in threads if int(thread) not in data] + softirq_threads()


def management(port, tls=False):
    return ("https server\n" if tls else "") + "http server\nhttp access %s/32\ninterface eth%d\n ip address %s/24\n" % (
        SCRAPER, port, MANAGEMENT)


def scraper_host(stack):
    host = stack.enter_context(netlab.Host("scraper"))
    host.configure(SCRAPER + "/24", MANAGEMENT)
    return host


def interrupted_run(generator, mpps, ahead):
    """Returns a Load of a generator that threads of higher priority interrupt."""
    with realtime([generator.child.pid] + generator.partners, ahead):
        load = Load(*map(int, generator.ask("run %g %g %d" % (SLICE_S, mpps, IN_FLIGHT), 30)))
    time.sleep(REST_S)
    return load


def scrape_turn(router, host, how, load_it):
    """One turn with or without scrapes (None): {figure: value}. load_it(threads that scrape): a Load, or
    None."""
    before, drops = data_core(router), drops_of(router)
    with scraping(host, how) as (times, threads):
        load = load_it(threads)
    after = data_core(router)
    packets = after["rx_pkts"] - before["rx_pkts"]
    got = {"cycles": (after["busy_cycles"] - before["busy_cycles"]) / packets,
           "packets": packets, "scrapes": len(times),
           "slowest": max(times, default=0) * 1e3,
           "drops": {name: value - drops.get(name, 0) for name, value in drops_of(router).items()
                     if value != drops.get(name, 0)}}
    if load:
        got.update(mpps=load.mpps(), lost=load.taken - load.received - load.late)
    return got


def report(results, accel, name, turns):
    """turns: {None or one of SCRAPES: [turn]}"""
    for how in SCRAPES:
        report_one(results, accel, name if how == HTTP else "%s.%s" % (name, how), turns[None], turns[how])


def report_one(results, accel, name, without, scraped):
    results.add(name + ".busy_cycles_per_packet", [got["cycles"] for got in scraped], "TSC cycles",
                "lower", accel, "the same without scrapes", [got["cycles"] for got in without])
    ratios = [b["cycles"] / a["cycles"] for a, b in zip(without, scraped)]
    results.add(name + ".cycles_ratio", ratios, "of those without", "lower", accel)
    text = "%s: %d scrapes, the slowest %.1f ms; cycles a packet %.1f, without %.1f, ratio %.3f" % (
        name, sum(got["scrapes"] for got in scraped), max(got["slowest"] for got in scraped),
        statistics.median(got["cycles"] for got in scraped),
        statistics.median(got["cycles"] for got in without), statistics.median(ratios))
    for word, some in (("with", scraped), ("without", without)):
        packets = sum(got["packets"] for got in some)
        dropped = [got["drops"] for got in some if got["drops"]]
        text += "; %s: %d packets, dropped: %s" % (word, packets, dropped or "none")
        if "lost" in some[0]:
            text += ", lost %d, %.2f Mpps" % (sum(got["lost"] for got in some),
                                              statistics.median(got["mpps"] for got in some))
    if "lost" in scraped[0]:
        results.add(name + ".lost", [sum(got["lost"] for got in scraped)], "packets", "lower",
                    accel, "the same without scrapes", [sum(got["lost"] for got in without)])
    progress(text)
    results.note(text)


def take_turns(runs, turn):
    turns = {how: [] for how in (None, *SCRAPES)}
    for _ in range(runs * TURNS):
        for how, got in turns.items():
            got.append(turn(how))
    return turns


def scrape_virtio(results, work, accel, huge, runs):
    table = SMALL[-1]
    name = "scrape.virtio.64B." + table.name
    with contextlib.ExitStack() as stack:
        host = scraper_host(stack)
        generator = stack.enter_context(Generator(work, huge, table.load))
        router = stack.enter_context(router_under_load(
            work, accel, generator, table.configuration() + management(2, True),
            [host.port]))
        generator.run(WARM_UP_S)

        def turns(mpps):
            return take_turns(runs, lambda how: scrape_turn(
                router, host, how, lambda threads: interrupted_run(
                    generator, mpps, threads + others(work + "/pid", generator.partners))))

        full = turns(0)
        report(results, accel, name + ".full", full)
        mpps = 0.9 * statistics.median(got["mpps"] for got in full[None])
        report(results, accel, name + ".90percent", turns(mpps))


def scrape_null(results, work, accel, runs):
    config, pidfile, qmp_path = (os.path.join(work, "scrape." + end)
                                 for end in ("conf", "pid", "qmp"))
    with contextlib.ExitStack() as stack:
        host = scraper_host(stack)
        with open(config, "w", encoding="ascii") as file:
            file.write(management(0, True) + "interface eth1\n ip address 192.0.2.1/24\n"
                       "interface eth2\n ip address 198.51.100.1/24\n"
                       "arp 198.51.100.2 %s\nip route 198.19.0.0/16 198.51.100.2\n" % NEXT_HOP_MAC)
        router = stack.enter_context(Guest(
            ["router", "--config", config, "--accel", accel, "--memory", "512M", "--pidfile",
             pidfile, "--qmp", qmp_path, "--append", "null=2", "--port", host.port]))
        router.wait_ready(120)
        core = pin_guest(pidfile, qmp_path)
        router.wait_links(["eth0"])

        def load_it(threads):
            with realtime(core, threads + others(pidfile, core)):
                time.sleep(SLICE_S)

        report(results, accel, "scrape.null.64B.1route", take_turns(
            runs, lambda how: scrape_turn(router, host, how, load_it)))


def scrape(results, work, accel, huge, runs):
    build_tools()
    work = mkdir(work, "scrape")
    scrape_virtio(results, work, accel, huge, runs)
    scrape_null(results, work, accel, runs)
