//! Written traces are read again as they were; every text form of a request means that request.

use crate::common::{csv, overlay, read, read_with};
use destage_trace::{CsvColumns, CsvWriter};
use destage_types::request::NO_PREV;
use destage_types::{Extent, HostRequest, Nanos, Op, RequestBatch, RequestFlags, Tag};
use proptest::prelude::*;

const SECTORS: u64 = (1 << 48) / 512;

fn extent() -> impl Strategy<Value = Extent> {
    (0..SECTORS - 5_000, 1u32..5_000)
        .prop_map(|(start_sector, sectors)| Extent::new(start_sector, sectors))
}

fn blocks(e: &Extent) -> usize {
    ((e.end() - 1) / 8 - e.start_sector / 8 + 1) as usize
}

#[derive(Clone, Debug)]
struct Request {
    gap: u64,
    op: Op,
    extents: Vec<Extent>,
    stream: u32,
    flags: RequestFlags,
    tag: Tag,
    prev_seed: u64,
}

fn request() -> impl Strategy<Value = Request> {
    let op = prop_oneof![
        Just(Op::Read),
        Just(Op::Write),
        Just(Op::Trim),
        Just(Op::Flush)
    ];
    let tags = vec![Tag::None, Tag::Data, Tag::Node, Tag::Meta, Tag::Gc];
    let extents = prop::collection::vec(extent(), 1..4);
    let tag = prop::sample::select(tags);
    (
        0u64..1 << 50,
        op,
        extents,
        any::<u32>(),
        0u8..8,
        tag,
        any::<u64>(),
    )
        .prop_map(
            |(gap, op, extents, stream, flags, tag, prev_seed)| Request {
                gap,
                op,
                extents: if op == Op::Flush { Vec::new() } else { extents },
                stream,
                flags: match op {
                    Op::Write => RequestFlags::from_bits(flags & 1 | (flags & 6) << 1).unwrap(),
                    _ => RequestFlags::ATOMIC.only_if(flags & 1 > 0),
                },
                tag,
                prev_seed,
            },
        )
}

fn batch(requests: &[Request]) -> RequestBatch {
    let mut batch = RequestBatch::new();
    let mut now = 0;
    for (i, r) in requests.iter().enumerate() {
        now += if i == 0 { 0 } else { r.gap };
        let (start, sectors) = r
            .extents
            .first()
            .map_or((0, 0), |e| (e.start_sector, e.sectors));
        let mut head = HostRequest::new(Nanos(now), r.op, start, sectors);
        (head.stream, head.flags, head.tag) = (r.stream, r.flags, r.tag);
        let mut prev = Vec::new();
        if r.op == Op::Write && r.prev_seed % 3 > 0 {
            let total: usize = r.extents.iter().map(blocks).sum();
            let old = |i| match (r.prev_seed >> (i % 60)) & 1 {
                0 => NO_PREV,
                _ => (r.prev_seed ^ i as u64) % (SECTORS - 8),
            };
            prev.extend((0..total).map(old));
        }
        batch.push_with(head, r.extents.get(1..).unwrap_or(&[]), &prev);
    }
    batch
}

fn assert_same(a: &RequestBatch, b: &RequestBatch) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b.iter()) {
        prop_assert_eq!(a.head.arrival, b.head.arrival);
        prop_assert_eq!(a.head.op, b.head.op);
        prop_assert!(a.extents().eq(b.extents()));
        prop_assert_eq!(a.head.stream, b.head.stream);
        prop_assert_eq!(a.head.flags, b.head.flags);
        prop_assert_eq!(a.head.tag, b.head.tag);
        prop_assert_eq!(a.prev, b.prev);
    }
    Ok(())
}

proptest! {
    #[test]
    fn written_requests_are_read_as_they_were(requests in prop::collection::vec(request(), 1..40)) {
        let batch = batch(&requests);
        let text = csv(&batch);
        let trace = read("", &text).unwrap();
        prop_assert_eq!(trace.meta.format, "destage");
        assert_same(&batch, &trace.requests)?;
        // Writing again gives the same bytes.
        prop_assert_eq!(csv(&trace.requests), text);
    }

    #[test]
    fn every_msr_line_means_its_request(
        rows in prop::collection::vec(
            (0u64..10_000_000, any::<bool>(), 0u64..1 << 47, 1u64..1 << 32, any::<u32>(), 0u16..),
            1..50,
        ),
        // Windows' times of 1970 to 2044.
        start in 116_444_736_000_000_000u64..140_000_000_000_000_000,
    ) {
        let mut now = start;
        let mut text = String::new();
        let mut expected = Vec::new();
        for (i, &(gap, write, offset, size, response, disk)) in rows.iter().enumerate() {
            now += if i == 0 { 0 } else { gap };
            let kind = if write { "Write" } else { "Read" };
            text += &format!("{now},host,{disk},{kind},{offset},{size},{response}\n");
            let first = offset / 512;
            let last = (offset + size - 1) / 512;
            expected.push(((now - start) * 100, write, first, last - first + 1, u32::from(disk)));
        }
        let trace = read_with("", &text, &overlay()).unwrap();
        let got: Vec<_> = trace.requests.records().iter().map(|r| {
            let sectors = u64::from(r.sectors);
            (r.arrival.0, r.op == Op::Write, r.start_sector, sectors, r.stream)
        }).collect();
        prop_assert_eq!(got, expected);
        let unaligned = rows.iter().filter(|r| r.2 % 512 != 0 || r.3 % 512 != 0).count();
        prop_assert_eq!(trace.meta.unaligned_requests, unaligned as u64);
    }

    #[test]
    fn every_block_list_means_its_blocks(
        blocks in prop::collection::vec(0u64..1 << 36, 1..200),
        crlf in any::<bool>(),
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let lines: Vec<String> = blocks.iter().map(u64::to_string).collect();
        let trace = read("", lines.join(end)).unwrap();
        let got: Vec<u64> = trace.requests.records().iter().map(|r| r.start_sector / 8).collect();
        prop_assert_eq!(got, blocks);
    }
}

#[test]
fn a_writer_refuses_what_its_file_cannot_say() {
    let (a, b) = (Extent::new(0, 8), Extent::new(64, 8));
    let head = HostRequest::new(Nanos(0), Op::Write, a.start_sector, a.sectors);
    let refusal = |head: HostRequest, more: &[Extent], prev: &[u64], columns| {
        let mut batch = RequestBatch::new();
        batch.push_with(head, more, prev);
        let mut writer = CsvWriter::new(Vec::new(), columns);
        writer.write(batch.get(0)).unwrap_err().to_string()
    };
    let none = CsvColumns::default();
    let (mut tagged, mut forced) = (head, head);
    (tagged.tag, forced.flags) = (Tag::Gc, RequestFlags::FUA);
    assert!(refusal(head, &[b], &[], none).contains("`group`"));
    assert!(refusal(tagged, &[], &[], none).contains("`tag`"));
    assert!(refusal(forced, &[], &[], none).contains("`flags`"));
    let all = CsvColumns {
        tag: true,
        group: true,
        flags: true,
    };
    assert!(refusal(head, &[], &[1, 2], all).contains("`prev`"));
    assert!(refusal(head, &[b], &[1], all).contains("`prev`"));
}
