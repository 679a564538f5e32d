//! Preparing a device for a trace: address checks and preconditioning, both without time.

use crate::engine::Engine;
use crate::spec::RunError;
use crate::walk::{page_span, wrap_extents};
use destage_device::config::DeviceConfig;
use destage_device::ftl::PageMap;
use destage_trace::Trace;
use destage_types::{Extent, Lpn, Op, PageSize};

/// A device ready for `trace`: addresses checked, flash preconditioned.
///
/// # Errors
/// The trace addresses more than the device exports and `wrap` is off; preconditioning does not
/// fit.
pub fn prepare(
    config: &DeviceConfig,
    trace: &Trace,
    wrap: bool,
    background: bool,
) -> Result<Engine, RunError> {
    let space = address_space(config);
    if !wrap {
        check_addresses(config, trace, space)?;
    }
    let mut map = PageMap::new(config);
    precondition(&mut map, config, trace, space).map_err(|full| {
        let device = config.name.clone();
        RunError::Precondition {
            device,
            full: Box::new(full),
        }
    })?;
    Ok(Engine::new(config, map, background))
}

/// Sectors the host can address.
pub fn address_space(config: &DeviceConfig) -> u64 {
    config.logical_pages() * u64::from(config.geometry.page.sectors())
}

fn check_addresses(config: &DeviceConfig, trace: &Trace, space: u64) -> Result<(), RunError> {
    for (index, request) in trace.requests.iter().enumerate() {
        if let Some(extent) = request.extents().find(|e| e.end() > space) {
            return Err(RunError::BeyondDevice {
                request: index as u64,
                sector: extent.end() - 1,
                device: config.name.clone(),
                sectors: space,
            });
        }
    }
    Ok(())
}

fn precondition(
    map: &mut PageMap,
    config: &DeviceConfig,
    trace: &Trace,
    space: u64,
) -> Result<(), destage_device::ftl::DeviceFull> {
    map.fill(config.precondition.fill)?;
    if config.precondition.trace {
        let reads = FirstReads::new(trace, config.geometry.page, config.logical_pages());
        reads.map(map, space)?;
    }
    Ok(())
}

/// Pages that a trace reads before it writes them ([PR 4.1] "pre-scanning trace approach").
struct FirstReads<'a> {
    trace: &'a Trace,
    page: PageSize,
    /// One bit per logical page: written by the trace so far.
    written: Vec<u64>,
}

impl<'a> FirstReads<'a> {
    fn new(trace: &'a Trace, page: PageSize, pages: u64) -> FirstReads<'a> {
        FirstReads {
            trace,
            page,
            written: vec![0; pages.div_ceil(64) as usize],
        }
    }

    fn map(mut self, map: &mut PageMap, space: u64) -> Result<(), destage_device::ftl::DeviceFull> {
        let mut extents: Vec<Extent> = Vec::new();
        for request in self.trace.requests.iter() {
            extents.clear();
            extents.extend(request.extents());
            wrap_extents(&mut extents, space);
            for extent in &extents {
                let (first, pages) = page_span(extent, self.page);
                for lpn in (first.0..first.0 + u64::from(pages)).map(Lpn) {
                    self.page(map, request.head.op, lpn)?;
                }
            }
        }
        Ok(())
    }

    fn page(
        &mut self,
        map: &mut PageMap,
        op: Op,
        lpn: Lpn,
    ) -> Result<(), destage_device::ftl::DeviceFull> {
        let (word, bit) = ((lpn.0 / 64) as usize, 1 << (lpn.0 % 64));
        match op {
            Op::Write => self.written[word] |= bit,
            Op::Read if self.written[word] & bit == 0 && !map.is_mapped(lpn) => {
                map.write(lpn)?;
            }
            Op::Read | Op::Trim | Op::Flush => {}
        }
        Ok(())
    }
}
