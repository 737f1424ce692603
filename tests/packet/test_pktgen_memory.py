"""The generator with memory refused (test_memory.py): the 1st, 2nd, 3rd ... request of a start, of
a run with a capture, and of a test of RFC 2544, alone or with all later ones."""
import re

import pytest
from generator import STREAM, TESTS, play, script, start
from machine import *
from test_memory import NAMED

RUN = script("capture eth0\n" + STREAM + " rate 100pps\n limit 50 frames\n")
TRIALS = script(TESTS % ("throughput", "64", "1%"))
MISSING = re.compile(r"there is not enough memory|" + NAMED.pattern, re.MULTILINE)


# The output at the end of a run and of a test, and parts of their reports.
RAN = ("Run of 0.490 s: valid", '"name":"a"', "Cg0NCjQAAABNPCsaAQAAAP")
TESTED = ("the test is over: 1 trials, 0 invalid", "throughput", '"rfc2544":')


def ends(g):
    g.time(SECOND)
    g.take_all(0), g.take_all(1)


def run(g):
    start(g)
    ends(g)
    for page in ("report", "report json", "capture base64"):
        g.key("show %s\r" % page)
        ends(g)


def trials(g):
    g.key("rfc2544 start\r")
    if not g.text.endswith("r1# "):
        play(g, list)
    for page in ("report", "report json"):
        g.key("show %s\r" % page)
        ends(g)


SCENARIOS = {"run": (RUN, run, RAN), "rfc2544": (TRIALS, trials, TESTED)}


@pytest.mark.parametrize("on", [False, True], ids=["one", "all"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_generator(make, name, on):
    """The missing memory is named, and the console works. A run with a script continues without the
    parts of the report that lack memory. With memory, after a restart of the ports, the report is
    complete, except for devices and the text, which are read only once."""
    config, scenario, want = SCENARIOS[name]

    def machine(**options):
        g = make(config, boot=False, **options)
        ends(g)
        return g

    whole = machine(refuse="0")
    begun = whole.asked()["memory"][0]
    scenario(whole)
    asked = whole.asked()
    assert all(w in whole.text for w in want) and asked["memory"][0] > begun >= 8
    later = 0
    for n in range(1, asked["memory"][0] + 1):
        g = machine(refuse="%d%s" % (n, "+" if on else ""))
        lost = re.search(r"pci |configuration:|\(the configuration\)", g.text)
        if not lost and "nothing is forwarded" not in g.text:
            scenario(g)
        assert g.asked()["memory"][1] and MISSING.search(g.text.replace("\r", "")), (n, g.text)
        assert n <= begun or want[0] in g.text or "not enough memory for trials" in g.text, (n, g.text)
        g.refuse("memory", 0)
        if lost:
            assert "free" in g.console("show memory")
            g.close()
            continue
        g.command("restart")
        ends(g)
        g.text = ""
        scenario(g)
        assert all(w in g.text for w in want) and not MISSING.search(g.text), (n, g.text)
        assert g.asked()["private"] <= asked["private"], n
        later += 1
        g.close()
    assert later > 5
