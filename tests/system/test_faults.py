"""A failing core is reported and restarted, and does not affect other cores (invariant 8)."""
import os
import re
import subprocess
import time

import pytest
from conftest import (LEFT_HOST, LEFT_ROUTER, RIGHT_HOST, ROOT, WEB, eventually, pings, reaches,
                      restarts_ports, router_config)
from launcher.guest import LAUNCHER, PYTHON
from test_remote import REMOTE, SECRET, nc

KINDS = {
    "null": r"page fault",
    "exec": r"page fault",
    "write": r"page fault",
    "divide": r"divide",
    "assert": r"assert",
    "stack": r"page fault",
    "ud": r"invalid opcode",
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_data_core_faults(make_lab, kind):
    lab = make_lab(None, "--append", "test=1")
    lab.router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    lab.router.send("test fault %s core 1" % kind)
    report = lab.router.expect(r"^\*\*\* (.*) on core 1 in the core program", 10, "the report")
    assert re.search(KINDS[kind], report.group(1), re.IGNORECASE), report.group(0)
    lab.router.expect(r"^  rip [0-9a-f]{16}", 5, "registers")
    trace = lab.router.expect(r"backtrace\r?\n((?:    [0-9a-f]{16}.*\n)+)(?=  \S|\*)", 5,
                              "a backtrace").group(1)
    unnamed = re.findall(r"^    [0-9a-f]{16}\s*$", trace, re.MULTILINE)
    assert len(unnamed) == (kind == "exec"), trace  # the first one cannot be executed
    assert "loop_run+0x" in trace
    lab.router.expect(r"core 1: program restarted", 5)
    lab.router.wait_back()
    lab.router.wait_links()
    pings(lab.left, RIGHT_HOST)
    pings(lab.right, LEFT_HOST)


@pytest.mark.one_card
def test_report_beside_a_half_typed_line(make_lab):
    """A data core's report is printed while a command is being typed: the row is shown again below it."""
    router = make_lab(None, "--append", "test=1").router
    router.faults_expected = True
    router.child.stdin.write(b"test fault null core 1\rshow ver")
    router.expect(r"^\*\*\* page fault on core 1 in the core program", 10, "the report")
    router.expect(r"core 1: program restarted\r?\n", 5)
    # Not consumed: what is typed next is echoed behind it, if no other message makes the row appear again.
    router.expect(r"(?=show ver(?!.*\n))", 5, "the row")
    router.child.stdin.write(b"sion\r")
    router.expect(r"show version\r?\n", 5, "the whole row")
    router.expect(r"^Hayate", 5)
    router.wait_prompt()


def ready_again(router):
    """Waits until the ports run again; returns the number of data cores."""
    return router.wait_ready(20)[1]


def test_only_pair(make_lab):
    """The only queue pair is started alone too. On vmxnet3 each port restarts, alone as well."""
    lab = make_lab(None, "--append", "test=1")
    lab.router.faults_expected = True
    alone = not restarts_ports(lab.router.nic)
    lab.router.send("test fault null core 1")
    lab.router.expect(r"core 1: program restarted", 10)
    assert lab.router.wait_back() is None
    for port in ("eth0", "eth1"):
        assert bool(re.search(r"^(?:.*\r)?%s: \w+: .*: a queue pair cannot be restarted alone" % port,
                              lab.router.text, re.MULTILINE)) == (not alone)
        assert bool(re.search(r"^(?:.*\r)?%s: restarted after \d+ us: a data core was restarted" % port,
                              lab.router.text, re.MULTILINE)) == (not alone)
    assert "ports restart" not in lab.router.text
    assert not re.search(r"eth\d: link down", lab.router.text)
    lab.router.wait_links()
    pings(lab.left, RIGHT_HOST, count=10)


def break_for_good(router, core):
    """Makes a data core fault until the kernel gives it up."""
    for _ in range(10):
        router.skip()
        router.send("test fault ud core %d" % core)
        match = router.expect(r"core %d: (program restarted|more than)" % core, 10)
        if match.group(1) != "program restarted":
            return
        router.wait_back()
    pytest.fail("core %d was not given up" % core)


@pytest.mark.each_ring
def test_dead_core_others_forward(make_lab):
    """A data core is given up: the others take over all ports, and so does a stand-by core."""
    lab = make_lab(None, "--append", "test=1", cpus=3)
    lab.router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    break_for_good(lab.router, 1)
    assert ready_again(lab.router) == 1
    lab.router.wait_links()
    pings(lab.left, RIGHT_HOST, count=5)
    pings(lab.right, LEFT_HOST, count=5)
    cores = lab.router.cores()
    assert [core["state"] for core in cores][1] == "dead"
    assert [core["role"] for core in cores] == ["control", "data", "data"]
    assert "takes no messages" in lab.router.command("test fault ud core 1")


@pytest.mark.one_card
def test_last_data_core_dead(make_lab):
    """No data core is left: this is reported, the ports stop, and the console still works, even
    after a fault of the control core."""
    lab = make_lab(None, "--append", "test=1")
    lab.router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    break_for_good(lab.router, 1)
    lab.router.expect(r"no data core is left alive: the ports are stopped", 15)
    assert lab.router.cores()[1]["state"] == "dead"
    assert not reaches(lab.left, LEFT_ROUTER)
    lab.router.balanced()
    lab.router.send("test fault ud core 0")
    lab.router.expect(r"core 0: program restarted", 10)
    lab.router.wait_prompt(30)
    assert "Hayate" in lab.router.command("show version")


def at_rest(router):
    """Waits until no packet waits in the machine; returns the counters of that same reading. A
    flood's packets that remain in the host's tap arrive later, on a busy host seconds later: the
    next reading may have some in flight."""
    def counters():
        read = router.balanced()
        return read if read.balance[2] == 0 else None
    return eventually(counters, 20, "nothing waits")


@pytest.mark.each_ring
@pytest.mark.parametrize("cpus,core", [(1, 0), (2, 0), (2, 1)],
                         ids=["one-cpu", "control", "data"])
def test_balance_after_restart(make_lab, cpus, core):
    """A core fails under traffic that fills its rings, its vectors and the queues of unknown
    neighbours. Lost packets are counted exactly once, and none waits for ever."""
    lab = make_lab(None, "--append", "test=1", cpus=cpus)
    lab.router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    targets = [LEFT_ROUTER, RIGHT_HOST, "198.51.100.77", "198.51.100.78", LEFT_ROUTER]
    for _ in range(3):
        before = lab.router.counters()["punted"]
        with lab.flood(*targets), lab.flood(*targets):
            eventually(lambda: lab.router.counters()["punted"] > before + 1000, 20, "traffic", 0.2)
            lab.router.send("test fault ud core %d" % core)
            lab.router.expect(r"core %d: program restarted" % core, 20)
            lab.router.wait_back()
        if core == 0:
            lab.router.wait_prompt(20)
        # the unknown neighbours are given up three seconds after the last packet
        counters = at_rest(lab.router)
    if core == 0:  # it has tables of waiting packets; a data core, between two vectors, has none
        assert counters["drop_restart"] > 0
    assert counters["punted"] == counters["punt_taken"], dict(counters)


STUCK = r"^\*\*\* stuck on core %d in the core program"


def restarted_stuck(router, core):
    """A core that never completes its turn is detected by the control core, reported and restarted."""
    router.expect(r"core %d makes no progress: restarting it" % core, 30)
    router.expect(STUCK % core, 10, "the report")
    router.expect(r"backtrace\r?\n(?:.*\n)*?.*test_fault_run\+0x[0-9a-f]+", 5, "where it is stuck")
    router.expect(r"core %d: program restarted" % core, 5)


@pytest.mark.each_ring
def test_data_core_does_not_come_round(make_lab):
    """A data core is stuck while an adjacency is to be removed: nothing that it may still read is
    changed. The restart of the ports is delayed until the core has been restarted."""
    lab = make_lab(None, "--idle", "poll", "--append", "test=1 watchdog=off")
    lab.router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    lab.router.command("test fault spin core 1")
    lab.router.send("clear arp")
    lab.router.expect(r"core 1 does not finish its turn", 15)
    lab.router.expect(r"ports restart: ", 5)
    here = lab.router.mark
    assert "Hayate" in lab.router.command("show version")
    lab.router.mark = here  # the ports may have started before that was read
    restarted_stuck(lab.router, 1)
    assert ready_again(lab.router) == 1
    lab.router.wait_links()
    pings(lab.left, RIGHT_HOST, count=5)
    pings(lab.right, LEFT_HOST, count=5)


@pytest.mark.each_ring
@pytest.mark.parametrize("idle", ["poll", "sleep"])
def test_stuck_core_is_restarted(make_lab, idle):
    """Without the watchdog a stuck core is detected twice, even though no other core waits for it and all
    of them sleep if allowed."""
    lab = make_lab(None, "--idle", idle, "--append", "test=1 watchdog=off", cpus=3)
    lab.router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    for core in (2, 1):
        lab.router.skip()
        lab.router.send("test fault spin core %d" % core)
        restarted_stuck(lab.router, core)
        assert lab.router.wait_back() is None
    assert "ports restart" not in lab.router.text
    assert [core["faults"] for core in lab.router.cores()] == [0, 1, 1]
    lab.router.wait_links()
    pings(lab.left, RIGHT_HOST, count=5)


@pytest.mark.each_ring
def test_restart_of_a_core_at_any_time(make_lab):
    """The kernel is asked to restart a healthy core. It restarts the core, or, if the core sleeps
    in the kernel, the core continues as if nothing had happened. The machine never ends."""
    lab = make_lab(router_config(extra="idle sleep\n"), "--append", "test=1")
    lab.router.faults_expected = True

    def idle(mode):
        for line in ("configure", "idle " + mode, "commit", "exit"):
            said = lab.router.command(line)
            assert line != "commit" or "committed" in said, said

    def faults():
        return lab.router.cores()[1]["faults"]

    def reports():
        lab.router.poll()
        return len(re.findall(STUCK % 1, lab.router.text, re.MULTILINE))

    with lab.flood(RIGHT_HOST):
        for _ in range(10):  # it sleeps between two bursts: which state is hit is random
            lab.router.command("test fault restart core 1")
            if faults():
                break
        idle("poll")  # now it is always at work
        eventually(lambda: lab.router.cores()[1]["state"] == "running", 30, "core 1 runs", 0.3)
        before = faults()
        lab.router.command("test fault restart core 1")
        eventually(lambda: faults() > before, 20, "hit at work", 0.3)
    idle("sleep")
    eventually(lambda: reports() == faults(), 20, "a report of each, when the core polls again", 0.3)

    def asleep():
        core = lab.router.cores()[1]
        return core if core["state"] == "asleep" else None
    slept_on = 0
    for _ in range(15):  # a timer or a late packet may wake it: it may then be hit at work, which is reported
        before = eventually(asleep, 30, "core 1 sleeps", 0.3)
        lab.router.command("test fault restart core 1")
        slept_on += eventually(asleep, 30, "core 1 sleeps", 0.3)["faults"] == before["faults"]
    assert slept_on >= 10
    eventually(lambda: reports() == faults(), 20, "a report of each", 0.3)
    lab.router.wait_links()
    pings(lab.left, RIGHT_HOST, count=5)


@pytest.mark.one_card
def test_control_core_faults(make_lab):
    """The control program fails and is restarted, and traffic goes on (test_warm_restart.py measures
    the cost)."""
    lab = make_lab(None, "--append", "test=1")
    lab.router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    lab.router.send("test fault null core 0")
    lab.router.expect(r"core 0: program restarted", 10)
    lab.router.wait_up()
    pings(lab.left, RIGHT_HOST, count=10)
    assert lab.router.command("show version")


@pytest.mark.each_ring
def test_single_cpu_faults(make_lab):
    lab = make_lab(None, "--append", "test=1", cpus=1)
    lab.router.faults_expected = True
    lab.router.send("test fault assert")
    lab.router.expect(r"core 0: program restarted", 10)
    lab.router.wait_up(30)
    pings(lab.left, RIGHT_HOST)


@pytest.mark.one_card
def test_fault_loop_ends_the_machine(make_router):
    """A control core that keeps faulting is given up, and the machine ends with exit code 2."""
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


@pytest.mark.one_card
def test_without_test_option_there_is_no_test_command(make_router):
    router = make_router(None, wait=False)
    router.wait_prompt(60)
    text = router.command("test fault null")
    assert "unknown" in text.lower(), text


@pytest.mark.one_card
def test_show_crash(make_lab):
    """What a console has missed: reports are kept over restarts of programs, the first and the last
    three; the network has them too."""
    lab = make_lab(router_config(extra=REMOTE + WEB), "--append", "test=1", cpus=3)
    router = lab.router
    router.faults_expected = True
    assert router.command("show crash") == "no program has failed since boot\n"
    for core, kind in ((1, "ud"), (2, "null"), (0, "ud"), (1, "divide"), (2, "assert")):
        router.skip()
        router.send("test fault %s core %d" % (kind, core))
        router.expect(r"core %d: program restarted" % core, 10)
        router.wait_back()
        router.command("show version")
    said = router.command("show crash")
    reports = re.split(r"^crash (\d+): core (\d), \d+\.\d{3} s after boot(?:, [\d:.TZ-]+)?\n", said, flags=re.MULTILINE)
    assert reports[0] == ""
    assert list(zip(reports[1::3], reports[2::3])) == [("1", "1"), ("3", "0"), ("4", "1"), ("5", "2")]
    for text, what in zip(reports[3::3], ("invalid opcode", "invalid opcode", "divide error",
                                          "assertion failed: ")):
        assert text.startswith("*** " + what), text
        assert re.search(r"^  rip [0-9a-f]{16}(?:.*\n)*  backtrace\n(?:.*\n)*?.*loop_run\+0x",
                         text, re.MULTILINE), text
    router.wait_links()
    result = lab.left.run(["curl", "-sS", "--max-time", "20", "http://%s/crash" % LEFT_ROUTER])
    assert result.stdout == said, result.stderr
    assert said in nc(lab.left, SECRET + "\nshow crash\n").replace("\r\n", "\n")


@pytest.mark.one_card
def test_report_goes_out_whole(make_lab):
    """Two programs fail at once while the control core echoes input. Nothing comes between the
    lines of a report, the serial line has the same text as `show crash`, and no line is missing."""
    router = make_lab(None, "--append", "test=1", cpus=3).router
    router.faults_expected = True
    for faults in (1, 2):
        router.send("test fault null core 1\ntest fault null core 2\n" + "show version\n" * 5)
        eventually(lambda: [router.command("show version"),
                            router.text.count("polls again after") == 2 * faults][1], 20,
                   "both poll again", 0.3)
    assert router.text.count("program restarted") == 4
    assert [core["faults"] for core in router.cores()] == [0, 2, 2]
    line = router.text.replace("\r\n", "\n")
    reports = re.split(r"^crash \d+: .*\n", router.command("show crash"), flags=re.MULTILINE)[1:]
    assert len(reports) == 4
    for report in reports:
        # the serial line has eight packets, and only the last 32 events
        shown = re.split(r"^ +9 port |^  events, ", report, flags=re.MULTILINE)[0]
        assert "\n" + shown in line, report


@pytest.mark.one_card
def test_lines_of_the_sources(make_lab, tmp_path):
    """`hayate addr` finds the source lines in a report of the running image, and detects a report
    of another build."""
    router = make_lab(None, "--append", "test=1").router
    router.faults_expected = True
    router.send("test fault divide core 1")
    router.expect(r"core 1: program restarted", 10)
    router.wait_back()
    said = router.command("show crash")
    report = tmp_path / "crash"
    report.write_text(said.replace("\n", "\r\n"), encoding="utf-8")

    def addr(*arguments, **more):
        return subprocess.run([PYTHON, LAUNCHER, "addr", *arguments], capture_output=True, text=True,
                              check=False, timeout=60, **more)
    found = addr(str(report))
    assert found.returncode == 0, found.stderr
    assert [line for line in found.stdout.splitlines() if " at " not in line or line in said] == \
        said.splitlines()
    places = re.findall(r"^ +(\w+) at ([\w/]+\.[ch]):(\d+)$", found.stdout, re.MULTILINE)
    assert places[0][1] == "dataplane/test_fault.c", places
    with open(os.path.join(ROOT, places[0][1]), encoding="utf-8") as source:
        assert "divl" in source.read().splitlines()[int(places[0][2]) - 1]
    assert ("loop_run", "runtime/loop.c") in [place[:2] for place in places], places
    assert addr("-", input=said).stdout == found.stdout
    name = re.search(r"  (\w+)\+0x", said).group(1)
    report.write_text(said.replace("  %s+0x" % name, "  %s+0x1" % name), encoding="utf-8")
    other = addr(str(report))
    assert (other.returncode, other.stdout) == (123, "")
    assert "no %s there: the report is of another build" % name in other.stderr
    build = re.search(r"^  build ([0-9a-f]{40})$", said, re.MULTILINE).group(1)
    report.write_text(said.replace(build, build[::-1]), encoding="utf-8")
    other = addr(str(report))
    assert (other.returncode, other.stdout) == (123, "")
    assert "the report is of build " + build[::-1] in other.stderr and build in other.stderr
    report.write_text("nothing\n", encoding="utf-8")
    assert addr(str(report)).returncode == 123


def test_packets_received_last(make_lab):
    """A report has the headers of the last 64 packets as they left, the newest first; the serial
    line has eight of them. Before them is the state of the queues."""
    lab = make_lab(None, "--append", "test=1")
    router = lab.router
    router.faults_expected = True
    driver = {"virtio": "virtio_net", "igc": "igb"}.get(router.nic, router.nic)
    pings(lab.left, RIGHT_HOST)
    with lab.left.socket() as sender:
        for payload in range(100, 200):  # the length identifies the packet
            sender.sendto(bytes(payload), (RIGHT_HOST, 1009))
            time.sleep(0.002)
    pings(lab.left, RIGHT_HOST, count=1)
    router.skip()
    router.send("test fault null core 1")
    router.expect(r"^  packets received last, .*\r?\n"
                  r"(?:  +[1-8] port .*\r?\n(?:      [0-9a-f ]+\r?\n)?){8}"
                  r"  \.\.\. and 56 more: show crash", 20)
    said = router.command("show crash")
    assert len(re.findall(r"^ +\d+ port \d, \d+ bytes: ", said, re.MULTILINE)) == 64, said
    lengths = [int(length) for length in re.findall(r"^ +\d+ port 0, (\d+) bytes: ", said, re.MULTILINE)]
    lengths = [length for length in lengths if length >= 42 + 100]
    assert len(lengths) > 20
    assert lengths == list(range(42 + 199, 42 + 199 - len(lengths), -1)), said
    udp = re.findall(r"^ +\d+ port 0, (\d+) bytes: %s > %s UDP \d+ > 1009 ttl 63\n      (.*)$"
                     % (re.escape(LEFT_HOST), re.escape(RIGHT_HOST)), said, re.MULTILINE)
    # the router's own announcements (RFC 5227: two for each address) may have had some of the buffers since
    assert len(udp) >= len(lengths) - 4, said
    queues = re.findall(r"^  port (\d) (\w+): rx\.head [^:]*? tx\.head [^:]*?^      rx_pkts (\d+) [^:]*? tx_pkts",
                        said, re.MULTILINE)
    assert [(port, name) for port, name, _ in queues] == [("0", driver), ("1", driver)], said
    assert int(queues[0][2]) > 100, said
    assert re.search(r"^  buffers: \d+ of \d+ free$", said, re.MULTILINE), said
    for length, text in udp:
        header = bytes.fromhex(text)
        assert len(header) == 64
        assert int.from_bytes(header[38:40], "big") == int(length) - 34  # UDP's length field


def events(router, core):
    """The events of a core, in order: name and words of each."""
    lines = router.command("show events core %d" % core).splitlines()
    rows = [re.fullmatch(r"%d +(\d+\.\d{6}) (.+)" % core, line) for line in lines]
    assert rows and all(rows), lines
    times = [float(row.group(1)) for row in rows]
    assert times == sorted(times)
    return [row.group(2) for row in rows]


@pytest.mark.one_card
def test_events(make_lab):
    """The events of a core survive its program, and its report contains them, on the serial line
    and in show crash."""
    lab = make_lab(None, "--append", "test=1", cpus=3)
    router = lab.router
    router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    assert events(router, 1) == ["start roles 2 faults 0", "phase phase 0 asked 1",
                                 "phase phase 1 asked 2", "phase phase 2 asked 3"]
    router.set_link(0, False)
    eventually(lambda: "link port 0 up 0" in events(router, 0), 20, "the link's end")
    router.set_link(0, True)
    router.wait_links()
    router.skip()
    router.send("test fault null core 1")
    router.expect(r"^  events, the newest at the end:\r?\n +\d+\.\d{6} start roles 2 faults 0\r?\n"
                  r"(?: +\d+\.\d{6} .*\r?\n){2} +\d+\.\d{6} phase phase 2 asked 3\r?\n", 20, "events")
    router.wait_back()
    assert "start roles 2 faults 1" in events(router, 1)
    assert "crash core 1 number 1" in events(router, 0)
    for line in ("configure", "hostname other", "commit", "end"):
        router.command(line)
    said = eventually(lambda: re.search(r"^configuration ([0-9a-f]{16})$", router.command("show version"),
                                        re.MULTILINE), 20, "the hash").group(1)
    eventually(lambda: events(router, 0)[-2:] == ["commit number 1",
                                                  "configuration number 1 hash " + said], 20, "the commit")
    before = events(router, 0) + ["test_fault kind 5"]
    router.send("test fault ud core 0")
    router.expect(r"core 0: program restarted", 10)
    router.wait_prompt(30)
    after = events(router, 0)
    assert after[:len(before) + 1] == before + ["start roles 1 faults 1"]
    said = router.command("show crash").split("crash 2: core 0")[1]
    assert re.findall(r"^ +\d+\.\d{6} (.+)$", said, re.MULTILINE) == before
    everything = router.command("show events").splitlines()
    assert [line.split()[0] for line in everything] == sorted(line.split()[0] for line in everything)
    assert {line.split()[0] for line in everything} == {"0", "1", "2"}
    assert router.command("show events core 3") == "core takes a number from 0 to 2\n"
