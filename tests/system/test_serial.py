"""The console on other serial ports than COM1, as firmware (SPCR), the command line or the machine itself
says, and on machines without any. QEMU is started directly, because the launcher gives each machine COM1."""
import os
import re
import select
import struct
import subprocess
import time

import pytest
from conftest import ACCEL, IMAGE, QEMU, eventually
from launcher import image

DEADLINE_S = 60


class Machine:
    """A machine without cards. `terminal` is the serial port at stdio (an -device or -serial of QEMU), `said`
    its output."""

    def __init__(self, *words, append="", boot=("-kernel", IMAGE)):
        self.said = ""
        if boot[0] == "-kernel":
            boot += ("-append", "app=router idle=sleep " + append)
        self.child = subprocess.Popen(
            [QEMU or "qemu-system-x86_64", "-M", "q35", "-accel", ACCEL, "-cpu", "max", "-m", "256M", "-smp", "2",
             "-nodefaults", "-display", "none", "-chardev", "stdio,id=line,signal=off", *words, *boot],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def expect(self, pattern):
        end = time.monotonic() + DEADLINE_S
        while not re.search(pattern, self.said, re.MULTILINE):
            left = end - time.monotonic()
            assert left > 0 and select.select([self.child.stdout], [], [], left)[0], self.said
            data = os.read(self.child.stdout.fileno(), 4096)
            assert data, self.said
            self.said += data.decode("latin-1")
        return re.search(pattern, self.said, re.MULTILINE)

    def type(self, line):
        self.child.stdin.write(line.encode() + b"\r")
        self.child.stdin.flush()

    def close(self):
        self.child.terminate()
        self.child.communicate(timeout=DEADLINE_S)


@pytest.fixture(name="start")
def start_fixture():
    machines = []

    def start(*words, **options):
        machines.append(Machine(*words, **options))
        return machines[-1]

    yield start
    for m in machines:
        m.close()


def com(port, irq):
    return "-device", "isa-serial,iobase=%#x,irq=%d,chardev=line" % (port, irq)


def spcr(tmp_path, port, interrupt=(1, 3, 0), baud=7, kind=0):
    """QEMU's options for a table that states this port. interrupt: type, IRQ, GSI."""
    body = struct.pack("<B3xBBBBQBBIBBBBBBHHBBBIBI", kind, 1, 8, 0, 1, port, *interrupt, baud, 0, 1, 0, 0, 0,
                       0xffff, 0xffff, 0, 0, 0, 0, 0, 0)
    assert len(body) == 80 - 36
    path = tmp_path / "spcr"
    path.write_bytes(body)
    return "-acpitable", "sig=SPCR,rev=2,oem_id=HAYATE,oem_table_id=TEST,data=%s" % path


def works(machine, port):
    """All lines from the first are there; typed commands are answered, also while the machine sleeps."""
    machine.expect(r"^hayate: build [0-9a-f]+\r?$[\s\S]*^ready: 0 ports")
    for n in range(2):
        machine.said = ""
        machine.type("show hardware")
        machine.expect(r"^console serial port %x, " % port)
        machine.expect(r"\# $")
        time.sleep(0.3)  # nothing is awaited: the core goes to sleep
    return re.search(r"^console serial .*", machine.said, re.MULTILINE).group(0).strip()


@pytest.mark.parametrize("interrupt", [(1, 3, 0), (2, 0, 3), (3, 3, 3), (0, 0, 0)],
                         ids=["irq", "gsi", "both", "none"])
def test_spcr(start, tmp_path, interrupt):
    """Firmware states COM2, with its interrupt in any way, or without one, though COM1 is there."""
    other = tmp_path / "com1"
    m = start("-serial", "file:%s" % other, *com(0x2f8, 3), *spcr(tmp_path, 0x2f8, interrupt))
    assert works(m, 0x2f8) == "console serial port 2f8, 115200 baud"
    assert b"ready" not in other.read_bytes()


def test_spcr_baud(start, tmp_path):
    """The table states another speed, or that the port keeps its own."""
    m = start(*com(0x2f8, 3), *spcr(tmp_path, 0x2f8, baud=4))
    assert works(m, 0x2f8) == "console serial port 2f8, 19200 baud"
    m = start(*com(0x3f8, 4), *spcr(tmp_path, 0x3f8, (1, 4, 0), baud=0))
    assert works(m, 0x3f8) == "console serial port 3f8, the speed that firmware left"


@pytest.mark.parametrize("words", [{"kind": 3}, {"port": 0x12340}], ids=["not-16550", "no-such-port"])
def test_spcr_that_cannot_be_used(start, tmp_path, words):
    """COM1 is used, and the console says why."""
    m = start(*com(0x3f8, 4), *spcr(tmp_path, **{"port": 0x2f8, **words}))
    works(m, 0x3f8)


def test_option(start, tmp_path):
    """The command line goes before what firmware states."""
    m = start(*com(0x3e8, 4), *spcr(tmp_path, 0x2f8), append="serial=0x3e8 baud=57600")
    assert works(m, 0x3e8) == "console serial port 3e8, 57600 baud"


def test_only_another_port(start):
    """Without COM1 and without a table the ports that PCs have are tried."""
    assert works(start(*com(0x2f8, 3)), 0x2f8) == "console serial port 2f8, 115200 baud"


def ink(path):
    magic, size, _, pixels = path.read_bytes().split(b"\n", 3)
    assert magic == b"P6" and size
    return pixels[::3].count(0xc8)


def test_no_serial_port(start, tmp_path):
    """A machine without any serial port boots, and shows its console on the screen."""
    iso, screen = str(tmp_path / "hayate.iso"), tmp_path / "screen.ppm"
    image.build(iso, kernel=IMAGE, timeout_s=0)
    m = start("-vga", "std", "-mon", "chardev=line,mode=readline", boot=("-cdrom", iso))

    def shown():
        screen.unlink(missing_ok=True)
        m.type("screendump %s" % screen)
        eventually(screen.exists, 10, "a picture")
        try:
            return ink(screen) > 3000
        except (ValueError, AssertionError):
            return False
    eventually(shown, DEADLINE_S, "the console's text on the screen", 0.5)
