"""The console: its commands, the machine's end and restart."""
import re
import time

import pytest
from conftest import RIGHT_HOST, eventually, pings, router_config

SHOW = ["show interfaces", "show ip route", "show arp", "show counters", "show cores",
        "show version", "show running-config", "help"]


def test_show_commands(lab):
    for command in SHOW:
        text = lab.router.command(command)
        assert len(text.strip()) > 10 and "unknown" not in text.lower(), (command, text)
    routes = lab.router.command("show ip route")
    assert "192.0.2.0/24" in routes and "198.51.100.0/24" in routes


def test_unknown_command(lab):
    assert re.search("unknown", lab.router.command("make coffee"), re.IGNORECASE)
    assert lab.router.command("show version")


def test_completion(lab):
    """`?` lists what may follow, and the typed line remains."""
    lab.router.skip()
    lab.router.child.stdin.write(b"show ?")
    listing = lab.router.expect(r"show[^#]*# show $", 10, "the list and the line again").group(0)
    for word in ("interfaces", "counters", "version"):
        assert word in listing, listing
    lab.router.child.stdin.write(b"version\r")
    lab.router.wait_prompt()


def test_message_while_typing(make_lab):
    """A message of the system leaves the line that is being typed whole."""
    router = make_lab(None, "--append", "test=1").router
    router.faults_expected = True
    router.skip()
    router.child.stdin.write(b"test fault null core 1\rshow inter")
    router.expect(r"core 1: polls again after \d+ us[^\n]*\n[^#]*# show inter", 20, "the message, and the line again")
    router.child.stdin.write(b"faces\r")
    router.expect(r"eth0 link up", 20)
    router.wait_prompt()


@pytest.mark.parametrize("line,code", [("poweroff", 0), ("poweroff 0", 0), ("poweroff 3", 3),
                                       ("poweroff 42", 42)])
def test_poweroff(make_router, line, code):
    router = make_router(router_config())
    router.judge = False
    router.send(line)
    assert router.wait_exit() == code


def test_reload(lab):
    """The machine restarts with the same configuration, in the same QEMU."""
    pings(lab.left, RIGHT_HOST)
    lab.router.send("reload")
    lab.router.wait_up()
    pings(lab.left, RIGHT_HOST, count=5)


def test_typing_fast(lab):
    """A pasted block of commands is neither lost nor mixed up."""
    lab.router.skip()
    lab.router.child.stdin.write(b"show version\r" * 20)
    for _ in range(20):
        lab.router.expect(r"show version\r?\nHayate .*\r?\n", 20)
    lab.router.wait_prompt()


def test_counters_by_name(lab):
    """Names are those of the registry; a ping is counted under the right ones."""
    before = lab.router.balanced()
    pings(lab.left, "192.0.2.1", count=4)
    after = lab.router.balanced()
    assert after["delivered_icmp"] - before["delivered_icmp"] == 4
    assert after["icmp_tx_echo_reply"] - before["icmp_tx_echo_reply"] == 4


def test_typed_before_the_prompt(make_router):
    """Input typed while the machine boots is kept until the shell reads it."""
    router = make_router(router_config(), wait=False)
    router.judge = False
    router.child.stdin.write(b"show version\npoweroff 5\n")
    assert router.wait_exit(60) == 5
    assert re.search(r"# show version\r?\nHayate ", router.text), router.tail()


@pytest.mark.parametrize("cpus", [1, 2])
def test_console_under_load(make_lab, cpus):
    """A core that has no time to sleep still polls the console: under continuous load, commands are
    answered."""
    lab = make_lab(cpus=cpus)
    pings(lab.left, RIGHT_HOST)
    with lab.flood(RIGHT_HOST), lab.flood(RIGHT_HOST):
        eventually(lambda: lab.router.counters()["forwarded"] > 20000, 30, "load", 0.5)
        for _ in range(20):
            before = lab.router.counters()["forwarded"]
            assert "Hayate" in lab.router.command("show version")
            eventually(lambda: lab.router.counters()["forwarded"] > before, 10, "load goes on")


@pytest.mark.parametrize("cpus", [1, 2])
def test_idle_machine_sleeps(make_router, cpus):
    """Invariant 3: nothing wakes an idle core."""
    router = make_router(router_config(), "--idle", "sleep", cpus=cpus)

    def wakes(seconds):
        """How often each core went to sleep in that time, including the command's own share."""
        before = [core["sleeps"] for core in router.cores()]
        time.sleep(seconds)  # measures that nothing happens, on the console too
        return [after["sleeps"] - was for after, was in zip(router.cores(), before)]

    # Announcements and the terminal's echo keep it awake at first.
    eventually(lambda: max(wakes(3)) < 60, 30, "fewer than 20 wake-ups a second")
