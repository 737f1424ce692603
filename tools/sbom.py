#!/usr/bin/python3
"""sbom.py FOLDER VERSION: prints the software bill of materials of the release in FOLDER.

The format is SPDX 2.3 in JSON. It names each file that runs, the foreign code that is in it (third/pins,
and GRUB in the ISO), its licence and SHA-256, and the Debian packages of the tools that made it. With the
same tools anyone gets the same bytes. Time and identity are those of SOURCE_DATE_EPOCH and of the build
id, so that this file too has the same bytes.
"""
import datetime
import hashlib
import json
import os
import subprocess
import sys
import uuid

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from launcher import sources  # noqa: E402

# Whoever writes CVE entries knows Mbed TLS by this name.
CPE = {"mbedtls": "cpe:2.3:a:arm:mbed_tls:%s:*:*:*:*:*:*:*"}
# Debian packages of the tools whose version shows in the bytes. GCC's is named after its major version.
TOOLS = ["binutils", "nasm", "xorriso", "mtools", "xz-utils"]
LICENCE = "BSD-2-Clause"


def output(*argv):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def package(name, version, licence, **more):
    """SPDX 2.3, 7. The copyright notices are those of the licence files and sources."""
    return {"SPDXID": "SPDXRef-" + name, "name": name, "versionInfo": version, "licenseConcluded": licence,
            "licenseDeclared": licence, "copyrightText": "NOASSERTION", "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, **more}


def debian(name, licence="NOASSERTION"):
    """The source package behind an installed package. Its version names the changes that Debian made."""
    source, version = output("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", name).split()
    locator = "pkg:deb/debian/%s@%s?arch=source" % (source, version)
    return package(source, version, licence, externalRefs=[
        {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}])


def released(folder, name, version, foreign=()):
    """A file of the release. It is ours; to pass it on, obey the licences of what it contains too."""
    licences = [LICENCE, *(part["licenseConcluded"] for part in foreign)]
    with open(os.path.join(folder, name), "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    return package(name, version, LICENCE, licenseConcluded=" AND ".join(licences), packageFileName=name,
                   checksums=[{"algorithm": "SHA256", "checksumValue": digest}])


def pinned(pin):
    refs = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
             "referenceLocator": "pkg:generic/%s@%s" % (pin.name, pin.version)}]
    if pin.name in CPE:
        refs.append({"referenceCategory": "SECURITY", "referenceType": "cpe23Type",
                     "referenceLocator": CPE[pin.name] % pin.version})
    return package(pin.name, pin.version, pin.licence, packageFileName=os.path.basename(pin.path),
                   checksums=[{"algorithm": "SHA256", "checksumValue": pin.sha256}], externalRefs=refs)


def document(folder, version, build_id, epoch):
    foreign = [pinned(pin) for pin in sources.pins()]
    grub = debian("grub-pc-bin", "GPL-3.0-or-later")
    kernel = released(folder, "hayate-%s.elf" % version, version, foreign)
    iso = released(folder, "hayate-%s.iso" % version, version, [*foreign, grub])
    library = released(folder, "libhayate-net-%s.tar.xz" % version, version)
    tools = [debian(name) for name in ["gcc-" + output("gcc", "-dumpversion"), *TOOLS]]

    def relation(one, kind, other):
        return {"spdxElementId": one["SPDXID"], "relationshipType": kind, "relatedSpdxElement": other["SPDXID"]}

    itself = {"SPDXID": "SPDXRef-DOCUMENT"}
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", **itself, "name": "hayate-" + version,
        "documentNamespace": uuid.uuid5(uuid.NAMESPACE_OID, "hayate " + build_id).urn,
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: hayate-sbom"]},
        "packages": [iso, kernel, library, *foreign, grub, *tools],
        "relationships": [
            *(relation(itself, "DESCRIBES", part) for part in (iso, kernel, library)),
            relation(iso, "CONTAINS", kernel), relation(iso, "CONTAINS", grub),
            *(relation(kernel, "STATIC_LINK", part) for part in foreign),
            *(relation(tool, "BUILD_TOOL_OF", kernel) for tool in tools)],
    }


def main():
    folder, version = sys.argv[1:]
    with open("build/build-id", encoding="ascii") as file:
        build_id = file.read().strip()
    print(json.dumps(document(folder, version, build_id, int(os.environ["SOURCE_DATE_EPOCH"])), indent=1))


if __name__ == "__main__":
    main()
