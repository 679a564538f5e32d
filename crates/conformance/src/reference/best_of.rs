//! `best-of`: several policies, each over the cache and over a small one that serves a sample.

use super::expr::SlowExpr;
use super::request::sectors_of;
use super::scheme::{Built, Served, SlowScheme, replace, tail_first, take_out};
use super::store::{Frame, Store};
use destage_types::rng::mix64;

/// A small cache.
struct Shadow {
    policy: Box<dyn SlowScheme>,
    store: Store,
    evictions: u64,
    misses: u64,
}

impl Shadow {
    fn new(policy: Box<dyn SlowScheme>, capacity: usize) -> Shadow {
        Shadow {
            policy,
            store: Store {
                capacity,
                ..Store::default()
            },
            evictions: 0,
            misses: 0,
        }
    }

    /// Copies the parts of the store that are the same as in the cache.
    fn follow(&mut self, store: &Store) {
        self.store.spp = store.spp;
        self.store.now = store.now;
        self.store.request = store.request;
        self.store.data = store.data;
        self.store.writing = store.writing;
        self.store.read_alloc = store.read_alloc;
    }

    fn serve(&mut self, lpn: u64, mask: u128, write: bool) {
        self.store.page_seq += 1;
        let Some(frame) = self.store.frames.get(&lpn).copied() else {
            if write {
                self.enter(lpn, mask, mask);
            } else {
                self.misses += 1;
                if self.store.read_alloc {
                    self.enter(lpn, self.store.full(), 0);
                }
            }
            return;
        };
        if write || frame.valid & mask == mask {
            if write {
                let frame = self.store.frames.get_mut(&lpn).expect("it is cached");
                frame.valid |= mask;
                frame.dirty |= mask;
            }
            self.policy.touch(lpn, write, &self.store);
            return;
        }
        self.misses += 1;
        self.policy.partial_miss(lpn, &self.store);
        if self.store.read_alloc {
            let full = self.store.full();
            self.store.frames.get_mut(&lpn).expect("it is cached").valid = full;
        }
    }

    fn enter(&mut self, lpn: u64, valid: u128, dirty: u128) {
        while self.policy.full(lpn, &self.store) {
            for victim in self.policy.victim(Some(lpn), &self.store) {
                self.evictions += u64::from(self.store.dirty(victim));
                self.store.frames.remove(&victim);
            }
        }
        // A policy adapts to a page that comes in, whether or not another has to leave.
        self.policy.expect(lpn);
        self.store.frames.insert(lpn, Frame { valid, dirty });
        self.store.been_full |= self.store.frames.len() >= self.store.capacity;
        self.policy.admit(lpn, &self.store);
    }

    fn drop(&mut self, lpn: u64) {
        if self.store.frames.remove(&lpn).is_some() {
            self.policy.remove(lpn);
        } else {
            self.policy.forget_ghost(lpn);
        }
    }

    fn clean(&mut self, lpn: u64) {
        if self.store.dirty(lpn) {
            self.store.frames.get_mut(&lpn).expect("it is cached").dirty = 0;
            self.policy.cleaned(&[lpn], &self.store);
        }
    }
}

/// Several policies, one of which is in charge.
pub struct BestOf {
    names: Vec<String>,
    policies: Vec<Box<dyn SlowScheme>>,
    shadows: Vec<Shadow>,
    charge: usize,
    recency: Vec<u64>,
    capacity: u64,
    sampled: u64,
    epoch: u64,
    margin: f64,
    accesses: u64,
}

impl BestOf {
    /// The members of `expr` in a cache of `capacity` pages. `build` makes a member with a number of frames.
    ///
    /// # Errors
    /// An unknown parameter, a bad value, or an error of `build`.
    pub fn new(
        expr: &SlowExpr,
        capacity: usize,
        build: &dyn Fn(&SlowExpr, usize) -> Built,
    ) -> Result<BestOf, String> {
        expr.keys(&["shadow", "epoch", "margin"])?;
        let c = capacity as u64;
        let sampled = expr.number("shadow", (c / 16).max(64), 1)?.min(c);
        let mut best = BestOf {
            names: Vec::new(),
            policies: Vec::new(),
            shadows: Vec::new(),
            charge: 0,
            recency: Vec::new(),
            capacity: c,
            sampled,
            epoch: expr.number("epoch", (8 * c).max(64), 1)?,
            margin: expr.real("margin", 0.05)?,
            accesses: 0,
        };
        for member in &expr.members {
            best.names.push(member.name.clone());
            best.policies.push(build(member, capacity)?);
            let small = build(member, sampled as usize)?;
            best.shadows.push(Shadow::new(small, sampled as usize));
        }
        Ok(best)
    }

    fn is_sampled(&self, lpn: u64) -> bool {
        // floor(z * C / 2^64) < S
        (u128::from(mix64(lpn)) * u128::from(self.capacity)) / (1 << 64) < u128::from(self.sampled)
    }

    fn end_epoch(&mut self, store: &Store) {
        let (mut read, mut program) = store.flash.times();
        if (read, program) == (0, 0) {
            (read, program) = (75_000, 750_000);
        }
        let costs: Vec<u128> = (self.shadows.iter())
            .map(|s| {
                u128::from(s.evictions) * u128::from(program)
                    + u128::from(s.misses) * u128::from(read)
            })
            .collect();
        let cheapest = *costs.iter().min().expect("there are members");
        let best = costs
            .iter()
            .position(|&c| c == cheapest)
            .expect("it is one");
        let allowed = costs[self.charge] as f64 * (1.0 - self.margin);
        if (cheapest as f64) < allowed {
            for lpn in tail_first(&self.recency) {
                self.policies[self.charge].remove(lpn);
                self.policies[best].forget_ghost(lpn);
                self.policies[best].expect(lpn);
                self.policies[best].admit(lpn, store);
            }
            self.charge = best;
        }
        for shadow in &mut self.shadows {
            shadow.evictions = 0;
            shadow.misses = 0;
        }
        self.accesses = 0;
    }

    fn policy(&mut self) -> &mut dyn SlowScheme {
        self.policies[self.charge].as_mut()
    }
}

impl SlowScheme for BestOf {
    fn request(&mut self, served: &Served, store: &Store) {
        let spp = u64::from(store.spp);
        for &(first, last) in &served.spans {
            for lpn in first / spp..=last / spp {
                self.accesses += 1;
                if !self.is_sampled(lpn) {
                    continue;
                }
                let from = first.max(lpn * spp) - lpn * spp;
                let to = last.min(lpn * spp + spp - 1) - lpn * spp;
                let mask = sectors_of(from, to + 1);
                for shadow in &mut self.shadows {
                    shadow.follow(store);
                    shadow.serve(lpn, mask, served.write);
                }
            }
        }
        if self.accesses >= self.epoch {
            self.end_epoch(store);
        }
    }
    fn touch(&mut self, lpn: u64, write: bool, store: &Store) {
        take_out(&mut self.recency, lpn);
        self.recency.insert(0, lpn);
        self.policy().touch(lpn, write, store);
    }
    fn partial_miss(&mut self, lpn: u64, store: &Store) {
        self.policy().partial_miss(lpn, store);
    }
    fn admit(&mut self, lpn: u64, store: &Store) {
        self.recency.insert(0, lpn);
        self.policy().admit(lpn, store);
    }
    fn expect(&mut self, incoming: u64) {
        self.policy().expect(incoming);
    }
    fn candidates(&self, incoming: Option<u64>, store: &Store) -> Vec<u64> {
        self.policies[self.charge].candidates(incoming, store)
    }
    fn victim(&mut self, incoming: Option<u64>, store: &Store) -> Vec<u64> {
        let pages = self.policy().victim(incoming, store);
        self.recency.retain(|x| !pages.contains(x));
        pages
    }
    fn full(&self, incoming: u64, store: &Store) -> bool {
        self.policies[self.charge].full(incoming, store)
    }
    fn remove(&mut self, lpn: u64) {
        take_out(&mut self.recency, lpn);
        self.policy().remove(lpn);
        for (i, policy) in self.policies.iter_mut().enumerate() {
            if i != self.charge {
                policy.forget_ghost(lpn);
            }
        }
        if self.is_sampled(lpn) {
            self.shadows.iter_mut().for_each(|s| s.drop(lpn));
        }
    }
    fn forget_ghost(&mut self, lpn: u64) {
        self.policies.iter_mut().for_each(|p| p.forget_ghost(lpn));
        if self.is_sampled(lpn) {
            self.shadows.iter_mut().for_each(|s| s.drop(lpn));
        }
    }
    fn rename(&mut self, from: u64, to: u64, store: &Store) -> bool {
        replace(&mut self.recency, from, to);
        self.policy().rename(from, to, store)
    }
    fn cleaned(&mut self, pages: &[u64], store: &Store) {
        self.policy().cleaned(pages, store);
        for &lpn in pages {
            if self.is_sampled(lpn) {
                self.shadows.iter_mut().for_each(|s| s.clean(lpn));
            }
        }
    }
    fn pages(&self) -> Vec<u64> {
        self.policies[self.charge].pages()
    }
    fn state(&self, store: &Store) -> String {
        let mut text = format!(
            "{} ; {}:",
            self.policies[self.charge].state(store),
            self.charge
        );
        for (name, shadow) in self.names.iter().zip(&self.shadows) {
            text += &format!(" {name} {}+{}", shadow.evictions, shadow.misses);
        }
        text
    }
}
