"""The watchdog (kernel/watchdog.h): a program without progress is found by its own core, on one CPU too.
And nothing else is taken for stuck: no stopped guest, no work of the control program."""
import os
import re
import signal
import time

import pytest
from conftest import RIGHT_HOST, pings
from flows import Flows

FOUND = r"^\*\*\* stuck for (\d+) ms on core %d in the core program"
FOUND_MS = 100
TRIES = 4  # a core may fail five times in ten seconds
STOPPED_S = 3


def last(events, name):
    """The time of the last event of that name, in seconds after boot."""
    return float(re.findall(r"^\d+ +(\d+\.\d+) %s " % name, events, re.MULTILINE)[-1])


def spin(router, core):
    """That core's program runs in an endless loop in a turn of the data path. Returns what the report says,
    and, by the guest's own clock, how long it took until the loop was found, and until the program ran
    again; all in milliseconds."""
    router.skip()
    router.send("test fault spin core %d message 1" % core)
    found = int(router.expect(FOUND % core, 30).group(1))
    router.expect(r"backtrace\r?\n(?:.*\n)*?.*test_fault_run\+0x[0-9a-f]+", 10, "where it is stuck")
    router.expect(r"core %d: program restarted" % core, 10)
    router.wait_back() if core else router.wait_prompt(30)
    events = router.command("show events core %d" % core)
    crash = re.findall(r"^crash \d+: core %d, (\d+\.\d+) s after boot" % core, router.command("show crash"),
                       re.MULTILINE)[-1]
    began = last(events, "test_fault")
    return [round(1e3 * ms) for ms in (found / 1e3, float(crash) - began, last(events, "start") - began)]


@pytest.mark.parametrize("idle", ["poll", "sleep"])
@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_data_core(make_lab, cpus, idle):
    """An endless loop in the data path, again and again. With one CPU no other core could find it. A late
    look does not count, so on a busy host this may take longer than test_in_time permits."""
    lab = make_lab(None, "--idle", idle, "--append", "test=1", cpus=cpus)
    router = lab.router
    router.faults_expected = True
    core = cpus - 1
    pings(lab.left, RIGHT_HOST)
    tries = []
    for _ in range(TRIES):
        tries.append(spin(router, core))
        pings(lab.left, RIGHT_HOST)
    print("without progress, found after, running again after (ms): %s" % tries)
    assert all(idle_ms >= 60 for idle_ms, _, _ in tries)
    assert [c["faults"] for c in router.cores()] == [0] * core + [TRIES]


@pytest.mark.parametrize("cpus", [1, 2])
def test_in_time(make_router, cpus):
    """A guest whose clock counts its instructions, 64 ns each: how busy the host is makes no difference. The
    report takes it long."""
    router = make_router(None, "--idle", "sleep", "--qemu-arg=-icount", "--qemu-arg=shift=6", "--append", "test=1",
                         cpus=cpus)
    router.faults_expected = True
    tries = [spin(router, cpus - 1) for _ in range(2)]
    print("without progress, found after, running again after (ms): %s" % tries)
    assert all(60 <= idle_ms <= 90 and found <= FOUND_MS for idle_ms, found, _ in tries)


def test_control_core(make_lab):
    """Data cores forward on while the control core is stuck and until it has taken over again."""
    lab = make_lab(None, "--append", "test=1", cpus=3)
    router = lab.router
    router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    with Flows(lab.left, lab.right, RIGHT_HOST, 12) as flows:
        flows.run(0.2)
        router.skip()
        router.send("test fault spin core 0")
        flows.run(1)
        router.expect(FOUND % 0, 60)
        router.expect(r"control program: goes on", 30)
        flows.run(0.5)
        assert flows.settle() == []
    assert [c["faults"] for c in router.cores()] == [1, 0, 0]


def qemu_of(pid):
    """The process of QEMU among the descendants of that one."""
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
        children = [int(word) for word in f.read().split()]
    for child in children:
        with open("/proc/%d/comm" % child, encoding="ascii") as f:
            if f.read().startswith("qemu"):
                return child
    return next(filter(None, map(qemu_of, children)), None)


@pytest.mark.parametrize("idle", ["poll", "sleep"])
def test_stopped_guest(make_lab, idle):
    """The guest is stopped by its hypervisor, then with its hypervisor; time passes meanwhile, or not.
    It stands still anywhere, and nothing is taken for stuck."""
    lab = make_lab(None, "--idle", idle, cpus=2)
    router = lab.router
    pings(lab.left, RIGHT_HOST)
    for _ in range(2):
        router.qmp("stop")
        time.sleep(STOPPED_S)
        router.qmp("cont")
        pings(lab.left, RIGHT_HOST)
        qemu = qemu_of(router.child.pid)
        os.kill(qemu, signal.SIGSTOP)
        try:
            time.sleep(STOPPED_S)
        finally:
            os.kill(qemu, signal.SIGCONT)
        pings(lab.left, RIGHT_HOST)
    assert [c["faults"] for c in router.cores()] == [0, 0]


def test_switched_off(make_lab):
    """Without the watchdog the control core finds the loop, as it does if the watchdog fails."""
    lab = make_lab(None, "--append", "test=1 watchdog=off", cpus=2)
    router = lab.router
    router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    router.skip()
    router.send("test fault spin core 1")
    router.expect(r"core 1 does not come round any more: restarting it", 30)
    router.expect(r"^\*\*\* stuck on core 1 in the core program", 10)
    router.wait_back()
    pings(lab.left, RIGHT_HOST)
