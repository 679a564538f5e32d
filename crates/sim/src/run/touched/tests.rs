use super::*;
use destage_device::config::EffectiveDevice;
use destage_scheme::Expr;
use destage_trace::Trace;
use destage_types::{ByteSize, HostRequest, Nanos, RequestBatch};

fn run(cache: u64) -> RunSpec {
    RunSpec::cache_only(Expr::parse("lru").unwrap(), ByteSize(cache))
}

fn touched(requests: impl IntoIterator<Item = HostRequest>) -> Touched {
    let mut batch = RequestBatch::new();
    requests.into_iter().for_each(|r| batch.push(r));
    let trace = Trace::generated("test", batch);
    Touched::by((&trace).into(), PageSize::KIB4).unwrap()
}

/// Both tables of the map have a number for each mapping unit. A page has four mapping units.
#[test]
fn mapping_units_are_counted() {
    let device = EffectiveDevice::from_preset("enterprise-tlc-1t", &[]).unwrap();
    let device = std::sync::Arc::new(device.into_config());
    let units = device.logical_pages() + 4 * device.geometry.pages();
    let run = RunSpec {
        device: Some(device),
        ..run(16 << 20)
    };
    let tables = units * PER_FLASH_PAGE;
    assert!((tables..2 * tables).contains(&of_live(&run, 0)));
}

/// A full device has tables for what the trace touches, until it collects. One of pages is filled page by page from its
/// threshold on.
#[test]
fn a_fill_is_counted_once_it_is_in_tables() {
    let of_device = |preset: &str, before: &str, touched: Touched| {
        let keys = [format!("precondition={before}")];
        let device = EffectiveDevice::from_preset(preset, &keys).unwrap();
        let run = RunSpec {
            device: Some(std::sync::Arc::new(device.into_config())),
            ..run(16 << 20)
        };
        touched.of_device(&run)
    };
    let write = |i| HostRequest::new(Nanos(i), Op::Write, 8 * i, 8);
    let few = touched((0..1_000).map(write));
    let many = Touched {
        accesses: 1 << 26,
        ..few
    };
    let (drive, full) = ("enterprise-tlc-1t", "{fill=1}");
    let empty = of_device(drive, "{fill=0}", few);
    assert_eq!(of_device(drive, full, few), empty);
    let tables = of_device(drive, full, many);
    assert!(tables > 1 << 30, "{tables}");
    for before in ["{fill=1,overwrite=0.1}", "{overwrite=2}"] {
        assert_eq!(of_device(drive, before, few), tables, "{before}");
    }
    let pages = of_device("default", full, few);
    assert!(pages > of_device("default", "{fill=0}", few));
    let tables = of_device("default", full, many);
    assert!(tables > 10 * pages, "{tables}");
    assert_eq!(of_device("default", "{overwrite=2}", few), tables);
}

#[test]
fn a_live_device_is_counted_whatever_is_asked_of_it() {
    let device = EffectiveDevice::from_preset("default", &[]).unwrap();
    let device = std::sync::Arc::new(device.into_config());
    let live = |expr: &str, cache: u64, versions: u64| {
        let run = RunSpec {
            expr: Expr::parse(expr).unwrap(),
            device: Some(device.clone()),
            ..run(cache)
        };
        of_live(&run, versions)
    };
    let (pages, frames) = (device.logical_pages(), 4096);
    let small = live("lru", frames << 12, 0);
    // The map; lru remembers nothing of pages that have left.
    assert!(small > pages * PER_FLASH_PAGE + LIVE_TIMES);
    assert!(small < pages * (PER_FLASH_PAGE + PER_PAGE) + LIVE_TIMES + (64 << 20));
    assert!(live("lru", frames << 13, 0) >= small + frames * PER_FRAME);
    let dirty = live("lru", frames << 12, frames);
    assert_eq!(dirty, small + frames * PER_VERSION);
    let unbounded = live("lirs(max-nonres=inf)", frames << 12, 0);
    assert!(unbounded >= small - (1 << 20) + pages * PER_PAGE - frames * 64);
}

#[test]
fn a_curve_of_all_pages_needs_no_less_than_one_of_some() {
    let far = HostRequest::new(Nanos(0), Op::Write, (1 << 30) - 8, 8);
    let near = HostRequest::new(Nanos(0), Op::Write, 0, 8);
    let all = Touched::below(1 << 30, PageSize::KIB4);
    assert!(all.of_curve() >= touched([near, far, near]).of_curve());
    assert_eq!((all.pages, all.chunks), (1 << 27, 1 << 18));
    assert_eq!(Touched::below(1, PageSize::KIB4).pages, 1);
    assert_eq!(Touched::below(0, PageSize::KIB4).chunks, 0);
}

#[test]
fn memory_grows_with_cache_and_footprint() {
    let far = HostRequest::new(Nanos(0), Op::Write, 1 << 38, 8);
    let near = HostRequest::new(Nanos(0), Op::Write, 0, 8);
    let one = 96 + 3072 + 8;
    assert_eq!(touched([near]).of_run(&run(1 << 20)), one);
    let trim = HostRequest::new(Nanos(0), Op::Trim, 0, u32::MAX);
    assert_eq!(touched([near, trim, near]).of_run(&run(4096)), one + 8);
    let large = HostRequest::new(Nanos(0), Op::Write, 0, 8 * 1024);
    let large = touched([large]).of_run(&run(1 << 20));
    assert_eq!(large, 256 * 96 + 2 * 3072 + 1024 * 8);
    // An address far away costs no more than one nearby.
    assert_eq!(touched([near, far]).of_run(&run(1 << 30)), 2 * one);
    assert_eq!(touched([near, far]).of_curve(), 2 * (3072 + 96));
}

#[test]
fn an_index_is_refused_what_it_cannot_hold() {
    let write = |sector| HostRequest::new(Nanos(0), Op::Write, sector, 8);
    let touched = touched([0, 1 << 38, 8].map(write));
    assert!(touched.fits_index_of(2).is_ok() && touched.fits_index().is_ok());
    let refused = touched.fits_index_of(1).unwrap_err().to_string();
    assert_eq!(
        refused,
        "the trace touches 2 neighbourhoods of 512 pages, more than the 1 that an index of pages \
         holds"
    );
}

#[test]
fn samples_and_parts_take_what_is_in_them() {
    let write = |i| HostRequest::new(Nanos(i), Op::Write, 4096 * i, 8);
    let touched = touched((0..1_000).map(write));
    assert_eq!(touched.of_count(), 1_000 * 3072);
    assert_eq!(touched.of_sample(1.0), 1_000 * (48 + 96 + 3072));
    assert_eq!(touched.of_sample(0.1), 100 * (48 + 96 + 3072));
    // One in two parts of 1 MiB, and none after those that fill the device.
    assert_eq!(touched.of_packing(2048, 1 << 40), 1_000 * 32);
    assert_eq!(touched.of_packing(2048, 10 * 2048), 10 * 32);
}

#[test]
fn a_device_bounds_what_a_trace_can_touch() {
    let device = EffectiveDevice::from_preset("default", &[]).unwrap();
    let config = device.into_config();
    let pages = config.logical_pages();
    let timed = RunSpec {
        device: Some(config.into()),
        ..run(1 << 20)
    };
    let most = Touched::at_most(&[timed.clone(), timed.clone()]).unwrap();
    assert_eq!((most.pages, most.chunks), (pages, pages / 512 + 1));
    assert!(Touched::at_most(&[timed.clone(), run(1 << 20)]).is_none());
    let wraps = RunSpec {
        wrap: true,
        ..timed
    };
    assert!(Touched::at_most(std::slice::from_ref(&wraps)).is_none());
    // A read of 2 TiB is 2^29 pages on their way at once, however small the device is.
    let long = touched([HostRequest::new(Nanos(0), Op::Read, 0, u32::MAX)]);
    assert!(long.of_run(&wraps) >= 256 << 29);
    assert!(long.of_run(&run(1 << 20)) < 256 << 29);
    assert!(Touched::at_most(&[]).is_none());
}

#[test]
fn a_device_takes_a_piece_for_each_page_on_its_own() {
    let config = EffectiveDevice::from_preset("default", &[]).unwrap();
    let config = config.into_config();
    let (geometry, planes) = (config.geometry, u64::from(config.geometry.planes()));
    let pages = geometry.pages();
    let blocks = 16 * pages / u64::from(geometry.pages_per_block);
    let timed = RunSpec {
        device: Some(config.into()),
        ..run(1 << 20)
    };
    let of_device = |step: u64| {
        let write = |i| HostRequest::new(Nanos(i), Op::Write, step * i, 8);
        touched((0..1_000).map(write)).of_device(&timed)
    };
    // 1,000 neighbours lie in two neighbourhoods of 16 pieces.
    let lists = (2 + planes) * 4096;
    assert_eq!(of_device(8), blocks + lists + 2 * 16 * 128 + 1_000 * 4);
    // As many on their own take a piece each, and touch all of the lists.
    assert_eq!(of_device(4096), blocks + pages / 4 + 1_000 * (128 + 4));
}
