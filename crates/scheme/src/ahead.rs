//! Looking at what is accessed soon, so that the processor has it in its cache when it is served.
//!
//! Requests that are served one after the other wait for the memory one after the other; a look at
//! many pages at once waits for all of them together. The more accesses to memory there are within
//! the few hundred instructions that a processor has under way, the better: so the places of all
//! values are computed first and then read in a loop that does nothing else, and nothing branches
//! on what is found.

use crate::sparse::Place;
use destage_types::Lpn;

/// Requests whose first pages are looked at together.
pub const LOOK_AHEAD: usize = 32;

/// The first pages of the requests that come next; any page where there are fewer requests.
#[derive(Clone, Debug)]
pub struct Ahead {
    lpns: [Lpn; LOOK_AHEAD],
    places: [Place; LOOK_AHEAD],
    slots: [u32; LOOK_AHEAD],
}

impl Ahead {
    /// No requests; one for all blocks of requests, one after the other.
    pub fn none() -> Ahead {
        Ahead {
            lpns: [Lpn(0); LOOK_AHEAD],
            places: [Place::BLANK; LOOK_AHEAD],
            slots: [0; LOOK_AHEAD],
        }
    }

    /// Where the index of the cache has each of the pages.
    #[inline(always)]
    pub fn places(&self) -> &[Place; LOOK_AHEAD] {
        &self.places
    }

    /// Pages, places and slots of `requests` requests, or as many as there is room for. Their number
    /// is not known to the compiler, which would take the loops over them apart otherwise, into more
    /// than there are registers for.
    #[inline(always)]
    pub(crate) fn parts(&mut self, requests: usize) -> (&mut [Lpn], &mut [Place], &mut [u32]) {
        let n = requests.min(LOOK_AHEAD);
        (
            &mut self.lpns[..n],
            &mut self.places[..n],
            &mut self.slots[..n],
        )
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
