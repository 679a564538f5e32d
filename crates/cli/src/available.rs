//! Which schemes can be run, beyond those that are declared.

use destage_scheme::{Expr, SchemeInfo, registry};

/// Is there an implementation of the scheme?
pub fn is_available(info: &SchemeInfo) -> bool {
    info.available && registry::NAMES.contains(&info.name)
}

/// The outermost layer of `expr` without an implementation.
pub fn missing(expr: &Expr) -> Option<&'static SchemeInfo> {
    let infos = expr.chain().map(|layer| layer.scheme());
    infos.into_iter().find(|info| !is_available(info))
}
