"""Cores whose APIC IDs do not fit eight bits (kernel/intr.c, smp.c). An IOMMU with 32-bit IDs brings them
the interrupts of network cards; without one they are not used, and the console says so."""
import pytest
from conftest import ACCEL, LEFT_HOST, RIGHT_HOST, eventually, pings

# QEMU numbers the CPUs of the second of two sockets with 129 cores from 256 on. One CPU is on the first.
SOCKETS = "1,maxcpus=258,sockets=2,cores=129,threads=1"
FAR_CPU = "max-x86_64-cpu,socket-id=1,core-id=%d,thread-id=0"
SLEEPS = ("--idle", "sleep", "--append", "test=1")

# Emulated x2APICs take the QEMU that has the models' client.
pytestmark = [pytest.mark.parametrize("nic", ["ixgbe"]),
              pytest.mark.skipif(ACCEL != "tcg", reason="KVM's interrupt controllers are another matter")]


def far_cpus(count):
    words = ["-smp", SOCKETS]
    for core in range(count):
        words += ["-device", FAR_CPU % core]
    return ["--qemu-arg=" + word for word in words]


@pytest.mark.parametrize("model,count", [("vtd-eim", 1), ("vtd-eim", 2), ("amdvi-xt", 2)])
def test_interrupts_wake_a_far_core(make_lab, model, count):
    """All data cores have IDs above 255, sleep, and forward: each packet's interrupt wakes one."""
    lab = make_lab(None, *SLEEPS, "--iommu", "--iommu-model", model, *far_cpus(count), cpus=1)
    assert "hayate: %d cores, " % (1 + count) in lab.router.text
    assert "raise their own interrupts only" in lab.router.text
    pings(lab.left, RIGHT_HOST)

    def wakes():
        """How often the data cores fell asleep again during five pings each way."""
        before = [core["sleeps"] for core in lab.router.cores()[1:]]
        pings(lab.left, RIGHT_HOST, count=5)
        pings(lab.right, LEFT_HOST, count=5)
        return sum(core["sleeps"] for core in lab.router.cores()[1:]) - sum(before)
    assert wakes() >= 10
    before = lab.router.counters()["forwarded"]
    with lab.flood(RIGHT_HOST):
        eventually(lambda: lab.router.counters()["forwarded"] > before + 2000, 60, "traffic", 0.3)
    assert "refused 0" in lab.router.command("show version")


@pytest.mark.parametrize("iommu", [(), ("--iommu",), ("--iommu", "--iommu-model", "vtd-eim", "--append", "iommu=off")],
                         ids=["none", "short-ids", "off"])
def test_unreachable_cores_are_not_used(make_lab, iommu):
    """The one core with a short ID does all the work."""
    lab = make_lab(None, *SLEEPS, *iommu, *far_cpus(2), cpus=1)
    assert ("smp: 2 of 3 cores are not used: their APIC IDs are above 254, and no IOMMU remaps interrupts "
            "to such IDs") in lab.router.text
    assert len(lab.router.cores()) == 1
    pings(lab.left, RIGHT_HOST, count=5)
    pings(lab.right, LEFT_HOST, count=5)
