//! Tables with times: what they print is known only after all rows have run.

use super::{Table, number};
use crate::drive::{Drive, Times};
use crate::reference::Row;
use destage_sim::engine::OperationTimes;
use destage_types::Nanos;
use serde_json::Value;

/// How the tables of a scheme print times among the evictions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Not at all.
    Plain,
    /// `flush{0}@chip0 wait 0`.
    Wait,
    /// `flush{2} until 63`, and the channel in the state.
    Until,
}

/// A row as far as it is known when its request was served.
struct Open {
    row: Row,
    state: String,
    now: Nanos,
    queue: Vec<u64>,
}

impl Table {
    /// Runs the table on a device with time and compares every cell.
    ///
    /// # Panics
    /// A cell differs.
    pub fn run_timed(&self, mut drive: Drive) {
        let requests = self.requests();
        let mut open = Vec::new();
        for request in &requests {
            let row = drive.step(request);
            open.push(Open {
                row,
                state: drive.state(),
                now: Nanos(request.arrival),
                queue: drive.queue(),
            });
        }
        let times = drive.settle();
        let expr = self.expr();
        let style = match () {
            () if expr.contains("awb") => Style::Until,
            () if expr.contains("eager") || expr.scheme().name == "lru" => Style::Plain,
            () => Style::Wait,
        };
        let chips = self.config().layout;
        for (index, mut open) in open.into_iter().enumerate() {
            let chip = |p: &OperationTimes| chips.chip(p.lpn).0;
            open.add_times(index as u64, &times, style, chip);
            let row = &self.rows[index];
            if row.get("response").is_some() {
                self.compare_times(row, index as u64, &times);
            } else {
                self.compare(row, open.row, open.state);
            }
        }
        self.compare_means(&times);
    }

    fn compare_times(&self, row: &Value, index: u64, times: &Times) {
        let unit = number(self.setup("time_unit_ns"));
        let own = times.programs.iter().find(|p| p.request == Some(index));
        let done = times.completions.iter().find(|c| c.index == index);
        let done = done.expect("every request completes");
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let span = |p: &OperationTimes| {
            let (start, end) = (p.times.start.0, p.times.end.0);
            format!("{}-{}", start / unit, end / unit)
        };
        let wait = |p: &OperationTimes| (p.times.start - p.enqueued).0 / unit;
        for (column, got) in [
            ("evicted", or_dash(own.map(|p| p.lpn.to_string()))),
            ("program start-end", or_dash(own.map(span))),
            ("eviction wait", or_dash(own.map(|p| wait(p).to_string()))),
            (
                "response",
                ((done.complete - done.arrival).0 / unit).to_string(),
            ),
        ] {
            let at = format!("{} row {}: {column}", self.name, row["#"]);
            assert_eq!(got, self.cell(row, column), "{at}");
        }
    }

    fn compare_means(&self, times: &Times) {
        let unit = number(self.setup("time_unit_ns")) as f64;
        for (key, wanted) in &self.expect {
            let got = match key.as_str() {
                "mean_response" => times.mean_response,
                "resp_std" => times.resp_std,
                "evict_wait_mean" => times.evict_wait_mean,
                other => panic!("{}: no figure is called `{other}`", self.name),
            };
            let got = got.expect("a figure with a denominator") / unit;
            let wanted = wanted.as_f64().expect("a number");
            assert!((got - wanted).abs() < 1e-4, "{}: {key} {got}", self.name);
        }
    }
}

impl Open {
    fn add_times(
        &mut self,
        index: u64,
        times: &Times,
        style: Style,
        chip: impl Fn(&OperationTimes) -> u32,
    ) {
        let now = self.now;
        let mut words: Vec<String> = Vec::new();
        for word in self.row.evicted.split(' ') {
            words.push(word.to_owned());
            let pages = word
                .split_once('{')
                .map(|(kind, pages)| (kind, pages.trim_end_matches('}')));
            let Some((kind @ ("flush" | "inflight"), pages)) = pages else {
                continue;
            };
            for lpn in pages.split(',').filter_map(|p| p.parse::<u64>().ok()) {
                let program = times.programs.iter().find(|p| match kind {
                    "flush" => p.request == Some(index) && p.lpn.0 == lpn,
                    _ => {
                        p.request.is_none()
                            && p.lpn.0 == lpn
                            && p.times.start <= now
                            && now < p.times.end
                    }
                });
                let program = program.unwrap_or_else(|| panic!("no program of page {lpn}"));
                let last = words.last_mut().expect("a word was pushed");
                match style {
                    Style::Plain => {}
                    Style::Wait => {
                        let wait = program.times.start - program.enqueued;
                        *last += &format!("@chip{} wait {wait}", chip(program));
                    }
                    Style::Until => *last += &format!(" until {}", program.times.end),
                }
            }
        }
        self.row.evicted = words.join(" ");
        if style == Style::Until {
            let channel = self.channel(index, times);
            self.state.push_str(&channel);
        }
    }

    /// ` ; chan busy=50h queue=[1] host=[2]` for the only channel.
    fn channel(&self, index: u64, times: &Times) -> String {
        let now = self.now;
        let busy = times
            .programs
            .iter()
            .find(|p| p.times.start <= now && now < p.times.end);
        let busy = busy.map_or("-".to_owned(), |p| {
            format!("{}{}", p.lpn, if p.request.is_none() { "" } else { "h" })
        });
        let host = times
            .programs
            .iter()
            .filter(|p| p.request.is_some_and(|request| request <= index));
        let host: Vec<u64> = host
            .filter(|p| p.times.start > now)
            .map(|p| p.lpn.0)
            .collect();
        let queue = &self.queue;
        let (queue, host) = (format!("{queue:?}"), format!("{host:?}"));
        format!(" ; chan busy={busy} queue={queue} host={host}")
    }
}
