//! Cache sizes that are shares of the footprint of a trace, which is known once the trace is read.

use crate::failures::run_failure_at;
use crate::memory::MemoryLimit;
use crate::run::execute::StreamRuns;
use crate::run::meter::Clocks;
use crate::run::plan::refused;
use crate::run::refused::SchemeWarnings;
use crate::run::threads::run_name;
use destage_console::failure::{Failure, RefusedRun};
use destage_console::terminal::Warnings;
use destage_sim::RunSpec;
use destage_sim::curve::footprint;
use destage_trace::Workload;
use destage_types::ByteSize;
use std::borrow::Cow;

/// Runs with their sizes.
pub struct SizedRuns<'a> {
    /// Those whose size suits them, in their order.
    pub runs: Cow<'a, [RunSpec]>,
    /// The others.
    pub refused: Vec<RefusedRun>,
}

/// (FP-1) The runs over `workload` with the sizes that their shares come to: whole pages, rounded
/// down, and one at least. The footprint is that of all reads and writes, the warm-up included, at the
/// addresses of the trace.
///
/// # Errors
/// No size suits its run, or the trace cannot be read.
pub fn sized<'a>(
    workload: Workload<'_>,
    of: &StreamRuns<'a>,
    limit: MemoryLimit,
    warnings: &mut Warnings,
) -> Result<SizedRuns<'a>, Failure> {
    let (runs, shares) = (of.specs, of.shares);
    let Some(first) = runs.first().filter(|_| shares.iter().any(Option::is_some)) else {
        return Ok(SizedRuns {
            runs: Cow::Borrowed(runs),
            refused: Vec::new(),
        });
    };
    let name = &workload.meta.name;
    let meter = Clocks::new(limit);
    let pages = footprint(workload, first.page, &meter);
    let pages = pages.map_err(|error| run_failure_at(name, error))?;
    let (mut sized, mut faults) = (Vec::with_capacity(runs.len()), Vec::new());
    let mut said = SchemeWarnings::default();
    for (number, (run, share)) in runs.iter().zip(shares).enumerate() {
        let mut run = run.clone();
        let Some(share) = share else {
            sized.push(run);
            continue;
        };
        run.cache = ByteSize(share.of(pages).saturating_mul(run.page.bytes()));
        match run.check() {
            Ok(found) => {
                said.add(&run, &found);
                sized.push(run);
            }
            Err(error) => faults.push(RefusedRun {
                run: number,
                failure: Failure::usage(format!(
                    "{name}, {}: --cache {share} of {pages} pages: {}",
                    run_name(&run),
                    refused(&run, &error)
                )),
                of_machine: false,
            }),
        }
    }
    warnings.extend(said.lines());
    if sized.is_empty() {
        let faults = faults.iter().map(|refused| refused.failure.text());
        return Err(Failure::Usage(faults.collect()));
    }
    Ok(SizedRuns {
        runs: Cow::Owned(sized),
        refused: faults,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::CacheSizeArg;
    use destage_scheme::Expr;
    use destage_trace::Trace;
    use destage_types::{HostRequest, Nanos, Op, RequestBatch};

    #[test]
    fn fp_1_a_share_is_of_the_pages_that_reads_and_writes_touch() {
        let mut batch = RequestBatch::new();
        // Two pages each: 0 and 1, 5 and 6; a TRIM touches none.
        let requests = [(Op::Write, 0), (Op::Read, 5), (Op::Write, 0), (Op::Trim, 9)];
        for (at, (op, page)) in requests.into_iter().enumerate() {
            batch.push(HostRequest::new(Nanos(at as u64), op, page * 8, 16));
        }
        let trace = Trace::generated("test", batch);
        let shares = ["0.5", "0.1", "1.0"].map(|text| match text.parse() {
            Ok(CacheSizeArg::Share(share)) => Some(share),
            other => panic!("{text} is a share, not {other:?}"),
        });
        let run = RunSpec::cache_only(Expr::parse("lru").unwrap(), ByteSize(1 << 20));
        let runs = [run.clone(), run.clone(), run];
        let limit = MemoryLimit::new(None);
        let of = StreamRuns {
            specs: &runs,
            shares: &shares,
            host_fs: None,
            keys: None,
            several: true,
        };
        let sized = sized((&trace).into(), &of, limit, &mut Warnings::unsaid()).unwrap();
        let pages: Vec<u64> = sized.runs.iter().map(|run| run.cache.0 / 4096).collect();
        assert_eq!(pages, [2, 1, 4]);
    }
}
