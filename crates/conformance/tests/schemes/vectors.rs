//! The worked examples, through the real core and the slow models.

use destage_conformance::suites::is_selected;
use destage_conformance::vectors::{Table, Vectors};
use destage_scheme::cqct::{self, EcrLatencies};
use destage_scheme::registry::SCHEMES;
use destage_scheme::rng::SplitMix64;
use destage_scheme::{Equation1, Expr};
use destage_types::Nanos;

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

/// Runs an example and says how many rows it has.
fn run_table(table: &Table) -> usize {
    for row in table.rows() {
        let columns = row.as_object().expect("a row has cells").keys();
        let unread = columns.filter(|c| !COLUMNS.contains(&c.as_str()));
        assert_eq!(unread.collect::<Vec<_>>(), [""; 0], "{}", table.name);
    }
    table.check();
    table.rows().len()
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

/// Compositions that the specification refuses and this project defines (X2, X3, X15 of
/// docs/DECISIONS.md).
const ALLOWED: [&str; 6] = [
    "gcar(ecr(lru))",
    "prober(bplru)",
    "gcar(vbbms)",
    "procache(req-block)",
    "gcar(cflru-eps)",
    "awb(ecr(arc))",
];

fn parser(table: &Table) -> usize {
    let allowed = ALLOWED.iter().map(|text| Expr::parse(text));
    allowed.for_each(|expr| assert!(expr.is_ok(), "{expr:?}"));
    for row in table.rows() {
        let text = table.cell(row, "expression").trim_matches('`');
        if ALLOWED.contains(&text) {
            continue;
        }
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
        let queue = Equation1 {
            reads: number("Nr"),
            writes: number("Nw"),
            free_pages: number("Nfp"),
            gc_threshold_pages: number("Nmfp"),
            frontier_free_pages: number("Nfpb"),
            gc_remaining: None,
        };
        let latencies = EcrLatencies {
            read: time("Lr"),
            program: time("Lw"),
            erase: time("Lgc"),
            summary: time("Lsp"),
            pages_per_block: number("Np"),
            pages_per_program: 1,
        };
        let parts = cqct::equation(&queue, number("Nvp"), &latencies);
        assert_eq!(u64::from(parts.gc), number("S"), "S_i");
        assert_eq!(parts.gc_time, time("Tgc"), "T_gc");
        assert_eq!(parts.summaries, number("Nsp"), "N_sp");
        assert_eq!(parts.total, time("CQCT"), "CQCT_i");
    }
    table.rows().len()
}

fn run(vectors: &Vectors, name: &str) -> usize {
    let run_one: fn(&Table) -> usize = match vectors.kind(name) {
        "scheme" | "identifier" => run_table,
        "rng" => random_numbers,
        "parser" => parser,
        "equation" => equation,
        other => panic!("{name}: no way to run `{other}`"),
    };
    let rows = vectors.tables(name).iter().map(run_one).sum();
    assert!(rows > 0, "{name}: no rows");
    rows
}

#[test]
fn every_example_is_reproduced() {
    let Some(vectors) = Vectors::load() else {
        return;
    };
    let names: Vec<&str> = vectors.names().collect();
    let rows: usize = names.iter().map(|name| run(&vectors, name)).sum();
    println!("{} examples, {rows} rows", names.len());
    for info in SCHEMES {
        for name in info.vectors {
            assert!(names.contains(name), "{}: there is no {name}", info.name);
        }
    }
}

#[test]
fn own_examples_are_reproduced() {
    for table in Vectors::own().iter().filter(|t| is_selected(&t.expr())) {
        assert_eq!(run_table(table), table.rows().len());
    }
}
