"""Neighbours that change and cables that are pulled, over both families."""
import re

import pytest
from conftest import RIGHT_HOST, eventually, pings, reaches, router_config
from family import V6, both, lab_of, make_lab6, make_lab_of  # noqa: F401


@pytest.mark.one_card
@both
def test_show_neighbours(lab_of, family):
    pings(lab_of.left, family.right)
    text = lab_of.router.command(family.show_neighbours)
    for host, address in ((lab_of.left, family.left), (lab_of.right, family.right)):
        mac = host.ip("-br", "link", "show", "eth0").split()[2].lower()
        assert re.search("^%s +%s " % (address, mac), text, re.MULTILINE), text


@pytest.mark.one_card
def test_arp_expiry(make_lab):
    """A neighbour that silently changed its address is found again once its entry expires."""
    lab = make_lab(router_config(extra="arp timeout 2\n"))
    pings(lab.left, RIGHT_HOST)
    # The right host must send no ARP request, which would tell the router its address.
    lab.right.ip("neighbour", "replace", "198.51.100.1", "lladdr", "52:54:00:68:79:01",
                 "dev", "eth0", "nud", "permanent")
    asked = lab.router.counters()["arp_tx_request"]
    lab.right.sysctl("net.ipv4.conf.eth0.arp_notify", 0)
    lab.right.ip("link", "set", "eth0", "address", "52:54:00:00:00:99")
    # Frames go to the old address, unless it has just expired and the router has asked again.
    assert not reaches(lab.left, RIGHT_HOST) or lab.router.counters()["arp_tx_request"] > asked
    eventually(lambda: reaches(lab.left, RIGHT_HOST), 20, "the neighbour is found again")
    assert lab.router.counters()["arp_tx_request"] > asked
    assert "52:54:00:00:00:99" in lab.router.command("show arp").lower()


def is_up(router, name):
    return router.interfaces()[name]["up"]


@both
def test_cable_pulled(lab_of, family):
    """The emulated card reports its link down and up; traffic stops and resumes."""
    lab = lab_of
    pings(lab.left, family.right)
    lab.router.set_link(1, False)
    eventually(lambda: not is_up(lab.router, "eth1"), 15, "eth1 down")
    assert is_up(lab.router, "eth0")
    assert not reaches(lab.left, family.right)
    lab.router.set_link(1, True)
    eventually(lambda: is_up(lab.router, "eth1"), 15, "eth1 up")
    eventually(lambda: reaches(lab.left, family.right), 15, "traffic again")


@pytest.mark.each_ring
@both
def test_host_interface_down_and_up(lab_of, family):
    """The other end of the tap is down for a while."""
    lab = lab_of
    pings(lab.left, family.right)
    lab.right.ip("link", "set", "eth0", "down")
    lab.router.books.whole = False  # Linux counts frames as received only while the interface is up
    assert not reaches(lab.left, family.right)
    lab.right.ip("link", "set", "eth0", "up")
    if family is V6:  # Linux removes the address when the link goes down
        lab.right.ip("-6", "address", "replace", family.right + "/64", "dev", "eth0", "nodad")
    lab.right.ip(family.flag, "route", "replace", "default", "via", family.right_router)
    eventually(lambda: reaches(lab.left, family.right), 15, "traffic again")


@pytest.mark.each_ring
@both
def test_shutdown_port(make_lab_of, family):
    """A port with `shutdown` in the configuration forwards nothing and shows its state."""
    lab = make_lab_of(eth1=" shutdown", wait_for=["eth0"])
    pings(lab.left, family.left_router)
    assert not reaches(lab.left, family.right)
    assert "shut" in lab.router.command("show interfaces").lower()


@both
def test_link_flaps(lab_of, family):
    for _ in range(5):
        lab_of.router.set_link(0, False)
        lab_of.router.set_link(0, True)
    eventually(lambda: reaches(lab_of.left, family.right), 15, "traffic after the flaps")


@pytest.mark.one_card
@both
def test_neighbour_is_another_card(make_lab_of, family):
    """A host that announces a new MAC address (a gratuitous ARP, RFC 5227 3; an unsolicited
    advertisement, RFC 4861 7.2.6) is reached there at once."""
    lab = make_lab_of()
    pings(lab.left, family.right)
    for name in ("ipv4.conf.eth0.arp_notify", "ipv6.conf.eth0.ndisc_notify"):
        lab.right.sysctl("net." + name, 1)
    lab.right.ip("link", "set", "eth0", "address", "52:54:00:00:00:99")
    eventually(lambda: reaches(lab.left, family.right), 20, "the neighbour is found again")
    assert "52:54:00:00:00:99" in lab.router.command(family.show_neighbours).lower()
