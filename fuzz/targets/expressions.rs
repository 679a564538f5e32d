//! The expression parser and the checks of a composition.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| destage_scheme::expr::fuzz::expression(data));
