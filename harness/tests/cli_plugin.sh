#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# QEMU refuses to start with one clear line when the plugin is given what it
# can't use.  (That it counts right is for a guest to show: cli_ab.)
B=${FOLAB_BUILD:-build}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0

# refuse WHAT TEXT QEMU PLUGIN-OPTIONS [QEMU-OPTION]...
refuse() {
	what=$1 text=$2 qemu=$3 options=$4
	shift 4
	n=$((n + 1))
	if ! command -v "$qemu" > /dev/null; then
		echo "ok $n - $what # SKIP no $qemu"
		return
	fi
	timeout 20 "$qemu" -M none -display none -monitor none -serial none \
		-accel tcg "$@" -plugin "$B/plugin.so$options" \
		< /dev/null > "$tmp/log" 2>&1
	rc=$?
	if [ $rc -ne 0 ] && [ $rc -ne 124 ] &&
	   [ "$(grep -c '^folab plugin: ' "$tmp/log")" -eq 1 ] &&
	   grep -q "^folab plugin: .*$text" "$tmp/log"; then
		echo "ok $n - $what"
	else
		echo "not ok $n - $what"
		echo "# exit status $rc"
		sed 's/^/# /' "$tmp/log"
	fi
}

a=qemu-system-aarch64
printf 'folab.symbols/1 arm64\nF 10 20 vectors\nend 1\n' > "$tmp/few"
printf 'folab.symbols/1 arm64\nF 10 20 vectors\n' > "$tmp/cut"
printf 'folab.symbols/1 arm64\nF 10 20 vectors\nF 20 30 cpu_switch_to\nend 2\n' \
	> "$tmp/good"
head -c 100000 /dev/urandom > "$tmp/noise"

echo 1..9
refuse "no options" "needs symbols=FILE and out=FILE" $a ""
refuse "an unknown option" "unknown option x=1" $a ",x=1"
refuse "no such symbol file" "none: No such file" $a \
	",symbols=$tmp/none,out=$tmp/out"
refuse "a symbol file that is cut short" 'no "end" line' $a \
	",symbols=$tmp/cut,out=$tmp/out"
refuse "a symbol file that is noise" "noise:1: " $a \
	",symbols=$tmp/noise,out=$tmp/out"
refuse "symbols of another kernel" "no function cpu_switch_to" $a \
	",symbols=$tmp/few,out=$tmp/out"
refuse "symbols of another architecture" 'wanted "folab.symbols/1 x86_64"' \
	qemu-system-x86_64 ",symbols=$tmp/good,out=$tmp/out"
refuse "output that can't be written" "cannot open $tmp/none/out" $a \
	",symbols=$tmp/good,out=$tmp/none/out"
refuse "two processors" "start QEMU with -smp 1" $a \
	",symbols=$tmp/good,out=$tmp/out" -M virt -smp 2
