"""Debian packages unpacked beside the system: nothing is installed, apt's own state is unchanged.

1. apt runs with its own configuration, lists, caches and an empty list of installed packages, all in
   one temporary directory. Only the network settings (proxies, time-outs, credentials) and the
   mirror's address come from the system (`mirror`).
2. Only packages signed by Debian are unpacked. They are verified by the system's
   debian-archive-keyring. A repository without a valid signature is refused, whatever the system's
   settings.
3. A package comes with all its dependencies, including libc, because the list of installed packages
   is empty. Unpacked programs run on their own libraries, through their own ld.so (`Tree`). For a
   single program of a large package, the caller can name exactly the packages that it needs.
4. No maintainer script runs.
"""
import contextlib
import fcntl
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

from . import process
from .errors import LauncherError
from .options import ROOT

MIRROR_VARIABLE = "HAYATE_DEBIAN_MIRROR"
KEYRINGS = ["/usr/share/keyrings/debian-archive-keyring.gpg",
            "/usr/share/keyrings/debian-archive-keyring.pgp"]
# The list of mirrors in the package python-apt-common, which Ubuntu has too.
KNOWN_MIRRORS = "/usr/share/python-apt/templates/Debian.info"
APT_S = 300        # for one run of apt
UNPACK_S = 120     # for one package
LOCK_S = 600       # for another process that fetches the same

# Progress at the end of each phase, in percent of the whole time.
LISTS, RESOLVED, FETCHED, UNPACKED = 25, 35, 65, 100


def cache_directory():
    return os.path.abspath(os.environ.get("HAYATE_CACHE") or os.path.join(ROOT, "build", "cache"))


class Progress:
    """On a terminal, shows `what: 42 %` at the cursor and erases it at the end; else prints one line."""

    def __init__(self, what):
        self.what = what
        self.stream = sys.stderr
        self.terminal = self.stream.isatty()
        self.shown = None

    def set(self, percent):
        percent = int(percent)
        if percent == self.shown:
            return
        if self.terminal:
            # Save the cursor, erase to the end of the line, write, restore: a step's text to the left
            # stays.
            self.stream.write("\x1b7\x1b[K%s: %d %%\x1b8" % (self.what, percent))
            self.stream.flush()
        elif self.shown is None:
            self.stream.write("%s, once, into %s\n" % (self.what, cache_directory()))
            self.stream.flush()
        self.shown = percent

    def end(self):
        if self.terminal and self.shown is not None:
            self.stream.write("\x1b[K")
            self.stream.flush()


def once(name, find, make):
    """Returns find() if that is not None; else calls make(DIRECTORY) under a lock, then find() again.

    make fills the empty DIRECTORY and returns its final name under the cache directory. The directory
    gets this name only when it is complete, so an existing name is valid. Of several processes one
    makes it and the others wait.
    """
    found = find()
    if found is not None:
        return found
    cache = cache_directory()
    try:
        os.makedirs(cache, exist_ok=True)
        lock = os.open(os.path.join(cache, name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC,
                       0o644)
    except OSError as error:
        raise LauncherError("%s: %s (HAYATE_CACHE names another place)"
                            % (cache, error.strerror)) from None
    work = os.path.join(cache, name + ".unfinished")
    try:
        _lock(lock, cache, name)
        found = find()
        if found is not None:
            return found
        shutil.rmtree(work, ignore_errors=True)  # left by a process that was killed
        os.mkdir(work)
        os.rename(work, os.path.join(cache, make(work)))
        return find()
    except OSError as error:
        raise LauncherError("%s: %s" % (error.filename or cache, error.strerror)) from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
        os.close(lock)


def _lock(fd, cache, name):
    deadline = time.monotonic() + LOCK_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise LauncherError("another process has been making %s/%s for %d s"
                                    % (cache, name, LOCK_S)) from None
            time.sleep(0.05)


def _output(argv):
    """The output of a short program, or '' if it is missing or takes too long."""
    try:
        return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.DEVNULL, timeout=30, text=True).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def known_mirror():
    """Debian's own mirror as the system's list of mirrors names it, or None without that list.

    By HTTP, also where the list says HTTPS: a bare system has no certificates of authorities. What is
    fetched has a signature of Debian's or the SHA-256 of third/pins.
    """
    try:
        with open(KNOWN_MIRRORS, encoding="utf-8") as file:
            found = re.search(r"^BaseURI:\s*https?://(\S+)$", file.read(), re.MULTILINE)
    except OSError:
        return None
    return "http://" + found.group(1) if found else None


def mirror():
    """Address of a Debian mirror: $HAYATE_DEBIAN_MIRROR, or the one that this system's apt uses, or
    on Ubuntu the one that the system's list of mirrors names."""
    wanted = os.environ.get(MIRROR_VARIABLE)
    if wanted:
        return wanted
    # Before the first `apt-get update` only the address is known; the other fields stay unexpanded.
    text = _output(["apt-get", "indextargets", "--format", "$(SITE)\t$(ORIGIN)\t$(LABEL)",
                    "Created-By: Packages"])
    for line in text.splitlines():
        site, origin, label = line.split("\t")
        unknown = "$(" in origin + label or not origin + label
        if site.startswith("cdrom:") or "security" in site:
            continue
        if unknown or (origin, label) == ("Debian", "Debian"):
            return site
    known = known_mirror()
    if known:
        return known
    raise LauncherError("apt knows no Debian mirror here; install python-apt-common, which names one, "
                        "or name one with %s=http://…" % MIRROR_VARIABLE)


def keyring():
    for path in KEYRINGS:
        if os.path.exists(path):
            return path
    raise LauncherError("Debian's signatures cannot be verified: %s is missing "
                        "(apt-get install debian-archive-keyring)" % KEYRINGS[0])


def check_programs():
    for program in ("apt-get", "apt-config", "dpkg-deb"):
        if not shutil.which(program):
            raise LauncherError("%s: no such program: packages can be fetched only on Debian and "
                                "its derivatives" % program)


class Debs:
    """Packages of some suites, fetched and unpacked. A context manager: its directory is temporary.

    suites: all of the same mirror. The last is preferred for the requested packages and, where
    necessary, for their dependencies.
    """

    def __init__(self, suites, progress):
        check_programs()
        self.suites = suites
        self.progress = progress
        self.directory = None

    def __enter__(self):
        source = "deb [signed-by=%s] %s %%s main\n" % (keyring(), mirror())
        os.makedirs(cache_directory(), exist_ok=True)
        self.directory = tempfile.mkdtemp(prefix="apt-", dir=cache_directory())
        for name in ("state/lists/partial", "cache/archives/partial", "none"):
            os.makedirs(self._path(name))
        self._write("sources.list", "".join(source % suite for suite in self.suites))
        self._write("status", "")
        self._write("apt.conf", self._configuration())
        return self

    def __exit__(self, *exc):
        shutil.rmtree(self.directory, ignore_errors=True)
        return False

    def _path(self, name):
        return os.path.join(self.directory, name)

    def _write(self, name, text):
        with open(self._path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def _configuration(self):
        # The system's own configuration is not read (Parts, Main), because some of its hooks delete
        # the system's downloads. Acquire:: holds the network settings.
        lines = [line for line in _output(["apt-config", "dump"]).splitlines()
                 if re.match(r"Acquire::(?!IndexTargets|Changelogs|Languages)\S+ \".+\";$", line)]
        ours = {
            "Dir::Etc::Parts": self._path("none"),
            "Dir::Etc::Main": self._path("none/apt.conf"),
            "Dir::Etc::SourceList": self._path("sources.list"),
            "Dir::Etc::SourceParts": self._path("none"),
            "Dir::Etc::Preferences": self._path("none/preferences"),
            "Dir::Etc::PreferencesParts": self._path("none"),
            "Dir::State": self._path("state"),
            "Dir::State::Lists": self._path("state/lists"),
            "Dir::State::Status": self._path("status"),
            "Dir::Cache": self._path("cache"),
            "Dir::Log": self._path("none"),
            "APT::Default-Release": self.suites[-1],
            "APT::Install-Recommends": "false",
            "APT::Get::AllowUnauthenticated": "false",
            "Acquire::AllowInsecureRepositories": "false",
            "Acquire::AllowWeakRepositories": "false",
            "Acquire::AllowDowngradeToInsecureRepositories": "false",
            "Acquire::Languages": "none",
            "Acquire::Retries": "2",
            "Acquire::http::Timeout": "20",
            "Acquire::https::Timeout": "20",
            # apt's own user may have no access to the directory.
            "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
            # No other process uses these directories, and an ordinary user cannot take the lock.
            "Debug::NoLocking": "true",
        }
        return "\n".join(lines + ['%s "%s";' % item for item in ours.items()]) + "\n"

    def _apt(self, words, start=0, end=0, cwd=None):
        """Runs apt-get and returns its output. Its progress moves ours from `start` to `end`."""
        reader, writer = os.pipe()
        environment = {**os.environ, "APT_CONFIG": self._path("apt.conf"), "LC_ALL": "C",
                       "DEBIAN_FRONTEND": "noninteractive"}
        with tempfile.TemporaryFile() as out, os.fdopen(reader) as status:
            child = process.popen(["apt-get", "-o", "APT::Status-Fd=%d" % writer, *words],
                                  stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                  pass_fds=[writer], env=environment, cwd=cwd)
            os.close(writer)
            try:
                # apt bounds each of its waits (Timeout above); this bounds their sum.
                deadline = time.monotonic() + APT_S
                for line in status:
                    match = re.match(r"dlstatus:\d+:([\d.]+):", line)
                    if match:
                        share = min(float(match.group(1)), 100) / 100
                        self.progress.set(start + share * (end - start))
                    if time.monotonic() > deadline:
                        raise subprocess.TimeoutExpired("apt-get", APT_S)
                child.wait(max(1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise LauncherError("apt-get %s took more than %d s" % (words[0], APT_S)) from None
            finally:
                process.stop(child)
            out.seek(0)
            text = out.read().decode("utf-8", "replace")
        if child.returncode != 0:
            raise LauncherError(_reason(words[0], text))
        return text

    def update(self):
        """Fetches the lists of packages."""
        self.progress.set(0)
        self._apt(["update", "-o", "APT::Update::Error-Mode=any",
                   "-o", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false"], 0, LISTS)

    def plan(self, packages):
        """{name: version} of `packages` and all their dependencies."""
        text = self._apt(["install", "-y", "-qq", "--print-uris", *packages])
        self.progress.set(RESOLVED)
        plan = {}
        for name in re.findall(r"^'\S+' (\S+\.deb) ", text, re.MULTILINE):
            package, version, _ = urllib.parse.unquote(name).split("_")
            plan[package] = version
        return plan

    def unpack(self, packages, root, alone=False):
        """Fetches `packages`, with their dependencies unless `alone`, and unpacks them into `root`."""
        if alone:
            self._apt(["download", *packages], RESOLVED, FETCHED, self._path("cache/archives"))
        else:
            self._apt(["install", "-y", "-qq", "--download-only", *packages], RESOLVED, FETCHED)
        waiting = glob.glob(self._path("cache/archives/*.deb"))
        total = sum(os.path.getsize(path) for path in waiting)
        # The largest first, so that all CPUs finish at about the same time.
        waiting.sort(key=os.path.getsize)
        running, done = [], 0
        try:
            while waiting or running:
                if waiting and len(running) < (os.cpu_count() or 1):
                    path = waiting.pop()
                    running.append((path, process.popen(["dpkg-deb", "-x", path, root],
                                                        stdin=subprocess.DEVNULL)))
                    continue
                path, child = running.pop(0)
                if child.wait(UNPACK_S) != 0:
                    raise LauncherError("dpkg-deb cannot unpack %s" % os.path.basename(path))
                done += os.path.getsize(path)
                os.unlink(path)
                self.progress.set(FETCHED + done / total * (UNPACKED - FETCHED))
        finally:
            for _, child in running:
                process.stop(child)


def _reason(action, text):
    """One line with the reason why apt-get failed."""
    said = [line[2:].strip() for line in text.splitlines() if line.startswith("E:")]
    warned = [line[2:].strip() for line in text.splitlines() if line.startswith(("W:", "Err:"))]
    reason = (said + warned + ["no reason given"])[0]
    if "NO_PUBKEY" in text or "Missing key" in text:
        reason = ("%s does not hold the key that signs it: a newer package debian-archive-keyring "
                  "does" % keyring())
    elif re.search(r"resolv|connect|timed out|unreachable", text, re.IGNORECASE):
        reason += " (no network, or a proxy that apt does not know of?)"
    return "apt-get %s: %s" % (action, reason)


class Tree:
    """A directory with unpacked packages, whose programs run in place."""

    def __init__(self, root):
        self.root = root

    def path(self, name):
        return os.path.join(self.root, name)

    def libraries(self):
        """The library directories, for merged and unmerged /usr."""
        return [path for pattern in ("usr/lib/*-linux-gnu", "lib/*-linux-gnu")
                for path in glob.glob(self.path(pattern))]

    def start(self, program, name=None):
        """argv that starts `program` through its own ld.so, without any of the system's libraries. name:
        another argv[0], for programs that depend on it."""
        for directory in self.libraries():
            for loader in glob.glob(os.path.join(directory, "ld-linux*.so.*")):
                return [loader, "--inhibit-cache", "--library-path", ":".join(self.libraries()),
                        "--argv0", name or os.path.basename(program), self.path(program)]
        raise LauncherError("%s: no ld-linux*.so in it" % self.root)

    def prune(self, keep):
        """Removes everything except the paths `keep` and their contents."""
        def walk(relative):
            full = self.path(relative)
            if relative in keep:
                return
            inside = any(name.startswith(relative + "/") for name in keep) or not relative
            if inside and os.path.isdir(full) and not os.path.islink(full):
                for name in os.listdir(full):
                    walk(os.path.join(relative, name))
            elif os.path.isdir(full) and not os.path.islink(full):
                shutil.rmtree(full)
            else:
                os.unlink(full)
        walk("")


@contextlib.contextmanager
def shown(what):
    """A Progress that is always ended."""
    progress = Progress(what)
    try:
        yield progress
    finally:
        progress.end()
