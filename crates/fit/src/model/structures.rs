//! Choices of a device that no number describes. Each is searched by itself, and the best goes on.

/// Keys of a device with fixed words, and the parameters that go with them.
#[derive(Debug)]
pub struct Structure {
    /// What tables call it.
    pub name: &'static str,
    /// What it means for a drive.
    pub meaning: &'static str,
    /// `KEY=VALUE` of a device.
    pub keys: &'static [&'static str],
    /// Parameters that have no meaning in it.
    without: &'static [&'static str],
}

impl Structure {
    /// Does the parameter called `name` go with this structure?
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        !self.without.contains(&name)
    }

    /// Is a frame free before its data are in flash, so that a small buffer lasts?
    #[must_use]
    pub fn has_small_buffer(&self) -> bool {
        self.keys.contains(&"frame_release=transfer_end")
    }
}

/// All structures.
pub static STRUCTURES: &[Structure] = &[
    Structure {
        name: "free",
        meaning: "commands pass one another, and a buffer of many frames keeps data until they are in flash",
        keys: &["command_order=free", "frame_release=program_end"],
        without: &[],
    },
    Structure {
        name: "fifo",
        meaning: "commands start in order, so that reads wait behind writes that wait",
        keys: &["command_order=fifo", "frame_release=program_end"],
        without: &[],
    },
    Structure {
        name: "early release",
        meaning: "commands pass one another, and a frame is free once its data are in the chip",
        keys: &["command_order=free", "frame_release=transfer_end"],
        without: &[],
    },
];
