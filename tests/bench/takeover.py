"""The control program fails while a million routes of the engine are in use, and a new one takes over:
seconds until its tables are complete, in which data cores go on by the old ones. Numbered packets show
that none is lost.

Beside each time: the CPU time of the control core from the failure until the flows have ended, and the time
in which it was ready to run and the host ran something else (schedstat).
"""
import contextlib
import os
import re
import statistics
import time

from engine import Feeder, frames, lines_of, settled
from load import BenchError, progress
from launcher import ports
from parties import HOP, LEFT_ROUTER, Lab, of_system_tests

TAKEOVERS = 4  # in a boot
BETWEEN_S = 11  # a core may take over twice in ten seconds
FLOWS = 4
WAIT_S = 180
GOES_ON = r"control program: goes on after (\d+) us"


class Host:
    """What the host did for the control core."""

    def __init__(self, lab):
        self.lab = lab
        self.before = self.now()

    def now(self):
        with open("/proc/%d/schedstat" % self.lab.control, encoding="ascii") as file:
            ran, waited, _ = map(int, file.read().split())
        return ran / 1e9, waited / 1e9

    def since(self):
        return dict(zip(("ran", "waited"), (b - a for a, b in zip(self.before, self.now()))))


def fail(lab, flows):
    """One takeover."""
    router = lab.router
    before = sum(flow.sent for flow in flows.list)
    flows.run(0.3)
    flows.begin()
    host = Host(lab)
    router.skip()
    router.send("test fault ud core 0")
    deadline = time.monotonic() + WAIT_S
    while not (found := re.search(GOES_ON, router.text[router.mark:])):
        if time.monotonic() > deadline or re.search("ports (are )?restart", router.text[router.mark:]):
            raise BenchError("the new control program has not taken over:\n" + router.tail())
        flows.run(0.02)
        router.poll()
    got = dict(host.since(), took=int(found[1]) / 1e6)
    flows.run(0.3)
    flows.settle()
    got.update(lost=sum(len(flow.missing) + len(flow.lost) for flow in flows.list),
               sent=sum(flow.sent for flow in flows.list) - before, silent=max(flow.outage_s for flow in flows.list))
    for flow in flows.list:
        flow.missing.clear()
        flow.lost.clear()
    return got


def known(host, router, port):
    """The host does not ask for the router's address: no control program answers meanwhile, and after
    some seconds the host would not send any more."""
    host.ip("neighbour", "replace", router, "lladdr", ports.mac_of(ports.MAC_BASE, port), "dev", "eth0",
            "nud", "permanent")


def takeover(results, work, accel, rounds):
    flows_of = of_system_tests("flows").Flows
    folder = frames(work)
    number = len(lines_of(folder, 4))
    measured = []
    for _ in range(rounds):
        with contextlib.ExitStack() as stack:
            lab = Lab(stack, work, accel, append=["test=1"])
            feeder = Feeder(stack, lab.engine)
            feeder.send(os.path.join(folder, "stated.4"))
            settled(lab.router, number)
            known(lab.left, LEFT_ROUTER[4], 2)
            flows = stack.enter_context(flows_of(lab.left, lab.right, HOP[4], FLOWS))
            for n in range(TAKEOVERS):
                got = fail(lab, flows)
                measured.append(got)
                progress("takeover %d of a boot with %d routes: %.2f s; the control core ran %.2f s and waited "
                         "%.2f s; %d of %d packets lost, silence %.0f ms; load %.1f" % (
                             n + 1, number, got["took"], got["ran"], got["waited"], got["lost"],
                             got["sent"], 1e3 * got["silent"], os.getloadavg()[0]))
                if got["lost"]:
                    raise BenchError("packets were lost while the control program was gone: %s" % got)
                if lab.stated() != number:
                    raise BenchError("routes are gone:\n" + lab.router.command("show routing engine"))
                time.sleep(BETWEEN_S)
    name = "engine.takeover.ip4"
    results.add(name, [got["took"] for got in measured], "s", "lower", accel)
    results.add(name + ".worst", [max(got["took"] for got in measured)], "s", "lower", accel)
    results.add(name + ".control_core_ran", [got["ran"] for got in measured], "s", "lower", accel)
    results.add(name + ".silence", [1e3 * got["silent"] for got in measured], "ms", "lower", accel)
    results.note("%s: %d takeovers with %d routes: %s s; %d packets, none lost" % (
        name, len(measured), number, " ".join("%.2f" % got["took"] for got in measured),
        sum(got["sent"] for got in measured)))
    results.note("  of these, the control core's CPU: %s s; it waited for a CPU of the host: %.2f s (median)" % (
        " ".join("%.2f" % got["ran"] for got in measured),
        statistics.median(got["waited"] for got in measured)))
