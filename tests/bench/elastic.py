"""Elastic cores (`cores minimum 1`) beside flows that stay on all data cores, on a modelled 82599: what low loads cost in
CPU time of the host, and what a step from 1 to 100 % of the load loses.

The CPU share is the sum of the threads of QEMU that are data cores (proc(5), schedstat); a halted core is not running.
Generator, models, control core and data cores share the host's CPUs, so latencies compare the two ways, no more. The load
of 100 % is half of the rate at which the router with all cores forwards what the generator sends. Each way has a machine of
its own, in turns.
"""
import contextlib
import os
import re
import statistics
import time

from load import REST_S, BenchError, progress, ran_ns
from models import boot_on_models
from table import SMALL
from launcher import machine

DATA_CORES = 3
WAYS = {"all": "", "gathered": "cores minimum 1\n"}
RATES = (100, 1000, 4000)
SECONDS = 2.0
QUANTILES = {"p50": "median", "p99": "99 %", "p999": "99.9 %"}
GATHER_S = 90


def in_use(router):
    found = re.search(r"^cores (\d+) of", router.command("show load-balance"), re.M)
    return int(found[1]) if found else DATA_CORES


def sleeps(router):
    return sum(row["sleeps"] for row in router.cores() if row.get("core"))


@contextlib.contextmanager
def router_of(work, accel, extra):
    """Yields (router, Models, threads of the data cores)."""
    os.makedirs(work)
    words = ["--idle", "sleep", "--cpus", str(1 + DATA_CORES)]
    with boot_on_models(work, accel, "ixgbe", SMALL[-1], words, extra=extra) as (router, models, path):
        threads = [cpu["thread-id"] for cpu in machine.qmp(path["qmp"], "query-cpus-fast") if cpu["cpu-index"]]
        yield router, models, threads


def ready(router, models, way):
    """The neighbours are known, and the flows are where they shall be."""
    models.trial(RATES[0], 0.5)
    end = time.monotonic() + GATHER_S
    while way == "gathered" and in_use(router) > 1:
        if time.monotonic() > end:
            raise BenchError("the flows are not gathered")
        time.sleep(0.5)
    time.sleep(REST_S)


class Low:
    """A way at a low rate."""

    def __init__(self):
        self.share, self.sleeps, self.times, self.lost = [], [], {name: [] for name in QUANTILES}, 0

    def measure(self, router, models, threads, rate):
        slept, ran = sleeps(router), [ran_ns(thread) for thread in threads]
        begun = time.monotonic()
        run, after = models.send("%d" % rate, SECONDS)
        passed = time.monotonic() - begun
        self.share.append(sum(ran_ns(thread) - was for thread, was in zip(threads, ran)) / passed / 1e9)
        self.sleeps.append((sleeps(router) - slept) / run["sent"])
        stream = after["streams"][0]
        self.lost += stream["lost"]
        for name, times in self.times.items():
            times.append(stream["latency_%s_ns" % name] / 1000)


def step(router, models, full):
    """From 1 % of the load to all of it; returns (lost, of how many, cores that have flows afterwards)."""
    models.ask("port 0 reset-stats")
    models.ask("port 0 gen rate=%d time=1s start" % (full // 100))
    time.sleep(0.5)
    models.run_to_end("%d" % full, SECONDS)
    cores = in_use(router)
    time.sleep(REST_S)
    stream = models.ask("stats")["streams"][0]
    return stream["lost"], stream["sent"], cores


def elastic(results, work, accel, runs):
    lows = {(way, rate): Low() for way in WAYS for rate in RATES}
    steps = {way: [] for way in WAYS}
    full = None
    for number in range(runs):
        for way, extra in WAYS.items():
            with router_of(os.path.join(work, "%s-%d" % (way, number)), accel, extra) as (router, models, threads):
                ready(router, models, way)
                if full is None:
                    full = int(models.run(1).mpps() * 1e6 / 2)
                    results.note("elastic: 100 %% of the load is %d frames a second" % full)
                for rate in RATES:
                    lows[way, rate].measure(router, models, threads, rate)
                ready(router, models, way)
                steps[way].append(step(router, models, full))
                progress("%s: lost %d of %d in the step; then %d cores" % (way, *steps[way][-1]))
    for (way, rate), low in lows.items():
        name = "elastic.%s.%d" % (way, rate)
        results.add(name + ".cpu_share", [100 * share for share in low.share], "% of a CPU", "lower", accel)
        times = ", ".join("%s %.0f us" % (words, statistics.median(low.times[name])) for name, words in QUANTILES.items())
        text = "%s/s: CPU of all data cores %.0f %%, %.2f sleeps a frame; %s (medians of %d turns); %d lost" % (
            name, 100 * statistics.median(low.share), statistics.median(low.sleeps), times, runs, low.lost)
        for quantile, found in low.times.items():
            results.add("%s.%s" % (name, quantile), found, "us", "lower", accel)
        progress(text)
        results.note(text)
    for way, found in steps.items():
        text = "elastic.%s.step: lost %s of %d frames; cores with flows afterwards: %s" % (
            way, ", ".join(str(lost) for lost, _, _ in found), found[0][1], ", ".join(str(cores) for _, _, cores in found))
        progress(text)
        results.note(text)
    text = "load average %.1f, %.1f, %.1f" % os.getloadavg()
    results.note("elastic: " + text)
