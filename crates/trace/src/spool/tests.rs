//! Traces in temporary files are the traces, whole and split.

use super::*;
use crate::load::load;
use std::cell::Cell;

thread_local! {
    /// Requests read from temporary files.
    pub static READ: Cell<u64> = const { Cell::new(0) };
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
        all.push(format!(
            "{number} {} {:?} {}+{} {}",
            h.arrival, h.op, h.start_sector, h.sectors, h.stream
        ));
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
}

/// Every request is read a few times, not once for every volume.
#[test]
fn the_work_of_a_split_does_not_grow_with_the_number_of_volumes() {
    let count = 3000;
    let line = |i: u64| format!("{i},h,{},Write,{},4096,7\n", i * 7 % count, i * 4096);
    let text: String = (0..4 * count).map(line).collect();
    let source = || Source::bytes("h.csv", text.clone());
    let options = LoadOptions::default();
    let plain = volumes_of(Stored::Memory(load(source(), &options).unwrap()), 0);
    assert_eq!(plain.len() as u64, count);
    // All volumes at once, files of some of them, a file for each.
    for (memory, levels) in [(u64::MAX, 0), (60_000, 1), (2_000, 3), (0, 3)] {
        let spooled = load_bounded(source(), &options, 0, &mut |_| {}).unwrap();
        let before = READ.with(Cell::get);
        let volumes = volumes_of(spooled, memory);
        let read = READ.with(Cell::get) - before;
        // To measure them, to distribute them, to load them.
        let most = (levels + 2) * 4 * count;
        assert!(read <= most, "{memory}: {read} requests of {most}");
        same_volumes(&plain, &volumes);
    }
}

#[test]
fn packed_addresses_are_the_same_in_memory_and_in_the_file() {
    let [mut memory, mut spooled] = both(&LoadOptions::default());
    let packing = memory.pack().unwrap();
    assert_eq!(packing, spooled.pack().unwrap());
    // hm_0 within its first MiB, hm_1 within its first and its 1001st.
    assert_eq!(packing.end_sector(), 3 * 2048);
    assert_eq!(spooled.workload().end_sector().unwrap(), 2 * 2048 + 8);
    assert_eq!(requests(&memory), requests(&spooled));
    assert_eq!(requests(&memory)[3], "3 4000 Write 4096+8 1");
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
