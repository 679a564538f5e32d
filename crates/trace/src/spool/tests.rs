//! Traces in temporary files are the traces, whole and split.

use super::*;
use crate::load::load;
use crate::writers::{BinWriter, RequestPasses};
use destage_types::request::NO_PREV;
use destage_types::rng::SplitMix64;
use destage_types::{Extent, HostRequest, Op};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::Write;

thread_local! {
    /// Requests read from temporary files.
    static READ: Cell<u64> = const { Cell::new(0) };
}

pub fn count(requests: usize) {
    READ.set(READ.get() + requests as u64);
}

const MSR: &str = "0,hm,0,Write,4096,8192,7\n10,hm,1,Read,0,4096,7\n30,hm,0,Write,8192,4096,7\n\
                   40,hm,1,Write,1048576000,4096,7\n45,hm,1,Write,4096,4096,7\n";

fn both(options: &LoadOptions) -> [Stored; 2] {
    let source = || Source::bytes("hm.csv", MSR);
    let trace = load(source(), options).unwrap();
    let spooled = load_bounded(source(), options, 0, &mut |_| {}).unwrap();
    assert!(matches!(spooled, Stored::Spooled { .. }));
    [Stored::Memory(trace), spooled]
}

fn requests(stored: &Stored) -> Vec<String> {
    let mut all = Vec::new();
    let workload = stored.workload();
    let kept = workload.try_each(|number, r| {
        let h = r.head;
        let (op, start, sectors) = (h.op, h.start_sector, h.sectors);
        let (at, stream) = (h.arrival, h.stream);
        all.push(format!("{number} {at} {op:?} {start}+{sectors} {stream}"));
        Ok::<(), TraceError>(())
    });
    kept.unwrap();
    assert_eq!(workload.len(), all.len() as u64);
    all
}

#[test]
fn a_spooled_trace_is_the_trace() {
    for volumes in ["stack", "overlay", "only=hm_1"] {
        let options = LoadOptions {
            volumes: volumes.parse().unwrap(),
            ..LoadOptions::default()
        };
        let [memory, spooled] = both(&options);
        assert_eq!(memory.meta(), spooled.meta(), "{volumes}");
        assert_eq!(requests(&memory), requests(&spooled), "{volumes}");
        assert_eq!(memory.workload().span(), spooled.workload().span());
        assert_eq!(spooled.workload().memory(), 0);
    }
}

#[test]
fn volumes_of_a_spooled_trace_are_those_of_the_trace() {
    for memory in [0, 64, 128, 300, 1000, u64::MAX] {
        let [plain, spooled] = both(&LoadOptions::default()).map(|s| volumes_of(s, memory));
        assert_eq!(plain.len(), 2);
        same_volumes(&plain, &spooled);
    }
    let [plain, spooled] = both(&LoadOptions::default()).map(|s| s.split_at_once().unwrap());
    assert_eq!(plain.len(), 2);
    same_volumes(&plain, &spooled);
}

fn volumes_of(stored: Stored, memory: u64) -> Vec<Stored> {
    let volumes: Result<_, TraceError> = stored.split(memory).unwrap().collect();
    volumes.unwrap()
}

fn same_volumes(plain: &[Stored], spooled: &[Stored]) {
    assert_eq!(plain.len(), spooled.len());
    for (plain, spooled) in plain.iter().zip(spooled) {
        assert_eq!(plain.meta(), spooled.meta());
        assert_eq!(requests(plain), requests(spooled));
        assert_eq!(plain.workload().span(), spooled.workload().span());
    }
}

/// Volumes whose places the file knows are at those, and have their own addresses when split.
#[test]
fn volumes_with_places_are_split_likewise() {
    let [stacked, _] = both(&LoadOptions::default());
    let Stored::Memory(trace) = stacked else {
        panic!("in memory")
    };
    let mut bytes = Vec::new();
    let volumes = &trace.meta.volumes;
    crate::write_bin(&trace.requests, volumes, true, &mut bytes).unwrap();
    let source = || Source::bytes("hm.bin", bytes.clone());
    let options = LoadOptions::default();
    let plain = Stored::Memory(load(source(), &options).unwrap());
    let plain = volumes_of(plain, 0);
    assert_eq!(requests(&plain[1])[0], "0 0 Read 0+8 1");
    for memory in [0, u64::MAX] {
        let spooled = load_bounded(source(), &options, 0, &mut |_| {}).unwrap();
        same_volumes(&plain, &volumes_of(spooled, memory));
    }
    let spooled = load_bounded(source(), &options, 0, &mut |_| {}).unwrap();
    same_volumes(&plain, &spooled.split_at_once().unwrap());
}

/// Every request is read a few times, not once for every volume.
#[test]
fn the_work_of_a_split_does_not_grow_with_the_number_of_volumes() {
    let count = 3000;
    // Times that count the lines would be taken for row numbers, and volumes that are new in each for a counter.
    let line = |i: u64| {
        let (at, volume) = (1_000 + 37 * i, i / 4 * 7 % count);
        format!("{at},h,{volume},Write,{},4096,7\n", i * 4096)
    };
    let text: String = (0..4 * count).map(line).collect();
    let source = || Source::bytes("h.csv", text.clone());
    let options = LoadOptions::default();
    let plain = volumes_of(Stored::Memory(load(source(), &options).unwrap()), 0);
    assert_eq!(plain.len() as u64, count);
    // All volumes at once, files of some of them, a file for each.
    for (memory, levels) in [(u64::MAX, 0), (60_000, 1), (2_000, 3), (0, 3)] {
        let spooled = load_bounded(source(), &options, 0, &mut |_| {}).unwrap();
        let before = READ.get();
        let volumes = volumes_of(spooled, memory);
        let read = READ.get() - before;
        // To measure them, to distribute them, to load them.
        let most = (levels + 2) * 4 * count;
        assert!(read <= most, "{memory}: {read} requests of {most}");
        same_volumes(&plain, &volumes);
    }
    // All of them together: they share a few files, and nothing is loaded.
    let spooled = load_bounded(source(), &options, 0, &mut |_| {}).unwrap();
    let before = READ.get();
    let volumes = spooled.split_at_once().unwrap();
    assert_eq!(READ.get() - before, 2 * 4 * count);
    same_volumes(&plain, &volumes);
}

#[test]
fn packed_addresses_are_the_same_in_memory_and_in_the_file() {
    // hm_0 has blocks 1 and 2 of its first MiB, hm_1 blocks 0 and 1 of its first and one of its 1001st.
    for (part, parts, starts) in [
        (2048, 3, [8, 2048, 16, 4096, 2056]),
        (16, 4, [8, 32, 16, 48, 40]),
        (8, 5, [0, 16, 8, 32, 24]),
    ] {
        let [mut memory, mut spooled] = both(&LoadOptions::default());
        let before = requests(&memory);
        assert_eq!(memory.pack(part, parts * part - 1).unwrap(), None);
        assert_eq!(requests(&memory), before, "nothing is moved");
        let packing = memory.pack(part, parts * part).unwrap().unwrap();
        let same = spooled.pack(part, 1 << 40).unwrap();
        assert_eq!(Some(&packing), same.as_ref());
        assert_eq!(packing.part_sectors(), part);
        assert_eq!(packing.end_sector(), parts * part);
        assert_eq!(requests(&memory), requests(&spooled));
        for (request, start) in requests(&memory).iter().zip(starts) {
            assert!(request.contains(&format!(" {start}+")), "{part}: {request}");
        }
    }
}

/// Random requests with old addresses, against the plainest way to number parts.
#[test]
fn parts_of_every_size_keep_their_order_and_what_is_in_them() {
    let mut rng = SplitMix64::new(1);
    let mut draw = |below| rng.below(below);
    for _ in 0..40 {
        let mut batch = RequestBatch::new();
        for _ in 0..50 {
            let (start, sectors) = (draw(1 << 15), 1 + draw(600) as u32);
            let head = HostRequest::new(Nanos(0), Op::Write, start, sectors);
            let more = [Extent::new(draw(1 << 20), 8)];
            let n = |e: &Extent| ((e.end() - 1) / 8 - e.start_sector / 8 + 1) as usize;
            let blocks = n(&Extent::new(start, sectors)) + n(&more[0]);
            let old = (0..blocks).map(|i| match i % 3 {
                0 => NO_PREV,
                _ => draw(1 << 21),
            });
            batch.push_with(head, &more, &old.collect::<Vec<_>>());
        }
        for part in (3..=11).map(|shift| 1u64 << shift) {
            let mut touched = BTreeSet::new();
            for request in batch.iter() {
                let extents = request.extents().map(|e| (e.start_sector, e.end()));
                let old = request.prev.iter().filter(|p| **p != NO_PREV);
                for (start, end) in extents.chain(old.map(|&p| (p, p + 8))) {
                    touched.extend((start..end).map(|sector| sector / part));
                }
            }
            let place = |s: u64| touched.range(..s / part).count() as u64 * part + s % part;
            let mut stored = Stored::Memory(Trace::generated("t", batch.clone()));
            let space = touched.len() as u64 * part;
            assert_eq!(stored.pack(part, space - 1).unwrap(), None);
            stored.pack(part, space).unwrap().unwrap();
            let Stored::Memory(packed) = stored else {
                panic!("in memory")
            };
            for (new, old) in packed.requests.iter().zip(batch.iter()) {
                for (new, old) in new.extents().zip(old.extents()) {
                    // Adjacent sectors stay adjacent.
                    assert_eq!(new.start_sector, place(old.start_sector));
                    assert_eq!(new.end() - 1, place(old.end() - 1));
                }
                for (new, old) in new.prev.iter().zip(old.prev) {
                    match *old {
                        NO_PREV => assert_eq!(*new, NO_PREV),
                        old => assert_eq!(*new, place(old)),
                    }
                }
            }
        }
    }
}

/// Each of 50,000 volumes has a description without the others: with them, there would be billions.
#[test]
fn a_volume_does_not_carry_the_names_of_all() {
    let count = 50_000;
    let line = |i: u64| format!("{i},W,{},4096,{i}\n", 4096 * i);
    let text: String = (0..count).map(line).collect();
    let options = LoadOptions {
        format: Some("alibaba".to_owned()),
        ..LoadOptions::default()
    };
    let source = || Source::bytes("a.csv", text.clone());
    let plain = Stored::Memory(load(source(), &options).unwrap());
    let spooled = load_bounded(source(), &options, 0, &mut |_| {}).unwrap();
    for stored in [plain, spooled] {
        let mut volumes = 0;
        for volume in stored.split(u64::MAX).unwrap() {
            assert_eq!(volume.unwrap().meta().volumes.len(), 1);
            volumes += 1;
        }
        assert_eq!(volumes, count);
    }
}

#[test]
fn a_file_of_requests_is_checked_when_it_is_opened_and_in_each_pass() {
    let [memory, _] = both(&LoadOptions::default());
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"in front").unwrap();
    let mut writer = BinWriter::new(file.as_file()).unwrap();
    let all = memory.workload();
    RequestPasses::pass(&all, &mut |request| writer.write(request)).unwrap();
    writer.finish(&[], true).unwrap();
    let open = |memory_limit: u64, requests: u64| {
        let meta = TraceMeta {
            requests,
            ..memory.meta().clone()
        };
        Stored::from_file(file.reopen().unwrap(), "copy", 8, meta, memory_limit)
    };
    let number = memory.meta().requests;
    for limit in [0, u64::MAX] {
        let stored = open(limit, number).unwrap();
        assert_eq!(matches!(stored, Stored::Memory(_)), limit > 0);
        assert_eq!(stored.meta(), memory.meta());
        assert_eq!(requests(&stored), requests(&memory));
        assert_eq!(stored.workload().span(), memory.workload().span());
    }
    let few = open(0, number + 1).unwrap_err().to_string();
    assert!(few.contains("it has 5 requests instead of 6"), "{few}");
    // Somebody changes the file while runs read it.
    let stored = open(0, number).unwrap();
    file.as_file().write_all_at(b"x", 8 + 64 + 32 + 8).unwrap();
    let changed = stored.workload().end_sector().unwrap_err();
    assert!(matches!(changed, TraceError::Reread(_)), "{changed}");
    assert!(changed.to_string().contains("copy: no good"), "{changed}");
    assert!(matches!(open(u64::MAX, number), Err(TraceError::Reread(_))));
}
