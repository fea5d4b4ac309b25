#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each shipped mutant is caught by its case, and one that nothing catches is told.
. "$(dirname "$0")/tap.sh"

run "$folab" mutants -q
grep -E '^(not|FAIL)|not caught|failed' "$work/out" | sed 's/^/# /'
tap "every shipped mutant is caught by its case" [ $rc = 0 ]
tap "folab mutants itself, whole" eval \
	'run bash "$top/harness/tests/guest_mutants.sh" --full; ! grep -q "^not ok" "$work/out" && grep -q "^ok .*nothing catches" "$work/out"'
tap_done
