"""Time stamps of the 82599's model, by Linux's ixgbe and linuxptp: two ports, a cable, two clocks.

The delay of the cable is exact in the model's stamps, however slow this machine is. So the delay
that ptp4l (IEEE 1588) measures must be exact too.
"""
import re
import time

import initramfs
import pytest
from conftest import CARDS, Lab

DELAY_NS = 50000
CLOCK_NS = 6    # a tick is 6.4 ns: a stamp is too early by up to this much
SECONDS = 6     # minimum number of reports by ptp4l, one line each


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
    """The card's time in seconds, between this machine's time before and after the reading."""
    before = time.monotonic()
    said = lab.guest.output("phc_ctl -q eth0 get")
    return before, float(re.search(r"clock time is (\d+\.\d+)", said).group(1)), time.monotonic()


@pytest.mark.parametrize("ppb", [0, 50000000, -50000000])
def test_clock(lab, ppb):
    """The clock runs at the speed of time, or faster or slower as configured. Time is this
    machine's, which the model uses too: the guest's own clock leaps when the machine is busy. The
    test continues until a wrong rate would have been detected."""
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
    """ptp4l measures the cable, and synchronises one clock to the other."""
    options = "-2 -m -q --tx_timestamp_timeout=500 --logSyncInterval=-3 --logMinDelayReqInterval=-3"
    lab.guest.run("for n in 0 1; do ptp4l -i eth$n %s $([ $n = 1 ] && echo -s) >/tmp/ptp$n 2>&1 & "
                  "echo $! >/tmp/pid$n; done" % options)
    # Judged is the last report, such as "rms 7 max 12 freq +97 +/- 35 delay 50002 +/- 4": the remaining offset of the
    # clocks, and the delay. Before, one clock runs at another speed.
    settled = "$2 == \"rms\" { n++; rms = $3; delay = $11 } END { exit !(n >= %d && rms < 100 && delay >= %d && " \
        "delay <= %d) }" % (SECONDS, DELAY_NS - CLOCK_NS, DELAY_NS + CLOCK_NS)
    try:
        lab.guest.wait("awk '%s' /tmp/ptp1" % settled, 100)
    finally:
        lab.guest.run("kill $(cat /tmp/pid0 /tmp/pid1)")
        print(lab.guest.output("cat /tmp/ptp0 /tmp/ptp1"))
