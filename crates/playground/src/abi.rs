//! How JavaScript asks: through the memory of the module.
//!
//! `question(len)` gives the place for a question of `len` bytes, `ask()` answers it and gives the place of the
//! answer, and `answer_len()` says how long that is.

// The only file with raw memory. Each function says why what it does is sound.
#![allow(unsafe_code)]

use crate::engine::{PageEngine, PageHost};
use std::cell::RefCell;
use std::io;

/// Functions that JavaScript provides.
mod js {
    #[link(wasm_import_module = "host")]
    unsafe extern "C" {
        pub fn read(place: *mut u8, len: usize) -> i32;
        pub safe fn reading(requests: f64);
        pub safe fn preparing(done: f64, all: f64);
        pub safe fn running(done: f64, all: f64);
        pub fn panicked(text: *const u8, len: usize);
    }
}

/// An engine, and the last question and answer.
struct Desk {
    engine: PageEngine,
    question: Vec<u8>,
    answer: String,
}

thread_local! {
    static DESK: RefCell<Desk> = RefCell::new(Desk::new());
}

impl Desk {
    fn new() -> Desk {
        std::panic::set_hook(Box::new(|info| {
            let text = info.to_string();
            // SAFETY: the text lives until the call is over, and JavaScript only reads it.
            unsafe { js::panicked(text.as_ptr(), text.len()) }
        }));
        Desk {
            engine: PageEngine::new(PageHost {
                read,
                reading: |requests| js::reading(requests as f64),
                preparing: |done, all| js::preparing(done as f64, all as f64),
                running: |done, all| js::running(done as f64, all as f64),
            }),
            question: Vec::new(),
            answer: String::new(),
        }
    }
}

fn read(buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: JavaScript writes at most `len` bytes there, all of which belong to the buffer.
    let read = unsafe { js::read(buffer.as_mut_ptr(), buffer.len()) };
    let read = usize::try_from(read).ok().filter(|&n| n <= buffer.len());
    read.ok_or_else(|| io::Error::other("the browser cannot read the file any more"))
}

/// The place for a question of `len` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn question(len: usize) -> *mut u8 {
    DESK.with_borrow_mut(|desk| {
        desk.question.clear();
        desk.question.resize(len, 0);
        desk.question.as_mut_ptr()
    })
}

/// Answers the question, and gives the place of the answer, which stands until the next question.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> *const u8 {
    DESK.with_borrow_mut(|desk| {
        let question = String::from_utf8_lossy(&desk.question);
        desk.answer = desk.engine.answer(&question);
        desk.answer.as_ptr()
    })
}

/// Bytes of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn answer_len() -> usize {
    DESK.with_borrow(|desk| desk.answer.len())
}
