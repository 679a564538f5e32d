//! What one run is: scheme, cache, page size and the settings that decide how figures are read.

use crate::record::Setting;
use crate::walk::ReadFill;
use destage_scheme::{Expr, ReadAlloc, Refusal, RunContext, Warning, check_run};
use destage_types::{ByteSize, PageSize};

/// The part of a run before the measured one.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Warmup {
    /// Measure from the first request.
    #[default]
    None,
    /// That many requests of the run's own stream.
    Requests(u64),
    /// That many millionths of the trace's requests, rounded down.
    Millionths(u64),
    /// That many whole passes over the trace before the measured one.
    Passes(u32),
}

impl Warmup {
    /// Reads `10000`, `12.5%` or `passes=3`.
    ///
    /// # Errors
    /// What is wrong and what is allowed.
    pub fn parse(text: &str) -> Result<Warmup, String> {
        let wrong = || {
            format!("`{text}` is no warm-up; allowed: a number of requests, `N%`, or `passes=K`")
        };
        if let Some(passes) = text.strip_prefix("passes=") {
            return passes.parse().map(Warmup::Passes).map_err(|_| wrong());
        }
        let Some(percent) = text.strip_suffix('%') else {
            return text.parse().map(Warmup::Requests).map_err(|_| wrong());
        };
        let (whole, fraction) = percent.split_once('.').unwrap_or((percent, ""));
        if fraction.len() > 4 || whole.is_empty() {
            return Err(wrong());
        }
        let digits: u64 = format!("{whole}{fraction:0<4}")
            .parse()
            .map_err(|_| wrong())?;
        if digits >= 1_000_000 {
            return Err(format!("a warm-up of `{text}` leaves nothing to measure"));
        }
        Ok(Warmup::Millionths(digits))
    }

    /// Requests before the measured part, for a trace of `requests`, and passes in all.
    ///
    /// # Errors
    /// The warm-up covers the trace.
    pub fn resolve(self, requests: u64) -> Result<(u64, u64), RunError> {
        let before = match self {
            Warmup::None => 0,
            Warmup::Requests(n) => n,
            Warmup::Millionths(m) => (u128::from(requests) * u128::from(m) / 1_000_000) as u64,
            Warmup::Passes(k) => return Ok((u64::from(k) * requests, u64::from(k) + 1)),
        };
        if before >= requests {
            return Err(RunError::WarmupCoversTrace {
                warmup: before,
                requests,
            });
        }
        Ok((before, 1))
    }
}

/// Settings of one run.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// The scheme.
    pub expr: Expr,
    /// Cache size as given; `none` ignores it.
    pub cache: ByteSize,
    /// Page size.
    pub page: PageSize,
    /// Read allocation as asked for.
    pub read_alloc: ReadAlloc,
    /// What a read miss brings in.
    pub read_fill: ReadFill,
    /// Read-modify-write of partial pages.
    pub rmw: bool,
    /// The part before the measured one.
    pub warmup: Warmup,
    /// Seed of schemes that draw.
    pub seed: u64,
    /// Build every layer through dynamic calls, to compare with the static types.
    pub boxed: bool,
    /// Effective settings with their origin, for the record.
    pub settings: Vec<Setting>,
}

/// Why a run cannot start or end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A log of the run could not be written.
    #[error("cannot write the log of the run: {0}")]
    Log(#[from] std::io::Error),
    /// The expression breaks a rule of composition.
    #[error("{0}")]
    Refused(Refusal),
    /// The scheme is declared but not built yet.
    #[error("cannot run {expr}: scheme `{name}` is known but not available yet")]
    Unavailable {
        /// The whole expression.
        expr: String,
        /// The layer.
        name: &'static str,
    },
    /// The cache has no page.
    #[error("a cache of {cache} holds no page of {page} bytes; it needs at least one")]
    NoPage {
        /// Cache size.
        cache: ByteSize,
        /// Page size in bytes.
        page: u64,
    },
    /// The cache has too many pages.
    #[error("a cache of {cache} has more than 2^32 - 2 pages of {page} bytes")]
    TooManyPages {
        /// Cache size.
        cache: ByteSize,
        /// Page size in bytes.
        page: u64,
    },
    /// Nothing is left to measure.
    #[error("a warm-up of {warmup} requests covers the trace of {requests} requests")]
    WarmupCoversTrace {
        /// Requests of the warm-up.
        warmup: u64,
        /// Requests of the trace.
        requests: u64,
    },
}

impl RunSpec {
    /// Is there a cache at all?
    pub fn is_cached(&self) -> bool {
        self.expr.scheme().name != "none"
    }

    /// Page frames: floor(cache / page); 0 for `none`.
    ///
    /// # Errors
    /// No page fits, or more than 2^32 - 2.
    pub fn capacity(&self) -> Result<u32, RunError> {
        if !self.is_cached() {
            return Ok(0);
        }
        let (cache, page) = (self.cache, self.page.bytes());
        match cache.0 / page {
            0 => Err(RunError::NoPage { cache, page }),
            n => match u32::try_from(n) {
                Ok(n) if n < u32::MAX => Ok(n),
                _ => Err(RunError::TooManyPages { cache, page }),
            },
        }
    }

    /// Does a read miss enter the cache?
    pub fn resolved_read_alloc(&self) -> bool {
        self.is_cached() && self.read_alloc.resolve(&self.expr)
    }

    /// Checks everything that can be known before a trace is read.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<Vec<Warning>, RunError> {
        if let Some(info) = self.expr.unavailable() {
            return Err(RunError::Unavailable {
                expr: self.expr.to_string(),
                name: info.name,
            });
        }
        let capacity_pages = u64::from(self.capacity()?);
        let context = RunContext {
            capacity_pages,
            page: self.page,
            read_alloc: self.read_alloc,
            device: None,
        };
        check_run(&self.expr, &context).map_err(RunError::Refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_ups() {
        assert_eq!(Warmup::parse("500"), Ok(Warmup::Requests(500)));
        assert_eq!(Warmup::parse("12.5%"), Ok(Warmup::Millionths(125_000)));
        assert_eq!(Warmup::parse("passes=3"), Ok(Warmup::Passes(3)));
        for wrong in ["", "-1", "x%", "%", "100%", "1.23456%", "passes=-1", "5 %"] {
            assert!(Warmup::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            Warmup::Millionths(333_333).resolve(10).unwrap(),
            (3, 1),
            "rounded down"
        );
        assert_eq!(Warmup::Passes(2).resolve(10).unwrap(), (20, 3));
        assert!(Warmup::Requests(10).resolve(10).is_err());
    }
}
