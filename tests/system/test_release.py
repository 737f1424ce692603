"""`make release` makes the same bytes in another folder and at another time, and the bytes identify
their sources."""
import json
import os
import re
import shutil
import subprocess

import pytest
from launcher import debs, options, sources


def make_release(folder, **environment):
    """Runs make without the options of the make that runs this test."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("MAKE") and name != "SOURCE_DATE_EPOCH"}
    said = subprocess.run(["make", "-s", "-j2", "release"], cwd=folder, text=True, timeout=600, check=False,
                          env={**kept, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert said.returncode == 0, said.stdout[-2000:]


def version():
    with open(os.path.join(options.ROOT, "runtime", "runtime.h"), encoding="utf-8") as file:
        return re.search(r'^#define HAYATE_VERSION "(.*)"$', file.read(), re.M).group(1)


def sums(folder):
    release = os.path.join(folder, "build", "release", "hayate-" + version())
    said = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=release, text=True, check=False,
                          capture_output=True)
    assert said.returncode == 0, said
    with open(os.path.join(release, "SHA256SUMS"), encoding="ascii") as file:
        return file.read()


@pytest.fixture(name="copy")
def _copy(tmp_path):
    """A copy of the current sources in another folder."""
    said = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                          cwd=options.ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, said.split("\0")):
        to = tmp_path / "another" / name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.join(options.ROOT, name), to)
    return tmp_path / "another"


def test_same_bytes(copy):
    """In a clone, the time is that of the commit; elsewhere, SOURCE_DATE_EPOCH."""
    make_release(options.ROOT)
    ours = sums(options.ROOT)
    commit = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=options.ROOT, check=True, text=True,
                            capture_output=True).stdout.strip()
    # by a cache elsewhere, so that no network decides
    make_release(copy, SOURCE_DATE_EPOCH=commit, TZ="Asia/Tokyo", HAYATE_CACHE=debs.cache_directory())
    assert sums(copy) == ours
    for pin in sources.pins():
        assert "LICENSE." + pin.name in ours and pin.sha256 in ours
    assert "hayate-%s.iso" % version() in ours
    check_bill_of_materials(ours)


def check_bill_of_materials(summed):
    """SPDX 2.3: its mandatory fields are there, each file and each part of the image has its SHA-256, and no
    relation names an absent package."""
    name = "hayate-" + version()
    with open(os.path.join(options.ROOT, "build", "release", name, name + ".spdx.json"), encoding="ascii") as file:
        bill = json.load(file)
    assert bill["spdxVersion"] == "SPDX-2.3" and bill["dataLicense"] == "CC0-1.0"  # 6.1, 6.2
    assert bill["SPDXID"] == "SPDXRef-DOCUMENT" and bill["documentNamespace"].startswith("urn:uuid:")  # 6.3, 6.5
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", bill["creationInfo"]["created"])  # 6.9
    packages = {package["SPDXID"]: package for package in bill["packages"]}
    assert len(packages) == len(bill["packages"])
    for ref, package in packages.items():
        assert re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", ref)  # 7.2
        assert package["downloadLocation"] and package["versionInfo"]  # 7.3, 7.7
    for file in name + ".iso", name + ".elf", "libhayate-net-%s.tar.xz" % version():
        assert "%s  %s" % (packages["SPDXRef-" + file]["checksums"][0]["checksumValue"], file) in summed
    related = {tuple(relation.values()) for relation in bill["relationships"]}
    for one, kind, other in related:
        assert kind and other in packages and (one in packages or one == "SPDXRef-DOCUMENT")
    for pin in sources.pins():
        package = packages["SPDXRef-" + pin.name]
        assert (package["versionInfo"], package["licenseDeclared"]) == (pin.version, pin.licence)
        assert package["checksums"] == [{"algorithm": "SHA256", "checksumValue": pin.sha256}]
        assert ("SPDXRef-%s.elf" % name, "STATIC_LINK", "SPDXRef-" + pin.name) in related
    assert ("SPDXRef-%s.iso" % name, "CONTAINS", "SPDXRef-grub2") in related
    assert packages["SPDXRef-grub2"]["licenseDeclared"] == "GPL-3.0-or-later" and "LICENSE.grub" in summed
    assert packages["SPDXRef-%s.iso" % name]["licenseConcluded"] == \
        "BSD-2-Clause AND Apache-2.0 AND ISC AND GPL-3.0-or-later"


def test_changes_are_of_this_version():
    with open(os.path.join(options.ROOT, "CHANGELOG.md"), encoding="utf-8") as file:
        assert re.search(r"^## (\S+)", file.read(), re.M).group(1) == version()
