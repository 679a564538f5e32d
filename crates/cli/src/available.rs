//! Which schemes can be run, beyond those that are declared.

use destage_scheme::{Expr, Role, SchemeInfo, registry};

/// Is there an implementation of the scheme? An offline policy needs the trace and is built by the
/// run instead of the registry.
pub fn is_available(info: &SchemeInfo) -> bool {
    let built = registry::NAMES.contains(&info.name) || info.role == Role::Offline;
    info.available && built
}

/// The outermost layer of `expr` without an implementation.
pub fn missing(expr: &Expr) -> Option<&'static SchemeInfo> {
    let infos = expr.chain().map(|layer| layer.scheme());
    infos.into_iter().find(|info| !is_available(info))
}
