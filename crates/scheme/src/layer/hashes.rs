//! Hash functions of addresses: `k` places of each page in a table.

use crate::Env;
use crate::rng::mix64;

/// Distance of the hash functions of one address.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Most hash functions.
pub(super) const MOST_HASHES: usize = 64;

/// The hash functions of a table.
#[derive(Clone, Debug)]
pub(super) struct Hashes {
    count: usize,
    places: u64,
    /// Factor and summand of each hash function, in place of the real ones.
    #[cfg(feature = "conformance")]
    given: Option<Vec<[u64; 2]>>,
}

impl Hashes {
    /// `count` functions, at most [`MOST_HASHES`], to so many `places`; or those that a worked example
    /// names.
    pub fn new(count: usize, places: u64, _env: &Env) -> Hashes {
        Hashes {
            count,
            places,
            #[cfg(feature = "conformance")]
            given: _env.hashes.clone(),
        }
    }

    /// Places of the table.
    pub fn places(&self) -> u64 {
        self.places
    }

    /// Places of a page, in the order of the functions; some may be equal.
    #[inline]
    pub fn of<'a>(&self, lpn: u64, room: &'a mut [u64; MOST_HASHES]) -> &'a [u64] {
        let places = &mut room[..self.count];
        for (k, place) in places.iter_mut().enumerate() {
            *place = self.place(lpn, k as u64);
        }
        places
    }

    #[inline]
    fn place(&self, lpn: u64, k: u64) -> u64 {
        #[cfg(feature = "conformance")]
        if let Some([factor, summand]) = self.given.as_ref().map(|given| given[k as usize]) {
            return (factor * lpn + summand) % self.places;
        }
        let hash = mix64(lpn.wrapping_add(k.wrapping_mul(STEP)));
        // Most tables are powers of two, and a division takes longer than all the rest.
        if self.places.is_power_of_two() {
            hash & (self.places - 1)
        } else {
            hash % self.places
        }
    }
}
