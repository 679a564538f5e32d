//! The LWRS queue: which writes of the recent past form a large sequential stream (Prober,
//! section 3.1).
//!
//! Nodes are disjoint, never adjacent intervals of sectors with the arrival serial number (asn) of
//! their last write. A set is large if it is longer than `ssp`, so no flag is needed: a node never
//! changes its length.
//!
//! Cost: O(1) a write and 64 sectors of it (`sets`), however long the window is. Outdated nodes go
//! when a write makes them so. Nothing is allocated once every part of the address space that is
//! written was written once, unless more nodes than min(rip, 2^20) are held (a request of several
//! extents adds several).

use super::sets::Sets;

/// Bytes of a node (Prober, section 3.1).
pub(crate) const LWRS_NODE_BYTES: u64 = 16;

/// Nodes for which memory is set aside at once; longer queues grow when they come to be used.
const ROOM: u64 = 1 << 20;

/// One set of sectors, `first..=last`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Set {
    /// First sector (slsn).
    pub first: u64,
    /// Last sector (elsn).
    pub last: u64,
    /// Serial number of the write that grew it last.
    pub asn: u64,
}

impl Set {
    /// Length in sectors.
    #[inline]
    pub const fn sectors(&self) -> u64 {
        self.last - self.first + 1
    }
}

/// The change of the queue by a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Grown {
    /// Is the set of the write large, that is, is the write large write data (LWdata)?
    pub large: bool,
    /// The sets before and behind the write that became part of a large set for the first time.
    pub joined: [Option<Set>; 2],
}

/// The LWRS queue and its clock.
#[derive(Clone, Debug)]
pub struct Lwrs {
    ssp: u64,
    window: u64,
    asn: u64,
    sets: Sets,
}

impl Lwrs {
    /// Sets longer than `ssp` sectors are large; a node is outdated when it is `window` serial
    /// numbers old (`rip`, or `rip + 1` under `rip_cmp=gt`).
    pub fn new(ssp: u64, window: u64) -> Lwrs {
        Lwrs {
            ssp,
            window,
            asn: 0,
            sets: Sets::new(window.min(ROOM) as usize + 1),
        }
    }

    /// Serial number of the last request.
    #[inline]
    pub fn asn(&self) -> u64 {
        self.asn
    }

    /// Can no later write extend the stream of a page written at `asn` (PR-9)?
    #[inline]
    pub fn outdated(&self, asn: u64) -> bool {
        self.asn - asn >= self.window
    }

    /// A request that only advances the serial number (`asn_counts=all`).
    #[inline]
    pub fn tick(&mut self) {
        self.asn += 1;
    }

    /// A write request begins. Its extents follow with [`Lwrs::write`]. Only writes delete nodes.
    #[inline(always)]
    pub fn begin(&mut self) {
        self.asn += 1;
        let (asn, window) = (self.asn, self.window);
        self.sets.expire(|old| asn - old >= window);
    }

    /// A write request of sectors `first..=last` begins, and is entered if nothing is near and it
    /// is not large by itself, so that nothing is to be said about it. If that is not so, the
    /// answer is false and [`Lwrs::write`] must follow.
    #[inline(never)]
    pub fn begin_alone(&mut self, first: u64, last: u64) -> bool {
        self.begin();
        last - first < self.ssp && self.sets.write_alone(first, last, self.asn)
    }

    /// Sectors `first..=last` are written by the request that began last.
    ///
    /// Nodes that overlap them are forgotten whole (PR-3), adjacent ones are merged.
    pub fn write(&mut self, first: u64, last: u64) -> Grown {
        let (new, parts) = self.sets.write(first, last, self.asn);
        let large = new.sectors() > self.ssp;
        // The pages of a part that was large went to LDR when it became so; only those of a part that
        // is large for the first time have to migrate.
        let first_time = |part: Option<Set>| part.filter(|s| large && s.sectors() <= self.ssp);
        Grown {
            large,
            joined: parts.map(first_time),
        }
    }

    /// Reads what is known of the surroundings of sectors, see [`crate::store::prefetch`].
    #[inline(always)]
    pub fn prefetch(&self, sectors: impl Fn(usize) -> u64) {
        self.sets.prefetch(sectors);
    }

    /// Nodes in the queue.
    #[inline]
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Is the queue empty?
    pub fn is_empty(&self) -> bool {
        self.sets.len() == 0
    }

    /// The nodes by ascending sector. O(n log n), for printing and tests.
    pub fn sets(&self) -> impl Iterator<Item = Set> {
        let mut sets: Vec<Set> = self.sets.iter().collect();
        sets.sort_unstable_by_key(|s| s.first);
        sets.into_iter()
    }

    /// `(asn,first,last)` of every node, large ones with `,L`, as the worked examples print them.
    #[cfg(feature = "conformance")]
    pub fn print(&self, out: &mut String) {
        use std::fmt::Write;
        out.push_str("LWRS ");
        for (i, s) in self.sets().enumerate() {
            let gap = if i > 0 { " " } else { "" };
            let large = if s.sectors() > self.ssp { ",L" } else { "" };
            write!(out, "{gap}({},{},{}{large})", s.asn, s.first, s.last)
                .expect("writing to a string cannot fail");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same queue in a plain vector.
    struct Model {
        ssp: u64,
        window: u64,
        asn: u64,
        sets: Vec<Set>,
    }

    impl Model {
        fn begin(&mut self) {
            self.asn += 1;
            let (asn, window) = (self.asn, self.window);
            self.sets.retain(|s| asn - s.asn < window);
        }

        fn write(&mut self, first: u64, last: u64) -> Grown {
            let asn = self.asn;
            self.sets.retain(|s| s.last < first || s.first > last);
            let mut new = Set { first, last, asn };
            let mut joined = vec![];
            self.sets.sort_by_key(|s| s.first);
            for s in &self.sets {
                if s.last + 1 == first || s.first == last + 1 {
                    new.first = new.first.min(s.first);
                    new.last = new.last.max(s.last);
                    joined.push((s.last + 1 == first, *s));
                }
            }
            self.sets.retain(|s| joined.iter().all(|(_, j)| j != s));
            self.sets.push(new);
            self.sets.sort_by_key(|s| s.first);
            let large = new.sectors() > self.ssp;
            let of = |before| {
                let mut sets = joined.iter().filter(|j| j.0 == before);
                let set = sets.next().map(|j| j.1)?;
                (large && set.sectors() <= self.ssp).then_some(set)
            };
            Grown {
                large,
                joined: [of(true), of(false)],
            }
        }
    }

    #[test]
    fn agrees_with_a_plain_model() {
        for (seed, rip, space, extents) in [
            (1u64, 4u64, 60u64, 1),
            (2, 300, 9_000, 1),
            (3, 2_000, 60_000, 1),
            (4, 50, 900, 3),
        ] {
            let mut rng = crate::rng::SplitMix64::new(seed);
            let mut queue = Lwrs::new(8, rip);
            let mut model = Model {
                ssp: 8,
                window: rip,
                asn: 0,
                sets: vec![],
            };
            let mut next = 0;
            for step in 0..12_000u64 {
                if rng.next_u64().is_multiple_of(11) {
                    queue.tick();
                    model.asn += 1;
                    continue;
                }
                model.begin();
                // Both ways of writing, by turns.
                let mut begun = step % 3 == 0;
                if begun {
                    queue.begin();
                }
                for _ in 0..1 + rng.next_u64() % extents {
                    let first = match rng.next_u64() % 4 {
                        0 | 1 => next,
                        _ => rng.next_u64() % space,
                    };
                    let last = first + rng.next_u64() % 6 * (rng.next_u64() % 9 / 7 * 40 + 1);
                    next = last + 1;
                    let alone = !begun && queue.begin_alone(first, last);
                    begun = true;
                    let grown = if alone {
                        Grown::default()
                    } else {
                        queue.write(first, last)
                    };
                    assert_eq!(grown, model.write(first, last), "step {step}");
                }
                if step % 16 == 0 || space < 100 {
                    assert!(queue.sets().eq(model.sets.iter().copied()), "step {step}");
                    assert_eq!(queue.len(), model.sets.len());
                    queue.sets.check();
                }
                for pair in model.sets.windows(2) {
                    assert!(pair[0].last + 1 < pair[1].first, "disjoint, never adjacent");
                }
                assert!(extents > 1 || queue.len() <= rip as usize);
            }
        }
    }

    #[test]
    fn memory_is_bounded_by_construction() {
        let rip = 3000;
        let mut queue = Lwrs::new(256, rip);
        let before = queue.sets.room();
        let mut rng = crate::rng::SplitMix64::new(5);
        for i in 0..200_000u64 {
            queue.begin();
            // Bursts of neighbours, so that blocks fill, empty and merge.
            let base = (i / 500) * 7919 % 64 * 100_000;
            let first = base + rng.next_u64() % 60_000;
            queue.write(first, first + rng.next_u64() % 8);
        }
        assert_eq!(queue.sets.room(), before);
    }

    #[test]
    fn writes_of_the_same_sets_take_no_memory_however_many_they_are() {
        let mut queue = Lwrs::new(256, 1 << 40);
        queue.sets = Sets::new(100);
        let before = queue.sets.room();
        for i in 0..50_000u64 {
            queue.begin();
            queue.write(i * i % 40 * 8, i * i % 40 * 8 + 6);
            queue.sets.check();
        }
        assert_eq!(queue.sets.room(), before);
        for i in 0..1_000 {
            queue.begin();
            queue.write(i * 80, i * 80 + 6);
            queue.sets.check();
        }
        assert!(queue.len() >= 1_000);
    }

    #[test]
    fn ends_of_the_address_space() {
        // The last sector of the largest trace that readers accept.
        let end = (1u64 << 39) - 1;
        let mut queue = Lwrs::new(8, 4);
        queue.begin();
        queue.write(end - 3, end);
        queue.begin();
        queue.write(0, 3);
        queue.begin();
        assert!(queue.write(end - 12, end - 4).large);
        let lengths: Vec<u64> = queue.sets().map(|s| s.sectors()).collect();
        assert_eq!(lengths, [4, 13]);
    }
}
