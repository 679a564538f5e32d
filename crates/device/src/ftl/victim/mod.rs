//! Which block garbage collection empties: one file per policy, and one line in [`GcPolicy`].
//!
//! A policy sees the full blocks of one unit that are worth collecting: those with fewer valid
//! pages than data pages. Others gain nothing.

mod cost_benefit;
mod d_choices;
mod greedy;
mod none;
mod random;

use super::blocks::Blocks;
use super::buckets::Buckets;
use super::table::FirstTouch;
use destage_types::rng::SplitMix64;

/// Draws of one block before a random policy gives up and the greedy choice is taken.
const DRAWS: u32 = 64;

/// Chooses victims. A policy is asked for one block at a time and keeps no clock.
pub(super) trait Policy {
    /// A block of `candidates`, `None` if there is none (or the policy never collects).
    fn choose(&mut self, candidates: &Candidates<'_>) -> Option<u32>;
}

macro_rules! policies {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $module:ident;)+) => {
        /// How GC chooses its victim.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum GcPolicy {
            $($(#[$doc])* $name,)+
        }

        impl GcPolicy {
            /// Every policy and what a device file calls it.
            pub const ALL: &'static [(&'static str, GcPolicy)] =
                &[$(($word, GcPolicy::$name)),+];

            /// The policy at work; random ones draw from `seed`, and `choices` blocks at a time
            /// where they do so.
            pub(super) fn start(self, seed: u64, choices: u32) -> Chooser {
                let settings = Settings { seed, choices };
                match self {
                    $(GcPolicy::$name => Chooser::$name($module::$name::new(&settings)),)+
                }
            }
        }

        /// A policy at work.
        #[derive(Clone, Debug)]
        pub(super) enum Chooser {
            $($name($module::$name),)+
        }

        impl Policy for Chooser {
            fn choose(&mut self, candidates: &Candidates<'_>) -> Option<u32> {
                match self {
                    $(Chooser::$name(policy) => policy.choose(candidates),)+
                }
            }
        }
    };
}

policies! {
    /// No GC: a run that uses up the free pages ends with an error.
    None = "none", none;
    /// The block with the fewest valid pages.
    Greedy = "greedy", greedy;
    /// The block with the best ratio of free space times age to cost.
    CostBenefit = "cost-benefit", cost_benefit;
    /// The best of `gc_choices` blocks drawn at random.
    DChoices = "d-choices", d_choices;
    /// A block drawn at random.
    Random = "random", random;
}

/// What a policy is made from.
pub(super) struct Settings {
    pub seed: u64,
    pub choices: u32,
}

/// The blocks of one unit.
pub(super) struct Candidates<'a> {
    pub blocks: &'a Blocks,
    /// With lists for all `cells`.
    pub buckets: &'a Buckets,
    /// When every full block came to its valid count, in pages programmed by then.
    pub stamps: Option<&'a FirstTouch<u64, 256>>,
    /// Pages programmed so far.
    pub programmed: u64,
    /// Cells of the unit, ascending.
    pub cells: &'a [u32],
    /// Planes of the unit, ascending.
    pub planes: &'a [u32],
    pub blocks_per_plane: u32,
    /// Data pages of a block.
    pub data: u32,
}

impl Candidates<'_> {
    /// The block with the fewest valid pages; of equals the one of the first cell, there the one
    /// that has had that count for longest.
    pub fn greedy(&self) -> Option<u32> {
        let lowest = |&cell: &u32| Some((self.buckets.lowest(cell)?, cell));
        let cells = self.cells.iter().filter_map(lowest);
        let (valid, cell) = cells.min_by_key(|&(valid, _)| valid)?;
        let block = self.buckets.first(cell, valid);
        block.filter(|_| valid < self.data)
    }

    /// Is any block worth collecting?
    pub fn exist(&self) -> bool {
        let mut lowest = self.cells.iter().filter_map(|&c| self.buckets.lowest(c));
        lowest.any(|valid| valid < self.data)
    }

    /// Per cell and valid count the block that has had the count for longest: (block, valid).
    pub fn oldest(&self) -> impl Iterator<Item = (u32, u32)> {
        self.cells.iter().flat_map(move |&cell| {
            let lowest = self.buckets.lowest(cell).unwrap_or(self.data);
            let each = move |valid| Some((self.buckets.first(cell, valid)?, valid));
            (lowest..self.data).filter_map(each)
        })
    }

    /// Pages programmed since the block came to its valid count.
    pub fn age(&self, block: u32) -> u64 {
        self.programmed - self.stamps.map_or(0, |s| s.get(u64::from(block)))
    }

    /// A block drawn uniformly from all blocks of the unit, again while it is not worth
    /// collecting, 64 times at most.
    pub fn draw(&self, rng: &mut SplitMix64) -> Option<u32> {
        let all = self.planes.len() as u64 * u64::from(self.blocks_per_plane);
        (0..DRAWS).find_map(|_| {
            let n = rng.below(all);
            let plane = self.planes[(n / u64::from(self.blocks_per_plane)) as usize];
            let within = (n % u64::from(self.blocks_per_plane)) as u32;
            let block = plane * self.blocks_per_plane + within;
            self.is_candidate(block).then_some(block)
        })
    }

    fn is_candidate(&self, block: u32) -> bool {
        let row = self.blocks.get(block);
        row.is_listed() && self.blocks.is_full(block) && self.blocks.valid(block) < self.data
    }
}
