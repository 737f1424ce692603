#!/bin/sh
# Runs unit test binaries: run.sh <log directory> <binary>...
# One line per binary, then `unit: N passed, N failed` over the cmocka test functions. A binary that
# dies or hangs for five minutes (exit 124) counts as one failure more. Skipped tests are named and not counted as passed.
logs=$1
shift
passed=0 failed=0 skipped=
for bin in "$@"; do
	name=$(basename "$(dirname "$bin")")/$(basename "$bin")
	log=$logs/$(echo "$name" | tr / -).log
	start=$(date +%s.%N)
	timeout --foreground 300 "$bin" >"$log" 2>&1
	rc=$?
	ok=$(grep -c '^\[       OK \]' "$log")
	bad=$(grep -c '^\[  FAILED  \] [a-z_0-9]*$' "$log")
	skip=$(sed -n 's/^\[  SKIPPED \] \([a-z_0-9]*\)$/\1/p' "$log" | sort -u | tr '\n' ' ')
	listed=$(grep -c '^ *[0-9]* FAILED TEST(S)' "$log")
	# cmocka names each failed test a second time in its summary
	[ "$listed" -gt 0 ] && bad=$((bad / 2))
	[ $rc -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
	passed=$((passed + ok))
	failed=$((failed + bad))
	[ -n "$skip" ] && skipped="$skipped$name: $skip
"
	printf '  %-22s %3d passed %3d failed  %5.1f s  %s\n' "$name" "$ok" "$bad" \
		"$(echo "$(date +%s.%N) - $start" | awk '{print $1 - $3}')" \
		"$([ $rc -ne 0 ] && echo "exit $rc, see $log")"
done
printf '%s' "$skipped" | sed 's/^/  skipped: /'
echo "unit: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
