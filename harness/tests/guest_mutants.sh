#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# folab mutants: passes where a case catches the mutant, and says so where the
# case would fail anyway, and where the mutant is no patch.  --full: also where
# none catches it, for which folab runs all quick cases.
# harness/tests/full_mutants.sh runs the shipped mutants.
. "$(dirname "$0")/tap.sh"

# A tree whose mutants are ours.
home=$work/home
mkdir -p "$home/workloads" "$home/harness/base"
cp -R patches "$home/"
cp -R workloads/scenarios "$home/workloads/"
rm "$home"/patches/mutants/*
cp patches/mutants/batch-past-vma.patch "$home/patches/mutants/"

mutant() {	# NAME CAUGHT-BY: it adds a file that nobody compiles
	cat >"$home/patches/mutants/$1.patch" <<-END
	From: folab <folab@folab.invalid>
	Subject: [PATCH] mm: a mutant that changes nothing

	No case can see it.

	Mutant-of: young-batch
	Caught-by: $2
	Needs-debug: no
	Arch: arm64
	---
	diff --git a/mm/folab-nothing.txt b/mm/folab-nothing.txt
	new file mode 100644
	index 000000000..45b983be3
	--- /dev/null
	+++ b/mm/folab-nothing.txt
	@@ -0,0 +1 @@
	+nothing
	END
}
mutant harmless bounds.vma_ends_in_the_folio
mutant sick must_fail.assertion
mutant unknown bounds.of_no_such_case
sed '/^Caught-by/d' "$home/patches/mutants/harmless.patch" >"$home/patches/mutants/nameless.patch"
sed 's/^-	end = pmd_addr_end.*/-	end = something_else();/' patches/mutants/batch-past-vma.patch \
	>"$home/patches/mutants/stale.patch"

mutants() { FOLAB_HOME=$home run "$folab" mutants -q -a arm64 "$@"; }
last() { [ "$(tail -n 1 "$work/out")" = "$1" ]; }
says() { grep -q "$1" "$work/out" "$work/err"; }

tap "each shipped mutant is listed with its case" eval \
	'run "$folab" mutants --list; [ $rc = 0 ] && [ $(grep -c "" "$work/out") -ge $(ls patches/mutants/*.patch | wc -l) ]'
mv "$home"/patches/mutants/nameless.patch "$work/"
mutants batch-past-vma
tap "a mutant that its case catches: exit 0" [ $rc = 0 ]
tap "with the closing line" last "1 passed, 0 failed"
mutants sick unknown
tap "cases that prove nothing: exit 1, both told" eval \
	'[ $rc = 1 ] && says "fails on 6.12+young-batch itself" && says "bounds.of_no_such_case"'
tap "counted as failed" last "0 passed, 2 failed"
mutants stale
tap "one that does not apply: exit 1, named" eval '[ $rc = 1 ] && says stale && says apply'
if [ "${1-}" = --full ]; then
	mutants harmless
	tap "one that nothing catches: exit 1" [ $rc = 1 ]
	tap "counted as failed" last "0 passed, 1 failed"
fi
mv "$work/nameless.patch" "$home/patches/mutants/"
mutants
tap "one without Caught-by: exit 2, named before anything runs" eval \
	'[ $rc = 2 ] && says nameless && says Caught-by'
tap "no such mutant: exit 2" eval 'mutants nonsense; [ $rc = 2 ]'
tap_done
