# SPDX-License-Identifier: GPL-2.0
# Sourced by the shell tests: TAP, a scratch directory, the program under test.

set -u
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
top=$PWD
export FOLAB_HOME=${FOLAB_HOME:-$top}
build=$(cd "${FOLAB_BUILD:-build}" && pwd) || exit 1
folab=$build/folab
work=$(mktemp -d) || exit 1
tap_n=0
tap_cleanup() { :; }
trap 'tap_cleanup; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# tap DESCRIPTION COMMAND...: passes if the command succeeds.
tap() {
	local what=$1
	shift
	tap_n=$((tap_n + 1))
	if "$@"; then
		echo "ok $tap_n - $what"
	else
		echo "not ok $tap_n - $what"
		[ ! -s "$work/err" ] || tail -n 3 "$work/err" | sed "s/^/# /"
	fi
}
tap_skip() {	# DESCRIPTION REASON
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $1 # SKIP $2"
}
tap_done() { echo "1..$tap_n"; }

# run COMMAND...: exit code in $rc, output in $work/out and $work/err.
run() {
	"$@" >"$work/out" 2>"$work/err" </dev/null
	rc=$?
}

# fails CODE TEXT COMMAND...: exits with CODE, and the last line of standard
# error is one of ours and holds TEXT.
fails() {
	local code=$1 text=$2 last
	shift 2
	run "$@"
	last=$(tail -n 1 "$work/err")
	if [ "$rc" != "$code" ] || [[ $last != "folab: "*"$text"* ]]; then
		echo "# $*: exit $rc, not $code; last line: $last"
		return 1
	fi
}

# until_true SECONDS COMMAND...: wait for something that another process does.
until_true() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

# Of the result in $work/DIR: does a jq expression hold; and one that picks the
# row of a metric.
ask() {	# DIR JQ-EXPRESSION
	jq -e "$2" "$work/$1/result.json" >/dev/null || {
		jq -c '.comparison[] | [.metric, .a, .b, .change_pct, .verdict]' "$work/$1/result.json" | sed 's/^/# /'
		jq -c .validity "$work/$1/result.json" | sed 's/^/# /'
		false
	}
}
row() { echo "(.comparison[] | select(.metric == \"$1\"))"; }
