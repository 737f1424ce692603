"""The tables of routes for a router under load: the routes for it and its peers, and the
destinations of the load.

Consecutive: N consecutive /24, one next hop; the load goes to 16,384 addresses in them. Full: a
million prefixes, generated with the global table's lengths and clusters, or 160,000 of IPv6, and 64
next hops; the load goes to four million addresses, each in a random prefix (route_table.c). With
PREFIXES=FILE that file's routes instead.
"""
import os
import subprocess

from load import FIRST_PREFIX, TOOLS, BenchError, make
from peers import NEXT_HOP_MAC

FULL_ROUTES = {4: 1000000, 6: 160000}  # IPv6's when IPv4's had 900,000
FULL_NAMES = {4: "1Mroutes", 6: "160kroutes"}
FULL_DESTINATIONS = 1 << 22
HOPS = 64

INTERFACES = ("hostname bench\ninterface eth0\n ip address 192.0.2.1/24\n"
              "interface eth1\n ip address 198.51.100.1/24\n")
INTERFACES6 = ("hostname bench\ninterface eth0\n ipv6 address 2001:db8:1::1/64\n"
               "interface eth1\n ipv6 address 2001:db8:2::1/64\n")


def hop(number):
    """The address of next hop 1 to HOPS."""
    return "198.51.100.%d" % (1 + number)


def hop6(number):
    return "2001:db8:2::%x" % (1 + number)


class Table:
    """What all tables have in common."""

    back = 1  # the generator's port where the frames come back

    def prepare(self, generator):
        """Is called once both ends are up, before the first packet."""


class Consecutive(Table):
    memory = "512M"  # of a guest with this table
    family, frames, generator = 4, "64B", "vhost_gen"  # of the load

    def __init__(self, routes):
        self.routes = routes
        self.name = "1route" if routes == 1 else "%dkroutes" % (routes >> 10)
        self.load = [FIRST_PREFIX, str(routes)]  # vhost_gen's arguments
        self.wire = "dst=%s;prefixes=%d" % (FIRST_PREFIX, routes)  # the same for nicsim's generator

    def prefixes(self):
        for number in range(self.routes):
            yield "10.%d.%d.0/24" % (number >> 8, number & 255)

    def configuration(self):
        return configuration(self.prefixes())


class Full(Table):
    memory = "2G"

    def __init__(self, work, family=4):
        """Creates it in the folder `work`."""
        self.family = family
        self.frames = "64B" if family == 4 else "ip6.64B"
        self.generator = "vhost_gen" if family == 4 else "vhost_gen6_64"
        made = make("build/bench/route_table")
        if made.returncode == 0:
            made = subprocess.run(
                [os.path.join(TOOLS, "route_table"), str(family), str(FULL_ROUTES[family]),
                 str(FULL_DESTINATIONS), work],
                env=dict({"SEED": "1"}, **os.environ), capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise BenchError("no full table: " + made.stderr.strip()[-300:])
        self.path = os.path.join(work, "routes")
        self.name = "globalroutes" if "PREFIXES" in os.environ else FULL_NAMES[family]
        self.load = [os.path.join(work, "destinations")]
        self.wire = "destinations=" + self.load[0]
        self.routes = sum(1 for _ in self.lines())

    def lines(self):
        with open(self.path, encoding="ascii") as file:
            for line in file:
                yield line.split()

    def prefixes(self):
        return (prefix for prefix, _ in self.lines())

    def interfaces(self):
        """The configuration of interfaces and neighbours."""
        if self.family == 6:
            return INTERFACES6 + "".join(
                "ipv6 neighbor %s eth1 %s\n" % (hop6(1 + n), NEXT_HOP_MAC) for n in range(HOPS))
        return INTERFACES + "".join("arp %s %s\n" % (hop(1 + n), NEXT_HOP_MAC) for n in range(HOPS))

    def routes_text(self):
        """That of the routes."""
        line, to = ("ipv6 route %s %s\n", hop6) if self.family == 6 else ("ip route %s %s\n", hop)
        return "".join(line % (prefix, to(int(number))) for prefix, number in self.lines())

    def configuration(self):
        return self.interfaces() + self.routes_text()


SMALL = (Consecutive(1), Consecutive(16384))


def configuration(prefixes):
    """The configuration of a router whose routes to these have one next hop."""
    return (INTERFACES + "arp %s %s\n" % (hop(1), NEXT_HOP_MAC)
            + "".join("ip route %s %s\n" % (prefix, hop(1)) for prefix in prefixes))


def configuration6(routes):
    """The same of IPv6, for the destinations of vhost_gen.c."""
    return (INTERFACES6 + "ipv6 neighbor %s eth1 %s\n" % (hop6(1), NEXT_HOP_MAC)
            + "".join("ipv6 route 2a10:0:%x::/48 %s\n" % (n, hop6(1)) for n in range(routes)))
