"""Parses the trace of commands to a ConnectX, in the format of Linux's mlx5_core and of our driver
(drivers/mlx5/trace.c), strictly, with one grammar for both.

A command is dumped before it is passed to the card (INPUT) and after its completion (OUTPUT): the
entry of the command queue, and each mailbox block, with its offset in the whole.
"""
import re
from collections import namedtuple

# The prefix that printk puts before a line; dump_buf adds none.
PRINTK = re.compile(r"^\[ *\d+\.\d+\] (?:mlx5_core \S+: dump_command:\d+:\(pid \d+\): )?",
                    re.MULTILINE)
_ROW = r"([0-9a-f]{3,}): ([0-9a-f]{8}(?: [0-9a-f]{8}){3})\n"
_ROWS = re.compile(_ROW)
_DUMP = re.compile(
    r"start dump\ndump command (\w+)\((0x[0-9a-f]+)\) (INPUT|OUTPUT)\n((?:%s){4})"
    r"((?:command block:\n(?:%s){36})*)end dump\n" % (_ROW, _ROW))
DATA_WORDS, BLOCK_WORDS, NUMBER_WORD = 128, 144, 142

# question: the part of the input that the driver chooses (bytes, words of the entry, data and
# number of each block); answer: the same part of the output. Neither has addresses, token or
# signatures.
Command = namedtuple("Command", "name opcode question answer")


def parse(text):
    """The Commands of each slot, in order. Dumps of several slots interleave; every line except the
    empty ones begins with its slot."""
    slots = {}
    for slot, line in re.findall(r"^(cmd\[\d+\]): (.*)$", text, re.MULTILINE):
        slots.setdefault(slot, []).append(line + "\n")
    return [command for lines in slots.values() for command in _commands("".join(lines))]


def _commands(text):
    end, question = 0, None
    for match in _DUMP.finditer(text):
        assert match.start() == end, "no dump of a command: " + text[end:match.start()][:300]
        end = match.end()
        name, opcode, way = match.group(1, 2, 3)
        rows = _ROWS.findall(match.group(0))
        assert [int(at, 16) for at, _ in rows] == list(range(0, 16 * len(rows), 16)), match.group(0)
        words = [int(word, 16) for _, row in rows for word in row.split()]
        entry, blocks = words[:16], words[16:]
        blocks = [tuple(blocks[at:at + DATA_WORDS]) + (blocks[at + NUMBER_WORD],)
                  for at in range(0, len(blocks), BLOCK_WORDS)]
        if way == "INPUT":
            assert question is None, match.group(0)
            question = (entry[1], *entry[4:8], *blocks)
        else:
            assert question, match.group(0)
            yield Command(name, int(opcode, 16), question, (entry[14], *entry[8:12], *blocks))
            question = None
    assert end == len(text), "no dump of a command: " + text[end:][:300]


def dumps(text, name):
    """The dumps of the command `name`, without addresses, tokens and signatures."""
    found = re.findall(r"^(cmd\[\d+\]: start dump\ncmd\[\d+\]: dump command %s\(.*?: end dump\n)"
                       % name, text, re.MULTILINE | re.DOTALL)
    hidden = [re.compile(r"(: 000: \w{8} \w{8} )\w{8} \w{8}$", re.MULTILINE),
              re.compile(r"(: 030: )\w{8} \w{8}( \w{8}) \w{4}", re.MULTILINE),
              re.compile(r"(: \w+: )\w{8} \w{8}( \w{8} 00)\w{6}(?=\n\n)", re.MULTILINE)]
    for pattern in hidden:
        found = [pattern.sub(lambda match: "".join(match.groups()), text) for text in found]
    return found
