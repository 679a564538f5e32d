use std::collections::BTreeSet;

use super::*;
use crate::describe::{explain, markdown_row, record};
use crate::info::{DefaultValue, Kind, ParamInfo, Role};

/// The schemes of the composition table that are wanted.
fn names(wanted: impl Fn(&SchemeInfo) -> bool) -> Vec<&'static str> {
    let known: Vec<&str> = ROLES.iter().flat_map(|(_, list)| sorted(list)).collect();
    let all = SCHEMES
        .iter()
        .filter(|info| known.contains(&info.name) && wanted(info));
    let sorted: BTreeSet<&str> = all.map(|info| info.name).collect();
    sorted.into_iter().collect()
}

fn sorted(list: &str) -> Vec<&str> {
    let set: BTreeSet<&str> = list.split_whitespace().collect();
    set.into_iter().collect()
}

/// The composition table of the rules; a scheme that is not in it is free.
const ROLES: [(Role, &str); 9] = [
    (Role::Mapping, "cac"),
    (Role::Background, "awb eager"),
    (Role::Admission, "procache refcount multihash mbf twolevel"),
    (Role::Classifier, "prober"),
    (Role::VictimFilter, "gcar ecr"),
    (
        Role::PagePolicy,
        "fifo lru lfu cflru arc lirs lru-wsr ccf-lru ad-lru lru-2 2q mq lrfu frd clock \
             sieve s3-fifo w-tinylfu ref lcr ecr-eps cflru-eps co-active",
    ),
    (
        Role::GroupPolicy,
        "bplru fab pud-lru bpac lb-clock vbbms req-block",
    ),
    (Role::Offline, "belady"),
    (Role::None, "none"),
];

#[test]
fn roles_are_those_of_the_composition_table() {
    for (role, list) in ROLES {
        for name in sorted(list) {
            assert_eq!(find(name).map(|info| info.role), Some(role), "{name}");
        }
    }
}

#[test]
fn peculiarities_are_those_of_the_rules() {
    let buffers = "req-block bplru fab vbbms pud-lru bpac lb-clock ref prober procache refcount \
                   multihash mbf twolevel belady";
    assert_eq!(names(|info| info.write_buffer), sorted(buffers));
    let clean = "cflru ccf-lru ad-lru lru-wsr ecr co-active";
    assert_eq!(names(|info| info.clean_aware), sorted(clean));
    assert_eq!(
        names(|info| info.chip_aware),
        sorted("ecr gcar lcr ecr-eps")
    );
    let ordered = "lru fifo lfu cflru arc lirs clock ecr-eps cflru-eps";
    let policy = |info: &SchemeInfo| info.role == Role::PagePolicy && info.order.is_some();
    assert_eq!(names(policy), sorted(ordered));
    assert_eq!(names(|info| info.write_backs.is_some()), ["co-active"]);
    assert_eq!(names(|info| !info.renames), Vec::<&str>::new());
}

#[test]
fn every_scheme_can_be_built() {
    let missing = names(|info| info.build.is_none());
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn names_are_unique_and_canonical() {
    let mut seen = BTreeSet::new();
    let aliases = ALIASES.iter().map(|a| a.0);
    for name in SCHEMES.iter().map(|info| info.name).chain(aliases) {
        assert!(seen.insert(name), "{name} twice");
        assert!(!name.contains('_') && name == name.to_ascii_lowercase());
    }
    for (name, layers) in ALIASES {
        assert!(layers.iter().all(|layer| find(layer).is_some()), "{name}");
        assert_eq!(find(name), None, "{name} is not a scheme");
    }
    assert_eq!(nearest("probar"), "prober");
    assert_eq!(nearest("cflru2"), "cflru");
}

#[test]
fn every_declaration_is_complete() {
    for info in SCHEMES {
        let name = info.name;
        assert!(info.summary.ends_with('.'), "{name}: a sentence");
        assert!(!info.summary.contains("  "), "{name}");
        assert!(
            !info.source.paper.is_empty() && !info.ties.is_empty(),
            "{name}"
        );
        let mut keys = BTreeSet::new();
        for p in info.params() {
            assert!(keys.insert(p.key), "{name}.{} twice", p.key);
            assert!(!p.key.contains(['_', '.']), "{name}.{}", p.key);
            assert!(
                !p.note.is_empty() && !p.source.is_empty(),
                "{name}.{}",
                p.key
            );
            let bare_word = matches!(p.kind, Kind::Word(_) | Kind::Bool);
            assert!(!bare_word || p.unit.is_empty(), "{name}.{}", p.key);
            assert!(default_in_range(p), "{name}.{}", p.key);
        }
    }
}

fn default_in_range(p: &ParamInfo) -> bool {
    match (p.kind, p.default) {
        (_, DefaultValue::Computed(rule)) => !rule.is_empty(),
        (_, DefaultValue::Word(word)) if p.or_word == Some(word) => true,
        (Kind::Integer { min, max }, DefaultValue::Uint(n)) => (min..=max).contains(&n),
        (Kind::IntegerOrTime { min }, DefaultValue::Uint(n)) => n >= min,
        (Kind::Integer { min, max }, DefaultValue::Frames { .. }) => {
            let least = p.default.frames(1).is_some_and(|n| n >= min);
            least && p.default.frames(1 << 28).is_some_and(|n| n <= max)
        }
        (Kind::Real(range), DefaultValue::Real(x)) => range.contains(x),
        (Kind::Size, DefaultValue::Bytes(n)) => n > 0,
        (Kind::Time, DefaultValue::Time(_)) | (Kind::Bool, DefaultValue::Bool(_)) => true,
        (Kind::Word(choices), DefaultValue::Word(word)) => choices.contains(&word),
        (
            Kind::Word(choices),
            DefaultValue::Inside {
                layer,
                then,
                otherwise,
            },
        ) => choices.contains(&then) && choices.contains(&otherwise) && find(layer).is_some(),
        (Kind::Reals(_), DefaultValue::Nothing) => true,
        _ => false,
    }
}

#[test]
fn explanations_show_every_parameter() {
    for info in SCHEMES {
        let text = explain(info);
        let row = markdown_row(info);
        assert_eq!(row.matches(" | ").count(), 5, "{row}");
        assert_eq!(row.lines().count(), 1);
        for p in info.params() {
            assert!(text.contains(&format!("  {} (default {})", p.key, p.default.text())));
            assert!(row.contains(&format!("`{}` (", p.key)));
        }
    }
    let prober = explain(find("prober").unwrap());
    for part in [
        "prober-lru, prober-lirs",
        "ssp (default 128k)",
        "size above 0",
        "2016; 3.1-3.3",
        "PR-1",
        "off by default",
    ] {
        assert!(prober.contains(part), "{part} in\n{prober}");
    }
    assert!(explain(find("ecr").unwrap()).contains("l-sp (default 213.2us)"));
    assert!(explain(find("mq").unwrap()).contains("lifetime (default 8C, at least 1)"));
}

#[test]
fn records_hold_what_the_declaration_says() {
    let json = serde_json::to_value(record(find("awb").unwrap())).unwrap();
    assert_eq!(json["name"], "awb");
    assert_eq!(json["role_letter"], "B");
    assert_eq!(json["params"][0]["key"], "scope");
    assert_eq!(json["params"][0]["default_computed"], true);
    assert_eq!(json["params"][0]["choices"][1], "ldr-then-base");
    assert_eq!(json["params"][1]["default"], "2");
    let cac = record(find("cac").unwrap());
    assert_eq!(cac.aliases, ["cac+lru", "cac+arc"]);
    assert!(cac.layer && !cac.write_buffer);
}

#[test]
fn places_of_dirty_pages_are_in_the_order_of_eviction() {
    use crate::testing::{ALL, TestCache, env};
    use crate::{Boxed, Scheme};
    let policies = SCHEMES.iter().filter(|i| i.role == Role::PagePolicy);
    let expressions = policies.map(|i| i.name).chain(["lirs(variant=two-queue)"]);
    let mut placed = Vec::new();
    for text in expressions.filter(|&text| text != "none") {
        let mut cache = TestCache::<Boxed>::with(text, &env(9, 8, 3).with_background());
        let mut seen = 0;
        cache.random(7, 2_000, ALL, |cache| {
            let view = cache.view();
            let dirty = |slot: &destage_types::Slot| view.frames.is_dirty(*slot);
            let slots = cache.frames.used_slots().filter(dirty);
            let places = slots.map(|slot| Some((cache.scheme.place(slot, &view)?, slot)));
            let Some(mut places) = places.collect::<Option<Vec<_>>>() else {
                return;
            };
            places.sort_unstable();
            let order: Vec<_> = cache.next_victims().into_iter().filter(dirty).collect();
            assert!(places.iter().map(|&(_, slot)| slot).eq(order), "{text}");
            seen += usize::from(places.len() > 1);
        });
        if seen > 0 {
            assert!(seen > 1_000, "{text}: {seen}");
            placed.push(text);
        }
    }
    placed.sort_unstable();
    let known = [
        "arc",
        "cflru",
        "fifo",
        "lirs",
        "lirs(variant=two-queue)",
        "lru",
    ];
    assert_eq!(placed, known);
}
