//! Which columns of a table hold what, by their values.

use super::ColumnRole;
use super::cut::Cut;
use super::date::{self, DateOrder};
use super::guess::most;
use crate::text::spelling::{Number, letters_kind, word_kind};

/// One column of a sample, by its values.
struct Values {
    place: usize,
    /// In billionths.
    numbers: Vec<u128>,
    whole: bool,
    real: bool,
}

impl Values {
    /// The column, if nearly all of its fields are numbers.
    fn of(place: usize, fields: &[&[u8]], mark: u8) -> Option<Values> {
        let numbers = fields
            .iter()
            .filter_map(|field| Number::parse(field, mark).ok());
        let numbers: Vec<Number> = numbers.collect();
        let values = Values {
            place,
            whole: numbers.iter().all(|n| n.whole().is_ok()),
            real: fields.iter().any(|field| field.contains(&mark)),
            numbers: numbers.iter().filter_map(|n| n.scaled(9).ok()).collect(),
        };
        let many = most(numbers.len(), fields.len()) && values.numbers.len() > 1;
        many.then_some(values)
    }

    fn steps(&self, fits: impl Fn(u128, u128) -> bool) -> bool {
        let steps = self.numbers.windows(2).filter(|two| fits(two[0], two[1]));
        most(steps.count(), self.numbers.len() - 1)
    }

    /// Are the numbers those of the rows? Dates in s may count as well.
    fn counts(&self) -> bool {
        self.steps(|a, b| b == a + 1_000_000_000) && !self.are_dates()
    }

    /// May the numbers be dates of this century, in any unit?
    fn are_dates(&self) -> bool {
        self.numbers.first() >= Some(&(946_684_800 * 1_000_000_000))
    }

    fn rises(&self) -> bool {
        self.steps(|a, b| a <= b) && self.numbers.first() < self.numbers.last()
    }

    fn are_bytes(&self) -> bool {
        let multiples = self.numbers.iter().filter(|&&n| n % 512_000_000_000 == 0);
        self.whole && most(multiples.count(), self.numbers.len())
    }

    fn are_several(&self) -> bool {
        self.numbers.iter().any(|n| *n != self.numbers[0])
    }

    fn are_sizes(&self) -> bool {
        let sizes = self.numbers.iter().filter(|&&n| n > 0).count();
        most(sizes, self.numbers.len())
    }
}

/// The columns that hold times, kinds, addresses and sizes by what their values look like.
pub(super) fn value_roles(
    cut: &Cut,
    mark: u8,
    lines: &[&[u8]],
) -> Option<[(ColumnRole, usize); 4]> {
    let Cut::Gap(gap) = cut else { return None };
    let rows: Vec<Vec<&[u8]>> = lines.iter().map(|line| gap.fields(line)).collect();
    let width = rows.get(rows.len() / 2)?.len();
    let whole: Vec<&Vec<&[u8]>> = rows.iter().filter(|row| row.len() == width).collect();
    if whole.len() < 2 || !most(whole.len(), lines.len()) {
        return None;
    }
    let column = |place: usize| whole.iter().map(|row| row[place]).collect();
    let columns: Vec<Vec<&[u8]>> = (0..width).map(column).collect();
    let find = |fits: fn(&[u8]) -> bool| {
        let share = |column: &Vec<&[u8]>| column.iter().filter(|field| fits(field)).count();
        columns
            .iter()
            .position(|column| most(share(column), column.len()))
    };
    let op = find(|field| word_kind(field).or_else(|| letters_kind(field)).is_some())?;
    let dates = find(|field| date::parse(field, DateOrder::Year).is_ok());
    let others = columns.iter().enumerate().filter(|(place, _)| *place != op);
    let values = others.filter_map(|(place, column)| Values::of(place, column, mark));
    let values: Vec<Values> = values.collect();
    let rising = || values.iter().filter(|v| v.rises() && !v.counts());
    let clock = || {
        let real = rising().find(|v| v.real);
        let date = || rising().find(|v| v.are_dates());
        real.or_else(date).or_else(|| rising().next())
    };
    let time = dates.or_else(|| clock().map(|v| v.place))?;
    let bytes = values
        .iter()
        .filter(|v| v.place != time && !v.counts() && v.are_bytes());
    let last = |v: &&Values| v.numbers.iter().max().copied();
    let offset = bytes
        .clone()
        .filter(|v| v.are_several())
        .max_by_key(last)?
        .place;
    let mut sizes = bytes.filter(|v| v.place != offset && v.are_sizes());
    let behind = sizes.clone().find(|v| v.place > offset);
    let size = behind.or_else(|| sizes.next())?.place;
    Some([
        (ColumnRole::Time, time),
        (ColumnRole::Op, op),
        (ColumnRole::Offset, offset),
        (ColumnRole::Size, size),
    ])
}
