"""The sources of foreign code (third/pins): Debian's source tarballs, fetched once, verified, unpacked.

$HAYATE_CACHE (build/cache) holds each tarball under its own name and its sources as NAME-VERSION. A
tarball that somebody put there is used like one that was fetched. Its size and SHA-256 are those of
third/pins, else it is refused; so it does not matter from where it came.
"""
import hashlib
import os
import subprocess
import sys
import tarfile
from collections import namedtuple

from . import debs
from .errors import LauncherError
from .options import ROOT

PINS = os.path.join(ROOT, "third", "pins")
APT_HELPER = "/usr/lib/apt/apt-helper"
FETCH_S = 300
# What is unpacked, by name: folders and files below the tarball's own folder.
KEEP = {"mbedtls": ["library", "include", "LICENSE"],
        "libsodium": ["src/libsodium", "LICENSE"]}

# path: in Debian's pool. size: in bytes.
Pin = namedtuple("Pin", "name version path size sha256 licence")


def pins(path=PINS):
    found = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split("#")[0].split()
            if words:
                name, version, where, size, sha256, licence = words
                found.append(Pin(name, version, where, int(size), sha256, licence))
    return found


def tarball(pin):
    """Where the cache has or would have it."""
    return os.path.join(debs.cache_directory(), os.path.basename(pin.path))


def _is_pinned(path, pin):
    with open(path, "rb") as file:
        data = file.read(pin.size + 1)
    return len(data) == pin.size and hashlib.sha256(data).hexdigest() == pin.sha256


def _fetch(pin, to):
    """Fetches the tarball into the file `to`, by apt's proxies and the mirror that apt uses."""
    try:
        if not os.access(APT_HELPER, os.X_OK):
            raise LauncherError("%s: no such program" % APT_HELPER)
        address = "%s/%s" % (debs.mirror().rstrip("/"), pin.path)
        sandbox = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
        done = subprocess.run([APT_HELPER, *sandbox, "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=20",
                               "-o", "Acquire::https::Timeout=20", "download-file", address, to,
                               "SHA256:" + pin.sha256], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=FETCH_S)
        if done.returncode != 0:
            said = [line[2:].strip() for line in done.stdout.splitlines() if line.startswith("E:")]
            raise LauncherError("%s: %s" % (address, (said + ["no reason given"])[0]))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LauncherError(str(error)) from None
    except LauncherError as error:
        raise LauncherError("cannot fetch %s %s (%s). Either let apt reach a Debian mirror (%s=http://…), or put "
                            "%s into %s (HAYATE_CACHE names another place)"
                            % (pin.name, pin.version, error, debs.MIRROR_VARIABLE,
                               os.path.basename(pin.path), debs.cache_directory())) from None


def _wanted(member, keep):
    """`member` of a tarball if it is a plain file or folder of `keep`, without the tarball's own folder."""
    parts = member.name.split("/")
    inside = "/".join(parts[1:])
    if member.name.startswith("/") or ".." in parts or not (member.isfile() or member.isdir()):
        return None
    if not any(inside == name or inside.startswith(name + "/") for name in keep):
        return None
    member.name = inside
    member.mode = 0o755 if member.isdir() else 0o644
    return member


def _make(pin, work):
    """Unpacks into `work`; returns the folder's name in the cache."""
    path = tarball(pin)
    if os.path.exists(path) and not _is_pinned(path, pin):
        raise LauncherError("%s is not the one of third/pins: its size or SHA-256 differs" % path)
    if not os.path.exists(path):
        with debs.shown("fetching %s %s" % (pin.name, pin.version)) as progress:
            progress.set(0)
            partial = os.path.join(work, "tarball")
            _fetch(pin, partial)
            if not _is_pinned(partial, pin):
                raise LauncherError("%s: what was fetched has another SHA-256" % pin.path)
            os.rename(partial, path)
            progress.set(100)
    with tarfile.open(path) as archive:
        for member in archive:
            member = _wanted(member, KEEP[pin.name])
            if member:
                archive.extract(member, work)
    return "%s-%s" % (pin.name, pin.version)


def sources(pin):
    """The folder with the sources; fetches them if need be."""
    folder = os.path.join(debs.cache_directory(), "%s-%s" % (pin.name, pin.version))
    return debs.once(pin.name, lambda: folder if os.path.isdir(folder) else None,
                     lambda work: _make(pin, work))


def link(folder):
    """Makes FOLDER/NAME lead to the sources of each pin."""
    os.makedirs(folder, exist_ok=True)
    for pin in pins():
        target = os.path.relpath(sources(pin), os.path.realpath(folder))
        name = os.path.join(folder, pin.name)
        fresh = "%s.%d" % (name, os.getpid())
        os.symlink(target, fresh)
        os.replace(fresh, name)


def main(words):
    try:
        if len(words) == 2 and words[0] == "--link":
            link(words[1])
        elif words == ["--tarballs"]:
            for pin in pins():
                sources(pin)
                print(tarball(pin))
        else:
            print("usage: get-crypto --link FOLDER | --tarballs", file=sys.stderr)
            return 2
    except (LauncherError, OSError, tarfile.TarError) as error:
        print("get-crypto: %s" % error, file=sys.stderr)
        return getattr(error, "code", 1)
    return 0
