"""A network card behind an IOMMU (kernel/iommu.c) carries traffic as usual, and cannot access the
kernel. The QEMU of stable distributions has three levels of tables, newer ones have four."""
import re

import pytest
from conftest import LEFT_HOST, LEFT_ROUTER, RIGHT_HOST, eventually, pings, reaches

SLEEPS = ("--idle", "sleep", "--append", "test=1")


def refused(router):
    """(cards behind the IOMMU, cards, refused accesses), or None without an IOMMU."""
    line = re.search(r"^iommu (?:VT-d|AMD-Vi), cards behind it (\d+) of (\d+), refused (\d+)\r?$",
                     router.command("show version"), re.MULTILINE)
    return line and tuple(map(int, line.groups()))


def forwards(lab):
    """Traffic both ways, none of whose accesses is refused."""
    pings(lab.left, RIGHT_HOST, count=5)
    pings(lab.right, LEFT_HOST, "-s", "1400", count=5)
    before = lab.router.counters()["forwarded"]
    with lab.flood(RIGHT_HOST):
        eventually(lambda: lab.router.counters()["forwarded"] > before + 2000, 60, "traffic", 0.3)
    assert refused(lab.router) == (2, 2, 0)


@pytest.mark.parametrize("cpus", [1, 3])
def test_traffic(make_lab, cpus):
    lab = make_lab(None, "--iommu", "--append", "test=1", cpus=cpus)
    forwards(lab)


def write_to_kernel(lab):
    """Makes eth0's interrupts write to the kernel, and raises one; returns the console's output
    afterwards."""
    assert "the kernel's word is untouched" in lab.router.command("test dma eth0")
    reaches(lab.left, LEFT_ROUTER)
    return lab.router.command("test dma eth0")


def test_write_to_the_kernel_is_refused(make_lab):
    """The write is reported with the card and the reason, and counted; the word is unchanged; and
    the card works again once its ports have been restarted."""
    lab = make_lab(None, "--iommu", *SLEEPS)
    lab.router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    here = lab.router.mark
    assert "the kernel's word is untouched" in write_to_kernel(lab)
    lab.router.mark = here
    report = lab.router.expect(r"iommu: refused: (\S+) wrote ([0-9a-f]+): not memory for this device "
                               r"\(reason 5; 1 so far\)", 10, "the report")
    device = re.search(r"device \w+ at (\S+),", lab.router.command("show interfaces")).group(1)
    assert report.group(1) == device
    assert 0x100000 <= int(report.group(2), 16) < 0x1000000  # the image
    assert "the kernel's word is untouched" in lab.router.command("test dma eth0")
    assert refused(lab.router)[2] >= 1
    for line in "configure", "interface eth0", "mtu 1400", "commit":  # all ports are restarted
        lab.router.command(line)
    lab.router.wait_back()
    lab.router.wait_links()
    pings(lab.left, RIGHT_HOST, count=5)
    pings(lab.right, LEFT_HOST, count=5)


def write_to_rings(lab, port):
    """Makes eth0's interrupts write to that port's rings, and raises one; returns what is there then."""
    command = "test dma eth0 rings %d" % port
    assert "the ring's word is untouched" in lab.router.command(command)
    reaches(lab.left, LEFT_ROUTER)
    return lab.router.command(command)


@pytest.mark.parametrize("cpus", [1, 2])
def test_rings_of_another_card_are_out_of_reach(make_lab, cpus):
    """A card does not reach the other card's rings, which goes on forwarding; it reaches its own."""
    lab = make_lab(None, "--iommu", *SLEEPS, cpus=cpus)
    lab.router.faults_expected = True
    assert "reaches the rings of the others" not in lab.router.text
    pings(lab.left, RIGHT_HOST)
    here = lab.router.mark
    assert "the ring's word is untouched" in write_to_rings(lab, 1)
    lab.router.mark = here
    lab.router.expect(r"iommu: refused: \S+ wrote [0-9a-f]+: not memory for this device \(reason 5;", 10,
                      "the report")
    for line in "configure", "interface eth0", "mtu 1400", "commit":  # all ports are restarted
        lab.router.command(line)
    lab.router.wait_back()
    lab.router.wait_links()
    pings(lab.left, RIGHT_HOST, count=5)
    before = refused(lab.router)[2]
    assert "has been written to" in write_to_rings(lab, 0)  # its own
    assert refused(lab.router)[2] == before


@pytest.mark.each_ring
def test_rings_without_an_iommu(make_lab):
    """The premise: without an IOMMU the card's write arrives in the other card's rings."""
    lab = make_lab(None, *SLEEPS)
    lab.router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    assert "has been written to" in write_to_rings(lab, 1)


@pytest.mark.nics(["igb", "ixgbe"])  # their QEMU records such refusals, older ones do not
def test_an_interrupt_of_another_is_refused(make_lab):
    """The card uses the serial line's entry of the table: it may not, and the console still gets input."""
    lab = make_lab(None, "--iommu", *SLEEPS)
    pings(lab.left, RIGHT_HOST)
    here = lab.router.mark
    lab.router.command("test dma eth0 interrupt 0")
    reaches(lab.left, LEFT_ROUTER)
    lab.router.mark = here
    report = lab.router.expect(r"iommu: refused: (\S+) sent interrupt 0: it is another device's "
                               r"\(reason 38; \d+ so far\)", 10, "the report")
    device = re.search(r"device \w+ at (\S+),", lab.router.command("show interfaces")).group(1)
    assert report.group(1) == device
    assert refused(lab.router)[2] >= 1


def test_memory_accesses_only(make_lab):
    """A unit that cannot remap interrupts still restricts the card's memory accesses."""
    lab = make_lab(None, "--iommu", "--iommu-model", "vtd-dma", *SLEEPS)
    lab.router.faults_expected = True
    assert "2 of 2 cards reach packet memory only\r\n" in lab.router.text
    pings(lab.left, RIGHT_HOST, count=5)
    assert "the kernel's word is untouched" in write_to_kernel(lab)
    assert "the kernel's word is untouched" in lab.router.command("test dma eth0")
    assert refused(lab.router)[2] >= 1


@pytest.mark.nics(["igb", "ixgbe"])  # their QEMU remaps accesses by AMD's IOMMU, older ones do not
def test_amdvi(make_lab):
    """AMD's IOMMU: traffic, a write to the kernel and one to the other card's rings, which are both refused. QEMU
    names neither address nor bus, nor that they were writes. A card may raise its interrupt more than once."""
    lab = make_lab(None, "--iommu", "--iommu-model", "amdvi", *SLEEPS, cpus=2)
    lab.router.faults_expected = True
    assert "iommu: AMD-Vi: 2 of 2 cards reach packet memory only, and raise their own interrupts only\r\n" in (
        lab.router.text)
    forwards(lab)
    device = re.search(r"device \w+ at (\S+),", lab.router.command("show interfaces")).group(1)
    for write, mtu in (write_to_kernel, 1401), (lambda lab: write_to_rings(lab, 1), 1402):
        before = refused(lab.router)[2]
        here = lab.router.mark
        assert "word is untouched" in write(lab)
        lab.router.mark = here
        so_far = 0
        while so_far <= before:
            report = lab.router.expect(r"iommu: refused: 00:(\S+) \w+ [0-9a-f]+: not memory for this device "
                                       r"\(reason 2; (\d+) so far\)", 10, "the report")
            assert device.endswith(":" + report.group(1))
            so_far = int(report.group(2))
        for line in "configure", "interface eth0", "mtu %d" % mtu, "commit":  # all ports are restarted
            lab.router.command(line)
        lab.router.wait_back()
        lab.router.wait_links()
        pings(lab.left, RIGHT_HOST, count=5)
    assert refused(lab.router)[2] >= 2


@pytest.mark.each_ring
@pytest.mark.parametrize("arguments", [(), ("--iommu", "--append", "iommu=off")],
                         ids=["no-iommu", "off"])
def test_write_to_the_kernel_without(make_lab, arguments):
    """The premise of the test above: without an IOMMU, nothing stops the card's write."""
    lab = make_lab(None, *SLEEPS, *arguments)
    pings(lab.left, RIGHT_HOST)
    assert "has been written to" in write_to_kernel(lab)
    assert refused(lab.router) is None
