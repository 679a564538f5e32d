//! The array of a device.

use destage_device::config::{DeviceConfig, Suspend};
use destage_device::nand::{ArrayConfig, Suspension, Timing};
use destage_types::{Nanos, Picos, QueuePer};

fn timing(config: &DeviceConfig) -> Timing {
    let t = |ps: Picos| ps.times(1);
    Timing {
        t_cmd_read: t(config.t_cmd_read),
        t_cmd_program: t(config.t_cmd_program),
        t_cmd_erase: t(config.t_cmd_erase),
        t_read: config.t_read.mean(),
        t_program: config.t_program.mean(),
        t_erase: t(config.t_erase),
        t_ready: t(config.t_ready),
    }
}

/// The array of a device.
pub(crate) fn array_config(config: &DeviceConfig, queue_per: QueuePer) -> ArrayConfig {
    ArrayConfig {
        queue: config.queue,
        suspension: suspension(config),
        ..ArrayConfig::new(&config.geometry, queue_per, timing(config))
    }
}

fn suspension(config: &DeviceConfig) -> Option<Suspension> {
    (config.suspend != Suspend::Off).then(|| Suspension {
        programs: config.suspend == Suspend::ProgramErase,
        pause: config.t_suspend.map_or(Nanos::ZERO, |time| time.times(1)),
        resume: config.t_resume.times(1),
    })
}
