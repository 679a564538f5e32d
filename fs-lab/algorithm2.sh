#!/usr/bin/env bash
# The evaluation of ProCache (Algorithm 2, figures 10 and 11) at a part of its size, on a real ext4 on
# `destage serve`: elapsed time of each step, pages written to flash, and erases.
#
#   sudo fs-lab/algorithm2.sh --repeat 3 --out results.csv
#
# One round: copy sources, compile them with 16 jobs and clean; four copies of two large files and
# a smaller one; many web pages; remove all that. A compiler is not run: each source file of 15 KB
# on average becomes an object of eight times its size and a small file that is renamed. Every step
# ends with sync. Sizes and contents are the same in each run.
#
#   --scheme NAME   none, lru, refcnt or procache; repeatable [none, refcnt, procache]
#   --repeat N      runs of each scheme, in turns [3]
#   --rounds N      rounds of a run on one file system; the first fills the device [2]
#   --part N        1/N of the paper's sizes: device, cache and load; a power of two up to 128 [64].
#                   From 16 down what is written lies in a file, and 37/N GB of $TMPDIR are needed
#   --pace X        simulated seconds in a second; `free`: as fast as the machine, no times of steps [1]
#   --device NAME   procache-emu or procache-emu-uniform [procache-emu]
#   --out FILE      one line per run and step, as CSV [algorithm2.csv]
#   --records FILE  one line per run for `destage repro procache --live FILE` [none]
#
# `none` is the paper's baseline in figure 10: no cache, but its flash as plain flash (33 of 32 GB).
# DESTAGE names the program [destage]. Exit code 3: not possible here.
set -euo pipefail
export PATH="$PATH:/usr/sbin:/sbin"
here=$(cd "$(dirname "$0")" && pwd)
die() { echo "algorithm2.sh: $*" >&2; exit 2; }

all=("$@")
schemes=() repeat=3 rounds=2 part=64 pace=1 device=procache-emu out=algorithm2.csv records=/dev/null
while [ $# -gt 0 ]; do
  case $1 in
    -h|--help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0;;
    --scheme|--repeat|--rounds|--part|--pace|--device|--out|--records) [ $# -ge 2 ] || die "$1 needs a value";;&
    --scheme) schemes+=("$2");;
    --repeat) repeat=$2;;
    --rounds) rounds=$2;;
    --part) part=$2;;
    --pace) pace=$2;;
    --device) device=$2;;
    --out) out=$2;;
    --records) records=$2;;
    *) die "no option $1; see --help";;
  esac
  shift 2
done
[ ${#schemes[@]} -gt 0 ] || schemes=(none refcnt procache)
for scheme in "${schemes[@]}"; do
  case $scheme in none|lru|refcnt|procache) ;; *) die "no scheme $scheme; see --help";; esac
done
for n in "$repeat" "$rounds"; do
  case $n in ''|*[!0-9]*|0) die "'$n' is no positive number";; esac
done
case $part in 1|2|4|8|16|32|64|128) ;; *) die "--part is a power of two up to 128, not '$part'";; esac
case $device in procache-emu|procache-emu-uniform) ;; *) die "no device $device; see --help";; esac
destage=${DESTAGE:-destage}
command -v "$destage" > /dev/null || die "no program $destage; say DESTAGE=path"
work=$(mktemp -d "${TMPDIR:-/tmp}/destage-algorithm2.XXXXXX")
trap 'rm -rf "$work"' EXIT
. "$here/served.sh"
enter_lab "${all[@]}"
trap leave_lab EXIT

# What is copied: noise, so that its content does not matter, cut into files.
MIB=$((1024 * 1024))
noise() { openssl enc -aes-128-ctr -nosalt -K 00 -iv 00 -in /dev/zero 2> /dev/null | head -c "$1" || true; }
command -v openssl > /dev/null || cannot "openssl is missing"
make_sources() {
  local i bytes left=$((700 * MIB / part)) at=0
  RANDOM=1
  noise $((2867 * MIB / part)) > "$work/dvd"
  noise $((700 * MIB / part)) > "$work/cd"
  mkdir "$work/sources"
  for ((i = 0; left > 0; i++)); do
    bytes=$((1000 + RANDOM * 28000 / 32768))
    mkdir -p "$work/sources/$((i / 40))"
    tail -c +$((at + 1)) "$work/cd" | head -c $bytes > "$work/sources/$((i / 40))/$i.c" || true
    at=$((at + bytes)) left=$((left - bytes))
  done
}
# One object and its note, as kbuild makes them.
cat > "$work/compile" <<'COMPILE'
for source do
  bytes=$(stat -c %s "$source")
  for piece in 1 2 3 4; do head -c $((bytes * 2)) "$NOISE" >> "${source%.c}.o"; done
  head -c 3000 "$source" > "$source.tmp"
  mv "$source.tmp" "${source%.c}.cmd"
done
COMPILE
step_sources() {
  cp -r "$work/sources" "$mounted/sources"
  find "$mounted/sources" -name '*.c' -print0 | NOISE=$work/dvd xargs -0 -P 16 -n 10 sh "$work/compile"
  find "$mounted/sources" \( -name '*.o' -o -name '*.cmd' \) -delete
}
step_copies() {
  local i
  for i in 1 2 3 4; do
    mkdir "$mounted/copy$i"
    cp "$work/dvd" "$mounted/copy$i/dvd1"
    cp "$work/dvd" "$mounted/copy$i/dvd2"
    cp "$work/cd" "$mounted/copy$i/cd"
  done
}
step_pages() {
  local i
  RANDOM=2
  mkdir "$mounted/pages"
  for ((i = 0; i < 2000 / part; i++)); do
    head -c $((1000 + RANDOM * 4)) "$work/cd" > "$mounted/pages/$i.html"
  done
}
step_remove() { rm -rf "$mounted"/copy* "$mounted/pages" "$mounted/sources"; }

serve_options() { # SCHEME
  local cache=$((1024 / part))MiB
  case $1 in
    none) echo "--scheme none --set cache_region=off --set blocks_per_plane=$((4224 / part))";;
    *) echo "--scheme $1 --cache $cache --set blocks_per_plane=$((4096 / part))" \
      "--set cache_region.size=$cache";;
  esac
  case $pace in free) echo --no-delay;; *) echo "--time-scale $pace";; esac
  [ "$part" -gt 16 ] || echo "--backing $work/backing"
  # The cache of the paper keeps its content; it is no cache of reads.
  echo "--device $device --read-alloc off --cache-kind nvm --format-out jsonl"
}
count() { grep -o "\"$1\":[0-9]*" "$work/served.txt" | head -1 | cut -d: -f2; }

run() { # SCHEME NUMBER
  local options round step begin end line
  read -ra options <<< "$(serve_options "$1" | tr '\n' ' ')"
  rm -f "$work/backing"
  start_server "${options[@]}" --memory 4GiB
  attach
  # 1 KiB blocks as in section 5.1; at 1/64 of the size a journal must end its work more often.
  mkfs.ext4 -q -F -b 1024 -i 8192 -m 0 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$disk" \
    $((30000 / part))M
  mount_ext4 -o commit=1
  for round in $(seq "$rounds"); do
    for step in sources copies pages remove; do
      begin=$(date +%s%N)
      step_$step
      sync -f "$mounted"
      end=$(date +%s%N)
      line="$1,$2,$round,$step,$(awk -v n=$((end - begin)) -v pace="${pace/free/0}" \
        'BEGIN { if (pace > 0) printf "%.2f", n / 1e9 * pace }')"
      echo "$line,,,,," >> "$out"
    done
  done
  umount "$mounted"
  detach
  end_server
  local seconds late
  seconds=$(sed -n 's/^requests to the device: [0-9]*, in \([0-9.]*\) s.*/\1/p' "$work/served.err")
  late=$(sed -n 's/^warning: \([0-9]*\) of .* late.*/\1/p' "$work/served.err")
  line="$seconds,$(count write_pages),$(count write_page_hits),$(count flash_writes_host),$(count erases),${late:-0}"
  echo "$1,$2,all,all,$line" >> "$out"
  # The record is the line of the report that is JSON.
  echo "{\"experiment\":\"algorithm2\",\"file_system\":\"ext4\",\"run\":$2,\"part\":$part,\"seconds\":$seconds,\"record\":$(grep '^{' "$work/served.txt")}" >> "$records"
  echo "$1, run $2: $seconds s of simulated time, $(count write_pages) pages written by the host," \
    "$(count write_page_hits) of them hits, $(count flash_writes_host) written to flash," \
    "$(count erases) erases, ${late:-0} replies late"
}

make_sources
echo "scheme,run,round,step,seconds,write_pages,write_page_hits,flash_writes,erases,late" > "$out"
: > "$records"
for number in $(seq "$repeat"); do
  for scheme in "${schemes[@]}"; do run "$scheme" "$number"; done
done
