//! A mapping of columns in the first line, and the table behind it.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| destage_trace::fuzz::read_mapped(data));
