#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The sysroot is made once, from Debian's archive alone, whole or not at all.
#
# apt-get and mmdebstrap are stand-ins: what the real ones do is shown by each
# build of the agent.

set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0

check() {	# DESCRIPTION COMMAND...
	local what=$1
	shift
	n=$((n + 1))
	if "$@"; then echo "ok $n - $what"; else echo "not ok $n - $what"; fi
}

mkdir "$work/bin"
cat > "$work/bin/apt-get" <<'APT'
#!/bin/sh
cat "$WORK/sources"
APT
cat > "$work/bin/apt-config" <<'APT'
#!/bin/sh
echo 'Acquire::http::Proxy "http://proxy.example:3128";'
echo 'APT::Architecture "amd64";'
APT
cat > "$work/bin/mmdebstrap" <<'MMD'
#!/bin/bash
# The tree is the second last argument, sources come on standard input.
echo run >> "$WORK/runs"
printf '%s\n' "$@" > "$WORK/args"
cat > "$WORK/stdin"
root=${@: -2:1}
[ ! -e "$WORK/fail" ] || { echo "E: no such mirror" >&2; exit 25; }
for d in include lib/aarch64-linux-gnu; do mkdir -p "$root/usr/$d"; done
touch "$root"/usr/include/{ini.h,INIReader.h,jansson.h,libcgroup.h}
touch "$root"/usr/include/{numa.h,numacompat1.h,numaif.h,stdio.h}
mkdir -p "$root"/usr/include/{libcgroup,nettle,aarch64-linux-gnu}
touch "$root/usr/include/aarch64-linux-gnu/jansson_config.h"
[ ! -e "$WORK/slow" ] || { touch "$WORK/begun"; sleep 60; }
touch "$root"/usr/lib/aarch64-linux-gnu/lib{cgroup,inih,jansson,nettle,c}.a
[ -e "$WORK/lacking" ] || touch "$root/usr/lib/aarch64-linux-gnu/libnuma.a"
MMD
chmod +x "$work"/bin/*
export WORK=$work PATH=$work/bin:$PATH

cat > "$work/sources" <<'SRC'
Debian http://deb.example/debian/ bookworm main
Debian http://deb.example/debian/ bookworm main
$(ORIGIN) http://local.example/ ./ main
Docker https://third.example/linux/debian/ bookworm stable
SRC

sysroot() {
	harness/agent/sysroot arm64 "$work/cache" "$1" 2>"$work/stderr"
}
exits() {	# CODE COMMAND...
	local want=$1 rc
	shift
	"$@" >/dev/null 2>"$work/stderr"
	rc=$?
	[ "$rc" -eq "$want" ] || echo "# exit code $rc, not $want"
	[ "$rc" -eq "$want" ] && [ "$(wc -l <"$work/stderr")" -le 4 ]
}
empty_cache() { [ -z "$(ls "$work/cache" | grep -v '\.lock$')" ]; }
lines() { [ "$(wc -l <"$1")" -eq "$2" ]; }

check "wrong use is exit code 2" exits 2 harness/agent/sysroot arm64
check "an unknown architecture is exit code 2" \
	exits 2 harness/agent/sysroot vax "$work/cache" "$work/a"

check "it is made" sysroot "$work/a"
check "with the libraries" test -f "$work/a/lib/libjansson.a"
check "with headers that differ by architecture" \
	test -f "$work/a/include/jansson_config.h"
check "without a second C library" test ! -e "$work/a/lib/libc.a"
check "and without its headers" test ! -e "$work/a/include/stdio.h"
check "from Debian's archive alone, named once" \
	test "$(cat "$work/stdin")" = "deb http://deb.example/debian/ bookworm main"
check "through the proxy that apt uses" \
	grep -q '^--aptopt=Acquire::http::Proxy "http://proxy.example:3128";$' \
	"$work/args"
check "but with no other option of this host's apt" \
	test "$(grep -c aptopt "$work/args")" -eq 1

check "the second time it is there already" sysroot "$work/b"
check "and nothing is fetched" lines "$work/runs" 1
check "both are the same tree" \
	test "$(readlink "$work/a")" = "$(readlink "$work/b")"

rm -rf "$work/cache" "$work/runs"
sysroot "$work/a" & one=$!
sysroot "$work/b" & two=$!
check "two at once: the first works" wait $one
check "two at once: the second works" wait $two
check "one of them made it" lines "$work/runs" 1

rm -rf "$work/cache"
touch "$work/fail"
check "a mirror that does not answer is exit code 3" exits 3 sysroot "$work/c"
check "and leaves nothing" empty_cache
check "nor a link" test ! -e "$work/c"
rm "$work/fail"

touch "$work/lacking"
check "a library that is missing is exit code 3" exits 3 sysroot "$work/c"
check "and is named" grep -q 'libnuma.a' "$work/stderr"
check "half a tree is not kept" empty_cache
rm "$work/lacking"

# A job of its own, so that the whole group can be killed.
touch "$work/slow"
set -m
sysroot "$work/c" & victim=$!
set +m
for _ in $(seq 100); do [ -e "$work/begun" ] && break; sleep 0.1; done
check "it is at work" test -e "$work/begun"
kill -KILL -- -$victim
wait $victim 2>/dev/null
rm "$work/slow"
check "after kill -9 there is no tree" test ! -e "$work/c"
check "and the next run makes one" sysroot "$work/c"
check "and clears away the rest" test ! -e "$work/cache/sysroot-arm64.tmp"

: > "$work/sources"
rm -rf "$work/cache"
check "a host without package lists is exit code 3" exits 3 sysroot "$work/d"
check "and told what to do" grep -q 'apt-get update' "$work/stderr"

echo "1..$n"
