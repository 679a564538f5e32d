//! Questions about the state of the model.

use super::*;
use destage_device::nand::ChipStats;
use destage_types::ChipId;

const GC_CLASSES: [Class; 2] = [Class::Gc, Class::BackgroundGc];

impl Reference {
    fn on_chip(&self, chip: ChipId) -> impl Iterator<Item = &Operation> {
        let ops = self.pending().map(|(_, op)| op);
        ops.filter(move |op| op.command.chip == chip)
    }

    pub(super) fn on_die(&self, chip: ChipId, die: u32) -> impl Iterator<Item = &Operation> {
        self.on_chip(chip).filter(move |op| op.command.die == die)
    }

    /// Those that are over, too.
    fn ever_on_die(&self, chip: ChipId, die: u32) -> impl Iterator<Item = &Operation> {
        let ops = self.operations.iter();
        ops.filter(move |op| op.command.chip == chip && op.command.die == die)
    }

    fn on_channel(&self, channel: ChannelId) -> impl Iterator<Item = &Operation> {
        let ops = self.pending().map(|(_, op)| op);
        ops.filter(move |op| op.command.chip.0 % self.channels == channel.0)
    }

    /// How far an operation is.
    pub fn state(&self, number: u64) -> OpState {
        assert!(number < self.submitted, "operation {number} comes later");
        let Some(i) = self.position(number) else {
            return OpState::Finished;
        };
        let op = &self.operations[i];
        if op.waits() {
            OpState::Waiting
        } else if op.in_service() {
            OpState::Started
        } else {
            OpState::Finished
        }
    }

    pub(super) fn position(&self, number: u64) -> Option<usize> {
        self.operations
            .binary_search_by_key(&number, |op| op.number)
            .ok()
    }

    /// The command of operation `number`.
    ///
    /// # Panics
    /// It is forgotten.
    pub fn command(&self, number: u64) -> &FlashCommand {
        let i = self.position(number).expect("the operation is kept");
        &self.operations[i].command
    }

    /// Host operations of one kind on a chip, waiting or in service.
    pub fn host_count(&self, chip: ChipId, kind: OpKind) -> u32 {
        let of_kind = |op: &&Operation| {
            op.command.class == Class::Host && op.command.kind == kind && op.is_pending()
        };
        self.on_chip(chip).filter(of_kind).count() as u32
    }

    /// Kind and class of the operation a chip runs, of several that with the longest rest.
    pub fn in_service(&self, chip: ChipId) -> Option<(OpKind, Class)> {
        let mut found: Option<&Operation> = None;
        for die in 0..self.dies {
            let Some(op) = self.on_die(chip, die).find(|op| op.holds_die()) else {
                continue;
            };
            if found.is_none_or(|f| self.rest(op) > self.rest(f)) {
                found = Some(op);
            }
        }
        found.map(|op| (op.command.kind, op.command.class))
    }

    /// Rest of an operation in service if its bus waits are over.
    fn rest(&self, op: &Operation) -> u64 {
        match op.at {
            Progress::CommandThenArray { array, .. } => array - self.now + data_out(&op.command),
            Progress::WaitsForBus(_) => data_out(&op.command),
            Progress::DataOut(until) => until - self.now,
            _ => 0,
        }
    }

    /// Rest of the operation in service, of several the longest.
    pub fn residual(&self, chip: ChipId) -> Nanos {
        let rests = self.on_chip(chip).map(|op| self.rest(op));
        Nanos(rests.max().unwrap_or(0))
    }

    /// Rest of an operation that has not ended, without waits.
    fn still(&self, op: &Operation) -> u64 {
        if op.waits() {
            let (first, array) = phases(&self.timing, &op.command);
            return first + array + data_out(&op.command);
        }
        if let (Progress::Suspended { left }, Some(rule)) = (op.at, self.suspension) {
            return left + rule.resume.0;
        }
        self.rest(op)
    }

    /// Rest of what a chip runs and of all waiting operations of `lowest` class or above, on the
    /// die that takes longest.
    pub fn drain_time(&self, chip: ChipId, lowest: Class) -> Nanos {
        let of = |die| {
            let ops = self.on_die(chip, die);
            let ops = ops.filter(|op| op.in_service() || op.command.class <= lowest);
            let times = ops.map(|op| self.still(op)).sum::<u64>();
            times + self.resumes_to_come(chip, die)
        };
        Nanos((0..self.dies).map(of).max().unwrap_or(0))
    }

    /// Has a job of this class on the chip been submitted that is not over?
    pub fn in_gc_of(&self, chip: ChipId, class: Class) -> bool {
        let mut ops = self.on_chip(chip);
        ops.any(|op| op.job.is_some() && op.command.class == class && op.is_pending())
    }

    /// Is it in GC state because of a job of either class?
    pub fn in_gc(&self, chip: ChipId) -> bool {
        GC_CLASSES.iter().any(|&class| self.in_gc_of(chip, class))
    }

    /// Rest of the operations of both GC classes, if the chip is in GC state.
    pub fn gc_remaining(&self, chip: ChipId) -> Option<Nanos> {
        let ops = self.on_chip(chip);
        let ops = ops.filter(|op| GC_CLASSES.contains(&op.command.class));
        let rest = Nanos(ops.map(|op| self.still(op)).sum());
        self.in_gc(chip).then_some(rest)
    }

    /// No host or GC operation on the channel, and its bus free.
    pub fn is_channel_idle(&self, channel: ChannelId) -> bool {
        self.bus_is_free(channel.0)
            && !self
                .on_channel(channel)
                .any(|op| op.command.class != Class::Background && op.is_pending())
    }

    /// No operation of any class on the chip.
    pub fn is_chip_idle(&self, chip: ChipId) -> bool {
        !self.on_chip(chip).any(Operation::is_pending)
    }

    /// Background operations of a channel: (waiting, started and not ended).
    pub fn background(&self, channel: ChannelId) -> (u32, u32) {
        let count = |test: fn(&Operation) -> bool| {
            self.on_channel(channel)
                .filter(|op| op.command.class == Class::Background && test(op))
                .count() as u32
        };
        (count(Operation::waits), count(Operation::in_service))
    }

    /// Counters of a die: of what has started, and times of what is in its last phase.
    pub fn counters(&self, chip: ChipId, die: u32) -> ChipStats {
        let mut stats = ChipStats::default();
        for op in self.ever_on_die(chip, die) {
            let c = &op.command;
            if op.end_known() {
                let held = op.held + op.end - op.since;
                stats.busy += Nanos(held);
                if c.kind == OpKind::Read {
                    let (first, array) = phases(&self.timing, c);
                    stats.stalled += Nanos(held - first - array - data_out(c));
                }
            }
            if op.in_service() || op.at == Progress::Ended {
                stats.done[c.kind as usize] += u64::from(c.planes);
                match c.kind {
                    OpKind::Read => stats.bytes_read += u64::from(c.bytes),
                    _ => stats.bytes_programmed += u64::from(c.bytes),
                }
            }
        }
        stats
    }

    /// Time the bus of a channel was granted for.
    pub fn bus_time(&self, channel: ChannelId) -> Nanos {
        let transfers = self.transfers[channel.index()].iter();
        Nanos(transfers.map(|[from, to]| to - from).sum())
    }

    /// The part of it that has passed.
    pub fn bus_time_so_far(&self, channel: ChannelId) -> Nanos {
        let transfers = self.transfers[channel.index()].iter();
        Nanos(transfers.map(|&[from, to]| to.min(self.now) - from).sum())
    }

    /// Time for which operations have held a die up to now.
    pub fn held_so_far(&self, chip: ChipId, die: u32) -> Nanos {
        let has_started = |op: &&Operation| op.in_service() || op.at == Progress::Ended;
        let started = self.ever_on_die(chip, die).filter(has_started);
        let held = started.map(|op| match op.end_known() {
            true => op.held + op.end.min(self.now) - op.since,
            false if !op.holds_die() => op.held,
            false => op.held + self.now - op.since,
        });
        Nanos(held.sum())
    }
}
