//! How results are shown: tables, CSV, Parquet, HTML pages, pictures, timelines for Perfetto.

pub mod advice;
pub mod answers;
mod asked;
pub mod columns;
mod detail_column;
pub mod details;
pub mod distinctions;
pub mod figures;
pub mod formats;
pub mod html;
pub mod perfetto;
pub mod picture;
pub mod readings;
pub mod rows;
pub mod run_table;
pub mod style;
pub mod table;

/// Each once, in the order in which they come.
pub fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for value in values {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}
