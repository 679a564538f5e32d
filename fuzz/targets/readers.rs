//! Every reader: the first byte picks the format.
#![no_main]

use destage_trace::{FORMATS, fuzz::read_as};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Some((first, data)) = data.split_first() {
        read_as(FORMATS[usize::from(*first) % FORMATS.len()], data);
    }
});
