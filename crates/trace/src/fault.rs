//! Faults of libraries that panic where input is damaged.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Does the thread do work whose panic becomes an error?
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Does the work of a library. A panic becomes an error with its message, and prints nothing. What `work` changed is not to
/// be used after that.
///
/// The hook that prints panics is one for all threads, so it is wrapped once and asks the thread. Programs that abort
/// where others unwind, such as the playground, still end there and say so: nothing can be caught.
///
/// # Errors
/// Those of `work`, or the library panicked.
pub fn panic_as_error<T, E: ToString>(work: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    if cfg!(panic = "abort") {
        return work().map_err(|error| error.to_string());
    }
    static WRAPPED: Once = Once::new();
    WRAPPED.call_once(|| {
        let print = take_hook();
        set_hook(Box::new(move |info| {
            if !IS_CAUGHT.get() {
                print(info);
            }
        }));
    });
    let outer = IS_CAUGHT.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    IS_CAUGHT.set(outer);
    match done {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            Err(format!("damaged: {}", text.unwrap_or("its reader failed")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_and_others_still_panic() {
        let fault = |row| panic_as_error(|| -> Result<u8, String> { panic!("row {row}") });
        assert_eq!(fault(7), Err("damaged: row 7".to_owned()));
        assert_eq!(panic_as_error(|| fault(8)), fault(8));
        assert_eq!(panic_as_error(|| Ok::<_, String>(5)), Ok(5));
        assert!(!IS_CAUGHT.get(), "the next panic is printed");
        // Threads know nothing of each other.
        let other = || std::thread::spawn(|| IS_CAUGHT.get()).join();
        let other = panic_as_error(|| Ok::<_, String>(other().expect("no panic")));
        assert_eq!(other, Ok(false));
    }
}
