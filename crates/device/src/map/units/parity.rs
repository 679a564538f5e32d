//! Stripes with parity (S-6): after so many units of a writer a unit of parity follows, whose places are dead from the start.

use super::{UnitMap, UnitPlace, UnitStream};
use crate::config::DeviceConfig;

/// The stripe that a writer fills.
#[derive(Clone, Debug, Default)]
struct Stripe {
    /// Dies of its units so far.
    dies: Vec<u32>,
    /// Those of the stripe before, whose unit of parity has found no room.
    due: Option<Vec<u32>>,
}

/// Stripes of all writers.
#[derive(Clone, Debug)]
pub(super) struct Parity {
    /// Units of data in a stripe.
    units: usize,
    stripes: Vec<Stripe>,
}

impl Parity {
    /// That of a drive, if it has any.
    pub fn new(config: &DeviceConfig, writers: usize) -> Option<Parity> {
        let units = config.parity.filter(|&units| units > 0)? as usize;
        let stripes = vec![Stripe::default(); writers];
        Some(Parity { units, stripes })
    }
}

impl UnitMap {
    /// Is there parity?
    pub(super) fn has_parity(&self) -> bool {
        self.parity.is_some()
    }

    /// Must a unit of parity come before the next unit of a writer?
    pub(super) fn owes_parity(&self, stream: UnitStream) -> bool {
        let writer = self.writers.number(stream);
        let parity = self.parity.as_ref();
        parity.is_some_and(|parity| parity.stripes[writer].due.is_some())
    }

    /// A unit of data of a writer is queued on a frontier.
    pub fn add_to_stripe(&mut self, stream: UnitStream, frontier: u32) {
        let (writer, die) = (self.writers.number(stream), self.die_of(frontier));
        if let Some(parity) = &mut self.parity {
            let stripe = &mut parity.stripes[writer];
            stripe.dies.push(die);
            if stripe.dies.len() >= parity.units && stripe.due.is_none() {
                stripe.due = Some(std::mem::take(&mut stripe.dies));
            }
        }
    }

    /// The unit of parity that a writer owes takes places, if there is room: on the die with the least load, not one of the stripe if
    /// there is another.
    pub fn put_parity(
        &mut self,
        stream: UnitStream,
        load: impl Fn(u32) -> u32,
    ) -> Option<(u32, UnitPlace)> {
        let writer = self.writers.number(stream);
        let due = self.parity.as_ref()?.stripes[writer].due.as_ref()?;
        let apart = |frontier| !due.contains(&self.die_of(frontier));
        let can =
            |frontier| !self.is_open(stream, frontier) && self.can_open_next(stream, frontier);
        let frontier = self
            .next_frontier_that(stream, &load, |frontier| can(frontier) && apart(frontier))
            .or_else(|| self.next_frontier_that(stream, &load, can))?;
        self.open_unit(stream, frontier);
        let (place, _) = self.close(stream, frontier)?;
        if let Some(parity) = &mut self.parity {
            parity.stripes[writer].due = None;
        }
        Some((frontier, place))
    }
}
