"""What has to be done so that a namespace has the interfaces of a page. Pure: texts in, texts out.

An interface of the router is a VXLAN device with the router's name, index, MAC address, MTU and
addresses. It does not ask for neighbours (`arp off`): Linux then sends to the device's own MAC
address, which means "route this" to the router. Whatever else the devices have, addresses above all,
is removed, because the router decides.
"""
import ipaddress
from collections import namedtuple

from .page import Interface

# A device as the kernel has it. tunnel: (VNI, remote, local, port), None if it is no VXLAN device.
Link = namedtuple("Link", "name index mac mtu tunnel learning up arp generates carrier addresses")
# inside: whether ip(8) runs in the namespace. A VXLAN device is made from outside, because its packets
# travel by the namespace of the process that makes it.
Step = namedtuple("Step", "inside words")


class PlanError(Exception):
    """The page cannot be carried out here."""


def links_of(rows, address_rows):
    """{name: Link} from the output of `ip -json -details` with `link show` and with `address show`."""
    addressed = {row["ifname"]: row.get("addr_info", []) for row in address_rows if row}
    found = {}
    for row in filter(None, rows):
        info = row.get("linkinfo", {})
        data = info.get("info_data", {})
        tunnel = None
        if info.get("info_kind") == "vxlan":
            tunnel = (data.get("id"), data.get("remote"), data.get("local"), data.get("port"))
        addresses = ["%s/%d" % (each["local"], each["prefixlen"]) for each in addressed.get(row["ifname"], [])
                     if "local" in each]
        found[row["ifname"]] = Link(
            row["ifname"], row["ifindex"], row.get("address"), row["mtu"], tunnel,
            bool(data.get("learning")), "UP" in row["flags"], "NOARP" not in row["flags"],
            row.get("inet6_addr_gen_mode", "none") != "none", not row.get("proto_down"),
            tuple(str(ipaddress.ip_interface(text)) for text in addresses))
    return found


def _tunnel(page, wanted, local):
    return (wanted.vni, page.source, local, page.vxlan_port)


def _is_same(page, wanted, link, local):
    """Whether the device can stay: the rest of it can be changed while it exists."""
    return link.index == wanted.index and link.tunnel == _tunnel(page, wanted, local) and not link.learning


def _make(page, wanted, netns, local):
    yield Step(False, ["link", "add", "name", wanted.name, "index", str(wanted.index),
                       "address", wanted.mac, "mtu", str(wanted.mtu), "netns", netns,
                       "type", "vxlan", "id", str(wanted.vni), "remote", page.source, "local", local,
                       "dstport", str(page.vxlan_port), "nolearning"])
    yield Step(True, ["link", "set", "dev", wanted.name, "arp", "off", "addrgenmode", "none"])


def _settings(wanted, link):
    words = []
    if link.mac != wanted.mac:
        words += ["address", wanted.mac]
    if link.mtu != wanted.mtu:
        words += ["mtu", str(wanted.mtu)]
    if link.arp:
        words += ["arp", "off"]
    if link.generates:
        words += ["addrgenmode", "none"]
    if words:
        yield Step(True, ["link", "set", "dev", wanted.name] + words)


def _addresses(wanted, present):
    """The new ones come first, so that a neighbour's session that may use either does not end."""
    for text in wanted.addresses:
        if text not in present:
            words = ["address", "add", text, "dev", wanted.name]
            yield Step(True, words + (["nodad"] if ":" in text else []))
    for text in present:
        if text not in wanted.addresses:
            yield Step(True, ["address", "delete", text, "dev", wanted.name])


def _carrier(wanted, link):
    if link is None or not link.up:
        yield Step(True, ["link", "set", "dev", wanted.name, "up"])
    if link is None and not wanted.carrier or link is not None and link.carrier != wanted.carrier:
        yield Step(True, ["link", "set", "dev", wanted.name, "protodown", "off" if wanted.carrier else "on"])


def plan(page, links, netns, local):
    """The steps, in order. links: {name: Link} of the namespace; netns: its name for ip(8)."""
    wanted = {each.name: each for each in page.interfaces}
    stay = {name for name, link in links.items()
            if name in wanted and _is_same(page, wanted[name], link, local)}
    steps = []
    for name, link in links.items():
        if link.tunnel and name not in stay:
            steps.append(Step(True, ["link", "delete", "dev", name]))
        elif not link.tunnel and (name in wanted or link.index in {each.index for each in page.interfaces}):
            raise PlanError("the namespace has a device %s with index %d that is not of the router; "
                            "remove it, or choose another name or index on the router" % (name, link.index))
    for each in page.interfaces:
        link = links[each.name] if each.name in stay else None
        steps += _settings(each, link) if link else _make(page, each, netns, local)
        steps += _addresses(each, link.addresses if link else ())
        steps += _carrier(each, link)
    return steps


def changes(before, after):
    """A line for each difference between two pages, for people."""
    old = {each.name: each for each in before.interfaces} if before else {}
    new = {each.name: each for each in after.interfaces}
    for name in old:
        if name not in new:
            yield "%s: removed" % name
    for name, each in new.items():
        if name not in old:
            yield "%s: index %d, VNI %d, MTU %d, link %s, %s" % (
                name, each.index, each.vni, each.mtu, "up" if each.carrier else "down",
                " ".join(each.addresses) or "no address")
            continue
        for field in Interface._fields[1:]:
            was, now = getattr(old[name], field), getattr(each, field)
            if was != now:
                yield "%s: %s" % (name, _change(field, was, now))


def _change(field, was, now):
    if field == "carrier":
        return "link %s" % ("up" if now else "down")
    if field == "addresses":
        return "addresses %s" % (" ".join(now) or "none")
    return "%s %s, was %s" % (field, now, was)
