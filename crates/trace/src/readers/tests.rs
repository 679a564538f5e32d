//! Properties of every format of the registry.

use super::detect::detect;
use super::*;
use crate::mapping::named::named_mappings;
use crate::{LoadOptions, Source, load};

#[test]
fn every_example_is_detected_as_its_own_format_only() {
    for &format in FORMATS.iter() {
        let mut input = sample_input(format.example);
        let told = detect(None, &mut input).unwrap();
        assert_eq!(told.format.name, format.name);
        let trace = load(Source::bytes("x", format.example), &LoadOptions::default()).unwrap();
        let (name, requests) = (format.name, trace.meta.requests);
        assert_eq!(requests, format.example_requests, "{name}");
        assert_eq!(trace.meta.timed, format.timed);
    }
}

fn sample_input(text: impl AsRef<[u8]>) -> Input {
    let source = Source::bytes("x", text.as_ref().to_vec());
    let raw = source.start(false).unwrap();
    Input::open(raw, "x".to_owned()).unwrap()
}

#[test]
fn names_are_unique_and_described() {
    let mut names: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
    names.extend(FORMATS.iter().flat_map(|f| f.aliases));
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    for &format in FORMATS.iter() {
        assert!(format.about.ends_with('.') && !format.source.is_empty());
        assert!(!format.columns.is_empty());
        let row = format.doc_row();
        assert!(row.starts_with(&format!("| `{}` |", format.name)) && !row.contains('\n'));
        assert!(format.columns.iter().all(|c| row.contains(c.name)));
        assert_eq!(by_name(format.name).unwrap().name, format.name);
    }
}

#[test]
fn every_declared_format_is_read_fast() {
    let named = named_mappings().values();
    let declared = named.filter(|named| named.names.is_some());
    assert_eq!(declared::DECLARED.len(), declared.count());
    for format in declared::DECLARED.iter() {
        assert!(table::order(format).is_some(), "{}", format.name);
    }
}

#[test]
fn unknown_names_get_the_nearest() {
    let message = |name: &str| by_name(name).err().unwrap().to_string();
    assert!(message("mrs").contains("did you mean `msr`"));
    assert!(message("BLOCKLIST").contains("did you mean `block-list`"));
    assert!(message("destaje").contains("known: destage, destage-bin, alibaba, arc"));
}

#[test]
fn a_line_cut_by_the_sample_does_not_count() {
    assert_eq!(Sample::new(b"1\n2\n3,", false).lines, [b"1", b"2"]);
    let lines = Sample::new(b"1\n#c\n\n2,\r\n3", true).lines;
    assert_eq!(lines, [&b"1"[..], b"2,", b"3"]);
    assert_eq!(Sample::new(b"one line", false).first(), b"one line");
}
