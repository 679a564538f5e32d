use super::*;
use crate::policy::{Fifo, Lru};
use crate::testing::{ALL, Mix, Rig, boxed, env, pages, random_run};

fn full(options: GcarOptions) -> Rig<Gcar<Lru>> {
    let e = env(4, 8, 2);
    let mut rig = Rig::new(Gcar::new(Lru::new(4), options), &e);
    rig.write(pages(0, 0));
    rig.write(pages(1, 1));
    rig.read(pages(2, 2));
    rig.write(pages(3, 3));
    rig
}

#[test]
fn gc1_pages_of_a_collecting_chip_stay_while_there_are_others() {
    let mut r = full(GcarOptions::default());
    r.chips.gc = vec![true, false];
    for page in [4, 6, 8] {
        r.write(pages(page, page));
    }
    assert_eq!(
        r.take(),
        "flush{1} flush{3} flush{0}",
        "the last one has no alternative"
    );
    r.chips.gc = vec![true, true];
    r.write(pages(10, 10));
    assert_eq!(r.take(), "drop{2}", "all chips collect: the base decides");
}

#[test]
fn gc1_clean_pages_need_no_protection() {
    let dirty_only = GcarOptions {
        protect: Protect::Dirty,
        depth: None,
    };
    for (options, victim) in [
        (GcarOptions::default(), "flush{3}"),
        (dirty_only, "drop{2}"),
    ] {
        let mut r = full(options);
        r.read(pages(1, 1));
        r.chips.gc = vec![true, false];
        r.write(pages(4, 4));
        assert_eq!(r.take(), victim);
    }
}

#[test]
fn depth_limits_the_search() {
    for (depth, victim) in [(1, "flush{0}"), (2, "flush{1}"), (4, "flush{1}")] {
        let mut r = full(GcarOptions {
            protect: Protect::All,
            depth: Some(depth),
        });
        r.chips.gc = vec![true, false];
        r.write(pages(4, 4));
        assert_eq!(r.take(), victim, "depth {depth}");
    }
}

#[test]
fn without_garbage_collection_it_is_the_base() {
    let e = env(7, 8, 3);
    let calm = Mix {
        device: false,
        ..ALL
    };
    let lru = random_run(boxed(Lru::new(7)), &e, 5, 3000, calm);
    let gcar = Gcar::new(Lru::new(7), GcarOptions::default());
    assert_eq!(random_run(gcar, &e, 5, 3000, calm), lru);
}

#[test]
fn invariants_hold_while_chips_collect_at_random() {
    for i in 0..24u32 {
        let e = env(1 + i % 9, 8, 3);
        let options = GcarOptions {
            protect: if i % 2 == 0 {
                Protect::All
            } else {
                Protect::Dirty
            },
            depth: (i % 3 > 0).then_some(1 + i % 5),
        };
        let base = Fifo::new(e.capacity as usize);
        random_run(Gcar::new(base, options), &e, u64::from(i), 1500, ALL);
    }
}

#[test]
fn options_are_read_from_expressions() {
    let read = |text: &str| GcarOptions::from_expr(&Expr::parse(text).unwrap());
    assert_eq!(read("gcar"), GcarOptions::default());
    assert_eq!(read("gcar(lru,depth=inf)"), GcarOptions::default());
    let want = GcarOptions {
        protect: Protect::Dirty,
        depth: Some(9),
    };
    assert_eq!(read("gcar(lru,protect=dirty,depth=9)"), want);
}
