//! Requests of one part of a generated workload.

use destage_types::rng::SplitMix64;
use destage_types::{HostRequest, Nanos, Op, RequestFlags, SECTOR_BYTES};

use super::part::{At, SynthPart};
use super::random::Distributions;
use super::zipf::{ZipfLaw, ZipfRanks, scatter};

/// A part while it is drawn from.
pub(super) struct PartSource<'a> {
    part: &'a SynthPart,
    zipf: Option<ZipfRanks>,
    /// Next byte of each sequential run, and what is left of the run.
    runs: Vec<(u64, u64)>,
    /// Numbers of 53 bits below which a request is a write, a write has FUA, and has a preflush.
    writes: u64,
    fua: u64,
    preflush: u64,
}

impl<'a> PartSource<'a> {
    pub fn new(part: &'a SynthPart) -> PartSource<'a> {
        let zipf = match part.at {
            At::Zipf(theta) => {
                let ranks = part.zipf_pages;
                let law = ZipfLaw { theta, ranks };
                Some(ZipfRanks::new(part.units() as u32, law))
            }
            _ => None,
        };
        let runs = match part.at {
            At::Sequential => {
                let first = |i| part.space_of(i).0;
                let length = part.run.unwrap_or(u64::MAX);
                (0..part.streams).map(|i| (first(i), length)).collect()
            }
            _ => Vec::new(),
        };
        PartSource {
            part,
            zipf,
            runs,
            writes: threshold(part.writes),
            fua: threshold(part.fua),
            preflush: threshold(part.preflush),
        }
    }

    /// The next request, which arrives at `now`.
    pub fn request(&mut self, now: Nanos, random: &mut SplitMix64) -> HostRequest {
        let op = [Op::Read, Op::Write][usize::from(random.next_53() < self.writes)];
        let bytes = match self.part.size[..] {
            [(_, bytes)] => bytes,
            _ => random.weighted(&self.part.size),
        };
        let at = match self.part.at {
            At::Sequential => self.next_of_run(bytes, random),
            _ => self.place(bytes, random),
        };
        let sectors = (bytes / SECTOR_BYTES) as u32;
        let start = (self.part.start + at) / SECTOR_BYTES;
        let mut request = HostRequest::new(now, op, start, sectors);
        if op == Op::Write {
            // Nothing is drawn for what a part does not have.
            let mut has = |threshold| threshold > 0 && random.next_53() < threshold;
            let (fua, preflush) = (has(self.fua), has(self.preflush));
            request.flags = RequestFlags::FUA
                .only_if(fua)
                .and(RequestFlags::PREFLUSH.only_if(preflush));
        }
        request
    }

    /// First byte in the space of a request of `bytes`; one that would reach over the end of the
    /// space ends there.
    fn place(&mut self, bytes: u64, random: &mut SplitMix64) -> u64 {
        let part = self.part;
        let units = part.units();
        let unit = match (part.at, &self.zipf) {
            (At::Zipf(_), Some(zipf)) => scatter(zipf.draw(random), units),
            (At::Normal(sigma), _) => normal(units, sigma, random),
            _ => random.below(units),
        };
        let inside = match part.unit / part.inside {
            1 => 0,
            places => random.below(places) * part.inside,
        };
        (unit * part.unit + inside).min(part.space - bytes)
    }

    fn next_of_run(&mut self, bytes: u64, random: &mut SplitMix64) -> u64 {
        let part = self.part;
        let stream = match part.streams {
            1 => 0,
            streams => random.below(streams),
        };
        let (first, space) = part.space_of(stream);
        let (at, left) = &mut self.runs[stream as usize];
        if *left < bytes {
            *at = first + random.below(space / part.unit) * part.unit;
            *left = part.run.unwrap_or(u64::MAX).max(bytes);
        }
        if *at + bytes > first + space {
            *at = first;
        }
        let place = *at;
        *at += bytes;
        if part.run.is_some() {
            *left -= bytes;
        }
        place
    }
}

/// The number below which one of 53 bits is, with that probability.
fn threshold(share: f64) -> u64 {
    // The product is exact: a power of two only moves the exponent.
    libm::ceil(share * (1u64 << 53) as f64) as u64
}

impl SynthPart {
    /// First byte and length of the space of one of the streams, in whole units.
    fn space_of(&self, stream: u64) -> (u64, u64) {
        let units = self.units() / self.streams;
        (stream * units * self.unit, units * self.unit)
    }
}

/// A normally distributed unit of `0..units`.
fn normal(units: u64, sigma: f64, random: &mut SplitMix64) -> u64 {
    loop {
        let x = libm::floor(units as f64 / 2.0 + sigma * random.normal());
        if x >= 0.0 && x < units as f64 {
            return x as u64;
        }
    }
}
