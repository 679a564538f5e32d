#!/usr/bin/env bash
# How fast `destage serve --no-delay` is beside `nbdkit memory`, and how late replies leave at
# 10,000 requests a second in real time. The same client (fio, engine nbd) in the same run, the
# servers in turns; the median of each counts.
#
#   cargo build --release -p destage-cli
#   DESTAGE=target/release/destage crates/live/tests/speed.sh [TURNS [SECONDS]]     [5 turns of 5 s]
#
# Packages: fio nbdkit. DESTAGE names the program [destage]. Run it on a machine that has nothing
# else to do: it prints the load average, too.
set -euo pipefail
die() { echo "speed.sh: $*" >&2; exit 2; }
case ${1:-} in -h|--help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0;; esac
turns=${1:-5} seconds=${2:-5}
for n in "$turns" "$seconds"; do case $n in ''|*[!0-9]*|0) die "'$n' is no positive number";; esac; done
destage=${DESTAGE:-destage}
for tool in fio nbdkit "$destage"; do command -v "$tool" > /dev/null || die "$tool is missing"; done
work=$(mktemp -d "${TMPDIR:-/tmp}/destage-speed.XXXXXX")
pids=()
trap 'kill "${pids[@]}" 2> /dev/null || true; rm -rf "$work"' EXIT

serve() { # NAME OPTIONS
  local name=$1
  shift
  "$destage" serve --socket "$work/$name" "$@" > "$work/$name.txt" 2> "$work/$name.err" &
  pids+=($!)
}
wait_for() {
  for _ in $(seq 100); do [ ! -S "$work/$1" ] || return 0; sleep 0.1; done
  cat "$work/$1".* >&2
  die "no server at $1"
}
load() { # SERVER OPTIONS: the terse line of fio
  local server=$1
  shift
  timeout -s KILL 120 fio --name=load --ioengine=nbd --uri="nbd+unix:///?socket=$work/$server" \
    --size=256m --time_based --runtime="$seconds" --minimal "$@"
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

nbdkit -f -U "$work/nbdkit" memory 1G &
pids+=($!)
serve destage --no-delay --scheme lru --cache 16MiB
wait_for nbdkit
wait_for destage
echo "load average $(cut -d' ' -f1-3 /proc/loadavg) on $(nproc) processors"
echo "load              nbdkit KiB/s  destage KiB/s  ratio"
for job in "write 1m 4" "read 1m 4" "randwrite 4k 32" "randread 4k 32"; do
  read -r pattern block depth <<< "$job"
  # Both have the data before they are measured.
  for server in nbdkit destage; do
    load $server --rw=write --bs=1m --iodepth=4 --time_based=0 > /dev/null
  done
  for _ in $(seq "$turns"); do
    for server in nbdkit destage; do
      # Fields 7 and 48: KiB/s read and written.
      load $server --rw="$pattern" --bs="$block" --iodepth="$depth" |
        awk -F';' '/^3;/ { print $7 + $48 }' >> "$work/$pattern.$server"
    done
  done
  kit=$(median < "$work/$pattern.nbdkit") ours=$(median < "$work/$pattern.destage")
  printf '%-9s %4s x%-2s  %12s  %13s  %5s\n' "$pattern" "$block" "$depth" "$kit" "$ours" \
    "$(awk -v a="$ours" -v b="$kit" 'BEGIN { printf "%.2f", a / b }')"
done

serve paced --scheme lru --cache 64MiB
paced=${pids[-1]}
wait_for paced
load paced --rw=randrw --bs=4k --size=48m --iodepth=32 --rate_iops=5000,5000 > "$work/paced.fio"
awk -F';' '/^3;/ { print "paced: " $8 + $49 " requests a second" }' "$work/paced.fio"
kill -TERM "$paced"
wait "$paced"
grep '^replies left' "$work/paced.txt"
