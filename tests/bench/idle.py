"""The modes of an idle data core as measurements: what an echo of UDP costs at each rate, in CPU time of the
host and in latency. A mode is the rest of the statement `idle`: `poll`, `sleep`, `sleep spin 1000`. Under a
hypervisor `auto` means sleep.

virtio   over vhost-user, tcp_load's `flow`. A datagram every 1/RATE seconds, by an open loop
ixgbe... on nicsim's models, and igb and vmxnet3 on QEMU's: generator, model and control core share a CPU, and
         datagrams come in bursts, because the generator waits for the model. Latencies include the model's
         time, so modes can be compared with each other, but not cards

The CPU share is that of the thread of QEMU that is the data core (proc(5), schedstat): a halted core is not
running. A core under `sleep` polls for a while before it halts (runtime/loop.c); the share includes that. Each
mode has a machine of its own, in turns; only one runs at a time.
"""
import contextlib
import os
import statistics

from load import CPU_DATA, CPU_GENERATOR, SLICE_S, BenchError, build_tools, hugepages, progress
from services import build, mkdir, on_modelled, on_virtio
from tail import Flow, said, spin, report_noise
from times import Noise, Times

MODES = ("poll", "sleep")
RATES = {"virtio": (500, 1000, 2000, 10000, 100000, 1000000), "modelled": (500, 2000, 10000)}
SECONDS = 2 * SLICE_S


def slept(guest):
    """How often core 1 has slept."""
    for row in guest.cores():
        if row.get("core") == 1 and "sleeps" in row:
            return row["sleeps"]
    raise BenchError("`show cores` does not say how often core 1 slept")


class Row:
    """A mode at a rate."""

    def __init__(self):
        self.times, self.share, self.sleeps = Times(), [], []

    def measure(self, guest, load, rate):
        sleeps = slept(guest)
        # to wake a core takes the generator as long as a system call on a tap
        got = Flow(load, "tap", guest=guest).at(rate, SECONDS)
        self.share.append(got["cpu_share"])
        self.sleeps.append((slept(guest) - sleeps) / got["sent"])
        self.times.add(got)


def add(results, accel, card, mode, rate, row):
    name = "idle.%s.%s.%d" % (card, mode.replace(" ", "-"), rate)
    results.add(name + ".cpu_share", [100 * share for share in row.share], "% of a CPU", "lower", accel)
    results.add(name + ".sleeps", row.sleeps, "a datagram", "lower", accel)
    text = "%s/s: CPU %.0f %%, %.2f sleeps a datagram" % (
        name, 100 * statistics.median(row.share), statistics.median(row.sleeps))
    figures = row.times.figures()
    for quantile, value in figures.items():
        results.add("%s.%s" % (name, quantile), [value], "us", "lower", accel)
    text += "; " + said(figures)
    text += "; %d of %d lost, %d left out" % (row.times.lost, row.times.marked, row.times.left_out)
    progress(text)
    results.note(text)


def idle(results, work, accel, runs, cards, modes, rates_wanted):
    """modes, rates_wanted: None for MODES and RATES."""
    build_tools()
    missing = build(["tcp_load"])
    if missing:
        raise BenchError("; ".join(missing))
    noise = {CPU_GENERATOR: Noise(), CPU_DATA: Noise()}
    with hugepages() as huge:
        for card in cards:
            rates = rates_wanted or RATES["virtio" if card == "virtio" else "modelled"]
            rows = {(mode, rate): Row() for mode in modes or MODES for rate in rates}
            for number in range(runs):
                for mode in modes or MODES:
                    with contextlib.ExitStack() as stack:
                        folder = mkdir(work, card, mode.replace(" ", "-"), str(number))
                        start = on_virtio if card == "virtio" else \
                            lambda *words, **options: on_modelled(card, *words, **options)
                        guest, load = start(stack, folder, accel, huge, idle=mode)
                        for rate in rates:
                            rows[mode, rate].measure(guest, load, rate)
                    spin(noise)
            for (mode, rate), row in rows.items():
                add(results, accel, card, mode, rate, row)
    report_noise(results, noise)
    text = "load average %.1f, %.1f, %.1f" % os.getloadavg()
    progress(text)
    results.note("idle: " + text)
