"""The configuration over HTTP on the real image, by the programs of examples/api and of the document: curl, Python,
Ansible. tests/packet/test_api.py has the API in detail."""
import json
import os
import re
import shutil
import time

import pytest
from conftest import LEFT_ROUTER, RIGHT_HOST, ROOT, WEB, pings, router_config
from launcher import password

URL = "http://%s" % LEFT_ROUTER
EXAMPLES = os.path.join(ROOT, "examples", "api")
SECRET = b"open sesame"
TOKEN, TOKEN_LINE = password.token("robot", bytes(range(32)))
USERS = "username robot role configure\n%s\n%s\n" % (TOKEN_LINE, password.line(SECRET, 1000, user="noc", role="read"))
ROUTES = 100000


@pytest.fixture
def work(make_lab, tmp_path):
    return make_lab(router_config(extra=WEB + USERS)), tmp_path


class Programs:
    """Runs the examples on the left host."""

    def __init__(self, host, folder):
        self.host, self.folder = host, folder

    def run(self, argv, code=0, text=None, timeout_s=120):
        env = {"HAYATE": URL, "TOKEN": TOKEN, "ANSIBLE_LOCALHOST_WARNING": "false", "ANSIBLE_NOCOLOR": "1",
               "HOME": str(self.folder), "ANSIBLE_LOCAL_TEMP": str(self.folder / "ansible"), "LC_ALL": "C.UTF-8"}
        result = self.host.run(["env", *("%s=%s" % pair for pair in env.items()), *argv], input=text, timeout_s=timeout_s)
        assert result.returncode == code, (argv, result.stdout, result.stderr)
        return result

    def shell(self, *words, **more):
        return self.run([os.path.join(EXAMPLES, "config.sh"), *words], **more)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="ascii")
        return str(path)


def by_curl(router, programs):
    """examples/api/config.sh"""
    running = router.command("show running-config").replace("\r", "")
    text = programs.shell("get").stdout
    assert text.strip() == running.strip()
    same = programs.file("same.cfg", text)
    assert json.loads(programs.shell("put", same).stdout)["changed"] is False
    as_json = programs.shell("get", "json").stdout
    assert json.loads(as_json)["statements"][0] == "hostname r1"
    other = programs.file("other.cfg", text.replace("hostname r1\n", "hostname r2\n"))
    assert json.loads(programs.shell("diff", other).stdout)["diff"] == ["-hostname r1", "+hostname r2"]
    assert json.loads(programs.shell("put", other).stdout)["changed"] is True
    assert json.loads(programs.shell("patch", "600", text="interface eth1\n description by curl\n").stdout)["effect"] == "live"
    refused = programs.shell("patch", text="hostname r3\n", code=22)
    assert "waits to be confirmed" in refused.stderr and TOKEN not in refused.stderr
    assert json.loads(programs.shell("confirm").stdout) == {"changed": True}
    assert "description by curl" in router.command("show running-config")
    wrong = json.loads(programs.shell("put", programs.file("wrong.cfg", "hostname r1\nmtu 1\n"), code=22).stderr.split("\n", 1)[1])
    assert wrong["errors"][0]["line"] == 2
    assert json.loads(programs.shell("rollback", "2").stdout)["changed"] is True
    assert programs.shell("get").stdout == text
    assert len(json.loads(programs.shell("history").stdout)["history"]) == 3
    # a user by his password, who may only read
    said = programs.host.run(["curl", "-sS", "-u", "noc:" + SECRET.decode(), URL + "/api/v1/config"]).stdout
    assert "! username noc role read password: not shown" in said and "$pbkdf2" not in said
    said = programs.host.run(["curl", "-sS", "-u", "noc:" + SECRET.decode(), "-X", "POST", "-w", "%{http_code}",
                              URL + "/api/v1/config/confirm"]).stdout
    assert said.endswith("403")
    assert programs.host.run(["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", URL + "/metrics"]).stdout == "401"


def by_python(router, programs):
    """examples/api/config.py: a live change, nothing to do, a wrong one, and one that restarts the ports."""
    argv = [os.path.join(EXAMPLES, "config.py"), URL]
    change = programs.file("change.cfg", "interface eth1\n description by Python\nip route 10.66.0.0/16 %s\n" % RIGHT_HOST)
    said = programs.run([*argv, "change", change]).stdout
    assert "+ip route 10.66.0.0/16 %s\nconfirmed\n" % RIGHT_HOST in said
    assert programs.run([*argv, "change", change]).stdout == "nothing to do\n"
    said = programs.run([*argv, "replace", programs.file("bad.cfg", "hostname x\nmtu 9\n")], code=1).stderr
    assert "line 2: mtu 9: " in said
    said = programs.run([*argv, "change", programs.file("mtu.cfg", "interface eth1\n mtu 1400\n")]).stdout
    assert "the ports restart for this\nconfirmed\n" in said
    assert "mtu 1400" in router.command("show running-config")


def by_ansible(router, programs):
    """examples/api/play.yml: run twice, the second run changes nothing."""
    argv = ["ansible-playbook", "-i", "localhost,", os.path.join(EXAMPLES, "play.yml"), "-e", "hayate_url=" + URL,
            "-e", "hayate_token=" + TOKEN, "-e", "hayate_no_log=false"]

    def changed(*more):
        said = programs.run([*argv, *more]).stdout
        return int(re.search(r"changed=(\d+) .*failed=0", said)[1])
    assert changed() == 1
    running = router.command("show running-config")
    assert "description uplink, by Ansible" in running and "ip route 10.77.0.0/16" in running
    assert "10.66.0.0/16" not in running
    assert changed() == 0
    assert router.command("show running-config") == running


def with_many_routes(router, programs):
    """A PUT of 100,000 routes, while packets are forwarded, and back."""
    text = programs.shell("get").stdout
    routes = "".join("ip route 10.%d.%d.%d/25 %s\n" % (n >> 9 & 255, n >> 1 & 255, (n & 1) << 7, RIGHT_HOST)
                     for n in range(ROUTES))
    many = programs.file("many.cfg", text.replace("\nend\n", "\n" + routes + "end\n"))
    before = programs.file("before.cfg", text)
    began = time.monotonic()
    assert json.loads(programs.shell("put", many).stdout)["changed"] is True
    print("PUT of %d routes: %.1f s" % (ROUTES, time.monotonic() - began))
    pings(programs.host, RIGHT_HOST)
    assert json.loads(programs.shell("put", many).stdout)["changed"] is False
    summary = router.command("show ip route summary", 60)
    assert re.search(r"^ *25 +%d\b" % ROUTES, summary, re.M), summary
    assert json.loads(programs.shell("put", before).stdout)["changed"] is True
    assert programs.shell("get").stdout == text


def test_scripts(work):
    lab, folder = work
    programs = Programs(lab.left, folder)
    by_curl(lab.router, programs)
    by_python(lab.router, programs)
    if shutil.which("ansible-playbook"):
        by_ansible(lab.router, programs)
    assert "robot from 192.0.2.2: config.py" in lab.router.command("show configuration history")
    with_many_routes(lab.router, programs)
    assert "http: robot from 192.0.2.2 logged in" in lab.router.text
    assert TOKEN not in lab.router.text and SECRET.decode() not in lab.router.text
