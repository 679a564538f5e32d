//! How large a modelled volume is, and whether that can work.

use super::HostFsError;
use super::config::LfsConfig;

/// Units of the volume, and blocks that other files take.
pub(super) fn size(config: &LfsConfig, files: u64, own: u64) -> Result<(u64, u64), HostFsError> {
    let (unit, reserve) = (config.unit(), config.reserve);
    let open = if config.logs == 6 { 4 } else { 1 };
    let spare = reserve + open + 1;
    let blocks = config.blocks.unwrap_or_else(|| {
        // What the paper's emulation has, but never less than can be cleaned.
        let usual = (files + files.div_ceil(4)).max(config.least);
        usual.max((own.div_ceil(unit) + spare) * unit)
    });
    let units = blocks.div_ceil(unit);
    let blocks = units * unit;
    if blocks > 1 << 31 {
        return Err(HostFsError::TooLarge { blocks });
    }
    let fill = ((blocks as f64 * config.fill) as u64).saturating_sub(own);
    let needed = own + fill;
    if needed > blocks {
        return Err(HostFsError::TooSmall { blocks, needed });
    }
    let most = units.saturating_sub(spare) * unit;
    if needed > most {
        return Err(HostFsError::TooFull {
            blocks,
            needed,
            most,
            reserve,
        });
    }
    Ok((units, fill))
}
