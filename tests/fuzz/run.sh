#!/bin/bash
# Runs fuzz entries, as many at a time as there are CPUs:
#   run.sh [-t SECONDS | -h HOURS] <build directory> <entry[:executions[:longest input]]>...
# -t: each for that long, from a random seed, keeping what it learns in <build directory>/corpus/.
# -h: in turns of at most TURN_S, until they have run that many hours in total, on all CPUs.
# Without either, the same inputs each time. libFuzzer makes them from its seeds in their order and
# from what the program compares, including pointers, so all addresses have to be the same. The
# output ends in `fuzz: N passed, N failed`: for each entry its corpus is one test, the inputs made
# from it another.
TURN_S=600

# the last figures of libFuzzer: inputs, a second, edges reached, features (edges and how often)
figures() { # log, nanoseconds
	awk -v ns="$2" '/^#[0-9]+.*(DONE|INITED|pulse|NEW|REDUCE)/ {
			for (i = 2; i < NF; i++) { if ($i == "cov:") cov = $(i + 1); if ($i == "ft:") ft = $(i + 1) }
		}
		/^Done [0-9]+ runs/ { runs = $2 }
		END { printf "%d inputs, %d/s, %d edges, %d features", runs, runs * 1e9 / ns, cov, ft }' "$1"
}

result() { # name, exit code, log, nanoseconds, program
	if [ "$2" -eq 0 ]; then
		printf '  %-16s passed  %s\n' "$1" "$(figures "$3" "$4")"
		return
	fi
	printf '  %-16s FAILED  exit %s, see %s\n' "$1" "$2" "$3"
	grep -E 'assertion failed|ERROR|runtime error|SUMMARY' "$3" | head -n 8 | sed 's/^/    /'
	sed -n "s|.*Test unit written to \(.*\)|    again: $5 \1|p" "$3"
}

# prints its lines; sets nothing
fuzz() { # name, log, options and corpora
	local name=$1 log=$2 start=$(date +%s%N)
	shift 2
	$fixed "$program" -artifact_prefix="$build/$entry-" -timeout=20 -rss_limit_mb=2048 \
		-max_len="$longest" -print_final_stats=0 $dictionary "$@" >"$log" 2>&1
	result "$name" $? "$log" $(($(date +%s%N) - start)) "$program"
}

# run.sh --one <seconds or empty> <build directory> <entry...>: prints its lines
if [ "$1" = --one ]; then
	seconds=$2 build=$3
	IFS=: read -r entry runs longest <<<"$4"
	longest=${longest:-1024}
	program=$build/fuzz_$entry seeds=$build/seeds/$entry dictionary= fixed=
	rm -rf "$seeds"
	mkdir -p "$seeds" "$build/corpus/$entry"
	/usr/bin/python3 tests/fuzz/seeds.py "$entry" "$seeds" || exit 1
	[ -e "$seeds/../$entry.dict" ] && dictionary="-dict=$seeds/../$entry.dict"
	[ -d "tests/fuzz/corpus/$entry" ] && cp -r "tests/fuzz/corpus/$entry/." "$seeds"
	if [ -n "$seconds" ]; then
		fuzz "$entry" "$build/$entry.log" -max_total_time="$seconds" "$build/corpus/$entry" "$seeds"
		exit
	fi
	fixed=$(setarch -R echo setarch -R 2>/dev/null) # refused in some containers
	find "$seeds" -type f | LC_ALL=C sort | paste -sd, >"$build/$entry.seeds"
	fuzz "$entry corpus" "$build/$entry-corpus.log" -runs=0 -seed_inputs="@$build/$entry.seeds"
	fuzz "$entry" "$build/$entry.log" -seed=1 -runs="$runs" -seed_inputs="@$build/$entry.seeds"
	exit
fi

seconds= tests_of_each=2 turns=1
case $1 in
-t)
	seconds=$2 tests_of_each=1
	shift 2 ;;
-h) # an entry's time is divided into turns, so that all have run if somebody stops it early
	read -r turns seconds <<<"$(awk -v hours="$2" -v cpus="$(nproc)" -v entries=$(($# - 3)) \
		-v turn="$TURN_S" 'BEGIN {
			s = hours * 3600 * (cpus < entries ? cpus / entries : 1)
			n = int((s + turn - 1) / turn); n = n ? n : 1
			s = int(s / n); s = s ? s : 1
			print n, s }')"
	tests_of_each=$turns
	shift 2 ;;
esac
build=$1
shift
for ((turn = 0; turn < turns; turn++)); do
	printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 "$0" --one "$seconds" "$build"
done | tee "$build/results"
# A test without a line counts as failed: run.sh itself broke.
# The failed ones are named again, for whoever sees the end of the output only.
awk -v tests=$(($# * tests_of_each)) '/^  [^ ].* passed  / { passed++ } / FAILED  / { print } END {
	printf "fuzz: %d passed, %d failed\n", passed, tests - passed
	exit passed != tests }' "$build/results"
