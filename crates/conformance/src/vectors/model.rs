//! The slow model under the worked examples: a cache over chips with a FIFO queue each.

use super::{Server, Table, number};
use crate::reference::{Row, SlowCache, SlowConfig, SlowCounts, SlowFlash, SlowRequest};
use serde_json::Value;
use std::cell::RefCell;
use std::rc::Rc;

/// Chips with a FIFO queue each, and GC states set row by row.
struct Queues {
    now: u64,
    /// When the queue of each chip is empty.
    free: Vec<u64>,
    gc: Rc<RefCell<Vec<bool>>>,
    t_read: u64,
    t_program: u64,
}

impl Queues {
    fn new(device: &Value) -> Queues {
        let chips = number(&device["chips"]) as usize;
        Queues {
            now: 0,
            free: vec![0; chips],
            gc: Rc::new(RefCell::new(vec![false; chips])),
            t_read: number(&device["t_read"]),
            t_program: number(&device["t_program"]),
        }
    }

    fn enqueue(&mut self, lpn: u64, time: u64) -> u64 {
        let chip = (lpn % self.free.len() as u64) as usize;
        let wait = self.cqct(chip);
        self.free[chip] = self.now + wait + time;
        wait
    }
}

impl SlowFlash for Queues {
    fn chips(&self) -> usize {
        self.free.len()
    }
    fn cqct(&self, chip: usize) -> u64 {
        self.free[chip].saturating_sub(self.now)
    }
    fn in_gc(&self, chip: usize) -> bool {
        self.gc.borrow()[chip]
    }
    fn advance(&mut self, now: u64) {
        self.now = now;
    }
    fn read(&mut self, lpn: u64) {
        self.enqueue(lpn, self.t_read);
    }
    fn program(&mut self, lpn: u64) -> Option<u64> {
        let wait = self.enqueue(lpn, self.t_program);
        (self.t_program > 0).then_some(wait)
    }
    fn note(&self) -> Option<String> {
        let all: Vec<u64> = (0..self.free.len()).map(|c| self.cqct(c)).collect();
        (self.t_program > 0).then(|| format!("CQCT={all:?}"))
    }
}

/// The slow cache of a table with the GC states of its chips.
pub struct Model {
    cache: SlowCache,
    gc: Option<Rc<RefCell<Vec<bool>>>>,
}

impl Table {
    /// The slow model set up for the table.
    ///
    /// # Errors
    /// There is no model of the scheme.
    pub fn model(&self) -> Result<Model, String> {
        let config = self.config();
        let mut slow = SlowConfig {
            read_alloc: config.read_alloc,
            draws: config.draws.unwrap_or_default(),
            hashes: config.hashes.unwrap_or_default(),
            exact_counts: config.exact_counts,
            ..SlowConfig::new(config.capacity as usize, config.page.sectors())
        };
        let mut gc = None;
        if self.setup("device").is_object() {
            let queues = Queues::new(self.setup("device"));
            gc = Some(Rc::clone(&queues.gc));
            slow.flash = Box::new(queues);
        }
        let cache = SlowCache::new(self.setup("scheme").as_str().expect("a scheme"), slow)?;
        Ok(Model { cache, gc })
    }
}

impl Server for Model {
    fn step(&mut self, request: &SlowRequest) -> Row {
        self.cache.step(request)
    }

    fn collect(&mut self, chips: &[usize]) {
        if let Some(gc) = &self.gc {
            let mut gc = gc.borrow_mut();
            gc.fill(false);
            chips.iter().for_each(|&chip| gc[chip] = true);
        }
    }

    fn idle(&mut self, chips: &[usize]) -> Row {
        let evicted = self.cache.idle(chips);
        Row {
            result: "-".to_owned(),
            evicted,
            ..Row::default()
        }
    }

    fn state(&self) -> String {
        self.cache.state()
    }

    fn counts(&self) -> SlowCounts {
        self.cache.counts.clone()
    }
}
