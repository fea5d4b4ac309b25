#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# folab check without a kernel: what it refuses, and what it makes of guests
# that are not what they should be (fake-qemu).
. "$(dirname "$0")/tap.sh"

export FOLAB_QEMU=$top/harness/tests/fake-qemu FOLAB_FAKE=cases
export XDG_CACHE_HOME=$work/cache
if [ ! -e "$build/cases-arm64/smoke" ] || [ ! -e "$build/agent-arm64" ]; then
	tap_skip "folab check on the host" "the cases are not built: make cases"
	tap_done
	exit
fi
# The least that passes for an arm64 image: its header, 64 KiB long.
image=$work/Image
head -c 56 /dev/zero > "$image"
printf 'ARMd' >> "$image"
truncate -s 65536 "$image"

check() { "$folab" check -q -k "image:$image" "$@"; }
says() { grep -q -- "$1" "$work/out"; }

tap "a case that is not there" fails 2 'no case "nonsense"' check nonsense
tap "a test without a name" fails 2 'no case "smoke."' check smoke.
tap "no such architecture" fails 2 'no architecture "mips"' check -a mips
tap "no such format" fails 2 'no format "tap"' check -f tap
tap "a seed that is none" fails 2 '--seed x' check --seed x
tap "a kernel that is not there" fails 2 '/nowhere' "$folab" check -q -k image:/nowhere smoke
mkdir "$work/full" && touch "$work/full/mine"
tap "a directory of somebody's own is left alone" fails 2 'something else' check -o "$work/full" smoke
tap "help names the exits" eval 'run "$folab" check --help; [ $rc = 0 ] && says "4 nothing but skips"'
tap "folab list cases" eval 'run "$folab" list cases; [ $rc = 0 ] && says "^smoke .*(quick)" && ! says must_fail'

run check smoke
tap "a good guest" eval '[ $rc = 0 ] && says "^  ok 1 smoke.a" && says "^ok 1 smoke"'
run check --boot folab.x=1 -o "$work/kept" smoke
tap "what is kept says what was tested, and with what" eval \
	'grep -q "^# folab .* image:.* seed 1$" "$work/kept/check.ktap" && grep -q "^# boot option: folab.x=1$" "$work/kept/check.ktap"'
tap "an end of the options among them" fails 2 "-- would end" check --boot "-- y" smoke
FOLAB_FAKE=cases_garbage run check smoke
tap "garbage from the guest: exit 6, the case is named" eval \
	'[ $rc = 6 ] && says "^not ok 1 smoke # ERROR the guest died: garbage"'
FOLAB_FAKE=cases_turn run check smoke
tap "a case that was not asked for" eval '[ $rc = 6 ] && says "begins out of turn"'
FOLAB_FAKE=cases_forge run check smoke
tap "no output of a case can look like ours" eval \
	'[ $rc = 1 ] && ! says "^ok" && says "^not ok 1 smoke" && [ $(grep -c "^KTAP" "$work/out") = 1 ]'
FOLAB_FAKE=panic run check smoke
tap "a panic before the first case" eval '[ $rc = 6 ] && says "^not ok 1 smoke # ERROR the guest died: kernel"'
FOLAB_FAKE=cases_short run check smoke
tap "a guest that ends in the middle" eval \
	'[ $rc = 6 ] && says "^  not ok 2 smoke.b # ERROR the guest died" && says "^  not ok 3 smoke.3 # ERROR did not run"'
FOLAB_FAKE=silent "$folab" check -q -k "image:$image" smoke >"$work/out" 2>"$work/err" &
until_true 10 says '^KTAP'
sleep 0.3
kill -TERM $!
wait $!; rc=$?
tap "interrupted: exit 130, and the answer says that it is none" eval \
	'[ $rc = 130 ] && [ "$(tail -n 1 "$work/out")" = "Bail out! interrupted" ]'
tap "a full disk for the answer" eval \
	'check smoke >/dev/full 2>"$work/err"; [ $? = 3 ] && grep -q "standard output" "$work/err"'
tap "the cache holds no guest's files" eval '[ -z "$(find "$work/cache" -name "*.cpio" -o -name "console-*")" ]'
tap_done
