#!/bin/bash
# Runs a command with at least <pages> huge pages of 2 MiB: with_hugepages.sh <pages> <command>...
# Restores the previous number afterwards. Without root, the command runs with the pages there are.
set -eu
knob=/proc/sys/vm/nr_hugepages
had=$(cat $knob)
if [ "$had" -lt "$1" ] && [ -w $knob ]; then
	trap 'echo "$had" >$knob' EXIT
	echo "$1" >$knob
fi
shift
"$@"
