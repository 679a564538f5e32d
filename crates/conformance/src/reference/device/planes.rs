//! Multi-plane operations: pages of the open request that share one. (DEVICE_MODEL.md, "Multi-plane commands")

use super::*;
use crate::reference::pagemap::Spot;

/// An operation that the open request asked for.
#[derive(Clone, Debug)]
pub(super) struct SharedOperation {
    token: u32,
    number: u64,
    kind: OpKind,
    /// Operations that it waits for and that have not begun, and the last collection of its chip.
    waits: [Option<u64>; 3],
    spots: Vec<Spot>,
}

impl SlowDevice {
    pub(super) fn joins_planes(&self) -> bool {
        self.config.multi_plane && self.config.geometry.planes_per_die > 1
    }

    /// Submits a read or program for the open request: in an operation with others, if one fits.
    pub(super) fn submit_page(
        &mut self,
        purpose: Purpose,
        lpn: u64,
        command: FlashCommand,
        after: [Option<u64>; 2],
        before: Option<u32>,
    ) -> u32 {
        if !self.joins_planes() {
            return self.submit(purpose, lpn, command, after, before);
        }
        let spot = self.map.spot(lpn);
        // Only what can be passed by a read counts once it has started.
        let waiting = |n: &u64| match self.array.state(*n) {
            OpState::Waiting => true,
            OpState::Started => self.config.suspend == Suspend::ProgramErase,
            OpState::Finished => false,
        };
        let [one, two] = after.map(|n| n.filter(waiting));
        let waits = [one, two, self.last_job(command.chip.index())];
        let same_kind = |s: &SharedOperation| s.kind == command.kind;
        let before_it =
            |s: &SharedOperation| same_kind(s) && s.spots.iter().any(|x| x.plane == spot.plane);
        let from = self.shared.iter().rposition(before_it).map_or(0, |i| i + 1);
        let fits = |s: &&mut SharedOperation| {
            let first = s.spots[0];
            let same_die = self.map.die_number(first.plane) == self.map.die_number(spot.plane);
            same_kind(s) && same_die && s.waits == waits
        };
        let Some(shared) = self.shared[from..].iter_mut().find(fits) else {
            let token = self.submit(purpose, lpn, command, after, before);
            self.shared.push(SharedOperation {
                token,
                number: self.entries.all[token as usize].number,
                kind: command.kind,
                waits,
                spots: vec![spot],
            });
            return token;
        };
        shared.spots.push(spot);
        let (number, head) = (shared.number, shared.token);
        self.array
            .join(number, command.transfer, command.bytes, command.array);
        let token = self.enter(purpose, lpn, command.class, before);
        self.entries.all[token as usize].number = number;
        self.entries.joined.push((head, token));
        self.joined_pages[usize::from(command.kind == OpKind::Program)] += 1;
        token
    }
}
