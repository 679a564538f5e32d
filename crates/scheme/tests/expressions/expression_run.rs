//! Rules of composition that need the run's configuration.

use destage_scheme::types::PageSize;
use destage_scheme::{Code, Expr, ReadAlloc, RunContext, RunDevice, check_run};

const DEVICE: RunDevice = RunDevice {
    chips: 64,
    pages_per_block: 64,
    dynamic_allocation: false,
    bounded_buffer: false,
};

fn run(capacity: u64) -> RunContext {
    RunContext {
        device: Some(DEVICE),
        ..RunContext::cache_only(capacity, PageSize::KIB4)
    }
}

fn expr(text: &str) -> Expr {
    Expr::parse(text).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// Rule that refuses, and the message; panics if the run is allowed.
fn refused(text: &str, run: &RunContext) -> (u8, String) {
    let refusal = check_run(&expr(text), run).expect_err(text);
    (refusal.code.number(), refusal.to_string())
}

fn warned(text: &str, run: &RunContext) -> Vec<String> {
    let warnings = check_run(&expr(text), run).unwrap_or_else(|refusal| panic!("{refusal}"));
    warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn read_allocation_on_is_refused_for_group_leaves_and_admission() {
    let on = RunContext {
        read_alloc: ReadAlloc::On,
        ..run(8192)
    };
    for (text, name) in [
        ("bplru", "bplru"),
        ("cac(procache(lru))", "procache"),
        ("mbf", "mbf"),
    ] {
        let (rule, message) = refused(text, &on);
        assert_eq!(rule, 16);
        assert!(message.ends_with(&format!("{name} is a write buffer (X16 READ_ALLOC)")));
    }
    for text in ["lru", "prober(lru)", "ref", "belady", "none"] {
        assert_eq!(warned(text, &on), [""; 0], "{text}");
    }
}

#[test]
fn victims_by_chip_need_static_allocation() {
    let dynamic = RunContext {
        device: Some(RunDevice {
            dynamic_allocation: true,
            ..DEVICE
        }),
        ..run(8192)
    };
    for text in [
        "ecr",
        "gcar(cflru)",
        "lcr",
        "ecr-eps",
        "cac(prober(ecr(lirs)))",
    ] {
        let (rule, message) = refused(text, &dynamic);
        assert_eq!(rule, 7);
        assert!(
            message.contains("victim chip is unknown before allocation"),
            "{message}"
        );
    }
    for text in ["lru", "awb(prober)", "cflru-eps", "co-active"] {
        assert_eq!(warned(text, &dynamic), [""; 0], "{text}");
    }
}

#[test]
fn a_bounded_buffer_wants_to_be_drained() {
    let bounded = RunContext {
        device: Some(RunDevice {
            bounded_buffer: true,
            ..DEVICE
        }),
        ..run(8192)
    };
    for text in ["lru", "prober(lru)", "req-block", "awb(lru)", "cac(lru)"] {
        let warnings = warned(text, &bounded);
        assert_eq!(warnings.len(), 1, "{text}");
        assert!(warnings[0].starts_with("without drain a bounded buffer programs one unit"));
        assert_eq!(warned(text, &run(8192)), [""; 0], "{text}");
    }
    for text in [
        "drain(lru)",
        "cac(drain(prober(lru)))",
        "drain(req-block,low=0.5,high=0.5)",
    ] {
        assert_eq!(warned(text, &bounded), [""; 0], "{text}");
    }
}

#[test]
fn clean_first_without_read_allocation_is_a_warning() {
    let off = RunContext {
        read_alloc: ReadAlloc::Off,
        ..run(8192)
    };
    for text in [
        "cflru",
        "ccf-lru",
        "ad-lru",
        "lru-wsr",
        "ecr(lfu)",
        "co-active",
    ] {
        let warnings = warned(text, &off);
        assert_eq!(warnings.len(), 1, "{text}");
        assert!(warnings[0].starts_with("clean-first has no effect"));
        assert_eq!(warned(text, &run(8192)), [""; 0], "{text}");
    }
    assert_eq!(warned("lru", &off), [""; 0]);
    // A classifier turns read allocation off by default.
    assert_eq!(warned("prober(cflru)", &run(8192)).len(), 1);
}

#[test]
fn small_caches_are_refused() {
    for (text, least) in [
        ("vbbms", 5),
        ("bplru(block-pages=4)", 4),
        ("fab", 64),
        ("lirs", 3),
        ("lirs(hir=7)", 8),
        ("cac(prober(lirs(hir=7)))", 8),
        ("s3-fifo", 2),
        ("w-tinylfu", 2),
        ("lru", 1),
    ] {
        let (rule, message) = refused(text, &run(least - 1));
        assert_eq!(rule, 9);
        let why = format!("capacity {} below minimum {least}", least - 1);
        assert!(message.contains(&why), "{message}");
        assert_eq!(warned(text, &run(least)), [""; 0], "{text}");
    }
    assert_eq!(warned("none", &run(0)), [""; 0]);
}

#[test]
fn fewer_pages_than_chips_is_a_warning_for_ecr() {
    let warnings = warned("ecr(lfu)", &run(63));
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].starts_with("capacity 63 below"));
    assert_eq!(warned("ecr(lfu)", &run(64)), [""; 0]);
    // A share of the cache per chip is what the inner scheme has to live with.
    let share = "ecr(lirs)";
    assert_eq!(refused(share, &run(128)).0, 9);
    assert_eq!(warned(share, &run(192)), [""; 0]);
    assert_eq!(warned("ecr(lirs,inner-capacity=total)", &run(128)), [""; 0]);
}

#[test]
fn padding_needs_a_single_block() {
    let (rule, message) = refused("bplru(padding=true,placement=stripe)", &run(8192));
    assert_eq!(rule, 13);
    assert!(
        message.contains("padding requires single_block"),
        "{message}"
    );
    assert_eq!(warned("bplru(padding=true)", &run(8192)), [""; 0]);
    assert_eq!(
        warned("eager(bplru(placement=stripe))", &run(8192)),
        [""; 0]
    );
}

#[test]
fn page_size_limits_cac_and_prober() {
    let pages = |bytes: u64| RunContext {
        page: PageSize::new(bytes).expect("a legal page size"),
        ..run(8192)
    };
    assert_eq!(refused("cac(lru)", &pages(8192)).0, 10);
    assert_eq!(warned("cac(lru)", &pages(4096)), [""; 0]);
    assert_eq!(refused("prober(ssp=4k)", &pages(8192)).0, 10);
    assert_eq!(warned("prober(ssp=4k)", &pages(4096)), [""; 0]);
    assert_eq!(warned("prober(ssp=1p)", &pages(65536)), [""; 0]);
}

#[test]
fn the_first_broken_rule_of_a_run_is_reported() {
    let dynamic = Some(RunDevice {
        dynamic_allocation: true,
        ..DEVICE
    });
    let on = RunContext {
        read_alloc: ReadAlloc::On,
        device: dynamic,
        ..run(0)
    };
    let page = PageSize::new(8192).expect("a legal page size");
    assert_eq!(refused("procache(ecr)", &on).0, 16);
    assert_eq!(refused("cac(ecr)", &RunContext { page, ..on }).0, 7);
    assert_eq!(refused("cac(lru)", &RunContext { page, ..run(0) }).0, 9);
    let padded = "cac(bplru(padding=true,placement=stripe))";
    assert_eq!(refused(padded, &RunContext { page, ..run(64) }).0, 13);
    assert_eq!(refused(padded, &run(8)).0, 9);
}

#[test]
fn without_a_device_layers_that_watch_it_are_named() {
    let none = RunContext::cache_only(8192, PageSize::KIB4);
    for text in [
        "gcar",
        "ecr",
        "lcr",
        "ecr-eps",
        "awb(prober)",
        "eager",
        "co-active",
    ] {
        let warnings = warned(text, &none);
        assert_eq!(warnings.len(), 1, "{text}");
        assert!(
            warnings[0].starts_with("without a device "),
            "{}",
            warnings[0]
        );
        assert_eq!(
            check_run(&expr(text), &none).expect("allowed")[0].code,
            None::<Code>
        );
    }
    assert_eq!(warned("cac(arc)", &none), [""; 0]);
    for (text, says) in [
        ("gcar(cflru(x=2))", "gcar(cflru(x=2)) acts as cflru(x=2)"),
        ("ecr", "every queue is empty: ecr(lru) acts as cflru-eps"),
        (
            "cac(ecr(lirs,tie=oldest))",
            "every queue is empty and there is one chip: ecr(lirs) drops clean pages first, then \
             evicts what lirs chooses of the dirty ones",
        ),
    ] {
        assert_eq!(
            warned(text, &none),
            [format!("without a device {says}")],
            "{text}"
        );
    }
}
