//! Multi-plane commands: which pages of a request go into one operation of the array.
//!
//! A batch is what one host request asks of the flash, all of it at one instant: its reads, the
//! programs of its own pages, of what it evicts and of FLUSH. The array holds it back until the
//! request is known in full ([`destage_device::nand::Nand::hold`]), so nothing of it has started while pages join. A page
//! joins the earliest operation of the batch
//! - of the same kind (read or program) and on the same die,
//! - behind every one of that kind that has a page of its plane: pages of a plane keep their order,
//! - that waits for the same: the collection that made room on the die, the read before a partial
//!   page, the program that a read must not overtake.
//!
//! Why a page is read or programmed does not matter. Summary pages, collections and background
//! write-backs are operations of their own: the last can be taken back one by one.

use super::Engine;
use destage_device::config::DeviceConfig;
use destage_device::map::PhysicalPage;
use destage_device::nand::{FlashCommand, NO_TOKEN, OpId, OpKind};
use destage_types::PlaneId;

/// Properties, besides kind and die, that pages of one operation have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct JoinKey {
    after: Option<OpId>,
    and_after: Option<OpId>,
    /// The last foreground collection of the chip: places from before and after it do not mix.
    job: Option<OpId>,
}

/// An operation of the batch.
#[derive(Clone, Copy, Debug)]
struct SharedOp {
    id: OpId,
    key: JoinKey,
    /// Token of its last page.
    tail: u32,
    /// The next one of its kind and die.
    next: u32,
}

/// An operation of some batch; one of an earlier batch says nothing.
#[derive(Clone, Copy, Debug)]
struct InBatch {
    batch: u64,
    group: u32,
}

impl InBatch {
    const NEVER: InBatch = InBatch {
        batch: 0,
        group: NO_TOKEN,
    };

    fn in_batch(self, batch: u64) -> Option<u32> {
        (self.batch == batch).then_some(self.group)
    }
}

/// Operations of the batch, by the order in which they came.
#[derive(Clone, Debug)]
pub(super) struct MultiPlaneBatch {
    /// Dies of the device: plane `p` is on die `p` modulo them.
    dies: u32,
    batch: u64,
    list: Vec<SharedOp>,
    /// First and last group by kind and die.
    first: [Vec<InBatch>; 2],
    last: [Vec<InBatch>; 2],
    /// Last group with a page of the plane, by kind and plane.
    of_plane: [Vec<InBatch>; 2],
}

impl MultiPlaneBatch {
    /// `None` unless the device has multi-plane commands and planes for them.
    pub fn new(config: &DeviceConfig) -> Option<MultiPlaneBatch> {
        let g = &config.geometry;
        if !config.multi_plane || g.planes_per_die == 1 {
            return None;
        }
        let (planes, dies) = (g.planes(), g.planes() / g.planes_per_die);
        let marks = |n: u32| [(); 2].map(|()| vec![InBatch::NEVER; n as usize]);
        Some(MultiPlaneBatch {
            dies,
            batch: 0,
            list: Vec::new(),
            first: marks(dies),
            last: marks(dies),
            of_plane: marks(planes),
        })
    }

    /// A request begins.
    pub fn start(&mut self) {
        self.batch += 1;
        self.list.clear();
    }

    fn die(&self, plane: PlaneId) -> usize {
        (plane.0 % self.dies) as usize
    }

    /// The operation that a page in `plane` joins.
    fn find(&self, kind: usize, plane: PlaneId, key: &JoinKey) -> Option<u32> {
        let mut at = match self.of_plane[kind][plane.index()].in_batch(self.batch) {
            Some(group) => self.list[group as usize].next,
            None => self.first[kind][self.die(plane)].in_batch(self.batch)?,
        };
        while at != NO_TOKEN && self.list[at as usize].key != *key {
            at = self.list[at as usize].next;
        }
        (at != NO_TOKEN).then_some(at)
    }

    /// Operation `id` with a page in `plane`, whose token is `token`, is the newest of its die.
    fn open(&mut self, kind: usize, plane: PlaneId, key: JoinKey, id: OpId, token: u32) {
        let (die, batch, group) = (self.die(plane), self.batch, self.list.len() as u32);
        let (tail, next) = (token, NO_TOKEN);
        self.list.push(SharedOp {
            id,
            key,
            tail,
            next,
        });
        let mark = InBatch { batch, group };
        match self.last[kind][die].in_batch(batch) {
            Some(last) => self.list[last as usize].next = group,
            None => self.first[kind][die] = mark,
        }
        self.last[kind][die] = mark;
        self.of_plane[kind][plane.index()] = mark;
    }

    /// The page `token` in `plane` is in `group` now; gives the page before it there.
    fn add(&mut self, kind: usize, plane: PlaneId, group: u32, token: u32) -> u32 {
        let batch = self.batch;
        self.of_plane[kind][plane.index()] = InBatch { batch, group };
        std::mem::replace(&mut self.list[group as usize].tail, token)
    }
}

impl Engine {
    /// Submits a read or program that a request asked for, or lets it join another one.
    #[inline(never)]
    pub(super) fn submit_or_join(&mut self, command: FlashCommand, place: PhysicalPage) -> OpId {
        let job = self.job_of(place.chip);
        let batch = self.multi_plane.as_mut();
        let batch = batch.expect("there are multi-plane commands");
        let key = JoinKey {
            after: command.after,
            and_after: command.and_after,
            job,
        };
        let (kind, token) = (usize::from(command.kind == OpKind::Program), command.token);
        if let Some(group) = batch.find(kind, place.plane, &key) {
            let id = batch.list[group as usize].id;
            let before = batch.add(kind, place.plane, group, token);
            self.core
                .nand
                .join(id, command.transfer, command.bytes, command.array);
            self.in_flight.join(before, token);
            self.core.note_join(id);
            self.in_flight.note_id(token, id);
            return id;
        }
        let id = self.submit(command);
        let batch = self.multi_plane.as_mut();
        batch
            .expect("there are multi-plane commands")
            .open(kind, place.plane, key, id, token);
        id
    }
}
