//! A log-structured file system over the requests of a trace.

use destage_types::rng::mix64;
use destage_types::{HostRequest, Nanos, Op, RequestBatch, RequestOrigin, RequestRef, Tag};

use super::checkpoint::{CheckpointTables, Dirty};
use super::config::{InPlace, LfsConfig, Nodes, Trim};
use super::volume::{Heat, NONE, Space, size};
use super::{HostFsError, RequestBlock, blocks, files, push};
use destage_trace::RequestCollector;
use destage_trace::Workload;

/// Data blocks that one index block of F2FS points to.
const PER_NODE: u64 = 1018;
/// Requests of up to so many blocks are hot in F2FS (`min_hot_blocks`).
const HOT_BLOCKS: u64 = 16;
/// Gap in which a file system that trims when idle does so.
const IDLE: Nanos = Nanos(10_000_000);

/// One volume. Owners are numbered: blocks of the trace, then index blocks, then what else fills
/// the volume.
pub(super) struct LogFs<'a> {
    config: &'a LfsConfig,
    space: Space,
    /// Blocks of the trace, ascending.
    files: Vec<u64>,
    /// Index blocks: block of the trace / [`PER_NODE`], ascending.
    nodes: Vec<u64>,
    /// Where each owner is.
    at: Vec<u32>,
    tables: CheckpointTables,
    dirty: Dirty,
    /// Requests served.
    served: u64,
    last: Nanos,
    checkpoint: Nanos,
    /// Blocks that lost their data and were not trimmed.
    freed: Vec<u32>,
    rows: Vec<RequestBlock>,
    /// Index blocks to be written.
    touched: Vec<u32>,
}

/// Nothing is left to write to; the index of the request is added by the caller.
struct Full;

impl<'a> LogFs<'a> {
    /// The requests that the file system makes of `trace`.
    pub fn run(
        config: &'a LfsConfig,
        trace: Workload<'_>,
        out: &mut RequestCollector,
    ) -> Result<(), HostFsError> {
        let mut model = LogFs::new(config, trace)?;
        trace.try_each(|request, r| {
            let served = model.serve(r, &mut out.made);
            served.map_err(|Full| HostFsError::Full { request })?;
            Ok::<(), HostFsError>(out.part()?)
        })?;
        let request = model.served;
        let ended = model.end(&mut out.made);
        ended.map_err(|Full| HostFsError::Full { request })
    }

    fn new(config: &'a LfsConfig, trace: Workload<'_>) -> Result<LogFs<'a>, HostFsError> {
        let files = files(trace)?;
        let mut nodes: Vec<u64> = match config.nodes {
            Nodes::Sync | Nodes::Checkpoint => files.iter().map(|block| block / PER_NODE).collect(),
            Nodes::Off => Vec::new(),
        };
        nodes.dedup();
        let own = (files.len() + nodes.len()) as u64;
        let (units, fill) = size(config, files.len() as u64, own)?;
        let total = units * config.unit();
        let mut model = LogFs {
            config,
            space: Space::new(config, units as u32),
            tables: CheckpointTables::new(total, config.segment, nodes.len() as u64),
            at: vec![NONE; own as usize + fill as usize],
            files,
            nodes,
            dirty: Dirty::default(),
            served: 0,
            last: Nanos::ZERO,
            checkpoint: Nanos::ZERO,
            freed: Vec::new(),
            rows: Vec::new(),
            touched: Vec::new(),
        };
        model
            .populate(own as usize)
            .map_err(|Full| HostFsError::Full { request: 0 })?;
        Ok(model)
    }

    /// Fills the volume before the trace: other files, then the trace's, then their index.
    fn populate(&mut self, own: usize) -> Result<(), Full> {
        for owner in own..self.at.len() {
            self.allocate(Heat::Warm, owner as u32)?;
        }
        if self.config.prealloc {
            for owner in 0..self.files.len() {
                self.allocate(Heat::Warm, owner as u32)?;
            }
            for owner in self.files.len()..own {
                self.allocate(Heat::Node, owner as u32)?;
            }
        }
        self.dirty.take(&self.tables);
        Ok(())
    }

    fn serve(&mut self, request: RequestRef<'_>, out: &mut RequestBatch) -> Result<(), Full> {
        let head = request.head;
        self.trim_idle(head.arrival, out);
        let interval = self.config.checkpoint_s * 1_000_000_000;
        if interval > 0 && head.arrival.0 - self.checkpoint.0 >= interval {
            self.write_checkpoint(head.arrival, out)?;
        }
        (self.last, self.served) = (head.arrival, self.served + 1);
        match head.op {
            Op::Write => self.write(request, out),
            Op::Read => self.read(request, out),
            Op::Trim => {
                self.discard(request, out);
                Ok(())
            }
            Op::Flush => {
                out.push(own(head.arrival, Op::Flush, Tag::None));
                Ok(())
            }
        }
    }

    fn id(&self, block: u64) -> Option<u32> {
        self.files.binary_search(&block).ok().map(|i| i as u32)
    }

    /// Gives the owner a new block; the old one stays valid until [`LogFs::release`].
    fn allocate(&mut self, heat: Heat, owner: u32) -> Result<u32, Full> {
        let block = self.space.write(heat, owner, self.served).ok_or(Full)?;
        self.at[owner as usize] = block;
        if self.config.checkpoint_s > 0 {
            self.dirty.note(&self.tables, block);
            self.dirty.note_full(&self.tables, block);
            if let Some(node) = owner.checked_sub(self.files.len() as u32)
                && (node as usize) < self.nodes.len()
            {
                self.dirty.note_node(node);
            }
        }
        Ok(block)
    }

    fn release(&mut self, block: u32) {
        self.space.invalidate(block);
        if self.config.checkpoint_s > 0 {
            self.dirty.note(&self.tables, block);
        }
        if self.config.trim != Trim::None {
            self.freed.push(block);
        }
    }

    fn stays(&self, block: u64, request_blocks: u64) -> bool {
        let limit = (self.config.ipu * (1u128 << 64) as f64) as u128;
        u128::from(mix64(block)) < limit
            || match self.config.ipu_policy {
                InPlace::Never => false,
                InPlace::Force => true,
                InPlace::Util => self.space.utilisation() > self.config.ipu_util,
                InPlace::Small => request_blocks <= self.config.ipu_blocks,
            }
    }

    fn write(&mut self, request: RequestRef<'_>, out: &mut RequestBatch) -> Result<(), Full> {
        let count = blocks(request).count() as u64;
        self.make_room(count, request.head, out)?;
        let heat = if count <= HOT_BLOCKS {
            Heat::Hot
        } else {
            Heat::Warm
        };
        let mut rows = std::mem::take(&mut self.rows);
        rows.clear();
        for block in blocks(request) {
            let id = self
                .id(block)
                .expect("every block of the trace has its number");
            let old = self.at[id as usize];
            if old != NONE && self.stays(block, count) {
                rows.push(RequestBlock::moved(old, Some(old)));
                continue;
            }
            let new = self.allocate(heat, id)?;
            if old != NONE {
                self.release(old);
            }
            rows.push(RequestBlock::moved(new, (old != NONE).then_some(old)));
            if self.config.nodes != Nodes::Off {
                let node = self.nodes.binary_search(&(block / PER_NODE));
                let node = node.expect("every block of the trace has its index block");
                self.touched.push((self.files.len() + node) as u32);
            }
        }
        let mut head = *request.head;
        (head.tag, head.origin) = (Tag::Data, RequestOrigin::FileSystem);
        push(out, head, &rows);
        self.rows = rows;
        if self.config.nodes == Nodes::Sync {
            self.write_nodes(request.head, out)?;
        }
        self.trim_now(request.head, out);
        Ok(())
    }

    /// The index blocks of what was moved since they were written last.
    fn write_nodes(&mut self, head: &HostRequest, out: &mut RequestBatch) -> Result<(), Full> {
        if self.touched.is_empty() {
            return Ok(());
        }
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        let mut rows = std::mem::take(&mut self.rows);
        rows.clear();
        for &owner in &touched {
            let old = self.at[owner as usize];
            let new = self.allocate(Heat::Node, owner)?;
            if old != NONE {
                self.release(old);
            }
            let named = old != NONE && self.config.node_pairs;
            rows.push(RequestBlock::moved(new, named.then_some(old)));
        }
        push(out, like(head, Op::Write, Tag::Node), &rows);
        touched.clear();
        (self.rows, self.touched) = (rows, touched);
        Ok(())
    }

    /// A block that was never written is mapped at the head of the log, without a write.
    fn read(&mut self, request: RequestRef<'_>, out: &mut RequestBatch) -> Result<(), Full> {
        self.make_room(blocks(request).count() as u64, request.head, out)?;
        let mut rows = std::mem::take(&mut self.rows);
        rows.clear();
        for block in blocks(request) {
            let id = self
                .id(block)
                .expect("every block of the trace has its number");
            let known = self.at[id as usize];
            let at = if known != NONE {
                known
            } else {
                self.allocate(Heat::Warm, id)?
            };
            rows.push(RequestBlock::new(at));
        }
        push(out, like(request.head, Op::Read, Tag::Data), &rows);
        self.rows = rows;
        Ok(())
    }

    fn discard(&mut self, request: RequestRef<'_>, out: &mut RequestBatch) {
        for block in blocks(request) {
            let Some(id) = self.id(block) else { continue };
            let old = std::mem::replace(&mut self.at[id as usize], NONE);
            if old != NONE {
                self.release(old);
            }
        }
        self.trim_now(request.head, out);
    }

    /// Cleans until there is room for `blocks` more and the reserve.
    fn make_room(
        &mut self,
        blocks: u64,
        head: &HostRequest,
        out: &mut RequestBatch,
    ) -> Result<(), Full> {
        let logs = 1 + u64::from(self.config.nodes != Nodes::Off);
        let wanted = self.config.reserve.max(blocks / self.config.unit() + logs);
        let mut tries = 4 * self.at.len().max(16);
        while !self.config.ssr && self.space.free_units() < wanted {
            tries = tries.checked_sub(1).ok_or(Full)?;
            self.clean(head, out)?;
        }
        Ok(())
    }

    fn clean(&mut self, head: &HostRequest, out: &mut RequestBatch) -> Result<(), Full> {
        let unit = self.space.victim(self.served).ok_or(Full)?;
        let moved: Vec<u32> = self.space.blocks(unit).collect();
        if moved.len() as u64 == self.config.unit() {
            return Err(Full);
        }
        let sources = moved.iter().map(|&block| RequestBlock::new(block));
        let sources: Vec<_> = sources.collect();
        push(out, like(head, Op::Read, Tag::Gc), &sources);
        let mut rows = Vec::with_capacity(moved.len());
        let nodes = self.files.len()..self.files.len() + self.nodes.len();
        for &old in &moved {
            let owner = self.space.owner(old);
            let node = nodes.contains(&(owner as usize));
            let heat = if node { Heat::Node } else { Heat::Cold };
            let new = self.allocate(heat, owner)?;
            self.release(old);
            let named = !node || self.config.node_pairs;
            rows.push(RequestBlock::moved(new, named.then_some(old)));
        }
        push(out, like(head, Op::Write, Tag::Gc), &rows);
        Ok(())
    }

    fn trim_now(&mut self, head: &HostRequest, out: &mut RequestBatch) {
        if self.config.trim == Trim::Sync {
            self.emit_trim(head.arrival, out);
        }
    }

    fn trim_idle(&mut self, now: Nanos, out: &mut RequestBatch) {
        if self.config.trim == Trim::Idle && now.0.saturating_sub(self.last.0) >= IDLE.0 {
            self.emit_trim(Nanos(self.last.0 + IDLE.0), out);
        }
    }

    /// One TRIM of all freed blocks that were not written again.
    fn emit_trim(&mut self, now: Nanos, out: &mut RequestBatch) {
        self.freed.sort_unstable();
        self.freed.dedup();
        let space = &self.space;
        self.freed.retain(|&block| space.owner(block) == NONE);
        if !self.freed.is_empty() {
            let rows = self.freed.iter().map(|&block| RequestBlock::new(block));
            let rows: Vec<_> = rows.collect();
            push(out, own(now, Op::Trim, Tag::None), &rows);
        }
        self.freed.clear();
    }

    /// The end of the load is a sync.
    fn end(&mut self, out: &mut RequestBatch) -> Result<(), Full> {
        match self.config.checkpoint_s {
            0 => Ok(()),
            _ => self.write_checkpoint(self.last, out),
        }
    }

    fn write_checkpoint(&mut self, now: Nanos, out: &mut RequestBatch) -> Result<(), Full> {
        let head = own(now, Op::Write, Tag::Meta);
        self.touched.sort_unstable();
        self.touched.dedup();
        if !self.touched.is_empty() {
            self.make_room(self.touched.len() as u64, &head, out)?;
        }
        self.write_nodes(&head, out)?;
        self.checkpoint = now;
        let tables = self.dirty.take(&self.tables);
        let rows = tables
            .into_iter()
            .map(|at| RequestBlock { at, old: Some(at) });
        let rows: Vec<_> = rows.collect();
        push(out, head, &rows);
        Ok(())
    }
}

/// A request of the file system itself, whose address is still to be said.
fn own(now: Nanos, op: Op, tag: Tag) -> HostRequest {
    let mut request = HostRequest::new(now, op, 0, 0);
    request.tag = tag;
    request.origin = match tag {
        Tag::Gc => RequestOrigin::Cleaning,
        _ => RequestOrigin::FileSystem,
    };
    request
}

/// A request of the file system itself at the time and for the stream of `head`.
fn like(head: &HostRequest, op: Op, tag: Tag) -> HostRequest {
    let mut request = own(head.arrival, op, tag);
    request.stream = head.stream;
    request
}
