//! Written traces are read again as they were; every text form of a request means that request.

use crate::common::{bin, csv, overlay, read, read_with, said, told};
use destage_trace::write_csv;
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

/// Gap, kind, extents, stream, bits of flags, tag, and a seed of old addresses.
type Drawn = (u64, Op, Vec<Extent>, u32, u8, Tag, u64);

fn request() -> impl Strategy<Value = Drawn> {
    let ops = prop::sample::select(vec![Op::Read, Op::Write, Op::Trim, Op::Flush]);
    let tags = prop::sample::select(vec![Tag::None, Tag::Data, Tag::Node, Tag::Meta, Tag::Gc]);
    let extents = prop::collection::vec(extent(), 1..4);
    (
        0u64..1 << 50,
        ops,
        extents,
        any::<u32>(),
        0u8..8,
        tags,
        any::<u64>(),
    )
}

fn batch(requests: &[Drawn]) -> RequestBatch {
    let mut batch = RequestBatch::new();
    let mut now = 0;
    for (i, &(gap, op, ref extents, stream, flags, tag, seed)) in requests.iter().enumerate() {
        now += if i == 0 { 0 } else { gap };
        let extents = if op == Op::Flush { &[] } else { &extents[..] };
        let (start, sectors) = extents
            .first()
            .map_or((0, 0), |e| (e.start_sector, e.sectors));
        let mut head = HostRequest::new(Nanos(now), op, start, sectors);
        (head.stream, head.tag) = (stream, tag);
        head.flags = match op {
            Op::Write => RequestFlags::from_bits(flags & 1 | (flags & 6) << 1).unwrap(),
            _ => RequestFlags::ATOMIC.only_if(flags & 1 > 0),
        };
        let mut prev = Vec::new();
        if op == Op::Write && seed % 3 > 0 {
            let total: usize = extents.iter().map(blocks).sum();
            let old = |i| match (seed >> (i % 60)) & 1 {
                0 => NO_PREV,
                _ => (seed ^ i as u64) % (SECTORS - 8),
            };
            prev.extend((0..total).map(old));
            // A list without any old address is not kept.
            prev = if prev.iter().all(|p| *p == NO_PREV) {
                Vec::new()
            } else {
                prev
            };
        }
        batch.push_with(head, extents.get(1..).unwrap_or(&[]), &prev);
    }
    batch
}

proptest! {
    #[test]
    fn written_requests_are_read_as_they_were(requests in prop::collection::vec(request(), 1..40)) {
        let batch = batch(&requests);
        let text = csv(&batch);
        for (format, bytes) in [("destage", text.clone().into_bytes()), ("destage-bin", bin(&batch, &[], true))] {
            let trace = read("", bytes).unwrap();
            prop_assert_eq!(trace.meta.format, format);
            prop_assert_eq!(said(&batch), told(&trace));
            // Writing again gives the same bytes.
            prop_assert_eq!(csv(&trace.requests), &*text);
        }
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
fn a_writer_refuses_lists_that_are_not_of_its_extents() {
    let head = HostRequest::new(Nanos(0), Op::Write, 0, 8);
    for (more, prev) in [(&[][..], &[1, 2][..]), (&[Extent::new(64, 8)], &[1])] {
        let mut batch = RequestBatch::new();
        batch.push_with(head, more, prev);
        let refused = write_csv(&batch, &mut Vec::new()).unwrap_err();
        assert!(refused.to_string().contains("`prev`"));
    }
}
