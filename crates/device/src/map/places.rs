//! Which logical page is in which place: both directions of a mapping, and the blocks that the places are in.
//!
//! A *place* is room for the data of one logical page. Places are numbered block by block. Two tables of 32-bit numbers
//! say all: a place holds wanted data iff the logical page that the second table names for it is mapped to it. So an
//! overwrite leaves the old entry of the second table alone.

use super::blocks::FlashBlocks;
use super::fill::{FillInOrder, Filled};
use super::page_table::{NONE, PageTable};
use destage_types::Lpn;
use std::sync::Arc;

/// A logical page, and the place of its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Owned {
    pub lpn: u32,
    pub place: u32,
}

/// A mapping, and its blocks. See the module.
///
/// With 2^32 places the last one has the number that means "none". There the way back decides: its owner is forgotten as
/// soon as its data are not wanted any more.
#[derive(Clone, Debug)]
pub struct PlaceMap {
    to_place: PageTable,
    to_page: PageTable,
    pub(super) blocks: FlashBlocks,
    logical: u64,
    /// With those of the translation layer itself, which follow.
    all_pages: u64,
    mapped: u64,
    /// Is there a place with the number that means "none"?
    has_last: bool,
}

impl PlaceMap {
    /// Nothing is mapped. There are `logical` pages, and so many `own` ones of the translation layer.
    pub(super) fn new(logical: u64, own: u64, blocks: FlashBlocks) -> PlaceMap {
        let all = blocks.shape.all_places();
        PlaceMap {
            to_place: PageTable::new(logical + own),
            to_page: PageTable::new(all),
            blocks,
            logical,
            all_pages: logical + own,
            mapped: 0,
            has_last: all > u64::from(NONE),
        }
    }

    #[inline]
    fn block_of(&self, place: u32) -> u32 {
        self.blocks.shape.block(u64::from(place))
    }

    /// Pages the host can address.
    pub const fn logical(&self) -> u64 {
        self.logical
    }

    /// Pages with data.
    pub const fn mapped(&self) -> u64 {
        self.mapped
    }

    /// Makes copies cheap: they share what they do not change.
    pub fn freeze(&mut self) {
        self.to_place.freeze();
        self.to_page.freeze();
    }

    /// Takes back what copies shared, if there are none any more.
    pub fn thaw(&mut self) {
        self.to_place.thaw();
        self.to_page.thaw();
    }

    /// The place of a page, if it has one.
    #[inline]
    pub fn get(&self, lpn: Lpn) -> Option<u32> {
        match self.to_place.get(lpn.0) {
            NONE => self.in_last(lpn),
            place => Some(place),
        }
    }

    /// The last place, if it holds the data of a page that is mapped to "none".
    #[inline]
    fn in_last(&self, lpn: Lpn) -> Option<u32> {
        let holds = || u64::from(self.to_page.get(u64::from(NONE))) == lpn.0;
        (self.has_last && holds()).then_some(NONE)
    }

    /// The page whose data in a place are wanted.
    #[inline]
    pub fn owner(&self, place: u32) -> Option<Lpn> {
        let lpn = match self.to_page.get(u64::from(place)) {
            NONE => return None,
            lpn => Lpn(u64::from(lpn)),
        };
        (self.get(lpn) == Some(place)).then_some(lpn)
    }

    /// The page whose data were written to a place, wanted or not.
    pub fn written_to(&self, place: u32) -> Lpn {
        Lpn(u64::from(self.to_page.get(u64::from(place))))
    }

    /// Maps a page to a place that was taken. Gives its old place, whose data are not wanted any more.
    #[inline(always)]
    pub fn write(&mut self, lpn: Lpn, place: u32) -> Option<u32> {
        let old = self.relocate(lpn, place);
        match old {
            Some(old) => self.blocks.invalidated(self.block_of(old)),
            None => self.mapped += 1,
        }
        old
    }

    /// Maps a page to a place that was taken, and leaves the count of its old block to the caller.
    #[inline(always)]
    pub fn relocate(&mut self, lpn: Lpn, place: u32) -> Option<u32> {
        let old = match self.to_place.replace(lpn.0, place) {
            NONE => self.in_last(lpn),
            old => Some(old),
        };
        if old == Some(NONE) {
            self.to_page.clear(u64::from(NONE));
        }
        self.to_page.replace(u64::from(place), lpn.0 as u32);
        old
    }

    /// The data of a page are not wanted any more. Gives their place.
    pub fn trim(&mut self, lpn: Lpn) -> Option<u32> {
        let place = self.get(lpn)?;
        self.to_place.clear(lpn.0);
        if place == NONE {
            self.to_page.clear(u64::from(NONE));
        }
        self.mapped -= 1;
        self.blocks.invalidated(self.block_of(place));
        Some(place)
    }

    /// Adds the pages whose data in a block are wanted to `out`, in the order of their places.
    pub(super) fn owners_in(&self, block: u32, out: &mut Vec<Owned>) {
        let shape = &self.blocks.shape;
        self.owners(shape.first(block), shape.places, out);
    }

    /// The same for so many places from `first` on. All are asked for before the first is moved and without a branch, so
    /// that the processor waits for many of them at once.
    pub(super) fn owners(&self, first: u64, places: u32, out: &mut Vec<Owned>) {
        if self.has_last {
            // The number of the last place may mean "none".
            let all = (0..places).map(|i| (first + u64::from(i)) as u32);
            out.extend(all.filter_map(|place| {
                let lpn = self.owner(place)?.0 as u32;
                Some(Owned { lpn, place })
            }));
            return;
        }
        let mut count = out.len();
        out.resize(count + places as usize, Owned::default());
        self.to_page.each(first, places, |place, lpn| {
            let place = place as u32;
            // "None" lies beyond all pages, and the last of those stands for it.
            let at = u64::from(lpn).min(self.all_pages - 1);
            let owns = self.to_place.get(at) == place && lpn != NONE;
            out[count] = Owned { lpn, place };
            count += usize::from(owns);
        });
        out.truncate(count);
    }

    /// Reads what writes of the logical pages `numbers` will ask for, so that the processor has it
    /// close: their places, and the state of their blocks. The number means nothing; it
    /// must be used, or the lookups are left out. The contents of `numbers` afterwards mean nothing
    /// either.
    ///
    /// Two short loops: the shorter they are, the more lookups wait for memory at the same time.
    pub fn prefetch(&self, numbers: &mut [u64]) -> u64 {
        for number in &mut *numbers {
            // Numbers beyond the device stand for the last one, and a place that certainly exists for "no place": no
            // branches.
            let place = self.to_place.get((*number).min(self.logical - 1));
            *number = if place == NONE { 0 } else { u64::from(place) };
        }
        let valid = |place: &u64| self.blocks.row(self.block_of(*place as u32)).valid();
        numbers
            .iter()
            .fold(0, |all, place| all ^ u64::from(valid(place)))
    }

    /// Bytes of memory taken so far.
    pub fn bytes(&self) -> u64 {
        self.to_place.bytes() + self.to_page.bytes() + self.blocks.bytes()
    }

    /// Is it as new, so that [`PlaceMap::fill`] may follow?
    pub fn is_unused(&self) -> bool {
        self.mapped == 0 && self.blocks.is_unused()
    }

    /// The pages of a fill are where it says, and its blocks are full, as if the pages had been written one by one.
    pub(super) fn fill(&mut self, fill: FillInOrder) {
        if fill.pages() == 0 {
            return;
        }
        self.mapped = u64::from(fill.pages());
        for (last, block) in fill.blocks() {
            self.blocks.fill(block, last);
        }
        let fill = Arc::new(fill);
        self.to_place.set_initial(Filled::Places(Arc::clone(&fill)));
        self.to_page.set_initial(Filled::Pages(fill));
    }
}
