//! Events, operations, and requests as arrays.

use super::{SceneEvent, SceneOperation, SceneRequest};
use destage_types::{Lpn, Op};
use serde::ser::{Serialize, SerializeSeq, Serializer};

/// Writes the elements of one array.
macro_rules! array {
    ($serializer:expr, $($element:expr),+ $(,)?) => {{
        let mut row = $serializer.serialize_seq(None)?;
        $(row.serialize_element($element)?;)+
        row.end()
    }};
}

impl Serialize for SceneRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let SceneRequest {
            id,
            at,
            page,
            pages,
            ..
        } = self;
        array!(serializer, id, at, self.letter(), &page.0, pages)
    }
}

impl Serialize for SceneOperation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_seq(None)?;
        self.elements(&mut row)?;
        row.end()
    }
}

impl SceneOperation {
    fn elements<S: SerializeSeq>(&self, row: &mut S) -> Result<(), S::Error> {
        row.serialize_element(&self.begin)?;
        row.serialize_element(&self.end)?;
        row.serialize_element(&self.die)?;
        row.serialize_element(self.kind)?;
        row.serialize_element(self.cause)?;
        row.serialize_element(&self.units)?;
        row.serialize_element(&self.suspended)?;
        row.serialize_element(&self.queued)?;
        row.serialize_element(&self.request)?;
        row.serialize_element(&self.page.map(|page| page.0))
    }
}

impl Serialize for SceneEvent {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let numbers = |pages: &[Lpn]| pages.iter().map(|page| page.0).collect::<Vec<u64>>();
        match self {
            SceneEvent::Request(r) => {
                array!(s, "request", &r.at, &r.id, r.letter(), &r.page.0, &r.pages)
            }
            SceneEvent::Done {
                at,
                id,
                response,
                pages,
                hits,
                timed,
            } => array!(s, "done", at, id, response, pages, hits, timed),
            SceneEvent::Evict { at, pages } => array!(s, "evict", at, pages, "demand"),
            SceneEvent::WriteBack { at, page, step } => {
                array!(s, "write-back", at, &page.0, step)
            }
            SceneEvent::Bypass { at, page } => array!(s, "bypass", at, &page.0),
            SceneEvent::Discard { at, pages } => array!(s, "discard", at, &numbers(pages)),
            SceneEvent::Rename { at, from, to } => array!(s, "rename", at, &from.0, &to.0),
            SceneEvent::List { at, list, name } => array!(s, "list", at, list, name),
            SceneEvent::Splice {
                at,
                list,
                start,
                removed,
                pages,
            } => {
                array!(s, "splice", at, list, start, removed, pages)
            }
            SceneEvent::Blocks { at, blocks } => array!(s, "blocks", at, blocks),
            SceneEvent::Open { at, blocks } => array!(s, "open", at, blocks),
            SceneEvent::Counts { at, counts: c } => array!(
                s,
                "counts",
                at,
                &c.page_hits,
                &c.page_misses,
                &c.flash_writes,
                &c.erases
            ),
            SceneEvent::Operation(operation) => {
                let mut row = s.serialize_seq(None)?;
                row.serialize_element("op")?;
                operation.elements(&mut row)?;
                row.end()
            }
        }
    }
}

impl SceneRequest {
    fn letter(&self) -> &'static str {
        match self.op {
            Op::Read => "R",
            Op::Write => "W",
            Op::Trim => "T",
            Op::Flush => "F",
        }
    }
}
