#!/bin/sh
# Runs a fuzz target with coverage on stable Rust, without the address sanitiser, which needs nightly
# (the code of the workspace is safe Rust; a panic is what is looked for):
#
#     fuzz/stable.sh TARGET [options of libFuzzer]
#
# The corpus in fuzz/corpus/TARGET is cut down to the inputs that are needed for its coverage afterwards.
set -eu
cd "$(dirname "$0")"
target=$1
shift

# What cargo-fuzz says to the compiler, but for the sanitiser.
flags="--cfg fuzzing -Ccodegen-units=1 -Cdebug-assertions -Cpasses=sancov-module"
for option in level=4 inline-8bit-counters pc-table trace-compares; do
    flags="$flags -Cllvm-args=-sanitizer-coverage-$option"
done
# With a target of its own, build scripts and procedural macros are built without these flags.
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS=$flags cargo build --release --target "$host" --bin "$target"
program=target/$host/release/$target

corpus=corpus/$target
artifacts=artifacts/$target/
mkdir -p "$corpus" "$artifacts"
status=0
"$program" -max_total_time=60 -artifact_prefix="$artifacts" "$@" "$corpus" || status=$?

minimal=$corpus.minimal
rm -rf "$minimal"
mkdir "$minimal"
"$program" -merge=1 -artifact_prefix="$artifacts" "$minimal" "$corpus"
rm -rf "$corpus"
mv "$minimal" "$corpus"
exit $status
