//! Draining: what a drive with a bounded buffer does where nobody names a scheme, and what a scheme is under it.

use super::{DRAINED_LRU, Expr, check};
use crate::WriteClass;
use crate::info::Role;

impl Expr {
    /// Does it hand dirty pages over whenever a program ends, whether or not a write waits?
    pub fn drains(&self) -> bool {
        let rules = self.write_back_rules();
        rules.is_some_and(|rules| rules.on_program_end && rules.class == WriteClass::Host)
    }

    /// The same scheme drained as [`DRAINED_LRU`] is, in the place of another background layer. `None` if it drains, or
    /// if nothing can drain it: it writes back itself, or has no cache.
    pub fn drained(&self) -> Option<Expr> {
        if self.drains() {
            return None;
        }
        let around = match self.info.role {
            // Old addresses come before write-backs.
            Role::Mapping => Expr {
                inner: Some(Box::new(self.inner()?.drained()?)),
                ..self.clone()
            },
            Role::Background => return self.inner()?.drained(),
            _ => Expr {
                inner: Some(Box::new(self.clone())),
                ..Expr::parse(DRAINED_LRU).ok()?
            },
        };
        let layers: Vec<Expr> = around.chain().cloned().collect();
        check::chain(&layers).ok()?;
        Some(around)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::all;

    fn drained(text: &str) -> Option<String> {
        let drained = Expr::parse(text).unwrap().drained()?;
        Some(drained.to_string())
    }

    #[test]
    fn drain_stands_at_its_place() {
        let marks = "high=0.25,low=0.25";
        for (text, expected) in [
            ("lru", format!("drain(lru,{marks})")),
            ("prober(lru)", format!("drain(prober(lru),{marks})")),
            (
                "cac(prober(lru))",
                format!("cac(drain(prober(lru),{marks}))"),
            ),
            ("req-block", format!("drain(req-block,{marks})")),
            ("s3-fifo", format!("drain(s3-fifo,{marks})")),
            ("awb(arc)", format!("drain(arc,{marks})")),
            ("cac(idle-clean(lru))", format!("cac(drain(lru,{marks}))")),
        ] {
            assert_eq!(drained(text), Some(expected), "{text}");
        }
        for text in [
            "drain(lru)",
            "cac(drain(lru))",
            "co-active",
            "belady",
            "none",
        ] {
            assert_eq!(drained(text), None, "{text}");
        }
    }

    /// Of every scheme: the drained version drains, is what it reads as, and has no other.
    #[test]
    fn drained_versions_are_legal() {
        let mut found = 0;
        for info in all() {
            let expr = Expr::parse(info.name).unwrap();
            let Some(drained) = expr.drained() else {
                continue;
            };
            found += 1;
            assert!(drained.drains() && !expr.drains(), "{expr}");
            assert_eq!(
                Expr::parse(&drained.to_string()),
                Ok(drained.clone()),
                "{expr}"
            );
            assert_eq!(drained.drained(), None, "{expr}");
        }
        assert!(found > 20, "only {found}");
    }
}
