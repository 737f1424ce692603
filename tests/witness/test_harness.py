"""Tests the harness itself with a card that QEMU emulates: a failure here is no model's fault."""
import os
import time

import pytest
from conftest import GUEST, HOST
from launcher import netlab, ports
from linux import LinuxError, LinuxGuest, emulated


@pytest.fixture(scope="module")
def host():
    with netlab.Host("host") as made:
        made.ip("address", "replace", HOST + "/24", "dev", "eth0")
        made.ip("link", "set", "eth0", "up")
        yield made


@pytest.fixture(scope="module")
def guest(host):
    fd, = ports.open_tap(ports.Port(host.port), 1)
    try:
        with LinuxGuest(emulated(0, "igb", fd), [fd]) as made:
            yield made
    finally:
        os.close(fd)


def test_commands(guest):
    assert guest.run("echo out; echo err >&2; exit 7", check=False) == (7, "out\nerr\n")
    with pytest.raises(LinuxError, match="status 7"):
        guest.run("exit 7")
    assert guest.output("printf '%s' 'DONE 1 0 0\n'") == "DONE 1 0 0\n"
    assert len(guest.output("head -c 1000000 /dev/zero")) == 1000000


def test_deadline(guest):
    """A command that takes too long is killed, and the next one runs."""
    with pytest.raises(LinuxError, match="killed after 1 s"):
        guest.run("sleep 60", 1)
    assert guest.output("echo here") == "here\n"


def test_clock():
    """The guest's seconds are the host's, even if the kernel has measured the TSC wrongly, as it does on a busy
    host: its clock then ran up to seven times too fast, and iperf3's three seconds were half a second."""
    with LinuxGuest(append="tsc_early_khz=400000") as made:
        def uptime():
            return float(made.output("cat /proc/uptime").split()[0])
        began, first = time.monotonic(), uptime()
        time.sleep(2)
        last, ended = uptime(), time.monotonic()
        assert 1.9 < last - first < ended - began + 0.1


def test_stock_kernel_and_driver(guest):
    assert "Debian" in guest.output("uname -v")
    guest.run("modprobe igb && ip link set eth0 up && ip address add %s/24 dev eth0" % GUEST)
    guest.wait("grep -q 1 /sys/class/net/eth0/carrier")
    assert "igb" in guest.output("ethtool -i eth0")
    assert "3 packets received" in guest.output("ping -c 3 -W 5 " + HOST)
