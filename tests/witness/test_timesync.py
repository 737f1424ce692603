"""Time stamps of the 82599's model, by Linux's ixgbe and linuxptp: two ports, a cable, two clocks.

The delay of the cable is exact in the model's stamps, whatever the speed of this machine, so what
ptp4l (IEEE 1588) finds out about it must be so too.
"""
import re
import time

import initramfs
import pytest
from conftest import CARDS, Lab

DELAY_NS = 50000
CLOCK_NS = 6.4  # a tick: a stamp is up to so much too early
SECONDS = 6     # that ptp4l tells of at least, one line each


@pytest.fixture(scope="module")
def lab(request):
    made = Lab(CARDS["82599"], request.module.__name__, hosts=0,
               wires=["wire:link:%d;delay=%dns" % (1 - port, DELAY_NS) for port in range(2)],
               recipes=(initramfs.BASE, initramfs.PTP))
    try:
        made.guest.run("modprobe ixgbe && ip link set eth0 up && ip link set eth1 up")
        for name in ("eth0", "eth1"):
            made.wait_link(name)
        yield made
    finally:
        made.close()


def test_capabilities(lab):
    for index in range(2):
        said = lab.guest.output("ethtool -T eth%d" % index)
        for word in ("hardware-transmit", "hardware-receive", "hardware-raw-clock"):
            assert word in said, said
        assert re.search(r"PTP Hardware Clock: %d$" % index, said, re.MULTILINE), said


def clock(lab):
    """The clock's seconds, between those of this machine before it was read and after."""
    before = time.monotonic()
    said = lab.guest.output("phc_ctl -q eth0 get")
    return before, float(re.search(r"clock time is (\d+\.\d+)", said).group(1)), time.monotonic()


@pytest.mark.parametrize("ppb", [0, 50000000, -50000000])
def test_clock(lab, ppb):
    """It runs as fast as time does, or as much faster or slower as it is told. The time is this
    machine's, by which the model goes: the guest's own leaps where the machine is busy. Goes on
    until another pace than the right one would have been told from it."""
    pace = 1 + ppb / 1e9
    lab.guest.run("phc_ctl -q eth0 -- freq %d set 1000" % ppb)
    before, began, after = clock(lab)

    def told():
        earlier, now, later = clock(lab)
        least, most = earlier - after, later - before
        assert least * pace <= now - began <= most * pace, (least, now - began, most)
        return most - least < 0.04 * least

    try:
        lab.eventually(told, "the time of reading the clock is little", 120)
    finally:
        lab.guest.run("phc_ctl -q eth0 freq 0")


def test_delay(lab):
    """ptp4l measures the cable, and brings one clock to the time of the other."""
    options = "-2 -m -q --tx_timestamp_timeout=500 --logSyncInterval=-3 --logMinDelayReqInterval=-3"
    lab.guest.run("for n in 0 1; do ptp4l -i eth$n %s $([ $n = 1 ] && echo -s) >/tmp/ptp$n 2>&1 & "
                  "echo $! >/tmp/pid$n; done" % options)
    try:
        # "rms 7 max 12 freq …": what the servo leaves of the offset, ns, once it has settled
        lab.guest.wait("grep 'rms .* delay' /tmp/ptp1 | sed -n '%d,$s/.*rms *\\([0-9]*\\) max.*/\\1/p' | "
                       "grep -qx '[0-9][0-9]\\?'" % SECONDS, 100)
    finally:
        lab.guest.run("kill $(cat /tmp/pid0 /tmp/pid1)")
        said = lab.guest.output("cat /tmp/ptp0 /tmp/ptp1")
    found = re.findall(r"rms.* delay\s+(\d+) ", said)
    assert all(abs(int(delay) - DELAY_NS) <= CLOCK_NS for delay in found), said
