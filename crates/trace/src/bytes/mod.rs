//! From a file, standard input or memory to a window of decompressed bytes.

pub(crate) mod ahead;
pub(crate) mod container;
mod decoders;
pub(crate) mod input;
mod members;
pub(crate) mod source;
