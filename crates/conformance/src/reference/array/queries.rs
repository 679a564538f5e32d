//! Questions about the state of the model.

use super::*;
use destage_device::nand::ChipStats;
use destage_types::ChipId;

const GC_CLASSES: [Class; 2] = [Class::Gc, Class::BackgroundGc];

impl SlowArray {
    fn on_chip(&self, chip: ChipId) -> impl Iterator<Item = &Operation> {
        let ops = self.pending().map(|(_, op)| op);
        ops.filter(move |op| op.command.chip == chip && op.is_pending())
    }

    fn on_channel(&self, channel: ChannelId) -> impl Iterator<Item = &Operation> {
        let ops = self.pending().map(|(_, op)| op);
        let here = move |op: &&Operation| op.command.chip.0 % self.channels == channel.0;
        ops.filter(move |op| here(op) && op.is_pending())
    }

    /// Those that have started, also if they are over.
    fn ever_on_chip(&self, chip: ChipId) -> impl Iterator<Item = &Operation> {
        let ops = self.operations.iter();
        ops.filter(move |op| op.lane == chip.0 && op.start.is_some())
    }

    /// How far an operation is.
    pub fn state(&self, number: u64) -> OpState {
        assert!(number < self.submitted, "operation {number} comes later");
        match self.position(number).map(|i| &self.operations[i]) {
            Some(op) if op.waits() => OpState::Waiting,
            Some(op) if op.in_service() => OpState::Started,
            _ => OpState::Finished,
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
        let of_kind = |op: &&Operation| (op.command.class, op.command.kind) == (Class::Host, kind);
        self.on_chip(chip).filter(of_kind).count() as u32
    }

    /// Kind and class of the operation a chip runs.
    pub fn in_service(&self, chip: ChipId) -> Option<(OpKind, Class)> {
        let held = self.on_chip(chip).find(|op| op.holds_die())?;
        Some((held.command.kind, held.command.class))
    }

    /// The kind of that operation, if it is of the host.
    pub fn host_in_service(&self, chip: ChipId) -> Option<OpKind> {
        let (kind, class) = self.in_service(chip)?;
        (class == Class::Host).then_some(kind)
    }

    /// Rest of an operation in service if its bus waits are over.
    fn rest(&self, op: &Operation) -> u64 {
        match op.at {
            Progress::Runs(until) => until - self.now + op.later(),
            Progress::Asks(_) => op.phases[op.phase].time() + op.later(),
            _ => 0,
        }
    }

    /// Rest of the operation in service.
    pub fn residual(&self, chip: ChipId) -> Nanos {
        let rests = self.on_chip(chip).map(|op| self.rest(op));
        Nanos(rests.max().unwrap_or(0))
    }

    /// Rest of an operation that has not ended, without waits.
    fn still(&self, op: &Operation) -> u64 {
        match (op.at, self.suspension) {
            (Progress::Suspended(left), Some(rule)) => left + rule.resume.0,
            _ if op.waits() => op.phases.iter().map(Phase::time).sum(),
            _ => self.rest(op),
        }
    }

    /// Rest of what a chip runs and of all waiting operations of `lowest` class or above. A drive does not look ahead at
    /// what will be suspended (DR-10).
    pub fn drain_time(&self, chip: ChipId, lowest: Class) -> Nanos {
        let ops = self.on_chip(chip);
        let ops = ops.filter(|op| op.in_service() || op.command.class <= lowest);
        let times = ops.map(|op| self.still(op)).sum::<u64>();
        let pause = self.free_since[chip.index()].saturating_sub(self.now);
        Nanos(match self.gates {
            Some(_) => times + pause,
            None => times + self.resumes_to_come(chip.0),
        })
    }

    /// Has a job of this class on the chip been submitted that is not over?
    pub fn in_gc_of(&self, chip: ChipId, class: Class) -> bool {
        let mut ops = self.on_chip(chip);
        ops.any(|op| op.job.is_some() && op.command.class == class)
    }

    /// Is it in GC state because of a job of either class?
    pub fn in_gc(&self, chip: ChipId) -> bool {
        GC_CLASSES.iter().any(|&class| self.in_gc_of(chip, class))
    }

    /// Rest of the operations of both GC classes.
    pub fn gc_time(&self, chip: ChipId) -> Nanos {
        let ops = self.on_chip(chip);
        let ops = ops.filter(|op| GC_CLASSES.contains(&op.command.class));
        Nanos(ops.map(|op| self.still(op)).sum())
    }

    /// The same, if the chip is in GC state.
    pub fn gc_remaining(&self, chip: ChipId) -> Option<Nanos> {
        self.in_gc(chip).then(|| self.gc_time(chip))
    }

    /// No host or GC operation on the channel, and its bus free.
    pub fn is_channel_idle(&self, channel: ChannelId) -> bool {
        let mut ops = self.on_channel(channel);
        self.bus_is_free(channel.0) && !ops.any(|op| op.command.class != Class::Background)
    }

    /// No operation of any class on the chip.
    pub fn is_chip_idle(&self, chip: ChipId) -> bool {
        self.on_chip(chip).next().is_none()
    }

    /// Background operations of a channel: (waiting, started and not ended).
    pub fn background(&self, channel: ChannelId) -> (u32, u32) {
        let all = self.on_channel(channel);
        let ours = all.filter(|op| op.command.class == Class::Background);
        let (waiting, started): (Vec<_>, Vec<_>) = ours.partition(|op| op.waits());
        (waiting.len() as u32, started.len() as u32)
    }

    /// Counters of a chip: of what has started, and times of what is in its last phase.
    pub fn counters(&self, chip: ChipId) -> ChipStats {
        let mut stats = ChipStats::default();
        for op in self.ever_on_chip(chip) {
            let c = &op.command;
            if op.end_known() {
                let held = op.held + op.end - op.since;
                stats.busy += Nanos(held);
                if c.kind == OpKind::Read {
                    let served: u64 = op.phases.iter().map(Phase::time).sum();
                    stats.stalled += Nanos(held - served);
                }
            }
            stats.done[c.kind as usize] += u64::from(c.planes);
            match c.kind {
                OpKind::Read => stats.bytes_read += u64::from(c.bytes),
                _ => stats.bytes_programmed += u64::from(c.bytes),
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

    /// Time for which operations have held a chip up to now.
    pub fn held_so_far(&self, chip: ChipId) -> Nanos {
        let held = self.ever_on_chip(chip).map(|op| match op.end_known() {
            true => op.held + op.end.min(self.now) - op.since,
            false if !op.holds_die() => op.held,
            false => op.held + self.now - op.since,
        });
        Nanos(held.sum())
    }
}
