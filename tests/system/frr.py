"""FRRouting's daemons in hosts of their own, and what they run with: the routing engine, and its peers
BIRD, GoBGP and a second FRRouting.

Two versions of FRRouting are tested: the installed one, and Debian 13's, which is unpacked beside the
system (tools/launcher/debs.py) into build/cache if the installed one is older.
"""
import glob
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

import pytest
from conftest import eventually, netlab

from launcher import debs
from launcher.errors import LauncherError

RUN = "/var/run/frr"  # its daemons' sockets are below it, in a folder for each host
STATE = "/var/lib/frr"  # and what they want to remember
NEWER = (10, 0)
SUITE = "trixie"


class Frr:
    """One version: where its programs are, and how they are started."""

    def __init__(self, root=None):
        self.tree = debs.Tree(root) if root else None
        self.version = tuple(map(int, re.search(r"version (\d+)\.(\d+)", subprocess.run(
            self.argv("usr/lib/frr/zebra") + ["-v"], capture_output=True, text=True,
            timeout=30, check=False).stdout).groups()))

    def argv(self, program):
        """The first words of the command line of a program, whose path is without its first slash."""
        if not self.tree:
            return ["/" + program]
        words = self.tree.start(program)
        at = words.index("--library-path") + 1
        words[at] = ":".join(self.libraries() + [words[at]])
        return words

    def libraries(self):
        return [path for directory in self.tree.libraries()
                for path in glob.glob(os.path.join(directory, "frr"))]

    def module(self, name):
        """What a daemon's option -M has to be for a module."""
        if not self.tree:
            return name
        return next(path for directory in self.libraries() for path in
                    glob.glob(os.path.join(directory, "modules", name + ".so")))

    def has(self, daemon):
        return os.path.exists(self.tree.path("usr/lib/frr/" + daemon) if self.tree
                              else "/usr/lib/frr/" + daemon)


def installed():
    return Frr()


def newer():
    """Debian 13's version; skips the test, with the reason, where it cannot be had."""
    if installed().version >= NEWER:
        pytest.skip("the installed FRRouting is %d.%d" % installed().version)
    try:
        return Frr(debs.once("frr", _cached, _fetch))
    except LauncherError as error:
        pytest.skip("FRRouting %d or newer: %s" % (NEWER[0], error))


FRR = {"installed": installed, "newer": newer}


def _cached():
    found = glob.glob(os.path.join(debs.cache_directory(), "frr-*"))
    return max(found, default=None)


def _fetch(root):
    with debs.shown("fetching FRRouting") as progress, debs.Debs([SUITE], progress) as packages:
        packages.update()
        packages.plan(["frr"])
        packages.unpack(["frr"], root)
    tree = debs.Tree(root)
    tree.prune(["usr/lib/frr", "usr/bin/vtysh"] +
               [os.path.relpath(path, root) for path in tree.libraries()])
    return "frr-%d.%d" % Frr(root).version


class FrrHost(netlab.Host):
    """A host with daemons, which run as FRRouting's own user. Their sockets, files and outputs are in the
    folder `work`."""

    def __init__(self, name, frr, queues=1):
        super().__init__(name, queues)
        self.frr = frr
        self.running = {}
        os.makedirs(RUN, exist_ok=True)
        self.others = set(os.listdir(RUN))
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="hayate-", dir=RUN))
        self.work.chmod(0o755)
        shutil.chown(self.work, "frr", "frr")

    def close(self):
        super().close()
        for folder in (self.work, os.path.join(STATE, self.work.name)):
            shutil.rmtree(folder, ignore_errors=True)
        for name in set(os.listdir(RUN)) - self.others:
            if name.startswith("ospf"):  # ospfd and ospf6d 8.4 write there in spite of -N
                pathlib.Path(RUN, name).unlink(missing_ok=True)

    def start(self, daemon, config=None, *arguments):
        """Starts a daemon with this configuration file. None: mgmtd configures it, or nobody."""
        path = self.work / (daemon + ".conf")
        if config is not None:
            path.write_text(config)
            path.chmod(0o644)
            arguments = ("-f", str(path), *arguments)
        self.running[daemon] = self.popen(
            [*self.frr.argv("usr/lib/frr/" + daemon), "-N", self.work.name, "-u", "frr", "-g", "frr",
             "-A", "127.0.0.1", "--log", "stdout", *arguments],
            stdout=open(self.work / (daemon + ".log"), "ab"), stderr=-2, stdin=-3)

    def end(self, *daemons, by=signal.SIGKILL):
        """Sends all of them the signal, then waits for their ends."""
        for daemon in daemons:
            self.running[daemon].send_signal(by)
        for daemon in daemons:
            child = self.running.pop(daemon)
            child.wait(30)
            self.children.remove(child)
            (self.work / (daemon + ".vty")).unlink(missing_ok=True)
            if daemon == "zebra":
                (self.work / "zserv.api").unlink(missing_ok=True)

    def has_vty(self, daemon):
        return (self.work / (daemon + ".vty")).exists()

    def ask(self, daemon, *lines):
        """Types lines into a daemon's console; returns its output."""
        return self.run(self.vtysh(daemon, *lines), check=True).stdout

    def vtysh(self, daemon, *lines):
        words = [word for line in lines for word in ("-c", line)]
        return self.frr.argv("usr/bin/vtysh") + ["-N", self.work.name, "-d", daemon, *words]

    def say(self, daemon, *lines):
        """The same in configuration mode."""
        return self.ask(daemon, "configure terminal", *lines)

    def six(self, device, *addresses):
        """Enables IPv6 on a device, with these addresses at once and no others."""
        self.sysctl("net.ipv6.conf.%s.addr_gen_mode" % device, 1)
        self.sysctl("net.ipv6.conf.%s.accept_ra" % device, 0)
        self.sysctl("net.ipv6.conf.%s.disable_ipv6" % device, 0)
        for address in addresses:
            self.ip("-6", "address", "add", address, "dev", device, "nodad")


def link(one, other, device, index, four, six):
    """A cable between two hosts: a veth of the same name at either end. four, six: the pair of addresses
    of each family; index: of the first one's end."""
    one.ip("link", "add", device, "index", str(index), "type", "veth", "peer", "name", device, "netns",
           str(other.holder.pid))
    for host, mine, mine6 in zip((one, other), four, six):
        host.ip("address", "add", mine, "dev", device)
        host.ip("link", "set", device, "up")
        host.six(device, *mine6)


class Engine(FrrHost):
    """The routing engine. `router` is the address of Hayate, `own` that of the engine, on its link eth0."""

    def __init__(self, frr, router, own, groups=False, name="engine", queues=1):
        super().__init__(name, frr, queues)
        self.configure(own + "/24", router)
        self.groups = groups
        self.router = router

    def has_nexthop_objects(self):
        """Whether the kernel has them. Without, zebra names objects that it does not send."""
        made = self.run(["ip", "nexthop", "add", "id", "1", "blackhole"]).returncode == 0
        self.run(["ip", "nexthop", "delete", "id", "1"])
        return made

    def start_zebra(self, *arguments, fpm=None):
        """fpm: address and port to connect to, if not Hayate's."""
        if self.frr.has("mgmtd") and "mgmtd" not in self.running:
            self.start("mgmtd")
        lines = ("fpm address %s port %d" % (fpm or (self.router, 2620)),
                 ("" if self.groups else "no ") + "fpm use-next-hop-groups")
        mgmtd = self.frr.has("mgmtd")  # then zebra need not read a file
        self.start("zebra", None if mgmtd else "\n".join(lines) + "\n", "-s", "90000000", "-M",
                   self.frr.module("dplane_fpm_nl"), *arguments)
        # a daemon that does not find it tries again after 10 s
        eventually((self.work / "zserv.api").exists, 20, "zebra runs")
        if mgmtd:
            words = self.vtysh("zebra", "configure terminal", *lines)
            eventually(lambda: self.run(words).returncode == 0, 20, "zebra takes the lines")

    def start_statics(self, *lines):
        """Starts staticd with these routes."""
        if self.frr.has("mgmtd"):  # configures it
            self.start("staticd")
            words = self.vtysh("mgmtd", "configure terminal", *lines)
            eventually(lambda: self.run(words).returncode == 0, 20, "mgmtd takes the routes")
        else:
            self.start("staticd", "\n".join(lines) + "\n")

    def say_static(self, *lines):
        self.say("mgmtd" if self.frr.has("mgmtd") else "staticd", *lines)


class Peers(FrrHost):
    """The engine's neighbours, with BIRD and GoBGP."""

    def __init__(self, frr):
        super().__init__("peers", frr)
        self.ip("link", "delete", "eth0")

    def start_bird(self, config):
        path = self.work / "bird.conf"
        path.write_text("log stderr all;\n" + config)
        bird = self.popen(["bird", "-f", "-c", str(path), "-s", str(self.work / "bird.ctl")],
                          stdout=open(self.work / "bird.log", "ab"), stderr=-2, stdin=-3)
        eventually(lambda: (self.work / "bird.ctl").exists() or bird.poll() is not None, 20, "BIRD runs")
        assert bird.poll() is None, (self.work / "bird.log").read_text()

    def birdc(self, *words):
        return self.run(["birdc", "-s", str(self.work / "bird.ctl"), *words]).stdout

    def start_gobgp(self, config):
        path = self.work / "gobgp.toml"
        path.write_text(config)
        self.popen(["gobgpd", "-f", str(path), "--api-hosts", "127.0.0.1:50051", "--pprof-disable"],
                   stdout=open(self.work / "gobgp.log", "ab"), stderr=-2, stdin=-3)
        eventually(lambda: self.run(["gobgp", "global"]).returncode == 0, 20, "GoBGP runs")

    def gobgp(self, *words):
        return self.run(["gobgp", *words], check=True).stdout
