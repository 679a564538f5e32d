//! A cache in flash: every access of a cached page is an operation of its chip. (DEVICE_MODEL.md, "A cache in flash")

use super::*;

impl SlowDevice {
    fn access(
        &mut self,
        purpose: Purpose,
        lpn: u64,
        command: FlashCommand,
        after: Option<u64>,
    ) -> u32 {
        let program = command.kind == OpKind::Program;
        let counts = command.class != Class::Background;
        self.cache_accesses[usize::from(program)] += u64::from(counts);
        let region = self.config.cache_region.expect("the cache is in flash");
        let array = if program {
            region.t_program
        } else {
            region.t_read
        };
        let command = FlashCommand {
            array: Some(time(array)),
            ..command
        };
        self.submit(purpose, lpn, command, [after, None], None)
    }

    fn chip_of_cached(&self, lpn: u64) -> ChipId {
        ChipId(self.map.static_chip(lpn) as u32)
    }

    pub(super) fn read_cached(
        &mut self,
        lpn: u64,
        sectors: u32,
        purpose: Purpose,
        class: Class,
    ) -> u32 {
        let (chip, transfer) = (self.chip_of_cached(lpn), self.transfer(sectors));
        let after = self.last_cache_program.get(&lpn).copied();
        let command = FlashCommand::read(chip, transfer, 0).class(class);
        self.access(purpose, lpn, command, after)
    }

    pub(super) fn program_cached(&mut self, purpose: Purpose, lpn: u64, after: Option<u64>) -> u32 {
        let command = FlashCommand::program(self.chip_of_cached(lpn), self.page_transfer(), 0);
        let token = self.access(purpose, lpn, command, after);
        self.last_cache_program.insert(lpn, self.number(token));
        token
    }

    /// The page is programmed outside, and its data are in the region alone.
    pub(super) fn read_what_leaves(
        &mut self,
        lpn: u64,
        purpose: Purpose,
        class: Class,
    ) -> Option<u32> {
        let region = self.config.cache_region?;
        let sectors = self.config.geometry.page.sectors();
        region
            .evict_read
            .then(|| self.read_cached(lpn, sectors, purpose, class))
    }
}
