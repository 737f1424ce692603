"""The packet generator's report of made-up results (tests/unit/rig/report_sample.c) in a browser: the
plots are complete, figures link to their trials, nothing external is loaded. Screenshots are saved
in build/pictures. No machine is started."""
import json
import os
import subprocess
import time

import pytest
from browser import Browser

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir)
PICTURES = os.path.join(ROOT, "build", "pictures")
PAGE = os.path.join(ROOT, "build", "pktgen-%s.html")
RANKS = ["min_ns", "p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "max_ns"]


class ThisHost:
    """Browser starts its child with a host's popen: here without a network namespace."""
    popen = staticmethod(subprocess.Popen)


@pytest.fixture(scope="module")
def pages():
    subprocess.run(["make", "--no-print-directory", "-C", ROOT, "pktgen-report"], check=True,
                   timeout=300)


@pytest.fixture
def browser(pages):
    with Browser(ThisHost()) as b:
        b.size(1280, 900)
        yield b
        assert b.errors() == []
        assert all(url.startswith(("file:", "data:", "about:")) for url in b.requests())


def show(browser, what, anchor=""):
    browser.open("file://" + os.path.abspath(PAGE % what) + anchor)
    deadline = time.monotonic() + 20
    while not browser.run("document.readyState === 'complete' && "
                          "!!document.querySelector('footer')"):
        assert time.monotonic() < deadline, "the page does not draw itself"
        time.sleep(0.1)
    return json.loads(browser.run("document.getElementById('data').textContent"))


def picture(browser, name, dark=False):
    os.makedirs(PICTURES, exist_ok=True)
    height = browser.run("document.documentElement.scrollHeight")
    browser.size(1280, min(height, 6000), dark)
    browser.screenshot(os.path.join(PICTURES, "%s-%s.png" % (name, "dark" if dark else "light")))


def heads(browser):
    return browser.run("[...document.querySelectorAll('h2')].map(e => e.textContent)")


def texts(browser, selector):
    return browser.run("[...document.querySelectorAll(%s)].map(e => e.textContent)"
                       % json.dumps(selector))


@pytest.mark.parametrize("dark", [False, True])
def test_page_of_rfc2544(browser, dark):
    browser.size(1280, 900, dark)
    data = show(browser, "rfc2544")["rfc2544"]
    assert heads(browser) == ["Throughput", "Latency", "Frame loss", "Back-to-back frames", "Ports"]
    assert texts(browser, ".plot b") == [
        "Frames a second", "Per cent of line rate (pale: at least)", "Percentiles",
        "From the median to p99.9", "Lost frames", "Forwarded frames a second",
        "Frames of a burst (pale: at least)"]
    # one point per result, each with a title
    found = [r for r in data["throughput"] if r["status"] == "done"]
    assert 0 < len(found) < len(data["sizes"])
    titles = browser.run("[...document.querySelectorAll('.plot:first-child .dot title')]"
                         ".map(e => e.textContent)")
    for result in found:
        assert any(t.startswith("%d bytes: " % result["size"]) and "frames/s" in t for t in titles)
    dots = browser.run("document.querySelectorAll('.dot').length")
    loss = {(t["size"], t["rate_percent"]) for t in data["trials"]
            if t["test"] == "frame_loss" and t["valid"]}
    timed = [r for r in data["latency"] if r["status"] == "done"]
    assert dots == len(found) + len(RANKS) * len(timed) + 2 * len(loss)
    # everything drawn is inside its plot
    assert browser.run("""[...document.querySelectorAll('.dot')].every(d => {
        const p = d.getBoundingClientRect(), s = d.ownerSVGElement.getBoundingClientRect();
        return p.left >= s.left && p.right <= s.right && p.top >= s.top && p.bottom <= s.bottom; })""")
    assert "NaN" not in browser.run("document.body.innerHTML")
    assert "undefined" not in browser.run("document.getElementById('main').innerText")
    text = browser.run("document.body.innerText")
    assert "not measurable: a link was down" in text and "≥ 95.000" in text
    picture(browser, "pktgen-rfc2544", dark)


def test_figures_lead_to_their_trials(browser):
    data = show(browser, "rfc2544", "#trial-3")["rfc2544"]
    assert browser.run("document.getElementById('trials').open")
    rows = browser.run("document.querySelectorAll('#trials tbody tr').length")
    assert rows == len(data["trials"])
    links = texts(browser, "main a")
    for test in ("throughput", "latency", "frame_loss", "back_to_back"):
        for result in data[test]:
            if result["trials"]:
                assert "#%d" % result["trials"][0] in links
                assert "#%d" % result["trials"][1] in links
    assert browser.run("[...document.querySelectorAll('main a')]"
                       ".every(a => document.querySelector(a.getAttribute('href')))")
    # the list can be filtered
    browser.run("(() => { const s = document.querySelector('select'); s.value = 'invalid ones';"
                "s.onchange(); })()")
    left = browser.run("[...document.querySelectorAll('#trials tbody tr')]"
                       ".filter(r => !r.hidden).length")
    assert left == sum(not t["valid"] for t in data["trials"])


@pytest.mark.parametrize("dark", [False, True])
def test_page_of_a_run(browser, dark):
    browser.size(1280, 900, dark)
    data = show(browser, "run")["run"]
    assert heads(browser) == ["Streams", "Latency", "Latency by the cards", "Pacing error", "Ports"]
    timed = [s for s in data["streams"] if s["stamped"]]
    assert browser.run("document.querySelectorAll('.plot:first-child .curve').length") == len(timed)
    text = browser.run("document.body.innerText")
    assert "imix <v6>" in text and "no stamps: not judged" in text
    assert "NaN" not in text and "undefined" not in text
    picture(browser, "pktgen-run", dark)


def test_json_adds_up(pages):
    """All forms have the same numbers, and every result follows from its trials."""
    made = subprocess.run([os.path.join(ROOT, "build/unit/report_page"), "json"],
                          capture_output=True, check=True, timeout=60)
    data = json.loads(made.stdout)["rfc2544"]
    trials = {t["trial"]: t for t in data["trials"]}
    assert sorted(trials) == list(range(1, len(trials) + 1))
    for t in trials.values():
        assert t["lost"] == t["sent"] - t["received"]
    for result in data["throughput"]:
        if result["status"] == "done":
            passed = trials[result["trial"]]
            assert passed["valid"] and passed["lost"] == 0
            assert passed["rate_percent"] == result["rate_percent"]
            assert result["trials"][0] <= result["trial"] <= result["trials"][1]
    for result in data["latency"]:
        if result["status"] != "done":
            continue
        own = [trials[n]["latency"] for n in range(result["trials"][0], result["trials"][1] + 1)]
        assert len(own) == result["repeats"]
        assert result["min_ns"] == min(t["min_ns"] for t in own)
        assert result["max_ns"] == max(t["max_ns"] for t in own)
        assert result["p99_ns"] == sorted(t["p99_ns"] for t in own)[(len(own) - 1) // 2]
        mean = sum(t["mean_ns"] for t in own) / len(own)
        assert abs(result["mean_ns"] - mean) < 0.002
