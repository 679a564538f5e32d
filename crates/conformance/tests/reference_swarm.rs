//! The slow models against themselves on random streams: invariants that hold after every step,
//! and laws between schemes.

use std::collections::BTreeSet;

use destage_conformance::reference::{
    Profile, ReadFill, Row, SlowCache, SlowConfig, SlowFlash, SlowRequest, Still, look_ahead,
    swarm, to_batch,
};
use destage_types::Op;

const ONLINE: [&str; 44] = [
    "none",
    "fifo",
    "lru",
    "lfu",
    "cflru",
    "cflru(x=1)",
    "arc",
    "lirs",
    "lirs(hir=3,max_nonres=4)",
    "lirs(max_nonres=inf,skip_repeat=true)",
    "lirs(variant=two_queue)",
    "req-block",
    "req-block(delta=2,size_basis=original,access_unit=request)",
    "req-block(delta=1,time_basis=page_seq,split_access=per_page,merge=all)",
    "req-block(delta=2,time_basis=req_seq,split_access=inherit,split_insert_time=inherit)",
    "req-block(delta=2,origin=direct)",
    "req-block(delta=2,origin=none)",
    "req-block(delta=2,merge=neighbour)",
    "prober(ssp=2k,rip=5)",
    "prober(lirs,ssp=4k,rip_cmp=gt,rip=3,asn_counts=all)",
    "prober(arc,ssp=4k)",
    "prober(arc,ssp=4k,ldr=bypass)",
    "prober(lfu,ssp=4k,ldr_evict=head,ldr_read_hit=promote)",
    "prober(cflru,ssp=8k,ldr_skip_partial=true)",
    "prober(ecr(lirs),ssp=4k)",
    "prober(gcar(arc),ssp=4k)",
    "procache(lru,p=0.5)",
    "procache(arc,p=0.5,c=8p,hit_rule=any,p_schedule=occupancy)",
    "procache(lirs,p=0.7,c=4p,hit_rule=page,read_touch=false)",
    "procache(prober(lru,ssp=4k),p=0.5,c=16p)",
    "procache(prober(fifo,ssp=4k,ldr=bypass),p=0.8,c=16p,cmp=ge)",
    "procache(ecr,pv=[1.0,0.5,0.1],size_unit=1p)",
    "gcar(lru)",
    "gcar(cflru,protect=dirty)",
    "gcar(arc,depth=3)",
    "gcar(lirs)",
    "ecr",
    "ecr(arc,inner_capacity=share)",
    "ecr(lfu,tie=lowest_index)",
    "ecr(lirs(hir=2))",
    "ecr-eps",
    "cflru-eps",
    "awb(prober(lirs,ssp=4k))",
    "eager(arc)",
];

const MAPPED: [&str; 12] = [
    "cac(lru)",
    "cac(fifo)",
    "cac(lfu)",
    "cac(arc)",
    "cac(arc,ghosts=false)",
    "cac(lirs,drop_stale=false)",
    "cac(lirs(variant=two_queue,skip_repeat=true))",
    "cac(req-block(delta=2))",
    "cac(prober(lirs,ssp=8k,cac_updates=exempt))",
    "cac(awb(prober(arc,ssp=8k)))",
    "cac(procache(prober(lru,ssp=8k),p=0.5,c=32k))",
    "cac(ecr(arc))",
];

fn config(capacity: usize, spp: u32) -> SlowConfig {
    SlowConfig::new(capacity, spp)
}

/// Chips with made-up, fixed states.
fn chips(seed: u64) -> Still {
    let mut still = Still::idle(4);
    for chip in 0..4 {
        still.cqct[chip] = (seed >> chip) % 3;
        still.gc[chip] = (seed >> (4 + chip)).is_multiple_of(3);
    }
    still
}

fn dirty_pages(cache: &SlowCache) -> BTreeSet<u64> {
    let dirty = cache.store.frames.iter().filter(|(_, f)| f.dirty != 0);
    dirty.map(|(&lpn, _)| lpn).collect()
}

/// What holds after every request, whatever the scheme.
fn check_step(cache: &SlowCache, request: &SlowRequest, before: &BTreeSet<u64>, row: &Row) {
    let frames = &cache.store.frames;
    assert!(frames.len() <= cache.store.capacity, "occupancy");
    let resident: Vec<u64> = frames.keys().copied().collect();
    assert_eq!(
        cache.scheme_pages(),
        resident,
        "the scheme knows each page once"
    );
    for frame in frames.values() {
        assert!(frame.valid != 0 && frame.dirty & !frame.valid == 0);
        assert!(frame.valid & !cache.store.full() == 0);
    }
    // No dirty page is lost: it is programmed, superseded, renamed or trimmed.
    let mut accounted: BTreeSet<u64> = row.programs.iter().copied().collect();
    accounted.extend(&row.discards);
    accounted.extend(row.remaps.iter().map(|r| r.0));
    if request.op == Op::Trim {
        accounted.extend(request.accesses(cache.store.spp).iter().map(|a| a.lpn));
    }
    // A bypassed write takes sectors away; it programs the page itself.
    let lost = before
        .iter()
        .find(|x| !cache.store.dirty(**x) && !accounted.contains(x));
    assert_eq!(lost, None, "dirty data vanished");
    if request.op == Op::Flush {
        assert!(dirty_pages(cache).is_empty(), "FLUSH leaves nothing dirty");
    }
}

fn check_counts(cache: &SlowCache, rows: &[Row], requests: &[SlowRequest]) {
    let c = &cache.counts;
    let number = |op: Op| requests.iter().filter(|r| r.op == op).count() as u64;
    assert_eq!(c.requests, requests.len() as u64);
    assert_eq!(c.read_requests, number(Op::Read));
    assert_eq!(c.write_requests, number(Op::Write));
    assert_eq!(
        c.trim_requests + c.flush_requests,
        number(Op::Trim) + number(Op::Flush)
    );
    assert_eq!(c.page_accesses, c.read_pages + c.write_pages);
    assert_eq!(c.page_hits, c.read_page_hits + c.write_page_hits);
    assert_eq!(c.sectors, c.read_sectors + c.write_sectors);
    assert_eq!(c.sector_hits, c.read_sector_hits + c.write_sector_hits);
    assert!(c.page_hits <= c.page_accesses && c.sector_hits <= c.sectors);
    assert!(c.read_request_hits <= c.read_request_hits_any);
    assert!(c.write_request_hits <= c.write_request_hits_any);
    assert!(c.read_request_hits as f64 <= c.read_hit_fraction_sum.0);
    assert!(c.write_hit_fraction_sum.0 <= c.write_request_hits_any as f64);
    let sum = |f: &dyn Fn(&Row) -> usize| rows.iter().map(f).sum::<usize>() as u64;
    assert_eq!(c.page_accesses, sum(&|r| r.hits.len()));
    assert_eq!(c.page_hits, sum(&|r| r.hits.iter().filter(|&&h| h).count()));
    assert_eq!(c.evictions, sum(&|r| r.evictions.len()));
    assert_eq!(c.flash_writes_host, sum(&|r| r.programs.len()));
    assert_eq!(c.flash_reads_host, sum(&|r| r.reads.len()));
    assert_eq!(c.discarded_pages, sum(&|r| r.discards.len()));
    assert_eq!(c.remaps, sum(&|r| r.remaps.len()));
    let pages = |r: &Row| {
        (r.evictions.iter())
            .map(|e| e.flush.len() + e.drop.len())
            .sum()
    };
    assert_eq!(c.evicted_pages, sum(&pages));
    let flushed = |r: &Row| r.evictions.iter().map(|e| e.flush.len()).sum();
    assert_eq!(c.flushed_pages, sum(&flushed));
    assert!(c.dirty_evictions <= c.evictions && c.flushed_pages <= c.evicted_pages);
}

/// Runs a stream with all checks on.
fn run(expression: &str, config: SlowConfig, requests: &[SlowRequest]) -> (SlowCache, Vec<Row>) {
    let mut cache = SlowCache::new(expression, config).expect(expression);
    let mut rows = Vec::new();
    for request in requests {
        let before = dirty_pages(&cache);
        let row = cache.step(request);
        check_step(&cache, request, &before, &row);
        rows.push(row);
    }
    check_counts(&cache, &rows, requests);
    (cache, rows)
}

#[test]
fn every_scheme_keeps_the_invariants() {
    for seed in 0..24 {
        let spp = [8, 4, 16, 32, 128][seed as usize % 5];
        let profile = Profile::new(300, spp).pages([24, 64, 400][seed as usize % 3]);
        let profile = if seed % 4 == 0 {
            profile.with_extents()
        } else {
            profile
        };
        let requests = swarm(seed, profile);
        for expression in ONLINE {
            let capacity = 4 + (seed as usize * 7) % 23;
            let alloc = seed % 2 == 0 && !expression.contains("req-block");
            let alloc = alloc && !expression.contains("procache");
            let fill = [ReadFill::Page, ReadFill::Requested][seed as usize / 2 % 2];
            let config = config(capacity, spp).read_alloc(alloc).read_fill(fill);
            run(expression, config.flash(chips(seed)), &requests);
        }
    }
}

#[test]
fn renamed_pages_keep_the_invariants() {
    let mut remaps = 0;
    for seed in 0..60 {
        let profile = Profile::new(400, 8)
            .pages([24, 64][seed as usize % 2])
            .with_prev();
        let requests = swarm(seed, profile);
        for expression in MAPPED {
            let config = config(4 + seed as usize % 13, 8).flash(chips(seed));
            let (cache, _) = run(expression, config, &requests);
            remaps += cache.counts.remaps;
        }
    }
    assert!(remaps > 10_000, "renames were exercised: {remaps}");
}

#[test]
fn belady_keeps_the_invariants() {
    for seed in 0..30 {
        let mut requests = swarm(seed, Profile::new(300, 8).pages(48));
        look_ahead(&mut requests, 8, seed % 3 == 0);
        for expression in ["belady", "belady(bypass=false)"] {
            let config = config(4 + seed as usize % 9, 8).read_alloc(seed % 2 == 0);
            run(expression, config, &requests);
        }
    }
}

/// Both schemes answer alike, step by step; states are compared on request.
fn same(a: (&str, SlowConfig), b: (&str, SlowConfig), requests: &[SlowRequest]) {
    let (_, one) = run(a.0, a.1, requests);
    let (_, two) = run(b.0, b.1, requests);
    for (i, (x, y)) in one.iter().zip(&two).enumerate() {
        let at = format!("{} and {} at request {i} {:?}", a.0, b.0, requests[i]);
        assert_eq!(x.hits, y.hits, "{at}");
        assert_eq!(x.evictions, y.evictions, "{at}");
        assert_eq!((&x.programs, &x.reads), (&y.programs, &y.reads), "{at}");
    }
}

#[test]
fn laws_between_schemes() {
    for seed in 0..40 {
        let c = 3 + seed as usize % 20;
        let requests = swarm(seed, Profile::new(400, 8));
        let idle = || config(c, 8).read_alloc(true).flash(Still::idle(4));
        let off = || config(c, 8).read_alloc(false).flash(Still::idle(4));
        same(("ecr(lru)", idle()), ("cflru-eps", idle()), &requests);
        same(("cflru(x=1)", idle()), ("cflru-eps", idle()), &requests);
        same(("ecr-eps", idle()), ("lru", idle()), &requests);
        for leaf in ["lru", "fifo", "lfu", "cflru", "arc", "lirs(hir=2)"] {
            same(
                (&format!("gcar({leaf})"), idle()),
                (leaf, idle()),
                &requests,
            );
            same((&format!("awb({leaf})"), idle()), (leaf, idle()), &requests);
            same((&format!("cac({leaf})"), idle()), (leaf, idle()), &requests);
            let huge = format!("prober({leaf},ssp=1g)");
            same((&huge, idle()), (leaf, idle()), &requests);
            let open = format!("procache({leaf},p=1,c=1g,hit_rule=page)");
            same((&open, off()), (leaf, off()), &requests);
        }
        let writes: Vec<SlowRequest> = requests
            .iter()
            .filter(|r| r.op == Op::Write)
            .cloned()
            .collect();
        same(("ecr(lru)", off()), ("lru", off()), &writes);
    }
}

#[test]
fn streams_are_the_same_every_time_and_differ_by_seed() {
    let profile = Profile::new(300, 8).with_prev().with_extents();
    let mut missing = [0; 4];
    let (mut atomic, mut split, mut partial, mut sequential, mut inside) = (0, 0, 0, 0, 0);
    for seed in 0..100 {
        let requests = swarm(seed, profile);
        assert_eq!(requests, swarm(seed, profile));
        assert_ne!(requests, swarm(seed + 1, profile));
        for (i, op) in [Op::Read, Op::Write, Op::Trim, Op::Flush]
            .into_iter()
            .enumerate()
        {
            missing[i] += usize::from(!requests.iter().any(|r| r.op == op));
        }
        let batch = to_batch(&requests);
        let back: Vec<SlowRequest> = batch.iter().map(SlowRequest::from).collect();
        for (there, here) in back.iter().zip(&requests) {
            let given = here.prev.iter().any(Option::is_some);
            assert_eq!(there.extents, here.extents);
            assert_eq!((there.op, there.arrival), (here.op, here.arrival));
            assert_eq!(there.prev.iter().any(Option::is_some), given);
            assert!(!given || there.prev == here.prev);
            assert!(here.accesses(8).iter().all(|a| a.lpn < 64 && a.mask != 0));
        }
        let old = requests.iter().flat_map(|r| r.prev.iter().flatten());
        inside += old.filter(|sector| *sector % 8 != 0).count();
        atomic += requests.iter().filter(|r| r.atomic).count();
        split += requests.iter().filter(|r| r.extents.len() > 1).count();
        let whole = |r: &SlowRequest| r.accesses(8).iter().all(|a| a.mask == 0xff);
        partial += requests.iter().filter(|r| !whole(r)).count();
        let end = |r: &SlowRequest| r.extents.first().map(|e| e.0 + u64::from(e.1));
        sequential += (requests.windows(2))
            .filter(|w| end(&w[0]).is_some() && end(&w[0]) == w[1].extents.first().map(|e| e.0))
            .count();
    }
    for (i, n) in missing.into_iter().enumerate() {
        assert!(
            (10..60).contains(&n),
            "operation {i} vanished in {n} of 100 streams"
        );
    }
    assert!(
        atomic > 1000 && split > 1000 && partial > 1000,
        "{atomic} {split} {partial}"
    );
    assert!(sequential > 500, "{sequential}");
    assert!(inside > 1000, "old addresses inside a page: {inside}");
    assert_eq!(Still::idle(3).chips(), 3);
}
