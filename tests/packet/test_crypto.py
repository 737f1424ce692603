"""The cryptographic libraries in the control program: known answers, and refusal without memory."""
import re

CONFIG = """interface eth0
 ip address 192.0.2.1/24
"""


def test_known_answers(make):
    m = make(CONFIG, options="test=1")
    said = m.console("test crypto")
    assert re.search(r"^known answers: 0 wrong; heap \d+ of 1048576 bytes$", said, re.M), said
    assert said.count(" right ") >= 18 and "WRONG" not in said


def test_without_memory(make):
    """Nothing begins, the reason is said, and the machine goes on."""
    m = make(CONFIG, options="test=1")
    m.refuse("memory", 1, True)
    assert "there is no memory for cryptography" in m.console("test crypto")
    m.refuse("memory", 0)
    assert "there is no memory for cryptography" in m.console("test crypto")
    assert "192.0.2.1" in m.console("show running-config")
