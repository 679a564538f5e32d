//! Newtypes for every number that could be mistaken for another one.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* pub struct $name:ident($raw:ty);) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[repr(transparent)]
        pub struct $name(pub $raw);

        impl $name {
            /// The number as an array index.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// Logical page number: start sector divided by the sectors of a page.
    pub struct Lpn(u64);
}
id! {
    /// Physical page number. Larger devices than 2^32 pages are refused.
    pub struct Ppn(u32);
}
id! {
    /// A frame of the cache, `0..capacity`. Every per-page array of a scheme is indexed by it.
    pub struct Slot(u32);
}
id! {
    /// The unit of flash with its own queue: a chip or a die, see [`crate::QueuePer`].
    pub struct ChipId(u32);
}
id! {
    /// A channel, that is one bus.
    pub struct ChannelId(u32);
}
id! {
    /// A plane, counted over the whole device.
    pub struct PlaneId(u32);
}
id! {
    /// Simulated time or a span of it, in nanoseconds.
    pub struct Nanos(u64);
}

impl Nanos {
    /// The start of a run.
    pub const ZERO: Nanos = Nanos(0);
    /// Later than every event.
    pub const NEVER: Nanos = Nanos(u64::MAX);

    /// `self - earlier`, or zero if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add for Nanos {
    type Output = Nanos;
    #[inline]
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0 + other.0)
    }
}

impl std::ops::AddAssign for Nanos {
    #[inline]
    fn add_assign(&mut self, other: Nanos) {
        self.0 += other.0;
    }
}

impl std::ops::Sub for Nanos {
    type Output = Nanos;
    /// # Panics
    /// In debug builds when `other` is later; use [`Nanos::since`] where that can happen.
    #[inline]
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0 - other.0)
    }
}

impl Slot {
    /// Marks "no slot" in packed arrays; a cache has at most `u32::MAX - 1` frames.
    pub const NONE: Slot = Slot(u32::MAX);
}
