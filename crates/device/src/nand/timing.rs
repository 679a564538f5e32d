//! Durations of the phases.

use destage_types::Nanos;

/// Times of the phases that do not depend on the amount of data. Keys of a device file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timing {
    /// Command and address of a read on the bus.
    pub t_cmd_read: Nanos,
    /// Command and address of a program on the bus, before its data.
    pub t_cmd_program: Nanos,
    /// Command of an erase on the bus.
    pub t_cmd_erase: Nanos,
    /// Array read.
    pub t_read: Nanos,
    /// Array program.
    pub t_program: Nanos,
    /// Block erase.
    pub t_erase: Nanos,
    /// From the end of an array read until data can be moved.
    pub t_ready: Nanos,
}
