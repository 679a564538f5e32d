//! What the array has been given to do, whether it has started or waits.

use super::entry::{Entry, NONE};
use super::{ChipStats, Class, Events, Kind, Nand};

impl<E: Events> Nand<E> {
    /// Pages, blocks and bytes of all operations submitted since the start, by chip; those of
    /// [`Class::Background`], which may be taken back, once they have started. Times are left out.
    ///
    /// Cost: all that waits is looked at.
    pub fn issued(&self) -> Vec<ChipStats> {
        let mut chips = vec![ChipStats::default(); self.chips as usize];
        let of = |lane: usize| lane % self.chips as usize;
        for (number, lane) in self.lanes.iter().enumerate() {
            lane.add_done(&mut chips[of(number)]);
        }
        let waiting = self.pool.waiting();
        for entry in waiting.filter(|entry| entry.class != Class::Background) {
            let chip = &mut chips[of(entry.lane as usize)];
            add(chip, entry, 1);
            if entry.run != NONE {
                self.ahead
                    .each_from(entry.run, |entry, count| add(chip, entry, count));
            }
        }
        chips
    }
}

fn add(chip: &mut ChipStats, entry: &Entry, count: u64) {
    chip.done[entry.kind as usize] += count * u64::from(entry.planes);
    let bytes = count * u64::from(entry.bytes);
    match entry.kind {
        Kind::Read => chip.bytes_read += bytes,
        _ => chip.bytes_programmed += bytes,
    }
}
