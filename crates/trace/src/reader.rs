//! Reading batch by batch: limits, counts, and where the addresses of volumes go.

use std::path::PathBuf;

use destage_types::RequestBatch;

use crate::Container;
use crate::bytes::input::Input;
use crate::bytes::source::{Raw, Source};
use crate::error::TraceError;
use crate::filter::{SelectedRequests, Wanted};
use crate::load::TraceMeta;
use crate::mapping::{Mapping, named};
use crate::options::LoadOptions;
use crate::readers::{self, FormatInfo, ReadCounts, Reading, TraceReader, plausible};
use crate::volume::{Volume, VolumeTable, Volumes};

/// Requests per batch: 256 KiB, which a second-level cache holds.
const BATCH: usize = 8_192;

/// How the addresses of streams become those of the device.
enum Place {
    /// As they are.
    Same,
    /// Stacked once all requests are read.
    Later,
    /// Stacked, with ranges that a second pass over the file tells when they are needed.
    Stack {
        again: Option<PathBuf>,
        all: Option<VolumeTable>,
    },
}

/// Reads a trace batch by batch, in bounded memory.
pub struct Reader {
    reader: Box<dyn TraceReader>,
    raw: Raw,
    reading: Reading,
    container: Container,
    file: String,
    name: String,
    options: LoadOptions,
    place: Place,
    table: VolumeTable,
    /// Requests handed out.
    requests: u64,
    /// Have the first requests been looked at?
    looked: bool,
}

/// A trace of which the first bytes are there.
pub(crate) struct OpenedTrace {
    raw: Raw,
    pub input: Input,
    /// The format that somebody names.
    pub format: Option<&'static FormatInfo>,
    pub options: LoadOptions,
}

impl OpenedTrace {
    pub fn open(source: Source, options: &LoadOptions) -> Result<OpenedTrace, TraceError> {
        let file = source.file();
        let named = options.format.as_deref().map(named::by_name).transpose()?;
        let (format, mapping) = named.unzip();
        if options.limit == Some(0) {
            let reason = "a limit of 0 requests leaves nothing of it".into();
            return Err(TraceError::Empty { file, reason });
        }
        let raw = source.start(options.hash)?;
        let input = Input::open(raw.clone(), file)?;
        Ok(OpenedTrace {
            raw,
            input,
            format,
            options: LoadOptions {
                columns: options.columns.clone().or(mapping.flatten()),
                ..options.clone()
            },
        })
    }
}

/// Opens a trace and tells its compression and format.
///
/// # Errors
/// The file cannot be read, is empty, fits no format or several, or the name of the format is
/// unknown.
pub fn open(source: Source, options: &LoadOptions) -> Result<Reader, TraceError> {
    let (file, name) = (source.file(), source.trace_name());
    // A pipe has a path, too, but gives its bytes only once.
    let path = match &source {
        Source::Path(path) => Some(path.clone()),
        _ => None,
    };
    let opened = OpenedTrace::open(source, options)?;
    let (raw, mut input, mut read) = (opened.raw, opened.input, opened.options);
    let reading = readers::settle(opened.format, &read, &mut input)?;
    let format = reading.format;
    if format.separator.is_text() {
        readers::refuse_utf16(&input)?;
    }
    if options.time_unit.is_some() && !format.takes_time_unit() {
        let format = format.name;
        return Err(TraceError::TimeUnit { file, format });
    }
    if read.columns.is_some() && !format.takes_mapping() {
        let format = format.name;
        return Err(TraceError::Columns { file, format });
    }
    let container = input.container();
    let again = path.filter(|_| raw.progress().1.is_some());
    let place = match &options.volumes {
        Volumes::Stack if format.volumes => Place::Stack { again, all: None },
        _ => Place::Same,
    };
    read.time_unit = reading.time_unit;
    read.columns = reading.mapping.clone().or(read.columns);
    let mut reader = (format.open)(format, input, read);
    if let Some(tags) = options.tags {
        reader = SelectedRequests::new(reader, format.timed, Wanted::Tags(tags));
    }
    if let Volumes::Only(name) = &options.volumes {
        let wanted = Wanted::Volume {
            file: file.clone(),
            name: name.clone(),
            known: VolumeTable::default(),
            stream: None,
        };
        reader = SelectedRequests::new(reader, format.timed, wanted);
    }
    Ok(Reader {
        reader,
        raw,
        reading,
        container,
        file,
        name,
        options: options.clone(),
        place,
        table: VolumeTable::default(),
        requests: 0,
        looked: false,
    })
}

impl Reader {
    /// Appends the next requests to `out`, at most 8192, and returns their number; 0 at the end.
    /// The caller clears `out` when it is done with the requests in it.
    ///
    /// # Errors
    /// A bad line, a damaged file, an error of the system, a trace without a single request, or
    /// volumes that cannot be stacked. After an error the trace is at its end.
    pub fn next_batch(&mut self, out: &mut RequestBatch) -> Result<usize, TraceError> {
        let left = self.options.limit.unwrap_or(u64::MAX) - self.requests;
        let max = usize::try_from(left).unwrap_or(BATCH).min(BATCH);
        let before = out.len();
        let read = self.reader.next_batch(out, max);
        self.requests += (out.len() - before) as u64;
        if !std::mem::replace(&mut self.looked, true) {
            let doubt = || plausible::doubt_requests(self.reading.format, &out.records()[before..]);
            let own = &mut self.reading.doubts.format;
            *own = own.take().or_else(doubt);
        }
        if let Err(error) = self.settle(out, before) {
            out.truncate(before);
            return Err(error);
        }
        if read? == 0 && self.requests == 0 {
            return Err(self.nothing());
        }
        Ok(out.len() - before)
    }

    /// Counts the streams of the requests behind `before` and puts them where they belong.
    fn settle(&mut self, out: &mut RequestBatch, before: usize) -> Result<(), TraceError> {
        let file = &self.file;
        let refused = |reason| TraceError::stack(file, reason);
        if let Place::Stack { all: Some(all), .. } = &self.place {
            // The second pass has counted everything.
            let moved = all.apply(&mut out.records_mut()[before..]);
            return moved.map_err(refused);
        }
        self.table.add(out, before).map_err(refused)?;
        if !self.reading.format.volumes {
            self.table.add_more(out, before);
        }
        let Place::Stack { again, all } = &mut self.place else {
            return Ok(());
        };
        if self.table.rows.len() < 2 {
            return Ok(()); // The first volume stays where it is.
        }
        let reason = "their sizes are known at the end only, and this is no file";
        let path = again.take().ok_or_else(|| refused(reason))?;
        let mut table = survey(Source::Path(path), &self.reading, &self.options)?;
        table.place().map_err(refused)?;
        self.table = VolumeTable::default();
        let all = all.insert(table);
        all.apply(&mut out.records_mut()[before..]).map_err(refused)
    }

    fn nothing(&self) -> TraceError {
        let (counts, file) = (self.reader.counts(), self.file.clone());
        if let Some(first) = counts.skipped_samples.first() {
            return TraceError::AllBad {
                file,
                format: self.reading.format.name,
                lines: counts.skipped_lines,
                first: Box::new(first.clone()),
            };
        }
        let chosen = self.options.tags.is_some() && counts.lines > 0;
        let facts = self.reader.facts();
        let reason = match facts.no_request() {
            Some(why) if counts.requests == 0 => why.into(),
            _ if chosen => "no request is of the kinds chosen".into(),
            _ => "it holds no request".into(),
        };
        TraceError::Empty { file, reason }
    }

    /// Leaves the placing of volumes to [`Reader::place_all`].
    pub(crate) fn place_later(&mut self) {
        if matches!(self.place, Place::Stack { .. }) {
            self.place = Place::Later;
        }
    }

    /// Stacks the volumes of a trace that has been read whole.
    pub(crate) fn place_all(&mut self, requests: &mut RequestBatch) -> Result<(), TraceError> {
        let moved = match self.take_places()? {
            None => Ok(()),
            Some(table) => table.apply(requests.records_mut()),
        };
        moved.map_err(|why| TraceError::stack(&self.file, why))
    }

    /// The places of the volumes of a trace that has been read whole; `None` if the requests are
    /// where they belong.
    pub(crate) fn take_places(&mut self) -> Result<Option<VolumeTable>, TraceError> {
        if !matches!(self.place, Place::Later) || self.table.rows.len() < 2 {
            return Ok(None);
        }
        let placed = self.table.place();
        placed.map_err(|why| TraceError::stack(&self.file, why))?;
        Ok(Some(self.table.clone()))
    }

    /// The format the trace is read as.
    pub fn format(&self) -> &'static FormatInfo {
        self.reading.format
    }

    /// Counts of the requests decoded so far, those of other volumes included.
    pub fn counts(&self) -> &ReadCounts {
        self.reader.counts()
    }

    /// Bytes of the file read so far, and its length where that is known.
    pub fn progress(&self) -> (u64, Option<u64>) {
        self.raw.progress()
    }

    /// The streams handed out so far, in order of first appearance.
    pub fn volumes(&self) -> Vec<Volume> {
        let named = |stream| self.reader.facts().volume(stream);
        let table = match &self.place {
            Place::Stack { all: Some(all), .. } => all,
            _ => &self.table,
        };
        table.volumes(named)
    }

    /// Ends reading. The rest of the file is read for the hash only.
    ///
    /// # Errors
    /// The rest of the file cannot be read.
    pub fn finish(self) -> Result<TraceMeta, TraceError> {
        let volumes = self.volumes();
        let counts = self.reader.counts().clone();
        let file = self.file;
        let sha256 = self.raw.finish();
        let sha256 = sha256.map_err(|source| TraceError::Io { file, source })?;
        let (reading, facts) = (self.reading, self.reader.facts());
        let (format, doubts, own) = (reading.format, reading.doubts, facts.doubts());
        let timed = format.timed && facts.timed();
        let mapped = facts.mapping().and_then(Mapping::time_unit);
        let time_unit = reading.time_unit.or(mapped).or(format.time_unit());
        let meta = TraceMeta {
            format: format.name,
            container: self.container,
            timed,
            time_unit: time_unit.filter(|_| timed),
            mapping: facts.mapping().map(Mapping::to_string),
            format_doubt: doubts.format.or(own.format),
            time_doubt: doubts.time.or(own.time),
            sha256,
            notes: facts.notes(),
            ..TraceMeta::generated(&self.name, self.requests, volumes)
        };
        Ok(meta.counted(&counts, self.options.restarts))
    }
}

/// The streams of a whole trace with their highest addresses.
fn survey(
    source: Source,
    reading: &Reading,
    options: &LoadOptions,
) -> Result<VolumeTable, TraceError> {
    let options = LoadOptions {
        format: Some(reading.format.name.to_owned()),
        time_unit: reading.time_unit,
        columns: reading.mapping.clone().or(options.columns.clone()),
        hash: false,
        volumes: Volumes::Overlay,
        ..options.clone()
    };
    let mut reader = open(source, &options)?;
    let mut batch = RequestBatch::new();
    while reader.next_batch(&mut batch)? > 0 {
        batch.clear();
    }
    Ok(reader.table)
}
