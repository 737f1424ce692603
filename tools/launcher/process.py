"""Child processes and network namespaces that end with the launcher.

Every child is started with PR_SET_PDEATHSIG, so the kernel kills it when the launcher dies, even by
SIGKILL. A sleeping child holds a network namespace instead of a name under /run/netns, so the
namespace and its taps also end with the launcher.

A program that changes its user loses PR_SET_PDEATHSIG (prctl(2)). Such programs run in a Container.
"""
import ctypes
import os
import shutil
import signal
import subprocess

from .errors import LauncherError

PR_SET_PDEATHSIG = 1
CLONE_NEWNET = 0x40000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNS = 0x00020000
MS_BIND, MS_REC, MS_SLAVE = 0x1000, 0x4000, 0x80000  # mount(2)

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, "%s: %s" % (what, os.strerror(error)))


def setns(fd, kind=CLONE_NEWNET):
    _check(_libc.setns(fd, kind), "setns")


def die_with_parent(parent):
    """For a child before exec: has it killed when `parent`, the pid that forked it, ends."""
    _check(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    if os.getppid() != parent:  # the parent ended before the call took effect
        os._exit(1)


def popen(argv, netns=None, new_netns=False, cpus=None, **kwargs):
    """subprocess.Popen of a child that ends with us; in the namespace of fd `netns`, pinned to `cpus`."""
    parent = os.getpid()

    def prepare():
        die_with_parent(parent)
        if netns is not None:
            setns(netns)
        if new_netns:
            _check(_libc.unshare(CLONE_NEWNET), "unshare")
        if cpus is not None:
            os.sched_setaffinity(0, cpus)

    try:
        return subprocess.Popen(argv, preexec_fn=prepare, **kwargs)
    except FileNotFoundError:
        raise _no_such_program(argv[0]) from None
    except PermissionError:
        raise LauncherError("%s: not allowed to execute it" % argv[0]) from None
    except subprocess.SubprocessError:
        raise LauncherError("cannot start %s in a network namespace: this needs root"
                            % argv[0]) from None


def start_command(argv, netns=None, **kwargs):
    """As popen, for a command that is awaited and ends by itself. setpriv sets PR_SET_PDEATHSIG, so Python need not
    fork: with scapy and pytest in it a fork takes five times as long. If we are killed before setpriv has run, the
    command goes on to its end."""
    for program in ("setpriv", argv[0]):
        if not shutil.which(program):
            raise _no_such_program(program)
    with inside_netns(netns):
        return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *argv], **kwargs)


def _no_such_program(name):
    return LauncherError("%s: no such program (tools/deps.sh install run)" % name)


def stop(child, grace_s=2.0):
    """Ends a child: SIGTERM, then SIGKILL. Returns its status as Popen does."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(grace_s)
        except subprocess.TimeoutExpired:
            child.kill()
    return child.wait()


class inside_netns:
    """`with inside_netns(fd):` this thread is in that network namespace. fd None: no change."""

    def __init__(self, fd):
        self.fd = fd
        self.home = None

    def __enter__(self):
        if self.fd is not None:
            self.home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            try:
                setns(self.fd)
            except OSError as error:
                os.close(self.home)
                raise LauncherError("cannot enter a network namespace: %s (this needs root)"
                                    % error.strerror) from None
        return self

    def __exit__(self, *exc):
        if self.fd is not None:
            setns(self.home)
            os.close(self.home)
        return False


def open_netns(name):
    """fd of the namespace `name`: a name of `ip netns`, or a process id."""
    paths = ["/run/netns/" + name]
    if name.isdigit():
        paths.append("/proc/%s/ns/net" % name)
    for path in paths:
        try:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        except PermissionError:
            raise LauncherError("network namespace %s: permission denied (this needs root)"
                                % name) from None
    raise LauncherError("network namespace %s: neither a name in /run/netns nor a process id"
                        % name)


class Container:
    """A network namespace, and a process namespace whose processes are all killed when this process
    ends, even by SIGKILL: their process 1 reads a pipe of ours, and ends when the pipe is closed.

    netns: fd of an existing network namespace to use instead of a new one; we close it.
    """

    def __init__(self, netns=None):
        self.home = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self.netns = netns
        self.pidns = None
        try:
            _check(_libc.unshare(CLONE_NEWPID), "unshare")  # for the next child
            try:
                self.init = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                             start_new_session=True, preexec_fn=self._enter)
            finally:
                setns(self.home, CLONE_NEWPID)
        except (OSError, subprocess.SubprocessError) as error:
            os.close(self.home)
            raise LauncherError("cannot make namespaces: %s (this needs root)"
                                % getattr(error, "strerror", error)) from None
        self.pidns = os.open("/proc/%d/ns/pid" % self.init.pid, os.O_RDONLY | os.O_CLOEXEC)
        if netns is None:
            self.netns = open_netns(str(self.init.pid))

    def _enter(self):
        if self.netns is None:
            _check(_libc.unshare(CLONE_NEWNET), "unshare")
        else:
            setns(self.netns)

    def _prepare(self, bind):
        self._enter()
        if bind:
            folder, at = (path.encode() for path in bind)
            _check(_libc.unshare(CLONE_NEWNS), "unshare")
            _check(_libc.mount(None, b"/", None, MS_REC | MS_SLAVE, None), "mount")
            _check(_libc.mount(folder, at, None, MS_BIND, None), "mount")

    def popen(self, argv, bind=None, **kwargs):
        """subprocess.Popen of a child inside. bind: (folder, at): the child alone finds that folder at
        the path `at`, which must exist."""
        setns(self.pidns, CLONE_NEWPID)
        try:
            return subprocess.Popen(argv, preexec_fn=lambda: self._prepare(bind), start_new_session=True, **kwargs)
        except FileNotFoundError:
            raise LauncherError("%s: no such program" % argv[0]) from None
        except subprocess.SubprocessError:  # _prepare failed
            raise LauncherError("%s: cannot be started in its namespaces (this needs root, and in a chroot that / "
                                "is a mount point)" % argv[0]) from None
        finally:
            setns(self.home, CLONE_NEWPID)

    def close(self):
        """Ends all that is inside."""
        self.init.stdin.close()
        self.init.wait()
        for fd in (self.netns, self.pidns, self.home):
            os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
        return False


def fork(function):
    """Runs function() in a child that ends with us and has none of our signal handlers; returns its
    process id."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        die_with_parent(parent)
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        function()
        os._exit(0)
    finally:
        os._exit(1)
