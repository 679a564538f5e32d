//! Multi-plane commands: which pages of a request go into one operation of the array.
//!
//! A batch is what one host request asks of the flash, all of it at one instant: its reads, the
//! programs of its own pages, of what it evicts and of FLUSH. The array holds it back until the
//! request is known in full ([`destage_device::nand::Nand::hold`]), so nothing of it has started while pages join. A page
//! joins the earliest operation of the batch
//! - of the same kind (read or program) and on the same die,
//! - behind every one of that kind that has a page of its plane: pages of a plane keep their order,
//! - that waits for the same: the collection that made room on the die, the read before a partial
//!   page, the program that a read must not overtake,
//! - with `plane_aligned`, at the same page of the same block of its plane.
//!
//! Why a page is read or programmed does not matter. Summary pages, collections and background
//! write-backs are operations of their own: the last can be taken back one by one.

use super::Engine;
use super::book::NONE;
use destage_device::config::DeviceConfig;
use destage_device::ftl::Place;
use destage_device::nand::{Command, Kind, OpId};
use destage_types::PlaneId;

/// What the pages of one operation have in common beside kind and die.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key {
    after: Option<OpId>,
    and_after: Option<OpId>,
    /// The last foreground collection of the die: places from before and after it do not mix.
    job: Option<OpId>,
    /// Page in its plane if planes must be aligned, else 0.
    offset: u64,
}

/// An operation of the batch.
#[derive(Clone, Copy, Debug)]
struct Group {
    id: OpId,
    key: Key,
    /// Token of its last page.
    tail: u32,
    /// The next one of its kind and die.
    next: u32,
}

/// A group that was set in some batch; of an earlier one it says nothing.
#[derive(Clone, Copy, Debug)]
struct Mark {
    batch: u64,
    group: u32,
}

impl Mark {
    const NEVER: Mark = Mark {
        batch: 0,
        group: NONE,
    };

    fn in_batch(self, batch: u64) -> Option<u32> {
        (self.batch == batch).then_some(self.group)
    }
}

/// Operations of the batch, by the order in which they came.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// Pages of a plane if planes must be aligned; else 1, and every page has the same offset.
    pages_per_plane: u64,
    /// Dies of the device: plane `p` is on die `p` modulo them.
    dies: u32,
    batch: u64,
    list: Vec<Group>,
    /// First and last group by kind and die.
    first: [Vec<Mark>; 2],
    last: [Vec<Mark>; 2],
    /// Last group with a page of the plane, by kind and plane.
    of_plane: [Vec<Mark>; 2],
}

impl Groups {
    /// `None` unless the device has multi-plane commands and planes for them.
    pub fn new(config: &DeviceConfig) -> Option<Groups> {
        let g = &config.geometry;
        if !config.multi_plane || g.planes_per_die == 1 {
            return None;
        }
        let (planes, dies) = (g.planes(), g.planes() / g.planes_per_die);
        let marks = |n: u32| [(); 2].map(|()| vec![Mark::NEVER; n as usize]);
        Some(Groups {
            pages_per_plane: match config.plane_aligned {
                true => u64::from(g.blocks_per_plane) * u64::from(g.pages_per_block),
                false => 1,
            },
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
    fn find(&self, kind: usize, plane: PlaneId, key: &Key) -> Option<u32> {
        let mut at = match self.of_plane[kind][plane.index()].in_batch(self.batch) {
            Some(group) => self.list[group as usize].next,
            None => self.first[kind][self.die(plane)].in_batch(self.batch)?,
        };
        while at != NONE && self.list[at as usize].key != *key {
            at = self.list[at as usize].next;
        }
        (at != NONE).then_some(at)
    }

    /// Operation `id` with a page in `plane`, whose token is `token`, is the newest of its die.
    fn open(&mut self, kind: usize, plane: PlaneId, key: Key, id: OpId, token: u32) {
        let (die, batch, group) = (self.die(plane), self.batch, self.list.len() as u32);
        let (tail, next) = (token, NONE);
        self.list.push(Group {
            id,
            key,
            tail,
            next,
        });
        let mark = Mark { batch, group };
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
        self.of_plane[kind][plane.index()] = Mark { batch, group };
        std::mem::replace(&mut self.list[group as usize].tail, token)
    }
}

impl Engine {
    /// Submits a read or program that a request asked for, or lets it join another one.
    #[inline(always)]
    pub(super) fn submit_page(&mut self, command: Command, place: Place) -> OpId {
        match self.groups {
            None => self.nand.submit(self.now, command, &mut self.book),
            Some(_) => self.submit_or_join(command, place),
        }
    }

    #[inline(never)]
    fn submit_or_join(&mut self, command: Command, place: Place) -> OpId {
        let job = self.job_of(place.chip, command.die);
        let groups = self
            .groups
            .as_mut()
            .expect("there are multi-plane commands");
        let key = Key {
            after: command.after,
            and_after: command.and_after,
            job,
            offset: u64::from(place.ppn.0) % groups.pages_per_plane,
        };
        let (kind, token) = (usize::from(command.kind == Kind::Program), command.token);
        if let Some(group) = groups.find(kind, place.plane, &key) {
            let id = groups.list[group as usize].id;
            let before = groups.add(kind, place.plane, group, token);
            self.nand.join(id, command.transfer, command.bytes);
            self.book.follow(before, token);
            return id;
        }
        let id = self.nand.submit(self.now, command, &mut self.book);
        groups.open(kind, place.plane, key, id, token);
        id
    }
}
