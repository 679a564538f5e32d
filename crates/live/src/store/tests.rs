use super::*;

const PAGE: u32 = 4096;
const CAPACITY: u64 = 1 << 20;

fn media() -> Vec<Box<dyn Medium>> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = FileMedium::open(&folder.path().join("disk"), CAPACITY).expect("a file");
    vec![Box::new(MemoryMedium::default()), Box::new(file)]
}

#[test]
fn memory_takes_no_more_than_it_may() {
    let mut medium = MemoryMedium::new(MemoryBudget::new(33 << 10));
    medium.write(0, &[1; 100]).expect("the first chunk");
    medium.write(1 << 30, &[2; 100]).expect("the second");
    let refused = medium.write(1 << 20, &[3; 100]).expect_err("a third");
    assert!(refused.to_string().contains("32 KiB"), "{refused}");
    medium.write(50, &[4; 100]).expect("it is there already");
    medium.discard(0, 16 << 10).expect("discard");
    medium
        .write(1 << 20, &[3; 100])
        .expect("there is room again");
}

#[test]
fn space_that_was_set_aside_is_there_when_it_is_written() {
    let budget = MemoryBudget::new(33 << 10);
    let mut medium = MemoryMedium::new(std::sync::Arc::clone(&budget));
    medium.reserve(0, 20 << 10).expect("two chunks");
    medium.reserve(100, 100).expect("it is set aside already");
    assert!(!budget.hold(1));
    assert!(medium.reserve(1 << 20, 100).is_err());
    assert_eq!(
        medium.allocation(0, 1 << 20).expect("told"),
        (false, 1 << 20)
    );
    medium.write(0, &[1; 100]).expect("written");
    medium.release();
    assert!(budget.hold(1), "one of them was not needed");
    assert!(medium.reserve(0, 20 << 10).is_err(), "all or nothing");
    budget.let_go(1);
    medium.reserve(0, 20 << 10).expect("again");
    medium.discard(0, 32 << 10).expect("discarded");
    assert!(budget.hold(32 << 10));
}

fn read(store: &Store, offset: u64, n: usize) -> Vec<u8> {
    let mut out = vec![7; n];
    store.read(offset, &mut out).expect("read");
    out
}

#[test]
fn a_version_survives_once_it_is_durable() {
    for medium in media() {
        let mut store = Store::new(medium, CacheKind::Dram, PAGE);
        store.write(1, 512, &[1; 512]).expect("write");
        store.captured(Lpn(0), 1);
        store.write(2, 1024, &[2; 512]).expect("write");
        assert_eq!(store.volatile_bytes(), 2 * u64::from(PAGE));
        store
            .durable(Lpn(0), 1, DurablePart::Page)
            .expect("durable");
        assert_eq!(read(&store, 512, 1024), [[1; 512], [2; 512]].concat());
        assert_eq!(store.power_cut(), 1);
        assert_eq!(
            read(&store, 0, 2048),
            [[0; 512], [1; 512], [0; 512], [0; 512]].concat()
        );
    }
}

#[test]
fn writes_of_one_version_are_kept_together() {
    for medium in media() {
        let mut store = Store::new(medium, CacheKind::Dram, PAGE);
        for ticket in 1..100 {
            store.write(ticket, 0, &[ticket as u8; 512]).expect("write");
        }
        assert_eq!(store.volatile_bytes(), u64::from(PAGE));
        store
            .durable(Lpn(0), 98, DurablePart::Page)
            .expect("an old program");
        assert_eq!(
            store.power_cut(),
            1,
            "99 writes are one version, which is volatile"
        );
    }
}

#[test]
fn a_non_volatile_cache_loses_nothing() {
    for medium in media() {
        let mut store = Store::new(medium, CacheKind::Nvm, PAGE);
        store.write(1, 4000, &[9; 512]).expect("write");
        assert_eq!(store.power_cut(), 0);
        assert_eq!(read(&store, 4000, 512), [9; 512]);
    }
}

#[test]
fn discarded_pages_are_holes_and_read_as_zeros() {
    for medium in media() {
        let mut store = Store::new(medium, CacheKind::Nvm, PAGE);
        let at = 3 * 65536;
        store.write(1, at, &[5; 3 * 65536]).expect("write");
        assert_eq!(store.allocation(0, CAPACITY).expect("told"), (false, at));
        assert_eq!(
            store.allocation(at, CAPACITY - at).expect("told"),
            (true, 3 * 65536)
        );
        // The pages at both ends are covered in part.
        store.discard(at + 100, 65536 * 2).expect("discard");
        assert_eq!(read(&store, at, 4096), [5; 4096]);
        assert_eq!(read(&store, at + 4096, 4096), [0; 4096]);
        assert_eq!(read(&store, at + 2 * 65536 - 1, 2), [0, 5]);
        let (data, hole) = store.allocation(at + 65536, 65536).expect("told");
        assert_eq!((data, hole), (false, 65536));
    }
}

#[test]
fn a_volatile_page_is_allocated() {
    let mut store = Store::new(Box::new(MemoryMedium::default()), CacheKind::Dram, PAGE);
    store.write(1, 8192, &[1; 512]).expect("write");
    assert_eq!(store.allocation(0, CAPACITY).expect("told"), (false, 8192));
    assert_eq!(
        store.allocation(8192, CAPACITY - 8192).expect("told"),
        (true, 4096)
    );
    store.discard(8192, 4096).expect("discard");
    store
        .durable(Lpn(2), 1, DurablePart::Page)
        .expect("a program that was under way");
    assert_eq!(read(&store, 8192, 512), [0; 512]);
    assert_eq!(
        store.allocation(0, CAPACITY).expect("told"),
        (false, CAPACITY)
    );
}

#[test]
fn a_pattern_tells_its_address_at_any_capacity() {
    let store = Store::new(Box::new(AddressPattern), CacheKind::Dram, PAGE);
    let at = (64 << 40) - 8;
    assert_eq!(read(&store, at, 8), u64::to_le_bytes(at));
    assert_eq!(read(&store, at + 3, 2), at.to_le_bytes()[3..5]);
}

#[test]
fn a_file_belongs_to_one_server_and_one_device() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("disk");
    let mut first = FileMedium::open(&path, CAPACITY).expect("a file");
    let second = FileMedium::open(&path, CAPACITY).expect_err("it is locked");
    assert!(second.to_string().contains("locked"), "{second}");
    first.write(4096, &[3; 4096]).expect("write");
    first.sync().expect("sync");
    drop(first);
    let other = FileMedium::open(&path, 2 * CAPACITY).expect_err("another length");
    assert!(other.to_string().contains("another device"), "{other}");
    let again = FileMedium::open(&path, CAPACITY).expect("the same");
    let mut out = [0; 4096];
    again.read(4096, &mut out).expect("read");
    assert_eq!(out, [3; 4096]);
}

#[test]
fn a_copy_has_what_is_durable_and_holes_elsewhere() {
    for medium in media() {
        let mut store = Store::new(medium, CacheKind::Dram, PAGE);
        for (ticket, page) in [(1, 3), (2, 200), (3, 255), (4, 7)] {
            let bytes = [ticket as u8; PAGE as usize];
            store.write(ticket, page << 12, &bytes).expect("write");
            store.captured(Lpn(page), ticket);
        }
        // Page 7 stays volatile.
        for (ticket, page) in [(1, 3), (2, 200), (3, 255)] {
            let done = store.durable(Lpn(page), ticket, DurablePart::Page);
            done.expect("durable");
        }
        let mut copy = tempfile::tempfile().expect("a file");
        store.copy_durable(CAPACITY, &mut copy).expect("copied");
        copy.set_len(CAPACITY).expect("as long");
        let mut bytes = Vec::new();
        copy.seek(SeekFrom::Start(0)).expect("the start");
        std::io::Read::read_to_end(&mut copy, &mut bytes).expect("read");
        store.power_cut();
        assert_eq!(bytes, read(&store, 0, CAPACITY as usize));
        assert_eq!(bytes[255 << 12], 3);
        let blocks = std::os::unix::fs::MetadataExt::blocks(&copy.metadata().expect("there"));
        assert!(blocks * 512 <= 64 << 10, "{blocks} blocks are not sparse");
    }
}
