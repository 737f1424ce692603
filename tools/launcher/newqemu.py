"""A QEMU new enough for nicsim's models, without changing the system.

The models use vfio-user. QEMU has the client (device vfio-user-pci) from 10.1 on; stable distributions
have older versions. The choice, in this order:

1. $HAYATE_QEMU, if set: the user's own QEMU; it is an error if it is unsuitable.
2. The system's qemu-system-x86_64, if suitable.
3. A copy in $HAYATE_CACHE (build/cache): Debian's package from backports or unstable, verified, with
   all its libraries unpacked beside the system and started through its own ld.so (debs.py). It is
   fetched once, when first needed: about 40 MB in 10 s.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
from collections import namedtuple

from . import debs
from .errors import LauncherError
from .options import QEMU

MINIMUM = (10, 1)
DEVICE = "vfio-user-pci"
PACKAGE = "qemu-system-x86"
# Suites to try, in this order. A backports suite needs its stable suite.
SOURCES = [["trixie", "trixie-backports"], ["sid"]]
# Files kept of the packages. The rest is unused and includes set-user-ID programs.
KEEP = ["usr/bin/" + QEMU, "usr/lib", "usr/lib64", "lib", "lib64", "usr/share/qemu",
        "usr/share/seabios"]
# Debian's search path for firmware; `-L` replaces all of it.
FIRMWARE = ["usr/share/qemu", "usr/share/seabios", "usr/lib/ipxe/qemu"]

# argv: the first words of its command line. env: additions to the environment. version: as text.
Qemu = namedtuple("Qemu", "argv env version")


def find(minimum=MINIMUM, device=DEVICE):
    """The Qemu to use. May fetch it, which takes some seconds and shows progress on stderr."""
    named = os.environ.get("HAYATE_QEMU")
    if named:
        qemu = Qemu([named], {}, None)
        reason, version = _judge(qemu, minimum, device)
        if reason:
            raise LauncherError("HAYATE_QEMU=%s: %s" % (named, reason))
        return qemu._replace(version=version)
    if shutil.which(QEMU):
        qemu = Qemu([QEMU], {}, None)
        reason, version = _judge(qemu, minimum, device)
        if not reason:
            return qemu._replace(version=version)
    return debs.once("qemu", lambda: _cached(minimum), lambda work: _fetch(work, minimum, device))


def _numbers(version):
    return tuple(int(part) for part in version.split("."))


def _judge(qemu, minimum, device):
    """(why this QEMU is unsuitable or '', its version)."""
    said = _ask(qemu, ["--version"])
    match = re.search(r"version (\d+(?:\.\d+)+)", said)
    if not match:
        return "it does not run, or is no QEMU", None
    version = match.group(1)
    if _numbers(version) < minimum:
        return "it is QEMU %s; %s or newer is needed" % (version, ".".join(map(str, minimum))), None
    # Not `-device help`: that loads all modules, including the system's, and fails on those of another
    # QEMU.
    if not _ask(qemu, ["-machine", "none", "-device", device + ",help"]).strip():
        return "QEMU %s, but built without %s" % (version, device), None
    return "", version


def _ask(qemu, arguments):
    try:
        return subprocess.run(qemu.argv + arguments, env={**os.environ, **qemu.env}, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=30, text=True).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _cached(minimum):
    """The newest copy in the cache that is new enough, or None."""
    best = None
    for root in glob.glob(os.path.join(debs.cache_directory(), "qemu-*")):
        match = re.fullmatch(r"qemu-(\d+(?:\.\d+)+)", os.path.basename(root))
        if match and _numbers(match.group(1)) >= minimum:
            best = max(best or ((), ""), (_numbers(match.group(1)), root))
    return _at(best[1])._replace(version=".".join(map(str, best[0]))) if best else None


def _at(root):
    """The Qemu unpacked at `root`."""
    tree = debs.Tree(root)
    argv = tree.start("usr/bin/" + QEMU)
    for name in FIRMWARE:
        if os.path.isdir(tree.path(name)):
            argv += ["-L", tree.path(name)]
    # Without this it would load the system's modules (accelerators, block drivers).
    modules = [os.path.join(path, "qemu") for path in tree.libraries()]
    env = {"QEMU_MODULE_DIR": next(filter(os.path.isdir, modules), tree.path("usr/lib"))}
    return Qemu(argv, env, None)


def _fetch(root, minimum, device):
    """Unpacks a QEMU into `root`; returns the directory name for its version."""
    wanted = "QEMU %s or newer with %s" % (".".join(map(str, minimum)), device)
    try:
        with debs.shown("fetching QEMU") as progress:
            _fetch_first(root, minimum, progress)
    except LauncherError as error:
        raise LauncherError(_no_qemu(wanted, error)) from None
    debs.Tree(root).prune(KEEP)
    reason, version = _judge(_at(root), minimum, device)
    if reason:
        raise LauncherError(_no_qemu(wanted, "the one from Debian: " + reason))
    return "qemu-" + version


def _fetch_first(root, minimum, progress):
    """Unpacks QEMU from the first of SOURCES that has it new enough."""
    reason = None
    for suites in SOURCES:
        try:
            with debs.Debs(suites, progress) as packages:
                packages.update()
                version = packages.plan([PACKAGE])[PACKAGE]
                # Debian's version: [epoch:]upstream[+dfsg…]-revision
                upstream = re.match(r"(?:\d+:)?(\d+(?:\.\d+)+)", version).group(1)
                if _numbers(upstream) >= minimum:
                    packages.unpack([PACKAGE], root)
                    return
                reason = LauncherError("Debian %s has only %s" % (suites[-1], version))
        except LauncherError as error:
            reason = reason or error
    raise reason


def _no_qemu(wanted, why):
    return ("there is no %s here (%s). Either let apt reach a Debian mirror (%s=http://…), or "
            "install such a QEMU, or name one: HAYATE_QEMU=/path/to/%s"
            % (wanted, why, debs.MIRROR_VARIABLE, QEMU))


def main():
    """tools/get-qemu: prints a shell command that starts it, `env ENV… PROGRAM ARGUMENTS…`."""
    import shlex
    try:
        qemu = find()
    except LauncherError as error:
        print("get-qemu: %s" % error, file=sys.stderr)
        return error.code
    print(" ".join(["env"] + [shlex.quote("%s=%s" % item) for item in qemu.env.items()]
                   + [shlex.quote(word) for word in qemu.argv]))
    return 0
