use super::*;
use destage_types::rng::SplitMix64;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Bytes of a piece and of its place in the list.
const OF_PIECE: u64 = 128;
const OF_SLOT: u64 = 4;

#[derive(Clone)]
struct Checked {
    table: PageTable,
    model: BTreeMap<u64, u32>,
    len: u64,
}

impl Checked {
    fn new(pieces: u64) -> Checked {
        let len = pieces * PIECE as u64;
        Checked {
            table: PageTable::new(len),
            model: BTreeMap::new(),
            len,
        }
    }

    fn replace(&mut self, index: u64, number: u32) {
        let old = match number {
            NONE => self.model.remove(&index),
            _ => self.model.insert(index, number),
        };
        let replaced = self.table.replace(index, number);
        assert_eq!(replaced, old.unwrap_or(NONE), "{index}");
    }

    fn clear(&mut self, index: u64) {
        self.model.remove(&index);
        self.table.clear(index);
    }

    fn check(&self) {
        let mut given = Vec::new();
        self.table
            .each(0, self.len as u32, |at, number| given.push((at, number)));
        let wanted = |index| self.model.get(&index).copied().unwrap_or(NONE);
        for index in 0..self.len {
            assert_eq!(self.table.get(index), wanted(index), "{index}");
            assert_eq!(given[index as usize], (index, wanted(index)));
        }
        let last = self.len - 3;
        given.clear();
        self.table
            .each(last, 2, |at, number| given.push((at, number)));
        assert_eq!(
            given,
            [last, last + 1].map(|index| (index, wanted(index))),
            "not all of a piece"
        );
    }
}

#[test]
fn pieces_take_memory_from_their_first_touch() {
    let len = 64 * PIECE as u64;
    let mut table: PageTable = PageTable::new(len);
    assert_eq!(table.bytes(), 64 * OF_SLOT);
    assert_eq!((table.get(0), table.get(len - 1)), (NONE, NONE));
    table.clear(5);
    table.each(0, len as u32, |_, number| assert_eq!(number, NONE));
    assert_eq!(
        table.bytes(),
        64 * OF_SLOT,
        "reading and clearing take nothing"
    );
    for piece in 0..10 {
        assert_eq!(table.replace(piece * PIECE as u64 + piece, 7), NONE);
    }
    assert_eq!(table.bytes(), 64 * OF_SLOT + 10 * OF_PIECE);
    (0..len).for_each(|index| _ = table.replace(index, 1));
    assert_eq!(table.bytes(), 64 * OF_SLOT + 4 * len);
}

proptest! {
    #[test]
    fn a_table_is_a_map(
        seed: u64,
        phases in prop::collection::vec((0..10u64, 1..2000u32), 1..6),
    ) {
        let (mut rng, mut checked) = (SplitMix64::new(seed), Checked::new(16));
        for (clears, steps) in phases {
            for _ in 0..steps {
                let index = rng.below(checked.len);
                match rng.below(20) {
                    n if n < clears => checked.clear(index),
                    19 => checked.replace(index, NONE),
                    _ => checked.replace(index, rng.below(1 << 32) as u32),
                }
            }
            checked.check();
        }
    }

    #[test]
    fn a_copy_of_a_frozen_table_goes_its_own_way(
        seed: u64,
        rounds in prop::collection::vec((0..300u32, 0..4u32), 1..8),
    ) {
        let mut rng = SplitMix64::new(seed);
        let mut tables = vec![Checked::new(32)];
        for (steps, what) in rounds {
            for table in &mut tables {
                for _ in 0..steps {
                    let index = rng.below(table.len);
                    if rng.below(8) == 0 {
                        let end = table.len.min(index + [1, 40, 200][rng.below(3) as usize]);
                        (index..end).for_each(|index| table.clear(index));
                    } else {
                        table.replace(index, rng.below(1 << 28) as u32);
                    }
                }
                table.check();
            }
            match what {
                0 => tables.iter_mut().for_each(|table| table.table.freeze()),
                1 => tables.iter_mut().for_each(|table| table.table.thaw()),
                _ if tables.len() < 4 => tables.push(tables[0].clone()),
                _ => drop(tables.remove(0)),
            }
            tables.iter().for_each(Checked::check);
        }
    }
}

#[test]
fn what_is_cleared_in_order_takes_no_memory() {
    let len = 8 * PIECE as u64;
    let mut table: PageTable = PageTable::new(len);
    (0..len).for_each(|at| _ = table.replace(at, 7));
    table.freeze();
    let mut copy = table.clone();
    (10..len).for_each(|at| copy.clear(at));
    assert_eq!(copy.own.pieces.len(), 1, "that of the first ten");
    copy.each(10, len as u32 - 10, |_, number| assert_eq!(number, NONE));
    let again = copy.clone();
    assert_eq!(
        (again.get(9), again.get(10), again.get(len - 1)),
        (7, NONE, NONE)
    );
    assert_eq!(copy.replace(100, 3), NONE);
    drop(table);
    copy.thaw();
    assert_eq!(
        [99, 100, 101, len - 1].map(|at| copy.get(at)),
        [NONE, 3, NONE, NONE]
    );
}

#[test]
fn pieces_are_shared_until_they_change() {
    let mut image: PageTable = PageTable::new(4 * PIECE as u64);
    (0..3 * PIECE as u64).for_each(|at| _ = image.replace(at, 7));
    image.freeze();
    let mut copy = image.clone();
    let own = |table: &PageTable| table.own.pieces.len();
    assert_eq!(copy.get(5), 7);
    copy.clear(100);
    assert_eq!((own(&image), own(&copy)), (0, 0));
    assert_eq!(copy.replace(5, 8), 7);
    assert_eq!(copy.replace(100, 9), NONE);
    assert_eq!((image.get(5), copy.get(5), own(&copy)), (7, 8, 2));
    assert_eq!((image.get(100), copy.get(100)), (NONE, 9));
    image.thaw();
    assert_eq!(own(&image), 0, "there is a copy");
    drop(image);
    copy.thaw();
    assert_eq!((copy.get(5), copy.get(6), copy.get(100)), (8, 7, 9));
    assert_eq!((own(&copy), copy.frozen.is_none()), (4, true));
    assert_eq!(copy.bytes(), 4 * (OF_SLOT + OF_PIECE));
}
