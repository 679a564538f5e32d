//! Proofs of each scheme, computed from the tests that run.

use crate::suites::{Case, message_of};
use crate::vectors::{Golden, Table, Vectors};
use destage_scheme::Expr;
use destage_scheme::info::{Proof, proof_of};
use destage_scheme::registry::SCHEMES;

/// The worked examples and agreed counts that are at hand.
struct Evidence {
    tables: Vec<Table>,
    /// Are the examples of the specification among the tables?
    specified: bool,
    golden: Option<Vec<Golden>>,
}

impl Evidence {
    fn gather() -> Evidence {
        let mut tables = Vectors::own();
        let vectors = Vectors::load();
        for name in vectors.iter().flat_map(Vectors::names) {
            let all = vectors.as_ref().expect("a name stands in them");
            if matches!(all.kind(name), "scheme" | "identifier") {
                tables.extend(all.tables(name));
            }
        }
        Evidence {
            tables,
            specified: vectors.is_some(),
            golden: Golden::load(),
        }
    }

    /// Every example with the scheme in it is reproduced, and there is one. A proof that needs the
    /// missing specification stays as it was recorded.
    fn vectors(&self, expr: &Expr, recorded: bool) -> bool {
        let name = expr.scheme().name;
        let mut own = self.tables.iter().filter(|t| t.expr().contains(name));
        let reproduced = |table: &Table| {
            let check = || {
                table.check();
                Ok(())
            };
            message_of(check).is_none()
        };
        match own.clone().next() {
            None => recorded && !self.specified,
            Some(_) => own.all(reproduced),
        }
    }

    /// Is there a slow model, and do some random runs agree with it?
    fn model(&self, expr: &Expr) -> bool {
        (0..4).all(|seed| {
            let case = Case::random(expr, seed, 200);
            case.has_model() && message_of(|| case.compare()).is_none()
        })
    }

    /// Do independent tools say how often it misses? That it does, the test `golden` sees.
    fn golden(&self, expr: &Expr, recorded: bool) -> bool {
        let Some(lines) = &self.golden else {
            return recorded;
        };
        let mut named = lines.iter().filter_map(Golden::expr);
        named.any(|e| e.scheme() == expr.scheme())
    }
}

/// The rows of `proven.txt`: every scheme that is built, with what is shown of it.
///
/// # Panics
/// Never: names are expressions.
pub fn proven() -> String {
    let evidence = Evidence::gather();
    let mut text =
        "# What has been shown of each scheme. `cargo xtask docs` writes it.\n".to_owned();
    for info in SCHEMES {
        let expr = Expr::parse(info.name).expect("a name is an expression");
        let recorded = proof_of(info.name);
        let proof = Proof {
            vectors: evidence.vectors(&expr, recorded.vectors),
            model: evidence.model(&expr),
            golden: evidence.golden(&expr, recorded.golden),
        };
        text += &format!("{}: {}\n", info.name, proof.text());
    }
    text
}
