"""Cards that misbehave in a running router (nicsim's faults): each fault is reported and survived,
and the other port continues."""
import collections
import re

import pytest
from conftest import LEFT_HOST, LEFT_ROUTER, RIGHT_HOST, SLOW_FLOOD, THIRD_HOST, child, eventually, pings, \
    reaches, router_config, three_hosts
from flows import Flows

FRAMES = 10000

both_cards = pytest.mark.parametrize("nic", ["ixgbe", "mlx5"])


@pytest.mark.parametrize("nic", ["ixgbe", "mlx5"])
def test_gone_under_traffic(lab, nic):
    """Surprise removal: reported once; the link is down, and the other port still answers."""
    pings(lab.left, RIGHT_HOST)
    with lab.flood(RIGHT_HOST):
        eventually(lambda: lab.router.counters()["forwarded"] > 1000, 20, "traffic")
        lab.router.model("port 1 fault removed")
        lab.router.expect(r"eth1: %s: the device no longer answers\r?\n" % nic, 30)
        assert "eth1 link gone" in lab.router.command("show interfaces")
        eventually(lambda: reaches(lab.left, LEFT_ROUTER), 10, "the living port answers")
    lab.router.poll()
    assert lab.router.text.count("no longer answers") == 1
    assert not reaches(lab.left, RIGHT_HOST)
    pings(lab.left, LEFT_ROUTER)


@pytest.mark.parametrize("nic", ["mlx5"])
def test_firmware_that_hangs(lab):
    """Twice within a minute the firmware's health counter stands still, under traffic: the port alone is reset, and
    forwards again. The other keeps its link."""
    reason = "the firmware's health counter stands still"
    pings(lab.left, RIGHT_HOST)
    with lab.flood(RIGHT_HOST):
        for _ in range(2):
            lab.router.model("port 1 fault health-stuck")
            lab.router.expect(r"eth1: mlx5: %s" % reason, 30)
            lab.router.model("port 1 clear health-stuck")
            lab.router.expect(r"eth1: restarted after \d+ us: %s" % reason, 30)
            lab.router.wait_links(["eth1"])
            before = lab.router.counters()["forwarded"]
            eventually(lambda: lab.router.counters()["forwarded"] > before + 1000, 20, "traffic")
    pings(lab.left, RIGHT_HOST)
    assert not re.search(r"ports restart|eth0: (?:restarted|link down)|no longer answers", lab.router.text)
    assert lab.router.command("show events core 0").count("port_back port 1") == 2


@pytest.mark.parametrize("nic", ["mlx5"])
def test_firmware_that_answers_no_more(lab):
    """No command is answered any more, a reset does not help: said with its reason, the port stays stopped, and the
    other still answers."""
    pings(lab.left, RIGHT_HOST)
    lab.router.model("port 1 fault command-timeout:1")
    lab.router.expect(r"eth1: mlx5: \w+\(0x\w+\) op_mod\(0x\w\) failed, no answer in 10 s", 30)
    lab.router.expect(r"eth1: mlx5: .*; this port is not started", 60)
    assert "eth1 link down" in lab.router.command("show interfaces")
    assert "ports restart" not in lab.router.text
    assert not reaches(lab.left, RIGHT_HOST)
    pings(lab.left, LEFT_ROUTER)


@pytest.mark.parametrize("nic", ["ixgbe"])
def test_memory_error(lab):
    """An error in the card's own memory: the port alone is reset, each time, and forwards again."""
    pings(lab.left, RIGHT_HOST)
    for _ in range(2):
        lab.router.model("port 1 fault memory-error")
        lab.router.expect(r"eth1: restarted after \d+ us: an error in the card's memory \(EICR.ECC\)", 20)
        lab.router.model("port 1 clear memory-error")
        lab.router.wait_links(["eth1"])
        eventually(lambda: reaches(lab.left, RIGHT_HOST), 15, "traffic again")
    assert not re.search(r"ports restart|eth0: (?:restarted|link down)", lab.router.text)


@both_cards
def test_link_flaps_under_traffic(lab):
    """The cable goes down and up five times a second; afterwards everything works."""
    pings(lab.left, RIGHT_HOST)
    with lab.flood(RIGHT_HOST):
        lab.router.model("port 1 fault link-flap:200")
        lab.router.expect(r"eth1: link down", 20)
        lab.router.expect(r"eth1: link up", 20)
        lab.router.expect(r"eth1: link down", 20)
        lab.router.model("port 1 clear link-flap")
    lab.router.wait_links(["eth1"])
    eventually(lambda: reaches(lab.left, RIGHT_HOST), 15, "traffic after the flaps")
    pings(lab.left, RIGHT_HOST)


@pytest.mark.parametrize("nic", ["ixgbe"])
def test_link_that_comes_late(make_lab):
    """One port's link comes up at the third attempt only, the other's cage is empty until a module is plugged in.
    Neither needs a restart, and no ARP announcement waits for the link."""
    lab = make_lab(router_config(), "--nicsim-option", "0:fault=link-late:5",
                   "--nicsim-option", "1:fault=module-out", wait_for=["eth0"])
    pings(lab.left, LEFT_ROUTER)
    assert lab.router.text.count("eth1: ixgbe: no module answers in the cage") == 1
    assert "eth0: ixgbe" not in lab.router.text
    lab.router.model("port 1 clear module-out")
    lab.router.wait_links(["eth1"])
    eventually(lambda: reaches(lab.left, RIGHT_HOST), 15, "traffic")
    assert "ports restart" not in lab.router.text and "frames that waited" not in lab.router.text


@pytest.mark.parametrize("nic", ["ixgbe"])
def test_x550(make_lab):
    """An X550 forwards to an 82599 and back; it follows its cable."""
    lab = make_lab(router_config(), "--nicsim-option", "0:model=x550")
    for _ in range(3):
        pings(lab.left, RIGHT_HOST)
    assert "8086:1563" in lab.router.command("show hardware")
    lab.router.model("port 0 fault link-flap:3000")
    lab.router.expect(r"eth0: link down", 20)
    lab.router.expect(r"eth0: link up", 20)
    lab.router.model("port 0 clear link-flap")
    lab.router.wait_links(["eth0"])
    eventually(lambda: reaches(lab.left, RIGHT_HOST), 15, "traffic after the flaps")


@pytest.mark.parametrize("nic", ["ixgbe"])
def test_x550_with_firmware_that_hangs(make_router, nic):
    """The card is left out with the reason; the other port works."""
    router = make_router(None, "--nicsim-option", "0:model=x550", "--nicsim-option", "0:fault=firmware-stuck",
                         wait=False)
    assert router.wait_ready(60)[0] == 1
    router.wait_prompt()
    assert re.search(r"^pci 00:01\.0: ixgbe: the firmware does not answer a command \(HICR\.C\).*, left out",
                     router.text, re.MULTILINE), router.text
    assert "device " + nic in router.command("show interfaces")


@pytest.mark.parametrize("nic", ["ixgbe"])
def test_receive_path_that_does_not_rest(make_lab):
    """SECRXSTAT never says that the receive path is empty: the port is started all the same, and says so once. It says so
    again if it restarts, because frames have waited for a link that comes up late on a busy machine."""
    lab = make_lab(router_config(), "--nicsim-option", "1:fault=secrx-late:100000")
    pings(lab.left, RIGHT_HOST)
    lab.router.poll()
    text = lab.router.text
    starts = 1 + text.count("eth1: its link is down: frames that waited to be sent are dropped")
    assert text.count("eth1: ixgbe: the receive path was started before it came to rest") == starts, text
    assert "eth0: ixgbe" not in lab.router.text


@pytest.mark.parametrize("nic,fault,reason", [
    ("ixgbe", "reset-stuck", "reset"),
    ("ixgbe", "eeprom-checksum", "EEPROM checksum"),
    ("ixgbe", "eeprom-stuck", "EEPROM does not answer"),
    ("ixgbe", "no-dma-done", "DMA"),
    ("ixgbe", "master-abort", "no longer answers"),
    ("mlx5", "command-timeout:1", "ENABLE_HCA(0x104)"),
    ("mlx5", "command-status:5", "internal error(0x1)"),
    ("mlx5", "command-delivery:7", "delivery status"),
    ("mlx5", "master-abort", "no longer answers"),
])
def test_card_that_cannot_be_used(make_router, nic, fault, reason):
    """An unusable card is reported with its reason and left out; the other port works, and so does
    the console."""
    router = make_router(None, "--nicsim-option", "0:fault=" + fault, wait=False)
    assert router.wait_ready(60)[0] == 1
    router.wait_prompt()
    assert re.search(r"^pci 00:01\.0: %s: .*%s.*, left out" % (nic, re.escape(reason)),
                     router.text, re.MULTILINE), router.text
    assert "device " + nic in router.command("show interfaces")
    router.violations_expected = True  # its writes to a card in reset


@pytest.mark.parametrize("nic", ["mlx5"])
def test_card_that_starts_late(make_lab, nic):
    """Firmware that initialises for longer than the machine boots: the other port works meanwhile,
    and this one follows."""
    lab = make_lab(router_config(), "--nicsim-option", "0:fault=slow-start:15", wait_for=["eth1"])
    assert re.search(r"^eth0: %s: firmware is still in its initialisation: its port is started later"
                     % nic, lab.router.text, re.MULTILINE), lab.router.text
    assert "ports restart: a device is ready" not in lab.router.text
    lab.router.expect(r"ports restart: a device is ready", 60)
    lab.router.wait_ready(60)
    lab.router.wait_links(["eth0", "eth1"])
    pings(lab.left, RIGHT_HOST)


@pytest.mark.parametrize("nic", ["mlx5"])
def test_card_that_never_starts(make_router, nic):
    """The other port and the console work while the card is waited for."""
    router = make_router(None, "--nicsim-option", "0:fault=initializing-stuck", wait=False)
    router.wait_ready(60)
    router.wait_prompt()
    assert "eth0: %s: firmware is still in its initialisation" % nic in router.text
    assert "device " + nic in router.command("show interfaces")


@pytest.mark.parametrize("nic,fault", [("ixgbe", "rxdctl-stuck"), ("ixgbe", "txdctl-stuck"),
                                       ("mlx5", "command-status:60")])
def test_card_that_does_not_start(make_lab, nic, fault):
    """The card's queues cannot be enabled: this port is not started, the other is."""
    lab = make_lab(router_config(), "--nicsim-option", "1:fault=" + fault, wait_for=["eth0"])
    assert "eth1: %s: " % nic in lab.router.text and "this port is not started" in lab.router.text
    pings(lab.left, LEFT_ROUTER)
    lab.router.violations_expected = True


@pytest.mark.parametrize("nic", ["mlx5"])
@pytest.mark.parametrize("cpus", [2, 3])
def test_restarts_keep_the_link(make_lab, nic, cpus):
    """A data core fails, the control program fails, a commit restarts all ports, a card sends nothing and its port
    restarts alone: the card's link stays."""
    lab = make_lab(router_config(), "--append", "test=1", cpus=cpus)
    router = lab.router
    router.faults_expected = True

    def downs():
        return [port["device"]["link_downs"] for port in router.model("stats")["ports"]]

    before = downs()
    for line, done in (("test fault ud core 1", r"core 1: polls again after"),
                       ("test fault ud core 0", r"control program: goes on after"),
                       ("configure; interface eth0; mtu 1400; commit; end", r"ready: ")):
        router.skip()
        for word in line.split("; "):
            router.send(word)
        router.expect(done, 30)
        router.wait_links(["eth0", "eth1"])
        pings(lab.left, RIGHT_HOST)
        assert downs() == before, line
    assert router.text.count("ports restart: ") == 1  # by the last one
    router.model("port 1 fault send-stuck")
    with lab.flood(RIGHT_HOST):
        router.expect(r"eth1: restarted after \d+ us: the device sends nothing although its link is up", 30)
    router.model("port 1 clear send-stuck")
    eventually(lambda: reaches(lab.left, RIGHT_HOST), 15, "traffic again")
    assert downs() == before
    assert router.text.count("ports restart: ") == 1


@pytest.mark.parametrize("nic", ["mlx5"])
def test_port_of_another_function(make_lab, nic):
    """Firmware that refuses the port's registers, as it does to a virtual function and to one of
    several hosts: said once, and traffic flows."""
    lab = make_lab(router_config(), "--nicsim-option", "0:fault=foreign-port")
    assert "eth0: %s: firmware refuses, and the port does without: PMTU (frame length), " \
           "PTYS (speed), " % nic in lab.router.text
    pings(lab.left, RIGHT_HOST)
    lab.router.poll()
    assert lab.router.text.count("firmware refuses") == 1
    assert "speed" not in lab.router.command("show interfaces").partition("eth1")[0]


@pytest.mark.parametrize("nic", ["mlx5"])
def test_firmware_that_is_reset(make_router, nic):
    """The 60th command, while the port starts, is never answered. The wait is reported; a reset of
    the card gets the port to start."""
    router = make_router(None, "--nicsim-option", "1:fault=command-timeout:60", wait=False)
    router.wait_ready(60)
    router.wait_prompt()
    assert re.search(r"^eth1: %s: waiting for \w+, up to \d s" % nic, router.text, re.MULTILINE)
    assert "not started" not in router.text
    router.violations_expected = True


@pytest.mark.parametrize("nic,fault", [("ixgbe", "head-stuck"), ("mlx5", "send-stuck")])
def test_transmit_stands_still(lab, fault):
    """Reported; packets for that port are dropped by name, and the other direction works. Starting the port
    again does not help here."""
    pings(lab.left, RIGHT_HOST)
    lab.router.model("port 1 fault " + fault)
    with lab.flood(RIGHT_HOST):
        lab.router.expect(r"eth1: the device has sent nothing for 2 s", 30)
        eventually(lambda: lab.router.counters()["drop_tx_full"] > 0, 10, "the ring is full")
    pings(lab.left, LEFT_ROUTER)
    lab.router.model("port 1 clear " + fault)
    eventually(lambda: reaches(lab.left, RIGHT_HOST), 15, "traffic again")


class Hang:
    """Two hosts whose numbered packets pass, while the card of a third port sends nothing more and is restarted.
    Packets for that port and from it pass too."""

    def __init__(self, router, left, right, third):
        self.router, self.left, self.right, self.third = router, left, right, third

    def check(self, meanwhile):
        """Lets the third card hang. Nothing of the others is lost, and their links and the cores stay."""
        changes = re.findall(r"link port [01] .*", self.router.command("show events core 0"))
        with Flows(self.left, self.right, RIGHT_HOST, 8) as flows:
            self.router.model("port 2 fault send-hangs")
            with child(self.third, SLOW_FLOOD, LEFT_HOST), flows.flood(self.left, THIRD_HOST, 20), flows.sending():
                meanwhile()
            assert flows.settle() == [], self.router.counters()
        assert sum(flow.sent for flow in flows.list) > 1000
        assert re.findall(r"link port [01] .*", self.router.command("show events core 0")) == changes
        assert self.router.interfaces()["eth2"]["tx_flushed"] > 0
        assert not re.search(r"ports restart|eth[01]: (restarted|link down)", self.router.text), self.router.tail()
        assert [core["faults"] for core in self.router.cores()] == [0, 0, 0, 0]


@pytest.fixture(params=[(), ("--append", "pairs=1")], ids=["pairs", "workers"])
def hang(request, make_router, make_hosts):
    """With one pair, two of the three data cores are workers (runtime/steer.h)."""
    with three_hosts(make_router, make_hosts, 4, *request.param) as hosts:
        yield Hang(*hosts)


@pytest.mark.parametrize("nic", ["ixgbe"])
def test_port_that_hangs(hang):
    """Only that port restarts, and sends again."""
    def meanwhile():
        hang.router.expect(r"eth2: restarted after \d+ us: the device sends nothing although its link is up", 40)
        eventually(lambda: reaches(hang.third, "203.0.113.1"), 20, "the third port sends")
    hang.check(meanwhile)


# Sends datagrams of many flows as fast as possible, until killed.
MANY_FLOWS = """\
import socket, sys
socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(32)]
while True:
    for sock in socks:
        sock.sendto(b"x" * 100, (sys.argv[1], 9))
"""


@pytest.mark.parametrize("nic", ["ixgbe"])
def test_port_that_does_not_come_back(hang):
    """It stays stopped. Packets that it had received are on their way to every core then, and none blocks others."""
    with child(hang.left, SLOW_FLOOD, THIRD_HOST), child(hang.third, MANY_FLOWS, LEFT_HOST):
        for fault in "txdctl-stuck", "send-hangs":
            hang.router.model("port 2 fault " + fault)
        hang.router.expect(r"eth2: ixgbe: .*; this port is not started", 40)
    with Flows(hang.left, hang.right, RIGHT_HOST, 8) as flows:
        with flows.sending():
            eventually(lambda: sum(flow.sent for flow in flows.list) > 500, 20, "packets pass")
        assert flows.settle() == []
    assert not re.search(r"ports restart|eth[01]: (restarted|link down)", hang.router.text), hang.router.tail()


@pytest.mark.parametrize("nic", ["ixgbe"])
def test_transmitter_that_hangs(lab):
    """A card that sends nothing more although its link is up is started again alone, and then sends."""
    pings(lab.left, RIGHT_HOST)
    lab.router.model("port 1 fault send-hangs")
    with lab.flood(RIGHT_HOST):
        lab.router.expect(r"eth1: restarted after \d+ us: the device sends nothing although its link is up", 30)
    eventually(lambda: reaches(lab.left, RIGHT_HOST), 15, "traffic again")
    counts = lab.router.counters()
    flushed = lab.router.interfaces()["eth1"]["tx_flushed"]  # transit, and perhaps packets of our own
    assert 0 < counts["drop_restart"] <= flushed <= counts["drop_restart"] + counts["originated_drop_tx"]
    assert not re.search(r"eth\d: link down|ports restart|eth0: restarted", lab.router.text)
    events = lab.router.command("show events core 0")
    assert re.search(r"port_restart port 1 core 0\n(?:.*\n)*?.*port_back port 1 us \d+", events), events


@pytest.mark.parametrize("nic,fault", [
    ("ixgbe", "bad-length:50"), ("ixgbe", "error-bits:50"), ("ixgbe", "dd-garbage:50"),
    ("ixgbe", "writeback-lost:50"), ("ixgbe", "writeback-delay:500"), ("mlx5", "bad-length:50"),
    ("mlx5", "completion-lost:50"), ("mlx5", "receive-error:50")])
def test_receive_that_lies(lab, fault):
    """Wrong lengths, error bits, lost and late write-backs, and stopped queues are counted, and
    traffic goes on."""
    pings(lab.left, RIGHT_HOST)
    lab.router.model("port 0 fault " + fault)
    with lab.flood(RIGHT_HOST):
        before = lab.router.counters()["forwarded"]
        eventually(lambda: lab.router.counters()["forwarded"] > before + 1000, 30, "traffic")
    lab.router.model("port 0 clear " + fault.partition(":")[0])
    eventually(lambda: reaches(lab.left, RIGHT_HOST), 15, "traffic afterwards")
    pings(lab.left, RIGHT_HOST)


@pytest.mark.parametrize("nic", ["mlx5"])
def test_firmware_that_complains(lab):
    """The firmware's reports and refusals are printed once each, in words, and traffic goes on."""
    lab.router.model("port 0 fault health-syndrome")
    lab.router.expect(r"eth0: mlx5: firmware reports syndrome 0x1: firmware internal error", 20)
    lab.router.model("port 0 fault command-status:1")
    for command, register in (("QUERY_VPORT_STATE(0x750) op_mod(0x0)", ""),
                              ("ACCESS_REG(0x805) op_mod(0x1)", ", register 0x5004"),  # PTYS
                              ("ACCESS_REG(0x805) op_mod(0x1)", ", register 0x5008"),  # PPCNT
                              ("QUERY_Q_COUNTER(0x773) op_mod(0x0)", "")):
        here = lab.router.mark
        lab.router.expect(r"eth0: mlx5: %s failed, status internal error\(0x1\), syndrome "
                          r"\(0x\w+\)%s\r?\n" % (re.escape(command), register), 20)
        lab.router.mark = here  # they come in any order
    pings(lab.left, RIGHT_HOST)
    assert len(re.findall("syndrome 0x1", lab.router.text)) == 1


@pytest.mark.parametrize("nic", ["mlx5"])
@pytest.mark.parametrize("port,fault,command", [(0, "receive-error", r"MODIFY_RQ\(0x909\)"),
                                                (1, "send-error", r"MODIFY_SQ\(0x905\)")])
def test_queue_that_is_not_mended(lab, port, fault, command):
    """The firmware refuses to restart a queue. The failed command and the stopped queue are each
    reported once, by two cores and so in any order; the other port answers."""
    pings(lab.left, RIGHT_HOST)
    lab.router.model("port %d fault %s:1" % (port, fault))
    lab.router.model("port %d fault command-status:1" % port)
    assert not reaches(lab.left, RIGHT_HOST)
    here = lab.router.mark
    lab.router.expect(r"eth%d: mlx5: %s op_mod\(0x0\) failed, status internal error"
                      % (port, command), 20)
    lab.router.mark = here
    lab.router.expect(r"core \d: eth%d: queue stopped: the firmware does not take it out of its "
                      r"error state" % port, 20)
    if port == 1:
        pings(lab.left, LEFT_ROUTER)


def touched(router, port, kind):
    """How often each register of the card was read or written, as the model counted."""
    registers = router.model("stats")["ports"][port]["registers"]
    return +collections.Counter({name: one[kind] for name, one in registers.items()})


@pytest.mark.parametrize("nic", ["mlx5"])
@pytest.mark.parametrize("mode", ["strict", "line-rate"])
def test_accesses_as_the_card_counts_them(make_router, mode):
    """Invariant 4, as the card counts it. While frames are forwarded, only the firmware's health is
    read, now and then, by the control core. Received frames cause no writes, and sent frames at
    most the writes that the data core counts, several frames a doorbell. In line-rate mode no
    doorbell traps."""
    router = make_router(router_config(), "--nic-mode", mode, "--idle", "poll",
                         ports=("wire:gen:rate=flat;start=manual", "wire:sink"))
    reads = [touched(router, port, "reads") for port in (0, 1)]
    router.model("port 0 gen start")  # until stopped: frames before ARP's answer are lost
    eventually(lambda: router.counters()["forwarded"] >= FRAMES, 60, "frames")
    router.model("port 0 gen stop")
    router.balanced()
    seen = router.interfaces()
    sent = seen["eth1"]["tx_pkts"]
    for port in (0, 1):
        data = seen["eth%d" % port]
        assert set(touched(router, port, "reads") - reads[port]) <= {"HEALTH", "HEALTH_COUNTER"}
        written = touched(router, port, "writes")
        assert set(written) <= {"CMDQ_ADDR_H", "CMDQ_ADDR_L", "CMD_DOORBELL", "EQ_ARM", "SQ_DB0",
                                "SQ_DB0_SQN"}, written
        doorbells = data["mmio_writes"] if mode == "strict" else 0
        assert written["SQ_DB0"] == doorbells, (written, data)
        assert data["mmio_reads"] == 0
    assert seen["eth0"]["mmio_writes"] < 8 and seen["eth1"]["mmio_writes"] < sent / 8, seen
