//! Measures that are sampled during a run rather than counted.

use crate::record::ListPages;
use destage_scheme::Scheme;

/// Requests between two samples of metadata and list lengths (Req-block section 4.2.6).
pub const SAMPLE_EVERY: u64 = 10_000;

/// Metadata and list lengths, sampled every [`SAMPLE_EVERY`] requests.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    meta_bytes_sum: u128,
    count: u64,
    /// Pages in the lists of Req-block, one entry per sample.
    pub list_pages: Vec<ListPages>,
}

impl Samples {
    /// Takes a sample after `requests` measured requests.
    pub fn take<S: Scheme>(&mut self, scheme: &S, requests: u64) {
        self.meta_bytes_sum += u128::from(scheme.meta_bytes());
        self.count += 1;
        if let Some([irl, srl, drl]) = scheme.list_pages() {
            self.list_pages.push(ListPages {
                request: requests,
                irl,
                srl,
                drl,
            });
        }
    }

    /// Mean metadata in bytes; `None` without a sample.
    pub fn meta_bytes_mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.meta_bytes_sum as f64 / self.count as f64)
    }
}

/// How many evictions removed how many pages.
#[derive(Clone, Debug, Default)]
pub struct PagesHistogram {
    evictions: Vec<u64>,
}

impl PagesHistogram {
    /// Empty, with room for evictions of up to `pages` pages.
    pub fn new(pages: usize) -> PagesHistogram {
        PagesHistogram {
            evictions: Vec::with_capacity(pages + 1),
        }
    }

    /// An eviction removed `pages` pages.
    #[inline]
    pub fn add(&mut self, pages: usize) {
        if pages >= self.evictions.len() {
            self.evictions.resize(pages + 1, 0);
        }
        self.evictions[pages] += 1;
    }

    /// Forgets everything but keeps the memory.
    pub fn clear(&mut self) {
        self.evictions.fill(0);
    }

    /// (pages, evictions) in ascending order, without empty rows.
    pub fn rows(&self) -> Vec<(u64, u64)> {
        let rows = self.evictions.iter().enumerate();
        rows.filter(|r| *r.1 > 0)
            .map(|(pages, &n)| (pages as u64, n))
            .collect()
    }
}
