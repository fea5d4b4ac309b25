#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# folab run and folab tune on this host, small: the result is whole and printed
# again byte for byte, what can't be is refused in one line, and nothing is
# left, also when it is interrupted.  perf and gnuplot are stand-ins here.
. "$(dirname "$0")/tap.sh"

mkdir "$work/bin" "$work/bare"
small=(-p size=4M -p to=1M -p from=256K --reps 3)
# A PATH with what the stand-ins need, and without perf and gnuplot.
for tool in bash cat echo sleep; do
	ln -s "$(command -v $tool)" "$work/bare/$tool"
done
# This perf has all options there will ever be, and 12.5 GB/s.
cat > "$work/bin/perf" <<'PERF'
#!/bin/bash
echo "$*" >> "$FAKE_LOG"
case "$*" in
--version) echo "perf version 99.1" ;;
*"memset --help") echo " -s, --size"; echo "  -k, --chunk <0>" ; exit 129 ;;
*"memset -f help") printf 'Available functions:\n\tdefault ... x\n\tx86-64-stosb ... y\n' ; exit 1 ;;
*"mmap --help") echo " -f, --function"; echo " -p, --page"; exit 129 ;;
*--function=x86-64-stosb*) echo broken; exit 3 ;;
*mem*) echo "# noise"; echo "12500000000.5" ;;
esac
PERF
printf '#!/bin/bash\necho "<?xml version=1>"; echo "<svg/>"\n' > "$work/bin/gnuplot"
chmod +x "$work/bin"/*
export FAKE_LOG=$work/log

is() { jq -e "$2" "$work/$1/result.json" >/dev/null; }
says() { tr '\n' ' ' < "$work/out" | tr -s ' ' | grep -q -- "$1"; }
line() { grep -q -- "$1" "$work/out"; }
clean() { [ -z "$(find "$work" -name '*.partial*' -o -name '*.tmp')" ] && ! pgrep -f "$work" >/dev/null; }
with() { PATH=$work/bin:$PATH "$@"; }
without() { PATH=$work/bare "$@"; }

fails_usage() { run "$@"; [ $rc = 2 ] && grep -q -- "--help tells the options" "$work/err"; }

# ---- folab run -------------------------------------------------------------------

run "$folab" run -q clear-chunk "${small[@]}" -o "$work/one"
tap "folab run clear-chunk: done" [ $rc = 0 ]
tap "three passes, that object to nothing" is one \
	'.validity.valid and (.trials | length) == 1 and (.trials[0].samples | length) == 3'
tap "one side, the running kernel" is one \
	".sides | keys == [\"A\"] and .A.kernel == \"running\" and .A.release == \"$(uname -r)\""
tap "real seconds" is one '.clock == "real" and .host.cpus > 0 and .host.memory > 0'
tap "the metric stands in comparison" is one \
	'.comparison == [.comparison[0]] and .comparison[0].a > 0.1 and .comparison[0].b == null and .comparison[0].verdict == "not compared"'
tap "each chunk of memset, the whole region of it" is one \
	'[.trials[].samples[].counters | ."chunk.memset.256K.bytes", ."chunk.memset.512K.bytes", ."chunk.memset.1M.bytes"] | length == 9 and all(. == 4194304)'
tap "no chunk beyond them" is one \
	'[.trials[].samples[].counters | keys[] | select(test("[.](128K|2M)[.]"))] | length == 0'
tap "one method is the kernel's" is one \
	'[.trials[0].samples[0].counters | keys[] | select(endswith(".kernels")) | split(".")[1]] | unique | length == 1'
tap "report prints it again, byte for byte" eval \
	'"$folab" report "$work/one" | cmp - "$work/one/report.txt" && cmp "$work/out" "$work/one/report.txt"'
tap "it has at most 40 lines of 75 columns" eval \
	'[ $(wc -l < "$work/one/report.txt") -le 40 ] && ! grep -qE "^.{76}" "$work/one/report.txt"'
tap "and is there as KTAP" eval \
	'"$folab" report -f ktap "$work/one" | grep -q "^ok 1 valid$"'
tap "nothing else lies there" eval \
	'[ "$(ls "$work/one" | tr "\n" " ")" = "report.html report.txt result.json " ]'
run "$folab" run -q clear-chunk "${small[@]}" --cpu "$(taskset -cp $$ 2>/dev/null | sed 's/.*[: ]\([0-9]*\).*/\1/;t;s/.*/0/')" --node 0 -p pages=4K -p method=memset -o "$work/one"
tap "bound, on 4K pages, one method; the earlier result is kept" eval \
	'[ $rc = 0 ] && [ -f "$work/one.old/result.json" ] && is one ".host.bound_node == 0 and .host.bound_cpu >= 0 and .trials[0].samples[0].counters.\"region.huge_bytes\" == 0"'
tap "no other method" is one '[.trials[0].samples[0].counters | keys[] | select(startswith("chunk.")) | split(".")[1]] | unique == ["memset"]'

tap "no scenario" fails 2 'one SCENARIO' "$folab" run
tap "one that is not there" fails 2 'no scenario "nonsense"' "$folab" run nonsense
# What it does on a host that has all of it is guest_here's.
if [ "$(id -u)" != 0 ]; then
	tap "a file system and a cgroup: not without root" fails 3 'needs root' "$folab" run reclaim-file
elif grep -qs ' /sys/fs/cgroup/memory cgroup ' /proc/mounts; then
	tap "a memory controller of v1: how to boot" fails 3 'cgroup_no_v1=memory' "$folab" run reclaim-file
fi
tap "--dir for what needs none" fails 2 'needs no file system' "$folab" run clear-chunk --dir /tmp
tap "--scratch for what needs none" fails 2 'needs no file system' "$folab" run clear-chunk --scratch /tmp
tap "--mount for what needs none" fails 2 'needs no memory cgroup' "$folab" run clear-chunk --mount
tap "--dir and --scratch" fails 2 'not both' "$folab" run reclaim-file --dir /tmp --scratch /tmp
tap "a parameter that is none" fails 2 'no parameter "x"' "$folab" run clear-chunk -p x=1
tap "a chunk that is no power of two" fails 2 'power of two' "$folab" run clear-chunk -p from=12K
tap "more memory than there is" fails 3 'make it smaller' "$folab" run -q clear-chunk -p size=64G -p to=4K --reps 1 -o "$work/big"
if [ "$(id -u)" = 0 ]; then
	( flock 9; sleep 1.5 ) 9>/run/folab-host.lock &
	sleep .3
	run "$folab" run -q clear-chunk "${small[@]}" -o "$work/waits"
	wait
	tap "one run a host at a time: the second one waits, and says so" eval \
		'[ $rc = 0 ] && grep -q "waiting for another folab" "$work/err"'
fi
tap "of any workload" fails 3 'make it smaller' "$folab" run -q clear-fault -p size=1T -o "$work/big"
other=$([ "$(uname -m)" = x86_64 ] && echo dc-zva || echo rep-stosb)
tap "a method of another processor" fails 3 "can't clear by $other" "$folab" run -q clear-chunk "${small[@]}" -p method=$other -o "$work/big"
tap "a node that is not there" fails 2 'node 900' "$folab" run -q clear-chunk --node 900 -o "$work/big"
tap "a processor that is not there" fails 2 'processor 60000' "$folab" run -q clear-chunk --cpu 60000 -o "$work/big"
tap "--delay is of folab tune" fails_usage "$folab" run clear-chunk --delay 1
tap "half a pass" fails 2 'whole number' "$folab" run clear-chunk --reps 0.5
tap "another cross-check" fails 2 'only perf' "$folab" run clear-chunk --cross-check lmbench
tap "a directory of somebody else" eval 'mkdir "$work/mine"; touch "$work/mine/x"; fails 2 "something else" "$folab" run -q clear-chunk -o "$work/mine"'
tap "none of them left anything" eval 'clean && [ ! -e "$work/big" ]'

# ---- interruption ------------------------------------------------------------------

interrupted() {	# SIGNAL EXIT
	local pid rc
	# Job control: a background job of a script ignores SIGINT otherwise.
	set -m
	"$folab" run -q clear-chunk -p size=64M --reps 1000 -o "$work/never" >"$work/out" 2>"$work/err" & pid=$!
	set +m
	until_true 10 pgrep -P $pid >/dev/null
	sleep 0.3
	kill -"$1" $pid
	wait $pid 2>/dev/null
	rc=$?
	[ $rc = "$2" ] && [ ! -e "$work/never" ] && until_true 10 no_child "$pid"
}
no_child() { ! pgrep -f "$work/never" >/dev/null; }
tap "SIGINT: exit 130, nothing left" eval 'interrupted INT 130 && clean'
tap "SIGTERM: the same" eval 'interrupted TERM 130 && clean'
tap "SIGKILL: no process stays" interrupted KILL 137
# The lock falls a moment after the last process has lost its name.
again() { run "$folab" run -q clear-chunk "${small[@]}" -o "$work/never"; [ $rc != 7 ]; }
until_true 10 again
tap "the next run sweeps what that one left" eval '[ $rc = 0 ] && clean'

set -m
"$folab" run -q clear-chunk -p size=64M --reps 1000 -o "$work/dies" >"$work/out" 2>"$work/err" & pid=$!
set +m
until_true 10 pgrep -P $pid >/dev/null
kill -9 $(pgrep -P $pid)
wait $pid 2>/dev/null; rc=$?
tap "a pass that is killed: exit 6, and which signal" eval \
	'[ $rc = 6 ] && grep -q "folab: workload clear-chunk: pass [0-9]* died of signal 9" "$work/err" && [ ! -e "$work/dies" ] && clean'

# ---- --functions ---------------------------------------------------------------------

tap "functions by what there is not" fails 2 'there are samples, ftrace and both' "$folab" run clear-fault --functions=perf
profile=/sys/kernel/tracing/function_profile_enabled
if [ -e $profile ]; then
	tap_skip "no function profile: exit 3" "this kernel has one; guest_here tries it"
else
	tap "no function profile: exit 3" fails 3 '--functions=ftrace: ' \
		"$folab" run clear-fault -p size=64M --functions=ftrace -o "$work/no-ftrace"
fi
tap "functions of what has none in the kernel" fails 2 'clears in user space' "$folab" run clear-chunk --functions
if [ "$(id -u)" != 0 ]; then
	tap_skip "functions of clear-fault" "sampling the kernel needs root"
else
	run "$folab" run -q clear-fault -p size=64M -p threads=2 --reps 2 --functions -o "$work/functions"
	# 1: on a busy host memory may be invalid, which is not the matter here.
	tap "functions of clear-fault: done" [ $rc -le 1 ]
	tap "two samples: the pass of the functions is none" eval \
		'jq -e ".trials[0].samples | length == 2" "$work/functions/result.json" >/dev/null'
	# Each sample's chain begins in the fault; nothing has more than all of them.
	tap "the fault has nearly all of them" eval \
		'jq -e ".windows == 1 and .kernel_instructions > 20 and
			([.functions[] | select(.name | test(\"asm_exc_page_fault|el0t_64_sync\")) | .inclusive] | add) > .kernel_instructions * 0.8 and
			([.functions[].inclusive] | max) <= .kernel_instructions and
			([.functions[].self] | add) <= .kernel_instructions" "$work/functions/profile-A.json" >/dev/null'
	tap "the report tells what it cost" eval 'tr -s " \\n" " " < "$work/functions/report.txt" | grep -q "samples of .* at .* Hz, in a pass of their own"'
	tap "and prints it again" eval '"$folab" report "$work/functions" | cmp - "$work/functions/report.txt"'
fi

# ---- --cross-check perf ------------------------------------------------------------

run with "$folab" run -q clear-chunk "${small[@]}" --cross-check perf -o "$work/perf"
tap "with perf: done" [ $rc = 0 ]
tap "it is told the size and our chunks" eval \
	'grep -q -- "--size=4MB --function=default --chunk=256KB" "$FAKE_LOG" && grep -q -- "--size=4MB --function=default --chunk=1024KB" "$FAKE_LOG"'
tap "and one loop, the one that writes zeros" eval '! grep "mem memset .*--size" "$FAKE_LOG" | grep -qv -- "-l 1 "'
tap "once behind each pass" eval '[ $(grep -c -- "function=default --chunk=256KB" "$FAKE_LOG") = 3 ]'
tap "its figure stands beside ours" line 'memset.256K .*ours .*perf  12.5 GB/s  ours/perf'
tap "in how many cells ours is not below" line "ours is not below perf's in [0-9]* of [0-9]* cells"
tap "that of mmap alone" line 'mmap.populate.2M: perf 12.5 GB/s'
tap "the raw ones are in the result" is perf \
	'[.trials[0].samples[].counters."perf.memset.memset.1M.bytes_per_second"] == [12500000000, 12500000000, 12500000000]'
if [ "$(uname -m)" = x86_64 ]; then
	tap "a function that breaks is a note" says 'perf brought no perf.memset.rep-stosb'
fi
tap "printed again" eval '"$folab" report "$work/perf" | cmp - "$work/perf/report.txt"'
: > "$FAKE_LOG"
run with "$folab" run -q clear-fault -p size=32M -p how=populate --reps 2 --cross-check perf -o "$work/fault"
tap "clear-fault with perf bench mem mmap: done" [ $rc -le 1 ]
tap "it does what ours does, on the same pages, and no more" eval \
	'[ "$(grep -c "mem mmap --size=32MB --function=populate --page=2MB" "$FAKE_LOG")" = 2 ] && ! grep -qE "mem (memset --size|mmap .*demand)" "$FAKE_LOG"'
tap "both figures side by side" line 'mmap.populate.2M: ours .* perf 12.50 GB/s  ours/perf'
tap "printed again" eval '"$folab" report "$work/fault" | cmp - "$work/fault/report.txt"'
# What real ones do without huge pages.
sed 's/^\*mem\*.*/*"mem mmap"*) echo "# Failed to allocate 8MB" ;;/' "$work/bin/perf" > "$work/bin/perf.new"
chmod +x "$work/bin/perf.new"; mv "$work/bin/perf" "$work/bin/perf.good"; mv "$work/bin/perf.new" "$work/bin/perf"
run with "$folab" run -q clear-fault -p size=32M --reps 1 --cross-check perf -o "$work/fault"
tap "it fails with exit 0: its own line is the note" eval \
	'[ $rc -le 1 ] && says "perf brought no perf.mmap.demand.2M.bytes_per_second: # Failed to allocate 8MB"'
mv "$work/bin/perf.good" "$work/bin/perf"
tap "nothing to set beside the delays" fails 2 'nothing to set beside clear-latency' \
	"$folab" run clear-latency -p how=model -p preempt=any --cross-check perf
run without "$folab" run -q clear-chunk "${small[@]}" --cross-check perf -o "$work/perf"
tap "without perf: a line, no error" eval '[ $rc = 0 ] && says "perf is not installed"'
sed -i '/chunk/d; /mmap/d; s/^\*mem\*.*/*) echo "unknown benchmark"; exit 1 ;;/' "$work/bin/perf"
run with "$folab" run -q clear-chunk "${small[@]}" --cross-check perf -o "$work/perf"
tap "an old perf: what it lacks is said" eval '[ $rc = 0 ] && says "no --chunk" && says "no bench mem mmap"'

# ---- folab tune -----------------------------------------------------------------------

run with "$folab" tune -q "${small[@]}" -o "$work/tune"
if says 'the processor was taken away'; then	# as on a host that builds kernels meanwhile
	tap "folab tune on a busy host: no answer, exit 1" eval '[ $rc = 1 ] && ! grep -q "<- recommended$" "$work/out"'
else
	tap "folab tune: done" [ $rc = 0 ]
	tap "one unit is recommended, with a reason" eval \
		'[ $(grep -c "^recommended unit: " "$work/out") = 1 ] && says "because it is the smallest unit"'
	tap "that unit is marked in the table, once" eval '[ $(grep -c "<- recommended$" "$work/out") = 1 ]'
fi
tap "no small unit, so no word on a knee" eval "says 'a knee can.t be told' && ! says 'no knee'"
tap "user space stands in, it says" says 'user space stands in'
tap "the plot is there" eval 'grep -q "<svg" "$work/tune/tune.svg" && grep -q "^plot " "$work/tune/tune.gp"'
tap "printed again, byte for byte" eval '"$folab" report "$work/tune" | cmp - "$work/tune/report.txt"'
tap "no line is longer than 75" eval '[ -s "$work/tune/report.txt" ] && ! grep -qE "^.{76}" "$work/tune/report.txt"'
run without "$folab" tune -q "${small[@]}" --delay 0.0000001 -o "$work/tune"
tap "no gnuplot: a line says so, the script is there" eval \
	'[ $rc = 0 ] && says "gnuplot is not installed" && [ -s "$work/tune/tune.gp" ] && [ ! -e "$work/tune/tune.svg" ]'
tap "a delay that nothing keeps: said, the smallest is named" eval \
	'says "no unit is over within" && line "^recommended unit: 256K "'
run "$folab" tune -q "${small[@]}" -p method=memset -o "$work/tune"
tap "the kernel's method left out: exit 1, nothing recommended" eval \
	'[ $rc = 1 ] && says "no unit is recommended"'
tap "a delay that is none" fails 2 'milliseconds' "$folab" tune --delay -1
tap "tune takes no scenario" fails 2 'options only' "$folab" tune clear-chunk
if command -v gnuplot >/dev/null; then
	run "$folab" tune -q "${small[@]}" -o "$work/tune"
	tap "the real gnuplot draws it" grep -q '</svg>' "$work/tune/tune.svg"
else
	tap_skip "the real gnuplot draws it" "gnuplot is not installed"
fi
tap "all of it left nothing" clean
tap_done
