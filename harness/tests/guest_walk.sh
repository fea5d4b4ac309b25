#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The random walk: the same seed is the same walk, on one kernel and on two; and
# a mistake is found, shrunk, and printed as a C program that makes it again.
. "$(dirname "$0")/tap.sh"

check() { run "$folab" check -q "$@"; }
same() { sed -n 's/^ *# same: //p; s/^ *# on the way: //p' "$work/out" | sort -u; }
says() { grep -q -- "$1" "$work/out"; }
cc=$(command -v aarch64-linux-gnu-gcc || command -v gcc)

check -k 6.12 -k 6.12+young-batch walk_quick
tap "two short walks survive, and end alike on both kernels" [ $rc = 0 ]
same > "$work/first"
tap "each of them tells bytes and resident pages" eval \
	'[ $(grep -cE "^walk\.100[12] bytes=[0-9a-f]{16} resident=[0-9a-f]{16} " "$work/first") = 2 ]'
check -k 6.12 -o "$work/again" walk_quick
same > "$work/second"
tap "the same seed, the same walk" cmp -s "$work/first" "$work/second"
tap "the console tells how far it was" eval \
	'grep -rqs "folab: walk 1001 step 500" "$work/again" && grep -rqs "folab: walk 1002 step 1000" "$work/again"'
check -k 6.12 --boot folab.walk_jitter=500 walk_quick
same > "$work/second"
tap "time decides nothing: the same with pauses in between" \
	cmp -s "$work/first" "$work/second"
check -k 6.12 --seed=2 --boot folab.walk_steps=200 walk_quick
tap "another seed and length" eval \
	'[ $rc = 0 ] && same | grep -q "^walk.2001 " && same | grep -q "^walk.2002 "'

# ---- does it find anything? ------------------------------------------------
# program NAME: what was printed, as NAME.c
program() {
	sed -n '/a C program that fails alike begins/,/and ends here/p' \
		"$work/out" | sed 's/^ *# //' > "$work/$1.c"
	[ -s "$work/$1.c" ]
}
compiled() { "$cc" -O2 -Wall -Werror -static -o "$work/b/cases-arm64/$1" "$work/$1.c" 2>"$work/err"; }
# The same folab, with no cases but the printed ones.
mkdir -p "$work/b/cases-arm64"
cp "$build/folab" "$build/agent-arm64" "$build/plugin.so" "$work/b"

check -k 6.12 walk_planted
tap "a mistake is found: exit 1" eval '[ $rc = 1 ] && says "walk 1001, step [0-9]*: walker"'
steps=$(sed -n 's/^ *# \([0-9]*\) steps were left of [0-9]*, .*/\1/p' "$work/out")
tap "it is shrunk to a handful of steps (${steps:-none})" eval '[ "${steps:-99}" -le 5 ]'
tap "and printed" program again
tap "what is printed compiles without a warning" compiled again
sed 's/\(return walk_replay(.*\), 1);/\1, 0);/' "$work/again.c" > "$work/clean.c"
tap "so it does without the mistake" compiled clean
run "$work/b/folab" check -q -k 6.12 again
tap "the program fails alike" eval \
	'[ $rc = 1 ] && says "^  not ok 1 walk" && says "# byte 5 of page "'
run "$work/b/folab" check -q -k 6.12 clean
tap "and passes without the mistake" eval '[ $rc = 0 ] && says "^  ok 1 walk"'
tap_done
