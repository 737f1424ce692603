"""What the machine remembers on a disk: the startup configuration, the record of commits, and disks that fail. The disk
is a file (tests/host/disk.c); a power cut is a machine that is killed, and another one with the same file."""
import os
import re

import pytest

from machine import A, B, CONFIG, SECOND, WEB, Machine, udp
from store_disk import disk_make
from test_http import Client


@pytest.fixture
def machines():
    """machines(config, ...) starts a machine. They may be killed."""
    started = []

    def start(*arguments, **options):
        started.append(Machine(*arguments, **options))
        return started[-1]

    yield start
    for m in started:
        cut_off(m)


@pytest.fixture
def disk(tmp_path):
    path = str(tmp_path / "disk.img")
    disk_make(path)
    return path


def cut_off(m):
    m.child.kill()
    m.child.wait()


def told(m, line):
    """The output of a command that waits for the disk."""
    start = len(m.text)
    m.key(line + "\r")
    m.time(SECOND // 5)
    said = m.text[start:].replace("\r", "")
    assert said.startswith(line + "\n") and said.endswith("# "), said
    return said[len(line) + 1:said.rindex("\n") + 1]


def commit(m, *lines, how="commit"):
    m.console("configure")
    for line in lines:
        said = m.console(line)
        assert "%" not in said, said
    said = told(m, how)
    m.console("end")
    return said


WRITTEN = re.compile(r"configuration: the startup configuration is written, generation \d+\nwritten\n")


def write(m):
    said = told(m, "write memory")
    assert WRITTEN.fullmatch(said), said


def others(path):
    """The bytes outside the store's partition: nothing writes them."""
    with open(path, "rb") as file:
        whole = file.read()
    return whole[:128 * 512], whole[(128 + 4096) * 512:]


def test_startup_configuration(disk, machines):
    before = others(disk)
    m = machines(CONFIG, disk=disk)
    assert "generation 0" in m.text
    assert m.console("show startup-config") == "there is no startup configuration\n"
    assert "committed" in commit(m, "hostname core", "ip route 203.0.113.0/24 198.51.100.9")
    write(m)
    running = m.console("show running-config")
    assert m.console("show startup-config") == running
    cut_off(m)
    m = machines("hostname module\n", disk=disk)
    assert m.console("show running-config") == running and "core# " in m.text
    m.learn(A, B)
    m.route(udp(A, B))
    m.counted()
    said = m.console("show storage")
    assert "disk0 file at 00:02.0, a file, 4 MiB, sectors of 512 bytes" in said
    assert "generation 2" in said and "startup-config" in said and "history/1" in said
    # The boot module's is used if the command line says so, or if there is no startup configuration.
    cut_off(m)
    m = machines("hostname module\n", disk=disk, options="startup=ignore")
    assert "hostname module" in m.console("show running-config")
    assert m.console("show startup-config") == running
    assert told(m, "erase startup-config").endswith("erased\n")
    assert "there is no startup" in m.console("erase startup-config")
    cut_off(m)
    m = machines("hostname module\n", disk=disk)
    assert "hostname module" in m.console("show running-config")
    assert WRITTEN.fullmatch(told(m, "copy running-config startup-config"))
    cut_off(m)
    m = machines(None, disk=disk)
    assert "hostname module" in m.console("show running-config") and "no configuration was given" not in m.text
    assert others(disk) == before


def test_a_wrong_startup_configuration_gives_way(disk, machines):
    """A port that is not there any more: the boot module's is used, and without one nothing is applied."""
    m = machines(CONFIG + "interface eth2\n ip address 203.0.113.1/24\n", ports=3, disk=disk)
    write(m)
    cut_off(m)
    m = machines(CONFIG, disk=disk)
    assert "startup-config:" in m.text and "this machine has 2 ports" in m.text
    assert "nothing of the startup configuration is applied, but that of the boot module" in m.text
    assert "192.0.2.1/24" in m.console("show running-config")
    cut_off(m)
    m = machines(None, disk=disk)
    assert "startup-config:" in m.text and "nothing of the configuration is applied" in m.text
    assert "192.0.2.1" not in m.console("show running-config")


def test_commit_startup(disk, machines):
    m = machines(CONFIG, disk=disk)
    said = commit(m, "hostname live", how="commit startup")
    assert "committed\n" in said and said.endswith("written\n")
    said = commit(m, "interface eth0", "mtu 1400", how="commit startup")  # it restarts the ports
    assert "committed, the ports restart" in said
    m.settle()
    assert m.text.rstrip().endswith("#") and "\nwritten" in m.text.replace("\r", "")
    cut_off(m)
    m = machines(None, disk=disk)
    said = m.console("show running-config")
    assert "hostname live" in said and "mtu 1400" in said
    commit(m, "hostname tried", how="commit confirmed 1")
    assert "waits to be confirmed" in told(m, "write memory")


def test_history_and_rollback_over_boots(disk, machines):
    m = machines(CONFIG, disk=disk)
    assert "no commit" in m.console("show history")
    for n in range(1, 5):
        commit(m, "hostname h%d" % n, "ip route 203.0.113.%d/32 198.51.100.9" % n)
    write(m)
    commit(m, "hostname unsaved")
    cut_off(m)
    m = machines(None, disk=disk)
    assert "hostname h4" in m.console("show running-config")
    rows = [line.split() for line in m.console("show history").splitlines()[1:]]
    assert [row[:2] for row in rows[:3]] == [["1", "5"], ["2", "4"], ["3", "3"]] and len(rows) == 5
    assert rows[0][3:] == ["the", "console"]
    commit(m, "rollback 4")  # h2
    said = m.console("show running-config")
    assert "hostname h2" in said and "203.0.113.2/32" in said and "203.0.113.3/32" not in said
    rows = [line.split() for line in m.console("show history").splitlines()[1:]]
    assert [row[:2] for row in rows[:3]] == [["0", "6"], ["2", "5"], ["3", "4"]]
    commit(m, "rollback 1")  # from memory: what the machine booted with
    assert "hostname h4" in m.console("show running-config")
    m.console("configure")
    assert "no configuration 50 commits ago" in m.console("rollback 50")
    m.console("end")
    for n in range(30):
        commit(m, "hostname more%d" % n)
    assert len(m.console("show history").splitlines()) == 1 + 20


def test_history_of_a_boot_with_the_newest_commit(disk, machines):
    """It counts as 0, and the one before it as 1."""
    m = machines(CONFIG, disk=disk)
    for name in ("h1", "h2"):
        commit(m, "hostname " + name, how="commit startup")
    cut_off(m)
    m = machines(None, disk=disk)
    assert "hostname h2" in m.console("show running-config")
    rows = [line.split() for line in m.console("show history").splitlines()[1:]]
    assert [row[:2] for row in rows] == [["0", "2"], ["1", "1"]]
    commit(m, "rollback 1")
    assert "hostname h1" in m.console("show running-config")


def test_a_program_that_restarts_finds_the_store(disk, machines):
    m = machines(CONFIG, disk=disk, lives=True)
    m.settle()
    write(m)
    commit(m, "hostname later")
    told(m, "write memory")
    m.anew()
    m.settle()
    assert "hostname later" in m.console("show running-config")
    assert "hostname later" in m.console("show startup-config")
    commit(m, "hostname last")
    write(m)
    assert "history/2" in m.console("show storage")
    cut_off(m)
    m = machines(None, disk=disk)
    assert "hostname last" in m.console("show running-config")


def test_the_event_log_is_stored(disk, machines):
    """Each message once, over a restart of the control program and over boots."""
    m = machines(CONFIG, disk=disk, lives=True)
    m.settle()
    assert m.console("show logging stored") == ""
    commit(m, "hostname one")
    m.time(40 * SECOND)
    assert m.console("show logging stored") == ""
    m.time(10 * SECOND)  # a minute after the first message of the boot
    first = m.console("show logging stored")
    assert first.startswith("--- boot ---\n") and first.count("committed") == 1, first
    m.anew()
    m.settle()
    commit(m, "hostname two")
    m.time(61 * SECOND)
    second = m.console("show logging stored")
    assert second.startswith(first) and second.count("committed") == 2 and second.count("--- boot ---") == 1, second
    commit(m, "hostname three")
    cut_off(m)  # before it is stored
    m = machines(CONFIG, disk=disk)
    assert m.console("show logging stored") == second
    m.time(61 * SECOND)
    third = m.console("show logging stored")
    assert third.startswith(second + "--- boot ---\n") and third.count("committed") == 2, third


def test_a_cut_at_every_write(disk, machines, tmp_path):
    """The power is cut after each write of `write memory`: the old configuration boots, or the new one, and all else is as
    it was before or after."""
    m = machines(CONFIG, disk=disk)
    commit(m, "hostname old", how="commit startup")
    start = int(dict(m.command("disk writes"))["disk"])
    commit(m, "hostname new", how="commit startup")
    total = int(dict(m.command("disk writes"))["disk"]) - start
    cut_off(m)
    assert total >= 4
    seen = set()
    for cut in range(total + 1):
        path = str(tmp_path / "cut.img")
        disk_make(path)
        m = machines(CONFIG, disk=path)
        commit(m, "hostname old", how="commit startup")
        m.command("disk cut %d" % cut)
        commit(m, "hostname new", how="commit startup")
        cut_off(m)
        m = machines(CONFIG, disk=path)
        said = m.console("show running-config")
        name = next(line for line in said.splitlines() if line.startswith("hostname"))
        assert name in ("hostname old", "hostname new")
        assert m.console("show startup-config") == said
        write(m)  # it goes on
        seen.add(name)
        cut_off(m)
    assert len(seen) == 2


def test_disks_that_cannot_be_used(tmp_path, machines):
    path = str(tmp_path / "disk.img")
    m = machines(CONFIG)
    assert "no store: there is no disk" in m.console("show storage")
    assert "% there is no disk" in told(m, "write memory")
    assert "there is no store" in m.console("show history")
    for stores, room, reason in ((0, 1 << 20, "no disk has a partition of Hayate's"),
                                 (2, 1 << 20, "there are several partitions of Hayate's"),
                                 (1, 32768, "Hayate's partition is too small")):
        disk_make(path, stores, room=room)
        with open(path, "rb") as file:
            before = file.read()
        m = machines(CONFIG, disk=path)
        assert reason in m.text and reason in m.console("show storage")
        assert "% " + reason in told(m, "write memory")
        m.learn(A, B)
        m.route(udp(A, B))
        m.counted()
        with open(path, "rb") as file:
            assert file.read() == before
        cut_off(m)
    with open(path, "wb") as file:
        file.truncate(100 * 512)  # no table
    m = machines(CONFIG, disk=path)
    assert "no disk has a partition of Hayate's" in m.console("show storage")


def test_metrics(disk, machines):
    m = machines(CONFIG + WEB, disk=disk)
    write(m)
    m.learn(A, B)
    said = Client(m).get("/metrics")[2].decode()
    assert "hayate_storage_usable 1\n" in said and "hayate_storage_generation 1\n" in said
    assert 'hayate_disk_requests_total{disk="disk0",result="failed"} 0\n' in said
    assert "hayate_storage_writes_total 1\n" in said


def test_read_only(disk, machines):
    m = machines(CONFIG, disk=disk)
    commit(m, "hostname kept", how="commit startup")
    cut_off(m)
    m = machines(None, disk=disk, read_only=True)
    assert "hostname kept" in m.console("show running-config")
    assert "% the disk is read only" in told(m, "write memory")
    assert "read only" in m.console("show storage")


def test_a_disk_that_fails(disk, machines):
    """It refuses a write, then answers no more: each is said once, the machine forwards, and the old configuration is there."""
    m = machines(CONFIG, disk=disk)
    m.learn(A, B)
    commit(m, "hostname good", how="commit startup")
    m.command("disk refuse 0")
    assert "% the disk could not be written" in told(m, "write memory")
    assert "% the disk could not be written" in told(m, "write memory")
    assert m.text.count("it cannot be written") == 1
    m.route(udp(A, B))
    m.command("disk refuse 1000000")
    write(m)
    m.command("disk refuse 0")
    assert "% the disk could not be written" in told(m, "write memory")
    assert m.text.count("it cannot be written") == 2  # again, after a write that succeeded
    m.command("disk refuse 1000000")
    write(m)
    commit(m, "hostname lost")
    m.command("disk mute 0")
    assert "%" in told(m, "write memory")
    m.time(SECOND)
    assert m.text.count("it is not used any more") == 1
    assert "% the disk has failed" in told(m, "write memory")
    assert "failed: it does not answer" in m.console("show storage")
    m.route(udp(A, B))
    m.counted()
    cut_off(m)
    m = machines(None, disk=disk)
    assert "hostname good" in m.console("show running-config")


def test_a_change_that_only_memory_has(disk, machines):
    """A write fails, and so does the control program: the next program writes what it finds in memory."""
    m = machines(CONFIG, disk=disk, lives=True)
    m.settle()
    commit(m, "hostname good", how="commit startup")
    m.command("disk refuse 0")
    commit(m, "hostname later")
    assert "% the disk could not be written" in told(m, "write memory")
    m.command("disk refuse 1000000")
    m.anew()
    m.settle()
    m.time(SECOND)
    assert "hostname later" in m.console("show startup-config")
    cut_off(m)
    m = machines(None, disk=disk)
    assert "hostname later" in m.console("show running-config")


def test_a_store_that_is_full(tmp_path, machines):
    """Commits drop the oldest records; a startup configuration that does not fit is refused, and the last one stays."""
    path = str(tmp_path / "disk.img")
    disk_make(path, room=80 << 10)
    m = machines(CONFIG, disk=path)
    write(m)
    for n in range(0, 60):
        commit(m, *("ip route 10.%d.%d.0/24 198.51.100.9" % (n, k) for k in range(20)))
    said = told(m, "write memory")
    assert "% it is longer than the store has room for" in said, said
    assert "10.59" not in m.console("show startup-config") and "192.0.2.1/24" in m.console("show startup-config")
    cut_off(m)
    m = machines(None, disk=path)
    assert "192.0.2.1/24" in m.console("show running-config")


def test_damage(disk, machines, tmp_path):
    """Any byte of the partition may be another one: the newest whole generation is used, or none, and nothing else."""
    m = machines(CONFIG, disk=disk)
    commit(m, "hostname one", how="commit startup")
    commit(m, "hostname two", how="commit startup")
    cut_off(m)
    with open(disk, "rb") as file:
        good = file.read()
    path = str(tmp_path / "damaged.img")
    for at in (0, 40, 48, 64, 4095, 4096, 4200, 4096 + 600, (1 << 20) + 40, (1 << 20) + 4100):
        bad = bytearray(good)
        bad[128 * 512 + at] ^= 0x10
        with open(path, "wb") as file:
            file.write(bad)
        m = machines(CONFIG, disk=path)
        said = m.console("show running-config")
        assert any("hostname " + name in said for name in ("one", "two", "r1"))
        cut_off(m)


def test_no_memory_for_the_disk(disk, machines):
    m = machines(CONFIG, disk=disk, refuse="1")
    assert "storage: there is not enough memory" in m.text
    assert os.path.getsize(disk) == 4 << 20


def test_crash_reports_outlive_the_boot(disk, machines):
    m = machines(CONFIG, disk=disk)
    assert m.console("show crash") == "no program has failed since boot\n"
    cut_off(m)
    m = machines(CONFIG, disk=disk)
    m.command("crash it failed")
    m.time(SECOND)
    said = m.console("show crash")
    assert "crash 1: core 0" in said and "it failed" in said and "earlier boot" not in said
    cut_off(m)
    m = machines(CONFIG, disk=disk)
    assert m.console("show crash") == "reports of an earlier boot:\n" + said
    m.command("crash again")
    m.time(SECOND)
    assert "it failed" not in m.console("show crash")
