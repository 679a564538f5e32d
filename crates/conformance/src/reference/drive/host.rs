//! The host's side: streams, slots, cores, links and the pace (D-13, D-14, D-16, D-17).
//! (DEVICE_MODEL.md, "Drives with units", The host's side, The price of a write)

use destage_device::config::CommandOrder;

use super::config::ns;
use super::model::DriveModel;
use super::outcome::{DriveOp, DriveRequest};
use super::state::{Event, Stream};

/// Nanoseconds of so many things at a rate a second, rounded up.
fn time_at(count: u64, rate: u64) -> u64 {
    (u128::from(count) * 1_000_000_000).div_ceil(u128::from(rate)) as u64
}

impl DriveModel {
    pub(super) fn arrives(&mut self, i: usize) {
        self.served[i].flushing = self.requests[i].preflush && !self.nvm;
        let stream = self.requests[i].stream;
        let streams = &mut self.host.streams;
        streams.resize(streams.len().max(stream + 1), Stream::default());
        streams[stream].outside.push_back(i);
        self.let_in();
    }

    /// Queue depths, then slots in turn over the streams.
    fn let_in(&mut self) {
        let depth = self.config.queue_depth.unwrap_or(u64::MAX);
        for stream in &mut self.host.streams {
            while stream.outstanding < depth {
                let Some(i) = stream.outside.pop_front() else {
                    break;
                };
                stream.outstanding += 1;
                stream.submitted.push_back(i);
                self.outcome.times[i].admitted = self.now;
            }
        }
        let slots = self.device.command_slots.map_or(u64::MAX, u64::from);
        while self.host.slots_used < slots {
            let count = self.host.streams.len();
            let last = self.host.last_stream;
            let turns = (1..=count).map(|step| (last.wrapping_add(step)) % count);
            let next = turns
                .into_iter()
                .find(|&s| !self.host.streams[s].submitted.is_empty());
            let Some(stream) = next else { break };
            let Some(i) = self.host.streams[stream].submitted.pop_front() else {
                break;
            };
            self.host.last_stream = stream;
            self.host.slots_used += 1;
            self.fetch(i);
        }
    }

    fn fetch(&mut self, i: usize) {
        self.host.fetched.push_back(i);
        self.served[i].fetched = self.host.fetches;
        self.host.fetches += 1;
        let cores = &mut self.host.cores_free;
        let first = (0..cores.len()).min_by_key(|&c| (cores[c], c));
        let core = first.expect("there is a core");
        cores[core] = cores[core].max(self.now) + self.device.t_command.map_or(0, ns);
        let end = cores[core];
        self.at(end, Event::Commanded(i));
    }

    pub(super) fn commanded(&mut self, i: usize) {
        let r = self.requests[i];
        let writes = r.is_write() && !self.served[i].flushing;
        match self.device.host_link.write().filter(|_| writes) {
            Some(rate) => {
                let free = &mut self.host.link_in_free;
                *free = (*free).max(self.now) + time_at(r.bytes, rate);
                let end = *free;
                self.at(end, Event::LinkedIn(i));
            }
            None => self.enters(i),
        }
    }

    /// A command can begin as far as it is concerned.
    pub(super) fn enters(&mut self, i: usize) {
        if !self.is_fifo() {
            return self.begin(i);
        }
        self.served[i].may_begin = true;
        if self.host.fetched.front() == Some(&i) {
            self.begin(i);
        }
    }

    fn is_fifo(&self) -> bool {
        self.device.command_order == Some(CommandOrder::Fifo)
    }

    pub(super) fn begin(&mut self, i: usize) {
        self.served[i].parts = 1;
        match self.op(i) {
            DriveOp::Read => {
                self.read(i);
                self.has_started(i);
            }
            DriveOp::Flush if self.nvm => {
                self.buffer.begins(&self.seen(i));
                self.at(self.now + self.t_dram, Event::PartDone(i));
                self.has_started(i);
            }
            DriveOp::Flush => {
                self.buffer.begins(&self.seen(i));
                match self.on_demand {
                    true => self.flush_on_demand(i),
                    false => self.flush(i, true),
                }
                self.has_started(i);
            }
            DriveOp::Trim => {
                self.at(self.now + self.t_dram, Event::PartDone(i));
                self.trim(i);
                self.has_started(i);
            }
            DriveOp::Write | DriveOp::WriteFua => {
                let time = self.pace(i);
                if time > self.now {
                    self.at(time, Event::Paced(i));
                } else {
                    self.comes_to_buffer(i);
                }
            }
        }
    }

    /// When a write is let in that comes to the buffer now.
    fn pace(&mut self, i: usize) -> u64 {
        let Some(price) = self.device.write_price() else {
            return self.now;
        };
        let (unit, r) = (self.m, self.requests[i]);
        let units = (r.offset + r.bytes - 1) / unit - r.offset / unit + 1;
        let s = self.debt.mean();
        let of = |units: u64| {
            let each = u128::from(65_536 * price.host) + u128::from(price.moved) * u128::from(s);
            let full = (u128::from(units) * each).div_ceil(65_536) as u64;
            full.min(price.most.map_or(u64::MAX, |most| units * most))
        };
        let paid = self.host.paid.max(self.now);
        self.host.paid = paid + of(units);
        paid.saturating_sub(of(price.burst.into())).max(self.now)
    }

    pub(super) fn comes_to_buffer(&mut self, i: usize) {
        self.served[i].passage = self.buffer.begins(&self.seen(i));
        let mut dropped = false;
        for lpn in self.buffer.take_unmapped() {
            dropped |= self.unmap(lpn);
        }
        let first = self.waiters.is_empty();
        if self.write_pages(i, first) {
            self.write_started(i);
        } else {
            self.buffer.waits(&self.seen(i));
            self.waiters.push_back(i);
        }
        if dropped {
            self.drain();
        }
        // A frame may be free for those that wait, or their page may have one.
        if self.buffer.take_moved() {
            self.serve_flushes();
            self.serve_waiters();
        }
    }

    /// The last page of a write has its frame.
    pub(super) fn write_started(&mut self, i: usize) {
        self.buffer.ends(&self.seen(i));
        self.at(self.now + self.t_dram, Event::PartDone(i));
        if self.is_forced(i) {
            self.served[i].parts += 1;
            match self.on_demand {
                true => self.force_on_demand(i),
                false => self.flush(i, false),
            }
        }
        self.has_started(i);
    }

    /// The next command in order of fetch may begin.
    fn has_started(&mut self, i: usize) {
        if !self.is_fifo() {
            self.host.fetched.clear();
            return;
        }
        let first = self.host.fetched.pop_front();
        assert_eq!(first, Some(i), "commands start in order");
        let next = self.host.fetched.front().copied();
        if let Some(next) = next.filter(|&next| self.served[next].may_begin) {
            self.at(self.now, Event::Begins(next));
        }
    }

    /// One of the things that a request waits for is done.
    pub(super) fn part_done(&mut self, i: usize) {
        self.served[i].parts -= 1;
        if self.served[i].parts > 0 {
            return;
        }
        if std::mem::take(&mut self.served[i].flushing) {
            self.served[i].may_begin = false;
            return self.fetch(i);
        }
        let r = self.requests[i];
        match self
            .device
            .host_link
            .read()
            .filter(|_| r.op == DriveOp::Read)
        {
            Some(rate) => {
                let free = &mut self.host.link_out_free;
                *free = (*free).max(self.now) + time_at(r.bytes, rate);
                let end = *free;
                self.at(end, Event::Done(i));
            }
            None => self.done(i),
        }
    }

    pub(super) fn done(&mut self, i: usize) {
        self.served[i].done = true;
        self.outcome.times[i].completed = self.now;
        self.host.slots_used -= 1;
        self.host.last_done = self.now;
        self.host.streams[self.requests[i].stream].outstanding -= 1;
        self.let_in();
    }

    /// `--flush-at-end`.
    pub(super) fn add_last_flush(&mut self) {
        let i = self.requests.len();
        self.requests.push(DriveRequest {
            at: self.now,
            op: DriveOp::Flush,
            offset: 0,
            bytes: 0,
            stream: 0,
            preflush: false,
            prev: [None; 4],
            atomic: false,
        });
        self.at(self.now, Event::Arrives(i));
    }
}
