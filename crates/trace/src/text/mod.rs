//! Lines of text, and the fields and numbers in them.

pub(crate) mod fields;
pub(crate) mod gap;
pub(crate) mod line;
pub(crate) mod numbers;
pub(crate) mod spelling;
pub(crate) mod unusual;
