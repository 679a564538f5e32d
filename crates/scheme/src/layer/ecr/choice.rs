//! Which chip ECR drains: the options of that choice, and the choice itself.

use super::{HEAD_BYTES, NO_PAGE};
use crate::cqct::Cqct;
use crate::{Env, Expr, View};
use destage_types::ChipId;

/// Which chip is drained when several have the same CQCT (ECR-4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tie {
    /// The one whose victim was touched longest ago.
    #[default]
    Oldest,
    /// The one with the lowest number.
    LowestIndex,
}

/// Size for which the policy of each chip is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum InnerCapacity {
    /// The whole cache.
    #[default]
    Total,
    /// The cache divided by the number of chips, at least 1.
    Share,
}

/// Parameters of ECR that concern the choice of a chip; [`crate::policy::EcrEps`] has them too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EcrOptions {
    /// How CQCT is computed.
    pub cqct: Cqct,
    /// Equal CQCT.
    pub tie: Tie,
    /// Bytes of a page node: 12 and one for the chip.
    pub node_bytes: u64,
}

impl Default for EcrOptions {
    fn default() -> EcrOptions {
        EcrOptions {
            cqct: Cqct::default(),
            tie: Tie::Oldest,
            node_bytes: 13,
        }
    }
}

impl InnerCapacity {
    /// As the layer `e` of an expression says.
    pub fn from_expr(e: &Expr) -> InnerCapacity {
        match e.word("inner-capacity") {
            "total" => InnerCapacity::Total,
            _ => InnerCapacity::Share,
        }
    }

    /// Nominal capacity of the policy of one chip: its parameters follow from it, while its
    /// per-slot arrays have room for the whole cache.
    pub fn nominal(self, env: &Env) -> u32 {
        let chips = u64::from(env.layout.chips());
        self.frames(u64::from(env.capacity), chips) as u32
    }

    /// The same of a cache of `frames` pages above `chips` chips.
    pub(crate) fn frames(self, frames: u64, chips: u64) -> u64 {
        match self {
            InnerCapacity::Total => frames,
            InnerCapacity::Share => (frames / chips).max(1),
        }
    }
}

impl EcrOptions {
    /// As the layer `e` of an expression says.
    pub fn from_expr(e: &Expr) -> EcrOptions {
        EcrOptions {
            cqct: Cqct::from_expr(e),
            tie: match e.word("tie") {
                "oldest" => Tie::Oldest,
                _ => Tie::LowestIndex,
            },
            node_bytes: e.uint("node-bytes"),
        }
    }

    /// Metadata of `pages` page nodes and `heads` list heads.
    pub(crate) fn bytes(&self, pages: usize, heads: usize) -> u64 {
        pages as u64 * self.node_bytes + heads as u64 * HEAD_BYTES
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
        debug_assert!(
            quick.is_none_or(|found| found == self.choose_any(chips, v, &oldest)),
            "the quick way finds what the long way does"
        );
        quick.unwrap_or_else(|| self.choose_any(chips, v, &oldest))
    }

    /// What `chip` is chosen by among those that are as good otherwise: the lowest of `oldest`, or
    /// the first one that has a page.
    #[inline]
    fn rank(&self, oldest: u64) -> u64 {
        match self.tie {
            Tie::Oldest => oldest,
            Tie::LowestIndex if oldest == NO_PAGE => NO_PAGE,
            Tie::LowestIndex => 0,
        }
    }

    /// [`EcrOptions::choose`] where idle chips and those with CQCT 0 are the same and one of them is
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
        let idle = v.device.idle(ChipId(0), chips as u32);
        let (mut best, mut found, mut rest) = (NO_PAGE, None, idle);
        while rest != 0 {
            let chip = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let rank = self.rank(oldest(chip));
            (best, found) = match rank < best {
                true => (rank, Some(chip)),
                false => (best, found),
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
        // CQCT, last touch of the next victim, number.
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
