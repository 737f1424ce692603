#!/usr/bin/python3
"""`make bench`: how fast the real image forwards, and what it costs to start.

  router.virtio.64B.<ROUTES>.*   64-byte forwarding over vhost-user, one data core, at saturation
  router.<NIC>.64B.<ROUTES>.*    the same on two cards modelled by nicsim in line-rate mode (ixgbe:
                                 82599, mlx5: ConnectX-5), with its generator and sink (models.py);
                                 the highest rate without loss; and the curve of throughput against
                                 packets per tail write or doorbell
  router.*.64B.1Mroutes.*        the same with a million prefixes, and with destinations all over them
                                 (table.py); PREFIXES=FILE: with that file's, as globalroutes
  router.virtio.ip6.64B.160kroutes.*  the same of IPv6, which nicsim does not generate
  router.virtio.ip6.78B.<ROUTES>.* and ip4, 64B: a router of each family, by turns
  price.*                        what longer frames, more ports, next hops, VLANs, filters and so on cost, each beside
                                 the plain router (price.py); --price NAME: only that
  router.null.64B.<ROUTES>.*     the same without any device: frames made on the spot and thrown away
                                 (drivers/null): what loop, application and buffers cost
  peer.<PROGRAM>.*               DPDK in the guest's place over virtio-user, on the same generator,
                                 alternating with it in the same run: l3fwd (LPM, the same routes;
                                 of a full table FIB with all, LPM with as many as it takes) and
                                 testpmd (mode `mac`: no look-up). On no modelled card: its mlx5
                                 driver wants a kernel driver and rdma-core below it
  tcp.<NIC>.*, udp.virtio.*      the services under load: requests on 1 to 4096 connections,
                                 connections opened and closed, bulk, idle ones, round trips of UDP;
                                 beside Linux, XDP and DPDK, and with IIP=FILE beside the stack iip (services.py). With
                                 --family 6: tcp.<NIC>.ip6.* and so on
  http.FAMILY.OBJECT.*           requests on the control core's HTTP server, beside nginx (web.py)
  content.OBJECT.*               requests for files to the web application, beside nginx (web.py)
  content.load.OBJECT.*          the same with our own client (web_load.py)
  scrape.*                       what /metrics, ten times a second, costs a router under load
  engine.*                       routes of the routing engine, by FPM over TCP (engine.py), from zebra
                                 (zebra.py), of a BGP table (bgp.py), that change while the router
                                 forwards (engine_churn.py), after a restart of the control program
                                 (takeover.py); each part alone: engine-fpm, engine-zebra and so on
  tail.*, peer.*.tail.*          latency at 10, 50, 90 % of the load, to the 99.99th percentile, beside the host's
                                 noise; with the control core busy, floods and faults (tail.py)
  idle.CARD.MODE.RATE.*          CPU share, sleeps and latency of the modes of an idle data core (idle.py)
  elastic.*                      flows gathered on one data core, beside flows on all: CPU share at low loads, loss in
                                 a step of the load (elastic.py)
  bfd.*                          BFD sessions under a full forwarding load: false failures, lateness (bfd.py)
  churn.*                        what routes that change cost a router with a million (churn.py)
  capture.*                      the console's capture: frames written without loss, beside tcpdump;
                                 what it costs a router under load (capture.py)
  xdp.*, peer.linux.xdp.*        XDP programs in the image, between null ports and over vhost-user, beside
                                 native XDP of Linux on veth with the same objects (xdp.py)
  switch.*                       the switch over vhost-user beside Open vSwitch with DPDK and testpmd: 1 station,
                                 16 thousand, a million
  steering.*                     receive packet steering between null ports: cycles of the core that passes a
                                 packet on, and of the one that takes it (steering.py)
  pktgen.*, peer.testpmd.*       the generator beside testpmd: a frame's cycles on one core, the
                                 rate against frames for one doorbell, the least latency (pktgen.py)
  rings.*, acl.*                 programs without the image: drivers' rings, access lists (programs.py)
  boot.*, image.*, memory.*      start-up and size

Prints a table and writes build/bench.json: a list of {name, value, unit, better, accel, runs,
peer, peer_value}. Names are stable; entries of other benchmarks in the file are kept. plots.py
draws pictures of the file, here into build/.

Two CPUs are needed: the generator and sink (vhost_gen.c) polls on the first, the data core on the
second; everything else shares the first. While a run lasts both have real-time priority, if that
is allowed. The generator offers more than is taken, so Mpps is what the peer forwards and
cycles_per_packet = TSC Hz / packets per second, from outside and so the same for every
peer. Where the generator was the limit after all, the table says so. l3fwd is built from the
sources in Debian's dpdk-doc, where that is installed (peer_l3fwd says what is changed). KVM is used
where it opens, software KVM included (the data core runs at ring 3, which that executes natively);
else TCG. The table says which.
"""
import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import page
from bfd import bfd
from bgp import bgp
from capture import capture
from churn import churn
from contender import FAMILIES, UNITS, Contender
from elastic import elastic
from engine import engine_fpm
from engine_churn import engine_churn
from floods import floods
from idle import idle
from load import (HUGEPAGES_WANTED, SLICE_S, WARM_UP_S, BenchError, build_tools, hugepages,
                  median_of, near_only, pin_guest, progress, realtime, say)
from memory import idle_memory
from models import LINE_RATE_PPS, curve, router_on_models
from overload import overload
from peers import FULL_PEERS, PEERS, build_l3fwd, dpdk_version
from results import RESULTS, Results
from router import cycles_in_a_slice, drops_of
from pktgen import pktgen
from plots import draw
from price import price
from programs import acl, rings
from services import choose_family, plain_requests, tcp, tcp_bulk, tcp_idle, udp_rtt
from steering import steering
from switch import switch
from table import SMALL, Full, configuration
from tail import PARTS as TAIL_PARTS
from tail import tail
from takeover import takeover
from web import content, http, scrape
from web_load import web_load
from xdp import xdp
from zebra import zebra
from launcher import demo, image, netlab, options, ports
from launcher.errors import LauncherError
from launcher.guest import Guest, GuestError

FULL_TABLES = {"full-table": 4, "full-table6": 6}  # the part: version of IP
FULL_HUGEPAGES = 1280  # l3fwd has two full tables, and takes more than its -m for them
IMPOSSIBLE = 1.05  # a busy share above this is impossible
VALID = 0.99  # of the requested rate; with less, a trial is void
SATURATED = 0.98  # from this busy share of the data core on, the core is the limit
ENGINE = {"engine-fpm": engine_fpm, "engine-zebra": zebra, "engine-bgp": bgp,
          "engine-churn": engine_churn, "engine-takeover": takeover}  # the parts of "engine"
PARTS = ["forwarding", "full-table", "full-table6", "families", "price", "null", "no-loss", "overload", "floods",
         "tail-writes", "tcp", "tcp-idle", "tcp-plain", "tcp-bulk", "udp-rtt", "http", "content", "web-load", "scrape",
         "churn", "engine", "engine-fpm", "engine-zebra", "engine-bgp", "engine-churn", "engine-takeover",
         "tail", *TAIL_PARTS, "idle", "elastic", "bfd", "capture", "xdp", "steering", "switch", "pktgen",
         "pktgen-curve", "pktgen-latency", "rings", "acl", "boot", "boot-routes", "sizes"]


def null_routes(prefixes):
    """The network that null ports send to, 198.19.0.0/16, as one route or as all its /30s."""
    if prefixes == 1:
        return ["198.19.0.0/16"]
    assert prefixes == 16384
    return ["198.19.%d.%d/30" % (number >> 6, (number & 63) << 2) for number in range(prefixes)]


# --- measurements ---

def forwarding(results, work, accel, huge, table, runs, seconds, nics, peers):
    """Adds the figures of one table of routes, beside those peers (names and descriptions); returns
    the round trips measured meanwhile."""
    routes_name = table.name
    ours = {"router": "router.virtio", **{nic: "router." + nic for nic in nics}}
    measured = {what: [] for what in [*ours, *peers]}
    for number in range(runs):
        turns = max(1, round(seconds / SLICE_S))
        with contextlib.ExitStack() as stack:
            contenders = [Contender(stack, work, huge, accel, what, table) for what in measured]
            for _ in range(turns):
                for contender in contenders:
                    measured[contender.what].append(contender.turn())
        progress("%s run %d of %d:" % (routes_name, number + 1, runs))
        for what in measured:
            progress("    " + say(what, measured[what][-turns:]))
    trips = [got["trip"] for turns in measured.values() for got in turns]
    measured = near_only(results, routes_name, measured)
    for what, name in ours.items():
        add_forwarding(results, "%s.%s.%s" % (name, table.frames, routes_name), accel, measured,
                       what, peers)
    for peer in peers:
        for figure in ("mpps", "cycles_per_packet"):
            unit, better = UNITS[figure]
            results.add("peer.%s.virtio.%s.%s.%s" % (peer, table.frames, routes_name, figure),
                        [got[figure] for got in measured[peer]], unit, better, "host")
        share = median_of(measured[peer], "full_share")
        if share < 1 - SATURATED:
            results.note("%s, %s: the GENERATOR was the limit, not the peer: it found room at "
                         "%.1f %% of its looks" % (routes_name, peer, 100 * (1 - share)))
    return trips


def all_forwarding(results, work, accel, arguments, parts, nics):
    if len(os.sched_getaffinity(0)) < 2:
        raise BenchError("forwarding needs two CPUs")
    if not shutil.which("dpdk-testpmd"):
        raise BenchError("dpdk is not installed (tools/deps.sh install bench)")
    build_tools()
    missing = build_l3fwd()
    if missing:
        results.note(missing)
    tables = [(table, PEERS, nics) for table in SMALL if "forwarding" in parts]
    for part, family in FULL_TABLES.items():
        if part not in parts:
            continue
        folder = os.path.join(work, "table%d" % family)
        os.mkdir(folder)
        tables.append((Full(folder, family), FULL_PEERS[family], nics if family == 4 else []))
    trips = []
    with hugepages(FULL_HUGEPAGES if set(FULL_TABLES) & set(parts) else HUGEPAGES_WANTED) as huge:
        if not huge:
            progress("no huge pages: DPDK runs on 4 KiB pages")
        for table, peers, cards in tables:
            there = {name: peer for name, peer in peers.items() if not missing or "l3fwd" not in name}
            trips += forwarding(results, work, accel, huge, table, arguments.runs,
                                arguments.seconds, cards, there)
    results.add("host.core_round_trip", trips, "ns", "lower", "host")


def families(results, work, accel, huge, table, runs, seconds):
    """IPv6 beside IPv4, in turns: frames of 64 bytes, and of 78, the size with IPv6, a VLAN tag and
    UDP. Adds the cost of a packet for each."""
    measured = {what: [] for what in FAMILIES}
    for number in range(runs):
        turns = max(1, round(seconds / SLICE_S))
        with contextlib.ExitStack() as stack:
            contenders = [Contender(stack, work, huge, accel, what, table) for what in measured]
            for _ in range(turns):
                for contender in contenders:
                    measured[contender.what].append(contender.turn())
        progress("%s run %d of %d:" % (table.name, number + 1, runs))
        for what in measured:
            progress("    " + say(what, measured[what][-turns:]))
    for size in ("64B", "78B"):
        both = zip(measured["ip4." + size], measured["ip6." + size])
        results.add("router.virtio.ip6.%s.%s.cycles_ratio" % (size, table.name),
                    [six["cycles_per_packet"] / four["cycles_per_packet"] for four, six in both],
                    "of IPv4's", "lower", accel)
    measured = near_only(results, table.name, measured)
    for what in FAMILIES:
        family, size = what.split(".")
        other = measured["ip4." + size] if family == "ip6" else None
        for figure in ("mpps", "busy_cycles_per_packet"):
            unit, better = UNITS[figure]
            results.add("router.virtio.%s.%s.%s" % (what, table.name, figure),
                        [got[figure] for got in measured[what]], unit, better, accel,
                        "IPv4" if other else None,
                        [got[figure] for got in other] if other else None)


def add_forwarding(results, name, accel, measured, what, peers):
    """Adds the figures of one of ours, beside the first of the peers (names and descriptions)."""
    def column(who, figure):
        return [got[figure] for got in measured[who]]

    best = next(iter(peers), None)
    busy = median_of(measured[what], "busy_share")
    figures = dict(UNITS)
    if busy > IMPOSSIBLE:
        results.note("%s: the router counts time asleep as busy (%.0f %%): not stated"
                     % (name, 100 * busy))
        figures = {key: UNITS[key] for key in UNITS if not key.startswith("busy_")}
    for figure, (unit, better) in figures.items():
        both = best and figure in ("mpps", "cycles_per_packet")
        results.add(name + "." + figure, column(what, figure), unit, better, accel,
                    "%s %s" % (dpdk_version(), peers[best][1]) if both else None,
                    column(best, figure) if both else None)
    if busy < SATURATED:
        results.note("%s: the GENERATOR was the limit, not the router: its core was busy %.1f %% "
                     "of the time" % (name, 100 * busy))


def without_device(results, work, accel, runs):
    """Forwarding between two null ports: the part of a packet's cycles that no device causes."""
    config, pidfile, qmp_path = (os.path.join(work, "null." + end) for end in ("conf", "pid", "qmp"))
    for table in SMALL:
        with open(config, "w", encoding="ascii") as file:
            file.write(configuration(null_routes(table.routes)))
        with Guest(["router", "--config", config, "--accel", accel, "--memory", "512M", "--pidfile",
                    pidfile, "--qmp", qmp_path, "--append", "null=2"]) as router:
            router.wait_ready(120)
            router.wait_prompt()
            core = pin_guest(pidfile, qmp_path)
            drops = drops_of(router)
            cycles = [cycles_in_a_slice(router, core) for _ in range(runs * 3)]
            if drops_of(router) != drops:
                raise BenchError("null ports: not all was forwarded: %s" % drops_of(router))
        results.add("router.null.64B.%s.busy_cycles_per_packet" % table.name, cycles,
                    *UNITS["busy_cycles_per_packet"], accel)


def no_loss(results, work, accel, nic, runs):
    """The highest rate at which two cards lose nothing (RFC 2544, 26.1), searched from 10 GbE line
    rate down. A trial in which the generator sent less than requested is void. One trial without
    loss is enough: a host that takes the CPU away for a fraction of a millisecond makes any ring
    overflow."""
    name = "router.%s.64B.16kroutes" % nic
    work = os.path.join(work, "no-loss", nic)
    os.makedirs(work, exist_ok=True)
    with router_on_models(work, accel, nic, SMALL[-1], idle="poll") as (_, models):
        models.run(WARM_UP_S)
        for tenths in range(10, 0, -1):
            pps = LINE_RATE_PPS * tenths // 10
            trials = [models.trial(pps, SLICE_S) for _ in range(runs)]
            lost = [lost for sent, lost in trials if sent >= VALID * pps]
            text = "%.2f Mpps for %g s, 16k routes: the generator kept it up in %d of %d trials" % (
                pps / 1e6, SLICE_S, len(lost), runs)
            if lost:
                text += "; lost: " + ", ".join(map(str, lost))
            progress(text)
            results.note("%s: %s" % (name, text))
            if 0 in lost:
                results.add(name + ".no_loss", [pps / 1e6], "Mpps", "higher", accel)
                return


def tail_writes(results, work, accel, nic, seconds):
    """Throughput against packets per tail write, in both modes of the model."""
    work = os.path.join(work, "curve", nic)
    os.makedirs(work, exist_ok=True)
    for mode in ("line-rate", "strict"):
        points = curve(work, accel, nic, SMALL[0], mode, seconds)
        progress("packets per tail write, %s, %s: %s" % (nic, mode, ", ".join(
            "%d: %.3f Mpps" % point for point in points)))
        for burst, mpps in points:
            results.add("router.%s.64B.1route.%s.burst%d.mpps" % (nic, mode, burst), [mpps],
                        "Mpps", "higher", accel)


def boot(results, work, accel, runs):
    """Time from the kernel's first instruction, and from QEMU's start, to the first packet
    forwarded."""
    kernel_ms, start_ms, rss = [], [], []
    config = os.path.join(work, "boot.conf")
    with open(config, "w", encoding="ascii") as file:
        file.write(demo.CONFIG)
    pidfile = os.path.join(work, "pid")
    for _ in range(runs):
        with netlab.Host("left") as left, netlab.Host("right") as right, \
                contextlib.ExitStack() as stack:
            left.configure(demo.LEFT[1] + "/24", demo.LEFT[0])
            right.configure(demo.RIGHT[1] + "/24", demo.RIGHT[0])
            left.ip("neighbour", "replace", demo.LEFT[0], "lladdr",
                    ports.mac_of(ports.MAC_BASE, 0), "dev", "eth0", "nud", "permanent")
            words = ["router", "--config", config, "--accel", accel, "--memory", "128M",
                     "--pidfile", pidfile, "--port", left.port, "--port", right.port]
            with Guest(words) as router:
                ready_ms, first_s, ready_s = demo.first_packet(stack, router, left, right)
                kernel_ms.append(max(0.0, ready_ms + (first_s - ready_s) * 1000))
                start_ms.append((first_s - router.started) * 1000)
                with open(pidfile, encoding="ascii") as file:
                    pid = int(file.read())
                with open("/proc/%d/status" % pid, encoding="ascii") as file:
                    rss.append(int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024)
                router.wait_prompt()
    results.add("boot.kernel_to_first_packet", kernel_ms, "ms", "lower", accel)
    results.add("boot.qemu_to_first_packet", start_ms, "ms", "lower", accel)
    results.add("memory.qemu_rss_128MiB_guest", rss, "MiB", "lower", accel)


def boot_routes(results, work, accel, runs):
    """Time from the kernel's first instruction to `ready:` with a million lines `ip route` in random order, without
    cards. In real time: alone on the CPUs, if that is allowed."""
    folder, config = os.path.join(work, "boot-table"), os.path.join(work, "boot-routes.conf")
    os.mkdir(folder)
    table, ready = Full(folder), []
    with open(config, "w", encoding="ascii") as file:
        file.write(table.configuration())
    for _ in range(runs):
        with realtime([0]), Guest(["router", "--config", config, "--accel", accel, "--memory", table.memory,
                                 "--append", "null=2"]) as router:
            ready.append(router.wait_ready(120)[2])
            router.wait_prompt()
    results.add("boot.kernel_to_ready.%s" % table.name, ready, "ms", "lower", accel)


def sizes(results, work):
    results.add("image.kernel", [os.path.getsize(options.KERNEL)], "bytes", "lower", "host")
    iso = os.path.join(work, "hayate.iso")
    image.build(iso)
    results.add("image.iso", [os.path.getsize(iso)], "bytes", "lower", "host")


def choose(wanted):
    if wanted != "auto":
        return options.choose_accel(wanted)
    try:
        return options.choose_accel("kvm")
    except LauncherError:
        return "tcg"


def services(results, work, accel, runs, parts, nics, quick, family):
    if len(os.sched_getaffinity(0)) < 2:
        raise BenchError("TCP and UDP need two CPUs")
    build_tools()
    choose_family(family)
    with hugepages() as huge:
        if not huge:
            progress("no huge pages: DPDK runs on 4 KiB pages")
        if "tcp" in parts:
            tcp(results, work, accel, huge, runs, nics, quick)
            if family == 4:  # the same record in both families
                idle_memory(results, work, huge)
        else:  # tcp() includes all of these
            if "tcp-idle" in parts:
                tcp_idle(results, work, accel, huge, runs)
            if "tcp-plain" in parts:
                plain_requests(results, work, accel, huge, runs)
            if "tcp-bulk" in parts:
                tcp_bulk(results, work, accel, huge, runs)
        if "udp-rtt" in parts:
            udp_rtt(results, work, accel, huge, runs)


def whole_page(arguments):
    """Measures each part of the page in a process of its own, so that one which fails costs only its own rows, and writes
    the tables. Returns the exit code."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(RESULTS)
    cards = [word for card in page.CARDS for word in ("--nic", card)]
    failed = [part for part in page.PARTS if subprocess.run(
        [sys.executable, __file__, "--only", part, "--accel", arguments.accel, "--runs", str(arguments.runs), "--seconds",
         str(arguments.seconds), *cards], check=False).returncode]
    with open(RESULTS, encoding="utf-8") as file:
        page.write(json.load(file))
    for part in failed:
        progress("bench: not measured: " + part)
    return 1 if failed else 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accel", choices=["auto", "kvm", "tcg"],
                        default=os.environ.get("HAYATE_ACCEL", "auto"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a run (default 2)")
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--page", action="store_true",
                        help="the parts behind docs/performance.md, and write its tables and README's (page.py)")
    parser.add_argument("--family", type=int, choices=[4, 6], default=4,
                        help="of tcp, tcp-idle, tcp-plain and udp-rtt: the version of IP (4)")
    parser.add_argument("--nic", choices=options.NIC_MODELS, action="append",
                        help="modelled cards to measure (all)")
    parser.add_argument("--card", choices=options.NICS, action="append",
                        help="of idle: the cards (virtio and those of --nic)")
    parser.add_argument("--idle", action="append", metavar="MODE",
                        help="of idle: modes, as in the statement: poll, sleep, \"sleep spin 1000\" (poll and sleep)")
    parser.add_argument("--rate", action="append", type=int, help="of idle: datagrams a second")
    parser.add_argument("--price", action="append", metavar="NAME",
                        help="of price: only this (oneport, hops, ..., ports)")
    parser.add_argument("--quick", action="store_true",
                        help="few numbers of connections, seconds of BFD: a quick check that the parts work")
    return parser.parse_args()


def measure(results, work, accel, arguments, parts, nics):
    """Runs these parts, one after the other; each adds its rows to the results."""
    if {"forwarding", *FULL_TABLES} & set(parts):
        all_forwarding(results, work, accel, arguments, parts, nics)
    if "families" in parts:
        build_tools()
        with hugepages() as huge:
            for table in SMALL:
                families(results, work, accel, huge, table, arguments.runs,
                         arguments.seconds)
    if "price" in parts:
        build_tools()
        missing = build_l3fwd()
        if missing:
            raise BenchError(missing)
        with hugepages() as huge:
            price(results, work, accel, huge, arguments.runs, arguments.seconds, arguments.price or [])
    if "null" in parts:
        without_device(results, work, accel, arguments.runs)
    if "no-loss" in parts:
        for nic in nics:
            no_loss(results, work, accel, nic, arguments.runs)
    if "overload" in parts:
        with hugepages() as huge:
            overload(results, work, accel, huge, arguments.runs, nics)
    if "floods" in parts:
        floods(results, work, accel, nics, arguments.runs)
    if "tail-writes" in parts:
        for nic in nics:
            tail_writes(results, work, accel, nic, SLICE_S)
    if {"tcp", "tcp-idle", "tcp-plain", "tcp-bulk", "udp-rtt"} & set(parts):
        services(results, work, accel, arguments.runs, parts, nics, arguments.quick,
                 arguments.family)
    if "http" in parts:
        http(results, work, accel, arguments.runs)
    if "content" in parts:
        content(results, work, accel, arguments.runs)
    if "web-load" in parts:
        web_load(results, work, accel, arguments.runs)
    if "scrape" in parts:
        with hugepages() as huge:
            scrape(results, work, accel, huge, arguments.runs)
    if "churn" in parts:
        with hugepages() as huge:
            churn(results, work, accel, huge, arguments.runs)
    for part, run in ENGINE.items():
        if {"engine", part} & set(parts):
            folder = os.path.join(work, part)
            os.mkdir(folder)
            run(results, folder, accel, arguments.runs)
    if {"tail", *TAIL_PARTS} & set(parts):
        tail(results, os.path.join(work, "tail"), accel, arguments.runs, parts)
    if "idle" in parts:
        idle(results, os.path.join(work, "idle"), accel, arguments.runs,
             arguments.card or ["virtio", *nics], arguments.idle, arguments.rate)
    if "elastic" in parts:
        elastic(results, os.path.join(work, "elastic"), accel, arguments.runs)
    if "bfd" in parts:
        bfd(results, work, accel, arguments.quick)
    if "capture" in parts:
        capture(results, work, accel, arguments.runs)
    if "xdp" in parts:
        with hugepages() as huge:
            xdp(results, work, accel, huge, arguments.runs)
    if "steering" in parts:
        steering(results, work, accel, arguments.runs)
    if "switch" in parts:
        switch(results, work, accel, arguments.runs, arguments.seconds)
    if {"pktgen", "pktgen-curve", "pktgen-latency"} & set(parts):
        with hugepages() as huge:
            pktgen(results, work, huge, accel, arguments.runs, parts, nics)
    if "rings" in parts:
        rings(results, arguments.runs)
    if "acl" in parts:
        acl(results, arguments.runs)
    if "boot" in parts:
        boot(results, work, accel, arguments.runs)
    if "boot-routes" in parts:
        boot_routes(results, work, accel, arguments.runs)
    if "sizes" in parts:
        sizes(results, work)


def main():
    arguments = parse()
    if arguments.page:
        return whole_page(arguments)
    parts = arguments.only or PARTS
    nics = arguments.nic or list(options.NIC_MODELS)
    if not os.path.exists(options.KERNEL):
        raise BenchError("%s is not built (make)" % options.KERNEL)
    accel = choose(arguments.accel)
    software = accel == "kvm" and options.choose_accel("auto") != "kvm"
    progress("accelerator: %s%s" % (accel.upper(), ", in software: the CPU does not virtualise"
                                    if software else ""))
    results = Results()
    work = tempfile.mkdtemp(prefix="hayate-bench-")
    try:
        measure(results, work, accel, arguments, parts, nics)
    except (BenchError, GuestError, LauncherError):
        results.write()  # what was measured so far
        raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    made, missing = draw(results.write(), os.path.dirname(RESULTS))
    results.note(missing or "plots of all that the file has: " + ", ".join(
        os.path.relpath(path, os.getcwd()) for path in made))
    results.table()
    print("  written to %s" % os.path.relpath(RESULTS, os.getcwd()))
    return 0


if __name__ == "__main__":
    # As an exception, so that peers and guests are stopped and huge pages given back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        sys.exit(main())
    except (BenchError, GuestError, LauncherError, demo.Failure) as error:
        print("bench: %s" % error, file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
