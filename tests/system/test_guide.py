"""docs/guide.md: what it gives somebody else's CI runs, as it stands, in a folder where nothing is.
/run/netns is the test's own, so namespaces have the guide's names and are gone with the test."""
import os
import re
import subprocess

from launcher.guest import ROOT

GUIDE = os.path.join(ROOT, "docs", "guide.md")
# What a runner has and this machine need not: sudo, and a server to clone from.
SHIMS = {"sudo": 'exec "$@"', "git": 'ln -s "%s" hayate' % ROOT}
# A runner's steps are shells of their own; what they leave running ends with the job.
JOB = """\
mkdir -p /run/netns && mount -t tmpfs none /run/netns || exit
trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
set -e
"""


def steps(text):
    """The shell lines of a workflow's `run:` steps."""
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
