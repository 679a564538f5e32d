//! Which request the device is given next: self-clocked fair queueing over the connections.
//!
//! Each connection has a queue. A request has a tag: the bytes that its connection has been given, and its own. The
//! request with the least tag is next; a connection that had nothing to ask begins at the tag that was served last.
//! So a connection that asks for little is served before one that asks for much, however many requests that one has
//! waiting.

use super::export::Task;
use super::pieces::HOLE_SHARE;
use crate::protocol::transmission::NbdCommand;
use std::collections::{BTreeSet, HashMap, VecDeque};

/// Cost of a request besides its bytes.
const REQUEST_COST: u64 = 4096;
/// Cost of a FLUSH.
const FLUSH_COST: u64 = 64 << 10;

/// Requests of one connection.
struct Flow {
    waiting: VecDeque<Task>,
    /// Tag of the first of them.
    tag: u64,
}

/// Requests that the device has not been given.
#[derive(Default)]
pub(super) struct FairQueue {
    flows: HashMap<u64, Flow>,
    /// Tag and connection of the first request of each.
    first: BTreeSet<(u64, u64)>,
    /// Tag that was served last.
    served: u64,
}

impl FairQueue {
    pub fn push(&mut self, task: Task) {
        let connection = task.to.connection().id;
        if let Some(flow) = self.flows.get_mut(&connection) {
            flow.waiting.push_back(task);
            return;
        }
        let tag = self.served + cost(&task);
        self.first.insert((tag, connection));
        let waiting = VecDeque::from([task]);
        self.flows.insert(connection, Flow { waiting, tag });
    }

    /// The request that is next.
    pub fn peek(&self) -> Option<&Task> {
        let (_, connection) = self.first.first()?;
        self.flows.get(connection)?.waiting.front()
    }

    pub fn pop(&mut self) -> Option<Task> {
        let (tag, connection) = self.first.pop_first()?;
        self.served = tag;
        let flow = self.flows.get_mut(&connection)?;
        let task = flow.waiting.pop_front();
        match flow.waiting.front() {
            Some(next) => {
                flow.tag = tag + cost(next);
                self.first.insert((flow.tag, connection));
            }
            None => _ = self.flows.remove(&connection),
        }
        task
    }

    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Drops the requests of a connection whose client has gone.
    pub fn forget(&mut self, connection: u64) {
        if let Some(flow) = self.flows.remove(&connection) {
            self.first.remove(&(flow.tag, connection));
        }
    }

    /// All requests that wait, in no order.
    pub fn drain(&mut self) -> impl Iterator<Item = Task> {
        self.first.clear();
        let flows = std::mem::take(&mut self.flows);
        flows.into_values().flat_map(|flow| flow.waiting)
    }
}

/// Cost of a request in time of the device and of its thread, roughly in bytes that move.
pub(super) fn cost(task: &Task) -> u64 {
    let request = &task.request;
    REQUEST_COST
        + match request.command {
            Ok(NbdCommand::Flush) => FLUSH_COST,
            Ok(NbdCommand::Trim | NbdCommand::WriteZeroes) if moved(task) == 0 => {
                u64::from(request.length) / HOLE_SHARE
            }
            _ => moved(task),
        }
}

/// Bytes that the device moves for a request; the least that it moves is about a page.
pub(super) fn moved(task: &Task) -> u64 {
    let request = &task.request;
    let bytes = u64::from(request.length);
    match request.command {
        Ok(NbdCommand::Read | NbdCommand::Write | NbdCommand::Cache) => bytes.max(REQUEST_COST),
        Ok(NbdCommand::WriteZeroes) if request.no_hole() => bytes.max(REQUEST_COST),
        _ => 0,
    }
}
