//! What FLUSH, FUA, and evictions of pages that are being programmed wait for: programs of host data under way.

use super::requests::Requests;
use destage_types::Nanos;
use smallvec::SmallVec;

/// A request that waits for programs that were under way when it came.
#[derive(Clone, Debug)]
struct ProgramWait {
    request: u32,
    /// Programs that began before this one count.
    before: u64,
    /// Names of the programs if it does not wait for all.
    of: Option<SmallVec<[u32; 1]>>,
    /// Those of them whose ends are not known.
    left: u32,
}

/// Programs of host data under way, and the requests that wait for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProgramWaits {
    waits: Vec<ProgramWait>,
    begun: u64,
    under_way: u32,
}

impl ProgramWaits {
    /// A program comes under way. Gives its number.
    #[inline]
    pub fn begin(&mut self) -> u64 {
        self.under_way += 1;
        self.begun += 1;
        self.begun
    }

    /// Programs under way: their ends are not known.
    pub fn under_way(&self) -> u32 {
        self.under_way
    }

    /// Does no request wait?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    /// A request waits for the programs under way, or only for those `of` these names.
    pub fn wait(&mut self, requests: &mut Requests, request: u32, of: Option<SmallVec<[u32; 1]>>) {
        let left = of.as_ref().map_or(self.under_way, |of| of.len() as u32);
        requests.wait(request, left);
        if left > 0 {
            let before = self.begun + 1;
            self.waits.push(ProgramWait {
                request,
                before,
                of,
                left,
            });
        }
    }

    /// So many programs are not under way any more. [`ProgramWaits::tell`] follows if a request waits.
    #[inline]
    pub fn end(&mut self, programs: u32) {
        self.under_way -= programs;
    }

    /// Program `number`, which is called `name`, ends at `end`.
    pub fn tell(&mut self, requests: &mut Requests, number: u64, name: u32, end: Nanos) {
        self.waits.retain_mut(|wait| {
            let of = wait.of.as_ref();
            if number >= wait.before || of.is_some_and(|of| !of.contains(&name)) {
                return true;
            }
            requests.ended(wait.request, end);
            wait.left -= 1;
            wait.left > 0
        });
    }
}
