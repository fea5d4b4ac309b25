#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every correctness case, on both kernels and both architectures, on the kernels
# that are measured and on those that check themselves.
. "$(dirname "$0")/tap.sh"

for arch in arm64 x86_64; do
	for debug in '' --debug; do
		run "$folab" check -q -a $arch $debug -k 6.12 -k 6.12+young-batch -o "$work/$arch$debug"
		grep -B3 '^ *not ok' "$work/out" | sed 's/^/# /'
		tap "all cases on 6.12 and 6.12+young-batch, $arch $debug: none fails" [ $rc = 0 ]
		tap "the walks are alike, $arch $debug" grep -q '^  ok [0-9]* walk ' "$work/out"
	done
done
tap_done
