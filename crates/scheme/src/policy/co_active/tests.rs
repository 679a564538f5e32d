use super::*;
use crate::testing::{ALL, Mix, TestCache, env};

type Cache = TestCache<Pages<CoActive>>;

fn cache(text: &str, capacity: u32, chips: u32) -> Cache {
    Cache::with(text, &env(capacity, 8, chips))
}

/// The page that is written back on an idle channel.
fn next(cache: &mut Cache, channel: u32) -> Option<u64> {
    let (pages, answer) = cache.write_back(channel, 0, &[]);
    assert_ne!(answer, WriteBack::Unit(Terms::REMOVE));
    pages.first().copied()
}

#[test]
fn clean_pages_leave_first_and_cold_ones_before_hot_ones() {
    let mut cache = cache("co-active", 4, 1);
    cache.run("R1 R1 W2 R3 W4 W5 W6");
    assert_eq!(
        cache.evicted,
        [3, 1],
        "the clean cold page, then the clean hot one"
    );
    cache.run("W2 W7 W8");
    assert_eq!(
        cache.evicted,
        [3, 1, 4, 5],
        "dirty cold pages before hot ones"
    );
}

#[test]
fn what_the_hot_list_has_too_many_is_cold_again() {
    let mut cache = cache("co-active(hot-ratio=0.5)", 4, 1);
    cache.run("W1-4 R1 R2 R3");
    assert_eq!(cache.state(), "cold[1* 4*] hot[3* 2*]");
    let mut cache = self::cache("co-active(hot-ratio=0)", 2, 1);
    cache.run("W1-2 W1");
    assert_eq!(cache.state(), "cold[1* 2*] hot[]");
}

#[test]
fn a_chip_has_so_many_write_backs_between_requests() {
    for (most, pages) in [(1, vec![0]), (2, vec![0, 2]), (9, vec![0, 2, 4])] {
        let mut cache = cache(&format!("co-active(wb-max={most})"), 8, 2);
        cache.run("W0 W2 W4 W1");
        let written: Vec<u64> = std::iter::from_fn(|| {
            let page = next(&mut cache, 0)?;
            cache.flush(|lpn| lpn == page);
            Some(page)
        })
        .collect();
        assert_eq!(written, pages);
        assert_eq!(
            next(&mut cache, 1),
            Some(1),
            "the other chip has its own count"
        );
        cache.run("T7");
        assert_eq!(next(&mut cache, 0), None, "co_2: a TRIM is no data");
        cache.run("R1");
        assert_eq!(next(&mut cache, 0), (most < 9).then_some(2 * most as u64));
    }
}

#[test]
fn hot_pages_and_busy_chips_are_left_alone() {
    let mut cache = cache("co-active", 8, 2);
    cache.run("W0 W2 W0");
    assert_eq!(
        cache.write_back(0, 0, &[2]).0,
        [0; 0],
        "2 is written already"
    );
    cache.chips.states[0].in_gc = true;
    assert_eq!(next(&mut cache, 0), None);
    cache.chips.states[0].in_gc = false;
    assert_eq!(next(&mut cache, 0), Some(2));
}

#[test]
fn co_3_the_threshold_follows_the_gaps() {
    let mut cache = cache("co-active(wb-max=adaptive)", 8, 1);
    cache.chips.costs.program = Nanos(100);
    let mut seen = Vec::new();
    for at in [0, 100, 300, 1000, 1900, 1999, 2000, 2100] {
        cache.at(at).run("W1");
        seen.push(cache.stat("write_backs_per_chip"));
    }
    assert_eq!(seen, [1, 2, 4, 8, 8, 4, 2, 4]);
}

#[test]
fn a_renamed_page_is_written_back_on_its_new_chip_in_its_turn() {
    let mut cache = cache("co-active(wb-max=9)", 8, 2);
    cache.run("W1 W0 W3 W5");
    cache.rename(0, 7);
    assert_eq!(next(&mut cache, 0), None);
    for page in [1, 7, 3, 5] {
        assert_eq!(next(&mut cache, 1), Some(page));
        cache.flush(|lpn| lpn == page);
    }
}

#[test]
fn orders_and_lists_hold_what_they_are_for() {
    let mix = Mix { idle: true, ..ALL };
    for (seed, capacity, chips) in [(1, 4, 1), (2, 9, 2), (3, 30, 3)] {
        let mut cache = cache("co-active(wb-max=2,hot-ratio=0.3)", capacity, chips);
        cache.random(seed, 20_000, mix, |cache| {
            let (s, v) = (cache.scheme.policy(), cache.view());
            s.pages
                .validate()
                .and(s.dirty_cold.validate())
                .expect("lists are whole");
            assert!(s.pages.len(HOT) <= s.hot_pages);
            let mut clean = 0;
            for slot in cache.frames.used_slots() {
                let dirty = cache.frames.is_dirty(slot);
                assert_eq!(s.is_clean[slot.index()], !dirty);
                clean += usize::from(!dirty);
                let chip = if dirty && s.pages.list_of(slot.0) == COLD {
                    v.chip(slot).index()
                } else {
                    s.dirty_cold.lists()
                };
                assert_eq!(s.dirty_cold.list_of(slot.0), chip);
            }
            assert_eq!(clean, s.clean[COLD].len() + s.clean[HOT].len());
            let oldest = |list| s.pages.from_tail(list).find(|&p| s.is_clean[p as usize]);
            for list in [COLD, HOT] {
                assert_eq!(s.clean[list].first(), oldest(list));
            }
        });
    }
}
