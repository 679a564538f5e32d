//! Exact event engine of the flash array: channel buses, chips with queues, operations in phases.
//!
//! The engine is a passive state machine. [`Nand::submit`] hands it an operation, [`Nand::step`]
//! and [`Nand::advance`] let time pass, [`Nand::next_event_time`] says when something happens next;
//! nothing else moves time. What it finds out goes to a [`Sink`].
//!
//! # Resources and phases
//! A channel is a bus that carries one transfer at a time. A chip (die or package, see
//! [`destage_types::QueuePer`]) runs one operation at a time and is held from the start of its
//! first phase to the end of its last. Chip `i` hangs on channel `i mod channels`.
//!
//! | operation | first bus phase | array | last bus phase |
//! |--|--|--|--|
//! | read | `t_cmd_read` | `t_read + t_ready` | transfer |
//! | program | `t_cmd_program` + transfer | `t_program` | |
//! | erase | `t_cmd_erase` | `t_erase` | |
//!
//! # One instant
//! An instant is settled in rounds. A round first makes every state change that is due (array
//! done, chip free, operations released that waited for one that ended), chips in ascending order;
//! then every free bus, channels in ascending order, is granted once: to the smallest
//! (ready time, operation number). Rounds repeat until nothing is due (only phases of length zero
//! need more than one). Work submitted at the instant comes after that, and is settled the same
//! way before the call returns. So after every call nothing is due at or before the clock.
//! Ready time = the later of: chip became free, operation entered the queue; for the last phase of
//! a read: array done. Numbers count submissions from 0. Buses know no priority classes.
//!
//! # Queue of a chip
//! An operation starts when it is granted the bus for its first phase. Until then it waits, and
//! whenever the chip is free its candidate is the eligible waiting operation that is first by:
//! class ([`Class`]: host, GC, background), then under [`Discipline::ReadFirst`] unmarked host
//! reads before other host work, then operation number. Not eligible are
//! - an operation whose dependency ([`Command::after`]) has not ended. It keeps its place by
//!   number and enters at the instant the other ends, as a state change of that instant;
//! - a read marked [`Command::in_order`] while a program of host or GC class with a smaller
//!   number waits for the same chip, whether that program is itself eligible or not. This is how a
//!   read of a page whose program is pending goes after that program (spec 00 section 2).
//!
//! A started operation is never aborted; a waiting background operation can be cancelled.

mod command;
mod engine;
mod events;
mod queue;
mod state;
mod timing;

pub use command::{Class, Command, Discipline, Kind, OpId, OpState, OpTimes, Sink};
pub use engine::{Config, Nand};
pub use events::{Events, Heap, Tree};
pub use state::{ChipStats, Stats};
pub use timing::{Timing, Transfer};

#[cfg(test)]
mod tests;
