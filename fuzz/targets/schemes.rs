//! Scheme operations beside the slow models and on a device with time.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    destage_conformance::suites::operations(data);
});
