#!/bin/bash
# Runs layers of tests, all of them even if some fail:
#   all.sh MAKE BUILD LAYER[/SHARES]... -- LAYER...
# BUILD and each LAYER are targets of the Makefile. BUILD makes what the layers need, with all CPUs
# and before any layer, so that no two layers ever make the same file.
#
# Before the `--` are layers that boot machines and wait for half of their time. They run in lanes,
# one more than there are CPUs: with two more, the kernel's lock of network devices was held for
# seconds. LANES_MAX limits the number, since each also takes memory. They begin in the order given,
# the long ones first. LAYER/2 means two shares, with SHARE=1/2 and SHARE=2/2 (tests/layer.py).
#
# Behind the `--` are layers that compute all the time and depend on no clock. They run one after the
# other beside the lanes, at the lowest priority: they take what the lanes leave of the CPUs.
#
# The output of a layer is shown in one piece when it has ended, below a line that names it. If some
# have failed, the exit code is 1 and a line names them.
#
# A lane is a process group of its own, so that an interrupt (Ctrl-C, SIGTERM, a closed terminal)
# ends everything it has started: SIGINT makes fixtures take down what they have made; SIGKILL ends
# what is left when make has ended, or after GRACE_S. The exit code is then 130.
# Not handled: SIGINT to the outer make alone, because make waits for its children.
set -m
GRACE_S=20
LANES_MAX=4
make=$1
build=$2
shift 2
lanes=()
dir=$(mktemp -d) # lanes/, beside/: what has not begun, a file each; N: what lane N is at; failed
trap 'rm -rf "$dir"' EXIT

stop() {
	trap '' INT TERM HUP
	for lane in "${lanes[@]}"; do
		kill -INT -- "-$lane" 2>/dev/null
	done
	for ((i = 0; i < 10 * GRACE_S; i++)); do
		[ "$(jobs -r)" ] || break
		sleep 0.1
	done
	for lane in "${lanes[@]}"; do
		kill -KILL -- "-$lane" 2>/dev/null
	done
	echo "make test: interrupted"
	exit 130
}
trap stop INT TERM HUP

show() { # its line, its log
	[ ! -f "$2" ] || (
		flock 9
		printf '\n--- %s\n' "$1"
		cat "$2"
	) 9>"$dir/lock"
}

# Takes layers from a folder one after the other; no other lane can take the same one.
lane() { # lane, folder, priority as nice has it
	local mine=$dir/$1 log=$dir/$1.log start
	local -a target
	trap 'show "${target[*]}: interrupted" "$log"; exit 130' INT
	for layer in "$dir/$2"/*; do
		mv "$layer" "$mine" 2>/dev/null || continue
		read -r -a target <"$mine"
		start=$SECONDS
		nice -n "$3" "$make" --no-print-directory -j"$(nproc)" "${target[@]}" </dev/null >"$log" 2>&1 ||
			echo "${target[*]}" >>"$dir/failed"
		show "${target[*]}: $((SECONDS - start)) s" "$log"
		rm -f "$log"
	done
}

"$make" --no-print-directory -k -j"$(nproc)" "$build" </dev/null &
lanes=($!)
wait "${lanes[0]}" || echo "$build" >>"$dir/failed"

mkdir "$dir/lanes" "$dir/beside"
n=100 # the names sort in the order of the layers
folder=$dir/lanes
for layer; do
	if [ "$layer" = -- ]; then
		folder=$dir/beside
		continue
	fi
	shares=1
	[[ $layer == */* ]] && shares=${layer#*/}
	for ((i = 1; i <= shares; i++)); do
		echo "${layer%/*}$([ "$shares" = 1 ] || echo " SHARE=$i/$shares")" >"$folder/$((n++))"
	done
done
count=$(($(nproc) + 1))
lanes=()
for ((i = 1; i <= count && i <= LANES_MAX; i++)); do
	lane "$i" lanes 0 &
	lanes+=($!)
done
lane 0 beside 19 &
lanes+=($!)
for lane in "${lanes[@]}"; do
	wait "$lane"
done
[ ! -s "$dir/failed" ] || echo "make test: failed: $(paste -sd ' ' "$dir/failed")"
[ ! -s "$dir/failed" ]
