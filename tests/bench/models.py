"""The router on modelled cards: nicsim's generator → port 0 → router → port 1 → its sink.

Cards are named as the launcher names them (--nic).

nicsim is one thread on the first CPU and the data core has the second. In line-rate mode the
doorbells are memory that both see, so this measures driver and router, not the transport. In strict
mode every doorbell is a message, which costs as much as a slow bus; the curve of throughput against
packets per tail write shows the effect.
"""
import contextlib
import os
import re
import time

from load import CPU_GENERATOR, REST_S, BenchError, Load, own_group, pin_guest, realtime
from launcher import nicsim
from launcher.guest import Guest

LINE_RATE_PPS = 14880952  # 64-byte frames on 10 GbE: 67.2 ns each
SLICES = 6
BURSTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Models:
    """nicsim as a generator, with the interface of load.Generator."""

    def __init__(self, control, tsc_hz):
        self.control = control
        self.tsc_hz = tsc_hz
        self.partners = []
        self.ahead = []

    def ask(self, line):
        return nicsim.ask(self.control, line, 30)

    def send(self, rate, seconds):
        """Sends for `seconds`; returns (nicsim's statistics of the run, the statistics once no
        packet is in flight). nicsim keeps the time itself, because no other process runs
        meanwhile."""
        self.ask("port 0 reset-stats")
        with realtime(self.partners, self.ahead):
            self.run_to_end(rate, seconds)
        time.sleep(REST_S)
        after = self.ask("stats")
        for port in after["ports"]:
            if port["violations"]:
                raise BenchError("port %d: %s" % (port["port"], port["last_violation"]))
        if after["streams"][0]["corrupted"]:
            raise BenchError("%d packets came back damaged" % after["streams"][0]["corrupted"])
        return after["ports"][0]["wire"]["run"], after

    def run_to_end(self, rate, seconds):
        """Has the generator send for `seconds` from now on, and waits until it has ended."""
        self.ask("port 0 gen rate=%s time=%dus start" % (rate, seconds * 1e6))
        deadline = time.monotonic() + seconds + 20
        while "run" not in self.ask("stats")["ports"][0]["wire"]:
            if time.monotonic() > deadline:
                raise BenchError("the generator does not end")
            time.sleep(0.02)

    def run(self, seconds):
        """Returns a Load, as fast as the router takes packets."""
        run, _ = self.send("flat", seconds)
        if run["received"] == 0:
            raise BenchError("nothing was forwarded (%d packets sent)" % run["sent"])
        return Load(run["sent"], run["sent"], run["received"], 0, 0, run["ns"], 1, 1)

    def trial(self, pps, seconds):
        """Sends at a set rate; returns (packets sent a second, lost) once all frames are accounted
        for."""
        run, after = self.send("%d" % pps, seconds)
        return run["sent"] * 1e9 / run["ns"], after["streams"][0]["lost"]


def guest_tsc_hz(router):
    match = re.search(r"TSC (\d+) kHz", router.command("show version"))
    if not match:
        raise BenchError("`show version` does not tell the TSC's frequency")
    return int(match.group(1)) * 1000


@contextlib.contextmanager
def boot_on_models(work, accel, nic, table, words=(), more_ports=(), extra=""):
    """Yields (router, Models, paths of its files). words: further arguments of the launcher; extra: statements
    besides those of the table."""
    config = os.path.join(work, "bench.conf")
    with open(config, "w", encoding="ascii") as file:
        file.write(extra + table.configuration())
    path = {name: os.path.join(work, name) for name in ("pid", "qmp", "control", "stats")}
    arguments = ["router", "--config", config, "--accel", accel, "--memory", table.memory, "--nic", nic,
                 "--nicsim-control", path["control"], "--nicsim-stats", path["stats"],
                 "--pidfile", path["pid"], "--qmp", path["qmp"], *words]
    for text in ("wire:gen:rate=flat;start=manual;" + table.wire, "wire:sink", *more_ports):
        arguments += ["--port", text]
    with Guest(arguments, log=os.path.join(work, "console.log")) as router:
        router.wait_ready(120)
        router.wait_prompt()
        router.wait_links()
        yield router, Models(path["control"], guest_tsc_hz(router)), path


@contextlib.contextmanager
def router_on_models(work, accel, nic, table, mode="line-rate", append=(), idle="auto",
                     more_ports=()):
    """Yields (router, Models), pinned to their CPUs. With idle="poll" the data core is awake before the first
    packet, but no other guest may use its CPU."""
    words = ["--idle", idle, "--nic-mode", mode, "--nicsim-cpus", str(CPU_GENERATOR)]
    for text in append:
        words += ["--append", text]
    with boot_on_models(work, accel, nic, table, words, more_ports) as (router, models, path):
        models.partners = pin_guest(path["pid"], path["qmp"]) + [process_of(path["control"])]
        own_group(models.partners[-1])
        with open(path["pid"], encoding="ascii") as file:
            qemu = file.read().strip()
        # QEMU's other threads deliver interrupts, and hold the lock needed for that. With
        # idle="poll" no core waits for an interrupt, and one of those threads never sleeps.
        if idle != "poll":
            models.ahead = [int(thread) for thread in os.listdir("/proc/%s/task" % qemu)
                            if int(thread) not in models.partners]
        yield router, models


def process_of(control):
    """The nicsim with this control socket."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                words = file.read().split(b"\0")
            if os.path.basename(words[0]) == b"nicsim" and control.encode() in words:
                return int(pid)
    raise BenchError("nicsim does not run")


def curve(work, accel, nic, table, mode, seconds, bursts=BURSTS):
    """[(maximum packets per tail write, Mpps)] of the router with vectors of that size."""
    points = []
    for burst in bursts:
        with router_on_models(work, accel, nic, table, mode,
                              ["burst=%d" % burst]) as (router, models):
            models.run(seconds)
            # the best of SLICES: the host keeps the CPUs apart for whole slices
            points.append((burst, max(models.run(seconds).mpps() for _ in range(SLICES))))
    return points
