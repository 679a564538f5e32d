//! Properties of any bytes taken as an expression, as one function for fuzzers and tests.

use destage_types::PageSize;

use super::{Expr, ReadAlloc, RunContext, RunDevice, check_run};
use crate::info::{DefaultValue, Kind};

/// Reads `data` as an expression and, if it is one, uses it in every way a run does.
///
/// # Panics
/// If the canonical form does not read back as the same expression, or a getter refuses a
/// declared parameter.
pub fn expression(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let expr = match Expr::parse(&text) {
        Ok(expr) => expr,
        Err(refusal) => {
            assert!(!refusal.reason.is_empty(), "a refusal without a reason");
            return;
        }
    };
    let canonical = expr.to_string();
    let again = Expr::parse(&canonical);
    assert_eq!(again.as_ref(), Ok(&expr), "{canonical} is not canonical");
    for layer in expr.chain() {
        read_all(layer);
    }
    let shape = expr.shape();
    assert!(shape.len() <= canonical.len(), "{shape} of {canonical}");
    for capacity_pages in [0, 1, 5, 8192] {
        for read_alloc in [ReadAlloc::On, ReadAlloc::Off, ReadAlloc::Scheme] {
            for device in DEVICES {
                let run = RunContext {
                    read_alloc,
                    device,
                    ..RunContext::cache_only(capacity_pages, PageSize::KIB4)
                };
                // Either outcome is fine; it must only be reached.
                let _ = check_run(&expr, &run);
            }
        }
    }
}

const DEVICES: [Option<RunDevice>; 3] = [
    None,
    Some(RunDevice {
        chips: 64,
        pages_per_block: 64,
        dynamic_allocation: false,
        bounded_buffer: false,
    }),
    Some(RunDevice {
        chips: 1,
        pages_per_block: 1,
        dynamic_allocation: true,
        bounded_buffer: true,
    }),
];

/// Reads every declared parameter by the getter of its type.
pub(super) fn read_all(layer: &Expr) {
    for p in layer.scheme().params() {
        let key = p.key;
        match p.kind {
            Kind::Integer { .. } | Kind::IntegerOrTime { .. } => {
                let frames = layer.frames(key, 8192);
                let fixed = layer.uint_opt(key);
                let words = p.or_word.is_some_and(|word| layer.is_word(key, word));
                let time =
                    matches!(p.kind, Kind::IntegerOrTime { .. }) && layer.time_opt(key).is_some();
                let free = matches!(p.default, DefaultValue::Computed(_)) && !layer.is_given(key);
                assert!(
                    frames.is_some() || fixed.is_some() || words || time || free,
                    "{key} has no value"
                );
            }
            Kind::Real(range) => assert!(range.contains(layer.real(key)), "{key}"),
            Kind::Size => assert!(layer.size_bytes(key, PageSize::KIB4) > 0, "{key}"),
            Kind::Time => drop(layer.time(key)),
            Kind::Bool => drop(layer.flag(key)),
            Kind::Word(choices) => assert!(choices.contains(&layer.word(key)), "{key}"),
            Kind::Reals(range) => {
                let numbers = layer.vector(key).unwrap_or(&[]);
                assert!(numbers.iter().all(|x| range.contains(*x)), "{key}");
            }
        }
    }
}
