#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The quick correctness cases on both kernels, and what has to be alike on them;
# that what is printed is KTAP; and that whatever goes wrong in a guest is found
# and named.
. "$(dirname "$0")/tap.sh"

# Valid: a version line, plans that are kept, numbers in order, at both levels.
ktap_valid() {
	awk '
	function result(level, number) {
		if (number != ++seen[level]) bad = bad " number:" $0
	}
	NR == 1 && $0 != "KTAP version 1" { bad = bad " no-version" }
	/^  KTAP version 1$/ { seen[1] = plan[1] = 0; nested = 1; next }
	/^  1\.\.[0-9]+$/ { plan[1] = substr($1, 4) + 0; next }
	/^1\.\.[0-9]+$/ { plan[0] = substr($1, 4) + 0; plans++; next }
	/^  ok [0-9]+ / { result(1, $2); next }
	/^  not ok [0-9]+ / { result(1, $3); failed = 1; next }
	/^(not )?ok [0-9]+ / {
		result(0, $1 == "ok" ? $2 : $3)
		if (nested && seen[1] != plan[1]) bad = bad " plan:" $0
		if ($1 == "ok" && failed) bad = bad " hidden-failure:" $0
		nested = failed = 0
		next
	}
	/^KTAP version 1$/ { versions++; next }
	!/^(  )?#/ { bad = bad " line:" $0 }
	END {
		if (versions != 1 || plans != 1 || seen[0] != plan[0])
			bad = bad " whole-plan"
		if (bad) print "# KTAP:" bad
		exit bad != ""
	}' "$1"
}
check() {	# OPTION...: its output in $work/out, exit code in $rc
	run "$folab" check -q --boot folab.test=$$ "$@"
	grep -q '^ *not ok' "$work/out" && [ -z "${expected-}" ] &&
		grep -B3 '^ *not ok' "$work/out" | sed 's/^/# /'
	:
}
fails_alone() { grep -q "^  not ok [0-9]* must_fail\.$1\$" "$work/out"; }
says() { grep -q "$1" "$work/out"; }

check -k 6.12 -k 6.12+young-batch --quick -o "$work/both"
tap "the quick cases on 6.12 and 6.12+young-batch, arm64: none fails" [ $rc = 0 ]
for kernel in 6.12 6.12+young-batch; do
	tap "at least eight programs ran on $kernel" eval \
		'[ $(grep -c "^ok [0-9]* $kernel:" "$work/out") -ge 8 ]'
done
tap "at least a hundred tests" [ "$(grep -c '^  ok' "$work/out")" -ge 100 ]
tap "what had to be alike is" eval \
	'says "^ok [0-9]* alike$" && says "^  ok [0-9]* walk_quick "'
tap "what is printed is KTAP" ktap_valid "$work/out"
tap "DIR holds the same as KTAP and as JUnit" eval \
	'ktap_valid "$work/both/check.ktap" &&
	 diff <(grep -v "^ *#" "$work/out") <(grep -v "^ *#" "$work/both/check.ktap") &&
	 [ $(grep -c "<testcase" "$work/both/check.xml") = $(grep -cE "^  (not )?ok" "$work/out") ]'
tap "DIR holds the consoles of both" eval \
	'ls "$work"/both/guest-kernel-{1,2}-0/* >/dev/null'

tap "a second run into the same DIR is taken for one of ours" eval \
	'check -k 6.12 -k 6.12+young-batch -o "$work/both" smoke; [ $rc = 0 ] && [ -d "$work/both.old/guest-kernel-1-0" ]'

expected=1
check -k 6.12 must_fail.{assertion,memory_content,file_content,memory_left,kernel_log,slow,killed}
tap "programs that fail: exit 1" [ $rc = 1 ]
tap "and KTAP all the same" ktap_valid "$work/out"
for t in assertion memory_content file_content memory_left kernel_log slow killed; do
	tap "found: $t" fails_alone $t
done
tap "an assertion ends the case, and the case only" says 'assertion: Test terminated by assertion'
tap "a complaint in the kernel log is quoted" says '# kernel log: BUG: Bad page state'
check -k 6.12 must_fail.stuck
tap "a program that hangs is killed after its time" eval \
	'[ $rc = 1 ] && ktap_valid "$work/out" && says "^  not ok 1 must_fail.stuck # TIMEOUT"'
check -k 6.12 must_fail.lacks
tap "nothing but skips: exit 4, with the reason" eval \
	'[ $rc = 4 ] && ktap_valid "$work/out" && says "^ok 1 must_fail # SKIP this kernel has no"'
check -k 6.12 must_fail.panic smoke
tap "a kernel that dies: exit 6" [ $rc = 6 ]
tap "the case that ran is named, with the console's end" eval \
	'ktap_valid "$work/out" && says "^  not ok 1 must_fail.panic # ERROR the guest died: kernel panic" && says "^# \[.*Kernel panic"'
tap "the programs behind it run in another guest" says '^ok 2 smoke'
check -k 6.12 --boot rdinit=/none --boot init=/none smoke young
tap "a kernel that does not even boot: exit 6, all named" eval \
	'[ $rc = 6 ] && ktap_valid "$work/out" && says "^not ok 1 smoke" && says "^not ok 2 young"'
tap "kernels that differ in what has to be alike: exit 1, both values" eval \
	'check -k 6.12 -k 6.12+young-batch must_fail.differs; [ $rc = 1 ] && ktap_valid "$work/out" &&
	 says "^  not ok 1 must_fail differs" && says "^  # 6.12: [0-9a-f]" && says "^  # 6.12+young-batch: [0-9a-f]"'
tap "a kernel given twice: exit 2" eval 'run "$folab" check -q -k 6.12 -k 6.12 smoke; [ $rc = 2 ]'
tap "no such test: exit 1" eval 'run "$folab" check -q -k 6.12 smoke.nonsense; [ $rc = 1 ] && says "no such test"'
tap "no guest is left" eval '! pgrep -f "folab[.]test=$$ " >/dev/null'
tap_done
