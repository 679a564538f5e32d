//! The parser against the table of worked examples `comp`, and every expression the other tables
//! use. `DESTAGE_SPEC` names `vectors.json` or the directory that holds it.

use std::path::PathBuf;

use destage_scheme::Expr;
use serde_json::Value;

fn vectors() -> Option<Value> {
    let Some(path) = std::env::var_os("DESTAGE_SPEC").map(PathBuf::from) else {
        eprintln!("SKIPPED: DESTAGE_SPEC does not name the worked examples");
        return None;
    };
    let file = match path.is_dir() {
        true => path.join("vectors.json"),
        false => path,
    };
    let text = std::fs::read_to_string(&file).expect("DESTAGE_SPEC names a readable file");
    Some(serde_json::from_str(&text).expect("the worked examples are JSON"))
}

#[test]
fn the_parser_table_is_reproduced() {
    let Some(vectors) = vectors() else { return };
    let rows = vectors["comp"]["tables"][0]["rows"]
        .as_array()
        .expect("the table has rows");
    let mut tested = 0;
    for row in rows {
        let cell = |name: &str| row[name].as_str().expect("cells are strings");
        let text = cell("expression").trim_matches('`');
        let wanted = cell("accepted as / refused with");
        let got = match Expr::parse(text) {
            Ok(expr) => format!("`{expr}`"),
            Err(refusal) => refusal.code.to_string(),
        };
        assert_eq!(got, wanted, "row {}: {text}", cell("#"));
        tested += 1;
    }
    assert!(tested >= 50, "only {tested} rows");
}

#[test]
fn every_expression_of_the_tables_is_its_own_canonical_form() {
    let Some(vectors) = vectors() else { return };
    let mut tested = 0;
    let mut open = vec![&vectors];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                if let Some(text) = map.get("scheme").and_then(Value::as_str) {
                    let expr = Expr::parse(text).unwrap_or_else(|refusal| panic!("{refusal}"));
                    assert_eq!(expr.to_string(), text);
                    tested += 1;
                }
                open.extend(map.values());
            }
            Value::Array(values) => open.extend(values),
            _ => {}
        }
    }
    assert!(tested >= 50, "only {tested} expressions");
}
