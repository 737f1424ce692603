"""`hayate engine`, the routing engine's side on Linux, beside a router that is only a page: what it
plans, what the kernel then has, and what is left when it ends. With a real router: test_bgp.py."""
import contextlib
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading

import pytest
from conftest import eventually, netlab, options
from launcher import process
from launcher.engine import frr, links, page, plan, relay
from launcher.errors import EXIT_MISSING, EXIT_USAGE, LauncherError
from launcher.guest import LAUNCHER, PYTHON
from layer import TAG, descendants

pytestmark = pytest.mark.no_guest

ROUTER, LOCAL = "203.0.113.1", "203.0.113.2"
EXAMPLES = os.path.join(options.ROOT, "examples", "engine")


def interface(name="eth0", index=101, **other):
    row = {"name": name, "index": index, "vni": index, "mac": "52:54:00:68:79:00", "mtu": 1500,
           "carrier": True, "addresses": ["192.0.2.1/24", "2001:db8::1/64"], "link_local": "fe80::1"}
    row.update(other)
    return row


def page_text(*interfaces, **other):
    row = {"address": LOCAL, "source": ROUTER, "fpm_port": 2620, "vxlan_port": 4789, "connected": False,
           "interfaces": list(interfaces)}
    row.update(other)
    return json.dumps(row)


# The page.

def test_page():
    seen = page.parse(page_text(interface(), interface("eth1.7", 102, carrier=False, link_local=None)))
    assert seen.interfaces[0].addresses == ("192.0.2.1/24", "2001:db8::1/64", "fe80::1/64")
    assert seen.interfaces[1].name == "eth1.7" and not seen.interfaces[1].carrier
    assert seen.bfd_port is None and page.parse(page_text(bfd_port=50700)).bfd_port == 50700
    assert page.parse(page_text(source=None)).source is None
    empty = page.parse('{"address":null,"interfaces":[]}')
    assert empty.address is None and empty.interfaces == ()


@pytest.mark.parametrize("text", [
    "", "[]", "{}", "null", '{"address":"192.0.2.2"}', '{"address":7,"interfaces":[]}',
    page_text({}), page_text(7), page_text(source="fe80::1"), page_text(vxlan_port=0),
    page_text(fpm_port=True), page_text(bfd_port=0),
    page_text(interface(), source=None),
    *[page_text(interface(**wrong)) for wrong in (
        {"name": "eth0;reboot"}, {"name": "-x"}, {"name": "a/b"}, {"name": "lo"}, {"name": "e" * 16}, {"name": None},
        {"index": 1}, {"index": 1 << 31}, {"index": "5"}, {"vni": 0}, {"vni": 1 << 24}, {"mac": "52:54"},
        {"mac": "52:54:00:68:79:0g"}, {"mtu": 67}, {"mtu": 65536}, {"carrier": "up"},
        {"addresses": None}, {"addresses": ["192.0.2.1"]}, {"addresses": ["192.0.2.1/33"]},
        {"addresses": [5]}, {"link_local": "x"}, {"link_local": 7})],
    page_text(interface(), interface("eth1")), page_text(interface(), interface(index=5)),
    page_text(interface(), interface("eth1", 5, vni=101)),
])
def test_page_is_checked(text):
    with pytest.raises(page.PageError):
        page.parse(text)


# The plan.

def words(steps):
    return [("" if step.inside else "outside ") + " ".join(step.words) for step in steps]


MADE = [
    "outside link add name eth0 index 101 address 52:54:00:68:79:00 mtu 1500 netns n type vxlan id 101 "
    "remote 203.0.113.1 local 203.0.113.2 dstport 4789 nolearning",
    "link set dev eth0 arp off addrgenmode none",
    "address add 192.0.2.1/24 dev eth0",
    "address add 2001:db8::1/64 dev eth0 nodad",
    "address add fe80::1/64 dev eth0 nodad",
    "link set dev eth0 up",
]
LINK = plan.Link("eth0", 101, "52:54:00:68:79:00", 1500, (101, ROUTER, LOCAL, 4789), False, True, False,
                 False, True, ("192.0.2.1/24", "2001:db8::1/64", "fe80::1/64"))
LO = plan.Link("lo", 1, "00:00:00:00:00:00", 65536, None, False, True, True, True, True, ("127.0.0.1/8",))


def planned(row, link=LINK, **other):
    return words(plan.plan(page.parse(page_text(*([row] if row else []), **other)),
                           {"lo": LO, **({link.name: link} if link else {})}, "n", LOCAL))


def test_plan_makes_and_removes():
    assert planned(interface(), None) == MADE
    assert planned(interface(carrier=False), None) == MADE + ["link set dev eth0 protodown on"]
    assert planned(interface()) == []
    assert planned(None) == ["link delete dev eth0"]
    assert planned(interface("eth1")) == ["link delete dev eth0"] + [
        line.replace("eth0", "eth1") for line in MADE]


def test_output_of_ip(monkeypatch):
    """Ubuntu's iproute2 adds text outside of any JSON, here as 24.04 prints it. Anything else is a reason to try
    again later, not the agent's end."""
    said = ['[{"ifname":"v","linkinfo":{"info_kind":"vxlan","info_data":{"id":100,"remote":"127.0.0.2"%s,'
            '"local":"127.0.0.1","port":4789}}}]' % fan for fan in ("", "fan-map ", "fan-map 10.0.0.0/8:192.0.2.0/24 ")]
    for text in said:
        monkeypatch.setattr(links, "ip", lambda words, netns=None, text=text: text)
        data = links.rows(["link", "show"])[0]["linkinfo"]["info_data"]
        assert data == {"id": 100, "remote": "127.0.0.2", "local": "127.0.0.1", "port": 4789}
    monkeypatch.setattr(links, "ip", lambda words, netns=None: "[{,]")
    with pytest.raises(links.StepFailed, match="`ip -json link show`: no JSON"):
        links.rows(["link", "show"])


def test_guide_has_the_same_commands():
    """By hand: docs/routing-engine.md."""
    with open(os.path.join(options.ROOT, "docs", "routing-engine.md"), encoding="utf-8") as file:
        guide = re.findall(r"^(ip (?:-n hayate-engine|link add) .*eth0.*)$", file.read(), re.M)
    wanted = page.parse(page_text(interface(index=100, addresses=["203.0.113.1/24"],
                                            link_local="fe80::5054:ff:fe68:7900"), source="192.0.2.1"))
    assert guide == ["ip " + ("-n hayate-engine " if step.inside else "") + " ".join(step.words)
                     for step in plan.plan(wanted, {}, "hayate-engine", "192.0.2.2")]


@pytest.mark.parametrize("link", [
    LINK._replace(index=9), LINK._replace(tunnel=(7, ROUTER, LOCAL, 4789)),
    LINK._replace(tunnel=(101, "203.0.113.9", LOCAL, 4789)), LINK._replace(learning=True)])
def test_plan_makes_anew(link):
    assert planned(interface(), link) == ["link delete dev eth0"] + MADE


@pytest.mark.parametrize("change,steps", [
    ({"mtu": 1400, "mac": "52:54:00:68:79:09"},
     ["link set dev eth0 address 52:54:00:68:79:09 mtu 1400"]),
    ({"carrier": False}, ["link set dev eth0 protodown on"]),
    ({"addresses": ["192.0.2.9/25"]},
     ["address add 192.0.2.9/25 dev eth0", "address delete 192.0.2.1/24 dev eth0",
      "address delete 2001:db8::1/64 dev eth0"]),
    ({"link_local": None}, ["address delete fe80::1/64 dev eth0"]),
])
def test_plan_changes(change, steps):
    assert planned(interface(**change)) == steps


def test_plan_repairs():
    """What somebody else has changed on a device."""
    link = LINK._replace(up=False, arp=True, generates=True, carrier=False, addresses=())
    assert planned(interface(), link) == ["link set dev eth0 arp off addrgenmode none"] + MADE[2:] + [
        "link set dev eth0 protodown off"]


def test_plan_refuses_foreign_devices():
    with pytest.raises(plan.PlanError, match="remove it"):
        planned(interface(), LINK._replace(tunnel=None))
    with pytest.raises(plan.PlanError, match="index 101"):
        planned(interface(), LINK._replace(name="other", tunnel=None))


def test_changes_in_words():
    pages = [page.parse(page_text(*rows)) for rows in (
        [interface()], [interface(mtu=1400, carrier=False, addresses=[], link_local=None)], [])]
    assert list(plan.changes(None, pages[0])) == [
        "eth0: index 101, VNI 101, MTU 1500, link up, 192.0.2.1/24 2001:db8::1/64 fe80::1/64"]
    assert list(plan.changes(pages[0], pages[1])) == [
        "eth0: mtu 1400, was 1500", "eth0: link down", "eth0: addresses none"]
    assert list(plan.changes(pages[1], pages[2])) == ["eth0: removed"]


# FRRouting's configuration.

@pytest.mark.parametrize("text,daemons", [
    ("", []),
    ("! router bgp 1\n# router ospf\nhostname x", []),
    ("router bgp 64501\n neighbor 192.0.2.2  bfd\n", ["bgpd", "bfdd"]),
    ("router bgp 64501\n neighbor x description no bfd here\n", ["bgpd"]),
    ("router ospf6\n", ["ospf6d"]), ("router ospf\n", ["ospfd"]), ("router ospf vrf x\n", ["ospfd"]),
    ("router isis core\ninterface eth0\n isis bfd\n", ["isisd", "bfdd"]),
    ("ip route 0.0.0.0/0 192.0.2.2\n", ["staticd"]), ("bfd\n peer 192.0.2.2\n", ["bfdd"]),
    ("router rip\nrouter ripng\nmpls ldp\n", ["ripd", "ripngd", "ldpd"]),
])
def test_daemons_of_a_configuration(text, daemons):
    assert frr.daemons_of(text) == ["zebra"] + daemons


@pytest.mark.parametrize("lines,message", [
    ("", "add the line `fpm address 127.0.0.1 port 2620`"),
    ("! fpm address 127.0.0.1", "add the line"),
    ("fpm address 192.0.2.1", "`fpm address 192.0.2.1` has to be"),
    ("fpm address 127.0.0.1 port 2621", "port 2621` has to be"),
])
def test_fpm_line(lines, message):
    with pytest.raises(LauncherError, match=message):
        frr.check_fpm(lines, "frr.conf")
    frr.check_fpm("fpm address 127.0.0.1", "frr.conf")
    frr.check_fpm("  fpm  address 127.0.0.1 port 2620\n", "frr.conf")


def test_complaints_of_vtysh():
    """The first lines are what FRRouting 10.3 says if all is well."""
    assert not frr.complaints("""\
% Can't open configuration file /tmp/engine/vtysh.conf due to 'No such file or directory'.
Configuration file[/tmp/engine/frr.conf] processing failure: 11
[19376|zebra] sending configuration
Waiting for children to finish applying config...
[19376|zebra] done

""")
    wrong = ["% Can't open configuration file /tmp/engine/frr.conf due to 'No such file or directory'.",
             "line 7: Failure to communicate[13] to zebra, line: ip address 10.255.0.1/32",
             "[19382|bgpd] Configuration file[/tmp/engine/frr.conf] processing failure: 11",
             "Configuration file[/tmp/engine/frr.conf] processing failure: 2"]
    assert frr.complaints("\n".join(wrong)) == wrong


@pytest.mark.parametrize("name,daemons", [("edge", ["staticd", "bgpd", "ospfd", "bfdd"]),
                                          ("fabric", ["bgpd", "bfdd"])])
def test_examples(name, daemons):
    """The agent accepts them, and vtysh."""
    path = os.path.join(EXAMPLES, name, "frr.conf")
    assert frr.daemons_of(frr.read_config(path)) == ["zebra"] + daemons
    said = subprocess.run(["vtysh", "-C", "-f", path], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr


# The relay.

def exchange(first, second):
    with first, second, contextlib.suppress(OSError):
        relay.pump(first, second)


def test_relay_carries_both_ways_and_waits():
    """What one side does not read, the other cannot send without end; nothing is lost or reordered."""
    zebra, inner = socket.socketpair()
    outer, router = socket.socketpair()
    thread = threading.Thread(target=exchange, args=(inner, outer))
    thread.start()
    with router:
        with zebra:
            router.sendall(b"answer")
            assert zebra.recv(64) == b"answer"
            zebra.setblocking(False)
            sent = 0
            # The router does not read: it must come to an end.
            data = bytes(range(256)) * 256
            deadline = 0
            while deadline < 100 and sent < 64 << 20:
                try:
                    sent += zebra.send(data[sent % 256:])
                    deadline = 0
                except BlockingIOError:
                    deadline += 1
                    threading.Event().wait(0.01)
            assert relay.BUFFER <= sent < 8 << 20
            got = b""
            while len(got) < sent:
                got += router.recv(1 << 20)
            assert got == (data * (sent // len(data) + 1))[:sent]
        assert router.recv(64) == b"", "the router's side ends with zebra's"
        thread.join(10)
    assert not thread.is_alive()


# The kernel, and the agent as a program.

class Page:
    """An HTTP server in a namespace, which serves a page of the router."""

    def __init__(self, host, text):
        self.text, self.status, self.open = text, 200, []
        test = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                test.open.append(self.connection)

            def do_GET(self):  # noqa: N802
                body = test.text.encode()
                self.send_response(test.status if self.path == page.PATH else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass
        self.handler, self.host = Handler, host
        self.server = self.thread = None
        self.start()

    def start(self):
        self.server = http.server.ThreadingHTTPServer((ROUTER, 80), self.handler, bind_and_activate=False)
        self.server.daemon_threads = True
        self.server.socket.close()
        self.server.socket = self.host.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.server.server_bind()
        self.server.server_activate()
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def stop(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.thread.join()
            for connection in self.open:
                with contextlib.suppress(OSError):  # it has ended by itself
                    connection.shutdown(socket.SHUT_RDWR)
            self.open.clear()
            self.server = None


class Machine:
    """A machine beside a router: two hosts and a cable."""

    def __init__(self, stack, tmp_path):
        self.router = stack.enter_context(netlab.Host("router"))
        self.host = stack.enter_context(netlab.Host("machine"))
        self.host.ip("link", "delete", "eth0")
        self.router.ip("link", "add", "e0", "mtu", "1600", "type", "veth", "peer", "name", "mgmt", "mtu", "1600",
                       "netns", str(self.host.holder.pid))
        for host, device, address in ((self.router, "e0", ROUTER), (self.host, "mgmt", LOCAL)):
            host.ip("address", "add", address + "/24", "dev", device)
            host.ip("link", "set", "dev", device, "up")
        self.page = Page(self.router, page_text(interface()))
        stack.callback(self.page.stop)
        # FRR's user has to reach it.
        self.run = pathlib.Path(tempfile.mkdtemp(prefix="hayate-agent-"))
        stack.callback(shutil.rmtree, self.run, True)
        self.run.chmod(0o755)
        self.tag = str(tmp_path)
        self.child = None
        self.log = tmp_path / "agent.log"

    def start(self, *arguments, netns="none"):
        self.child = self.host.popen(
            [PYTHON, LAUNCHER, "engine", ROUTER, "--poll", "0.1", "--netns", netns, "--run", str(self.run), *arguments],
            stdin=subprocess.DEVNULL, stdout=open(self.log, "wb"), stderr=-2, env={**os.environ, TAG: self.tag})

    def said(self):
        return self.log.read_text(encoding="utf-8")

    def says(self, text, timeout_s=20):
        eventually(lambda: text in self.said(), timeout_s,
                   lambda: "%r of the agent, which said\n%s" % (text, self.said()))

    def inside(self, *arguments):
        """Runs a program in the agent's namespace, by one of its processes, which may be a short-lived one."""
        outer = os.readlink("/proc/%d/ns/net" % self.host.holder.pid)
        for pid in descendants(self.tag):
            try:
                inner = os.open("/proc/%d/ns/net" % pid, os.O_RDONLY)
            except OSError:
                continue
            try:
                path = "/proc/self/fd/%d" % inner
                if os.readlink(path) != outer:
                    return subprocess.run(["nsenter", "--net=" + path, *arguments], check=True,
                                          capture_output=True, text=True, pass_fds=[inner]).stdout
            finally:
                os.close(inner)
        raise AssertionError("the agent has no process in a namespace of its own:\n" + self.said())

    def stop(self, number=signal.SIGTERM):
        self.child.send_signal(number)
        return self.child.wait(20)


@pytest.fixture
def machine(tmp_path):
    with contextlib.ExitStack() as stack:
        yield Machine(stack, tmp_path)


def test_devices_are_those_of_the_page(machine):
    """After each plan the kernel has what was planned: there is nothing more to do."""
    with process.Container() as inner, process.inside_netns(machine.host.netns):
        made = links.Links(inner.netns, str(inner.init.pid), LOCAL)
        for rows in ([interface(index=2), interface("eth1.7", 300, carrier=False, addresses=["192.0.3.1/31"])],
                     [interface(index=2, mtu=1400, mac="52:54:00:00:00:05"), interface("eth1.7", 301)],
                     [interface("eth1.7", 301, carrier=False, addresses=[])], []):
            wanted = page.parse(page_text(*rows))
            assert made.follow(wanted) > 0
            assert made.follow(wanted) == 0
            present = made.present()
            assert set(present) == {"lo"} | {row["name"] for row in rows}
            for row in rows:
                link = present[row["name"]]
                assert (link.index, link.mac, link.mtu, link.carrier) == (
                    row["index"], row["mac"], row["mtu"], row["carrier"])
                said = links.ip(["-brief", "link", "show", row["name"]], inner.netns)
                assert ("LOWER_UP" in said) == row["carrier"]
        assert links.ip(["link", "show", "type", "vxlan"]) == "", "nothing of them in the machine's namespace"


def test_frames_travel_by_the_machine(machine):
    """What is sent in the namespace arrives at the router in VXLAN with the interface's number, to the
    device's own address: Linux does not look for neighbours."""
    machine.start("--no-frr")
    machine.says("eth0: index 101")
    with machine.router.socket() as vtep:
        vtep.bind((ROUTER, 4789))
        vtep.settimeout(10)
        with contextlib.suppress(subprocess.CalledProcessError):  # nobody answers
            machine.inside("ping", "-c", "1", "-W", "1", "-n", "-t", "1", "192.0.2.77")
        while True:
            packet, (sender, _) = vtep.recvfrom(2000)
            if packet[20:22] == b"\x08\x00" and packet[31] == 1:
                break
    assert sender == LOCAL
    assert packet[:8] == b"\x08\0\0\0" + struct.pack("!I", 101 << 8)
    mac = bytes.fromhex("525400687900")
    assert packet[8:20] == mac + mac
    assert packet[30] == 1, "the TTL is kept"
    assert packet[34:42] == socket.inet_aton("192.0.2.1") + socket.inet_aton("192.0.2.77")
    assert machine.stop() == 0


def test_agent_follows_the_page(machine):
    machine.start("--no-frr")
    machine.says("eth0: index 101, VNI 101, MTU 1500, link up, 192.0.2.1/24 2001:db8::1/64 fe80::1/64")
    machine.page.text = page_text(interface(carrier=False), interface("eth1", 102, addresses=[], link_local=None))
    machine.says("eth0: link down")
    machine.says("eth1: index 102")
    assert "NO-CARRIER" in machine.inside("ip", "link", "show", "eth0")
    machine.page.text = page_text(interface(), connected=True)
    machine.says("eth1: removed")
    # What others change is put right later, or with the page's next change.
    machine.inside("ip", "address", "add", "192.0.2.99/24", "dev", "eth0")
    eventually(lambda: "192.0.2.99" not in machine.inside("ip", "address", "show", "eth0"), 30)
    machine.says("the interfaces were not those of the router, and are again")
    machine.page.text = page_text(interface(vni=-1))
    machine.says("the router's page is not understood: vni is -1")
    machine.page.text = page_text(interface(mtu=1590))
    machine.says("the MTU of mgmt is 1600; full packets need 1640: ip link set dev mgmt mtu 1640")
    machine.page.text = page_text(interface(), address="203.0.113.7")
    machine.says("the router expects its routing engine at 203.0.113.7, and this is 203.0.113.2")
    machine.page.text = page_text(interface(), source="198.51.100.7")
    machine.says("no route to the router's address 198.51.100.7: `ip -json route get 198.51.100.7 from")
    machine.page.text = page_text()
    machine.says("eth0: removed")
    machine.says("no interface of the router has a `routing engine vni`")
    assert machine.stop() == 0
    assert os.listdir(machine.run) == []
    eventually(lambda: not descendants(machine.tag), 10, "its processes are gone")


def test_agent_survives_the_router(machine):
    machine.page.stop()
    machine.start("--no-frr")
    machine.says("the router at 203.0.113.1 does not answer: connection refused")
    machine.page.start()
    machine.says("eth0: index 101")
    assert "the router answers\n" in machine.said()
    machine.page.stop()
    machine.says("; the interfaces stay as they are")
    assert "192.0.2.1/24" in machine.inside("ip", "address", "show", "eth0")
    machine.page.status = 403
    machine.page.start()
    machine.says("it answers 403: add `http access 203.0.113.2/32` to the router's configuration")
    machine.page.status = 200
    machine.says("the router answers again")
    assert machine.said().count("does not answer") == 3, "each is said once"
    machine.page.text = '{"address":null,"interfaces":[]}'
    machine.says("add `routing engine 203.0.113.2`")
    assert machine.stop(signal.SIGINT) == 0


NAME = "hayate-test-%d" % os.getpid()


@pytest.fixture
def netns():
    """The name of a namespace that is gone afterwards."""
    yield NAME
    subprocess.run(["ip", "netns", "delete", NAME], stderr=subprocess.DEVNULL, check=False)


def namespaces():
    return subprocess.run(["ip", "netns", "list"], stdout=subprocess.PIPE, text=True, check=True).stdout


FRR_CONF = """\
hostname r1
fpm address 127.0.0.1 port 2620
no fpm use-next-hop-groups
ip route 10.9.0.0/16 192.0.2.7
bfd
"""


def test_killed_agent(machine, netns, tmp_path):
    """Its daemons end with it, though they have another user; the next agent continues with its
    namespace, and leaves nothing."""
    config = tmp_path / "frr.conf"
    config.write_text(FRR_CONF)
    machine.start("--frr-config", str(config), netns=netns)
    machine.says("zebra, staticd, bfdd run; vtysh --vty_socket %s" % machine.run)
    second = machine.host.run([PYTHON, LAUNCHER, "engine", ROUTER, "--no-frr", "--netns", netns, "--run",
                               str(machine.run)])
    assert second.returncode == EXIT_MISSING and "an agent runs already, process %d" % machine.child.pid in second.stderr
    machine.stop(signal.SIGKILL)
    eventually(lambda: not descendants(machine.tag), 10, "its processes are gone")
    assert netns in namespaces()
    machine.start("--frr-config", str(config), netns=netns)
    machine.says("zebra, staticd, bfdd run")
    assert machine.stop() == 0
    eventually(lambda: not descendants(machine.tag), 10, "its processes are gone")
    assert netns not in namespaces()
    daemons = ["zebra", "staticd", "bfdd"] + [name for name in ("mgmtd",) if os.path.exists(os.path.join(frr.folder(), name))]
    assert sorted(os.listdir(machine.run)) == sorted(name + ".log" for name in daemons)


def test_foreign_namespace_is_refused(machine, netns):
    subprocess.run(["ip", "netns", "add", netns], check=True)
    machine.start("--no-frr", netns=netns)
    assert machine.child.wait(20) == EXIT_MISSING
    assert "that no agent has made" in machine.said() and netns in namespaces()


def test_once(machine, netns):
    """Interfaces for daemons that others run: they stay. A second call follows the page."""
    for row, text in ((interface(), "192.0.2.1/24"), (interface(addresses=["192.0.2.5/24"]), "192.0.2.5/24")):
        machine.page.text = page_text(row)
        machine.start("--once", netns=netns)
        assert machine.child.wait(20) == 0, machine.said()
        said = subprocess.run(["ip", "-n", netns, "address", "show", "eth0"], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        assert text in said and said.count("inet ") == 1


def test_daemon_that_dies(machine, tmp_path):
    """It is started again with its part of the configuration, and FPM with it."""
    config = tmp_path / "frr.conf"
    config.write_text(FRR_CONF)
    with machine.router.socket(socket.AF_INET, socket.SOCK_STREAM) as fpm:
        fpm.bind((ROUTER, 2620))
        fpm.listen()
        fpm.settimeout(40)
        machine.start("--frr-config", str(config))
        for _ in range(2):
            zebra, _ = fpm.accept()
            with zebra:
                zebra.settimeout(40)
                seen = b""
                while socket.inet_aton("10.9.0.0")[:2] + b"\0\0" not in seen:
                    got = zebra.recv(65536)
                    assert got, "the connection ended"
                    seen += got
                pids = [pid for pid in descendants(machine.tag)
                        if pathlib.Path("/proc/%d/comm" % pid).read_text() == "zebra\n"]
                assert len(pids) == 1
                os.kill(pids[0], signal.SIGKILL)
        assert re.search(r"zebra ended \(signal 9\) and is started again in 2 s; see \S+/zebra.log", machine.said())
        assert "zebra, staticd, bfdd run again" in machine.said()
    assert machine.stop() == 0


@pytest.mark.parametrize("arguments,code,text", [
    (["--once", "--netns", "none"], EXIT_USAGE, "needs a name"),
    (["--netns", "none", "--no-frr"], EXIT_USAGE, "by --run DIR"),
    (["--netns", "a b"], EXIT_USAGE, "the first a letter"),
    (["--local", "fe80::1"], EXIT_USAGE, "an IPv4 address"),
    (["--http-port", "0"], EXIT_USAGE, "from 1 to 65535"),
    (["--frr-config", "/nonexistent/frr.conf"], EXIT_MISSING, "No such file"),
    (["--frr-config", "/nonexistent/zebra.conf"], EXIT_MISSING, "has to be called frr.conf"),
])
def test_refused(arguments, code, text):
    result = subprocess.run([PYTHON, LAUNCHER, "engine", ROUTER, *arguments], capture_output=True, text=True,
                            timeout=20, check=False)
    assert result.returncode == code and text in result.stderr
    assert result.stderr.startswith("hayate: ") and result.stderr.count("\n") == 1
