//! How busy the channels and dies of a device were.

use crate::counts::ratio;
use destage_types::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Time that the parts of a device were busy, from the start of the measured part to the end of
/// the last operation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BusyTimes {
    /// Length of that time.
    pub elapsed: Nanos,
    /// Each channel: its bus carried commands or data.
    pub channels: Vec<Nanos>,
    /// Each die (chips whose dies do not interleave: each chip): held by an operation.
    pub dies: Vec<Nanos>,
}

/// Shares of the time from the start of the measured part to the end of the last operation in
/// which channels and dies were busy. An operation counts when its last phase starts, so one that
/// was under way when the measured part began may count in it or before it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Utilisation {
    /// Length of that time in ns.
    pub elapsed_ns: u64,
    /// Mean over the channels; null if no time passed.
    pub channel_mean: Option<f64>,
    /// The busiest channel.
    pub channel_max: Option<f64>,
    /// Mean over the dies.
    pub die_mean: Option<f64>,
    /// The busiest die.
    pub die_max: Option<f64>,
    /// Each channel: share of the time its bus carried commands or data.
    pub channels: Vec<f64>,
    /// Each die, chip by chip; a chip whose dies do not interleave is one.
    pub dies: Vec<f64>,
}

impl Utilisation {
    /// The shares of `busy`.
    pub fn new(busy: &BusyTimes) -> Utilisation {
        let share = |time: &Nanos| ratio(time.0 as f64, busy.elapsed.0 as f64);
        let all = |times: &[Nanos]| times.iter().filter_map(share).collect::<Vec<f64>>();
        let (channels, dies) = (all(&busy.channels), all(&busy.dies));
        let mean = |shares: &[f64]| ratio(shares.iter().sum(), shares.len() as f64);
        let most = |shares: &[f64]| shares.iter().copied().reduce(f64::max);
        Utilisation {
            elapsed_ns: busy.elapsed.0,
            channel_mean: mean(&channels),
            channel_max: most(&channels),
            die_mean: mean(&dies),
            die_max: most(&dies),
            channels,
            dies,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_the_time() {
        let busy = BusyTimes {
            elapsed: Nanos(200),
            channels: vec![Nanos(50), Nanos(100)],
            dies: vec![Nanos(0), Nanos(200), Nanos(40)],
        };
        let u = Utilisation::new(&busy);
        assert_eq!(
            (&*u.channels, &*u.dies),
            (&[0.25, 0.5][..], &[0.0, 1.0, 0.2][..])
        );
        assert_eq!((u.channel_mean, u.channel_max), (Some(0.375), Some(0.5)));
        assert_eq!((u.die_max, u.elapsed_ns), (Some(1.0), 200));
        let still = Utilisation::new(&BusyTimes::default());
        assert_eq!((still.channel_mean, still.die_max), (None, None));
    }
}
