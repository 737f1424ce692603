"""The router's page /api/v1/engine.json. It comes from the network, so all of it is checked."""
import http.client
import ipaddress
import json
import re
from collections import namedtuple

PATH = "/api/v1/engine.json"
PAGE_MAX = 1 << 20  # bytes; 128 interfaces take some 30 KiB
NAME = re.compile(r"[a-z][a-z0-9]*(?:\.[0-9]+)?")
MAC = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}")

# addresses: texts with length, as 192.0.2.1/24; the link-local one of IPv6 is fe80::1/64.
Interface = namedtuple("Interface", "name index vni mac mtu carrier addresses")
# address: the engine's, None without `routing engine` in the configuration. source: the router's, None if
# it has none there; then it has no interfaces for the engine. bfd_port: None without `routing engine bfd`.
Page = namedtuple("Page", "address source fpm_port bfd_port vxlan_port interfaces")


class PageError(Exception):
    """The page is not what a router says."""


class Unavailable(Exception):
    """The router does not serve the page; the text says why and what to do."""


def _number(row, key, low, high):
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise PageError("%s is %r, not a number from %d to %d" % (key, value, low, high))
    return value


def _flag(row, key):
    if not isinstance(row.get(key), bool):
        raise PageError("%s is %r, neither true nor false" % (key, row.get(key)))
    return row[key]


def _text(row, key, pattern, length):
    value = row.get(key)
    if not isinstance(value, str) or len(value) > length or not pattern.fullmatch(value):
        raise PageError("%s is %r" % (key, value))
    return value


def _address(row, key):
    try:
        return str(ipaddress.IPv4Address(row.get(key)))
    except ValueError:
        raise PageError("%s is %r, not an IPv4 address" % (key, row.get(key))) from None


def _addresses(row):
    given, own = row.get("addresses"), row.get("link_local")
    if not isinstance(given, list) or not isinstance(own, (str, type(None))):
        raise PageError("addresses of %s are missing" % row["name"])
    found = []
    for text in given + ([own + "/64"] if own else []):
        try:
            if "/" not in text:
                raise ValueError
            found.append(str(ipaddress.ip_interface(text)))
        except (TypeError, ValueError):
            raise PageError("%s: %r is not an address with its length" % (row["name"], text)) from None
    return tuple(dict.fromkeys(found))


def _interface(row):
    if not isinstance(row, dict):
        raise PageError("an interface is %r" % (row,))
    name = _text(row, "name", NAME, 15)  # IFNAMSIZ, with its end
    # 1 is the index of lo in every namespace.
    return Interface(name, _number(row, "index", 2, 2**31 - 1), _number(row, "vni", 1, 2**24 - 1),
                     _text(row, "mac", MAC, 17), _number(row, "mtu", 68, 65535), _flag(row, "carrier"),
                     _addresses(row))


def parse(text):
    """The Page of a text; PageError."""
    try:
        row = json.loads(text)
    except ValueError:
        raise PageError("it is not JSON") from None
    if not isinstance(row, dict) or not isinstance(row.get("interfaces"), list):
        raise PageError("it has no list of interfaces")
    if row.get("address") is None:
        return Page(None, None, None, None, None, ())
    interfaces = tuple(_interface(each) for each in row["interfaces"])
    for key in ("name", "index", "vni"):
        values = [getattr(each, key) for each in interfaces]
        if len(set(values)) != len(values):
            raise PageError("two interfaces have the same %s" % key)
    if any(each.name == "lo" for each in interfaces):
        raise PageError("an interface is called lo")
    source = None if row.get("source") is None and not interfaces else _address(row, "source")
    bfd_port = None if row.get("bfd_port") is None else _number(row, "bfd_port", 1, 65535)
    return Page(_address(row, "address"), source, _number(row, "fpm_port", 1, 65535), bfd_port,
                _number(row, "vxlan_port", 1, 65535), interfaces)


HINTS = {
    403: "add `http access %(local)s/32` to the router's configuration",
    404: "the router's image is too old: it has no such page",
    421: "add `http host %(router)s` to the router's configuration",
}


class Reader:
    """Reads the page again and again, by one connection as long as it lasts."""

    def __init__(self, router, port, local, timeout_s=2.0):
        self.router, self.port, self.local = router, port, local
        self.link = http.client.HTTPConnection(router, port, timeout=timeout_s,
                                               source_address=(local, 0))

    def read(self):
        """The page as text; Unavailable."""
        for last in (False, True):
            fresh = self.link.sock is None
            try:
                self.link.request("GET", PATH, headers={"Accept": "application/json"})
                answer = self.link.getresponse()
                body = answer.read(PAGE_MAX + 1)
                break
            except (OSError, http.client.HTTPException) as error:
                self.link.close()
                # The router closes an idle connection: that is no failure.
                if fresh or last or isinstance(error, TimeoutError):
                    raise Unavailable(self._reason(error)) from None
        if answer.status == 200 and len(body) <= PAGE_MAX:
            return body.decode("utf-8", "replace")
        self.link.close()
        if answer.status == 200:
            raise Unavailable("its page is longer than %d bytes" % PAGE_MAX)
        hint = HINTS.get(answer.status, "see docs/http.md") % {"local": self.local, "router": self.router}
        raise Unavailable("it answers %d: %s" % (answer.status, hint))

    def _reason(self, error):
        if isinstance(error, ConnectionRefusedError):
            return "connection refused: `http server` and `http access %s/32` have to be in its " \
                "configuration" % self.local
        if isinstance(error, ConnectionResetError):
            return "connection reset: `http access %s/32` has to be in its configuration" % self.local
        return str(error) or type(error).__name__

    def close(self):
        self.link.close()
