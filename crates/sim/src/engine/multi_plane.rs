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
use destage_device::nand::{FlashCommand, OpId, OpKind};
use destage_types::PlaneId;

/// Properties that pages of one operation have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct JoinKey {
    kind: OpKind,
    die: u32,
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
    /// Planes of its die that it has a page of, as bits.
    planes: [u64; 4],
}

/// Operations of the batch, in the order in which they came.
#[derive(Clone, Debug)]
pub(super) struct MultiPlaneBatch {
    /// Dies of the device: plane `p` is on die `p` modulo them.
    dies: u32,
    list: Vec<SharedOp>,
}

impl MultiPlaneBatch {
    /// `None` unless the device has multi-plane commands and planes for them.
    pub fn new(config: &DeviceConfig) -> Option<MultiPlaneBatch> {
        let g = &config.geometry;
        (config.multi_plane && g.planes_per_die > 1).then(|| MultiPlaneBatch {
            dies: g.planes() / g.planes_per_die,
            list: Vec::new(),
        })
    }

    /// A request begins.
    pub fn start(&mut self) {
        self.list.clear();
    }

    /// Word and bit of a plane in [`SharedOp::planes`].
    fn bit_of(&self, plane: PlaneId) -> (usize, u64) {
        let number = plane.0 / self.dies;
        ((number / u64::BITS) as usize, 1 << (number % u64::BITS))
    }

    /// Page `token` in `plane` joins an operation, if there is one for it. Gives the name of that, and the page before.
    fn join(&mut self, key: &JoinKey, plane: PlaneId, token: u32) -> Option<(OpId, u32)> {
        let (word, bit) = self.bit_of(plane);
        let of_plane = |op: &SharedOp| {
            let alike = (op.key.kind, op.key.die) == (key.kind, key.die);
            alike && op.planes[word] & bit != 0
        };
        let behind = self.list.iter().rposition(of_plane).map_or(0, |at| at + 1);
        let mut behind = self.list[behind..].iter_mut();
        let op = behind.find(|op| op.key == *key)?;
        op.planes[word] |= bit;
        Some((op.id, std::mem::replace(&mut op.tail, token)))
    }

    /// Operation `id` with page `token` in `plane` is new.
    fn open(&mut self, key: JoinKey, plane: PlaneId, token: u32, id: OpId) {
        let (word, bit) = self.bit_of(plane);
        let mut planes = [0; 4];
        planes[word] = bit;
        self.list.push(SharedOp {
            id,
            key,
            tail: token,
            planes,
        });
    }
}

impl Engine {
    /// Submits a read or program that a request asked for, or lets it join another one.
    #[inline(never)]
    pub(super) fn submit_or_join(&mut self, command: FlashCommand, place: PhysicalPage) -> OpId {
        let job = self.job_of(place.chip);
        let batch = self.multi_plane.as_mut().expect(JOINS);
        let key = JoinKey {
            kind: command.kind,
            die: place.plane.0 % batch.dies,
            after: command.after,
            and_after: command.and_after,
            job,
        };
        let token = command.token;
        if let Some((id, before)) = batch.join(&key, place.plane, token) {
            self.core
                .nand
                .join(id, command.transfer, command.bytes, command.array);
            self.in_flight.join(before, token);
            self.core.note_join(id);
            self.in_flight.note_id(token, id);
            return id;
        }
        let id = self.submit(command);
        let batch = self.multi_plane.as_mut().expect(JOINS);
        batch.open(key, place.plane, token, id);
        id
    }
}

const JOINS: &str = "there are multi-plane commands";
