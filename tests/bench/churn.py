"""A router with a million routes that change while it forwards: the console's `test churn`, and the
routing engine's changes (engine_churn.py), which are another Source.

Over vhost-user, 100,000 changes a second: the control core has a higher priority than the generator
on the same CPU, so the router forwards less because the generator offers less; the cycles of a
packet are the router's own. Between null ports, control core and data core have a CPU each; there,
changes at the control core's maximum rate are measured as well.
"""
import contextlib
import os
import re
import statistics
import time

from load import (SLICE_S, WARM_UP_S, BenchError, Generator, build_tools, pin_guest, progress,
                  realtime)
from router import data_core, drops_of, router_under_load
from table import HOPS, INTERFACES, Full, hop
from web import MANAGEMENT, interrupted_run, management, others, scraper_host
from launcher.guest import Guest

RATE, MOST = 100000, 10000000
SECONDS = 2
TURNS = 3  # of each rate, in a run
NULL_ROUTES = 16384  # all the /30s of the network that null ports send to
CHANGES = re.compile(r"(\d+) changes in [\d.]+ s, (\d+) a second: .*\s+(\d+) refused, longest slice "
                     r"(\d+) us\s+\d+ prefixes restored: the table of \d+ is as before")


class Source:
    """Where changes come from: here, the console. The configuration has the routes."""

    name, rates, most = "churn", (RATE,), (MOST,)  # rates over vhost-user; and more between null ports

    def __init__(self, table):
        self.table = table
        self.memory = table.memory

    def ports(self):
        """Words of `--port` for more ports of the router, behind those that forward."""
        return []

    def configuration(self, text, port):
        """The router's, from that of its interfaces and neighbours. port: the number of the first of
        ports()."""
        return text

    def routes(self, number):
        """Lines of configuration with the table, and as many routes of null ports."""
        return self.table.routes_text() + "".join("ip route %s %s\n" % pair for pair in null_routes(number))

    @contextlib.contextmanager
    def connected(self, router, nulls):
        """The routes are in the table when the block begins. nulls: of them, how many for null ports."""
        yield

    @contextlib.contextmanager
    def changing(self, router, rate):
        """Changes routes meanwhile, unless rate is 0; the yielded dict holds the result at the end."""
        got = {}
        if rate:
            router.skip()
            router.send("test churn %d %d" % (rate, SECONDS))
            router.expect(r"^\d+ prefixes change\r?$", 60, "the first change")
        yield got
        if rate:
            found = router.expect(CHANGES, 120, "the table as before")
            router.wait_prompt()
            got.update(zip(("changes", "per_second", "refused", "longest_us"),
                           map(int, found.groups())))


def null_routes(number):
    """(prefix, next hop) for the packets of null ports."""
    return [("198.19.%d.%d/30" % (n >> 6, (n & 63) << 2), hop(1 + n % HOPS)) for n in range(number)]


def add(results, name, accel, measured):
    """measured: {rate: [turn]}"""
    without = measured[0]
    for rate, turns in measured.items():
        if not rate:
            continue
        kind = "%s.%s" % (name, "most" if rate == MOST else "%dk" % (rate // 1000))
        peer = "the same while no route changes"
        results.add(kind + ".changes_per_second", [got["per_second"] for got in turns],
                    "changes/s", "higher", accel)
        results.add(kind + ".busy_cycles_per_packet", [got["cycles"] for got in turns],
                    "TSC cycles", "lower", accel, peer, [got["cycles"] for got in without])
        ratios = [b["cycles"] / a["cycles"] for a, b in zip(without, turns)]
        results.add(kind + ".cycles_ratio", ratios, "of those without", "lower", accel)
        results.add(kind + ".mpps", [got["mpps"] for got in turns], "Mpps", "higher", accel, peer,
                    [got["mpps"] for got in without])
        text = "%s: %.0f changes a second (%.0f asked), %d refused; " % (
            kind, statistics.median(got["per_second"] for got in turns), rate,
            sum(got["refused"] for got in turns))
        if "longest_us" in turns[0]:
            text += "longest slice %d us; " % max(got["longest_us"] for got in turns)
        text += "%.1f cycles a packet and %.2f Mpps, without %.1f and %.2f, ratio %.3f" % (
            *(statistics.median(got[figure] for got in some) for some in (turns, without)
              for figure in ("cycles", "mpps")), statistics.median(ratios))
        if "lost" in turns[0]:
            text += "; lost %d of %d, without %d of %d" % tuple(
                sum(got[figure] for got in some) for some in (turns, without)
                for figure in ("lost", "packets"))
        progress(text)
        results.note(text)


def take_turns(runs, rates, turn):
    measured = {rate: [] for rate in rates}
    for _ in range(runs * TURNS):
        for rate, turns in measured.items():
            turns.append(turn(rate))
    return measured


def virtio(results, work, accel, huge, runs, source):
    table = source.table
    with contextlib.ExitStack() as stack:
        generator = stack.enter_context(Generator(work, huge, table.load))
        router = stack.enter_context(router_under_load(
            work, accel, generator, source.configuration(table.interfaces(), 2) + source.routes(0),
            more_ports=source.ports(), memory=source.memory, append=["test=1"]))
        stack.enter_context(source.connected(router, 0))
        generator.run(WARM_UP_S)

        def turn(rate):
            before, drops = data_core(router), transit_drops(router)
            with source.changing(router, rate) as got:
                load = interrupted_run(generator, 0, others(work + "/pid", generator.partners))
            after = data_core(router)
            if transit_drops(router) != drops:
                raise BenchError("dropped while routes changed: %s" % transit_drops(router))
            packets = after["rx_pkts"] - before["rx_pkts"]
            return dict(got, cycles=(after["busy_cycles"] - before["busy_cycles"]) / packets,
                        mpps=load.mpps(), packets=load.taken,
                        lost=load.taken - load.received - load.late)

        add(results, source.name + ".virtio.64B." + table.name, accel,
            take_turns(runs, (0, *source.rates), turn))


def null_configuration(source):
    """Management is on eth0, the source's ports follow, the null ports are the last ones."""
    ports = len(source.ports())
    text = source.table.interfaces().replace(
        INTERFACES, INTERFACES.replace("eth1", "eth%d" % (2 + ports)).replace("eth0", "eth%d" % (1 + ports)))
    return source.configuration(text, 1) + management(0) + source.routes(NULL_ROUTES)


def transit_drops(router):
    """The drop counters without those of the management's own connections."""
    return {name: n for name, n in drops_of(router).items() if not name.startswith("drop_tcp_")}


def busy(host):
    """Cycles and packets of the data core, from /metrics: the churn occupies the console."""
    said = host.run(["curl", "-sSf", "--max-time", "10", "http://%s/metrics" % MANAGEMENT],
                    check=True).stdout
    return [int(re.search(r"^hayate_core_%s_total\{core=\"1\"\} (\d+)" % name, said, re.M).group(1))
            for name in ("busy_cycles", "receive_packets")]


def null(results, work, accel, runs, source):
    config, pidfile, qmp_path = (os.path.join(work, "null." + end) for end in ("conf", "pid", "qmp"))
    with open(config, "w", encoding="ascii") as file:
        file.write(null_configuration(source))
    with contextlib.ExitStack() as stack:
        host = scraper_host(stack)
        ports = [word for port in [host.port, *source.ports()] for word in ("--port", port)]
        router = stack.enter_context(Guest(
            ["router", "--config", config, "--accel", accel, "--memory", source.memory, "--pidfile",
             pidfile, "--qmp", qmp_path, "--append", "null=2", "--append", "test=1", *ports],
            log=os.path.join(work, "null.log")))
        router.wait_ready(120)
        router.wait_prompt()
        core = pin_guest(pidfile, qmp_path)
        router.wait_links()
        stack.enter_context(source.connected(router, NULL_ROUTES))
        drops = transit_drops(router)

        def turn(rate):
            with source.changing(router, rate) as got:
                before, began = busy(host), time.monotonic()
                with realtime(core, others(pidfile, core)):
                    time.sleep(SLICE_S)
                after, took = busy(host), time.monotonic() - began
            packets = after[1] - before[1]
            return dict(got, cycles=(after[0] - before[0]) / packets, mpps=packets / took / 1e6)

        add(results, source.name + ".null.64B." + source.table.name, accel,
            take_turns(runs, (0, *source.rates, *source.most), turn))
        if transit_drops(router) != drops:
            raise BenchError("null ports: not all was forwarded: %s" % transit_drops(router))


def churn(results, work, accel, huge, runs):
    build_tools()
    work = os.path.join(work, "churn")
    os.mkdir(work)
    source = Source(Full(work))
    virtio(results, work, accel, huge, runs, source)
    null(results, work, accel, runs, source)
