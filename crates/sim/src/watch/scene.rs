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
    let [begin, end] = seen.counts.map(|counts| SceneFigures {
        counts,
        requests,
        response_sum,
    });
    let device = spec.device.as_ref();
    let mut scene = Scene {
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
        start: SceneStart {
            lists: seen.lists,
            blocks: seen.blocks,
            open: seen.open,
            so_far: begin,
            ..SceneStart::default()
        },
        events: seen.events,
        end: SceneEnd {
            so_far: end,
            waiting: Vec::new(),
        },
        run: SceneRun::default(),
    };
    // The start of a write-back before the window may be told in it, and one after it may be known already.
    let events = &mut scene.events;
    events.retain(|event| (from.0..to.0).contains(&event.at().0));
    let sent = requests_of(&timeline.requests, spec, workload)?;
    add_requests(&mut scene, &timeline.requests, &sent);
    add_operations(&mut scene, &timeline.operations);
    let events = &mut scene.events;
    events.sort_by_key(|event| (event.at(), event.rank()));
    Ok(scene)
}

/// Adds requests as events, or as under way at the start, and those that end to the figures of the end.
fn add_requests(scene: &mut Scene, all: &[Completion], sent: &BTreeMap<u64, SceneRequest>) {
    for done in all {
        let request = sent[&done.index];
        match done.arrival.0 >= scene.from {
            true => scene.events.push(SceneEvent::Request(request)),
            false => scene.start.flying.push(request),
        }
        if done.complete.0 >= scene.to {
            continue;
        }
        let response = (done.complete - done.arrival).0;
        if done.timed {
            scene.end.so_far.requests += 1;
            scene.end.so_far.response_sum += response;
        }
        scene.events.push(SceneEvent::Done {
            at: done.complete.0,
            id: done.index,
            response,
            pages: done.pages,
            hits: done.hits,
            timed: u8::from(done.timed),
        });
    }
    let flying = &mut scene.start.flying;
    flying.sort_unstable_by_key(|request| (request.at, request.id));
}

/// Adds operations as events, or as running at the start or waiting at the end. One that was taken back did nothing.
fn add_operations(scene: &mut Scene, all: &[TimelineOperation]) {
    for operation in all.iter().filter(|operation| !operation.taken_back) {
        let row = operation_of(operation);
        match row.begin {
            begin if begin < scene.from => scene.start.busy.push(row),
            begin if begin < scene.to => scene.events.push(SceneEvent::Operation(row)),
            _ => scene.end.waiting.push(row),
        }
    }
    for rows in [&mut scene.start.busy, &mut scene.end.waiting] {
        rows.sort_by_key(|row| (row.begin, row.die));
    }
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
