#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# folab attach with git itself, with b4 where it is installed, and with a branch
# in b4's form that is made by hand.
. "$(dirname "$0")/tap.sh"

arm64=$top/results/reference/reclaim-file-arm64
x86=$top/results/reference/reclaim-file-x86_64
export HOME=$work GIT_CONFIG_NOSYSTEM=1 XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work
export GIT_AUTHOR_DATE='2020-02-02T02:02:02+0200'
export GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
git config --global user.name 'A U Thor'
git config --global user.email author@example.com
git config --global advice.detachedHead false
repo=$work/repo

# commit FILE SUBJECT
commit() {
	echo "$2" >> "$1" && git add "$1" && git commit -qsm "$2"
}
git init -q -b main "$repo" && cd "$repo" || exit 1
commit f 'base' && commit f 'base, too'
git checkout -q -b topic
commit f 'mm: first' && commit f 'mm: second' && commit g 'mm: third'

attach() { run "$folab" attach "$@"; }
says() { grep -qF -- "$1" "$work/out"; }
# The text between the markers of KEY in FILE, as the report has it.
block() {
	sed -n "/^==== folab:begin ${1//\//\\/} ====\r\?$/,/^==== folab:end ${1//\//\\/} ====\r\?$/p" "$2" |
		tr -d '\r' | sed '1,2d' | head -n -2
}
is_report() {	# DIR KEY FILE
	"$folab" report "$1" | sed 's/ ±/+-/g' > "$work/want"
	block "$2" "$3" | cmp - "$work/want"
}
# FILE without its blocks and the blank line behind each is SECOND, byte for byte.
else_same() {
	sed '/^==== folab:begin /,/^==== folab:end /d' "$1" | cat -s > "$work/rest"
	cat -s "$2" | cmp - "$work/rest"
}
# Notice of everything in a file's inode that may not change by the way.
tree_of() { git log --format='%T %an %ae %ad %cn %cd %B' "$1"; }

# ---- format-patch --------------------------------------------------------------

git config branch.topic.description 'mm: a series

What it is for.

It has two paragraphs.'
fresh() {
	rm -rf "$work/p" && git format-patch -q --cover-letter \
		--cover-from-description=subject -o "$work/p" main..topic
}
fresh
letter=$work/p/0000-cover-letter.patch
cp "$letter" "$work/plain"
attach -r "$arm64" "$work/p"
tap "into what format-patch made" eval \
	'[ $rc = 0 ] && says "reclaim-file/arm64 put in" && is_report "$arm64" reclaim-file/arm64 "$letter"'
tap "all else is as it was" else_same "$letter" "$work/plain"
tap "below the blurb, above the shortlog" eval \
	'grep -A2 "^It has two" "$letter" | grep -q "^==== folab:begin" &&
	 grep -A2 "^==== folab:end" "$letter" | grep -q "^A U Thor (3):"'
tap "ASCII: the letter declares no encoding" eval '! grep -qP "[^\x00-\x7f]" "$letter"'
cp "$letter" "$work/once"
stamp=$(stat -c '%i %Y %Z' "$letter")
attach -r "$arm64" "$letter"
tap "twice is once: not even written" eval \
	'[ $rc = 0 ] && says "nothing to change" && cmp "$letter" "$work/once" && [ "$stamp" = "$(stat -c "%i %Y %Z" "$letter")" ]'
jq '.summary = "another run"' "$arm64/result.json" > "$work/json"
cp -r "$arm64" "$work/later" && cp "$work/json" "$work/later/result.json"
attach -r "$work/later" -r "$x86" "$work/p"
tap "a later run replaces its own, another gets one more" eval \
	'[ $rc = 0 ] && says "reclaim-file/arm64 replaced" && says "reclaim-file/x86_64 put in" &&
	 is_report "$work/later" reclaim-file/arm64 "$letter" && is_report "$x86" reclaim-file/x86_64 "$letter" &&
	 [ $(grep -c "^==== folab:begin" "$letter") = 2 ]'
tap "still, all else is as it was" else_same "$letter" "$work/plain"

# What receives it.
git checkout -q -b applied main
run git am -q "$work"/p/000[1-3]*
tap "git am takes the patches" eval '[ $rc = 0 ] && git diff --quiet topic applied'
git checkout -q -B applied main
cat "$work"/p/*.patch > "$work/mbox"
attach --remove -r "$x86" "$work/mbox"
tap "a mailbox that begins with the cover" eval \
	'[ $rc = 0 ] && says "reclaim-file/x86_64 removed" && ! says arm64'
run git am -q --empty=keep "$work/mbox"
tap "git am takes all of it, the cover as an empty commit" eval \
	'[ $rc = 0 ] && git diff --quiet topic applied && [ $(git rev-list --count main..applied) = 4 ]'
git log -1 --format=%B applied~3 > "$work/cover"
tap "whose message has the whole block" is_report "$work/later" reclaim-file/arm64 "$work/cover"
mkdir "$work/split"
tap "git mailsplit finds four mails" eval '[ "$(git mailsplit -o"$work/split" "$work/mbox")" = 4 ]'
git checkout -q topic
if git send-email --dump-aliases </dev/null >/dev/null 2>&1; then
	run git send-email --dry-run --quiet --to=list@example.com --suppress-cc=all \
		--confirm=never --smtp-server=/bin/true "$work"/p/*.patch
	tap "git send-email takes them and asks nothing" eval \
		'[ $rc = 0 ] && ! grep -q "8bit\|encoding" "$work/out" "$work/err"'
else
	tap_skip "git send-email takes them and asks nothing" "git-email is not installed: make deps"
fi

attach -n --remove "$work/p"
cp "$letter" "$work/both"
tap "-n prints a diff that makes the change" eval \
	'[ $rc = 0 ] && cp "$letter" "$work/copy" && patch -s "$work/copy" < "$work/out" && cmp "$work/copy" "$work/plain"'
tap "and changes nothing" cmp "$letter" "$work/both"
attach --remove "$letter"
tap "--remove gives the first bytes back" eval '[ $rc = 0 ] && cmp "$letter" "$work/plain"'
attach --remove "$letter"
tap "nothing to remove is no error" eval '[ $rc = 0 ] && says "nothing to change"'

# ---- the file itself --------------------------------------------------------------

sed 's/$/\r/' "$work/plain" > "$work/crlf"
cp "$work/crlf" "$work/crlf.was"
attach -r "$arm64" "$work/crlf"
tap "CRLF stays, in the block too" eval \
	'[ $rc = 0 ] && is_report "$arm64" reclaim-file/arm64 "$work/crlf" && ! grep -qv "$(printf "\r")\$" "$work/crlf"'
attach --remove "$work/crlf"
tap "and goes away without a trace" cmp "$work/crlf" "$work/crlf.was"
ln -s p/0000-cover-letter.patch "$work/link"
chmod 640 "$letter"
[ "$(id -u)" != 0 ] || chown 1234:2345 "$letter"
owner=$(stat -c '%a %u %g' "$letter")
attach -r "$arm64" "$work/link"
tap "a link is followed, mode and owner stay" eval \
	'[ $rc = 0 ] && [ -L "$work/link" ] && [ "$(stat -c "%a %u %g" "$letter")" = "$owner" ] && grep -q folab:begin "$letter"'
tap "nothing is left beside it" eval '[ $(ls "$work/p" | wc -l) = 4 ]'
sed -i '/^==== folab:end/d' "$letter"
cp "$letter" "$work/broken"
tap "a marker without the other" fails 2 'has no folab:end' "$folab" attach -r "$arm64" "$letter"
tap "is left alone" cmp "$letter" "$work/broken"

# ---- what it refuses ---------------------------------------------------------------

fresh
tap "nothing of that name" fails 2 'no file, directory or branch "nope"' "$folab" attach -r "$arm64" nope
tap "a patch that is no cover" fails 2 'no cover letter' "$folab" attach -r "$arm64" "$work/p/0001-mm-first.patch"
tap "no mail at all" fails 2 'is no mail' "$folab" attach -r "$arm64" f
mkdir "$work/none"
tap "a directory without one" fails 2 'git format-patch --cover-letter' "$folab" attach -r "$arm64" "$work/none"
cp "$letter" "$work/p/v2-0000-cover-letter.patch"
tap "a directory with two" fails 2 'has several cover letters' "$folab" attach -r "$arm64" "$work/p"
for how in quoted-printable base64; do
	sed "s/^Subject:/Content-Transfer-Encoding: $how\n&/" "$work/plain" > "$work/encoded"
	tap "a body in $how" fails 4 "$how" "$folab" attach -r "$arm64" "$work/encoded"
done
jq '.aa = true' "$arm64/result.json" > "$work/later/result.json"
tap "a kernel against itself" fails 1 'compares a kernel with itself' "$folab" attach -r "$work/later" "$letter"
jq '.validity.valid = false | .validity.reasons = ["kswapd ran"]' "$arm64/result.json" > "$work/later/result.json"
tap "an invalid run" fails 1 'kswapd ran' "$folab" attach -r "$work/later" "$letter"
tap "none of them touched the letter" cmp "$letter" "$work/plain"
attach --force -r "$work/later" "$letter"
tap "--force attaches it, and the text says so" eval \
	'[ $rc = 0 ] && grep -qi "invalid\|not valid" "$letter" && grep -q "kswapd ran" "$letter"'
tap "two results of one scenario" fails 2 'are both of reclaim-file/arm64' \
	"$folab" attach -r "$arm64" -r "$arm64" "$letter"
tap "no result" fails 2 'result.json' "$folab" attach -r "$work/none" "$letter"
tap "no target" fails 2 'takes one' "$folab" attach -r "$arm64"
mkdir -p "$work/home/results" && touch "$work/home/Makefile"
tap "no -r, and no result where they lie" eval \
	'FOLAB_HOME=$work/home fails 2 "name one with -r" "$folab" attach "$letter"'
cp -r "$arm64" "$work/home/results/a" && cp -r "$x86" "$work/home/results/b" && cp -r "$x86" "$work/home/results/c.old"
touch -d '2021-01-01' "$work/home/results/a/result.json"
touch -d '2020-01-01' "$work/home/results/b/result.json"
FOLAB_HOME=$work/home attach -n "$letter"
tap "no -r: the newest result, which is named" eval \
	'[ $rc = 0 ] && grep -q "results/a$" "$work/err" && says "-INVALID"'
attach_full() { "$folab" attach -n -r "$x86" "$letter" >/dev/full 2>"$work/err"; }
tap "a full disk for the answer" eval 'attach_full; [ $? = 3 ]'

# ---- a branch's description ------------------------------------------------------------

git config branch.topic.description > "$work/described"
attach -r "$arm64" topic
git config branch.topic.description > "$work/now"
tap "into branch.topic.description" eval \
	'[ $rc = 0 ] && says "branch topic: reclaim-file/arm64 put in" && is_report "$arm64" reclaim-file/arm64 "$work/now"'
fresh
tap "format-patch puts it into the letter, with no encoding" eval \
	'is_report "$arm64" reclaim-file/arm64 "$letter" && ! grep -q "^Content-" "$letter"'
cd "$work"
attach -r "$arm64" "git:$repo@topic"
tap "git:PATH@BRANCH, from elsewhere, finds it there" eval '[ $rc = 0 ] && says "nothing to change"'
cd "$repo"
attach --remove topic
git config branch.topic.description > "$work/now"
tap "--remove leaves what was there" cmp "$work/now" "$work/described"
tap "a branch without any" fails 2 'no cover letter' "$folab" attach -r "$arm64" main
broken_repo() {
	git init -q "$work/bad" &&
		git -C "$work/bad" config core.repositoryformatversion 9 &&
		fails 3 'git: Expected git repo version' "$folab" attach -r "$arm64" "git:$work/bad@x"
}
tap "a repository that git does not read: its words" broken_repo
tap "no such branch there" fails 2 'no such branch' "$folab" attach -r "$arm64" "git:$repo@nope"

# ---- b4's commit, made by hand -----------------------------------------------------------

git checkout -q -b b4/hand main
git commit -q --allow-empty --cleanup=verbatim -F - <<'END'
mm: by hand

What it is for.

Signed-off-by: A U Thor <author@example.com>

--- b4-submit-tracking ---
# This section is used internally by b4 prep for tracking purposes.
{
  "series": {
    "revision": 1,
    "change-id": "20200202-hand-000000000000"
  }
}
END
export GIT_COMMITTER_DATE='2021-03-03T03:03:03-0300'
commit f 'mm: fourth' && GIT_AUTHOR_NAME='Ünal Öz' commit f 'mm: fünfter'
git notes add -m 'a note on the fourth' HEAD~1
git notes --ref=other add -m 'another on the cover' HEAD~2
echo dirty >> f && echo staged > h && git add h
cover() { git show -s --format=%B "$1" ; }
old=$(git rev-parse b4/hand)
tree_of b4/hand | grep -v '^====' > "$work/log.was"
git status --porcelain > "$work/status.was"
cover b4/hand~2 > "$work/message.was"
attach -n -r "$arm64" b4/hand
tap "-n on b4's commit: a diff, and no commit" eval \
	'[ $rc = 0 ] && says "+==== folab:begin reclaim-file/arm64" && [ $(git rev-parse b4/hand) = $old ]'
attach -r "$arm64" b4/hand
cover b4/hand~2 > "$work/message"
new=$(git rev-parse b4/hand)
tap "into b4's commit" eval \
	'[ $rc = 0 ] && [ $new != $old ] && is_report "$arm64" reclaim-file/arm64 "$work/message"'
tap "above its trailers and its tracking" eval \
	'else_same "$work/message" "$work/message.was" && grep -A2 "^==== folab:end" "$work/message" | grep -q "^Signed-off-by"'
tap "the old head is printed, and in the reflog" eval \
	'says "update-ref refs/heads/b4/hand $old" && [ "$(git rev-parse "b4/hand@{1}")" = $old ]'
tree_of b4/hand | sed '/^==== folab:begin /,/^==== folab:end /d' | cat -s > "$work/log"
tap "trees, names, dates, messages of all commits are as they were" eval \
	'cat -s "$work/log.was" | cmp - "$work/log"'
tap "notes go with their commits" eval \
	'[ "$(git notes show b4/hand~1)" = "a note on the fourth" ] && [ "$(git notes --ref=other show b4/hand~2)" = "another on the cover" ]'
git status --porcelain > "$work/status"
tap "work tree and index notice nothing" cmp "$work/status" "$work/status.was"
attach -r "$arm64" b4/hand
tap "twice is once: no other commits" eval '[ $rc = 0 ] && [ $(git rev-parse b4/hand) = $new ]'
attach --remove b4/hand
tap "--remove: the very commits that were there" eval '[ $rc = 0 ] && [ $(git rev-parse b4/hand) = $old ]'
tap "git fsck has no complaint" eval '[ -z "$(git fsck --strict --no-dangling 2>&1 | grep -i "error\|warning")" ]'
git reset -q --hard

refused() {	# CODE TEXT
	fails "$1" "$2" "$folab" attach -r "$arm64" b4/hand && [ $(git rev-parse b4/hand) = $old ]
}
git -c core.editor=true -c sequence.editor="sed -i 1s/^pick/edit/" rebase -q -i HEAD~1 >/dev/null 2>&1
tap "amid a rebase" refused 4 'under way'
git worktree add -q --detach "$work/other" main
cd "$work/other"
tap "amid a rebase in another work tree" refused 4 "is being rebased in $repo"
cd "$repo"
git rebase --abort
cd "$work/other"
tap "checked out in another work tree" refused 4 "checked out in $repo"
cd "$repo"
git checkout -q main
attach -r "$arm64" b4/hand
tap "a branch that nobody has checked out" eval '[ $rc = 0 ] && [ $(git rev-parse b4/hand) = $new ]'
git update-ref refs/heads/b4/hand $old
git checkout -q b4/hand
# Somebody commits while the new commits are being written.
mkdir "$work/bin"
cat > "$work/bin/git" <<END
#!/bin/sh
case "\$*" in *hash-object*) $(command -v git) update-ref refs/heads/b4/hand topic ;; esac
exec $(command -v git) "\$@"
END
chmod +x "$work/bin/git"
raced() { PATH=$work/bin:$PATH fails 3 'git: ' "$folab" attach -r "$arm64" b4/hand; }
tap "a branch that moves meanwhile stays where it went" eval \
	'raced && [ $(git rev-parse b4/hand) = $(git rev-parse topic) ]'
git update-ref refs/heads/b4/hand $old
printf '#!/bin/sh\nexit 1\n' > .git/hooks/reference-transaction
chmod +x .git/hooks/reference-transaction
tap "git refuses the new head" refused 3 'git: '
rm .git/hooks/reference-transaction
git merge -q --no-ff -m 'a merge' topic~2 >/dev/null 2>&1 || { git checkout -q --theirs . ; git add . ; git commit -qm 'a merge'; }
tap "a merge above the cover" fails 4 'is a merge' "$folab" attach -r "$arm64" b4/hand
git reset -q --hard $old
git checkout -q -b b4/full main
echo more >> f
cover b4/hand~2 | git commit -qa --cleanup=verbatim -F -
tap "a commit that is not empty" fails 2 'no empty commit' "$folab" attach -r "$arm64" b4/full
# As git commit -S writes it.
git checkout -q b4/hand
signed=$(git cat-file commit HEAD | sed '/^committer/a gpgsig -----BEGIN PGP SIGNATURE-----\n \n AAAA\n -----END PGP SIGNATURE-----' |
	git hash-object -t commit -w --stdin)
git reset -q --hard "$signed"
attach -r "$arm64" b4/hand
tap "a signature that is not true any more goes, which is said" eval \
	'[ $rc = 0 ] && says "lost their signatures" && [ $(git rev-parse HEAD) = $new ]'
git clone -q --bare -b b4/hand "$repo" "$work/bare.git" 2>/dev/null
git -C "$work/bare.git" config core.logAllRefUpdates false
attach -r "$x86" "git:$work/bare.git@b4/hand"
tap "in a bare repository, with a reflog of it" eval \
	'[ $rc = 0 ] && [ "$(git -C "$work/bare.git" rev-parse "b4/hand@{1}")" = $new ]'
git config branch.b4/hand.b4-prep-cover-strategy branch-description
git config branch.b4/hand.description 'mm: here

A blurb.'
attach -r "$arm64" b4/hand
tap "b4's strategy branch-description: there, and no commit" eval \
	'[ $rc = 0 ] && git config branch.b4/hand.description | grep -q folab:begin && [ $(git rev-parse HEAD) = $new ]'

# ---- b4 itself ------------------------------------------------------------------------------

if command -v b4 >/dev/null; then
	# It looks for its commit in those of one year.
	unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE
	git checkout -q main
	run b4 prep -n real -f main
	commit f 'mm: with b4' && commit f 'mm: with b4, too'
	attach -r "$arm64" -r "$x86" b4/real
	tap "a branch of b4 prep" eval '[ $rc = 0 ] && says "reclaim-file/x86_64 put in"'
	b4 prep --show-info > "$work/info" 2>&1
	tap "b4 knows its series still" eval \
		'grep -q "^revision: 1" "$work/info" && [ $(grep -c "^commit-" "$work/info") = 2 ]'
	run b4 prep -p "$work/b4"
	tap "b4 makes a letter with both blocks" eval \
		'[ $rc = 0 ] && is_report "$arm64" reclaim-file/arm64 "$work"/b4/0000-* && is_report "$x86" reclaim-file/x86_64 "$work"/b4/0000-*'
	tap "none of whose lines became a trailer" eval \
		'[ "$(sed -n "/^==== folab:end reclaim-file\/x86_64/,/^---/p" "$work"/b4/0000-* | grep -c .)" = 3 ]'
	attach -r "$arm64" "$work/b4"
	tap "which attach reads, too" eval '[ $rc = 0 ] && says "nothing to change"'
	cat > "$work/editor" <<-'END'
		#!/bin/sh
		sed -i 's/^EDITME: describe/This does/' "$1"
	END
	chmod +x "$work/editor"
	run git -c core.editor="$work/editor" config core.editor "$work/editor"
	run b4 prep --edit-cover
	attach -r "$arm64" b4/real
	tap "and what b4 --edit-cover has left" eval '[ $rc = 0 ] && says "nothing to change"'
	attach --remove b4/real
	cover b4/real~2 > "$work/now"
	tap "--remove takes both out" eval '[ $rc = 0 ] && ! grep -q folab: "$work/now" && grep -q "^This does" "$work/now"'
else
	tap_skip "b4 itself" "b4 is not installed: make deps"
fi
tap_done
