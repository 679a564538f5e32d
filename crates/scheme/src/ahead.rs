//! Looking at what is accessed soon, so that the processor has it in its cache when it is served.
//!
//! Requests that are served one after the other wait for the memory one after the other; a look at
//! many pages at once waits for all of them together. The more accesses to memory there are within
//! the few hundred instructions that a processor has under way, the better: so the places of all
//! values are computed first and then read in a loop that does nothing else, and nothing branches
//! on what is found.

use destage_types::Lpn;

/// Requests whose first pages are looked at together.
pub const LOOK_AHEAD: usize = 32;

/// The first pages of the requests that come next; any page where there are fewer requests.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    pub(crate) lpns: [Lpn; LOOK_AHEAD],
    pub(crate) slots: [u32; LOOK_AHEAD],
}

impl Ahead {
    /// Pages `lpns`, of which nothing is known yet.
    #[inline(always)]
    pub fn new(lpns: [Lpn; LOOK_AHEAD]) -> Ahead {
        let slots = [0; LOOK_AHEAD];
        Ahead { lpns, slots }
    }

    /// Slots that the pages are in, if they are cached; any number otherwise.
    #[inline(always)]
    pub fn slots(&self) -> &[u32; LOOK_AHEAD] {
        &self.slots
    }
}

impl std::ops::Index<usize> for Ahead {
    type Output = Lpn;

    #[inline(always)]
    fn index(&self, request: usize) -> &Lpn {
        &self.lpns[request]
    }
}

/// Calls `f` for each of the numbers and mixes the answers into one number without a meaning,
/// which must be used, so that nothing is left out.
#[inline(always)]
pub(crate) fn mix<T: Copy>(all: &[T; LOOK_AHEAD], f: impl Fn(T) -> u64) -> u64 {
    all.iter().fold(0, |mixed, &one| mixed ^ f(one))
}
