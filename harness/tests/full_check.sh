#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every correctness case, on both kernels and both architectures, on the kernels
# that are measured and on those that check themselves.  The walks are shorter
# on the latter, which take eight times as long.  The series that clears ranges
# runs what clears.
. "$(dirname "$0")/tap.sh"

all() {	# NAME OPTION...
	local name=$1
	shift
	run "$folab" check -q -k 6.12 -k 6.12+young-batch "$@"
	grep -B3 '^ *not ok' "$work/out" | sed 's/^/# /'
	tap "all cases on 6.12 and 6.12+young-batch, $name: none fails" [ $rc = 0 ]
	tap "twenty walks on each kernel were compared, $name" eval \
		'[ $(grep -c "^ *# same: walk\." "$work/out") -ge 40 ] && grep -q "^ok [0-9]* alike$" "$work/out"'
}

clearing() {	# NAME OPTION...
	local name=$1
	shift
	run "$folab" check -q -k 6.12+clear-pages "$@" \
		$(basename -s .c -a workloads/cases/clear*.c)
	grep -B3 '^ *not ok' "$work/out" | sed 's/^/# /'
	tap "what clears on 6.12+clear-pages, $name: none fails" [ $rc = 0 ]
}

for arch in arm64 x86_64; do
	all $arch -a $arch
	all "$arch --debug" -a $arch --debug --boot folab.walk_steps=500
	clearing $arch -a $arch
	clearing "$arch --debug" -a $arch --debug
done
run "$folab" check -q -k 6.12 found
tap "what the walk found in 6.12 is still there" eval \
	'[ $rc = 1 ] && [ $(grep -c "^  not ok" "$work/out") = 2 ]'
tap_done
