#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# folab compare as its user meets it, on results of folab run that were made
# here, then changed where a test needs another kernel or host.
. "$(dirname "$0")/tap.sh"

cd "$work" || exit 1
fast="-p size=2M -p from=4K -p to=4K --reps 3"

# run_as DIR LABEL RELEASE [FACTOR]: a run, as of another kernel, so many times as
# fast, and as quiet as no host is.
run_as() {
	"$folab" run -q clear-chunk $fast --boot-label "$2" -o "$1" >/dev/null 2>&1
	jq --arg release "$3" --argjson ns "$(( (1000000 + RANDOM) / ${4:-1} ))" '
		.sides.A.release = $release |
		.trials[].samples[].counters |= with_entries(
			if .key | endswith(".ns") then .value = $ns else . end)' \
		"$1/result.json" > "$1/new" && mv "$1/new" "$1/result.json"
}

RANDOM=7
for i in 1 2 3 4 5; do
	run_as a$i boot-a$i 6.12-a
	run_as b$i boot-b$i 6.12-b 3
	run_as c$i boot-c$i 6.12-c
done
tap "runs record their boot" eval 'jq -e ".trials[0].boot == \"boot-a1\" and .trials[0].started > 1700000000" a1/result.json >/dev/null'
"$folab" run -q clear-chunk $fast -o own >/dev/null 2>&1
tap "by default the kernel's id of it" eval '[ "$(jq -r ".trials[0].boot" own/result.json)" = "$(cat /proc/sys/kernel/random/boot_id)" ]'
tap "a label of two words: exit 2" fails 2 'must be a word' "$folab" run clear-chunk $fast --boot-label 'a b' -o x
tap "an empty one, too" fails 2 'must be a word' "$folab" run clear-chunk $fast --boot-label '' -o x

# ---- two sides, three sides ------------------------------------------------------------

run "$folab" compare -q -o ab a1 a2 a3 a4 a5 -- b1 b2 b3 b4 b5
tap "five boots a side: exit 0" [ $rc = 0 ]
tap "B is three times as fast, and proven" eval \
	'grep -q "^B is faster: best GB/s (p .0079)" ab/report.txt && jq -e ".comparison[0] | .verdict == \"faster\" and .change_pct > 100 and .ci_low > 0 and .n == 5" ab/result.json >/dev/null'
tap "the report on standard output is that of the directory" cmp -s "$work/out" ab/report.txt
tap "and folab report prints it again" eval '"$folab" report ab | cmp -s - ab/report.txt'
tap "at most 40 lines of 75 columns" eval '[ "$(wc -l < ab/report.txt)" -le 40 ] && [ "$(wc -L < ab/report.txt)" -le 75 ]'
tap "every sample is in it" eval '[ "$(jq "[.trials[].samples | length] | add" ab/result.json)" = 30 ]'
tap "KTAP of it" eval '"$folab" report -f ktap ab | grep -q "95 % interval"'
run "$folab" compare -q -o ba b1 b2 b3 b4 b5 -- a1 a2 a3 a4 a5
tap "the other way round: exit 1, and slower" eval '[ $rc = 1 ] && grep -q "^B is slower: best GB/s" ba/report.txt'
run "$folab" compare -q -o abc a1 a2 a3 a4 a5 -- c1 c2 c3 c4 c5 -- b1 b2 b3 b4 b5
tap "three sides: C against A, adjusted for two comparisons" eval \
	'[ $rc = 0 ] && grep -q "^C is faster: best GB/s (p .016)" abc/report.txt && jq -e ".further[0].side == \"C\" and (.further[0].trials | length) == 5" abc/result.json >/dev/null'
tap "KTAP has C, too" eval '"$folab" report -f ktap abc | grep -q "^ok .*C: chunk.gigabytes_per_second"'
tap "pages of them are well-formed" xmllint --noout ab/report.html abc/report.html a1/report.html
tap "C stands on the page" grep -q 'C against A' abc/report.html
tap "folab report prints that again" eval '"$folab" report abc | cmp -s - abc/report.txt'
run "$folab" compare -q -o three a1 a2 a3 -- b1 b2 b3
tap "three boots a side claim nothing, and say so" eval \
	'[ $rc = 0 ] && ! grep -q "^B is" three/report.txt && grep -q "can prove nothing" three/report.txt'
run "$folab" compare -q -o two a1 b1
tap "one run a side: without --" eval '[ $rc = 0 ] && tr -s " \n" " " < two/report.txt | grep -q "a side has one boot"'
tap "a result has two sides: which?" fails 2 'say ab:A or ab:B' "$folab" compare -o x ab a1
run "$folab" compare -q -o again ab:A -- ab:B
tap "sides of a comparison" eval '[ $rc = 0 ] && diff <(jq .comparison ab/result.json) <(jq .comparison again/result.json)'

# ---- what can't be compared ---------------------------------------------------------------

tap "no DIR" fails 2 'takes two DIRs' "$folab" compare
tap "one DIR" fails 2 'takes two DIRs' "$folab" compare a1
tap "three without --" fails 2 'takes two DIRs' "$folab" compare a1 a2 a3
tap "a side without DIR" fails 2 'has no DIR' "$folab" compare a1 a2 --
tap "nor in the middle" fails 2 'has no DIR' "$folab" compare a1 -- -- b1
tap "an option behind" fails 2 'options come before' "$folab" compare a1 b1 -o x
tap "a DIR that is none" fails 2 'result.json' "$folab" compare a1 nowhere
tap "nine sides" fails 2 'more than 8 sides' "$folab" compare a1 -- a1 -- a1 -- a1 -- a1 -- a1 -- a1 -- a1 -- a1
tap "two kernels on a side" fails 2 'the kernel of side A is' "$folab" compare a1 b1 -- c1
"$folab" run -q clear-chunk -p size=4M -p from=4K -p to=4K --reps 2 -o larger >/dev/null 2>&1
tap "other parameters" fails 2 'not to be compared: parameter size' "$folab" compare a1 larger
cp -r a1 other && jq '.host.cpu = "another"' a1/result.json > other/result.json
tap "another processor" fails 2 'the processor is' "$folab" compare a1 other
tap "another workload" fails 2 'not to be compared: workload is' "$folab" compare a1 "$top/results/reference/reclaim-file-arm64:A"
"$folab" tune -q --reps 2 -p size=4M -p to=4M -o tuned >/dev/null 2>&1
tap "folab tune's result" fails 2 'is of folab tune' "$folab" compare a1 tuned
tap "nothing was left behind" eval '[ ! -e x ] && [ -z "$(find . -name "*.partial*" -o -name "x*")" ]'

# ---- what makes a comparison doubtful -------------------------------------------------------

mkdir doubt && jq '.host.governor = "powersave" | .sides.A.release = "6.12-b"' a1/result.json > doubt/result.json
run "$folab" compare -q -o doubtful a1 doubt
tap "another governor: a note" eval 'tr -s " \n" " " < doubtful/report.txt | grep -q "governor differs: .* \"powersave\" in doubt"'
mkdir bad && jq '.validity.valid = false | .validity.reasons = ["kswapd scanned"]' b1/result.json > bad/result.json
run "$folab" compare -q -o invalid a1 a2 a3 a4 a5 -- b2 b3 b4 b5 bad
tap "an invalid run: exit 1, nothing is claimed" eval \
	'[ $rc = 1 ] && grep -q "bad is invalid: kswapd scanned" invalid/report.txt && ! grep -q "^B is" invalid/report.txt'

# ---- folab ab's results: exact, seed by seed ---------------------------------------------------

ref=$top/results/reference/reclaim-file-arm64
run "$folab" compare -q -o exact "$ref:A" "$ref:B"
tap "two sides of folab ab: the same figures" eval \
	'[ $rc = 0 ] && jq -e --slurpfile ref "$ref/result.json" "[.comparison[] | select(.metric | test(\"share\") | not)] as \$mine | [\$ref[0].comparison[] | select(.metric | test(\"share\") | not)] == \$mine" exact/result.json >/dev/null'
run "$folab" compare -q -o exact3 "$ref:A" -- "$ref:A" -- "$ref:B"
tap "A against itself, and C" eval '[ $rc = 0 ] && grep -q "^C is faster: instructions/page" exact3/report.txt'
tap "two emulators" fails 2 'the machine is' "$folab" compare "$ref:A" "$top/results/reference/reclaim-file-x86_64:A"
tap "a run twice on a side" fails 2 'is on side A twice' "$folab" compare "$ref:A" "$ref/../${ref##*/}:A" -- "$ref:B"
cp -r "$ref" copy
tap "a seed twice on a side: exit 1" eval 'run "$folab" compare -q -o twice "$ref:A" "copy:A" -- "$ref:B"; [ $rc = 1 ] && grep -q "more than one trial" twice/report.txt'

tap_done
