//! Shape of the flash array, and the static page allocation that follows from it.

use crate::{ChannelId, ChipId, Lpn, PlaneId, SECTOR_BYTES, SectorMask};

/// Size of a page: a power of two, 512 B to 64 KiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageSize {
    sector_shift: u32,
}

impl PageSize {
    /// The usual 4 KiB.
    pub const KIB4: PageSize = PageSize { sector_shift: 3 };

    /// A page of `bytes` bytes; `None` unless a power of two in 512..=65536.
    pub const fn new(bytes: u64) -> Option<PageSize> {
        if !bytes.is_power_of_two() || bytes < SECTOR_BYTES || bytes > 65536 {
            return None;
        }
        Some(PageSize {
            sector_shift: (bytes / SECTOR_BYTES).trailing_zeros(),
        })
    }

    /// Bytes of a page.
    pub const fn bytes(self) -> u64 {
        SECTOR_BYTES << self.sector_shift
    }

    /// Sectors of a page.
    #[inline]
    pub const fn sectors(self) -> u32 {
        1 << self.sector_shift
    }

    /// Page that holds `sector`.
    #[inline]
    pub const fn page_of(self, sector: u64) -> Lpn {
        Lpn(sector >> self.sector_shift)
    }

    /// First sector of page `lpn`.
    #[inline]
    pub const fn first_sector(self, lpn: Lpn) -> u64 {
        lpn.0 << self.sector_shift
    }

    /// Position of `sector` inside its page.
    #[inline]
    pub const fn offset(self, sector: u64) -> u32 {
        (sector & ((1 << self.sector_shift) - 1)) as u32
    }

    /// All sectors of a page.
    #[inline]
    pub const fn full_mask(self) -> SectorMask {
        SectorMask::full(self.sectors())
    }
}

/// Which unit has its own queue and runs one array operation at a time ("chip" in the papers).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum QueuePer {
    /// A chip; its dies do not work in parallel.
    Chip,
    /// A die.
    #[default]
    Die,
}

/// Counts of every level of the array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Buses.
    pub channels: u32,
    /// Packages on one bus.
    pub chips_per_channel: u32,
    /// Dies in one package.
    pub dies_per_chip: u32,
    /// Planes of one die.
    pub planes_per_die: u32,
    /// Erase blocks of one plane.
    pub blocks_per_plane: u32,
    /// Pages of one block.
    pub pages_per_block: u32,
    /// Page size.
    pub page: PageSize,
}

impl Geometry {
    /// Planes of the device.
    pub const fn planes(&self) -> u32 {
        self.channels * self.chips_per_channel * self.dies_per_chip * self.planes_per_die
    }

    /// Physical pages of the device.
    pub const fn pages(&self) -> u64 {
        self.planes() as u64 * self.blocks_per_plane as u64 * self.pages_per_block as u64
    }

    /// Bytes of the device, spare space included.
    pub const fn raw_bytes(&self) -> u64 {
        self.pages() * self.page.bytes()
    }

    /// Units with their own queue.
    pub const fn queues(&self, per: QueuePer) -> u32 {
        self.channels * self.queues_per_channel(per)
    }

    /// Units with their own queue on one channel.
    pub const fn queues_per_channel(&self, per: QueuePer) -> u32 {
        match per {
            QueuePer::Chip => self.chips_per_channel,
            QueuePer::Die => self.chips_per_channel * self.dies_per_chip,
        }
    }
}

/// A level of the array over which consecutive pages are spread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Axis {
    /// Buses.
    Channel,
    /// Packages of a bus.
    Chip,
    /// Dies of a package.
    Die,
    /// Planes of a die.
    Plane,
}

/// Where one plane sits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlaneAddress {
    /// Bus, `0..channels`.
    pub channel: u32,
    /// Package on the bus.
    pub chip: u32,
    /// Die of the package.
    pub die: u32,
    /// Plane of the die.
    pub plane: u32,
}

/// Static page allocation: which plane, chip and channel an LPN belongs to.
///
/// Consecutive pages go round the first axis, then the second, and so on. With the usual order
/// (channel, chip, die, plane) the chip of `lpn` is `lpn mod chips` and the channel of a chip is
/// `chip mod channels`: chips are numbered in allocation order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StaticLayout {
    order: [Axis; 4],
    counts: [u64; 4],
    planes: u64,
    queues: u32,
    channels: u32,
    queue_per: QueuePer,
    /// `lpn mod queues` is the chip: true for every order that spreads over all queues first.
    chips_first: bool,
    /// A page holds 2 to this power of mapping units, which stay together.
    unit_bits: u32,
}

impl StaticLayout {
    /// The layout of `geometry` when pages are spread over the axes in `order`.
    ///
    /// `None` if `order` does not name each axis once.
    pub fn new(geometry: &Geometry, order: [Axis; 4], queue_per: QueuePer) -> Option<StaticLayout> {
        let all = [Axis::Channel, Axis::Chip, Axis::Die, Axis::Plane];
        if !all.iter().all(|axis| order.contains(axis)) {
            return None;
        }
        let counts = order.map(|axis| {
            u64::from(match axis {
                Axis::Channel => geometry.channels,
                Axis::Chip => geometry.chips_per_channel,
                Axis::Die => geometry.dies_per_chip,
                Axis::Plane => geometry.planes_per_die,
            })
        });
        let lead = match queue_per {
            QueuePer::Chip => &order[..2] == [Axis::Channel, Axis::Chip].as_slice(),
            QueuePer::Die => &order[..3] == [Axis::Channel, Axis::Chip, Axis::Die].as_slice(),
        };
        Some(StaticLayout {
            order,
            counts,
            planes: u64::from(geometry.planes()),
            queues: geometry.queues(queue_per),
            channels: geometry.channels,
            queue_per,
            chips_first: lead,
            unit_bits: 0,
        })
    }

    /// The same for logical pages that are mapping units, `per_page` of which (a power of two) share a page.
    pub fn with_units(self, per_page: u32) -> StaticLayout {
        StaticLayout {
            unit_bits: per_page.trailing_zeros(),
            ..self
        }
    }

    /// A layout for `chips` queues on `channels` channels with one plane each.
    pub fn flat(channels: u32, chips: u32) -> StaticLayout {
        let geometry = Geometry {
            channels,
            chips_per_channel: chips / channels,
            dies_per_chip: 1,
            planes_per_die: 1,
            blocks_per_plane: 1,
            pages_per_block: 1,
            page: PageSize::KIB4,
        };
        let order = [Axis::Channel, Axis::Chip, Axis::Die, Axis::Plane];
        StaticLayout::new(&geometry, order, QueuePer::Die).expect("the order names each axis once")
    }

    /// Number of chips (units with their own queue).
    #[inline]
    pub const fn chips(&self) -> u32 {
        self.queues
    }

    /// Number of channels.
    #[inline]
    pub const fn channels(&self) -> u32 {
        self.channels
    }

    /// Number of planes.
    #[inline]
    pub const fn planes(&self) -> u32 {
        self.planes as u32
    }

    /// Chip that static allocation gives `lpn`.
    #[inline]
    pub fn chip(&self, lpn: Lpn) -> ChipId {
        if self.chips_first {
            return ChipId(((lpn.0 >> self.unit_bits) % u64::from(self.queues)) as u32);
        }
        self.chip_of(self.place(lpn))
    }

    /// Channel a chip hangs on.
    #[inline]
    pub const fn channel(&self, chip: ChipId) -> ChannelId {
        ChannelId(chip.0 % self.channels)
    }

    /// Chips that hang on a channel, ascending.
    pub fn chips_of(&self, channel: ChannelId) -> impl Iterator<Item = ChipId> + use<> {
        (channel.0..self.queues)
            .step_by(self.channels as usize)
            .map(ChipId)
    }

    /// Plane that static allocation gives `lpn`, level by level.
    pub fn place(&self, lpn: Lpn) -> PlaneAddress {
        let mut rest = (lpn.0 >> self.unit_bits) % self.planes;
        let mut at = PlaneAddress {
            channel: 0,
            chip: 0,
            die: 0,
            plane: 0,
        };
        for (axis, count) in self.order.into_iter().zip(self.counts) {
            let digit = (rest % count) as u32;
            rest /= count;
            match axis {
                Axis::Channel => at.channel = digit,
                Axis::Chip => at.chip = digit,
                Axis::Die => at.die = digit,
                Axis::Plane => at.plane = digit,
            }
        }
        at
    }

    /// Plane that static allocation gives `lpn`, counted over the device in the order channel,
    /// chip, die, plane (channel fastest).
    pub fn plane(&self, lpn: Lpn) -> PlaneId {
        self.plane_id(self.place(lpn))
    }

    /// Number of a plane, channel fastest.
    pub fn plane_id(&self, at: PlaneAddress) -> PlaneId {
        let (chips, dies) = (self.count(Axis::Chip), self.count(Axis::Die));
        PlaneId(at.channel + self.channels * (at.chip + chips * (at.die + dies * at.plane)))
    }

    /// The place of a plane: the inverse of [`StaticLayout::plane_id`].
    pub fn plane_address(&self, plane: PlaneId) -> PlaneAddress {
        let (chips, dies) = (self.count(Axis::Chip), self.count(Axis::Die));
        let channel = plane.0 % self.channels;
        let rest = plane.0 / self.channels;
        let (chip, rest) = (rest % chips, rest / chips);
        PlaneAddress {
            channel,
            chip,
            die: rest % dies,
            plane: rest / dies,
        }
    }

    /// Queue that serves a plane: channel fastest, then chip, then die.
    pub fn chip_of(&self, at: PlaneAddress) -> ChipId {
        let chips = self.count(Axis::Chip);
        match self.queue_per {
            QueuePer::Chip => ChipId(at.channel + self.channels * at.chip),
            QueuePer::Die => ChipId(at.channel + self.channels * (at.chip + chips * at.die)),
        }
    }

    fn count(&self, axis: Axis) -> u32 {
        let i = self
            .order
            .iter()
            .position(|&a| a == axis)
            .expect("each axis is named once");
        self.counts[i] as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry() -> Geometry {
        Geometry {
            channels: 4,
            chips_per_channel: 2,
            dies_per_chip: 2,
            planes_per_die: 2,
            blocks_per_plane: 8,
            pages_per_block: 16,
            page: PageSize::KIB4,
        }
    }

    #[test]
    fn channel_first_is_modulo() {
        let order = [Axis::Channel, Axis::Chip, Axis::Die, Axis::Plane];
        for per in [QueuePer::Chip, QueuePer::Die] {
            let layout = StaticLayout::new(&geometry(), order, per).unwrap();
            for lpn in 0..200 {
                let chip = layout.chip(Lpn(lpn));
                assert_eq!(u64::from(chip.0), lpn % u64::from(layout.chips()));
                assert_eq!(
                    chip,
                    layout.chip_of(layout.place(Lpn(lpn))),
                    "both ways agree"
                );
                assert_eq!(layout.channel(chip).0 as u64, lpn % 4);
            }
        }
    }

    #[test]
    fn every_order_spreads_evenly_over_planes() {
        let order = [Axis::Plane, Axis::Die, Axis::Chip, Axis::Channel];
        let layout = StaticLayout::new(&geometry(), order, QueuePer::Die).unwrap();
        let mut pages = vec![0; geometry().planes() as usize];
        for lpn in 0..u64::from(geometry().planes()) * 3 {
            let plane = layout.plane(Lpn(lpn));
            assert_eq!(layout.plane_id(layout.plane_address(plane)), plane);
            let channel = layout.place(Lpn(lpn)).channel;
            assert_eq!(layout.channel(layout.chip(Lpn(lpn))).0, channel);
            pages[plane.index()] += 1;
        }
        assert!(pages.iter().all(|&n| n == 3));
        let twice = [Axis::Plane, Axis::Plane, Axis::Chip, Axis::Channel];
        assert!(StaticLayout::new(&geometry(), twice, QueuePer::Die).is_none());
    }

    #[test]
    fn page_sizes() {
        assert!(PageSize::new(3000).is_none() && PageSize::new(131072).is_none());
        let page = PageSize::new(65536).unwrap();
        assert_eq!((page.sectors(), page.full_mask().count()), (128, 128));
        assert_eq!(PageSize::KIB4.page_of(17), Lpn(2));
        assert_eq!(PageSize::KIB4.offset(17), 1);
    }
}
