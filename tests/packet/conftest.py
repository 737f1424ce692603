"""Common to the packet tests: machines that are checked when a test ends, and the layer's result
line."""
import os
import sys

import pytest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from machine import A, B, HARNESS, Machine, notes  # noqa: E402

pytest_plugins = ["layer"]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "call":
        item.failed = outcome.get_result().failed


@pytest.fixture
def make(request):
    """make(config, ports=…, app=…) starts a machine. When the test ends the machine must have sent
    nothing unexpected."""
    assert os.path.exists(HARNESS), "%s is not built: make test-packet" % HARNESS
    machines = []

    def start(*arguments, **options):
        machines.append(Machine(*arguments, **options))
        return machines[-1]

    yield start
    try:
        for machine in machines:
            if not getattr(request.node, "failed", False):
                machine.expect_nothing()
                machine.close()
    finally:
        for machine in machines:
            machine.abandon()


@pytest.fixture
def fresh(make):
    """A router without known neighbours."""
    return make()


@pytest.fixture
def m(make):
    """A router that knows one host on each side."""
    machine = make()
    machine.learn(A, B)
    return machine


def pytest_collection_modifyitems(session, config, items):
    """The test of all counters comes last."""
    items.sort(key=lambda item: item.fspath.basename == "test_counters.py")


def pytest_collection_finish(session):
    session.config.all_selected = not session.config.option.keyword and \
        len({item.fspath for item in session.items}) == len(
            [f for f in os.listdir(HERE) if f.startswith("test_")])


def pytest_terminal_summary(terminalreporter):
    terminalreporter.ensure_newline()
    for note in notes:
        terminalreporter.write_line(note)
