"""Prometheus' promtool, which checks /metrics.

Debian's package `prometheus` starts a server when it is installed, so nothing is installed:
promtool runs with its own libc from the unpacked package in the cache, about 20 MB fetched once
(tools/launcher/debs.py: signed by Debian, or refused). The system's own promtool takes precedence.
"""
import os
import shutil

from launcher import debs

SUITE = "bookworm"
PACKAGES = ["prometheus", "libc6"]  # a single program that needs only libc
PROGRAM = "usr/bin/promtool"
KEEP = [PROGRAM, "usr/lib", "usr/lib64", "lib", "lib64"]


def find():
    """The argv that starts it. LauncherError gives the reason if there is none."""
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
