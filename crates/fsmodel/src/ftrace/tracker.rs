//! Joins page events to block requests.

use std::collections::{BTreeMap, BTreeSet};

use destage_types::request::NO_PREV;
use destage_types::{Op, RequestFlags, Tag};

use super::event::{BlockEvent, Dev, EventHeader, KernelEvent, PageEvent};
use super::f2fs::{F2fsVolume, Owner, SECTORS, Sent, is_block};
use super::out::{DiskCommand, Out};
use super::report::{ImportReport, WrittenBlocks};
use super::runs::Piece;
use super::seed::{self, SeededFile};
use super::{DeviceSpec, Import, ImportError, ImportOptions, Place, RequestEvent};

/// Blocks of the longest write whose pairs are kept: what trace formats take, 1 GiB.
const MOST_PAIRS: u64 = 1 << 18;

fn kind(piece: &Piece<Option<Sent>>) -> Option<Tag> {
    piece.value.map(|sent| sent.tag)
}

/// State of an import.
pub(super) struct Tracker {
    pub options: ImportOptions,
    devices: Vec<DeviceSpec>,
    volumes: BTreeMap<Dev, F2fsVolume>,
    /// Bytes that they took when they were last asked.
    of_volumes: u64,
    seeds: Vec<SeededFile>,
    out: Out,
    /// Block requests by device.
    seen: BTreeMap<Dev, u64>,
    queued: BTreeSet<Dev>,
    writes: u64,
    /// First sectors of bios that the journal thread of ext4 sent.
    journal: BTreeSet<u64>,
    prev: Vec<u64>,
    pub report: ImportReport,
}

impl Tracker {
    pub fn new(mut options: ImportOptions) -> Result<Tracker, ImportError> {
        let mut seeds = Vec::new();
        for (ino, source) in std::mem::take(&mut options.seeds) {
            let extents = seed::read(source)?;
            seeds.push(SeededFile { ino, extents });
        }
        let report = ImportReport {
            f2fs: options.f2fs.unwrap_or(false),
            seeded: seeds
                .iter()
                .flat_map(|file| &file.extents)
                .fold(0, |sum, extent| sum + extent.blocks),
            ..ImportReport::default()
        };
        Ok(Tracker {
            devices: options.devices.clone(),
            options,
            volumes: BTreeMap::new(),
            of_volumes: 0,
            seeds,
            out: Out::default(),
            seen: BTreeMap::new(),
            queued: BTreeSet::new(),
            writes: 0,
            journal: BTreeSet::new(),
            prev: Vec::new(),
            report,
        })
    }

    /// Takes one event.
    pub fn event(
        &mut self,
        header: &EventHeader<'_>,
        event: KernelEvent<'_>,
        place: Place<'_>,
    ) -> Result<(), ImportError> {
        match event {
            KernelEvent::Queue(block) => self.queue(header, block),
            KernelEvent::Issue(block) => self.issue(header, block),
            KernelEvent::Remap(block, part, sector) => {
                self.remap(block, part, sector);
                Ok(())
            }
            KernelEvent::Page(page) => self.page(header, page, place),
            KernelEvent::Map(fs, ino, offset, start, len) => {
                let (first, value) = (offset, start);
                self.map(header.pid, fs, ino, Piece { first, len, value });
                Ok(())
            }
            KernelEvent::Atomic(fs, ino, index, old, new) => {
                self.commit(fs, Owner::File(ino, index), old, new, place)
            }
            KernelEvent::Bio(fs, target, sector) => {
                let volume = self.volume(fs);
                if target == fs {
                    volume.bio(sector, place)
                } else {
                    Ok(())
                }
            }
            other => {
                self.note(header, other);
                Ok(())
            }
        }
    }

    /// Events that change what is known about a volume, not about a block.
    fn note(&mut self, header: &EventHeader<'_>, event: KernelEvent<'_>) {
        match event {
            KernelEvent::Direct(fs, writes) => {
                self.volume(fs).direct.insert(header.pid, writes);
            }
            KernelEvent::GcBegin(fs) => {
                let own = header.comm.trim_start().starts_with("f2fs_gc");
                self.report.gc_runs.0 += u64::from(own);
                self.report.gc_runs.1 += u64::from(!own);
                self.volume(fs).cleaning.insert(header.pid);
            }
            KernelEvent::GcEnd(fs) => {
                self.volume(fs).cleaning.remove(&header.pid);
            }
            KernelEvent::Checkpoint(_) => self.report.checkpoints += 1,
            KernelEvent::Discard(_) => self.report.fs_discards += 1,
            _ => {}
        }
    }

    /// Bytes of what is remembered. Volumes are asked now and then: a line adds few entries to them,
    /// but may add a long list to the requests.
    pub fn memory(&mut self) -> u64 {
        if self.report.lines.is_multiple_of(256) {
            self.of_volumes = self.volumes.values().map(F2fsVolume::memory).sum();
        }
        self.out.memory() + self.of_volumes
    }

    fn volume(&mut self, fs: Dev) -> &mut F2fsVolume {
        let seeds = &self.seeds;
        let volume = self.volumes.entry(fs);
        volume.or_insert_with(|| F2fsVolume::with_files(seeds))
    }

    /// The first event of F2FS says what the file system is, unless the user did.
    fn is_f2fs(&mut self, place: Place<'_>) -> Result<(), ImportError> {
        if self.report.f2fs || self.options.f2fs.is_some() {
            return Ok(());
        }
        if self.writes > 0 {
            return Err(ImportError::LateF2fs {
                file: place.file.to_owned(),
                line: place.line,
                writes: self.writes,
            });
        }
        self.report.f2fs = true;
        Ok(())
    }

    fn page(
        &mut self,
        header: &EventHeader<'_>,
        page: PageEvent,
        place: Place<'_>,
    ) -> Result<(), ImportError> {
        if !page.write {
            return Ok(());
        }
        self.is_f2fs(place)?;
        let strict = self.options.strict.then_some(place);
        self.volume(page.dev).page(header, page, strict)
    }

    fn map(&mut self, pid: u32, fs: Dev, ino: u64, run: Piece<u64>) {
        if !is_block(run.value) {
            return;
        }
        let (writes, unknown) = self.volume(fs).map(pid, ino, run);
        self.report.direct_unknown += unknown;
        // A mapping alone says F2FS only once something is written through it.
        self.report.f2fs |= writes && self.options.f2fs.is_none() && self.writes == 0;
    }

    fn commit(
        &mut self,
        fs: Dev,
        owner: Owner,
        old: u64,
        new: u64,
        place: Place<'_>,
    ) -> Result<(), ImportError> {
        let strict = self.options.strict.then_some(place);
        let written = self.volume(fs).commit(owner, old, new, strict)?;
        let wanted = self.devices.iter().any(|d| d.fs.unwrap_or(d.dev) == fs);
        if let Some(pair) = written.filter(|_| wanted) {
            // Written already, without a pair: data of the first kind become moved ones.
            self.out.patch(pair, old * SECTORS);
            self.report.atomic += 1;
            self.report.data.first -= 1;
            self.report.data.moved += 1;
        }
        Ok(())
    }

    /// A partition's request became one of its disk: that tells where the partition lies.
    fn remap(&mut self, block: BlockEvent<'_>, part: Dev, sector: u64) {
        let Some(start) = block.sector.checked_sub(sector) else {
            return;
        };
        if self.devices.is_empty() {
            let (dev, fs, start) = (block.dev, Some(part), Some(start));
            self.devices.push(DeviceSpec { dev, fs, start });
        }
        let device = self.devices.iter_mut().find(|d| d.dev == block.dev);
        if let Some(device) = device.filter(|d| d.fs.is_none_or(|fs| fs == part)) {
            device.fs = Some(part);
            device.start = device.start.or(Some(start));
        }
    }

    /// The stream and the address in the partition of a request, unless it is left out.
    fn wanted(&mut self, block: &BlockEvent<'_>) -> Option<(u32, DeviceSpec, u64)> {
        if self.devices.is_empty() {
            let (dev, fs, start) = (block.dev, None, None);
            self.devices.push(DeviceSpec { dev, fs, start });
        }
        let Some(stream) = self.devices.iter().position(|d| d.dev == block.dev) else {
            *self.report.other_devices.entry(block.dev).or_default() += 1;
            return None;
        };
        let device = self.devices[stream];
        let Some(sector) = block.sector.checked_sub(device.start.unwrap_or(0)) else {
            if block.sectors > 0 {
                self.report.outside += 1;
                return None;
            }
            return Some((stream as u32, device, 0));
        };
        Some((stream as u32, device, sector))
    }

    fn queue(
        &mut self,
        header: &EventHeader<'_>,
        block: BlockEvent<'_>,
    ) -> Result<(), ImportError> {
        self.queued.insert(block.dev);
        if header.comm.trim_start().starts_with("jbd2") && block.op() == b'W' {
            self.journal.insert(block.sector);
        }
        if self.options.requests == RequestEvent::Queue {
            return self.request(header, block);
        }
        // Drivers split discards; the file system's own are the ones to replay.
        if block.op() == b'D' {
            return self.request(header, block);
        }
        Ok(())
    }

    fn issue(
        &mut self,
        header: &EventHeader<'_>,
        block: BlockEvent<'_>,
    ) -> Result<(), ImportError> {
        let split = block.op() == b'D' && self.queued.contains(&block.dev);
        if self.options.requests == RequestEvent::Queue || split {
            return Ok(());
        }
        self.request(header, block)
    }

    fn request(
        &mut self,
        header: &EventHeader<'_>,
        block: BlockEvent<'_>,
    ) -> Result<(), ImportError> {
        *self.seen.entry(block.dev).or_default() += 1;
        let Some((stream, device, sector)) = self.wanted(&block) else {
            return Ok(());
        };
        let (op, time) = (block.op(), header.time_ns);
        let queue = self.options.requests == RequestEvent::Queue;
        let is_write = op == b'W' && block.sectors > 0;
        if op == b'F' || queue && block.flush_first() && !is_write {
            self.report.requests[3] += 1;
            let flush = DiskCommand {
                op: Op::Flush,
                tag: Tag::None,
                flags: RequestFlags::NONE,
                stream,
                start: 0,
                sectors: 0,
            };
            self.out.push(time, flush, &[])?;
        }
        if block.sectors == 0 {
            return Ok(());
        }
        let command = |op, tag| DiskCommand {
            op,
            tag,
            flags: RequestFlags::NONE,
            stream,
            start: sector,
            sectors: block.sectors,
        };
        match op {
            b'D' => {
                self.report.requests[2] += 1;
                self.out.push(time, command(Op::Trim, Tag::None), &[])
            }
            b'R' => {
                self.report.requests[0] += 1;
                let tag = if block.meta() { Tag::Meta } else { Tag::Data };
                self.out.push(time, command(Op::Read, tag), &[])
            }
            b'W' => {
                self.writes += 1;
                self.report.requests[1] += 1;
                let preflush = queue && block.flush_first();
                self.report.fua += u64::from(block.fua());
                self.report.preflush += u64::from(preflush);
                let flags = RequestFlags::FUA.only_if(block.fua());
                let flags = flags.and(RequestFlags::PREFLUSH.only_if(preflush));
                if self.report.f2fs {
                    let write = command(Op::Write, Tag::None);
                    self.write_f2fs(time, DiskCommand { flags, ..write }, device)
                } else {
                    let tag = self.tag_of_write(header, block, sector);
                    let write = command(Op::Write, tag);
                    self.out.push(time, DiskCommand { flags, ..write }, &[])
                }
            }
            _ => Ok(()),
        }
    }

    /// A write of a file system without page events, in place: data unless it says otherwise.
    fn tag_of_write(
        &mut self,
        header: &EventHeader<'_>,
        block: BlockEvent<'_>,
        sector: u64,
    ) -> Tag {
        let journal = header.comm.trim_start().starts_with("jbd2");
        let meta = self.journal.remove(&block.sector) || journal || block.meta();
        let tag = if meta { Tag::Meta } else { Tag::Data };
        let blocks = (sector + block.sectors).div_ceil(SECTORS) - sector / SECTORS;
        self.counted(tag).first += blocks;
        tag
    }

    fn counted(&mut self, tag: Tag) -> &mut WrittenBlocks {
        match tag {
            Tag::Node => &mut self.report.node,
            Tag::Meta => &mut self.report.meta,
            Tag::Gc => &mut self.report.gc,
            Tag::Data | Tag::None => &mut self.report.data,
        }
    }

    /// A write of F2FS: runs of blocks of one kind, each with the pairs of its pages.
    fn write_f2fs(
        &mut self,
        time: u64,
        write: DiskCommand,
        device: DeviceSpec,
    ) -> Result<(), ImportError> {
        let (sector, sectors) = (write.start, write.sectors);
        let fs = device.fs.unwrap_or(device.dev);
        let end = (sector + sectors) / SECTORS;
        let block = sector / SECTORS;
        if !(sector | sectors).is_multiple_of(SECTORS) {
            // Drivers cut long requests anywhere: a block goes with its last sector.
            self.report.cut += 1;
        }
        let sent = self.volume(fs).take_sent(block, end);
        let runs: Vec<&[Piece<Option<Sent>>]> = sent.chunk_by(|a, b| kind(a) == kind(b)).collect();
        for &run in &runs {
            self.write_run(time, write, fs, run)?;
        }
        self.report.split += u64::from(runs.len() > 1);
        Ok(())
    }

    /// Consecutive blocks of one kind.
    fn write_run(
        &mut self,
        time: u64,
        write: DiskCommand,
        fs: Dev,
        run: &[Piece<Option<Sent>>],
    ) -> Result<(), ImportError> {
        let (first, tag) = (run[0].first, kind(&run[0]));
        let blocks = run.iter().map(|piece| piece.len).sum::<u64>();
        if tag.is_some() && blocks > MOST_PAIRS {
            return Err(ImportError::Place(
                "a write of F2FS is longer than 1 GiB, too much for a list of old addresses",
            ));
        }
        let mut prev = std::mem::take(&mut self.prev);
        prev.clear();
        for piece in run {
            let old = piece.value.and_then(|sent| sent.old);
            self.count(tag, piece, old);
            // Blocks that nothing is known of stay without a pair for ever.
            if tag.is_some() {
                let pair = |i| old.map_or(NO_PREV, |old| (old + i) * SECTORS);
                prev.extend((0..piece.len).map(pair));
            }
        }
        let write = DiskCommand {
            tag: tag.unwrap_or(Tag::None),
            start: first * SECTORS,
            sectors: blocks * SECTORS,
            ..write
        };
        self.out.push(time, write, &prev)?;
        self.prev = prev;
        let unpaired = |piece: &&Piece<Option<Sent>>| piece.value.is_some_and(|s| s.old.is_none());
        for piece in run
            .iter()
            .filter(|_| tag == Some(Tag::Data))
            .filter(unpaired)
        {
            if let Some(entry) = self.out.entry((piece.first - first) as usize) {
                self.volume(fs)
                    .wrote_unpaired(piece.first, piece.len, entry);
            }
        }
        Ok(())
    }

    fn count(&mut self, tag: Option<Tag>, piece: &Piece<Option<Sent>>, old: Option<u64>) {
        let Some(tag) = tag else {
            self.report.unmatched += piece.len;
            return;
        };
        let counted = self.counted(tag);
        match old {
            None => counted.first += piece.len,
            Some(old) if old == piece.first => counted.in_place += piece.len,
            Some(_) => counted.moved += piece.len,
        }
    }

    /// Ends the import.
    pub fn finish(mut self) -> Result<Import, ImportError> {
        let known: Vec<String> = self
            .seen
            .iter()
            .map(|(dev, n)| format!("{dev} ({n} requests)"))
            .collect();
        let known = known.join(", ");
        if self.seen.is_empty() || self.out.len() == 0 && self.options.devices.is_empty() {
            let lines = self.report.lines;
            return Err(ImportError::Nothing { lines });
        }
        if self.options.devices.is_empty() && self.seen.len() > 1 {
            return Err(ImportError::Devices { known });
        }
        for device in &self.options.devices {
            if !self.seen.contains_key(&device.dev) {
                let wanted = device.dev;
                return Err(ImportError::NoDevice { wanted, known });
            }
        }
        for device in &self.devices {
            if let Some(volume) = self.volumes.get(&device.fs.unwrap_or(device.dev)) {
                self.report.unissued += volume.unissued();
                for (sum, own) in self.report.checks.iter_mut().zip(volume.checks) {
                    sum.agreed += own.agreed;
                    sum.contradicted += own.contradicted;
                    sum.unknown += own.unknown;
                }
            }
        }
        self.check_matches()?;
        self.report.out_of_order = self.out.out_of_order;
        let requests = self.out.finish(self.devices.len())?;
        let report = self.report;
        Ok(Import { requests, report })
    }

    fn check_matches(&self) -> Result<(), ImportError> {
        let r = &self.report;
        let kinds = [r.data, r.node, r.meta, r.gc];
        let matched: u64 = kinds.iter().map(|b| b.moved + b.in_place + b.first).sum();
        if !r.f2fs || matched > 0 || r.unmatched == 0 {
            return Ok(());
        }
        let chosen = |dev: Dev| self.devices.iter().any(|d| d.fs.unwrap_or(d.dev) == dev);
        let others: Vec<String> = self
            .volumes
            .keys()
            .filter(|d| !chosen(**d))
            .map(Dev::to_string)
            .collect();
        let hint = if others.is_empty() {
            "; is the first sector of the partition right (start=SECTOR)?".to_owned()
        } else {
            format!("; F2FS is on {}: say fs=MAJOR,MINOR", others.join(" and "))
        };
        let blocks = r.unmatched;
        Err(ImportError::NothingMatched { blocks, hint })
    }
}
