//! Cache-only runs: page accesses per CPU-second of every scheme, beside libCacheSim.

use super::Bench;
use super::peer::{Peer, class};
use super::program::{Cost, median};
use super::table::{Table, figure};
use anyhow::{Result, ensure};
use std::path::{Path, PathBuf};

const POLICIES: &[&str] = &[
    "lru",
    "fifo",
    "lfu",
    "clock",
    "cflru",
    "arc",
    "lirs",
    "2q",
    LRU_2,
    "sieve",
    S3_FIFO,
    "w-tinylfu",
    OPT,
];

/// The offline optimum as libCacheSim has it: every miss enters the cache.
pub(super) const OPT: &str = "belady(bypass=false)";

/// `lru-2` as libCacheSim has it: it remembers no page that left.
pub(super) const LRU_2: &str = "lru-2(h=0)";

/// `s3-fifo` as libCacheSim has it: the ghost of a page that comes in is taken out before room is made.
pub(super) const S3_FIFO: &str = "s3-fifo(ghost=kept)";

/// Policies whose rules are the peer's too, ties included, so that every hit must be the same. How its
/// S3-FIFO and W-TinyLFU differ is said where ours are.
const SAME_RULES: &[&str] = &[
    "lru", "fifo", "lfu", "clock", "arc", "2q", LRU_2, "sieve", OPT,
];

/// Compositions and group schemes, run with 70 % writes.
const COMPOSITIONS: &[&str] = &[
    "lru",
    "prober(lru)",
    "prober(lirs)",
    "prober(arc)",
    "cac(lru)",
    "cac(arc)",
    "procache(lru)",
    "ecr(lru)",
    "gcar(lru)",
    "awb(prober(lru))",
    "cac(awb(prober(lirs)))",
    "req-block",
    "bplru",
    "vbbms",
    "refcount(lru)",
    "multihash(lru)",
    "eager(lru)",
];

/// Goal of a composition in million page accesses per CPU-second.
const GOAL: f64 = 10.0;

/// The peer and the trace it reads.
struct Rival {
    peer: Peer,
    trace: PathBuf,
    trace_mib: f64,
}

impl Bench {
    fn shape(&self, writes: u64) -> Vec<String> {
        let (accesses, universe) = (self.sizes.accesses, self.sizes.universe);
        [
            ("--accesses", accesses),
            ("--universe", universe),
            ("--writes", writes),
        ]
        .iter()
        .flat_map(|(name, value)| [(*name).to_owned(), value.to_string()])
        .collect()
    }

    fn cache(&self, scheme: Option<&str>, pages: u64, writes: u64) -> Result<Cost> {
        eprintln!("   {} {pages}", scheme.unwrap_or("yardstick"));
        let mut args = match scheme {
            Some(scheme) => vec!["cache".to_owned(), format!("--scheme={scheme}")],
            None => vec!["minimal".to_owned()],
        };
        args.push(format!("--pages={pages}"));
        args.extend(self.shape(writes));
        median(self.sizes.runs, || self.program.measure(&args))
    }

    /// Installs the peer and writes its trace; without it the tables have dashes.
    fn rival(&self) -> Result<Option<Rival>> {
        if self.options.small || self.options.no_peer {
            return Ok(None);
        }
        let peer = match Peer::new(&self.options.python, self.temp.path()) {
            Ok(peer) => peer,
            Err(error) => {
                eprintln!("WARNING: libCacheSim is left out: {error:#}");
                return Ok(None);
            }
        };
        let trace = self.temp.path().join("zipf.oracleGeneral");
        let mut args = vec!["oracle".to_owned(), "--out".to_owned()];
        args.push(trace.to_string_lossy().into_owned());
        args.extend(self.shape(0));
        self.program.generate(&args)?;
        let trace_mib = std::fs::metadata(&trace)?.len() as f64 / 1_048_576.0;
        Ok(Some(Rival {
            peer,
            trace,
            trace_mib,
        }))
    }
}

impl Rival {
    fn measure(&self, bench: &Bench, scheme: &str, pages: u64) -> Result<Option<Cost>> {
        let Some(class) = class(scheme) else {
            return Ok(None);
        };
        eprintln!("   libCacheSim {class} {pages}");
        let trace: &Path = &self.trace;
        median(bench.sizes.runs, || {
            self.peer.measure(class, pages, trace, 1.0)
        })
        .map(Some)
    }
}

/// Replacement policies with reads only, beside libCacheSim.
pub fn policies(bench: &Bench) -> Result<Vec<Table>> {
    let rival = bench.rival()?;
    let schemes: Vec<&str> = bench.wanted(POLICIES);
    let mut tables = Vec::new();
    for &pages in bench.sizes.cache_pages {
        let title = format!(
            "Cache of {pages} pages: {} reads, Zipf(0.9) over {} pages",
            bench.sizes.accesses, bench.sizes.universe
        );
        let head = [
            "scheme",
            "M/s",
            "libCacheSim M/s",
            "ratio",
            "hits",
            "hits equal",
            "MiB more",
            "libCacheSim MiB more",
        ];
        let mut table = Table::new(title, &head);
        for &scheme in &schemes {
            let ours = bench.cache(Some(scheme), pages, 0)?;
            let theirs = match &rival {
                Some(rival) => rival.measure(bench, scheme, pages)?,
                None => None,
            };
            if let Some(theirs) = theirs.as_ref().filter(|_| SAME_RULES.contains(&scheme)) {
                ensure!(
                    ours.hits == theirs.hits,
                    "{scheme} must hit as libCacheSim does: {:?} and {:?}",
                    ours.hits,
                    theirs.hits,
                );
            }
            let trace_mib = rival.as_ref().map_or(0.0, |r| r.trace_mib);
            table.row(row(scheme, &ours, theirs.as_ref(), trace_mib));
        }
        if bench.options.scheme.is_none() {
            let least = bench.cache(None, pages, 0)?;
            table.row(row("(yardstick)", &least, None, 0.0));
        }
        tables.push(table);
    }
    Ok(tables)
}

fn row(scheme: &str, ours: &Cost, theirs: Option<&Cost>, trace_mib: f64) -> Vec<String> {
    let difference = |t: &Cost| match (ours.hits, t.hits) {
        (Some(a), Some(b)) if a != b => format!("{:+}", a as i64 - b as i64),
        _ => "yes".to_owned(),
    };
    vec![
        scheme.to_owned(),
        figure(Some(ours.rate())),
        figure(theirs.map(Cost::rate)),
        figure(theirs.map(|t| ours.rate() / t.rate())),
        ours.hits.map_or("-".to_owned(), |h| h.to_string()),
        theirs.map_or("-".to_owned(), difference),
        figure(ours.extra_mib()),
        // Their trace is mapped while the clock runs; ours is in memory before.
        figure(
            theirs
                .and_then(Cost::extra_mib)
                .map(|m| (m - trace_mib).max(0.0)),
        ),
    ]
}

/// Composed schemes with 70 % writes.
pub fn compositions(bench: &Bench) -> Result<Vec<Table>> {
    let title = format!(
        "Compositions: {} accesses, 70 % writes, Zipf(0.9) over {} pages, M accesses/s (goal {GOAL})",
        bench.sizes.accesses, bench.sizes.universe
    );
    let sizes: Vec<String> = bench
        .sizes
        .cache_pages
        .iter()
        .map(|p| format!("{p} pages"))
        .collect();
    let mut head = vec!["scheme"];
    head.extend(sizes.iter().map(String::as_str));
    head.extend(["below goal", "most MiB more"]);
    let mut table = Table::new(title, &head);
    for scheme in bench.wanted(COMPOSITIONS) {
        let costs = bench.sizes.cache_pages.iter();
        let costs = costs.map(|&pages| bench.cache(Some(scheme), pages, 70));
        let costs = costs.collect::<Result<Vec<Cost>>>()?;
        let below = costs.iter().any(|c| c.rate() < GOAL);
        let memory = costs.iter().filter_map(Cost::extra_mib).fold(0.0, f64::max);
        let mut cells = vec![scheme.to_owned()];
        cells.extend(costs.iter().map(|c| figure(Some(c.rate()))));
        cells.push(if below { "yes" } else { "no" }.to_owned());
        cells.push(figure(Some(memory)));
        table.row(cells);
    }
    Ok(vec![table])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_composition_is_written_as_an_expression() {
        for text in COMPOSITIONS {
            assert_eq!(
                text.matches('(').count(),
                text.matches(')').count(),
                "{text}"
            );
        }
    }
}
