#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# folab report in the forms that CI systems read, of the shipped results and of
# what folab check keeps; and folab ab --selftests with a stand-in for guests.
. "$(dirname "$0")/tap.sh"

reference=results/reference/reclaim-file-arm64

# ktap_valid FILE: a version line, a plan that is kept, numbers in order.
ktap_valid() {
	awk '
	NR == 1 && $0 != "KTAP version 1" { bad = "version" }
	NR == 2 && !/^1\.\.[0-9]+$/ { bad = "plan" }
	NR == 2 { plan = substr($0, 4) + 0 }
	/^ok / && $2 != ++n { bad = "number" }
	/^not ok / && $3 != ++n { bad = "number" }
	NR > 2 && !/^(ok |not ok |#|  )/ { bad = "line " $0 }
	END { if (n != plan) bad = "plan " plan " results " n
	      if (bad) print "# KTAP: " bad; exit bad != "" }' "$1"
}
says() { grep -q -- "$1" "$work/out"; }
report() { run "$folab" report "$@"; }

# ---- shipped results -----------------------------------------------------------

for dir in results/reference/*/; do
	report "$dir" -f ktap
	tap "$(basename "$dir") as KTAP" eval '[ $rc = 0 ] && ktap_valid "$work/out"'
	# With 10 GiB they decide otherwise, and the report says why.
	tap "nothing fails, unless the text says so too" eval \
		'says "^ok 1 valid$" && [ $(grep -c "^not ok" "$work/out") = $(grep -c "decided alike.*; else:" "$dir/report.txt") ] && ! grep "^not ok" "$work/out" | grep -qv "decisions alike$"'
done
report $reference --format=ktap
# Reference results are measured anew now and then: the record has the figures.
figures=$(jq -r '.comparison[] | select(.metric == "reclaim.instructions_per_page")
	| "\(.a) \(.b) \(.change_pct)"' $reference/result.json |
	LC_ALL=C awk '{ printf "# A %.1f, B %.1f instructions, %+.2f %%", $1, $2, $3 }')
tap "the first metric passes, with its figures" eval \
	'[ "$figures" ] && grep -B1 "^ok [0-9]* reclaim.instructions_per_page$" "$work/out" | grep -qF -- "$figures ("'
tap "what neither way is better is skipped" says '^ok [0-9]* reclaim.pgscan # SKIP not compared'
cp "$work/out" "$work/first"
report $reference --format=ktap
tap "the same result, the same bytes" cmp "$work/out" "$work/first"
report $reference -f junit
tap "as JUnit: as many tests" eval \
	'[ $rc = 0 ] && [ $(grep -c "<testcase " "$work/out") = $(grep -cE "^(not )?ok" "$work/first") ]'
tap "well-formed, as far as tags go" eval \
	'[ $(grep -o "<testsuites\?[ >]" "$work/out" | wc -l) = $(grep -c "</testsuites\?>" "$work/out") ]'

# A slower B, an invalid run.
cp -r $reference "$work/slower"
jq '(.comparison[] | select(.metric == "reclaim.sys_seconds")).verdict = "slower"' \
	$reference/result.json > "$work/slower/result.json"
report "$work/slower" -f ktap
tap "a metric that got worse fails" eval \
	'ktap_valid "$work/out" && says "^not ok [0-9]* reclaim.sys_seconds$" && [ $(grep -c "^not ok" "$work/out") = 1 ]'
jq '.validity.valid = false | .validity.reasons = ["a\nnot ok 2 forged"]' \
	$reference/result.json > "$work/slower/result.json"
report "$work/slower" -f ktap
tap "an invalid run fails, and its metrics are skipped" eval \
	'ktap_valid "$work/out" && says "^not ok 1 valid$" && says "^# a not ok 2 forged$" && says "^ok [0-9]* reclaim.sys_seconds # SKIP the run is not valid$"'

# ---- what folab check keeps ---------------------------------------------------------

mkdir "$work/check"
printf 'KTAP version 1\n1..1\nok 1 young\n' > "$work/check/check.ktap"
printf '<testsuites>\n</testsuites>\n' > "$work/check/check.xml"
report "$work/check"
tap "a directory of folab check: its KTAP" eval '[ $rc = 0 ] && cmp "$work/out" "$work/check/check.ktap"'
report "$work/check" -f junit
tap "its XML" eval '[ $rc = 0 ] && cmp "$work/out" "$work/check/check.xml"'
tap "it has no text" fails 2 'no format text' "$folab" report "$work/check" -f text
rm "$work/check/check.xml"
tap "a part that is missing is named" fails 3 'check.xml' "$folab" report "$work/check" -f junit
tap "no such format" fails 2 'ktap and junit' "$folab" report $reference -f tap
report_closed() { "$folab" report $reference >&- 2>"$work/err"; }
tap "nowhere to write the answer" eval \
	'report_closed; [ $? = 3 ] && grep -q "standard output" "$work/err"'
tap "a full disk for the answer" eval \
	'"$folab" report $reference -f ktap >/dev/full 2>"$work/err"; [ $? = 3 ] && grep -q "standard output" "$work/err"'

# ---- folab ab --selftests --------------------------------------------------------------

if [ ! -e "$build/cases-arm64/smoke" ] || [ ! -e "$build/agent-arm64" ]; then
	tap_skip "folab ab --selftests" "the cases are not built: make cases"
	tap_done
	exit
fi
export FOLAB_QEMU=$top/harness/tests/fake-qemu FOLAB_FAKE=cases
export XDG_CACHE_HOME=$work/cache
image=$work/Image
head -c 56 /dev/zero > "$image"
printf 'ARMd' >> "$image"
truncate -s 65536 "$image"
ab() { "$folab" ab -q --boots 1 --no-profile -A "image:$image" --aa "$@"; }

tap "a selftest that is not there" fails 2 'no case "nonsense"' ab --selftests=nonsense
tap "and one among others" fails 2 'no case "nonsense"' ab --selftests=smoke,nonsense
tap "no name at all" fails 2 'names no case' ab --selftests=,
tap "a list in a word of its own" fails 2 'takes options only' ab --selftests quick
tap "none of them left a directory" eval '[ -z "$(find "$work" -name "*.partial*")" ]'

# The stand-in says what cases say, also to the trials, which fail by it.
run ab --selftests=smoke -o "$work/ab"
tap "trials that fail: exit 6, and the selftests ran" eval \
	'[ $rc = 6 ] && says "^selftests run (smoke), on both: [1-9][0-9]* passed, 0 failed, [0-9]* skipped$"'
tap "report prints it again" eval '"$folab" report "$work/ab" | cmp - "$work/ab/report.txt"'
tap "the command that is printed has them" says '--selftests=smoke'
tap "the result counts them" eval \
	'jq -e ".selftests | .asked == \"smoke\" and .A.passed > 0 and .B.failed == 0" "$work/ab/result.json" >/dev/null'
tap "KTAP of each side lies beside it" eval \
	'ktap_valid "$work/ab/selftests-A.ktap" && ktap_valid "$work/ab/selftests-B.ktap"'
tap "consoles too" eval '[ -n "$(find "$work/ab" -path "*guest-B-*/console-*.log")" ]'
report "$work/ab" -f ktap
tap "report -f ktap has them below their programs" eval \
	'ktap_valid "$work/out" && says "^  # Subtest: A:smoke$" && says "^ok [0-9]* B:smoke$"'
run ab --selftests=smoke -o "$work/ab"
tap "an earlier result becomes DIR.old" eval '[ -f "$work/ab.old/selftests-A.ktap" ]'
FOLAB_FAKE=cases_short run ab --selftests=smoke -o "$work/short"
tap "a guest that dies under a selftest: exit 6, named" eval \
	'[ $rc = 6 ] && says "^failed on A ([0-9]*): smoke"'
tap "the cache holds no guest's files" eval '[ -z "$(find "$work/cache" -name "*.cpio" -o -name "console-*")" ]'
tap_done
