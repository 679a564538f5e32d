//! Decoders of zstd and xz: C libraries where there are any, Rust alone in a browser.

#[cfg(not(target_family = "wasm"))]
mod native;
#[cfg(any(test, target_family = "wasm"))]
mod portable;

#[cfg(not(target_family = "wasm"))]
pub(crate) use native::{xz, zstd};
#[cfg(target_family = "wasm")]
pub(crate) use portable::{xz, zstd};

/// Window of a zstd frame, as a power of two: 128 MiB, all that `zstd` writes without `--long`.
const ZSTD_WINDOW_LOG: u32 = 27;
/// Memory an xz stream may ask for; `xz -9` needs 65 MiB.
const XZ_MEMORY: u64 = 256 << 20;
