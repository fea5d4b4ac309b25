#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# clear-chunk in guests: the methods of both architectures clear every byte and
# none beside, and nothing is claimed of a machine that is not there.
. "$(dirname "$0")/tap.sh"
export FOLAB_TEST_MARK=$work

methods() {	# ARCH: names, of both sides' samples
	jq -r '[.trials[].samples[].counters | keys[] | select(startswith("chunk.")) | split(".")[1]] | unique | join(" ")' \
		"$work/$1/result.json"
}
for arch in arm64 x86_64; do
	run "$folab" ab -q -s clear-chunk -a $arch -A 6.12 --aa --boots 1 --reps 2 \
		-p size=8M -p to=4M -o "$work/$arch"
	tap "clear-chunk on $arch: done" [ $rc = 0 ]
	tap "valid: what was cleared is zero, and nothing else" eval \
		'jq -e ".validity.valid and ([.trials[].samples[].invalid[]] == []) and ([.trials[].samples[]] | length == 4)" "$work/$arch/result.json" >/dev/null'
	tap "GB/s of an emulator are not told" eval \
		'jq -e ".comparison == []" "$work/$arch/result.json" >/dev/null && grep -q "not on the instruction clock" "$work/$arch/report.txt"'
done
tap "arm64: DC ZVA, STP and memset" eval '[ "$(methods arm64)" = "dc-zva memset stp" ]'
tap "x86_64: string instructions, memset, and what the emulator has of AVX" eval \
	'[[ "$(methods x86_64)" =~ ^memset\ (nt-avx2\ )?(nt-avx512\ )?rep-stosb\ rep-stosq$ ]]'
tap_done
