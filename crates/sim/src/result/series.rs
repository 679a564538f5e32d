//! Time series: what happened in each interval of the measured part, and what the cache holds at
//! its end.

use crate::cache::sample::list_pages;
use crate::device::latency::{LatencyMark, LatencyStats, LatencyTriple, latencies};
use crate::run::run_cache::CacheState;
use destage_record::counts::ratio;
pub use destage_record::series::{Every, SeriesRow, row_schema};
use destage_record::{Counts, Latencies};
use destage_types::Nanos;
use std::io;

/// Takes the rows of one run; the last call is with `None`.
pub type SeriesSink = Box<dyn FnMut(Option<&SeriesRow>) -> io::Result<()> + Send>;

/// The time series of one run.
pub struct Series {
    every: Every,
    sink: SeriesSink,
    /// Measured requests that count, or time, at which the interval ends.
    end: u64,
    before: Counts,
    /// Requests served before the interval, those of cleaning included.
    served: u64,
    /// Response times before the interval: of reads, of writes, and of other requests.
    marks: [LatencyMark; 3],
    /// Sum and number of the unbalance rates.
    rates: (f64, u64),
}

impl Series {
    /// A series of intervals of length `every`, whose rows go to `sink`.
    pub fn new(every: Every, sink: SeriesSink) -> Series {
        let end = match every {
            Every::Requests(n) => n.max(1),
            Every::Time(_) => 0,
        };
        Series {
            every,
            sink,
            end,
            before: Counts::default(),
            served: 0,
            marks: Default::default(),
            rates: (0.0, 0),
        }
    }

    /// Requests that the interval lacks when `counted` are counted, if requests decide: at least so
    /// many are to be served before it ends.
    pub(crate) fn lacks(&self, counted: u64) -> Option<u64> {
        matches!(self.every, Every::Requests(_)).then(|| self.end - counted)
    }

    /// The measured part begins when `served` requests are served.
    pub(crate) fn begin(&mut self, served: u64) {
        self.served = served;
    }

    /// A request is issued at `now`: the end of the interval before it, if time decides and it is
    /// over.
    #[inline]
    pub(crate) fn ended(&mut self, now: Nanos) -> Option<Nanos> {
        let Every::Time(length) = self.every else {
            return None;
        };
        if now.0 < self.end {
            return None;
        }
        let (end, length) = (self.end, length.0.max(1));
        self.end = (now.0 / length + 1).saturating_mul(length);
        (end > 0).then_some(Nanos(end))
    }

    /// The interval ends at `now`, up to which `times` are the response times; if nothing was served in it,
    /// it gives no row.
    pub(crate) fn row(
        &mut self,
        cache: &dyn CacheState,
        times: Option<&LatencyTriple>,
        now: Nanos,
    ) -> io::Result<()> {
        let counts = cache.counts();
        if let Every::Requests(n) = self.every {
            self.end = counts.requests.saturating_add(n.max(1));
        }
        if cache.served() == self.served {
            return Ok(());
        }
        self.emit(cache, counts, times, now)
    }

    /// The measured part ends at `now`. A request of an interval before may have had its last frame since, if
    /// the buffer is bounded.
    pub(crate) fn last_row(
        &mut self,
        cache: &dyn CacheState,
        times: Option<&LatencyTriple>,
        now: Nanos,
    ) -> io::Result<()> {
        let counts = cache.counts();
        if cache.served() == self.served && counts.page_accesses == self.before.page_accesses {
            return Ok(());
        }
        self.emit(cache, counts, times, now)
    }

    fn emit(
        &mut self,
        cache: &dyn CacheState,
        counts: Counts,
        times: Option<&LatencyTriple>,
        now: Nanos,
    ) -> io::Result<()> {
        let row = self.measure(cache, times, now);
        (self.before, self.served) = (counts, cache.served());
        self.marks = times
            .map(|times| times.each_ref().map(LatencyStats::mark))
            .unwrap_or_default();
        self.rates = rates_of(cache);
        (self.sink)(Some(&row))
    }

    /// The run is over.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        (self.sink)(None)
    }

    fn measure(
        &self,
        cache: &dyn CacheState,
        times: Option<&LatencyTriple>,
        now: Nanos,
    ) -> SeriesRow {
        let (c, b) = (cache.counts(), &self.before);
        let r = |part: u64, whole: u64| ratio(part as f64, whole as f64);
        let latency =
            times.map(|times| latencies(&std::array::from_fn(|i| times[i].since(self.marks[i]))));
        let Latencies { all, read, write } = latency.unwrap_or_default();
        let lists = list_pages(cache, c.requests);
        let timed = cache.is_timed();
        let rates = rates_of(cache);
        let (reads, writes) = (c.read_pages - b.read_pages, c.write_pages - b.write_pages);
        SeriesRow {
            request: c.requests,
            time_ns: now.0,
            requests: c.requests - b.requests,
            read_pages: reads,
            write_pages: writes,
            page_hit_ratio: r(c.page_hits - b.page_hits, reads + writes),
            read_page_hit_ratio: r(c.read_page_hits - b.read_page_hits, reads),
            write_page_hit_ratio: r(c.write_page_hits - b.write_page_hits, writes),
            evictions: c.evictions - b.evictions,
            evicted_pages: c.evicted_pages - b.evicted_pages,
            flash_reads_host: c.flash_reads_host - b.flash_reads_host,
            flash_writes_host: c.flash_writes_host - b.flash_writes_host,
            flash_writes_gc: timed.then_some(c.flash_writes_gc - b.flash_writes_gc),
            erases: timed.then_some(c.erases - b.erases),
            latency_mean_ns: all.mean,
            latency_p50_ns: all.p50,
            latency_p95_ns: all.p95,
            latency_p99_ns: all.p99,
            latency_p999_ns: all.p999,
            read_latency_mean_ns: read.mean,
            read_latency_p50_ns: read.p50,
            read_latency_p95_ns: read.p95,
            read_latency_p99_ns: read.p99,
            read_latency_p999_ns: read.p999,
            write_latency_mean_ns: write.mean,
            write_latency_p50_ns: write.p50,
            write_latency_p95_ns: write.p95,
            write_latency_p99_ns: write.p99,
            write_latency_p999_ns: write.p999,
            cached_pages: cache.frames().used() as u64,
            dirty_pages: cache.frames().dirty_slots().count() as u64,
            meta_bytes: cache.metadata_bytes(),
            slc_blocks: (cache.device()).and_then(|device| device.map.slc_blocks_in_use()),
            irl: lists.as_ref().map(|l| l.irl),
            srl: lists.as_ref().map(|l| l.srl),
            drl: lists.as_ref().map(|l| l.drl),
            unbalance_mean: ratio(rates.0 - self.rates.0, (rates.1 - self.rates.1) as f64),
        }
    }
}

fn rates_of(cache: &dyn CacheState) -> (f64, u64) {
    cache.queues().map_or((0.0, 0), |queues| queues.rates())
}
