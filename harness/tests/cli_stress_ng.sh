#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# harness/agent/stress-ng keeps a program with all that it needs, and nothing
# else; whole or not at all.  mmdebstrap is a stand-in that "unpacks" a program
# of this host under stress-ng's name, so that what is kept can be run.
. "$(dirname "$0")/tap.sh"

case $(uname -m) in
aarch64) arch=arm64 triplet=aarch64-linux-gnu ;;
x86_64)	arch=amd64 triplet=x86_64-linux-gnu ;;
*)	echo "1..0 # SKIP no architecture of a guest"; exit ;;
esac
program=$(type -P git)
mkdir "$work/bin"
cat > "$work/bin/apt-get" <<'APT'
#!/bin/sh
echo Debian http://deb.example/debian/ bookworm main
APT
printf '#!/bin/sh\n' > "$work/bin/apt-config"
cat > "$work/bin/mmdebstrap" <<'MMD'
#!/bin/bash
echo run >> "$WORK/runs"
root=${@: -2:1}
mkdir -p "$root/usr/bin" "$root/usr/lib/$TRIPLET" "$root/usr/share/doc"
touch "$root/usr/share/doc/of-no-use"
[ -e "$WORK/empty" ] || cp "$PROGRAM" "$root/usr/bin/stress-ng"
ldd "$PROGRAM" | grep -o '/[^ ]*' | while read -r l; do
	[ -e "$WORK/lacking" ] && [[ $l == *libz.so* ]] && continue
	cp -L "$l" "$root/usr/lib/$TRIPLET/"
done
MMD
chmod +x "$work"/bin/*
export WORK=$work PROGRAM=$program TRIPLET=$triplet PATH=$work/bin:$PATH

fetch() { harness/agent/stress-ng "$arch" "$work/cache" "$work/$1"; }
empty_cache() { [ -z "$(ls "$work/cache" | grep -v '\.lock$')" ]; }
kept_runs() {
	local linker
	linker=$(find -L "$work/a" -name 'ld-linux*')
	[ "$("$linker" --library-path "$work/a/lib" "$work/a/usr/bin/stress-ng" --version)" = "$(git --version)" ]
}

tap "wrong use is exit code 2" eval 'run harness/agent/stress-ng arm64; [ $rc = 2 ]'
tap "it is made" eval 'run fetch a; [ $rc = 0 ]'
tap "what is kept runs with nothing but that" kept_runs
tap "regular files and directories only" eval '[ -z "$(find "$work/a/" ! -type f ! -type d)" ]'
tap "and nothing that it does not need" eval '[ -z "$(find "$work/a/" -name of-no-use)" ]'
tap "the dynamic linker is there once" eval '[ $(find "$work/a/" -name "ld-linux*" | wc -l) = 1 ]'
tap "the second time nothing is fetched" eval 'run fetch b; [ $rc = 0 ] && [ $(wc -l < "$work/runs") = 1 ]'
rm -rf "$work/cache" "$work/a" "$work/b"
touch "$work/lacking"
run fetch a
tap "a library that is missing: exit code 3, named" eval '[ $rc = 3 ] && grep -q "no libz.so" "$work/err"'
tap "and half a tree is not kept" eval 'empty_cache && [ ! -e "$work/a" ]'
rm "$work/lacking"
touch "$work/empty"
run fetch a
tap "a package without the program: exit code 3" eval '[ $rc = 3 ] && grep -q "usr/bin/stress-ng" "$work/err" && empty_cache'
rm "$work/empty"
fetch a & one=$!
fetch b & two=$!
tap "two at once: both work" eval 'wait $one && wait $two'
tap "with the same tree" eval '[ "$(readlink "$work/a")" = "$(readlink "$work/b")" ]'
tap_done
