//! Reserve, as its rules are written: pages in one vector, and searches for the oldest of each kind.

use super::expr::SlowExpr;
use super::scheme::SlowScheme;
use super::store::Store;

/// Programs of the host, as a scheme that drains by itself sees them.
#[derive(Clone, Copy, Debug)]
pub struct Programs {
    /// Units queued or running.
    pub units: u64,
    /// Pages of a unit.
    pub pages: u64,
    /// Dies of the drive.
    pub dies: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Clean,
    Filter,
    Resident,
}

#[derive(Clone, Copy, Debug)]
struct Page {
    lpn: u64,
    kind: Kind,
    /// When it came to the head of its list.
    moved: u64,
    /// Number of its last write.
    written: Option<u64>,
}

/// The pages, the last writes of evicted ones, and the reserve.
pub struct Reserve {
    frames: f64,
    reserve: f64,
    adapts: bool,
    filters: bool,
    by_units: bool,
    unit: f64,
    pages: Vec<Page>,
    /// Page and last write, in the order in which they left.
    ghosts: Vec<(u64, u64)>,
    moves: u64,
    writes: u64,
    /// Free frames, at each question since the last look.
    free: Vec<f64>,
    batch: u64,
    /// The page that was to be handed over last: if it is dirty at the next question, it was not.
    named: Option<u64>,
    /// Writes when a write that waited raised the reserve.
    raised: Vec<u64>,
    looks: Vec<u64>,
    /// Requests that waited.
    waited: Vec<u64>,
}

impl Reserve {
    /// As `expr` says.
    ///
    /// # Errors
    /// A parameter that it does not have.
    pub fn new(expr: &SlowExpr, capacity: usize) -> Result<Reserve, String> {
        expr.keys(&["start", "adapt", "filter", "units"])?;
        let start = expr.real("start", 0.5)? * capacity as f64;
        Ok(Reserve {
            frames: capacity as f64,
            reserve: start,
            adapts: expr.flag("adapt", false)?,
            filters: expr.flag("filter", true)?,
            by_units: expr.flag("units", true)?,
            unit: 1.0,
            pages: Vec::new(),
            ghosts: Vec::new(),
            moves: 0,
            writes: 0,
            free: Vec::new(),
            batch: 0,
            named: None,
            raised: Vec::new(),
            looks: Vec::new(),
            waited: Vec::new(),
        })
    }

    fn at(&self, lpn: u64) -> usize {
        let at = self.pages.iter().position(|page| page.lpn == lpn);
        at.expect("it is cached")
    }

    fn count(pages: &[Page], kind: Kind) -> usize {
        pages.iter().filter(|page| page.kind == kind).count()
    }

    fn tail(pages: &[Page], kind: Kind) -> Option<Page> {
        let of_kind = pages.iter().filter(|page| page.kind == kind);
        of_kind.min_by_key(|page| page.moved).copied()
    }

    /// The page was written and is dirty: its kind.
    fn write(&mut self, kind: Kind, before: Option<u64>) -> Kind {
        self.writes += 1;
        let last = self.looks.last().copied().unwrap_or(0);
        if self.adapts && (self.writes - last) as f64 >= self.frames / 2.0 {
            self.looks.push(self.writes);
            self.look();
        }
        if kind != Kind::Clean {
            return kind;
        }
        let residents = Self::count(&self.pages, Kind::Resident) as f64;
        let oldest = Self::tail(&self.pages, Kind::Resident).and_then(|page| page.written);
        let younger = before.is_some() && before > oldest;
        let room = residents < 0.9 * (self.frames - self.reserve);
        match room || younger || !self.filters {
            true => Kind::Resident,
            false => Kind::Filter,
        }
    }

    fn look(&mut self) {
        let free = std::mem::take(&mut self.free);
        let Some(lowest) = free.into_iter().reduce(f64::min) else {
            return;
        };
        let (h, used) = (self.reserve, self.reserve - lowest);
        if used < h / 2.0 {
            let smaller = h - h / 16.0;
            let least = 2.0 * self.unit;
            self.reserve = if smaller >= least {
                smaller
            } else {
                h.min(least)
            };
        } else if used > 0.8 * h {
            self.reserve = f64::min(h + h / 16.0, 0.9 * self.frames);
        }
    }

    /// Dirty pages as they would be handed over, one after another.
    fn dirty_order(&self) -> Vec<u64> {
        let mut left: Vec<Page> = self.pages.clone();
        left.retain(|page| page.kind != Kind::Clean);
        let mut order = Vec::new();
        while !left.is_empty() {
            let many =
                Self::count(&left, Kind::Resident) as f64 > 0.9 * (self.frames - self.reserve);
            let filtered = Self::tail(&left, Kind::Filter).filter(|_| !many);
            let next = filtered.or_else(|| Self::tail(&left, Kind::Resident));
            let next = next.expect("a page is left").lpn;
            left.retain(|page| page.lpn != next);
            order.push(next);
        }
        order
    }

    fn clean_order(&self) -> Vec<u64> {
        let mut clean = self.pages.clone();
        clean.retain(|page| page.kind == Kind::Clean);
        clean.sort_by_key(|page| page.moved);
        clean.into_iter().map(|page| page.lpn).collect()
    }
}

impl SlowScheme for Reserve {
    fn waits(&mut self, request: u64) {
        if self.waited.contains(&request) || !self.adapts {
            return;
        }
        self.waited.push(request);
        let last = self.raised.last();
        if last.is_none_or(|at| (self.writes - at) as f64 >= self.frames / 8.0) {
            self.raised.push(self.writes);
            self.reserve = f64::min(1.5 * self.reserve, 0.9 * self.frames);
        }
    }

    fn touch(&mut self, lpn: u64, write: bool, _store: &Store) {
        let at = self.at(lpn);
        let Page { kind, written, .. } = self.pages[at];
        self.moves += 1;
        if write {
            let kind = self.write(kind, written);
            let page = &mut self.pages[at];
            (page.kind, page.moved) = (kind, self.moves);
            page.written = Some(self.writes);
        } else if kind == Kind::Clean {
            self.pages[at].moved = self.moves;
        }
    }

    fn admit(&mut self, lpn: u64, store: &Store) {
        let ghost = self.ghosts.iter().find(|ghost| ghost.0 == lpn);
        let mut written = ghost.map(|ghost| ghost.1);
        self.forget_ghost(lpn);
        let mut kind = Kind::Clean;
        if store.dirty(lpn) {
            kind = self.write(kind, written);
            written = Some(self.writes);
        }
        self.moves += 1;
        self.pages.push(Page {
            lpn,
            kind,
            moved: self.moves,
            written,
        });
    }

    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        [self.clean_order(), self.dirty_order()].concat()
    }

    fn take(&mut self, lpn: u64, _store: &Store) {
        let page = self.pages[self.at(lpn)];
        self.remove(lpn);
        self.ghosts
            .extend(page.written.map(|written| (lpn, written)));
        if self.ghosts.len() as f64 > 4.0 * self.frames {
            self.ghosts.remove(0);
        }
    }

    fn remove(&mut self, lpn: u64) {
        self.pages.retain(|page| page.lpn != lpn);
    }

    fn forget_ghost(&mut self, lpn: u64) {
        self.ghosts.retain(|ghost| ghost.0 != lpn);
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        let pages = self.pages.iter_mut().map(|page| &mut page.lpn);
        let mut all = pages.chain(self.ghosts.iter_mut().map(|ghost| &mut ghost.0));
        let found = all.find(|lpn| **lpn == from);
        found.map(|lpn| *lpn = to).is_some()
    }

    fn cleaned(&mut self, pages: &[u64], _store: &Store) {
        let mut pages: Vec<usize> = pages.iter().map(|&lpn| self.at(lpn)).collect();
        pages.sort_by_key(|&at| self.pages[at].written);
        for at in pages {
            if self.pages[at].kind != Kind::Clean {
                self.moves += 1;
                (self.pages[at].kind, self.pages[at].moved) = (Kind::Clean, self.moves);
            }
        }
    }

    fn hands_over(&mut self, programs: Programs, store: &Store) -> Vec<u64> {
        let Programs { units, pages, dies } = programs;
        let dirty = store.frames.keys().filter(|&&lpn| store.dirty(lpn)).count() as f64;
        self.unit = pages as f64;
        self.free
            .push(self.frames - dirty - self.unit * units as f64);
        if self.named.take().is_some_and(|lpn| store.dirty(lpn)) {
            self.batch += 1;
        }
        if units >= dies {
            return Vec::new();
        }
        let batch = if self.by_units { pages } else { 1 };
        if self.batch == 0 && dirty >= self.frames - self.reserve + batch as f64 {
            self.batch = batch;
        }
        match self.batch {
            0 => Vec::new(),
            _ => self.dirty_order(),
        }
    }

    fn named(&mut self, lpn: u64) {
        self.batch -= 1;
        self.named = Some(lpn);
    }

    fn pages(&self) -> Vec<u64> {
        self.pages.iter().map(|page| page.lpn).collect()
    }

    fn state(&self, store: &Store) -> String {
        let list = |kind: Kind| {
            let mut pages = self.pages.clone();
            pages.retain(|page| page.kind == kind);
            pages.sort_by_key(|page| std::cmp::Reverse(page.moved));
            let pages: Vec<u64> = pages.into_iter().map(|page| page.lpn).collect();
            store.list(&pages)
        };
        let ghosts: Vec<String> = self.ghosts.iter().rev().map(|g| g.0.to_string()).collect();
        format!(
            "R{} F{} C{} G[{}]",
            list(Kind::Resident),
            list(Kind::Filter),
            list(Kind::Clean),
            ghosts.join(" ")
        )
    }
}
