"""The kernel itself fails: the failure is reported completely, and the machine ends, halts or
reboots as panic= says. The next boot repeats the report of the last one."""
import re

import pytest
from conftest import ACCEL, LEFT_ROUTER, RIGHT_HOST, WEB, pings, router_config
from launcher import addr

KINDS = {  # kind of failure: what the report says, and what it names
    "fault": (r"page fault on core 0 in the kernel", r"write at 0{15}8: no page is there",
              "selftest_panic"),
    "stack": (r"double fault on core 0 in the kernel", r"rip [0-9a-f]{16}", "selftest_panic"),
    "frame": (r"page fault on core 0 in the kernel", r"write at 0{15}8: no page is there", ""),
    "assert": (r"kernel panic: assertion failed: .*selftest\.c:\d+", "", ""),
    "smash": (r"kernel panic: stack overwritten in write_beyond_an_array", "", ""),
}


def fail(lab, kind):
    """Makes the kernel fail while core 1 is busy; returns the console's position before."""
    router = lab.router
    router.judge = False
    router.skip()
    with lab.flood(LEFT_ROUTER, RIGHT_HOST):
        here = router.mark
        router.send("test panic " + kind)
        router.expect(r"^\*\*\* " + KINDS[kind][0], 10, "the report")
        for part in filter(None, KINDS[kind][1:]):
            router.expect(part, 5)
    return here


@pytest.mark.parametrize("kind", list(KINDS))
def test_exit(make_lab, kind):
    """The default for tests: QEMU ends, with the exit code of a panic."""
    lab = make_lab(None, "--append", "test=1")
    pings(lab.left, RIGHT_HOST)
    here = fail(lab, kind)
    assert lab.router.wait_exit(20) == 1
    report = lab.router.text[here:]
    assert len(re.findall(r"^\*\*\*", report, re.MULTILINE)) == 1, report
    if KINDS[kind][2]:
        assert re.search(r"^ +selftest_panic at kernel/selftest\.c:\d+$", addr.told(report),
                         re.MULTILINE), addr.told(report)


def test_halt(make_lab):
    lab = make_lab(None, "--append", "test=1 panic=halt")
    fail(lab, "fault")
    lab.router.expect(r"machine stopped \(exit code 1\)", 10)


@pytest.mark.parametrize("kind", ["fault", "stack", "assert"])
def test_reboot(make_lab, kind):
    """It boots again, repeats the report, which `show crash` and the network have too, and works; the
    boot after that has nothing to tell."""
    lab = make_lab(router_config(extra=WEB), "--append", "test=1 panic=reboot")
    router = lab.router
    pings(lab.left, RIGHT_HOST)
    fail(lab, kind)
    router.expect(r"restarting in 3 seconds", 10)
    told = router.expect(r"the last boot ended in a failure; its report:\r?\n((?:.*\n)*?)--- end of",
                         60, "the report of the last boot").group(1)
    assert re.search(KINDS[kind][0], told), told
    assert KINDS[kind][2] in told
    assert re.search(r"^  build [0-9a-f]{40}\r?$", told, re.MULTILINE), told
    router.judge = router.faults_expected = True
    router.wait_up(60)
    pings(lab.left, RIGHT_HOST, count=3)
    shown = "the last boot ended in a failure; its report:\n%send of the last boot's report\n" \
            "no program has failed since boot\n" % told.replace("\r\n", "\n")
    assert router.command("show crash") == shown
    result = lab.left.run(["curl", "-sS", "--max-time", "20", "http://%s/crash" % LEFT_ROUTER])
    assert result.stdout == shown, result.stderr
    router.skip()
    router.send("reload")
    router.wait_up(60)
    assert "the last boot" not in router.text[router.text.rindex("restarting"):]
    assert router.command("show crash") == "no program has failed since boot\n"


def test_reboot_by_uefi(make_router):
    """OVMF and GRUB preserve the report."""
    router = make_router(None, "--boot", "uefi", "--append", "test=1 panic=reboot", ports=[],
                         timeout_s=120)
    router.judge = False
    router.send("test panic fault")
    router.expect(r"restarting in 3 seconds", 20)
    router.expect(r"the last boot ended in a failure; its report:", 120)
    router.wait_prompt(60)
    assert "Press any key" not in router.text  # GRUB after an error, without a limit


def test_control_core_gives_up(make_lab):
    """The control program fails repeatedly: the machine ends in the same way with another exit
    code, or reboots."""
    lab = make_lab(None, "--append", "test=1 panic=reboot")
    router = lab.router
    router.judge = False
    for _ in range(6):
        router.skip()
        router.send("test fault ud core 0")
        if router.expect(r"core 0: program restarted|has failed too often", 10).group(0)[0] == "h":
            break
        router.wait_prompt(30)
    router.expect(r"the last boot ended in a failure; its report:", 60)
    router.expect(r"core 0, the control core, has failed too often", 5)
    router.wait_prompt(60)


def test_unknown_word(make_router):
    router = make_router(None, "--append", "panic=pray", ports=[], wait=False)
    router.expect(r"panic=pray: not one of exit, halt, reboot", 30)
    router.wait_prompt(60)


# status, MCG_STATUS, address, misc as a CPU sets them: uncorrected, valid, with an address
UNCORRECTED = "mce %d 4 0xa600000000000090 0x5 0x12345000 0"


@pytest.mark.parametrize("cpu", [0, 1], ids=["control", "data"])
def test_machine_check(make_lab, cpu):
    """The CPU reports broken memory while it forwards: the report decodes the bank, and nothing is
    restarted."""
    if ACCEL != "tcg":
        pytest.skip("QEMU hands machine checks to its own CPUs alone")
    lab = make_lab(None, "--idle", "poll", "--append", "panic=halt")
    router = lab.router
    router.judge = False
    with lab.flood(RIGHT_HOST):
        router.qmp("human-monitor-command", **{"command-line": UNCORRECTED % cpu})
        router.expect(r"^\*\*\* machine check on core %d in " % cpu, 10)
        router.expect(r"core %d bank 4: status a600000000000090, uncorrected, the CPU's state is lost: "
                      r"memory controller: read, channel 0" % cpu, 5)
        router.expect(r"address 0000000012345000, misc 0000000000000000 \(not valid\), global status 5",
                      5)
    router.expect(r"machine stopped \(exit code 1\)", 10)
    assert "program restarted" not in router.text


def test_machine_check_before_the_boot(make_lab):
    """The banks survive a restart (in QEMU): the next boot reports them, once."""
    if ACCEL != "tcg":
        pytest.skip("QEMU hands machine checks to its own CPUs alone")
    router = make_lab(None, "--append", "panic=reboot").router
    router.judge = False
    router.qmp("human-monitor-command", **{"command-line": UNCORRECTED % 1})
    router.expect(r"^\*\*\* machine check on core 1 in ", 10)
    router.expect(r"machine check from before this boot:\r?\n  core 1 bank 4: status a6", 60)
    router.wait_up(60)
    router.skip()
    router.send("reload")
    router.wait_up(60)
    assert "machine check" not in router.text[router.text.rindex("restarting"):]
