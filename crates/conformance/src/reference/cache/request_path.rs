//! The path of one request through the slow cache (D1 to D12).

use super::{SlowCache, SlowReadFill};
use crate::reference::admission::Verdict;
use crate::reference::flash::SlowCause;
use crate::reference::request::{SlowAccess, SlowRequest};
use crate::reference::store::Frame;

impl SlowCache {
    // ---- reads (D1, D2) ----

    pub(super) fn read(&mut self, request: &SlowRequest, accesses: &[SlowAccess]) {
        self.counts.read_requests += 1;
        self.classify(request, accesses);
        let mut sector_hits = 0;
        for (i, &access) in accesses.iter().enumerate() {
            self.store.next = request.next.get(i).copied().flatten();
            self.store.page_seq += 1;
            let frame = self.store.frames.get(&access.lpn).copied();
            let valid = frame.unwrap_or_default().valid;
            sector_hits += u64::from((valid & access.mask).count_ones());
            let hit = valid & access.mask == access.mask;
            self.row.hits.push(hit);
            if frame.is_some() {
                self.accessed(access.lpn, false);
            }
            if !hit {
                self.read_miss(access, frame);
                continue;
            }
            if self.admission.as_ref().is_none_or(|a| a.read_touch()) {
                let (scheme, store) = self.scheme();
                scheme.touch(access.lpn, false, store);
            }
            self.know(|ahead| ahead.hit(access.lpn, false));
            let sectors = access.mask.count_ones();
            self.store.flash.cache_read(access.lpn, sectors);
        }
        self.finish(request, sector_hits);
    }

    fn read_miss(&mut self, access: SlowAccess, frame: Option<Frame>) {
        // Without allocation, or with `requested`, nothing moves but what is asked for and absent.
        let whole =
            self.store.read_alloc && self.fill == SlowReadFill::Page && self.scheme.is_some();
        let wanted = match whole {
            true => self.store.full(),
            false => access.mask & !frame.unwrap_or_default().valid,
        };
        let read = self.flash_read(access.lpn, wanted.count_ones());
        if self.scheme.is_none() {
            return self.log.push(format!("read{{{}}}", access.lpn));
        }
        let filled = match self.fill {
            SlowReadFill::Page => self.store.full(),
            SlowReadFill::Requested => access.mask,
        };
        if let Some(mut frame) = frame {
            let have = (frame.valid & access.mask).count_ones();
            frame.valid |= filled;
            let (scheme, store) = self.scheme();
            scheme.partial_miss(access.lpn, store);
            if have > 0 {
                self.store.flash.cache_read(access.lpn, have);
            }
            if self.store.read_alloc {
                self.store.frames.insert(access.lpn, frame);
                self.store.flash.cache_fill(access.lpn, read);
            }
            return;
        }
        if !self.store.read_alloc {
            return;
        }
        let (scheme, store) = self.scheme();
        if !scheme.bypasses(access.lpn, store) {
            self.make_room(access.lpn);
            self.insert(access.lpn, filled, 0);
            self.store.flash.cache_fill(access.lpn, read);
            self.ask_about_page(access.lpn);
        }
    }

    // ---- writes (D3, D4) ----

    pub(super) fn write(&mut self, request: &SlowRequest, accesses: &[SlowAccess]) {
        self.counts.write_requests += 1;
        let pairs = self.rename_request(request, accesses);
        self.classify(request, accesses);
        let bytes = request.sectors() * 512;
        let sector_hits = match self.admission.take() {
            None if self.goes_past(accesses) => {
                self.invalidate(accesses);
                accesses.iter().for_each(|&a| self.bypass(a));
                0
            }
            None => {
                let mut hits = 0;
                for (i, &access) in accesses.iter().enumerate() {
                    self.store.next = request.next.get(i).copied().flatten();
                    hits += self.write_page(access);
                }
                hits
            }
            Some(mut admission) => {
                // The classifier's words stand before the verdict.
                let words = self.scheme().0.words();
                words.iter().for_each(|w| self.say(w));
                // With `hit_rule=page` every page is a request of its own.
                let unit = match admission.whole_requests() {
                    false => 1,
                    true => accesses.len(),
                };
                let mut hits = 0;
                for pages in accesses.chunks(unit) {
                    if admission.before(&self.store) {
                        self.log.push("decay".to_owned());
                    }
                    let verdict = admission.judge(pages, bytes, &self.store);
                    self.log.extend(admission.events());
                    hits += self.obey(verdict, pages);
                    if admission.after() {
                        self.log.push("decay".to_owned());
                    }
                    self.log.extend(admission.events());
                }
                self.admission = Some(admission);
                hits
            }
        };
        if let Some(art) = &mut self.art {
            art.enter(pairs, request.atomic);
        }
        self.finish(request, sector_hits);
    }

    /// Does the scheme send every page of the request to flash?
    fn goes_past(&self, accesses: &[SlowAccess]) -> bool {
        let scheme = self.scheme.as_ref();
        scheme.is_some_and(|s| accesses.iter().all(|a| s.sends_past(a.lpn)))
    }

    /// Carries out the verdict of the admission layer; how many sectors were cached.
    fn obey(&mut self, verdict: Verdict, pages: &[SlowAccess]) -> u64 {
        match verdict {
            Verdict::Update(word) => {
                if !word.is_empty() {
                    self.say(&word);
                }
                pages.iter().map(|&a| self.write_page(a)).sum()
            }
            Verdict::Bypass(word) => {
                self.say(&word);
                self.invalidate(pages);
                pages.iter().for_each(|&a| self.bypass(a));
                0
            }
            Verdict::Admit(word) => {
                self.say(&word);
                self.admit_whole(pages);
                0
            }
        }
    }

    /// An ordinary write of one page; how many of its sectors were cached.
    fn write_page(&mut self, access: SlowAccess) -> u64 {
        if self.scheme.is_none() {
            self.log.push(format!("flush{{{}}}", access.lpn));
            self.store.page_seq += 1;
            self.row.hits.push(false);
            self.program(access.lpn, access.mask, SlowCause::Own, None);
            return 0;
        }
        let (scheme, store) = self.scheme();
        if scheme.bypasses(access.lpn, store) {
            self.invalidate(&[access]);
            self.bypass(access);
            return 0;
        }
        self.store.page_seq += 1;
        let frame = self.store.frames.get(&access.lpn).copied();
        self.row.hits.push(frame.is_some());
        self.place(access);
        u64::from((frame.unwrap_or_default().valid & access.mask).count_ones())
    }

    /// New data enter the cache: merged into a resident page, or as a new page.
    fn place(&mut self, access: SlowAccess) {
        if self.store.has(access.lpn) {
            self.accessed(access.lpn, true);
        }
        if let Some(frame) = self.store.frames.get_mut(&access.lpn) {
            frame.valid |= access.mask;
            frame.dirty |= access.mask;
            let (scheme, store) = self.scheme();
            scheme.touch(access.lpn, true, store);
            self.know(|ahead| ahead.hit(access.lpn, true));
        } else {
            self.make_room(access.lpn);
            self.insert(access.lpn, access.mask, access.mask);
        }
        self.store.flash.cache_write(access.lpn);
        self.ask_about_page(access.lpn);
    }

    /// ProCache: overlap is dropped first, then room is made, then all pages are admitted. Every
    /// victim is chosen for the first page, if it is not cached.
    fn admit_whole(&mut self, pages: &[SlowAccess]) {
        self.invalidate(pages);
        // While room is made the first page is the one to come.
        self.store.page_seq += 1;
        loop {
            let mut entering = pages.to_vec();
            let (scheme, store) = self.scheme();
            entering.retain(|a| !store.has(a.lpn) && !scheme.bypasses(a.lpn, store));
            let (used, capacity) = (self.store.frames.len(), self.store.capacity);
            if used + entering.len() <= capacity {
                break;
            }
            let first = entering.first().filter(|a| a.lpn == pages[0].lpn);
            self.store.current = pages[0].lpn;
            self.evict_for(first.map(|a| a.lpn));
        }
        self.store.page_seq -= 1;
        for &access in pages {
            let (scheme, store) = self.scheme();
            if scheme.bypasses(access.lpn, store) {
                self.bypass(access);
            } else {
                self.store.page_seq += 1;
                self.row.hits.push(false);
                self.place(access);
            }
        }
    }

    /// Data go straight to flash: a miss.
    fn bypass(&mut self, access: SlowAccess) {
        self.store.page_seq += 1;
        self.row.hits.push(false);
        self.counts.bypassed_pages += 1;
        self.program(access.lpn, access.mask, SlowCause::Own, None);
    }

    /// Covered sectors of cached pages become invalid without a flush: newer data exist.
    fn invalidate(&mut self, pages: &[SlowAccess]) {
        let mut gone = Vec::new();
        for &access in pages {
            if self.cut(access) {
                gone.push(access.lpn);
            }
        }
        if !gone.is_empty() {
            let names: Vec<String> = gone.iter().map(u64::to_string).collect();
            self.log.push(format!("inval{{{}}}", names.join(",")));
            self.counts.discarded_pages += gone.len() as u64;
            self.row.discards.extend(gone);
        }
    }

    /// Sectors leave a cached page; true if the page left with them.
    fn cut(&mut self, access: SlowAccess) -> bool {
        if self.store.has(access.lpn) {
            self.accessed(access.lpn, true);
        }
        let Some(frame) = self.store.frames.get_mut(&access.lpn) else {
            return false;
        };
        let was_dirty = frame.dirty != 0;
        frame.valid &= !access.mask;
        frame.dirty &= !access.mask;
        let (valid, dirty) = (frame.valid, frame.dirty);
        if valid == 0 {
            self.remove(access.lpn);
            return true;
        }
        if was_dirty && dirty == 0 {
            self.release(access.lpn);
            let (scheme, store) = self.scheme();
            scheme.cleaned(&[access.lpn], store);
            self.know(|ahead| ahead.cleaned(&[access.lpn]));
        }
        false
    }

    pub(super) fn remove(&mut self, lpn: u64) {
        self.release(lpn);
        self.scheme().0.remove(lpn);
        self.store.frames.remove(&lpn);
        self.know(|ahead| ahead.left(lpn, false));
    }

    fn insert(&mut self, lpn: u64, valid: u128, dirty: u128) {
        self.store.frames.insert(lpn, Frame { valid, dirty });
        self.store.been_full |= self.store.frames.len() >= self.store.capacity;
        let (scheme, store) = self.scheme();
        scheme.admit(lpn, store);
        self.know(|ahead| ahead.entered(lpn));
    }

    // ---- TRIM (D8), FLUSH (D9), FUA and preflush (D13) ----

    pub(super) fn trim(&mut self, accesses: &[SlowAccess]) {
        self.counts.trim_requests += 1;
        for &access in accesses {
            let covered = access.mask == self.store.full();
            if covered {
                self.store.flash.unmap(access.lpn);
            }
            if self.scheme.is_none() {
                continue;
            }
            if !self.cut(access) && covered {
                self.scheme().0.forget_ghost(access.lpn);
            }
            if let Some(art) = self.art.as_mut().filter(|_| covered) {
                art.forget(access.lpn);
            }
        }
    }

    pub(super) fn flush(&mut self) {
        self.counts.flush_requests += 1;
        self.program_dirty(|_| true);
    }

    /// Programs the dirty pages that are `wanted`, which stay, clean.
    pub(super) fn program_dirty(&mut self, wanted: impl Fn(u64) -> bool) {
        let frames = self.store.frames.clone();
        let dirty: Vec<u64> = (frames.iter())
            .filter(|&(&lpn, f)| f.dirty != 0 && wanted(lpn))
            .map(|(&lpn, _)| lpn)
            .collect();
        for lpn in &dirty {
            if self.release(*lpn).is_none() {
                self.program(*lpn, frames[lpn].valid, SlowCause::Flush, None);
            }
        }
        for lpn in &dirty {
            let frame = self.store.frames.get_mut(lpn);
            frame.expect("FLUSH removes nothing").dirty = 0;
        }
        if !dirty.is_empty() {
            let (scheme, store) = self.scheme();
            scheme.cleaned(&dirty, store);
            self.know(|ahead| ahead.cleaned(&dirty));
        }
    }
}
