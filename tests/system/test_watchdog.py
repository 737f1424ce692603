"""The watchdog (kernel/watchdog.h): a program without progress is found by its own core, on one CPU too.
And nothing else is taken for stuck: no stopped guest, no work of the control program."""
import os
import re
import signal
import time

import pytest
from conftest import LEFT_ROUTER, RIGHT_HOST, WEB, pings, router_config

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


@pytest.mark.parametrize("cpus,idle", [(1, "poll"), (1, "sleep"), (2, "poll"), (4, "sleep")])
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


def counting(shift):
    """A guest whose clock counts its instructions, 2**shift ns each: how busy the host is makes no difference. Without
    x2APIC: QEMU 10 ends with "Bad icount read" when a register of it is read."""
    return ["--qemu-arg=" + word for word in ("-icount", "shift=%d" % shift, "-global", "max-x86_64-cpu.x2apic=off")]


@pytest.mark.parametrize("cpus", [1, 2])
def test_in_time(make_router, cpus):
    """64 ns an instruction: the report takes it long."""
    router = make_router(None, "--idle", "sleep", *counting(6), "--append", "test=1", cpus=cpus)
    router.faults_expected = True
    tries = [spin(router, cpus - 1) for _ in range(2)]
    print("without progress, found after, running again after (ms): %s" % tries)
    assert all(60 <= idle_ms <= 90 and found <= FOUND_MS for idle_ms, found, _ in tries)


def test_control_core(make_router):
    """A command that never ends. A command is given four seconds, here by a clock of 256 ns an instruction."""
    router = make_router(None, "--idle", "sleep", *counting(8), "--append", "test=1", cpus=1)
    router.faults_expected = True
    router.skip()
    router.send("test fault spin core 0")
    found = int(router.expect(FOUND % 0, 120).group(1))
    print("without progress for %d ms" % found)
    assert 4000 <= found <= 4100
    router.expect(r"core 0: program restarted", 60)
    router.wait_up()
    assert [c["faults"] for c in router.cores()] == [1]


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
    router.expect(r"core 1 makes no progress: restarting it", 30)
    router.expect(r"^\*\*\* stuck on core 1 in the core program", 10)
    router.wait_back()
    pings(lab.left, RIGHT_HOST)


ROUTES = 1000000


@pytest.mark.parametrize("cpus", [1, 2])
def test_busy_control_core(make_lab, cpus):
    """A million routes at boot, one more by each commit, and clients that ask for all counters meanwhile:
    nothing is taken for stuck, and the pings are all answered."""
    routes = "".join("ip route %d.%d.%d.0/24 198.51.100.2\n" % (20 + (n >> 16), n >> 8 & 255, n & 255)
                     for n in range(ROUTES))
    lab = make_lab(router_config(extra=WEB + routes), "--memory", "1G", cpus=cpus)
    router = lab.router
    pings(lab.left, RIGHT_HOST)
    asking = [lab.left.popen(["sh", "-c", "while curl -sf -m 60 -o /dev/null http://%s/metrics; do n=1; done"
                              % LEFT_ROUTER]) for _ in range(3)]
    try:
        for n in range(4):
            for line in "configure", "ip route 203.0.113.%d/32 198.51.100.2" % n:
                router.command(line, 60)
            assert "committed" in router.command("commit", 60)
            router.command("end", 60)
            pings(lab.left, RIGHT_HOST)
        assert all(client.poll() is None for client in asking), "each request was answered"
    finally:
        for client in asking:
            client.kill()
            client.wait()
    assert [c["faults"] for c in router.cores()] == [0] * cpus
