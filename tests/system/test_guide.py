"""docs/guide.md: its section for other projects' CI runs unchanged in an empty folder, and so do the sections
that are one script. Each test has its own /run/netns, so namespaces have the guide's names and end with
the test, and its own loopback."""
import os
import re
import subprocess

import pytest
from launcher.guest import ROOT

GUIDE = os.path.join(ROOT, "docs", "guide.md")
# What a CI runner has, but this machine may lack: sudo, and a server to clone from.
SHIMS = {"sudo": 'exec "$@"', "git": 'ln -s "%s" hayate' % ROOT}
# Each step of a runner is a separate shell; background processes end with the job.
JOB = """\
mkdir -p /run/netns && mount -t tmpfs none /run/netns || exit
trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT  # true: under -e, a job that has ended meanwhile fails the script
set -e
"""


def steps(text):
    """The shell commands of a workflow's `run:` steps."""
    workflow = re.search(r"^```yaml\n(.*?)^```", text, re.M | re.S)[1]
    return [re.sub(r"^ {10}", "", block or line, flags=re.M)
            for block, line in re.findall(r"^      - run: (?:\|\n((?:^ {10}.*\n)+)|(.*)\n)", workflow, re.M)]


# The sections that are one block of commands, and what these print.
SECTIONS = {"A server to test against": r"^hello$",
            "A switch": r'^another VLAN\n(?:.*\n)*hayate_switch_stations\{.*port="eth1".*\} 1$',
            "A web server from memory": r"^HTTP/1.1 200 OK\r?\n(?:.*\n)*<p>It works.</p>$"}


def guide():
    with open(GUIDE, encoding="utf-8") as file:
        return file.read()


def run(script, tmp_path, namespaces):
    """Runs a script of the guide in tmp_path/job, as in a new shell; returns what it printed."""
    for name, text in SHIMS.items():
        shim = tmp_path / "bin" / name
        shim.parent.mkdir(exist_ok=True)
        shim.write_text("#!/bin/sh\n%s\n" % text)
        shim.chmod(0o755)
    done = subprocess.run(["unshare", *namespaces, "--pid", "--fork", "--kill-child", "bash", "-c", JOB + script],
                          cwd=tmp_path / "job", env={**os.environ, "PATH": "%s/bin:%s" % (tmp_path, os.environ["PATH"])},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_workflow(tmp_path):
    here = tmp_path / "job"
    here.mkdir()
    (here / "index.html").write_text("through a router\n")
    said = run("\n".join(steps(guide())) + "\necho all steps done\n", tmp_path, ["--mount"])
    assert said.endswith("through a router\nall steps done\n"), said


@pytest.mark.parametrize("section", SECTIONS)
def test_section(tmp_path, section):
    text = re.search(r"^## %s\n(.*?)(?=^## )" % section, guide(), re.M | re.S)[1]
    script = re.search(r"^```\n(.*?)^```", text, re.M | re.S)[1]
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "tools").symlink_to(os.path.join(ROOT, "tools"))
    said = run("ip link set lo up\n" + script, tmp_path, ["--mount", "--net"])
    assert re.search(SECTIONS[section], said, re.M), said
