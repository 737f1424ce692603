"""FRRouting behind a router, by `hayate engine`, and BIRD on a neighbour's host: their sessions go
through the router's ports, the routes arrive in the router, and packets go by them. Without a router:
test_agent.py. Two routers and a cable that is pulled out: test_demo.py."""
import contextlib
import os
import re
import shutil
import signal
import tempfile

import pytest
from conftest import RIGHT_HOST, RIGHT_ROUTER, eventually, options, reaches, router_config
from launcher.demo_bgp import ENGINE_MTU, Engine
from layer import TAG, descendants

ENDS = ("203.0.113.1", "203.0.113.2")  # the router, its engine
FAR = "10.9.0.1"  # an address of the right host, in what BIRD announces
RIGHT_ROUTER6 = "fe80::5054:ff:fe68:7901"  # by its MAC address
LEFT6, RIGHT6, RIGHT6_HOST, FAR6 = "2001:db8:1::1", "2001:db8:2::1", "2001:db8:2::2", "2001:db8:9::1"


def config(kind=""):
    text = router_config()
    if kind == "bfd":
        text += "routing engine bfd\n"
    if kind == "unnumbered":
        text = text.replace(" ip address %s/24\n" % RIGHT_ROUTER, " ip unnumbered eth0\n")
    for number, address6 in ((0, LEFT6), (1, RIGHT6)):
        line = "interface eth%d\n" % number
        text = text.replace(line, line + " ipv6 address %s/64\n ipv6 nd ra suppress\n routing engine vni %d\n"
                            % (address6, 100 + number))
    return text + """\
interface eth2
 ip address %s/30
 mtu %d
routing engine %s
routing engine settle-time 40
http server
http access %s/32
""" % (ENDS[0], ENGINE_MTU, ENDS[1], ENDS[1])


FRR = """\
fpm address 127.0.0.1 port 2620
no ip forwarding
no ipv6 forwarding
"""
FRR_BGP = """\
router bgp 64501
 bgp router-id 192.0.2.1
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 neighbor {0} remote-as 64500
 neighbor {0} timers 3 9
 neighbor {0} timers connect 1
 address-family {1} unicast
  neighbor {0} activate
  redistribute connected
 exit-address-family
"""
FRR_UNNUMBERED = """\
router bgp 64501
 bgp router-id 192.0.2.1
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 neighbor eth1 interface remote-as external
 neighbor eth1 timers 3 9
 neighbor eth1 timers connect 1
 address-family {0} unicast
  neighbor eth1 activate
  redistribute connected
 exit-address-family
"""
FRR_OSPF = """\
interface eth0
 ip ospf passive
 ip ospf area 0
interface eth1
 ip ospf area 0
 ip ospf hello-interval 1
 ip ospf dead-interval 4
router ospf
 ospf router-id 192.0.2.1
"""
BIRD = """\
router id 198.51.100.2;
protocol device { scan time 1; }
protocol kernel { ipv4 { import none; export where source != RTS_STATIC; }; }
protocol kernel { ipv6 { import none; export where source != RTS_STATIC; }; }
protocol static { ipv4; route 10.9.0.0/16 blackhole; }
protocol static { ipv6; route 2001:db8:9::/48 blackhole; }
"""
BIRD_BGP = """\
protocol bgp { local as 64500; neighbor %s as 64501; hold time 9; connect delay time 1;
	connect retry time 1; error wait time 1, 1;
	%s { import all; export where source = RTS_STATIC; }; }
"""
BIRD_UNNUMBERED = """\
protocol radv { interface "eth0" { min ra interval 3; max ra interval 4; }; }
protocol bgp { local as 64500; neighbor %s as 64501; interface "eth0"; hold time 9;
	connect delay time 1; connect retry time 1; error wait time 1, 1;
	%s; }
"""
BIRD_OSPF = """\
protocol ospf v2 { ipv4 { import all; export where source = RTS_STATIC; };
	area 0 { interface "eth0" { hello 1; dead 4; }; }; }
"""
KINDS = {
    "bgp": (FRR_BGP.format(RIGHT_HOST, "ipv4"), BIRD_BGP % (RIGHT_ROUTER, "ipv4"), "10.9.0.0/16", FAR),
    "bfd": (FRR_BGP.format(RIGHT_HOST, "ipv4").replace(" address-family", " neighbor %s bfd\n address-family"
                                                       % RIGHT_HOST, 1),
            BIRD_BGP.replace("local as", "bfd on; local as") % (RIGHT_ROUTER, "ipv4") +
            'protocol bfd { interface "eth0" { interval 100 ms; multiplier 10; }; }\n', "10.9.0.0/16", FAR),
    "bgp6": (FRR_BGP.format(RIGHT6_HOST, "ipv6"), BIRD_BGP % (RIGHT6, "ipv6"), "2001:db8:9::/48", FAR6),
    "unnumbered": (FRR_UNNUMBERED.format("ipv4"), BIRD_UNNUMBERED % (
        RIGHT_ROUTER6, "ipv4 { extended next hop on; import all; export where source = RTS_STATIC; }"),
        "10.9.0.0/16", FAR),
    "unnumbered6": (FRR_UNNUMBERED.format("ipv6"), BIRD_UNNUMBERED % (
        RIGHT_ROUTER6, "ipv6 { import all; export where source = RTS_STATIC; }"), "2001:db8:9::/48", FAR6),
    "ospf": (FRR_OSPF, BIRD_OSPF, "10.9.0.0/16", FAR),
}


class Neighbour:
    """BIRD in a host."""

    def __init__(self, host, work, text):
        self.host, self.work, self.child = host, work, None
        with open(os.path.join(work, "bird.conf"), "w", encoding="ascii") as file:
            file.write(text)

    def start(self):
        words = ["bird", "-f", "-c", "bird.conf", "-s", os.path.join(self.work, "ctl"), "-P", "bird.pid"]
        self.child = self.host.popen(words, cwd=self.work, stdout=open(os.path.join(self.work, "bird.log"), "ab"),
                                     stderr=-2)

    def stop(self):
        self.child.terminate()
        self.child.wait(10)


@pytest.fixture
def work():
    """A folder that FRR's user can reach."""
    path = tempfile.mkdtemp(prefix="hayate-bgp-")
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def engine(work):
    """A function: the engine with that configuration of FRR, which ends with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda text, ends=ENDS: Engine(stack, "engine", ends, work, FRR + text)
    eventually(lambda: not descendants(work), 10, "its processes are gone")


@pytest.fixture
def lab(make_router, engine, work, monkeypatch):
    """A function: a router between two hosts, its engine, and BIRD on the right host, which is not started
    yet."""
    def start(kind, left, right):
        text, bird_text, _, _ = KINDS[kind]
        frr = engine(text)
        bird = Neighbour(right, work, BIRD + bird_text)
        router = make_router(config(kind), cpus=2, ports=(left.port, right.port, frr.host.port))
        for host in (left, right, frr.host):
            host.wait_for_link()
        with monkeypatch.context() as patch:
            patch.setenv(TAG, work)
            frr.start()
        return router, frr, bird
    return start


def vtysh(frr, command):
    """FRR's answer."""
    return frr.host.run(["vtysh", "--vty_socket", os.path.join(frr.work, "run"), "-c", command]).stdout


def whereabouts(router, frr, bird, right):
    """What the router, FRRouting, BIRD and the right host's Linux believe, for the message of a failure."""
    seen = {"router": [router.command(line) for line in ("show ip route", "show arp", "show ipv6 neighbors")],
            "FRRouting": [vtysh(frr, line) for line in ("show ip ospf neighbor", "show ip route", "show ipv6 route")],
            "BIRD": [right.run(["birdc", "-s", os.path.join(bird.work, "ctl"), *line.split()]).stdout
                     for line in ("show protocols", "show ospf neighbors", "show route")],
            "Linux": [right.ip(*line.split()) for line in ("route", "-6 route", "neighbour")]}
    return "packets by the route:\n" + "\n".join("%s: %s" % (who, "\n".join(said)) for who, said in seen.items())


def kill_zebra(router, frr, work):
    """It is started again with the other daemons. The router keeps the routes meanwhile, and they are stated
    again before it gives them up."""
    zebra = [pid for pid in descendants(work) if open("/proc/%d/comm" % pid, encoding="ascii").read() == "zebra\n"]
    os.kill(zebra[0], signal.SIGKILL)
    eventually(lambda: "zebra ended" in frr.said(), 20)
    eventually(lambda: " run again" in frr.said(), 60)

    def is_whole():
        said = router.command("show routing engine")
        return " connected since " in said and " stale 0, removed as stale 0" in said
    eventually(is_whole, 60, "no route is stale, none was given up")


@pytest.mark.parametrize("kind,nic", [*((kind, options.DEFAULT_NIC) for kind in KINDS if kind != "bfd"), ("ospf", "ixgbe"),
                                     ("ospf", "mlx5")])
def test_session_through_the_router(make_hosts, lab, work, kind):
    prefix, far = KINDS[kind][2:]
    left, right = make_hosts()
    left.configure6("2001:db8:1::2/64", LEFT6)
    right.configure6(RIGHT6_HOST + "/64")
    right.ip("address", "add", FAR + "/32", "dev", "lo")
    right.ip("-6", "address", "add", FAR6 + "/128", "dev", "lo")
    right.ip("route", "delete", "default")  # it learns the way back
    router, frr, bird = lab(kind, left, right)

    def lost():
        return whereabouts(router, frr, bird, right)
    show = "show %s route %s" % ("ipv6" if ":" in prefix else "ip", prefix)

    def has_route():
        return "engine" in router.command(show)
    eventually(lambda: " run; vtysh " in frr.said(), 60, "the agent is ready")
    bird.start()
    eventually(has_route, 60, "the route")
    eventually(lambda: reaches(left, far), 20, lost)
    # The cable is pulled out: the agent takes the carrier away, FRR the route.
    router.set_link(1, False)
    eventually(lambda: "eth1: link down" in frr.said() and not has_route(), 20, "the route is withdrawn")
    eventually(lambda: "eth1 is up, line protocol is down" in vtysh(frr, "show interface eth1"), 20, "no carrier")
    router.set_link(1, True)
    if kind == "ospf":  # zebra knows the route again before ospfd knows its neighbour, BIRD has no way back by then
        eventually(lambda: "Full" in vtysh(frr, "show ip ospf neighbor"), 60, lost)
    eventually(has_route, 60, "the route is back")
    eventually(lambda: reaches(left, far), 20, lost)
    if kind == "bgp":
        kill_zebra(router, frr, work)
        assert has_route()
        eventually(lambda: reaches(left, far), 20, lost)
    bird.stop()
    eventually(lambda: not has_route(), 20, "the route ends with the session")
    bird.start()
    eventually(has_route, 60, "the route is back")
    # The engine is stopped: FPM ends before the sessions, and the router keeps the routes.
    frr.stop()
    assert "engine stale" in router.command(show)


def test_distributed_bfd(make_hosts, lab):
    """With `routing engine bfd` Hayate runs bfdd's sessions, and without it bfdd itself: the agent follows."""
    prefix = KINDS["bfd"][2]
    left, right = make_hosts()
    router, frr, bird = lab("bfd", left, right)
    bird.start()
    up = "peer %s local %s " % (RIGHT_HOST, RIGHT_ROUTER)

    def is_up():
        said = router.command("show bfd")
        return up in said and " up since " in said.partition(up)[2].splitlines()[0]
    eventually(is_up, 60, "a session on the router")
    eventually(lambda: "engine" in router.command("show ip route " + prefix), 60, "the route")
    for line in ("configure", "no routing engine bfd", "commit", "exit"):
        router.command(line)
    eventually(lambda: "BFD sessions run on this machine" in frr.said(), 20)

    def frr_up():
        return re.search(r"\b%s\s+up\b" % RIGHT_HOST, vtysh(frr, "show bfd peers brief"))
    eventually(frr_up, 60, "a session on the engine")


def test_router_starts_again(make_hosts, lab):
    """The agent and FRRouting outlive the router, and give it everything again."""
    prefix, far = KINDS["bgp"][2:]
    left, right = make_hosts()
    right.ip("address", "add", FAR + "/32", "dev", "lo")
    right.ip("route", "delete", "default")
    router, frr, bird = lab("bgp", left, right)
    bird.start()
    for _ in range(2):
        eventually(lambda: "engine" in router.command("show ip route " + prefix), 60, "the route")
        eventually(lambda: reaches(left, far), 20, "packets by the route")
        if _ == 0:
            router.send("reload")
            router.wait_up()
            assert "engine" not in router.command("show ip route " + prefix)
    assert frr.said().count("run; vtysh") == 1 and " ended (" not in frr.said()


@pytest.mark.parametrize("name", ["edge", "fabric"])
def test_example(make_router, make_hosts, engine, name):
    """examples/engine: Hayate takes its configuration, and the agent makes what it asks for."""
    with open(os.path.join(options.ROOT, "examples", "engine", name, "hayate.conf"), encoding="ascii") as file:
        text = file.read()
    wanted = dict(re.findall(r"^interface (eth\d+)\n(?: .*\n)*? routing engine vni (\d+)$", text, re.M))
    last = len(re.findall(r"^interface eth", text, re.M)) - 1
    frr = engine("", ends=("192.0.2.1", "192.0.2.2"))
    with open(os.path.join(options.ROOT, "examples", "engine", name, "frr.conf"), encoding="ascii") as file:
        with open(frr.config, "w", encoding="ascii") as out:
            out.write(file.read().replace("log syslog informational", ""))
    router = make_router(text, ports=["none"] * last + [frr.host.port])
    frr.host.wait_for_link()
    frr.start()
    eventually(lambda: " run; vtysh " in frr.said(), 60, "the agent is ready")
    assert len(wanted) == last and not re.search("vtysh: |not accepted", frr.said()), frr.said()
    for device, vni in wanted.items():
        assert re.search(r"^hayate engine: %s: index %s, VNI %s, MTU 1500" % (device, vni, vni), frr.said(), re.M)
    eventually(lambda: " connected since " in router.command("show routing engine"), 30)
