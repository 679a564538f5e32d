//! Verdicts from runs that are made up.

use crate::judge::*;
use serde_json::json;

#[test]
fn the_sign_test_is_that_of_the_tables() {
    assert_eq!(sign_test(0, 0), 1.0);
    assert_eq!(sign_test(5, 5), 0.0625);
    assert_eq!(sign_test(0, 5), 0.0625);
    // 2 * (45 + 10 + 1) / 1024.
    assert!((sign_test(8, 10) - 0.109375).abs() < 1e-12);
    assert_eq!(sign_test(3, 6), 1.0);
}

fn outcome(load: &str, cache: &str, scheme: &str, mean: f64, evidence: Evidence) -> LoadOutcome {
    LoadOutcome {
        experiment: 0,
        reading: 0,
        load: load.to_owned(),
        evidence,
        host_fs: String::new(),
        cache: cache.to_owned(),
        factor: 1.0,
        record: json!({
            "scheme": scheme,
            "cache_pages": 16,
            "latency_ns": { "all": { "mean": mean } },
        }),
    }
}

fn paper(expect: &str) -> Paper {
    let text = format!(
        "title = \"t\"\nfootprints = \"f\"\n[[experiment]]\nname = \"main\"\n\
         scheme = [\"lru\", \"fifo\"]\ncache = [\"1MiB\"]\n\
         [[claim]]\nid = \"1\"\nwhat = \"w\"\npaper = \"10 %\"\nvalue = -10\n[claim.measured]\n\
         experiment = \"main\"\nfield = \"latency_ns.all.mean\"\nof = {{ scheme = \"fifo\" }}\n\
         against = {{ scheme = \"lru\" }}\nexpect = {expect}\n"
    );
    toml::from_str(&text).unwrap()
}

fn judged(expect: &str, outcomes: &[LoadOutcome]) -> LedgerRow {
    let paper = paper(expect);
    judge(&paper, &paper.claim[0], outcomes)
}

/// LRU takes 100 on both loads, FIFO takes 80 and 110.
fn both(evidence: Evidence) -> Vec<LoadOutcome> {
    let one = |load, scheme, mean| outcome(load, "1MiB", scheme, mean, evidence);
    vec![
        one("a", "lru", 100.0),
        one("a", "fifo", 80.0),
        one("b", "lru", 100.0),
        one("b", "fifo", 110.0),
    ]
}

#[test]
fn changes_are_counted_load_by_load() {
    let row = judged("\"lower\"", &both(Evidence::Cut));
    assert_eq!(row.verdict, Verdict::Direction);
    let first = &row.readings[0];
    assert_eq!((first.holds, first.points.len()), (1, 2));
    assert_eq!((first.mean, first.median), (-5.0, -5.0));
    assert_eq!(first.range, (-20.0, 10.0));
    assert_eq!(first.sign_test, Some(1.0));
    let row = judged("{ within = 15 }", &both(Evidence::Cut));
    assert_eq!(
        (row.readings[0].holds, row.readings[0].sign_test),
        (1, None)
    );
}

#[test]
fn only_what_the_paper_measured_decides() {
    let printed = both(Evidence::Printed);
    let row = judged("\"lower\"", &printed);
    assert_eq!(row.verdict, Verdict::DoesNotHold);
    let row = judged("\"lower\"", &printed[..2]);
    assert_eq!(row.verdict, Verdict::Holds);
    // A cut says nothing beside the original.
    let mut mixed = both(Evidence::Cut);
    mixed.extend(both(Evidence::Original).into_iter().take(2));
    let row = judged("\"lower\"", &mixed);
    assert_eq!(
        (row.verdict, row.readings[0].points.len()),
        (Verdict::Holds, 1)
    );
}

#[test]
fn twins_have_a_row_of_their_own_and_decide_nothing() {
    let paper = paper("\"lower\"");
    let twins = both(Evidence::Twin);
    let row = on_twins(&paper, &paper.claim[0], &twins).unwrap();
    assert_eq!(
        (row.verdict, row.evidence),
        (Verdict::Open, Some(Evidence::Twin))
    );
    assert_eq!(
        (row.readings[0].holds, row.readings[0].points.len()),
        (1, 2)
    );
    assert_eq!((row.paper.as_str(), row.value), ("-", None));
    assert!(row.needs.unwrap().contains("decides nothing"));
    assert!(on_twins(&paper, &paper.claim[0], &[]).is_none());
    let row = judge(&paper, &paper.claim[0], &twins);
    assert_eq!((row.verdict, row.evidence), (Verdict::Open, None));
    assert!(row.readings.is_empty() && row.needs.unwrap().contains("traces"));
    // Beside a cut they change nothing in its row.
    let mut mixed = both(Evidence::Cut);
    mixed.extend(twins);
    let row = judge(&paper, &paper.claim[0], &mixed);
    assert_eq!(
        (row.verdict, row.evidence),
        (Verdict::Direction, Some(Evidence::Cut))
    );
    assert_eq!(row.readings[0].points.len(), 2);
}

#[test]
fn without_runs_a_claim_is_open_and_says_why() {
    let row = judged("\"lower\"", &[]);
    assert_eq!(row.verdict, Verdict::Open);
    assert!(row.needs.unwrap().contains("traces"));
}

#[test]
fn a_run_is_compared_with_one_of_another_experiment() {
    let text = "title = \"t\"\nfootprints = \"f\"\n[[experiment]]\nname = \"main\"\nscheme = [\"lru\"]\n\
                cache = [\"1MiB\"]\n[[experiment]]\nname = \"warm\"\nscheme = [\"lru\"]\ncache = [\"1MiB\"]\n\
                [[claim]]\nid = \"1\"\nwhat = \"w\"\npaper = \"p\"\n[claim.measured]\nexperiment = \"warm\"\n\
                field = \"latency_ns.all.mean\"\nof = { scheme = \"lru\" }\n\
                against = { scheme = \"lru\", experiment = \"main\" }\nexpect = \"lower\"\n";
    let paper: Paper = toml::from_str(text).unwrap();
    let mut outcomes = both(Evidence::Cut);
    outcomes.retain(|outcome| outcome.record["scheme"] == "lru");
    let warm = |load, mean| LoadOutcome {
        experiment: 1,
        ..outcome(load, "1MiB", "lru", mean, Evidence::Cut)
    };
    outcomes.extend([warm("a", 50.0), warm("b", 120.0), warm("c", 1.0)]);
    let row = judge(&paper, &paper.claim[0], &outcomes);
    let here: Vec<f64> = row.readings[0].points.iter().map(|p| p.here).collect();
    // Load c was not run by the other experiment.
    assert_eq!(here, [-50.0, 20.0]);
}

#[test]
fn what_is_said_of_one_load_is_judged_by_its_evidence() {
    let mut paper = paper("\"lower\"");
    paper.claim[0].measured.as_mut().unwrap().load = Some("b".to_owned());
    let mut outcomes = both(Evidence::Cut);
    outcomes[0].evidence = Evidence::Original;
    outcomes[1].evidence = Evidence::Original;
    let row = judge(&paper, &paper.claim[0], &outcomes);
    assert_eq!(row.evidence, Some(Evidence::Cut));
    assert_eq!(row.readings[0].points.len(), 1);
}
