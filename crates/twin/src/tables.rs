//! The counts that a twin is drawn from.

use super::bins::{DISTANCE_BINS, KINDS, RANK_BINS, RUN_BINS, SIZE_BINS};

/// One of the tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Table {
    /// Kind by the kind before it.
    Trans,
    /// Size by kind, and new, old, going on to new, going on to old.
    Size,
    /// Does a stream go on? By kind and whether the request before did.
    Pcont,
    /// State of the last page of a request that goes on: untouched, written, read only.
    Cstate,
    /// State of a page of any other request.
    Source,
    /// Stack distance of that page, by kind and stack.
    Sdist,
    /// Stack distance of the last page of a request that goes on.
    Cdist,
    /// Tag, frequency and run16 of the page, by kind, stack and depth.
    Attr,
    /// Same extent, same start, other: by kind, stack and whether the tag is the class.
    Align,
    /// Run bin and rank bin of the stream, by operation, state and run bin of the one before.
    Streams,
    /// Is an untouched page in a touched block of 64 pages? By operation.
    Near,
    /// Start modulo 8 of requests to untouched pages, by operation.
    Mis,
}

/// Every table: its key, the numbers that name a row, and its columns.
pub const TABLES: [(Table, &str, &[usize], usize); 12] = [
    (Table::Trans, "trans", &[KINDS], KINDS),
    (Table::Size, "size", &[KINDS, 4], SIZE_BINS),
    (Table::Pcont, "pcont", &[KINDS, 2], 2),
    (Table::Cstate, "cstate", &[KINDS], 3),
    (Table::Source, "source", &[KINDS], 3),
    (Table::Sdist, "sdist", &[KINDS, 2], DISTANCE_BINS),
    (Table::Cdist, "cdist", &[KINDS, 2], DISTANCE_BINS),
    (Table::Attr, "attr", &[KINDS, 2, 3], 24),
    (Table::Align, "align", &[KINDS, 2, 2], 3),
    (
        Table::Streams,
        "stream",
        &[2, 3, RUN_BINS],
        RUN_BINS * RANK_BINS,
    ),
    (Table::Near, "near", &[2], 2),
    (Table::Mis, "mis", &[2], 8),
];

/// The counts of all tables, row by row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tables(Vec<Vec<Vec<u64>>>);

impl Tables {
    pub fn new() -> Tables {
        let empty = |&(_, _, rows, columns): &(Table, &str, &[usize], usize)| {
            vec![vec![0; columns]; rows.iter().product()]
        };
        Tables(TABLES.iter().map(empty).collect())
    }

    /// The row that `at` names.
    pub fn row(&self, table: Table, at: &[usize]) -> &[u64] {
        &self.0[table as usize][row_number(table, at)]
    }

    pub fn row_mut(&mut self, table: Table, at: &[usize]) -> &mut [u64] {
        &mut self.0[table as usize][row_number(table, at)]
    }

    pub fn count(&mut self, table: Table, at: &[usize], column: usize) {
        self.row_mut(table, at)[column] += 1;
    }

    /// All rows of a table.
    pub fn rows_mut(&mut self, table: Table) -> &mut [Vec<u64>] {
        &mut self.0[table as usize]
    }

    /// The same, to read.
    pub fn rows(&self, table: Table) -> &[Vec<u64>] {
        &self.0[table as usize]
    }
}

/// Number of the row that `at` names, the last number changing fastest.
pub fn row_number(table: Table, at: &[usize]) -> usize {
    let dims = TABLES[table as usize].2;
    debug_assert_eq!(dims.len(), at.len());
    at.iter().zip(dims).fold(0, |row, (i, n)| row * n + i)
}

/// The numbers that name a row.
pub fn row_name(dims: &[usize], mut row: usize) -> Vec<usize> {
    let mut at = vec![0; dims.len()];
    for (i, n) in dims.iter().enumerate().rev() {
        at[i] = row % n;
        row /= n;
    }
    at
}
