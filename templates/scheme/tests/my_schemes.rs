//! The schemes of this crate, held to what every scheme must do, and on the command line.

use destage_conformance::suites::contract::hold_to_contract;
use destage_scheme::registry;
use std::process::Command;

fn held(name: &str) {
    registry::add(my_destage::SCHEMES).expect("the names are free");
    hold_to_contract(name);
}

#[test]
fn slru_keeps_the_contract() {
    held("slru");
}

#[test]
fn idle_first_keeps_the_contract() {
    held("idle-first");
}

/// What `my-destage` prints for these arguments.
fn printed(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_my-destage"));
    let output = command
        .args(arguments)
        .output()
        .expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_command_knows_the_schemes() {
    assert!(printed(&["schemes"]).contains("\nslru "));
    assert!(printed(&["schemes", "idle-first"]).contains("depth (default C/16, at least 1)"));
}

/// Page 1 is hit and so protected: page 2 leaves for page 3, and page 1 is hit again.
#[test]
fn the_command_runs_the_schemes() {
    let trace = std::env::temp_dir().join(format!("my-destage-{}.txt", std::process::id()));
    std::fs::write(&trace, "1\n1\n2\n3\n1\n").expect("a writable folder");
    let path = trace.to_str().expect("a path of text");
    let run = |scheme: &str| {
        let arguments = [
            "run", path, "--scheme", scheme, "--cache", "8KiB", "--device", "none",
        ];
        let rest = ["--read-alloc", "on", "--format-out", "csv"];
        let table = printed(&[&arguments[..], &rest].concat());
        let mut rows = table
            .lines()
            .map(|line| line.split(',').map(str::to_owned).collect());
        let (names, values): (Vec<String>, Vec<String>) =
            rows.next().zip(rows.next()).expect("two rows");
        let column = names
            .iter()
            .position(|name| name == "counts.page_hits")
            .expect("a column");
        values[column].clone()
    };
    assert_eq!(
        [run("slru"), run("lru"), run("idle-first(slru)")],
        ["2", "1", "2"]
    );
    std::fs::remove_file(&trace).expect("the trace is there");
}
