#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What clearing costs, on real kernels: what folab claims of clear-pages, that
# small pages pay nothing for it, and that it says the same twice.
. "$(dirname "$0")/tap.sh"

ab() {	# DIR OPTION...
	local dir=$work/$1
	shift
	run "$folab" ab -q -s clear-fault -B 6.12+clear-pages --boots 1 -p size=16M -o "$dir" "$@"
	[ "$rc" = 0 ] || tail -n 3 "$work/err" | sed 's/^/# /'
}
cost=$(row clear.instructions_per_page)

ab arm64
tap "2 MiB THP on arm64: valid, at least 4 % fewer instructions a page" \
	ask arm64 ".validity.valid and ($cost | .change_pct <= -4)"
tap "there is nothing to decide" ask arm64 '.validity.decisions == null'
tap "the program's own instructions are the same" \
	ask arm64 "$(row clear.user_instructions_per_page) | .a == .b"
tap "no figure of time on hardware" eval \
	'ask arm64 "[.comparison[].metric] | index(\"clear.gigabytes_per_second\") == null" && ! grep -q "GB/s" "$work/arm64/report.txt"'
tap "the report has at most 40 lines of 75 columns" eval \
	'[ $(wc -l < "$work/arm64/report.txt") -le 40 ] && ! grep -qE "^.{76}" "$work/arm64/report.txt"'
ab again -j 1 --no-profile
tap "the plugin changes nothing that the guest counts" eval 'cmp \
	<(jq -cS "[.trials[].samples[0].counters | with_entries(select(.key | startswith(\"plugin.\") | not))]" "$work/arm64/result.json") \
	<(jq -cS "[.trials[].samples[0].counters]" "$work/again/result.json")'
ab small -p page=4k
tap "4k: valid, at most 0.3 % more" ask small ".validity.valid and ($cost | .change_pct <= 0.3)"
ab bound --no-profile -p page=2m-hugetlb -p node=1 -p threads=2 -p how=populate
tap "two threads and hugetlb on a node: all of it is there" ask bound \
	'.validity.valid and ([.trials[].samples[].counters | .["pages.node1"] == 4096 and .["clear.threads"] == 2] | all and length == 2)'
ab x86 -a x86_64 -p size=8M -p node=1
tap "2 MiB THP on a node of x86_64: valid, fewer instructions a page" \
	ask x86 ".validity.valid and ($cost | .change_pct < 0) and .trials[0].samples[0].counters[\"pages.node1\"] == 2048"
tap_done
