"""Linux's own ixgbe on the model of the X550: what differs from the 82599 (test_82599.py has the rest).

Every test leaves the card up, with its address and options unchanged.
"""
import re

from test_82599 import field, no_complaint

CARD = "x550"


def test_probe(lab):
    """The driver is the kernel's own, takes the card for an X550 (its fifth kind of chip) and reports no problem:
    the firmware has given it an EEPROM with a correct checksum."""
    assert "Debian" in lab.guest.output("uname -v")
    text = lab.guest.output("lspci -nnk -d " + lab.card.ids)
    assert "Kernel driver in use: ixgbe" in text, text
    said = lab.guest.output("dmesg | grep -i ixgbe")
    assert not re.search(r"fail|error|timeout|timed out|warn|unsupported|not set|checksum", said, re.I), said
    assert re.search(r"MAC: 4, PHY: \d+, PBA No: \S+", said), said
    assert lab.mac() in said, said


def test_link(lab):
    text = lab.guest.output("ethtool eth0")
    assert field(text, "Speed") == "10000Mb/s"
    assert field(text, "Port") == "Twisted Pair"
    assert field(text, "Link detected") == "yes"
    for speed in ("2500", "5000", "10000"):
        assert re.search(r"%sbase" % speed, text), text


def test_eeprom(lab):
    """The image that the firmware gives: words 0 to 0x41 and the sections of the checksum sum up to 0xBABA."""
    image = bytes.fromhex(lab.guest.output("ethtool -e eth0 raw on | od -An -v -tx1").replace(
        "\n", "").replace(" ", ""))
    words = [int.from_bytes(image[at:at + 2], "little") for at in range(0, len(image), 2)]
    total = sum(words[:0x42])
    for number in (2, 3, *range(6, 0xF)):
        pointer, fixed = words[number], {6: 0x24, 7: 8, 8: 8}.get(number)
        if pointer not in (0, 0xFFFF) and pointer < len(words):
            total += sum(words[pointer:pointer + fixed] if fixed else
                         words[pointer + 1:pointer + 1 + words[pointer]])
    assert total & 0xFFFF == 0xBABA


def test_table_of_512(lab):
    """The driver fills a redirection table of 512 entries, most of it beyond what the 82599 has."""
    text = lab.guest.output("ethtool -x eth0")
    assert len(re.findall(r"^\s*\d+:((?:\s+\d+)+)$", text, re.MULTILINE)) == 64, text
    with open(lab.models.traces[0], encoding="utf-8") as trace:
        assert re.search(r" W ERETA\[95\] 0x01000100$", trace.read(), re.MULTILINE)
    lab.ping(5)


def test_restarts(lab):
    """Down and up, and unloaded and loaded again: the firmware disables receive each time."""
    lab.guest.run("ip link set eth0 down")
    lab.address()
    lab.ping()
    lab.guest.run("modprobe -r ixgbe")
    lab.bring_up()
    lab.ping(3, 1000)
    no_complaint(lab)
