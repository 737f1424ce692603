"""The time of day: the CMOS clock, the console, a restart of the control program; NTP, DNS names and traceroute with chrony,
dnsmasq and Linux."""
import datetime
import json
import re
import subprocess
import time

import pytest
from conftest import RIGHT_HOST, WEB, eventually, netlab, router_config

UTC = datetime.timezone.utc


def clock(router):
    """(time, source) of `show clock`; the time is None if it is not known."""
    said = dict(line.split(None, 1) for line in router.command("show clock").splitlines() if line)
    known = said["time"] != "not known"
    return datetime.datetime.fromisoformat(said["time"].replace("Z", "+00:00")) if known else None, said["source"]


def test_cmos_clock(make_router):
    """The clock that QEMU shows is read at boot; `clock set` changes the time, and a new control program goes on with it."""
    base = datetime.datetime(2031, 2, 28, 23, 59, 58, tzinfo=UTC)
    router = make_router("hostname r1\n", "--qemu-arg=-rtc", "--qemu-arg=base=2031-02-28T23:59:58,clock=vm",
                         "--append", "test=1")
    router.faults_expected = True
    time, source = clock(router)
    assert source == "CMOS clock" and base <= time < base + datetime.timedelta(minutes=5), time
    said = router.command("clock set 2040-02-29 12:00:00")
    assert re.search(r"time    2040-02-29T12:00:00\.\d{6}Z\r?\nsource  console", said), said
    assert "the time is like" in router.command("clock set 2039-02-29 12:00:00")
    router.send("test fault null core 0")
    router.expect(r"control program: goes on after \d+ us", 30)
    router.wait_prompt()
    time, source = clock(router)
    begin = datetime.datetime(2040, 2, 29, 12, tzinfo=UTC)
    assert source == "console" and begin <= time < begin + datetime.timedelta(minutes=5), time
    crash = router.command("show crash")
    assert re.search(r"^crash 1: core 0, \d+\.\d{3} s after boot, 2040-02-29T12:0\d:\d\d\.\d{3}Z", crash, re.MULTILINE), crash


def test_clock_without_battery(make_router):
    """A clock that begins at 2000 is not believed."""
    router = make_router("hostname r1\n", "--qemu-arg=-rtc", "--qemu-arg=base=2000-01-01T00:00:00")
    assert "rtc: the time of day is not known: the CMOS clock shows 2000-01-01 00:00:" in router.text
    assert clock(router) == (None, "none")


# --- NTP and DNS ---

CHRONY = """\
local stratum 3
allow
bindaddress %s
cmdport 0
pidfile %s/chronyd.pid
"""

# An NTP server whose clock is wrong by some seconds, or that sends a kiss: python3 -c LIAR ADDRESS SECONDS [KISS]
LIAR = """\
import socket, struct, sys, time
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind((sys.argv[1], 123))
print("serves", flush=True)
while True:
    data, peer = sock.recvfrom(2000)
    now = int((time.time() + float(sys.argv[2]) + 2208988800) * 2**32)
    kiss = sys.argv[3].encode() if len(sys.argv) > 3 else b""
    head = struct.pack(">BBbbII4s", 0x24, 0 if kiss else 2, 6, -20, 16, 16, kiss or b"LIAR")
    sock.sendto(head + struct.pack(">Q", now) + data[40:48] + struct.pack(">QQ", now, now), peer)
"""


def serve_time(host, address, tmp_path):
    """chronyd that serves this machine's time at that address, and leaves its clock alone."""
    work = tmp_path / address
    work.mkdir()
    (work / "chrony.conf").write_text(CHRONY % (address, work))
    return host.popen(["chronyd", "-x", "-d", "-u", "root", "-f", str(work / "chrony.conf")], stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL)


def associations(router):
    """{server: (mark, line)} of `show ntp associations`."""
    lines = router.command("show ntp associations").splitlines()[1:]
    return {line[1:].split()[0]: (line[0], line) for line in lines if line.strip()}


def status(router):
    return dict(line.split(None, 1) for line in router.command("show ntp status").splitlines() if line)


@pytest.fixture
def servers(make_hosts, tmp_path):
    """The left host with two chronyd, a liar, a server that refuses, and dnsmasq."""
    left, right = make_hosts()
    for last in (3, 4, 5):
        left.ip("address", "add", "192.0.2.%d/24" % last, "dev", "eth0")
    serve_time(left, "192.0.2.2", tmp_path)
    serve_time(left, "192.0.2.3", tmp_path)
    for arguments in (["192.0.2.4", "5"], ["192.0.2.5", "0", "DENY"]):
        liar = left.popen(["/usr/bin/python3", "-c", LIAR, *arguments], stdout=subprocess.PIPE)
        assert liar.stdout.readline() == b"serves\n"
    left.popen(["dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--conf-file=/dev/null", "--user=root",
                "--pid-file=", "--bind-interfaces", "--listen-address=192.0.2.2", "--local=/example/", "--local-ttl=60",
                "--host-record=time.example,192.0.2.3", "--host-record=right.example," + RIGHT_HOST,
                "--cname=alias.example,right.example", "--host-record=far.example,203.0.113.2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    far = make_far(right)
    yield left, right
    far.close()


def make_far(right):
    """A host behind the right one, which routes."""
    far = netlab.Host("far")
    right.ip("link", "add", "far0", "type", "veth", "peer", "name", "near0", "netns", str(far.holder.pid))
    right.sysctl("net.ipv4.ip_forward", 1)
    right.ip("address", "add", "203.0.113.1/24", "dev", "far0")
    right.ip("link", "set", "far0", "up")
    far.ip("address", "add", "203.0.113.2/24", "dev", "near0")
    far.ip("link", "set", "near0", "up")
    far.ip("route", "add", "default", "via", "203.0.113.1")
    return far


TIME = """\
ip name-server 192.0.2.9 192.0.2.2
ip domain example
ntp server 192.0.2.2 iburst
ntp server 192.0.2.4 iburst
ntp server 192.0.2.5 iburst
ntp server time iburst
ip route 203.0.113.0/24 198.51.100.2
"""


def test_ntp_and_names(servers, make_router):
    """Two chronyd against a liar: the clock, years wrong at first, follows them. Names are found by a real server, behind one
    that does not exist."""
    left, right = servers
    router = make_router(router_config(extra=TIME + WEB), "--qemu-arg=-rtc", "--qemu-arg=base=2031-05-06T07:08:09",
                         ports=(left.port, right.port))
    eventually(lambda: status(router)["state"].startswith("synchronized") and
               associations(router)["time"][0] in "*+", 60, "both chronyd are in use")
    found = associations(router)
    assert {found[name][0] for name in ("192.0.2.2", "time")} == {"*", "+"}, found
    assert found["192.0.2.4"][0] == "x" and "falseticker" in found["192.0.2.4"][1], found
    assert found["192.0.2.5"][0] == "!" and "DENY" in found["192.0.2.5"][1], found
    assert "ntp: the clock was fast by" in router.text
    assert int(status(router)["stratum"]) == 4

    def is_right():
        before = time.time()
        now, source = clock(router)
        after = time.time()
        return source == "NTP" and before - 0.02 <= now.timestamp() <= after + 0.02
    eventually(is_right, 20, "the clock is right to 20 ms")

    page = json.loads(left.run(["curl", "-s", "http://192.0.2.1/api/v1/ntp.json"]).stdout)
    assert page["synchronized"] and {s["name"]: s["state"] for s in page["servers"]}["192.0.2.4"] == "falseticker"
    assert "hayate_ntp_synchronized 1" in left.run(["curl", "-s", "http://192.0.2.1/metrics"]).stdout

    assert "2 sent, 2 received" in router.command("ping alias count 2")
    assert "the name does not exist" in router.command("ping nobody.example")
    assert "192.0.2.3" in router.command("show hosts")

    ms = r"(  \d+\.\d{3} ms){3}"
    way = r"traceroute to far \(203\.0\.113\.2\), 30 hops max\r?\n 1  198\.51\.100\.2%s\r?\n 2  203\.0\.113\.2%s\r?\n" % (ms, ms)
    for command in ("traceroute far", "traceroute far icmp"):
        assert re.match(way, router.command(command, timeout_s=30)), router.tail()
