//! Reading some requests of a trace: those of some kinds, or of one volume.

use destage_types::{HostRequest, RequestBatch};

use crate::error::TraceError;
use crate::readers::{ReadCounts, ReaderFacts, TraceReader};
use crate::sink::LISTS;
use crate::tags::TagSet;
use crate::volume::{Picker, VolumeOrigin, VolumeRow, VolumeTable};

/// Volumes that a message names.
const NAMED: usize = 20;

/// The requests that are handed out.
pub(crate) enum Wanted {
    Tags(TagSet),
    /// Those of the volume that the trace calls so.
    Volume {
        file: String,
        name: String,
        /// The streams that have come up, and the one of the volume.
        known: VolumeTable,
        stream: Option<u32>,
    },
}

impl Wanted {
    fn has(&self, request: &HostRequest) -> bool {
        match self {
            Wanted::Tags(tags) => tags.has(request.op, request.tag),
            Wanted::Volume { stream, .. } => *stream == Some(request.stream),
        }
    }
}

/// Hands out those requests of another reader that are wanted; the first of them arrives at 0.
pub(crate) struct SelectedRequests {
    reader: Box<dyn TraceReader>,
    wanted: Wanted,
    /// Does the format have times?
    timed: bool,
    picker: Picker,
    scratch: RequestBatch,
}

impl SelectedRequests {
    pub fn new(reader: Box<dyn TraceReader>, timed: bool, wanted: Wanted) -> Box<SelectedRequests> {
        Box::new(SelectedRequests {
            reader,
            wanted,
            timed,
            picker: Picker::default(),
            scratch: RequestBatch::new(),
        })
    }

    /// Looks for the volume among the streams of the requests that were read last.
    fn find(&mut self, ended: bool) -> Result<(), TraceError> {
        let Wanted::Volume {
            file,
            name,
            known,
            stream,
        } = &mut self.wanted
        else {
            return Ok(());
        };
        let (facts, before) = (self.reader.facts(), known.rows.len());
        let counted = known.add(&self.scratch, 0);
        counted.map_err(|why| TraceError::stack(file, why))?;
        let name_of = |row: &VolumeRow| match facts.volume(row.stream) {
            Some(volume) => volume.name,
            None => row.stream.to_string(),
        };
        let mut new = known.rows[before..].iter();
        let found = new.find(|row| name_of(row) == *name);
        *stream = stream.or(found.map(|row| row.stream));
        if !ended || stream.is_some() || known.rows.is_empty() {
            return Ok(());
        }
        let names = known.rows.iter().take(NAMED).map(name_of);
        let more = (known.rows.len() > NAMED).then(|| "...".to_owned());
        Err(TraceError::NoVolume {
            file: file.clone(),
            wanted: name.clone(),
            known: names.chain(more).collect::<Vec<_>>().join(", "),
        })
    }
}

impl TraceReader for SelectedRequests {
    fn next_batch(&mut self, out: &mut RequestBatch, max: usize) -> Result<usize, TraceError> {
        let before = out.len();
        let lists = out.side_memory() + LISTS;
        while out.len() - before < max && out.side_memory() <= lists {
            self.scratch.clear();
            let room = max - (out.len() - before);
            let read = self.reader.next_batch(&mut self.scratch, room);
            self.find(matches!(read, Ok(0)))?;
            let timed = self.timed && self.reader.facts().timed();
            let origin = VolumeOrigin { timed, start: 0 };
            for i in 0..self.scratch.len() {
                if self.wanted.has(&self.scratch.records()[i]) {
                    self.picker.keep(&self.scratch, i, origin, out);
                }
            }
            if read? == 0 {
                break;
            }
        }
        Ok(out.len() - before)
    }

    fn counts(&self) -> &ReadCounts {
        self.reader.counts()
    }

    fn facts(&self) -> &dyn ReaderFacts {
        self.reader.facts()
    }
}
