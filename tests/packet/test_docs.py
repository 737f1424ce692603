"""docs/console.md against a machine: every command has a section, every section's commands exist,
and their output begins like the example: the same table headers, the same names."""
import glob
import os
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


def defined(named):
    """True if the test of a row exists: of Python `test_x.py::test_y` in tests/packet, or with a folder of tests before it; of
    C `test_x.c::y`, wherever tests/unit has the file."""
    path, function = named.split("::")
    if path.endswith(".py"):
        (found,), begins = [ROOT + "/tests/" + (path if "/" in path else "packet/" + path)], "\ndef %s("
    else:
        (found,), begins = glob.glob(ROOT + "/tests/unit/**/" + path, recursive=True), "\nstatic void %s(void **state)\n"
    with open(found, encoding="utf-8") as f:
        return begins % function in f.read()


@pytest.mark.parametrize("page", sorted(map(os.path.basename, glob.glob(ROOT + "/docs/rfc-*.md"))))
def test_duties_name_tests_that_exist(page):
    """docs/rfc-*.md: every row cites evidence, which exists, or says that it is not obeyed or untested. The other documents
    link to the page."""
    with open(ROOT + "/docs/" + page, encoding="utf-8") as f:
        rows = [line for line in f if line.startswith("| ") and not line.startswith("| rule")
                and not line.startswith("| ---")]
    assert len(rows) > 10
    for row in rows:
        _, _, here, shown = row.rstrip("\n")[2:-1].split(" | ")
        named = re.findall(r"`((?:\w+/)?test_\w+\.(?:py|c)::\w+)`", shown)
        assert named or here.startswith("no: ") or shown.startswith("untested"), row
        assert len(named) == shown.count("::"), row
        for name in named:
            assert defined(name), row
    for document in "README.md", "docs/protocols.md":
        with open(ROOT + "/" + document, encoding="utf-8") as f:
            assert "(%s)" % (page if "/" in document else "docs/" + page) in f.read(), document
