//! The engine with a small device, for worked examples and runs with time.

use super::{Config, Stage};
use crate::reference::SlowRequest;
use destage_device::config::EffectiveDevice;
use destage_device::ftl::PageMap;
use destage_sim::FlashReport;
use destage_sim::engine::{Completion, Engine, ProgramTimes};
use destage_types::{Lpn, Nanos, Op};
use std::collections::BTreeSet;

/// Chips of one die and one plane with FIFO queues, free commands and transfers; never full.
#[derive(Clone, Copy, Debug)]
pub struct TestDevice {
    /// Array time of a read.
    pub read: Nanos,
    /// Array time of a program.
    pub program: Nanos,
    /// DRAM service.
    pub dram: Nanos,
}

/// When things were done.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Programs, in the order in which their times became known.
    pub programs: Vec<ProgramTimes>,
    /// Completed requests, likewise.
    pub completions: Vec<Completion>,
    /// Mean waiting time of the programs of dirty evictions, ns.
    pub evict_wait_mean: Option<f64>,
    /// Mean response time, ns.
    pub mean_response: Option<f64>,
    /// Standard deviation of the response time, ns.
    pub resp_std: Option<f64>,
}

impl TestDevice {
    /// The engine for the layout and the page size of `config`. Flash holds the pages that
    /// `requests` read before they write them.
    ///
    /// # Panics
    /// Never: the settings are legal, and the device is large enough.
    pub fn engine(&self, config: &Config, background: bool, requests: &[SlowRequest]) -> Engine {
        let (channels, chips) = (config.layout.channels(), config.layout.chips());
        let sets = [
            format!("channels={channels}"),
            format!("chips_per_channel={}", chips / channels),
            format!("page_bytes={}", config.page.bytes()),
            format!("t_read={}ns", self.read),
            format!("t_program={}ns", self.program),
            format!("t_dram={}ns", self.dram),
            "dies_per_chip=1".to_owned(),
            "planes_per_die=1".to_owned(),
            "blocks_per_plane=4096".to_owned(),
            "pages_per_block=64".to_owned(),
            "t_erase=1us".to_owned(),
            "t_cmd=0".to_owned(),
            "t_byte=0".to_owned(),
            "queue_per=chip".to_owned(),
        ];
        let device = EffectiveDevice::from_preset("default", &sets).expect("a legal device");
        let mut map = PageMap::new(device.config(), 1);
        let (mut written, mut read) = (BTreeSet::new(), Vec::new());
        for request in requests {
            for access in request.accesses(config.page.sectors()) {
                match request.op {
                    Op::Read if !written.contains(&access.lpn) => read.push(Lpn(access.lpn)),
                    Op::Write => drop(written.insert(access.lpn)),
                    _ => {}
                }
            }
        }
        map.map_trace(read).expect("the device is large");
        let mut engine = Engine::new(device.config(), map, background);
        engine.keep_completions();
        engine.keep_programs();
        engine
    }
}

impl Stage for Engine {
    fn take_times(&mut self, out: &mut Times) {
        self.take_programs(&mut out.programs);
        self.take_completions(&mut out.completions);
        let measures = self.measures().expect("a device measures");
        out.evict_wait_mean = measures.evict_wait.mean;
        let all = measures.latency.all;
        (out.mean_response, out.resp_std) = (all.mean, all.std);
    }
}
