"""A router with a million routes that change while it forwards: the console's `test churn`.

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
from table import INTERFACES, Full, hop
from web import MANAGEMENT, interrupted_run, management, others, scraper_host
from launcher.guest import Guest

RATE, MOST = 100000, 10000000
SECONDS = 2
TURNS = 3  # of each rate, in a run
NULL_ROUTES = 16384  # all the /30s of the network that null ports send to
CHANGES = re.compile(r"(\d+) changes in [\d.]+ s, (\d+) a second: .*\s+(\d+) refused, longest slice "
                     r"(\d+) us\s+\d+ prefixes restored: the table of \d+ is as before")


@contextlib.contextmanager
def changing(router, rate):
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
        text = "%s: %.0f changes a second (%.0f asked), %d refused, longest slice %d us; " % (
            kind, statistics.median(got["per_second"] for got in turns), rate,
            sum(got["refused"] for got in turns), max(got["longest_us"] for got in turns))
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


def virtio(results, work, accel, huge, runs, table):
    with contextlib.ExitStack() as stack:
        generator = stack.enter_context(Generator(work, huge, table.load))
        router = stack.enter_context(router_under_load(
            work, accel, generator, table.configuration(), memory=table.memory,
            append=["test=1"]))
        generator.run(WARM_UP_S)

        def turn(rate):
            before, drops = data_core(router), drops_of(router)
            with changing(router, rate) as got:
                load = interrupted_run(generator, 0, others(work + "/pid", generator.partners))
            after = data_core(router)
            if drops_of(router) != drops:
                raise BenchError("dropped while routes changed: %s" % drops_of(router))
            packets = after["rx_pkts"] - before["rx_pkts"]
            return dict(got, cycles=(after["busy_cycles"] - before["busy_cycles"]) / packets,
                        mpps=load.mpps(), packets=load.taken,
                        lost=load.taken - load.received - load.late)

        add(results, "churn.virtio.64B." + table.name, accel, take_turns(runs, (0, RATE), turn))


def null_configuration(table):
    """The table, and routes for the packets of null ports; management is on eth0."""
    text = table.configuration().replace(
        INTERFACES, INTERFACES.replace("eth1", "eth2").replace("eth0", "eth1"))
    return text + management(0) + "".join(
        "ip route 198.19.%d.%d/30 %s\n" % (n >> 6, (n & 63) << 2, hop(1 + n % 64))
        for n in range(NULL_ROUTES))


def transit_drops(router):
    """The drop counters without those of the management's own connections."""
    return {name: n for name, n in drops_of(router).items() if not name.startswith("drop_tcp_")}


def busy(host):
    """Cycles and packets of the data core, from /metrics: the churn occupies the console."""
    said = host.run(["curl", "-sSf", "--max-time", "10", "http://%s/metrics" % MANAGEMENT],
                    check=True).stdout
    return [int(re.search(r"^hayate_core_%s_total\{core=\"1\"\} (\d+)" % name, said, re.M).group(1))
            for name in ("busy_cycles", "receive_packets")]


def null(results, work, accel, runs, table):
    config, pidfile, qmp_path = (os.path.join(work, "null." + end) for end in ("conf", "pid", "qmp"))
    with open(config, "w", encoding="ascii") as file:
        file.write(null_configuration(table))
    with contextlib.ExitStack() as stack:
        host = scraper_host(stack)
        router = stack.enter_context(Guest(
            ["router", "--config", config, "--accel", accel, "--memory", table.memory, "--pidfile",
             pidfile, "--qmp", qmp_path, "--append", "null=2", "--append", "test=1", "--port",
             host.port], log=os.path.join(work, "null.log")))
        router.wait_ready(120)
        router.wait_prompt()
        core = pin_guest(pidfile, qmp_path)
        router.wait_links()
        drops = transit_drops(router)

        def turn(rate):
            with changing(router, rate) as got:
                before, began = busy(host), time.monotonic()
                with realtime(core, others(pidfile, core)):
                    time.sleep(SLICE_S)
                after, took = busy(host), time.monotonic() - began
            packets = after[1] - before[1]
            return dict(got, cycles=(after[0] - before[0]) / packets, mpps=packets / took / 1e6)

        add(results, "churn.null.64B." + table.name, accel,
            take_turns(runs, (0, RATE, MOST), turn))
        if transit_drops(router) != drops:
            raise BenchError("null ports: not all was forwarded: %s" % transit_drops(router))


def churn(results, work, accel, huge, runs):
    build_tools()
    work = os.path.join(work, "churn")
    os.mkdir(work)
    table = Full(work)
    virtio(results, work, accel, huge, runs, table)
    null(results, work, accel, runs, table)
