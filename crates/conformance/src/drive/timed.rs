//! The engine with a small device, for worked examples and runs with time.

use super::{Config, Stage};
use crate::reference::SlowRequest;
use crate::timed::first_reads;
use crate::timed::runs::device_of;
use destage_device::map::{PageMap, Preconditioning};
use destage_sim::Flash;
use destage_sim::engine::{Engine, OperationTimes};
use destage_sim::record::Completion;
use destage_types::{Lpn, Nanos};

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
    pub programs: Vec<OperationTimes>,
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
        let device = device_of(&format!(
            "channels={channels} chips_per_channel={} page_bytes={} t_read={}ns t_program={}ns \
             t_dram={}ns dies_per_chip=1 planes_per_die=1 blocks_per_plane=4096 \
             pages_per_block=64 t_erase=1us t_cmd=0 t_byte=0 queue_per=chip",
            chips / channels,
            config.page.bytes(),
            self.read,
            self.program,
            self.dram,
        ));
        let mut map = PageMap::new(&device, 1);
        let read = first_reads(requests, config.page.sectors());
        map.map_trace(&mut read.into_iter().map(Lpn))
            .expect("the device is large");
        let mut engine = Engine::new(&device, map, background);
        engine.keep_operations();
        let core = engine.core_mut().expect("a device");
        core.keep_completions();
        core.expect_fua();
        engine
    }
}

impl Stage for Engine {
    fn take_times(&mut self, out: &mut Times) {
        out.programs.append(&mut self.take_operations());
        let core = self.core_mut().expect("a device");
        core.take_completions(&mut out.completions);
        let measures = core.measures();
        out.evict_wait_mean = measures.evict_wait.mean;
        let all = measures.latency.all;
        (out.mean_response, out.resp_std) = (all.mean, all.std);
    }
}
