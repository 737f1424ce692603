"""The switch between Linux hosts: they reach each other through it as through a Linux bridge, which runs
the same scenarios as a reference; VLANs are separate; a station moves; frames of stations behind a bridge
come and go by a trunk; the machine itself has addresses in VLANs."""
import contextlib
import re
import subprocess

import pytest
from browser import Browser
from conftest import WEB, child, eventually, pings, reaches
from launcher import netlab
from test_http import need_browser

SWITCH = "application switch\n"
VLANS = WEB + SWITCH + """\
interface eth0
 switchport access vlan 10
interface eth1
 switchport access vlan 20
interface eth2
 switchport access vlan 10
interface vlan10
 ip address 192.0.2.254/24
interface vlan20
 ip address 198.51.100.254/24
"""


def address(number, net="192.0.2"):
    return "%s.%d" % (net, number + 1)


def mac_of(host):
    return host.ip("-o", "link", "show", "dev", "eth0").split("link/ether ")[1].split()[0]


def received(host):
    """Frames that the host has received."""
    lines = host.run(["cat", "/proc/net/dev"], check=True).stdout.splitlines()
    return int(next(line for line in lines if line.strip().startswith("eth0:")).split()[2])


def friends(*hosts):
    """The hosts know each other's MAC address: they need no broadcasts, which would hide the flood of
    other frames."""
    for one in hosts:
        for other in hosts:
            if other is not one:
                one.ip("neighbour", "replace", other.address, "lladdr", mac_of(other), "dev", "eth0",
                       "nud", "permanent")


@pytest.fixture
def make_stations(make_hosts):
    """make_stations(n, net=…) returns hosts of one subnet, each with its `address`."""
    with contextlib.ExitStack() as stack:
        def make(n, net="192.0.2", first=0):
            hosts = []
            for number in range(first, first + n):
                host = stack.enter_context(netlab.Host("h%d" % number))
                host.address = address(number, net)
                host.configure(host.address + "/24", net + ".254")
                hosts.append(host)
            return hosts
        yield make


def forwards(router):
    """All ports have become edges of the spanning tree, or have found the place of their bridge in it."""
    eventually(lambda: not {"blocking", "learning", "down"} & set(router.command("show switchport").split()), 60)


@pytest.fixture
def make_switch(make_stations, make_router):
    """make_switch(config, n): a switch with n hosts, one at each port."""
    def make(config=SWITCH, n=3, cpus=None):
        hosts = make_stations(n)
        router = make_router(config, app="switch", ports=[host.port for host in hosts], cpus=cpus)
        for host in hosts:
            host.wait_for_link()
        forwards(router)
        return router, hosts
    return make


def linux_bridge(stack, hosts):
    """A namespace with a bridge, at whose ports these hosts are, by veth instead of their taps."""
    bridge = stack.enter_context(netlab.Host("bridge"))
    bridge.ip("link", "delete", "eth0")
    bridge.ip("link", "add", "br0", "type", "bridge", "stp_state", "0")
    for number, host in enumerate(hosts):
        host.ip("link", "delete", "eth0")
        bridge.ip("link", "add", "p%d" % number, "type", "veth", "peer", "name", "q%d" % number)
        bridge.ip("link", "set", "q%d" % number, "netns", str(host.holder.pid), "name", "eth0")
        bridge.ip("link", "set", "p%d" % number, "master", "br0")
        bridge.ip("link", "set", "p%d" % number, "up")
        host.configure(host.address + "/24", "192.0.2.254")
    bridge.ip("link", "set", "br0", "up")
    for number, host in enumerate(hosts):
        bridge.wait_for_link("p%d" % number)
        host.wait_for_link()
    return bridge


@pytest.fixture(params=["hayate", "linux"])
def bridged(request, make_stations, make_router):
    """bridged(n): n hosts at the ports of a switch, Hayate's or Linux's."""
    with contextlib.ExitStack() as stack:
        def make(n=3):
            hosts = make_stations(n)
            if request.param == "linux":
                linux_bridge(stack, hosts)
            else:
                make_router(SWITCH + "spanning-tree mode none\n", app="switch", ports=[host.port for host in hosts])
                for host in hosts:
                    host.wait_for_link()
            return hosts
        yield make


# --- the same as a Linux bridge ---

def test_everyone_reaches_everyone(bridged):
    hosts = bridged()
    for one in hosts:
        for other in hosts:
            if one is not other:
                pings(one, other.address, count=1)
                pings(one, other.address, "-s", "1472", "-M", "do", count=1)


def test_unknown_station_is_flooded_until_it_speaks(bridged):
    """A host's frames to a station that has not spoken reach a third host; once it has, no more do."""
    one, other, third = bridged()
    friends(one, other, third)
    before = received(third)
    # nobody has this MAC address: the frames are for nobody, and flooded
    one.ip("neighbour", "replace", "192.0.2.77", "lladdr", "02:00:00:00:00:77", "dev", "eth0", "nud", "permanent")
    for _ in range(3):
        assert not reaches(one, "192.0.2.77")
    eventually(lambda: received(third) >= before + 3)
    pings(one, other.address)  # both have spoken
    before = received(third)
    pings(one, other.address, count=5)
    assert received(third) == before


def test_a_station_moves(bridged):
    """The same MAC and IP address at another port, which speaks first."""
    one, other, third = bridged()
    pings(one, other.address)
    mac = mac_of(other)
    other.ip("address", "flush", "dev", "eth0")
    other.ip("link", "set", "eth0", "address", "02:00:00:00:00:99")
    third.ip("address", "flush", "dev", "eth0")
    third.ip("link", "set", "eth0", "address", mac)
    third.configure(other.address + "/24", "192.0.2.254")
    assert eventually(lambda: third.ping(one.address)[0])
    pings(one, other.address)


# --- VLANs ---

@pytest.mark.one_card
def test_vlans(make_switch, make_stations):
    """Hosts of one VLAN reach each other, those of another do not; each VLAN reaches the machine's own
    address in it, by ping and HTTP."""
    router, (a, b, c) = make_switch(VLANS)
    pings(a, c.address)
    pings(c, a.address)
    assert not reaches(b, a.address) and not reaches(a, b.address)
    pings(a, "192.0.2.254")
    pings(a, "192.0.2.254", "-s", "1472", "-M", "do")
    assert not reaches(b, "192.0.2.254")
    b.ip("address", "add", "198.51.100.2/24", "dev", "eth0")
    pings(b, "198.51.100.254")
    page = a.run(["curl", "-sf", "http://192.0.2.254/metrics"], check=True).stdout
    assert "hayate_switch_stations{" in page
    said = router.command("show mac address-table")
    assert {tuple(line.split()[:4]) for line in said.splitlines()[1:] if line} == {
        ("10", mac_of(a), "dynamic", "eth0"), ("20", mac_of(b), "dynamic", "eth1"),
        ("10", mac_of(c), "dynamic", "eth2")}
    assert "2 stations forgotten" in router.command("clear mac address-table vlan 10")
    pings(a, c.address)


@pytest.mark.one_card
def test_machine_reaches_its_hosts(make_switch):
    router, (a, b, c) = make_switch(VLANS)
    for host in (a, c):
        assert "3 sent, 3 received" in router.command("ping %s count 3" % host.address, timeout_s=20)


# --- stations behind a bridge ---

@pytest.mark.one_card
def test_stations_behind_a_linux_bridge(make_switch, make_stations):
    """A port with many stations: two hosts behind a Linux bridge at eth2. They reach the others, and each
    other without the switch."""
    router, (a, b, edge) = make_switch()
    with contextlib.ExitStack() as stack:
        inner = [stack.enter_context(netlab.Host("in%d" % n)) for n in range(2)]
        edge.ip("address", "flush", "dev", "eth0")
        edge.ip("link", "add", "br0", "type", "bridge", "stp_state", "0")
        edge.ip("link", "set", "eth0", "master", "br0")
        for number, host in enumerate(inner):
            host.ip("link", "delete", "eth0")
            edge.ip("link", "add", "p%d" % number, "type", "veth", "peer", "name", "q%d" % number)
            edge.ip("link", "set", "q%d" % number, "netns", str(host.holder.pid), "name", "eth0")
            edge.ip("link", "set", "p%d" % number, "master", "br0")
            edge.ip("link", "set", "p%d" % number, "up")
            host.address = address(50 + number)
            host.configure(host.address + "/24", "192.0.2.254")
        edge.ip("link", "set", "br0", "up")
        for number, host in enumerate(inner):
            edge.wait_for_link("p%d" % number)
            host.wait_for_link()
        for host in inner:
            assert eventually(lambda host=host: host.ping(a.address)[0])
            pings(b, host.address)
        pings(inner[0], inner[1].address)
        rows = [line.split() for line in router.command("show mac address-table").splitlines()[1:] if line]
        assert {row[1] for row in rows if row[3] == "eth2"} >= {mac_of(host) for host in inner}


# --- load ---

@pytest.mark.one_card
def test_tcp_through_the_switch(make_switch):
    """Bulk data between two ports arrives whole, on one CPU and on several."""
    router, (a, b, _) = make_switch(cpus=4)
    server = b.popen(["/usr/bin/python3", "-c", "import socket, sys, hashlib\n"
                      "s = socket.create_server(('', 5000)); print('ready', flush=True)\n"
                      "c = s.accept()[0]; h = hashlib.sha256(); n = 0\n"
                      "while True:\n d = c.recv(65536)\n if not d: break\n h.update(d); n += len(d)\n"
                      "print(n, h.hexdigest(), flush=True)"], stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "ready\n"
    sent = a.run(["/usr/bin/python3", "-c", "import socket, hashlib, random\n"
                  "d = random.Random(1).randbytes(1 << 22)\n"
                  "s = socket.create_connection(('%s', 5000)); s.sendall(d); s.close()\n"
                  "print(len(d), hashlib.sha256(d).hexdigest())" % b.address], check=True, timeout_s=120).stdout
    assert server.stdout.readline() == sent


# --- failures ---

@pytest.mark.one_card
def test_programs_fail(make_stations, make_router):
    """A data core fails, then the control program: the hosts reach each other afterwards, the VLANs are
    those of before, and the stations are learned again."""
    hosts = make_stations(3)
    router = make_router(VLANS, "--append", "test=1", app="switch", ports=[host.port for host in hosts], cpus=4)
    router.faults_expected = True
    for host in hosts:
        host.wait_for_link()
    a, b, c = hosts
    forwards(router)
    pings(a, c.address)
    for core, done in ((1, r"core 1: polls again after|restarted after|ready: "), (0, r"control program: goes on after")):
        router.skip()
        router.send("test fault ud core %d" % core)
        router.expect(done, 60)
        router.wait_prompt()
        assert eventually(lambda: a.ping(c.address)[0])
        pings(a, c.address)
        pings(a, "192.0.2.254")
        assert not reaches(b, a.address)
        eventually(lambda: {mac_of(a), mac_of(c)} <= set(router.command("show mac address-table").split()))


STORM = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
while True:
    s.sendto(bytes(100), ("192.0.2.255", 9))
"""


@pytest.mark.one_card
def test_storm_disables_a_port(make_stations, make_router):
    """A host's broadcasts disable its port, also for the program after one that fails; the other hosts reach each
    other; the statement's end enables the port."""
    config = SWITCH + "interface eth0\n storm-control broadcast level 50\n storm-control action shutdown\n" + \
        "errdisable recovery cause storm-control\nerrdisable recovery interval 86400\n"
    a, b, c = hosts = make_stations(3)
    router = make_router(config, "--append", "test=1", app="switch", ports=[host.port for host in hosts])
    router.faults_expected = True
    for host in hosts:
        host.wait_for_link()
    forwards(router)
    pings(a, c.address)
    with child(a, STORM):
        eventually(lambda: re.search(r"^eth0 +storm-control +86\d+$", router.command("show errdisable"), re.MULTILINE), 60)
    assert "err-disabled" in router.command("show switchport")
    assert not reaches(a, c.address)
    pings(b, c.address)
    router.skip()
    router.send("test fault ud core 0")
    router.expect(r"control program: goes on after", 60)
    router.wait_prompt()
    assert re.search(r"^eth0 +storm-control +8[56]\d+$", router.command("show errdisable"), re.MULTILINE)
    eventually(lambda: reaches(b, c.address), 60)
    assert not reaches(a, c.address)
    for line in ("configure", "interface eth0", "storm-control action drop", "commit", "end"):
        router.command(line)
    eventually(lambda: reaches(a, c.address), 60)
    assert not re.search(r"^eth0 ", router.command("show errdisable"), re.MULTILINE)


@pytest.mark.one_card
def test_page_in_a_browser(make_switch):
    """The page of the machine has the ports of the switch and their stations."""
    need_browser()
    _, (one, _, third) = make_switch(VLANS)
    pings(third, one.address)
    with Browser(one) as browser:
        browser.open("http://192.0.2.254/")
        text = eventually(lambda: (lambda said: said if mac_of(third) in said else "")(
            browser.run("document.body?.innerText") or ""), 20, "a station")
        assert browser.errors() == []
    ports = {row[0]: row[1:] for row in (line.split() for line in text.splitlines()) if row[:1] and row[0].startswith("eth")
             and len(row) == 7}
    assert ports["eth0"] == ["forwarding", "designated", "access", "10", "–", "1"], text
    assert ports["eth1"] == ["forwarding", "designated", "access", "20", "–", "0"], text
