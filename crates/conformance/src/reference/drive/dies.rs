//! The dies as schemes and layers see them: each chip is a die (DR-10, DR-11).

use crate::reference::cqct::{Cost, Queue};
use crate::reference::flash::{SlowChannels, SlowFlash};

/// The dies at one moment.
#[derive(Clone, Debug)]
pub struct SlowDies {
    /// None if nobody weighs them.
    pub(super) queues: Vec<Queue>,
    pub(super) times: (u64, u64),
    pub(super) in_gc: Vec<bool>,
    pub(super) idle: Vec<bool>,
    /// Die of each plane in `allocation_order`.
    pub(super) die_of_plane: Vec<usize>,
    /// Mapping units of a page.
    pub(super) k: u64,
    pub(super) channels: usize,
    pub(super) dynamic: bool,
    pub(super) cost: Cost,
}

impl SlowDies {
    /// Equations 1 to 4 with these keys.
    pub fn weighed_by(mut self, cost: Cost) -> SlowDies {
        self.cost = cost;
        self
    }
}

impl SlowChannels for SlowDies {
    fn channels(&self) -> usize {
        self.channels
    }

    fn is_dynamic(&self) -> bool {
        self.dynamic
    }

    fn channel(&self, lpn: u64) -> usize {
        self.chip(lpn) % self.channels
    }

    fn channel_of_unit(&self, _unit: u64) -> usize {
        unreachable!("pages go where their addresses say")
    }

    fn chips_of(&self, channel: usize) -> Vec<usize> {
        (channel..self.idle.len()).step_by(self.channels).collect()
    }

    fn is_chip_idle(&self, chip: usize) -> bool {
        self.idle[chip]
    }
}

impl SlowFlash for SlowDies {
    fn chips(&self) -> usize {
        self.idle.len()
    }

    fn chip(&self, lpn: u64) -> usize {
        let page = (lpn / self.k) as usize;
        self.die_of_plane[page % self.die_of_plane.len()]
    }

    fn cqct(&self, chip: usize) -> u64 {
        self.cost.weigh(&self.queues[chip])
    }

    fn in_gc(&self, chip: usize) -> bool {
        self.in_gc[chip]
    }

    fn times(&self) -> (u64, u64) {
        self.times
    }

    fn boxed(&self) -> Box<dyn SlowFlash> {
        Box::new(self.clone())
    }

    fn spreads_groups(&self) -> bool {
        true
    }

    fn by_channel(&self) -> Option<&dyn SlowChannels> {
        Some(self)
    }
}
