"""The image for UEFI Secure Boot. The chain of trust:

1. The firmware checks GRUB's signature (PE, Authenticode) against the owner's certificate, which is
   enrolled in it (`db`), or which shim knows (a machine owner's key).
2. GRUB carries a public key of OpenPGP and checks what it reads with it: menu, kernel, configuration
   (check_signatures=enforce; GRUB manual, "Using digital signatures in GRUB"). It has no password for
   its shell and its editor, so nobody can turn that off.

The second key pair is made for one image, and its private half is never stored: the owner keeps one
key only. GRUB's shim_lock is left out, because shim checks PE files only, and the kernel is none.
"""
import os
import shutil
import subprocess

from . import process
from .errors import LauncherError

# All modules are in the signed file, because GRUB loads no others under Secure Boot.
MODULES = ["search_label", "pgp", "gcry_rsa", "gcry_sha256", "gcry_sha512"]
VOLUME = "HAYATE"
EARLY = """\
set check_signatures=enforce
set superusers=nobody
export check_signatures
export superusers
search --no-floppy --set=root --label %s
set prefix=($root)/boot/grub
configfile /boot/grub/grub.cfg
""" % VOLUME

PROGRAMS = {"sbsign": "sbsigntool", "gpg": "gnupg", "grub-mkimage": "grub-common", "xorriso": "xorriso",
            "mformat": "mtools", "mcopy": "mtools", "mmd": "mtools"}  # Debian package of each


class Signer:
    """The owner's key (PEM, no passphrase), certificate (PEM), and SBAT file for shim or None."""

    def __init__(self, key, cert, sbat=None):
        self.key, self.cert, self.sbat = key, cert, sbat

    def check(self):
        """Raises LauncherError if a needed file or program is missing."""
        for path in (self.key, self.cert, self.sbat):
            if path and not os.path.isfile(path):
                raise LauncherError("%s: no such file" % path)
        for program, package in PROGRAMS.items():
            if not shutil.which(program):
                raise LauncherError("%s: no such program (package %s)" % (program, package))

    def build(self, tree, work, modules):
        """Signs the files in `tree` and returns the path of an ISO of it below `work`, which boots
        from UEFI only."""
        public = _sign_tree(tree, os.path.join(work, "gnupg"))
        early = os.path.join(work, "early.cfg")
        with open(early, "w", encoding="ascii") as file:
            file.write(EARLY)
        unsigned, signed = os.path.join(work, "grub.efi"), os.path.join(work, "BOOTX64.EFI")
        _run("grub-mkimage", "-O", "x86_64-efi", "-o", unsigned, "-p", "/boot/grub",
             "--disable-shim-lock", "-k", public, "-c", early,
             *(["--sbat", self.sbat] if self.sbat else []), *modules, *MODULES)
        _run("sbsign", "--key", self.key, "--cert", self.cert, "--output", signed, unsigned)
        return _iso(tree, signed, work)


def _run(*command, env=None):
    child = process.popen(list(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, errors="replace", env=env)
    said, _ = child.communicate()
    if child.returncode != 0:
        last = [line.strip() for line in said.splitlines() if line.strip()][-2:]
        raise LauncherError("%s failed: %s" % (command[0], " / ".join(last) or "no output"))


def _sign_tree(tree, home):
    """Puts a signature beside each file. Returns the path of the public key."""
    os.mkdir(home, 0o700)
    env = dict(os.environ, GNUPGHOME=home)
    gpg = ["gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]
    public = os.path.join(home, "public.gpg")
    try:
        _run(*gpg, "--quick-generate-key", "Hayate image", "rsa3072", "sign", "never", env=env)
        _run(*gpg, "--output", public, "--export", env=env)
        for folder, _, names in os.walk(tree):
            for name in names:
                _run(*gpg, "--digest-algo", "SHA512", "--detach-sign", os.path.join(folder, name), env=env)
    finally:
        subprocess.run(["gpgconf", "--kill", "gpg-agent"], env=env, check=False)
    return public


def _iso(tree, signed, work):
    """An ISO whose second partition is the EFI system partition: for a USB stick and as a CD."""
    esp, made = os.path.join(work, "efi.img"), os.path.join(work, "hayate.iso")
    mib = os.path.getsize(signed) // (1 << 20) + 2
    with open(esp, "wb") as file:
        file.truncate(mib << 20)
    _run("mformat", "-i", esp, "::")
    _run("mmd", "-i", esp, "::/EFI", "::/EFI/BOOT")
    _run("mcopy", "-i", esp, signed, "::/EFI/BOOT/BOOTX64.EFI")
    _run("xorriso", "-as", "mkisofs", "-quiet", "-V", VOLUME, "-r", "-o", made,
         "-append_partition", "2", "0xef", esp, "-appended_part_as_gpt", "-partition_offset", "16",
         "-e", "--interval:appended_partition_2:all::", "-no-emul-boot", tree)
    return made
