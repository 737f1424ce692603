#!/bin/bash
# Makes build/release/hayate-VERSION from the build (`make release` runs the build first):
#
#   hayate-VERSION.iso             boots from BIOS and UEFI, as CD and as USB stick
#   hayate-VERSION.elf             the same kernel, for direct boot (QEMU's -kernel)
#   hayate-VERSION-debug.tar.xz    debugging information, for `tools/hayate addr --kernel --program`
#   libhayate-net-VERSION.tar.xz   the stack as a library, with its headers
#   LICENSE.NAME, NAME….tar.*      licence and source of each foreign library in the image (third/pins)
#   LICENSE.grub                   licence of the boot loader in the ISO
#   hayate-VERSION.spdx.json       bill of materials (tools/sbom.py)
#   CHANGELOG.md, LICENSE, SHA256SUMS
#
# The same sources and compilers give the same bytes at any place and time. All timestamps are that of
# the commit (or SOURCE_DATE_EPOCH). GRUB's tool ignores that variable, so it runs under faketime.
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C TZ=UTC

version=$(sed -n 's/^#define HAYATE_VERSION "\(.*\)"$/\1/p' runtime/runtime.h)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)} || {
	echo "release: this is no git clone: set SOURCE_DATE_EPOCH to the time of the sources, in seconds" >&2
	exit 1
}
export SOURCE_DATE_EPOCH
name=hayate-$version
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/$name
mkdir "$out"

# tar's arguments: NAME.tar.xz FOLDER
pack() {
	find "$work/$2" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw,a-s \
		--mtime="@$SOURCE_DATE_EPOCH" -cf - "$2" | xz -9e --threads=1 >"$out/$1"
}

faketime -f "$(date -d "@$SOURCE_DATE_EPOCH" '+%Y-%m-%d %H:%M:%S')" \
	tools/hayate image -o "$out/$name.iso" >"$work/log" || { cat "$work/log" >&2; exit 1; }
cp build/hayate.elf "$out/$name.elf"

mkdir "$work/$name-debug"
cp build/hayate-debug.elf build/program.elf "$work/$name-debug"
pack "$name-debug.tar.xz" "$name-debug"

library=libhayate-net-$version
mkdir -p "$work/$library/include"
cp build/libhayate-net.a LICENSE "$work/$library"
find net lib -name '*.h' | sort | xargs cp --parents -t "$work/$library/include"
pack "$library.tar.xz" "$library"

cp CHANGELOG.md LICENSE "$out"
for foreign in build/third/src/*; do
	cp "$foreign/LICENSE" "$out/LICENSE.${foreign##*/}"
done
tools/get-crypto --tarballs | while read -r tarball; do cp "$tarball" "$out"; done
cp /usr/share/common-licenses/GPL-3 "$out/LICENSE.grub"
tools/sbom.py "$out" "$version" >"$out/$name.spdx.json"
chmod 644 "$out"/*
(cd "$out" && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS)
rm -rf "build/release/$name"
mkdir -p build/release
cp -r "$out" build/release/
echo "build/release/$name:"
cat "build/release/$name/SHA256SUMS"
