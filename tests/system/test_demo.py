"""`hayate demo` and `hayate demo-bgp`: they work, and leave nothing behind however they end."""
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import pytest
from conftest import ACCEL, IMAGE, QEMU, eventually
from launcher.guest import LAUNCHER, PYTHON
from layer import TAG, descendants


# Holds the namespaces until its input ends, at our exit at the latest.
HOLDER = "mkdir -p /run/netns && mount -t tmpfs none /run/netns && echo ready && exec cat"


class Place:
    """A separate network, with its own named network namespaces, isolated from other tests on this
    machine."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "--mount", "sh", "-c", HOLDER],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.holder.stdout.readline() == b"ready\n"
        self.enter = ["nsenter", "--target", str(self.holder.pid), "--net", "--mount",
                      "--wd=" + os.getcwd()]

    def traces(self):
        """The state of the place: its interfaces and named namespaces."""
        return [subprocess.run([*self.enter, *words], stdout=subprocess.PIPE, check=True).stdout
                for words in (["ip", "-oneline", "link"], ["ls", "/run/netns"])]

    def close(self):
        self.holder.stdin.close()
        self.holder.wait()
        self.holder.stdout.close()


@pytest.fixture
def place():
    made = Place()
    yield made
    made.close()


def start(place, tmp_path, *arguments, command="demo"):
    """Starts a demo, with its own directory for temporary files."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    env = {**os.environ, "TMPDIR": str(temporary), TAG: str(tmp_path)}
    child = subprocess.Popen(
        [*place.enter, PYTHON, LAUNCHER, command, "--accel", ACCEL, "--image", IMAGE,
         *(["--seconds", "1"] if command == "demo" else []), *(["--qemu", QEMU] if QEMU else []), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    return child, temporary


def assert_clean(place, tmp_path, temporary, before):
    eventually(lambda: not descendants(tmp_path), 10, "its processes are gone")
    assert os.listdir(temporary) == []
    assert place.traces() == before


def test_demo(place, tmp_path):
    before = place.traces()
    child, temporary = start(place, tmp_path)
    output, _ = child.communicate(timeout=120)
    assert child.returncode == 0, output
    for text in ("packets forwarded", "MMIO reads per packet", "MMIO writes per packet",
                 "first packet forwarded", "image", "traceroute"):
        assert text in output, output
    assert int(re.search(r"packets forwarded\s+(\d+)", output).group(1)) > 0
    assert_clean(place, tmp_path, temporary, before)


SHOWN = {"switch": ("no answer, as it should be", "Mbit/s", "one port forwards, one is blocked",
                    "each came to red-2 once", "show mac address-table", "dynamic  eth1  "),
         "web": ("each byte is right", "304, 206, 404", "MiB/s", "the new page is there", "requests    ")}


@pytest.mark.parametrize("app", SHOWN)
def test_demo_of(place, tmp_path, app):
    before = place.traces()
    child, temporary = start(place, tmp_path, "--app", app)
    output, _ = child.communicate(timeout=120)
    assert child.returncode == 0, output
    for text in SHOWN[app]:
        assert text in output, output
    assert_clean(place, tmp_path, temporary, before)


def test_demo_bgp(open_tmp_path, place):
    before = place.traces()
    child, temporary = start(place, open_tmp_path, command="demo-bgp")
    output, _ = child.communicate(timeout=400)
    assert child.returncode == 0, output
    assert re.search(r"^  4000 prefixes were in both routers [\d.]+ s after BIRD's start\.$", output, re.M), output
    assert "by 192.0.2.1 198.51.100.2 10.0.0.1\n" in output, output
    assert "on by 192.0.2.1 198.51.100.6 198.51.100.10 10.0.0.1\n" in output, output
    for way in "Left to right", "Right to left":
        sent, lost = re.search(way + r": (\d+) packets sent, (\d+) lost", output).groups()
        assert 0 <= int(lost) < int(sent), output
    assert_clean(place, open_tmp_path, temporary, before)


@pytest.fixture
def open_tmp_path():
    """A folder that FRRouting's user can reach."""
    with tempfile.TemporaryDirectory(prefix="hayate-demo-test-") as path:
        os.chmod(path, 0o755)
        yield pathlib.Path(path)


STOPS = [("demo", "booting"), ("demo", "iperf3 TCP"), ("demo-bgp", "starting their"), ("demo-bgp", "pulling out")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL],
                         ids=["SIGINT", "SIGTERM", "SIGKILL"])
@pytest.mark.parametrize("command,when", STOPS, ids=[when for _, when in STOPS])
def test_stopped_demo_leaves_nothing(place, open_tmp_path, number, command, when):
    tmp_path = open_tmp_path
    before = place.traces()
    child, temporary = start(place, tmp_path, command=command)
    seen = ""
    while when not in seen:
        piece = child.stdout.read(1)
        assert piece, "the demo ended early:\n" + seen
        seen += piece
    child.send_signal(number)
    child.stdout.read()
    code = child.wait(20)
    child.stdout.close()
    if number == signal.SIGKILL:
        # No process is left to remove the temporary directory; the kernel removes everything else.
        eventually(lambda: not descendants(tmp_path), 10, "its processes are gone")
        assert place.traces() == before
        return
    assert code == 128 + number
    assert_clean(place, tmp_path, temporary, before)


def test_two_demos_at_once(place):
    """Nothing is shared: two copies run in parallel."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        children = [start(place, pathlib.Path(path))[0] for path in (one, two)]
        for child in children:
            output, _ = child.communicate(timeout=180)
            assert child.returncode == 0, output
