"""What other frames, ports and features cost a router: each beside the plain router, in turns.

The plain router forwards frames of 64 bytes over vhost-user from one port to another, by 16,384 routes and one next
hop, on one data core. Every other router differs from it in one thing:

  oneport    the frames leave by the port by which they came
  hops       the routes have 1,024 next hops
  ecmp       each route has 4 next hops, so the router hashes each frame's flow
  vlan       frames come and leave with a VLAN tag; the shortest have 64 bytes with it
  filter     a filter of 1,000 rules for received packets, of which the last matches them
  urpf, urpf-any
             the source address is checked: routed by the port, or routed at all
  512B, 1518B, 9018B, imix
             longer frames (with checksum), or 7 of 64, 4 of 594 and 1 of 1518 bytes. Beside l3fwd but for 9018 bytes.
             The generator writes the first 128 bytes of a frame, because no router reads more
  ports8, ports16
             8 and 16 ports without a device (drivers/null) instead of 2: what polling more rings costs. All make
             frames, so the turns' vectors are full

An XDP program's price is in xdp.py, that of a capture in capture.py.
"""
import contextlib
import ipaddress
import os
import random
import statistics

from contender import UNITS, Contender
from load import SLICE_S, BenchError, near_only, pin_guest, progress, say
from peers import NEXT_HOP_MAC, PEERS, dpdk_version
from router import cycles_in_a_slice
from table import INTERFACES, Consecutive, configuration, hop
from launcher.guest import Guest

ROUTES = 16384
HOPS = 1024
MEMBERS = 4
RULES = 1000
PLAIN = "plain"


class Plain(Consecutive):
    """The plain router's table and load."""

    peer = None

    def __init__(self, name=PLAIN, **different):
        super().__init__(ROUTES)
        self.name = name
        vars(self).update(different)

    def via(self, number):
        """The next hops of route `number`."""
        return [hop(1)]

    def interfaces(self):
        return INTERFACES

    def neighbours(self):
        known = {to for number in range(self.routes) for to in self.via(number)}
        return "".join("arp %s %s\n" % (to, NEXT_HOP_MAC) for to in sorted(known))

    def configuration(self):
        return self.interfaces() + self.neighbours() + "".join(
            "ip route %s %s\n" % (prefix, to)
            for number, prefix in enumerate(self.prefixes()) for to in self.via(number))


class OnePort(Plain):
    def via(self, number):
        return ["192.0.2.254"]


class Hops(Plain):
    first = (198 << 24) + (18 << 16)

    def via(self, number):
        return [str(ipaddress.ip_address(self.first + 2 + number % HOPS))]

    def interfaces(self):
        return INTERFACES + " ip address 198.18.0.1/16 secondary\n"

    def neighbours(self):
        return ""

    def prepare(self, generator):
        if generator.ask("speak 198.18.0.2 %d %s 198.18.0.1" % (HOPS, NEXT_HOP_MAC)) != [str(HOPS)]:
            raise BenchError("not all next hops spoke")


class Members(Plain):
    def via(self, number):
        return [hop(1 + member) for member in range(MEMBERS)]


class Tagged(Plain):
    def interfaces(self):
        return INTERFACES.replace("eth0", "eth0.10").replace("eth1", "eth1.20")


class Jumbo(Plain):
    def interfaces(self):
        return INTERFACES.replace(" ip address", " mtu 9000\n ip address")


class OnEth0(Plain):
    """With a statement more in the block of eth0."""

    def interfaces(self):
        return INTERFACES.replace("interface eth0\n", "interface eth0\n %s\n" % self.statement)


class Filtered(OnEth0):
    statement = "ip access-group LONG in"

    def configuration(self):
        draw = random.Random(1)
        rules = [" deny %s %d.%d.0.0/16 10.%d.0.0/%d eq %d\n" % (
            draw.choice(("tcp", "udp")), draw.randrange(20, 120), draw.randrange(256), draw.randrange(64),
            draw.randrange(16, 25), draw.randrange(1024)) for _ in range(RULES - 1)]
        return super().configuration() + "ip access-list LONG\n%s permit ip any any\n" % "".join(rules)


OTHERS = (
    OnePort("oneport", back=0), Hops("hops"), Members("ecmp"), Tagged("vlan", generator="vhost_gen_tagged"),
    Filtered("filter"), OnEth0("urpf", statement="ip verify unicast source reachable-via rx allow-default"),
    OnEth0("urpf-any", statement="ip verify unicast source reachable-via any allow-default"),
    Plain("512B", generator="vhost_gen_512", peer="l3fwd"),
    Plain("1518B", generator="vhost_gen_1518", peer="l3fwd"),
    Jumbo("9018B", generator="vhost_gen_9018"),
    Plain("imix", generator="vhost_gen_imix", peer="l3fwd"),
)


def one(results, work, accel, huge, runs, seconds, other):
    """Measures the plain router, the other, and the other's peer, in turns."""
    plain = Plain()
    tables = {PLAIN: ("router", plain), other.name: ("router", other)}
    if other.peer:
        tables["peer"] = (other.peer, other)
    measured = {name: [] for name in tables}
    for number in range(runs):
        turns = max(1, round(seconds / SLICE_S))
        with contextlib.ExitStack() as stack:
            contenders = {name: Contender(stack, os.path.join(work, other.name, name), huge, accel, what, table)
                          for name, (what, table) in tables.items()}
            for _ in range(turns):
                for name, contender in contenders.items():
                    measured[name].append(contender.turn())
        progress("%s run %d of %d:" % (other.name, number + 1, runs))
        for name in measured:
            progress("    " + say(name, measured[name][-turns:]))
    results.add("price.%s.cycles" % other.name,
                [got["cycles_per_packet"] - base["cycles_per_packet"]
                 for base, got in zip(measured[PLAIN], measured[other.name])], "TSC cycles more", "lower", accel)
    measured = near_only(results, "price." + other.name, measured)
    beside, values = "the plain router", measured[PLAIN]
    if other.peer:
        beside, values = "%s %s" % (dpdk_version(), PEERS[other.peer][1]), measured["peer"]
    for figure in ("mpps", "cycles_per_packet"):
        results.add("price.%s.%s" % (other.name, figure), [got[figure] for got in measured[other.name]],
                    *UNITS[figure], accel, beside, [got[figure] for got in values])


def many_ports(results, work, accel, runs):
    """2, 8 and 16 ports without a device. Only one guest runs at a time: its data core never sleeps."""
    cycles = {ports: [] for ports in (2, 8, 16)}
    for _ in range(runs):
        for ports, values in cycles.items():
            config, pidfile, qmp_path = (os.path.join(work, "ports." + end) for end in ("conf", "pid", "qmp"))
            with open(config, "w", encoding="ascii") as file:
                file.write(configuration(["198.19.0.0/16"])
                           + "".join("interface eth%d\n ip address 203.0.113.%d/28\n" % (port, 16 * port - 31)
                                     for port in range(2, ports)))
            with Guest(["router", "--config", config, "--accel", accel, "--memory", "512M", "--pidfile", pidfile,
                        "--qmp", qmp_path, "--append", "null=%d" % ports]) as router:
                router.wait_ready(120)
                router.wait_prompt()
                core = pin_guest(pidfile, qmp_path)
                values += [cycles_in_a_slice(router, core) for _ in range(3)]
        progress("ports: " + ", ".join("%d: %.1f cycles" % (ports, statistics.median(values))
                                       for ports, values in cycles.items()))
    for ports in (8, 16):
        results.add("price.ports%d.busy_cycles_per_packet" % ports, cycles[ports], *UNITS["busy_cycles_per_packet"],
                    accel, "2 ports", cycles[2])


def price(results, work, accel, huge, runs, seconds, only):
    unknown = set(only) - {other.name for other in OTHERS} - {"ports"}
    if unknown:
        raise BenchError("no price of " + ", ".join(sorted(unknown)))
    for other in OTHERS:
        if not only or other.name in only:
            one(results, work, accel, huge, runs, seconds, other)
    if not only or "ports" in only:
        many_ports(results, work, accel, runs)
