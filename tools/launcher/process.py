"""Child processes and network namespaces that end with the launcher.

Every child is started with PR_SET_PDEATHSIG, so the kernel kills it when the launcher dies, even by
SIGKILL. A sleeping child holds a network namespace instead of a name under /run/netns, so the
namespace and its taps also end with the launcher.
"""
import ctypes
import os
import signal
import subprocess

from .errors import LauncherError

PR_SET_PDEATHSIG = 1
CLONE_NEWNET = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, "%s: %s" % (what, os.strerror(error)))


def setns(fd):
    _check(_libc.setns(fd, CLONE_NEWNET), "setns")


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
        raise LauncherError("%s: no such program (tools/deps.sh install run)" % argv[0]) from None
    except PermissionError:
        raise LauncherError("%s: not allowed to execute it" % argv[0]) from None
    except subprocess.SubprocessError:
        raise LauncherError("cannot start %s in a network namespace: this needs root"
                            % argv[0]) from None


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
