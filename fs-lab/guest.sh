# Runs inside the guest, in the tree of the host; replay.sh sets the variables: fs, options, mode,
# run (folder of this run), partition, replayer, trace, lab (folder of this file).
set -eu
export PATH="$PATH:/usr/sbin:/sbin"
name=ubda${partition:+1}
dev=/dev/$name volume=/mnt/volume
mkdir -p $volume
case $fs in
  f2fs) mkfs.f2fs -q -f $dev > "$run/mkfs.log" 2>&1;;
  # Background initialisation would write beside the load.
  ext4) mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 $dev > "$run/mkfs.log" 2>&1;;
esac || { cat "$run/mkfs.log"; exit 1; }
mount -t "$fs" ${options:+-o "$options"} $dev $volume
"$replayer" prepare $volume/file "$trace"
sync
if [ "$fs" = f2fs ]; then
  echo "state: ipu_policy $(cat /sys/fs/f2fs/$name/ipu_policy)," \
    "$(grep " $volume " /proc/mounts | cut -d' ' -f4)"
fi
cd /tmp
"$lab/capture.sh" --device $name --fs "$fs" --out "$run/capture.ftrace" --file $volume/file -- \
  "$replayer" run $volume/file "$trace" "$mode"
umount $volume
touch "$run/done"
