//! Tables under mappings of files, and in memory.

use destage_trace::{Cell, Frame, TimeUnit, load_frame};

use crate::common::{given, overlay, read_with, refused, says, told};

#[test]
fn mappings_of_a_file_have_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let lab = "[lab]\ncolumns = \"time=3:ms,op=1,offset=2:sectors,size==4096,separator=;\"\n";
    let named = "[named]\nnames = \"what where\"\ncolumns = \"op=what,offset=where,size==512\"\n";
    std::fs::write(&path, format!("{lab}{named}")).unwrap();
    let format = |name: &str| format!("{}:{name}", path.display());
    let rows = |name, text| told(&read_with(&format(name), text, &overlay()).unwrap());
    assert_eq!(
        rows("lab", "read;8;1.5\nwrite;0;2\n"),
        "0 R 8 8 0, 500000 W 0 8 0"
    );
    // Names of columns that have their places.
    assert_eq!(rows("named", "r,512,x\n"), "0 R 1 1 0");
    let no = refused(&format("other"), "x");
    says(no, "it has no [other]; it has: lab");
    let none = format("lab").replace("mine", "none");
    says(refused(&none, "x"), "No such file");
    std::fs::write(&path, "[lab]\ncolumns = \"lba=2\"\n").unwrap();
    says(refused(&format("lab"), "x"), "`lba=2` names no column");
}

struct Columns(Vec<(&'static str, Option<TimeUnit>, Vec<Cell<'static>>)>);

impl Frame for Columns {
    fn columns(&self) -> Vec<(String, Option<TimeUnit>)> {
        let columns = self.0.iter();
        columns
            .map(|(name, unit, _)| (name.to_string(), *unit))
            .collect()
    }

    fn rows(&self) -> usize {
        self.0[0].2.len()
    }

    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        self.0[column].2[row]
    }
}

#[test]
fn frames_are_read_as_tables() {
    let texts = |words: [&'static str; 3]| words.map(|word| Cell::Text(word.as_bytes())).to_vec();
    let numbers = |numbers: [i128; 3]| numbers.map(Cell::Integer).to_vec();
    let lba = vec![Cell::Real(8.0), Cell::Integer(16), Cell::Null];
    let frame = Columns(vec![
        ("when", Some(TimeUnit::Microseconds), numbers([5, 7, 9])),
        ("what", None, texts(["read", "W", "flush"])),
        ("lba", None, lba),
        ("n", None, numbers([8, 16, 0])),
        ("dev", None, texts(["a", "b", "a"])),
        ("forced", None, numbers([1, 1, 0])),
    ]);
    let load = |mapping: &str| load_frame("frame", &frame, &given(mapping));
    let trace = load("op=what,size=n:sectors").unwrap();
    assert_eq!(told(&trace), "0 R 8 8 0, 2000 W 16 16 1, 4000 F 0 0 0");
    // Flags are those of writes.
    let flagged = load("op=what,size=n:sectors,fua=forced").unwrap();
    assert_eq!(
        told(&flagged),
        "0 R 8 8 0, 2000 W 16 16 1 fua, 4000 F 0 0 0"
    );
    let printed = trace.meta.mapping.unwrap();
    let whole = "time=when:us,op=what,offset=lba:sectors,size=n:sectors,volume=dev";
    assert_eq!(printed, whole);
    let again = load(&printed).unwrap();
    assert_eq!(again.requests.records(), trace.requests.records());
    let error = |mapping: &str| load(mapping).unwrap_err().to_string();
    let known = "no column is known as size; its columns: when, what, lba, n, dev, forced";
    says(error("op=what"), known);
    let kind = "frame: row 1, column 4 (op): `8` is no kind of request";
    says(error("op=n,size==512"), kind);
}
