"""Common to the test layers under pytest: `eventually`, and how a run ends. Each conftest loads it
as a plugin.

1. On SIGTERM a run ends as on Ctrl-C: fixtures take down what they have made.
2. Its temporary files are gone afterwards. Files worth keeping are in build/.
3. Its last line is `LAYER: N passed, N failed[, N skipped]`, which .ci/run adds up. LAYER is the
   name of the directory that holds pytest.ini.
4. `--share N/M` runs one of M shares, which together are all of the tests: several in parallel take
   less time. A layer has no shares if a test depends on an earlier one.
"""
import os
import shutil
import signal
import tempfile
import time

import pytest


def runs(pid):
    """Whether the process exists and is no zombie."""
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


FILES_SHOWN = 20
TAG = "HAYATE_TEST_TAG"  # an environment variable that marks the processes of a program


def descendants(tag):
    """The processes with this tag in their environment: all that the tagged program ever started,
    whatever their parent is now."""
    wanted = ("%s=%s" % (TAG, tag)).encode()
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as file:
                mine = wanted in file.read().split(b"\0")
        except OSError:
            continue
        if mine and int(pid) != os.getpid() and runs(int(pid)):
            found.append(int(pid))
    return found


def eventually(condition, timeout_s=10.0, what="condition", every_s=0.05):
    """Polls until condition() is true; returns its value. what: text, or a function that makes it in the end."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            pytest.fail("%s: not within %g s" % (what() if callable(what) else what, timeout_s))
        time.sleep(every_s)


def share_of(text):
    """(N, M) of N/M."""
    number, shares = (int(word) for word in text.split("/"))
    if not 1 <= number <= shares:
        raise ValueError(text)
    return number, shares


def pytest_addoption(parser):
    parser.addoption("--share", metavar="N/M", type=share_of, default=(1, 1),
                     help="run the Nth of M shares of the tests")


# Adjacent tests are often one test with several parameters: dealt one by one, one share would get
# all of the slower kind.
DEALT_AT_ONCE = 5


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    number, shares = config.option.share
    if shares == 1:
        return
    mine = [(index // DEALT_AT_ONCE) % shares == number - 1 for index in range(len(items))]
    config.hook.pytest_deselected(items=[item for item, is_mine in zip(items, mine) if not is_mine])
    items[:] = [item for item, is_mine in zip(items, mine) if is_mine]


stopping = False


def stop(number, frame):
    """Ends the run as Ctrl-C does, at the next test at the latest: Python loses an exception that is raised in a callback
    (`Exception ignored in`)."""
    global stopping
    stopping = True
    signal.default_int_handler(number, frame)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    if stopping:
        raise KeyboardInterrupt


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    signal.signal(signal.SIGTERM, stop)
    config.own_basetemp = None
    if config.option.basetemp is None:
        config.own_basetemp = config.option.basetemp = tempfile.mkdtemp(prefix="hayate-tests-")


def pytest_unconfigure(config):
    if config.own_basetemp:
        shutil.rmtree(config.own_basetemp, ignore_errors=True)


def seconds_by_file(stats):
    """(file, seconds) of the files whose tests took longest, with their fixtures."""
    seconds = {}
    for report in (report for reports in stats.values() for report in reports):
        if hasattr(report, "duration"):
            file = report.nodeid.partition("::")[0]
            seconds[file] = seconds.get(file, 0) + report.duration
    return sorted(seconds.items(), key=lambda row: -row[1])[:FILES_SHOWN]


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter, config):
    count = {name: len(terminalreporter.stats.get(name, [])) for name in
             ("passed", "failed", "error", "skipped", "xfailed", "xpassed")}
    skipped = count["skipped"] + count["xfailed"]
    terminalreporter.ensure_newline()
    terminalreporter.write_line("seconds by file: " + ", ".join(
        "%s %.0f" % row for row in seconds_by_file(terminalreporter.stats)))
    terminalreporter.write_line("%s: %d passed, %d failed%s" % (
        config.rootpath.name, count["passed"], count["failed"] + count["error"] + count["xpassed"],
        ", %d skipped" % skipped if skipped else ""))
