//! A pattern of writes on a simulated drive that was just filled.

use super::CellSimulator;
use crate::FitError;
use crate::measurements::{PARTS, PatternRun, SMALL_WRITE};
use destage_device::config::{DeviceConfig, Overwrite, Precondition, Ratio};
use destage_sim::waf::{PatternWriter, WritePattern};
use destage_trace::Trace;
use destage_types::rng::SplitMix64;
use destage_types::{HostRequest, Nanos, Op, RequestBatch, SECTOR_BYTES};
use std::num::NonZeroU32;

/// Writes outstanding, as in the published measurements: four threads with 128 each.
const DEPTH: NonZeroU32 = NonZeroU32::new(512).unwrap();

impl CellSimulator {
    /// Writes a second in the first tenths of `run`, on `device` with the share `fill` of its space filled in order. Tenths
    /// that end behind `most` times what is filled are left out.
    ///
    /// # Errors
    /// The device has no room for it.
    pub fn pattern_rates(
        &self,
        device: &DeviceConfig,
        run: &PatternRun,
        fill: f64,
        most: f64,
    ) -> Result<Vec<f64>, FitError> {
        let unit = device.mapping().bytes();
        let fill = Ratio::from_f64(libm::round(fill * 1e6) / 1e6).unwrap_or(Ratio::ONE);
        let pages = libm::floor(device.logical_pages() as f64 * fill.as_f64()) as u32;
        let device = DeviceConfig {
            precondition: Precondition {
                trace: true,
                fill,
                overwrite: Overwrite::Times(Ratio::ZERO),
            },
            ..device.clone()
        };
        let tenth = run.volume * f64::from(pages) / PARTS as f64;
        let tenths = (most / run.volume * PARTS as f64).clamp(1.0, PARTS as f64) as u64;
        let pattern = WritePattern {
            at: run.pattern.clone(),
            zipf_pages: Some(run.span / SMALL_WRITE),
            sequential: 0.0,
        };
        let mut writer = PatternWriter::new(&pattern, pages, &mut SplitMix64::new(self.seed));
        let (sectors, of_unit) = (SMALL_WRITE / SECTOR_BYTES, unit / SECTOR_BYTES);
        let mut batch = RequestBatch::new();
        for _ in 0..(tenth * tenths as f64) as u64 {
            let first = u64::from(writer.next_page()) * of_unit;
            batch.push(HostRequest::new(Nanos(0), Op::Write, first, sectors as u32));
        }
        let mut completed =
            self.completions(&device, &Trace::generated("pattern", batch), DEPTH)?;
        completed.sort_unstable();
        let ends: Vec<usize> = (0..=tenths)
            .map(|at| (at as f64 * tenth) as usize)
            .collect();
        let time = |end: usize| end.checked_sub(1).map_or(0, |last| completed[last]);
        let rate = |ends: &[usize]| {
            let ns = time(ends[1]) - time(ends[0]);
            (ends[1] - ends[0]) as f64 * 1e9 / ns.max(1) as f64
        };
        Ok(ends.windows(2).map(rate).collect())
    }
}
