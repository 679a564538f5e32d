//! The hash of a `destage-bin` file.

use super::layout::Header;
use crate::readers::record::le;

/// A checksum at the speed of memory; it finds damage, not forgery.
#[derive(Clone, Copy)]
pub(crate) struct Hash {
    lanes: [u64; 4],
    words: usize,
}

impl Hash {
    pub fn new() -> Hash {
        let lanes = [1, 2, 3, 4].map(|n: u64| n.wrapping_mul(MULTIPLIER));
        Hash { lanes, words: 0 }
    }

    /// Adds whole words; other bytes are a broken promise.
    pub fn update(&mut self, bytes: &[u8]) {
        debug_assert!(bytes.len().is_multiple_of(8));
        let head = (4 - self.words % 4) % 4 * 8;
        let (head, rest) = bytes.split_at(head.min(bytes.len()));
        head.chunks_exact(8).for_each(|word| self.word(word));
        let blocks = rest.chunks_exact(32);
        let tail = blocks.remainder();
        let mut lanes = self.lanes;
        for block in blocks {
            for (lane, word) in lanes.iter_mut().zip(block.chunks_exact(8)) {
                *lane = mix(*lane, le::<8>(word, 0));
            }
            self.words += 4;
        }
        self.lanes = lanes;
        tail.chunks_exact(8).for_each(|word| self.word(word));
    }

    fn word(&mut self, word: &[u8]) {
        let lane = &mut self.lanes[self.words % 4];
        *lane = mix(*lane, le::<8>(word, 0));
        self.words += 1;
    }

    /// The hash of a file whose other bytes have been added.
    pub fn finish(mut self, header: &Header) -> u64 {
        let header = Header { hash: 0, ..*header };
        self.update(&header.encode());
        self.lanes.into_iter().fold(self.words as u64, mix)
    }
}

/// 2^64 divided by the golden ratio, odd.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn mix(lane: u64, word: u64) -> u64 {
    (lane ^ word).rotate_left(29).wrapping_mul(MULTIPLIER)
}
