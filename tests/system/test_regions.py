"""Memory of XDP programs and their maps (kernel/regions.c, runtime/regions.c) on the real image: who may
execute, write and read it; what outlives which failure; what cards reach. With test=1 the kernel checks all
page tables after every change (kernel/audit.c)."""
import re

import pytest
from conftest import RIGHT_HOST, eventually, pings, reaches, LEFT_ROUTER
from test_iommu import SLEEPS, refused
from test_isolation import ABSENT, FORBIDDEN, fault

KINDS = ["code", "shared", "own", "control"]
MADE = "6d616465"  # control/test/region_words.c
AUDIT = r"^audit: (\d+) address spaces, .* nothing of two writers;"


def make(router):
    """Regions of all kinds; the kernel has checked its page tables after each."""
    router.skip()
    said = router.command("test regions make")
    assert "no memory" not in said and "not written" not in said, said
    assert len(re.findall(AUDIT, said, re.MULTILINE)) == len(KINDS), said


def shown(router):
    return router.command("test regions show").replace("\r", "")


def words(router, name, part):
    return re.search(r"^words %s %d: (.*)$" % (name, part), shown(router), re.MULTILINE).group(1).split()


@pytest.fixture
def three(make_lab):
    """A router with two data cores and regions of all kinds; cores may fault."""
    lab = make_lab(None, "--append", "test=1", cpus=3)
    lab.router.faults_expected = True
    make(lab.router)
    return lab


def fails(lab, kind, core, what, why=None):
    """The core's program may not do that: it fails so, and comes back."""
    report = fault(lab, kind, core)
    assert report.group(1) == what, (kind, report.group(0))
    if why:
        assert re.match("  " + why, report.group(2)), (kind, report.group(2))
    if core == 0:
        lab.router.wait_prompt(20)
    return report


def test_none_without_programs(make_lab):
    """A machine without programs has no region and keeps its memory."""
    lab = make_lab(None, "--append", "test=1")
    said = shown(lab.router)
    assert "region 0" not in said
    for kind in KINDS:
        assert "%s: 0 KiB, free 0 bytes" % kind in said


@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_made(make_lab, cpus):
    """Regions of all kinds, on machines with and without data cores of their own. They are given back and
    used again: no second region is made."""
    lab = make_lab(None, "--append", "test=1", cpus=cpus)
    make(lab.router)
    before = shown(lab.router)
    assert "code e5894855" in before
    assert [re.search(r"region %d (\w+) at" % i, before).group(1) for i in range(4)] == KINDS
    assert words(lab.router, "control", 0)[0] == MADE
    lab.router.command("test regions free")
    given = shown(lab.router)
    assert "code cccccccc" in given  # erased
    for kind in ("code", "shared", "control"):
        assert "%s: 2048 KiB, free 2097152 bytes" % kind in given
    lab.router.skip()
    assert "audit:" not in lab.router.command("test regions make")
    assert shown(lab.router).splitlines()[:4] == before.splitlines()[:4]
    pings(lab.left, RIGHT_HOST, count=5)


def test_data_core(three):
    """What a data core may not do to code and maps. Its failure says whether it was in XDP code."""
    write, read, execute = (r"%s at [0-9a-f]{16}: " % word for word in ("write", "read", "execute"))
    page = "page fault"
    fails(three, "code-write", 1, page, write + FORBIDDEN)
    fails(three, "code-alias", 2, page, read + ABSENT)
    fails(three, "exec-map", 1, page, execute + FORBIDDEN)
    fails(three, "others-map", 2, page, read + ABSENT)
    fails(three, "control-map", 1, page, write + FORBIDDEN)
    three.router.wait_links()
    pings(three.left, RIGHT_HOST, count=5)


def test_failure_in_code(three):
    """An invalid instruction in XDP code, and code that runs into erased bytes: int3 there is no kernel
    call. Report and backtrace say where that was."""
    for kind, core, what, at, caller in (
            ("code-run", 1, "invalid opcode", "4", "test_fault_run"),
            ("code-erased", 2, "xdp code left its program", "1000", "")):
        three.router.skip()
        here = three.router.mark
        fails(three, kind, core, what)
        three.router.mark = here
        three.router.expect(r"^    [0-9a-f]{16}  xdp code\+0x%s\r?\n    [0-9a-f]{16}  %s" % (at, caller),
                            10, "the backtrace")
        three.router.mark = here
        three.router.expect(r"^  xdp code\+0x%s: no program is known there" % at, 10, "the name")
    assert "xdp code+0x1000: no program is known there" in three.router.command("show crash")
    three.router.wait_links()
    pings(three.left, RIGHT_HOST, count=5)


@pytest.mark.parametrize("kind,why", [
    ("code-write", "write at [0-9a-f]{16}: " + FORBIDDEN), ("code-alias", "read at [0-9a-f]{16}: " + ABSENT),
    ("code-run", "execute at [0-9a-f]{16}: " + FORBIDDEN), ("exec-map", "execute at [0-9a-f]{16}: " + FORBIDDEN)])
def test_control_core(three, kind, why):
    """The control core can neither write code, nor execute it, nor reach it where its tables were."""
    fails(three, kind, 0, "page fault", why)
    three.router.wait_links()
    pings(three.left, RIGHT_HOST, count=5)


def test_data_core_restarts(three):
    """A core's failure loses nothing of any map: it wrote just before."""
    for core in (1, 2):
        fails(three, "mark", core, "invalid opcode")
    assert words(three.router, "shared", 0) == ["0", "5a000001", "5a000002"]
    assert words(three.router, "own", 0) == ["0", "a5000001", "0"]
    assert words(three.router, "own", 1) == ["0", "0", "a5000002"]


def test_control_core_restarts(three):
    """The restarted control program finds all regions with their contents, data cores go on by them, and
    what it claims is not given to others."""
    fails(three, "mark", 1, "invalid opcode")
    before = shown(three.router).splitlines()
    three.router.skip()
    three.router.send("test fault ud core 0")
    three.router.expect(r"control program: goes on after \d+ us; data cores have not stopped", 20)
    three.router.wait_prompt(20)
    after = shown(three.router).splitlines()
    assert after[:4] == before[:4]
    assert [line for line in after if line.startswith(("words", "code e"))] == \
        [line for line in before if line.startswith(("words", "code e"))]
    assert "cannot" not in three.router.command("test regions claim")
    assert three.router.command("test regions claim").count("cannot be claimed") == 4  # twice
    assert "own: 4096 KiB, free 4063232 bytes" in shown(three.router)
    fails(three, "mark", 2, "invalid opcode")  # still mapped
    assert words(three.router, "shared", 0) == ["0", "5a000001", "5a000002"]
    pings(three.left, RIGHT_HOST, count=5)


@pytest.mark.parametrize("cpus", [1, 2])
def test_little_memory(make_lab, cpus):
    """What does not fit is refused, and the machine goes on."""
    lab = make_lab(None, "--memory", "64M", "--append", "test=1", cpus=cpus)
    assert "no memory" in lab.router.command("test regions fill 64")
    assert "no memory" in lab.router.command("test regions fill 65536")
    assert "taken" in lab.router.command("test regions fill 2")
    eventually(lambda: "no memory" in lab.router.command("test regions fill 2"), 30, "the end of memory")
    lab.router.command("test regions make")
    assert shown(lab.router).count("region ") < 10
    pings(lab.left, RIGHT_HOST, count=5)


@pytest.mark.parametrize("region", range(4))
def test_cards_reach_no_region(make_lab, region):
    """Behind an IOMMU: a card's write to code or a map is refused, and the memory is as before."""
    lab = make_lab(None, "--iommu", *SLEEPS, cpus=2)
    lab.router.faults_expected = True
    make(lab.router)
    pings(lab.left, RIGHT_HOST, count=5)
    assert refused(lab.router)[2] == 0
    lab.router.skip()
    here = lab.router.mark
    assert "the region's word is untouched" in lab.router.command("test dma eth0 region %d" % region)
    reaches(lab.left, LEFT_ROUTER)
    assert "the region's word is untouched" in lab.router.command("test dma eth0 region %d" % region)
    lab.router.mark = here
    lab.router.expect(r"iommu: refused: \S+ wrote [0-9a-f]+: not memory for this device", 10, "the report")


def test_cards_without_iommu(make_lab):
    """The premise of the test above."""
    lab = make_lab(None, *SLEEPS, cpus=2)
    make(lab.router)
    pings(lab.left, RIGHT_HOST)
    lab.router.command("test dma eth0 region 1")
    reaches(lab.left, LEFT_ROUTER)
    assert "has been written to" in lab.router.command("test dma eth0 region 1")
