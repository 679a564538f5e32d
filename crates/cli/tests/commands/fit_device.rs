//! `destage fit-device`: its options, and a fit of one cell.

use crate::common::Bench;

/// Two drives.
pub const TABLE: &str = "\
drive,target_writes_per_s,writes_per_s,reads_per_s,other_threads,write_us_p50,write_us_p99,read_us_p50,read_us_p99
x-960,10000,9950,5050,6,11,14,64,237
y-960,10000,9950,5050,6,9,316,65,233
";

/// Of a drive that is run soon, with few requests.
pub const SMALL: &str = "--requests 1000 --fix channels=1 --fix chips_per_channel=2 --fix write_pace=off --fix read_retry=off";

#[test]
fn wrong_options_are_refused() {
    let bench = Bench::new();
    bench.file("m.csv", TABLE);
    bench.refuses(
        "
        fit-device m.csv -o a.toml | 2 drives | --drive | x-960, y-960
        fit-device m.csv --drive z -o a.toml | --drive is `z` | x-960, y-960
        fit-device m.csv --drive x-960 -o a.txt | a.txt | .toml
        fit-device m.csv --drive x-960 --free t_red -o a.toml | --free t_red | t_read, t_program
        fit-device m.csv --drive x-960 --fix t_read -o a.toml | --fix t_read | KEY=VALUE
        fit-device m.csv --drive x-960 --fix t_read=x -o a.toml | t_read
        fit-device m.csv --drive x-960 --base default -o a.toml | bounded buffer | enterprise-tlc-1t
        fit-device m.csv --drive x-960 --base none.toml -o a.toml | --base none.toml
        fit-device none.csv -o a.toml | none.csv
        fit-device m.csv --drive x-960 --evaluations 9 -o a.toml | --evaluations | from 10
        fit-device m.csv --drive x-960 --requests 499 -o a.toml | --requests | from 500
        fit-device m.csv --drive x-960 --name ' ' -o a.toml | --name | empty
        fit-device m.csv --drive x-960 --fill nan -o a.toml | --fill | 'nan' | from 0 to 1
        fit-device m.csv --drive x-960 --fill 1.1 -o a.toml | --fill | from 0 to 1
        fit-device m.csv --drive x-960 --overwrites -1 -o a.toml | --overwrites | '-1' | from 0 to 1000
        fit-device m.csv --drive x-960 --overwrites inf -o a.toml | --overwrites | from 0 to 1000
        ",
    );
}

#[test]
fn a_fitted_device_can_be_used() {
    let bench = Bench::new();
    bench.file("m.csv", TABLE);
    let shown = bench.shown(format!(
        "fit-device m.csv --drive x-960 {SMALL} --free t_command --evaluations 10 --note Text. -o a.toml --plot a.svg"
    ));
    assert!(shown.contains("t_command"), "{shown}");
    let device = bench.read("a.toml");
    assert!(
        device.starts_with("# Fitted to measurements of x-960: "),
        "{device}"
    );
    assert!(device.contains("# Text."), "{device}");
    assert!(device.contains("# fitted: "), "{device}");
    assert!(bench.read("a.svg").contains("<svg"));
    let printed = bench.shown("presets a.toml");
    assert!(printed.contains("t_command = "), "{printed}");
    assert!(!bench.path("a.toml.journal").exists());
}

#[test]
fn a_damaged_journal_is_refused_by_its_line() {
    let bench = Bench::new();
    bench.file("m.csv", TABLE);
    bench.file("a.toml.journal", "another fit\n");
    let fit = "fit-device m.csv --drive x-960 -o a.toml";
    bench
        .destage(fit)
        .fails(2, &["a.toml.journal", "other measurements", "Remove it"]);
    assert_eq!(bench.read("a.toml.journal"), "another fit\n");
}
