//! Response times of requests in simulated time.

use crate::protocol::transmission::NbdCommand;
use destage_types::Nanos;
use hdrhistogram::Histogram;

/// Response times of reads and writes, to about 1 %.
#[derive(Clone, Debug)]
pub struct ResponseTimes {
    /// Of READ, in ns.
    pub reads: Histogram<u64>,
    /// Of WRITE, in ns.
    pub writes: Histogram<u64>,
}

impl Default for ResponseTimes {
    fn default() -> ResponseTimes {
        ResponseTimes {
            reads: histogram(2),
            writes: histogram(2),
        }
    }
}

/// From 1 ns to an hour with a few `digits`: bounds that are always accepted.
pub(super) fn histogram(digits: u8) -> Histogram<u64> {
    let made = Histogram::new_with_bounds(1, 3_600_000_000_000, digits);
    made.unwrap_or_else(|_| unreachable!("constant bounds"))
}

impl ResponseTimes {
    pub(crate) fn add(&mut self, command: NbdCommand, time: Nanos) {
        match command {
            NbdCommand::Read => self.reads.saturating_record(time.0),
            NbdCommand::Write => self.writes.saturating_record(time.0),
            _ => {}
        }
    }

    /// Those that came after `before`, which is an earlier state of these.
    pub fn since(&self, before: &ResponseTimes) -> ResponseTimes {
        let since = |all: &Histogram<u64>, before: &Histogram<u64>| {
            let mut rest = all.clone();
            match rest.subtract(before) {
                Ok(()) => rest,
                // They began again.
                Err(_) => all.clone(),
            }
        };
        ResponseTimes {
            reads: since(&self.reads, &before.reads),
            writes: since(&self.writes, &before.writes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_what_came_in_it() {
        let mut times = ResponseTimes::default();
        (0..100).for_each(|_| times.add(NbdCommand::Read, Nanos(1_000)));
        let before = times.clone();
        times.add(NbdCommand::Read, Nanos(500_000));
        times.add(NbdCommand::Write, Nanos(7_000));
        times.add(NbdCommand::Flush, Nanos(9_000));
        let since = times.since(&before);
        assert_eq!((since.reads.len(), since.writes.len()), (1, 1));
        let p50 = since.reads.value_at_quantile(0.5);
        assert!(p50.abs_diff(500_000) < 5_000, "{p50}");
        assert_eq!(ResponseTimes::default().since(&before).reads.len(), 0);
    }
}
