"""A minute of `make soak` (tests/soak/soak.py), and tests that its judges can find faults."""
import os
import subprocess
import sys

import pytest
from conftest import ROOT, options

SOAK = os.path.join(ROOT, "tests", "soak")
sys.path.insert(0, SOAK)

from judge import Flow, Verdict, Window, packet, read  # noqa: E402

MINUTES, SEED = 1, 10  # for all cards together


@pytest.mark.each_ring
@pytest.mark.parametrize("nic", options.NICS)
def test_soak(nic, log_path):
    """Nothing is lost without a reason, and the final state equals the first. Faults begin within
    the minute; each takes its own time."""
    result = subprocess.run([sys.executable, os.path.join(SOAK, "soak.py"), "--minutes",
                             str(MINUTES / len(options.NICS)), "--seed", str(SEED), "--nic", nic,
                             "--log", log_path + ".log", "--no-managers"],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(result.stdout)
    assert result.returncode == 0 and "soak: no discrepancy" in result.stdout


@pytest.mark.no_guest
@pytest.mark.parametrize("size", [24, 25, 40, 1452, 3900])
def test_damage_is_seen(size):
    """A change of any byte, and extra or missing bytes, are detected."""
    for number in (0, 1, 255, 1 << 40):
        whole = packet(3, number, size)
        assert len(whole) == size and read(whole) == (3, number)
        assert read(whole + b"x") is None and read(whole[:-1]) is None
        for at in range(size):
            assert read(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:]) is None


def flow(sent, came):
    """A flow of packets sent at these times, of which these numbers arrived, in this order, 0.01 s
    later."""
    one = Flow("one")
    for when in sent:
        one.sends(when)
    for number in came:
        one.takes(number, sent[number] + 0.01)
    return one


def window(begin, end):
    one = Window("fault", begin)
    one.end = end
    return one


@pytest.mark.no_guest
@pytest.mark.parametrize("came,windows,complaint", [
    ([0, 1, 2, 3], [], None),
    ([0, 1, 3], [(1.5, 2.5)], None),
    ([0, 1, 3], [(2.05, 2.5)], None),        # in flight when the fault began
    ([0, 1, 3], [], "1 lost and no fault was on"),
    ([0, 1, 3], [(2.5, 3.5)], "1 lost and no fault was on"),
    ([0, 1, 3], [(1.0, 1.9)], "1 lost and no fault was on"),
    ([0, 2, 1, 3], [], "1 overtaken and no fault was on"),
    ([0, 2, 1, 3], [(0.9, 1.1)], None),
    ([0, 1, 2, 2, 3], [], "1 came twice"),
    ([0, 1, 2, 2, 3], [(1.5, 2.5)], "1 came twice"),
])
def test_verdict(came, windows, complaint):
    """Packets sent 0, 1, 2 and 3 s after the start."""
    verdict = Verdict([flow([0.0, 1.0, 2.0, 3.0], came)], [window(*one) for one in windows])
    assert bool(verdict.complaints) == bool(complaint), verdict.complaints
    assert not complaint or complaint in verdict.complaints[0]
    assert verdict.lost == 4 - len(set(came))
