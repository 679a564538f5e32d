//! Values of results, and where two of them part.

use crate::lab::{Fault, Verdict};
use serde_json::Value;

/// A counter of a record; 0 if the run has none of that name.
pub fn count(record: &Value, name: &str) -> u64 {
    record["counts"][name].as_u64().unwrap_or(0)
}

/// A record without what belongs to a single execution, and without these fields.
pub fn without(record: &Value, fields: &[&str]) -> Value {
    let mut record = record.clone();
    if let Some(object) = record.as_object_mut() {
        object.retain(|name, _| name != "run" && !fields.contains(&name.as_str()));
    }
    record
}

/// The first place where two values differ.
pub fn difference(a: &Value, b: &Value) -> Option<String> {
    let inside = |name: String, a: &Value, b: &Value| {
        difference(a, b).map(|found| {
            if found.starts_with(['.', '[']) {
                format!("{name}{found}")
            } else {
                format!("{name}: {found}")
            }
        })
    };
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let names = a
                .keys()
                .chain(b.keys().filter(|name| !a.contains_key(*name)));
            let at = |v: Option<&Value>| v.cloned().unwrap_or(Value::Null);
            names
                .into_iter()
                .find_map(|name| inside(format!(".{name}"), &at(a.get(name)), &at(b.get(name))))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(i, (a, b))| inside(format!("[{i}]"), a, b))
        }
        _ if a == b => None,
        _ => Some(format!("{a} and {b}")),
    }
}

/// Must be equal but for these fields.
///
/// # Errors
/// They are not.
pub fn equal(a: &Value, b: &Value, fields: &[&str]) -> Result<(), Fault> {
    match difference(&without(a, fields), &without(b, fields)) {
        None => Ok(()),
        Some(found) => Err(Fault::law(found)),
    }
}

/// Must be both refused, or equal but for these fields.
///
/// # Errors
/// They are not.
pub fn same(a: &Option<Vec<Value>>, b: &Option<Vec<Value>>, fields: &[&str]) -> Verdict {
    match (a, b) {
        (None, None) => Ok(false),
        (Some(a), Some(b)) if a.len() == b.len() => {
            for (a, b) in a.iter().zip(b) {
                equal(a, b, fields)?;
            }
            Ok(true)
        }
        (Some(a), Some(b)) => Err(Fault::law(format!("{} and {} records", a.len(), b.len()))),
        (Some(_), None) => Err(Fault::law("only the second one is refused")),
        (None, Some(_)) => Err(Fault::law("only the first one is refused")),
    }
}

/// Must be equal.
///
/// # Errors
/// They are not.
pub fn want<T: PartialEq + std::fmt::Debug>(what: &str, a: T, b: T) -> Result<(), Fault> {
    if a == b {
        Ok(())
    } else {
        Err(Fault::law(format!("{what}: {a:?} and {b:?}")))
    }
}

/// The first must be at most the second.
///
/// # Errors
/// It is not.
pub fn at_most<T: PartialOrd + std::fmt::Debug>(what: &str, a: T, b: T) -> Result<(), Fault> {
    if a <= b {
        Ok(())
    } else {
        Err(Fault::law(format!("{what}: {a:?} is more than {b:?}")))
    }
}

/// Must be equal but for rounding.
///
/// # Errors
/// They are not.
pub fn near(what: &str, a: f64, b: f64) -> Result<(), Fault> {
    if (a - b).abs() <= 1e-9 * a.abs().max(b.abs()) + 1e-9 {
        Ok(())
    } else {
        Err(Fault::law(format!("{what}: {a} and {b}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_difference_is_named() {
        let a = json!({"x": {"y": [1, 2]}, "run": 1, "z": null});
        let b = json!({"x": {"y": [1, 3]}, "run": 2});
        assert_eq!(difference(&a, &a), None);
        assert_eq!(difference(&a, &b).as_deref(), Some(".x.y[1]: 2 and 3"));
        assert!(equal(&a, &b, &["x"]).is_ok());
        assert!(equal(&a, &b, &[]).is_err());
    }

    #[test]
    fn both_are_refused_or_none() {
        let some = Some(vec![json!({"a": 1})]);
        assert!(!same(&None, &None, &[]).unwrap());
        assert!(same(&some, &some, &[]).unwrap());
        assert!(same(&some, &None, &[]).is_err());
        assert!(same(&some, &Some(vec![]), &[]).is_err());
    }

    #[test]
    fn numbers_are_near_or_not() {
        assert!(near("x", 0.1 + 0.2, 0.3).is_ok());
        assert!(near("x", 1.0, 1.0001).is_err());
        assert!(at_most("x", 2, 2).is_ok() && at_most("x", 3, 2).is_err());
    }
}
