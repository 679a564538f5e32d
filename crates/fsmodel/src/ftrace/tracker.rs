//! Joins page events to block requests.

use std::collections::{BTreeMap, BTreeSet};

use destage_types::request::NO_PREV;
use destage_types::{Op, Tag};

use super::event::{BlockEvent, Dev, EventHeader, KernelEvent, PageEvent};
use super::f2fs::{F2fsVolume, Owner, SECTORS, is_block};
use super::out::Out;
use super::report::{ImportReport, WrittenBlocks};
use super::{DeviceSpec, Import, ImportError, ImportOptions, Place, RequestEvent, seed};

/// State of an import.
pub(super) struct Tracker {
    options: ImportOptions,
    devices: Vec<DeviceSpec>,
    volumes: BTreeMap<Dev, F2fsVolume>,
    seeds: Vec<(u64, Vec<seed::Run>)>,
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
            seeds.push((ino, seed::read(source)?));
        }
        let report = ImportReport {
            f2fs: options.f2fs.unwrap_or(false),
            seeded: seeds.iter().flat_map(|s| &s.1).map(|run| run.2).sum(),
            ..ImportReport::default()
        };
        Ok(Tracker {
            devices: options.devices.clone(),
            options,
            volumes: BTreeMap::new(),
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
                self.map(header.pid, fs, (ino, offset), (start, len));
                Ok(())
            }
            KernelEvent::Atomic(fs, ino, index, old, new) => {
                self.commit(fs, Owner::File(ino, index), (old, new), place)
            }
            KernelEvent::Bio(fs, target, sector) => {
                let volume = self.volume(fs);
                match target == fs {
                    true => volume.bio(sector, place),
                    false => Ok(()),
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

    fn map(&mut self, pid: u32, fs: Dev, first: (u64, u64), run: (u64, u64)) {
        if !is_block(run.0) {
            return;
        }
        let (writes, unknown) = self.volume(fs).map(pid, first, run);
        self.report.direct_unknown += unknown;
        // A mapping alone says F2FS only once something is written through it.
        self.report.f2fs |= writes && self.options.f2fs.is_none() && self.writes == 0;
    }

    fn commit(
        &mut self,
        fs: Dev,
        owner: Owner,
        (old, new): (u64, u64),
        place: Place<'_>,
    ) -> Result<(), ImportError> {
        let strict = self.options.strict.then_some(place);
        let written = self.volume(fs).commit(owner, (old, new), strict)?;
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
        if op == b'F' || queue && block.flush_first() {
            self.report.requests[3] += 1;
            self.out
                .push(time, (Op::Flush, Tag::None, stream), (0, 0), &[])?;
        }
        if block.sectors == 0 {
            return Ok(());
        }
        let place = (sector, block.sectors);
        match op {
            b'D' => {
                self.report.requests[2] += 1;
                self.out
                    .push(time, (Op::Trim, Tag::None, stream), place, &[])
            }
            b'R' => {
                self.report.requests[0] += 1;
                let tag = if block.meta() { Tag::Meta } else { Tag::Data };
                self.out.push(time, (Op::Read, tag, stream), place, &[])
            }
            b'W' => {
                self.writes += 1;
                self.report.requests[1] += 1;
                self.report.fua += u64::from(block.fua());
                match self.report.f2fs {
                    true => self.write_f2fs(time, stream, device, place),
                    false => self.write_other(header, block, stream, place),
                }
            }
            _ => Ok(()),
        }
    }

    /// A write of a file system without page events, in place: data unless it says otherwise.
    fn write_other(
        &mut self,
        header: &EventHeader<'_>,
        block: BlockEvent<'_>,
        stream: u32,
        place: (u64, u64),
    ) -> Result<(), ImportError> {
        let journal = header.comm.trim_start().starts_with("jbd2");
        let meta = self.journal.remove(&block.sector) || journal || block.meta();
        let tag = if meta { Tag::Meta } else { Tag::Data };
        let blocks = (place.0 + place.1).div_ceil(SECTORS) - place.0 / SECTORS;
        self.counted(tag).first += blocks;
        self.out
            .push(header.time_ns, (Op::Write, tag, stream), place, &[])
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
        stream: u32,
        device: DeviceSpec,
        (sector, sectors): (u64, u64),
    ) -> Result<(), ImportError> {
        let fs = device.fs.unwrap_or(device.dev);
        let end = (sector + sectors) / SECTORS;
        let mut block = sector / SECTORS;
        if !(sector | sectors).is_multiple_of(SECTORS) {
            // Drivers cut long requests anywhere: a block goes with its last sector.
            self.report.cut += 1;
        }
        let mut runs = 0;
        while block < end {
            let (first, tag) = (block, self.kind(fs, block));
            self.prev.clear();
            let mut unpaired = Vec::new();
            while block < end && self.kind(fs, block) == tag {
                let sent = self.volume(fs).sent.remove(&block);
                let old = sent.and_then(|s| s.old);
                self.count(tag, block, old);
                if tag == Some(Tag::Data) && old.is_none() {
                    unpaired.push((block, self.prev.len()));
                }
                self.prev.push(old.map_or(NO_PREV, |b| b * SECTORS));
                block += 1;
            }
            let place = (first * SECTORS, (block - first) * SECTORS);
            let kind = (Op::Write, tag.unwrap_or(Tag::None), stream);
            let prev = std::mem::take(&mut self.prev);
            self.out.push(time, kind, place, &prev)?;
            self.prev = prev;
            for (block, index) in unpaired {
                if let Some(entry) = self.out.entry(index) {
                    self.volume(fs).unpaired.insert(block, entry);
                }
            }
            runs += 1;
        }
        self.report.split += u64::from(runs > 1);
        Ok(())
    }

    fn kind(&mut self, fs: Dev, block: u64) -> Option<Tag> {
        self.volume(fs).sent.get(&block).map(|s| s.tag)
    }

    fn count(&mut self, tag: Option<Tag>, block: u64, old: Option<u64>) {
        let Some(tag) = tag else {
            self.report.unmatched += 1;
            return;
        };
        let counted = self.counted(tag);
        match old {
            None => counted.first += 1,
            Some(old) if old == block => counted.in_place += 1,
            Some(_) => counted.moved += 1,
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
                self.report.unissued += volume.sent.len() as u64;
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
        let hint = match others.is_empty() {
            true => "; is the first sector of the partition right (start=SECTOR)?".to_owned(),
            false => format!("; F2FS is on {}: say fs=MAJOR,MINOR", others.join(" and ")),
        };
        let blocks = r.unmatched;
        Err(ImportError::NothingMatched { blocks, hint })
    }
}
