"""Devices that fail: each failure is reported, and the other ports continue."""
import re

from machine import *


def frame(packet):
    return padded(ether(A, ROUTER[0]) / packet)


def test_port_that_does_not_start(make):
    """The port is named with its reason; the others start."""
    m = make(ports=3, dead=[2], config=CONFIG + "interface eth2\n ip address 203.0.113.1/24\n")
    assert "eth2: host: it is dead (error 4); this port is not started" in m.text
    m.learn(A, B)
    m.route(udp(A, B))
    assert "eth2 link down" in m.console("show interfaces")
    m.send(0, frame(udp(A, "203.0.113.9")))
    assert not m.outs[2], "a port that was not started is sent by"
    (answer,) = m.take_all(0)
    answer = Ether(answer)[ICMP]
    assert (answer.type, answer.code) == (3, 1), "its network is not said to be unreachable"


def test_no_port_starts(make):
    m = make(ports=2, dead=[0, 1], boot=False)
    assert m.text.count("this port is not started") == 2
    assert "ready:" not in m.text
    assert "eth0 link down" in m.console("show interfaces")


def test_card_pulled_out(m):
    """Reported once, link down, the card is never accessed again (the harness checks that); the
    other port works."""
    m.route(udp(A, B))
    m.command("link 1 gone")
    m.time(10 * SECOND)
    assert m.text.count("eth1: host: the device no longer answers") == 1
    said = m.console("show interfaces")
    assert "eth1 link gone" in said and "eth0 link up" in said
    m.take_all(1)
    m.send(0, frame(fixed(IP(src=A.ip, dst=ROUTER[0].ip) / ICMP())))
    assert len(m.take_all(0)) == 1, "the living port does not answer"


def test_default_mtu_of_a_small_device(make):
    """VIRTIO 1.2 5.1.4.1: no packet exceeds the device's limit, even without a configured MTU."""
    m = make(mtu_max=1400)
    m.learn(A, B)
    packet = udp(A, B, size=1373, flags="DF")
    m.send(0, frame(packet))
    m.expect(0, error_about(ROUTER[0], A, packet, 3, 4, 1400))
    m.route(udp(A, B, size=1372, flags="DF"))
    assert "mtu 1400" in m.console("show interfaces")


def test_stalled_transmit_ring_is_reported_once(m):
    """Reported for a ring that takes nothing for more than two seconds, but not for a slow one."""
    m.route(udp(A, B))
    m.command("room 1 0")
    for _ in range(10):
        m.send(0, frame(udp(A, B)))
        m.time(SECOND // 2)
    assert m.text.count("eth1: the device has sent nothing for 2 s") == 1
    m.command("room 1 -1")
    m.take_all(1)


def test_slow_transmit_ring_is_not_stalled(m):
    m.route(udp(A, B))
    m.command("room 1 0")
    for _ in range(10):
        m.send(0, frame(udp(A, B)), frame(udp(A, B)))
        m.time(SECOND // 2)
        m.command("room 1 1")
    assert "has sent nothing" not in m.text
    m.command("room 1 -1")
    m.take_all(1)


NAP = 100000  # ns: HELD_NAP_NS of runtime/data.c


def naps(m):
    """The ns for which the core would sleep now; None: it would not sleep."""
    ((_, said),) = m.command("sleep")
    return None if said == "-" else int(said) or float("inf")


def test_sleep_while_packets_are_held(m):
    """No interrupt signals room in a ring, so the core polls. It neither stays awake nor requests
    interrupts more often than it sleeps."""
    m.route(udp(A, B))
    assert naps(m) > NAP
    m.command("room 1 0")
    m.send(0, frame(udp(A, B)))
    for _ in range(5):
        assert naps(m) == NAP
    m.time(10 * NAP)
    m.command("room 1 -1")
    assert len(m.take_all(1)) == 1 and naps(m) > NAP
    arms = re.findall(r"irq_arms (\d+)", m.console("show interfaces"))
    assert arms == ["7", "7"]


def test_no_sleep_while_packets_wait(m):
    """Packets that arrive between the last poll and the arming of the interrupt: the device reports
    them."""
    m.queue(0, padded(frame(udp(A, B))))
    m.command("reserve 0")  # no buffer to receive it
    assert naps(m) is None
    m.command("reserve -1")
    assert naps(m) is not None and len(m.take_all(1)) == 1


def test_no_buffer_for_our_own(m):
    """A packet of the machine itself is counted by the resource it lacked: here both announcements
    of a new link (RFC 5227 2.3)."""
    m.link(0, False)
    m.command("reserve 0")
    m.link(0, True)
    m.time(5 * SECOND)
    m.command("reserve -1")
    assert m.counted()["originated_drop_no_buffer"] == 2, m.counted()


def test_queue_that_breaks_in_sending(m):
    """Reported once, the queue is not used again (the harness checks that); the other port works,
    and a restart of the ports repairs the queue."""
    m.route(udp(A, B))
    m.command("break 1")
    for _ in range(3):
        m.send(0, frame(udp(A, B)))
        m.time(SECOND)
    assert m.text.count("eth1: queue stopped: the device broke the protocol") == 1
    m.take_all(0)
    m.send(0, frame(fixed(IP(src=A.ip, dst=ROUTER[0].ip) / ICMP())))
    assert len(m.take_all(0)) == 1, "the living port does not answer"
    m.command("restart")
    m.time(3 * SECOND)
    for port in (0, 1):
        m.take_all(port)
    m.learn(A, B)
    m.route(udp(A, B))


def test_what_the_device_counts(m):
    m.command("missed 0 7")
    assert "hw_rx_missed 7" in m.console("show interfaces")
    m.command("missed 0 3")
    m.command("restart")
    m.time(3 * SECOND)
    for port in (0, 1):
        m.take_all(port)
    assert "hw_rx_missed 10" in m.console("show interfaces")
