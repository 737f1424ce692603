"""IPv4 and IPv6 side by side: what a test of both needs of one, and a lab where both are spoken."""
import pytest
from conftest import eventually, router_config

LEFT6, RIGHT6 = "2001:db8:1::2", "2001:db8:2::2"
LEFT_ROUTER6, RIGHT_ROUTER6 = "2001:db8:1::1", "2001:db8:2::1"


def config6(eth0="", eth1="", extra=""):
    """Both families on both ports; lines for each block and for the end."""
    both = router_config().splitlines()
    at = both.index("interface eth1")
    return "\n".join(both[:at] + [" ipv6 address %s/64" % LEFT_ROUTER6, eth0] + both[at:]
                     + [" ipv6 address %s/64" % RIGHT_ROUTER6, eth1, extra, ""])


def addresses_up(router):
    """Waits until no address is tentative."""
    eventually(lambda: "tentative" not in router.command("show interfaces"), 30)


@pytest.fixture
def make_lab6(make_lab):
    """As make_lab, both families everywhere; ready when the router's addresses are (DAD)."""
    def make(eth0="", eth1="", extra="", **more):
        lab = make_lab(config6(eth0, eth1, extra), **more)
        lab.left.configure6(LEFT6 + "/64", LEFT_ROUTER6)
        lab.right.configure6(RIGHT6 + "/64", RIGHT_ROUTER6)
        addresses_up(lab.router)
        return lab
    return make


@pytest.fixture
def lab6(make_lab6):
    return make_lab6()
