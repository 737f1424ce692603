"""The generator with cables of known properties: it reports exactly the losses, duplicates and
delays that they cause."""
import json
import subprocess
import time

import pytest
from conftest import ACCEL, IMAGE, LEFT_HOST, LEFT_ROUTER, QEMU, options, router_config
from figures import Tests, check_stream
from generator import begin, end, generator, paused, report, start
from launcher.guest import LAUNCHER, PYTHON

CONFIG = "application pktgen\n"
# eth0 and eth1 are the two ends of a cable
CABLE = """\
stream a
 port eth0 to eth1
 mac destination 52:54:00:48:5a:01
 udp 192.0.2.10 port 5000 198.51.100.10 port 6000
 rate 2000pps
 limit 400 frames
"""
JUDGED = ("sent", "received", "lost", "reordered", "reorder_max", "duplicates", "corrupted")
STRAYS = ("wrong_port", "stale", "strange", "unsure")  # of which a cable causes none


def judged(machine):
    (stream,) = report(machine)["run"]["streams"]
    assert {name: stream[name] for name in STRAYS} == dict.fromkeys(STRAYS, 0)
    return {name: stream[name] for name in JUDGED}


EXACT = [
    ("", {}),
    ("loss=at:0/10/11/399 reorder=at:30/200 duplicate=at:40/398 corrupt=at:60",
     {"lost": 5, "reordered": 2, "reorder_max": 1, "duplicates": 2, "corrupted": 1}),
    ("reorder=at:0/300 overtake=7", {"reordered": 2, "reorder_max": 7}),
    # a frame due for both is only lost
    ("loss=every:10 duplicate=every:5", {"lost": 40, "duplicates": 40}),
    ("loss=every:1", {"lost": 400}),
]


@pytest.mark.parametrize("nic", options.NIC_MODELS)
def test_exactly_what_the_cable_did(make_router, tmp_path):
    """Every frame that a cable has lost, damaged, duplicated or delayed behind others is reported,
    and no other, for impairments of listed frames and random ones."""
    machine = generator(make_router, tmp_path, CABLE, CONFIG, ports=("wire:link:1", "wire:link:0"))
    for rules, found in EXACT:
        machine.model("port 0 link frames=stamped " + rules)
        start(machine)
        expected = dict(dict.fromkeys(JUDGED, 0), sent=400, **found)
        expected["received"] = 400 - expected["lost"]
        assert judged(machine) == expected, rules
    machine.model("port 0 link frames=stamped loss=5% corrupt=4% duplicate=5% reorder=10% seed=7")
    start(machine)
    said, wire = judged(machine), machine.model("stats")["ports"][0]["wire"]
    assert min(wire[name] for name in ("lost", "corrupted", "duplicated", "reordered")) > 0
    gone = wire["lost"] + wire["corrupted"] + wire["held"]
    assert (said["lost"], said["received"]) == (gone, 400 - gone), wire
    assert (said["corrupted"], said["duplicates"], said["reordered"]) == (
        wire["corrupted"], wire["duplicated"], wire["reordered"])


def measure(tmp_path, script, config, *ports):
    """`hayate run pktgen --report`: (exit code, the report)."""
    conf, lab, out = tmp_path / "lab.conf", tmp_path / "lab.gen", tmp_path / "report"
    conf.write_text(config)
    lab.write_text(script)
    words = [PYTHON, LAUNCHER, "run", "pktgen", "--accel", ACCEL, "--image", IMAGE, "--config",
             str(conf), "--script", str(lab), "--report", str(out), "--nic", "ixgbe",
             "--mac", "52:54:00:48:5a:00"]
    words += ["--qemu", QEMU] if QEMU else []
    for port in ports:
        words += ["--port", port]
    result = subprocess.run(words, capture_output=True, text=True, timeout=300,
                            stdin=subprocess.DEVNULL, check=False)
    assert (out / "report.json").exists(), result.stdout + result.stderr
    assert "broke the rules" not in result.stderr
    data = json.loads((out / "report.json").read_text())
    text, page = ((out / ("report." + form)).read_text() for form in ("txt", "html"))
    assert page.lower().startswith("<!doctype html>") and data["version"] in page
    assert data["ports"][0]["name"] in text
    return result.returncode, data


RFC2544 = """\
answer eth1 198.51.100.0/24
line eth0 1Mbps
line eth1 1Mbps
catch-up 10s
stream there
 port eth0 to eth1
 udp %s port 5000 198.51.100.77 port 6000
run
rfc2544 throughput latency frame-loss back-to-back
 sizes 64/512
 trial 300ms
 settle 300ms
 learn 0s
 rest 0s
 resolution 10%%
 search 10%% to 40%%
 repeat 2
""" % LEFT_HOST


@pytest.mark.parametrize("nic", ["ixgbe"])
def test_rfc2544_over_cables(make_router, tmp_path):
    """Two images, the generator and the router, with a cable between each pair of their ports;
    every figure of the report follows from its trials. The generator may catch up any delay by a
    busy machine, so every trial is valid."""
    cables = ["wire:stream:unix:%s/cable%d" % (tmp_path, index) for index in (0, 1)]
    router = make_router(router_config(extra="arp 198.51.100.77 52:54:00:48:5a:01\n"),
                         ports=[cable + ";listen=on" for cable in cables], wait=False)
    router.wait_ready()
    code, data = measure(tmp_path, RFC2544, "interface eth0\n ip address %s/24\n"
                         "ip route 198.51.100.0/24 %s\n" % (LEFT_HOST, LEFT_ROUTER), *cables)
    tests = data["rfc2544"]
    assert code == 0 and tests["finished"]
    Tests(tests).check()
    assert all(trial["valid"] for trial in tests["trials"])
    for test in ("throughput", "latency", "frame_loss", "back_to_back"):
        assert [result["size"] for result in tests[test]] == [64, 512]
    forwarded = router.balanced()["forwarded"]
    assert forwarded >= sum(trial["received"] for trial in tests["trials"])


RUN = """\
stream a
 port eth0 to eth1
 mac destination 52:54:00:48:5a:01
 udp 192.0.2.10 port 5000 198.51.100.10 port 6000
 size imix
 rate %s
catch-up %s
run 300 frames
"""


@pytest.mark.parametrize("rate, catch_up, code", [("1kpps", "10s", 0), ("1Mpps", "1ms", 120)])
def test_report_of_a_valid_run(tmp_path, rate, catch_up, code):
    """The exit code says whether the run was as requested: a cable loses nothing, and the generator
    catches up delays by the host. A million frames a second are beyond its capacity."""
    found, data = measure(tmp_path, RUN % (rate, catch_up), CONFIG, "wire:link:1", "wire:link:0")
    run = data["run"]
    (stream,) = run["streams"]
    check_stream(stream)
    assert (found, run["valid"]) == (code, code == 0), run["why"]
    assert (stream["sent"], stream["lost"]) == (300, 0)
    assert (stream["forgiven"] > 0) == (code != 0)
    assert stream["pacing_error"]["count"] == 300


WAY_LEAST_NS = 10000  # three processes pass a frame on

PROBED = """\
catch-up 10s
answer eth1 198.51.100.0/24
probe eth0 to eth1 %s 198.51.100.77 every 5ms
stream a
 port eth0 to eth1
 udp %s port 5000 198.51.100.77 port 6000
 rate 200pps
run 4s
""" % (LEFT_HOST, LEFT_HOST)


@pytest.mark.parametrize("nic", ["ixgbe"])
def test_cards_time_probes_through_a_router(make_router, tmp_path):
    """The same two images: probes follow the router's route, and the latency by the cards' clocks
    is less than that of the stream's frames by software, which contains it."""
    cables = ["wire:stream:unix:%s/cable%d" % (tmp_path, index) for index in (0, 1)]
    router = make_router(router_config(extra="arp 198.51.100.77 52:54:00:48:5a:01\n"),
                         ports=[cable + ";listen=on" for cable in cables], wait=False)
    router.wait_ready()
    code, data = measure(tmp_path, PROBED, "interface eth0\n ip address %s/24\n"
                         "ip route 198.51.100.0/24 %s\n" % (LEFT_HOST, LEFT_ROUTER), *cables)
    probe, (stream,) = data["run"]["probe"], data["run"]["streams"]
    assert code == 0 and (probe["port"], probe["port_in"]) == (0, 1)
    assert probe["sent"] > 5 and probe["latency"]["count"] >= probe["sent"] * 0.7, probe
    least, off_by = probe["latency"]["min_ns"], probe["clock_error_ns"]
    assert least - off_by < stream["latency"]["max_ns"], (probe, stream)
    # Two cards' clocks are compared with the precision of register reads: low on a busy host.
    assert least > 0 or off_by > WAY_LEAST_NS, probe
    assert router.balanced()["forwarded"] >= probe["latency"]["count"] + stream["received"]


STARVED = CABLE.replace("2000pps", "500pps").replace("400 frames", "1500 frames")


@pytest.mark.parametrize("nic", ["ixgbe"])
@pytest.mark.parametrize("catch_up, valid", [("50ms", False), ("10s", True)])
def test_starved_generator(make_router, tmp_path, catch_up, valid):
    """The whole machine stands still for half a second, while its clock goes on. That is ten times
    what it may catch up, so the run is not as requested; or it may catch up all, and everything is
    sent."""
    pidfile = tmp_path / "pid"
    machine = generator(make_router, tmp_path, "catch-up %s\n%s" % (catch_up, STARVED), CONFIG,
                        "--pidfile", str(pidfile), ports=("wire:link:1", "wire:link:0"))
    begin(machine)
    with paused(pidfile):
        time.sleep(0.5)
    end(machine)
    run = report(machine)["run"]
    (stream,) = run["streams"]
    assert run["valid"] == valid
    # a signal needs time to reach a processor that runs a guest
    assert stream["worst_lag_ns"] >= 400_000_000
    if valid:
        assert run["why"] is None and stream["forgiven"] == 0
    else:
        assert run["why"] == "the generator fell behind"
        assert stream["forgiven"] >= 0.35 * 500 and stream["behind"] > 0
    assert (stream["sent"], stream["lost"]) == (1500, 0)


PEER = """\
catch-up 10s
answer eth1 198.51.100.0/24
stream a
 port eth0 to eth1
 mac destination 52:54:00:68:79:00
 udp %s port 5000 198.51.100.77 port 6000
 rate 200pps
 limit 3s
""" % LEFT_HOST


@pytest.mark.parametrize("nic", ["ixgbe"])
def test_starved_peer(make_router, tmp_path):
    """The device under test stands still: the run is valid, and reports the loss."""
    pidfile = tmp_path / "pid"
    cables = ["wire:stream:unix:%s/cable%d" % (tmp_path, index) for index in (0, 1)]
    router = make_router(router_config(extra="arp 198.51.100.77 52:54:00:48:5a:01\n"),
                         "--pidfile", str(pidfile), ports=[cable + ";listen=on" for cable in cables],
                         wait=False)
    router.wait_ready()
    machine = generator(make_router, tmp_path, PEER, CONFIG, ports=cables)
    begin(machine)
    with paused(pidfile):
        end(machine)
        run = report(machine)["run"]
    (stream,) = run["streams"]
    assert run["valid"] and stream["forgiven"] == 0
    assert stream["received"] > 0 and stream["lost"] > 0
    assert stream["received"] + stream["lost"] == stream["sent"]
    assert stream["duplicates"] == stream["corrupted"] == stream["reordered"] == 0
