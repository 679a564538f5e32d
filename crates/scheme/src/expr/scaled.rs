//! A scheme on a part of the pages: parameters that count frames or accesses count those of the part.

use super::{Expr, Given, Value};
use crate::info::{DefaultValue, Kind, ParamInfo};

impl Expr {
    /// The policy for a cache that holds `share` of the pages and sees their accesses alone: what it counts in frames or
    /// accesses is as many times smaller, and a rate per access as many times larger, as far as ranges allow. A default
    /// that follows the cache size stays what it is.
    pub fn scaled(&self, share: f64) -> Expr {
        let mut expr = self.clone();
        for param in self.info.params() {
            if let Some(value) = self.value(param.key)
                && let Some(value) = scaled(param, &value, share)
            {
                let key = param.key;
                let at = expr.given.partition_point(|given| given.key < key);
                expr.given.retain(|given| given.key != key);
                expr.given.insert(at, Given { key, value });
            }
        }
        for member in &mut expr.members {
            *member = member.scaled(share);
        }
        expr
    }
}

/// The value of a parameter, if it depends on the share.
fn scaled(param: &ParamInfo, value: &Value, share: f64) -> Option<Value> {
    let counts = matches!(param.default, DefaultValue::Frames { .. }) || param.unit == "accesses";
    match (value, param.kind) {
        (Value::Uint(n), Kind::Integer { min, .. }) if counts => {
            let part = libm::round(*n as f64 * share) as u64;
            Some(Value::Uint(part.max(min)))
        }
        (Value::Real(rate), Kind::Real(range)) if param.unit == "per access" => {
            Some(Value::Real((rate / share).min(range.max)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_pages_or_accesses_is_scaled() {
        for (text, share, expected) in [
            ("lrfu", 0.01, "lrfu(lambda=0.1)"),
            ("lrfu(lambda=0.3)", 0.1, "lrfu(lambda=1)"),
            ("lrfu(lambda=0)", 0.1, "lrfu(lambda=0)"),
            ("lru", 0.01, "lru"),
            ("mq", 0.1, "mq"),
            (
                "mq(lifetime=500,m=4,qout=3)",
                0.1,
                "mq(lifetime=50,m=4,qout=0)",
            ),
            ("2q(kin=40,kout=4)", 0.05, "2q(kin=2,kout=1)"),
            ("lru-2(crp=30,h=300)", 0.1, "lru-2(crp=3,h=30)"),
            ("lirs(max-nonres=inf)", 0.1, "lirs(max-nonres=inf)"),
            ("w-tinylfu(window=0.2)", 0.1, "w-tinylfu(window=0.2)"),
            (
                "best-of(lru,mq(lifetime=90),epoch=70)",
                0.1,
                "best-of(lru,mq(lifetime=9),epoch=7)",
            ),
        ] {
            let scaled = Expr::parse(text).unwrap().scaled(share);
            assert_eq!(scaled, Expr::parse(expected).unwrap(), "{text}");
        }
    }

    #[test]
    fn all_pages_are_no_part() {
        for info in crate::registry::all() {
            let expr = Expr::parse(info.name).unwrap();
            let all = expr.scaled(1.0);
            let params = info.params();
            for param in params {
                assert_eq!(all.value(param.key), expr.value(param.key), "{}", info.name);
            }
        }
    }
}
