#!/bin/bash
# Lists and installs the Debian and Ubuntu packages that Hayate needs.
#
#   tools/deps.sh check PURPOSE…     exits 0 if all packages are installed, else names the missing ones
#   tools/deps.sh install PURPOSE…   installs missing packages; without root, prints the command to run
#   tools/deps.sh list PURPOSE…      prints the packages
#
# Purposes: build, run (make run, make image), models (make run NIC=…), release (make release), test
# (make test), bench (make bench), all. Each contains the one before it. run-bgp (make run-bgp)
# contains run, and test contains run-bgp. Python is Debian's own,
# /usr/bin/python3, with Debian's packages: nothing depends on pip or on another python3 in PATH.
# Exit codes: 0 all installed, 1 something is missing, 2 wrong usage.
set -eu

build="gcc make nasm binutils python3"
run="qemu-system-x86 ovmf grub-common grub-pc-bin grub-efi-amd64-bin xorriso xz-utils mtools
	iproute2 iputils-ping traceroute iperf3 curl util-linux"
bgp="frr bird2"
models="libc6-dev debian-archive-keyring"
release="faketime"
test="clang libbpf-dev libcmocka-dev libssl-dev python3-pytest python3-scapy tcpdump ethtool
	gcc-i686-linux-gnu gcc-aarch64-linux-gnu gcc-riscv64-linux-gnu
	valgrind socat nmap hping3 tshark nftables python3-prometheus-client
	gnutls-bin sslscan radvd ndisc6 gobgpd lldpd iputils-tracepath chrony dnsmasq-base inetutils-telnet netcat-openbsd bzip2 nfdump nfdump-sflow rsyslog rsyslog-gnutls sbsigntool gnupg openssl openvswitch-switch dosfstools gdisk ansible-core
	openssh-client sshpass dropbear-bin ssh-audit"
bench="clang libbpf-dev wrk dpdk dpdk-dev dpdk-doc libdpdk-dev openvswitch-switch-dpdk pkg-config python3-matplotlib"

usage() {
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
	exit 2
}

installed() {
	dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null | grep -q '^ii'
}

# From clang 14 on, the sanitizer runtime is a separate package, named after the version that `clang`
# depends on. If clang is not installed, this is the version that apt would install.
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

# What only Debian has (sources, newer packages) comes from a Debian mirror. On Ubuntu this package, 18 KB,
# names one: tools/launcher/debs.py reads it.
mirrors() {
	if ! grep -qs '^ID=debian' /etc/os-release && there python-apt-common; then
		echo python-apt-common
	fi
}

# Third-party tools that attack the machine or load its server, less than 1 MB in all. If the
# distribution does not package a tool, its test is reported as skipped.
attackers() {
	for package in thc-ipv6 slowhttptest nghttp2-client wrk; do
		there $package && echo $package
	done
	true
}

# HTTP clients and reverse proxies for the tests of the web application, 8 MB. What a distribution does not
# package is reported as skipped.
web_peers() {
	for package in apache2-utils aria2 haproxy nginx python3-requests siege wget; do
		there $package && echo $package
	done
	true
}

# XDP programs as objects. Older releases of Ubuntu lack the package; without it, their test is reported as
# skipped.
objects() {
	if there xdp-tools; then
		echo xdp-tools
	fi
}

# A DHCP client. Its authors maintain it no more, and a release may lack it; its test is then reported as
# skipped.
dhcp_client() {
	if there isc-dhcp-client; then
		echo isc-dhcp-client
	fi
}

# The browser for the tests of the web page: a download of 124 MB, 412 MB on disk. Ubuntu has it only
# as a snap, which does not run in a network namespace; the test is then reported as skipped.
browser() {
	if there chromium; then
		echo chromium fonts-dejavu-core
	fi
}

packages() {
	local all
	all=$(
		mirrors
		for purpose in "$@"; do
			case $purpose in
			build) echo $build ;;
			run) echo $build $run ;;
			run-bgp) echo $build $run $bgp ;;
			models) echo $build $run $models ;;
			release) echo $build $run $models $release ;;
			test) echo $build $run $models $release $bgp $test $(clang_runtime) $(attackers) $(web_peers) $(objects) $(dhcp_client) $(browser) ;;
			bench | all) echo $build $run $models $release $bgp $test $(clang_runtime) $(attackers) $(web_peers) $(objects) $(dhcp_client) $(browser) $bench ;;
			*) usage ;;
			esac
		done
	) || exit
	printf '%s\n' $all | sort -u
}

[ $# -ge 2 ] || usage
action=$1
shift
case $action in check | install | list) ;; *) usage ;; esac
wanted=$(packages "$@")

if ! command -v dpkg-query >/dev/null; then
	echo "tools/deps.sh: not a Debian or Ubuntu machine; needed here, under your system's names:" >&2
	echo $wanted >&2
	[ "$action" = list ] && exit 0
	exit 1
fi

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
	sudo=$([ "$(id -u)" = 0 ] || echo "sudo ")
	echo "install with: ${sudo}apt-get install -y --no-install-recommends$missing" >&2
	exit 1
fi

# The tests run some daemons in network namespaces. As services of the machine they start neither now,
# unless the machine has a policy of its own for that, nor at its next boot.
policy=/usr/sbin/policy-rc.d
ours=
finish() {
	[ -z "$ours" ] || rm -f $policy
	command -v systemctl >/dev/null || return 0
	for package in $missing; do
		case $package in
		bird2) systemctl disable -q bird 2>/dev/null || true ;;
		frr | gobgpd | haproxy | nginx) systemctl disable -q $package 2>/dev/null || true ;;
		esac
	done
}
trap finish EXIT
trap 'exit 1' INT TERM
if [ ! -e $policy ]; then
	ours=yes
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod 755 $policy
fi

# The package lists are fetched only if they are absent or the installation by them fails.
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
# The fresh lists may add clang's runtime to the packages.
missing=
for package in $(packages "$@"); do
	installed "$package" || missing="$missing $package"
done
[ -z "$missing" ] || $get $missing
