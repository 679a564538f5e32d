//! The message about a file that no format fits: its kind, or the nearest format.

use super::{FORMATS, FormatInfo, LoadOptions, Sample, shape};
use crate::bytes::input::Input;
use crate::bytes::source::Source;
use crate::error::{BadLine, NearestFormat, TraceError};
use crate::mapping::Mapping;
use crate::mapping::guess::{self, GuessedTable};
use crate::mapping::lines::has_names;
use destage_types::RequestBatch;

/// The kind of files with these first bytes, and how to make a trace of them.
#[rustfmt::skip]
const FOREIGN: &[(&[u8], &str, &str)] = &[
    (b"\x07tae", BLKTRACE, BLKPARSE),
    (b"eat\x07", BLKTRACE, BLKPARSE),
    (b"PERFILE2", "binary perf data", "`perf script -i FILE` writes the text that is read"),
    (
        b"\x17\x08Dtracing",
        "binary trace-cmd data",
        "`trace-cmd report FILE` writes text, which `destage trace import-ftrace` reads",
    ),
    #[cfg(target_family = "wasm")]
    (b"PAR1", "Parquet file", "`destage trace convert` makes a trace of it that a page reads"),
    (b"version https://git-lfs", "pointer of git LFS", "`git lfs pull` fetches the file"),
    (
        b"\x93NUMPY",
        "numpy array",
        "write Parquet, such as by pandas.DataFrame(array, columns=[...]).to_parquet(FILE)",
    ),
    (b"ARROW1", FEATHER, FEATHER_TO_PARQUET),
    (b"FEA1", FEATHER, FEATHER_TO_PARQUET),
    (b"\x89HDF\r\n", "HDF5 file", "write Parquet, such as by pandas.read_hdf(FILE).to_parquet(OUT)"),
    (b"SQLite format 3", "SQLite database", "write the table as CSV or Parquet"),
    (b"Obj\x01", "Avro file", "write Parquet"),
    (b"ORC", "ORC file", "write Parquet"),
    (b"\x80\x04\x95", PICKLE, PICKLE_TO_PARQUET),
    (b"\x80\x05\x95", PICKLE, PICKLE_TO_PARQUET),
    (
        b"fio version 1",
        "fio I/O log, version 1",
        "--trace-columns op=1:0=R,1=W,offset=2,size=3,skip=1 reads its lines of kind, offset and length",
    ),
    (b"%PDF", "PDF file", "it is no trace"),
    (b"<?xml", XML, NO_TRACE),
    (b"<Execution_Parameter", XML, NO_TRACE),
    (b"<!DOCTYPE", WEB_PAGE, DOWNLOAD),
    (b"<!doctype", WEB_PAGE, DOWNLOAD),
    (b"<html", WEB_PAGE, DOWNLOAD),
];
const BLKTRACE: &str = "binary blktrace";
const BLKPARSE: &str = "`blkparse -i FILE` writes the text that is read";
const FEATHER: &str = "Arrow (Feather) file";
const FEATHER_TO_PARQUET: &str =
    "write Parquet, such as by pandas.read_feather(FILE).to_parquet(OUT)";
const PICKLE: &str = "Python pickle";
const PICKLE_TO_PARQUET: &str =
    "write Parquet, such as by pandas.read_pickle(FILE).to_parquet(OUT)";
const XML: &str = "XML file";
const NO_TRACE: &str = "it is no trace; of MQSim, give the trace that its workload names; `destage presets` lists devices";
const WRITE_IOLOG: &str = "`write_iolog=FILE` makes fio write the log that is read";
const WEB_PAGE: &str = "web page";
const DOWNLOAD: &str = "the download gave a page instead of the trace, perhaps a form or a login";

/// Words of the kernel's event text, which has a command of its own.
const KERNEL_EVENTS: [&[u8]; 3] = [b": block_", b": f2fs_", b": ext4_"];

/// Text in two bytes a character, as PowerShell writes it.
///
/// # Errors
/// The text is that.
pub(crate) fn refuse_utf16(input: &Input) -> Result<(), TraceError> {
    let bytes = input.window();
    let marked = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    let pairs: Vec<&[u8]> = bytes.chunks_exact(2).take(32).collect();
    let ascii = |at: usize| pairs.iter().all(|p| p[at] != 0 && p[1 - at] == 0);
    let unmarked = pairs.len() > 3 && (ascii(0) || ascii(1));
    if marked || unmarked {
        Err(TraceError::Foreign {
            file: input.file().to_owned(),
            what: "UTF-16 text",
            advice: "write it as UTF-8, such as by `iconv -f UTF-16 -t UTF-8 FILE`",
        })
    } else {
        Ok(())
    }
}

/// The error about a trace whose first bytes are those of another program.
pub(super) fn foreign(file: &str, sample: &Sample<'_>) -> Option<TraceError> {
    let starts = |row: &&(&[u8], &str, &str)| sample.text().starts_with(row.0);
    let &(_, what, advice) = FOREIGN.iter().find(starts)?;
    let file = file.to_owned();
    Some(TraceError::Foreign { file, what, advice })
}

/// What is said of any table.
pub(super) const ADVICE: &str = "--trace-columns time=1,op=2,offset=3,size=4 says which columns of any table hold what, op==R that all are reads, \
     end=4 or last=4 where requests end";

/// The mapping that may read a table: one whose kinds are numbers, or what its names lack.
pub(super) fn advice(table: Option<GuessedTable>, lines: &[&[u8]]) -> Option<String> {
    if let Some(table) = table {
        return Some(format!(
            "--trace-columns '{}' reads it if 1 means read; '0=R,1=W' says the other way round",
            table.mapping
        ));
    }
    let missing = guess::complete(&Mapping::default(), None, lines);
    let named = lines.len() > 1 && has_names(lines);
    let missing = missing.err().filter(|_| named)?;
    Some(format!("as a table, {missing} (--trace-columns)"))
}

/// The error about text of other programs, which no format fits.
pub(super) fn foreign_text(file: &str, sample: &Sample<'_>) -> Option<TraceError> {
    let first = sample.first().trim_ascii();
    let holds = |line: &[u8], word: &[u8]| memchr::memmem::find(line, word).is_some();
    let lines = &sample.lines[..sample.lines.len().min(100)];
    let has = |word: &[u8]| lines.iter().any(|line| holds(line, word));
    let setting = lines.get(1).is_some_and(|line| holds(line, b"="));
    let (what, advice) = match first {
        [b'[', .., b']'] if setting => ("job file of fio, or settings", WRITE_IOLOG),
        [b'{' | b'[', ..] if has(b"\"fio version\"") => ("results of fio as JSON", WRITE_IOLOG),
        [b'{'] | [b'['] | [b'[', b'{', ..] => (
            "JSON file",
            "a JSON object a line is read: `jq -c '.[]' FILE` writes a list so",
        ),
        _ if let Some(row) = STATISTICS.iter().find(|row| has(row.0)) => (row.1, row.2),
        _ if sample.most(is_block_cache) => (
            "block-cache trace of RocksDB",
            "--trace-columns time=1:us,op==R,offset=2:blocks,size==4096 takes its blocks for blocks of 4 KiB",
        ),
        _ if sample.most(is_kernel_event) => (
            "text of kernel events (ftrace)",
            "`destage trace import-ftrace FILE -o OUT.csv` reads it",
        ),
        _ => return None,
    };
    let file = file.to_owned();
    Some(TraceError::Foreign { file, what, advice })
}

/// Text that says what a file of other programs is, and how to make a trace.
#[rustfmt::skip]
const STATISTICS: [(&[u8], &str, &str); 8] = [
    (b": count ", "histogram of a bpf tool", NO_ADDRESSES),
    (b" LAT(ms)", "table of a bpf tool", NO_ADDRESSES),
    (b"rkB/s", "statistics of iostat", NO_ADDRESSES),
    (b" All Devices ", "statistics of btt", "blkparse writes the events, which are read"),
    (b"feedcafedeadbeef", "trace of RocksDB", "block_cache_trace_analyzer writes it as text"),
    (b" IOPS  ", "results of bdevperf", "`spdk_trace` writes the events BDEV_IO_START, which are read"),
    (b" clat ", "results of fio", WRITE_IOLOG),
    (b"write(", "text of strace", "of system calls, pread64 and pwrite64 tell where the data are; they are read"),
];
const NO_ADDRESSES: &str =
    "it tells no addresses of requests; biosnoop of bcc, or blktrace, records them";

/// Time in us, number, type and size of a block, number and name of a column family, and more.
fn is_block_cache(line: &[u8]) -> bool {
    let fields: Vec<&[u8]> = line.split(|b| *b == b',').collect();
    let number = |at: usize| !fields[at].is_empty() && fields[at].iter().all(u8::is_ascii_digit);
    fields.len() > 12 && fields[0].len() == 16 && (0..5).all(number) && !number(5)
}

fn is_kernel_event(line: &[u8]) -> bool {
    let has = |word: &[u8]| memchr::memmem::find(line, word).is_some();
    KERNEL_EVENTS.iter().any(|word| has(word))
}

/// Bytes and lines that the nearest format is told by.
const BYTES: usize = 64 << 10;
const LINES: usize = 50;

/// The format that reads most columns of the first lines, and the line at which it fails.
pub(super) fn nearest(file: &str, window: &[u8]) -> Option<NearestFormat> {
    let text = &window[..window.len().min(BYTES)];
    let ends = memchr::memchr_iter(b'\n', text);
    let text = ends.take(LINES).last().map_or(text, |end| &text[..=end]);
    let mut best: Option<(f64, NearestFormat)> = None;
    let sample = Sample::new(text, true);
    let may_be = |f: &&&FormatInfo| {
        // A list of numbers would be near to all lines that begin with one.
        let several = f.columns.len() > 1 || shape::fits(f, sample.first());
        several && f.separator.is_text() && f.only.is_none_or(|only| only.holds(f, &sample))
    };
    for format in FORMATS.iter().filter(may_be) {
        let Some((share, bad)) = first_fault(format, file, text) else {
            continue;
        };
        if share > best.as_ref().map_or(0.0, |best| best.0) {
            let format = format.name;
            best = Some((share, NearestFormat { format, bad }));
        }
    }
    best.map(|(_, nearest)| nearest)
}

/// The share of the columns that `format` reads before it fails for the first time; all of them if
/// it reads other lines.
fn first_fault(format: &'static FormatInfo, file: &str, text: &[u8]) -> Option<(f64, BadLine)> {
    let raw = Source::bytes(file, text.to_vec()).start(false).ok()?;
    let input = Input::open(raw, file.to_owned()).ok()?;
    let options = LoadOptions {
        skip_bad_lines: true,
        ..LoadOptions::default()
    };
    let mut reader = (format.open)(format, input, options);
    let mut batch = RequestBatch::new();
    while reader.next_batch(&mut batch, LINES).ok()? > 0 {}
    let read = |bad: &BadLine| bad.column.map_or(0, |column| column.0 - 1);
    let bad = reader.counts().skipped_samples.iter();
    // The first of those that come furthest.
    let bad = bad.rev().max_by_key(|bad| read(bad))?;
    let share = match batch.len() {
        // One column too many is a fault of a column as well.
        0 => read(bad) as f64 / format.columns.len().max(read(bad) + 1) as f64,
        _ => 1.0,
    };
    Some((share, bad.clone()))
}
