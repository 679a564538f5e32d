//! Preparing a device for a trace: address checks and preconditioning, both without time.

use crate::engine::Engine;
use crate::spec::RunError;
use crate::walk::{page_span, wrap_extents};
use destage_device::config::DeviceConfig;
use destage_device::ftl::{DeviceFull, PageMap};
use destage_trace::Workload;
use destage_types::{Extent, Lpn, Op, PageSize};

/// A device ready for `workload`: addresses checked, flash preconditioned.
///
/// # Errors
/// The trace addresses more than the device exports and `wrap` is off; preconditioning does not
/// fit. `seed` is that of the run: GC policies and overwrites draw from it.
pub fn prepare<'a>(
    config: &DeviceConfig,
    workload: impl Into<Workload<'a>>,
    wrap: bool,
    background: bool,
    seed: u64,
) -> Result<Engine, RunError> {
    let workload = workload.into();
    let space = address_space(config);
    if !wrap {
        check_addresses(config, workload, space)?;
    }
    let mut map = PageMap::new(config, seed);
    precondition(&mut map, config, workload, space, seed)?;
    Ok(Engine::new(config, map, background))
}

/// Sectors the host can address.
pub fn address_space(config: &DeviceConfig) -> u64 {
    config.logical_pages() * u64::from(config.geometry.page.sectors())
}

fn check_addresses(
    config: &DeviceConfig,
    workload: Workload<'_>,
    space: u64,
) -> Result<(), RunError> {
    workload.try_each(|request, r| match r.extents().find(|e| e.end() > space) {
        Some(extent) => Err(RunError::BeyondDevice {
            request,
            sector: extent.end() - 1,
            device: config.name.clone(),
            sectors: space,
        }),
        None => Ok(()),
    })
}

fn precondition(
    map: &mut PageMap,
    config: &DeviceConfig,
    workload: Workload<'_>,
    space: u64,
    seed: u64,
) -> Result<(), RunError> {
    let refused = |full| RunError::Precondition {
        device: config.name.clone(),
        full: Box::new(full),
    };
    let wanted = &config.precondition;
    map.fill(wanted.fill).map_err(refused)?;
    if wanted.trace {
        let mut reads = FirstReads::new(config.geometry.page, config.logical_pages());
        let mut extents: Vec<Extent> = Vec::new();
        workload.try_each(|_, request| {
            let (op, only) = (request.head.op, request.only_extent());
            if let Some(only) = only.filter(|only| only.end() <= space) {
                return reads.map(map, op, &[only]).map_err(refused);
            }
            extents.clear();
            extents.extend(request.extents());
            wrap_extents(&mut extents, space);
            reads.map(map, op, &extents).map_err(refused)
        })?;
    }
    let written = map.overwrite(wanted.fill, wanted.overwrite, seed);
    written.map(|_| ()).map_err(refused)
}

/// Pages that a trace reads before it writes them ([PR 4.1] "pre-scanning trace approach").
struct FirstReads {
    page: PageSize,
    /// One bit per logical page: written by the trace so far.
    written: Vec<u64>,
}

impl FirstReads {
    fn new(page: PageSize, pages: u64) -> FirstReads {
        FirstReads {
            page,
            written: vec![0; pages.div_ceil(64) as usize],
        }
    }

    fn map(&mut self, map: &mut PageMap, op: Op, extents: &[Extent]) -> Result<(), DeviceFull> {
        for extent in extents {
            let (first, pages) = page_span(extent, self.page);
            let (from, to) = (first.0, first.0 + u64::from(pages));
            match op {
                Op::Write => self.write(from, to),
                Op::Read => {
                    for lpn in (from..to).map(Lpn) {
                        if !self.is_written(lpn) && !map.is_mapped(lpn) {
                            map.map_trace([lpn])?;
                        }
                    }
                }
                Op::Trim | Op::Flush => {}
            }
        }
        Ok(())
    }

    fn is_written(&self, lpn: Lpn) -> bool {
        self.written[(lpn.0 / 64) as usize] >> (lpn.0 % 64) & 1 == 1
    }

    /// Pages `from..to` are written, word by word.
    fn write(&mut self, mut from: u64, to: u64) {
        while from < to {
            let end = to.min((from / 64 + 1) * 64);
            let bits = u64::MAX >> (64 - (end - from)) << (from % 64);
            self.written[(from / 64) as usize] |= bits;
            from = end;
        }
    }
}
