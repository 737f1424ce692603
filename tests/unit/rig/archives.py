#!/usr/bin/python3
"""Makes the tar archives of test_tar: archives.py DIRECTORY

By GNU tar and by Python's tarfile, in each of their formats, NAME.tar with NAME.list, which says in the form of
check_archive (tests/unit/net/archive/test_tar.c) what is in it.
"""
import io
import os
import shutil
import subprocess
import sys
import tarfile

MTIME = 1000000000
LONG = "d" * 90 + "/" + "e" * 90  # fits into ustar's prefix and name
LONGER = "f" * 120 + "/" + "g" * 150  # does not


def content(n):
    return bytes((i * 7 + i // 251) % 256 for i in range(n))


def checksum(data):
    total = 0
    for byte in data:
        total = (total * 31 + byte) & 0xffffffff
    return total


def file_line(path, data, mtime=MTIME):
    return f"file /{path} {mtime} {len(data)} {checksum(data)}"


class Tree:
    """Files in a folder, and the lines of their list."""

    def __init__(self, root):
        self.root = root
        self.lines = []
        shutil.rmtree(root, ignore_errors=True)
        os.makedirs(root)

    def path(self, name):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def file(self, name, data):
        with open(self.path(name), "wb") as out:
            out.write(data)
        self.lines.append(file_line(name, data))

    def symlink(self, name, target):
        os.symlink(target, self.path(name))
        self.lines.append(f"sym /{name} {target}")

    def finish(self):
        """All with the same time; returns the list, with the folders."""
        folders = []
        for folder, names, files in os.walk(self.root, topdown=False):
            for name in names + files:
                os.utime(os.path.join(folder, name), (MTIME, MTIME), follow_symlinks=False)
            inside = os.path.relpath(folder, self.root)
            folders.append("dir /%s %d" % ("" if inside == "." else inside, MTIME))
        os.utime(self.root, (MTIME, MTIME))
        return self.lines + folders


def small_tree(root, long_names):
    tree = Tree(root)
    for n in (0, 1, 511, 512, 513, 100000):
        tree.file(f"files/{n}.bin", content(n))
    tree.file("index.html", b"<html></html>\n")
    tree.file("name with blanks", b"x")
    tree.symlink("link", "files/1.bin")
    if long_names >= 1:
        tree.file("n" * 99, b"y")
        tree.file("n" * 100, b"y") if long_names > 1 else None
        tree.file(f"{LONG}.txt", content(600))
    if long_names > 1:
        tree.file("\u65e5\u672c/\u00e9.txt", b"UTF-8")
        tree.file(f"{LONGER}.txt", content(700))
        tree.symlink("long-link", "h" * 200)
    return tree.finish()


def write_list(out, name, lines):
    with open(os.path.join(out, name + ".list"), "w", encoding="utf-8") as f:
        f.write("".join(line + "\n" for line in lines))


def gnu_tar(out, name, tree, *options):
    subprocess.run(["tar", "--sort=name", "-C", tree, *options, "-cf", os.path.join(out, name + ".tar"), "."],
                   check=True)


def by_gnu_tar(out):
    tree = os.path.join(out, "tree")
    for name, long_names in ("v7", 0), ("oldgnu", 2), ("gnu", 2), ("ustar", 1), ("posix", 2):
        lines = small_tree(tree, long_names)
        gnu_tar(out, "gnu-" + name, tree, "--format=" + name)
        write_list(out, "gnu-" + name, lines)
    # hard links: the second name in the order of the archive
    lines = small_tree(tree, 0)
    os.link(os.path.join(tree, "index.html"), os.path.join(tree, "z.html"))
    os.utime(tree, (MTIME, MTIME))
    gnu_tar(out, "gnu-hard", tree, "--format=posix")
    write_list(out, "gnu-hard", lines + ["hard /z.html ./index.html"])
    # holes: many, so that old sparse headers need lists behind them
    lines = [line for line in small_tree(tree, 0) if "0.bin" not in line or "/0.bin" in line]
    os.remove(os.path.join(tree, "files", "100000.bin"))
    with open(os.path.join(tree, "holes"), "wb") as f:
        for i in range(60):
            f.seek(i * 65536)
            f.write(b"data")
        f.truncate(61 * 65536)
    for path in "files", "holes", ".":
        os.utime(os.path.join(tree, path), (MTIME, MTIME))
    gnu_tar(out, "gnu-sparse-old", tree, "--format=gnu", "--sparse")
    write_list(out, "gnu-sparse-old", lines + ["skipped /holes"])
    for version in "0.0", "0.1", "1.0":
        name = f"gnu-sparse-{version}"
        gnu_tar(out, name, tree, "--format=posix", "--sparse", "--sparse-version=" + version)
        with tarfile.open(os.path.join(out, name + ".tar")) as t:
            # 1.0 and 0.1 have a name of their own in the header, and the real one in a record
            header = [m for m in t if m.sparse is not None]
        assert len(header) == 1
        paths = {"0.0": "holes", "0.1": None, "1.0": None}
        write_list(out, name, lines + ["skipped /" + (paths[version] or sparse_name(out, name))])
    shutil.rmtree(tree)


def sparse_name(out, name):
    """The name that the header itself has: of the only block that begins with it."""
    with open(os.path.join(out, name + ".tar"), "rb") as f:
        data = f.read()
    for at in range(0, len(data), 512):
        text = data[at:at + 100].split(b"\0")[0].decode("ascii", "replace")
        if "GNUSparseFile" in text:
            return text[2:]
    raise SystemExit(f"{name}: no sparse file")


def by_tarfile(out):
    for name, form, long_names in (("ustar", tarfile.USTAR_FORMAT, False), ("gnu", tarfile.GNU_FORMAT, True),
                                   ("pax", tarfile.PAX_FORMAT, True)):
        lines = []
        with tarfile.open(os.path.join(out, f"python-{name}.tar"), "w", format=form) as t:
            def add(path, data=b"", kind=tarfile.REGTYPE, link="", mtime=MTIME):
                info = tarfile.TarInfo(path)
                info.size, info.type, info.linkname, info.mtime = len(data), kind, link, mtime
                t.addfile(info, io.BytesIO(data))
                if kind == tarfile.REGTYPE:
                    lines.append(file_line(path, data, mtime if isinstance(mtime, int) else int(mtime // 1)))
                elif kind == tarfile.DIRTYPE:
                    lines.append(f"dir /{path} {mtime}")
                elif kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                    lines.append(f"{'sym' if kind == tarfile.SYMTYPE else 'hard'} /{path} {link}")
                else:
                    lines.append(f"skipped /{path}")
            add("d", kind=tarfile.DIRTYPE)
            for n in (0, 1, 512, 5000):
                add(f"d/{n}", content(n))
            add("d/s", kind=tarfile.SYMTYPE, link="../x")
            add("d/h", kind=tarfile.LNKTYPE, link="d/1")
            add("d/fifo", kind=tarfile.FIFOTYPE)
            add("d/chr", kind=tarfile.CHRTYPE)
            add(LONG, b"long")
            if long_names:
                add(LONGER, b"longer")
                add("l", kind=tarfile.SYMTYPE, link="k" * 300)
                add("\u00e9", b"UTF-8")
                add("old", b"before 1970", mtime=-5)
            if form == tarfile.PAX_FORMAT:
                add("fraction", b"f", mtime=12.75)
                add("before", b"f", mtime=-12.25)
        write_list(out, "python-" + name, lines)


def main():
    out = sys.argv[1]
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    by_gnu_tar(out)
    by_tarfile(out)


if __name__ == "__main__":
    main()
