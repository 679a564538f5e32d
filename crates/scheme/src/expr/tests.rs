mod cases;

use super::*;
use crate::info::{Kind, Role};
use crate::registry::SCHEMES;
use cases::{ILLEGAL, LEGAL};

fn ok(text: &str) -> Expr {
    Expr::parse(text).unwrap_or_else(|refusal| panic!("{refusal}"))
}

fn refused(text: &str) -> Refusal {
    match Expr::parse(text) {
        Ok(expr) => panic!("{text} was accepted as {expr}"),
        Err(refusal) => refusal,
    }
}

fn number(text: &str) -> u8 {
    refused(text).code.number()
}

fn param(text: &str) -> String {
    let refusal = refused(text);
    assert_eq!(refusal.code, Code::Param, "{refusal}");
    refusal.reason
}

#[test]
fn legal_expressions_print_in_canonical_form() {
    for (text, canonical) in LEGAL {
        let expr = ok(text);
        assert_eq!(expr.to_string(), *canonical, "{text}");
        assert_eq!(
            ok(canonical),
            expr,
            "the canonical form of {text} reads back"
        );
    }
}

#[test]
fn illegal_expressions_break_the_rule_they_are_meant_to() {
    for (text, rule) in ILLEGAL {
        let refusal = refused(text);
        assert_eq!(refusal.code.number(), *rule, "{refusal}");
    }
}

#[test]
fn refusals_say_what_and_why() {
    let said = |text: &str| refused(text).to_string();
    assert_eq!(
        said("prober(cac(lru))"),
        "cannot compose prober(cac(lru)): cac must be outside prober (X1 ROLE_ORDER)"
    );
    assert!(said("gcar(gcar)").ends_with("two victim filter layers (X2 DUPLICATE)"));
    assert!(said("ecr(gcar)").ends_with("gcar must be outside ecr (X1 ROLE_ORDER)"));
    assert!(said("eager(co-active)").ends_with("two background layers (X2 DUPLICATE)"));
    assert!(said("cac(none)").ends_with("no cache to manage (X4 NO_CACHE)"));
    assert!(said("prober(belady)").ends_with("offline policy (X5 OFFLINE)"));
    assert!(said("lru(arc)").ends_with("lru takes no inner scheme (X11 ARITY)"));
    assert!(said("awb(lru,scope=ldr)").ends_with("no LDR to write back (X12 AWB)"));
    assert!(said("foo").contains("unknown scheme `foo`, nearest is `f"));
    assert!(said("probr").contains("nearest is `prober`"));
    assert!(said("gcar(sieve)").ends_with("sieve has no candidate order (X15 CANDIDATES)"));
    assert!(said("awb(ecr(2q))").contains(": 2q has no candidate order ("));
    let again = "cflru-eps is a variant of ecr and cannot be split by chip again (X15 CANDIDATES)";
    assert!(said("ecr(cflru-eps)").ends_with(again));
}

#[test]
fn syntax_errors_name_position_and_expected_token() {
    let why = |text: &str| refused(text).reason;
    let open = "at position 11: expected `(`, `,` or `)`, found the end";
    assert_eq!(why("prober(lru"), open);
    let empty = "at position 1: expected the name of a scheme, found the end";
    assert_eq!(why(""), empty);
    let after = "at position 13: expected the end, found `x`";
    assert_eq!(why("prober(lru) x"), after);
    let unit = why("prober(ssp=128kb)");
    assert!(
        unit.starts_with("at position 15: expected a unit (k, m, g"),
        "{unit}"
    );
    assert!(unit.ends_with("found `kb`, nearest is `k`"), "{unit}");
    let umlaut = "at position 3: expected `(` or the end, found `\u{fc}`";
    assert_eq!(why("lr\u{fc}"), umlaut, "characters count, not bytes");
}

#[test]
fn parameter_errors_name_the_nearest_key_and_the_range() {
    assert!(
        param("lru(delta=5)")
            .ends_with("unknown parameter `delta` of lru: lru takes no parameters")
    );
    let near = param("prober(rib=3)");
    assert!(
        near.contains("nearest is `rip`; known: ssp, rip,"),
        "{near}"
    );
    let inner = param("gcar(cflru,x=3)");
    assert!(
        inner.contains("it belongs to cflru: write it as cflru(x=...)"),
        "{inner}"
    );
    assert!(param("awb(lru,prober.ssp=64k)").contains("prefix `prober` names another layer"));
    assert_eq!(
        param("procache(p=1.5)"),
        "out of range: p=1.5; allowed: number in (0, 1]"
    );
    assert_eq!(
        param("prober(ssp=128)"),
        "out of range: ssp=128 (a size needs a unit); allowed: size above 0 with a unit \
         (k, m, g, or p for pages)"
    );
    assert_eq!(
        param("prober(rip=4294967296)"),
        "out of range: rip=4294967296; allowed: integer, 1 to 4294967295"
    );
    let word = param("awb(scope=base)");
    assert!(word.contains("allowed: ldr, ldr-then-base"), "{word}");
    assert!(param("awb(depth=1,depth=1)").contains("given twice"));
}

#[test]
fn values_outside_their_range_or_type_are_refused() {
    for text in [
        "procache(p=0)",
        "procache(p=-0.1)",
        "procache(p=1e999)",
        "procache(p=half)",
        "procache(p=1k)",
        "procache(pv=[0.5,1.5])",
        "procache(pv=0.5)",
        "procache(c=0k)",
        "procache(c=3us)",
        "procache(c=1.5k)",
        "procache(c=99999999999999999g)",
        "procache(read-touch=yes)",
        "req-block(delta=0)",
        "req-block(delta=-1)",
        "req-block(delta=2.0)",
        "req-block(delta=5k)",
        "req-block(delta=99999999999999999999999)",
        "cflru(x=0)",
        "cflru(x=inf)",
        "ecr(l-sp=213)",
        "ecr(l-sp=1.5ns)",
        "ecr(l-sp=2p)",
        "refcount(decay-period=0us)",
        "refcount(threshold=256)",
        "multihash(h=5)",
        "multihash(h=0)",
        "multihash(threshold=16)",
        "s3-fifo(small=0)",
        "s3-fifo(small=1)",
        "s3-fifo(move=4)",
        "prober(ssp=[1])",
    ] {
        assert!(!param(text).is_empty());
    }
}

#[test]
fn the_first_broken_rule_is_reported() {
    // X0 before everything, whatever the names.
    assert_eq!(number("foo(bar=,none)"), 0);
    // Outside in: the outer layer's X10 before the inner layer's X14.
    assert_eq!(number("cac(foo,bar=1)"), 10);
    assert_eq!(number("foo(lru(arc))"), 14);
    // Within a layer X11 before X10, and X11 before the unknown name further in.
    assert_eq!(number("lru(foo,delta=5)"), 11);
    assert_eq!(number("prober-lru(foo=1)"), 11);
    // Names and parameters of all layers before any rule of the chain.
    assert_eq!(number("prober(cac(foo))"), 14);
    assert_eq!(number("prober(cac(lru(x=1)))"), 10);
    assert_eq!(number("cac(none(lru))"), 11);
    // X4 before X2; X5 before X2 and X1.
    assert_eq!(number("prober(prober(none))"), 4);
    assert_eq!(number("prober(prober(belady))"), 5);
    // Neighbours of one role before an X1 further out.
    assert_eq!(number("prober(cac(cac(lru)))"), 2);
    // Otherwise outer to inner: the X1 between prober and cac comes before the second prober.
    assert_eq!(number("prober(cac(prober(lru)))"), 1);
    // X1 before X15, X15 before X12.
    assert_eq!(number("prober(cac(gcar(sieve)))"), 1);
    assert_eq!(number("awb(sieve,scope=ldr)"), 15);
}

#[test]
fn a_scheme_that_cannot_rename_is_refused_below_cac() {
    const PLUG_IN: SchemeInfo = SchemeInfo {
        name: "plug-in",
        renames: false,
        ..SchemeInfo::BASE
    };
    let cac = Expr::new(crate::registry::find("cac").unwrap());
    let policy = Expr::new(&PLUG_IN);
    let broken = check::chain(&[cac, policy.clone()]);
    assert_eq!(
        broken,
        Err((Code::Ghost, "plug-in cannot rename".to_owned()))
    );
    assert_eq!(check::chain(&[policy]), Ok(()));
}

#[test]
fn getters_give_the_given_value_or_the_default() {
    let kib4 = PageSize::KIB4;
    let awb = ok("awb(prober(lirs(hir=4),ssp=2p,rip=10),depth=1)");
    assert_eq!(awb.uint("depth"), 1);
    assert_eq!(awb.word("scope"), "ldr");
    assert_eq!(ok("awb").word("scope"), "ldr-then-base");
    let prober = awb.inner().unwrap();
    assert_eq!(prober.size_bytes("ssp", kib4), 8192);
    assert_eq!(ok("prober").size_bytes("ssp", kib4), 131_072);
    assert_eq!(prober.uint("rip"), 10);
    assert_eq!(prober.word("rip-cmp"), "ge");
    assert!(!prober.flag("ldr-skip-partial"));
    assert!(prober.is_given("rip") && !prober.is_given("ldr"));
    let lirs = awb.policy();
    assert_eq!(lirs.uint_opt("hir"), Some(4));
    assert_eq!(lirs.uint_opt("max-nonres"), None);
    assert_eq!(lirs.frames("max-nonres", 100), Some(200));
    let unbounded = ok("lirs(max-nonres=inf)");
    assert_eq!(unbounded.frames("max-nonres", 100), None);
    assert!(unbounded.is_word("max-nonres", "inf") && !lirs.is_word("max-nonres", "inf"));
    assert!(ok("gcar").is_word("depth", "inf"));
    assert_eq!(ok("lirs").frames("hir", 100), Some(2));
    assert_eq!(ok("lirs").frames("hir", 2900), Some(29));
    assert_eq!(ok("eager").frames("w", 4), Some(1));
    assert_eq!(ok("procache").real("p"), 0.1);
    assert_eq!(ok("procache(p=1)").real("p"), 1.0);
    assert_eq!(
        ok("procache(pv=[1,0.5])").vector("pv"),
        Some(&[1.0, 0.5][..])
    );
    assert_eq!(ok("procache").vector("pv"), None);
    assert_eq!(ok("ecr").time("l-sp"), Nanos(213_200));
    assert_eq!(ok("ecr(l-sp=1.5ms)").time("l-sp"), Nanos(1_500_000));
    let decay = ok("refcount(decay-period=5ms)");
    assert_eq!(decay.uint_opt("decay-period"), None);
    assert_eq!(decay.time_opt("decay-period"), Some(Nanos(5_000_000)));
    assert_eq!(ok("refcount").uint("decay-period"), 5120);
    assert_eq!(ok("refcount").time_opt("decay-period"), None);
    assert_eq!(ok("bplru").block_pages(Some(128)), 128);
    assert_eq!(ok("bplru").block_pages(None), 64);
    assert_eq!(ok("bplru(block-pages=4)").block_pages(Some(128)), 4);
}

#[test]
#[should_panic(expected = "declares no parameter")]
fn an_undeclared_key_is_a_programming_error() {
    ok("lru").uint("x");
}

#[test]
#[should_panic(expected = "another type")]
fn a_getter_of_another_type_is_a_programming_error() {
    ok("prober").flag("rip");
}

#[test]
fn the_chain_is_visible_from_outside_in() {
    let expr = ok("cac(awb(prober(lirs(hir=4),rip=9)))");
    let names: Vec<&str> = expr.chain().map(|e| e.scheme().name).collect();
    assert_eq!(names, ["cac", "awb", "prober", "lirs"]);
    assert_eq!(expr.shape(), "cac(awb(prober(lirs)))");
    assert_eq!(ok("lru").shape(), "lru");
    assert!(expr.contains("prober") && !expr.contains("lru"));
    assert_eq!(expr.policy().scheme().name, "lirs");
}

#[test]
fn read_allocation_is_off_with_any_write_buffer_in_the_chain() {
    for off in [
        "req-block",
        "cac(procache(lru))",
        "awb(prober)",
        "ref",
        "belady",
        "mbf",
    ] {
        assert!(!ok(off).default_read_alloc(), "{off}");
    }
    for on in ["lru", "cac(arc)", "ecr", "none", "awb(lru)", "eager(gcar)"] {
        assert!(ok(on).default_read_alloc(), "{on}");
    }
}

#[test]
fn only_the_offline_policy_cannot_run_online() {
    assert_eq!(ok("belady").check_online().unwrap_err().code, Code::Offline);
    assert_eq!(ok("cac(awb(prober(lirs)))").check_online(), Ok(()));
}

#[test]
fn long_expressions_neither_overflow_nor_flood() {
    let deep = |n: usize| format!("{}lru{}", "cac(".repeat(n), ")".repeat(n));
    let refusal = refused(&deep(100_000));
    assert_eq!(refusal.code, Code::Duplicate);
    assert!(refusal.to_string().len() < 400);
    assert_eq!(number(&"(".repeat(100_000)), 0);
    assert_eq!(number(&"cac(".repeat(100_000)), 0);
    assert_eq!(number(&"x".repeat(1_000_000)), 14);
    assert_eq!(number(&format!("lru({}=1)", "x".repeat(1_000_000))), 10);
    assert_eq!(
        number(&format!("cac({})", vec!["lru"; 100_000].join(","))),
        11
    );
    let list = format!("procache(pv=[{}])", vec!["1"; 100_000].join(","));
    assert_eq!(number(&list), 10);
}

/// A value of the parameter that is not its default, where the kind has several.
fn another_value(p: &ParamInfo) -> String {
    match p.kind {
        Kind::Integer { min, .. } => min.max(1).to_string(),
        Kind::IntegerOrTime { .. } => "3us".to_owned(),
        Kind::Real(range) if range.contains(0.5) => "0.5".to_owned(),
        Kind::Real(range) => range.max.to_string(),
        Kind::Size => "3p".to_owned(),
        Kind::Time => "7ns".to_owned(),
        Kind::Bool => "true".to_owned(),
        Kind::Word(choices) => choices[choices.len() - 1].to_owned(),
        Kind::Reals(_) => "[0.5]".to_owned(),
    }
}

/// Arguments inside a scheme: a value of a layer may need a classifier there, and a policy takes
/// nothing or members.
const INSIDE: [&str; 4] = ["lru,", "prober(lru),", "lru,arc,", ""];

#[test]
fn every_scheme_stands_alone_and_every_parameter_can_be_given() {
    for info in SCHEMES {
        let bare = ok(info.name);
        fuzz::read_all(&bare);
        for p in info.params() {
            // A value may break a rule between parameters unless another one is given too; the default cannot.
            let default = info.cross_check.map(|_| p.default.text());
            let values = std::iter::once(another_value(p)).chain(default);
            let texts = values.flat_map(|value| {
                INSIDE.map(|inside| format!("{}({inside}{}={value})", info.name, p.key))
            });
            let texts: Vec<String> = texts.collect();
            let legal = texts.iter().find(|text| Expr::parse(text).is_ok());
            let Some(text) = legal else {
                panic!("all are refused: {texts:?}: {}", refused(&texts[0]));
            };
            assert_eq!(ok(text).to_string(), *text);
        }
    }
    assert!(SCHEMES.iter().any(|info| info.role == Role::Offline));
}
