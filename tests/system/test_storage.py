"""What the machine remembers on a disk of QEMU, NVMe behind an IOMMU and virtio-blk: QEMU is killed, and another one has it all.
A disk that fails does not hold up forwarding. tests/packet/test_storage.py has the rest."""
import os
import re
import signal
import subprocess

import pytest
from conftest import RIGHT_HOST, router_config
from store_disk import disk_make

pytestmark = pytest.mark.one_card


def kill(router, pidfile):
    router.judge = False
    os.kill(int(pidfile.read_text()), signal.SIGKILL)
    router.wait_exit()


@pytest.mark.parametrize("kind,arguments", [("nvme", ["--iommu"]), ("virtio", [])], ids=["nvme", "virtio"])
def test_remembers(kind, arguments, make_router, tmp_path):
    path, pidfile = str(tmp_path / "disk.img"), tmp_path / "pid"
    disk_make(path, bytes_=64 << 20, room=32 << 20)
    disk = path + "," + kind
    arguments = [*arguments, "--pidfile", str(pidfile)]
    router = make_router("hostname r1\n", "--disk", disk, *arguments)
    assert router.command("show running-config").startswith("hostname r1\n") # the boot module has come beside the disk
    for line in ("configure", "hostname first", "commit startup", "hostname second", "interface lo0",
                 "ip address 203.0.113.1/32", "commit startup", "end"):
        said = router.command(line)
        assert "%" not in said, said
    assert "written" in router.text
    running = router.command("show running-config")
    assert "history/2" in router.command("show storage")
    kill(router, pidfile)

    router = make_router("hostname module\n", "--disk", disk, *arguments)
    assert router.command("show running-config") == running == router.command("show startup-config")
    rows = [line.split()[:2] for line in router.command("show history").splitlines()[1:]]
    assert rows == [["0", "2"], ["1", "1"]]
    for line in ("configure", "rollback 1", "commit startup", "end"):  # returns when it is in force
        said = router.command(line)
        assert "%" not in said, said
    said = router.command("show running-config")
    assert "hostname first" in said and "203.0.113.1" not in said
    assert "written" in router.command("write memory")
    said = router.command("show storage")
    assert re.search(r"failed 0, last \d", said) and "failed 0\n" in said
    assert "iommu: refused" not in router.text


def test_a_disk_that_refuses_writes(make_lab, tmp_path):
    """As a thin disk of a hypervisor that is full: the command says so, and no packet is lost."""
    path = str(tmp_path / "disk.img")
    disk_make(path)
    drive = ("if=none,id=full,driver=raw,file.driver=blkdebug,file.image.driver=file,file.image.filename=" + path +
             ",file.inject-error.0.event=none,file.inject-error.0.iotype=write,file.inject-error.0.errno=28")
    lab = make_lab(router_config(), "--qemu-arg=-drive", "--qemu-arg=" + drive, "--qemu-arg=-device",
                   "--qemu-arg=virtio-blk-pci,drive=full,werror=report,rerror=report")
    ping = lab.left.popen(["ping", "-n", "-c", "40", "-i", "0.05", "-W", "5", RIGHT_HOST], stdout=subprocess.PIPE, text=True)
    assert "% the disk could not be written" in lab.router.command("write memory")
    assert "it cannot be written" in lab.router.text
    said, _ = ping.communicate(timeout=60)
    assert re.search("40 packets transmitted, 40 received", said), said
    assert "failed 1" in lab.router.command("show storage")
