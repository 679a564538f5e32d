//! The worked examples, through the real core.

#[path = "examples/own.rs"]
mod own;

use destage_conformance::drive::{Config, is_built};
use destage_conformance::vectors::{Table, Vectors};
use destage_scheme::registry::SCHEMES;
use destage_scheme::cqct::{self, Latencies};
use destage_scheme::registry::NAMES;
use destage_scheme::rng::SplitMix64;
use destage_scheme::{ChipQueue, Expr};
use destage_types::Nanos;

/// Examples that must run. More may run; fewer is a failure.
const MUST_RUN: &str = "arc awb awbinflight belady1 belady2 bplru bplrupad cacarc cacatomic cacghost cacinplace \
    caclru cacmulti cflru clock comp eager ecr ecreps ecreq fifo gcarcflru gcarlru lfu lirs lirs2q lru lwrs met multihash \
    none proberarc proberlirs proberlru procache procachegt procachev refcount reqblock1 reqblock2 reqblock3 \
    reqblock4 rng tim twoq vbbms";

/// Examples that are not checked, and why. They must move up when their scheme exists.
const NOT_CHECKED: &[(&str, &str)] = &[
    (
        "adlru bpac ccflru coactive fab frd lbclock lcr lrfu lru2 lruwsr mq pudlru ref s3fifo \
         sieve wtlfu",
        "scheme of the extended set without an implementation",
    ),
    (
        "mbf twolevel",
        "identifier of hot data without an implementation",
    ),
];

/// Every example of the file is in exactly one list, and the lists name no others.
#[test]
fn every_example_is_checked_or_says_why_not() {
    let Some(vectors) = Vectors::load() else {
        return;
    };
    let reasons = NOT_CHECKED.iter();
    let not = reasons.flat_map(|(names, why)| {
        assert!(!why.is_empty(), "{names}: a reason");
        names.split_whitespace()
    });
    let mut listed: Vec<&str> = MUST_RUN.split_whitespace().chain(not).collect();
    let mut names: Vec<&str> = vectors.names().collect();
    listed.sort_unstable();
    names.sort_unstable();
    assert_eq!(listed, names);
}

/// Columns of tables of schemes; a column beside these would go unread.
const COLUMNS: &[&str] = &[
    "#",
    "request",
    "result",
    "evicted",
    "state after",
    "program start-end",
    "eviction wait",
    "response",
    "req",
];

/// What became of an example.
#[derive(PartialEq)]
enum Outcome {
    Ran(usize),
    NotAvailable(String),
}

fn run_table(table: &Table) -> Outcome {
    let expr = table.expr();
    if !expr.unavailable().is_none() {
        let missing = expr.chain().find(|l| !NAMES.contains(&l.scheme().name));
        let missing = missing.map_or("an extended scheme", |l| l.scheme().name);
        return Outcome::NotAvailable(missing.to_owned());
    }
    for row in table.rows() {
        let columns = row.as_object().expect("a row has cells").keys();
        let unread = columns.filter(|c| !COLUMNS.contains(&c.as_str()));
        assert_eq!(unread.collect::<Vec<_>>(), [""; 0], "{}", table.name);
    }
    for boxed in [false, true] {
        let start = |config: Config| Config { boxed, ..config }.drive(&expr, &table.requests());
        if table.is_timed() {
            table.run_timed(start(table.timed_config()));
        }
        if table.has_plain_queues() {
            table.run(start(table.config()));
        }
    }
    Outcome::Ran(table.rows().len())
}

fn random_numbers(table: &Table) -> usize {
    let mut bits = SplitMix64::new(1);
    let mut reals = SplitMix64::new(1);
    for row in table.rows() {
        let number = format!("{:#018x}", bits.next_u64());
        assert_eq!(number, table.cell(row, "u64"));
        let real = reals.next_53() as f64 * 2f64.powi(-53);
        assert_eq!(format!("{real:.16}"), table.cell(row, "uniform"));
    }
    table.rows().len()
}

fn parser(table: &Table) -> usize {
    for row in table.rows() {
        let text = table.cell(row, "expression").trim_matches('`');
        let got = match Expr::parse(text) {
            Ok(expr) => format!("`{expr}`"),
            Err(refusal) => refusal.code.to_string(),
        };
        assert_eq!(got, table.cell(row, "accepted as / refused with"), "{text}");
    }
    table.rows().len()
}

/// Equations 1-4 of ECR (section 3.1).
fn equation(table: &Table) -> usize {
    for row in table.rows() {
        let number = |column: &str| table.cell(row, column).parse::<u64>().expect("a number");
        let time = |column: &str| Nanos(number(column) * 1000);
        let queue = ChipQueue {
            reads: number("Nr"),
            writes: number("Nw"),
            free_pages: number("Nfp"),
            gc_threshold_pages: number("Nmfp"),
            frontier_free_pages: number("Nfpb"),
            gc_remaining: None,
        };
        let latencies = Latencies {
            read: time("Lr"),
            program: time("Lw"),
            erase: time("Lgc"),
            summary: time("Lsp"),
            pages_per_block: number("Np"),
        };
        let parts = cqct::equation(&queue, number("Nvp"), &latencies);
        assert_eq!(u64::from(parts.gc), number("S"), "S_i");
        assert_eq!(parts.gc_time, time("Tgc"), "T_gc");
        assert_eq!(parts.summaries, number("Nsp"), "N_sp");
        assert_eq!(parts.total, time("CQCT"), "CQCT_i");
    }
    table.rows().len()
}

fn run(vectors: &Vectors, name: &str) -> Outcome {
    let mut rows = 0;
    for table in vectors.tables(name) {
        let outcome = match vectors.kind(name) {
            "scheme" => run_table(&table),
            "rng" => Outcome::Ran(random_numbers(&table)),
            "parser" => Outcome::Ran(parser(&table)),
            "equation" => Outcome::Ran(equation(&table)),
            "identifier" if !is_built(&table.expr()) => {
                Outcome::NotAvailable(table.expr().scheme().name.to_owned())
            }
            other => panic!("{name}: its scheme is available, but no way to run `{other}`"),
        };
        match outcome {
            Outcome::Ran(n) => rows += n,
            other => return other,
        }
    }
    assert!(rows > 0, "{name}: no rows");
    Outcome::Ran(rows)
}

#[test]
fn every_example_of_an_available_scheme_is_reproduced() {
    let Some(vectors) = Vectors::load() else {
        return;
    };
    let (mut ran, mut rows) = (Vec::new(), 0);
    for name in vectors.names() {
        match run(&vectors, name) {
            Outcome::Ran(n) => {
                println!("{name}: {n} rows");
                rows += n;
                ran.push(name);
            }
            Outcome::NotAvailable(scheme) => println!("{name}: `{scheme}` is not available"),
        }
    }
    println!("{} examples, {rows} rows, static and boxed", ran.len());
    for name in MUST_RUN.split_whitespace() {
        assert!(ran.contains(&name), "`{name}` did not run");
    }
    for info in SCHEMES.iter().filter(|info| info.available) {
        for name in info.vectors {
            assert!(ran.contains(name), "{}: {name} did not run", info.name);
        }
    }
}

/// What `destage schemes` says of a scheme's examples is what the test above demands.
#[test]
fn claims_are_backed_by_examples_that_must_run() {
    let must: Vec<&str> = MUST_RUN.split_whitespace().collect();
    for info in SCHEMES {
        let all = info.vectors.iter().all(|name| must.contains(name));
        assert_eq!(info.proof.vectors, info.available && all, "{}", info.name);
    }
}
