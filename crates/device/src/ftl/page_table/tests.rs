use super::*;
use destage_types::rng::SplitMix64;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A segment of the pool.
const SEGMENT: u64 = 256 << 10;

struct Checked {
    table: PageTable,
    model: BTreeMap<u64, u32>,
    len: u64,
}

impl Checked {
    fn new(pieces: u64, values: u64, spare: u64) -> Checked {
        let len = pieces * PLACES as u64;
        Checked {
            table: PageTable::new(len, values, spare),
            model: BTreeMap::new(),
            len,
        }
    }

    fn replace(&mut self, index: u64, number: u32) {
        let set = self.model.len() as u64;
        let old = match number {
            NONE => self.model.remove(&index),
            _ => self.model.insert(index, number),
        };
        let replaced = self.table.replace(index, number, set);
        assert_eq!(replaced, old.unwrap_or(NONE), "{index}");
    }

    fn clear(&mut self, index: u64) {
        self.model.remove(&index);
        self.table.clear(index);
    }

    fn copy(&self) -> Checked {
        Checked {
            table: self.table.clone(),
            model: self.model.clone(),
            len: self.len,
        }
    }

    fn check(&self) {
        for index in 0..self.len {
            let number = self.model.get(&index).copied().unwrap_or(NONE);
            assert_eq!(self.table.get(index), number, "{index}");
        }
        let (table, pieces) = (&self.table, 0..self.table.dense.len());
        let is_dense = |at: &usize| table.dense[*at].is_some() || table.frozen(*at).is_some();
        let dense = pieces.filter(is_dense).count() as u64;
        assert_eq!(self.table.dense_bytes, dense * DENSE);
        let mut given = Vec::new();
        self.table
            .each(0, self.len as u32, |_, number| given.push(number));
        assert!((0..self.len).all(|at| given[at as usize] == self.table.get(at)));
    }
}

/// From one number to all of them, in several orders: what [`PageTable`] promises.
fn assert_bounded(order: impl Iterator<Item = u64>, len: u64, values: u64, spare: u64) {
    let mut table = PageTable::new(len, values, spare);
    let pieces = len / PLACES as u64;
    let number = |index: u64| (index.wrapping_mul(0x9E37_79B9_7F4A_7C15) % values) as u32;
    let mut given = 0;
    for (set, index) in (0..).zip(order) {
        assert_eq!(table.replace(index, number(index), set), NONE);
        let most = 4 * (set + 1) + spare + pieces * (PACKED + 12) + SEGMENT;
        let bytes = table.bytes();
        assert!(bytes <= most + bytes / 64, "{bytes} of {most} for {set}");
        given = set + 1;
    }
    assert_eq!(given, len);
    assert!((0..len).all(|index| table.get(index) == number(index)));
}

#[test]
fn bytes_stay_bounded_at_every_density() {
    // A piece is an eighth of a segment when full, so this is some 1,000 pieces of each size.
    let pieces = 1024;
    let len = pieces * PLACES as u64;
    let values = [(1 << 28, 0), (5 << 26, 64 * DENSE)];
    for (seed, (values, spare)) in (1..).zip(values) {
        let (mut rng, mut all) = (SplitMix64::new(seed), (0..len).collect::<Vec<_>>());
        for i in (1..all.len()).rev() {
            all.swap(i, rng.below(i as u64 + 1) as usize);
        }
        assert_bounded(all.into_iter(), len, values, spare);
        for stride in [2048, 11, 2, 1] {
            let turns = (0..stride).flat_map(|first| (first..len).step_by(stride as usize));
            assert_bounded(turns, len, values, spare);
        }
    }
}

#[test]
fn neighbourhoods_are_dense_and_single_pages_are_packed() {
    let (len, spare) = (64 * PLACES as u64, 2 * DENSE);
    let mut table = PageTable::new(len, 1 << 28, spare);
    let empty = table.bytes();
    assert_eq!((table.get(0), table.get(len - 1)), (NONE, NONE));
    table.clear(5);
    assert_eq!(table.bytes(), empty, "reading and clearing take nothing");
    for (set, piece) in (0..10).enumerate() {
        assert_eq!(table.replace(piece * PLACES as u64, 7, set as u64), NONE);
    }
    assert_eq!(table.bytes(), empty + spare + SEGMENT);
    let mut filled = PageTable::new(len, 1 << 28, spare);
    (0..len).for_each(|index| _ = filled.replace(index, 1, index));
    assert_eq!(
        filled.bytes(),
        empty + 4 * len,
        "filled in order all is dense"
    );
}

proptest! {
    #[test]
    fn a_table_is_a_map(
        seed: u64,
        spare in 0..16 * DENSE,
        width in 1..33u32,
        phases in prop::collection::vec((1..PLACES as u64, 0..10u64, 1..4000u32), 1..6),
    ) {
        let values = 1u64 << width;
        let (mut rng, mut checked) = (SplitMix64::new(seed), Checked::new(16, values, spare));
        for (span, clears, steps) in phases {
            for _ in 0..steps {
                // Some pieces are filled, others get single pages.
                let piece = rng.below(16);
                let within = match piece % 4 {
                    0 => rng.below(PLACES as u64),
                    _ => rng.below(span),
                };
                let index = piece * PLACES as u64 + within;
                match rng.below(20) {
                    n if n < clears => checked.clear(index),
                    19 => checked.replace(index, NONE),
                    _ => checked.replace(index, rng.below(values) as u32),
                }
            }
            checked.check();
        }
    }

    #[test]
    fn a_copy_of_a_frozen_table_goes_its_own_way(
        seed: u64,
        spare in 0..16 * DENSE,
        rounds in prop::collection::vec((0..2000u32, 0..3u32), 1..6),
    ) {
        let mut rng = SplitMix64::new(seed);
        let mut tables = vec![(Checked::new(8, 1 << 28, spare), Checked::new(8, 1 << 28, spare))];
        for (steps, what) in rounds {
            // Each table beside one that is never frozen, copied or thawed.
            for (table, alone) in &mut tables {
                for _ in 0..steps {
                    let index = rng.below(8 * PLACES as u64);
                    let number = rng.below(1 << 28) as u32;
                    let clears = rng.below(8) == 0;
                    for table in [&mut *table, alone] {
                        match clears {
                            true => table.clear(index),
                            false => table.replace(index, number),
                        }
                    }
                }
                assert_eq!(table.table.bytes(), alone.table.bytes());
                table.check();
            }
            match what {
                0 => tables.iter_mut().for_each(|(table, _)| table.table.freeze()),
                1 => tables.iter_mut().for_each(|(table, _)| table.table.thaw()),
                _ if tables.len() < 4 => {
                    let (table, alone) = &tables[0];
                    tables.push((table.copy(), alone.copy()));
                }
                _ => drop(tables.remove(0)),
            }
            tables.iter().for_each(|(table, _)| table.check());
        }
    }
}

#[test]
fn pieces_are_shared_until_they_change() {
    let mut image = PageTable::new(4 * PLACES as u64, 1 << 20, 4 * DENSE);
    (0..4 * PLACES as u64).for_each(|at| _ = image.replace(at, 7, at));
    image.freeze();
    let mut copy = image.clone();
    let own = |table: &PageTable| table.dense.iter().flatten().count();
    assert_eq!(copy.get(5), 7);
    assert_eq!((own(&image), own(&copy)), (0, 0));
    assert_eq!(copy.replace(5, 8, 0), 7);
    assert_eq!((image.get(5), copy.get(5), own(&copy)), (7, 8, 1));
    image.thaw();
    assert_eq!(own(&image), 0, "there is a copy");
    drop(image);
    copy.thaw();
    assert_eq!((copy.get(5), copy.get(6), own(&copy)), (8, 7, 4));
}
