//! Which chip ECR drains: the options of that choice, and the choice itself.

use super::{HEAD_BYTES, NO_PAGE};
use crate::cqct::Cqct;
use crate::info::{ParamInfo, Words};
use crate::{Env, Expr, View, params, words};
use destage_types::{ChipId, Slot};
use std::cell::RefCell;

words! {
    /// Which chip is drained when several have the same CQCT (ECR-4).
    pub enum Tie {
        /// The one whose victim was touched longest ago.
        Oldest = "oldest",
        /// The one with the lowest number.
        LowestIndex = "lowest-index",
    }
}

params! {
    /// Parameters of the choice beside those of CQCT.
    pub struct ChoiceParams {
        /// among chips of equal cost: the one whose LRU page is oldest, or the lowest number
        tie: Tie = ParamInfo::word(Tie::WORDS).source("ECR-4"),
        /// metadata charged per page
        node_bytes: u64 = ParamInfo::count(0, 13).unit("bytes").source("no figure in the paper"),
    }
}

/// How ECR chooses a chip; [`EcrEps`](crate::policy::ecr_eps::EcrEps) does it the same way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChipChoice {
    /// How CQCT is computed.
    pub cqct: Cqct,
    /// Equal CQCT.
    pub tie: Tie,
    /// Bytes of a page node: 12 and one for the chip.
    pub node_bytes: u64,
}

impl ChipChoice {
    /// Declarations of the parameters.
    pub const PARAMS: &'static [&'static [ParamInfo]] = &[Cqct::PARAMS, ChoiceParams::PARAMS];

    /// As the layer `expr` of an expression says.
    pub fn of(expr: &Expr, env: &Env) -> ChipChoice {
        let ChoiceParams { tie, node_bytes } = ChoiceParams::of(expr, env);
        ChipChoice {
            cqct: Cqct::of(expr, env),
            tie,
            node_bytes,
        }
    }

    /// Metadata of `pages` page nodes and `heads` list heads.
    pub(crate) fn bytes(&self, pages: u64, heads: usize) -> u64 {
        pages * self.node_bytes + heads as u64 * HEAD_BYTES
    }

    /// The chip with the smallest CQCT among those that have a page; and whether the CQCT of every
    /// chip is 0. `oldest` is the last touch of the next victim of a chip, [`NO_PAGE`] without one.
    #[inline(always)]
    pub(crate) fn choose(
        &self,
        chips: usize,
        v: &View,
        oldest: impl Fn(usize) -> u64,
    ) -> (Option<usize>, bool) {
        let quick = self.choose_idle(chips, v, &oldest);
        // Only on few chips, as in tests against models: on those of a drive it would take nine tenths of the time.
        debug_assert!(
            chips > 8 || quick.is_none_or(|found| found == self.choose_any(chips, v, &oldest)),
            "the quick way finds what the long way does"
        );
        quick.unwrap_or_else(|| self.choose_any(chips, v, &oldest))
    }

    /// The rank of `chip` among those that are as good otherwise: the lowest of `oldest` wins, or
    /// the first chip that has a page.
    #[inline]
    fn rank(&self, oldest: u64) -> u64 {
        match self.tie {
            Tie::Oldest => oldest,
            Tie::LowestIndex if oldest == NO_PAGE => NO_PAGE,
            Tie::LowestIndex => 0,
        }
    }

    /// Place of a page in the order with idle queues, by its last touch ([`crate::Scheme::place`]).
    pub(crate) fn place(&self, touched: u64) -> Option<u64> {
        (self.tie == Tie::Oldest).then_some(touched)
    }

    /// [`ChipChoice::choose`] where idle chips and those with CQCT 0 are the same and one of them is
    /// the answer: nearly always, and then what the others have to do does not matter.
    #[inline]
    fn choose_idle(
        &self,
        chips: usize,
        v: &View,
        oldest: impl Fn(usize) -> u64,
    ) -> Option<(Option<usize>, bool)> {
        if chips > 64 || !self.cqct.is_zero_for_idle_alone(v) {
            return None;
        }
        let idle = v.device.equation_1_is_zero(ChipId(0), chips as u32);
        let (mut best, mut found, mut rest) = (NO_PAGE, None, idle);
        while rest != 0 {
            let chip = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let rank = self.rank(oldest(chip));
            (best, found) = if rank < best {
                (rank, Some(chip))
            } else {
                (best, found)
            };
        }
        let all_zero = idle.count_ones() as usize == chips;
        found.map(|chip| (Some(chip), all_zero))
    }

    fn choose_any(
        &self,
        chips: usize,
        v: &View,
        oldest: impl Fn(usize) -> u64,
    ) -> (Option<usize>, bool) {
        // The minimum of the paper is over all chips, but one without a dirty page has nothing to give
        // up (ECR-3). CQCT, last touch of the next victim, number.
        let (mut best, mut all_zero): (Option<(u64, u64, usize)>, bool) = (None, true);
        self.cqct.each(chips, v, |chip, time| {
            let time = time.0;
            all_zero &= time == 0;
            if best.is_some_and(|(least, ..)| time > least) {
                return;
            }
            let rank = self.rank(oldest(chip));
            if rank < NO_PAGE && best.is_none_or(|(least, other, _)| time < least || rank < other) {
                best = Some((time, rank, chip));
            }
        });
        (best.map(|(.., chip)| chip), all_zero)
    }
}

/// Where [`ChipChoice::in_order`] stands in the pages of each chip; its memory is kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heads(RefCell<Vec<Head>>);

/// The next page of a chip.
#[derive(Clone, Copy, Debug)]
struct Head {
    slot: Option<Slot>,
    /// CQCT of the chip.
    time: u64,
    /// Pages in front of it.
    passed: usize,
}

impl ChipChoice {
    /// The pages of all chips in the order in which they would be chosen one after the other if the queues
    /// stayed as they are, or with `idle` as if they were empty.
    ///
    /// `next` gives the page of a chip behind so many, of which the last is given too; `touched` its
    /// last touch.
    pub(crate) fn in_order<'a>(
        &'a self,
        heads: &'a Heads,
        chips: usize,
        idle: bool,
        v: &'a View<'a>,
        next: impl Fn(usize, usize, Option<Slot>) -> Option<Slot> + 'a,
        touched: impl Fn(Slot) -> u64 + 'a,
    ) -> impl Iterator<Item = Slot> + 'a {
        let mut heads = heads.0.borrow_mut();
        heads.clear();
        heads.extend((0..chips).map(|chip| Head {
            slot: next(chip, 0, None),
            time: 0,
            passed: 0,
        }));
        if !idle {
            self.cqct
                .each(chips, v, |chip, time| heads[chip].time = time.0);
        }
        std::iter::from_fn(move || {
            let key = |h: &Head| (h.time, self.rank(h.slot.map_or(NO_PAGE, &touched)));
            let held = heads.iter().enumerate().filter(|h| h.1.slot.is_some());
            // Of equal ones the first, which has the lowest number.
            let (chip, _) = held.min_by_key(|h| key(h.1))?;
            let head = &mut heads[chip];
            let slot = head.slot;
            head.passed += 1;
            head.slot = next(chip, head.passed, slot);
            slot
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlashCosts;
    use crate::rng::SplitMix64;
    use crate::testing::{ChipState, boxed, env, expr};
    use destage_types::Nanos;

    /// Up to as many chips as the short way takes; runs compare the two ways on few chips only.
    #[test]
    fn the_short_way_over_many_chips_finds_what_the_long_way_does() {
        let (mut rng, mut found) = (SplitMix64::new(3), [0; 2]);
        for text in ["ecr(lru)", "ecr(lru,tie=lowest-index)"] {
            for chips in [9usize, 33, 64] {
                let env = env(4, 8, chips as u32);
                let choice = ChipChoice::of(&expr(text), &env);
                let mut cache = boxed("lru", 4);
                cache.chips.states = vec![ChipState::IDLE; chips];
                cache.chips.costs = FlashCosts {
                    read: Nanos(25),
                    program: Nanos(200),
                    erase: Nanos(1500),
                    transfer: Nanos(10),
                    program_transfer: Nanos(10),
                    pages_per_block: 8,
                    pages_per_program: 1,
                };
                for step in 0..300 {
                    cache.chips.shake(&mut rng);
                    for state in &mut cache.chips.states {
                        // Where a chip collects the long way is taken anyway.
                        state.in_gc &= step % 4 == 0;
                        if rng.next_u64() % 300 < step {
                            *state = ChipState::IDLE;
                        }
                    }
                    let oldest: Vec<u64> = (0..chips)
                        .map(|_| match rng.next_u64() % 3 {
                            0 => NO_PAGE,
                            n => n * 1000 + rng.next_u64() % 50,
                        })
                        .collect();
                    let (v, oldest) = (cache.view(), |chip: usize| oldest[chip]);
                    let quick = choice.choose_idle(chips, &v, oldest);
                    found[usize::from(quick.is_some())] += 1;
                    if let Some(quick) = quick {
                        assert_eq!(quick, choice.choose_any(chips, &v, oldest), "{text}");
                    }
                }
            }
        }
        assert!(found[1] > 1000, "{found:?} answers");
    }
}
