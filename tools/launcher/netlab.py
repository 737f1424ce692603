"""Hosts in network namespaces, each with a tap whose other end the router opens.

A namespace has no name. A sleeping child that ends with this process holds it, and the tap is inside
it. The machine's own namespace is not changed, several labs can run side by side, and nothing is left
behind.
"""
import ipaddress
import os
import re
import socket
import subprocess
import sys
import time

from . import process
from .errors import LauncherError


def _solicited_node(address):
    """The solicited-node group of an address, as text (RFC 4291 2.7.1)."""
    low = int(ipaddress.IPv6Address(address)) & 0xffffff
    return str(ipaddress.IPv6Address(0xff0200000000000000000001ff000000 | low))


QUEUE = 10000  # frames that a tap may queue while its reader is busy


class Host:
    """One namespace with one Ethernet device, eth0, which is a tap.

    `port` is the argument for `hayate run --port`.
    """

    def __init__(self, name, queues=1):
        self.name = name
        self.holder = process.popen(["sleep", "infinity"], new_netns=True,
                                    stdin=subprocess.DEVNULL, start_new_session=True)
        self.netns = process.open_netns(str(self.holder.pid))
        self.children = []
        self.port = "tap:%d/eth0,queues=%d" % (self.holder.pid, queues)
        self.ip("link", "set", "lo", "up")
        # Linux' own IPv6 traffic would only disturb the counters.
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
                pass  # the kernel has no IPv6
            except OSError as error:
                # If /proc/sys is read-only, IPv6 stays on, which does no harm.
                if not name.startswith("net.ipv6"):
                    raise LauncherError("%s: %s" % (path, error.strerror)) from None

    def configure(self, address, gateway, mtu=1500):
        """Sets the address, such as 192.0.2.2/24, and the default gateway, which is the router."""
        self.ip("link", "set", "eth0", "mtu", str(mtu))
        self.ip("address", "replace", address, "dev", "eth0")
        self.ip("link", "set", "eth0", "up")
        self.ip("route", "replace", "default", "via", gateway)

    def lengthen_queue(self):
        """Lets the tap queue QUEUE frames instead of some hundred, for senders that nothing slows down."""
        self.ip("link", "set", "eth0", "txqueuelen", str(QUEUE))

    def configure6(self, address=None, gateway=None):
        """Enables IPv6: with an address (such as 2001:db8::2/64) and gateway, or by router
        advertisements."""
        self.sysctl("net.ipv6.conf.eth0.accept_dad", 0)  # the address is usable without delay
        self.sysctl("net.ipv6.conf.eth0.accept_ra", 0 if address else 2)
        self.sysctl("net.ipv6.conf.lo.disable_ipv6", 0)
        self.sysctl("net.ipv6.conf.eth0.disable_ipv6", 0)
        if address:
            self.ip("-6", "address", "replace", address, "dev", "eth0", "nodad")
        if gateway:
            self.ip("-6", "route", "replace", "default", "via", gateway)

    def ip(self, *arguments):
        return self.run(["ip", *arguments], check=True).stdout

    def add_loopback(self, address, timeout_s=20.0):
        """Adds an address of either family to the loopback device. Returns once packets to it are
        delivered: Linux enters the route of an IPv6 address later, from a work queue (net/ipv6/addrconf.c,
        addrconf_dad_work)."""
        flag, bits, how = ("-6", "/128", ["nodad"]) if ":" in address else ("-4", "/32", [])
        self.ip(flag, "address", "add", address + bits, "dev", "lo", *how)
        deadline = time.monotonic() + timeout_s
        while not self.ip(flag, "route", "show", "table", "local", address):
            if time.monotonic() >= deadline:
                raise LauncherError("%s: no route to %s after %g s" % (self.name, address, timeout_s))
            time.sleep(0.01)

    def wait_for_link(self, dev="eth0", holder=None, timeout_s=20.0):
        """Returns once Linux transmits on a device whose other end is open in some process. holder: the
        child with the other end; if it ends, the link is gone and the wait ends too.

        A tap has a carrier as soon as it is opened, but Linux drops packets for it until a kernel worker
        has run (net/core/link_watch.c). On a busy machine this took seconds: three ARP requests were
        lost, and the neighbour counted as unreachable. The state is correct after the worker: `ip link
        show` waits for the lock that the worker holds.
        """
        deadline = time.monotonic() + timeout_s
        while " state UP " not in self.ip("-o", "link", "show", "dev", dev):
            if holder and holder.poll() is not None:
                return
            if time.monotonic() >= deadline:
                raise LauncherError("%s: %s has no link after %g s" % (self.name, dev, timeout_s))
            time.sleep(0.01)
        self.wait_for_groups(dev, timeout_s)

    def wait_for_groups(self, dev="eth0", timeout_s=20.0):
        """Returns once Linux takes neighbour solicitations for its IPv6 addresses of a device.

        A kernel worker joins the solicited-node group of an address (addrconf_dad_work in
        net/ipv6/addrconf.c), under a lock of the whole machine. While other tests made and removed
        namespaces this took seconds, and solicitations were not answered. A device without neighbour
        discovery needs no groups.
        """
        if "NOARP" in self.ip("-o", "link", "show", "dev", dev):
            return
        deadline = time.monotonic() + timeout_s
        while True:
            wanted = {_solicited_node(found) for found in re.findall(
                r" inet6 ([0-9a-f:]+)/", self.ip("-6", "-o", "address", "show", "dev", dev))}
            if not wanted or wanted <= set(re.findall(
                    r"inet6 ([0-9a-f:]+)", self.ip("-6", "maddress", "show", "dev", dev))):
                return
            if time.monotonic() >= deadline:
                raise LauncherError("%s: %s has not joined %s after %g s"
                                    % (self.name, dev, ", ".join(sorted(wanted)), timeout_s))
            time.sleep(0.01)

    def popen(self, argv, **kwargs):
        """A child inside this host; ended by close()."""
        child = process.popen(argv, netns=self.netns, **kwargs)
        self.children.append(child)
        return child

    def run(self, argv, timeout_s=30.0, check=False, input=None):
        """Runs a program inside this host; returns a CompletedProcess with text output."""
        child = process.start_command(argv, self.netns, stdin=subprocess.PIPE if input else subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.children.append(child)
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
        """Sends one echo request; returns (whether it was answered, ping's output).

        One at a time, because ping waits for the last of several requests only two round trips, or the
        interval. On a busy machine it would count a late answer as lost.
        """
        result = self.run(["ping", "-n", "-c", "1", "-W", str(wait_s), *arguments, target])
        return result.returncode == 0, result.stdout + result.stderr

    def traceroute(self, target, *arguments, most=5):
        """The address that answered for each hop, nearest first, or "*" for none; and traceroute's output.

        Linux queues an ICMP error for a socket, wakes the reader, and only then sets the socket's error
        (rawv6_err in net/ipv6/raw.c; raw_err and those of UDP are alike). If the reader takes the queued
        error in between, poll() reports an error that is not in the queue. traceroute 2.1 then reads the
        empty queue until its time is over and no answer to any of the probes that it sent at once. Only
        sending clears that error, and the packet is not sent. So this sends one probe at a time, and two for
        each hop.
        """
        said = self.run(["traceroute", "-n", "-N", "1", "-q", "2", "-w", "2", "-m", str(most), *arguments,
                         target]).stdout
        lines = re.findall(r"^ *\d+  (.*)$", said, re.MULTILINE)
        return [next((word for word in line.split() if word != "*"), "*") for line in lines], said

    def socket(self, family=socket.AF_INET, kind=socket.SOCK_DGRAM, protocol=0):
        """A socket in this host's namespace, usable by this process."""
        with process.inside_netns(self.netns):
            return socket.socket(family, kind, protocol)

    def end_children(self):
        """Ends all children in this host."""
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
    """Cables in a namespace: each a bridge with a tap at either end, which queues QUEUE frames.

    `ends` is two lists, one per side, of arguments for `hayate run --port`.
    """

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
            self.host.ip("link", "set", tap, "master", bridge, "txqueuelen", str(QUEUE), "up")
            ports.append("tap:%d/%s,queues=%d" % (self.host.holder.pid, tap, queues))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.host.close()
        return False


def usable():
    """'' if this process may make network namespaces and taps, else the reason."""
    if not os.path.exists("/dev/net/tun"):
        return "/dev/net/tun is missing (modprobe tun)"
    try:
        child = process.popen(["true"], new_netns=True)
    except LauncherError:
        return "making network namespaces needs root"
    child.wait()
    return ""


def become_root_in_user_namespace(argv):
    """Without root: executes `argv` as root of a new user namespace, if this machine allows that. Returns
    only if it does not."""
    probe = ["unshare", "--user", "--map-root-user", "--net", "true"]
    try:
        allowed = subprocess.run(probe, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, check=False).returncode == 0
    except OSError:
        return
    if allowed:
        sys.stdout.flush()
        # --net too: we could leave a network namespace that is not ours, but not enter it again.
        os.execvp("unshare", ["unshare", "--user", "--map-root-user", "--net", *argv])
