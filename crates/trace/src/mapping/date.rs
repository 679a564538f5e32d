//! Dates with a time of day, times of day, and times with a unit such as `250us`, as nanoseconds.

use super::lines::most;
use crate::text::spelling::Number;
use crate::time_unit::TimeUnit;

const SECOND: u64 = 1_000_000_000;
const NO_DATE: &str =
    "is no date with a time of day, such as 2025-03-02 09:00:00.000100, and no time of day";

/// The part of a date that stands first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DateOrder {
    Year,
    Month,
    Day,
}

/// Nanoseconds of times such as `250us`, `1h2m3.5s` and `PT0.25S`.
fn with_units(text: &[u8]) -> Option<u64> {
    let mut rest = std::str::from_utf8(text).ok()?;
    rest = rest.strip_prefix("PT").unwrap_or(rest);
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (number, behind) = rest.split_at(rest.find(char::is_alphabetic)?);
        let end = behind.find(|c: char| !c.is_alphabetic());
        let (word, behind) = behind.split_at(end.unwrap_or(behind.len()));
        let unit = match word.to_lowercase().as_str() {
            "h" => 3_600 * SECOND,
            "m" => 60 * SECOND,
            word => TimeUnit::of_word(word)?.ns(),
        };
        let number = Number::parse(number.as_bytes(), b'.');
        let parts = number.and_then(|n| n.scaled(9)).ok()?;
        let ns = parts.checked_mul(unit.into())? / u128::from(SECOND);
        total = total.checked_add(u64::try_from(ns).ok()?)?;
        rest = behind.trim_start();
    }
    (!text.is_empty()).then_some(total)
}

/// Nanoseconds since 1970, or since midnight if there is no date; of times with a unit, since the start.
///
/// # Errors
/// It is neither.
pub(crate) fn parse(text: &[u8], order: DateOrder) -> Result<u64, &'static str> {
    let text = text.trim_ascii();
    let inner = text.strip_prefix(b"[");
    let text = inner.map_or(text, |text| text.strip_suffix(b"]").unwrap_or(text));
    if !text.contains(&b':')
        && let Some(ns) = with_units(text)
    {
        return Ok(ns);
    }
    let (minutes, seconds) = parts(text, order).ok_or(NO_DATE)?;
    // Times of day have no year in front of them.
    let minutes = u64::try_from(minutes).map_err(|_| "is before 1970")?;
    let ns = minutes
        .checked_mul(60 * SECOND)
        .and_then(|ns| ns.checked_add(seconds));
    ns.ok_or("is too large")
}

/// The order of the parts of nearly all `texts`, if they are dates or times of day; and another one that they may have.
pub(crate) fn order<'a>(
    texts: impl Iterator<Item = &'a [u8]> + Clone,
) -> Option<(DateOrder, Option<DateOrder>)> {
    let likely =
        |text: &[u8]| text.contains(&b':') || text.last().is_some_and(u8::is_ascii_alphabetic);
    if !texts.clone().take(3).any(likely) {
        return None;
    }
    let dates = |order: DateOrder| {
        let is_date = |text: &&[u8]| parse(text, order).is_ok();
        most(texts.clone().filter(is_date).count(), texts.clone().count())
    };
    // Points stand in dates whose day is first.
    let points = texts.clone().next().is_some_and(|text| {
        let day = text.split(|b| *b == b' ').next().unwrap_or(text);
        day.iter().filter(|b| **b == b'.').count() == 2
    });
    let others = match points {
        true => [DateOrder::Day, DateOrder::Month],
        false => [DateOrder::Month, DateOrder::Day],
    };
    let orders = std::iter::once(DateOrder::Year).chain(others);
    let mut orders = orders.filter(|&order| dates(order));
    let first = orders.next()?;
    let second = orders
        .next()
        .filter(|_| first != DateOrder::Year && !points);
    Some((first, second))
}

/// Minutes since 1970, and nanoseconds of the last one.
fn parts(text: &[u8], order: DateOrder) -> Option<(i64, u64)> {
    let clock = memchr::memchr(b':', text)?;
    let gap = |b: &u8| matches!(b, b' ' | b'T' | b't');
    let end_of_date = text[..clock].iter().rposition(gap);
    let (day, time) = match end_of_date {
        Some(at) => (day(text[..at].trim_ascii_end(), order)?, &text[at + 1..]),
        None => (0, text),
    };
    let (time, east) = zone(time)?;
    let (time, later) = half(time);
    let mut parts = time.split(|&b| b == b':');
    let mut two = |below: u64| parts.next().and_then(digits).filter(|&n| n < below);
    let (hour, minute) = (two(24)?, two(60)?);
    let hour = later.map_or(hour, |later| hour % 12 + later);
    let seconds = parts.next()?;
    let two = seconds.get(..2)?.iter().all(u8::is_ascii_digit);
    let mark = if seconds.contains(&b',') { b',' } else { b'.' };
    let seconds = Number::parse(seconds, mark).and_then(|n| n.scaled(9));
    let seconds = u64::try_from(seconds.ok()?).ok();
    let seconds = seconds.filter(|&ns| two && ns < 61 * SECOND)?;
    let minutes = (day * 24 + hour as i64) * 60 + minute as i64 - east;
    parts.next().is_none().then_some((minutes, seconds))
}

fn digits(text: &[u8]) -> Option<u64> {
    let few = !text.is_empty() && text.len() <= 9 && text.iter().all(u8::is_ascii_digit);
    few.then(|| text.iter().fold(0, |n, d| 10 * n + u64::from(d - b'0')))
}

/// A time without AM or PM, and the hours that those add to hours of twelve.
fn half(time: &[u8]) -> (&[u8], Option<u64>) {
    let (front, end) = time.split_at(time.len().saturating_sub(2));
    match end.to_ascii_uppercase().as_slice() {
        b"AM" => (front.trim_ascii_end(), Some(0)),
        b"PM" => (front.trim_ascii_end(), Some(12)),
        _ => (time, None),
    }
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
    let parts = time[at + 1..].iter().copied().filter(|&b| b != b':');
    let parts: Vec<u8> = parts.collect();
    let (hours, minutes) = match parts.len() {
        2 => (digits(&parts)?, 0),
        4 => (digits(&parts[..2])?, digits(&parts[2..])?),
        _ => return None,
    };
    let east = (60 * hours + minutes) as i64;
    let east = if time[at] == b'-' { -east } else { east };
    Some((time[..at].trim_ascii_end(), east))
}

/// The number of a month by its name.
fn month_of(text: &[u8]) -> Option<u64> {
    const NAMES: &[u8] = b"janfebmaraprmayjunjulaugsepoctnovdec";
    let start = text.get(..3)?.to_ascii_lowercase();
    let place = NAMES.chunks(3).position(|name| *name == start)?;
    let named = text.iter().all(u8::is_ascii_alphabetic);
    named.then_some(place as u64 + 1)
}

/// Days since 1970 of a date, or a number of days.
fn day(text: &[u8], order: DateOrder) -> Option<i64> {
    if let Some(days) = text.strip_suffix(b" days").or(text.strip_suffix(b" day")) {
        return digits(days).map(|days| days as i64);
    }
    let gap = |b: &u8| matches!(b, b'-' | b'/' | b'.' | b' ' | b',');
    let parts = text.split(gap).filter(|part| !part.is_empty());
    let parts: Vec<&[u8]> = parts.collect();
    let named = parts.iter().position(|part| month_of(part).is_some());
    let order = match (named, parts.first()?.len()) {
        (Some(0), _) => DateOrder::Month,
        (Some(_), 4) => DateOrder::Year,
        (Some(_), _) => DateOrder::Day,
        (None, _) => order,
    };
    let (year, month, day) = match (order, &parts[..]) {
        (DateOrder::Year, [year, month, day]) => (*year, month, day),
        (DateOrder::Month, [month, day, year]) => (*year, month, day),
        (DateOrder::Day, [day, month, year]) => (*year, month, day),
        _ => return None,
    };
    let year = Some(year)
        .filter(|year: &&[u8]| year.len() == 4)
        .and_then(digits)?;
    let month = month_of(month)
        .or_else(|| digits(month))
        .filter(|m| (1..=12).contains(m))?;
    let day = digits(day).filter(|d| (1..=31).contains(d))?;
    // Years that begin in March have the day that some lack at their end.
    let (year, month) = match month {
        3.. => (year, month - 3),
        _ => (year.checked_sub(1)?, month + 9),
    };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + day_of_year;
    Some(days as i64 - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    use DateOrder::{Day, Month, Year};

    #[rustfmt::skip]
    const DATES: [(DateOrder, &str, u64, u64); 13] = [
        (Year, "1970-01-01 00:00:00", 0, 0),
        (Year, "2025-03-02 09:00:00.000100", 1_740_906_000, 100_000),
        (Year, "2025/03/02T10:00:00,5+01:00", 1_740_906_000, SECOND / 2),
        (Year, "2000-02-29T23:59:59.999999999Z", 951_868_799, SECOND - 1),
        (Year, "1972-03-01 00:00:00 UTC", 790 * 86_400, 0),
        (Year, "[09:00:00.000350000]", 32_400, 350_000),
        (Month, "3/2/2025 9:00:00 AM", 1_740_906_000, 0),
        (Month, "03/02/2025 12:00:00.5 pm", 1_740_916_800, SECOND / 2),
        (Day, "02.03.2025 09:00:00,25", 1_740_906_000, SECOND / 4),
        (Year, "250us", 0, 250_000),
        (Year, "1.5 \u{b5}s", 0, 1_500),
        (Year, "1h2m3.5s", 3_723, SECOND / 2),
        (Year, "PT0.25S", 0, SECOND / 4),
    ];

    #[test]
    fn dates_are_nanoseconds() {
        for (order, text, s, ns) in DATES {
            assert_eq!(parse(text.as_bytes(), order), Ok(s * SECOND + ns), "{text}");
        }
        let none = "|5|1.5|2025-13-01 00:00:00|2025-03-02|25:00:00|09:00|1:2:3:4|a:b:c|5x|us|5us x|1:2us|3/2/2025 9:00:00";
        for text in none.split('|') {
            assert!(parse(text.as_bytes(), Year).is_err(), "{text}");
        }
    }
}
