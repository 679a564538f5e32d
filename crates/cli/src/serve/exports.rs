//! One export: its device, its data, its thread.

use crate::args::{DataArg, ExportArgs, ModelArgs};
use crate::serve::config::ExportSetup;
use crate::serve::memory::{DeviceMemory, ServerMemory};
use crate::serve::persistence::{self, cache_kind};
use crate::serve::recording::TraceRecording;
use destage_console::failure::Failure;
use destage_console::file::refuse_being_written;
use destage_console::identity::Output;
use destage_experiment::failures::run_failure;
use destage_experiment::memory::mib;
use destage_experiment::options::groups::{CacheArgs, HitArgs};
use destage_experiment::options::{CacheSizeArg, RunArgs};
use destage_experiment::run::without_trace;
use destage_live::device::{DataDevice, RequestWatcher, SimulatedSsd};
use destage_live::protocol::BlockSizes;
use destage_live::protocol::negotiation::ExportInfo;
use destage_live::server::{Export, ExportHandle, Pace};
use destage_live::shadow::Shadow;
use destage_live::store::{AddressPattern, FileMedium, Medium, MemoryBudget, MemoryMedium, Store};
use destage_scheme::Role;
use destage_sim::RunSpec;
use std::sync::{Arc, Mutex};

/// An export that is ready to start.
pub struct PreparedExport {
    args: ExportArgs,
    spec: RunSpec,
    ssd: SimulatedSsd,
    medium: Box<dyn Medium>,
    recording: Option<TraceRecording>,
    shadows: Vec<SimulatedSsd>,
    memory: Arc<MemoryBudget>,
}

/// An export that runs, for those who ask or tell it something.
pub struct ServedExport {
    pub handle: ExportHandle,
    /// Its present options.
    pub model: Mutex<ModelArgs>,
    /// Bytes that clients can address.
    pub bytes: u64,
    /// Devices that see the same requests.
    pub shadows: Vec<Shadow>,
    args: ExportArgs,
    memory: Arc<MemoryBudget>,
}

impl ServedExport {
    /// Sets aside what the export needs beside what it has, to become what `new` says instead of `old`; gives back
    /// what it does not need any more.
    ///
    /// # Errors
    /// There is not as much memory.
    pub fn change_memory(&self, old: &RunSpec, new: &RunSpec) -> Result<DeviceMemory, String> {
        let [old, new] = [old, new].map(|spec| DeviceMemory::of_export(spec, &self.args));
        let more = new.bytes().saturating_sub(old.bytes());
        if !self.memory.hold(more) {
            return Err(format!(
                "it may take {} more of memory, but of --memory only {} are left",
                mib(more),
                mib(self.memory.left())
            ));
        }
        self.memory.let_go(old.bytes().saturating_sub(new.bytes()));
        Ok(new)
    }
}

/// The options as a run without a trace, and warnings.
///
/// # Errors
/// All faults of the options.
pub fn spec_of(model: &ModelArgs) -> Result<(RunSpec, Vec<String>), Failure> {
    let run = RunArgs {
        device: Some(model.device()),
        set: model.set.clone(),
        caches: CacheArgs {
            scheme: Vec::from_iter(model.scheme.clone()),
            cache: Vec::from_iter(model.cache.map(CacheSizeArg::Bytes)),
        },
        hits: HitArgs {
            read_alloc: model.read_alloc,
            ..HitArgs::default()
        },
        random: model.random.clone(),
        ..RunArgs::default()
    };
    let (spec, mut warnings) = without_trace(&run)?;
    if spec.expr.scheme().role == Role::Mapping {
        warnings.push(format!(
            "{}: a block device does not learn where the old version of a file block was, so `{}` acts as its inner \
             scheme (a capture of a file system has the old addresses: `destage trace import-ftrace`)",
            spec.expr,
            spec.expr.scheme().name
        ));
    }
    Ok((spec, warnings))
}

impl PreparedExport {
    /// Makes the device of `spec`, and opens the files that `args` name.
    ///
    /// # Errors
    /// The device cannot be served, or a file cannot be had.
    pub fn new(
        plan: ExportSetup,
        spec: RunSpec,
        shadows: &[RunSpec],
        memory: &ServerMemory,
    ) -> Result<PreparedExport, Failure> {
        let args = plan.args;
        persistence::check(args.cache_kind, &spec)?;
        let name = format!("export `{}`", args.name());
        memory.hold(&name, DeviceMemory::of_export(&spec, &args))?;
        for (i, shadow) in shadows.iter().enumerate() {
            let name = format!("{name}: shadow {}", i + 1);
            memory.hold(&name, DeviceMemory::of(shadow, false))?;
        }
        let ssd = SimulatedSsd::new(&spec, destage_console::VERSION).map_err(run_failure)?;
        let shadows = shadows
            .iter()
            .map(|spec| SimulatedSsd::new(spec, destage_console::VERSION));
        let shadows = shadows
            .collect::<Result<Vec<_>, _>>()
            .map_err(run_failure)?;
        if let Some(i) = shadows.iter().position(|s| s.capacity() < ssd.capacity()) {
            return Err(Failure::usage(format!(
                "export `{}`: shadow {} has {} bytes, but the export has {}: a shadow needs as many",
                args.name(),
                i + 1,
                shadows[i].capacity(),
                ssd.capacity()
            )));
        }
        let medium = medium(&args, ssd.capacity(), &memory.budget)?;
        let record = args.record.as_deref();
        let recording = record.map(TraceRecording::create).transpose()?;
        Ok(PreparedExport {
            args,
            spec,
            ssd,
            medium,
            recording,
            shadows,
            memory: Arc::clone(&memory.budget),
        })
    }

    /// Starts it, and gives the recording that is complete when it has ended.
    ///
    /// # Errors
    /// No thread can be had.
    pub fn start(self) -> Result<(Export, ServedExport, Option<TraceRecording>), Failure> {
        let PreparedExport {
            args,
            spec,
            ssd,
            medium,
            recording,
            shadows,
            memory,
        } = self;
        let failed = |error| Failure::Run(format!("cannot start: {error}"));
        let shadows: Result<Vec<Shadow>, _> = shadows.into_iter().map(Shadow::start).collect();
        let shadows = shadows.map_err(failed)?;
        let watching = shadows.iter().cloned();
        let mut watchers: Vec<Box<dyn RequestWatcher>> =
            watching.map(|shadow| Box::new(shadow) as _).collect();
        watchers.extend(recording.as_ref().map(TraceRecording::watcher));
        let (kind, page) = (cache_kind(args.cache_kind, &spec), page_bytes(&spec));
        let bytes = ssd.capacity();
        let volatile = DeviceMemory::of_export(&spec, &args).volatile;
        let store = Store::new(medium, kind, page).with_volatile_limit(volatile);
        let export = Export::start(
            info(&args, &spec, bytes),
            move || DataDevice::new(ssd, store, watchers),
            pace(&args),
            args.power_cut_after,
        );
        let export = export.map_err(failed)?;
        let served = ServedExport {
            handle: export.handle(),
            model: Mutex::new(args.model.clone()),
            bytes,
            shadows,
            args,
            memory,
        };
        Ok((export, served, recording))
    }
}

/// The files that an export uses, each with its option.
pub fn files(args: &ExportArgs) -> impl Iterator<Item = Output<'_>> {
    let backing = args.backing.as_deref();
    let backing = backing.map(|path| Output::of("--backing", path));
    let record = args.record.as_deref();
    let record = record.map(|path| Output::of("--record", path));
    backing.into_iter().chain(record)
}

fn pace(args: &ExportArgs) -> Pace {
    match args.no_delay {
        true => Pace::Unpaced,
        false => Pace::Wall {
            scale: args.time_scale().scale.ratio(),
        },
    }
}

/// Where data are kept that outlive the cache.
///
/// # Errors
/// The file cannot be had.
fn medium(
    args: &ExportArgs,
    bytes: u64,
    memory: &Arc<MemoryBudget>,
) -> Result<Box<dyn Medium>, Failure> {
    if let Some(path) = &args.backing {
        let file = refuse_being_written(path)
            .and_then(|()| FileMedium::open(path, bytes))
            .map_err(|error| Failure::usage(format!("--backing {}: {error}", path.display())))?;
        return Ok(Box::new(file));
    }
    Ok(match args.data() {
        DataArg::Memory => Box::new(MemoryMedium::new(Arc::clone(memory))),
        DataArg::None => Box::new(AddressPattern),
    })
}

fn info(args: &ExportArgs, spec: &RunSpec, bytes: u64) -> ExportInfo {
    let device = spec.device.as_ref();
    let device = device.map_or("", |device| device.name.as_str());
    ExportInfo {
        name: args.name(),
        description: format!("{device}, {} with {}", spec.expr, spec.cache),
        bytes,
        read_only: args.read_only,
        blocks: BlockSizes::of_page(page_bytes(spec)),
    }
}

/// Bytes of a page; 64 KiB at most.
fn page_bytes(spec: &RunSpec) -> u32 {
    spec.page.bytes() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_device::config::preset_names;

    #[test]
    fn exports_with_a_bounded_buffer_drain_it_by_default() {
        let mut bounded = 0;
        for name in preset_names() {
            let model = |scheme: Option<&str>| ModelArgs {
                device: Some(name.to_owned()),
                scheme: scheme.map(str::to_owned),
                ..ModelArgs::default()
            };
            let (spec, warnings) = spec_of(&model(None)).unwrap();
            let device = spec.device.as_ref().unwrap();
            assert_eq!(spec.expr.drains(), device.is_bounded(), "{name}");
            let warns = |texts: &[String]| texts.iter().any(|text| text.contains("bounded buffer"));
            assert!(!warns(&warnings), "{name}: {warnings:?}");
            let (_, warnings) = spec_of(&model(Some("lru"))).unwrap();
            assert_eq!(warns(&warnings), device.is_bounded(), "{name}");
            bounded += u32::from(device.is_bounded());
        }
        assert!(bounded >= 4, "only {bounded}");
    }
}
