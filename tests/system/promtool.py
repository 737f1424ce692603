"""Prometheus' promtool, which judges /metrics.

Debian has it in the package `prometheus`, which starts a server when it is installed, so nothing is
installed: it runs on its own libc from where the package is unpacked in the cache, about 20 MB
fetched once (tools/launcher/debs.py: signed by Debian, or refused). The system's own comes first.
"""
import os
import shutil

from launcher import debs

SUITE = "bookworm"
PACKAGES = ["prometheus", "libc6"]  # it is one program that wants libc alone
PROGRAM = "usr/bin/promtool"
KEEP = [PROGRAM, "usr/lib", "usr/lib64", "lib", "lib64"]


def find():
    """argv to start it with. LauncherError says why there is none."""
    if shutil.which("promtool"):
        return ["promtool"]
    name = "promtool-" + SUITE
    tree = debs.Tree(os.path.join(debs.cache_directory(), name))

    def there():
        return tree.start(PROGRAM) if os.path.exists(tree.path(PROGRAM)) else None

    def fetch(root):
        with debs.shown("fetching promtool") as progress:
            with debs.Debs([SUITE], progress) as packages:
                packages.update()
                packages.unpack(PACKAGES, root, alone=True)
        debs.Tree(root).prune(KEEP)
        return name

    return debs.once("promtool", there, fetch)
