//! The write buffer in front of the flash.

use destage_scheme::lists::ListArray;

/// No frame.
const NONE: u32 = u32::MAX;

/// Result of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// The page was there and holds the new data.
    Hit,
    /// The page is there now. The page that had to leave is given, if the buffer was full.
    Missed(Option<u32>),
}

/// Written pages, the most recent ones.
#[derive(Clone, Debug)]
pub struct LruBuffer {
    order: ListArray<1>,
    /// Frame of every logical page.
    frame_of: Vec<u32>,
    /// Page in every frame that was used.
    pages: Vec<u32>,
    capacity: usize,
}

impl LruBuffer {
    /// An empty buffer of `capacity` pages, at least 1, for `logical` pages.
    pub fn new(capacity: u32, logical: u32) -> LruBuffer {
        LruBuffer {
            order: ListArray::array(capacity as usize),
            frame_of: vec![NONE; logical as usize],
            pages: Vec::with_capacity(capacity as usize),
            capacity: capacity as usize,
        }
    }

    /// Writes a page.
    ///
    /// # Panics
    /// If `lpn` lies beyond the logical pages.
    pub fn write(&mut self, lpn: u32) -> Written {
        let frame = self.frame_of[lpn as usize];
        if frame != NONE {
            self.order.move_to_head(0, frame);
            return Written::Hit;
        }
        let (frame, evicted) = match self.order.tail(0) {
            Some(oldest) if self.pages.len() == self.capacity => {
                self.order.unlink(oldest);
                let evicted = std::mem::replace(&mut self.pages[oldest as usize], lpn);
                self.frame_of[evicted as usize] = NONE;
                (oldest, Some(evicted))
            }
            _ => {
                self.pages.push(lpn);
                (self.pages.len() as u32 - 1, None)
            }
        };
        self.frame_of[lpn as usize] = frame;
        self.order.push_head(0, frame);
        Written::Missed(evicted)
    }
}
