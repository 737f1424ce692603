"""What the layers of tests under pytest have in common: `eventually`, and how a run ends. A plugin
of each conftest.

1. Told to end by SIGTERM it ends as by Ctrl-C: fixtures take down what they have made.
2. Its temporary files are gone afterwards. What is worth keeping lies in build/.
3. Its last line is `LAYER: N passed, N failed[, N skipped]`, which .ci/run adds up. LAYER is the
   name of the directory that holds pytest.ini.
"""
import shutil
import signal
import tempfile
import time

import pytest


def runs(pid):
    """Whether that process is there and no zombie."""
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def eventually(condition, timeout_s=10.0, what="condition", every_s=0.05):
    """Polls until condition() is true; returns its value."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            pytest.fail("%s: not within %g s" % (what, timeout_s))
        time.sleep(every_s)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config.own_basetemp = None
    if config.option.basetemp is None:
        config.own_basetemp = config.option.basetemp = tempfile.mkdtemp(prefix="hayate-tests-")


def pytest_unconfigure(config):
    if config.own_basetemp:
        shutil.rmtree(config.own_basetemp, ignore_errors=True)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter, config):
    count = {name: len(terminalreporter.stats.get(name, [])) for name in
             ("passed", "failed", "error", "skipped", "xfailed", "xpassed")}
    skipped = count["skipped"] + count["xfailed"]
    terminalreporter.ensure_newline()
    terminalreporter.write_line("%s: %d passed, %d failed%s" % (
        config.rootpath.name, count["passed"], count["failed"] + count["error"] + count["xpassed"],
        ", %d skipped" % skipped if skipped else ""))
