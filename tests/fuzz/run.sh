#!/bin/sh
# Runs fuzz entries, as many at a time as there are CPUs:
#   run.sh [-t SECONDS] <build directory> <entry[:executions]>...
# With -t for that long, from a random seed, keeping what it learns in <build directory>/corpus/;
# without, the same inputs each time. Ends in `fuzz: N passed, N failed`: for each entry its corpus
# is one test, the inputs made from it another.
result() { # name, exit code, log
	if [ "$2" -eq 0 ]; then
		printf '  %-16s passed  %s\n' "$1" "$(sed -n 's/^Done \(.*\)/\1/p' "$3" | tail -n 1)"
	else
		printf '  %-16s FAILED  exit %s, see %s\n' "$1" "$2" "$3"
		grep -E 'assertion failed|ERROR|runtime error|SUMMARY|Test unit written' "$3" |
			head -n 8 | sed 's/^/    /'
	fi
}

# run.sh --one <seconds or empty> <build directory> <entry[:executions]>: its lines
if [ "$1" = --one ]; then
	seconds=$2 build=$3 name=${4%%:*} runs=${4#*:}
	seeds=$build/seeds/$name
	rm -rf "$seeds"
	mkdir -p "$seeds" "$build/corpus/$name"
	/usr/bin/python3 tests/fuzz/seeds.py "$name" "$seeds" || exit 1
	[ -d "tests/fuzz/corpus/$name" ] && cp -r "tests/fuzz/corpus/$name/." "$seeds"
	common="-artifact_prefix=$build/ -timeout=20 -rss_limit_mb=2048 -max_len=1024 -print_final_stats=0"
	if [ -n "$seconds" ]; then
		"$build/fuzz_$name" $common -max_total_time="$seconds" \
			"$build/corpus/$name" "$seeds" >"$build/$name.log" 2>&1
		result "$name" $? "$build/$name.log"
		exit
	fi
	"$build/fuzz_$name" $common -runs=0 "$seeds" >"$build/$name-corpus.log" 2>&1
	result "$name corpus" $? "$build/$name-corpus.log"
	"$build/fuzz_$name" $common -seed=1 -runs="$runs" "$seeds" >"$build/$name.log" 2>&1
	result "$name" $? "$build/$name.log"
	exit
fi

seconds= tests_of_each=2
if [ "$1" = -t ]; then
	seconds=$2 tests_of_each=1
	shift 2
fi
build=$1
shift
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 "$0" --one "$seconds" "$build" | tee "$build/results"
# a test without a line is a failure: run.sh itself broke
awk -v tests=$(($# * tests_of_each)) '/^  [^ ].* passed  / { passed++ } END {
	printf "fuzz: %d passed, %d failed\n", passed, tests - passed
	exit passed != tests }' "$build/results"
