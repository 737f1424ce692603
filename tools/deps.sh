#!/bin/bash
# The Debian and Ubuntu packages Hayate needs, in one list, and how to get them.
#
#   tools/deps.sh check PURPOSE…     exit 0 when everything is there, else name what is missing
#   tools/deps.sh install PURPOSE…   installs what is missing (root), or prints the line to type
#   tools/deps.sh list PURPOSE…      prints the packages
#
# Purposes: build, run (make run, make image), models (make run NIC=…), release (make release), test
# (make test), bench (make bench), all. Each contains the one before it. Python is Debian's own, /usr/bin/python3, with Debian's
# packages: nothing depends on pip or on another python3 that is first in PATH.
# Exit codes: 0 there, 1 something is missing, 2 wrong usage.
set -eu

build="gcc make nasm binutils"
run="qemu-system-x86 ovmf grub-common grub-pc-bin grub-efi-amd64-bin xorriso xz-utils mtools
	iproute2 iputils-ping traceroute iperf3 python3 util-linux"
models="libc6-dev debian-archive-keyring"
release="faketime"
test="clang libcmocka-dev python3-pytest python3-scapy tcpdump ethtool
	gcc-i686-linux-gnu gcc-aarch64-linux-gnu gcc-riscv64-linux-gnu
	socat nmap hping3 tshark curl nftables python3-prometheus-client
	radvd ndisc6 iputils-tracepath inetutils-telnet netcat-openbsd bzip2"
bench="wrk dpdk dpdk-dev dpdk-doc libdpdk-dev pkg-config python3-matplotlib"

usage() {
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
	exit 2
}

installed() {
	dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null | grep -q '^ii'
}

# clang's sanitizer runtime is a package of its own from clang 14 on, named after the version
# that `clang` stands for; before clang is there, the version is the one apt would install.
clang_runtime() {
	version=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' |
		head -n 1)
	[ -n "$version" ] || return 0
	apt-cache show "libclang-rt-$version-dev" >/dev/null 2>&1 || return 0
	echo "libclang-rt-$version-dev"
}

there() {
	installed "$1" || apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [^(]'
}

# Tools of others that attack the machine or load its server, less than 1 MB together. Where one has
# no package its test says that it was skipped.
attackers() {
	for package in thc-ipv6 slowhttptest nghttp2-client wrk; do
		there $package && echo $package
	done
	true
}

# The browser that looks at the machine's page: 124 MB to fetch, 412 MB on the disk. Ubuntu has it as
# a snap only, which does not run in a network namespace; the test says then that it was skipped.
browser() {
	if there chromium; then
		echo chromium fonts-dejavu-core
	fi
}

packages() {
	for purpose in "$@"; do
		case $purpose in
		build) echo $build ;;
		run) echo $build $run ;;
		models) echo $build $run $models ;;
		release) echo $build $run $models $release ;;
		test) echo $build $run $models $release $test $(clang_runtime) $(attackers) $(browser) ;;
		bench | all) echo $build $run $models $release $test $(clang_runtime) $(attackers) $(browser) $bench ;;
		*) usage ;;
		esac
	done | tr ' ' '\n' | sort -u
}

[ $# -ge 2 ] || usage
action=$1
shift
case $action in check | install | list) ;; *) usage ;; esac

if ! command -v dpkg-query >/dev/null; then
	echo "tools/deps.sh: not a Debian or Ubuntu machine; needed here, under your system's names:" >&2
	packages "$@" | tr '\n' ' ' >&2
	echo >&2
	[ "$action" = list ] && exit 0
	exit 1
fi

wanted=$(packages "$@")
if [ "$action" = list ]; then
	echo $wanted
	exit 0
fi

missing=
for package in $wanted; do
	installed "$package" || missing="$missing $package"
done
if [ -z "$missing" ]; then
	exit 0
fi

if [ "$action" = check ] || [ "$(id -u)" != 0 ]; then
	echo "missing:$missing" >&2
	echo "install with: sudo apt-get install -y --no-install-recommends$missing" >&2
	exit 1
fi

# The package lists are fetched only when they are absent, or when what they say does not work.
export DEBIAN_FRONTEND=noninteractive
get="apt-get install -y --no-install-recommends -o Dpkg::Use-Pty=0"
known() {
	for package in $missing; do
		apt-cache policy "$package" 2>/dev/null | grep -q 'Candidate: [^(]' || return 1
	done
}
echo "installing:$missing"
if known && $get $missing; then
	exit 0
fi
apt-get update
# With lists at last, clang's runtime may have turned out to be one more.
missing=
for package in $(packages "$@"); do
	installed "$package" || missing="$missing $package"
done
[ -z "$missing" ] || $get $missing
