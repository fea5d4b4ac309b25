#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Two series, each alone and both, on real kernels: four of them.
. "$(dirname "$0")/tap.sh"

ab() {	# DIR OPTION...
	local dir=$work/$1
	shift
	run "$folab" ab -q -o "$dir" --boots 1 "$@"
}
same_report() { "$folab" report "$work/$1" | cmp -s - "$work/$1/report.txt"; }

ab two --two-by-two -B 6.12+young-batch+clear-pages -p size=48M -p reclaim=38M
tap "two by two: valid" ask two '.validity.valid and .two_by_two.valid'
tap "two by two: young-batch alone does what both do, clear-pages alone nothing" \
	ask two '.two_by_two.table[] | select(.metric == "reclaim.instructions_per_page") |
		 .c_change_pct < -50 and .b_change_pct < -50 and .d_change_pct > -1 and .d_change_pct < 1'
tap "two by two: four sides, by turns, all kept" ask two \
	'[(.trials + .two_by_two.trials | sort_by(.index))[].side] | join("") == "ACDB"'
for f in profile-C.json profile-D.json kernel-C.config kernel-D.config console-D-1.log; do
	tap "two by two: the result holds $f" [ -s "$work/two/$f" ]
done
tap "two by two: 40 lines of 75 columns at most" eval \
	'[ $(wc -l < "$work/two/report.txt") -le 40 ] && ! grep -qE "^.{76}" "$work/two/report.txt"'
tap "two by two: folab report re-creates it" same_report two
tap_done
