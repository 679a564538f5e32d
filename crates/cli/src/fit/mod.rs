//! `destage probe` and `destage fit-device`: a real drive is measured, and a model is fitted to it.

pub mod fit_device;
pub mod probe;
