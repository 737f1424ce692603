"""Firmware that assigns no address on PCI: the kernel gives BARs and bridge windows theirs. tests/system/unassigned.asm
takes back what QEMU's firmware has assigned, before the kernel starts."""
import re

import pytest
import unassigned
from conftest import IMAGE, LEFT_HOST, RIGHT_HOST, pings
from test_hardware import functions, from_qemu

BAR = re.compile(r"^  bar (\d) memory(?:64)? ([0-9a-f]+), (\d+) bytes, in use, assigned by Hayate$", re.M)
WINDOW = re.compile(r"^  window (memory|prefetchable) ([0-9a-f]+), (\d+) bytes, opened by Hayate$", re.M)


@pytest.fixture
def image(tmp_path):
    path = str(tmp_path / "unassigned.elf")
    unassigned.make(IMAGE, path)
    return path


def ranges(found, what):
    return [(int(at, 16), int(at, 16) + int(size)) for _, at, size in what.findall(found[4])]


def in_qemu(router):
    """{(address, BAR): physical address} of all BARs that QEMU maps."""
    found = {}

    def walk(devices):
        for d in devices:
            for region in d["regions"]:
                if region["type"] == "memory":
                    found["0000:%02x:%02x.%x" % (d["bus"], d["slot"], d["function"]), region["bar"]] = region["address"]
            walk(d.get("pci_bridge", {}).get("devices", ()))

    for bus in router.qmp("query-pci"):
        walk(bus["devices"])
    return found


def check_cards(router, cards):
    """The page says of these cards what QEMU says; no BAR overlaps another. Returns the cards' BARs."""
    qemu, all_of_them = in_qemu(router), []
    for at, card in cards.items():
        bars = BAR.findall(card[4])
        assert bars and "left out" not in card[4] and "in use\n" not in card[4], card
        assert all(qemu[at, int(n)] == int(addr, 16) for n, addr, _ in bars), (bars, qemu)
        all_of_them += ranges(card, BAR)
    all_of_them.sort()
    assert all(a[1] <= b[0] for a, b in zip(all_of_them, all_of_them[1:])), all_of_them
    return all_of_them


def network_cards(shown):
    return {at: f for at, f in shown.items() if f[1].startswith("02")}


def test_traffic(make_lab, image):
    """Cards forward as ever."""
    lab = make_lab(None, "--image", image)
    pings(lab.left, RIGHT_HOST)
    pings(lab.right, LEFT_HOST)
    cards = network_cards(functions(lab.router.command("show hardware")))
    assert len(cards) == 2
    check_cards(lab.router, cards)
    assert len(re.findall(r"^pci \S+: BAR \d of \d+ bytes assigned at [0-9a-f]+\r?$", lab.router.text, re.M)) == \
        sum(len(BAR.findall(card[4])) for card in cards.values())


def device(*words):
    return ["--qemu-arg=" + word for name in words for word in ("-device", name)]


def bridges_in_qemu(router):
    """[(secondary bus, subordinate bus, [(start, end)] of its windows)] of all bridges, as QEMU has them."""
    found = []

    def walk(devices):
        for d in devices:
            if "pci_bridge" in d:
                bus = d["pci_bridge"]["bus"]
                found.append((bus["secondary"], bus["subordinate"],
                              [(bus[kind]["base"], bus[kind]["limit"] + 1)
                               for kind in ("memory_range", "prefetchable_range")]))
                walk(d["pci_bridge"].get("devices", ()))

    for bus in router.qmp("query-pci"):
        walk(bus["devices"])
    return found


@pytest.mark.parametrize("nic", ["virtio"])
@pytest.mark.parametrize("keep_windows", [False, True], ids=["no-windows", "firmware's-windows"])
def test_nested_bridges(make_router, tmp_path, keep_windows):
    """Behind a root port, and behind a switch with two ports: windows nest, and the cards work. Windows that firmware
    opened stay."""
    path = str(tmp_path / "unassigned.elf")
    unassigned.make(IMAGE, path, keep_windows)
    router = make_router("hostname r1\ninterface eth0\n ip address 10.0.2.15/24\n", "--image", path,
                         "--qemu-arg=-netdev", "--qemu-arg=user,id=u0", *device(
                             "pcie-root-port,id=port1,chassis=1,slot=1",
                             "x3130-upstream,id=up,bus=port1",
                             "xio3130-downstream,id=down1,bus=up,chassis=2,slot=2",
                             "xio3130-downstream,id=down2,bus=up,chassis=3,slot=3",
                             "virtio-net-pci,bus=down1,netdev=u0",
                             "vmxnet3,bus=down2",
                             "pcie-root-port,id=port2,chassis=4,slot=4",
                             "virtio-net-pci,bus=port2"), ports=())
    assert "1 sent, 1 received" in router.command("ping 10.0.2.2 count 1", timeout_s=30)
    page = router.command("show hardware")
    shown = functions(page)
    assert {at: (f[0], int(f[1], 16) >> 8) for at, f in shown.items()} == from_qemu(router)
    cards = network_cards(shown)
    assert len(cards) == 3
    check_cards(router, cards)
    bridges = bridges_in_qemu(router)
    assert len(bridges) == 5
    for at, card in cards.items():
        above = [windows for first, last, windows in bridges if first <= int(at[5:7], 16) <= last]
        assert above
        for start, end in ranges(card, BAR):
            assert all(any(a <= start and end <= b for a, b in windows) for windows in above), (page, bridges)
    opened = sorted(r for f in shown.values() for r in ranges(f, WINDOW))
    if keep_windows:
        assert not opened, page
    else:
        assert len(opened) >= 5 and all(any(r in windows for _, _, windows in bridges) for r in opened), (opened, bridges)


@pytest.mark.parametrize("nic", ["virtio"])
def test_no_room(make_router, image):
    """Behind two host bridges no address is known to be either's: the cards are reported and left off."""
    router = make_router(None, "--image", image, *device(
        "pxb-pcie,id=other,bus_nr=0x40,bus=pcie.0",
        "pcie-root-port,id=port1,bus=other,chassis=9,slot=1",
        "virtio-net-pci,bus=port1"), ports=())
    said = re.findall(r"^pci (\S+): BAR (\d) of (\d+) bytes was left unassigned by firmware, and there is no room for it: "
                      r"the card is left off\r?$", router.text, re.M)
    assert [(n, int(size)) for _, n, size in said] == [("1", 4096), ("4", 16384)], router.text
    page = router.command("show hardware")
    card = network_cards(functions(page))["0000:" + said[0][0]]
    assert "left out: unassigned, and no room" in card[4] and "eth0" not in card[3], page
