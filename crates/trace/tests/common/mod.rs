//! Shared by the tests of the crate.

use std::io::{Read, Write};

use destage_trace::{LoadOptions, Source, Trace, TraceError, load};

/// Loads bytes as `format` (empty: detected), bad lines being errors.
pub fn read(format: &str, text: impl AsRef<[u8]>) -> Result<Trace, TraceError> {
    read_with(format, text, &LoadOptions::default())
}

pub fn read_with(
    format: &str,
    text: impl AsRef<[u8]>,
    options: &LoadOptions,
) -> Result<Trace, TraceError> {
    let mut options = options.clone();
    if !format.is_empty() {
        options.format = Some(format.to_owned());
    }
    load(Source::bytes("trace.csv", text.as_ref().to_vec()), &options)
}

pub fn skipping() -> LoadOptions {
    LoadOptions {
        skip_bad_lines: true,
        ..LoadOptions::default()
    }
}

/// The message of the error that reading must end with.
#[track_caller]
pub fn refused(format: &str, text: impl AsRef<[u8]>) -> String {
    match read(format, text) {
        Ok(trace) => panic!("read {} requests", trace.meta.requests),
        Err(error) => error.to_string(),
    }
}

pub fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 3).unwrap()
}

pub fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    liblzma::read::XzEncoder::new(bytes, 1)
        .read_to_end(&mut out)
        .unwrap();
    out
}

/// `n` MSR lines that do not compress to nothing.
pub fn msr_lines(n: u64) -> String {
    (0..n)
        .map(|i| {
            let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 30;
            format!(
                "{},hm,1,Write,{},4096,{}\n",
                128_166_372_003_061_629 + i,
                mixed * 512,
                i % 97
            )
        })
        .collect()
}
