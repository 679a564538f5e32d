//! Output of the writers is read again as it was, or refused with the reason.

use std::io::{self, Cursor, Write};
use std::path::Path;

use crate::common::{Writer, arrivals, bin, overlay, read, read_with, refused, said, says, told};
use destage_trace::{
    BinWriter, CompressedWriter, Container, FORMATS, Trace, Volume, write_bin, write_csv,
    write_disksim, write_fio, write_msr, write_oracle_general, write_ssdsim,
};
use destage_types::request::NO_PREV;
use destage_types::{Extent, HostRequest, Nanos, Op, RequestBatch, RequestFlags, Tag};
use proptest::prelude::*;

fn volume(stream: u32, name: &str) -> Volume {
    let (name, requests, end_sector, start_sector) = (name.to_owned(), 0, 0, 0);
    Volume {
        stream,
        name,
        requests,
        end_sector,
        start_sector,
    }
}

fn request(ns: u64, op: Op, start: u64, sectors: u32) -> HostRequest {
    HostRequest::new(Nanos(ns), op, start, sectors)
}

fn batch(requests: impl IntoIterator<Item = HostRequest>) -> RequestBatch {
    let mut batch = RequestBatch::new();
    requests.into_iter().for_each(|request| batch.push(request));
    batch
}

/// Requests with `arrivals` in units of `tick` ns, of a few streams in order of appearance.
fn plain(tick: u64, ops: &'static [Op]) -> impl Strategy<Value = RequestBatch> {
    let (start, sectors) = (0u64..1 << 38, 1u32..5_000);
    let row = (0u64..1 << 40, 0..ops.len(), start, sectors, 0u32..4);
    prop::collection::vec(row, 1..60).prop_map(move |rows| {
        let (mut now, mut seen) = (0, 0);
        let made = rows.into_iter().enumerate();
        batch(made.map(|(i, (gap, op, start, sectors, stream))| {
            now += if i == 0 { 0 } else { gap / tick * tick };
            let mut request = match ops[op] {
                Op::Flush => request(now, Op::Flush, 0, 0),
                op => request(now, op, start, sectors),
            };
            request.stream = stream.min(seen);
            seen = seen.max(request.stream + 1);
            request
        }))
    })
}

fn again(format: &str, bytes: &[u8]) -> Trace {
    read_with(format, bytes, &overlay()).unwrap()
}

const DATA: &[Op] = &[Op::Read, Op::Write];
const ALL: &[Op] = &[Op::Read, Op::Write, Op::Trim, Op::Flush];

/// Written requests are read as they were, in `format`, which is told from others if `given` is
/// empty.
fn kept(writer: Writer, given: &str, format: &str, batch: &RequestBatch) -> Vec<u8> {
    let mut out = Vec::new();
    let written = writer(batch, &[], &mut out).unwrap();
    let counts = (written.requests, written.rounded_times);
    assert_eq!(counts, (batch.len() as u64, 0));
    let trace = again(given, &out);
    assert_eq!(trace.meta.format, format);
    assert_eq!(trace.requests.records(), batch.records());
    out
}

proptest! {
    #[test]
    fn ssdsim_keeps_reads_and_writes(batch in plain(1, DATA)) {
        kept(write_ssdsim, "mqsim", "ssdsim", &batch);
    }

    #[test]
    fn disksim_keeps_reads_and_writes(batch in plain(1, DATA)) {
        let out = kept(write_disksim, "disksim", "disksim", &batch);
        // Told from the others, unless every number might be one of bytes.
        let bytes = |r: &HostRequest| r.start_sector.is_multiple_of(512) && r.sectors.is_multiple_of(512);
        if !batch.records().iter().all(bytes) {
            prop_assert_eq!(again("", &out).meta.format, "disksim");
        }
    }

    #[test]
    fn oracle_general_keeps_blocks(
        rows in prop::collection::vec((0u64..3 << 30, any::<bool>(), 0u64..200, 1u32..40), 1..60),
        memory in prop::sample::select(vec![0, 1 << 20]),
    ) {
        let (mut batch, mut now) = (RequestBatch::new(), 0);
        let (mut blocks, mut writes, mut partial, mut rounded) = (Vec::new(), 0, 0, 0);
        for (i, &(gap, write, start, sectors)) in rows.iter().enumerate() {
            now += if i == 0 { 0 } else { gap };
            let op = if write { Op::Write } else { Op::Read };
            batch.push(HostRequest::new(Nanos(now), op, start, sectors));
            let end = start + u64::from(sectors);
            blocks.extend((start / 8..end.div_ceil(8)).map(|block| (now / 1_000_000_000, block)));
            writes += u64::from(write);
            partial += u64::from(start % 8 != 0 || end % 8 != 0);
            rounded += u64::from(now % 1_000_000_000 != 0);
        }
        let mut out = Vec::new();
        let written = write_oracle_general(&batch, memory, &mut out).unwrap();
        prop_assert_eq!(written.requests.requests, rows.len() as u64);
        prop_assert_eq!(written.requests.rounded_times, rounded);
        prop_assert_eq!((written.writes, written.partial), (writes, partial));
        prop_assert_eq!(written.records, blocks.len() as u64);
        prop_assert!(!written.several_streams);
        let trace = again("oracle-general", &out);
        let read: Vec<(u64, u64)> = trace.requests.records().iter().map(|r| {
            assert_eq!((r.op, r.sectors), (Op::Read, 8));
            (r.arrival.0 / 1_000_000_000, r.start_sector / 8)
        }).collect();
        prop_assert_eq!(&read, &blocks);
        for (i, record) in out.chunks(24).enumerate() {
            let number = |at: std::ops::Range<usize>| u32::from_le_bytes(record[at].try_into().unwrap());
            prop_assert_eq!(number(12..16), 4096);
            let later = (i + 1..blocks.len()).find(|&j| blocks[j].1 == blocks[i].1);
            let next = i64::from_le_bytes(record[16..].try_into().unwrap());
            prop_assert_eq!(next, later.map_or(-1, |j| j as i64 + 1));
        }
    }

    #[test]
    fn msr_keeps_reads_and_writes(batch in plain(100, DATA)) {
        kept(write_msr, "", "msr", &batch);
    }

    #[test]
    fn fio_keeps_every_kind(batch in plain(1_000, ALL)) {
        kept(write_fio, "", "fio", &batch);
    }

    #[test]
    fn destage_bin_keeps_every_kind(batch in plain(1, ALL), timed in any::<bool>()) {
        let volumes: Vec<Volume> = (0..4).map(|n| volume(n, &"v".repeat(n as usize * 5))).collect();
        let bytes = bin(&batch, &volumes, timed);
        let trace = again("", &bytes);
        prop_assert_eq!((trace.meta.format, trace.meta.timed), ("destage-bin", timed));
        prop_assert_eq!(trace.requests.records(), batch.records());
        for known in &trace.meta.volumes {
            prop_assert_eq!(&known.name, &volumes[known.stream as usize].name);
        }
        let trace = again("", &streamed(&batch, &volumes));
        prop_assert_eq!(trace.requests.records(), batch.records());
    }
}

/// Requests as `destage-bin`, written one after the other.
fn streamed(batch: &RequestBatch, volumes: &[Volume]) -> Vec<u8> {
    let mut writer = BinWriter::new(Cursor::new(Vec::new())).unwrap();
    batch.iter().for_each(|r| writer.write(r).unwrap());
    writer.finish(volumes, true).unwrap().into_inner()
}

fn example(format: &str) -> &'static [u8] {
    let named = FORMATS.iter().find(|f| f.name == format);
    named.unwrap().example
}

#[test]
fn the_example_of_destage_bin_is_what_the_writer_writes() {
    let mut requests = [request(0, Op::Write, 8, 8), request(1_000, Op::Flush, 0, 0)];
    requests.iter_mut().for_each(|request| request.stream = 3);
    let bytes = bin(&batch(requests), &[volume(3, "hm_0")], true);
    assert_eq!(bytes, example("destage-bin"), "{}", bytes.escape_ascii());
}

#[test]
fn the_example_of_oracle_general_is_what_the_writer_writes() {
    let s = 1_000_000_000;
    let blocks = [(5, 7), (6, 9), (6, 7)];
    let mut batch = batch(blocks.map(|(at, block)| request(at * s, Op::Read, block * 8, 8)));
    let mut out = Vec::new();
    write_oracle_general(&batch, 0, &mut out).unwrap();
    assert_eq!(out, example("oracle-general"), "{}", out.escape_ascii());
    // 2^32 s later there are no numbers for the time.
    batch.push(request(s << 32, Op::Read, 0, 8));
    let error = write_oracle_general(&batch, 0, &mut Vec::new()).unwrap_err();
    let late = "request 3: `oracle-general` has times below 2^32 s only";
    says(error.to_string(), late);
}

/// The requests are read back as they were written, whatever the parts in which they were handed
/// over.
#[test]
fn what_is_compressed_is_read_as_it_was() {
    let mut plain = Vec::new();
    write_csv(&rich(), &mut plain).unwrap();
    for (name, container) in [
        ("a.csv", Container::Plain),
        ("a.csv.zst", Container::Zstd),
        ("a.csv.gz", Container::Gzip),
        ("a.csv.xz", Container::Xz),
    ] {
        assert_eq!(Container::of_name(Path::new(name)), container);
        let compressed = |cut: usize| {
            let mut out = Vec::new();
            let mut writer = CompressedWriter::new(container, &mut out).unwrap();
            for part in [&plain[..cut], &plain[cut..]] {
                writer.write_all(part).unwrap();
                writer.flush().unwrap();
            }
            writer.finish().unwrap();
            out
        };
        let bytes = compressed(plain.len());
        assert_eq!(bytes.len() < plain.len(), container != Container::Plain);
        assert_eq!(compressed(1), bytes);
        assert_eq!(compressed(plain.len() / 3), bytes);
        let trace = read("", &bytes).unwrap();
        assert_eq!(trace.meta.container, container);
        let mut again = Vec::new();
        write_csv(&trace.requests, &mut again).unwrap();
        assert!(again == plain, "{name}");
    }
}

/// A gzip file has no name and no time, a zstd one a checksum.
#[test]
fn compressed_files_say_nothing_of_when_and_where() {
    let head = |container| {
        let mut out = Vec::new();
        let mut writer = CompressedWriter::new(container, &mut out).unwrap();
        writer.write_all(b"0,R,0,8,0,,0\n").unwrap();
        writer.finish().unwrap();
        out
    };
    let gzip = head(Container::Gzip);
    assert_eq!(gzip[..10], *b"\x1f\x8b\x08\0\0\0\0\0\0\xff");
    assert_eq!(head(Container::Zstd)[4] & 4, 4);
    assert_eq!(head(Container::Xz)[..8], *b"\xfd7zXZ\0\0\x04");
}

/// 20000 requests over several chunks, with and without lists.
fn rich() -> RequestBatch {
    let mut batch = RequestBatch::new();
    for i in 0..20_000u64 {
        let mut head = HostRequest::new(Nanos(i * 10), Op::Write, i * 8, 16);
        head.stream = (i % 5) as u32;
        head.flags = RequestFlags::from_bits([0, 1, 4, 9, 12][i as usize % 5]).unwrap();
        head.tag = [Tag::None, Tag::Data, Tag::Node, Tag::Meta, Tag::Gc][i as usize % 5];
        let more = Extent::new(1 << 20, 8);
        match i % 4 {
            0 => batch.push_with(head, &[more], &[NO_PREV, i, 7]),
            1 => batch.push_with(head, &[more; 300], &[]),
            2 => batch.push_with(head, &[], &[i, NO_PREV]),
            _ => batch.push(head),
        }
    }
    batch
}

#[test]
fn destage_bin_keeps_lists_tags_and_marks() {
    let batch = rich();
    let streamed = streamed(&batch, &[volume(0, "x")]);
    for bytes in [bin(&batch, &[], true), streamed] {
        assert_eq!(told(&read("", &bytes).unwrap()), said(&batch));
    }
}

#[test]
fn foreign_formats_refuse_what_they_cannot_say() {
    let extent = Extent::new(64, 8);
    let head = request(0, Op::Write, 0, 8);
    let (mut atomic, mut tagged) = (head, head);
    (atomic.flags, tagged.tag) = (RequestFlags::ATOMIC, Tag::Gc);
    let trim = request(0, Op::Trim, 0, 8);
    let flush = request(0, Op::Flush, 0, 0);
    let long = request(0, Op::Write, 0, 1 << 23);
    type Case<'a> = (HostRequest, &'a [Extent], &'a [u64], &'a str, &'a str);
    const ALL: &str = "ssdsim disksim msr fio oracle-general";
    const DATA: &str = "ssdsim disksim msr oracle-general";
    let cases: [Case<'_>; 7] = [
        (trim, &[], &[], "a trim", DATA),
        (flush, &[], &[], "a flush", DATA),
        (head, &[extent], &[], "several extents", ALL),
        (head, &[], &[5], "old addresses", ALL),
        (atomic, &[], &[], "atomic writes", ALL),
        (tagged, &[], &[], "tags", ALL),
        (long, &[], &[], "below 4 GiB", "fio"),
    ];
    let oracle: Writer =
        |requests, _, out| Ok(write_oracle_general(requests, 1 << 26, out)?.requests);
    let writers: [(&str, Writer); 5] = [
        ("ssdsim", write_ssdsim),
        ("disksim", write_disksim),
        ("oracle-general", oracle),
        ("msr", write_msr),
        ("fio", write_fio),
    ];
    for (request, more, prev, what, refusing) in cases {
        let mut batch = batch([head]);
        batch.push_with(request, more, prev);
        for (name, write) in writers {
            let result = write(&batch, &[], &mut Vec::new());
            if !refusing.contains(name) {
                assert_eq!(result.unwrap().requests, 2, "{name}: {what}");
                continue;
            }
            let error = result.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            let message = error.to_string();
            assert!(message.starts_with("request 1: "), "{message}");
            says(&message, what);
            says(&message, name);
        }
    }
}

#[test]
fn times_are_rounded_down_and_counted() {
    let batch = batch([0, 1_999, 2_000].map(|ns| request(ns, Op::Write, 0, 8)));
    let times = |write: Writer, format| {
        let mut out = Vec::new();
        let written = write(&batch, &[], &mut out).unwrap();
        let arrivals = arrivals(&again(format, &out).requests);
        (written.rounded_times, arrivals)
    };
    assert_eq!(times(write_ssdsim, "ssdsim"), (0, vec![0, 1_999, 2_000]));
    assert_eq!(times(write_disksim, "disksim"), (0, vec![0, 1_999, 2_000]));
    assert_eq!(times(write_msr, "msr"), (1, vec![0, 1_900, 2_000]));
    assert_eq!(times(write_fio, "fio"), (1, vec![0, 1_000, 2_000]));
}

#[test]
fn stacked_volumes_are_written_with_their_own_names_and_addresses() {
    let text = "0,hm,1,Write,4096,8192,0\n100,usr_x,0,Read,0,512,0\n200,hm,1,Read,0,512,0\n";
    let trace = read("", text).unwrap();
    assert_eq!(trace.meta.volumes[1].start_sector, 2_048);
    let mut out = Vec::new();
    write_msr(&trace.requests, &trace.meta.volumes, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), text);
    let mut out = Vec::new();
    write_fio(&trace.requests, &trace.meta.volumes, &mut out).unwrap();
    let again = read("", out).unwrap();
    let names: Vec<&str> = again.meta.volumes.iter().map(|v| &*v.name).collect();
    assert_eq!(names, ["hm_1", "usr_x_0"]);
    let starts = |trace: &Trace| -> Vec<u64> {
        let records = trace.requests.records().iter();
        records.map(|r| r.start_sector).collect()
    };
    assert_eq!(starts(&again), starts(&trace));
    // The own binary keeps names and places, and what is read is not stacked again.
    let bytes = bin(&trace.requests, &trace.meta.volumes, true);
    let again = read("", bytes).unwrap();
    assert_eq!(again.requests.records(), trace.requests.records());
    assert_eq!(again.meta.volumes, trace.meta.volumes);
}

#[test]
fn names_that_a_format_cannot_take_are_refused() {
    let mut batch = batch([request(0, Op::Write, 0, 8); 2]);
    batch.records_mut()[1].stream = 1;
    let written = |write: Writer, a: &str, b: &str| {
        let mut out = Vec::new();
        let written = write(&batch, &[volume(0, a), volume(1, b)], &mut out);
        match written {
            Ok(_) => String::from_utf8(out).unwrap(),
            Err(error) => format!("error: {error}"),
        }
    };
    let fio = |a, b| written(write_fio, a, b);
    says(fio("a b", "c:d"), "0 a_b write 0 4096\n0 c_d write");
    says(fio("a", "a"), "used twice");
    says(fio("a", ""), "error: ");
    says(fio("a", &"x".repeat(257)), "error: ");
    // Without a name of host and disk the number says both.
    let msr = written(write_msr, "a,b_1", "disk");
    says(msr, "0,host0,0,Write,0,4096,0\n0,host0,1,");
    let long = [volume(0, &"x".repeat(4_097))];
    assert!(write_bin(&batch, &long, true, &mut Vec::new()).is_err());
}

#[test]
fn destage_bin_refuses_times_that_run_back_and_rebases_the_others() {
    let mut batch = batch([500, 700].map(|ns| request(ns, Op::Write, 0, 8)));
    let trace = read("", bin(&batch, &[], true)).unwrap();
    assert_eq!(arrivals(&trace.requests), [0, 200]);
    batch.push(request(600, Op::Write, 0, 8));
    let error = write_bin(&batch, &[], true, &mut Vec::new()).unwrap_err();
    says(error.to_string(), "request 2: it arrives before");
    let empty = bin(&RequestBatch::new(), &[], true);
    says(refused("", empty), "holds no request");
}
