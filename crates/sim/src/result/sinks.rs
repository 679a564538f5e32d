//! Sinks for results of a run besides its record.

use crate::device::FlashState;
use destage_record::profile::ResponseTail;
use destage_record::{RunProfile, Timeline, TimelineWindow};
use destage_types::OpKind;

/// Takes the profile of a run when the run is done.
pub type ProfileSink = Box<dyn FnOnce(RunProfile) + Send>;

/// Takes the timeline of a run when the run is done.
pub type TimelineSink = Box<dyn FnOnce(Timeline) -> std::io::Result<()> + Send>;

/// A request for a timeline of a run.
pub struct TimelineHook {
    /// The part of the run that it shows.
    pub window: TimelineWindow,
    /// Bytes of memory that it may take.
    pub limit: u64,
    /// Takes the timeline when the run ends.
    pub take: TimelineSink,
}

/// The profile of a run on a device, if it has one.
pub(crate) fn run_profile(
    tails: Option<[ResponseTail; 2]>,
    state: Option<&FlashState>,
) -> RunProfile {
    let chips = state.map_or(&[][..], |state| &state.chips);
    let programs = |kind| chips.iter().map(move |chip| chip.of(kind));
    RunProfile {
        tails: tails.unwrap_or_default(),
        chip_programs: programs(OpKind::Program)
            .zip(programs(OpKind::Copyback))
            .map(|(programs, copies)| programs + copies)
            .collect(),
        chip_erases: programs(OpKind::Erase).collect(),
    }
}
