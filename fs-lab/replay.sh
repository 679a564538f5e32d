#!/usr/bin/env bash
# Replays a block trace as file I/O on real ext4 and F2FS and captures what they send to their
# device, with the old address of every block: the method of CAC section 5.1, without privileges
# and without a kernel patch, in a User-Mode-Linux kernel.
#
#   fs-lab/replay.sh --kernel linux-lab --out captures TRACE
#
#   --kernel FILE   kernel of build-kernel.sh, or FILE.xz [what DESTAGE_FS_LAB names: a kernel, or
#                   a folder with a file linux*]
#   --fs FS[:OPTS]  ext4 or f2fs with its mount options; repeatable [ext4, f2fs:mode=lfs]
#   --mode MODE     when data must be durable: fdatasync, fsync, dsync, direct, buffered [fdatasync]
#   --limit N       only the first N requests
#   --volume SIZE   size of the volume, such as 2G [2G]
#   --partition     put the file system on a partition of the volume, not on all of it
#   --cache SIZE    cache of the comparison at the end [16MiB]
#   --timeout S     seconds for each file system [900]
#   --out DIR       folder for captures [captures]
#
# Packages: busybox-static cpio f2fs-tools e2fsprogs xz-utils. DESTAGE names the program
# [destage], FILE_REPLAY the replayer [built with cargo].
set -euo pipefail
export PATH="$PATH:/usr/sbin:/sbin"
here=$(cd "$(dirname "$0")" && pwd)
die() { echo "replay.sh: $*" >&2; exit 2; }

kernel='' partition='' systems=() mode=fdatasync limit='' volume=2G cache=16MiB timeout=900 out=captures trace=''
while [ $# -gt 0 ]; do
  case $1 in
    -h|--help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0;;
    --kernel|--fs|--mode|--limit|--volume|--cache|--timeout|--out)
      [ $# -ge 2 ] || die "$1 needs a value";;&
    --kernel) kernel=$2; shift;;
    --partition) partition=1;;
    --fs) systems+=("$2"); shift;;
    --mode) mode=$2; shift;;
    --limit) limit=$2; shift;;
    --volume) volume=$2; shift;;
    --cache) cache=$2; shift;;
    --timeout) timeout=$2; shift;;
    --out) out=$2; shift;;
    -*) die "no option $1; see --help";;
    *) [ -z "$trace" ] || die "one trace at a time"; trace=$1;;
  esac
  shift
done
[ -n "$trace" ] || die "usage: replay.sh [OPTIONS] TRACE"
[ -f "$trace" ] || die "$trace is not there"
[ ${#systems[@]} -gt 0 ] || systems=(ext4 f2fs:mode=lfs)
for system in "${systems[@]}"; do
  case $system in ext4|f2fs|ext4:*|f2fs:*) ;; *) die "--fs $system: only ext4 and f2fs";; esac
done
case $mode in fdatasync|fsync|dsync|direct|buffered) ;; *) die "no mode $mode; see --help";; esac

busybox=$(command -v busybox) || die "busybox is missing (package busybox-static)"
for tool in cpio mkfs.f2fs mkfs.ext4 filefrag timeout; do
  command -v $tool > /dev/null || die "$tool is missing; the packages stand at the top of $0"
done
destage=${DESTAGE:-destage}
command -v "$destage" > /dev/null || die "no program $destage; say DESTAGE=path"
replayer=${FILE_REPLAY:-}
if [ -z "$replayer" ]; then
  command -v "${CARGO:-cargo}" > /dev/null || die "no cargo to build the replayer; say FILE_REPLAY"
  (cd "$here/.." && "${CARGO:-cargo}" build -q -p destage-trace --example file_replay)
  target=${CARGO_TARGET_DIR:-$here/../target}
  replayer=$target/debug/examples/file_replay
fi
replayer=$(realpath "$replayer")

kernel=${kernel:-${DESTAGE_FS_LAB:-}}
[ -n "$kernel" ] || die "no kernel: --kernel FILE or DESTAGE_FS_LAB (build-kernel.sh makes one)"
[ ! -d "$kernel" ] || kernel=$(find "$kernel" -maxdepth 1 -name 'linux*' | sort | head -1)
[ -f "$kernel" ] || die "the kernel is not there: ${kernel:-no file linux* in the folder}"

# The guest reaches the host's tree, except for what it mounts itself.
base=$(realpath "${TMPDIR:-/tmp}")
case $base in /dev*|/proc*|/sys*|/mnt*) die "the guest does not see $base; say TMPDIR=/tmp";; esac
work=$(mktemp -d "$base/destage-lab.XXXXXX")
# Its memory and its volume, in memory if there is room for files that can be executed.
memory=$work
[ ! -w /dev/shm ] || memory=$(mktemp -d /dev/shm/destage-lab.XXXXXX)
trap 'rm -rf "$work" "$memory"' EXIT
export TMPDIR=$memory
case $kernel in *.xz) xz -dc "$kernel" > "$work/linux";; *) cp "$kernel" "$work/linux";; esac
chmod +x "$work/linux"
"$work/linux" --version > /dev/null 2>&1 || die "$kernel cannot be executed"
mkdir -p "$out"

# The requests as the program reads them, so that every format will do.
"$destage" trace convert "$trace" ${limit:+--limit "$limit"} -o "$work/trace.csv"

# An initial file system of one program: it enters the host's tree and runs guest.sh there.
mkdir -p "$work/root"/{bin,proc,sys,dev,host,tmp}
cp "$busybox" "$work/root/bin/busybox"
cat > "$work/root/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t hostfs none /host
mount -t tracefs tracefs /sys/kernel/tracing
for tree in dev proc sys; do mount -o rbind /$tree /host/$tree; done
mount -t tmpfs tmpfs /host/mnt
script=$(sed -n 's/.*lab=\([^ ]*\).*/\1/p' /proc/cmdline)
chroot /host /bin/bash "$script"
sync
poweroff -f
INIT
chmod +x "$work/root/init"
(cd "$work/root" && find . | cpio -o -H newc 2>/dev/null | gzip -1) > "$work/initrd.gz"

# A table with one partition, from sector 2048 to the end.
little_endian() { printf "%08x" "$1" | sed 's/\(..\)\(..\)\(..\)\(..\)/\\x\4\\x\3\\x\2\\x\1/'; }
partition_table() {
  local sectors=$(($(stat -c %s "$1") / 512 - 2048))
  {
    printf '\0\0\0\0\x83\0\0\0'
    printf "$(little_endian 2048)$(little_endian $sectors)"
    head -c 48 /dev/zero
    printf '\x55\xaa'
  } | dd of="$1" bs=1 seek=446 conv=notrunc status=none
}

imported=()
for system in "${systems[@]}"; do
  name=${system//[^a-zA-Z0-9.]/-}
  fs=${system%%:*} options=''
  case $system in *:*) options=${system#*:};; esac
  run=$work/$name
  mkdir -p "$run"
  truncate -s "$volume" "$memory/volume.img"
  [ -z "$partition" ] || partition_table "$memory/volume.img"
  {
    for variable in fs options mode run replayer partition; do
      printf '%s=%q\n' $variable "${!variable}"
    done
    printf 'trace=%q\nlab=%q\n' "$work/trace.csv" "$here"
    printf '. %q\n' "$here/guest.sh"
  } > "$run/start.sh"
  begin=$SECONDS
  timeout -s KILL "$timeout" "$work/linux" mem=1024M initrd="$work/initrd.gz" root=/dev/ram0 rw \
    con=null con0=null,fd:1 con1=null,fd:1 ssl=null quiet lab="$run/start.sh" \
    ubd0="$memory/volume.img" < /dev/null > "$run/console.log" 2>&1 || true
  rm -f "$memory/volume.img"
  if [ ! -f "$run/done" ] && grep -qi 'ptrace.*\(fail\|not permitted\)' "$run/console.log"; then
    die "ptrace is missing: a user-mode kernel cannot run where it is forbidden"
  fi
  if [ ! -f "$run/done" ]; then
    tail -20 "$run/console.log" >&2
    echo "replay.sh: $system: the guest did not end its run" >&2
    exit 1
  fi
  grep -E '^(replayed|prepared|state|recorded)' "$run/console.log" | sed "s/^/$name: /"
  echo "$name: $((SECONDS - begin)) s with start and end of the guest"
  # Which device, and where its partition begins, as capture.sh found out.
  read -ra device < <(sed -n 's/^import:.* \(--device [^ ]*\).*/\1/p' "$run/console.log" | tr -d '\r')
  seeds=()
  for seed in "$run"/capture.ftrace.fiemap.*; do
    [ ! -f "$seed" ] || seeds+=(--fiemap "${seed##*.}=$seed")
  done
  "$destage" trace import-ftrace "$run/capture.ftrace" --fs "$fs" --strict "${device[@]}" "${seeds[@]}" \
    -o "$out/$name.csv" 2> "$run/import.txt" || { cat "$run/import.txt" >&2; exit 1; }
  gzip -1 < "$run/capture.ftrace" > "$out/$name.ftrace.gz"
  cat "$run/import.txt" > "$out/$name.import.txt"
  [ ${#seeds[@]} = 0 ] || cp "$run"/capture.ftrace.fiemap.* "$out/"
  sed "s/^/$name: /" "$run/import.txt"
  imported+=("$out/$name.csv")
done

"$destage" run "${imported[@]}" --tags data --device cac-128g --cache "$cache" \
  --scheme lru --scheme 'cac(lru)' --scheme arc --scheme 'cac(arc)'
