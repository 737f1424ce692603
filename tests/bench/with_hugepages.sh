#!/bin/bash
# Runs a command with so many huge pages of 2 MiB at least: with_hugepages.sh <pages> <command>...
# What the machine had before is put back; who is not root gets the command without.
set -eu
knob=/proc/sys/vm/nr_hugepages
had=$(cat $knob)
if [ "$had" -lt "$1" ] && [ -w $knob ]; then
	trap 'echo "$had" >$knob' EXIT
	echo "$1" >$knob
fi
shift
"$@"
