"""The namespace of the routing engine: its kernel settings, its devices, and the steps of a plan."""
import json
import os
import re
import subprocess

from .. import process
from ..errors import LauncherError
from .plan import links_of, plan

# The router routes, not Linux; and it alone decides about addresses, neighbours and advertisements.
SETTINGS = (
    ("ipv4/ip_forward", 0),
    ("ipv4/conf/all/rp_filter", 2),       # a neighbour is routed by several interfaces
    ("ipv4/conf/default/rp_filter", 2),
    ("ipv4/conf/all/promote_secondaries", 1),
    ("ipv4/conf/default/promote_secondaries", 1),
    ("ipv6/conf/all/forwarding", 0),
    ("ipv6/conf/all/accept_ra", 0),
    ("ipv6/conf/default/accept_ra", 0),
    ("ipv6/conf/all/keep_addr_on_down", 1),
    ("ipv6/conf/default/keep_addr_on_down", 1),
    ("ipv6/conf/default/router_solicitations", 0),
)
OVERHEAD = 50  # Ethernet, IPv4, UDP, VXLAN around an inner IP packet


class StepFailed(Exception):
    """ip(8) refused; the text is its command and its reason."""


def ip(words, netns=None):
    """Runs ip(8) in the namespace of that fd; returns its output."""
    child = process.start_command(["ip", *words], netns, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
    out, err = child.communicate()
    if child.returncode != 0:
        raise StepFailed("`ip %s`: %s" % (" ".join(words), err.strip() or out.strip()))
    return out


def rows(words, netns=None):
    """What `ip -json` says. Ubuntu's iproute2 (6.1.0-1ubuntu6) adds `fan-map`, outside of any JSON, to a VXLAN
    device."""
    said = ip(["-json", *words], netns)
    try:
        return json.loads(re.sub(r'(?<=")fan-map [0-9./: -]*(?=,)', "", said) or "[]")
    except ValueError as error:
        raise StepFailed("`ip -json %s`: no JSON: %s" % (" ".join(words), error)) from None


class Links:
    """netns: its fd; name: what ip(8) calls it, a name or a process id in it."""

    def __init__(self, netns, name, local):
        self.netns, self.name, self.local = netns, name, local
        ip(["link", "set", "dev", "lo", "up"], netns)
        self.settle()

    def settle(self):
        """Makes the kernel settings what they have to be: FRR changes some of them."""
        with process.inside_netns(self.netns):
            for name, value in SETTINGS:
                path = "/proc/sys/net/" + name
                try:
                    with open(path, "r+", encoding="ascii") as file:
                        if file.read().strip() != str(value):
                            file.seek(0)
                            file.write(str(value))
                except FileNotFoundError:
                    continue  # the kernel has no IPv6
                except OSError as error:
                    raise LauncherError("%s: %s" % (path, error.strerror)) from None

    def present(self):
        """{name: Link} of the namespace."""
        return links_of(*(rows(["-details", kind, "show"], self.netns) for kind in ("link", "address")))

    def follow(self, page):
        """Makes the devices those of the page. PlanError, StepFailed. Returns the number of steps."""
        steps = plan(page, self.present(), self.name, self.local)
        for step in steps:
            ip(step.words, self.netns if step.inside else None)
        return len(steps)

    def remove_all(self):
        for name, link in self.present().items():
            if link.tunnel:
                ip(["link", "delete", "dev", name], self.netns)


def underlay_mtu(router, local):
    """(MTU, device) of the way to the router."""
    way = rows(["route", "get", router, "from", local])[0]
    mtu = next((metrics["mtu"] for metrics in way.get("metrics", []) if "mtu" in metrics), None)
    return mtu or rows(["link", "show", "dev", way["dev"]])[0]["mtu"], way["dev"]


def name_exists(name):
    return os.path.exists("/run/netns/" + name)
