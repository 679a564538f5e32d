//! Random operations, with a check after each.

use super::{TestCache, sectors};
use crate::contract::Build;
use crate::rng::SplitMix64;
use crate::{Boxed, Env, FlashCosts, Scheme};
use destage_types::{Nanos, Op};

/// A step of [`TestCache::storm`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Done {
    /// An access; it hit or not.
    Access(u64, bool),
    /// The page is gone, cached or remembered.
    Trim(u64),
    /// One dirty page, or all, were written back.
    Flush,
    /// The first page, cached or remembered if the answer is true, is the second one now.
    Rename(u64, u64, bool),
}

/// A run of [`TestCache::storm`].
#[derive(Clone, Copy)]
pub(crate) struct Storm {
    pub steps: u32,
    /// Pages that are accessed.
    pub pages: u64,
    pub seed: u64,
    /// Is the victim now and then another one than the scheme's?
    pub passed_over: bool,
}

/// Kinds of random operations besides reads and writes of whole pages.
#[derive(Clone, Copy)]
pub(crate) struct Mix {
    /// TRIM, FLUSH and renames.
    pub special: bool,
    /// Requests of part of a page.
    pub partial: bool,
    /// Several extents a request.
    pub extents: bool,
    /// Device states change at random.
    pub device: bool,
    /// Channels are idle at random, and pages are written back.
    pub idle: bool,
}

/// Everything but write-backs.
pub(crate) const ALL: Mix = Mix {
    special: true,
    partial: true,
    extents: true,
    device: true,
    idle: false,
};

/// Likewise, on a device that nothing happens to.
pub(crate) const STILL: Mix = Mix {
    device: false,
    ..ALL
};

/// Serves `steps` random requests under the scheme `text`; everything that could be seen from outside.
pub(crate) fn random_run(text: &str, env: &Env, seed: u64, steps: usize, mix: Mix) -> Vec<String> {
    TestCache::<Boxed>::with(text, env).random(seed, steps, mix, |_| {})
}

impl<S: Build> TestCache<S> {
    /// Random accesses to single pages, and other operations; `check` sees after each what was done.
    pub fn storm(&mut self, storm: Storm, mut check: impl FnMut(&TestCache<S>, Done)) {
        let mut rng = SplitMix64::new(storm.seed);
        for _ in 0..storm.steps {
            let done = self.step_of_storm(rng.next_u64(), storm.pages, storm.passed_over);
            check(self, done);
        }
    }
}

impl<S: Scheme + 'static> TestCache<S> {
    /// Serves random requests of several pages and what `mix` says, with a `check` after each.
    pub fn random(
        &mut self,
        seed: u64,
        steps: usize,
        mix: Mix,
        mut check: impl FnMut(&TestCache<S>),
    ) -> Vec<String> {
        self.chips.costs = FlashCosts {
            read: Nanos(25),
            program: Nanos(200),
            erase: Nanos(1500),
            transfer: Nanos(10),
            program_transfer: Nanos(10),
            pages_per_block: 8,
            pages_per_program: 1,
        };
        let (mut rng, mut next, mut log) = (SplitMix64::new(seed), 0, vec![]);
        for step in 0..steps {
            self.at(step as u64);
            self.random_step(&mut rng, &mut next, mix, &mut log);
            check(self);
        }
        log
    }
}

impl TestCache<dyn Scheme> {
    /// Executes the step that the random number `x` names.
    fn step_of_storm(&mut self, x: u64, pages: u64, passed_over: bool) -> Done {
        // Half of the accesses go to a fifth of the pages.
        let span = if x & 1 == 0 { pages } else { pages / 5 + 1 };
        let (lpn, other) = ((x >> 8) % span, (x >> 24) % pages);
        self.pick = match (x >> 40) % 16 {
            n @ 0..3 if passed_over => n as usize,
            _ => 0,
        };
        match (x >> 50) % 64 {
            0 => {
                self.trim(lpn);
                Done::Trim(lpn)
            }
            n @ 1..3 => {
                self.flush(|l| n == 1 || l == lpn);
                Done::Flush
            }
            3 if lpn != other && self.slot(other).is_none() => {
                Done::Rename(lpn, other, self.rename(lpn, other))
            }
            n if n % 2 == 0 => Done::Access(lpn, self.read(lpn) == "H"),
            _ => Done::Access(lpn, self.write(lpn) == "H"),
        }
    }

    /// Random events of `mix` and one request, which goes on at the page `next` now and then.
    /// Results are added to `log`.
    fn random_step(
        &mut self,
        rng: &mut SplitMix64,
        next: &mut u64,
        mix: Mix,
        log: &mut Vec<String>,
    ) {
        let per_page = u64::from(self.frames.page().sectors());
        let space = self.frames.capacity() as u64 * 3 + 4;
        if mix.device && rng.next_u64().is_multiple_of(4) {
            self.chips.shake(rng);
        }
        let mut draw = |n: u64| rng.next_u64() % n;
        if mix.idle && draw(3) == 0 {
            let channel = draw(u64::from(self.layout.channels()));
            self.idle(channel as u32);
        }
        let (lpn, kind) = (draw(space), draw(20));
        let mut extent = || {
            let page = if draw(2) == 0 { *next } else { draw(space) };
            let count = 1 + draw(4) * draw(2);
            *next = (page + count) % space;
            let (mut a, mut b) = (page * per_page, (page + count) * per_page - 1);
            if mix.partial && draw(3) == 0 {
                a += draw(per_page);
                b -= draw(b - a + 1).min(per_page - 1);
            }
            sectors(a..=b)
        };
        match kind {
            0 if mix.special => self.flush(|_| true),
            1 if mix.special => self.trim(extent()),
            _ => {
                let mut extents = vec![extent()];
                if mix.extents && lpn % 5 == 0 {
                    extents.extend([extent(), extent()]);
                }
                let first = self.frames.page().page_of(extents[0].start_sector).0;
                if mix.special && kind > 16 && lpn != first {
                    self.rename(lpn, first);
                }
                let op = if kind < 8 { Op::Read } else { Op::Write };
                log.push(self.request(op, &extents));
            }
        }
        log.push(self.take());
    }
}
