//! Frames of a run, and what metadata takes of them (`charge_metadata`).

use crate::RunError;
use crate::cache::page_span;
use crate::run::spec::RunSpec;
use destage_device::config::DeviceConfig;
use destage_scheme::info::{MetadataContext, charged_frames};
use destage_trace::{TraceError, Workload};
use destage_types::PageSize;

/// Properties of a trace that bound the metadata of a scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Demand {
    /// Pages up to the last one that is addressed.
    pages: u64,
    /// Most extents of one request.
    extents: u64,
}

impl Demand {
    /// The least that any trace asks for; what is known before one is read.
    pub(crate) const LEAST: Demand = Demand {
        pages: 0,
        extents: 1,
    };

    /// That of `workload`. Addresses beyond `space` sectors are taken modulo of it: what crosses
    /// its end becomes two extents.
    pub(crate) fn of(
        workload: Workload<'_>,
        page: PageSize,
        space: Option<u64>,
    ) -> Result<Demand, TraceError> {
        let mut all = Demand::LEAST;
        workload.try_each(|_, request| {
            let mut count = 0;
            for extent in request.extents().filter(|e| e.sectors > 0) {
                let (first, pages) = page_span(&extent, page);
                all.pages = all.pages.max(first.0 + u64::from(pages));
                count += 1 + u64::from(space.is_some_and(|space| extent.end() > space));
            }
            all.extents = all.extents.max(count);
            Ok::<(), TraceError>(())
        })?;
        if let Some(space) = space {
            all.pages = all.pages.min(space / u64::from(page.sectors()));
        }
        Ok(all)
    }
}

/// Frames of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Capacity {
    /// Page frames; 0 for `none`.
    pub(crate) frames: u32,
    /// Bytes that were set aside for metadata, if they were charged.
    pub(crate) metadata: Option<u64>,
}

impl RunSpec {
    fn metadata_context(&self, demand: Demand) -> MetadataContext {
        let chips = |d: &std::sync::Arc<DeviceConfig>| d.layout().chips().into();
        MetadataContext {
            frames: 0,
            page: self.page,
            chips: self.device.as_ref().map_or(1, chips),
            pages: demand.pages,
            extents: demand.extents,
            shares: false,
            batches: false,
        }
    }

    /// The most metadata that the scheme can need for `frames` pages of the whole device; `None`: it has no bound.
    pub(crate) fn metadata_bytes(&self, frames: u64) -> Option<u64> {
        let pages = self.device.as_ref().map_or(0, |d| d.logical_pages());
        let context = MetadataContext {
            frames,
            ..self.metadata_context(Demand { pages, extents: 1 })
        };
        Some(self.expr.metadata(&context)?.bytes(frames))
    }

    /// Page frames: floor(cache / page); 0 for `none`. With `charge_metadata` as many as fit
    /// together with the most metadata that the scheme can need for them on a trace that asks for
    /// `demand`.
    ///
    /// # Errors
    /// No page fits, or more than 2^32 - 2; the metadata has no bound.
    pub(crate) fn capacity_for(&self, demand: Demand) -> Result<Capacity, RunError> {
        let charged = self.charge_metadata;
        if !self.is_cached() {
            return Ok(Capacity {
                frames: 0,
                metadata: charged.then_some(0),
            });
        }
        let (cache, page) = (self.cache, self.page.bytes());
        let context = self.metadata_context(demand);
        let (frames, metadata) = if charged {
            let fit = charged_frames(&self.expr, cache.0, &context);
            let (frames, bytes) = fit.ok_or_else(|| RunError::UnboundedMetadata {
                expr: self.expr.to_string(),
            })?;
            (frames, Some(bytes))
        } else {
            (cache.0 / page, None)
        };
        if frames == 0 && metadata.is_some() && cache.0 >= page {
            let one = MetadataContext {
                frames: 1,
                ..context
            };
            let needs = self.expr.metadata(&one).map_or(0, |bound| bound.bytes(1));
            return Err(RunError::NoPageBesideMetadata {
                cache,
                expr: self.expr.to_string(),
                metadata: needs,
                least: needs.saturating_add(page),
            });
        }
        match (frames, u32::try_from(frames)) {
            (0, _) => Err(RunError::NoPage { cache, page }),
            (_, Ok(frames)) if frames < u32::MAX => Ok(Capacity { frames, metadata }),
            _ => Err(RunError::TooManyPages { cache, page }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_scheme::Expr;
    use destage_trace::Trace;
    use destage_types::{ByteSize, Extent, HostRequest, Nanos, Op, RequestBatch};

    fn spec(expr: &str, cache: u64) -> RunSpec {
        let expr = Expr::parse(expr).expect("a legal expression");
        RunSpec {
            charge_metadata: true,
            ..RunSpec::cache_only(expr, ByteSize(cache))
        }
    }

    #[test]
    fn metadata_takes_frames_only_if_it_is_charged() {
        let mut run = spec("lru", 1 << 20);
        let charged = run.capacity_for(Demand::LEAST).unwrap();
        assert_eq!((charged.frames, charged.metadata), (255, Some(255 * 12)));
        run.charge_metadata = false;
        let plain = run.capacity_for(Demand::LEAST).unwrap();
        assert_eq!((plain.frames, plain.metadata), (256, None));
        let none = spec("none", 0).capacity_for(Demand::LEAST).unwrap();
        assert_eq!((none.frames, none.metadata), (0, Some(0)));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let message = |expr: &str, cache| {
            let refused = spec(expr, cache).capacity_for(Demand::LEAST).unwrap_err();
            refused.to_string()
        };
        assert_eq!(
            message("lru", 4096),
            "a cache of 4KiB has no room for a page beside the metadata that lru needs for one, 12 \
             bytes: it takes at least 4108 bytes"
        );
        assert_eq!(
            message("prober(lru)", 48 << 10),
            "a cache of 48KiB has no room for a page beside the metadata that prober(lru) needs for \
             one, 48012 bytes: it takes at least 52108 bytes"
        );
        assert!(message("lru", 4095).contains("holds no page of 4096 bytes"));
        assert!(message("lirs(max-nonres=inf)", 1 << 20).contains("without bound"));
    }

    #[test]
    fn the_demand_of_a_trace() {
        let mut batch = RequestBatch::new();
        let write = |start| HostRequest::new(Nanos(0), Op::Write, start, 8);
        batch.push(write(7));
        let more = [800, 396].map(|start| Extent::new(start, 8));
        batch.push_with(write(80), &more, &[]);
        batch.push(HostRequest::new(Nanos(0), Op::Flush, 0, 0));
        let trace = Trace::generated("t", batch);
        let of = |space| Demand::of((&trace).into(), PageSize::KIB4, space).unwrap();
        let demand = |pages, extents| Demand { pages, extents };
        assert_eq!(of(None), demand(101, 3));
        // The extent that crosses the end becomes two, and so may the one beyond it.
        assert_eq!(of(Some(400)), demand(50, 5));
    }
}
