"""Attack tools written by others against the router: THC's IPv6 attack suite (Debian's thc-ipv6),
run on a host on one of its links.

After each attack the router must be as before (`Siege.is_well`): console, ping and TCP work over
both families, the neighbours have their own MAC addresses, no core has failed, every packet has met
a named fate, no buffer is lost, and the state kept for strangers is within its bounds.

A flood lasts until the router has received a number of its packets, not for a time, so a slow
machine is tested like a fast one. What a tool reports of its success is ignored: many report
success when they get no answer.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import time

import pytest
from conftest import LEFT_HOST, LEFT_ROUTER, RIGHT_HOST, RIGHT_ROUTER, WEB, eventually, reaches
from family import (LEFT6, LEFT_ROUTER6, RIGHT6, RIGHT_ROUTER6, addresses_up,  # noqa: F401
                    config6, make_lab6)

ATTACK_S = 8
LIAR = "52:54:00:00:00:77"  # a MAC address that no station has

# The most packets that may wait: for a neighbour (nd_params.pending, the same for ARP), and
# fragments for others (reassembly_params: datagrams times fragments_max).
WAITING_MAX = 512 + 512 + 64 * 128
NEIGHBOURS_MAX = 4096  # nd_params.neighbours


@pytest.fixture(autouse=True)
def have_tools():
    if not shutil.which("atk6-denial6"):
        pytest.skip("thc-ipv6 is not installed (this distribution has no such package)")


def mac_of(host):
    return host.ip("-br", "link", "show", "eth0").split()[2].lower()


class Siege:
    """A lab whose left host attacks."""

    def __init__(self, lab):
        self.lab, self.router, self.left, self.right = lab, lab.router, lab.left, lab.right
        self.mac = {host: mac_of(host) for host in (lab.left, lab.right)}
        self.buffers = None
        self.is_well("before any attack")
        self.buffers = statistics.mode(self.free_buffers() for _ in range(9))

    def received(self):
        return self.router.counters().balance[0]

    def ask(self):
        """The server's answers over both families: (/healthz of its four addresses, the metrics
        summed over their labels, neighbours)."""
        urls = ["http://%s/healthz" % at for at in ("[%s]" % LEFT_ROUTER6, "[%s]" % RIGHT_ROUTER6,
                                                    LEFT_ROUTER, RIGHT_ROUTER)]
        urls += ["http://[%s]%s" % (LEFT_ROUTER6, path)
                 for path in ("/metrics", "/api/v1/neighbours.json")]
        said = self.left.run(["curl", "-sg", "--max-time", "5", "-w", "====", *urls]).stdout
        *health, text, known, _ = said.split("====")
        figures = {}
        for name, value in re.findall(r"^(\w+)(?:\{\S*\})? (\d+)", text, re.M):
            figures[name] = figures.get(name, 0) + int(value)
        return health, figures, json.loads(known or "{}")

    def free_buffers(self):
        """The free buffers, without those that carry this request or have not yet been returned to
        the card."""
        return self.ask()[1].get("hayate_core_buffers_free", 0)

    @contextlib.contextmanager
    def running(self, *commands):
        """Runs tools (their command lines, without atk6-) in parallel while the block runs."""
        children = [self.left.popen(["atk6-" + command.split()[0], *command.split()[1:]],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL, start_new_session=True)
                    for command in commands]
        try:
            yield children
        finally:
            for child in children:  # some fork: parasite6 ran on for ever
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()

    def attack(self, *commands, packets=None, counter=None):
        """Runs tools until the router has received `packets` more, or has increased `counter`, or
        until the tools end, but for at most ATTACK_S: some wait for answers. Then checks that all
        is well."""
        before = self.received()
        counted = self.router.counters()[counter] if counter else 0
        with self.running(*commands) as children:
            if counter:  # other packets may arrive before a tool's only one
                eventually(lambda: self.router.counters()[counter] > counted, 30,
                           "%s: %s" % (commands[0], counter))
            elif packets:
                eventually(lambda: self.received() - before >= packets, 30, "; ".join(commands))
            else:
                deadline = time.monotonic() + ATTACK_S
                while any(child.poll() is None for child in children) and time.monotonic() < deadline:
                    time.sleep(0.05)
                assert self.received() > before, commands
        self.is_well("after " + "; ".join(commands[:3]))

    def is_well(self, when):
        """Checks what the head of this file lists. A neighbour with a forged address is probed
        after DELAY_FIRST_PROBE_TIME, three times (RFC 4861 10): 8 s."""
        for core in self.router.cores():
            assert core["state"] in ("running", "asleep") and core["faults"] == 0, (when, core)
        for target, host in ((RIGHT6, self.left), (LEFT6, self.right), (RIGHT_HOST, self.left),
                             (LEFT_HOST, self.right)):
            eventually(lambda h=host, t=target: reaches(h, t), 15, "%s: ping %s" % (when, target))
        eventually(lambda: self.ask()[0] == ["ok\n"] * 4, 15, when + ": /healthz of all addresses")
        self.router.balanced()
        _, figures, known = self.ask()
        assert figures["hayate_packets_waiting"] <= WAITING_MAX, (when, figures)
        assert len(known["neighbours6"]) <= NEIGHBOURS_MAX, when
        mac = {n["address"]: n["mac"] for n in known["neighbours"] + known["neighbours6"]}
        for host, addresses in ((self.left, (LEFT_HOST, LEFT6)), (self.right, (RIGHT_HOST, RIGHT6))):
            for address in addresses:
                assert mac.get(address) == self.mac[host], (when, address, mac.get(address))
        if self.buffers and figures["hayate_core_buffers_free"] < self.buffers:
            eventually(lambda: self.free_buffers() >= self.buffers, 10,
                       "%s: %d buffers free" % (when, self.buffers))


@pytest.fixture
def siege(make_lab6):
    return Siege(make_lab6(extra=WEB))


# Each of these sends as fast as possible and does not end.
DISCOVERY_FLOODS = [
    "flood_router26 eth0", "flood_router26 -F eth0", "flood_router26 -s -H eth0",
    "flood_router6 -HFD eth0", "flood_advertise6 eth0", "flood_advertise6 eth0 " + LEFT_ROUTER6,
    "flood_solicitate6 eth0", "flood_solicitate6 eth0 %s %s" % (LEFT_ROUTER6, LEFT_ROUTER6),
    "flood_solicitate6 -a eth0 " + LEFT_ROUTER6, "flood_rs6 -S eth0", "flood_rs6 -sS eth0",
    "flood_redir6 eth0", "flood_redir6 -HFD eth0 " + LEFT_ROUTER6, "flood_mld6 eth0",
    "flood_mld26 eth0", "flood_mldrouter6 eth0", "flood_dhcpc6 eth0",
    "sendpees6 eth0 1024 2001:db8:1:: " + LEFT_ROUTER6,
]


def test_floods_of_discovery(siege):
    """Floods of neighbour and router discovery messages, MLD, redirects: RFC 4861, 3971, 3810."""
    for command in DISCOVERY_FLOODS:
        siege.attack(command, packets=500 if "dhcp" in command else 5000)
    found = siege.router.balanced()
    for name in ("nd_router_inconsistent", "drop_nd_redirect", "drop_mld_type", "drop_ip6_multicast",
                 "drop_frag_full"):
        assert found[name], (name, found)
    assert "2001:db8:66" not in siege.router.command("show ipv6 route")
    assert len(re.findall(r"\S+/\d+ ", siege.router.command("show ipv6 route"))) == 2


# Scans of a subnet (RFC 6583), floods of errors, echoes and SYN, from real and forged sources.
EXHAUSTION = [
    "ndpexhaust26 eth0 2001:db8:2::/64", "ndpexhaust26 -p -R eth0 2001:db8:2::/64",
    "ndpexhaust26 -a -U -r eth0 2001:db8:2::/64", "ndpexhaust6 eth0 2001:db8:2::/64",
    "flood_unreach6 -R eth0 " + LEFT_ROUTER6, "smurf6 eth0 " + LEFT6, "smurf6 eth0 " + LEFT_ROUTER6,
    "rsmurf6 eth0 ff02::1", "thcsyn6 -R eth0 %s 80" % LEFT_ROUTER6,
    "thcsyn6 -r -O eth0 %s 80" % LEFT_ROUTER6, "thcsyn6 -r -d -d -f -f eth0 %s x" % LEFT_ROUTER6,
    "thcsyn6 -r -A eth0 %s 80" % LEFT_ROUTER6, "thcsyn6 -D eth0 %s 80" % RIGHT6,
]


def test_exhaustion(siege):
    for command in EXHAUSTION:
        siege.attack(command, packets=5000)
    found = siege.router.balanced()
    for name in ("nd_limited", "drop_neigh_table", "drop_ip6_src_local", "drop_ip6_src_martian",
                 "tcp_cookies_tx", "drop_ip6_ext_limit"):
        assert found[name], (name, found)


def test_malformed(siege):
    """Chains of extension headers, overlapping or missing fragments, old exploits, all types of
    ICMPv6: at the router itself, and through it at the host behind."""
    siege.attack("exploit6 eth0 " + LEFT_ROUTER6, "exploit6 eth0 " + RIGHT6)
    siege.attack("randicmp6 -p eth0 " + LEFT_ROUTER6)
    siege.attack("randicmp6 -p eth0 " + RIGHT6)
    for target in (LEFT_ROUTER6, RIGHT6):
        siege.attack(*["denial6 eth0 %s %d" % (target, case) for case in range(1, 8)], packets=10000)
    siege.attack(*["%s %d" % (command, case) for command, cases in (
        ("fragmentation6 -p -n 1 eth0 " + LEFT_ROUTER6, 40),
        ("implementation6 -p eth0 " + LEFT_ROUTER6, 57),
        ("firewall6 eth0 %s 80" % RIGHT6, 30)) for case in range(1, cases)])
    for case in (2, 4, 9, 20):
        siege.attack("fragmentation6 -f eth0 %s %d" % (LEFT_ROUTER6, case), packets=3000)
    found = siege.router.balanced()
    for name in ("drop_ip6_ext_limit", "drop_ip6_first_fragment", "drop_frag_overlap",
                 "drop_frag_length", "drop_frag_too_long", "drop_icmp6_type", "drop_icmp6_malformed",
                 "icmp6_tx_param_problem", "drop_tcp_port"):
        assert found[name], (name, found)


def test_lies(siege):
    """A host on the link can forge any message (ND has no signatures). The effect must end soon
    after the attack, and must not touch what is configured."""
    router = siege.router
    siege.attack("fake_advertise6 -n 1 eth0 %s %s %s" % (LEFT6, LEFT_ROUTER6, LIAR), packets=1)
    siege.attack("fake_advertise6 -n 1 eth0 " + LEFT_ROUTER6, counter="nd_conflict")
    siege.attack("fake_advertise6 -F -n 1 eth0 %s %s" % (LEFT6, LEFT_ROUTER6), packets=1)
    siege.attack("fake_solicitate6 eth0 " + LEFT_ROUTER6, packets=1)
    siege.attack("fake_solicitate6 eth0 %s %s %s" % (LEFT6, LEFT_ROUTER6, LIAR), packets=1)
    siege.attack("redir6 eth0 %s %s fe80::1 fe80::66" % (LEFT_ROUTER6, RIGHT6), packets=1)
    siege.attack("toobig6 eth0 %s %s 1280" % (LEFT_ROUTER6, RIGHT6),
                 "toobig6 -u eth0 %s %s 68" % (LEFT_ROUTER6, LEFT6))
    siege.attack("kill_router6 eth0 " + LEFT_ROUTER6, packets=1)
    siege.attack("fake_router26 -n 1 -A 2001:db8:66::/64 eth0",
                 "fake_router26 -n 1 -E O -A 2001:db8:66::/64 eth0",
                 "fake_router26 -n 1 -E H111 -A 2001:db8:66::/64 eth0", packets=3)
    siege.attack("rsmurf6 eth0 " + LEFT6, packets=1)
    siege.attack("node_query6 eth0 " + LEFT_ROUTER6, "inverse_lookup6 eth0 52:54:00:68:79:00",
                 packets=2)
    assert "2001:db8:66" not in router.command("show ipv6 route")
    # Forged answers to every solicitation look like the real neighbour's. Their effect ends when
    # the operator clears the neighbours, or when the entry is probed (RFC 4861: 45 s and 8 s).
    with siege.running("parasite6 -l eth0 " + LIAR):
        def believed():
            router.command("clear ipv6 neighbors")
            reaches(siege.left, RIGHT6)  # its answer makes the router solicit the left host
            return LIAR in router.command("show ipv6 neighbors")
        eventually(believed, 30, "the lie is believed")
    router.command("clear ipv6 neighbors")
    siege.is_well("after parasite6")
    found = router.balanced()
    assert found["nd_conflict"] and found["drop_nd_bad_sender"] and found["nd_router_inconsistent"]


def test_lies_about_a_configured_neighbour(make_hosts, make_router):
    """`ipv6 neighbor` takes precedence over any advertisement, solicited or not."""
    left, right = make_hosts()
    router = make_router(config6(extra="ipv6 neighbor %s eth0 %s" % (LEFT6, mac_of(left))),
                         ports=(left.port, right.port))
    left.configure6(LEFT6 + "/64", LEFT_ROUTER6)
    right.configure6(RIGHT6 + "/64", RIGHT_ROUTER6)
    addresses_up(router)
    eventually(lambda: reaches(right, LEFT6), 10, "a ping before")

    def heard():
        counters = router.balanced()
        return counters["delivered_nd"] + counters["drop_nd_unknown"]

    for flags in ("-s", "-r", ""):
        before = heard()
        attacker = left.popen(["atk6-fake_advertise6", *flags.split(), "-n", "1", "eth0", LEFT6,
                               LEFT_ROUTER6, LIAR], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            eventually(lambda least=before: heard() > least, 30, "the router hears the lie")
        finally:
            attacker.kill()
            attacker.wait()
        assert re.search("^%s +%s +eth0 +static" % (LEFT6, mac_of(left)),
                         router.command("show ipv6 neighbors"), re.M)
        assert reaches(right, LEFT6)


def test_no_address_may_be_used(make_hosts, make_router):
    """dos-new-ip6 claims every address that a station of its link is about to use (RFC 4862 5.4).
    The router reports that and does not use them; the other link and IPv4 are unaffected. When the
    link comes up again without the attacker, the addresses are used."""
    left, right = make_hosts()
    left.configure6(LEFT6 + "/64", LEFT_ROUTER6)
    right.configure6(RIGHT6 + "/64", RIGHT_ROUTER6)
    attacker = left.popen(["atk6-dos-new-ip6", "eth0"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        router = make_router(config6(), ports=(left.port, right.port))
        # perhaps printed while the test waited for the cables
        eventually(lambda: router.command("show arp") and
                   re.search(r"eth0: \S+ is in use by", router.text), 30, "the router says so")
        addresses_up(router)
    finally:
        attacker.kill()
        attacker.wait()
    shown = router.command("show interfaces").split("eth1 link")[0]
    assert re.search("^  address .*/64 duplicate$", shown, re.M), shown
    assert not re.search("^  address 2001:.*/64$", shown, re.M), shown
    eventually(lambda: reaches(right, RIGHT_ROUTER6), 10, "the other link")
    eventually(lambda: reaches(left, RIGHT_HOST), 10, "IPv4")
    router.set_link(0, False)
    router.expect("eth0: link down", 20)
    router.set_link(0, True)
    router.wait_links(["eth0"])
    eventually(lambda: reaches(left, RIGHT6), 15, "the addresses are used")
    assert "duplicate" not in router.command("show interfaces")
