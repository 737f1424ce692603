"""Linux's own igc on the model of the I226. The tests of traffic are those of the 82599 (test_82599.py).

`lab` is a booted guest with the driver loaded; see conftest.py. Every test leaves the card up, with
its address and options unchanged.
"""
import re

import pytest
from test_82599 import (DIRECTION, field, iperf, no_complaint, test_address_filter,  # noqa: F401
                        test_change_of_address, test_down_and_up, test_jumbo, test_link_flap,
                        test_receive_queues, test_tcp_offloads, test_under_traffic, test_udp,
                        test_unload_and_load, wire)

CARD = "i226"


def test_probe(lab):
    """The driver is the kernel's own, binds, and reports no problem."""
    assert "Debian" in lab.guest.output("uname -v")
    text = lab.guest.output("lspci -nnk -d " + lab.card.ids)
    assert "Kernel driver in use: igc" in text, text
    said = lab.guest.output("dmesg | grep -i igc")
    assert not re.search(r"fail|error|timeout|timed out|warn|unsupported|not set", said, re.I), said
    assert lab.mac() in said, said


def test_link(lab):
    text = lab.guest.output("ethtool eth0")
    assert field(text, "Speed") == "2500Mb/s"
    assert field(text, "Duplex") == "Full"
    assert field(text, "Port") == "Twisted Pair"
    assert field(text, "Link detected") == "yes"


def test_link_of_a_gigabit(lab):
    """The driver advertises what it is told to, by registers of the PHY's clause 45 too."""
    lab.guest.run("ethtool -s eth0 advertise 0x20")
    try:
        lab.wait_link()
        lab.guest.wait("ethtool eth0 | grep -q 'Speed: 1000Mb/s'", 20)
        lab.ping()
    finally:
        lab.guest.run("ethtool -s eth0 autoneg on advertise 0x80000000002f")
        lab.wait_link()
    lab.guest.wait("ethtool eth0 | grep -q 'Speed: 2500Mb/s'", 20)


@pytest.mark.parametrize("size", [0, 1472])
def test_ping(lab, size):
    lab.ping(3, size)


@pytest.mark.parametrize("way", ["out", "in"])
def test_tcp(lab, way):
    end = iperf(lab, *DIRECTION[way])
    assert end["sum_received"]["bytes"] > 1 << 20, end["sum_received"]


def test_nothing_was_lost(lab):
    """Last test: the driver's error counters, and the kernel's messages."""
    stats = lab.stats()
    for name in ("rx_missed_errors", "rx_crc_errors", "rx_length_errors", "tx_timeout_count",
                 "tx_errors", "alloc_rx_failed"):
        assert stats.get(name, 0) == 0, name
    port, = lab.models.ports()
    assert port["dma_errors"] == 0, port
    no_complaint(lab)
