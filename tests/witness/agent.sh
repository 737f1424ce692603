#!/bin/sh
# The init of the witness guest: brings up the least a driver needs, then runs what the host says.
#
# Over the virtio-serial port `hayate.agent`, one command at a time (linux.py is the other end):
#   host:  ID SECONDS BASE64-OF-A-SHELL-SCRIPT \n
#   guest: DONE ID STATUS BYTES \n, then BYTES of what the script printed
# and before that, once, `READY RELEASE-OF-THE-KERNEL`. base64 and the count make it independent of
# what is said. A script is killed after SECONDS; what it has started in the background lives on.

# Busybox last: where Debian has the real program, that is used.
export PATH=/usr/sbin:/usr/bin:/usr/lib/busybox HOME=/root TERM=dumb
busybox mount -t proc proc /proc
busybox --install -s /usr/lib/busybox

mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
mkdir -p /dev/shm /dev/hugepages
mount -t hugetlbfs hugetlbfs /dev/hugepages
chmod 755 / # a root file system in memory is world-writable, which DPDK refuses
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
	rm -f /run/output # a new file: what an earlier script left running still writes to the old
	timeout -s KILL "$seconds" /usr/bin/dash /run/script >/run/output 2>&1 3>&- </dev/null
	status=$?
	bytes=$(wc -c </run/output)
	printf 'DONE %s %s %s\n' "$id" "$status" "$bytes" >&3
	head -c "$bytes" /run/output >&3
done
poweroff -f
