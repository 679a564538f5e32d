//! What FLUSH, FUA, and evictions of pages that are being programmed wait for: programs of host data under way.

use super::page_ends::PageEnds;
use super::requests::Requests;
use destage_types::{Lpn, Nanos};
use smallvec::SmallVec;

/// A request that waits for programs that were under way when it came.
#[derive(Clone, Debug)]
struct ProgramWait {
    request: u32,
    /// Programs that began before this one count.
    before: u64,
    /// Names of the programs if it does not wait for all.
    of: Option<SmallVec<[u32; 1]>>,
    /// Those of them whose ends are not known.
    left: u32,
}

/// Programs of host data under way, and the requests that wait for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProgramWaits {
    waits: Vec<ProgramWait>,
    begun: u64,
    under_way: u32,
    /// Latest end that was known before it came.
    latest_end: Nanos,
    /// The same by page, if writes with FUA come.
    ends: Option<PageEnds>,
}

impl ProgramWaits {
    /// Ends are asked for by page from now on.
    pub fn expect_pages(&mut self) {
        self.ends.get_or_insert_default();
    }

    /// Time has come to `now`.
    pub fn advance(&mut self, now: Nanos) {
        if let Some(ends) = &mut self.ends {
            ends.advance(now);
        }
    }

    /// It is known that a program of `lpn` ends at `end`.
    #[inline]
    pub fn note_end(&mut self, lpn: Lpn, end: Nanos) {
        self.latest_end = self.latest_end.max(end);
        if let Some(ends) = &mut self.ends {
            ends.note(lpn, end);
        }
    }

    /// The latest known end, of programs of these pages if some are given.
    pub fn known_end(&self, pages: Option<&[Lpn]>) -> Nanos {
        let of_pages = |pages| {
            let ends = self.ends.as_ref().expect("writes with FUA are expected");
            ends.latest(pages)
        };
        pages.map_or(self.latest_end, of_pages)
    }

    /// A program comes under way. Gives its number.
    #[inline]
    pub fn begin(&mut self) -> u64 {
        self.under_way += 1;
        self.begun += 1;
        self.begun
    }

    /// Programs under way: their ends are not known.
    pub fn under_way(&self) -> u32 {
        self.under_way
    }

    /// Does no request wait?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    /// A request waits for the programs under way, or only for those `of` these names.
    pub fn wait(&mut self, requests: &mut Requests, request: u32, of: Option<SmallVec<[u32; 1]>>) {
        let left = of.as_ref().map_or(self.under_way, |of| of.len() as u32);
        requests.wait(request, left);
        if left > 0 {
            let before = self.begun + 1;
            self.waits.push(ProgramWait {
                request,
                before,
                of,
                left,
            });
        }
    }

    /// So many programs are not under way any more. [`ProgramWaits::tell`] follows if a request waits.
    #[inline]
    pub fn end(&mut self, programs: u32) {
        self.under_way -= programs;
    }

    /// If it is `flushed`, a program of `lpn` is not under way any more: it is known that it ends at `end`.
    #[inline]
    pub fn end_if(&mut self, flushed: bool, lpn: Lpn, end: Nanos) {
        self.under_way -= u32::from(flushed);
        let known = if flushed { end } else { Nanos::ZERO };
        self.latest_end = self.latest_end.max(known);
        if let Some(ends) = self.ends.as_mut().filter(|_| flushed) {
            ends.note(lpn, end);
        }
    }

    /// Program `number`, which is called `name`, ends at `end`.
    pub fn tell(&mut self, requests: &mut Requests, number: u64, name: u32, end: Nanos) {
        self.waits.retain_mut(|wait| {
            let of = wait.of.as_ref();
            if number >= wait.before || of.is_some_and(|of| !of.contains(&name)) {
                return true;
            }
            requests.ended(wait.request, end);
            wait.left -= 1;
            wait.left > 0
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_device::config::EffectiveDevice;
    use destage_types::Op;
    use destage_types::rng::SplitMix64;
    use std::collections::BTreeMap;

    /// A request beside the numbers of the programs that it waits for.
    struct Waiting {
        index: u64,
        earliest: Nanos,
        of: Vec<u64>,
    }

    /// Each request is complete at the last end of the programs that were under way when it came and that it names,
    /// however many wait at a time and however soon names are used again.
    #[test]
    fn requests_wait_for_what_was_under_way() {
        let device = EffectiveDevice::from_preset("default", &[]).expect("a preset");
        let t_dram = device.config().t_dram.times(1);
        let mut requests = Requests::new(device.config());
        requests.completed.keep();
        let mut waits = ProgramWaits::default();
        let (mut rng, mut wanted) = (SplitMix64::new(41), BTreeMap::new());
        // Names and numbers of programs under way; names that are free.
        let (mut under_way, mut free): (Vec<(u32, u64)>, Vec<u32>) = (Vec::new(), (0..9).collect());
        let mut waiting: Vec<Waiting> = Vec::new();
        for step in 0..20_000_u64 {
            let now = Nanos(1_000_000 * step);
            match rng.below(3) {
                0 => {
                    if let Some(name) = free.pop() {
                        under_way.push((name, waits.begin()));
                    }
                }
                1 if !under_way.is_empty() => {
                    let at = rng.below(under_way.len() as u64) as usize;
                    let (name, number) = under_way.swap_remove(at);
                    free.push(name);
                    waits.end(1);
                    waits.tell(&mut requests, number, name, now);
                    for row in &mut waiting {
                        row.of.retain(|&of| of != number);
                        if row.of.is_empty() {
                            wanted.insert(row.index, now.max(row.earliest));
                        }
                    }
                    waiting.retain(|row| !row.of.is_empty());
                }
                1 => {}
                _ => {
                    requests.begin(step, Op::Flush, now);
                    let request = requests.present();
                    let all = rng.below(2) == 0;
                    let named = |_: &&(u32, u64)| all || rng.below(3) == 0;
                    let of: Vec<(u32, u64)> = under_way.iter().filter(named).copied().collect();
                    let names = of.iter().map(|program| program.0).collect();
                    waits.wait(&mut requests, request, (!all).then_some(names));
                    requests.end(0, 0);
                    let (index, earliest) = (step, now + t_dram);
                    if of.is_empty() {
                        wanted.insert(index, earliest);
                    } else {
                        let of = of.iter().map(|program| program.1).collect();
                        waiting.push(Waiting {
                            index,
                            earliest,
                            of,
                        });
                    }
                }
            }
            assert_eq!(waits.under_way() as usize, under_way.len());
        }
        let done = requests.completed.kept().expect("they are kept");
        let found: BTreeMap<u64, Nanos> = done.iter().map(|d| (d.index, d.complete)).collect();
        assert_eq!(found, wanted);
        assert!(found.len() > 5000, "{}", found.len());
    }
}
