"""LLDP with lldpd, the agent of Linux distributions, in a host at eth0: each sees the other with all that it
announces, and forgets it when it says goodbye or falls silent."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile

import pytest
from conftest import eventually

WAIT_S = 60
RESUMED = b"lldpd should resume operations"
# for each application the statements of its address, and its capability in lldpd's words
ADDRESS = {"router": "interface eth0\n description to h0\n ip address 192.0.2.1/24\n",
           "pktgen": "interface eth0\n description to h0\n ip address 192.0.2.1/24\n",
           "switch": "interface eth0\n description to h0\n switchport access vlan 20\n"
                     "interface vlan20\n ip address 192.0.2.1/24\n"}
CAPABILITY = {"router": "Router", "switch": "Bridge", "pktgen": "Station"}


class Lldpd:
    """lldpd on eth0 of a host; what it announces is valid for `hold` seconds. work: a folder with a short path, because a socket's has at most 107
    characters (unix(7))."""

    def __init__(self, host, work, hold):
        self.host, self.socket = host, str(work / "socket")
        with open(work / "log", "ab") as log:
            before = log.tell()
            self.child = host.popen(["lldpd", "-d", "-u", self.socket, "-I", "eth0"], stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        # lldpd starts an lldpcli of its own, which reads the whole configuration, lifts the pause in it and writes it
        # back: what is configured in between is lost.
        eventually(lambda: RESUMED in (work / "log").read_bytes()[before:], WAIT_S,
                   "lldpd resumes (its output: %s)" % (work / "log"))
        for words in (["lldp", "tx-interval", "1"], ["lldp", "tx-hold", str(hold)], ["system", "hostname", "h0"],
                      ["system", "description", "a Linux host"]):
            assert self.ask("configure", *words).returncode == 0

    def ask(self, *words):
        return self.host.run(["lldpcli", "-u", self.socket, "-f", "json0", *words])

    def neighbours(self):
        found = json.loads(self.ask("show", "neighbors", "details").stdout)["lldp"]
        return [n for lldp in found for n in lldp.get("interface", [])]

    def end(self, by):
        """Sends the signal to its two processes: one alone would still say goodbye."""
        os.killpg(self.child.pid, by)
        self.child.wait(WAIT_S)
        self.host.children.remove(self.child)


@pytest.fixture
def start(make_hosts, make_router):
    """start(application) boots a machine with LLDP and a host with lldpd: (machine, lldpd)."""
    def started(application, hold=300):
        host, _ = make_hosts()
        config = "hostname dut\nlldp run\nlldp timer 2\nlldp holdtime 600\n%s" % ADDRESS[application]
        if application == "switch":
            config = "application switch\n" + config
        machine = make_router(config, app=application, ports=[host.port, "none"])
        return machine, Lldpd(host, work, hold)

    with tempfile.TemporaryDirectory(prefix="hayate-") as folder:
        work = pathlib.Path(folder)
        work.chmod(0o755)  # lldpcli connects without root's rights
        yield started


def rows(machine):
    return machine.command("show lldp neighbors").splitlines()[1:]


def mac_of(host):
    return host.ip("-o", "link", "show", "dev", "eth0").split("link/ether ")[1].split()[0]


def values(entry, name):
    return [item.get("value") for item in entry.get(name, [])]


@pytest.mark.parametrize("application", ADDRESS)
def test_each_sees_the_other(start, application):
    machine, lldpd = start(application)
    seen = eventually(lldpd.neighbours, WAIT_S, "lldpd sees the machine")[0]
    chassis, port = seen["chassis"][0], seen["port"][0]
    assert seen["via"] == "LLDP"
    assert values(chassis, "name") == ["dut"]
    assert chassis["id"][0]["type"] == "mac"
    assert values(chassis, "mgmt-ip") == ["192.0.2.1"]
    assert values(chassis, "descr")[0].startswith("Hayate ") and application in values(chassis, "descr")[0]
    assert [c["type"] for c in chassis["capability"] if c["enabled"]] == [CAPABILITY[application]]
    assert port["id"] == [{"type": "ifname", "value": "eth0"}]
    assert values(port, "descr") == ["to h0"]
    assert values(port, "ttl") == ["600"]
    assert values(port, "mfs") == ["1518"]
    if application == "switch":
        assert [(vlan["vlan-id"], vlan["pvid"]) for vlan in seen["vlan"]] == [("20", True)]

    mac = mac_of(lldpd.host)
    want = {"eth0", "  port-description eth0", "  system-name h0", "  system-description a Linux host",
            "  port-id " + mac, "  source " + mac}
    eventually(lambda: want <= set(machine.command("show lldp neighbors detail").splitlines()), WAIT_S,
               "the machine shows lldpd's names")
    assert "  ttl_s 300, left " in machine.command("show lldp neighbors detail")
    assert len(rows(machine)) == 1 and "h0" in rows(machine)[0]

    lldpd.end(signal.SIGTERM)  # it sends a shutdown LLDPDU
    eventually(lambda: not rows(machine), WAIT_S, "the machine forgets lldpd")
    assert "lldp_aged" not in machine.command("show counters")


def test_silence(start):
    """A neighbour that ends without a word is forgotten after its time, here 5 s."""
    machine, lldpd = start("router", hold=5)
    eventually(lambda: rows(machine), WAIT_S, "the machine sees lldpd")
    lldpd.end(signal.SIGKILL)
    eventually(lambda: not rows(machine), WAIT_S, "the neighbour is forgotten")
    assert "lldp_aged" in machine.command("show counters")


def test_the_machine_stops(start):
    """lldpd forgets it long before the time of 600 s that it announced, and sees it again later."""
    machine, lldpd = start("router")
    eventually(lldpd.neighbours, WAIT_S, "lldpd sees the machine")
    for line in ("configure", "no lldp run", "commit"):
        machine.command(line)
    eventually(lambda: not lldpd.neighbours(), WAIT_S, "lldpd forgets the machine")
    for line in ("lldp run", "commit", "exit"):
        machine.command(line)
    eventually(lldpd.neighbours, WAIT_S, "lldpd sees the machine again")
    eventually(lambda: rows(machine), WAIT_S, "the machine sees lldpd again")
