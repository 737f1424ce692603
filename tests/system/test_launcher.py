"""The launcher as an interface: options, errors and exit codes, without a guest."""
import argparse
import base64
import contextlib
import hashlib
import json
import os
import pty
import re
import shlex
import shutil
import signal
import stat
import subprocess
import termios

import pytest
from conftest import eventually, options, ports
from launcher import demo, demo_bgp, demo_switch, demo_web, errors, image, password
from launcher import script as launcher_script
from launcher.engine import agent
from launcher.guest import LAUNCHER, PYTHON, parse_counters, parse_interfaces, parse_table
from layer import runs

pytestmark = pytest.mark.no_guest


@pytest.fixture
def kernel(tmp_path):
    path = tmp_path / "kernel.elf"
    path.write_bytes(b"not really")
    return str(path)


def hayate(*arguments, timeout=30, **more):
    return subprocess.run([PYTHON, LAUNCHER, *arguments], capture_output=True, text=True,
                          timeout=timeout, stdin=subprocess.DEVNULL, check=False, **more)


def command(kernel, *arguments):
    """The words of QEMU's command line that `--print` shows."""
    result = hayate("run", "router", "--image", kernel, "--print", *arguments)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return shlex.split(result.stdout)


def after(words, name):
    """Every value that follows the option `name`."""
    return [words[index + 1] for index, word in enumerate(words) if word == name]


def test_help():
    for arguments in (["--help"], ["run", "--help"], ["image", "--help"], ["demo", "--help"],
                      ["demo-bgp", "--help"], ["engine", "--help"], ["password", "--help"], ["token", "--help"],
                      ["addr", "--help"]):
        result = hayate(*arguments)
        assert result.returncode == 0 and "exit codes:" in result.stdout
    text = hayate("run", "--help").stdout
    for word in ("--config", "--port", "--nic", "--cpus", "--memory", "--accel", "--boot", "tap:",
                 "user", "vhost-user:", "none", "Ctrl-A x"):
        assert word in text, word


def test_script(tmp_path, kernel):
    """Configuration and script become one boot module; only the generator accepts a script."""
    config, script, both = tmp_path / "lab.conf", tmp_path / "vo ice.gen", tmp_path / "both"
    script.write_bytes(b"# \xff\nstream a")
    for text, before in ((b"hostname a", b"hostname a\n"), (b"hostname a\n", b"hostname a\n")):
        config.write_bytes(text)
        launcher_script.join(str(config), str(script), str(both))
        assert both.read_bytes() == before + b"script vo_ice.gen\n# \xff\nstream a"
    launcher_script.join(None, str(script), str(both))
    assert both.read_bytes() == b"script vo_ice.gen\n# \xff\nstream a"
    assert len(launcher_script.name_of("x" * 100)) == 47
    # each replayed file appears once, under the script's name for it
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.pcap").write_bytes(b"\xa1\n")
    (tmp_path / "a").write_bytes(b"")
    text = b"stream a\n replay a\n# replay c\nstream b\n\tREPLAY sub/b.pcap  # all\nstream c\n replay a"
    script.write_bytes(text)
    launcher_script.join(None, str(script), str(both))
    assert both.read_bytes() == (b"script vo_ice.gen\n" + text + b"\nfile a 0\nfile sub/b.pcap 2\n\xa1\n")
    (tmp_path / "a").unlink()
    with pytest.raises(errors.LauncherError, match="vo ice.gen replays .*/a: No such file"):
        launcher_script.join(None, str(script), str(both))
    script.write_bytes(b"stream a")
    arguments = ("--image", kernel, "--print", "--script")
    assert hayate("run", "pktgen", *arguments, str(script)).returncode == 0
    for app, path, word in (("router", str(script), "takes none"), ("pktgen", "/none", "no such")):
        result = hayate("run", app, *arguments, path)
        assert result.returncode in (122, 123) and word in result.stderr


def test_password(tmp_path):
    """The output is a line of the configuration; no two are equal."""
    path = tmp_path / "in"
    said = set()
    for text in "secret\n", "secret\r\n", "secret":
        path.write_text(text, encoding="ascii")
        with open(path, "rb") as pipe:
            said.add(subprocess.run([PYTHON, LAUNCHER, "password"], stdin=pipe, capture_output=True, text=True,
                                    check=True).stdout)
    assert len(said) == 3
    for line in said:
        iterations, salt = re.fullmatch(
            r"console password \$pbkdf2-sha256\$(\d+)\$([\w./]{22})\$[\w./]{43}\n", line).groups()
        salt = base64.b64decode(salt + "==", b"./")
        assert password.line(b"secret", int(iterations), salt) + "\n" == line
    for text in "", "\n", "x" * 129, "a\tb\n":
        path.write_text(text, encoding="ascii")
        with open(path, "rb") as pipe:
            result = subprocess.run([PYTHON, LAUNCHER, "password"], stdin=pipe, capture_output=True, text=True,
                                    check=False)
        assert result.returncode == errors.EXIT_MISSING and result.stdout == "", text
    assert hayate("password", "--iterations", "999").returncode == errors.EXIT_USAGE


def test_statements_of_users():
    """A user's password, and a token, of which the statement has only the hash."""
    said = subprocess.run([PYTHON, LAUNCHER, "password", "--user", "noc", "--role", "read"], input="x\n",
                          capture_output=True, text=True, check=True).stdout
    assert re.fullmatch(r"username noc role read password \$pbkdf2-sha256\$\S+\n", said)
    result = hayate("token", "ansible")
    token = re.fullmatch(r"token, shown only now: (hayate_[\w-]{43})\n", result.stderr)[1]
    assert result.stdout == "username ansible token %s\n" % hashlib.sha256(token.encode()).hexdigest()
    for words in ["token", "A"], ["token", "a" * 21], ["password", "--user", "9a"]:
        assert hayate(*words).returncode == errors.EXIT_USAGE


def test_defaults(kernel):
    words = command(kernel, "--accel", "tcg")
    assert words[0] == "qemu-system-x86_64"
    assert after(words, "-machine") == ["q35"]
    assert after(words, "-accel") == ["tcg,thread=multi"] and after(words, "-cpu") == ["max"]
    assert after(words, "-smp") == ["2"] and after(words, "-m") == ["256M"]
    assert after(words, "-kernel") == [kernel]
    assert after(words, "-append") == ["app=router debug-exit=0xf4"]
    assert "isa-debug-exit,iobase=0xf4,iosize=4" in after(words, "-device")
    assert "-no-reboot" not in words and "-initrd" not in words and "-netdev" not in words


def test_use_in_order(kernel):
    words = command(kernel, "--accel", "tcg", "--qemu", "/bin/true", "--port", "tap:tap9", "--port",
                    "vhost-user:/tmp/s,in_order=on", "--port", "tap:tap8,in_order=off")
    cards = [text for text in after(words, "-device") if text.startswith("virtio-net-pci")]
    assert ["in_order=on" in card for card in cards] == [False, True, False]


def test_ports_in_order(kernel):
    words = command(kernel, "--accel", "tcg", "--port", "user", "--port", "tap:tap9", "--port",
                    "none", "--port", "vhost-user:/tmp/s")
    assert [text.split(",")[1] for text in after(words, "-netdev")] == [
        "id=eth0", "id=eth1", "id=eth2", "id=eth3"]
    cards = [text for text in after(words, "-device") if text.startswith("virtio-net-pci")]
    assert [re.search("mac=([^,]*)", card).group(1) for card in cards] == [
        ports.mac_of(ports.MAC_BASE, index) for index in range(4)]
    assert all("disable-legacy=on" in card and "rx_queue_size=1024" in card for card in cards)
    assert ["tx_queue_size=1024" in card for card in cards] == [False, False, False, True]
    assert "memory-backend-memfd,id=mem,size=256M,share=on,prealloc=off" in after(words, "-object")
    assert after(words, "-machine") == ["q35,memory-backend=mem"]


@pytest.mark.parametrize("cpus,queues", [(1, 1), (2, 1), (3, 2), (4, 3)])
def test_one_queue_per_data_core(kernel, cpus, queues):
    words = command(kernel, "--port", "tap:tap9", "--cpus", str(cpus))
    netdev = after(words, "-netdev")[0]
    card = [text for text in after(words, "-device") if text.startswith("virtio-net")][0]
    assert ("queues=%d" % queues in netdev) == (queues > 1)
    assert ("mq=on,vectors=%d" % (2 * queues + 2) in card) == (queues > 1)
    words = command(kernel, "--port", "tap:tap9", "--cpus", str(cpus), "--queues", "1")
    assert "queues=" not in after(words, "-netdev")[0]


def test_port_options(kernel):
    words = command(kernel, "--port", "tap:tap9,vhost=on,mac=52:54:00:00:00:07", "--port",
                    "user,hostfwd=udp:127.0.0.1:7777-10.0.2.15:7,hostfwd=tcp::80-:80")
    tap, user = after(words, "-netdev")
    assert tap.endswith("vhost=on")
    assert user == ("user,id=eth1,hostfwd=udp:127.0.0.1:7777-10.0.2.15:7,hostfwd=tcp::80-:80")
    assert any("mac=52:54:00:00:00:07" in text for text in after(words, "-device"))


def test_config_and_append(kernel, tmp_path):
    config = tmp_path / "my lab.conf"
    config.write_text("hostname x\n")
    words = command(kernel, "--config", str(config), "--idle", "poll", "--append", "test=1",
                    "--append", "cores=1")
    assert after(words, "-initrd") == [str(config)]
    assert after(words, "-append") == [
        "app=router debug-exit=0xf4 idle=poll config=my_lab.conf test=1 cores=1"]


def test_other_options(kernel):
    words = command(kernel, "--memory", "5G", "--qemu-arg=-s", "--qemu-arg=-S", "--console",
                    "unix:/tmp/c,wait", "--qmp", "/tmp/q")
    assert after(words, "-m") == ["5120M"] and words[-2:] == ["-s", "-S"]
    assert any("path=/tmp/c,server=on,wait=on" in text for text in after(words, "-chardev"))
    assert any("path=/tmp/q" in text for text in after(words, "-chardev"))


def test_iommu(kernel):
    words = command(kernel, "--port", "none", "--iommu")
    devices = after(words, "-device")
    assert devices[0] == "intel-iommu,intremap=on"
    assert "iommu_platform=on" in devices[-1]
    assert "intel-iommu" not in " ".join(command(kernel, "--port", "none"))
    devices = after(command(kernel, "--port", "none", "--iommu", "--iommu-model", "amdvi-xt"), "-device")
    assert devices[0] == "amd-iommu,intremap=on,dma-remap=on,xtsup=on"
    assert "iommu_platform=on" in devices[-1]


@pytest.mark.parametrize("media", ["disk", "usb", "cdrom"])
@pytest.mark.parametrize("boot", ["bios", "uefi"])
def test_grub_media(kernel, boot, media):
    words = command(kernel, "--boot", boot, "--media", media)
    assert "-kernel" not in words and "-append" not in words
    assert any(kernel in text for text in after(words, "-drive"))
    assert ("-bios" in words or any("pflash" in text for text in after(words, "-drive"))) == (
        boot == "uefi")


WRONG = [
    ["run"],
    ["fly"],
    ["run", "bridge"],
    ["run", "router", "--port", "wifi"],
    ["run", "router", "--port", "tap"],
    ["run", "router", "--port", "tap:much-too-long-a-name"],
    ["run", "router", "--port", "vhost-user"],
    ["run", "router", "--port", "user:hostfwd"],
    ["run", "router", "--port", "none,speed=1"],
    ["run", "router", "--port", "tap:t,vhost=maybe"],
    ["run", "router", "--port", "tap:t,in_order=yes"],
    ["run", "router", "--port", "none,mac=1:2:3"],
    ["run", "router", "--port", "none,mac=01:00:00:00:00:00"],
    ["run", "router", "--cpus", "0"],
    ["run", "router", "--cpus", "many"],
    ["run", "router", "--memory", "1M"],
    ["run", "router", "--memory", "lots"],
    ["run", "router", "--accel", "warp"],
    ["run", "router", "--timeout", "-1"],
    ["run", "router", "--console", "pigeon"],
    ["run", "router", "--mac", "xyz"],
    ["run", "router", "--media", "usb"],
    ["run", "router", "--boot", "bios", "--file", "table=/dev/null"],
    ["run", "router", "--file", "table"],
    ["image", "--file", "table"],
    ["image", "--file", "site=/dev/null"],
    ["image", "--file", "table=/dev/null", "--file", "table=/dev/zero"],
    ["image", "--sign-key", "db.key"],
    ["image", "--sbat", "sbat.csv"],
    ["image", "--sign-key", "db.key", "--sign-cert", "db.pem", "--netboot", "/tmp"],
    ["run", "router", "--colour", "red"],
    ["image", "--append", "x; reboot"],
]


def test_secure_boot_needs_an_image():
    result = hayate("run", "router", "--boot", "secure", "--print")
    assert result.returncode == errors.EXIT_USAGE and "--sign-key" in result.stderr
    one_line(result)


@pytest.mark.parametrize("arguments", WRONG, ids=[" ".join(entry) for entry in WRONG])
def test_wrong_usage(arguments, kernel):
    if arguments[:2] == ["run", "router"]:
        arguments = arguments + ["--image", kernel, "--print"]
    if arguments[0] == "image":
        arguments = arguments + ["--kernel", kernel, "-o", kernel + ".iso"]
    result = hayate(*arguments)
    assert result.returncode == errors.EXIT_USAGE, (result.returncode, result.stderr)
    one_line(result)


def one_line(result):
    assert result.stderr.startswith("hayate: ") and result.stderr.count("\n") == 1, result.stderr
    assert "Traceback" not in result.stderr


def models(kernel, *arguments):
    """The command lines of nicsim and of QEMU that `--print` shows."""
    result = hayate("run", "router", "--image", kernel, "--print", "--nic", "ixgbe", "--qemu",
                    "true", *arguments)
    assert result.returncode == 0, result.stderr
    nicsim, qemu = map(shlex.split, result.stdout.splitlines())
    return nicsim, qemu


def test_ixgbe_is_a_model_beside_qemu(kernel):
    nicsim, qemu = models(kernel, "--port", "tap:blue/tap0,mac=52:54:00:00:00:07", "--port", "none",
                          "--port", "wire:pcap:in.pcap;out=out.pcap")
    assert os.path.basename(nicsim[0]) == "nicsim"
    ports = after(nicsim, "--port")
    assert ports == [
        "model=82599,socket=DIRECTORY/port0,wire=tap:blue/tap0,mode=strict,mac=52:54:00:00:00:07",
        "model=82599,socket=DIRECTORY/port1,wire=none,mode=strict,mac=52:54:00:68:79:01",
        "model=82599,socket=DIRECTORY/port2,wire=pcap:in.pcap;out=out.pcap,mode=strict,"
        "mac=52:54:00:68:79:02"]
    devices = [json.loads(word) for word in after(qemu, "-device") if word.startswith("{")]
    assert [device["driver"] for device in devices] == ["vfio-user-pci"] * 3
    assert [device["socket"]["path"] for device in devices] == [
        "DIRECTORY/port%d" % index for index in range(3)]
    assert [device["id"] for device in devices] == ["nic0", "nic1", "nic2"]
    assert "share=on" in after(qemu, "-object")[0] and "-netdev" not in qemu


def test_model_options(kernel):
    nicsim, _ = models(kernel, "--port", "none", "--port", "none", "--nic-mode", "line-rate",
                       "--nicsim-option", "trace=/tmp/t", "--nicsim-option", "1:fault=reset-stuck",
                       "--nicsim-control", "/tmp/c", "--nicsim-stats", "/tmp/s")
    first, second = after(nicsim, "--port")
    assert "mode=line-rate" in first and first.endswith(",trace=/tmp/t")
    assert second.endswith(",trace=/tmp/t,fault=reset-stuck")
    assert after(nicsim, "--control") == ["/tmp/c"] and after(nicsim, "--stats") == ["/tmp/s"]


@pytest.mark.parametrize("arguments,text", [
    (["--nic", "ixgbe", "--port", "user"], "not with --nic ixgbe"),
    (["--nic", "ixgbe", "--port", "vhost-user:/tmp/x"], "not with --nic ixgbe"),
    (["--nic", "ixgbe", "--port", "wire:"], "say which wire"),
    (["--port", "wire:sink"], "only with --nic ixgbe or igc or mlx5"),
    (["--nic", "ixgbe", "--port", "none", "--nicsim-option", "1:fault=x"], "there is no port 1"),
    (["--nic", "ixgbe", "--port", "none", "--nicsim-option", "fault"], "KEY=VALUE"),
])
def test_models_refused(kernel, arguments, text):
    result = hayate("run", "router", "--image", kernel, *arguments)
    assert result.returncode == errors.EXIT_USAGE and text in result.stderr, result.stderr
    one_line(result)


def test_missing_things(kernel, tmp_path):
    empty = tmp_path / "empty.conf"
    empty.write_text("")
    for arguments, text in (
            (["--image", "/nonexistent"], "/nonexistent: no such file"),
            (["--image", kernel, "--config", "/nonexistent"], "/nonexistent: no such file"),
            (["--image", kernel, "--config", str(empty)], "empty"),
            (["--image", kernel, "--qemu", "no-such-qemu"], "no-such-qemu: no such program"),
            (["--image", kernel, "--port", "tap:no-such-netns/t0"], "no-such-netns")):
        result = hayate("run", "router", *arguments)
        assert result.returncode == errors.EXIT_MISSING, (arguments, result.stderr)
        assert text in result.stderr
        one_line(result)


def test_engine_whose_container_fails(monkeypatch):
    """The error is the container's, and the namespace goes."""
    deleted = []

    class Namespace:
        fd = 0

        def __init__(self, name, run):
            pass

        def delete(self):
            deleted.append(True)

    def container(netns):
        os.close(netns)
        raise errors.LauncherError("no container")

    monkeypatch.setattr(agent, "Namespace", Namespace)
    monkeypatch.setattr(agent.process, "Container", container)
    engine = agent.Agent(argparse.Namespace(local="127.0.0.1", router="127.0.0.1", http_port=9, netns="frr", once=False),
                         None)
    with pytest.raises(errors.LauncherError, match="no container"):
        try:
            engine.open()
        finally:
            engine.close()
    assert deleted


COMMAND = """\
import sys, time
sys.path.insert(0, sys.argv[1])
from launcher import process
print(process.start_command(["sleep", "600"]).pid, flush=True)
time.sleep(600)
"""


def test_command_ends_with_its_starter():
    """A host's commands end with the launcher, even by SIGKILL."""
    starter = subprocess.Popen([PYTHON, "-c", COMMAND, os.path.dirname(LAUNCHER)], stdout=subprocess.PIPE, text=True)
    try:
        pid = int(starter.stdout.readline())

        def state():
            try:
                with open("/proc/%d/stat" % pid, encoding="ascii") as file:
                    return file.read()
            except (FileNotFoundError, ProcessLookupError):
                return "gone"
        eventually(lambda: "(sleep)" in state(), 20, "setpriv has become the command")
        starter.kill()
        starter.wait()
        eventually(lambda: state() == "gone" or ") Z " in state(), 20, "the command ends")
    finally:
        starter.kill()
        starter.wait()
        starter.stdout.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_make_test_without_root(tmp_path):
    """It says what to type instead, before anything is built."""
    user = tmp_path / "id"
    user.write_text("#!/bin/sh\necho 1000\n")
    user.chmod(0o755)
    done = subprocess.run(["make", "-s", "-C", options.ROOT, "needs-root"], check=False, text=True, capture_output=True,
                          timeout=60, env={"PATH": "%s:%s" % (tmp_path, os.environ["PATH"])})
    assert done.returncode == 2 and "sudo make test" in done.stderr, done


@pytest.mark.parametrize("words", [("list",), ("list", "wrong"), ("wrong", "run"), ("check", "run", "wrong")])
def test_wrong_use_of_deps(words):
    """tools/deps.sh: exit code 2, nothing on standard output."""
    done = subprocess.run([os.path.join(os.path.dirname(LAUNCHER), "deps.sh"), *words], check=False, text=True,
                          capture_output=True)
    assert done.returncode == 2 and not done.stdout and "Purposes: " in done.stderr


@pytest.mark.parametrize("shown,purpose", [(demo, "run"), (demo_switch, "run"), (demo_web, "run"),
                                           (demo_bgp, "run-bgp")])
def test_what_a_demonstration_needs_is_installed(shown, purpose):
    """`make run` and `make run-bgp` install all programs that the demonstrations start."""
    packages = subprocess.run([os.path.join(os.path.dirname(LAUNCHER), "deps.sh"), "list", purpose], check=True, text=True,
                              capture_output=True).stdout.split()
    for program in shown.PROGRAMS:
        # packages own names of /usr/bin and /usr/sbin; some stand there as /bin and /sbin
        path = os.path.realpath(shutil.which(program))
        names = [path, path.removeprefix("/usr")]
        owner = subprocess.run(["dpkg-query", "-S", *names], check=False, text=True, capture_output=True).stdout
        assert owner.split(":")[0] in packages, (program, owner)


def script(tmp_path, text):
    """A program that replaces QEMU."""
    path = tmp_path / "qemu"
    path.write_text("#!/bin/bash\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


# Greets on the control connection as QEMU does, so that later output counts as the guest's.
GREET = """\
for word in "$@"; do case $word in *id=launcher,fd=*) fd=${word##*fd=} ;; esac; done
echo '{"QMP": {"version": {}, "capabilities": []}}' >&"$fd"
read -r answer <&"$fd"
"""


@pytest.mark.parametrize("text,code", [
    (GREET + "exit 1", 0),
    (GREET + "exit 3", 1),
    (GREET + "exit 5", 2),
    (GREET + "exit 85", 42),
    (GREET + "exit 0", 0),
    ("exit 1", errors.EXIT_QEMU),
    (GREET + "exit 4", errors.EXIT_QEMU),
    (GREET + "kill -SEGV $$", errors.EXIT_QEMU),
])
def test_exit_codes(kernel, tmp_path, text, code):
    result = hayate("run", "router", "--image", kernel, "--qemu", script(tmp_path, text))
    assert result.returncode == code, result.stderr


def test_timeout(kernel, tmp_path):
    result = hayate("run", "router", "--image", kernel, "--timeout", "0.3", "--qemu",
                    script(tmp_path, GREET + "exec sleep 60"))
    assert result.returncode == errors.EXIT_TIMEOUT
    one_line(result)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals(kernel, tmp_path, number):
    """The machine and its files end with the launcher."""
    pidfile = tmp_path / "pid"
    child = subprocess.Popen(
        [PYTHON, LAUNCHER, "run", "router", "--image", kernel, "--pidfile", str(pidfile),
         "--qemu", script(tmp_path, GREET + "echo up; exec sleep 60")],
        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=dict(os.environ, TMPDIR=str(tmp_path)))
    assert child.stdout.readline() == b"up\n"
    machine = int(pidfile.read_text())
    child.send_signal(number)
    assert child.wait(10) == 128 + number
    child.stdout.close()
    assert not os.path.exists("/proc/%d" % machine) and not pidfile.exists()
    assert not [name for name in os.listdir(tmp_path) if name.startswith("hayate-")]


def test_killed_launcher_takes_the_machine_along(kernel, tmp_path):
    child = subprocess.Popen(
        [PYTHON, LAUNCHER, "run", "router", "--image", kernel, "--qemu",
         script(tmp_path, GREET + "echo $$; exec sleep 60")],
        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    machine = int(child.stdout.readline())
    child.kill()
    child.wait()
    child.stdout.close()
    eventually(lambda: not runs(machine), 5, "QEMU ends with the launcher")


def test_terminal_is_restored(kernel, tmp_path):
    """The terminal is restored whatever QEMU did to it, even if QEMU is killed."""
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    before_flags = os.get_blocking(slave)
    text = GREET + "stty raw -echo </dev/stdin; kill -KILL $$"
    result = subprocess.run([PYTHON, LAUNCHER, "run", "router", "--image", kernel, "--qemu",
                             script(tmp_path, text)], stdin=slave, stdout=slave,
                            stderr=subprocess.PIPE, check=False, timeout=30)
    assert result.returncode == errors.EXIT_QEMU
    assert termios.tcgetattr(slave) == before and os.get_blocking(slave) == before_flags
    os.close(master)
    os.close(slave)


def test_terminal_gets_the_monitor(kernel):
    """Ctrl-A is QEMU's escape only on a terminal."""
    assert "-mon" not in command(kernel)
    master, slave = pty.openpty()
    result = subprocess.run([PYTHON, LAUNCHER, "run", "router", "--image", kernel, "--print"],
                            stdin=slave, capture_output=True, text=True, check=False)
    os.close(master)
    os.close(slave)
    assert "mux=on" in result.stdout and "-mon" in result.stdout


def test_accel_auto(tmp_path):
    hardware, software = tmp_path / "hardware", tmp_path / "software"
    hardware.write_text("processor: 0\nflags\t\t: fpu vmx sse\n")
    software.write_text("processor: 0\nflags\t\t: fpu sse vmx86\n")
    kvm = tmp_path / "kvm"
    kvm.write_text("")
    choose = options.choose_accel
    assert choose("auto", str(kvm), str(hardware)) == "kvm"
    assert choose("auto", str(kvm), str(software)) == "tcg"
    assert choose("auto", str(tmp_path / "none"), str(hardware)) == "tcg"
    assert choose("kvm", str(kvm), str(software)) == "kvm"
    with pytest.raises(errors.LauncherError):
        choose("kvm", str(tmp_path / "none"), str(hardware))


@pytest.mark.parametrize("accel,prealloc", [("kvm", "on"), ("tcg", "off")])
def test_memory_is_touched_before_for_kvm(monkeypatch, accel, prealloc):
    monkeypatch.setattr(options, "choose_accel", lambda wanted: accel)
    asked = argparse.Namespace(accel=accel, memory="256M", cpus=2, iommu=False, boot="kernel", qemu_arg=[])
    words = options.machine_arguments(asked, shared=True)
    assert after(words, "-object")[0].endswith("prealloc=" + prealloc)
    words = options.machine_arguments(asked, shared=False)
    assert ("-mem-prealloc" in words) == (accel == "kvm")
    assert after(words, "-machine") == ["q35"]
    asked.iommu = True  # KVM's own I/O APIC does not remap interrupts
    said = after(options.machine_arguments(asked, shared=False), "-machine")
    assert said == ["q35,kernel-irqchip=split" if accel == "kvm" else "q35"]


def test_menu_is_filled_in():
    with open(image.MENU_TEMPLATE, encoding="utf-8") as file:
        template = file.read()
    code = "\n".join(line for line in image.menu(template, "idle=poll", True, "echo", 0)
                     .splitlines() if not line.startswith("#"))
    assert "@" not in code and "set default=echo" in code
    entries = code.split("menuentry")[1:]
    assert [re.search(r"--id (\S+)", entry).group(1) for entry in entries] == list(options.APPS)
    for app, entry in zip(options.APPS, entries):
        assert "app=%s idle=poll\n" % app in entry and "module2 /boot/hayate.conf" in entry


def test_parsers():
    counters = parse_counters("forwarded   12  IPv4 packets\r\ndrop_ip4_ttl 3\n"
                              "received 16 = fates 15 + waiting 1\n")
    assert counters["forwarded"] == 12 and counters["never_seen"] == 0
    assert counters.drops() == {"drop_ip4_ttl": 3} and counters.unbalanced() == ""
    assert "+2 unexplained" in parse_counters("received 3 = fates 1 + waiting 0").unbalanced()
    assert parse_counters("").unbalanced() != ""
    ports_seen = parse_interfaces("eth0 is up, 52:54:00:68:79:00, mtu 1500\n"
                                  "  rx_pkts 5 rx_bytes 600\n  mmio_reads=0\n"
                                  "eth1 is down\n  rx_pkts 7\n")
    assert ports_seen["eth0"]["up"] and not ports_seen["eth1"]["up"]
    assert ports_seen["eth0"]["rx_pkts"] == 5 and ports_seen["eth1"]["rx_pkts"] == 7
    assert ports_seen["eth0"]["mmio_reads"] == 0
    assert parse_table("core role busy\n0 control 1.5\n1 data 20\n") == [
        {"core": 0, "role": "control", "busy": 1.5}, {"core": 1, "role": "data", "busy": 20}]
