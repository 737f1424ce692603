"""`hayate demo`: two hosts, the router between them, real traffic, and what it counted."""
import contextlib
import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from . import image, netlab, newqemu, ports
from .errors import EXIT_DEMO, EXIT_SIGNAL, LauncherError
from .guest import LAUNCHER, PYTHON, Guest, GuestError
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

PROGRAMS = ("ip", "ping", "traceroute", "iperf3")


class Failure(Exception):
    """Something the demo shows did not work."""


class Steps:
    """Progress: one line per step, said before it starts and completed when it ends."""

    def __init__(self):
        self.begin = time.monotonic()
        self.open = False

    def step(self, text):
        self.done("")
        sys.stdout.write("[%5.1f s] %-44s " % (time.monotonic() - self.begin, text))
        sys.stdout.flush()
        self.open = True

    def done(self, text):
        if self.open:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
            self.open = False


class Stopped(BaseException):
    def __init__(self, number):
        super().__init__(number)
        self.number = number


def _stop(number, _frame):
    raise Stopped(number)


def run(options):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _stop)
    steps = Steps()
    try:
        _check_machine(options)
        with contextlib.ExitStack() as stack:
            _demo(options, steps, stack)
        return 0
    except Stopped as stopped:
        steps.done("stopped")
        return EXIT_SIGNAL + stopped.number
    except (Failure, GuestError) as failure:
        steps.done("FAILED")
        raise LauncherError("demo: %s" % failure, EXIT_DEMO) from None
    except LauncherError:
        steps.done("FAILED")
        raise


def _check_machine(options):
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        raise LauncherError("not installed: %s (tools/deps.sh install run)" % ", ".join(missing))
    kernel = options.image or KERNEL
    if not os.path.isfile(kernel):
        raise LauncherError("%s: no such file (build it with: make)" % kernel)
    reason = netlab.usable()
    if reason and os.geteuid() != 0:
        netlab.become_root_in_user_namespace([PYTHON, LAUNCHER, *sys.argv[1:]])
        reason += "; this machine does not let users make them: run `sudo tools/hayate demo`"
    if reason:
        raise LauncherError(reason)


def _demo(options, steps, stack):
    work = stack.enter_context(tempfile.TemporaryDirectory(prefix="hayate-demo-"))
    config = os.path.join(work, "demo.conf")
    with open(config, "w", encoding="ascii") as file:
        file.write(CONFIG)

    print(_picture())
    steps.step("making two hosts")
    queues = data_cores(options.cpus)
    left = stack.enter_context(netlab.Host("left host", queues))
    right = stack.enter_context(netlab.Host("right host", queues))
    left.configure(LEFT[1] + "/24", LEFT[0])
    right.configure(RIGHT[1] + "/24", RIGHT[0])
    right.ip("address", "add", BEHIND + "/32", "dev", "lo")
    steps.done("network namespaces, a tap each")

    accel = choose_accel(options.accel)
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
    # The left host knows the router's address from the start, so that the first packet is not
    # the one that happened to follow Linux's one-second ARP timer. Forgotten again right after.
    left.ip("neighbour", "replace", LEFT[0], "lladdr", ports.mac_of(ports.MAC_BASE, 0),
            "dev", "eth0", "nud", "permanent")
    router = stack.enter_context(Guest(arguments, echo=echo))
    ready_ms, first_s, ready_s = first_packet(router, left, right)
    left.ip("neighbour", "delete", LEFT[0], "dev", "eth0")
    router.wait_prompt()
    # Both clocks saw the ready line: the guest's tells how long before it the kernel began.
    boot_to_first_ms = max(0.0, ready_ms + (first_s - ready_s) * 1000)
    steps.done("ready %.1f ms after the kernel began" % ready_ms)

    _ping(steps, left, RIGHT[1], "ping left -> right")
    _ping(steps, right, LEFT[1], "ping right -> left")
    _ping(steps, left, BEHIND, "ping by a static route")
    _traceroute(steps, left, RIGHT[1], LEFT[0])
    _traceroute(steps, right, LEFT[1], RIGHT[0])
    tcp = _iperf(steps, left, right, options.seconds, udp=False)
    udp = _iperf(steps, left, right, options.seconds, udp=True)

    steps.step("asking the router")
    counters = _settled(router)
    interfaces = router.interfaces()
    steps.done("")
    router.send("poweroff")
    code = router.wait_exit()

    size = os.path.getsize(options.image or KERNEL)
    iso_size = None
    if not options.image and shutil.which("grub-mkrescue") and shutil.which("xorriso"):
        steps.step("building the BIOS and UEFI image")
        iso = os.path.join(work, "hayate.iso")
        image.build(iso)
        iso_size = os.path.getsize(iso)
        steps.done("%d bytes" % iso_size)

    _table(counters, interfaces, tcp, udp, ready_ms, boot_to_first_ms,
           (first_s - router.started) * 1000, size, iso_size, accel, options.nic)
    wrong = counters.unbalanced()
    if wrong:
        raise Failure("the router's counters do not add up: " + wrong)
    if code != 0:
        raise Failure("the router ended with code %d" % code)


def _picture():
    return ("\n  left host                     Hayate                    right host\n"
            "  %-12s eth0 ------- %s | %s ------- eth0 %s\n"
            % (LEFT[1], LEFT[0], RIGHT[0], RIGHT[1]))


def first_packet(router, left, right, timeout_s=60.0):
    """Sends a datagram every millisecond until one comes out on the other side.

    Returns (milliseconds the ready line states, when the first packet arrived, when the ready
    line was seen), the latter two by our monotonic clock.
    """
    received = right.socket()
    received.bind((RIGHT[1], 9))
    received.setblocking(False)
    sender = left.socket()
    sender.setblocking(False)
    deadline = time.monotonic() + timeout_s
    first_s = ready = ready_s = None
    with received, sender, selectors.DefaultSelector() as wait:
        wait.register(received, selectors.EVENT_READ, "packet")
        wait.register(router.child.stdout, selectors.EVENT_READ, "console")
        while first_s is None or ready is None:
            now = time.monotonic()
            if now > deadline:
                raise Failure("no packet came through within %g s; the console's last words:\n%s"
                              % (timeout_s, router.tail()))
            if first_s is None:
                with contextlib.suppress(OSError):  # the tap is down until QEMU holds it
                    sender.sendto(b"first", (RIGHT[1], 9))
            for key, _ in wait.select(0.001):
                if key.data == "packet":
                    received.recv(64)
                    first_s = first_s or time.monotonic()
                else:
                    router.poll()
            if ready is None and re.search(r"^ready:.*\n", router.text, re.MULTILINE):
                ready_s = time.monotonic()
                ready = router.wait_ready(1)
            if router.eof:
                raise Failure("the router ended early; its last words:\n" + router.tail())
    return ready[2], first_s, ready_s


def _ping(steps, host, target, text):
    steps.step(text)
    result = host.run(["ping", "-n", "-c", "5", "-i", "0.2", "-W", "2", target])
    lost = re.search(r"([\d.]+)% packet loss", result.stdout)
    rtt = re.search(r"= [\d.]+/([\d.]+)/", result.stdout)
    if not lost or float(lost.group(1)) > 0 or not rtt:
        raise Failure("%s: %s" % (text, (result.stdout + result.stderr).strip()[-300:]))
    steps.done("5 of 5, %s ms" % rtt.group(1))


def _traceroute(steps, host, target, router):
    steps.step("traceroute to %s" % target)
    result = host.run(["traceroute", "-n", "-q", "1", "-w", "2", "-m", "5", target])
    hops = re.findall(r"^\s*\d+\s+(\S+)", result.stdout, re.MULTILINE)
    if hops != [router, target]:
        raise Failure("traceroute to %s shows %s, not %s then %s"
                      % (target, hops, router, target))
    steps.done(" -> ".join(hops))


def wait_listening(host, port):
    """Until a TCP server inside `host` listens on `port`."""
    deadline = time.monotonic() + 5
    pattern = re.compile(r":%d\s" % port)
    while not pattern.search(host.run(["ss", "-Hltn"]).stdout):
        if time.monotonic() > deadline:
            raise Failure("the iperf3 server did not start")
        time.sleep(0.02)


def iperf(client, server, address, seconds, extra=(), timeout_s=None):
    """One iperf3 run from client to server; returns its JSON result, or raises Failure."""
    with contextlib.ExitStack() as stack:
        child = server.popen(["iperf3", "-s", "-1", "-p", "5201"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stack.callback(lambda: child.poll() is None and child.kill())
        wait_listening(server, 5201)
        result = client.run(["iperf3", "-c", address, "-p", "5201", "-t", str(seconds), "-J",
                             "--connect-timeout", "5000", *extra], timeout_s or seconds + 20)
    try:
        report = json.loads(result.stdout)
    except ValueError:
        raise Failure("iperf3 gave no result: %s"
                      % (result.stderr or result.stdout).strip()[-300:]) from None
    if "error" in report:
        raise Failure("iperf3: " + report["error"])
    return report


def _iperf(steps, client, server, seconds, udp):
    if udp:
        steps.step("iperf3 UDP, 100 Mbit/s, %d s" % seconds)
        report = iperf(client, server, RIGHT[1], seconds, ["-u", "-b", "100M", "-l", "1200"])
        total = report["end"]["sum"]
        text = "%.0f Mbit/s, %.2f %% lost" % (total["bits_per_second"] / 1e6,
                                              total["lost_percent"])
        if total["lost_percent"] > 50:
            raise Failure("iperf3 UDP lost %.0f %%" % total["lost_percent"])
    else:
        steps.step("iperf3 TCP, %d s" % seconds)
        report = iperf(client, server, RIGHT[1], seconds)
        total = report["end"]["sum_received"]
        stalls = sum(1 for interval in report["intervals"] if interval["sum"]["bytes"] == 0)
        text = "%.0f Mbit/s, %d retransmissions" % (total["bits_per_second"] / 1e6,
                                                    report["end"]["sum_sent"]["retransmits"])
        if total["bytes"] == 0 or stalls:
            raise Failure("iperf3 TCP stalled (%d of %d seconds without data)"
                          % (stalls, len(report["intervals"])))
    steps.done(text)
    return text


def _settled(router, timeout_s=10.0):
    """The counters once nothing is in flight: the same balance twice, and adding up."""
    deadline = time.monotonic() + timeout_s
    while True:
        counters = router.counters()
        if not counters.unbalanced() or time.monotonic() > deadline:
            return counters
        time.sleep(0.1)


def _table(counters, interfaces, tcp, udp, ready_ms, first_ms, first_from_start_ms, size,
           iso_size, accel, nic):
    packets = sum(block.get("rx_pkts", 0) for block in interfaces.values())
    rows = [("packets forwarded", "%d" % counters["forwarded"])]
    drops = counters.drops()
    for name, value in sorted(drops.items(), key=lambda item: -item[1]):
        rows.append(("  " + name, "%d" % value))
    if not drops:
        rows.append(("packets dropped", "0"))
    for name in ("mmio_reads", "mmio_writes"):
        values = [block[name] for block in interfaces.values() if name in block]
        if values and packets:
            rows.append(("MMIO %s per packet" % name.split("_")[1],
                         "%.4f" % (sum(values) / packets)))
        else:
            rows.append(("MMIO %s per packet" % name.split("_")[1], "not reported"))
    rows += [("network card", nic), ("TCP across", tcp), ("UDP across", udp),
             ("kernel begins -> ready", "%.1f ms" % ready_ms),
             ("kernel begins -> first packet forwarded", "%.1f ms" % first_ms),
             ("QEMU starts -> first packet forwarded", "%.0f ms" % first_from_start_ms),
             ("kernel image", "%d bytes" % size)]
    if iso_size:
        rows.append(("BIOS and UEFI image", "%d bytes" % iso_size))
    rows.append(("accelerator", accel.upper()))
    width = max(len(name) for name, _ in rows)
    print()
    for name, value in rows:
        print("  %-*s  %s" % (width, name, value))
    print()
