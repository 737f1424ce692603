"""The hybrid image: one file that boots from BIOS and from UEFI, as ISO and from a USB stick."""
import os
import re
import shutil
import subprocess
import tempfile

from . import process
from .errors import LauncherError, usage
from .options import DEFAULT_APP, KERNEL, ROOT

MENU_TEMPLATE = os.path.join(ROOT, "boot", "grub.cfg")

# What GRUB needs to find, read and start the kernel, and no more: the image is small and
# starts fast. Everything else of Debian's default set (fonts, themes, file systems) stays out.
GRUB_MODULES = ["multiboot2", "normal", "part_msdos", "part_gpt", "iso9660", "fat", "serial",
                "terminal", "gfxterm", "all_video", "echo", "test", "search", "configfile"]


def menu(template, command_line, has_config, default_app, timeout_s):
    """boot/grub.cfg with its @NAMES@ filled in."""
    if not re.fullmatch(r"[ -~]*", command_line) or re.search(r"[;{}$'\"\\|&<>#]", command_line):
        raise usage("--append: characters that GRUB's menu gives a meaning of its own")
    return (template
            .replace("@TIMEOUT@", str(timeout_s))
            .replace("@DEFAULT@", default_app)
            .replace("@ARGUMENTS@", command_line)
            .replace("@MODULE@", "module2 /boot/hayate.conf hayate.conf" if has_config else ""))


def build(output, kernel=None, config=None, arguments="", default_app=DEFAULT_APP, timeout_s=1):
    """Writes the image to `output` (atomically). `arguments` go to the kernel in every entry."""
    kernel = kernel or KERNEL
    if not os.path.exists(kernel):
        raise LauncherError("%s: no such file (make image)" % kernel)
    if config and not os.path.isfile(config):
        raise LauncherError("%s: no such file" % config)
    for program in ("grub-mkrescue", "xorriso", "mformat", "xz"):
        if not shutil.which(program):
            raise LauncherError("%s: no such program (tools/deps.sh install run)" % program)
    for platform, package in (("i386-pc", "grub-pc-bin"), ("x86_64-efi", "grub-efi-amd64-bin")):
        if not os.path.isdir("/usr/lib/grub/" + platform):
            raise LauncherError("GRUB for %s is not installed (package %s)" % (platform, package))
    with open(MENU_TEMPLATE, encoding="utf-8") as file:
        text = menu(file.read(), arguments, bool(config), default_app, timeout_s)
    with tempfile.TemporaryDirectory(prefix="hayate-image-") as work:
        tree = os.path.join(work, "tree")
        os.makedirs(os.path.join(tree, "boot", "grub"))
        shutil.copyfile(kernel, os.path.join(tree, "boot", "hayate.elf"))
        if config:
            shutil.copyfile(config, os.path.join(tree, "boot", "hayate.conf"))
        with open(os.path.join(tree, "boot", "grub", "grub.cfg"), "w", encoding="utf-8") as file:
            file.write(text)
        made = os.path.join(work, "hayate.iso")
        command = ["grub-mkrescue", "-o", made, "--locales=", "--fonts=", "--themes=",
                   "--compress=xz", "--install-modules=" + " ".join(GRUB_MODULES), tree,
                   "--", "-volid", "HAYATE"]
        child = process.popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", env=dict(os.environ, TMPDIR=work))
        said, _ = child.communicate()
        if child.returncode != 0 or not os.path.exists(made):
            # the cause stands before the error that it leads to
            last = [line.strip() for line in said.splitlines() if line.strip()][-2:]
            raise LauncherError("grub-mkrescue failed: %s" % (" / ".join(last) or "no output"))
        partial = "%s.%d.part" % (output, os.getpid())
        try:
            shutil.copyfile(made, partial)
            os.replace(partial, output)
        except OSError as error:
            raise LauncherError("%s: %s" % (output, error.strerror)) from None
        finally:
            if os.path.exists(partial):
                os.unlink(partial)
