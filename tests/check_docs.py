#!/usr/bin/python3
"""Whether what README.md, ARCHITECTURE.md, CONTRIBUTING.md, CHANGELOG.md and docs/*.md name is there:

    links             files, and headings in them
    names of files    `control/commit/commit.c`, test_tcp.py, docs/pktgen.md
    names of code     `rx_vector`, in ARCHITECTURE.md: whatever has an underscore
    calls             `tcp_ack` → `tcp_queue_ack`, in ARCHITECTURE.md: the body of the first names the second
    make TARGET       targets, the tests of T="…", the entries of F=…
    bench.py --only   the parts of tests/bench/bench.py
    pytest … -k WORD  the files, and tests that have the word in their names
    tools/hayate …    commands and options, as `--help` has them

    tests/check_docs.py [TREE]        prints what is not, then `docs: N passed, N failed`
    tests/check_docs.py --self-test   proves on made-up texts that every rule can fail

Exit code: 0 when all is well, 1 otherwise.
"""
import functools
import glob
import os
import re
import subprocess
import sys
import tempfile

from check_run import run

CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(r"(?<![\w/.<-])((?:[\w-]+/)+[\w.-]+\.(?:c|h|py|md|mk|sh|asm|ld|json|png|txt))\b")
TEST = re.compile(r"(?<![\w/])(test_\w+\.(?:py|c))\b")
# Build products, and files of other projects.
FOREIGN = re.compile(r"^(build|boot/grub|srv|dev|proc|sys|etc|usr|var|tmp|drivers/net|net/core|examples/l3fwd)/")
WORD = re.compile(r"`([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?:\(\))?`")
CALLS = re.compile(r"`\w+`(?: → `\w+`)+")
NO_CODE = re.compile(r"/\*.*?\*/|__attribute__\(\((?:[^()]|\([^()]*\))*\)\)", re.S)  # comments and attributes
# A function with its body: up to a brace at the begin of a line, or in one line.
FUNCTION = re.compile(r"^(?![\s#}])[^;{}=\n]*?\b(\w+)\([^;{}]*\)\s*\{(?:\n(.*?)^\}|([^\n]*)\}$)", re.M | re.S)
SOURCES = (".c", ".h", ".asm", ".py", ".mk", ".sh", ".ld", ".awk", "Makefile")
CLONE = "hayate/"  # a clone's folder, as a guide calls it
TESTS = ("tests/*", "tests/unit/**", "tests/fuzz/*")


class Tree:
    """The contents of a tree, each looked up once."""

    def __init__(self, root):
        self.root = root

    def text(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def has(self, path):
        return os.path.exists(os.path.join(self.root, path))

    def files(self, pattern):
        return sorted(os.path.relpath(path, self.root)
                      for path in glob.glob(os.path.join(self.root, pattern), recursive=True))

    @functools.lru_cache(None)
    def documents(self):
        names = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        return [name for name in names if self.has(name)] + self.files("docs/*.md")

    @functools.lru_cache(None)
    def anchors(self, path):
        """GitHub's anchors for a document's headings."""
        heads = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", self.text(path), flags=re.M | re.S), re.M)
        return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}

    @functools.lru_cache(None)
    def make_targets(self):
        found = set()
        for path in ["Makefile"] + self.files("tests/*/*.mk") + self.files("examples/*.mk") + \
                self.files("tools/*/*.mk"):
            for names in re.findall(r"^([a-z][\w -]*):(?!=)", self.text(path), re.M):
                found.update(names.split())
        return found

    @functools.lru_cache(None)
    def bench_parts(self):
        parts = re.search(r"^PARTS = \[(.*?)\]", self.text("tests/bench/bench.py"), re.M | re.S)
        return set(re.findall(r'"([\w-]+)"', parts[1]))

    @functools.lru_cache(None)
    def words(self):
        """The words of all sources."""
        found = set()
        for folder, below, names in os.walk(self.root):
            below[:] = [name for name in below if name[0] != "." and name != "build"]
            for name in names:
                if name.endswith(SOURCES):
                    found.update(re.findall(r"\w+", self.text(os.path.join(folder, name))))
        return found

    @functools.lru_cache(None)
    def bodies(self):
        """{function: the words of the bodies of all functions of that name}, without tests."""
        found = {}
        for path in self.files("**/*.[ch]"):
            if not path.startswith(("tests/", "build/")):
                for name, *body in FUNCTION.findall(NO_CODE.sub("", self.text(path))):
                    found.setdefault(name, set()).update(re.findall(r"\w+", "".join(body)))
        return found

    @functools.lru_cache(None)
    def unit_tests(self):
        """Those with a file of their own, and those that run another's main()."""
        return {os.path.basename(path)[5:-2] for path in self.files("tests/unit/**/test_*.c")} | \
            set(re.findall(r"^UNIT_MAIN_(\w+) :=", self.text("tests/unit/unit.mk"), re.M))

    @functools.lru_cache(None)
    def fuzz_entries(self):
        return {os.path.basename(path)[5:-2] for path in self.files("tests/fuzz/fuzz_*.c")}

    @functools.lru_cache(None)
    def options(self, command):
        """The options of a command of tools/hayate; None: no such command."""
        said = subprocess.run([sys.executable, os.path.join(self.root, "tools/hayate"), *command.split(),
                               "--help"], capture_output=True, text=True, check=False)
        return set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", said.stdout)) if said.returncode == 0 else None


def code_of(text):
    """The commands of a document: (line, text); continued lines are joined."""
    for match in CODE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        code = match[0].strip("`")
        for extra, part in enumerate(re.sub(r"\\\n", "  ", code).split("\n")):
            yield line + extra, part


def check_links(tree, path, text):
    plain = CODE.sub(lambda m: " " * len(m[0]), text)
    for match in LINK.finditer(plain):
        target, _, anchor = match[1].partition("#")
        if re.match(r"[a-z]+:", match[1]):
            continue
        to = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        good = tree.has(to) and (not anchor or not to.endswith(".md") or anchor in tree.anchors(to))
        yield match.start(), "link to " + match[1], good


def check_names(tree, _path, text):
    text = LINK.sub(lambda m: "]" + " " * (len(m[0]) - 1), text)
    for match in PATH.finditer(text):
        if not FOREIGN.match(match[1]) and "NAME" not in match[1]:
            name = match[1].removeprefix(CLONE)
            yield match.start(), name, any(tree.has(base + name) for base in ("", "docs/", "tests/", "tools/"))
    for match in TEST.finditer(text):
        good = any(tree.files("%s/%s" % (folder, match[1])) for folder in TESTS)
        yield match.start(), match[1], good


def check_words(tree, path, text):
    if path == "ARCHITECTURE.md":
        for match in WORD.finditer(text):
            yield match.start(), match[1], match[1] in tree.words()


def check_calls(tree, path, text):
    if path == "ARCHITECTURE.md":
        for match in CALLS.finditer(text):
            names = re.findall(r"\w+", match[0])
            for caller, called in zip(names, names[1:]):
                if caller in tree.bodies():  # not a macro, and not in assembly
                    yield match.start(), caller + " calling " + called, called in tree.bodies()[caller]


def check_make(tree, line):
    line = re.sub(r"\bmake -C \S+", "make", line)
    for match in re.finditer(r"(?:^|[\s;&(])make((?:\s+(?:[A-Z]+=(?:\"[^\"]*\"|\S+)|-\S+|[a-z][\w-]*))+)", line):
        words = re.findall(r"([A-Z]+)=(?:\"([^\"]*)\"|(\S+))|(?<![\w=-])([a-z][\w-]*)", match[1])
        target = next((word[3] for word in words if word[3]), None)
        if target:
            yield "make " + target, target in tree.make_targets()
        for name, quoted, bare, _ in words:
            for value in (quoted or bare).split():
                if name == "T" and target == "unit":
                    yield "make unit T=" + value, value in tree.unit_tests()
                if name == "F" and target in ("fuzz", "test-fuzz"):
                    yield "make %s F=%s" % (target, value), value in tree.fuzz_entries()


def check_programs(tree, line):
    if "bench.py" in line:
        for part in re.findall(r"--only[ =]([a-z][\w-]*)", line):
            yield "bench.py --only " + part, part in tree.bench_parts()
    match = re.search(r"pytest\b.*?\s-k\s+(\w+)", line)
    if match:
        files = re.findall(r"tests/\w+/test_\w+\.py", line)
        names = [name for file in files if tree.has(file)
                 for name in re.findall(r"def (test_\w+)", tree.text(file))]
        yield match[0], any(match[1] in name for name in names)
    for match in re.finditer(r"(?<![\w/])(?:tools/)?hayate ([a-z][a-z0-9]+)\b([^|&;#]*)", line):
        options = tree.options(match[1])
        if options is None:
            if line[match.start():].startswith("tools/"):
                yield "tools/hayate " + match[1], False
            continue
        for option in re.findall(r"(?<=\s)--[a-z][\w-]*", match[2]):
            yield "hayate %s %s" % (match[1], option), option in options


def check(root):
    """(number of correct references, [wrong ones])."""
    tree, good, bad = Tree(root), 0, []
    for path in tree.documents():
        text = tree.text(path)
        found = [(text.count("\n", 0, at) + 1, what, well)
                 for rule in (check_links, check_names, check_words, check_calls)
                 for at, what, well in rule(tree, path, text)]
        found += [(number, what, well) for number, line in code_of(text)
                  for rule in (check_make, check_programs) for what, well in rule(tree, line)]
        good += sum(well for _, _, well in found)
        bad += ["%s:%d: there is no such thing: %s" % (path, number, what)
                for number, what, well in found if not well]
    return good, bad


# --- self-test ---

FILES = {
    "Makefile": "all: x ## build\nimage iso: all\n\ttrue\n",
    "tests/bench/bench.py": 'PARTS = ["tcp", "full-table",\n  "boot"]\n',
    "tests/unit/unit.mk": "UNIT_MAIN_fib := test_arp.c",
    "tests/unit/net/test_arp.c": "",
    "tests/fuzz/fuzz_ip4.c": "",
    "tests/system/test_tcp.py": "def test_echo_of_all(lab):\n",
    "tools/hayate": "import sys\nsys.exit(0 if print('  --cpus N, -o FILE') or sys.argv[1:] == "
                    "['run', '--help'] else 122)\n",
    "docs/a.md": "# One\n\n## Two words, `code`\n",
    "net/ip4.c": "int ip4_check(void);\nint ip4_input(int a,\n              int b)\n{\n\treturn ip4_check();\n}\n"
                 "static __attribute__((cold)) int none(void) { return sum(); /* ip4_check */ }\n",
}
RIGHT = ["[a](docs/a.md#two-words-code)", "[b](#top)", "[c](https://example.org/x.md)", "net/ip4.c", "test_tcp.py",
         "`make image`", "`make unit T=\"arp\"`", "`make fuzz F=ip4`",
         "`tests/bench/bench.py --only full-table --only tcp`", "`tools/hayate run router --cpus 2`",
         "`pytest tests/system/test_tcp.py -k echo`", "build/gone.c", "hayate/net/ip4.c", "`make -C hayate && ls`",
         "`hayate is a name`"]
WRONG = ["[a](docs/b.md)", "[a](docs/a.md#three)", "[b](#bottom)", "net/ip9.c", "test_gone.py", "`make love`",
         "```\nmake all\nmake war\n```", "`tests/bench/bench.py --only udp`", "`tools/hayate run x --gone`",
         "`tools/hayate fly`", "`pytest tests/system/test_tcp.py -k reply`"]
ARCHITECTURE = [("`ip4_check`", True), ("`ip4_gone`", False), ("`ip4_input` → `ip4_check`", True),
                ("`none` → `sum`", True), ("`none` → `ip4_check`", False), ("`ip4_input` → `ip4_check` → `sum`", True)]
TARGETS = "unit: x\nfuzz: x\n"
WRONG_VALUES = ["`make unit T=\"arp gone\"`", "`make fuzz F=gone`"]


def judged(line, document="README.md"):
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**FILES, document: "# Top\n\n" + line + "\n"}.items():
            path = os.path.join(root, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text + (TARGETS if path.endswith("Makefile") else ""))
        return check(root)[1]


def self_test():
    failures = ["right, but refused: %s: %s" % (line, judged(line)) for line in RIGHT if judged(line)]
    failures += ["wrong, but passed: %s: %s" % (line, judged(line)) for line in WRONG + WRONG_VALUES
                 if len(judged(line)) != 1]
    failures += ["ARCHITECTURE.md: " + line for line, good in ARCHITECTURE
                 if (judged(line, "ARCHITECTURE.md") == []) != good]
    return len(ARCHITECTURE) + len(RIGHT + WRONG + WRONG_VALUES), failures


if __name__ == "__main__":
    run("docs", __doc__, check, self_test)
