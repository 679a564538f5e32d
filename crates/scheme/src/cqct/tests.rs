use super::*;
use crate::testing::{ChipState, Chips, boxed};
use crate::{DeviceView, GcBlocks, NoDevice};

const US: u64 = 1000;

fn paper() -> EcrLatencies {
    EcrLatencies {
        read: Nanos(25 * US),
        program: Nanos(200 * US),
        erase: Nanos(1500 * US),
        summary: Nanos(150 * US),
        pages_per_block: 64,
        pages_per_program: 1,
    }
}

fn queue(nr: u64, nw: u64, nfp: u64, nfpb: u64) -> Equation1 {
    Equation1 {
        reads: nr,
        writes: nw,
        free_pages: nfp,
        frontier_free_pages: nfpb,
        gc_threshold_pages: 400,
        gc_remaining: None,
    }
}

/// Equations 1-4 against values that were computed apart.
#[test]
fn check_values_of_the_equations() {
    let rows = [
        (queue(2, 3, 500, 20), 10, false, 3750, 0, 650),
        (queue(0, 0, 500, 20), 10, false, 3750, 0, 0),
        (queue(1, 19, 500, 20), 10, false, 3750, 1, 3975),
        (queue(1, 5, 405, 20), 10, true, 3750, 0, 4775),
        (queue(0, 10, 380, 8), 60, true, 15000, 2, 17300),
        (queue(3, 130, 900, 1), 10, false, 3750, 3, 26525),
        (queue(0, 0, 500, 1), 10, false, 3750, 1, 150),
    ];
    for (i, (queue, valid, gc, gc_us, summaries, total_us)) in rows.into_iter().enumerate() {
        let want = Parts {
            gc,
            gc_time: Nanos(gc_us * US),
            summaries,
            total: Nanos(total_us * US),
        };
        assert_eq!(equation(&queue, valid, &paper()), want, "row {}", i + 1);
    }
}

/// DR-10: three programs of eight pages each, and a victim whose ten pages are copied by two programs.
#[test]
fn programs_of_several_pages() {
    let units = EcrLatencies {
        pages_per_program: 8,
        ..paper()
    };
    let parts = equation(&queue(2, 3, 500, 20), 10, &units);
    // 24 pages use up the frontier of 20, so a summary page is due.
    assert_eq!((parts.gc, parts.summaries), (false, 1));
    assert_eq!(parts.total, Nanos((2 * 25 + 3 * 200 + 150) * US));
    let parts = equation(&queue(0, 3, 424, 60), 10, &units);
    assert_eq!(parts.gc_time, Nanos((1500 + 10 * 25 + 2 * 200) * US));
    assert!(parts.gc && !equation(&queue(0, 3, 425, 60), 10, &units).gc);
}

#[test]
fn a_full_frontier_and_blocks_of_one_page_do_not_divide_by_zero() {
    assert_eq!(equation(&queue(0, 0, 500, 0), 0, &paper()).summaries, 1);
    let one = EcrLatencies {
        pages_per_block: 1,
        ..paper()
    };
    assert_eq!(equation(&queue(0, 3, 500, 1), 0, &one).summaries, 4);
}

#[test]
fn a_running_collection_takes_the_place_of_a_predicted_one() {
    let mut busy = queue(1, 5, 405, 20);
    busy.gc_remaining = Some(Nanos(7 * US));
    assert_eq!(
        equation(&busy, 10, &paper()).total,
        Nanos((4775 - 3750 + 7) * US)
    );
    busy.free_pages = 500;
    assert_eq!(equation(&busy, 10, &paper()).total, Nanos(1032 * US));
}

fn of(options: Cqct, device: &dyn DeviceView) -> u64 {
    let cache = boxed("lru", 1);
    let v = View {
        device,
        ..cache.view()
    };
    options.of_chip(ChipId(0), &v).0
}

fn in_service(op: Op, residual: u64) -> Option<InService> {
    let residual = Nanos(residual);
    Some(InService { op, residual })
}

fn device() -> Chips {
    let mut device = Chips::new(1);
    device.costs = FlashCosts {
        read: Nanos(25),
        program: Nanos(200),
        erase: Nanos(1500),
        transfer: Nanos(100),
        program_transfer: Nanos(100),
        pages_per_block: 64,
        pages_per_program: 1,
    };
    device.next_program = Some(Nanos(900));
    device.states[0] = ChipState {
        queue: queue(2, 3, 5000, 60),
        in_service: in_service(Op::Write, 11),
        drain: Nanos(77),
        in_gc: false,
        victim_valid_pages: 10,
    };
    device
}

#[test]
fn options_of_cqct() {
    let (device, all) = (device(), Cqct::DEFAULT);
    let bare = Cqct {
        xfer: Transfer::Excluded,
        ..all
    };
    let oracle = Cqct {
        cqct: CqctSource::Oracle,
        ..all
    };
    let per_page = Cqct {
        page_latency: PageLatency::PerPage,
        ..bare
    };
    for (options, time) in [
        (all, 2 * 125 + 3 * 300),
        (bare, 2 * 25 + 3 * 200),
        (oracle, 77),
        (per_page, 2 * 25 + 3 * 900),
    ] {
        assert_eq!(of(options, &device), time);
    }
    assert_eq!(DEFAULT_SUMMARY, Nanos(213_200));
    assert_eq!(
        (of(all, &NoDevice), of(oracle, &NoDevice)),
        (0, 0),
        "without a device"
    );
}

/// Row 4 of the check values with the five queued programs in the mapping: N_fp is 405 then.
#[test]
fn queued_programs_count_once_or_twice() {
    let mut device = device();
    (device.costs.transfer, device.costs.program_transfer) = (Nanos(0), Nanos(0));
    let costs = |free: u64, reading| {
        let mut device = device.clone();
        device.states[0].queue = queue(1, 5, free, 20);
        let options = Cqct {
            nfp: reading,
            ..Cqct::DEFAULT
        };
        of(options, &device)
    };
    let (queue, collection) = (25 + 5 * 200, 1500 + 10 * 225);
    assert_eq!(costs(400, FreePages::Unprogrammed), queue + collection);
    assert_eq!(costs(401, FreePages::Unprogrammed), queue);
    assert_eq!(costs(405, FreePages::Mapping), queue + collection);
    assert_eq!(costs(406, FreePages::Mapping), queue);
}

/// The same row: five queued programs, 10 valid pages in the victim.
#[test]
fn collections_are_predicted_by_blocks_if_asked() {
    let mut device = device();
    (device.costs.transfer, device.costs.program_transfer) = (Nanos(0), Nanos(0));
    device.states[0].queue = queue(1, 5, 400, 20);
    let options = Cqct {
        gc_state: GcStateBy::Block,
        ..Cqct::DEFAULT
    };
    let (queue, collection) = (25 + 5 * 200, 1500 + 10 * 225);
    device.blocks = GcBlocks {
        free: 7,
        threshold: 6,
    };
    assert_eq!(
        of(options, &device),
        queue,
        "pages would be at the threshold"
    );
    device.blocks.free = 6;
    for nfp in [FreePages::Unprogrammed, FreePages::Mapping] {
        assert_eq!(of(Cqct { nfp, ..options }, &device), queue + collection);
    }
}

#[test]
fn a_running_collection_counts_as_a_whole_one_if_asked() {
    let mut device = device();
    (device.costs.transfer, device.costs.program_transfer) = (Nanos(0), Nanos(0));
    device.states[0].queue = queue(1, 5, 5000, 20);
    let whole = Cqct {
        gc_residual: GcResidual::Whole,
        ..Cqct::DEFAULT
    };
    assert_eq!(of(whole, &device), 25 + 5 * 200, "none runs");
    device.states[0].queue.gc_remaining = Some(Nanos(7));
    assert_eq!(of(whole, &device), 25 + 5 * 200 + 1500 + 10 * 225);
    assert_eq!(of(Cqct::DEFAULT, &device), 25 + 5 * 200 + 7);
}

#[test]
fn remaining_time_of_the_operation_in_service() {
    let mut device = device();
    let remaining = Cqct {
        residual: Residual::Remaining,
        ..Cqct::DEFAULT
    };
    assert_eq!(of(remaining, &device), 2 * 125 + 2 * 300 + 11);
    device.states[0].in_service = in_service(Op::Read, 11);
    assert_eq!(of(remaining, &device), 125 + 11 + 3 * 300);
    device.states[0].in_service = in_service(Op::Read, 0);
    assert_eq!(
        of(remaining, &device),
        125 + 3 * 300,
        "only the bus is waited for"
    );
    device.states[0].queue.gc_remaining = Some(Nanos(40));
    assert_eq!(of(remaining, &device), 2 * 125 + 3 * 300 + 40);
    device.states[0].queue = queue(0, 0, 5000, 60);
    assert_eq!(of(remaining, &device), 0);
}

#[test]
fn summary_pages_count_with_their_own_time() {
    let mut device = device();
    device.states[0].queue.frontier_free_pages = 1;
    let options = Cqct {
        l_sp: Nanos(7),
        ..Cqct::DEFAULT
    };
    assert_eq!(of(options, &device), 2 * 125 + 3 * 300 + 7);
}

#[test]
fn a_summary_page_takes_no_longer_than_a_page() {
    let mut device = device();
    device.states[0].queue.frontier_free_pages = 1;
    let with = |summary, xfer| Cqct {
        l_sp: Nanos(summary),
        xfer,
        ..Cqct::DEFAULT
    };
    assert_eq!(
        of(with(299, Transfer::Included), &device),
        2 * 125 + 3 * 300 + 299
    );
    assert_eq!(
        of(with(301, Transfer::Included), &device),
        2 * 125 + 3 * 300 + 300
    );
    assert_eq!(
        of(with(301, Transfer::Excluded), &device),
        2 * 25 + 3 * 200 + 200
    );
    device.costs = FlashCosts {
        pages_per_block: 64,
        ..FlashCosts::default()
    };
    assert_eq!(of(Cqct::DEFAULT, &device), 0, "no time, no cost");
}
