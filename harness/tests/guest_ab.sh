#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The main job on real kernels: what folab claims of young-batch, that it
# claims nothing where there is nothing, and that it says the same twice.
. "$(dirname "$0")/tap.sh"
export FOLAB_TEST_MARK=$work

ab() {	# DIR OPTION...
	local dir=$work/$1
	shift
	run "$folab" ab -q -o "$dir" "$@"
	[ "$rc" = 0 ] || tail -n 3 "$work/err" | sed 's/^/# /'
}
cost=$(row reclaim.instructions_per_page)
share=$(row reclaim.share.folio_check_references)
samples() {	# DIR: the raw samples of seeds 1 and 2, in order
	jq -cS '[.trials[] | select(.seed <= 2)] | sort_by(.side, .seed) | .[] | [.side, .seed, .samples]' "$work/$1/result.json"
}
same_samples() { cmp <(samples "$1") <(samples "$2"); }

ab arm64
tap "6.12 against 6.12+young-batch on arm64: done" [ $rc = 0 ]
tap "the run is valid" ask arm64 .validity.valid
tap "at least 57 % fewer instructions a page, called faster" \
	ask arm64 "$cost | .change_pct <= -57 and .verdict == \"faster\""
tap "6.12's own seeds lie within 1.3 %" ask arm64 "$cost | .a_stdev_pct < 1.3"
tap "at least 4 of 5 seeds decide alike" \
	ask arm64 '.validity.decisions | .of == 5 and .alike >= 4'
tap "folio_check_references' share falls by more than half" \
	ask arm64 "$share | .b < .a / 2"
tap "no more TLB invalidations" ask arm64 "$(row reclaim.tlbi_per_folio) | .b <= .a"
tap "the report has at most 40 lines of 75 columns" eval \
	'[ $(wc -l < "$work/arm64/report.txt") -le 40 ] && ! grep -qE "^.{76}" "$work/arm64/report.txt"'
tap "folab report re-creates report.txt" eval \
	'"$folab" report "$work/arm64" | cmp - "$work/arm64/report.txt"'
tap "the profile of A finds contpte_ptep_get on top" eval \
	'jq -e ".functions[0].name == \"contpte_ptep_get\"" "$work/arm64/profile-A.json" >/dev/null'
tap "own instructions by function add up to the window, to the last one" eval \
	'jq -e "([.functions[].self] | add) == .kernel_instructions" "$work/arm64/profile-A.json" >/dev/null'
for f in kernel-A.config kernel-B.config series-young-batch.mbox console-A-5.log; do
	tap "the result holds $f" [ -s "$work/arm64/$f" ]
done

# Another load on the host, another number of guests at a time.
yes >/dev/null & y1=$!
yes >/dev/null & y2=$!
tap_cleanup() { kill $y1 $y2 2>/dev/null; }
ab again --boots 2 -j 1
kill $y1 $y2
tap_cleanup() { :; }
tap "the same command, a loaded host: the same samples to the last digit" same_samples arm64 again
ab unprofiled --boots 1 --no-profile
tap "the plugin changes nothing that the guest counts" eval 'cmp \
	<(jq -c ".trials[0].samples[0].counters | with_entries(select(.key | startswith(\"plugin.\") | not))" "$work/unprofiled/result.json") \
	<(jq -c ".trials[] | select(.side == \"A\" and .seed == 1) | .samples[0].counters | with_entries(select(.key | startswith(\"plugin.\") | not))" "$work/arm64/result.json")'

ab aa --aa --boots 4
tap "a kernel against itself: exit 0" [ $rc = 0 ]
tap "every row 0.00 %, no difference" \
	ask aa '[.comparison[] | .change_pct == 0 and (.verdict == "no difference" or .verdict == "not compared")] | all and length > 8'
ab order0 -p order=0 --boots 2
tap "order 0: at most 0.3 % more" ask order0 ".validity.valid and ($cost | .change_pct <= 0.3)"
ab rows --boots 1 --rows='order 0'
tap "a row's samples are those of a run of its own, to the last digit" eval 'cmp \
	<(jq -cS "[.variants[].result.trials[] | [.side, .samples]] | sort" "$work/rows/result.json") \
	<(jq -cS "[.trials[] | select(.seed == 1) | [.side, .samples]] | sort" "$work/order0/result.json")'
tap "beside it the run itself has its own" eval 'cmp \
	<(jq -cS "[.trials[] | [.side, .samples]] | sort" "$work/rows/result.json") \
	<(jq -cS "[.trials[] | select(.seed == 1) | [.side, .samples]] | sort" "$work/arm64/result.json")'
tap "folab report re-creates report.txt with its table" eval \
	'"$folab" report "$work/rows" | cmp - "$work/rows/report.txt" && grep -q "^order 0 .* 1 of 1$" "$work/rows/report.txt"'
ab mappers -p mappers=16 --boots 1
tap "16 mappers: at least 50 % fewer" ask mappers ".validity.valid and ($cost | .change_pct <= -50)"
for p in lru=mglru young=50 order=8 order=2 map=partial; do
	ab p -p $p --boots 1
	tap "-p $p: valid, and nothing got slower" ask p ".validity.valid and ($cost | .change_pct <= 0.3)"
done

tap "map=partial: half of the file's pages are mapped, its folios have their order" \
	ask p '[.trials[].samples[0] | .counters["pages.mapped"] == 24576 and .order_pages["4"] > 48000] | all and length == 2'

ab x86 -a x86_64 --boots 2
tap "x86_64: at least 10 % fewer, counted by the plugin" \
	ask x86 ".validity.valid and ($cost | .change_pct <= -10) and ([.trials[].samples[0].counters | has(\"pmu.kernel_instructions\")] | any | not)"

# What a real guest does when it is given too little.
printf '[scenario]\nworkload = reclaim-file\n[machine]\nmemory = 160M\n[params]\nsize = 192M\n' > "$work/little.ini"
ab little -s "$work/little.ini" --boots 1
tap "a guest with too little memory: no claim" eval \
	'{ [ $rc = 1 ] || [ $rc = 6 ]; } && jq -e ".validity.valid == false" "$work/little/result.json" >/dev/null'
printf '[scenario]\nworkload = reclaim-file\n[machine]\ncmdline = init=/none rdinit=/none\n' > "$work/panic.ini"
ab panic -s "$work/panic.ini" --boots 1
tap "a kernel that panics: exit 6, the report quotes it" eval \
	'[ $rc = 6 ] && grep -qi "panic" "$work/panic/report.txt"'
# Of ours: somebody else may be measuring on this host.
left() {
	local e
	for e in $(grep -lzs "^FOLAB_TEST_MARK=$work\$" /proc/[0-9]*/environ); do
		[[ $(cat "${e%environ}comm" 2>/dev/null) == qemu-* ]] && return 0
	done
	return 1
}
tap "no guest is left" eval '! left'
tap_done
