#!/bin/sh
# The init of the witness guest: sets up what a driver needs, then runs the commands of the host.
#
# Over the virtio-serial port `hayate.agent`, one command at a time (linux.py is the other end):
#   host:  ID SECONDS BASE64-OF-A-SHELL-SCRIPT \n
#   guest: DONE ID STATUS BYTES \n, then BYTES of the script's output
# and first, once, `READY RELEASE-OF-THE-KERNEL`. base64 and the count allow any bytes in scripts
# and output. A script is killed after SECONDS; its background processes continue.

# Busybox last: Debian's own programs take precedence.
export PATH=/usr/sbin:/usr/bin:/usr/lib/busybox HOME=/root TERM=dumb
busybox mount -t proc proc /proc
busybox --install -s /usr/lib/busybox

mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
mkdir -p /dev/shm /dev/hugepages
mount -t hugetlbfs hugetlbfs /dev/hugepages
chmod 755 / # DPDK refuses a world-writable root, the default of one in memory
ip link set lo up

modprobe -a virtio_pci virtio_console
until port=$(grep -lx hayate.agent /sys/class/virtio-ports/*/name 2>/dev/null); do
	sleep 0.05
done
port=${port%/name}
exec 3<>"/dev/${port##*/}"

printf 'READY %s\n' "$(uname -r)" >&3
while read -r id seconds script <&3; do
	printf %s "$script" | base64 -d >/run/script
	rm -f /run/output # a new file: processes of an earlier script still write to the old one
	timeout -s KILL "$seconds" /usr/bin/dash /run/script >/run/output 2>&1 3>&- </dev/null
	status=$?
	bytes=$(wc -c </run/output)
	printf 'DONE %s %s %s\n' "$id" "$status" "$bytes" >&3
	head -c "$bytes" /run/output >&3
done
poweroff -f
