"""docs/console.md against a machine: every command has a section, every section's commands exist,
and their output begins like the example: the same table headers, the same names."""
import re

import pytest
from machine import *

DOC = open(ROOT + "/docs/console.md", encoding="utf-8").read()
# end the machine or the session, wait for a network, a disk or more lines, or need something to forget
NOT_RUN = {"clock set", "write memory", "copy running-config startup-config", "erase startup-config", "show xdp map", "show xdp events", "xdp map", "ping", "test churn", "test connect", "capture", "trace", "traceroute", "exit", "quit", "reload", "poweroff", "install", "crypto certificate import", "crypto certificate reset", "upgrade"}


def sections():
    """(command with its arguments' hint, example) for each heading that names commands."""
    for part in re.split(r"^## ", DOC, flags=re.M)[1:]:
        heading, _, body = part.partition("\n")
        example = re.search(r"^```\n(.*?)^```$", body, re.M | re.S)
        for command in heading.split(", "):
            yield command, example.group(1).splitlines() if example else []


SECTIONS = list(sections())


def words(command):
    """The keywords, without the hint of arguments."""
    return " ".join(w for w in re.sub(r"\[.*", "", command).split()
                    if w.islower() or w == "|")


def heads(line):
    """The names of a table's columns; empty: not a table header."""
    names = line.split()
    return names if len(names) > 1 and all(re.fullmatch("[a-z][a-z0-9_]*", n) for n in names) else []


@pytest.mark.parametrize("command,example", SECTIONS, ids=[c for c, _ in SECTIONS])
def test_prints_what_is_documented(m, command, example):
    name = words(command)
    if name in NOT_RUN:
        return
    start = len(m.text)
    m.key(name + "\r")
    m.time(2 * SECOND)
    said = m.text[start:].replace("\r", "").splitlines()[1:]
    assert not any(line.startswith("% ") for line in said), said
    if example and heads(example[0]):
        assert heads(said[0]) == heads(example[0])


def test_every_command_is_documented(m):
    """`help` lists the commands; `test` is for Hayate's own tests."""
    listed = {words(re.split(" {2,}", line.strip())[0]) for line in m.console("help").splitlines()}
    documented = {words(command) for command, _ in SECTIONS}
    assert listed - documented == {"help", "test fault", "test dma", "test panic", "test regions", "test xdp",
                                   "test move bucket core", "test roles"}
    assert documented - listed == set()


def test_alert_rules_name_metrics():
    """Each metric of docs/prometheus-alerts.yml exists."""
    rules = open(ROOT + "/docs/prometheus-alerts.yml", encoding="utf-8").read()
    metrics = open(ROOT + "/control/management/metrics.c", encoding="utf-8").read()
    named = set(re.findall(r"\bhayate_[a-z_]+", rules))
    assert len(named) > 8
    assert not [name for name in named if '{"%s"' % name not in metrics]


def test_trace_prints_what_is_documented(m):
    """The whole example."""
    example = next(e for command, e in SECTIONS if words(command) == "trace")
    m.learn(A, B)
    start = len(m.text)
    m.key("trace 1\r")
    m.send(0, ether(A, ROUTER[0]) / udp(A, B))
    m.take(1)
    m.time(10 * MS)
    assert m.text[start:].replace("\r", "").splitlines()[1:-1] == example


def test_commands_of_the_bring_up_are_there(m):
    """docs/bring-up.md: a machine without the cards at least accepts the commands."""
    with open(ROOT + "/docs/bring-up.md", encoding="utf-8") as f:
        first = [line.split(" | ")[0] for line in f if line.startswith("| `")]
    typed = {name for cell in first for name in re.findall(r"`(show [a-z]+)`", cell)}
    assert len(typed) >= 5
    for command in typed:
        assert not m.console(command).startswith("%"), command


def test_duties_name_tests_that_exist():
    """docs/rfc-router.md: every row cites evidence, and what it names exists."""
    with open(ROOT + "/docs/rfc-router.md", encoding="utf-8") as f:
        rows = [line for line in f if line.startswith("| ") and not line.startswith("| rule")
                and not line.startswith("| ---")]
    assert len(rows) > 30
    for row in rows:
        named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", row.split(" | ")[-1])
        assert named, row
        for name, function in named:
            with open(ROOT + "/tests/packet/" + name, encoding="utf-8") as f:
                assert "\ndef %s(" % function in f.read(), row
