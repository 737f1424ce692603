"""The discard application: traffic from a host arrives, is counted, and is never answered."""
from conftest import LEFT_ROUTER, eventually, reaches

CONFIG = """\
hostname d1
application discard
interface eth0
 ip address %s/24
""" % LEFT_ROUTER


def test_discard(make_router, make_hosts):
    left, _ = make_hosts()
    router = make_router(CONFIG, app="discard", ports=(left.port,))
    with left.socket() as client:
        for number in range(500):
            client.sendto(b"%d" % number, (LEFT_ROUTER, 9))
    # the first datagrams may be sent before the neighbour is known: those that fit wait for it
    eventually(lambda: router.counters()["discarded"] >= 400, 10, "datagrams counted")
    before = router.balanced()["discarded"]
    assert not reaches(left, LEFT_ROUTER)
    counters = router.balanced()
    assert counters["discarded"] == before + 1
    assert counters["icmp_tx_echo_reply"] == 0 < counters["arp_tx_reply"]


def test_discard_without_device(make_router):
    """A null port: the maximum that the machine receives, without processing."""
    router = make_router(CONFIG, "--append", "null=1", app="discard", ports=())
    eventually(lambda: router.counters()["discarded"] > 100000, 20, "packets counted")
    assert "rx_no_buffer" not in router.interfaces()["eth0"]
