"""`hayate demo`: two hosts, the router between them, real traffic, and the router's counters."""
import contextlib
import json
import os
import re
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections import namedtuple

from . import image, lab, netlab, newqemu, ports
from .guest import READY, Guest
from .lab import Failure
from .options import KERNEL, choose_accel, data_cores, modelled

# Addresses reserved for documentation (RFC 5737).
LEFT = ("192.0.2.1", "192.0.2.2")        # router, host
RIGHT = ("198.51.100.1", "198.51.100.2")
BEHIND = "203.0.113.1"                   # a second address of the right host: a static route

CONFIG = """\
hostname hayate
interface eth0
 description to the left host
 ip address %s/24
interface eth1
 description to the right host
 ip address %s/24
ip route 203.0.113.0/24 %s
""" % (LEFT[0], RIGHT[0], RIGHT[1])

PINGS = 5
UDP_MBITS = 100  # at most
PROGRAMS = ("ip", "ping", "traceroute", "iperf3")


def run(options):
    return lab.conduct("demo", PROGRAMS, options, _demo)


# Times in ms. ready: from the kernel's start until the ports ran. first, first_from_start: until the
# first packet came through, from the kernel's start and from QEMU's start.
Times = namedtuple("Times", "ready first first_from_start")


def _demo(options, steps, stack):
    work = stack.enter_context(tempfile.TemporaryDirectory(prefix="hayate-demo-"))
    accel = choose_accel(options.accel)
    print(_picture())
    left, right = _hosts(options, steps, stack)
    router, times = _boot(options, steps, stack, work, accel, left, right)
    rows = _traffic(options, steps, left, right)

    steps.step("asking the router")
    counters = _settled(router)
    interfaces = router.interfaces()
    steps.done("")
    router.send("poweroff")
    code = router.wait_exit()

    rows = _counted(counters, interfaces) + [("network card", options.nic)] + rows + [
        ("kernel begins -> ready", "%.1f ms" % times.ready),
        ("kernel begins -> first packet forwarded", "%.1f ms" % times.first),
        ("QEMU starts -> first packet forwarded", "%.0f ms" % times.first_from_start)]
    _table(rows + _sizes(options, steps, work) + [("accelerator", accel.upper())])
    wrong = counters.unbalanced()
    if wrong:
        raise Failure("the router's counters do not add up: " + wrong)
    if code != 0:
        raise Failure("the router ended with code %d" % code)


def _hosts(options, steps, stack):
    steps.step("making two hosts")
    queues = data_cores(options.cpus)
    left = stack.enter_context(netlab.Host("left host", queues))
    right = stack.enter_context(netlab.Host("right host", queues))
    left.configure(LEFT[1] + "/24", LEFT[0])
    right.configure(RIGHT[1] + "/24", RIGHT[0])
    right.ip("address", "add", BEHIND + "/32", "dev", "lo")
    steps.done("network namespaces, a tap each")
    return left, right


def _boot(options, steps, stack, work, accel, left, right):
    """Returns (the router, its Times)."""
    config = os.path.join(work, "demo.conf")
    with open(config, "w", encoding="ascii") as file:
        file.write(CONFIG)
    if modelled(options) and not options.qemu:
        steps.step("a QEMU that knows vfio-user")
        steps.done(newqemu.find().version)
    steps.step("booting the router (%s, %d CPU%s, %s)"
               % (accel.upper(), options.cpus, "s" if options.cpus > 1 else "", options.nic))
    arguments = ["router", "--config", config, "--accel", accel, "--cpus", str(options.cpus),
                 "--nic", options.nic, "--port", left.port, "--port", right.port]
    if options.qemu:
        arguments += ["--qemu", options.qemu]
    if options.image:
        arguments += ["--image", options.image]
    echo = sys.stderr.write if options.verbose else None
    # The left host gets a static neighbour entry for the router. Without it the first packet would
    # depend on Linux's one-second ARP timer. The entry is deleted right afterwards.
    left.ip("neighbour", "replace", LEFT[0], "lladdr", ports.mac_of(ports.MAC_BASE, 0),
            "dev", "eth0", "nud", "permanent")
    router = stack.enter_context(Guest(arguments, echo=echo))
    ready_ms, first_s, ready_s = first_packet(stack, router, left, right)
    left.ip("neighbour", "delete", LEFT[0], "dev", "eth0")
    router.wait_prompt()
    steps.done("ready %.1f ms after the kernel began" % ready_ms)
    # Both clocks recorded the ready line; the guest's gives its time since the kernel's start.
    return router, Times(ready_ms, max(0.0, ready_ms + (first_s - ready_s) * 1000),
                         (first_s - router.started) * 1000)


def _traffic(options, steps, left, right):
    """Returns rows of the table."""
    ping(steps, left, RIGHT[1], "ping left -> right")
    ping(steps, right, LEFT[1], "ping right -> left")
    ping(steps, left, BEHIND, "ping by a static route")
    _traceroute(steps, left, RIGHT[1], LEFT[0])
    _traceroute(steps, right, LEFT[1], RIGHT[0])
    tcp, mbits = iperf_tcp(steps, left, right, RIGHT[1], options.seconds)
    # At most what this machine carries at the moment.
    udp = _iperf_udp(steps, left, right, options.seconds, max(1, min(UDP_MBITS, mbits // 2)))
    return [("TCP across", tcp), ("UDP across", udp)]


def _sizes(options, steps, work):
    """Rows of the table."""
    rows = [("kernel image", "%d bytes" % os.path.getsize(options.image or KERNEL))]
    if not options.image and shutil.which("grub-mkrescue") and shutil.which("xorriso"):
        steps.step("building the BIOS and UEFI image")
        iso = os.path.join(work, "hayate.iso")
        image.build(iso)
        size = os.path.getsize(iso)
        steps.done("%d bytes" % size)
        rows.append(("BIOS and UEFI image", "%d bytes" % size))
    return rows


def _picture():
    return ("\n  left host                     Hayate                    right host\n"
            "  %-12s eth0 ------- %s | %s ------- eth0 %s\n"
            % (LEFT[1], LEFT[0], RIGHT[0], RIGHT[1]))


def first_packet(stack, router, left, right, timeout_s=60.0):
    """Sends a datagram every millisecond until one arrives at the other side.

    stack keeps the receiving socket open: a late datagram to a closed port would cause an ICMP error.
    Linux limits the rate of such errors, and traceroute needs them.
    Returns (the milliseconds in the ready line, the arrival time of the first packet, the time at which
    the ready line was seen), the latter two by our monotonic clock.
    """
    received = stack.enter_context(right.socket())
    received.bind((RIGHT[1], 9))
    received.setblocking(False)
    sender = left.socket()
    sender.setblocking(False)
    deadline = time.monotonic() + timeout_s
    first_s = ready = ready_s = None
    with sender, selectors.DefaultSelector() as wait:
        wait.register(received, selectors.EVENT_READ, "packet")
        wait.register(router.child.stdout, selectors.EVENT_READ, "console")
        while first_s is None or ready is None:
            now = time.monotonic()
            if now > deadline:
                raise Failure("no packet came through within %g s; the console's last output:\n%s"
                              % (timeout_s, router.tail()))
            if first_s is None:
                with contextlib.suppress(OSError):  # the tap is down until QEMU opens it
                    sender.sendto(b"first", (RIGHT[1], 9))
            for key, _ in wait.select(0.001):
                if key.data == "packet":
                    received.recv(64)
                    first_s = first_s or time.monotonic()
                else:
                    router.poll()
            if ready is None and READY.search(router.text):
                ready_s = time.monotonic()
                ready = router.wait_ready(1)
            if router.eof:
                raise Failure("the router ended early; its last output:\n" + router.tail())
    return ready[2], first_s, ready_s


def ping(steps, host, target, text):
    """A step: PINGS pings, each of which must be answered."""
    steps.step(text)
    times = []
    for _ in range(PINGS):
        answered, said = host.ping(target)
        rtt = re.search(r"time=([\d.]+) ms", said)
        if not answered or not rtt:
            raise Failure("%s: %s" % (text, said.strip()[-300:]))
        times.append(float(rtt.group(1)))
    steps.done("%d of %d, %.3f ms" % (PINGS, PINGS, sum(times) / PINGS))


def _traceroute(steps, host, target, router):
    steps.step("traceroute to %s" % target)
    hops, _ = host.traceroute(target)
    if hops != [router, target]:
        raise Failure("traceroute to %s shows %s, not %s then %s"
                      % (target, hops, router, target))
    steps.done(" -> ".join(hops))


def wait_listening(host, port):
    """Waits until a TCP server inside `host` listens on `port`."""
    deadline = time.monotonic() + 5
    pattern = re.compile(r":%d\s" % port)
    while not pattern.search(host.run(["ss", "-Hltn"]).stdout):
        if time.monotonic() > deadline:
            raise Failure("the iperf3 server did not start")
        time.sleep(0.02)


def iperf(client, server, address, seconds, extra=(), timeout_s=None):
    """One iperf3 run from client to server; returns its JSON result or raises Failure. seconds is None if
    `extra` sets the amount to send."""
    with contextlib.ExitStack() as stack:
        child = server.popen(["iperf3", "-s", "-1", "-p", "5201"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stack.callback(lambda: child.poll() is None and child.kill())
        wait_listening(server, 5201)
        result = client.run(["iperf3", "-c", address, "-p", "5201", "-J",
                             *(("-t", str(seconds)) if seconds else ()),
                             "--connect-timeout", "5000", *extra], timeout_s or seconds + 20)
    try:
        report = json.loads(result.stdout)
    except ValueError:
        raise Failure("iperf3 gave no result: %s"
                      % (result.stderr or result.stdout).strip()[-300:]) from None
    if "error" in report:
        raise Failure("iperf3: " + report["error"])
    return report


def stalls(report):
    """The intervals of iperf3's report without any data. The last one may be a fragment of a second,
    which is not significant."""
    sums = [interval["sum"] for interval in report["intervals"]]
    return [total for total in sums if total["bytes"] == 0 and total["seconds"] > 0.5]


def iperf_tcp(steps, client, server, address, seconds):
    """A step: iperf3 over TCP, which must not stall. Returns (a row of the table, Mbit/s)."""
    steps.step("iperf3 TCP, %d s" % seconds)
    report = iperf(client, server, address, seconds)
    total = report["end"]["sum_received"]
    if total["bytes"] == 0 or stalls(report):
        raise Failure("iperf3 TCP stalled (%d of %d seconds without data)"
                      % (len(stalls(report)), len(report["intervals"])))
    mbits = total["bits_per_second"] / 1e6
    text = "%.0f Mbit/s, %d retransmissions" % (mbits, report["end"]["sum_sent"]["retransmits"])
    steps.done(text)
    return text, mbits


def _iperf_udp(steps, client, server, seconds, mbits):
    steps.step("iperf3 UDP, %d Mbit/s, %d s" % (mbits, seconds))
    report = iperf(client, server, RIGHT[1], seconds, ["-u", "-b", "%dM" % mbits, "-l", "1200"])
    total = report["end"]["sum"]
    if total["lost_percent"] >= 100:  # smaller losses depend on the machine's speed and are reported
        raise Failure("iperf3 UDP: not one datagram arrived")
    text = "%.0f Mbit/s, %.2f %% lost" % (total["bits_per_second"] / 1e6, total["lost_percent"])
    steps.done(text)
    return text


def _settled(router, timeout_s=10.0):
    """The counters, once they add up because nothing is in flight."""
    deadline = time.monotonic() + timeout_s
    while True:
        counters = router.counters()
        if not counters.unbalanced() or time.monotonic() > deadline:
            return counters
        time.sleep(0.1)


def _counted(counters, interfaces):
    """Rows of the table: packets by fate, and register accesses per packet."""
    rows = [("packets forwarded", "%d" % counters["forwarded"])]
    drops = counters.drops()
    for name, value in sorted(drops.items(), key=lambda item: -item[1]):
        rows.append(("  " + name, "%d" % value))
    if not drops:
        rows.append(("packets dropped", "0"))
    packets = sum(block["rx_pkts"] for block in interfaces.values())
    for name in ("reads", "writes"):
        accesses = sum(block["mmio_" + name] for block in interfaces.values())
        rows.append(("MMIO %s per packet" % name, "%.4f" % (accesses / packets)))
    return rows


def _table(rows):
    width = max(len(name) for name, _ in rows)
    print()
    for name, value in rows:
        print("  %-*s  %s" % (width, name, value))
    print()
