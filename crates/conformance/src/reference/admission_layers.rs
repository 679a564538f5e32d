//! The admission layers by their names.

use super::admission::{Admission, ProCache};
use super::counters::{MultiHash, RefCount};
use super::expr::SlowExpr;
use super::identifiers::{BloomFilters, TwoLevel};

/// Is this the name of an admission layer?
pub fn is_admission(name: &str) -> bool {
    ["procache", "refcount", "multihash", "mbf", "twolevel"].contains(&name)
}

/// The admission layer at the head of `expr`, on pages of `page` bytes. `draws` are the seed of random choices and
/// numbers to draw before; `hashes` factors and summands of hash functions in place of the real ones.
///
/// # Errors
/// There is none, or it has an unknown parameter or a bad value.
pub fn layer(
    expr: &SlowExpr,
    page: u64,
    draws: (u64, &[f64]),
    hashes: &[[u64; 2]],
) -> Result<Box<dyn Admission>, String> {
    Ok(match expr.name.as_str() {
        "procache" => Box::new(ProCache::new(expr, page, draws.0, draws.1)?),
        "refcount" => Box::new(RefCount::new(expr)?),
        "multihash" => Box::new(MultiHash::new(expr, hashes)?),
        "mbf" => Box::new(BloomFilters::new(expr, hashes)?),
        "twolevel" => Box::new(TwoLevel::new(expr)?),
        other => return Err(format!("`{other}` is no admission layer")),
    })
}
