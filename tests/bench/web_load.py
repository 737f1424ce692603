"""The web application beside nginx, with tcp_load as the client: net/ itself, which needs less of its CPU for a
request than wrk does, so the servers are the limit more often.

The image is on tcp_load's own vhost-user rings. nginx has one worker in a namespace whose tap is tcp_load's, and
the kernel's work for it on the same CPU by RPS (services.py says more). Offloads are on for both.

Then as many connections as the image holds in 1 GiB, up to a million, with requests on 256 of them at a time.
"""
import contextlib
import os
import shutil
import statistics

from load import BenchError, hugepages, progress
from services import (IDLE, IDLE_SHARE, Contender, TcpLoad, build, family, linux_host, mkdir, softirq_threads,
                      start_guest, tcp_sums)
from web import FILES, make_site, nginx_version, start_nginx

PORT = 80
# name: path, kind, connections, a field of the request
LOADS = {"1KiB.1conns": ("/kib", "rr", 1, ""), "1KiB.64conns": ("/kib", "rr", 64, ""),
         "1KiB.256conns": ("/kib", "rr", 256, ""), "1MiB.1conns": ("/mib", "rr", 1, ""),
         "1MiB.16conns": ("/mib", "rr", 16, ""), "close.64conns": ("/kib", "crr", 64, "Connection: close")}
SIZES = [64 << 2 * n for n in range(10)]  # 64 B to 16 MiB, on 16 connections
FIGURES = (("rate", "requests_per_second", "/s", "higher", 1), ("p50", "p50", "us", "lower", 1e3),
           ("p99", "p99", "us", "lower", 1e3))


def ours(stack, work, accel, huge, site, connections=5120, memory="512M"):
    load = stack.enter_context(TcpLoad(work, huge, "vhost:" + os.path.join(work, "vhost"), offloads=True))
    config = "\n".join(["hostname bench", "tcp connections %d" % connections, *family.configuration(0)]) + "\n"
    guest, load.partners = start_guest(stack, work, accel, config, ["--memory", memory, "--site", site, "--port",
                                                                     "vhost-user:" + load.sockets[0]], app="web")
    load.wait_link()
    load.resolve()
    return Contender("web", load, guest)


def nginx(stack, work, huge, files):
    host = linux_host(stack)
    child = start_nginx(host, os.path.join(work, "nginx"), files)
    load = stack.enter_context(TcpLoad(work, huge, "tap:eth0", host, True))
    with open("/proc/%d/task/%d/children" % (child.pid, child.pid), encoding="ascii") as file:
        load.partners = [child.pid, *map(int, file.read().split())]
    load.ahead = softirq_threads()
    load.resolve()
    return Contender("nginx", load)


def web_load(results, work, accel, runs):
    missing = build(["tcp_load"])
    if missing or not shutil.which("nginx"):
        raise BenchError("; ".join(missing) or "no nginx (tools/deps.sh install test)")
    work = mkdir(work, "web-load")
    os.chmod(os.path.dirname(work), 0o755)  # for nginx's worker
    os.chmod(work, 0o755)
    files, site = make_site(work, {**FILES, **{"/size%d" % size: size for size in SIZES}})
    with hugepages() as huge, contextlib.ExitStack() as stack:
        both = [ours(stack, mkdir(work, "ours"), accel, huge, site), nginx(stack, mkdir(work, "peer"), huge, files)]
        for name, (path, kind, connections, field) in LOADS.items():
            one_load(results, accel, both, runs * 3, name, path, FILES[path], kind, connections, field)
        for size in SIZES:
            one_load(results, accel, both, runs * 3, "size.%d" % size, "/size%d" % size, size, "rr", 16, "")
    _, small = make_site(mkdir(work, "small"), FILES)  # a large site leaves a million connections no room
    with hugepages() as huge, contextlib.ExitStack() as stack:
        idle(results, accel, ours(stack, mkdir(work, "idle"), accel, huge, small, IDLE, "1G"), runs * 3)


def one_load(results, accel, contenders, turns, name, path, size, kind, connections, field):
    for one in contenders:
        one.turns = []
        one.load.ask(("get %s %s" % (path, field)).rstrip())
        one.load.open(kind, connections, size, PORT)
    for _ in range(turns):
        for one in contenders:
            one.turn()
    us, peer = (one.turns for one in contenders)
    for column, figure, unit, better, scale in FIGURES:
        results.add("content.load.%s.%s" % (name, figure), [got[column] / scale for got in us], unit, better, accel,
                    "nginx %s, one worker, tap, tcp_load" % nginx_version(), [got[column] / scale for got in peer])
    for one in contenders:
        if statistics.median(got["idle"] for got in one.turns) < IDLE_SHARE:
            results.note("content.load.%s, %s: the client was the limit" % (name, one.name))
    progress("%-16s %s" % (name, ", ".join("%s %.0f/s, p50 %.0f us, p99 %.0f us (client idle %.0f %%)" % (
        one.name, *(statistics.median(got[column] for got in one.turns) / scale * (100 if column == "idle" else 1)
                    for column, scale in (("rate", 1), ("p50", 1e3), ("p99", 1e3), ("idle", 1))))
                                           for one in contenders)))


def idle(results, accel, one, turns):
    wanted = min(IDLE, tcp_sums(one.guest)["capacity"])
    one.turns = []
    one.load.ask("get /kib")
    # Not at real-time priority: the control core shares the client's CPU, and would get none for seconds.
    opened, took = one.load.ask("open rr %d %d %d 256" % (wanted, FILES["/kib"], PORT), 120)
    if int(opened) != wanted:
        raise BenchError("%d connections did not come about" % wanted)
    for _ in range(turns):
        one.turn()
    there = tcp_sums(one.guest)["estab"]
    if there < wanted:
        raise BenchError("of %d connections the server has %d" % (wanted, there))
    rate = [got["rate"] for got in one.turns]
    results.add("content.load.idle.connections_in_1GiB", [wanted], "connections", "higher", accel)
    results.add("content.load.idle.requests_per_second", rate, "/s", "higher", accel)
    progress("%d connections in 1 GiB, open after %.1f s; %.0f requests/s on 256 of them at a time"
             % (wanted, float(took) / 1e3, statistics.median(rate)))
