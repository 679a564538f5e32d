//! Admission by decisions that were made for every request before the run.

use destage_scheme::contract::Build;
use destage_scheme::layer::layer_below;
use destage_scheme::{
    Access, Admission, Boxed, Env, Expr, Layer, Request, Scheme, SchemeInfo, View, inside,
};
use destage_types::Op;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Of each scheme that decides, by the address of its declaration: for every request of the trace, whether it
/// may enter the cache.
pub type Decisions = HashMap<usize, Arc<Vec<bool>>>;

thread_local! {
    /// Decisions about the trace of the runs of this thread: declarations know no trace.
    static CURRENT: RefCell<Decisions> = RefCell::default();
}

/// Does `work`, in whose runs these decisions hold.
pub fn with_decisions<T>(decisions: Decisions, work: impl FnOnce() -> T) -> T {
    /// Forgets them, whichever way the work ends.
    struct Forget;
    impl Drop for Forget {
        fn drop(&mut self) {
            CURRENT.take();
        }
    }
    CURRENT.replace(decisions);
    let _forget = Forget;
    work()
}

/// The layer.
pub struct Decided<S> {
    inner: S,
    admitted: Arc<Vec<bool>>,
    /// Is the request that is served admitted?
    now: bool,
}

/// The function that declarations of admission name as their `build`.
pub fn build(expr: &Expr, env: &Env) -> Box<dyn Scheme + Send> {
    let info: *const SchemeInfo = expr.scheme();
    let admitted = CURRENT.with_borrow(|current| current.get(&(info as usize)).cloned());
    Box::new(Decided {
        inner: <Boxed as Build>::build(layer_below(expr), env),
        admitted: admitted.expect("who starts a run has made its decisions"),
        now: true,
    })
}

impl<S: Scheme> Layer for Decided<S> {
    inside!(inner: S);

    fn on_request(&mut self, r: &Request, v: &View) -> Admission {
        // Requests are numbered from 1 over all passes.
        let index = (r.id - 1) % self.admitted.len() as u64;
        self.now = self.admitted[index as usize];
        let admission = self.inner.on_request(r, v);
        if self.now {
            admission
        } else {
            Admission::Bypass
        }
    }

    fn admit(&mut self, a: &Access, v: &View) -> bool {
        let refused = a.op == Op::Read && !self.now;
        !refused && self.inner.admit(a, v)
    }
}
