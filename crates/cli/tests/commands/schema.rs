//! Records against the committed JSON Schema.

use crate::common::{Bench, all_schemes, mixed, root};
use serde_json::Value;

struct Schema {
    root: Value,
}

impl Schema {
    fn committed() -> Schema {
        let text = std::fs::read_to_string(root().join("docs/result.schema.json")).unwrap();
        let root = serde_json::from_str(&text).unwrap();
        Schema { root }
    }

    /// Faults of `value`, by the keywords that the schema uses; any other is a fault.
    fn faults(&self, value: &Value, node: &Value, path: &str, found: &mut Vec<String>) {
        let Some(keywords) = node.as_object() else {
            return; // `true`: anything goes.
        };
        for (keyword, rule) in keywords {
            let ok = match keyword.as_str() {
                "$ref" => {
                    let place = rule.as_str().unwrap().trim_start_matches('#');
                    self.faults(value, self.root.pointer(place).unwrap(), path, found);
                    true
                }
                "anyOf" => rule.as_array().unwrap().iter().any(|part| {
                    let mut inner = Vec::new();
                    self.faults(value, part, path, &mut inner);
                    inner.is_empty()
                }),
                "required" => {
                    let names = rule.as_array().unwrap().iter();
                    names
                        .filter_map(Value::as_str)
                        .all(|name| value.get(name).is_some())
                }
                "properties" => {
                    for (name, field) in value.as_object().into_iter().flatten() {
                        let path = format!("{path}.{name}");
                        match rule.get(name) {
                            Some(rule) => self.faults(field, rule, &path, found),
                            None => found.push(format!("{path} is not in the schema")),
                        }
                    }
                    true
                }
                "items" => {
                    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.faults(item, rule, &format!("{path}[{i}]"), found);
                    }
                    true
                }
                "prefixItems" => {
                    let rules = rule.as_array().unwrap();
                    for (item, rule) in value.as_array().into_iter().flatten().zip(rules) {
                        self.faults(item, rule, path, found);
                    }
                    true
                }
                other => holds(value, other, rule),
            };
            if !ok {
                found.push(format!("{path}: {value} breaks {keyword} {rule}"));
            }
        }
    }

    fn check(&self, record: &Value) -> Vec<String> {
        let mut found = Vec::new();
        self.faults(record, &self.root, "record", &mut found);
        found
    }
}

/// Does `value` keep a rule that does not go into it?
fn holds(value: &Value, keyword: &str, rule: &Value) -> bool {
    let items = || value.as_array().map(Vec::len);
    let limit = || rule.as_f64().unwrap();
    match keyword {
        "type" => match rule {
            Value::String(name) => is(value, name),
            names => {
                let mut names = names.as_array().unwrap().iter();
                names.any(|name| is(value, name.as_str().unwrap()))
            }
        },
        "minItems" => items().is_none_or(|n| n as f64 >= limit()),
        "maxItems" => items().is_none_or(|n| n as f64 <= limit()),
        "minimum" => value.as_f64().is_none_or(|n| n >= limit()),
        "maximum" => value.as_f64().is_none_or(|n| n <= limit()),
        "$schema"
        | "$defs"
        | "title"
        | "description"
        | "format"
        | "default"
        | "additionalProperties" => true,
        other => panic!("this test does not know the keyword {other}"),
    }
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type of JSON: {other}"),
    }
}

#[test]
fn records_follow_the_schema() {
    let bench = Bench::with(mixed(2000));
    let schema = Schema::committed();
    let mut records = all_schemes().to_vec();
    for line in [
        "run t.csv --scheme none --scheme lru --scheme req-block --cache 64k",
        "run t.csv --device req-block-128g --scheme ecr --scheme awb(prober(lru)) --cache 64k \
         --unbalance --closed-loop 4 --warmup 10%",
        "run t.csv --device default --set e_read=1uJ --scheme belady --cache 64k",
    ] {
        records.extend(bench.records(line));
    }
    for record in &records {
        let scheme = &record["scheme"];
        assert_eq!(schema.check(record), Vec::<String>::new(), "{scheme}");
    }
}

/// Paths of the numbers in `value`.
fn numbers(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(path.to_owned()),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(i, item)| numbers(item, &format!("{path}/{i}"), found));
        }
        Value::Object(fields) => {
            for (name, field) in fields.iter().filter(|field| field.0 != "scheme_stats") {
                numbers(field, &format!("{path}/{name}"), found);
            }
        }
        _ => {}
    }
}

/// Whatever number of a record is below 0, and whatever share above 1, the schema refuses it.
#[test]
fn every_number_has_its_bounds() {
    let bench = Bench::with(mixed(2000));
    let schema = Schema::committed();
    let record = bench.record(
        "run t.csv --device req-block-128g --scheme ecr --cache 64k --unbalance --hits-by-size \
         --flush-at-end --set e_read=1uJ --set pe_cycles=3000",
    );
    let mut paths = Vec::new();
    numbers(&record, "", &mut paths);
    assert!(paths.len() > 150, "{}", paths.len());
    let with = |path: &str, value: f64| {
        let mut bad = record.clone();
        *bad.pointer_mut(path).unwrap() = value.into();
        schema.check(&bad)
    };
    let mut shares = 0;
    for path in &paths {
        assert!(!with(path, -1.0).is_empty(), "{path} = -1");
        let (outer, name) = path.rsplit_once('/').unwrap();
        let above_one = ["meta_ratio", "waf", "waf_flash", "elapsed_ns"].contains(&name);
        let of_shares = ["/ratios", "/utilisation"]
            .iter()
            .any(|o| outer.starts_with(o));
        if name.contains("share") || of_shares && !above_one {
            shares += 1;
            assert!(!with(path, 1.001).is_empty(), "{path} = 1.001");
        }
    }
    assert!(shares > 30, "{shares}");
}

#[test]
fn the_schema_refuses_what_is_no_record() {
    let bench = Bench::with(mixed(100));
    let good = bench.record("run t.csv");
    let schema = Schema::committed();
    let with = |path: &str, value: Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(path).unwrap() = value;
        schema.check(&bad)
    };
    assert_eq!(with("/seed", good["seed"].clone()), Vec::<String>::new());
    assert_eq!(with("/counts/evictions", "5".into()).len(), 1);
    assert_eq!(with("/counts/evictions", (-1).into()).len(), 1);
    assert_eq!(with("/ratios/page_hit_ratio", "high".into()).len(), 1);
    assert_eq!(
        with("/evict_pages_histogram", serde_json::json!([[1]])).len(),
        1
    );
    for value in [7.0, 1.001, -0.001] {
        let of_writes = with("/ratios/write_page_hit_ratio", value.into());
        assert_eq!(of_writes.len(), 1, "{value}");
    }
    assert_eq!(with("/ratios/meta_ratio", 1.5.into()).len(), 0);
    let mut short = good.clone();
    short.as_object_mut().unwrap().remove("counts");
    assert_eq!(schema.check(&short).len(), 1);
    let mut long = good.clone();
    long["surprise"] = 1.into();
    assert_eq!(
        schema.check(&long),
        ["record.surprise is not in the schema"]
    );
}
