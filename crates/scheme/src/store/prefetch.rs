//! Looking at what is accessed soon, so that the processor has it in its cache when it is served.
//!
//! Requests that are served one after the other wait for the memory one after the other; a look at
//! many pages at once waits for all of them together. The more accesses to memory there are within
//! the few hundred instructions that a processor has under way, the better: so the places of all
//! values are computed first and then read in a loop that does nothing else, and nothing branches
//! on what is found.

use super::page_index::Place;
use destage_types::Lpn;

/// Requests whose first pages are looked at together.
pub const PREFETCH: usize = 32;

/// The first pages of the requests that come next; any page where there are fewer requests.
#[derive(Clone, Debug)]
pub struct Upcoming {
    lpns: [Lpn; PREFETCH],
    places: [Place; PREFETCH],
    slots: [u32; PREFETCH],
}

impl Upcoming {
    /// No requests; one for all blocks of requests, one after the other.
    pub fn none() -> Upcoming {
        Upcoming {
            lpns: [Lpn(0); PREFETCH],
            places: [Place::BLANK; PREFETCH],
            slots: [0; PREFETCH],
        }
    }

    /// Where the index of the cache has each of the pages.
    #[inline(always)]
    pub fn places(&self) -> &[Place; PREFETCH] {
        &self.places
    }

    /// Pages, places and slots of `requests` requests, or as many as there is room for. Their number
    /// is not known to the compiler, which would take the loops over them apart otherwise, into more
    /// than there are registers for.
    #[inline(always)]
    pub(crate) fn parts(&mut self, requests: usize) -> (&mut [Lpn], &mut [Place], &mut [u32]) {
        let n = requests.min(PREFETCH);
        (
            &mut self.lpns[..n],
            &mut self.places[..n],
            &mut self.slots[..n],
        )
    }

    /// Slots that the pages are in, if they are cached; any number otherwise.
    #[inline(always)]
    pub fn slots(&self) -> &[u32; PREFETCH] {
        &self.slots
    }
}

impl std::ops::Index<usize> for Upcoming {
    type Output = Lpn;

    #[inline(always)]
    fn index(&self, request: usize) -> &Lpn {
        &self.lpns[request]
    }
}

/// Reads something for each of the numbers, as `f` says, so that the processor has it at hand. The
/// values mean nothing, but the compiler must not leave a read out.
#[inline(always)]
pub fn read_all<T: Copy>(all: &[T; PREFETCH], f: impl Fn(T) -> u64) {
    std::hint::black_box(all.iter().fold(0, |mixed, &one| mixed ^ f(one)));
}
