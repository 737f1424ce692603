#!/bin/sh
# The configuration of a machine with curl (docs/http.md).
#
#   config.sh get [json]        prints the running configuration
#   config.sh diff FILE         prints what FILE would change
#   config.sh put FILE          replaces the configuration by FILE, whatever runs
#   config.sh patch [SECONDS]   applies the statements on standard input; with SECONDS, until they are confirmed
#   config.sh confirm           confirms them
#   config.sh rollback [N]      goes back by N commits
#   config.sh save              writes the startup configuration
#   config.sh history           prints the earlier configurations
#
# HAYATE is the machine's URL (http://192.0.2.1), TOKEN the token of a user. Exit code: curl's; 22 for an answer of
# 400 or above, whose reason is printed on standard error.
set -eu
: "${HAYATE:?the URL of the machine}" "${TOKEN:?the token of a user}"
config=$HAYATE/api/v1/config

# The token stands on curl's standard input, not on its command line, where every process could read it.
ask() {
	printf 'header = "Authorization: Bearer %s"\n' "$TOKEN" |
		curl --config - --silent --show-error --fail-with-body --max-time 60 "$@" >"$answer" || {
		status=$?
		cat "$answer" >&2
		exit $status
	}
	cat "$answer"
}

answer=$(mktemp)
trap 'rm -f "$answer"' EXIT
case ${1:-} in
get) ask "$config?format=${2:-text}" ;;
diff) ask --upload-file "$2" --header 'If-Match: *' "$config?dry-run=1" ;;
put) ask --upload-file "$2" --header 'If-Match: *' "$config" ;;
patch)
	body=$(mktemp)
	trap 'rm -f "$answer" "$body"' EXIT
	cat >"$body"
	ask --request PATCH --header 'Content-Type: text/plain' --data-binary "@$body" "$config${2:+?confirm=$2}"
	;;
confirm) ask --request POST "$config/confirm" ;;
rollback) ask --request POST "$config/rollback?n=${2:-1}" ;;
save) ask --request POST "$config/save" ;;
history) ask "$config/history" ;;
*)
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
	exit 2
	;;
esac
