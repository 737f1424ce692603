#!/bin/sh
# Runs unit test binaries, as many at a time as there are CPUs: run.sh <log directory> <binary>...
# Prints one line per binary, as they end, then `unit: N passed, N failed` over the cmocka test
# functions. A binary that dies, or takes longer than TEST_S seconds (default 300; exit 124), counts
# as one more failure. Skipped tests are named and not counted as passed.
log_of() { # log directory, binary
	echo "$1/$(basename "$(dirname "$2")")-$(basename "$2").log"
}

# run.sh --one <log directory> <binary>: prints its line
if [ "$1" = --one ]; then
	log=$(log_of "$2" "$3")
	start=$(date +%s.%N)
	timeout --foreground "${TEST_S:-300}" "$3" >"$log" 2>&1
	rc=$?
	ok=$(grep -c '^\[       OK \]' "$log")
	bad=$(grep -c '^\[  FAILED  \] [a-z_0-9]*$' "$log")
	listed=$(grep -c '^ *[0-9]* FAILED TEST(S)' "$log")
	# cmocka names each failed test a second time in its summary
	[ "$listed" -gt 0 ] && bad=$((bad / 2))
	[ $rc -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
	printf '  %-22s %3d passed %3d failed  %5.1f s  %s\n' \
		"$(basename "$(dirname "$3")")/$(basename "$3")" "$ok" "$bad" \
		"$(echo "$(date +%s.%N) - $start" | awk '{print $1 - $3}')" \
		"$([ $rc -ne 0 ] && echo "exit $rc, see $log")"
	exit
fi

logs=$1
shift
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 "$0" --one "$logs" | tee "$logs/results"
for bin in "$@"; do
	skip=$(sed -n 's/^\[  SKIPPED \] \([a-z_0-9]*\)$/\1/p' "$(log_of "$logs" "$bin")" |
		sort -u | tr '\n' ' ')
	[ "$skip" ] && echo "  skipped: $(basename "$(dirname "$bin")")/$(basename "$bin"): $skip"
done
# A binary without a line counts as failed: run.sh itself broke.
awk -v binaries=$# '{ passed += $2; failed += $4 } END {
	failed += binaries - NR
	printf "unit: %d passed, %d failed\n", passed, failed
	exit failed != 0 }' "$logs/results"
