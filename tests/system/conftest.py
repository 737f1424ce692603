"""Common to the system tests: hosts, and a booted router between them.

    /usr/bin/python3 -m pytest tests/system            everything, under TCG
    HAYATE_ACCEL=kvm /usr/bin/python3 -m pytest …      the same under KVM
    HAYATE_IMAGE=F                                     another kernel than build/hayate.elf
    HAYATE_QEMU=F                                      another QEMU

NIC_MODULES run once for every card (`-k virtio`, `-k igb` for one of them): the same tests for
each, with the exceptions in FEW_MODULES. `make test` deals them to the cards (--deal-cards); the rest
runs without that option, and in `make test-matrix`.
A model of a card (nicsim, strict mode) also checks the driver: a violation of the card's rules fails
the test.

The machine is always booted by tools/hayate, so the launcher is tested too. A router's console is
kept in build/test-logs/<test>.log, below share-N/ if the tests run in shares (tests/layer.py), in
another folder with `--logs`. After every test each router that still runs must answer, must not
have faulted (unless the test sets `faults_expected`), and its accounts must balance: its own
counters, and per port those of its cards and of the hosts' taps (books.py).

No test sleeps to wait for something: `eventually` polls a condition with a deadline.
"""
import contextlib
import json
import os
import re
import shutil
import sys
import time

import pytest

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tools"), os.path.join(ROOT, "tests")]

from launcher import machine, netlab, nicsim, options, ports  # noqa: E402
from launcher.guest import READY, Guest, GuestError  # noqa: E402
from books import Books  # noqa: E402
from layer import eventually  # noqa: E402,F401

pytest_plugins = ["layer"]

ACCEL = os.environ.get("HAYATE_ACCEL", "tcg")
IMAGE = os.environ.get("HAYATE_IMAGE", options.KERNEL)
QEMU = os.environ.get("HAYATE_QEMU")  # None: the launcher's choice
LOGS = os.path.join(ROOT, "build", "test-logs")

LEFT_ROUTER, LEFT_HOST = "192.0.2.1", "192.0.2.2"
RIGHT_ROUTER, RIGHT_HOST = "198.51.100.1", "198.51.100.2"
NIC_MODULES = {"test_forwarding", "test_icmp", "test_links", "test_faults", "test_fuzz", "test_echo",
               "test_tcp", "test_ip6", "test_vlan", "test_iommu", "test_restart", "test_warm_restart",
               "test_xdp", "test_xdp_replace", "test_unassigned", "test_web", "test_switch", "test_switch_acl",
               "test_switch_mirror", "test_switch_snoop", "test_switch_stp", "test_lacp", "test_lldp"}
# With --deal-cards, a test runs with fewer pairs of a card and a set of its other parameters:
#   one_card    each set on one card, because the code under test is above the driver: the tests of
#               DEALT_MODULES, and tests with this mark
#   in_turn     each card with one set at least, and each set on one card at least: all other tests of
#               NIC_MODULES, and tests with this mark
#   each_ring   the same for one card of each kind of rings: tests with this mark, whose subject is
#               the queues. The cards of RINGS have theirs in common
#   every_card  each card with each set: tests with this mark, and all tests of other modules
# The cards take turns from test to test, so each card gets its part of them, with each parameter.
DEALT_MODULES = {"test_icmp", "test_echo", "test_tcp", "test_ip6", "test_vlan", "test_switch_acl",
                 "test_switch_mirror", "test_switch_snoop", "test_switch_stp", "test_lacp", "test_lldp"}
DEALS = ("every_card", "each_ring", "in_turn", "one_card")
RINGS = {"igb", "ixgbe", "igc"}  # drivers/intel
# MATRIX_MODULES run for every card with --cpus (tests/system/matrix.py).
MATRIX_MODULES = {"test_http", "test_pktgen", "test_filter"}
# A card whose driver and rings are much like another's runs these modules only, but all of them with --cpus.
FEW_MODULES = {"igc": {"test_forwarding", "test_links", "test_faults", "test_restart"}}

LEFT_MAC, RIGHT_MAC = (ports.mac_of(ports.MAC_BASE, index) for index in (0, 1))

# The first line of every report of the kernel: a fault, a failed assertion (kernel/fault.c), a
# panic (kernel/panic.c).
FAULT = re.compile(r"^\*\*\* .*$", re.MULTILINE)


# the HTTP server, for everybody
WEB = "http server\nhttp access 0.0.0.0/0\nhttp access ::/0\n"


def router_config(eth1_mtu=None, extra=""):
    """Two ports, a host on each side."""
    return """\
hostname r1
interface eth0
 ip address %s/24
interface eth1
 ip address %s/24
%s%s""" % (LEFT_ROUTER, RIGHT_ROUTER, " mtu %d\n" % eth1_mtu if eth1_mtu else "", extra)


class Router(Guest):
    """A Guest that can be checked at the end of a test, and has the control sockets of QEMU and, if
    its cards are models, of nicsim."""

    def __init__(self, arguments, log, work, nic, port_texts):
        self.nic = nic
        self.modelled = nic in options.NIC_MODELS  # by nicsim, which judges the driver
        self.qmp_path = str(work / "qmp")
        self.models = str(work / "models")  # nicsim's control socket
        self.stats_path = work / "models.json"
        self.cabled = []  # the interfaces that have a cable
        self.books = Books(port_texts, silent=nic in options.QEMU_MODELS)
        self.books.sane = not any("fault=" in text for text in arguments)
        arguments = [*arguments, "--qmp", self.qmp_path, "--nic", nic]
        if self.modelled:
            arguments += ["--nicsim-control", self.models, "--nicsim-stats", str(self.stats_path)]
        super().__init__(arguments, log=log)
        self.faults_expected = False
        self.violations_expected = False
        self.endless = any("null=" in text or "null-clients=" in text for text in arguments)  # its counters never stop
        self.judge = True  # False: the test itself ends or breaks this machine

    def qmp(self, command, **arguments):
        """Sends one command to QEMU; returns its answer."""
        self.books.whole &= command != "set_link"
        self.books.counted &= command != "system_reset"
        return machine.qmp(self.qmp_path, command, **arguments)

    def send(self, line):
        self.books.counted &= line != "reload"
        super().send(line)

    def model(self, line):
        """Sends one line to nicsim's control socket; returns its answer."""
        words = line.split()
        self.books.whole &= "carrier" not in words
        self.books.sane &= "fault" not in words or words[-1] == "head-stuck"  # it only delays
        return nicsim.ask(self.models, line)

    def set_link(self, port, up):
        """Plugs in or pulls the cable of `eth<port>`."""
        if self.modelled:
            self.model("port %d carrier %s" % (port, "up" if up else "down"))
        else:
            self.qmp("set_link", name="nic%d" % port, up=up)

    def wait_ready(self, timeout_s=60.0):
        first = not READY.search(self.text, 0, self.mark)
        ready = super().wait_ready(timeout_s)
        if first:
            self.books.begin()
        return ready

    def wait_back(self, timeout_s=30):
        """Waits until a core whose program was restarted polls, on its own or because all ports
        were restarted for it. Returns None in the first case, else the number of polling data
        cores."""
        match = self.expect(r"core \d+: polls again after \d+ us|" + READY.pattern, timeout_s,
                            "the core polls again, or the ready line")
        return int(match.group(2)) if match.group(2) else None

    def wait_up(self, timeout_s=60):
        """Waits until the machine is ready (the first time, or again), and its cables are up."""
        self.wait_ready(timeout_s)
        self.wait_prompt()
        self.wait_links(self.cabled)

    def balanced(self, timeout_s=10.0):
        """The counters, once they balance; fails the test if they do not in time."""
        deadline = time.monotonic() + timeout_s
        while True:
            counters = self.counters()
            wrong = counters.unbalanced()
            if not wrong:
                return counters
            assert time.monotonic() < deadline, (
                "counters do not add up: %s\n%s" % (wrong, dict(counters)))
            time.sleep(0.1)

    def booked(self, timeout_s=10.0):
        """Waits until the accounts of all ports balance; fails the test if they do not in time."""
        deadline = time.monotonic() + timeout_s
        while self.books.counted:
            cards = self.model("stats")["ports"] if self.modelled else None
            ours = self.interfaces()
            self.books.whole &= (len(READY.findall(self.text)) == 1 and
                                 "program restarted" not in self.text and
                                 ": restarted after " not in self.text)
            found = self.books.unbalanced(ours, cards)
            if not found:
                return
            assert time.monotonic() < deadline, "the books do not balance: " + "; ".join(found)
            time.sleep(0.1)

    def verdict(self):
        """'' if the machine is well, else an error text."""
        if not self.judge:
            return ""
        try:
            self.poll()
            if self.child.poll() is not None:
                return "the machine ended by itself (code %s):\n%s" % (self.child.returncode,
                                                                      self.tail())
            if self.endless:
                self.command("show version")
            else:
                self.balanced()
                self.booked()
        except (GuestError, AssertionError) as error:
            return str(error)
        said = FAULT.findall(self.text)
        if said and not self.faults_expected:
            return "the guest faulted: " + said[0]
        return ""

    def model_verdict(self):
        """The same for its cards, once the machine has ended."""
        if not self.modelled or self.violations_expected:
            return ""
        try:
            ports = json.loads(self.stats_path.read_text(encoding="utf-8"))["ports"]
        except (OSError, ValueError, KeyError) as error:
            return "nicsim left no statistics: %r" % error
        return "\n".join("port %d: %d violations of the card's rules, the last: %s"
                         % (index, port["violations"], port["last_violation"])
                         for index, port in enumerate(ports) if port["violations"])


@pytest.fixture
def log_path(request):
    os.makedirs(request.config.logs, exist_ok=True)
    return os.path.join(request.config.logs, re.sub(r"[^A-Za-z0-9_.-]+", "_", request.node.name))


def pytest_addoption(parser):
    parser.addoption("--cpus", metavar="N", type=int,
                     help="machines have N CPUs; a test that needs another number is skipped")
    parser.addoption("--deal-cards", action="store_true",
                     help="each test on some cards, or with some of its parameters, instead of with all (DEALS)")
    parser.addoption("--logs", metavar="NAME", default="", help="a folder of its own in build/test-logs")


def pytest_generate_tests(metafunc):
    modules = NIC_MODULES | (MATRIX_MODULES if metafunc.config.option.cpus else set())
    chosen = any("nic" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if "nic" in metafunc.fixturenames and metafunc.module.__name__ in modules and not chosen:
        only = [mark.args[0] for mark in metafunc.definition.iter_markers("nics")]
        metafunc.parametrize("nic", only[0] if only else options.NICS)


def card_of(item):
    """The card among a test's parameters, or None."""
    return item.callspec.params.get("nic") if hasattr(item, "callspec") else None


def cards_of_module(config, module):
    """The cards on which a module of NIC_MODULES runs."""
    return [card for card in options.NICS
            if config.option.cpus or module in FEW_MODULES.get(card, [module])]


def deal_of(item):
    """Which of DEALS --deal-cards applies to this test, which has a card."""
    marked = [name for name in DEALS if item.get_closest_marker(name)]
    if marked:
        return marked[0]
    module = item.module.__name__
    if module not in NIC_MODULES:
        return "every_card"
    few = module in DEALT_MODULES and not item.get_closest_marker("nics")
    return "one_card" if few else "in_turn"


def dealt(items, deal, turn):
    """Those of one test's items, one for each pair of a card and a set of its other parameters, that
    run with --deal-cards. All of them, if some pairs do not exist."""
    pairs = {}
    for item in items:
        rest = sorted((name, str(value)) for name, value in item.callspec.params.items() if name != "nic")
        pairs[card_of(item), tuple(rest)] = item
    cards, sets = (list(dict.fromkeys(column)) for column in zip(*pairs))
    if deal == "every_card" or not len(items) == len(pairs) == len(cards) * len(sets):
        return items
    if deal == "one_card":
        return [pairs[cards[(turn + i) % len(cards)], each] for i, each in enumerate(sets)]
    if deal == "each_ring":
        alike = [card for card in cards if card in RINGS]
        cards = [card for card in cards if card not in alike or card == alike[turn % len(alike)]]
    return [pairs[cards[i % len(cards)], sets[(turn + i) % len(sets)]]
            for i in range(max(len(cards), len(sets)))]


def pytest_collection_modifyitems(config, items):
    """Before the tests are dealt to shares (tests/layer.py)."""
    runs, tests = set(), {}  # tests: the items with a card, by test
    for item in items:
        module, card = item.module.__name__, card_of(item)
        if card is None or module not in NIC_MODULES or card in cards_of_module(config, module):
            runs.add(item)
            if card is not None:
                tests.setdefault((module, item.originalname), []).append(item)
    if config.option.deal_cards:
        for turn, mine in enumerate(tests.values()):
            runs.difference_update(set(mine).difference(dealt(mine, deal_of(mine[0]), turn)))
    config.hook.pytest_deselected(items=[item for item in items if item not in runs])
    items[:] = [item for item in items if item in runs]


@pytest.fixture
def nic():
    """The card of every port; for NIC_MODULES it is a parameter instead."""
    return options.DEFAULT_NIC


@pytest.fixture
def cpus_of(request):
    """cpus_of(N): the number of CPUs for a machine whose test wants N, or None: any."""
    asked = request.config.option.cpus

    def choose(wanted):
        if asked and wanted not in (None, asked):
            pytest.skip("needs a machine of %d CPU%s" % (wanted, "" if wanted == 1 else "s"))
        return wanted or asked or 2
    return choose


@pytest.fixture
def several_cpus(request):
    """For a test of a machine whose control core is not a data core."""
    if request.config.option.cpus == 1:
        pytest.skip("needs a data core beside the control core")


@pytest.fixture
def make_router(tmp_path_factory, log_path, nic, make_hosts, cpus_of):
    """make_router(config text or None, *more arguments, ports=[…], app=…) boots a machine and
    returns it once it is ready and its cables, or those in wait_for, are up (wait=False: at once).
    The hosts outlive it, because their taps' counters are compared with its own."""
    machines = []

    def make(config, *arguments, app="router", ports=("none", "none"), wait=True, cpus=None,
             timeout_s=60, wait_for=None):
        work = tmp_path_factory.mktemp("router")
        words = [app, "--accel", ACCEL, "--cpus", str(cpus_of(cpus))]
        if QEMU:
            words += ["--qemu", QEMU]
        if "--image" not in arguments and not {"bios", "uefi"} & set(arguments):
            words += ["--image", IMAGE]
        if config is not None:
            path = work / "test.conf"
            path.write_bytes(config if isinstance(config, bytes) else config.encode())
            words += ["--config", str(path)]
        for port in ports:
            words += ["--port", port]
        name = log_path + ("-%d" % len(machines) if machines else "") + ".log"
        router = Router(words + list(arguments), name, work, nic, ports)
        router.cabled = wait_for or ["eth%d" % index for index, port in enumerate(ports)
                                     if port != "none"]
        machines.append(router)
        if wait:
            router.wait_up(timeout_s)
            make_hosts.wait_for_links(ports)
        return router

    yield make
    make_hosts.quiet()
    wrong = []
    for router in machines:
        wrong.append(router.verdict())
        router.close()
        wrong.append(router.model_verdict())
    wrong = [text for text in wrong if text]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


@pytest.fixture
def make_hosts():
    """make_hosts(queues=1, mtu=…) returns (left, right), configured. make_hosts.quiet() ends the
    programs in them, make_hosts.wait_for_links(ports) waits until they can send."""
    with contextlib.ExitStack() as stack:
        hosts = []

        def make(queues=1, left_mtu=1500, right_mtu=1500):
            left = stack.enter_context(netlab.Host("left", queues))
            right = stack.enter_context(netlab.Host("right", queues))
            left.configure(LEFT_HOST + "/24", LEFT_ROUTER, left_mtu)
            right.configure(RIGHT_HOST + "/24", RIGHT_ROUTER, right_mtu)
            hosts.extend((left, right))
            return left, right

        def quiet():
            for host in hosts:
                host.end_children()

        def wait_for_links(ports):
            """Of those hosts that are at one of these ports: Linux drops what they send before."""
            for host in hosts:
                if any(port.startswith(host.port) for port in ports):
                    host.wait_for_link()
        make.quiet, make.wait_for_links = quiet, wait_for_links
        yield make


# Sends datagrams as fast as possible, to each address in turn, until killed.
FLOOD = """\
import socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    for address in sys.argv[1:]:
        try:
            sock.sendto(b"x" * 100, (address, 9))
        except OSError:
            pass
"""

# Sends some thousand datagrams a second to the address, until killed.
SLOW_FLOOD = """\
import socket, sys, time
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    for _ in range(20):
        sock.sendto(b"x" * 100, (sys.argv[1], 9))
    time.sleep(0.005)
"""


@contextlib.contextmanager
def child(host, *arguments, **more):
    """Runs Python code in the namespace of a host while the block runs."""
    made = host.popen(["/usr/bin/python3", "-c", *arguments], **more)
    try:
        yield made
    finally:
        made.kill()
        made.wait()


class Lab:
    """A router between two hosts."""

    def __init__(self, router, left, right):
        self.router, self.left, self.right = router, left, right

    @contextlib.contextmanager
    def flood(self, *addresses):
        """Sends datagrams from the left host to these addresses, while the block runs."""
        with child(self.left, FLOOD, *addresses):
            yield


THIRD_HOST = "203.0.113.2"
THIRD = """interface eth2
 ip address 203.0.113.1/24
"""


@contextlib.contextmanager
def three_hosts(make_router, make_hosts, cpus, *arguments, extra=""):
    """A router between three hosts, which have reached each other: (router, left, right, third)."""
    queues = max(cpus - 1, 1)
    left, right = make_hosts(queues)
    with netlab.Host("third", queues) as third:
        third.configure(THIRD_HOST + "/24", "203.0.113.1", 1500)
        router = make_router(router_config(extra=THIRD + extra), *arguments, cpus=cpus,
                             ports=(left.port, right.port, third.port))
        for host in (left, right, third):
            host.wait_for_link()
        pings(left, THIRD_HOST)
        pings(left, RIGHT_HOST)
        yield router, left, right, third


@pytest.fixture
def make_lab(make_router, make_hosts, cpus_of):
    """make_lab(config=…, cpus=…) boots a router between two hosts."""
    def make(config=None, *arguments, cpus=None, left_mtu=1500, right_mtu=1500, **more):
        cpus = cpus_of(cpus)
        left, right = make_hosts(options.data_cores(cpus), left_mtu, right_mtu)
        router = make_router(config or router_config(), *arguments, cpus=cpus,
                             ports=(left.port, right.port), **more)
        for host in (left, right):
            host.wait_for_link()
        return Lab(router, left, right)
    return make


@pytest.fixture
def lab(make_lab):
    return make_lab()


def restarts_ports(nic):
    """True if the card cannot restart one queue pair alone: a data core's restart restarts its ports, each for itself;
    the other cores keep their buffers, and applications notice nothing."""
    return nic == "vmxnet3"


def pings(host, target, *arguments, count=3):
    """Asserts that every ping is answered; returns the output of the last one."""
    for _ in range(count):
        answered, said = host.ping(target, *arguments)
        assert answered, said
    return said


def received(router):
    """The packets that each core has received."""
    return [core["rx_pkts"] for core in router.cores()]


def reaches(host, target):
    """Whether a ping is answered within a second."""
    return host.ping(target, wait_s=1)[0]


def cannot_run():
    """The reason why no guest can be booted here, or ''."""
    if not os.path.exists(IMAGE):
        return "%s is not built (make)" % IMAGE
    return netlab.usable()


@pytest.fixture(autouse=True)
def can_run(request):
    """Fails the tests on a machine that cannot run them: a suite must not skip itself and seem to
    pass."""
    if not request.node.get_closest_marker("no_guest"):
        reason = cannot_run()
        if reason:
            pytest.fail("system tests cannot run here: " + reason, pytrace=False)


def pytest_configure(config):
    config.addinivalue_line("markers", "no_guest: runs without a booted guest")
    config.addinivalue_line("markers", "nics(names): only with these cards")
    for name in DEALS:
        config.addinivalue_line("markers", "%s: how --deal-cards deals the test (tests/system/conftest.py)" % name)
    number, shares = config.option.share
    config.logs = os.path.join(LOGS, config.option.logs, "share-%d" % number if shares > 1 else "")
    if not config.option.collectonly:
        shutil.rmtree(config.logs, ignore_errors=True)
