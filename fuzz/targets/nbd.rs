//! Everything that a client of a block device can send.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| destage_live::fuzz::connection(data));
