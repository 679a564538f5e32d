//! Operations that grow while they wait.

use super::*;

impl Reference {
    /// Nothing starts until [`Reference::resume`].
    pub fn hold(&mut self) {
        self.held = true;
    }

    /// Operations that may start at `now` do.
    pub fn resume(&mut self, now: Nanos) {
        self.now = now.0;
        self.held = false;
        self.settle();
    }

    /// A page on one more plane.
    pub fn join(&mut self, number: u64, transfer: Nanos, bytes: u32, array: Option<Nanos>) {
        let t = self.timing;
        let i = self.position(number).expect("a waiting operation is kept");
        let op = &mut self.operations[i];
        assert!(op.waits() && op.job.is_none());
        op.command.planes += 1;
        op.command.transfer += transfer;
        op.command.bytes += bytes;
        if let Some(time) = array {
            let usual = match op.command.kind {
                OpKind::Read => t.t_read,
                _ => t.t_program,
            };
            let longest = op.command.array.unwrap_or(usual).max(time);
            op.command.array = Some(longest);
        }
    }
}
