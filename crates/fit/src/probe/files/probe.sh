#!/bin/sh
# Measures a drive with fio, for `destage fit-device`. IT DESTROYS ALL DATA ON THE DRIVE.
#
#   sh probe.sh --device /dev/nvme1n1 --name my-drive --out results
#   sh probe.sh --uri 'nbd+unix:///?socket=ssd.sock' --name served --out results
#
# The job files *.fio beside this script say what each step does. Each call of fio writes one file of JSON to the
# folder of results, in the order of the steps. An existing file is not measured again.

set -u
LC_ALL=C
export LC_ALL

usage() {
    cat <<'USAGE'
Usage: sh probe.sh (--device /dev/NAME | --uri NBD-URI) --name NAME --out DIR [OPTION...]

  --device /dev/NAME  scratch drive. ALL ITS DATA ARE DESTROYED. Needs root
  --uri URI           the same for an NBD server; fio needs its engine nbd
  --name NAME         name of the drive in results: letters, digits, `.`, `_` and `-`
  --out DIR           folder of results
  --engine ENGINE     engine of fio for --device [default: io_uring]
  --bytes N           size of the drive behind --uri [default: what nbdinfo says]
  --seconds N         measured time of a step, 2 to 600 [default: 45]
  --minutes N         time for everything, 1 to 10000 [default: 115]
  --overwrites N      most random overwrites before the steps that need them, 0 to 10 [default: 3]
  --slower N          a second of the drive takes N seconds, 1 to 1000, as with `destage serve --time-scale` 1/N
                      [default: 1]
USAGE
}

fail() {
    echo "probe.sh: error: $1" >&2
    exit 2
}

# A whole number within limits.
check_number() {
    case $2 in
        '' | *[!0-9]*) fail "$1 is \`$2\`. Allowed: a whole number from $3 to $4." ;;
    esac
    if [ "$2" -lt "$3" ] || [ "$2" -gt "$4" ]; then
        fail "$1 is $2. Allowed: $3 to $4."
    fi
}

device='' uri='' name='' out='' engine=io_uring bytes='' seconds=45 minutes=115 overwrites=3 slower=1
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help)
            usage
            exit 0
            ;;
        --device | --uri | --name | --out | --engine | --bytes | --seconds | --minutes | --overwrites | --slower) ;;
        *) fail "option \`$1\` is unknown. \`sh probe.sh --help\` lists the options." ;;
    esac
    [ $# -ge 2 ] || fail "$1 needs a value."
    case $1 in
        --device) device=$2 ;;
        --uri) uri=$2 ;;
        --name) name=$2 ;;
        --out) out=$2 ;;
        --engine) engine=$2 ;;
        --bytes) bytes=$2 ;;
        --seconds) seconds=$2 ;;
        --minutes) minutes=$2 ;;
        --overwrites) overwrites=$2 ;;
        --slower) slower=$2 ;;
    esac
    shift 2
done

case $name in
    '' | *[!A-Za-z0-9._-]*) fail "--name is \`$name\`. Allowed: letters, digits, \`.\`, \`_\` and \`-\`." ;;
esac
[ -n "$out" ] || fail "--out is missing. Give a folder for the results."
[ -z "$device" ] || [ -z "$uri" ] || fail "--device and --uri exclude each other. Give one of them."
[ -n "$device$uri" ] || fail "--device and --uri are missing. Give the scratch drive."
check_number --seconds "$seconds" 2 600
check_number --minutes "$minutes" 1 10000
check_number --overwrites "$overwrites" 0 10
check_number --slower "$slower" 1 1000
case $0 in
    */*) jobs=${0%/*} ;;
    *) jobs=. ;;
esac
for job in fill burst overwrite saturated rate reads mixed beside idle; do
    [ -r "$jobs/$job.fio" ] || fail "$jobs/$job.fio is missing. \`destage probe -o DIR\` writes all files."
done

# fio 3 and its engine.
version=$(fio --version 2>/dev/null) || fail 'fio is missing. Install fio 3 (Debian: apt install fio).'
case $version in
    fio-[012].*) fail "this is $version. fio 3.0 or later is needed." ;;
esac
[ -z "$uri" ] || engine=nbd
fio --cmdhelp=thinktime_blocks_type 2>/dev/null | grep -qw issue ||
    fail "$version has no option thinktime_blocks_type. Install a later fio; 3.33 has it."
fio --enghelp 2>/dev/null | grep -qw "$engine" ||
    fail "$version has no engine $engine. Try --engine libaio, or install a fio that has it."

# Stops if somebody uses the drive $real, or a part of it, whose sysfs folder is $block.
check_unused() {
    unused='Give a drive that nobody uses.'
    for part in "$block" "$block"/*; do
        [ -r "$part/dev" ] || continue
        number=$(cat "$part/dev") name_of_part=${part##*/}
        # File systems of several devices have numbers 0:N. Their source names one of the devices.
        while read -r _ _ mounted _ place others; do
            source=${others#* - * }
            source=${source%% *}
            case $source in
                /*) source=$(readlink -f "$source") ;;
            esac
            [ "$mounted" != "$number" ] && [ "$source" != "/dev/$name_of_part" ] ||
                fail "$device is mounted at $place. Unmount it, or give a drive that nobody uses."
        done </proc/self/mountinfo
        while read -r swap _; do
            [ "$(readlink -f "$swap")" != "/dev/$name_of_part" ] || fail "$device is used for swap. $unused"
        done </proc/swaps
        for holder in "$part"/holders/* /sys/fs/btrfs/*/devices/"$name_of_part"; do
            [ ! -e "$holder" ] || fail "$device is used by ${holder#/sys/fs/}. $unused"
        done
    done
    # Only the kernel knows all users, such as ZFS and other mount namespaces. wipefs opens the drive exclusively, and
    # does not write with --no-act.
    wipefs --all --no-act "$real" >/dev/null ||
        fail "wipefs cannot open $device for itself, so something uses it. $unused"
}

# The drive: there, not in use, large enough.
if [ -n "$device" ]; then
    [ -b "$device" ] || fail "$device is no block device."
    [ "$(id -u)" = 0 ] || fail "--device needs root."
    for program in wipefs blkdiscard; do
        command -v "$program" >/dev/null || fail "$program is missing. Install util-linux."
    done
    real=$(readlink -f "$device")
    block=/sys/class/block/${real##*/}
    [ -r "$block/size" ] || fail "$block/size cannot be read."
    check_unused
    bytes=$(($(cat "$block/size") * 512))
    target=$device
    TARGET="filename=$device"
else
    if [ -z "$bytes" ]; then
        bytes=$(nbdinfo --size "$uri") || fail "nbdinfo does not say the size of $uri. Start the server, or give --bytes."
    fi
    target=$uri
    TARGET="uri=$uri"
fi
check_number 'the size in bytes' "$bytes" 67108864 1125899906842624
unit=1048576
bytes=$((bytes / unit * unit))

# Times in seconds. A slow drive fills at 300 MB/s; the first segment will tell.
ramp=$((seconds / 5))
short=$((seconds / 3 + 1))
fixed=$((14 * (seconds + ramp) + 8 * (short + ramp) + 20 * (short / 2 + 2) + 3 * slower + 90))
fill_guess=$((bytes / 300000000))
echo "Drive:    $target ($((bytes / unit)) MiB), called $name"
echo "Time:     about $(((fixed + fill_guess) / 60 + 1)) minutes and what is left of $minutes minutes for overwrites"
echo
echo '!!! ALL DATA ON THIS DRIVE WILL BE DESTROYED. THERE IS NO WAY BACK. !!!'
echo
for time in first second; do
    printf 'Type %s to go on (%s time): ' "$target" "$time"
    answer=''
    read -r answer || true
    [ "$answer" = "$target" ] || fail "the answer is \`$answer\`. Nothing was written."
done
[ -z "$device" ] || check_unused
mkdir -p "$out" || fail "$out cannot be made."
started=$(date +%s)

NAME=$name CAPACITY=$bytes SLOWER=$slower ENGINE=$engine RAMP=$ramp
export TARGET NAME CAPACITY SLOWER ENGINE RAMP

# Runs one step: job file, then name of the results. Its settings are in the environment.
step() {
    echo "$(date +%H:%M:%S) $2"
    [ ! -s "$out/$2.json" ] || return 0
    fio --output-format=json+ --output="$out/.$2.tmp" "$jobs/$1.fio" ||
        fail "fio failed in step $2. Its output is in $out/.$2.tmp."
    mv "$out/.$2.tmp" "$out/$2.json"
}

# A number of fio's results: the first value of key $3 of direction $2 in each job of file $1, added up.
result() {
    awk -v direction="\"$2\"" -v key="\"$3\"" '
        /^      "/ { inside = ($1 == direction); taken = 0 }
        inside && !taken && $1 == key { value = $3; sub(/,$/, "", value); sum += value; taken = 1 }
        END { printf "%.0f\n", sum }' "$out/$1.json"
}

elapsed() {
    echo $(($(date +%s) - started))
}

# 1. Sequential fill in segments: bandwidth over the bytes written. An SLC cache ends where it falls.
if [ -n "$device" ] && [ ! -s "$out/10-fill-01.json" ]; then
    # Without --force it opens the drive exclusively. On a terminal it would refuse a drive with data.
    blkdiscard "$real" </dev/null ||
        echo 'The drive was not trimmed first. Its SLC cache may not show.' >&2
fi
OFFSET=0 segment=1
while [ "$segment" -le 16 ]; do
    # Eight segments of 1/64, then eight that share the rest.
    if [ "$segment" -le 8 ]; then
        BYTES=$((bytes / 64 / unit * unit))
    elif [ "$segment" -lt 16 ]; then
        BYTES=$((bytes * 7 / 64 / unit * unit))
    else
        BYTES=$((bytes - OFFSET))
    fi
    export OFFSET BYTES
    step fill "10-fill-$(printf %02d $segment)"
    if [ "$segment" = 8 ]; then
        rate=$(result 10-fill-08 write bw_bytes)
        fill_guess=$(((bytes - bytes / 8) / (rate + 1)))
        echo "         the fill takes about $((fill_guess / 60 + 1)) minutes more"
        [ $(((fixed + fill_guess) / 60)) -lt "$minutes" ] ||
            fail "everything takes more than --minutes $minutes, without overwrites. Give more, or a smaller drive."
    fi
    OFFSET=$((OFFSET + BYTES)) segment=$((segment + 1))
done

# 2. Buffer size: bursts of sequential writes with pauses. Latency rises once a burst is longer than the buffer.
rate=$(result 10-fill-16 write bw_bytes)
largest=$((bytes / 32)) burst=131072 number=1
[ "$largest" -le 536870912 ] || largest=536870912
first=0 knee=0
while [ "$burst" -le "$largest" ]; do
    # A pause is long enough to write twice the burst to flash, and a step has at least 20 of them.
    pause=$((burst * 2000 / (rate + 1) + 10 * slower))
    BLOCKS=$((burst / 32768)) IDLE=${pause}ms
    RUNTIME=$((short / 2 + 1 + pause / 50))
    export RUNTIME BLOCKS IDLE
    this="20-burst-$(printf %02d $number)"
    step burst "$this"
    high=$(result "$this" write '99.000000')
    [ "$first" -gt 0 ] || first=$high
    [ "$knee" -gt 0 ] || [ "$high" -le $((first * 3)) ] || knee=$burst
    burst=$((burst * 2)) number=$((number + 1))
done
[ "$knee" -gt 0 ] || knee=$((burst / 2))

# 3. Random overwrites until the drive is in its steady state, or until the time is over.
left=$((minutes * 60 - fixed - $(elapsed)))
[ "$left" -ge $((seconds)) ] || left=$seconds
BYTES=$((bytes * overwrites / 4)) RUNTIME=$left
export BYTES RUNTIME
[ "$overwrites" = 0 ] || step overwrite 30-overwrite

# 4. The highest rate of random writes, then a sweep of rates up to it, with some reads beside them.
RUNTIME=$seconds
step saturated 40-saturated
highest=$(result 40-saturated write iops)
[ "$highest" -ge 10 ] || fail "the drive did $highest writes a second. Is it alive?"
READS=$((highest / 10 + 1))
[ "$READS" -le 5000 ] || READS=5000
export READS
for percent in 010 020 030 040 050 060 070 080 085 090 095 100 105; do
    # Four jobs share the rate. The shell takes numbers with a leading 0 for octal ones.
    share=${percent#0}
    WRITES=$((highest * ${share#0} / 400 + 1))
    export WRITES
    step rate "41-rate-$percent"
done

# 5. Reads alone by depth, reads and writes in a closed loop, and reads beside sequential writes.
RUNTIME=$short
for DEPTH in 1 4 16 64; do
    export DEPTH
    step reads "50-reads-$(printf %02d $DEPTH)"
done
step mixed 51-mixed
for percent in 25 50 75; do
    WRITES=$((rate * percent / 100 / 131072 + 1))
    OFFSET=$((bytes * percent / 100 / unit * unit))
    export WRITES OFFSET
    step beside "52-beside-$percent"
done

# 6. Idle recovery: bursts as long as the buffer, with shorter and longer pauses.
BLOCKS=$((knee / 4096 + 1))
export BLOCKS
for pause in 1 10 100 1000; do
    # With a slow clock, the longest pauses would take most of the time.
    [ $((pause * slower)) -le 10000 ] || continue
    IDLE=$((pause * slower))ms
    RUNTIME=$((short / 2 + 1 + pause * slower / 100))
    export IDLE
    step idle "60-idle-$(printf %04d $pause)ms"
done

echo
echo "Done in $(($(elapsed) / 60 + 1)) minutes. Fit a model with:"
echo "  destage fit-device $out --base enterprise-tlc-1t -o $name.toml"
