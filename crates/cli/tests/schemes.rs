//! `destage schemes`.

mod common;

use common::Bench;
use destage_scheme::registry::SCHEMES;

#[test]
fn the_list_has_every_scheme() {
    let done = Bench::new().destage(&["schemes"]).ok();
    for info in SCHEMES {
        let start = format!("{} ", info.name);
        assert!(
            done.stdout.lines().any(|l| l.starts_with(&start)),
            "{}",
            info.name
        );
    }
    let lru = done.stdout.lines().find(|l| l.starts_with("lru ")).unwrap();
    assert!(lru.contains("page leaf") && lru.contains(" yes "), "{lru}");
}

#[test]
fn one_scheme_is_explained() {
    let done = Bench::new().destage(&["schemes", "cflru"]).ok();
    for part in [
        "cflru",
        "x (default 3)",
        "CASES",
        "ties",
        "1 or more",
        "ECR 4.1",
    ] {
        assert!(done.stdout.contains(part), "no `{part}` in {}", done.stdout);
    }
}

#[test]
fn an_alias_is_taken_apart() {
    let done = Bench::new().destage(&["schemes", "prober-lirs"]).ok();
    assert!(
        done.stdout
            .contains("prober-lirs is an alias of prober(lirs)"),
        "{}",
        done.stdout
    );
    assert!(
        done.stdout.contains("scheme        lirs"),
        "{}",
        done.stdout
    );
}

#[test]
fn unknown_names_are_refused() {
    let done = Bench::new().destage(&["schemes", "reqblok"]);
    done.fails(2, &["unknown scheme `reqblok`", "nearest is `req-block`"]);
}

#[test]
fn json_has_the_same_facts() {
    let bench = Bench::new();
    let all = bench.destage(&["schemes", "--json"]).ok();
    let all: Vec<serde_json::Value> = serde_json::from_str(&all.stdout).unwrap();
    assert_eq!(all.len(), SCHEMES.len());
    let one = bench.destage(&["schemes", "cflru", "--json"]).ok();
    let one: serde_json::Value = serde_json::from_str(&one.stdout).unwrap();
    assert_eq!(one["params"][0]["key"], "x");
    assert_eq!(one["params"][0]["default"], "3");
    assert!(all.contains(&one));
}
