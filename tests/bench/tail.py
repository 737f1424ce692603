"""Latency at 10, 50 and 90 % of the load that each contender can take, up to the 99.99th percentile, beside
the noise of the host.

The load is an open loop: each packet is due at its time, and its latency counts from then (open_loop.h).
Contenders alternate. Each turn measures the capacity first, because the host moves its CPUs, and then the
three loads; a point that was behind its schedule is void. Percentiles are those of all turns together.

forward   64-byte frames over vhost-user: the router, l3fwd and testpmd (mode mac) on rings of their own,
          vhost_gen's `tail`
udp       echo of 16 bytes: the image, testpmd (5tswap), a Linux socket, XDP; tcp_load's `flow`
tcp       echo of 64 bytes on 64 connections: the image and epoll on Linux; tcp_load's `pace`
disturbed the router at 50 % of its load while the console prints, a scraper reads /metrics, clients of HTTPS
          shake hands, routes change, half as many packets again go to an address without a route, and the
          control program fails. Control core, QEMU, scraper and generator share a CPU: the generator has no
          priority then, else the others would not run. "nothing" is the same without a disturbance. The data
          core polls: a gap of the generator would let it fall asleep
handshakes  likewise the router with two CPUs and with one, at 10 % of its load, while a client of HTTPS shakes
          hands, one connection after another

Noise is what a spinning program of the highest priority sees of each CPU (spin_probe.c), as the wait of a
packet that arrives at a random time. The data core's CPU adds it to every contender. Gaps of the generator's
own CPU move its schedule; packets under way in one are left out and counted.
"""
import contextlib
import os
import subprocess
import threading
import time

from churn import Source
from load import (CPU_DATA, CPU_GENERATOR, NEAR_ENOUGH, NEAR_NS, REST_S, SLICE_S, TOOLS, WARM_UP_S,
                  BenchError, Generator, build_tools, hugepages, median_of, own_group, progress,
                  ran_ns, realtime, round_trip_ns)
from peers import PEERS, build_l3fwd, dpdk_version
from router import data_core, router_under_load
from services import (ECHO, GAP_NS, Flood, Stopped, awake, build, busy_cycles, mkdir, on_linux, on_testpmd, on_virtio)
from table import SMALL, Consecutive
from times import NAMES, Noise, Times, pairs, split
from web import HANDSHAKES, HTTP, management, scraper_host, scraping

SHARES = (10, 50, 90)
CAPACITY_S = 0.2
SHARED_S = 0.2  # of the generator's own time; with the time of the others still less than a second
ON_TIME = 0.97  # of the packets that were due: with less, the load was more than the capacity
TCP_CONNECTIONS = 64
CHURN_RATE = 50000
ODD = 128  # of 256
BUSY = 0.8  # with less at 90 %, the core was not the limit
GOAL = 3  # p99.9 within so many medians


# --- contenders: capacity() in packets a second, and at(packets a second) ---

class Forwarder:
    """vhost_gen, with a router or a peer on its rings."""

    def __init__(self, generator, router=None):
        self.generator, self.router = generator, router

    def ask(self, mpps, seconds, odd=0, shared=False):
        """shared: the generator is one process among others on its CPU."""
        pid = self.generator.child.pid
        own_group(pid, "0" if shared else "-15")
        with realtime(([] if shared else [pid]) + self.generator.partners):
            words = self.generator.ask("tail %g %.6f %d" % (seconds, mpps, odd), seconds + 30)
        time.sleep(REST_S)
        head, cells, gaps = split(words)
        names = ("sent", "received", "marked", "returned", "bad", "left_out", "ns", "gone_ns", "max", "gap_max")
        got = dict(zip(names, map(float, head)), cells=pairs(cells), gaps=pairs(gaps))
        if got["bad"]:
            raise BenchError("%d stamped packets came back damaged" % got["bad"])
        if not got["received"] or not got["ns"]:
            raise BenchError("nothing was forwarded")
        return got

    def capacity(self):
        got = self.ask(0, CAPACITY_S)
        return got["received"] * 1e9 / got["ns"]

    def at(self, pps, odd=0):
        before = data_core(self.router) if self.router else None
        got = self.ask(pps / 1e6, SLICE_S, odd)
        if before:
            got["busy"] = ((data_core(self.router)["busy_cycles"] - before["busy_cycles"])
                           / (self.generator.tsc_hz * SLICE_S))
        return got


class Flow:
    """tcp_load's datagrams (`flow`), or requests (`pace`)."""

    def __init__(self, load, wire, tcp=False, guest=None):
        self.load, self.gap, self.tcp, self.guest = load, GAP_NS[wire], tcp, guest

    def capacity(self):
        if self.tcp:
            self.load.open("rr", TCP_CONNECTIONS, 64)
            got = self.load.run(CAPACITY_S)
            return got["requests"] * 1e9 / got["ns"]
        got = self.at(0, CAPACITY_S)
        return got["returned"] * 1e9 / got["ns"]

    def at(self, pps, seconds=SLICE_S):
        load = self.load
        line = "pace %g %g %d" % (seconds, pps, self.gap) if self.tcp else \
            "flow %g %g %d 16 %d" % (seconds, pps, self.gap, ECHO)
        before = busy_cycles(self.guest) if self.guest else 0
        with realtime([load.child.pid] + load.partners, load.ahead):
            ran, began = ran_ns(load.partners[0]) if self.guest else 0, time.monotonic()
            words = load.ask(line, seconds + 30)
            took = time.monotonic() - began
            ran = ran_ns(load.partners[0]) - ran if self.guest else 0
        time.sleep(REST_S)
        head, cells, gaps = split(words)
        names = ("sent", "returned", "left_out", "ns", "gone_ns", "max", "gap_max")
        got = dict(zip(names, map(float, head)), cells=pairs(cells), gaps=pairs(gaps))
        got["marked"] = got["returned"] if self.tcp else got["sent"]  # TCP loses none
        if not got["returned"]:
            raise BenchError("no answer came")
        if self.guest:
            got["busy"] = (busy_cycles(self.guest) - before) / (load.tsc_hz * seconds)
            got["cpu_share"] = ran / 1e9 / took  # of the host's CPU, by the data core
        return got


# --- noise ---

def spin(noise):
    """Measures both CPUs at once."""
    children = [(cpu, subprocess.Popen([os.path.join(TOOLS, "spin_probe"), str(cpu), "%g" % SLICE_S],
                                       stdout=subprocess.PIPE, text=True)) for cpu in noise]
    for cpu, child in children:
        words = child.communicate(timeout=60)[0].split()
        if child.returncode != 0 or words[:1] != ["spin"]:
            raise BenchError("spin_probe does not run")
        head, gaps = split(words[1:])
        noise[cpu].add(float(head[0]), float(head[1]), pairs(gaps))
    time.sleep(REST_S)


def report_noise(results, noise):
    for cpu, seen in noise.items():
        figures = seen.figures()
        who = "generator" if cpu == CPU_GENERATOR else "data"
        for name, value in figures.items():
            results.add("host.noise.%s.%s" % (who, name), [value], "us", "lower", "host")
        text = "noise of the %s CPU, the wait of an arrival: %s" % (who, said(figures))
        progress(text)
        results.note(text)


def said(figures):
    return ", ".join("%s %s" % (NAMES[name], "lost" if value is None else "%.1f us" % value)
                     for name, value in figures.items())


# --- points ---

class Point:
    """One contender at one load."""

    def __init__(self):
        self.turns, self.void = [], 0

    def add(self, got, pps):
        """Adds a turn. The CPUs' distance is measured after it."""
        if got["sent"] * 1e9 / got["ns"] < ON_TIME * pps:
            self.void += 1
        else:
            self.turns.append(dict(got, pps=pps, trip=round_trip_ns()))

    def judged(self):
        """Those turns in which the CPUs were near each other, if there are enough; else all."""
        near = [got for got in self.turns if got["trip"] <= NEAR_NS]
        return near if len(near) >= NEAR_ENOUGH else self.turns

    def text(self, times, figures):
        turns = self.judged()
        text = "%.3f M/s: %s; %d of %d lost, %d left out, %.2f %% of the time off its CPU" % (
            median_of(turns, "pps") / 1e6, said(figures), times.lost, times.marked, times.left_out,
            100 * times.gone_ns / (times.ns + times.gone_ns))
        if "busy" in turns[0]:
            text += ", core busy %.0f %%" % (100 * median_of(turns, "busy"))
        text += "; %d of %d turns, core to core and back %.0f ns" % (
            len(turns), len(self.turns), median_of(turns, "trip"))
        if self.void:
            text += "; %d turns void: behind their schedule" % self.void
        return text


def measure(contenders, runs, noise):
    """Returns {(contender, share): Point}."""
    points = {(who, share): Point() for who in contenders for share in SHARES}
    for _ in range(runs):
        for who, one in contenders.items():
            capacity = one.capacity()
            for share in SHARES:
                pps = capacity * share / 100
                points[who, share].add(one.at(pps), pps)
        spin(noise)
    return points


def name_of(kind, who, what):
    """Ours are tail.KIND.virtio...."""
    return ("tail.%s.virtio.%s" if who == "virtio" else "peer." + who + ".tail.%s.%s") % (kind, what)


def add(results, accel, kind, who, what, point, noise):
    """Adds a point's figures and its line."""
    name = name_of(kind, who, what)
    if not point.turns:
        results.note("%s: every turn was behind its schedule" % name)
        return
    times = Times()
    for got in point.judged():
        times.add(got)
    figures = times.figures()
    for quantile, value in figures.items():
        results.add("%s.%s" % (name, quantile), [value], "us", "lower", accel if who == "virtio" else "host")
    median = times.quantile(0.5)
    results.add(name + ".over_goal", [100 * times.over(GOAL * median)], "% of packets", "lower",
                accel if who == "virtio" else "host", "the noise of the data core's CPU alone",
                [100 * noise[CPU_DATA].over((GOAL - 1) * median)])
    text = "%s: %s; %.3f %% took over %d medians, by the data CPU's noise alone %.3f %%" % (
        name, point.text(times, figures), 100 * times.over(GOAL * median), GOAL,
        100 * noise[CPU_DATA].over((GOAL - 1) * median))
    if who == "virtio" and what == "90" and median_of(point.judged(), "busy") < BUSY:
        text += "; the GENERATOR was the limit, so this is 90 % of its load"
    progress(text)
    results.note(text)


def report(results, accel, kind, points, noise):
    for (who, share), point in points.items():
        add(results, accel, kind, who, "%d" % share, point, noise)


def forward(results, work, accel, huge, runs, noise):
    table = SMALL[-1]
    missing = build_l3fwd()
    if missing:
        results.note(missing)
    with contextlib.ExitStack() as stack:
        contenders = {}
        for who in ["virtio", *(peer for peer in PEERS if not missing or peer != "l3fwd")]:
            folder = mkdir(work, who)
            generator = stack.enter_context(Generator(folder, huge, table.load, table.generator))
            if who == "virtio":
                router = stack.enter_context(router_under_load(folder, accel, generator, table.configuration()))
                contenders[who] = Forwarder(generator, router)
                continue
            stack.enter_context(PEERS[who][0](folder, huge, generator, table))
            stack.callback(awake, generator)
            contenders[who] = Stopped(Forwarder(generator), generator)
        report(results, accel, "forward", measure(contenders, runs, noise), noise)


def udp(results, work, accel, huge, runs, noise):
    no_xdp = build(["xdp_echo.o"])
    if no_xdp:
        results.note("XDP: " + no_xdp[0])
    with contextlib.ExitStack() as stack:
        guest, load = on_virtio(stack, mkdir(work, "virtio"), accel, huge)
        contenders = {"virtio": Flow(load, "vhost", guest=guest)}
        peer = on_testpmd(stack, mkdir(work, "testpmd"), huge)
        contenders["testpmd"] = Stopped(Flow(peer, "vhost"), peer)
        contenders["socket"] = Flow(on_linux(stack, mkdir(work, "socket"), huge, ["udp", "wait"]), "tap")
        if not no_xdp:
            contenders["xdp"] = Flow(on_linux(stack, mkdir(work, "xdp"), huge, None), "tap")
        report(results, accel, "udp", measure(contenders, runs, noise), noise)


def tcp(results, work, accel, huge, runs, noise):
    with contextlib.ExitStack() as stack:
        guest, load = on_virtio(stack, mkdir(work, "virtio"), accel, huge)
        contenders = {"virtio": Flow(load, "vhost", True, guest),
                      "epoll": Flow(on_linux(stack, mkdir(work, "epoll"), huge, ["tcp"]), "tap", True)}
        report(results, accel, "tcp", measure(contenders, runs, noise), noise)


# --- disturbances ---

class Disturbances:
    """Each is a context manager."""

    def __init__(self, router, host, table):
        self.router, self.host, self.source, self.counted = router, host, Source(table), {}

    def note(self, what, number):
        self.counted[what] = self.counted.get(what, 0) + number

    nothing = flood = contextlib.nullcontext

    @contextlib.contextmanager
    def console(self):
        flood = Flood(self.router, ("show ip route", "show counters all", "show interfaces"))
        flood.start()
        try:
            yield
        finally:
            self.note("commands", flood.end())

    @contextlib.contextmanager
    def scrapes(self):
        with scraping(self.host, HTTP) as (times, _):
            yield
        self.note("scrapes", len(times))

    @contextlib.contextmanager
    def handshakes(self):
        """One after another."""
        with scraping(self.host, HANDSHAKES, page="/healthz", rate=0) as (times, _):
            yield
        self.note("handshakes", len(times))

    @contextlib.contextmanager
    def churn(self):
        with self.source.changing(self.router, CHURN_RATE) as got:
            yield
        self.note("route changes", got["changes"])

    @contextlib.contextmanager
    def fault(self):
        """The control program fails within the slice, and another one takes over. (A failed data core resets
        its rings, for which vhost_gen would have to end its run.)"""
        router = self.router
        router.skip()
        timer = threading.Timer(SHARED_S / 4, router.send, ["test fault ud core 0"])
        timer.start()
        yield
        timer.join()
        took = router.expect(r"control program: goes on after (\d+) us", 60)
        self.note("failures of the control program", 1)
        self.note("us without it", int(took[1]))
        router.send("")
        router.wait_prompt()


KINDS = ("nothing", "console", "scrapes", "handshakes", "churn", "flood", "fault")


def disturbed(results, work, accel, huge, runs, noise):
    table = Consecutive(1024)
    with contextlib.ExitStack() as stack:
        host = scraper_host(stack)
        generator = stack.enter_context(Generator(work, huge, table.load))
        router = stack.enter_context(router_under_load(
            work, accel, generator, table.configuration() + management(2, True),
            [host.port], append=["test=1"], idle="poll"))
        one = Forwarder(generator, router)
        one.ask(0, WARM_UP_S)
        points, kinds = {kind: Point() for kind in KINDS}, Disturbances(router, host, table)
        for _ in range(runs):
            pps = one.capacity() / 2
            for kind, point in points.items():
                with getattr(kinds, kind)():
                    got = one.ask(pps / 1e6, SHARED_S, ODD if kind == "flood" else 0, True)
                point.add(got, pps)
            spin(noise)
    for kind, point in points.items():
        add(results, accel, "disturbed", "virtio", kind, point, noise)
    results.note("disturbances: " + ", ".join("%s %d" % item for item in kinds.counted.items()))


def handshakes(results, work, accel, huge, runs, noise):
    table = Consecutive(1024)
    for cpus in (2, 1):
        with contextlib.ExitStack() as stack:
            folder, host = mkdir(work, "%dcpu" % cpus), scraper_host(stack)
            generator = stack.enter_context(Generator(folder, huge, table.load))
            router = stack.enter_context(router_under_load(
                folder, accel, generator, table.configuration() + management(2, True),
                [host.port], idle="poll", cpus=cpus))
            one = Forwarder(generator, router)
            one.ask(0, WARM_UP_S)
            points, kinds = {kind: Point() for kind in ("nothing", "handshakes")}, Disturbances(router, host, table)
            for _ in range(runs):
                pps = one.capacity() / 10
                for kind, point in points.items():
                    with getattr(kinds, kind)():
                        got = one.ask(pps / 1e6, SHARED_S, 0, True)
                    point.add(got, pps)
                spin(noise)
        for kind, point in points.items():
            add(results, accel, "handshakes", "virtio", "%dcpu.%s" % (cpus, kind), point, noise)
        results.note("%d CPUs: %s" % (cpus, ", ".join("%s %d" % item for item in kinds.counted.items())))


PARTS = {"tail-forward": forward, "tail-udp": udp, "tail-tcp": tcp, "tail-disturbed": disturbed,
         "tail-handshakes": handshakes}


def tail(results, work, accel, runs, parts):
    """parts: some of PARTS, or "tail" for all."""
    build_tools()
    missing = build(["tcp_load", "epoll_echo"])
    if missing:
        raise BenchError("; ".join(missing))
    results.note("tail: peers are %s" % dpdk_version())
    noise = {CPU_GENERATOR: Noise(), CPU_DATA: Noise()}
    with hugepages() as huge:
        for part, run in PARTS.items():
            if {"tail", part} & set(parts):
                run(results, mkdir(work, part), accel, huge, runs, noise)
    report_noise(results, noise)
