"""The control program fails and comes up anew while data cores forward (invariant 8): nobody loses a
packet. RESTARTS=100 does it so often; a core may fail five times in ten seconds, and take over twice."""
import os
import re
import statistics
import time

from conftest import RIGHT_HOST, pings
from flows import Flows

RESTARTS = int(os.environ.get("RESTARTS", "3"))
BETWEEN_S = 5.2
COUNT = 12  # flows


def fail(router, flows):
    """Returns the microseconds in which the control program had new tables."""
    router.skip()
    router.send("test fault ud core 0")
    end = time.monotonic() + 30
    while not (match := re.search(r"control program: goes on after (\d+) us",
                                  router.text[router.mark:])):
        assert time.monotonic() < end, router.tail()
        assert "ports restart" not in router.text[router.mark:], router.tail()
        flows.run(0.02)
        router.poll()
    flows.run(0.1)
    return int(match.group(1))


def test_nobody_loses_anything(make_lab):
    lab = make_lab(None, "--append", "test=1", cpus=4)
    router = lab.router
    router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    with Flows(lab.left, lab.right, RIGHT_HOST, COUNT) as flows:
        flows.run(0.5)
        assert flows.settle() == []
        taken, outages = [], []
        for n in range(RESTARTS):
            flows.run(BETWEEN_S if n else 0.2)
            flows.begin()
            taken.append(fail(router, flows))
            assert flows.settle() == [], router.tail()
            outages.append(max(flow.outage_s for flow in flows.list))
    print("%d restarts of the control program: new tables after %d us (median; worst %d); the longest "
          "silence of a flow, as hosts see it, %.1f ms (median; worst %.1f)"
          % (RESTARTS, statistics.median(taken), max(taken), 1000 * statistics.median(outages),
             1000 * max(outages)))
    assert [core["faults"] for core in router.cores()] == [RESTARTS, 0, 0, 0]
    pings(lab.left, RIGHT_HOST)
