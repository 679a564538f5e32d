//! Makes the scene of a window from the recorded changes and the timeline of the device.

use super::WatchWindow;
use super::recorder::SeenWindow;
use crate::RunError;
use crate::cache::{pages_of, wrap_extents};
use crate::run::spec::RunSpec;
use destage_record::scene::{
    FORMAT, Scene, SceneEnd, SceneEvent, SceneFigures, SceneGeometry, SceneOperation, SceneRequest,
    SceneRun, SceneStart,
};
use destage_record::timeline::TimelineOperation;
use destage_record::{Completion, Timeline};
use destage_trace::Workload;
use destage_types::{Extent, Lpn, Nanos, OpKind};
use std::collections::BTreeMap;

/// Data of a window: the changes, the timeline and the geometry.
pub(super) struct Watched {
    pub window: WatchWindow,
    pub seen: SeenWindow,
    pub timeline: Timeline,
    /// Of the device.
    pub geometry: SceneGeometry,
}

/// The scene of a run of `spec` over `workload`.
pub(super) fn scene_of(
    watched: Watched,
    spec: &RunSpec,
    workload: Workload<'_>,
) -> Result<Scene, RunError> {
    let Watched {
        window: WatchWindow { from, to },
        seen,
        mut timeline,
        geometry,
    } = watched;
    // Events of one time stand in the order of requests.
    timeline
        .requests
        .sort_unstable_by_key(|done| (done.arrival, done.index));
    let to = to.min(end_of(&timeline).max(from));
    let (requests, response_sum) = timeline.before;
    let mut so_far = [requests, requests].map(|requests| SceneFigures {
        requests,
        response_sum,
        ..SceneFigures::default()
    });
    for (figures, counts) in so_far.iter_mut().zip(seen.counts) {
        figures.counts = counts;
    }
    let [begin, mut end] = so_far;
    let mut start = SceneStart {
        lists: seen.lists,
        blocks: seen.blocks,
        open: seen.open,
        so_far: begin,
        ..SceneStart::default()
    };
    let mut events = seen.events;
    // The start of a write-back before the window may be told in it, and one after it may be known already.
    events.retain(|event| (from.0..to.0).contains(&event.at().0));
    let sent = requests_of(&timeline.requests, spec, workload)?;
    for done in &timeline.requests {
        let request = sent[&done.index];
        if done.arrival >= from {
            events.push(SceneEvent::Request(request));
        } else {
            start.flying.push(request);
        }
        if done.complete < to {
            let response = (done.complete - done.arrival).0;
            if done.timed {
                end.requests += 1;
                end.response_sum += response;
            }
            events.push(SceneEvent::Done {
                at: done.complete.0,
                id: done.index,
                response,
                pages: done.pages,
                hits: done.hits,
                timed: u8::from(done.timed),
            });
        }
    }
    let mut waiting = Vec::new();
    for operation in &timeline.operations {
        let row = operation_of(operation);
        // An operation that was taken back did nothing.
        if operation.taken_back {
            continue;
        }
        match row.begin {
            begin if begin < from.0 => start.busy.push(row),
            begin if begin < to.0 => events.push(SceneEvent::Operation(row)),
            _ => waiting.push(row),
        }
    }
    waiting.sort_by_key(|row| (row.begin, row.die));
    start
        .flying
        .sort_unstable_by_key(|request| (request.at, request.id));
    start.busy.sort_by_key(|row| (row.begin, row.die));
    events.sort_by_key(|event| (event.at(), event.rank()));
    let device = spec.device.as_ref();
    Ok(Scene {
        format: FORMAT,
        scheme: spec.expr.to_string(),
        device: device.map(|device| device.name.clone()).unwrap_or_default(),
        trace: workload.meta.name.clone(),
        geometry: SceneGeometry {
            mapping_bytes: device.map_or(spec.page.bytes(), |device| device.mapping().bytes()),
            page_bytes: spec.page.bytes(),
            ..geometry
        },
        from: from.0,
        to: to.0,
        start,
        events,
        end: SceneEnd {
            so_far: end,
            waiting,
        },
        run: SceneRun::default(),
    })
}

/// When all is over.
fn end_of(timeline: &Timeline) -> Nanos {
    let requests = timeline.requests.iter().map(|done| done.complete);
    let operations = timeline.operations.iter().map(|op| op.activity.end);
    let last = requests.chain(operations).max().unwrap_or_default();
    Nanos(last.max(timeline.to).0.saturating_add(1))
}

/// The requests that `done` names, by their numbers in the trace.
fn requests_of(
    done: &[Completion],
    spec: &RunSpec,
    workload: Workload<'_>,
) -> Result<BTreeMap<u64, SceneRequest>, RunError> {
    let space = crate::run::space(spec);
    let mut wanted: BTreeMap<u64, SceneRequest> = BTreeMap::new();
    for done in done {
        let request = SceneRequest {
            id: done.index,
            at: done.arrival.0,
            op: done.op,
            page: Lpn(0),
            pages: done.pages,
        };
        wanted.insert(done.index, request);
    }
    workload.try_each(|index, request| {
        if let Some(row) = wanted.get_mut(&index) {
            let mut extents: Vec<Extent> = request.extents().collect();
            if let Some(space) = space {
                wrap_extents(&mut extents, space);
            }
            if let Some(first) = extents.first() {
                row.page = spec.page.page_of(first.start_sector);
                row.pages = pages_of(&extents, spec.page);
            }
        }
        Ok::<(), RunError>(())
    })?;
    Ok(wanted)
}

fn operation_of(operation: &TimelineOperation) -> SceneOperation {
    let activity = &operation.activity;
    let gaps = activity.phases.windows(2);
    let gaps = gaps.map(|pair| [pair[0].to.0, pair[1].from.0]);
    SceneOperation {
        begin: activity.start.0,
        end: activity.end.0,
        die: activity.chip.0,
        kind: match activity.kind {
            OpKind::Read => "read",
            OpKind::Program => "program",
            OpKind::Erase => "erase",
            OpKind::Copyback => "copyback",
        },
        cause: operation.purpose,
        units: operation.pages,
        suspended: gaps.filter(|gap| gap[0] < gap[1]).collect(),
        queued: operation.queued.0,
        request: operation.request,
        page: operation.page,
    }
}
