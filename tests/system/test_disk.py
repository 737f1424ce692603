"""The disk of `hayate image --disk`: other people's tools find it whole, and it boots from BIOS and UEFI."""
import os
import re
import subprocess

import pytest
from conftest import IMAGE
from launcher import disk, errors
from test_launcher import hayate


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def part(path, number, to):
    """Copies a partition of a disk into the file `to`."""
    at, size = disk.place(number)
    with open(path, "rb") as source, open(to, "wb") as made:
        source.seek(at)
        made.write(source.read(size))
    return str(to)


def environment(path):
    """The variables of a disk's environment block, as GRUB's tool reads them."""
    with open(path, "rb") as source:
        source.seek(disk.place(3)[0] + disk.ENVIRONMENT_AT)
        block = source.read(1024)
    with open(path + ".env", "wb") as made:
        made.write(block)
    return dict(line.split("=", 1) for line in run("grub-editenv", path + ".env", "list").splitlines())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A disk with a configuration."""
    work = tmp_path_factory.mktemp("disk")
    config = work / "lab.conf"
    config.write_text("hostname from-disk\n")
    path = str(work / "disk.img")
    disk.build(path, size=256, kernel=IMAGE, config=str(config), arguments="debug-exit=0xf4 config=lab.conf", timeout_s=0)
    return path


@pytest.mark.no_guest
def test_layout(made, tmp_path):
    """The partition tables are right, and so are the file systems: the EFI system partition is a FAT32, which the UEFI
    specification asks for on a disk, the other two are small."""
    assert "No problems found" in run("sgdisk", "-v", made)
    rows = re.findall(r"^ +(\d) +(\d+) +(\d+) .*? (EF0[02]|FFFF) +(.*)$", run("sgdisk", "-p", made), re.M)
    assert [row[4].rstrip(". ")[:12] for row in rows] == [name[:12] for name, _, _ in disk.PARTITIONS]
    for (number, first, last, _, _), (_, _, mib) in zip(rows, disk.PARTITIONS):
        assert disk.place(int(number)) == (int(first) * 512, mib << 20)
        assert int(last) - int(first) + 1 == (mib << 20) // 512
    for number, bits in ((2, 32), (3, 12), (4, 12)):
        file = part(made, number, tmp_path / "fs")
        assert "%d bit entries" % bits in run("fsck.fat", "-nv", file)
    assert environment(made) == {"id": environment(made)["id"], "active": "A"}
    assert re.fullmatch("[0-9a-f]{16}", environment(made)["id"])


@pytest.mark.no_guest
def test_image_file(tmp_path):
    """The file for an upgrade: its header has the length and the hash of a file system with the kernel."""
    path = str(tmp_path / "new.upgrade")
    disk.image_file(path, kernel=IMAGE)
    with open(path, "rb") as file:
        whole = file.read()
    content = whole[disk.HEADER_BYTES:]
    build = subprocess.run(["readelf", "-n", IMAGE], capture_output=True, text=True, check=True).stdout
    assert whole[:disk.HEADER_BYTES] == disk.header(content, re.search(r"Build ID: ([0-9a-f]{40})", build).group(1))
    (tmp_path / "fs").write_bytes(content)
    run("fsck.fat", "-nv", str(tmp_path / "fs"))
    run("mcopy", "-n", "-o", "-i", str(tmp_path / "fs"), "::/boot/hayate.elf", str(tmp_path / "kernel"))
    with open(IMAGE, "rb") as file:
        assert (tmp_path / "kernel").read_bytes() == file.read()


@pytest.mark.no_guest
@pytest.mark.parametrize("arguments", [
    "image --size 8G", "image --disk --upgrade", "image --disk --size 100M", "image --disk --size 8",
    "image --disk --sign-key k --sign-cert c", "run router --boot bios --media nvme"])
def test_wrong_usage(arguments):
    assert hayate(*arguments.split()).returncode == errors.EXIT_USAGE


@pytest.mark.one_card
@pytest.mark.parametrize("firmware,media", [("bios", "virtio"), ("uefi", "nvme")])
def test_boots(make_router, made, firmware, media):
    router = make_router(None, "--boot", firmware, "--media", media, "--image", made, "--accel", "tcg", timeout_s=90)
    assert router.command("show running-config").startswith("hostname from-disk\n")
    assert "GRUB" in router.command("show version")
