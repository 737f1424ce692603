#!/bin/bash
# Runs layers of tests, all of them whatever fails: all.sh MAKE BUILD LAYER[/SHARES]...
# BUILD and each LAYER are targets of the Makefile. BUILD makes what the layers need, with all CPUs
# and before any of them, so that no two of them ever make the same file. Then one layer more runs
# side by side than there are CPUs, because a share of the system tests waits for half of its time
# (1.2 s of a CPU a test, of 2.9 s); LANES_MAX at most: of memory too each takes its share. They
# begin in the order given, the long ones first. LAYER/2 is two of them, with SHARE=1/2 and
# SHARE=2/2 (tests/layer.py).
#
# What a layer says is shown in one piece when it has ended, below a line that names it. Exit code 1
# and a line that names them when some have failed.
#
# A lane is a process group of its own, so that an interrupt (Ctrl-C, SIGTERM, a closed terminal)
# ends all that it has started: by SIGINT, upon which fixtures take down what they have made, and
# what is left when make has ended, or after GRACE_S, by SIGKILL. The exit code is 130 then.
# Not done: SIGINT to the outer make alone, which makes wait for their children, does not get here.
set -m
GRACE_S=20
LANES_MAX=4
make=$1
build=$2
shift 2
lanes=()
dir=$(mktemp -d) # todo/: what has not begun, a file each; N: what lane N is at; failed
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

# Takes one layer after the other from todo/, which no other lane can take then.
lane() {
	local mine=$dir/$1 log=$dir/$1.log start
	local -a target
	trap 'show "${target[*]}: interrupted" "$log"; exit 130' INT
	for layer in "$dir"/todo/*; do
		mv "$layer" "$mine" 2>/dev/null || continue
		read -r -a target <"$mine"
		start=$SECONDS
		"$make" --no-print-directory -j"$(nproc)" "${target[@]}" </dev/null >"$log" 2>&1 ||
			echo "${target[*]}" >>"$dir/failed"
		show "${target[*]}: $((SECONDS - start)) s" "$log"
		rm -f "$log"
	done
}

"$make" --no-print-directory -k -j"$(nproc)" "$build" </dev/null &
lanes=($!)
wait "${lanes[0]}" || echo "$build" >>"$dir/failed"

mkdir "$dir/todo"
n=100 # the order of names is that of layers
for layer; do
	shares=1
	[[ $layer == */* ]] && shares=${layer#*/}
	for ((i = 1; i <= shares; i++)); do
		echo "${layer%/*}$([ "$shares" = 1 ] || echo " SHARE=$i/$shares")" >"$dir/todo/$((n++))"
	done
done
count=$(($(nproc) + 1))
lanes=()
for ((i = 1; i <= count && i <= LANES_MAX; i++)); do
	lane "$i" &
	lanes+=($!)
done
for lane in "${lanes[@]}"; do
	wait "$lane"
done
[ ! -s "$dir/failed" ] || echo "make test: failed: $(paste -sd ' ' "$dir/failed")"
[ ! -s "$dir/failed" ]
