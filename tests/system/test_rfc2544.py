"""`hayate rfc2544`: the single command that makes the report of our own router."""
import json
import subprocess

from conftest import IMAGE
from figures import Tests
from launcher.guest import LAUNCHER, PYTHON


def measure(tmp_path, *options):
    """Its report. The line is so slow that every trial fits the buffers before the router, and the
    generator may catch up any delay by a busy machine: all trials are valid."""
    result = subprocess.run(
        [PYTHON, LAUNCHER, "rfc2544", "--accel", "tcg", "--image", IMAGE, "-o", str(tmp_path),
         "--line", "1Mbps", "--catch-up", "10s", "--trial", "300ms", "--settle", "2s",
         "--sizes", "128/512", "--repeat", "1", *options],
        capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Throughput (RFC 2544 26.1)" in result.stdout
    return json.loads((tmp_path / "report.json").read_text())["rfc2544"]


def test_report_of_our_router(tmp_path):
    data = measure(tmp_path, "throughput", "latency", "--both-ways", "--family", "6")
    assert all(t["valid"] and t["sent"] > 0 for t in data["trials"])
    Tests(data).check()
    for result in data["throughput"]:
        passed = data["trials"][result["trial"] - 1]
        assert result["status"] == "done" and result["bounded_by"] is None
        assert (passed["size"], passed["lost"]) == (result["size"], 0)
        assert passed["rate_percent"] == result["rate_percent"]
    for result in data["latency"]:
        assert result["status"] == "done" and result["repeats"] == 1
        assert 0 < result["min_ns"] <= result["mean_ns"] <= result["max_ns"]
    page = (tmp_path / "report.html").read_text()
    assert page.lower().startswith("<!doctype html>")


def test_wrong_words(tmp_path):
    result = subprocess.run([PYTHON, LAUNCHER, "rfc2544", "reset", "-o", str(tmp_path)],
                            capture_output=True, text=True, check=False)
    assert result.returncode == 122
    assert "reset: the tests are throughput, latency, frame-loss, back-to-back" in result.stderr
