"""`make release`: the same bytes in another folder and at another time; what they are of."""
import os
import re
import shutil
import subprocess

import pytest
from launcher import options

EPOCH = "1700000000"


def make(folder, epoch, *words):
    """Without what this make was told, and as if it were another day's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    said = subprocess.run(["make", "-s", "-j2", *words], cwd=folder, text=True, timeout=600, check=False,
                          env=dict(kept, SOURCE_DATE_EPOCH=epoch, TZ="Asia/Tokyo"),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert said.returncode == 0, said.stdout[-2000:]


def sums(folder):
    release, = os.scandir(os.path.join(folder, "build", "release"))
    said = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=release.path, text=True, check=False,
                          capture_output=True)
    assert said.returncode == 0, said
    with open(os.path.join(release.path, "SHA256SUMS"), encoding="ascii") as file:
        return file.read()


def version():
    with open(os.path.join(options.ROOT, "core", "core.h"), encoding="utf-8") as file:
        return re.search(r'^#define HAYATE_VERSION "(.*)"$', file.read(), re.M).group(1)


@pytest.fixture(name="copy")
def _copy(tmp_path):
    """The sources, as they are, in another folder."""
    said = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                          cwd=options.ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, said.split("\0")):
        to = tmp_path / "another" / name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.join(options.ROOT, name), to)
    return tmp_path / "another"


def test_same_bytes(copy):
    make(options.ROOT, EPOCH, "release")
    ours = sums(options.ROOT)
    make(copy, EPOCH, "release")
    assert sums(copy) == ours
    assert "hayate-%s.iso" % version() in ours


def test_changes_are_of_this_version():
    with open(os.path.join(options.ROOT, "CHANGELOG.md"), encoding="utf-8") as file:
        assert re.search(r"^## (\S+)", file.read(), re.M).group(1) == version()
