"""The generator: the cost of a 64-byte frame on one core, beside DPDK's testpmd.

  pktgen.KIND.STREAM.*       KIND: null, a port without a device; virtio, over vhost-user with
                             vhost_gen at the other end, which takes frames and looks at descriptors
                             only; virtio_in_order, the same with VIRTIO_F_IN_ORDER; ixgbe, mlx5: a
                             modelled 82599 or ConnectX-5 in line-rate mode whose wire checks them.
                             STREAM: see STREAMS
  peer.testpmd.KIND.MODE.*   txonly: the same frames again and again; multi_flow: with a random
                             source address (txonly-multi-flow); flowgen: 1024 destinations in
                             turn. On net_null, or in the guest's place over virtio-user
  pktgen.KIND.tx_burst.N.*   the fixed stream with at most N frames for one doorbell
  pktgen.KIND.latency.*      from stamp to stamp, over a cable between two ports of one machine

cycles_per_packet: TSC ticks of the loop's turns in which something was sent, divided by the frames
sent (`show cores`, `show interfaces`); for testpmd the figure of --record-core-cycles, which covers
all its time. A turn that finds the ring full takes time but does not count here: then the device or
its substitute is the limit, and cycles * rate is below the TSC's frequency (busy_share). Rates on
virtio are measured at the other end.
"""
import contextlib
import functools
import os
import re
import select
import statistics
import time

from load import (CPU_DATA, CPU_GENERATOR, SLICE_S, BenchError, Generator, build_tools, eal,
                  pin_guest, progress, realtime, round_trip_ns)
from models import BURSTS, guest_tsc_hz, process_of
from peers import dpdk_under_load, dpdk_version, virtio_user
from table import SMALL
from launcher import nicsim
from launcher.guest import PROMPT, Guest
from launcher.options import NIC_MODELS
from launcher.ports import MAC_BASE, mac_of

RANDOM = " vary source address random 10.0.0.0 10.255.255.255\n"
STREAMS = {"fixed": " no stamp\n", "stamped": " stamp\n", "random": " no stamp\n" + RANDOM,
           "random_stamped": " stamp\n" + RANDOM}
PEERS = {"txonly": ["--forward-mode=txonly"],
         "multi_flow": ["--forward-mode=txonly", "--txonly-multi-flow"],
         "flowgen": ["--forward-mode=flowgen"]}
BESIDE = {"fixed": "txonly", "stamped": "txonly", "random": "multi_flow",
          "random_stamped": "multi_flow"}
RUN_S = SLICE_S + 0.3  # of the generator: it begins before the slice and ends after it
START_S = 0.1  # a model of real-time priority leaves the control core no time, which starts and ends a run
PATIENCE_S = 30
OVER = re.compile(r"(?s)(?:Run of |the run failed).*?" + PROMPT.pattern)  # the output of a run
BURST = 64  # of testpmd and, by default, of ours
MBUFS = 4096  # of testpmd, which uses them in rotation: with 16384 a frame costs twice as much
LATENCY_PPS = 20000
LATENCY = ("min", "p50", "p99", "p99.9", "max")
UNITS = {"mpps": ("Mpps", "higher"), "cycles_per_packet": ("TSC cycles", "lower"),
         "busy_share": ("of time", "higher"), "doorbells_per_packet": ("per packet", "lower")}


def script(lines, port="eth0", run_s=RUN_S, rate="flat"):
    """The script, for the first port by default, as over a cable: a card takes only frames sent to
    its address."""
    return ("stream bench\n port %s\n mac destination %s\n"
            " udp 198.18.0.1 198.19.0.1\n size 64\n rate %s\n%s limit %dms\n"
            % (port, mac_of(MAC_BASE, 0), rate, lines, run_s * 1000))


class Sink(Generator):
    """vhost_gen as the receiver of a generator."""

    def __init__(self, work, huge, cable=False):
        super().__init__(work, huge, SMALL[0].load)
        self.cable = cable
        self.sockets = self.sockets if cable else self.sockets[1:]

    def wait_link(self, timeout_s=60):
        deadline = time.monotonic() + timeout_s
        while self.ask("link")[not self.cable:] != ["1"] * len(self.sockets):
            if time.monotonic() > deadline:
                raise BenchError("the other side did not bring its ring up")
            time.sleep(0.05)

    def take(self, sender, seconds):
        """Starts `sender`, measures one slice and stops it; returns {figure: value}."""
        with realtime([self.child.pid] + self.partners):
            sender.begin()
            taken, nanoseconds, rounds, empty = map(int, self.ask("sink %g" % seconds, 60))
            if not taken:
                raise BenchError("nothing was sent")
            sender.stop()
            deadline = time.monotonic() + PATIENCE_S
            while True:  # a sender cannot end while its ring is full
                self.ask("drain")
                if sender.is_over():
                    break
                if time.monotonic() > deadline:
                    raise BenchError("the generator does not come to an end")
        return {"mpps": taken * 1e3 / nanoseconds, "empty_share": empty / rounds}


class Ours:
    """The image as a generator; begin(), stop() and end() make one run of its script."""

    def __init__(self, stack, work, accel, text, ports, append=()):
        paths = {name: os.path.join(work, name) for name in ("conf", "gen", "pid", "qmp")}
        count = sum(word == "--port" for word in ports) or 1
        with open(paths["conf"], "w", encoding="ascii") as file:
            file.writelines("interface eth%d\n" % n for n in range(count))
        with open(paths["gen"], "w", encoding="ascii") as file:
            file.write(text)
        words = ["pktgen", "--config", paths["conf"], "--script", paths["gen"], "--accel", accel,
                 "--idle", "auto", "--memory", "256M", "--pidfile", paths["pid"], "--qmp",
                 paths["qmp"], *ports]
        for word in ("live=lines", *append):
            words += ["--append", word]
        self.guest = stack.enter_context(Guest(words, log=os.path.join(work, "console.log")))
        self.guest.wait_ready(120)
        self.guest.wait_prompt()
        self.guest.wait_links()
        self.data = pin_guest(paths["pid"], paths["qmp"])
        self.hz = guest_tsc_hz(self.guest)

    def inside(self):
        core = next(row for row in self.guest.cores() if row["core"] == 1)
        ports = self.guest.interfaces().values()
        return [core["busy_cycles"]] + [sum(port[name] for port in ports)
                                        for name in ("tx_pkts", "mmio_writes")]

    def begin(self):
        self.before = self.inside()
        self.guest.skip()
        self.guest.send("start")

    def stop(self):
        """It stops by itself."""

    def is_over(self):
        self.guest.poll()
        return bool(OVER.search(self.guest.text, self.guest.mark))

    def end(self):
        """The result of the run, as the generator reports it."""
        said = self.guest.expect(OVER, PATIENCE_S).group(0)
        cycles, sent, doorbells = (after - before for after, before
                                   in zip(self.inside(), self.before))
        rate = re.search(r"([0-9.]+) Mpps", said)
        if not rate:
            raise BenchError("the generator sent nothing: " + said)
        return said, {"mpps": float(rate.group(1)), "cycles_per_packet": cycles / sent,
                      "doorbells_per_packet": doorbells / sent}


class Testpmd:
    """testpmd with the same interface; it waits between runs."""

    def __init__(self, stack, huge, mode, port, backend):
        words = ["dpdk-testpmd"] + eal("hayate-peer-%d-%s" % (os.getpid(), mode),
                                       [CPU_GENERATOR, CPU_DATA], huge, 128)
        words += port + ["--", "-i", "--nb-cores=1", "--txpkts=60", "--txd=1024", "--rxd=1024",
                         "--burst=%d" % BURST, "--total-num-mbufs=%d" % MBUFS,
                         "--record-core-cycles", *PEERS[mode]]
        self.terminal = stack.enter_context(dpdk_under_load(words, b"testpmd> ", backend))
        self.partners = backend.partners

    def begin(self):
        os.write(self.terminal, b"start\n")

    def stop(self):
        os.write(self.terminal, b"stop\n")

    def is_over(self):
        return True

    def end(self):
        said, deadline = b"", time.monotonic() + PATIENCE_S
        while b"MHz Clock" not in said:
            if not select.select([self.terminal], [], [], deadline - time.monotonic())[0]:
                raise BenchError("testpmd does not stop")
            said += os.read(self.terminal, 65536)
        cycles, total, packets, mhz = re.search(
            r"CPU cycles/packet=([0-9.]+) \(\w+ cycles=(\d+) / \w+ \w+ packets=(\d+)\) at (\d+)",
            said.decode()).groups()
        return said, {"mpps": int(packets) * int(mhz) / int(total),
                      "cycles_per_packet": float(cycles)}


class Nowhere:
    """The load for dpdk_under_load where there is none."""
    partners = ()
    sockets = ()

    def wait_link(self):
        pass


# --- slices ---

def slice_null(sender, threads):
    """No receiver: the run's duration is the sender's own."""
    with realtime(threads):
        sender.begin()
        time.sleep(RUN_S)
        sender.stop()
        return sender.end()[1]


def slice_vhost(sender, sink):
    outside = sink.take(sender, SLICE_S)
    inside = sender.end()[1]
    return dict(inside, **outside)


def with_share(got, hz):
    got["busy_share"] = got["cycles_per_packet"] * got["mpps"] * 1e6 / hz
    return got


# --- measurements ---

def folder(work, *names):
    path = os.path.join(work, *names)
    os.makedirs(path, exist_ok=True)
    return path


def contender_null(stack, work, huge, accel, what, append=()):
    """Returns a function that measures one slice."""
    if what in PEERS:
        peer = Testpmd(stack, huge, what, ["--vdev", "net_null0"], Nowhere())
        return lambda: slice_null(peer, peer.partners)
    ours = Ours(stack, work, accel, script(STREAMS[what]), [], ["null-sinks=1", *append])
    return lambda: with_share(slice_null(ours, ours.data), ours.hz)


def contender_virtio(stack, work, huge, accel, what, append=(), option=""):
    sink = stack.enter_context(Sink(work, huge))
    if what in PEERS:
        peer = Testpmd(stack, huge, what, virtio_user(sink), sink)
        return lambda: slice_vhost(peer, sink)
    ours = Ours(stack, work, accel, script(STREAMS[what]),
                ["--port", "vhost-user:" + sink.sockets[0] + option], append)
    sink.wait_link()
    sink.partners = ours.data
    return lambda: with_share(slice_vhost(ours, sink), ours.hz)


def contender_modelled(nic, stack, work, _huge, accel, what, append=(), mode="line-rate"):
    control = os.path.join(work, "control")
    ours = Ours(stack, work, accel, script(STREAMS[what]),
                ["--nic", nic, "--nic-mode", mode, "--nicsim-cpus", str(CPU_GENERATOR),
                 "--nicsim-control", control, "--port", "wire:sink"], append)
    model = process_of(control)

    def measure():
        ours.begin()
        time.sleep(START_S)
        with realtime([model] + ours.data):
            time.sleep(SLICE_S)
        got = with_share(ours.end()[1], ours.hz)
        port = nicsim.ask(control, "stats", 30)["ports"][0]
        if port["violations"]:
            raise BenchError(port["last_violation"])
        return got

    return measure


CONTENDERS = {"null": contender_null, "virtio": contender_virtio,
              "virtio_in_order": functools.partial(contender_virtio, option=",in_order=on"),
              **{nic: functools.partial(contender_modelled, nic) for nic in NIC_MODELS}}
WITH_PEERS = ("null", "virtio")


def by_turns(work, huge, accel, kind, turns):
    """Measures all contenders in each turn: {contender: its slices}, and the round trips between
    the CPUs meanwhile."""
    whats = [*STREAMS, *(PEERS if kind in WITH_PEERS else ())]
    measured, trips = {what: [] for what in whats}, []
    with contextlib.ExitStack() as stack:
        ready = {what: CONTENDERS[kind](stack, folder(work, kind, what), huge, accel, what)
                 for what in whats}
        for _ in range(turns):
            trips.append(round_trip_ns())
            for what, measure in ready.items():
                measured[what].append(measure())
    return measured, trips


def costs(results, work, huge, accel, kind, turns):
    measured, trips = by_turns(work, huge, accel, kind, turns)
    progress("pktgen, %s: core to core and back %s ns" % (
        kind, " ".join("%.0f" % trip for trip in trips)))
    for what, slices in measured.items():
        middle = {figure: statistics.median(got[figure] for got in slices) for figure in slices[0]}
        progress("    %-15s %s" % (what, ", ".join(
            "%s %.2f" % (figure, value) for figure, value in middle.items())))
        peer = measured.get(BESIDE.get(what))
        name = "pktgen.%s.%s" if what in STREAMS else "peer.testpmd.%s.%s"
        for figure in middle:
            if figure not in UNITS:
                continue
            other = peer and figure in peer[0]
            results.add(name % (kind, what) + "." + figure, [got[figure] for got in slices],
                        *UNITS[figure], accel if what in STREAMS else "host",
                        "%s testpmd %s" % (dpdk_version(), BESIDE[what]) if other else None,
                        [got[figure] for got in peer] if other else None)
    results.add("pktgen.%s.core_round_trip" % kind, trips, "ns", "lower", "host")


def curve(results, work, huge, accel, kind, turns, **how):
    """The rate of the fixed stream against frames for one doorbell."""
    name = ".".join(["pktgen", kind, *how.values(), "tx_burst"])
    for burst in BURSTS:
        with contextlib.ExitStack() as stack:
            measure = CONTENDERS[kind](stack, folder(work, name, str(burst)), huge, accel, "fixed",
                                       append=["tx-burst=%d" % burst], **how)
            slices = [measure() for _ in range(turns)]
        progress("%s %d: %.2f Mpps" % (name, burst, max(got["mpps"] for got in slices)))
        for figure in ("mpps", "cycles_per_packet"):
            results.add("%s.%d.%s" % (name, burst, figure), [got[figure] for got in slices],
                        *UNITS[figure], accel)


def floor(results, work, huge, accel, kind, turns):
    """The lowest possible latency: two ports of one machine and a cable."""
    text = script(" stamp\n", port="eth1 to eth0", rate="%dpps" % LATENCY_PPS)
    work = folder(work, kind, "floor")
    with contextlib.ExitStack() as stack:
        if kind == "virtio":
            sink = stack.enter_context(Sink(work, huge, cable=True))
            ports = ["--port", "vhost-user:" + sink.sockets[0],
                     "--port", "vhost-user:" + sink.sockets[1]]
        else:
            ports = ["--nic", kind, "--nic-mode", "line-rate", "--nicsim-cpus",
                     str(CPU_GENERATOR), "--nicsim-control", os.path.join(work, "control"),
                     "--port", "wire:link:1", "--port", "wire:link:0"]
        ours = Ours(stack, work, accel, text, ports)
        cable = sink.child.pid if kind == "virtio" else process_of(os.path.join(work, "control"))
        found = []
        for _ in range(turns):
            with realtime([cable] + ours.data):
                ours.begin()
                if kind == "virtio":
                    sink.ask("cable %g" % RUN_S)
                said = ours.end()[0]
            line = re.search(r"latency ns: (.*)", said)
            if not line:
                raise BenchError("nothing came back: " + said)
            found.append(dict(zip(line.group(1).split()[::2], line.group(1).split()[1::2])))
    progress("latency, %s: %s" % (kind, found))
    for word in LATENCY:
        results.add("pktgen.%s.latency.%s" % (kind, word.replace(".", "_")),
                    [float(got[word]) for got in found], "ns", "lower", accel)


def pktgen(results, work, huge, accel, turns, parts, nics):
    build_tools()
    if "pktgen" in parts:
        for kind in CONTENDERS:
            if kind in nics or kind not in NIC_MODELS:
                costs(results, work, huge, accel, kind, turns)
    if "pktgen-curve" in parts:
        curve(results, work, huge, accel, "virtio", turns)
        for nic in nics:
            curve(results, work, huge, accel, nic, turns)
            curve(results, work, huge, accel, nic, turns, mode="strict")
    if "pktgen-latency" in parts:
        for kind in ("virtio", *nics):
            floor(results, work, huge, accel, kind, turns)
