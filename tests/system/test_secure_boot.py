"""UEFI Secure Boot: Debian's OVMF with Secure Boot on starts a signed image and nothing else. The key
that it knows is Debian's for tests, whose passphrase is public."""
import pathlib
import re
import subprocess

import pytest

from launcher import image, secure_boot
from conftest import IMAGE, RIGHT_HOST, pings, router_config

CERT = "/usr/share/ovmf/PkKek-1-snakeoil.pem"
KEY = "/usr/share/ovmf/PkKek-1-snakeoil.key"


@pytest.fixture(scope="module")
def make_image(tmp_path_factory):
    """make_image(key, cert): the image with a configuration inside, signed by that key."""
    def make(key, cert):
        work = tmp_path_factory.mktemp("signed")
        config, path = work / "lab.conf", str(work / "hayate.iso")
        config.write_text(router_config())
        image.build(path, kernel=IMAGE, config=str(config), arguments="debug-exit=0xf4", timeout_s=0,
                    signer=secure_boot.Signer(key, cert))
        return path
    return make


@pytest.fixture(scope="module")
def signed(make_image, tmp_path_factory):
    """An image that the firmware accepts."""
    key = str(tmp_path_factory.mktemp("key") / "db.key")
    subprocess.run(["openssl", "rsa", "-in", KEY, "-passin", "pass:snakeoil", "-out", key], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return pathlib.Path(make_image(key, CERT))


def boot(make_router, path, *arguments, **more):
    return make_router(None, "--boot", "secure", "--image", str(path), "--accel", "tcg", *arguments, **more)


@pytest.mark.parametrize("media", ["usb", "cdrom"])
def test_signed_image(make_router, make_hosts, signed, media):
    left, right = make_hosts()
    router = boot(make_router, signed, "--media", media, ports=(left.port, right.port), timeout_s=120)
    assert "GRUB" in router.command("show version")
    pings(left, RIGHT_HOST)


def refused(make_router, path, reason):
    """The machine does not start this image, and says why."""
    router = boot(make_router, path, "--media", "usb", wait=False)
    router.judge = False
    router.expect(reason, 120, "the reason")
    assert "hayate: build" not in router.text
    return router


def test_image_of_another_key(make_router, make_image, tmp_path):
    """The firmware does not start GRUB."""
    key, cert = str(tmp_path / "other.key"), str(tmp_path / "other.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=other",
                    "-keyout", key, "-out", cert], check=True, stderr=subprocess.DEVNULL)
    refused(make_router, make_image(key, cert), r"failed to load Boot\w+ .*: Access Denied")


def test_image_without_a_signature(make_router, tmp_path):
    path = str(tmp_path / "plain.iso")
    image.build(path, kernel=IMAGE, timeout_s=0)
    refused(make_router, path, r"failed to load Boot\w+ .*: Access Denied")


def changed(path, signed, mark):
    """Writes the image with one bit changed wherever it has the mark."""
    data = bytearray(signed.read_bytes())
    places = [match.start() for match in re.finditer(re.escape(mark), bytes(data))]
    assert places, "the image does not have the mark"
    for place in places:
        data[place] ^= 1
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize("mark", [b"hayate: build ", b"hostname r1"], ids=["kernel", "configuration"])
def test_changed_file(make_router, signed, tmp_path, mark):
    """GRUB checks what the firmware does not."""
    refused(make_router, changed(tmp_path / "changed.iso", signed, mark), r"error: .*bad signature")


def test_changed_menu(make_router, signed, tmp_path):
    """Without a menu that it may read GRUB offers its shell, to a name that has no password: nobody
    can turn the checks off."""
    router = refused(make_router, changed(tmp_path / "changed.iso", signed, b"app=router"), r"Enter username:")
    for word in ("nobody", ""):
        router.send(word)
    router.expect(r"Enter password:(?s:.*)Enter username:", 30, "the shell remains locked")
