#!/usr/bin/env bash
# Builds the lab's kernel, a User-Mode-Linux with F2FS, ext4 and their tracepoints, from Debian's
# package linux-source. No root is needed for that but to install the packages:
#
#   apt-get install linux-source gcc make flex bison bc xz-utils cpio
#   fs-lab/build-kernel.sh [--exact] linux-lab [SOURCE]
#
# --exact builds one for `destage lab`: it takes its time and its disk from outside (exact.config), and its
# random numbers are the same at every start (exact.patch).
# SOURCE is a linux-source-*.tar.xz or an unpacked tree [the newest in /usr/src]. The build takes
# about 7 minutes of processor time (27 minutes at the lowest priority beside other builds) and 2 GB
# in TMPDIR (/tmp); the package has 140 MB.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
die() { echo "build-kernel.sh: $*" >&2; exit 2; }

exact=
if [ "${1:-}" = --exact ]; then exact=1; shift; fi
[ $# -ge 1 ] && [ $# -le 2 ] || die "usage: build-kernel.sh [--exact] KERNEL [SOURCE]"
for tool in gcc make flex bison bc xz ${exact:+patch}; do
  command -v $tool > /dev/null || die "$tool is missing; the packages stand at the top of $0"
done
source=${2:-$(find /usr/src -maxdepth 1 -name 'linux-source-*.tar.xz' | sort -V | tail -1)}
[ -n "$source" ] || die "no /usr/src/linux-source-*.tar.xz; install the package linux-source"
[ -e "$source" ] || die "$source is not there"

work=$(mktemp -d "${TMPDIR:-/tmp}/destage-kernel.XXXXXX")
trap 'rm -rf "$work"' EXIT
begin=$SECONDS
if [ -d "$source" ]; then
  tree=$(cd "$source" && pwd)
  if [ -n "$exact" ]; then
    # A tree of the user's stays as it is.
    cp -r "$tree" "$work/tree"
    tree=$work/tree
  fi
else
  tar -C "$work" -xJf "$source"
  tree=$(find "$work" -mindepth 1 -maxdepth 1 -type d)
fi
[ -z "$exact" ] || patch -s -d "$tree" -p1 < "$here/exact.patch"
make=(make -s -C "$tree" O="$work/build" ARCH=um)
mkdir "$work/build"
"${make[@]}" x86_64_defconfig
"$tree/scripts/kconfig/merge_config.sh" -m -O "$work/build" "$work/build/.config" \
  "$here/uml.config" ${exact:+"$here/exact.config"} > /dev/null
"${make[@]}" olddefconfig
for option in F2FS_FS EXT4_FS HOSTFS BLK_DEV_IO_TRACE ${exact:+UML_TIME_TRAVEL_SUPPORT VIRTIO_BLK}; do
  grep -q "^CONFIG_$option=y" "$work/build/.config" || die "this source cannot build $option"
done
"${make[@]}" -j"$(nproc)" linux
strip "$work/build/linux"
cp "$work/build/linux" "$1"
echo "built $1 in $((SECONDS - begin)) s: $("$1" --version)"
