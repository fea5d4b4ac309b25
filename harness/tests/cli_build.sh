#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# folab build as its user meets it, on a "kernel" of two files that asks of
# make and git what the real one asks.  What is inside (seeding, recovery,
# symbols) is test_build.c's.
. "$(dirname "$0")/tap.sh"

export FOLAB_HOME=$work/home XDG_CACHE_HOME=$work/cache FOLAB_SOURCE_DIR=$work/src
host=$(uname -m)
[ "$host" != aarch64 ] || host=arm64

mkdir -p "$work/src" "$work/home/patches/config" "$work/home/harness"
for f in base arm64 x86_64; do
	echo "CONFIG_${f^^}=y" > "$work/home/patches/config/$f.config"
done
printf 'CONFIG_SMP=y\nCONFIG_GONE=y\n' > "$work/home/patches/config/debug.config"

kernel=$work/linux-source-9.1
mkdir -p "$kernel/mm"
cat > "$kernel/Makefile" <<'MAKE'
VERSION = 9
PATCHLEVEL = 1
allnoconfig:
	@mkdir -p out/include/config out/arch/x86/boot out/arch/arm64/boot
	@grep -v GONE $(KCONFIG_ALLCONFIG) > out/.config
	@echo 9.1.0-fake > out/include/config/kernel.release
Image bzImage: out/vmlinux
	@cp out/vmlinux $(if $(filter Image,$@),out/arch/arm64/boot,out/arch/x86/boot)/$@
out/vmlinux: mm/rmap.c $(wildcard slow)
	@echo '  CC      mm/rmap.o'
	@if [ -e slow ]; then echo $$$$ > out/pid; sleep 1000; fi
	@gcc -nostdlib -static -Wl,-e,start -o $@ mm/rmap.c
MAKE
echo 'int start(void); int start(void) { return 1; }' > "$kernel/mm/rmap.c"
tar -C "$work" -cJf "$work/src/linux-source-9.1.tar.xz" linux-source-9.1

series() {	# NAME: the patch is on standard input
	mkdir -p "$work/home/patches/linux-9.1/$1"
	echo 0001-it.patch > "$work/home/patches/linux-9.1/$1/series"
	cat > "$work/home/patches/linux-9.1/$1/0001-it.patch"
}
change() {	# FROM TO: a patch of the one line in mm/rmap.c
	printf 'Subject: [PATCH] mm: change\n\n---\n--- a/mm/rmap.c\n+++ b/mm/rmap.c\n@@ -1 +1 @@\n-%s\n+%s\n' "$1" "$2"
}
line=$(cat "$kernel/mm/rmap.c")
change "$line" 'int start(void); int start(void) { return 2; }' | series good
change "something else" "$line" | series bad
change "$line" 'int start(void) { return nothing; }' | series broken
printf 'Subject: [PATCH] more\n\n---\n--- /dev/null\n+++ b/more\n@@ -0,0 +1 @@\n+x\n' | series more
printf 'Subject: [PATCH] slow\n\n---\n--- /dev/null\n+++ b/slow\n@@ -0,0 +1 @@\n+x\n' | series slow

b() { "$folab" build -q -a "$host" "$@"; }
path_only() { [ $rc = 0 ] && [ "$(wc -l < "$work/out")" = 1 ] && [ -s "$(cat "$work/out")" ]; }
slot=$work/cache/folab/slots/9.1+slow.$host
pidfile=$slot/tree/src/out/pid
running() { [ -s "$pidfile" ] && kill -0 "$(cat "$pidfile")" 2>/dev/null; }
stopped() { ! running; }
whole() {	# no half-made entry, no loose file
	[ -z "$(find "$work/cache" -name '.new-*' -o -name '*.new' -o -name '*.tmp')" ]
}

tap "the path of the image, and nothing else, on standard output" \
	eval 'run b 9.1; path_only && [ ! -s "$work/err" ]'
cp "$work/out" "$work/first"
tap "the same again: the same path" eval 'run b 9.1; path_only && cmp -s "$work/out" "$work/first"'
tap "with a series: another one" eval 'run b 9.1+good; path_only && ! cmp -s "$work/out" "$work/first"'
tap "progress on standard error" \
	eval 'run "$folab" build -a $host 9.1+good+more; path_only && grep -q "^build 9.1+good+more $host" "$work/err"'

tap "no such kernel: exit 2" fails 2 'a kernel is 6.12' b six
tap "running: exit 2" fails 2 'local machine' b running
tap "no such source: exit 3, and how to get it" fails 3 'apt-get install linux-source-9.9' b 9.9
tap "no such series: exit 2, and which there are" fails 2 'there is bad, broken, good, more, slow' b 9.1+nope
tap "a series that does not apply: exit 5, patch, file, hunk" \
	fails 5 'patch 0001-it.patch, file mm/rmap.c, hunk @@ -1 +1 @@' b 9.1+bad
tap "a series that does not compile: exit 5, the compiler's line" \
	fails 5 "mm/rmap.c:1:26: error: 'nothing' undeclared" b 9.1+broken
tap "an option that Kconfig dropped: exit 5, and its line" \
	fails 5 'CONFIG_GONE=y of debug.config:2' b --debug 9.1
echo CONFIG_NET=y > "$work/home/patches/config/host.config"
tap "another fragment: another kernel, in a slot of its own" \
	eval 'run b --config host 9.1; path_only && ! cmp -s "$work/out" "$work/first" &&
	      [ -d "$work/cache/folab/slots/9.1.$host.host" ] &&
	      grep -q CONFIG_NET=y "$work/cache/folab/slots/9.1.$host.host/tree/src/out/.config"'
tap "no such fragment: exit 2, and which there are" \
	fails 2 'no config fragment "nix" in '"$work/home/patches/config; there is debug, host" b --config nix 9.1
tap "what every kernel gets is no choice" fails 2 'no config fragment "base"' b --config base 9.1
tap "a cache that can't be" fails 3 "can't make directory" \
	env XDG_CACHE_HOME=/dev/null/x "$folab" build -q -a "$host" 9.1
tap "a cache with a space in its path" fails 3 'no space or colon' \
	env "XDG_CACHE_HOME=$work/a b" "$folab" build -q -a "$host" 9.1
tap "nothing half-made so far" whole

slow() {	# begin a build that does not end; its pid in $pid
	rm -f "$pidfile"
	# What a shell puts in the background ignores SIGINT: undo that.
	env --default-signal=INT "$folab" build -q -a "$host" 9.1+slow \
		>"$work/out" 2>"$work/err" </dev/null &
	pid=$!
	until_true 30 running
}
for sig in INT TERM HUP; do
	tap "SIG$sig: it is building" slow
	kill -$sig $pid
	wait $pid
	rc=$?
	tap "SIG$sig: exit 130, one line" eval '[ $rc = 130 ] && [ "$(cat "$work/err")" = "folab: interrupted" ]'
	tap "SIG$sig: make is gone, nothing half-made" eval 'until_true 10 stopped && whole'
done

tap "kill -9: it is building" slow
kill -9 $pid
wait $pid 2>/dev/null
tap "kill -9: make is gone" until_true 10 stopped
change "$line" 'int start(void); int start(void) { return 3; }' | series slow
tap "kill -9: the next one just works" eval 'run b 9.1+slow; path_only && whole'

rm -rf "$work/cache"
b 9.1 >"$work/out1" 2>"$work/err1" & one=$!
b 9.1 >"$work/out2" 2>"$work/err2" & two=$!
wait $one; rc1=$?
wait $two; rc2=$?
tap "two at once: both have it, and it was built once" \
	eval '[ $rc1 = 0 ] && [ $rc2 = 0 ] && cmp -s "$work/out1" "$work/out2" && [ "$(ls "$work/cache/folab/images" | wc -l)" = 1 ]'
tap_done
