//! Random runs of the small cache core.

use super::{Chips, Rig, sectors};
use crate::rng::SplitMix64;
use crate::view::{ChipLoad, ChipQueue, FlashCosts};
use crate::{Env, Scheme};
use destage_types::{Lpn, Nanos, Op, SectorMask};

/// What a random run does beside reads and writes.
#[derive(Clone, Copy)]
pub(crate) struct Mix {
    /// TRIM, FLUSH and renames.
    pub(crate) special: bool,
    /// Requests of part of a page.
    pub(crate) partial: bool,
    /// Several extents a request.
    pub(crate) extents: bool,
    /// Device states change at random.
    pub(crate) device: bool,
}

/// Everything.
pub(crate) const ALL: Mix = Mix {
    special: true,
    partial: true,
    extents: true,
    device: true,
};

/// Runs `steps` random operations and returns everything that could be seen from outside.
pub(crate) fn random_run<S: Scheme>(
    scheme: S,
    env: &Env,
    seed: u64,
    steps: usize,
    mix: Mix,
) -> Vec<String> {
    let mut rng = SplitMix64::new(seed);
    let mut rig = Rig::new(scheme, env);
    let spp = u64::from(env.page.sectors());
    let space = u64::from(env.capacity) * 3 + 4;
    rig.chips.costs = FlashCosts {
        read: Nanos(25),
        program: Nanos(200),
        erase: Nanos(1500),
        transfer: Nanos(10),
        pages_per_block: 8,
    };
    let mut log = vec![];
    let mut next = 0;
    for step in 0..steps {
        rig.at(step as u64);
        if mix.device && rng.next_u64().is_multiple_of(4) {
            shake(&mut rig.chips, &mut rng);
        }
        let mut draw = |n: u64| rng.next_u64() % n;
        let lpn = draw(space);
        match draw(20) {
            0 if mix.special => rig.flush(),
            1 if mix.special => {
                let (from, count) = (draw(spp), 1 + draw(spp));
                let mask = SectorMask::span(from as u32, count.min(spp - from) as u32);
                rig.trim(
                    Lpn(lpn),
                    if draw(2) == 0 {
                        env.page.full_mask()
                    } else {
                        mask
                    },
                );
            }
            kind => {
                let mut extents = vec![];
                for _ in 0..1 + if mix.extents { draw(5) / 4 * 2 } else { 0 } {
                    let page = if draw(2) == 0 { next } else { draw(space) };
                    let count = 1 + draw(4) * draw(2);
                    next = (page + count) % space;
                    let (mut a, mut b) = (page * spp, (page + count) * spp - 1);
                    if mix.partial && draw(3) == 0 {
                        a += draw(spp);
                        b -= draw(b - a + 1).min(spp - 1);
                    }
                    extents.push(sectors(a, b));
                }
                let op = if kind < 8 { Op::Read } else { Op::Write };
                let first = env.page.page_of(extents[0].start_sector).0;
                let renames: Vec<(u64, u64)> = match mix.special && kind > 16 {
                    true => vec![(lpn, first)],
                    false => vec![],
                };
                log.push(rig.request(op, &extents, &renames));
            }
        }
        log.push(rig.take());
    }
    log
}

fn shake(chips: &mut Chips, rng: &mut SplitMix64) {
    for i in 0..chips.load.len() {
        let mut draw = |n: u64| rng.next_u64() % n;
        chips.gc[i] = draw(3) == 0;
        chips.load[i] = ChipLoad {
            queue: ChipQueue {
                reads: draw(3),
                writes: draw(5),
                free_pages: 300 + draw(10),
                gc_threshold_pages: 300,
                frontier_free_pages: draw(8),
                gc_remaining: (draw(3) == 0).then(|| Nanos(draw(5000))),
            },
            residual: Some(Nanos(draw(100))),
            in_service_read: draw(2) == 0,
            drain: Nanos(draw(300)),
        };
        chips.victim_valid_pages[i] = draw(8);
    }
}
