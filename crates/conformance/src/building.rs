//! The ways in which a scheme is built. All of them must give the same results.

use destage_scheme::Expr;
use destage_scheme::registry::STATIC;

/// How `expr` is built: layer by layer behind dynamic calls (`true`), and as one static type if this build has it.
pub fn ways(expr: &Expr) -> &'static [bool] {
    match STATIC.contains(&expr.shape().as_str()) {
        true => &[false, true],
        false => &[true],
    }
}
