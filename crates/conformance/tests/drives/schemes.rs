//! Schemes that random drives have.

use super::{DriveConfig, DriveModel, Span, SplitMix64, config, load, run, spec};
use destage_scheme::registry::SCHEMES;
use destage_scheme::{Role, SchemeInfo};

/// Those that `drain` takes.
const DRAINED: [&str; 21] = [
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
];

/// Those without an order of their pages or groups.
const ASKED: [&str; 19] = [
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
];

/// Gives a drive a scheme, and perhaps a buffer on demand.
pub fn draw(rng: &mut SplitMix64, c: &mut DriveConfig) {
    if rng.chance(30) {
        return;
    }
    if rng.chance(40) {
        c.drain = None;
        c.scheme = Some(rng.pick(&ASKED).to_owned());
    } else {
        c.scheme = Some(rng.pick(&DRAINED).to_owned());
    }
    // Write buffers refuse pages that are read.
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
    ];
    let scheme = c.scheme.as_deref().unwrap_or_default();
    c.read_allocation &= !writes.iter().any(|name| scheme.contains(name));
    // vbbms and lirs need some frames, and groups several pages.
    c.frames = c.frames.max(8);
    c.on_demand = rng.chance(40);
    if c.on_demand {
        (c.rewrite_in_place, c.release_at_transfer_end) = (false, false);
        c.pause_put_off = false;
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
    (c.scheme, c.drain, c.on_demand) = (Some(scheme.to_owned()), None, false);
    (c.read_allocation, c.nvm, c.mapping_bytes) = (false, false, 4096);
    if by_chips {
        c.allocation_static = true;
        if c.gc_unit == Span::Drive {
            (c.gc_unit, c.frontier) = (Span::Die, Span::Die);
        }
    }
    c.frames = 4 * c.unit_places() * c.dies() * c.planes_per_die;
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
            let slow = DriveConfig {
                scheme: None,
                ..c.clone()
            };
            let exported = DriveModel::new(slow).expect("legal keys").exported();
            let requests = load(&mut rng, &c, exported as u64, 200);
            let (done, record) = run(&c, true, &requests);
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
        let error = spec(&c, true).check().expect_err(text).to_string();
        assert!(error.contains("buffer = bounded"), "{error}");
        assert!(error.contains(name), "{error}");
    }
}
