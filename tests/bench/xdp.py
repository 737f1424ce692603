"""XDP programs in the image, beside Linux: the same object files in both.

  drop, tx    tests/bpf/programs/drop.c, tx.c (exchanges the MAC addresses, XDP_TX)
  count       tests/bench/xdp/count.c: counts packets and bytes in a per-CPU array, drops
  five_tuple  tests/bench/xdp/five_tuple.c: drops the flows of a hash, which are the 65,536 of the load
  lpm         tests/bench/xdp/lpm.c: drops by the longest of 100,000 prefixes; the load goes to 16,384 of them

  null        the image between null ports: frames made on the spot by the data core (drivers/null)
  virtio      the image over vhost-user, on vhost_gen, which sends as fast as the image takes frames
  veth        Linux, native XDP (driver mode) on a veth device. xdp_linux sends from the first CPU; the device's
              NAPI, a thread of the kernel, has the second. What crosses the CPUs is a pointer to a page in place of
              virtio's descriptors. No card and no hypervisor is involved, so Linux needs no driver's work for
              descriptors, doorbells or DMA. A frame of TX counts when it has come back
  live        Linux, the program on live frames of BPF_PROG_TEST_RUN, without a device: the counterpart of null, but
              all frames are of one flow, and are recycled instead of made. Not for tx, which needs a device
  bare        Linux, the program alone on one packet again and again, by BPF_PROG_TEST_RUN

Busy cycles are what the core spends on a packet, by the image's own count or by the CPU time of NAPI's thread. Where
the generator is the limit (a note says so), they are to be compared, not the rates. A stock Linux guest on the same
vhost-user sockets would be nearer to virtio. But software KVM executes ring 3 natively and a guest's kernel not,
so it would measure KVM.

Contenders take turns for each program. The null guest, whose data core never sleeps, is stopped outside its turns.
`pass` (tests/bpf/programs/pass.c) and no program take turns as well: their difference is the cost of hook and
call. Further: bpf_bench's ratio to GCC, and the time to verify and compile long.c, of 4,000 instructions.
"""
import contextlib
import json
import os
import re
import statistics
import struct
import subprocess
import time

from load import (CPU_DATA, CPU_GENERATOR, REST_S, ROOT, SLICE_S, TOOLS, WARM_UP_S, BenchError, Generator, Load,
                  build_tools, make, median_of, own_group, pin_guest, progress, realtime, round_trip_ns)
from peers import NEXT_HOP_MAC
from router import data_core, router_under_load
from services import mkdir
from web import MANAGEMENT, management, others, scraper_host
from launcher import machine, netlab
from launcher.guest import Guest

OBJECTS = os.path.join(ROOT, "build", "bpf")
OWN_OBJECTS = os.path.join(TOOLS, "xdp")
PROGRAMS = {"drop": OBJECTS, "tx": OBJECTS, "count": OWN_OBJECTS, "five_tuple": OWN_OBJECTS, "lpm": OWN_OBJECTS}
LONG = os.path.join(OWN_OBJECTS, "long.o")
NONE = "none"
HOOK_PAIRS = 3  # turns with `pass` and without a program, in a run
PREFIXES, PREFIXES_USED = 100000, 16384
JSON_ROOM = 1 << 20  # of a PUT
BACK = {"drop": -1, "tx": 0, "count": -1, "five_tuple": -1, "lpm": -1, "pass": 1, NONE: 1}  # vhost_gen's port
TO = "198.19.0.0"
DROP = struct.pack("<I", 1)  # XDP_DROP
LINUX = "Linux %s, native XDP on veth" % os.uname().release
LIVE = "Linux %s, live frames without a device" % os.uname().release

CONFIGURATION = """\
hostname bench
interface eth%(first)d
 ip address 192.0.2.1/24
interface eth%(second)d
 ip address 198.51.100.1/24
arp 198.51.100.2 %(mac)s
ip route 198.19.0.0/16 198.51.100.2
"""


def path_of(program):
    return os.path.join(PROGRAMS.get(program, OBJECTS), program + ".o")


# --- entries of maps ---

def flows(source, source_port, destination_port):
    """All flows of a load, as five_tuple.c's keys and values."""
    for low in range(1 << 16):
        destination = bytes((198, 19, low >> 8, low & 255))
        yield source + destination + struct.pack("!HHB3x", source_port, destination_port, 17), bytes(8)


def prefixes():
    """Those of the load, /30, and others, /24; as lpm.c's keys and values."""
    for n in range(PREFIXES):
        address = (bytes((198, 19, n >> 6, n << 2 & 255)) if n < PREFIXES_USED
                   else bytes((20 + (n >> 16), n >> 8 & 255, n & 255, 0)))
        yield struct.pack("<I", 30 if n < PREFIXES_USED else 24) + address, DROP


NULL_FLOWS = list(flows(bytes((198, 18, 0, 1)), 49184, 9))  # drivers/null/null.c
TABLES = {"five_tuple": ("blocked", NULL_FLOWS), "lpm": ("sources4", list(prefixes()))}
VIRTIO_TABLES = dict(TABLES, five_tuple=("blocked", list(flows(bytes((192, 0, 2, 2)), 1024, 9))))  # vhost_gen.c


# --- the image ---

class Image:
    """A router with all programs loaded and their maps filled, one of them on two ports."""

    def __init__(self, work, router, host, ports, tables):
        self.work, self.router, self.host, self.ports = work, router, host, ports
        self.program = NONE
        for program in [*PROGRAMS, "pass"]:
            self.put("programs/" + program, path_of(program))
        for program, (name, entries) in tables.items():
            self.fill("maps/%s/%s" % (program, name), entries)

    def put(self, what, path):
        words = ["curl", "-sS", "--max-time", "60", "-T", path, "http://%s/api/v1/%s" % (MANAGEMENT, what)]
        said = self.host.run(words, timeout_s=90, check=True).stdout
        answer = json.loads(said)
        if "error" in answer:
            raise BenchError("%s: %s" % (what, answer["error"]))
        return answer

    def fill(self, what, entries):
        path, began, done = os.path.join(self.work, "entries"), time.monotonic(), 0
        lines = ['{"key":"%s","value":"%s"}' % (key.hex(), value.hex()) for key, value in entries]
        at_once = JSON_ROOM // (len(lines[0]) + 1) - 1
        for first in range(0, len(lines), at_once):
            with open(path, "w", encoding="ascii") as file:
                file.write("[" + ",".join(lines[first:first + at_once]) + "]")
            done += self.put(what, path)["entries"]
        if done != len(entries):
            raise BenchError("%s: %d of %d entries were set" % (what, done, len(entries)))
        progress("%s: %d entries set over HTTP in %.1f s" % (what, done, time.monotonic() - began))

    def choose(self, program):
        if program == self.program:
            return
        said = self.router.command("configure")
        for port in self.ports:
            for line in ("interface eth%d" % port, "no xdp", *(["xdp " + program] if program != NONE else [])):
                said += self.router.command(line)
        said += self.router.command("commit") + self.router.command("end")
        if "rror" in said or "restart" in said:
            raise BenchError("xdp %s: %s" % (program, said.strip()))
        self.program = program

    def inside(self):
        return data_core(self.router), self.router.counters(), time.monotonic()

    def judge(self, before, after):
        """Cycles and rate between two looks; fails if the program did not do its work."""
        packets = after[0]["rx_pkts"] - before[0]["rx_pkts"]
        cycles = after[0]["busy_cycles"] - before[0]["busy_cycles"]
        changes = {name: n - before[1].get(name, 0) for name, n in after[1].items()}
        name = {"tx": "xdp_sent", "pass": "forwarded", NONE: "forwarded"}.get(self.program, "drop_xdp")
        done = changes.get(name, 0)
        if name == "forwarded":  # if the generator loses its CPU, nobody empties the ring
            done += changes.get("drop_tx_full", 0)
        if packets <= 0 or done < packets / 2:  # the counters are read later than the packets
            raise BenchError("%s: %d of %d packets count as %s" % (self.program, done, packets, name))
        return {"busy_cycles": cycles / packets, "inside_mpps": packets / (after[2] - before[2]) / 1e6}


class Null(Image):
    """Between null ports, which always have frames."""

    def __init__(self, stack, work, accel):
        host = scraper_host(stack)
        config, pidfile, self.qmp = (os.path.join(work, name) for name in ("conf", "pid", "qmp"))
        with open(config, "w", encoding="ascii") as file:
            file.write(CONFIGURATION % {"first": 1, "second": 2, "mac": NEXT_HOP_MAC} + management(0))
        router = stack.enter_context(Guest(
            ["router", "--config", config, "--accel", accel, "--memory", "1G", "--pidfile", pidfile, "--qmp", self.qmp,
             "--append", "null=2", "--port", host.port], log=os.path.join(work, "console.log")))
        router.wait_ready(120)
        router.wait_prompt()
        self.core = pin_guest(pidfile, self.qmp)
        router.wait_links()
        super().__init__(work, router, host, (1, 2), TABLES)
        machine.qmp(self.qmp, "stop")

    def turn(self, program):
        machine.qmp(self.qmp, "cont")
        try:
            self.choose(program)
            with realtime(self.core):
                time.sleep(REST_S / 2)
                before = self.inside()
                time.sleep(SLICE_S)
                after = self.inside()
        finally:
            machine.qmp(self.qmp, "stop")
        return self.judge(before, after)


class Virtio(Image):
    """Over vhost-user."""

    def __init__(self, stack, work, accel, huge):
        host = scraper_host(stack)
        self.pidfile = os.path.join(work, "pid")  # router_under_load's
        self.generator = stack.enter_context(Generator(work, huge, [TO, "256"]))
        text = CONFIGURATION % {"first": 0, "second": 1, "mac": NEXT_HOP_MAC} + management(2)
        router = stack.enter_context(router_under_load(work, accel, self.generator, text, more_ports=[host.port],
                                                       memory="1G"))
        super().__init__(work, router, host, (0, 1), VIRTIO_TABLES)

    def load(self, seconds):
        generator, back = self.generator, BACK[self.program]
        generator.ask("back %d" % back)
        with realtime([generator.child.pid] + generator.partners):
            load = Load(*map(int, generator.ask("run %g" % seconds, seconds + 30)))
        time.sleep(REST_S)
        if load.bad or load.nanoseconds == 0 or (back >= 0 and load.received == 0):
            raise BenchError("virtio, %s: nothing was done, or %d packets were damaged" % (self.program, load.bad))
        return load

    def turn(self, program):
        self.choose(program)
        self.load(WARM_UP_S / 3)
        before = self.inside()
        load = self.load(SLICE_S)
        got = self.judge(before, self.inside())
        packets = load.received if BACK[program] >= 0 else load.taken
        mpps = packets * 1e3 / load.nanoseconds
        got.update(mpps=mpps, cycles=self.generator.tsc_hz / mpps / 1e6, full_share=load.full_share())
        got["busy_share"] = got["busy_cycles"] / got["cycles"]
        return got


# --- Linux ---

def threads_of_napi(device):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open("/proc/%s/comm" % pid, encoding="ascii", errors="replace") as file:
            if file.read().startswith("napi/%s-" % device):
                found.append(int(pid))
    return found


class Linux(Generator):
    """A veth pair in a namespace of its own, and xdp_linux inside it."""

    def __init__(self, stack, work):
        host = stack.enter_context(netlab.Host("linux"))
        # comm, by which NAPI's threads are found, has 15 characters
        source, sink = ("%s%05d" % (letter, os.getpid() % 100000) for letter in "ts")
        host.ip("link", "add", source, "type", "veth", "peer", "name", sink)
        for device in (source, sink):
            host.ip("link", "set", device, "up")
        self.sockets, self.partners = [], []
        words = [os.path.join(TOOLS, "xdp_linux"), source, sink, os.path.join(OWN_OBJECTS, "source.o"),
                 path_of("drop")]
        self.log = open(os.path.join(work, "linux.log"), "w+", encoding="utf-8")
        self.child = host.popen(["unshare", "-m", "sh", "-c", "mount -t sysfs sysfs /sys && exec \"$@\"", "sh", *words],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, bufsize=1,
                                start_new_session=True, cpus={CPU_GENERATOR})
        stack.callback(self.close)
        own_group(self.child.pid)
        self.tsc_hz = int(self.answer("up", 30)[0])
        for program in PROGRAMS:
            self.ask("load %s %s" % (program, path_of(program)))
        for program, (name, entries) in TABLES.items():
            path = os.path.join(work, "entries")
            with open(path, "wb") as file:
                file.writelines(key + value for key, value in entries)
            if int(self.ask("fill %s %s %s" % (program, name, path))[0]) != len(entries):
                raise BenchError("Linux: %s is not filled" % name)
        self.ask("use drop")
        self.sink, self.back = threads_of_napi(sink), threads_of_napi(source)
        if len(self.sink) != 1 or len(self.back) != 1:
            raise BenchError("NAPI's threads are not visible")
        os.sched_setaffinity(self.sink[0], {CPU_DATA})
        os.sched_setaffinity(self.back[0], {CPU_GENERATOR})

    def turn(self, program):
        """The thread that sends has a lower priority than what takes frames back."""
        self.ask("use " + program)
        senders = [int(thread) for thread in os.listdir("/proc/%d/task" % self.child.pid)
                   if int(thread) != self.child.pid]
        with realtime(senders + self.sink, [self.child.pid, *self.back]):
            ran, returned, took_ns, busy_ns = map(int, self.ask("run %g %d" % (SLICE_S, self.sink[0])))
        time.sleep(REST_S)
        packets = returned if program == "tx" else ran
        if packets == 0 or busy_ns == 0:
            raise BenchError("Linux, %s: no frames" % program)
        got = {"mpps": packets * 1e3 / took_ns, "busy_cycles": busy_ns * self.tsc_hz / 1e9 / ran,
               "busy_share": busy_ns / took_ns, "dropped_share": 1 - packets / ran}
        os.sched_setaffinity(self.child.pid, {CPU_DATA})
        for name in ("bare",) if program == "tx" else ("live", "bare"):
            with realtime([self.child.pid]):
                number, took_ns = map(int, self.ask("%s %g" % (name, SLICE_S / 2)))
            got[name] = took_ns * self.tsc_hz / 1e9 / number
        os.sched_setaffinity(self.child.pid, {CPU_GENERATOR})
        return got


# --- results ---

def say(program, measured):
    null, virtio, linux = (measured[who, program] for who in ("null", "virtio", "veth"))
    text = "%-10s null %5.1f cycles, virtio %6.2f Mpps, %5.1f busy cycles (%3.0f %% of the time); " % (
        program, median_of(null, "busy_cycles"), *(median_of(virtio, figure) for figure in ("mpps", "busy_cycles")),
        100 * median_of(virtio, "busy_share"))
    text += "Linux: veth %5.2f Mpps, %5.1f busy cycles (%3.0f %%), alone %.1f" % (
        *(median_of(linux, figure) for figure in ("mpps", "busy_cycles")), 100 * median_of(linux, "busy_share"),
        median_of(linux, "bare"))
    if "live" in linux[0]:
        text += ", live frames %.1f" % median_of(linux, "live")
    return text


def column(turns, figure):
    return [got[figure] for got in turns]


def report(results, accel, measured):
    for program in PROGRAMS:
        null, virtio, linux = (measured[who, program] for who in ("null", "virtio", "veth"))
        live = column(linux, "live") if program != "tx" else None
        results.add("xdp.null.64B.%s.busy_cycles_per_packet" % program, column(null, "busy_cycles"), "TSC cycles",
                    "lower", accel, LIVE if live else None, live)
        name = "xdp.virtio.64B.%s." % program
        results.add(name + "mpps", column(virtio, "mpps"), "Mpps", "higher", accel, LINUX, column(linux, "mpps"))
        results.add(name + "busy_cycles_per_packet", column(virtio, "busy_cycles"), "TSC cycles", "lower", accel, LINUX,
                    column(linux, "busy_cycles"))
        results.add(name + "rate_ratio", [a["mpps"] / b["mpps"] for a, b in zip(virtio, linux)], "times Linux'",
                    "higher", accel)
        results.add("peer.linux.xdp.%s.program_alone" % program, column(linux, "bare"), "TSC cycles", "lower", "host")
        for who, turns in (("virtio", virtio), ("Linux", linux)):
            if median_of(turns, "busy_share") < 0.95:
                results.note("xdp %s, %s: the GENERATOR was the limit: the core was busy %.0f %% of the time" % (
                    program, who, 100 * median_of(turns, "busy_share")))
    trips = [got["trip"] for turns in measured.values() for got in turns]
    results.note("xdp: core to core and back %.0f ns (%.0f to %.0f)" % (
        statistics.median(trips), min(trips), max(trips)))
    for who in ("null", "virtio"):
        pairs = list(zip(measured[who, NONE], measured[who, "pass"]))
        for program in (NONE, "pass"):
            results.add("xdp.%s.64B.%s.busy_cycles_per_packet" % (who, program),
                        column(measured[who, program], "busy_cycles"), "TSC cycles", "lower", accel)
        results.add("xdp.%s.64B.hook_and_call" % who, [b["busy_cycles"] - a["busy_cycles"] for a, b in pairs],
                    "TSC cycles", "lower", accel)


def compiled(results):
    """Programs compiled by us and by GCC, without the image (make bpf-bench)."""
    said = subprocess.run([os.path.join(TOOLS, "bpf_bench")], cwd=ROOT, capture_output=True, text=True,
                          check=True).stdout
    for name, ours, gcc, ratio in re.findall(r"^(\w+) +([\d.]+) +([\d.]+) +([\d.]+) +\d+$", said, re.M):
        results.add("xdp.compiled.%s.cycles" % name, [float(ours)], "TSC cycles", "lower", "host", "the same C by GCC",
                    [float(gcc)])
        progress("%s: compiled by us %s cycles, by GCC %s, ratio %s" % (name, ours, gcc, ratio))


def loading(results, accel, image, runs):
    """The image verifies and compiles a program of 4,000 instructions. Its threads have real-time priority, because
    the times are the clock's."""
    took = {"verify_us": [], "compile_us": [], "longest_us": []}
    for _ in range(runs):
        with realtime(others(image.pidfile, image.generator.partners)):
            answer = image.put("programs/long", LONG)
        for name, times in took.items():
            times.append(answer[name] / 1000)
    words = ["curl", "-sS", "http://%s/api/v1/programs/long" % MANAGEMENT]
    instructions = json.loads(image.host.run(words, check=True).stdout)["programs"][0]["instructions"]
    results.add("xdp.load.%d_instructions" % instructions,
                [a + b for a, b in zip(took["verify_us"], took["compile_us"])], "ms", "lower", accel)
    results.note("xdp: %d instructions: verified in %.1f ms, compiled in %.1f ms, at most %.1f ms at a time" % (
        instructions, *(statistics.median(took[name]) for name in took)))


def xdp(results, work, accel, huge, runs):
    build_tools()
    made = make("bench-xdp")
    if made.returncode != 0:
        raise BenchError("bench-xdp: " + made.stderr.strip()[-300:])
    work = mkdir(work, "xdp")
    measured, loads = {}, [os.getloadavg()[0]]
    with contextlib.ExitStack() as stack:
        null = Null(stack, mkdir(work, "null"), accel)
        virtio = Virtio(stack, mkdir(work, "virtio"), accel, huge)
        contenders = {"null": null, "virtio": virtio, "veth": Linux(stack, work)}
        loading(results, accel, virtio, runs)
        for _ in range(runs):
            for program in [*PROGRAMS, *(NONE, "pass") * HOOK_PAIRS]:
                for who, contender in contenders.items():
                    if who == "veth" and program in (NONE, "pass"):
                        continue
                    trip = round_trip_ns()
                    got = contender.turn(program)
                    got["trip"] = max(trip, round_trip_ns())
                    measured.setdefault((who, program), []).append(got)
                loads.append(os.getloadavg()[0])
        for program in PROGRAMS:
            progress(say(program, measured))
    results.note("xdp: load of the machine %.1f to %.1f, with our own two to three" % (min(loads), max(loads)))
    report(results, accel, measured)
    compiled(results)
