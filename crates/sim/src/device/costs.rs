//! Sizes and times of operations.

use destage_device::config::{DeviceConfig, PageTimes};
use destage_scheme::FlashCosts;
use destage_types::{Nanos, Picos, SECTOR_BYTES};

/// What operations of a device take.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    /// As schemes see them.
    pub flash: FlashCosts,
    /// Sectors of a page of the array.
    pub page_sectors: u32,
    /// Sectors of a logical page, which is a mapping unit where there are some.
    pub unit_sectors: u32,
    t_byte: Picos,
    sector_bytes: u32,
    page_transfer: Nanos,
    /// Array times by page of a word line, if they differ.
    programs: Option<Box<[Nanos]>>,
    reads: Option<Box<[Nanos]>>,
}

impl Costs {
    pub fn new(config: &DeviceConfig) -> Costs {
        let (shape, transfer) = (config.shape(), config.page_transfer());
        let if_differ = |times: &PageTimes| times.differ().then(|| times.of_types().into());
        Costs {
            flash: FlashCosts {
                read: config.t_read.mean() + config.t_ready.times(1),
                program: config.t_program.mean(),
                erase: config.t_erase.times(1),
                transfer,
                program_transfer: Nanos(transfer.0 * u64::from(shape.unit_pages())),
                pages_per_block: shape.places.into(),
                pages_per_program: shape.unit().into(),
            },
            page_sectors: (config.geometry.page.bytes() / SECTOR_BYTES) as u32,
            unit_sectors: config.mapping().sectors(),
            t_byte: config.t_byte,
            sector_bytes: config.sector_bytes,
            page_transfer: transfer,
            programs: if_differ(&config.t_program),
            reads: if_differ(&config.t_read),
        }
    }

    /// Bytes of so many sectors on the bus.
    #[inline]
    pub fn bytes(&self, sectors: u32) -> u32 {
        sectors * self.sector_bytes
    }

    /// Bus time of so many sectors.
    #[inline]
    pub fn transfer(&self, sectors: u32) -> Nanos {
        if sectors == self.page_sectors {
            self.page_transfer
        } else {
            self.t_byte.times(u64::from(self.bytes(sectors)))
        }
    }

    /// Do pages differ in their array times of programs?
    #[inline]
    pub fn programs_differ(&self) -> bool {
        self.programs.is_some()
    }

    /// Array time of the program of a page of a block, where pages differ.
    #[inline]
    pub fn program_time(&self, page: u32) -> Option<Nanos> {
        of_page(self.programs.as_deref(), page)
    }

    /// Array time of a read of a page of a block, where pages differ.
    pub fn read_time(&self, page: u32) -> Option<Nanos> {
        of_page(self.reads.as_deref(), page)
    }

    /// Does every operation of a page take time?
    pub fn all_take_time(&self) -> bool {
        let FlashCosts {
            read,
            program,
            erase,
            ..
        } = self.flash;
        let times = [read, program, erase, self.transfer(1)];
        let by_page = self.programs.iter().flatten();
        times.iter().chain(by_page).all(|&time| time > Nanos::ZERO)
    }
}

fn of_page(times: Option<&[Nanos]>, page: u32) -> Option<Nanos> {
    let times = times?;
    Some(times[page as usize % times.len()])
}
