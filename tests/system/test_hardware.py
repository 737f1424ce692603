"""`show hardware`: what the kernel found, beside what QEMU was told to be; and the same as JSON."""
import json
import re

import pytest
from conftest import IMAGE, LEFT_ROUTER, WEB, eventually, router_config
from launcher import image

PCI = re.compile(r"^pci ([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ([0-9a-f]{4}:[0-9a-f]{4}) rev [0-9a-f]{2} "
                 r"class ([0-9a-f]{6}) ([^,\n]*)(.*)\n((?:  .*\n)*)", re.MULTILINE)


def functions(page):
    """{address: (ids, class, kind, use, details)}"""
    return {m[1]: m.groups()[1:] for m in PCI.finditer(page)}


def from_qemu(router):
    """{address: (ids, class)} of all PCI functions that QEMU has, bridges' devices included."""
    found = {}

    def walk(devices, of=0):
        for d in devices:
            key = "0000:%02x:%02x.%x" % (d["bus"], d["slot"], d["function"])
            found[key] = ("%04x:%04x" % (d["id"]["vendor"], d["id"]["device"]), d["class_info"]["class"])
            walk(d.get("pci_bridge", {}).get("devices", ()))

    for bus in router.qmp("query-pci"):
        walk(bus["devices"])
    return found


def test_page(make_lab):
    """The page names what QEMU says that it is: firmware, CPUs, memory, tables, and each PCI function
    with its class, BARs and driver."""
    lab = make_lab(router_config(extra=WEB), "--memory", "512M", cpus=2)
    page = lab.router.command("show hardware")
    assert re.search(r"^firmware BIOS, SeaBIOS, version \S+, \d\d/\d\d/\d{4}$", page, re.M), page
    assert re.search(r"^machine QEMU, Standard PC \(Q35 \+ ICH9, 2009\), version pc-q35-[\d.]+$", page, re.M), page
    assert re.search(r"^cpu .*, family \d+ model \d+ stepping \d+, TSC \d+ kHz, addresses of \d+ bits$", page, re.M)
    assert re.search(r"^features .*\bhypervisor$", page, re.M), page
    assert "\ncores 2 in use, 2 listed by firmware\napic ids of cores from 0: 0 1\n" in page
    assert "\nconsole serial port 3f8, 115200 baud\n" in page and "framebuffer" not in page
    kib = sum(int(n) for n in re.findall(r"^memory [0-9a-f]+ to [0-9a-f]+, (\d+) KiB$", page, re.M))
    assert 511 << 10 <= kib <= 512 << 10, page
    assert {"APIC", "MCFG", "FACP"} <= set(re.findall(r"^acpi (\S+) +at [0-9a-f]+, \d+ bytes, .*BOCHS", page, re.M))
    assert re.search(r"^ecam segment 0000 buses 00 to ff at [0-9a-f]+$", page, re.M), page

    shown, real = functions(page), from_qemu(lab.router)
    assert {at: (f[0], int(f[1], 16) >> 8) for at, f in shown.items()} == real
    ports = [f for f in shown.values() if f[3].startswith(", eth")]
    assert sorted(f[3] for f in ports) == [", eth0 by virtio_net", ", eth1 by virtio_net"], page
    for of in ports:
        assert of[2] == "Ethernet controller" and ", in use\n" in of[4] and "\n  msix_vectors " in of[4], of
    assert shown["0000:00:00.0"][2] == "host bridge"

    text = lab.left.run(["curl", "-sS", "--max-time", "20",
                         "http://%s/api/v1/hardware.json" % LEFT_ROUTER]).stdout
    data = json.loads(text)
    assert data["firmware"] == "BIOS" and data["vendor"] == "QEMU" and data["apic_ids"] == [0, 1]
    assert data["serial"] == {"address": "3f8", "memory": False, "baud": 115200} and data["framebuffer"] is None
    assert {f["address"]: ("%s:%s" % (f["vendor"], f["device"]), int(f["class"], 16) >> 8)
            for f in data["pci"]} == real
    assert [f["driver"] for f in data["pci"] if f["port"]] == ["virtio_net"] * 2
    assert data["cores"] == 2 and sum(r["bytes"] for r in data["memory"]) == kib << 10


def test_card_without_a_driver(make_router):
    """A network card for which there is no driver is on the page, which says so."""
    router = make_router(None, "--qemu-arg=-device", "--qemu-arg=rtl8139", ports=())
    cards = [f for f in functions(router.command("show hardware")).values() if f[0] == "10ec:8139"]
    assert [(f[2], f[3]) for f in cards] == [("Ethernet controller", ", no driver")]
    assert re.search(r"^pci \S+: network card, 10ec:8139: there is no driver, left out\r?$", router.text, re.M)


@pytest.mark.parametrize("firmware", ["bios", "uefi"])
def test_firmware(make_router, tmp_path, firmware):
    """GRUB passes on which firmware there is, and the machine's names are found with both."""
    path = str(tmp_path / "hayate.iso")
    image.build(path, kernel=IMAGE, arguments="debug-exit=0xf4", timeout_s=0)
    router = make_router(None, "--boot", firmware, "--image", path, "--accel", "tcg", ports=(), timeout_s=90)
    page = router.command("show hardware")
    vendor = r"SeaBIOS" if firmware == "bios" else r".*(?:EDK II|EFI Development Kit).*"
    assert re.search(r"^firmware %s, %s, version " % (firmware.upper(), vendor), page, re.M), page
    assert "\nmachine QEMU, Standard PC" in page and "\nconsole framebuffer at " in page


def test_card_that_its_driver_refuses(make_router):
    """A network card that a driver matches but cannot use: the page has the driver and its reason, which
    is the one that the console gave."""
    router = make_router(None, "--qemu-arg=-device", "--qemu-arg=virtio-net-pci,disable-modern=on,disable-legacy=off",
                         ports=())
    said = re.search(r"^pci (\S+): virtio_net: (.*) \(error \d+\), left out\r?$", router.text, re.M)
    assert said, router.text
    of = functions(router.command("show hardware"))["0000:" + said[1]]
    assert of[3] == ", virtio_net: " + said[2], of


def test_second_host_bridge(make_router):
    """Cards behind another host bridge, of whose bus no register of bus 0 tells, and behind a root port
    below it: they are found and driven."""
    router = make_router(None, *("--qemu-arg=" + word for word in (
        "-device", "pxb-pcie,id=other,bus_nr=0x40,bus=pcie.0",
        "-device", "pcie-root-port,id=port1,bus=other,chassis=9,slot=1",
        "-device", "virtio-net-pci,bus=port1",
        "-device", "pcie-root-port,id=port2,chassis=9,slot=2",
        "-device", "virtio-net-pci,bus=port2")), ports=())
    page = router.command("show hardware")
    shown = functions(page)
    real = from_qemu(router)
    assert {at: (f[0], int(f[1], 16) >> 8) for at, f in shown.items()} == real
    assert any(at.startswith("0000:40:") for at in real), real
    cards = {at: f for at, f in shown.items() if f[2] == "Ethernet controller"}
    assert [f[3] for f in cards.values()] == [", eth0 by virtio_net", ", eth1 by virtio_net"], page
    assert all(", in use\n" in f[4] and re.search(r"  link [\d.]+ GT/s x\d+ of ", f[4]) for f in cards.values()), page
    assert "eth1 link" in router.command("show interfaces")


def test_reported_errors(make_router):
    """Errors that a card and its slot report are counted and said once, each by name; traffic is not held
    up. QEMU's monitor injects them."""
    router = make_router(None, *("--qemu-arg=" + word for word in (
        "-device", "pcie-root-port,id=slot7,chassis=7,slot=7",
        "-device", "virtio-net-pci,bus=slot7,id=card7,aer=on")), ports=())

    def errors(kind):
        shown = {at: (f[2], f[4]) for at, f in functions(router.command("show hardware")).items()}
        return re.search(r"  errors corrected (\d+) \(bits ([0-9a-f]+)\), uncorrectable (\d+) \(bits ([0-9a-f]+)\)",
                         next(text for word, text in shown.values() if word == kind)).groups()

    def inject(what):
        said = router.qmp("human-monitor-command", **{"command-line": "pcie_aer_inject_error " + what})
        assert said.startswith("OK"), said

    assert errors("Ethernet controller") == errors("PCI bridge") == ("0", "0", "0", "0")
    inject("card7 BAD_TLP")
    router.expect(r"pci 01:00.0: PCI Express reports corrected errors: bad TLP \(further", 10)
    eventually(lambda: errors("Ethernet controller") == ("1", "40", "0", "0"), 10, "the count")
    inject("card7 BAD_DLLP")
    eventually(lambda: errors("Ethernet controller") == ("2", "c0", "0", "0"), 10, "the count")
    inject("card7 MALF_TLP")
    router.expect(r"pci 01:00.0: PCI Express reports uncorrectable errors: malformed TLP \(further", 10)
    eventually(lambda: errors("Ethernet controller") == ("2", "c0", "1", "40000"), 10, "the count")
    assert router.text.count("corrected errors: ") == 1, router.text
