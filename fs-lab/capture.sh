#!/usr/bin/env bash
# Records what a file system sends to its device, for `destage trace import-ftrace`.
#
#   sudo fs-lab/capture.sh --device nvme0n1 --fs f2fs                    until Ctrl-C
#   sudo fs-lab/capture.sh --device sda2 --fs ext4 --seconds 600
#   sudo fs-lab/capture.sh --device sda2 --fs f2fs --file /data/vm.img -- fio job.fio
#
# Needs root, tracefs and an unmodified kernel (6.1 to 6.18 are known to work). It uses a trace
# instance of its own, so that other tracing goes on, and removes it at its end.
#
#   --device NAME   disk or partition, as in /sys/class/block
#   --fs f2fs|ext4  which events are worth recording
#   --out FILE      event text, compressed if it ends in .zst or .gz [NAME-FS.ftrace.gz]
#   --file PATH     note where the blocks of this file are; needed for O_DIRECT on F2FS; repeatable
#   --seconds N     stop after that time; a command behind `--` stops it at its end
#   --buffer-kb N   trace buffer of each processor [65536]
set -euo pipefail
export PATH="$PATH:/usr/sbin:/sbin"

die() { echo "capture.sh: $*" >&2; exit 2; }
note() { echo "capture.sh: $*" >&2; }

device='' fs='' out='' seconds='' buffer=65536 files=() run=()
while [ $# -gt 0 ]; do
  case $1 in
    --) shift; run=("$@"); break;;
    -h|--help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0;;
    --device|--fs|--out|--file|--seconds|--buffer-kb) [ $# -ge 2 ] || die "$1 needs a value";;&
    --device) device=${2#/dev/};;
    --fs) fs=$2;;
    --out) out=$2;;
    --file) files+=("$2");;
    --seconds) seconds=$2;;
    --buffer-kb) buffer=$2;;
    *) die "no option $1; see --help";;
  esac
  shift 2
done
[ -n "$device" ] || die "--device NAME is missing"
case $fs in f2fs|ext4) ;; *) die "--fs is f2fs or ext4, not '$fs'";; esac
for n in "$buffer" "${seconds:-1}"; do
  case $n in ''|*[!0-9]*|0) die "'$n' is no positive number";; esac
done
sys=/sys/class/block/$device
[ -e "$sys/dev" ] || die "no block device $device in /sys/class/block"
[ "$(id -u)" = 0 ] || die "tracing needs root"
for file in "${files[@]}"; do [ -f "$file" ] || die "--file $file: no such file"; done
out=${out:-$device-$fs.ftrace.gz}

tracefs=/sys/kernel/tracing
[ -d $tracefs/events ] || mount -t tracefs tracefs $tracefs 2>/dev/null ||
  die "no tracefs in $tracefs; the kernel needs CONFIG_FTRACE"
[ -d $tracefs/events/block ] || die "the kernel has no block events (CONFIG_BLK_DEV_IO_TRACE)"
[ "$fs" = ext4 ] || [ -d $tracefs/events/f2fs ] ||
  die "the kernel has no events of f2fs; is the module loaded, is a volume mounted?"

# A partition's requests carry the numbers of its disk in block events.
dev=$(cat "$sys/dev") disk=$dev start=0
if [ -e "$sys/partition" ]; then
  disk=$(cat "$sys/../dev")
  start=$(cat "$sys/start")
fi
kernel_dev() { echo $(( (${1%:*} << 20) | ${1#*:} )); }
# Devices such as dm-0 take bios as they come and have no queue of requests.
stream=issue
case $device in dm-*|md*) stream=queue;; esac
if command -v findmnt > /dev/null; then
  onto=$(findmnt -no SOURCE -T "$(dirname "$out")" 2>/dev/null || true)
  [ "$onto" != "/dev/$device" ] || note "$out lies on the device that is recorded"
fi

instance=$tracefs/instances/destage-$$
mkdir $instance || die "cannot make a trace instance"
reader='' paused=''
finish() {
  trap '' INT TERM HUP EXIT
  [ -z "$reader" ] || kill "$reader" 2>/dev/null || true
  [ -z "$paused" ] || kill "$paused" 2>/dev/null || true
  echo 0 > $instance/tracing_on
  echo 0 > $instance/events/enable
  # The reader may hold the instance for a moment.
  for _ in 1 2 3 4 5; do rmdir $instance 2>/dev/null && break; sleep 0.2; done
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

echo 0 > $instance/tracing_on
echo mono > $instance/trace_clock
echo "$buffer" > $instance/buffer_size_kb
# What does not fit is left out, instead of what was recorded first.
echo 0 > $instance/options/overwrite

# event GROUP/NAME FILTER: turns an event on; kernels differ in their names.
event() {
  local at=$instance/events/$1
  [ -d "$at" ] || return 1
  [ -z "$2" ] || echo "$2" > "$at/filter" 2>/dev/null || note "no filter '$2' for $1"
  echo 1 > "$at/enable"
}
on_disk="dev == $(kernel_dev "$disk")"
on_fs="dev == $(kernel_dev "$dev")"
event block/block_rq_issue "$on_disk" || die "the kernel has no event block_rq_issue"
event block/block_bio_queue "$on_disk" || die "the kernel has no event block_bio_queue"
[ "$start" = 0 ] || event block/block_bio_remap "$on_disk" || true
if [ "$fs" = f2fs ]; then
  pages=0
  for name in f2fs_submit_page_write f2fs_submit_folio_write; do
    if event f2fs/$name "$on_fs"; then pages=1; fi
  done
  [ $pages = 1 ] || die "the kernel has no event f2fs_submit_page_write or _folio_write"
  for name in f2fs_submit_page_bio f2fs_submit_folio_bio; do
    event f2fs/$name "$on_fs && op == 1" || true
  done
  event f2fs/f2fs_map_blocks "$on_fs && flag == 3" || true
  for name in f2fs_submit_write_bio f2fs_write_checkpoint f2fs_gc_begin f2fs_gc_end \
    f2fs_direct_IO_enter f2fs_replace_atomic_write_block f2fs_queue_discard; do
    event f2fs/$name "$on_fs" || note "the kernel has no event $name"
  done
fi

seeds=()
for file in "${files[@]}"; do
  sync "$file"
  inode=$(stat -c %i "$file")
  filefrag -v "$file" > "$out.fiemap.$inode"
  seeds+=(--fiemap "$inode=$out.fiemap.$inode")
done

case $out in
  *.zst) pack=(zstd -q -f -o "$out");;
  *.gz) pack=(gzip -c);;
  *) pack=(cat);;
esac
fifo=$(mktemp -u); mkfifo "$fifo"
if [ "${pack[0]}" = zstd ]; then "${pack[@]}" < "$fifo" & else "${pack[@]}" < "$fifo" > "$out" & fi
packer=$!
exec 3> "$fifo"
rm "$fifo"
cat $instance/trace_pipe >&3 &
reader=$!

status=0
# A signal ends the load or the pause, not this script.
trap 'true' INT TERM HUP
echo 1 > $instance/tracing_on
if [ ${#run[@]} -gt 0 ]; then
  "${run[@]}" 3>&- || status=$?
  sync
else
  note "recording $device ($fs) to $out${seconds:+ for $seconds s}; Ctrl-C ends it"
  sleep "${seconds:-infinity}" 3>&- & paused=$!
  wait $paused || true
fi
trap '' INT TERM HUP
# What is on its way to the device when the load ends belongs to it.
sleep 1
echo 0 > $instance/tracing_on

unread() { cat $instance/per_cpu/cpu*/stats | awk '/^entries:/ { n += $2 } END { print n + 0 }'; }
for _ in $(seq 600); do [ "$(unread)" -gt 0 ] || break; sleep 0.1; done
lost=$(cat $instance/per_cpu/cpu*/stats |
  awk '/^(overrun|dropped events|commit overrun):/ { n += $NF } END { print n + 0 }')
sleep 0.2
# A reader ends by itself once recording is over, unless there was nothing to read.
kill "$reader" 2>/dev/null || true; wait "$reader" 2>/dev/null || true; reader=''
# What does not fit into the buffer is counted there but leaves no mark in the text.
if [ "$lost" != 0 ]; then
  note "the kernel lost $lost events; record again with a larger --buffer-kb"
  echo "CPU:0 [LOST $lost EVENTS]" >&3
fi
exec 3>&-
wait $packer

import=(destage trace import-ftrace "$out" --fs "$fs")
if [ "$dev" != "$disk" ]; then
  import+=(--device "${disk/:/,}:fs=${dev/:/,}:start=$start")
else
  import+=(--device "${dev/:/,}")
fi
[ $stream = issue ] || import+=(--stream queue)
import+=("${seeds[@]}" -o "${out%.ftrace*}.csv")
echo "recorded: $out"
echo "import:   ${import[*]}"
exit $status
