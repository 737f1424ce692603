"""The disk of `hayate image --disk`: other people's tools find it whole, and it boots from BIOS and UEFI. Upgrades, images that
fail, a power cut in the middle of an upgrade, installation. The unit tests cut the power at every request."""
import base64
import io
import json
import os
import re
import shutil
import subprocess
import tarfile

import pytest
from conftest import IMAGE, LEFT_ROUTER, WEB, eventually, router_config
from launcher import disk, errors
from test_boot import patched
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
def test_boots(make_router, made, tmp_path):
    """From BIOS; from UEFI do test_install and test_image_that_fails. What is written to the store is there after QEMU has been
    killed."""
    words = "--boot", "bios", "--media", "virtio", "--image", shutil.copy(made, str(tmp_path / "disk.img")), "--accel", "tcg"
    router = make_router(None, *words, timeout_s=90)
    assert router.command("show running-config").startswith("hostname from-disk\n")
    assert "GRUB" in router.command("show version")
    for line in ("configure", "hostname remembered", "commit", "exit"):
        router.command(line)
    assert "written" in router.command("write memory")
    router.judge = False
    router.child.kill()
    router.wait_exit()
    router = make_router(None, *words, timeout_s=90)
    assert router.command("show running-config").startswith("hostname remembered\n")


def states(router):
    """What `show boot` says of both images."""
    return re.findall(r"^[AB] +[0-9a-f-]+ +(.*)$", router.command("show boot"), re.M)


def runs(router, letter):
    """Waits until the machine has found its disk; it runs that image."""
    eventually(lambda: "started from disk0, image %s\n" % letter in router.command("show boot"), 30, "the disk is found")
    assert states(router)["AB".index(letter)].startswith("runs")


def runs_again(router, letter, timeout_s=60):
    """The same after a restart."""
    router.wait_up(timeout_s)
    runs(router, letter)


@pytest.fixture(scope="module")
def upgrade(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("upgrade") / "new.upgrade")
    disk.image_file(path, kernel=IMAGE)
    return path


def put(host, path, *more):
    """PUT of a file; returns (status, answer)."""
    said = host.run(["curl", "-sS", "--max-time", "60", "-T", path, "-w", "\n%{http_code}", *more,
                     "http://%s/api/v1/image" % LEFT_ROUTER], check=False).stdout
    answer, _, status = said.rpartition("\n")
    return int(status), json.loads(answer)


def served_disk(tmp_path, arguments=""):
    """A disk whose machine has a HTTP server for the left host."""
    config, path = tmp_path / "lab.conf", str(tmp_path / "disk.img")
    config.write_text(router_config(extra=WEB))
    disk.build(path, kernel=IMAGE, config=str(config), arguments="debug-exit=0xf4 " + arguments, timeout_s=0)
    return path


@pytest.mark.one_card
def test_upgrade(make_router, make_hosts, upgrade, tmp_path):
    """An image is uploaded, put on trial, given up because nobody confirms it, tried again and confirmed. A damaged file
    changes nothing."""
    left, right = make_hosts()
    path = served_disk(tmp_path, "trial-seconds=8")
    router = make_router(None, "--boot", "bios", "--media", "virtio", "--image", path, "--accel", "tcg",
                         ports=(left.port, right.port), timeout_s=90)
    runs(router, "A")
    assert "image A of disk0" in router.command("show version")
    assert states(router) == ["runs, active", "-"]
    assert "there is no other image" in router.command("upgrade activate")
    with open(upgrade, "rb") as file:
        whole = bytearray(file.read())
    whole[-1] ^= 1
    (tmp_path / "damaged").write_bytes(whole)
    status, answer = put(left, str(tmp_path / "damaged"))
    assert status == 422 and "damaged" in answer["error"], answer
    (tmp_path / "short").write_bytes(whole[:-1])
    assert put(left, str(tmp_path / "short"))[0] == 422
    assert put(left, str(tmp_path / "lab.conf"))[0] == 422
    assert states(router) == ["runs, active", "-"]
    assert put(left, upgrade) == (200, {})
    build = re.search(r"^build ([0-9a-f]{40})$", router.command("show version"), re.M).group(1)
    assert router.command("show boot").count(build) == 2 and states(router) == ["runs, active", "-"]
    router.command("upgrade activate")
    assert states(router)[1] == "the next boot starts it, once"
    assert environment(path)["trying"] == "B"
    router.send("reload")
    runs_again(router, "B")
    router.expect("has not been confirmed: restarting", 30, "the end of the trial")
    runs_again(router, "A")
    assert states(router) == ["runs, active", "not confirmed"]
    router.command("upgrade activate")
    router.send("reload")
    runs_again(router, "B")
    assert "is the active one" in router.command("upgrade confirm")
    assert states(router) == ["-", "runs, active"]
    assert environment(path) == {"id": environment(path)["id"], "active": "B"}
    state = json.loads(left.run(["curl", "-sS", "--max-time", "20", "http://%s/api/v1/image" % LEFT_ROUTER]).stdout)
    assert (state["running"], state["active"], state["trying"], state["problem"]) == ("B", "B", None, None)


def put_image(path, kernel, tmp_path, number, **values):
    """Writes an image and variables into a disk."""
    disk.image_file(str(tmp_path / "image"), kernel=kernel)
    whole = (tmp_path / "image").read_bytes()
    at = disk.place(number)[0]
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(whole[disk.HEADER_BYTES:])
        file.seek(at + disk.SLOT_BYTES - disk.HEADER_BYTES)
        file.write(whole[:disk.HEADER_BYTES])
        file.seek(disk.place(3)[0])
        file.write(disk.boot_environment(disk.environment({"id": "0123456789abcdef", "active": "A", **values})))


HANG = bytes.fromhex("ebfe")  # jmp $


@pytest.mark.one_card
@pytest.mark.parametrize("firmware,code", [("bios", b"\x0f\x0b"), ("uefi", HANG)], ids=["panic-bios", "hang-uefi"])
def test_image_that_fails(make_router, made, tmp_path, firmware, code):
    """The image on trial panics, or hangs until somebody switches the machine off and on: the next boot starts the image
    before it, without anybody."""
    path = shutil.copy(made, str(tmp_path / "disk.img"))
    put_image(path, patched(tmp_path / "kernel.elf", "acpi_init", code), tmp_path, 5, trying="B")
    router = make_router(None, "--boot", firmware, "--media", "nvme", "--image", path, "--accel", "tcg", wait=False)
    router.faults_expected = True
    if code == HANG:
        router.expect("hayate: build ", 60)
        eventually(lambda: environment(path).get("tried") == "1", 20, "GRUB has recorded the trial")
        router.qmp("system_reset")
    else:
        router.expect("invalid opcode", 60)
    runs_again(router, "A", 90)
    assert states(router) == ["runs, active", "not confirmed"]


@pytest.mark.one_card
def test_power_cut(make_router, make_hosts, upgrade, tmp_path):
    """QEMU is killed while the other image is being written: what the next boot needs is as it was, and it boots."""
    left, right = make_hosts()
    path = served_disk(tmp_path)
    with open(path, "rb") as file:
        before = file.read(disk.place(5)[0])
    for pieces in (1, 60, 110):
        router = make_router(None, "--boot", "bios", "--media", "virtio", "--image", path, "--accel", "tcg",
                             ports=(left.port, right.port), timeout_s=90)
        router.judge = False
        runs(router, "A")
        at = disk.place(5)[0] + (pieces - 1) * disk.PIECE
        upload = left.popen(["curl", "-sS", "--max-time", "60", "-T", upgrade, "http://%s/api/v1/image" % LEFT_ROUTER])
        with open(path, "rb") as file, open(upgrade, "rb") as new:
            new.seek(disk.HEADER_BYTES + (pieces - 1) * disk.PIECE)
            wanted = new.read(disk.PIECE)
            eventually(lambda: os.pread(file.fileno(), disk.PIECE, at) == wanted, 60, "that much has been written", 0.001)
        router.child.kill()
        router.wait_exit()
        upload.kill()
        with open(path, "rb") as file:
            assert file.read(disk.place(5)[0]) == before
        with open(path, "r+b") as file:  # for the next round
            file.seek(disk.place(5)[0])
            file.write(bytes(disk.SLOT_BYTES))
    router = make_router(None, "--boot", "bios", "--media", "virtio", "--image", path, "--accel", "tcg",
                         ports=(left.port, right.port), timeout_s=90)
    runs(router, "A")
    assert states(router) == ["runs, active", "-"]


@pytest.mark.one_card
def test_install(make_router, tmp_path):
    """A machine that was started from a CD writes an empty disk, which then boots from UEFI with the same configuration. It
    refuses a disk that is not empty."""
    config, iso, target = tmp_path / "lab.conf", str(tmp_path / "installer.iso"), str(tmp_path / "target.img")
    config.write_text("hostname installed\n")
    done = hayate("image", "--installer", "-o", iso, "--config", str(config), "--kernel", IMAGE, "--menu-timeout", "0", "--append",
                  "debug-exit=0xf4", timeout=120)
    assert done.returncode == 0, done.stderr
    with open(target, "wb") as file:
        file.truncate(300 << 20)
    router = make_router(None, "--boot", "bios", "--media", "cdrom", "--image", iso, "--accel", "tcg",
                         "--disk", target + ",virtio", timeout_s=90)
    assert "not started from a disk" in router.command("show boot")
    assert "there is no disk disk5" in router.command("install disk5 confirm")
    assert "300 MiB. `install disk0 confirm` writes it" in router.command("install disk0")
    with open(target, "rb") as file:
        assert file.read(disk.PIECE) == bytes(disk.PIECE)
    assert "the disk is ready" in router.command("install disk0 confirm", 120)
    assert "the disk is not empty" in router.command("install disk0 confirm")
    assert "the disk is ready" in router.command("install disk0 force confirm", 120)
    router.judge = False
    router.send("poweroff")
    router.wait_exit()
    assert "No problems found" in run("sgdisk", "-v", target)
    for number, bits in ((2, 32), (3, 12), (4, 12)):
        assert "%d bit entries" % bits in run("fsck.fat", "-nv", part(target, number, tmp_path / "fs"))
    assert environment(target)["active"] == "A"
    router = make_router(None, "--boot", "uefi", "--media", "nvme", "--image", target, "--accel", "tcg", timeout_s=90)
    runs(router, "A")
    assert router.command("show running-config").startswith("hostname installed\n")
    assert states(router) == ["runs, active", "-"]


def stored(path):
    """{name: bytes} of the values in the store, by tar: the newest of the two slots."""
    at, size = disk.place(6)
    slots = []
    with open(path, "rb") as file:
        for begin in (at, at + size // 2):
            file.seek(begin)
            header = file.read(4096)
            slots.append((int.from_bytes(header[40:48], "little"), file.read(size // 2 - 4096)))
    with tarfile.open(fileobj=io.BytesIO(max(slots)[1])) as tar:
        return {file.name: tar.extractfile(file).read() for file in tar if file.isfile()}


def is_in(secret, text):
    """Whether a part of the secret is in the text: as it is, in hexadecimal digits or in base64."""
    pieces = [secret[at:at + 12] for at in range(0, len(secret) - 12, 12)]
    if any(piece in text for piece in pieces):
        return True
    text = re.sub(rb"[\s:]", b"", text)
    return any(form in text for piece in pieces
               for form in (piece.hex().encode(), piece.hex().upper().encode(), base64.b64encode(piece)))


@pytest.mark.one_card
def test_configured_by_ssh(make_router, make_hosts, tmp_path):
    """What was configured by SSH and written is there after a power cut, and so are the keys: the client finds the host key
    that it knows, also after a restart of the control program. No private key is in what the machine shows, in a capture
    of sessions, in other values of the store, such as crash reports, or on the disk beside the store."""
    left, right = make_hosts()
    key, config, path = str(tmp_path / "key"), tmp_path / "lab.conf", str(tmp_path / "disk.img")
    run("ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", key)
    with open(key + ".pub", encoding="ascii") as file:
        public = " ".join(file.read().split()[:2])
    config.write_text(router_config(extra="ssh server\nssh access 192.0.2.0/24\nhttps server\nhttp access 192.0.2.0/24\n"
                                          "capture server\ncapture access 192.0.2.0/24\nusername admin role configure\n"
                                          "username admin ssh-key %s\n" % public))
    done = hayate("image", "--disk", "-o", path, "--config", str(config), "--kernel", IMAGE, "--menu-timeout", "0", "--append",
                  "debug-exit=0xf4 test=1", timeout=120)
    assert done.returncode == 0, done.stderr

    def boot():
        return make_router(None, "--boot", "bios", "--media", "nvme", "--image", path, "--accel", "tcg",
                           ports=(left.port, right.port), timeout_s=90)

    def ssh(new_host, commands):
        done = left.run(["ssh", "-F", "none", "-o", "BatchMode=yes", "-o", "UserKnownHostsFile=%s" % (tmp_path / "known"),
                         "-o", "StrictHostKeyChecking=" + ("accept-new" if new_host else "yes"), "-o", "ConnectTimeout=30",
                         "-i", key, "admin@" + LEFT_ROUTER], input=commands, check=False, timeout_s=60)
        assert done.returncode == 0, done
        return done.stdout

    def certificate():
        shown = left.run(["openssl", "s_client", "-connect", LEFT_ROUTER + ":443"], timeout_s=60).stdout
        return re.search("-----BEGIN CERTIFICATE-----.*-----END CERTIFICATE-----", shown, re.S).group()

    router = boot()
    runs(router, "A")
    first = certificate()
    said = ssh(True, "configure\nhostname kept\nip route 203.0.113.0/24 198.51.100.2\ncommit\nend\nwrite memory\n"
                     "configure\nhostname lost\ncommit\nend\n")
    assert "written\n" in said, said
    router.judge = False
    router.child.kill()
    router.wait_exit()
    keys = {name: value for name, value in stored(path).items() if name.startswith("keys/")}
    assert set(keys) == {"keys/https", "keys/ssh-host-ed25519"}
    router = boot()
    assert router.command("show running-config").startswith("hostname kept\n")
    runs(router, "A")
    shown = ssh(False, "show running-config\n")
    assert "ip route 203.0.113.0/24 198.51.100.2\n" in shown and "ssh server port 22\n" in shown, shown
    router.skip()
    router.send("capture eth0 tcp port 443 count 10")
    router.expect("waiting for a reader at TCP port 5555", 20)
    with open(tmp_path / "capture", "wb") as out:
        reader = left.popen(["nc", LEFT_ROUTER, "5555"], stdin=subprocess.DEVNULL, stdout=out)
    eventually(lambda: (tmp_path / "capture").stat().st_size > 0, 20, "the head of the capture")
    assert certificate() == first
    reader.wait(60)
    captured = (tmp_path / "capture").read_bytes()
    assert b"\x16\x03\x03" in captured  # a record of a handshake
    router.faults_expected = True
    router.send("test fault ud core 0")
    router.expect("control program: goes on after", 60)
    seen = ssh(False, "show crash\nshow crypto\nshow ssh\nshow storage\nshow running-config\nshow startup-config\n"
                      "show logging\nshow events\nshow history\nshow memory\n")
    assert "SHA-256" in seen and certificate() == first
    eventually(lambda: "crash/last" in stored(path), 20, "the report is stored")
    said = router.text.encode()
    router.judge = False
    router.child.kill()
    router.wait_exit()
    values = stored(path)
    others = b"\n".join(value for name, value in values.items() if not name.startswith("keys/"))
    assert values["crash/last"].startswith(b"crash 1: core 0")
    with open(path, "rb") as file:
        beside = file.read(disk.place(6)[0])
        file.seek(sum(disk.place(6)))
        beside += file.read()
    for name, value in keys.items():
        assert len(value) >= 32 and values[name] == value
        for where in (seen.encode(), said, captured, others):
            assert not is_in(value, where), name
        assert not any(value[at:at + 12] in beside for at in range(0, len(value) - 12, 12)), name
