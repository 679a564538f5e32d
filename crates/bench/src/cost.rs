//! CPU time and memory of this process.

use cpu_time::ProcessTime;
use serde_json::{Value, json};

/// CPU seconds (user and system) of `f`, and the memory the process has before and at its peak.
/// `fields` of the answer of `f` are put beside them.
pub fn measure(f: impl FnOnce() -> anyhow::Result<Value>) -> anyhow::Result<Value> {
    let before = status_kib("VmRSS:");
    let start = ProcessTime::now();
    let mut fields = f()?;
    let seconds = start.elapsed().as_secs_f64();
    fields["cpu_s"] = seconds.into();
    fields["before_kib"] = before.into();
    fields["peak_kib"] = status_kib("VmHWM:").into();
    Ok(fields)
}

/// A line of the process status of Linux; `None` elsewhere.
fn status_kib(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// `{"count": n, ...}` for work that was done `n` times.
pub fn counted(count: u64, hits: Option<u64>) -> Value {
    json!({ "count": count, "hits": hits })
}
