//! Counting what a twin is made of, in one pass.

use super::bins::{class, depth, distance_bin, frequency, op_index, size_bin};
use super::calibrate::{CALIBRATED, Fitted, Targets};
use super::clock::BiasCount;
use super::likeness::{LONGEST, LruCurve, add_to, large_sets};
use super::parameters::TwinParameters;
use super::state::{State, pages, state_of};
use super::tables::{Table, Tables};
use super::touched::StackSlot;
use destage_trace::RecentSets;
use destage_types::rng::SplitMix64;
use destage_types::{HostRequest, Nanos, Op, RequestFlags};

/// Seed of the choice of pages that are looked at.
const SEED: u64 = 1;

/// The counts of a trace so far.
pub struct TwinFit {
    state: State,
    tables: Tables,
    random: SplitMix64,
    bias: BiasCount,
    span: u64,
    requests: u64,
    /// Kind of the request before, and whether it went on a stream.
    before: Option<(usize, bool)>,
    /// Run bin of the stream that went on last, by operation.
    run_before: [usize; 2],
    sets: RecentSets,
    /// Sectors written, and those of them in large sets.
    large: [u64; 2],
    /// Writes, those of them with FUA, and those with a preflush.
    writes: [u64; 3],
    curve: LruCurve,
    /// Of as many requests as a twin is calibrated on.
    targets: Option<Targets>,
}

impl TwinFit {
    /// Begins a trace whose last request arrives at `span`.
    pub fn new(span: Nanos) -> TwinFit {
        TwinFit {
            state: State::with_ends(),
            tables: Tables::new(),
            random: SplitMix64::new(SEED),
            bias: BiasCount::new(span.0),
            span: span.0,
            requests: 0,
            before: None,
            run_before: [0; 2],
            sets: large_sets(),
            large: [0; 2],
            writes: [0; 3],
            curve: LruCurve::of_writes(),
            targets: None,
        }
    }

    /// Counts a read or write of at least a sector. The part beyond a GiB of it is left out.
    pub fn add(&mut self, request: &HostRequest) {
        let (op, start, time) = (request.op, request.start_sector, request.arrival);
        let sectors = request.sectors.min(LONGEST);
        if op == Op::Write {
            let has = |flag| u64::from(request.flags.any(flag));
            self.writes[0] += 1;
            self.writes[1] += has(RequestFlags::FUA);
            self.writes[2] += has(RequestFlags::PREFLUSH);
        }
        if self.requests == CALIBRATED {
            self.targets = Some(self.targets());
        }
        self.requests += 1;
        if self.requests <= CALIBRATED {
            self.reached(op, start, sectors);
        }
        self.bias.add(time.0.min(self.span));
        let op = op_index(op);
        let k = 4 * op + class(sectors);
        // The first request stands for one after its own kind, so that no kind is missing.
        let (kind_before, went_on) = self.before.unwrap_or((k, false));
        self.tables.count(Table::Trans, &[kind_before], k);
        let stream = self.state.ending_at(op, start);
        let at = [k, usize::from(went_on)];
        self.tables
            .count(Table::Pcont, &at, usize::from(stream.is_some()));
        let run = match stream {
            Some((bin, rank)) => self.goes_on(k, start, sectors, bin, rank),
            None => self.starts(k, start, sectors),
        };
        self.state.access(op, start, sectors, run);
        self.before = Some((k, stream.is_some()));
    }

    fn reached(&mut self, op: Op, start: u64, sectors: u32) {
        self.curve.add(op, start, sectors);
        if op == Op::Write {
            self.large[0] += u64::from(sectors);
            self.large[1] += add_to(&mut self.sets, start, sectors);
        }
    }

    fn targets(&self) -> Targets {
        Targets::new(self.large, self.state.accesses, self.curve.percent())
    }

    /// Counts a request that goes on a stream; gives the requests of the stream with it.
    fn goes_on(&mut self, k: usize, start: u64, sectors: u32, bin: usize, rank: usize) -> u32 {
        let op = k / 4;
        let last = pages(start, sectors).1;
        let place = self.state.place(last);
        let st = state_of(place);
        let tables = &mut self.tables;
        tables.count(Table::Cstate, &[k], st);
        if let Some(place) = place {
            let distance = distance_bin(self.state.distance(place));
            tables.count(Table::Cdist, &[k, st - 1], distance);
        }
        tables.count(
            Table::Size,
            &[k, 2 + usize::from(st > 0)],
            size_bin(sectors),
        );
        let rank_bin = (rank + 1).ilog2() as usize;
        let at = [op, st, self.run_before[op]];
        tables.count(Table::Streams, &at, bin * super::bins::RANK_BINS + rank_bin);
        self.run_before[op] = bin;
        self.state.take(op, bin, rank).run.saturating_add(1)
    }

    /// Counts any other request: the first of a stream.
    fn starts(&mut self, k: usize, start: u64, sectors: u32) -> u32 {
        let (first, last) = pages(start, sectors);
        // Any page, not the first, makes the shares those of pages.
        let number = first + self.random.below(last - first + 1);
        match self.state.place(number) {
            Some(place) => self.returns(k, place, start, sectors),
            None => {
                let op = k / 4;
                self.tables.count(Table::Source, &[k], 0);
                self.tables.count(Table::Size, &[k, 0], size_bin(sectors));
                let near = self.state.is_block_touched(first);
                self.tables.count(Table::Near, &[op], usize::from(near));
                self.tables.count(Table::Mis, &[op], (start % 8) as usize);
            }
        }
        1
    }

    fn returns(&mut self, k: usize, place: StackSlot, start: u64, sectors: u32) {
        let (stack, page) = (usize::from(place.stack), self.state.page(place));
        let same_class = usize::from(page.tag) == k % 4;
        let distance = self.state.distance(place);
        let tables = &mut self.tables;
        tables.count(Table::Source, &[k], stack + 1);
        tables.count(Table::Sdist, &[k, stack], distance_bin(distance));
        let attributes = usize::from(page.tag) * 6 + frequency(page.count) * 2;
        let attributes = attributes + usize::from(page.run16);
        tables.count(Table::Attr, &[k, stack, depth(distance)], attributes);
        let align = match (page.start == start, page.sectors == sectors) {
            (true, true) => 0,
            (true, false) => 1,
            (false, _) => 2,
        };
        tables.count(Table::Align, &[k, stack, usize::from(same_class)], align);
        if align != 0 {
            tables.count(Table::Size, &[k, 1], size_bin(sectors));
        }
    }

    /// Pages touched so far: what memory is taken for.
    pub fn footprint(&self) -> u64 {
        self.state.footprint()
    }

    /// The counts; a twin of it may be calibrated.
    ///
    /// # Errors
    /// Nothing was read or written.
    pub fn finish(self) -> Result<Fitted, String> {
        if self.requests == 0 {
            return Err("a twin needs at least one read or write".to_owned());
        }
        let targets = self.targets.unwrap_or_else(|| self.targets());
        let far = (0..2)
            .map(|op| self.tables.row(Table::Near, &[op])[0])
            .sum();
        let parameters = TwinParameters {
            requests: self.requests,
            span: self.span,
            space_sectors: super::parameters::space(self.state.footprint(), far),
            seed: 1,
            bias: self.bias.bias(),
            multipliers: [1_000_000; 3],
            flags: [1, 2].map(|at| {
                let share = self.writes[at] as f64 / self.writes[0].max(1) as f64;
                libm::round(share * 1e6) as u64
            }),
            tables: self.tables,
        };
        Ok(Fitted {
            parameters,
            written: self.state.stacks[0].size(),
            targets,
        })
    }
}
