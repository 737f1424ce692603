"""`hayate image --netboot`: a machine without a disk boots by PXE, from BIOS and from UEFI. QEMU
provides DHCP and TFTP."""
import re
import shutil
import subprocess

import pytest
from conftest import ACCEL, QEMU, eventually
from launcher import options
from launcher.guest import LAUNCHER, PYTHON

CONFIG = "hostname from-afar\ninterface eth0\n ip address 10.0.2.15/24\n"
NAMES = {"bios": "i386-pc", "uefi": "x86_64-efi"}


def boot_files(folder, *arguments):
    """{platform: the boot file for DHCP}, as the launcher prints them."""
    said = subprocess.run([PYTHON, LAUNCHER, "image", "--netboot", str(folder), *arguments], text=True,
                          timeout=60, check=True, capture_output=True).stdout
    return dict(re.findall(r"^%s: boot file for (\S+): (\S+)$" % re.escape(str(folder)), said, re.M))


@pytest.mark.parametrize("firmware", NAMES)
def test_boots_from_the_network(tmp_path, firmware):
    folder, config, console = tmp_path / "tftp", tmp_path / "lab.conf", tmp_path / "console"
    folder.mkdir()
    config.write_text(CONFIG)
    name = boot_files(folder, "--config", str(config))[NAMES[firmware]]
    words = [QEMU or "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none",
             "-machine", "q35", "-accel", ACCEL, "-cpu", "max", "-smp", "2", "-m", "256", "-boot", "n",
             "-serial", "file:%s" % console,
             "-netdev", "user,id=net,tftp=%s,bootfile=%s" % (folder, name),
             "-device", "virtio-net-pci,netdev=net"]
    if firmware == "uefi":
        words += options.firmware_arguments(lambda path: shutil.copy(path, tmp_path))
    with subprocess.Popen(words, stdin=subprocess.DEVNULL) as qemu:
        try:
            eventually(lambda: console.exists() and re.search(
                rb"ready: 1 port, 1 data core.*from-afar# $", console.read_bytes(), re.S), 120, "boot")
        finally:
            qemu.kill()
