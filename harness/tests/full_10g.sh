#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The size that the series was measured with on hardware: 10 GiB, 8 GiB of
# it reclaimed, both sides within 6 minutes, at the price a page that the
# small scenario shows too.
. "$(dirname "$0")/tap.sh"

memory=$(awk '/MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
if [ "$memory" -lt 13 ]; then
	tap_skip "reclaim-file-10g" "13 GiB of free memory wanted, $memory GiB here"
	tap_done
	exit
fi
"$folab" build -q 6.12 >/dev/null && "$folab" build -q 6.12+young-batch >/dev/null
run "$folab" ab -q -o "$work/small" --boots 1
start=$SECONDS
run "$folab" ab -q -o "$work/10g" -s reclaim-file-10g
tap "reclaim-file-10g: done" [ $rc = 0 ]
tap "both sides within 6 minutes ($((SECONDS - start)) s)" [ $((SECONDS - start)) -le 360 ]
cost='(.comparison[] | select(.metric == "reclaim.instructions_per_page"))'
tap "valid, and at least 57 % fewer instructions a page" \
	jq -e ".validity.valid and ($cost | .change_pct <= -57)" "$work/10g/result.json"
tap "within 2 % of the cost a page at 192 MiB, on both sides" jq -en \
	--slurpfile s "$work/small/result.json" --slurpfile l "$work/10g/result.json" \
	"(\$s[0] | $cost) as \$x | (\$l[0] | $cost) as \$y | (\$y.a <= \$x.a * 1.02) and (\$y.b <= \$x.b * 1.02)"
tap_done
