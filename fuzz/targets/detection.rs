//! Detection of formats and containers, then the reader that was found.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = destage_trace::fuzz::read_any(data);
});
