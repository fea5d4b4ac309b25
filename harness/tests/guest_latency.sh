#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The delay that clearing costs, on real kernels: exact, of the size that the
# unit says, and refused where the pages or the model are not those asked for.
. "$(dirname "$0")/tap.sh"

ab() {	# DIR OPTION...
	local dir=$work/$1
	shift
	run "$folab" ab -q -o "$dir" --boots 1 "$@"
}
samples() { jq -cS '.trials | sort_by(.side) | .[].samples' "$work/$1/result.json"; }

latency() { local dir=$1; shift; ab "$dir" -s clear-latency -B 6.12+clear-pages --no-profile "$@"; }
latency thp -p page=2m-thp -p size=32M
tap "2M THP, preempt=none: valid" ask thp .validity.valid
tap "a kernel that clears 2M in one go can't be stopped for 1.5 to 2.5 of them" \
	ask thp "$(row latency.max_mib) | .a < 0.5 and .b > 1.5 and .b < 2.5"
latency again -p page=2m-thp -p size=32M
tap "again: the same samples, to the last digit" eval 'cmp <(samples thp) <(samples again)'
latency full -p page=2m-hugetlb -p size=32M -p preempt=full
tap "2M hugetlb, preempt=full: stopped at any time" \
	ask full ".validity.valid and ($(row latency.max_mib) | .a < 0.5 and .b < 0.5)"
latency model -B 6.12 -p how=model -p size=32M -p unit=8M
tap "a model of units of 8M is late by one of them" \
	ask model ".validity.valid and ($(row latency.max_mib) | .b > 7.5 and .b < 8.5)"
printf '[scenario]\nworkload = clear-latency\n[machine]\ncmdline = preempt=full\n[params]\npreempt = any\npage = 2m-thp\nsize = 32M\n' > "$work/s.ini"
ab any -s "$work/s.ini" --aa --no-profile
tap "preempt=any takes the model that is" ask any '.validity.valid and .trials[0].samples[0].counters."latency.preempt" == 2'

tap_done
