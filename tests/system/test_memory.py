"""Machines with little memory: each reports what does not fit, and ends as `panic=` says, or runs.
QEMU is started directly, because the launcher gives at least 64 MiB."""
import re
import subprocess

import pytest
from conftest import ACCEL, IMAGE, QEMU, RIGHT_HOST, pings

REFUSED = re.compile(r"\*\*\* kernel panic: not enough memory: no \d+ KiB in one piece for ([a-z' ]+); "
                     r"of \d+ MiB the boot module has 0 and \d+ are in use")
DEBUG_EXIT = 0xf4


class Small:
    """A machine without cards, of `mib` MiB: `said` is its console up to the pattern or its end."""

    def __init__(self, mib, pattern, arguments=""):
        words = [QEMU or "qemu-system-x86_64", "-M", "q35", "-accel", ACCEL, "-cpu", "max",
                 "-m", "%dM" % mib, "-smp", "2", "-nographic", "-nic", "none",
                 "-device", "isa-debug-exit,iobase=%#x" % DEBUG_EXIT,
                 "-append", "debug-exit=%#x %s" % (DEBUG_EXIT, arguments), "-kernel", IMAGE]
        self.said, self.code = "", None
        child = subprocess.Popen(["timeout", "120"] + words, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            while not re.search(pattern, self.said):
                byte = child.stdout.read(1)
                if not byte:
                    self.code = child.wait()
                    break
                self.said += byte.decode("latin-1")
        finally:
            child.terminate()
            child.wait()
            child.stdout.close()


def test_sizes():
    """From a memory too small for everything up to a sufficient one: each report names the missing
    part, in order, and above some size the machine runs."""
    missing = []
    for mib in range(14, 62, 6):
        machine = Small(mib, r"ready: 0 ports")
        refused = REFUSED.search(machine.said)
        assert (machine.code == 1 << 1 | 1) == bool(refused), machine.said
        missing.append(refused and refused[1])
    enough = missing.index(None)
    assert 2 <= enough < len(missing) - 1 and not any(missing[enough:]), missing
    assert missing[0] == "the tables" and len(set(missing[:enough])) > 1, missing


def test_panic_reboot():
    """With `panic=reboot` the machine tries again, and reports again."""
    machine = Small(20, r"(?s)kernel panic: not enough memory.*kernel panic: not enough memory[^\n]*\n",
                    "panic=reboot")
    assert machine.code is None and "restarting in" in machine.said
    assert [m[1] for m in REFUSED.finditer(machine.said)] == ["the tables"] * 2, machine.said


@pytest.mark.parametrize("cpus", [1, 2])
def test_least_of_the_launcher(make_lab, cpus):
    lab = make_lab(None, "--memory", "64M", cpus=cpus)
    pings(lab.left, RIGHT_HOST, count=5)
