//! `destage presets`: the devices that come with the program.

use crate::args::PresetsArgs;
use destage_console::failure::Failure;
use destage_console::print::print;
use destage_device::config::{EffectiveDevice, presets};
use destage_report::table;
use destage_types::ByteSize;

/// Lists the presets, or prints a device as TOML.
///
/// # Errors
/// There is no such device, or a value of it is wrong.
pub fn run(args: &PresetsArgs) -> Result<(), Failure> {
    let load = |name: &str| {
        let device = EffectiveDevice::load(name, &args.set, |path| std::fs::File::open(path));
        device.map_err(|error| Failure::usage(error.to_string()))
    };
    if let Some(name) = &args.name {
        return print(&load(name)?.toml_text());
    }
    let header = [
        "preset",
        "raw",
        "page",
        "channels",
        "chips",
        "cache",
        "what it is",
    ];
    let mut table = table::plain(&header, header.len());
    for preset in presets() {
        let device = load(preset.name)?.into_config();
        let g = device.geometry;
        table.add_row([
            preset.name.to_owned(),
            ByteSize(g.raw_bytes()).to_string(),
            ByteSize(g.page.bytes()).to_string(),
            g.channels.to_string(),
            (g.channels * g.chips_per_channel).to_string(),
            device.cache.to_string(),
            preset.about(),
        ]);
    }
    print(&table::lines(&table))
}
