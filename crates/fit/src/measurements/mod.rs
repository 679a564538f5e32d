//! What was measured on drives: readers of tables and of fio output.

mod cell;

pub use cell::{
    CellLoad, CellResult, DriveCell, LatencyTable, LoadArrivals, LoadPattern, LoadStream,
    MeasuredPlace, Measurements, PlacePart, Quantile,
};
