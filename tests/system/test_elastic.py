"""Elastic cores (runtime/elastic.h): at low load the flows of all ports lie on one data core, and come back to all with
load; no packet is lost meanwhile, and none of a flow overtakes another one."""
import re

import pytest
from conftest import RIGHT_HOST, eventually, pings, received, router_config
from flows import Flows
from test_balance import RSS

COUNT = 24
LITTLE, MUCH = 1, 24  # packets of a flow in flight
CORES = 3


def in_use(router):
    """How many data cores have flows."""
    return int(re.search(r"^cores (\d+) of %d have flows" % CORES, router.command("show load-balance"), re.M)[1])


def in_order(flows):
    assert flows.settle() == []
    assert not any(flow.lost for flow in flows.list)
    assert not flows.overtaken()


def runs_with(flows, window):
    for flow in flows.list:
        flow.window = window


@pytest.mark.each_ring
@pytest.mark.parametrize("nic", ["virtio", "ixgbe", "igb", "igc", "mlx5"])
def test_flows_are_gathered_and_return(make_lab, nic):
    lab = make_lab(router_config(extra="cores minimum 1 wake-up 100\n"), *(RSS if nic == "virtio" else ()), cpus=CORES + 1)
    router = lab.router
    pings(lab.left, RIGHT_HOST)
    with Flows(lab.left, lab.right, RIGHT_HOST, COUNT) as flows:
        runs_with(flows, LITTLE)
        with flows.sending():
            eventually(lambda: in_use(router) == 1, 60, "the flows are on one core")
            eventually(lambda: router.cores()[1]["buckets"] == sum(core["buckets"] for core in router.cores()), 20,
                       "all buckets have moved")
        in_order(flows)
        before = received(router)
        with flows.sending():
            eventually(lambda: received(router)[1] > before[1] + COUNT, 20, "packets")
        in_order(flows)
        after = received(router)
        assert after[2:] == before[2:]
        assert router.counters()["cores_gathered"] >= CORES - 1

        runs_with(flows, MUCH)

        def run_until_back():
            flows.run(0.5)
            return in_use(router) == CORES
        eventually(run_until_back, 60, "the cores have come back")
        flows.run(0.5)
        in_order(flows)
        assert all(now > then for now, then in zip(received(router)[1:], after[1:]))
    counters = router.counters()
    assert counters["cores_spread"] >= 1
    assert counters["moved_early"] == 0
    assert not counters.drops()


@pytest.mark.parametrize("nic", ["ixgbe", "mlx5"])
def test_core_with_all_flows_fails(make_lab, nic):
    """Its flows go to cores that had none, and return to it alone."""
    lab = make_lab(router_config(extra="cores minimum 1\n"), "--append", "test=1", cpus=CORES + 1)
    router = lab.router
    router.faults_expected = True
    pings(lab.left, RIGHT_HOST)
    eventually(lambda: in_use(router) == 1, 60, "the flows are on one core")
    eventually(lambda: router.cores()[1]["buckets"] == sum(core["buckets"] for core in router.cores()), 20,
               "all buckets have moved")
    with Flows(lab.left, lab.right, RIGHT_HOST, COUNT) as flows:
        runs_with(flows, LITTLE)
        flows.fault(router, 1, r"core 1: polls again after (\d+) us; the others have gone on, and took its packets \d+ us")
        flows.give_up()
        eventually(lambda: in_use(router) == 1, 60, "the flows are on one core")  # as before, unless it was busy
        before = received(router)
        with flows.sending():
            eventually(lambda: received(router)[1] > before[1] + COUNT, 20, "packets")
        assert flows.settle() == []
        assert received(router)[2:] == before[2:]
    assert [core["faults"] for core in router.cores()] == [0, 1, 0, 0]
    drops = router.counters().drops()
    assert set(drops) <= {"drop_restart"}, drops


@pytest.mark.parametrize("nic", ["ixgbe"])
def test_commit(make_lab, nic):
    """A commit gathers the flows, and another one spreads them again: no port restarts."""
    lab = make_lab(None, cpus=CORES + 1)
    router = lab.router

    def commit(line):
        router.command("configure")
        router.command(line)
        assert "restart" not in router.command("commit")
        router.command("end")
    pings(lab.left, RIGHT_HOST)
    assert "have flows" not in router.command("show load-balance")
    commit("cores minimum 2")
    assert "minimum 2, wake-up 50 us" in router.command("show load-balance")
    eventually(lambda: in_use(router) == 2, 60, "the flows are on two cores")
    pings(lab.left, RIGHT_HOST)
    commit("no cores minimum")
    eventually(lambda: all(core["buckets"] for core in router.cores()[1:]), 20, "the flows are on all cores")
    pings(lab.left, RIGHT_HOST)
    assert not router.counters().drops()
