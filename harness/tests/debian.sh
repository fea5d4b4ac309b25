# SPDX-License-Identifier: GPL-2.0
# Sourced by tests that need a host to run folab on: a plain Debian, x86_64, as
# the initramfs of an emulated machine.  Not a guest of folab's: nothing in it
# is ours but the installed folab.

# Packages that hold the libraries of $folab, and the system below them.
debian_packages() {
	local lib
	# dpkg knows a library by /lib or by /usr/lib, and one is a link.
	for lib in $(ldd "$folab" | awk '$3 ~ /^\// { print $3 }'); do
		dpkg-query -S "$lib" "/usr$lib" "$(realpath "$lib")" 2>/dev/null | head -n 1
	done | sed 's/:.*//' | sort -u
	echo systemd systemd-sysv udev dbus procps util-linux mount xfsprogs e2fsprogs jq
}

# Path of the archive, made if the cache has none of these packages yet.
debian_root() {
	local suite packages key dir
	suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
	packages=$(debian_packages | tr -s ' \n' ',' | sed 's/,$//')
	key=$(echo "$suite $packages" | sha256sum | cut -c 1-16)
	dir=${XDG_CACHE_HOME:-$HOME/.cache}/folab/roots
	mkdir -p "$dir" || return 1
	(
		flock 9
		[ ! -s "$dir/$key.cpio" ] || exit 0
		rm -rf "$dir/$key.new"
		mmdebstrap --quiet --variant=minbase --format=tar \
			--include="$packages" \
			--dpkgopt='path-exclude=/usr/share/doc/*' \
			--dpkgopt='path-exclude=/usr/share/locale/*' \
			--dpkgopt='path-exclude=/usr/share/man/*' \
			"$suite" - 2>"$work/mmdebstrap.log" |
			bsdtar --format newc -cf "$dir/$key.new" @- &&
			[ -s "$dir/$key.new" ] &&
			mv "$dir/$key.new" "$dir/$key.cpio"
	) 9>"$dir/$key.lock"
	[ -s "$dir/$key.cpio" ] || { tail -n 3 "$work/mmdebstrap.log" >&2; return 1; }
	echo "$dir/$key.cpio"
}

# An archive of the installed folab and of the script that the guest is to run.
debian_overlay() {	# SCRIPT OUT
	local to=$work/overlay
	rm -rf "$to"
	make -s -C "$top" B="$build" install DESTDIR="$to" PREFIX=/usr >/dev/null &&
	install -m 755 "$1" "$to/folab-test" &&
	mkdir -p "$to/etc/systemd/system/multi-user.target.wants" &&
	ln -s sbin/init "$to/init" &&
	cat > "$to/etc/systemd/system/folab-test.service" <<-'UNIT' &&
	[Unit]
	After=multi-user.target
	[Service]
	Type=oneshot
	ExecStart=/folab-test
	ExecStopPost=/bin/systemctl poweroff --force --force
	StandardOutput=null
	StandardError=null
	UNIT
	ln -s ../folab-test.service "$to/etc/systemd/system/multi-user.target.wants/" &&
	( cd "$to" && find . -mindepth 1 | LC_ALL=C sort | bsdtar --format newc --uid 0 --gid 0 -n -cf "$2" -T - )
}

# Boot it; what the script writes to /dev/ttyS1 comes out as $work/NAME.out.
debian_boot() {	# NAME KERNEL SECONDS WORDS...
	local name=$1 kernel=$2 seconds=$3 rc
	shift 3
	cat "$root" "$work/overlay.cpio" > "$work/initrd"
	timeout -k 5 "$seconds" qemu-system-x86_64 -nodefaults -no-reboot -display none \
		-machine q35 -cpu max -accel tcg -icount shift=1,sleep=off -smp 1 -m 3G \
		-kernel "$kernel" -initrd "$work/initrd" \
		-append "console=ttyS0 panic=-1 quiet $*" \
		-serial "file:$work/$name.console" -serial "file:$work/$name.out" \
		2>"$work/err" </dev/null
	rc=$?
	sed -i 's/\r$//' "$work/$name.out"
	return $rc
}
