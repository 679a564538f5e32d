//! Shadows: devices that are given what an export is given, and answer nobody.
//!
//! A shadow has a thread, which an export never waits for: requests go into a queue of bounded length,
//! and one that finds no place there is lost to the shadow, which is counted.

use crate::device::{LiveEvent, ModelName, RequestWatcher, SimulatedSsd, TimedDevice};
use destage_sim::ResultRecord;
use destage_sim::live::LiveFigures;
use destage_types::{HostRequest, Nanos};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

/// Requests that may wait for a shadow.
pub const SHADOW_QUEUE: usize = 1 << 16;

enum ShadowMessage {
    Request(HostRequest),
    PowerCycle(Nanos),
    Reset,
    /// With the requests that were lost before.
    Report(Nanos, u64, Sender<ShadowReport>),
    Look(Nanos, Sender<(ModelName, LiveFigures)>),
}

/// Measurements of a shadow.
#[derive(Clone, Debug)]
pub struct ShadowReport {
    /// Its result record since the statistics began.
    pub record: ResultRecord,
    /// Requests of the export that it was not given, since the server began.
    pub lost: u64,
    /// It could not go on.
    pub failure: Option<String>,
}

impl ShadowReport {
    /// Did it serve all that the export served? Only then its figures can be compared.
    pub fn is_complete(&self) -> bool {
        self.lost == 0 && self.failure.is_none()
    }
}

/// Counters that the thread of a shadow shares with those who feed it.
#[derive(Default)]
struct Counts {
    waiting: AtomicUsize,
    lost: AtomicU64,
}

/// The receiver of a shadow's later answer.
pub struct Asked<T>(Receiver<T>);

impl<T> Asked<T> {
    /// Waits for the answer; `None` if the shadow has ended.
    pub fn wait(&self) -> Option<T> {
        self.0.recv().ok()
    }

    /// The answer, if it comes within `patience`.
    pub fn wait_for(&self, patience: Duration) -> Option<T> {
        self.0.recv_timeout(patience).ok()
    }
}

/// A shadow that runs as long as somebody has this.
#[derive(Clone)]
pub struct Shadow {
    sender: Sender<ShadowMessage>,
    counts: Arc<Counts>,
}

impl Shadow {
    /// Starts a shadow with the device `ssd`.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(ssd: SimulatedSsd) -> io::Result<Shadow> {
        let (sender, receiver) = mpsc::channel();
        let counts = Arc::new(Counts::default());
        let for_thread = Arc::clone(&counts);
        let thread = std::thread::Builder::new().name("shadow".to_owned());
        thread.spawn(move || {
            ShadowDevice {
                ssd,
                events: Vec::new(),
                failure: None,
            }
            .run(&receiver, &for_thread);
        })?;
        Ok(Shadow { sender, counts })
    }

    /// New statistics begin after the requests so far.
    pub fn reset(&self) {
        // A thread that has ended has panicked, which a report tells.
        let _ = self.sender.send(ShadowMessage::Reset);
    }

    /// Asks what it has measured up to `at`, after all requests so far and before those to come.
    pub fn report(&self, at: Nanos) -> Asked<ShadowReport> {
        let lost = self.lost();
        self.ask(|sender| ShadowMessage::Report(at, lost, sender))
    }

    /// Asks what it is, and what it has done up to `at`, after all requests so far and before those to come.
    pub fn look(&self, at: Nanos) -> Asked<(ModelName, LiveFigures)> {
        self.ask(|sender| ShadowMessage::Look(at, sender))
    }

    fn ask<T>(&self, message: impl FnOnce(Sender<T>) -> ShadowMessage) -> Asked<T> {
        let (sender, receiver) = mpsc::channel();
        // A thread that has ended drops the question, which ends the waiting.
        let _ = self.sender.send(message(sender));
        Asked(receiver)
    }

    /// Requests of the export that it was not given, since the server began.
    pub fn lost(&self) -> u64 {
        self.counts.lost.load(SeqCst)
    }
}

impl RequestWatcher for Shadow {
    fn request(&mut self, request: &HostRequest) {
        if self.counts.waiting.load(SeqCst) >= SHADOW_QUEUE {
            self.counts.lost.fetch_add(1, SeqCst);
            return;
        }
        self.counts.waiting.fetch_add(1, SeqCst);
        let message = ShadowMessage::Request(*request);
        if self.sender.send(message).is_err() {
            self.counts.lost.fetch_add(1, SeqCst);
        }
    }

    fn power_cycle(&mut self, at: Nanos) {
        let _ = self.sender.send(ShadowMessage::PowerCycle(at));
    }
}

struct ShadowDevice {
    ssd: SimulatedSsd,
    /// Of no interest: a shadow answers nobody.
    events: Vec<LiveEvent>,
    failure: Option<String>,
}

impl ShadowDevice {
    fn run(mut self, receiver: &Receiver<ShadowMessage>, counts: &Counts) {
        for message in receiver {
            match message {
                ShadowMessage::Request(request) => {
                    counts.waiting.fetch_sub(1, SeqCst);
                    self.serve(request);
                }
                ShadowMessage::PowerCycle(at) => self.ssd.power_cycle(at),
                ShadowMessage::Reset => self.ssd.reset_statistics(),
                ShadowMessage::Look(at, to) => {
                    self.advance(at);
                    // The receiver may have gone.
                    let _ = to.send((self.ssd.model(), self.ssd.figures()));
                }
                ShadowMessage::Report(at, lost, to) => {
                    self.advance(at);
                    let report = ShadowReport {
                        record: self.ssd.record(),
                        lost,
                        failure: self.failure.clone(),
                    };
                    // The receiver may have gone.
                    let _ = to.send(report);
                }
            }
        }
    }

    fn serve(&mut self, request: HostRequest) {
        if self.failure.is_some() {
            return;
        }
        let at = request.arrival;
        match self.ssd.submit(at, request) {
            Ok(_) => self.advance(at),
            Err(error) => self.failure = Some(error.to_string()),
        }
    }

    fn advance(&mut self, to: Nanos) {
        self.ssd.advance(to, &mut self.events);
        self.events.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_device::config::EffectiveDevice;
    use destage_scheme::Expr;
    use destage_sim::RunSpec;
    use destage_types::{ByteSize, Op};

    fn device() -> ShadowDevice {
        let device = EffectiveDevice::load("default", &[], |path| std::fs::File::open(path));
        let expr = Expr::parse("lru").expect("a scheme");
        let spec = RunSpec {
            device: Some(Arc::new(device.expect("a preset").config().clone())),
            ..RunSpec::cache_only(expr, ByteSize(32 << 10))
        };
        ShadowDevice {
            ssd: SimulatedSsd::new(&spec, "test").expect("a device"),
            events: Vec::new(),
            failure: None,
        }
    }

    #[test]
    fn what_finds_no_place_is_counted_and_orders_still_come_through() {
        let (sender, receiver) = mpsc::channel();
        let counts = Arc::new(Counts::default());
        let mut shadow = Shadow { sender, counts };
        // Nobody takes anything out of the queue yet, and nobody who puts something in waits.
        let write = |i: u64| HostRequest::new(Nanos(i), Op::Write, i % 1000 * 8, 8);
        let many = SHADOW_QUEUE as u64;
        (0..many + 5).for_each(|i| shadow.request(&write(i)));
        assert_eq!(shadow.lost(), 5);
        shadow.reset();
        let look = shadow.look(Nanos(many)).wait_for(Duration::from_millis(1));
        assert_eq!(look, None, "it is behind");
        let asked = shadow.report(Nanos(many + 10));
        let counts = Arc::clone(&shadow.counts);
        drop(shadow);
        device().run(&receiver, &counts);
        let report = asked.wait().expect("a report");
        assert_eq!(report.record.counts.requests, 0, "statistics began again");
        assert_eq!(report.record.trace.requests, many);
        assert_eq!((report.lost, report.is_complete()), (5, false));
        assert_eq!(counts.waiting.load(SeqCst), 0);
    }

    #[test]
    fn a_device_that_cannot_go_on_says_why() {
        let shadow = Shadow::start(device().ssd).expect("a thread");
        let mut feed = shadow.clone();
        let beyond = HostRequest::new(Nanos(1), Op::Read, u64::MAX >> 9, 8);
        feed.request(&beyond);
        feed.request(&HostRequest::new(Nanos(2), Op::Read, 0, 8));
        let report = shadow.report(Nanos(3)).wait().expect("a report");
        assert!(
            report
                .failure
                .as_deref()
                .is_some_and(|f| f.contains("beyond"))
        );
        assert!(!report.is_complete());
        assert_eq!(report.record.counts.requests, 0);
    }
}
