"""10,000 connections to the servers of TLS and SSH that stay half-open: of many sources, silent after TCP's handshake,
after a ClientHello, or after the identification string of SSH. Meanwhile numbered packets pass between two other
ports, and none is lost. The machine takes no memory for it, and an honest client of another source gets in while
silent ones hold all places."""
import re
import subprocess

import pytest
from conftest import RIGHT_HOST, RIGHT_ROUTER, THIRD_HOST, child, eventually, three_hosts
from flows import Flows
from launcher import password

pytestmark = pytest.mark.nics("virtio")

SECRET = "open sesame"
SOURCES = "10.99.0.0/16"
THIRD_ROUTER = "203.0.113.1"
CONNECTIONS = 10000
CONFIG = "\n".join((
    "https server", "ssh server", "ip route %s %s" % (SOURCES, THIRD_HOST),
    *("%s access %s" % (server, prefix) for server in ("http", "ssh") for prefix in (SOURCES, "198.51.100.0/24")),
    password.line(SECRET.encode(), 1000, user="admin"), ""))

# argv: address, connections. Each of its own source address. Says "held" when all have been tried, and how many were
# established, ended by the machine since, and refused; then holds them until its input ends.
HALF_OPEN = """\
import os, resource, selectors, socket, ssl, sys
to, wanted = sys.argv[1], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (wanted + 100, wanted + 100))
made = ssl.MemoryBIO()
client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), made, server_hostname="r1")
try:
    client.do_handshake()
except ssl.SSLWantReadError:
    pass
KINDS = ((443, b""), (443, made.read()), (22, b"SSH-2.0-OpenSSH_9.2p1\\r\\n"))
FLIGHT = 200  # at a time
selector = selectors.DefaultSelector()
started = established = ended = refused = flying = 0
while started < wanted or flying:
    while started < wanted and flying < FLIGHT:
        port, data = KINDS[started % 3]
        sock = socket.socket()
        sock.setblocking(False)
        sock.bind(("10.99.%d.%d" % (started // 250, 1 + started % 250), 0))
        sock.connect_ex((to, port))
        selector.register(sock, selectors.EVENT_WRITE, data)
        started += 1
        flying += 1
    for key, _ in selector.select(1):
        sock, data = key.fileobj, key.data
        if data is not None:  # TCP's handshake is over
            flying -= 1
            try:
                sock.sendall(data)
                established += 1
                selector.modify(sock, selectors.EVENT_READ, None)
                continue
            except OSError:
                refused += 1
        else:
            try:
                if sock.recv(65536):
                    continue
            except OSError:
                pass
            ended += 1
        selector.unregister(sock)
        sock.close()
print("held", started, established, ended, refused, flush=True)
sys.stdin.read()
"""


def scrape(host):
    return host.run(["curl", "-sS", "-k", "-u", "admin:" + SECRET, "--max-time", "20",
                     "https://%s/metrics" % RIGHT_ROUTER], timeout_s=30)


def metrics(host):
    said = scrape(host)
    assert said.returncode == 0, said.stderr
    return {name: int(value) for name, value in re.findall(r"^(hayate_\S+) (\d+)$", said.stdout, re.M)}


def logs_in(host):
    said = host.run(["sshpass", "-p", SECRET, "ssh", "-F", "none", "-o", "StrictHostKeyChecking=no", "-o",
                     "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "ConnectTimeout=20",
                     "admin@" + RIGHT_ROUTER, "show crypto"], timeout_s=40)
    return said.returncode == 0 and "heap" in said.stdout


def heap(router):
    """Bytes of the libraries' heap: in use, at most so far, and all."""
    found = re.search(r"heap (\d+) of (\d+) bytes, at most (\d+)", router.command("show crypto"))
    return int(found[1]), int(found[3]), int(found[2])


@pytest.mark.parametrize("cpus", (1, 2))
def test_half_open(make_router, make_hosts, cpus):
    with three_hosts(make_router, make_hosts, cpus, extra=CONFIG) as (router, left, right, third):
        third.ip("route", "add", "local", SOURCES, "dev", "lo")
        assert logs_in(right)
        before, memory = metrics(right), router.command("show memory")
        with Flows(left, right, RIGHT_HOST, 4) as flows:
            with flows.sending(), child(third, HALF_OPEN, THIRD_ROUTER, str(CONNECTIONS), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True) as attacker:
                # while they are being made, because the first ones end after 5 s; this one may be turned away
                eventually(lambda: re.search(r"^hayate_tls_sessions ([2-9]|\d\d)", scrape(right).stdout, re.M), 20,
                           "half-open sessions")
                said = attacker.stdout.readline().split()
                assert said[:2] == ["held", str(CONNECTIONS)] and int(said[2]) > CONNECTIONS // 2, said
                during = metrics(right)
                # those that have not exchanged keys after 5 s make room
                eventually(lambda: logs_in(right), 20, "a login by SSH")
                attacker.stdin.close()
                assert attacker.wait(20) == 0
            assert flows.settle() == [], router.counters()
            assert sum(flow.sent for flow in flows.list) > 1000
        turned_away = sum(during[name] - before[name] for name in ("hayate_tls_refused_full_total",
                                                                   "hayate_ssh_full_total"))
        assert turned_away > CONNECTIONS // 4
        assert router.command("show memory") == memory
        eventually(lambda: metrics(right)["hayate_tls_sessions"] == 1, 20, "its sessions have ended")
        used, most, size = heap(router)
        assert used < size // 32 and most < size * 3 // 4
        assert [core["faults"] for core in router.cores()] == [0] * cpus
        router.balanced()
