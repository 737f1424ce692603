"""The switch over vhost-user beside Open vSwitch with DPDK and testpmd, each with its own generator, in turns.

Stations are MAC addresses at the port where the generator's frames leave; it has sent a frame from each before.
With one, all frames go to it; with more, each frame goes to another. testpmd (mode macswap) looks nothing up.
Open vSwitch keeps a flow for each pair of stations, and gets no more of them than it keeps by default.

Before that without a device (drivers/null): the switch, and the discard application, which frees each frame. The
difference is what switching costs.
"""
import contextlib
import os
import shutil
import statistics
import struct
import subprocess
import time

from load import (CPU_DATA, CPU_GENERATOR, SLICE_S, WARM_UP_S, BenchError, Generator, build_tools, hugepages,
                  near_only, own_group, pin_guest, progress, realtime, round_trip_ns, say)
from peers import READY_S, peer_testpmd, virtio_user
from router import data_core, router_under_load
from launcher import process
from launcher.guest import Guest

FIRST_STATION = "02:00:00:00:00:01"
STATIONS = {"1station": 1, "16kstations": 1 << 14, "1Mstations": 1000000 // 256 * 256}
OVS_MOST = 1 << 14
TEACH_MPPS, TEACH_ROUNDS = 0.05, 20
HUGEPAGES = 1024
CONFIG = "hostname bench\napplication switch\nspanning-tree mode none\nmac address-table aging-time 0\n"
OVS_DAEMON = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
OVS_SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
UNITS = {"mpps": ("Mpps", "higher"), "cycles_per_packet": ("TSC cycles", "lower")}


class Stations:
    """What the generator sends to."""

    def __init__(self, work, name):
        self.name, self.number = name, STATIONS[name]
        self.program = "vhost_gen" if self.number == 1 else "vhost_gen_stations"
        self.load = ["10.0.0.0", "1"]
        if self.number > 1:
            self.load = [os.path.join(work, "destinations")]
            with open(self.load[0], "wb") as file:
                file.write(b"".join(struct.pack("!I", 0x0A000000 + n) for n in range(self.number)))


def taught(generator, stations, known):
    """Has the stations speak until the switch knows them all."""
    for _ in range(TEACH_ROUNDS):
        if stations.number == 1:
            break
        generator.ask("teach %g" % TEACH_MPPS, 120)
        time.sleep(0.5)
        if known() >= stations.number:
            return
    if stations.number > 1:
        raise BenchError("%d of %d stations are known" % (known(), stations.number))


class OpenVSwitch:
    """Its daemons in a network namespace of their own, with all files in `work`."""

    def __init__(self, stack, work, generator):
        self.env = dict(os.environ, OVS_RUNDIR=work, OVS_LOGDIR=work, OVS_DBDIR=work)
        self.database = "unix:" + os.path.join(work, "db.sock")
        self.work = work
        path = os.path.join(work, "conf.db")
        self._run("ovsdb-tool", "create", path, OVS_SCHEMA)
        self._daemon(stack, ["ovsdb-server", "--remote=punix:" + self.database[5:], path])
        self._wait(lambda: os.path.exists(self.database[5:]), "its database")
        extra = "--no-pci --in-memory --single-file-segments --no-telemetry"
        self.set("--no-wait", "set", "Open_vSwitch", ".", "other_config:dpdk-init=true",
                 "other_config:dpdk-extra=" + extra, "other_config:dpdk-socket-mem=512",
                 "other_config:dpdk-lcore-mask=%#x" % (1 << CPU_GENERATOR),
                 "other_config:pmd-cpu-mask=%#x" % (1 << CPU_DATA))
        child = self._daemon(stack, ["unshare", "--net", OVS_DAEMON, self.database, "--unixctl=" + self._control()])
        self.set("--", "add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev",
                 "other_config:mac-table-size=1000000", "other_config:mac-aging-time=3600")
        words = virtio_user(generator)
        for index in range(2):
            self.set("add-port", "br0", "p%d" % index, "--", "set", "Interface", "p%d" % index, "type=dpdk",
                     "options:dpdk-devargs=" + words[2 * index + 1], "options:n_rxq_desc=1024",
                     "options:n_txq_desc=1024")
        generator.wait_link()
        self._run("ovs-appctl", "-t", self._control(), "fdb/add", "br0", "p1", "0", FIRST_STATION)
        generator.partners = [int(thread) for thread in os.listdir("/proc/%d/task" % child.pid)
                              if os.sched_getaffinity(int(thread)) == {CPU_DATA}]

    def _control(self):
        return os.path.join(self.work, "vswitchd.ctl")

    def _daemon(self, stack, words):
        child = process.popen(words, env=self.env, start_new_session=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stack.callback(process.stop, child, 5)
        own_group(child.pid)
        return child

    def _run(self, *words):
        done = subprocess.run(words, env=self.env, capture_output=True, text=True, timeout=READY_S, check=False)
        if done.returncode:
            raise BenchError("%s: %s" % (" ".join(words[:3]), done.stderr.strip()[-300:]))
        return done.stdout

    def _wait(self, there, what):
        deadline = time.monotonic() + READY_S
        while not there():
            if time.monotonic() > deadline:
                raise BenchError("Open vSwitch: no " + what)
            time.sleep(0.05)

    def set(self, *words):
        self._run("ovs-vsctl", "--db=" + self.database, "--timeout=%d" % READY_S, *words)

    def known(self):
        said = self._run("ovs-appctl", "-t", self._control(), "fdb/stats-show", "br0")
        return int(said.split("Current/maximum MAC entries in the table:")[1].split("/")[0])


class Contender:
    def __init__(self, stack, work, huge, accel, what, stations):
        self.what, self.router = what, None
        work = os.path.join(work, "%s.%s" % (what, stations.name))
        os.makedirs(work)
        self.generator = stack.enter_context(
            Generator(work, huge, stations.load, stations.program, FIRST_STATION))
        if what == "switch":
            text = CONFIG + "mac address-table static %s vlan 1 interface eth1\n" % FIRST_STATION
            self.router = stack.enter_context(router_under_load(work, accel, self.generator, text, app="switch"))
            taught(self.generator, stations, self._known)
        elif what == "ovs-dpdk":
            ovs = OpenVSwitch(stack, work, self.generator)
            taught(self.generator, stations, ovs.known)
        else:
            stack.enter_context(peer_testpmd(work, huge, self.generator, None, "macswap"))
        self.generator.run(WARM_UP_S)
        self.before = self.inside()

    def _known(self):
        said = dict(line.split()[:2] for line in self.router.command("show mac address-table count").splitlines())
        return int(said["learned_eth1"]) + int(said["static"])

    def inside(self):
        return data_core(self.router) if self.router else None

    def turn(self):
        trip = round_trip_ns()
        load = self.generator.run(SLICE_S)
        got = {"trip": max(trip, round_trip_ns()), "mpps": load.mpps(),
               "cycles_per_packet": self.generator.tsc_hz / (load.mpps() * 1e6),
               "offered_per_taken": load.offered / load.taken, "full_share": load.full_share()}
        if self.router:
            before, self.before = self.before, self.inside()
            packets = max(1, self.before["rx_pkts"] - before["rx_pkts"])
            got["busy_cycles_per_packet"] = (self.before["busy_cycles"] - before["busy_cycles"]) / packets
            got["busy_share"] = got["busy_cycles_per_packet"] / got["cycles_per_packet"]
            got["packets_per_turn"] = self.before.get("pkts_turn", 0)
        return got


def without_device(results, work, accel, runs):
    """Frames of a null port to a station at another, which throws them away; and frames that are discarded."""
    parts = {"switch": CONFIG + "mac address-table static 02:6e:75:6c:6c:00 vlan 1 interface eth1\n",
             "discard": "hostname bench\napplication discard\ninterface eth0\n ip address 198.18.0.9/24\n"}
    measured = {app: [] for app in parts}
    with contextlib.ExitStack() as stack:
        machines = []
        for app, text in parts.items():
            config, pidfile, qmp_path = (os.path.join(work, app + end) for end in (".conf", ".pid", ".qmp"))
            with open(config, "w", encoding="ascii") as file:
                file.write(text)
            guest = stack.enter_context(Guest([app, "--config", config, "--accel", accel, "--pidfile", pidfile, "--qmp",
                                               qmp_path, "--append", "null=1 null-sinks=1"]))
            guest.wait_ready(120)
            guest.wait_prompt()
            machines.append((app, guest, pin_guest(pidfile, qmp_path)))
        for _ in range(runs * 5):
            for app, guest, core in machines:
                before = data_core(guest)
                with realtime(core):
                    time.sleep(SLICE_S)
                after = data_core(guest)
                measured[app].append((after["busy_cycles"] - before["busy_cycles"]) /
                                     (after["rx_pkts"] - before["rx_pkts"]))
        sent = machines[0][1].interfaces()["eth1"]["tx_pkts"]
        if not sent:
            raise BenchError("null ports: nothing was sent by eth1")
    for app in parts:
        results.add("switch.null.64B.%s.busy_cycles_per_packet" % app, measured[app], "TSC cycles", "lower", accel)
    progress("without a device: " + ", ".join("%s %.1f" % (app, statistics.median(got)) for app, got in measured.items()))


def contenders_of(stations):
    return ["switch"] + (["ovs-dpdk"] if stations.number <= OVS_MOST else []) + (
        ["testpmd"] if stations.number == 1 else [])


def switch(results, work, accel, runs, seconds):
    if not {CPU_GENERATOR, CPU_DATA} <= os.sched_getaffinity(0):
        raise BenchError("switch needs two CPUs")
    for path in OVS_DAEMON, OVS_SCHEMA:
        if not os.path.exists(path):
            raise BenchError("%s is missing (tools/deps.sh install bench)" % path)
    build_tools()
    without_device(results, work, accel, runs)
    with hugepages(HUGEPAGES) as huge:
        for name in STATIONS:
            folder = os.path.join(work, "switch." + name)
            os.makedirs(folder)
            one_size(results, folder, accel, huge, Stations(folder, name), runs, max(1, round(seconds / SLICE_S)))
            shutil.rmtree(folder)


def one_size(results, work, accel, huge, stations, runs, turns):
    measured = {what: [] for what in contenders_of(stations)}
    for number in range(runs):
        folder = os.path.join(work, str(number))
        with contextlib.ExitStack() as stack:
            contenders = [Contender(stack, folder, huge, accel, what, stations) for what in measured]
            for _ in range(turns):
                for contender in contenders:
                    measured[contender.what].append(contender.turn())
        progress("%s run %d of %d:" % (stations.name, number + 1, runs))
        for what in measured:
            progress("    " + say(what, measured[what][-turns:]))
    measured = near_only(results, stations.name, measured)
    peer = measured.get("ovs-dpdk")
    for figure, (unit, better) in UNITS.items():
        results.add("switch.virtio.64B.%s.%s" % (stations.name, figure), [got[figure] for got in measured["switch"]],
                    unit, better, accel, "Open vSwitch with DPDK, the same stations" if peer else None,
                    [got[figure] for got in peer] if peer else None)
        if "testpmd" in measured:
            results.add("peer.testpmd.macswap.64B." + figure, [got[figure] for got in measured["testpmd"]], unit,
                        better, "host")
    results.add("switch.virtio.64B.%s.busy_cycles_per_packet" % stations.name,
                [got["busy_cycles_per_packet"] for got in measured["switch"]], "TSC cycles", "lower", accel)
