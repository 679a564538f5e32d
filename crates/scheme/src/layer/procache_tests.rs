//! Every option and decision of ProCache.

use super::*;
use crate::mini::{Mini, pages};
use crate::policy::Lru;
use destage_types::Extent;

fn cache(capacity: u32, params: &ProCacheParams) -> Mini<ProCache<Lru>> {
    Mini::new(
        capacity,
        false,
        ProCache::new(params, Lru::new(capacity as usize)),
    )
}

/// Admits every eligible request.
fn sure() -> ProCacheParams {
    ProCacheParams {
        p: 1.0,
        c: 2 * 4096,
        ..ProCacheParams::default()
    }
}

/// The statistics as (updates, admitted, refused by draw, refused by size).
fn stats(m: &Mini<ProCache<Lru>>) -> (u64, u64, u64, u64) {
    let s = m.scheme.stats;
    (s.updates, s.hot, s.cold, s.cold_size)
}

/// Pages of the cache from the newest to the oldest.
fn order(m: &Mini<ProCache<Lru>>) -> Vec<u64> {
    let mut order = Vec::new();
    m.scheme.candidates(&m.view(), &mut |s| {
        order.push(m.frames.lpn(s).0);
        false
    });
    order.reverse();
    order
}

#[test]
fn pc_1_a_request_of_exactly_c() {
    let mut m = cache(8, &sure());
    m.write(0, 1, 1);
    m.write(4, 6, 2);
    assert_eq!(m.cached(), [0, 1], "gt: c itself is eligible");
    let mut m = cache(
        8,
        &ProCacheParams {
            cold_at_c: true,
            ..sure()
        },
    );
    m.write(0, 1, 1);
    m.write(4, 4, 2);
    assert_eq!(
        (m.cached(), stats(&m)),
        (vec![4], (0, 1, 0, 1)),
        "ge: c is cold"
    );
    // The size is in bytes, not pages: two halves of two pages.
    let halves = Extent {
        start_sector: 84,
        sectors: 8,
    };
    m.serve(Op::Write, &[halves], 3, &[], false);
    assert_eq!(m.cached(), [4, 10, 11]);
}

#[test]
fn overlap_goes_first_and_pages_enter_together() {
    let mut m = cache(
        4,
        &ProCacheParams {
            c: 1 << 20,
            ..sure()
        },
    );
    m.write(1, 1, 1);
    m.write(5, 7, 1);
    assert_eq!(
        m.write(1, 2, 2),
        "MM",
        "PC-7: an admitted request hits nowhere"
    );
    assert_eq!(
        m.said(),
        "inval{1} flush{5}",
        "room is made after the overlap went"
    );
    assert_eq!(order(&m), [2, 1, 7, 6]);
    assert_eq!(m.write(6, 7, 3), "HH");
    assert_eq!(order(&m), [7, 6, 2, 1], "an update touches ascending");
    assert_eq!(m.write(0, 4, 4), "MMMMM");
    assert_eq!(m.said(), "inval{1,2}", "more pages than frames: cold");
    assert_eq!(stats(&m), (1, 3, 0, 1));
}

#[test]
fn a_bypass_of_some_sectors_leaves_the_others() {
    let mut m = cache(4, &sure());
    m.write(1, 1, 1);
    let mut never = m.scheme.clone();
    never.thresholds = vec![0];
    m.scheme = never;
    let part = Extent {
        start_sector: 12,
        sectors: 8,
    };
    m.serve(Op::Write, &[part], 2, &[], false);
    let slot = m.frames.slot_of(Lpn(1)).unwrap();
    assert_eq!(m.frames.valid(slot).count(), 4);
    assert_eq!(
        m.serve(Op::Write, &[Extent { sectors: 4, ..part }], 3, &[], false),
        "H",
        "a page with any valid sector is present"
    );
    m.serve(Op::Write, &[pages(1, 2)], 3, &[], false);
    assert_eq!(m.cached(), [0u64; 0]);
}

#[test]
fn pc_2_all_any_or_page() {
    let run = |hit_rule| {
        let mut m = cache(8, &ProCacheParams { hit_rule, ..sure() });
        m.write(1, 1, 1);
        m.scheme.thresholds = vec![0]; // refuses whatever is tested
        let result = m.write(1, 2, 2);
        (result, m.cached(), stats(&m))
    };
    assert_eq!(run(HitRule::All), ("MM".to_owned(), vec![], (0, 1, 1, 0)));
    assert_eq!(
        run(HitRule::Any),
        ("HM".to_owned(), vec![1, 2], (1, 1, 0, 0))
    );
    assert_eq!(run(HitRule::Page), ("HM".to_owned(), vec![1], (1, 1, 1, 0)));
}

#[test]
fn pc_2_page_tests_the_size_of_the_whole_request() {
    let mut m = cache(
        8,
        &ProCacheParams {
            hit_rule: HitRule::Page,
            ..sure()
        },
    );
    m.write(1, 1, 1);
    assert_eq!(m.write(0, 2, 2), "MHM");
    assert_eq!((m.cached(), stats(&m)), (vec![1], (1, 1, 0, 2)));
}

#[test]
fn certain_admission_page_by_page_is_the_inner_scheme() {
    let params = ProCacheParams {
        c: u64::MAX,
        hit_rule: HitRule::Page,
        ..sure()
    };
    let mut m = cache(16, &params);
    let mut plain = Mini::new(16, false, Lru::new(16));
    let mut rng = SplitMix64::new(9);
    for now in 0..3_000 {
        let first = rng.next_u64() % 40;
        let last = first + rng.next_u64() % 20; // also more pages than frames
        let (a, b) = match rng.next_u64() % 3 {
            0 => (m.read(first, last, now), plain.read(first, last, now)),
            _ => (m.write(first, last, now), plain.write(first, last, now)),
        };
        assert_eq!((a, m.said()), (b, plain.said()));
    }
}

#[test]
fn pc_3_size_classes() {
    let params = ProCacheParams {
        classes: Some(vec![1.0, 0.5, 0.0, 1.0]),
        size_unit: 4096,
        ..ProCacheParams::default()
    };
    let m = cache(32, &params);
    let classes = [1, 4095, 4096, 4097, 8192, 12288, 16384, 16385, 32768, 32769];
    let of: Vec<usize> = classes.iter().map(|&b| m.scheme.class(b)).collect();
    assert_eq!(of, [0, 0, 0, 1, 1, 2, 2, 3, 3, 4]);
    assert_eq!(m.scheme.threshold(8192), Some(1 << 52));
    assert_eq!(m.scheme.threshold(16384), Some(0), "tested, never admitted");
    assert_eq!(m.scheme.threshold(32768), Some(1 << 53));
    assert_eq!(m.scheme.threshold(32769), None, "beyond 2^(N-1) units");
    let mut m = m;
    m.write(0, 3, 1);
    m.write(0, 7, 2);
    m.write(0, 8, 3);
    assert_eq!(stats(&m), (0, 1, 1, 1));
}

#[test]
fn pc_4_trials_until_admission() {
    // Mean 1/p (Eq. 1) and share that is still out after three trials (1 - p)^3 (Eq. 2).
    for (p, out) in [(0.1, 0.729), (0.05, 0.857)] {
        let mut m = cache(
            4,
            &ProCacheParams {
                p,
                ..ProCacheParams::default()
            },
        );
        let (runs, mut trials, mut after_three) = (20_000u32, 0u32, 0u32);
        for _ in 0..runs {
            let mut k = 0;
            while m.cached().is_empty() {
                m.write(0, 0, 1);
                k += 1;
            }
            trials += k;
            after_three += u32::from(k > 3);
            m.trim(0, 0);
        }
        let (runs, trials) = (f64::from(runs), f64::from(trials));
        assert!(
            (trials / runs * p - 1.0).abs() < 0.02,
            "mean {}",
            trials / runs
        );
        assert!((f64::from(after_three) / runs - out).abs() < 0.01);
    }
}

#[test]
fn pc_5_everything_eligible_until_the_cache_was_full() {
    let params = ProCacheParams {
        fill_first: true,
        ..sure()
    };
    let mut m = cache(2, &params);
    m.scheme.thresholds = vec![0];
    m.write(0, 0, 1);
    m.write(4, 8, 1); // cold by size all the same
    m.write(1, 1, 2);
    m.write(2, 2, 3);
    assert_eq!((m.cached(), stats(&m)), (vec![0, 1], (0, 2, 1, 1)));
    m.trim(0, 1);
    m.write(2, 2, 4);
    assert!(m.cached().is_empty(), "once full is enough");
    // Page by page, the cache may be full in the middle of a request.
    let mut m = cache(
        2,
        &ProCacheParams {
            hit_rule: HitRule::Page,
            c: 1 << 20,
            ..params
        },
    );
    m.scheme.thresholds = vec![0];
    m.write(0, 3, 1);
    assert_eq!((m.cached(), stats(&m)), (vec![0, 1], (0, 2, 2, 0)));
}

#[test]
fn a_read_refreshes_only_if_asked() {
    let run = |read_touch| {
        let mut m = cache(
            4,
            &ProCacheParams {
                read_touch,
                ..sure()
            },
        );
        m.write(1, 2, 1);
        assert_eq!(m.read(1, 1, 2), "H");
        assert_eq!(m.read(7, 7, 2), "M");
        let after_read = order(&m);
        m.write(1, 1, 3);
        assert_eq!(order(&m), [1, 2], "a write always does");
        after_read
    };
    assert_eq!((run(true), run(false)), (vec![1, 2], vec![2, 1]));
}

#[test]
fn one_draw_per_tested_request_and_seed() {
    let mut m = cache(
        8,
        &ProCacheParams {
            p: 0.5,
            seed: 1,
            ..ProCacheParams::default()
        },
    );
    let first = 0.566_561_575_172_280_9;
    m.write(0, 7, 1); // cold by size: no draw
    m.write(0, 0, 1);
    assert_eq!(stats(&m), (0, 0, 1, 1), "first draw {first} >= 0.5");
    let mut rng = SplitMix64::new(1);
    rng.next_53();
    assert_eq!(m.scheme.uniform.next().bits, rng.next_53());
    assert_eq!(
        Uniform {
            rng: SplitMix64::new(1),
            #[cfg(feature = "conformance")]
            draws: None
        }
        .next()
        .r,
        first
    );
}

#[test]
fn parameters_come_from_the_expression() {
    let env = Env {
        seed: 77,
        ..Env::cache_only(8)
    };
    let of = |text: &str| ProCacheParams::from_expr(&Expr::parse(text).unwrap(), &env);
    assert_eq!(
        of("procache"),
        ProCacheParams {
            seed: 77,
            ..ProCacheParams::default()
        }
    );
    let text = "procache(lru,c=4p,cmp=ge,hit-rule=any,p=0.5,p-schedule=occupancy,\
                pv=[1.0,0.5],read-touch=false,seed=5,size-unit=1p)";
    let all = ProCacheParams {
        p: 0.5,
        c: 16 << 10,
        cold_at_c: true,
        classes: Some(vec![1.0, 0.5]),
        size_unit: 4096,
        hit_rule: HitRule::Any,
        read_touch: false,
        fill_first: true,
        seed: 5,
    };
    assert_eq!(of(text), all);
    assert_eq!(of("procache(hit-rule=page)").hit_rule, HitRule::Page);
    let expr = Expr::parse("procache(lru,p=0.25)").unwrap();
    assert_eq!(ProCache::<Lru>::build(&expr, &env).thresholds, [1 << 51]);
}

#[cfg(feature = "conformance")]
#[test]
fn the_words_of_the_worked_examples() {
    let draws = vec![0.2, 0.7, 0.5, 0.0];
    let env = Env {
        draws: Some(draws),
        ..Env::cache_only(4)
    };
    let expr = Expr::parse("procache(lru,c=2p,p=0.5)").unwrap();
    let mut m = Mini::new(4, false, ProCache::<Lru>::build(&expr, &env));
    let mut words = Vec::new();
    for (first, last) in [(1, 2), (4, 4), (4, 4), (5, 5), (1, 2), (7, 9)] {
        m.write(first, last, 1);
    }
    m.scheme.take_notes(&mut words);
    let words: Vec<&str> = words.iter().map(|(_, w)| w.as_str()).collect();
    let expected = [
        "hot(r=0.2)->cache",
        "cold(r=0.7)->NAND",
        "cold(r=0.5)->NAND",
        "hot(r=0.0)->cache",
        "update",
        "cold(size)->NAND",
    ];
    assert_eq!(words, expected);
    assert_eq!(m.state(), "[2* 1* 5*]");
}
