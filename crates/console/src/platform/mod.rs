//! Differences between Unix and a browser. A browser has no files, terminals, or signals.

#[cfg(target_family = "wasm")]
mod browser;
#[cfg(unix)]
mod unix;

#[cfg(target_family = "wasm")]
pub(crate) use browser::{
    columns, file_number, for_each_signal, is_pipe, kind_name, link_loop, open_pipe,
    readable_by_all,
};
#[cfg(unix)]
pub(crate) use unix::{
    columns, file_number, for_each_signal, is_pipe, kind_name, link_loop, open_pipe,
    readable_by_all,
};
