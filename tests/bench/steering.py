"""Receive packet steering (runtime/steer.h): what a packet costs its owner and its worker.

One machine has two null ports with one queue pair (`pairs=1`) and two data cores. Turns alternate
between `receive-steering on`, where core 1 passes half of the flows to core 2, and `off`, where core 1
forwards all packets itself.

  off      busy cycles of core 1 for each packet, steering off
  passed   busy cycles of core 1 for each packet passed on and sent after its return. The packets that
           core 1 forwarded itself in the same turn are deducted at the cost of the turn before, with
           steering off. The null ports' receive and transmit functions are included, as in `off`
  worker   busy cycles of core 2 for each packet taken
  dropped  share of the packets for the worker that found its lane full. The null port always has more
           packets, so the owner offers as many as it can. It pays for the dropped ones too: `passed`
           includes their cost

Two CPUs are needed. The owner runs on the second, the worker on the first, which QEMU's other threads
share; both poll. In a turn both have real-time priority, and this program a higher one, so that it can end
the turn. Counters are read before and after, without that priority, so a busy host adds to all figures.
"""
import contextlib
import os
import statistics
import time

from load import (CPU_DATA, CPU_GENERATOR, NEAR_NS, REST_S, WARM_UP_S, BenchError, build_tools, pin_guest,
                  progress, realtime, round_trip_ns)
from table import configuration
from launcher import machine
from launcher.guest import Guest

OWNER, WORKER = 1, 2
LONG_SLICE_S = 0.8  # longer than others' slices, as counters are read outside; Linux throttles after 0.95 s
FIGURES = ("off", "passed", "worker", "dropped")
IN_LANES = 2 * 1024  # packets that are in a lane while the counters are read


class Turns:
    """The machine, whose data cores have a CPU each."""

    def __init__(self, stack, work, accel):
        config, self.pidfile, self.qmp = (os.path.join(work, "steering." + end) for end in ("conf", "pid", "qmp"))
        with open(config, "w", encoding="ascii") as file:
            file.write(configuration(["198.19.0.0/16"]))
        self.router = stack.enter_context(Guest(
            ["router", "--config", config, "--accel", accel, "--memory", "512M", "--cpus", "3", "--idle", "poll",
             "--pidfile", self.pidfile, "--qmp", self.qmp, "--append", "null=2 pairs=1"]))
        self.router.wait_ready(120)
        self.router.wait_prompt()
        self.cores = pin_guest(self.pidfile, self.qmp)
        self.cores += [cpu["thread-id"] for cpu in machine.qmp(self.qmp, "query-cpus-fast")
                       if cpu["cpu-index"] == WORKER]

    def inside(self):
        """({core: (packets that it handled itself, busy cycles)}, counters)"""
        counters = self.router.counters()
        return {row["core"]: (row["rx_pkts"], row["busy_cycles"]) for row in self.router.cores()}, counters

    def switch(self, on):
        """Commits the statement, which restarts the ports, and waits until core 2 has its new role."""
        for line in ("configure", "receive-steering " + ("on" if on else "off"), "commit", "end"):
            self.router.command(line, 60)
        role, deadline = "worker" if on else "stand-by", time.monotonic() + 20
        while role not in [row["role"] for row in self.router.cores() if row["core"] == WORKER]:
            if time.monotonic() > deadline:
                raise BenchError("steering: core %d does not become %s" % (WORKER, role))
            time.sleep(0.05)
        time.sleep(WARM_UP_S)

    def turn(self, on):
        """One slice: {core: (packets, busy cycles)}, packets steered, packets dropped."""
        self.switch(on)
        rows, before = self.inside()
        with realtime(self.cores[:2 if on else 1], [os.getpid()]):
            time.sleep(LONG_SLICE_S)
        rows_after, after = self.inside()
        time.sleep(REST_S)
        moved = {core: tuple(b - a for a, b in zip(rows[core], rows_after[core])) for core in (OWNER, WORKER)}
        counted = {name: after[name] - before[name] for name in ("steered", "steer_taken", "drop_steer_full")}
        check(on, moved, counted, after)
        return moved, counted["steered"], counted["drop_steer_full"]


def check(on, moved, counted, counters):
    """Nothing but the lane drops packets, and core 2 works if and only if steering is on."""
    if counters["steer_refused"]:
        raise BenchError("steering: %d references refused" % counters["steer_refused"])
    if on != (counted["steered"] > 0) or on != (moved[WORKER][0] > 0) or moved[OWNER][0] == 0:
        raise BenchError("steering %s: %s, %s" % ("on" if on else "off", moved, counted))
    if abs(counted["steered"] - counted["steer_taken"]) > IN_LANES:
        raise BenchError("steering: %(steered)d packets passed on, %(steer_taken)d taken" % counted)


def pair_of_turns(turns):
    """{figure: value} of a turn without and one with steering, and the CPUs' round trip."""
    trip = round_trip_ns()
    moved, _, _ = turns.turn(False)
    off = moved[OWNER][1] / moved[OWNER][0]
    moved, steered, dropped = turns.turn(True)
    return {"trip": max(trip, round_trip_ns()), "off": off,
            # Of `show cores` alone, as counters are read at another time.
            "passed": (moved[OWNER][1] - off * moved[OWNER][0]) / moved[WORKER][0],
            "worker": moved[WORKER][1] / moved[WORKER][0], "dropped": dropped / (steered + dropped)}


def say(pairs):
    return "%d pairs of turns: " % len(pairs) + ", ".join(
        "%s %.*f (%.*f to %.*f)" % (figure, digits, statistics.median(values), digits, min(values), digits, max(values))
        for figure in FIGURES for digits in [3 if figure == "dropped" else 1]
        for values in [[got[figure] for got in pairs]]) if pairs else "none"


def steering(results, work, accel, runs):
    if not {CPU_GENERATOR, CPU_DATA} <= os.sched_getaffinity(0):
        raise BenchError("steering needs two CPUs")
    build_tools()
    with contextlib.ExitStack() as stack:
        turns = Turns(stack, work, accel)
        pairs = [pair_of_turns(turns) for _ in range(runs * 3)]
    for figure in FIGURES:
        unit = "of packets" if figure == "dropped" else "TSC cycles"
        results.add("steering.null.64B.1route." + figure, [got[figure] for got in pairs], unit, "lower", accel)
    for what, some in (("near each other", [got for got in pairs if got["trip"] <= NEAR_NS]),
                       ("far from each other", [got for got in pairs if got["trip"] > NEAR_NS])):
        text = "steering, CPUs %s (round trip %s ns): %s" % (
            what, ("up to %d" if what.startswith("near") else "over %d") % NEAR_NS, say(some))
        progress(text)
        results.note(text)
    results.note("steering: load of the host %.1f" % os.getloadavg()[0])
