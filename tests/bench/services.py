"""TCP and UDP services under load: the image beside Linux, XDP and DPDK in the same run.

The client is always tcp_load (net/ itself, on the first CPU); the server has the second:

  virtio   the image, `app echo`, on tcp_load's own vhost-user rings
  ixgbe,   the image on a modelled 82599 or ConnectX-5 (nicsim), tcp_load on a packet socket behind
  mlx5     a tap. Three programs share two CPUs: rates and times are those of the tap and of nicsim,
           which shares the client's CPU; the data core's cycles are the image's own
  epoll    epoll_echo on a tap, and the kernel's work for it on the same CPU: RPS (receive packet
           steering) moves frames that tcp_load writes to the second CPU, so one core runs the
           server and its whole network stack, while the copies into and out of the tap run on
           tcp_load's, like the copies into and out of the rings for the image
  socket   epoll_echo on a UDP socket, in recvmmsg; the same tap
  xdp      xdp_echo.c on the same tap, generic mode behind RPS: on the second CPU as well
  testpmd  DPDK in the guest's place, mode 5tswap, on vhost-user rings of its own tcp_load
  iip      the portable TCP/IP stack of that name (github.com/yasukata: bench-iip over iip-dpdk) in the
           guest's place, the same way. No registry has it, so IIP=FILE names a built program, and
           without it the rows have no such column. virtio-user has neither RSS nor a promiscuous
           mode, which iip-dpdk demands: build it with RTE_ETH_MQ_RX_NONE and without the assertion
           on rte_eth_promiscuous_enable. Its responses are as long as the requests, but no echo

Servers that are not being measured sleep (the image: `idle auto`; Linux) or are stopped (testpmd, iip).
"""
import contextlib
import os
import signal
import subprocess
import threading
import time

from load import (CPU_DATA, CPU_GENERATOR, SLICE_S, REST_S, TOOLS, BenchError, Generator, eal, make,
                  median_of, own_group, pin_guest, progress, realtime, round_trip_ns)
from peers import dpdk_under_load, dpdk_version, virtio_user
from launcher import netlab, ports, process
from launcher.guest import Guest
from launcher.options import NIC_MODELS

CLIENT_MAC = "52:54:00:00:00:0a"
LOCALS = 20  # client addresses: a million connections need more ports than one address has
ECHO, DISCARD, CHARGEN = 7, 9, 19
GAP_NS = {"vhost": 5000, "tap": 50000}  # a tap's system calls take longer than a turn on rings
CONNECTIONS = (1, 16, 64, 256, 4096)
IIP_CONNECTIONS = 512  # as its back end is built
SIZES = (1, 64)
IDLE = 1000000
OPEN_TRIES = 4
TIMES = ("p50", "p99", "p999", "max")
LINUX = "Linux epoll on a tap, RPS to its CPU, the same client"
IDLE_SHARE = 0.02  # of the generator's time: below this, the generator was the limit
BUSY_ROUTES = 4096


class Family:
    """The differences between the two versions of IP; `tag` is part of the figures' names."""

    def __init__(self, number, tag, server, clients, plen, address, neighbour, route, talk):
        self.number, self.tag, self.server, self.plen = number, tag, server, plen
        self.clients = clients
        self.address, self.neighbour, self.route = address, neighbour, route
        self.talk = talk  # commands that keep the control core busy

    def configuration(self, routes):
        lines = ["interface eth0", " %s %s/%d" % (self.address, self.server, self.plen)]
        lines += [self.neighbour % (client, CLIENT_MAC) for client in self.clients]
        lines += [self.route(number) + " " + self.clients[0] for number in range(routes)]
        return lines


FAMILIES = {
    4: Family(4, "", "192.0.2.1", ["192.0.2.%d" % (10 + n) for n in range(LOCALS)], 24,
              "ip address", "arp %s %s",
              lambda n: "ip route 10.%d.%d.0/24" % (n >> 8, n & 255),
              ("show ip route", "clear arp")),
    6: Family(6, ".ip6", "2001:db8::1", ["2001:db8::%x" % (0x10 + n) for n in range(LOCALS)], 64,
              "ipv6 address", "ipv6 neighbor %s eth0 %s",
              lambda n: "ipv6 route 2a10:0:%x::/48" % n,
              ("show ipv6 route", "clear ipv6 neighbors")),
}
family = FAMILIES[4]


def choose_family(number):
    """Sets the family of all following measurements."""
    global family  # pylint: disable=global-statement
    family = FAMILIES[number]


def build(targets):
    """Builds by the Makefile, because these contain objects of the image. Returns those that
    failed."""
    missing = []
    for target in targets:
        made = make("build/bench/" + target)
        if made.returncode != 0:
            missing.append("%s: %s" % (target, made.stderr.strip()[-200:]))
    return missing


def configuration(connections, routes=0):
    lines = ["hostname bench", "application echo", "service echo udp", "service echo tcp",
             "service discard tcp", "service chargen tcp", "tcp connections %d" % connections,
             *family.configuration(routes)]
    return "\n".join(lines) + "\n"


class TcpLoad(Generator):
    """tcp_load on a wire; `host`: its network namespace."""

    def __init__(self, work, huge, wire, host=None, offloads=False):
        self.partners, self.ahead = [], []
        self.sockets = []
        self.gap_ns = GAP_NS["vhost" if wire.startswith("vhost:") else "tap"]
        words = [os.path.join(TOOLS, "tcp_load")] + (["-o"] if offloads else [])
        words += [wire, family.server, family.clients[0], str(LOCALS)]
        if wire.startswith("vhost:"):
            self.sockets = [wire[len("vhost:"):]]
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.sockets[0])
            words += eal("hayate-load-%d-%s" % (os.getpid(), os.path.basename(work)),
                         [CPU_GENERATOR], huge, 64)
        self.log = open(os.path.join(work, "load.log"), "w+", encoding="utf-8")
        popen = host.popen if host else process.popen
        self.child = popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                           text=True, bufsize=1, start_new_session=True, cpus={CPU_GENERATOR})
        own_group(self.child.pid)
        self.tsc_hz = int(self.answer("up", 30)[0])

    def wait_link(self, timeout_s=60):
        deadline = time.monotonic() + timeout_s
        while self.ask("link") != ["1"]:
            if time.monotonic() > deadline:
                raise BenchError("the other side did not bring its rings up")
            time.sleep(0.05)

    def resolve(self, mac=""):
        if self.ask(("resolve " + mac).strip()) == ["none"]:
            raise BenchError("%s does not say where it is" % family.server)

    def open(self, kind, connections, size=0, port=ECHO, busy=0):
        """Opens connections; returns the milliseconds it took."""
        with realtime([self.child.pid] + self.partners, self.ahead):
            line = "open %s %d %d %d %d" % (kind, connections, size, port, busy)
            opened, took = self.ask(line, 90)
        time.sleep(REST_S)
        if int(opened) != connections:
            raise BenchError("%d connections did not come about: %s" % (connections, self.log.name))
        return float(took)

    def run(self, seconds, mpps=0):
        names = ("ns requests ended received acked failed unlike retransmits lost idle "
                 "all min p50 p99 p999 max").split()
        with realtime([self.child.pid] + self.partners, self.ahead):
            got = dict(zip(names, map(float, self.ask("run %g" % seconds, seconds + 30))))
        time.sleep(REST_S)
        if got["unlike"]:
            raise BenchError("%d responses were not their requests" % got["unlike"])
        if not got["requests"] + got["received"] + got["acked"] + got["ended"]:
            raise BenchError("nothing moved")
        return got

    def udp(self, seconds, first=True):
        """Measures round trips; `first`: with real-time priority on its CPU, else as one process
        among others."""
        names = "count lost left_out min p50 p99 p999 max".split()
        own_group(self.child.pid, "-15" if first else "0")
        with realtime(([self.child.pid] if first else []) + self.partners, self.ahead):
            got = dict(zip(names, map(float, self.ask("udp %g %d 16 %d" % (seconds, self.gap_ns, ECHO),
                                                      seconds + 30))))
        time.sleep(REST_S)
        if not got["count"]:
            raise BenchError("no datagram came back (%d were lost, %d left out)" % (got["lost"], got["left_out"]))
        return got


# --- servers ---

def start_guest(stack, work, accel, config, words, idle="auto", app="echo"):
    """idle: a mode, or the rest of the statement `idle`."""
    if " " in idle:
        config, idle = config + "idle %s\n" % idle, "auto"
    path = os.path.join(work, "bench.conf")
    with open(path, "w", encoding="ascii") as file:
        file.write(config)
    pidfile, qmp_path = os.path.join(work, "pid"), os.path.join(work, "qmp")
    guest = stack.enter_context(Guest(
        [app, "--config", path, "--accel", accel, "--idle", idle, "--pidfile", pidfile,
         "--qmp", qmp_path, *words], log=os.path.join(work, "console.log")))
    guest.wait_ready(120)
    guest.wait_prompt()
    return guest, pin_guest(pidfile, qmp_path)


def on_virtio(stack, work, accel, huge, connections=5120, memory="512M", offloads=True, routes=0,
              idle="auto"):
    """Starts both; returns (guest, tcp_load)."""
    load = stack.enter_context(TcpLoad(work, huge, "vhost:" + os.path.join(work, "vhost"),
                                       offloads=offloads))
    guest, load.partners = start_guest(
        stack, work, accel, configuration(connections, routes),
        ["--memory", memory, "--port", "vhost-user:" + load.sockets[0]], idle)
    load.wait_link()
    load.resolve()
    return guest, load


def on_modelled(nic, stack, work, accel, huge, connections=5120, idle="auto"):
    client = stack.enter_context(netlab.Host("client"))
    client.ip("link", "set", "eth0", "up")
    model = ["--nic-mode", "line-rate", "--nicsim-cpus", str(CPU_GENERATOR)] if nic in NIC_MODELS else []
    guest, partners = start_guest(
        stack, work, accel, configuration(connections),
        ["--memory", "512M", "--nic", nic, *model, "--port", client.port], idle)
    guest.wait_links()
    load = stack.enter_context(TcpLoad(work, huge, "packet:eth0", client))
    load.resolve()
    load.partners = partners
    return guest, load


def linux_host(stack):
    """A namespace whose eth0 will be a tap of tcp_load's, its packets handled by the second CPU."""
    host = stack.enter_context(netlab.Host("linux"))
    mac = ports.mac_of(ports.MAC_BASE, 0)
    # a queue that holds the answers of 4096 connections: else drops decide the comparison
    host.ip("link", "set", "eth0", "address", mac, "gso_max_size", "60000", "txqueuelen", "8192")
    host.ip("link", "set", "eth0", "up")
    address = "%s/%d" % (family.server, family.plen)
    if family.number == 6:
        host.configure6(address)
    else:
        host.ip("address", "replace", address, "dev", "eth0")
    host.run(["unshare", "-m", "sh", "-c", "mount -t sysfs sysfs /sys && echo %x > "
              "/sys/class/net/eth0/queues/rx-0/rps_cpus" % (1 << CPU_DATA)], check=True)
    return host


def on_linux(stack, work, huge, server, offloads=True):
    """Starts tcp_load beside epoll_echo with these arguments, or beside XDP (None)."""
    host = linux_host(stack)
    if server:
        version = ["-6"] if family.number == 6 else []
        child = host.popen([os.path.join(TOOLS, "epoll_echo"), *version, *server],
                           stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                           start_new_session=True, cpus={CPU_DATA})
        own_group(child.pid)
        if child.stdout.readline() != "ready\n":
            raise BenchError("epoll_echo did not start")
    else:
        host.ip("link", "set", "dev", "eth0", "xdpgeneric", "obj",
                os.path.join(TOOLS, "xdp_echo.o"), "sec", "xdp")
    load = stack.enter_context(TcpLoad(work, huge, "tap:eth0", host, offloads))
    # The server gets the same priority as our data core. The threads that take over the kernel's
    # work under load get a higher one, else frames would wait until server or client sleeps.
    load.partners = [child.pid] if server else []
    load.ahead = softirq_threads()
    load.resolve()
    return load


def softirq_threads():
    """ksoftirqd of both CPUs, where they are visible."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open("/proc/%s/comm" % pid, encoding="ascii") as file:
                if file.read().strip() in ("ksoftirqd/%d" % CPU_GENERATOR,
                                           "ksoftirqd/%d" % CPU_DATA):
                    found.append(int(pid))
    return found


def in_place_of_guest(stack, words, ready, load):
    """Runs a DPDK program on tcp_load's rings; it may be stopped when `stack` ends."""
    stack.enter_context(dpdk_under_load(words, ready, load))
    load.resolve(ports.mac_of(ports.MAC_BASE, 0))
    stack.callback(awake, load)


def on_testpmd(stack, work, huge):
    load = stack.enter_context(TcpLoad(work, huge, "vhost:" + os.path.join(work, "vhost")))
    words = ["dpdk-testpmd"] + eal("hayate-echo-%d" % os.getpid(), [CPU_GENERATOR, CPU_DATA], huge,
                                   256)
    words += virtio_user(load)
    words += ["--", "--nb-cores=1", "--forward-mode=5tswap", "--port-topology=loop", "--txd=1024",
              "--rxd=1024"]
    in_place_of_guest(stack, words, b"Press enter to exit", load)
    return load


def on_iip(stack, work, huge, program, size):
    """bench-iip, which answers `size` bytes with `size` bytes of its own."""
    load = stack.enter_context(TcpLoad(work, huge, "vhost:" + os.path.join(work, "vhost"),
                                       offloads=False))
    words = [program, *eal("hayate-iip-%d" % os.getpid(), [CPU_DATA], huge, 256), *virtio_user(load),
             "--", "-a", "0," + family.server, "--", "-p", str(ECHO), "-g", "1", "-l", str(size)]
    in_place_of_guest(stack, words, b"server listens on", load)
    load.ask("contents other")
    return load


def asleep(load):
    for thread in load.partners:
        os.kill(thread, signal.SIGSTOP)


def awake(load):
    for thread in load.partners:
        with contextlib.suppress(OSError):
            os.kill(thread, signal.SIGCONT)


class Stopped:
    """What has methods, of a program that polls: it runs during their calls alone, and is stopped while others are
    measured."""

    def __init__(self, inner, load):
        self.inner, self.load = inner, load
        asleep(load)

    def __getattr__(self, name):
        def call(*words, **named):
            awake(self.load)
            try:
                return getattr(self.inner, name)(*words, **named)
            finally:
                asleep(self.load)
        return call


def busy_cycles(guest):
    for row in guest.cores():
        if row.get("core") == 1 and "busy_cycles" in row:
            return row["busy_cycles"]
    raise BenchError("`show cores` has no line for core 1")


# --- TCP ---

class Contender:
    def __init__(self, name, load, guest=None):
        self.name, self.load, self.guest = name, load, guest
        self.turns = []

    def turn(self):
        trip = round_trip_ns()
        before = busy_cycles(self.guest) if self.guest else 0
        got = self.load.run(SLICE_S)
        got["trip"] = max(trip, round_trip_ns())
        seconds = got["ns"] / 1e9
        got["rate"] = got["requests"] / seconds
        got["connections"] = got["ended"] / seconds
        got["gbit"] = max(got["received"], got["acked"]) * 8 / got["ns"]
        if self.guest:
            busy = busy_cycles(self.guest) - before
            got["busy"] = busy / got["all"] if got["all"] else None
        self.turns.append(got)


def compare(contenders, turns, *what):
    """Opens connections on all, then runs them in turns; returns {name: turns}."""
    for contender in contenders:
        contender.turns = []
        contender.load.open(*what)
    for _ in range(turns):
        for contender in contenders:
            contender.turn()
    return {contender.name: contender.turns for contender in contenders}


def note_limit(results, name, who, turns):
    idle = median_of(turns, "idle")
    if idle < IDLE_SHARE:
        results.note("%s, %s: the GENERATOR was the limit: it was idle %.1f %% of the time"
                     % (name, who, 100 * idle))


def add_both(results, name, figure, measured, ours, column, unit, better, accel, scale=1.0):
    """Adds our figure, beside that of Linux in the same run."""
    linux = [got[column] / scale for got in measured.get("epoll", [])]
    results.add("%s.%s" % (name, figure), [got[column] / scale for got in measured[ours]], unit,
                better, accel, LINUX if linux else None, linux or None)


def requests(results, accel, contenders, turns, size, connections, tag=""):
    """tag: an addition to the names of figures."""
    measured = compare(contenders, turns, "rr", connections, size)
    for ours in [contender.name for contender in contenders if contender.guest]:
        name = "tcp.%s%s.rr.%dB.%dconns%s" % (ours, family.tag, size, connections, tag)
        add_both(results, name, "requests_per_second", measured, ours, "rate", "/s", "higher",
                 accel)
        for time_name in TIMES:
            add_both(results, name, time_name, measured, ours, time_name, "us", "lower", accel, 1e3)
        results.add(name + ".busy_cycles_per_request", [got["busy"] for got in measured[ours]],
                    "TSC cycles", "lower", accel)
        note_limit(results, name, ours, measured[ours])
    if "iip" in measured:
        name = "peer.iip.rr.%dB.%dconns" % (size, connections)
        results.add(name + ".requests_per_second", [got["rate"] for got in measured["iip"]], "/s", "higher", "host")
        results.add(name + ".p50", [got["p50"] / 1e3 for got in measured["iip"]], "us", "lower", "host")
    say(measured, "%d B, %d connections" % (size, connections), "rate", 1e3, "k/s")


def say(measured, what, column, scale, unit):
    progress("%-24s %s   (core to core and back %s ns)" % (
        what, ", ".join("%s %.1f %s%s, client idle %.0f %%" % (
            name, median_of(turns, column) / scale, unit, times_of(turns), 100 * median_of(turns, "idle"))
            for name, turns in measured.items()),
        " ".join("%.0f" % got["trip"] for turns in measured.values() for got in turns)))


def times_of(turns):
    """The median time of requests, as text; bulk has none."""
    p50 = median_of(turns, "p50")
    return " (p50 %.1f us)" % (p50 / 1e3) if p50 else ""


def tcp_bulk(results, work, accel, huge, runs):
    missing = build(["tcp_load", "epoll_echo"])
    if missing:
        raise BenchError("; ".join(missing))
    for offloads in (True, False):
        bulk(results, work, accel, huge, runs, offloads)


def bulk(results, work, accel, huge, turns, offloads):
    """Both directions, by the services discard and chargen. With offloads, the image's client
    receives frames up to 64 KiB and sends frames of 1500 bytes."""
    end = "tso" if offloads else "plain"
    work = os.path.join(work, end)
    os.makedirs(work, exist_ok=True)
    with contextlib.ExitStack() as stack:
        guest, load = on_virtio(stack, mkdir(work, "virtio"), accel, huge, offloads=offloads)
        contenders = [Contender("virtio", load, guest),
                      Contender("epoll", on_linux(stack, mkdir(work, "epoll"), huge, ["tcp"],
                                                  offloads))]
        for connections in (1, 16):
            for what, kind, port in (("takes", "source", DISCARD), ("sends", "sink", CHARGEN),
                                     ("echoes", "both", ECHO)):
                measured = compare(contenders, turns, kind, connections, 0, port)
                name = "tcp.virtio%s.bulk.%s.%dconns.%s" % (family.tag, what, connections, end)
                add_both(results, name, "rate", measured, "virtio", "gbit", "Gbit/s", "higher",
                         accel)
                for who, got in measured.items():
                    note_limit(results, name, who, got)
                say(measured, "%s, %d, %s" % (what, connections, end), "gbit", 1, "Gbit/s")


def mkdir(*parts):
    path = os.path.join(*parts)
    os.makedirs(path, exist_ok=True)
    return path


def idle_connections(results, work, accel, huge, turns):
    """As many as fit a guest of 1 GiB, up to IDLE; requests on some of them at a time."""
    with contextlib.ExitStack() as stack:
        guest, load = on_virtio(stack, mkdir(work, "idle"), accel, huge, IDLE, "1G")
        wanted = min(IDLE, tcp_sums(guest)["capacity"])
        took = open_idle(guest, load, wanted)
        one = Contender("virtio", load, guest)
        for _ in range(turns):
            one.turn()
        name = "tcp.virtio%s.idle." % family.tag
        results.add(name + "connections_in_1GiB", [wanted], "connections", "higher", accel)
        results.add(name + "opened_per_second", [wanted / took * 1e3], "/s", "higher", accel)
        results.add(name + "rr.64B.requests_per_second",
                    [got["rate"] for got in one.turns], "/s", "higher", accel)
        progress("%d connections in 1 GiB, open after %.1f s; %.0f k requests/s on them"
                 % (wanted, took / 1e3, median_of(one.turns, "rate") / 1e3))


def tcp_idle(results, work, accel, huge, runs):
    """Only that part of tcp()."""
    missing = build(["tcp_load"])
    if missing:
        raise BenchError("; ".join(missing))
    idle_connections(results, mkdir(work, "tcp"), accel, huge, runs)


def open_idle(guest, load, wanted):
    """Returns the milliseconds it took. If a handshake's last ACK is lost, the client has the
    connection and the server does not, because the client does nothing between commands; then it
    opens all again."""
    for _ in range(OPEN_TRIES):
        took = load.open("rr", wanted, 64, ECHO, 256)
        deadline = time.monotonic() + 5  # the core counts them in parts
        while time.monotonic() < deadline:
            there = tcp_sums(guest)["estab"]
            if there == wanted:
                return took
            time.sleep(0.2)
        progress("of %d connections the server has %d" % (wanted, there))
    raise BenchError("`show tcp` knows of %d connections, not of %d" % (there, wanted))


def plain_requests(results, work, accel, huge, runs):
    """Requests of 64 bytes without offloads: the image, Linux and, with IIP=FILE, iip."""
    work = mkdir(work, "tcp-plain")
    missing = build(["tcp_load", "epoll_echo"])
    if missing:
        raise BenchError("; ".join(missing))
    program, size = os.environ.get("IIP") if family.number == 4 else None, 64
    with contextlib.ExitStack() as stack:
        guest, load = on_virtio(stack, mkdir(work, "virtio"), accel, huge, offloads=False)
        contenders = [Contender("virtio", load, guest)]
        if program:
            load = on_iip(stack, mkdir(work, "iip"), huge, program, size)
            contenders.append(Contender("iip", Stopped(load, load)))
        contenders.append(Contender("epoll", on_linux(stack, mkdir(work, "epoll"), huge, ["tcp"], False)))
        for connections in CONNECTIONS:
            if connections <= IIP_CONNECTIONS:
                requests(results, accel, contenders, runs, size, connections, ".plain")


def tcp_sums(guest):
    """The last line of `show tcp`."""
    head, *rows = [line.split() for line in guest.command("show tcp").splitlines() if line.strip()]
    return {name: int(value) for name, value in zip(head[1:], rows[-1][1:])}


def tcp(results, work, accel, huge, runs, nics, small=False):
    """`small`: only enough to see that everything works."""
    work = mkdir(work, "tcp")
    missing = build(["tcp_load", "epoll_echo"])
    if missing:
        raise BenchError("; ".join(missing))
    with contextlib.ExitStack() as stack:
        guest, load = on_virtio(stack, mkdir(work, "virtio"), accel, huge)
        contenders = [Contender("virtio", load, guest),
                      Contender("epoll", on_linux(stack, mkdir(work, "epoll"), huge, ["tcp"]))]
        for size in SIZES:
            for connections in CONNECTIONS[::4] if small else CONNECTIONS:
                requests(results, accel, contenders, runs, size, connections)
        measured = compare(contenders, runs, "crr", 64, 64)
        add_both(results, "tcp.virtio%s.crr.64B" % family.tag, "connections_per_second", measured,
                 "virtio", "connections", "/s", "higher", accel)
        say(measured, "connect, 64 B, close", "connections", 1e3, "k/s")
    plain_requests(results, work, accel, huge, runs)
    tcp_bulk(results, work, accel, huge, runs)
    idle_connections(results, work, accel, huge, runs)
    for nic in nics:
        tcp_modelled(results, work, accel, huge, runs, nic)


def tcp_modelled(results, work, accel, huge, runs, nic):
    with contextlib.ExitStack() as stack:
        guest, load = on_modelled(nic, stack, mkdir(work, nic), accel, huge)
        for connections in (1, 64):
            requests(results, accel, [Contender(nic, load, guest)], runs, 64, connections)
        sent = compare([Contender(nic, load, guest)], runs, "sink", 1, 0, CHARGEN)[nic]
        results.add("tcp.%s%s.bulk.sends.1conns.rate" % (nic, family.tag),
                    [got["gbit"] for got in sent], "Gbit/s", "higher", accel)


# --- UDP round trips ---

class Flood(threading.Thread):
    """Keeps the console, and thereby the control core, busy by these lines: without any, it prints the
    routing table and the counters and clears neighbours."""

    def __init__(self, guest, lines=()):
        super().__init__(daemon=True)
        self.guest, self.commands, self.error = guest, 0, None
        self.lines = lines or (*family.talk, "show counters all")
        self.over = threading.Event()

    def run(self):
        try:
            while not self.over.is_set():
                for line in self.lines:
                    self.guest.command(line, 60)
                    self.commands += 1
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def end(self):
        self.over.set()
        self.join(90)
        if self.error or self.is_alive():
            raise BenchError("the console did not keep up: %s" % self.error)
        return self.commands


def udp_rtt(results, work, accel, huge, runs):
    """Round trips of 16 bytes in UDP, one at a time; and with the control core busy. The control
    core shares the client's CPU: then the client has no raised priority, and leaves out the samples
    in which it did not run (for `shared` too, which is the same without a flood)."""
    work = mkdir(work, "udp")
    missing = build(["tcp_load", "epoll_echo"])
    if missing:
        raise BenchError("; ".join(missing))
    no_xdp = build(["xdp_echo.o"]) if family.number == 4 else ["xdp_echo.c is for IPv4"]
    if no_xdp:
        results.note("XDP: " + no_xdp[0])
    with contextlib.ExitStack() as stack:
        guest, load = on_virtio(stack, mkdir(work, "virtio"), accel, huge, routes=BUSY_ROUTES)
        testpmd = on_testpmd(stack, mkdir(work, "testpmd"), huge)
        loads = {"virtio": load, "shared": load, "busy": load, "testpmd": Stopped(testpmd, testpmd)}
        loads["socket"] = on_linux(stack, mkdir(work, "socket"), huge, ["udp", "wait"])
        if not no_xdp:
            loads["xdp"] = on_linux(stack, mkdir(work, "xdp"), huge, None)
        turns = {who: [] for who in loads}
        commands = 0
        for _ in range(runs):
            for who, one in loads.items():
                flood = Flood(guest) if who == "busy" else None
                trip = round_trip_ns()
                if flood:
                    flood.start()
                got = one.udp(SLICE_S, first=who not in ("shared", "busy"))
                if flood:
                    commands += flood.end()
                got["trip"] = max(trip, round_trip_ns())
                turns[who].append(got)
    report_udp(results, accel, turns, commands)


def report_udp(results, accel, turns, commands):
    for who in turns:
        ours = who in ("virtio", "shared", "busy")
        name = ("udp.virtio%s.rtt" % family.tag + ("" if who == "virtio" else "." + who) if ours
                else "peer.%s%s.udp.rtt" % (who, family.tag))
        for column in TIMES:
            mine = [got[column] / 1e3 for got in turns[who]]
            if who == "virtio":
                results.add(name + "." + column, mine, "us", "lower", accel,
                            "%s 5tswap, its own rings" % dpdk_version(),
                            [got[column] / 1e3 for got in turns["testpmd"]])
            else:
                results.add(name + "." + column, mine, "us", "lower", accel if ours else "host")
        progress("%-8s p50 %.2f us, p99 %.2f, p99.9 %.2f, max %.1f; %d round trips, %d lost, "
                 "%d left out   (core to core and back %s ns)" % (
                     who, *(median_of(turns[who], column) / 1e3 for column in TIMES),
                     *(sum(got[column] for got in turns[who])
                       for column in ("count", "lost", "left_out")),
                     " ".join("%.0f" % got["trip"] for got in turns[who])))
    results.note("udp.virtio%s.rtt.busy: %d commands at the console meanwhile"
                 % (family.tag, commands))
