//! Classes and bins of sizes, distances, run lengths and ranks.

use super::likeness::LONGEST;
use destage_types::Op;

/// Kinds of requests: operation and size class.
pub const KINDS: usize = 8;
/// Bins of sizes: every number of sectors up to 128, then four an octave up to a GiB.
pub const SIZE_BINS: usize = 185;
/// Bins of stack distances, two an octave.
pub const DISTANCE_BINS: usize = 48;
/// Bins of the requests of a stream.
pub const RUN_BINS: usize = 7;
/// Bins of the rank in a list of streams.
pub const RANK_BINS: usize = 13;

/// 0 for a read, 1 for a write.
pub fn op_index(op: Op) -> usize {
    usize::from(op == Op::Write)
}

/// Size class: up to 4, 16, 64 KiB, and more.
pub fn class(sectors: u32) -> usize {
    match sectors {
        0..=8 => 0,
        9..=32 => 1,
        33..=128 => 2,
        _ => 3,
    }
}

pub fn size_bin(sectors: u32) -> usize {
    if sectors <= 128 {
        return sectors as usize;
    }
    let sectors = sectors.min(LONGEST - 1);
    let octave = sectors.ilog2();
    129 + 4 * (octave as usize - 7) + (sectors >> (octave - 2) & 3) as usize
}

/// The size that stands for a bin: its middle, in whole pages.
pub fn size_of(bin: usize) -> u32 {
    if bin <= 128 {
        return bin as u32;
    }
    let (shift, quarter) = ((bin - 129) / 4 + 5, (bin - 129) % 4);
    let first = (4 + quarter as u64) << shift;
    ((first + (1u64 << shift) / 2) / 8 * 8) as u32
}

/// floor(2 log2(d + 1)), without floating point.
pub fn distance_bin(distance: u64) -> usize {
    if distance >= 1 << (DISTANCE_BINS / 2) {
        return DISTANCE_BINS - 1;
    }
    let x = distance + 1;
    let octave = x.ilog2();
    let bin = 2 * octave + u32::from(x * x >= 1 << (2 * octave + 1));
    (bin as usize).min(DISTANCE_BINS - 1)
}

/// The smallest distance of a bin; that of the next bin ends it.
pub fn distance_from(bin: usize) -> u64 {
    DISTANCES[bin]
}

/// By bin; generating asks for them several times a request.
const DISTANCES: [u64; DISTANCE_BINS + 1] = {
    let (mut from, mut bin) = ([0; DISTANCE_BINS + 1], 0);
    while bin <= DISTANCE_BINS {
        let square = 1u64 << bin;
        let root = square.isqrt();
        from[bin] = root + (root * root < square) as u64 - 1;
        bin += 1;
    }
    from
};

pub fn run_bin(requests: u32) -> usize {
    match requests {
        0..=1 => 0,
        2..=3 => 1,
        4..=15 => 2,
        16..=63 => 3,
        64..=255 => 4,
        256..=1023 => 5,
        _ => 6,
    }
}

/// How often a page was accessed: once, up to three times, more often.
pub fn frequency(count: u8) -> usize {
    match count {
        0..=1 => 0,
        2..=3 => 1,
        _ => 2,
    }
}

/// Bin of distances by which attributes are told apart.
pub fn depth(distance: u64) -> usize {
    match distance {
        0..=255 => 0,
        256..=4095 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_of_sizes_holds_what_stands_for_it() {
        for bin in 1..SIZE_BINS {
            assert_eq!(size_bin(size_of(bin)), bin, "{bin}");
        }
        assert_eq!(
            (size_bin(128), size_bin(129), size_of(129)),
            (128, 129, 144)
        );
        assert_eq!(size_bin(u32::MAX), SIZE_BINS - 1);
    }

    #[test]
    fn bins_of_distances_begin_where_they_say() {
        let bins = [0, 1, 2, 3, 4, 7, 8, 1023].map(distance_bin);
        assert_eq!(bins, [0, 2, 3, 4, 4, 6, 6, 20]);
        for d in 0..100_000 {
            let bin = distance_bin(d);
            assert!(distance_from(bin) <= d && d < distance_from(bin + 1), "{d}");
        }
        assert_eq!(distance_bin(u64::MAX), DISTANCE_BINS - 1);
    }
}
