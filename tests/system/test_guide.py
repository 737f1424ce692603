"""docs/guide.md: its section for other projects' CI runs unchanged in an empty folder. The test has
its own /run/netns, so namespaces have the guide's names and end with the test."""
import os
import re
import subprocess

from launcher.guest import ROOT

GUIDE = os.path.join(ROOT, "docs", "guide.md")
# What a CI runner has, but this machine may lack: sudo, and a server to clone from.
SHIMS = {"sudo": 'exec "$@"', "git": 'ln -s "%s" hayate' % ROOT}
# Each step of a runner is a separate shell; background processes end with the job.
JOB = """\
mkdir -p /run/netns && mount -t tmpfs none /run/netns || exit
trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
set -e
"""


def steps(text):
    """The shell commands of a workflow's `run:` steps."""
    workflow = re.search(r"^```yaml\n(.*?)^```", text, re.M | re.S)[1]
    return [re.sub(r"^ {10}", "", block or line, flags=re.M)
            for block, line in re.findall(r"^      - run: (?:\|\n((?:^ {10}.*\n)+)|(.*)\n)", workflow, re.M)]


def test_workflow(tmp_path):
    with open(GUIDE, encoding="utf-8") as file:
        script = JOB + "\n".join(steps(file.read())) + "\necho all steps done\n"
    for name, text in SHIMS.items():
        shim = tmp_path / "bin" / name
        shim.parent.mkdir(exist_ok=True)
        shim.write_text("#!/bin/sh\n%s\n" % text)
        shim.chmod(0o755)
    here = tmp_path / "job"
    here.mkdir()
    (here / "index.html").write_text("through a router\n")
    done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", script],
                          cwd=here, env={**os.environ, "PATH": "%s/bin:%s" % (tmp_path, os.environ["PATH"])},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("through a router\nall steps done\n"), done.stdout + done.stderr
