#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# folab run as its user meets it, with root, on hosts of each kind: Debian with
# systemd and cgroup v2, the same kernel without systemd, and one whose memory
# controller is v1's.  What it counts is what the agent counts on that kernel,
# and whenever it is killed, the host is as it was after the next start.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/debian.sh"

if [ "$(uname -m)" != x86_64 ]; then
	tap_skip "folab run on hosts of each kind" "the emulated host runs the folab that is built here, which is no x86_64 one"
	tap_done
	exit
fi

size="-p size=48M -p reclaim=38M"
kernel=$("$folab" build -q -a x86_64 --config host 6.12 2>"$work/err")
tap "a kernel that boots a distribution" [ -s "$kernel" ]
root=$(debian_root 2>"$work/err")
tap "a plain Debian" [ -s "$root" ]

# ---- what each of the hosts runs ------------------------------------------------

cat > "$work/script" <<'GUEST'
#!/bin/bash
if [ $$ = 1 ]; then
	mount -t devtmpfs devtmpfs /dev
	mount -t proc proc /proc
	mount -t sysfs sysfs /sys
	mount -t tmpfs tmpfs /run
fi
exec 3>/dev/ttyS1 </dev/null >/dev/console 2>&1
cd /tmp
export HOME=/root TERM=dumb
size="-p size=48M -p reclaim=38M"
say() { echo "$*" >&3; }

# Everything that a run may change, as it is now.
state() {
	local f
	for f in /sys/kernel/mm/lru_gen/enabled /sys/class/bdi/*/read_ahead_kb \
		 /sys/kernel/mm/transparent_hugepage/enabled /proc/sys/vm/swappiness \
		 /sys/kernel/tracing/function_profile_enabled \
		 /sys/kernel/tracing/options/{graph,sleep}-time \
		 /sys/fs/cgroup/cgroup.subtree_control /proc/mounts; do
		[ ! -e $f ] || sed "s,^,$f ," $f
	done
	cat /sys/block/loop*/loop/backing_file 2>/dev/null
	find /sys/fs/cgroup -name '*folab*' ! -path '*folab-test*' 2>/dev/null
	find /run /var/tmp /tmp ! -path '*systemd*' -name '*folab*' ! -name folab-host.lock
	pgrep -ax folab
}
# What goes by itself, a moment later: devices, scopes, processes.
settled() {
	local i
	for i in $(seq 50); do
		state > /state.now
		cmp -s /state.before /state.now && return
		sleep .2
	done
	diff /state.before /state.now | sed 's/^/# /' >&3
	return 1
}
result() {	# DIR
	say "BEGIN ${1##*/}"
	cat $1/result.json >&3
	say "END"
	rm -rf $1 $1.old
}

with_systemd() {
	state > /state.before
	folab run -q reclaim-file --reps 2 $size -o /here > /report 2> /err
	say "run $?"
	sed 's/^/# /' /report /err >&3
	result /here
	settled; say "settled $?"

	# Twenty kills, at moments of a run that takes about so long.
	export T=$(date +%s%N)
	folab run -q reclaim-file --reps 1 $size -o /once > /dev/null 2>&1
	T=$(( ($(date +%s%N) - T) / 1000000 ))
	rm -rf /once*; settled
	RANDOM=6; done=0
	for i in $(seq 20); do
		folab run -q reclaim-file --reps 1 $size -o /killed > /dev/null 2>&1 &
		at=$(( (RANDOM * 32768 + RANDOM) % T ))
		sleep $(printf '%d.%03d' $((at / 1000)) $((at % 1000)))
		# Every other time what it forked as well, so that nobody puts back.
		[ $((i % 2)) = 0 ] && pkill -9 -x folab || kill -9 $!
		wait $! 2>/dev/null && done=$((done + 1))
		folab run -q clear-chunk --reps 1 -p size=2M -p to=4K -o /next > /dev/null 2> /err
		[ $? -le 1 ] || sed "s/^/# kill $i at $at ms: /" /err >&3
		rm -rf /next* /killed* /.killed* /*.partial*
		settled && say "kill $i ok" || say "kill $i at $at of $T ms: NOT as before"
	done
	say "ended before the kill: $done"
	folab run -q reclaim-file --reps 2 $size -o /again > /dev/null 2>&1
	say "again $?"
	result /again
	folab run -q reclaim-file --reps 1 $size --functions -o /functions > /dev/null 2> /err
	say "functions $? $(tail -n 1 /err)"
	say "shrink $(jq -c '[.kernel_instructions, (.functions[] | select(.name == "shrink_lruvec") | .inclusive)]' /functions/profile-A.json)"
	rm -rf /functions
	state > /state.before
	folab run -q reclaim-file --reps 1 $size --functions=both -o /functions > /report 2> /err
	say "ftrace $? $(tail -n 1 /err)"
	sed 's/^/# /' /report >&3
	folab report /functions | cmp - /report && say "ftrace again"
	say "calls $(jq -c '[("folio_referenced", "shrink_lruvec") as $name | .functions[] | select(.name == $name) | .calls, .self, .inclusive]' /functions/calls-A.json)"
	say "folios $(jq -c '[.trials[0].samples[-1].order_pages | to_entries[] | .value / pow(2; (.key | tonumber))] | add' /functions/result.json)"
	rm -rf /functions
	settled; say "settled-ftrace $?"
	# Somebody else's profile is left alone, and so are settings of a run that dies.
	echo 1 > /sys/kernel/tracing/function_profile_enabled
	folab run -q reclaim-file --reps 1 $size --functions=ftrace -o /functions > /dev/null 2> /err
	say "in-use $? $(tail -n 1 /err)"
	say "left $(cat /sys/kernel/tracing/function_profile_enabled)"
	echo 0 > /sys/kernel/tracing/function_profile_enabled
	folab run -q reclaim-file --reps 1 $size --functions=ftrace -o /functions > /dev/null 2>&1 &
	while [ "$(cat /sys/kernel/tracing/function_profile_enabled)" = 0 ] && kill -0 $! 2>/dev/null; do :; done
	pkill -9 -x folab; wait $! 2>/dev/null
	say "tracing $(cat /sys/kernel/tracing/function_profile_enabled)"
	folab run -q clear-chunk --reps 1 -p size=2M -p to=4K -o /next > /dev/null 2>&1
	rm -rf /next* /functions* /.functions*
	settled; say "settled-killed $?"
	# On file systems that are there.
	mkdir /data
	folab run -q reclaim-file --reps 1 $size --dir /data -o /indir > /dev/null 2> /err
	say "tmpfs $? $(tail -n 1 /err)"
	truncate -s 512M /disk
	mkfs.ext4 -q /disk && mount -o loop /disk /data
	folab run -q reclaim-file --reps 1 $size --dir /data -o /indir > /dev/null 2> /err
	say "ext4 $? $(tail -n 1 /err)"
	umount /data
	mkfs.xfs -q -f /disk && mount -o loop /disk /data
	state > /state.before
	folab run -q reclaim-file --reps 2 $size --dir /data -o /indir > /dev/null 2>&1
	say "xfs $?"
	result /indir
	settled; say "settled-dir $?"
	find /data -mindepth 1 | grep -q .; say "dir-empty $?"
}

# No systemd: pid 1 is a shell.
plain() {
	umount /sys/fs/cgroup 2>/dev/null
	state > /state.before
	folab run -q reclaim-file --reps 1 $size -o /here 2> /err
	say "unmounted $? $(tail -n 1 /err)"
	folab run -q reclaim-file --mount --reps 2 $size -o /here > /report 2> /err
	say "run $? $(tail -n 1 /err)"
	result /here
	settled; say "settled $?"
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
	state > /state.before
	folab run -q reclaim-file --reps 1 $size -o /here 2> /err
	say "disabled $? $(tail -n 1 /err)"
	folab run -q reclaim-file --mount --reps 1 $size -o /here > /dev/null 2> /err
	say "enabled $? $(tail -n 1 /err)"
	rm -rf /here*
	settled; say "settled2 $?"
	for i in 1 2 3 4 5 6; do
		folab run -q reclaim-file --mount --reps 1 $size -o /killed > /dev/null 2>&1 &
		sleep .$((RANDOM % 9 + 1))
		pkill -9 -x folab; wait $! 2>/dev/null
		folab run -q reclaim-file --mount --reps 1 $size -o /here > /dev/null 2> /err
		say "after kill $i $? $(tail -n 1 /err)"
		rm -rf /here* /killed*
	done
	settled; say "settled3 $?"
}
v1() {
	umount /sys/fs/cgroup
	mount -t tmpfs tmpfs /sys/fs/cgroup
	mkdir /sys/fs/cgroup/memory
	mount -t cgroup -o memory memory /sys/fs/cgroup/memory
	say "mounted $?"
	folab run -q reclaim-file --reps 1 $size -o /here 2> /err
	say "v1 $? $(tail -n 1 /err)"
}

if [ $$ = 1 ]; then
	case " $(cat /proc/cmdline) " in
	*" host=v1 "*) v1 ;;
	*) plain ;;
	esac
	say done
	systemctl poweroff --force --force
else
	with_systemd
	say done
fi
GUEST
tap "folab installed beside it" debian_overlay "$work/script" "$work/overlay.cpio"

said() { grep -q "^$1" "$work/$host.out"; }
json() {	# NAME: what the guest said between BEGIN NAME and END, as a result
	mkdir -p "$work/$host-$1"
	sed -n "/^BEGIN $1\$/,/^END\$/p" "$work/$host.out" | sed '1d;$d' > "$work/$host-$1/result.json"
	[ -s "$work/$host-$1/result.json" ]
}
# What the kernel decided and found, of the last pass.  Not pgrefill: by how much
# the inactive list is short is read from statistics that are up to 64 updates a
# processor behind, and these are what the processes of that host did before.
decisions() {
	jq -S '.trials[0].samples[-1] | [.order_pages, .survivors,
		(.counters | with_entries(select(.key | test("^(memcg.pg(scan|steal|activate)|reclaim|pages|file)[.]?"))))]' \
		"$1/result.json"
}

# ---- the agent, for comparison -----------------------------------------------------

run "$folab" ab -q -s reclaim-file -a x86_64 -A 6.12 --aa --config host --boots 1 --reps 2 $size -o "$work/agent"
tap "the agent on that kernel" [ $rc = 0 ]
decisions "$work/agent" > "$work/agent.decisions"

host=systemd
debian_boot systemd "$kernel" 900
sed -n '/^#/p' "$work/systemd.out"
tap "Debian: came to its end" said done
tap "folab run reclaim-file: exit 0" said "run 0"
tap "its result: valid" eval 'json here && jq -e .validity.valid "$work/systemd-here/result.json" >/dev/null'
tap "it counts what the agent counts" eval \
	'decisions "$work/systemd-here" > "$work/here.decisions" && diff "$work/agent.decisions" "$work/here.decisions" | head -n 20 | sed "s/^/# /"; cmp -s "$work/agent.decisions" "$work/here.decisions"'
tap "nothing left behind, every setting as before" said "settled 0"
n=$(grep -c '^kill .* ok$' "$work/systemd.out")
tap "killed at twenty moments: as before after the next start ($n of 20)" [ "$n" = 20 ]
tap "most of them before it had ended" eval '[ "$(sed -n "s/^ended before the kill: //p" "$work/systemd.out")" -lt 8 ]'
tap "and then it counts the same" eval \
	'said "again 0" && json again && decisions "$work/systemd-again" | cmp -s - "$work/agent.decisions"'
tap "functions are sampled" said "functions 0"
tap "most of them in or below shrink_lruvec()" eval \
	'sed -n "s/^shrink //p" "$work/systemd.out" | jq -e ".[0] > 100 and .[1] > .[0] * 0.8 and .[1] <= .[0]" >/dev/null'
tap "ftrace counts functions" eval 'said "ftrace 0" && said "ftrace again"'
# Active and inactive list ask, some folios twice.
grep "^calls\|^folios" "$work/systemd.out" | sed 's/^/# /'
tap "folio_referenced(): a few calls a folio, part of shrink_lruvec()'s time" eval \
	'sed -n "s/^calls //p" "$work/systemd.out" | jq -e --argjson folios "$(sed -n "s/^folios //p" "$work/systemd.out")" \
	".[0] >= \$folios and .[0] <= 4 * \$folios and .[1] <= .[2] and .[2] < .[5] and .[3] >= 1" >/dev/null'
tap "settings of tracing as before" said "settled-ftrace 0"
tap "in use by somebody else: exit 3, and left alone" eval \
	'said "in-use 3 folab: .*somebody uses" && said "left 1"'
tap "killed while it traces: off again after the next start" eval 'said "tracing 1" && said "settled-killed 0"'
tap "--dir in memory: exit 3, and why" said "tmpfs 3 folab: .*reads nothing ahead"
tap "--dir on ext4 of 6.12, without large folios: exit 3" said "ext4 3 folab: .*gives no large folios"
tap "--dir on XFS: it counts the same" eval \
	'said "xfs 0" && json indir && decisions "$work/systemd-indir" | cmp -s - "$work/agent.decisions"'
tap "nothing left in it" eval 'said "settled-dir 0" && said "dir-empty 1"'

host=plain
debian_boot plain "$kernel" 300 rdinit=/folab-test host=plain
tap "no systemd: came to its end" said done
tap "cgroup2 not mounted: exit 3, and --mount helps" said "unmounted 3 folab: cgroup2 is not mounted: .*--mount"
tap "with --mount: it counts what the agent counts" eval \
	'said "run 0" && json here && decisions "$work/plain-here" | cmp -s - "$work/agent.decisions"'
tap "the mount is gone" said "settled 0"
tap "the controller not enabled: exit 3, and --mount helps" said "disabled 3 folab: the memory controller is not enabled .*--mount"
tap "with --mount" said "enabled 0"
tap "it is disabled again" said "settled2 0"
tap "killed at six moments: the next run works" [ "$(grep -c "^after kill . 0" "$work/plain.out")" = 6 ]
tap "and leaves nothing" said "settled3 0"

host=v1
debian_boot v1 "$kernel" 120 rdinit=/folab-test host=v1
tap "v1 has the memory controller: exit 3, and how to boot" \
	said "v1 3 folab: no memory controller of cgroup v2 on this host .*cgroup_no_v1=memory"
[ -z "${FOLAB_KEEP-}" ] || cp -r "$work" "$FOLAB_KEEP"
tap_done
