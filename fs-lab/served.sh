# A real ext4 on `destage serve`; sourced by ext4.sh and algorithm2.sh. The way of a request:
#
#   ext4 - loop device - file of nbdfuse - socket - destage serve
#
# Needs root, /dev/fuse, loop devices and ext4 of the running kernel. Mounts are in a name space of
# their own, so none is left behind. The caller has set `work`, its temporary folder.

disk=$work/disk        # the device, as a file
mounted=$work/mounted  # where its ext4 is mounted
server='' fuse=''

# Runs the calling script again, in a mount name space of its own. Exit code 3: not possible here.
enter_lab() {
  local tool
  for tool in nbdfuse mkfs.ext4 e2fsck dumpe2fs losetup unshare setsid timeout; do
    command -v $tool > /dev/null || cannot "$tool is missing (packages libnbd-bin e2fsprogs util-linux)"
  done
  [ "$(id -u)" = 0 ] || cannot "mounting needs root"
  [ -c /dev/fuse ] || cannot "there is no /dev/fuse"
  losetup -f > /dev/null 2>&1 || cannot "there is no free loop device"
  grep -qw ext4 /proc/filesystems || cannot "the running kernel has no ext4"
  if [ -z "${DESTAGE_IN_LAB:-}" ]; then
    # What comes next makes its own, and no trap of this one is run any more.
    rm -rf "$work"
    DESTAGE_IN_LAB=1 exec unshare --mount bash "$0" "$@"
  fi
}
cannot() { echo "$(basename "$0"): SKIPPED: $*" >&2; exit 3; }

# start_server OPTIONS: serves at $work/socket until end_server. The socket may be there before it takes
# connections; the server says where it listens when it does.
start_server() {
  rm -f "$work/socket" "$work/served.txt"
  setsid "$destage" serve --socket "$work/socket" "$@" > "$work/served.txt" 2> "$work/served.err" &
  server=$!
  for _ in $(seq 300); do
    [ ! -s "$work/served.txt" ] || return 0
    kill -0 $server 2> /dev/null || break
    sleep 0.1
  done
  cat "$work/served.err" >&2
  die "destage serve does not start"
}

# Tells the server to end; what it reports is in $work/served.txt.
end_server() {
  kill -TERM "$server"
  local status=0
  wait "$server" || status=$?
  server=''
  [ $status = 0 ] || { cat "$work/served.err" >&2; die "destage serve ended with $status"; }
}

# Makes $disk of what is served.
attach() {
  touch "$disk"
  setsid nbdfuse "$disk" "nbd+unix:///?socket=$work/socket" 2> "$work/fuse.err" &
  fuse=$!
  for _ in $(seq 100); do
    [ "$(stat -c %s "$disk" 2> /dev/null || echo 0)" = 0 ] || return 0
    sleep 0.1
  done
  cat "$work/fuse.err" >&2
  die "nbdfuse does not start"
}

detach() {
  umount "$disk"
  wait "$fuse" || true
  fuse=''
}

# The loop device goes when what is mounted does.
mount_ext4() {
  local loop
  loop=$(losetup --find --show --direct-io=on "$disk")
  mkdir -p "$mounted"
  local status=0
  mount -t ext4 "$@" "$loop" "$mounted" || status=$?
  losetup -d "$loop"
  return $status
}

# For the end, whatever the reason.
leave_lab() {
  cd /
  umount -l "$mounted" 2> /dev/null || true
  umount -l "$disk" 2> /dev/null || true
  [ -z "$fuse" ] || kill -KILL "$fuse" 2> /dev/null || true
  [ -z "$server" ] || kill -KILL "$server" 2> /dev/null || true
  rm -rf "$work"
}

# The requests that the server counted.
requests() { sed -n 's/^requests to the device: \([0-9]*\),.*/\1/p' "$work/served.txt"; }
