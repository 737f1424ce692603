"""Linux's own mlx5_core on the model of the ConnectX-5.

`lab` is a booted guest with the driver loaded; see conftest.py. Traffic is tested in the same way
for all cards: by functions imported from test_82599.py.
"""
import re
from collections import defaultdict

import commands
import pytest
import test_82599
from launcher import guest as hayate
from test_82599 import (field, no_complaint, test_address_filter,  # noqa: F401
                        test_change_of_address, test_channels, test_down_and_up,
                        test_indirection_table, test_jumbo, test_link_flap, test_multicast_filter,
                        test_ping, test_receive_queues, test_tcp, test_tcp_offloads, test_udp,
                        test_udp_checksum_offload, test_under_traffic, test_unload_and_load,
                        test_vlan, wire)

CARD = "mlx5"


def test_probe(lab):
    """The driver is the kernel's own, binds, and reports no problem, except that firmware cannot be
    dumped: the capability for that is not modelled."""
    assert "Debian" in lab.guest.output("uname -v")
    text = lab.guest.output("lspci -nnk -d " + lab.card.ids)
    assert "Kernel driver in use: mlx5_core" in text, text
    said = [line for line in lab.guest.output("dmesg | grep mlx5").splitlines()
            if "Failed to get valid vendor specific ID" not in line]
    wrong = [line for line in said if re.search(r"fail|error|timed? ?out|warn|missing", line, re.I)]
    assert said and not wrong, wrong


def test_pcie(lab):
    text = lab.guest.output("lspci -vv -d " + lab.card.ids)
    for words in ("Express (v2) Endpoint", "MSI-X: Enable+ Count=64", "FLReset+",
                  "Speed 8GT/s, Width x16"):
        assert words in text, (words, text)


def test_link(lab):
    text = lab.guest.output("ethtool eth0")
    assert field(text, "Speed") == "100000Mb/s"
    assert field(text, "Duplex") == "Full"
    assert field(text, "Link detected") == "yes"


def test_driver_information(lab):
    text = lab.guest.output("ethtool -i eth0")
    assert field(text, "driver") == "mlx5_core"
    assert field(text, "firmware-version").startswith("16.35.2000")


def test_features(lab):
    text = lab.guest.output("ethtool -k eth0")
    for name in ("rx-checksumming", "tx-checksum-ip-generic", "tx-tcp-segmentation",
                 "rx-vlan-offload", "tx-vlan-offload", "rx-vlan-filter", "receive-hashing"):
        assert field(text, name) == "on", name


def test_statistics(lab):
    """The port's counters agree with the driver's and with the sent traffic."""
    station = lab.host.ip("-br", "link", "show", "eth0").split()[2]
    lab.guest.run("ip neighbour replace 198.18.0.2 lladdr %s dev eth0 nud permanent" % station)
    before = lab.stats()
    lab.ping(5, 1000)
    after = lab.stats()
    grown = {name: after[name] - before[name] for name in after}
    for way in "rx", "tx":
        assert 10 <= grown[way + "_packets"] == grown[way + "_packets_phy"], grown
        # The port counts the FCS, the driver does not.
        assert (grown[way + "_bytes_phy"]
                == grown[way + "_bytes"] + 4 * grown[way + "_packets"]), grown
    for name in ("rx_wqe_err", "rx_out_of_buffer", "rx_crc_errors_phy", "tx_cqe_err",
                 "rx_oversize_pkts_phy"):
        assert grown[name] == 0, name


def test_compressed_completions(lab, wire):
    """The driver reads them in sessions, and the checksum that they give for each frame is right:
    the kernel uses it (CHECKSUM_COMPLETE), and would report a wrong one (test_nothing_was_lost)."""
    lab.guest.run("ethtool --set-priv-flags eth0 rx_cqe_compress on")
    try:
        lab.wait_link()
        before = lab.stats()
        lab.ping()
        test_tcp(lab, "in")
        test_receive_queues(lab, wire)
        test_vlan(lab, wire, "on")
        after = lab.stats()
        sessions, frames, summed = (
            after[name] - before[name] for name in
            ("rx_cqe_compress_blks", "rx_cqe_compress_pkts", "rx_csum_complete"))
        assert 100 < sessions < frames < 2 * summed, (sessions, frames, summed)
    finally:
        lab.guest.run("ethtool --set-priv-flags eth0 rx_cqe_compress off")
        lab.wait_link()


@pytest.mark.parametrize("offload", ["on", "off"])
def test_datagrams(lab, wire, offload):
    """For frames above a minimum length the driver uses the card's sum (CHECKSUM_COMPLETE), and the
    kernel would report a wrong one."""
    before = lab.stats()
    test_82599.test_datagrams(lab, wire, offload)
    assert lab.stats()["rx_csum_complete"] - before["rx_csum_complete"] > 80


# --- commands to the card ---

@pytest.fixture(scope="module")
def trace(lab):
    """(Commands, text, the model's final state) of one run of mlx5_core, from modprobe to rmmod."""
    lab.guest.run("rmmod mlx5_core && echo traced >/dev/kmsg && modprobe mlx5_core dyndbg="
                  "'func dump_command +p; func dump_buf +p'", 120)
    lab.address()
    lab.ping()
    lab.guest.run("rmmod mlx5_core", 120)
    port, = lab.models.ports()
    text = lab.guest.output("dmesg", 60).split("] traced\n")[-1]
    lab.guest.run("modprobe mlx5_core", 60)
    lab.address()
    text = commands.PRINTK.sub("", text)
    return commands.parse(text), text, port["device"]


def test_teardown(trace):
    """All pages are returned, without delay: the driver takes pages until it has as many as it
    gave, and retries for 5 s if none come. Then the card is as after power-on."""
    made, _, device = trace
    pages = [command for command in made if command.name == "MANAGE_PAGES"]
    given = [command.question[4] for command in pages if command.question[2] == 1]
    taken = [command.answer[3] for command in pages if command.question[2] == 2]
    assert given and sum(given) == sum(taken) and all(taken) and len(taken) <= 4, (given, taken)
    assert (device["pages"], device["objects"], device["enabled"]) == (0, 0, False), device
    assert device["commands_refused"] == 0, device


def test_our_trace(trace):
    """Our driver, on such a card, prints its commands as mlx5_core does (drivers/mlx5/trace.c): the
    same lines, the same names, and for the same questions the same answers."""
    theirs, text, _ = trace
    with hayate.Guest(["echo", "--nic", "mlx5", "--port", "wire:sink",
                       "--append", "nic-trace=1"]) as guest:
        guest.wait_ready(120)
        said = hayate.READY.split(guest.text.replace("\r", ""))[0]
    ours = commands.parse(said)
    unknown = {command[:2] for command in ours} - {command[:2] for command in theirs}
    assert len(ours) > 50 and not unknown, (len(ours), unknown)
    assert set(commands.dumps(text, "QUERY_ISSI")) <= set(commands.dumps(said, "QUERY_ISSI"))
    answers = defaultdict(list)
    for command in theirs:
        answers[command.name, command.question].append(command.answer)
    same = 0
    for name, _, question, answer in ours:
        # Except for the general capabilities that each driver has set.
        if name in ("QUERY_HCA_CAP", "QUERY_PAGES", "INIT_HCA") and question[2] != 1:
            assert answer in answers[name, question], (name, question, answer)
            same += 1
    assert same >= 8, same


# --- other ethtool functions ---

def test_registers(lab):
    """There is no ethtool -d: the driver says so for any card (mlx5e has no get_regs)."""
    assert field(lab.guest.output("ethtool -i eth0"), "supports-register-dump") == "no"
    result = lab.guest.run("ethtool -d eth0", check=False)
    assert result.status and "Operation not supported" in result.output, result


def test_self_test(lab):
    """Mellanox's own test of the card: link, speed, health, and a frame to the card's own address.
    It must come back although the TIRs drop such frames at other times. The driver waits 200 ms for
    it, on a machine that may be busy."""
    for _ in range(5):
        text = lab.guest.run("ethtool -t eth0", check=False).output
        results = dict(re.findall(r"^(Link|Speed|Health|Loopback) Test\s+(\d+)$", text,
                                  re.MULTILINE))
        if results.pop("Loopback", None) == "0":
            break
    assert "The test result is PASS" in text, text
    assert results == {"Link": "0", "Speed": "0", "Health": "0"}, text


def test_nothing_was_lost(lab):
    """Last test: no queue failed, and the kernel reported nothing."""
    stats = lab.stats()
    for name in ("rx_wqe_err", "tx_cqe_err", "tx_recover", "rx_recover", "ch_eq_rearm",
                 "rx_out_of_buffer"):
        assert stats[name] == 0, name
    port, = lab.models.ports()
    assert port["dma_errors"] == 0, port
    no_complaint(lab)
