"""The generator against cables that are known: what they lose, double and delay is what it reports."""
import pytest
from generator import generator, report, start

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
STRAYS = ("wrong_port", "stale", "strange", "unsure")  # of which there may be none on a cable


def judged(machine):
    (stream,) = report(machine)["run"]["streams"]
    assert {name: stream[name] for name in STRAYS} == dict.fromkeys(STRAYS, 0)
    return {name: stream[name] for name in JUDGED}


EXACT = [
    ("", {}),
    ("loss=at:0/10/11/399 reorder=at:30/200 duplicate=at:40/398 corrupt=at:60",
     {"lost": 5, "reordered": 2, "reorder_max": 1, "duplicates": 2, "corrupted": 1}),
    ("reorder=at:0/300 overtake=7", {"reordered": 2, "reorder_max": 7}),
    # of the tenths that are due twice all are lost
    ("loss=every:10 duplicate=every:5", {"lost": 40, "duplicates": 40}),
    ("loss=every:1", {"lost": 400}),
]


@pytest.mark.parametrize("nic", ["ixgbe"])
def test_exactly_what_the_cable_did(make_router, tmp_path):
    """Every frame that a cable has lost, damaged, doubled or put behind others is found, none is
    invented, whether the cable does it to frames of a list or at random."""
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
