#!/bin/bash
# Runs layers of tests one after the other, all of them whatever fails: all.sh MAKE TARGET...
# A layer is a target of the Makefile. Its output is its own; exit code 1 and a line that names them
# when some have failed.
#
# Each is a process group of its own, so that an interrupt (Ctrl-C, SIGTERM, a closed terminal) ends
# all that it has started: by SIGINT, upon which fixtures take down what they have made, and what is
# left when make has ended, or after GRACE_S, by SIGKILL. The exit code is 130 then.
# Not done: SIGINT to the outer make alone, which makes wait for their children, does not get here.
set -m
GRACE_S=20
make=$1
shift
layer= failed=

stop() {
	trap '' INT TERM HUP
	if [ "$layer" ]; then
		kill -INT -- "-$layer" 2>/dev/null
		for ((i = 0; i < 10 * GRACE_S; i++)); do
			[ "$(jobs -r)" ] || break
			sleep 0.1
		done
		kill -KILL -- "-$layer" 2>/dev/null
	fi
	echo "make test: interrupted"
	exit 130
}
trap stop INT TERM HUP

for target; do
	"$make" --no-print-directory -j"$(nproc)" "$target" </dev/null &
	layer=$!
	wait "$layer" || failed="$failed $target"
	layer=
done
[ -z "$failed" ] || echo "make test: failed:$failed"
[ -z "$failed" ]
