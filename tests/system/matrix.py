#!/usr/bin/python3
"""Runs the same tests for every card, application and number of CPUs, and prints a table of the
results:

    tests/system/matrix.py [--cpus N ...] [--nic NAME ...] [--app NAME ...]

Each cell is a run of the application's tests (APPLICATIONS) on machines with this number of CPUs
and these cards. The tests of OTHERS choose the number themselves: they run once, in a column of
their own (`--cpus 0`). With it, all tests that `make test` deals to the cards (conftest.py, DEALS)
run on all of them. If tests were skipped, a note below the table says why and how many. Tests of
another card are not in the cell. Prints the table, its notes, the tests that failed, and
`matrix: N passed, N failed`. Exit code: 0 if none failed. The consoles of a column's machines are
in build/test-logs/cpus-N/.
"""
import argparse
import collections
import os
import signal
import sys
import tempfile
import xml.etree.ElementTree as xml

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "tools"))

from launcher import options, process  # noqa: E402

APPLICATIONS = {
    "router": ["test_forwarding", "test_links", "test_vlan", "test_filter"],
    "echo": ["test_echo", "test_tcp"],
    "HTTP": ["test_http"],
    "pktgen": ["test_pktgen"],
}
OTHERS = {
    "ICMP, IPv6": ["test_icmp", "test_ip6"],
    "failures": ["test_faults", "test_restart", "test_warm_restart"],
    "IOMMU": ["test_iommu", "test_unassigned"],
    "XDP": ["test_xdp", "test_xdp_replace"],
    "random frames": ["test_fuzz"],
    "flows to cores": ["test_balance", "test_elastic", "test_move_tcp", "test_move_web"],
    "VXLAN": ["test_engine_vxlan"],
    "switch": ["test_switch", "test_switch_acl", "test_switch_mirror", "test_switch_snoop", "test_switch_stp"],
    "LACP, LLDP": ["test_lacp", "test_lldp"],
    "web": ["test_web"],
    "disks": ["test_disk", "test_storage", "test_upgrade_url"],
    "DHCP": ["test_dhcp"],
    "syslog, sFlow": ["test_telling"],
    "soak": ["test_soak"],
}
CHOSEN = 0  # instead of a number of CPUs: the test's choice
CPUS = (1, 2, 4, CHOSEN)
SHARES = 2  # run in parallel


def applications(cpus):
    """Those of a column, with their modules."""
    return OTHERS if cpus == CHOSEN else APPLICATIONS


class Cell:
    """The results of the tests of one card, application and number of CPUs."""

    def __init__(self):
        self.passed, self.failed = 0, []
        self.skipped = collections.Counter()  # reason -> tests

    def text(self, notes):
        """notes: reason -> its number; new reasons are added."""
        said = ["%d passed" % self.passed] if self.passed else []
        said += ["%d failed" % len(self.failed)] if self.failed else []
        numbers = [notes.setdefault(reason, len(notes) + 1) for reason in sorted(self.skipped)]
        return " ".join([", ".join(said) or "n/a"] + ["(%d)" % number for number in sorted(numbers)])


def card_of(name):
    """The card among a test's parameters; QEMU's own if there is none."""
    words = name.partition("[")[2].rstrip("]").split("-")
    return next((card for card in options.NICS if card in words), options.DEFAULT_NIC)


def read(path, cells, cpus):
    """Reads the results of one share; False: there are none, because pytest failed."""
    try:
        cases = xml.parse(path).iter("testcase")
    except (OSError, xml.ParseError):
        return False
    for case in cases:
        module = case.get("classname", "").split(".")[-1]
        application = next(app for app, modules in applications(cpus).items() if module in modules)
        cell = cells[card_of(case.get("name")), application, cpus]
        if case.find("failure") is not None or case.find("error") is not None:
            cell.failed.append("%s::%s" % (module, case.get("name")))
        elif case.find("skipped") is not None:
            cell.skipped[case.find("skipped").get("message")] += 1
        else:
            cell.passed += 1
    return True


def run(cpus, wanted, cells, work):
    """Runs one column, its shares in parallel. False if one of them did not complete."""
    files = [os.path.join(HERE, module + ".py") for app, modules in applications(cpus).items()
             if app in wanted.app for module in modules]
    if not files:
        return True
    number = [] if cpus == CHOSEN else ["--cpus", str(cpus)]
    paths = [os.path.join(work, "%d-%d.xml" % (cpus, share)) for share in range(SHARES)]
    some = [] if set(wanted.nic) == set(options.NICS) else ["-k", " or ".join(wanted.nic)]
    children = []
    try:
        for share, path in enumerate(paths):
            children.append(process.popen(
                [sys.executable, "-m", "pytest", "-q", "-c", os.path.join(HERE, "pytest.ini"), *files, *some,
                 *number, "--logs", "cpus-%d" % cpus,
                 "--share", "%d/%d" % (share + 1, SHARES), "--junitxml", path]))
        for child in children:
            child.wait()
    finally:
        for child in children:
            if child.poll() is None:
                child.terminate()  # its fixtures take down what they have made
        for child in children:
            child.wait()
    return all([read(path, cells, cpus) for path in paths])


def counted(number, of):
    return "%d %s%s" % (number, of, "" if number == 1 else "s")


def heading(cpus):
    return "CPUs of the test's choice" if cpus == CHOSEN else counted(cpus, "CPU")


def table(cells, wanted):
    """The lines of the table in Markdown, with its notes."""
    notes = {}
    yield "| application | card | %s |" % " | ".join(
        heading(cpus) for cpus in wanted.cpus)
    yield "| --- | --- |" + " --- |" * len(wanted.cpus)
    for app in wanted.app:
        for nic in wanted.nic:
            yield "| %s | %s | %s |" % (app, nic, " | ".join(
                cells[nic, app, cpus].text(notes) for cpus in wanted.cpus))
    if notes:
        yield ""
    for reason, number in notes.items():
        left_out = sum(cell.skipped[reason] for cell in cells.values())
        yield "(%d) %s not run: %s" % (number, counted(left_out, "test"), reason)


def main():
    parser = argparse.ArgumentParser(description="Runs the same tests on every card with several numbers of CPUs.")
    parser.add_argument("--cpus", nargs="+", type=int, default=CPUS, metavar="N")
    parser.add_argument("--nic", nargs="+", choices=options.NICS, default=options.NICS)
    parser.add_argument("--app", nargs="+", choices=[*APPLICATIONS, *OTHERS],
                        default=[*APPLICATIONS, *OTHERS])
    wanted = parser.parse_args()
    cells, whole = collections.defaultdict(Cell), True
    with tempfile.TemporaryDirectory(prefix="hayate-matrix-") as work:
        for cpus in wanted.cpus:
            print("\n--- " + heading(cpus), flush=True)
            whole &= run(cpus, wanted, cells, work)
    print("\n" + "\n".join(table(cells, wanted)) + "\n")
    failed = ["%s: %s" % (heading(cpus), name)
              for (_, _, cpus), cell in cells.items() for name in cell.failed]
    for line in failed:
        print("FAILED " + line)
    if not whole:
        print("matrix: some tests were not run: see above")
    print("matrix: %d passed, %d failed" % (sum(cell.passed for cell in cells.values()), len(failed)))
    return 1 if failed or not whole else 0


if __name__ == "__main__":
    # Raises an exception, so that no share and no file remains.
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, lambda number, _: sys.exit(128 + number))
    sys.exit(main())
