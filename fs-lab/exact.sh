#!/usr/bin/env bash
# A file system in simulated time: a user-mode kernel whose clock is a calendar outside of it, on a
# block device that takes LATENCY for each request by that calendar. The same load each time: mkfs,
# mount, 500 direct writes of 4 KiB, a copy of /usr/include/linux, unmount, check.
#
#   MORE=fs-lab/exact.config fs-lab/build-kernel.sh linux-exact
#   fs-lab/exact.sh linux-exact [ext4|f2fs [LATENCY_NS [RUNS]]]      [ext4, 100000, 2]
#
# Packages: python3, e2fsprogs or f2fs-tools.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
die() { echo "exact.sh: $*" >&2; exit 2; }
case ${1:-} in -h|--help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0;; esac
[ $# -ge 1 ] && [ $# -le 4 ] || die "usage: exact.sh KERNEL [ext4|f2fs [LATENCY_NS [RUNS]]]"
[ -x "$1" ] || die "$1 is no program"
kernel=$(realpath "$1") fs=${2:-ext4} latency=${3:-100000} runs=${4:-2}
for n in "$latency" "$runs"; do case $n in ''|*[!0-9]*|0) die "'$n' is no positive number";; esac; done
case $fs in
  ext4) mkfs="mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0" check="e2fsck -fn";;
  f2fs) mkfs="mkfs.f2fs -q -f" check="fsck.f2fs";;
  *) die "'$fs' is neither ext4 nor f2fs";;
esac
export PATH="$PATH:/usr/sbin:/sbin"
for tool in python3 "${mkfs%% *}"; do command -v "$tool" > /dev/null || die "$tool is missing"; done
work=$(mktemp -d "${TMPDIR:-/tmp}/destage-exact.XXXXXX")
trap 'kill $(jobs -p) 2> /dev/null || true; rm -rf "$work"' EXIT
cat > "$work/init" <<GUEST
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc && mount -t tmpfs tmp /mnt
mount | grep -q ' /dev ' || mount -t devtmpfs dev /dev
mkdir /mnt/volume
$mkfs /dev/vda > /mnt/log 2>&1 && mount -t $fs /dev/vda /mnt/volume || cat /mnt/log
dd if=/dev/zero of=/mnt/volume/file bs=4k count=500 oflag=direct 2>&1 | tail -1
cp -r /usr/include/linux /mnt/volume/ && umount /mnt/volume
$check /dev/vda > /mnt/log 2>&1 && echo "clean" || cat /mnt/log
exec poweroff -f
GUEST
chmod +x "$work/init"
for run in $(seq "$runs"); do
  mkdir "$work/$run"
  timeout -s KILL 120 python3 "$here/exact.py" "$work/$run" "$latency" 262144 > "$work/$run/said" &
  until grep -q ready "$work/$run/said" 2> /dev/null; do sleep 0.05; done
  timeout -s KILL 110 "$kernel" mem=256M root=/dev/root rootfstype=hostfs rootflags=/ rw quiet \
    init="$work/init" time-travel=ext:"$work/$run/calendar" \
    virtio_uml.device="$work/$run/disk":2 con=null con0=fd:0,fd:1 < /dev/null > "$work/$run/guest" 2>&1
  wait $!
  echo "run $run: $(tail -1 "$work/$run/said")"
  grep -E "bytes|clean" "$work/$run/guest" || { cat "$work/$run/guest" >&2; exit 1; }
done
