//! Reading traces: checks before the first run, progress, and warnings about what was read.

use crate::failures::explained;
use crate::failures::trace_failure;
use crate::memory::MemoryLimit;
use crate::options::{Addresses, HostFsArg};
use crate::run::clock;
use crate::run::plan::Plan;
use destage_console::failure::Failure;
use destage_console::progress::Progress;
use destage_console::terminal::Warnings;
use destage_fsmodel::host_fs::{self, HostFs, HostFsError};
use destage_scheme::{Expr, Role};
use destage_sim::precondition::address_space;
use destage_sim::record::ConfigEntry;
use destage_sim::{RunSpec, Touched};
use destage_trace::{
    AddressFit, AddressPacking, LoadOptions, Pairs, Raise, Source, Stored, TraceError, TraceMeta,
    Workload, is_demo, load_bounded, open,
};
use destage_types::{ByteSize, PageSize, SECTOR_BYTES};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Opens every file and tells its format, so that a wrong name or a wrong file ends the command
/// before hours of runs instead of after. Pipes and standard input cannot be read twice and are
/// left alone.
///
/// # Errors
/// All faults.
pub fn preflight(traces: &[PathBuf], options: &LoadOptions) -> Result<(), Failure> {
    let options = LoadOptions {
        hash: false,
        ..options.clone()
    };
    let mut faults = Vec::new();
    for path in traces {
        let seekable = path.metadata().is_ok_and(|m| m.is_file());
        let missing = path != Path::new("-") && !is_demo(path) && !path.exists();
        if seekable || missing {
            let opened = open(Source::from_arg(path), &options);
            faults.extend(opened.err().map(|e| explained(&e)));
        }
    }
    Failure::unless_none(faults)
}

/// The name of each trace: its file name without extensions, with as many folders in front as tell
/// it from the others.
pub fn names(traces: &[PathBuf]) -> Vec<String> {
    let deepest = traces.iter().map(|t| t.components().count()).max();
    let all = |folders: usize| -> Vec<String> { traces.iter().map(|t| name(t, folders)).collect() };
    let mut names = all(0);
    for folders in 1..=deepest.unwrap_or(0) {
        let longer = all(folders);
        names = unless_unique(names, longer.into_iter());
    }
    // Files of one folder that differ in their extensions.
    let whole = traces.iter().map(|path| path.display().to_string());
    unless_unique(names, whole)
}

/// The names, but the longer one where several are alike.
fn unless_unique(names: Vec<String>, longer: impl Iterator<Item = String>) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &names {
        *counts.entry(name).or_default() += 1;
    }
    let each = names.iter().zip(longer);
    let chosen = each.map(|(name, longer)| match counts[name.as_str()] {
        1 => name.clone(),
        _ => longer,
    });
    chosen.collect()
}

/// The name of a trace with that many of its folders.
fn name(path: &Path, folders: usize) -> String {
    let stem = Source::from_arg(path).trace_name();
    let parents = path
        .ancestors()
        .skip(1)
        .filter_map(Path::file_name)
        .take(folders);
    parents.fold(stem, |name, folder| {
        format!("{}/{name}", folder.to_string_lossy())
    })
}

/// Reads a whole trace, into at most `memory` bytes or into a temporary file, and warns of what it
/// had to change or to leave out.
///
/// # Errors
/// Those of reading.
pub fn load(
    path: &Path,
    options: &LoadOptions,
    memory: u64,
    warnings: &mut Warnings,
) -> Result<Stored, Failure> {
    let stored = read(path, options, memory).map_err(trace_failure)?;
    trace_warnings(stored.meta(), warnings);
    if let Stored::Spooled { meta, spool } = &stored {
        warnings.warn(format!(
            "{}: the requests need more than {} of memory (--trace-memory) and are streamed from a \
             temporary file of {} MiB",
            meta.name,
            ByteSize(memory),
            spool.bytes().div_ceil(1 << 20)
        ));
    }
    Ok(stored)
}

/// Does the trace have addresses beyond the device of the runs that `--addresses fit` must move?
///
/// # Errors
/// The trace cannot be read again.
fn needs_fit(plan: &Plan, trace: Workload<'_>) -> Result<bool, TraceError> {
    let device = plan.runs.first().and_then(|run| run.device.as_ref());
    match device.filter(|_| plan.addresses == Addresses::Fit) {
        None => Ok(false),
        Some(device) => Ok(trace.end_sector()? > address_space(device)),
    }
}

/// (FP-2) Moves the addresses of a trace together if it goes beyond the device of the runs of `plan`: in regions as
/// large as the device has room for. This is the stream of requests that the device gets, that of a file
/// system if there is one.
///
/// A trace that touches more than the device exports wraps.
///
/// # Errors
/// The list of what the trace touches is larger than the memory.
pub fn fit(trace: &mut Stored, plan: &Plan, warnings: &mut Warnings) -> Result<(), Failure> {
    let device = plan.runs.first().and_then(|run| run.device.as_ref());
    let Some(device) = device.filter(|_| plan.addresses == Addresses::Fit) else {
        return Ok(());
    };
    let (space, limit) = (address_space(device), plan.machine.memory);
    let (end, longest) = extents(trace.workload()).map_err(trace_failure)?;
    if end <= space {
        return Ok(());
    }
    let page = u64::from(device.mapping().sectors());
    let smallest = page.max(AddressPacking::SMALLEST);
    let packing = match longest <= space {
        true => pack(trace, smallest, space, limit)?,
        false => None,
    };
    let (name, exported) = (&trace.meta().name, whole_mib(space));
    let Some(packing) = packing else {
        warnings.warn(format!(
            "{name}: even with its regions of {} moved together, the trace touches more than the \
             {exported} that device {} exports; addresses are taken modulo its size, so that different \
             pages of the trace become one. A larger device keeps them apart; `--addresses refuse` stops",
            region_size(smallest),
            device.name,
        ));
        trace.meta_mut().fitted = Some(AddressFit::Wrapped);
        return Ok(());
    };
    let smaller = match packing.part_sectors() {
        AddressPacking::LARGEST => "",
        _ => "; larger regions, which keep more of the trace as it was, take more than the device",
    };
    warnings.warn(format!(
        "{name}: the trace goes up to {} MiB, device {} exports {exported}; the touched regions of {} \
         were moved together and end at {} (--addresses fit){smaller}",
        end.div_ceil(AddressPacking::LARGEST),
        device.name,
        region_size(packing.part_sectors()),
        whole_mib(packing.end_sector())
    ));
    Ok(())
}

/// The same of a trace that others may have, too: it is copied if it must be moved.
///
/// # Errors
/// As [`fit`].
pub fn fit_shared(
    trace: &mut Cow<'_, Stored>,
    plan: &Plan,
    warnings: &mut Warnings,
) -> Result<(), Failure> {
    if matches!(trace, Cow::Borrowed(_))
        && !needs_fit(plan, trace.workload()).map_err(trace_failure)?
    {
        return Ok(());
    }
    fit(trace.to_mut(), plan, warnings)
}

/// End of the highest extent, and length of the longest one.
fn extents(workload: Workload<'_>) -> Result<(u64, u64), TraceError> {
    let (mut end, mut longest) = (0, 0);
    workload.try_each(|_, request| {
        for extent in request.extents() {
            end = extent.end().max(end);
            longest = u64::from(extent.sectors).max(longest);
        }
        Ok::<(), TraceError>(())
    })?;
    Ok((end, longest))
}

/// Moves a trace together in the largest parts that fit the device.
///
/// # Errors
/// The list of the parts is larger than the memory.
fn pack(
    trace: &mut Stored,
    smallest: u64,
    space: u64,
    limit: MemoryLimit,
) -> Result<Option<AddressPacking>, Failure> {
    let touched = Touched::by(trace.workload(), PageSize::KIB4).map_err(trace_failure)?;
    let mut part = AddressPacking::LARGEST;
    while part >= smallest {
        let needs = trace.workload().memory() + touched.of_packing(part, space);
        if needs > limit.bytes() {
            let name = &trace.meta().name;
            let what = format!("{name}: moving the trace together (--addresses fit)");
            return Err(limit.refused(&what, needs));
        }
        let packing = trace.pack(part, space).map_err(trace_failure)?;
        if packing.is_some() {
            return Ok(packing);
        }
        part /= 2;
    }
    Ok(None)
}

fn region_size(sectors: u64) -> String {
    match sectors {
        AddressPacking::LARGEST => "1 MiB".to_owned(),
        _ => format!("{} KiB", sectors / 2),
    }
}

/// Whole MiB, or exactly what there is if it is less than one.
fn whole_mib(sectors: u64) -> String {
    let bytes = sectors * SECTOR_BYTES;
    match bytes >> 20 {
        0 => ByteSize(bytes).to_string(),
        mib => format!("{mib} MiB"),
    }
}

/// Reads a whole trace, into at most `memory` bytes or into a temporary file, with a progress bar.
///
/// # Errors
/// Those of reading.
pub fn read(path: &Path, options: &LoadOptions, memory: u64) -> Result<Stored, TraceError> {
    let mut progress = None;
    let label = format!("reading {}", path.display());
    load_bounded(Source::from_arg(path), options, memory, &mut |reader| {
        let (read, total) = reader.progress();
        let progress = progress.get_or_insert_with(|| Progress::bytes(&label, total));
        progress.set(read);
    })
}

/// Warns of what somebody who uses the trace should know.
pub fn trace_warnings(meta: &TraceMeta, warnings: &mut Warnings) {
    warnings.extend(about(meta));
}

fn about(meta: &TraceMeta) -> Vec<String> {
    let name = &meta.name;
    let mut warnings = Vec::new();
    let doubt = |doubt: &String| format!("{name}: {doubt}");
    warnings.extend(meta.format_doubt.as_ref().map(doubt));
    if meta.skipped_lines > 0 {
        let mut text = format!("{name}: skipped {} bad lines:", meta.skipped_lines);
        for sample in &meta.skipped_samples {
            text += &format!("\n  {sample}");
        }
        if meta.skipped_lines > meta.skipped_samples.len() as u64 {
            text += "\n  ...";
        }
        warnings.push(text);
    }
    if meta.restarts > 0 {
        let (n, first) = (meta.restarts, meta.first_restart);
        let what = match meta.continued {
            true => "and goes on from there, as --restarts continue says",
            false => {
                "as where files are joined or a counter wraps; --restarts continue lets it go on, --restarts refuse stops there"
            }
        };
        warnings.push(format!(
            "{name}: the clock of the trace starts again at request {first} ({n} in all), {what}"
        ));
    }
    if meta.arrival_corrections > 0 {
        let Raise { request, raised } = meta.most_raised;
        // A clock that jitters raises a few everywhere; a wrong time raises all behind it.
        let by_one = match raised > 1 && 2 * raised > meta.arrival_corrections {
            true => format!(", {raised} of them that of request {request} of the file"),
            false => String::new(),
        };
        let newest = match 2 * meta.arrival_corrections > meta.requests {
            true => "; a file that begins with the newest has to be sorted by time",
            false => "",
        };
        warnings.push(format!(
            "{name}: {} of {} requests arrive earlier than the request before them and were given its \
             time{by_one}{newest}",
            meta.arrival_corrections, meta.requests
        ));
    }
    if meta.unaligned_requests > 0 {
        warnings.push(format!(
            "{name}: {} of {} requests were not whole sectors of 512 B and were rounded outward",
            meta.unaligned_requests, meta.requests
        ));
    }
    warnings.extend(meta.notes.iter().map(|note| format!("{name}: {note}")));
    warnings
}

/// A warning for runs of a mapping layer over a trace whose writes name no old copy elsewhere: they
/// remap nothing.
///
/// # Errors
/// The trace cannot be read again.
pub fn pairs_warning(
    workload: Workload<'_>,
    runs: &[RunSpec],
) -> Result<Option<String>, TraceError> {
    let renames = |expr: &Expr| {
        expr.chain()
            .any(|layer| layer.scheme().role == Role::Mapping)
    };
    let Some(run) = runs.iter().find(|run| renames(&run.expr)) else {
        return Ok(None);
    };
    let (name, expr) = (&workload.meta.name, &run.expr);
    Ok(match Pairs::of(workload)? {
        Pairs { moved: 1.., .. }
        | Pairs {
            unknown: 0,
            in_place: 0,
            ..
        } => None,
        Pairs { in_place: 1.., .. } => Some(format!(
            "{name}: every old address is that of the write itself: the file system updates in \
             place, and {expr} has nothing to remap; F2FS updates out of place with the mount \
             option mode=lfs"
        )),
        _ => Some(format!(
            "{name}: no write names an old address, so {expr} remaps nothing and equals its inner \
             scheme; import a capture that has them (destage trace import-ftrace), or let a model \
             of a log-structured file system make them (--host-fs lfs)"
        )),
    })
}

/// Bytes per block of a model of a file system: its number, its place and its owner, and once more for the
/// blocks of one request with their old places.
const PER_MODEL_BLOCK: u64 = 64;

/// The trace as a file system of `plan` sends it to the device.
///
/// # Errors
/// The file system cannot be modelled over the trace, or nothing of the kinds chosen is left.
pub fn model_host_fs(trace: Workload<'_>, fs: &HostFsArg, plan: &Plan) -> Result<Stored, Failure> {
    let (name, limit) = (&trace.meta.name, plan.machine.memory);
    if let HostFs::Lfs(_) = &fs.fs {
        let needs = trace.memory()
            + Touched::by(trace, PageSize::KIB4)
                .map_err(trace_failure)?
                .pages
                * PER_MODEL_BLOCK;
        if needs > limit.bytes() {
            let what = format!("{name}: the model --host-fs {}", fs.text);
            return Err(limit.refused(&what, needs));
        }
    }
    let made = host_fs::apply_bounded(trace, &fs.fs, plan.tags, plan.machine.trace_memory);
    let mut modelled = made.map_err(|error| {
        let text = format!("{name}: --host-fs {}: {error}", fs.text);
        match error {
            HostFsError::Full { .. }
            | HostFsError::Read(TraceError::Spool { .. } | TraceError::Reread(_)) => {
                Failure::Run(text)
            }
            _ => Failure::usage(text),
        }
    })?;
    modelled.meta_mut().name = format!("{name}+{}", fs.text);
    if let Some(tags) = plan.tags.filter(|_| modelled.workload().is_empty()) {
        return Err(Failure::usage(format!(
            "{name}: --host-fs {}: no request is of the kinds {tags}",
            fs.text
        )));
    }
    Ok(modelled)
}

/// The runs with a record of the regions that `--addresses fit` moved, if it moved any.
pub fn with_fit_recorded<'a>(meta: &TraceMeta, runs: Cow<'a, [RunSpec]>) -> Cow<'a, [RunSpec]> {
    let Some(fitted) = meta.fitted else {
        return runs;
    };
    let (key, value, origin) = match fitted {
        AddressFit::Regions(sectors) => (
            "address_regions",
            ByteSize(sectors * SECTOR_BYTES).to_string(),
            "the trace, which was moved together",
        ),
        AddressFit::Wrapped => (
            "addresses_wrapped",
            "true".to_owned(),
            "the trace, which touches more than the device exports",
        ),
    };
    let mut runs = runs.into_owned();
    for run in runs.iter_mut().filter(|run| run.device.is_some()) {
        run.wrap |= fitted == AddressFit::Wrapped;
        run.settings.push(ConfigEntry {
            key: key.to_owned(),
            value: value.clone(),
            origin: origin.to_owned(),
        });
    }
    Cow::Owned(runs)
}

/// The run with a record of its file system, which `origin` asks for.
pub fn with_host_fs(run: &RunSpec, fs: &HostFsArg, origin: &str) -> RunSpec {
    let mut run = run.clone();
    run.settings.push(ConfigEntry {
        key: "host_fs".to_owned(),
        value: fs.fs.to_string(),
        origin: origin.to_owned(),
    });
    run
}

/// Warns if a log-structured volume is so small against a cache that the log comes round to
/// addresses that are still cached: they hit without `cac`, which a large volume does not show.
///
/// # Errors
/// The requests cannot be read again.
pub fn reuse_warning(
    trace: Workload<'_>,
    fs: &HostFsArg,
    runs: &[RunSpec],
) -> Result<Option<String>, TraceError> {
    let HostFs::Lfs(config) = &fs.fs else {
        return Ok(None);
    };
    let cache = runs.iter().map(|run| run.cache.0).max().unwrap_or(0);
    let volume = trace.end_sector()? * 512;
    // A volume of at least some size comes round later than its highest address tells.
    let small = config.blocks.is_none() && config.least == 0;
    Ok((small && volume < 8 * cache).then(|| {
        format!(
            "{}: the volume of the model ends at {} KiB, but the cache has {} KiB: addresses that \
             the log reuses may still be cached; set volume=SIZE",
            trace.meta.name,
            volume >> 10,
            cache >> 10
        )
    }))
}

/// Makes sure that the requests are enough for the runs over them, and warns of what the
/// runs cannot show.
///
/// # Errors
/// Their warm-up leaves nothing, or the requests cannot be read again.
pub fn check_workload(
    workload: Workload<'_>,
    runs: &[RunSpec],
    warnings: &mut Warnings,
) -> Result<(), Failure> {
    let name = &workload.meta.name;
    for run in runs {
        if let Err(error) = run.warmup.resolve(workload.len()) {
            return Err(Failure::usage(format!("{name}: {error} (--warmup)")));
        }
    }
    warnings.extend(pairs_warning(workload, runs).map_err(trace_failure)?);
    warnings.extend(clock::warnings(workload, runs).map_err(trace_failure)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_have_names_of_their_own() {
        let named = |paths: &[&str]| names(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(named(&["x/a.csv.zst", "x/b.csv"]), ["a", "b"]);
        assert_eq!(named(&["x/a.csv", "y/a.csv", "b.csv"]), ["x/a", "y/a", "b"]);
        assert_eq!(named(&["z/x/a.csv", "y/x/a.csv"]), ["z/x/a", "y/x/a"]);
        assert_eq!(named(&["a.csv", "x/a.csv"]), ["a", "x/a"]);
        assert_eq!(named(&["x/a.csv", "x/a.msr"]), ["x/a.csv", "x/a.msr"]);
        assert_eq!(named(&["-"]), ["stdin"]);
    }
}
