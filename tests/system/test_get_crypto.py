"""tools/get-crypto: the sources of foreign code come from a cache without a network, and nothing but what
third/pins names is ever used."""
import hashlib
import io
import os
import shutil
import subprocess
import tarfile

import pytest
from launcher import debs, options, sources
from launcher.errors import LauncherError

NOWHERE = "http://127.0.0.1:9/debian"


@pytest.fixture(name="tools")
def _tools(tmp_path):
    """A tree with get-crypto and the pin of a small made-up tarball, and its empty cache."""
    tree = tmp_path / "tree"
    shutil.copytree(os.path.join(options.ROOT, "tools"), tree / "tools", symlinks=True,
                    ignore=shutil.ignore_patterns("__pycache__", "nicsim", "pktgen"))
    (tree / "third").mkdir()
    with tarfile.open(tmp_path / "mbedtls_1.orig.tar.bz2", "w:bz2") as archive:
        for name, data in (("top/library/a.c", b"int a;"), ("top/LICENSE", b"free"), ("top/tests/t.c", b"no"),
                           ("top/library/../../../up.c", b"out")):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            member.mode = 0o4777
            archive.addfile(member, io.BytesIO(data))
        link = tarfile.TarInfo("top/library/link.c")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    data = (tmp_path / "mbedtls_1.orig.tar.bz2").read_bytes()
    (tree / "third" / "pins").write_text("# comment\nmbedtls 1 pool/m/mbedtls_1.orig.tar.bz2 %d %s Free\n"
                                         % (len(data), hashlib.sha256(data).hexdigest()))
    (tmp_path / "cache").mkdir()
    return tree


def run(tree, cache, *words):
    return subprocess.run([tree / "tools" / "get-crypto", *words], check=False, capture_output=True, text=True,
                          timeout=60, env={**os.environ, "HAYATE_CACHE": str(cache),
                                           "HAYATE_DEBIAN_MIRROR": NOWHERE})


def test_from_the_cache(tools, tmp_path):
    """Two at once need no network; folders, links and files that are not wanted stay out."""
    shutil.copy(tmp_path / "mbedtls_1.orig.tar.bz2", tmp_path / "cache")
    argv = [tools / "tools" / "get-crypto", "--link", tmp_path / "src"]
    both = [subprocess.Popen(argv, env={**os.environ, "HAYATE_CACHE": str(tmp_path / "cache")}) for _ in range(2)]
    assert [one.wait(60) for one in both] == [0, 0]
    found = sorted(str(path.relative_to(tmp_path / "src" / "mbedtls"))
                   for path in (tmp_path / "src" / "mbedtls").rglob("*"))
    assert found == ["LICENSE", "library", "library/a.c"]
    assert (tmp_path / "src" / "mbedtls" / "library" / "a.c").stat().st_mode & 0o7777 == 0o644
    assert not (tmp_path / "up.c").exists()
    said = run(tools, tmp_path / "cache", "--tarballs")
    assert said.stdout == "%s\n" % (tmp_path / "cache" / "mbedtls_1.orig.tar.bz2")


def test_another_tarball(tools, tmp_path):
    """One byte differs, or one is added: refused."""
    data = (tmp_path / "mbedtls_1.orig.tar.bz2").read_bytes()
    for wrong in data[:-1] + bytes([data[-1] ^ 1]), data + b"\0":
        (tmp_path / "cache" / "mbedtls_1.orig.tar.bz2").write_bytes(wrong)
        said = run(tools, tmp_path / "cache", "--link", tmp_path / "src")
        assert said.returncode != 0 and "its size or SHA-256 differs" in said.stderr
        assert not (tmp_path / "src" / "mbedtls").exists()


def test_no_network(tools, tmp_path):
    """One line says what to do."""
    said = run(tools, tmp_path / "cache", "--link", tmp_path / "src")
    assert said.returncode != 0
    lines = [line for line in said.stderr.splitlines() if line.startswith("get-crypto: ")]
    assert len(lines) == 1
    for word in "cannot fetch mbedtls 1", "HAYATE_DEBIAN_MIRROR=", "mbedtls_1.orig.tar.bz2", "HAYATE_CACHE":
        assert word in lines[0]


def test_a_mirror_that_lies(tools, tmp_path, monkeypatch):
    """What is fetched is compared with the pin here too, not by apt's program alone."""
    del tools
    pin = sources.Pin("mbedtls", "1", "pool/x.tar.bz2", 3, hashlib.sha256(b"yes").hexdigest(), "Free")
    monkeypatch.setattr(debs, "cache_directory", lambda: str(tmp_path / "cache"))
    monkeypatch.setattr(sources, "_fetch", lambda pin, to: open(to, "wb").write(b"no!"))
    with pytest.raises(LauncherError, match="another SHA-256"):
        sources.sources(pin)
    assert not (tmp_path / "cache" / "x.tar.bz2").exists()


APT_OF_UBUNTU = "http://127.0.0.1:9/ubuntu\tUbuntu\tUbuntu\n"


def test_mirror_of_a_system_without_debian(tmp_path, monkeypatch):
    """On Ubuntu, the system's list of mirrors names Debian's own: the first address, without TLS."""
    monkeypatch.delenv(debs.MIRROR_VARIABLE, raising=False)
    monkeypatch.setattr(debs, "_output", lambda argv: APT_OF_UBUNTU)
    mirrors = tmp_path / "Debian.info"
    monkeypatch.setattr(debs, "KNOWN_MIRRORS", str(mirrors))
    with pytest.raises(LauncherError, match="python-apt-common.*HAYATE_DEBIAN_MIRROR"):
        debs.mirror()
    mirrors.write_text("Suite: x\nMatchURI: https://no\nBaseURI: https://127.0.0.1:9/debian/\n\n"
                       "BaseURI: https://127.0.0.1:9/security/\n")
    assert debs.mirror() == "http://127.0.0.1:9/debian/"
    monkeypatch.setattr(debs, "_output", lambda argv: APT_OF_UBUNTU + NOWHERE + "\tDebian\tDebian\n")
    assert debs.mirror() == NOWHERE


def test_make_without_its_tools():
    """A build without compiler or assembler names the packages instead of failing at some command."""
    made = subprocess.run(["make", "-C", options.ROOT, "-n", "NASM=no-such-nasm", "all"], check=False,
                          capture_output=True, text=True, timeout=60)
    assert made.returncode != 0
    assert "cannot build without no-such-nasm." in made.stderr
    assert "CC" not in made.stdout
    listed = subprocess.run(["make", "-C", options.ROOT, "NASM=no-such-nasm", "help"], check=False,
                            capture_output=True, text=True, timeout=60)
    assert listed.returncode == 0 and "make run" in listed.stdout


def test_pins_are_whole():
    """Each pin names a source package of Debian, and the image states the same versions."""
    for pin in sources.pins():
        assert pin.path.startswith("pool/main/") and len(pin.sha256) == 64 and pin.size > 1000000
        assert pin.version in pin.path and pin.name in sources.KEEP
        assert os.path.isfile(os.path.join(sources.sources(pin), "LICENSE"))
