//! Schemes that random drives have.

use super::{Before, DriveConfig, DriveModel, SplitMix64, config, load, run, spec};
use destage_scheme::registry::SCHEMES;
use destage_scheme::{Role, SchemeInfo};

/// Those that `drain` hands over in their own order.
const DRAINED: [&str; 27] = [
    "lru",
    "lfu",
    "clock",
    "cflru",
    "arc",
    "lirs",
    "prober(lru,ssp=32k,rip=20)",
    "prober(arc,ssp=32k,rip=20,ldr-read-hit=promote)",
    "prober(lru,ssp=32k,rip=20,ldr=bypass)",
    "prober(cflru,ssp=32k,rip=20,ldr-skip-partial=true)",
    "procache(lru,p=0.5,c=32k)",
    "procache(lru,p=0.5,c=64k,hit-rule=page)",
    "refcount(lru,threshold=2)",
    "twolevel(lru,n-hot=8,n-cand=16)",
    "req-block",
    "bplru(block-pages=4)",
    "fab(block-pages=4)",
    "vbbms",
    "prober(req-block,ssp=32k,rip=20)",
    "procache(req-block,p=0.5,c=32k)",
    "refcount(bplru(block-pages=4),threshold=2)",
    "cflru-eps",
    "wow(group=4)",
    "prober(cscan(group=3),ssp=32k,rip=20)",
    "multihash(lru)",
    "mbf(cflru)",
    "mbf(vbbms)",
];

/// Those without an order of their pages or groups: drained in the order of writes.
const ASKED: [&str; 22] = [
    "pud-lru(block-pages=4)",
    "bpac(block-pages=4)",
    "lb-clock(block-pages=4)",
    "2q",
    "lru-2",
    "mq",
    "lrfu",
    "frd",
    "sieve",
    "s3-fifo",
    "w-tinylfu",
    "lru-wsr",
    "ccf-lru",
    "ad-lru",
    "ref(block-pages=4)",
    "procache(2q,p=0.5,c=32k)",
    "prober(lru-2,ssp=32k,rip=20)",
    "prober(sieve,ssp=32k,rip=20,ldr=bypass)",
    "twolevel(lb-clock(block-pages=4),n-hot=8,n-cand=16)",
    "best-of(lru,lfu)",
    "best-of(fifo,cflru,2q)",
    "multihash(sieve)",
];

/// Those that choose by the chips.
const BY_CHIPS: [&str; 16] = [
    "ecr(lru)",
    "ecr(arc)",
    "ecr(lru,cqct=oracle)",
    "ecr(cflru,tie=lowest-index)",
    "ecr(bplru(block-pages=4))",
    "ecr-eps",
    "gcar(lru)",
    "gcar(arc,protect=dirty)",
    "gcar(fab(block-pages=4),depth=2)",
    "gcar(ecr(lru))",
    "prober(ecr(lru),ssp=32k,rip=20)",
    "ecr(req-block)",
    "ecr-eps(residual=remaining,nfp=mapping)",
    "ecr(sieve,gc-state=block,gc-residual=whole)",
    "lcr",
    "lcr(w=4,xfer=excluded,l-sp=0ns)",
];

/// Those that write back on idle channels.
const LAYERS: [&str; 20] = [
    "awb(lru)",
    "awb(lru,depth=16)",
    "awb(arc,after=keep-clean,depth=8)",
    "awb(prober(lru,ssp=32k,rip=20))",
    "awb(prober(lru,ssp=32k,rip=20),scope=ldr-then-base,depth=8)",
    "awb(prober(lru,ssp=32k,rip=20),partial=write,depth=4)",
    "awb(bplru(block-pages=4),depth=8)",
    "awb(req-block)",
    "awb(refcount(lru,threshold=2))",
    "eager(lru)",
    "eager(clock,w=8)",
    "eager(vbbms)",
    "idle-clean(lru)",
    "idle-clean(arc,watermark=0,young=0)",
    "idle-clean(lru,second-chance=true,period=4)",
    "idle-clean(pud-lru(block-pages=4),watermark=0)",
    "idle-clean(best-of(lru,sieve),watermark=0)",
    "eager(mbf(lru))",
    "co-active",
    "co-active(wb-max=adaptive)",
];

/// Those that choose by the chips too.
const LAYERS_BY_CHIPS: [&str; 4] = [
    "awb(ecr(lru),depth=4)",
    "eager(ecr-eps)",
    "idle-clean(gcar(lru),watermark=0)",
    "ecr(co-active)",
];

/// Those that drain by themselves.
const DRAINING: [&str; 4] = [
    "reserve",
    "procache(reserve,p=0.5,c=32k)",
    "refcount(reserve,threshold=2)",
    "mbf(reserve)",
];

/// Gives a drive a scheme, and perhaps a buffer on demand.
pub fn draw(rng: &mut SplitMix64, c: &mut DriveConfig) {
    if rng.chance(20) {
        return;
    }
    let mut layer = false;
    match rng.below(100) {
        0..30 => {
            c.drain = c.drain.filter(|_| rng.chance(50));
            c.scheme = rng.pick(&ASKED).to_owned();
        }
        30..52 => c.scheme = rng.pick(&DRAINED).to_owned(),
        52..60 => draining(rng, c),
        60..80 => {
            c.scheme = rng.pick(&BY_CHIPS).to_owned();
            by_chips(c);
        }
        _ => {
            c.drain = None;
            layer = true;
            c.scheme = rng.pick(&LAYERS).to_owned();
            if rng.chance(30) {
                c.scheme = rng.pick(&LAYERS_BY_CHIPS).to_owned();
                by_chips(c);
            }
        }
    }
    let may_rename = !layer && !c.scheme.contains("best-of");
    if may_rename && c.is("mapping_bytes", "4096") && rng.chance(50) {
        c.cac = Some(rng.pick(&[
            "",
            "",
            ",ghosts=false",
            ",drop-stale=false",
            ",unmap-pre=true",
        ]));
    }
    refuse_reads(c);
    // vbbms and lirs need some frames, and groups several pages.
    c.frames = c.frames.max(8);
    if !layer && rng.chance(40) {
        on_demand(c);
    }
}

/// Write buffers refuse pages that are read.
fn refuse_reads(c: &mut DriveConfig) {
    let writes = [
        "procache",
        "refcount",
        "twolevel",
        "req-block",
        "plru(",
        "pud-lru",
        "fab",
        "vbbms",
        "bpac",
        "lb-clock",
        "multihash",
        "mbf",
    ];
    c.read_allocation &= !writes.iter().any(|name| c.scheme.contains(name));
}

/// A scheme that drains by itself, mostly with more frames: the reserve follows their number.
pub fn draining(rng: &mut SplitMix64, c: &mut DriveConfig) {
    (c.scheme, c.drain) = (rng.pick(&DRAINING).to_owned(), None);
    let exported = DriveModel::new(c.clone()).expect("legal keys").exported() as u64;
    let more = c.frames * (1 + rng.below(8));
    c.frames = c.frames.max(more.min(exported / 4));
    refuse_reads(c);
    if rng.chance(20) {
        on_demand(c);
    }
}

/// Takes the bounded buffer away, with all that needs one.
pub fn on_demand(c: &mut DriveConfig) {
    for key in ["buffer", "rewrite", "frame_release"] {
        c.unset(key);
    }
    c.change("program_pause", "put_off", "begin");
    c.unset_slc();
}

/// Where pages have a chip of their own.
fn by_chips(c: &mut DriveConfig) {
    spread_by_address(c);
    c.unset_slc();
    if !c.is("allocation", "static") {
        c.set("allocation", "static");
        c.frames += (c.dies() * c.number("planes_per_die") - 1) * c.unit_places();
    }
}

/// Static allocation needs frontiers of their own.
fn spread_by_address(c: &mut DriveConfig) {
    if c.is("gc_unit", "drive") {
        c.set("gc_unit", "die");
        c.set("frontier", "die");
    }
}

/// The scheme, or the layer around one that it takes.
fn composition(info: &SchemeInfo) -> String {
    match (info.role.is_layer(), info.name) {
        (false, "fab" | "bplru" | "pud-lru" | "bpac" | "lb-clock") => {
            format!("{}(block-pages=4)", info.name)
        }
        (false, "best-of") => "best-of(lru,lfu)".to_owned(),
        (false, name) => name.to_owned(),
        (true, "cac") => "cac(lru)".to_owned(),
        (true, name) => format!("{name}(lru)"),
    }
}

/// A random drive with a bounded buffer under a scheme.
fn bounded(rng: &mut SplitMix64, scheme: &str, by_chips: bool) -> DriveConfig {
    let mut c = config(rng);
    (c.scheme, c.drain, c.read_allocation) = (scheme.to_owned(), None, false);
    c.set("buffer", "bounded");
    c.set("mapping_bytes", 4096);
    c.unset("cache_persistence");
    if by_chips {
        c.set("allocation", "static");
        spread_by_address(&mut c);
        c.unset_slc();
    }
    c.frames = 4 * c.unit_places() * c.dies() * c.number("planes_per_die");
    c
}

#[test]
fn every_scheme_runs_on_a_bounded_buffer() {
    let bounds = |info: &&&SchemeInfo| !matches!(info.role, Role::None | Role::Offline);
    for (i, info) in SCHEMES.iter().filter(bounds).enumerate() {
        let text = composition(info);
        for seed in 0..3 {
            let mut rng = SplitMix64::new(100 * i as u64 + seed);
            let c = bounded(&mut rng, &text, info.chip_aware);
            let mut slow = c.clone();
            slow.scheme = "fifo".to_owned();
            let exported = DriveModel::new(slow).expect("legal keys").exported();
            let requests = load(&mut rng, &c, exported as u64, 200);
            let (done, record) = run(&c, Before::FULL, &requests);
            let late = requests.iter().zip(&done).find(|(r, done)| **done <= r.at);
            assert!(late.is_none(), "{text}, seed {seed}: {late:?} is not done");
            assert!(
                record.counts.flash_writes_host > 0,
                "{text}: nothing is programmed"
            );
        }
    }
}

#[test]
fn what_needs_no_frames_is_refused_with_both_names() {
    for (text, name) in [
        ("none", "none"),
        ("belady", "belady"),
        ("bplru(block-pages=4,padding=true)", "bplru"),
    ] {
        let mut rng = SplitMix64::new(1);
        let c = bounded(&mut rng, text, false);
        let error = spec(&c, Before::FULL).check().expect_err(text).to_string();
        assert!(error.contains("buffer = bounded"), "{error}");
        assert!(error.contains(name), "{error}");
    }
}
