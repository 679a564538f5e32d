//! Makes the tools that measure a drive: a shell script, and the fio jobs that it runs.

#[cfg(test)]
mod tests;

/// A file of the probe.
pub struct ProbeFile {
    /// Its name in the folder of the probe.
    pub name: &'static str,
    /// Its content.
    pub text: &'static str,
}

/// Files by name, from the folder beside this source.
macro_rules! files {
    ($($name:literal),+) => {
        &[$(ProbeFile { name: $name, text: include_str!(concat!("files/", $name)) }),+]
    };
}

/// All files of the probe: the script, then its jobs in the order in which it runs them.
pub const FILES: &[ProbeFile] = files![
    "probe.sh",
    "fill.fio",
    "burst.fio",
    "overwrite.fio",
    "saturated.fio",
    "rate.fio",
    "reads.fio",
    "mixed.fio",
    "beside.fio",
    "idle.fio"
];
