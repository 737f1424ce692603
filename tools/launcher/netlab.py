"""Hosts in network namespaces, with a tap each for the router to hold the other end of.

A namespace has no name: it is held by a sleeping child that dies with us, and the tap lives
inside it. Nothing appears in the machine's own namespace, several labs run side by side, and
nothing can be left behind.
"""
import os
import socket
import subprocess
import sys
import time

from . import process
from .errors import LauncherError


class Host:
    """One namespace with one Ethernet device, eth0, which is a tap.

    `port` is what to give to `hayate run --port`.
    """

    def __init__(self, name, queues=1):
        self.name = name
        self.holder = process.popen(["sleep", "infinity"], new_netns=True,
                                    stdin=subprocess.DEVNULL, start_new_session=True)
        self.netns = process.open_netns(str(self.holder.pid))
        self.children = []
        self.port = "tap:%d/eth0,queues=%d" % (self.holder.pid, queues)
        self.ip("link", "set", "lo", "up")
        # Replies must leave by the router, and IPv6's chatter would only blur the counters.
        self.sysctl("net.ipv6.conf.all.disable_ipv6", 1)
        self.sysctl("net.ipv6.conf.default.disable_ipv6", 1)
        tap = ["tuntap", "add", "dev", "eth0", "mode", "tap"]
        self.ip(*tap, *(["multi_queue"] if queues > 1 else []))

    def sysctl(self, name, value):
        path = "/proc/sys/" + name.replace(".", "/")
        with process.inside_netns(self.netns):
            try:
                with open(path, "w", encoding="ascii") as file:
                    file.write(str(value))
            except FileNotFoundError:
                pass  # IPv6 is not there at all
            except OSError as error:
                # Where /proc/sys is read-only nothing depends on it: it is for quiet only.
                if not name.startswith("net.ipv6"):
                    raise LauncherError("%s: %s" % (path, error.strerror)) from None

    def configure(self, address, gateway, mtu=1500):
        """address as 192.0.2.2/24; gateway: the router."""
        self.ip("link", "set", "eth0", "mtu", str(mtu))
        self.ip("address", "replace", address, "dev", "eth0")
        self.ip("link", "set", "eth0", "up")
        self.ip("route", "replace", "default", "via", gateway)

    def configure6(self, address=None, gateway=None):
        """Lets the host speak IPv6 as well: by address (as 2001:db8::2/64) and gateway, or by what
        routers advertise."""
        self.sysctl("net.ipv6.conf.eth0.accept_dad", 0)  # nobody waits for the test's own address
        self.sysctl("net.ipv6.conf.eth0.accept_ra", 0 if address else 2)
        self.sysctl("net.ipv6.conf.lo.disable_ipv6", 0)
        self.sysctl("net.ipv6.conf.eth0.disable_ipv6", 0)
        if address:
            self.ip("-6", "address", "replace", address, "dev", "eth0", "nodad")
        if gateway:
            self.ip("-6", "route", "replace", "default", "via", gateway)

    def ip(self, *arguments):
        return self.run(["ip", *arguments], check=True).stdout

    def wait_for_link(self, dev="eth0", holder=None, timeout_s=20.0):
        """Returns once Linux sends on a device whose other end somebody holds. holder: the child
        that does; with its end the link is gone again, and so is what to wait for.

        A tap that is opened has a carrier at once, but until a worker of the kernel has got round
        to that (net/core/link_watch.c), what Linux sends there is dropped. On a busy machine these
        were seconds: three ARP requests, and then nobody is there. The state is shown when the
        worker is done: `ip link show` waits for the lock that the worker holds.
        """
        deadline = time.monotonic() + timeout_s
        while " state UP " not in self.ip("-o", "link", "show", "dev", dev):
            if holder and holder.poll() is not None:
                return
            if time.monotonic() >= deadline:
                raise LauncherError("%s: %s has no link after %g s" % (self.name, dev, timeout_s))
            time.sleep(0.01)

    def popen(self, argv, **kwargs):
        """A child inside this host; ended by close()."""
        child = process.popen(argv, netns=self.netns, **kwargs)
        self.children.append(child)
        return child

    def run(self, argv, timeout_s=30.0, check=False, input=None):
        """Runs a program inside this host; returns a CompletedProcess with text output."""
        child = self.popen(argv, stdin=subprocess.PIPE if input else subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            out, err = child.communicate(input, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            if check:
                raise LauncherError("%s: `%s` took more than %g s"
                                    % (self.name, " ".join(argv), timeout_s)) from None
        finally:
            if child.poll() is None:
                process.stop(child)
            self.children.remove(child)
        if check and child.returncode != 0:
            raise LauncherError("%s: `%s` failed: %s"
                                % (self.name, " ".join(argv), (err or out).strip()))
        return subprocess.CompletedProcess(argv, child.returncode, out, err)

    def ping(self, target, *arguments, wait_s=2):
        """One echo request; (whether it was answered, what ping said).

        One at a time, because of the last of several ping waits for two round trips only, or the
        interval: on a busy machine it takes for lost what is late.
        """
        result = self.run(["ping", "-n", "-c", "1", "-W", str(wait_s), *arguments, target])
        return result.returncode == 0, result.stdout + result.stderr

    def socket(self, family=socket.AF_INET, kind=socket.SOCK_DGRAM, protocol=0):
        """A socket of this host, usable from here."""
        with process.inside_netns(self.netns):
            return socket.socket(family, kind, protocol)

    def end_children(self):
        """Ends what runs in this host."""
        for child in self.children:
            process.stop(child)
            for stream in (child.stdin, child.stdout, child.stderr):
                if stream:
                    stream.close()
        self.children.clear()

    def close(self):
        self.end_children()
        if self.netns is not None:
            os.close(self.netns)
            self.netns = None
        self.holder.kill()
        self.holder.wait()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
        return False


class PatchPanel:
    """Cables in a namespace: each a bridge with a tap at either end, which holds QUEUE frames for
    who does not look just then.

    `ends` is two lists, of the one ends and of the other, each what `hayate run --port` takes.
    """

    QUEUE = 10000

    def __init__(self, cables, queues=1):
        self.host = Host("patch panel")
        self.ends = ([], [])
        try:
            self.host.ip("link", "delete", "eth0")
            for cable in range(cables):
                self._add(cable, queues)
        except BaseException:
            self.host.close()
            raise

    def _add(self, cable, queues):
        bridge = "br%d" % cable
        self.host.ip("link", "add", bridge, "type", "bridge", "mcast_snooping", "0")
        self.host.ip("link", "set", bridge, "up")
        for end, ports in zip("ab", self.ends):
            tap = "%s%d" % (end, cable)
            self.host.ip("tuntap", "add", "dev", tap, "mode", "tap",
                         *(["multi_queue"] if queues > 1 else []))
            self.host.ip("link", "set", tap, "master", bridge, "txqueuelen", str(self.QUEUE), "up")
            ports.append("tap:%d/%s,queues=%d" % (self.host.holder.pid, tap, queues))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.host.close()
        return False


def usable():
    """'' when this process may make network namespaces and taps, else why not."""
    if not os.path.exists("/dev/net/tun"):
        return "/dev/net/tun is missing (modprobe tun)"
    try:
        child = process.popen(["true"], new_netns=True)
    except LauncherError:
        return "making network namespaces needs root"
    child.wait()
    return ""


def become_root_in_user_namespace(argv):
    """Without root: starts `argv` again where we are root of a user namespace of our own, if this
    machine allows it. Returns only when it does not."""
    probe = ["unshare", "--user", "--map-root-user", "--net", "true"]
    try:
        allowed = subprocess.run(probe, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, check=False).returncode == 0
    except OSError:
        return
    if allowed:
        sys.stdout.flush()
        # --net too: a namespace that is not ours could be left, but not entered again.
        os.execvp("unshare", ["unshare", "--user", "--map-root-user", "--net", *argv])
