#!/usr/bin/env bash
# A real ext4 on `destage serve`: copies a tree to it, and compares what is there after it was
# unmounted and checked; then again with power cuts on the way, after which the journal is replayed.
#
#   sudo fs-lab/ext4.sh --tree /usr/include --cuts 10 -- --scheme lru --cache 4MiB
#
# Without a cut every file must be there, with its content. After a cut the file system must be
# clean once its journal is replayed, and every file whose fsync had ended must be there, with its
# content. Options behind `--` are for `destage serve`.
#
#   --tree DIR      what is copied; each file is synced [crates/live of the project]
#   --cuts N        power cuts, each in a copy of its own [1]
#   --seed N        decides when the power is cut [1]
#   --volume SIZE   size of the file system [256M]
#
# DESTAGE names the program [destage]. Exit code 1: something was lost; 3: not possible here.
set -euo pipefail
export PATH="$PATH:/usr/sbin:/sbin"
here=$(cd "$(dirname "$0")" && pwd)
die() { echo "ext4.sh: $*" >&2; exit 2; }
lost() { echo "ext4.sh: $*" >&2; exit 1; }

all=("$@")
tree=$here/../crates/live cuts=1 seed=1 volume=256M options=()
while [ $# -gt 0 ]; do
  case $1 in
    --) shift; options=("$@"); break;;
    -h|--help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0;;
    --tree|--cuts|--seed|--volume) [ $# -ge 2 ] || die "$1 needs a value";;&
    --tree) tree=$2;;
    --cuts) cuts=$2;;
    --seed) seed=$2;;
    --volume) volume=$2;;
    *) die "no option $1; see --help";;
  esac
  shift 2
done
[ -d "$tree" ] || die "--tree $tree: no such folder"
for n in "$cuts" "$seed"; do
  case $n in ''|*[!0-9]*) die "'$n' is no number";; esac
done
destage=${DESTAGE:-destage}
command -v "$destage" > /dev/null || die "no program $destage; say DESTAGE=path"
work=$(mktemp -d "${TMPDIR:-/tmp}/destage-ext4.XXXXXX")
trap 'rm -rf "$work"' EXIT
. "$here/served.sh"
enter_lab "${all[@]}"
trap leave_lab EXIT
RANDOM=$seed

# Copies the tree, and writes down each file whose fsync has ended. Ends early where the device does.
copy() {
  local file
  while IFS= read -r file; do
    mkdir -p "$mounted/$(dirname "$file")" && cp "$tree/$file" "$mounted/$file" &&
      sync "$mounted/$file" && echo "$file" || return 1
  done < "$work/files"
}
hashes() { (cd "$1" && tr '\n' '\0' < "$2" | xargs -0 -r sha256sum); }
backing() { cp --sparse=always "$work/made" "$work/backing"; }
check() {
  e2fsck -f -n "$disk" > "$work/fsck" 2>&1 || { cat "$work/fsck" >&2; lost "$1: fsck finds faults"; }
}
# Compares what $work/kept names with the tree.
compare() {
  hashes "$tree" "$work/kept" > "$work/wanted"
  hashes "$mounted" "$work/kept" > "$work/found" 2> "$work/gone" || true
  diff "$work/wanted" "$work/found" > "$work/diff" || { head "$work/diff" "$work/gone" >&2; lost "$1"; }
}

(cd "$tree" && find . -type f -size -8M | sort) > "$work/files"
files=$(wc -l < "$work/files")
[ "$files" -gt 0 ] || die "--tree $tree has no files"
serve=(--no-delay "${options[@]}" --backing "$work/backing")

start_server "${serve[@]}"
attach
mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$disk" "$volume"
detach
end_server
cp --sparse=always "$work/backing" "$work/made"

start_server "${serve[@]}"
attach
mount_ext4
copy > "$work/kept" || lost "the device failed without a power cut"
umount "$mounted"
detach
end_server
whole=$(requests)
start_server "${serve[@]}"
attach
check "without a cut"
mount_ext4
compare "without a cut: files have other contents"
umount "$mounted"
detach
end_server
echo "without a cut: $files files copied, fsck clean, contents equal; $whole requests"

for cut in $(seq "$cuts"); do
  # Neither while it is mounted nor while it is unmounted, which may leave no journal to replay.
  at=$((whole / 10 + (RANDOM * 32768 + RANDOM) % (whole * 7 / 10)))
  backing
  start_server "${serve[@]}" --power-cut-after $at
  attach
  mount_ext4
  copy > "$work/kept" 2> /dev/null || true
  umount "$mounted"
  detach
  attach
  dumpe2fs -h "$disk" 2> /dev/null | grep -q needs_recovery || lost "cut at request $at: no journal to replay"
  # Mounting replays the journal.
  mount_ext4 || lost "cut at request $at: cannot be mounted"
  compare "cut at request $at: a synced file is not there as it was"
  umount "$mounted"
  check "cut at request $at"
  detach
  end_server
  grep -q '^power cut:' "$work/served.txt" || lost "the power was not cut"
  echo "cut at request $at: journal replayed, fsck clean, $(wc -l < "$work/kept") of $files files synced" \
    "before it and equal; $(sed -n 's/^power cut: //p' "$work/served.txt")"
done
