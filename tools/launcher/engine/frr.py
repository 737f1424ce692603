"""FRRouting's daemons in the namespace: which of them a frr.conf needs, started, watched, restarted.

They run as FRR's own user, in a process namespace that ends with the agent (process.Container). Their
sockets, logs and process ids are in the run directory: `vtysh --vty_socket DIR`.
"""
import glob
import os
import re
import shutil
import socket
import subprocess
import time

from ..errors import LauncherError
from . import relay

FOLDERS = ("/usr/lib/frr", "/usr/libexec/frr", "/usr/local/sbin")
USER = "frr"
START_S = 10.0
STOP_S = 5.0
PAUSE_FIRST_S, PAUSE_MAX_S = 2.0, 60.0  # before a daemon is started again
STEADY_S = 60.0  # a daemon that ran for that long begins with the first pause

# Daemon: the lines that need it. zebra always runs, and mgmtd where FRR has it (9 and later).
LINES = (
    ("staticd", r"ip route |ipv6 route "),
    ("bgpd", r"router bgp "),
    ("ospfd", r"router ospf( |$)"),
    ("ospf6d", r"router ospf6( |$)"),
    ("isisd", r"router isis "),
    ("ripd", r"router rip( |$)"),
    ("ripngd", r"router ripng( |$)"),
    ("eigrpd", r"router eigrp "),
    ("babeld", r"router babel( |$)"),
    ("ldpd", r"mpls ldp( |$)"),
    ("pimd", r"(router pim|ip pim)( |$)"),
    ("bfdd", r"bfd$|(neighbor \S+|ip ospf|ipv6 ospf6|isis) bfd( |$)"),
)
ALL_DEPEND_ON = ("mgmtd", "zebra")
STATE = "/run/frr"  # where mgmtd has sockets, whatever its options: each engine has that folder for itself
# vtysh of FRRouting 9 and later reports each daemon's progress. Its own settings, vtysh.conf, are optional: if that
# file is not there, 10.3 says so and then, wrongly of frr.conf, that it failed with CMD_ERR_NO_FILE (lib/command.h).
# If frr.conf itself is not there, the line before says that too.
VTYSH_NOISE = re.compile(r"\[\d+\|\w+\] (sending configuration|done)$|Waiting for children to finish|"
                         r".*vtysh\.conf|Configuration file\[.*\] processing failure: 11$")
FPM = re.compile(r"^fpm address (\S+)(?: port (\d+))?$", re.M)
FPM_LINE = "fpm address %s port %d" % (relay.ADDRESS, relay.PORT)


def _lines(text):
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip()[:1] not in "!#")


def daemons_of(text):
    """The daemons that this configuration needs, zebra first."""
    lines = _lines(text)
    return ["zebra"] + [name for name, pattern in LINES if re.search("^(?:%s)" % pattern, lines, re.M)]


def check_fpm(text, path):
    """Whether zebra is told to send its routes to the relay."""
    found = FPM.findall(_lines(text))
    if not found:
        raise LauncherError("%s: add the line `%s`; without it the router gets no routes" % (path, FPM_LINE))
    if found != [(relay.ADDRESS, str(relay.PORT))] and found != [(relay.ADDRESS, "")]:
        raise LauncherError("%s: `fpm address %s` has to be `%s`: the agent carries the connection to the "
                            "router" % (path, " port ".join(filter(None, found[-1])), FPM_LINE))


def folder():
    for path in FOLDERS:
        if os.access(os.path.join(path, "zebra"), os.X_OK):
            return path
    raise LauncherError("FRRouting is not installed (Debian and Ubuntu: apt-get install frr)")


def read_config(path):
    """The text of a frr.conf that vtysh accepts."""
    if os.path.basename(path) != "frr.conf":
        raise LauncherError("--frr-config %s: the file has to be called frr.conf, as vtysh expects" % path)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise LauncherError("--frr-config %s: %s" % (path, getattr(error, "strerror", error))) from None
    check_fpm(text, path)
    return text


def complaints(said):
    """The lines of what vtysh has said that are about the configuration."""
    return [line for line in said.splitlines() if line.strip() and not VTYSH_NOISE.match(line)]


class Daemon:
    def __init__(self, name):
        self.name = name
        self.child = None
        self.begun = 0.0
        self.pause_s = PAUSE_FIRST_S / 2  # doubled before it is used
        self.again = None  # when to start it again


class Frr:
    """The daemons of one frr.conf. say(text) prints a line."""

    def __init__(self, container, run, config, text, say):
        self.container, self.run, self.config, self.say = container, run, config, say
        self.folder = folder()
        names = daemons_of(text)
        self.bind = None
        if os.access(os.path.join(self.folder, "mgmtd"), os.X_OK):
            names.insert(0, "mgmtd")
            os.makedirs(STATE, exist_ok=True)
            self.bind = (os.path.abspath(run), STATE)
        missing = [name for name in names if not os.access(os.path.join(self.folder, name), os.X_OK)]
        if missing:
            raise LauncherError("%s needs %s, which %s does not contain"
                                % (config, ", ".join(missing), self.folder))
        try:
            shutil.chown(run, USER, USER)
        except LookupError:
            raise LauncherError("there is no user %s: FRRouting is not installed properly" % USER) from None
        self.daemons = [Daemon(name) for name in names]
        self.is_bfd_distributed = False
        self.options = {}  # by daemon

    def _path(self, name):
        return os.path.join(self.run, name)

    def _options(self, name):
        """What it prints about its options, which differ between versions: FRRouting 10.3 has no file for what
        mgmtd configures, and no control socket of bfdd."""
        if name not in self.options:
            self.options[name] = subprocess.run([os.path.join(self.folder, name), "--help"], stdin=subprocess.DEVNULL,
                                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                                timeout=30, check=False).stdout
        return self.options[name]

    def _arguments(self, name):
        words = [os.path.join(self.folder, name), "-i", self._path(name + ".pid"), "-z", self._path("zserv.api"),
                 "--vty_socket", self.run, "-u", USER, "-g", USER, "-P", "0"]
        options = self._options(name)
        if "--config_file" in options:
            words += ["-f", "/dev/null"]
        control = ["--bfdctl", self._path("bfdd.sock")] if "--bfdctl" in options else []
        data_plane = ["--dplaneaddr", "ipv4:%s:%d" % (relay.ADDRESS, relay.BFD_PORT)]
        return words + {"zebra": ["-s", "90000000", "-M", "dplane_fpm_nl"],
                        "bfdd": control + (data_plane if self.is_bfd_distributed else []),
                        "ldpd": ["--ctl_socket", self._path("ldpd.sock")]}.get(name, [])

    def vtysh(self, *words, timeout_s=60):
        """Runs vtysh; returns (whether it succeeded, its output)."""
        folder_of_config = os.path.dirname(os.path.abspath(self.config))
        try:
            child = subprocess.run(
                ["vtysh", "--vty_socket", self.run, "--config_dir", folder_of_config, *words],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired:
            return False, "no answer within %g s" % timeout_s
        return child.returncode == 0, child.stdout

    def _launch(self, daemon):
        with open(self._path(daemon.name + ".log"), "ab") as log:
            daemon.child = self.container.popen(self._arguments(daemon.name), self.bind, stdin=subprocess.DEVNULL,
                                                stdout=log, stderr=log)
        daemon.begun, daemon.again = time.monotonic(), None

    def _wait(self, daemon):
        """Until it answers vtysh."""
        path = self._path(daemon.name + ".vty")
        while True:
            with socket.socket(socket.AF_UNIX) as probe:
                try:
                    probe.connect(path)
                    return
                except OSError:
                    pass
            if daemon.child.poll() is not None:
                raise LauncherError("%s ended at once; see %s" % (daemon.name, self._path(daemon.name + ".log")))
            if time.monotonic() > daemon.begun + START_S:
                raise LauncherError("%s does not answer after %g s; see %s"
                                    % (daemon.name, START_S, self._path(daemon.name + ".log")))
            time.sleep(0.02)

    def _configure(self, *words):
        good, said = self.vtysh("-b", *words)
        for line in complaints(said):
            self.say("vtysh: " + line)
        if not good:
            self.say("%s was not accepted as a whole; correct it and restart the agent" % self.config)

    def distribute_bfd(self, yes):
        """Whether the router runs bfdd's sessions. A change restarts bfdd."""
        if yes == self.is_bfd_distributed:
            return
        self.is_bfd_distributed = yes
        for daemon in self.daemons:
            if daemon.name == "bfdd" and daemon.child and daemon.again is None:
                self.say("bfdd is restarted: BFD sessions run on %s" % ("the router" if yes else "this machine"))
                daemon.child.kill()
                daemon.child.wait()
                daemon.again = time.monotonic()

    def start(self):
        for daemon in self.daemons:
            self._launch(daemon)
            self._wait(daemon)
        self._configure()
        self.say("%s run; vtysh --vty_socket %s" % (", ".join(each.name for each in self.daemons), self.run))

    def watch(self):
        """Starts daemons again that have ended. Returns the time of the next one, None: none is due."""
        now = time.monotonic()
        for daemon in self.daemons:
            if daemon.again is None and daemon.child.poll() is not None:
                self._plan(daemon, now)
                if daemon.name in ALL_DEPEND_ON:
                    self._end_others(daemon)
        if any(each.again is not None and each.name in ALL_DEPEND_ON for each in self.daemons):
            self._again([each for each in self.daemons if each.again is not None], now)
        else:
            for daemon in self.daemons:
                if daemon.again is not None:
                    self._again([daemon], now)
        return min((each.again for each in self.daemons if each.again is not None), default=None)

    def _plan(self, daemon, now):
        code = daemon.child.wait()
        daemon.pause_s = PAUSE_FIRST_S if now - daemon.begun > STEADY_S else min(2 * daemon.pause_s, PAUSE_MAX_S)
        daemon.again = now + daemon.pause_s
        self.say("%s ended (%s) and is started again in %g s; see %s" % (
            daemon.name, "signal %d" % -code if code < 0 else "exit code %d" % code, daemon.pause_s,
            self._path(daemon.name + ".log")))

    def _end_others(self, failed):
        """FRRouting's own supervisor does so too: bgpd of 8.4 does not tell a new zebra its routes."""
        self.say("the other daemons are restarted with it")
        for daemon in self.daemons:
            if daemon is not failed and daemon.again is None:
                daemon.child.kill()
                daemon.child.wait()
                daemon.again = failed.again

    def _again(self, daemons, now):
        """Starts them, in order, if all of them are due."""
        if max(each.again for each in daemons) > now:
            return
        for daemon in daemons:
            self._launch(daemon)
            try:
                self._wait(daemon)
            except LauncherError:
                daemon.child.kill()
                self._plan(daemon, time.monotonic())
                for other in daemons:
                    other.again = other.again or daemon.again
                    if other.child.poll() is None:
                        other.child.kill()
                        other.child.wait()
                return
        if len(daemons) == 1:
            self._configure("-d", daemons[0].name)
        else:
            self._configure()
        self.say("%s run%s again" % (", ".join(each.name for each in daemons), "s" if len(daemons) == 1 else ""))

    def stop(self):
        """Ends them, zebra last."""
        for daemon in reversed(self.daemons):
            if daemon.child is not None and daemon.child.poll() is None:
                daemon.child.terminate()
                try:
                    daemon.child.wait(STOP_S)
                except subprocess.TimeoutExpired:
                    daemon.child.kill()
                    daemon.child.wait()
            for pattern in (".pid", ".vty", "*.sock"):  # mgmtd has two sockets more
                _remove(self._path(daemon.name), pattern)
        _remove(self._path("zserv.api"))


def _remove(path, pattern=""):
    for found in glob.glob(glob.escape(path) + pattern):
        try:
            os.unlink(found)
        except FileNotFoundError:
            pass
