//! Making the requests of a twin, one after the other.

use super::bins::{KINDS, RANK_BINS, RUN_BINS, distance_bin, distance_from, frequency, size_of};
use super::draw::Draws;
use super::parameters::TwinParameters;
use super::state::{Page, State, Stream, pages, state_of};
use super::tables::{Table, Tables};
use destage_types::Op;
use destage_types::rng::SplitMix64;

/// Sizes of a kind of which none was counted: the largest of each class.
const LARGEST: [u32; 4] = [8, 32, 128, 256];

/// Accesses whose distance did not exist yet: repaid by later requests of the same kind.
#[derive(Default)]
struct Debt {
    /// By stack and distance bin.
    bins: [Vec<u64>; 2],
    owed: u64,
    /// Accesses to touched pages that were to be untouched ones.
    credit: u64,
}

/// An access to pages that were accessed before.
#[derive(Clone, Copy)]
struct Reuse {
    /// Number of the stack that they are in.
    stack: usize,
    /// Bin of their distance in it.
    bin: usize,
}

/// Makes requests from random draws and the requests so far.
pub struct Maker {
    draws: Draws,
    state: State,
    random: SplitMix64,
    space: u64,
    debts: [Debt; KINDS],
    kind: usize,
    went_on: bool,
    run_before: [usize; 2],
}

impl Maker {
    pub fn new(p: &TwinParameters) -> Maker {
        let weights: Tables = p.weighted();
        let first = weights
            .rows(Table::Trans)
            .iter()
            .position(|row| row.iter().any(|&n| n > 0));
        let bins = || vec![0; super::bins::DISTANCE_BINS];
        let debt = || Debt {
            bins: [bins(), bins()],
            ..Debt::default()
        };
        Maker {
            draws: Draws::new(&weights),
            state: State::new(),
            random: SplitMix64::new(p.seed),
            space: p.space_sectors,
            debts: std::array::from_fn(|_| debt()),
            kind: first.expect("parameters are checked when they are made"),
            went_on: false,
            run_before: [0; 2],
        }
    }

    /// Operation, start and length of the next request.
    pub fn next(&mut self) -> (Op, u64, u32) {
        let drawn = self.draw(Table::Trans, &[self.kind]);
        // A kind that only the last request of the trace had leads nowhere: it stays.
        let k = drawn.unwrap_or(self.kind);
        let at = [k, usize::from(self.went_on)];
        let goes_on = self.draw(Table::Pcont, &at) == Some(1);
        let (start, sectors, run) = if goes_on {
            self.go_on(k)
        } else {
            self.start(k)
        };
        self.state.access(k / 4, start, sectors, run);
        (self.kind, self.went_on) = (k, goes_on && run > 1);
        let op = if k / 4 == 1 { Op::Write } else { Op::Read };
        (op, start, sectors)
    }

    /// Page accesses by operation and what the page was before.
    pub fn accesses(&self) -> [[u64; 3]; 2] {
        self.state.accesses
    }

    fn draw(&mut self, table: Table, at: &[usize]) -> Option<usize> {
        self.draws.draw(table, at, &mut self.random)
    }

    fn owe(&mut self, k: usize, reuse: Reuse) {
        self.debts[k].bins[reuse.stack][reuse.bin] += 1;
        self.debts[k].owed += 1;
    }

    fn exists(&self, reuse: Reuse) -> bool {
        distance_from(reuse.bin) < self.state.stacks[reuse.stack].size()
    }

    /// `reuse` if the distance exists; else it is owed.
    fn possible(&mut self, k: usize, reuse: Reuse) -> Option<Reuse> {
        if self.exists(reuse) {
            return Some(reuse);
        }
        self.owe(k, reuse);
        None
    }

    /// Length of a request; a kind of which a row is absent takes those of its other rows.
    fn size(&mut self, k: usize, row: usize) -> u32 {
        let mut rows = [row, row ^ 1, row ^ 2, row ^ 3].into_iter();
        let bin = rows.find_map(|row| self.draw(Table::Size, &[k, row]));
        let sectors = bin.map_or(LARGEST[k % 4], size_of);
        sectors.min(self.space.min(u32::MAX.into()) as u32)
    }

    /// A request that goes on a stream, or if there is none, starts one.
    fn go_on(&mut self, k: usize) -> (u64, u32, u32) {
        let op = k / 4;
        let mut reuse = None;
        let state = self.draw(Table::Cstate, &[k]).unwrap_or(0);
        if let Some(stack) = state.checked_sub(1) {
            let bin = self.draw(Table::Cdist, &[k, stack]).unwrap_or(0);
            reuse = self.possible(k, Reuse { stack, bin });
        }
        let sectors = self.size(k, 2 + usize::from(reuse.is_some()));
        let Some((bin, rank, fits)) = self.find_stream(op, reuse, sectors) else {
            return self.start_in(k, reuse);
        };
        if !fits {
            let place = self.state.place_behind(self.stream(op, bin, rank), sectors);
            match (reuse, state_of(place)) {
                (Some(reuse), 0) => self.owe(k, reuse),
                (None, 1..) => self.debts[k].credit += 1,
                _ => {}
            }
        }
        self.run_before[op] = bin;
        let Stream { end, run, .. } = self.state.take(op, bin, rank);
        (end, sectors, run.saturating_add(1))
    }

    fn stream(&self, op: usize, bin: usize, rank: usize) -> &Stream {
        let list = self.state.streams(op, bin);
        &list[list.len() - 1 - rank]
    }

    /// Run bin and rank of a stream whose next request is `reuse`, at a distance near that one, and whether it
    /// is; the first one found stands in for none.
    fn find_stream(
        &mut self,
        op: usize,
        reuse: Option<Reuse>,
        sectors: u32,
    ) -> Option<(usize, usize, bool)> {
        let wanted = reuse.map_or(0, |reuse| reuse.stack + 1);
        let (mut fallback, mut best) = (None, None::<(usize, (usize, usize))>);
        // Of each run bin, the newest streams that were looked at.
        let mut tried = [0u64; RUN_BINS];
        let at = [op, wanted, self.run_before[op]];
        let streams = self.draws.row(Table::Streams, &at)?;
        for attempt in 0..32 {
            let drawn = streams.draw(&mut self.random);
            let (bin, rank_bin) = (drawn / RANK_BINS, drawn % RANK_BINS);
            let mut rank = (1 << rank_bin) - 1 + self.random.below(1 << rank_bin) as usize;
            let streams = self.state.streams(op, bin).len();
            if streams == 0 || (rank >= streams && attempt < 24) {
                continue;
            }
            if rank >= streams {
                rank = self.random.below(streams as u64) as usize;
            }
            // A stream that failed once is not tried again: the next one.
            let bit = 1u64.checked_shl(rank as u32).unwrap_or(0);
            if tried[bin] & bit > 0 {
                continue;
            }
            tried[bin] |= bit;
            let stream = self.stream(op, bin, rank);
            if stream.end + u64::from(sectors) > self.space {
                continue;
            }
            fallback = fallback.or(Some((bin, rank)));
            let place = self.state.place_behind(stream, sectors);
            if state_of(place) != wanted {
                continue;
            }
            let (Some(place), Some(reuse)) = (place, reuse) else {
                return Some((bin, rank, true));
            };
            let off = distance_bin(self.state.distance(place)).abs_diff(reuse.bin);
            if best.is_none_or(|best| off < best.0) {
                best = Some((off, (bin, rank)));
            }
            if off <= 1 {
                break;
            }
        }
        match best.filter(|best| best.0 <= 8) {
            Some((_, (bin, rank))) => Some((bin, rank, true)),
            None => fallback.map(|(bin, rank)| (bin, rank, false)),
        }
    }

    /// The first request of a stream.
    fn start(&mut self, k: usize) -> (u64, u32, u32) {
        let mut state = self.draw(Table::Source, &[k]).unwrap_or(0);
        if state > 0 && self.debts[k].credit > 0 {
            self.debts[k].credit -= 1;
            state = 0;
        }
        let reuse = state.checked_sub(1).and_then(|stack| {
            let bin = self.draw(Table::Sdist, &[k, stack])?;
            Some(Reuse { stack, bin })
        });
        self.start_in(k, reuse)
    }

    /// The same, in pages as `reuse` says if there are such pages: else in untouched pages.
    fn start_in(&mut self, k: usize, reuse: Option<Reuse>) -> (u64, u32, u32) {
        let from = match reuse {
            Some(reuse) => self.possible(k, reuse),
            None if self.debts[k].owed > 0 => self.pay(k),
            None => None,
        };
        let sectors = self.size(k, usize::from(from.is_some()));
        let (start, sectors) = match from {
            Some(reuse) => self.again(k, reuse, sectors),
            None => (self.untouched(k / 4, sectors), sectors),
        };
        (start.min(self.space - u64::from(sectors)), sectors, 1)
    }

    /// A debt that can be paid now: of written pages first, the farthest first.
    fn pay(&mut self, k: usize) -> Option<Reuse> {
        let found = [0, 1].into_iter().find_map(|stack| {
            let bins = self.debts[k].bins[stack].iter().enumerate().rev();
            let owed = bins.filter(|&(_, &n)| n > 0);
            let mut owed = owed.map(|(bin, _)| Reuse { stack, bin });
            owed.find(|&reuse| self.exists(reuse))
        })?;
        self.debts[k].bins[found.stack][found.bin] -= 1;
        self.debts[k].owed -= 1;
        Some(found)
    }

    /// An extent that was accessed before.
    fn again(&mut self, k: usize, reuse: Reuse, sectors: u32) -> (u64, u32) {
        let page = self.page_at(k, reuse);
        let same_class = usize::from(page.tag) == k % 4;
        let align = self
            .draw(Table::Align, &[k, reuse.stack, usize::from(same_class)])
            .unwrap_or(2);
        let (start, length) = (page.start, page.sectors);
        match align {
            0 if same_class => (start, length),
            1 => (start, sectors),
            _ if sectors >= length => (start, sectors),
            _ => {
                let back = self.random.below(u64::from(sectors).div_ceil(8));
                let at = 8 * page.number.saturating_sub(back);
                let last = start + u64::from(length - sectors);
                (at.clamp(start, last), sectors)
            }
        }
    }

    /// A page at a distance of a bin, with attributes as drawn if there is one.
    fn page_at(&mut self, k: usize, Reuse { stack, bin }: Reuse) -> Page {
        let size = self.state.stacks[stack].size();
        let near = distance_from(bin);
        let far = distance_from(bin + 1).min(size).max(near + 1);
        let d = near + self.random.below(far - near);
        let attributes = self.draw(Table::Attr, &[k, stack, super::bins::depth(d)]);
        let pages = &self.state.stacks[stack];
        let chosen = || *pages.page(pages.at(d));
        let Some(attributes) = attributes else {
            return chosen();
        };
        let (tag, often, run16) = (
            (attributes / 6) as u8,
            attributes / 2 % 3,
            attributes % 2 == 1,
        );
        let oldest = pages.older(tag, pages.at(far - 1));
        let newer = pages.older(tag, pages.at(near) + 1);
        if newer == oldest {
            let nearest = self.nearest(stack, tag, oldest, d, bin);
            return nearest.unwrap_or_else(chosen);
        }
        let mut tries = 0;
        loop {
            let i = oldest + self.random.below(u64::from(newer - oldest)) as u32;
            let page = pages.page(pages.kth(tag, i));
            tries += 1;
            if tries == 8 || (frequency(page.count) == often && page.run16 == run16) {
                return *page;
            }
        }
    }

    /// The page with a tag nearest to distance `d`, none of them in its bin; `older` are beyond.
    fn nearest(&self, stack: usize, tag: u8, older: u32, d: u64, b: usize) -> Option<Page> {
        let pages = &self.state.stacks[stack];
        let above = (older < pages.tagged(tag)).then_some(older);
        let found = older.checked_sub(1).into_iter().chain(above);
        let slots = found.map(|i| pages.kth(tag, i));
        let slot = slots.min_by_key(|&slot| pages.distance(slot).abs_diff(d))?;
        let bin = distance_bin(pages.distance(slot));
        (bin.abs_diff(b) <= 4).then(|| *pages.page(slot))
    }

    /// Where a request to untouched pages starts.
    fn untouched(&mut self, op: usize, sectors: u32) -> u64 {
        if self.draw(Table::Near, &[op]) == Some(1)
            && let Some(start) = self.near(op, sectors)
        {
            return start;
        }
        let blocks = (self.space / 512).max(1);
        let mut block = 0;
        for attempt in 0..16 {
            block = self.random.below(blocks);
            let ahead: &[u64] = if attempt < 12 { &[0, 1, 4, 15] } else { &[0] };
            let free = |b: u64| !self.state.is_block_touched(64 * b);
            if ahead.iter().all(|i| free(block + i)) {
                break;
            }
        }
        512 * block + self.draw(Table::Mis, &[op]).unwrap_or(0) as u64
    }

    /// Near a recent request, if there is room.
    fn near(&mut self, op: usize, sectors: u32) -> Option<u64> {
        for attempt in 0..8 {
            let recents = &self.state.stacks[1 - op];
            let recent = recents.size().min(4096);
            if recent == 0 {
                return None;
            }
            let slot = recents.at(self.random.below(recent));
            let Page {
                start,
                sectors: length,
                ..
            } = *recents.page(slot);
            let at = if attempt < 4 {
                (start + u64::from(length)).div_ceil(8) + 1 + self.random.below(8)
            } else {
                start / 512 * 64 + self.random.below(64)
            };
            let mis = self.draw(Table::Mis, &[op]).unwrap_or(0) as u64;
            let at = 8 * at + mis;
            let (first, last) = pages(at, sectors);
            let free = self.state.state(first) == 0 && self.state.state(last) == 0;
            if free && at + u64::from(sectors) <= self.space {
                return Some(at);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TwinFile;

    #[test]
    fn debts_and_stacks_add_up_after_every_request() {
        let text = "requests = 3000\nspan_s = 1\nwrite_ratio = 0.6\nmean_write_kib = 9\n";
        let parameters = TwinFile::parse(text)
            .unwrap()
            .parameters(None, None)
            .unwrap();
        let mut maker = Maker::new(&parameters);
        for _ in 0..3_000 {
            maker.next();
            for debt in &maker.debts {
                assert_eq!(debt.owed, debt.bins.iter().flatten().sum::<u64>());
            }
            let stacks = &maker.state.stacks;
            let sizes = stacks.iter().map(|s| s.size()).sum::<u64>();
            assert_eq!(sizes, maker.state.footprint());
            for stack in stacks {
                let tags: u32 = (0..4).map(|tag| stack.tagged(tag)).sum();
                assert_eq!(u64::from(tags), stack.size());
            }
        }
    }
}
