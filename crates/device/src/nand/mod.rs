//! Exact event engine of the flash array: channel buses, chips with queues, operations in phases.
//!
//! The engine is a passive state machine. [`Nand::submit`] hands it an operation, [`Nand::step`]
//! and [`Nand::advance`] let time pass, [`Nand::next_event_time`] says when something happens next;
//! nothing else moves time. It reports events by appending to a list of [`Notice`]s.
//!
//! # Resources and phases
//! A channel is a bus that carries one transfer at a time. A chip (die or package, see
//! [`destage_types::QueuePer`]) has one queue and runs one operation at a time, which holds it from
//! the start of its first phase to the end of its last. Chip `i` hangs on channel
//! `i mod channels`.
//!
//! | operation | first bus phase | array | last bus phase |
//! |--|--|--|--|
//! | read | `t_cmd_read` | `t_read + t_ready` | transfer |
//! | program | `t_cmd_program` + transfer | `t_program` | |
//! | erase | `t_cmd_erase` | `t_erase` | |
//! | copyback | | `t_read + t_ready + t_program` | |
//!
//! A multi-plane operation ([`FlashCommand::planes`]) is one operation: one command for every plane and
//! all transfers follow one another in one hold of the bus, and the array time is the longest of its
//! pages. All its pages are done at its end. A copyback needs no bus. It is
//! submitted as such, or grows while it waits ([`Nand::join`]); [`Nand::hold`] keeps everything
//! waiting until the pages that belong together are known.
//!
//! # One instant
//! An instant is settled in rounds. A round first makes every state change that is due (array
//! done, chip free, operations released that waited for one that ended), chips in ascending order.
//! Then operations are suspended and resumed. Then each chip whose candidate needs
//! no bus starts it, in the same order; then every free bus, channels in ascending order, is
//! granted once: to the smallest (ready time, operation number). Rounds repeat until nothing is
//! due (only phases of length zero need more than one). Work submitted at the instant comes after
//! that, and is settled the same way before the call returns. So after every call nothing is due
//! at or before the clock. Ready time = the later of: chip became free, operation entered the
//! queue; for the last phase of a read: array done. Numbers count submitted operations from 0.
//! Buses know no priority classes.
//!
//! # Queue of a chip
//! An operation starts when it is granted the bus for its first phase. Until then it waits, and
//! whenever the chip is free its candidate is the eligible waiting operation that is first by:
//! class ([`Class`]: host, GC, background, background GC), then under [`QueueOrder::ReadFirst`](crate::config::QueueOrder)
//! unmarked host reads before other host work, then operation number. Not eligible are
//! - an operation whose dependencies ([`FlashCommand::after`], two at most) have not ended. It keeps its
//!   place by number and enters at the instant the last of them ends, as a state change of that
//!   instant;
//! - a read marked [`FlashCommand::in_order`], and the first operation of a job, while a program or
//!   copyback of host class with a smaller number waits for the same chip, whether that is
//!   itself eligible or not. This is how a read of a page whose program is pending goes after that
//!   program, and how a collection reads only what has been written.
//!
//! A started operation is never aborted; a waiting background operation can be cancelled.
//!
//! # Suspension (NF-1)
//! With [`ArrayConfig::suspension`] an erase, or a program or copyback too, gives way in its array
//! phase, whatever its class and its job. It is suspended when the operation that is next in the queue
//! of its die, its own job left out, is a read of the host, which may start then; what has been done
//! counts. Host work that waits for the end of that operation or of its job has its place in the queue:
//! a read behind it suspends nothing, unless reads go first. A suspended operation goes on when the die
//! is free and no such read is next: what is left then takes longer by
//! [`Suspension::resume`], in which it may be suspended again. Transfers are never suspended. The priority of a read is over the
//! running operation alone: in a FIFO one that stands behind a program waits for that to start. While
//! an operation is suspended nothing but reads of the host starts, and the die counts as busy only
//! while one runs. Suspending and resuming need no bus.
//!
//! So the end of an operation is not known when it starts: [`Notice::Started`] tells its start, and
//! [`Notice::Timed`] comes at its end. The same holds for background programs with
//! [`ArrayConfig::late_times`].
//!
//! With [`Suspension::pause`] the read waits that long until the array has stopped, for which the die counts as
//! busy (D-15).
//!
//! # Drives
//! The array of a drive with units ([`Nand::of_drive`]) has these rules beside:
//! - Each page of an operation of several pages has a grant of the bus of its own, for the command and data of a
//!   program, or for the data of a read ([`DriveOp::grants`]). Others may come between. A program of several pages has its
//!   die from the moment it asks for the first (D-2, D-6). [`Notice::Moved`] tells that its data are in the chip.
//! - Its classes are host and GC, that of the collector. Reads of the host go first; in a FIFO, where they are marked
//!   [`FlashCommand::in_order`], they keep their place among programs of the host. While none waits, programs of the
//!   host and operations of the collector start in the order of their numbers, but after [`DriveRules::gc_burst`]
//!   places of the collector a program of the host goes first. Programs of the host start in turn: one that waits
//!   for a gate ([`Nand::set_gate`]) or for a read ([`DriveOp::waits`]) holds those behind it (D-11).
//! - A read draws when it starts how often the array repeats it ([`DriveRules::retries`], D-15).
//! - The caller acts on what ends before what may start does: it makes the rounds of an instant by
//!   [`Nand::end_phases`] and [`Nand::grant`].
//!
//! # Jobs
//! [`Nand::submit_job`] takes a run of operations for one chip: a collection is, for every valid
//! page, a copyback or a read and a program, then summary programs, then the erase. They run one
//! after the other without further dependencies.
//! - [`JobKind::Foreground`]: the first operation waits as if it were of
//!   host class (behind unmarked reads under `ReadFirst`), and from its start to the end of the
//!   last one nothing else starts on the chip.
//! - [`JobKind::Background`]: of class background GC, below all else. After every operation that is
//!   not a read the chip is open, so other eligible work goes first there. May be taken back
//!   as a whole ([`Nand::cancel_job`]) before it starts.
//!
//! The program that triggers a collection is submitted behind it, [`FlashCommand::after`]
//! [`JobId::last`]. From submission to the end of its last operation the chip of a job is in GC
//! state ([`Nand::in_gc`]); [`Nand::gc_remaining`] is what is left of it.

mod bit_set;
mod command;
mod counters;
mod engine;
mod event_queue;
mod job_queue;
mod operation;
mod pool;
mod queue;
mod state;
mod timing;

pub use command::{
    Class, FlashCommand, JobId, JobKind, NO_TOKEN, Notice, OpId, OpKind, OpState, OpTimes,
};
pub use counters::ChipStats;
pub use engine::{
    ArrayConfig, DriveOp, DriveRules, Nand, OpActivity, OpPhase, PhaseKind, Retry, Suspension,
};
pub use timing::Timing;

#[cfg(test)]
mod tests;
