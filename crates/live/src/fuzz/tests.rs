use super::connection;
use destage_types::rng::SplitMix64;
use std::time::{Duration, Instant};

const OPTION: [u8; 8] = *b"IHAVEOPT";
const REQUEST: [u8; 4] = [0x25, 0x60, 0x95, 0x13];

/// Bytes that get past the magic numbers, with small random changes.
fn stream(random: &mut SplitMix64) -> Vec<u8> {
    let mut out = vec![random.next_u64() as u8 & 7];
    for _ in 0..random.below(5) {
        let option = random.below(12) as u32;
        let body: &[u8] = match random.below(5) {
            0 => &[],
            1 => &[0, 0, 0, 0, 0, 0],
            2 => &[0, 0, 0, 1, b'r', 0, 1, 0, 3],
            3 => b"\0\0\0\0\0\0\0\x01\0\0\0\x0fbase:allocation",
            _ => b"\0\0\0\x01r\0\0\0\0",
        };
        out.extend(OPTION);
        out.extend(option.to_be_bytes());
        out.extend((body.len() as u32).to_be_bytes());
        out.extend(body);
    }
    for _ in 0..random.below(20) {
        out.extend(REQUEST);
        out.extend((random.below(64) as u16).to_be_bytes());
        out.extend((random.below(9) as u16).to_be_bytes());
        out.extend(random.next_u64().to_be_bytes());
        let offset = random.next_u64() >> random.below(64) << random.below(13);
        out.extend(offset.to_be_bytes());
        let length = random.next_u64() as u32 >> random.below(32) << random.below(12);
        out.extend(length.to_be_bytes());
    }
    for _ in 0..random.below(4) {
        let at = random.below(out.len() as u64) as usize;
        out[at] = random.next_u64() as u8;
    }
    out
}

#[test]
fn any_bytes_of_a_client_are_survived() {
    let seconds = std::env::var("DESTAGE_FUZZ_SECONDS").ok();
    let seconds = seconds.and_then(|s| s.parse().ok()).unwrap_or(1);
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut random = SplitMix64::new(18);
    let mut n = 0;
    while n < 10_000 || Instant::now() < until {
        connection(&stream(&mut random));
        n += 1;
    }
}
