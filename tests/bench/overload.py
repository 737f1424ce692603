"""The router's throughput under overload: at one, two, five and ten times its capacity.

No generator here reaches ten times the router's full speed, so the router takes one packet at a
time (burst=1), which costs it several times the cycles. The report states the rate actually
offered. Over vhost-user, packets that do not fit the receive ring never reach the router, as with a
card that drops them; nicsim counts the packets that its modelled cards missed.
"""
import os

from load import SLICE_S, WARM_UP_S, BenchError, Generator, build_tools, progress
from models import LINE_RATE_PPS, router_on_models
from router import drops_of, router_under_load
from table import SMALL

FACTORS = (1, 2, 5, 10)
SHARES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # of line rate; nicsim cannot tell when a card is full
SLOW = ["burst=1"]


def lost_by(router, before):
    """The router's own drops since `before`, as text."""
    found = {name: value - before.get(name, 0) for name, value in drops_of(router).items()
             if value > before.get(name, 0)}
    return ", ".join("%s %d" % item for item in sorted(found.items())) or "no drop"


def over_vhost(results, work, accel, huge, runs):
    name = "router.vhost.64B.%s.overload" % SMALL[0].name
    work = os.path.join(work, "overload")
    os.makedirs(work, exist_ok=True)
    with Generator(work, huge, SMALL[0].load, SMALL[0].generator) as generator, \
            router_under_load(work, accel, generator, SMALL[0].configuration(), append=SLOW) as router:
        generator.run(WARM_UP_S)
        kept = {factor: [] for factor in FACTORS}
        offered = {factor: [] for factor in FACTORS}
        capacities = []
        before = drops_of(router)
        for _ in range(runs):
            capacity = generator.run(SLICE_S).mpps()
            capacities.append(capacity)
            for factor in FACTORS:
                load = generator.run(SLICE_S, capacity * factor)
                kept[factor].append(load.mpps() / capacity)
                offered[factor].append(load.offered * 1e3 / load.nanoseconds / capacity)
        text = lost_by(router, before)
    results.add(name + ".capacity", capacities, "Mpps", "higher", accel)
    for factor in FACTORS:
        results.add("%s.x%d.goodput" % (name, factor), kept[factor], "of capacity", "higher", accel)
        progress("offered %s times the capacity: goodput %s of it" % (
            "/".join("%.1f" % x for x in offered[factor]),
            "/".join("%.3f" % x for x in kept[factor])))
    results.note("%s: offered %s times the capacity; the router itself: %s" % (
        name, ", ".join("%.1f" % max(offered[factor]) for factor in FACTORS), text))


def on_card(results, work, accel, nic, runs):
    name = "router.%s.64B.%s.overload" % (nic, SMALL[0].name)
    work = os.path.join(work, "overload", nic)
    os.makedirs(work, exist_ok=True)
    good = {share: [] for share in SHARES}
    made = dict.fromkeys(SHARES, 0.0)
    with router_on_models(work, accel, nic, SMALL[0], append=SLOW, idle="poll") as (router, models):
        models.run(WARM_UP_S)
        before = drops_of(router)
        for _ in range(runs):
            for share in SHARES:
                sent, lost = models.trial(int(LINE_RATE_PPS * share), SLICE_S)
                good[share].append(sent - lost / SLICE_S)
                made[share] = max(made[share], sent)
        text = lost_by(router, before)
    best = [max(good[share][n] for share in SHARES) for n in range(runs)]
    most = max(SHARES, key=lambda share: made[share])
    kept = [good[most][n] / best[n] for n in range(runs)]
    results.add(name + ".capacity", [pps / 1e6 for pps in best], "Mpps", "higher", accel)
    results.add(name + ".goodput", kept, "of capacity", "higher", accel)
    results.note("%s: at %.1f times the capacity; by rate offered, Mpps: %s; the router itself: %s" % (
        name, made[most] / max(best), ", ".join("%.2f: %.3f" % (made[share] / 1e6, max(good[share]) / 1e6)
                                                for share in SHARES), text))


def overload(results, work, accel, huge, runs, nics):
    build_tools()
    over_vhost(results, work, accel, huge, runs)
    for nic in nics:
        try:
            on_card(results, work, accel, nic, runs)
        except BenchError as error:
            results.note("overload, %s: %s" % (nic, error))
