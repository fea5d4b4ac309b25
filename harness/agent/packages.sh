# SPDX-License-Identifier: GPL-2.0
#
# Sourced by sysroot and stress-ng: Debian's packages of an architecture that
# this host need not be, unpacked, and what was picked from them kept in the
# cache.
#
# The packages come from the archive that this host's apt uses already, through
# mmdebstrap, so that neither dpkg nor apt learn of a foreign architecture.  A
# tree is made beside its place, then renamed, under a lock: a kill at any
# moment and two runs at once do no harm.
#
# The script that sources this has functions and variables:
#	name		of the tree, and of the script in messages
#	packages	to unpack
#	pick ROOT TREE	copies what is wanted
#
# Exit code: 2 wrong use, 3 this host lacks something.

die() {
	code=$1
	shift
	printf '%s: %s\n' "$name" "$*" >&2
	exit "$code"
}

# Debian's entries among the host's sources, whatever their file and format;
# what a third party added is left out.  The origin stands in the signed
# Release files, which apt-get update fetches.
sources() {
	apt-get indextargets --format \
		'$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' |
	awk '$1 == "Debian" && NF == 4 && !seen[$0]++ \
		{ print "deb", $2, $3, $4 }'
}

# How the host's apt reaches its archive (a proxy, a client certificate).
apt_options() {
	apt-config dump |
	grep -E '^Acquire::(https?|[a-z]+::Proxy|Retries|Proxy)[^ ]* "[^"]+";$' ||
		true
}

make_tree() {
	command -v mmdebstrap >/dev/null ||
		die 3 "mmdebstrap is missing; install it: apt-get install mmdebstrap"
	list=$(sources)
	[ -n "$list" ] ||
		die 3 "apt knows no package list of Debian; run: apt-get update"

	set --
	while IFS= read -r line; do
		[ -z "$line" ] || set -- "$@" "--aptopt=$line"
	done <<-OPTIONS
	$(apt_options)
	OPTIONS

	if ! printf '%s\n' "$list" |
	     mmdebstrap --quiet --variant=extract --mode=chrootless \
		--architectures="$arch" \
		--include="$(echo $packages | tr ' ' ,)" "$@" \
		--skip=check/qemu --skip=output/dev --skip=output/mknod \
		"" "$work/root" - >"$work/log" 2>&1 </dev/stdin; then
		tail -n 3 "$work/log" >&2
		die 3 "can't get Debian's $arch packages ($packages)"
	fi
	pick "$work/root" "$work/tree"
}

# keep DEBIAN_ARCH CACHE_DIR DEST: make CACHE_DIR/NAME-ARCH-HASH once, and let
# DEST be a symbolic link to it.
keep() {
	[ $# -eq 3 ] || die 2 "usage: $name DEBIAN_ARCH CACHE_DIR DEST"
	arch=$1 cache=$2 dest=$3

	case $arch in
	arm64)	triplet=aarch64-linux-gnu ;;
	amd64)	triplet=x86_64-linux-gnu ;;
	*)	die 2 "no architecture that folab knows: $arch (arm64, amd64)" ;;
	esac

	mkdir -p "$cache" || die 3 "can't make the cache directory $cache"
	cache=$(cd "$cache" && pwd)
	hash=$({ echo "$arch"; cat "$0" "$(dirname "$0")/packages.sh"; } |
		sha256sum | cut -c1-16)
	tree=$cache/$name-$arch-$hash

	# Wait for another run that makes the same tree; what a killed one left
	# goes.
	exec 9>"$cache/$name-$arch.lock"
	flock 9
	if [ ! -d "$tree" ]; then
		work=$cache/$name-$arch.tmp
		rm -rf "$work"
		mkdir "$work"
		trap 'rm -rf "$work"' EXIT
		trap 'exit 130' INT TERM HUP
		make_tree
		mv "$work/tree" "$tree"
	fi

	touch -c "$tree"	# newer than this script, for make
	mkdir -p "$(dirname "$dest")"
	ln -sfn "$tree" "$dest.new.$$"
	mv -T "$dest.new.$$" "$dest"
}
