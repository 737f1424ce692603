"""xdp-filter's objects of Debian's xdp-tools, unmodified, filter packets of Linux hosts (docs/xdp.md). The
test does what the tool does: it writes entries into the object's maps, over HTTP or by the console, and reads
hits and statistics out of them.

An entry is flags in the lower bits, and a count of packets that it met above them, on each CPU. The map
of statistics has packets and bytes by action, on each CPU.
"""
import contextlib
import ipaddress
import os
import select
import socket
import struct

import pytest
from conftest import LEFT_HOST, LEFT_MAC, LEFT_ROUTER, RIGHT_HOST, RIGHT_ROUTER, WEB, eventually, pings
from family import LEFT6, LEFT_ROUTER6, RIGHT6, make_lab6  # noqa: F401
from test_xdp import XDP_TOOLS, curl, results

SRC, DST, TCP, UDP = 1, 2, 4, 8
COUNTER_SHIFT = 6
API = "http://%s/api/v1/maps/filter/" % RIGHT_ROUTER  # asked by the host that is not filtered
NEAR, FAR, OTHER = 7100, 7001, 7002  # the left host's port, and two of the right host's
ALL = {"ping", "ping6", "udp", "udp other", "tcp"}
ACTIONS = {0: "aborted", 1: "drop", 2: "pass", 3: "tx", 4: "redirect"}


def address(text):
    return ipaddress.ip_address(text).packed


def port(number):
    return struct.pack(">HH", number, 0)  # a number of 32 bits whose first two bytes are the port as sent


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


class Filter:
    """The object `filter` on eth0, and its maps."""

    def __init__(self, lab, program):
        self.lab, self.program = lab, program
        self.by_console = False

    def write(self, name, key, value=None):
        """Sets an entry on all CPUs, or deletes it: by console and over HTTP in turn. An IPv6 address is longer
        than the console's line."""
        self.by_console = not self.by_console
        if self.by_console and len(key) <= 8:
            rest = "delete key hex " + key.hex() if value is None else "set key hex %s value %d" % (key.hex(), value)
            assert self.lab.router.command("xdp map filter/%s %s" % (name, rest)).strip() == ""
        else:
            words = "?key=%s%s" % (key.hex(), "" if value is None else "&value=" + struct.pack("<Q", value).hex())
            status, said = curl(self.lab.right, "-X", "DELETE" if value is None else "PUT", API + name + words)
            assert status == 200, said

    def remove(self, name, key):
        """An array's entry cannot be deleted: it is set to 0, as the tool does."""
        self.write(name, key, 0 if name == "filter_ports" else None)

    def values(self, name, key):
        """The values of an entry, of each CPU."""
        entries = curl(self.lab.right, API + name)[1]["entries"]
        return [bytes.fromhex(e["value"]) for e in entries if e["key"] == key.hex()]

    def hits(self, name, key):
        return sum(struct.unpack("<Q", value)[0] >> COUNTER_SHIFT for value in self.values(name, key))

    def statistics(self):
        """{action: (packets, bytes)} of the program's own map."""
        found = {}
        for number, action in ACTIONS.items():
            records = [struct.unpack("<QQ", v) for v in self.values("xdp_stats_map", struct.pack("<I", number))]
            assert len(records) == 2, "a record of each CPU"
            found[action] = tuple(map(sum, zip(*records)))
        return found

    def settled(self):
        """The program's statistics, once they agree with the port's counts, which the program does not make."""
        found = {}

        def agree():
            found.update(self.statistics())
            return {a: packets for a, (packets, _) in found.items()} == results(self.lab)[self.program]
        eventually(agree, 30, "the statistics agree with `show xdp`")
        return found


def probe(lab, wait_s=1.0):
    """Which of ALL reach the right host."""
    through = set()
    with contextlib.ExitStack() as stack:
        wanted = {}
        for name, number in (("udp", FAR), ("udp other", OTHER)):
            wanted[name] = stack.enter_context(lab.right.socket())
            wanted[name].bind((RIGHT_HOST, number))
        wanted["tcp"] = stack.enter_context(lab.right.socket(kind=socket.SOCK_STREAM))
        wanted["tcp"].bind((RIGHT_HOST, FAR))
        wanted["tcp"].listen()
        sender = stack.enter_context(lab.left.socket())
        sender.bind(("", NEAR))
        client = stack.enter_context(lab.left.socket(kind=socket.SOCK_STREAM))
        client.setblocking(False)
        client.connect_ex((RIGHT_HOST, FAR))
        for number in (FAR, OTHER):
            sender.sendto(b"x" * 100, (RIGHT_HOST, number))
        pinging = {name: lab.left.popen(["ping", "-n", "-q", "-c", "1", "-W", str(wait_s), target],
                                        stdout=-3, stderr=-3)
                   for name, target in (("ping", RIGHT_HOST), ("ping6", RIGHT6))}
        through |= {name for name, child in pinging.items() if child.wait() == 0}
        through |= {name for name, end in wanted.items() if select.select([end], [], [], 0)[0]}
    return through


RULES = [  # xdp-filter's command, its map, key and flags, what it meets
    ("ip 192.0.2.2 -m src", "filter_ipv4", address(LEFT_HOST), SRC, ALL - {"ping6"}),
    ("ip 198.51.100.2 -m dst", "filter_ipv4", address(RIGHT_HOST), DST, ALL - {"ping6"}),
    ("ip 198.51.100.2 -m src", "filter_ipv4", address(RIGHT_HOST), SRC, set()),
    ("ip 2001:db8:1::2 -m src", "filter_ipv6", address(LEFT6), SRC, {"ping6"}),
    ("ip 2001:db8:2::2 -m src", "filter_ipv6", address(RIGHT6), SRC, set()),
    ("ip 2001:db8:2::2 -m src,dst", "filter_ipv6", address(RIGHT6), SRC | DST, {"ping6"}),
    ("port 7001 -m dst -p udp", "filter_ports", port(FAR), DST | UDP, {"udp"}),
    ("port 7001 -m dst -p tcp", "filter_ports", port(FAR), DST | TCP, {"tcp"}),
    ("port 7100 -m src -p udp", "filter_ports", port(NEAR), SRC | UDP, {"udp", "udp other"}),
    ("ether 52:54:00:68:79:00 -m dst", "filter_ethernet", mac(LEFT_MAC), DST, ALL),
    ("ether 52:54:00:68:79:00 -m src", "filter_ethernet", mac(LEFT_MAC), SRC, set()),
]


@pytest.fixture
def filtered(make_lab6):
    """filtered(name) boots a router with that object on eth0. Neighbours on the left are static, because a
    filter may drop ARP and neighbour discovery."""
    def make(name):
        path = os.path.join(XDP_TOOLS, name + ".o")
        if not os.path.exists(path):
            pytest.skip("this distribution has no package xdp-tools")
        lab = make_lab6(extra=WEB, cpus=2)
        left = lab.left.ip("-o", "link", "show", "eth0").split("link/ether ")[1].split()[0]
        for router in (LEFT_ROUTER, LEFT_ROUTER6):
            lab.left.ip("neigh", "replace", router, "lladdr", LEFT_MAC, "dev", "eth0", "nud", "permanent")
        for target in (RIGHT_HOST, RIGHT6):
            pings(lab.left, target)
        status, said = curl(lab.right, "-T", path, "http://%s/api/v1/programs/filter" % RIGHT_ROUTER)
        assert status == 201, said
        for line in ("configure", "arp %s %s" % (LEFT_HOST, left), "ipv6 neighbor %s eth0 %s" % (LEFT6, left),
                     "interface eth0", "xdp filter", "commit", "end"):
            lab.router.command(line)
        return Filter(lab, name)
    return make


@pytest.mark.parametrize("name", ["xdpfilt_alw_all", "xdpfilt_dny_all"])
def test_rules(filtered, name):
    """`alw` passes what no rule meets, `dny` drops it."""
    passes = name == "xdpfilt_alw_all"
    f = filtered(name)
    eventually(lambda: probe(f.lab) == (ALL if passes else set()), 30, "without rules")
    for command, table, key, flags, meets in RULES:
        f.write(table, key, flags)
        wanted = ALL - meets if passes else meets
        eventually(lambda: probe(f.lab) == wanted, 30, "%s: %s get through" % (command, wanted))
        assert bool(f.hits(table, key)) == bool(meets), command
        f.remove(table, key)
    eventually(lambda: probe(f.lab) == (ALL if passes else set()), 30, "without rules again")
    f.settled()
    f.lab.router.balanced()


def test_statistics(filtered):
    """A rule counts each packet that it meets, once; the statistics have its bytes."""
    f = filtered("xdpfilt_alw_all")
    f.write("filter_ports", port(FAR), DST | UDP)
    before = f.settled()
    with f.lab.left.socket() as sender:
        for n in range(100):
            sender.sendto(b"x" * (n + 18), (RIGHT_HOST, FAR))
    eventually(lambda: f.hits("filter_ports", port(FAR)) == 100, 30, "100 hits")
    after = f.settled()
    assert after["drop"][0] - before["drop"][0] == 100
    assert after["drop"][1] - before["drop"][1] == sum(14 + 20 + 8 + n + 18 for n in range(100))
    assert after["aborted"] == after["tx"] == after["redirect"] == (0, 0)
    f.lab.router.balanced()
