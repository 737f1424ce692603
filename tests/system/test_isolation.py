"""A core program that accesses forbidden memory faults at once, and the machine goes on. These are
the real page tables as the kernel built them (kernel/audit.c checks all of them, with test=1)."""
import os
import re
import subprocess

import pytest
from conftest import RIGHT_HOST, ROOT, pings

KERNEL_BASE = 0xffffffff80000000  # kernel/vm.h

FORBIDDEN = "the page does not allow it"
ABSENT = "no page is there"
PAGE_FAULTS = [  # kind of fault, attempted access, reason of the refusal
    ("write", "write", FORBIDDEN),
    ("constant", "write", FORBIDDEN),
    ("boot-info", "write", FORBIDDEN),
    ("published", "write", FORBIDDEN),
    ("shared", "write", FORBIDDEN),
    ("arena", "(?:read|write)", ABSENT),
    ("tables", "read", ABSENT),
    ("kernel", "read", FORBIDDEN),
    ("exec", "execute", FORBIDDEN),
    ("exec-constant", "execute", FORBIDDEN),
    ("exec-stack", "execute", FORBIDDEN),
    ("exec-published", "execute", FORBIDDEN),
    ("exec-arena", "execute", FORBIDDEN),
]
PRIVILEGED = ["cli", "port", "msr", "sgdt"]
AT_ONCE = 4  # faults of one core; more than five within 10 s stop it for good (kernel/fault.c)


def fault(lab, kind, core):
    """Makes the core fault; returns the report when the ports run again."""
    router = lab.router
    router.skip()
    router.send("test fault %s core %d" % (kind, core))
    report = router.expect(r"^\*\*\* (.*) on core %d in the core program[^\n]*\n(.*)\n" % core, 10,
                           "a report of %s" % kind)
    router.expect(r"core %d: program restarted" % core, 10)
    router.wait_back()
    return report


@pytest.fixture
def three(make_lab):
    """A router with two data cores, on which a core's fault does not fail the test."""
    lab = make_lab(None, "--append", "test=1", cpus=3)
    lab.router.faults_expected = True
    return lab


@pytest.mark.parametrize("first", range(0, len(PAGE_FAULTS), 2 * AT_ONCE))
def test_memory(three, first):
    for index, (kind, what, why) in enumerate(PAGE_FAULTS[first:first + 2 * AT_ONCE]):
        report = fault(three, kind, 1 + index % 2)
        assert report.group(1) == "page fault", kind
        assert re.match(r"  %s at [0-9a-f]{16}: %s" % (what, why), report.group(2)), (
            kind, report.group(2))
    three.router.wait_links()
    pings(three.left, RIGHT_HOST, count=5)


def test_control_core_memory(three):
    """The control core can read the data cores' memory, but cannot write it."""
    for kind, what, why in (("shared", "write", FORBIDDEN), ("arena", "write", FORBIDDEN),
                            ("exec-published", "execute", FORBIDDEN)):
        report = fault(three, kind, 0)
        assert re.match(r"  %s at [0-9a-f]{16}: %s" % (what, why), report.group(2)), (
            kind, report.group(2))
        three.router.wait_prompt(20)
    three.router.wait_links()
    pings(three.left, RIGHT_HOST, count=5)


def test_privileged_instructions(three):
    for index, kind in enumerate(PRIVILEGED):
        assert fault(three, kind, 1 + index % 2).group(1) == "general protection", kind
    three.router.wait_links()
    pings(three.left, RIGHT_HOST, count=5)


@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_audit(make_router, cpus):
    """The kernel walks all page tables; the CPU's protections between the rings are on. QEMU's CPU
    has all of them."""
    router = make_router(None, "--append", "test=1", cpus=cpus, wait=False)
    line = router.expect(r"^audit: (\d+) address spaces, (\d+) MiB mapped, nothing writable and "
                         r"executable, nothing of two writers; CPU:(.*)\r?\n", 60, "the audit")
    assert int(line.group(1)) == cpus
    assert int(line.group(2)) > 4096 * cpus  # the first 4 GiB are always mapped: none was omitted
    assert line.group(3).split() == ["WP", "SMEP", "SMAP", "UMIP"]
    router.wait_prompt(60)


def test_smashed_stack(three):
    """A stack overflow is caught before the function returns, and the report names the function."""
    for core in (1, 2, 0):
        report = fault(three, "smash", core)
        assert report.group(1) == "stack overwritten in write_beyond_an_array"
    three.router.wait_prompt(20)
    three.router.wait_links()
    pings(three.left, RIGHT_HOST, count=5)


@pytest.mark.parametrize("image", ["program.elf", "hayate-debug.elf"])
def test_whose_guard(image):
    """Each stack guard is ours. GCC uses the C library's in some functions despite its options;
    that would be a page fault at ring 3 and a word of zeroes at ring 0."""
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", os.path.join(ROOT, "build", image)],
                          check=True, capture_output=True, text=True).stdout
    assert "<__stack_chk_fail>:" in code
    assert re.findall(r".*%[fg]s:0x28.*", code) == []


def guard(router, core, image, command="x", base=0):
    """The guard word after local arrays, as QEMU reads it in the address space of a core."""
    symbols = subprocess.run(["nm", os.path.join(ROOT, "build", image)], check=True,
                             capture_output=True, text=True).stdout
    address = re.search(r"^([0-9a-f]+) \w __stack_chk_guard$", symbols, re.MULTILINE).group(1)
    said = router.qmp("human-monitor-command", **{
        "command-line": "%s /1gx %#x" % (command, int(address, 16) - base), "cpu-index": core})
    word = int(re.search(r"0x([0-9a-f]{16})\s*$", said).group(1), 16)
    assert word != 0 and word & 0xff == 0, hex(word)
    return word


def guards(router):
    """The guards of the kernel and of each core's program."""
    return [guard(router, 0, "hayate-debug.elf", "xp", KERNEL_BASE),
            *(guard(router, core, "program.elf") for core in range(3))]


def test_guards_differ(make_router):
    """All guards differ: those of the kernel and two cores, and those of two starts."""
    router = make_router(None, "--append", "test=1", cpus=3)
    router.faults_expected = True
    before = guards(router)
    router.skip()
    router.send("test fault ud core 1")
    router.wait_back()
    after = guards(router)
    assert [a == b for a, b in zip(before, after)] == [True, True, False, True]
    router.skip()
    router.send("reload")
    router.wait_up()
    assert len({*before, *after, *guards(router)}) == 4 + 1 + 4
