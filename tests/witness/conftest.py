"""Witness tests: drivers written by others verify nicsim's models.

    /usr/bin/python3 -m pytest tests/witness            everything, under TCG
    HAYATE_QEMU=F                                       another QEMU
    HAYATE_CACHE=D                                      where QEMU, Linux and DPDK are kept

An unmodified Debian kernel runs in QEMU, a model's port as its only card (linux.py); the port's
wire is the tap of a host in a network namespace. One guest serves all tests of a module, so each
test leaves the card as it found it: up, with its address, all options unchanged.

If the model reports a violation of the card's rules, the current test fails, unless the violation
is a known one of the driver (Card.quirks) or the test provokes it (mark `provokes`). Consoles and
traces of all register accesses are kept in build/witness-logs.
"""
import contextlib
import glob
import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter, namedtuple
from types import SimpleNamespace

import pytest

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tools"), os.path.join(ROOT, "tests")]

from launcher import netlab, nicsim, ports  # noqa: E402
from linux import LinuxGuest, modelled  # noqa: E402

pytest_plugins = ["layer"]

LOGS = os.path.join(ROOT, "build", "witness-logs")
GUEST, HOST = "198.18.0.1", "198.18.0.2"  # RFC 2544: reserved for tests of devices

# A card that a stock driver is to bring up. nic: as in `hayate run --nic`. quirks: the stock
# driver's own violations of the card's manual, as patterns, with the functions that commit them.
# queue_packets: the driver's name for the counter of packets received by queue %d.
# options: of each port of nicsim, besides its wire.
Card = namedtuple("Card", "nic driver ids speed queue_packets quirks options", defaults=[()])
# Linux 6.1, drivers/net/ethernet/intel/ixgbe, by the function that writes:
IXGBE = [
    r"FCTRL: written \S+: bits 0x00003000 are",           # set_rx_mode: PMCF and DPF, of the 82598
    r"EITR\[\d+\]: written 0x0000079e: bits 0x00000006",  # configure_msix: 1950 for other causes
    r"EIMS: written \S+: bits 0x80000000 are",            # irq_enable: OTHER, of the 82598
    r"FCRTH\[\d\]: written 0xffffa000: bits 0x7ff80000",  # fc_enable: size of no buffer - 24576
    r"RDT\[\d+\] = \d+ while RXDCTL\[\d+\]\.ENABLE is",  # down: disable_rx, and napi_disable later: a poll may go on
]
CARDS = {
    "82599": Card("ixgbe", "ixgbe", "8086:10fb", 10000, "rx_queue_%d_packets", [
        r"SW_FW_SYNC: written \S+: bits 0x00000400 are",      # acquire_swfw_sync: SW_MNG, of the X540
        r"0x15f0c: written 0x00000200, but there is no",      # hic_unlocked: FWSTS.FWRI
        *IXGBE,
    ]),
    "x550": Card("ixgbe", "ixgbe", "8086:1563", 10000, "rx_queue_%d_packets", IXGBE, ["model=x550"]),
    "i226": Card("igc", "igc", "8086:125c", 2500, "rx_queue_%d_packets", [
        # configure: setup_rctl sets RCTL.EN, and configure_rx enables the queues later
        r"RETA, or a filter, leads to queue \d+, and RXDCTL\[\d+\]\.ENABLE is",
    ]),
    "mlx5": Card("mlx5", "mlx5_core", "15b3:1017", 100000, "rx%d_packets", []),
}


class Models:
    """A running nicsim with these wires (as in --port), its control socket and its traces."""

    def __init__(self, card, wires, directory, log):
        self.card = card
        self.traces = ["%s.trace%d" % (log, index) for index in range(len(wires))]
        self.read_up_to = [0] * len(wires)
        self.control = os.path.join(directory, "control")
        self.stats_path = os.path.join(directory, "stats.json")
        cards = [ports.Port(wire) for wire in wires]
        fds = {index: ports.open_tap(port, 1, header=0) for index, port in enumerate(cards)
               if port.kind == "tap"}
        try:
            self.process = nicsim.Nicsim(SimpleNamespace(
                nic=card.nic, nic_mode="strict", mac=ports.MAC_BASE, ports=cards,
                nicsim_option=[*card.options, *("%d:trace=%s" % item
                                                for item in enumerate(self.traces))],
                nicsim_control=self.control, nicsim_stats=self.stats_path, nicsim_cpus=None), fds)
        finally:
            for index in fds:
                os.close(fds[index][0])
        self.devices = [word for index in range(len(cards)) for word in
                        modelled(index, self.process.directory)]

    def command(self, line):
        return nicsim.ask(self.control, line)

    def ports(self):
        return self.command("stats")["ports"]

    def violations(self):
        """The violations reported since the last call, without the driver's quirks; [(text, times),
        …]."""
        if self.process.child.poll() is None:
            self.ports()  # the answer shows that the traces are up to date
        found = Counter()
        for index, path in enumerate(self.traces):
            with open(path, "rb") as trace:
                trace.seek(self.read_up_to[index])
                text = trace.read()
            text = text[:text.rfind(b"\n") + 1]
            self.read_up_to[index] += len(text)
            found.update(re.findall(r"^\S+ ! (.*)$", text.decode("utf-8", "replace"),
                                    re.MULTILINE))
        return [item for item in found.most_common()
                if not any(re.match(quirk, item[0]) for quirk in self.card.quirks)]

    def stop(self):
        """Ends nicsim. Returns an error text, or ''."""
        self.process.stop()
        status = self.process.child.returncode
        found = self.violations()
        if found:
            return "the model reports violations at the end: %s" % found[:5]
        if status not in (0, nicsim.VIOLATIONS):
            return "nicsim failed (status %d)" % status
        return ""


class Lab:
    """A Linux guest whose only cards are models. The first cards are cabled to `hosts`, the last
    ones to these `wires`."""

    def __init__(self, card, name, hosts=1, wires=(), **options):
        self.card = card
        self.stack = contextlib.ExitStack()
        try:
            directory = self.stack.enter_context(_directory())
            log = os.path.join(directory, name)
            self.stack.callback(_keep_logs, log)
            self.hosts = [self.stack.enter_context(netlab.Host("host%d" % index))
                          for index in range(hosts)]
            self.host = self.hosts[0] if hosts else None
            self.models = Models(card, [host.port for host in self.hosts] + list(wires),
                                 directory, log)
            self.stack.callback(self._end_models)
            self.guest = self.stack.enter_context(LinuxGuest(
                self.models.devices, log=log + ".console", qemu_log=log + ".qemu", **options))
        except BaseException:
            self.stack.close()
            raise

    def _end_models(self):
        message = self.models.stop()
        if message:
            pytest.fail(message, pytrace=False)

    def close(self):
        self.stack.close()

    def mac(self, index=0):
        return ports.mac_of(ports.MAC_BASE, index)

    def wait_link(self, name="eth0", up=True):
        self.guest.wait('[ "$(cat /sys/class/net/%s/carrier 2>/dev/null)" = %d ]' % (name, up), 20)

    def wait_sent(self):
        """Waits until the driver knows that all its frames are sent (BQL); if the cable is pulled
        before, it resets the card."""
        self.guest.wait("! cat /sys/class/net/eth0/queues/tx-*/byte_queue_limits/inflight | "
                        "grep -qvx 0", 20)

    def bring_up(self):
        """Loads the driver and sets the addresses of both ends, the initial state of every test."""
        self.guest.run("modprobe " + self.card.driver)
        self.host.ip("link", "set", "eth0", "up")
        self.host.ip("address", "replace", HOST + "/24", "dev", "eth0")
        # The host sends no ARP requests, so that only the test's own frames appear on the wire.
        self.host.ip("neighbour", "replace", GUEST, "lladdr", self.mac(), "dev", "eth0",
                     "nud", "permanent")
        self.address()

    def address(self):
        self.guest.run("ip link set eth0 up && ip address replace %s/24 dev eth0" % GUEST)
        self.wait_link()

    def ping(self, count=3, size=56):
        """Pings in both directions; every request must be answered."""
        out = self.guest.output("for n in $(seq %d); do ping -c 1 -W 5 -s %d %s || exit; done"
                                % (count, size, HOST), 60)
        assert out.count("1 packets received") == count, out
        for _ in range(count):
            answered, said = self.host.ping(GUEST, "-s", str(size), "-M", "do", wait_s=5)
            assert answered, said

    def stats(self):
        """ethtool -S as numbers."""
        text = self.guest.output("ethtool -S eth0")
        return {name: int(value) for name, value in
                re.findall(r"^\s*(\S+): (\d+)$", text, re.MULTILINE)}

    def offload(self, text):
        """Runs ethtool -K, which must apply all of `text`."""
        self.guest.run("ethtool -K eth0 " + text)
        self.wait_link()

    def eventually(self, condition, what, timeout_s=10.0):
        deadline = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < deadline, "%s: not within %g s" % (what, timeout_s)
            time.sleep(0.02)


def _keep_logs(log):
    """Moved at the end, so that no two runs write to the same files; the later run's logs stay."""
    os.makedirs(LOGS, exist_ok=True)
    for path in glob.glob(log + ".*"):
        shutil.move(path, os.path.join(LOGS, os.path.basename(path)))


@contextlib.contextmanager
def _directory():
    path = tempfile.mkdtemp(prefix="hayate-witness-")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def lab(request):
    """The guest of a module, whose model is named by the module's CARD."""
    made = Lab(CARDS[request.module.CARD], request.module.__name__)
    try:
        made.bring_up()
        yield made
    finally:
        made.close()


@pytest.fixture(autouse=True)
def no_violation(request):
    """The violations that a model reports are attributed to the test that caused them."""
    if "lab" not in request.fixturenames:
        yield
        return
    models = request.getfixturevalue("lab").models
    yield
    meant = [pattern for mark in request.node.iter_markers("provokes") for pattern in mark.args]
    found = ["%d x %s" % (times, text) for text, times in models.violations()
             if not any(re.match(pattern, text) for pattern in meant)]
    if found:
        pytest.fail("the model reports violations of the card's rules:\n" + "\n".join(found[:20]),
                    pytrace=False)


@pytest.fixture(autouse=True, scope="session")
def can_run():
    """Fails the tests on a machine that cannot run them: a suite must not skip itself and seem to
    pass."""
    reason = netlab.usable()
    if not os.access(nicsim.NICSIM, os.X_OK):
        reason = "%s is not built (make nicsim)" % nicsim.NICSIM
    if reason:
        pytest.fail("witness tests cannot run here: " + reason, pytrace=False)


def pytest_configure(config):
    config.addinivalue_line("markers", "provokes(patterns): violations that the test means")
