use super::*;
use crate::layer::{Prober, ProberOptions};
use crate::policy::Lru;
use crate::testing::{ALL, Rig, boxed, env, pages, random_run, sectors};
use crate::{Access, Env, RemoveReason};

type Stack = Awb<Prober<Lru>>;

/// Pages of 4 sectors on `channels` channels, ssp of 2 pages, rip 4.
fn stack(options: AwbOptions, channels: u32) -> Rig<Stack> {
    let mut e = env(32, 4, channels);
    e.background = true;
    let prober = ProberOptions {
        ssp: 8,
        rip: 4,
        ..ProberOptions::default()
    };
    Rig::new(Awb::new(Prober::new(Lru::new(32), prober, &e), options), &e)
}

/// LPNs that the layer names for a channel while `busy` pages are under way.
fn ask<S: Scheme>(
    r: &mut Rig<Awb<S>>,
    channel: u32,
    outstanding: u32,
    busy: &[u64],
) -> (Vec<u64>, Option<After>) {
    let mut out = Unit::default();
    let after = r.with(|s, v| {
        let busy = |slot| busy.contains(&v.frames.lpn(slot).0);
        s.background(ChannelId(channel), outstanding, &busy, v, &mut out)
    });
    (
        out.slots.iter().map(|&s| r.frames.lpn(s).0).collect(),
        after,
    )
}

#[test]
fn pages_of_large_writes_in_order_of_age() {
    let mut r = stack(AwbOptions::new(true), 1);
    r.write(sectors(400, 403));
    assert_eq!(
        ask(&mut r, 0, 0, &[]),
        (vec![], None),
        "the base is none of its business"
    );
    for p in 0..3 {
        r.write(sectors(4 * p, 4 * p + 3));
    }
    assert_eq!(ask(&mut r, 0, 0, &[]), (vec![0], Some(After::Remove)));
    assert_eq!(ask(&mut r, 0, 1, &[0]), (vec![1], Some(After::Remove)));
    assert_eq!(
        ask(&mut r, 0, 2, &[0, 1]),
        (vec![], None),
        "PR-8: two outstanding"
    );
    assert_eq!(ask(&mut r, 0, 1, &[0, 1, 2]), (vec![], None));
    r.flush();
    assert_eq!(
        ask(&mut r, 0, 0, &[]),
        (vec![], None),
        "clean pages need no write-back"
    );
}

#[test]
fn every_channel_gets_its_own_pages() {
    let mut r = stack(AwbOptions::new(true), 2);
    r.write(sectors(0, 15));
    assert_eq!(ask(&mut r, 0, 0, &[]).0, [0]);
    assert_eq!(ask(&mut r, 1, 0, &[]).0, [1]);
    assert_eq!(ask(&mut r, 1, 1, &[1]).0, [3]);
}

#[test]
fn pr8_depth() {
    let three = AwbOptions {
        depth: 3,
        ..AwbOptions::new(true)
    };
    let mut r = stack(three, 1);
    r.write(sectors(0, 15));
    assert_eq!(ask(&mut r, 0, 2, &[0, 1]).0, [2]);
    assert_eq!(ask(&mut r, 0, 3, &[0, 1, 2]), (vec![], None));
}

#[test]
fn pr9_a_half_filled_page_waits_until_its_stream_is_outdated() {
    for (partial, early) in [(Partial::Wait, vec![]), (Partial::Write, vec![2])] {
        let options = AwbOptions {
            partial,
            ..AwbOptions::new(true)
        };
        let mut r = stack(options, 1);
        r.write(sectors(0, 9));
        assert_eq!(ask(&mut r, 0, 0, &[0, 1]).0, early);
        for i in 0..3 {
            r.write(sectors(400 + 8 * i, 400 + 8 * i));
        }
        assert_eq!(ask(&mut r, 0, 0, &[0, 1]).0, early);
        r.write(sectors(500, 500));
        assert_eq!(ask(&mut r, 0, 0, &[0, 1]).0, [2]);
    }
}

#[test]
fn pr10_what_cancels() {
    let any = Awb::new(Lru::new(1), AwbOptions::new(false));
    assert!(any.cancels(Op::Read) && any.cancels(Op::Write) && any.cancels(Op::Trim));
    let write = AwbOptions {
        cancel_on: CancelOn::Write,
        ..AwbOptions::new(false)
    };
    let write = Awb::new(Lru::new(1), write);
    assert!(!write.cancels(Op::Read) && write.cancels(Op::Write) && write.cancels(Op::Trim));
}

#[test]
fn pages_may_stay_clean() {
    let keep = AwbOptions {
        after: After::KeepClean,
        ..AwbOptions::new(true)
    };
    let mut r = stack(keep, 1);
    r.write(sectors(0, 15));
    assert_eq!(ask(&mut r, 0, 0, &[]).1, Some(After::KeepClean));
}

#[test]
fn then_base_takes_victims_in_their_order_and_leaves_growing_pages() {
    let both = AwbOptions {
        scope: Scope::LdrThenBase,
        ..AwbOptions::new(true)
    };
    let mut r = stack(both, 2);
    for sector in [400, 408, 404] {
        r.write(sectors(sector, sector + 1));
        r.write(sectors(sector + 40, sector + 40));
    }
    r.write(sectors(0, 9));
    assert_eq!(ask(&mut r, 0, 0, &[]).0, [0]);
    let expected = [100, 110, 102, 112];
    let mut busy = vec![0];
    for page in expected {
        assert_eq!(
            ask(&mut r, 0, 0, &busy).0,
            [page],
            "base pages need not be full"
        );
        busy.push(page);
    }
    assert_eq!(
        ask(&mut r, 0, 0, &busy),
        (vec![], None),
        "page 2 of the stream is half full"
    );
    assert_eq!(ask(&mut r, 1, 0, &[1]).0, [101]);
}

#[test]
fn without_prober_it_follows_the_base() {
    let e = env(8, 8, 2);
    let mut r = Rig::new(Awb::new(Lru::new(8), AwbOptions::new(false)), &e);
    r.write(pages(0, 0));
    r.read(pages(2, 2));
    r.write(pages(4, 5));
    assert_eq!(ask(&mut r, 0, 0, &[]).0, [0]);
    assert_eq!(ask(&mut r, 0, 0, &[0]).0, [4], "page 2 is clean");
    assert_eq!(ask(&mut r, 1, 0, &[]).0, [5]);
    assert_eq!(ask(&mut r, 1, 0, &[5]), (vec![], None));
    let ldr = AwbOptions {
        scope: Scope::Ldr,
        ..AwbOptions::new(false)
    };
    r.scheme.options = ldr;
    assert_eq!(ask(&mut r, 0, 0, &[]), (vec![], None));
}

/// Evicts pairs of pages; the unit of the smallest pair leaves next.
struct Pairs {
    held: Vec<Slot>,
    placement: Placement,
}

impl Scheme for Pairs {
    fn rename(&mut self, _from: Lpn, _to: Lpn, slot: Option<Slot>, _v: &View) -> bool {
        slot.is_some()
    }
    fn on_insert(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.held.push(slot);
    }
    fn on_hit(&mut self, _slot: Slot, _a: &Access, _v: &View) {}
    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
        self.held.retain(|&s| s != slot);
    }
    fn size(&self) -> usize {
        self.held.len()
    }
    fn victim(&mut self, _a: &Access, v: &View, out: &mut Unit) {
        self.next_group(v, out);
    }
    fn candidates(&self, _v: &View, _f: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        None
    }
    fn next_group(&self, v: &View, out: &mut Unit) {
        let pair = |s: Slot| v.frames.lpn(s).0 / 2;
        let Some(first) = self.held.iter().map(|&s| pair(s)).min() else {
            return;
        };
        out.slots
            .extend(self.held.iter().filter(|&&s| pair(s) == first));
        out.id = first;
        out.placement = self.placement;
    }
    fn metadata_bytes(&self) -> u64 {
        0
    }
    #[cfg(feature = "conformance")]
    fn state(&self, _v: &View, _out: &mut String) {}
}

fn pairs(placement: Placement, e: &Env) -> Rig<Awb<Pairs>> {
    let held = vec![];
    let mut r = Rig::new(
        Awb::new(Pairs { held, placement }, AwbOptions::new(false)),
        e,
    );
    r.write(pages(3, 3));
    r.write(pages(2, 2));
    r.read(pages(8, 9));
    r
}

#[test]
fn a_group_is_written_back_whole_on_its_channel() {
    let e = env(16, 8, 2);
    let mut r = pairs(Placement::Stripe, &e);
    assert_eq!(ask(&mut r, 0, 0, &[]).0, [3, 2], "page 2 is on channel 0");
    assert_eq!(ask(&mut r, 1, 0, &[]), (vec![], None));
    assert_eq!(ask(&mut r, 0, 0, &[3]), (vec![], None), "already under way");
    let clean = r.frames.slot_of(Lpn(3)).unwrap();
    r.frames.clean(clean);
    assert_eq!(
        ask(&mut r, 0, 0, &[]).0,
        [2],
        "a clean page needs no program"
    );
    let mut r = pairs(Placement::SingleBlock, &e);
    assert_eq!(ask(&mut r, 0, 0, &[]), (vec![], None));
    assert_eq!(ask(&mut r, 1, 0, &[]).0, [3, 2], "unit 1 goes to plane 1");
    r.flush();
    assert_eq!(
        ask(&mut r, 1, 0, &[]),
        (vec![], None),
        "nothing of it is dirty"
    );
}

#[test]
fn without_a_device_it_is_the_inner_scheme() {
    let e = env(9, 8, 2);
    let lru = random_run(boxed(Lru::new(9)), &e, 3, 3000, ALL);
    let awb = Awb::new(Lru::new(9), AwbOptions::new(false));
    assert_eq!(random_run(awb, &e, 3, 3000, ALL), lru);
}

#[test]
fn options_are_read_from_expressions() {
    let read = |text: &str| AwbOptions::from_expr(&Expr::parse(text).unwrap());
    assert_eq!(read("awb(lru)"), AwbOptions::new(false));
    assert_eq!(read("awb(prober(lru))"), AwbOptions::new(true));
    let all = "awb(prober(lru),scope=ldr-then-base,depth=5,partial=write,after=keep-clean,\
               cancel-on=write)";
    let want = AwbOptions {
        depth: 5,
        partial: Partial::Write,
        after: After::KeepClean,
        cancel_on: CancelOn::Write,
        scope: Scope::LdrThenBase,
    };
    assert_eq!(read(all), want);
}
