//! Layers for tests that are asked for write-backs on other occasions than idle channels.
//!
//! None of them is registered: expressions name them through [`ALL`].

use destage_scheme::contract::{Build, boxed};
use destage_scheme::info::{OF_INNER, PaperSource, ParamInfo, Role, SchemeInfo};
use destage_scheme::layer::layer_below;
use destage_scheme::{
    Boxed, Env, Expr, Layer, Occasion, RemoveReason, Scheme, SchemeExt, SchemeNotice, Terms, Unit,
    View, WriteBack, WriteBackQuery, WriteBackRules, WriteClass, params,
};
use destage_types::{Nanos, Slot};

/// All of them.
pub const ALL: &[&SchemeInfo] = &[&DRAIN, &AGE, &AGE_IDLE, &TICK];

const BASE: SchemeInfo = SchemeInfo {
    source: PaperSource::CLASSIC,
    role: Role::Background,
    ties: "the order of the scheme inside",
    metadata: OF_INNER,
    ..SchemeInfo::BASE
};

const HOST: WriteBackRules = WriteBackRules {
    class: WriteClass::Host,
    ..WriteBackRules::NEVER
};

/// Hands dirty pages over, the first to leave first, while fewer than `depth` are under way.
pub const DRAIN: SchemeInfo = SchemeInfo {
    name: "test-drain",
    summary: "Hands dirty pages over as soon as it may.",
    params: &[DrainParams::PARAMS],
    write_backs: Some(WriteBackRules {
        on_page: true,
        on_program_end: true,
        ..HOST
    }),
    needs_order: |_| true,
    build: Some(boxed::<Drain<Boxed>>),
    ..BASE
};

/// Hands pages over that have been dirty for `age` ns, in order of that time, then of address.
pub const AGE: SchemeInfo = SchemeInfo {
    name: "test-age",
    summary: "Hands pages over that have been dirty for a time.",
    params: &[AgeParams::PARAMS],
    write_backs: Some(WriteBackRules {
        on_page: true,
        ..HOST
    }),
    build: Some(boxed::<Age<Boxed>>),
    ..BASE
};

/// The same in the background. A page whose older version is still being written waits once more.
pub const AGE_IDLE: SchemeInfo = SchemeInfo {
    name: "test-age-idle",
    write_backs: Some(WriteBackRules {
        on_page: true,
        ..WriteBackRules::NEVER
    }),
    ..AGE
};

/// Hands the first dirty page over at every multiple of a time.
pub const TICK: SchemeInfo = SchemeInfo {
    name: "test-tick",
    summary: "Hands a dirty page over now and then.",
    params: &[TickParams::PARAMS],
    write_backs: Some(WriteBackRules {
        at_start: true,
        ..HOST
    }),
    needs_order: |_| true,
    build: Some(boxed::<Tick<Boxed>>),
    ..BASE
};

params! {
    /// Parameters of [`Drain`].
    pub struct DrainParams {
        /// write-backs under way
        depth: u32 = ParamInfo::count(1, 1).source("no paper"),
    }
}

params! {
    /// Parameters of [`Age`].
    pub struct AgeParams {
        /// ns for which a page stays dirty
        age: u64 = ParamInfo::integer(1, 1 << 40, 1).source("no paper"),
    }
}

params! {
    /// Parameters of [`Tick`].
    pub struct TickParams {
        /// ns between two pages
        every: u64 = ParamInfo::integer(1, 1 << 40, 1).source("no paper"),
    }
}

fn first_dirty(inner: &impl Scheme, v: &View) -> Option<Slot> {
    inner.first_victim(v, |slot| v.frames.is_dirty(slot))
}

/// See [`DRAIN`].
pub struct Drain<S> {
    inner: S,
    depth: u32,
}

impl<S: Build> Build for Drain<S> {
    fn build(expr: &Expr, env: &Env) -> Drain<S> {
        let inner = S::build(layer_below(expr), env);
        let DrainParams { depth } = DrainParams::of(expr, env);
        Drain { inner, depth }
    }
}

impl<S: Scheme> Layer for Drain<S> {
    destage_scheme::inside!(inner: S);

    fn write_back(&mut self, query: &WriteBackQuery, v: &View, unit: &mut Unit) -> WriteBack {
        if query.outstanding >= self.depth {
            return WriteBack::Nothing;
        }
        match first_dirty(&self.inner, v) {
            Some(slot) => {
                unit.slots.push(slot);
                WriteBack::Unit(Terms::KEEP_CLEAN)
            }
            None => WriteBack::Nothing,
        }
    }
}

/// See [`AGE`] and [`AGE_IDLE`].
pub struct Age<S> {
    inner: S,
    age: u64,
    /// Since when the page of a slot has been dirty.
    since: Vec<Option<Nanos>>,
}

impl<S> Age<S> {
    fn oldest(&self, v: &View) -> Option<(Nanos, Slot)> {
        let slots = v.frames.dirty_slots();
        let known = slots.filter_map(|slot| Some((self.since[slot.index()]?, slot)));
        known.min_by_key(|&(since, slot)| (since, v.frames.lpn(slot)))
    }
}

impl<S: Build> Build for Age<S> {
    fn build(expr: &Expr, env: &Env) -> Age<S> {
        let mut inner = S::build(layer_below(expr), env);
        let AgeParams { age } = AgeParams::of(expr, env);
        let slots = env.slots as usize + inner.max_ghosts() as usize;
        let since = vec![None; slots];
        Age { inner, age, since }
    }
}

impl<S: Scheme> Layer for Age<S> {
    destage_scheme::inside!(inner: S);

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        self.since[slot.index()] = None;
        self.inner.on_remove(slot, reason, v);
    }

    fn on_notice(&mut self, notice: SchemeNotice<'_>, v: &View) {
        if let SchemeNotice::Cleaned(slots) = notice {
            slots
                .iter()
                .for_each(|slot| self.since[slot.index()] = None);
        }
        self.inner.on_notice(notice, v);
    }

    fn write_back(&mut self, query: &WriteBackQuery, v: &View, unit: &mut Unit) -> WriteBack {
        if let Occasion::Page(slot) = query.occasion
            && v.frames.is_dirty(slot)
        {
            self.since[slot.index()].get_or_insert(v.now);
        }
        while let Some((since, slot)) = self.oldest(v) {
            let due = Nanos(since.0 + self.age);
            if due > v.now {
                return WriteBack::At(due);
            }
            let busy = (query.busy)(slot);
            self.since[slot.index()] = busy.then_some(v.now);
            if !busy {
                unit.slots.push(slot);
                return WriteBack::Unit(Terms::KEEP_CLEAN);
            }
        }
        WriteBack::Nothing
    }
}

/// See [`TICK`].
pub struct Tick<S> {
    inner: S,
    every: u64,
    last: Option<Nanos>,
}

impl<S: Build> Build for Tick<S> {
    fn build(expr: &Expr, env: &Env) -> Tick<S> {
        let inner = S::build(layer_below(expr), env);
        let TickParams { every } = TickParams::of(expr, env);
        let last = None;
        Tick { inner, every, last }
    }
}

impl<S: Scheme> Layer for Tick<S> {
    destage_scheme::inside!(inner: S);

    fn write_back(&mut self, _query: &WriteBackQuery, v: &View, unit: &mut Unit) -> WriteBack {
        let first = first_dirty(&self.inner, v).filter(|_| self.last != Some(v.now));
        self.last = Some(v.now);
        match first {
            Some(slot) => {
                unit.slots.push(slot);
                WriteBack::Unit(Terms::KEEP_CLEAN)
            }
            None => WriteBack::At(Nanos(v.now.0 + self.every)),
        }
    }
}
