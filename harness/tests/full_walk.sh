#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Twenty random walks of ten thousand steps on each kernel: every byte as it must
# be, and both kernels end with the same pages in memory.
. "$(dirname "$0")/tap.sh"

run "$folab" check -q -k 6.12 -k 6.12+young-batch walk
tap "twenty walks survive on both kernels, and end alike" [ $rc = 0 ]
tap "forty reports were compared" eval \
	'[ $(grep -c "^ *# same: walk\." "$work/out") = 40 ]'
tap_done
