//! Whether the cache of a device keeps its content without power: the device and `--cache-kind` may both say.

use destage_console::failure::Failure;
use destage_device::config::CachePersistence;
use destage_live::store::CacheKind;
use destage_sim::RunSpec;

/// The persistence that the device declares.
fn of_device(spec: &RunSpec) -> Option<CacheKind> {
    let said = spec.device.as_ref()?.cache_persistence?;
    Some(match said {
        CachePersistence::Volatile => CacheKind::Dram,
        CachePersistence::Nvm => CacheKind::Nvm,
    })
}

/// The kind of the cache of `spec`, where `given` is `--cache-kind`.
pub fn cache_kind(given: Option<CacheKind>, spec: &RunSpec) -> CacheKind {
    given.or(of_device(spec)).unwrap_or(CacheKind::Dram)
}

/// Refuses a device that says something else than `--cache-kind`.
///
/// # Errors
/// It does.
pub fn check(given: Option<CacheKind>, spec: &RunSpec) -> Result<(), Failure> {
    let (Some(given), Some(said)) = (given, of_device(spec)) else {
        return Ok(());
    };
    if given == said {
        return Ok(());
    }
    let word = |kind: CacheKind, dram: &'static str| match kind {
        CacheKind::Dram => dram,
        CacheKind::Nvm => "nvm",
    };
    let device = spec.device.as_ref().map_or("", |device| &device.name);
    Err(Failure::usage(format!(
        "--cache-kind {} contradicts cache_persistence = {} of device {device}: leave --cache-kind out, or override the \
         key by --set cache_persistence={}",
        word(given, "dram"),
        word(said, "volatile"),
        word(given, "volatile"),
    )))
}
