"""Neighbours that change and cables that are pulled."""
import pytest
from conftest import LEFT_HOST, LEFT_ROUTER, RIGHT_HOST, eventually, pings, reaches, router_config


def test_show_arp(lab):
    pings(lab.left, RIGHT_HOST)
    text = lab.router.command("show arp")
    mac = lab.right.ip("-br", "link", "show", "eth0")
    assert LEFT_HOST in text and RIGHT_HOST in text, text
    assert mac.split()[2].lower() in text.lower(), text


def test_arp_expiry(make_lab):
    """A neighbour that changed its address without a word is found again once its entry expires."""
    lab = make_lab(router_config(extra="arp timeout 2\n"))
    pings(lab.left, RIGHT_HOST)
    # The right host must not tell the router anything by asking itself.
    lab.right.ip("neighbour", "replace", "198.51.100.1", "lladdr", "52:54:00:68:79:01",
                 "dev", "eth0", "nud", "permanent")
    asked = lab.router.counters()["arp_tx_request"]
    lab.right.sysctl("net.ipv4.conf.eth0.arp_notify", 0)
    lab.right.ip("link", "set", "eth0", "address", "52:54:00:00:00:99")
    # Frames go to the old address, unless it has just expired and the router has asked already.
    assert not reaches(lab.left, RIGHT_HOST) or lab.router.counters()["arp_tx_request"] > asked
    eventually(lambda: reaches(lab.left, RIGHT_HOST), 20, "the neighbour is found again")
    assert lab.router.counters()["arp_tx_request"] > asked
    assert "52:54:00:00:00:99" in lab.router.command("show arp").lower()


def is_up(router, name):
    return router.interfaces()[name]["up"]


def test_cable_pulled(lab):
    """The emulated card reports its link down and up; traffic stops and comes back."""
    pings(lab.left, RIGHT_HOST)
    lab.router.set_link(1, False)
    eventually(lambda: not is_up(lab.router, "eth1"), 15, "eth1 down")
    assert is_up(lab.router, "eth0")
    assert not reaches(lab.left, RIGHT_HOST)
    lab.router.set_link(1, True)
    eventually(lambda: is_up(lab.router, "eth1"), 15, "eth1 up")
    eventually(lambda: reaches(lab.left, RIGHT_HOST), 15, "traffic again")


def test_host_interface_down_and_up(lab):
    """The other end of the tap goes away for a while."""
    pings(lab.left, RIGHT_HOST)
    lab.right.ip("link", "set", "eth0", "down")
    assert not reaches(lab.left, RIGHT_HOST)
    lab.right.ip("link", "set", "eth0", "up")
    lab.right.ip("route", "replace", "default", "via", "198.51.100.1")
    eventually(lambda: reaches(lab.left, RIGHT_HOST), 15, "traffic again")


def test_shutdown_port(make_lab):
    """A port the configuration shuts down forwards nothing and says so."""
    lab = make_lab(router_config(extra=" shutdown\n"))
    pings(lab.left, LEFT_ROUTER)
    assert not reaches(lab.left, RIGHT_HOST)
    assert "shut" in lab.router.command("show interfaces").lower()


@pytest.mark.parametrize("times", [5])
def test_link_flaps(lab, times):
    for _ in range(times):
        lab.router.set_link(0, False)
        lab.router.set_link(0, True)
    eventually(lambda: reaches(lab.left, RIGHT_HOST), 15, "traffic after the flaps")
