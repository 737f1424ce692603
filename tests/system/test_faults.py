"""A core that breaks is reported, restarted, and takes nobody with it (invariant 8)."""
import re

import pytest
from conftest import LEFT_HOST, RIGHT_HOST, eventually, ping, pings

KINDS = {
    "null": r"page fault",
    "exec": r"page fault",
    "assert": r"assert",
    "stack": r"page fault",
    "ud": r"invalid opcode",
}


def reaches(host, target):
    return ping(host, target, "-W", "1", count=1)[0] == 1


@pytest.mark.parametrize("kind", list(KINDS))
def test_data_core_faults(make_lab, kind):
    lab = make_lab(None, "--append", "test=1")
    lab.router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    lab.router.mark = len(lab.router.text)
    lab.router.send("test fault %s core 1" % kind)
    report = lab.router.expect(r"^\*\*\* (.*) on core 1 in the core program", 10, "the report")
    assert re.search(KINDS[kind], report.group(1), re.IGNORECASE), report.group(0)
    lab.router.expect(r"^  rip [0-9a-f]{16}", 5, "registers")
    lab.router.expect(r"backtrace\r?\n(?:.*\n)*?.*[a-z_]+\+0x[0-9a-f]+", 5, "function names")
    lab.router.expect(r"core 1: program restarted", 5)
    eventually(lambda: reaches(lab.left, RIGHT_HOST), 15, "the core forwards again")
    pings(lab.right, LEFT_HOST)


def test_other_core_loses_nothing(make_lab):
    """With three data cores one breaks; a ping on another core's queue goes on without loss."""
    lab = make_lab(None, "--append", "test=1", cpus=4)
    lab.router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    lab.router.send("test fault null core 3")
    lab.router.expect(r"core 3: program restarted", 10)
    eventually(lambda: reaches(lab.left, RIGHT_HOST), 15, "forwarding")
    pings(lab.left, RIGHT_HOST, count=10)


def test_control_core_faults(make_lab):
    """The control program breaks: data cores forward on, and the console comes back."""
    lab = make_lab(None, "--append", "test=1")
    lab.router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    lab.router.send("test fault null core 0")
    lab.router.expect(r"core 0: program restarted", 10)
    pings(lab.left, RIGHT_HOST, count=10)
    lab.router.wait_prompt(30)
    assert lab.router.command("show version")


def test_single_cpu_faults(make_lab):
    lab = make_lab(None, "--append", "test=1", cpus=1)
    lab.router.faults_expected = True
    lab.router.send("test fault assert")
    lab.router.expect(r"core 0: program restarted", 10)
    lab.router.wait_prompt(30)
    eventually(lambda: reaches(lab.left, RIGHT_HOST), 15, "forwarding again")


def test_fault_loop_ends_the_machine(make_router):
    """A control core that keeps faulting is given up, with exit code 2."""
    router = make_router(None, "--append", "test=1", wait=False)
    router.judge = False
    router.wait_prompt(60)
    for _ in range(10):
        router.send("test fault null core 0")
        match = router.expect(r"core 0: (program restarted|more than)", 20)
        if match.group(1) != "program restarted":
            break
        router.wait_prompt(30)
    assert router.wait_exit() == 2


def test_without_test_option_there_is_no_test_command(make_router):
    router = make_router(None, wait=False)
    router.wait_prompt(60)
    text = router.command("test fault null")
    assert "unknown" in text.lower(), text
