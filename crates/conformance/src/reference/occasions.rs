//! The layers that are asked for write-backs after each page, at program ends, or at a time they name: what they
//! know and what they choose.

use std::collections::BTreeMap;

use super::expr::SlowExpr;

/// Which pages are written back, and when.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    /// The first dirty page of the next victims while fewer than so many write-backs are outstanding.
    Drain(usize),
    /// Pages that have been dirty for so long, with the time since which each is.
    Age(u64, BTreeMap<u64, u64>),
    /// The first dirty page of the next victims at every multiple of a time.
    Tick(u64),
}

/// One of these layers.
#[derive(Clone, Debug)]
pub struct Asked {
    pub(super) choice: Choice,
    /// Are pages handed over in the host's class?
    pub(super) host: bool,
    /// When it is asked because of the time.
    pub(super) next: Option<u64>,
}

impl Asked {
    /// The layer that `expr` names, if it is one of these.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr) -> Result<Option<Asked>, String> {
        let (choice, next) = match expr.name.as_str() {
            "test-drain" => {
                let depth = expr.number("depth", 1, 1)?;
                (Choice::Drain(depth as usize), None)
            }
            "test-age" | "test-age-idle" => {
                let age = expr.number("age", 1, 1)?;
                (Choice::Age(age, BTreeMap::new()), None)
            }
            "test-tick" => (Choice::Tick(expr.number("every", 1, 1)?), Some(0)),
            _ => return Ok(None),
        };
        Ok(Some(Asked {
            choice,
            host: expr.name != "test-age-idle",
            next,
        }))
    }

    /// Is it told of the ends of programs?
    pub(super) fn watches_programs(&self) -> bool {
        matches!(self.choice, Choice::Drain(_))
    }

    /// A page has another address.
    pub(super) fn renamed(&mut self, from: u64, to: u64) {
        if let Choice::Age(_, since) = &mut self.choice
            && let Some(time) = since.remove(&from)
        {
            since.insert(to, time);
        }
    }

    /// Pages that are not dirty any more are forgotten.
    pub(super) fn keep_dirty(&mut self, dirty: impl Fn(u64) -> bool) {
        if let Choice::Age(_, since) = &mut self.choice {
            since.retain(|&lpn, _| dirty(lpn));
        }
    }
}
