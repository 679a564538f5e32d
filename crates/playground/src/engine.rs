//! The engine of one Web Worker: a trace, a plan, and prepared devices.

use crate::catalogue::{self, PageOffer};
use crate::facts::{PAGE, TraceFacts};
use crate::question::Question;
use destage_experiment::api::{
    self, CheckedRuns, ComparedRun, Executed, Failure, Follower, Keys, RunSession, footprint_pages,
};
use destage_experiment::failures::trace_failure;
use destage_experiment::hash::hexadecimal;
use destage_scheme::Role;
use destage_trace::{Source, Stored};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Bytes that are hashed at a time.
const PIECE: usize = 1 << 20;

/// The interface of an engine to its surroundings.
#[derive(Clone, Copy)]
pub struct PageHost {
    /// Gives the next bytes of the file, none at its end.
    pub read: fn(&mut [u8]) -> io::Result<usize>,
    /// So many requests of a file were read.
    pub reading: fn(u64),
    /// So many of so many pages were written to prepare a device.
    pub preparing: fn(u64, u64),
    /// A run has served so many of so many requests.
    pub running: fn(u64, u64),
}

/// Answers questions about one trace.
pub struct PageEngine {
    host: PageHost,
    trace: Option<Stored>,
    plan: Option<CheckedRuns>,
    session: RunSession,
}

/// The bytes of the host as a file.
struct HostFile(PageHost);

impl Read for HostFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (self.0.read)(buffer)
    }
}

impl PageEngine {
    /// An engine without a trace.
    pub fn new(host: PageHost) -> PageEngine {
        PageEngine {
            host,
            trace: None,
            plan: None,
            session: RunSession::start(),
        }
    }

    /// Answers a question, both as JSON: `{"answer": ...}`, or `{"error": "text"}`.
    pub fn answer(&mut self, question: &str) -> String {
        let asked = serde_json::from_str::<Question>(question);
        let answer = asked
            .map_err(|error| Failure::Run(format!("no question of the engine: {error}")))
            .and_then(|question| self.dispatch(question));
        let answer = match answer {
            Ok(answer) => json!({ "answer": answer }),
            Err(failure) => json!({ "error": failure.text() }),
        };
        answer.to_string()
    }

    fn dispatch(&mut self, question: Question) -> Result<Value, Failure> {
        match question {
            Question::Catalogue {} => to_json(&PageOffer::new()),
            Question::Sample { name, seed } => {
                let made = catalogue::sample(&name, seed).map_err(Failure::usage)?;
                self.take(Stored::Memory(made), Vec::new())
            }
            Question::Read { name, keys } => self.read(name, &keys),
            Question::Table { name, keys } => to_json(&api::table_of(self.file(name), &keys)?),
            Question::Hash {} => self.hash(),
            Question::HasHash { sha256 } => {
                self.trace_mut()?.meta_mut().sha256 = Some(sha256);
                Ok(Value::Null)
            }
            Question::ReadRunFile { text } => {
                let keys = toml::from_str::<Keys>(&text);
                let refused = |error| Failure::usage(format!("the run file: {error}"));
                to_json(&keys.map_err(refused)?)
            }
            Question::Plan { keys } => self.plan(&keys),
            Question::Answers { groups } => {
                let said: Vec<_> = groups.iter().map(|runs| api::answers_of(runs)).collect();
                to_json(&said)
            }
            Question::Run { number } => self.run(number),
        }
    }

    /// The file of the host under its name.
    fn file(&self, name: String) -> Source {
        Source::Stream(name, Box::new(HostFile(self.host)))
    }

    fn read(&mut self, name: String, keys: &Keys) -> Result<Value, Failure> {
        let reading = self.host.reading;
        let read = api::read_source(self.file(name), keys, &mut |reader| {
            reading(reader.counts().requests);
        });
        let (mut traces, warnings) = read?;
        match (traces.pop(), traces.is_empty()) {
            (Some(trace), true) => self.take(trace, warnings),
            _ => Err(Failure::usage(
                "volumes = \"split\" makes several traces, and the playground has one at a time; allowed: \
                 \"stack\", \"only=VOLUME\", \"overlay\"",
            )),
        }
    }

    /// Keeps a trace in the place of the one before.
    fn take(&mut self, trace: Stored, warnings: Vec<String>) -> Result<Value, Failure> {
        let mut summary = TraceFacts::of(&trace).map_err(trace_failure)?;
        summary.footprint_bytes = footprint_pages(trace.workload(), PAGE)? * PAGE;
        (self.trace, self.plan) = (Some(trace), None);
        Ok(json!({ "trace": to_json(&summary)?, "warnings": warnings }))
    }

    fn hash(&self) -> Result<Value, Failure> {
        let (mut hash, mut piece) = (Sha256::new(), vec![0; PIECE]);
        loop {
            let read = (self.host.read)(&mut piece);
            match read.map_err(|error| Failure::Run(error.to_string()))? {
                0 => break,
                n => hash.update(&piece[..n]),
            }
        }
        Ok(json!(hexadecimal(hash)))
    }

    fn plan(&mut self, keys: &Keys) -> Result<Value, Failure> {
        let (plan, warnings) = CheckedRuns::new(None, keys, &[])?;
        let runs = plan.specs().iter().zip(plan.identities());
        let runs = runs.map(|(run, identity)| {
            let device = run.device.as_ref();
            json!({
                "identity": identity,
                "scheme": run.expr.to_string(),
                "cache_bytes": run.cache.0,
                "bound": run.expr.scheme().role == Role::Offline,
                "device": device.map(|device| &device.name),
                // Of a buffer that this scheme leaves undrained.
                "drained": device
                    .filter(|device| device.is_bounded())
                    .and_then(|_| run.expr.drained())
                    .map(|drained| drained.to_string()),
                // A filled device is the same for all runs, whatever the trace.
                "filled": device.is_some_and(|device| device.precondition.fill.of(100) > 0),
            })
        });
        let runs: Vec<Value> = runs.collect();
        let refused = plan.refusals();
        let text = toml::to_string(keys).map_err(|error| Failure::Run(error.to_string()))?;
        self.plan = Some(plan);
        Ok(json!({ "runs": runs, "refused": refused, "warnings": warnings, "run_file": text }))
    }

    fn run(&mut self, number: usize) -> Result<Value, Failure> {
        let plan = self.plan.as_ref();
        let plan = plan.ok_or_else(|| Failure::usage("there is no plan"))?;
        let run = plan.only_run(number);
        let trace = self.trace.as_ref().ok_or_else(no_trace)?;
        let Executed {
            records,
            mut warnings,
            refused,
        } = self.session.execute(&run, trace, follower(self.host))?;
        warnings.extend(refused.iter().map(Failure::text));
        let record = records.first().map(|kept| &kept.0);
        let compared = record.map(ComparedRun::from);
        let record = record.map(to_json).transpose()?;
        Ok(json!({ "record": record, "compared": compared, "warnings": warnings }))
    }

    fn trace_mut(&mut self) -> Result<&mut Stored, Failure> {
        self.trace.as_mut().ok_or_else(no_trace)
    }
}

/// Tells the host how far a run has come.
fn follower(host: PageHost) -> Arc<Follower> {
    let mut follower = Follower::on_this_thread().looking(Box::new(move |follower| {
        let (served, all) = (&follower.progress.requests, &follower.requests);
        (host.running)(served.load(Ordering::Relaxed), all.load(Ordering::Relaxed));
        false
    }));
    follower.progress.on_prepared = Some(host.preparing);
    Arc::new(follower)
}

fn no_trace() -> Failure {
    Failure::usage("there is no trace yet")
}

fn to_json(value: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(value).map_err(|error| Failure::Run(format!("no JSON: {error}")))
}

#[cfg(test)]
mod tests;
