"""The hybrid image: one file that boots from BIOS and UEFI, as an ISO and from a USB stick; or the same
contents as a folder, for machines that boot from the network."""
import os
import re
import shutil
import subprocess
import tempfile

from . import process
from .errors import LauncherError, usage
from .options import DEFAULT_APP, KERNEL, ROOT

MENU_TEMPLATE = os.path.join(ROOT, "boot", "grub.cfg")

# Only the modules that GRUB needs to find, read and start the kernel, so the image is small and starts
# fast. The rest of Debian's default set (fonts, themes, file systems) is left out.
GRUB_MODULES = ["multiboot2", "normal", "part_msdos", "part_gpt", "iso9660", "fat", "serial",
                "terminal", "gfxterm", "all_video", "echo", "test", "search", "configfile"]


PLATFORMS = {"i386-pc": "grub-pc-bin", "x86_64-efi": "grub-efi-amd64-bin"}  # Debian package of each


def menu(template, command_line, has_config, default_app, timeout_s):
    """boot/grub.cfg with its @NAMES@ filled in."""
    if not re.fullmatch(r"[ -~]*", command_line) or re.search(r"[;{}$'\"\\|&<>#]", command_line):
        raise usage("--append: characters with a special meaning in GRUB's menu")
    return (template
            .replace("@TIMEOUT@", str(timeout_s))
            .replace("@DEFAULT@", default_app)
            .replace("@ARGUMENTS@", command_line)
            .replace("@MODULE@", "module2 /boot/hayate.conf hayate.conf" if has_config else ""))


def _check(kernel, config, programs):
    """Raises LauncherError if a needed file or program is missing."""
    if not os.path.exists(kernel):
        raise LauncherError("%s: no such file (make image)" % kernel)
    if config and not os.path.isfile(config):
        raise LauncherError("%s: no such file" % config)
    for program in programs:
        if not shutil.which(program):
            raise LauncherError("%s: no such program (tools/deps.sh install run)" % program)
    for platform, package in PLATFORMS.items():
        if not os.path.isdir("/usr/lib/grub/" + platform):
            raise LauncherError("GRUB for %s is not installed (package %s)" % (platform, package))


def _fill(tree, kernel, config, arguments, default_app, timeout_s):
    """Writes the files that GRUB reads: kernel, configuration, menu."""
    with open(MENU_TEMPLATE, encoding="utf-8") as file:
        text = menu(file.read(), arguments, bool(config), default_app, timeout_s)
    os.makedirs(os.path.join(tree, "boot", "grub"), exist_ok=True)
    shutil.copyfile(kernel, os.path.join(tree, "boot", "hayate.elf"))
    if config:
        shutil.copyfile(config, os.path.join(tree, "boot", "hayate.conf"))
    with open(os.path.join(tree, "boot", "grub", "grub.cfg"), "w", encoding="utf-8") as file:
        file.write(text)


def _grub(program, made, work, *words):
    """Runs one of GRUB's tools, which makes the file `made`."""
    command = [program, "--locales=", "--fonts=", "--themes=", "--compress=xz",
               "--install-modules=" + " ".join(GRUB_MODULES), *words]
    child = process.popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", env=dict(os.environ, TMPDIR=work))
    said, _ = child.communicate()
    if child.returncode != 0 or not os.path.exists(made):
        # The cause is printed before the error that it leads to.
        last = [line.strip() for line in said.splitlines() if line.strip()][-2:]
        raise LauncherError("%s failed: %s" % (program, " / ".join(last) or "no output"))


def netboot(directory, kernel=None, config=None, arguments="", default_app=DEFAULT_APP, timeout_s=1):
    """Fills a folder for a TFTP server. Returns the boot file names for DHCP, by platform."""
    kernel = kernel or KERNEL
    _check(kernel, config, ("grub-mknetdir", "xz"))
    found = {}
    with tempfile.TemporaryDirectory(prefix="hayate-image-") as work:
        for platform, core in (("i386-pc", "core.0"), ("x86_64-efi", "core.efi")):
            found[platform] = "boot/grub/%s/%s" % (platform, core)
            _grub("grub-mknetdir", os.path.join(directory, found[platform]), work,
                  "--net-directory=" + directory, "--subdir=boot/grub",
                  "--directory=/usr/lib/grub/" + platform)
    _fill(directory, kernel, config, arguments, default_app, timeout_s)
    return found


def build(output, kernel=None, config=None, arguments="", default_app=DEFAULT_APP, timeout_s=1, signer=None):
    """Writes the image to `output` atomically. Every menu entry passes `arguments` to the kernel.
    signer: a secure_boot.Signer; the image is then signed, and boots from UEFI only."""
    kernel = kernel or KERNEL
    _check(kernel, config, ("grub-mkrescue", "xorriso", "mformat", "xz"))
    if signer:
        signer.check()
    with tempfile.TemporaryDirectory(prefix="hayate-image-") as work:
        tree = os.path.join(work, "tree")
        _fill(tree, kernel, config, arguments, default_app, timeout_s)
        if signer:
            made = signer.build(tree, work, GRUB_MODULES)
        else:
            made = os.path.join(work, "hayate.iso")
            _grub("grub-mkrescue", made, work, "-o", made, tree, "--", "-volid", "HAYATE")
        partial = "%s.%d.part" % (output, os.getpid())
        try:
            shutil.copyfile(made, partial)
            os.replace(partial, output)
        except OSError as error:
            raise LauncherError("%s: %s" % (output, error.strerror)) from None
        finally:
            if os.path.exists(partial):
                os.unlink(partial)
