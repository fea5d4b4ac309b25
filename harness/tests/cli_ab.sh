#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# folab ab as its user meets it, with a stand-in for the emulator and for the
# kernel: wrong input, faults at every stage, interruption.  After each of
# them: one clear line, the documented exit code, nothing left.
. "$(dirname "$0")/tap.sh"

export XDG_CACHE_HOME=$work/cache FOLAB_QEMU=$top/harness/tests/fake-qemu
export FOLAB_FAKE_PID=$work/pids FOLAB_FAKE=good
mkdir "$work/cache"; : > "$work/pids"

# The least that passes for an arm64 image: its header, 64 KiB long.
image=$work/Image
{
	head -c 16 /dev/zero
	printf '\0\0\1\0\0\0\0\0'	# image_size
	head -c 32 /dev/zero
	printf 'ARM\x64'
	head -c 65476 /dev/zero
} > "$image"
ab() { "$folab" ab -q --reps 2 --boots 1 --no-profile -A "image:$image" -B "image:$image" "$@"; }
no_guest() {	# of those that were started
	local pid
	while read -r pid; do
		kill -0 "$pid" 2>/dev/null && return 1
	done < "$work/pids"
	return 0
}
clean() {	# nothing beside the result, no guest, no run directory
	[ -z "$(find "$work" -name '*.partial*')" ] || return 1
	[ -z "$(find "$work/cache" -name 'run-*' -type d)" ] || return 1
	[ -z "$(find "$work" -name '*.tmp')" ] || return 1
	until_true 5 no_guest
}
is_result() {
	[ -f "$1/result.json" ] && [ -f "$1/report.txt" ] &&
	[ -f "$1/console-A-1.log" ] && [ -f "$1/console-B-1.log" ]
}
same_report() {
	"$folab" report "$1" | cmp -s - "$1/report.txt" &&
		"$folab" report -f html "$1" | cmp -s - "$1/report.html" &&
		xmllint --noout "$1/report.html"
}

# ---- what the user typed -------------------------------------------------

tap "no command: usage, exit 2" eval 'run "$folab"; [ $rc = 2 ]'
tap "an unknown command" fails 2 'no command "bad"' "$folab" bad
for c in ab report build list doctor; do
	tap "$c --help on standard output" eval 'run "$folab" $c --help; [ $rc = 0 ] && grep -q "^usage: folab $c" "$work/out" && [ ! -s "$work/err" ]'
	tap "$c --nonsense: exit 2" eval 'run "$folab" $c --nonsense; [ $rc = 2 ]'
done
tap "--help to a full disk is a failure" eval '"$folab" --help >/dev/full 2>"$work/err"; [ $? = 3 ]'
tap "an unknown scenario" fails 2 'no scenario "nope"' ab -s nope
tap "an unknown architecture" fails 2 'no architecture "mips"' ab -a mips
tap "an unknown parameter" fails 2 'no parameter "ordr"' ab -p ordr=1
tap "a parameter without value" fails 2 'KEY=VALUE' ab -p order
tap "more reclaimed than there is" fails 2 'more than size' ab -p size=64M
tap "an order that the file system does not give" fails 2 'from 0 to 9' ab -p order=10
tap "a page of a size that there is none of" fails 2 '4k or 64k-thp or 2m-thp or 2m-hugetlb or 1g-hugetlb' ab -s clear-fault -p page=3m
tap "more threads than folios" fails 2 'a thread needs one at least' ab -s clear-fault -p size=4M -p threads=3
tap "a parameter of another workload" fails 2 'no parameter "order"' ab -s clear-fault -p order=0
tap "boots that are none" fails 2 '--boots 0' ab --boots 0
printf '[scenario]\nworkload = reclaim-file\n[machine]\nram = 1G\n' > "$work/s.ini"
tap "a scenario file with an unknown key" fails 2 's.ini:4: no key "ram"' ab -s "$work/s.ini"
head -c 300 /dev/urandom > "$work/r.ini"
tap "a scenario file of random bytes: exit 2" eval 'run ab -s "$work/r.ini"; [ $rc = 2 ]'
for spec in nonsense 6.99 6.12+nope 6.12+ git:/nowhere@x git: image:/nowhere image: ''; do
	tap "kernel \"$spec\": refused" eval 'run ab -B "$spec"; { [ $rc = 2 ] || [ $rc = 3 ]; } && [[ $(tail -n1 "$work/err") == "folab: "* ]]'
done
head -c 30000 "$image" > "$work/cut"
tap "a truncated image" fails 2 'cut' ab -B "image:$work/cut"
tap "none of that left anything" clean

# ---- a run -----------------------------------------------------------------

out=$work/out.d
run ab -o "$out"
tap "a run without counters is invalid: exit 1" [ $rc = 1 ]
tap "its result is whole" is_result "$out"
tap "its report claims nothing" eval 'grep -qi "invalid" "$work/out" && ! grep -q "is faster" "$work/out"'
tap "report prints report.txt byte for byte" same_report "$out"
tap "report --format json is JSON" eval '"$folab" report "$out" -f json | python3 -c "import json,sys; json.load(sys.stdin)" 2>/dev/null || "$folab" report "$out" -f json | grep -q folab.result/1'
tap "a run leaves nothing else" clean
run ab -s clear-fault -p page=2m-hugetlb -p size=8M -p node=1 -o "$work/clear.d"
tap "what a workload asks of the kernel is on its command line" eval \
	'[[ $(jq -r .cmdline "$work/clear.d/result.json") == *" numa=fake=2U" ]]'
tap "a workload without files has no file system" eval \
	'[ "$(jq -r .fs "$work/clear.d/result.json")" = none ] && [[ $(jq -r .cmdline "$work/clear.d/result.json") != *brd.* ]]'
tap "a run of clearing without its counters claims nothing" eval \
	'[ $rc = 1 ] && grep -q "no counter clear.pages" "$work/clear.d/report.txt" && ! grep -q "read as cleared" "$work/clear.d/report.txt"'
run ab -o "$out"
tap "an earlier result becomes DIR.old" eval 'is_result "$out" && is_result "$out.old"'
mkdir "$work/full" && touch "$work/full/mine"
tap "a directory with something else in it" fails 2 'something else' ab -o "$work/full"
tap "which is still there" [ -f "$work/full/mine" ]
mkdir "$work/mine.partial" && touch "$work/mine.partial/thesis"
tap "somebody's DIR.partial is not swept" fails 2 'something else' ab -o "$work/mine"
mkdir "$work/mine2.old" && touch "$work/mine2.old/thesis"
tap "somebody's DIR.old is refused before the run" fails 2 'something else' ab -o "$work/mine2"
mkdir "$work/proj" && echo '{"my": "file"}' > "$work/proj/result.json" && touch "$work/proj/main.c"
tap "a project with a result.json of its own is no result" fails 2 'something else' ab -o "$work/proj"
tap "all of that is still there" [ -f "$work/mine.partial/thesis" -a -f "$work/mine2.old/thesis" -a -f "$work/proj/main.c" ]
rm -r "$work/mine.partial"
tap "-o . is refused" fails 2 'name of a directory' ab -o .
tap "--aa with -B is refused" fails 2 'leave out -B' "$folab" ab --aa -B 6.12
two() { "$folab" ab -q --two-by-two -A 6.12 "$@"; }
tap "--two-by-two with one series more" fails 2 '6.12+young-batch has 1 more than 6.12' two -B 6.12+young-batch
tap "--two-by-two with three" fails 2 'has 3 more than' two -B 6.12+a+b+c
tap "--two-by-two without what A has" fails 2 'series young-batch that kernel B lacks' two -A 6.12+young-batch -B 6.12+clear-pages+x
tap "--two-by-two of images" fails 2 'with and without series' two -B "image:$image"
tap "--two-by-two of another version" fails 2 'have to be one kernel' two -B 6.13+a+b
tap "--two-by-two with a series that is not there" fails 2 'nope' two -B 6.12+nope+clear-pages
tap "--two-by-two with --aa" fails 2 'leave one out' "$folab" ab --aa --two-by-two
tap "a size that is no whole number of pages" fails 2 'not a multiple of page = 1g-hugetlb' ab -s clear-latency -p size=1500M
tap "a unit for the kernel" fails 2 'is for how=model' ab -s clear-latency -p unit=4M
tap "a preemption model that there is not" fails 2 'preempt' ab -s clear-latency -p preempt=some
touch "$work/file"
tap "a file in the place of the directory" fails 2 'no directory' ab -o "$work/file"
mkdir "$work/empty"
tap "an empty directory is taken" eval 'run ab -o "$work/empty"; is_result "$work/empty"'
tap "report on no result" fails 2 'result.json' "$folab" report "$work/full"
sed 's/"alike"/"alik"/; s/"trials"/"trails"/' "$out/result.json" > "$work/x" && cp -r "$out" "$work/broken" && cp "$work/x" "$work/broken/result.json"
tap "report on a broken result" fails 2 'not a result' "$folab" report "$work/broken"
rm -f "$work/broken/result.json" && mkfifo "$work/broken/result.json"
tap "report on a fifo does not wait" fails 2 'no regular file' timeout 10 "$folab" report "$work/broken"
tap "a file size limit is an error, not a death" eval 'run bash -c "ulimit -f 1; \"$folab\" ab -q --reps 2 --boots 1 --no-profile -A image:$image --aa -o $work/lim"; [ $rc = 3 ] && grep -q "^folab: " "$work/err"'

# ---- rows --------------------------------------------------------------------------

cat > "$work/rows.ini" <<'I'
[scenario]
workload = clear-latency
[params]
how = model
size = 2M
preempt = none
[rows]
full one = preempt=full
none = preempt=none
lazy = preempt=lazy
x86 = arch=x86_64
[report]
metrics = latency.max_seconds
I
printf '[scenario]\nworkload = reclaim-file\n[rows]\na = order=10\n' > "$work/badrow.ini"
printf '[scenario]\nworkload = reclaim-file\n[rows]\na = size=64M\n' > "$work/badsize.ini"
rows() { ab -s "$work/rows.ini" "$@"; }
tap "a bad value in a row: file and line" fails 2 'badrow.ini:4: row "a": parameter order = "10"' ab -s "$work/badrow.ini"
tap "a row that its workload refuses: file and row" fails 2 'badsize.ini: row "a": reclaim = 150M is more' ab -s "$work/badsize.ini" --rows
tap "a row that there is not" fails 2 'no row "nope" in scenario rows; there are: full one, none, lazy, x86' rows --rows=lazy,nope
printf '[scenario]\nworkload = reclaim-file\n' > "$work/norows.ini"
tap "a list of rows without one" fails 2 'no row "," in scenario rows' rows --rows=,
tap "a scenario without rows" fails 2 'no section [rows]' ab -s "$work/norows.ini" --rows
tap "--rows with --two-by-two" fails 2 'leave one out' "$folab" ab --rows --two-by-two
tap "a row of another architecture than the image's" fails 2 'row "x86": kernel' rows --rows=x86
tap "none of that left anything" clean
image_b=$work/Image-b
{ cat "$image"; head -c 4096 /dev/zero; } > "$image_b"
path_b=$("$folab" build -q "image:$image_b")
counters() { echo '"latency.wakeups":5,"latency.expected":5,"latency.load_ns":9000,"latency.max_ns":'"$1"; }
rows_of_two() { rows -B "image:$image_b" --rows='lazy, full one,none' "$@"; }
export FOLAB_FAKE_COUNTERS
FOLAB_FAKE_COUNTERS=$(counters 200)
rows_run=$work/rows.d
run rows_of_two -o "$rows_run"
tap "rows, none slower: exit 0" [ $rc = 0 ]
tap "in the file's order, what the run itself is left out and said" eval \
	'[ "$(jq -c "[.variants[].name]" "$rows_run/result.json")" = "[\"full one\",\"lazy\"]" ] && grep -q "row none is what the run itself" "$work/err"'
tap "each with its parameters, trials and samples" eval \
	'[ "$(jq -c "[.variants[] | .set[0], .result.params.preempt, (.result.trials | length), (.result.trials[0].samples | length)]" "$rows_run/result.json")" = "[\"preempt=full\",\"full\",2,2,\"preempt=lazy\",\"lazy\",2,2]" ]'
tap "each booted as it asks" eval '[[ $(jq -r ".variants[1].result.cmdline" "$rows_run/result.json") == *preempt=lazy* ]]'
tap "consoles and profiles of each" [ -f "$rows_run/row-1/console-A-1.log" -a -f "$rows_run/row-2/console-B-1.log" -a -f "$rows_run/row-2/profile-A.json" ]
tap "report prints report.txt byte for byte" same_report "$rows_run"
tap "and tells how many are slower" grep -q 'B is slower in none of 2; faster in 0, no difference in 2' "$rows_run/report.txt"
run "$folab" report "$rows_run" --row=lazy
tap "report --row: that of the row alone, with its command" eval \
	'[ $rc = 0 ] && grep -q "preempt=lazy" "$work/out" && ! grep -q "^rows: " "$work/out" && ! grep -q -e --rows "$work/out"'
tap "report --row of none" fails 2 'no row "x" in' "$folab" report "$rows_run" --row=x
export FOLAB_FAKE_WHEN="*$path_b*preempt=lazy*" FOLAB_FAKE_THEN
FOLAB_FAKE_THEN="FOLAB_FAKE_COUNTERS='$(counters 300)'"
run rows_of_two -o "$rows_run"
tap "a slower row: exit 1, named above the table" eval \
	'[ $rc = 1 ] && grep -q "^B is SLOWER in row: lazy$" "$work/out" && grep -q "^ok .*row full one$" <("$folab" report "$rows_run" -f ktap) && grep -q "^not ok .*row lazy$" <("$folab" report "$rows_run" -f ktap)'
tap "the earlier one with its rows became DIR.old" [ -d "$rows_run.old/row-2" ]
FOLAB_FAKE_THEN="FOLAB_FAKE=panic"
run rows_of_two -o "$rows_run"
tap "a guest of a row fails: exit 6, said, the other row is told" eval \
	'[ $rc = 6 ] && grep -q "^INVALID row lazy: B seed 1: " "$work/out" && grep -q "slower in none of 1" "$work/out" && same_report "$rows_run" && clean'
FOLAB_FAKE_WHEN="*$path_b*preempt=none*"
FOLAB_FAKE_THEN="FOLAB_FAKE_COUNTERS='$(counters 300)'"
run rows_of_two -o "$rows_run"
tap "the run itself is slower: exit 1" eval '[ $rc = 1 ] && grep -q "^B is slower: " "$work/out"'
: > "$work/pids"
FOLAB_FAKE_WHEN="*preempt=lazy*" FOLAB_FAKE_THEN="FOLAB_FAKE=hang"
set -m
"$folab" ab -q --reps 2 --boots 1 --no-profile -A "image:$image" -B "image:$image_b" -s "$work/rows.ini" --rows=lazy -o "$work/ri.d" >"$work/out" 2>"$work/err" & pid=$!
set +m
third() { [ "$(wc -l < "$work/pids")" -ge 3 ]; }
until_true 20 third
kill -INT $pid; wait $pid; rc=$?
tap "SIGINT while a row runs: exit 130, nothing left" eval '[ $rc = 130 ] && [ ! -e "$work/ri.d" ] && clean'
tap "the progress line says which row of how many" eval \
	'"$folab" ab --reps 2 --boots 1 --no-profile -A "image:$image" -B "image:$image_b" -s "$work/rows.ini" --rows="full one" -o "$work/rp.d" 2>&1 >/dev/null | grep -q "^run 2 of 2, full one: done"'
unset FOLAB_FAKE_COUNTERS FOLAB_FAKE_WHEN FOLAB_FAKE_THEN

# ---- guests that fail --------------------------------------------------------

for fake in panic oom garbage endless lines flood silentend middle agent badargs; do
	export FOLAB_FAKE=$fake
	run ab -o "$work/$fake.d"
	tap "guest: $fake: exit 6, a whole result that says why, nothing left" \
		eval '[ $rc = 6 ] && is_result "$work/$fake.d" && same_report "$work/$fake.d" && clean'
done
printf '[scenario]\nworkload = reclaim-file\n[machine]\nbudget = 2\n' > "$work/short.ini"
export FOLAB_FAKE=hang
run ab -s "$work/short.ini" -o "$work/hang.d"
tap "guest: hang: exit 6 at the end of its budget" eval '[ $rc = 6 ] && grep -q "no result" "$work/hang.d/report.txt" && clean'

# ---- interruption --------------------------------------------------------------

started() { [ -s "$work/pids" ]; }
for sig in INT TERM HUP; do
	: > "$work/pids"
	# Job control: a background job of a script ignores SIGINT otherwise.
	set -m
	"$folab" ab -q --reps 2 --boots 1 --no-profile -A "image:$image" -B "image:$image" -o "$work/i.d" >"$work/out" 2>"$work/err" & pid=$!
	set +m
	until_true 10 started
	kill -$sig $pid
	wait $pid; rc=$?
	tap "SIG$sig while guests run: exit 130, nothing left" eval '[ $rc = 130 ] && grep -q "folab: interrupted" "$work/err" && [ ! -e "$work/i.d" ] && clean'
done
if [ -n "$(type -P nohup)" ]; then
	: > "$work/pids"
	nohup "$folab" ab -q --reps 2 --boots 1 --no-profile -A "image:$image" --aa -o "$work/i.d" >"$work/out" 2>"$work/err" & pid=$!
	until_true 10 started
	kill -HUP $pid; sleep 0.3
	tap "under nohup SIGHUP is nothing" kill -0 $pid
	kill -TERM $pid; wait $pid
fi
: > "$work/pids"
"$folab" ab -q --reps 2 --boots 1 --no-profile -A "image:$image" -B "image:$image" -o "$work/i.d" >/dev/null 2>&1 & pid=$!
until_true 10 started
tap "a second run in one directory" fails 7 'another folab' ab -o "$work/i.d"
kill -9 $pid; wait $pid 2>/dev/null
tap "kill -9: no guest outlives it" until_true 5 no_guest
export FOLAB_FAKE=good
run ab -o "$work/i.d"
tap "the next run just works, and sweeps" eval '[ $rc = 1 ] && is_result "$work/i.d" && clean'

# ---- a full disk ------------------------------------------------------------------

mkdir "$work/small"
if mount -t tmpfs -o size=12k folab-test "$work/small" 2>/dev/null; then
	tap_cleanup() { umount "$work/small" 2>/dev/null; }
	tap "a full disk: exit 3, the line says so" fails 3 'free some space' ab -o "$work/small/r"
	tap "and leaves nothing" eval '[ -z "$(ls "$work/small")" ] && clean'
	umount "$work/small"
else
	tap_skip "a full disk" "can't mount a tmpfs here"
fi

# ---- kernels that can't be built ------------------------------------------------------

mkdir -p "$work/src/linux-source-9.9" "$work/home/patches/linux-9.9/broken" "$work/home/workloads"
cp -r workloads/scenarios "$work/home/workloads/"
printf 'one\ntwo\nthree\n' > "$work/src/linux-source-9.9/file.c"
printf 'VERSION = 9\nPATCHLEVEL = 9\nallnoconfig:\n\ttouch $(O)/begun; sleep 97531\n%%:\n\tsleep 97531\n' > "$work/src/linux-source-9.9/Makefile"
tar -C "$work/src" -cJf "$work/src/linux-source-9.9.tar.xz" linux-source-9.9
cp -r patches/config "$work/home/patches/"
cat > "$work/home/patches/linux-9.9/broken/0001-x.patch" <<'P'
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: A <a@b.invalid>
Date: Thu, 1 Jan 2026 00:00:00 +0000
Subject: [PATCH] x

---
 file.c | 2 +-
 1 file changed, 1 insertion(+), 1 deletion(-)

diff --git a/file.c b/file.c
index 1..2 100644
--- a/file.c
+++ b/file.c
@@ -1,3 +1,3 @@
 one
-zwei
+2
 three
P
echo 0001-x.patch > "$work/home/patches/linux-9.9/broken/series"
export FOLAB_HOME=$work/home FOLAB_SOURCE_DIR=$work/src
tap "a series that does not apply: patch, file, hunk" eval 'fails 5 "0001-x.patch" "$folab" build -q 9.9+broken && grep -q "file file.c, hunk @@ -1,3" "$work/err"'
: > "$work/pids"
set -m; "$folab" build -q 9.9 >"$work/out" 2>"$work/err" & pid=$!; set +m
begun() { [ -n "$(find "$work/cache" -name begun)" ] || pgrep -f "^sleep 97531$" >/dev/null; }
until_true 30 begun
kill -INT $pid; wait $pid; rc=$?
tap "SIGINT while a kernel builds: exit 130" eval '[ $rc = 130 ] && grep -q "folab: interrupted" "$work/err"'
tap "and no compiler goes on" until_true 5 eval '! pgrep -f "^sleep 97531$" >/dev/null'
tap_done
