//! Which writes enter the cache.

use super::super::frames::{Entry, Seen};
use super::Buffer;
use crate::reference::admission::Verdict;
use crate::reference::request::SlowAccess;
use crate::reference::scheme::SlowScheme;

impl Buffer {
    /// Does this page of a write enter the cache? Asked once.
    pub(super) fn enters(&mut self, access: SlowAccess, entry: Entry) -> bool {
        if entry == Entry::Past || self.scheme.bypasses(access.lpn, &self.store) {
            return false;
        }
        let Some(admission) = self.admission.as_mut().filter(|a| !a.whole_requests()) else {
            return true;
        };
        admission.before(&self.store);
        let bytes = self.request_bytes;
        let verdict = admission.judge(&[access], bytes, &self.store);
        admission.after();
        !matches!(verdict, Verdict::Bypass(_))
    }

    /// How a write is let in.
    pub(super) fn judge(&mut self, seen: &Seen, accesses: &[SlowAccess]) -> Entry {
        let past = |s: &dyn SlowScheme| accesses.iter().all(|a| s.sends_past(a.lpn));
        let goes_past = past(self.scheme.as_ref());
        match &mut self.admission {
            Some(admission) if admission.whole_requests() => {
                let bytes = seen.request.bytes;
                match admission.judge(accesses, bytes, &self.store) {
                    Verdict::Update(_) => Entry::Pages,
                    Verdict::Bypass(_) => Entry::Past,
                    Verdict::Admit(_) if goes_past => Entry::Past,
                    Verdict::Admit(_) => Entry::Whole,
                }
            }
            None if goes_past => Entry::Past,
            _ => Entry::Pages,
        }
    }
}
