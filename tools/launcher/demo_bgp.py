"""`hayate demo-bgp`: two routers with FRRouting as their routing engines, a third autonomous system of
BIRD, a table from it, traffic from host to host, and a cable that is pulled out."""
import os
import re
import select
import struct
import sys
import tempfile
import time

from . import lab, machine, netlab
from .errors import LauncherError
from .guest import LAUNCHER, PYTHON, Guest
from .lab import Failure
from .options import choose_accel

PICTURE = """
  left host ---- r1 ------------ BIRD ---- right host      r1, r2: Hayate, each with FRRouting
  192.0.2.2      AS 64501        AS 64500  10.0.0.1            as its routing engine
                  |               |
                  +---- r2 -------+
                        AS 64502
"""
LEFT_HOST, RIGHT_HOST, RIGHT_LAN = "192.0.2.2", "203.0.113.2", "203.0.113.1"
FAR = "10.0.0.1"  # the right host's address in the table: 10.0.0.0/24 and the prefixes that follow

# Links: (the left end, the right end), 30 bits each. Documentation's addresses and AS numbers.
R1_BIRD = ("198.51.100.1", "198.51.100.2")
R1_R2 = ("198.51.100.5", "198.51.100.6")
R2_BIRD = ("198.51.100.9", "198.51.100.10")
R1_ENGINE = ("203.0.113.129", "203.0.113.130")
R2_ENGINE = ("203.0.113.133", "203.0.113.134")
ENGINE_MTU = 1600

R1 = """\
hostname r1
interface eth0
 description left host
 ip address 192.0.2.1/24
 routing engine vni 100
interface eth1
 description BIRD
 ip address %s/30
 routing engine vni 101
interface eth2
 description r2
 ip address %s/30
 routing engine vni 102
""" % (R1_BIRD[0], R1_R2[0])
R2 = """\
hostname r2
interface eth0
 description r1
 ip address %s/30
 routing engine vni 100
interface eth1
 description BIRD
 ip address %s/30
 routing engine vni 101
""" % (R1_R2[1], R2_BIRD[0])
ENGINE_PORT = """\
interface %s
 description routing engine
 ip address %s/30
 mtu %d
routing engine %s
http server
http access %s/32
"""

FRR = """\
hostname %s
fpm address 127.0.0.1 port 2620
no ip forwarding
no ipv6 forwarding
router bgp %d
 bgp router-id %s
 no bgp ebgp-requires-policy
%s address-family ipv4 unicast
%s exit-address-family
"""
NEIGHBOUR = """\
 neighbor %s remote-as %d
 neighbor %s timers 3 9
 neighbor %s timers connect 1
"""

BIRD = """\
router id %(lan)s;
protocol device { scan time 1; }
protocol direct { ipv4; interface "lan"; }
protocol static table4 {
	ipv4;
	route 10.0.0.0/24 via %(right)s;
%(routes)s}
protocol kernel {
	ipv4 { import none; export where source = RTS_BGP || net = 10.0.0.0/24; };
}
template bgp neighbours {
	local as 64500;
	hold time 9;
	connect delay time 1;
	connect retry time 1;
	ipv4 { import all; export where source = RTS_STATIC || source = RTS_DEVICE; next hop self; };
}
protocol bgp r1 from neighbours { neighbor %(r1)s as 64501; }
protocol bgp r2 from neighbours { neighbor %(r2)s as 64502; }
"""

PROGRAMS = ("ip", "bird", "vtysh", "traceroute")
PERIOD_S = 0.01  # between two packets of a direction
STEADY_S = 2.0   # without loss: the traffic flows
UNDERWAY_S = 0.5
BOOT_S, CONVERGE_S, RECOVER_S = 120, 120, 60
LARGE = 50000        # from so many prefixes on,
LARGE_MEMORY = "2G"  # a router's memory
SLOWEST = 2000       # prefixes a second, beyond these times


def frr_conf(name, number, router_id, neighbours, networks):
    sessions = "".join(NEIGHBOUR % (address, remote, address, address) for address, remote in neighbours)
    return FRR % (name, number, router_id, sessions,
                  "".join("  network %s\n" % network for network in networks))


def bird_conf(count):
    routes = "".join("\troute %d.%d.%d.0/24 blackhole;\n" % (10 + (number >> 16), number >> 8 & 255, number & 255)
                     for number in range(1, count))
    return BIRD % {"lan": RIGHT_LAN, "right": RIGHT_HOST, "routes": routes, "r1": R1_BIRD[0], "r2": R2_BIRD[0]}


class Direction:
    """Numbered packets from one host to another, and which of them arrived when."""

    def __init__(self, stack, sender, source, receiver, address, port):
        self.out = stack.enter_context(sender.socket())
        self.out.bind((source, port))
        self.into = stack.enter_context(receiver.socket())
        self.into.bind((address, port))
        for sock in (self.out, self.into):
            sock.setblocking(False)
        self.to = (address, port)
        self.number = 0  # of the next packet
        self.sent, self.arrived = {}, set()

    def send(self, now):
        try:
            self.out.sendto(struct.pack("!I", self.number), self.to)
        except OSError:
            pass  # no route at the moment: the packet is lost
        self.sent[self.number] = now
        self.number += 1

    def receive(self):
        while True:
            try:
                number, = struct.unpack("!I", self.into.recv(64))
            except BlockingIOError:
                return
            except (OSError, struct.error):
                continue
            if number in self.sent:
                self.arrived.add(number)

    def lost(self):
        return len(self.sent) - len(self.arrived)

    def outage_s(self):
        """The longest time from one packet that arrived to the next one, by when they were sent."""
        times = [self.sent[number] for number in sorted(self.arrived)]
        return max((after - before for before, after in zip(times, times[1:])), default=0.0)

    def forget(self):
        """Begins to count anew."""
        self.sent, self.arrived = {}, set()


class Traffic:
    """Both directions, a packet each PERIOD_S."""

    def __init__(self, stack, left, right):
        self.ways = (Direction(stack, left, LEFT_HOST, right, FAR, 20001),
                     Direction(stack, right, FAR, left, LEFT_HOST, 20002))

    def run(self, seconds, until=None):
        """Sends for that time, or until the condition. Returns whether it was met."""
        end = time.monotonic() + seconds
        following = time.monotonic()
        while True:
            now = time.monotonic()
            if now >= following:
                for way in self.ways:
                    way.send(now)
                following = max(following + PERIOD_S, now)
            if until and until():
                return True
            if now >= end:
                return False
            select.select([way.into for way in self.ways], [], [], max(0.0, following - time.monotonic()))
            for way in self.ways:
                way.receive()

    def flows(self, since):
        """Whether STEADY_S have passed since then, and all packets of the last STEADY_S arrived, except
        those that may be on their way."""
        now = time.monotonic()
        if now < since + STEADY_S:
            return False
        return all(number in way.arrived for way in self.ways for number, at in way.sent.items()
                   if now - STEADY_S < at < now - UNDERWAY_S)


class Engine:
    """A router's routing engine: a host with the agent and FRRouting."""

    def __init__(self, stack, name, ends, work, config):
        self.router, self.address = ends
        self.work = os.path.join(work, name)
        os.makedirs(self.work)
        os.chmod(self.work, 0o755)
        self.log = os.path.join(self.work, "agent.log")
        self.config = os.path.join(self.work, "frr.conf")
        with open(self.config, "w", encoding="ascii") as file:
            file.write(config)
        self.host = stack.enter_context(netlab.Host(name))
        self.host.configure(self.address + "/30", self.router, mtu=ENGINE_MTU)

    def start(self):
        """The agent; it ends with this process, and its namespace and daemons with it."""
        self.agent = self.host.popen(
            [PYTHON, LAUNCHER, "engine", self.router, "--local", self.address, "--netns", "none", "--run",
             os.path.join(self.work, "run"), "--frr-config", self.config, "--poll", "0.2"],
            stdout=open(self.log, "wb"), stderr=-2)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def has_ended(self):
        return self.agent.poll() is not None

    def stop(self):
        self.host.end_children()


def _write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def _await(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise Failure("%s: not within %g s" % (what() if callable(what) else what, seconds))
        time.sleep(0.2)


def prefixes(router):
    """How many prefixes the router has from its engine."""
    found = re.search(r"^prefixes (\d+),", router.command("show routing engine"), re.M)
    return int(found[1]) if found else 0


class Cables:
    """The hosts, and the ports of the two routers."""

    def __init__(self, stack, work):
        enter = stack.enter_context
        self.left = enter(netlab.Host("left host"))
        self.left.configure(LEFT_HOST + "/24", "192.0.2.1")
        self.bird = enter(netlab.Host("BIRD"))
        self.bird.ip("tuntap", "add", "dev", "eth1", "mode", "tap")
        for device, address in (("eth0", R1_BIRD[1]), ("eth1", R2_BIRD[1])):
            self.bird.ip("address", "add", address + "/30", "dev", device)
            self.bird.ip("link", "set", device, "up")
        self.bird.sysctl("net.ipv4.ip_forward", 1)
        self.right = enter(netlab.Host("right host"))
        self.right.ip("link", "delete", "eth0")
        self.bird.ip("link", "add", "lan", "type", "veth", "peer", "name", "eth0", "netns",
                     str(self.right.holder.pid))
        self.bird.ip("address", "add", RIGHT_LAN + "/25", "dev", "lan")
        self.bird.ip("link", "set", "lan", "up")
        self.right.configure(RIGHT_HOST + "/25", RIGHT_LAN)
        self.right.ip("address", "add", FAR + "/32", "dev", "lo")
        panel = enter(netlab.PatchPanel(1))
        self.engines = (
            Engine(stack, "engine1", R1_ENGINE, work, frr_conf(
                "r1", 64501, R1_ENGINE[0], ((R1_BIRD[1], 64500), (R1_R2[1], 64502)), ["192.0.2.0/24"])),
            Engine(stack, "engine2", R2_ENGINE, work, frr_conf(
                "r2", 64502, R2_ENGINE[0], ((R1_R2[0], 64501), (R2_BIRD[1], 64500)), [])))
        other = "tap:%d/eth1,queues=1" % self.bird.holder.pid
        self.ports = ([self.left.port, self.bird.port, panel.ends[0][0], self.engines[0].host.port],
                      [panel.ends[1][0], other, self.engines[1].host.port])


def _boot(options, stack, work, number, config, engine, ports):
    name = "r%d" % number
    port = "eth%d" % (len(ports) - 1)
    text = config + ENGINE_PORT % (port, engine.router, ENGINE_MTU, engine.address, engine.address)
    arguments = ["router", "--config", _write(os.path.join(work, name + ".conf"), text),
                 "--accel", choose_accel(options.accel), "--cpus", str(options.cpus), "--nic", options.nic,
                 "--mac", "52:54:00:68:7%d:00" % number, "--qmp", os.path.join(work, name + ".qmp")]
    if options.prefixes >= LARGE:
        arguments += ["--memory", LARGE_MEMORY]
    for each in ports:
        arguments += ["--port", each]
    for value, word in ((options.qemu, "--qemu"), (options.image, "--image")):
        if value:
            arguments += [word, value]
    return stack.enter_context(Guest(arguments, echo=sys.stderr.write if options.verbose else None))


def _cut(cables, work):
    """Pulls out the cable between r1 and BIRD: both ends lose their link."""
    machine.qmp(os.path.join(work, "r1.qmp"), "set_link", name="nic1", up=False)
    cables.bird.ip("link", "set", "dev", "eth0", "carrier", "off")


def run(options):
    if os.geteuid() != 0:
        raise LauncherError("FRRouting changes its user, which needs root: sudo tools/hayate demo-bgp")
    return lab.conduct("demo-bgp", PROGRAMS, options, _demo, "run-bgp")


def _demo(options, steps, stack):
    work = stack.enter_context(tempfile.TemporaryDirectory(prefix="hayate-demo-bgp-"))
    os.chmod(work, 0o755)  # FRRouting's user reads there
    print(PICTURE)
    steps.step("making hosts and cables")
    cables = Cables(stack, work)
    steps.done("network namespaces")

    steps.step("booting r1 and r2 (%s, %d CPUs each)" % (choose_accel(options.accel).upper(), options.cpus))
    routers = [_boot(options, stack, work, number, config, engine, ports) for number, config, engine, ports in
               zip((1, 2), (R1, R2), cables.engines, cables.ports)]
    for router in routers:
        router.wait_ready(BOOT_S)
        router.wait_prompt()
        router.wait_links()
    steps.done("ready")

    steps.step("starting their routing engines")
    for engine in cables.engines:
        engine.start()
    _await(lambda: all(" run; vtysh " in engine.said() for engine in cables.engines), CONVERGE_S,
           lambda: "the agents said:\n" + "".join(engine.said() for engine in cables.engines))
    _await(lambda: all(" connected since " in router.command("show routing engine") for router in routers),
           CONVERGE_S, "FPM connections")
    steps.done("FRRouting in a namespace each")

    count, more_s = options.prefixes, options.prefixes / SLOWEST
    steps.step("BIRD announces %d prefixes to both" % count)
    begun = time.monotonic()
    cables.bird.popen(["bird", "-f", "-c", _write(os.path.join(work, "bird.conf"), bird_conf(count)),
                       "-s", os.path.join(work, "bird.ctl"), "-P", os.path.join(work, "bird.pid")],
                      stdout=open(os.path.join(work, "bird.log"), "wb"), stderr=-2)
    _await(lambda: all(prefixes(router) >= count for router in routers), CONVERGE_S + more_s,
           lambda: "r1 and r2 have %s prefixes" % " and ".join(str(prefixes(router)) for router in routers))
    converged = time.monotonic() - begun
    steps.done("in both tables after %.1f s" % converged)

    steps.step("traffic from host to host, both ways")
    traffic = Traffic(stack, cables.left, cables.right)
    _run_until_steady(traffic, "from host to host")
    before, _ = cables.left.traceroute(FAR, most=6)
    for way in traffic.ways:
        way.forget()
    traffic.run(2)
    steps.done("by %s" % " ".join(before))

    steps.step("pulling out the cable of r1 and BIRD")
    _cut(cables, work)
    _run_until_steady(traffic, "by r2", RECOVER_S + more_s, cables.engines)
    after, _ = cables.left.traceroute(FAR, most=6)
    steps.done("on by %s" % " ".join(after))
    _report(traffic, (count, converged), before, after, routers)


def _run_until_steady(traffic, what, within_s=RECOVER_S, engines=()):
    begun = time.monotonic()
    if not traffic.run(within_s, lambda: traffic.flows(begun)):
        for engine in engines:
            if engine.has_ended():
                raise Failure("no steady traffic %s: the agent of a routing engine ended, and said:\n%s"
                              % (what, engine.said()))
        raise Failure("no steady traffic %s within %d s; lost so far: %s packets"
                      % (what, within_s, " and ".join(str(way.lost()) for way in traffic.ways)))


def _report(traffic, converged, before, after, routers):
    wrong = "" if R1_R2[1] in after and R1_R2[1] not in before else "the traffic did not change over to r2"
    print()
    print("  %d prefixes were in both routers %.1f s after BIRD's start." % converged)
    for way, text in zip(traffic.ways, ("left to right", "right to left")):
        print("  %s: %d packets sent, %d lost, the longest time without one: %.2f s."
              % (text.capitalize(), len(way.sent), way.lost(), way.outage_s()))
    for router in routers:
        counters = router.counters()
        print("  %s forwarded %d packets." % (router.command("show running-config").split()[1],
                                              counters["forwarded"]))
    print()
    if wrong:
        raise Failure(wrong)
