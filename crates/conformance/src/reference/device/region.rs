//! A cache in flash: every access of a cached page is an operation of its chip.

use super::*;

/// When an access ran.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SlowCacheAccess {
    /// The page.
    pub lpn: u64,
    /// Request it was for; `None` for background work.
    pub request: Option<u64>,
    /// Is it a program?
    pub program: bool,
    /// When it was queued, started, had its last transfer, and ended.
    pub times: [u64; 4],
}

impl SlowDevice {
    fn access(
        &mut self,
        purpose: Purpose,
        lpn: u64,
        command: FlashCommand,
        after: Option<u64>,
    ) -> u32 {
        let program = command.kind == OpKind::Program;
        self.cache_accesses[usize::from(program)] += 1;
        let region = self.config.cache_region.expect("the cache is in flash");
        let array = if program {
            region.t_program
        } else {
            region.t_read
        };
        let command = FlashCommand {
            array: Some(time(array)),
            ..command.die(self.map.static_die(lpn))
        };
        self.submit(purpose, lpn, command, [after, None], None)
    }

    fn chip_of_cached(&self, lpn: u64) -> ChipId {
        ChipId(self.map.static_chip(lpn) as u32)
    }

    fn read_cached(&mut self, lpn: u64, sectors: u32, class: Class) -> u32 {
        let (chip, transfer) = (self.chip_of_cached(lpn), self.transfer(sectors));
        let after = self.last_cache_program.get(&lpn).copied();
        let command = FlashCommand::read(chip, transfer, 0).class(class);
        self.access(Purpose::CacheRead, lpn, command, after)
    }

    fn program_cached(&mut self, purpose: Purpose, lpn: u64, after: Option<u64>) -> u32 {
        let command = FlashCommand::program(self.chip_of_cached(lpn), self.page_transfer(), 0);
        let token = self.access(purpose, lpn, command, after);
        self.last_cache_program.insert(lpn, self.number(token));
        token
    }

    pub(super) fn host_reads_cache(&mut self, lpn: u64, sectors: u32) {
        if self.config.cache_region.is_some() {
            let token = self.read_cached(lpn, sectors, Class::Host);
            self.wait(Wait::End(token));
        }
    }

    pub(super) fn host_writes_cache(&mut self, lpn: u64) {
        if self.config.cache_region.is_some() {
            let token = self.program_cached(Purpose::CacheWrite, lpn, None);
            self.wait_for_program(token, SlowCause::Own);
        }
    }

    pub(super) fn miss_enters_cache(&mut self, lpn: u64, read: bool) {
        if self.config.cache_region.is_some() {
            let fetch = self.last_fetch.filter(|_| read);
            let after = fetch.map(|fetch| self.number(fetch));
            let token = self.program_cached(Purpose::CacheFill, lpn, after);
            self.wait_for_program(token, SlowCause::Eviction);
        }
    }

    /// The page is programmed outside, and its data are in the region alone.
    pub(super) fn read_what_leaves(&mut self, lpn: u64, class: Class) -> Option<u32> {
        let region = self.config.cache_region?;
        let sectors = self.config.geometry.page.sectors();
        region
            .evict_read
            .then(|| self.read_cached(lpn, sectors, class))
    }

    /// All accesses, sorted.
    pub fn accesses_of_cache(&self) -> Vec<SlowCacheAccess> {
        let access = |e: &Entry| {
            let program = match e.purpose {
                Purpose::CacheRead => false,
                Purpose::CacheWrite | Purpose::CacheFill => true,
                _ => return None,
            };
            let times = e.times?;
            Some(SlowCacheAccess {
                lpn: e.lpn,
                request: e.request,
                program,
                times: [
                    e.enqueued,
                    times.start.0,
                    times.last_transfer.0,
                    times.end.0,
                ],
            })
        };
        let mut all: Vec<SlowCacheAccess> = self.entries.all.iter().filter_map(access).collect();
        all.sort_unstable();
        all
    }
}
