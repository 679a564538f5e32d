//! Accesses of each page of a trace. Memory grows with the number of requests only, whatever their
//! lengths.

use super::range_map::RangeMap;
use destage_scheme::PREFETCH;
use destage_scheme::store::PageIndex;
use std::collections::BTreeMap;

/// Pages of a word of marks.
const WORD: u64 = 64;
/// Words of a group: few, as a trace may access one page of each of a million groups.
const GROUP_WORDS: usize = 2;
/// Pages of a group, 512 KiB.
const GROUP: u64 = WORD * GROUP_WORDS as u64;

/// Marks of the pages of a word: accesses, counted in two bits up to three (more are as frequent), and
/// whether they were written.
#[derive(Clone, Copy, Default)]
struct Marks {
    low: u64,
    high: u64,
    written: u64,
}

/// Counts of what the reads and writes of a trace did to its pages of 4 KiB.
#[derive(Default)]
pub struct PageMarks {
    /// Groups with marks of their own: those of which a request accessed a part.
    groups: Groups,
    /// Marks of all words of the other groups, which requests accessed whole. A request adds a handful of
    /// runs at most. Those of groups in `groups` are out of date.
    runs: RangeMap<Marks>,
    /// Pages accessed.
    pub touched: u64,
    /// Pages written.
    pub written: u64,
    /// Pages accessed three times and more.
    pub frequent: u64,
    /// Those of them that were written.
    pub frequent_written: u64,
    /// Page accesses.
    pub accesses: u64,
    /// Those of writes.
    pub write_accesses: u64,
    /// Those of them to a page that was written before.
    pub updates: u64,
}

/// Marks of groups by number.
struct Groups {
    marks: Vec<[Marks; GROUP_WORDS]>,
    /// Row of each group plus one; 0: none.
    rows: PageIndex<u32>,
    /// The same in order, for requests that are so long that they find few groups on their way.
    in_order: BTreeMap<u64, u32>,
}

impl Default for Groups {
    fn default() -> Groups {
        Groups {
            marks: Vec::new(),
            rows: PageIndex::new(0),
            in_order: BTreeMap::new(),
        }
    }
}

impl Groups {
    /// The row of a group, a new one of which all words are as `new` says.
    fn row(&mut self, group: u64, new: impl FnOnce() -> Marks) -> usize {
        if let Some(row) = self.rows.get(group).checked_sub(1) {
            return row as usize;
        }
        let row = self.marks.len();
        self.marks.push([new(); GROUP_WORDS]);
        *self.rows.at(group) = row as u32 + 1;
        self.in_order.insert(group, row as u32);
        row
    }
}

impl PageMarks {
    /// Counts an access to pages `first..end`, below 2^48, and says whether one of them was written before.
    pub(super) fn access(&mut self, first: u64, end: u64, write: bool) -> bool {
        self.accesses += end - first;
        self.write_accesses += if write { end - first } else { 0 };
        let (mut page, mut any) = (first, false);
        while page < end {
            let (group, at) = (page / GROUP, page % GROUP);
            let whole = (end - page) / GROUP;
            if at == 0 && whole > 0 {
                any |= self.access_groups(group, group + whole, write);
                page += whole * GROUP;
                continue;
            }
            let pages = (GROUP - at).min(end - page);
            any |= self.access_part(group, (at, at + pages), write);
            page += pages;
        }
        any
    }

    /// Reads the marks of pages that are accessed next: the processor waits for all of them together.
    pub(super) fn prefetch(&self, pages: impl Iterator<Item = u64>) {
        let group = |page: u64| self.groups.rows.get(page / GROUP).wrapping_sub(1);
        let mut rows = [u32::MAX; PREFETCH];
        for (row, page) in rows.iter_mut().zip(pages) {
            *row = group(page);
        }
        let marks = |row: u32| self.groups.marks.get(row as usize);
        std::hint::black_box(rows.map(|row| marks(row).map_or(0, |marks| marks[0].written)));
    }

    /// Counts an access to pages `at..end` of a group.
    fn access_part(&mut self, group: u64, (mut at, end): (u64, u64), write: bool) -> bool {
        let runs = &self.runs;
        let row = self
            .groups
            .row(group, || runs.of(group).unwrap_or_default());
        let mut any = false;
        while at < end {
            let (word, bit) = ((at / WORD) as usize, at % WORD);
            let pages = (WORD - bit).min(end - at);
            let mask = (u64::MAX >> (WORD - pages)) << bit;
            let mut marks = self.groups.marks[row][word];
            any |= self.mark(&mut marks, mask, 1, write);
            self.groups.marks[row][word] = marks;
            at += pages;
        }
        any
    }

    /// Counts an access to all pages of groups `first..end`.
    fn access_groups(&mut self, first: u64, end: u64, write: bool) -> bool {
        let (mut at, mut any) = (first, false);
        while at < end {
            let next = self.groups.in_order.range(at..end).next();
            let next = next.map_or(end, |(&group, _)| group);
            any |= self.access_runs(at, next, write);
            if next < end {
                any |= self.access_part(next, (0, GROUP), write);
            }
            at = next + 1;
        }
        any
    }

    /// Counts an access to all pages of groups `first..end`, none of which has marks of its own.
    fn access_runs(&mut self, first: u64, end: u64, write: bool) -> bool {
        self.runs.cut(first);
        self.runs.cut(end);
        let (mut at, mut any) = (first, false);
        while at < end {
            let (stop, mut marks) = match self.runs.first_in(at, end) {
                Some((start, stop, marks)) if start == at => (stop, marks),
                next => (next.map_or(end, |next| next.0), Marks::default()),
            };
            let words = (stop - at) * GROUP_WORDS as u64;
            any |= self.mark(&mut marks, u64::MAX, words, write);
            self.runs.set(at, stop, marks);
            at = stop;
        }
        any
    }

    /// Marks the pages of `mask` in each of `words` words, and counts what that is the first of.
    fn mark(&mut self, marks: &mut Marks, mask: u64, words: u64, write: bool) -> bool {
        let old = *marks;
        let frequent = old.low & old.high;
        let more = mask & !frequent;
        marks.low ^= more;
        marks.high ^= old.low & more;
        marks.written |= if write { mask } else { 0 };
        let now = marks.low & marks.high;
        let count = |pages: u64| u64::from(pages.count_ones()) * words;
        self.touched += count(mask & !(old.low | old.high));
        self.written += count(marks.written & !old.written);
        self.frequent += count(now & !frequent);
        self.frequent_written += count(now & marks.written & !(frequent & old.written));
        self.updates += if write { count(mask & old.written) } else { 0 };
        mask & old.written != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::rng::SplitMix64;
    use std::collections::BTreeMap;

    #[test]
    fn pages_are_counted_once_and_known_again() {
        let mut pages = PageMarks::default();
        assert!(!pages.access(0, 3, true));
        assert!(pages.access(2, 4, false));
        assert!(!pages.access(GROUP - 1, GROUP + 1, false));
        pages.access(1 << 47, (1 << 47) + 1, true);
        assert_eq!((pages.touched, pages.written, pages.accesses), (7, 4, 8));
        // Page 2 is frequent with its third access, page 3 is written after it was.
        pages.access(2, 4, false);
        assert_eq!((pages.frequent, pages.frequent_written), (1, 1));
        pages.access(3, 4, false);
        assert_eq!((pages.frequent, pages.frequent_written), (2, 1));
        assert!(!pages.access(3, 4, true));
        assert_eq!((pages.frequent_written, pages.updates), (2, 0));
        assert!(pages.access(3, 4, true));
        assert_eq!(
            (pages.frequent_written, pages.updates, pages.write_accesses),
            (2, 1, 6)
        );
    }

    #[test]
    fn counts_are_those_of_pages_counted_one_by_one() {
        let mut rng = SplitMix64::new(7);
        let mut pages = PageMarks::default();
        let mut each: BTreeMap<u64, (u64, bool)> = BTreeMap::new();
        let (mut updates, mut accesses) = (0, 0);
        for _ in 0..2_000 {
            let first = rng.below(9_000);
            let most = [4, 70, 600, 6_000][rng.below(4) as usize];
            let end = first + 1 + rng.below(most);
            let write = rng.below(2) == 0;
            let mut any = false;
            for page in first..end {
                let (count, written) = each.entry(page).or_default();
                any |= *written;
                updates += u64::from(write && *written);
                *count += 1;
                *written |= write;
                accesses += 1;
            }
            assert_eq!(pages.access(first, end, write), any);
        }
        let count = |what: &dyn Fn(&(u64, bool)) -> bool| each.values().filter(|p| what(p)).count();
        assert_eq!(pages.touched, each.len() as u64);
        assert_eq!(pages.written, count(&|p| p.1) as u64);
        assert_eq!(pages.frequent, count(&|p| p.0 >= 3) as u64);
        assert_eq!(pages.frequent_written, count(&|p| p.0 >= 3 && p.1) as u64);
        assert_eq!((pages.updates, pages.accesses), (updates, accesses));
    }

    #[test]
    fn long_requests_take_no_more_memory_than_short_ones() {
        let mut pages = PageMarks::default();
        for i in 0..1_000 {
            pages.access(i * 7_919_123, (i + 50_000) * 7_919_123, i % 3 == 0);
        }
        assert!(pages.runs.len() < 5_000, "{}", pages.runs.len());
        assert!(pages.groups.marks.len() <= 2_000);
        assert_eq!(pages.touched, 50_999 * 7_919_123);
    }
}
