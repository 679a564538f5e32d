//! Choices of a device that no number describes. Each is searched by itself, and the best goes on.

/// Keys of a device with fixed words, and the parameters that go with them.
#[derive(Debug)]
pub struct Structure {
    /// Name in tables.
    pub name: &'static str,
    /// Its meaning for a drive.
    pub meaning: &'static str,
    /// `KEY=VALUE` of a device.
    pub keys: &'static [&'static str],
    /// Parameters that have no meaning in it.
    without: &'static [&'static str],
}

impl Structure {
    /// Does it decide over a device key?
    #[must_use]
    pub fn sets(&self, key: &str) -> bool {
        self.keys.iter().any(|set| key_of(set) == key)
    }

    /// Does the parameter called `name` go with this structure?
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        !self.without.contains(&name)
    }

    /// Do programs of the host pause?
    #[must_use]
    pub fn pauses(&self) -> bool {
        self.has(PAUSE[0])
    }

    /// Are pauses put off while writes wait, so that a saturated drive has none?
    #[must_use]
    pub fn puts_pauses_off(&self) -> bool {
        let put_off = |key: &&str| key.ends_with("while_writes_wait=put_off");
        self.keys.iter().any(put_off)
    }

    /// Do commands start in order?
    #[must_use]
    pub fn is_in_order(&self) -> bool {
        self.keys.contains(&"command_order=fifo")
    }
}

/// The device key of `KEY=VALUE`, without the part of it behind a point.
pub(super) fn key_of(setting: &str) -> &str {
    let name = setting.split_once('=').map_or(setting, |(name, _)| name);
    name.split('.').next().unwrap_or(name).trim()
}

/// Is a key one of the pace? Where sequential writes were measured, their price holds in any structure.
pub(super) fn is_pace(key: &str) -> bool {
    PACE.iter().any(|of_pace| key_of(of_pace) == key)
}

/// Parameters of the pace.
const PACE: &[&str] = &["write_pace", "write_pace.moved", "write_pace_burst"];
/// Parameters of pauses.
const PAUSE: &[&str] = &["program_pause.every", "program_pause.time"];

/// All structures.
pub static STRUCTURES: &[Structure] = &[
    Structure {
        name: "free",
        meaning: "commands pass one another, and a large buffer keeps data until they are in flash",
        keys: &[
            "command_order=free",
            "frame_release=program_end",
            "program_pause=off",
        ],
        without: PAUSE,
    },
    Structure {
        name: "fifo",
        meaning: "commands start in order, so that reads wait behind writes that wait",
        keys: &[
            "command_order=fifo",
            "frame_release=program_end",
            "program_pause=off",
        ],
        without: PAUSE,
    },
    Structure {
        name: "rounds",
        meaning: "programs of the host pause in rounds behind a small buffer, whose frames are free once data are in \
                  a chip",
        keys: &[
            "command_order=free",
            "frame_release=transfer_end",
            "program_pause.while_writes_wait=begin",
        ],
        without: &[],
    },
    Structure {
        name: "put_off",
        meaning: "the same, but pauses are put off while writes wait; without a price of writes, the dies alone limit the \
                  rate",
        keys: &[
            "command_order=free",
            "frame_release=transfer_end",
            "program_pause.while_writes_wait=put_off",
            "write_pace=off",
        ],
        without: PACE,
    },
];
