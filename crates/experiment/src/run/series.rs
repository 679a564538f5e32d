//! `--series`: a row per interval, as CSV or Parquet.

use destage_report::columns::columns_of;
use destage_report::rows::{Form, Rows};
use destage_sim::series::{SeriesSink, row_schema};
use destage_sim::{Every, Series};
use destage_types::{Nanos, Picos};
use std::io::Write;
use std::path::Path;

/// Reads `10000` (requests) or `1s` (simulated time).
///
/// # Errors
/// The fault and the allowed values.
pub fn parse_every(text: &str) -> Result<Every, String> {
    let wrong = |why: &str| {
        format!(
            "`{text}` {why}; allowed: a number of requests, or a time with its unit, such as 1s"
        )
    };
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return match text.parse() {
            Ok(0) | Err(_) => Err(wrong("is no number of requests above 0")),
            Ok(requests) => Ok(Every::Requests(requests)),
        };
    }
    let time = Picos::parse(text).map_err(|error| wrong(&format!("is no interval: {error}")))?;
    match time.0 / 1000 {
        0 => Err(wrong("is shorter than 1 ns")),
        ns => Ok(Every::Time(Nanos(ns))),
    }
}

/// An interval as [`parse_every`] reads it.
pub fn every_text(every: Every) -> String {
    match every {
        Every::Requests(requests) => requests.to_string(),
        Every::Time(time) => format!("{time}ns"),
    }
}

/// The series of one run on `out`, in the form that the name at `path` asks for: Parquet if it ends so, else
/// CSV.
pub fn to_file(every: Every, path: &Path, out: impl Write + Send + 'static) -> Series {
    let form = match path.extension().is_some_and(|e| e == "parquet") {
        true => Form::Parquet,
        false => Form::Csv,
    };
    let (mut out, mut rows) = (Some(out), None);
    let sink: SeriesSink = Box::new(move |row| {
        if let Some(out) = out.take() {
            rows = Some(Rows::of(out, form, columns_of(&row_schema()))?);
        }
        match (rows.take(), row) {
            (Some(mut open), Some(row)) => {
                open.write(row)?;
                rows = Some(open);
            }
            (Some(open), None) => _ = open.finish()?,
            (None, _) => {}
        }
        Ok(())
    });
    Series::new(every, sink)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals() {
        assert_eq!(parse_every("10000"), Ok(Every::Requests(10_000)));
        assert_eq!(parse_every("1s"), Ok(Every::Time(Nanos(1_000_000_000))));
        assert_eq!(every_text(Every::Time(Nanos(7))), "7ns");
        assert_eq!(parse_every("2.5us"), Ok(Every::Time(Nanos(2_500))));
        for wrong in ["", "0", "-1", "1x", "0s", "0.1ns", "1 0"] {
            assert!(parse_every(wrong).is_err(), "{wrong}");
        }
    }
}
