//! Work on a thread of its own, while Python hears of signals.

use crate::errors::exception;
use pyo3::prelude::*;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time between two looks at signals: Ctrl-C is to be felt at once.
const TICK: Duration = Duration::from_millis(50);

/// Does `work` without the lock of the interpreter. Calls `tick` now and then; if it fails, or a signal
/// comes whose handler raises, `cancel` is called, the work is left to itself, and the exception is raised.
///
/// # Errors
/// That of a signal or of `tick`; the work panicked.
pub fn wait_for<T: Send + 'static>(
    py: Python<'_>,
    mut tick: impl FnMut(Python<'_>) -> PyResult<()>,
    cancel: impl FnOnce(),
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = channel();
    // Nobody may be there any more to take the result.
    let work = move || drop(sender.send(work()));
    let worker = std::thread::Builder::new().name("destage".to_owned());
    worker
        .spawn(work)
        .map_err(|error| exception(py, "RunError", format!("no thread for the work: {error}")))?;
    // Only this thread has it; the mutex says so to the compiler.
    let receiver = Mutex::new(receiver);
    let receive = || {
        let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
        receiver.recv_timeout(TICK)
    };
    loop {
        match py.detach(receive) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(error) = py.check_signals().and_then(|()| tick(py)) {
                    cancel();
                    return Err(error);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                let text = "destage failed, which is a fault of its own; standard error says where";
                return Err(exception(py, "RunError", text.to_owned()));
            }
        }
    }
}
