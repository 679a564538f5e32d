//! What the writers write is read again as it was, or refused with the reason.

#[allow(dead_code)]
mod common;

use std::io::{self, Cursor, Write};

use common::{bin, overlay, read, read_with, says};
use destage_trace::{
    BinWriter, FORMATS, RequestPasses, Trace, Volume, WriteSummary, write_bin, write_fio,
    write_msr, write_ssdsim,
};
use destage_types::request::NO_PREV;
use destage_types::{Extent, HostRequest, Nanos, Op, RequestBatch, Tag};
use proptest::prelude::*;

fn volume(stream: u32, name: &str) -> Volume {
    Volume {
        stream,
        name: name.to_owned(),
        requests: 0,
        end_sector: 0,
        start_sector: 0,
    }
}

/// Requests with `arrivals` in units of `tick` ns, of a few streams in order of appearance.
fn plain(tick: u64, ops: &'static [Op]) -> impl Strategy<Value = RequestBatch> {
    let request = (
        0u64..1 << 40,
        0..ops.len(),
        0u64..1 << 38,
        1u32..5_000,
        0u32..4,
    );
    prop::collection::vec(request, 1..60).prop_map(move |rows| {
        let mut batch = RequestBatch::new();
        let (mut now, mut seen) = (0, 0);
        for (i, (gap, op, start, sectors, stream)) in rows.into_iter().enumerate() {
            now += if i == 0 { 0 } else { gap / tick * tick };
            let op = ops[op];
            let stream = stream.min(seen);
            seen = seen.max(stream + 1);
            let (start, sectors) = if op == Op::Flush {
                (0, 0)
            } else {
                (start, sectors)
            };
            let mut request = HostRequest::new(Nanos(now), op, start, sectors);
            request.stream = stream;
            batch.push(request);
        }
        batch
    })
}

fn again(format: &str, bytes: &[u8]) -> Trace {
    read_with(format, bytes, &overlay()).unwrap()
}

const DATA: &[Op] = &[Op::Read, Op::Write];
const ALL: &[Op] = &[Op::Read, Op::Write, Op::Trim, Op::Flush];

type Writer = fn(&dyn RequestPasses, &[Volume], &mut dyn Write) -> io::Result<WriteSummary>;

proptest! {
    #[test]
    fn ssdsim_keeps_reads_and_writes(batch in plain(1, DATA)) {
        let mut out = Vec::new();
        let written = write_ssdsim(&batch, &[], &mut out).unwrap();
        prop_assert_eq!(written.requests, batch.len() as u64);
        prop_assert_eq!(written.rounded_times, 0);
        let trace = again("mqsim", &out);
        prop_assert_eq!(trace.requests.records(), batch.records());
    }

    #[test]
    fn msr_keeps_reads_and_writes(batch in plain(100, DATA)) {
        let mut out = Vec::new();
        write_msr(&batch, &[], &mut out).unwrap();
        let trace = again("", &out);
        prop_assert_eq!(trace.meta.format, "msr");
        prop_assert_eq!(trace.requests.records(), batch.records());
    }

    #[test]
    fn fio_keeps_every_kind(batch in plain(1_000, ALL)) {
        let mut out = Vec::new();
        write_fio(&batch, &[], &mut out).unwrap();
        let trace = again("", &out);
        prop_assert_eq!(trace.meta.format, "fio");
        prop_assert_eq!(trace.requests.records(), batch.records());
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
        let mut writer = BinWriter::new(Cursor::new(Vec::new())).unwrap();
        for request in batch.iter() {
            writer.write(request).unwrap();
        }
        let streamed = writer.finish(&volumes, timed).unwrap().into_inner();
        let trace = again("", &streamed);
        prop_assert_eq!(trace.requests.records(), batch.records());
    }
}

#[test]
fn the_example_of_destage_bin_is_what_the_writer_writes() {
    let mut batch = RequestBatch::new();
    let mut write = HostRequest::new(Nanos(0), Op::Write, 8, 8);
    let mut flush = HostRequest::new(Nanos(1_000), Op::Flush, 0, 0);
    (write.stream, flush.stream) = (3, 3);
    batch.push(write);
    batch.push(flush);
    let bytes = bin(&batch, &[volume(3, "hm_0")], true);
    let format = FORMATS.iter().find(|f| f.name == "destage-bin").unwrap();
    assert_eq!(bytes, format.example, "{}", bytes.escape_ascii());
}

/// 20000 requests over several chunks, with and without lists.
fn rich() -> RequestBatch {
    let mut batch = RequestBatch::new();
    for i in 0..20_000u64 {
        let mut head = HostRequest::new(Nanos(i * 10), Op::Write, i * 8, 16);
        head.stream = (i % 5) as u32;
        head.atomic = i % 3 == 0;
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
    for bytes in [bin(&batch, &[], true), {
        let mut writer = BinWriter::new(Cursor::new(Vec::new())).unwrap();
        batch.iter().for_each(|r| writer.write(r).unwrap());
        writer.finish(&[volume(0, "x")], true).unwrap().into_inner()
    }] {
        let trace = read("", &bytes).unwrap();
        assert_eq!(trace.requests.len(), batch.len());
        for (a, b) in trace.requests.iter().zip(batch.iter()) {
            assert!(a.extents().eq(b.extents()));
            assert_eq!(a.prev, b.prev);
            assert_eq!(
                (a.head.arrival, a.head.stream),
                (b.head.arrival, b.head.stream)
            );
            assert_eq!((a.head.atomic, a.head.tag), (b.head.atomic, b.head.tag));
        }
    }
}

#[test]
fn foreign_formats_refuse_what_they_cannot_say() {
    let extent = Extent::new(64, 8);
    let head = HostRequest::new(Nanos(0), Op::Write, 0, 8);
    let (mut atomic, mut tagged) = (head, head);
    (atomic.atomic, tagged.tag) = (true, Tag::Gc);
    let trim = HostRequest::new(Nanos(0), Op::Trim, 0, 8);
    let flush = HostRequest::new(Nanos(0), Op::Flush, 0, 0);
    let long = HostRequest::new(Nanos(0), Op::Write, 0, 1 << 23);
    type Case<'a> = (HostRequest, &'a [Extent], &'a [u64], &'a str, &'a str);
    let cases: [Case<'_>; 7] = [
        (trim, &[], &[], "a trim", "ssdsim msr"),
        (flush, &[], &[], "a flush", "ssdsim msr"),
        (head, &[extent], &[], "several extents", "ssdsim msr fio"),
        (head, &[], &[5], "old addresses", "ssdsim msr fio"),
        (atomic, &[], &[], "atomic writes", "ssdsim msr fio"),
        (tagged, &[], &[], "tags", "ssdsim msr fio"),
        (long, &[], &[], "below 4 GiB", "fio"),
    ];
    let writers: [(&str, Writer); 3] = [
        ("ssdsim", write_ssdsim),
        ("msr", write_msr),
        ("fio", write_fio),
    ];
    for (request, more, prev, what, refusing) in cases {
        let mut batch = RequestBatch::new();
        batch.push(head);
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
            assert!(
                message.starts_with("request 1: ") && message.contains(what),
                "{message}"
            );
            says(&message, name);
        }
    }
}

#[test]
fn times_are_rounded_down_and_counted() {
    let mut batch = RequestBatch::new();
    batch.push(HostRequest::new(Nanos(0), Op::Write, 0, 8));
    batch.push(HostRequest::new(Nanos(1_999), Op::Write, 0, 8));
    batch.push(HostRequest::new(Nanos(2_000), Op::Write, 0, 8));
    let times = |write: Writer, format| {
        let mut out = Vec::new();
        let written = write(&batch, &[], &mut out).unwrap();
        let trace = again(format, &out);
        let times: Vec<u64> = trace
            .requests
            .records()
            .iter()
            .map(|r| r.arrival.0)
            .collect();
        (written.rounded_times, times)
    };
    assert_eq!(times(write_ssdsim, "ssdsim"), (0, vec![0, 1_999, 2_000]));
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
    let starts = |t: &Trace| -> Vec<u64> {
        t.requests
            .records()
            .iter()
            .map(|r| r.start_sector)
            .collect()
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
    let mut batch = RequestBatch::new();
    batch.push(HostRequest::new(Nanos(0), Op::Write, 0, 8));
    let mut other = HostRequest::new(Nanos(0), Op::Write, 0, 8);
    other.stream = 1;
    batch.push(other);
    let fio = |a: &str, b: &str| {
        let mut out = Vec::new();
        let volumes = [volume(0, a), volume(1, b)];
        write_fio(&batch, &volumes, &mut out).map(|_| String::from_utf8(out).unwrap())
    };
    assert!(
        fio("a b", "c:d")
            .unwrap()
            .contains("0 a_b write 0 4096\n0 c_d write")
    );
    assert!(
        fio("a", "a")
            .unwrap_err()
            .to_string()
            .contains("used twice")
    );
    assert!(fio("a", "").is_err() && fio("a", &"x".repeat(257)).is_err());
    // Without a name of host and disk the number says both.
    let mut out = Vec::new();
    write_msr(&batch, &[volume(0, "a,b_1"), volume(1, "disk")], &mut out).unwrap();
    assert!(
        String::from_utf8(out)
            .unwrap()
            .contains("0,host0,0,Write,0,4096,0\n0,host0,1,")
    );
    assert!(
        write_bin(
            &batch,
            &[volume(0, &"x".repeat(4_097))],
            true,
            &mut Vec::new()
        )
        .is_err()
    );
}

#[test]
fn destage_bin_refuses_times_that_run_back_and_rebases_the_others() {
    let mut batch = RequestBatch::new();
    batch.push(HostRequest::new(Nanos(500), Op::Write, 0, 8));
    batch.push(HostRequest::new(Nanos(700), Op::Write, 0, 8));
    let trace = read("", bin(&batch, &[], true)).unwrap();
    assert_eq!(trace.requests.records()[1].arrival, Nanos(200));
    batch.push(HostRequest::new(Nanos(600), Op::Write, 0, 8));
    let error = write_bin(&batch, &[], true, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("request 2: it arrives before"));
    let empty = bin(&RequestBatch::new(), &[], true);
    assert!(
        read("", empty)
            .unwrap_err()
            .to_string()
            .contains("holds no request")
    );
}
