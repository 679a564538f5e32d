//! The parser against every expression that the worked examples use. `DESTAGE_SPEC` names `vectors.json`
//! or the directory that holds it.

use std::path::PathBuf;

use destage_scheme::Expr;
use serde_json::Value;

fn vectors() -> Option<Value> {
    let Some(path) = std::env::var_os("DESTAGE_SPEC").map(PathBuf::from) else {
        eprintln!("SKIPPED: DESTAGE_SPEC does not name the worked examples");
        return None;
    };
    let file = if path.is_dir() {
        path.join("vectors.json")
    } else {
        path
    };
    let text = std::fs::read_to_string(&file).expect("DESTAGE_SPEC names a readable file");
    Some(serde_json::from_str(&text).expect("the worked examples are JSON"))
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
