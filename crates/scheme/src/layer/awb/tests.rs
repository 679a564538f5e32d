use super::*;
use crate::testing::{TestCache, boxed, env, expr, sectors};
use crate::{Access, GroupPolicy, Groups, RemoveReason};
use destage_types::Lpn;

/// Pages of 4 sectors on `channels` channels, streams of more than 2 pages are large, rip 4.
fn stack(options: &str, channels: u32) -> TestCache<Boxed> {
    let text = format!("awb(prober(lru,ssp=2p,rip=4){options})");
    let mut cache = TestCache::with(&text, &env(32, 4, channels));
    cache.read_alloc = true;
    cache
}

/// Nothing is written back.
fn nothing() -> (Vec<u64>, WriteBack) {
    (vec![], WriteBack::Nothing)
}

const REMOVE: WriteBack = WriteBack::Unit(Terms::REMOVE);

#[test]
fn pages_of_large_writes_in_order_of_age() {
    let mut cache = stack("", 1);
    cache.write(100);
    let none = (vec![], WriteBack::Nowhere);
    assert_eq!(
        cache.write_back(0, 0, &[]),
        none,
        "the base is none of its business"
    );
    cache.run("W0 W1 W2");
    assert_eq!(cache.write_back(0, 0, &[]), (vec![0], REMOVE));
    assert_eq!(cache.write_back(0, 1, &[0]), (vec![1], REMOVE));
    assert_eq!(
        cache.write_back(0, 2, &[0, 1]),
        nothing(),
        "PR-8: two outstanding"
    );
    assert_eq!(cache.write_back(0, 1, &[0, 1, 2]), nothing());
    cache.run("F");
    assert_eq!(
        cache.write_back(0, 0, &[]),
        nothing(),
        "clean pages need no write-back"
    );
}

#[test]
fn every_channel_gets_its_own_pages() {
    let mut cache = stack("", 2);
    cache.write(0..=3);
    assert_eq!(cache.write_back(0, 0, &[]).0, [0]);
    assert_eq!(cache.write_back(1, 0, &[]).0, [1]);
    assert_eq!(cache.write_back(1, 1, &[1]).0, [3]);
}

#[test]
fn pr8_depth() {
    let mut cache = stack(",depth=3", 1);
    cache.write(0..=3);
    assert_eq!(cache.write_back(0, 2, &[0, 1]).0, [2]);
    assert_eq!(cache.write_back(0, 3, &[0, 1, 2]), nothing());
}

#[test]
fn pr9_a_half_filled_page_waits_until_its_stream_is_outdated() {
    for (partial, early) in [("wait", vec![]), ("write", vec![2])] {
        let mut cache = stack(&format!(",partial={partial}"), 1);
        cache.write(sectors(0..=9));
        assert_eq!(cache.write_back(0, 0, &[0, 1]).0, early);
        for sector in [400, 408, 416] {
            cache.write(sectors(sector..=sector));
        }
        assert_eq!(cache.write_back(0, 0, &[0, 1]).0, early);
        cache.write(sectors(500..=500));
        assert_eq!(cache.write_back(0, 0, &[0, 1]).0, [2]);
    }
}

#[test]
fn pr10_what_cancels() {
    for (text, yields_to_reads) in [("awb(lru)", true), ("awb(lru,cancel-on=write)", false)] {
        let mut cache = boxed(text, 1);
        cache.write(0);
        let terms = Terms {
            yields_to_reads,
            ..Terms::REMOVE
        };
        assert_eq!(cache.write_back(0, 0, &[]).1, WriteBack::Unit(terms));
    }
}

#[test]
fn pages_may_stay_clean() {
    let mut cache = stack(",after=keep-clean", 1);
    cache.write(0..=3);
    assert_eq!(
        cache.write_back(0, 0, &[]).1,
        WriteBack::Unit(Terms::KEEP_CLEAN)
    );
}

#[test]
fn then_base_takes_victims_in_their_order_and_leaves_growing_pages() {
    let mut cache = stack(",scope=ldr-then-base", 2);
    for sector in [400, 408, 404] {
        cache.write(sectors(sector..=sector + 1));
        cache.write(sectors(sector + 40..=sector + 40));
    }
    cache.write(sectors(0..=9));
    let mut busy = vec![];
    for page in [0, 100, 110, 102, 112] {
        let asked = cache.write_back(0, 0, &busy).0;
        assert_eq!(asked, [page], "base pages need not be full");
        busy.push(page);
    }
    let growing = "page 2 of the stream is half full";
    assert_eq!(cache.write_back(0, 0, &busy), nothing(), "{growing}");
    assert_eq!(cache.write_back(1, 0, &[1]).0, [101]);
}

#[test]
fn without_prober_it_follows_the_base() {
    let env = env(8, 8, 2);
    let mut cache = TestCache::<Awb<Boxed>>::with("awb(lru)", &env);
    cache.run("W0 R2 W4-5");
    assert_eq!(cache.write_back(0, 0, &[]).0, [0]);
    assert_eq!(cache.write_back(0, 0, &[0]).0, [4], "page 2 is clean");
    assert_eq!(cache.write_back(1, 0, &[]).0, [5]);
    assert_eq!(cache.write_back(1, 0, &[5]), nothing());
    cache.scheme.params.scope = Scope::Ldr;
    assert_eq!(cache.write_back(0, 0, &[]), (vec![], WriteBack::Nowhere));
}

/// Evicts pairs of pages; the unit of the smallest pair leaves next.
struct Pairs {
    held: Vec<Slot>,
    placement: Placement,
}

impl GroupPolicy for Pairs {
    fn build(_expr: &Expr, _env: &Env) -> Pairs {
        unreachable!("made by hand")
    }

    fn on_insert(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.held.push(slot);
    }

    fn on_hit(&mut self, _slot: Slot, _a: &Access, _v: &View) {}

    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
        self.held.retain(|&s| s != slot);
    }

    fn on_rename(&mut self, _from: Lpn, _to: Lpn, _slot: Slot, _v: &View) {}

    fn next_unit(&self, v: &View, unit: &mut Unit) {
        let pair = |s: &Slot| v.frames.lpn(*s).0 / 2;
        unit.id = self.held.iter().map(pair).min().unwrap_or(0);
        unit.slots
            .extend(self.held.iter().filter(|s| pair(s) == unit.id));
        unit.placement = self.placement;
    }

    fn metadata_bytes(&self) -> u64 {
        0
    }

    fn lists(&self, _v: &View, out: &mut crate::PageLists) {
        out.add("pages", self.held.iter().copied());
    }

    fn state(&self, _v: &View, _out: &mut String) {}
}

#[test]
fn a_group_is_written_back_whole_on_its_channel() {
    let pairs = |placement| {
        let env = env(16, 8, 2);
        let params = AwbParams::of(&expr("awb(lru)"), &env);
        let held = vec![];
        let base = Groups::of(Pairs { held, placement });
        let mut cache = TestCache::of(Awb::new(base, true, params), &env);
        cache.run("W3 W2 R8-9");
        cache
    };
    let mut cache = pairs(Placement::Stripe);
    assert_eq!(
        cache.write_back(0, 0, &[]).0,
        [3, 2],
        "page 2 is on channel 0"
    );
    assert_eq!(cache.write_back(1, 0, &[]), nothing());
    assert_eq!(cache.write_back(0, 0, &[3]), nothing(), "already under way");
    let clean = cache.slot(3).unwrap();
    cache.frames.clean(clean);
    assert_eq!(
        cache.write_back(0, 0, &[]).0,
        [2],
        "a clean page needs no program"
    );
    let mut cache = pairs(Placement::SingleBlock);
    assert_eq!(cache.write_back(0, 0, &[]), nothing());
    assert_eq!(
        cache.write_back(1, 0, &[]).0,
        [3, 2],
        "unit 1 goes to plane 1"
    );
    cache.run("F");
    assert_eq!(
        cache.write_back(1, 0, &[]),
        nothing(),
        "nothing of it is dirty"
    );
}
