"""A BGP table: BIRD announces it to the engine's bgpd, which hands it to zebra, which hands it to Hayate.
From the first established session until all routes are in Hayate's forwarding table and packets to sampled
addresses arrive; then Hayate's memory, and the time to have all again after Hayate has started anew.

Beside it: another bgpd and zebra, without FPM, learn the same table from the same BIRD, into Linux alone.

The table is that of table.py: made up, or with PREFIXES=FILE that file's. IPv4 and IPv6 have a session
each. The sessions do not run through Hayate, so they outlive its restarts.
"""
import contextlib
import os
import re
import socket
import statistics
import time

from load import BenchError, progress
from launcher import machine
from parties import (FAMILY, HOP, Cpu, Lab, Probe, daemons, nowhere, until, waits)
from table import Full
from zebra import FIRST, ROUTE_ADD, ROUTE_DELETE, Client, messages

AS, AS_BIRD = 64500, 64501
# of the links of BIRD to each engine: (the engine, BIRD), IPv4 and IPv6
LINKS = {"ours": (("172.31.0.1", "172.31.0.2"), ("fd31::1", "fd31::2")),
         "linux": (("172.31.1.1", "172.31.1.2"), ("fd31:1::1", "fd31:1::2"))}
SAMPLE = 16  # addresses of each family that have to be reached
QUIET_S = 5  # without any change, before a restart

BGPD = """\
route-map NOTHING deny 10
router bgp %d
 bgp router-id %s
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
%s address-family ipv4 unicast
  neighbor %s activate
  neighbor %s route-map NOTHING out
 exit-address-family
 address-family ipv6 unicast
  neighbor %s activate
  neighbor %s route-map NOTHING out
 exit-address-family
"""
NEIGHBOUR = """\
 neighbor %s remote-as %d
 neighbor %s ebgp-multihop 2
 neighbor %s passive
"""
BIRD = """\
router id 172.31.0.2;
protocol device { }
protocol static table4 {
	ipv4;
	include "table4.conf";
}
protocol static table6 {
	ipv6;
	include "table6.conf";
}
"""
SESSION = """\
protocol bgp %s%d {
	disabled;
	local %s as %d; neighbor %s as %d; multihop 2;
	connect delay time 1; connect retry time 1; error wait time 1, 2; startup hold time 240;
	ipv%d { import none; export where source = RTS_STATIC; next hop address %s; };
}
"""


def bgpd_conf(link):
    birds = [pair[1] for pair in link]
    return BGPD % (AS, link[0][0], "".join(NEIGHBOUR % (bird, AS_BIRD, bird, bird) for bird in birds),
                   *(bird for bird in birds for _ in range(2)))


def bird_conf():
    return BIRD + "".join(
        SESSION % (name, family, pair[1], AS_BIRD, pair[0], AS, family, HOP[family])
        for name, link in LINKS.items() for family, pair in zip((4, 6), link))


class Tables:
    """The prefixes of both families. number: of all."""

    def __init__(self, work):
        self.of = {}
        for family in (4, 6):
            folder = os.path.join(work, "table%d" % family)
            os.mkdir(folder)
            self.of[family] = Full(folder, family)
        self.number = sum(table.routes for table in self.of.values())
        self.name = self.of[4].name

    def write(self, folder):
        for family, table in self.of.items():
            with open(os.path.join(folder, "table%d.conf" % family), "w", encoding="ascii") as file:
                for prefix in table.prefixes():
                    file.write("route %s blackhole;\n" % prefix)

    def sample(self, family):
        """Addresses in random prefixes."""
        octets = 4 if family == 4 else 16
        with open(self.of[family].load[0], "rb") as file:
            data = file.read(SAMPLE * octets)
        return [socket.inet_ntop(FAMILY[family], data[at:at + octets]) for at in range(0, len(data), octets)]


def start_bird(frr, stack, tables, hosts):
    """BIRD, with all of the table, and no session yet. hosts: {name: the engine at the other end}"""
    peers = stack.enter_context(frr.Peers(frr.installed()))
    for index, (name, host) in enumerate(hosts.items()):
        (own4, bird4), (own6, bird6) = LINKS[name]
        frr.link(host, peers, "bgp" + name, 90 + index, (own4 + "/24", bird4 + "/24"),
                 ((own6 + "/64", "fe80::1/64"), (bird6 + "/64", "fe80::2/64")))  # bgpd needs the latter
    tables.write(peers.work)
    peers.start_bird(bird_conf())
    until(lambda: all(re.search(r"table%d +Static +\S+ +up" % family, peers.birdc("show protocols"))
                      for family in (4, 6)), 0.5, "BIRD's table")
    for table in ("master4", "master6"):
        until(lambda: re.search(r"^[1-9]\d* of", peers.birdc("show route count table " + table), re.M), 0.5, table)
    return peers


def switch(peers, word, name):
    """word: enable or disable"""
    for family in (4, 6):
        said = peers.birdc(word, "%s%d" % (name, family))
        if word + "d" not in said:
            raise BenchError("birdc: " + said.strip())


def ready(host):
    """Whether its bgpd takes both sessions."""
    return host.has_vty("bgpd") and host.ask("bgpd", "show bgp summary").count(" Active ") == 2


def start_sessions(peers, name):
    """Returns when the first of them is established: BIRD then begins to send its table."""
    switch(peers, "enable", name)
    until(lambda: re.search(r"^%s\d .*Established" % name, peers.birdc("show protocols"), re.M), 0.02, "BGP")


def cpu_of(host, peers, control=None):
    pids = {name: child.pid for name, child in host.running.items()}
    pids["BIRD"] = peers.children[-1].pid
    return Cpu(pids, control)


def learn(lab, peers, probes, number):
    """One way, into Hayate."""
    before = lab.waited()
    cpu = cpu_of(lab.engine, peers, lab.control)
    start_sessions(peers, "ours")
    began = time.monotonic()
    until(lambda: lab.stated() == number, 0.2, "all routes in Hayate")
    got = {"all": time.monotonic() - began}
    for probe in probes:
        until(probe.arrives, 0.02, "a route forwards")
    got.update(forwards=time.monotonic() - began, cpu=cpu.since(),
               waited={name: ms - before[name] for name, ms in lab.waited().items()})
    lab.check_refused()
    return got


def in_linux(host):
    """Routes in its kernel's tables, of both families; a count of all takes a tenth of a second."""
    with open("/proc/%d/net/fib_triestat" % host.holder.pid, encoding="ascii") as file:
        four = max(int(count) for count in re.findall(r"Prefixes:\s+(\d+)", file.read()))
    with open("/proc/%d/net/rt6_stats" % host.holder.pid, encoding="ascii") as file:
        six = int(file.read().split()[3], 16)  # entries (rt6_stats_seq_show)
    return four + six


def learn_linux(host, peers, number):
    before = in_linux(host)
    cpu = cpu_of(host, peers)
    start_sessions(peers, "linux")
    began = time.monotonic()
    until(lambda: in_linux(host) - before >= number, 1, "all routes in Linux")
    return {"all": time.monotonic() - began, "cpu": cpu.since()}


def memory(router):
    """What `show memory` has of tables of routes, which take it at boot: text."""
    return ", ".join("%s %d MiB (%s)" % (owner.strip(), int(kib) >> 10, what.strip()) for owner, kib, what in re.findall(
        r"^([a-z ]+?) +(\d+)  (.*(?:tables|routes).*)$", router.command("show memory"), re.M)
                     if "page tables" not in what)


def again(lab, probes, number, restart):
    """Seconds after the restart until Hayate is ready, has zebra's connection, and has all routes."""
    time.sleep(QUIET_S)
    lab.router.skip()
    cpu = Cpu({"zebra": lab.engine.running["zebra"].pid}, lab.control)
    began = time.monotonic()
    restart()
    lab.router.wait_ready(120)
    got = {"ready": time.monotonic() - began}
    lab.router.wait_prompt()
    with Client(lab.engine.work / "zserv.api") as client:  # one change: zebra notices by what it writes
        client.start(messages(ROUTE_ADD, 4, FIRST[4], 1)).join()
        until(lab.connected, 0.1, "zebra's connection")
        got["connected"] = time.monotonic() - began
        until(lambda: lab.stated() >= number + 1, 0.1, "all routes in Hayate again")
        got.update(all=time.monotonic() - began, cpu=cpu.since(), waited=lab.waited())
        for probe in probes:
            until(probe.arrives, 0.02, "a route forwards again")
        client.start(messages(ROUTE_DELETE, 4, FIRST[4], 1)).join()
        until(lambda: lab.stated() == number, 0.1, "one route less")
    lab.check_refused()
    return got


def explain(got):
    used = {name: sum(of.values()) for name, of in got["cpu"].items()}
    text = ", ".join("%s %.1f s" % item for item in used.items())
    if "waited" in got:
        text += "; of %.1f s with data to send, TCP waited %.2f s for Hayate's window" % (
            got["waited"]["busy"] / 1e3, got["waited"]["rwnd_limited"] / 1e3)
    return "%.1f s; CPU: %s" % (got["all"], text)


def bgp(results, work, accel, rounds):
    tables = Tables(work)
    frr = daemons()
    measured = {"ours": [], "linux": [], "reload": [], "system_reset": []}
    for _ in range(rounds):
        with contextlib.ExitStack() as stack:
            lab = Lab(stack, work, accel)
            linux = stack.enter_context(frr.FrrHost("linux", frr.installed()))
            nowhere(linux)
            peers = start_bird(frr, stack, tables, {"ours": lab.engine, "linux": linux})
            linux.start("zebra", "", "-s", "90000000")
            until((linux.work / "zserv.api").exists, 0.2, "zebra")
            lab.engine.start_zebra()
            until(lab.connected, 0.2, "zebra's connection")
            for name, host in (("ours", lab.engine), ("linux", linux)):
                host.start("bgpd", bgpd_conf(LINKS[name]))
                until(lambda: ready(host), 0.2, "bgpd")
            probes = [stack.enter_context(Probe(lab, family, address))
                      for family in (4, 6) for address in tables.sample(family)]
            measured["ours"].append(learn(lab, peers, probes, tables.number))
            kept = memory(lab.router)
            progress("BGP, %d routes: %s; load %.1f" % (tables.number, explain(measured["ours"][-1]),
                                                        os.getloadavg()[0]))
            said = waits(lab.engine)
            measured["linux"].append(learn_linux(linux, peers, tables.number))
            progress("BGP into Linux: %s; load %.1f" % (explain(measured["linux"][-1]), os.getloadavg()[0]))
            for word, restart in (("reload", lambda: lab.router.send("reload")),
                                  ("system_reset", lambda: machine.qmp(lab.qmp, "system_reset"))):
                measured[word].append(again(lab, probes, tables.number, restart))
                got = measured[word][-1]
                progress("after %s: ready after %.1f s, zebra's connection after %.1f s, all routes after %s; load "
                         "%.1f" % (word, got["ready"], got["connected"], explain(got), os.getloadavg()[0]))
    add(results, accel, tables, measured)
    results.note("zebra towards Hayate: buffer full %d times, at most %d octets in it, %d routes queued" % (
        said["Buffer full hits"], said["Output buffer peak size"], said["Data plane items queue peak"]))
    results.note("memory that tables and routes have with %d routes: %s" % (tables.number, kept))


def add(results, accel, tables, measured):
    name = "engine.bgp.%s" % tables.name
    ours, linux = measured["ours"], measured["linux"]
    results.add(name, [tables.number / got["forwards"] for got in ours], "routes/s", "higher", accel,
                "bgpd and zebra without FPM, into Linux", [tables.number / got["all"] for got in linux])
    results.add(name + ".window_limited", [got["waited"]["rwnd_limited"] / 10 / got["all"] for got in ours],
                "% of time", "lower", accel)
    for who, turns in (("into Hayate", ours), ("into Linux", linux)):
        middle = statistics.median_low(got["all"] for got in turns)
        results.note("%s, %d routes: %s" % (who, tables.number,
                                            explain(next(got for got in turns if got["all"] == middle))))
    for word in ("reload", "system_reset"):
        for what in ("ready", "connected", "all"):
            results.add("%s.%s.%s" % (name, word, what), [got[what] for got in measured[word]], "s", "lower",
                        accel)
