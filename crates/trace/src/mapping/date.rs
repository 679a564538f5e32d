//! Dates with a time of day, and times of day, as nanoseconds.

use crate::text::spelling::Number;

const SECOND: u64 = 1_000_000_000;
const NO_DATE: &str =
    "is no date with a time of day, such as 2025-03-02 09:00:00.000100, and no time of day";

/// Nanoseconds since 1970, or since midnight if there is no date.
///
/// # Errors
/// It is neither.
pub(crate) fn parse(text: &[u8]) -> Result<u64, &'static str> {
    let text = text.trim_ascii();
    let text = text
        .strip_prefix(b"[")
        .map_or(text, |t| t.strip_suffix(b"]").unwrap_or(t));
    let end_of_date = text.iter().position(|b| matches!(b, b' ' | b'T' | b't'));
    let (day, time) = match end_of_date {
        Some(at) => (
            day(&text[..at]).ok_or(NO_DATE)?,
            text[at + 1..].trim_ascii_start(),
        ),
        None => (0, text),
    };
    let (time, east) = zone(time).ok_or(NO_DATE)?;
    let mut parts = time.split(|&b| b == b':');
    let mut two = |below: u64| parts.next().and_then(digits).filter(|&n| n < below);
    let (hour, minute) = (two(24).ok_or(NO_DATE)?, two(60).ok_or(NO_DATE)?);
    let seconds = parts
        .next()
        .filter(|s| s.len() >= 2 && s[..2].iter().all(u8::is_ascii_digit))
        .ok_or(NO_DATE)?;
    let mark = if seconds.contains(&b',') { b',' } else { b'.' };
    let seconds = Number::parse(seconds, mark)
        .and_then(|n| n.scaled(9))
        .map_err(|_| NO_DATE)?;
    let seconds = u64::try_from(seconds)
        .ok()
        .filter(|&ns| ns < 61 * SECOND)
        .ok_or(NO_DATE)?;
    if parts.next().is_some() {
        return Err(NO_DATE);
    }
    let minutes = (day * 24 + hour as i64) * 60 + minute as i64 - east;
    // Times of day have no year in front of them.
    let minutes = u64::try_from(minutes).map_err(|_| "is before 1970")?;
    minutes
        .checked_mul(60 * SECOND)
        .and_then(|ns| ns.checked_add(seconds))
        .ok_or("is too large")
}

fn digits(text: &[u8]) -> Option<u64> {
    let few = !text.is_empty() && text.len() <= 9 && text.iter().all(u8::is_ascii_digit);
    few.then(|| text.iter().fold(0, |n, d| 10 * n + u64::from(d - b'0')))
}

/// A time without its zone, and the minutes that the zone is ahead.
fn zone(time: &[u8]) -> Option<(&[u8], i64)> {
    let time = time.strip_suffix(b"UTC").unwrap_or(time).trim_ascii_end();
    if let Some(time) = time.strip_suffix(b"Z").or(time.strip_suffix(b"z")) {
        return Some((time, 0));
    }
    let Some(at) = time.iter().position(|b| matches!(b, b'+' | b'-')) else {
        return Some((time, 0));
    };
    let parts: Vec<u8> = time[at + 1..]
        .iter()
        .copied()
        .filter(|&b| b != b':')
        .collect();
    let (hours, minutes) = match parts.len() {
        2 => (digits(&parts)?, 0),
        4 => (digits(&parts[..2])?, digits(&parts[2..])?),
        _ => return None,
    };
    let east = (60 * hours + minutes) as i64;
    Some((
        time[..at].trim_ascii_end(),
        if time[at] == b'-' { -east } else { east },
    ))
}

/// Days since 1970 of year, month and day.
fn day(text: &[u8]) -> Option<i64> {
    let mut parts = text.split(|b| matches!(b, b'-' | b'/'));
    let year = parts
        .next()
        .filter(|year| year.len() == 4)
        .and_then(digits)?;
    let month = parts
        .next()
        .and_then(digits)
        .filter(|m| (1..=12).contains(m))?;
    let day = parts
        .next()
        .and_then(digits)
        .filter(|d| (1..=31).contains(d))?;
    if parts.next().is_some() {
        return None;
    }
    // Years that begin in March have the day that some lack at their end.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year.checked_sub(1)?, month + 9)
    };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + day_of_year;
    Some(days as i64 - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_nanoseconds() {
        const DAY: u64 = 86_400 * SECOND;
        for (text, ns) in [
            ("1970-01-01 00:00:00", 0),
            (
                "2025-03-02 09:00:00.000100",
                1_740_906_000 * SECOND + 100_000,
            ),
            (
                "2025/03/02T10:00:00,5+01:00",
                1_740_906_000 * SECOND + SECOND / 2,
            ),
            (
                "2000-02-29T23:59:59.999999999Z",
                951_868_799 * SECOND + 999_999_999,
            ),
            ("1972-03-01 00:00:00 UTC", 790 * DAY),
            ("[09:00:00.000350000]", 32_400 * SECOND + 350_000),
        ] {
            assert_eq!(parse(text.as_bytes()), Ok(ns), "{text}");
        }
        for text in [
            "",
            "5",
            "1.5",
            "2025-13-01 00:00:00",
            "2025-03-02",
            "25:00:00",
            "09:00",
            "1:2:3:4",
            "a:b:c",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
