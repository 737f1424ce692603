"""tests/system/matrix.py's evaluation of pytest's results: no failed or skipped test is lost."""
import argparse
import collections
import os
import pathlib
import re
import signal
import subprocess
import sys

import matrix
import pytest
from conftest import NIC_MODULES
from layer import TAG, descendants, eventually

pytestmark = pytest.mark.no_guest

RESULTS = """\
<testsuites><testsuite name="pytest">
<testcase classname="test_echo" name="test_udp_echo[v4-ixgbe]"/>
<testcase classname="test_tcp" name="test_echo[mlx5-1-ip4]"><skipped message="of 1 CPU"/></testcase>
<testcase classname="test_tcp" name="test_bulk[mlx5]"><failure message="lost"/></testcase>
<testcase classname="test_tcp" name="test_refused[mlx5]"><error message="setup"/></testcase>
<testcase classname="test_tcp" name="test_discard[mlx5]"/>
<testcase classname="test_http" name="test_metrics[ixgbe]"><skipped message="no promtool"/></testcase>
<testcase classname="test_http" name="test_page[ixgbe]"><skipped message="of 1 CPU"/></testcase>
<testcase classname="test_http" name="test_dashboard"/>
</testsuite></testsuites>
"""


@pytest.fixture
def cells(tmp_path):
    """The evaluation of RESULTS, as a column of 2 CPUs."""
    found = collections.defaultdict(matrix.Cell)
    (tmp_path / "results.xml").write_text(RESULTS)
    assert matrix.read(tmp_path / "results.xml", found, 2)
    return found


def test_table(cells):
    wanted = argparse.Namespace(app=["echo", "HTTP"], nic=["virtio", "ixgbe", "mlx5"], cpus=[1, 2])
    assert list(matrix.table(cells, wanted)) == [
        "| application | card | 1 CPU | 2 CPUs |",
        "| --- | --- | --- | --- |",
        "| echo | virtio | n/a | n/a |",
        "| echo | ixgbe | n/a | 1 passed |",
        "| echo | mlx5 | n/a | 1 passed, 2 failed (1) |",
        "| HTTP | virtio | n/a | 1 passed |",
        "| HTTP | ixgbe | n/a | n/a (1) (2) |",
        "| HTTP | mlx5 | n/a | n/a |",
        "",
        "(1) 2 tests not run: of 1 CPU",
        "(2) 1 test not run: no promtool"]


def test_column_of_tests_that_choose(tmp_path):
    """Modules outside of the applications have a column of their own."""
    found = collections.defaultdict(matrix.Cell)
    (tmp_path / "results.xml").write_text(
        '<testsuite><testcase classname="test_faults" name="test_events[igc]"/></testsuite>')
    assert matrix.read(tmp_path / "results.xml", found, matrix.CHOSEN)
    wanted = argparse.Namespace(app=["echo", "failures"], nic=["igc"], cpus=[2, matrix.CHOSEN])
    assert list(matrix.table(found, wanted))[2:] == ["| echo | igc | n/a | n/a |", "| failures | igc | n/a | 1 passed |"]


def test_what_failed_has_its_name(cells):
    """Failures in the set-up and in the test itself are named."""
    assert cells["mlx5", "echo", 2].failed == ["test_tcp::test_bulk[mlx5]", "test_tcp::test_refused[mlx5]"]


@pytest.mark.parametrize("text", [None, "", RESULTS[:200]])
def test_no_results(tmp_path, text):
    """pytest failed: it left no file, an empty one, or half of one."""
    path = tmp_path / "results.xml"
    if text is not None:
        path.write_text(text)
    assert not matrix.read(path, collections.defaultdict(matrix.Cell), 1)


def command_line(pid):
    """Empty for a process that has ended meanwhile."""
    try:
        return pathlib.Path("/proc", str(pid), "cmdline").read_text("utf-8", "replace")
    except OSError:
        return ""


def has_machine(tag):
    """Whether a QEMU runs among the processes with this tag."""
    return any("qemu" in command_line(pid) for pid in descendants(tag))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_matrix_leaves_nothing(tmp_path, number):
    """Neither its shares of pytest, nor the processes that they started, nor their files remain."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    child = subprocess.Popen(  # 3 CPUs: overwrites no logs that a user may want to read
        [sys.executable, matrix.__file__, "--cpus", "3", "--app", "echo"],
        env={**os.environ, "TMPDIR": str(temporary), TAG: str(tmp_path)},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    try:
        eventually(lambda: has_machine(tmp_path), 60, "a machine of a share runs")
    finally:
        child.send_signal(number)
        try:
            code = child.wait(60)
        finally:
            child.kill()
    assert code == 128 + number
    assert not descendants(tmp_path) and not os.listdir(temporary)


def test_what_is_dealt_runs_in_the_matrix():
    """The modules whose tests `make test` deals to the cards are in the matrix, on all cards."""
    modules = {module for apps in (matrix.APPLICATIONS, matrix.OTHERS) for tests in apps.values() for module in tests}
    marked = {path.stem for path in pathlib.Path(matrix.HERE).glob("test_*.py")
              if re.search(r"^(?:@|pytestmark = )pytest\.mark\.(?:one_card|in_turn|each_ring)$", path.read_text("utf-8"), re.MULTILINE)}
    assert marked
    assert (NIC_MODULES | marked) <= modules
