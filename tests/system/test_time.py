"""The time of day: the CMOS clock, the console, a restart of the control program."""
import datetime
import re

UTC = datetime.timezone.utc


def clock(router):
    """(time, source) of `show clock`; the time is None if it is not known."""
    said = dict(line.split(None, 1) for line in router.command("show clock").splitlines() if line)
    known = said["time"] != "not known"
    return datetime.datetime.fromisoformat(said["time"].replace("Z", "+00:00")) if known else None, said["source"]


def test_cmos_clock(make_router):
    """The clock that QEMU shows is read at boot; `clock set` changes the time, and a new control program goes on with it."""
    base = datetime.datetime(2031, 2, 28, 23, 59, 58, tzinfo=UTC)
    router = make_router("hostname r1\n", "--qemu-arg=-rtc", "--qemu-arg=base=2031-02-28T23:59:58,clock=vm",
                         "--append", "test=1")
    router.faults_expected = True
    time, source = clock(router)
    assert source == "CMOS clock" and base <= time < base + datetime.timedelta(minutes=5), time
    said = router.command("clock set 2040-02-29 12:00:00")
    assert re.search(r"time    2040-02-29T12:00:00\.\d{6}Z\r?\nsource  console", said), said
    assert "the time is like" in router.command("clock set 2039-02-29 12:00:00")
    router.send("test fault null core 0")
    router.expect(r"control program: goes on after \d+ us", 30)
    router.wait_prompt()
    time, source = clock(router)
    begin = datetime.datetime(2040, 2, 29, 12, tzinfo=UTC)
    assert source == "console" and begin <= time < begin + datetime.timedelta(minutes=5), time
    crash = router.command("show crash")
    assert re.search(r"^crash 1: core 0, \d+\.\d{3} s after boot, 2040-02-29T12:0\d:\d\d\.\d{3}Z", crash, re.MULTILINE), crash


def test_clock_without_battery(make_router):
    """A clock that begins at 2000 is not believed."""
    router = make_router("hostname r1\n", "--qemu-arg=-rtc", "--qemu-arg=base=2000-01-01T00:00:00")
    assert "rtc: the time of day is not known: the CMOS clock shows 2000-01-01 00:00:" in router.text
    assert clock(router) == (None, "none")
